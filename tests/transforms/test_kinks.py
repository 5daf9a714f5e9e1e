"""Second derivatives where a factor has no derivative: norms and roots at 0, arccos at 1, ties, and poles.

There a second derivative is the right number or nan, by every transform and on every engine, and never another number.
"""

import functools
import math

import numba
import numpy as np
import pytest

import contad
from contad.engines.source.reading import call_reader, elementwise
from contad.errors import ContadError
from contad.ops import selection
from contad.variables import number
from tests.judges.written import function_of

J = np.array([[1.0, 1.0], [2.0, 1.0], [0.0, 1.0]])
EYE = np.eye(2)
TWICE = 2.0 * EYE
PLACES = np.array([1.0, 2.0, 4.0])
LAGS = PLACES[:, None] - PLACES
KNOWN = {"__name__": __name__, "np": np, "math": math, "contad": contad, "J": J, "LAGS": LAGS, "PLACES": PLACES}


def function(name):
    """The function of a row of one of the tables."""
    row = ROWS[name]
    return function_of(row[0] if isinstance(row, tuple) else row, KNOWN, f"{name}(x)")


# a function, its second partial derivatives at 0, and whether they are found where the outer level is forward mode
PROGRAMS = {
    "norm_of_residuals": ("np.linalg.norm(J @ x) ** 2", 2.0 * J.T @ J, True),
    "vector_norm": ("np.linalg.vector_norm(x) ** 2", TWICE, True),
    "product_of_norms": ("r = np.linalg.norm(x); r * r", TWICE, True),
    "norms_along_axis": ("np.sum(np.linalg.norm(np.stack([x, 2.0 * x]), axis=1) ** 2)", 10.0 * EYE, True),
    "power_norm": ("np.linalg.norm(x, 3) ** 2", TWICE, True),
    "fourth_power": ("np.linalg.norm(x) ** 4", 0.0 * EYE, True),
    "of_hypot": ("np.hypot(x[0], x[1]) ** 2", TWICE, True),
    "root_of_sum": ("np.sqrt(np.sum(x * x)) ** 2", TWICE, False),
    "root_of_numbers": ("math.sqrt(x[0] * x[0] + x[1] * x[1]) ** 2", TWICE, False),
    "standard_deviation": ("np.std(x) ** 2", 0.5 * np.array([[1.0, -1.0], [-1.0, 1.0]]), True),
    "squares_of_absolutes": ("np.sum(np.abs(x) ** 2)", TWICE, True),
    "squares_of_numbers": ("abs(x[0]) ** 2 + abs(x[1]) ** 2", TWICE, True),
    "absolutes_of_squares": ("np.sum(np.abs(x * x))", TWICE, False),
    "roots_of_powers": ("np.sum(np.sqrt(x**4))", TWICE, False),
    "half_powers": ("np.sum((x**4) ** 0.5)", TWICE, False),
    "cube_roots": ("np.sum(np.cbrt(x**6))", TWICE, False),
    "rbf": ("np.exp(-0.5 * np.linalg.norm(x) ** 2)", -EYE, True),
    "matern_three_halves": ("r = math.sqrt(3.0) * np.linalg.norm(x); (1.0 + r) * np.exp(-r)", -3.0 * EYE, True),
    "matern_five_halves": (
        "r = math.sqrt(5.0) * np.linalg.norm(x); (1.0 + r + r * r / 3.0) * np.exp(-r)", -5.0 / 3.0 * EYE, True),
    "cosine": ("np.cos(np.linalg.norm(x))", -EYE, True),
    "roots_of_roots": (
        "np.sqrt(np.abs(x[0] ** 3) ** (4 / 3)) + np.log1p(np.sqrt(np.sqrt((x[1] ** 4) ** 2)))", TWICE, False),
    "roots_of_powers_of_powers": ("np.cbrt((x[0] ** 3) ** 2) + ((x[1] ** 3) ** 4) ** (1 / 6)", TWICE, False),
    "power_of_root": ("np.sum(np.sqrt(x**3) ** (4 / 3))", TWICE, False),
    "differences_of_roots": (
        "cubes = x**3; np.sum(np.cbrt(8.0 * cubes * cubes) - np.cbrt(cubes * cubes))", TWICE, False),
    "ties": ("np.maximum(x[0], -x[0]) ** 2 + np.fmin(x[1], -x[1]) ** 2", TWICE, True),
    "extremes_of_two": ("(2.0 + np.fmax(x[0], x[1])) * (2.0 + np.minimum(x[0], x[1]))", EYE[::-1], True),
    "extremes_of_curves": (
        "a, b = np.exp(x[0]), 1.0 + np.sin(x[1]); np.maximum(a, b) * np.minimum(a, b) * (1.0 + x[0])",
        np.array([[3.0, 2.0], [2.0, 0.0]]), True),
    "clipped": ("np.clip(x[0], -x[0], 5.0) ** 2 + np.clip(x[1], -5.0, -x[1]) ** 2", TWICE, True),
    "picked": (
        ("pair, three = np.stack([x[0], -x[0]]), np.stack([x[1], -x[1], 3.0]); "
        "np.max(pair) ** 2 + np.median(three) ** 2 + np.sort(pair)[1] ** 2"), np.diag([4.0, 2.0]), True),
    "tie_of_squares": (
        "np.maximum(x[0] * x[0], -x[0] * x[0]) + np.maximum(x[1] * x[1], -(x[1] ** 4))", TWICE, False),
    "picks_of_pairs": (
        ("s, t = np.concatenate((x[:1], -x[:1])), np.stack((x[1:], -x[1:])); "
        "np.max(s) * np.min(s) + np.sum(np.ptp(t, axis=0)) ** 2"), np.diag([-2.0, 8.0]), True),
    "sorted_pairs": (
        ("s = np.concatenate((x[:1], -x[:1], x[1:])); "
        "np.sum(np.sort(s) ** 2) + np.max(s[:2]) ** 2 + np.partition(s, 1)[1] * 0.0"), np.diag([6.0, 2.0]), True),
    "quantiles_of_pairs": (
        ("s, t = np.concatenate((x[:1], -x[:1], x[:1] + 3.0)), np.concatenate((x[1:], -x[1:], x[1:] - 3.0)); "
        "np.median(s) ** 2 + np.nanmedian(s) ** 2 + np.quantile(t, 0.5) ** 2"), np.diag([4.0, 2.0]), True),
    "picks_of_curves": (
        "s = np.concatenate((np.exp(x[:1]), 1.0 + np.sin(x[1:]))); np.max(s) * np.min(s) * (1.0 + x[0])",
        np.array([[3.0, 2.0], [2.0, 0.0]]), True),
    "picks_of_squares": ("np.sum(np.max(np.stack((x * x, -x * x)), axis=0))", TWICE, False),
    "stable_softmax": (
        "z = J @ x; np.max(z) + np.log(np.sum(np.exp(z - np.max(z))))", J.T @ (np.eye(3) / 3.0 - 1.0 / 9.0) @ J, True),
    "product_of_ramps": (
        "(1.0 + np.maximum(x[0], 0.0)) * (1.0 - np.maximum(-x[0], 0.0)) + x[1] * x[1]", np.diag([0.0, 2.0]), True),
    "bounded_squares": ("np.sum(np.maximum(x * x, 0.0)) + np.minimum(-x[0] * x[0], 0.0)", np.diag([0.0, 2.0]), False),
    "ramps_of_curves": (
        "t = x[0]; np.maximum(t, 0.0) - np.maximum(-t - t * t, 0.0) + np.maximum(t, 0.0) ** 2 + x[1] * x[1]",
        TWICE, True),
    "inverse_cosines": ("np.arccos(np.cos(x[0])) ** 2 + (math.acos(-math.cos(x[1])) - math.pi) ** 2", TWICE, False),
    "inverse_cosine_of_unit_vectors": (
        "a, b = np.stack([np.cos(x[0]), np.sin(x[0])]), np.stack([np.cos(x[1]), np.sin(x[1])]); np.arccos(a @ b) ** 2",
        np.array([[2.0, -2.0], [-2.0, 2.0]]), False),
    "inverse_sines": ("np.sum((np.pi / 2 - np.arcsin(1.0 - x**2 / 2)) ** 2)", TWICE, False),
    "inverse_hyperbolic_cosine": ("np.arccosh(1.0 + 2.0 * np.sum(x**2)) ** 2", 8.0 * EYE, False),
    "copied_signs": (
        "y = np.copysign(x[1], -2.0); np.copysign(x[0], 1.0) ** 2 + (1.0 - y) * np.exp(y)",
        np.diag([2.0, -1.0]), True),
    "differences_above_0": (
        ("above, below = contad.ops.fdim(3.0 * x, 2.0 * x), contad.ops.fdim(2.0 * x, 3.0 * x); "
        "np.sum(above**2 + below**2) + (above[1] - below[1]) ** 2"), np.diag([2.0, 4.0]), True),
    "squares_of_roots": ("np.sum(np.sqrt(x) ** 2)", 0.0 * EYE, False),
    "logarithms": (
        ("u = x * x; np.exp(np.log(u[0])) + 2.0 ** np.log2(u[1]) + 10.0 ** np.log10(u[0]) + np.exp(np.log1p(u[1]"
        " - 1.0))"), 4.0 * EYE, False),
    "quotients": (
        "1.0 / (1.0 / (x[0] * x[0])) + np.sum(np.arctan(1.0 / x**2)) + 1.0 / np.square(2.0 / x[1])",
        np.diag([0.0, -1.5]), False),
    "negative_powers": (
        "np.sum(((x * x) ** -1.0) ** -1.0 + np.reciprocal(np.reciprocal(x * x)) + ((x * x) ** -0.5) ** -2.0)",
        6.0 * EYE, False),
    "sums_of_logarithms": (
        "np.logaddexp(np.log(x[0] * x[0]), np.log(3.0 * x[1] * x[1] + 1.0))", np.diag([2.0, 6.0]), False),
    "special_poles": (
        ("u, v = x[0] * x[0], x[1] * x[1]; inverse = contad.expit(contad.logit(u)) + contad.erf(contad.ops.erfinv(1.0"
        " - v)); inverse + np.exp(-contad.gammaln(u)) - 1.0 / contad.ops.digamma(v) + np.tanh(np.arctanh(1.0 - v))"),
        np.diag([4.0, -2.0]), False),
}  # fmt: skip
ENGINES = ("matrix", "closures", "records")


