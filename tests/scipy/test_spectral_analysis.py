"""Spectra by the names of scipy.signal: SciPy's values, derivatives of both orders, and what is refused."""

import numpy as np
import pytest
import scipy.signal

import contad
import contad.scipy.signal as mirror
from tests.judges.mirrored import check_mirror

RNG = np.random.default_rng(2)
B2, A2 = scipy.signal.butter(2, 0.3)
SOS = scipy.signal.butter(4, 0.3, output="sos")
WINDOW = scipy.signal.get_window("hamming", 6)


def a(*shape):
    return RNG.normal(size=shape)


def whole(x):
    """The complex array of its real and its imaginary part."""
    return x[0] + 1j * x[1]


def pair(z):
    """Its real and its imaginary part."""
    return np.stack([z.real, z.imag])


def parts(z):
    return pair(z) if np.iscomplexobj(z) else z


X, Y, XS, ZS = a(20), a(20), a(2, 20), a(2, 18)
CASES = {
    "hilbert": (lambda m, x: pair(m.hilbert(x)), a(6)),
    "hilbert, odd": (lambda m, x: pair(m.hilbert(x, 5, axis=0)), a(6, 2)),
    "hilbert, longer": (lambda m, x: pair(m.hilbert(x, 8)), a(2, 5)),
    "hilbert of one": (lambda m, x: pair(m.hilbert(x)), a(1)),
    "hilbert2": (lambda m, x: pair(m.hilbert2(x)), a(5, 4)),
    "hilbert2, longer": (lambda m, x: pair(m.hilbert2(x, (3, 6))), a(2, 4, 5)),
    "hilbert2, square": (lambda m, x: pair(m.hilbert2(x, 3)), a(4, 2)),
    **{
        f"lombscargle, {kind}, {mean}": (lambda m, x, y, f, w, kind=kind, mean=mean: parts(
            m.lombscargle(x, y, f, normalize=kind, weights=w, floating_mean=mean)
        ), np.sort(9.0 * RNG.random(8)), a(8), np.array([0.4, 1.3, 2.9]), RNG.random(8))
        for kind in (False, True, "amplitude") for mean in (False, True)
    },
    "lombscargle, even times": (
        lambda m, x, y: m.lombscargle(x, y, np.pi * np.array([0.25, 0.5])), np.arange(8.0), a(8)),
    **{
        f"ShortTimeFFT, {mode}, {phase}, {padding}": (lambda m, x, mode=mode, phase=phase, padding=padding: pair(
            m.ShortTimeFFT(WINDOW, 4, 2.0, fft_mode=mode, mfft=9 if phase else 6, scale_to="psd", phase_shift=phase)
            .stft(x, padding=padding)), x)
        for mode, phase, padding, x in (
            ("onesided", 0, "zeros", X), ("onesided2X", None, "odd", XS), ("twosided", 2, "even", X),
            ("centered", 0, "edge", X),
        )
    },
    "ShortTimeFFT, complex": (lambda m, x: pair(m.ShortTimeFFT(
        WINDOW * (1.0 + 0.3j), 2, 1.0, fft_mode="centered").stft(whole(x), 1, 7, k_offset=1)), XS),
    "ShortTimeFFT, axis": (
        lambda m, x: pair(m.ShortTimeFFT(WINDOW, 5, 1.0).stft_detrend(x, "linear", axis=0)), XS.T.copy()),
    "spectrogram of ShortTimeFFT": (lambda m, x: m.ShortTimeFFT(WINDOW, 3, 1.0).spectrogram(
        x, detr=lambda v: v - np.mean(v)), X),
    "cross-spectrogram of ShortTimeFFT": (
        lambda m, x, y: pair(m.ShortTimeFFT(WINDOW, 3, 1.0).spectrogram(x, y, "constant")), X, Y),
    **{
        f"istft of ShortTimeFFT, {mode}, {hop}, {phase}": (
            lambda m, z, mode=mode, hop=hop, phase=phase, n=mfft, k0=k0, k1=k1: parts(
                m.ShortTimeFFT(WINDOW, hop, 1.0, fft_mode=mode, mfft=n, scale_to="magnitude", phase_shift=phase)
                .istft(whole(z), k0, k1)), a(2, f, 9))
        for mode, hop, phase, mfft, f, k0, k1 in (
            ("onesided", 2, 0, 6, 4, 0, None), ("onesided2X", 3, None, 8, 5, 2, 14), ("twosided", 5, 1, 7, 7, -3, 20),
            ("centered", 4, 0, 6, 6, 1, None),
        )
    },
    "istft of ShortTimeFFT, axes": (lambda m, z: m.ShortTimeFFT(WINDOW, 2, 1.0).istft(
        whole(z), f_axis=0, t_axis=1), a(2, 4, 8, 2)),
    "freqz": (lambda m, b, a: pair(m.freqz(b, a, 9)[1]), B2, A2),
    "freqz, whole": (lambda m, b, a: pair(m.freqz(b, a, 7, whole=True, fs=3.0)[1]), B2, A2),
    "freqz, Nyquist": (lambda m, b: pair(m.freqz(b, worN=5, include_nyquist=True)[1]), a(4)),
    "freqz, few": (lambda m, b, a: pair(m.freqz(b, a, 2)[1]), a(6), A2),
    "freqz, frequencies": (lambda m, b, a, w: pair(m.freqz(b, a, w, fs=2.0)[1]), B2, A2, np.array([0.1, 0.7, 0.4])),
    "freqz, complex": (lambda m, b: pair(m.freqz(whole(b), A2, 6)[1]), a(2, 3)),
    "freqz_sos": (lambda m, b: pair(m.freqz_sos(sections(b), 6)[1]), np.delete(SOS, 3, axis=1)),
    "stft": (lambda m, x: pair(m.stft(x, nperseg=6)[2]), X),
    "stft, window": (lambda m, x: pair(m.stft(x, 2.0, WINDOW, 6, 5, nfft=9, scaling="psd")[2]), X),
    "stft, axis": (lambda m, x: pair(m.stft(x, nperseg=5, axis=0, boundary="odd")[2]), XS.T.copy()),
    "stft, even": (lambda m, x: pair(m.stft(x, nperseg=6, boundary="even", detrend="linear")[2]), X),
    "stft, constant": (lambda m, x: pair(m.stft(x, nperseg=6, boundary="constant", padded=False)[2]), XS),
    "stft, both sides": (lambda m, x: pair(m.stft(x, nperseg=6, return_onesided=False)[2]), X),
    "stft, complex": (lambda m, x: pair(m.stft(whole(x), nperseg=6, return_onesided=False)[2]), XS),
    "istft": (lambda m, z: m.istft(whole(z))[1], a(2, 4, 5)),
    "istft, options": (lambda m, z: m.istft(whole(z), 2.0, WINDOW, 6, 4, 8, scaling="psd")[1], a(2, 5, 4)),
    "istft, axes": (lambda m, z: m.istft(whole(z), nperseg=7, time_axis=0, freq_axis=1)[1], a(2, 3, 4, 2)),
    "istft, both sides": (lambda m, z: pair(m.istft(
        whole(z), input_onesided=False, boundary=False, window="boxcar")[1]), a(2, 5, 4)),
    "welch": (lambda m, x: m.welch(x, nperseg=6)[1], X),
    "welch, options": (lambda m, x: m.welch(x, 3.0, WINDOW, noverlap=2, nfft=7, detrend="linear", scaling="spectrum",
                                            axis=0)[1], XS.T.copy()),
    "welch, median": (lambda m, x: m.welch(x, nperseg=8, average="median")[1], X),
    "welch, no detrend": (lambda m, x: m.welch(x, nperseg=6, detrend=False, return_onesided=False)[1], XS),
    "welch, callable": (lambda m, x: m.welch(x, nperseg=6, detrend=lambda v: v * 0.5 - 0.1)[1], X),
    "welch, complex": (lambda m, x: m.welch(whole(x), nperseg=6)[1], XS),
    "periodogram": (lambda m, x: m.periodogram(x)[1], a(7)),
    "periodogram, cut": (lambda m, x: m.periodogram(x, 2.0, "hann", nfft=6, axis=0)[1], a(8, 2)),
    "periodogram, longer": (lambda m, x: m.periodogram(x, nfft=11, scaling="spectrum", window=None)[1], a(8)),
    "csd": (lambda m, x, y: pair(m.csd(x, y, nperseg=6)[1]), X, Y),
    "csd, shorter": (lambda m, x, y: pair(m.csd(x, y, nperseg=6)[1]), X, Y[:14]),
    "csd, broadcast": (lambda m, x, y: pair(m.csd(x, y, nperseg=6)[1]), XS, X[None]),
    "csd, median": (lambda m, x, y: pair(m.csd(x, y, nperseg=6, average="median")[1]), X, Y),
    "csd, one window": (lambda m, x, y: pair(m.csd(x, y, window=WINDOW, nfft=8)[1]), X[:6], Y[:6]),
    "coherence": (lambda m, x, y: m.coherence(x, y, nperseg=6)[1], X, Y),
    "spectrogram": (lambda m, x: m.spectrogram(x, nperseg=8)[2], X),
    "spectrogram, options": (lambda m, x: m.spectrogram(x, 2.0, "hann", 5, 3, axis=0, scaling="spectrum")[2],
                             XS.T.copy()),
    "spectrogram, both sides": (lambda m, x: m.spectrogram(x, nperseg=6, return_onesided=False, detrend=False)[2], X),
    "spectrogram, complex": (lambda m, x: pair(m.spectrogram(x, nperseg=6, mode="complex")[2]), X),
    "spectrogram, magnitude": (lambda m, x: m.spectrogram(x, nperseg=5, mode="magnitude", detrend=False)[2], X),
    "spectrogram, angle": (lambda m, x: m.spectrogram(x, nperseg=5, mode="angle", detrend=False)[2][1:], X),
    "spectrogram, phase": (lambda m, x: m.spectrogram(x, nperseg=5, mode="phase", detrend=False)[2][1:], X),
}  # fmt: skip


