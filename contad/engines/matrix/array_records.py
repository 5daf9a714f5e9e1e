"""Recording of operations on arrays: as compiled records where a kernel exists, else as pullbacks."""

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.engines.matrix.array_var import ArraySlab, ArrayVar, affine, is_own
from contad.engines.matrix.kernel_shapes import ACCUMULATIONS, LINES, RUNNING, are_consecutive
from contad.engines.matrix.matrix_products import factor_of
from contad.engines.stream.kernels import two_axes
from contad.engines.stream.pullbacks import Continuation, ElementwisePullback, Part, Pullback
from contad.engines.stream.record_stream import LONG
from contad.engines.stream.storage import LINEAR, PULLBACK, STRIDED, head_of
from contad.engines.stream.sweep import operation_code
from contad.ops import multiply
from contad.rules.array_rule import ArrayRule
from contad.rules.scalar_rule import ScalarRule
from contad.variables.arguments import constant, require_real
from contad.variables.array import Array, copy_parts, is_plain
from contad.variables.dtypes import FLOAT, is_float64
from contad.variables.layout import inverse, layout_of, read_only
from contad.variables.number import Number, peek
from contad.variables.open_types import ArrayValue, Function, Option, Options, Rule, Value
from contad.variables.trees import like_tuple

Operand = tuple[int, int, tuple[int, ...]]  # position among the arguments, first cell, shape


def operands_of(stack: ArraySlab, rule: Rule, args: Sequence[Value]) -> tuple[list[Operand], list[Value]]:
    """The variables of a stack among the arguments, as operands, and the values of all arguments."""
    operands: list[Operand] = []
    values: list[Value] = []
    for k, (name, x) in enumerate(zip(rule.argument_names, args, strict=True)):
        if is_own(x, stack):
            y = x.operand() if isinstance(x, ArrayVar) else x
            if is_own(y, stack):  # else its elements are all constants
                operands.append((k, y.first if y.__class__ is ArrayVar else y._index, np.shape(y._value)))
                y = y._value
            values.append(y)
            continue
        values.append(constant(rule.name, name, x))
    return operands, values


# ---- scalar rules on arrays ------------------------------------------------------------------------------------------
def elementwise(stack: ArraySlab, rule: ScalarRule, args: Sequence[Value]) -> ArrayValue:
    """Record a scalar rule on arrays, with NumPy's broadcasting and NumPy's memory layout of the result.

    The layout decides which memory later views share, so the operation runs on operands transposed to that layout.
    """
    values = [peek(x) for x in args]
    axes = layout_of([v for v in values if isinstance(v, np.ndarray)])
    if axes is None:
        return _in_c_order(stack, rule, args)
    n = len(axes)
    turned = [
        np.transpose(np.reshape(x, (1,) * (n - np.ndim(x)) + np.shape(x)), axes) if np.ndim(v) else x
        for x, v in zip(args, values, strict=True)
    ]
    return _in_c_order(stack, rule, turned).transpose(inverse(axes))


def _in_c_order(stack: ArraySlab, rule: ScalarRule, args: Sequence[Value]) -> ArrayValue:
    operands, values = operands_of(stack, rule, args)
    if not operands:  # arrays of this level that are all constants: like them, the result can be assigned to
        return stack.constant_result(rule(*values))
    if not all(is_plain(v) for v in values):
        return _by_pullback(stack, rule, operands, values, rule(*values))
    shape = np.broadcast_shapes(*(np.shape(v) for v in values))
    n = int(np.prod(shape))
    first = stack.room(n)
    z = stack.buffers.values[first : first + n].reshape(shape)
    rule.array_value(*values, out=z)
    if n == 0:
        return stack.push_values(0, 0, 0, z)
    result = _record(stack, rule, operands, values, z)
    return result if shape else stack.element(float(z), first)  # NumPy returns a number if there are no axes


def _record(
    stack: ArraySlab, rule: ScalarRule, operands: list[Operand], values: list[Value], z: np.ndarray
) -> ArrayValue:
    active = ["c"] * rule.arity
    for k, _, _ in operands:
        active[k] = "v"
    code = operation_code(rule, "".join(active))
    if code is not None:
        return _by_kernel(stack, rule, code, operands, values, z)
    if stack.keeps_rules:
        return _by_pullback(stack, rule, operands, values, z)
    return _by_stored_partials(stack, rule, operands, values, z)