IN_ELEMENTS = ("vector_norm", "power_norm", "standard_deviation")  # of which NumPy takes roots on object arrays
# whose ties NumPy decides on object arrays; in part engines of numbers, and programs, refuse them by name
PICKS = (
    "picks_of_pairs", "sorted_pairs", "quantiles_of_pairs", "picks_of_curves", "picks_of_squares", "stable_softmax",
    "bounded_squares",
)  # fmt: skip


def by_rows(product):
    return lambda f, x: np.stack([product(f, x, v) for v in np.eye(len(x))])


FORWARD_OVER_REVERSE = {
    "hvp": by_rows(lambda f, x, v: contad.hvp(f)(x, v)),
    "record": lambda f, x: contad.hessian(contad.record(f, x + 1.0))(x),
}
for name in ENGINES:
    FORWARD_OVER_REVERSE[f"hessian {name}"] = lambda f, x, e=name: contad.hessian(f, engine=e)(x)
    FORWARD_OVER_REVERSE[f"jvp of grad {name}"] = by_rows(
        lambda f, x, v, e=name: contad.jvp(contad.grad(f, engine=e), (x,), (v,))[1]
    )
OTHERS = {
    "forward over forward": lambda f, x: contad.jacfwd(contad.jacfwd(f))(x),
    "reverse over forward": lambda f, x: contad.jacrev(contad.jacfwd(f))(x),
    "gradients of elements": lambda f, x: np.stack(
        [contad.grad(lambda x, k=k: contad.grad(f)(x)[k])(x) for k in range(2)]
    ),
}
for name in ENGINES:
    OTHERS[f"jacobian of grad {name}"] = lambda f, x, e=name: contad.jacobian(contad.grad(f, engine=e), engine=e)(x)


