"""Stan's functions of complex numbers and its Fourier transforms.

They take complex numbers and arrays, plain and of variables, element by element. Gradients by z = x + iy are
dL/dx + i dL/dy, as in Stan Math.
"""

from typing import Any

import numpy as np

from contad.distributions.ways_by_axes import in_expressions
from contad.ops import select
from contad.variables.arguments import fail
from contad.variables.complex_pair import join, split
from contad.variables.number import observe
from contad.variables.open_types import Nested, Value

__all__ = [
    "arg", "conj", "fft", "fft2", "get_imag", "get_real", "inv_fft", "inv_fft2", "norm", "polar", "proj", "to_complex",
]  # fmt: skip


def join_arrays(x, y):  # type: ignore[no-untyped-def]
    """x + iy. The product i y would be nan for an infinite y."""
    z = np.zeros((x + y).shape, np.complex128)
    z.real[...] = x
    z.imag[...] = y
    return z


@in_expressions(
    {
        "": "0j", "0": "complex(x * 1.0, 0.0)", "0 0": "complex(x * 1.0, y * 1.0)",  # an array without axes is a number
        "12345": "x + 0j", "012345 012345": "join_arrays(x, y)",
    },
    join_arrays=join_arrays,
)  # fmt: skip
def to_complex(x: Value = 0.0, y: Value = 0.0) -> Any:
    """A complex number or array of its parts.

        z = x + iy

    Shapes:  x and y broadcast.
    Domain:  every x and y.
    Ref:     Stan Functions Reference, section 8.2.

    >>> to_complex(1.5, -2.0)
    (1.5-2j)
    """
    return join(*(np.asarray(part) if isinstance(part, (list, tuple)) else part for part in (x, y)))


def get_real(z: Nested) -> Value:
    """The real part.

        x = Re z

    Domain:  every z.
    Ref:     Stan Functions Reference, section 8.6.

    >>> get_real(1.5 - 2.0j)
    1.5
    """
    return split(z)[0]


def get_imag(z: Nested) -> Value:
    """The imaginary part; 0 for real z.

        y = Im z

    Domain:  every z.
    Ref:     Stan Functions Reference, section 8.6.

    >>> get_imag(1.5 - 2.0j)
    -2.0
    """
    return split(z)[1]


def arg(z: Nested) -> Value:
    """The phase, between -pi and pi.

        t = arctan2(y, x),     dt/dx = -y / |z|^2,     dt/dy = x / |z|^2

    Domain:  every z; at 0 the phase is that of the signs of the zeros, as in C, and the partials are nan or 0.
    Ref:     Stan Functions Reference, section 8.6.

    >>> float(arg(1.0j)) == np.pi / 2
    True
    """
    x, y = split(z)
    return np.arctan2(y, x)


def norm(z: Nested) -> Value:
    """The square of the absolute value, as std::norm of C++.

        s = x^2 + y^2

    Domain:  every z.
    Ref:     Stan Functions Reference, section 8.6.

    >>> norm(3.0 + 4.0j)
    25.0
    """
    x, y = split(z)
    return x * x + y * y


def conj(z: Nested) -> Any:
    """The complex conjugate.

        w = x - iy

    Domain:  every z.
    Ref:     Stan Functions Reference, section 8.6.

    >>> conj(1.5 - 2.0j)
    (1.5+2j)
    """
    x, y = split(z)
    return join(x, -y)


def polar(r: Value, theta: Value) -> Any:
    """The complex number of an absolute value and a phase.

        z = r (cos theta + i sin theta)

    Domain:  every finite r and theta, r negative too.
    Ref:     Stan Functions Reference, section 8.6.

    >>> polar(2.0, 0.0)
    (2+0j)
    """
    r, theta = (np.asarray(x) if isinstance(x, (list, tuple)) else x for x in (r, theta))
    return join(r * np.cos(theta), r * np.sin(theta))


def proj(z: Nested) -> Any:
    """The projection onto Riemann's sphere: z where it is finite, and infinity where a part is infinite.

        w = z,     w = inf + 0i if z is infinite, with the sign of y

    Domain:  every z; the derivative is 1 where z is finite, 0 elsewhere.
    Ref:     Stan Functions Reference, section 8.6; C99, 7.3.9.4.

    >>> proj(complex(-np.inf, 2.0))
    (inf+0j)
    """
    x, y = split(z)
    infinite = np.logical_or(observe(np.isinf, x), observe(np.isinf, y))
    if not np.any(infinite):
        return join(x, y)
    return join(select(infinite, np.inf, x), select(infinite, observe(np.copysign, 0.0, y), y))


# ---- Fourier transforms ----------------------------------------------------------------------------------------------
def _require_axes(function: str, name: str, z: Nested, axes: int) -> Any:
    z = join(*split(z))
    if np.ndim(z) != axes:
        fail(function, name, f"have {'one axis' if axes == 1 else 'two axes'}", f"an array of shape {np.shape(z)}")
    return z


def fft(z: Nested) -> Any:
    """Discrete Fourier transform of a vector.

        w_k = sum_n z_n exp(-2 pi i n k / N),     z_bar = N ifft(w_bar)

    Shapes:  z (n) -> w (n).
    Domain:  every z of at least one number.
    Cost:    O(n log n).
    Ref:     Stan Functions Reference, section 8.9.

    >>> fft([1.0, 2.0, 4.0, 8.0]).tolist()
    [(15+0j), (-3+6j), (-5+0j), (-3-6j)]
    """
    return np.fft.fft(_require_axes("fft", "z", z, 1))


def inv_fft(w: Nested) -> Any:
    """The inverse of `fft`.

        z_n = (1/N) sum_k w_k exp(2 pi i n k / N),     w_bar = fft(z_bar) / N

    Shapes:  w (n) -> z (n).
    Domain:  every w of at least one number.
    Cost:    O(n log n).
    Ref:     Stan Functions Reference, section 8.9.

    >>> inv_fft([15.0, -3.0 + 6.0j, -5.0, -3.0 - 6.0j]).tolist()
    [(1+0j), (2+0j), (4+0j), (8+0j)]
    """
    return np.fft.ifft(_require_axes("inv_fft", "w", w, 1))


def fft2(z: Nested) -> Any:
    """Discrete Fourier transform of a matrix, along both axes.

        w_jk = sum_mn z_mn exp(-2 pi i (m j / M + n k / N)),     z_bar = M N ifft2(w_bar)

    Shapes:  z (m, n) -> w (m, n).
    Domain:  every z of at least one number.
    Cost:    O(m n log(m n)).
    Ref:     Stan Functions Reference, section 8.9.

    >>> fft2([[1.0, 2.0], [4.0, 8.0]]).real.tolist()
    [[15.0, -5.0], [-9.0, 3.0]]
    """
    return np.fft.fft2(_require_axes("fft2", "z", z, 2))


def inv_fft2(w: Nested) -> Any:
    """The inverse of `fft2`.

        z_mn = 1/(M N) sum_jk w_jk exp(2 pi i (m j / M + n k / N)),     w_bar = fft2(z_bar) / (M N)

    Shapes:  w (m, n) -> z (m, n).
    Domain:  every w of at least one number.
    Cost:    O(m n log(m n)).
    Ref:     Stan Functions Reference, section 8.9.

    >>> inv_fft2([[15.0, -5.0], [-9.0, 3.0]]).real.tolist()
    [[1.0, 2.0], [4.0, 8.0]]
    """
    return np.fft.ifft2(_require_axes("inv_fft2", "w", w, 2))
