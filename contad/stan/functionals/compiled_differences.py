"""Stan's derivatives by central differences in compiled code: the same formulas, for Numba functions."""

import numpy as np

from contad.compile.machine_code import njit
from contad.stan.functionals.compiled_functionals import OPTIONS
from contad.stan.functionals.finite_differences import WEIGHTS
from contad.transforms.gradients import grad
from contad.transforms.hessians import hessian
from contad.variables.open_types import NumbaFunction


@njit(**OPTIONS)
def _choose_steps(x):  # type: ignore[no-untyped-def]
    return np.cbrt(2.0**-52) * np.maximum(1.0, np.abs(x))


@njit(**OPTIONS)
def _value(f, x, steps):  # type: ignore[no-untyped-def]
    return f(x)


@njit(**OPTIONS)
def _slope(f, x, steps):  # type: ignore[no-untyped-def]
    return grad(f)(x)


@njit(**OPTIONS)
def _curvature(f, x, steps):  # type: ignore[no-untyped-def]
    return hessian(f)(x)


_numbers, _vectors = njit(**OPTIONS)(lambda n: np.zeros((n,))), njit(**OPTIONS)(lambda n: np.zeros((n, n)))
_matrices = njit(**OPTIONS)(lambda n: np.zeros((n, n, n)))


def _make_differences(function: NumbaFunction, zeros: NumbaFunction) -> NumbaFunction:
    """The differences of `function(f, x, steps)` along each axis of x, at [i]; `zeros` makes room for them."""

    @njit(**OPTIONS)
    def differentiate(f, x, steps):  # type: ignore[no-untyped-def]
        found = zeros(len(x))
        for k in range(len(x)):
            for j, weight in WEIGHTS:
                high, low = 1.0 * x, 1.0 * x
                high[k] += j * steps[k]
                low[k] -= j * steps[k]
                found[k] += weight / steps[k] * (function(f, high, steps) - function(f, low, steps))
        return found

    return differentiate


_slope_by_values = _make_differences(_value, _numbers)
_curvature_by_values = _make_differences(_slope_by_values, _vectors)
_curvature_by_slopes = _make_differences(_slope, _vectors)
_third_by_curvatures = _make_differences(_curvature, _matrices)


@njit(**OPTIONS)
def finite_diff_gradient(f, x, epsilon=1e-3):  # type: ignore[no-untyped-def]
    """By values, with one step."""
    return f(x), _slope_by_values(f, x, np.full(len(x), epsilon))


@njit(**OPTIONS)
def finite_diff_gradient_auto(f, x):  # type: ignore[no-untyped-def]
    """By values."""
    return f(x), _slope_by_values(f, x, _choose_steps(x))


@njit(**OPTIONS)
def finite_diff_hessian(f, x, epsilon=1e-3):  # type: ignore[no-untyped-def]
    """By values, with one step."""
    steps = np.full(len(x), epsilon)
    second = _curvature_by_values(f, x, steps)
    return f(x), _slope_by_values(f, x, steps), 0.5 * (second + second.T)


@njit(**OPTIONS)
def finite_diff_hessian_auto(f, x):  # type: ignore[no-untyped-def]
    """By gradients."""
    second = _curvature_by_slopes(f, x, _choose_steps(x))
    return f(x), grad(f)(x), 0.5 * (second + second.T)


@njit(**OPTIONS)
def finite_diff_grad_hessian(f, x, epsilon=1e-3):  # type: ignore[no-untyped-def]
    """By Hessians, with one step."""
    return f(x), hessian(f)(x), _third_by_curvatures(f, x, np.full(len(x), epsilon))


@njit(**OPTIONS)
def finite_diff_grad_hessian_auto(f, x):  # type: ignore[no-untyped-def]
    """By Hessians."""
    return f(x), hessian(f)(x), _third_by_curvatures(f, x, _choose_steps(x))
