"""What `contad.explain` returns: text, and a table of loops in a notebook."""

import xml.etree.ElementTree as ET

import numba
import numpy as np

import contad
from contad.front.explanation import Explanation
from tests.front import kernels
from tests.front.kernels import recurrence


def test_text_is_text():
    told = contad.explain(lambda x: x * x, 2.0)
    assert isinstance(told, str) and told.splitlines()[0] == "grad: <lambda>: engine matrix, on variables"
    assert repr(told) == told
    assert (told.engine, told.refusals, tuple(told.loops)) == ("matrix", (), ())
    assert "<lambda>" in "".join(ET.fromstring(told._repr_html_()).itertext())


def test_transforms_of_plain_functions_are_told_by_their_names():
    def f(x):
        return np.sum(x * x)

    x = np.ones(2)
    for transform in (contad.hessian, contad.jacobian, contad.jacrev, contad.hvp, contad.laplacian, contad.grad):
        told = contad.explain(transform(f), x).splitlines()
        assert told[0] == f"{transform.__name__}: f: engine matrix, on variables"
    assert contad.explain(contad.hessian(f, engine="records"), x) == "hessian: f: engine records, on variables"
    assert contad.explain(contad.jacfwd(f), x) == "jacfwd: f: engine forward, on duals"
    assert contad.explain(contad.jvp, f, (x,), (x,)) == "jvp: f: engine forward, on duals"


def test_loops_are_a_table():
    told = contad.explain(contad.grad(recurrence, (0, 1)), 0.5, 1.5, 3)
    (loop,) = told.loops
    first = recurrence.py_func.__code__.co_firstlineno
    assert (loop.file, loop.line, loop.depth, loop.is_fused) == (kernels.__file__, first + 3, 0, False)
    assert loop.bytes == 8 * len(loop.stored) > 0
    assert f"({loop.bytes} bytes) in each iteration: {', '.join(x.shown for x in loop.stored)}" in told
    tree = ET.fromstring(told._repr_html_())
    cells = [node.text for node in tree.iter("td")]
    assert cells[:2] == [str(loop.line), "    for _ in range(n):"] and str(loop.bytes) in cells
    assert told.engine == "generated"


def test_refusals_are_told_and_escaped():
    told = Explanation.of("head <b>\nrest & more", "tape", [("generated", "a <dict> & a list")])
    tree = ET.fromstring(told._repr_html_())
    text = "".join(tree.itertext())
    assert "generated refuses: a <dict> & a list" in text and "head <b>" in text and "rest & more" in text


def test_engines_that_refuse_are_named():
    """Not more than the text says: what an engine refuses stands in both."""

    @numba.njit
    def f(x):
        d = {1: x}
        d[2] = x
        del d[1]
        return d[2] * x

    told = contad.explain(f, 2.0)
    assert [name for name, _ in told.refusals][:1] == ["generated"] and told.engine != "generated"
    assert all(why in told for _, why in told.refusals)
