"""Loops split into blocks of rows, so that elementary functions are computed in vector registers.

    for i in range(n):                         for block in range(0, n, 256):
        eta = 0.0                                  first = place(block)
        for j in range(k):                         count = min(256, n - first)
            eta += x[i, j] * beta[j]               for at in range(count):
        t = math.exp(eta)                ->            i = first + at
        total += t                                     eta = 0.0 ...
                                                       eta_rows[at] = eta
                                                   exp_rows(eta_rows, t_rows, count)
                                                   for at in range(count):
                                                       t = t_rows[at]
                                                       total += t

First comes what arguments are made of, then the functions, then everything else, in its order: sums are added as they
were. A loop is split where its first part reads nothing that the rest of it writes, and where every iteration is sure
to run to its end. Where everything else is sums and long arithmetic, the sums get a loop of their own, so that the rest
is in vector registers as well. A function that some loop has in registers is the same one everywhere in the derivative,
so that what is computed again is what it was. Where a loop has one in it whose iterations are few, rows are those of
several iterations of the outer one (`nested_rows`).
"""

import ast
import copy
import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from contad.engines.source.writing.gathered_calls import GatheredCalls
from contad.engines.source.writing.live_names import LiveNames, Names, names_in
from contad.engines.source.writing.loop_costs import is_outgrown
from contad.engines.source.writing.loop_statements import SplitBody, is_function
from contad.engines.source.writing.nested_rows import NestParts, find_integers, find_nest
from contad.engines.source.writing.row_parts import Kernel, LoopParts, find_parts, find_sums
from contad.native.elementary.elementary_table import BY_CALL, ELEMENTARY
from contad.native.elementary.rows import ROWS

MOST_ROWS = 48  # of a function: 96 KB of its stack
FEWEST = 8  # iterations that are worth it; known where their number is written out, else tested where loops repeat it
LONG = 12  # iterations of loops in others that are sooner along rows than the C library has their functions


class Facts(NamedTuple):
    """What the text does not tell of the names in it."""

    floats: set[str]  # numbers of float64
    roots: dict[str, frozenset[str]]  # of arrays: the memory that they may be
    constant: set[str]  # roots that are never written
    adjoints: frozenset[str] = frozenset()  # numbers of float64 whose terms have no order


class Split(NamedTuple):
    """A function after its loops were split: its lines, and the definitions that they need."""

    lines: list[str]
    definitions: list[str]


def split_loops(
    lines: list[str], facts: Facts, fresh: Callable[[str], str], nests: bool = True, alone: bool = True
) -> Split:
    """The lines of a function, its head first, with loops in blocks where that puts functions into registers.

    Without `nests`, of loops that stand in others those whose length changes with these are split: it grows as theirs
    does. Other lengths, of states or components, are often a handful. So where these are known before all loops, the
    function tests them, and has either all of its loops in blocks that share functions, or none and the C library's
    functions: a function is the same one in a whole call. A function that would stay in another loop, too, is none
    that is split by: the C library computes it sooner. (Functions beside loops that are as long as theirs are few: such
    loops stay whole, and are written once so.) Where the lines are not `alone`, but share their work with other
    functions, nothing is left to a test.
    """
    if not any(f"{called}(" in line for line in lines for called in BY_CALL):
        return Split(lines, [])
    (function,) = ast.parse("\n".join(lines)).body
    assert isinstance(function, ast.FunctionDef)
    calls = (x for x in ast.walk(function) if isinstance(x, ast.Call) and ast.unparse(x.func) in BY_CALL)
    if any(len(call.args) != 1 for call in calls):  # a logarithm of some base
        return Split(lines, [])

    integers, live = find_integers(function), LiveNames(function.body).after
    bodies: dict[ast.For, SplitBody] = {}

    def write(name: Callable[[str], str], gather: bool, way: LongLoops | None = None) -> _Splitter:
        splitter = _Splitter(lines, facts, name, nests, gather, way)
        splitter.integers, splitter.live, splitter.bodies = integers, live, bodies
        splitter.write_test(function.lineno)
        splitter.write_block(function.body, 1)
        return splitter

    if nests:
        return _finish(write(fresh, True))
    way = _find_way(function, write(_count_names(), True, LongLoops("", (), 0, frozenset())), fresh) if alone else None
    for gather, tested in dict.fromkeys([(True, way), (True, None), (False, None)]):
        if write(_count_names(), gather, tested).is_consistent():
            return _finish(write(fresh, gather, tested))
    return Split(lines, [])


