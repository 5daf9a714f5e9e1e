"""Stan's functions of matrices: values by hand or by SciPy, derivatives of both orders, layouts, triangles."""

import inspect

import numba
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from mpmath import mp

import contad
from contad import stan
from contad.errors import GuardError, UnsupportedError
from contad.ops import factors
from contad.testing import expect_ad
from tests.judges.array_derivatives import check_orders
from tests.judges.matrices import STACK, STACKED_S, TALL, WIDE, A, S, a, unsigned
from tests.judges.samples import sampled
from tests.judges.steps_in_python import leave_steps_to_python

B, V, L = a(3, 2), a(3), np.tril(A)
LOW = S + np.triu(np.full((3, 3), 7.0), 1)  # which `whole` does not read
STACKED_LOW = STACKED_S + np.triu(np.full((3, 3), 7.0), 1)
INDICES, STARTS = np.array([0, 2, 1, 1, 3]), np.array([0, 2, 2, 3, 5])
HOLES = np.array([[0.0, 1.3, 0.0], [-0.7, 0.0, 2.1]])


def whole(x):
    """The symmetric matrix in the lower triangle."""
    return np.tril(x) + np.swapaxes(np.tril(x, -1), -1, -2)


def turned(x):
    return np.swapaxes(x, -1, -2)


def dense(w):
    return scipy.sparse.csr_array((w, INDICES, STARTS), (4, 4)).toarray()


# name -> (call, NumPy's or SciPy's value, arguments): every one differentiable in all arguments
def schur_part(x, k):
    return np.abs(scipy.linalg.schur(x, "complex")[k])


