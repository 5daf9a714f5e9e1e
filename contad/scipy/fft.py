"""`scipy.fft` on variables: Fourier, cosine, sine and Hankel transforms, with SciPy's names and arguments.

Every transform is linear: its reverse is another transform, at the same cost. A complex array has the gradient
dL/dx + i dL/dy. If nothing is a variable, SciPy's own functions are called. Options that only save memory or choose
threads have no influence on derivatives; a sweep uses as many `workers` as the call.

>>> import contad
>>> contad.grad(lambda x: np.sum(np.abs(fft(x)) ** 2))(np.array([1.0, 2.0, 3.0]))
array([ 6., 12., 18.])
"""

import operator
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.ops._scipy import fft as _scipy_fft
from contad.ops.fourier_transforms import transform
from contad.ops.real_transforms import transform_by_bessels, transform_by_cosines
from contad.scipy.mirroring import as_one, mirror_of, refuse_missing
from contad.variables.complex_pair import is_complex, join, split
from contad.variables.open_types import ArrayValue, Option, Value

__all__ = [
    "dct", "dctn", "dst", "dstn", "fft", "fft2", "fftn", "fftshift", "fht", "hfft", "hfft2", "hfftn", "idct",
    "idctn", "idst", "idstn", "ifft", "ifft2", "ifftn", "ifftshift", "ifht", "ihfft", "ihfft2", "ihfftn", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftn",
]  # fmt: skip

_mirror = mirror_of(_scipy_fft)
_CONSTANTS = frozenset(("fftfreq", "fhtoffset", "next_fast_len", "prev_fast_len", "rfftfreq"))  # SciPy's own


def _integers(x: Option) -> tuple[int, ...] | None:
    """Lengths or axes, of which SciPy takes one or several."""
    if x is None:
        return None
    return tuple(map(operator.index, x)) if np.iterable(x) else (operator.index(x),)


def _along(name: str, x: Value, s: Option, axes: Option, norm: Option, workers: Option, plan: Option = None) -> Any:
    """The Fourier transform of that name along axes."""
    if plan is not None:
        raise UnsupportedError("contad.scipy.fft: plan must be None, as in SciPy, which has no plans")
    x = as_one(x)
    axes = _integers(axes)
    _check_axes(x, axes)
    return transform(name, x, _integers(s), axes, norm, workers)


def _check_axes(x: ArrayValue, axes: tuple[int, ...] | None) -> None:
    if axes is not None and len({k % max(np.ndim(x), 1) for k in axes}) < len(axes):
        raise ValueError("all axes must be unique")


# ---- along one axis --------------------------------------------------------------------------------------------------
@_mirror
def fft(
    x: ArrayValue, n: Option = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, *, plan: Option = None,
) -> Value:  # fmt: skip
    """The Fourier transform of a real or complex array along an axis.

        z_k = c sum_j x_j exp(-2 pi i j k / n)
        x_bar_j = c sum_k z_bar_k exp(2 pi i j k / n), its real part for real x
        c = 1 for norm "backward" or None, 1 / sqrt(n) for "ortho", 1 / n for "forward"

    Shapes:  x (..., m, ...) -> (..., n, ...), cut or padded with zeros to n; n = m if not given.
    Domain:  every x; n >= 1.
    Raises:  ValueError for another norm, n < 1, and an axis that x lacks; UnsupportedError for a plan.
    Cost:    O(n log n); a sweep the same.
    Ref:     Cooley & Tukey (1965), Mathematics of Computation 19; scipy.fft.fft.

    >>> fft(np.array([1.0 + 1.0j, 2.0]))
    array([ 3.+1.j, -1.+1.j])
    """
    return _along("fftn", x, n, axis, norm, workers, plan)


@_mirror
def ifft(
    x: ArrayValue, n: Option = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, *, plan: Option = None,
) -> Value:  # fmt: skip
    """The inverse of `fft`.

        z_j = c sum_k x_k exp(2 pi i j k / n),     x_bar_k = c sum_j z_bar_j exp(-2 pi i j k / n)
        c = 1 / n for norm "backward" or None, 1 / sqrt(n) for "ortho", 1 for "forward"

    Shapes, Domain, Raises, Cost:  as `fft`.
    Ref:     scipy.fft.ifft.

    >>> ifft(np.array([3.0 + 1.0j, -1.0]))
    array([1.+0.5j, 2.+0.5j])
    """
    return _along("ifftn", x, n, axis, norm, workers, plan)


