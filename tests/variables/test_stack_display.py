"""The stack in a notebook."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import contad
from contad.engines import engine, engine_names
from contad.engines.stream.storage import FORMS
from contad.variables.stack import Footprint, Row, opened
from contad.variables.stack_table import StackTable, show_stack

SVG = "{http://www.w3.org/2000/svg}"
X, Y = 2.0, 0.5


def scalars(x, y):
    return contad.ops.exp(x * y) - 3.0 / x + contad.erf(y) * x


def arrays(a, b):
    c = a @ b
    u = contad.zeros(3)
    for k in (2, 0, 1):
        u[k] = c[k] * b[0]
    return np.sum(np.linalg.solve(a, u)) + np.sum(np.exp(c) * np.arange(3.0)) + contad.erf(b[1])


A, B = np.eye(3) * 2.0 + 1.0, np.array([0.1, 0.2, 0.3])


def table_of_arrays():
    """The table, and what the stack takes by the ends of its buffers; row and cell 0 are nobody's."""
    with opened(engine()) as s:
        a, b = s.array_variable(A), s.array_variable(B)
        s.gradient(arrays(a, b), [a, b])
        saved = sum(c.saved_bytes() for c in s.callbacks if hasattr(c, "saved_bytes"))
        beside = s.buffers.constants_top - 2 + s.buffers.shapes_top - len(FORMS)
        return show_stack(), 24 * (s.rows_packed - 1) + 16 * (s.top - 1) + 8 * beside + saved


@pytest.mark.parametrize("name", engine_names())
def test_adjoints_are_the_gradient(name):
    with opened(engine(name)):
        x, y = contad.var(X), contad.var(Y)
        assert show_stack().adjoints == []
        contad.gradient(scalars(x, y), [x, y])
        table = show_stack()
    assert table.adjoints[:2] == list(contad.grad(scalars, (0, 1), engine=name)(X, Y))
    assert len(table.adjoints) == len(table.rows) == len(table.footprints)
    cells = [[node.text for node in row] for row in ET.fromstring(table._repr_html_()).iter("tr")]
    assert cells[0][-2:] == ["adjoint", "bytes"]
    assert [row[5] for row in cells[1:3]] == [f"{g:.6g}" for g in table.adjoints[:2]]


def test_adjoints_of_arrays_are_the_gradient():
    table, _ = table_of_arrays()
    a_bar, b_bar = contad.grad(arrays, (0, 1))(A, B)
    np.testing.assert_array_equal(table.adjoints[0], a_bar.reshape(-1))
    np.testing.assert_array_equal(table.adjoints[1], b_bar)


def test_bytes_add_up_to_those_of_the_stack():
    table, total = table_of_arrays()
    assert table.bytes == total and table.shared_bytes > 0 and table.footprints[0] == Footprint(9, 24 + 16 * 9)
    assert [f.sources for f, row in zip(table.footprints, table.rows, strict=True) if row.operation == "gather"]


def test_values_that_rules_save_are_counted():
    n = 30
    with opened(engine()) as s:
        a = s.array_variable(np.eye(n) + 0.01)
        np.linalg.solve(a, np.ones(n))
        table = show_stack(s)
    assert table.footprints[-1].bytes >= 24 + 16 * n + 8 * n * n  # the factors


def test_text_is_as_ever():
    with contad.nested():
        x = contad.var(3.0)
        x * x + 1.0
        table = show_stack()
    assert isinstance(table, str) and repr(table) == str(table) == f"{table}"
    assert table.splitlines()[-1].split() == ["3", "add", "2", "[1]", "1", "10"]
    assert "No adjoints" in table._repr_html_()


def drawn(table):
    tree = ET.fromstring(table._repr_html_())
    groups = list(tree.iter(SVG + "g"))
    boxes = [g for g in groups if g.find(SVG + "rect") is not None]
    arrows = [g.find(SVG + "title").text for g in groups if g.find(SVG + "path") is not None]
    return boxes, arrows


def test_the_graph_has_what_was_computed_from_what():
    with contad.nested():
        x, y = contad.var(3.0), contad.var(2.0)
        x * x * y
        boxes, arrows = drawn(show_stack())
    assert len(boxes) == 4
    assert arrows == [
        "1 input \u2192 3 multiply: partial 3",  # both partials of x * x, once
        "3 multiply \u2192 4 multiply: partial 2",
        "2 input \u2192 4 multiply: partial 9",
    ]


def test_arrows_lead_from_elements_and_gathered_cells():
    table, _ = table_of_arrays()
    boxes, arrows = drawn(table)
    # the second partial of an operation whose partials are stored is no box, nor is there an arrow from nowhere
    assert len(boxes) == sum(f.cells > 0 for f in table.footprints)
    gather = next(row.index for row in table.rows if row.operation == "gather")
    matmul = next(row.index for row in table.rows if row.operation == "matmul")
    assert sum(f"\u2192 {gather} gather" in arrow for arrow in arrows) == 3
    assert any(f"{matmul} matmul (cell {matmul + 1}) \u2192" in arrow for arrow in arrows)


def test_long_stacks_are_not_drawn_and_cut():
    with contad.nested():
        x = contad.var(1.0)
        for _ in range(300):
            x = x * 1.5
        made = show_stack()._repr_html_()
    assert "<svg" not in made and "The first 200 of 301 records" in made
    assert len(list(ET.fromstring(made).iter("tr"))) == 1 + 200 + 3  # with memory by operation


def test_operations_are_escaped():
    table = StackTable("text")
    table.rows = [Row(1, "<b>&", (), (), 2.0)]
    table.footprints, table.adjoints, table.shared_bytes, table.engine = [Footprint(1, 40)], [], 0, "<i>"
    tree = ET.fromstring(table._repr_html_())
    assert tree.findall(".//i") == [] and "<b>&" in "".join(tree.itertext())


def test_numbers_of_outer_levels_are_shown():
    def outer(t):
        with contad.nested() as s:
            x = contad.var(2.0)
            y = x * t
            s.gradient(y, [x])
            found.append(show_stack())
        return t * t

    found = []
    contad.grad(outer)(3.0)
    assert "6:variable" in found[0]._repr_html_() and "adj 3:variable" in found[0]._repr_html_()
    ET.fromstring(found[0]._repr_html_())
