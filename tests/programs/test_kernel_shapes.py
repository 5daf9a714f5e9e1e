"""Operations of linear algebra in recorded programs: compiled, as the rules have it, and NumPy's where they fail."""

import pickle

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.matrix.kernel_shapes import NAMES, describe_pullback
from contad.errors import GuardError
from contad.rules.array_rule import array_rule_of
from contad.scipy import linalg
from tests.judges.steps_in_python import leave_steps_to_python

RNG = np.random.default_rng(43)
A = RNG.normal(size=(4, 4))
S = A @ A.T + np.eye(4)
B = RNG.normal(size=4)
CASES = [(name, k) for name in NAMES for k in range(len(array_rule_of(name).points))]


def rule_on(name, point):
    """(a function with the rule inside, arrays) of a point with options."""
    rule = array_rule_of(name)
    options = point[-1] if isinstance(point[-1], dict) else {}
    arrays = [np.array(x) for x in point[: len(rule.argument_names)]]
    return lambda *args: np.sum(np.sin(rule(*args, **options))), arrays


def compare(program, f, arrays, tolerance=1e-12):
    numbers = tuple(range(len(arrays)))
    with pytest.MonkeyPatch.context() as patch:  # by the rules
        leave_steps_to_python(patch)
        value, bars = contad.value_and_grad(f, numbers)(*arrays)
    found, gradients = program.value_and_grad(*arrays)
    assert found == pytest.approx(value, rel=tolerance)
    for bar, gradient in zip(bars, gradients if len(arrays) > 1 else (gradients,), strict=True):
        np.testing.assert_allclose(gradient, bar, rtol=tolerance, atol=tolerance * np.max(np.abs(bar)))
    along = [np.cos(np.arange(x.size)).reshape(x.shape) for x in arrays]
    slope = sum(np.sum(bar * d) for bar, d in zip(bars, along, strict=True))
    assert program.jvp(arrays, along)[1] == pytest.approx(slope, rel=100 * tolerance, abs=1e-12)


@pytest.mark.parametrize(("name", "k"), CASES, ids=lambda x: str(x))
def test_programs_agree_with_the_rule_at_other_inputs(name, k):
    f, arrays = rule_on(name, array_rule_of(name).points[k])
    program = contad.record(f, *arrays)
    steps = [step.rule.name for step in program.traces[0].kernel_records.values()]
    options = array_rule_of(name).points[k][-1]
    stacked = any(x.ndim > 2 for x in arrays) or (isinstance(options, dict) and "b" in options)
    assert steps == ([] if stacked else [name]) or name == "euclidean_norm"
    others = [x * 1.03 + (0.01 if x.ndim == 1 else 0.0) for x in arrays]
    compare(program, f, others)
    compare(program, f, [np.asfortranarray(x) for x in others])
    if not stacked:
        turned = [np.ascontiguousarray(x.T) for x in others]
        of_turned = contad.record(lambda *args: f_of_turned(f, args), *turned)
        compare(of_turned, lambda *args: f_of_turned(f, args), [1.01 * x for x in turned])


def f_of_turned(f, args):
    """f of transposed arguments, which a rule inside takes as they lie."""
    return f(*(x.T for x in args))


def test_transposed_matrices_are_taken_as_they_lie(no_python):
    def f(a, b, x):
        half = linalg.solve_triangular(a.T, b.T, check_finite=False)
        inverse = np.sum(np.linalg.inv(a.T) @ b.T) * np.linalg.norm(b.T)
        return np.sum(half * (x.T @ x)) + np.sum((a @ a.T) ** 2) + np.sum(b.T @ half) + inverse

    program = contad.record(f, A + 3.0 * np.eye(4), A, A[:3] + 1.0)
    assert program.python_rules == ()
    compare(program, f, [A + 4.0 * np.eye(4), 2.0 * A, A[:3] - 0.5])


def gaussian_process(length, noise, x, y):
    d = x[:, None] - x[None, :]
    lower = np.linalg.cholesky(np.exp(-0.5 * d * d / length**2) + noise**2 * np.eye(len(x)))
    z = linalg.solve_triangular(lower, y, lower=True)
    return -0.5 * np.sum(z * z) - np.sum(np.log(np.diagonal(lower)))


def kalman(f, noise, y):
    x, p, value = np.zeros(2), np.eye(2), 0.0
    h = np.array([[1.0, 0.5]])
    for seen in y:
        x, p = f @ x, f @ p @ f.T + noise
        spread = h @ p @ h.T + np.eye(1)
        gain = p @ h.T @ np.linalg.inv(spread)
        rest = seen - h @ x
        x, p = x + gain @ rest, p - gain @ h @ p
        value = value - 0.5 * (rest @ np.linalg.solve(spread, rest) + np.linalg.slogdet(spread)[1])
    return value


def fit(a, b):
    return np.sum(linalg.cho_solve(linalg.cho_factor(a.T @ a, True), a.T @ b) ** 2)


