"""`scipy.signal` on variables: convolutions, digital filters and spectra, with SciPy's names and arguments.

Signals, filter coefficients and states may be variables, real or complex ones. If nothing is a variable, SciPy's own
functions are called. The reverse of a filter is the filter in reversed time, at the same cost. Functions that are not
here have no derivative.

>>> import contad
>>> contad.grad(lambda a: lfilter([1.0], np.stack([1.0, a]), np.array([1.0, 0.0, 0.0]))[2])(-0.5)
-1.0
"""

import functools
import itertools
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.ops._scipy import signal
from contad.ops.recursive_filters import convolve_arrays, filter_signal, final_state, steady_state
from contad.scipy.mirroring import as_one, mirror_of, refuse_missing
from contad.scipy.short_time_transforms import short_time_class
from contad.scipy.spectral_analysis import (
    coherence,
    csd,
    freqz,
    freqz_sos,
    hilbert,
    hilbert2,
    istft,
    lombscargle,
    periodogram,
    spectrogram,
    stft,
    welch,
)
from contad.variables.array import numbers_in
from contad.variables.complex_pair import is_complex
from contad.variables.number import observe
from contad.variables.open_types import ArrayValue, Function, Option, Value

__all__ = [
    "coherence", "convolve", "convolve2d", "correlate", "correlate2d", "csd", "detrend", "fftconvolve", "filtfilt",
    "freqz", "freqz_sos", "hilbert", "hilbert2", "istft", "lfilter", "lfilter_zi", "lombscargle", "oaconvolve",
    "periodogram", "savgol_filter", "sosfilt", "sosfilt_zi", "sosfiltfilt", "spectrogram", "stft", "welch",
]  # fmt: skip

_mirror = mirror_of(signal)


# ---- convolutions ----------------------------------------------------------------------------------------------------
@_mirror
def convolve(in1: ArrayValue, in2: ArrayValue, mode: str = "full", method: str = "auto") -> ArrayValue:
    """The convolution of two arrays with as many axes, directly or by Fourier transforms.

        z_k = sum_i x_i y_(k-i),     x_bar_i = sum_k z_bar_k y_(k-i)

    Shapes:  in1 (n, ...), in2 (m, ...) -> (n + m - 1, ...), shorter for the modes "same" and "valid".
    Domain:  every in1 and in2.
    Raises:  ValueError if the numbers of axes differ.
    Cost:    O(n m) directly, O((n + m) log (n + m)) by Fourier transforms; a sweep twice that.
    Ref:     Oppenheim & Schafer, Discrete-Time Signal Processing, section 2.3; scipy.signal.convolve.

    >>> convolve(np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.0]), mode="same")
    array([0.5, 2. , 3.5])
    """
    in1, in2 = as_one(in1), as_one(in2)
    if np.ndim(in1) != np.ndim(in2):
        raise ValueError("volume and kernel should have the same dimensionality")
    if np.ndim(in1) == 0:
        return in1 * in2
    if method == "auto":
        method = signal().choose_conv_method(_stand_in(in1), _stand_in(in2), mode)
    return convolve_arrays(in1, in2, mode=mode, method=method)


def _stand_in(x: ArrayValue) -> ArrayValue:
    """An array of the shape and the type of one of variables; a plain one as it is."""
    return np.broadcast_to(1j if is_complex(x) else 1.0, np.shape(x)) if numbers_in([x]) else x


@_mirror
def correlate(in1: ArrayValue, in2: ArrayValue, mode: str = "full", method: str = "auto") -> ArrayValue:
    """The correlation of two arrays with as many axes: the convolution with the second one reversed.

        z_k = sum_i x_i conj(y_(i-k)), k from 1 - m on,     x_bar_i = sum_k z_bar_k y_(i-k)

    Shapes:  in1 (n, ...), in2 (m, ...) -> (n + m - 1, ...), shorter for the modes "same" and "valid".
    Domain:  every in1 and in2.
    Raises:  ValueError if the numbers of axes differ.
    Cost:    O(n m) directly, O((n + m) log (n + m)) by Fourier transforms; a sweep twice that.
    Ref:     Oppenheim & Schafer, Discrete-Time Signal Processing, section 2.3; scipy.signal.correlate.

    >>> correlate(np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.0]))
    array([1. , 2.5, 4. , 1.5])
    """
    in2 = as_one(in2)
    in2 = np.conj(in2) if is_complex(in2) else in2
    return convolve(in1, np.flip(in2) if np.ndim(in2) else in2, mode, method)


