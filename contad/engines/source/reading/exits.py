"""Turns early exits into flags: break, continue and early return become assignments, branches, and loop conditions.

    for i in range(n):                  for i in range(n):            (the loop ends where .broken is True)
        if x[i] < 0.0:          ->          .broken = False
            break                           if x[i] < 0.0:
        s += x[i]                               .broken = True
                                            else:
                                                s += x[i]

`return e` becomes `.result = e`, and also `.returned = True` if statements follow. No user name begins with a dot. A
loop statement gets an attribute `flags`: the names that end the loop.

Long ladders of `elif` become a sequence of short ones, because Python allows only a hundred levels of indentation.

    if a: ...                     .pending1 = False
    elif b: ...                   if a: ...
    elif c: ...          ->       elif b: ...
    elif d: ...                   else: .pending1 = True
    else: ...                     if .pending1:
                                      .pending1 = False
                                      if c: ...
                                      elif d: ...
                                      else: ...
"""

import ast
import copy
import itertools
from collections.abc import Iterator, Sequence

RESULT, RETURNED = ".result", ".returned"
LONGEST = 24  # the most exits, or rungs of a ladder, that are nested


class Thrown(ast.stmt):
    """An exit from a region, whose flag it sets."""

    _fields = ()

    def __init__(self, flag: str = "") -> None:  # copies need defaults
        super().__init__()
        self.flag = flag


class Region(ast.stmt):
    """Statements that Thrown leaves; the statements after the region run in any case."""

    _fields = ("body",)

    def __init__(self, flag: str = "", body: Sequence[ast.stmt] = ()) -> None:  # copies need defaults
        super().__init__()
        self.flag, self.body = flag, list(body)


_EXITS = (ast.Break, ast.Continue, ast.Return, Thrown)
_FAR = (ast.Return, Thrown)  # these leave loops, too


def without_exits(body: list[ast.stmt]) -> list[ast.stmt]:
    """The body of a function with a single exit: at its end, with the value in the variable RESULT."""
    early = _holds(body[:-1], ast.Return) or (
        body and not isinstance(body[-1], ast.Return) and _holds(body, ast.Return)
    )
    exits = _Exits(bool(early))
    statements = exits.block(body)
    return [assign(RETURNED, ast.Constant(False), body[0]), *statements] if early else statements


