"""The log marginal likelihood of a Gaussian process with a squared-exponential kernel."""

import functools
import math
from typing import Any

import numpy as np
from numba import njit
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

import contad
from benchmarks.comparison import gaussian, in_numpy, shaped
from benchmarks.comparison.gaussian import LOG_2PI
from benchmarks.comparison.program import Program, Run, TooSlow
from benchmarks.comparison.written import IDIOMS, IN_C
from contad.scipy import linalg

ARGNUMS = (0, 1, 2)


def inputs(points: int) -> tuple[Any, ...]:
    """The kernel's amplitude and length, the standard deviation of the noise, the points (points, 2) and the values."""
    rng = np.random.default_rng(61)
    x = 3.0 * rng.random((points, 2))
    return 1.3, 0.7, 0.4, x, np.sin(2.0 * x[:, 0]) * x[:, 1] + 0.3 * rng.normal(size=points)


def squared_distances(np: Any, x: Any) -> Any:
    apart = x[:, None, :] - x[None, :, :]
    return np.sum(apart * apart, 2)


def covariance(np: Any, eye: Any, amplitude: Any, length: Any, noise: Any, x: Any) -> Any:
    kernel = amplitude * amplitude * np.exp(-0.5 * squared_distances(np, x) / (length * length))
    return kernel + noise * noise * eye(x.shape[0])


def by_hand(amplitude, length, noise, x, y):
    """By d value = tr((a a' - inverse) dK) / 2, a = inverse y, where dK is diagonal or a multiple of the kernel."""
    n = len(y)
    if n < 60:  # where the calls take longer than the work
        return gaussian.by_hand(amplitude, length, noise, x, y)
    squares = np.sum(x * x, 1)
    distances = squares[:, None] + squares - 2.0 * (x @ x.T)
    kernel = np.exp(distances * (-0.5 / (length * length)))
    kernel *= amplitude * amplitude
    matrix = kernel.copy()
    matrix.flat[:: n + 1] += noise * noise
    factor, _ = dpotrf(matrix.T, lower=1, overwrite_a=1, clean=1)
    solved, _ = dpotrs(factor, y, lower=1)
    value = -0.5 * y @ solved - np.sum(np.log(np.diagonal(factor))) - 0.5 * n * LOG_2PI
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)  # its lower triangle; above the diagonal it is zero
    trace = np.trace(inverse)
    kernel_solved = kernel @ solved
    inverse *= kernel.T
    of_kernel = solved @ kernel_solved - 2.0 * np.sum(inverse) + np.trace(inverse)
    inverse *= distances.T  # which are zero on the diagonal
    kernel *= distances
    of_distances = solved @ (kernel @ solved) - 2.0 * np.sum(inverse)
    return value, (of_kernel / amplitude, 0.5 * of_distances / length**3, noise * (solved @ solved - trace))


@njit
def by_factor(amplitude, length, noise, x, y):
    """By calls of LAPACK, which Numba makes."""
    n, d = x.shape
    kernel = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            distance = 0.0
            for c in range(d):
                distance += (x[i, c] - x[j, c]) ** 2
            kernel[i, j] = amplitude * amplitude * math.exp(-0.5 * distance / (length * length))
        kernel[i, i] += noise * noise
    lower = np.linalg.cholesky(kernel)
    z = linalg.solve_triangular(lower, y, lower=True)
    return -0.5 * np.sum(z * z) - np.sum(np.log(np.diag(lower))) - 0.5 * n * LOG_2PI


# ---- contad ----------------------------------------------------------------------------------------------------------
def tape(*args: Any) -> Run:
    if len(args[4]) > 300:
        raise TooSlow("the tape holds a record for each of the 2 10^7 multiplications of Cholesky's algorithm")
    return shaped.on_engine(gaussian.density, ARGNUMS, "tape")(*args)


@contad.array_rule()
def normal_density(matrix, y):
    """The log density of y ~ normal(0, matrix). A rule of the user's own."""
    return with_factor(matrix, y)[0]


