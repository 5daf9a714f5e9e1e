"""Stan's constraining transforms: from unconstrained numbers to parameters and back, with the log-Jacobian.

Each function returns a `Constraint`; `Parameters` holds a tree of them, so a model can be a function of named values:

>>> import numpy as np
>>> parameters = Parameters({"mu": real(), "sigma": lower_bound(0.0), "theta": simplex(3)})
>>> parameters.size
4
>>> values, log_jacobian = parameters.constrain(np.zeros(4))
>>> values["theta"]
array([0.33333333, 0.33333333, 0.33333333])
>>> parameters.unconstrain(values)
array([0., 0., 0., 0.])

Numba functions may call `parameters.constrain(u)` and `parameters.unconstrain(values)`, too; a dict of values is a
named tuple there:

>>> import numba
>>> @numba.njit
... def log_density(u):
...     values, log_jacobian = parameters.constrain(u)
...     return log_jacobian - 0.5 * (values.mu / values.sigma) ** 2 + np.sum(np.log(values.theta))
>>> round(log_density(np.zeros(4)), 6)
-6.042368

`contad.stan.Model` takes such constraints, too. A bound may then be a function of the parameters declared before, as in
`bounded(0.0, lambda p: 1.0 - p.alpha)`.
"""

import sys

from contad.rules.compilable import name_in_njit
from contad.stan.transforms.bounds import bounded, lower_bound, lower_upper_bound, offset_multiplier, real, upper_bound
from contad.stan.transforms.constraints import Constraint, Parameters
from contad.stan.transforms.matrices import (
    cholesky_factor_corr,
    cholesky_factor_cov,
    corr_matrix,
    cov_matrix,
    stochastic_column,
    stochastic_row,
)
from contad.stan.transforms.vectors import ordered, positive_ordered, simplex, sum_to_zero, unit_vector

__all__ = [
    "Constraint", "Parameters", "bounded", "cholesky_factor_corr", "cholesky_factor_cov", "corr_matrix", "cov_matrix",
    "lower_bound", "lower_upper_bound", "offset_multiplier", "ordered", "positive_ordered", "real", "simplex",
    "stochastic_column", "stochastic_row", "sum_to_zero", "unit_vector", "upper_bound",
]  # fmt: skip

name_in_njit(sys.modules[__name__], "make it outside: a Numba function finds it among its globals")
