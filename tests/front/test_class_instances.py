"""Instances of jitclasses: made inside, with fields that carry derivatives, and given, with methods that are called."""

import numba
import numpy as np
import pytest
from numba import njit
from numba.experimental import jitclass

import contad
from contad.errors import UnsupportedError

X = np.array([0.7, -0.4, 1.1])


@jitclass([("scale", numba.float64), ("weights", numba.float64[:]), ("count", numba.int64)])
class Weighing:
    def __init__(self, scale, weights):
        self.scale = scale
        self.weights = weights

    def weigh(self, y):
        self.count += 1
        return y * self.scale * self.weights[0]

    def evaluate(self, y):
        total = 0.0
        for k in range(self.weights.shape[0]):
            total += self.weights[k] * y**k
        return total * self.scale

    @property
    def double(self):
        return 2 * self.scale

    @double.setter
    def double(self, value):
        self.scale = value / 2

    @staticmethod
    def square(y):
        return y * y


@jitclass([("inner", Weighing.class_type.instance_type), ("__state", numba.float64)])
class Stepping:
    def __init__(self, inner):
        self.inner = inner
        self.__state = 1.0

    def step(self, y):
        self.__state = self.__state * y + self.inner.weigh(y)
        if self.__state > 0.6:
            self.inner.scale *= 0.9
        return self.__state


@jitclass([("few", numba.float32)])
class Narrow:
    def __init__(self, few):
        self.few = few


@njit
def fields(x):
    c = Weighing(x[2], x * x)
    total = 0.0
    for k in range(3):
        total += c.weigh(x[k]) * c.count
        c.scale += x[k] * total
        c.weights[0] *= x[1]
    c.double = c.double * c.scale
    return total * c.scale + c.square(total) + np.sum(c.weights)


@njit
def nested(x):
    stepping = Stepping(Weighing(x[0], x + 1.0))
    same = stepping
    total = 0.0
    for k in range(5):
        total += same.step(x[k % 3])
    return total + stepping.inner.scale


@njit
def made_in_a_loop(x):
    total = 0.0
    for k in range(3):
        c = Weighing(x[k], x * k + 1.0)
        for j in range(2):
            c.scale = c.scale * x[j] if x[j] > 0.6 else c.scale + x[j]
        total += c.evaluate(x[1]) * c.double
    return total


@njit
def given(x, c):
    return c.evaluate(x[0]) * x[1] + c.double * x[2] + c.square(x[0])


@njit
def changes_what_is_given(x, c):
    return c.weigh(x[0])


@njit
def changes_an_array(x):
    c = Weighing(x[0], x)
    if x[0] > 0.0:
        c.weights = x * x
    return c.evaluate(x[1])


@njit
def with_few_bits(x):
    return Narrow(x[0]).few


@njit
def with_other_type(x):
    c = Weighing(x[0], x)
    c.count = x[1]
    return c.count * x[0]


def by_differences(f, h=1e-6):
    return np.array([(f(X + step) - f(X - step)) / (2 * h) for step in h * np.eye(3)])


@pytest.mark.parametrize("f", [fields, nested, made_in_a_loop])
def test_fields_carry_derivatives(f):
    derivative = contad.value_and_grad(f)
    assert contad.engine_name(derivative, args=(X,)) == "generated"
    value, gradient = derivative(X)
    assert value == pytest.approx(f(X), rel=1e-14)
    np.testing.assert_allclose(gradient, by_differences(f), rtol=1e-7)


def test_second_derivatives_of_fields():
    along = contad.hvp(nested, engine="generated")(X, np.ones(3))
    expected = by_differences(contad.grad(nested, engine="generated")) @ np.ones(3)
    np.testing.assert_allclose(along, expected, rtol=1e-7)


def test_methods_of_an_instance_that_is_given():
    c = Weighing(1.5, np.array([0.3, 0.4, 0.5]))
    value, gradient = contad.value_and_grad(given, engine="generated")(X, c)
    assert value == pytest.approx(given(X, c), rel=1e-14)
    np.testing.assert_allclose(gradient, by_differences(lambda x: given(x, c)), rtol=1e-7)


@pytest.mark.parametrize(("f", "message"), [
    (changes_what_is_given, "weigh: the assignment to 'self.count' of an instance that is given; make"),
    (changes_an_array, "'c.weights', which is no number, in a branch or a loop; give it a value where"),
    (with_few_bits, "the field few of Narrow, of type float32; declare float64, int64 or boolean"),
    (with_other_type, "the assignment to 'c.count' of another type than int64; give what is declared"),
])  # fmt: skip
def test_it_is_refused(f, message):
    args = (X, Weighing(1.5, X)) if f is changes_what_is_given else (X,)
    with pytest.raises(UnsupportedError, match=rf"test_class_instances.py:\d+: .*{message}"):
        contad.source(f, *args)
