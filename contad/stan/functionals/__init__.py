"""Stan's functions of functions, built on contad's solvers; `contad.stan` exports them."""

import sys
from types import ModuleType

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


def _compiled_functionals() -> ModuleType:
    from contad.stan.functionals import compiled_functionals

    return compiled_functionals


def _compiled_cubature() -> ModuleType:
    from contad.stan.functionals import compiled_cubature

    return compiled_cubature


def _compiled_differences() -> ModuleType:
    from contad.stan.functionals import compiled_differences

    return compiled_differences


def _compiled_integrals() -> ModuleType:
    from contad.stan.functionals import compiled_integrals

    return compiled_integrals


def _compiled_mode_search() -> ModuleType:
    from contad.stan.functionals import compiled_mode_search

    return compiled_mode_search


# the names that modules have for Numba functions
_FORMS = {
    _compiled_functionals: """solve_newton solve_newton_tol solve_powell solve_powell_tol algebra_solver
        algebra_solver_newton ode_rk45 ode_rk45_tol ode_ckrk ode_ckrk_tol ode_adams ode_adams_tol ode_bdf ode_bdf_tol
        reduce_sum reduce_sum_static map_rect hmm_latent""",
    _compiled_integrals: "integrate_1d integrate_1d_double_exponential integrate_1d_gauss_kronrod",
    _compiled_cubature: "hcubature",
    _compiled_differences: " ".join(finite_differences.__all__),
    _compiled_mode_search: " ".join(laplace_approximations.__all__),
}
name_in_njit(
    sys.modules[__name__], forms={name: load for load, names in _FORMS.items() for name in names.split()}
)
for _home, _names, _instead in (
    (initial_values, ["ode_adjoint_tol_ctl"], "call ode_adams, or ode_bdf for stiff equations"),
    (differential_algebraic, differential_algebraic.__all__, "solve for the algebraic variables, and call ode_bdf"),
):
    for _name in _names:
        vars(_home)[_name].instead = _instead
