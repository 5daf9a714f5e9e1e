"""NumPy functions that are written with other entries: values as NumPy's, derivatives of both orders on the engine."""

import numpy as np
import pytest

import contad
from contad.errors import UnsupportedError
from contad.rules.numpy_functions import entry_of
from contad.testing import expect_ad
from tests.judges.array_derivatives import check_orders, directional, in_shape, split
from tests.judges.own_rules import own_array_rules


def a(*shape, seed=0):
    """Numbers of both signs, none near zero, all different."""
    rng = np.random.default_rng([seed, *shape])
    return rng.uniform(0.4, 1.6, shape) * rng.choice([-1.0, 1.0], shape)


def b(*shape):
    return a(*shape, seed=1)


def w(*shape):
    return np.abs(a(*shape, seed=2))


x5 = np.cumsum(w(5))

CASES = [
    (np.dot, (a(3), b(3))), (np.dot, (a(2, 3), b(3))), (np.dot, (a(3), b(3, 2))), (np.dot, (a(2, 3), b(3, 4))),
    (np.dot, (a(2, 2, 3), b(4, 3, 2))), (np.dot, (a(3), b(4, 3, 2))), (np.dot, (a(2, 4, 3), b(3))),
    (np.dot, (a(2, 2, 3), b(3, 2))), (np.dot, (a(), b(3))), (np.dot, (a(3), 2.0)),
    (np.vdot, (a(2, 3), b(2, 3))), (np.vdot, (a(3), b(3))),
    (np.inner, (a(3), b(3))), (np.inner, (a(2, 3), b(4, 3))), (np.inner, (a(2, 3), b(3))), (np.inner, (a(3), b(2, 3))),
    (np.inner, (a(2, 2, 3), b(5, 3))), (np.inner, (a(3), 2.0)),
    (np.outer, (a(3), b(2))), (np.outer, (a(2, 2), b(3))), (np.outer, (a(), b(3))),
    (np.kron, (a(2, 3), b(2, 2))), (np.kron, (a(3), b(2))), (np.kron, (a(3), b(2, 2))),
    (np.kron, (a(2, 1, 2), b(2, 2))),
    (np.tensordot, (a(2, 3), b(3, 4)), {"axes": 1}), (np.tensordot, (a(2, 3), b(2, 3))),
    (np.tensordot, (a(2, 3), b(4, 2)), {"axes": 0}),
    (np.tensordot, (a(2, 3, 4), b(4, 2, 5)), {"axes": ((0, 2), (1, 0))}),
    (np.tensordot, (a(2, 3, 4), b(4, 2)), {"axes": (2, 0)}), (np.tensordot, (a(2, 4), b(4, 2)), {"axes": ([-1], [0])}),
    (np.vecdot, (a(2, 3), b(3))),
    (np.trace, (a(3, 3),)), (np.trace, (a(3, 4), 1)), (np.trace, (a(3, 4, 2), 0, 1, 2)),
    (np.average, (a(3, 4),)), (np.average, (a(3, 4), 1)), (np.average, (a(3, 4),), {"weights": w(3, 4)}),
    (np.average, (a(3, 4),), {"weights": w(4), "axis": 1}),
    (np.average, (a(3, 4, 2),), {"weights": w(4, 3), "axis": (1, 0)}),
    (np.average, (a(3, 4),), {"weights": w(3), "axis": 0, "keepdims": True}),
    (np.diff, (a(5),)), (np.diff, (a(5), 2)), (np.diff, (a(3, 4), 1, 0)), (np.diff, (a(3, 4),), {"prepend": 0.5}),
    (np.diff, (a(3, 4),), {"append": b(3, 2)}), (np.diff, (a(3), 0)),
    (np.diff, (a(3, 4),), {"axis": 0, "prepend": 2.0, "append": b(1, 4)}),
    (np.gradient, (a(5),)), (np.gradient, (a(2),)), (np.gradient, (a(5), 0.5)), (np.gradient, (a(5), x5)),
    (np.gradient, (a(5), x5), {"edge_order": 2}), (np.gradient, (a(3), 0.3), {"edge_order": 2}),
    (np.gradient, (a(3, 4),), {"axis": 1}), (np.gradient, (a(3, 4), 0.2), {"axis": -1}),
    (np.gradient, (a(5), np.arange(5.0) * 0.5)),
    (np.trapezoid, (a(5),)), (np.trapezoid, (a(5), x5)), (np.trapezoid, (a(3, 5), x5)),
    (np.trapezoid, (a(3, 5), b(3, 5))),
    (np.trapezoid, (a(3, 5),), {"dx": 0.4, "axis": 0}), (np.trapezoid, (a(3, 5), b(3)), {"axis": 0}),
    (np.linalg.outer, (a(3), b(2))), (np.linalg.trace, (a(2, 3, 4),), {"offset": 1}),
    *((np.correlate, (a(n), b(m), mode)) for mode in ("valid", "same", "full")
      for n, m in ((5, 3), (3, 5), (4, 4), (5, 2), (2, 5), (6, 4), (4, 6), (1, 3))),
]  # fmt: skip

EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ij->ji", (2, 3)), ("ij", (2, 3)), ("ba", (2, 3)),
    ("ii", (3, 3)), ("ii->i", (3, 3)), ("ij->", (2, 3)), ("ij->j", (2, 3)), ("i,i", (3,), (3,)),
    ("i,j->ij", (3,), (2,)),
    ("...ij,...jk->...ik", (2, 2, 3), (2, 3, 4)), ("...ij,jk", (2, 2, 3), (3, 4)),
    ("bij,bjk->bik", (2, 2, 3), (2, 3, 4)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)), ("ij,jk,kl,lm->", (2, 3), (3, 4), (4, 2), (2, 3)),
    ("i,i->i", (1,), (3,)), ("i,i->", (1,), (3,)), ("i,i->i", (1,), (1,)), ("ij,j->", (2, 3), (3,)),
    ("iij,jk->ik", (2, 2, 3), (3, 4)), ("iji->j", (2, 3, 2)), ("iijj->ij", (2, 2, 3, 3)), ("iii", (3, 3, 3)),
    ("i,i,i->i", (3,), (3,), (3,)), ("i,i,i->", (3,), (3,), (3,)), (",i->i", (), (3,)), ("ij,kl->", (2, 3), (2, 2)),
    ("ij,ij->ij", (2, 3), (2, 3)), ("...->...", (2, 3)), ("i...->...", (2, 3)), ("i...,i...->...", (2, 3), (2, 1)),
    ("a...b,b...->a...", (2, 4, 3), (3, 4)), ("ij,jk,ik->", (2, 3), (3, 4), (2, 4)), ("a,b,c->cab", (2,), (3,), (4,)),
    ("ab,cd,bd,ac->", (2, 3), (2, 2), (3, 2), (2, 2)),
]  # fmt: skip
CASES += [(np.einsum, (text, *(a(*s, seed=k) for k, s in enumerate(shapes)))) for text, *shapes in EINSUMS]
CASES += [
    (np.einsum, (a(2, 3), [0, 1], b(3, 4), [1, 2], [0, 2])),
    (np.einsum, (a(2, 3), [0, 1], b(3, 4), [1, 2])),
    (np.einsum, (a(2, 3), [Ellipsis, 1], b(3, 4), [1, 2], [Ellipsis, 2])),
    (np.einsum, ("ij,jk,kl->il", a(2, 3), b(3, 4), a(4, 2)), {"optimize": True}),
    (np.einsum, ("ij,jk,kl->il", a(2, 3), b(3, 4), a(4, 2)), {"optimize": ["einsum_path", (0, 1), (0, 1)]}),
]
if hasattr(np, "cumulative_sum"):  # NumPy 2.1
    CASES += [
        (np.cumulative_sum, (a(4),)),
        (np.cumulative_sum, (a(3, 4),), {"axis": 0, "include_initial": True}),
        (np.cumulative_prod, (a(3, 4),), {"axis": -1, "include_initial": True}),
    ]
NAMES = [
    f"{f.__name__}-{'-'.join(x if isinstance(x, str) else str(np.shape(x)) for x in args)}-{k}"
    for k, (f, args, *_) in enumerate(CASES)
]


