"""Branch-free choices. Numba makes a basic block of every branch, and its passes are quadratic in basic blocks.

In compiled code each of these functions is an inlined comparison and select, which do not prevent vectorisation.
"""

import math
from typing import Any

from numba import types
from numba.extending import lower_builtin, type_callable

from contad.compile.emitting import ir
from contad.compile.typing_rules import AbstractTemplate, infer_global
from contad.kernels.lanes import Lanes, lane, lanes_among


def masked_product(d: Any, p: Any) -> Any:
    """d * p, but 0 if d is 0, whatever p is: a zero adjoint cancels an infinite or nan partial."""
    if isinstance(d, Lanes):
        return Lanes([masked_product(x, lane(p, k)) for k, x in enumerate(d.numbers)])
    if isinstance(p, Lanes):
        return Lanes([masked_product(d, x) for x in p.numbers])
    return d * p if d != 0.0 else 0.0


def masked_slope(d: Any, p: Any) -> Any:
    """The factor s with d * s = masked_product(d, p): 0 if d is 0 and p is infinite or nan, else p."""
    if isinstance(d, Lanes):
        return Lanes([masked_slope(x, lane(p, k)) for k, x in enumerate(d.numbers)])
    if isinstance(p, Lanes):
        return Lanes([masked_slope(d, x) for x in p.numbers])
    return p if d != 0.0 or math.isfinite(p) else 0.0


def larger(x: Any, y: Any) -> Any:
    """1 if x > y, 0 if x < y, else 1/2."""
    if isinstance(x, Lanes):
        return Lanes([larger(a, lane(y, k)) for k, a in enumerate(x.numbers)])
    if isinstance(y, Lanes):
        return Lanes([larger(x, b) for b in y.numbers])
    return 1.0 if x > y else 0.0 if x < y else 0.5


def select(condition: bool, x: Any, y: Any) -> Any:
    """x if the condition holds, else y; both are computed."""
    return x if condition else y


@type_callable(masked_product)
@type_callable(masked_slope)
@type_callable(larger)
def _type_of_masked(context):  # type: ignore[no-untyped-def]
    return lambda d, p: lanes_among((d, p)) or (types.float32 if d == p == types.float32 else types.float64)


def _convert(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Convert the operands and 0 to the type of the result: numbers, or lanes."""
    d, p = (context.cast(builder, x, kind, sig.return_type) for x, kind in zip(args, sig.args, strict=True))
    return d, p, ir.Constant(d.type, [0.0] * d.type.count if isinstance(d.type, ir.VectorType) else 0.0)


@lower_builtin(masked_product, types.Any, types.Any)
def _lower_masked(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    d, p, zero = _convert(context, builder, sig, args)
    return builder.select(builder.fcmp_unordered("!=", d, zero), builder.fmul(d, p), zero)


@lower_builtin(masked_slope, types.Any, types.Any)
def _lower_masked_slope(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    d, p, zero = _convert(context, builder, sig, args)
    is_finite = builder.fcmp_ordered("==", builder.fsub(p, p), zero)
    return builder.select(builder.or_(builder.fcmp_unordered("!=", d, zero), is_finite), p, zero)


@lower_builtin(larger, types.Any, types.Any)
def _lower_larger(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    x, y, zero = _convert(context, builder, sig, args)
    several = x.type.count if isinstance(x.type, ir.VectorType) else 0
    one, half = (ir.Constant(x.type, [n] * several if several else n) for n in (1.0, 0.5))
    not_larger = builder.select(builder.fcmp_ordered("<", x, y), zero, half)
    return builder.select(builder.fcmp_ordered(">", x, y), one, not_larger)


@infer_global(select)
class _Select(AbstractTemplate):
    """The type of `select`: the type to which both values are cast."""

    key = select

    def generic(self, args: Any, kws: Any) -> Any:
        condition, x, y = args
        unified = self.context.unify_types(types.unliteral(x), types.unliteral(y))
        return None if unified is None else unified(condition, x, y)


@lower_builtin(select, types.Any, types.Any, types.Any)
def _lower_select(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    condition = context.cast(builder, args[0], sig.args[0], types.boolean)
    x, y = (context.cast(builder, args[k], sig.args[k], sig.return_type) for k in (1, 2))
    return builder.select(condition, x, y)
