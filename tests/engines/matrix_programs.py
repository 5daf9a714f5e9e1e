"""Numba functions that call np.linalg, for every compiled engine: systems, a Gaussian process, a Kalman filter."""


import numpy as np
from numba import njit

import contad
from contad.scipy import linalg

DRAW = np.random.default_rng(31)
A = DRAW.standard_normal((4, 4)) + 3.0 * np.eye(4)
B, V = DRAW.standard_normal((4, 3)), DRAW.standard_normal(4)
S = A @ A.T + 0.3 * A
SQUARES, DATA = (0, 1, 2, 3), (A, B, V, S)
KALMAN = (np.array([[0.9, 0.2], [-0.3, 0.7]]), np.array([[0.5, 0.0], [0.2, 0.4]]), 0.6, DRAW.standard_normal((5, 2)))
_DRAW = np.random.default_rng(47)
SQUARE = _DRAW.standard_normal((3, 3)) + np.diag([1.0, 2.5, 4.0])
TALL, WIDE = _DRAW.standard_normal((4, 3)), _DRAW.standard_normal((2, 3))
SHAPES = (SQUARE, TALL, WIDE, _DRAW.standard_normal(4))


@njit
def rotated(a, v):
    """A callee with a system, whose matrix is transposed."""
    return np.linalg.solve(a.T, v)


@njit
def systems(a, b, v, s):
    """Operands used twice, transposed, overwritten, constant, and parts of larger ones."""
    z = np.linalg.solve(a, b)
    twice = np.linalg.solve(a, a * a)
    w = rotated(a, v)
    only_a = np.linalg.solve(a * a + s, np.array([1.0, 2.0, -0.3, 0.7]))
    only_b = np.linalg.solve(np.array([[2.0, 0.3], [-0.7, 1.1]]), b[1:3, ::2])
    inverse = np.linalg.inv(a)
    factor = np.linalg.cholesky(s + 0.1 * a)
    sign, log = np.linalg.slogdet(a.T[1:, :3])
    det = np.linalg.det(s)
    kept = s.copy()
    large = np.linalg.solve(kept, z)
    kept[1] = 3.0 * v[0]  # which the solution does not see
    large[0, 1] = w[3]
    total = np.sum(z * z * b) + np.sum(twice * s) + w[1] * w[2] * v[0] + np.sum(only_a * w)
    total += only_b[0, 1] * only_b[1, 0] + inverse[0, 1] * inverse[2, 3] + np.sum(factor * factor * factor * a)
    total += sign * log * v[0] + 0.001 * det * a[0, 0] + np.sum(np.linalg.inv(kept) * large[0, 0])
    return total + np.sum(large * large)


@njit
def likelihood(x, y, scale, noise, by_factor):
    """The log marginal likelihood of a Gaussian process, by Cholesky's factor or by slogdet."""
    n = len(x)
    k = noise * np.eye(n)
    for i in range(n):
        for j in range(n):
            k[i, j] += np.exp(-0.5 * ((x[i] - x[j]) / scale) ** 2)
    if by_factor:
        factor = np.linalg.cholesky(k)
        half = np.linalg.solve(factor, y)
        log = 0.0
        for i in range(n):
            log += 2.0 * np.log(factor[i, i])
        return -0.5 * (half @ half) - 0.5 * log
    return -0.5 * (y @ np.linalg.solve(k, y)) - 0.5 * np.linalg.slogdet(k)[1]


@njit
def filtered(f, q, r, observed):
    """The log-likelihood of a Kalman filter with two states, both observed."""
    mean, p = np.zeros(2), np.eye(2)
    total = 0.0
    for t in range(len(observed)):
        mean = f @ mean
        p = f @ p @ f.T + q @ q.T
        s = p + r * np.eye(2)
        gain = np.linalg.solve(s, p).T
        residual = observed[t] - mean
        total -= 0.5 * (residual @ np.linalg.inv(s) @ residual) + 0.5 * np.log(np.linalg.det(s))
        mean = mean + gain @ residual
        p = p - gain @ p
    return total


