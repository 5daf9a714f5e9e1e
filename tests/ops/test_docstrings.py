"""The docstring of every rule: its form, and its example executed."""

import doctest
import math

import pytest

import contad.ops
from contad.rule import rule, rules

OWN_RULES = sorted(r.name for r in rules() if r.__module__.startswith("contad.ops."))


class NumberChecker(doctest.OutputChecker):
    """Numbers to rounding, because their last digits differ between releases of SciPy and C libraries."""

    def check_output(self, want, got, optionflags):
        try:
            return math.isclose(float(want), float(got), rel_tol=1e-13)
        except ValueError:
            return super().check_output(want, got, optionflags)


@pytest.mark.parametrize("name", OWN_RULES)
def test_docstring(name):
    at = rule(name)
    text = at.__doc__
    assert text.splitlines()[0].endswith(".")
    formula = " ".join(text.split())
    for argument in at.argument_names:
        assert f"dz/d{argument} = " in formula
    # doctest looks at functions and classes, and a rule is neither
    example = doctest.DocTestParser().get_doctest(text, vars(contad.ops) | {name: at}, name, at.__module__, 0)
    assert example.examples
    report = []
    assert doctest.DocTestRunner(NumberChecker()).run(example, out=report.append).failed == 0, "".join(report)


def test_every_rule_is_exported():
    assert [name for name in OWN_RULES if rule(name).core and name not in contad.ops.__all__] == []
    assert all(hasattr(contad.ops, name) for name in contad.ops.__all__)
