"""Functions of matrices in Numba functions: each program by each compiled engine, against the engine `matrix`.

`text` is the source of the engine `generated`, run as Python.
"""

import numpy as np
import pytest
from numba import njit

import contad
from tests.engines.matrix_programs import PROGRAMS, REAL, require_close, value_and_grad
from tests.engines.tape.requests import jvp, state

ENGINES = "text", "generated", "tape"
# all others compile for ten seconds to a minute
ALWAYS = {("text", name) for name in ("spectra", "factors", "powers", "SciPy", "sums of exponentials")}
ALWAYS |= {("text", "sums along axes"), ("tape", "first spectrum")}
CASES = [
    pytest.param(engine, name, marks=[] if (engine, name) in ALWAYS else [pytest.mark.long])
    for engine in ENGINES for name in PROGRAMS
]  # fmt: skip


@pytest.mark.parametrize(("engine", "name"), CASES)
def test_gradients_are_those_of_the_eager_engine(engine, name):
    f, args, argnums = PROGRAMS[name]
    value, gradient = value_and_grad(engine, f, args, argnums)
    assert value == pytest.approx((f.py_func if engine == "text" else f)(*args), rel=1e-12)
    expected, right = contad.value_and_grad(f.py_func, argnums=argnums, engine="matrix")(*args)
    assert value == pytest.approx(expected, rel=1e-11)
    require_close(gradient, right)


@pytest.mark.parametrize(
    "name", ["first spectrum", *(pytest.param(x, marks=pytest.mark.long) for x in PROGRAMS if x != "first spectrum")]
)
def test_tangents_of_the_tape_are_those_of_the_gradient(name):
    f, args, argnums = PROGRAMS[name]
    draw = np.random.default_rng(5)
    tangents = tuple(draw.normal(size=np.shape(args[k]) or None) for k in argnums)
    value, tangent = jvp(f, args, tangents, argnums=argnums)
    assert value == pytest.approx(f(*args), rel=1e-13)
    gradient = contad.grad(f.py_func, argnums=argnums)(*args)
    assert tangent == pytest.approx(sum(np.sum(x * y) for x, y in zip(gradient, tangents, strict=True)), rel=1e-9)


# ---- errors, and where a derivative is none --------------------------------------------------------------------------
@njit
def chosen(a, b, kind):
    """One function of many, so that their errors are in one program."""
    total = a[0, 0] * a[0, 0]
    if kind == "solve":
        return np.linalg.solve(a, b)[1, 0]
    if kind == "inv":
        return total + np.linalg.inv(a)[1, 0]
    return total + np.linalg.cholesky(a)[1, 0]


@njit
def determinants(a, b, kind):
    total = a[0, 0] * a[0, 0]
    return total + (np.linalg.det(a) if kind == "det" else np.linalg.slogdet(a)[1])


SINGULAR, TALL = np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([[1.0, 2.0], [0.5, -1.0], [0.3, 0.8]])
ERRORS = [
    ("slogdet", TALL), ("det", np.full((2, 2), np.nan)), ("det", TALL), ("solve", SINGULAR), ("inv", SINGULAR),
    ("cholesky", -SINGULAR), ("inv", TALL), ("cholesky", TALL), ("solve", TALL[:, :1] * TALL[:, 0]),
    ("solve", np.full((2, 2), np.inf)),
]  # fmt: skip


def function_for(kind):
    return determinants if "det" in kind else chosen


def cases_of_errors():
    """Those of determinants by `generated`, whose program is short, run always."""
    for engine in ENGINES[1:]:
        for kind, a in ERRORS:
            is_short = "det" in kind and engine == "generated"
            yield pytest.param(engine, kind, a, marks=[] if is_short else [pytest.mark.long])


@pytest.mark.parametrize(("engine", "kind", "a"), [*cases_of_errors()])
def test_errors_are_those_of_the_function_and_the_next_call_is_right(engine, kind, a):
    """The tape is as it was before."""
    f, b, before = function_for(kind), np.array([[1.0], [0.5]]), state()
    derivative = contad.value_and_grad(f, engine=engine)
    with pytest.raises(np.linalg.LinAlgError) as plain:
        f(a, b, kind)
    with pytest.raises(np.linalg.LinAlgError) as raised:
        derivative(a, b, kind)
    assert str(raised.value) == str(plain.value)
    assert state() == before
    regular = np.array([[2.0, 0.3], [0.1, 1.4]])
    value, gradient = derivative(regular, b, kind)
    assert value == f(regular, b, kind)
    np.testing.assert_allclose(gradient, contad.grad(f.py_func)(regular, b, kind), rtol=1e-12)


@pytest.mark.parametrize("engine", ["generated", pytest.param("tape", marks=pytest.mark.long)])
def test_singular_determinants_have_a_gradient_and_their_logarithms_have_none(engine):
    b = SINGULAR[:, :1].copy()  # of the layout that the other tests have
    derivative = contad.value_and_grad(determinants, engine=engine)
    np.testing.assert_allclose(derivative(SINGULAR, b, "det")[1], [[6.0, -2.0], [-2.0, 1.0]], rtol=1e-9)
    value, bar = derivative(SINGULAR, b, "slogdet")
    assert value == -np.inf
    assert np.isnan(bar).all()


@njit
def norms(a, t, v):
    """Every norm that Numba compiles."""
    found = np.linalg.norm(a) + np.linalg.norm(a, 2) + np.linalg.norm(t, -2) + np.linalg.norm(t, 2)
    found += np.linalg.norm(a, 1) + np.linalg.norm(a, np.inf) + np.linalg.norm(a, -1) + np.linalg.norm(a, -np.inf)
    return found + np.linalg.norm(v) + np.linalg.norm(v, 2) + np.linalg.norm(v, 1) + np.linalg.norm(v, 3)


@pytest.mark.parametrize("engine", ["generated", pytest.param("tape", marks=pytest.mark.long)])
def test_norms_have_subgradient_zero_at_zero(engine):
    zeros = np.zeros((2, 2)), np.zeros((3, 2)), np.zeros(2)
    value, bars = value_and_grad(engine, norms, zeros, (0, 1, 2))
    assert value == 0.0
    for bar in bars:
        np.testing.assert_array_equal(bar, 0.0)


@njit
def eigenvalues(a):
    return np.sum(np.linalg.eigvals(a) ** 2) * np.linalg.matrix_rank(a)


@pytest.mark.parametrize("engine", [pytest.param("tape", marks=pytest.mark.long), "generated"])
def test_complex_eigenvalues_raise_as_in_the_function(engine):
    """And the call after it is right: squares of eigenvalues are the trace of the square."""
    turning = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    gradient = contad.grad(eigenvalues, engine=engine)
    with pytest.raises(ValueError, match="domain change") as raised:
        gradient(turning)
    if np.lib.NumpyVersion(np.__version__) < "2.5.0":  # later ones have complex eigenvalues for all matrices
        with pytest.raises(ValueError, match="domain change") as plain:
            eigenvalues(turning)
        assert str(raised.value) == str(plain.value)
    np.testing.assert_allclose(gradient(REAL), 6.0 * REAL.T, rtol=1e-12, atol=1e-12)
