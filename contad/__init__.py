"""Automatic differentiation of plain Python, NumPy and Numba functions: a stack of continuations over adjoints.

>>> import contad, numpy as np
>>> def f(x, y):
...     return np.exp(-x) * y + x * y
>>> contad.value_and_grad(f, argnums=(0, 1))(0.0, 3.0)
(3.0, (0.0, 1.0))
>>> contad.grad(lambda a: np.sum(np.cumsum(a) ** 2))(np.array([1.0, 2.0]))
array([8., 6.])
"""

import pkgutil
import sys
import warnings
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
    NotHolomorphicError,
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
from contad.front.inside_njit import set_memory_limit, watch_compilations
from contad.functions.reached import settings
from contad.functions.user_call import level_of_user
from contad.ops import erf, expit, gammaln, linear_recurrence, logit, logsumexp, select, softmax, stop_gradient, xlogy
from contad.rules.array_rule import array_rule
from contad.rules.scalar_rule import scalar_rule
from contad.transforms.compiled_code import cfunc, clear_cache, engine_name, explain, primitive, source
from contad.transforms.gradients import derivative, elementwise_grad, grad, jvp, value_and_grad, vjp
from contad.variables.continuations import gradient, make_callback_var, reverse_pass_callback, var
from contad.variables.creation import array, constant, empty, full, to_matvar, to_varmat, zeros
from contad.variables.dual import Dual
from contad.variables.library_refusals import place_of
from contad.variables.number import primal
from contad.variables.stack import nested, recover_memory, set_zero_adjoints, stack
from contad.variables.stack_table import show_stack
from contad.variables.var import Var, value_of, value_of_rec

if TYPE_CHECKING:
    from contad.numba_functions.checkpointed import checkpointed
    from contad.ops import *  # noqa: F403  (old names)
    from contad.profiling.profile import profile
    from contad.programs.program import record
    from contad.transforms.on_demand import *  # noqa: F403
    from contad.warming import warm_up

# what `contad.transforms.on_demand` has
_TRANSFORMS = (
    "IpoptProblem", "bind", "checkpoint", "custom_jvp", "custom_vjp", "debug_nans", "flat", "function_gradients",
    "grad_tr_mat_times_hessian", "gradient_dot_vector", "hessian", "hessian_block_diag", "hvp", "jacfwd", "jacobian",
    "jacrev", "laplacian", "linearize", "make_jvp", "make_vjp", "ravel", "scan", "sparse_hessian", "sparse_jacobian",
    "sparsity",
)  # fmt: skip

__all__ = [  # noqa: PLE0604  (names are added)
    *_TRANSFORMS, "ChangedDataError", "ContadError", "Dual", "ForeignVariableError", "FrozenValueError", "GuardError",
    "LostDerivativeError", "NestingError", "NonFiniteError", "NotHolomorphicError", "OtherThreadError", "OutputError",
    "OverlapError", "RuleError", "SingularPointError", "StaleCacheError", "StaleSourceError", "StaleVariableError",
    "UnsupportedError", "ValueMismatchError", "Var", "VariableError", "array", "array_rule", "cfunc", "checkpointed",
    "clear_cache", "constant", "derivative", "elementwise_grad", "empty", "engine_name", "erf", "expit", "explain",
    "full", "gammaln", "grad", "gradient", "jvp", "linear_recurrence", "logit", "logsumexp", "make_callback_var",
    "nested", "primal", "primitive", "profile", "record", "recover_memory", "reverse_pass_callback", "scalar_rule",
    "select", "set_memory_limit", "set_zero_adjoints", "settings", "show_stack", "softmax", "source", "stack",
    "stop_gradient", "to_matvar", "to_varmat", "value_and_grad", "value_of", "value_of_rec", "var", "vjp", "warm_up",
    "xlogy", "zeros",
]  # fmt: skip

watch_compilations()