def arrays_of(args):
    return [k for k, x in enumerate(args) if isinstance(x, np.ndarray) and x.dtype == np.float64]


# ---- composites ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("function", "args", "options"), [(*c[:2], dict(*c[2:])) for c in CASES], ids=NAMES)
def test_values_are_those_of_numpy(function, args, options):
    z, expected = entry_of(function).implementation(*args, **options), function(*args, **options)
    np.testing.assert_allclose(z, expected, rtol=1e-14, atol=1e-14)
    assert np.shape(z) == np.shape(expected)


@pytest.mark.parametrize(("function", "args", "options"), [(*c[:2], dict(*c[2:])) for c in CASES], ids=NAMES)
def test_derivatives_of_both_orders(function, args, options):
    places = arrays_of(args)

    def call(*xs):
        given = dict(enumerate(args)) | dict(zip(places, xs, strict=True))
        return function(*given.values(), **options)

    check_orders(call, [args[k] for k in places])


def test_several_results():
    x, weights = a(3, 4), w(4)
    f = entry_of(np.average).implementation
    for z, expected in zip(f(x, 1, weights, True), np.average(x, 1, weights, True), strict=True):
        np.testing.assert_allclose(z, expected, rtol=1e-15)
    for z, expected in zip(f(x, 1, returned=True), np.average(x, 1, returned=True), strict=True):
        np.testing.assert_allclose(z, expected, rtol=1e-15)
    pieces, expected = (
        entry_of(np.gradient).implementation(x, 0.3, np.cumsum(weights)),
        np.gradient(x, 0.3, np.cumsum(weights)),
    )
    assert len(pieces) == 2
    for z, piece in zip(pieces, expected, strict=True):
        np.testing.assert_allclose(z, piece, rtol=1e-13)
    check_orders(lambda x: np.gradient(x, 0.3, np.cumsum(weights))[1], [x])


@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("x", [np.arange(6) * 0.5, np.cumsum(w(6)), np.array([0.0, 0.5, 1.0, 1.5, 2.0, 4.0])])
@pytest.mark.parametrize("places", [(), (2,), (0,), (5,), (1, 2), (0, 2), (2, 4), (3, 5)])
def test_gradient_of_infinite_elements_is_that_of_numpy(places, x, edge_order):
    """Also with variable coordinates, even ones and others; the other elements within 1e-13."""
    y = a(6)
    y[list(places)] = np.inf
    with np.errstate(invalid="ignore"):
        expected = np.gradient(y, x, edge_order=edge_order)
        for call, args in (
            (lambda y: np.gradient(y, x, edge_order=edge_order), (y,)),
            (lambda y, x: np.gradient(y, x, edge_order=edge_order), (y, x)),
        ):
            np.testing.assert_allclose(contad.vjp(call, *args, engine="matrix")[0], expected, rtol=1e-13)


def test_the_weights_of_an_average_have_derivatives_too():
    check_orders(lambda x, v: np.average(x, 1, v * v), [a(3, 4), b(3, 4)])
    check_orders(lambda v: np.average(a(3, 4), 1, v * v), [b(4)])


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda x: np.average(x, weights=np.zeros((2, 3))), ZeroDivisionError, "weights must not sum to zero"),
    (lambda x: np.average(x, weights=np.ones(3)), TypeError, r"the shape of a, \(2, 3\), got shape \(3,\)"),
    (lambda x: np.diff(x, -1), ValueError, r"np\.diff: n must be at least 0, got -1"),
    (lambda x: np.gradient(x, edge_order=3), ValueError, "edge_order must be 1 or 2, got 3"),
    (lambda x: np.gradient(x[:1], axis=0), ValueError, r"axis 0 must have 2 or more elements, got shape \(1, 3\)"),
    (lambda x: np.gradient(x, 1.0, 2.0, 3.0), TypeError, r"expected one number, or 2 spacing\(s\), got 3"),
    (lambda x: np.tensordot(x, x, 1), ValueError, r"np\.tensordot: shape-mismatch for sum"),
    (lambda x: np.einsum("ijk->i", x), ValueError, r"must have 3 dimension\(s\), got shape \(2, 3\)"),
    (lambda x: np.einsum("ij,jk->ik", x), ValueError, r"expected 2 operand\(s\) for 'ij,jk', got 1"),
    (lambda x: np.einsum("ij->ik", x), ValueError, "the labels of the result must be labels of operands"),
    (lambda x: np.einsum("ii->i", x), ValueError, "the axes of the repeated label 'i' must be equal"),
    (lambda x: np.einsum("ij->ji", x, dtype=np.float32), UnsupportedError, r"np\.einsum: dtype= is not supported"),
    (lambda x: np.trace(x, dtype=np.float32), UnsupportedError, r"np\.trace: dtype= is not supported"),
    (lambda x: np.interp(0.5, x[0], x[1, :2]), ValueError, "np.interp: xp and fp must be of one length"),
    (lambda x: np.matmul(x, x), ValueError, "matmul"),
])  # fmt: skip
def test_unsupported_calls_are_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        contad.grad(lambda x: np.sum(call(x)), engine="matrix")(a(2, 3))


