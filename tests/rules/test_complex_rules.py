"""Users' rules with complex numbers: on every engine, against differences; with faults planted in their derivatives."""

import cmath
import math
import subprocess
import sys

import numpy as np
import pytest

import contad
from contad import ops
from contad.errors import NotHolomorphicError, RuleError, UnsupportedError
from contad.testing import expect_ad
from tests.judges.planted import registered

Z, W = 0.4 + 0.7j, np.array([0.3 + 0.5j, -0.8 + 0.1j, 1.2 - 0.6j])
WEIGHTS = np.array([2.0, 1.0, 1.0, 2.0])  # the inverse counts the frequencies between the first and the last twice
A, B = np.array([[1.0 + 1.0j, 2.0], [0.5j, -1.0]]), np.array([0.3, 1.0 - 2.0j])


@pytest.fixture(autouse=True)
def _rules():
    with registered():
        yield


def omega(partials=lambda z, x: 1.0 / (1.0 + ops.exp(z))):
    """A rule for the solution of z + e^z = x, by Newton's method."""

    @contad.scalar_rule(holomorphic=True)
    def omega_here(x):
        exp = cmath.exp if isinstance(x, complex) else math.exp
        z = x
        for _ in range(60):
            z = z - (z + exp(z) - x) / (1.0 + exp(z))
        return z

    omega_here.partials(partials)
    return omega_here


def omega_partials(z, x):
    return 1.0 / (1.0 + ops.exp(z))


def wrong_partials(z, x):
    return 1.0 / (1.0 + ops.exp(-z))


def conjugated(z, x):
    return np.conj(1.0 / (1.0 + ops.exp(z)))


def product(by_a, by_b):
    """A rule for a product of matrices with these cotangents."""

    @contad.array_rule(complex=True)
    def product_here(a, b):
        return a @ b

    product_here.vjp("a")(by_a)
    product_here.vjp("b")(by_b)

    @product_here.jvp
    def product_jvp(z, a_dot, b_dot, a, b):
        return a_dot @ b + a @ b_dot

    return product_here


def by_a(z, z_bar, a, b):
    return np.outer(z_bar, np.conj(b))


def by_b(z, z_bar, a, b):
    return a.T.conj() @ z_bar


def without_conjugate(z, z_bar, a, b):
    return a.T @ z_bar


# ---- right rules -----------------------------------------------------------------------------------------------------
def test_a_holomorphic_rule_of_numbers_and_arrays():
    rule = omega(omega_partials)
    expect_ad(lambda z: np.abs(rule(z)) ** 2, Z)
    expect_ad(lambda w: np.abs(rule(w) + w[0]) ** 2, W)
    assert contad.derivative(rule)(Z) == pytest.approx(1.0 / (1.0 + cmath.exp(rule(Z))))
    assert (type(rule(0.3)), contad.grad(rule)(0.3)) == (float, pytest.approx(1.0 / (1.0 + math.exp(rule(0.3)))))
    np.testing.assert_allclose(rule(W), [rule(w) for w in W])


def root_partials(z, x, a):
    return 0.5 * z / x, z / a


def test_a_complex_value_at_real_arguments():
    @contad.scalar_rule(holomorphic=True)
    def root_here(x, a):
        is_real = not isinstance(x, complex) and not isinstance(a, complex) and x > 0.0
        return a * (math.sqrt(x) if is_real else cmath.sqrt(x))

    root_here.partials(root_partials)
    for engine in ("matrix", "records", "closures"):
        gradient = contad.grad(lambda x: np.abs(root_here(x, 2.0) + 1.0) ** 2, engine=engine)
        assert gradient(-1.3) == pytest.approx(-4.0)  # of 1 - 4 x
        assert gradient(1.69) == pytest.approx(2.0 * 3.6 / 1.3)
    expect_ad(lambda x, a: np.abs(root_here(x, a) + 1.0) ** 2, np.array([-1.3, 0.4]), 2.0 + 0.3j)


