"""Lanes: a few numbers computed together, one for each of several directions or cotangents.

Generated code is the same for one direction and for k of them: a tangent, or an adjoint, is a number or k lanes. In
compiled code lanes are an LLVM vector, which the processor adds and multiplies in one instruction. Values that do not
depend on the direction are numbers and are computed once. In plain Python lanes are an object that holds k numbers, so
that the source runs there too.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types
from numba.extending import lower_builtin, lower_cast, models, register_model, type_callable

from contad.compile.emitting import (
    cgutils,
    emit_new_array,
    impl_ret_borrowed,
    impl_ret_new_ref,
    ir,
    make_array,
    pack,
    populate_array,
)
from contad.compile.overloads import add_overload
from contad.compile.typing_rules import AbstractTemplate, Conversion, infer_global, signature

DOUBLE = ir.DoubleType()
NUMBERS = types.CPointer(types.float64)  # the workspace


class Lanes:
    """k numbers, in plain Python."""

    __slots__ = ("numbers",)
    __array_ufunc__ = None  # NumPy's scalars defer to the methods below

    def __init__(self, numbers: Any) -> None:
        self.numbers = np.array(numbers, dtype=float)

    def __repr__(self) -> str:
        return f"Lanes({self.numbers.tolist()})"

    def _with(self, compute: Callable[[Any, Any], Any], other: Any) -> "Lanes":
        return Lanes(compute(self.numbers, numbers_of(other)))

    def __add__(self, other: Any) -> "Lanes":
        return self._with(np.add, other)

    def __sub__(self, other: Any) -> "Lanes":
        return self._with(np.subtract, other)

    def __mul__(self, other: Any) -> "Lanes":
        return self._with(np.multiply, other)

    def __truediv__(self, other: Any) -> "Lanes":
        return self._with(np.divide, other)

    def __rsub__(self, other: Any) -> "Lanes":
        return Lanes(other - self.numbers)

    def __neg__(self) -> "Lanes":
        return Lanes(-self.numbers)

    __radd__, __rmul__ = __add__, __mul__


def numbers_of(x: Any) -> Any:
    """The numbers of lanes; a number itself."""
    return x.numbers if isinstance(x, Lanes) else x


def lanes_zeros(shape: tuple[int, ...], k: int) -> Any:
    """An array of lanes, all 0."""
    made = np.empty(shape, dtype=object)
    made.fill(Lanes(np.zeros(k)))
    return made


def small_lanes_zeros(shape: tuple[int, ...], k: int) -> Any:
    """An array of lanes of a literal shape, all 0. In compiled code it is in stack memory, as with `small_zeros`."""
    return lanes_zeros(shape, k)


def add_lanes(x: Any, y: Any) -> None:
    """x += y, of arrays of lanes."""
    x += y


def copy_lanes(x: Any) -> Any:
    """A copy of an array of lanes in any memory order. The array's own method would assume aligned vectors."""
    return x.copy()


def as_lanes(x: Any) -> Any:
    """An array whose last axis has the lanes, as an array of lanes; in compiled code in the same memory."""
    made = np.empty(x.shape[:-1], dtype=object)
    for index in np.ndindex(made.shape):
        made[index] = Lanes(x[index])
    return made


def as_floats(x: Any) -> Any:
    """An array of lanes as one with a further axis; in compiled code in the same memory."""
    numbers = np.broadcast_arrays(*map(numbers_of, x.ravel()), np.zeros(1))[:-1]
    return np.array(numbers).reshape(*x.shape, -1 if x.size else 1)


def as_rows(x: Any) -> Any:
    """A contiguous array of lanes as a matrix with a row for each element; in compiled code in the same memory."""
    floats = as_floats(x)
    return floats.reshape(-1, floats.shape[-1])


def unit_lanes(j: int, k: int) -> Any:
    """k lanes: lane j is 1 and all others are 0; all are 0 if there is no lane j."""
    return Lanes([float(j == n) for n in range(k)])


def lane(x: Any, j: int) -> float:
    """Lane j of lanes; a number itself."""
    return float(x.numbers[j]) if isinstance(x, Lanes) else x


def lane_view(x: Any, j: int) -> Any:
    """Lane j of an array of lanes, in compiled code in the same memory; anything else itself."""
    if x is None or not np.ndim(x):
        return None if x is None else lane(x, j)
    return np.vectorize(lambda e: lane(e, j), otypes=[float])(x)


