"""Trees as vectors: ravel and its inverse, and functions of trees as optimisers and samplers call them."""

import pickle
from collections import namedtuple

import numba
import numpy as np
import pytest

import contad
from contad.errors import UnsupportedError
from tests.judges.ways import differences

Point = namedtuple("Point", "x y")
TREE = {
    "rate": 0.5,
    "layers": [{"w": np.array([[1.0, -2.0], [3.0, 0.25]])}, np.array([4.0])],
    "at": Point(2, np.float64(3.5)),
}
VECTOR = np.array([2.0, 3.5, 1.0, -2.0, 3.0, 0.25, 4.0, 0.5])  # dicts by their sorted keys
Y = np.array([1.0, 2.5, 4.0])


# ---- ravel -----------------------------------------------------------------------------------------------------------
def test_numbers_names_and_shapes():
    vector, unravel = contad.ravel(TREE)
    np.testing.assert_array_equal(vector, VECTOR)
    assert unravel.size == 8 and unravel.names == [
        "at.x", "at.y", "layers[0].w[0,0]", "layers[0].w[0,1]", "layers[0].w[1,0]", "layers[0].w[1,1]",
        "layers[1][0]", "rate",
    ]  # fmt: skip
    assert unravel.shapes == {"at.x": (), "at.y": (), "layers[0].w": (2, 2), "layers[1]": (1,), "rate": ()}
    tree = unravel(2.0 * vector)
    assert tree["rate"] == 1.0 and type(tree["rate"]) is float and type(tree["at"]) is Point and tree["at"].x == 4.0
    np.testing.assert_array_equal(tree["layers"][0]["w"], 2.0 * TREE["layers"][0]["w"])
    vector[:] = 0.0
    assert tree["layers"][1][0] == 8.0
    tree["layers"][0]["w"][:] = 0.0  # arrays of their own
    assert TREE["layers"][0]["w"][0, 0] == 1.0


@pytest.mark.parametrize(
    ("tree", "vector", "names"),
    [(3, [3.0], ["x"]), (np.array([[1.0, 2.0]]), [1.0, 2.0], ["x[0,0]", "x[0,1]"]),
     ([1.0, 2], [1.0, 2.0], ["x[0]", "x[1]"]),
     (np.array([1, 2], np.int32), [1.0, 2.0], ["x[0]", "x[1]"]), ((np.zeros(0), 1.5), [1.5], ["x[1]"]),
     (np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]), [1.0, 2.0, 3.0, 4.0], ["x[0,0]", "x[0,1]", "x[1,0]", "x[1,1]"])],
    ids=repr,
)  # fmt: skip
def test_kinds_of_trees(tree, vector, names):
    found, unravel = contad.ravel(tree)
    assert found.tolist() == vector and found.dtype == float and unravel.names == names
    again, _ = contad.ravel(unravel(found))
    assert again.tolist() == vector


def test_draws_with_leading_axes():
    _, unravel = contad.ravel(TREE)
    draws = np.random.default_rng(3).normal(size=(4, 10, 8))
    tree = unravel(draws)
    np.testing.assert_array_equal(tree["rate"], draws[..., 7])
    np.testing.assert_array_equal(tree["layers"][0]["w"][1, 3], draws[1, 3, 2:6].reshape(2, 2))
    assert {name: x.shape for name, x in contad.ravel({"a": 1.0, "b": Y})[1](draws[..., :4]).items()} == {
        "a": (4, 10), "b": (4, 10, 3),
    }  # fmt: skip


def test_draws_as_arviz_takes_them():
    start, unravel = contad.ravel({"mu": 0.0, "theta": np.zeros(3), "L": np.eye(2)})
    draws = np.random.default_rng(4).normal(size=(4, 10, len(start)))
    posterior = unravel(draws)  # by name an array (chain, draw, *shape), and nothing else
    assert type(posterior) is dict and all(type(x) is np.ndarray for x in posterior.values())
    assert {name: x.shape[2:] for name, x in posterior.items()} == unravel.shapes
    for chain, draw in np.ndindex(4, 10):
        one = unravel(draws[chain, draw])
        assert posterior.keys() == one.keys()
        for name, x in one.items():
            np.testing.assert_array_equal(posterior[name][chain, draw], x)


@pytest.mark.parametrize("engine", [None, "records", "closures"])
def test_both_directions_differentiate(engine):
    def there(tree):
        vector, _ = contad.ravel(tree)
        return (vector * vector * np.arange(8.0)).sum()

    def back(vector):
        tree = contad.ravel(TREE)[1](vector)
        return (
            tree["rate"] * tree["at"].y * (tree["layers"][0]["w"] @ tree["layers"][0]["w"])[0, 1]
            + tree["layers"][1][0] ** 3
        )

    found, _ = contad.ravel(contad.grad(there, engine=engine)(TREE))
    np.testing.assert_allclose(found, 2.0 * VECTOR * np.arange(8.0))
    np.testing.assert_allclose(
        contad.grad(back, engine=engine)(VECTOR), differences(back, VECTOR), rtol=1e-7, atol=1e-7
    )
    assert contad.jvp(back, (VECTOR,), (VECTOR,))[1] == pytest.approx(differences(back, VECTOR) @ VECTOR, rel=1e-7)
    np.testing.assert_allclose(contad.hessian(there)({"x": VECTOR})["x"]["x"], np.diag(2.0 * np.arange(8.0)))


def test_refusals_of_trees():
    for tree in ({}, None, []):
        with pytest.raises(ValueError, match="ravel: tree must hold real numbers"):
            contad.ravel(tree)
    with pytest.raises(UnsupportedError, match="expected real numbers"):
        contad.ravel({"name": "text"})
    with pytest.raises(ValueError, match=r"last axis of the vector must have length 8, got shape \(3,\)"):
        contad.ravel(TREE)[1](Y)
    _, unravel = contad.ravel(TREE)
    assert pickle.loads(pickle.dumps(unravel)).names == unravel.names


