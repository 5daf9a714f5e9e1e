"""The docstring of every rule: its form, and its example executed."""

import doctest

import pytest

import contad.ops
from contad.rules.scalar_rule import rule, rules
from tests.judges.doctests import NumberChecker

OWN_RULES = sorted(r.name for r in rules() if r.__module__.startswith("contad.ops."))
# derivatives of other rules, without a name of their own
INTERNAL = {
    "erfcx_integral", "expit_slope", "polygamma_difference", "exprel_derivative", "log1prel_derivative",
    "hyp0f1_derivative", "hyp1f1_derivative", "hyp2f1_derivative", "hyperu_derivative", "wright_bessel_derivative",
    "multipolygamma", "zeta_derivative", "gamma_density", "gammainc_derivative", "beta_density", "betainc_derivative",
    "dawsn_derivative", "elliptic_moment", "elliptic_part", "ive_derivative", "jv_derivative", "kve_derivative",
    "yv_derivative",
    # parts of functions of a complex number
    "reciprocal_real", "log_abs", "sqrt_real", "sqrt_imag", "tan_real", "tan_imag", "arcsin_real", "arcsin_imag",
    "arccos_real", "arctan_real", "arctan_imag",
}  # fmt: skip


@pytest.mark.parametrize("name", OWN_RULES)
def test_docstring(name):
    at = rule(name)
    text = at.__doc__ or ""
    first = (text.splitlines() or [""])[0]
    assert first.endswith("."), f"{name}: begin the docstring with one line that ends with a full stop, got {first!r}"
    formula = " ".join(text.split())
    for argument in at.argument_names:
        assert f"dz/d{argument} = " in formula, f"{name}: add the formula `dz/d{argument} = ...` to the docstring"
    # doctest looks at functions and classes, and a rule is neither
    example = doctest.DocTestParser().get_doctest(text, vars(contad.ops) | {name: at}, name, at.__module__, 0)
    assert example.examples, f"{name}: add an example to the docstring: `>>> {name}(...)` and its result"
    report = []
    assert doctest.DocTestRunner(NumberChecker()).run(example, out=report.append).failed == 0, "".join(report)


def not_exported(names, exported):
    missing = [name for name in names if name not in exported and name not in INTERNAL]
    return [f"{name}: import it in contad/ops/__init__.py and add it to __all__" for name in missing]


def test_every_rule_is_exported():
    assert not_exported(OWN_RULES, contad.ops.__all__) == []
    assert set(OWN_RULES).difference(contad.ops.__all__) == INTERNAL
    assert all(hasattr(contad.ops, name) for name in contad.ops.__all__)


def test_a_rule_that_is_not_exported_is_found():
    expected = ["softsign: import it in contad/ops/__init__.py and add it to __all__"]
    assert not_exported(["sin", "softsign"], contad.ops.__all__) == expected
