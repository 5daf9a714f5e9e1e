"""The Kalman filter against the joint normal density of all observations, missing ones left out of both."""

import numpy as np
import pytest
from numba import njit

import contad
from contad import stan
from contad.engines import engine_names

N, R, T = 3, 2, 5
RNG = np.random.default_rng(8)
Y, F, G = RNG.normal(size=(R, T)), RNG.normal(size=(N, R)), 0.5 * RNG.normal(size=(N, N))
MISSING = Y.copy()
MISSING[0, 1] = MISSING[1, 3] = MISSING[0, 4] = MISSING[1, 4] = np.nan


def spd(size):
    a = RNG.normal(size=(size, size))
    return a @ a.T + 0.3 * np.eye(size)


V, W, M0, C0 = spd(R), spd(N), RNG.normal(size=N), spd(N)
MODEL = F, G, V, W, M0, C0


def by_joint_density(y, F, G, V, W, m0, C0):
    """All times at once: the mean and the covariance of theta_1 to theta_T, then of y."""
    steps = y.shape[1]
    means, covariances, m, C = [], [], m0, C0
    for _ in range(steps):
        m, C = G @ m, G @ C @ G.T + W
        means.append(F.T @ m)
        covariances.append(C)
    rows = []
    for s in range(steps):
        row = []
        for t in range(steps):
            early, late = min(s, t), max(s, t)
            across = covariances[early]
            for _ in range(late - early):
                across = G @ across
            across = F.T @ across @ F
            row.append((across if t <= s else across.T) + (V if s == t else np.zeros((R, R))))
        rows.append(np.concatenate(row, axis=1))
    seen = np.flatnonzero(~np.isnan(np.ravel(contad.value_of(y).T)))
    mean, covariance = np.concatenate(means), np.concatenate(rows)
    return stan.multi_normal_lpdf(np.ravel(y.T)[seen], mean[seen], covariance[seen][:, seen])


@pytest.mark.parametrize("y", [Y, MISSING], ids=["all", "missing"])
def test_the_joint_density(y):
    assert stan.gaussian_dlm_obs_lpdf(y, *MODEL) == pytest.approx(by_joint_density(y, *MODEL), rel=1e-11)
    places = tuple(range(1, 7))
    expected = contad.grad(by_joint_density, places)(y, *MODEL)
    for engine in engine_names():
        found = contad.grad(stan.gaussian_dlm_obs_lpdf, places, engine=engine)(y, *MODEL)
        for k, (a, b) in enumerate(zip(found, expected, strict=True)):
            symmetric = k in (2, 3, 5)  # Cholesky's factor reads one triangle, the filter both
            one, other = (0.5 * (x + x.T) if symmetric else x for x in (a, b))
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def test_derivatives_in_the_data_and_of_second_order():
    np.testing.assert_allclose(
        contad.grad(stan.gaussian_dlm_obs_lpdf)(Y, *MODEL), contad.grad(by_joint_density)(Y, *MODEL), rtol=1e-9
    )
    of = lambda f, y: lambda v: f(y, F * v[0], G * v[1], V * v[2], W * v[3], M0 * v[4], C0 * v[5])
    v = np.array([1.1, 0.9, 1.2, 0.8, 1.3, 0.7])
    found, expected = (contad.hessian(of(f, MISSING))(v) for f in (stan.gaussian_dlm_obs_lpdf, by_joint_density))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_a_vector_of_variances_and_propto():
    v = np.array([0.4, 1.7])
    as_matrix = stan.gaussian_dlm_obs_lpdf(MISSING, F, G, np.diag(v), W, M0, C0)
    assert stan.gaussian_dlm_obs_lpdf(MISSING, F, G, v, W, M0, C0) == pytest.approx(as_matrix, rel=1e-13)
    slopes = contad.grad(stan.gaussian_dlm_obs_lpdf, 3)(MISSING, F, G, np.diag(v), W, M0, C0)
    found = contad.grad(stan.gaussian_dlm_obs_lpdf, 3)(MISSING, F, G, v, W, M0, C0)
    np.testing.assert_allclose(found, np.diag(slopes), rtol=1e-11)
    dropped = stan.gaussian_dlm_obs_lpdf(MISSING, *MODEL, propto=True) - stan.gaussian_dlm_obs_lpdf(MISSING, *MODEL)
    assert dropped == pytest.approx(0.5 * 6 * np.log(2.0 * np.pi))
    assert stan.gaussian_dlm_obs_lpdf(np.full((R, T), np.nan), *MODEL) == 0.0


@pytest.mark.parametrize(("place", "value", "message"), [
    (0, Y[0], r"y must be a matrix with a column for each time, got shape \(5,\)"),
    (1, F[:, :1], r"F must have 2 columns, as y has rows, got shape \(3, 1\)"),
    (2, G[:2], r"G must have shape \(3, 3\), as F has 3 rows, got shape \(2, 3\)"),
    (3, np.ones(3), r"V must have shape \(2, 2\) or \(2,\), as y has 2 rows, got shape \(3,\)"),
    (3, -10.0 * np.eye(2), "V must be symmetric and positive semidefinite, got the eigenvalue -10"),
    (4, W + np.tri(3), "W must be symmetric and positive semidefinite, got elements that differ"),
    (5, np.full(3, np.nan), "m0 must be finite, got nan"),
    (0, np.full((R, T), np.inf), "y must be finite, got inf"),
])  # fmt: skip
def test_bad_input(place, value, message):
    args = [Y, *MODEL]
    args[place] = value
    for call in (stan.gaussian_dlm_obs_lpdf, contad.grad(stan.gaussian_dlm_obs_lpdf, 1)):
        with pytest.raises(ValueError, match=f"gaussian_dlm_obs_lpdf: {message}"):
            call(*args)
    assert contad.stack().top <= 1


# ---- Numba functions -------------------------------------------------------------------------------------------------
@njit
def compiled(y, F, G, V, W, m0, C0):
    return stan.gaussian_dlm_obs_lpdf(y, F, G, V, W, m0, C0)


@pytest.mark.parametrize("y", [Y, MISSING], ids=["complete", "missing"])
@pytest.mark.parametrize("noise", [V, np.array([0.4, 1.3])], ids=["matrix", "vector"])
def test_numba_functions(y, noise):
    model = y, F, G, noise, W, M0, C0
    assert compiled(*model) == pytest.approx(compiled.py_func(*model), rel=1e-12)
    active = (1, 2, 3, 4, 5, 6)
    found, expected = (contad.grad(f, active)(*model) for f in (compiled, compiled.py_func))
    for k, a, b in zip(active, found, expected, strict=True):
        is_symmetric = k in (4, 6) or (k == 3 and noise.ndim == 2)  # it may be read by halves
        x, y = (a + a.T, b + b.T) if is_symmetric else (a, b)
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


def test_numba_functions_check_their_arguments():
    with pytest.raises(ValueError, match="gaussian_dlm_obs_lpdf: V, W and C0 must be finite and positive semidefinite"):
        compiled(Y, F, G, V, -W, M0, C0)
    with pytest.raises(ValueError, match="gaussian_dlm_obs_lpdf: m0 must be finite"):
        compiled(Y, F, G, V, W, M0 * np.inf, C0)
