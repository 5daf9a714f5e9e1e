"""Complex arrays from their real and imaginary parts, in compiled code."""

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit
def join_parts(real: NDArray[np.float64], imag: NDArray[np.float64]) -> NDArray[np.complex128]:
    """A new array, real + i imag."""
    found = np.empty(real.shape, np.complex128)
    found.real[...] = real
    found.imag[...] = imag
    return found
