"""`scipy.integrate` with derivatives: integrals, also of samples, and differential equations.

`dopri5` and `sdirk4`, which SciPy does not have, are Numba functions that take Numba functions.
"""

import sys
from typing import Any

from contad.rules.compilable import name_in_njit
from contad.scipy.integrate.adaptive_quadrature import quad, quad_vec
from contad.scipy.integrate.boundary_values import solve_bvp
from contad.scipy.integrate.differential_equations import odeint, solve_ivp
from contad.scipy.integrate.nested_quadrature import dblquad, fixed_quad, nquad, tplquad
from contad.scipy.integrate.recent_quadrature import cubature, tanhsinh
from contad.scipy.integrate.sampled_functions import (
    cumulative_simpson,
    cumulative_trapezoid,
    romb,
    simpson,
    trapezoid,
)
from contad.scipy.integrate.trajectories import Adjoint

__all__ = ["Adjoint", "cubature", "cumulative_simpson", "cumulative_trapezoid", "dblquad", "dopri5", "fixed_quad"]
__all__ += ["nquad", "odeint", "quad", "quad_vec", "romb", "sdirk4", "simpson", "solve_bvp", "solve_ivp", "tanhsinh"]
__all__ += ["tplquad", "trapezoid"]


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
