"""Every scalar rule inside njit, spelled in every way, with every mix of active and constant arguments."""

import itertools
import math

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.tape.operations import spellings
from tests.engines.tape.requests import jvp, vjp
from tests.judges.domains import DEAR, RULES
from tests.judges.samples import choose

SYMBOLS = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "truediv": "{} / {}", "floordiv": "{} // {}",
    "mod": "{} % {}", "pow": "{} ** {}", "neg": "-{}", "abs": "abs({})",
}  # fmt: skip
NOT_IN_NUMBA = {"np.float_power", "math.cbrt", "math.exp2", "math.fmod", "np.ldexp"}  # on plain floats either


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


CHEAP = {name: rule for name, rule in RULES.items() if name not in DEAR}  # the others compile for half a minute each
SOME = [
    rule
    for rule, chosen in zip(CHEAP.values(), choose(CHEAP, [(r.arity, r.core) for r in CHEAP.values()], 16), strict=True)
    if chosen
]


def cases(turn=None, mixes=True):
    """(rule, text, activity, arguments): all arguments active, and every mix of active and constant ones.

    Every spelling of each rule, or of some rules one of them by turns.
    """
    for rule in RULES.values() if turn is None else SOME:
        point = rule.points[0]
        texts = list(written(rule))
        for text in texts if turn is None else [texts[turn % len(texts)]]:
            yield rule, text, "v" * rule.arity, point
        for activity in itertools.product("vc", repeat=rule.arity):
            if mixes and {*activity} == {"v", "c"}:
                yield rule, texts[0], "".join(activity), point


def program(chosen):
    """One function with a statement for each case: active arguments come from x, constants from c.

    And x, c, the case that each element of x belongs to, the values of the cases and the partials in the order of x.
    """
    names = {"np": np, "math": math, **{f"rule_{rule.name}": rule for rule in RULES.values()}}
    lines, x, c, owners, values, partials = [], [], [], [], [], []
    for k, (rule, text, activity, point) in enumerate(chosen):
        places = []
        for kind, number in zip(activity, point, strict=True):
            source = x if kind == "v" else c
            places.append(f"{'x' if kind == 'v' else 'c'}[{len(source)}]")
            source.append(float(number))
        active = tuple(n for n, kind in enumerate(activity) if kind == "v")
        owners += [k] * len(active)
        lines.append(f"    out[{k}] = {text.format(*places)}\n")
        value, gradient = contad.value_and_grad(rule, active, engine="records")(*map(float, point))
        values.append(value)
        partials += gradient
    exec(f"def every(x, c):\n    out = np.empty({len(lines)})\n{''.join(lines)}    return out\n", names)
    return njit(names["every"]), *map(np.array, (x, c, owners, values, partials))


def check_plain(f, x, c, owners, values, partials):
    np.testing.assert_allclose(f(x, c), values, rtol=1e-14)


def check_tape(f, x, c, owners, values, partials):
    weights = np.cos(np.arange(len(values)))
    (gradient,) = vjp(f, (x, c), weights)
    np.testing.assert_allclose(gradient, partials * weights[owners], rtol=1e-13)


def check_duals(f, x, c, owners, values, partials):
    direction = np.sin(np.arange(len(x)) + 1.0)
    value, tangent = jvp(f, (x, c), (direction,))
    np.testing.assert_allclose(value, values, rtol=1e-14)
    np.testing.assert_allclose(tangent, np.bincount(owners, partials * direction), rtol=1e-12, atol=1e-13)


def test_values_of_some_rules():
    check_plain(*program(list(cases(-1, mixes=False))))  # the last spelling is the rule itself


def test_partials_of_some_rules():
    check_tape(*program(list(cases(0))))


def test_tangents_of_some_rules():
    check_duals(*program(list(cases(1, mixes=False))))


@pytest.mark.long
@pytest.mark.parametrize("check", [check_plain, check_tape, check_duals])
def test_every_spelling(check):
    check(*program(list(cases())))