@_mirror
def fftconvolve(in1: ArrayValue, in2: ArrayValue, mode: str = "full", axes: Option = None) -> ArrayValue:
    """The convolution of two arrays with as many axes by Fourier transforms, along all axes or along `axes`.

        z_k = sum_i x_i y_(k-i),     x_bar_i = sum_k z_bar_k conj(y_(k-i))

    Shapes:  in1 (n, ...), in2 (m, ...) -> (n + m - 1, ...), shorter for the modes "same" and "valid"; other axes are
             broadcast.
    Domain:  every in1 and in2, real or complex.
    Raises:  ValueError if the numbers of axes differ, or other axes do not broadcast.
    Cost:    O((n + m) log (n + m)); a sweep twice that.
    Ref:     Oppenheim & Schafer, Discrete-Time Signal Processing, section 8.7; scipy.signal.fftconvolve.

    >>> fftconvolve(np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.0])).round(12)
    array([0.5, 2. , 3.5, 3. ])
    """
    return _by_transforms(in1, in2, mode, "fft", axes)


@_mirror
def oaconvolve(in1: ArrayValue, in2: ArrayValue, mode: str = "full", axes: Option = None) -> ArrayValue:
    """`fftconvolve` with the longer array in pieces, whose convolutions overlap and are added.

        z_k = sum_i x_i y_(k-i),     x_bar_i = sum_k z_bar_k conj(y_(k-i))

    Shapes, Raises:  as `fftconvolve`.
    Domain:  every x and y.
    Cost:    O(n log m) for m < n; a sweep as much for x_bar, and O(n log n) for y_bar.
    Ref:     Oppenheim & Schafer, Discrete-Time Signal Processing, section 8.7; scipy.signal.oaconvolve.

    >>> oaconvolve(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.5, 1.0])).round(12)
    array([0.5, 2. , 3.5, 5. , 4. ])
    """
    return _by_transforms(in1, in2, mode, "overlap", axes)


def _by_transforms(in1: ArrayValue, in2: ArrayValue, mode: str, method: str, axes: Option) -> ArrayValue:
    in1, in2 = as_one(in1), as_one(in2)
    if np.ndim(in1) != np.ndim(in2):
        raise ValueError("in1 and in2 should have the same dimensionality")
    if np.ndim(in1) == 0:
        return in1 * in2
    if np.size(in1) == 0 or np.size(in2) == 0:
        return np.array([])
    if axes is not None:
        axes = tuple(axes) if np.iterable(axes) else (axes,)
    return convolve_arrays(in1, in2, mode=mode, method=method, axes=axes)


_BOUNDARIES = {
    "fill": "constant", "pad": "constant", "wrap": "wrap", "circular": "wrap", "symm": "symmetric",
    "symmetric": "symmetric",
}  # fmt: skip


@_mirror
def convolve2d(
    in1: ArrayValue, in2: ArrayValue, mode: str = "full", boundary: str = "fill", fillvalue: float = 0
) -> ArrayValue:
    """The convolution of two matrices; the first one goes on beyond its edges as `boundary` says.

        z_kl = sum_ij x_(k-i, l-j) y_ij,     x_bar: the correlation of z_bar with y, folded at the edges

    Shapes:  in1 (n, p), in2 (m, q) -> (n + m - 1, p + q - 1); "same": (n, p), "valid": the elements without edges.
    Domain:  every in1 and in2, real or complex; boundary "fill", "wrap" or "symm".
    Raises:  ValueError if an argument is not a matrix, and for another mode or boundary.
    Cost:    O(n p m q); a sweep twice that.
    Ref:     scipy.signal.convolve2d.

    >>> convolve2d(np.array([[1.0, 2.0, 3.0]]), np.array([[0.5, 1.0]]), boundary="wrap")
    array([[3.5, 2. , 3.5, 3.5]])
    """
    in1, in2 = _matrices("convolve2d", in1, in2)
    if mode == "valid" and np.shape(in1)[0] < np.shape(in2)[0]:
        in1, in2 = in2, in1
    return _convolve_extended(in1, in2, mode, boundary, fillvalue, 1)


