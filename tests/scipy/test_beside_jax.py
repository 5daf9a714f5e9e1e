"""Linear algebra beside JAX: values and gradients of everything that both have; run in an environment that has JAX.

Weights make one number of what a function gives; what has free signs enters by its squares. Matrices that are symmetric
by meaning are made so inside of the function, because contad and JAX share a derivative between triangles otherwise.
"""

import numpy as np
import pytest

import contad
from contad import stan
from contad.scipy import linalg

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
jnp, jsp = jax.numpy, jax.scipy.linalg

DRAW = np.random.default_rng(13)


def draw(*shape):
    return DRAW.standard_normal(shape)


A, B, C = draw(4, 4) + 3.0 * np.eye(4), draw(4, 3), draw(4, 4)
V, W = draw(4), draw(4)
TALL, WIDE, STACK = draw(5, 3), draw(3, 5), draw(2, 4, 4) + 3.0 * np.eye(4)
SEPARATE = np.diag([1.0, 2.5, -2.0, 4.0]) + 0.1 * draw(4, 4)  # its eigenvalues are real
X = draw(5, 2)
D, E = np.array([3.5, 4.7, 1.2, 3.1]), np.array([0.7, 0.4, -0.9])
NORMS = [(V, ord) for ord in (None, 1, 2, 3, 2.5, -1, np.inf, -np.inf)]
NORMS += [(A, ord) for ord in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)]


def spd(np, x):
    """A positive definite matrix."""
    return x @ np.swapaxes(x, -1, -2) + np.eye(x.shape[-1])


def symmetric(np, x):
    return 0.5 * (x + np.swapaxes(x, -1, -2))


def squares(*parts):
    return tuple(part * part for part in parts)


def system(np, x):
    return np.reshape(x, (2, 2, 2, 2))


