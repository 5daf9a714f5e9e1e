"""Functions of square matrices (not of their elements), and the equations that their derivatives solve."""

import numpy as np

from contad.ops._scipy import lapack_function, linalg
from contad.ops.close_values import has_close
from contad.ops.cotangents import all_finite, plain
from contad.ops.factors import order_of
from contad.ops.linear_systems import check_square, identity_beside, mask, real_of, transposed_of
from contad.ops.orthogonal_factors import without_zeros
from contad.ops.products import matmul
from contad.ops.triangular_factors import solve_triangular
from contad.rules.array_rule import array_rule
from contad.variables.array import is_plain
from contad.variables.complex_pair import ComplexResult, as_complex, is_complex
from contad.variables.dtypes import COMPLEX, Dtypes, dtype_beside
from contad.variables.number import observe

_A, _C = [[0.3, -0.7, 0.4], [0.5, 0.2, -1.1], [-0.8, 0.3, 0.6]], [[1.2, 0.4, 0.3], [-0.5, 0.9, 0.2], [0.7, -0.6, 0.1]]
_S, _Q = [[4.3, 0.6, -0.8], [0.2, 1.9, 0.5], [-0.4, 0.9, 2.9]], [[0.6, 1.7, 0.3], [-0.2, 2.3, 1.1], [-1.4, 0.9, 0.5]]


# ---- equations -------------------------------------------------------------------------------------------------------
@array_rule(dtypes=COMPLEX, points=[(_S, _C, _Q), (_S, [[1.7]], [[0.6], [-0.2], [1.3]])])
def solve_sylvester(a, b, q):
    """The solution of a z + z b = q; like scipy.linalg.solve_sylvester.

        z_dot:  a z_dot + z_dot b = q_dot - a_dot z - z b_dot
        q_bar:  a^T q_bar + q_bar b^T = z_bar,     a_bar = -q_bar z^T,     b_bar = -z^T q_bar

    Shapes:  a (m, m), b (n, n), q (m, n) -> z (m, n).
    Domain:  a and -b have no eigenvalue in common.
    Raises:  LinAlgError if the equation is singular.
    Cost:    O(m^3 + n^3), by Schur decompositions, forward and again in reverse; saves nothing.
    Ref:     Giles (2008), section 2.3.1, for the linear map z -> a z + z b.

    >>> solve_sylvester(np.array([[2.0]]), np.array([[3.0]]), np.array([[10.0]]))
    array([[2.]])
    """
    if a.shape != (len(a), len(a)) or b.shape != (len(b), len(b)) or q.shape != (len(a), len(b)):
        shapes = f"{a.shape}, {b.shape} and {q.shape}"
        raise ValueError(f"solve_sylvester: a and b must be square and q of their sizes, got shapes {shapes}")
    if not (q.size and all_finite(a) and all_finite(b)):
        return np.full(q.shape, np.nan, dtype_beside(a, b, q))
    r, u = linalg().schur(a)
    s, v = linalg().schur(b.T.conj())
    y, scale, info = lapack_function("trsyl", r.dtype, s.dtype, q.dtype)(r, s, u.T.conj() @ q @ v, tranb="C")
    if info:  # LAPACK has perturbed the equation
        raise np.linalg.LinAlgError("solve_sylvester: singular equation: a and -b have an eigenvalue in common")
    return u @ (scale * y) @ v.T.conj()


@solve_sylvester.common
def solve_sylvester_common(z, z_bar, a, b, q):
    return sylvester_back(a, b, z_bar)


@solve_sylvester.vjp("a")
def solve_sylvester_vjp_a(z, z_bar, a, b, q, common):
    return -matmul(common, transposed_of(z))


@solve_sylvester.vjp("b")
def solve_sylvester_vjp_b(z, z_bar, a, b, q, common):
    return -matmul(transposed_of(z), common)


@solve_sylvester.vjp("q")
def solve_sylvester_vjp_q(z, z_bar, a, b, q, common):
    return common


@solve_sylvester.jvp
def solve_sylvester_jvp(z, a_dot, b_dot, q_dot, a, b, q):
    return solve_sylvester(a, b, q_dot - matmul(a_dot, z) - matmul(z, b_dot))


