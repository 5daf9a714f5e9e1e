"""Loop fission, or distribution: splits a loop into arguments, functions along rows, and the rest.

    for i in range(n):                         for i in range(n):
        eta = x[i] * w                             eta_rows[i] = x[i] * w
        t = math.exp(eta)                      exp_rows(eta_rows, t_rows, n)
        total += t                     ->      for i in range(n):
                                                   total += t_rows[i]

Names that one part writes and another reads become rows, which is scalar expansion. A statement is in the first part if
a function needs it and no dependence prevents it from running ahead (`dependence`). The last part recomputes cheap
values instead of reading a row (Allen & Kennedy 2001, chapter 5). `strip_mining` writes the loops, in strips.
"""

import ast
import copy
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from contad.elementary.elementary_table import BY_CALL
from contad.engines.source.ir.syntax import clone, part, statement
from contad.engines.source.ir.tree_queries import CONVERSIONS, called_name, dotted_name, key, names_of, nodes_in
from contad.engines.source.passes.compaction import Gathered, GatheredCalls, Taking, gather_calls
from contad.engines.source.passes.dependence import LoopStatements, is_function
from contad.engines.source.passes.liveness import NONE, Names, exposed_names, names_assigned

_CHEAP = {"abs", "masked_product", "select", "float", "math.sqrt", *CONVERSIONS}  # cheap enough to compute twice
_BETWEEN = {"abs", "masked_product", "select", "math.sqrt", *CONVERSIONS}  # functions that LLVM vectorises itself
_MANY = 8  # this many operations of an iteration are worth a loop apart from that of the sums


class Kernel(NamedTuple):
    """A function that runs along rows."""

    name: str
    function: str
    argument: str  # the name of the row of arguments


class Plain(NamedTuple):
    """Arithmetic that runs along rows."""

    name: str
    expression: ast.expr


class LoopParts(NamedTuple):
    """The three parts of a loop."""

    before: list[ast.stmt]  # statements that arguments need
    entering: list[str]  # names whose values before `before` the rest reads, too
    given: list[str]  # names from `before` that go into rows
    lines: list[Kernel | Plain]
    read: list[str]  # names that the rest reads from rows at its start
    after: list[ast.stmt | str]  # the rest; a name means a read from its row
    gathered: list[Gathered]  # the calls gathered from branches

    @property
    def rows(self) -> list[str]:
        """All names that have rows."""
        return list(dict.fromkeys([*self.given, *(line.name for line in self.lines)]))

    @property
    def rows_of_branches(self) -> list[str]:
        """The rows of gathered calls."""
        return list(dict.fromkeys(row for call in self.gathered for row in (call.argument, call.value)))

    @property
    def functions(self) -> set[str]:
        """The functions that run along rows."""
        return {line.function for line in (*self.lines, *self.gathered) if not isinstance(line, Plain)}

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.rows) + len(self.entering) + len(self.rows_of_branches)


def find_parts(body: LoopStatements, fresh: Callable[[str], str], gather: bool = True) -> LoopParts | None:
    """The three parts of a loop; None if no function in it is worth a split, or none may run ahead.

    Without `gather`, functions in branches stay where they are.
    """
    if not body.runs_to_its_end:
        return None
    return _Search(body, fresh).find(gather)