def require_right_or_nan(found, expected):
    wrong = ~(np.isnan(found) | (np.abs(found - expected) < 1e-12))
    assert not wrong.any(), found


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("way", [*FORWARD_OVER_REVERSE, *OTHERS])
def test_plain_functions(name, way):
    f, (_, expected, exact) = function(name), PROGRAMS[name]
    if name == "picked" and way in OTHERS and way != "forward over forward":  # no engine has arrays of lists of numbers
        with pytest.raises(ContadError, match="takes one of two equal numbers"):
            OTHERS[way](f, np.zeros(2))
        return
    of_numbers = way.endswith(("closures", "records", "record"))
    try:
        with np.errstate(all="ignore"):
            found = (FORWARD_OVER_REVERSE | OTHERS)[way](f, np.zeros(2))
    except ContadError:
        assert of_numbers and name in PICKS
        return
    require_right_or_nan(found, expected)
    in_elements = of_numbers and name in (*IN_ELEMENTS, *PICKS)
    if exact and way in FORWARD_OVER_REVERSE and not in_elements:
        np.testing.assert_allclose(found, expected, atol=1e-12)


def ramps(x):
    return (np.maximum(x[0], 0.0) + np.maximum(-x[0], 0.0)) ** 2 + np.maximum(x[1], 0.0) ** 2 + np.fmin(x[1], 0.0) ** 2