# what other libraries call so; names of contad.stan and of NumPy are found there
_ELSEWHERE = {
    **dict.fromkeys(("make_hvp", "hessian_vector_product", "vhp"), "contad.hvp"), "remat": "contad.checkpoint",
    "make_ggnvp": "contad.jvp and contad.vjp", "jacobian_sparse": "contad.sparse_jacobian",
    "vmap": "contad.jvp(..., several=True) for directions, a loop for anything else",
    "jit": "numba.njit on the function that is differentiated, or contad.record(f, example)",
    "njit": "numba.njit; contad.grad of such a function is compiled",
    **dict.fromkeys(("cond", "fori_loop", "while_loop", "lax"), "Python's if and loops, or contad.scan"),
    **dict.fromkeys(("tree", "tree_map", "tree_util"), "lists, tuples and dicts as arguments, or contad.ravel"),
    "ravel_pytree": "contad.ravel", "flatten": "contad.ravel", "custom_gradient": "contad.custom_vjp",
    **dict.fromkeys(("backward", "GradientTape", "requires_grad"), "contad.grad(f)(x), of a function of x"),
    **dict.fromkeys(("tensor", "Tensor", "Variable"), "NumPy's arrays and floats as arguments of a function"),
    **dict.fromkeys(("no_grad", "detach"), "contad.stop_gradient"),
    "numpy": "NumPy itself: its functions differentiate", "asarray": "contad.array", "ones": "contad.full(shape, 1.0)",
    "relu": "np.maximum(x, 0.0)", "sigmoid": "contad.expit", "softplus": "contad.scipy.special.softplus",
}  # fmt: skip


_LATER = {  # what is imported on first use, and where it is
    **{name: f"contad.transforms.on_demand:{name}" for name in _TRANSFORMS},
    "checkpointed": "contad.numba_functions.checkpointed:checkpointed",  # which imports Numba
    "profile": "contad.profiling.profile:profile", "record": "contad.programs.program:record",
    "warm_up": "contad.warming:warm_up",
    **{name: f"contad.{name}:" for name in ("optim", "scipy", "stan", "testing")},  # with the colon, errors show
}  # fmt: skip


def __getattr__(name: str) -> object:
    """What is imported on first use, and where to look for names of other libraries."""
    if name in _OLD:
        return _find_old_name(name)
    if name in _LATER:
        found = globals()[name] = pkgutil.resolve_name(_LATER[name])
        return found
    if name == "__version__":
        from importlib.metadata import version

        return version("contad")
    use = _find_elsewhere(name)
    raise AttributeError(f"module 'contad' has no attribute {name!r}{use and f'; use {use}'}")


_OLD = frozenset(ops.__all__) - {*__all__}
_told: set[tuple[str, str, int]] = set()  # (old name, file, line) of warnings; Numba makes `warnings` forget its own


def _find_old_name(name: str) -> object:
    """A function that `contad` had before 0.2; a warning says where it is now, once for each line that names it."""
    level = level_of_user()
    caller = sys._getframe(level - 1)
    place = name, caller.f_code.co_filename, caller.f_lineno
    if place not in _told:
        import numpy

        use = place_of(name)
        if isinstance(getattr(numpy, name, None), numpy.ufunc):
            use = f"np.{name}, or {use} in the body of a rule"
        message = f"contad.{name} will be removed in contad 0.4: use {use}"
        warnings.warn(message, DeprecationWarning, stacklevel=level)
        _told.add(place)
    return getattr(ops, name)


def _find_elsewhere(name: str) -> str:
    """What to use for a name of another library, or of another module."""
    if name in _ELSEWHERE or name.startswith("_"):
        return _ELSEWHERE.get(name, "")
    import numpy

    if name in dir(numpy):
        return f"np.{name}"
    import contad.stan

    return f"contad.stan.{name}" if name in contad.stan.__all__ else ""


def __dir__() -> list[str]:
    return sorted([*__all__, "ops", "optim", "scipy", "stan", "testing", "__version__"])
