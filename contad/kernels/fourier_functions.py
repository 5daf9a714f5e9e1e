"""The functions of `contad.scipy.fft` inside Numba: SciPy's, by rocket-fft if it is installed, else in objmode."""

import pkgutil
from typing import Any

import numpy as np
from numba import TypingError, objmode, types

from contad.compile.overloads import overload_by_text
from contad.kernels.fourier_lines import HAS_ROCKET
from contad.ops._scipy import fft

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
