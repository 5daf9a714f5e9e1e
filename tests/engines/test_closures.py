"""The engine of closures: a continuation is a plain nested function, and nothing beside it is made."""

import gc

import numpy as np
import pytest

import contad
from contad.engines import closures
from contad.rules.scalar_rule import rule

STEPS = 200
# a function, the tuple of its cells, and a cell for the index, the value, each operand and each index of an operand
OPERATIONS = {
    "x * a": (lambda x, a: x * a, 8),
    "x * 0.5": (lambda x, a: x * 0.5, 7),
    "0.5 - x": (lambda x, a: 0.5 - x, 7),
    "sin(x)": (lambda x, a: contad.ops.sin(x), 6),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_objects_of_a_continuation(name):
    """The collector visits them all, again and again: each one more is felt."""
    operation, objects = OPERATIONS[name]
    with contad.nested("closures"):
        x, a = contad.var(0.7), contad.var(1.3)
        operation(x, a)  # implements it
        gc.collect()
        gc.disable()
        try:
            before = len(gc.get_objects())
            for _ in range(STEPS):
                operation(x, a)
            made = len(gc.get_objects()) - before
        finally:
            gc.enable()
    assert made == pytest.approx(objects * STEPS, abs=20)


def test_captured_values_are_those_of_the_table():
    def program(x, a):
        return rule("polygamma_difference")(1.0, x, a) - x / 4.0 + 1.0 / a + x * a

    with contad.nested("closures") as stack:
        x, a = contad.var(0.7), contad.var(1.3)
        contad.gradient(program(x, a), [x, a])
        rows = list(stack.rows())
        names = [row.operation for row in rows]
        captured = [closures.ClosureStack.find_captured(chain) for chain in stack.chain]
    assert names[:2] == ["input", "input"]
    for row, (value, values, partials) in zip(rows, captured, strict=True):
        assert row.value == value and len(row.parents) == len(values) and len(row.partials) == len(partials)
    np.testing.assert_allclose(rows[names.index("divide")].partials, [0.25])
