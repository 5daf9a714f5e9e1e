"""Recursive filters of signals (`scipy.signal.lfilter`), and convolutions of arrays with any number of axes."""

import numpy as np

from contad.ops._scipy import signal
from contad.ops.products import as_array
from contad.rules.array_rule import array_rule
from contad.variables.dtypes import COMPLEX, dtype_beside

_SIGNAL, _STACK = [0.6, 1.7, -0.2, 0.9, -1.3], [[0.6, 1.7, -0.2, 0.9], [1.2, -0.5, 0.8, -1.4]]


@array_rule(
    dtypes=COMPLEX,
    points=[
        ([0.7, -0.3, 0.4], [1.3, 0.5, -0.2], _SIGNAL, [0.4, -0.6]),
        ([0.7], [1.3, 0.5], _STACK, [[0.4], [-0.3]]),
        ([0.7, -0.3, 0.4], [1.3], _STACK, [[0.4, 0.2], [-0.3, 0.5]]),
    ]
)
def filter_signal(b, a, x, zi):
    """A signal filtered by the rational function b / a along its last axis, from the state zi; scipy.signal.lfilter.

        sum_k a_k z_{n-k} = sum_k b_k x_{n-k} + a_0 zi_n
        z_dot = f(b_dot, a, x) + f(b, a, x_dot) - f(a_dot, a, z) + ...,     f the filter from state 0
        w = the filter 1 / a, run over z_bar from its end,     x_bar = b / a, run so,     b_bar_k = sum_n w_n x_{n-k}
        a_bar_k = -sum_n w_n z_{n-k},     zi_bar_n = a_0 w_n,     and <w, zi> more for a_0

    Shapes:  b (m,), a (k,), x (..., n), zi (..., max(m, k) - 1) -> z (..., n).
    Domain:  a_0 != 0.
    Raises:  ValueError if a_0 is 0 or the state does not fit.
    Cost:    O(n (m + k)) forward, three times that in reverse; saves nothing.
    Ref:     Oppenheim and Schafer, Discrete-Time Signal Processing, section 6.3; the adjoint runs in reversed time.

    >>> filter_signal(np.array([1.0]), np.array([1.0, -0.5]), np.array([1.0, 0.0, 0.0]), np.array([0.0]))
    array([1.  , 0.5 , 0.25])
    """
    if np.shape(x)[-1] == 0:
        return np.zeros(np.shape(x), dtype_beside(x))
    if np.shape(zi)[-1] == 0:
        return signal().lfilter(b, a, x)
    return signal().lfilter(b, a, x, zi=np.broadcast_to(zi, (*np.shape(x)[:-1], np.shape(zi)[-1])))[0]


@filter_signal.common
def filter_signal_common(z, z_bar, b, a, x, zi):
    return backwards(None, a, z_bar)


@filter_signal.vjp("b")
def filter_signal_vjp_b(z, z_bar, b, a, x, zi, common):
    return lagged_products(common, x, np.shape(b)[0])


@filter_signal.vjp("a")
def filter_signal_vjp_a(z, z_bar, b, a, x, zi, common):
    return of_state(common, zi, np.shape(a)[0]) - lagged_products(common, z, np.shape(a)[0])


@filter_signal.vjp("x")
def filter_signal_vjp_x(z, z_bar, b, a, x, zi, common):
    return backwards(b, None, common)


@filter_signal.vjp("zi")
def filter_signal_vjp_zi(z, z_bar, b, a, x, zi, common):
    return a[0] * beginning(common, np.shape(zi)[-1])


@filter_signal.jvp
def filter_signal_jvp(z, b_dot, a_dot, x_dot, zi_dot, b, a, x, zi):
    source = from_rest(b_dot, x) + from_rest(b, x_dot) - from_rest(a_dot, z)
    state = a_dot[0] * zi + a[0] * zi_dot
    return from_rest(None, source + beginning(state, np.shape(x)[-1]), a)


def from_rest(b, x, a=None):
    """The filter b / a from the state 0; None stands for 1."""
    b, a = (np.ones(1, dtype_beside(x)) if c is None else c for c in (b, a))
    count = max(np.shape(b)[0], np.shape(a)[0]) - 1
    return filter_signal(b, a, x, np.zeros((*np.shape(x)[:-1], count), dtype_beside(x)))


def backwards(b, a, x):
    """The filter b / a run from the end of x to its beginning: the transpose of the filter from the state 0."""
    return np.flip(from_rest(b, np.flip(x, -1), a), -1)


def lagged_products(w, x, m):
    """sum w_n x_{n-k} for k = 0 ... m - 1, over all signals."""
    n = np.shape(x)[-1]
    found = [np.sum(w[..., k:] * x[..., : n - k]) if k < n else 0.0 * np.sum(w) for k in range(m)]
    return np.stack(found)


def of_state(w, zi, m):
    """The contribution of the state to the cotangent of the denominator: <w, zi> for its first coefficient."""
    n = min(np.shape(w)[-1], np.shape(zi)[-1])
    first = np.reshape(np.sum(w[..., :n] * zi[..., :n]), (1,))
    return np.concatenate([first, np.zeros(m - 1, dtype_beside(first))])


def beginning(w, n):
    """The first n elements of signals, padded with zeros."""
    short = n - np.shape(w)[-1]
    if short <= 0:
        return w[..., :n]
    return np.concatenate([w, np.zeros((*np.shape(w)[:-1], short), dtype_beside(w))], axis=-1)