def lane_once(x: Any, j: int) -> Any:
    """Lane j of an adjoint. Numbers, which all lanes share, belong to lane 0 only; other lanes get an empty array."""
    if x is None or not np.ndim(x) or x.dtype == object:
        return lane_view(x, j)
    return x[: len(x) if j == 0 else 0]


def lane_spent(x: Any, j: int) -> Any:
    """Lane j of an adjoint that will be overwritten; a copy of numbers, because other lanes read them, too."""
    return lane_view(x, j)


def put_lanes(work: Any, place: int, x: Any, k: int) -> None:
    """Store k lanes in the workspace."""
    work[place : place + k] = numbers_of(x)


def lanes_at(work: Any, place: int, k: int) -> Any:
    """The k lanes that `put_lanes` has stored."""
    return Lanes(work[place : place + k])


# ---- the type --------------------------------------------------------------------------------------------------------
class LanesType(types.Type):
    """k lanes, in compiled code."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(name=f"Lanes({count})")

    def unify(self, typingctx: Any, other: Any) -> Any:
        """A value that is a number on one path and lanes on another has lanes."""
        return self if isinstance(other, types.Float) else None

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        return Conversion.safe if isinstance(other, (types.Float, types.Integer)) else None

    @property
    def vector(self) -> Any:
        """LLVM's type."""
        return ir.VectorType(DOUBLE, self.count)

    def array(self, ndim: int, layout: str = "C") -> Any:
        """The type of an array of lanes, aligned as an array of numbers."""
        return types.Array(self, ndim, layout, aligned=False)


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: LanesType) -> None:
        super().__init__(dmm, fe_type, fe_type.vector)


def spread(builder: Any, x: Any, vector: Any) -> Any:
    """A number in all lanes."""
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), x, ir.Constant(ir.IntType(32), 0))
    order = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), order)


def to_lanes(context: Any, builder: Any, x: Any, source: Any, target: LanesType) -> Any:
    """A number or lanes as lanes."""
    return x if source == target else spread(builder, context.cast(builder, x, source, types.float64), target.vector)


@lower_cast(types.Float, LanesType)
@lower_cast(types.Integer, LanesType)
def _cast_number(context: Any, builder: Any, fromty: Any, toty: Any, val: Any) -> Any:
    return to_lanes(context, builder, val, fromty, toty)


# ---- arithmetic ------------------------------------------------------------------------------------------------------
def lanes_among(args: Sequence[Any]) -> Any:
    """The type of lanes among the types of operands; None if there are only numbers."""
    return next((t for t in args if isinstance(t, LanesType)), None)


def _declare(function: Any, instruction: str) -> None:
    """The type and the code of an operator of two operands."""

    class Template(AbstractTemplate):
        key = function

        def generic(self, args: Any, kws: Any) -> Any:
            kind = lanes_among(args)
            if kind is None or not all(t == kind or isinstance(t, (types.Float, types.Integer)) for t in args):
                return None
            return signature(kind, *(kind if t == kind else types.float64 for t in args))

    infer_global(function)(Template)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        x, y = (to_lanes(context, builder, v, t, sig.return_type) for v, t in zip(args, sig.args, strict=True))
        return getattr(builder, instruction)(x, y)

    for first, second in ((LanesType, LanesType), (LanesType, types.Float), (types.Float, LanesType)):
        lower_builtin(function, first, second)(lower)


