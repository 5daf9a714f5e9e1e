"""`scipy.interpolate` on variables: interpolants made from variables and evaluated at variables.

Places, data values and data points may be variables. Objects behave like SciPy's of the same names, and if made from
numbers they have SciPy's values at numbers. Functions that are not here have no derivative.

>>> import contad
>>> x, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0, 5.0])
>>> contad.grad(lambda y: CubicSpline(x, y)(1.5))(y).round(6)
array([-0.0625,  0.5625,  0.5625, -0.0625])
>>> round(contad.grad(lambda at: CubicSpline(x, y)(at))(1.5), 6)
-1.291667
"""

import abc
import pkgutil
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.ops import piecewise_polynomials as pieces, spline_bases as bases
from contad.ops._scipy import interpolate
from contad.scipy.grid_interpolation import RegularGridInterpolator, interpn
from contad.scipy.mirroring import as_one, refuse_missing
from contad.variables.array import numbers_in
from contad.variables.number import observe
from contad.variables.open_types import ArrayValue, Option

__all__ = ["Akima1DInterpolator", "BSpline", "CubicHermiteSpline", "CubicSpline", "PPoly", "PchipInterpolator",
           "RegularGridInterpolator", "interpn", "make_interp_spline", "pchip_interpolate"]  # fmt: skip
_FROM_DATA = ["RBFInterpolator", "interp1d"]
_FITTED = ["InterpolatedUnivariateSpline", "LSQUnivariateSpline", "RectBivariateSpline", "UnivariateSpline",
           "make_lsq_spline", "splantider", "splder", "splev", "splint", "splprep", "splrep"]  # fmt: skip
__all__ += list(_FROM_DATA)
__all__ += list(_FITTED)


class Interpolator(abc.ABC):
    """A function of numbers through data in axis `axis`; if made from numbers, it also holds SciPy's object."""

    _plain: Any = None
    axis: int
    extrapolate: Any

    def __getattr__(self, name: str) -> Any:
        """Other attributes come from SciPy's object, if there is one."""
        if name[:2] == "__" or self._plain is None:
            kind = f"contad.scipy.interpolate.{type(self).__name__}"
            raise AttributeError(f"{kind} has no attribute {name!r} that is differentiated")
        return getattr(self._plain, name)

    def __call__(self, x: ArrayValue, nu: int = 0, extrapolate: Any = None) -> ArrayValue:
        """The values at places, or the derivatives of order nu."""
        if self._plain is not None and not numbers_in(x):
            return self._plain(x, nu, extrapolate)
        return self._at(as_one(x), nu, self.extrapolate if extrapolate is None else extrapolate)

    def integrate(self, a: ArrayValue, b: ArrayValue, extrapolate: Any = None) -> ArrayValue:
        """The integral from a to b, which may be variables."""
        if self._plain is not None and not numbers_in(a) and not numbers_in(b):
            return self._plain.integrate(a, b, extrapolate)
        how = self.extrapolate if extrapolate is None else extrapolate
        if how == "periodic":
            raise UnsupportedError("contad.scipy.interpolate: integrate of a periodic function takes no variables")
        return self._integral(a, b, how)

    @abc.abstractmethod
    def _integral(self, a: ArrayValue, b: ArrayValue, how: Any) -> ArrayValue:
        """The integral for variables, not periodic; `how` says whether to extrapolate."""

    @abc.abstractmethod
    def _ends(self) -> tuple[ArrayValue, ArrayValue]:
        """The interval on which it is defined."""

    @abc.abstractmethod
    def _values(self, at: ArrayValue, nu: int) -> ArrayValue:
        """The values at places (n,), or derivatives."""

    def _at(self, at: ArrayValue, nu: int, extrapolate: Any) -> ArrayValue:
        first, last = self._ends()
        if extrapolate == "periodic":
            at, extrapolate = pieces.wrap_period(np.stack([first, last]), at), False
        flat = np.reshape(at, (-1,))
        z = self._values(flat, nu)
        if not extrapolate:
            outside = observe(np.less, flat, first) | observe(np.greater, flat, last)
            if np.any(outside):
                z = np.where(np.reshape(outside, (-1,) + (1,) * (np.ndim(z) - 1)), np.nan, z)
        z = np.reshape(z, np.shape(at) + np.shape(z)[1:])
        return self._in_place(z, np.ndim(at))

    def _in_place(self, z: ArrayValue, axes: int) -> ArrayValue:
        """The values, with the axes of the places in the position of the data axis."""
        if self.axis:
            order = list(range(np.ndim(z)))
            z = np.transpose(z, order[axes : axes + self.axis] + order[:axes] + order[axes + self.axis :])
        return z if np.ndim(z) else z[()]


