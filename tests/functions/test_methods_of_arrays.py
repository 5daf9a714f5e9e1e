"""plain.dot(x) and plain.copy() of plain arrays among variables, as typed; what the names mean of anything else."""

import copy

import numpy as np
import pytest
from numpy import random

import contad
from contad.functions import callees
from contad.functions.bound_names import bind_names, methods_called
from tests.judges import ways

X = np.array([0.5, 1.3, 0.7])
A = np.arange(9.0).reshape(3, 3)
SHUFFLE = np.random.shuffle


class Linear:
    def __init__(self, a):
        self.a = a

    def dot(self, x):
        return self.a.dot(x) + (self.a * 0.5).dot(x[0])[0]


LINEAR = Linear(A)


def in_a_loop(x):
    return sum([row.dot(x) * x[k] for k, row in enumerate(A)])


OF_DOT = {
    "a matrix": lambda x: A.dot(x).sum(), "expressions": lambda x: (2.0 * A).T.dot(x).dot(A.dot(np.sin(x))),
    "a number": lambda x: A.dot(x[0]).sum(), "a list": lambda x: A.dot([x[0], 1.0, x[1]]).sum(),
    "an object's own": lambda x: LINEAR.dot(x).sum(), "one that is made": lambda x: Linear(A).dot(x).sum(),
    "of a variable": lambda x: x.dot(A).dot(x), "the function": lambda x: np.dot(A, x).sum() * np.dot(x, x),
    "rows": in_a_loop, "data": lambda x: A.dot(A).dot(X).sum() * x[0],
    "keywords": lambda x: A.dot(b=x, out=None).sum(),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_DOT)
def test_dot(name):
    f = OF_DOT[name]
    expected = ways.differences(f, X)
    np.testing.assert_allclose(contad.grad(f)(X), expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(contad.jvp(f, (X,), (X,))[1], expected @ X, rtol=1e-7)
    assert f(X) == pytest.approx(contad.value_and_grad(f)(X)[0], rel=1e-14)


def test_a_method_is_one_operation():
    big = np.ones((300, 300))

    def f(x):
        return big.dot(x).sum()

    _, rows = contad.value_and_grad(lambda x: (f(x), contad.stack().top), has_aux=True)(np.ones(300))[0]
    assert rows < 1000  # cells, not a record for each of 90,000 products


def test_a_method_that_is_passed_on_is_refused_with_what_to_write():
    with pytest.raises(contad.LostDerivativeError, match=r": next\(map\(A\.dot, \[x\]\)\): .*a @ x for"):
        contad.grad(lambda x: sum(next(map(A.dot, [x]))))(X)


def test_code_with_many_constants():
    lines = "".join(f"    y = x * {k}.5\n" for k in range(300))
    names = {"A": A}
    exec(f"def f(x):\n{lines}    return A.dot(y).sum() + A.dot(x).dot(x)", names)
    np.testing.assert_allclose(contad.grad(names["f"])(X), ways.differences(names["f"], X), rtol=1e-7)


def test_modules_are_left_alone():
    code = OF_DOT["the function"].__code__
    assert set(methods_called(code, "dot")) <= {"np"}  # a module's function may be loaded as an attribute
    assert bind_names(code, {}, {"dot": None}, {"np"}).co_code == code.co_code


def test_without_it_dot_is_refused(monkeypatch):
    monkeypatch.setattr(callees, "METHODS", {})
    with pytest.raises(contad.LostDerivativeError, match=r"A\.dot\(x\): .*a @ x for a\.dot\(x\)"):
        contad.grad(lambda x: A.dot(x).sum())(X)


# ---- copy ------------------------------------------------------------------------------------------------------------
class Series:
    def __init__(self, values):
        self.values = values

    def copy(self):
        return Series(self.values.copy())


def filters(p):
    z = X.copy()
    for t in range(1, 3):
        z[t] += p * z[t - 1]
    return z.sum() * z[1]


def fills_rows(p):
    m = A.copy("F")
    for t in range(2):
        m[t + 1] = m[t] * p
    return m.sum()


def of_an_object(p):
    s = Series(X).copy()
    s.values[1] = p * s.values[2]
    return s.values.sum() * s.values[1]


def of_other_things(p):
    z, names, same = X.copy(), {"a": [p]}.copy(), copy.copy([p, p])
    z[0] = names["a"][0] * same[1]
    y = z.copy()
    y[1] = p
    return z.sum() * y.sum()


def of_integers(p):
    k = np.arange(3).copy()
    k[0] = 2
    z = np.zeros(3)
    z[k] = p * p
    return z[1] * z[2] + (X * z).sum()


OF_COPY = [filters, fills_rows, of_an_object, of_other_things, of_integers]


@pytest.mark.parametrize("f", OF_COPY)
def test_a_copy_has_room_for_variables(f):
    x, kept = 0.7, (X.copy(), A.copy())
    np.testing.assert_allclose(contad.grad(f)(x), ways.differences(lambda p: f(p[0]), np.array([x]))[0], rtol=1e-7)
    np.testing.assert_allclose(contad.jvp(f, (x,), (1.0,))[1], contad.grad(f)(x), rtol=1e-12)
    assert contad.value_and_grad(f)(x)[0] == pytest.approx(f(x), rel=1e-14)
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(A, kept[1])


def test_without_it_a_copy_has_none(monkeypatch):
    def fills(p):
        np.zeros(1)
        z = X.copy()
        z[1] = p
        return z.sum()

    monkeypatch.setattr(callees, "ASSIGNABLE_METHODS", callees.METHODS)
    with pytest.raises(contad.LostDerivativeError, match=r"z is a plain array, .* z = np\.array\(z\)"):
        contad.grad(fills)(0.5)


# ---- what NumPy's generators shuffle ---------------------------------------------------------------------------------
def rows(x):
    return np.stack([x, x * x, np.sin(x), 2.0 * x])


def shuffled(shuffle):
    def f(x):
        z = rows(x)
        shuffle(z)
        return np.sum(z * np.arange(12.0).reshape(4, 3) ** 2)

    return f


def by_the_function(z):
    np.random.seed(2)  # noqa: NPY002
    SHUFFLE(z)


def by_the_module(z):
    random.seed(2)  # noqa: NPY002
    random.shuffle(z)  # noqa: NPY002


def by_the_package(z):
    np.random.seed(2)  # noqa: NPY002
    np.random.shuffle(z)  # noqa: NPY002


SHUFFLED = {
    "a generator": lambda z: np.random.default_rng(0).shuffle(z),
    "columns": lambda z: np.random.default_rng(1).shuffle(z, axis=1),
    "the last axis": lambda z: np.random.default_rng(1).shuffle(z, -1),
    "one axis": lambda z: np.random.default_rng(3).shuffle(z[:, 0]),
    "a view": lambda z: np.random.default_rng(4).shuffle(z[1:, ::2]),
    "three axes": lambda z: np.random.default_rng(4).shuffle(z.reshape(2, 2, 3)),
    "an older generator": lambda z: np.random.RandomState(1).shuffle(z),
    "by the function": by_the_function, "by the module": by_the_module, "by the package": by_the_package,
}  # fmt: skip


@pytest.mark.parametrize("way", ways.WAYS)
@pytest.mark.parametrize("name", SHUFFLED)
def test_shuffled_rows_are_those_that_numpy_shuffles(name, way):
    ways.agree(shuffled(SHUFFLED[name]), way)


def test_a_method_of_that_name_is_the_users():
    class Deck:
        def shuffle(self, x):
            return x * 3.0

    assert contad.grad(lambda x: Deck().shuffle(x))(1.5) == 3.0
