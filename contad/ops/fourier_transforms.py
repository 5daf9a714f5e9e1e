"""Discrete Fourier transforms: `np.fft`, and the values and adjoints of those of `scipy.fft`.

A complex array is the pair of its real and its imaginary part. Three rules serve all transforms, each along any axes,
in both directions and with every norm: of complex arrays, of real ones, and of half spectra with a real result. The
adjoint of one is another in the opposite direction with the same factor, because F^H = conj(F) for the symmetric F:

    F_kn = c exp(-2 pi i k n / N),     c = 1, 1 / sqrt(N) or 1 / N by norm and direction
"""

from typing import Any

import numpy as np

from contad.ops._scipy import fft
from contad.ops.products import as_array
from contad.rules.array_rule import array_rule
from contad.rules.numpy_functions import implements, refuse_out
from contad.variables.complex_pair import holds_pairs, is_complex, join, split
from contad.variables.dtypes import dtype_beside
from contad.variables.kept_dtypes import dtype_for
from contad.variables.open_types import Function, Option, Value

NUMPY = "numpy"  # the number of workers that stands for NumPy's transforms; others are SciPy's
_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
_LINE, _SECOND, _MATRIX = [0.6, 1.7, -0.2, 0.9, -1.3], [1.2, -0.5, 0.8, -1.4, 0.3], [[0.6, 1.7, -0.2], [0.9, -1.3, 0.4]]
_OTHER = [[1.1, 0.3, -0.8], [0.7, -0.3, 0.5]]


# ---- rules -----------------------------------------------------------------------------------------------------------
@array_rule(
    points=[
        (_LINE, _SECOND, {"s": (5,), "axes": (0,)}),
        (_LINE, _SECOND, {"s": (4,), "axes": (0,), "norm": "forward", "inverse": True}),
        (_MATRIX, _OTHER, {"s": (3, 4), "axes": (0, 1), "norm": "ortho"}),
    ]
)
def transform_complex(x, y, *, s, axes, norm=None, inverse=False, workers=NUMPY):
    """The Fourier transform of x + iy along axes: its real and its imaginary part, along a new first axis.

        z_k = c sum_n (x + iy)_n exp(-+2 pi i k n / N),     z_dot: the transform of x_dot + i y_dot
        x_bar + i y_bar: the transform of z_bar in the opposite direction, with the same c

    Shapes:  x, y (..., m, ...) -> z (2, ..., N, ...), cut or padded with zeros to the lengths s along the axes.
    Domain:  different axes; lengths of at least 1.
    Cost:    O(n log n), and so is a sweep; saves nothing.
    Ref:     Cooley & Tukey (1965), Mathematics of Computation 19; numpy.fft.fftn.

    >>> transform_complex(np.array([1.0, 2.0]), np.array([0.5, -1.0]), s=(2,), axes=(0,))
    array([[ 3. , -1. ],
           [-0.5,  1.5]])
    """
    return _parts(_apply("ifftn" if inverse else "fftn", _join(x, y), s, axes, norm, workers))


@transform_complex.common
def transform_complex_common(z, z_bar, x, y, *, s, axes, norm=None, inverse=False, workers=NUMPY):
    return complex_cotangents(z_bar, np.shape(x), s, axes, norm, inverse, workers)


@transform_complex.jvp
def transform_complex_jvp(z, x_dot, y_dot, x, y, *, s, axes, norm=None, inverse=False, workers=NUMPY):
    return transform_complex(x_dot, y_dot, s=s, axes=axes, norm=norm, inverse=inverse, workers=workers)


