"""The log density of a linear normal state-space model: the Kalman filter."""

import math

import numpy as np

from contad.ops.exponential import log
from contad.stan import recursion_bodies
from contad.stan.checks import ARRAYS
from contad.stan.compiled import with_bodies
from contad.stan.decompositions import cholesky_decompose
from contad.stan.matrix_algebra import diag_pre_multiply
from contad.stan.solves import mdivide_left_tri_low
from contad.variables.arguments import fail
from contad.variables.creation import array
from contad.variables.number import map_numbers, primal
from contad.variables.open_types import ArrayValue, Nested, Real

__all__ = ["gaussian_dlm_obs_lpdf"]

_LOG_TWO_PI = math.log(2.0 * math.pi)


@with_bodies(
    {
        "rt nr nn rr nn n nn": "filter_observations(y, F, G, V, W, m0, C0PROPTO)",
        "rt nr nn r nn n nn": "filter_observations(y, F, G, np.diag(V), W, m0, C0PROPTO)",
    },
    inside=[
        *((f"np.all(np.abs({name}) < np.inf)", f"{name} must be finite") for name in ("F", "G", "m0")),
        ("not np.any(np.abs(y) == np.inf)", "y must be finite"),
    ],
    **vars(recursion_bodies),
)
def gaussian_dlm_obs_lpdf(
    y: Nested, F: Nested, G: Nested, V: Nested, W: Nested, m0: Nested, C0: Nested, propto: bool = False
) -> Real:
    """Log density of a normal dynamic linear model; y has a column of r observed numbers for each time, with n hidden
    states.

        theta_0 ~ normal(m0, C0),   theta_t ~ normal(G theta_t-1, W),   y_t ~ normal(F^T theta_t, V)

    V is a matrix, or a vector for a diagonal matrix. Elements of y that are nan are missing and contribute nothing. The
    Kalman filter integrates out the hidden states. All arguments may be variables, including the observed elements of
    y.

    Shapes:  y (r, T), F (n, r), G and W (n, n), V (r, r) or (r,), m0 (n,), C0 (n, n) -> a number.
    Domain:  positive semidefinite covariances; that of each y_t given earlier observations must be positive definite.
    Raises:  ValueError for other shapes, covariances that are not positive semidefinite, and infinite values; also if
             the covariance of an observation is not positive definite, with the time.
    Cost:    O(T (n^3 + n^2 r + r^3)) and about 20 array operations for each time; if recorded, a multiple of that.
             Memory grows with T; `contad.checkpoint` around pieces of a series reduces it.
    Ref:     West & Harrison (1997), chapter 4; Stan's gaussian_dlm_obs_lpdf.

    >>> import contad
    >>> def level(v, w):  # a random walk that is seen with noise; the third is missing
    ...     return gaussian_dlm_obs_lpdf([[0.2, 0.5, np.nan, 1.1]], [[1.0]], [[1.0]], [v], [[w]], [0.0], [[1.0]])
    >>> round(float(level(0.3, 0.1)), 6), [round(x, 6) for x in contad.grad(level, (0, 1))(0.3, 0.1)]
    (-3.037038, [-1.780912, -0.877349])
    """
    name = "gaussian_dlm_obs_lpdf"
    y, F, G, V, W, m0, C0 = map(array, (y, F, G, V, W, m0, C0))
    missing = _require_model(name, y, F, G, V, W, m0, C0)
    if np.ndim(V) == 1:
        V = diag_pre_multiply(V, np.eye(np.shape(V)[0]))
    m, C = m0, C0
    total: Real = 0.0
    for t in range(np.shape(y)[1]):
        m, C = G @ m, G @ C @ np.transpose(G) + W
        seen = np.flatnonzero(~missing[:, t])
        if not seen.size:
            continue
        design, noise, observed = F, V, y[:, t]
        if seen.size < len(missing):
            design, noise, observed = F[:, seen], V[seen][:, seen], y[:, t][seen]
        across = np.transpose(design) @ C
        try:
            factor = cholesky_decompose(across @ design + noise)
        except np.linalg.LinAlgError:
            expected = "leave the covariance of y positive definite given earlier observations"
            fail(name, "V", expected, f"another at time {t}")
        error = mdivide_left_tri_low(factor, observed - np.transpose(design) @ m)
        gain = mdivide_left_tri_low(factor, across)
        m, C = m + np.transpose(gain) @ error, C - np.transpose(gain) @ gain
        total = total - 0.5 * np.sum(error * error) - np.sum(log(np.diagonal(factor)))
    constant = 0.0 if propto else 0.5 * _LOG_TWO_PI * float(np.count_nonzero(~missing))
    return total - constant


def _require_model(
    name: str, y: ArrayValue, F: ArrayValue, G: ArrayValue, V: ArrayValue, W: ArrayValue, m0: ArrayValue, C0: ArrayValue
) -> np.ndarray:
    """Check shapes and values; returns the mask of missing elements of y."""
    if np.ndim(y) != 2:
        fail(name, "y", "be a matrix with a column for each time", f"shape {np.shape(y)}")
    r = np.shape(y)[0]
    if np.ndim(F) != 2 or np.shape(F)[1] != r:
        fail(name, "F", f"have {r} columns, as y has rows", f"shape {np.shape(F)}")
    n = np.shape(F)[0]
    expected = [("G", G, (n, n)), ("W", W, (n, n)), ("m0", m0, (n,)), ("C0", C0, (n, n))]
    for argument, x, shape in expected:
        if np.shape(x) != shape:
            fail(name, argument, f"have shape {shape}, as F has {n} rows", f"shape {np.shape(x)}")
    if np.shape(V) not in ((r, r), (r,)):
        fail(name, "V", f"have shape {(r, r)} or {(r,)}, as y has {r} rows", f"shape {np.shape(V)}")
    given = zip("yFGVWmC", (y, F, G, V, W, m0, C0), strict=True)
    plain = {key: np.asarray(map_numbers(primal, x), float) for key, x in given}
    names = {"m": "m0", "C": "C0"}
    for key, x in plain.items():
        bad = np.isinf(x) if key == "y" else ~np.isfinite(x)
        if bad.any():
            fail(name, names.get(key, key), "be finite", x[bad][0])
    words, judge = ARRAYS["pos_semidefinite"]
    for key in ("V", "W", "C"):
        x = plain[key]
        if found := judge(x) if x.ndim == 2 else "" if np.all(x >= 0.0) else f"the diagonal {x}":
            fail(name, names.get(key, key), words, found)
    missing: np.ndarray = np.isnan(plain["y"])
    return missing
