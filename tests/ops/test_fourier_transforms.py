"""np.fft on variables: values, derivatives of both orders by the dense matrix, every engine, and refusals."""

import itertools

import numpy as np
import pytest

import contad
from contad.engines import engine_names
from contad.testing import expect_ad
from tests.judges.linear_functions import check_linear, matrix_of, weighted, weights_of
from tests.judges.samples import sampled

ONE = {
    "fft": lambda a, *args, **options: np.fft.fft(a, *args, **options),
    "ifft": lambda a, *args, **options: np.fft.ifft(a, *args, **options),
    "rfft": lambda a, *args, **options: np.fft.rfft(a, *args, **options),
    "irfft": lambda a, *args, **options: np.fft.irfft(a, *args, **options),
    "hfft": lambda a, *args, **options: np.fft.hfft(a, *args, **options),
    "ihfft": lambda a, *args, **options: np.fft.ihfft(a, *args, **options),
}
SEVERAL = {
    "fft2": lambda a, *args, **options: np.fft.fft2(a, *args, **options),
    "ifft2": lambda a, *args, **options: np.fft.ifft2(a, *args, **options),
    "rfft2": lambda a, *args, **options: np.fft.rfft2(a, *args, **options),
    "irfft2": lambda a, *args, **options: np.fft.irfft2(a, *args, **options),
    "fftn": lambda a, *args, **options: np.fft.fftn(a, *args, **options),
    "ifftn": lambda a, *args, **options: np.fft.ifftn(a, *args, **options),
    "rfftn": lambda a, *args, **options: np.fft.rfftn(a, *args, **options),
    "irfftn": lambda a, *args, **options: np.fft.irfftn(a, *args, **options),
}
OF_REAL = {"rfft", "ihfft", "rfft2", "rfftn"}
NORMS = (None, "ortho", "forward", "backward")


def array(shape, kind):
    """Numbers of both signs, none of them equal; real or complex."""
    x = np.random.default_rng([3, *shape]).normal(size=shape)
    return x if kind == "real" else x + 1j * np.random.default_rng([4, *shape]).normal(size=shape)


def kinds(name):
    return ("real",) if name in OF_REAL else ("real", "complex")


# ---- values and derivatives ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "kind", "n"),
    sampled([(name, kind, n) for name in ONE for kind in kinds(name) for n in (None, 1, 3, 4, 8, 9)], 4),
)
def test_along_one_axis(name, kind, n):
    for m, norm in zip((5, 6, 2, 3), NORMS, strict=True):
        check_linear(lambda a, norm=norm: ONE[name](a, n, norm=norm), array((m,), kind))
        check_linear(lambda a, norm=norm: ONE[name](a, n, 0, norm), array((m, 2), kind))


@pytest.mark.parametrize(
    ("name", "kind", "norm"),
    sampled([(name, kind, norm) for name in SEVERAL for kind in kinds(name) for norm in NORMS], 4),
)
def test_along_several_axes(name, kind, norm):
    f = SEVERAL[name]
    check_linear(lambda a: f(a, norm=norm), array((2, 3), kind))
    check_linear(lambda a: f(a, (4, 3), (0, 1), norm), array((3, 4), kind))
    check_linear(lambda a: f(a, axes=(1, 0), norm=norm), array((3, 2), kind))
    check_linear(lambda a: f(a, s=(2, 5), axes=(-1, 0), norm=norm), array((3, 2, 3), kind))
    if name.endswith("n"):
        check_linear(lambda a: f(a, axes=(2,), norm=norm), array((2, 1, 3), kind))
        check_linear(lambda a: f(a, s=(3, -1, 2), axes=(0, 1, 2), norm=norm), array((2, 2, 3), kind))


@pytest.mark.parametrize("engine", engine_names())
@pytest.mark.parametrize("name", [*ONE, *SEVERAL])
def test_every_engine(name, engine):
    f = (ONE | SEVERAL)[name]
    for kind in kinds(name):
        check_linear(lambda a: f(a, 3) if name in ONE else f(a, (3, 2), (0, 1)), array((2, 4), kind), engines=(engine,))


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_repeated_axes_are_transformed_repeatedly(name):
    for kind in kinds(name):
        check_linear(lambda a: SEVERAL[name](a, axes=(0, 0)), array((3, 2), kind))
        check_linear(lambda a: SEVERAL[name](a, (4, 3, 5), (1, 0, 1)), array((3, 4), kind))


def test_no_axes():
    x = array((2, 3), "complex")
    check_linear(lambda a: np.fft.fftn(a, axes=()), x)
    with pytest.raises((ValueError, IndexError)):
        contad.grad(lambda a: np.sum(np.fft.irfftn(a, axes=())))(x)


def test_expect_ad():
    x, y = array((3,), "real"), array((4,), "real")[1:]

    def spectrum(x, y):
        z = np.fft.fft(x + 1j * y, 4)
        return np.concatenate([z.real, z.imag])

    expect_ad(spectrum, x, y)
    expect_ad(lambda x: np.abs(np.fft.rfft(x)) ** 2, x)
    expect_ad(lambda x, y: np.fft.irfft(x + 1j * y, 4), x, y)


