"""Adjoints of neighbours, which a loop adds to, go on to the next iteration in numbers: each element is written once.

    for i in range(n):                     x_bar_here = 0.0
        x_bar[i] += s                      for i in range(n):
        x_bar[i + 1] += t          ->          x_bar_here += s
                                               x_bar_next = t
                                               x_bar[i] = x_bar_here
                                               x_bar_here = x_bar_next
                                           if 0 < n:
                                               x_bar[n] = x_bar_here

An element that is written in one iteration and read in the next one makes the processor wait, and keeps loops out of
vector registers. Sums are added up in the order that they had. So it is in loops that touch the array by such additions
alone, unconditionally, one after the other; two neighbours only where the array is known to hold zeros before the loop,
as else nothing is gained, but for what an iteration that is written apart has added to the first one.
"""

import ast
import itertools
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from contad.engines.source.writing.array_accesses import indices_of, offset_of
from contad.engines.source.writing.first_writes import LEAVES, ZEROS, FirstWrites, names_it, touches_only
from contad.engines.source.writing.live_names import names_assigned, names_read

MADE = re.compile(r"    (\w+) = (?:(?:np\.|lent_)(?:zeros|empty)|fill_with_zeros)\(")
FILLED = re.compile(r"    (\w+) = fill_with_zeros\(\w+\)$")
MOST_CARRIED = 3  # numbers from one iteration to the next


class Vectors(NamedTuple):
    """What the text does not tell of names."""

    vectors: frozenset[str]  # arrays of numbers with one axis
    roots: Mapping[str, frozenset[str]]  # of arrays: the memory that they may be


class CarriedText(NamedTuple):
    """A function after its loops were looked at: its lines, and the names of numbers that they have now."""

    lines: list[str]
    numbers: list[str]


class _StencilLoop(NamedTuple):
    """A loop that counts up from a known number: its array, and the statements that add to it, by their offsets."""

    node: ast.For
    name: str
    first: int
    end: str
    added: list[tuple[ast.AugAssign, int]]

    @property
    def behind(self) -> int:
        return min(offset for _, offset in self.added)

    @property
    def ahead(self) -> int:
        return max(offset for _, offset in self.added)


def carry_neighbours(lines: list[str], facts: Vectors, fresh: Callable[[str], str]) -> CarriedText:
    """The lines of a function, its head first, with such loops written so."""
    made = {found[1] for line in lines if (found := MADE.match(line)) and found[1] in facts.vectors}
    if not made or not any(re.search(r"\w\[\w+ [+-] \d+\] [+-]= ", line) for line in lines):
        return CarriedText(lines, [])
    (function,) = ast.parse("\n".join(lines)).body
    assert isinstance(function, ast.FunctionDef)
    arrays = FirstWrites(function)
    edits = _Edits({}, {}, {}, {})
    numbers: list[str] = []
    shared = {x for s in ast.walk(function) if _may_be_shared(s) for x in ast.walk(s)}
    for node in ast.walk(function):
        if not isinstance(node, ast.For) or node in shared:
            continue
        for name in sorted(made & {_array_of(s) for s in node.body}):
            loop = _find(node, name, function, facts) if len(arrays.assigned[name]) == 1 else None
            if loop is None:
                continue
            zeros = _zeros_before(lines, function, loop)
            if zeros is None and loop.ahead - loop.behind < 2:
                continue
            is_whole = zeros is not None and _is_whole(loop, zeros, lines[zeros.line], arrays)
            if is_whole:
                assert zeros is not None
                edits.instead[zeros.line] = lines[zeros.line].replace("zeros(", "empty(", 1)
                if zeros.add:
                    edits.instead[zeros.add - 1] = lines[zeros.add - 1].replace(" += ", " = ", 1)
            names = [fresh(f"{name}_{_part(k, loop)}") for k in range(loop.ahead - loop.behind + 1)]
            numbers += names
            _write(loop, lines, names, edits, zeros, is_whole)
    return CarriedText(edits.apply(lines), numbers)


class _Edits(NamedTuple):
    """What is written at lines, by their numbers: before, instead of and behind them, and where a loop has ended."""

    before: dict[int, list[str]]
    instead: dict[int, str]
    behind: dict[int, list[str]]
    ended: dict[int, list[str]]

    def apply(self, lines: list[str]) -> list[str]:
        """The lines with what is written."""
        made = []
        for k, line in enumerate(lines):
            made += [*self.before.get(k, ()), self.instead.get(k, line)]
            made += [*self.behind.get(k, ()), *self.ended.get(k, ())]
        return made


def _may_be_shared(s: ast.AST) -> bool:
    """Whether threads may share a loop, which asks for arrays that are only added to."""
    return isinstance(s, ast.For) and ast.unparse(s.iter).startswith("prange(")


