"""For every array rule the calls by which a Numba function reaches it, or the call that compiled engines refuse.

A row is an expression of arrays a, b, c and of constant arrays, and its arguments, without symmetry. What it gives is
an array or a number.
"""

import numpy as np

A = np.array([[2.3, 0.4, -0.2], [0.1, 1.7, 0.5], [-0.6, 0.3, 1.9]])
B = np.array([[0.7, -1.3], [1.9, 0.4], [-0.5, 1.1]])
TALL = np.array([[1.3, 0.4], [-0.7, 1.9], [0.5, 0.8]])
X, Y = np.array([0.7, -1.3, 1.6]), np.array([1.1, 0.4, -0.9])
POSITIVE = np.array([[2.9, 0.3, -0.4], [0.5, 2.1, 0.6], [-0.2, 0.1, 3.3]])  # with its transpose
BANDS = np.array([[0.0, 0.4, -0.3], [2.1, 1.7, 2.6], [0.5, -0.2, 0.0]])

# by rule: (expression, arguments ...)
COMPILED = {
    "cumsum": [("np.cumsum(a * a) * a", X)],
    "cumprod": [("np.cumprod(a) * a", X), ("np.cumprod(a)", np.array([0.7, 0.0, 1.6]))],
    "matmul": [
        ("a @ b", A, B), ("a @ b", A, X), ("a @ b", X, A), ("np.dot(a, b) * a", X, Y), ("a.T @ a", B),
        ("np.dot(a, b)", A, B), ("np.vdot(a, b) * a", X, Y), ("np.outer(a, b) @ a", X, Y),
    ],
    "cross": [("np.cross(a, b)", X, Y)],
    "solve": [("np.linalg.solve(a, b)", A, X), ("np.linalg.solve(a, b)", A, B), ("np.linalg.solve(a.T, b)", A, X)],
    "inv": [("np.linalg.inv(a)", A), ("np.linalg.matrix_power(a, -2)", A)],
    "banded_solution": [
        ("contad.scipy.linalg.solve_banded((1, 1), a, b)", BANDS, X),
        ("contad.scipy.linalg.solve_banded((1, 1), a, b)", BANDS, B),
    ],
    "interp": [("np.interp(np.array([0.2, 0.9, 1.7]), np.array([0.0, 0.5, 2.0]), a)", X)],
    "bincount": [("np.bincount(np.array([1, 0, 1]), a * a)", X)],
    "convolve": [("np.convolve(a, b)", X, Y[:2]), ("np.convolve(a, b)", Y[:2], X)],
    "solve_triangular": [
        ("contad.scipy.linalg.solve_triangular(a, b, lower=True)", A, X),
        ("contad.scipy.linalg.solve_triangular(a, b, trans=1, unit_diagonal=True)", A, B),
    ],
    "cholesky_factor": [("np.linalg.cholesky(a + a.T)", POSITIVE)],
    "filled_cholesky_factor": [("contad.scipy.linalg.cho_factor(a + a.T, lower=True)[0]", POSITIVE)],
    "cholesky_solution": [
        ("contad.scipy.linalg.cho_solve(contad.scipy.linalg.cho_factor(a + a.T), b)", POSITIVE, X),
    ],
    "symmetric_spectrum": [
        ("np.linalg.eigh(a + a.T)[0]", A), ("np.linalg.eigh(a + a.T)[1] ** 2", A), ("np.linalg.eigvalsh(a + a.T)", A),
    ],
    "real_spectrum": [
        ("np.linalg.eig(a + a.T)[0]", A), ("np.linalg.eig(a + a.T)[1] ** 2", A), ("np.linalg.eigvals(a + a.T)", A),
    ],
    "singular_spectrum": [
        ("np.linalg.svd(a, full_matrices=False)[1]", TALL), ("np.linalg.svd(a, full_matrices=False)[0] ** 2", TALL),
        ("np.linalg.svd(a, full_matrices=False)[2] ** 2", TALL), ("np.linalg.cond(a) * 0.3", TALL),
        ("np.linalg.norm(a, 2)", TALL),
    ],
    "det": [("np.linalg.det(a)", A)],
    "singular_cofactors": [("np.linalg.det(a)", np.array([[1.0, 2.0, 0.3, 0.1], [0.4, 1.1, 0.2, -0.3]] * 2))],
    "log_determinant": [("np.linalg.slogdet(a)[1]", A)],
    "truncated_matrix": [("np.linalg.pinv(a, 0.2)", np.diag([1.7, 1.2, 0.05]) + 0.01 * A)],
    "orthogonal_factor": [
        ("np.linalg.qr(a)[0]", TALL), ("np.linalg.qr(a)[1]", TALL), ("np.linalg.qr(a)[0]", A),
        ("np.linalg.qr(a)[1]", np.ascontiguousarray(TALL.T)),
    ],
    "pseudoinverse": [
        ("np.linalg.pinv(a)", TALL), ("np.linalg.pinv(a)", np.ascontiguousarray(TALL.T)),
        ("np.linalg.lstsq(a, b)[0]", TALL, X), ("np.linalg.lstsq(a, b)[0]", TALL, B),
    ],
    "positive_banded_solution": [
        ("contad.scipy.linalg.solveh_banded(a, b)", BANDS[:2], X),
        ("contad.scipy.linalg.solveh_banded(a, b, lower=True)", BANDS[1:], B),
    ],
    "expm": [("contad.scipy.linalg.expm(0.3 * a)", A)],
    "euclidean_norm": [("np.linalg.norm(a) * a", X), ("np.linalg.norm(a) * a", B)],
    "power_norm": [("np.linalg.norm(a, 3.0) * a", X), ("np.linalg.norm(a, 1)", B)],
    "sum": [("np.sum(a * a) * a", X), ("np.sum(a * a, axis=0)", B), ("np.sum(a * a, axis=1)", B)],
    "mean": [("np.mean(a * a) * a", X), ("a.mean() * a", B)],
    "var": [("np.var(a) * a", X), ("a.var() * a", B)],
    "std": [("np.std(a) * a", X), ("a.std() * a", B)],
    "prod": [("np.prod(a) * a", X), ("np.prod(a)", np.array([0.7, 0.0, 1.6])), ("a.prod() * a", B)],
    "logsumexp": [
        ("contad.logsumexp(a) * a", X), ("contad.logsumexp(a, axis=0)", B), ("contad.logsumexp(a, axis=1)", B),
    ],
    "softmax": [("contad.softmax(a)", X), ("contad.softmax(a, axis=0)", B), ("contad.softmax(a, axis=1)", B)],
    "robust_spectrum": [("contad.scipy.linalg.eigh(a + a.T)[1] ** 2", A)],
    "polar_factors": [("contad.scipy.linalg.polar(a)[0]", A)],
    "solve_spd": [("contad.stan.mdivide_left_spd(a + a.T, b)", POSITIVE, X)],
    "inverse_spd": [("contad.stan.inverse_spd(a + a.T)", POSITIVE)],
    "log_determinant_spd": [("contad.stan.log_determinant_spd(a + a.T)", POSITIVE)],
    "tcrossprod": [("contad.stan.tcrossprod(a)", A)],
    "quad_form_sym": [("contad.stan.quad_form_sym(a + a.T, b)", POSITIVE, B)],
    "toeplitz_product": [("contad.scipy.linalg.matmul_toeplitz(a, b)", X, Y)],
    "toeplitz_solution": [("contad.scipy.linalg.solve_toeplitz(a, b)", X, Y)],
    "circulant_solution": [("contad.scipy.linalg.solve_circulant(a, b)", X, Y)],
    "tridiagonal_spectrum": [("contad.scipy.linalg.eigh_tridiagonal(a, b)[0]", X, Y[:2])],
    "stable_lyapunov": [("contad.scipy.riccati_equations.stable_lyapunov(0.1 * b - a, a)", A, B @ B.T)],
    "continuous_riccati": [
        ("contad.scipy.linalg.solve_continuous_are(-a, 0.1 * b, b @ b.T + np.eye(3), np.eye(2))", A, B),
    ],
    "covariance": [("contad.stan.gp_exp_quad_cov(a, 1.2, 0.7)", B)],
    "transform_complex": [("np.abs(np.fft.fft(a + 1j * b * b))", X, Y)],
    "transform_real": [("np.abs(np.fft.rfft(a * a))", X)],
    "transform_to_real": [("np.fft.irfft(a * a)", X)],
    "transform_by_cosines": [("contad.scipy.fft.dct(a * a)", X)],
    "cross_covariance": [("contad.stan.gp_exp_quad_cov(a, b, 1.2, 0.7)", B, B + 1.0)],
}  # fmt: skip

