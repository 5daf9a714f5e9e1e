"""Automatic differentiation of plain Python, NumPy and Numba functions: a stack of continuations over adjoints.

>>> import contad, numpy as np
>>> def f(x, y):
...     return np.exp(-x) * y + x * y
>>> contad.value_and_grad(f, argnums=(0, 1))(0.0, 3.0)
(3.0, (0.0, 1.0))
>>> contad.grad(lambda a: np.sum(np.cumsum(a) ** 2))(np.array([1.0, 2.0]))
array([8., 6.])
"""

from typing import TYPE_CHECKING

from contad import ops
from contad.errors import (
    ChangedDataError,
    ContadError,
    ForeignVariableError,
    FrozenValueError,
    GuardError,
    LostDerivativeError,
    NestingError,
    NonFiniteError,
    OtherThreadError,
    OutputError,
    OverlapError,
    RuleError,
    SingularPointError,
    StaleCacheError,
    StaleSourceError,
    StaleVariableError,
    UnsupportedError,
    ValueMismatchError,
    VariableError,
)
from contad.front.inside_njit import set_memory_limit
from contad.functions.settings import settings
from contad.native.watch import watch_compilations
from contad.ops import *  # noqa: F403  (every rule is public)
from contad.rules.array_rule import array_rule
from contad.rules.scalar_rule import scalar_rule
from contad.transforms.compiled_code import cfunc, clear_cache, engine_name, explain, primitive, source
from contad.transforms.gradients import derivative, elementwise_grad, grad, jvp, value_and_grad, vjp
from contad.variables.continuations import gradient, make_callback_var, reverse_pass_callback, var
from contad.variables.creation import array, constant, empty, full, to_matvar, to_varmat, zeros
from contad.variables.dual import Dual
from contad.variables.number import primal
from contad.variables.stack import nested, recover_memory, set_zero_adjoints, stack
from contad.variables.stack_table import show_stack
from contad.variables.var import Var, value_of, value_of_rec

if TYPE_CHECKING:
    from contad.native.checkpointed import checkpointed
    from contad.transforms.on_demand import *  # noqa: F403

# what `contad.transforms.on_demand` has, imported on first use
_TRANSFORMS = (
    "IpoptProblem", "bind", "checkpoint", "custom_jvp", "custom_vjp", "debug_nans", "flat", "function_gradients",
    "grad_tr_mat_times_hessian", "gradient_dot_vector", "hessian", "hessian_block_diag", "hvp", "jacfwd", "jacobian",
    "jacrev", "laplacian", "linearize", "make_jvp", "make_vjp", "ravel", "scan", "sparse_hessian", "sparse_jacobian",
    "sparsity",
)  # fmt: skip

__all__ = [  # noqa: PLE0604  (names are added)
    *ops.__all__,
    *_TRANSFORMS,
    "ChangedDataError",
    "ContadError",
    "Dual",
    "ForeignVariableError",
    "FrozenValueError",
    "GuardError",
    "LostDerivativeError",
    "NestingError",
    "NonFiniteError",
    "OtherThreadError",
    "OutputError",
    "OverlapError",
    "RuleError",
    "SingularPointError",
    "StaleCacheError",
    "StaleSourceError",
    "StaleVariableError",
    "UnsupportedError",
    "ValueMismatchError",
    "Var",
    "VariableError",
    "array",
    "array_rule",
    "cfunc",
    "checkpointed",
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
    "settings",
    "show_stack",
    "source",
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

watch_compilations()

_ELSEWHERE = {
    "remat": "contad.checkpoint", "hessian_vector_product": "contad.hvp", "make_hvp": "contad.hvp", "vhp": "contad.hvp",
    "make_ggnvp": "contad.jvp and contad.vjp", "jacobian_sparse": "contad.sparse_jacobian",
    "vmap": "contad.jvp(..., several=True) for directions, a loop for anything else",
    "numpy": "NumPy itself: its functions differentiate", "zeros_like": "np.zeros_like", "asarray": "contad.array",
    "ones": "contad.full(shape, 1.0)", "sum": "np.sum", "where": "np.where", "sigmoid": "contad.expit",
    "softplus": "contad.log1p_exp", "abs": "contad.absolute or abs()", "pow": "contad.power or **",
    "max": "contad.maximum", "min": "contad.minimum", "round": "contad.rint", "mod": "contad.remainder",
}  # fmt: skip


def __getattr__(name: str) -> object:
    """What is imported on first use, and where to look for names of other libraries."""
    if name in _TRANSFORMS:
        import contad.transforms.on_demand

        found = globals()[name] = getattr(contad.transforms.on_demand, name)
        return found
    if name == "checkpointed":  # which imports Numba
        import contad.native.checkpointed

        found = globals()[name] = contad.native.checkpointed.checkpointed
        return found
    if name == "testing":
        import contad.testing

        return contad.testing
    if name == "scipy":
        import contad.scipy

        return contad.scipy
    if name == "stan":
        import contad.stan

        return contad.stan
    if name == "record":
        from contad.programs.program import record

        return record
    if name == "profile":
        from contad.profiling.profile import profile

        return profile
    if name == "warm_up":
        from contad.warming import warm_up

        return warm_up
    if name == "__version__":
        from importlib.metadata import version

        return version("contad")
    hint = f"; use {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
    raise AttributeError(f"module 'contad' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted([*__all__, "profile", "record", "scipy", "stan", "testing", "warm_up", "__version__"])