# name: (f(np, linalg, *args), args), of the functions of both
CASES = {
    "cholesky": (lambda np, la, x: np.linalg.cholesky(spd(np, x)), A),
    "cholesky stack": (lambda np, la, x: np.linalg.cholesky(spd(np, x)), STACK),
    "solve": (lambda np, la, x, y: np.linalg.solve(x, y), A, B),
    "solve vector": (lambda np, la, x, y: np.linalg.solve(x, y), A, V),
    "solve stack": (lambda np, la, x, y: np.linalg.solve(x, y), STACK, B),
    "inv": (lambda np, la, x: np.linalg.inv(x), STACK),
    "det": (lambda np, la, x: np.linalg.det(x), STACK),
    "slogdet": (lambda np, la, x: np.linalg.slogdet(x)[1], STACK),
    "eigh": (lambda np, la, x: squares(*np.linalg.eigh(symmetric(np, x))), A),
    "eigvalsh": (lambda np, la, x: np.linalg.eigvalsh(symmetric(np, x)), STACK),
    "eigvals": (lambda np, la, x: np.sort(np.real(np.linalg.eigvals(x))), SEPARATE),
    "svd": (lambda np, la, x: squares(*np.linalg.svd(x, full_matrices=False)), TALL),
    "svd wide": (lambda np, la, x: squares(*np.linalg.svd(x, full_matrices=False)), WIDE),
    "svdvals": (lambda np, la, x: np.linalg.svdvals(x), WIDE),
    "qr": (lambda np, la, x: squares(*np.linalg.qr(x)), TALL),
    "lstsq": (lambda np, la, x, y: np.linalg.lstsq(x, y)[0], TALL, draw(5)),
    "pinv": (lambda np, la, x: np.linalg.pinv(x), TALL),
    "matrix_power": (lambda np, la, x: np.linalg.matrix_power(x, 3), A),
    "matrix_power inverse": (lambda np, la, x: np.linalg.matrix_power(x, -2), A),
    "multi_dot": (lambda np, la, x, y, z: np.linalg.multi_dot([x, y, z]), WIDE, TALL, draw(3, 2)),
    "cond": (lambda np, la, x: np.linalg.cond(x), A),
    "tensorsolve": (lambda np, la, x, y: np.linalg.tensorsolve(system(np, x), y), A, draw(2, 2)),
    "tensorinv": (lambda np, la, x: np.linalg.tensorinv(system(np, x), ind=2), A),
    "cross": (lambda np, la, x, y: np.cross(x, y), TALL, draw(5, 3)),
    "outer": (lambda np, la, x, y: np.linalg.outer(x, y), V, W),
    "trace": (lambda np, la, x: np.linalg.trace(x, offset=1), A),
    "diagonal": (lambda np, la, x: np.linalg.diagonal(x, offset=-1), A),
    "matmul": (lambda np, la, x, y: np.matmul(x, y), STACK, B),
    "matrix_transpose": (lambda np, la, x: np.linalg.matrix_transpose(x) ** 3, STACK),
    "vecdot": (lambda np, la, x, y: np.linalg.vecdot(x, y), TALL, draw(5, 3)),
    "kron": (lambda np, la, x, y: np.kron(x, y), TALL, B),
    "cov": (lambda np, la, x: np.cov(x), WIDE),
    "corrcoef": (lambda np, la, x: np.corrcoef(x), WIDE),
    "vander": (lambda np, la, x: np.vander(x, 5), V),
    "polyval": (lambda np, la, p, x: np.polyval(p, x), V, W),
    "interp": (lambda np, la, x, xp, y: np.interp(x, xp, y), np.array([0.3, 1.7, -2.0]), D.cumsum(), V),
    "linspace": (lambda np, la, x, y: np.linspace(x, y, 5), np.array(0.7), np.array(1.9)),
    "vector_norm": (lambda np, la, x: np.linalg.vector_norm(x, axis=0, ord=3), A),
    "matrix_norm": (lambda np, la, x: np.linalg.matrix_norm(x, ord="nuc"), STACK),
    **{
        f"norm {ord} of {x.ndim} axes": (lambda np, la, x, ord=ord: np.linalg.norm(x, ord), x) for x, ord in NORMS
    },
    "scipy solve": (lambda np, la, x, y: la.solve(x, y), A, B),
    "scipy solve, positive": (lambda np, la, x, y: la.solve(spd(np, x), y, assume_a="pos"), A, B),
    "solve_triangular": (lambda np, la, x, y: la.solve_triangular(x, y, lower=True), A, B),
    "solve_triangular, transposed": (lambda np, la, x, y: la.solve_triangular(x, y, trans=1), A, V),
    "solve_triangular, unit": (lambda np, la, x, y: la.solve_triangular(x, y, unit_diagonal=True), A, V),
    "scipy cholesky": (lambda np, la, x: la.cholesky(spd(np, x)), A),
    "cho_solve": (lambda np, la, x, y: la.cho_solve(la.cho_factor(spd(np, x), True), y), A, B),
    "lu": (lambda np, la, x: la.lu(x)[1:], C),
    "lu tall": (lambda np, la, x: la.lu(x)[1:], TALL),
    "lu wide": (lambda np, la, x: la.lu(x)[1:], WIDE),
    "lu_factor": (lambda np, la, x: la.lu_factor(x)[0], C),
    "lu_solve": (lambda np, la, x, y: la.lu_solve(la.lu_factor(x), y), C, B),
    "scipy inv": (lambda np, la, x: la.inv(x), A),
    "scipy det": (lambda np, la, x: la.det(x), A),
    "scipy qr": (lambda np, la, x: squares(*la.qr(x, mode="economic")), TALL),
    "scipy svd": (lambda np, la, x: la.svd(x, compute_uv=False), TALL),
    "scipy eigh": (lambda np, la, x: squares(*la.eigh(symmetric(np, x))), A),
    "eigh_tridiagonal": (lambda np, la, d, e: la.eigh_tridiagonal(d, e, eigvals_only=True), D, E),
    "toeplitz": (lambda np, la, c, r: la.toeplitz(c, r) ** 2, V, W),
    "solve_sylvester": (lambda np, la, x, y, z: la.solve_sylvester(x, y, z), SEPARATE + 4.0 * np.eye(4), A, C),
    "expm": (lambda np, la, x: la.expm(x), 0.5 * A),
    "expm, large": (lambda np, la, x: la.expm(x), 4.0 * C),
    "expm_frechet": (lambda np, la, x, y: la.expm_frechet(x, y), 0.5 * A, C),
    "sqrtm": (lambda np, la, x: np.real(la.sqrtm(spd(np, x))), A),
    "block_diag": (lambda np, la, x, y: la.block_diag(x, y) ** 2, A, B),
    "polar": (lambda np, la, x: la.polar(x), A),
}  # fmt: skip
WITHOUT = ("eigh_tridiagonal", "sqrtm", "solve_sylvester", "polar")  # a derivative in JAX