@njit
def spectra(a, t, w, v):
    """Eigenvalues and singular values and their vectors; signs of vectors cancel."""
    e, p = np.linalg.eigh(a)
    d = np.linalg.eigvalsh(a + a.T)
    total = e[0] * e[1] + p[0, 1] * p[2, 1] * d[2] + d[0] * v[0]
    for x in (t, a[1:], 2.0 * w):
        y, s, z = np.linalg.svd(x, False)
        total += s[0] * s[1] + y[0, 0] * z[0, 1] * y[1, 1] * z[1, 0]
    return total + np.linalg.svd(a)[1][2] * np.linalg.svd(w, 0)[1][0]


@njit
def factors(a, t, w, v):
    """QR factors of three shapes, pseudoinverses and least squares."""
    total = 0.0
    for x in (a, t, w):
        q, r = np.linalg.qr(x)
        total += q[0, 1] * q[1, 1] * r[0, 2] ** 2 + q[1, 0] ** 2 * r[1, 1] ** 2
        i = np.linalg.pinv(x)
        total += i[0, 1] * i[2, 0] + x[1, 0] * i[1, 1]
    x, squares, rank, s = np.linalg.lstsq(t, v)
    total += x[0] * x[2] + squares[0] * rank + s[0] * s[2]
    x, squares, rank, s = np.linalg.lstsq(w, t[1:3])
    total += x[0, 1] * x[2, 2] + len(squares) + s[1]
    x, squares, rank, s = np.linalg.lstsq(t, np.outer(v, v[:2]))
    return total + x[0, 1] * squares[1]


@njit
def powers(a, t, w, v):
    """Powers, norms, the trace and Kronecker's product."""
    total = np.trace(np.linalg.matrix_power(a, 5)) * 1e-3 + np.linalg.matrix_power(a, 0)[1, 1]
    total += np.linalg.matrix_power(a, -3)[0, 1] * 1e2 + np.linalg.matrix_power(a, 2)[1, 2]
    total += np.linalg.matrix_power(a, 3)[1, 2] + np.linalg.matrix_power(a, 1)[0, 2]
    k = np.kron(w, a)
    total += k[1, 2] * k[4, 7]
    for order in (1, -1, 2, -2, 3):
        total += np.linalg.norm(v, order) * v[1]
    for order in (1, -1, 2, -2):
        total += np.linalg.norm(t, order) * v[2]
    for order in (np.inf, -np.inf):
        total += np.linalg.norm(t, order) * v[0] + np.linalg.norm(v, order)
    return total + np.linalg.norm(w) * np.linalg.norm(v) + np.linalg.norm(v, 0) * v[3] + np.linalg.norm(v, 2.5)


@njit
def first_spectrum(a, t, w, v):
    """An eigenvalue with a vector."""
    e, p = np.linalg.eigh(a)
    return e[0] * p[0, 1] * p[2, 1] * v[0] + t[0, 1] * w[0, 1]


@njit
def general_spectrum(a):
    w, v = np.linalg.eig(a)
    few = np.sum(np.linalg.eigvals(a) ** 2) * np.linalg.matrix_rank(a)
    return np.sum(w * w * w) + v[0, 0] * v[1, 1] * v[1, 0] + few + np.linalg.cond(a[:, :2]) * np.linalg.cond(a, 1)


@njit
def by_scipy(a, b, v, s):
    """contad.scipy.linalg with its options, in a loop too."""
    z = linalg.solve_triangular(a, b, lower=True)
    w = linalg.solve_triangular(a, v, trans=1, unit_diagonal=True)
    u = linalg.solve_triangular(a[1:, 1:], v[1:], trans="T", lower=True)
    y = linalg.cho_solve(linalg.cho_factor(s, lower=True), b)
    factor, lower = linalg.cho_factor(s + 0.1 * a)
    x = linalg.cho_solve((factor, lower), v)
    only_a = linalg.solve_triangular(a * a + s, np.array([1.0, 2.0, -0.3, 0.7]), 0, True)
    only_b = linalg.solve_triangular(np.array([[2.0, 0.3], [0.0, 1.1]]), b[1:3, ::-1], trans=2)
    total = np.sum(z * z * b) + np.sum(w * w * w)
    total += only_a[2] * w[1] + only_b[0, 0] * only_b[1, 1] + u[0] * u[2] + np.sum(y * y * z) + x[0] * x[1] * x[3]
    for i in range(2):
        v = linalg.solve_banded((1, 1), a[:3] + 3.0 * np.ones((3, 4)) * (i + 1), v)
    return total + np.sum(v * v)


