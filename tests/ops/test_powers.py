"""Powers by a literal exponent: the value is f's own to the last bit, and the derivative takes no general power."""

import ast
import linecache
import math
from itertools import product

import numba
import numpy as np
import pytest
from mpmath import mp

import contad
from contad.compiled_rules.rule_source import with_shortcuts
from contad.engines import closures, forward
from contad.engines.closures import ClosureStack
from contad.engines.source import source
from contad.numba_functions.request import Request
from contad.ops.powers import COMMON, literal_power
from contad.rules.scalar_rule import ScalarRule
from tests.judges.samples import sampled

EXPONENTS = ("1", "2", "3", "4", "6", "12", "-1", "-3", "-6", "0.5", "-0.5", "1.5", "-1.5", "2.5", "3.0", "6.0", "0.3")


def power(form):
    text = f"def f(x):\n    return {form}\n"
    file = f"<power {form}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names = {"np": np, "math": math}
    exec(compile(text, file, "exec"), names)
    return numba.njit(names["f"])


FORMS = ["x ** {}", "np.power(x, {})", "math.pow(x, {})"]


@pytest.mark.parametrize(
    ("form", "engine"), sampled(product(FORMS, ["generated", "tape"]), 3, family=lambda case: case[1])
)
def test_the_value_is_that_of_the_function(form, engine):
    for exponent in ("3", "4", "6", "-3", "3.0", "0.5"):
        f = power(form.format(exponent))
        grad = contad.value_and_grad(f, engine=engine)
        for x in np.random.default_rng(1).uniform(0.1, 5.0, 40):
            assert grad(x)[0] == f(x)


@pytest.mark.parametrize("form", ["(x ** {})", "np.power(x, {})"])
def test_the_value_of_an_array_is_that_of_the_function(form):
    x = np.random.default_rng(1).uniform(0.1, 5.0, 50)
    for exponent, of_float in (("3", "** 3.0"), ("4", "** 4.0"), ("-3", "** (-3.0)")):
        f = power("np.sum(" + form.format(exponent) + ")")
        text = source(Request(f.py_func, f, (numba.typeof(x),), (0,), False, "value_and_grad"))
        assert (of_float in text) == form.startswith("np")


@pytest.mark.parametrize(
    ("exponent", "engine"),
    sampled(product(EXPONENTS, ["generated", "tape", "records", "matrix", "closures"]), 3, family=lambda case: case[1]),
)
def test_the_derivative(exponent, engine):
    f = power(f"x ** {exponent}")
    grad = contad.grad(f if engine in ("generated", "tape") else f.py_func, engine=engine)
    with mp.workdps(40):
        c = mp.mpf(float(exponent))
        for x in (0.37, 1.0, 2.9, 1e20, 1e-20):
            expected = c * mp.mpf(x) ** (c - 1)
            assert abs(mp.mpf(grad(x)) - expected) <= 4e-16 * (4.0 + abs(float(c))) * abs(expected)


@pytest.mark.parametrize("exponent", ["0.5", "1.5", "2.5", "3", "6", "-0.5"])
def test_at_zero_and_infinity(exponent):
    grad = contad.grad(power(f"x ** {exponent}"), engine="generated")
    expected = contad.grad(lambda x: contad.ops.power(x, float(exponent)))
    assert grad(0.0) == expected(0.0) and grad(math.inf) == expected(math.inf)


@pytest.mark.parametrize("exponent", ["2", "6", "-6", "12", "0.5", "-0.5", "1.5", "3.0"])
def test_no_general_power_in_the_derivative(exponent):
    f = power(f"x ** {exponent}")
    text = source(Request(f.py_func, f, (numba.float64,), (0,), False, "value_and_grad"))
    assert "math.pow" not in text and "log" not in text


def test_shortcuts_are_the_rules():
    """What engines that do not know the exponent evaluate is what is evaluated where it is written."""
    text = ast.unparse(with_shortcuts(ast.Constant(None), "zxy"))
    for c in (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 12.0, 0.5, 1.5, 2.5, -2.0, -0.7):
        z, x = 1.7**c, 1.7
        assert eval(text, {"math": math, "z": z, "x": x, "y": c}) == literal_power(c).partial(0)(z, x)
    assert eval(text, {"math": math, "z": 1.0, "x": 1.0, "y": 0.3}) is None


@pytest.mark.parametrize("exponent", [*COMMON, 9, 64.0, 7.5, -0.5, -1, -2, -1.5, -0.3])
@pytest.mark.parametrize("mode", ["closures", "forward"])
def test_engines_in_python_take_no_general_power_either(exponent, mode):
    """Where the general partial is wrong on purpose, the derivative is right."""
    original = ScalarRule.partial

    def without_the_general_one(self, k):
        return (lambda z, x, y: math.nan) if self is contad.ops.power and k == 0 else original(self, k)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScalarRule, "partial", without_the_general_one)
        engine = closures if mode == "closures" else forward
        _, names = engine._record(contad.ops.power, "vc")
    z = 1.7**exponent
    if mode == "closures":
        partial = ClosureStack.find_captured(names["make_vc"](2, z, 1.7, exponent, 1)).partials[0][1]
    else:
        partial = names["p0"]
    assert partial(z, 1.7, exponent) == pytest.approx(exponent * 1.7 ** (exponent - 1.0), rel=1e-15)
    for other in (2.3, 1.0, 0.0, 65.0, math.inf):
        assert math.isnan(partial(1.7**other, 1.7, other))  # other exponents take it
    assert math.isnan(partial(math.inf, -0.0, -2.5))  # and so do poles