def _by_kernel(
    stack: ArraySlab, rule: ScalarRule, code: int, operands: list[Operand], values: list[Value], z: np.ndarray
) -> ArrayValue:
    cells: dict[int, int] = {k: cell for k, cell, _ in operands}
    fields = []
    contiguous = True
    for k, v in enumerate(values):
        if k in cells:
            fields.append(cells[k])
        else:
            fields.append(stack.buffers.push_constant(np.asarray(v)))
        contiguous = contiguous and np.shape(v) == z.shape
    if contiguous:
        return stack.push_values(code, fields[0], fields[1] if rule.arity == 2 else 0, z)
    strides = [_strides(z.shape, z.shape), *(_strides(np.shape(v), z.shape) for v in values)]
    if rule.arity == 1:
        strides.append((0,) * z.ndim)
        fields.append(0)
    axes = two_axes(z.shape, *strides)
    if axes is None:
        return _by_pullback(stack, rule, operands, values, z)
    return _push_strided(stack, code, axes, fields, z)


def _push_strided(
    stack: ArraySlab, code: int, axes: tuple[int, ...], fields: Sequence[int], z: np.ndarray
) -> Value:
    """Push a record with two axes: outer, inner, then two strides each of z, x and y."""
    outer, inner, *steps = axes
    slot = stack.buffers.push_shape(
        (stack.top, outer, inner, *steps[:2], fields[0], *steps[2:4], fields[1], *steps[4:6])
    )
    return stack.push_values(code + STRIDED, slot, 0, z)