class _Search:
    """Visits the statements of a loop in order and takes out the calls that can run along rows."""

    def __init__(self, body: LoopStatements, fresh: Callable[[str], str]) -> None:
        self.body, self.fresh = body, fresh
        self.lines: dict[str, Kernel | Plain] = {}  # by name
        self.same: dict[object, str] = {}  # the names of lines by key of their computation
        self.loads: dict[str, ast.Assign] = {}  # loads of elements, by the names that they get
        self.ahead: dict[str, bool] = {}
        self.read_of = functools.cache(_read_of)  # names that an item of the rest reads

    def find(self, gather: bool) -> LoopParts | None:
        """The parts."""
        after: list[ast.stmt | str] = []
        for k, s in enumerate(self.body.statements):
            after.append(self._take(k, s))
        needed = self._find_needed()
        gathered = gather_calls(self.body, self.fresh, bool(needed)) if gather else None
        if gathered is not None:
            after = [gathered.after.get(k, s) for k, s in enumerate(after)]
        elif not needed:
            return None
        lines = [line for name, line in self.lines.items() if name in needed]
        made = {line.name for line in lines}
        given = {x for line in lines for x in _read_by(line) if x not in made and self._has_row(x)}
        if not given and gathered is None:
            return None
        plain_names = {x for x in given if x not in self.loads} | (gathered.needed if gathered else set())
        extra = [load for x, load in self.loads.items() if x in given]
        plain_names |= {x for load in extra for x in names_of(load.value)}
        moved = self.body.closure(plain_names)
        if moved is None:
            return None
        before = [self.body.statements[k] for k in sorted(moved)]
        return self._divide(lines, sorted(given), [*before, *extra], moved, after, gathered)

    def _divide(
        self, lines: list[Kernel | Plain], given: list[str], before: list[ast.stmt], moved: set[int],
        after: list[ast.stmt | str], gathered: GatheredCalls | None,
    ) -> LoopParts | None:  # fmt: skip
        """Divide the first part into statements that the rest repeats and names that it reads from rows."""
        once = {k for k in moved if not self._is_repeated(k)}
        names = {name for k in once for name in names_assigned([self.body.statements[k]])}
        for name in names:  # the rest writes its own value later, as before
            others = [k for k in self.body.writers[name] if k not in once]
            if others and min(others) < max(k for k in self.body.writers[name] if k in once):
                return None
        rest = [(k, item) for k, item in enumerate(after) if k not in once]
        entering, leaving = set(), set()
        for k, item in rest:
            for name in self.read_of(item) & names:
                writers = self.body.writers[name]
                if name not in self.body.floats or not once.issuperset(writers) or min(writers) < k < max(writers):
                    return None
                leaving.add(name)
                if k < min(writers):
                    entering.add(name)
        rest += [(max(self.body.writers[name]), name) for name in sorted(leaving)]
        rest.sort(key=lambda pair: pair[0])
        kept = self._drop_unread(rest, moved - once)
        taken = {item for item in kept if isinstance(item, str)}
        kernels = {line.name for line in lines if isinstance(line, Kernel)} - taken
        wanted = {name for item in kept for name in self.read_of(item)}
        given = list(dict.fromkeys([*given, *sorted(leaving)]))
        before, calls = (before + gathered.before, gathered.calls) if gathered else (before, [])
        return LoopParts(before, sorted(entering), given, lines, sorted(wanted & kernels), kept, calls)

    def _drop_unread(self, rest: list[tuple[int, ast.stmt | str]], repeated: set[int]) -> list[ast.stmt | str]:
        """The rest without repeated statements whose names nothing reads."""
        kept: list[ast.stmt | str] = []
        wanted: set[str] = set()
        for k, item in reversed(rest):
            if isinstance(item, ast.stmt) and k in repeated and not names_assigned([item]) & wanted:
                continue
            kept.insert(0, item)
            wanted |= self.read_of(item)
        return kept

    def _is_repeated(self, k: int) -> bool:
        """Whether the rest may repeat a statement of the first part: one assignment, from values of this iteration.

        The rest reads quotients from a row, because a load is faster than a division.
        """
        statement = self.body.statements[k]
        calls = {called_name(x) for x in nodes_in(statement) if isinstance(x, ast.Call)}
        if not isinstance(statement, ast.Assign) or not calls <= _CHEAP:
            return False
        names = names_assigned([statement])
        divides = (isinstance(getattr(x, "op", None), ast.Div) for x in nodes_in(statement))
        if names <= self.body.floats and any(divides):
            return False
        return all(self._is_own(name, k) for name in names)

    def _is_own(self, name: str, k: int) -> bool:
        """Whether only statement k writes a name, and no statement reads its value of the previous iteration."""
        return self.body.writers.get(name) == [k] and self.body.readers.get(name, k + 1) > k

    # ---- along rows --------------------------------------------------------------------------------------------------
    def _take(self, k: int, statement: ast.stmt) -> ast.stmt | str:
        """Take functions out of a statement that always runs; the statement that is left reads them by name.

        It is only a name if nothing else is left.
        """
        if not isinstance(statement, (ast.Assign, ast.AugAssign)):
            return statement
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        own = target.id if isinstance(statement, ast.Assign) and isinstance(target, ast.Name) else ""
        alone = self._is_own(own, k)
        left, taking = statement, Taking(functools.partial(self.take_call, k=k))
        if any(map(is_function, nodes_in(statement))):
            left = clone(statement)
            if alone and is_function(left.value):
                left.value.args = [taking.visit(x) for x in left.value.args]
                made = self.take_call(left.value, k, own)
                if made is not None and dotted_name(made) == own:
                    return own
                taking.taken |= made is not None
                left.value = made or left.value
            else:
                left.value = taking.visit(left.value)
        if alone and own in self.body.floats and not self._has_row(own):
            if (row := self._along(left.value, k)) is not None:
                self._add(Plain(own, row))
        return left if taking.taken else statement

    def _add(self, line: Kernel | Plain) -> str:
        self.lines[line.name] = line
        return line.name

    def take_call(self, call: ast.Call, k: int, own: str = "") -> ast.expr | None:
        """The name of a function's value along rows, `own` or new; None if its argument is not available."""
        function = BY_CALL[called_name(call)].name
        argument = self._find_row(call.args[0], k, f"{function}_of")
        if argument is None:
            return None
        known = function, argument
        if known not in self.same:
            self.same[known] = self._add(Kernel(own or self.fresh(f"{function}_value"), function, argument))
        return part(self.same[known])

    def _find_row(self, node: ast.expr, k: int, hint: str) -> str | None:
        """The name of the row of an expression; None if it is not available before statement k, or loop-invariant."""
        if isinstance(node, ast.Name) and (node.id in self.lines or node.id in self.body.writers):
            return node.id if self.is_there(node.id, k) else None
        names, known = names_of(node), key(node)
        if self.body.index not in names and not names & (self.body.writers.keys() | self.lines.keys()):
            return None
        if known in self.same:
            return self.same[known]
        if self._is_early(node, names, k):
            return self._load(node, hint)
        made = self._along(node, k)
        if made is None:
            return None
        self.same[known] = self._add(Plain(self.fresh(hint), made))
        return self.same[known]

    def _along(self, node: ast.expr, k: int) -> ast.expr | None:
        """An expression in names that are rows or loop-invariant; None if it reads other names."""
        try:
            return self._require_along(node, k)
        except _NotAlong:
            return None

    def _require_along(self, node: ast.expr, k: int) -> ast.expr:
        """As `_along`, but raises _NotAlong."""
        found: ast.expr | None = None
        if isinstance(node, ast.Name):
            found = node if self.is_there(node.id, k) else None
        elif isinstance(node, ast.Subscript):
            element = self.load(node, k)
            found = None if element is None else part(element)
        elif isinstance(node, ast.Constant):
            found = node if isinstance(node.value, (int, float)) else None
        elif dotted_name(node) in ("math.inf", "math.nan"):
            found = node
        elif _is_arithmetic(node):
            found = copy.copy(node)
            for field, inner in ast.iter_fields(node):
                if isinstance(inner, ast.expr) and field != "func":
                    setattr(found, field, self._require_along(inner, k))
                elif field in ("args", "comparators"):
                    setattr(found, field, [self._require_along(x, k) for x in inner])
        if found is None:
            raise _NotAlong
        return found

    def is_there(self, name: str, k: int) -> bool:
        """Whether a name is available along rows before statement k, or is loop-invariant."""
        if name in self.lines:
            return True
        if name not in self.body.writers:
            return name != self.body.index
        return self._has_row(name) and max(self.body.writers[name]) < k

    def _has_row(self, name: str) -> bool:
        """Whether the statements that compute a name may run ahead."""
        if name in self.loads:
            return True
        if name not in self.body.writers or name not in self.body.floats:
            return False
        if name not in self.ahead:
            self.ahead[name] = self.body.closure({name}) is not None
        return self.ahead[name]

    def load(self, node: ast.Subscript, k: int) -> str | None:
        """The name of an element that is loaded ahead; None if it may not be."""
        return self._load(node, "element") if self._is_early(node, names_of(node), k) else None

    def _is_early(self, node: ast.expr, names: set[str], k: int) -> bool:
        """Whether an expression that statement k reads, with these names, may run ahead of the functions."""
        is_made = all(max(self.body.writers[x]) < k if x in self.body.writers else x not in self.lines for x in names)
        return is_made and self.body.is_movable(node) and self.body.closure(names) is not None

    def _load(self, node: ast.expr, hint: str) -> str:
        """A name for an expression that is computed ahead."""
        if (known := key(node)) not in self.same:
            made = self.same[known] = self.fresh(hint)
            self.loads[made] = statement("made = value", made=made, value=node)
        return self.same[known]

    def _find_needed(self) -> set[str]:
        """The names of functions, and of the lines that they need."""
        needed: set[str] = set()
        waiting = [name for name, line in self.lines.items() if isinstance(line, Kernel)]
        while waiting:
            name = waiting.pop()
            if name not in needed:
                needed.add(name)
                waiting += [x for x in _read_by(self.lines[name]) if x in self.lines]
        return needed


