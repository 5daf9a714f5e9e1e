"""What rules of arrays tell of their structure is where their derivatives are not zero, at all of their points."""

import numpy as np
import pytest

from contad.rules.array_rule import array_rules

CASES = [
    (rule, name, point) for rule in array_rules() for name in rule.structures for point in range(len(rule.points))
]


@pytest.mark.parametrize(("rule", "name", "point"), CASES, ids=lambda x: getattr(x, "name", str(x)))
def test_structure_is_where_the_derivative_is_not_zero(rule, name, point):
    *args, options = (*rule.points[point], {}) if not isinstance(rule.points[point][-1], dict) else rule.points[point]
    values = [np.array(x) for x in args]
    k = rule.argument_names.index(name)
    at_z, at_x = rule.structures[name](*values, **options)
    z = np.asarray(rule(*values, **options))
    found = np.zeros((z.size, values[k].size), bool)
    found[at_z, at_x] = True
    for j in range(values[k].size):
        moved = [x.copy() for x in values]
        moved[k].flat[j] += 1e-3
        np.testing.assert_array_equal(np.reshape(rule(*moved, **options) != z, -1), found[:, j])


def test_every_structure_has_points():
    assert {rule.name for rule, _, _ in CASES} >= {"sum", "mean", "cumsum", "convolve", "matmul", "sparse_product"}
