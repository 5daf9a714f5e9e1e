"""Products of matrices and vectors on the matrix engine: every activity and layout, against the formulas by hand."""

import operator

import numpy as np
import pytest

import contad
from contad.engines.matrix.kernel_records import RecordKernels
from contad.engines.matrix.matrix_products import Continuations, ProductPullback, fast_product
from contad.engines.matrix.matrix_stack import MatrixStack
from contad.engines.stream.patience import PATIENCE
from contad.engines.stream.storage import Buffers
from contad.kernels.shape_fields import ADJOINT
from contad.rules.array_rule import array_rule_of
from contad.scipy.linalg import solve_triangular
from tests.judges.calls_of_python import calls_in
from tests.judges.operator_methods import methods_of_python
from tests.judges.steps_in_python import leave_steps_to_python

ROWS = (1, 3, 4, 5, 11)  # fewer than, as many as and more than the rows that the kernel takes together
A = np.random.default_rng(8).normal(size=(11, 3))
B = np.array([0.7, -1.2, 0.4])
W = np.linspace(-0.8, 1.3, 11)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("wrap", [np.array, contad.constant], ids=["copied", "kept"])
def test_matrix_times_vector(rows, wrap):
    a, w = A[:rows], W[:rows]
    by_b = contad.grad(lambda b, a: w @ (a @ b) + b @ b)(B, wrap(a))
    np.testing.assert_allclose(by_b, a.T @ w + 2.0 * B, rtol=1e-14)
    by_a = contad.grad(lambda a, b: np.sum(w * (a @ b)) + np.sum(a))(a, wrap(B))
    np.testing.assert_allclose(by_a, np.outer(w, B) + 1.0, rtol=1e-14)
    a_bar, b_bar = contad.grad(lambda a, b: w @ (a @ b), (0, 1))(a, B)
    np.testing.assert_allclose(a_bar, np.outer(w, B), rtol=1e-14)
    np.testing.assert_allclose(b_bar, a.T @ w, rtol=1e-14)


@pytest.mark.parametrize("a", [np.asfortranarray(A), A[::-1], np.vstack([A, A])[::2]], ids=["F", "reversed", "strided"])
def test_matrix_that_is_not_in_c_order(a):
    for matrix in (a, contad.constant(a.T).T, contad.constant(np.vstack([a, a]))[:11]):
        np.testing.assert_allclose(contad.grad(lambda b, m: W @ (m @ b))(B, matrix), matrix.T @ W, rtol=1e-13)


@pytest.mark.parametrize("columns", [1, 3, 4, 5, 9])
@pytest.mark.parametrize("dead", [(), (1,)], ids=["all", "without one"])
def test_turned_matrix_times_vector(columns, dead):
    """Along its memory where no element of the result is dead, else one by one; what the others do not read is inf."""
    rng = np.random.default_rng(columns)
    a, b, w = rng.normal(size=(columns, 3)), rng.normal(size=columns), np.array([0.3, -0.7, 1.1])
    for k in dead:
        a[0, k], w[k] = np.inf, 0.0
    alive = np.flatnonzero(w)

    def f(a, b, c):
        z, y = a.T @ b, c.T @ b
        return sum(w[k] * (z[k] + y[k]) for k in alive)

    with np.errstate(all="ignore"):
        a_bar, b_bar = contad.grad(f, (0, 1))(a, b, contad.constant(a))
    np.testing.assert_allclose(a_bar, np.outer(b, w), rtol=1e-14)
    np.testing.assert_allclose(b_bar, 2.0 * a[:, alive] @ w[alive], rtol=1e-13)


def test_matrix_times_its_own_row():
    def f(a):
        return W[:3] @ (a @ a[1])

    a = A[:3]
    expected = np.outer(W[:3], a[1])
    expected[1] += a.T @ W[:3]
    np.testing.assert_allclose(contad.grad(f)(a), expected, rtol=1e-14)


def test_one_constant_in_products_before_and_after_the_constants_have_grown():
    a = A.copy()

    def f(b):
        s = W @ (a @ b)
        for k in range(3):
            s = s + np.sum(b * np.full((4_000, 3), 0.1 * k))
        return s + W @ (a @ b)

    np.testing.assert_allclose(contad.grad(f)(B), 2.0 * (A.T @ W) + 4_000 * 0.3, rtol=1e-12)


