"""Arrays of variables and duals in a notebook."""

import xml.etree.ElementTree as ET

import numpy as np

import contad
from contad.engines import engine
from contad.variables.stack import opened

X = np.array([0.5, 1.5, 2.5])


def blocks(x):
    return [node.text for node in ET.fromstring(x._repr_html_()).iter("pre")]


def test_values_cells_and_adjoints():
    with opened(engine()) as s:
        x = s.array_variable(X)
        assert blocks(x) == ["[0.5 1.5 2.5]", "[1 2 3]"]
        s.gradient(np.sum(x * x), [x])
        assert blocks(x) == ["[0.5 1.5 2.5]", "[1 2 3]", "[1. 3. 5.]"]
        records = len(list(s.rows()))
        part = x[1:]
        part[0] = 7.0
        assert blocks(x)[0] == "[0.5 7.  2.5]" and blocks(x)[2] == "[1. 0. 5.]" and len(list(s.rows())) == records
    made = x._repr_html_()
    assert "Stale: its gradient call has ended." in made and "<pre" not in made


def test_in_a_callback():
    def f(x):
        contad.reverse_pass_callback(lambda adj: seen.append(blocks(x)))
        return np.sum(x)

    seen = []
    contad.grad(f)(X)
    assert seen == [["[0.5 1.5 2.5]", "[1 2 3]"]]


def test_duals():
    contad.jvp(lambda x: seen.append(blocks(x * x)) or np.sum(x), (X,), (np.ones(3),))
    assert seen == [["[0.25 2.25 6.25]", "[1. 3. 5.]"]]


seen = []


def test_numbers_of_outer_levels():
    def inner(x, t):
        found.append(blocks(x * t))
        return np.sum(x * t)

    found = []
    contad.grad(lambda t: np.sum(contad.grad(inner)(X, t)))(2.0)
    assert found[0][0] == "[1. 3. 5.]"
