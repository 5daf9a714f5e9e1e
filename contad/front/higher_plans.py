"""Plans for matrices of derivatives, and for products with them: loops over directions around an engine's `run`.

A Hessian consists of its products with unit vectors, a Jacobian of its columns (forward mode) or rows (reverse mode).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from numba import types

from contad.errors import UnsupportedError
from contad.front.form import Argument, Form, differentiate, shape_checks, tuple_of
from contad.numba_functions.request import Request
from contad.variables.open_types import NumbaType


class PlannedCall(NamedTuple):
    """The arguments of f in the planned call: as given, and as an engine takes them."""

    given: list[Argument]
    taken: list[Argument]
    request: Request
    checks: list[str]

    @property
    def wanted(self) -> list[Argument]:
        """The differentiated arguments."""
        return [self.taken[n] for n in self.request.argnums]

    @property
    def packed(self) -> str:
        return f"({tuple_of(self.taken)})"

    def tree(self) -> "DirectionTree":
        """The differentiated arguments, as directions."""
        return DirectionTree([(x.expression, x.type) for x in self.wanted], "d")

    def with_tangents(self, tangents: Sequence[Argument]) -> tuple[NumbaType, NumbaType]:
        """The types of `run(args, tangents)`."""
        return types.Tuple(self.request.types), types.Tuple([t.type for t in tangents])


def plan_hvp(call: PlannedCall, form: Form, vector: Argument, what: str) -> tuple[tuple[NumbaType, ...], list[str]]:
    """(types of `run`, statements) for the product of the Hessian with a vector."""
    if form.single:
        vectors = [differentiate(vector)]
    else:
        t = types.unliteral(vector.type)
        if not isinstance(t, types.BaseTuple) or len(t) != len(form.argnums):
            raise UnsupportedError(
                f"{what}: the vector must be a tuple with one entry for each of {len(form.argnums)} arguments"
            )
        vectors = [differentiate(Argument(part, f"{vector.expression}[{k}]")) for k, part in enumerate(t)]
    primals = [call.given[n] for n in form.argnums]
    lines = [
        *call.checks,
        *shape_checks(primals, vectors, what, "the vector must have the argument's shape", "TypeError"),
    ]
    lines += [
        f"z, products = run({call.packed}, ({tuple_of(vectors)}))",
        f"return {'products[0]' if form.single else 'products'}",
    ]
    return call.with_tangents(vectors), lines


def plan_pull(call: PlannedCall, form: Form, vector: Argument, what: str) -> tuple[tuple[NumbaType, ...], list[str]]:
    """(types of `run`, statements) for the gradient of a directional derivative, of one order or of several.

    The vector is a tuple with a direction for each of `form.along`: one after the other where `form.single`, else at
    once.
    """
    directions = [differentiate(Argument(t, f"{vector.expression}[{k}]")) for k, t in enumerate(vector.type)]
    lines = [*call.checks, *shape_checks([call.given[n] for n in form.along], directions, what)]
    lines += [f"z, products = run({call.packed}, ({tuple_of(directions)}))", "return products"]
    return call.with_tangents(directions), lines


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


class DirectionTree:
    """The numbers and arrays of nested tuples."""

    def __init__(self, parts: Sequence[tuple[str, NumbaType]], prefix: str) -> None:
        self.leaves: list[DirectionLeaf] = []
        self.structure = tuple(self._read(expression, t, prefix) for expression, t in parts)

    def _read(self, expression: str, t: NumbaType, prefix: str) -> object:
        if isinstance(t, types.BaseTuple) and not isinstance(t, types.BaseNamedTuple):
            return tuple(self._read(f"{expression}[{k}]", part, prefix) for k, part in enumerate(t))
        is_float = t == types.float64 or (isinstance(t, types.Array) and t.dtype == types.float64)
        if not is_float:
            raise UnsupportedError(f"compiled Jacobians have numbers and arrays of float64, got {t}")
        self.leaves.append(DirectionLeaf(len(self.leaves), expression, t, prefix))
        return self.leaves[-1]

    def text(self, of_leaf: "dict[DirectionLeaf, str]", structure: object = None) -> str:
        """Nested tuples of the texts of the leaves."""
        structure = self.structure if structure is None else structure
        if isinstance(structure, DirectionLeaf):
            return of_leaf[structure]
        assert isinstance(structure, tuple)
        return f"({''.join(f'{self.text(of_leaf, part)}, ' for part in structure).rstrip(' ')})"

    def types(self, structure: object = None) -> NumbaType:
        """The Numba type of one direction."""
        structure = self.structure if structure is None else structure
        if isinstance(structure, DirectionLeaf):
            return structure.type
        assert isinstance(structure, tuple)
        return types.Tuple([self.types(part) for part in structure])

    def directions(self) -> list[str]:
        """Statements that make a direction of zeros: arrays, and views of them as vectors."""
        lines = []
        for x in self.leaves:
            if x.is_array:
                lines += [f"{x.name} = np.zeros({x.shape})", f"{x.name}_row = {x.name}.reshape({x.name}.size)"]
        return lines

    def over(self, body: "dict[DirectionLeaf, list[str]]", run: str) -> list[str]:
        """Loops over the unit vectors: `run`, with {} for the direction, and the statements for each leaf's result."""
        lines = []
        zero = {x: x.name if x.is_array else "0.0" for x in self.leaves}
        for x in self.leaves:
            inner = [run.format(self.text(zero | ({} if x.is_array else {x: "1.0"}))), *body[x]]
            if x.is_array:
                lines.append(f"for k in range({x.name}.size):")
                inner = [f"{x.name}_row[k] = 1.0", *inner, f"{x.name}_row[k] = 0.0"]
                lines += [f"    {line}" for line in inner]
            else:
                lines += ["k = 0", *inner]
        return lines


