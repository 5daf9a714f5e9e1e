"""Logarithms of sums of exponentials, and the shares of their terms."""

import numpy as np

from contad.ops.cotangents import all_finite, plain, scale, spread
from contad.ops.exponential import exp
from contad.rules.array_rule import array_rule
from contad.variables.array import is_plain
from contad.variables.dtypes import COMPLEX, dtype_beside

_VECTOR, _MATRIX = [1.3, -0.7, 2.1], [[1.3, -0.7, 2.1], [0.4, 1.9, -1.1]]
_POINTS = [(_VECTOR,), (_MATRIX,), (_MATRIX, {"axis": 0}), (_MATRIX, {"axis": -1, "keepdims": True})]


@array_rule(
    dtypes=COMPLEX,
    points=[
        *_POINTS,
        (_VECTOR, {"b": [0.4, 1.7, -0.2]}),
        (_MATRIX, {"b": [[0.4, 0.0, 1.7], [1.2, 0.2, 0.0]], "axis": 0}),
        (_MATRIX, {"b": [0.4, 1.7, 0.0], "axis": -1}),
    ]
)
def logsumexp(a, *, axis=None, b=None, keepdims=False):
    """log(sum(exp(a))) over some axes, or all, without overflow; like scipy.special.logsumexp.

        z = log sum_i b_i e^(a_i),     z_dot = sum_i w_i a_dot_i,     a_bar_i = w_i z_bar,     w_i = b_i e^(a_i - z)

    Shapes:  a (...) -> z without the axes, or with length 1 in them (keepdims); b, weights that broadcast with a to the
             shape of a, are constants, and 1 if not given.
    Domain:  every a; infinite elements that tie for the largest have equal w, as in logaddexp. If the weighted sum is
             negative, z is nan.
    Cost:    O(n) forward and reverse; saves nothing.
    Ref:     Blanchard, Higham & Higham (2021).

    >>> logsumexp(np.array([1000.0, 1000.0]))
    1000.6931471805599
    """
    a = np.asarray(a)
    if a.size == 0:
        return np.sum(a, axis, keepdims=keepdims) - np.inf
    w = 1.0 if b is None else np.broadcast_to(np.asarray(b, dtype_beside(a)), a.shape)
    top = largest(a, w, axis)
    at_top = a == top
    with np.errstate(all="ignore"):
        terms = np.where(at_top, 0.0, np.exp(a - top))  # without the largest, which may round them away
        if b is not None:
            terms, at_top = np.where(w == 0.0, 0.0, w * terms), np.where(at_top, w, 0.0)
        k = np.sum(at_top, axis, dtype_beside(a), keepdims=keepdims)
        rest = np.sum(terms, axis, keepdims=keepdims)
        shift = np.reshape(top, np.shape(k))
        z = np.where(k > 0.0, np.log1p(rest / k) + np.log(np.abs(k)), np.log(k + rest)) + shift
    return z if np.ndim(z) else z[()]


@logsumexp.vjp("a")
def logsumexp_vjp_a(z, z_bar, a, *, axis=None, b=None, keepdims=False):
    return scale(spread(z_bar, np.shape(a), axis), shares(z, a, b, axis))


@logsumexp.jvp
def logsumexp_jvp(z, a_dot, a, *, axis=None, b=None, keepdims=False):
    return np.sum(scale(a_dot, shares(z, a, b, axis)), axis=axis, keepdims=keepdims)


def largest(a, w, axis):
    """The largest element with a nonzero weight, with length 1 in the axes; -inf if there is none."""
    if w.__class__ is float:
        return np.max(a, axis, keepdims=True)
    return np.max(a, axis, keepdims=True, where=(w != 0.0) | np.isnan(a), initial=-np.inf)


def shares(z, a, b, axis):
    """The share of each term in e^z = sum_i b_i e^(a_i): they sum to 1. Infinite terms that tie share equally.

    >>> shares(-np.inf, np.array([-np.inf, -np.inf]), None, None)
    array([0.5, 0.5])
    """
    if np.size(a) == 0:
        return np.zeros(np.shape(a), dtype_beside(a))
    if b is None and all_finite(z):
        return softmax(a, axis=axis)
    v = np.asarray(plain(a))
    w = 1.0 if b is None else np.broadcast_to(np.asarray(b, dtype_beside(v)), v.shape)
    top = largest(v, w, axis)
    endless = np.broadcast_to(np.isinf(top), v.shape)
    finite = np.where(endless & (v == top), 0.0, np.where(endless, -np.inf, a)) if endless.any() else a
    if b is None:
        return softmax(finite, axis=axis)
    below = np.where(w == 0.0, -np.inf, finite - np.where(np.isinf(top), 0.0, top))
    terms = w * (np.exp(below) if is_plain(below) else exp(below))
    return terms / np.sum(terms, axis=axis, keepdims=True)


@array_rule(
    dtypes=COMPLEX,
    points=[(_VECTOR,), (_MATRIX,), (_MATRIX, {"axis": 0}), (_MATRIX, {"axis": -1}), (_MATRIX, {"axis": (0, 1)})]
)
def softmax(x, *, axis=None):
    """e^x over its sum along some axes, or all; like scipy.special.softmax.

        z_i = e^(x_i) / sum_k e^(x_k)
        z_dot = z (x_dot - sum_k z_k x_dot_k),     x_bar = z (z_bar - sum_k z_k z_bar_k)

    Shapes:  x (...) -> z (...).
    Domain:  x < inf; z is nan along an axis with an infinite largest element.
    Cost:    O(n) forward and reverse; saves nothing.
    Ref:     Blanchard, Higham & Higham (2021).

    >>> softmax(np.array([0.0, 1000.0, 1000.0]))
    array([0. , 0.5, 0.5])
    """
    if np.size(x) == 0:
        return np.zeros(np.shape(x), dtype_beside(x))
    with np.errstate(invalid="ignore"):
        terms = np.exp(x - np.max(x, axis, keepdims=True))
    return terms / np.sum(terms, axis, keepdims=True)


@softmax.vjp("x")
def softmax_vjp_x(z, z_bar, x, *, axis=None):
    return softmax_product(z, z_bar, axis)


@softmax.jvp
def softmax_jvp(z, x_dot, x, *, axis=None):
    return softmax_product(z, x_dot, axis)


def softmax_product(z, d, axis):
    """The symmetric Jacobian of softmax times d: z (d - sum(z d))."""
    weighted = scale(d, z)
    return weighted - scale(np.sum(weighted, axis=axis, keepdims=True), z)
