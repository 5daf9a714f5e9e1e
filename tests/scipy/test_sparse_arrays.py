"""Sparse constants and sparse matrices of variables: SciPy's values, dense derivatives, counts, what is refused."""

import inspect
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import contad
import contad.scipy.sparse as mirror
from contad.errors import LostDerivativeError, UnsupportedError
from contad.ops import sparse_patterns
from contad.scipy.sparse import linalg
from contad.testing import expect_ad
from tests.judges.array_derivatives import check_orders
from tests.judges.matrices import a

DENSE = np.array([[1.3, 0.0, -0.7, 0.0], [0.0, 0.0, 0.4, 2.1], [0.9, -1.1, 0.0, 0.0]])
SQUARE = np.array([[2.3, -0.7, 0.0, 0.4], [0.0, 1.9, -1.1, 0.0], [0.8, 0.0, 2.6, 0.0], [0.0, 0.5, 0.0, -3.1]])
SYMMETRIC = SQUARE @ SQUARE.T
CSR, CSC, COO = (sp.csr_array(SQUARE).asformat(name) for name in ("csr", "csc", "coo"))
VALUES, X, XS = CSR.data, a(4), a(4, 2)
FORMATS = ("csr", "csc", "coo", "dia", "bsr", "lil", "dok")


def csr(m, v):
    """The square matrix with other values, by the module to use."""
    return m.csr_array((v, CSR.indices, CSR.indptr), shape=CSR.shape)


# ---- constants -------------------------------------------------------------------------------------------------------
PRODUCTS = {
    "S @ x": (lambda s, x: s @ x, a(4)), "S @ matrix": (lambda s, x: s @ x, a(4, 2)),
    "x @ S": (lambda s, x: x @ s, a(3)), "matrix @ S": (lambda s, x: x @ s, a(2, 3)),
    "S.T @ x": (lambda s, x: s.T @ x, a(3)), "S.dot": (lambda s, x: s.dot(x) if sp.issparse(s) else s @ x, a(4)),
    "a view": (lambda s, x: s @ x[::2], a(8)),
}  # fmt: skip


@pytest.mark.parametrize("made", [sp.csr_array, sp.csr_matrix], ids=["array", "matrix"])
@pytest.mark.parametrize("format", FORMATS)
def test_products_with_constants_are_those_with_dense_ones(format, made):
    s = made(DENSE).asformat(format)
    for product, x in PRODUCTS.values():
        weights = np.cos(1.0 + np.arange(np.size(product(DENSE, x)))).reshape(np.shape(product(DENSE, x)))
        loss = lambda x, matrix=s, product=product, weights=weights: np.sum(weights * np.sin(product(matrix, x)))
        dense = lambda x, loss=loss: loss(x, DENSE)
        value, pull = contad.vjp(lambda x, product=product: product(s, x), x)
        np.testing.assert_array_equal(value, product(s, x))
        np.testing.assert_allclose(pull(weights), contad.vjp(lambda x: product(DENSE, x), x)[1](weights), rtol=1e-13)  # noqa: B023
        np.testing.assert_allclose(contad.grad(loss)(x), contad.grad(dense)(x), rtol=1e-13)
        direction = a(*x.shape, seed=3)
        np.testing.assert_allclose(contad.jvp(loss, (x,), (direction,))[1], contad.jvp(dense, (x,), (direction,))[1])
        found = contad.hvp(loss)(x, direction)
        np.testing.assert_allclose(found, contad.hvp(dense)(x, direction), rtol=1e-12, atol=1e-14)
        assert np.any(found)


def test_integers_and_singles_count_as_doubles():
    for dtype in (np.int32, np.float32, bool):
        s = sp.csr_array(np.array([[2, 0], [1, 3]], dtype=dtype))
        np.testing.assert_array_equal(contad.grad(lambda x, s=s: np.sum(s @ x))(np.ones(2)), s.toarray().sum(0))