@normal_density.forward
def with_factor(matrix, y):
    factor, _ = dpotrf(matrix.T, lower=1, clean=1)
    solved, _ = dpotrs(factor, y, lower=1)
    return -0.5 * y @ solved - np.sum(np.log(np.diagonal(factor))) - 0.5 * len(y) * LOG_2PI, factor


@normal_density.vjp("matrix")
def of_matrix(z, z_bar, matrix, y, saved):
    inverted = inverse(matrix, factor=saved)
    solved = inverted @ y
    return (0.5 * z_bar) * (np.outer(solved, solved) - inverted)


@contad.array_rule()
def inverse(matrix, *, factor):
    """The inverse of a symmetric matrix, by its factor."""
    lower, _ = dpotri(factor, lower=1)
    return lower + np.tril(lower, -1).T


def with_own_rule(amplitude, length, noise, x, y):
    return normal_density(covariance(np, np.eye, amplitude, length, noise, x), y)


# ---- peers -----------------------------------------------------------------------------------------------------------
def over_arrays(np: Any, eye: Any, diagonal: Any, solve: Any) -> Any:
    """By Cholesky's factor; solve(lower, y) solves with it."""

    def f(amplitude: Any, length: Any, noise: Any, x: Any, y: Any) -> Any:
        lower = np.linalg.cholesky(covariance(np, eye, amplitude, length, noise, x))
        z = solve(lower, y)
        return -0.5 * np.sum(z * z) - np.sum(np.log(diagonal(lower))) - 0.5 * y.shape[0] * LOG_2PI

    return f


def autograd(*args: Any) -> Run:
    from autograd.scipy.linalg import solve_triangular

    solve = functools.partial(solve_triangular, lower=True)
    return shaped.with_autograd(lambda anp: over_arrays(anp, anp.eye, anp.diag, solve), ARGNUMS)(*args)


def jax(*args: Any) -> Run:
    from jax.scipy.linalg import solve_triangular

    solve = functools.partial(solve_triangular, lower=True)
    return shaped.with_jax(lambda jnp: over_arrays(jnp, jnp.eye, jnp.diagonal, solve), ARGNUMS)(*args)


def torch(*args: Any) -> Run:
    def write(torch: Any) -> Any:
        def solve(lower: Any, y: Any) -> Any:
            return torch.linalg.solve_triangular(lower, y[:, None], upper=False)

        eye = functools.partial(torch.eye, dtype=torch.float64)
        return over_arrays(torch, eye, torch.diagonal, solve)

    return shaped.with_torch(write, ARGNUMS)(*args)


def casadi(*args: Any) -> Run:
    """A scalar graph of the whole, by casadi.chol."""
    if len(args[4]) > 150:
        raise TooSlow("casadi.chol makes a scalar graph, which for 500 points has 2 10^7 nodes before the gradient")

    def write(casadi: Any, amplitude: Any, length: Any, noise: Any, x: np.ndarray, y: np.ndarray) -> Any:
        kernel = amplitude**2 * casadi.exp(-0.5 * casadi.DM(squared_distances(np, x)) / length**2)
        upper = casadi.chol(kernel + noise**2 * casadi.DM.eye(len(y)))
        z = casadi.solve(upper.T, casadi.DM(y))
        return -0.5 * casadi.sumsqr(z) - casadi.sum1(casadi.log(casadi.diag(upper))) - 0.5 * len(y) * LOG_2PI

    return shaped.with_casadi(write, ARGNUMS, "SX", in_c=len(args[4]) < 50)(*args)