def pieces(x):
    return np.minimum(np.maximum(x[0], 0.0), 1.0) ** 2 + np.minimum(x[0], 0.0) ** 2 + np.clip(x[1], 0.0, 1.0) ** 3


@pytest.mark.parametrize("way", FORWARD_OVER_REVERSE)
@pytest.mark.parametrize(("f", "expected"), [(ramps, 2.0 * EYE), (pieces, np.diag([2.0, 0.0]))])
def test_ramps_that_together_are_smooth(f, expected, way):
    np.testing.assert_allclose(FORWARD_OVER_REVERSE[way](f, np.zeros(2)), expected, atol=1e-12)


def network(x):
    hidden = np.maximum(np.array([[1.0, -1.0], [2.0, 1.0], [1.0, 1.0]]) @ x[:2], 0.0)  # of data
    return (hidden @ (x[2:5] + 1.0) + x[5] - 1.0) ** 2


@pytest.mark.parametrize("way", [lambda f, x: contad.hessian(f)(x), lambda f, x: contad.hessian(numba.njit(f))(x),
                                 by_rows(lambda f, x, v: contad.jvp(contad.grad(f), (x,), (v,))[1])])  # fmt: skip
def test_networks_with_units_at_their_bounds_are_finite(way):
    for x in (np.zeros(6), np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.5])):
        assert np.all(np.isfinite(way(network, x)))


def test_a_kink_at_a_tie_has_the_derivatives_of_the_side_of_v():
    for f, of_right, of_left in ((lambda t: np.maximum(t, 0.0) ** 2, 2.0, 0.0),
                                 (lambda t: np.maximum(t, -t) * t, 2.0, -2.0),
                                 (lambda t: np.minimum(2.0 * t, t) * np.exp(t), 2.0, 4.0)):  # fmt: skip
        for g in (f, numba.njit(f)):
            assert contad.hvp(g)(0.0, 1.0) == of_right
            assert contad.hvp(g)(0.0, -1.0) == -of_left


def of_picks_of_matrices(x):
    m = np.stack((x, -x)).T
    total = np.max(np.stack((m[0], m[0]))) * np.min(np.exp(m[:1])) - np.max(m[0])
    for row in m:
        total += np.max(row) * np.min(row)
    return total