def final_state(b, a, x, z, zi):
    """The state of the filter b / a after x with the output z: scipy.signal.lfilter's zf."""
    k = np.shape(zi)[-1]
    if k == 0:
        return zi
    n = np.shape(x)[-1]
    rest = zi[..., n:] if n < k else zi[..., :0]
    state = np.concatenate([rest, np.zeros((*np.shape(zi)[:-1], k - np.shape(rest)[-1]))], axis=-1)
    return state + (_beyond(b, x, k) - _beyond(a, z, k)) / a[0]


def _beyond(b, x, k):
    """The k elements of the convolution of x with b beyond the end of x: sum_{i > j} b_i x_{n+j-i}."""
    n = np.shape(x)[-1]
    b = beginning(b, k + 1)
    last = x[..., max(n - k, 0) :]
    if n < k:
        last = np.concatenate([np.zeros((*np.shape(x)[:-1], k - n)), last], axis=-1)
    i = np.arange(k)  # x_{n-k+i} meets b_{k+j-i} in element j
    places = np.where(i >= i[:, None], k + i[:, None] - i, 0)
    weights = np.where(i >= i[:, None], np.take(b, places), 0.0)
    return np.sum(weights * last[..., None, :], axis=-1)


def steady_state(b, a):
    """The state in which the filter responds to a step with a step: scipy.signal.lfilter_zi."""
    b, a = as_array(b), as_array(a)
    n = max(np.shape(a)[0], np.shape(b)[0])
    b, a = beginning(b / a[0], n), beginning(a / a[0], n)
    change = b[1:] - a[1:] * b[0]
    if n == 1:
        return change
    first = np.sum(change) / np.sum(a)
    sums = np.cumsum(a)[1:-1] * first - np.cumsum(change)[:-1]
    return np.concatenate([np.reshape(first, (1,)), sums])


# ---- convolutions of arrays ------------------------------------------------------------------------------------------
_IMAGE, _KERNEL = [[0.6, 1.7, -0.2], [0.9, -1.3, 0.4], [1.1, 0.3, -0.8]], [[0.7, -0.3], [0.4, 1.2]]


@array_rule(
    dtypes=COMPLEX,
    linear=("a", "v"),
    points=[
        (_IMAGE, _KERNEL),
        (_IMAGE, _KERNEL, {"mode": "same"}),
        (_IMAGE, _KERNEL, {"mode": "valid", "method": "fft"}),
        (_SIGNAL, [0.7, -0.3], {"method": "fft"}),
        (_SIGNAL, [0.7, -0.3], {"method": "overlap", "mode": "valid"}),
        (_IMAGE, [[0.7, -0.3]], {"mode": "same", "method": "fft", "axes": (-1,)}),
    ],
)
def convolve_arrays(a, v, *, mode="full", method="direct", axes=None):
    """Convolution of two arrays with as many axes, along all or some of them; scipy.signal.convolve.

        z_k = sum_i a_i v_{k-i},     z_dot = a_dot * v + a * v_dot
        a_bar_i = sum_k z_bar_k v_{k-i},     v_bar_i = sum_k z_bar_k a_{k-i}

    Shapes:  a (n...), v (m...) -> z (n + m - 1 ...); "same": its middle (n...), "valid": its middle |n - m| + 1 ....
             Other axes are broadcast.
    Domain:  "valid" needs one array to be as long as the other along each axis; infinite elements give nan.
    Cost:    that of scipy.signal.convolve by the same method ("direct", "fft"; "overlap": scipy.signal.oaconvolve),
             forward and for each cotangent; saves nothing.

    >>> convolve_arrays(np.array([[1.0, 2.0]]), np.array([[1.0, 0.5]]))
    array([[1. , 2.5, 1. ]])
    """
    if method == "overlap":
        return signal().oaconvolve(a, v, mode, axes)
    if axes is not None:
        return signal().fftconvolve(a, v, mode, axes)
    return np.asarray(signal().convolve(a, v, mode=mode, method=method))


@convolve_arrays.vjp("a")
def convolve_arrays_vjp_a(z, z_bar, a, v, *, mode="full", method="direct", axes=None):
    return convolution_cotangent(z_bar, v, np.shape(a), np.shape(a), mode, method, axes)


@convolve_arrays.vjp("v")
def convolve_arrays_vjp_v(z, z_bar, a, v, *, mode="full", method="direct", axes=None):
    return convolution_cotangent(z_bar, a, np.shape(v), np.shape(a), mode, method, axes)


def convolution_cotangent(z_bar, other, shape, first, mode, method, axes):
    """The cotangent of the factor of that shape: the full z_bar convolved with the other factor reversed."""
    n_axes = len(shape)
    along = {k % n_axes for k in (range(n_axes) if axes is None else axes)}
    pairs = [*zip(shape, np.shape(other), strict=True)]
    whole = [n + m - 1 if k in along else max(n, m) for k, (n, m) in enumerate(pairs)]
    cut = [n - k for n, k in zip(whole, np.shape(z_bar), strict=True)]
    if mode == "valid":
        before = [min(n, m) - 1 if k in along else 0 for k, (n, m) in enumerate(pairs)]
    else:
        before = [(n - k) // 2 for n, k in zip(whole, first, strict=True)] if mode == "same" else [0] * n_axes
    d = np.pad(z_bar, [(b, c - b) for b, c in zip(before, cut, strict=True)]) if any(cut) else z_bar
    found = convolve_arrays(d, np.flip(other, tuple(along)), mode="valid", method=method, axes=axes)
    broadcast = tuple([k for k, n in enumerate(shape) if n < np.shape(found)[k]])
    return np.sum(found, axis=broadcast, keepdims=True) if broadcast else found