def matrix(x: DirectionLeaf, y: DirectionLeaf) -> str:
    """The name of the matrix of two parts."""
    return f"of_{x.name}_{y.name}"


def matrix_result(outer: DirectionTree, inner: DirectionTree, outer_single: bool, inner_single: bool) -> str:
    """For each leaf of the first tree, the second tree with matrices as leaves, whose rows belong to the first leaf."""

    def block(x: DirectionLeaf, y: DirectionLeaf) -> str:
        if not (x.is_array or y.is_array):
            return matrix(x, y)
        axes = [x.type.ndim if x.is_array else 0, y.type.ndim if y.is_array else 0]
        if axes == [1, 1]:
            return matrix(x, y)
        if axes == [0, 1]:
            return f"{matrix(x, y)}[0]"
        shapes = [leaf.shape for leaf in (x, y) if leaf.is_array]
        return f"{matrix(x, y)}.reshape({' + '.join(shapes)})"

    of_leaf = {
        x: inner.text({y: block(x, y) for y in inner.leaves}, inner.structure[0] if inner_single else None)
        for x in outer.leaves
    }
    return outer.text(of_leaf, outer.structure[0] if outer_single else None)


def make_matrix(x: DirectionLeaf, y: DirectionLeaf) -> str:
    """A statement that makes the matrix of two parts; for two numbers it is a number."""
    return f"{matrix(x, y)} = {f'np.empty(({x.size}, {y.size}))' if x.is_array or y.is_array else '0.0'}"


def take_row(x: DirectionLeaf, y: DirectionLeaf, found: DirectionLeaf) -> str:
    """A statement that writes the result for y into row k of the matrix of x and y."""
    if not (x.is_array or y.is_array):
        return f"{matrix(x, y)} = {found.expression}"
    source = f"{found.expression}.reshape({found.expression}.size)" if y.is_array else found.expression
    return f"{matrix(x, y)}[k, {':' if y.is_array else '0'}] = {source}"


def take_column(y: DirectionLeaf, x: DirectionLeaf, found: DirectionLeaf) -> str:
    """A statement that writes the result for y into column k of the matrix of y and x."""
    if not (x.is_array or y.is_array):
        return f"{matrix(y, x)} = {found.expression}"
    source = f"{found.expression}.reshape({found.expression}.size)" if y.is_array else found.expression
    return f"{matrix(y, x)}[{':' if y.is_array else '0'}, k] = {source}"


def plan_hessian(call: PlannedCall, form: Form, what: str) -> "Way":
    """The Hessian, by its products with unit vectors."""
    tree = call.tree()
    products = DirectionTree([(f"products[{k}]", x.type) for k, x in enumerate(call.wanted)], "p")
    lines = [*call.checks, *name_all(call), *tree.directions()]
    lines += [make_matrix(x, y) for x in tree.leaves for y in tree.leaves]
    body = {x: [take_row(x, y, p) for y, p in zip(tree.leaves, products.leaves, strict=True)] for x in tree.leaves}
    lines += tree.over(body, f"z, products = run({call.packed}, {{}})")
    lines.append(f"return {matrix_result(tree, tree, form.single, form.single)}")
    return Way((types.Tuple(call.request.types), tree.types()), lines)


def plan_laplacian(call: PlannedCall) -> "Way":
    """The trace of the Hessian, by its products with unit vectors."""
    tree = call.tree()
    products = DirectionTree([(f"products[{k}]", x.type) for k, x in enumerate(call.wanted)], "p")
    body = {
        x: [f"total += {p.expression}.reshape({p.expression}.size)[k]" if p.is_array else f"total += {p.expression}"]
        for x, p in zip(tree.leaves, products.leaves, strict=True)
    }
    lines = [*call.checks, *name_all(call), *tree.directions(), "total = 0.0"]
    lines += [*tree.over(body, f"z, products = run({call.packed}, {{}})"), "return total"]
    return Way((types.Tuple(call.request.types), tree.types()), lines)


class Way(NamedTuple):
    """A way to a matrix: the types of the engine's function, and the statements that call it along directions."""

    types: tuple[NumbaType, ...]
    lines: list[str]
    lanes: int = 1  # the number of directions in one call
    memory: bool = False  # whether it reuses values computed for other directions


def name_all(call: PlannedCall) -> list[str]:
    """Convert arguments only once."""
    lines = []
    for k, x in enumerate(call.taken):
        if not x.expression.isidentifier():
            lines.append(f"taken_{k} = {x.expression}")
            call.taken[k] = Argument(x.type, f"taken_{k}")
    return lines
