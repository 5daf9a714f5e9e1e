"""Names of generated text that are read before they are assigned again: what a loop takes, and what it leaves."""

import ast
from collections.abc import Iterable

Names = frozenset[str]
NONE: Names = frozenset()

_BARE = {"attr", "ctx", "id", "kind", "op", "ops", "type_comment"}  # fields without names in them
_KINDS = [x for x in vars(ast).values() if isinstance(x, type) and issubclass(x, ast.AST) and x is not ast.Constant]
_FIELDS = {kind: tuple(x for x in kind._fields if x not in _BARE) for kind in _KINDS}
_FIELDS[ast.Constant] = ()


def names_in(node: ast.AST) -> list[ast.Name]:
    """The names in a statement or an expression, in no order; `ast.walk` takes several times as long."""
    found: list[ast.Name] = []
    waiting: list[ast.AST] = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            found.append(node)
            continue
        for field in _FIELDS.get(type(node), node._fields):
            value = getattr(node, field, None)
            if isinstance(value, ast.AST):
                waiting.append(value)
            elif isinstance(value, list):
                waiting += [x for x in value if isinstance(x, ast.AST)]
    return found


def nodes_in(node: ast.AST) -> list[ast.AST]:
    """The statements and expressions in a tree, in no order, without operators and contexts."""
    found: list[ast.AST] = [node]
    for x in found:
        for field in _FIELDS.get(type(x), x._fields):
            value = getattr(x, field, None)
            if isinstance(value, ast.AST):
                found.append(value)
            elif isinstance(value, list):
                found += [y for y in value if isinstance(y, ast.AST)]
    return found


def names_read(node: ast.AST) -> Names:
    """The names that an expression reads."""
    return frozenset([x.id for x in names_in(node) if isinstance(x.ctx, ast.Load)])


def names_assigned(nodes: Iterable[ast.AST]) -> Names:
    """The names that statements assign, also by `+=` and as the index of a loop."""
    return frozenset([x.id for node in nodes for x in names_in(node) if isinstance(x.ctx, ast.Store)])


class LiveNames:
    """Which names are live after each loop of a function."""

    def __init__(self, body: list[ast.stmt]) -> None:
        self.after: dict[ast.stmt, Names] = {}
        self.named: dict[ast.stmt, tuple[Names, Names]] = {}  # what plain statements assign and read
        self.before(body, NONE)

    def before(self, body: list[ast.stmt], after: Names, end: Names = NONE, again: Names = NONE) -> Names:
        """The names that are live before statements: `end` those after the loop around, `again` those at its head."""
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
        if s not in self.named:  # a loop around is gone through several times
            self.named[s] = names_assigned([s]), names_read(s)
        assigned, read = self.named[s]
        return (after - assigned) | read

    def _loop(self, s: ast.For | ast.While, after: Names) -> Names:
        """What is live before a loop, which may run not at all, or again."""
        index = names_assigned([s.target]) if isinstance(s, ast.For) else NONE
        once = NONE if isinstance(s, ast.For) else names_read(s.test)
        head = after | once
        while True:
            found = head | (self.before(s.body, head, after, head) - index)
            if found == head:
                return head | (names_read(s.iter) if isinstance(s, ast.For) else NONE)
            head = found


def carried_names(body: list[ast.stmt]) -> Names:
    """The names that one run of statements assigns, though it may read, before that, what the run before has left."""
    return _Exposed().find(body) & names_assigned(body)


Guard = tuple[str, bool]  # a name that an `if` tests, and whether it is true


class _Exposed:
    """Finds names that may be read before they are assigned; where the same test guards both, they are not."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def find(self, body: list[ast.stmt]) -> Names:
        """The names that statements may read first."""
        self._block(body, set(), {})
        return frozenset(self.found)

    def _block(self, body: list[ast.stmt], known: set[str], under: dict[Guard, set[str]]) -> None:
        """Go through statements: `known` are the names surely assigned, `under` a guard those besides."""
        for s in body:
            if isinstance(s, ast.If):
                self._branch(s, known, under)
            elif isinstance(s, (ast.For, ast.While)):
                self._read(s.iter if isinstance(s, ast.For) else s.test, known)
                _forget(under, names_assigned([s]))
                index = names_assigned([s.target]) if isinstance(s, ast.For) else NONE
                self._block(s.body, known | index, {guard: set(names) for guard, names in under.items()})
            else:
                self._read(s, known)
                if isinstance(s, ast.AugAssign):
                    self.found |= names_assigned([s.target]) - known
                known |= names_assigned([s])
                _forget(under, names_assigned([s]))

    def _branch(self, s: ast.If, known: set[str], under: dict[Guard, set[str]]) -> None:
        """Both branches, and what is known after them."""
        self._read(s.test, known)
        test = s.test.id if isinstance(s.test, ast.Name) else ""
        ends = []
        for holds, body in ((True, s.body), (False, s.orelse)):
            inside = known | under.get((test, holds), set())
            facts = {guard: set(names) for guard, names in under.items()}
            self._block(body, inside, facts)
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


def _forget(under: dict[Guard, set[str]], names: Names) -> None:
    """What was known under guards that are assigned anew is known no more."""
    for guard in [guard for guard in under if guard[0] in names]:
        del under[guard]
