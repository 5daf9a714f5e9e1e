"""`interp1d` and `RBFInterpolator` of `scipy.interpolate` on variables."""

import itertools
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.ops._scipy import interpolate
from contad.ops.piecewise_polynomials import as_column, find_pieces
from contad.scipy.interpolate import make_interp_spline
from contad.scipy.mirroring import as_one
from contad.variables.array import numbers_in
from contad.variables.number import observe
from contad.variables.open_types import ArrayValue, Function, Option, Real

_DEGREES = {"slinear": 1, "quadratic": 2, "cubic": 3}
_NEIGHBOURS = {"nearest", "nearest-up", "previous", "next", "zero"}


class interp1d:
    """A function through points: lines, splines, or the value of a neighbour.

        f(x) = y_i + (y_(i+1) - y_i) (x - x_i) / (x_(i+1) - x_i) for x_i <= x <= x_(i+1) where kind is "linear"

    "slinear", "quadratic", "cubic" and whole numbers are splines of that degree (`make_interp_spline`); "nearest",
    "nearest-up", "previous", "next" and "zero" are the value of a neighbour, which has no slope in x. Where lines meet,
    the derivative is that of the upper one.

    Shapes:  x (n,), y (..., n, ...) with n in `axis` -> at places (k,): (..., k, ...).
    Domain:  different x; outside by `bounds_error` and `fill_value`.
    Raises:  ValueError for places outside unless it extrapolates or `bounds_error` is False, and for shapes that do not
             fit.
    Cost:    O(log n) for each place where kind is "linear".
    Ref:     scipy.interpolate.interp1d.

    >>> f = interp1d([0.0, 1.0, 3.0], [0.0, 2.0, 3.0])
    >>> float(f(2.0)), float(interp1d([0.0, 1.0, 3.0], [0.0, 2.0, 3.0], fill_value="extrapolate")(4.0))
    (2.5, 3.5)
    """

    def __init__(
        self, x: ArrayValue, y: ArrayValue, kind: Any = "linear", axis: int = -1, copy: bool = True,
        bounds_error: bool | None = None, fill_value: Any = np.nan, assume_sorted: bool = False,
    ) -> None:  # fmt: skip
        self._plain: Any = None
        if not any(map(numbers_in, (x, y, fill_value))):
            self._plain = interpolate().interp1d(x, y, kind, axis, copy, bounds_error, fill_value, assume_sorted)
        self.x, self.y, self.axis = as_one(x), as_one(y), axis % max(np.ndim(y), 1)
        if np.ndim(self.x) != 1 or np.ndim(self.y) == 0 or np.shape(self.y)[self.axis] != np.shape(self.x)[0]:
            raise ValueError(
                f"contad.scipy.interpolate.interp1d: x (n,) and y with n values in axis {axis} expected, got "
                f"{np.shape(self.x)} and {np.shape(self.y)}"
            )
        order = None if assume_sorted else observe(lambda x: np.argsort(x, kind="mergesort"), self.x)
        values = np.moveaxis(self.y, self.axis, 0)
        self._x, self._y = (self.x, values) if order is None else (self.x[order], values[order])
        self._extrapolates = isinstance(fill_value, str) and fill_value == "extrapolate"
        self.kind, self.fill_value = kind, fill_value
        if self._extrapolates and bounds_error:
            raise ValueError("Cannot extrapolate and raise at the same time.")
        self.bounds_error = not self._extrapolates if bounds_error is None else bounds_error
        degree = _DEGREES.get(kind, kind)
        if isinstance(degree, int) and degree > 0:
            self._f: Function = make_interp_spline(self._x, self._y, degree)
        elif kind == "linear":
            self._f = self._on_lines
        elif degree == 0 or kind in _NEIGHBOURS:
            self._f = self._of_neighbours
        else:
            raise UnsupportedError(f"contad.scipy.interpolate.interp1d: {kind} is unsupported; use splrep")

    def _on_lines(self, at: ArrayValue) -> ArrayValue:
        j = find_pieces(self._x, at)
        width = as_column(self._x[j + 1] - self._x[j], self._y)
        return self._y[j] + (self._y[j + 1] - self._y[j]) * (as_column(at - self._x[j], self._y) / width)

    def _of_neighbours(self, at: ArrayValue) -> ArrayValue:
        def find(x: np.ndarray, at: np.ndarray) -> np.ndarray:
            n = len(x)
            if self.kind in ("nearest", "nearest-up"):
                found = np.searchsorted(0.5 * x[1:] + 0.5 * x[:-1], at, "left" if self.kind == "nearest" else "right")
                return found.clip(0, n - 1)
            if self.kind == "next":
                return np.searchsorted(x, at, "left").clip(0, n - 1)
            return (np.searchsorted(x, at, "right") - 1).clip(0, n - 1)

        return self._y[observe(find, self._x, at)]

    def __call__(self, x: ArrayValue) -> ArrayValue:
        """The values at places."""
        if self._plain is not None and not numbers_in(x):
            return self._plain(x)
        x = as_one(x)
        at = np.reshape(x, (-1,))
        z = self._f(at)
        sides = observe(lambda x, a, b: np.stack([x < a, x > b]), at, self._x[0], self._x[-1])
        if self.bounds_error and np.any(sides):
            side, end = ("below", "minimum") if np.any(sides[0]) else ("above", "maximum")
            raise ValueError(f"A value in x_new is {side} the interpolation range's {end} value.")
        if not self._extrapolates and np.any(sides):
            both = self.fill_value if isinstance(self.fill_value, tuple) else (self.fill_value,) * 2
            for outside, value in zip(sides, both, strict=True):
                z = np.where(as_column(outside, self._y), as_one(value), z)
        elif self._extrapolates and self.kind in ("previous", "next"):
            outside = sides[0 if self.kind == "previous" else 1]
            z = np.where(as_column(outside, self._y), np.nan, z)
        z = np.reshape(z, np.shape(x) + np.shape(self._y)[1:])
        order, n = list(range(np.ndim(z))), np.ndim(x)
        return np.transpose(z, order[n : n + self.axis] + order[:n] + order[n + self.axis :]) if np.ndim(z) else z[()]