def test_a_constant_is_read_as_it_was():
    a = A.copy()

    def f(b):
        z = a @ b
        a[:] = np.nan
        return W @ z

    np.testing.assert_allclose(contad.grad(f)(B), A.T @ W, rtol=1e-14)


def last_continuations(s, count):
    """The continuations of the last records of a recording."""
    s.flush()
    return [s.callbacks[int(x)] for x in s.buffers.records[s.rows_packed - count : s.rows_packed, 1]]


@pytest.mark.parametrize("turn", [np.array, np.transpose], ids=["in order", "turned"])
def test_small_constants_keep_a_copy_and_nothing_else(turn):
    c = turn(np.arange(6.0).reshape(2, 3) if turn is np.array else np.arange(6.0).reshape(3, 2))
    before = c.copy()
    with contad.nested() as level:
        a = contad.var(np.ones((3, 3)))
        first = level.buffers.constants_top
        c @ a
        a @ c.T
        assert level.buffers.constants_top - first == 2 * c.size
        c[:] = np.nan
        assert not level.callbacks
        left, right = last_continuations(level, 2)
        np.testing.assert_array_equal(left.x, before)
        np.testing.assert_array_equal(right.y, before.T)
        assert not left.x.flags.writeable and not right.y.flags.writeable


@pytest.mark.parametrize("bad", [np.inf, np.nan])
@pytest.mark.parametrize("row", [0, 2, 10])
def test_a_row_without_adjoint_adds_nothing_whatever_stands_in_it(bad, row):
    a, w = A.copy(), W.copy()
    a[row, 1] = bad
    w[row] = 0.0

    def f(b, a):
        z = a @ b
        return sum(w[k] * z[k] for k in range(11) if w[k] != 0.0)

    clean = A.copy()
    clean[row] = 0.0
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(contad.grad(f)(B, a), clean.T @ w, rtol=1e-13)
        np.testing.assert_allclose(contad.grad(f)(B, contad.constant(a)), clean.T @ w, rtol=1e-13)


def test_matrix_times_vector_is_swept_without_python(monkeypatch):
    contad.grad(lambda b: W @ (A @ b))(B)  # compiles the kernel
    monkeypatch.setattr(ProductPullback, "__call__", None)
    np.testing.assert_allclose(contad.grad(lambda b: W @ (A @ b))(B), A.T @ W, rtol=1e-14)


P, Q = A[:3], A[3:6]
FACTORS = {  # of variables p and q, a constant c, one that is kept, and a vector
    "two variables": lambda p, q, c, kept, b: p @ q, "a turned one": lambda p, q, c, kept, b: p @ q.T,
    "two turned ones": lambda p, q, c, kept, b: p.T @ q.T,
    "a vector": lambda p, q, c, kept, b: p @ q[0], "a turned matrix and a vector": lambda p, q, c, kept, b: p.T @ q[0],
    "a vector and a matrix": lambda p, q, c, kept, b: p[0] @ q, "a row": lambda p, q, c, kept, b: p @ q[:1].T,
    "a constant": lambda p, q, c, kept, b: p @ c, "a kept one": lambda p, q, c, kept, b: p @ kept,
    "a kept one, turned": lambda p, q, c, kept, b: kept.T @ q,
    "a constant vector": lambda p, q, c, kept, b: p @ b,
    "a vector before a constant": lambda p, q, c, kept, b: q[1] @ c,
    "one turned before a constant": lambda p, q, c, kept, b: p.T @ c,
    "a constant before one turned": lambda p, q, c, kept, b: c @ q.T,
}  # fmt: skip
KEPT = contad.constant(Q)