@array_rule(
    linear=("x",),
    points=[
        (_LINE, {"s": (5,), "axes": (0,)}),
        (_LINE, {"s": (6,), "axes": (0,), "half": True}),
        (_LINE, {"s": (4,), "axes": (0,)}),
        (_MATRIX, {"s": (3, 3), "axes": (1, 0), "norm": "ortho", "half": True, "inverse": True}),
    ],
)
def transform_real(x, *, s, axes, norm=None, inverse=False, half=False, workers=NUMPY):
    """The Fourier transform of a real array along axes: its real and its imaginary part, along a new first axis.

        z_k = c sum_n x_n exp(-+2 pi i k n / N); if half, along the last axis for k <= N / 2 only
        z_dot: the transform of x_dot,     x_bar_n = Re c sum_k z_bar_k exp(+-2 pi i k n / N)

    Shapes:  x (..., m, ...) -> z (2, ..., N, ...), if half (..., N // 2 + 1, ...) along the last of the axes.
    Domain:  different axes; lengths of at least 1.
    Cost:    O(n log n), half of it for half spectra, and so is a sweep; saves nothing.
    Ref:     Cooley & Tukey (1965), Mathematics of Computation 19; numpy.fft.rfftn.

    >>> transform_real(np.array([1.0, 2.0, 4.0, 8.0]), s=(4,), axes=(0,), half=True)
    array([[15., -3., -5.],
           [ 0.,  6.,  0.]])
    """
    if not half:
        return _parts(_apply("ifftn" if inverse else "fftn", x, s, axes, norm, workers))
    z = _apply("rfftn", x, s, axes, _swap(norm) if inverse else norm, workers)
    return _parts(np.conj(z) if inverse else z)


@transform_real.vjp("x")
def transform_real_vjp_x(z, z_bar, x, *, s, axes, norm=None, inverse=False, half=False, workers=NUMPY):
    return real_cotangent(z_bar, np.shape(x), s, axes, norm, inverse, half, workers)


@array_rule(
    points=[
        ([0.6, 1.7, -0.2], [1.2, -0.5, 0.8], {"s": (5,), "axes": (0,)}),
        ([0.6, 1.7, -0.2], [1.2, -0.5, 0.8], {"s": (4,), "axes": (0,), "norm": "forward", "inverse": True}),
        ([0.6, 1.7, -0.2], [1.2, -0.5, 0.8], {"s": (3,), "axes": (0,)}),
        (_MATRIX, _OTHER, {"s": (2, 5), "axes": (0, 1), "inverse": True}),
    ]
)
def transform_to_real(x, y, *, s, axes, norm=None, inverse=False, workers=NUMPY):
    """The real array whose half spectrum along axes, up to a factor, is x + iy.

        z_n = c Re(w_0 + 2 sum_(0 < k < N / 2) w_k exp(-+2 pi i k n / N) + (-1)^n w_(N / 2)),     w = x + iy,
        the last term for even N, after transforms along the other axes;     z_dot: the transform of x_dot + i y_dot
        x_bar + i y_bar: the half spectrum of z_bar, twice its terms for 0 < k < N / 2, so y_bar_0 = y_bar_(N / 2) = 0

    Shapes:  x, y (..., m, ...) -> z (..., N, ...), cut or padded with zeros to N // 2 + 1 along the last of the axes.
    Domain:  different axes; lengths of at least 1.
    Cost:    O(n log n), and so is a sweep; saves nothing.
    Ref:     Cooley & Tukey (1965), Mathematics of Computation 19; numpy.fft.irfftn.

    >>> transform_to_real(np.array([15.0, -3.0, -5.0]), np.array([0.0, 6.0, 0.0]), s=(4,), axes=(0,), inverse=True)
    array([1., 2., 4., 8.])
    """
    if inverse:
        return _apply("irfftn", _join(x, y), s, axes, norm, workers)
    return _apply("irfftn", _join(x, np.negative(y)), s, axes, _swap(norm), workers)


@transform_to_real.common
def transform_to_real_common(z, z_bar, x, y, *, s, axes, norm=None, inverse=False, workers=NUMPY):
    return half_cotangents(z_bar, np.shape(x), s, axes, norm, inverse, workers)