CASES = {
    "elt_multiply": (lambda x, y: stan.elt_multiply(x, y), np.multiply, B, a(3, 2, seed=1)),
    "elt_divide": (lambda x, y: stan.elt_divide(x, y), np.divide, B, a(3, 2, seed=1)),
    "elt_divide by a number": (lambda x, y: stan.elt_divide(x, y), np.divide, B, np.array(1.7)),
    "columns_dot_product": (
        lambda x, y: stan.columns_dot_product(x, y), lambda x, y: np.einsum("ij,ij->j", x, y), B, a(3, 2, seed=1),
    ),
    "rows_dot_product": (
        lambda x, y: stan.rows_dot_product(x, y), lambda x, y: np.einsum("sij,sij->si", x, y), STACK, a(2, 3, 3),
    ),
    "columns_dot_self": (lambda x: stan.columns_dot_self(x), lambda x: np.linalg.norm(x, axis=-2) ** 2, STACK),
    "rows_dot_self": (lambda x: stan.rows_dot_self(x), lambda x: np.linalg.norm(x, axis=-1) ** 2, B),
    "diag_pre_multiply": (lambda x, y: stan.diag_pre_multiply(x, y), lambda x, y: np.diag(x) @ y, V, B),
    "diag_post_multiply": (lambda x, y: stan.diag_post_multiply(x, y), lambda x, y: x @ np.diag(y), B, V[:2]),
    "diag_pre_multiply of stacks": (
        lambda x, y: stan.diag_pre_multiply(x, y), lambda x, y: x[:, :, None] * y, a(2, 3), a(2, 3, 2),
    ),
    "quad_form_diag": (lambda x, y: stan.quad_form_diag(x, y), lambda x, y: np.diag(y) @ x @ np.diag(y), A, V),
    "add_diag": (lambda x, y: stan.add_diag(x, y), lambda x, y: x + np.diag(y), A, V),
    "add_diag of a number": (lambda x, y: stan.add_diag(x, y), lambda x, y: x + y * np.eye(3), STACK, np.array(0.7)),
    "add_diag, wide": (
        lambda x, y: stan.add_diag(x, y), lambda x, y: x + np.eye(2, 4) * np.append(y, [0.0, 0.0]), WIDE, V[:2],
    ),
    "add_diag, tall": (lambda x, y: stan.add_diag(x, y), lambda x, y: x + np.eye(4, 2) * y, TALL, V[:2]),
    "crossprod": (lambda x: stan.crossprod(x), lambda x: x.T @ x, TALL),
    "tcrossprod": (lambda x: stan.tcrossprod(x), lambda x: x @ turned(x), STACK),
    "multiply_lower_tri_self_transpose": (
        lambda x: stan.multiply_lower_tri_self_transpose(x), lambda x: np.tril(x) @ np.tril(x).T, TALL,
    ),
    "quad_form": (lambda x, y: stan.quad_form(x, y), lambda x, y: y.T @ x @ y, A, B),
    "quad_form of a vector": (lambda x, y: stan.quad_form(x, y), lambda x, y: y @ x @ y, A, V),
    "quad_form of a stack": (lambda x, y: stan.quad_form(x, y), lambda x, y: turned(y) @ x @ y, STACK, a(2, 3, 2)),
    "quad_form_sym": (lambda x, y: stan.quad_form_sym(whole(x), y), lambda x, y: y.T @ whole(x) @ y, LOW, B),
    "quad_form_sym of a vector": (
        lambda x, y: stan.quad_form_sym(whole(x), y), lambda x, y: y @ whole(x) @ y, STACKED_LOW, V,
    ),
    "trace_quad_form": (lambda x, y: stan.trace_quad_form(x, y), lambda x, y: np.trace(y.T @ x @ y), A, B),
    "trace_gen_quad_form": (
        lambda d, x, y: stan.trace_gen_quad_form(d, x, y), lambda d, x, y: np.trace(d @ y.T @ x @ y), a(2, 2), A, B,
    ),
    "matrix_power": (lambda x: stan.matrix_power(x, 3), lambda x: x @ x @ x, 0.3 * A),
    "matrix_exp": (lambda x: stan.matrix_exp(x), scipy.linalg.expm, 0.3 * A),
    "matrix_exp_multiply": (
        lambda x, y: stan.matrix_exp_multiply(x, y), lambda x, y: scipy.linalg.expm(x) @ y, 0.3 * A, B,
    ),
    "scale_matrix_exp_multiply": (
        lambda t, x, y: stan.scale_matrix_exp_multiply(t, x, y), lambda t, x, y: scipy.linalg.expm(t * x) @ y,
        np.array(0.6), 0.4 * A, V,
    ),
    "mdivide_left": (lambda x, y: stan.mdivide_left(x, y), np.linalg.solve, A, B),
    "mdivide_right": (lambda y, x: stan.mdivide_right(y, x), lambda y, x: y @ np.linalg.inv(x), B.T, A),
    "mdivide_right of a vector": (lambda y, x: stan.mdivide_right(y, x), lambda y, x: y @ np.linalg.inv(x), V, A),
    "mdivide_left_spd": (
        lambda x, y: stan.mdivide_left_spd(whole(x), y), lambda x, y: np.linalg.inv(whole(x)) @ y, LOW, B,
    ),
    "mdivide_left_spd of stacks": (
        lambda x, y: stan.mdivide_left_spd(whole(x), y), lambda x, y: np.linalg.inv(whole(x)) @ y, STACKED_LOW, B,
    ),
    "mdivide_right_spd": (
        lambda y, x: stan.mdivide_right_spd(y, whole(x)), lambda y, x: y @ np.linalg.inv(whole(x)), B.T, LOW,
    ),
    "mdivide_left_tri_low": (
        lambda x, y: stan.mdivide_left_tri_low(x, y), lambda x, y: np.linalg.inv(np.tril(x)) @ y, A, V,
    ),
    "mdivide_right_tri_low": (
        lambda y, x: stan.mdivide_right_tri_low(y, x), lambda y, x: y @ np.linalg.inv(np.tril(x)), B.T, A,
    ),
    "mdivide_right_tri_low of stacks": (
        lambda y, x: stan.mdivide_right_tri_low(y, x), lambda y, x: y @ np.linalg.inv(np.tril(x)), a(2, 2, 3), STACK,
    ),
    "inverse": (lambda x: stan.inverse(x), np.linalg.inv, STACK),
    "inverse_spd": (lambda x: stan.inverse_spd(whole(x)), lambda x: np.linalg.inv(whole(x)), LOW),
    "generalized_inverse": (lambda x: stan.generalized_inverse(x), np.linalg.pinv, WIDE),
    "chol2inv": (lambda x: stan.chol2inv(np.tril(x)), lambda x: np.linalg.inv(np.tril(x) @ turned(np.tril(x))), STACK),
    "determinant": (lambda x: stan.determinant(x), np.linalg.det, A),
    "log_determinant": (lambda x: stan.log_determinant(x), lambda x: np.log(abs(np.linalg.det(x))), STACK),
    "log_determinant_spd": (
        lambda x: stan.log_determinant_spd(whole(x)), lambda x: np.log(np.linalg.det(whole(x))), LOW,
    ),
    "cholesky_decompose": (
        lambda x: stan.cholesky_decompose(whole(x)), lambda x: scipy.linalg.cholesky(x, lower=True), LOW,
    ),
    "qr": (lambda x: np.concatenate(stan.qr(x)), lambda x: np.concatenate(positive_qr(x)), A),
    "qr_Q": (lambda x: stan.qr_Q(x), lambda x: positive_qr(x)[0], WIDE),
    "qr_R": (lambda x: stan.qr_R(x), lambda x: np.vstack([positive_qr(x)[1], np.zeros((2, 2))]), TALL),
    "qr_thin": (lambda x: np.concatenate(stan.qr_thin(x)), lambda x: np.concatenate(positive_qr(x)), TALL),
    "qr_thin_Q": (lambda x: stan.qr_thin_Q(x), lambda x: np.stack([positive_qr(y)[0] for y in x]), STACK),
    "qr_thin_R": (lambda x: stan.qr_thin_R(x), lambda x: positive_qr(x)[1], WIDE),
    "svd": (lambda x: unsigned(stan.svd(x)[2]), lambda x: unsigned(np.linalg.svd(x)[2].T), TALL),
    "svd_U": (lambda x: unsigned(stan.svd_U(x)), lambda x: unsigned(np.linalg.svd(x)[0]), WIDE),
    "svd_V": (lambda x: unsigned(stan.svd_V(x)), lambda x: unsigned(np.linalg.svd(x, False)[2].T), WIDE),
    "singular_values": (lambda x: stan.singular_values(x), np.linalg.svdvals, STACK),
    "eigendecompose_sym": (
        lambda x: unsigned(stan.eigendecompose_sym(whole(x))[0]), lambda x: unsigned(np.linalg.eigh(x)[1]), LOW,
    ),
    "eigenvalues_sym": (lambda x: stan.eigenvalues_sym(whole(x)), np.linalg.eigvalsh, LOW),
    "eigenvectors_sym": (
        lambda x: unsigned(stan.eigenvectors_sym(whole(x))), lambda x: unsigned(np.linalg.eigh(x)[1]), LOW,
    ),
    "eigendecompose": (lambda x: stan.eigendecompose(x)[1], np.linalg.eigvals, L + 0.1),
    "eigenvalues": (lambda x: stan.eigenvalues(x), np.linalg.eigvals, L + 0.1),
    "eigenvectors": (lambda x: unsigned(stan.eigenvectors(x)), lambda x: unsigned(np.linalg.eig(x)[1]), L + 0.1),
    "complex_schur_decompose": (
        lambda x: np.abs(stan.complex_schur_decompose(x)[1]), lambda x: schur_part(x, 0), L + 0.1,
    ),
    "complex_schur_decompose_t": (
        lambda x: np.abs(stan.complex_schur_decompose_t(x)), lambda x: schur_part(x, 0), L + 0.1,
    ),
    "complex_schur_decompose_u": (
        lambda x: np.abs(stan.complex_schur_decompose_u(x)), lambda x: schur_part(x, 1), L + 0.1,
    ),
    "csr_matrix_times_vector": (
        lambda w, b: stan.csr_matrix_times_vector(4, 4, w, INDICES, STARTS, b), lambda w, b: dense(w) @ b, a(5), a(4),
    ),
    "csr_to_dense_matrix": (lambda w: stan.csr_to_dense_matrix(4, 4, w, INDICES, STARTS), dense, a(5)),
    "csr_extract": (lambda x: stan.csr_extract(x)[0], lambda x: scipy.sparse.csr_array(x).data, HOLES),
    "csr_extract_w": (lambda x: stan.csr_extract_w(x), lambda x: scipy.sparse.csr_array(x).data, HOLES),
}  # fmt: skip
CONSTANT = {"csr_extract_v": "indices", "csr_extract_u": "indptr"}
by_case = pytest.mark.parametrize("name", CASES)


