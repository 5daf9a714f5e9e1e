"""Programs of linear algebra by hand in NumPy and SciPy, call by call: the second reference, for eager engines.

The first reference uses what only a person sees: that a density needs the inverse and no derivative of a factor, that
least squares needs none of Q; or it is compiled. Here each call of the program is there, and after it its own reverse,
by the functions that one finds first. What is left is how an engine records, and what its rules cost.
"""

from typing import Any

import numpy as np
import scipy.linalg

from benchmarks.comparison.gaussian import LOG_2PI


def solve(lower: Any, b: Any, trans: int = 0) -> Any:
    return scipy.linalg.solve_triangular(lower, b, trans=trans, lower=True, check_finite=False)


def pull_cholesky(lower: Any, bar: Any) -> Any:
    """The cotangent of the matrix as symmetric, twice: L^-T (P + P^T) L^-1, P the lower triangle of L^T bar, halved."""
    inner = np.tril(lower.T @ bar)
    inner.flat[:: len(lower) + 1] *= 0.5
    return solve(lower, solve(lower, inner + inner.T, 1).T, 1)


def gaussian_process(amplitude, length, noise, x, y):
    n = len(y)
    apart = x[:, None, :] - x[None, :, :]
    distances = np.sum(apart * apart, 2)
    kernel = amplitude * amplitude * np.exp(-0.5 * distances / (length * length))
    lower = np.linalg.cholesky(kernel + noise * noise * np.eye(n))
    diagonal = np.diagonal(lower)
    z = solve(lower, y)
    value = -0.5 * np.sum(z * z) - np.sum(np.log(diagonal)) - 0.5 * n * LOG_2PI
    lower_bar = np.outer(solve(lower, z, 1), z)
    lower_bar.flat[:: n + 1] -= 1.0 / diagonal
    both = pull_cholesky(lower, np.tril(lower_bar))
    kernel_bar = both * kernel
    of_length = 0.5 * np.sum(kernel_bar * distances) / length**3
    return value, (np.sum(kernel_bar) / amplitude, of_length, noise * np.trace(both))


def multivariate_normal(mean, covariance, y):
    count, dimension = y.shape
    lower = np.linalg.cholesky(covariance)
    diagonal = np.diagonal(lower)
    z = solve(lower, (y - mean).T)
    value = -0.5 * y.size * LOG_2PI - 0.5 * np.sum(z * z) - count * np.sum(np.log(diagonal))
    back = solve(lower, z, 1)
    lower_bar = back @ z.T
    lower_bar.flat[:: dimension + 1] -= count / diagonal
    by_covariance = np.tril(pull_cholesky(lower, np.tril(lower_bar)))
    by_covariance.flat[:: dimension + 1] *= 0.5
    return value, (np.sum(back, 1), by_covariance)


def qr(a, b, w):
    q, r = np.linalg.qr(a)
    c = q.T @ b
    x = scipy.linalg.solve_triangular(r, c, check_finite=False)
    c_bar = scipy.linalg.solve_triangular(r, w, trans=1, check_finite=False)
    q_bar, r_bar = np.outer(b, c_bar), -np.triu(np.outer(c_bar, x))
    t = np.tril(r @ r_bar.T - q_bar.T @ q)
    total = q_bar + q @ (t + np.tril(t, -1).T)
    return w @ x, (scipy.linalg.solve_triangular(r, total.T, check_finite=False).T, q @ c_bar)


def normal_equations(a, b, w):
    factor = scipy.linalg.cho_factor(a.T @ a, True, check_finite=False)
    x = scipy.linalg.cho_solve(factor, a.T @ b, check_finite=False)
    right_bar = scipy.linalg.cho_solve(factor, w, check_finite=False)
    matrix_bar = -np.outer(right_bar, x)
    return w @ x, (a @ (matrix_bar + matrix_bar.T) + np.outer(b, right_bar), a @ right_bar)


def banded_system(k, heat):
    n = len(heat)
    band = np.zeros((3, n))
    band[0, 1:] = band[2, :-1] = -k[1:n]
    band[1] = k[:-1] + k[1:] + 0.1
    u = scipy.linalg.solve_banded((1, 1), band, heat, check_finite=False)
    bar = scipy.linalg.solve_banded((1, 1), band, 2.0 * u, check_finite=False)  # it is symmetric
    by_main = -bar * u
    by_k = np.zeros(n + 1)
    by_k[:-1] += by_main
    by_k[1:] += by_main
    by_k[1:n] += bar[:-1] * u[1:] + bar[1:] * u[:-1]
    return np.sum(u * u), (by_k, bar)


def exponential(a, w):
    along = scipy.linalg.expm_frechet(a.T, w, compute_expm=False, check_finite=False)
    return np.sum(w * scipy.linalg.expm(a)), (along,)


def kalman(transition, noise, error, seen_with, y):
    f, h = transition, seen_with
    n = len(f)
    x, p, value = np.zeros(n), np.eye(n), 0.0
    kept = []
    for observed in y:
        moved = f @ x
        ahead = f @ p @ f.T + noise
        surprise = observed - h @ moved
        seen = h @ ahead
        spread = seen @ h.T + error
        inverse = np.linalg.inv(spread)
        gain = ahead @ h.T @ inverse
        kept.append((x, p, ahead, surprise, seen, inverse, gain))
        x = moved + gain @ surprise
        p = ahead - gain @ seen
        value -= 0.5 * (surprise @ (inverse @ surprise) + np.log(np.linalg.det(spread)))
    f_bar, noise_bar, error_bar = np.zeros((n, n)), np.zeros((n, n)), np.zeros(error.shape)
    x_bar, p_bar = np.zeros(n), np.zeros((n, n))
    for before, p, ahead, surprise, seen, inverse, gain in reversed(kept):
        gain_bar = np.outer(x_bar, surprise) - p_bar @ seen.T
        inverse_bar = h @ ahead.T @ gain_bar - 0.5 * np.outer(surprise, surprise)
        spread_bar = -inverse.T @ inverse_bar @ inverse.T - 0.5 * inverse.T
        surprise_bar = gain.T @ x_bar - 0.5 * (inverse + inverse.T) @ surprise
        ahead_bar = p_bar + gain_bar @ inverse.T @ h + h.T @ (spread_bar @ h - gain.T @ p_bar)
        moved_bar = x_bar - h.T @ surprise_bar
        f_bar += np.outer(moved_bar, before) + ahead_bar @ f @ p.T + ahead_bar.T @ f @ p
        noise_bar += ahead_bar
        error_bar += spread_bar
        x_bar = f.T @ moved_bar
        p_bar = f.T @ ahead_bar @ f
    return value, (f_bar, noise_bar, error_bar)
