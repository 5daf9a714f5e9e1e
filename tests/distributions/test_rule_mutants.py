"""Every rule of distributions with partials of its own: its derivatives by differences, and mutants of its body."""

import random

import pytest

from contad.testing import expect_ad
from tests.distributions.formula_mutants import RULES
from tests.judges import mutation
from tests.judges.remembered_values import remembered_values
from tests.judges.samples import sampled

# third and fourth derivatives of distributions, whose digits are lost where an argument is tiny or huge, or which are
# no numbers, and a derivative that underflows
BEYOND = {
    ("gamma_hazard", (1.0, 3.1, 900.0)),
    ("gamma_part_ratio", (0.0, 1.0, 4.0, 1e-90)),
    ("cumulant_below", (2.0, -2.6, 1.3, 1.2)), ("power_sum_ratio", (1.0, 3.0, float("inf"), 300.0)),
    ("first_passage_ratio", (2.0, 1.3, 0.6)), ("upper_gamma_growth", (0.6, 70.0)),
    ("upper_gamma_growth", (3.1, 900.0)),
}  # fmt: skip
COMPARISONS = ["is_at_most", "is_equal", "is_less"]
# of counts
CONSTANT = [
    "as_constant", "choices_excess", *COMPARISONS, "log_factorial_excess", "log_few_choices", "log_hypergeometric_ccdf",
    "log_hypergeometric_cdf",
]  # fmt: skip
DEAR = [("log_beta_part", (900.0, 700.0, 0.2)), ("log_beta_part_of_ratio", (3.1, 0.8, 1e-120, 0.7))]  # ten seconds


FREE = {name: [k for k in range(rule.arity) if rule.body.literal(k) != 0.0] for name, rule in RULES.items()}


def judge(rule, point):
    """As a function of the arguments that have derivatives; the others are whole numbers."""
    free = FREE[rule.name]

    def f(*moved):
        given = dict(zip(free, moved, strict=True))
        return rule(*(given.get(k, x) for k, x in enumerate(point)))

    expect_ad(f, *(point[k] for k in free), order=2)


def survivors(found):
    """The names of the mutants of a rule that no point kills. They have its values, which are remembered."""
    with remembered_values():
        return [m.name for m in found if not is_killed(m)]


def is_killed(mutant):
    rule = mutant.rule
    with mutant.planted():
        for point in rule.points:
            if (rule.name, point) not in {*BEYOND, *DEAR}:
                try:
                    judge(rule, point)
                except AssertionError:
                    return True
    return False


def mutants_of(rule):
    """Those of the partials that are there, by arguments that have derivatives, in records that there are."""
    whole = {name for k, name in enumerate(rule.argument_names) if k not in FREE[rule.name]}
    left_out = {f"into {name} in closures" for name in whole}
    if len(FREE[rule.name]) < 2:  # of several operands that are active
        left_out |= {f"into {name} in closures" for name in rule.argument_names} | {"in join records"}
    found = [m for m in mutation.mutants(rule) if not m.same and m.place not in left_out]
    return [m for m in found if not whole & {*m.place.split(" by ")[1:]}]


POINTS = [(rule.name, point) for rule in RULES.values() for point in rule.points if FREE[rule.name]]


def test_every_rule_has_points():
    assert all(rule.points for rule in RULES.values())
    assert sorted(name for name, rule in RULES.items() if not FREE[name]) == CONSTANT
    assert {*BEYOND, *DEAR} < {*POINTS}
    assert {name for name, point in POINTS if (name, point) not in {*BEYOND, *DEAR}} == RULES.keys() - {*CONSTANT}


@pytest.mark.parametrize(
    ("name", "point"),
    sampled([p for p in POINTS if p not in BEYOND], 20, name=str, dear=[str(p) for p in POINTS if "beta" in p[0]]),
)
def test_derivatives(name, point):
    with remembered_values():
        judge(RULES[name], point)


@pytest.mark.parametrize("name", sampled(sorted(RULES.keys() - {*CONSTANT}), 12))
def test_some_mutants_are_killed(name):
    found = mutants_of(RULES[name])
    assert survivors(random.Random(name).sample(found, 2)) == []


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(RULES.keys() - {*CONSTANT}))
def test_every_mutant_is_killed(name):
    assert survivors(mutants_of(RULES[name])) == []