COMPILED = {
    "of_logarithms": ("math.exp(math.log(x[0] * x[0])) + np.sum(1.0 / (1.0 / (x[1:] ** 2)))", TWICE, False),
    "of_logarithms_beside_kinks": ("math.exp(math.log(x[0] * x[0])) + abs(x[1]) ** 2", TWICE, False),
    "of_special_poles": (
        "y = x[1] * x[1]; math.exp(-math.lgamma(x[0] * x[0])) + (y**-0.5) ** -2.0 + math.tanh(math.atanh(1.0 - y))",
        np.diag([2.0, 0.0]), False),
    "of_quotients": ("1.0 / (1.0 / (x[0] * x[0])) + math.atan(1.0 / x[1] ** 2)", np.diag([2.0, -2.0]), False),
    "of_picks": (
        "p, q = np.concatenate((x[:1], -x[:1])), np.concatenate((x[1:], -x[1:])); np.max(p) * p.min() + np.ptp(q) ** 2",
        np.diag([-2.0, 8.0]), True),
    "of_many_equal_elements": (
        ("some, many = np.sort(x[0] * np.ones(5)), np.sort(x[1] * np.ones(40)); "
        "np.sum(some * some) + np.sum(many * many)"), np.diag([10.0, 80.0]), False),
    "of_picked_squares": (
        "y = x[0] * x[0]; np.max(np.array([-y, y])) + np.sort(np.array([x[1] ** 2, -x[1] ** 2]))[1]",
        TWICE, False),
    "of_picks_of_matrices": (of_picks_of_matrices, np.diag([-4.0, -2.0]), True),
    "of_orders": (
        ("p, q = np.concatenate((x[:1], -x[:1])), np.concatenate((x[1:], -x[1:])); order = np.sort(p); "
        "three = np.concatenate((q, 3.0 + x[:1])); middle = np.median(three) * np.percentile(three, 50.0); "
        "middle += np.quantile(three, np.array([0.0, 0.5]))[1] ** 2; "
        "order[0] * order[1] + np.nanmax(p) * np.nanmin(p) + middle"), np.diag([-4.0, 4.0]), True),
    "of_bounds": (
        ("ramp, other = np.maximum(x[0], 0.0), np.maximum(-x[0] - x[0] ** 2, 0.0); "
        "clipped = np.minimum(np.maximum(x[1], 0.0), 2.0) ** 2 + np.fmin(x[1], 0.0) ** 2; "
        "ramp - other + ramp**2 + clipped + (1.0 + np.maximum(x[1], 0.0)) * (1.0 - np.maximum(-x[1], 0.0))"),
        TWICE, False),
    "of_bounded_squares": ("np.maximum(x[0] * x[0], 0.0) + x[1] * x[1]", TWICE, False),
    "of_residuals": ("np.linalg.norm(J @ x) ** 2", 2.0 * J.T @ J, True),
    "of_matern": (
        "r = math.sqrt(5.0) * np.linalg.norm(x); (1.0 + r + r * r / 3.0) * math.exp(-r) + math.hypot(x[0], x[1]) ** 2",
        EYE / 3.0, True),
    "of_no_direction": ("abs(x[0] * x[0]) + np.linalg.norm(x * x)", np.diag([4.0, 2.0]), False),
    "of_absolutes": ("np.sum(np.abs(x) ** 2) + abs(x[0]) ** 2 + np.sum(np.abs(x))", np.diag([4.0, 2.0]), True),
    "of_roots": ("math.sqrt(x[0] * x[0] + x[1] * x[1]) ** 2", TWICE, False),
    "of_deviation": ("np.std(x) ** 2", 0.5 * np.array([[1.0, -1.0], [-1.0, 1.0]]), True),
    "of_higher_roots": ("np.sqrt(x[0] ** 4) + np.cbrt(x[1] ** 6) + (x[1] ** 4) ** 0.5", np.diag([2.0, 4.0]), False),
    "of_roots_of_powers": ("((x[0] ** 3) ** 4) ** (1 / 6) + (x[1] ** 6) ** (x[0] + 1 / 3)", TWICE, False),
    "of_ties": (
        ("a, b = np.exp(x[0]), 1.0 + np.sin(x[1]); np.maximum(x[0], -x[0]) ** 2 + np.fmin(x[1], -x[1]) ** 2"
        " + np.maximum(a, b) * np.minimum(a, b)"), np.array([[3.0, 1.0], [1.0, 2.0]]), True),
    "of_tied_squares": ("np.sum(np.maximum(x * x, -x * x))", TWICE, False),
    "of_inverse_functions": (
        ("a = np.arccosh(1.0 + 2.0 * np.sum(x * x)) ** 2; a + math.acos(math.cos(x[0])) ** 2 + (np.arcsin(0.5"
        " * x[1] ** 2 - 1.0) + 0.5 * np.pi) ** 2"), 10.0 * EYE, False),
    "of_copied_signs": (
        ("y = np.copysign(x, -1.0); np.sum(y * y) + contad.ops.fdim(x[0], -x[0]) ** 2 + contad.ops.fdim(-x[0], "
        "x[0]) ** 2"), np.diag([10.0, 2.0]), True),
    "of_squares_of_roots": (
        "np.sum(np.sqrt(x) ** 2) + math.sqrt(2.0 * x[0]) ** 4 + np.cbrt(x[1]) ** 6", np.diag([8.0, 2.0]), False),
}  # fmt: skip


