"""Interpolation on regular grids: `RegularGridInterpolator` and `interpn` of `scipy.interpolate`, on variables."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.ops import spline_bases as bases
from contad.ops._scipy import interpolate
from contad.ops.piecewise_polynomials import find_pieces
from contad.scipy.mirroring import as_one
from contad.variables.array import numbers_in
from contad.variables.number import observe
from contad.variables.open_types import ArrayValue

_DEGREES = {"slinear": 1, "cubic": 3, "quintic": 5}


class RegularGridInterpolator:
    """A function of points in any number of dimensions, given by its values on a grid; values and points may be
    variables.

        f(x) = sum over corners j of values_j prod_i w_(i, j_i)(x_i),
        w = 1 - t and t between two points where it is linear

    method is "linear", "nearest", "slinear", "cubic" or "quintic". On variables the last three are tensor products of
    splines with exact coefficients, whereas SciPy finds them by iteration.

    Shapes:  d points (n_i,), values (n_1, ..., n_d, ...) -> at points (..., d): (..., ...).
    Domain:  points that increase or decrease in each dimension; outside by `bounds_error` and `fill_value`.
    Raises:  ValueError for shapes that do not fit and points outside; UnsupportedError for variables with another
             method.
    Cost:    2^d corners for each point in d dimensions if linear, (k + 1)^d for degree k.
    Ref:     scipy.interpolate.RegularGridInterpolator.

    >>> f = RegularGridInterpolator(([0.0, 1.0], [0.0, 2.0]), np.array([[1.0, 3.0], [2.0, 8.0]]))
    >>> f([[0.25, 1.5]])
    array([3.5])
    """

    def __init__(
        self, points: Sequence[ArrayValue], values: ArrayValue, method: str = "linear", bounds_error: bool = True,
        fill_value: Any = np.nan, **options: Any,
    ) -> None:  # fmt: skip
        self.grid = tuple(np.asarray(p, dtype=np.float64) for p in points)
        self.values, self.method, self.bounds_error, self.fill_value = as_one(values), method, bounds_error, fill_value
        self._plain: Any = None
        name = "contad.scipy.interpolate.RegularGridInterpolator"
        if not numbers_in(self.values):
            self._plain = interpolate().RegularGridInterpolator(
                self.grid, self.values, method=method, bounds_error=bounds_error, fill_value=fill_value, **options
            )
        elif options.get("solver") is not None or options.get("solver_args") is not None:
            raise UnsupportedError(f"{name}: solver and solver_args are not supported on variables")
        if method not in (*_DEGREES, "linear", "nearest"):
            if self._plain is not None:
                return
            raise UnsupportedError(
                f"{name}: on variables method must be 'linear', 'nearest', {', '.join(map(repr, _DEGREES))}, got "
                f"{method!r}"
            )
        if len(self.grid) > np.ndim(self.values):
            raise ValueError(
                f"There are {len(self.grid)} point arrays, but values has {np.ndim(self.values)} dimensions"
            )
        for i, p in enumerate(self.grid):
            if p.ndim != 1 or np.shape(self.values)[i] != len(p):
                raise ValueError(
                    f"There are {p.size} points and {np.shape(self.values)[i]} values on dimension {i}"
                )
            if not np.all(np.diff(p) > 0.0) and not np.all(np.diff(p) < 0.0):
                raise ValueError(f"The points in dimension {i} must be strictly ascending or descending")
        falling = tuple(i for i, p in enumerate(self.grid) if len(p) > 1 and p[0] > p[1])
        if falling:
            self.grid = tuple(p[::-1].copy() if i in falling else p for i, p in enumerate(self.grid))
            self.values = np.flip(self.values, falling)
        self._coefficients: Any = None

    def __call__(self, xi: ArrayValue, method: str | None = None, *, nu: Any = None) -> ArrayValue:
        """The values at points (..., d), or a tuple of coordinates."""
        name = "contad.scipy.interpolate.RegularGridInterpolator"
        if self._plain is not None and not numbers_in(xi):
            return self._plain(xi, method, **({} if nu is None else {"nu": nu}))
        method = method or self.method
        if nu is not None or method not in (*_DEGREES, "linear", "nearest"):
            what = f"method={method!r} is" if nu is None else "nu= is"
            raise UnsupportedError(f"{name}: {what} not supported on variables; contad differentiates by the point")
        if isinstance(xi, tuple):
            xi = np.stack(np.broadcast_arrays(*map(as_one, xi)), axis=-1)
        xi = as_one(xi)
        xi = xi[None] if np.ndim(xi) == 0 else xi
        d = len(self.grid)
        if np.shape(xi)[-1] != d:
            if d != 1:
                raise ValueError(
                    f"The requested sample points xi have dimension {np.shape(xi)[-1]} but this "
                    f"RegularGridInterpolator has dimension {d}"
                )
            xi = xi[..., None]
        at = np.reshape(xi, (-1, d))
        outside = np.zeros(np.shape(at)[0], dtype=bool)
        for i, p in enumerate(self.grid):
            column = observe(np.asarray, at[:, i])
            beyond = ~((column >= p[0]) & (column <= p[-1])) & ~np.isnan(column)
            if self.bounds_error and np.any(beyond):
                raise ValueError(f"One of the requested xi is out of bounds in dimension {i}")
            outside |= beyond
        z = self._values(at, method)
        if self.fill_value is not None and np.any(outside):
            z = np.where(np.reshape(outside, (-1,) + (1,) * (np.ndim(z) - 1)), self.fill_value, z)
        return np.reshape(z, np.shape(xi)[:-1] + np.shape(z)[1:])

    def _values(self, at: ArrayValue, method: str) -> ArrayValue:
        places, weights = [], []
        if method in _DEGREES:
            k = _DEGREES[method]
            c, knots = self._splines(k)
            for i, t in enumerate(knots):
                j = bases.find_intervals(t, k, at[:, i])
                places.append(j[:, None] + np.arange(-k, 1))
                weights.append(bases.basis_values(t, k, at[:, i], j))
            return bases.sum_corners(c, places, weights)
        for i, p in enumerate(self.grid):
            if len(p) == 1:
                places.append(np.zeros((np.shape(at)[0], 1), dtype=np.intp))
                weights.append(np.ones((np.shape(at)[0], 1)))
                continue
            j = find_pieces(p, at[:, i])
            t = (at[:, i] - p[j]) / (p[j + 1] - p[j])
            if method == "nearest":
                t = np.where(observe(np.asarray, t) <= 0.5, 0.0, 1.0)
            places.append(j[:, None] + np.arange(2))
            weights.append(bases.linear_weights(t))
        return bases.sum_corners(self.values, places, weights)

    def _splines(self, k: int) -> tuple[ArrayValue, list[np.ndarray]]:
        """The coefficients of the tensor product of splines, and the knots of each dimension."""
        if self._coefficients is None or self._coefficients[0] != k:
            c, knots = self.values, []
            for i, p in enumerate(self.grid):
                if len(p) <= k:
                    raise ValueError(
                        f"There are {len(p)} points in dimension {i}, but method requires at least {k + 1} points per "
                        "dimension."
                    )
                t = bases.not_a_knot(p, k)
                c = np.moveaxis(bases.interpolating_coefficients(t, k, p, np.moveaxis(c, i, 0)), 0, i)
                knots.append(t)
            self._coefficients = k, c, knots
        return self._coefficients[1], self._coefficients[2]


def interpn(
    points: Sequence[ArrayValue], values: ArrayValue, xi: ArrayValue, method: str = "linear",
    bounds_error: bool = True, fill_value: Any = np.nan,
) -> ArrayValue:  # fmt: skip
    """The values at xi of a RegularGridInterpolator.

        f(xi) with f = `RegularGridInterpolator(points, values)`

    Shapes:  d points (n_i,), values (n_1, ..., n_d, ...), xi (..., d) -> (..., ...).
    Domain:  that of `RegularGridInterpolator`.
    Raises:  like `RegularGridInterpolator`.
    Cost:    that of `RegularGridInterpolator`.
    Ref:     scipy.interpolate.interpn.

    >>> interpn(([0.0, 1.0], [0.0, 2.0]), np.array([[1.0, 3.0], [2.0, 8.0]]), [[0.25, 1.5]])
    array([3.5])
    """
    if not any(map(numbers_in, (values, xi))):
        return interpolate().interpn(points, values, xi, method, bounds_error, fill_value)
    made = RegularGridInterpolator(points, values, method, bounds_error, fill_value)
    return made(xi)
