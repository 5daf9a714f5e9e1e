"""Stan's functions of functions, built on contad's solvers; `contad.stan` exports them."""

import sys

from contad.rules.compilable import name_in_njit

from contad.stan.functionals import (  # isort: skip
    algebraic_equations, differential_algebraic, finite_differences, hidden_markov, initial_values, integrals,
    laplace_approximations, parallel_jobs,
)  # fmt: skip
from contad.stan.functionals.algebraic_equations import *  # noqa: F403
from contad.stan.functionals.differential_algebraic import *  # noqa: F403
from contad.stan.functionals.finite_differences import *  # noqa: F403
from contad.stan.functionals.hidden_markov import *  # noqa: F403
from contad.stan.functionals.initial_values import *  # noqa: F403
from contad.stan.functionals.integrals import *  # noqa: F403
from contad.stan.functionals.laplace_approximations import *  # noqa: F403
from contad.stan.functionals.parallel_jobs import *  # noqa: F403

__all__ = [  # noqa: PLE0604  (names are added)
    *algebraic_equations.__all__, *differential_algebraic.__all__, *finite_differences.__all__, *hidden_markov.__all__,
    *initial_values.__all__, *integrals.__all__, *laplace_approximations.__all__, *parallel_jobs.__all__,
]  # fmt: skip

# by module, the names that it has for Numba functions
_FORMS = {
    "compiled_functionals": """solve_newton solve_newton_tol solve_powell solve_powell_tol algebra_solver
        algebra_solver_newton ode_rk45 ode_rk45_tol ode_ckrk ode_ckrk_tol ode_adams ode_adams_tol ode_bdf ode_bdf_tol
        ode_adjoint_tol_ctl reduce_sum reduce_sum_static map_rect hmm_latent""",
    "compiled_integrals": "integrate_1d integrate_1d_double_exponential integrate_1d_gauss_kronrod",
    "compiled_mode_search": " ".join(laplace_approximations.__all__),
}
name_in_njit(
    sys.modules[__name__],
    forms={name: f"{__name__}.{module}" for module, names in _FORMS.items() for name in names.split()},
)
for _home, _instead in (
    (differential_algebraic, "solve for the algebraic variables, and call ode_bdf"),
    (finite_differences, "call contad.grad(f)(x), or contad.hessian(f)(x)"),
    (integrals, "nest integrate_1d"),
):
    for _name in _home.__all__:
        vars(_home)[_name].instead = _instead