@_mirror
def correlate2d(
    in1: ArrayValue, in2: ArrayValue, mode: str = "full", boundary: str = "fill", fillvalue: float = 0
) -> ArrayValue:
    """The correlation of two matrices: `convolve2d` with the second one reversed, and its conjugate.

        z_kl = sum_ij x_(k+i, l+j) conj(y_ij),     x_bar: the convolution of z_bar with y, folded at the edges

    Shapes, Raises, Cost:  as `convolve2d`.
    Domain:  every x and y.
    Ref:     scipy.signal.correlate2d.

    >>> correlate2d(np.array([[1.0, 2.0, 3.0]]), np.array([[0.5, 1.0]]))
    array([[1. , 2.5, 4. , 1.5]])
    """
    in1, in2 = _matrices("correlate2d", in1, in2)
    is_swapped = mode == "valid" and np.shape(in1)[0] < np.shape(in2)[0]
    if is_swapped:
        in1, in2 = in2, in1
    in2 = np.flip(np.conj(in2) if is_complex(in2) else in2)
    z = _convolve_extended(in1, in2, mode, boundary, fillvalue, 0)
    return np.flip(z) if is_swapped else z


def _matrices(name: str, in1: ArrayValue, in2: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    in1, in2 = as_one(in1), as_one(in2)
    if not np.ndim(in1) == np.ndim(in2) == 2:
        raise ValueError(f"{name} inputs must both be 2-D arrays")
    return in1, in2


def _convolve_extended(
    in1: ArrayValue, in2: ArrayValue, mode: str, boundary: str, fillvalue: float, shift: int
) -> ArrayValue:
    """The convolution of two matrices, whose middle begins `shift` elements before the centre of an even kernel."""
    if mode not in ("full", "same", "valid"):
        raise ValueError("Acceptable mode flags are 'valid', 'same', or 'full'.")
    if boundary not in _BOUNDARIES:
        raise ValueError("Acceptable boundary flags are 'fill', 'circular' (or 'wrap'), and 'symmetric' (or 'symm').")
    if mode == "valid":
        return convolve_arrays(in1, in2, mode=mode)
    kind: Any = _BOUNDARIES[boundary]
    if kind == "constant" and fillvalue == 0:
        z = convolve_arrays(in1, in2)
    else:
        options = {"constant_values": fillvalue} if kind == "constant" else {}
        padded = np.pad(in1, [(m - 1, m - 1) for m in np.shape(in2)], mode=kind, **options)
        z = convolve_arrays(padded, in2, mode="valid")
    if mode == "full":
        return z
    first = [(m - shift) // 2 for m in np.shape(in2)]
    return z[tuple([slice(k, k + n) for k, n in zip(first, np.shape(in1), strict=True)])]


# ---- filters ---------------------------------------------------------------------------------------------------------
@_mirror
def lfilter(b: ArrayValue, a: ArrayValue, x: ArrayValue, axis: int = -1, zi: ArrayValue = None) -> Value:
    """A signal filtered along an axis by b / a; with zi, also the final state.

        sum_k a_k z_(n-k) = sum_k b_k x_(n-k),     x_bar: z_bar filtered by b / a in reversed time

    Shapes:  b (m,), a (k,), x (..., n, ...), zi (..., max(m, k) - 1, ...) -> (..., n, ...).
    Domain:  a_0 other than 0.
    Raises:  ValueError if b or a is not a vector, or zi does not fit.
    Cost:    SciPy's forward, three times that in reverse; see `contad.ops.recursive_filters.filter_signal`.
    Ref:     Oppenheim & Schafer, Discrete-Time Signal Processing, section 6.3.

    >>> lfilter([1.0, 0.5], [1.0, -0.5], [1.0, 0.0, 0.0, 2.0])
    array([1.  , 1.  , 0.5 , 2.25])
    """
    b, a, x = _coefficients("lfilter", b), _coefficients("lfilter", a), np.moveaxis(as_one(x), axis, -1)
    order = max(np.size(b), np.size(a)) - 1
    shape = (*np.shape(x)[:-1], order)
    if zi is None:
        return np.moveaxis(filter_signal(b, a, x, np.zeros(shape)), -1, axis)
    state = np.moveaxis(as_one(zi), axis, -1) if np.ndim(zi) == np.ndim(x) else as_one(zi)
    if np.ndim(state) != np.ndim(x) or np.shape(state)[-1] != order:
        raise ValueError(f"contad.scipy.signal.lfilter: zi must have shape {shape}, got {np.shape(state)}")
    state = np.broadcast_to(state, shape)
    z = filter_signal(b, a, x, state)
    return np.moveaxis(z, -1, axis), np.moveaxis(final_state(b, a, x, z, state), -1, axis)


def _coefficients(name: str, b: ArrayValue) -> ArrayValue:
    b = as_one(b)
    b = b if np.ndim(b) else np.reshape(b, (1,))
    if np.ndim(b) != 1:
        raise ValueError(f"contad.scipy.signal.{name}: coefficients must be vectors, got shape {np.shape(b)}")
    return b


@_mirror
def lfilter_zi(b: ArrayValue, a: ArrayValue) -> ArrayValue:
    """The state in which the filter b / a responds to a step with a step.

        z with lfilter(b, a, ones(n), zi=z)[0] = sum b / sum a for every n

    Shapes:  b (m,), a (k,) -> (max(m, k) - 1,).
    Domain:  sum a other than 0.
    Raises:  ValueError if b or a is not a vector.
    Cost:    O(m + k).
    Ref:     scipy.signal.lfilter_zi.

    >>> lfilter_zi([1.0, 0.5], [1.0, -0.25])
    array([1.])
    """
    return steady_state(_coefficients("lfilter_zi", b), _coefficients("lfilter_zi", a))


@_mirror
def sosfilt(sos: ArrayValue, x: ArrayValue, axis: int = -1, zi: ArrayValue = None) -> Value:
    """A signal filtered by sections of order 2, (b_0, b_1, b_2, 1, a_1, a_2) each; with zi, also the final states.

        z = H_s ... H_1 x,     H_i: `lfilter` by (b_0, b_1, b_2) / (1, a_1, a_2) of section i

    Shapes:  sos (s, 6), x (..., n, ...), zi (s, ..., 2, ...) -> (..., n, ...).
    Domain:  every sos with ones in column 3.
    Raises:  ValueError if sos or zi does not fit.
    Cost:    that of `lfilter` for each section.
    Ref:     Oppenheim & Schafer, Discrete-Time Signal Processing, section 6.3; scipy.signal.sosfilt.

    >>> sosfilt(np.array([[1.0, 0.5, 0.0, 1.0, -0.5, 0.25]]), np.array([1.0, 0.0, 0.0, 2.0]))
    array([1.   , 1.   , 0.25 , 1.875])
    """
    sos = _sections("sosfilt", sos)
    if zi is not None and np.shape(zi)[0] != np.shape(sos)[0]:
        raise ValueError(f"Invalid zi shape: {np.shape(zi)} for {np.shape(sos)[0]} sections")
    states = []
    for k in range(np.shape(sos)[0]):
        if zi is None:
            x = lfilter(sos[k, :3], sos[k, 3:], x, axis)
        else:
            x, state = lfilter(sos[k, :3], sos[k, 3:], x, axis, zi[k])
            states.append(state)
    return x if zi is None else (x, np.stack(states))


def _sections(name: str, sos: ArrayValue) -> ArrayValue:
    sos = as_one(sos)
    if np.ndim(sos) != 2 or np.shape(sos)[1] != 6 or not np.shape(sos)[0]:
        raise ValueError(f"contad.scipy.signal.{name}: sos must have shape (sections, 6), got {np.shape(sos)}")
    if not np.all(observe(np.equal, sos[:, 3], 1.0)):
        raise ValueError("sos[:, 3] should be all ones")
    return sos


@_mirror
def sosfilt_zi(sos: ArrayValue) -> ArrayValue:
    """The states in which sections respond to a step with a step: (sections, 2).

        z with sosfilt(sos, ones(n), zi=z)[0] = prod_i sum b_i / sum a_i for every n

    Shapes:  sos (s, 6) -> (s, 2).
    Domain:  sections whose sum of a is other than 0.
    Raises:  ValueError if sos does not fit.
    Cost:    O(s).
    Ref:     scipy.signal.sosfilt_zi.

    >>> sosfilt_zi(np.array([[1.0, 0.5, 0.0, 1.0, -0.5, 0.25]])).round(6)
    array([[ 1. , -0.5]])
    """
    sos = _sections("sosfilt_zi", sos)
    states, scale = [], 1.0
    for k in range(np.shape(sos)[0]):
        b, a = sos[k, :3], sos[k, 3:]
        states.append(scale * steady_state(b, a))
        scale = scale * (np.sum(b) / np.sum(a))
    return np.stack(states)


# ---- forwards and backwards ------------------------------------------------------------------------------------------
_EXTENSIONS = {"odd": "reflect", "even": "reflect", "constant": "edge"}


@_mirror
def filtfilt(
    b: ArrayValue, a: ArrayValue, x: ArrayValue, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None,
    method: str = "pad", irlen: int | None = None,
) -> ArrayValue:  # fmt: skip
    """A signal filtered forwards and backwards, without delay; `method` must be "pad" on variables.

        z = R H R H x, H: `lfilter` by b / a from its state of a step, R reversed time; x extended by padlen at its ends

    Shapes:  b (m,), a (k,), x (..., n, ...) -> like x.
    Domain:  a_0 and sum a other than 0, n > padlen.
    Raises:  ValueError if x is too short, or for another padtype; UnsupportedError for variables and another method.
    Cost:    that of two filters.
    Ref:     Gustafsson (1996), IEEE Transactions on Signal Processing 44; scipy.signal.filtfilt.

    >>> filtfilt([0.5, 0.5], [1.0], np.array([1.0, 2.0, 4.0, 3.0]), padlen=2)
    array([1.  , 2.25, 3.25, 3.  ])
    """
    if method != "pad":
        raise UnsupportedError(f"contad.scipy.signal.filtfilt: method must be 'pad' on variables, got {method!r}")
    b, a = _coefficients("filtfilt", b), _coefficients("filtfilt", a)
    width = 3 * max(np.size(b), np.size(a)) if padlen is None else padlen
    state = steady_state(b, a)

    def run(x: ArrayValue) -> ArrayValue:
        return filter_signal(b, a, x, state * x[..., :1])

    return _both_ways(run, x, axis, padtype, width)


@_mirror
def sosfiltfilt(
    sos: ArrayValue, x: ArrayValue, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None
) -> ArrayValue:
    """A signal filtered forwards and backwards by sections of order 2.

        z = R H R H x, H: `sosfilt` from its states of a step, R reversed time; x extended by padlen at its ends

    Shapes:  sos (s, 6), x (..., n, ...) -> like x.
    Domain:  sections whose sum of a is other than 0, n > padlen.
    Raises:  ValueError if x is too short, or for another padtype.
    Cost:    that of two filters.
    Ref:     Gustafsson (1996), IEEE Transactions on Signal Processing 44; scipy.signal.sosfiltfilt.

    >>> sosfiltfilt(np.array([[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]]), np.array([1.0, 2.0, 4.0, 3.0]), padlen=2)
    array([1.  , 2.25, 3.25, 3.  ])
    """
    sos = _sections("sosfiltfilt", sos)
    absent = [int(np.sum(observe(np.equal, sos[:, k], 0.0))) for k in (2, 5)]
    width = 3 * (2 * np.shape(sos)[0] + 1 - min(absent)) if padlen is None else padlen
    states = sosfilt_zi(sos)

    def run(x: ArrayValue) -> ArrayValue:
        first = x[..., :1]
        for k in range(np.shape(sos)[0]):
            x = filter_signal(sos[k, :3], sos[k, 3:], x, states[k] * first)
        return x

    return _both_ways(run, x, axis, padtype, width)


def _both_ways(run: Function, x: ArrayValue, axis: int, padtype: str | None, width: int) -> ArrayValue:
    """A signal extended at both ends, filtered forwards and backwards from a steady state for its first element."""
    x = np.moveaxis(as_one(x), axis, -1)
    n = np.shape(x)[-1]
    if padtype is None:
        width = 0
    elif padtype not in _EXTENSIONS:
        raise ValueError(
            f"Unknown value '{padtype}' given to padtype. padtype must be 'even', 'odd', 'constant', or None."
        )
    if n <= width:
        raise ValueError(f"The length of the input vector x must be greater than padlen, which is {width}.")
    if width:
        before, after = x[..., :1], x[..., -1:]
        extension: Any = _EXTENSIONS[padtype or "odd"]
        x = np.pad(x, [(0, 0)] * (np.ndim(x) - 1) + [(width, width)], mode=extension)
        if padtype == "odd":
            inner = x[..., width : width + n]
            x = np.concatenate([2.0 * before - x[..., :width], inner, 2.0 * after - x[..., width + n :]], axis=-1)
    z = np.flip(run(np.flip(run(x), -1)), -1)
    return np.moveaxis(z[..., width : width + n], -1, axis)


# ---- smoothing -------------------------------------------------------------------------------------------------------
@functools.lru_cache(64)
def _weights(window_length: int, polyorder: int, deriv: int, delta: float, pos: int | None) -> np.ndarray:
    """The weights of a window that give the least-squares polynomial, or a derivative, at a position in it."""
    return signal().savgol_coeffs(window_length, polyorder, deriv=deriv, delta=delta, pos=pos, use="dot")


@_mirror
def savgol_filter(
    x: ArrayValue, window_length: int, polyorder: int, deriv: int = 0, delta: float = 1.0, axis: int = -1,
    mode: str = "interp", cval: float = 0.0,
) -> ArrayValue:  # fmt: skip
    """The least-squares polynomial in a window around each element, or its derivative, at that element.

        z_i = p_i^(deriv)(0) / delta^deriv,
        p_i, of degree polyorder, minimises sum_j (x_(i+j) - p_i(j))^2 over the window

    Shapes:  x (..., n, ...) -> like x.
    Domain:  every finite x; window_length > polyorder.
    Raises:  ValueError for an unknown mode, and a window longer than x in mode "interp".
    Cost:    O(n window_length), and so is a sweep.
    Ref:     Savitzky & Golay (1964), Analytical Chemistry 36; scipy.signal.savgol_filter.

    >>> savgol_filter(np.array([1.0, 4.0, 9.0, 16.0, 26.0]), 3, 1).round(12)
    array([ 0.66666667,  4.66666667,  9.66666667, 17.        , 25.5       ])
    """
    x = np.moveaxis(as_one(x), axis, -1)
    n, half = np.shape(x)[-1], window_length // 2
    weights = functools.partial(_weights, window_length, polyorder, deriv, delta)
    if mode == "interp" and window_length > n:
        raise ValueError("If mode is 'interp', window_length must be less than or equal to the size of x.")
    padding = {"mirror": "reflect", "nearest": "edge", "wrap": "wrap", "constant": "constant", "interp": None}
    if mode not in padding:
        raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
    padded = x
    if padding[mode] is not None:
        options: Any = {"mode": padding[mode]} | ({"constant_values": cval} if mode == "constant" else {})
        ends = (window_length - 1 - half, half)
        padded = np.pad(x, [(0, 0)] * (np.ndim(x) - 1) + [ends], **options)
    kernel = np.reshape(weights(None)[::-1], (1,) * (np.ndim(x) - 1) + (-1,))
    z = convolve_arrays(padded, kernel, mode="valid", method="direct")
    if mode == "interp" and half:
        start = np.stack([weights(k) for k in range(half)])
        end = np.stack([weights(window_length - half + k) for k in range(half)])
        first, last = x[..., :window_length], x[..., n - window_length :]
        z = np.concatenate([first @ start.T, z[..., 2 * half + 1 - window_length :], last @ end.T], axis=-1)
    return np.moveaxis(z, -1, axis)


@_mirror
def detrend(
    data: ArrayValue, axis: int = -1, type: str = "linear", bp: Option = 0, overwrite_data: bool = False
) -> ArrayValue:
    """A signal minus its least-squares line, or its mean; separately for each piece between break points bp.

        z = x - q q^T x,     q an orthonormal basis of lines, or of constants, over a piece

    Shapes:  data (..., n, ...) -> like data.
    Domain:  every finite signal.
    Raises:  ValueError for another type, and break points beyond the end.
    Cost:    O(n), and so is a sweep.
    Ref:     scipy.signal.detrend.

    >>> detrend(np.array([1.0, 2.0, 4.0, 5.0])).round(6)
    array([ 0.1, -0.3,  0.3, -0.1])
    """
    x = np.moveaxis(as_one(data), axis, -1)
    if type in ("constant", "c"):
        return np.moveaxis(x - np.mean(x, axis=-1, keepdims=True), -1, axis)
    if type not in ("linear", "l"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    ends = np.unique([0, *np.atleast_1d(bp), np.shape(x)[-1]]).astype(int)
    if ends[-1] > np.shape(x)[-1]:
        raise ValueError("Breakpoints must be less than length of data along given axis.")
    pieces = []
    for start, stop in itertools.pairwise(ends):
        piece = x[..., start:stop]
        t = np.arange(1.0, stop - start + 1.0)
        t = t - np.mean(t)
        slope = np.sum(piece * t, axis=-1, keepdims=True) / max(float(np.sum(t * t)), np.finfo(float).tiny)
        pieces.append(piece - np.mean(piece, axis=-1, keepdims=True) - slope * t)
    return np.moveaxis(np.concatenate(pieces, axis=-1), -1, axis)


def __getattr__(name: str) -> Any:
    if name == "ShortTimeFFT":
        return short_time_class()
    refuse_missing(__name__, signal, name)
