"""expect_ad on arrays: every array rule and scalar rule, and every NumPy function of the table in an example call.

Of each kind a sample runs always, the others with `-m long`.
"""

import numpy as np
import pytest

import contad  # noqa: F401  (registers everything)
from contad.rules.scalar_rule import rules
from contad.testing import expect_ad
from tests.judges.array_derivatives import check_orders, split
from tests.judges.array_mutation import own_rules
from tests.judges.samples import sampled
from tests.ops.example_calls import CALLS, EXAMPLES, TABLE, V

POINTS = [(rule, k) for rule in own_rules() for k in range(len(rule.points))]

# ---- example calls ---------------------------------------------------------------------------------------------------


NEW = {"np.astype", "np.cumulative_prod", "np.cumulative_sum", "np.unstack"}  # in NumPy 2.1


# ---- tests -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("rule", "k"),
    sampled(POINTS, 10, family=lambda case: case[0].__module__, name=lambda case: f"{case[0].name}-{case[1]}"),
)
def test_rule(rule, k):
    args, options = split(rule.points[k])

    def f(*arrays):
        return rule(*arrays, **options)

    f.__name__ = rule.name
    assert expect_ad(f, *args).passed["gradient"] >= 4


@pytest.mark.parametrize(
    "rule", sampled(rules(), 6, family=lambda rule: (rule.core, rule.arity), name=lambda rule: rule.name)
)
def test_scalar_rule_on_arrays(rule):
    """Near the first of the rule's points; the arguments have shapes that broadcast."""
    zero = [rule.body.literal(k) == 0.0 for k in range(rule.arity)]
    args = []
    for k, x in enumerate(rule.points[0]):
        near = x * (1.0 + np.array([0.013, -0.011, 0.007][: 2 if k else 3])) if not zero[k] else np.array([float(x)])
        args.append(near if k == 0 else near[:, None])

    def f(*arrays):
        return rule(*arrays)

    f.__name__ = rule.name
    expect_ad(f, *args, zero_gradient=all(zero))


# infinities, multiple zeros, edges that NumPy finds of floats only
OF_THEIR_OWN = ("np.linspace", "np.polyfit", "np.poly", "np.roots", "np.histogram_bin_edges")


@pytest.mark.parametrize(("name", "k"), sampled(CALLS, 4))
def test_numpy_function(name, k):
    f, *args = EXAMPLES[name][k]
    if name.startswith("np.linalg.") or name in OF_THEIR_OWN or (name, k) == ("np.histogram", 1):  # likewise
        check_orders(f, args)
    else:
        expect_ad(f, *args)


def test_options_that_f_itself_gives_a_ufunc_are_no_refusal_of_numpy():
    difference = lambda a: np.subtract(a[0], a[1], subok=False)
    message = "engine closures: expected no exception, .* np.subtract: the option subok"
    with pytest.raises(AssertionError, match=message):
        expect_ad(difference, V)


def test_every_numpy_function_has_an_example():
    """And every example is of a function that contad has, or of a NumPy that is newer than the one installed."""
    assert sorted(TABLE - EXAMPLES.keys()) == [] and EXAMPLES.keys() - TABLE <= NEW
