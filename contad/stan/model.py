"""Bayesian models: Stan's parameters and a log density of named values, as functions of unconstrained numbers."""

import inspect
import math
import re
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from contad.distributions.faces import function_of_text
from contad.front.user_function import UserFunction
from contad.functions.pickling import reference, remade
from contad.stan.compiled_constraints import IN_PYTHON, KNOWN, write_free, write_value
from contad.stan.parameters_block import Expression, python_name, read_parameters
from contad.stan.transforms import Constraint
from contad.transforms.compiled_code import cfunc
from contad.transforms.gradients import value_and_grad
from contad.transforms.hessians import hessian, hvp
from contad.variables.arguments import fail
from contad.variables.open_types import ArrayValue, Function, Nested, Options, Value

FLOAT = np.dtype(np.float64)


class Model:
    """A Bayesian model: parameters as Stan declares them, and the log density of their values and of data.

    parameters             Stan's `parameters` block as text, or a dict of constraints, in the order of declaration
    log_density            a plain or Numba function; its arguments are names of parameters and of data, in any order
    generated_quantities   a function of such names that returns a dict; an argument `rng` is a random generator
    stan_version           before "2.37" simplices break sticks; since then they are isometric log-ratios
    data                   numbers, arrays and nested lists, as in Stan's `data` block

    Sizes and bounds in the text are expressions of data and of parameters declared before. The constraints of a dict
    are those of `contad.stan.transforms`: `real()`, `lower_bound(0.0, 8)`, `simplex(3).array(5)`. A bound may be a
    function of a namespace p of data and earlier parameters: `lower_upper_bound(0.0, lambda p: 1.0 - p.alpha1)`.
    Unconstrained numbers are in Stan's order, in which columns fill matrices. A name that Python reserves, such as
    `lambda`, is the argument `lambda_`.

    If log_density is a Numba function, it is compiled with all constraints and Jacobians as one function, and so is its
    gradient. A plain function runs as it is. `function` is that function of (u, jacobian, *given), where `given` are
    the data; `contad.grad` and the other transforms take it.

    Methods take the unconstrained numbers u as a vector. BridgeStan's methods have its names and arguments.

    >>> import numba
    >>> from contad import stan
    >>> @numba.njit
    ... def log_density(y, sigma, mu, tau, theta):
    ...     prior = stan.normal_lpdf(mu, 0.0, 5.0) + stan.cauchy_lpdf(tau, 0.0, 5.0)
    ...     return prior + stan.normal_lpdf(theta, mu, tau) + stan.normal_lpdf(y, theta, sigma)
    >>> schools = Model(
    ...     "real mu; real<lower=0> tau; vector[J] theta;", log_density, J=3, y=[28, 8, -3], sigma=[15, 10, 16])
    >>> schools
    <contad.stan.Model of log_density: 5 numbers (mu, tau, theta[3])>
    >>> value, gradient = schools.log_density_gradient(np.zeros(5))
    >>> round(value, 6), gradient.round(3)
    (-22.081055, array([0.   , 0.923, 0.124, 0.08 , -0.012]))
    >>> schools.constrain(np.zeros(5))
    {'mu': 0.0, 'tau': 1.0, 'theta': array([0., 0., 0.])}
    """

    def __init__(
        self, parameters: str | Mapping[str, Constraint], log_density: Function, /, *,
        generated_quantities: Function | None = None, stan_version: str = "2.37", **data: Nested,
    ) -> None:  # fmt: skip
        self._made_of = parameters, log_density, generated_quantities, stan_version, data
        self.data = {name: _as_data(x) for name, x in data.items()}
        if isinstance(parameters, str):
            parameters = read_parameters(parameters, self.data)
        self.parameters = {
            name: _require_constraint(name, x).ordered_by("F").for_version(stan_version)
            for name, x in parameters.items()
        }
        self.dimension = sum(c.size for c in self.parameters.values())
        self.names = list(self.parameters)
        self.shapes = {name: c.shape for name, c in self.parameters.items()}
        found = UserFunction("Model", log_density)
        self.is_compiled = found.dispatcher is not None
        self._density = found.f
        ...