def test_the_matrix_may_be_changed_after_it_was_used():
    s = CSR.copy()

    def f(x):
        z = s @ x
        s.data[:] = np.nan
        s.indices[:] = 0
        return np.sum(z)

    np.testing.assert_allclose(contad.grad(f)(X), SQUARE.sum(axis=0), rtol=1e-15)


def test_the_values_may_be_changed_between_two_products():
    s = CSR.copy()

    def f(x):
        s.data[:] = CSR.data
        once = s @ x
        s.data *= 2.0
        return np.sum(once) + np.sum(s @ x)

    np.testing.assert_allclose(contad.grad(f)(X), 3.0 * SQUARE.sum(axis=0), rtol=1e-14)


def test_a_loop_keeps_one_copy_of_the_matrix():
    dense = np.random.default_rng(0).normal(size=(300, 300))
    s = sp.csr_array(np.where(dense > 0.5, dense, 0.0))

    def f(x):
        for _ in range(50):
            x = np.tanh(s @ x)
        return np.sum(x)

    contad.grad(f)(np.ones(300))  # makes what stays
    tracemalloc.start()
    try:
        contad.grad(f)(np.ones(300))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * s.data.nbytes


def test_in_recorded_programs():
    f = lambda v, x: np.sum(np.sin(csr(mirror, v) @ x)) + np.sum(np.cos(CSR @ linalg.spsolve(csr(mirror, v), x @ CSR)))
    program = contad.record(f, VALUES, X, argnums=(0, 1))
    assert program(1.3 * VALUES, 2.0 * X) == pytest.approx(f(1.3 * VALUES, 2.0 * X), rel=1e-13)
    found, expected = program.gradient(1.3 * VALUES, 2.0 * X), contad.grad(f, (0, 1))(1.3 * VALUES, 2.0 * X)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


SOLVERS = {
    "splu": lambda v, x: linalg.splu(csr(mirror, v)).solve(x),
    "factorized": lambda v, x: linalg.factorized(csr(mirror, v))(x),
} | {
    name: lambda v, x, name=name: getattr(linalg, name)(csr(mirror, v), x)[0]
    for name in ("cg", "gmres", "bicgstab", "minres")
}


@pytest.mark.parametrize("name", SOLVERS)
def test_factors_and_iterations_of_what_is_recorded_are_refused_by_name(name):
    remedy = rf"linalg\.{name}: contad\.record does not support it .*; use contad\.scipy\.sparse\.linalg\.spsolve"
    at = csr(sp, VALUES).shape[0]
    with pytest.raises(UnsupportedError, match=remedy):
        contad.record(lambda v: np.sum(SOLVERS[name](v, np.ones(at))), VALUES)


def test_right_hand_sides_that_are_recorded():
    s = sp.csr_array(np.diag([2.0, 3.0]))
    for matrix in (s, s.toarray()):
        with pytest.raises(UnsupportedError, match=r"linalg\.cg: contad\.record does not support it"):
            contad.record(lambda b, matrix=matrix: np.sum(linalg.cg(matrix, b)[0]), np.ones(2))
    with pytest.raises(UnsupportedError, match=r"linalg\.cg: contad\.record does not support it"):
        contad.record(lambda b: np.sum(linalg.cg(s, np.ones(2), b)[0] * b), np.ones(2))
    program = contad.record(lambda b: np.sum(linalg.splu(s.tocsc()).solve(b) ** 2), np.ones(2))
    np.testing.assert_allclose(program.gradient(np.array([2.0, 6.0])), [1.0, 4.0 / 3.0], rtol=1e-14)


def test_dead_rows_make_no_nan():
    s = sp.csr_array(np.array([[2.0, 3.0], [np.inf, 1.0]]))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(contad.grad(lambda x: (s @ x)[0])(np.ones(2)), [2.0, 3.0])
        v = contad.grad(lambda v, x: (csr(mirror, v) @ x)[1])(VALUES, np.array([np.inf, 2.0, 3.0, 4.0]))
    np.testing.assert_array_equal(v, [0, 0, 0, 2.0, 3.0, 0, 0, 0, 0])


