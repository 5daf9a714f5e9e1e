"""The stack as a table."""

import contad
from contad.engines import engine, engine_names
from contad.variables.stack import opened
from contad.variables.stack_table import show_stack


def table(name):
    with opened(engine(name)) as s:
        x, y = contad.var(2.0), contad.var(0.5)
        contad.ops.exp(x * y) - 3.0 / x
        contad.erf(y)
        contad.reverse_pass_callback(lambda adj: None)
        return show_stack(), list(s.rows())


def test_the_table_of_records():
    text, rows = table("records")
    assert text.splitlines()[0].split() == ["index", "operation", "parents", "partials", "value"]
    assert text.splitlines()[3].split() == ["3", "multiply", "1", "2", "0.5", "2", "1"]
    assert text.splitlines()[5].split() == ["5", "divide", "[3]", "1", "-0.75", "1.5"]
    assert text.splitlines()[7].split()[:3] == ["7", "linear", "2"]
    assert [row.index for row in rows] == list(range(1, 9))


def test_engines_show_the_same_recording():
    tables = {name: table(name)[1] for name in engine_names()}
    for a, b in zip(tables["closures"], tables["records"], strict=True):
        # an operation without a compiled partial is a linear record
        assert a == (b._replace(operation=a.operation) if b.operation == "linear" else b)


def test_numbers_of_outer_levels_are_marked():
    x = contad.var(2.0)
    with contad.nested():
        y = contad.var(3.0)
        y * x
        assert show_stack().splitlines()[-1].split() == [
            "2", "multiply", "1", "[2:variable]", "2:variable", "6:variable",
        ]  # fmt: skip
    with contad.recover_memory():
        pass
