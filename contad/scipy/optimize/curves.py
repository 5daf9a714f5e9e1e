"""Parametric curves, fitted by SciPy with exact derivatives."""

from typing import Any

import numpy as np
import scipy.optimize

from contad.transforms.jacobians import jacfwd
from contad.variables.open_types import ArrayValue, Function


def parameter_jacobian(model: Function) -> Function:
    """The derivatives of model(xdata, *parameters) in its parameters, in the form of `curve_fit(jac=)`.

        J_ij = d model(xdata, p)_i / d p_j

    parameter_jacobian(model)(xdata, *parameters) has a row for each number of the result, a column for each parameter.

    Shapes:  xdata in the model's form, a model with m numbers, n parameters -> (m, n).
    Domain:  a model differentiable in its parameters.
    Cost:    one evaluation of the model on duals, for up to 32 parameters.
    Ref:     scipy.optimize.curve_fit, its argument `jac`.

    >>> jac = parameter_jacobian(lambda t, a, b: a * np.exp(b * t))
    >>> jac(np.array([0.5, 1.0]), 2.0, 0.3).round(6)
    array([[1.161834, 1.161834],
           [1.349859, 2.699718]])
    """

    def jac(xdata: ArrayValue, *parameters: float) -> Any:
        columns = jacfwd(model, tuple(range(1, len(parameters) + 1)))(xdata, *map(float, parameters))
        return np.stack([np.ravel(column) for column in columns], axis=1)

    return jac


def curve_fit(f: Function, xdata: Any, ydata: Any, p0: Any = None, **options: Any) -> Any:
    """scipy.optimize.curve_fit with the derivatives of f, f(xdata, *parameters), in its parameters.

        p minimises sum_i ((f(x_i, p) - y_i) / sigma_i)^2,     the covariance from (J^T J)^-1, J of `parameter_jacobian`

    Arguments and results are SciPy's: the parameters, and their covariance.

    Shapes:  xdata in f's form, ydata (m,), n parameters -> (n,), (n, n).
    Domain:  an f differentiable in its parameters.
    Raises:  TypeError for `jac`, which contad supplies.
    Cost:    SciPy's, with a Jacobian for each step.
    Ref:     scipy.optimize.curve_fit.

    >>> t = np.linspace(0.0, 1.0, 20)
    >>> found, _ = curve_fit(lambda t, a, b: a * np.exp(b * t), t, 2.0 * np.exp(-1.5 * t), (1.0, 0.0))
    >>> found.round(6)
    array([ 2. , -1.5])
    """
    if "jac" in options:
        raise TypeError("curve_fit: contad supplies jac; leave it out")
    return scipy.optimize.curve_fit(f, xdata, ydata, p0, jac=parameter_jacobian(f), **options)
