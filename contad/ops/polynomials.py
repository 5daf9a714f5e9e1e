"""Polynomials by their coefficients or zeros, Vandermonde matrices, and evenly spaced numbers."""

import operator

import numpy as np

from contad.errors import UnsupportedError
from contad.ops.linear_systems import real_of
from contad.ops.products import as_array
from contad.ops.spectra import eigvals
from contad.rules.numpy_functions import implements
from contad.variables.complex_pair import ComplexPair, holds_complex, is_complex, join, split
from contad.variables.dtypes import require_float64
from contad.variables.number import Carrier, observe


@implements(np.polyval)
def polyval(p, x):
    """The polynomial with coefficients p, the highest power first, at x; by Horner's scheme."""
    p, x = as_array(p), as_array(x)
    if np.ndim(p) == 0:
        raise TypeError("np.polyval: p must be a vector of coefficients, got a number")
    if np.shape(p)[0] == 0:
        return observe(np.zeros_like, x)
    z = p[0] + 0.0 * x
    for k in range(1, np.shape(p)[0]):
        z = z * x + p[k]
    return z


@implements(np.vander)
def vander(x, N=None, increasing=False):
    """The matrix of powers of the elements of a vector, the highest first unless `increasing`."""
    x = as_array(x)
    if np.ndim(x) != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = np.shape(x)[0] if N is None else operator.index(N)
    exponents = np.arange(n) if increasing else np.arange(n)[::-1]
    return np.reshape(x, (-1, 1)) ** exponents


@implements(np.linspace)
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    """Evenly spaced numbers between two numbers or arrays, along a new axis."""
    require_float64("np.linspace", dtype)
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    parts = num - 1 if endpoint else num
    start, stop = as_array(start), as_array(stop)
    width = stop - start
    step = width / parts if parts > 0 else width * np.nan
    ndim = np.ndim(width)
    t = np.reshape(np.arange(num, dtype=np.float64), (num, *(1,) * ndim))
    z = start + t * step if parts > 0 else start + t * width
    if endpoint and num > 1:
        z = np.concatenate([z[:-1], np.reshape(stop + 0.0 * width, (1, *np.shape(width)))], axis=0)
    z = np.moveaxis(z, 0, axis) if axis != 0 else z
    return (z, step) if retstep else z


@implements(np.logspace)
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """Numbers with evenly spaced logarithms, between base ** start and base ** stop."""
    require_float64("np.logspace", dtype)
    base = as_array(base)
    if np.ndim(base):
        shape = np.broadcast_shapes(*map(np.shape, (start, stop, base)))
        start, stop, base = (np.broadcast_to(x, shape) for x in (start, stop, base))
        base = np.expand_dims(base, axis)
    return np.power(base, linspace(start, stop, num, endpoint, axis=axis))


@implements(np.geomspace)
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """Numbers in a geometric sequence, which begins and ends with the given ones; both may be negative."""
    require_float64("np.geomspace", dtype)
    start, stop = as_array(start), as_array(stop)
    if holds_complex(start) or holds_complex(stop):
        raise TypeError("np.geomspace: start and stop must be real on variables, got complex numbers")
    sign = observe(np.sign, start)
    if not np.all(observe(lambda x, y: x * y > 0.0, start, stop)):
        raise ValueError("np.geomspace: start and stop must not be 0, and of one sign on variables")
    z = sign * np.power(10.0, linspace(np.log10(sign * start), np.log10(sign * stop), num, endpoint))
    if num > 0:  # both ends as they are
        z = np.concatenate([(start + 0.0 * stop)[None], z[1:]], axis=0)
    if num > 1 and endpoint:
        z = np.concatenate([z[:-1], (stop + 0.0 * start)[None]], axis=0)
    return np.moveaxis(z, 0, axis) if axis != 0 else z


# ---- zeros -----------------------------------------------------------------------------------------------------------
@implements(np.roots)
def roots(p):
    """The zeros of a polynomial: the eigenvalues of its companion matrix. They are complex where one of them is."""
    p = as_array(p)
    if np.ndim(p) == 0:
        p = np.reshape(p, (1,))
    if np.ndim(p) != 1:
        raise ValueError("Input must be a rank-1 array.")
    places = np.flatnonzero(p != 0.0 if is_complex(p) else observe(np.not_equal, p, 0.0))
    if not len(places):
        return np.array([])
    zeros = np.zeros(np.shape(p)[0] - 1 - places[-1])
    p = p[places[0] : places[-1] + 1]
    if np.shape(p)[0] < 2:
        return zeros
    below = np.eye(np.shape(p)[0] - 2, np.shape(p)[0] - 1)
    z = eigvals(np.concatenate([np.reshape(-p[1:] / p[0], (1, -1)), below]))
    return np.concatenate([z, zeros]) if len(zeros) else z


@implements(np.poly)
def poly(seq_of_zeros):
    """The coefficients of the polynomial with these zeros, or with the eigenvalues of a matrix as zeros."""
    z = as_array(seq_of_zeros)
    shape = np.shape(z)
    if len(shape) == 2 and shape[0] == shape[1] != 0:
        z = eigvals(z)
    elif len(shape) != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    a = np.ones(1)
    for k in range(np.shape(z)[0]):
        a = np.convolve(a, np.stack([1.0 + 0.0 * z[k], -z[k]]))
    return real_of(a) if is_complex(z) and observe(are_conjugate, z) else a


def are_conjugate(z):
    """Whether complex numbers come in conjugate pairs."""
    return np.array_equal(np.sort(z), np.sort(np.conj(z)))


