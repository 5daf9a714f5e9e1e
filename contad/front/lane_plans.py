"""Plans for matrices of derivatives by chunks of directions: an engine's `run` takes several unit vectors at once.

One index counts the numbers of all arguments (or, by rows, of the result). A chunk has one number for each lane; in the
last chunk some lanes may be idle.
"""

import math
from collections.abc import Sequence

from numba import types

from contad.front.form import Form
from contad.front.higher_plans import (
    DirectionLeaf,
    DirectionTree,
    PlannedCall,
    Way,
    make_matrix,
    matrix,
    matrix_result,
    name_all,
)
from contad.kernels.lanes import NUMBERS, LanesType
from contad.variables.open_types import NumbaType

MOST = 8  # lanes: two or four vector registers
FEW = 4  # for the rows of an array of unknown length, often two or three

MEMORY = (NUMBERS, NUMBERS)  # of values that do not differ between chunks, and its marks

_SMALL = 64  # elements of directions in stack memory


class Directions:
    """The unit vectors of a tree, in chunks."""

    def __init__(self, tree: DirectionTree, few: int) -> None:
        """Choose the number of lanes; `few` if the number of directions is unknown."""
        self.tree = tree
        known = [x.known for x in tree.leaves if x.known is not None]
        self.count = sum(map(math.prod, known)) if len(known) == len(tree.leaves) else None
        self.lanes = few if self.count is None else min(MOST, 1 << (self.count - 1).bit_length())

    @property
    def total(self) -> str:
        """The number of directions."""
        return " + ".join(x.size for x in self.tree.leaves)

    def types(self, structure: object = None) -> NumbaType:
        """The type of a chunk of directions."""
        structure = self.tree.structure if structure is None else structure
        if isinstance(structure, DirectionLeaf):
            lanes = LanesType(self.lanes)
            return lanes.array(structure.type.ndim) if structure.is_array else lanes
        assert isinstance(structure, tuple)
        return types.Tuple([self.types(part) for part in structure])

    def zeros(self) -> list[str]:
        """Statements that make directions of zeros, and say where each part begins."""
        lines, first = [], "0"
        for x in self.tree.leaves:
            lines.append(f"{x.name}_first = {first}")
            first = f"{x.name}_first + {x.size}"
            if x.is_array:
                small = "" if x.known is None or math.prod(x.known) > _SMALL else "small_"
                lines.append(f"{x.name} = {small}lanes_zeros({x.shape}, {self.lanes})")
                lines.append(f"{x.name}_rows = as_rows({x.name})")
        return lines

    def text(self, at: str = "start") -> str:
        """The directions of the chunk that begins at an index, as an argument of `run`."""
        return self.tree.text(
            {x: x.name if x.is_array else f"unit_lanes({x.name}_first - {at}, {self.lanes})" for x in self.tree.leaves}
        )

    @property
    def memory(self) -> bool:
        """Whether there may be several chunks, so that later chunks can reuse values of the first."""
        return self.count is None or self.count > self.lanes

    def way(self, call: PlannedCall, along: NumbaType, lines: list[str]) -> Way:
        """The way with these statements, by the engine's function for directions of this type."""
        taken = (types.Tuple(call.request.types), along, *(MEMORY if self.memory else ()))
        return Way(taken, lines, self.lanes, self.memory)

    def over(self, run: str, then: Sequence[str]) -> list[str]:
        """A loop over the chunks: `run`, with {} for the directions, and the statements that use its result."""
        parts = [x for x in self.tree.leaves if x.is_array]
        ones, zeros = (
            [f"    put_units({x.name}_rows, {x.name}_first, start, stop, {value})" for x in parts]
            for value in ("1.0", "0.0")
        )
        if not self.memory:
            units = [line.strip() for line in ones]
            return [f"start, stop = 0, {self.count}", *units, run.format(self.text()), *then]
        call = run.format(self.text()).removesuffix(")")
        return [
            "marks = small_zeros((3,))",
            f"many = {self.total} > {2 * self.lanes}",
            f"memory = np.empty(4 * ({self.total}) + 16) if many else marks",
            f"for start in range(0, {self.total}, {self.lanes}):",
            f"    stop = min(start + {self.lanes}, {self.total})",
            *ones,
            "    if many:",
            "        memory = begin_block(memory, marks, start == 0)",
            f"    {call}, point_to(memory), point_to(marks))",
            *(f"    {line}" for line in then),
            *zeros,
        ]


def _rows(p: DirectionLeaf) -> list[str]:
    """A statement that makes rows of lanes from the result for an array."""
    if not p.is_array:
        return []
    return [f"{p.name}_rows = as_rows({p.expression})"]


