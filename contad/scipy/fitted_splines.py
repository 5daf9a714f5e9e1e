"""Splines in the forms of FITPACK: `splrep` and its kin, `UnivariateSpline` and `RectBivariateSpline`.

FITPACK chooses the knots of a smoothing spline among the places of the data. A derivative keeps the choice, and moves
the knots with the places. Data, weights, places and s may be variables.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.ops import spline_bases as bases
from contad.ops._scipy import interpolate
from contad.scipy.interpolate import BSpline, make_interp_spline
from contad.scipy.mirroring import as_one, mirror_of
from contad.scipy.optimize.implicit import differentiate_root, take_primals
from contad.variables.array import numbers_in
from contad.variables.number import observe
from contad.variables.open_types import ArrayValue, Option, Real, Value

_mirror = mirror_of(interpolate)
_Spline = tuple[ArrayValue, ArrayValue, int]
_EXTENSIONS = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}


def _refuse(name: str, **options: Option) -> None:
    for key, value in options.items():
        if value is not None and value is not False and not (np.ndim(value) == 0 and value == 0):
            raise UnsupportedError(f"contad.scipy.interpolate.{name}: {key}= is not supported on variables")


def _pad(made: BSpline) -> _Spline:
    """(t, c, k) in FITPACK's form, where c is as long as t."""
    rest = np.shape(made.t)[0] - np.shape(made.c)[0]
    return made.t, np.concatenate([made.c, np.zeros((rest, *np.shape(made.c)[1:]))]), made.k


def _unpad(tck: Any, extrapolate: bool = True) -> BSpline:
    t, c, k = tck.tck if hasattr(tck, "tck") else tck
    return BSpline(t, as_one(c)[: np.shape(t)[0] - k - 1], k, extrapolate)


# ---- least squares and smoothing -------------------------------------------------------------------------------------
def _fit(t: ArrayValue, k: int, x: ArrayValue, y: ArrayValue, w: ArrayValue) -> ArrayValue:
    """The coefficients of the spline with knots t and the smallest sum of squares."""
    q, r = np.linalg.qr(w[:, None] * _design(t, k, x))
    wide = np.reshape(w, (-1,) + (1,) * (np.ndim(y) - 1))
    return np.linalg.solve(r, np.tensordot(np.transpose(q), wide * y, 1))


def _design(t: ArrayValue, k: int, x: ArrayValue, order: int = 0) -> ArrayValue:
    """The values of all B-splines at places (m,): (m, n)."""
    j = bases.find_intervals(t, k, x)
    chosen = (j[:, None] + np.arange(-k, 1))[:, :, None] == np.arange(np.shape(t)[0] - k - 1)
    return np.sum(bases.basis_values(t, k, x, j, order)[:, :, None] * chosen, axis=1)


def _jumps(t: ArrayValue, k: int) -> ArrayValue:
    """The jumps of the derivative of order k of all B-splines at the inner knots."""
    ends = t[k : np.shape(t)[0] - k]
    slopes = _design(t, k, 0.5 * (ends[1:] + ends[:-1]), k)
    return slopes[1:] - slopes[:-1]