@functools.lru_cache(1024)
def _strides(shape: tuple[int, ...], broadcast: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of a contiguous array over the axes of the shape that it is broadcast to."""
    steps: list[int] = []
    step = 1
    for n in reversed(shape):
        steps.append(0 if n == 1 else step)
        step *= n
    return (0,) * (len(broadcast) - len(shape)) + tuple(reversed(steps))


def move_view(stack: ArraySlab, value: np.ndarray, cell: int) -> Value:
    """Copy a view of an affine array, whose first element has cell `cell`, to fresh cells: 1 x, with strides.

    None if the view has more than two axes, or if the recording becomes a program or serves higher derivatives.
    """
    if stack.keeps_rules or value.dtype is not FLOAT:
        return None
    steps = tuple([n // 8 for n in value.strides])
    axes = two_axes(value.shape, _strides(value.shape, value.shape), steps, (0,) * len(steps))
    if axes is None:
        return None
    first = stack.room(value.size)
    slab = stack.slab[first : first + value.size].reshape(value.shape)
    slab[...] = value
    return _push_strided(stack, LINEAR, axes, (cell, 0), slab)  # the first constant is a one


def _by_stored_partials(
    stack: ArraySlab, rule: ScalarRule, operands: list[Operand], values: list[Value], z: np.ndarray
) -> Value:
    """Record partials evaluated now and kept as constants: a record per active argument, the first with the cells."""
    axes = [two_axes(z.shape, *[_strides(s, z.shape) for s in (z.shape, shape, z.shape)]) for _, _, shape in operands]
    routed = any(rule.body is not None and rule.body.routes(k) for k, _, _ in operands)
    if None in axes or routed:
        return _by_pullback(stack, rule, operands, values, z)
    first = stack.top
    result = None
    few = rule.partials_of_few(values, [k for k, _, _ in operands])
    for i, ((k, cell, _), found) in enumerate(zip(operands, axes, strict=True)):
        at, p = stack.buffers.new_constant(z.shape)
        p[...] = rule.array_partial(k)(z, *values) if few is None else few[i]
        assert found is not None
        outer, inner, *steps = found
        slot = stack.buffers.push_shape((first, outer, inner, *steps[:2], cell, *steps[2:4], at, *steps[4:6]))
        if result is None:
            result = stack.push_values(LINEAR + STRIDED, slot, 0, z)
        else:
            stack.push((-(LINEAR + STRIDED), slot, 0, 0.0))
    return result


def _by_pullback(
    stack: ArraySlab, rule: ScalarRule, operands: list[Operand], values: list[Value], z: Value
) -> Value:
    active = {k for k, _, _ in operands}
    kept = [v if k in active else keep_constant(stack, v) for k, v in enumerate(values)]
    return push_continuation(stack, ElementwisePullback(rule, operands, kept), z)


def keep_constant(stack: ArraySlab, v: Value) -> Value:
    """A constant for a pullback to keep: a copy, because it may be assigned to later, or an immutable array itself."""
    if is_float64(v):
        return stack.buffers.keep(v)[0]
    return copy_parts(v)


class Broadcast(NamedTuple):
    """The broadcast of arrays of two shapes: the axes of a record with their strides; empty if all shapes agree."""

    shape: tuple[int, ...]
    size: int
    axes: tuple[int, ...] | None  # None if there are more than two


@functools.lru_cache(1024)
def _find_broadcast(x: tuple[int, ...], y: tuple[int, ...]) -> Broadcast | None:
    """The broadcast of the shapes of two operands; None where NumPy refuses them."""
    try:
        z = np.broadcast_shapes(x, y)
    except ValueError:
        return None
    axes = () if x == y else two_axes(z, _strides(z, z), _strides(x, z), _strides(y, z))
    return Broadcast(z, math.prod(z), axes)


def fast_elementwise(rule: ScalarRule, ufunc: np.ufunc, general: Function) -> Function:
    """A rule of one or two arguments on plain arrays, in C order or all transposed, and numbers; else `general`."""
    codes = {active: operation_code(rule, active) for active in (("v",) if rule.arity == 1 else ("vv", "vc", "cv"))}
    code_of_one = codes.get("v")

    def of_one(a: ArrayVar) -> Value:
        s = a._owner
        if not s.is_here() or s.ended is not None or s.tracer is not None:
            return general(a)
        factor = factor_of(a)
        if factor is None or not factor.value.ndim or not factor.value.size:
            return general(a)
        x, cell, turned = factor
        if turned:
            x = x.T
        first = s.room(x.size)
        z = s.slab[first : first + x.size].reshape(x.shape)
        ufunc(x, out=z)
        if code_of_one is None:
            found = _record(s, rule, [(0, cell, x.shape)], [x], z)
        else:
            found = s.push_values(code_of_one, cell, 0, z)
        return found.T if turned else found

    def of_two(a: Value, b: Value) -> Value:
        s = None
        i = j = 0  # the first cells of variables
        x: Value
        y: Value
        turned = straight = False
        kind = a.__class__
        if kind is ArrayVar:
            s = a._owner
            x_factor = factor_of(a)
            if x_factor is None or not x_factor.value.ndim:
                return general(a, b)
            x, i, turned = x_factor
            straight = not turned
            if turned:
                x = x.T
        elif kind is np.ndarray and a.dtype is FLOAT and a.flags.c_contiguous and a.ndim and a.size:
            x, straight = a, True
        elif kind is float or kind is int or kind is np.float64:
            x = float(a)
        else:
            return general(a, b)
        kind = b.__class__
        if b is a:
            y, j = x, i
        elif kind is ArrayVar:
            if s is not None and b._owner is not s:
                return general(a, b)
            s = b._owner
            factor = factor_of(b)
            if factor is None or not factor.value.ndim:
                return general(a, b)
            y, j, y_turned = factor
            turned, straight = turned or y_turned, straight or not y_turned
            if y_turned:
                y = y.T
        elif kind is np.ndarray and b.dtype is FLOAT and b.flags.c_contiguous and b.ndim and b.size:
            y, straight = b, True
        elif kind is float or kind is int or kind is np.float64:
            y = float(b)
        else:
            return general(a, b)
        if s is None or (turned and straight) or not s.is_here() or s.ended is not None or s.tracer is not None:
            return general(a, b)
        x_shape = () if x.__class__ is float else x.shape
        y_shape = () if y.__class__ is float else y.shape
        if (turned and x_shape != y_shape and x_shape and y_shape) or (x_shape == y_shape == ()):
            return general(a, b)
        joined = _find_broadcast(x_shape, y_shape)
        if joined is None or not joined.size:
            return general(a, b)  # it handles empty arrays and refused shapes
        shape, n, axes = joined
        first = s.room(n)
        z = s.slab[first : first + n].reshape(shape)
        ufunc(x, y, out=z)
        code = codes["vv" if i and j else "vc" if i else "cv"]
        if axes is None or code is None:
            operands = [(k, cell, shape) for k, cell, shape in ((0, i, x_shape), (1, j, y_shape)) if cell]
            found = _record(s, rule, operands, [x, y], z)
        else:
            buffers = s.buffers
            i = i or buffers.push_constant(np.asarray(x))
            j = j or buffers.push_constant(np.asarray(y))
            if axes:
                outer, inner, z_outer, z_inner, x_outer, x_inner, y_outer, y_inner = axes
                slot = buffers.push_shape(
                    (first, outer, inner, z_outer, z_inner, i, x_outer, x_inner, j, y_outer, y_inner)
                )
                found = s.push_values(code + STRIDED, slot, 0, z)
            else:
                found = s.push_values(code, i, j, z)
        return found.T if turned else found

    return of_one if rule.arity == 1 else of_two


def operate_on_view(code: int, ufunc: np.ufunc, a: ArrayVar) -> Value:
    """An operation on a strided vector in an affine array, such as a diagonal; None for other arrays."""
    root: Any = a._base
    if root is None or root._index <= 0 or a._operand is not None:
        return None
    s = a._owner
    v = a._sync_parts()._value
    if v.__class__ is not np.ndarray or v.ndim != 1 or v.dtype is not FLOAT or s.keeps_rules or s.tracer is not None:
        return None
    n, step = v.size, v.strides[0] // 8
    if n < 2 or step in (0, 1):
        return None
    cell = root._index + (v.__array_interface__["data"][0] - root._value.__array_interface__["data"][0]) // 8
    first = s.room(n)
    z = s.slab[first : first + n]
    ufunc(v, z)
    return s.push_values(code + STRIDED, s.buffers.push_shape((first, 1, n, 0, 1, cell, 0, step, 0, 0, 0)), 0, z)


# ---- array rules -----------------------------------------------------------------------------------------------------
def push_pullback(stack: ArraySlab, rule: Rule, args: Sequence[Value], options: Options) -> Value:
    """Record an array rule."""
    if rule.name in _ALONG_AXES and args[0].__class__ is ArrayVar:
        turned = _as_it_lies(rule, args[0], options)
        if turned is not None:
            a, options, axes = turned
            z = rule(a, *args[1:], **options)
            return z if axes is None else z.transpose(axes)
    operands, values = operands_of(stack, rule, args)
    if not operands:
        z = rule(*values, **options)
        require_real(rule.name, "its value", z)
        return like_tuple(z, map(stack.constant_result, z)) if isinstance(z, tuple) else stack.constant_result(z)
    compiled = LOOPS.get(rule.name)
    in_c_order = all(v.flags.c_contiguous for v in map(peek, args) if isinstance(v, np.ndarray))
    if compiled is not None and all(is_plain(v) for v in values):
        result = None
        if in_c_order:
            result = compiled(stack, rule, operands, values, options)
        elif compiled is _sum:
            z = np.asarray(rule(*map(peek, args), **options))  # the last bits depend on the layout
            if z.ndim < 2:
                result = _sum(stack, rule, operands, values, options, z)
        if result is not None:
            return result
    active = {k for k, _, _ in operands}
    needed = frozenset().union(*(rule.needs(rule.argument_names[k]) for k in active))
    # a forward body may save an argument itself
    needed |= frozenset() if rule.forward_body is None else frozenset(rule.argument_names)
    options = {name: copy_parts(option) for name, option in options.items()}
    kept = [
        read_only(v if k in active or rule.argument_names[k] not in needed else keep_constant(stack, v))
        for k, v in enumerate(values)
    ]
    z, saved = rule.evaluate(kept, options)
    axes = layout_of([peek(z)]) if not isinstance(z, tuple) and np.ndim(z) > 1 else None
    if not in_c_order and not isinstance(z, tuple) and np.ndim(z) > (2 if rule.name == "matmul" else 1):
        axes = layout_of([rule(*map(peek, args), **options)])  # the operands above are in C order
    return push_continuation(stack, Pullback(rule, operands, kept, options, saved), z, axes)


def _as_it_lies(rule: Rule, a: ArrayVar, options: Options) -> tuple[Value, Options, tuple[int, ...] | None] | None:
    """An array with its axes in memory order, the options for it, and the axes that put the result back.

    None where the order is the same, or does not describe the layout of the array completely.
    """
    value = peek(a)
    of_axes = all(name in _OF_AXES or option is None for name, option in options.items())  # not weights of elements
    order = layout_of([value]) if of_axes and is_plain(value) else None
    if order is None or not np.transpose(value, order).flags.c_contiguous:
        return None
    n, axis = value.ndim, options.get("axis")
    named = range(n) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if not all(k.__class__ is int and -n <= k < n for k in named) or (axis is None and rule.name in _FLATTENING):
        return None
    reduced = {k % n for k in named}
    places = sorted(order.index(k) for k in reduced)
    if rule.name in LINES and not are_consecutive(places):
        return None  # kernels need consecutive axes
    if axis is not None:
        found = tuple(order.index(k) for k in reduced)
        options = dict(options) | {"axis": found if isinstance(axis, tuple) else found[0]}
    if len(reduced) < len(named) or rule.name in RUNNING or options.get("keepdims"):
        back = inverse(order)
    else:
        back = inverse(tuple(k for k in order if k not in reduced))
    return np.transpose(a, order), options, back if len(back) > 1 else None


def push_continuation(
    stack: ArraySlab, continuation: Continuation, z: Value, axes: tuple[int, ...] | None = None
) -> Value:
    """Push a pullback with its result: an array (its axes in memory order, slowest first), a number, or a tuple."""
    zs = z if isinstance(z, tuple) else (z,)
    sizes = [v.size if isinstance(v, (np.ndarray, Array)) else 1 for v in zs]
    n = sum(sizes)
    cell = stack.room(n)
    results = []
    for v, size in zip(zs, sizes, strict=True):
        result, part = _result(stack, v, cell, size, axes)
        results.append(result)
        continuation.results.append(part)
        cell += size
    continuation.is_tuple = isinstance(z, tuple)
    if any(not is_plain(v) for v in continuation.values):
        stack.is_mixed = True
    stack.callbacks.append(continuation)
    slot = len(stack.callbacks) - 1
    stack.top = cell
    stack.push((head_of(PULLBACK, n), slot, 0, 0.0))
    if len(stack.stream) >= LONG:
        stack.flush()
    return like_tuple(z, results) if isinstance(z, tuple) else results[0]


def _result(stack: ArraySlab, v: Value, cell: int, n: int, axes: tuple[int, ...] | None) -> tuple[Value, Part]:
    """One result of a pullback: the variable, and the `Part` that the pullback keeps."""
    if isinstance(v, (np.ndarray, Array)) and v.shape:
        if not n:
            return stack.writable(v), Part(cell, n, v.shape, v)
        turned = v if axes is None else np.transpose(v, axes)
        if is_plain(v):
            kept = stack.slab[cell : cell + n].reshape(turned.shape)
            kept[...] = turned
        else:
            kept = stack.outer_array(cell, turned)
        result = affine(stack, kept, cell)
        if axes is None:
            return result, Part(cell, n, v.shape, kept)
        back = inverse(axes)
        return result.transpose(back), Part(cell, n, turned.shape, np.transpose(kept, back), back)
    number = v[()] if isinstance(v, (np.ndarray, Array)) else v
    if isinstance(number, Number):
        stack.set_outer_value(cell, number)
        stack.slab[cell] = peek(number)
    else:
        stack.slab[cell] = number = float(number)
    return stack.element(number, cell), Part(cell, n, (), number)


# ---- array rules that are loops: sums and dot products are kernels with a stride of 0 for the result -----------------
def _sum(
    stack: ArraySlab, rule: ArrayRule, operands: list[Operand], values: list[Value], options: Options,
    z: np.ndarray | None = None,
) -> Value:  # fmt: skip
    a = values[0]
    if not isinstance(a, np.ndarray) or not a.size or isinstance(options.get("axis"), list):
        return None
    found = find_reduction(a.shape, options.get("axis"), bool(options.get("keepdims")))
    if found is None:
        return None
    z = np.asarray(rule(*values, **options)) if z is None else z
    coefficient = 0 if rule.name == "sum" else stack.buffers.push_constant(np.array(z.size / a.size))
    return _push_result(stack, LINEAR, found.steps, (operands[0][1], coefficient), z)


class Reduction(NamedTuple):
    """A sum along axes: the shape of its result, and the two axes of its record with their strides."""

    shape: tuple[int, ...]
    size: int
    steps: tuple[int, ...]


@functools.lru_cache(1024)
def find_reduction(shape: tuple[int, ...], axis: Option, keepdims: bool) -> Reduction | None:
    """The sum along one, some or all axes; None if more than two axes remain, or the axes do not exist."""
    n = len(shape)
    axes = tuple(range(n)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    reduced = {k % n for k in axes if -n <= k < n}
    if len(reduced) < len(axes):
        return None
    strides: list[int] = []
    step = 1
    for k in reversed(range(n)):
        strides.append(0 if k in reduced else step)
        step *= 1 if k in reduced else shape[k]
    steps = two_axes(shape, tuple(reversed(strides)), _strides(shape, shape), (0,) * n)
    if steps is None:
        return None
    kept = tuple(1 if k in reduced else m for k, m in enumerate(shape) if keepdims or k not in reduced)
    return Reduction(kept, step, steps)


def sum_along(a: ArrayVar, rule: ArrayRule, axis: Option = None, keepdims: Option = False) -> Value:
    """The sum or the mean of an array in C order along axes; None where the general path is needed."""
    factor = factor_of(a)
    is_known = axis.__class__ is int or axis is None or (axis.__class__ is tuple and {*map(type, axis)} <= {int})
    if factor is None or factor.turned or keepdims.__class__ is not bool or not is_known:
        return None
    x, cell, _ = factor
    found = find_reduction(x.shape, axis, keepdims) if x.size else None
    if found is None:
        return None
    s = a._owner
    s.check_usable(rule.name)
    first = s.room(found.size)
    z = s.slab[first : first + found.size].reshape(found.shape)
    np.add.reduce(x, axis, out=z, keepdims=keepdims)
    coefficient = 0
    if rule.name == "mean":
        z /= x.size / found.size
        coefficient = s.buffers.push_constant(np.array(found.size / x.size))
    result = _push_strided(s, LINEAR, found.steps, (cell, coefficient), z)
    return result if found.shape else s.element(float(z), first)


def _dot(
    stack: ArraySlab, rule: ArrayRule, operands: list[Operand], values: list[Value], options: Options
) -> Value:
    a, b = values
    if np.ndim(a) != 1 or np.ndim(b) != 1 or a.shape != b.shape or not a.size:
        return None
    z = np.asarray(rule(a, b, **options))
    cells = {k: cell for k, cell, _ in operands}
    code = operation_code(multiply, "".join("v" if k in cells else "c" for k in (0, 1)))
    assert code is not None
    fields = [cells[k] if k in cells else stack.buffers.push_constant(v) for k, v in enumerate(values)]
    return _push_result(stack, code, (1, a.size, 0, 0, 0, 1, 0, 1), fields, z)


def _push_result(stack: ArraySlab, code: int, axes: tuple[int, ...], fields: Sequence[int], z: np.ndarray) -> Value:
    first = stack.room(z.size)
    slab = stack.buffers.values[first : first + z.size].reshape(z.shape)
    slab[...] = z
    result = _push_strided(stack, code, axes, fields, slab)
    return result if z.ndim else stack.element(float(z), first)


LOOPS: dict[str, Function] = {"sum": _sum, "mean": _sum, "matmul": _dot}
_OF_AXES = frozenset(("axis", "keepdims", "ddof"))
_ALONG_AXES = frozenset(("sum", "mean", *LINES))
_FLATTENING = ACCUMULATIONS  # without an axis, in C order
