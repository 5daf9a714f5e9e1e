"""Plans for products with the rows of a matrix: tangents, cotangents or vectors, several at once with lanes.

Each row holds all numbers of the differentiated arguments in order (or of the result, for cotangents). The rows of the
returned matrix are laid out likewise.
"""

from numba import types

from contad.errors import UnsupportedError
from contad.front.form import Argument, differentiate
from contad.front.higher_plans import DirectionLeaf, DirectionTree, PlannedCall, Way, name_all
from contad.front.lane_plans import FEW
from contad.kernels.lanes import LanesType
from contad.variables.open_types import NumbaType


def types_of_block(structure: object, lanes: int) -> NumbaType:
    """The type of a chunk of this many directions of the numbers and arrays of a tree."""
    if isinstance(structure, DirectionLeaf):
        if lanes == 1:
            return structure.type
        kind = LanesType(lanes)
        return kind.array(structure.type.ndim) if structure.is_array else kind
    assert isinstance(structure, tuple)
    return types.Tuple([types_of_block(part, lanes) for part in structure])


class RowProducts:
    """The plan of products with rows: `lanes` of them at once, or one after another if `lanes` is 1."""

    def __init__(self, call: PlannedCall, vector: Argument, what: str, returned: NumbaType, lanes: bool) -> None:
        """Read the structures. `returned` is the type of the result of f.

        Raises UnsupportedError if the rows are not a matrix.
        """
        self.call, self.what, self.returned = call, what, returned
        self.lanes = FEW if lanes else 1
        rows = differentiate(vector)
        if not isinstance(rows.type, types.Array) or rows.type.ndim != 2:
            raise UnsupportedError(f"{what}: directions must be the rows of a matrix, got {rows.type}")
        self.start = [*call.checks, *name_all(call), f"rows = {rows.expression}"]
        self.start += ["if rows.shape[0] == 0:", f"    raise ValueError({f'{what}: no directions are given'!r})"]

    def tangents(self) -> Way:
        """The value, and the tangents of the result."""
        came = DirectionTree([("dy", self.returned)], "t")
        return self._over(self.call.tree(), came, "z, dy = run({call}, {along})", "z, found")

    def hessian(self) -> Way:
        """The products of the Hessian."""
        return self._over(self.call.tree(), self._grads("products"), "z, products = run({call}, {along})", "found")

    def cotangents(self, copied: bool) -> Way:
        """The cotangents of the arguments. It calls f for the shapes of its result, with own arrays if `copied`."""
        outputs = DirectionTree([("y", self.returned)], "e")
        if any(y.is_array for y in outputs.leaves):
            own = [
                f"{x.expression}.copy()" if copied and isinstance(x.type, types.Array) else x.expression
                for x in self.call.taken
            ]
            self.start.append(f"y = f({', '.join(own)})")
        found = self._over(outputs, self._grads("grads"), "grads = run({call}, {along}[0])", "found")
        return found._replace(types=(found.types[0], found.types[1][0]))

    def value(self) -> list[str]:
        """The statements of a function that gives the value alone, as `run` computes it along no direction."""
        tree = self.call.tree()
        along = {x: f"{x.name}{'' if x.is_array else '[0]'}" for x in tree.leaves}
        return [*self.start, *self._directions(tree), f"return run({self.call.packed}, {tree.text(along)})[0]"]

    def _grads(self, name: str) -> DirectionTree:
        return DirectionTree([(f"{name}[{k}]", x.type) for k, x in enumerate(self.call.wanted)], "g")

    def _directions(self, tree: DirectionTree) -> list[str]:
        """Statements that make directions of zeros, with their numbers as `_rows`, and say where each part begins."""
        lines, first = [], "0"
        for x in tree.leaves:
            shape = x.shape if x.is_array else "(1,)"
            lines.append(f"{x.name}_first = {first}")
            first = f"{x.name}_first + {x.size}"
            if self.lanes > 1:
                lines += [f"{x.name} = lanes_zeros({shape}, {self.lanes})", f"{x.name}_rows = as_rows({x.name})"]
            else:
                lines += [f"{x.name} = np.zeros({shape})", f"{x.name}_rows = {x.name}.reshape(({x.name}.size, 1))"]
        return [*lines, f"count = {first}"]

    def _over(self, tree: DirectionTree, came: DirectionTree, run: str, result: str) -> Way:
        """A loop over chunks of rows: rows become directions, and the results become rows of a matrix."""
        along = {x: f"{x.name}{'' if x.is_array else '[0]'}" for x in tree.leaves}
        message = f"{self.what}: directions must have a column for each number"
        lines = [
            *self.start, *self._directions(tree),
            "if rows.shape[1] != count:", f"    raise ValueError({message!r})",
            "found = np.empty((0, 0))",
            f"for start in range(0, rows.shape[0], {self.lanes}):",
            f"    stop = min(start + {self.lanes}, rows.shape[0])",
            *(f"    take_lanes({x.name}_rows, rows, {x.name}_first, start, stop)" for x in tree.leaves),
            f"    {run.format(call=self.call.packed, along=tree.text(along))}",
            "    if start == 0:",
            f"        found = np.empty((rows.shape[0], {' + '.join(p.size for p in came.leaves) or '0'}))",
            *(f"    {line}" for line in self._give(came)),
            f"return {result}",
        ]  # fmt: skip
        block = types_of_block(tree.structure, self.lanes)
        return Way((types.Tuple(self.call.request.types), block), lines, self.lanes)

    def _give(self, came: DirectionTree) -> list[str]:
        """Statements that put the results into rows of the matrix."""
        lines, first = [], "0"
        for p in came.leaves:
            if not p.is_array:
                many = f"give_numbers(found, {p.expression}, {first}, start, stop)"
                lines.append(many if self.lanes > 1 else f"found[start, {first}] = {p.expression}")
            else:
                shape = f"{p.expression}.reshape(({p.size}, 1))"
                of = f"as_rows({p.expression})" if self.lanes > 1 else shape
                lines.append(f"give_lanes(found, {of}, {first}, start, stop)")
            first = f"{first} + {p.size}"
        return lines


