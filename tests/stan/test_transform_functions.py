"""Stan's transforms as functions: the determinant of the derivative, round trips, bounds of all shapes, and njit."""

import math

import numpy as np
import pytest
from numba import njit

import contad
from contad import stan
from contad.rules.compilable import functions_of_text
from contad.stan import transform_functions
from contad.testing import expect_ad

RNG = np.random.default_rng(1)
A, B = RNG.normal(size=(2, 3)), RNG.normal(size=3)
# by name: the arguments, with bounds of all shapes, and the elements of a value that determine it
POINTS = [
    ("lower_bound", (0.4, 1.5), None), ("lower_bound", (0.4, -np.inf), None), ("lower_bound", (B, 1.5), None),
    ("lower_bound", (B, -np.inf), None), ("lower_bound", (B, np.array([1.0, -np.inf, 2.0])), None),
    ("lower_bound", (A, B), None), ("upper_bound", (0.4, 1.5), None), ("upper_bound", (0.4, np.inf), None),
    ("upper_bound", (A, 2.0), None), ("upper_bound", (B, np.array([1.0, np.inf, 2.0])), None),
    ("lower_upper_bound", (0.4, -1.0, 2.0), None), ("lower_upper_bound", (0.4, -np.inf, 2.0), None),
    ("lower_upper_bound", (B, -1.0, np.inf), None), ("lower_upper_bound", (A, B, B + 2.0), None),
    ("lower_upper_bound", (B, -3.0, B), None), ("offset_multiplier", (0.4, -1.0, 2.0), None),
    ("offset_multiplier", (B, -1.0, 2.0), None), ("offset_multiplier", (A, B, np.exp(B)), None),
    ("ordered", (B,), None), ("positive_ordered", (B,), None), ("simplex", (B,), lambda y: y[:-1]),
    ("simplex_of_sticks", (B,), lambda y: y[:-1]), ("stochastic_column", (A,), lambda y: y[:-1]),
    ("stochastic_row", (A,), lambda y: y[:, :-1]), ("stochastic_column_of_sticks", (A,), lambda y: y[:-1]),
    ("stochastic_row_of_sticks", (A,), lambda y: y[:, :-1]), ("sum_to_zero", (B,), None), ("sum_to_zero", (A,), None),
    ("cholesky_factor_corr", (B, 3), lambda y: y[np.tril_indices(3, -1)]),
    ("corr_matrix", (B, 3), lambda y: y[np.tril_indices(3, -1)]),
    ("cholesky_factor_cov", (B, 2, 2), lambda y: y[np.tril_indices(2)]),
    ("cholesky_factor_cov", (np.arange(5.0), 3, 2), lambda y: y[np.tril_indices(3, 0, 2)]),
    ("cov_matrix", (B, 2), lambda y: y[np.tril_indices(2)]),
]  # fmt: skip
each = pytest.mark.parametrize(("name", "args", "free"), POINTS, ids=lambda x: x if isinstance(x, str) else "")


def function(name, kind):
    return transform_functions.FUNCTIONS[f"{name}_{kind}"]


def by_differences(f, u):
    """The matrix of derivatives of f, for the elements of u in a row."""
    steps = 1e-6 * np.eye(np.size(u)).reshape((np.size(u), *np.shape(u)))
    return np.array([np.ravel(f(u + h) - f(u - h)) / 2e-6 for h in steps])


@each
def test_the_log_jacobian_is_that_of_the_determinant(name, args, free):
    u, *more = args
    value, log_jacobian = function(name, "jacobian")(*args)
    np.testing.assert_array_equal(function(name, "constrain")(*args), value)
    slopes = by_differences(lambda u: (free or (lambda y: y))(function(name, "constrain")(u, *more)), u)
    if name == "sum_to_zero":
        np.testing.assert_allclose(slopes @ slopes.T, np.eye(np.size(u)), atol=1e-8)
        slopes = np.eye(1)
    assert log_jacobian == pytest.approx(np.linalg.slogdet(slopes)[1], abs=1e-7)


@each
def test_round_trips(name, args, free):
    back = function(name, "unconstrain")
    more = args[1 : len(back.signature.parameters)]
    np.testing.assert_allclose(back(function(name, "constrain")(*args), *more), args[0], rtol=1e-10, atol=1e-12)


