"""Strip-mining: runs loops in strips, so that elementary functions are computed along rows, in vector registers.

    for i in range(n):                         for strip in range(0, n, 256):
        eta = 0.0                                  first = place(strip)
        for j in range(k):                         count = min(256, n - first)
            eta += x[i, j] * beta[j]               for at in range(count):
        t = math.exp(eta)                ->            i = first + at
        total += t                                     eta = 0.0 ...
                                                       eta_rows[at] = eta
                                                   exp_rows(eta_rows, t_rows, count)
                                                   for at in range(count):
                                                       t = t_rows[at]
                                                       total += t

Each strip computes arguments, then the functions, then the rest in its order, so the order of sums does not change
(`fission`). A loop is split only if its first part reads nothing that its rest writes, and every iteration is certain
to run to its end. If the rest consists of sums and long arithmetic, the sums get a loop of their own, so that the rest
vectorises as well. If a function runs along rows in one loop, the whole derivative uses that version, so recomputed
values are identical. If the inner loop of a nest is short, a row holds several iterations of the outer loop
(`collapsing`). (Bacon, Graham & Sharp 1994, section 6.2; Allen & Kennedy 2001, chapter 5.)
"""

import ast
import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from contad.elementary.elementary_table import BY_CALL, ELEMENTARY
from contad.elementary.rows import ROWS
from contad.engines.source.ir.syntax import (
    Part,
    both,
    clone,
    expression,
    number,
    part,
    product,
    statement,
    statements,
    substitute,
)
from contad.engines.source.ir.tree_queries import (
    called_name,
    dotted_name,
    head_of,
    integer_of,
    key,
    names_of,
    nodes_in,
    note_of,
    walk_statements,
)
from contad.engines.source.ir.writer import NameTable
from contad.engines.source.passes.collapsing import NestParts, OuterBody, find_inner, find_integers, find_nest
from contad.engines.source.passes.dependence import Bounds, LoopStatements, bounds_of, is_function
from contad.engines.source.passes.fission import Kernel, LoopParts, find_parts, find_sums
from contad.engines.source.passes.liveness import LiveNames, Names, find_assignments, names_assigned

MOST_ROWS = 48  # in a function: 96 KB of its stack
FEWEST = 8  # the fewest iterations that pay: a constant is known, other counts of nested loops are tested at run time
LONG = 12  # from this many iterations on, nested loops are faster along rows than with the C library


def strip_mine(
    function: ast.FunctionDef, names: NameTable, nests: bool = True, alone: bool = True
) -> list[ast.stmt]:
    """Strip-mine loops to vectorise elementary functions; returns the definitions that these need.

    Without `nests`, inner loops are split if their length varies with the outer loops, because it grows with theirs.
    Other lengths, of states or components, are often small. If they are known before all loops, the function tests
    them: then either all loops that share functions run in strips, or none does and all call the C library. So a call
    never mixes two versions of a function. No loop is split for a function that would also stay in another loop,
    because the C library is faster there, unless that loop is known to run at most 8 times. If a function is not
    `alone`, but shares its work with others, it has no such test.
    """
    miner, fresh = _Miner(function, names, nests), names.fresh
    if not miner.called or any(len(x.args) != 1 for x in miner.called):  # a logarithm to another base
        return []
    if nests:
        return miner.mine(fresh).finish()
    long = miner.mine(None, long=LongLoops("", (), -1, frozenset())).find_long(fresh) if alone else None
    for way in dict.fromkeys([(True, long), (True, None), (False, None)]):
        if miner.mine(None, *way).is_consistent:
            return miner.mine(fresh, *way).finish()
    while mixed := (miner.used & miner.staying) - miner.avoided:  # loops that call these stay whole, too
        miner.avoided |= mixed
        if miner.mine(None).is_consistent:
            return miner.mine(fresh).finish()
    return []


def _count_names() -> Callable[[str], str]:
    """Names for trial trees, which are discarded."""
    numbers = itertools.count()
    return lambda name: f"{name}_trial_{next(numbers)}"


class LongLoops(NamedTuple):
    """The test of a function, before its loops, whether its nested loops are long."""

    name: str
    lengths: tuple[ast.expr, ...]  # of loops
    place: int  # the index of the statement after which they are known; -1 for the start
    functions: frozenset[str]  # the functions that run along rows, instead of in the C library, if the loops are long


class _SplitLoop(NamedTuple):
    """A loop that is split: its functions, and the length that must be long."""

    functions: set[str]
    lengths: tuple[ast.expr, ...]
    varies: bool  # whether the length varies with outer loops