def _part(k: int, loop: _StencilLoop) -> str:
    """How the number of an element is called, from the one that is written in an iteration to the newest."""
    return "here" if k == 0 else "next" if k == loop.ahead - loop.behind else "then"


def _array_of(s: ast.AST) -> str:
    """The array to whose element a statement adds."""
    return s.target.value.id if _adds(s) else ""  # type: ignore[attr-defined]


def _adds(s: ast.AST) -> bool:
    """Whether a statement adds a number to an element, or takes one from it."""
    return (
        isinstance(s, ast.AugAssign) and isinstance(s.op, (ast.Add, ast.Sub)) and s.lineno == s.end_lineno
        and isinstance(s.target, ast.Subscript) and isinstance(s.target.value, ast.Name)
    )  # fmt: skip


def _find(node: ast.For, name: str, function: ast.FunctionDef, facts: Vectors) -> _StencilLoop | None:
    """The loop, if it may carry the neighbours of this array."""
    over = node.iter
    if not isinstance(over, ast.Call) or ast.unparse(over.func) != "range" or not isinstance(node.target, ast.Name):
        return None
    if len(over.args) > 2 or any(isinstance(x, (*LEAVES, ast.Try)) for x in ast.walk(node)):
        return None
    first = over.args[0] if len(over.args) == 2 else ast.Constant(0)
    end = over.args[-1]
    changed = names_assigned(node.body)
    if not isinstance(first, ast.Constant) or type(first.value) is not int or names_read(end) & changed:
        return None
    index = node.target.id
    if index in changed:
        return None
    added = []
    for s in node.body:
        if not names_it(s, name):
            continue
        if _array_of(s) != name:
            return None
        assert isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Subscript)
        if names_it(s.value, name) or names_it(s.target.slice, name):
            return None
        offset = offset_of(indices_of(s.target)[0], index) if len(indices_of(s.target)) == 1 else None
        if offset is None:
            return None
        added.append((s, offset))
    loop = _StencilLoop(node, name, first.value, ast.unparse(end), added)
    if not 1 <= loop.ahead - loop.behind <= MOST_CARRIED or loop.first + loop.behind < 0:  # indices from the end
        return None
    named = {x.id for s in node.body for x in ast.walk(s) if isinstance(x, ast.Name)}
    return None if _others_of(function, name, facts) & named else loop


def _others_of(function: ast.FunctionDef, name: str, facts: Vectors) -> set[str]:
    """Other names that memory of this array may have."""
    own = facts.roots.get(name, frozenset((name,)))
    found = {other for other, roots in facts.roots.items() if other != name and roots & own}
    ahead = {name}
    while ahead:
        known = ahead.pop()
        for s in ast.walk(function):
            if isinstance(s, ast.Assign) and not _reads_elements(s.value, known) and names_it(s.value, known):
                ahead |= names_assigned(s.targets) - found - {name}
                found |= names_assigned(s.targets) - {name}
    return found


def _reads_elements(value: ast.expr, name: str) -> bool:
    """Whether an expression has an array only in reads of its elements, or of its shape."""
    inside = [
        x.value for x in ast.walk(value)
        if (isinstance(x, ast.Subscript) and not any(isinstance(y, ast.Slice) for y in indices_of(x)))
        or (isinstance(x, ast.Attribute) and x.attr in ("shape", "size"))
    ]  # fmt: skip
    return all(x in inside for x in ast.walk(value) if isinstance(x, ast.Name) and x.id == name)


class _Zeros(NamedTuple):
    """Where an array is made of zeros, which it has from the newest element of a loop's first iteration on."""

    line: int
    alone: ast.If | None  # an iteration before the loop, which has touched the element before that one
    add: int  # the line where it does so first, by an addition; 0 where it does not


def _zeros_before(lines: list[str], function: ast.FunctionDef, loop: _StencilLoop) -> _Zeros | None:
    """The zeros of an array, where the loop is the first that touches it but for an iteration that is apart."""
    made = next(k for k, line in enumerate(lines) if (found := MADE.match(line)) and found[1] == loop.name)
    if not (ZEROS.match(lines[made]) or FILLED.match(lines[made])):
        return None
    naming = [s for s in function.body if s.lineno > made + 1 and names_it(s, loop.name)]
    if naming[0] is loop.node:
        return _Zeros(made, None, 0)
    alone = naming[0]
    if not isinstance(alone, ast.If) or alone.orelse or naming[1] is not loop.node or not alone.body:
        return None
    index, k = alone.body[0], loop.first + loop.behind
    if ast.unparse(index) != f"{ast.unparse(loop.node.target)} = {k}" or loop.ahead - loop.behind != 1:
        return None
    target = ast.unparse(loop.node.target)
    touching = [s for s in alone.body if names_it(s, loop.name)]
    if target in names_assigned(alone.body[1:]) or not all(touches_only(s, loop.name, [target]) for s in touching):
        return None
    if not touching:
        return None
    add = touching[0]
    if not isinstance(add, ast.AugAssign) or not isinstance(add.op, ast.Add) or names_it(add.value, loop.name):
        return _Zeros(made, alone, 0)
    return _Zeros(made, alone, add.lineno if _array_of(add) == loop.name else 0)