def _count_names() -> Callable[[str], str]:
    """Names for lines that nobody reads."""
    numbers = itertools.count()
    return lambda name: f"{name}_trial_{next(numbers)}"


class LongLoops(NamedTuple):
    """What a function tests before its loops: whether those that stand in others are long."""

    name: str
    lengths: tuple[str, ...]  # of loops
    line: int  # behind which they are known
    functions: frozenset[str]  # which are along rows, and others than those of the C library, if they are


def _find_way(function: ast.FunctionDef, splitter: "_Splitter", fresh: Callable[[str], str]) -> LongLoops | None:
    """What to test, by what splitting would do; None where no loop needs it, or some length is not known before."""
    lengths = {length for loop in splitter.split for length in loop.lengths}
    if not lengths:
        return None
    functions = {name for loop in splitter.split if loop.lengths for name in loop.functions}
    while more := {x for loop in splitter.split if loop.functions & functions for x in loop.functions} - functions:
        functions |= more
    if any(loop.varies and loop.functions & functions for loop in splitter.split):
        return None
    known: dict[str, int] = {x.arg: function.lineno for x in function.args.args}
    for s in function.body:
        if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name):
            known[s.targets[0].id] = s.lineno
    written = [x.id for x in names_in(function) if isinstance(x.ctx, ast.Store)]
    first = min(x.lineno for x in ast.walk(function) if isinstance(x, (ast.For, ast.While)))
    names = {x.id for length in lengths for x in names_in(ast.parse(length, mode="eval"))}
    if any(known.get(x, first) >= first or written.count(x) > 1 for x in names):
        return None
    line = max((known[x] for x in names), default=function.lineno)
    return LongLoops(fresh("long"), tuple(sorted(lengths)), line, frozenset(functions))


def _finish(splitter: "_Splitter") -> Split:
    """The lines and definitions of what was written."""
    if not splitter.rows:
        return Split(splitter.lines, [])
    made = [f"    {name} = new_row()" for name in splitter.rows]
    body = [splitter.lines[0], *made, *splitter.written]
    kinds = [""] * (1 + len(made)) + splitter.kinds
    names = {name: given for name, given in splitter.functions.items() if name in splitter.used}
    for name, (given, _) in names.items():
        pattern = re.compile(rf"(?<![\w.]){re.escape(ELEMENTARY[name].called)}\(")
        by_test = splitter.way.name if splitter.way is not None and name in splitter.way.functions else ""
        for k, (line, kind) in enumerate(zip(body, kinds, strict=True)):
            if kind == "rare" and by_test and pattern.search(line):
                body[k] = _choose(line, pattern, given, by_test)
            elif kind != "short":
                body[k] = pattern.sub(f"{given}(", line)
    text = "\n".join(body)
    alone = {name: given for name, (given, _) in names.items() if re.search(rf"\b{given}\(", text)}
    definitions = [f'{given} = elementary("{name}")' for name, given in alone.items()]
    definitions += [f'{given} = elementary_rows("{name}")' for name, (_, given) in names.items()]
    return Split(body, ["", *definitions])


