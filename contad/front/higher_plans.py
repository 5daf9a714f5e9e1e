"""Plans for matrices of derivatives, and for products with them: loops over directions around an engine's `run`.

A Hessian is made of its products with unit vectors, a Jacobian of its columns (forward mode) or rows (reverse mode).
"""

from collections.abc import Sequence
from typing import NamedTuple

from numba import types

from contad.errors import UnsupportedError
from contad.front.form import Argument, Form, differentiate, shape_checks, tuple_of
from contad.native.request import Request
from contad.variables.open_types import NumbaType


class PlannedCall(NamedTuple):
    """The arguments of f in the call that is planned: as they are given, and as an engine takes them."""

    given: list[Argument]
    taken: list[Argument]
    request: Request
    checks: list[str]

    @property
    def wanted(self) -> list[Argument]:
        """What is differentiated."""
        return [self.taken[n] for n in self.request.argnums]

    @property
    def packed(self) -> str:
        return f"({tuple_of(self.taken)})"

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
    """(types of `run`, statements) for the cotangents of the arguments from that of a gradient, the vector.

    Of a gradient of gradients these are by numbers, and the last one has the cotangent.
    """
    last = differentiate(vector)
    lines = [*call.checks, *shape_checks([call.given[form.along[-1]]], [last], what)]
    along = [*(Argument(types.float64, "1.0") for _ in form.along[1:]), last]
    lines += [f"z, products = run({call.packed}, ({tuple_of(along)}))", "return products"]
    return call.with_tangents(along), lines


class _Leaf:
    """A number or an array among the arguments, or in the result, and its direction."""

    def __init__(self, k: int, expression: str, t: NumbaType, prefix: str) -> None:
        self.expression, self.is_array = expression, isinstance(t, types.Array)
        self.name = f"{prefix}{k}"
        self.type = types.Array(types.float64, t.ndim, "C") if self.is_array else types.float64

    @property
    def size(self) -> str:
        return f"{self.expression}.size" if self.is_array else "1"

    @property
    def shape(self) -> str:
        return f"{self.expression}.shape" if self.is_array else "()"


class _Tree:
    """The numbers and arrays of nested tuples."""

    def __init__(self, parts: Sequence[tuple[str, NumbaType]], prefix: str) -> None:
        self.leaves: list[_Leaf] = []
        self.structure = tuple(self._read(expression, t, prefix) for expression, t in parts)

    def _read(self, expression: str, t: NumbaType, prefix: str) -> object:
        if isinstance(t, types.BaseTuple) and not isinstance(t, types.BaseNamedTuple):
            return tuple(self._read(f"{expression}[{k}]", part, prefix) for k, part in enumerate(t))
        is_float = t == types.float64 or (isinstance(t, types.Array) and t.dtype == types.float64)
        if not is_float:
            raise UnsupportedError(f"compiled Jacobians have numbers and arrays of float64, got {t}")
        self.leaves.append(_Leaf(len(self.leaves), expression, t, prefix))
        return self.leaves[-1]

    def text(self, of_leaf: "dict[_Leaf, str]", structure: object = None) -> str:
        """Nested tuples of the texts of the leaves."""
        structure = self.structure if structure is None else structure
        if isinstance(structure, _Leaf):
            return of_leaf[structure]
        assert isinstance(structure, tuple)
        return f"({''.join(f'{self.text(of_leaf, part)}, ' for part in structure).rstrip(' ')})"

    def types(self, structure: object = None) -> NumbaType:
        """The Numba type of one direction."""
        structure = self.structure if structure is None else structure
        if isinstance(structure, _Leaf):
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

    def over(self, body: "dict[_Leaf, list[str]]", run: str) -> list[str]:
        """Loops over the unit vectors: `run`, with {} for the direction, and what is done with each leaf's result."""
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


def _matrix(x: _Leaf, y: _Leaf) -> str:
    return f"of_{x.name}_{y.name}"


def _result(outer: _Tree, inner: _Tree, outer_single: bool, inner_single: bool) -> str:
    """For each leaf of one tree the structure of another one, of matrices whose rows are those of the first."""

    def block(x: _Leaf, y: _Leaf) -> str:
        if not (x.is_array or y.is_array):
            return f"{_matrix(x, y)}[0, 0]"
        shapes = [leaf.shape for leaf in (x, y) if leaf.is_array]
        return f"{_matrix(x, y)}.reshape({' + '.join(shapes)})"

    of_leaf = {
        x: inner.text({y: block(x, y) for y in inner.leaves}, inner.structure[0] if inner_single else None)
        for x in outer.leaves
    }
    return outer.text(of_leaf, outer.structure[0] if outer_single else None)


def _take(target: str, leaf: _Leaf, source: str) -> str:
    """A statement that writes a number or an array into a row or column."""
    return f"{target} = {source}.reshape({source}.size)" if leaf.is_array else f"{target} = {source}"


def _arguments(call: PlannedCall) -> _Tree:
    return _Tree([(x.expression, x.type) for x in call.wanted], "d")