@transform_to_real.jvp
def transform_to_real_jvp(z, x_dot, y_dot, x, y, *, s, axes, norm=None, inverse=False, workers=NUMPY):
    return transform_to_real(x_dot, y_dot, s=s, axes=axes, norm=norm, inverse=inverse, workers=workers)


@transform_complex.vjp("x")
@transform_to_real.vjp("x")
def transform_vjp_x(z, z_bar, x, y, common, *, s, axes, norm=None, inverse=False, workers=NUMPY):
    return common[0]


@transform_complex.vjp("y")
@transform_to_real.vjp("y")
def transform_vjp_y(z, z_bar, x, y, common, *, s, axes, norm=None, inverse=False, workers=NUMPY):
    return common[1]


# ---- values ----------------------------------------------------------------------------------------------------------
def _join(x, y):
    both = getattr(x, "dtype", None) == getattr(y, "dtype", None) == np.float64  # the usual case
    z = np.empty(np.shape(x), np.complex128 if both else np.result_type(x, y, np.complex64))
    z.real, z.imag = x, y
    return z


def _parts(z):
    x = z.real
    parts = np.empty((2, *x.shape), x.dtype)
    parts[0], parts[1] = x, z.imag
    return parts


def _apply(name, z, s, axes, norm, workers):
    """NumPy's or SciPy's transform of that name."""
    if workers != NUMPY:
        return getattr(fft(), name)(z, s, axes, norm, workers=workers)
    if len(axes) == 1:
        return getattr(np.fft, name[:-1])(z, s[0], axes[0], norm)
    return getattr(np.fft, name)(z, s, axes, norm)


def _swap(norm):
    """The norm that gives the transform in the opposite direction the same factor."""
    return _SWAPPED.get(norm, norm)


# ---- adjoints --------------------------------------------------------------------------------------------------------
def complex_cotangents(z_bar, shape, s, axes, norm, inverse, workers):
    """The adjoint of `transform_complex`, for arguments of that shape."""
    found = transform_complex(
        z_bar[0], z_bar[1], s=s, axes=axes, norm=_swap(norm), inverse=not inverse, workers=workers
    )
    return resize(found[0], shape), resize(found[1], shape)


def real_cotangent(z_bar, shape, s, axes, norm, inverse, half, workers):
    """The adjoint of `transform_real`, for an argument of that shape."""
    if not half:
        return complex_cotangents(z_bar, shape, s, axes, norm, inverse, workers)[0]
    weights = _weights(z_bar[0], s, axes, 0.5)
    found = transform_to_real(
        weights * z_bar[0], weights * z_bar[1], s=s, axes=axes, norm=_swap(norm), inverse=not inverse,
        workers=workers,
    )  # fmt: skip
    return resize(found, shape)


def half_cotangents(z_bar, shape, s, axes, norm, inverse, workers):
    """The adjoint of `transform_to_real`, for arguments of that shape."""
    found = transform_real(
        z_bar, s=s, axes=axes, norm=_swap(norm), inverse=not inverse, half=True, workers=workers
    )
    weights = _weights(found[0], s, axes, 2.0)
    return resize(weights * found[0], shape), resize(weights * found[1], shape)


def _weights(spectrum, s, axes, weight):
    """`half_weights` along the last of the axes."""
    shape = [1] * np.ndim(spectrum)
    shape[axes[-1]] = s[-1] // 2 + 1
    return half_weights(s[-1], weight).astype(dtype_beside(spectrum)).reshape(shape)


