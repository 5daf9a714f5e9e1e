"""Stan's derivatives by central differences of sixth order, for comparison with exact derivatives.

    df/dx_i = (45 (f_1 - f_-1) - 9 (f_2 - f_-2) + (f_3 - f_-3)) / (60 h) + O(h^6),     f_k = f(x + k h e_i)

`epsilon` is the step h; functions named `_auto` use h = 2^(-52 / 3) max(1, |x_i|).
`contad.testing.gradient_by_differences` chooses its steps by an estimate of the error, and returns the estimate as
well.
"""

from collections.abc import Callable

import numpy as np

from contad.distributions.docstrings import with_rest_of
from contad.transforms.gradients import grad
from contad.transforms.hessians import hessian
from contad.variables.open_types import ArrayValue, Function, Nested, Real

__all__ = [
    "finite_diff_grad_hessian", "finite_diff_grad_hessian_auto", "finite_diff_gradient", "finite_diff_gradient_auto",
    "finite_diff_hessian", "finite_diff_hessian_auto",
]  # fmt: skip

WEIGHTS = ((1.0, 0.75), (2.0, -0.15), (3.0, 1.0 / 60.0))


def finite_diff_gradient(f: Function, x: Nested, epsilon: float = 1e-3) -> tuple[float, np.ndarray]:
    """(f(x), its gradient) by differences of f.

        df/dx_i = (45 (f_1 - f_-1) - 9 (f_2 - f_-2) + (f_3 - f_-3)) / (60 h) + O(h^6),     f_k = f(x + k h e_i)

    Shapes:  x (n,); f takes such a vector and returns a number.
    Domain:  f smooth within 3 h of x.
    Raises:  ValueError if x is not a vector.
    Cost:    6 n + 1 evaluations of f.
    Ref:     Stan Math's finite_diff_gradient.

    >>> value, gradient = finite_diff_gradient(lambda x: x[0] * np.exp(-x[1]), [2.0, 0.5])
    >>> round(value, 9), gradient.round(9)
    (1.213061319, array([ 0.60653066, -1.21306132]))
    """
    at = _as_point("finite_diff_gradient", x)
    return float(f(at)), _differentiate(f, at, np.full(len(at), epsilon))


@with_rest_of(finite_diff_gradient)
def finite_diff_gradient_auto(f: Function, x: Nested) -> tuple[float, np.ndarray]:
    """Like finite_diff_gradient, with steps chosen by the size of x.

        df/dx_i = (45 (f_1 - f_-1) - 9 (f_2 - f_-2) + (f_3 - f_-3)) / (60 h) + O(h^6),     f_k = f(x + k h e_i)
        with h = 2^(-52 / 3) max(1, |x_i|)

    Ref:     Stan Math's finite_diff_gradient_auto.

    >>> _, gradient = finite_diff_gradient_auto(lambda x: x[0] * np.exp(-x[1]), [2.0, 0.5])
    >>> gradient.round(9)
    array([ 0.60653066, -1.21306132])
    """
    at = _as_point("finite_diff_gradient_auto", x)
    return float(f(at)), _differentiate(f, at, _choose_steps(at))


@with_rest_of(finite_diff_gradient)
def finite_diff_hessian(f: Function, x: Nested, epsilon: float = 1e-3) -> tuple[float, np.ndarray, np.ndarray]:
    """(f(x), its gradient, its Hessian) by differences of f, and by differences of these.

        H_ij = (45 (g_1 - g_-1) - 9 (g_2 - g_-2) + (g_3 - g_-3)) / (60 h),     g_k = g_j(x + k h e_i), made symmetric,
        g by the same differences of f

    Domain:  f smooth within 6 h of x.
    Cost:    36 n^2 + 6 n + 1 evaluations of f.
    Ref:     Stan Math's finite_diff_hessian.

    >>> _, _, second = finite_diff_hessian(lambda x: x[0] * np.exp(-x[1]), [2.0, 0.5])
    >>> second.round(5) + 0.0
    array([[ 0.     , -0.60653],
           [-0.60653,  1.21306]])
    """
    at = _as_point("finite_diff_hessian", x)
    steps = np.full(len(at), epsilon)

    def slope(point: np.ndarray) -> np.ndarray:
        return _differentiate(f, point, steps)

    return float(f(at)), slope(at), _symmetric(_differentiate(slope, at, steps))


