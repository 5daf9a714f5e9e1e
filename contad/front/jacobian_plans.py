"""Plans for Jacobians: by columns in forward mode, or by rows in reverse mode, whichever needs fewer passes."""

from numba import types

from contad.errors import UnsupportedError
from contad.front import lane_plans
from contad.front.higher_plans import (
    DirectionLeaf,
    DirectionTree,
    PlannedCall,
    Way,
    make_matrix,
    matrix_result,
    name_all,
    take_column,
    take_row,
)
from contad.variables.open_types import NumbaType


class Jacobian:
    """The plan of a Jacobian. It first calls f if only the result of f tells shapes."""

    def __init__(
        self, call: PlannedCall, single: bool, returned: NumbaType, copied: bool, lanes: bool, forward: bool,
        shape: tuple[int, ...] | None,
    ) -> None:  # fmt: skip
        """Read the structures; with `copied` f gets copies of arrays, because it may write into them.

        `shape` is that of the array that f returns, if known.
        With `lanes` an engine takes several directions at once; with `forward` only by columns.
        Raises UnsupportedError if there is no aux to return.
        """
        self.lanes = lanes
        self.has_aux = call.request.has_aux
        if self.has_aux:
            if not isinstance(returned, types.BaseTuple) or len(returned) != 2:
                raise UnsupportedError("with has_aux=True the function must return (value, aux)")
            returned = returned[0]
        self.start = [*call.checks, *name_all(call)]
        self.call, self.returned = call, returned
        self.inputs, self.outputs = call.tree(), DirectionTree([("y", returned)], "e")
        (structure,) = self.outputs.structure
        if shape is not None and isinstance(structure, DirectionLeaf) and structure.is_array and not self.has_aux:
            structure.known = shape if structure.type.ndim == len(shape) else None
        own = [
            f"{x.expression}.copy()" if copied and isinstance(x.type, types.Array) else x.expression for x in call.taken
        ]
        # for the shapes of arrays; and for aux, which forward mode without directions does not return
        self.is_called = any(y.known is None for y in self.outputs.leaves)
        self.is_called |= forward and self.has_aux and any(x.is_array for x in self.inputs.leaves)
        if self.is_called:
            self.start.append(f"{'y, aux' if self.has_aux else 'y'} = f({', '.join(own)})")
        self.start += [make_matrix(y, x) for y in self.outputs.leaves for x in self.inputs.leaves]
        self.end = f"return {matrix_result(self.outputs, self.inputs, True, single)}{', aux' if self.has_aux else ''}"

    @property
    def may_have_more_rows(self) -> bool:
        """Whether it may have more rows than columns, as far as the types tell."""
        return any(y.is_array for y in self.outputs.leaves) or len(self.outputs.leaves) > len(self.inputs.leaves)

    def whole(self, way: Way) -> list[str]:
        """The statements for one way."""
        return [*self.start, *way.lines, self.end]

    def either(self) -> list[str]:
        """The statements for the way with fewer passes: by columns if there are more rows."""
        rows, columns = (" + ".join(x.size for x in tree.leaves) for tree in (self.outputs, self.inputs))
        forward, reverse = (
            [f"    {line}" for line in way.lines] for way in (self.by_columns("run_along"), self.by_rows)
        )
        return [*self.start, f"if {rows} > {columns}:", *forward, "else:", *reverse, self.end]

    @property
    def pulled(self) -> str:
        """The call of reverse mode, with {} for the cotangent."""
        aux = ("_, " if self.is_called else "aux, ") if self.has_aux else ""
        return f"{aux}grads = run({self.call.packed}, {{}}[0])"

    def push_along(self, run: str) -> str:
        """The call of forward mode, with {} for the tangents."""
        z = "(z, aux)" if self.has_aux and not self.is_called else "z"
        return f"{z}, dy = {run}({self.call.packed}, {{}})"

    @property
    def by_rows(self) -> Way:
        """By reverse mode, a pass for each number of the result, or for a chunk of them."""
        found = lane_plans.by_rows(self.call, self.inputs, self.outputs, self.pulled) if self.lanes else None
        if found is not None:
            return found
        grads = DirectionTree([(f"grads[{k}]", x.type) for k, x in enumerate(self.call.wanted)], "g")
        body = {
            y: [take_row(y, x, g) for x, g in zip(self.inputs.leaves, grads.leaves, strict=True)]
            for y in self.outputs.leaves
        }
        lines = self.outputs.over(body, self.pulled)
        return Way(
            (types.Tuple(self.call.request.types), self.outputs.types()[0]), [*self.outputs.directions(), *lines]
        )

    def by_columns(self, run: str) -> Way:
        """By forward mode, a pass for each number of the arguments, or for a chunk of them."""
        if self.lanes:
            found = lane_plans.by_columns(self.call, self.inputs, self.outputs, self.returned, self.push_along(run))
            if found is not None:
                return found
        tangent = DirectionTree([("dy", self.returned)], "t")
        body = {
            x: [take_column(y, x, t) for y, t in zip(self.outputs.leaves, tangent.leaves, strict=True)]
            for x in self.inputs.leaves
        }
        lines = self.inputs.over(body, self.push_along(run))
        return Way((types.Tuple(self.call.request.types), self.inputs.types()), [*self.inputs.directions(), *lines])