# ---- arithmetic of coefficients, the highest power first -------------------------------------------------------------
def coefficients(function, a):
    """A vector of coefficients; a number counts as one coefficient."""
    a = np.atleast_1d(as_array(a))
    if np.ndim(a) != 1:
        raise UnsupportedError(f"{function}: on variables it takes vectors of coefficients, got shape {np.shape(a)}")
    return a


def _in_order(function, *polynomials):
    """Coefficients padded with zeros for higher powers."""
    found = [coefficients(function, a) for a in polynomials]
    n = max(map(np.size, found))
    return [np.concatenate([np.zeros(n - np.size(a)), a]) if np.size(a) < n else a for a in found]


@implements(np.polyadd)
def polyadd(a1, a2):
    """The sum of two polynomials."""
    a1, a2 = _in_order("np.polyadd", a1, a2)
    return a1 + a2


@implements(np.polysub)
def polysub(a1, a2):
    """The difference of two polynomials."""
    a1, a2 = _in_order("np.polysub", a1, a2)
    return a1 - a2


@implements(np.polymul)
def polymul(a1, a2):
    """The product of two polynomials. Leading variables that are 0 are kept: they have derivatives."""
    a1, a2 = (coefficients("np.polymul", a) for a in (a1, a2))
    a1, a2 = (a if isinstance(a, (Carrier, ComplexPair)) else np.trim_zeros(a, "f") for a in (a1, a2))
    return np.convolve(*(a if np.size(a) else np.zeros(1) for a in (a1, a2)))


@implements(np.polydiv)
def polydiv(u, v):
    """Quotient and remainder of two polynomials."""
    u, v = coefficients("np.polydiv", u) + 0.0, coefficients("np.polydiv", v) + 0.0
    if not np.size(u) or not np.size(v):
        raise IndexError(f"np.polydiv: u and v must have coefficients, got shapes {np.shape(u)} and {np.shape(v)}")
    n = np.size(u) - np.size(v)
    if n < 0:
        return np.zeros(1), _without_first_zeros(u)
    found = []
    for k in range(n + 1):
        found.append(u[k] / v[0])
        u = np.concatenate([u[: k + 1], u[k + 1 : k + np.size(v)] - found[k] * v[1:], u[k + np.size(v) :]])
    return np.stack(found), _without_first_zeros(u[n + 1 :] if np.size(v) > 1 else u[-1:] - found[-1] * v)


def _without_first_zeros(a):
    """Coefficients without leading ones that are practically 0; the last one stays."""
    while np.size(a) > 1 and all(-1e-8 <= part <= 1e-8 for part in split(a[0])):
        a = a[1:]
    return a


@implements(np.polyder)
def polyder(p, m=1):
    """The coefficients of the m-th derivative."""
    m = operator.index(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    p = as_array(p)
    if np.ndim(p) != 1:
        raise TypeError(f"np.polyder: p must be a vector of coefficients, got shape {np.shape(p)}")
    for _ in range(m):
        n = np.size(p) - 1
        p = p[:-1] * np.arange(n, 0.0, -1.0)
    return p


@implements(np.polyint)
def polyint(p, m=1, k=None):
    """The coefficients of the m-th integral, with constants k."""
    m = operator.index(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    k = np.zeros(m) if k is None else coefficients("np.polyint", k)
    if np.size(k) == 1 and m > 1:
        k = k[0] * np.ones(m)
    if np.size(k) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    p = as_array(p)
    if np.ndim(p) != 1:
        raise TypeError(f"np.polyint: p must be a vector of coefficients, got shape {np.shape(p)}")
    for i in range(m):
        n = np.size(p)
        p = np.concatenate([p / np.arange(n, 0.0, -1.0), k[i : i + 1]])
    return p


@implements(np.trim_zeros)
def trim_zeros(filt, trim="fb", axis=None):
    """A vector without the zeros at its beginning and end, including zeros that carry derivatives."""
    filt = as_array(filt)
    if np.ndim(filt) != 1 or axis not in (None, 0, -1):
        raise UnsupportedError("np.trim_zeros: on variables it takes vectors; assign a slice where there are more axes")
    places = np.flatnonzero(observe(np.not_equal, filt, 0.0))
    trim = trim.lower()
    if not np.size(places):
        return filt[:0]
    return filt[places[0] if "f" in trim else 0 : places[-1] + 1 if "b" in trim else np.size(filt)]


@implements(np.polyfit)
def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    """The least-squares polynomial through points, optionally weighted."""
    if full or cov:
        raise UnsupportedError(f"np.polyfit: {'full' if full else 'cov'}= is not supported on variables")
    if holds_complex(y) and not holds_complex(x) and not holds_complex(w):
        return join(*(polyfit(x, part, deg, rcond, w=w) for part in split(y)))
    x, y, order = as_array(x), as_array(y), operator.index(deg) + 1
    if order < 1:
        raise ValueError("expected deg >= 0")
    if np.ndim(x) != 1 or np.size(x) == 0 or np.ndim(y) not in (1, 2) or np.shape(y)[0] != np.size(x):
        raise TypeError(f"np.polyfit: x (n,) and y (n,) or (n, k) expected, got {np.shape(x)} and {np.shape(y)}")
    lhs = vander(x, order)
    if w is not None:
        w = as_array(w)
        if np.shape(w) != np.shape(x):
            raise TypeError(f"np.polyfit: w must have the shape of x, {np.shape(x)}, got {np.shape(w)}")
        lhs, y = lhs * np.reshape(w, (-1, 1)), y * (w if np.ndim(y) == 1 else np.reshape(w, (-1, 1)))
    length = np.sqrt(np.sum(lhs * lhs, axis=0))
    found = np.linalg.lstsq(lhs / length, y, rcond=np.size(x) * 2.0**-52 if rcond is None else rcond)[0]
    return found / (length if np.ndim(y) == 1 else np.reshape(length, (-1, 1)))
