"""One derivative object for each function: its identity, its frozen values, its end."""

import copy
import functools
import gc
import math
import pickle
import pydoc
import weakref

import numba
import numpy as np
import pytest

import contad
from contad.errors import FrozenValueError
from tests.front.kernels import X, Y, square, weighted, weighted_by_hand

RATE = 0.7
DATA = np.array([1.0, 2.0])


@numba.njit
def rated(x):
    return RATE * x * x


@numba.njit
def calls_rated(x):
    return rated(x) + DATA[1] * x


def make(a):
    @numba.njit
    def scaled(x):
        return a * x * x

    return scaled


def test_one_function_has_one_object_for_each_transform():
    assert contad.grad(square) is contad.grad(square) is contad.grad(square, 0)
    others = [contad.grad(square, (0,)), contad.value_and_grad(square), contad.grad(square, engine="tape")]
    assert len({id(x) for x in [contad.grad(square), *others]}) == 4
    assert contad.grad(make(3.0)) is not contad.grad(make(3.0))
    assert [contad.grad(make(a))(2.0) for a in (3.0, 5.0)] == [12.0, 20.0]
    assert repr(contad.grad(square)) == "<contad.grad: square>" and contad.grad(square).__name__ == "square"


def test_it_dies_with_its_function():
    def used(f):
        @numba.njit
        def caller(x):
            return contad.grad(f)(x)

        assert caller(2.0) == contad.grad(lambda x: f(x))(2.0) == contad.vjp(f, 2.0)[1](1.0)[0] == 12.0
        return [weakref.ref(x) for x in (f, contad.grad(f))]

    gone = used(make(3.0))
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_a_pickle_names_the_function():
    for derivative in (contad.grad(square), contad.value_and_grad(weighted, (0, 2))):
        assert pickle.loads(pickle.dumps(derivative)) is derivative
        assert copy.deepcopy(derivative) is derivative
    assert len(pickle.dumps(contad.grad(square))) < 300
    assert pickle.loads(pickle.dumps(contad.grad)) is contad.grad
    of_closure = contad.grad(make(3.0))
    assert pickle.loads(pickle.dumps(of_closure))(2.0) == 12.0


def test_transforms_are_functions():
    help_of_grad = pydoc.render_doc(contad.grad, renderer=pydoc.plaintext)
    assert "grad(f: " in help_of_grad.replace("\n    ", "")
    assert "The gradient of a function that returns one number." in help_of_grad
    assert "argnums" in str(contad.grad.__wrapped__.__annotations__) and contad.grad.__doc__.startswith("The gradient")
    assert repr(contad.grad) == "<contad.grad>"
    assert functools.partial(contad.grad, argnums=1)(weighted)(X, Y) == pytest.approx(weighted_by_hand(X, Y)[1])


# ---- frozen values ---------------------------------------------------------------------------------------------------
def test_a_value_that_changes_before_it_is_compiled_is_noticed(monkeypatch):
    derivative = contad.grad(numba.njit(rated.py_func))
    monkeypatch.setitem(globals(), "RATE", 0.8)
    with pytest.raises(FrozenValueError, match=r"grad: rated: rated.RATE has changed .* from float 0.7 to float 0.8"):
        derivative(2.0)
    monkeypatch.undo()
    assert derivative(2.0) == pytest.approx(2.8)


def test_a_value_that_has_changed_since_the_function_was_compiled_is_noticed(monkeypatch):
    callee = numba.njit(rated.py_func)

    @numba.njit
    def f(x):
        return callee(x) * DATA[0]

    f(2.0)
    monkeypatch.setitem(globals(), "RATE", 0.8)
    with pytest.raises(
        FrozenValueError, match=r"rated.RATE has changed since the function was compiled, from float 0.7"
    ):
        contad.grad(f)(2.0)
    monkeypatch.undo()
    assert contad.grad(f, (0,))(2.0) == (pytest.approx(2.8),)


def test_a_value_that_changes_between_signatures_is_noticed():
    derivative = contad.grad(numba.njit(calls_rated.py_func))
    assert derivative(2.0) == pytest.approx(4.8)
    DATA[1] = 3.0
    try:
        with pytest.raises(FrozenValueError, match="calls_rated.DATA has changed"):
            derivative(2.0)  # compiled, with what it has seen
        with pytest.raises(FrozenValueError, match="calls_rated.DATA has changed"):
            derivative(2)
        with pytest.raises(FrozenValueError, match="calls_rated.DATA has changed"):
            numba.njit(lambda x: derivative(x))(2)
    finally:
        DATA[1] = 2.0
    assert derivative(2) == pytest.approx(4.8)


def test_a_captured_value_that_changes_is_noticed():
    a = 3.0

    @numba.njit
    def scaled(x):
        return a * x * x

    derivative = contad.grad(scaled)
    a = 4.0
    with pytest.raises(FrozenValueError, match=r"scaled.a has changed .* from float 3.0 to float 4.0"):
        derivative(2.0)


def test_a_callee_that_is_replaced_is_noticed(monkeypatch):
    derivative = contad.grad(numba.njit(calls_rated.py_func))
    monkeypatch.setitem(globals(), "rated", numba.njit(lambda x: math.exp(x)))
    with pytest.raises(FrozenValueError, match="calls_rated.rated"):
        derivative(2.0)


def test_a_twin_outlives_the_one_that_was_compiled():
    def gradients(a, count):
        made = [contad.grad(make(a)) for _ in range(count)]
        assert [g(2.0) for g in made] == [4.0 * a] * count
        return made

    first, *rest = gradients(7.0, 3)
    del first
    gc.collect()
    assert [g(3.0) for g in rest] == [42.0, 42.0]
    assert gradients(7.0, 1)[0](3.0) == 42.0
