"""The functions that stand for real code: each is taken by the engine `generated`, and right by differences."""

import numpy as np
import pytest

import contad
from benchmarks.real import gradbench, gradbench_by_hand, waves, waves_by_hand
from benchmarks.real.catalogue import MODULES, OF_STAN, REAL
from benchmarks.topics import real as topic
from tests.engines.source.plain_text import generate

ERROR = 2e-7  # of a central difference with a step of 1e-6


def test_there_are_a_hundred_and_twenty_of_many_fields():
    assert len(REAL) == sum(len(module.PROGRAMS) for module in MODULES) >= 120  # no name twice
    assert len({program.stands_for for program in REAL.values()}) == len(REAL)
    assert sum(len(module.PROGRAMS) for module in OF_STAN) >= 45


@pytest.mark.parametrize("name", REAL)
def test_its_gradient_is_that_of_differences(name):
    """By the generated source, run as Python."""
    program = REAL[name]
    args = program.arguments(program.small)
    run = generate(program.function, args, program.argnums)
    error = topic.find_error(program.function.py_func, run, args, program.argnums)
    assert error < ERROR


@pytest.mark.long
@pytest.mark.parametrize("name", REAL)
def test_its_compiled_gradient_is_that_of_differences(name):
    program = REAL[name]
    args = program.arguments(program.small)
    gradient = contad.value_and_grad(program.function, argnums=program.argnums, engine="generated")
    assert gradient(*args)[0] == pytest.approx(program.function(*args), rel=1e-12)
    assert topic.find_error(program.function, gradient, args, program.argnums) < ERROR


@pytest.mark.parametrize("program", gradbench.PROGRAMS, ids=lambda program: program.name)
def test_a_gradient_of_gradbench_by_hand(program):
    args = program.arguments(program.small)
    by_hand = getattr(gradbench_by_hand, program.name, None)
    if program.name == "hand_tracking":
        assert by_hand is None  # too long
        return
    assert topic.find_error(program.function.py_func, by_hand.py_func, args, program.argnums) < ERROR


def test_a_wrong_gradient_is_noticed():
    program = REAL["hawkes"]
    args = program.arguments(program.small)
    run = generate(program.function, args, program.argnums)

    def wrong(*args):
        value, grads = run(*args)
        return value, (grads[0], 1.0001 * grads[1], *grads[2:])

    assert topic.find_error(program.function.py_func, wrong, args, program.argnums) > ERROR


def test_a_dear_gradient_needs_its_reason():
    row = {"ratio": 5.0}
    (line, count) = topic.remark({topic.TABLE: {"table": {"cox": row}}})
    assert line == "cox, 5.0 of the function: without its reason"
    assert count == "at most 4 of the function: 0 of 1"
    (line, _) = topic.remark({topic.TABLE: {"table": {"matrix_filter": row}}})
    assert topic.MISSING not in line


@pytest.mark.parametrize("program", waves.PROGRAMS, ids=lambda program: program.name)
def test_a_gradient_of_waves_by_hand(program):
    args = program.arguments(program.small)
    by_hand = getattr(waves_by_hand, program.name, None)
    if by_hand is None:
        assert program.name in ("ladder", "smooth_escape")
        return
    value, grads = by_hand(*args)
    right, found = generate(program.function, args, program.argnums)(*args)
    assert value == pytest.approx(right, rel=1e-12)
    for x, y in zip(grads, found, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11 * np.max(np.abs(y)))
