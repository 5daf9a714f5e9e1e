"""`scipy.integrate` with derivatives: integrals, also of samples, and differential equations.

`dopri5` and `sdirk4`, which SciPy does not have, are Numba functions that take Numba functions.
"""

import sys
from typing import Any

from contad.rules.compilable import name_in_njit
from contad.scipy.integrate.adaptive_quadrature import quad, quad_vec
from contad.scipy.integrate.boundary_values import solve_bvp
from contad.scipy.integrate.differential_equations import odeint, solve_ivp
from contad.scipy.integrate.recent_quadrature import cubature, tanhsinh
from contad.scipy.integrate.sampled_functions import cumulative_trapezoid, simpson, trapezoid
from contad.scipy.integrate.trajectories import Adjoint

__all__ = ["Adjoint", "cubature", "cumulative_trapezoid", "dopri5", "odeint", "quad", "quad_vec", "sdirk4", "simpson"]
__all__ += ["solve_bvp", "solve_ivp", "tanhsinh", "trapezoid"]


def __getattr__(name: str) -> Any:
    """Import the compiled solvers, and Numba with them, on first use."""
    if name in ("dopri5", "sdirk4"):
        import contad.scipy.integrate.compiled_solvers as solvers

        found = globals()[name] = getattr(solvers, name)
        return found
    raise AttributeError(f"module 'contad.scipy.integrate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


name_in_njit(sys.modules[__name__])
