"""Programs of one or two calls of LAPACK: a normal density, least squares, a banded system, an exponential."""

import functools
from typing import Any

import numpy as np
import scipy.linalg
from numba import njit
from scipy.linalg.lapack import dgtsv, dpotrf, dpotri, dpotrs

from benchmarks.comparison import in_numpy, shaped
from benchmarks.comparison.gaussian import LOG_2PI
from benchmarks.comparison.program import Program
from benchmarks.comparison.shaped import Version
from benchmarks.comparison.written import IDIOMS
from contad.scipy import linalg


def name_idioms(*names: str) -> dict[str, str]:
    return {name: IDIOMS[name] for name in names}


# ---- a multivariate normal density -----------------------------------------------------------------------------------
def draw_normal(count: int, dimension: int) -> tuple[Any, ...]:
    """The mean, the covariance and the data (count, dimension)."""
    rng = np.random.default_rng(91)
    a = rng.normal(size=(dimension, dimension))
    return rng.normal(size=dimension), a @ a.T / dimension + np.eye(dimension), rng.normal(size=(count, dimension))


def mirror_lower(np: Any) -> Any:
    """The symmetric matrix of a lower triangle, for tools that take the derivative for half in each triangle."""
    return lambda a: np.tril(a) + np.tril(a, -1).T


def density_over(np: Any, solve: Any, diagonal: Any, read: Any = lambda covariance: covariance) -> Any:
    """By Cholesky's factor; solve(lower, b) solves with it."""

    def f(mean: Any, covariance: Any, y: Any) -> Any:
        lower = np.linalg.cholesky(read(covariance))
        z = solve(lower, (y - mean).T)
        constant = -0.5 * y.shape[0] * y.shape[1] * LOG_2PI
        return constant - 0.5 * np.sum(z * z) - y.shape[0] * np.sum(np.log(diagonal(lower)))

    return f


solve_lower = functools.partial(linalg.solve_triangular, lower=True)
density_of_arrays = density_over(np, solve_lower, np.diagonal)


@njit
def density(mean, covariance, y):
    lower = np.linalg.cholesky(covariance)
    z = linalg.solve_triangular(lower, (y - mean).T, lower=True)
    constant = -0.5 * y.shape[0] * y.shape[1] * LOG_2PI
    return constant - 0.5 * np.sum(z * z) - y.shape[0] * np.sum(np.log(np.diag(lower)))


def density_by_hand(mean, covariance, y):
    """With the inverse from Cholesky's factor; of the covariance the lower triangle is read."""
    count, dimension = y.shape
    factor, _ = dpotrf(covariance.T, lower=1, clean=1)
    away = (y - mean).T
    solved, _ = dpotrs(factor, away, lower=1)
    value = -0.5 * np.vdot(away, solved) - count * np.sum(np.log(np.diagonal(factor)))
    inverse, _ = dpotri(factor, lower=1)
    by_covariance = solved @ solved.T - count * np.tril(inverse)
    by_covariance.flat[:: dimension + 1] *= 0.5
    return value - 0.5 * y.size * LOG_2PI, (np.sum(solved, 1), np.tril(by_covariance))


def density_in_autograd(*args: Any) -> Any:
    from autograd.scipy.linalg import solve_triangular

    solve = functools.partial(solve_triangular, lower=True)
    return shaped.with_autograd(lambda anp: density_over(anp, solve, anp.diag, mirror_lower(anp)), (0, 1))(*args)


def density_in_jax(*args: Any) -> Any:
    from jax.scipy.linalg import solve_triangular

    solve = functools.partial(solve_triangular, lower=True)
    return shaped.with_jax(lambda jnp: density_over(jnp, solve, jnp.diagonal, mirror_lower(jnp)), (0, 1))(*args)


def density_in_torch(*args: Any) -> Any:
    def write(torch: Any) -> Any:
        solve = functools.partial(torch.linalg.solve_triangular, upper=False)
        return density_over(torch, solve, torch.diagonal, mirror_lower(torch))

    return shaped.with_torch(write, (0, 1))(*args)


MULTIVARIATE_NORMAL = Program(
    name="multivariate_normal",
    about="log density of rows y_i ~ normal(m, K), by Cholesky's factor and one triangular system",
    sizes={
        "small": {"count": 10, "dimension": 5}, "medium": {"count": 100, "dimension": 50},
        "large": {"count": 1000, "dimension": 100},
    },
    inputs=draw_normal,
    argnums=(0, 1),
    primal=density,
    by_hand=density_by_hand,
    in_numpy=in_numpy.multivariate_normal,
    contad=shaped.on_compiled(density, (0, 1)) | shaped.on_eager(density_of_arrays, (0, 1)),
    peers={"autograd": density_in_autograd, "jax": density_in_jax, "torch": density_in_torch},
    idioms=name_idioms("autograd", "jax", "torch"),
    remarks="By hand the inverse gives the derivative of the covariance without one of the factor. The lower triangle "
    "of the covariance is read; jax, torch and autograd, which share the derivative between both, are told so. Of "
    "`matrix` with few data Python is nearly all: 5 to 15 us to record each of a factor, a system, a difference of "
    "data and mean and the logarithms of a diagonal, where by hand they are eight calls; the sweep is compiled. Large: "
    "torch has MKL's triangular systems, which take less than half the time of OpenBLAS'.",
)  # fmt: skip


