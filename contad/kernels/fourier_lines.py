"""Fourier transforms of the rows of a matrix, and transforms by cosines and sines, in compiled code.

If rocket-fft is installed, it compiles `np.fft`. Otherwise, and for cosines and sines, Python calls NumPy and SciPy in
objmode, which takes a microsecond more than the call itself.
"""

from importlib.util import find_spec
from typing import Any

import numpy as np
from numba import objmode, types

from contad.compile.overloads import add_overload
from contad.ops.real_transforms import cosine_cotangent, transform_by_cosines

HAS_ROCKET = find_spec("rocket_fft") is not None
NORMS = "backward", "ortho", "forward"
_NUMBERS, _PAIRS = types.float64[:, ::1], types.complex128[:, ::1]


# ---- Fourier transforms without a factor -----------------------------------------------------------------------------
def transform_rows(z: Any, inverse: Any) -> Any:
    """sum_n z_n exp(-2 pi i k n / N) of each row, or its inverse up to the factor."""
    return np.fft.ifft(z, norm="forward") if inverse else np.fft.fft(z)


def halve_rows(x: Any) -> Any:
    """The elements k <= N / 2 of the transforms of real rows."""
    return np.fft.rfft(x)


def complete_rows(z: Any, n: Any) -> Any:
    """N times the real rows of N = n elements whose transforms begin with those of z."""
    return np.fft.irfft(z, n, norm="forward")


@add_overload(transform_rows)
def _transform_rows(z: Any, inverse: Any) -> Any:
    def in_python(z: Any, inverse: Any) -> Any:
        with objmode(w=_PAIRS):
            w = transform_rows(z, inverse)
        return w

    compiled = lambda z, inverse: np.fft.ifft(z, None, -1, "forward") if inverse else np.fft.fft(z)  # noqa: E731
    return compiled if HAS_ROCKET else in_python


@add_overload(halve_rows)
def _halve_rows(x: Any) -> Any:
    def in_python(x: Any) -> Any:
        with objmode(w=_PAIRS):
            w = halve_rows(x)
        return w

    return (lambda x: np.fft.rfft(x)) if HAS_ROCKET else in_python  # noqa: PLW0108  (an overload)


@add_overload(complete_rows)
def _complete_rows(z: Any, n: Any) -> Any:
    def in_python(z: Any, n: Any) -> Any:
        with objmode(w=_NUMBERS):
            w = complete_rows(z, n)
        return w

    return (lambda z, n: np.fft.irfft(z, n, -1, "forward")) if HAS_ROCKET else in_python


# ---- cosines and sines -----------------------------------------------------------------------------------------------
def cosines(a: Any, kind: Any, norm: Any, sine: Any, orthogonal: Any) -> Any:
    """`transform_by_cosines` of rows; the norm is a place in `NORMS`."""
    return transform_by_cosines(
        a, sine=sine, type=kind, s=a.shape[1:], axes=(1,), norm=NORMS[norm], orthogonal=orthogonal
    )


def cosines_back(z_bar: Any, kind: Any, norm: Any, sine: Any, orthogonal: Any) -> Any:
    """Its adjoint."""
    return cosine_cotangent(z_bar, z_bar.shape, sine, kind, z_bar.shape[1:], (1,), NORMS[norm], orthogonal, None)


@add_overload(cosines)
def _cosines(a: Any, kind: Any, norm: Any, sine: Any, orthogonal: Any) -> Any:
    def in_python(a: Any, kind: Any, norm: Any, sine: Any, orthogonal: Any) -> Any:
        with objmode(z=_NUMBERS):
            z = cosines(a, kind, norm, sine, orthogonal)
        return z

    return in_python


@add_overload(cosines_back)
def _cosines_back(z_bar: Any, kind: Any, norm: Any, sine: Any, orthogonal: Any) -> Any:
    def in_python(z_bar: Any, kind: Any, norm: Any, sine: Any, orthogonal: Any) -> Any:
        with objmode(x=_NUMBERS):
            x = cosines_back(z_bar, kind, norm, sine, orthogonal)
        return x

    return in_python


# ---- functions of parts, as generated source calls them --------------------------------------------------------------
def fourier(a: Any, b: Any, scale: Any, inverse: Any) -> Any:
    """The parts of `transform_rows(a + i b, inverse)`, times a factor."""
    z = scale * transform_rows(a + 1j * b, inverse)
    return z.real, z.imag


def half_fourier(a: Any, scale: Any, inverse: Any, count: Any) -> Any:
    """The parts of `halve_rows(a)`, times a factor; `count` is their length."""
    z = scale * halve_rows(a)
    return z.real, -z.imag if inverse else z.imag


def real_fourier(a: Any, b: Any, scale: Any, inverse: Any, count: Any) -> Any:
    """`complete_rows(a + i b, count)`, or of the conjugate, times a factor."""
    return scale * complete_rows(a + 1j * b if inverse else a - 1j * b, count)
