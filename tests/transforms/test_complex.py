"""Derivatives by complex numbers: the convention dL/dx + i dL/dy, trees, and derivatives of holomorphic functions."""

import cmath

import numpy as np
import pytest

import contad
from contad import NotHolomorphicError, grad, jvp, vjp
from contad.engines import engine_names
from contad.errors import OutputError, OverlapError, RuleError, UnsupportedError
from contad.scipy.optimize import minimize
from contad.testing import expect_ad

C = 1.3 - 0.7j
Z = np.array([0.7 + 0.2j, 1.3 - 0.5j, -0.4 + 0.9j])
X = np.array([0.4, -1.1, 0.8])
JACOBIANS = [contad.jacobian, contad.jacrev, contad.jacfwd]


# ---- the convention --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("engine", engine_names())
def test_the_gradient_is_the_direction_of_steepest_ascent(engine):
    assert grad(lambda z: abs(z) ** 2, engine=engine)(C) == pytest.approx(2.0 * C)
    assert grad(lambda z: z.real, engine=engine)(C) == 1.0
    assert grad(lambda z: z.imag, engine=engine)(C) == 1.0j
    assert grad(lambda z: (z * z).real, engine=engine)(C) == pytest.approx(np.conj(2.0 * C))


def test_cotangents_pair_by_the_real_inner_product():
    w, v = np.array([0.3 - 1.0j, 0.7j, 1.1]), np.array([1.0 + 0.4j, -0.2, 0.6j])
    def f(z):
        return np.sin(z) * z[::-1]

    _, tangent = jvp(f, (Z,), (v,))
    (cotangent,) = vjp(f, Z)[1](w)
    assert np.sum((np.conj(w) * tangent).real) == pytest.approx(np.sum((np.conj(cotangent) * v).real))


def test_a_real_argument_has_a_real_gradient():
    found = grad(lambda x: np.sum(np.abs(np.exp(1j * x) + x)))(X)
    assert found.dtype == float
    assert grad(lambda x: abs(cmath.exp(1j * x) + x))(0.7).__class__ is float


def test_trees():
    def f(p):
        return np.sum(np.abs(p["w"] * p["c"][0]) ** 2) + p["b"] * p["c"][0].imag

    tree = {"w": Z, "c": [C, None], "b": 2.0}
    found = grad(f)(tree)
    np.testing.assert_allclose(found["w"], 2.0 * Z * abs(C) ** 2)
    assert found["c"][0] == pytest.approx(2.0 * C * np.sum(np.abs(Z) ** 2) + 2.0j)
    assert found["c"][1] is None
    assert found["b"] == C.imag


def test_one_array_twice():
    f = lambda z, w: np.sum(np.abs(z * w))  # noqa: E731
    for found in (*grad(f, (0, 1))(Z, Z), *grad(lambda p: f(*p))((Z, Z)), *grad(f, (0, 1))(Z, Z[:])):
        np.testing.assert_allclose(found, Z)

    def g(z, w):
        z.real[0] = 0.3
        return f(z, w)

    with pytest.raises(OverlapError, match="arguments 0 and 1 overlap in memory"):
        grad(g, (0, 1))(Z, Z)


def test_ravel_has_both_parts():
    vector, unravel = contad.ravel({"w": Z, "b": 1.0})
    assert unravel.names[:3] == ["b", "w.real[0]", "w.real[1]"]
    assert unravel.names[-1] == "w.imag[2]"
    np.testing.assert_array_equal(unravel(vector)["w"], Z)


def test_functions_of_one_vector_get_complex_arguments():
    model = contad.flat(lambda z: np.sum(np.abs(z - C) ** 2), Z)
    assert model(model.x0) == pytest.approx(np.sum(np.abs(Z - C) ** 2))
    np.testing.assert_allclose(model.grad(model.x0), 2.0 * np.concatenate([(Z - C).real, (Z - C).imag]))
    np.testing.assert_allclose(minimize(lambda z: np.sum(np.abs(z - Z) ** 2), 0.0 * Z).x, Z, atol=1e-9)