def positive_qr(x):
    """The factors of QR with a diagonal of r that is not negative, by SciPy."""
    q, r = scipy.linalg.qr(x, mode="economic")
    sign = np.where(np.diagonal(r) < 0.0, -1.0, 1.0)
    return q * sign, sign[:, None] * r


def case(name):
    call, reference, *args = CASES[name]
    return call, reference, [np.array(x, dtype=float) for x in args]


@by_case
def test_values(name):
    call, reference, args = case(name)
    expected = reference(*args)
    found = call(*args)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)
    assert np.shape(found) == np.shape(expected)
    value, _ = contad.vjp(lambda *xs: call(*xs), *args)
    np.testing.assert_allclose(value, expected, rtol=1e-11, atol=1e-13)


@by_case
def test_derivatives_of_both_orders(name):
    call, _, args = case(name)
    if name.startswith("csr_extract"):  # which elements are 0 is a constant, that differences would change
        gradient = contad.grad(lambda x: np.sum(np.sin(call(x))))(HOLES)
        np.testing.assert_allclose(gradient, np.where(HOLES == 0.0, 0.0, np.cos(HOLES)), rtol=1e-15)
        return
    if name == "eigendecompose":
        return  # of eigenvalues, which have a case
    check_orders(call, args)


def parts(x):
    w, v, u = stan.csr_extract(x)
    same = stan.csr_to_dense_matrix(2, 3, stan.csr_extract_w(x), stan.csr_extract_v(x), stan.csr_extract_u(x))
    return np.sum(w**3) + np.sum(same**2) + np.sum(v) + u[1]


