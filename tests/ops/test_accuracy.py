"""Every rule's value and partials against mpmath, and wrong bodies that must be noticed.

The references stand in `reference_<subject>.py`, as tables by rule name: REFERENCE (the mpmath function), and where
needed DOMAIN (a predicate: where to look), EXTRA (a generator of more points), COUNT (half the number of generic
points), VALUES and EXCEPTIONS (ulps allowed instead of the usual constants, to values and to partials).
"""

import itertools
import math

import numpy as np
import pytest
from mpmath import mp, mpf

from contad import ops
from contad.rules.body import RuleBody
from contad.rules.scalar_rule import ScalarRule, rule, rules
from tests.judges.accuracy import Report, UnresolvedError, condition, error_in_ulps, measure, points, slope
from tests.judges.planted import body_of
from tests.judges.samples import sampled
from tests.ops.references import COUNT, DOMAIN, EXCEPTIONS, EXTRA, REFERENCE, VALUES

OWN_RULES = sorted(r.name for r in rules() if r.__module__.startswith("contad.ops."))


def report_on(measured, reference=None) -> Report:
    """The accuracy of a rule at its generic and its extra points."""
    name = measured.name
    # a reference for special functions may take milliseconds, so these get fewer points
    generic = points(measured.arity, COUNT.get(name, 200 if measured.core else 40))
    inside = DOMAIN.get(name, lambda *args: True)
    return measure(
        measured,
        reference or REFERENCE[name],
        filter(lambda point: inside(*point), itertools.chain(generic, EXTRA.get(name, tuple)(), measured.points)),
        value_ulps=VALUES.get(name, 4.0 if measured.core else 100.0),
        partial_ulps=EXCEPTIONS.get(name, 8.0),
    )


# ---- the rules -------------------------------------------------------------------------------------------------------
def without_reference(found, references):
    """The rules that no reference is for, and what to do about each."""
    return [
        f"{r.name}: add an mpmath reference to tests/ops/reference_{'core' if r.core else 'special'}.py"
        for r in found
        if r.name not in references
    ]


def test_every_rule_has_a_reference():
    assert without_reference(map(rule, OWN_RULES), REFERENCE) == []


def test_a_rule_without_reference_is_found():
    others = REFERENCE.keys() - {"digamma", "tanh"}
    assert without_reference(map(rule, ("digamma", "sin", "tanh")), others) == [
        "digamma: add an mpmath reference to tests/ops/reference_special.py",
        "tanh: add an mpmath reference to tests/ops/reference_core.py",
    ]


def test_few_rules_miss_the_bound():
    assert len(EXCEPTIONS) <= 0.1 * len(OWN_RULES)


# half a minute each, for they have no derivatives in mpmath but differences of series, or a quadrature
DEAR_IN_MPMATH = ("elliptic_part", *(n for n in REFERENCE if n.startswith(("hyp", "wright_")) and n != "hypot"))


@pytest.mark.parametrize("name", [
    *sampled([n for n in REFERENCE if n not in DEAR_IN_MPMATH], 6, family=lambda name: rule(name).core),
    *(pytest.param(n, marks=pytest.mark.long) for n in DEAR_IN_MPMATH),
])  # fmt: skip
def test_accuracy(name):
    report = report_on(rule(name))
    assert report.ratio <= 1.0, str(report)
    assert all(w.measured >= 30 for w in (report.value, *report.partials)), f"too few points:\n{report}"


# ---- wrong bodies are noticed ----------------------------------------------------------------------------------------
def planted(name, value, body):
    """A rule outside the registry, with the name of the one that it gets wrong."""
    value.__name__ = name
    wrong = ScalarRule(value, None, None, True, ())
    wrong.body = RuleBody(body_of(body), wrong.arity)
    return wrong


