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
TREE = Parameters({
    "mu": real(), "scales": stan.lower_bound(LOW, 2), "pair": Pair(real((2, 2)), stan.simplex(3).array(2)),
    "rest": (stan.lower_upper_bound(LOW, LOW + 2.0, 2), stan.ordered(2)),
})  # fmt: skip


@njit
def of_tree(u):
    v, log_jacobian = TREE.constrain(u)
    total = v.mu * np.sum(v.scales) + v.pair.slope[0, 1] * v.pair.shares[1, 2]
    return log_jacobian + total + np.sum(v.rest[0] * v.rest[1]) * TREE.size


def of_dict(u):
    v, log_jacobian = TREE.constrain(u)
    total = v["mu"] * np.sum(v["scales"]) + v["pair"].slope[0, 1] * v["pair"].shares[1, 2]
    return log_jacobian + total + np.sum(v["rest"][0] * v["rest"][1]) * TREE.size


def test_a_tree_of_parameters():
    u = np.random.default_rng(6).normal(size=TREE.size)
    assert of_tree(u) == pytest.approx(of_dict(u), rel=1e-14)
    np.testing.assert_allclose(contad.grad(of_tree)(u), contad.grad(of_dict)(u), rtol=1e-12)
    with pytest.raises(ValueError, match="Parameters: u must have 15 elements"):
        of_tree(u[1:])
    assert pickle.loads(pickle.dumps(TREE)).size == TREE.size


def test_trees_with_other_keys_are_refused():
    tree = Parameters({1: real()})

    @njit
    def f(u):
        return tree.constrain(u)

    with pytest.raises((TypingError, UnsupportedError), match="Parameters: inside njit, the keys of a dict"):
        f(np.zeros(1))


def test_array_bounds_are_those_of_the_constraint():
    """Two constraints that differ in a bound alone are two functions."""
    u = np.array([0.3, 0.4])
    found = []
    for low in (LOW, LOW + 1e-12):
        theta = stan.lower_bound(low, 2)

        @njit
        def f(u):
            return np.sum(theta.constrain(u))

        assert f(u) == np.sum(theta.constrain(u))
        np.testing.assert_allclose(contad.grad(f)(u), np.exp(u), rtol=1e-14)
        found.append(theta.__name__)
    assert found[0] != found[1]