@functools.cache
def numba_function(name):
    """The Numba function of a row of the table above."""
    if name == "of_picks_of_matrices":
        return numba.njit(of_picks_of_matrices)
    return numba.njit(error_model="numpy" if name == "of_quotients" else "python")(function(name))


@pytest.mark.parametrize("name", COMPILED)
def test_numba_functions(name):
    f, (_, expected, exact), x = numba_function(name), COMPILED[name], np.zeros(2)
    rows = [contad.hvp(f)(x, v) for v in np.eye(2)]
    if exact:
        np.testing.assert_allclose(rows, expected, atol=1e-12)
    for found in (np.stack(rows), contad.hessian(f)(x)):  # which takes several directions at once
        require_right_or_nan(found, expected)
    require_right_or_nan(contad.jacobian(contad.grad(f))(x), expected)
    require_right_or_nan(np.array(contad.laplacian(f)(x)), np.trace(expected))


@numba.njit
def of_picks_with_a_fault(x):  # which is compiled with a fault, and kept
    p = np.concatenate((x[:1], -x[:1]))
    return np.max(p) * np.min(p) + np.sort(p)[0] * np.nanmax(p)


def test_picks_that_follow_no_tie_are_noticed(monkeypatch):
    monkeypatch.setattr(elementwise.WholeArrays, "_follow_tie", lambda arrays, array, symbol, found: found)
    monkeypatch.setattr(call_reader, "TIED", {})
    assert contad.hvp(of_picks_with_a_fault)(np.zeros(2), np.array([1.0, 0.0]))[0] == 4.0  # for -4