def _smooth(name: str, x: ArrayValue, y: ArrayValue, w: ArrayValue, ends: Sequence[Any], k: int, s: Any) -> BSpline:
    """FITPACK's smoothing spline: the least jumps of its derivative of order k for a sum of squares s.

    With the jumps b and the values a of B-splines at the places, its coefficients are c in

        (a^T w^2 a + q b^T b) c = a^T w^2 y,     sum w^2 (y - a c)^2 = s

    FITPACK solves for q approximately. The derivative is that of the solution with the sum of squares that it found.
    """
    given = [take_primals(one) for one in (x, y, w, s)]
    if name == "splrep":
        (knots, c, _), found, status, message = interpolate().splrep(
            *given[:3], *ends, k=k, s=given[3], full_output=1, quiet=1
        )
        if status > 0:
            kind = ValueError if status == 10 else UnsupportedError
            raise kind(f"contad.scipy.interpolate.{name}: no spline was found to differentiate: {message}")
    else:  # which finds other knots
        made = interpolate().UnivariateSpline(*given[:3], list(ends), k, given[3])
        knots, c, found = made.get_knots(), made.get_coeffs(), made.get_residual()
        knots = np.concatenate([knots[:1]] * k + [knots] + [knots[-1:]] * k)
    low, high = (x[i] if end is None else end for i, end in zip((0, -1), ends, strict=True))
    place = np.searchsorted(given[0], knots[k + 1 : -k - 1])
    if k % 2:
        inner = x[place]
        if np.any(given[0][place] != knots[k + 1 : -k - 1]):
            raise UnsupportedError(f"contad.scipy.interpolate.{name}: the knots are not places of the data")
    elif numbers_in(x):
        raise UnsupportedError(f"contad.scipy.interpolate.{name}: k must be odd where x is a variable, got {k}")
    else:
        inner = knots[k + 1 : -k - 1]
    t = np.concatenate([np.broadcast_to(low, (k + 1,)), inner, np.broadcast_to(high, (k + 1,))])
    if not len(place):
        return BSpline(t, _fit(t, k, x, y, w), k)
    aim = s * (found / given[3])

    def solve(q: Any, t: ArrayValue, x: ArrayValue, y: ArrayValue, w: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
        a, b = w[:, None] * _design(t, k, x), _jumps(t, k)
        matrix = np.matmul(np.transpose(a), a) + q * np.matmul(np.transpose(b), b)
        c = np.linalg.solve(matrix, np.matmul(np.transpose(a), w * y))
        return c, np.sum((w * y - np.matmul(a, c)) ** 2)

    def difference(log_q: Any, aim: Real, *rest: ArrayValue) -> Real:
        return np.log(solve(np.exp(log_q), *rest)[1] / aim)

    a, b = given[2][:, None] * _design(knots, k, given[0]), _jumps(knots, k)
    c = c[: len(knots) - k - 1]
    pulls, bends = a.T @ (given[2] * given[1] - a @ c), b.T @ (b @ c)
    q = float(pulls @ bends / (bends @ bends))
    log_q = differentiate_root(name, difference, float(np.log(q)), (aim, t, x, y, w), True, "")
    return BSpline(t, solve(np.exp(log_q), t, x, y, w)[0], k)


def make_lsq_spline(
    x: ArrayValue, y: ArrayValue, t: ArrayValue, k: int = 3, w: ArrayValue | None = None, axis: int = 0,
    check_finite: bool = True, *, method: str = "qr",
) -> BSpline:  # fmt: skip
    """The spline with given knots that is nearest to points.

        f minimises sum_i w_i^2 (f(x_i) - y_i)^2,     f = sum_j c_j B_(j,k) of `BSpline`

    Shapes:  x, w (m,), y (..., m, ...) with m in `axis`, t (n + k + 1,) -> a `BSpline`.
    Domain:  x that does not decrease, with a place in the support of each B-spline (Schoenberg-Whitney).
    Raises:  ValueError for shapes that do not fit.
    Cost:    O(m n^2), and so is a sweep.
    Ref:     de Boor (2001), A Practical Guide to Splines, chapter XIV; scipy.interpolate.make_lsq_spline.

    >>> f = make_lsq_spline(np.arange(6.0), np.arange(6.0) ** 2, [0.0, 0.0, 0.0, 5.0, 5.0, 5.0], k=2)
    >>> round(float(f(1.5)), 6)
    2.25
    """
    x, y, t = as_one(x), as_one(y), as_one(t)
    w = np.ones(np.shape(x)) if w is None else as_one(w)
    axis %= np.ndim(y)
    y = np.moveaxis(y, axis, 0)
    if np.ndim(x) != 1 or np.shape(y)[0] != np.shape(x)[0] or np.shape(w) != np.shape(x):
        raise ValueError(
            f"contad.scipy.interpolate.make_lsq_spline: shapes of x {np.shape(x)}, y {np.shape(y)} and w "
            f"{np.shape(w)} do not fit"
        )
    return BSpline(t, np.moveaxis(_fit(t, k, x, y, w), 0, axis), k, True, axis)


# ---- FITPACK's functions ---------------------------------------------------------------------------------------------
@_mirror
def splrep(
    x: ArrayValue, y: ArrayValue, w: ArrayValue | None = None, xb: Real = None, xe: Real = None, k: int = 3,
    task: int = 0, s: Real = None, t: ArrayValue | None = None, full_output: int = 0, per: int = 0, quiet: int = 1,
) -> _Spline:  # fmt: skip
    """(t, c, k): the spline of degree k through points, or near them.

        f(x_i) = y_i where s = 0;     otherwise sum_i w_i^2 (f(x_i) - y_i)^2 = s, with the least jumps of f^(k)

    With inner knots t (task = -1) it has the least sum of squares. FITPACK meets s up to 0.1 %, and the derivative is
    that for the sum which it found.

    Shapes:  x, y, w (m,) -> t (n + k + 1,), c (n + k + 1,).
    Domain:  increasing x, w > 0.
    Raises:  UnsupportedError on variables for `full_output` and `per`, and where FITPACK finds no spline; ValueError
             for points that do not increase.
    Cost:    O(m k^2) where s = 0, otherwise O(m n^2).
    Ref:     Dierckx (1993), Curve and Surface Fitting with Splines; scipy.interpolate.splrep.

    >>> t, c, k = splrep([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 27.0])
    >>> round(float(splev(1.5, (t, c, k))), 6)
    3.375
    """
    _refuse("splrep", full_output=full_output, per=per)
    m = np.shape(x)[0]
    s = (0.0 if w is None else m - np.sqrt(2 * m)) if s is None else s
    x, y, w = as_one(x), as_one(y), np.ones(m) if w is None else as_one(w)
    if task == -1 or t is not None:
        low, high = x[0] if xb is None else xb, x[-1] if xe is None else xe
        whole = np.concatenate([np.broadcast_to(low, (k + 1,)), as_one(t), np.broadcast_to(high, (k + 1,))])
        return _pad(make_lsq_spline(x, y, whole, k, w))
    _refuse("splrep", task=task)
    if not numbers_in(s) and s == 0.0:
        _refuse("splrep", xb=xb, xe=xe)
        return _pad(make_interp_spline(x, y, k))
    return _pad(_smooth("splrep", x, y, w, (xb, xe), k, s))


@_mirror
def splprep(
    x: Sequence[ArrayValue], w: ArrayValue | None = None, u: ArrayValue | None = None, ub: Real = None,
    ue: Real = None, k: int = 3, task: int = 0, s: Real = None, **options: Option,
) -> tuple[Any, ArrayValue]:  # fmt: skip
    """((t, c, k), u): the spline curve through points, and their parameters; s must be 0 on variables.

        f(u_i) = x_i,     u_i = sum_(j <= i) |x_j - x_(j-1)| / sum_j |x_j - x_(j-1)| if u is None

    Shapes:  d vectors x (m,) -> t (m + k + 1,), a list of d vectors c, u (m,).
    Domain:  neighbouring points that differ.
    Raises:  UnsupportedError on variables for s other than 0 and other options.
    Cost:    O(m k^2).
    Ref:     Dierckx (1993), Curve and Surface Fitting with Splines; scipy.interpolate.splprep.

    >>> tck, u = splprep([np.array([0.0, 3.0, 3.0, 0.0]), np.array([0.0, 4.0, 9.0, 9.0])], s=0)
    >>> u.round(6), [round(float(z), 6) for z in splev(0.5, tck)]
    (array([0.      , 0.384615, 0.769231, 1.      ]), [3.485625, 5.775625])
    """
    _refuse("splprep", ub=ub, ue=ue, task=task, **{key: x for key, x in options.items() if key != "quiet"})
    if s is None or numbers_in(s) or s != 0.0:
        raise UnsupportedError("contad.scipy.interpolate.splprep: on variables s must be 0")
    points = np.stack([as_one(one) for one in x], axis=1)
    if u is None:
        lengths = np.cumsum(np.linalg.norm(points[1:] - points[:-1], axis=1))
        u = np.concatenate([np.zeros(1), lengths / lengths[-1]])
    made = make_interp_spline(as_one(u), points, k)
    return (made.t, [made.c[:, i] for i in range(np.shape(points)[1])], made.k), as_one(u)


@_mirror
def splev(x: ArrayValue, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """The values of a spline at places, or its derivatives of order der; of a curve a list.

        z = sum_j c_j B_(j,k)(x), or its derivative

    Outside the ends, ext says what there is: 0 the outermost polynomial, 1 zero, 2 an error, 3 the value at the end.

    Shapes:  x (...) -> (...).
    Domain:  every x.
    Raises:  ValueError outside the ends for ext = 2.
    Cost:    O(k^2) for each place.
    Ref:     scipy.interpolate.splev.

    >>> round(float(splev(1.5, splrep([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 27.0]), der=1)), 6)
    6.75
    """
    if not hasattr(tck, "tck") and isinstance(tck[1], list) and np.ndim(tck[1][0]):
        return [splev(x, (tck[0], c, tck[2]), der, ext) for c in tck[1]]
    made, at = _unpad(tck), as_one(x)
    low, high = made.t[made.k], made.t[np.shape(made.t)[0] - made.k - 1]
    outside = observe(lambda x, a, b: (x < a) | (x > b), at, low, high)
    if ext == 2 and np.any(outside):
        raise ValueError("contad.scipy.interpolate.splev: x must be between the ends for ext = 2")
    z = made(np.clip(at, low, high) if ext == 3 else at, der)
    return np.where(outside, 0.0, z) if ext == 1 else z


@_mirror
def splint(a: Real, b: Real, tck: Any, full_output: int = 0) -> Real:
    """The integral of a spline, which counts as 0 outside its ends.

        z = integral of sum_j c_j B_(j,k)(x) from a to b,     a_bar = -z_bar f(a), b_bar = z_bar f(b)

    Shapes:  a, b numbers -> a number.
    Domain:  every a and b.
    Raises:  UnsupportedError for `full_output` on variables.
    Cost:    O(n).
    Ref:     scipy.interpolate.splint.

    >>> round(float(splint(0.0, 2.0, splrep([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 27.0]))), 6)
    4.0
    """
    _refuse("splint", full_output=full_output)
    return _unpad(tck, False).integrate(a, b)


@_mirror
def splder(tck: Any, n: int = 1) -> Any:
    """The derivative of order n of a spline, as a spline.

        f^(n) = sum_j c_j B_(j,k-n)

    Shapes:  (t, c, k) -> (t, c, k - n).
    Domain:  n from 0 to k.
    Raises:  UnsupportedError for other n.
    Cost:    O(n_knots).
    Ref:     scipy.interpolate.splder.

    >>> round(float(splev(1.5, splder(splrep([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 27.0])))), 6)
    6.75
    """
    return _pad(_unpad(tck).derivative(n))


@_mirror
def splantider(tck: Any, n: int = 1) -> Any:
    """The integral of order n of a spline, as a spline that is 0 at the first knot.

        f^(-n) = sum_j c_j B_(j,k+n)

    Shapes:  (t, c, k) -> (t, c, k + n).
    Domain:  every n >= 0.
    Cost:    O(n_knots).
    Ref:     scipy.interpolate.splantider.

    >>> round(float(splev(2.0, splantider(splrep([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 27.0])))), 6)
    4.0
    """
    return _pad(_unpad(tck).antiderivative(n))


# ---- objects ---------------------------------------------------------------------------------------------------------
def _fit_like_class(x: ArrayValue, y: ArrayValue, w: ArrayValue | None, xb: Any, xe: Any, k: int, s: Any) -> _Spline:
    """The spline of UnivariateSpline, whose knots for s other than 0 are not always those of splrep."""
    if not numbers_in(s) and s == 0.0:
        return splrep(x, y, w, xb, xe, k, s=s)
    w = np.ones(np.shape(x)) if w is None else as_one(w)
    return _pad(_smooth("UnivariateSpline", as_one(x), as_one(y), w, (xb, xe), k, s))


class UnivariateSpline:
    """A spline near points, as an object.

        f = `splrep(x, y, w, k=k, s=s)`,     s = m if it is None

    Shapes:  x, y, w (m,) -> at places (...): (...).
    Domain:  increasing x, w > 0.
    Raises:  like `splrep`.
    Cost:    that of `splrep`.
    Ref:     Dierckx (1993), Curve and Surface Fitting with Splines; scipy.interpolate.UnivariateSpline.

    >>> f = UnivariateSpline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 27.0], s=0)
    >>> round(float(f(1.5)), 6), round(float(f.integral(0.0, 2.0)), 6)
    (3.375, 4.0)
    """

    _plain: Any = None

    def __init__(
        self, x: ArrayValue, y: ArrayValue, w: ArrayValue | None = None, bbox: Sequence[Any] = (None, None),
        k: int = 3, s: Real = None, ext: Any = 0, check_finite: bool = False,
    ) -> None:  # fmt: skip
        s = float(np.shape(x)[0]) if s is None else s
        self._make(_fit_like_class, (x, y, w, *bbox, k, s), (x, y, w), ext, bbox=list(bbox), k=k, s=s)

    def _make(self, fit: Any, args: tuple[Any, ...], given: tuple[Any, ...], ext: Any, **options: Any) -> None:
        self.ext = _EXTENSIONS.get(ext, ext)
        if not any(map(numbers_in, (*args, *options.values()))):
            kind = getattr(interpolate(), type(self).__name__)
            self._plain = kind(*given, ext=ext, **options)
            t, c = self._plain.get_knots(), self._plain.get_coeffs()
            whole = np.concatenate([t[:1]] * options["k"] + [t] + [t[-1:]] * options["k"])
            self.tck = whole, np.append(c, np.zeros(len(whole) - len(c))), options["k"]
        else:
            self.tck = fit(*args)

    def _as_spline(self, tck: _Spline) -> "UnivariateSpline":
        made = object.__new__(UnivariateSpline)
        made.tck, made.ext = tck, self.ext
        return made

    def __getattr__(self, name: str) -> Any:
        """Other attributes come from SciPy's object, if there is one."""
        if name[:2] == "__" or self._plain is None:
            raise AttributeError(f"contad.scipy.interpolate.UnivariateSpline has no {name!r} that is differentiated")
        return getattr(self._plain, name)

    def __call__(self, x: ArrayValue, nu: int = 0, ext: Any = None) -> ArrayValue:
        """The values at places, or the derivatives of order nu."""
        if self._plain is not None and not numbers_in(x):
            return self._plain(x, nu, ext)
        return splev(x, self.tck, nu, self.ext if ext is None else _EXTENSIONS.get(ext, ext))

    def integral(self, a: Real, b: Real) -> Real:
        """The integral from a to b of the spline, which counts as 0 outside its ends."""
        return splint(a, b, self.tck)

    def derivative(self, n: int = 1) -> "UnivariateSpline":
        """The derivative of order n."""
        return self._as_spline(splder(self.tck, n))

    def antiderivative(self, n: int = 1) -> "UnivariateSpline":
        """The integral of order n that is 0 at the first knot."""
        return self._as_spline(splantider(self.tck, n))

    def derivatives(self, x: Real) -> ArrayValue:
        """The value and all derivatives at one place."""
        if self._plain is not None and not numbers_in(x):
            return self._plain.derivatives(x)
        return np.stack([splev(x, self.tck, nu) for nu in range(self.tck[2] + 1)])

    def get_knots(self) -> ArrayValue:
        """The inner knots with both ends."""
        t, _, k = self.tck
        return t[k : np.shape(t)[0] - k]

    def get_coeffs(self) -> ArrayValue:
        """The coefficients."""
        t, c, k = self.tck
        return c[: np.shape(t)[0] - k - 1]


class InterpolatedUnivariateSpline(UnivariateSpline):
    """The spline of degree k through points, as an object.

        f(x_i) = y_i

    Shapes:  x, y (m,) -> at places (...): (...).
    Domain:  increasing x.
    Raises:  ValueError for points that do not increase; UnsupportedError on variables for `bbox`.
    Cost:    O(m k^2).
    Ref:     Dierckx (1993), Curve and Surface Fitting with Splines; scipy.interpolate.InterpolatedUnivariateSpline.

    >>> f = InterpolatedUnivariateSpline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 27.0])
    >>> round(float(f(1.5)), 6)
    3.375
    """

    def __init__(
        self, x: ArrayValue, y: ArrayValue, w: ArrayValue | None = None, bbox: Sequence[Any] = (None, None),
        k: int = 3, ext: Any = 0, check_finite: bool = False,
    ) -> None:  # fmt: skip
        self._make(splrep, (x, y, None, *bbox, k, 0, 0.0), (x, y, w), ext, bbox=list(bbox), k=k)


class LSQUnivariateSpline(UnivariateSpline):
    """The spline with given inner knots that is nearest to points, as an object.

        f = `make_lsq_spline` with the knots t and k + 1 at both ends

    Shapes:  x, y, w (m,), t (n - k - 1,) -> at places (...): (...).
    Domain:  that of `make_lsq_spline`.
    Raises:  ValueError for knots that do not fit.
    Cost:    O(m n^2).
    Ref:     Dierckx (1993), Curve and Surface Fitting with Splines; scipy.interpolate.LSQUnivariateSpline.

    >>> f = LSQUnivariateSpline(np.arange(6.0), np.arange(6.0) ** 2, [2.5], k=2)
    >>> round(float(f(1.5)), 6)
    2.25
    """

    def __init__(
        self, x: ArrayValue, y: ArrayValue, t: ArrayValue, w: ArrayValue | None = None,
        bbox: Sequence[Any] = (None, None), k: int = 3, ext: Any = 0, check_finite: bool = False,
    ) -> None:  # fmt: skip
        self._make(splrep, (x, y, w, *bbox, k, -1, None, t), (x, y, t, w), ext, bbox=list(bbox), k=k)


class RectBivariateSpline:
    """The spline of two variables through values on a grid; s must be 0 on variables.

        f(x_i, y_j) = z_ij,     f = sum_ij c_ij B_(i,kx)(x) B_(j,ky)(y)

    Places beyond the grid are moved to its edge, as FITPACK does.

    Shapes:  x (m,), y (n,), z (m, n) -> at places (p,), (q,): (p, q); at pairs (...): (...) with grid=False or `ev`.
    Domain:  increasing x and y.
    Raises:  ValueError for shapes that do not fit; UnsupportedError on variables for `bbox` and s other than 0.
    Cost:    O(m n (kx + ky)), and (kx + 1) (ky + 1) elements for each place.
    Ref:     Dierckx (1993), Curve and Surface Fitting with Splines; scipy.interpolate.RectBivariateSpline.

    >>> f = RectBivariateSpline(np.arange(4.0), np.arange(5.0), np.outer(np.arange(4.0), np.arange(5.0) ** 2))
    >>> round(float(f.ev(1.5, 2.5)), 6), round(float(f.ev(1.5, 2.5, dy=1)), 6)
    (9.375, 7.5)
    """

    _plain: Any = None

    def __init__(
        self, x: ArrayValue, y: ArrayValue, z: ArrayValue, bbox: Sequence[Any] = (None,) * 4, kx: int = 3, ky: int = 3,
        s: Real = 0, **options: Option,
    ) -> None:  # fmt: skip
        if not any(map(numbers_in, (x, y, z, s, list(bbox)))):
            self._plain = interpolate().RectBivariateSpline(x, y, z, list(bbox), kx, ky, s, **options)
        if numbers_in(s) or s or any(one is not None for one in bbox):
            if self._plain is None:
                raise UnsupportedError("contad.scipy.interpolate.RectBivariateSpline: s and bbox take no variables")
            tx, ty, c = self._plain.tck
            c = np.reshape(c, (len(tx) - kx - 1, len(ty) - ky - 1))
            self._axes = [(tx, kx), (ty, ky)]
        else:
            first = make_interp_spline(x, as_one(z), kx)
            second = make_interp_spline(y, np.moveaxis(first.c, 1, 0), ky)
            c, self._axes = np.moveaxis(second.c, 1, 0), [(first.t, kx), (second.t, ky)]
        self._c = c

    def __getattr__(self, name: str) -> Any:
        """Other attributes come from SciPy's object, if there is one."""
        if name[:2] == "__" or self._plain is None:
            raise AttributeError(f"contad.scipy.interpolate.RectBivariateSpline has no {name!r} that is differentiated")
        return getattr(self._plain, name)

    def __call__(self, x: ArrayValue, y: ArrayValue, dx: int = 0, dy: int = 0, grid: bool = True) -> ArrayValue:
        """The values on the grid of places, or at pairs of places; or derivatives."""
        if self._plain is not None and not numbers_in(x) and not numbers_in(y):
            return self._plain(x, y, dx, dy, grid)
        x, y = np.atleast_1d(as_one(x)) if grid else as_one(x), np.atleast_1d(as_one(y)) if grid else as_one(y)
        c, axes = self._c, []
        for axis, (t, k), nu in zip((0, 1), self._axes, (dx, dy), strict=True):
            made = BSpline(t, c, k, axis=axis).derivative(nu)
            c = np.moveaxis(made.c, 0, axis)
            axes.append((made.t, made.k))
        x, y = (np.clip(at, t[k], t[np.shape(t)[0] - k - 1]) for at, (t, k) in zip((x, y), axes, strict=True))
        x, y = np.broadcast_arrays(x[:, None], y[None, :]) if grid else np.broadcast_arrays(x, y)
        shape, places, weights = np.shape(x), [], []
        for at, (t, k) in zip((x, y), axes, strict=True):
            flat = np.reshape(at, (-1,))
            j = bases.find_intervals(t, k, flat)
            places.append(j[:, None] + np.arange(-k, 1))
            weights.append(bases.basis_values(t, k, flat, j))
        return np.reshape(bases.sum_corners(c, places, weights), shape)

    def ev(self, xi: ArrayValue, yi: ArrayValue, dx: int = 0, dy: int = 0) -> ArrayValue:
        """The values at pairs of places, or derivatives."""
        return self(xi, yi, dx, dy, grid=False)

    def integral(self, xa: Real, xb: Real, ya: Real, yb: Real) -> Value:
        """The integral over a rectangle; f counts as 0 beyond the grid."""
        if self._plain is not None and not any(map(numbers_in, (xa, xb, ya, yb))):
            return self._plain.integral(xa, xb, ya, yb)
        (tx, kx), (ty, ky) = self._axes
        return BSpline(ty, BSpline(tx, self._c, kx, False).integrate(xa, xb), ky, False).integrate(ya, yb)
