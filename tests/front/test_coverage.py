"""What users write in Numba functions: differentiated by generated source, or refused with the reason and the line."""

import re

import numpy as np
import pytest

import contad
from contad.errors import UnsupportedError
from contad.variables.trees import flatten
from tests.front import covered
from tests.front.generated import run_of
from tests.judges.planted import known
from tests.judges.samples import sampled

ROWS = [(item, f, args) for item, rows in covered.COVERED.items() for f, *args in rows]
STEPS = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))  # differences of the sixth order


@pytest.fixture(autouse=True)
def users_rule():
    """The rule of the table is registered."""
    with known(covered.cubed):
        yield


def numbers(x):
    """All numbers in an argument."""
    return np.concatenate([np.ravel(leaf) for leaf in flatten(x).leaves])


def changed(x, k, h):
    """A copy of an argument, its number k greater by h."""
    tree, leaves = flatten(x), []
    for leaf in tree.leaves:
        found = np.array(leaf, float)
        if 0 <= k < found.size:
            found.flat[k] += h
        k -= found.size
        leaves.append(found if np.ndim(leaf) else float(found))
    return tree.unflatten(leaves)


def by_differences(f, x, rest, h=1e-3):
    """The gradient of the plain Python function f."""

    def at(k, step):
        return f(changed(x, k, step), *(np.copy(v) if isinstance(v, np.ndarray) else v for v in rest))

    return [sum(w * (at(k, n * h) - at(k, -n * h)) for n, w in STEPS) / h for k in range(numbers(x).size)]


@pytest.mark.parametrize(("item", "f", "args"), ROWS, ids=[f"{item}-{f.__name__}" for item, f, _ in ROWS])
def test_it_is_generated(item, f, args):
    x, *rest = args
    value, (gradient,) = run_of(contad.source(f, *args))(*args)
    assert value == pytest.approx(f.py_func(changed(x, 0, 0.0), *rest), rel=1e-13)
    expected = by_differences(f.py_func, x, rest)
    assert np.any(np.abs(expected) > 1e-3)
    np.testing.assert_allclose(numbers(gradient), expected, rtol=1e-8, atol=1e-8)


SAMPLE = ("extremes", "slices", "while_loop", "early_returns", "pair_argument", "calls_that_write", "products")


@pytest.mark.parametrize("name", sampled(SAMPLE, 3))
def test_a_sample_is_compiled(name):
    f, x, *rest = next((f, *args) for _, f, args in ROWS if f.__name__ == name)
    derivative = contad.value_and_grad(f)
    assert contad.engine_name(derivative, args=(x, *rest)) == "generated"
    value, gradient = derivative(x, *rest)
    expected_value, (expected,) = run_of(contad.source(f, x, *rest))(x, *rest)
    assert value == pytest.approx(expected_value, rel=1e-13)
    np.testing.assert_allclose(numbers(gradient), numbers(expected), rtol=1e-12)


@pytest.mark.parametrize(("f", "args", "message"), covered.REFUSED, ids=lambda x: getattr(x, "__name__", None))
def test_it_is_refused(f, args, message):
    place = rf"(covered\.py|<string>|<row \d+>):\d+: {f.__name__}: .*"
    inner = {covered.with_generator: "counting", covered.with_object: "moved"}
    if f in inner:
        place = rf"covered\.py:\d+: {inner[f]}: "
    with pytest.raises(UnsupportedError, match=place + re.escape(message)):
        contad.source(f, *args)


def test_others_answer_where_it_refuses():
    assert contad.engine_name(covered.with_dict, args=(0.7,)) == "tape"
    assert contad.grad(covered.with_dict)(0.7) == pytest.approx(1.4)
    with pytest.raises(
        UnsupportedError, match=r"engine generated refuses it: .*covered\.py:\d+: with_dict: the statement del"
    ):
        contad.grad(covered.with_dict, engine="generated")(0.7)