class SeveralTangents:
    """The plan of `jvp` with several directions: tangents and the resulting tangents have a leading axis."""

    def __init__(
        self, call: PlannedCall, tangents: list[Argument], what: str, returned: NumbaType, lanes: bool
    ) -> None:
        """Read the structures.

        Raises UnsupportedError if the tangents have another structure than the primals.
        """
        self.lanes = FEW if lanes else 1
        self.call = call
        self.start = [*call.checks, *name_all(call)]
        self.start += [f"given_{k} = {t.expression}" for k, t in enumerate(tangents)]
        self.tree = call.tree()
        given = DirectionTree([(f"given_{k}", t.type) for k, t in enumerate(tangents)], "g")
        self.came = DirectionTree([("dy", returned)], "t")
        axes = [(x.type.ndim if x.is_array else 0) + 1 for x in self.tree.leaves]
        if axes != [g.type.ndim if g.is_array else 0 for g in given.leaves]:
            raise UnsupportedError(f"{what}: with several=True every tangent must be an array with a leading axis")
        message = f"{what}: a tangent must have its primal's shape behind a leading axis of all directions"
        count = f"{given.leaves[0].expression}.shape[0]"
        self.start += [f"count = {count}", "if count == 0:", f"    raise ValueError({f'{what}: no directions'!r})"]
        for x, g in zip(self.tree.leaves, given.leaves, strict=True):
            self.start += [f"if {g.expression}.shape != (count, ) + {x.shape}:", f"    raise ValueError({message!r})"]
            self.start.append(f"{x.name}_given = np.ascontiguousarray({g.expression}).reshape((count, {x.size}))")
            shape = x.shape if x.is_array else "(1,)"
            if lanes:
                self.start += [f"{x.name} = lanes_zeros({shape}, {FEW})", f"{x.name}_rows = as_rows({x.name})"]
            else:
                self.start += [f"{x.name} = np.zeros({shape})", f"{x.name}_rows = {x.name}.reshape(({x.size}, 1))"]
        along = {x: f"{x.name}{'' if x.is_array else '[0]'}" for x in self.tree.leaves}
        self.run = f"run({call.packed}, {self.tree.text(along)})"

    def way(self) -> Way:
        """A loop over chunks of directions."""
        lines = [*self.start, *(f"found_{p.name} = np.empty((0, 0))" for p in self.came.leaves)]
        lines += [f"for start in range(0, count, {self.lanes}):", f"    stop = min(start + {self.lanes}, count)"]
        lines += [f"    take_lanes({x.name}_rows, {x.name}_given, 0, start, stop)" for x in self.tree.leaves]
        lines += [f"    z, dy = {self.run}", "    if start == 0:"]
        lines += [f"        found_{p.name} = np.empty((count, {p.size}))" for p in self.came.leaves]
        shown = {}
        for p in self.came.leaves:
            found, x = f"found_{p.name}", p.expression
            if p.is_array:
                rows = f"as_rows({x})" if self.lanes > 1 else f"{x}.reshape(({p.size}, 1))"
                lines.append(f"    give_lanes({found}, {rows}, 0, start, stop)")
            elif self.lanes > 1:
                lines.append(f"    give_numbers({found}, {x}, 0, start, stop)")
            else:
                lines.append(f"    {found}[start, 0] = {x}")
            shown[p] = f"{found}.reshape((count, ) + {p.shape})"
        (structure,) = self.came.structure
        lines.append(f"return z, {self.came.text(shown, structure)}")
        block = types_of_block(self.tree.structure, self.lanes)
        return Way((types.Tuple(self.call.request.types), block), lines, self.lanes)

    def value(self) -> list[str]:
        """The statements of a function that gives the value alone, as `run` computes it along no direction."""
        return [*self.start, f"return {self.run}[0]"]