@njit
def by_exponentials(a, b, v, s):
    """The same of linalg.expm, whose kernels take longest to compile."""
    e = linalg.expm(0.3 * a)
    return e[0, 1] * e[2, 3] + np.sum(linalg.expm(0.1 * s) * (b @ b.T)) * v[0]


@njit
def of_sums(x, m):
    """Sums of exponentials, of rows and columns too; and constants."""
    total = contad.logsumexp(x) * x[0] + np.sum(contad.softmax(x * x) ** 2) + contad.logsumexp(m)
    for i in range(m.shape[0]):
        total += contad.logsumexp(m[i]) * contad.softmax(m[:, i])[1]
    fixed, (a, b) = contad.stop_gradient(x), contad.stop_gradient((x[0], m))
    return total + np.sum(fixed * x) + contad.stop_gradient(x[1]) * x[2] + a * m[0, 1] + np.sum(b * m)


@njit
def of_lines(m, w):
    """Along each axis, of a matrix and of a row."""
    rows, columns = contad.logsumexp(m, axis=1), contad.logsumexp(m, axis=0)
    shares = contad.softmax(m, axis=-1) * w + contad.softmax(m * w, axis=0) * w * w
    row = contad.logsumexp(m[0], axis=0) * np.sum(contad.softmax(rows, axis=-1) * columns[:2])
    return np.sum(shares) + rows[0] * columns[1] + row


M, W = np.array([[1.3, -0.7, 2.1], [0.4, 1.9, -1.1]]), np.array([[0.3, -1.7, 0.9], [1.2, 0.6, -0.4]])
REAL = np.array([[4.3, 0.6, -0.8], [0.2, 1.9, 0.5], [-0.4, 0.9, 2.9]])
MODEL = np.sort(DRAW.uniform(0.0, 4.0, 12)), DRAW.standard_normal(12), 0.8, 0.3
PROGRAMS = {  # with their arguments, and which of them are differentiated
    "systems": (systems, DATA, SQUARES), "spectra": (spectra, SHAPES, SQUARES),
    "factors": (factors, SHAPES, SQUARES), "powers": (powers, SHAPES, SQUARES),
    "first spectrum": (first_spectrum, SHAPES, SQUARES), "general spectrum": (general_spectrum, (REAL,), (0,)),
    "SciPy": (by_scipy, DATA, SQUARES), "exponentials": (by_exponentials, DATA, SQUARES),
    "sums of exponentials": (of_sums, (V[:3], A[:3, :3]), (0, 1)), "sums along axes": (of_lines, (M, W), (0, 1)),
    "Gaussian process": (likelihood, (*MODEL, True), SQUARES),
    "Gaussian process by slogdet": (likelihood, (*MODEL, False), SQUARES), "Kalman": (filtered, KALMAN, SQUARES),
}  # fmt: skip


def differences(f, args, argnums, h=1e-6):
    """The gradient by central differences."""
    found = []
    for k in argnums:
        x = np.asarray(args[k], dtype=float)
        bar = np.empty(x.shape)
        for i in np.ndindex(x.shape):
            ends = []
            for step in (h, -h):
                moved = x.copy()
                moved[i] += step
                ends.append(f(*args[:k], moved if moved.ndim else float(moved), *args[k + 1 :]))
            bar[i] = (ends[0] - ends[1]) / (2.0 * h)
        found.append(bar)
    return found


def value_and_grad(engine, f, args, argnums):
    """By an engine, or by `text`: the source of `generated`, run as Python."""
    if engine != "text":
        return contad.value_and_grad(f, argnums=argnums, engine=engine)(*args)
    module = {}
    exec(contad.source(f, *args, argnums=argnums), module)
    return module["run"](*args)


def require_close(found, right, rtol=1e-9):
    for x, y in zip(found, right, strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=0.1 * rtol * max(1.0, np.abs(y).max()))