# ---- matrices of variables -------------------------------------------------------------------------------------------
OTHER = sp.coo_array((np.array([0.7, -0.4, 1.9]), (np.array([3, 0, 3]), np.array([0, 0, 0]))), shape=(4, 4))
# name -> (call with the module to use, arguments)
CASES = {
    "product": (lambda m, v, x: csr(m, v) @ x, VALUES, X),
    "product with a matrix": (lambda m, v, x: csr(m, v) @ x, VALUES, XS),
    "x before": (lambda m, v, x: x @ csr(m, v), VALUES, XS.T),
    "transposed": (lambda m, v, x: csr(m, v).T @ x, VALUES, X),
    "dot": (lambda m, v, x: csr(m, v).dot(x), VALUES, X),
    "constant vector": (lambda m, v: csr(m, v) @ X, VALUES),
    "constant before": (lambda m, v: X @ csr(m, v), VALUES),
    "csc_array": (lambda m, v, x: m.csc_array((v, CSC.indices, CSC.indptr), shape=(4, 4)) @ x, CSC.data, X),
    "coo_array": (lambda m, v, x: m.coo_array((v, COO.coords), shape=(4, 4)) @ x, COO.data, X),
    "diags_array": (
        lambda m, u, v: m.diags_array([u, v, u[:1]], offsets=[-1, 0, 2], shape=(4, 4)) @ m.diags_array(v).toarray(),
        a(3), a(4),
    ),
    "one place twice": (lambda m, v, x: m.csr_array((v, ([1, 0, 1], [2, 1, 2]))) @ x, a(3), a(3)),
    "multiples": (lambda m, v: (csr(m, v[1:]) * v[0] / 3.0 - 2.0 * csr(m, v[1:])).toarray(), a(10)),
    "elementwise": (lambda m, v: csr(m, v).multiply(v[:4]).toarray(), VALUES),
    "sum of two": (lambda m, v: (csr(m, v) + m.csr_array(OTHER) + CSR).toarray(), VALUES),
    "difference": (lambda m, v: (OTHER - csr(m, v)).tocsc() @ X, VALUES),
    "toarray": (lambda m, v: m.coo_array((v, OTHER.coords), shape=(4, 4)).toarray(), a(3)),
    "conversions": (lambda m, v: csr(m, v).tocsc().tocoo().tocsr().data, VALUES),
    "diagonal": (lambda m, v: csr(m, v).diagonal(), VALUES),
    "sums": (lambda m, v: csr(m, v).sum(axis=0) * csr(m, v).sum(axis=1) * csr(m, v).sum(), VALUES),
    "spsolve": (lambda m, v, b: m.linalg.spsolve(csr(m, v), b), VALUES, X),
    "spsolve, one column": (lambda m, v, b: m.linalg.spsolve(csr(m, v), b), VALUES, X[:, None]),
    "spsolve of a matrix": (lambda m, v, b: m.linalg.spsolve(csr(m, v).tocsc(), b), VALUES, XS),
    "spsolve, constant matrix": (lambda m, b: m.linalg.spsolve(CSC, b), XS),
    "spsolve, constant b": (lambda m, v: m.linalg.spsolve(csr(m, v), X), VALUES),
    "spsolve, one place twice": (
        lambda m, v, b: m.linalg.spsolve(m.csc_array((v, ([0, 1, 1, 0], [0, 1, 1, 1]))), b), np.abs(a(4)), a(2),
    ),
    "splu": (lambda m, v, b: m.linalg.splu(csr(m, v).tocsc()).solve(b), VALUES, X),
    "splu, transposed": (lambda m, v, b: m.linalg.splu(csr(m, v).tocsc()).solve(b, "T"), VALUES, XS),
    "splu, constant matrix": (lambda m, b: m.linalg.splu(CSC).solve(b, trans="T"), X),
    "factorized": (lambda m, v, b: m.linalg.factorized(csr(m, v).tocsc())(b), VALUES, X),
    "cg": (lambda m, v, b: m.linalg.cg(v + v.T, b, rtol=1e-14)[0], SYMMETRIC, X),
    "cg, constant matrix": (lambda m, b: m.linalg.cg(sp.csr_array(SYMMETRIC), b, rtol=1e-14)[0], X),
    "minres": (lambda m, v, b: m.linalg.minres(v + v.T, b, rtol=1e-15)[0], SYMMETRIC, X),
    "gmres": (lambda m, v, b: m.linalg.gmres(csr(m, v), b, rtol=1e-14)[0], VALUES, X),
    "gmres, dense": (lambda m, v, b: m.linalg.gmres(v, b, rtol=1e-14)[0], SQUARE, X),
    "gmres of an operator": (lambda m, b: m.linalg.gmres(aslinearoperator(CSR), b, rtol=1e-14)[0], X),
    "bicgstab": (
        lambda m, v, b: m.linalg.bicgstab(csr(m, v), b, rtol=1e-14, M=sp.diags_array(1 / np.diag(SQUARE)))[0],
        VALUES, X,
    ),
}  # fmt: skip
by_case = pytest.mark.parametrize("name", CASES)


