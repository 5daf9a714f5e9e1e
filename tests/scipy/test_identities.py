"""What defines a decomposition holds at every matrix, so that it has no derivative."""

import numpy as np
import pytest

import contad
from contad.scipy import linalg

DRAW = np.random.default_rng(13)
A, C = DRAW.standard_normal((4, 4)) + 3.0 * np.eye(4), DRAW.standard_normal((4, 4))


def spd(x):
    return x @ turned(x) + np.eye(4)


def symmetric(x):
    return 0.5 * (x + turned(x))


def weigh(z):
    """One number, with weights that depend on the places."""
    return np.sum(np.cos(np.arange(16.0) + 0.3) * np.reshape(z, (-1,)) if np.ndim(z) else z)


def turned(x):
    return np.swapaxes(x, -1, -2)


# name: (what is computed of a matrix, what is zero of the matrix and of that)
IDENTITIES = {
    "cholesky": (lambda x: np.linalg.cholesky(spd(x)), lambda x, z: z @ turned(z) - spd(x)),
    "solve": (lambda x: np.linalg.solve(x, x @ x), lambda x, z: x @ z - x @ x),
    "inv": (np.linalg.inv, lambda x, z: x @ z - np.eye(4)),
    "eigh": (lambda x: np.linalg.eigh(symmetric(x)), lambda x, w, v: symmetric(x) @ v - v * w),
    "svd": (np.linalg.svd, lambda x, u, s, v: (u * s) @ v - x),
    "qr": (np.linalg.qr, lambda x, q, r: q @ r - x),
    "pinv": (np.linalg.pinv, lambda x, z: x @ z @ x - x),
    "lu": (linalg.lu, lambda x, p, low, up: p @ low @ up - x),
    "schur": (lambda x: linalg.schur(symmetric(x)), lambda x, t, z: z @ t @ turned(z) - symmetric(x)),
    "polar": (linalg.polar, lambda x, u, p: u @ p - x),
    "sqrtm": (lambda x: linalg.sqrtm(spd(x)), lambda x, z: z @ z - spd(x)),
    "logm": (lambda x: linalg.logm(spd(0.3 * x)), lambda x, z: linalg.expm(z) - spd(0.3 * x)),
    "expm": (linalg.expm, lambda x, z: z @ linalg.expm(-x) - np.eye(4)),
    "solve_sylvester": (lambda x: linalg.solve_sylvester(x, turned(x), x), lambda x, z: x @ z + z @ turned(x) - x),
    "solve_discrete_lyapunov": (
        lambda x: linalg.solve_discrete_lyapunov(0.1 * x, x), lambda x, z: 0.01 * x @ z @ turned(x) - z + x,
    ),
    "slogdet": (np.linalg.slogdet, lambda x, sign, log: sign * np.exp(log) - np.linalg.det(x)),
}  # fmt: skip


@pytest.mark.parametrize("name", IDENTITIES)
def test_identities_have_the_derivative_zero(name):
    """What is zero at every matrix has no derivative, in both modes."""
    compute, check = IDENTITIES[name]

    def f(x):
        z = compute(x)
        return check(x, *(z if isinstance(z, tuple) else (z,)))

    size = np.max(np.abs(A)) ** 2
    assert np.max(np.abs(f(A))) < 1e-11 * size
    assert np.max(np.abs(contad.grad(lambda x: weigh(f(x)))(A))) < 1e-10 * size
    assert np.max(np.abs(contad.jvp(f, (A,), (C,))[1])) < 1e-10 * size