def test_an_array_rule_of_real_and_complex_arrays():
    rule = product(by_a, by_b)
    for a, b in ((A, B), (A.real, B), (A, B.real), (A.real, B.real)):
        expect_ad(lambda a, b: np.abs(rule(a, b)) ** 2, a, b)
    assert contad.grad(lambda a: np.sum(np.abs(rule(a, B)) ** 2))(A.real).dtype == np.float64


def test_an_array_rule_with_a_complex_value_of_real_arrays():
    @contad.array_rule(complex=True, linear=("a",))
    def spectrum_here(a):
        return np.fft.rfft(a)

    @spectrum_here.vjp("a")
    def spectrum_vjp(z, z_bar, a):
        return 0.5 * a.size * np.fft.irfft(z_bar * WEIGHTS, n=6)

    x = np.array([0.4, -1.1, 0.9, 0.3, 2.0, -0.2])
    expected = contad.grad(lambda x: np.sum(np.abs(np.fft.rfft(x)) ** 4))(x)
    for engine in ("matrix", "records", "closures"):
        np.testing.assert_allclose(
            contad.grad(lambda x: np.sum(np.abs(spectrum_here(x)) ** 4), engine=engine)(x), expected
        )
    program = contad.record(lambda x: np.sum(np.abs(spectrum_here(x)) ** 4), x + 1.0)
    np.testing.assert_allclose(program.gradient(x), expected)


# ---- wrong ones ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("wrong", [without_conjugate, by_b])
def test_a_wrong_conjugate_in_a_cotangent_is_found(wrong):
    rule = product(by_a, wrong)
    if wrong is by_b:
        expect_ad(lambda b: np.abs(rule(A, b)) ** 2, B)
        return
    with pytest.raises(AssertionError, match="leg gradient|leg product"):
        expect_ad(lambda b: np.abs(rule(A, b)) ** 2, B)


def test_a_wrong_partial_is_found():
    """A conjugate is not even a function that a partial may call."""
    with pytest.raises(AssertionError, match="leg gradient|leg jvp"):
        expect_ad(lambda z: np.abs(omega(wrong_partials)(z)) ** 2, Z)
    with pytest.raises(RuleError, match=r"conjugated: np\.conj is not a rule"):
        contad.grad(lambda z: np.abs(omega(conjugated)(z)) ** 2)(Z)


DEVELOPMENT = """
import numpy as np, contad
@contad.scalar_rule(holomorphic=True)
def {name}(z):
    return {value}
@{name}.partials
def partials(w, z):
    return 2.0 * z
contad.grad(lambda z: np.abs({name}(z)) ** 2)(0.4 + 0.7j)
"""


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("squared", "z * z", ""), ("mirrored", "z * z.conjugate() + z", "the slope along the real axis"),
     ("turned", "z.real**2 - z.imag**2 + 1j * z.real", "the slope along the")],
)  # fmt: skip
def test_development_mode_compares_slopes_along_both_axes(name, value, said):
    ran = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "ignore", "-c", DEVELOPMENT.format(name=name, value=value)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (ran.returncode, said in ran.stderr) == (int(bool(said)), True), ran.stderr


# ---- refusals --------------------------------------------------------------------------------------------------------
def test_what_is_not_declared_is_refused():
    @contad.scalar_rule
    def real_here(x):
        return x * x

    @contad.array_rule
    def doubled_here(a):
        return 2.0 * a

    @contad.array_rule
    def turned_here(a):
        return 1j * a

    @turned_here.vjp("a")
    def turned_vjp(z, z_bar, a):
        return z_bar

    with pytest.raises(UnsupportedError, match="holomorphic=True"):
        real_here(Z)
    with pytest.raises(UnsupportedError, match="complex=True"):
        contad.grad(lambda w: np.sum(np.abs(doubled_here(w))))(W)
    with pytest.raises(UnsupportedError, match="its value must be real.*complex=True"):
        contad.grad(lambda x: np.sum(np.abs(turned_here(x))))(W.real)


def test_a_real_part_is_not_holomorphic():
    rule = product(by_a, by_b)
    with pytest.raises(NotHolomorphicError):
        contad.jacobian(lambda b: np.real(rule(A, b)) + 0j, holomorphic=True)(B)
