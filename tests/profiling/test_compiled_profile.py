"""What is told of compiled gradients."""

import math
import xml.etree.ElementTree as ET

import numba
import numpy as np

import contad
from contad.profiling.compiled_profile import CompiledProfile


@numba.njit
def walk(x, a, n):
    s = 0.0
    for _ in range(n):
        x = math.sin(x) * a
        for j in range(3):
            s += x * math.exp(-a * j * x)
    return s


@numba.njit
def double_in_place(x):
    x[0] = 2.0 * x[0]
    return x[0] * x[1]


@numba.njit
def square(x):
    return x * x


ARGUMENTS = 0.5, 1.5, 2000


def test_wholes_are_timed_and_stored_numbers_are_of_their_lines():
    found = contad.profile(walk, (0, 1))(*ARGUMENTS)
    assert isinstance(found, CompiledProfile) and found.engine == "generated"
    assert (found.value, found.gradient) == contad.value_and_grad(walk, (0, 1))(*ARGUMENTS)
    assert 0.0 < found.forward < found.seconds and found.reverse == found.seconds - found.forward
    told = contad.explain(contad.value_and_grad(walk, (0, 1)), *ARGUMENTS)
    for at in {loop.line for loop in told.loops}:  # of which some are written twice: before the outer one, and in it
        stored = sum(loop.bytes for loop in told.loops if loop.line == at)
        assert sum(line.bytes for line in found.lines if line.loop == at) == stored > 0
    first = walk.py_func.__code__.co_firstlineno
    assert {line.loop - first for line in found.lines} == {3, 5}
    made = {line.line - first: line.source.strip() for line in found.lines}
    assert made[6] == "s += x * math.exp(-a * j * x)" and set(made) <= {3, 4, 6}
    assert all(line.file == __file__ for line in found.lines)


def test_unmeasured_memory_is_not_shown():
    found = contad.profile(walk, (0, 1))(*ARGUMENTS)
    assert not any("second" in name or "forward" in name for name in found.lines[0]._fields)
    text = str(found)
    assert "no times by line" in text and "of the loop in line" in text and repr(found) == text
    tree = ET.fromstring(found._repr_html_())
    assert "no times by line" in "".join(tree.itertext())


def test_the_tape_tells_of_wholes():
    found = contad.profile(square, engine="tape")(3.0)
    assert found.engine == "tape" and found.lines == [] and found.memory > 0
    assert "32 bytes for each operation" in str(found) and (found.value, found.gradient) == (9.0, 6.0)


def test_arguments_are_left_as_they_are():
    x = np.array([3.0, 4.0])
    found = contad.profile(double_in_place)(x)
    assert x.tolist() == [3.0, 4.0] and found.value == 24.0 and found.gradient.tolist() == [8.0, 6.0]


def test_an_eager_engine_profiles_the_python_copy():
    found = contad.profile(walk, (0, 1), engine="matrix")(0.5, 1.5, 5)
    first = walk.py_func.__code__.co_firstlineno
    records = {line.line - first: line.records for line in found.lines if line.function == "walk"}
    # sin and product; -a * j * x (a zero in the first of three), exp, product, sum
    assert records[4] == 2 * 5 and records[6] == 5 * 3 * 6
    np.testing.assert_allclose(found.gradient, contad.grad(walk, (0, 1))(0.5, 1.5, 5), rtol=1e-12)
