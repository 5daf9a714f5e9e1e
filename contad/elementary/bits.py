"""The building blocks of kernels besides `+`, `-`, `*`, `/`: one instruction each, on numbers and on vectors."""

from typing import Any

from numba import types
from numba.extending import intrinsic, lower_builtin, type_callable

from contad.compile.compiling import NJIT_OPTIONS
from contad.compile.emitting import ir
from contad.compile.machine_code import njit
from contad.compile.typing_rules import signature

_DOUBLE, _INT = ir.DoubleType(), ir.IntType(64)

# A kernel becomes part of the loop that calls it, and is on disk as such; a caller's permission to reorder does not
# reach into it.
kernel = njit(**(NJIT_OPTIONS | {"cache": False}), forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def _join(*kinds: Any) -> Any:
    """The type of a computation with numbers of these types: float32 if all are, else float64."""
    return types.float32 if all(kind == types.float32 for kind in kinds) else types.float64


def _call_llvm(name: str) -> Any:
    """Makes a function that emits an LLVM intrinsic on numbers of one type."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = args[0].type
        function = ir.FunctionType(kind, [kind] * len(args))
        return builder.call(builder.module.declare_intrinsic(name, [kind], function), args)

    return emit


@intrinsic
def fma(typing, x, y, z):  # type: ignore[no-untyped-def]
    """x * y + z, rounded once."""
    kind = _join(x, y, z)
    return kind(kind, kind, kind), lambda c, builder, s, args: builder.fma(*args)


def choose(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, else y."""
    return x if condition else y


@type_callable(choose)
def _type_of_choose(context):  # type: ignore[no-untyped-def]
    return lambda condition, x, y: signature(_join(x, y), types.boolean, _join(x, y), _join(x, y))


@lower_builtin(choose, types.boolean, types.float32, types.float32)
@lower_builtin(choose, types.boolean, types.float64, types.float64)
def _lower_choose(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.select(*args)


@intrinsic
def to_bits(typing, x):  # type: ignore[no-untyped-def]
    """The 64 bits of a double, as an integer."""
    return types.int64(types.float64), lambda c, builder, s, args: builder.bitcast(args[0], _INT)


@intrinsic
def from_bits(typing, k):  # type: ignore[no-untyped-def]
    """The double of these 64 bits."""
    return types.float64(types.int64), lambda c, builder, s, args: builder.bitcast(args[0], _DOUBLE)


@intrinsic
def shift_right(typing, k, by):  # type: ignore[no-untyped-def]
    """The bits of an integer, shifted; zeros come in from the left."""
    return types.int64(types.int64, types.int64), lambda c, builder, s, args: builder.lshr(*args)


@intrinsic
def absolute(typing, x):  # type: ignore[no-untyped-def]
    """|x|."""
    return _join(x)(_join(x)), _call_llvm("llvm.fabs")


@intrinsic
def with_sign(typing, x, y):  # type: ignore[no-untyped-def]
    """|x| with the sign of y."""
    return _join(x, y)(_join(x, y), _join(x, y)), _call_llvm("llvm.copysign")


def polynomial(coefficients: tuple[float, ...]) -> Any:
    """The kernel of c[0] + c[1] x + c[2] x^2 + ..., by Horner's rule."""

    @intrinsic
    def evaluate(typing, x):  # type: ignore[no-untyped-def]
        kind = _join(x)

        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            *rest, total = (context.get_constant(kind, c) for c in coefficients)
            for c in reversed(rest):
                total = builder.fma(total, args[0], c)
            return total

        return kind(kind), emit

    return evaluate
