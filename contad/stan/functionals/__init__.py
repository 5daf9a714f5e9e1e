"""Stan's functions of functions, made of contad's solvers; `contad.stan` has their names."""

import sys

from contad.rules.compilable import name_in_njit
from contad.stan.functionals.algebraic_equations import (
    algebra_solver,
    algebra_solver_newton,
    solve_newton,
    solve_newton_tol,
    solve_powell,
    solve_powell_tol,
)
from contad.stan.functionals.differential_algebraic import dae, dae_tol
from contad.stan.functionals.finite_differences import (
    finite_diff_grad_hessian,
    finite_diff_grad_hessian_auto,
    finite_diff_gradient,
    finite_diff_gradient_auto,
    finite_diff_hessian,
    finite_diff_hessian_auto,
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
from contad.stan.functionals.integrals import (
    hcubature,
    integrate_1d,
    integrate_1d_double_exponential,
    integrate_1d_gauss_kronrod,
)
from contad.stan.functionals.laplace_approximations import (
    laplace_latent_bernoulli_logit_rng,
    laplace_latent_neg_binomial_2_log_rng,
    laplace_latent_poisson_log_rng,
    laplace_latent_rng,
    laplace_latent_tol_bernoulli_logit_rng,
    laplace_latent_tol_neg_binomial_2_log_rng,
    laplace_latent_tol_poisson_log_rng,
    laplace_latent_tol_rng,
    laplace_marginal,
    laplace_marginal_bernoulli_logit_lpmf,
    laplace_marginal_neg_binomial_2_log_lpmf,
    laplace_marginal_poisson_log_lpmf,
    laplace_marginal_tol,
    laplace_marginal_tol_bernoulli_logit_lpmf,
    laplace_marginal_tol_neg_binomial_2_log_lpmf,
    laplace_marginal_tol_poisson_log_lpmf,
)
from contad.stan.functionals.parallel_jobs import map_rect, reduce_sum, reduce_sum_static

__all__ = [
    "algebra_solver",
    "algebra_solver_newton",
    "dae",
    "dae_tol",
    "finite_diff_grad_hessian",
    "finite_diff_grad_hessian_auto",
    "finite_diff_gradient",
    "finite_diff_gradient_auto",
    "finite_diff_hessian",
    "finite_diff_hessian_auto",
    "hcubature",
    "hmm_hidden_state_prob",
    "hmm_latent",
    "hmm_marginal",
    "integrate_1d",
    "integrate_1d_double_exponential",
    "integrate_1d_gauss_kronrod",
    "laplace_latent_bernoulli_logit_rng",
    "laplace_latent_neg_binomial_2_log_rng",
    "laplace_latent_poisson_log_rng",
    "laplace_latent_rng",
    "laplace_latent_tol_bernoulli_logit_rng",
    "laplace_latent_tol_neg_binomial_2_log_rng",
    "laplace_latent_tol_poisson_log_rng",
    "laplace_latent_tol_rng",
    "laplace_marginal",
    "laplace_marginal_bernoulli_logit_lpmf",
    "laplace_marginal_neg_binomial_2_log_lpmf",
    "laplace_marginal_poisson_log_lpmf",
    "laplace_marginal_tol",
    "laplace_marginal_tol_bernoulli_logit_lpmf",
    "laplace_marginal_tol_neg_binomial_2_log_lpmf",
    "laplace_marginal_tol_poisson_log_lpmf",
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

name_in_njit(sys.modules[__name__])