def _choose(line: str, pattern: re.Pattern[str], given: str, test: str) -> str:
    """A line with either function in each call, by a test."""
    for call in reversed(list(pattern.finditer(line))):  # those in others first
        end, depth = call.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(line[end], 0)
            end += 1
        arguments = line[call.end() : end]
        line = f"{line[: call.start()]}({given}({arguments} if {test} else {call[0]}{arguments}){line[end:]}"
    return line


class _Blocked(NamedTuple):
    """A loop that is split: the functions in it, and what is to be long for that."""

    functions: set[str]
    lengths: tuple[str, ...]
    varies: bool  # with loops around it


class _Splitter:
    """Writes statements again, their loops in blocks where they can be."""

    def __init__(
        self, lines: list[str], facts: Facts, fresh: Callable[[str], str], nests: bool, gather: bool,
        way: LongLoops | None,
    ) -> None:  # fmt: skip
        """Of a function: its `lines`, and which of its loops may be split."""
        self.lines, self.facts, self.fresh, self.gather = lines, facts, fresh, gather
        self.way, self.nests, self.splits_all = way, nests or way is not None, nests
        self.written: list[str] = []
        self.kinds: list[str] = []  # of the lines: "long" and "short" where a test has led to them, "rare" in no rows
        self.kind = ""
        self.split: list[_Blocked] = []
        self.rows: list[str] = []
        called = [name for name, known in ELEMENTARY.items() if any(f"{known.called}(" in line for line in lines)]
        self.functions = {name: (fresh(name), fresh(f"{name}_rows")) for name in called}  # of a number, and along rows
        self.used: set[str] = set()  # along rows
        self.staying: set[str] = set()  # in loops, not along rows
        self.elsewhere: set[str] = set()  # on lines to which no test has led
        self.around: list[str] = []  # the counters of the loops that what is written now is in
        self.stays_whole = self.in_nest = False
        self.integers: set[str] = set()
        self.live: Mapping[ast.stmt, Names] = {}  # behind loops
        self.bodies: dict[ast.For, SplitBody] = {}  # of loops, which stay as they are: what is written are copies

    def is_consistent(self) -> bool:
        """Whether a function that is along rows stays in no loop, and one by a test nowhere but behind that."""
        if not self.rows or self.used & self.staying:
            return False
        return self.way is None or not self.way.functions & self.elsewhere

    def write_block(self, statements: Iterable[ast.stmt], depth: int) -> None:
        """Statements at a depth of indentation."""
        for statement in statements:
            self.write(statement, depth)
            if depth == 1:
                self.write_test(statement.lineno)

    def write_test(self, line: int) -> None:
        """What the function tests before its loops, if that is known behind this line of it."""
        if self.way is not None and self.way.line == line:
            tests = " and ".join(f"{length} >= {LONG}" for length in self.way.lengths)
            self._line(f"{self.way.name} = {tests}", 1)

    def write(self, statement: ast.stmt, depth: int) -> None:
        """A statement."""
        if isinstance(statement, ast.For):
            if self._split(statement, depth):
                return
            self._write_loop(statement, depth)
        elif isinstance(statement, ast.While):
            self._write_loop(statement, depth)
        elif isinstance(statement, ast.If):
            self._line(self._head(statement), depth)
            self.write_block(statement.body, depth + 1)
            if statement.orelse and self._original(statement.orelse[0]).startswith("elif "):
                self.write_block(statement.orelse, depth)
            elif statement.orelse:
                self._line("else:", depth)
                self.write_block(statement.orelse, depth + 1)
        else:
            self._line(self._original(statement), depth)

    def _write_loop(self, loop: ast.For | ast.While, depth: int) -> None:
        """A loop as it was, though those in it may be split."""
        self._line(self._original(loop), depth)
        self.around.append(ast.unparse(loop.target) if isinstance(loop, ast.For) else "")
        self.write_block(loop.body, depth + 1)
        self.around.pop()

    def _original(self, statement: ast.stmt) -> str:
        """A line as it was, with its note; of what was made here, its text with the note of the line that it was."""
        line = self.lines[abs(statement.lineno) - 1].strip() if statement.lineno else ""
        if statement.lineno > 0:
            return line
        _, separator, note = line.partition("  # ")
        return ast.unparse(statement) + separator + note

    def _head(self, branch: ast.If) -> str:
        """The first line of a branch."""
        if branch.lineno > 0:
            return self._original(branch)
        _, separator, note = self.lines[-branch.lineno - 1].strip().partition("  # ")
        return f"if {ast.unparse(branch.test)}:{separator}{note}"

    def _line(self, text: str, depth: int) -> None:
        self.written.append("    " * depth + text)
        self.kinds.append(self.kind)
        called = {name for name in self.functions if f"{ELEMENTARY[name].called}(" in text}
        if self.around and not self.stays_whole:
            self.staying |= called
        if not self.kind:
            self.elsewhere |= called

    def _split(self, loop: ast.For, depth: int) -> bool:
        """Write a loop in blocks; whether it can be, or is better left as it is."""
        bounds = None if self.stays_whole else _bounds(loop)
        if bounds is not None and self.around and not self.in_nest and not self.splits_all and is_outgrown(loop):
            kind, self.kind = self.kind, self.kind or "rare"
            self._write_whole(loop, depth)
            self.kind = kind
            return True
        if bounds is None or not (self.nests or not self.around or self._varies(loop)):
            return False
        start, stop, down = bounds
        varies, numbers = self._varies(loop), _is_number(start) and _is_number(stop)
        if numbers and self.around and self.way is not None:
            return False
        parts = self._find_nest(loop, down) or self._find_parts(loop)
        if parts is None:
            return False
        length = _difference(start, stop) if down else _difference(stop, start)
        if isinstance(parts, NestParts):
            length = f"{_factor(length)} * {_factor(parts.length)}"
        is_tested = self.way is not None and bool(self.around) and not varies and not numbers and not self.in_nest
        functions = parts.functions
        self.split.append(_Blocked(functions, (length,) if is_tested else (), varies))
        if self.way is not None and self.way.functions & functions and not self.kind:
            self._line(f"if {self.way.name}:", depth)
            self.kind = "long"
            self._write_split(loop, bounds, parts, depth + 1)
            self.kind = "short"
            self._line("else:", depth)
            self._write_whole(loop, depth + 1)
            self.kind = ""
            return True
        if self.around and not numbers and self.kind != "long":
            self._line(f"if {length} < {FEWEST}:", depth)
            self._write_whole(loop, depth + 1)
            self._line("else:", depth)
            depth += 1
        self._write_split(loop, bounds, parts, depth)
        return True

    def _write_whole(self, loop: ast.For, depth: int) -> None:
        self.stays_whole = True
        self._write_loop(loop, depth)
        self.stays_whole = False

    def _write_split(
        self, loop: ast.For, bounds: tuple[str, str, bool], parts: LoopParts | NestParts, depth: int
    ) -> None:
        if isinstance(parts, NestParts):
            self._write_nest(loop, bounds, parts, depth)
            return
        self.around.append(ast.unparse(loop.target))
        self._write_parts(loop, bounds, parts, depth)
        self.around.pop()

    def _find_nest(self, loop: ast.For, down: bool) -> NestParts | None:
        """The parts of a loop with one in it whose functions may go along rows of several iterations."""
        if down or self.in_nest or (not self.splits_all and any(map(is_outgrown, loop.body))):
            return None

        def make(x: ast.For, kind: type[SplitBody]) -> SplitBody:
            return kind(x, self.facts.floats, self.facts.roots, self.facts.constant)

        if loop not in self.live:
            return None
        nest = find_nest(loop, make, self.integers, self.live[loop], _count_names())
        if nest is None or len(self.rows) + nest.size > MOST_ROWS:
            return None
        return find_nest(loop, make, self.integers, self.live[loop], self.fresh)

    def _write_nest(self, loop: ast.For, bounds: tuple[str, str, bool], nest: NestParts, depth: int) -> None:
        """A loop in blocks of iterations whose inner ones fill rows together; of those that are long, each alone."""
        tests = [f"{nest.length} <= {ROWS // 2}", *(f"are_apart({x}, {y})" for x, y in nest.apart)]
        self._line(f"if {' and '.join(tests)}:", depth)
        self.around.append(ast.unparse(loop.target))
        self._write_rows_of_nest(loop, bounds, nest, depth + 1)
        self.around.pop()
        self._line("else:", depth)
        kind, nests = self.kind, self.nests
        self.in_nest, self.nests, self.kind = True, True, kind or "long"
        self._write_loop(loop, depth + 1)
        self.in_nest, self.nests, self.kind = False, nests, kind

    def _write_rows_of_nest(self, loop: ast.For, bounds: tuple[str, str, bool], nest: NestParts, depth: int) -> None:
        """The blocks: what runs ahead, with what is kept in rows; functions along those; the rest."""
        start, stop, _ = bounds
        inner, parts = nest.inner, nest.parts
        index, counter = ast.unparse(loop.target), ast.unparse(inner.target)
        names = {name: self.fresh(f"{name}_rows") for name in parts.rows}
        leaving = {name: self.fresh(f"{name}_rows") for name in (*nest.floats, *nest.integers)}
        self.rows += [*names.values(), *leaving.values()]
        wide, first, count, at, row = map(self.fresh, ("wide", "first", "count", "at", "row"))
        notes = [self._original(x).partition("  # ")[2] for x in (loop, inner)]
        outer_note, inner_note = (f"  # {note}" if note else "" for note in notes)
        head, inner_head = f"for {at} in range({count}):", f"for {counter} in range({nest.length}):{inner_note}"
        place = f"{row} = place({at} * {_factor(nest.length)})"
        self._line(f"{wide} = {ROWS} // max({nest.length}, 1)", depth)
        block = self.fresh("block") if start.isdigit() else first
        self._line(f"for {block} in range({start}, {stop}, {wide}):{outer_note}", depth)
        if block != first:
            self._line(f"{first} = place({block})", depth + 1)
        self._line(f"{count} = min({wide}, {_difference(stop, first)})", depth + 1)
        self._line(head, depth + 1)
        self._line(f"{index} = {first} + {at}", depth + 2)
        self.write_block(nest.ahead, depth + 2)
        for name, taken in leaving.items():
            self._line(f"{taken}[{at}] = {name}", depth + 2)
        self._line(place, depth + 2)
        self._line(inner_head, depth + 2)
        self.write_block(parts.before, depth + 3)
        for name in parts.given:
            self._line(f"{names[name]}[{row} + {counter}] = {name}", depth + 3)
        self._write_functions(parts, names, at, f"{count} * {_factor(nest.length)}", depth + 1)
        self._line(head, depth + 1)
        self._line(f"{index} = {first} + {at}", depth + 2)
        for name, taken in leaving.items():
            number = f"int({taken}[{at}])" if name in nest.integers else f"{taken}[{at}]"
            self._line(f"{name} = {number}", depth + 2)
        self._line(place, depth + 2)
        for s in nest.rest:
            if s is not inner:
                self.write(s, depth + 2)
                continue
            self._line(inner_head, depth + 2)
            for name in parts.read:
                self._line(f"{name} = {names[name]}[{row} + {counter}]", depth + 3)
            for item in parts.after:
                if isinstance(item, str):
                    self._line(f"{item} = {names[item]}[{row} + {counter}]", depth + 3)
                else:
                    self.write(item, depth + 3)

    def _find_parts(self, loop: ast.For) -> LoopParts | None:
        """The parts of a loop, with the functions in its branches if there are rows left for them."""
        if not any(map(is_function, ast.walk(loop))):
            return None
        if loop not in self.bodies:
            self.bodies[loop] = SplitBody(loop, self.facts.floats, self.facts.roots, self.facts.constant)
        body = self.bodies[loop]
        for gather in (True, False) if self.gather else (False,):
            parts = find_parts(body, self.fresh, gather)
            if parts is not None and len(self.rows) + parts.size <= MOST_ROWS:
                return parts
        return None

    def _varies(self, loop: ast.For) -> bool:
        """Whether the length of a loop changes with the loops around it."""
        return any(name.id in self.around for name in names_in(loop.iter))

    def _write_parts(self, loop: ast.For, bounds: tuple[str, str, bool], parts: LoopParts, depth: int) -> None:
        """A loop in blocks."""
        start, stop, down = bounds
        index, names = loop.target.id, {name: self.fresh(f"{name}_rows") for name in parts.rows}  # type: ignore[attr-defined]
        entering = {name: self.fresh(f"{name}_before") for name in parts.entering}
        self.rows += [*names.values(), *entering.values()]
        first, count, at = self.fresh("first"), self.fresh("count"), self.fresh("at")
        place = f"{first} {'-' if down else '+'} {at}"
        _, _, note = self._original(loop).partition("  # ")
        step = f"-{ROWS}" if down else str(ROWS)
        block = self.fresh("block") if start.isdigit() and not down else first
        self._line(f"for {block} in range({start}, {stop}, {step}):{note and f'  # {note}'}", depth)
        if block != first:
            self._line(f"{first} = place({block})", depth + 1)
        left = _difference(first, stop) if down else _difference(stop, first)
        self._line(f"{count} = min({ROWS}, {left})", depth + 1)
        gathered = parts.gathered
        if gathered is not None:
            self.rows += gathered.rows
            self._start_counting(gathered, depth + 1)
        head = f"for {at} in range({count}):"
        begun = len(self.written)
        self._line(head, depth + 1)
        self._line(f"{index} = {place}", depth + 2)
        for name, row in entering.items():
            self._line(f"{row}[{at}] = {name}", depth + 2)
        self.write_block(parts.before, depth + 2)
        for name in parts.given:
            self._line(f"{names[name]}[{at}] = {name}", depth + 2)
        self._write_functions(parts, names, at, count, depth + 1)
        if gathered is not None:
            for call in gathered.calls:
                self.used.add(call.function)
                function = self.functions[call.function][1]
                self._line(f"{function}({call.argument}, {call.value}, {call.counter})", depth + 1)
            self._start_counting(gathered, depth + 1)
        self._line(head, depth + 1)
        if any(name.id == index for item in parts.after if isinstance(item, ast.stmt) for name in names_in(item)):
            self._line(f"{index} = {place}", depth + 2)
        for name, source in [*entering.items(), *((name, names[name]) for name in parts.read)]:
            self._line(f"{name} = {source}[{at}]", depth + 2)
        sums = find_sums(parts.after, self.facts.floats)
        groups = self._group(sums)
        if len(self.rows) + len(set(groups.values())) > MOST_ROWS:
            sums = {}
        terms = {k: self.fresh(f"{ast.unparse(sums[k].target)}_terms") for k in dict.fromkeys(groups.values()) if sums}
        self.rows += terms.values()
        for k, item in enumerate(parts.after):
            if isinstance(item, str):
                self._line(f"{item} = {names[item]}[{at}]", depth + 2)
            elif k in sums:
                group = groups[k]
                same = type(sums[k].op) is type(sums[group].op)
                sign = "" if k == group else "+" if same else "-"
                self._line(f"{terms[group]}[{at}] {sign}= {ast.unparse(sums[k].value)}", depth + 2)
            else:
                self.write(item, depth + 2)
        if start.isdigit() and not down:
            self._find_earlier(index, first, at, int(start), begun)
        if terms:
            self._line(head, depth + 1)
        for k, row in terms.items():
            item = copy.copy(sums[k])
            item.value, item.lineno = ast.parse(f"{row}[{at}]", mode="eval").body, -abs(item.lineno)
            self._line(self._original(item), depth + 2)

    def _find_earlier(self, index: str, first: str, at: str, start: int, begun: int) -> None:
        """Write indices of neighbours before, in the lines from one on, so that none is tested for being negative."""
        pattern = re.compile(rf"(?:(?<=\[)|(?<=, )){index} - (\d+)(?=[\],])")
        found: dict[int, str] = {}

        def shift(match: re.Match[str]) -> str:
            back = int(match[1])
            if back > start:
                return match[0]
            if back not in found:
                found[back] = self.fresh(f"{first}_less_{back}")
            return f"{found[back]} + {at}"

        lines = [pattern.sub(shift, line) for line in self.written[begun:]]
        depth = len(self.written[begun]) - len(self.written[begun].lstrip())
        made = [f"{' ' * depth}{name} = place({first} - {back})" for back, name in found.items()]
        self.written[begun:] = [*made, *lines]
        self.kinds[begun:begun] = [self.kind] * len(made)

    def _group(self, sums: dict[int, ast.AugAssign]) -> dict[int, int]:
        """The first of those statements that share a row: what an iteration adds to an adjoint is added up before."""
        first: dict[str, int] = {}
        found = {}
        for k, item in sums.items():
            name = ast.unparse(item.target)
            found[k] = first.setdefault(name, k) if name in self.facts.adjoints else k
        return found

    def _start_counting(self, gathered: GatheredCalls, depth: int) -> None:
        for counter in gathered.counters:
            self._line(f"{counter} = place(0)", depth)

    def _write_functions(self, parts: LoopParts, names: dict[str, str], row: str, count: str, depth: int) -> None:
        """Functions along rows, and loops over what is between them."""
        for step in parts.steps:
            if isinstance(step, Kernel):
                self.used.add(step.function)
                function = self.functions[step.function][1]
                self._line(f"{function}({names[step.argument]}, {names[step.name]}, {count})", depth)
                continue
            tree = _InRows(names, row).visit(step.expression)
            self._line(f"for {row} in range({count}):", depth)
            self._line(f"{names[step.name]}[{row}] = {ast.unparse(tree)}", depth + 1)