def call_in_njit(name, args):
    """A number made of a value and its log-Jacobian, in Python; and u again, by a Numba function."""
    names = ", ".join(f"x{k}" for k in range(len(args)))
    back = function(name, "unconstrain")
    more = "".join(f", x{k}" for k in range(1, len(back.signature.parameters)))
    total = "np.sum(np.sin(y) * y)" if np.ndim(function(name, "constrain")(*args)) else "np.sin(y) * y"
    text = f"def f({names}):\n    y, logs = jacobian({names})\n    return {total} + 1.3 * logs\n"
    text += f"def g({names}):\n    return back(constrain({names}){more})\n"
    known = {"np": np, "back": back, **{kind: function(name, kind) for kind in ("jacobian", "constrain")}}
    made = functions_of_text(text, known)
    return made["f"], made["g"]


CASES = [k if k in (1, 20) else pytest.param(k, marks=pytest.mark.long) for k in range(len(POINTS))]


@pytest.mark.parametrize("k", CASES)
@pytest.mark.parametrize("engine", ["generated", pytest.param("tape", marks=pytest.mark.long)])
def test_numba_functions_may_call_them(k, engine):
    name, args, _ = POINTS[k]
    f, g = call_in_njit(name, args)
    active = tuple(k for k, x in enumerate(args) if not isinstance(x, int) and np.all(np.isfinite(x)))
    value, bars = contad.value_and_grad(f, active)(*args)
    found, compiled = contad.value_and_grad(njit(f), active, engine=engine)(*args)
    assert found == pytest.approx(float(value), rel=1e-12)
    for x, y in zip(compiled, bars, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(njit(g)(*args), args[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("k", [4, pytest.param(13, marks=pytest.mark.long), pytest.param(17, marks=pytest.mark.long)])
def test_bounds_are_differentiated(k):
    name, args, _ = POINTS[k]
    finite = [x for x in args if np.all(np.isfinite(x))]

    def f(u, *bounds):
        y, logs = function(name, "jacobian")(u, *(bounds or args[1:]))
        return np.sum(np.sin(y)) + logs

    expect_ad(f, *finite)


def test_unit_vectors():
    y, logs = stan.unit_vector_jacobian(np.array([3.0, 4.0]))
    np.testing.assert_allclose(y, [0.6, 0.8])
    assert logs == -12.5
    np.testing.assert_array_equal(stan.unit_vector_unconstrain(y), y)


def test_simplices_are_softmax_of_isometric_coordinates():
    """Against the definition, by Helmert's matrix."""
    u = np.array([0.5, -1.0, 0.3])
    helmert = np.array([[1.0, 1.0, 1.0], [-1.0, 1.0, 1.0], [0.0, -2.0, 1.0], [0.0, 0.0, -3.0]])
    z = np.exp((helmert / np.linalg.norm(helmert, axis=0)) @ u)
    y, logs = stan.simplex_jacobian(u)
    np.testing.assert_allclose(y, z / np.sum(z), rtol=1e-14)
    assert logs == pytest.approx(0.5 * math.log(4.0) + np.sum(np.log(y)), rel=1e-14)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stan.lower_bound_unconstrain(0.5, 1.0), "lower_bound_unconstrain: y must be at least lower"),
        (lambda: stan.lower_upper_bound_constrain(0.5, 1.0, 0.0), "upper must be greater than lower"),
        (lambda: stan.offset_multiplier_constrain(0.5, 1.0, -1.0), "multiplier must be positive"),
        (lambda: stan.simplex_unconstrain([0.5, 0.6]), "simplex_unconstrain: y must be nonnegative, and sum to 1"),
        (lambda: stan.cov_matrix_unconstrain([[1.0, 2.0], [2.0, 1.0]]), "ositive definite"),
        (lambda: stan.corr_matrix_constrain([0.5, 0.3], 2), r"u must have k \(k - 1\) / 2 elements"),
        (lambda: stan.cholesky_factor_cov_constrain([0.5, 0.3], 1, 2), "m >= n"),
        (lambda: stan.unit_vector_constrain([0.0, 0.0]), "u must be finite and other than 0"),
        (lambda: njit(lambda u: stan.corr_matrix_constrain(u, 3))(B[:2]), r"u must have k \(k - 1\) / 2 elements"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)  # fmt: skip
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_axes_that_are_refused():
    with pytest.raises(TypeError, match="simplex_constrain: takes arrays of float64 with so many axes .*: u of 1"):
        stan.simplex_constrain(0.5)