def sylvester_back(a, b, z_bar):
    """The cotangent of q."""
    return mask(z_bar, solve_sylvester(transposed_of(a), transposed_of(b), z_bar))


def possibly_complex(function, a):
    """A function of a matrix; complex if the matrix is, or if a real matrix has a complex result."""
    try:
        return function(a)
    except ComplexResult:
        return function(as_complex(a))


# ---- functions -------------------------------------------------------------------------------------------------------
def with_direction(a, e):
    """The matrix [[a, e], [0, a]]; a matrix function f of it has f(a) on its diagonal and the derivative of f along e
    above."""
    upper = np.concatenate([a, e], axis=-1)
    return np.concatenate([upper, np.concatenate([np.zeros(np.shape(a), dtype_beside(a)), a], axis=-1)], axis=-2)


def upper_corner(z):
    """The upper right quarter of a matrix."""
    n = np.shape(z)[-1] // 2
    return z[..., :n, n:]


@array_rule(dtypes=COMPLEX, points=[(_A,), ([_A, _C],), ([[0.7]],)])
def expm(a):
    """The exponential of a square matrix, 1 + a + a a / 2 + ...; like scipy.linalg.expm and Stan's matrix_exp.

        z_dot = L(a, a_dot),     a_bar = L(a^T, z_bar),     L(a, e) = int_0^1 exp(s a) e exp((1 - s) a) ds

    Shapes:  a (..., n, n) -> z (..., n, n).
    Domain:  every a.
    Raises:  LinAlgError if a is not square.
    Cost:    O(n^3) forward, about three times that in reverse; saves nothing.
    Ref:     Al-Mohy & Higham (2009), section 2; the block matrix of higher orders: Mathias (1996).

    >>> expm(np.array([[0.0, 2.0], [0.0, 0.0]]))
    array([[1., 2.],
           [0., 1.]])
    """
    check_square("expm", a)
    return linalg().expm(a)


@expm.vjp("a")
def expm_vjp_a(z, z_bar, a):
    return mask(z_bar, exponential_along(transposed_of(a), z_bar))


@expm.jvp
def expm_jvp(z, a_dot, a):
    return exponential_along(a, a_dot)


def exponential_along(a, e):
    """The derivative of expm at a along e."""
    if is_plain(a) and is_plain(e) and np.ndim(a) == 2 and np.size(a) and all_finite(a) and all_finite(e):
        found = linalg().expm_frechet(a, e, compute_expm=False, check_finite=False)
        return found.astype(dtype_beside(a, e), copy=False)
    return upper_corner(expm(with_direction(a, e)))


@array_rule(dtypes=COMPLEX, points=[(_S,), ([[2.3]],)])
def sqrtm(a):
    """The principal square root of a square matrix, z z = a; like scipy.linalg.sqrtm.

        z_dot:  z z_dot + z_dot z = a_dot,     a_bar:  z^T a_bar + a_bar z^T = z_bar

    Shapes:  a (n, n) -> z (n, n).
    Domain:  a real a without negative eigenvalues, every complex a; if one is zero the derivative is nan.
    Raises:  LinAlgError if a is not a square matrix, ComplexResult if a is real and the root is complex.
    Cost:    O(n^3) forward and reverse; saves nothing.
    Ref:     Higham (2008), section 6.1.

    >>> sqrtm(np.array([[4.0, 5.0], [0.0, 9.0]]))
    array([[2., 1.],
           [0., 3.]])
    """
    return _real("sqrtm", a)


@sqrtm.vjp("a")
def sqrtm_vjp_a(z, z_bar, a):
    return mask(z_bar, root_along(transposed_of(z), z_bar))


@sqrtm.jvp
def sqrtm_jvp(z, a_dot, a):
    return root_along(z, a_dot)


def root_along(z, e):
    """The solution x of z x + x z = e; nan where z is singular."""
    try:
        return solve_sylvester(z, z, e)
    except np.linalg.LinAlgError:
        return np.full(np.shape(e), np.nan, dtype_beside(e))