# by rule: what a Numba function would call, which compiled engines refuse by name
REFUSED = {
    "filter_signal": ("contad.scipy.signal.lfilter(a, b, a)", X, Y),
    "convolve_arrays": ("contad.scipy.signal.convolve(a, b)", X, Y),
    "transform_by_bessels": ("contad.scipy.fft.fht(a, 0.2, 0.5)", X),
    "linear_recurrence": ("contad.linear_recurrence(a, b)", X, Y),
    "einsum_pair": ("np.einsum('ij,jk->ik', a, b)", A, B),
    "solve_sylvester": ("contad.scipy.linalg.solve_sylvester(a, b, a)", A, A + 1.0),
    "sqrtm": ("contad.scipy.linalg.sqrtm(a)", A),
    "logm": ("contad.scipy.linalg.logm(a)", A),
    "lu_factors": ("contad.scipy.linalg.lu(a)[1]", A),
    "triangular_eigenvectors": ("contad.ops.schur_forms.triangular_eigenvectors(a)", np.triu(A)),
    "schur_factors": ("contad.scipy.linalg.schur(a)[0]", A),
    "sparse_product": ("contad.ops.sparse_products.sparse_product(a, b)", X, Y),
    "sampled_product": ("contad.ops.sparse_products.sampled_product(a, b)", X, Y),
    "sparse_solution": ("contad.scipy.sparse.linalg.spsolve(a, b)", A, X),
    "iterative_solution": ("contad.scipy.sparse.linalg.cg(a, b)[0]", A, X),
    "squared_distances": ("contad.ops.covariances.squared_distances(a, b)", B, B + 1.0),
}