# ---- least squares ---------------------------------------------------------------------------------------------------
def draw_data(rows: int, columns: int) -> tuple[Any, ...]:
    """The matrix, the right-hand side, and weights of the solution, whose sum is the value."""
    rng = np.random.default_rng(97)
    return rng.normal(size=(rows, columns)), rng.normal(size=rows), rng.normal(size=columns)


def fit_by_qr(a: Any, b: Any, w: Any) -> Any:
    q, r = np.linalg.qr(a)
    return w @ linalg.solve_triangular(r, q.T @ b)


def fit_by_normal_equations(a: Any, b: Any, w: Any) -> Any:
    return w @ linalg.cho_solve(linalg.cho_factor(a.T @ a, True), a.T @ b)


fit_by_qr_compiled, fit_by_normal_equations_compiled = njit(fit_by_qr), njit(fit_by_normal_equations)


def pull_solution(a, b, x, x_bar):
    """The gradients, from what the normal equations give for the cotangent of the solution."""
    ahead = a @ x_bar
    return np.outer(b - a @ x, x_bar) - np.outer(ahead, x), ahead


def qr_by_hand(a, b, w):
    q, r = np.linalg.qr(a)
    x = scipy.linalg.solve_triangular(r, q.T @ b, check_finite=False)
    half = scipy.linalg.solve_triangular(r, w, trans=1, check_finite=False)
    return w @ x, pull_solution(a, b, x, scipy.linalg.solve_triangular(r, half, check_finite=False))


def normal_equations_by_hand(a, b, w):
    factor, _ = dpotrf(a.T @ a, lower=1)
    solved, _ = dpotrs(factor, np.column_stack([a.T @ b, w]), lower=1)
    return w @ solved[:, 0], pull_solution(a, b, solved[:, 0], solved[:, 1])


def fit_in_jax(by_qr: bool) -> Version:
    def version(*args: Any) -> Any:
        from jax.scipy.linalg import cho_factor, cho_solve, solve_triangular

        def write(jnp: Any) -> Any:
            def f(a: Any, b: Any, w: Any) -> Any:
                if by_qr:
                    q, r = jnp.linalg.qr(a)
                    return w @ solve_triangular(r, q.T @ b)
                return w @ cho_solve(cho_factor(a.T @ a, True), a.T @ b)

            return f

        return shaped.with_jax(write, (0, 1))(*args)

    return version


def fit_in_torch(by_qr: bool) -> Version:
    def write(torch: Any) -> Any:
        def f(a: Any, b: Any, w: Any) -> Any:
            if by_qr:
                q, r = torch.linalg.qr(a)
                return w @ torch.linalg.solve_triangular(r, (q.T @ b)[:, None], upper=True)[:, 0]
            return w @ torch.cholesky_solve((a.T @ b)[:, None], torch.linalg.cholesky(a.T @ a))[:, 0]

        return f

    return shaped.with_torch(write, (0, 1))


def least_squares(name: str, about: str, f: Any, compiled: Any, by_hand: Any, by_qr: bool) -> Program:
    return Program(
        name=name,
        about=about,
        sizes={
            "small": {"rows": 20, "columns": 3}, "medium": {"rows": 200, "columns": 10},
            "large": {"rows": 2000, "columns": 50},
        },
        inputs=draw_data,
        argnums=(0, 1),
        primal=compiled,
        by_hand=by_hand,
        in_numpy=in_numpy.qr if by_qr else in_numpy.normal_equations,
        contad=shaped.on_compiled(compiled, (0, 1)) | shaped.on_eager(f, (0, 1)),
        peers={"jax": fit_in_jax(by_qr), "torch": fit_in_torch(by_qr)},
        idioms=name_idioms("jax", "torch"),
        remarks="By hand the derivative is that of the least squares, not of the factor: a product of the whole matrix "
        "with a small one less by the normal equations, two less by QR, each as dear as the factor's work. `matrix` "
        "takes 20 to 40 us for Python at any size: 6 for a gradient of nothing, 0.5 to record a product of small "
        "matrices and 2 to 5 of others, 3 to 7 a factor or a system, and the rest for what leads there; the small "
        "gradients by hand in NumPy are 25 to 60 us. "
        "jax and torch call LAPACK from one compiled function, torch that of MKL, whose QR factors take 0.6 of the "
        "time of OpenBLAS'. A recorded program, and `matrix` for factors and systems, call the same kernels as "
        "`generated`.",
    )  # fmt: skip


