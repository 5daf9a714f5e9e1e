"""`scipy.optimize` for functions that contad differentiates: parameters are trees, derivatives are supplied.

`brentq`, `newton` and `newton_system` are Numba functions that take Numba functions.
"""

from typing import Any

from contad.scipy.optimize.least_squares_fits import curve_fit, least_squares, parameter_jacobian
from contad.scipy.optimize.minimization import minimize
from contad.scipy.optimize.roots import fixed_point, root, root_scalar

__all__ = ["brentq", "curve_fit", "fixed_point", "least_squares", "minimize", "newton", "newton_system"]
__all__ += ["parameter_jacobian", "root", "root_scalar"]


def __getattr__(name: str) -> Any:
    """Import the compiled solvers, and Numba with them, on first use."""
    if name in ("brentq", "newton", "newton_system"):
        import contad.scipy.optimize.compiled_roots as roots

        found = globals()[name] = getattr(roots, name)
        return found
    raise AttributeError(f"module 'contad.scipy.optimize' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
