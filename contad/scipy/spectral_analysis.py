"""Spectra of signals, with the names of `scipy.signal`: short-time Fourier transforms, power spectra, responses.

They are written with `contad.scipy.fft`, so signals may be real or complex. Windows and frequencies are constants.
"""

import operator
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.ops._scipy import signal
from contad.ops.fourier_transforms import transform
from contad.scipy.mirroring import as_one, mirror_of
from contad.variables.complex_pair import is_complex
from contad.variables.number import observe
from contad.variables.open_types import ArrayValue, Function, Option, Value

_mirror = mirror_of(signal)


# ---- segments --------------------------------------------------------------------------------------------------------
class _Segments(NamedTuple):
    """Windows on a signal, `step` elements apart, whose transforms have the length nfft."""

    window: np.ndarray
    step: int
    nfft: int

    @property
    def length(self) -> int:
        return len(self.window)

    def scale(self, fs: float, scaling: str) -> float:
        """The factor of a power spectrum."""
        if scaling not in ("density", "spectrum"):
            raise ValueError(f"Unknown scaling: {scaling!r}")
        w = self.window
        return 1.0 / (fs * np.sum(w * w)) if scaling == "density" else 1.0 / np.sum(w) ** 2

    def weights(self, fs: float, scaling: str, half: bool) -> np.ndarray:
        """The factors of a power spectrum; elements of a half spectrum that stand for two count twice."""
        found = np.full(self.nfft // 2 + 1 if half else self.nfft, self.scale(fs, scaling))
        if half:
            found[1 : -1 if self.nfft % 2 == 0 else None] *= 2.0
        return found

    def frequencies(self, fs: float, half: bool) -> np.ndarray:
        return (np.fft.rfftfreq if half else np.fft.fftfreq)(self.nfft, 1 / fs)


def _segments(window: Any, nperseg: Any, noverlap: Any, nfft: Any, n: int) -> _Segments:
    """The windows on a signal of n elements, by SciPy's arguments."""
    if isinstance(window, (str, tuple)):
        nperseg = 256 if nperseg is None else int(nperseg)
        if nperseg < 1:
            raise ValueError("nperseg must be a positive integer")
        if nperseg > n:
            warnings.warn(f"nperseg = {nperseg} is greater than input length = {n}, using nperseg = {n}", stacklevel=5)
            nperseg = n
        window = signal().get_window(window, nperseg)
    window = np.asarray(window)
    if window.ndim != 1 or len(window) > n:
        raise ValueError(f"window must be a vector no longer than the signal, got shape {window.shape}, n = {n}")
    if nperseg is not None and int(nperseg) != len(window):
        raise ValueError("value specified for nperseg is different from length of window")
    nperseg = len(window)
    nfft = nperseg if nfft is None else int(nfft)
    if nfft < nperseg:
        raise ValueError("nfft must be greater than or equal to nperseg.")
    noverlap = nperseg // 2 if noverlap is None else int(noverlap)
    if noverlap >= nperseg:
        raise ValueError("noverlap must be less than nperseg.")
    return _Segments(window, nperseg - noverlap, nfft)


def _spectra(x: Value, segments: _Segments, detrend: Option, half: bool) -> Value:
    """The transforms of the windows on signals (..., n): (..., windows, frequencies)."""
    pieces = np.lib.stride_tricks.sliding_window_view(x, segments.length, axis=-1)[..., :: segments.step, :]
    if callable(detrend):
        pieces = detrend(pieces)
    elif detrend:
        pieces = _detrend(pieces, detrend)
    return transform("rfftn" if half else "fftn", segments.window * pieces, (segments.nfft,), (-1,), None, None)


def _detrend(pieces: Value, kind: Option) -> Value:
    """Segments minus their means, or their least-squares lines."""
    centred = pieces - np.mean(pieces, axis=-1, keepdims=True)
    if kind in ("constant", "c"):
        return centred
    if kind not in ("linear", "l"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    t = np.arange(np.shape(pieces)[-1]) - 0.5 * (np.shape(pieces)[-1] - 1)
    return centred - t * (np.sum(t * pieces, axis=-1, keepdims=True) / max(float(np.sum(t * t)), np.finfo(float).tiny))


# ---- the analytic signal, and frequency responses --------------------------------------------------------------------
@_mirror
def hilbert(x: ArrayValue, N: int | None = None, axis: int = -1) -> Value:
    """The analytic signal x + i H x, whose spectrum is 0 at negative frequencies.

        z = F^-1 (h F x), h = 1 at the frequencies 0 and N / 2, 2 at positive ones, 0 at negative ones
        x_bar = Re F^-1 (h F z_bar)

    Shapes:  x (..., n, ...) -> (..., N, ...), cut or padded with zeros to N; N = n if not given.
    Domain:  every real x; N >= 1.
    Raises:  ValueError for complex x and N < 1.
    Cost:    O(N log N); a sweep the same.
    Ref:     Marple (1999), IEEE Transactions on Signal Processing 47; scipy.signal.hilbert.

    >>> hilbert(np.array([1.0, 2.0, 4.0, 7.0])).imag
    array([ 2.5, -1.5, -2.5,  1.5])
    """
    x = as_one(x)
    N = np.shape(x)[axis] if N is None else operator.index(N)
    return _without_negative_frequencies(x, (N,), (axis,), [N // 2 + 1])


@_mirror
def hilbert2(x: ArrayValue, N: Any = None, axes: tuple[int, int] = (-2, -1)) -> Value:
    """The analytic signal of an image: its spectrum is 0 at negative frequencies of either axis.

        z = F^-1 (h F x), h = 1 at the frequency 0 of an axis and 2 at positive ones, multiplied for both axes
        x_bar = Re F^-1 (h F z_bar)

    Shapes:  x (..., m, n) -> (..., M, N), cut or padded with zeros to N = (M, N), or to a square.
    Domain:  every real x; positive lengths. The lone frequency of an even length is one of the negative ones.
    Raises:  ValueError for complex x, lengths below 1 and equal axes.
    Cost:    O(m n log(m n)); a sweep the same.
    Ref:     Hahn (1992), Proceedings of the IEEE 80; scipy.signal.hilbert2.

    >>> hilbert2(np.array([[1.0, 2.0, 4.0], [7.0, 0.0, 5.0], [3.0, 3.0, 1.0]])).imag.round(3)[0]
    array([-1.155, -0.   , -1.732])
    """
    x = as_one(x)
    x = np.reshape(x, (1,) * (2 - np.ndim(x)) + np.shape(x))
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ValueError("axes must be a tuple of two distinct axes")
    lengths = tuple(np.shape(x)[k] for k in axes) if N is None else (N, N) if isinstance(N, int) else tuple(N)
    if len(lengths) != 2:
        raise ValueError("When given as a tuple, N must hold exactly two positive integers")
    return _without_negative_frequencies(x, lengths, tuple(axes), [(n + 1) // 2 for n in lengths])


def _without_negative_frequencies(x: Value, lengths: Sequence[int], axes: Sequence[int], ends: Sequence[int]) -> Value:
    """A real signal with the spectrum 0 from the place `ends` of each axis on, and doubled at positive frequencies."""
    if is_complex(x):
        raise ValueError("x must be real.")
    if min(lengths) <= 0:
        raise ValueError("N must be positive.")
    z = transform("fftn", x, lengths, axes, None, None)
    for n, axis, end in zip(lengths, axes, ends, strict=True):
        h = np.zeros(n)
        h[0], h[1:end] = 1.0, 2.0
        if n % 2 == 0 and end > n // 2:
            h[n // 2] = 1.0
        z = np.reshape(h, (-1,) + (1,) * (np.ndim(x) - 1 - axis % np.ndim(x))) * z
    return transform("ifftn", z, None, axes, None, None)


@_mirror
def freqz(
    b: ArrayValue, a: ArrayValue = 1, worN: Any = 512, whole: bool = False, plot: Function | None = None,
    fs: float = 2.0 * np.pi, include_nyquist: bool = False,
) -> Value:  # fmt: skip
    """Frequencies, and the response of the filter b / a at them; the frequencies may be variables.

        z(w) = sum_k b_k exp(-i k w) / sum_k a_k exp(-i k w)

    Shapes:  b (m,), a (k,), worN (n,), or n equidistant frequencies up to fs / 2 -> w (n,), z (n,).
    Domain:  frequencies that are not poles.
    Raises:  ValueError if b or a is not a vector, or worN < 0.
    Cost:    O(n log n) for a number of frequencies worN >= m, k, else O(n (m + k)); a sweep twice that.
    Ref:     Oppenheim & Schafer, Discrete-Time Signal Processing, section 5.1; scipy.signal.freqz.

    >>> np.abs(freqz(np.array([0.5, 0.5]), worN=4)[1])
    array([1.        , 0.92387953, 0.70710678, 0.38268343])
    """
    b, a = (c if np.ndim(c) else np.reshape(c, (1,)) for c in map(as_one, (b, a)))
    if np.ndim(b) != 1 or np.ndim(a) != 1:
        raise ValueError(f"freqz: on variables b and a must be vectors, got shapes {np.shape(b)} and {np.shape(a)}")
    worN = 512 if worN is None else worN
    if isinstance(worN, (int, np.integer)):
        n = operator.index(worN)
        if n < 0:
            raise ValueError(f"worN must be nonnegative, got {n}")
        w: Any = np.linspace(0.0, 2.0 * np.pi if whole else np.pi, n, endpoint=include_nyquist and not whole)
        length = n if whole else 2 * (n - 1) if include_nyquist else 2 * n
        if length >= max(np.size(b), np.size(a)):
            z = transform("fftn", b, (length,), (0,), None, None)[:n]
            z = z / transform("fftn", a, (length,), (0,), None, None)[:n]
        else:
            z = _response(b, w) / _response(a, w)
    else:
        w = 2.0 * np.pi * np.atleast_1d(as_one(worN)) / fs
        z = _response(b, w) / _response(a, w)
    if plot is not None:
        plot(w, z)
    return w * (fs / (2.0 * np.pi)), z


def _response(b: Value, w: Value) -> Value:
    """sum_k b_k exp(-i k w)."""
    return np.exp(-1j * np.outer(w, np.arange(np.size(b)))) @ b


@_mirror
def freqz_sos(sos: ArrayValue, worN: Any = 512, whole: bool = False, fs: float = 2.0 * np.pi) -> Value:
    """Frequencies, and the response of sections of order 2 at them.

        z = prod_s b_s(exp(-iw)) / a_s(exp(-iw)), each factor as in `freqz`

    Shapes:  sos (sections, 6) -> w (n,), z (n,).
    Domain:  sections without a pole at a frequency.
    Cost:    O(n) for each section.
    Ref:     scipy.signal.freqz_sos.

    >>> abs(freqz_sos(np.array([[0.1, 0.2, 0.1, 1.0, -0.6, 0.2]]), 3)[1]).round(6)
    array([0.666667, 0.433013, 0.072169])
    """
    z: Any = 1.0
    for row in as_one(sos):
        w, response = freqz(row[:3], row[3:], worN, whole, None, fs)
        z = z * response
    return w, z


# ---- short-time transforms -------------------------------------------------------------------------------------------
@_mirror
def stft(
    x: ArrayValue, fs: float = 1.0, window: Any = "hann", nperseg: int | None = 256, noverlap: int | None = None,
    nfft: int | None = None, detrend: Any = False, return_onesided: bool = True, boundary: str | None = "zeros",
    padded: bool = True, axis: int = -1, scaling: str = "spectrum",
) -> Value:  # fmt: skip
    """Frequencies, times, and the Fourier transforms of a signal in windows at these times.

        z_km = c sum_j w_j x_(j + m h) exp(-2 pi i j k / nfft), w the window, h its step,
        x_bar: the transforms back of z_bar, times c w, added where windows overlap

    Shapes:  x (..., n, ...) -> f (nfft // 2 + 1,), or (nfft,) for complex x; t (m,); z (..., f, ..., m).
    Domain:  every x; windows not longer than the signal.
    Raises:  ValueError for windows, lengths, a boundary and a scaling that do not fit.
    Cost:    O(m nfft log nfft); a sweep the same.
    Ref:     Oppenheim & Schafer, Discrete-Time Signal Processing, section 10.3; scipy.signal.stft.

    >>> np.abs(stft(np.array([1.0, 2.0, 4.0, 7.0]), nperseg=2, window="boxcar")[2])
    array([[0.5, 1.5, 3. , 5.5, 3.5],
           [0.5, 0.5, 1. , 1.5, 3.5]])
    """
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"Parameter scaling={scaling!r} not in ['spectrum', 'psd']!")
    scaling = "density" if scaling == "psd" else scaling
    options = fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, boundary, padded
    return _short_time(x, *options)


def _short_time(
    x: ArrayValue, fs: float, window: Any, nperseg: Any, noverlap: Any, nfft: Any, detrend: Any, half: bool,
    scaling: str, axis: int, boundary: str | None = None, padded: bool = False, power: bool = False,
) -> Value:  # fmt: skip
    x = np.moveaxis(as_one(x), axis, -1)
    half = _is_half(half, x)
    segments = _segments(window, nperseg, noverlap, nfft, np.shape(x)[-1])
    length = segments.length
    if boundary is not None:
        x = _extend(x, length // 2, boundary)
    missing = -(np.shape(x)[-1] - length) % segments.step % length if padded else 0
    if missing:
        x = np.pad(x, [(0, 0)] * (np.ndim(x) - 1) + [(0, missing)])
    z = _spectra(x, segments, detrend, half)
    z = segments.weights(fs, scaling, half) * _squares(z) if power else np.sqrt(segments.scale(fs, scaling)) * z
    times = np.arange(length / 2, np.shape(x)[-1] - length / 2 + 1, segments.step) / float(fs)
    times = times if boundary is None else times - length / 2 / fs
    return segments.frequencies(fs, half), times, np.moveaxis(z, -1, axis - 1 if axis < 0 else axis)


def _is_half(half: bool, *signals: Value) -> bool:
    if half and any(map(is_complex, signals)):
        warnings.warn("Input data is complex, switching to return_onesided=False", stacklevel=4)
        return False
    return half


def _extend(x: Value, n: int, boundary: str) -> Value:
    """A signal extended by n elements at both ends."""
    kinds = {"zeros": "constant", "constant": "edge", "even": "reflect", "odd": "reflect"}
    if boundary not in kinds:
        raise ValueError(f"Unknown boundary option '{boundary}', must be one of: {[*kinds, None]}")
    if n < 1:
        return x
    if kinds[boundary] == "reflect" and n >= np.shape(x)[-1]:
        raise ValueError(f"The extension length n ({n}) is too big. It must not exceed {np.shape(x)[-1] - 1}.")
    kind: Any = kinds[boundary]
    z = np.pad(x, [(0, 0)] * (np.ndim(x) - 1) + [(n, n)], mode=kind)
    if boundary != "odd":
        return z
    first, last = 2.0 * x[..., :1] - z[..., :n], 2.0 * x[..., -1:] - z[..., -n:]
    return np.concatenate([first, x, last], axis=-1)


@_mirror
def istft(
    Zxx: ArrayValue, fs: float = 1.0, window: Any = "hann", nperseg: int | None = None, noverlap: int | None = None,
    nfft: int | None = None, input_onesided: bool = True, boundary: bool = True, time_axis: int = -1,
    freq_axis: int = -2, scaling: str = "spectrum",
) -> Value:  # fmt: skip
    """Times, and the signal whose `stft` is given: of all signals, that with the nearest one.

        z_j = sum_m w_(j - m h) y_(j - m h, m) / sum_m w_(j - m h)^2, y the transforms back,
        Zxx_bar: `stft` of z_bar over the sum of squares of windows

    Shapes:  Zxx (..., f, ..., m) -> t (n,), z (..., n, ...).
    Domain:  every Zxx; windows that cover each element.
    Raises:  ValueError for windows, lengths, axes and a scaling that do not fit.
    Cost:    O(m nfft log nfft); a sweep the same.
    Ref:     Griffin & Lim (1984), IEEE Transactions on Acoustics, Speech, and Signal Processing 32; scipy.signal.istft.

    >>> istft(stft(np.array([1.0, 2.0, 4.0, 7.0]), nperseg=2)[2])[1].round(12)
    array([1., 2., 4., 7.])
    """
    Zxx = as_one(Zxx)
    if np.ndim(Zxx) < 2:
        raise ValueError("Input stft must be at least 2d!")
    time_axis, freq_axis = time_axis % np.ndim(Zxx), freq_axis % np.ndim(Zxx)
    if freq_axis == time_axis:
        raise ValueError("Must specify differing time and frequency axes!")
    z = np.moveaxis(Zxx, (time_axis, freq_axis), (-2, -1))
    count, lines = np.shape(z)[-2:]
    whole = 2 * (lines - 1) if input_onesided else lines
    nperseg = whole if nperseg is None else int(nperseg)
    if nperseg < 1:
        raise ValueError("nperseg must be a positive integer")
    if nfft is None:
        nfft = nperseg if input_onesided and nperseg == whole + 1 else whole
    segments = _segments(window, nperseg, noverlap, nfft, nperseg)
    w, step = segments.window, segments.step
    pieces = transform("irfftn" if input_onesided else "ifftn", z, (segments.nfft,), (-1,), None, None)[..., :nperseg]
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"Parameter scaling={scaling!r} not in ['spectrum', 'psd']!")
    factor = np.sum(w) if scaling == "spectrum" else np.sqrt(fs * np.sum(w**2))
    x = _add_overlapping(factor * w * pieces, step)
    cover = _add_overlapping(np.broadcast_to(w**2, (count, nperseg)), step)
    if boundary:
        inner = slice(nperseg // 2, -(nperseg // 2))
        x, cover = x[..., inner], cover[inner]
    if np.any(cover <= 1e-10):
        warnings.warn("NOLA condition failed, STFT may not be invertible." + (
            "" if boundary else " Possibly due to missing boundary"), stacklevel=3)  # fmt: skip
    x = x / np.where(cover > 1e-10, cover, 1.0)
    x = np.moveaxis(x, -1, time_axis - (freq_axis < time_axis)) if np.ndim(x) > 1 else x
    return np.arange(np.shape(x)[0]) / float(fs), x


def _add_overlapping(pieces: Value, step: int) -> Value:
    """Segments (..., m, length), each `step` elements after the one before, added to a signal."""
    *outer, count, length = np.shape(pieces)
    parts = -(-length // step)
    n = (count + parts - 1) * step
    pieces = np.pad(pieces, [(0, 0)] * (len(outer) + 1) + [(0, parts * step - length)])
    total: Any = None
    for k in range(parts):  # parts of `step` elements do not overlap
        part = np.reshape(pieces[..., k * step : (k + 1) * step], (*outer, count * step))
        part = np.pad(part, [(0, 0)] * len(outer) + [(k * step, n - (count + k) * step)])
        total = part if total is None else total + part
    return total[..., : length + (count - 1) * step]


# ---- power spectra ---------------------------------------------------------------------------------------------------
@_mirror
def csd(
    x: ArrayValue, y: ArrayValue, fs: float = 1.0, window: Any = "hann", nperseg: int | None = None,
    noverlap: int | None = None, nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True,
    scaling: str = "density", axis: int = -1, average: str = "mean",
) -> Value:  # fmt: skip
    """Frequencies, and the cross spectral density of two signals by Welch's method.

        z_k = c mean_m conj(X_km) Y_km, X and Y the transforms of both in windows m, without their means

    Shapes:  x (..., n, ...), y (..., p, ...) -> f (nfft // 2 + 1,), or (nfft,) for complex signals; z (..., f, ...).
    Domain:  every x and y; the shorter one is padded with zeros.
    Raises:  ValueError for windows, lengths, a scaling and an average that do not fit.
    Cost:    O(n log nfft); a sweep twice that.
    Ref:     Welch (1967), IEEE Transactions on Audio and Electroacoustics 15; scipy.signal.csd.

    >>> np.abs(csd(np.array([1.0, 3.0, 2.0, 5.0]), np.array([2.0, 1.0, 4.0, 3.0]), nperseg=2)[1])
    array([0.66666667, 0.66666667])
    """
    return _power(x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)


@_mirror
def welch(
    x: ArrayValue, fs: float = 1.0, window: Any = "hann", nperseg: int | None = None, noverlap: int | None = None,
    nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density",
    axis: int = -1, average: str = "mean",
) -> Value:  # fmt: skip
    """Frequencies, and the power spectral density of a signal: the mean of that in windows.

        z_k = c mean_m |X_km|^2, X the transforms in windows m, without their means

    Shapes:  x (..., n, ...) -> f (nfft // 2 + 1,), or (nfft,) for complex x; z (..., f, ...).
    Domain:  every x; windows not longer than the signal.
    Raises, Cost:  as `csd`.
    Ref:     Welch (1967), IEEE Transactions on Audio and Electroacoustics 15; scipy.signal.welch.

    >>> welch(np.array([1.0, 3.0, 2.0, 5.0]), nperseg=2)[1]
    array([1.16666667, 1.16666667])
    """
    return _power(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)


@_mirror
def periodogram(
    x: ArrayValue, fs: float = 1.0, window: Any = "boxcar", nfft: int | None = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1,
) -> Value:  # fmt: skip
    """Frequencies, and the power spectral density of a signal in one window.

        z_k = c |sum_j w_j x_j exp(-2 pi i j k / nfft)|^2, x without its mean

    Shapes:  x (..., n, ...) -> f (nfft // 2 + 1,), or (nfft,) for complex x; z (..., f, ...); x is cut to nfft.
    Domain:  every x.
    Raises, Cost:  as `welch`.
    Ref:     scipy.signal.periodogram.

    >>> periodogram(np.array([1.0, 3.0, 2.0, 5.0]))[1]
    array([0.  , 2.5 , 6.25])
    """
    x = as_one(x)
    window = "boxcar" if window is None else window
    n = np.shape(x)[axis]
    if nfft is not None and nfft < n:
        x = np.moveaxis(np.moveaxis(x, axis, -1)[..., :nfft], -1, axis)
        n, nfft = nfft, None
    if hasattr(window, "size") and window.size != n:
        raise ValueError("the size of the window must be the same size of the input on the specified axis")
    return _power(x, None, fs, window, n, 0, nfft, detrend, return_onesided, scaling, axis, "mean")


def _power(
    x: ArrayValue, y: ArrayValue, fs: float, window: Any, nperseg: Any, noverlap: Any, nfft: Any, detrend: Any,
    half: bool, scaling: str, axis: int, average: str,
) -> Value:  # fmt: skip
    x = np.moveaxis(as_one(x), axis, -1)
    y = None if y is None else np.moveaxis(as_one(y), axis, -1)
    signals = [x] if y is None else [x, y]
    n = max(np.shape(one)[-1] for one in signals)
    signals = [one if np.shape(one)[-1] == n else np.pad(
        one, [(0, 0)] * (np.ndim(one) - 1) + [(0, n - np.shape(one)[-1])]) for one in signals]  # fmt: skip
    half = half and not any(map(is_complex, signals))
    segments = _segments(window, nperseg, noverlap, nfft, n)
    found = [_spectra(one, segments, detrend, half) for one in signals]
    z = _squares(found[0]) if y is None else np.conj(found[0]) * found[1]
    z = segments.weights(fs, scaling, half) * _average(z, average)
    return segments.frequencies(fs, half), np.moveaxis(z, -1, axis)


def _squares(z: Value) -> Value:
    return z.real * z.real + z.imag * z.imag


def _average(z: Value, average: str) -> Value:
    """The mean or the median, without bias, over windows (..., m, f)."""
    count = np.shape(z)[-2]
    if count == 1:
        return z[..., 0, :]
    if average == "mean":
        return np.mean(z, axis=-2)
    if average != "median":
        raise ValueError(f"Parameter average={average!r} must be 'median' or 'mean'!")
    k = 2.0 * np.arange(1.0, (count - 1) // 2 + 1)
    bias = 1.0 + np.sum(1.0 / (k + 1.0) - 1.0 / k)
    if is_complex(z):
        return (np.median(z.real, axis=-2) + 1j * np.median(z.imag, axis=-2)) / bias
    return np.median(z, axis=-2) / bias


@_mirror
def coherence(
    x: ArrayValue, y: ArrayValue, fs: float = 1.0, window: Any = "hann", nperseg: int | None = None,
    noverlap: int | None = None, nfft: int | None = None, detrend: Any = "constant", axis: int = -1,
) -> Value:  # fmt: skip
    """Frequencies, and the squared coherence of two signals there.

        z_k = |P_xy|^2 / (P_xx P_yy), P_xy by `csd`, P_xx and P_yy by `welch`

    Shapes, Raises, Cost:  as `csd`.
    Domain:  signals whose power is not 0 at any frequency.
    Ref:     scipy.signal.coherence.

    >>> coherence(np.array([1.0, 3.0, 2.0, 5.0]), np.array([2.0, 1.0, 4.0, 3.0]), nperseg=2)[1].round(6)
    array([0.415584, 0.415584])
    """
    options: Any = (fs, window, nperseg, noverlap, nfft, detrend, True, "density", axis, "mean")
    frequencies, x_power = _power(x, None, *options)
    y_power = _power(y, None, *options)[1]
    return frequencies, _squares(_power(x, y, *options)[1]) / x_power / y_power


@_mirror
def spectrogram(
    x: ArrayValue, fs: float = 1.0, window: Any = ("tukey", 0.25), nperseg: int | None = None,
    noverlap: int | None = None, nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True,
    scaling: str = "density", axis: int = -1, mode: str = "psd",
) -> Value:  # fmt: skip
    """Frequencies, times, and the power spectral density in windows at these times; or the transforms by another mode.

        z_km = c |X_km|^2, X as in `stft`; mode "complex": X sqrt(c), "magnitude": |X| sqrt(c), "angle", "phase"

    Shapes, Raises, Cost:  as `stft`.
    Domain:  every x; for modes "magnitude", "angle" and "phase" derivatives need X other than 0.
    Ref:     scipy.signal.spectrogram.

    >>> spectrogram(np.array([1.0, 3.0, 2.0, 5.0]), nperseg=2, noverlap=0, window="boxcar")[2]
    array([[0. , 0. ],
           [2. , 4.5]])
    """
    if mode not in ("psd", "complex", "magnitude", "angle", "phase"):
        raise ValueError(f"unknown value for mode {mode}, must be one of psd, complex, magnitude, angle, phase")
    if noverlap is None:
        length = (256 if nperseg is None else int(nperseg)) if isinstance(window, (str, tuple)) else np.size(window)
        noverlap = min(length, np.shape(x)[axis]) // 8
    power = mode == "psd"
    frequencies, times, z = _short_time(
        x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, power=power
    )
    if mode == "magnitude":
        z = np.abs(z)
    elif mode in ("angle", "phase"):
        z = np.angle(z)
        z = np.unwrap(z, axis=axis - 1 if axis < 0 else axis) if mode == "phase" else z
    return frequencies, times, z


# ---- uneven times ----------------------------------------------------------------------------------------------------
@_mirror
def lombscargle(
    x: ArrayValue, y: ArrayValue, freqs: ArrayValue, precenter: bool = False, normalize: bool | str = False, *,
    weights: ArrayValue | None = None, floating_mean: bool = False,
) -> Value:  # fmt: skip
    """The power of a signal at uneven times by fits of a sine at each frequency; all arguments may be variables.

        y ~ a cos(w x) + b sin(w x), with a constant for floating_mean, by weighted least squares of weights with sum 1
        z = n (a <y, cos> + b <y, sin>) / 2, over n <y, y> / 2 if normalised, a + i b for normalize="amplitude"

    Shapes:  x, y, weights (n,), freqs (m,) -> (m,).
    Domain:  every y; times and frequencies that tell cos from sin.
    Raises:  ValueError for another normalize.
    Cost:    O(n m); a sweep three times that.
    Ref:     Zechmeister & Kuerster (2009), Astronomy & Astrophysics 496; scipy.signal.lombscargle.

    >>> lombscargle(np.array([0.0, 0.7, 1.9, 2.4]), np.array([1.0, -1.0, 2.0, 0.5]), np.array([1.0, 4.0])).round(6)
    array([0.769506, 1.625942])
    """
    kind = normalize if isinstance(normalize, str) else "normalize" if normalize else "power"
    if kind not in ("power", "normalize", "amplitude"):
        raise ValueError(f"normalize must be False, True, 'power', 'normalize' or 'amplitude', got {normalize!r}")
    x, y, freqs = as_one(x), as_one(y), as_one(freqs)
    y = y - np.mean(y) if precenter else y
    w = np.ones(len(x)) if weights is None else as_one(weights)
    w = w / np.sum(w)
    phases = np.reshape(freqs, (-1, 1)) * x
    # The sums do not depend on where the phases begin. This place, a constant, keeps <cos, sin> near 0.
    c, s = observe(np.cos, phases), observe(np.sin, phases)
    u = observe(np.asarray, w)
    means = ((c @ u), (s @ u)) if floating_mean else (0.0, 0.0)
    cross, wide, narrow = (c * s) @ u - means[0] * means[1], (c * c) @ u - means[0] ** 2, (s * s) @ u - means[1] ** 2
    tau = 0.5 * np.arctan2(2.0 * cross, wide - narrow)
    c, s = np.cos(phases - tau[:, None]), np.sin(phases - tau[:, None])
    mean, c_mean, s_mean = (np.sum(w * y), c @ w, s @ w) if floating_mean else (0.0, 0.0, 0.0)
    yc, ys = c @ (w * y) - mean * c_mean, s @ (w * y) - mean * s_mean
    least = np.finfo(float).epsneg
    cc, ss = np.maximum((c * c) @ w - c_mean * c_mean, least), np.maximum((s * s) @ w - s_mean * s_mean, least)
    cs = (c * s) @ w - c_mean * s_mean
    a, b = (yc * ss - ys * cs) / (cc * ss - cs * cs), (ys * cc - yc * cs) / (cc * ss - cs * cs)
    if kind == "amplitude":
        return (a + 1j * b) * np.exp(1j * tau)
    power = a * yc + b * ys
    return 0.5 * len(x) * power if kind == "power" else power / (np.sum(w * y * y) - mean * mean)
