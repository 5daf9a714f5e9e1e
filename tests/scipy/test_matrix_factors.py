"""Factors, functions and makers of matrices in contad.scipy.linalg: SciPy's values, both orders, refusals."""

import numpy as np
import pytest
import scipy.linalg

import contad
import contad.scipy.linalg as mirror
from contad.errors import UnsupportedError
from tests.judges.matrices import TALL, A, S, a
from tests.judges.mirrored import check_mirror

B, V = a(3, 2), np.array([1.3, -0.4, 0.7, 2.1])
MIXED = np.array([[0.1, 2.0, 0.4, -0.3], [2.0, 0.2, 1.1, 0.6], [0.4, 1.1, -1.5, 0.2], [-0.3, 0.6, 0.2, 0.05]])
FULL = a(4, 4)


def flat(*results):
    return np.concatenate([np.reshape(x, (-1,)) for x in results])


CASES = {
    "ldl": (lambda m, x: flat(*m.ldl(x)[:2]), MIXED),
    "ldl, upper": (lambda m, x: flat(*m.ldl(x, lower=False)[:2]), MIXED),
    "ldl, positive": (lambda m, x: flat(*m.ldl(x)[:2]), S),
    "hessenberg": (lambda m, x: flat(*m.hessenberg(x, calc_q=True)), FULL),
    "rq": (lambda m, x: flat(*m.rq(x)), FULL),
    "rq, wide": (lambda m, x: flat(*m.rq(x, mode="economic")), TALL.T.copy()),
    "lstsq": (lambda m, x, y: flat(*m.lstsq(x, y)[:2]), TALL, a(*TALL.shape[:1], 2)),
    "lstsq, values": (lambda m, x: m.lstsq(x, np.ones(len(x)))[3], TALL),
    "lstsq, wide": (lambda m, x, y: m.lstsq(x, y)[0], TALL.T.copy(), a(TALL.shape[1])),
    "pinvh": (lambda m, x: m.pinvh(x), S),
    "pinvh, upper": (lambda m, x: m.pinvh(np.outer(x, x) + np.outer(B[:, 0], x), lower=False, rtol=1e-9), V[:3]),
    "orthogonal_procrustes": (lambda m, x, y: flat(*m.orthogonal_procrustes(x, y)), FULL, a(4, 4, seed=3)),
    "solve_discrete_are": (
        lambda m, x, y, q, r: m.solve_discrete_are(x, y, q + q.T, r + r.T), 0.2 * A, 0.3 * B,
        0.1 * S + 0.1 * A, np.diag([1.0, 2.0]),
    ),
    "fractional_matrix_power": (lambda m, x, t: m.fractional_matrix_power(x, t), S + 0.1 * A, 0.3),
    "fractional_matrix_power, whole": (lambda m, x: m.fractional_matrix_power(x, -2.0), S + 0.1 * A),
    **{name: (lambda m, x, name=name: getattr(m, name)(x), 0.3 * A)
       for name in ("cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm")},
    "companion": (lambda m, x: m.companion(x), V),
    "leslie": (lambda m, x, y: m.leslie(x, y), V, V[:3] + 1.0),
    "fiedler": (lambda m, x: m.fiedler(x), V),
    **{f"convolution_matrix, {mode}, {n}": (
        lambda m, x, mode=mode, n=n: m.convolution_matrix(x, n, mode), V
    ) for mode, n in (("full", 3), ("same", 6), ("valid", 2))},
    "khatri_rao": (lambda m, x, y: m.khatri_rao(x, y), B, FULL[:, :2].copy()),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    call, *args = CASES[name]
    check_mirror(call, args, scipy.linalg, mirror, rtol=1e-9, atol=1e-11)


def test_factors_have_their_order():
    """The permutation of ldl and the ranks are constants."""
    results = {}

    def f(x):
        results.update(ldl=mirror.ldl(x)[2], rank=mirror.lstsq(x, np.ones(4))[2])
        results.update(hermitian=mirror.pinvh(x, return_rank=True)[1])
        return np.sum(x)

    contad.grad(f)(MIXED)
    np.testing.assert_array_equal(results["ldl"], scipy.linalg.ldl(MIXED)[2])
    assert (results["rank"], results["hermitian"]) == (4, 4)


def test_powers_of_stacks():
    stack = np.stack([S, S + 0.1 * A])
    value = contad.jvp(lambda x: mirror.fractional_matrix_power(x, 0.3), (stack,), (stack,))[0]
    np.testing.assert_allclose(value, [scipy.linalg.fractional_matrix_power(x, 0.3) for x in stack], rtol=1e-11)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda x: mirror.solve_discrete_are(x, x, x, x, e=x), UnsupportedError, "e= is not supported"),
    (lambda x: mirror.ldl(x + 1j * x)[0].real, UnsupportedError, "complex matrices"),
    (lambda x: mirror.rq(x[:2])[0], UnsupportedError, "mode must be 'economic'"),
    (lambda x: mirror.lstsq(x, np.ones(2))[0], ValueError, "Shape mismatch"),
    (lambda x: mirror.companion(x[0, :1]), ValueError, "at least 2"),
    (lambda x: mirror.leslie(x[0], x[1]), ValueError, "one less"),
    (lambda x: mirror.convolution_matrix(x[0], 0), ValueError, "positive integer"),
    (lambda x: mirror.hessenberg(x[:2]), np.linalg.LinAlgError, "square"),
])  # fmt: skip
def test_fails(call, error, message):
    with pytest.raises(error, match=message):
        contad.jvp(call, (A,), (A,))