@pytest.mark.parametrize("n", [3, 70], ids=["small", "large"])
@pytest.mark.parametrize("case", FACTORS)
def test_a_continuation_that_was_not_made_is_that_of_its_record(case, n):
    draw = np.random.default_rng(13).normal
    plain_p, plain_q, c, b = draw(size=(n, n)), draw(size=(n, n)), draw(size=(n, n)), draw(size=n)
    others = c, contad.constant(draw(size=(n, n))), b
    with contad.nested() as s:
        p, q = contad.var(plain_p), contad.var(plain_q)
        z = FACTORS[case](p, q, *others)
        assert not s.callbacks or list.__getitem__(s.callbacks, 0).__class__ is tuple
        (c,) = last_continuations(s, 1)
        expected = FACTORS[case](plain_p, plain_q, *others)
        np.testing.assert_allclose(c.x @ c.y, expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(c.z, z.value)
        assert c.z.shape == expected.shape
        assert c.first == z.index
        assert (c.x.ndim, c.y.ndim).count(1) == (c.z.ndim == 1)
        for factor, cell, turned in ((c.x, c.x_cell, c.x_turned), (c.y, c.y_cell, c.y_turned)):
            flat = (factor.T if turned else factor).reshape(-1)
            if cell:
                np.testing.assert_array_equal(s.buffers.values[cell : cell + factor.size], flat)
            else:
                assert not turned
                assert not factor.flags.writeable


def names_of_calls(operate, *args):
    return [code.co_name for code in calls_in(operate, *args)]


@pytest.mark.parametrize("n", [3, 70], ids=["small", "large"])
def test_a_product_is_recorded_in_few_calls(n):
    for _ in range(2):  # a first recording makes the arrays of values that are among the first
        with contad.nested():
            x = contad.var(np.random.default_rng(13).normal(size=(n, n)))
            x @ x.T  # gets the kernel
            with methods_of_python():
                calls = names_of_calls(lambda: x @ x.T)  # noqa: B023
    large = ["multiply_large", "push_shape"] if n == 70 else []
    assert calls == ["<lambda>", "T", "operate", "product", *large]


def test_a_product_with_a_constant_that_is_kept_is_recorded_in_few_calls():
    h = contad.constant(A[:2])
    for _ in range(2):  # a first recording makes the arrays of values
        with contad.nested():
            x, v = contad.var(A[:3]), contad.var(B)
            h @ v, h @ x, x @ h.T
            of_vector = names_of_calls(operator.matmul, h, v)
            of_matrix = names_of_calls(operator.matmul, x, h.T)
    assert of_vector[-1:] == ["product"]
    assert of_matrix[-2:] == ["product", "keep_small"]


def test_gradients_make_no_continuations_of_small_products(monkeypatch):
    def f(p, q):
        return np.sum(p @ q @ (KEPT @ p) @ B)

    expected = contad.value_and_grad(f, (0, 1))(P, Q)
    monkeypatch.setattr(Continuations, "_product", None)
    found = contad.value_and_grad(f, (0, 1))(P, Q)
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1], expected[1])


VIEWS = {
    "whole": (lambda a: a, True), "turned": (lambda a: a.T, True), "half, turned": (lambda a: a[:1].T, False),
    "backwards": (lambda a: a[:, ::-1], False), "writable": (lambda a: a.copy(), False),
}  # fmt: skip


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (4, 1)])
def test_constants_are_factors_where_they_lie(shape, view, monkeypatch):
    """An immutable array and its transpose are read at their address."""
    make, lies = VIEWS[view]
    a = make(contad.constant(np.random.default_rng(3).normal(size=shape)))
    x = np.random.default_rng(4).normal(size=a.shape[::-1])
    w, v = np.cos(a @ x), np.cos(x @ a)
    gradient = contad.grad(lambda x: np.sum(w * (a @ x)) + np.sum(v * (x @ a)))
    first, kept, keep = gradient(x), [], Buffers.keep
    monkeypatch.setattr(Buffers, "keep", lambda b, a: kept.append(a) or keep(b, a))
    for found in (first, gradient(x)):
        np.testing.assert_allclose(found, a.T @ w + v @ a.T, rtol=1e-13)
    assert not (lies and any(b is a for b in kept))


def test_a_transpose_for_one_operation_is_not_put_among_the_immutable_arrays():
    from contad.variables.layout import KNOWN_IMMUTABLE, immutable_address

    for kept in (KEPT, contad.constant(Q[:1]), contad.constant(B)):
        address = immutable_address(kept.T)
        before = len(KNOWN_IMMUTABLE)
        turned = kept.T
        assert immutable_address(turned) == immutable_address(kept) == address != 0
        assert len(KNOWN_IMMUTABLE) == before