@array_rule(
    dtypes=Dtypes("dD", "SciPy tells real logarithms from complex ones in double precision"),
    points=[([[2.3, 0.6], [-0.4, 1.9]],), ([[2.3]],)],
)
def logm(a):
    """The principal logarithm of a square matrix, expm(z) = a; like scipy.linalg.logm.

        z_dot = L(a, a_dot),     a_bar = L(a^T, z_bar),     L(a, e): the upper right block of logm([[a, e], [0, a]])

    Shapes:  a (n, n) -> z (n, n).
    Domain:  a real a without negative eigenvalues, every complex a; nan if one is zero.
    Raises:  LinAlgError if a is not a square matrix, ComplexResult if a is real and the logarithm is complex.
    Cost:    O(n^3) forward, about eight times that in reverse; saves nothing.
    Ref:     Higham (2008), theorem 3.6.

    >>> logm(np.array([[1.0, 2.0], [0.0, 1.0]])).round(14)
    array([[0., 2.],
           [0., 0.]])
    """
    if np.ndim(a) == 2 and all_finite(a) and np.linalg.slogdet(a)[1] == -np.inf:
        return np.full(a.shape, np.nan, dtype_beside(a))
    return _real("logm", a)


@logm.vjp("a")
def logm_vjp_a(z, z_bar, a):
    return mask(z_bar, logarithm_along(transposed_of(a), z_bar))


@logm.jvp
def logm_jvp(z, a_dot, a):
    return logarithm_along(a, a_dot)


def logarithm_along(a, e):
    """The derivative of logm at a along e. Complex matrices are turned away from the cut, where their eigenvalues with
    roundings would be on both sides."""
    whole = with_direction(a, e)
    return upper_corner(logm(whole * away_from_cut(plain(a)) if is_complex(a) else whole))


def away_from_cut(a):
    """A phase that turns the eigenvalues of a matrix away from the negative real axis, without crossing it; nan if two
    equal ones are there, because a change of the matrix may move them to both sides."""
    w = np.linalg.eigvals(a)
    angles = np.angle(w)
    on_cut = np.pi - np.abs(angles) < 1e-8
    if has_close(w[on_cut] + 0j, 1e-7):
        return np.nan
    return np.exp(-0.5j * (np.pi + np.min(angles, initial=np.pi, where=~on_cut))) if np.any(on_cut) else 1.0


def _real(name, a):
    """SciPy's function of that name at a plain matrix; ComplexResult for a complex result of a real matrix."""
    check_square(name, a)
    if a.ndim != 2:
        raise np.linalg.LinAlgError(f"{name}: a must be one matrix, got shape {a.shape}")
    if not a.size or not all_finite(a):
        return np.full(a.shape, np.nan, dtype_beside(a))
    if a.dtype.kind == "c":
        return getattr(linalg(), name)(a if np.any(a.imag) else a.real).astype(a.dtype, copy=False)
    z = getattr(linalg(), name)(a)
    if np.iscomplexobj(z) and np.any(z.imag != 0.0):
        raise ComplexResult(f"{name}: the result is complex; in the recorded example it was real")
    return np.real(z).astype(dtype_beside(a), copy=False)


# ---- LU factors ------------------------------------------------------------------------------------------------------
@array_rule(dtypes=COMPLEX, points=[(_S,), (_A,), ([[2.3]],), (_S[:2],), ([row[:2] for row in _A],)])
def lu_factors(a):
    """The triangular factors of a matrix, l below the diagonal and u above, and a column with the row order.

        a[order] = l u,     z_dot = l low(f) + up(f) u,     f = l^-1 a_dot[order] u^-1
        a_bar[order] = l^-T (low(l^T l_bar) + up(u_bar u^T)) u^-T,     low: the strict lower triangle, up: the rest

    The formulas are for a square matrix. The rows of l below a square u are a u^-1; the columns of u next to a square l
    are l^-1 a.

    Shapes:  a (m, n) -> z (m, n + 1), order in the last column.
    Domain:  every a; order is a constant; if the square part is singular the derivative is nan.
    Raises:  LinAlgError if a is not a matrix.
    Cost:    O(m n min(m, n)) forward, three times that in reverse; saves nothing.
    Ref:     de Hoog, Anderssen & Lukas (2011), theorem 1.

    >>> lu_factors(np.array([[2.0, 1.0], [4.0, 6.0]]))
    array([[ 4. ,  6. ,  1. ],
           [ 0.5, -2. ,  0. ]])
    """
    if np.ndim(a) != 2:
        raise np.linalg.LinAlgError(f"lu_factors: a must be a matrix, got shape {np.shape(a)}")
    if not a.size:
        return np.concatenate([a, np.arange(len(a), dtype=dtype_beside(a))[:, None]], axis=1)
    factors, pivots, _ = lapack_function("getrf", a.dtype)(a)
    order = order_of(np.concatenate([pivots, np.arange(len(pivots), len(a))]))
    return np.concatenate([factors, order[:, None].astype(factors.dtype)], axis=1)


