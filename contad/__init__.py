"""Automatic differentiation of plain Python, NumPy and Numba functions: a stack of continuations over adjoints.

>>> import contad, numpy as np
>>> def f(x, y):
...     return np.exp(-x) * y + x * y
>>> contad.value_and_grad(f, argnums=(0, 1))(0.0, 3.0)
(3.0, (0.0, 1.0))
>>> contad.grad(lambda a: np.sum(np.cumsum(a) ** 2))(np.array([1.0, 2.0]))
array([8., 6.])
"""

from contad import ops
from contad.array_rule import array_rule
from contad.compilation import cfunc, clear_cache, engine_name, explain, primitive
from contad.continuations import gradient, make_callback_var, reverse_pass_callback, var
from contad.creation import array, constant, empty, full, to_matvar, to_varmat, zeros
from contad.dual import Dual
from contad.errors import (
    ContadError,
    ForeignVariableError,
    FrozenValueError,
    LostDerivativeError,
    NestingError,
    OtherThreadError,
    OutputError,
    OverlapError,
    RuleError,
    StaleCacheError,
    StaleSourceError,
    StaleVariableError,
    UnsupportedError,
)
from contad.functional import derivative, elementwise_grad, grad, jacobian, jvp, value_and_grad, vjp
from contad.inside_njit import set_memory_limit
from contad.number import primal
from contad.ops import *  # noqa: F403  (every rule is public)
from contad.rule import scalar_rule
from contad.stack import nested, recover_memory, set_zero_adjoints, stack
from contad.stack_table import show_stack
from contad.var import Var, value_of, value_of_rec

__all__ = [  # noqa: PLE0604  (the rules' names are added)
    *ops.__all__,
    "ContadError",
    "Dual",
    "ForeignVariableError",
    "FrozenValueError",
    "LostDerivativeError",
    "NestingError",
    "OtherThreadError",
    "OutputError",
    "OverlapError",
    "RuleError",
    "StaleCacheError",
    "StaleSourceError",
    "StaleVariableError",
    "UnsupportedError",
    "Var",
    "array",
    "array_rule",
    "cfunc",
    "clear_cache",
    "constant",
    "derivative",
    "elementwise_grad",
    "empty",
    "engine_name",
    "explain",
    "full",
    "grad",
    "gradient",
    "jacobian",
    "jvp",
    "make_callback_var",
    "nested",
    "primal",
    "primitive",
    "recover_memory",
    "reverse_pass_callback",
    "scalar_rule",
    "set_memory_limit",
    "set_zero_adjoints",
    "show_stack",
    "stack",
    "to_matvar",
    "to_varmat",
    "value_and_grad",
    "value_of",
    "value_of_rec",
    "var",
    "vjp",
    "zeros",
]

_ELSEWHERE = {
    "hessian": "contad.jacobian(contad.grad(f))", "hvp": "contad.jvp(contad.grad(f), (x,), (v,))[1]",
    "jacfwd": "contad.jvp along each direction, or contad.jacobian", "jacrev": "contad.jacobian",
    "custom_vjp": "contad.array_rule or contad.scalar_rule", "custom_jvp": "contad.array_rule or contad.scalar_rule",
    "numpy": "NumPy itself: its functions differentiate", "zeros_like": "np.zeros_like", "asarray": "contad.array",
    "ones": "contad.full(shape, 1.0)", "sum": "np.sum", "where": "np.where", "sigmoid": "contad.expit",
    "softplus": "contad.log1p_exp", "abs": "contad.absolute or abs()", "pow": "contad.power or **",
    "max": "contad.maximum", "min": "contad.minimum", "round": "contad.rint", "mod": "contad.remainder",
}  # fmt: skip


def __getattr__(name: str) -> object:
    """What is imported on first use, and where to look for names of other libraries."""
    if name == "testing":
        import contad.testing

        return contad.testing
    if name == "__version__":
        from importlib.metadata import version

        return version("contad")
    hint = f"; use {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
    raise AttributeError(f"module 'contad' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted([*__all__, "testing", "__version__"])