def case(name):
    call, *args = CASES[name]
    return call, [np.array(x, dtype=float) for x in args]


@by_case
def test_values_and_derivatives_of_both_orders(name):
    call, args = case(name)
    check_orders(lambda *xs: np.tanh(call(mirror, *xs)), args)


@by_case
def test_the_values_are_those_of_scipy(name):
    call, args = case(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.sparse.SparseEfficiencyWarning)
        expected = call(sp, *args)
        np.testing.assert_array_equal(call(mirror, *args), expected, strict=True)
    value, _ = contad.vjp(lambda *xs: call(mirror, *xs), *args)
    np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-14, strict=True)


@pytest.mark.parametrize("name", ["product", "spsolve", "bicgstab", "multiples"])
@pytest.mark.parametrize("engine", ["closures", "records"])
def test_engines_without_arrays(name, engine):
    call, args = case(name)
    loss = lambda *xs: np.sum(np.sin(call(mirror, *xs)))
    k = tuple(range(len(args)))
    for found, expected in zip(contad.grad(loss, k, engine=engine)(*args), contad.grad(loss, k)(*args), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["spsolve", "splu, transposed", "multiples", "conversions"])
def test_every_leg(name):
    call, args = case(name)
    expect_ad(lambda *xs: np.sum(np.sin(call(mirror, *xs))), *args)


def test_every_leg_of_a_product_with_a_constant():
    # object arrays of variables, which SciPy does not take, become array variables first
    expect_ad(lambda x: np.sum(np.sin(CSR @ contad.to_varmat(x)) * x), X, engines=["matrix"])


def test_numbers_in_a_list_are_values():
    def f(x):
        s = mirror.coo_array(([x[0], x[1], 2.0], ([0, 1, 0], [0, 1, 1])), shape=(2, 2))
        return np.sum(s @ np.array([2.0, x[0]]))

    np.testing.assert_array_equal(contad.grad(f)(np.array([5.0, 3.0])), [2.0 + 3.0 + 2.0, 5.0])


def test_every_name_is_one_of_scipy_and_is_tried():
    own = {"SparseArray", "linalg", "issparse"}
    tried = inspect.getsource(inspect.getmodule(case)).split("CASES = ")[1].split("by_case")[0] + "m.csr_array("
    for module, theirs, start in ((mirror, sp, "m."), (linalg, scipy.sparse.linalg, "m.linalg.")):
        assert all(hasattr(theirs, name) for name in module.__all__ if name != "SparseArray")
        assert [name for name in set(module.__all__) - own if f"{start}{name}(" not in tried] == []


