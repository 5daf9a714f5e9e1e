"""Constraining transforms and checks inside njit: what Python has of them, on both compiled engines."""

import pickle
from collections import namedtuple

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

import contad
from contad import stan
from contad.errors import UnsupportedError
from contad.rules.compilable import functions_of_text
from contad.stan.transforms import Parameters, real

TRANSFORMS = [
    stan.cholesky_factor_corr(3), stan.lower_bound(0.5), stan.simplex(4), real((2, 2)), stan.lower_bound(1.5, (3,)),
    stan.lower_bound(-np.inf, (2,)), stan.upper_bound(-0.5, (2, 2)), stan.lower_upper_bound(-1.0, 2.0),
    stan.lower_upper_bound(-1.0, 2.0, (2, 2)), stan.offset_multiplier(0.3, 2.0, (2,)), stan.ordered(4),
    stan.positive_ordered(3), stan.stochastic_column(3, 2), stan.stochastic_row(2, 3), stan.sum_to_zero(4),
    stan.unit_vector(3), stan.corr_matrix(4), stan.cholesky_factor_cov(3), stan.cholesky_factor_cov(4, 2),
    stan.cov_matrix(3), stan.simplex(3).array(2), stan.lower_bound(0.5, (2,)).array(3), stan.corr_matrix(2).array(2),
]  # fmt: skip
SAMPLE = [(0, "generated")]
REST = [(k, engine) for k in range(len(TRANSFORMS)) for engine in ("generated", "tape") if (k, engine) not in SAMPLE]
LONG = [pytest.param(*case, marks=pytest.mark.long) for case in REST]
TEXT = """\
def f(u, w):
    y = theta.constrain(u)
    return {total} + theta.log_jacobian(u)
def back(y):
    return theta.unconstrain(y)
"""


@pytest.mark.parametrize(("k", "engine"), [*SAMPLE, *LONG], ids=str)
def test_transforms(k, engine):
    theta = TRANSFORMS[k]
    u = np.random.default_rng(4).normal(size=theta.size)
    w = np.random.default_rng(5).normal(size=theta.shape or (1,))
    total = "np.sum(w * y)" if theta.shape else "w[0] * y"
    made = functions_of_text(TEXT.format(total=total), {"theta": theta, "np": np})
    value, gradient = contad.value_and_grad(made["f"])(u, w)
    found, bar = contad.value_and_grad(njit(made["f"]), engine=engine)(u, w)
    assert found == pytest.approx(float(value), rel=1e-12)
    np.testing.assert_allclose(bar, gradient, rtol=1e-9, atol=1e-12)
    y = theta.constrain(u)
    np.testing.assert_allclose(njit(made["back"])(y), theta.unconstrain(y), rtol=1e-9, atol=1e-12)


@njit
def checked(x, low):
    stan.check_positive("checked", "x", x)
    stan.check_bounded("checked", "x", x, low, 9.0)
    stan.check_ordered("checked", "x", x)
    stan.check_vector_index("checked", "x", x, 1)
    return np.sum(x * x)


@pytest.mark.parametrize("engine", ["generated", pytest.param("tape", marks=pytest.mark.long)])
def test_checks(engine):
    x = np.array([1.0, 2.5, 4.0])
    gradient = contad.grad(checked, engine=engine)
    np.testing.assert_array_equal(gradient(x, 0.5), 2.0 * x)
    for bad, low, message in (
        (-x, 0.5, "checked: x must be positive"),
        (x, 1.5, "checked: x must be between low and high"),
        (x[::-1].copy(), 0.5, "checked: x must be increasing"),
    ):
        with pytest.raises(ValueError, match=message):
            gradient(bad, low)
    with pytest.raises(IndexError, match="checked: x must have such an element"):
        gradient(x[:1], 0.5)


# ---- trees, and bounds that are arrays -------------------------------------------------------------------------------
Pair = namedtuple("Pair", "slope shares")
LOW = np.array([0.5, -1.5])
TREE = Parameters({"mu": real(), "scales": stan.lower_bound(LOW, 2), "pair": Pair(real((2, 2)), (stan.simplex(3),))})