def sections(p):
    """Sections, of which the fourth column is 1, of their other coefficients."""
    return np.concatenate([p[:, :3], np.ones((len(SOS), 1)), p[:, 3:]], axis=1)


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    call, *args = CASES[name]
    check_mirror(call, args, scipy.signal, mirror)


CONSTANTS = {
    "freqz": lambda m, x: m.freqz(x[:3], x[3:6], 8, fs=3.0)[:1],
    "freqz_sos": lambda m, x: m.freqz_sos(SOS * x[0] / x[0], 8, True, 5.0)[:1],
    "stft": lambda m, x: m.stft(x, 3.0, nperseg=6)[:2],
    "stft, padded": lambda m, x: m.stft(x, 3.0, nperseg=7, noverlap=5)[:2],
    "istft": lambda m, x: m.istft(x[:12].reshape(4, 3), 3.0)[:1], "welch": lambda m, x: m.welch(x, 3.0, nperseg=7)[:1],
    "csd": lambda m, x: m.csd(x, x[::-1], 2.0, nperseg=6, nfft=9)[:1],
    "periodogram": lambda m, x: m.periodogram(x, 2.0)[:1], "coherence": lambda m, x: m.coherence(x, x, nperseg=5)[:1],
    "spectrogram": lambda m, x: m.spectrogram(x, 3.0, nperseg=6, return_onesided=False)[:2],
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CONSTANTS)
def test_frequencies_and_times_are_scipys(name):
    found = []
    contad.grad(lambda x: (found.append(CONSTANTS[name](mirror, x)), np.sum(x))[1])(X)
    for ours, theirs in zip(found[0], CONSTANTS[name](scipy.signal, X), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-14)