def _is_whole(loop: _StencilLoop, zeros: _Zeros, line: str, arrays: FirstWrites) -> bool:
    """Whether the loop, if it runs, writes all elements of the array; else what stands before it does."""
    found = ZEROS.match(line)
    if found is None or loop.first + loop.behind != 0 or not loop.end.isidentifier():
        return False
    is_next = loop.behind == -1  # to the iteration that is apart
    if zeros.alone is not None and not (is_next and zeros.add and ast.unparse(zeros.alone.test) == f"0 < {loop.end}"):
        return False
    if found[3] is not None:
        length = f"{found[3]}.shape[0]"
    else:
        shape = ast.parse(found[2], mode="eval").body
        if not isinstance(shape, ast.Tuple) or len(shape.elts) != 1:
            return False
        length = ast.unparse(shape.elts[0])
    made = [s for s in arrays.assigned.get(loop.end, ()) if s in arrays.body]
    if len(made) != 1 or len(arrays.assigned[loop.end]) != 1 or loop.end in arrays.given:
        return False
    base = loop.end
    if loop.ahead:
        value = ast.unparse(made[0].value)  # type: ignore[attr-defined]
        base = value.removesuffix(f" - {loop.ahead}")
        if base == value:
            return False
    known = arrays.same_as(length, loop.node.lineno)
    return base in known and all(arrays.stays(x) for x in (base, length))


def _write(
    loop: _StencilLoop, lines: list[str], names: list[str], edits: _Edits, zeros: _Zeros | None, is_whole: bool
) -> None:
    """Write a loop so; the array holds zeros before it, or what it holds is read."""
    assert loop.node.end_lineno is not None
    head, last = loop.node.lineno - 1, loop.node.end_lineno - 1
    outer, inner = _indentation(lines[head]), _indentation(lines[loop.node.body[0].lineno - 1])
    runs = f"{loop.first} < {loop.end}"
    is_zero, is_alone = zeros is not None, zeros is not None and zeros.alone is not None
    for k, name in enumerate(names[:-1]):
        begun = "0.0" if is_zero and not is_alone else f"{loop.name}[{loop.first + loop.behind + k}] if {runs} else 0.0"
        edits.before.setdefault(head, []).append(f"{outer}{name} = {begun}")
    newest = next(s for s, offset in loop.added if offset == loop.ahead)
    for s, offset in loop.added:
        name, line = names[offset - loop.behind], lines[s.lineno - 1]
        sign = "+" if isinstance(s.op, ast.Add) else "-"
        value, note = ast.unparse(s.value), line.partition("  # ")[2]
        if s is newest:
            term = value if isinstance(s.value, (ast.Name, ast.Constant)) else f"({value})"
            minus = f"-{term}" if sign == "-" else value
            new = f"{inner}{name} = {minus if is_zero else f'{ast.unparse(s.target)} {sign} {term}'}"
        else:
            new = f"{inner}{name} {sign}= {value}"
        edits.instead[s.lineno - 1] = f"{new}  # {note}" if note else new
    assert isinstance(loop.node.target, ast.Name)
    written = edits.behind.setdefault(max(s.lineno for s, _ in loop.added) - 1, [])
    written.append(f"{inner}{loop.name}[{_shift(loop.node.target.id, loop.behind)}] = {names[0]}")
    written += [f"{inner}{name} = {following}" for name, following in itertools.pairwise(names)]
    ended = [f"{outer}if {runs}:"]
    for k, name in enumerate(names[:-1]):
        ended.append(f"{outer}    {loop.name}[{_shift(loop.end, loop.behind + k)}] = {name}")
    ended += [f"{outer}else:", f"{outer}    {loop.name}[:] = 0.0"] if is_whole and not is_alone else []
    edits.ended[last] = [*ended, *edits.ended.get(last, ())]  # a loop around it ends at the same line


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _shift(text: str, offset: int) -> str:
    """An index that is so far from another one."""
    if not offset:
        return text
    text = text if text.isidentifier() else f"({text})"
    return f"{text} {'+' if offset > 0 else '-'} {abs(offset)}"
