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

name_in_njit(sys.modules[__name__])
for _home, _instead in (
    (initial_values, "call contad.scipy.integrate.dopri5, or sdirk4 for stiff equations"),
    (algebraic_equations, "call contad.scipy.optimize.newton_system"),
    (parallel_jobs, "call your function itself, on all data or in a loop"),
):
    for _name in _home.__all__:
        vars(_home)[_name].instead = _instead
