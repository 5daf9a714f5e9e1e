"""Liveness analysis: the exposed, carried and live names of a loop, and the numbers to which it only adds.

    for i in range(n):
        t = x[i]                   s is carried, x is exposed, t is neither
        s += t                     s is live after the loop
    return s

Ref: Muchnick (1997), section 14.1.
"""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable

from contad.engines.source.ir.tree_queries import head_of, names_in, nodes_in, walk_statements

Names = frozenset[str]
NONE: Names = frozenset()


def names_read(node: ast.AST) -> Names:
    """The names that an expression reads."""
    return frozenset([x.id for x in names_in(node) if isinstance(x.ctx, ast.Load)])


def names_assigned(nodes: Iterable[ast.AST]) -> Names:
    """The names that statements assign, also by `+=` and as the index of a loop."""
    found: set[str] = set()
    waiting = list(nodes)
    for node in waiting:
        if type(node) is ast.Name:
            found.add(node.id)
        elif type(node) is ast.Assign:
            waiting += node.targets
        elif isinstance(node, (ast.For, ast.While, ast.If)):
            waiting += (*node.body, *node.orelse, *([node.target] if isinstance(node, ast.For) else ()))
        elif isinstance(node, ast.AugAssign):
            waiting.append(node.target)
        elif isinstance(node, ast.Tuple):
            waiting += node.elts
    return frozenset(found)


def find_assignments(body: Iterable[ast.stmt]) -> defaultdict[str, list[ast.stmt]]:
    """Maps names to the statements that assign them, at any depth, in order."""
    found: defaultdict[str, list[ast.stmt]] = defaultdict(list)
    for s in walk_statements(body):
        if isinstance(s, (ast.Assign, ast.AugAssign, ast.For)):
            for name in names_assigned(s.targets if isinstance(s, ast.Assign) else [s.target]):
                found[name].append(s)
    return found


class LiveNames:
    """Finds the names that are live after each loop of a function."""

    def __init__(self, body: list[ast.stmt]) -> None:
        self.after: dict[ast.stmt, Names] = {}
        self.named: dict[ast.stmt, tuple[Names, Names]] = {}  # the names that plain statements assign and read
        self.before(body, NONE)

    def before(self, body: list[ast.stmt], after: Names, end: Names = NONE, again: Names = NONE) -> Names:
        """The names live before statements; `end` are those after the enclosing loop, `again` those at its head."""
        for statement in reversed(body):
            after = self._statement(statement, after, end, again)
        return after

    def _statement(self, s: ast.stmt, after: Names, end: Names, again: Names) -> Names:
        """The names that are live before a statement."""
        if isinstance(s, (ast.For, ast.While)):
            self.after[s] = self.after.get(s, NONE) | after
            return self._loop(s, after)
        if isinstance(s, ast.If):
            branches = self.before(s.body, after, end, again) | self.before(s.orelse, after, end, again)
            return branches | names_read(s.test)
        if isinstance(s, (ast.Return, ast.Raise)):
            return names_read(s)
        if isinstance(s, ast.Break):
            return end
        if isinstance(s, ast.Continue):
            return again
        if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name):
            return after | {s.target.id} | names_read(s.value)
        if s not in self.named:  # loops are visited several times
            self.named[s] = names_assigned([s]), names_read(s)
        assigned, read = self.named[s]
        return (after - assigned) | read

    def _loop(self, s: ast.For | ast.While, after: Names) -> Names:
        """The names that are live before a loop, which may run zero times or repeat."""
        index = names_assigned([s.target]) if isinstance(s, ast.For) else NONE
        once = NONE if isinstance(s, ast.For) else names_read(s.test)
        head = after | once
        while True:
            found = head | (self.before(s.body, head, after, head) - index)
            if found == head:
                return head | (names_read(s.iter) if isinstance(s, ast.For) else NONE)
            head = found


def carried_names(body: list[ast.stmt]) -> Names:
    """The names that statements assign, but may read before that: then they hold the previous iteration's value."""
    return exposed_names(body) & names_assigned(body)


def exposed_names(body: Iterable[ast.stmt]) -> Names:
    """The names that statements may read before assigning them: their upward exposed uses."""
    exposed = _Exposed()
    exposed.visit(body, set(), {})
    return frozenset(exposed.found)


