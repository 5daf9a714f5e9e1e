"""Stan's functions of complex numbers in compiled code: Numba functions that contad differentiates like a user's.

Each one has the name and the arguments of the Python function that it stands for.
"""

import numpy as np

from contad.compile.machine_code import njit
from contad.ops.logic import stop_gradient
from contad.scipy import fft as transforms
from contad.stan.complex_values import to_complex
from contad.stan.functionals.compiled_functionals import OPTIONS

_LARGEST_REST = 1e-11  # below the diagonal of a Schur form, relative to the largest element


@njit(**OPTIONS)
def get_real(z):  # type: ignore[no-untyped-def]
    """Re z."""
    return np.real(z)


@njit(**OPTIONS)
def get_imag(z):  # type: ignore[no-untyped-def]
    """Im z."""
    return np.imag(z)


@njit(**OPTIONS)
def arg(z):  # type: ignore[no-untyped-def]
    """The phase."""
    return np.angle(z)


@njit(**OPTIONS)
def norm(z):  # type: ignore[no-untyped-def]
    """x^2 + y^2."""
    return np.real(z) * np.real(z) + np.imag(z) * np.imag(z)


@njit(**OPTIONS)
def conj(z):  # type: ignore[no-untyped-def]
    """x - iy."""
    return to_complex(np.real(z), -np.imag(z))


@njit(**OPTIONS)
def polar(r, theta):  # type: ignore[no-untyped-def]
    """r (cos theta + i sin theta)."""
    return to_complex(r * np.cos(theta), r * np.sin(theta))


@njit(**OPTIONS)
def proj(z):  # type: ignore[no-untyped-def]
    """z where it is finite, and infinity where a part is infinite."""
    x, y = np.real(z), np.imag(z)
    infinite = np.logical_or(np.isinf(x), np.isinf(y))
    real, imag = np.where(infinite, np.inf, x), np.where(infinite, np.copysign(0.0, y), y)
    return to_complex(real * 1.0, imag * 1.0)  # products make numbers of arrays without axes


# ---- Fourier transforms ----------------------------------------------------------------------------------------------
@njit(**OPTIONS)
def fft(z):  # type: ignore[no-untyped-def]
    """Of a vector."""
    if z.ndim != 1:
        raise ValueError("fft: z must have one axis")
    return transforms.fft(z)


@njit(**OPTIONS)
def inv_fft(w):  # type: ignore[no-untyped-def]
    """Of a vector."""
    if w.ndim != 1:
        raise ValueError("inv_fft: w must have one axis")
    return transforms.ifft(w)


@njit(**OPTIONS)
def fft2(z):  # type: ignore[no-untyped-def]
    """Of a matrix."""
    if z.ndim != 2:
        raise ValueError("fft2: z must have two axes")
    return transforms.fft2(z)


@njit(**OPTIONS)
def inv_fft2(w):  # type: ignore[no-untyped-def]
    """Of a matrix."""
    if w.ndim != 2:
        raise ValueError("inv_fft2: w must have two axes")
    return transforms.ifft2(w)


# ---- Schur's form ----------------------------------------------------------------------------------------------------
@njit(**OPTIONS)
def complex_schur_decompose(a):  # type: ignore[no-untyped-def]
    """By the QR factors of the eigenvectors, whose first k columns span those of u."""
    z = a + 0j
    u = np.linalg.qr(np.linalg.eig(z)[1])[0].copy()
    t = np.conj(u).T @ z @ u
    rest, size = stop_gradient(np.max(np.abs(np.tril(t, -1)))), stop_gradient(np.max(np.abs(t)))
    if not rest <= _LARGEST_REST * size:
        raise ValueError("complex_schur_decompose: inside njit no eigenvalues may be too close")
    return u, np.triu(t)


@njit(**OPTIONS)
def complex_schur_decompose_u(a):  # type: ignore[no-untyped-def]
    """The first factor."""
    return complex_schur_decompose(a)[0]


@njit(**OPTIONS)
def complex_schur_decompose_t(a):  # type: ignore[no-untyped-def]
    """The second factor."""
    return complex_schur_decompose(a)[1]