def test_the_parts_of_a_matrix_inside_njit():
    assert numba.njit(parts)(HOLES) == pytest.approx(parts(HOLES), rel=1e-14)
    expected = contad.grad(parts)(HOLES)
    np.testing.assert_allclose(contad.grad(numba.njit(parts))(HOLES), expected, rtol=1e-14)


SMALL = {
    "quad_form": (lambda x, y: stan.quad_form(x, y), A[:2, :2], B[:2]),
    "add_diag": (lambda x, y: stan.add_diag(x, y), A[:2, :2], V[:2]),
    "diag_pre_multiply": (lambda x, y: stan.diag_pre_multiply(x, y), V[:2], B[:2]),
    "mdivide_right": (lambda y, x: stan.mdivide_right(y, x), V[:2], A[:2, :2]),
    "mdivide_right_spd": (lambda y, x: stan.mdivide_right_spd(y, whole(x)), B[:2].T.copy(), LOW[:2, :2]),
    "chol2inv": (lambda x: stan.chol2inv(np.tril(x)), A[:2, :2]),
    "log_determinant_spd": (lambda x: stan.log_determinant_spd(whole(x)), LOW[:2, :2]),
    "scale_matrix_exp_multiply": (lambda t, x, y: stan.scale_matrix_exp_multiply(t, x, y), 0.6, A[:2, :2], V[:2]),
    "csr_to_dense_matrix": (lambda w: stan.csr_to_dense_matrix(4, 4, w, INDICES, STARTS) ** 2, a(5)),
    "qr_thin_R": (lambda x: stan.qr_thin_R(x), A[:2, :2]),
    "one by one": (lambda x, y: stan.mdivide_left_spd(x, y) * stan.quad_form_sym(x, y), A[:1, :1], V[:1]),
}


@pytest.mark.parametrize("name", sampled(sorted(SMALL), 3, family=lambda name: name[:8], name=lambda name: name))
def test_every_engine(name):
    f, *args = SMALL[name]
    expect_ad(f, *args)