# ---- rules on the engine ---------------------------------------------------------------------------------------------
OWN = [
    (rule, k, point)
    for rule in own_array_rules()
    for k, point in enumerate(rule.points)
]


@pytest.mark.parametrize(("rule", "k", "point"), OWN, ids=[f"{rule.name}-{k}" for rule, k, _ in OWN])
def test_rules_in_both_orders(rule, k, point):
    args, options = split(point)
    check_orders(lambda *xs: rule(*xs, **options), args)


@pytest.mark.parametrize("zeros", [(0,), (1, 3), (0, 1, 2)])
@pytest.mark.parametrize("name", ["prod", "cumprod"])
def test_products_with_zeros_in_both_orders(name, zeros):
    x = a(4)
    x[list(zeros)] = 0.0
    check = {"prod": lambda x: np.prod(x + 0.0), "cumprod": lambda x: np.cumprod(x)}[name]
    weights = in_shape(x)
    loss = lambda x: np.sum(check(x) * weights)
    hessian = np.array([directional(contad.grad(loss, engine="matrix"), [x], [e]) for e in np.eye(4)])
    assert np.any(hessian) or len(zeros) > 2
    for e, row in zip(np.eye(4), hessian, strict=True):
        found = contad.grad(lambda x, e=e: np.sum(contad.grad(loss, engine="matrix")(x) * e), engine="matrix")(x)
        np.testing.assert_allclose(found, row, rtol=1e-9, atol=1e-9)


def test_one_array_in_both_places():
    x = a(3, 3)
    check_orders(lambda x: x @ x, [x])
    check_orders(lambda x: np.einsum("ij,jk,ki->", x, x, x), [x])
    check_orders(lambda x: np.kron(x, x), [a(2, 2)])
    check_orders(lambda x: np.convolve(x, x), [a(4)])
    check_orders(lambda x: np.cross(x, x[[1, 2, 0]]), [a(3)])


def test_scalars_and_lists_of_them():
    def f(x):
        return contad.logsumexp([x[0], x[1], 2.0]) + contad.logsumexp(x[2]) * np.einsum(",i->", x[0], x)

    x = np.array([0.3, 1.1, -0.7])
    gradient = contad.grad(f, engine="matrix")(x)
    for k, e in enumerate(np.eye(3)):
        assert gradient[k] == pytest.approx(float(directional(f, [x], [e])), rel=1e-9)


def test_dead_rows_never_make_a_nan():
    m = np.array([[1.0, np.inf], [2.0, 3.0]])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(
            contad.grad(lambda x: (m @ x)[1], engine="matrix")(np.array([1.0, 2.0])), [2.0, 3.0]
        )
    f = contad.grad(lambda x: contad.logsumexp(x, axis=1)[1], engine="matrix")
    np.testing.assert_array_equal(f(np.array([[np.nan, 2.0], [3.0, 3.0]])), [[0.0, 0.0], [0.5, 0.5]])