def test_there_and_back():
    weights = np.arange(1.0, 21.0)
    g = contad.grad(lambda x: np.sum(weights * mirror.istft(mirror.stft(x, nperseg=8)[2])[1][:20]))(X)
    np.testing.assert_allclose(g, weights, rtol=1e-13)


def test_warnings_are_scipys():
    with pytest.warns(UserWarning, match="nperseg = 256 is greater than input length"):
        contad.grad(lambda x: np.sum(mirror.welch(x)[1]))(X)
    with pytest.warns(UserWarning, match="switching to return_onesided=False"):
        contad.grad(lambda x: np.sum(np.abs(mirror.stft(x * 1j, nperseg=6)[2])))(X)
    with pytest.warns(UserWarning, match="NOLA condition failed"):
        contad.grad(lambda x: np.sum(mirror.istft(x.reshape(5, 4), nperseg=8, noverlap=0)[1]))(X)


@pytest.mark.parametrize("call", [
    lambda m, x: m.hilbert(x, 0), lambda m, x: m.hilbert(x * 1j), lambda m, x: m.freqz(x, worN=-1),
    lambda m, x: m.stft(x, nperseg=6, scaling="density"), lambda m, x: m.stft(x, nperseg=6, boundary="wrap"),
    lambda m, x: m.stft(x, nperseg=6, noverlap=6), lambda m, x: m.stft(x, nperseg=6, nfft=5),
    lambda m, x: m.stft(x, nperseg=0), lambda m, x: m.stft(x, window=np.ones((2, 2))),
    lambda m, x: m.stft(x, window=np.ones(21), nperseg=None), lambda m, x: m.stft(x, window=np.ones(5), nperseg=6),
    lambda m, x: m.stft(x, nperseg=6, detrend="cubic"), lambda m, x: m.istft(x),
    lambda m, x: m.istft(x.reshape(5, 4), time_axis=0, freq_axis=0), lambda m, x: m.istft(x.reshape(5, 4), nperseg=0),
    lambda m, x: m.istft(x.reshape(5, 4), scaling="density"), lambda m, x: m.welch(x, nperseg=6, scaling="psd"),
    lambda m, x: m.welch(x, nperseg=6, average="mode"),
    lambda m, x: m.csd(x[:18].reshape(3, 6), x[:12].reshape(2, 6), nperseg=6),
    lambda m, x: m.spectrogram(x, nperseg=6, mode="power"), lambda m, x: m.periodogram(x, window=np.ones(3)),
])  # fmt: skip
def test_what_scipy_refuses_is_refused(call):
    with pytest.raises((ValueError, TypeError)):
        call(scipy.signal, X)
    with pytest.raises((ValueError, TypeError)):
        contad.grad(lambda x: np.sum(np.abs(np.concatenate([np.ravel(z) for z in call(mirror, x)]))))(X)
