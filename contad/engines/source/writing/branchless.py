"""Choices without branches: every branch of the source is a block to Numba, whose passes are quadratic in blocks.

In compiled code each of these functions is a comparison and a select in its caller, which loops are vectorised with.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin, type_callable

_ZERO = ir.Constant(ir.DoubleType(), 0.0)


def chain(d: float, p: float) -> float:
    """d * p, and 0 where d is 0, whatever p is: an adjoint of 0 has no part in a partial that is infinite or nan."""
    return d * p if d != 0.0 else 0.0


def select(condition: bool, x: Any, y: Any) -> Any:
    """x if the condition holds, else y; both have been computed."""
    return x if condition else y


@type_callable(chain)
def _type_of_chain(context):  # type: ignore[no-untyped-def]
    return lambda d, p: types.float64


@lower_builtin(chain, types.Any, types.Any)
def _lower_chain(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    d, p = (context.cast(builder, x, kind, types.float64) for x, kind in zip(args, sig.args, strict=True))
    return builder.select(builder.fcmp_unordered("!=", d, _ZERO), builder.fmul(d, p), _ZERO)


@infer_global(select)
class _Select(AbstractTemplate):
    """The type of `select`: that to which both values are cast."""

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