# ---- products with small factors -------------------------------------------------------------------------------------
@pytest.mark.parametrize("f", [np.prod, lambda x: np.cumprod(x)[-1], lambda x: np.sum(np.prod(x.reshape(1, -1), 1))])
@pytest.mark.parametrize("factors", [[2.0, 3.0, 1e-17, 0.7], [2.0, 1e-30, 1e-12, 0.7], [1e-9, 3.0, 1e-9, 0.7]])
def test_higher_derivatives_of_products_keep_their_digits_beside_small_factors(f, factors):
    x, dots = np.array(factors), np.array([0.3, -0.8, 0.5, 1.1])
    along = np.array([1.0])
    for factor, dot in zip(x, dots, strict=True):  # the product at x + t dots, a polynomial in t
        along = np.convolve(along, [factor, dot])
    hessian = [[0.0 if i == j else np.prod(np.delete(x, [i, j])) for j in range(4)] for i in range(4)]
    for found in (contad.hessian(f)(x), contad.jacfwd(contad.jacfwd(f))(x), contad.jacrev(contad.grad(f))(x)):
        np.testing.assert_allclose(found, hessian, rtol=1e-14)
    third = contad.jvp(lambda x: contad.hvp(f)(x, dots) @ dots, (x,), (dots,))[1]
    assert third == pytest.approx(6.0 * along[3], rel=1e-13)
    assert contad.hvp(contad.record(f, x))(x, dots) == pytest.approx(hessian @ dots, rel=1e-14)


# ---- interpolation between points that are variables -----------------------------------------------------------------
def test_interpolation_between_variable_points():
    x, xp = np.array([0.3, 1.7, -2.0, 5.0, 2.2]), np.array([-1.0, 0.5, 2.0, 3.0])
    fp = np.array([0.4, -1.3, 0.9, 2.1])
    expect_ad(lambda x, xp, fp, end: np.sum(np.interp(x, xp, fp, left=end) ** 2), x, xp, fp, 0.7)
    for at in (x, xp, 0.3, np.array([[np.nan, 1.0]])):
        found = contad.value_and_grad(lambda xp, at=at: (np.sum(xp), np.interp(at, xp, fp)), has_aux=True)(xp)[0][1]
        np.testing.assert_allclose(contad.value_of(found), np.interp(at, xp, fp), rtol=1e-15)
    program = contad.record(lambda x, xp: np.sum(np.interp(x, xp, fp) ** 2), x, xp)
    np.testing.assert_allclose(program(x * 1.01, xp), np.sum(np.interp(x * 1.01, xp, fp) ** 2), rtol=1e-15)
    with pytest.raises(contad.errors.GuardError):
        program(x * 3.0, xp)


@pytest.mark.parametrize("period", [3.5, -3.5])
def test_interpolation_in_periods(period):
    x, xp = np.array([0.3, 1.7, -2.0, 15.0, 3.4]), np.array([-1.0, 0.5, 2.0, 3.0])
    fp = np.array([0.4, -1.3, 0.9, 2.1])

    def f(x, xp, fp):
        return np.sum(np.interp(x, xp, fp, left=1.0, period=period) ** 2)

    expect_ad(f, x, xp, fp)
    for k in range(3):
        assert contad.value_and_grad(f, k)(x, xp, fp)[0] == pytest.approx(f(x, xp, fp), rel=1e-14)
    program = contad.record(f, x, xp, fp)
    assert program(1.01 * x, xp, 2.0 * fp) == pytest.approx(f(1.01 * x, xp, 2.0 * fp), rel=1e-14)
    with pytest.raises(ValueError, match="period must be a non-zero value"):
        contad.grad(lambda x: np.sum(np.interp(x, xp, fp, period=0.0)))(x)
    with pytest.raises(ValueError, match=r"of one length, got shapes \(4,\) and \(3,\)"):
        contad.grad(lambda x: np.sum(np.interp(x, xp, fp[1:], period=period)))(x)
    with pytest.raises(contad.errors.UnsupportedError, match="period must be a constant"):
        contad.grad(lambda x: np.sum(np.interp(x, xp, fp, period=x[0])))(x)
