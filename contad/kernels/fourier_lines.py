"""Fourier transforms, and transforms by cosines and sines, in compiled code: of the rows of a matrix for kernels, and
the functions of `contad.scipy.fft` for users.

If rocket-fft is installed, it compiles `np.fft`. Otherwise, and for cosines and sines, Python calls NumPy and SciPy in
objmode, which takes a microsecond more than the call itself.
"""

import pkgutil
from importlib.util import find_spec
from typing import Any

import numpy as np
from numba import TypingError, objmode, types

from contad.compile.overloads import in_machine_code, in_objmode, overload_by_text
from contad.ops._scipy import fft
from contad.ops.real_transforms import cosine_cotangent, transform_by_cosines

HAS_ROCKET = find_spec("rocket_fft") is not None
NORMS = "backward", "ortho", "forward"
_NUMBERS, _PAIRS = types.float64[:, ::1], types.complex128[:, ::1]


# ---- Fourier transforms without a factor -----------------------------------------------------------------------------
def transform_rows(z: Any, inverse: Any) -> Any:
    """sum_n z_n exp(-2 pi i k n / N) of each row, or its inverse up to the factor."""
    return np.fft.ifft(z, None, -1, "forward") if inverse else np.fft.fft(z)


def halve_rows(x: Any) -> Any:
    """The elements k <= N / 2 of the transforms of real rows."""
    return np.fft.rfft(x)


def complete_rows(z: Any, n: Any) -> Any:
    """N times the real rows of N = n elements whose transforms begin with those of z."""
    return np.fft.irfft(z, n, -1, "forward")


for _function, _kind in ((transform_rows, _PAIRS), (halve_rows, _PAIRS), (complete_rows, _NUMBERS)):
    (in_machine_code if HAS_ROCKET else in_objmode(_kind))(_function)


# ---- cosines and sines -----------------------------------------------------------------------------------------------
@in_objmode(_NUMBERS)
def cosines(a: Any, kind: Any, norm: Any, sine: Any, orthogonal: Any) -> Any:
    """`transform_by_cosines` of rows; the norm is a place in `NORMS`."""
    return transform_by_cosines(
        a, sine=sine, type=kind, s=a.shape[1:], axes=(1,), norm=NORMS[norm], orthogonal=orthogonal
    )


@in_objmode(_NUMBERS)
def cosines_back(z_bar: Any, kind: Any, norm: Any, sine: Any, orthogonal: Any) -> Any:
    """Its adjoint."""
    return cosine_cotangent(z_bar, z_bar.shape, sine, kind, z_bar.shape[1:], (1,), NORMS[norm], orthogonal, None)


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


# ---- `contad.scipy.fft` ----------------------------------------------------------------------------------------------
_REST = "norm=None, overwrite_x=False, workers=None"
_PARAMETERS = {
    **dict.fromkeys(("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"), f"x, n=None, axis=-1, {_REST}"),
    **dict.fromkeys(("fft2", "ifft2", "rfft2", "irfft2"), f"x, s=None, axes=(-2, -1), {_REST}"),
    **dict.fromkeys(("fftn", "ifftn", "rfftn", "irfftn"), f"x, s=None, axes=None, {_REST}"),
    **dict.fromkeys(("dct", "idct", "dst", "idst"), f"x, type=2, n=None, axis=-1, {_REST}, orthogonalize=None"),
    **dict.fromkeys(("fftshift", "ifftshift"), "x, axes=None"),
}
_TO_REAL = ("irfft", "hfft")
_FROM_REAL = ("rfft", "ihfft")


def call_scipy(name: str, *given: Any) -> Any:
    """SciPy's function of that name, in C order."""
    return np.ascontiguousarray(getattr(fft(), name)(*given))


def _declare(name: str, parameters: str) -> None:
    names = [x.partition("=")[0].strip() for x in parameters.replace("(-2, -1)", "").split(",")]

    def write(x: Any, *kinds: Any) -> Any:
        is_complex = getattr(x, "dtype", None) == types.complex128
        if not isinstance(x, types.Array) or x.ndim == 0 or not (is_complex or x.dtype == types.float64):
            raise TypingError(f"contad.scipy.fft.{name}: inside njit it takes float64 or complex128 arrays, got {x}")
        if is_complex and name.startswith((*_FROM_REAL, "dct", "idct", "dst", "idst")):
            raise TypingError(f"contad.scipy.fft.{name}: x must be real, got {x}; take x.real")
        if HAS_ROCKET:
            return [f"return function({', '.join(names)})"], {"function": getattr(fft(), name)}
        keeps = name.startswith(("dct", "idct", "dst", "idst")) or (name.endswith("shift") and not is_complex)
        made = types.float64 if keeps or name.startswith(_TO_REAL) else types.complex128
        # code from the disk finds `call_scipy` in this module
        known = {"objmode": objmode, "call_scipy": call_scipy, "__name__": __name__}
        known["of_result"] = types.Array(made, x.ndim, "C")
        return ["with objmode(z=of_result):", f"    z = call_scipy({name!r}, {', '.join(names)})", "return z"], known

    overload_by_text(pkgutil.resolve_name(f"contad.scipy.fft.{name}"), parameters, write)


for _name, _text in _PARAMETERS.items():
    _declare(_name, _text)
