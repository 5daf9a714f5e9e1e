"""Convolution and correlation of vectors."""

import numpy as np

from contad.ops.cotangents import all_finite, plain
from contad.ops.products import as_array, masked_product
from contad.rules.array_rule import array_rule
from contad.rules.numpy_functions import implements
from contad.variables.complex_pair import is_complex
from contad.variables.dtypes import COMPLEX, dtype_beside


@array_rule(
    dtypes=COMPLEX,
    numpy=np.convolve,
    parameters="a v mode",
    linear=("a", "v"),
    points=[
        ([1.3, -0.7, 2.1, 0.4], [0.6, 1.7, -0.2]),
        ([1.3, -0.7, 2.1, 0.4], [0.6, 1.7], {"mode": "same"}),
        ([1.3, -0.7], [0.6, 1.7, -0.2, 0.9], {"mode": "valid"}),
    ],
)
def convolve(a, v, *, mode="full"):
    """Discrete convolution of two vectors.

        z_k = sum_i a_i v_{k-i},     z_dot = a_dot * v + a * v_dot
        a_bar_i = sum_k z_bar_k v_{k-i},     v_bar_i = sum_k z_bar_k a_{k-i}

    Shapes:  a (n,), v (m,) -> z (n + m - 1,); "same": its middle max(n, m), "valid": those with every term.
    Domain:  n, m >= 1; a zero of z_bar masks infinite elements of the other factor.
    Cost:    O(n m) forward, twice that in reverse; saves nothing.

    >>> convolve(np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.5]))
    array([1. , 2.5, 4. , 1.5])
    """
    return np.convolve(a, v, mode)


@convolve.structure("a")
def convolve_structure_a(a, v, *, mode="full"):
    return _structure(np.size(a), np.size(v), mode)


@convolve.structure("v")
def convolve_structure_v(a, v, *, mode="full"):
    return _structure(np.size(v), np.size(a), mode)


def _structure(n, m, mode):
    """Which results depend on which elements of a factor with n elements, if the other has m."""
    first = {"full": 0, "same": (min(n, m) - 1) // 2, "valid": min(n, m) - 1}[mode]
    count = {"full": n + m - 1, "same": max(n, m), "valid": max(n, m) - min(n, m) + 1}[mode]
    elements = np.repeat(np.arange(n), m)
    results = elements + np.tile(np.arange(m), n) - first
    inside = (results >= 0) & (results < count)
    return results[inside], elements[inside]


@convolve.vjp("a")
def convolve_vjp_a(z, z_bar, a, v, *, mode="full"):
    return convolve_cotangent(z_bar, v, np.shape(a))


@convolve.vjp("v")
def convolve_vjp_v(z, z_bar, a, v, *, mode="full"):
    return convolve_cotangent(z_bar, a, np.shape(v))


def convolve_cotangent(z_bar, p, shape):
    """The cotangent of the factor of that shape, where p is the other one; zeros of z_bar mask."""
    p = np.reshape(p, (-1,))
    n, m = int(np.prod(shape)), p.shape[0]
    missing = n + m - 1 - z_bar.shape[0]
    # "same" and "valid" are parts of the full result; the rest has no cotangent
    start = missing // 2 if z_bar.shape[0] == max(n, m) else min(n, m) - 1 if missing else 0
    d = z_bar
    if missing:
        zeros = np.zeros(missing, dtype_beside(z_bar))
        d = np.concatenate([zeros[:start], z_bar, zeros[start:]])
    found = convolve(d, np.flip(p, 0), mode="valid")
    if not (all_finite(found) or np.isfinite(plain(p)).all() or (plain(d) != 0.0).all()):
        found = masked_product(d[np.arange(n)[:, None] + np.arange(m)], p[:, None])[:, 0]
    return np.reshape(found, shape)


@implements(np.correlate, layout="own")
def correlate(a, v, mode="valid"):
    """Cross-correlation of two vectors: convolution with the second one reversed."""
    a, v = as_array(a), as_array(v)
    if np.ndim(a) != 1 or np.ndim(v) != 1:
        raise ValueError(f"np.correlate: a and v must be vectors, got shapes {np.shape(a)} and {np.shape(v)}")
    if is_complex(v):
        v = np.conj(v)
    if a.shape[0] >= v.shape[0]:
        return convolve(a, np.flip(v, 0), mode=mode)
    return np.flip(convolve(np.flip(a, 0), v, mode=mode), 0)
