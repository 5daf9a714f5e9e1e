"""Elementwise operations on more than two axes, and sums over some of them, as repeated calls of two-axis kernels.

The shape of such a record starts with the shape of its kernel on two of the axes. The code of the operation, the number
of other axes, and for each of them its length and the strides of z, x and y follow.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from contad.engines.stream.kernels import join_axes, pair_axes
from contad.engines.stream.pullbacks import Continuation, ElementwisePullback, Pullback
from contad.engines.stream.storage import LINEAR
from contad.ops import reductions
from contad.programs.codes import code_of
from contad.programs.fused_loops import reach_of

CODE_OF, AXES, FIRST_AXIS, AXIS = 11, 12, 13, 4  # places in the shape, and the integers of an axis
Shape = tuple[int, ...]

SOURCE = '''
@inline
def repeat_kernel(purpose, kernels, shape, values, constants, target):
    """Call the kernel of a record for each index on the axes that the kernel lacks."""
    own = new_row()  # on the stack; its bits are integers
    for k in range({code_of}):
        own[k] = from_bits(shape[k])
    address = kernels[purpose, shape[{code_of}]]
    axes, times = shape[{axes}], 1
    for k in range(axes):
        times *= shape[{first_axis} + {axis} * k]
    for t in range(times):
        left, z, x, y = t, shape[0], shape[5], shape[8]
        for k in range(axes - 1, -1, -1):
            e = {first_axis} + {axis} * k
            at = left % shape[e]
            left //= shape[e]
            z += at * shape[e + 1]
            x += at * shape[e + 2]
            y += at * shape[e + 3]
        own[0], own[5], own[8] = from_bits(z), from_bits(x), from_bits(y)
        call_kernel(address, own.ctypes.data, values.ctypes.data, constants.ctypes.data, target.ctypes.data)
'''


class AxisLoops(NamedTuple):
    """An operation on any axes: its code, the lengths of the axes, and the strides of z, x and y."""

    code: int
    shape: Shape
    z: Shape
    x: Shape
    y: Shape

    def write(self, z: int, x: int, y: int) -> list[int] | None:
        """The shape of its record, with z, x and y at these places; None where sums are over more than two axes.

        A kernel starts its sum anew at each call, so one call has to cover all axes of the sum.
        """
        joined = join_axes(self.shape, self.z, self.x, self.y) or [(1, [1, 1, 1])]
        summed = [k for k, (_, steps) in enumerate(joined) if not steps[0]]
        pair = ([] if summed[-1:] == [len(joined) - 1] else [len(joined) - 1] if len(summed) < 2 else []) + summed
        others = sorted(set(range(len(joined))) - set(pair), key=lambda k: joined[k][0])
        if len(pair) < 2:
            pair += others[-1:]
            del others[-1:]
        if len(pair) > 2:
            return None
        outer, inner, z_outer, z_inner, *steps = pair_axes([joined[k] for k in sorted(pair)], 3)
        found = [z, outer, inner, z_outer, z_inner, x, *steps[:2], y, *steps[2:], self.code, len(others)]
        return found + [n for k in sorted(others) for n in (joined[k][0], *joined[k][1])]


def broadcast_of(c: Continuation) -> AxisLoops | None:
    """The kernel operation that replaces a continuation which Python runs in a recording; None if there is none."""
    if c.is_tuple or not math.prod(c.results[0].shape) or not all(map(math.prod, map(_shape_of, c.values))):
        return None
    if isinstance(c, ElementwisePullback):
        return _by_elements(c)
    return _sum(c) if isinstance(c, Pullback) and c.rule in (reductions.sum, reductions.mean) else None


def _by_elements(c: ElementwisePullback) -> AxisLoops | None:
    (z,) = c.results
    active = {k for k, _, _ in c.operands}
    code = code_of(c.rule, "".join("v" if k in active else "c" for k in range(len(c.values))))
    if code is None or z.axes is not None:
        return None
    strides = [_strides(_shape_of(v), z.shape) for v in c.values]
    return AxisLoops(code, z.shape, _strides(z.shape, z.shape), *strides, *[(0,) * len(z.shape)] * (2 - len(strides)))


def _sum(c: Pullback) -> AxisLoops | None:
    """A sum or a mean, whose result may have another order of axes in memory."""
    (_, _, shape), (z,) = c.operands[0], c.results
    n = len(shape)
    axis = c.options.get("axis")
    axes = range(n) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if 0 in c.turned or not {*map(type, axes)} <= {int}:
        return None
    reduced = {k % n for k in axes if n}  # NumPy accepts the axes 0 and -1 for a number
    own = _strides(z.shape, z.shape)
    steps = iter(own if z.axes is None else [own[k] for k in z.axes])
    keeps = c.options.get("keepdims", False)
    strides = []
    for k in range(n):
        step = next(steps) if keeps or k not in reduced else 0
        strides.append(0 if k in reduced else step)
    return AxisLoops(LINEAR, shape, tuple(strides), _strides(shape, shape), (0,) * n)


def _shape_of(v: object) -> Shape:
    return getattr(v, "shape", ())


def _strides(shape: Shape, broadcast: Shape) -> Shape:
    """The strides, in elements, of a contiguous array over the axes of the shape that it is broadcast to."""
    steps: list[int] = []
    step = 1
    for n in reversed(shape):
        steps.append(0 if n == 1 else step)
        step *= n
    return (0,) * (len(broadcast) - len(shape)) + tuple(reversed(steps))


def unroll(shape: Sequence[int]) -> list[list[int]]:
    """The shapes for all calls of the kernel of a record."""
    found = [list(shape[:CODE_OF])]
    for k in range(shape[AXES]):
        n, *steps = shape[FIRST_AXIS + AXIS * k : FIRST_AXIS + AXIS * (k + 1)]
        found = [_move(one, [at * step for step in steps]) for one in found for at in range(n)]
    return found


def _move(shape: Sequence[int], by: Sequence[int]) -> list[int]:
    return [n + dict(zip((0, 5, 8), by, strict=True)).get(k, 0) for k, n in enumerate(shape)]


def reach(shape: Sequence[int], place: int) -> tuple[int, int]:
    """The first cell of operand x or y, whose place is at 5 or 8, and the cell after its last."""
    low, high = reach_of(shape[place], *shape[1:3], *shape[place + 1 : place + 3])
    for k in range(shape[AXES]):
        n, *steps = shape[FIRST_AXIS + AXIS * k : FIRST_AXIS + AXIS * (k + 1)]
        high += (n - 1) * steps[place // 3]
    return low, high


def length_of(axes: int) -> int:
    """How many integers a shape has."""
    return FIRST_AXIS + AXIS * axes