# ---- half spectra ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [4, 5])
def test_imaginary_parts_that_are_ignored_have_no_gradient(n):
    z = array((n // 2 + 1,), "complex")
    for f in (np.fft.irfft, np.fft.hfft):
        g = contad.grad(lambda z, f=f: np.sum(np.arange(1.0, n + 1) * f(z, n)))(z)
        assert g[0].imag == 0.0 and g[1].imag != 0.0
        assert (g[-1].imag == 0.0) == (n % 2 == 0)


@pytest.mark.parametrize("n", [4, 5])
def test_parseval(n):
    """The energy of a signal by its half spectrum has the gradient of that by the signal."""
    x = array((n,), "real")
    inner = np.array([0.5, *[1.0] * ((n - 1) // 2), *[0.5] * (n % 2 == 0)])
    g = contad.grad(lambda x: np.sum(inner * np.abs(np.fft.rfft(x, norm="ortho")) ** 2))(x)
    np.testing.assert_allclose(g, x, rtol=1e-14)


# ---- programs --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [*ONE, *SEVERAL])
def test_recorded_programs(name):
    for kind in kinds(name):
        x, y = array((2, 4), kind), array((2, 4), kind)[::-1].copy()
        loss = weighted((ONE | SEVERAL)[name], weights_of((ONE | SEVERAL)[name](x)))
        program = contad.record(loss, x)
        assert program(y) == pytest.approx(loss(y), rel=1e-14)
        np.testing.assert_allclose(contad.grad(program)(y), contad.grad(loss)(y), rtol=1e-14)


def test_products_with_hessians():
    x = array((6,), "real")
    f = lambda x: np.sum(np.abs(np.fft.rfft(x)) ** 4)
    j = matrix_of(np.fft.rfft, x)
    u, v = np.split(j, 2)
    p = (u @ x) ** 2 + (v @ x) ** 2
    slope = 2.0 * (u.T * (u @ x) + v.T * (v @ x)).T
    expected = 2.0 * slope.T @ slope + 4.0 * (u.T * p @ u + v.T * p @ v)
    np.testing.assert_allclose(contad.hessian(f)(x), expected, rtol=1e-12, atol=1e-12)


def test_nested_variables_and_constants():
    """The signal belongs to an outer gradient, its factor to an inner one."""
    x, c = array((4,), "real"), array((4,), "complex")

    def outer(x):
        return np.sum(contad.grad(lambda t: np.sum(np.abs(np.fft.fft(x * t * c)) ** 2))(2.0 * np.ones(4)) * x)

    assert contad.grad(outer)(x) == pytest.approx(48.0 * x**2 * np.abs(c) ** 2, rel=1e-12)


def test_lists_of_variables():
    g = contad.grad(lambda x: np.sum(np.fft.fft([x[0], 2.0 * x[1], 1.0]).real))(np.array([0.5, 2.0]))
    np.testing.assert_allclose(g, [3.0, 0.0], atol=1e-15)


# ---- refusals --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("call", [
    lambda a: np.fft.fft(a, 0), lambda a: np.fft.fft(a, -3), lambda a: np.fft.fft(a[:0]),
    lambda a: np.fft.fft(a, axis=2), lambda a: np.fft.rfft(a, 0), lambda a: np.fft.irfft(a[:1]),
    lambda a: np.fft.irfft(a, 0), lambda a: np.fft.hfft(a[:1]), lambda a: np.fft.fft(a, norm="half"),
    lambda a: np.fft.hfft(a, norm="half"), lambda a: np.fft.fft2(a),
    lambda a: np.fft.fftn(a, (2, 2), (0,)), lambda a: np.fft.fftn(a, (0,), (0,)), lambda a: np.fft.fft(a[0]),
    lambda a: np.fft.rfft(a * 1j), lambda a: np.fft.ihfft(a * 1j), lambda a: np.fft.rfftn(a * 1j),
])  # fmt: skip
def test_what_numpy_refuses_is_refused(call):
    x = array((4,), "real")
    with pytest.raises((ValueError, IndexError, TypeError)) as told:
        call(x)
    with pytest.raises((ValueError, IndexError, TypeError)) as found:
        contad.grad(lambda a: np.sum(np.abs(call(a))))(x)
    assert isinstance(found.value, told.type) or isinstance(told.value, found.type)


def test_out_is_refused():
    room = np.empty(4, complex)
    with pytest.raises(contad.UnsupportedError, match="np.fft.fft: out= is not supported on variables"):
        contad.grad(lambda a: np.sum(np.abs(np.fft.fft(a, out=room))))(array((4,), "real"))


def test_shifts_and_frequencies():
    z = array((2, 5), "complex")
    weights = array((2, 5), "complex")
    for shift, back in itertools.permutations((np.fft.fftshift, np.fft.ifftshift)):
        g = contad.grad(lambda z, shift=shift: np.sum((np.conj(weights) * shift(z, 1)).real))(z)
        np.testing.assert_array_equal(g, back(weights, 1))
    g = contad.grad(lambda x: np.sum(np.fft.fftfreq(4) * x))(array((4,), "real"))
    np.testing.assert_array_equal(g, np.fft.fftfreq(4))
