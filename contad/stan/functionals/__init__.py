"""Stan's functions of functions, made of contad's solvers; `contad.stan` has their names."""

from contad.stan.functionals.algebraic_equations import (
    algebra_solver,
    algebra_solver_newton,
    solve_newton,
    solve_newton_tol,
    solve_powell,
    solve_powell_tol,
)
from contad.stan.functionals.hidden_markov import hmm_hidden_state_prob, hmm_latent, hmm_marginal
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
from contad.stan.functionals.parallel_jobs import map_rect, reduce_sum, reduce_sum_static

__all__ = [
    "algebra_solver",
    "algebra_solver_newton",
    "hmm_hidden_state_prob",
    "hmm_latent",
    "hmm_marginal",
    "integrate_1d",
    "integrate_1d_double_exponential",
    "integrate_1d_gauss_kronrod",
    "map_rect",
    "ode_adams",
    "ode_adams_tol",
    "ode_adjoint_tol_ctl",
    "ode_bdf",
    "ode_bdf_tol",
    "ode_ckrk",
    "ode_ckrk_tol",
    "ode_rk45",
    "ode_rk45_tol",
    "reduce_sum",
    "reduce_sum_static",
    "solve_newton",
    "solve_newton_tol",
    "solve_powell",
    "solve_powell_tol",
]
