"""Constructs that Numba compiles: which of them `generated` takes, and that what it takes is right.

The generated source runs as plain Python, once and for products with Hessians, against differences; with `-m long` it
is compiled, and what `generated` refuses is asked of the tape and of a Python copy.
"""

import warnings
from collections import Counter

import numba
import numpy as np
import pytest

import contad
from contad.engines.source.build import derivative_of
from contad.errors import UnsupportedError
from contad.numba_functions.request import Request
from tests.engines.source.bodies import differences
from tests.engines.source.bodies_of_constructs import BODIES, arguments_of, function_of
from tests.judges.samples import sampled
from tests.random_programs.generated_programs import copied, grown

# what `generated` refuses, and who takes it then
TAKEN_BY = {
    "complex": "nothing",
    "recursion": "tape",
    "generator_arg": "tape",
}
TAKEN = [name for name in BODIES if name not in TAKEN_BY]
LEAST = 143  # of the constructs, that `generated` takes


@pytest.fixture(autouse=True)
def quiet():
    """Numba warns of lists as arguments, and NumPy of what a construct does on purpose."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def generate(f, args, mode="value_and_grad"):
    """The generated function, run without Numba."""
    made = derivative_of(Request(f.py_func, f, tuple(map(numba.typeof, args)), (0, 1), False, mode))
    names = {}
    exec(compile(made.source(), "<generated>", "exec"), names)
    names.update(made.constants(), workspace=lambda: (np.full(3, np.nan), 0), grow=grown)
    return names["run"]


def flat(gradient):
    by_x, by_a = gradient
    return np.array([*by_x, by_a])


@pytest.mark.parametrize("name", sampled(TAKEN, 2))
def test_a_construct_is_differentiated(name):
    f, args = function_of(name), arguments_of(name)
    value, gradient = generate(f, args)(*copied(args))
    assert value == pytest.approx(f.py_func(*copied(args)), rel=1e-12)
    right = differences(f, args)
    assert np.max(np.abs(right)) > 0.0
    np.testing.assert_allclose(flat(gradient), right, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", sampled(TAKEN, 6))
def test_a_construct_is_differentiated_twice(name):
    f, args = function_of(name), arguments_of(name)
    first, v = generate(f, args), (np.array([0.3, -0.7, 1.1, 0.2, -0.4]), 0.6)
    _, found = generate(f, args, "hvp")(tuple(copied(args)), v)

    def at(h):
        return flat(first(args[0] + h * v[0], args[1] + h * v[1], *copied(args[2:]))[1])

    right = (8.0 * (at(1e-5) - at(-1e-5)) - (at(2e-5) - at(-2e-5))) / 12e-5
    np.testing.assert_allclose(flat(found), right, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", sampled(TAKEN_BY, 3))
def test_what_is_refused_is_named(name):
    with pytest.raises(UnsupportedError, match=r"construct .*: .*[;,]"):
        generate(function_of(name), arguments_of(name))


def test_the_number_of_constructs(report):
    by = Counter(TAKEN_BY.values())
    others = ", ".join(f"{engine} {n} more" for engine, n in by.items())
    report("constructs that Numba compiles", f"{len(BODIES)}; generated {len(TAKEN)}, {others}")
    assert len(BODIES) == 148
    assert len(TAKEN) >= LEAST


@pytest.mark.parametrize("name", sampled(TAKEN, 40, dear={"eigh"}))
def test_it_is_right_once_it_is_compiled(name):
    f, args = function_of(name), arguments_of(name)
    value, gradient = contad.value_and_grad(f, (0, 1), engine="generated")(*copied(args))
    plain = generate(f, args)(*copied(args))
    assert value == pytest.approx(f(*copied(args)), rel=1e-12)
    np.testing.assert_allclose(flat(gradient), flat(plain[1]), rtol=1e-10, atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("name", TAKEN)
def test_products_and_tangents_are_right_once_they_are_compiled(name):
    f, args = function_of(name), arguments_of(name)
    v = (np.array([0.3, -0.7, 1.1, 0.2, -0.4]), 0.6)
    _, expected = generate(f, args, "hvp")(tuple(copied(args)), v)
    found = contad.hvp(f, (0, 1), engine="generated")(*copied(args), v)
    np.testing.assert_allclose(flat(found), flat(expected), rtol=1e-9, atol=1e-11)
    _, slope = generate(f, args, "jvp")(tuple(copied(args)), v)
    assert slope == pytest.approx(flat(generate(f, args)(*copied(args))[1]) @ np.array([*v[0], v[1]]), rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, engine in TAKEN_BY.items() if engine != "nothing"])
def test_what_is_refused_is_taken_by_another_engine(name):
    f, args = function_of(name), arguments_of(name)
    derivative = contad.value_and_grad(f, (0, 1))
    assert contad.engine_name(derivative, args=args) == TAKEN_BY[name]
    _, gradient = derivative(*copied(args))
    np.testing.assert_allclose(flat(gradient), differences(f, args), rtol=1e-6, atol=1e-7)
