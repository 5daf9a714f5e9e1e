"""Numbers from functions of matrices that are made of a vector and a matrix, one for each function and shape."""

import numpy as np

from tests.engines.source.programs.harness import Table, function_of, programs

X, V = np.array([0.4, -0.7, 1.1]), np.array([0.3, 1.0, -0.5])
A = np.array([[2.0, 0.3, -0.1], [0.2, 1.5, 0.4], [-0.3, 0.1, 1.8]])
MATRICES = programs("""
# solve: return np.sum(np.linalg.solve(a + np.outer(x, x), x) * x)
# inverse: return np.sum(np.linalg.inv(a + np.outer(x, x)) * a)
# determinant: return np.linalg.slogdet(a + np.outer(x, x))[1]
# cholesky: return np.sum(np.linalg.cholesky(a @ a.T + np.outer(x, x)) * a)
# eigenvectors
w, v = np.linalg.eigh(a + a.T + np.outer(x, x))
return np.sum(w * w * w) + np.sum(v[:, 0] * v[:, 0] * x)
# eigenvalues: return np.sum(np.exp(0.3 * np.linalg.eigvalsh(a + a.T + np.outer(x, x))))
# norm: return np.linalg.norm(a @ x) * np.linalg.norm(a * x)
# triangle
u = contad.scipy.linalg.solve_triangular(a + np.outer(x, x), x, lower=True)
return np.sum(u * contad.scipy.linalg.solve_triangular(a * x[0], x, trans=1, unit_diagonal=True))
# exponential: return np.sum(contad.scipy.linalg.expm(np.outer(x, x) * 0.3) * a)
# log sums: return contad.logsumexp(x * x) + np.sum(contad.softmax(x * x) * x)
# log sums along
b = a * x
down, across = contad.logsumexp(b, axis=0), contad.logsumexp(b * b, axis=1)
return np.sum(down * across) + np.sum(contad.softmax(b, axis=1) * a * contad.softmax(b, axis=0))
# small determinants
b = a + np.outer(x, x)
return np.linalg.det(b[:1, :1]) * np.linalg.det(b[:2, :2]) * np.linalg.det(b)
# large determinant
b = np.zeros((4, 4))
b[:3, :3] = a + np.outer(x, x)
b[3, :3] = x * x
b[:3, 3] = x
b[3, 3] = x[0]
return np.linalg.det(b)
# singular determinant
b = np.zeros((4, 4))
b[:3, :3] = a + np.outer(x, x)
b[2, :] = b[1, :]
b[2, 0] += x[0] * x[1] + 0.4 * 0.7  # 0 at X
b[3, 3] = x[2]
return np.linalg.det(b)
# general eigenvectors
w, v = np.linalg.eig(a * a + np.outer(x * x, x * x))
return np.sum(w * w * w) + np.sum(np.abs(v[:, 0]) * x) + np.sum(np.exp(np.linalg.eigvals(a * a + np.diag(x * x))))
# condition numbers
b = a + np.outer(x, x)
few = np.linalg.cond(b[:, :2]) * np.linalg.cond(b[:2], -2) + np.linalg.matrix_rank(b) * x[0]
return few + np.linalg.cond(b, 1) * np.linalg.cond(b, -np.inf)
# singular vectors
u, s, vt = np.linalg.svd(a + np.outer(x, x))
return np.sum(u[:, 0] ** 2 * vt[0]) + np.sum(s * s * s) + u[0, 1] * vt[1, 2]
# tall singular vectors
u, s, vt = np.linalg.svd((a + np.outer(x, x))[:, :2], full_matrices=False)
return u[0, 1] * vt[1, 1] + u[2, 0] * vt[0, 1] + s[0] ** 3 * s[1]
# wide singular vectors
u, s, vt = np.linalg.svd((a + np.outer(x, x))[:2], full_matrices=False)
return u[0, 1] * vt[1, 1] + u[1, 0] * vt[0, 2] + s[0] ** 3
# qr
q, r = np.linalg.qr(a + np.outer(x, x))
return np.sum(q * q * q * a) + np.sum(r * r * a)
# tall qr
q, r = np.linalg.qr((a + np.outer(x, x))[:, :2])
return np.sum(q * q * q * a[:, :2]) + np.sum(r * r * a[:2, :2])
# wide qr
q, r = np.linalg.qr((a + np.outer(x, x))[:2])
return np.sum(q * q * q * a[:2, :2]) + np.sum(r * r * a[:2])
# pseudoinverse: return np.sum(np.linalg.pinv((a + np.outer(x, x))[:, :2]) * a[:2])
# wide pseudoinverse: return np.sum(np.linalg.pinv((a + np.outer(x, x))[:2]) * a[:, :2])
# pseudoinverse of low rank: return np.sum(np.linalg.pinv(np.outer(x, x * x), 1e-8) * a)
# least squares
b = a + np.outer(x, x)
y, squares, _, s = np.linalg.lstsq(b[:, :2], x * x)
return np.sum(y * y * y) + squares[0] + s[0] * s[1]
# truncated pseudoinverse
return np.sum(np.linalg.pinv(a + np.outer(x, x), 0.6) * a)  # which drops the last singular value
# truncated least squares: return np.sum(np.linalg.lstsq(a + np.outer(x, x), x * x, 0.6)[0] * x)
# least squares of columns
b = a + np.outer(x, x)
y, squares, _, s = np.linalg.lstsq(b[:, :2], b * x)
return np.sum(y * y * y) + squares[1] * squares[0] + s[0]
# shortest solution
y, _, _, s = np.linalg.lstsq((a + np.outer(x, x))[:2], x[:2] * x[1:])
return np.sum(y * y * y) + s[0]
# upper factor
c, lower = contad.scipy.linalg.cho_factor(a @ a.T + np.outer(x, x))
return np.sum(c * c * a) + np.sum(contad.scipy.linalg.cho_solve((c, lower), x) * x)
# lower factor
c = contad.scipy.linalg.cho_factor(a @ a.T + np.outer(x, x), lower=True)
return np.sum(c[0] * a) + np.sum(contad.scipy.linalg.cho_solve(c, a * x) * x)
# band
ab, b = np.zeros((3, 4)), np.zeros(4)
for k in range(4):
    ab[0, k], ab[1, k], ab[2, k] = x[2] * k + x[0], 3.0 + x[0] * x[1] * k, x[1] - x[2] * x[2] * k
    b[k] = x[k % 3]
return np.sum(contad.scipy.linalg.solve_banded((1, 1), ab, b) ** 3)
# band of columns
ab = np.zeros((3, 3))
for k in range(3):
    ab[0, k], ab[1, k], ab[2, k] = x[0] * k, x[2] * k + x[0], 3.0 + x[0] * x[1] * k
return np.sum(contad.scipy.linalg.solve_banded((0, 2), ab, a * x) ** 3)
""")
# the determinant of a singular matrix, whose other singular values are equal at X
EQUAL = programs("""
# equal singular values
b, moved = np.zeros((4, 4)), np.zeros(3)
moved[0], moved[1], moved[2] = x[0] - 0.4, x[1] + 0.7, x[2] - 1.1
for k in range(3):
    b[k, k + 1] = 2.0 + moved[k]
    b[k, 0] = moved[k] * x[0]
b[3, 0] = np.sum(moved) * a[0, 0]
b[3, 3] = moved[1]
return np.linalg.det(b)
""")
MATRIX_FUNCTIONS = Table("matrices", MATRICES | EQUAL, head="x, a", arguments=(X, A), argnums=(0,))


def function_named(name):
    """A function of a vector and a matrix, for Numba."""
    return function_of(MATRIX_FUNCTIONS, MATRIX_FUNCTIONS.takes[name], name)