PROGRAMS = {
    gaussian_process: (1.3, 0.4, np.linspace(0.0, 3.0, 9), np.sin(np.arange(9.0))),
    kalman: (np.array([[0.9, 0.2], [-0.1, 0.8]]), np.array([[0.4, 0.1], [0.1, 0.3]]), RNG.normal(size=(6, 1))),
    fit: (RNG.normal(size=(7, 3)), RNG.normal(size=7)),
}


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_no_python_runs_in_programs_of_linear_algebra(f, no_python):
    arguments = PROGRAMS[f]
    program = contad.record(f, *arguments)
    assert program.python_rules == ()
    others = [1.01 * x for x in arguments]
    value, bars = contad.value_and_grad(f, tuple(range(len(others))))(*others)
    found, gradients = program.value_and_grad(*others)
    assert found == pytest.approx(value, rel=1e-12)
    for bar, gradient in zip(bars, gradients, strict=True):
        np.testing.assert_allclose(gradient, bar, rtol=1e-10, atol=1e-11)


def test_steps_on_one_matrix_share_its_factors():
    def f(a, b):
        return np.linalg.slogdet(a)[1] * np.sum(np.linalg.solve(a, b)) + np.sum(np.linalg.solve(a, 2.0 * b) ** 2)

    program = contad.record(f, S, B)
    (trace,) = program.traces
    n = len(S)
    assert sorted(step.rule.name for step in trace.kernel_records.values()).count("solve") == 2
    assert trace.saved == len(trace.kernel_records) + n * (n + 1)  # one word each, and one set of factors
    compare(program, f, [1.1 * S + 0.01 * A, B - 0.3])


SINGULAR = {
    "cholesky": (lambda a: np.sum(np.linalg.cholesky(a)), -S),
    "solve": (lambda a: np.sum(np.linalg.solve(a, B)), np.ones((4, 4))),
    "inv": (lambda a: np.sum(np.linalg.inv(a)), np.zeros((4, 4))),
    "solve_triangular": (lambda a: np.sum(linalg.solve_triangular(a, B)), np.zeros((4, 4))),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_a_singular_matrix_raises_what_numpy_raises(name):
    f, singular = SINGULAR[name]
    program = contad.record(f, S)
    with pytest.raises(np.linalg.LinAlgError) as plain:
        contad.grad(f)(singular)
    for run in (program, program.gradient, lambda a: program.jvp((a,), (a,))):
        with pytest.raises(np.linalg.LinAlgError) as error:
            run(singular)
        assert str(error.value) == str(plain.value)
    compare(program, f, [1.2 * S])


def test_numbers_that_are_not_finite_are_left_to_the_rules():
    def f(a, b):
        return np.sum(np.linalg.solve(a, b)) + np.linalg.slogdet(a)[1] + np.linalg.norm(b)

    program = contad.record(f, S, B)
    infinite = np.where(np.arange(4) == 2, np.inf, B)
    for b in (infinite, 0.0 * B, 1e-200 * B):
        with np.errstate(all="ignore"):
            value, bars = contad.value_and_grad(f, (0, 1))(S, b)
            found, gradients = program.value_and_grad(S, b)
        np.testing.assert_allclose(found, value, rtol=1e-12)
        for bar, gradient in zip(bars, gradients, strict=True):
            np.testing.assert_allclose(gradient, bar, rtol=1e-10, atol=1e-12)
    huge = contad.record(lambda a, x: np.sum(np.linalg.inv(a) * x * x), S, B)
    for x in (B, 1e200 * B):  # adjoints of the inverse that overflow
        with np.errstate(all="ignore"):
            bar = contad.grad(lambda a, x: np.sum(np.linalg.inv(a) * x * x))(S, x)
            np.testing.assert_allclose(huge.gradient(S, x)[0], bar, rtol=1e-9)


def test_guards_hold_beside_steps_and_python_goes_on_with_the_ways():
    def f(a):
        z = np.linalg.cholesky(a)
        return np.sum(z) if z[0, 0] > 1.0 else -np.sum(z * z)

    program = contad.record(f, S + 2.0 * np.eye(4))
    small = 0.01 * S
    with pytest.raises(GuardError, match="comparison"):
        program(small)
    both = contad.record(f, S + 2.0 * np.eye(4), retrace=True)
    assert both(small) == pytest.approx(f(small), rel=1e-12)
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        both(-S)
    assert both(S + 2.0 * np.eye(4)) == pytest.approx(f(S + 2.0 * np.eye(4)), rel=1e-12)
    assert len(both.traces) == 2


def test_steps_run_inside_njit():
    system = contad.record(lambda a: np.sum(np.linalg.solve(a, B) ** 2), S)

    @njit
    def from_njit(a):
        return system.value_and_grad(a)

    value, gradient = from_njit(1.1 * S)
    assert (value, gradient.tolist()) == (system(1.1 * S), system.gradient(1.1 * S).tolist())
    with pytest.raises(np.linalg.LinAlgError, match="recorded program is singular"):
        from_njit(np.zeros((4, 4)))


def test_programs_with_steps_are_pickled_and_shown():
    loaded = pickle.loads(pickle.dumps(contad.record(fit, *PROGRAMS[fit])))
    others = [1.1 * x for x in PROGRAMS[fit]]
    assert loaded(*others) == pytest.approx(fit(*others), rel=1e-12)
    with pytest.raises(np.linalg.LinAlgError):
        loaded(0.0 * others[0], others[1])
    assert "cholesky_factor" in loaded._repr_html_() and "none" in loaded._repr_html_()


def test_other_rules_and_stacks_are_no_steps():
    program = contad.record(lambda x: np.sum(np.linalg.inv(np.stack([x, 2.0 * x]))), S)
    assert program.python_rules == ("inv",) and not program.traces[0].kernel_records
    (call,) = program.traces[0].calls
    assert describe_pullback(call.recorded) is None
