"""Random programs of complex numbers against the same programs in pairs of real numbers, in every mode."""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

import contad
from contad.engines import engine_names
from contad.errors import LostDerivativeError, UnsupportedError
from tests.random_programs.complex_programs import AsComplex, AsPairs, programs, run

Z = np.array([0.4 + 0.3j, -0.5 + 0.6j, 0.2 - 0.7j])
X = np.array([0.6, -0.3, 0.5])
C, R = 0.7 - 0.2j, -0.4
DOTS = (np.array([0.3 - 0.1j, 0.7j, -0.5 + 0.2j]), np.array([-0.2, 0.9, 0.4]), 0.6 + 0.5j, 0.8)
SETTINGS = settings(
    max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.generate,), derandomize=True
)  # fmt: skip


def of_complex(program):
    return lambda z, x, c, r: run(program, AsComplex(), z.copy(), x.copy(), c, r)


def of_pairs(program):
    return lambda zx, zy, x, cx, cy, r: run(program, AsPairs(), (zx.copy(), zy.copy()), x.copy(), (cx, cy), r)


def complex_args():
    return Z.copy(), X.copy(), C, R


def pairs_args():
    return Z.real.copy(), Z.imag.copy(), X.copy(), C.real, C.imag, R


def joined(parts):
    zx, zy, x, cx, cy, r = parts
    return zx + 1j * zy, x, cx + 1j * cy, r


def require_close(found, expected, what, program):
    for a, b in zip(found, expected, strict=True):
        text = f"{what}: {'; '.join(map(str, program))}"
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=text)


def check(program):
    f, g = of_complex(program), of_pairs(program)
    value, expected = contad.value_and_grad(g, tuple(range(6)))(*pairs_args())
    require_close([f(*complex_args())], [value], "NumPy", program)
    require_close([g(*pairs_args())], [value], "NumPy's real numbers", program)
    gradient = joined(expected)
    for engine in engine_names():
        try:
            found = contad.grad(f, (0, 1, 2, 3), engine=engine)(*complex_args())
        except (UnsupportedError, LostDerivativeError):
            assert engine in ("closures", "records"), engine
            continue
        require_close(found, gradient, engine, program)
    slope = sum(np.sum((np.conj(a) * dot).real) for a, dot in zip(gradient, DOTS, strict=True))
    found_value, found_slope = contad.jvp(f, complex_args(), DOTS)
    require_close([found_value, found_slope], [value, slope], "forward", program)
    return f, g


@SETTINGS
@given(programs())
def test_gradients_of_programs(program):
    check(program)


@settings(SETTINGS, max_examples=15)
@given(programs(most=8))
def test_second_derivatives_and_recordings(program):
    f, g = check(program)
    z, x, c, r = DOTS
    pairs = contad.hvp(g, tuple(range(6)))(*pairs_args(), (z.real, z.imag, x, c.real, c.imag, r))
    require_close(contad.hvp(f, (0, 1, 2, 3))(*complex_args(), DOTS), joined(pairs), "hvp", program)
    recorded = contad.record(f, *complex_args(), argnums=(0, 1, 2, 3))
    found = contad.grad(recorded, (0, 1, 2, 3))(*complex_args())
    expected = contad.grad(f, (0, 1, 2, 3))(*complex_args())
    require_close(found, expected, "recorded", program)


def test_a_planted_bug_is_found(monkeypatch):
    from contad.variables.complex_pair import ComplexArray, join

    monkeypatch.setattr(ComplexArray, "copy", lambda z, order="C": join(z.real.copy(), contad.value_of(z.imag)))
    with pytest.raises(AssertionError):
        test_gradients_of_programs()
