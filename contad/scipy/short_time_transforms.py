"""`scipy.signal.ShortTimeFFT` for signals and transforms of variables; windows and steps are constants."""

import functools
from typing import Any

import numpy as np

from contad.ops._scipy import signal
from contad.ops.fourier_transforms import transform
from contad.scipy.mirroring import as_one
from contad.scipy.spectral_analysis import _add_overlapping, _detrend
from contad.variables.array import numbers_in
from contad.variables.complex_pair import is_complex
from contad.variables.open_types import ArrayValue, Option, Value


@functools.cache
def short_time_class() -> type:
    """The class that stands for SciPy's; made when it is first used, because SciPy's module loads slowly."""

    class ShortTimeFFT(signal().ShortTimeFFT):  # type: ignore[misc]
        __doc__ = _TEXT

        def stft_detrend(
            self, x: ArrayValue, detr: Any, p0: int | None = None, p1: int | None = None, *, k_offset: int = 0,
            padding: str = "zeros", axis: int = -1,
        ) -> Value:  # fmt: skip
            if not numbers_in([x]):
                return super().stft_detrend(x, detr, p0, p1, k_offset=k_offset, padding=padding, axis=axis)
            return transform_windows(self, as_one(x), detr, (p0, p1), k_offset, padding, axis)

        def istft(
            self, S: ArrayValue, k0: int = 0, k1: int | None = None, *, f_axis: int = -2, t_axis: int = -1
        ) -> Value:
            if not numbers_in([S]):
                return super().istft(S, k0, k1, f_axis=f_axis, t_axis=t_axis)
            return add_windows(self, as_one(S), k0, k1, f_axis, t_axis)

    return ShortTimeFFT


_TEXT = """Fourier transforms of a signal in windows, with SciPy's arguments, attributes and methods.

    stft:   S_qp = sum_k x_(k + p h) conj(w_k) exp(-2 pi i q k / mfft), w the window, h the step `hop`
            x_bar: the transforms back of S_bar, times w, added where windows overlap
    istft:  x_k = sum_p d_(k - p h) (the transform of S_p back)_(k - p h), d the dual window

Shapes:  x (..., n, ...) -> S (..., f, ..., p), and back.
Domain:  every x, S.
Raises:  ValueError for what SciPy's class refuses.
Cost:    O(p mfft log mfft); a sweep the same.
Ref:     scipy.signal.ShortTimeFFT.

>>> import contad.scipy.signal
>>> transform = contad.scipy.signal.ShortTimeFFT(np.ones(4), hop=2, fs=1.0)
>>> contad.grad(lambda x: np.sum(transform.spectrogram(x)))(np.array([1.0, 2.0, 4.0, 7.0, 11.0, 16.0]))
array([ 20.,  38.,  72., 120., 140., 206.])
"""


def transform_windows(
    made: Any, x: Value, detr: Any, p: tuple[Option, Option], k_offset: int, padding: str, axis: int
) -> Value:
    """S of a signal, by SciPy's object `made`."""
    if made.onesided_fft and is_complex(x):
        raise ValueError(f"x must be real for fft_mode={made.fft_mode!r}; set fft_mode to 'twosided' or 'centered'")
    if detr is not None and not isinstance(detr, str) and not callable(detr):
        raise ValueError(f"Parameter detr={detr!r} is not a str, function or None!")
    kinds = {"zeros": "constant", "edge": "edge", "even": "reflect", "odd": "reflect"}
    if padding not in kinds:
        raise ValueError(f"Parameter padding={padding!r} not in {(*kinds,)}!")
    x = np.moveaxis(x, axis, -1)
    n, step, length = np.shape(x)[-1], made.hop, made.m_num
    if n < length - made.m_num_mid:
        raise ValueError(f"the axis of x must be >= ceil(m_num / 2) = {length - made.m_num_mid}, got {n}")
    first, last = made.p_range(n, *p)
    start = first * step - made.m_num_mid + k_offset
    end = start + (last - first) * step + length
    before, after = max(-start, 0), max(end - n, 0)
    x = x[..., max(start, 0) : min(end, n)]
    if before or after:
        kind: Any = kinds[padding]
        inner = x
        x = np.pad(x, [(0, 0)] * (np.ndim(x) - 1) + [(before, after)], mode=kind)
        if padding == "odd":
            left, right = x[..., :before], x[..., np.shape(x)[-1] - after :]
            x = np.concatenate([2.0 * inner[..., :1] - left, inner, 2.0 * inner[..., -1:] - right], axis=-1)
    pieces = x[..., step * np.arange(last - first)[:, None] + np.arange(length)]
    if callable(detr):
        pieces = np.stack([detr(pieces[..., k, :]) for k in range(last - first)], axis=-2)
    elif detr is not None:
        pieces = _detrend(pieces, detr)
    z = np.swapaxes(_transform(made, pieces * np.conj(made.win)), -1, -2)
    return z if np.ndim(x) == 1 else np.moveaxis(z, -2, axis if axis >= 0 else axis - 1)