def test_derivatives_by_hand():
    # [[v0, v1], [0, v2]] z = b: z1 = b1 / v2, z0 = (b0 - v1 z1) / v0
    v, b = np.array([2.0, 3.0, 5.0]), np.array([7.0, 11.0])
    z1 = b[1] / v[2]
    z0 = (b[0] - v[1] * z1) / v[0]
    g = contad.grad(lambda v: linalg.spsolve(mirror.csr_array((v, [0, 1, 1], [0, 2, 3])), b)[0])(v)
    np.testing.assert_allclose(g, [-z0 / v[0], -z1 / v[0], v[1] * b[1] / v[0] / v[2] ** 2], rtol=1e-14)


def test_a_matrix_has_the_attributes_of_scipys():
    def f(v):
        s = csr(mirror, v)
        assert (s.shape, s.nnz, s.format, s.ndim, s.dtype) == ((4, 4), 9, "csr", 2, float)
        np.testing.assert_array_equal(s.indices, CSR.indices)
        np.testing.assert_array_equal(s.indptr, CSR.indptr)
        np.testing.assert_array_equal(s.tocoo().coords, COO.coords)
        assert repr(s) == "<4x4 sparse array of 9 values that carry derivatives, format csr>"
        assert mirror.issparse(s) and s.T.format == "csc" and s.asformat("csr") is s
        return np.sum(s.copy().data * v)

    np.testing.assert_allclose(contad.grad(f)(VALUES), 2.0 * VALUES)
    assert isinstance(csr(mirror, VALUES), sp.csr_array)


# ---- counts ----------------------------------------------------------------------------------------------------------
def test_a_hundred_thousand_unknowns_take_the_memory_of_the_values():
    n = 100_000
    s = sp.diags_array([np.full(n - 1, -1.0), np.full(n, 2.5), np.full(n - 1, -1.0)], offsets=[-1, 0, 1]).tocsr()
    x = np.linspace(0.0, 1.0, n)

    def f(v, x):
        z = mirror.csr_array((v, s.indices, s.indptr), shape=s.shape)
        once = linalg.cg(z, s @ x, rtol=1e-10)[0]
        return np.sum(linalg.spsolve(z, once) ** 2) + np.sum((x @ z) ** 2)

    tracemalloc.start()
    try:
        v_bar, x_bar = contad.grad(f, (0, 1))(s.data, x)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * s.data.nbytes  # a dense matrix is n / 3 of these
    solved = scipy.sparse.linalg.splu(s.tocsc())
    back = solved.solve(solved.solve(2.0 * solved.solve(x)))  # s is symmetric, and cg undoes s @ x
    np.testing.assert_allclose(x_bar, s @ back + 2.0 * (s @ (s @ x)), rtol=1e-7, atol=1e-7)
    assert v_bar.shape == s.data.shape


def test_one_factor_serves_solutions_and_derivatives(monkeypatch):
    counted = []
    real = scipy.sparse.linalg.splu
    monkeypatch.setattr(scipy.sparse.linalg, "splu", lambda s, **more: counted.append(s.shape) or real(s, **more))

    def f(v, b):
        lu = linalg.splu(csr(mirror, v))
        return np.sum(lu.solve(b)) * np.sum(lu.solve(b[::-1], "T"))

    contad.hvp(lambda v: f(v, X))(VALUES, np.ones(9))
    contad.grad(f, (0, 1))(VALUES, X)
    assert counted == [(4, 4)] * 2
    counted.clear()
    contad.grad(lambda v: np.sum(linalg.spsolve(csr(mirror, v), X)))(VALUES)
    lu = linalg.splu(CSC)
    contad.grad(lambda b: np.sum(lu.solve(b) * lu.solve(b * b)))(X)
    assert counted == [(4, 4)] * 2 and lu.shape == (4, 4) and lu.L.shape == (4, 4)


