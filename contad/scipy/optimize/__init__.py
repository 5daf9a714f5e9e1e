"""`scipy.optimize` for functions that contad differentiates: parameters are trees, derivatives are supplied.

`brentq`, `newton` and `newton_system` are Numba functions that take Numba functions.
"""

from typing import Any

from contad.scipy.optimize.convex_problems import linprog, lsq_linear, nnls, solve_qp
from contad.scipy.optimize.least_squares_fits import curve_fit, least_squares, leastsq, parameter_jacobian
from contad.scipy.optimize.minimization import minimize, minimize_scalar
from contad.scipy.optimize.roots import bisect, brenth, fixed_point, fsolve, ridder, root, root_scalar, toms748

__all__ = ["bisect", "brenth", "brentq", "curve_fit", "fixed_point", "fsolve", "least_squares", "leastsq", "linprog"]
__all__ += ["lsq_linear", "minimize", "minimize_scalar", "newton", "newton_system", "nnls", "parameter_jacobian"]
__all__ += ["ridder", "root", "root_scalar", "solve_qp", "toms748"]


def __getattr__(name: str) -> Any:
    """Import the compiled solvers, and Numba with them, on first use."""
    if name in ("brentq", "newton", "newton_system"):
        import contad.scipy.optimize.compiled_roots as roots

        found = globals()[name] = getattr(roots, name)
        return found
    raise AttributeError(f"module 'contad.scipy.optimize' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