# ---- flat ------------------------------------------------------------------------------------------------------------
def density(p, y, scale=1.0):
    z = (y - p["mean"]) / p["width"]
    return scale * (z @ z + y.sum() * np.log(p["width"]) * p["mean"][0])


EXAMPLE = {"mean": np.array([0.3, 1.2, -0.7]), "width": 1.4}


def test_a_function_of_a_tree_by_a_vector():
    model = contad.flat(density, EXAMPLE)
    x = model.x0
    assert model.names == ["mean[0]", "mean[1]", "mean[2]", "width"] and model(x, Y) == density(EXAMPLE, Y)
    gradient = differences(lambda x: model(x, Y, scale=2.0), x)
    np.testing.assert_allclose(model.grad(x, Y, scale=2.0), gradient, rtol=1e-7, atol=1e-7)
    value, found = model.value_and_grad(x, Y)
    assert value == pytest.approx(model(x, Y)) and found == pytest.approx(0.5 * gradient, rel=1e-7, abs=1e-7)
    hess = np.array([differences(lambda x, k=k: model.grad(x, Y)[k], x) for k in range(4)])
    np.testing.assert_allclose(model.hess(x, Y), hess, rtol=1e-6, atol=1e-6)
    p = np.array([1.0, -0.5, 2.0, 0.3])
    np.testing.assert_allclose(model.hessp(x, p, Y), hess @ p, rtol=1e-6, atol=1e-6)
    assert model.unravel(x)["width"] == 1.4
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.grad(x, Y), model.grad(x, Y))


def test_a_function_of_several_outputs():
    model = contad.flat(lambda p, t: p["a"] * np.exp(-p["b"] * t), {"a": 2.0, "b": 0.5})
    expected = np.stack([np.exp(-0.5 * Y), -2.0 * Y * np.exp(-0.5 * Y)], axis=1)
    np.testing.assert_allclose(model.jac(model.x0, Y), expected)


def test_other_places_and_several_arguments():
    def f(y, a, scale, b):
        return scale * np.sum((y - a) ** 2) * b

    model = contad.flat(f, Y * 0.5, argnums=1)
    assert model(model.x0, Y, 2.0, 3.0) == f(Y, Y * 0.5, 2.0, 3.0)
    np.testing.assert_allclose(model.grad(model.x0, Y, 2.0, 3.0), -6.0 * Y)
    both = contad.flat(f, (1.5, Y * 0.5), argnums=(3, 1))
    assert both.names[0] == "x[0]" and both(both.x0, Y, 2.0) == f(Y, Y * 0.5, 2.0, 1.5)
    np.testing.assert_allclose(both.grad(both.x0, Y, 2.0), differences(lambda x: both(x, Y, 2.0), both.x0), rtol=1e-6)
    with pytest.raises(TypeError, match="flat: f: expected 1 arguments before argument 1, got 0"):
        model(model.x0)
    with pytest.raises(ValueError, match="flat: example must be a tuple of 2 arguments"):
        contad.flat(f, Y, argnums=(1, 3))


@numba.njit
def squares(x):
    total = 0.0
    for k in range(len(x)):
        total += (k + 1.0) * x[k] * x[k]
    return total


def test_a_numba_function_of_a_vector_is_compiled():
    model = contad.flat(squares, Y)
    assert contad.engine_name(model.grad, args=(Y,)) == "generated"
    np.testing.assert_allclose(model.grad(Y), 2.0 * Y * np.arange(1.0, 4.0))
    assert model.cfunc("nuts") is contad.cfunc(squares, 3, "nuts")
    trees = contad.flat(lambda p: squares(p["x"]) * p["c"], {"x": Y, "c": 2.0})
    np.testing.assert_allclose(trees.grad(trees.x0)[1:], 4.0 * Y * np.arange(1.0, 4.0))


def test_functions_as_people_type_them():
    def f(p):
        total = np.zeros(3)
        for k in range(3):
            total[k] = p["a"][k] ** 2 * p["b"]
        return total.sum()

    model = contad.flat(f, {"a": Y, "b": 0.5})
    np.testing.assert_allclose(model.grad(model.x0), differences(model, model.x0), rtol=1e-7)


# ---- products for SciPy ----------------------------------------------------------------------------------------------
def test_the_vector_of_a_product_may_come_second():
    def f(x, a, b):
        return a * np.sum(x**3) + b * x[0] * x[1]

    v = np.array([1.0, -2.0, 0.5])
    expected = contad.hvp(f)(Y, 2.0, 3.0, v)
    np.testing.assert_array_equal(contad.hvp(f, vector=1)(Y, v, 2.0, 3.0), expected)
    again = pickle.loads(pickle.dumps(contad.hvp(np.sum, vector=1)))
    assert again(Y, v).tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(
        TypeError, match="hvp: f: expected the arguments of the function, with the vector at position 1"
    ):
        contad.hvp(f, vector=1)(Y)
    with pytest.raises(TypeError, match="hvp: argnums must be"):
        contad.hvp(f, vector=-1)


def test_several_examples_belong_in_a_tuple():
    with pytest.raises(TypeError, match=r"flat: expected one example, got 2; .*flat\(f, \(x0, x1\), argnums"):
        contad.flat(lambda x, y: x * y, 1.0, 1.0)
    assert contad.flat(lambda x, y: x * y, (2.0, 3.0), argnums=(0, 1)).grad(np.array([2.0, 3.0])).tolist() == [3.0, 2.0]