class _InRows(ast.NodeTransformer):
    """An expression of one row: names that have rows become their elements."""

    def __init__(self, names: dict[str, str], row: str) -> None:
        self.names, self.row = names, row

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """The element of a row."""
        if node.id not in self.names:
            return node
        return ast.parse(f"{self.names[node.id]}[{self.row}]", mode="eval").body


def _factor(text: str) -> str:
    """A length as a factor of a product."""
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def _difference(x: str, y: str) -> str:
    """x - y."""
    first, second = (text if text.isidentifier() or text.isdigit() else f"({text})" for text in (x, y))
    return first if y == "0" else f"{first} - {second}"


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+", text) is not None


def _bounds(loop: ast.For) -> tuple[str, str, bool] | None:
    """Where a loop over a range starts and stops, and whether it goes down; None for other loops, and short ones."""
    call = loop.iter
    if loop.orelse or not isinstance(loop.target, ast.Name):
        return None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"):
        return None
    texts = [ast.unparse(x) for x in call.args]
    start, stop = ("0", texts[0]) if len(texts) == 1 else texts[:2]
    step = texts[2].strip("()") if len(texts) == 3 else "1"
    if step not in ("1", "-1"):
        return None
    if _is_number(start) and _is_number(stop) and abs(int(stop) - int(start)) < FEWEST:
        return None
    changed = {x.id for x in names_in(loop) if isinstance(x.ctx, ast.Store)}
    if any(x.id in changed for arg in call.args for x in names_in(arg)):
        return None
    return start, stop, step == "-1"