LAYOUTS = {
    "in Fortran's order": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "a list": lambda x: x.tolist(),
}
PLAIN = ["mdivide_left_spd", "log_determinant_spd", "quad_form_sym", "tcrossprod", "inverse_spd", "mdivide_right"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", PLAIN)
def test_memory_layouts(name, layout):
    call, _, args = case(name)
    given = [LAYOUTS[layout](x) for x in args]
    for x in given:
        if isinstance(x, np.ndarray):
            x.flags.writeable = False
    np.testing.assert_allclose(call(*given), call(*args), rtol=1e-13)
    if layout != "a list":
        places = tuple(range(len(args)))
        gradient = contad.grad(lambda *xs: np.sum(np.sin(call(*xs))), places)
        for found, expected in zip(gradient(*given), gradient(*args), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(("call", "shapes", "expected"), [
    (lambda x, y: stan.mdivide_left_spd(x, y), [(0, 0), (0, 2)], (0, 2)),
    (lambda x, y: stan.mdivide_left_spd(x, y), [(3, 3), (3, 0)], (3, 0)),
    (lambda x, y: stan.mdivide_right_tri_low(y, x), [(0, 0), (0,)], (0,)),
    (lambda x: stan.log_determinant_spd(whole(x)), [(0, 0)], ()),
    (lambda x: stan.inverse_spd(whole(x)), [(0, 0)], (0, 0)),
    (lambda x: stan.tcrossprod(x), [(2, 0)], (2, 2)),
    (lambda x, y: stan.quad_form_sym(x, y), [(0, 0), (0, 2)], (2, 2)),
    (lambda x: stan.gp_exp_quad_cov(x, 1.0, 2.0), [(0,)], (0, 0)),
    (lambda x: stan.gp_dot_prod_cov(x, 1.0), [(0, 3)], (0, 0)),
    (lambda w: stan.csr_matrix_times_vector(0, 3, w, np.array([], int), [0], np.ones(3)), [(0,)], (0,)),
])  # fmt: skip
def test_empty_matrices(call, shapes, expected):
    args = [np.eye(3) if shape == (3, 3) else np.empty(shape) for shape in shapes]
    value, gradients = contad.value_and_grad(lambda *xs: np.sum(call(*xs)), tuple(range(len(args))))(*args)
    assert value == 0.0 and np.shape(call(*args)) == expected
    for gradient, x in zip(gradients, args, strict=True):
        assert gradient.shape == x.shape and not gradient.any()


# ---- symmetric matrices ----------------------------------------------------------------------------------------------
SYMMETRIC = {
    "mdivide_left_spd": lambda x: stan.mdivide_left_spd(x, B),
    "inverse_spd": lambda x: stan.inverse_spd(x),
    "log_determinant_spd": lambda x: stan.log_determinant_spd(x),
    "quad_form_sym": lambda x: stan.quad_form_sym(x, B),
    "cholesky_decompose": lambda x: stan.cholesky_decompose(x),
    "eigenvalues_sym": lambda x: stan.eigenvalues_sym(x),
}


@pytest.mark.parametrize("name", SYMMETRIC)
def test_the_lower_triangle_has_the_derivative(name):
    call = SYMMETRIC[name]
    loss = lambda x: np.sum(np.sin(call(x)))
    found = contad.grad(loss)(S)
    assert np.all(found[np.triu_indices(3, 1)] == 0.0) and np.all(found[np.tril_indices(3)] != 0.0)
    with pytest.raises(ValueError, match=f"{name}: (the diagonal of )?a must be a symmetric matrix"):
        call(LOW)
    through = contad.grad(lambda x: loss(0.5 * (x + x.T)))(S)  # the derivative among symmetric matrices
    np.testing.assert_allclose(found, np.tril(through) + np.tril(through, -1), rtol=1e-10)


def test_products_are_exactly_symmetric():
    x = a(7, 5)
    inverses = stan.inverse_spd(x @ x.T + np.eye(7)), stan.chol2inv(np.tril(x[:5]))
    for z in (stan.tcrossprod(x), stan.crossprod(x), stan.quad_form_sym(S, a(3, 6)), *inverses):
        np.testing.assert_array_equal(z, z.T)


@pytest.fixture
def counted(monkeypatch):
    made, real = [], np.linalg.cholesky
    monkeypatch.setattr(np.linalg, "cholesky", lambda x: made.append(x.shape) or real(x))
    return made


def test_one_cholesky_factor_serves_a_log_density_and_its_sweep(counted):
    log_density = lambda k, y: -0.5 * (y @ stan.mdivide_left_spd(k, y)) - 0.5 * stan.log_determinant_spd(k)
    contad.grad(log_density, (0, 1))(S, V)
    assert counted == [(3, 3)]
    contad.hessian(log_density)(S, V)
    assert counted == [(3, 3)] * 2 and factors.known_factor(S, symmetric=True) is None


def test_right_division_shares_the_factors_of_left_division(monkeypatch):
    made = []

    class Counted(factors.Factor):
        __slots__ = ()

        def __init__(self, matrix):
            made.append(matrix.shape)
            super().__init__(matrix)

    monkeypatch.setattr(factors, "Factor", Counted)
    leave_steps_to_python(monkeypatch)  # what is counted are calls from Python
    contad.grad(lambda x: np.sum(stan.mdivide_left(x, V)) + np.sum(stan.mdivide_right(V, x)))(A)
    assert made == [(3, 3)]


def test_a_log_density_against_many_digits():
    x, y, p = a(5), a(5, seed=3), np.array([1.3, 0.7, 0.4])

    def log_density(sigma, length, noise):
        k = stan.add_diag(stan.gp_exp_quad_cov(x, sigma, length), noise)
        return -0.5 * (y @ stan.mdivide_left_spd(k, y)) - 0.5 * stan.log_determinant_spd(k)

    def exact(sigma, length, noise):
        k = mp.matrix(5, 5)
        for i in range(5):
            for j in range(5):
                d = mp.mpf(x[i]) - mp.mpf(x[j])
                k[i, j] = sigma**2 * mp.exp(-d * d / (2 * length**2)) + (noise if i == j else 0)
        v = mp.matrix(y)
        return -(v.T * mp.lu_solve(k, v))[0] / 2 - mp.log(mp.det(k)) / 2

    with mp.workdps(50):
        orders = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
        expected = [float(mp.diff(exact, tuple(map(mp.mpf, p)), order)) for order in orders]
    np.testing.assert_allclose(contad.grad(log_density, (0, 1, 2))(*p), expected, rtol=1e-12)


# ---- recorded programs -----------------------------------------------------------------------------------------------
RECORDED = {
    "solve": lambda x: stan.mdivide_left_spd(x, x[0]) + stan.log_determinant_spd(x),
    "form": lambda x: stan.quad_form_sym(x, x) + stan.tcrossprod(x),
    "covariance": lambda x: stan.gp_exp_quad_cov(x, x[0, 0] ** 2, np.exp(x[1])),
    "sparse": lambda x: stan.csr_matrix_times_vector(4, 3, x[0], np.array([2, 0, 1]), [0, 1, 1, 2, 3], x[1]),
}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_programs_run_at_other_inputs(name):
    def f(x):
        return np.sum(np.sin(RECORDED[name](x)))

    program = contad.record(f, S)
    assert program(1.1 * S) == pytest.approx(f(1.1 * S), rel=1e-12)
    np.testing.assert_allclose(contad.grad(program)(1.1 * S), contad.grad(f)(1.1 * S), rtol=1e-11, atol=1e-13)


def test_values_that_a_program_would_freeze_are_refused():
    program = contad.record(lambda x: np.sum(stan.qr_thin_R(x)), A)
    with pytest.raises(GuardError):
        program(-A)
    with pytest.raises(UnsupportedError, match="np.flatnonzero on values, which a program cannot check"):
        contad.record(lambda x: np.sum(stan.csr_extract_w(x)), HOLES)


# ---- names and refusals ----------------------------------------------------------------------------------------------
HOMES = ("decompositions", "gaussian_processes", "matrix_algebra", "shapes", "solves", "sparse")


def own_functions():
    """The functions of matrices that are defined in contad.stan."""
    homes = {f"contad.stan.{name}" for name in HOMES}
    functions = (getattr(stan, name) for name in stan.__all__)
    return {f.__name__: f for f in functions if getattr(f, "__module__", "") in homes}


def test_every_function_is_tried():
    tried = {name for name in own_functions() if not name.startswith("gp_")} - CONSTANT.keys()
    source = inspect.getsource(inspect.getmodule(case)).partition("CASES = {")[2].partition("CONSTANT")[0]
    assert [name for name in tried if f"stan.{name}(" not in source] == []
    for name, attribute in CONSTANT.items():
        np.testing.assert_array_equal(own_functions()[name](HOLES), getattr(scipy.sparse.csr_array(HOLES), attribute))


@pytest.mark.parametrize("name", own_functions())
def test_docstring(name):
    text = inspect.getdoc(own_functions()[name])
    assert text.splitlines()[0].endswith((".", ",", ";"))
    assert all(part in text for part in ("Shapes: ", "Cost: ", ">>> "))


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda x: stan.elt_multiply(x, x[:1]), ValueError, r"elt_multiply: y must have the shape of x, \(3, 3\), got"),
    (lambda x: stan.rows_dot_product(x, x[:, :1]), ValueError, "rows_dot_product: y must have the shape of x"),
    (lambda x: stan.columns_dot_self(x[0]), ValueError, "columns_dot_self: x must be a matrix or a stack"),
    (lambda x: stan.diag_pre_multiply(x[0, :1], x), ValueError, "diag_pre_multiply: v must have length 3 in axis"),
    (lambda x: stan.diag_post_multiply(x, x[0, :1]), ValueError, "diag_post_multiply: v must have length 3"),
    (lambda x: stan.quad_form_diag(x, x[0, :1]), ValueError, "quad_form_diag: v must have length 3"),
    (lambda x: stan.add_diag(x, x[0, :2]), ValueError, "add_diag: d must have length 3 in axis -1, as the diag"),
    (lambda x: stan.tcrossprod(x[0]), ValueError, "tcrossprod: a must be a matrix"),
    (lambda x: stan.quad_form(x[:2], x), np.linalg.LinAlgError, "quad_form: .* must be square"),
    (lambda x: stan.quad_form_sym(x, x[:2]), ValueError, "quad_form_sym: b must have length 3 in axis -2"),
    (lambda x: stan.trace_gen_quad_form(x[:2, :2], x, x), ValueError, "trace_gen_quad_form: d must have length 3"),
    (lambda x: stan.matrix_power(x, -1), ValueError, "matrix_power: n must not be negative, got -1"),
    (lambda x: stan.scale_matrix_exp_multiply(x[0], x, x), ValueError, "t must be a number, got shape"),
    (lambda x: stan.mdivide_left(x, x[:2]), ValueError, "mdivide_left: b must have length 3"),
    (lambda x: stan.mdivide_right(x[:, :2], x), ValueError, "mdivide_right: b must have length 3 in axis -1"),
    (lambda x: stan.mdivide_left(x * 0.0, x), np.linalg.LinAlgError, "ingular"),
    (lambda x: stan.mdivide_left_spd(-x @ x.T, x), np.linalg.LinAlgError, "definite"),
    (lambda x: stan.mdivide_left_tri_low(x * 0.0, x), np.linalg.LinAlgError, "ingular"),
    (lambda x: stan.inverse(x * 0.0), np.linalg.LinAlgError, "ingular"),
    (lambda x: stan.inverse_spd(-x @ x.T), np.linalg.LinAlgError, "definite"),
    (lambda x: stan.log_determinant_spd(x * 0.0), np.linalg.LinAlgError, "definite"),
    (lambda x: stan.chol2inv(x * 0.0), np.linalg.LinAlgError, "ingular"),
    (lambda x: stan.cholesky_decompose(-x @ x.T), np.linalg.LinAlgError, "definite"),
    (lambda x: stan.inverse(x[:2]), np.linalg.LinAlgError, "inverse: .* must be square"),
    (lambda x: stan.qr_Q(x[:, :2]), UnsupportedError, "mode='complete' has no derivative"),
    (
        lambda x: stan.csr_matrix_times_vector(2, 3, x[0], [0, 1, 3], [0, 1, 3], x[1]),
        ValueError,
        "csr_matrix_times_vector: v must have columns from 0 to 2, got 0 to 3",
    ),
    (
        lambda x: stan.csr_matrix_times_vector(2, 3, x[0], [0, 1, 2], [0, 1, 2], x[1]),
        ValueError,
        r"u must rise from 0 to 3, the number of values, got \[0, 1, 2\]",
    ),
    (
        lambda x: stan.csr_matrix_times_vector(2, 3, x[0], [0.0, 1.0, 2.0], [0, 1, 3], x[1]),
        ValueError,
        "v must be 3 integers, got shape .* of float64",
    ),
    (
        lambda x: stan.csr_to_dense_matrix(2, 3, x[0], [0, 1, 1], [0, 1, 3]),
        ValueError,
        "csr_to_dense_matrix: a column of v comes twice in a row",
    ),
])  # fmt: skip
def test_bad_calls_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        contad.grad(lambda x: np.sum(call(x)))(A)
    if error is not UnsupportedError:
        with pytest.raises(error, match=message):
            call(A)


def test_plain_matrices_have_every_column_of_q():
    q, r = stan.qr(TALL)
    assert q.shape == (4, 4) and r.shape == (4, 2)
    np.testing.assert_allclose(q @ r, TALL, rtol=1e-13)


def test_stan_comes_with_the_first_use():
    assert "stan" in dir(contad) and contad.stan is stan
