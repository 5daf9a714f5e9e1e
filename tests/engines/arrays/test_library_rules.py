"""Every rule on the engine `arrays`: with NumPy as on `matrix`; with other libraries right, or refused by name."""

import collections

import numpy as np
import pytest

import contad
from contad.errors import UnsupportedError
from contad.rules.array_rule import array_rules
from contad.rules.scalar_rule import rules
from tests.engines.arrays.installed_libraries import library
from tests.judges.samples import sampled

SCALARS = [r for r in rules() if r.__module__.startswith("contad.ops.") and r.points]
ARRAYS = [r for r in array_rules() if r.__module__.startswith("contad.ops.") and r.points]


def call_of(rule, point):
    """(A function of arrays, the arrays) of a point of a rule."""
    options = point[-1] if isinstance(point[-1], dict) else {}
    args = [np.asarray(x, float) for x in (point[:-1] if options else point)]

    def total(*xs):
        z = rule(*xs, **options)
        return sum(np.sum(v * 1.5) + np.sum(v * v) for v in (z if isinstance(z, tuple) else (z,)))

    return total, args


def points_of(rule):
    """The points at which a rule is compared: a scalar rule on vectors of two."""
    if rule in SCALARS:
        return [tuple([x, x] for x in rule.points[0])]
    return rule.points


@pytest.mark.parametrize("rule", sampled([*SCALARS, *ARRAYS], 12))
def test_with_numpy_it_agrees_with_matrix(rule):
    for point in points_of(rule):
        total, args = call_of(rule, point)
        numbers = tuple(range(len(args)))
        expected = contad.grad(total, numbers)(*args)
        found = contad.grad(total, numbers, engine="arrays")(*args)
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)


# how many rules are right at all their points, of 187 scalar and of the array rules; the others are refused by name
@pytest.mark.long
@pytest.mark.parametrize(("name", "right"), [("array_api_strict", 60), ("torch", 80), ("jax", 90)])
def test_with_another_library_it_is_right_or_refused(name, right):
    make, back = library(name)
    counts = collections.Counter()
    for rule in (*SCALARS, *ARRAYS):
        outcome = "right"
        for point in points_of(rule):
            total, args = call_of(rule, point)
            numbers = tuple(range(len(args)))
            expected = contad.grad(total, numbers)(*args)
            try:
                found = contad.grad(total, numbers)(*map(make, args))
            except UnsupportedError:
                outcome = "refused"
                break
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_allclose(back(x), y, rtol=1e-8, atol=1e-8, err_msg=rule.name)
        counts[outcome] += 1
    assert counts["right"] >= right, counts
