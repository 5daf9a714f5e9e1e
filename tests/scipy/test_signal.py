"""The mirror of scipy.signal: SciPy's values, derivatives of both orders, costs, and what is refused."""

import numpy as np
import pytest
import scipy.signal

import contad
import contad.scipy.signal as mirror
from contad.errors import UnsupportedError
from contad.testing import expect_ad
from tests.judges.mirrored import check_mirror

RNG = np.random.default_rng(1)
B2, A2 = scipy.signal.butter(2, 0.3)
SOS = scipy.signal.butter(4, 0.3, output="sos")


def a(*shape):
    return RNG.normal(size=shape)


def both(pair):
    """A signal and a state, as one array."""
    return np.concatenate([np.ravel(pair[0]), np.ravel(pair[1])])


def sections(p):
    """Sections, of which the fourth column is 1, of their other coefficients."""
    return np.concatenate([p[:, :3], np.ones((len(SOS), 1)), p[:, 3:]], axis=1)


def whole(x):
    """The complex array of its real and its imaginary part."""
    return x[0] + 1j * x[1]


def pair(z):
    """Its real and its imaginary part."""
    return np.stack([z.real, z.imag])


FREE = np.delete(SOS, 3, axis=1)
X, XS = a(12), a(2, 12)
CASES = {
    "convolve": (lambda m, x, y: m.convolve(x, y), a(3, 4), a(2, 2)),
    "convolve same": (lambda m, x, y: m.convolve(x, y, "same"), a(3, 4), a(2, 2)),
    "convolve same, small": (lambda m, x, y: m.convolve(x, y, "same"), a(3), a(6)),
    "convolve valid, small": (lambda m, x, y: m.convolve(x, y, "valid"), a(2, 2), a(3, 4)),
    "correlate": (lambda m, x, y: m.correlate(x, y), a(5), a(3)),
    "correlate same": (lambda m, x, y: m.correlate(x, y, "same"), a(5), a(3)),
    "correlate valid, small": (lambda m, x, y: m.correlate(x, y, "valid"), a(3), a(6)),
    "fftconvolve": (lambda m, x, y: m.fftconvolve(x, y, "same"), a(5, 3), a(3, 2)),
    "fftconvolve, axis": (lambda m, x, y: m.fftconvolve(x, y, axes=1), a(5, 3), a(5, 2)),
    "fftconvolve, broadcast": (lambda m, x, y: m.fftconvolve(x, y, "same", axes=(0,)), a(5, 3), a(3, 1)),
    "fftconvolve, broadcast signal": (lambda m, x, y: m.fftconvolve(x, y, "same", axes=-2), a(5, 1), a(2, 4)),
    "fftconvolve, valid": (lambda m, x, y: m.fftconvolve(x, y, "valid", axes=0), a(3, 4), a(6, 4)),
    "fftconvolve, complex": (lambda m, x, y: pair(m.fftconvolve(whole(x), whole(y))), a(2, 5), a(2, 3)),
    "fftconvolve, real and complex": (lambda m, x, y: pair(m.fftconvolve(x, whole(y), "same")), a(5), a(2, 3)),
    "oaconvolve": (lambda m, x, y: m.oaconvolve(x, y), a(30), a(3)),
    "oaconvolve same": (lambda m, x, y: m.oaconvolve(x, y, "same", axes=1), a(2, 30), a(2, 4)),
    "oaconvolve, complex": (lambda m, x, y: pair(m.oaconvolve(whole(x), y, "valid")), a(2, 30), a(3)),
    "correlate, complex": (lambda m, x, y: pair(m.correlate(whole(x), whole(y))), a(2, 5), a(2, 3)),
    **{
        f"{name} {mode}, {boundary}, {fill}": (
            lambda m, x, y, name=name, more=(mode, boundary, fill): getattr(m, name)(x, y, *more), a(4, 3), a(2, 3)
        )
        for name in ("convolve2d", "correlate2d")
        for mode, boundary, fill in (
            ("full", "fill", 0), ("same", "fill", 0.7), ("full", "wrap", 0), ("same", "symm", 0), ("valid", "fill", 0)
        )
    },
    "convolve2d, small": (lambda m, x, y: m.convolve2d(x, y, "same", "wrap"), a(2, 2), a(5, 4)),
    "convolve2d valid, small": (lambda m, x, y: m.convolve2d(x, y, "valid"), a(2, 2), a(5, 4)),
    "correlate2d valid, small": (lambda m, x, y: m.correlate2d(x, y, "valid"), a(2, 2), a(5, 4)),
    "correlate2d, complex": (lambda m, x, y: pair(m.correlate2d(whole(x), whole(y), "same")), a(2, 3, 4), a(2, 2, 2)),
    "lfilter, complex": (lambda m, b, x: pair(m.lfilter(whole(b), A2, whole(x))), a(2, 3), a(2, 8)),
    "sosfilt, complex": (lambda m, x: pair(m.sosfilt(SOS, whole(x))), a(2, 8)),
    "lfilter": (lambda m, b, a, x: m.lfilter(b, a, x), B2, A2, X),
    "lfilter, axis": (lambda m, b, a, x: m.lfilter(b, a, x, axis=0), B2, A2, XS.T.copy()),
    "lfilter, state": (lambda m, b, a, x, zi: both(m.lfilter(b, a, x, zi=zi)), B2, 1.7 * A2, X, a(2)),
    "lfilter, short": (lambda m, b, a, x, zi: both(m.lfilter(b, a, x, zi=zi)), a(4), np.array([1.2]), a(2), a(3)),
    "lfilter, states": (lambda m, b, x, zi: both(m.lfilter(b, A2, x, axis=0, zi=zi)), B2, XS.T.copy(), a(2, 2)),
    "lfilter_zi": (lambda m, b, a: m.lfilter_zi(b, a), 1.3 * B2, 2.0 * A2),
    "sosfilt": (lambda m, p, x: m.sosfilt(sections(p), x), FREE, X),
    "sosfilt, states": (lambda m, x, zi: both(m.sosfilt(SOS, x, axis=0, zi=zi)), XS.T.copy(), a(2, 2, 2)),
    "sosfilt_zi": (lambda m, p: m.sosfilt_zi(sections(p)), FREE),
    "filtfilt": (lambda m, b, a, x: m.filtfilt(b, a, x), B2, A2, X),
    "filtfilt, even": (lambda m, x: m.filtfilt(B2, A2, x, axis=0, padtype="even", padlen=4), XS.T.copy()),
    "filtfilt, constant": (lambda m, x: m.filtfilt(B2, A2, x, padtype="constant"), X),
    "filtfilt, none": (lambda m, x: m.filtfilt(B2, A2, x, padtype=None), X),
    "sosfiltfilt": (lambda m, p, x: m.sosfiltfilt(sections(p), x, padlen=8), FREE, X),
    "savgol": (lambda m, x: m.savgol_filter(x, 5, 2), XS),
    "savgol, derivative": (lambda m, x: m.savgol_filter(x, 5, 3, deriv=1, delta=0.3, axis=0), XS.T.copy()),
    "savgol, even": (lambda m, x: m.savgol_filter(x, 4, 2), XS),
    **{
        f"savgol, {mode}": (lambda m, x, mode=mode: m.savgol_filter(x, 4, 2, mode=mode, cval=0.7), XS)
        for mode in ("mirror", "nearest", "wrap", "constant")
    },
    "detrend": (lambda m, x: m.detrend(x, axis=0), XS.T.copy()),
    "detrend, pieces": (lambda m, x: m.detrend(x, bp=[5]), XS),
    "detrend, constant": (lambda m, x: m.detrend(x, type="constant"), XS),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    call, *args = CASES[name]
    check_mirror(call, args, scipy.signal, mirror)


def test_expect_ad():
    expect_ad(lambda b, a, x: mirror.lfilter(b, a, x), B2, A2, X[:5])
    expect_ad(lambda x, y: mirror.fftconvolve(x, y), X[:4], X[4:7])


def test_the_reverse_of_a_filter_costs_few_filters():
    calls = []
    original = scipy.signal.lfilter

    def counting(*args, **options):
        calls.append(np.shape(args[2]))
        return original(*args, **options)

    x = np.random.default_rng(0).normal(size=100_000)
    scipy.signal.lfilter = counting
    try:
        contad.grad(lambda x: np.sum(mirror.lfilter(B2, A2, x) ** 2))(x)
    finally:
        scipy.signal.lfilter = original
    assert calls == [x.shape] * 3


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda x: mirror.lfilter([1.0], [0.0, 1.0], x), ValueError, "a"),
    (lambda x: mirror.lfilter([[1.0]], [1.0], x), ValueError, "lfilter: coefficients must be vectors"),
    (lambda x: mirror.lfilter([1.0], [1.0, 0.5], x, zi=[0.0, 1.0]), ValueError, r"zi must have shape \(1,\)"),
    (lambda x: mirror.sosfilt(np.ones((2, 5)), x), ValueError, "sos must have shape"),
    (lambda x: mirror.filtfilt(B2, A2, x, method="gust"), UnsupportedError, "method must be 'pad'"),
    (lambda x: mirror.filtfilt(B2, A2, x[:3]), ValueError, "greater than padlen"),
    (lambda x: mirror.fftconvolve(x, x[:, None]), ValueError, "same dimensionality"),
    (lambda x: mirror.fftconvolve(x.reshape(4, 3), x.reshape(3, 4), axes=0), ValueError, "incompatible shapes"),
    (lambda x: mirror.fftconvolve(x, x, "odd"), ValueError, "mode flags"),
    (lambda x: mirror.convolve2d(x, x), ValueError, "2-D arrays"),
    (lambda x: mirror.convolve2d(x[None], x[None], "odd"), ValueError, "mode flags"),
    (lambda x: mirror.convolve2d(x[None], x[None], "full", "odd"), ValueError, "boundary flags"),
    (lambda x: mirror.convolve(x, x[:, None]), ValueError, "same dimensionality"),
    (lambda x: mirror.savgol_filter(x, 5, 2, mode="odd"), ValueError, "mode must be"),
    (lambda x: mirror.lombscargle(x, x, x), AttributeError, "contad.scipy.signal has no lombscargle"),
    (lambda x: mirror.nonsense(x), AttributeError, "has no attribute 'nonsense'"),
])  # fmt: skip
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        contad.grad(lambda x: np.sum(call(x)))(X)