def _transform(made: Any, x: Value) -> Value:
    """The transforms (..., f) of windows."""
    n = made.mfft
    if made.phase_shift is not None:
        missing = max(n - np.shape(x)[-1], 0)
        x = np.pad(x, [(0, 0)] * (np.ndim(x) - 1) + [(0, missing)])
        x = np.roll(x, -((made.phase_shift + made.m_num_mid) % made.m_num), axis=-1)
    z = transform("rfftn" if made.onesided_fft else "fftn", x, (n,), (-1,), None, None)
    if made.fft_mode == "onesided2X":
        return z * _factors(made)
    return np.fft.fftshift(z, axes=-1) if made.fft_mode == "centered" else z


def _factors(made: Any) -> np.ndarray:
    """The factors of frequencies that stand for two in the mode "onesided2X"."""
    found = np.ones(made.f_pts)
    found[1 : -1 if made.mfft % 2 == 0 else None] = np.sqrt(2.0) if made.scaling == "psd" else 2.0
    return found


def add_windows(made: Any, z: Value, k0: int, k1: int | None, f_axis: int, t_axis: int) -> Value:
    """The signal from k0 to k1 of transforms S, by SciPy's object `made`."""
    if f_axis == t_axis:
        raise ValueError(f"f_axis={f_axis} may not be equal to t_axis={t_axis}!")
    length, middle, step = made.m_num, made.m_num_mid, made.hop
    if np.shape(z)[f_axis] != made.f_pts or np.shape(z)[t_axis] < made.p_num(length - middle):
        least = made.f_pts, made.p_num(length - middle)
        raise ValueError(f"S must have {least[0]} frequencies and at least {least[1]} windows, got shape {np.shape(z)}")
    f_axis, t_axis = f_axis % np.ndim(z), t_axis % np.ndim(z)
    z = np.moveaxis(z, (t_axis, f_axis), (-2, -1))
    q_max = np.shape(z)[-2] + made.p_min
    k_max = (q_max - 1) * step + length - middle
    k1 = k_max if k1 is None else k1
    if not made.k_min <= k0 < k1 <= k_max or k1 - k0 < length - middle:
        raise ValueError(f"{made.k_min} <= k0 < k1 <= {k_max} and k1 - k0 >= {length - middle} must hold, got k0={k0}, "
                         f"k1={k1}")  # fmt: skip
    first = k0 // step + (made.p_min if k0 >= 0 else 0)
    z = z[..., np.arange(first, min(made.p_max(k1), q_max)) - made.p_min, :]  # -1: the last, as in SciPy
    if made.fft_mode == "onesided2X":
        z = z / _factors(made)
    elif made.fft_mode == "centered":
        z = np.fft.ifftshift(z, axes=-1)
    x = transform("irfftn" if made.onesided_fft else "ifftn", z, (made.mfft,), (-1,), None, None)
    if made.phase_shift is not None:
        x = np.roll(x, (made.phase_shift + middle) % length, axis=-1)
    x = _add_overlapping(x[..., :length] * made.dual_win, step)
    start = first * step - middle  # of the first window, before k0
    missing = max(k1 - start - np.shape(x)[-1], 0)
    x = np.pad(x, [(0, 0)] * (np.ndim(x) - 1) + [(0, missing)])[..., k0 - start : k1 - start]
    return np.moveaxis(x, -1, f_axis if f_axis < np.ndim(x) else t_axis) if np.ndim(x) > 1 else x