LEAST_SQUARES = [
    least_squares(
        "least_squares_qr", "w x, x = R^-1 Q^T b, the solution of |A x - b| by its QR factors",
        fit_by_qr, fit_by_qr_compiled, qr_by_hand, True,
    ),
    least_squares(
        "least_squares_normal", "w x, x = (A^T A)^-1 A^T b, by Cholesky's factor of the normal equations",
        fit_by_normal_equations, fit_by_normal_equations_compiled, normal_equations_by_hand, False,
    ),
]  # fmt: skip


# ---- a banded system -------------------------------------------------------------------------------------------------
def draw_rod(points: int) -> tuple[Any, ...]:
    """The conductivity between points, and the heat at each."""
    rng = np.random.default_rng(101)
    return 1.0 + rng.random(points + 1), rng.normal(size=points)


def temperatures_of_arrays(k: Any, heat: Any) -> Any:
    n = len(heat)
    below, above = np.concatenate((-k[1:n], np.zeros(1))), np.concatenate((np.zeros(1), -k[1:n]))
    u = linalg.solve_banded((1, 1), np.stack((above, k[:-1] + k[1:] + 0.1, below)), heat)
    return np.sum(u * u)


@njit
def temperatures(k, heat):
    n = heat.shape[0]
    ab = np.zeros((3, n))
    for i in range(n):
        ab[1, i] = k[i] + k[i + 1] + 0.1
        if i > 0:
            ab[0, i] = -k[i]
            ab[2, i - 1] = -k[i]
    u = linalg.solve_banded((1, 1), ab, heat)
    return np.sum(u * u)


def temperatures_by_hand(k, heat):
    """The matrix is symmetric, so that the adjoint system is the same."""
    main = k[:-1] + k[1:] + 0.1
    *_, u, _ = dgtsv(-k[1:-1], main, -k[1:-1], heat)
    *_, bar, _ = dgtsv(-k[1:-1], main, -k[1:-1], 2.0 * u)
    by_k = np.zeros(len(k))
    product = bar * u
    by_k[:-1] -= product
    by_k[1:] -= product
    by_k[1:-1] += bar[1:] * u[:-1] + bar[:-1] * u[1:]
    return u @ u, (by_k, bar)


BANDED_SYSTEM = Program(
    name="banded_system",
    about="sum of u^2, -(k u')' + u / 10 = h by finite differences: a tridiagonal system",
    sizes={"small": {"points": 100}, "medium": {"points": 10_000}, "large": {"points": 100_000}},
    inputs=draw_rod,
    argnums=(0, 1),
    primal=temperatures,
    by_hand=temperatures_by_hand,
    in_numpy=in_numpy.banded_system,
    contad=shaped.on_compiled(temperatures, (0, 1)) | shaped.on_eager(temperatures_of_arrays, (0, 1)),
    remarks="The peers have no banded systems. `matrix` and `record` copy the three diagonals, and their adjoints, "
    "once more than the gradient by hand in NumPy; `matrix` with few points is Python, `record` looks at all numbers "
    "for its guards that they are finite.",
)


# ---- an exponential --------------------------------------------------------------------------------------------------
def draw_generator(order: int) -> tuple[Any, ...]:
    """A matrix, and weights of the elements of its exponential."""
    rng = np.random.default_rng(103)
    return rng.normal(size=(order, order)) / np.sqrt(order), rng.normal(size=(order, order))


def weigh_exponential(a: Any, w: Any) -> Any:
    return np.sum(w * linalg.expm(a))


weigh_exponential_compiled = njit(weigh_exponential)


def exponential_by_hand(a, w):
    exponential, along = scipy.linalg.expm_frechet(a.T, w, check_finite=False)
    return np.vdot(w, exponential.T), (along,)


def exponential_in_jax(*args: Any) -> Any:
    from jax.scipy.linalg import expm

    return shaped.with_jax(lambda jnp: lambda a, w: jnp.sum(w * expm(a)), (0,))(*args)


MATRIX_EXPONENTIAL = Program(
    name="matrix_exponential",
    about="sum of w * exp(A)",
    sizes={"small": {"order": 5}, "medium": {"order": 30}, "large": {"order": 100}},
    inputs=draw_generator,
    argnums=(0,),
    primal=weigh_exponential_compiled,
    by_hand=exponential_by_hand,
    in_numpy=in_numpy.exponential,
    contad=shaped.on_compiled(weigh_exponential_compiled, (0,)) | shaped.on_eager(weigh_exponential, (0,)),
    peers={
        "jax": exponential_in_jax,
        "torch": shaped.with_torch(lambda torch: lambda a, w: torch.sum(w * torch.linalg.matrix_exp(a)), (0,)),
    },
    idioms=name_idioms("jax", "torch"),
    remarks="By hand scipy.linalg.expm_frechet gives the value and the derivative; it is written in Python. The "
    "generated code, `matrix` and a recorded program keep the powers of the matrix from the value for the derivative; "
    "the gradient by hand in NumPy computes them again.",
)

PROGRAMS = [MULTIVARIATE_NORMAL, *LEAST_SQUARES, BANDED_SYSTEM, MATRIX_EXPONENTIAL]