def test_a_singular_matrix_warns_and_gives_nan_as_of_scipy():
    f = lambda v: np.sum(linalg.spsolve(csr(mirror, 0.0 * v), X))
    for call in (f, contad.grad(f)):
        with pytest.warns(scipy.sparse.linalg.MatrixRankWarning, match="exactly singular"):
            assert np.all(np.isnan(call(VALUES)))
    with pytest.warns(scipy.sparse.linalg.MatrixRankWarning, match="exactly singular"):
        assert not np.any(contad.grad(lambda v: np.sum(0.0 * linalg.spsolve(csr(mirror, v), 0.0 * X)))(0.0 * VALUES))


def test_factors_stay_what_they_were():
    def f(v):
        w = 1.0 * v
        lu = linalg.splu(csr(mirror, w))
        w[:] = 0.0
        return np.sum(lu.solve(X))

    expected = contad.grad(lambda v: np.sum(linalg.spsolve(csr(mirror, v), X)))(VALUES)
    np.testing.assert_allclose(contad.grad(f)(VALUES), expected, rtol=1e-12)


def test_wrong_factors_are_not_taken():
    other = linalg.SparseLU(2.0 * VALUES, linalg._parts("", csr(mirror, contad.constant(VALUES)))[1], None)
    found = sparse_patterns.SparseFactor(VALUES, other._pattern).solve(2.0 * VALUES, other._pattern, X)
    assert found is None


# ---- iterations ------------------------------------------------------------------------------------------------------
def test_a_start_and_a_callback_are_those_of_the_first_solution():
    seen = []

    def f(b):
        z, info = linalg.cg(SYMMETRIC, b, x0=0.9 * b, rtol=1e-13, callback=lambda x: seen.append(len(x)))
        assert info == 0
        return np.sum(np.sin(z))

    expected = contad.grad(lambda b: np.sum(np.sin(np.linalg.solve(SYMMETRIC, b))))(X)
    np.testing.assert_allclose(contad.grad(f)(X), expected, rtol=1e-9)
    assert 0 < len(seen) <= 8


def test_an_absolute_tolerance_belongs_to_the_size_of_b():
    expected = contad.grad(lambda b: 1e-6 * np.sum(np.linalg.solve(SYMMETRIC, b)))(1e6 * X)
    found = contad.grad(lambda b: 1e-6 * np.sum(linalg.cg(SYMMETRIC, b, rtol=0.0, atol=1e-5)[0]))(1e6 * X)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_a_solution_that_did_not_converge_has_no_derivative():
    wide = sp.diags_array(np.geomspace(1.0, 1e8, 40))
    b = a(40)
    f = lambda b, **start: np.sum(linalg.gmres(wide, b, maxiter=1, restart=2, **start)[0])
    assert linalg.gmres(wide, b, maxiter=1, restart=2)[1] != 0
    assert np.all(np.isnan(contad.grad(f)(b))) and np.isnan(contad.jvp(f, (b,), (b,))[1])
    assert not np.any(contad.grad(lambda b: 0.0 * f(b))(b))
    exact = b / wide.diagonal()
    with pytest.raises(np.linalg.LinAlgError, match=r"gmres: the solution for the derivative did not converge \(info="):
        contad.grad(lambda b: f(b, x0=exact))(b)


