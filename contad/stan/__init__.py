"""Stan's names: functions of vectors and matrices with Stan's names and arguments.

A function is here if NumPy has no equivalent, or if Stan's name says more than a longer expression. The rules are in
`contad.ops`. `python -m contad.table --stan` lists functions that NumPy or SciPy already provide, and functions that
are missing.

The functions take arrays, nested lists and variables, in Python code on every eager engine, at every order. They never
broadcast lengths that differ. The domains of arguments are those of Stan Math, function by function. A matrix that is
supposed to be symmetric must be so up to 1e-8, and its lower triangle is read. Its cotangent has the sum of both
triangles there, and zeros above, so it is the derivative with respect to the elements that were read.

>>> import contad, numpy as np
>>> def log_density(y, x, sigma, length_scale):
...     k = add_diag(gp_exp_quad_cov(x, sigma, length_scale), 0.1)
...     return -0.5 * (y @ mdivide_left_spd(k, y) + log_determinant_spd(k))
>>> y, x = np.array([0.3, -0.2, 0.7]), np.array([0.0, 1.0, 2.5])
>>> contad.grad(log_density, argnums=3)(y, x, 1.0, 0.8)
0.10758201

`Model` makes a log density of unconstrained numbers from Stan's block of parameters and a function of named values.
"""

import sys
from types import ModuleType
from typing import Any

from contad.rules.compilable import name_in_njit

from contad.stan import (  # isort: skip
    checks, complex_values, decompositions, densities, distribution_functions, first_passage_times, gaussian_processes,
    glms, hypergeometric_series, linear_filters, matrix_algebra, multivariate, ordered_outcomes, scalar_functions,
    solves, sparse, spelled_functions, transform_functions,
)  # fmt: skip
from contad.stan.checks import *  # noqa: F403
from contad.stan.complex_values import *  # noqa: F403
from contad.stan.decompositions import *  # noqa: F403
from contad.stan.densities import *  # noqa: F403
from contad.stan.distribution_functions import *  # noqa: F403
from contad.stan.first_passage_times import *  # noqa: F403
from contad.stan.gaussian_processes import *  # noqa: F403
from contad.stan.glms import *  # noqa: F403
from contad.stan.hypergeometric_series import *  # noqa: F403
from contad.stan.linear_filters import *  # noqa: F403
from contad.stan.matrix_algebra import *  # noqa: F403
from contad.stan.multivariate import *  # noqa: F403
from contad.stan.ordered_outcomes import *  # noqa: F403
from contad.stan.scalar_functions import *  # noqa: F403
from contad.stan.solves import *  # noqa: F403
from contad.stan.sparse import *  # noqa: F403
from contad.stan.spelled_functions import *  # noqa: F403
from contad.stan.transform_functions import *  # noqa: F403

from contad.stan.transforms import (  # isort: skip
    cholesky_factor_corr, cholesky_factor_cov, corr_matrix, cov_matrix, lower_bound, lower_upper_bound,
    offset_multiplier, ordered, positive_ordered, simplex, stochastic_column, stochastic_row, sum_to_zero, unit_vector,
    upper_bound,
)  # fmt: skip

_MODELS = ("Model",)  # imported on first use, because models need transforms of functions

# functions of functions, which need the transforms, and are imported on first use
_FUNCTIONALS = (
    "algebra_solver", "algebra_solver_newton", "dae", "dae_tol", "finite_diff_grad_hessian",
    "finite_diff_grad_hessian_auto", "finite_diff_gradient", "finite_diff_gradient_auto", "finite_diff_hessian",
    "finite_diff_hessian_auto", "hcubature", "hmm_hidden_state_prob", "hmm_latent", "hmm_marginal", "integrate_1d",
    "integrate_1d_double_exponential", "integrate_1d_gauss_kronrod", "laplace_latent_bernoulli_logit_rng",
    "laplace_latent_neg_binomial_2_log_rng", "laplace_latent_poisson_log_rng", "laplace_latent_rng",
    "laplace_latent_tol_bernoulli_logit_rng", "laplace_latent_tol_neg_binomial_2_log_rng",
    "laplace_latent_tol_poisson_log_rng", "laplace_latent_tol_rng", "laplace_marginal",
    "laplace_marginal_bernoulli_logit_lpmf", "laplace_marginal_neg_binomial_2_log_lpmf",
    "laplace_marginal_poisson_log_lpmf", "laplace_marginal_tol", "laplace_marginal_tol_bernoulli_logit_lpmf",
    "laplace_marginal_tol_neg_binomial_2_log_lpmf", "laplace_marginal_tol_poisson_log_lpmf", "map_rect", "ode_adams",
    "ode_adams_tol", "ode_adjoint_tol_ctl", "ode_bdf", "ode_bdf_tol", "ode_ckrk", "ode_ckrk_tol", "ode_rk45",
    "ode_rk45_tol", "reduce_sum", "reduce_sum_static", "solve_newton", "solve_newton_tol", "solve_powell",
    "solve_powell_tol",
)  # fmt: skip

__all__ = [  # noqa: PLE0604  (names are added)
    *checks.__all__, *complex_values.__all__, *decompositions.__all__, *densities.__all__,
    *distribution_functions.__all__, *first_passage_times.__all__, *gaussian_processes.__all__, *glms.__all__,
    *hypergeometric_series.__all__, *linear_filters.__all__, *matrix_algebra.__all__, *multivariate.__all__,
    *ordered_outcomes.__all__,
    *scalar_functions.__all__, *solves.__all__, *sparse.__all__, *spelled_functions.__all__,
    *transform_functions.__all__, *_FUNCTIONALS, *_MODELS,
    "cholesky_factor_corr", "cholesky_factor_cov", "corr_matrix", "cov_matrix", "lower_bound", "lower_upper_bound",
    "offset_multiplier", "ordered", "positive_ordered", "simplex", "stochastic_column", "stochastic_row", "sum_to_zero",
    "unit_vector", "upper_bound",
]  # fmt: skip


def _functionals() -> ModuleType:
    import contad.stan.functionals

    return contad.stan.functionals


def __getattr__(name: str) -> Any:
    if name in _MODELS:
        from contad.stan.model import Model

        return Model
    if name in __all__:
        return getattr(_functionals(), name)
    raise AttributeError(f"module 'contad.stan' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__



def _compiled_complex() -> ModuleType:
    from contad.stan import compiled_complex

    return compiled_complex


def _compiled_series() -> ModuleType:
    from contad.stan import compiled_series

    return compiled_series


_COMPLEX = [*complex_values.__all__, *(name for name in decompositions.__all__ if name.startswith("complex_schur"))]
_SERIES = "hypergeometric_3F2", "hypergeometric_pFq"
name_in_njit(
    sys.modules[__name__],
    forms={**dict.fromkeys(_COMPLEX, _compiled_complex), **dict.fromkeys(_SERIES, _compiled_series)},
)