# ---- scattered points ------------------------------------------------------------------------------------------------
def _root(s: ArrayValue) -> ArrayValue:
    """The square root, with derivative 0 at 0."""
    held = observe(np.equal, s, 0.0)
    return np.where(held, 0.0, np.sqrt(np.where(held, 1.0, s)))


def _thin_plate(s: ArrayValue) -> ArrayValue:
    return 0.5 * s * np.log(np.where(observe(np.equal, s, 0.0), 1.0, s))


_KERNELS: dict[str, tuple[Function, int]] = {  # functions of r^2, and the least degree of the polynomial
    "linear": (lambda s: -_root(s), 0),
    "thin_plate_spline": (_thin_plate, 1),
    "cubic": (lambda s: s * _root(s), 1),
    "quintic": (lambda s: -s * s * _root(s), 2),
    "multiquadric": (lambda s: -np.sqrt(s + 1.0), 0),
    "inverse_multiquadric": (lambda s: 1.0 / np.sqrt(s + 1.0), -1),
    "inverse_quadratic": (lambda s: 1.0 / (s + 1.0), -1),
    "gaussian": (lambda s: np.exp(-s), -1),
}
_WITHOUT_SCALE = ("linear", "thin_plate_spline", "cubic", "quintic")


class RBFInterpolator:
    """A function through scattered points in any number of dimensions: radial functions and a polynomial.

        f(x) = sum_i a_i phi(epsilon |x - y_i|) + sum_k b_k p_k(x),
        f(y_i) + smoothing_i a_i = d_i,     sum_i a_i p_k(y_i) = 0

    Points, data, smoothing and epsilon may be variables. The kernels phi(r) are -r ("linear"), r^2 log r
    ("thin_plate_spline"), r^3 ("cubic"), -r^5 ("quintic"), -sqrt(1 + r^2) ("multiquadric"), 1 / sqrt(1 + r^2)
    ("inverse_multiquadric"), 1 / (1 + r^2) ("inverse_quadratic") and exp(-r^2) ("gaussian").

    Shapes:  y (m, n), d (m, ...) -> at places (k, n): (k, ...).
    Domain:  different points that determine the polynomial.
    Raises:  ValueError for shapes that do not fit and an epsilon that is missing; UnsupportedError on variables for
             `neighbors`; LinAlgError for a singular system.
    Cost:    O(m^3) once and O(k m) for the values; a sweep takes as much.
    Ref:     Fasshauer (2007), Meshfree Approximation Methods with Matlab; scipy.interpolate.RBFInterpolator.

    >>> f = RBFInterpolator([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> f([[1.5]]).round(6)
    array([2.391541])
    """

    def __init__(
        self, y: ArrayValue, d: ArrayValue, neighbors: Option = None, smoothing: Any = 0.0,
        kernel: str = "thin_plate_spline", epsilon: Real = None, degree: int | None = None,
    ) -> None:  # fmt: skip
        name = "contad.scipy.interpolate.RBFInterpolator"
        self._plain: Any = None
        if not any(map(numbers_in, (y, d, smoothing, epsilon))):
            self._plain = interpolate().RBFInterpolator(y, d, neighbors, smoothing, kernel, epsilon, degree)
        self._neighbours = neighbors
        if neighbors is not None:
            if self._plain is None:
                raise UnsupportedError(f"{name}: neighbors= is not supported on variables")
            return
        y, d, smoothing = as_one(y), as_one(d), as_one(smoothing)
        if np.ndim(y) != 2 or np.ndim(d) == 0 or np.shape(d)[0] != np.shape(y)[0]:
            raise ValueError(f"{name}: y (m, n) and d (m, ...) expected, got {np.shape(y)} and {np.shape(d)}")
        if kernel.lower() not in _KERNELS:
            raise ValueError(f"`kernel` must be one of {set(_KERNELS)}.")
        self._kernel, least = _KERNELS[kernel.lower()]
        if epsilon is None and kernel.lower() not in _WITHOUT_SCALE:
            raise ValueError(f"`epsilon` must be specified if `kernel` is not one of {set(_WITHOUT_SCALE)}.")
        self.y, self.epsilon = y, 1.0 if epsilon is None else epsilon
        m, n = np.shape(y)
        degree = max(least, 0) if degree is None else degree
        self._powers = [p for p in itertools.product(range(degree + 1), repeat=n) if sum(p) <= degree]
        if len(self._powers) > m:
            raise ValueError(f"At least {len(self._powers)} data points are required for degree {degree}, got {m}.")
        low, high = np.min(y, axis=0), np.max(y, axis=0)  # the result depends on them by rounding only
        self._middle = 0.5 * (low + high)
        self._width = np.where(observe(np.equal, low, high), 1.0, 0.5 * (high - low))
        p = self._polynomials(y)
        k = self._radial(y) + np.eye(m) * smoothing
        held = np.zeros((len(self._powers),) * 2)
        matrix = np.concatenate(
            [np.concatenate([k, p], axis=1), np.concatenate([np.transpose(p), held], axis=1)], axis=0
        )
        self._shape = np.shape(d)[1:]
        right = np.concatenate([np.reshape(d, (m, -1)), np.zeros((len(self._powers), int(np.prod(self._shape))))])
        self._c = np.linalg.solve(matrix, right)

    def _radial(self, x: ArrayValue) -> ArrayValue:
        return self._kernel(np.sum((self.epsilon * (x[:, None, :] - self.y[None, :, :])) ** 2, axis=-1))

    def _polynomials(self, x: ArrayValue) -> ArrayValue:
        scaled = (x - self._middle) / self._width
        ones = np.ones(np.shape(x)[0])
        columns = []
        for powers in self._powers:
            column = ones
            for j, power in enumerate(powers):
                for _ in range(power):
                    column = column * scaled[:, j]
            columns.append(column)
        return np.stack(columns, axis=1) if columns else np.zeros((np.shape(x)[0], 0))

    def __call__(self, x: ArrayValue) -> ArrayValue:
        """The values at places (k, n)."""
        if self._plain is not None and not numbers_in(x):
            return self._plain(x)
        if self._neighbours is not None:
            raise UnsupportedError(
                "contad.scipy.interpolate.RBFInterpolator: neighbors= is not supported on variables"
            )
        x = as_one(x)
        if np.ndim(x) != 2 or np.shape(x)[1] != np.shape(self.y)[1]:
            raise ValueError(f"Expected the second axis of `x` to have length {np.shape(self.y)[1]}.")
        z = np.matmul(np.concatenate([self._radial(x), self._polynomials(x)], axis=1), self._c)
        return np.reshape(z, (np.shape(x)[0], *self._shape))