def test_an_iteration_for_a_derivative_goes_on_after_a_breakdown():
    """Single elements on the right break bicgstab down for these matrices, in both directions.

    Where the element of the diagonal is zero, they do so at once, and again from the same place.
    """
    cycle = np.array([[2.3, -0.7, 0.0], [0.0, 1.9, -1.1], [0.8, 0.0, 2.6]])
    for corner in (2.3, 0.0):
        cycle[0, 0] = corner
        for matrix in (cycle, cycle.T):
            assert any(scipy.sparse.linalg.bicgstab(matrix, e, rtol=1e-13)[1] < 0 for e in np.eye(3))
        for derivative in (contad.jacrev, contad.jacfwd):
            found = derivative(lambda b: linalg.bicgstab(cycle, b, rtol=1e-13)[0])(a(3))
            np.testing.assert_allclose(found, np.linalg.inv(cycle), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("made", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_the_matrix_zero_has_no_derivative_though_solvers_take_it_for_solved(made):
    zero = made(np.zeros((4, 4)))
    z, info = linalg.gmres(zero, np.zeros(4))
    assert info == 0 and not np.any(z)
    assert np.all(np.isnan(contad.grad(lambda b: np.sum(linalg.gmres(zero, b)[0]))(np.zeros(4))))
    assert not np.any(contad.grad(lambda b: np.sum(0.0 * linalg.gmres(zero, b)[0]))(np.zeros(4)))


def test_the_transposed_system_has_the_transposed_preconditioner():
    calls = []
    inverse = np.linalg.inv(SQUARE)
    m = LinearOperator(
        (4, 4),
        matvec=lambda x: calls.append("M") or inverse @ x,
        rmatvec=lambda x: calls.append("M^T") or inverse.T @ x,
        dtype=float,
    )
    found = contad.grad(lambda b: np.sum(linalg.gmres(SQUARE, b, rtol=1e-12, M=m)[0]))(X)
    np.testing.assert_allclose(found, np.linalg.solve(SQUARE.T, np.ones(4)), rtol=1e-9)
    assert sorted(set(calls)) == ["M", "M^T"] and calls == sorted(calls)


def test_an_operator_needs_its_transposed_in_reverse_only():
    forth = LinearOperator((4, 4), matvec=lambda x: SQUARE @ x, dtype=float)
    both = LinearOperator((4, 4), matvec=lambda x: SQUARE @ x, rmatvec=lambda x: SQUARE.T @ x, dtype=float)
    f = lambda b, operator: np.sum(np.sin(linalg.gmres(operator, b, rtol=1e-13)[0]))
    expected = contad.grad(lambda b: np.sum(np.sin(np.linalg.solve(SQUARE, b))))(X)
    np.testing.assert_allclose(contad.grad(lambda b: f(b, both))(X), expected, rtol=1e-9)
    assert contad.jvp(lambda b: f(b, forth), (X,), (XS[:, 0],))[1] == pytest.approx(expected @ XS[:, 0], rel=1e-9)
    with pytest.raises(UnsupportedError, match=r"gmres: .*has no rmatvec; give it one"):
        contad.grad(lambda b: f(b, forth))(X)
    symmetric = LinearOperator((4, 4), matvec=lambda x: SYMMETRIC @ x, dtype=float)
    np.testing.assert_allclose(
        contad.grad(lambda b: np.sum(linalg.cg(symmetric, b, rtol=1e-13)[0]))(X),
        np.linalg.solve(SYMMETRIC, np.ones(4)),
        rtol=1e-9,
    )


# ---- refusals --------------------------------------------------------------------------------------------------------
SPARSE_ADVICE = r"S @ x takes array variables .*contad\.scipy\.sparse has matrices of variables"


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda x: CSR * x, LostDerivativeError, SPARSE_ADVICE),
    (
        lambda x: x[0] * CSR,
        UnsupportedError,
        r"multiply: an operation of a sparse matrix .*; write S @ x for a product, c \* \(S @ x\)",
    ),
    (lambda x: sp.csr_matrix(CSR) * x, UnsupportedError, r"multiply: an operation of a sparse matrix .*S @ x"),
    (lambda x: CSR + x, UnsupportedError, r"add: an operation of a sparse matrix and a variable"),
    (lambda x: CSR @ np.array([*x], dtype=object), UnsupportedError, SPARSE_ADVICE),
    (lambda x: scipy.sparse.linalg.spsolve(CSC, x), LostDerivativeError, r"scipy\.sparse\.linalg\.spsolve; else"),
    (lambda x: CSR @ x[:3], ValueError, r"a sparse matrix @ x: x must be a vector or a matrix of 4 rows"),
    (lambda x: x[:3] @ CSR, ValueError, r"x @ a sparse matrix: .* of 4 columns, got shape \(3,\)"),
    (lambda x: csr(mirror, x[:1] * VALUES) @ CSR, UnsupportedError, "A @ B of two sparse matrices: not supported"),
    (lambda x: CSR @ csr(mirror, x[:1] * VALUES), UnsupportedError, "A @ B of two sparse matrices: not supported"),
    (lambda x: csr(mirror, x[:1] * VALUES)[0], UnsupportedError, r"A\[...\]: not supported"),
    (lambda x: csr(mirror, x[:1] * VALUES) ** 2, UnsupportedError, r"A \*\* n: not supported"),
    (lambda x: np.asarray(csr(mirror, x[:1] * VALUES)), LostDerivativeError, r"use A\.toarray\(\)"),
    (lambda x: csr(mirror, x[:1] * VALUES) + x[0], UnsupportedError, r"A \+ B: both must be sparse"),
    (lambda x: mirror.csr_array(np.outer(x, x)), UnsupportedError, "for a dense matrix of variables, the"),
    (lambda x: mirror.csr_array((x, [0, 1, 2, 9], [0, 4]), shape=(1, 4)), ValueError, "indices|index"),
    (lambda x: linalg.splu(csr(mirror, 0.0 * x[0] * VALUES)), RuntimeError, "Factor is exactly singular"),
    (lambda x: linalg.splu(0.0 * CSC), RuntimeError, "Factor is exactly singular"),
    (lambda x: linalg.spsolve(sp.csr_array(DENSE), x), ValueError, r"matrix must be square \(has shape \(3, 4\)\)"),
    (lambda x: linalg.spsolve(SQUARE, x), UnsupportedError, "spsolve: A must be sparse on variables, got ndarray"),
    (lambda x: linalg.spsolve(csr(mirror, x[0] * VALUES), CSC), UnsupportedError, "spsolve: b must be dense"),
    (lambda x: linalg.splu(csr(mirror, x[0] * VALUES), relax=1), UnsupportedError, "splu: relax= is not supported"),
    (lambda x: scipy.sparse.linalg.spsolve(csr(mirror, x[0] * VALUES), X), LostDerivativeError, r"A\.toarray\(\)"),
    (lambda x: sp.vstack([CSR, csr(mirror, x[0] * VALUES)]) @ X, LostDerivativeError, r"use A\.toarray\(\)"),
    (lambda x: mirror.diags_array([x, x], offsets=[0, 1]), ValueError, r"offset 1: 4\) does not agree"),
    (lambda x: mirror.diags_array([x, x], offsets=[0]), ValueError, r"diagonals \(2\) and offsets \(1\)"),
    (lambda x: linalg.cg(SYMMETRIC, x, M=np.outer(x, x))[0], UnsupportedError, "cg: M must be a constant"),
])  # fmt: skip
def test_bad_calls_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        contad.grad(lambda x: np.sum(call(x)))(X)
    assert contad.grad(lambda x: x * x)(3.0) == 6.0


def test_object_arrays_are_refused_by_name_and_told_what_to_do():
    with pytest.raises(UnsupportedError, match=SPARSE_ADVICE):
        contad.grad(lambda x: np.sum(CSR @ x), engine="closures")(X)
    found = contad.grad(lambda x: np.sum(CSR @ contad.array([x[0], x[1] * x[0], 2.0, 1.0])))(X)
    column = SQUARE.sum(axis=0)
    np.testing.assert_allclose(found, [column[0] + column[1] * X[1], column[1] * X[0], 0.0, 0.0])


def test_in_place():
    def f(x):
        y = 1.0 * x
        y @= CSR
        return np.sum(np.sin(y))

    np.testing.assert_allclose(contad.grad(f)(X), SQUARE @ np.cos(X @ SQUARE), rtol=1e-13)