def weigh(np, z):
    """One number of all that a function gives, with weights that depend on the places."""
    parts = z if isinstance(z, tuple) else (z,)
    return sum(np.sum(np.cos(np.arange(np.size(x)) + 0.3) * np.reshape(x, (-1,))) for x in parts)


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    f, *args = CASES[name]
    argnums = tuple(range(len(args)))
    of_jax = jax.value_and_grad(lambda *xs: weigh(jnp, f(jnp, jsp, *xs)), argnums)
    if name in WITHOUT:
        with pytest.raises((NotImplementedError, ValueError)):
            of_jax(*map(jnp.asarray, args))
        return
    expected, right = of_jax(*map(jnp.asarray, args))
    value, bars = contad.value_and_grad(lambda *xs: weigh(np, f(np, linalg, *xs)), argnums)(*args)
    np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-12)
    for bar, other in zip(bars, right, strict=True):
        np.testing.assert_allclose(bar, other, rtol=1e-8, atol=1e-9 * (1.0 + np.max(np.abs(other))))


def squared_distances(x, y):
    return jnp.sum((x[:, None] - y[None]) ** 2, -1)


# Stan's names: (contad's function, the composition in JAX, args)
STAN = {
    "log_determinant_spd": (
        lambda x: stan.log_determinant_spd(spd(np, x)), lambda x: jnp.linalg.slogdet(spd(jnp, x))[1], A,
    ),
    "mdivide_left_spd": (
        lambda x, y: stan.mdivide_left_spd(spd(np, x), y), lambda x, y: jnp.linalg.solve(spd(jnp, x), y), A, B,
    ),
    "mdivide_left_tri_low": (
        lambda x, y: stan.mdivide_left_tri_low(x, y), lambda x, y: jsp.solve_triangular(x, y, lower=True), A, B,
    ),
    "quad_form_sym": (
        lambda x, y: stan.quad_form_sym(symmetric(np, x), y), lambda x, y: y.T @ symmetric(jnp, x) @ y, A, B,
    ),
    "trace_quad_form": (lambda x, y: stan.trace_quad_form(x, y), lambda x, y: jnp.trace(y.T @ x @ y), A, B),
    "trace_gen_quad_form": (
        lambda d, x, y: stan.trace_gen_quad_form(d, x, y), lambda d, x, y: jnp.trace(d @ y.T @ x @ y), draw(3, 3), A, B,
    ),
    "multiply_lower_tri_self_transpose": (
        lambda x: stan.multiply_lower_tri_self_transpose(x), lambda x: jnp.tril(x) @ jnp.tril(x).T, A,
    ),
    "tcrossprod": (lambda x: stan.tcrossprod(x), lambda x: x @ x.T, TALL),
    "matrix_exp_multiply": (lambda x, y: stan.matrix_exp_multiply(x, y), lambda x, y: jsp.expm(x) @ y, 0.5 * A, B),
    "gp_exp_quad_cov": (
        lambda x, s, r: stan.gp_exp_quad_cov(x, s, r),
        lambda x, s, r: s**2 * jnp.exp(-0.5 * squared_distances(x, x) / r**2), X, np.array(1.3), np.array(0.7),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STAN)
def test_stans_functions(name):
    ours, theirs, *args = STAN[name]
    argnums = tuple(range(len(args)))
    expected, right = jax.value_and_grad(lambda *xs: weigh(jnp, theirs(*xs)), argnums)(*map(jnp.asarray, args))
    value, bars = contad.value_and_grad(lambda *xs: weigh(np, ours(*xs)), argnums)(*args)
    np.testing.assert_allclose(value, expected, rtol=1e-11)
    for bar, other in zip(bars, right, strict=True):
        np.testing.assert_allclose(bar, other, rtol=1e-9, atol=1e-11 * (1.0 + np.max(np.abs(other))))