def test_hessian_of_a_matrix_times_a_vector():
    hessian = contad.jacobian(contad.grad(lambda b: np.sum(np.exp(A @ b))))(B)
    np.testing.assert_allclose(hessian, A.T @ (np.exp(A @ B)[:, None] * A), rtol=1e-13)


def test_an_immutable_array_is_told_from_its_writable_copy():
    from contad.variables.layout import immutable_address, is_immutable

    kept = contad.constant(A)
    assert immutable_address(kept) == kept.__array_interface__["data"][0] != 0
    assert immutable_address(kept) == immutable_address(kept)  # the second time from the table
    assert immutable_address(kept[3:]) == kept[3:].__array_interface__["data"][0]
    own = kept.copy()
    assert not is_immutable(own)
    own.flags.writeable = False  # its owner can take that back
    assert not is_immutable(own)


def test_addresses_of_immutable_arrays_are_forgotten_with_them():
    from contad.variables.layout import KNOWN_IMMUTABLE, immutable_address

    kept = contad.constant(A)
    immutable_address(kept)
    key = id(kept)
    assert key in KNOWN_IMMUTABLE
    del kept
    assert key not in KNOWN_IMMUTABLE


# ---- transposed factors ----------------------------------------------------------------------------------------------
LARGE = np.random.default_rng(9).normal(size=(90, 50))
HEIGHTS = np.random.default_rng(10).normal(size=90)
PRODUCTS = {
    "gram": (lambda x: x.T @ x, lambda x, d: x @ (d + d.T)),
    "outer gram": (lambda x: x @ x.T, lambda x, d: (d + d.T) @ x),
    "turned matrix and vector": (lambda x: x.T @ HEIGHTS, lambda x, d: np.outer(HEIGHTS, d)),
    "vector and turned matrix": (lambda x: HEIGHTS[:50] @ x.T, lambda x, d: np.outer(d, HEIGHTS[:50])),
    "turned and constant": (lambda x: x.T @ (2.0 * LARGE), lambda x, d: 2.0 * LARGE @ d.T),
    "constant and turned": (lambda x: (3.0 * LARGE) @ x.T, lambda x, d: d.T @ (3.0 * LARGE)),
    "both turned": (lambda x: x.T @ (x[:50] @ x.T).T, None),
    "a part of it": (lambda x: x[40:].T @ x[:50], None),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_transposed_factors(name):
    f, by_hand = PRODUCTS[name]
    x = LARGE + 0.1
    weights = np.random.default_rng(11).normal(size=np.shape(f(x)))
    found = contad.grad(lambda x: np.sum(weights * f(x)))(x)
    # in forward mode nothing is turned, and no product is taken apart
    direction = np.random.default_rng(12).normal(size=x.shape)
    along = contad.jvp(lambda x: np.sum(weights * f(x)), (x,), (direction,))[1]
    assert np.vdot(found, direction) == pytest.approx(along, rel=1e-11)
    if by_hand is not None:
        np.testing.assert_allclose(found, by_hand(x, weights), rtol=1e-11, atol=1e-11)


LARGE_PRODUCTS = PRODUCTS | {
    "a kept constant": (lambda x: contad.constant(LARGE).T @ x, lambda x, d: LARGE @ d),
    "a kept constant, turned": (lambda x: x @ contad.constant(LARGE.T), lambda x, d: d @ LARGE),
    "a row before": (lambda x: HEIGHTS @ x, lambda x, d: np.outer(HEIGHTS, d)),
}


@pytest.mark.parametrize("name", LARGE_PRODUCTS)
def test_large_products_are_steps(name, monkeypatch):
    """The compiled sweep does all of them; Python the same where a row of zeros has to mask what is not finite."""
    f, by_hand = LARGE_PRODUCTS[name]
    x = LARGE + 0.1
    weights = np.random.default_rng(11).normal(size=np.shape(f(x)))

    def gradient():
        return contad.grad(lambda x: np.sum(weights * f(x)))(x)

    with pytest.MonkeyPatch.context() as patch:
        leave_steps_to_python(patch)
        expected = gradient()
    if by_hand is not None:
        np.testing.assert_allclose(expected, by_hand(x, weights), rtol=1e-11, atol=1e-11)
    monkeypatch.setattr(ProductPullback, "__call__", None)
    np.testing.assert_allclose(gradient(), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("kept", [np.array, contad.constant], ids=["copied", "kept"])
@pytest.mark.parametrize("by_steps", [True, False])
def test_a_large_constant_is_read_as_it_was_and_masked(kept, by_steps, monkeypatch):
    if not by_steps:
        leave_steps_to_python(monkeypatch)
    a, w = LARGE.copy(), np.cos(np.arange(90.0 * 40)).reshape(90, 40)
    a[7, 3] = np.nan
    w[7] = 0.0
    a = kept(a)

    def f(x):
        z = a @ x
        if a.flags.writeable:
            a[:] = 1.0
        return sum(w[k] @ z[k] for k in range(90) if k != 7)

    clean = LARGE.copy()
    clean[7] = 0.0
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(contad.grad(f)(LARGE[:50, :40]), clean.T @ w, rtol=1e-11, atol=1e-11)


def test_large_products_are_steps_after_they_have_taken_as_long_as_their_kernel_takes_to_get(monkeypatch):
    monkeypatch.setattr(PATIENCE, "loading", 1e9)
    steps = RecordKernels("matmul")
    product, _, _ = fast_product(array_rule_of("matmul"), None, steps)
    with contad.nested() as s:
        x = contad.var(LARGE)
        product(x, contad.var(LARGE.T))  # the first one is not counted
        assert steps.spent == 0.0
        product(x, contad.var(LARGE.T))
        assert steps.spent > 0.0
        spent = steps.spent
        s.flush()
        assert s.buffers.records[s.rows_packed - 1, 2] == 0.0
        product(contad.var(A), contad.var(B.reshape(3, 1)))  # small
        assert steps.spent == spent
        monkeypatch.setattr(PATIENCE, "loading", 0.0)
        product(x, contad.var(LARGE.T))
        s.flush()
        slot = int(s.buffers.records[s.rows_packed - 1, 2])
        assert s.buffers.shapes[slot] == 0
        assert s.buffers.shapes[slot + ADJOINT] == steps.adjoint != 0


def test_factors_that_share_their_first_cell_only():
    """The first is the transpose of rows of x, the second more columns of the same memory."""
    flat = np.linspace(-1.0, 2.0, 24)

    def f(v):
        return np.sum(np.arange(12.0).reshape(3, 4) * (v[:18].reshape(6, 3).T @ v.reshape(6, 4)))

    direction = np.cos(flat)
    assert np.vdot(contad.grad(f)(flat), direction) == pytest.approx(contad.jvp(f, (flat,), (direction,))[1])


def test_zeros_mask_what_is_not_finite_in_transposed_factors():
    x = np.ones((70, 60))
    x[3, 5] = np.inf
    with np.errstate(invalid="ignore"):
        found = contad.grad(lambda x: np.sum((x.T @ x)[7, 8]))(x)
    expected = np.zeros(x.shape)
    expected[:, 7] = x[:, 8]
    expected[:, 8] = x[:, 7]
    np.testing.assert_array_equal(found, expected)


def test_second_derivatives_through_transposed_factors():
    x = LARGE[:4, :3]
    v = np.cos(np.arange(12.0)).reshape(4, 3)
    found = contad.hvp(lambda x: np.sum((x.T @ x) ** 2))(x, v)
    expected = contad.jvp(contad.grad(lambda x: np.sum((x.T @ x) ** 2)), (x,), (v,))[1]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(expected, 4.0 * (v @ x.T @ x + x @ (v.T @ x + x.T @ v)), rtol=1e-12)


def test_transposed_factors_are_not_gathered(monkeypatch):
    def refuse(*args):
        raise AssertionError

    factor = np.tril(np.ones((3, 3)))

    def solve(x):
        return np.sum(np.cos(solve_triangular(factor, (x - 1.0).T, lower=True).T))

    expected = contad.grad(solve)(LARGE[:4, :3])  # the first use of a rule goes the general way
    monkeypatch.setattr(MatrixStack, "gather", refuse)
    np.testing.assert_allclose(contad.grad(solve)(LARGE[:4, :3]), expected, rtol=1e-13)
    contad.grad(lambda x: np.sum(x.T @ (x @ x.T)))(LARGE[:3, :3])
