"""Users' rules with complex numbers in compiled code: on both engines, against plain functions; a planted fault."""

import numpy as np
import pytest
from numba import njit

import contad
from contad import ops
from contad.compiled_rules import rules_of_parts
from contad.variables.trees import leaves_of
from tests.judges.planted import registered

Z, A, B = 0.4 + 0.7j, np.array([[1.0 + 1.0j, 2.0], [0.5j, -1.0]]), np.array([0.3, 1.0 - 2.0j])

with registered():

    @contad.scalar_rule(holomorphic=True)
    def omega_in_njit(x):
        z = x
        for _ in range(60):
            z = z - (z + np.exp(z) - x) / (1.0 + np.exp(z))
        return z

    @omega_in_njit.partials
    def omega_partials(z, x):
        return 1.0 / (1.0 + ops.exp(z))

    @contad.array_rule(complex=True)
    def product_in_njit(a, b):
        return a @ b

    @product_in_njit.vjp("a")
    def product_vjp_a(z, z_bar, a, b):
        return np.outer(z_bar, np.conj(b))

    @product_in_njit.vjp("b")
    def product_vjp_b(z, z_bar, a, b):
        return np.conj(a).T @ z_bar


@contad.custom_vjp
def turned(x):
    return x * np.exp(1j * x)


turned.defvjp(
    lambda x: (x * np.exp(1j * x), x), lambda x, z_bar: ((z_bar * np.conj((1.0 + 1j * x) * np.exp(1j * x))).real,)
)


@njit
def whole(a, b, x):
    return np.sum(np.abs(product_in_njit(a, b)) ** 2) + abs(turned(x) + omega_in_njit(b[1])) ** 2


def require_right(f, engine):
    found = contad.grad(f, (0, 1, 2), engine=engine)(A, B, 0.7)
    for x, y in zip(leaves_of(found), leaves_of(contad.grad(f.py_func, (0, 1, 2))(A, B, 0.7)), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


@pytest.mark.parametrize("engine", ["generated", "tape"])
def test_a_gradient_is_that_of_the_plain_function(engine):
    require_right(whole, engine)


def test_second_derivatives_are_compiled():
    f = njit(lambda z: abs(omega_in_njit(z)) ** 2)
    assert contad.hvp(f, engine="generated")(Z, 1j) == pytest.approx(contad.hvp(f.py_func)(Z, 1j))


def test_a_cotangent_without_its_imaginary_part_is_noticed(monkeypatch):
    one = lambda text, kind, both: [f"{text}.real.copy()", "None"][: 1 + both]  # noqa: E731
    monkeypatch.setattr(rules_of_parts, "_split_bar", one)
    rules_of_parts.rule_of_parts.cache_clear()
    with pytest.raises(AssertionError):
        require_right(njit(lambda a, b, x: np.sum(np.abs(product_in_njit(a, b)) ** 2) + x), "generated")
    rules_of_parts.rule_of_parts.cache_clear()