@_mirror
def rfft(
    x: ArrayValue, n: Option = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, *, plan: Option = None,
) -> Value:  # fmt: skip
    """The first half of `fft` of a real array; the other half is its conjugate.

        z_k = c sum_j x_j exp(-2 pi i j k / n) for k <= n / 2,     x_bar_j = Re c sum_k z_bar_k exp(2 pi i j k / n)

    Shapes:  x (..., m, ...) -> (..., n // 2 + 1, ...), cut or padded with zeros to n; n = m if not given.
    Domain:  every real x; n >= 1.
    Raises:  TypeError for complex x; otherwise as `fft`.
    Cost:    O(n log n), half of `fft`; a sweep the same.
    Ref:     scipy.fft.rfft.

    >>> np.abs(rfft(np.array([1.0, 2.0, 4.0, 7.0]))).round(6)
    array([14.      ,  5.830952,  4.      ])
    """
    return _along("rfftn", x, n, axis, norm, workers, plan)


@_mirror
def irfft(
    x: ArrayValue, n: Option = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, *, plan: Option = None,
) -> Value:  # fmt: skip
    """The inverse of `rfft`. The imaginary parts of x_0, and of x_(n / 2) for even n, count as 0.

        z_j = c (x_0 + 2 Re sum_(0 < k < n / 2) x_k exp(2 pi i j k / n) + (-1)^j x_(n / 2)), the last term for even n
        x_bar_k = 2 c sum_j z_bar_j exp(-2 pi i j k / n), half of it for k = 0 and k = n / 2

    Shapes:  x (..., m, ...) -> (..., n, ...), cut or padded with zeros to n // 2 + 1; n = 2 (m - 1) if not given.
    Domain:  every x; n >= 1.
    Raises:  as `fft`.
    Cost:    O(n log n), half of `fft`; a sweep the same.
    Ref:     scipy.fft.irfft.

    >>> irfft(np.array([15.0, -3.0 + 6.0j, -5.0]))
    array([1., 2., 4., 8.])
    """
    return _along("irfftn", x, n, axis, norm, workers, plan)


@_mirror
def hfft(
    x: ArrayValue, n: Option = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, *, plan: Option = None,
) -> Value:  # fmt: skip
    """The real transform of a signal that is given by its first half, because its other half is the conjugate.

        z_k = c (x_0 + 2 Re sum_(0 < j < n / 2) x_j exp(-2 pi i j k / n) + (-1)^k x_(n / 2)), the last term for even n
        x_bar_j = 2 c sum_k z_bar_k exp(2 pi i j k / n), half of it for j = 0 and j = n / 2

    Shapes, Domain, Raises, Cost:  as `irfft`.
    Ref:     scipy.fft.hfft.

    >>> hfft(np.array([1.0, 2.0 - 1.0j, 3.0]))
    array([ 8., -4.,  0.,  0.])
    """
    return _along("hfftn", x, n, axis, norm, workers, plan)


@_mirror
def ihfft(
    x: ArrayValue, n: Option = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, *, plan: Option = None,
) -> Value:  # fmt: skip
    """The inverse of `hfft`: the first half of `ifft` of a real array.

        z_j = c sum_k x_k exp(2 pi i j k / n) for j <= n / 2,     x_bar_k = Re c sum_j z_bar_j exp(-2 pi i j k / n)

    Shapes, Domain, Raises, Cost:  as `rfft`.
    Ref:     scipy.fft.ihfft.

    >>> ihfft(np.array([8.0, -4.0, 0.0, 0.0])).real
    array([1., 2., 3.])
    """
    return _along("ihfftn", x, n, axis, norm, workers, plan)


# ---- along two axes --------------------------------------------------------------------------------------------------
@_mirror
def fft2(
    x: ArrayValue, s: Option = None, axes: Option = (-2, -1), norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, *, plan: Option = None,
) -> Value:  # fmt: skip
    """`fftn` along two axes, by default the last ones."""
    return _along("fftn", x, s, axes, norm, workers, plan)


@_mirror
def ifft2(
    x: ArrayValue, s: Option = None, axes: Option = (-2, -1), norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, *, plan: Option = None,
) -> Value:  # fmt: skip
    """`ifftn` along two axes, by default the last ones."""
    return _along("ifftn", x, s, axes, norm, workers, plan)


@_mirror
def rfft2(
    x: ArrayValue, s: Option = None, axes: Option = (-2, -1), norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, *, plan: Option = None,
) -> Value:  # fmt: skip
    """`rfftn` along two axes, by default the last ones."""
    return _along("rfftn", x, s, axes, norm, workers, plan)


