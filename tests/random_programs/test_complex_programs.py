"""Random programs of complex numbers against the same programs in pairs of real numbers, in every mode."""

import numpy as np
import pytest

import contad
from contad.engines import engine_names
from contad.errors import LostDerivativeError, UnsupportedError
from contad.ops.fourier_transforms import transform_complex
from contad.protocols import complex_forms
from contad.variables.complex_pair import ComplexArray, join
from tests.random_programs.complex_programs import AsComplex, AsPairs, make_program, run

X, R = np.array([0.6, -0.3, 0.5]), -0.4
POINTS = [  # the last ones on the axes, where the signs of zeros choose the side of a cut
    (np.array([0.4 + 0.3j, -0.5 + 0.6j, 0.2 - 0.7j]), 0.7 - 0.2j),
    (np.array([0.4, -0.5, complex(0.6, -0.0)]), complex(0.7, -0.0)),
    (np.array([0.4j, complex(-0.0, -0.7), -0.5]), -0.3 + 0.0j),
]
DOTS = (np.array([0.3 - 0.1j, 0.7j, -0.5 + 0.2j]), np.array([-0.2, 0.9, 0.4]), 0.6 + 0.5j, 0.8)


def of_complex(program):
    return lambda z, x, c, r: run(program, AsComplex(), z.copy(), x.copy(), c, r)


def of_pairs(program):
    return lambda zx, zy, x, cx, cy, r: run(program, AsPairs(), (zx.copy(), zy.copy()), x.copy(), (cx, cy), r)


def complex_args(point):
    z, c = point
    return z.copy(), X.copy(), c, R


def pairs_args(point):
    z, c = point
    return z.real.copy(), z.imag.copy(), X.copy(), c.real, c.imag, R


def joined(parts):
    zx, zy, x, cx, cy, r = parts
    return zx + 1j * zy, x, cx + 1j * cy, r


def require_close(found, expected, what, program):
    for a, b in zip(found, expected, strict=True):
        text = f"{what}: {'; '.join(map(str, program))}"
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=text)


def check(program, point):
    f, g = of_complex(program), of_pairs(program)
    try:
        value, expected = contad.value_and_grad(g, tuple(range(6)))(*pairs_args(point))
    except LostDerivativeError:  # it writes to a part that is constant so far, which a complex array may do
        return None
    require_close([f(*complex_args(point))], [value], "NumPy", program)
    require_close([g(*pairs_args(point))], [value], "NumPy's real numbers", program)
    gradient = joined(expected)
    for engine in engine_names():
        try:
            found = contad.grad(f, (0, 1, 2, 3), engine=engine)(*complex_args(point))
        except (UnsupportedError, LostDerivativeError):
            assert engine in ("closures", "records"), engine
            continue
        require_close(found, gradient, engine, program)
    slope = sum(np.sum((np.conj(a) * dot).real) for a, dot in zip(gradient, DOTS, strict=True))
    found_value, found_slope = contad.jvp(f, complex_args(point), DOTS)
    require_close([found_value, found_slope], [value, slope], "forward", program)
    return f, g


def points_of(seed):
    return POINTS[seed % len(POINTS)]


def check_more(program, point):
    """Second derivatives and recordings too."""
    found = check(program, point)
    if found is None:
        return
    f, g = found
    z, x, c, r = DOTS
    pairs = contad.hvp(g, tuple(range(6)))(*pairs_args(point), (z.real, z.imag, x, c.real, c.imag, r))
    require_close(contad.hvp(f, (0, 1, 2, 3))(*complex_args(point), DOTS), joined(pairs), "hvp", program)
    recorded = contad.record(f, *complex_args(point), argnums=(0, 1, 2, 3))
    found = contad.grad(recorded, (0, 1, 2, 3))(*complex_args(point))
    expected = contad.grad(f, (0, 1, 2, 3))(*complex_args(point))
    require_close(found, expected, "recorded", program)


def check_each(start, end):
    for seed in range(start, end):
        check(make_program(seed), points_of(seed))


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_gradients_of_programs(start):
    check_each(start, start + 20)


@pytest.mark.parametrize("start", range(0, 20, 10))
def test_second_derivatives_and_recordings(start):
    for seed in range(start, start + 10):
        check_more(make_program(seed, 8), points_of(seed))


@pytest.mark.long
@pytest.mark.parametrize("start", range(60, 2060, 50))
def test_many_programs(start):
    for seed in range(start, start + 50):
        check_more(make_program(seed, 14), points_of(seed))


def _lose_imaginary_copy(monkeypatch):
    monkeypatch.setattr(ComplexArray, "copy", lambda z, order="C": join(z.real.copy(), contad.value_of(z.imag)))


def _conjugate_transforms(monkeypatch):
    body = transform_complex.vjps["y"]
    monkeypatch.setitem(transform_complex.vjps, "y", lambda *args, **options: -body(*args, **options))


def _copy_parts(monkeypatch):
    write = lambda z, value: z._imag.__setitem__(..., value)  # noqa: E731
    monkeypatch.setattr(ComplexArray, "imag", property(lambda z: z._imag.copy(), write))


def _take_the_other_side(monkeypatch):
    monkeypatch.setattr(complex_forms, "_holds_zero", lambda *parts: False)


@pytest.mark.parametrize("plant", [_lose_imaginary_copy, _conjugate_transforms, _copy_parts, _take_the_other_side])
def test_planted_faults_are_found(plant, monkeypatch):
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        check_each(0, 200)
