"""Every scalar rule inside njit, in every spelling and every mix of active and constant arguments, against `records`."""

import itertools
import math

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.tape.operations import spellings
from contad.rule import rules
from tests.engines.tape.requests import jvp, vjp

SYMBOLS = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "truediv": "{} / {}", "floordiv": "{} // {}",
    "mod": "{} % {}", "pow": "{} ** {}", "neg": "-{}", "abs": "abs({})",
}  # fmt: skip
NOT_IN_NUMBA = {"np.float_power", "math.cbrt", "math.exp2"}  # on plain numbers either


def written(rule):
    """The spellings of a rule as text with a place for each argument."""
    places = ", ".join(["{}"] * rule.arity)
    if rule.operator is not None:
        yield SYMBOLS[rule.operator]
    for spelling in spellings(rule):
        if spelling is rule:
            yield f"rule_{rule.name}({places})"
            continue
        name = f"{'np' if isinstance(spelling, np.ufunc) else spelling.__module__}.{spelling.__name__}"
        if name.startswith(("np.", "math.")) and name not in NOT_IN_NUMBA:
            yield f"{name}({places})"


def cases():
    """(rule, text, activity, arguments): every spelling with all arguments active, and every mix in one of them."""
    for rule in rules():
        point = rule.points[0]
        texts = list(written(rule))
        for text in texts:
            yield rule, text, "v" * rule.arity, point
        for activity in itertools.product("vc", repeat=rule.arity):
            if {*activity} == {"v", "c"}:
                yield rule, texts[-1], "".join(activity), point


CASES = list(cases())


def program():
    """One function with a statement for each case; active arguments come from x, constants from c."""
    names = {"np": np, "math": math, **{f"rule_{rule.name}": rule for rule in rules()}}
    lines, x, c, owners = [], [], [], []
    for k, (_, text, activity, point) in enumerate(CASES):
        places = []
        for kind, number in zip(activity, point, strict=True):
            source = x if kind == "v" else c
            places.append(f"{'x' if kind == 'v' else 'c'}[{len(source)}]")
            source.append(float(number))
            if kind == "v":
                owners.append(k)
        lines.append(f"    out[{k}] = {text.format(*places)}\n")
    exec(f"def every(x, c):\n    out = np.empty({len(CASES)})\n{''.join(lines)}    return out\n", names)
    return njit(names["every"]), np.array(x), np.array(c), np.array(owners)


@pytest.fixture(scope="module")
def every():
    return program()


@pytest.fixture(scope="module")
def expected(every):
    """The values of the cases, and the partials in the order of x, by `records`."""
    values, partials = [], []
    for rule, _, activity, point in CASES:
        active = tuple(k for k, kind in enumerate(activity) if kind == "v")
        value, gradient = contad.value_and_grad(rule, active, engine="records")(*map(float, point))
        values.append(value)
        partials += gradient
    return np.array(values), np.array(partials)


def test_the_cases_cover_every_rule():
    assert {rule.name for rule, *_ in CASES} == {rule.name for rule in rules()}


def test_plain_values(every, expected):
    f, x, c, _ = every
    np.testing.assert_allclose(f(x, c), expected[0], rtol=1e-14)


def test_partials_by_the_tape(every, expected):
    f, x, c, owners = every
    weights = np.cos(np.arange(len(CASES)))
    (gradient,) = vjp(f, (x, c), weights)
    np.testing.assert_allclose(gradient, expected[1] * weights[owners], rtol=1e-13)


def test_tangents_by_duals(every, expected):
    f, x, c, owners = every
    direction = np.sin(np.arange(len(x)) + 1.0)
    value, tangent = jvp(f, (x, c), (direction,))
    np.testing.assert_allclose(value, expected[0], rtol=1e-14)
    np.testing.assert_allclose(tangent, np.bincount(owners, expected[1] * direction), rtol=1e-12, atol=1e-13)