def xad(*args: Any) -> Run:
    if len(args[4]) > 150:
        raise TooSlow("xad has no matrices: Cholesky's algorithm records 2 10^7 multiplications, called from Python")
    from xad.math import exp, log, sqrt

    def f(amplitude: Any, length: Any, noise: Any, x: Any, y: Any) -> Any:
        rows: list[Any] = []
        z: list[Any] = []
        value = -0.5 * len(y) * LOG_2PI
        variance, rate = amplitude * amplitude, -0.5 / (length * length)
        for i, point in enumerate(x):
            row: list[Any] = []
            for j in range(i + 1):
                distance = sum((a - b) ** 2 for a, b in zip(point, x[j], strict=True))
                entry = variance * exp(rate * distance) if i > j else variance + noise * noise
                for k in range(j):
                    entry = entry - row[k] * (rows[j][k] if i > j else row[k])
                row.append(entry / rows[j][j] if i > j else sqrt(entry))
            rows.append(row)
            residual = y[i]
            for k in range(i):
                residual = residual - row[k] * z[k]
            z.append(residual / row[i])
            value = value - 0.5 * z[i] * z[i] - log(row[i])
        return value

    return shaped.with_xad(f, ARGNUMS)(*args)


REMARKS = (
    "At 20 points casadi is first: its C is straight-line code for this size. At 500 points the scalar loops of "
    "`generated` and `tape` lose to LAPACK's blocks; `matrix` and `record` use a rule for the whole density, "
    "written in this file."
)

IN_LOOPS = Program(
    name="gaussian_process",
    about="log normal(y; 0, K), K_ij = a^2 exp(-|x_i - x_j|^2 / (2 l^2)) + s^2 [i = j], by Cholesky's factor",
    sizes={"small": {"points": 20}, "medium": {"points": 100}, "large": {"points": 500}},
    inputs=inputs,
    argnums=ARGNUMS,
    primal=gaussian.density,
    by_hand=by_hand,
    contad={
        "generated": shaped.on_engine(gaussian.density, ARGNUMS, "generated"), "tape": tape,
        **shaped.in_registers(gaussian.density, ARGNUMS), **shaped.on_bound(gaussian.density, ARGNUMS),
        **shaped.on_eager(with_own_rule, ARGNUMS),
    },
    peers={"autograd": autograd, "jax": jax, "torch": torch, "casadi": casadi, "xad": xad},
    idioms=IDIOMS | {
        "autograd": IDIOMS["autograd"] + "; autograd.scipy.linalg.solve_triangular",
        "jax": IDIOMS["jax"] + "; jax.numpy.linalg.cholesky and jax.scipy.linalg.solve_triangular",
        "torch": IDIOMS["torch"] + "; torch.linalg.cholesky and solve_triangular",
        "casadi": "SX and casadi.chol, a graph of numbers (web.casadi.org/docs); at 20 points " + IN_C,
        "xad": IDIOMS["xad"] + "; Cholesky's algorithm in Python",
    },
    remarks=REMARKS,
    in_numpy=in_numpy.gaussian_process,
)  # fmt: skip

of_arrays = over_arrays(np, np.eye, np.diagonal, functools.partial(linalg.solve_triangular, lower=True))

WITH_FACTOR = IN_LOOPS._replace(
    name="gaussian_process_lapack",
    about=IN_LOOPS.about + " of LAPACK, in a Numba function",
    sizes={"tiny": {"points": 20}, "small": {"points": 100}, "medium": {"points": 500}, "large": {"points": 1500}},
    primal=by_factor,
    contad=shaped.on_compiled(by_factor, ARGNUMS) | shaped.on_bound(by_factor, ARGNUMS)
    | shaped.on_eager(of_arrays, ARGNUMS),
    in_numpy=in_numpy.gaussian_process,
    remarks="By hand the inverse from the factor gives the gradient: there is no derivative of the factor. At 20 "
    "points casadi is first: its C is straight-line code for this size; of `matrix` Python is nearly all. At larger "
    "ones `matrix` and `record` pass over (points, points, 2) arrays, and hold the adjoint of each matrix between two "
    "calls, as the gradient by hand in NumPy does.",
)

PROGRAMS = [IN_LOOPS, WITH_FACTOR]
