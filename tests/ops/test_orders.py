"""Every rule at orders 1 to 3 on numbers and 1 to 2 on arrays, in reverse, forward and mixed modes. No exceptions.

Each order is checked against differences of the one below, in every nesting of the modes, and the modes against each
other; so the table of functions may say that each rule has derivatives of every order.
"""

import itertools

import numpy as np
import pytest

from contad import table
from contad.engines import engine_names
from contad.rules.scalar_rule import rules
from contad.testing import array_legs, legs
from contad.testing.specimen import FORWARD, TOLERANCES, Specimen
from tests.judges.array_derivatives import split
from tests.judges.domains import DEAR
from tests.judges.own_rules import own_array_rules
from tests.judges.planted import registered
from tests.judges.samples import sampled

RULES = [rule for rule in rules() if rule.__module__.startswith("contad.ops.")]
ARRAY_RULES = own_array_rules()
MODES = [("matrix", FORWARD), ("closures", "records")]
GRID = np.array([[0.0, 0.013], [-0.017, 0.008]])  # small, so that arrays stay in the domain around a point


def name_of_case(case):
    """The name of a rule and of the modes that are nested."""
    rule, ways = case
    return "-".join([rule.name, *ways])


def check(rule, point, ways, order):
    """The report of all nestings of the ways up to an order."""
    specimen = Specimen(rule, tuple(point), False, TOLERANCES)
    legs.check_derivatives(specimen, ways, order)
    return specimen.report.passed


def cases_of(dear):
    return itertools.product([rule for rule in RULES if (rule.name in DEAR) == dear], MODES)


@pytest.mark.parametrize(
    ("rule", "ways"),
    [*sampled(cases_of(False), 3, name=name_of_case), *sampled(cases_of(True), 20, name=name_of_case)],
)
def test_numbers_to_third_order(rule, ways):
    for point in rule.points if FORWARD in ways else rule.points[:1]:
        passed = check(rule, point, ways, 3)
        assert passed["order 3"] > 0


@pytest.mark.parametrize("rule", sampled(RULES, 4, family=lambda rule: rule.arity, name=lambda rule: rule.name))
def test_scalar_rules_on_arrays_to_second_order(rule):
    """Broadcast: the first argument an array, the others in turn a row and a number."""
    point = rule.points[0]
    args = [point[0] + GRID] + [y + GRID[0] if k % 2 == 0 else y for k, y in enumerate(point[1:])]
    specimen = Specimen(rule, tuple(args), False, TOLERANCES)
    array_legs.check_derivatives(specimen, ("matrix", FORWARD), 2)
    assert specimen.report.passed["hessian"] > 0


@pytest.mark.parametrize("rule", sampled(ARRAY_RULES, 2, name=lambda rule: rule.name))
def test_array_rules_to_second_order(rule):
    for point in rule.points:
        args, options = split(point)
        specimen = Specimen(lambda *a, o=options: rule(*a, **o), tuple(args), False, TOLERANCES)
        array_legs.check_derivatives(specimen, ("matrix", FORWARD), 2)
        assert specimen.report.passed["hessian"] > 0


def test_all_modes_are_mixed():
    """Every nesting of three: 2 + 4 + 8, with as many comparisons of one argument's derivative."""
    (rule,) = [rule for rule in RULES if rule.name == "exp"]
    passed = check(rule, (0.7,), ("matrix", FORWARD), 3)
    nestings = {n: len(list(itertools.product(range(2), repeat=n))) for n in (1, 2, 3)}
    assert [passed["gradient"] + passed["jvp"], passed["hessian"], passed["order 3"]] == list(nestings.values())


def test_the_table_claims_it():
    assert (
        "Each has derivatives of every order, on the engines closures, records, matrix and in forward mode"
        in " ".join(table.function_table().split())
    )
    assert {
        row[6] for row in table.array_rows() if row[2] == "rule" and row[0] in {f"`{r.name}`" for r in ARRAY_RULES}
    } == {"every"}
    assert set(engine_names()) == {"closures", "records", "matrix"}


def test_a_wrong_third_derivative_is_noticed():
    """A body that is right in value and slope only: its second partial loses a term, through a constant."""
    import contad

    with registered():

        @contad.scalar_rule(points=[(0.7,)])
        def planted_cube(x):
            return x * x * x

        @planted_cube.partials
        def planted_cube_partials(z, x):
            return 3.0 * planted_square(x)

        @contad.scalar_rule
        def planted_square(x):
            return x * x

        @planted_square.partials
        def planted_square_partials(z, x):
            return 2.0 * contad.stop_gradient(x)

        with pytest.raises(Exception, match="stop_gradient is not a rule"):  # the lint is the first to see it
            check(planted_cube, (0.7,), ("matrix", FORWARD), 3)

        @planted_square.partials
        def planted_square_partials_again(z, x):
            return 2.0 * x + 1e-5 * contad.ops.sin(200.0 * x)

        with pytest.raises(AssertionError, match="leg hessian"):
            check(planted_cube, (0.7,), ("matrix", FORWARD), 3)
