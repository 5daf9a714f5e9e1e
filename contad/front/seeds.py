"""The directions that an engine's `run` gets, and the loops over them, as text.

A direction is the tangents of the differentiated arguments, or the cotangents of the result. A loop takes one direction
after another, or a chunk of several, one for each lane; in the last chunk some lanes may be idle. One index counts the
numbers of all arguments, or of the result, in order.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from numba import types

from contad.errors import UnsupportedError
from contad.front.taken_arguments import Argument, TypedCall, differentiate, refuse, shape_checks, tuple_of
from contad.kernels.lanes import NUMBERS, LanesType
from contad.variables.open_types import NumbaType

MOST = 8  # lanes: two or four vector registers
FEW = 4  # for the rows of an array of unknown length, often two or three

_MEMORY = (NUMBERS, NUMBERS)  # of values that do not differ between chunks, and its marks
_SMALL = 64  # elements of directions in stack memory


def indent(lines: Sequence[str]) -> list[str]:
    """The statements of a block."""
    return [f"    {line}" for line in lines]


# ---- the numbers of a direction --------------------------------------------------------------------------------------
class DirectionLeaf:
    """A number or an array among the arguments, or in the result, and its direction."""

    def __init__(self, k: int, expression: str, t: NumbaType, prefix: str) -> None:
        self.expression, self.is_array = expression, isinstance(t, types.Array)
        self.name = f"{prefix}{k}"
        self.type = types.Array(types.float64, t.ndim, "C") if self.is_array else types.float64
        self.known: tuple[int, ...] | None = None if self.is_array else ()  # its shape, if known beforehand

    @property
    def size(self) -> str:
        return f"{self.expression}.size" if self.known is None else str(math.prod(self.known))

    @property
    def shape(self) -> str:
        return f"{self.expression}.shape" if self.known is None else repr(self.known)


class DirectionPair(NamedTuple):
    """The parts of a complex number or array."""

    real: DirectionLeaf
    imag: DirectionLeaf


class DirectionTree:
    """The numbers and arrays of nested tuples. A complex one is a pair of leaves.

    With `in_parts`, the expressions give such pairs, too; otherwise both leaves have the expression of the whole.
    """

    def __init__(self, parts: Sequence[tuple[str, NumbaType]], prefix: str, in_parts: bool = False) -> None:
        self.leaves: list[DirectionLeaf] = []
        self.in_parts, self.has_pairs = in_parts, False
        self.structure = tuple(self._read(expression, t, prefix) for expression, t in parts)

    def _read(self, expression: str, t: NumbaType, prefix: str) -> object:
        if isinstance(t, types.BaseTuple) and not isinstance(t, types.BaseNamedTuple):
            return tuple(self._read(f"{expression}[{k}]", part, prefix) for k, part in enumerate(t))
        element = t.dtype if isinstance(t, types.Array) else t
        if element not in (types.float64, types.complex128):
            raise UnsupportedError(f"compiled Jacobians have numbers and arrays of float64 and complex128, got {t}")
        if element == types.float64:
            self.leaves.append(DirectionLeaf(len(self.leaves), expression, t, prefix))
            return self.leaves[-1]
        self.has_pairs = True
        for k in range(2):
            part = f"{expression}[{k}]" if self.in_parts else expression
            self.leaves.append(DirectionLeaf(len(self.leaves), part, t, prefix))
        return DirectionPair(*self.leaves[-2:])

    def pairs(self) -> list[DirectionPair]:
        """All pairs."""
        found: list[DirectionPair] = []

        def note(x: Any) -> str:
            if isinstance(x, DirectionPair):
                found.append(x)
            return ""

        self.text_of(note, False)
        return found

    @property
    def size(self) -> str:
        """The number of all numbers."""
        return " + ".join(x.size for x in self.leaves) or "0"

    @property
    def places(self) -> dict[DirectionLeaf, str]:
        """The index at which each leaf begins."""
        return {x: " + ".join(y.size for y in self.leaves[:k]) or "0" for k, x in enumerate(self.leaves)}

    def text(self, of_leaf: dict[DirectionLeaf, str], single: bool) -> str:
        """Nested tuples of the texts of the leaves; with `single` the first part alone."""
        return self.text_of(lambda x: _join(x, of_leaf.__getitem__, _tuple_text), single)

    def text_of(self, write: Callable[[Any], str], single: bool) -> str:
        """The same of the texts of the leaves and pairs."""
        whole = self.structure[0] if single else self.structure
        return _join(whole, write, _tuple_text, (DirectionLeaf, DirectionPair))

    def types(self, of_leaf: Callable[[DirectionLeaf], NumbaType], single: bool) -> NumbaType:
        """The Numba type of such tuples."""
        return _join(self.structure[0] if single else self.structure, of_leaf, types.Tuple)


def _join(
    structure: object, of_leaf: Callable[[Any], Any], join: Callable[[list[Any]], Any],
    leaves: tuple[type, ...] = (DirectionLeaf,),
) -> Any:  # fmt: skip
    if isinstance(structure, leaves):
        return of_leaf(structure)
    assert isinstance(structure, tuple)
    return join([_join(part, of_leaf, join, leaves) for part in structure])


def _tuple_text(parts: list[str]) -> str:
    return f"({''.join(f'{x}, ' for x in parts).rstrip()})"


# ---- one direction ---------------------------------------------------------------------------------------------------
class Given(NamedTuple):
    """A direction: an expression and its type, after statements that check what the caller gives."""

    text: str
    type: NumbaType
    checks: list[str]


def given_seeds(call: TypedCall) -> Given:
    """The cotangent of the result, or the tangents of arguments."""
    own, form = call.own, call.form
    assert own is not None
    if form.mode == "vjp":
        cotangent = differentiate(own)
        return Given(cotangent.expression, cotangent.type, [])
    is_product = form.kind == "hvp"
    tangents = [differentiate(own)] if is_product and form.single else tangents_of(call)
    primals = [call.given[n] for n in (form.along or call.argnums)]
    rule = ("the vector must have the argument's shape", "TypeError") if is_product else ()
    kind = types.Tuple([t.type for t in tangents])
    return Given(f"({tuple_of(tangents)})", kind, shape_checks(primals, tangents, call.what, *rule))


def tangents_of(call: TypedCall) -> list[Argument]:
    """The tangents in the tuple that the caller gives."""
    own, form, what = call.own, call.form, call.what
    assert own is not None
    count = len(form.along or call.argnums)
    if not isinstance(own.type, types.BaseTuple) or len(own.type) != count:
        entries = f"for each of {count} arguments" if form.kind == "hvp" else "for each primal"
        name = "the vector" if form.kind == "hvp" else "tangents"
        raise UnsupportedError(f"{what}: {name} must be a tuple with one entry {entries}")
    return [differentiate(Argument(t, f"{own.expression}[{k}]")) for k, t in enumerate(own.type)]


def ones(call: TypedCall) -> Given:
    """A one for each differentiation along a number."""
    along = call.form.along
    if not all(call.taken[n].type == types.float64 for n in along):
        raise UnsupportedError(f"{call.what}: a gradient is one number only where its argument is; use contad.hessian")
    return Given(f"({'1.0, ' * len(along)})", types.Tuple([types.float64] * len(along)), [])


# ---- loops over directions -------------------------------------------------------------------------------------------
class DirectionLoop(ABC):
    """Directions of the numbers in a tree, `lanes` of them at once."""

    has_memory = False  # whether later chunks reuse values of the first one
    idle = ""  # no direction, as an argument of `run`

    def __init__(self, tree: DirectionTree, single: bool, lanes: int) -> None:
        self.tree, self.single, self.lanes = tree, single, lanes
        # of the arguments of `run` behind those of f
        self.types: tuple[NumbaType, ...] = (tree.types(self._type_of, single),)
        self.checks: list[str] = []  # statements that name and check what the caller gives
        self.start: list[str] = []  # statements before the loop

    @abstractmethod
    def over(self, run: str, take: Callable[[Sequence[DirectionLeaf]], list[str]]) -> list[str]:
        """The statement `run`, with {} for the direction, along all directions.

        `take` gives the statements that use the results for directions of some leaves.
        """

    def _type_of(self, x: DirectionLeaf) -> NumbaType:
        kind = LanesType(self.lanes)
        if self.lanes == 1:
            return x.type
        return kind.array(x.type.ndim) if x.is_array else kind

    def zeros(self, shape: str) -> str:
        """Directions of zeros."""
        return f"np.zeros({shape})" if self.lanes == 1 else f"lanes_zeros({shape}, {self.lanes})"

    def rows(self, expression: str) -> str:
        """An array of lanes, or of numbers, as a matrix with a row for each element."""
        return f"{expression}.reshape(({expression}.size, 1))" if self.lanes == 1 else f"as_rows({expression})"

    def in_chunks(self, count: str, body: Sequence[str]) -> list[str]:
        """A loop over chunks of directions."""
        start = f"for start in range(0, {count}, {self.lanes}):"
        return [start, f"    stop = min(start + {self.lanes}, {count})", *indent(body)]


class UnitDirections(DirectionLoop):
    """All unit vectors."""

    def name_rows(self, came: DirectionTree) -> list[str]:
        """Statements before those that use results."""
        return []

    @abstractmethod
    def put(self, matrix: str, x: DirectionLeaf, p: DirectionLeaf, by_columns: bool) -> list[str]:
        """Statements that put the result p along directions of x into a matrix, as columns or rows."""

    @abstractmethod
    def add_diagonal(self, total: str, x: DirectionLeaf, p: DirectionLeaf) -> list[str]:
        """Statements that add the result p for x itself."""


class UnitVectors(UnitDirections):
    """All unit vectors, one after another; `k` counts those of a leaf."""

    def __init__(self, tree: DirectionTree, single: bool) -> None:
        super().__init__(tree, single, 1)
        for x in tree.leaves:
            if x.is_array:
                self.start += [f"{x.name} = {self.zeros(x.shape)}", f"{x.name}_row = {x.name}.reshape({x.name}.size)"]

    def over(self, run: str, take: Callable[[Sequence[DirectionLeaf]], list[str]]) -> list[str]:
        lines = []
        zero = {x: x.name if x.is_array else "0.0" for x in self.tree.leaves}
        for x in self.tree.leaves:
            along = self.tree.text(zero | ({} if x.is_array else {x: "1.0"}), self.single)
            body = [run.format(along), *take([x])]
            if x.is_array:
                lines.append(f"for k in range({x.name}.size):")
                lines += indent([f"{x.name}_row[k] = 1.0", *body, f"{x.name}_row[k] = 0.0"])
            else:
                lines += ["k = 0", *body]
        return lines

    def put(self, matrix: str, x: DirectionLeaf, p: DirectionLeaf, by_columns: bool) -> list[str]:
        if not (x.is_array or p.is_array):
            return [f"{matrix} = {p.expression}"]
        whole, row = (":", f"{p.expression}.reshape({p.expression}.size)") if p.is_array else ("0", p.expression)
        return [f"{matrix}[{f'{whole}, k' if by_columns else f'k, {whole}'}] = {row}"]

    def add_diagonal(self, total: str, x: DirectionLeaf, p: DirectionLeaf) -> list[str]:
        number = f"{p.expression}.reshape({p.expression}.size)[k]" if p.is_array else p.expression
        return [f"{total} += {number}"]


class UnitChunks(UnitDirections):
    """All unit vectors, in chunks from `start` to `stop`."""

    def __init__(self, tree: DirectionTree, single: bool, lanes: int, has_memory: bool) -> None:
        super().__init__(tree, single, lanes)
        self.has_memory = has_memory
        for x, first in tree.places.items():
            self.start.append(f"{x.name}_first = {first}")
            if x.is_array:
                small = "" if x.known is None or math.prod(x.known) > _SMALL else "small_"
                self.start += [f"{x.name} = {small}{self.zeros(x.shape)}", f"{x.name}_rows = {self.rows(x.name)}"]
        self.idle = self._along(str(-MOST))
        if has_memory:
            self.types += _MEMORY
            self.start.append("marks = small_zeros((3,))")
            self.idle += ", point_to(marks), point_to(marks)"

    def _along(self, at: str) -> str:
        """The directions of the chunk that begins at an index."""
        units = {x: f"unit_lanes({x.name}_first - {at}, {self.lanes})" for x in self.tree.leaves}
        return self.tree.text(units | {x: x.name for x in self.tree.leaves if x.is_array}, self.single)

    def over(self, run: str, take: Callable[[Sequence[DirectionLeaf]], list[str]]) -> list[str]:
        leaves, size = self.tree.leaves, self.tree.size
        ones, zeros = (
            [f"put_units({x.name}_rows, {x.name}_first, start, stop, {value})" for x in leaves if x.is_array]
            for value in ("1.0", "0.0")
        )
        if not self.has_memory:
            count = sum(math.prod(x.known or ()) for x in leaves)
            return [f"start, stop = 0, {count}", *ones, run.format(self._along("start")), *take(leaves)]
        body = [
            *ones,
            "if many:",
            "    memory = begin_chunk(memory, marks, start == 0)",
            run.format(f"{self._along('start')}, point_to(memory), point_to(marks)"),
            *take(leaves),
            *zeros,
        ]
        return [
            f"many = {size} > {2 * self.lanes}",
            f"memory = np.empty(4 * ({size}) + 16) if many else marks",
            *self.in_chunks(size, body),
        ]

    def name_rows(self, came: DirectionTree) -> list[str]:
        return [f"{p.name}_rows = {self.rows(p.expression)}" for p in came.leaves if p.is_array]

    def put(self, matrix: str, x: DirectionLeaf, p: DirectionLeaf, by_columns: bool) -> list[str]:
        chunk = f"{x.name}_first, start, stop"
        if p.is_array:
            return [f"put_{'columns' if by_columns else 'rows'}({matrix}, {p.name}_rows, {chunk})"]
        if x.is_array:
            return [f"put_numbers({matrix}{'[0]' if by_columns else '[:, 0]'}, {p.expression}, {chunk})"]
        return self._take_lane(f"{matrix} =", x, p)

    def add_diagonal(self, total: str, x: DirectionLeaf, p: DirectionLeaf) -> list[str]:
        if x.is_array:
            return [f"{total} += sum_diagonal({p.name}_rows, {x.name}_first, start, stop)"]
        return self._take_lane(f"{total} +=", x, p)

    def _take_lane(self, statement: str, x: DirectionLeaf, p: DirectionLeaf) -> list[str]:
        """Statements that take the lane of one number from the result for another."""
        first = f"{x.name}_first"
        if not self.has_memory:
            return [f"{statement} lane({p.expression}, {first})"]
        return [f"if start <= {first} and {first} < stop:", f"    {statement} lane({p.expression}, {first} - start)"]


def unit_vectors(tree: DirectionTree, single: bool, most: int) -> UnitDirections:
    """The unit vectors of a tree, in chunks of at most so many; `most` at once if their number is unknown."""
    known = [math.prod(x.known) for x in tree.leaves if x.known is not None]
    count = sum(known) if len(known) == len(tree.leaves) else None
    lanes = most if count is None else min(MOST, 1 << (count - 1).bit_length())
    if most == 1 or lanes == 1:
        return UnitVectors(tree, single)
    return UnitChunks(tree, single, lanes, count is None or count > lanes)


class GivenRows(DirectionLoop):
    """Directions that the caller gives as rows of matrices: `sources` has the matrix and the first column of each
    leaf."""

    def __init__(
        self, tree: DirectionTree, single: bool, lanes: int, count: str, sources: dict[DirectionLeaf, tuple[str, str]]
    ) -> None:
        super().__init__(tree, single, lanes)
        self.count, self.sources = count, sources
        for x in tree.leaves:
            made = self.zeros(x.shape if x.is_array else "(1,)")
            self.start += [f"{x.name} = {made}", f"{x.name}_rows = {self.rows(x.name)}"]
        self.idle = tree.text({x: f"{x.name}{'' if x.is_array else '[0]'}" for x in tree.leaves}, single)

    def over(self, run: str, take: Callable[[Sequence[DirectionLeaf]], list[str]]) -> list[str]:
        body = [
            f"take_lanes({x.name}_rows, {matrix}, {first}, start, stop)" for x, (matrix, first) in self.sources.items()
        ]
        return self.in_chunks(self.count, [*body, run.format(self.idle), *take(self.tree.leaves)])


def matrix_rows(call: TypedCall, tree: DirectionTree, single: bool, lanes: int) -> GivenRows:
    """The rows of one matrix, each with all numbers of the tree in order."""
    rows = _matrix(call, "directions must be the rows of a matrix")
    made = GivenRows(tree, single, lanes, "rows.shape[0]", {x: ("rows", first) for x, first in tree.places.items()})
    made.checks = [f"rows = {rows}", *refuse("rows.shape[0] == 0", f"{call.what}: no directions are given")]
    message = f"{call.what}: directions must have a column for each number"
    made.start += refuse(f"rows.shape[1] != {tree.size}", message)
    return made


def stacked_tangents(call: TypedCall, tree: DirectionTree, lanes: int) -> GivenRows:
    """Tangents with a leading axis, which counts the directions."""
    tangents, what = tangents_of(call), call.what
    checks = [f"given_{k} = {t.expression}" for k, t in enumerate(tangents)]
    given = DirectionTree([(f"given_{k}", t.type) for k, t in enumerate(tangents)], "g")
    parts = {y: f".{name}" for x in given.pairs() for y, name in zip(x, x._fields, strict=True)}
    axes = [(x.type.ndim if x.is_array else 0) + 1 for x in tree.leaves]
    if axes != [g.type.ndim if g.is_array else 0 for g in given.leaves]:
        raise UnsupportedError(f"{what}: with several=True every tangent must be an array with a leading axis")
    checks.append(f"count = {given.leaves[0].expression}.shape[0]")
    checks += refuse("count == 0", f"{what}: no directions")
    message = f"{what}: a tangent must have its primal's shape behind a leading axis of all directions"
    for x, g in zip(tree.leaves, given.leaves, strict=True):
        checks += refuse(f"{g.expression}.shape != (count, ) + {x.shape}", message)
        own = f"{g.expression}{parts.get(g, '')}"
        checks.append(f"{x.name}_given = np.ascontiguousarray({own}).reshape((count, {x.size}))")
    made = GivenRows(tree, False, lanes, "count", {x: (f"{x.name}_given", "0") for x in tree.leaves})
    made.checks = checks
    return made


class Combs(DirectionLoop):
    """Sums of every size-th unit vector of one vector, of length n."""

    def __init__(self, call: TypedCall, tree: DirectionTree, most: int) -> None:
        self.size = call.form.size
        super().__init__(tree, False, min(most, 1 << (self.size - 1).bit_length()))
        self.checks = _vector(call)
        message = f"{call.what}: size must divide the length of x, got {self.size}"
        self.checks += refuse(f"n % {self.size}", message)
        self.start = [f"comb = {self.zeros('(n,)')}"]
        self.idle = "(comb,)"

    def over(self, run: str, take: Callable[[Sequence[DirectionLeaf]], list[str]]) -> list[str]:
        called = [run.format(self.idle), *take([])]
        if self.lanes > 1:
            return self.in_chunks(str(self.size), [f"put_combs(as_rows(comb), {self.size}, start, stop)", *called])
        ones = f"comb[k::{self.size}] ="
        return [f"for k in range({self.size}):", *indent([f"{ones} 1.0", *called, f"{ones} 0.0"])]


class UnitsAndRows(DirectionLoop):
    """Pairs of a unit vector and the same row of a square matrix m; both have the length n of one vector."""

    def __init__(self, call: TypedCall, tree: DirectionTree, lanes: int) -> None:
        super().__init__(tree, False, lanes)
        m = _matrix(call, "m must be a matrix")
        self.types = (types.Tuple([self._type_of(x) for x in (*tree.leaves, *tree.leaves)]),)
        message = f"{call.what}: m must be a square matrix with a row for each element of x"
        self.checks = [*_vector(call), f"m = {m}", *refuse("m.shape != (n, n)", message)]
        self.start = [f"unit, row = {self.zeros('(n,)')}, {self.zeros('(n,)')}"]
        self.idle = "(unit, row)"

    def over(self, run: str, take: Callable[[Sequence[DirectionLeaf]], list[str]]) -> list[str]:
        called = [run.format(self.idle), *take([])]
        if self.lanes > 1:
            unit = "put_units(as_rows(unit), 0, start, stop,"
            row = "take_lanes(as_rows(row), m, 0, start, stop)"
            body = [f"{unit} 1.0)", row, *called, f"{unit} 0.0)"]
            return self.in_chunks("n", ["if np.any(m[start:stop]):", *indent(body)])
        body = ["unit[k] = 1.0", *called, "unit[k] = 0.0"]
        return ["for k in range(n):", "    row[:] = m[k]", "    if np.any(row):", *indent(indent(body))]


def _matrix(call: TypedCall, rule: str) -> str:
    """The expression of the matrix that the caller gives."""
    assert call.own is not None
    m = differentiate(call.own)
    if not isinstance(m.type, types.Array) or m.type.ndim != 2:
        raise UnsupportedError(f"{call.what}: {rule}, got {m.type}")
    return m.expression


def _vector(call: TypedCall) -> list[str]:
    """The first statement, after which n is the length of the vector that is differentiated."""
    (x,) = call.wanted
    if not isinstance(x.type, types.Array):
        raise UnsupportedError(f"{call.what}: x must be a vector, got {x.type}")
    if x.type.ndim != 1:
        raise ValueError(f"{call.what}: x must be a vector, got an array of {x.type.ndim} axes")
    return [f"n = {x.expression}.size"]