class _Exits:
    """Replaces return, break and continue by flags and branches."""

    def __init__(self, early: bool) -> None:
        self.early = early
        self.numbers = itertools.count(1)
        self.loops: list[dict[type, str]] = []  # the flags of break and continue, for each enclosing loop
        self.regions: list[str] = []  # the flags of enclosing regions

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements without exits."""
        leaving = [k for k, x in enumerate(statements) if isinstance(x, ast.If) and _may_leave([x])]
        if len(leaving) <= LONGEST:
            return self.short_block(statements)
        done: list[ast.stmt] = []
        for first, last in itertools.pairwise([0, *leaving[LONGEST::LONGEST], len(statements)]):
            part = statements[first:last]
            done += self.guard(part, part[0]) if done else self.short_block(part)
        return done

    def short_block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """As `block`; the statements after a possible exit are nested in the branch that does not take the exit."""
        done: list[ast.stmt] = []
        for k, statement in enumerate(statements):
            rest = statements[k + 1 :]
            if isinstance(statement, ast.Return):
                value = statement.value or ast.Constant(None)
                done.append(assign(RESULT, value, statement))
                if self.early:
                    done.append(assign(RETURNED, ast.Constant(True), statement))
                return done
            if isinstance(statement, Thrown):
                return [*done, assign(statement.flag, ast.Constant(True), statement)]
            if isinstance(statement, (ast.Break, ast.Continue)):
                return [*done, assign(self.loops[-1][type(statement)], ast.Constant(True), statement)]
            if isinstance(statement, ast.If):
                then, otherwise, test = self.block(statement.body), self.block(statement.orelse), statement.test
                leaves = _may_leave(statement.body), _may_leave(statement.orelse)
                if _always_leaves(statement.body) and not leaves[1]:
                    return [*done, locate(ast.If(test, then, otherwise + self.block(rest)), statement)]
                if _always_leaves(statement.orelse) and not leaves[0]:
                    return [*done, locate(ast.If(test, then + self.block(rest), otherwise), statement)]
                done.append(locate(ast.If(test, then, otherwise), statement))
                if any(leaves):
                    return done + self.guard(rest, statement)
            elif isinstance(statement, (ast.For, ast.While)):
                made, broken = self.loop(statement)
                done += made
                if statement.orelse:  # runs if no break has ended the loop
                    done += self.unless(broken, statement.orelse, statement)
                    if _may_leave(statement.orelse):
                        return done + self.guard(rest, statement)
                if any(_holds(statement.body, kind) for kind in _FAR):
                    return done + self.guard(rest, statement)
            elif isinstance(statement, Region):
                self.regions.append(statement.flag)
                done += self.block(statement.body)
                self.regions.pop()
                if _may_leave([statement]):
                    return done + self.guard(rest, statement)
            else:
                done.append(statement)
        return done

    def loop(self, statement: ast.For | ast.While) -> tuple[list[ast.stmt], list[str]]:
        """A loop whose body has a single exit, and the flags that tell how it was left."""
        number = next(self.numbers)
        flags: dict[type, str] = {}
        for kind, name in ((ast.Break, ".broken"), (ast.Continue, ".skipped")):
            if _holds(statement.body, kind, inner_loops=False):
                flags[kind] = f"{name}{number}"
        self.loops.append(flags)
        body = self.block(statement.body)
        self.loops.pop()
        ends = [flags[ast.Break]] if ast.Break in flags else []
        before = [assign(name, ast.Constant(False), statement) for name in ends]
        if _holds(statement.body, ast.Return):
            ends.append(RETURNED)
        if _holds(statement.body, Thrown):
            ends.append(self.regions[-1])
        # no flag holds at the start of an iteration
        body = [
            assign(name, ast.Constant(False), statement) for name in dict.fromkeys([*flags.values(), *ends])
        ] + body
        changed = copy.copy(statement)
        changed.body, changed.orelse = body, []
        changed.flags = ends  # type: ignore[union-attr]
        return [*before, changed], ends

    def guard(self, rest: Sequence[ast.stmt], statement: ast.stmt) -> list[ast.stmt]:
        """`rest`, guarded by the flags of the exits in a statement."""
        if not rest:
            return []
        flags = [RETURNED] if self.early else []
        if self.loops:
            flags += self.loops[-1].values()
        flags += self.regions[-1:]
        return self.unless(flags, rest, statement)

    def unless(self, flags: list[str], rest: Sequence[ast.stmt], statement: ast.stmt) -> list[ast.stmt]:
        """`rest`, guarded by a test that no flag holds."""
        if not flags:
            return self.block(rest)
        names: list[ast.expr] = [ast.Name(name, ast.Load()) for name in flags]
        test = ast.UnaryOp(ast.Not(), names[0] if len(names) == 1 else ast.BoolOp(ast.Or(), names))
        return [locate(ast.If(test, self.block(rest), []), statement)]


def assign(name: str, value: ast.expr, place: ast.stmt) -> ast.stmt:
    """`name = value`, with the line of another statement."""
    return locate(ast.Assign([ast.Name(name, ast.Store())], value), place)


def locate(statement: ast.stmt, place: ast.stmt) -> ast.stmt:
    """A new statement with the line of another one."""
    statement.lineno = place.lineno  # inner nodes keep their lines
    if getattr(place, "in_try", False):
        statement.in_try = True  # type: ignore[attr-defined]
    return statement


def _holds(statements: Sequence[ast.stmt], kind: type, inner_loops: bool = True) -> bool:
    """Whether statements contain an exit of this kind, in branches and, optionally, in loops."""
    for statement in statements:
        if isinstance(statement, kind):
            return True
        if isinstance(statement, Region) and kind is not Thrown and _holds(statement.body, kind, inner_loops):
            return True
        if not isinstance(statement, (ast.If, ast.For, ast.While)):
            continue
        if _holds(statement.orelse, kind, inner_loops):  # an exit in `else` leaves the outer loop
            return True
        if (inner_loops or isinstance(statement, ast.If)) and _holds(statement.body, kind, inner_loops):
            return True
    return False


def _may_leave(statements: Sequence[ast.stmt]) -> bool:
    """Whether statements may exit before their end, as seen from the enclosing loop or function."""
    return any(_holds(statements, kind, inner_loops=kind in _FAR) for kind in _EXITS)


def _always_leaves(statements: Sequence[ast.stmt]) -> bool:
    """Whether statements always end with an exit."""
    return any(
        isinstance(statement, _EXITS)
        or (isinstance(statement, ast.If) and _always_leaves(statement.body) and _always_leaves(statement.orelse))
        for statement in statements
    )


# ---- ladders ---------------------------------------------------------------------------------------------------------
def without_ladders(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements without ladders of more than LONGEST rungs; the new names begin with a dot, unlike user names."""
    numbers = itertools.count(1)

    def block(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements, including nested ones, without long ladders."""
        done: list[ast.stmt] = []
        for statement in statements:
            if isinstance(statement, ast.If):
                done += ladder(statement)
            elif isinstance(statement, (ast.For, ast.While)):
                changed = copy.copy(statement)
                changed.body, changed.orelse = block(statement.body), block(statement.orelse)
                done.append(changed)
            else:
                done.append(statement)
        return done

    def ladder(statement: ast.If) -> list[ast.stmt]:
        """An if as a sequence of ladders of LONGEST rungs; a flag tells whether the next one runs."""
        rungs = list(_rungs(statement))
        otherwise = block(rungs[-1].orelse)
        parts = [rungs[k : k + LONGEST] for k in range(0, len(rungs), LONGEST)]
        pending = f".pending{next(numbers)}"
        done: list[ast.stmt] = []
        for part in parts:
            below = otherwise if part is parts[-1] else [assign(pending, ast.Constant(True), part[-1])]
            for rung in reversed(part):
                changed = copy.copy(rung)
                changed.body, changed.orelse = block(rung.body), below
                below = [changed]
            if len(parts) > 1:
                below = [assign(pending, ast.Constant(False), part[0]), *below]
            done += below if part is parts[0] else [locate(ast.If(ast.Name(pending, ast.Load()), below, []), part[0])]
        return done

    return block(body)


def _rungs(statement: ast.If) -> Iterator[ast.If]:
    """An if and its elifs."""
    yield statement
    while len(statement.orelse) == 1 and isinstance(statement.orelse[0], ast.If):
        statement = statement.orelse[0]
        yield statement