@_mirror
def irfft2(
    x: ArrayValue, s: Option = None, axes: Option = (-2, -1), norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, *, plan: Option = None,
) -> Value:  # fmt: skip
    """`irfftn` along two axes, by default the last ones."""
    return _along("irfftn", x, s, axes, norm, workers, plan)


@_mirror
def hfft2(
    x: ArrayValue, s: Option = None, axes: Option = (-2, -1), norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, *, plan: Option = None,
) -> Value:  # fmt: skip
    """`hfftn` along two axes, by default the last ones."""
    return _along("hfftn", x, s, axes, norm, workers, plan)


@_mirror
def ihfft2(
    x: ArrayValue, s: Option = None, axes: Option = (-2, -1), norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, *, plan: Option = None,
) -> Value:  # fmt: skip
    """`ihfftn` along two axes, by default the last ones."""
    return _along("ihfftn", x, s, axes, norm, workers, plan)


# ---- along any axes --------------------------------------------------------------------------------------------------
@_mirror
def fftn(
    x: ArrayValue, s: Option = None, axes: Option = None, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, *, plan: Option = None,
) -> Value:  # fmt: skip
    """`fft` along several axes, by default along all, or along the last len(s).

        z = F_1 ... F_d x, F_i along axis i,     x_bar = F_1^H ... F_d^H z_bar, its real part for real x

    Shapes:  x (..., m_i, ...) -> (..., n_i, ...), cut or padded with zeros to s = (n_1, ..., n_d).
    Domain:  every x; lengths of at least 1.
    Raises:  ValueError as `fft`, and if an axis is repeated or s and axes differ in length.
    Cost:    O(n log n) for the n elements of z; a sweep the same.
    Ref:     scipy.fft.fftn.

    >>> fftn(np.array([[1.0 + 1.0j, 2.0], [4.0, 8.0]]))
    array([[15.+1.j, -5.+1.j],
           [-9.+1.j,  3.+1.j]])
    """
    return _along("fftn", x, s, axes, norm, workers, plan)


@_mirror
def ifftn(
    x: ArrayValue, s: Option = None, axes: Option = None, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, *, plan: Option = None,
) -> Value:  # fmt: skip
    """`ifft` along several axes: the inverse of `fftn`, with the same arguments."""
    return _along("ifftn", x, s, axes, norm, workers, plan)


@_mirror
def rfftn(
    x: ArrayValue, s: Option = None, axes: Option = None, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, *, plan: Option = None,
) -> Value:  # fmt: skip
    """`rfft` along the last of the axes, then `fft` along the others.

        z = F_1 ... F_(d - 1) R_d x,     x_bar = R_d^T F_(d - 1)^H ... F_1^H z_bar

    Shapes:  x (..., m_i, ...) -> (..., n_i, ...), and n_d // 2 + 1 along the last axis.
    Domain, Raises, Cost:  as `fftn`; TypeError for complex x.
    Ref:     scipy.fft.rfftn.

    >>> rfftn(np.array([[1.0, 2.0], [4.0, 8.0]])).real
    array([[15., -5.],
           [-9.,  3.]])
    """
    return _along("rfftn", x, s, axes, norm, workers, plan)


@_mirror
def irfftn(
    x: ArrayValue, s: Option = None, axes: Option = None, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, *, plan: Option = None,
) -> Value:  # fmt: skip
    """`ifft` along all of the axes but the last, then `irfft` along the last: the inverse of `rfftn`.

        z = R_d^+ F_(d - 1)^-1 ... F_1^-1 x,     x_bar: `rfftn` of z_bar, with weights as in `irfft`

    Shapes:  x (..., m_i, ...) -> (..., n_i, ...); n_d = 2 (m_d - 1) if s is not given.
    Domain, Raises, Cost:  as `fftn`.
    Ref:     scipy.fft.irfftn.

    >>> irfftn(np.array([[15.0, -5.0], [-9.0, 3.0]]))
    array([[1., 2.],
           [4., 8.]])
    """
    return _along("irfftn", x, s, axes, norm, workers, plan)


@_mirror
def hfftn(
    x: ArrayValue, s: Option = None, axes: Option = None, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, *, plan: Option = None,
) -> Value:  # fmt: skip
    """`fft` along all of the axes but the last, then `hfft` along the last; arguments as `irfftn`."""
    return _along("hfftn", x, s, axes, norm, workers, plan)


@_mirror
def ihfftn(
    x: ArrayValue, s: Option = None, axes: Option = None, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, *, plan: Option = None,
) -> Value:  # fmt: skip
    """`ihfft` along the last of the axes, then `ifft` along the others; arguments as `rfftn`."""
    return _along("ihfftn", x, s, axes, norm, workers, plan)


