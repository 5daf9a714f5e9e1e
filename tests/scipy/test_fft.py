"""The mirror of scipy.fft: SciPy's values, derivatives of both orders by the dense matrix, every engine, refusals."""

import inspect
import itertools

import numpy as np
import pytest
import scipy.fft

import contad
import contad.scipy.fft as mirror
from contad.engines import engine_names
from contad.errors import LostDerivativeError, UnsupportedError
from contad.testing import expect_ad
from tests.judges.linear_functions import check_linear
from tests.judges.samples import sampled

NORMS = (None, "ortho", "forward")
ONE, TWO = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"), ("fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2")
SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn")
BY_COSINES, BY_COSINES_N = ("dct", "idct", "dst", "idst"), ("dctn", "idctn", "dstn", "idstn")


def array(shape, kind="real"):
    """Numbers of both signs, none of them equal; real or complex."""
    x = np.random.default_rng([3, *shape]).normal(size=shape)
    return x if kind == "real" else x + 1j * np.random.default_rng([4, *shape]).normal(size=shape)


def kinds(name):
    return ("real",) if name.startswith(("rfft", "ihfft")) else ("real", "complex")


def check(name, x, *args, engines=("matrix",), **options):
    """The function of that name, of the mirror and of SciPy."""
    check_linear(
        lambda a: getattr(mirror, name)(a, *args, **options), x,
        lambda a: getattr(scipy.fft, name)(a.copy(), *args, **options), engines,
    )  # fmt: skip


# ---- values and derivatives ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "kind", "norm"), sampled([(n, k, norm) for n in ONE for k in kinds(n) for norm in NORMS], 4)
)
def test_along_one_axis(name, kind, norm):
    for m, n in ((5, None), (6, None), (5, 8), (6, 3), (2, 1)):
        check(name, array((m,), kind), n, norm=norm, overwrite_x=True)
        check(name, array((m, 2), kind), n, 0, norm, workers=2)


@pytest.mark.parametrize(
    ("name", "kind", "norm"), sampled([(n, k, norm) for n in (*TWO, *SEVERAL) for k in kinds(n) for norm in NORMS], 4)
)
def test_along_several_axes(name, kind, norm):
    check(name, array((2, 3), kind), norm=norm)
    check(name, array((3, 4), kind), (4, 3), (0, 1), norm)
    check(name, array((3, 2, 3), kind), axes=(-1, 0), norm=norm, workers=2)
    check(name, array((3, 2), kind), s=(2, -1), axes=(1, 0), norm=norm)
    if name in SEVERAL:
        check(name, array((2, 3, 2), kind), (3, 4), norm=norm)
        check(name, array((2, 4), kind), 3, 1, norm)


@pytest.mark.parametrize(
    ("name", "type", "norm"), sampled(itertools.product(BY_COSINES, (1, 2, 3, 4), (*NORMS, "backward")), 4)
)
def test_by_cosines_and_sines(name, type, norm):
    for m, n in ((5, None), (4, None), (2, None), (5, 3), (3, 6)):
        for orthogonalize in (None, False, True):
            check(name, array((m,)), type, n, norm=norm, orthogonalize=orthogonalize)
    check(name, array((4, 2)), type, 3, 0, norm, workers=2)
    check(name, array((3,), "complex"), type, norm=norm)


@pytest.mark.parametrize(("name", "type", "norm"), sampled(itertools.product(BY_COSINES_N, (1, 2, 3, 4), NORMS), 4))
def test_by_cosines_and_sines_along_several_axes(name, type, norm):
    check(name, array((3, 4)), type, norm=norm)
    check(name, array((3, 2, 4)), type, s=(3, 2), norm=norm)
    check(name, array((3, 2)), type, (4, 2), (1, 0), norm, orthogonalize=True)
    check(name, array((3, 2)), type, axes=0, norm=norm, orthogonalize=False)


def test_cosines_of_one_element():
    for name, type in itertools.product(BY_COSINES, (2, 3, 4)):
        check(name, array((1,)), type)
        check(name, array((3,)), type, 1)


@pytest.mark.parametrize("name", ["fht", "ifht"])
def test_the_hankel_transform(name):
    for n, mu, offset, bias in ((5, 0.5, 0.0, 0.0), (6, 1.5, 0.2, 0.0), (6, 0.0, 0.3, 0.4), (7, 2.0, -0.2, -0.3)):
        check(name, array((n,)), 0.2, mu, offset, bias)
    check(name, array((2, 6)), 0.3, 1.0, offset=mirror.fhtoffset(0.3, 1.0), bias=0.1)


def test_shifts():
    for name in ("fftshift", "ifftshift"):
        check(name, array((5,)))
        check(name, array((2, 5), "complex"), 1)


@pytest.mark.parametrize("engine", engine_names())
def test_every_engine(engine):
    for name in (*ONE, *TWO, *SEVERAL, *BY_COSINES, *BY_COSINES_N):
        check(name, array((2, 4), kinds(name)[-1]), engines=(engine,))
    check("fht", array((5,)), 0.2, 0.5, engines=(engine,))