# ---- piecewise polynomials -------------------------------------------------------------------------------------------
class PPoly(Interpolator):
    """Polynomials between points.

        f(t) = sum_(m <= k) c[m, i] (t - x_i)^(k - m) for x_i <= t < x_(i+1)

    Shapes:  c (k + 1, n - 1, ...), x (n,) -> at places (m,): (m, ...).
    Domain:  increasing x; beyond its ends by `extrapolate`, otherwise nan.
    Raises:  ValueError if c and x do not fit.
    Cost:    O(log n + k) for each place, and so is a sweep.
    Ref:     de Boor (2001), A Practical Guide to Splines, chapter VII; scipy.interpolate.PPoly.

    >>> p = PPoly(np.array([[2.0, 3.0], [0.0, 2.0]]), np.array([0.0, 1.0, 2.0]))
    >>> p(1.5), p.integrate(0.0, 2.0)
    (array(3.5), array(4.5))
    """

    def __init__(self, c: ArrayValue, x: ArrayValue, extrapolate: Any = None, axis: int = 0) -> None:
        self.x, self.c, self.axis = as_one(x), as_one(c), axis
        if np.ndim(self.x) != 1 or np.ndim(self.c) < 2 or np.shape(self.c)[1] != np.shape(self.x)[0] - 1:
            raise ValueError(
                f"contad.scipy.interpolate.PPoly: c (k, n - 1, ...) and x (n,) expected, got {np.shape(self.c)} and "
                f"{np.shape(self.x)}"
            )
        self.extrapolate = True if extrapolate is None else extrapolate
        if not numbers_in(self.x) and not numbers_in(self.c):
            self._plain = interpolate().PPoly.construct_fast(
                np.ascontiguousarray(self.c), np.asarray(self.x), self.extrapolate, axis
            )

    def _ends(self) -> tuple[ArrayValue, ArrayValue]:
        return self.x[0], self.x[-1]

    def _values(self, at: ArrayValue, nu: int) -> ArrayValue:
        return pieces.polynomial_values(self.c, self.x, at, nu)

    def derivative(self, nu: int = 1) -> "PPoly":
        """The derivative of order nu; a negative order is an integral."""
        if nu < 0:
            return self.antiderivative(-nu)
        return PPoly(pieces.derivative_coefficients(self.c, nu), self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> "PPoly":
        """The integral of order nu that is 0 at the first point."""
        c = self.c
        for _ in range(nu):
            c = pieces.integral_coefficients(c, self.x)
        periodic = self.extrapolate == "periodic"
        return PPoly(c, self.x, False if periodic else self.extrapolate, self.axis)

    def _integral(self, a: ArrayValue, b: ArrayValue, how: Any) -> ArrayValue:
        whole = PPoly(pieces.integral_coefficients(self.c, self.x), self.x, how, self.axis)
        return whole(b) - whole(a)


def _points(
    name: str, x: ArrayValue, y: ArrayValue, axis: int, least: int = 2
) -> tuple[ArrayValue, ArrayValue, int]:
    """The points of the data, and values with their axis first."""
    x, y = as_one(x), as_one(y)
    axis %= max(np.ndim(y), 1)
    what = f"contad.scipy.interpolate.{name}"
    if np.ndim(x) != 1 or np.ndim(y) == 0 or np.shape(x)[0] < least:
        raise ValueError(f"{what}: x must be a vector of at least {least} points, got shape {np.shape(x)}")
    if np.shape(y)[axis] != np.shape(x)[0]:
        raise ValueError(f"{what}: y must have {np.shape(x)[0]} values in axis {axis}, got shape {np.shape(y)}")
    if not np.all(np.diff(observe(np.asarray, x)) > 0.0):
        raise ValueError(f"{what}: x must be strictly increasing")
    for label, values in (("x", x), ("y", y)):
        if not np.all(np.isfinite(observe(np.asarray, values))):
            raise ValueError(f"{what}: {label} must contain only finite values")
    return x, np.moveaxis(y, axis, 0), axis


class CubicHermiteSpline(PPoly):
    """The cubics with given values and slopes at points.

        f(x_i) = y_i,     f'(x_i) = dydx_i,     f of degree 3 between two points

    Shapes:  x (n,), y, dydx (..., n, ...) with n in `axis` -> at places (k,): (..., k, ...).
    Domain:  increasing x, finite y and dydx.
    Raises:  ValueError for points that do not increase, different lengths and values that are not finite.
    Cost:    O(n), and O(log n) for each place; so is a sweep.
    Ref:     de Boor (2001), A Practical Guide to Splines, chapter IV; scipy.interpolate.CubicHermiteSpline.

    >>> round(float(CubicHermiteSpline([0.0, 1.0], [0.0, 1.0], [0.5, -0.2])(0.4)), 6)
    0.4432
    """

    def __init__(
        self, x: ArrayValue, y: ArrayValue, dydx: ArrayValue, axis: int = 0, extrapolate: Any = None
    ) -> None:
        dydx = as_one(dydx)
        if np.shape(dydx) != np.shape(y):
            raise ValueError("The shapes of `y` and `dydx` must be identical.")
        x, y, axis = _points("CubicHermiteSpline", x, y, axis)
        slopes = np.moveaxis(dydx, axis, 0)
        super().__init__(pieces.hermite_coefficients(x, y, slopes), x, extrapolate, axis)


class CubicSpline(PPoly):
    """The cubics with a continuous second derivative, and bc_type at the ends as in SciPy.

        f(x_i) = y_i,     f' and f'' continuous,     f of degree 3 between two points

    Shapes:  x (n,), y (..., n, ...) with n in `axis` -> at places (k,): (..., k, ...).
    Domain:  increasing x, finite y.
    Raises:  ValueError for points that do not increase, different lengths, values that are not finite and an unknown
             bc_type.
    Cost:    a tridiagonal system, O(n), and another one in reverse.
    Ref:     de Boor (2001), A Practical Guide to Splines, chapter IV; scipy.interpolate.CubicSpline.

    >>> round(float(CubicSpline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 26.0], bc_type="natural")(1.5)), 6)
    3.225
    """

    def __init__(
        self, x: ArrayValue, y: ArrayValue, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
    ) -> None:
        x, y, axis = _points("CubicSpline", x, y, axis)
        start, end = _conditions(bc_type)
        change = observe(np.asarray, y[0] - y[-1])
        if "periodic" in (start, end) and not np.allclose(change, 0.0, rtol=1e-15, atol=1e-15):
            raise ValueError(
                "contad.scipy.interpolate.CubicSpline: the first and last y must be identical where bc_type is "
                "'periodic'"
            )
        if extrapolate is None:
            extrapolate = "periodic" if start == "periodic" else True
        slopes = pieces.spline_slopes(x, y, start, end)
        super().__init__(pieces.hermite_coefficients(x, y, slopes), x, extrapolate, axis)


_NAMED = {"clamped": (1, 0.0), "natural": (2, 0.0)}


def _conditions(bc_type: Any) -> tuple[Any, Any]:
    """The conditions at both ends: "not-a-knot", "periodic", or (order, value)."""
    both = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
    found = [_NAMED.get(one, one) if isinstance(one, str) else one for one in both]
    for one in found:
        known = one in ("not-a-knot", "periodic") if isinstance(one, str) else len(one) == 2 and one[0] in (1, 2)
        if not known:
            raise ValueError(
                "contad.scipy.interpolate.CubicSpline: bc_type must be 'not-a-knot', 'periodic', 'clamped', 'natural' "
                f"or (1 or 2, value) at each end, got {one!r}"
            )
    if len(found) != 2 or ("periodic" in found and found[0] != found[1]):
        raise ValueError("contad.scipy.interpolate.CubicSpline: 'periodic' bc_type must be that of both ends")
    return found[0] if isinstance(found[0], str) else tuple(found[0]), (
        found[1] if isinstance(found[1], str) else tuple(found[1])
    )


class PchipInterpolator(PPoly):
    """The cubics that are monotone where the data are.

        f(x_i) = y_i,     f'(x_i) = (u + v) / (u / s_(i-1) + v / s_i) inside, s_i the slopes of lines;
        0 where two slopes differ in sign or one is 0;     u = 2 h_i + h_(i-1), v = h_i + 2 h_(i-1), h_i = x_(i+1) - x_i

    Shapes:  x (n,), y (..., n, ...) with n in `axis` -> at places (k,): (..., k, ...).
    Domain:  increasing x, finite y; a kink in y where the slope of a line is 0.
    Raises:  ValueError for points that do not increase, different lengths and values that are not finite.
    Cost:    O(n), and O(log n) for each place; so is a sweep.
    Ref:     Fritsch & Butland (1984), SIAM Journal on Scientific and Statistical Computing 5.

    >>> round(float(PchipInterpolator([0.0, 1.0, 2.0, 4.0], [0.0, 1.0, 3.0, 4.0])(1.5)), 6)
    2.059524
    """

    def __init__(self, x: ArrayValue, y: ArrayValue, axis: int = 0, extrapolate: Any = None) -> None:
        x, y, axis = _points("PchipInterpolator", x, y, axis)
        slopes = pieces.monotone_slopes(x, y)
        super().__init__(pieces.hermite_coefficients(x, y, slopes), x, extrapolate, axis)


def pchip_interpolate(
    xi: ArrayValue, yi: ArrayValue, x: ArrayValue, der: Option = 0, axis: int = 0
) -> ArrayValue:
    """The values of a PchipInterpolator through (xi, yi) at x, or its derivatives.

        f(x) with f = `PchipInterpolator(xi, yi)`, or its derivative of order `der`

    Shapes:  xi (n,), yi (..., n, ...) with n in `axis`, x (k,) -> (..., k, ...); a list for a list of orders.
    Domain:  increasing xi, finite yi.
    Raises:  ValueError for points that do not increase, different lengths and values that are not finite.
    Cost:    that of `PchipInterpolator`.
    Ref:     Fritsch & Butland (1984), SIAM Journal on Scientific and Statistical Computing 5.

    >>> round(float(pchip_interpolate([0.0, 1.0, 2.0, 4.0], [0.0, 1.0, 3.0, 4.0], 1.5, der=1)), 6)
    2.452381
    """
    made = PchipInterpolator(xi, yi, axis)
    return made(x, der) if np.ndim(der) == 0 else [made(x, nu) for nu in der]


class Akima1DInterpolator(PPoly):
    """The cubics whose slopes are means of the slopes of lines, weighted by their changes.

        f'(x_i) = (w s_(i-1) + v s_i) / (w + v),     w = |s_(i+1) - s_i|, v = |s_(i-1) - s_(i-2)|, s_i slopes of lines

    "makima" adds |s_(i+1) + s_i| / 2 and |s_(i-1) + s_(i-2)| / 2 to the weights.

    Shapes:  x (n,), y (..., n, ...) with n in `axis` -> at places (k,): (..., k, ...).
    Domain:  increasing x, finite y; a kink in y where neighbouring lines have equal slopes.
    Raises:  ValueError for points that do not increase, different lengths and values that are not finite;
             UnsupportedError for another method.
    Cost:    O(n), and O(log n) for each place; so is a sweep.
    Ref:     Akima (1970), Journal of the ACM 17; scipy.interpolate.Akima1DInterpolator.

    >>> round(float(Akima1DInterpolator([0.0, 1.0, 2.0, 4.0, 5.0], [0.0, 1.0, 3.0, 4.0, 2.0])(1.5)), 6)
    1.978571
    """

    def __init__(
        self, x: ArrayValue, y: ArrayValue, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
    ) -> None:
        if method not in ("akima", "makima"):
            raise UnsupportedError(
                f"contad.scipy.interpolate.Akima1DInterpolator: method must be 'akima' or 'makima', got {method!r}"
            )
        x, y, axis = _points("Akima1DInterpolator", x, y, axis)
        slopes = pieces.akima_slopes(x, y, method == "makima")
        super().__init__(pieces.hermite_coefficients(x, y, slopes), x, bool(extrapolate), axis)


# ---- B-splines -------------------------------------------------------------------------------------------------------
class BSpline(Interpolator):
    """A spline by its coefficients in B-splines; all but its degree may be variables.

        f(x) = sum_j c_j B_(j,k)(x),     B_(j,0)(x) = 1 for t_j <= x < t_(j+1), else 0,
        B_(j,k)(x) = (x - t_j) / (t_(j+k) - t_j) B_(j,k-1)(x) + (t_(j+k+1) - x) / (t_(j+k+1) - t_(j+1)) B_(j+1,k-1)(x)

    Shapes:  t (n + k + 1,), c (..., n, ...) with n in `axis` -> at places (m,): (..., m, ...).
    Domain:  t that does not decrease, n > k.
    Raises:  ValueError if t decreases, or if t and c do not fit.
    Cost:    O(k^2) for each place, and so is a sweep.
    Ref:     de Boor (2001), A Practical Guide to Splines, chapter X, (14) and (15); scipy.interpolate.BSpline.

    >>> t = [0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 2.0]
    >>> round(float(BSpline(t, [1.0, 3.0, 2.0, 0.5], 2)(0.6)), 6)
    2.5
    """

    def __init__(self, t: ArrayValue, c: ArrayValue, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        self.t, self.k, c = as_one(t), int(k), as_one(c)
        self.axis = axis % max(np.ndim(c), 1)
        self.c, self.extrapolate = np.moveaxis(c, self.axis, 0), extrapolate
        n = np.shape(self.t)[0] - self.k - 1
        if np.ndim(self.t) != 1 or self.k < 0 or n <= self.k or np.shape(self.c)[0] < n:
            raise ValueError(
                f"contad.scipy.interpolate.BSpline: t (n + k + 1,) and c (n, ...) with n > k expected, got "
                f"{np.shape(self.t)} and {np.shape(self.c)} for k = {self.k}"
            )
        if not np.all(np.diff(observe(np.asarray, self.t)) >= 0.0):
            raise ValueError("contad.scipy.interpolate.BSpline: t must not decrease")
        if not numbers_in(self.t) and not numbers_in(self.c):
            self._plain = interpolate().BSpline(self.t, c, self.k, extrapolate, axis)

    @property
    def tck(self) -> tuple[ArrayValue, ArrayValue, int]:
        """Knots, coefficients and degree."""
        return self.t, self.c, self.k

    def _ends(self) -> tuple[ArrayValue, ArrayValue]:
        return self.t[self.k], self.t[np.shape(self.t)[0] - self.k - 1]

    def _values(self, at: ArrayValue, nu: int) -> ArrayValue:
        return bases.spline_values(self.t, self.c, self.k, at, nu)

    def derivative(self, nu: int = 1) -> "BSpline":
        """The derivative of order nu, a spline of degree k - nu."""
        if not 0 <= nu <= self.k:
            raise UnsupportedError(
                f"contad.scipy.interpolate.BSpline.derivative: on variables nu must be from 0 to k, got {nu}"
            )
        t, c, k = self.t, self.c[: np.shape(self.t)[0] - self.k - 1], self.k
        for _ in range(nu):
            width = t[k + 1 : -1] - t[1 : -k - 1]
            held = observe(np.equal, width, 0.0)
            c = k * (c[1:] - c[:-1]) / pieces.as_column(np.where(held, 1.0, width), c)
            c = np.where(pieces.as_column(held, c), 0.0, c)
            t, k = t[1:-1], k - 1
        return BSpline(t, np.moveaxis(c, 0, self.axis), k, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> "BSpline":
        """The integral of order nu that is 0 at the first knot."""
        t, c, k = self.t, self.c[: np.shape(self.t)[0] - self.k - 1], self.k
        for _ in range(nu):
            width = pieces.as_column(t[k + 1 :] - t[: -k - 1], c)
            whole = np.cumsum(c * width, axis=0) / (k + 1)
            c = np.concatenate([np.zeros((1, *np.shape(c)[1:])), whole], axis=0)
            t, k = np.concatenate([t[:1], t, t[-1:]]), k + 1
        how = False if self.extrapolate == "periodic" else self.extrapolate
        return BSpline(t, np.moveaxis(c, 0, self.axis), k, how, self.axis)

    def _integral(self, a: ArrayValue, b: ArrayValue, how: Any) -> ArrayValue:
        first, last = self._ends()
        if not how:  # 0 outside, as in SciPy
            a, b = np.clip(as_one(a), first, last), np.clip(as_one(b), first, last)
        whole = self.antiderivative()
        return whole(b) - whole(a)


def make_interp_spline(
    x: ArrayValue, y: ArrayValue, k: int = 3, t: ArrayValue = None, bc_type: Any = None, axis: int = 0,
    check_finite: bool = True,
) -> BSpline:  # fmt: skip
    """The spline of degree k through points, with SciPy's knots; on variables bc_type is not "periodic".

        f(x_i) = y_i,     f = sum_j c_j B_(j,k) of `BSpline`, with derivatives at the ends where bc_type has them

    Shapes:  x (n,), y (..., n, ...) with n in `axis` -> a `BSpline` with such values.
    Domain:  increasing x, finite y; knots interlaced with x such that the system is regular.
    Raises:  ValueError for points that do not increase, different lengths and values that are not finite;
             UnsupportedError for variables and "periodic".
    Cost:    a banded system, O(n k^2), and another one in reverse.
    Ref:     de Boor (2001), A Practical Guide to Splines, chapter XIII; scipy.interpolate.make_interp_spline.

    >>> round(float(make_interp_spline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 26.0], k=2)(1.5)), 6)
    3.4375
    """
    name = "contad.scipy.interpolate.make_interp_spline"
    if k < 1 or bc_type == "periodic":
        if not any(map(numbers_in, (x, y, t))):
            made = interpolate().make_interp_spline(x, y, k, t, bc_type, axis, check_finite)
            return BSpline(made.t, np.moveaxis(made.c, 0, made.axis), made.k, made.extrapolate, made.axis)
        what = "bc_type must not be 'periodic'; CubicSpline can be" if k >= 1 else f"k must be at least 1, got {k}"
        raise UnsupportedError(f"{name}: on variables {what}")
    x, y, axis = _points("make_interp_spline", x, y, axis)
    start, end = _derivatives(bc_type)
    n = np.shape(x)[0]
    if t is None:
        if not start and not end:
            if n <= k:
                raise ValueError(f"{name}: x must have more than k = {k} points, got {n}")
            t = bases.not_a_knot(x, k)
        else:
            t = bases.with_ends(x, k)
    t = as_one(t)
    if n + len(start) + len(end) != np.shape(t)[0] - k - 1:
        raise ValueError(
            f"{name}: {np.shape(t)[0] - k - 1} conditions are needed, got {n} points and {len(start) + len(end)} "
            "derivatives"
        )
    c = bases.interpolating_coefficients(t, k, x, y, start, end)
    return BSpline(t, np.moveaxis(c, 0, axis), k, True, axis)


def _derivatives(bc_type: Any) -> tuple[list[Any], list[Any]]:
    """The derivatives given at both ends, as lists of (order, value)."""
    if bc_type is None or bc_type == "not-a-knot":
        return [], []
    both = (bc_type, bc_type) if isinstance(bc_type, str) else bc_type
    found: list[list[Any]] = []
    for one in both:
        if isinstance(one, str):
            if one not in (*_NAMED, "not-a-knot"):
                raise ValueError(f"Unknown boundary condition: {one}")
            found.append([] if one == "not-a-knot" else [_NAMED[one]])
        else:
            found.append([] if one is None else [(int(order), as_one(value)) for order, value in one])
    first, last = found
    return first, last


def __getattr__(name: str) -> Any:
    """Import the splines of FITPACK and other interpolants, which are made of those here, on first use."""
    for room, names in (("data_interpolators", _FROM_DATA), ("fitted_splines", _FITTED)):
        if name in names:
            return globals().setdefault(name, pkgutil.resolve_name(f"contad.scipy.{room}:{name}"))
    refuse_missing(__name__, interpolate, name)