def test_second_derivatives():
    product = contad.hvp(lambda z: np.sum(np.abs(z) ** 4))
    v = np.array([0.3j, 1.0, -0.4 + 0.2j])
    expected = 4.0 * np.abs(Z) ** 2 * v + 8.0 * (np.conj(Z) * v).real * Z
    np.testing.assert_allclose(product(Z, v), expected)
    assert contad.laplacian(lambda z: abs(z) ** 2)(C) == pytest.approx(4.0)
    with pytest.raises(UnsupportedError, match=r"hessian: .*argument 0 must be real, got complex .* contad.hvp"):
        contad.hessian(lambda z: abs(z) ** 2)(C)


@pytest.mark.parametrize("f", [
    lambda z: np.sum(np.maximum(z.real, z.imag) ** 2), lambda z: np.sum(np.abs(z - Z) + np.abs(z) ** 3),
    lambda z: np.max(np.abs(z / np.abs(Z))), lambda z: np.linalg.norm(z - Z) * np.sum(z.real),
    lambda z: abs(z[0] - Z[0]) + np.abs(z[1]) ** 2, lambda z: np.linalg.norm(np.outer(z, z.conj()), 2),
])  # fmt: skip
def test_second_derivatives_at_kinks_are_those_of_pairs(f):
    z, v = Z + 0.0, np.array([0.3j, 1.0, -0.4 + 0.2j])
    z[1] = 1.3 + 1.3j
    of_pairs = lambda x, y: f(x + 1j * y)  # noqa: E731
    parts, dots = (z.real.copy(), z.imag.copy()), (v.real.copy(), v.imag.copy())
    for several, first in ((contad.hvp(of_pairs, (0, 1))(*parts, dots), contad.hvp(f)(z, v)),
                           (jvp(grad(of_pairs, (0, 1)), parts, dots)[1], jvp(grad(f), (z,), (v,))[1])):  # fmt: skip
        np.testing.assert_allclose(first.real, several[0], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(first.imag, several[1], rtol=1e-12, atol=1e-14)


def test_several_directions():
    value, tangents = jvp(lambda z: z * z, (C,), (np.array([1.0, 1.0j]),), several=True)
    assert value == C * C
    np.testing.assert_allclose(tangents, [2.0 * C, 2.0j * C])


# ---- holomorphic functions -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("transform", JACOBIANS)
def test_jacobians(transform):
    def f(z):
        return z * z[::-1]

    expected = np.diag(Z[::-1]) + np.fliplr(np.diag(Z))
    np.testing.assert_allclose(transform(f, holomorphic=True)(Z), expected)
    with pytest.raises(OutputError, match="holomorphic=True for the derivative of a holomorphic function"):
        transform(f)(Z)
    with pytest.raises(NotHolomorphicError, match="not holomorphic at this point"):
        transform(lambda z: z * np.conj(z), holomorphic=True)(Z)
    with pytest.raises(NotHolomorphicError):
        transform(np.abs, holomorphic=True)(Z)


@pytest.mark.parametrize("transform", JACOBIANS)
def test_jacobians_of_which_one_side_is_real(transform):
    np.testing.assert_allclose(transform(lambda x: np.exp(1j * x))(X), np.diag(1j * np.exp(1j * X)))
    np.testing.assert_allclose(transform(np.abs)(Z), np.diag(Z / np.abs(Z)))
    found = transform(lambda x, y: [x[0] * y * 1j, x[1]], (0, 1))([1.0, 2.0], 3.0)
    assert found == [([3.0j, 0.0j], 1.0j), ([0.0, 1.0], 0.0)]


def test_derivative():
    assert contad.derivative(lambda z: cmath.exp(z))(C) == pytest.approx(cmath.exp(C))
    assert contad.derivative(lambda z: z**3)(C) == pytest.approx(3.0 * C**2)
    assert contad.derivative(contad.derivative(lambda z: z**3))(C) == pytest.approx(6.0 * C)
    assert contad.derivative(lambda x: np.exp(1j * x))(0.3) == pytest.approx(1j * np.exp(0.3j))
    with pytest.raises(NotHolomorphicError, match="derivative: .* du/dx = dv/dy"):
        contad.derivative(abs)(C)


@pytest.mark.parametrize("z", [C, Z])
def test_a_complex_result_needs_a_cotangent(z):
    with pytest.raises(OutputError, match=r"np\.abs\(z\), z\.real or z\.imag, .* holomorphic=True"):
        grad(lambda z: z * z)(z)


def test_cotangents_have_the_structure_of_the_result():
    with pytest.raises(TypeError, match="structure of the result, a complex number, got a number"):
        vjp(lambda z: z * z, C)[1](1.0)
    with pytest.raises(TypeError, match="a number or an array, got a complex number"):
        vjp(abs, C)[1](1.0j)


# ---- other transforms ------------------------------------------------------------------------------------------------
def test_recorded_programs():
    def f(z, c):
        return np.sum(np.abs(z * c + 1.0))

    program = contad.record(f, Z, C, argnums=(0, 1))
    for z, c in ((Z, C), (1j * Z, C + 1.0)):
        assert program(z, c) == pytest.approx(f(z, c))
        found, expected = grad(program, (0, 1))(z, c), grad(f, (0, 1))(z, c)
        np.testing.assert_allclose(found[0], expected[0])
        assert found[1] == pytest.approx(expected[1])


def test_linearize_checkpoint_and_constants():
    value, push = contad.linearize(lambda z: z * z, Z)[:2]
    np.testing.assert_allclose(value, Z * Z)
    np.testing.assert_allclose(push(1j * Z), 2j * Z * Z)
    f = lambda z: np.sum(np.abs(z * z))  # noqa: E731
    np.testing.assert_allclose(grad(lambda z: np.sum(np.abs(contad.checkpoint(np.square)(z))))(Z), grad(f)(Z))
    for constant in (contad.value_of, contad.stop_gradient):
        np.testing.assert_allclose(grad(lambda z, c=constant: np.sum(np.abs(c(z) * z)))(Z), Z)


def test_custom_rules():
    @contad.custom_vjp
    def square(z):
        return z * z

    square.defvjp(lambda z: (z * z, z), lambda saved, w: (np.conj(2.0 * saved) * w,))
    np.testing.assert_allclose(grad(lambda z: np.sum(np.abs(square(z))))(Z), 2.0 * Z)

    @contad.custom_vjp
    def turned(x):
        return 1j * x

    turned.defvjp(lambda x: (1j * x, None), lambda _, w: (-1j * w,))
    with pytest.raises(RuleError, match="the cotangent of argument 0 must have the structure of its argument"):
        grad(lambda x: abs(turned(x) + 1.0))(2.0)
    turned.defvjp(lambda x: (1j * x, None), lambda _, w: ((-1j * w).real,))
    assert grad(lambda x: abs(turned(x) + 1.0))(2.0) == pytest.approx(2.0 / 5.0**0.5)

    @contad.custom_jvp
    def cube(z):
        return z**3

    cube.defjvp(lambda primals, tangents: (primals[0] ** 3, 3.0 * primals[0] ** 2 * tangents[0]))
    f = lambda z: abs(z**3)  # noqa: E731
    assert grad(lambda z: abs(cube(z)))(C) == pytest.approx(grad(f)(C))
    assert contad.hvp(lambda z: abs(cube(z)))(C, 1j) == pytest.approx(contad.hvp(f)(C, 1j))


# ---- expect_ad -------------------------------------------------------------------------------------------------------
def test_expect_ad_takes_complex_numbers():
    assert expect_ad(lambda z: np.exp(z) * z, C).passed["holomorphic"]
    assert expect_ad(lambda z: np.abs(z) * z, C).passed["holomorphic"] == len(engine_names())  # refusals
    expect_ad(lambda z, x: np.sum(np.abs(z * x + 1.0)), Z[:2], X[:2])


def test_a_planted_bug_in_a_conjugate_is_found(monkeypatch):
    from contad.variables.complex_pair import ComplexPair, join

    monkeypatch.setattr(ComplexPair, "conjugate", lambda z: join(z._real, contad.value_of(z._imag) * -1.0))
    with pytest.raises(AssertionError, match="leg gradient"):
        expect_ad(lambda z: (z.conjugate() * z * z).imag, C)