def plan_hessian(call: PlannedCall, form: Form, what: str) -> tuple[tuple[NumbaType, ...], list[str]]:
    """(types of `run`, statements) for the Hessian, by its products with unit vectors."""
    tree = _arguments(call)
    products = _Tree([(f"products[{k}]", x.type) for k, x in enumerate(call.wanted)], "p")
    lines = [*call.checks, *name_all(call), *tree.directions()]
    lines += [f"{_matrix(x, y)} = np.empty(({x.size}, {y.size}))" for x in tree.leaves for y in tree.leaves]
    body = {
        x: [_take(f"{_matrix(x, y)}[k, {':' if y.is_array else '0'}]", p, p.expression)
            for y, p in zip(tree.leaves, products.leaves, strict=True)]
        for x in tree.leaves
    }  # fmt: skip
    lines += tree.over(body, f"z, products = run({call.packed}, {{}})")
    lines.append(f"return {_result(tree, tree, form.single, form.single)}")
    return (types.Tuple(call.request.types), tree.types()), lines


def plan_laplacian(call: PlannedCall) -> tuple[tuple[NumbaType, ...], list[str]]:
    """(types of `run`, statements) for the trace of the Hessian, by its products with unit vectors."""
    tree = _arguments(call)
    products = _Tree([(f"products[{k}]", x.type) for k, x in enumerate(call.wanted)], "p")
    body = {
        x: [f"total += {p.expression}.reshape({p.expression}.size)[k]" if p.is_array else f"total += {p.expression}"]
        for x, p in zip(tree.leaves, products.leaves, strict=True)
    }
    lines = [*call.checks, *name_all(call), *tree.directions(), "total = 0.0"]
    lines += [*tree.over(body, f"z, products = run({call.packed}, {{}})"), "return total"]
    return (types.Tuple(call.request.types), tree.types()), lines


class Way(NamedTuple):
    """One way to a Jacobian: the types of the engine's function, and the loops over directions that call it."""

    types: tuple[NumbaType, ...]
    lines: list[str]


class Jacobian:
    """The plan of a Jacobian. f itself is called first: its result tells the shapes."""

    def __init__(self, call: PlannedCall, single: bool, returned: NumbaType, copied: bool) -> None:
        """Read the structures; with `copied` f gets copies of arrays, because it may write into them."""
        self.start = [*call.checks, *name_all(call)]
        self.call, self.single, self.returned = call, single, returned
        self.inputs, self.outputs = _arguments(call), _Tree([("y", returned)], "e")
        own = [
            f"{x.expression}.copy()" if copied and isinstance(x.type, types.Array) else x.expression for x in call.taken
        ]
        self.start.append(f"y = f({', '.join(own)})")
        for y in self.outputs.leaves:
            self.start += [f"{_matrix(y, x)} = np.empty(({y.size}, {x.size}))" for x in self.inputs.leaves]
        self.end = f"return {_result(self.outputs, self.inputs, True, single)}"

    @property
    def may_have_more_rows(self) -> bool:
        """Whether it may have more rows than columns, as far as the types tell."""
        return any(y.is_array for y in self.outputs.leaves) or len(self.outputs.leaves) > len(self.inputs.leaves)

    def whole(self, way: Way) -> list[str]:
        """The statements for one way."""
        return [*self.start, *way.lines, self.end]

    def either(self) -> list[str]:
        """The statements that go the way with fewer passes: by columns where there are more rows."""
        rows, columns = (" + ".join(x.size for x in tree.leaves) for tree in (self.outputs, self.inputs))
        forward, reverse = (
            [f"    {line}" for line in way.lines] for way in (self.by_columns("run_along"), self.by_rows)
        )
        return [*self.start, f"if {rows} > {columns}:", *forward, "else:", *reverse, self.end]

    @property
    def by_rows(self) -> Way:
        """By reverse mode, a pass for each number of the result."""
        grads = _Tree([(f"grads[{k}]", x.type) for k, x in enumerate(self.call.wanted)], "g")
        body = {
            y: [_take(f"{_matrix(y, x)}[k, {':' if x.is_array else '0'}]", g, g.expression)
                for x, g in zip(self.inputs.leaves, grads.leaves, strict=True)]
            for y in self.outputs.leaves
        }  # fmt: skip
        lines = self.outputs.over(body, f"grads = run({self.call.packed}, {{}}[0])")
        return Way(
            (types.Tuple(self.call.request.types), self.outputs.types()[0]), [*self.outputs.directions(), *lines]
        )

    def by_columns(self, run: str) -> Way:
        """By forward mode, a pass for each number of the arguments."""
        tangent = _Tree([("dy", self.returned)], "t")
        body = {
            x: [_take(f"{_matrix(y, x)}[{':' if y.is_array else '0'}, k]", t, t.expression)
                for y, t in zip(self.outputs.leaves, tangent.leaves, strict=True)]
            for x in self.inputs.leaves
        }  # fmt: skip
        lines = self.inputs.over(body, f"z, dy = {run}({self.call.packed}, {{}})")
        return Way((types.Tuple(self.call.request.types), self.inputs.types()), [*self.inputs.directions(), *lines])


def name_all(call: PlannedCall) -> list[str]:
    """Arguments that have to be converted are converted once."""
    lines = []
    for k, x in enumerate(call.taken):
        if not x.expression.isidentifier():
            lines.append(f"taken_{k} = {x.expression}")
            call.taken[k] = Argument(x.type, f"taken_{k}")
    return lines