def _take_lane(statement: str, varies: DirectionLeaf, p: DirectionLeaf, blocks: bool) -> list[str]:
    """Statements that take the lane of one number from the result for another; with several chunks (`blocks`), in one
    of them."""
    first = f"{varies.name}_first"
    if not blocks:
        return [f"{statement} lane({p.expression}, {first})"]
    return [f"if start <= {first} and {first} < stop:", f"    {statement} lane({p.expression}, {first} - start)"]


def _put(of: str, varies: DirectionLeaf, p: DirectionLeaf, by_columns: bool, blocks: bool) -> list[str]:
    """Statements that put the results for one part along a chunk into a matrix, as columns or rows."""
    block = f"{varies.name}_first, start, stop"
    if p.is_array:
        return [f"put_{'columns' if by_columns else 'rows'}({of}, {p.name}_rows, {block})"]
    if varies.is_array:
        return [f"put_numbers({of}{'[0]' if by_columns else '[:, 0]'}, {p.expression}, {block})"]
    return _take_lane(f"{of} =", varies, p, blocks)


def _gather(varies: Directions, came: DirectionTree, held: DirectionTree, by_columns: bool) -> list[str]:
    """Statements for all parts: `came` is the result of `run` for the parts of `held`."""
    lines = [line for p in came.leaves for line in _rows(p)]
    for x in varies.tree.leaves:
        for y, p in zip(held.leaves, came.leaves, strict=True):
            lines += _put(matrix(y, x) if by_columns else matrix(x, y), x, p, by_columns, varies.memory)
    return lines


def plan_hessian(call: PlannedCall, form: Form) -> Way | None:
    """The Hessian, by its products with chunks of unit vectors; None if there is only one direction."""
    tree = call.tree()
    varies = Directions(tree, MOST)
    if varies.lanes == 1:
        return None
    products = DirectionTree([(f"products[{k}]", x.type) for k, x in enumerate(call.wanted)], "p")
    lines = [*call.checks, *name_all(call), *varies.zeros()]
    lines += [make_matrix(y, x) for y in tree.leaves for x in tree.leaves]
    lines += varies.over(f"z, products = run({call.packed}, {{}})", _gather(varies, products, tree, True))
    lines.append(f"return {matrix_result(tree, tree, form.single, form.single)}")
    return varies.way(call, varies.types(), lines)


def plan_laplacian(call: PlannedCall) -> Way | None:
    """The trace of the Hessian, by its products with chunks of unit vectors; None if there is only one direction."""
    varies = Directions(call.tree(), MOST)
    if varies.lanes == 1:
        return None
    products = DirectionTree([(f"products[{k}]", x.type) for k, x in enumerate(call.wanted)], "p")
    then = [line for p in products.leaves for line in _rows(p)]
    for x, p in zip(varies.tree.leaves, products.leaves, strict=True):
        if x.is_array:
            then.append(f"total += sum_diagonal({p.name}_rows, {x.name}_first, start, stop)")
        else:
            then += _take_lane("total +=", x, p, varies.memory)
    lines = [*call.checks, *name_all(call), *varies.zeros(), "total = 0.0"]
    lines += [*varies.over(f"z, products = run({call.packed}, {{}})", then), "return total"]
    return varies.way(call, varies.types(), lines)


def by_columns(
    call: PlannedCall, inputs: DirectionTree, outputs: DirectionTree, returned: NumbaType, pushed: str
) -> Way | None:
    """The columns of a Jacobian by the call of forward mode; None if there is only one."""
    varies = Directions(inputs, MOST)
    if varies.lanes == 1:
        return None
    tangents = DirectionTree([("dy", returned)], "t")
    lines = varies.over(pushed, _gather(varies, tangents, outputs, True))
    return varies.way(call, varies.types(), [*varies.zeros(), *lines])


def by_rows(call: PlannedCall, inputs: DirectionTree, outputs: DirectionTree, pulled: str) -> Way | None:
    """The rows of a Jacobian by the call of reverse mode; None if there is only one."""
    varies = Directions(outputs, FEW)
    if varies.lanes == 1:
        return None
    grads = DirectionTree([(f"grads[{k}]", x.type) for k, x in enumerate(call.wanted)], "g")
    lines = varies.over(pulled, _gather(varies, grads, inputs, False))
    return varies.way(call, varies.types()[0], [*varies.zeros(), *lines])


def value_lines(call: PlannedCall) -> list[str]:
    """The statements of a function that gives the value alone, as `run` computes it along no direction."""
    varies = Directions(call.tree(), MOST)
    start = [*call.checks, *name_all(call), *varies.zeros()]
    if varies.memory:
        start.append("marks = small_zeros((3,))")
    memory = ", point_to(marks), point_to(marks)" if varies.memory else ""
    return [*start, f"return run({call.packed}, {varies.text(str(-MOST))}{memory})[0]"]