# ---- cosines and sines -----------------------------------------------------------------------------------------------
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _by_cosines(
    x: Value, sine: bool, inverse: bool, type: int, s: Option, axes: Option, norm: Option, workers: Option,
    orthogonalize: Option,
) -> Value:  # fmt: skip
    """The transform by cosines or sines; the inverse is that of the inverse type with the norm of its direction."""
    x, s, axes = as_one(x), _integers(s), _integers(axes)
    _check_axes(x, axes)
    if axes is None:
        axes = tuple(range(np.ndim(x)) if s is None else range(np.ndim(x) - len(s), np.ndim(x)))
    if s is None:
        s = tuple(np.shape(x)[k] for k in axes)
    if not axes:
        return x
    orthogonal = norm == "ortho" if orthogonalize is None else bool(orthogonalize)
    type, norm = (_INVERSE.get(type, type), _SWAPPED.get(norm, norm)) if inverse else (type, norm or "backward")
    options: Any = {"s": s, "axes": axes, "norm": norm, "orthogonal": orthogonal, "workers": workers}
    if not is_complex(x):
        return transform_by_cosines(x, sine=sine, type=type, **options)
    if orthogonal != (norm == "ortho"):
        raise UnsupportedError(
            "contad.scipy.fft: orthogonalize must be None for complex arrays, where SciPy leaves it out; transform "
            "x.real and x.imag"
        )
    return join(*(transform_by_cosines(part, sine=sine, type=type, **options) for part in split(x)))


@_mirror
def dct(
    x: ArrayValue, type: int = 2, n: Option = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, orthogonalize: bool | None = None,
) -> Value:  # fmt: skip
    """The transform by cosines along an axis; of each part of complex x.

        type 1:  z_k = x_0 + (-1)^k x_(n - 1) + 2 sum_(0 < j < n - 1) x_j cos(pi j k / (n - 1))
        type 2:  z_k = 2 sum_j x_j cos(pi (2 j + 1) k / (2 n))
        type 3:  z_k = x_0 + 2 sum_(j > 0) x_j cos(pi (2 k + 1) j / (2 n))
        type 4:  z_k = 2 sum_j x_j cos(pi (2 k + 1) (2 j + 1) / (4 n))
        x_bar: the transform of the transposed type (2 and 3 exchanged), with weights at the ends

    Shapes:  x (..., m, ...) -> (..., n, ...), cut or padded with zeros to n; n = m if not given.
    Domain:  every x; n >= 1, n >= 2 for type 1.
    Raises:  ValueError for another type or norm, and n < 1; RuntimeError for n = 1 in type 1; UnsupportedError for
             complex x and orthogonalize=, which SciPy leaves out there.
    Cost:    O(n log n); a sweep the same.
    Ref:     Makhoul (1980), IEEE Transactions on Acoustics, Speech, and Signal Processing 28; scipy.fft.dct.

    >>> dct(np.array([1.0, 2.0])).round(6)
    array([ 6.      , -1.414214])
    """
    return _by_cosines(x, False, False, type, n, axis, norm, workers, orthogonalize)


@_mirror
def idct(
    x: ArrayValue, type: int = 2, n: Option = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, orthogonalize: bool | None = None,
) -> Value:  # fmt: skip
    """The inverse of `dct`, with the same arguments.

    >>> idct(np.array([6.0, -(2.0**0.5)])).round(6)
    array([1., 2.])
    """
    return _by_cosines(x, False, True, type, n, axis, norm, workers, orthogonalize)


@_mirror
def dst(
    x: ArrayValue, type: int = 2, n: Option = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, orthogonalize: bool | None = None,
) -> Value:  # fmt: skip
    """The transform by sines along an axis; of each part of complex x.

        type 1:  z_k = 2 sum_j x_j sin(pi (j + 1) (k + 1) / (n + 1))
        type 2:  z_k = 2 sum_j x_j sin(pi (2 j + 1) (k + 1) / (2 n))
        type 3:  z_k = (-1)^k x_(n - 1) + 2 sum_(j < n - 1) x_j sin(pi (2 k + 1) (j + 1) / (2 n))
        type 4:  z_k = 2 sum_j x_j sin(pi (2 k + 1) (2 j + 1) / (4 n))
        x_bar: the transform of the transposed type (2 and 3 exchanged), with a weight at the end

    Shapes, Raises, Cost:  as `dct`.
    Domain:  every x; n >= 1.
    Ref:     scipy.fft.dst.

    >>> dst(np.array([1.0, 2.0])).round(6)
    array([ 4.242641, -2.      ])
    """
    return _by_cosines(x, True, False, type, n, axis, norm, workers, orthogonalize)


