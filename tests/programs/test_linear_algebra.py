"""Linear algebra whose outcome has a discrete part, in recorded programs: guarded, and right at other inputs."""

import numpy as np
import pytest

import contad
from contad.errors import GuardError
from contad.scipy import linalg
from tests.judges.written import function_of

A = np.random.default_rng(41).standard_normal((4, 4)) + np.diag([2.0, -2.0, 2.0, 2.0])


KNOWN = {"__name__": __name__, "np": np, "linalg": linalg}
FUNCTIONS = {  # a function, and where it takes another way
    "log_of_determinant": ("sign, log = np.linalg.slogdet(x); sign * log * np.sum(x)", A[[1, 0, 2, 3]]),
    "logs_of_determinants": (
        "sign, log = np.linalg.slogdet(np.stack([x, x[::-1]])); np.sum(sign * log) * x[0, 0]", A[[1, 0, 2, 3]]),
    "lu_factors": (
        ("p, low, up = linalg.lu(x); np.sum(p @ low**2) + np.sum(up**3)"
         " + np.sum(linalg.lu(x[:, :2])[1] ** 2) + np.sum(linalg.lu(x[:2])[2])"), A[[1, 0, 2, 3]]),
    "lu_solution": ("np.sum(linalg.lu_solve(linalg.lu_factor(x), x[0]) ** 2)", A[[1, 0, 2, 3]]),
    "least_squares": (
        ("solution, squares, rank, s = np.linalg.lstsq(x[:, :2], x[:, 2], rcond=None); "
         "np.sum(solution) * rank + squares[0] + s[1]"), np.ones((4, 4))),
    "vectors_of_some": (
        'np.sum(linalg.eigh_tridiagonal(x[0], x[1, :3], select="v", select_range=(0.0, 5.0))[1] ** 3)', A - 5.0),
    "count_of_elements": ("np.linalg.norm(x[0], 0) * np.sum(x * x)", 0.0 * A),
    "vectors_of_bands": (
        "w, v = linalg.eigh_tridiagonal(x[0], x[1, :3]); np.sum(v**3 * np.arange(16.0).reshape(4, 4)) + w[0]", None),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_programs_are_right_at_other_inputs_or_guarded(name):
    row, guarded = FUNCTIONS[name]
    f = function_of(row, KNOWN)
    program = contad.record(f, A)
    for k in range(4):
        x = A * (1.0 + 0.003 * k) + 0.002 * k
        value, bar = contad.value_and_grad(f)(x)
        assert program(x) == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(contad.grad(program)(x), bar, rtol=1e-9, atol=1e-12)
    if guarded is not None:
        with pytest.raises(GuardError):
            program(guarded)


def test_signs_do_not_overflow():
    log_of_determinant = function_of(FUNCTIONS["log_of_determinant"][0], KNOWN)
    for scale in (1e-200, 1e200):
        program = contad.record(log_of_determinant, A * scale)
        assert program(A[::-1][::-1] * scale * 1.1) == pytest.approx(log_of_determinant(A * scale * 1.1), rel=1e-12)


def test_a_rule_is_evaluated_once_for_value_and_gradient(monkeypatch):
    program = contad.record(lambda x: np.sum(np.linalg.pinv(x @ x.T)), A)
    assert program.python_rules == ("pseudoinverse",)
    calls = []
    plain = np.linalg.pinv
    monkeypatch.setattr(np.linalg, "pinv", lambda *args, **options: calls.append(1) or plain(*args, **options))
    program.value_and_grad(2.0 * A)
    assert len(calls) == 1
