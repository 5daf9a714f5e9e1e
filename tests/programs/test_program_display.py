"""Recorded programs in a notebook."""

import xml.etree.ElementTree as ET

import numpy as np

import contad
from contad.programs.program_display import count_operations, size_of


def f(x):
    if x[0] > 0.0:
        return np.sum(np.exp(x)) * x[1]
    return x[0] * 3.0


def g(a, b):
    return np.sum(np.linalg.solve(a @ a, b)) + contad.erf(b[0])


X = np.array([1.0, 2.0])


def text_of(program):
    return "".join(ET.fromstring(program._repr_html_()).itertext())


def test_records_guards_and_operations():
    program = contad.record(f, X, retrace=True)
    (trace,) = program.traces
    assert sum(count_operations(trace).values()) == len(trace.code)
    assert count_operations(trace) == {"guard": 1, "exp (array)": 1, "linear (array)": 1, "multiply": 1}
    text = text_of(program)
    assert "contad.record: f" in text and "one way; others are added" in text
    assert "was True when it was recorded" in text and "test_program_display.py:12" in text
    program(-X)
    assert "2 ways" in text_of(program) and "operations of way 2" in text_of(program)
    assert repr(program).startswith("<program of f: ")


def test_arrays_that_are_recorded():
    """Showing one reads nothing that a program would freeze."""
    made = []
    program = contad.record(lambda x: made.append(x._repr_html_()) or np.sum(x * x), X)
    assert "It is being recorded as a program." in made[0] and program(2.0 * X) == 20.0


def test_rules_of_python_and_products():
    program = contad.record(g, np.eye(2) + 0.1, X)
    found = count_operations(program.traces[0])
    assert found["product of matrices"] == 1 and found["solve"] == 1
    assert "Nothing is guarded" in text_of(program) and "solve" in text_of(program)
    trace = program.traces[0]
    assert size_of(trace) == trace.code.nbytes + trace.constants.nbytes + trace.shapes.nbytes