def as_positions(x):
    """Whole numbers as integers; a recorded program guards them."""
    return x.astype(np.intp)


def order_in(z):
    """The order of the rows in the result of lu_factors."""
    return observe(as_positions, real_of(z[:, -1]))


@lu_factors.vjp("a")
def lu_factors_vjp_a(z, z_bar, a):
    return lu_cotangent(z, z_bar)


def lu_cotangent(z, z_bar):
    """The cotangent of a matrix, from those of its factors."""
    factors, bar = z[:, :-1], z_bar[:, :-1]
    k = min(np.shape(factors))
    corner = factors[:k, :k]
    low, up = unit_lower(corner), np.triu(corner)
    below = transposed_of(solve_triangular(without_zeros(corner), transposed_of(bar[k:, :k])))
    beside = solve_triangular(corner, bar[:k, k:], transposed=True, lower=True, unit_diagonal=True)
    l_bar = np.tril(bar[:k, :k], -1) - matmul(beside, transposed_of(factors[:k, k:]))
    u_bar = np.triu(bar[:k, :k]) - matmul(transposed_of(factors[k:, :k]), below)
    inner = np.tril(matmul(transposed_of(low), np.tril(l_bar, -1)), -1)
    inner = inner + np.triu(matmul(np.triu(u_bar), transposed_of(up)))
    half = solve_triangular(corner, inner, transposed=True, lower=True, unit_diagonal=True)
    c = transposed_of(solve_triangular(without_zeros(corner), transposed_of(half)))
    whole = np.concatenate([np.concatenate([c, beside], axis=1), with_columns(below, bar)])
    return mask(z_bar, whole[np.argsort(order_in(z))])


def with_columns(below, like):
    """Rows padded with zeros to as many columns as `like` has."""
    rest = np.shape(below)[0], np.shape(like)[1] - np.shape(below)[1]
    return np.concatenate([below, np.zeros(rest, dtype_beside(below))], axis=1)


@lu_factors.jvp
def lu_factors_jvp(z, a_dot, a):
    return lu_tangent(z, a_dot)


def lu_tangent(z, a_dot):
    """The tangents of the factors of a matrix."""
    factors, dot = z[:, :-1], a_dot[order_in(z)]
    k = min(np.shape(factors))
    corner = factors[:k, :k]
    low, up = unit_lower(corner), np.triu(corner)
    half = solve_triangular(corner, dot[:k, :k], lower=True, unit_diagonal=True)
    f = transposed_of(solve_triangular(without_zeros(corner), transposed_of(half), transposed=True))
    l_dot, u_dot = matmul(low, np.tril(f, -1)), matmul(np.triu(f), up)
    rest = dot[k:, :k] - matmul(factors[k:, :k], u_dot)
    below = transposed_of(solve_triangular(without_zeros(corner), transposed_of(rest), transposed=True))
    rest = dot[:k, k:] - matmul(l_dot, factors[:k, k:])
    beside = solve_triangular(corner, rest, lower=True, unit_diagonal=True)
    tangent = np.concatenate([np.concatenate([l_dot + u_dot, beside], axis=1), with_columns(below, dot)])
    return np.concatenate([tangent, np.zeros((np.shape(factors)[0], 1), dtype_beside(factors))], axis=1)


def unit_lower(factors):
    """l, from both factors in one matrix."""
    return np.tril(factors, -1) + identity_beside(factors)