@with_rest_of(finite_diff_hessian)
def finite_diff_hessian_auto(f: Function, x: Nested) -> tuple[float, np.ndarray, np.ndarray]:
    """Like finite_diff_hessian, but from `contad.grad(f)` and its differences, with steps chosen by the size of x.

        H_ij = (45 (g_1 - g_-1) - 9 (g_2 - g_-2) + (g_3 - g_-3)) / (60 h),     g_k = g_j(x + k h e_i), made symmetric,
        g the gradient of f,     h = 2^(-52 / 3) max(1, |x_i|)

    Domain:  f smooth within 3 h of x.
    Cost:    6 n + 1 gradients of f.
    Ref:     Stan Math's finite_diff_hessian_auto.

    >>> _, _, second = finite_diff_hessian_auto(lambda x: x[0] * np.exp(-x[1]), [2.0, 0.5])
    >>> second.round(6) + 0.0
    array([[ 0.      , -0.606531],
           [-0.606531,  1.213061]])
    """
    at = _as_point("finite_diff_hessian_auto", x)
    slope = grad(f)
    return float(f(at)), slope(at), _symmetric(_differentiate(slope, at, _choose_steps(at)))


def finite_diff_grad_hessian(f: Function, x: Nested, epsilon: float = 1e-3) -> tuple[float, np.ndarray, np.ndarray]:
    """(f(x), its Hessian, the derivatives of the Hessian in x_i at [i]), the last by differences of
    `contad.hessian(f)`.

        dH/dx_i = (45 (H_1 - H_-1) - 9 (H_2 - H_-2) + (H_3 - H_-3)) / (60 h),     H_k the Hessian at x + k h e_i

    Shapes:  x (n,), the last result (n, n, n); f takes such a vector and returns a number.
    Domain:  f smooth within 3 h of x.
    Raises:  ValueError if x is not a vector.
    Cost:    6 n + 1 Hessians.
    Ref:     Stan Math's finite_diff_grad_hessian.

    >>> _, _, third = finite_diff_grad_hessian(lambda x: x[0] * np.exp(-x[1]), [2.0, 0.5])
    >>> third[1].round(6) + 0.0
    array([[ 0.      ,  0.606531],
           [ 0.606531, -1.213061]])
    """
    at = _as_point("finite_diff_grad_hessian", x)
    second = hessian(f)
    return float(f(at)), second(at), _differentiate(second, at, np.full(len(at), epsilon))


@with_rest_of(finite_diff_grad_hessian)
def finite_diff_grad_hessian_auto(f: Function, x: Nested) -> tuple[float, np.ndarray, np.ndarray]:
    """Like finite_diff_grad_hessian, with steps chosen by the size of x.

        dH/dx_i = (45 (H_1 - H_-1) - 9 (H_2 - H_-2) + (H_3 - H_-3)) / (60 h),     H_k the Hessian at x + k h e_i,
        h = 2^(-52 / 3) max(1, |x_i|)

    Ref:     Stan Math's finite_diff_grad_hessian_auto.

    >>> _, _, third = finite_diff_grad_hessian_auto(lambda x: x[0] * np.exp(-x[1]), [2.0, 0.5])
    >>> third[1].round(6) + 0.0
    array([[ 0.      ,  0.606531],
           [ 0.606531, -1.213061]])
    """
    at = _as_point("finite_diff_grad_hessian_auto", x)
    second = hessian(f)
    return float(f(at)), second(at), _differentiate(second, at, _choose_steps(at))


def _as_point(name: str, x: Nested) -> np.ndarray:
    at = np.array(x, dtype=np.float64)
    if at.ndim != 1:
        raise ValueError(f"{name}: x must be a vector, got shape {at.shape}")
    return at


def _choose_steps(at: np.ndarray) -> np.ndarray:
    return np.cbrt(2.0**-52) * np.maximum(1.0, np.abs(at))


def _differentiate(f: Callable[[np.ndarray], Real | ArrayValue], at: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """The differences of f along each axis, at [i]."""
    found = []
    for k, h in enumerate(steps):
        axis = h * np.eye(len(at))[k]
        found.append(sum(w / h * (np.asarray(f(at + j * axis)) - f(at - j * axis)) for j, w in WEIGHTS))
    return np.array(found)


def _symmetric(a: np.ndarray) -> np.ndarray:
    return 0.5 * (a + a.T)