@pytest.mark.parametrize(("name", "value", "body", "wrong_partials"), [
    ("tanh", lambda x: math.tanh(x), "z, x: 1.0 - z * z", [0]),
    ("arctan", lambda x: math.atan(x), "z, x: ops.cos(z) * ops.cos(z)", [0]),
    ("expm1", lambda x: math.expm1(x) if x < 709.78 else math.inf, "z, x: z + 1.0", [0]),
    ("arcsinh", lambda x: math.asinh(x), "z, x: 1.0 / ops.sqrt(1.0 + x * x)", [0]),
    ("hypot", lambda x, y: math.hypot(x, y),
     "z, x, y: (x / ops.sqrt(x * x + y * y), y / ops.sqrt(x * x + y * y))", [0, 1]),
    ("hypot", lambda x, y: math.hypot(x, y), "z, x, y: (x / z, y / z)", [0, 1]),
    ("divide", lambda x, y: np.float64(x) / np.float64(y), "z, x, y: (1.0 / y, z / y)", [1]),
    ("logaddexp", lambda x, y: max(x, y) + math.log1p(math.exp(-abs(x - y))),
     "z, x, y: (ops.exp(x) / (ops.exp(x) + ops.exp(y)), ops.exp(y) / (ops.exp(x) + ops.exp(y)))", [0, 1]),
    ("power", lambda x, y: ops.power(x, y), "z, x, y: (y * ops.power(x, y - 1.0), z * ops.log(x))", [0, 1]),
])  # fmt: skip
def test_wrong_body_is_noticed(name, value, body, wrong_partials):
    report = report_on(planted(name, value, body))
    assert report.value.ratio <= 1.0
    assert [k for k, w in enumerate(report.partials) if w.ratio > 1.0] == wrong_partials


def test_wrong_value_is_noticed():
    value = lambda x: math.log(1.0 + x) if x > -1.0 else math.nan
    report = report_on(planted("log1p", value, "z, x: 1.0 / (1.0 + x)"))
    assert report.value.ratio > 1.0 >= report.partials[0].ratio


# ---- the reference's derivatives -------------------------------------------------------------------------------------
@pytest.mark.parametrize(("reference", "derivative", "x"), [
    (mp.sin, mp.cos, 1e300), (mp.exp, mp.exp, -1e-300), (mp.exp, mp.exp, -700.0), (mp.log, lambda x: 1 / x, 1e-310),
    (mp.log, lambda x: 1 / x, 1e308), (mp.log1p, lambda x: 1 / (1 + x), -1 + 2.0**-53),
    (mp.tanh, lambda x: mp.sech(x) ** 2, 300.0), (mp.asin, lambda x: 1 / mp.sqrt((1 - x) * (1 + x)), 1 - 2.0**-53),
    (mp.cos, lambda x: -mp.sin(x), 0.0), (mp.cos, lambda x: -mp.sin(x), 1e-300),
    (lambda x: mp.power(x, mpf(1e300)), lambda x: mpf(1e300), 1.0), (mp.floor, lambda x: 0, 1.5),
])  # fmt: skip
def test_slope_of_the_reference(reference, derivative, x):
    found = slope(reference, (x,), 0)
    with mp.workdps(found.digits):
        exact = derivative(mpf(x))
        assert abs(found.first - exact) <= mpf("1e-18") * abs(exact)


@pytest.mark.parametrize(("reference", "x"), [
    (abs, 0.0), (mp.sign, 0.0), (mp.floor, 3.0), (mp.floor, 1e300), (mp.sqrt, 0.0), (mp.sqrt, -1.0),
    (lambda x: mp.sign(x) * mp.cbrt(abs(x)), 0.0), (lambda x: max(x, 1), 1.0), (lambda x: 1 / x, 0.0),
    (mp.exp, 1e300),
])  # fmt: skip
def test_no_slope_at_kinks_jumps_and_edges(reference, x):
    with pytest.raises(UnresolvedError):
        slope(reference, (x,), 0)


def test_condition_number():
    product = lambda x, y: mp.exp(x) * mp.sin(y)
    at = (1.7, -0.4)
    slopes = {k: slope(product, at, k) for k in (0, 1)}
    assert condition(product, at, 0, slopes) == pytest.approx(1.7 + 0.4 / math.tan(0.4))
    assert condition(product, at, 1, slopes) == pytest.approx(1.7 + 0.4 * math.tan(0.4))


def test_errors_in_ulps():
    third = mpf(1) / 3
    assert error_in_ulps(1 / 3, third) < 0.5
    assert error_in_ulps(1 / 3 + 2.0**-52, third) == pytest.approx(4.0, abs=0.5)
    assert error_in_ulps(math.nan, third) == error_in_ulps(math.inf, third) == math.inf
    assert error_in_ulps(math.inf, mpf("1e400")) == 0.0 and error_in_ulps(-math.inf, mpf("1e400")) == math.inf
    assert error_in_ulps(0.0, mpf("1e-330")) < 1e-5 and error_in_ulps(1e-310, mpf(0), 4 * 2.3e-308) == 0.0
