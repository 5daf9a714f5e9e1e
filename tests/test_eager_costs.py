"""What forward mode, linear maps and einsum do, in counts: no general way for plain operands, no path found twice."""

import numpy as np
import pytest

import contad
from contad.ops import einsum as einsum_module
from contad.transforms import gradients, linearized
from contad.variables.dual import ForwardLevel
from contad.variables.stack import ChainStack

POINT = np.linspace(0.1, 1.0, 50)
ONES = np.ones(50)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def layered(x):
    z = np.tanh(np.outer(x[:3], x[3:7]) @ x[7:11])
    return np.concatenate([np.exp(z) / (1.0 + np.sqrt(np.abs(z))), np.maximum(z, 0.1), z[0] * x[:5]])


# ---- forward mode ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("several", [False, True])
def test_operations_on_plain_duals_do_not_take_the_general_way(monkeypatch, several):
    tangent = np.stack([ONES, POINT]) if several else ONES
    expected = contad.jvp(rosenbrock, (POINT,), (tangent,), several=several)
    monkeypatch.setattr(ForwardLevel, "apply_elementwise", None)
    np.testing.assert_array_equal(contad.jvp(rosenbrock, (POINT,), (tangent,), several=several)[1], expected[1])
    np.testing.assert_allclose(expected[1], tangent @ contad.grad(rosenbrock)(POINT))


def test_zero_tangents_mask_as_ever():
    x, direction = np.array([0.0, 4.0]), np.array([0.0, 1.0])
    assert contad.jvp(lambda x: np.sqrt(x), (x,), (direction,))[1].tolist() == [0.0, 0.25]
    assert contad.jvp(lambda x: x**0.5 + 1.0, (x,), (direction,))[1].tolist() == [0.0, 0.25]
    with np.errstate(all="ignore"):
        assert contad.jvp(np.sqrt, (x,), (np.ones(2),))[1].tolist() == [np.inf, 0.25]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.transpose(x) * 2.0,
        lambda x: np.exp(x.T)[::2],
        lambda x: x + np.ones((3, 2, 2)),
        lambda x: x[0] * x,
        lambda x: x[:, :1] - x.T[0],
        lambda x: np.asfortranarray(np.ones((2, 2))) * x,
    ],
)
def test_layouts_and_memory_of_results(f):
    x = np.array([[0.3, 0.7], [1.1, -0.4]])

    def g(dual):
        z, plain = f(dual), f(x)
        assert z._value.strides == plain.strides
        assert all(t.strides == plain.strides for t in z._tangents)
        assert not np.may_share_memory(z._value, z._tangents[0])
        z[...] = z * 1.0
        return z

    value, tangent = contad.jvp(g, (x,), (x,))
    np.testing.assert_array_equal(value, f(x))
    np.testing.assert_allclose(tangent, contad.jvp(f, (x,), (x,))[1])


def test_a_result_does_not_alias_its_operand():
    def f(x):
        y = x * 1.0
        z = +y
        y[0] = 5.0
        return np.sum(z * y)

    x = np.array([2.0, 3.0])
    value, slope = contad.jvp(f, (x,), (np.ones(2),))
    assert (value, slope) == (2.0 * 5.0 + 9.0, 5.0 + 6.0)


# ---- linear maps -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("f", [rosenbrock, layered, lambda x: [x[0] * x[1], {"a": np.sin(x[:4]), "b": 2.0}]])
def test_linearize_passes_over_the_records(monkeypatch, f):
    calls = []

    def counted(x):
        calls.append(1)
        return f(x)

    monkeypatch.setattr(linearized, "vjp", None)
    monkeypatch.setattr(ChainStack, "run_sweep", None)
    value, tangent_map = contad.linearize(counted, POINT)
    for tangent in (ONES, POINT, 0.0 * ONES):
        expected_value, expected = gradients.jvp(f, (POINT,), (tangent,))
        for got, wanted in zip(leaves(tangent_map(tangent)), leaves(expected), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-14)
    for got, wanted in zip(leaves(value), leaves(expected_value), strict=True):
        np.testing.assert_allclose(got, wanted)
    assert len(calls) == 1


def leaves(x):
    if isinstance(x, dict):
        x = list(x.values())
    return [leaf for item in x for leaf in leaves(item)] if isinstance(x, list) else [x]


def test_linearize_where_records_do_not_do():
    x = np.array([0.0, 4.0])
    _, tangent_map = contad.linearize(np.sqrt, x)  # the first partial is infinite
    assert tangent_map(np.array([0.0, 1.0])).tolist() == [0.0, 0.25]
    inner = contad.grad(lambda x: np.sum(contad.linearize(np.sin, x)[1](x)))(POINT)
    np.testing.assert_allclose(inner, np.cos(POINT) - POINT * np.sin(POINT))
    _, tangent_map = contad.linearize(np.sin, POINT)  # at tangents that are variables
    np.testing.assert_allclose(contad.grad(lambda t: np.sum(tangent_map(t) * t))(ONES), 2.0 * np.cos(POINT))
    _, tangent_map = contad.linearize(lambda x: np.concatenate([x, ONES]), POINT)
    assert tangent_map(ONES).tolist() == [1.0] * 50 + [0.0] * 50
    _, tangent_map = contad.linearize(lambda x, y: (x * y, 3.0), 2.0, 3.0)
    assert tangent_map(1.0, 10.0) == (23.0, 0.0)


# ---- einsum ----------------------------------------------------------------------------------------------------------
def test_the_path_of_an_einsum_is_found_once(monkeypatch):
    a, b, c = (np.random.default_rng(k).normal(size=(4, 4)) for k in range(3))
    calls = []
    path = np.einsum_path
    monkeypatch.setattr(np, "einsum_path", lambda *args, **options: calls.append(1) or path(*args, **options))
    einsum_module._path_of.cache_clear()
    f = contad.grad(lambda x: np.sum(np.einsum("ij,jk,kl->il", x, b, c) ** 2))
    first = f(a)
    assert len(calls) == 1
    np.testing.assert_allclose(f(a), first)
    assert len(calls) == 1
    np.testing.assert_allclose(first, 2.0 * (a @ b @ c) @ (b @ c).T)


@pytest.mark.parametrize(
    "subscripts", ["ij,jk,kl->il", "ij,jk,kl->li", "ij,jk,k->i", "i,ij,j->", "ij,kj,kl->il", "ij,ij,jk->ik"]
)
def test_einsums_of_three(subscripts):
    terms = subscripts.partition("->")[0].split(",")
    arrays = [np.random.default_rng(k).normal(size=(3,) * len(term)) for k, term in enumerate(terms)]
    for k, x in enumerate(arrays):

        def f(x, k=k):
            return np.sum(np.einsum(subscripts, *arrays[:k], x, *arrays[k + 1 :]) ** 2)

        direction = np.random.default_rng(9).normal(size=x.shape)
        expected = (f(x + 1e-6 * direction) - f(x - 1e-6 * direction)) / 2e-6
        assert np.sum(contad.grad(f)(x) * direction) == pytest.approx(expected, rel=1e-6)
        assert contad.jvp(f, (x,), (direction,))[1] == pytest.approx(expected, rel=1e-6)
