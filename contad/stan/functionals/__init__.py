"""Stan's functions of functions, made of contad's solvers; `contad.stan` has their names."""

from contad.stan.functionals.initial_values import (
    ode_adams,
    ode_adams_tol,
    ode_adjoint_tol_ctl,
    ode_bdf,
    ode_bdf_tol,
    ode_ckrk,
    ode_ckrk_tol,
    ode_rk45,
    ode_rk45_tol,
)
from contad.stan.functionals.integrals import integrate_1d, integrate_1d_double_exponential, integrate_1d_gauss_kronrod

__all__ = [
    "integrate_1d",
    "integrate_1d_double_exponential",
    "integrate_1d_gauss_kronrod",
    "ode_adams",
    "ode_adams_tol",
    "ode_adjoint_tol_ctl",
    "ode_bdf",
    "ode_bdf_tol",
    "ode_ckrk",
    "ode_ckrk_tol",
    "ode_rk45",
    "ode_rk45_tol",
]
