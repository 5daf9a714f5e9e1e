"""Nonlinear least squares and fits of curves, with exact Jacobians.

The result of `least_squares` is differentiable in all values that the residuals use.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.optimize

from contad.errors import UnsupportedError
from contad.scipy.optimize.implicit import differentiate_root, require_plain_bounds, take_primals
from contad.transforms.gradients import grad
from contad.transforms.jacobians import jacfwd, jacobian
from contad.variables.array import numbers_in
from contad.variables.creation import array
from contad.variables.open_types import ArrayValue, Function, Nested, Real
from contad.variables.trees import flatten, holds_number


def least_squares(
    fun: Function, x0: ArrayValue, args: Sequence[Nested] = (), *, bounds: Any = (-np.inf, np.inf), method: str = "trf",
    loss: str = "linear", f_scale: float = 1.0, **options: Any,
) -> scipy.optimize.OptimizeResult:  # fmt: skip
    """scipy.optimize.least_squares of residuals fun(x, *args), with `x` differentiable in args and captured values.

        c(x, p) = 1/2 sum C^2 rho(r^2 / C^2),     grad c(z, p) = 0,     z_dot = -H^-1 (grad c)_p p_dot

    SciPy receives the exact Jacobian; options are SciPy's except `jac`. H is the full Hessian of the cost, including
    second derivatives of nonzero residuals. Variables at a bound are held there. With more than 100 unknowns there is
    no Hessian: conjugate gradients solve with its products. `cost` carries its derivative, too; x0 carries none, and
    bounds must not.

    Shapes:  x0 (n,) or a number, fun(x, *args) (m,) -> x (n,).
    Domain:  twice differentiable residuals; a minimum where the Hessian of the cost is nonsingular.
    Raises:  TypeError for `jac`, which contad supplies; SciPy's errors. If a derivative is taken, SingularPointError
             for a singular Hessian, RuntimeError if no minimum was found, and UnsupportedError for a loss that is a
             function.
    Cost:    SciPy's, with a Jacobian for each step; a derivative takes one Hessian of the cost, or a product with it
             for each step of conjugate gradients.
    Ref:     scipy.optimize.least_squares.

    >>> import contad
    >>> t = np.array([0.0, 0.5, 1.0, 1.5])
    >>> def rate(y):
    ...     return least_squares(lambda x: x[0] * np.exp(-x[1] * t) - y, np.array([1.0, 1.0])).x[1]
    >>> y = 2.0 * np.exp(-1.3 * t)
    >>> value, slopes = contad.value_and_grad(rate)(y)
    >>> round(value, 6), slopes.round(3)
    (1.3, array([ 0.606, -0.581, -0.772, -0.647]))
    """
    if "jac" in options:
        raise TypeError("least_squares: contad supplies jac; leave it out")
    args, start = tuple(args), take_primals(array(x0) if isinstance(x0, (list, tuple)) else x0)
    has_variables = holds_number(args)

    def of_vector(x: ArrayValue, *p: Nested) -> ArrayValue:
        value = fun(x, *p)
        return np.atleast_1d(array(value) if isinstance(value, (list, tuple)) else value)

    def of_floats(x: ArrayValue, *p: Nested) -> Any:
        nonlocal has_variables
        value = of_vector(x, *p)
        has_variables = has_variables or bool(numbers_in(flatten(value).leaves))
        return take_primals(value)

    def jac(x: ArrayValue, *p: Nested) -> Any:
        return np.reshape(take_primals(jacobian(of_vector)(x, *p)), (-1, np.size(x)))

    require_plain_bounds("least_squares", bounds)
    result = scipy.optimize.least_squares(
        of_floats, start, jac, take_primals(bounds), method, loss=loss, f_scale=f_scale, args=take_primals(args),
        **options,
    )  # fmt: skip
    if not has_variables:
        return result
    if loss not in _LOSSES:
        raise UnsupportedError(f"least_squares: on variables loss is one of {', '.join(_LOSSES)}, got {loss!r}")

    def cost(x: ArrayValue, *p: Nested) -> Real:
        scaled = of_vector(x, *p) / f_scale
        return 0.5 * f_scale**2 * np.sum(_LOSSES[loss](scaled * scaled))

    z, held = result.x, result.active_mask != 0
    free, back = np.flatnonzero(~held), np.argsort(np.concatenate([np.flatnonzero(~held), np.flatnonzero(held)]))

    def fill(x: ArrayValue) -> ArrayValue:
        return np.concatenate([x, z[held]])[back] if held.any() else x

    def slope(x: ArrayValue, *p: Nested) -> ArrayValue:
        gradient = grad(cost)(fill(x), *p)
        return gradient[free] if held.any() else gradient

    if free.size:
        found = differentiate_root("least_squares", slope, z[free], args, result.success, result.message, True)
        result.x = fill(found)
    result.cost, result.fun = cost(result.x, *args), of_vector(result.x, *args)
    return result


# ---- SciPy's loss functions ------------------------------------------------------------------------------------------
def _huber(z: ArrayValue) -> ArrayValue:
    outside = take_primals(z) > 1.0
    return np.where(outside, 2.0 * np.sqrt(np.where(outside, z, 1.0)) - 1.0, z)


_LOSSES: dict[str, Function] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2.0 * (np.sqrt(1.0 + z) - 1.0),
    "huber": _huber,
    "cauchy": np.log1p,
    "arctan": np.arctan,
}


# ---- parametric curves -----------------------------------------------------------------------------------------------
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


def leastsq(func: Function, x0: ArrayValue, args: Any = (), **options: Any) -> tuple[ArrayValue, int]:
    """scipy.optimize.leastsq of residuals func(x, *args): (x, 1), by `least_squares` with the method "lm".

        grad c(z, p) = 0,     c = sum r^2 / 2

    Shapes:  x0 (n,), func(x, *args) (m,), m >= n -> (n,), a number.
    Domain:  that of `least_squares`.
    Raises:  like `least_squares`; TypeError for `Dfun` and `full_output`; RuntimeError if SciPy does not converge.
    Cost:    that of `least_squares`.
    Ref:     scipy.optimize.leastsq.

    >>> leastsq(lambda x, y: x[0] - y, np.array([0.0]), (np.array([1.0, 2.0, 6.0]),))[0].round(6)
    array([3.])
    """
    for name in ("Dfun", "full_output", "col_deriv"):
        if options.pop(name, None):
            raise TypeError(
                f"leastsq: leave out {name}; contad supplies derivatives, and least_squares returns all of SciPy's"
            )
    names = {"ftol", "xtol", "gtol"}
    more = {name: options.pop(name) for name in names & {*options}}
    if options.get("maxfev"):
        more["max_nfev"] = options.pop("maxfev")
    result = least_squares(func, x0, args if isinstance(args, tuple) else (args,), method="lm", **more, **options)
    if not result.success:
        raise RuntimeError(f"leastsq: {result.message}")
    return result.x, 1