def test_expect_ad():
    expect_ad(lambda x: mirror.dct(x, 3, norm="forward"), array((4,)))
    expect_ad(lambda x: mirror.dst(x, 2), array((4,)))
    expect_ad(lambda x: mirror.fht(x, 0.2, 0.5, bias=0.3), array((5,)))
    expect_ad(lambda x, y: mirror.hfft2(x + 1j * y, (3, 4)), array((3, 2)), array((3, 2))[::-1].copy())


def test_recorded_programs():
    x, y = array((3, 4)), array((4, 3)).reshape(3, 4)
    loss = lambda x: np.sum(np.abs(mirror.fft2(mirror.dctn(x) * (1.0 + 2.0j))) ** 4)
    program = contad.record(loss, x)
    np.testing.assert_allclose(contad.grad(program)(y), contad.grad(loss)(y), rtol=1e-13)


def test_lists_of_variables():
    np.testing.assert_allclose(contad.grad(lambda x: np.sum(mirror.dct([x[0], 1.0, x[1]])))(array((2,))), mirror.dct(
        np.eye(3)).sum(axis=1)[[0, 2]], rtol=1e-14)  # fmt: skip


# ---- the surface -----------------------------------------------------------------------------------------------------
def test_signatures_are_scipys():
    for name in mirror.__all__:
        ours, theirs = (inspect.signature(getattr(m, name)).parameters for m in (mirror, scipy.fft))
        assert [*ours] == [*theirs], name
        assert [p.default for p in ours.values()] == [p.default for p in theirs.values()], name


def test_every_transform_of_scipy_is_mirrored():
    missing = {name for name in scipy.fft.__all__ if not hasattr(mirror, name)}
    assert missing == {
        "get_workers", "register_backend", "set_backend", "set_global_backend", "set_workers", "skip_backend"
    }  # fmt: skip


def test_constants_are_scipys():
    assert mirror.next_fast_len(7) == scipy.fft.next_fast_len(7)
    np.testing.assert_array_equal(mirror.rfftfreq(5, 0.1), scipy.fft.rfftfreq(5, 0.1))


# ---- refusals --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("call", [
    lambda m, a: m.fft(a, 0), lambda m, a: m.fft(a[:, :0]), lambda m, a: m.fft(a, axis=2),
    lambda m, a: m.fft(a, norm="f"), lambda m, a: m.fftn(a, axes=(0, 0)), lambda m, a: m.fftn(a, axes=(0, -2)),
    lambda m, a: m.fftn(a, (2, 2), (0,)), lambda m, a: m.irfft(a[:, :1]), lambda m, a: m.irfftn(a, axes=()),
    lambda m, a: m.rfft(a * 1j), lambda m, a: m.dct(a, 5), lambda m, a: m.dct(a, 1, 1),
    lambda m, a: m.dct(a, norm="f"),
    lambda m, a: m.dctn(a, axes=(0, 0)), lambda m, a: m.dct(a, 2, 0), lambda m, a: m.fft(a, workers=0),
    lambda m, a: m.fft(a[0, 0]), lambda m, a: m.fft(a, 2.5), lambda m, a: m.dct(a, axis=4),
])  # fmt: skip
def test_what_scipy_refuses_is_refused(call):
    x = array((3, 4))
    kinds = (ValueError, IndexError, TypeError, RuntimeError)
    with pytest.raises(kinds) as told:
        call(scipy.fft, x)
    with pytest.raises(kinds) as found:
        contad.grad(lambda a: np.sum(np.abs(call(mirror, a))))(x)
    assert isinstance(found.value, told.type) or isinstance(told.value, found.type)


def test_complex_arrays_take_no_other_weights():
    with pytest.raises(UnsupportedError, match="orthogonalize must be None for complex arrays"):
        contad.grad(lambda a: np.sum(np.abs(mirror.dct(a * 1j, orthogonalize=True))))(array((4,)))


def test_plans_are_refused():
    with pytest.raises(UnsupportedError, match="plan must be None"):
        contad.grad(lambda a: np.sum(np.abs(mirror.fft(a, plan=1))))(array((4,)))


def test_parameters_of_the_hankel_transform_are_constants():
    with pytest.raises(UnsupportedError, match="mu must be a constant"):
        contad.grad(lambda mu: np.sum(mirror.fht(array((4,)), 0.2, mu)))(0.5)


@pytest.mark.parametrize("name", ["fft", "irfftn", "dct", "fht"])
def test_scipys_own_functions_name_the_mirror(name):
    more = (0.2, 0.5) if name == "fht" else ()
    with pytest.raises(LostDerivativeError, match=rf"use contad\.scipy\.fft\.{name}; else"):
        contad.grad(lambda x: np.sum(np.abs(getattr(scipy.fft, name)(x, *more))))(array((4,)))