class _NotAlong(Exception):
    """An expression cannot run along rows."""


def _is_arithmetic(node: ast.expr) -> bool:
    """Whether LLVM vectorises an operation."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div))
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, (ast.USub, ast.UAdd))
    if isinstance(node, ast.Call):
        return called_name(node) in _BETWEEN and not node.keywords
    return isinstance(node, ast.Compare) and len(node.ops) == 1


def find_sums(items: Sequence[ast.stmt | str], floats: set[str]) -> dict[int, ast.AugAssign]:
    """The sums over iterations, if the other statements vectorise once the sums have their own loop; else none.

    The others vectorise if they have no branches and carry only values that the previous iteration has computed. If
    they are few, a loop for the sums does not pay.
    """
    statements = {k: item for k, item in enumerate(items) if isinstance(item, ast.stmt)}
    if not all(map(is_straight, statements.values())):
        return {}
    if sum(isinstance(x, (ast.BinOp, ast.Call)) for item in statements.values() for x in nodes_in(item)) < _MANY:
        return {}
    adding = {k: item for k, item in statements.items() if isinstance(item, ast.AugAssign) and _is_sum(item, floats)}
    others = {name for k, item in statements.items() if k not in adding for name in names_assigned([item])}
    found = {k: item for k, item in adding.items() if not names_assigned([item]) & others}
    read = {x for item in found.values() for x in names_of(item.value)}
    read |= {x for k, item in statements.items() if k not in found for x in exposed_names([item])}
    sums = {k: item for k, item in found.items() if not names_assigned([item]) & read}
    totals = names_assigned(sums.values())
    written = names_assigned(statements.values()) - totals
    handed_on = _find_handed_on(statements.values())
    made: set[str] = set()
    for item in items:
        if isinstance(item, ast.stmt) and (exposed_names([item]) - made - handed_on) & written:
            return {}
        made |= {item} if isinstance(item, str) else names_assigned([item])
    return sums


def _find_handed_on(statements: Iterable[ast.stmt]) -> set[str]:
    """Names to which statements finally assign the value of another name that they have computed."""
    last = {name: s for s in statements for name in names_assigned([s])}
    return {
        name for name, s in last.items()
        if isinstance(s, ast.Assign) and isinstance(s.value, ast.Name) and s.value.id in last.keys() - {name}
    }  # fmt: skip


def _is_sum(item: ast.AugAssign, floats: set[str]) -> bool:
    return isinstance(item.target, ast.Name) and item.target.id in floats and isinstance(item.op, (ast.Add, ast.Sub))


def is_straight(statement: ast.stmt) -> bool:
    """Whether a statement is an assignment that LLVM vectorises."""
    if not isinstance(statement, (ast.Assign, ast.AugAssign)):
        return False
    for node in nodes_in(statement):
        if isinstance(node, (ast.IfExp, ast.BoolOp)):
            return False
        if isinstance(node, ast.Call) and called_name(node) not in _BETWEEN:
            return False
    return True


def _read_of(item: ast.stmt | str) -> Names:
    return NONE if isinstance(item, str) else exposed_names([item])


def _read_by(line: Kernel | Plain) -> set[str]:
    return {line.argument} if isinstance(line, Kernel) else names_of(line.expression)