@njit
def of_tree(u):
    v, log_jacobian = TREE.constrain(u)
    return log_jacobian + v.mu * np.sum(v.scales) + v.pair.slope[0, 1] * v.pair.shares[0][2] * TREE.size


def of_dict(u):
    v, log_jacobian = TREE.constrain(u)
    return log_jacobian + v["mu"] * np.sum(v["scales"]) + v["pair"].slope[0, 1] * v["pair"].shares[0][2] * TREE.size


def test_a_tree_of_parameters():
    u = np.random.default_rng(6).normal(size=TREE.size)
    assert of_tree(u) == pytest.approx(of_dict(u), rel=1e-14)
    np.testing.assert_allclose(contad.grad(of_tree)(u), contad.grad(of_dict)(u), rtol=1e-12)
    with pytest.raises(ValueError, match="Parameters: u must have 9 elements"):
        of_tree(u[1:])
    assert pickle.loads(pickle.dumps(TREE)).size == TREE.size
    assert pickle.loads(pickle.dumps(TREE.constrain))(u)[1] == TREE.constrain(u)[1]


Values = namedtuple("Values", "mu scales pair")


@njit
def of_values(mu, scales, slope, shares, w):
    return np.sum(w * TREE.unconstrain(Values(mu, scales, Pair(slope, (shares,)))))


def of_values_in_dicts(mu, scales, slope, shares, w):
    return np.sum(w * TREE.unconstrain({"mu": mu, "scales": scales, "pair": Pair(slope, (shares,))}))


@pytest.mark.parametrize("engine", ["generated", pytest.param("tape", marks=pytest.mark.long)])
def test_values_become_unconstrained(engine):
    rng = np.random.default_rng(7)
    v = TREE.constrain(rng.normal(size=TREE.size))[0]
    values = v["mu"], v["scales"], v["pair"].slope, v["pair"].shares[0]
    w = rng.normal(size=TREE.size)
    assert of_values(*values, w) == pytest.approx(of_values_in_dicts(*values, w), rel=1e-12)
    expected = contad.grad(of_values_in_dicts, (0, 1, 2, 3))(*values, w)
    for x, y in zip(contad.grad(of_values, (0, 1, 2, 3), engine=engine)(*values, w), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)
    with pytest.raises(ValueError, match=r"Parameters: values.scales must have the shape \(2,\)"):
        of_values(*values[:1], np.ones(3), *values[2:], w)
    with pytest.raises(ValueError, match="y must be at least lower"):
        of_values(*values[:1], LOW - 1.0, *values[2:], w)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(TREE.unconstrain))(v), TREE.unconstrain(v))


def test_trees_with_other_bounds_are_other_functions():
    for low in (0.5, 1.5):
        tree = Parameters({"a": stan.lower_bound(low)})
        made = functions_of_text("def f(u):\n    return tree.constrain(u)[0].a", {"tree": tree})["f"]
        assert contad.value_and_grad(njit(made))(np.zeros(1))[0] == low + 1.0


def test_trees_with_other_keys_are_refused():
    tree = Parameters({1: real()})

    @njit
    def f(u):
        return tree.constrain(u)

    @njit
    def back(values):
        return tree.unconstrain(values)

    for function, x in ((f, np.zeros(1)), (back, (0.0,))):
        with pytest.raises((TypingError, UnsupportedError), match="Parameters: inside njit, the keys of a dict"):
            function(x)


def test_array_bounds_are_those_of_the_constraint():
    """Two constraints that differ in a bound alone are two functions."""
    u = np.array([0.3, 0.4])
    found = []
    for low in (LOW, LOW + 1e-12):
        theta = stan.lower_bound(low, 2)
        f = njit(functions_of_text("def f(u):\n    return np.sum(theta.constrain(u))", {"theta": theta, "np": np})["f"])
        assert f(u) == np.sum(theta.constrain(u))
        np.testing.assert_allclose(contad.grad(f)(u), np.exp(u), rtol=1e-14)
        found.append(theta.__name__)
    assert found[0] != found[1]