@pytest.mark.parametrize("name", ["of_picks", "of_picks_of_matrices", "of_orders"])
def test_picks_have_the_first_derivatives_that_they_have_alone(name):
    f = numba_function(name)
    for x in (np.zeros(2), np.array([0.3, -0.4])):
        gradient = contad.grad(f.py_func)(x)
        np.testing.assert_allclose(contad.grad(f)(x), gradient, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(contad.jvp(contad.grad(f), (x,), (EYE[1],))[0], gradient, rtol=1e-13, atol=1e-15)


def test_laplacians_of_squares():
    x = np.zeros(3)
    assert contad.laplacian(lambda x: np.linalg.norm(x) ** 2)(x) == 6.0
    require_right_or_nan(contad.grad_tr_mat_times_hessian(lambda x: np.linalg.norm(x) ** 2, x, np.eye(3)), np.zeros(3))


# ---- what is as it was -----------------------------------------------------------------------------------------------
PENALTIES = {
    "lasso": "np.sum(np.abs(x)) + np.sum(np.abs(J @ x)) + np.sum(x * x)",
    "group_lasso": "np.linalg.norm(x[:1]) + np.linalg.norm(x) + np.sum(x * x)",
}


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("way", [*FORWARD_OVER_REVERSE, *OTHERS])
def test_a_kink_of_the_function_itself_has_the_derivative_of_one_side(name, way):
    found = (FORWARD_OVER_REVERSE | OTHERS)[way](function(name), np.zeros(2))
    np.testing.assert_array_equal(found, 2.0 * EYE)


@pytest.mark.parametrize("engine", ENGINES)
def test_first_derivatives_are_subgradients_where_they_are_differentiated_too(engine):
    x, v = np.array([0.0, 4.0]), np.array([1.0, 0.0])
    gradient = contad.grad(lambda x: np.sum(np.abs(x)) + np.linalg.norm(x[:1]), engine=engine)
    np.testing.assert_array_equal(contad.jvp(gradient, (x,), (v,)), ([0.0, 1.0], [0.0, 0.0]))
    value, _ = contad.value_and_grad(lambda x: np.sum(gradient(x) ** 2), engine=engine)(x)
    assert value == 1.0
    assert contad.jvp(np.linalg.norm, (np.zeros(2),), (v,)) == (0.0, 0.0)


GUARDED = {
    "guarded_root": "np.sum(np.where(x * x > 0.0, np.sqrt(x * x), 3.0 * x * x))",
    "guarded_norm": "np.where(x[0] > 0.0, np.linalg.norm(x), 3.0 * np.sum(x * x))",
    "guarded_absolute": "np.sum(np.where(x > 0.0, np.abs(x) ** 2 + np.abs(x), 3.0 * x * x))",
    "guarded_inverse_cosine": (
        "np.sum(np.where(np.cos(x) < 1.0, np.arccos(np.cos(x)) + contad.ops.copysign(x, 1.0) ** 3, 3.0 * x * x))"),
    "guarded_poles": (
        "u = np.where(x > 0.0, np.log(x), 0.0) + np.minimum(1.0 / (x * x), 5.0); "
        "np.sum(u + np.where(x * x > 0.0, 1.0 / (x * x), 3.0 * x * x)) + 1.0 / (1.0 + np.exp(1000.0 + x[0] * x[0]))"),
}  # fmt: skip


@pytest.mark.parametrize("name", GUARDED)
@pytest.mark.parametrize("way", [*FORWARD_OVER_REVERSE, *OTHERS])
def test_branches_that_are_not_taken_make_no_nan(name, way):
    with np.errstate(all="ignore"):
        found = (FORWARD_OVER_REVERSE | OTHERS)[way](function(name), np.zeros(2))
    np.testing.assert_array_equal(found, 6.0 * EYE)


def kernel_in_loops(x):
    total = 0.0
    for i in range(3):
        for j in range(3):
            total += math.exp(-math.hypot(LAGS[i, j] / math.exp(x[0]), 0.0 * x[0])) * x[1]
    return total


STILL = {
    "masked_penalty": "np.sum(np.abs(np.array([1.0, 0.0]) * x) * x)",
    "kernel_of_lags": "np.sum(np.exp(-np.abs(x[0] * LAGS))) * x[1]",
    "kernel_of_scaled_lags": "np.sum(np.exp(-np.abs(LAGS / np.exp(x[0])))) * x[1]",
    "kernel_of_distances": (
        "r = np.linalg.norm(x * (PLACES[:, None, None] - PLACES[:, None]), axis=-1); "
        "np.linalg.slogdet(np.exp(-r) + 0.1 * np.eye(3))[1]"),
}  # fmt: skip
ROWS = PROGRAMS | COMPILED | PENALTIES | GUARDED | STILL


def differences(f, x):
    gradient = contad.grad(f)
    return np.stack([(gradient(x + 1e-6 * v) - gradient(x - 1e-6 * v)) / 2e-6 for v in np.eye(len(x))])


@pytest.mark.parametrize("f", [*map(function, STILL), kernel_in_loops], ids=lambda f: f.__name__)
def test_a_value_that_is_0_at_every_argument_is_no_kink(f):
    x = np.array([0.3, 0.7])
    for found in (contad.hessian(f)(x), [contad.hvp(f)(x, v) for v in np.eye(2)]):
        np.testing.assert_allclose(found, differences(f, x), rtol=1e-6, atol=1e-8)
    if f.__name__ not in ("kernel_of_scaled_lags", "kernel_of_distances"):
        compiled = numba.njit(f)
        assert contad.engine_name(contad.hessian(compiled), args=(x,)) == "generated"
        for found in (contad.hessian(compiled)(x), [contad.hvp(compiled)(x, v) for v in np.eye(2)]):
            np.testing.assert_allclose(found, differences(f, x), rtol=1e-6, atol=1e-8)


def test_a_factor_that_moves_is_no_such_one():
    for f in (lambda x: abs(x[0] * x[0]) * x[1], lambda x: np.sum(np.abs(x * x)) + abs(0.0 * x[0]) * x[1]):
        assert np.isnan(contad.hessian(f)(np.array([0.0, 1.0]))[0, 0])
        assert np.isnan(contad.hessian(numba.njit(f))(np.array([0.0, 1.0]))[0, 0])


@pytest.mark.parametrize(("rule", "name"), [
    (contad.ops.absolute, "squares_of_absolutes"), (contad.ops.maximum, "ties"), (contad.ops.cbrt, "cube_roots"),
])  # fmt: skip
def test_without_twins_it_is_wrong(rule, name, monkeypatch):
    """The check catches what it is there for."""
    monkeypatch.setattr(rule, "is_at_kink", lambda args: False)
    with pytest.raises(AssertionError):
        require_right_or_nan(contad.hessian(function(name))(np.zeros(2)), 2.0 * EYE)


def test_a_pick_of_the_first_one_is_wrong(monkeypatch):
    monkeypatch.setattr(selection, "may_tie", lambda *args: False)
    with pytest.raises(AssertionError):
        require_right_or_nan(contad.hessian(function("picks_of_pairs"))(np.zeros(2)), np.diag([-2.0, 8.0]))


@pytest.mark.parametrize("pick", [np.max, np.min, np.ptp, np.median, lambda s: np.sort(s)[1]])
def test_first_derivatives_of_picks_stay_where_they_are_differentiated(pick):
    x, v = np.array([1.0, 1.0, 2.0, 2.0]), np.array([0.0, 1.0, 0.0, -1.0])
    gradient = contad.grad(lambda x: pick(x) * x[0])
    np.testing.assert_array_equal(contad.jvp(gradient, (x,), (v,))[0], gradient(x))


def test_deeper_units_at_their_bounds_are_right_or_nan():
    def deep(x):
        return np.maximum(x[0] * np.maximum(x[1], 0.0), 0.0) + x[2] ** 2

    for f in (deep, numba.njit(deep)):
        np.testing.assert_array_equal(contad.hessian(f)(np.array([1.0, 2.0, 3.0])), [[0, 1, 0], [1, 0, 0], [0, 0, 2]])
        found = contad.hessian(f)(np.array([1.0, 0.0, 3.0]))
        assert found[2, 2] == 2.0


@numba.njit
def of_guarded_poles(x):
    a = x * x
    guarded = (math.log(x[0]) if x[0] > 0.0 else 0.0) + np.sum(np.where(x > 0.0, np.log(x), 0.0))
    return guarded + np.sum(np.where(a > 0.0, 1.0 / a, 3.0 * a)) + 1.0 / (1.0 + np.exp(1000.0 + a[0]))


def test_nor_do_they_in_numba_functions():
    x = np.zeros(2)
    np.testing.assert_array_equal(contad.hessian(of_guarded_poles)(x), 6.0 * EYE)
    np.testing.assert_array_equal([contad.hvp(of_guarded_poles)(x, v) for v in EYE], 6.0 * EYE)


@pytest.mark.parametrize("f", [
    function("logarithms"), function("quotients"), lambda x: np.log(x[0]) + x[1], lambda x: -np.log(x[0] * x[0]),
])  # fmt: skip
def test_first_derivatives_at_poles_are_as_they_are_alone(f):
    with np.errstate(all="ignore"):
        gradient = contad.grad(f)
        for v in EYE:
            found, expected = contad.jvp(gradient, (np.zeros(2),), (v,))[0], gradient(np.zeros(2))
            np.testing.assert_array_equal(found, expected)


def test_a_pole_that_is_masked_is_wrong(monkeypatch):
    monkeypatch.setattr(number, "is_at_pole", lambda d: np.zeros(np.shape(d), bool))
    with pytest.raises(AssertionError):
        require_right_or_nan(contad.hessian(function("roots_of_powers_of_powers"))(np.zeros(2)), 2.0 * EYE)


# ---- more equal elements than are sorted again -----------------------------------------------------------------------
@pytest.mark.parametrize("k", [0, 9, 16])
@pytest.mark.parametrize("f", [lambda x: np.sort(x)[-1] ** 2, lambda x: np.sort(x)[0] * np.sort(x)[-1]])
def test_many_equal_elements_have_no_second_derivative(f, k):
    """Whichever of them v moves: the one that lies in the place of the result is another."""
    assert np.isnan(contad.hvp(numba.njit(f))(np.ones(17), np.eye(17)[k])).all()