def half_weights(n, weight):
    """That weight for the elements of the half spectrum of n numbers that stand for two, and 1 for the others."""
    found = np.full(n // 2 + 1, weight)
    found[0] = 1.0
    if n % 2 == 0:
        found[-1] = 1.0
    return found


def resize(x, shape):
    """x cut, and padded with zeros, to that shape."""
    if np.shape(x) == shape:
        return x
    x = x[tuple([slice(n) for n in shape])]
    missing = [(0, n - m) for n, m in zip(shape, np.shape(x), strict=True)]
    return np.pad(x, missing) if np.shape(x) != shape else x


# ---- transforms of real and complex arrays ---------------------------------------------------------------------------
def transform(name: str, a: Value, s: Option, axes: Option, norm: Option, workers: Option = NUMPY) -> Any:
    """The transform of that name in SciPy (fftn, ifftn, rfftn, irfftn, hfftn or ihfftn) along axes.

    Lengths and axes that are None are found as NumPy and SciPy do. Along a repeated axis the transforms follow each
    other, which SciPy's functions refuse beforehand.
    """
    a = as_array(a)
    if holds_pairs(a):
        a = join(*split(a))
    inverse = name[0] == "i"
    half, to_real = name in ("rfftn", "ihfftn"), name in ("irfftn", "hfftn")
    if half and is_complex(a):
        raise TypeError(f"{name[:-1]}: a must be real, got a complex array")
    s, axes = _lengths(np.shape(a), s, axes, to_real)
    if not axes:
        if half or to_real:
            raise ValueError("at least 1 axis must be transformed")
        return a
    if len({k % np.ndim(a) for k in axes}) < len(axes):
        return _one_by_one(name, a, s, axes, norm, workers)
    options: Any = {"s": s, "axes": axes, "norm": norm, "inverse": inverse, "workers": workers}
    x, y = split(a)
    if to_real:
        return transform_to_real(x, y if is_complex(a) else np.zeros(np.shape(x), dtype_for(x)), **options)
    z = transform_complex(x, y, **options) if is_complex(a) else transform_real(x, half=half, **options)
    return join(z[0], z[1])


def _one_by_one(name: str, a: Value, s: Any, axes: Any, norm: Option, workers: Option) -> Any:
    """Transforms along one axis after another, as NumPy orders them."""
    of_last = name, s[-1:], axes[-1:]
    others = [("ifftn" if name[0] == "i" else "fftn", (n,), (k,)) for n, k in zip(s[:-1], axes[:-1], strict=True)]
    calls = [*others, of_last] if name in ("irfftn", "hfftn") else [of_last, *others[::-1]]
    for called, lengths, along in calls:
        a = transform(called, a, lengths, along, norm, workers)
    return a


def _lengths(
    shape: tuple[int, ...], s: Any, axes: Any, to_real: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The lengths of transforms and their axes; -1 stands for the length of the array."""
    if axes is None:
        axes = range(len(shape)) if s is None else range(-len(s), 0)
    axes = tuple(axes)
    for k in axes:
        if not -len(shape) <= k < len(shape):
            raise np.exceptions.AxisError(k, len(shape))
    whole = tuple(shape[k] for k in axes)
    if s is None:
        return (*whole[:-1], 2 * (whole[-1] - 1)) if to_real and whole else whole, axes
    if len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    return tuple(m if n in (-1, None) else n for n, m in zip(s, whole, strict=True)), axes


# ---- NumPy's functions -----------------------------------------------------------------------------------------------
def _along_one(function: Function, name: str) -> None:
    @implements(function, layout="asked on corners")
    def apply(a: Value, n: Option = None, axis: int = -1, norm: Option = None, out: Option = None) -> Any:
        refuse_out(function, {"out": out})
        return transform(name, a, None if n is None else (n,), (axis,), norm)


def _along_several(function: Function, name: str, last: Option) -> None:
    @implements(function, layout="asked on corners")
    def apply(a: Value, s: Option = None, axes: Option = last, norm: Option = None, out: Option = None) -> Any:
        refuse_out(function, {"out": out})
        return transform(name, a, s, axes, norm)


for _name in ("fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn"):
    _along_one(getattr(np.fft, _name[:-1]), _name)
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    _along_several(getattr(np.fft, _name), _name, None)
    _along_several(getattr(np.fft, f"{_name[:-1]}2"), _name, (-2, -1))