Guard = tuple[str, bool]  # a name that an `if` tests, and whether it is true


class _Exposed:
    """Finds names that may be read before they are assigned. If the same test guards both, the name is not exposed."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit(self, body: Iterable[ast.stmt], known: set[str], under: dict[Guard, set[str]]) -> None:
        """Visit statements: `known` are the names certainly assigned, `under` those assigned if a guard holds."""
        for s in body:
            if isinstance(s, ast.If):
                self._branch(s, known, under)
            elif isinstance(s, (ast.For, ast.While)):
                self._read(head_of(s), known)
                _forget(under, names_assigned([s]))
                index = names_assigned([s.target]) if isinstance(s, ast.For) else NONE
                self.visit(s.body, known | index, {guard: set(names) for guard, names in under.items()})
            else:
                assigned: set[str] = set()
                for x in names_in(s):
                    if isinstance(x.ctx, ast.Store):
                        assigned.add(x.id)
                    elif x.id not in known:
                        self.found.add(x.id)
                if isinstance(s, ast.AugAssign):
                    self.found |= assigned - known
                known |= assigned
                _forget(under, assigned)

    def _branch(self, s: ast.If, known: set[str], under: dict[Guard, set[str]]) -> None:
        """Visit both branches, and merge the known names after them."""
        self._read(s.test, known)
        test = s.test.id if isinstance(s.test, ast.Name) else ""
        ends = []
        for holds, body in ((True, s.body), (False, s.orelse)):
            inside = known | under.get((test, holds), set())
            facts = {guard: set(names) for guard, names in under.items()}
            self.visit(body, inside, facts)
            ends.append((inside, facts))
        (then, facts), (otherwise, others) = ends
        known |= then & otherwise
        under_both = {guard: facts[guard] & others[guard] for guard in facts.keys() & others.keys()}
        under.clear()
        under.update(under_both)
        if test and test not in names_assigned([s]):
            under[test, True], under[test, False] = then, otherwise

    def _read(self, node: ast.AST, known: set[str]) -> None:
        self.found |= names_read(node) - known


def _forget(under: dict[Guard, set[str]], names: Collection[str]) -> None:
    """Forget the names under guards that are reassigned."""
    for guard in [guard for guard in under if guard[0] in names]:
        del under[guard]


# ---- sum reductions --------------------------------------------------------------------------------------------------
def is_sum(name: str, body: list[ast.stmt], carried: frozenset[str]) -> bool:
    """Whether statements only add to a number, via temporaries, so that the sum of a strip can begin at zero.

        if test:
            t_2 = total + x[i]        total, t_2: the old total, plus a term that does not depend on it
        else:
            t_2 = total
        total = t_2

    `carried` names outlive an iteration. Ref: Allen & Kennedy (2001), section 5.6.
    """
    nodes = [node for s in body for node in nodes_in(s)]
    moved = {name}  # names that hold the number plus some terms
    while True:
        found = {
            target
            for node in nodes
            if isinstance(node, ast.Assign) and _base_of(node.value, moved)
            for target in names_assigned(node.targets)
        }
        if found <= moved:
            break
        moved |= found
    if moved & carried != {name}:
        return False
    allowed = 0
    for node in nodes:
        if isinstance(node, ast.Assign) and names_assigned(node.targets) & moved:
            (target,) = node.targets
            if not isinstance(target, ast.Name) or not _base_of(node.value, moved):
                return False
            allowed += 1
        elif isinstance(node, ast.AugAssign) and names_assigned([node.target]) & moved:
            if not isinstance(node.op, (ast.Add, ast.Sub)) or names_read(node.value) & moved:
                return False
        elif isinstance(node, ast.For) and names_assigned([node.target]) & moved:
            return False
    reads = sum(isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load) and x.id in moved for x in nodes)
    return reads == allowed


def _base_of(value: ast.expr, moved: set[str]) -> bool:
    """Whether an expression is one of these names, or the sum of one and a term that reads none of them."""
    if isinstance(value, ast.Name):
        return value.id in moved
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, (ast.Add, ast.Sub)):
        return False
    if isinstance(value.left, ast.Name) and value.left.id in moved:
        return not names_read(value.right) & moved
    added = isinstance(value.op, ast.Add) and isinstance(value.right, ast.Name) and value.right.id in moved
    return added and not names_read(value.left) & moved
