"""Linear algebra of complex matrices, against differences in the direction of each real and imaginary part."""

import numpy as np
import pytest
import scipy.sparse

import contad
import contad.scipy.linalg as sl
from contad import stan
from contad.errors import UnsupportedError
from contad.ops import polar_factors
from contad.ops.linear_systems import transposed_of
from contad.scipy import signal, special
from contad.scipy.sparse import csr_array
from contad.scipy.sparse.linalg import splu, spsolve
from contad.variables.complex_pair import is_complex

LA = np.linalg
STEP = 1e-4
WEIGHTS = 0.6, -1.1, 1.7, 0.3, -0.8, 2.1, 0.4


def numbers(*shape, seed=0, complex=True):
    """A fixed array without symmetry."""
    rng = np.random.default_rng((seed, *shape))
    return rng.normal(size=shape) + (1j * rng.normal(size=shape) if complex else 0.0)


A, B, W = numbers(3, 3), numbers(3, 2), numbers(3)
STACK, TALL, WIDE, REAL = numbers(2, 3, 3), numbers(4, 2), numbers(2, 4), numbers(3, 3, complex=False)
POSITIVE = A @ A.conj().T + np.eye(3)
NEAR_ONE = np.eye(3) + 0.3 * A
SINGULAR = np.concatenate([numbers(3, 4), [[0.0] * 4]])
SINGULAR[3] = SINGULAR[0] + 1j * SINGULAR[1]
TURNING = np.array([[1.0, 2.0, 0.3], [-2.0, 1.5, 0.2], [0.1, 0.4, -3.0]])  # two complex eigenvalues, one below 0
SPARSE = scipy.sparse.csr_array(A * [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
BAND = np.concatenate([np.full((1, 5), 5.0 + 0.0j), 0.7 * numbers(2, 5)])


def in_pattern(values):
    return csr_array((values, SPARSE.indices, SPARSE.indptr), shape=(3, 3))


def of_lists(x):
    return [*x] if isinstance(x, tuple) else [x]


def invariant(t, q):
    """What does not depend on the phases of Schur vectors."""
    first = q[:, :1]
    return np.diagonal(t), np.abs(t), np.abs(q), first @ np.conj(first.T), q @ t @ np.conj(q.T)


def solve_half(a, b, lower):
    return sl.solveh_banded(a if lower else a[::-1], b, lower=lower)


def unturned(w, v):
    """Eigenvalues, and the projectors onto the eigenvectors: without LAPACK's signs."""
    return w, np.einsum("...ij,...kj->...ikj", v, np.conj(v))


CASES = {
    "solve": (LA.solve, A, B), "solve, one vector": (LA.solve, A, W), "solve, real matrix": (LA.solve, REAL, B),
    "solve, real side": (LA.solve, A, numbers(3, 2, complex=False)), "solve, stack": (LA.solve, STACK, B),
    "solve, used twice": (lambda a: LA.solve(a, np.conj(a).T) + a, A), "inv": (LA.inv, A),
    "inv, stack": (LA.inv, STACK),
    "det": (LA.det, A), "det, stack": (LA.det, STACK), "det, singular": (LA.det, SINGULAR),
    "det, two rows": (LA.det, numbers(2, 2)), "slogdet": (LA.slogdet, A), "slogdet, stack": (LA.slogdet, STACK),
    "matmul": (np.matmul, A, B), "einsum": (lambda a, b: np.einsum("ij,jk->ki", a, b), A, B),
    "cross": (np.cross, numbers(2, 3), numbers(2, 3, seed=1)), "kron": (np.kron, B, W), "cumsum": (np.cumsum, W),
    "cumprod": (np.cumprod, W), "cumprod, zero": (np.cumprod, np.array([1.3 + 1j, 0.0, 2.0 - 1j])),
    "prod": (np.prod, A),
    "prod, zero": (np.prod, np.array([1.3 + 1j, 0.0, 2.0 - 1j])), "convolve": (np.convolve, numbers(4), W),
    "tensorsolve": (LA.tensorsolve, numbers(2, 3, 6), numbers(2, 3)), "tensorinv": (LA.tensorinv, numbers(2, 3, 6)),
    "matrix_power": (lambda a: LA.matrix_power(a, -3), A), "multi_dot": (lambda a, b: LA.multi_dot([a, b, b.T]), A, B),
    "cholesky": (LA.cholesky, POSITIVE), "cholesky, upper": (lambda a: LA.cholesky(a, upper=True), POSITIVE),
    "cholesky, stack": (LA.cholesky, np.stack([POSITIVE, 2.0 * POSITIVE])), "eigh": (LA.eigh, POSITIVE + 0.3 * A),
    "eigh, upper": (lambda a: LA.eigh(a, "U"), A), "eigh, stack": (LA.eigh, STACK), "eigvalsh": (LA.eigvalsh, A),
    "eig": (LA.eig, A), "eig, stack": (LA.eig, STACK), "eig, real matrix": (LA.eig, TURNING),
    "eig, real values": (LA.eig, REAL @ REAL.T + 0.1 * REAL), "eigvals": (LA.eigvals, numbers(4, 4, complex=False)),
    "roots": (np.roots, np.array([1.3, 2.0, 3.0, 1.7])), "roots, complex": (np.roots, numbers(4)),
    "roots, zeros": (lambda p: np.roots(np.concatenate([[0.0], p, [0.0, 0.0]])), numbers(3)),
    "poly": (np.poly, W), "poly, matrix": (np.poly, TURNING), "poly, pairs": (lambda p: np.poly(np.roots(p)), REAL[0]),
    **{
        f"{name}, {x.shape}": (f, x) for x in (A, TALL, WIDE, STACK) for name, f in (
            ("svd", lambda a: LA.svd(a, full_matrices=False)), ("svdvals", LA.svdvals), ("pinv", LA.pinv),
            ("qr", LA.qr),
        )
    },
    "qr, r": (lambda a: LA.qr(a, "r"), TALL), "pinv, rcond": (lambda a: LA.pinv(a, rcond=0.5), numbers(4, 3)),
    "pinv, Hermitian": (lambda a: LA.pinv(a, hermitian=True), A),
    **{f"lstsq, {x.shape}": (lambda a, b: LA.lstsq(a, b)[0], x, numbers(len(x), 2)) for x in (A, TALL, WIDE)},
    "lstsq, residuals": (lambda a, b: LA.lstsq(a, b)[1], TALL, numbers(4)),
    "lstsq, real matrix": (lambda a, b: LA.lstsq(a, b)[0], numbers(4, 2, complex=False), numbers(4)),
    **{f"norm, {p}": (lambda a, p=p: LA.norm(a, p), A) for p in (None, "fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf)},
    **{f"norm of a vector, {p}": (lambda a, p=p: LA.norm(a, p), W) for p in (None, 1, np.inf, -np.inf, 3, 0.5, -1)},
    "norm, axes": (lambda a: LA.norm(a, "nuc", (0, 2), True), numbers(3, 2, 4)),
    "matrix_norm": (lambda a: LA.matrix_norm(a, ord=2), STACK), "vector_norm": (lambda a: LA.vector_norm(a, ord=3), W),
    **{f"cond, {p}": (lambda a, p=p: LA.cond(a, p), A) for p in (None, -2, 1, "fro")},
    # scipy.linalg
    **{
        f"solve_triangular, {t}, {low}": (lambda a, b, t=t, low=low: sl.solve_triangular(a, b, t, low), A, B)
        for t in "NTC" for low in (False, True)
    },
    **{
        f"solve, {kind}, {low}": (lambda a, b, k=kind, low=low: sl.solve(a, b, low, assume_a=k), POSITIVE + 0.2 * A, B)
        for kind in ("sym", "her", "pos", "upper triangular", "diagonal") for low in (False, True)
    },
    **{
        f"{name}, {low}": (lambda *args, f=f, low=low: f(*args, lower=low), *args) for low in (False, True)
        for name, f, *args in (
            ("scipy's cholesky", sl.cholesky, POSITIVE),
            ("cho_factor", lambda a, lower: sl.cho_factor(a, lower)[0], A + 9.0 * np.eye(3)),
            ("cho_solve", lambda a, b, lower: sl.cho_solve((a, lower), b), A, B),
            ("cho_solve, stack", lambda a, b, lower: sl.cho_solve((a, lower), b), STACK, B),
            ("scipy's eigh", lambda a, lower: unturned(*sl.eigh(a, lower=lower)), A),
            ("scipy's eigvalsh", sl.eigvalsh, A),
            ("eigh of two, 1", lambda a, b, lower: unturned(*sl.eigh(a, b, lower=lower)), A, POSITIVE),
            ("eigh of two, 2", lambda a, b, lower: unturned(*sl.eigh(a, b, lower=lower, type=2)), A, POSITIVE),
            ("eigh of two, 3", lambda a, b, lower: unturned(*sl.eigh(a, b, lower=lower, type=3)), A, POSITIVE),
            ("solveh_banded", solve_half, BAND, numbers(5, 2)), ("two diagonals", solve_half, BAND[:2], numbers(5)),
        )
    },
    "lu": (lambda a: sl.lu(a)[1:], A), "lu, tall": (lambda a: sl.lu(a)[1:], TALL),
    "lu, wide": (lambda a: sl.lu(a)[1:], WIDE),
    **{f"lu_solve, {t}": (lambda a, b, t=t: sl.lu_solve(sl.lu_factor(a), b, t), A, B) for t in (0, 1, 2)},
    **{
        f"polar, {x.shape}, {side}": (lambda a, s=side: sl.polar(a, s), x)
        for x in (A, TALL, WIDE) for side in ("left", "right")
    },
    "scipy's svd": (lambda a: sl.svd(a, False), TALL), "scipy's qr": (lambda a: sl.qr(a, mode="economic"), TALL),
    "scipy's pinv": (sl.pinv, TALL), "scipy's norm": (sl.norm, A), "scipy's det": (sl.det, A),
    "scipy's inv": (sl.inv, A),
    "schur": (lambda a: invariant(*sl.schur(a)), A),
    "schur, complex": (lambda a: invariant(*sl.schur(a, "complex")), TURNING),
    "complex_schur_decompose": (lambda a: invariant(*stan.complex_schur_decompose(a)[::-1]), TURNING),
    "eigendecompose": (lambda a: unturned(*stan.eigendecompose(a)[::-1]), TURNING),
    "orth": (lambda a: np.abs(sl.orth(a)), TALL), "null_space": (lambda a: np.abs(sl.null_space(a)), numbers(2, 3)),
    "subspace_angles": (sl.subspace_angles, numbers(5, 2), numbers(5, 2, seed=1)),
    "expm": (sl.expm, A), "expm, stack": (sl.expm, STACK), "expm_frechet": (sl.expm_frechet, A, STACK[0]),
    "logm": (sl.logm, POSITIVE + 0.3 * A), "logm, general": (sl.logm, A), "logm, real": (sl.logm, TURNING),
    "logm, below 0": (sl.logm, np.diag([-1.0, -2.0, -3.0]) + 0.1 * REAL), "sqrtm": (sl.sqrtm, A),
    "sqrtm, real": (sl.sqrtm, TURNING), "sqrtm, below 0": (sl.sqrtm, np.diag([-1.0, 2.0, -3.0]) + 0.1 * REAL),
    "solve_sylvester": (sl.solve_sylvester, A, numbers(2, 2), B),
    "solve_lyapunov": (sl.solve_continuous_lyapunov, A, STACK[0]),
    "solve_discrete_lyapunov": (sl.solve_discrete_lyapunov, 0.3 * A, STACK[0]),
    "scipy's eig": (sl.eig, A), "scipy's eig, real matrix": (sl.eig, REAL @ REAL.T + 0.1 * REAL),
    "scipy's eigvals": (sl.eigvals, TURNING), "eigvals alone": (lambda a: sl.eig(a, right=False), A),
    "solve_continuous_are": (lambda a, b: sl.solve_continuous_are(a, b, POSITIVE, np.diag([1.0, 2.0])), A, B),
    "solve_continuous_are, real matrix": (
        lambda a, r: sl.solve_continuous_are(a, B, np.eye(3), np.eye(2) + r @ np.conj(r.T), s=0.1 * B), REAL,
        A[:2, :2],
    ),
    "solve_banded": (lambda a, b: sl.solve_banded((1, 1), a, b), BAND[[1, 0, 2]], numbers(5, 2)),
    "toeplitz": (sl.toeplitz, W), "toeplitz, row": (sl.toeplitz, W, numbers(4)), "hankel": (sl.hankel, W, numbers(4)),
    "matmul_toeplitz": (sl.matmul_toeplitz, W, B),
    "solve_toeplitz": (sl.solve_toeplitz, np.array([4.0, W[1], W[2]]), B),
    "lfilter": (signal.lfilter, numbers(3), np.array([1.5 + 0.2j, 0.3, -0.2j]), numbers(6)),
    "logsumexp": (contad.logsumexp, W), "softmax": (special.softmax, W), "sparse S @ x": (lambda x: SPARSE @ x, W),
    "sparse x @ S": (lambda x: x @ SPARSE, B.T), "sparse S @ x, real x": (lambda x: SPARSE @ x, REAL),
    "spsolve": (lambda v, x: spsolve(in_pattern(v), x), SPARSE.data + 0.1, W),
    "splu, H": (lambda x: splu(SPARSE.tocsc()).solve(x, "H"), W),
    "circulant": (sl.circulant, W), "solve_circulant": (sl.solve_circulant, W, B), "block_diag": (sl.block_diag, A, B),
}  # fmt: skip


def loss_of(f):
    """A real function of the results: weighted sums of their parts, and of products of these."""

    def loss(*args):
        total = 0.0
        for z in of_lists(f(*args)):
            w, x = np.resize(WEIGHTS, np.shape(z)), np.real(z)
            total = total + np.sum(w * x * x + 0.4 * x)
            if is_complex(z):
                total = total + np.sum(w * x * np.imag(z) + 0.7 * np.imag(z))
        return total

    return loss


def differences(loss, args):
    """The gradient by differences of fourth order, in every direction."""
    found = [np.zeros_like(x) for x in args]
    for k, x in enumerate(args):
        for at in np.ndindex(x.shape):
            for unit in (1.0, 1j) if x.dtype == complex else (1.0,):
                values = []
                for step in (2.0, 1.0, -1.0, -2.0):
                    moved = [y.copy() for y in args]
                    moved[k][at] += step * STEP * unit
                    values.append(loss(*moved))
                found[k][at] += unit * np.dot([-1.0, 8.0, -8.0, 1.0], values) / (12.0 * STEP)
    return found


def paired(x, y):
    """The real inner product of two trees."""
    return sum(np.sum(np.real(a) * np.real(b) + np.imag(a) * np.imag(b)) for a, b in zip(x, y, strict=True))


def require_near(found, expected, bound):
    most = max(np.max(np.abs(x)) for x in expected)
    for x, y in zip(found, expected, strict=True):
        assert np.shape(x) == np.shape(y)
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=0.0, atol=bound * most)


def directions(args):
    return [numbers(*x.shape, seed=7, complex=x.dtype == complex) for x in args]


def check_first(f, args):
    loss, every = loss_of(f), tuple(range(len(args)))
    expected = differences(loss, args)
    value, gradient = contad.value_and_grad(loss, every)(*args)
    np.testing.assert_allclose(value, loss(*args), rtol=1e-12)
    require_near(gradient, expected, 1e-7)
    tangent = contad.jvp(loss, tuple(args), tuple(directions(args)))[1]
    np.testing.assert_allclose(tangent, paired(expected, directions(args)), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_first_derivatives(name):
    f, *args = CASES[name]
    check_first(f, args)


@pytest.mark.parametrize("name", CASES)
def test_second_derivatives(name):
    f, *args = CASES[name]
    every, dots = tuple(range(len(args))), directions(args)
    gradient = contad.grad(loss_of(f), every)
    ahead, behind = (gradient(*(x + step * d for x, d in zip(args, dots, strict=True))) for step in (1e-5, -1e-5))
    expected = [(x - y) / 2e-5 for x, y in zip(ahead, behind, strict=True)]
    require_near(contad.jvp(gradient, tuple(args), tuple(dots))[1], expected, 3e-6)
    require_near(contad.grad(lambda *xs: paired(gradient(*xs), dots), every)(*args), expected, 3e-6)


# NumPy's and SciPy's functions do not take object arrays of real variables
ON_OBJECT_ARRAYS = [
    name for name, (_, *args) in CASES.items() if all(x.dtype == complex for x in args) and name != "subspace_angles"
]


@pytest.mark.parametrize("engine", ["records", "closures"])
@pytest.mark.parametrize("name", ON_OBJECT_ARRAYS)
def test_engines_agree(name, engine):
    f, *args = CASES[name]
    every = tuple(range(len(args)))
    found, expected = (contad.grad(loss_of(f), every, engine=e)(*args) for e in (engine, "matrix"))
    require_near(found, expected, 1e-11)


@pytest.mark.parametrize("name", [
    "solve", "inv", "slogdet", "cholesky", "eigh", "svd, (4, 2)", "qr, (3, 3)", "pinv, (2, 4)", "lstsq, (4, 2)", "eig",
    "roots", "norm, 2", "expm", "sqrtm, real", "polar, (3, 3), left", "schur", "lu_solve, 2", "solveh_banded, True",
])  # fmt: skip
def test_recorded_programs_agree(name):
    f, *args = CASES[name]
    every, others = tuple(range(len(args))), [1.02 * x for x in args]
    program = contad.record(loss_of(f), *args)
    np.testing.assert_allclose(program(*others), loss_of(f)(*others), rtol=1e-12)
    require_near(contad.grad(program, every)(*others), contad.grad(loss_of(f), every)(*others), 1e-10)


# ---- beside real matrices --------------------------------------------------------------------------------------------
def as_real(a):
    """[[a.real, -a.imag], [a.imag, a.real]]."""
    return np.block([[a.real, -a.imag], [a.imag, a.real]])


@pytest.mark.parametrize("f", [LA.inv, sl.expm, lambda a: LA.solve(a, a @ a + a), lambda a: LA.matrix_power(a, 3)])
def test_real_matrices_of_twice_the_size_agree(f):
    def of_real(a):
        z = f(as_real(a))
        return z[:3, :3] + 1j * z[3:, :3]

    require_near([contad.grad(loss_of(of_real))(A)], [contad.grad(loss_of(f))(A)], 1e-12)


def test_real_arguments_have_real_gradients():
    gradients = contad.grad(lambda a, b: np.sum(np.abs(LA.solve(a, b)) ** 2), (0, 1))(REAL, W)
    assert [x.dtype for x in gradients] == [float, complex]
    assert contad.grad(lambda a: np.sum(np.abs(LA.eigvals(a))))(TURNING).dtype == float


def test_real_eigenvalues_stay_real():
    a = np.array([[4.0, 1.0], [2.0, 3.0]])
    assert contad.grad(lambda x: LA.eig(x)[0][0] * LA.eig(x)[1][0, 1])(a).dtype == float  # a real result
    assert contad.grad(lambda p: np.sum(np.roots(p)))(np.array([1.0, -3.0, 2.0])).dtype == float
    assert contad.grad(lambda x: np.sum(sl.logm(x)))(a).dtype == float


def test_sums_and_products_of_eigenvalues():
    found = contad.grad(lambda a: np.prod(LA.eigvals(a)).real)(TURNING)
    np.testing.assert_allclose(found, LA.det(TURNING) * LA.inv(TURNING).T, rtol=1e-12)
    found = contad.grad(lambda p: np.poly(np.roots(p))[2])(np.array([1.0, 2.0, 3.0, 1.7]))
    np.testing.assert_allclose(found, [-3.0, 0.0, 1.0, 0.0], atol=1e-12)


# ---- degenerate and singular points ----------------------------------------------------------------------------------
EYE = np.eye(3, dtype=complex)


@pytest.mark.parametrize("f", [LA.eigvalsh, LA.svdvals, LA.eigvals])
def test_equal_values_have_symmetric_functions(f):
    np.testing.assert_allclose(contad.grad(lambda a: np.sum(np.real(f(a)) ** 2))(EYE), 2.0 * EYE, atol=1e-14)


@pytest.mark.parametrize("f", [LA.eigh, LA.eig, lambda a: LA.svd(a)[:2]])
def test_vectors_of_equal_values_have_no_derivative(f):
    a = EYE if f is not LA.eig else np.diag([1j, 1j, 2.0])
    vectors = (lambda x: f(x)[0]) if "lambda" in f.__name__ else (lambda x: f(x)[1])
    assert np.isnan(contad.grad(lambda x: np.real(vectors(x)[0, 0]) + np.imag(vectors(x)[1, 0]))(a)).any()


def test_singular_matrices():
    singular = np.array([[1.0, 1j], [1j, -1.0]])
    assert np.isnan(contad.grad(lambda a: LA.slogdet(a)[1])(singular)).all()
    with pytest.raises(LA.LinAlgError, match="ingular"):
        contad.grad(lambda a: np.real(LA.inv(a)[0, 0]))(np.zeros((2, 2), complex))
    assert np.isnan(contad.grad(lambda a: np.sum(np.abs(LA.qr(a)[1])))(np.ones((3, 2), complex))).any()
    np.testing.assert_array_equal(contad.grad(LA.norm)(np.zeros((2, 2), complex)), np.zeros((2, 2)))
    with pytest.raises(LA.LinAlgError):
        contad.grad(lambda a: np.sum(np.abs(LA.cholesky(a))))(-POSITIVE)


def test_logarithms_of_equal_numbers_on_the_cut_have_no_derivative():
    assert np.isnan(contad.grad(lambda a: np.sum(sl.logm(a).imag))(np.array([[-2.0, 1.0], [0.0, -2.0]]))).any()


def test_columns_of_diagonal_matrices_keep_their_phase():
    a = np.diag([1.0, 2.0, 3.0]).astype(complex)
    projector = contad.grad(lambda x: np.real(LA.eigh(x)[1][0, 1] * np.conj(LA.eigh(x)[1][1, 1])))(a)
    np.testing.assert_allclose(projector, [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], atol=1e-14)


@pytest.mark.parametrize(("f", "message"), [
    (lambda a: sl.schur(a)[0], "schur: a has complex eigenvalues"), (lambda a: LA.qr(a * 1j, "raw")[0], "mode='raw'"),
])  # fmt: skip
def test_refusals(f, message):
    with pytest.raises(UnsupportedError, match=message):
        contad.grad(lambda a: np.sum(np.real(f(a))))(TURNING)


def test_a_missing_conjugate_is_noticed(monkeypatch):
    monkeypatch.setattr(polar_factors, "conj_transposed_of", transposed_of)
    with pytest.raises(AssertionError):
        test_first_derivatives("polar, (4, 2), right")