def _declare_all() -> None:
    for name, instruction in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("truediv", "fdiv")):
        _declare(getattr(operator, name), instruction)
        _declare(getattr(operator, f"i{name}"), instruction)

    @infer_global(operator.neg)
    class Negative(AbstractTemplate):
        key = operator.neg

        def generic(self, args: Any, kws: Any) -> Any:
            return signature(args[0], args[0]) if isinstance(args[0], LanesType) else None

    @lower_builtin(operator.neg, LanesType)
    def lower_negative(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.fsub(ir.Constant(sig.return_type.vector, [-0.0] * sig.return_type.count), args[0])


_declare_all()


# ---- arrays and the workspace ----------------------------------------------------------------------------------------
def _literal(k: Any) -> int | None:
    return int(k.literal_value) if isinstance(k, types.IntegerLiteral) else None


def _kind_of(k: Any) -> Any:
    count = _literal(k)
    return None if count is None else LanesType(count)


@type_callable(lanes_zeros)
@type_callable(small_lanes_zeros)
def _type_of_zeros(context):  # type: ignore[no-untyped-def]
    def typer(shape: Any, k: Any) -> Any:
        kind = _kind_of(k)
        return kind.array(len(shape)) if kind is not None and isinstance(shape, types.BaseTuple) else None

    return typer


@add_overload(add_lanes)
def _add_lanes(x: Any, y: Any) -> Any:
    def implementation(x: Any, y: Any) -> Any:
        for index in np.ndindex(x.shape):
            x[index] += y[index]

    return implementation


@lower_builtin(lanes_zeros, types.BaseTuple, types.IntegerLiteral)
def _lower_zeros(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    shape = [
        context.cast(builder, n, t, types.intp)
        for n, t in zip(cgutils.unpack_tuple(builder, args[0]), sig.args[0], strict=True)
    ]
    made = emit_new_array(context, builder, sig.return_type, shape)
    cgutils.memset(builder, made.data, builder.mul(made.itemsize, made.nitems), 0)
    return impl_ret_new_ref(context, builder, sig.return_type, pack(made))


@lower_builtin(small_lanes_zeros, types.BaseTuple, types.IntegerLiteral)
def _lower_small_zeros(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    shape = [n.literal_value for n in sig.args[0].types]
    kind, size = sig.return_type.dtype, int(np.prod(shape))
    zeros = ir.Constant(ir.ArrayType(kind.vector, size), None)
    data = cgutils.alloca_once(builder, zeros.type)
    builder.store(zeros, data)
    return _view(
        context, builder, sig.return_type, builder.bitcast(data, kind.vector.as_pointer()),
        [context.get_constant(types.intp, n) for n in shape],
        [context.get_constant(types.intp, 8 * kind.count * int(np.prod(shape[j + 1 :]))) for j in range(len(shape))],
        8 * kind.count,
    )  # fmt: skip


def _view(
    context: Any, builder: Any, kind: Any, data: Any, shape: Any, strides: Any, itemsize: int, memory: Any = None
) -> Any:
    """An array of numbers or lanes in existing memory."""
    made = make_array(kind)(context, builder)
    size = context.get_constant(types.intp, itemsize)
    populate_array(made, data=data, shape=shape, strides=strides, itemsize=size, meminfo=memory)
    return pack(made)


@type_callable(as_floats)
def _type_of_as_floats(context):  # type: ignore[no-untyped-def]
    def typer(x: Any) -> Any:
        if isinstance(x, types.Array) and isinstance(x.dtype, LanesType):
            return types.Array(types.float64, x.ndim + 1, x.layout if x.layout == "C" else "A")
        return None

    return typer


@lower_builtin(as_floats, types.Array)
def _lower_as_floats(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    given = make_array(sig.args[0])(context, builder, args[0])
    count = sig.args[0].dtype.count
    number = context.get_constant(types.intp, 8)
    made = _view(
        context, builder, sig.return_type, builder.bitcast(given.data, DOUBLE.as_pointer()),
        [*cgutils.unpack_tuple(builder, given.shape), context.get_constant(types.intp, count)],
        [*cgutils.unpack_tuple(builder, given.strides), number], 8, given.meminfo,
    )  # fmt: skip
    return impl_ret_borrowed(context, builder, sig.return_type, made)


@type_callable(as_rows)
def _type_of_as_rows(context):  # type: ignore[no-untyped-def]
    def typer(x: Any) -> Any:
        if isinstance(x, types.Array) and isinstance(x.dtype, LanesType) and x.layout == "C":
            return types.Array(types.float64, 2, "C")
        return None

    return typer


@lower_builtin(as_rows, types.Array)
def _lower_as_rows(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Without NumPy's search for strides, which costs more than a small derivative."""
    given = make_array(sig.args[0])(context, builder, args[0])
    count = sig.args[0].dtype.count
    made = _view(
        context, builder, sig.return_type, builder.bitcast(given.data, DOUBLE.as_pointer()),
        [given.nitems, context.get_constant(types.intp, count)],
        [context.get_constant(types.intp, 8 * count), context.get_constant(types.intp, 8)], 8, given.meminfo,
    )  # fmt: skip
    return impl_ret_borrowed(context, builder, sig.return_type, made)


@type_callable(lane_view)
def _type_of_lane_view(context):  # type: ignore[no-untyped-def]
    def typer(x: Any, j: Any) -> Any:
        if isinstance(x, types.Array):
            return types.Array(types.float64, x.ndim, "A") if isinstance(x.dtype, LanesType) else x
        return types.float64 if isinstance(x, (LanesType, types.Float)) else types.unliteral(x)

    return typer


@add_overload(copy_lanes)
def _copy_lanes(x: Any) -> Any:
    count = x.dtype.count

    def implementation(x: Any) -> Any:
        made = lanes_zeros(x.shape, count)
        as_floats(made)[...] = as_floats(x)
        return made

    return implementation


@add_overload(lane_once)
def _lane_once(x: Any, j: Any) -> Any:
    if isinstance(x, types.Array) and not isinstance(x.dtype, LanesType):
        return lambda x, j: x[: len(x) if j == 0 else 0]
    return lambda x, j: lane_view(x, j)  # noqa: PLW0108  (which is emitted, not compiled)


@add_overload(lane_spent)
def _lane_spent(x: Any, j: Any) -> Any:
    if isinstance(x, types.Array) and not isinstance(x.dtype, LanesType):
        return lambda x, j: x.copy()
    return lambda x, j: lane_view(x, j)  # noqa: PLW0108  (which is emitted, not compiled)


@lower_builtin(lane_view, types.Any, types.Integer)
def _lower_lane_view(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind, x = sig.args[0], args[0]
    if isinstance(kind, LanesType):
        return builder.extract_element(x, args[1])
    if not isinstance(kind, types.Array) or not isinstance(kind.dtype, LanesType):
        return impl_ret_borrowed(context, builder, sig.return_type, context.cast(builder, x, kind, sig.return_type))
    given = make_array(kind)(context, builder, x)
    data = builder.gep(builder.bitcast(given.data, DOUBLE.as_pointer()), [args[1]])
    shape, strides = (cgutils.unpack_tuple(builder, part) for part in (given.shape, given.strides))
    made = _view(context, builder, sig.return_type, data, shape, strides, 8, given.meminfo)
    return impl_ret_borrowed(context, builder, sig.return_type, made)


@type_callable(unit_lanes)
def _type_of_unit(context):  # type: ignore[no-untyped-def]
    return lambda j, k: _kind_of(k)


@lower_builtin(unit_lanes, types.Integer, types.IntegerLiteral)
def _lower_unit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    j, n = context.cast(builder, args[0], sig.args[0], types.int64), sig.return_type.count
    integers = ir.VectorType(ir.IntType(64), n)
    found = builder.icmp_signed("==", spread(builder, j, integers), ir.Constant(integers, list(range(n))))
    return builder.uitofp(found, sig.return_type.vector)


@type_callable(lane)
def _type_of_lane(context):  # type: ignore[no-untyped-def]
    return lambda x, j: types.float64 if isinstance(x, (LanesType, types.Float)) else None


@lower_builtin(lane, LanesType, types.Integer)
def _lower_lane(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.extract_element(args[0], args[1])


@lower_builtin(lane, types.Float, types.Integer)
def _lower_lane_of_number(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return args[0]


@type_callable(put_lanes)
def _type_of_put(context):  # type: ignore[no-untyped-def]
    return lambda work, place, x, k: types.none if _literal(k) else None  # Numba asks again with the literal


@lower_builtin(put_lanes, NUMBERS, types.Integer, types.Any, types.IntegerLiteral)
def _lower_put(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind = LanesType(sig.args[3].literal_value)
    x = to_lanes(context, builder, args[2], sig.args[2], kind)
    pointer = builder.bitcast(builder.gep(args[0], [args[1]]), kind.vector.as_pointer())
    builder.store(x, pointer, align=8)
    return context.get_dummy_value()


@type_callable(lanes_at)
def _type_of_lanes_at(context):  # type: ignore[no-untyped-def]
    return lambda work, place, k: _kind_of(k)


@lower_builtin(lanes_at, NUMBERS, types.Integer, types.IntegerLiteral)
def _lower_lanes_at(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    pointer = builder.bitcast(builder.gep(args[0], [args[1]]), sig.return_type.vector.as_pointer())
    return builder.load(pointer, align=8)
