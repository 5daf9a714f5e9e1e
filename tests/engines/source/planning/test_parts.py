"""Long programs in parts: compile time grows linearly, every case agrees, and what writes arrays stays in its place."""

import functools
import math
import re

import numba
import numpy as np
import pytest

import contad
from benchmarks.topics import compile_time as benchmark
from contad.engines.source.build import derivative_of
from contad.engines.source.description import explain
from contad.engines.source.ir.ssa import FLOAT
from contad.engines.source.planning.parts import divide
from contad.engines.source.reading import frontend
from contad.engines.source.reading.frontend import read
from contad.engines.source.writing.called_reverse import find_used
from contad.errors import UnsupportedError
from tests.engines.source.agreement import request
from tests.judges.planted import known
from tests.random_programs import generated_programs
from tests.random_programs.generated_grammar import Maker

POINT = benchmark.POINT


def longest(text):
    """The lines of the longest function of a source."""
    return max(part.count("\n") for part in text.split("\ndef "))


@pytest.mark.parametrize("name", ["branching", "branching_in_a_loop", "ladder"])
def test_functions_have_a_bounded_length_and_there_are_linearly_many(name):
    write = getattr(benchmark, f"write_{name}")
    sizes = 60, 120
    texts = [contad.source(benchmark.compile_text(write(n), f"parts {n}"), *POINT) for n in sizes]
    lengths = [text.count("\n") for text in texts]
    assert lengths[1] < 2.2 * lengths[0]
    assert max(map(longest, texts)) < 250


def test_straight_code_and_short_programs_stay_whole():
    for text in (benchmark.write_straight(benchmark.STATEMENTS[0], 200), benchmark.write_branching(20)):
        assert contad.source(benchmark.compile_text(text, "whole"), *POINT).count("def ") == 1


@numba.njit
def mixed(v, m, x):
    """Loops, branches, rows, early ends, and writes between them that a part must not take along."""
    total = 0.0
    w = np.zeros(len(v))
    for k in range(len(v)):
        row = m[k]
        a = v[k] * x
        if a > 0.5:
            a = math.sin(a) * row[0] + a
            w[k] = a * a
        elif a < -0.5:
            a = math.exp(a) / (1.0 + row[1] * row[1])
        else:
            w[k] += a * row[1]
        j = 0
        while j < 3:
            a = a * 0.9 + row[j % 2] * x
            if a > 4.0:
                break
            j += 1
        total += a * w[k] + w[0]
        v[k] = a
    if total > 100.0:
        raise ValueError("large")
    return total + v[0] * v[1]


@pytest.mark.parametrize("most", [2, 5, 12])
def test_parts_agree_with_the_whole(most, monkeypatch):
    rng = np.random.default_rng(0)
    args = rng.normal(size=5), rng.normal(size=(5, 2)), 0.7
    expected_value, expected = contad.value_and_grad(mixed, (0, 1, 2), engine="records")(*args)
    monkeypatch.setattr(frontend, "divide", functools.partial(divide, long=0, most=most, least=1))
    derivative = derivative_of(request(mixed, *args, argnums=(0, 1, 2)))
    names = {}
    exec(derivative.source(), names)
    assert len(find_used(derivative)) > 3
    names.update(workspace=lambda: (np.full(3, np.nan), 0), grow=generated_programs.grown)
    value, gradient = names["run"](*args)
    assert value == pytest.approx(expected_value, rel=1e-14)
    for got, want in zip(gradient, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_explain_tells_of_parts_in_one_line(monkeypatch):
    monkeypatch.setattr(frontend, "divide", functools.partial(divide, long=0, most=5, least=1))
    told = explain(request(mixed, np.ones(3), np.ones((3, 2)), 0.7))
    assert len(re.findall("mixed is long: [0-9]+ parts of it are functions of their own", told)) == 1
    assert "_part" not in told


def test_bodies_that_are_written_again_count_once():
    """Nested loops around a loop over a tuple: 8,000 operations were refused of which a tenth are the program's."""
    maker = Maker(71112)
    text = maker.source(maker.program())
    with known(generated_programs.softened):
        f = generated_programs.namespace(text, 71112)["f"]
        read(f, generated_programs.KINDS)


def test_programs_that_are_too_long_are_still_refused(monkeypatch):
    monkeypatch.setattr(frontend, "MOST", 300)
    f = benchmark.compile_text(benchmark.write_branching(100), "too long")
    with pytest.raises(UnsupportedError, match="more than 300 operations"):
        read(f.py_func, (FLOAT, FLOAT))


@pytest.mark.parametrize("engine", ["matrix"])
def test_expressions_nested_too_deeply_are_refused_by_name(engine):
    f = benchmark.compile_text(benchmark.write_ladder(500), "deep")
    with pytest.raises(UnsupportedError, match="nested too deeply"):
        contad.grad(f, engine=engine)(*POINT)