class _Miner:
    """Rewrites the statements of a function, with loops in strips if possible."""

    def __init__(self, function: ast.FunctionDef, names: NameTable, splits_all: bool) -> None:
        """Analyse a function; `splits_all` splits nested loops of any length."""
        self.function, self.names, self.splits_all = function, names, splits_all
        self.called: list[Any] = []  # the calls of elementary functions
        self.calling: dict[ast.stmt, bool] = {}  # whether a statement contains such calls
        self._note_calling(function.body)
        self.functions_in: dict[ast.AST, set[str]] = {}  # the functions in statements, and in heads of loops
        self.bodies: dict[ast.For, LoopStatements] = {}
        self.avoided: set[str] = set()  # functions for which no loop is split
        self.tried: dict[tuple[ast.For, bool], LoopParts | None] = {}  # the parts of loops from trials

    def _note_calling(self, body: list[ast.stmt]) -> bool:
        """Note the functions in statements; True if there are any."""
        for s in body:
            found = [x for x in nodes_in(head_of(s)) if is_function(x)]
            self.called += found
            inside = [self._note_calling(getattr(s, block, [])) for block in ("body", "orelse")]
            self.calling[s] = bool(found) or any(inside)
        return any(map(self.calling.get, body))

    def is_calling(self, s: ast.stmt) -> bool:
        """Whether a statement, possibly a new one, contains functions."""
        if s not in self.calling:
            self.calling[s] = any(map(is_function, nodes_in(s)))
        return self.calling[s]

    @functools.cached_property
    def integers(self) -> set[str]:
        """The names of integers."""
        return find_integers(self.function)

    @functools.cached_property
    def live(self) -> Mapping[ast.stmt, Names]:
        """The names that are live after each loop."""
        return LiveNames(self.function.body).after

    def body_of(self, loop: ast.For) -> LoopStatements:
        """The analysis of a loop, which is not modified: copies are written."""
        if loop not in self.bodies:
            self.bodies[loop] = LoopStatements(loop, self.names)
        return self.bodies[loop]

    def mine(
        self, fresh: Callable[[str], str] | None, gathers: bool = True, long: LongLoops | None = None
    ) -> "_Miner":
        """Write the body of the function, with the test before its loops; without `fresh`, only try."""
        self.fresh, self.is_trial = fresh or _count_names(), fresh is None
        self.gathers, self.long = gathers, long
        self.nests = self.splits_all or long is not None
        self.calls: list[tuple[ast.Call, str]] = []  # functions not along rows, with the way that leads to them
        self.way = ""  # "long" or "short" inside a branch of the test, else ""
        self.split: list[_SplitLoop] = []
        self.rows: list[str] = []
        self.singles: set[str] = set()  # rows of float32 numbers
        there = {BY_CALL[called_name(x)].name for x in self.called}
        self.functions = {x: (self.fresh(x), self.fresh(f"{x}_rows")) for x in ELEMENTARY if x in there}
        self.used: set[str] = set()  # functions along rows
        self.staying: set[str] = set()  # functions in loops, not along rows
        self.elsewhere: set[str] = set()  # functions outside of the branches of the test
        self.around: list[str] = []  # the counters of the loops around the current statement
        self.trips = 1.0  # the most iterations that these loops run together
        self.greatest: dict[str, float] = {}  # the greatest values of counters
        self.stays_whole = self.in_nest = False
        tests = [expression("length >= least", length=x, least=LONG) for x in long.lengths] if long else []
        test = statements("long = tests", long=long.name, tests=both(tests)) if long and tests else []
        self.body = test if long and long.place < 0 else []
        for k, s in enumerate(self.function.body):
            self.body += self.write(s) + (test if long and long.place == k else [])
        return self

    @property
    def is_consistent(self) -> bool:
        """Whether no function along rows also stays in a loop, and those under the test are nowhere else."""
        if not self.rows or self.used & self.staying:
            return False
        return self.long is None or not self.long.functions & self.elsewhere

    def find_long(self, fresh: Callable[[str], str]) -> LongLoops | None:
        """The test that the split loops need; None if none needs one, or a length is not known before."""
        lengths = {key(length): length for loop in self.split for length in loop.lengths}
        functions = {x for loop in self.split if loop.lengths for x in loop.functions}
        while more := {x for loop in self.split if loop.functions & functions for x in loop.functions} - functions:
            functions |= more
        if not lengths or any(loop.varies and loop.functions & functions for loop in self.split):
            return None
        body = self.function.body
        first = next(k for k, s in enumerate(body) if any(isinstance(x, (ast.For, ast.While)) for x in nodes_in(s)))
        known = {x.arg: -1 for x in self.function.args.args}
        known |= {dotted_name(s.targets[0]): k for k, s in enumerate(body) if isinstance(s, ast.Assign)}
        written = find_assignments(body)
        names = {x for length in lengths.values() for x in names_of(length)}
        if any(known.get(x, first) >= first or len(written[x]) > 1 for x in names):
            return None
        place = max((known[x] for x in names), default=-1)
        return LongLoops(fresh("long"), (*lengths.values(),), place, frozenset(functions))

    def finish(self) -> list[ast.stmt]:
        """Write the final function, with vector functions in place of the C library's."""
        if not self.rows:
            return []
        used = {x: given for x, given in self.functions.items() if x in self.used}
        alone: set[str] = set()
        for call, way in self.calls:
            known = BY_CALL[called_name(call)].name
            if known in used and way != "short":
                call.func = part(used[known][0])
                alone.add(known)
        self.function.body = [*map(self._make_row, self.rows), *self.body]
        one = [statement("f = elementary(x)", f=f, x=number(x)) for x, (f, _) in used.items() if x in alone]
        rows = [statement("f = elementary_rows(x)", f=f, x=number(x)) for x, (_, f) in used.items()]
        return one + rows

    def _make_row(self, row: str) -> ast.stmt:
        if row in self.singles:
            return statement("row = new_single_row()", row=row)
        return statement("row = new_row()", row=row)

    def write_all(self, body: Iterable[ast.stmt]) -> list[ast.stmt]:
        """Statements with loops in strips if possible."""
        return [made for s in body for made in self.write(s)]

    def write(self, s: ast.stmt) -> list[ast.stmt]:
        """A statement; several if it is a loop in strips."""
        if not self.is_calling(s):
            return [clone(s) if self.around and not self.is_trial else s]  # outside loops each is written once
        split = self._split(s) if isinstance(s, ast.For) else []
        return split or [self._copy(s)]

    def _copy(self, s: ast.stmt) -> ast.stmt:
        """A copy of a statement, in which loops may be split; notes its functions."""
        made: Any = type(s).__new__(type(s))
        nested = ("body", "orelse")
        if not self.is_trial:
            vars(made).update({x: [] if x in nested else clone(value) for x, value in vars(s).items()})
        head = head_of(s)
        if head not in self.functions_in:
            self.functions_in[head] = {BY_CALL[called_name(x)].name for x in nodes_in(head) if is_function(x)}
        if self.functions_in[head]:
            self.calls += [(x, self.way) for x in nodes_in(made) if isinstance(x, ast.Call) and is_function(x)]
            self.staying |= self.functions_in[head] if self.trips > FEWEST and not self.stays_whole else set()
            self.elsewhere |= set() if self.way else self.functions_in[head]
        if isinstance(s, ast.If):
            made.body, made.orelse = self.write_all(s.body), self.write_all(s.orelse)
        elif isinstance(s, (ast.For, ast.While)):
            counter = dotted_name(getattr(s, "target", s))
            greatest, trips = _find_most(s, self.greatest)
            with self._set(
                around=[*self.around, counter], trips=self.trips * trips,
                greatest={**self.greatest, counter: greatest},
            ):  # fmt: skip
                made.body = self.write_all(s.body)
        return made

    def _copy_whole(self, loop: ast.For) -> ast.stmt:
        """A copy of a loop, in which no loop is split."""
        with self._set(stays_whole=True):
            return self._copy(loop)

    @contextlib.contextmanager
    def _set(self, **values: Any) -> Iterator[None]:
        """Set attributes inside the `with` block."""
        before = {x: getattr(self, x) for x in values}
        vars(self).update(values)
        yield
        vars(self).update(before)

    # ---- which loops are split ---------------------------------------------------------------------------------------
    def _split(self, loop: ast.For) -> list[ast.stmt]:
        """A loop in strips, or one that must stay whole; empty if it needs no special treatment."""
        bounds = None if self.stays_whole else _bounds(loop)
        if bounds is None:
            return []
        varies = any(x in self.around for x in names_of(loop.iter))
        if not (self.nests or not self.around or varies):
            return []
        is_known = bounds.number is not None
        if is_known and self.around and self.long is not None:
            return []
        parts = self._find_nest(loop, bounds.down) or self._find_parts(loop)
        if parts is None or parts.functions & self.avoided:
            return []
        length = bounds.span
        if isinstance(parts, NestParts):
            length = product([length, parts.length])
        is_asked = self.long is not None and self.around and not (varies or is_known or self.in_nest)
        self.split.append(_SplitLoop(parts.functions, (length,) if is_asked else (), varies))
        if self.long is not None and self.long.functions & parts.functions and not self.way:
            with self._set(way="long"):
                split = self._write_split(loop, bounds, parts)
            with self._set(way="short"):
                whole = self._copy_whole(loop)
            return _either(part(self.long.name), split, [whole])
        if self.around and not is_known and self.way != "long":
            is_short = expression("length < fewest", length=length, fewest=FEWEST)
            return _either(is_short, [self._copy_whole(loop)], self._write_split(loop, bounds, parts))
        return self._write_split(loop, bounds, parts)

    def _find_nest(self, loop: ast.For, down: bool) -> NestParts | None:
        """The parts of a nest whose functions may run along rows of several outer iterations."""
        if down or self.in_nest:
            return None
        inner = find_inner(loop, self.is_calling)
        if inner is None or loop not in self.live:
            return None
        for fresh in (_count_names(), self.fresh):
            outer = OuterBody(loop, self.names)
            nest = find_nest(outer, inner, self.body_of(inner), self.integers, self.live[loop], fresh)
            if nest is None or len(self.rows) + nest.size > MOST_ROWS:
                return None
        return nest

    def _try_parts(self, loop: ast.For, gathers: bool) -> LoopParts | None:
        """The parts of a loop with final names, or in trials those of an earlier trial."""
        if not self.is_trial:
            return find_parts(self.body_of(loop), self.fresh, gathers)
        if (loop, gathers) not in self.tried:
            self.tried[loop, gathers] = find_parts(self.body_of(loop), self.fresh, gathers)
        return self.tried[loop, gathers]

    def _find_parts(self, loop: ast.For) -> LoopParts | None:
        """The parts of a loop, with the functions in its branches if enough rows are left."""
        for gathers in (True, False) if self.gathers else (False,):
            parts = self._try_parts(loop, gathers)
            if parts is not None and len(self.rows) + parts.size <= MOST_ROWS:
                return parts
        return None

    # ---- loops in strips ---------------------------------------------------------------------------------------------
    def _write_split(self, loop: ast.For, bounds: Bounds, parts: LoopParts | NestParts) -> list[ast.stmt]:
        """A loop in strips. In a nest, strips of the outer loop if the inner one is short, else of the inner one."""
        with self._set(around=[*self.around, dotted_name(loop.target)], trips=math.inf):
            if not isinstance(parts, NestParts):
                return self._write_parts(loop, bounds, parts)
            together = self._write_nest(loop, bounds, parts)
        tests = [expression("length <= most", length=parts.length, most=ROWS // 2)]
        tests += [expression("are_apart(x, y)", x=x, y=y) for x, y in parts.apart]
        with self._set(in_nest=True, nests=True, way=self.way or "long"):
            return _either(both(tests), together, [self._copy(loop)])

    def _write_nest(self, loop: ast.For, bounds: Bounds, nest: NestParts) -> list[ast.stmt]:
        """A nest in strips: the first part, which fills rows; the functions along the rows; the rest."""
        inner, parts = nest.inner, nest.parts
        names = {x: self.fresh(f"{x}_rows") for x in parts.rows}
        leaving = {x: self.fresh(f"{x}_rows") for x in (*nest.floats, *nest.integers)}
        self.rows += [*names.values(), *leaving.values()]
        self._note_singles(parts, names | leaving)
        wide, first, count, at, row = map(self.fresh, ("wide", "first", "count", "at", "row"))
        strip = self.fresh("strip") if bounds.counts_from_number else first
        counter, length = dotted_name(inner.target), nest.length
        element, every = expression("row + k", row=row, k=counter), expression("count * m", count=count, m=length)

        def inside(body: list[ast.stmt]) -> list[ast.stmt]:
            loop = statement("for k in range(m):\n    body", k=counter, m=length, body=body)
            loop.note = note_of(inner)
            return [loop]

        ahead = self.write_all(nest.ahead) + _put(leaving.items(), at)
        ahead_inside = self.write_all(parts.before) + _put(((x, names[x]) for x in parts.given), element)
        functions = self._write_functions(parts, names, at, every)
        taken = _take(((x, leaving[x]) for x in nest.floats), at)
        taken += [statement("x = int(row[at])", x=x, row=leaving[x], at=at) for x in nest.integers]
        rest: list[ast.stmt] = []
        for s in nest.rest:
            rest += inside(self._write_rest(parts, names, element, {})) if s is inner else self.write(s)
        made = statements(
            """
wide = rows // max(length, 1)
for strip in range(start, stop, wide):
    opening
    count = min(wide, left)
    for at in range(count):
        index = first + at
        ahead
        row = place(at * length)
        inner
    functions
    for at in range(count):
        index = first + at
        taken
        row = place(at * length)
        rest
""",
            strip=strip, start=bounds.start, stop=bounds.stop, wide=wide, opening=_open(first, strip), count=count,
            left=bounds.count_from(first), at=at, index=dotted_name(loop.target), first=first, ahead=ahead, row=row,
            length=length, inner=inside(ahead_inside), functions=functions, taken=taken, rest=rest, rows=ROWS,
        )  # fmt: skip
        made[-1].note = note_of(loop)  # type: ignore[attr-defined]
        return made

    def _write_parts(self, loop: ast.For, bounds: Bounds, parts: LoopParts) -> list[ast.stmt]:
        """A loop in strips: first part, functions along rows, the rest, and sums if they have their own loop."""
        index = dotted_name(loop.target)
        names = {x: self.fresh(f"{x}_rows") for x in parts.rows}
        entering = {x: self.fresh(f"{x}_before") for x in parts.entering}
        self.rows += [*names.values(), *entering.values()]
        self._note_singles(parts, names | entering)
        first, count, at = self.fresh("first"), self.fresh("count"), self.fresh("at")
        is_place = bounds.counts_from_number and not bounds.down
        strip = self.fresh("strip") if is_place else first
        self.rows += parts.rows_of_branches
        here = ast.BinOp(part(first), ast.Sub() if bounds.down else ast.Add(), part(at))
        ahead = self.write_all(parts.before)
        functions = self._write_functions(parts, names, at, part(count))
        for call in parts.gathered:
            functions += self._call(call.function, [call.argument, call.value, call.counter])
        reads = any(index in names_of(item) for item in parts.after if isinstance(item, ast.stmt))
        sums = find_sums(parts.after, self.names.floats)
        heads: dict[str, int] = {}  # terms that an iteration adds to the same adjoint are summed in one row
        adjoints = {k: name for k, s in sums.items() if (name := dotted_name(s.target)) in self.names.adjoints}
        groups = {k: heads.setdefault(adjoints[k], k) if k in adjoints else k for k in sums}
        if len(self.rows) + len(set(groups.values())) > MOST_ROWS:
            sums, groups = {}, {}
        terms = {k: self.fresh(f"{dotted_name(sums[k].target)}_terms") for k in dict.fromkeys(groups.values())}
        self.rows += terms.values()
        rest = self._write_rest(parts, names, part(at), {k: terms[group] for k, group in groups.items()})
        inside = statements(
            """
for at in range(count):
    index = here
    entering
    ahead
    given
functions
counting
for at in range(count):
    again
    taken
    rest
""",
            at=at, count=count, index=index, here=here, entering=_put(entering.items(), at), ahead=ahead,
            given=_put(((x, names[x]) for x in parts.given), at), functions=functions, counting=_count(parts),
            again=statements("index = here", index=index, here=here) if reads else [],
            taken=_take(entering.items(), at), rest=rest,
        )  # fmt: skip
        adding: list[ast.stmt] = []
        for k, row in terms.items():
            s = clone(sums[k])
            s.value = _element(row, at)
            adding.append(s)
        if terms:
            adding = statements("for at in range(count):\n    adding", at=at, count=count, adding=adding)
        made = statements(
            """
for strip in range(start, stop, step):
    opening
    count = min(rows, left)
    counting
    inside
    adding
""",
            strip=strip, start=bounds.start, stop=bounds.stop, step=-ROWS if bounds.down else ROWS,
            opening=_open(first, strip), count=count, rows=ROWS, left=bounds.count_from(first),
            counting=_count(parts), inside=inside, adding=adding,
        )  # fmt: skip
        made[-1].note = note_of(loop)  # type: ignore[attr-defined]
        return made

    def _note_singles(self, parts: LoopParts, rows: dict[str, str]) -> None:
        """Note the rows of float32 numbers."""
        for s in walk_statements(parts.before):
            if isinstance(s, ast.Assign) and self.names.is_single(s.value):
                self.names.singles |= {dotted_name(s.targets[0])} & rows.keys()
        for line in parts.lines:
            made = expression("x", x=line.argument) if isinstance(line, Kernel) else line.expression
            if self.names.is_single(made):
                self.names.singles.add(line.name)
        self.singles |= {row for x, row in rows.items() if self.names.is_single(expression("x", x=x))}

    def _write_rest(
        self, parts: LoopParts, names: dict[str, str], at: ast.expr, terms: dict[int, str]
    ) -> list[ast.stmt]:
        """The rest, after the functions, with its reads from rows; the `terms` of sums go into rows."""
        made = _take(((x, names[x]) for x in parts.read), at)
        begun: dict[str, ast.AugAssign] = {}
        for k, item in enumerate(parts.after):
            if isinstance(item, str):
                made += _take([(item, names[item])], at)
            elif k not in terms:
                made += self.write(item)
            else:
                assert isinstance(item, ast.AugAssign)
                element, head = _element(terms[k], at), begun.setdefault(terms[k], item)
                if head is item:
                    made += statements("element = value", element=element, value=item.value)
                elif type(head.op) is type(item.op):
                    made += statements("element += value", element=element, value=item.value)
                else:
                    made += statements("element -= value", element=element, value=item.value)
        return made

    def _write_functions(self, parts: LoopParts, names: dict[str, str], at: str, count: ast.expr) -> list[ast.stmt]:
        """The functions along rows, and the loops of arithmetic between them."""
        made: list[ast.stmt] = []
        for line in parts.lines:
            if isinstance(line, Kernel):
                made += self._call(line.function, [names[line.argument], names[line.name], count])
                continue
            value = substitute(line.expression, {x: _element(row, at) for x, row in names.items()})
            row = names[line.name]
            made += statements("for at in range(count):\n    row[at] = x", at=at, count=count, row=row, x=value)
        return made

    def _call(self, function: str, given: list[Part]) -> list[ast.stmt]:
        """The call of a function along rows."""
        self.used.add(function)
        return statements("kernel(given)", kernel=self.functions[function][1], given=given)


def _find_most(loop: ast.stmt, greatest: Mapping[str, float]) -> tuple[float, float]:
    """The greatest value of a loop's counter, and its most iterations, given those of the counters around it."""

    def most(x: ast.expr) -> float:
        known = integer_of(x)
        if known is None and isinstance(x, ast.BinOp) and isinstance(x.op, ast.Sub):  # n - 1
            return most(x.left) - (integer_of(x.right) or 0)
        return greatest.get(dotted_name(x), math.inf) if known is None else known

    bounds = bounds_of(loop)
    least = None if bounds is None else integer_of(bounds.stop if bounds.down else bounds.start)
    if bounds is None or least is None or bounds.step not in (1, -1):
        return math.inf, math.inf
    last = most(bounds.start) if bounds.down else most(bounds.stop) - 1
    return last, max(last - least + (0 if bounds.down else 1), 0)


def _bounds(loop: ast.For) -> Bounds | None:
    """The range of a loop that steps by one and is not known to be short; None for other loops."""
    bounds = bounds_of(loop)
    if bounds is None or loop.orelse or bounds.step not in (1, -1) or called_name(loop.iter) != "range":
        return None
    if bounds.number is not None and bounds.number < FEWEST:
        return None
    return None if names_of(loop.iter) & names_assigned([loop]) else bounds


def _open(first: str, strip: str) -> list[ast.stmt]:
    """The first index of a strip."""
    return statements("first = place(strip)", first=first, strip=strip) if strip != first else []


def _count(parts: LoopParts) -> list[ast.stmt]:
    """Start the counts of gathered calls."""
    return [statement("k = place(0)", k=k) for k in dict.fromkeys(call.counter for call in parts.gathered)]


def _element(row: str, at: Part) -> ast.expr:
    return expression("row[at]", row=row, at=at)


def _put(names: Iterable[tuple[str, str]], at: Part) -> list[ast.stmt]:
    """Store numbers in their rows."""
    return [statement("row[at] = x", row=row, at=at, x=x) for x, row in names]


def _take(names: Iterable[tuple[str, str]], at: Part) -> list[ast.stmt]:
    """Load numbers from their rows."""
    return [statement("x = row[at]", row=row, at=at, x=x) for x, row in names]


def _either(test: ast.expr, then: list[ast.stmt], other: list[ast.stmt]) -> list[ast.stmt]:
    return statements("if test:\n    then\nelse:\n    other", test=test, then=then, other=other)