@_mirror
def idst(
    x: ArrayValue, type: int = 2, n: Option = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False,
    workers: int | None = None, orthogonalize: bool | None = None,
) -> Value:  # fmt: skip
    """The inverse of `dst`, with the same arguments.

    >>> idst(np.array([3.0 * 2.0**0.5, -2.0])).round(6)
    array([1., 2.])
    """
    return _by_cosines(x, True, True, type, n, axis, norm, workers, orthogonalize)


@_mirror
def dctn(
    x: ArrayValue, type: int = 2, s: Option = None, axes: Option = None, norm: str | None = None,
    overwrite_x: bool = False, workers: int | None = None, *, orthogonalize: bool | None = None,
) -> Value:  # fmt: skip
    """`dct` along several axes, by default along all, or along the last len(s)."""
    return _by_cosines(x, False, False, type, s, axes, norm, workers, orthogonalize)


@_mirror
def idctn(
    x: ArrayValue, type: int = 2, s: Option = None, axes: Option = None, norm: str | None = None,
    overwrite_x: bool = False, workers: int | None = None, orthogonalize: bool | None = None,
) -> Value:  # fmt: skip
    """`idct` along several axes: the inverse of `dctn`, with the same arguments."""
    return _by_cosines(x, False, True, type, s, axes, norm, workers, orthogonalize)


@_mirror
def dstn(
    x: ArrayValue, type: int = 2, s: Option = None, axes: Option = None, norm: str | None = None,
    overwrite_x: bool = False, workers: int | None = None, orthogonalize: bool | None = None,
) -> Value:  # fmt: skip
    """`dst` along several axes, by default along all, or along the last len(s)."""
    return _by_cosines(x, True, False, type, s, axes, norm, workers, orthogonalize)


@_mirror
def idstn(
    x: ArrayValue, type: int = 2, s: Option = None, axes: Option = None, norm: str | None = None,
    overwrite_x: bool = False, workers: int | None = None, orthogonalize: bool | None = None,
) -> Value:  # fmt: skip
    """`idst` along several axes: the inverse of `dstn`, with the same arguments."""
    return _by_cosines(x, True, True, type, s, axes, norm, workers, orthogonalize)


# ---- the Hankel transform, and shifts --------------------------------------------------------------------------------
@_mirror
def fht(a: ArrayValue, dln: float, mu: float, offset: float = 0.0, bias: float = 0.0) -> ArrayValue:
    """The fast Hankel transform of a function at n points with distances dln of their logarithms; the last axis.

        z(k) = int_0^inf a(r) J_mu(k r) k dr, discretised: z = A a with a symmetric A,     a_bar = A z_bar

    Shapes:  a (..., n) -> (..., n).
    Domain:  every real a; dln, mu, offset and bias are constants.
    Raises:  UnsupportedError if one of the constants is a variable.
    Cost:    O(n log n); a sweep the same.
    Ref:     Hamilton (2000), Monthly Notices of the Royal Astronomical Society 312; scipy.fft.fht.

    >>> fht(np.array([1.0, 2.0, 0.5]), 0.2, 0.5).round(6)
    array([1.221372, 0.377022, 1.901606])
    """
    return transform_by_bessels(as_one(a), dln=dln, mu=mu, offset=offset, bias=bias)


@_mirror
def ifht(A: ArrayValue, dln: float, mu: float, offset: float = 0.0, bias: float = 0.0) -> ArrayValue:
    """The inverse of `fht`, with the same arguments."""
    return transform_by_bessels(as_one(A), dln=dln, mu=mu, offset=offset, bias=bias, inverse=True)


@_mirror
def fftshift(x: ArrayValue, axes: Option = None) -> ArrayValue:
    """The elements moved so that the frequency 0 comes to the middle; np.fft.fftshift.

    >>> fftshift(np.array([0.0, 1.0, 2.0, 3.0]))
    array([2., 3., 0., 1.])
    """
    return np.fft.fftshift(as_one(x), axes)


@_mirror
def ifftshift(x: ArrayValue, axes: Option = None) -> ArrayValue:
    """The inverse of `fftshift`; np.fft.ifftshift."""
    return np.fft.ifftshift(as_one(x), axes)


def __getattr__(name: str) -> Any:
    if name in _CONSTANTS:
        return getattr(_scipy_fft(), name)
    refuse_missing(__name__, _scipy_fft, name)
