"""Derivatives of spectra whose values are close: right to six digits or nan on every engine, beside mpmath."""

import mpmath as mp
import numpy as np
import pytest
from numba import njit

import contad
from contad.kernels import close_spectra
from contad.ops import close_singular_values, close_values, singular_spectra, spectra
from contad.transforms import gradients

LEFT, RIGHT = (np.linalg.qr(f(np.arange(9.0).reshape(3, 3) * k + 0.4))[0] for f, k in ((np.sin, 3.1), (np.cos, 2.3)))
M = np.array([[1.0, 0.3, -0.4], [0.5, -0.7, 0.2], [-0.9, 0.2, 0.6]])
S = np.array([[0.3, -0.7, 0.4], [-0.5, 1.1, 0.6], [0.2, 0.9, -0.9]])
T = np.array([[-0.6, 0.2, 0.5], [0.8, 0.1, -0.3], [0.7, -0.4, 0.4]])
C = np.array([[1.0, 0.3, -0.4], [0.3, -0.7, 0.2], [-0.4, 0.2, 0.5]])
ALONG = np.array([[0.3, -0.7, 0.4], [-0.7, 1.1, 0.6], [0.4, 0.6, -0.9]])


# ---- functions that do not depend on the choice of vectors; c is 1 over the scale of a -------------------------------
def cube(a, c):
    w, v = np.linalg.eigh(a)
    return np.sum(M * ((v * (w * c) ** 3) @ v.T))


def vector_apart(a, c):
    v = np.linalg.eigh(a)[1][:, 2].copy()
    return np.sum(M * np.outer(v, v))


def pair_of_vectors(a, c):
    v = np.linalg.eigh(a)[1][:, :2].copy()
    return np.sum(M * (v @ v.T))


def logarithms(a, c):
    return np.sum(np.log(np.linalg.eigvalsh(a) * c) ** 2)


def lowest_value(a, c):
    return np.linalg.eigvalsh(a)[0] * c


def polar_factor(a, c):
    u, _, vt = np.linalg.svd(a, False)
    return np.sum(M * (u @ vt))


def cube_of_singular_values(a, c):
    u, s, vt = np.linalg.svd(a, False)
    return np.sum(M * ((u * (s * c) ** 3) @ vt))


def left_vector_apart(a, c):
    u = np.linalg.svd(a, False)[0][:, 0].copy()
    return np.sum(M * np.outer(u, u))


def roots_of_singular_values(a, c):
    return np.sum(np.sqrt(1.0 + (np.linalg.svd(a, False)[1] * c) ** 2))


def pseudoinverse(a, c):
    return np.sum(M * np.linalg.pinv(a)) / c


def least_squares(a, c):
    return np.sum(M * np.linalg.lstsq(a, T, -1.0)[0]) / c


def inner(x):
    return mp.fsum(M[i, j] * x[i, j] for i in range(3) for j in range(3))


def around(u, x, vt):
    return inner(u * mp.diag([mp.mpf(1) * e for e in x]) * vt)


OF_EIGENVALUES = {
    cube: lambda w, v, c: around(v, [(x * c) ** 3 for x in w], v.T),
    vector_apart: lambda w, v, c: around(v, [0, 0, 1], v.T),
    pair_of_vectors: lambda w, v, c: around(v, [1, 1, 0], v.T),
    logarithms: lambda w, v, c: mp.fsum(mp.log(x * c) ** 2 for x in w),
    lowest_value: lambda w, v, c: w[0] * c,
}
OF_SINGULAR_VALUES = {
    polar_factor: lambda u, s, vt, c: around(u, [1, 1, 1], vt),
    cube_of_singular_values: lambda u, s, vt, c: around(u, [(x * c) ** 3 for x in s], vt),
    left_vector_apart: lambda u, s, vt, c: around(u, [1, 0, 0], u.T),
    roots_of_singular_values: lambda u, s, vt, c: mp.fsum(mp.sqrt(1 + (x * c) ** 2) for x in s),
}
OF_INVERSES = {
    pseudoinverse: lambda z, c: inner(z) / c,
    least_squares: lambda z, c: inner(z * mp.matrix(T.tolist())) / c,
}
FUNCTIONS = [*OF_EIGENVALUES, *OF_SINGULAR_VALUES, *OF_INVERSES]


def exact_value(f, a, c):
    if f in OF_INVERSES:
        return OF_INVERSES[f](a**-1, c)
    if f in OF_SINGULAR_VALUES:
        return OF_SINGULAR_VALUES[f](*mp.svd_r(a), c)
    for i in range(3):
        for j in range(i):
            a[j, i] = a[i, j]
    return OF_EIGENVALUES[f](*mp.eigsy(a), c)


def exact_derivatives(f, a, s, t, c):
    """The derivative along s, and that along s and t, by differences in 90 digits."""
    with mp.workdps(90):
        h = mp.mpf(10) ** -25
        a, s, t = (mp.matrix(x.tolist()) for x in (a, s, t))
        at = lambda x, y: exact_value(f, a + x * h * s + y * h * t, mp.mpf(c))
        second = (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / (4 * h * h)
        return float((at(1, 0) - at(-1, 0)) / (2 * h)), float(second)


def point(f, gap, scale):
    """A matrix with two values of that gap, and two directions."""
    if f in OF_EIGENVALUES:
        a = LEFT * [1.0, 1.0 + gap, 2.5] @ LEFT.T
        return [x * scale for x in ((a + a.T) / 2.0, np.tril(S), np.tril(T))]
    return [x * scale for x in (LEFT * [2.5, 1.0 + gap, 1.0] @ RIGHT, S, T)]


def wrong_numbers(f, gap, scale, g, with_hessian=True):
    """The derivatives of g that are neither right nor nan; and how many are numbers."""
    (a, s, t), c = point(f, gap, scale), 1.0 / scale
    first, second = exact_derivatives(f, a, s, t, c)
    found = {
        "grad": (np.sum(contad.grad(g)(a, c) * s), first),
        "jvp": (contad.jvp(g, (a, c), (s, 0.0))[1], first),
        "hvp": (np.sum(contad.hvp(g)(a, c, t) * s), second),
    }
    if with_hessian and 1e-90 < scale < 1e90:  # its elements have the square of the scale
        found["hessian"] = np.sum(np.tensordot(contad.hessian(g)(a, c), t * scale, 2) * s) / scale, second
    numbers = {k: pair for k, pair in found.items() if not np.isnan(pair[0])}
    return [(k, x, y) for k, (x, y) in numbers.items() if not abs(x - y) <= 1e-6 * (abs(y) + 0.05)], len(numbers)


GAPS = [1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-2, 0.5]
SCALES = [2.0**-660, 2.0**-300, 1.0, 2.0**300, 2.0**660]
FEW = {(gap, 1.0) for gap in (1e-16, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4)} | {(0.5, scale) for scale in SCALES}
GRID = [
    pytest.param(gap, scale, marks=[] if (gap, scale) in FEW else pytest.mark.long) for gap in GAPS for scale in SCALES
]
# of one of two values that count as equal the derivative is that in the basis there is
is_tied = lambda f, gap: f is lowest_value and gap <= 1e-13


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(("gap", "scale"), GRID)
@pytest.mark.filterwarnings("ignore")
def test_derivatives_of_close_values_are_right_or_nan(f, gap, scale):
    if not is_tied(f, gap):
        wrong, count = wrong_numbers(f, gap, scale, f)
        assert wrong == []
        assert count >= 3 or gap < 0.5 or scale < 1e-190


@pytest.mark.parametrize(
    "f",
    [pytest.param(f, marks=[] if f in (vector_apart, polar_factor) else pytest.mark.long) for f in FUNCTIONS],
    ids=lambda f: f.__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_compiled_derivatives_of_close_values_are_right_or_nan(f):
    g = njit(f)
    for gap in GAPS[::2]:
        for scale in SCALES:
            if not is_tied(f, gap):
                assert (gap, scale, wrong_numbers(f, gap, scale, g, with_hessian=scale == 1.0)[0]) == (gap, scale, [])


@pytest.mark.parametrize("f", [vector_apart, *(pytest.param(f, marks=pytest.mark.long) for f in FUNCTIONS[2:])])
@pytest.mark.filterwarnings("ignore")
def test_gradients_on_the_tape_and_of_recorded_programs_are_right_or_nan(f):
    on_tape = contad.grad(njit(f), engine="tape")
    for gap in GAPS[::3]:
        a, s, t = point(f, gap, 1.0)
        first = exact_derivatives(f, a, s, t, 1.0)[0]
        program = contad.record(lambda x: f(x, 1.0), a)
        for gradient in (on_tape(a, 1.0), program.gradient(a)):
            found = np.sum(gradient * s)
            if not np.isnan(found) and not is_tied(f, gap):
                assert found == pytest.approx(first, rel=1e-6, abs=5e-8)


@pytest.mark.filterwarnings("ignore")
def test_the_grid_finds_what_is_not_guarded(monkeypatch):
    monkeypatch.setattr(close_values, "is_right", lambda error, size: True)
    assert "hvp" in {name for name, _, _ in wrong_numbers(cube, 1e-8, 1.0, cube, with_hessian=False)[0]}
    w, d, p = np.array([1.0, 1.0 + 1e-12, 2.5]), np.ones(3), M + M.T  # of a cotangent that rounding may change
    assert close_values.is_first_right(w, p, d, np.ones(3), False)
    monkeypatch.undo()
    assert not close_values.is_first_right(w, p, d, np.ones(3), False)


# ---- equal values whose cotangents differ: any basis has their vectors -----------------------------------------------
def of_parts(x):
    return x @ x.T + np.eye(4)


WEIGHTS = np.array([1.0, 2.0, 3.0, 4.0])
BESIDE = np.array([1.0, 1.0, 1.0, 4.0])
COLUMN, STEP = np.array([[1.0], [2.0], [-1.0], [0.5]]), np.array([[0.3], [-1.0], [0.7], [1.0]])
OF_UNEVEN = {  # functions of n = x.x with their first and second derivatives
    "cond": (lambda x: np.linalg.cond(of_parts(x)), lambda n: (1.0, 0.0)),
    "lowest": (lambda x: np.linalg.eigh(of_parts(x))[0][0], lambda n: (0.0, 0.0)),
    "second": (lambda x: np.linalg.eigh(of_parts(x))[0][1], lambda n: (0.0, 0.0)),
    "lowest of low rank": (lambda x: np.linalg.eigvalsh(x @ x.T)[0], lambda n: (0.0, 0.0)),
    "least norm": (lambda x: np.linalg.norm(of_parts(x), -2), lambda n: (0.0, 0.0)),
    "least singular value": (lambda x: np.linalg.svd(of_parts(x))[1][-1], lambda n: (0.0, 0.0)),
    "weights": (lambda x: np.linalg.eigvalsh(of_parts(x)) @ WEIGHTS, lambda n: (4.0, 0.0)),
    "weights of low rank": (lambda x: np.linalg.eigvalsh(x @ x.T) @ WEIGHTS, lambda n: (4.0, 0.0)),
    "weights of logarithms": (
        lambda x: np.log(np.linalg.eigvalsh(of_parts(x))) @ WEIGHTS, lambda n: (4.0 / (1.0 + n), -4.0 / (1.0 + n)**2),
    ),
    "one of a stack": (
        lambda x: np.sum(np.linalg.eigvalsh(np.stack([of_parts(x), np.diag(WEIGHTS)]))[:, 1]), lambda n: (0.0, 0.0),
    ),
}  # fmt: skip
OF_EVEN = {
    "largest": (lambda x: np.linalg.eigvalsh(of_parts(x))[-1], lambda n: (1.0, 0.0)),
    "norm": (lambda x: np.linalg.norm(of_parts(x), 2), lambda n: (1.0, 0.0)),
    "nuclear": (lambda x: np.linalg.norm(of_parts(x), "nuc"), lambda n: (1.0, 0.0)),
    "weights": (lambda x: np.linalg.eigvalsh(of_parts(x)) @ BESIDE, lambda n: (4.0, 0.0)),
    "weights of singular values": (lambda x: np.linalg.svd(of_parts(x))[1] @ BESIDE[::-1], lambda n: (4.0, 0.0)),
    "logarithms": (
        lambda x: np.sum(np.log(np.linalg.eigvalsh(of_parts(x)))), lambda n: (1.0 / (1.0 + n), -1.0 / (1.0 + n)**2),
    ),
    "one of a stack": (
        lambda x: np.sum(np.linalg.eigvalsh(np.stack([of_parts(x), np.diag(WEIGHTS)]))[:, 3]), lambda n: (1.0, 0.0),
    ),
}  # fmt: skip


def ways_beside_right(f, slopes):
    """Pairs of the derivative of the gradient along STEP, found and right."""
    first, second = slopes(np.sum(COLUMN**2))
    right = 4.0 * second * np.sum(COLUMN * STEP) * COLUMN + 2.0 * first * STEP
    return list(zip(second_derivatives(f, COLUMN, STEP), [right] * 5 + [np.sum(right * STEP)], strict=True))


@pytest.mark.parametrize(("f", "slopes"), OF_UNEVEN.values(), ids=OF_UNEVEN)
def test_second_derivatives_at_equal_values_of_unequal_cotangents_are_right_or_nan(f, slopes):
    for found, right in ways_beside_right(f, slopes):
        assert np.isnan(found).any() or np.allclose(found, right, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("f", "slopes"), OF_EVEN.values(), ids=OF_EVEN)
def test_second_derivatives_at_equal_values_of_equal_cotangents_are_right(f, slopes):
    ways = ways_beside_right(f, slopes)
    for found, right in ways:
        assert np.isnan(found).any() or np.allclose(found, right, rtol=1e-6, atol=1e-6)
    assert not np.isnan(np.stack([found for found, _ in ways[:3]])).any()


TIED = LEFT * [1.0, 1.0, 3.0] @ LEFT.T
TURNING = LEFT @ np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]) @ LEFT.T


def lowest_of_line(x):  # 2 - sqrt(1 + t^2) for t = x[0]
    return np.linalg.eigvalsh(TIED + x[0] * TURNING)[0]


def second_of_line(x):  # 1
    return np.linalg.eigvalsh(TIED + x[0] * TURNING)[1]


def largest_beside_one(x):  # 1 + x.x
    return np.linalg.eigvalsh(np.eye(2) + np.outer(x, x))[1]


def largest_singular_beside_one(x):
    return np.linalg.svd(np.eye(2) + np.outer(x, x))[1][0]


@pytest.mark.parametrize(("f", "right"), [
    (lowest_of_line, [-1.0]), (second_of_line, [0.0]),
    (largest_beside_one, [2.0, 2.0]), (largest_singular_beside_one, [2.0, 2.0]),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:(hvp|hessian). .* digits are lost")
def test_values_that_part_by_curvature_have_right_second_derivatives_or_nan(f, right):
    for g in (f, njit(f)):
        for k, v in enumerate(np.eye(len(right))):
            for found in (contad.hvp(g)(np.zeros(len(right)), v), contad.hessian(g)(np.zeros(len(right)))[k]):
                assert np.all(np.isnan(found) | (np.abs(found - right * v) <= 1e-6))


@pytest.mark.parametrize(("place", "name", "fault", "f", "right"), [
    (close_values, "are_chosen", lambda *_: False, lowest_of_line, [-1.0]),
    (spectra, "lose_uneven", lambda a_bar, *_: a_bar, largest_beside_one, [2.0, 2.0]),
])  # fmt: skip
def test_a_choice_of_vectors_that_is_not_lost_is_noticed(monkeypatch, place, name, fault, f, right):
    monkeypatch.setattr(place, name, fault)
    found = contad.hvp(f)(np.zeros(len(right)), np.ones(len(right)))
    assert np.max(np.abs(found - right)) > 1e-6  # what the test above allows


# ---- equal values that part: the largest first among singular values, the smallest among eigenvalues -----------------
OF_IDENTITY = {
    "norm": lambda u: np.linalg.norm(np.eye(3) + u, 2),
    "least norm": lambda u: np.linalg.norm(np.eye(3) + u, -2),
    "first": lambda u: np.linalg.svd(np.eye(3) + u)[1][0],
    "second": lambda u: np.linalg.svd(np.eye(3) + u)[1][1],
    "last of tall": lambda u: np.linalg.svd(np.concatenate([np.eye(3) + u, np.zeros((1, 3))]), False)[1][2],
    "cond": lambda u: np.linalg.cond(np.eye(3) + u),
    "of a stack": lambda u: np.linalg.norm(np.stack([np.diag(WEIGHTS[:3]), np.eye(3) + u]), 2, axis=(1, 2))[1],
    "lowest": lambda u: np.linalg.eigvalsh(np.eye(3) + u)[0],
    "highest": lambda u: np.linalg.eigvalsh(np.eye(3) + u)[2],
}


@pytest.mark.parametrize("v", [np.diag([0.65, -0.08, 0.26]), ALONG, -ALONG, S], ids=["diagonal", "one", "minus", "any"])
@pytest.mark.parametrize("f", OF_IDENTITY.values(), ids=OF_IDENTITY)
def test_equal_values_part_in_their_order(f, v):
    v = (v + v.T) / 2.0
    zero, start, t = np.zeros((3, 3)), f(np.zeros((3, 3))), 1e-7
    assert contad.jvp(f, (zero,), (v,))[1] == pytest.approx((f(t * v) - start) / t, abs=1e-5)
    g = lambda u: (f(u) - start) ** 2
    np.testing.assert_allclose(contad.hvp(g)(zero, v), contad.grad(g)(t * v) / t, atol=2e-5)


@pytest.mark.parametrize("name", ["norm", "cond"])
def test_equal_values_of_numba_functions_part_in_their_order(name):
    f, zero, v = OF_IDENTITY[name], np.zeros((3, 3)), np.diag([0.65, -0.08, 0.26])
    assert contad.jvp(njit(f), (zero,), (v,))[1] == pytest.approx(contad.jvp(f, (zero,), (v,))[1])


def test_equal_values_that_stay_together_have_no_second_derivative_by_one_of_them():
    f = OF_IDENTITY["norm"]
    assert np.isnan(contad.hvp(lambda u: (f(u) - 1.0) ** 2)(np.zeros((3, 3)), np.eye(3))).any()


# ---- vectors beside others whose values coincide ---------------------------------------------------------------------
def of_last_vector(a):
    v = np.linalg.eigh(a)[1][:, 2].copy()
    return np.sum(C * np.outer(v, v))


@pytest.mark.parametrize("f", [of_last_vector, njit(of_last_vector)], ids=["eager", "compiled"])
def test_second_derivatives_of_a_vector_beside_equal_values(f):
    """They are those of the resolvent: no gap of the two others is in them."""
    a = np.ones((3, 3)) + np.eye(3)
    v, low = np.ones(3) / np.sqrt(3.0), np.eye(3) - np.ones((3, 3)) / 3.0
    e = ALONG
    # v(t) = v + t x + t^2 y / 2, orthogonal parts: 3 x = low e v, 3 y = 2 (low e x - (v e v) x), along v: -|x|^2
    x = low @ e @ v / 3.0
    y = 2.0 * (low @ e @ x - (v @ e @ v) * x) / 3.0 - (x @ x) * v
    second = 2.0 * (x @ C @ x + v @ C @ y)
    found = contad.hvp(f)(a, e)
    assert np.sum(found * e) == pytest.approx(second, rel=1e-12)
    np.testing.assert_allclose(np.tensordot(contad.hessian(f)(a), np.tril(e), 2), found, rtol=1e-12)


# ---- kernels of nearly low rank: their tangents have no part among the close vectors ---------------------------------
X = np.linspace(0.0, 1.0, 12)
Y = np.sin(7 * X) + np.cos(31 * X)


def gaussian_process(t):
    x = np.linspace(0.0, 1.0, 12)
    y = np.sin(7 * x) + np.cos(31 * x)
    r, q = np.linalg.eigh(np.exp(-((np.expand_dims(x, 1) - x) ** 2) * t) + 1e-5 * np.eye(12))
    w = q.T @ y
    return np.sum(w * w / (r + 0.5))


def solved_process(t, more=0.0):
    k = np.exp(-((X[:, None] - X) ** 2) * t) + np.diag(0.0 * X + more)
    return Y @ np.linalg.solve(k + (0.5 + 1e-5) * np.eye(12), Y)


@pytest.mark.parametrize("f", [gaussian_process, njit(gaussian_process)], ids=["eager", "compiled"])
@pytest.mark.filterwarnings("ignore:hessian. gaussian_process. digits are lost")
def test_derivatives_of_a_matrix_of_nearly_low_rank(f):
    """Turns among close values cancel to the last digit in a tangent. What a cotangent is there rounding hides."""
    right, second = contad.grad(solved_process)(1.3), contad.hessian(solved_process)(1.3)
    assert contad.jvp(f, (1.3,), (1.0,))[1] == pytest.approx(right, rel=1e-9)
    assert contad.grad(f)(1.3) == pytest.approx(right, rel=1e-9)
    assert contad.value_and_grad(lambda t: f(t["t"]))({"t": 1.3})[1]["t"] == pytest.approx(right, rel=1e-9)
    found = contad.hessian(f)(1.3)
    assert np.isnan(found) or found == pytest.approx(second, rel=1e-6)


def test_gradients_that_ask_for_what_rounding_hides_are_nan():
    """One cotangent, two programs: the variances of single points reach into the close vectors, a length does not."""

    def f(t, more):
        r, q = np.linalg.eigh(np.exp(-((X[:, None] - X) ** 2) * t) + np.diag(more + 1e-5))
        w = q.T @ Y
        return np.sum(w * w / (r + 0.5))

    more, right = np.zeros(12), contad.grad(solved_process, (0, 1))(1.3, np.zeros(12))
    found = contad.grad(f, (0, 1))(1.3, more)
    assert found[0] == pytest.approx(right[0], rel=1e-9) and np.isnan(found[1]).any()
    np.testing.assert_allclose(found[1][~np.isnan(found[1])], right[1][~np.isnan(found[1])], rtol=1e-6)


def give(f, get=lambda x: x):
    """A way to the derivative of the process by `transform(process)(1.3)`."""
    return lambda process: get(f(process)(1.3))


def into_array(process):
    found = np.zeros(())
    written = contad.value_and_grad(process, out=True)(1.3, found)[1]
    assert written is found
    return float(found)


def with_aux(process):
    return njit(lambda t: (process(t), 3.0)) if hasattr(process, "py_func") else lambda t: (process(t), 3.0)


def pair(process):
    return njit(lambda t: np.array([t, process(t)])) if hasattr(process, "py_func") else lambda t: [t, process(t)]


compiled_process = njit(gaussian_process)
WAYS = {
    "grad": give(contad.grad),
    "value_and_grad": give(contad.value_and_grad, lambda x: x[1]),
    "has_aux": lambda process: contad.grad(with_aux(process), has_aux=True)(1.3)[0],
    "vjp": lambda process: contad.vjp(process, 1.3)[1](1.0)[0],
    "make_vjp": lambda process: contad.make_vjp(process)(1.3)[0](1.0),
    "vjp of two numbers": lambda process: contad.vjp(pair(process), 1.3)[1](contad.vjp(pair(process), 1.3)[0])[0],
    "jacobian": lambda process: contad.jacobian(pair(process))(1.3)[1],
    "jacrev": lambda process: contad.jacrev(pair(process))(1.3)[1],
    "in lists": lambda process: contad.grad(lambda x: process(x["t"][0]))({"t": [1.3]})["t"][0],
    "passed on": lambda process: contad.grad(lambda t: process(t))(1.3),
    "second call": lambda process: [contad.grad(process)(1.3) for _ in range(3)][-1],
}
OF_COMPILED = {
    "tape": lambda process: contad.grad(process, engine="tape")(1.3),
    "out": into_array,
    "bind": lambda process: contad.bind(contad.grad(process), 1.3)(),
}


@pytest.mark.parametrize(
    ("process", "way"),
    [pytest.param(f, way, id=f"{name}-{kind}") for kind, f, ways in (
        ("plain", gaussian_process, WAYS), ("compiled", compiled_process, WAYS | OF_COMPILED),
    ) for name, way in ways.items()],
)  # fmt: skip
def test_every_way_to_a_gradient_finds_what_a_sweep_loses(process, way):
    right = contad.grad(solved_process)(1.3)
    found = way(process)
    if way is WAYS["vjp of two numbers"]:
        right = 1.3 + right * process(1.3)
    assert found == pytest.approx(right, rel=1e-9)


def test_recorded_programs_find_what_a_sweep_loses():
    program = contad.record(lambda p: gaussian_process(p[0]) * p[1], [1.1, 2.0])
    right = contad.grad(solved_process)(1.3)
    assert program.gradient([1.3, 2.0]) == pytest.approx([2.0 * right, solved_process(1.3)], rel=1e-9)


def test_a_lost_derivative_of_one_gradient_is_not_asked_of_the_next(monkeypatch):
    asked = []
    monkeypatch.setattr(gradients, "find_lost", lambda found, *_: asked.append(found) or found)
    assert np.isnan(contad.grad(gaussian_process)(1.3))  # what the sweep itself gives
    assert np.isnan(contad.vjp(gaussian_process, 1.3)[1](1.0)[0])
    assert np.isnan(contad.grad(lambda x: x * np.nan)(1.3))
    assert len(asked) == 2


def test_forward_mode_is_not_asked_of_another_function_or_point():
    scale = 1.0

    def f(x):
        return scale * gaussian_process(x[0])

    x = np.array([1.3])
    right = contad.grad(f)(x)
    pullback = contad.vjp(f, x)[1]
    np.testing.assert_array_equal(pullback(1.0)[0], right)
    scale = 2.0
    assert np.isnan(pullback(1.0)[0])
    scale = 1.0
    np.testing.assert_array_equal(pullback(1.0)[0], right)
    x[0] = 1.4
    assert np.isnan(pullback(1.0)[0])

    calls = []

    def draws(t):
        calls.append(t)
        return len(calls) * gaussian_process(t)

    assert np.isnan(contad.grad(draws)(1.3)) and np.isnan(contad.jacrev(draws)(1.3))


@njit
def rescaled_process(x):
    x[0] *= 2.0
    return compiled_process(x[0])


def test_compiled_functions_that_write_to_arguments_are_not_called_twice():
    assert np.isnan(contad.grad(rescaled_process)(np.array([0.65])))


KERNELS = {
    "exp": lambda d: np.exp(-d),
    "rbf": lambda d: np.exp(-d * d),
    "matern32": lambda d: (1.0 + np.sqrt(3.0) * d) * np.exp(-np.sqrt(3.0) * d),
    "matern52": lambda d: (1.0 + np.sqrt(5.0) * d + 5.0 * d * d / 3.0) * np.exp(-np.sqrt(5.0) * d),
}


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("jitter", [1e-8, 1e-5, 1e-3])
@pytest.mark.parametrize("n", [10, 20, 40])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_gradients_of_gaussian_processes(kernel, n, jitter, inside):
    """The noise is added to the eigenvalues, or stands in the matrix."""
    x = np.linspace(0.0, 1.0, n)
    d, y = np.abs(x[:, None] - x), np.sin(7 * x) + np.cos(31 * x)

    def matrix(p):
        return p[1] * kernel(d * p[0]) + (jitter + (p[2] if inside else 0.0)) * np.eye(n)

    def f(p):
        r, q = np.linalg.eigh(matrix(p))
        r = r if inside else r + p[2]
        return np.sum((q.T @ y) ** 2 / r) + np.sum(np.log(r))

    def dense(p):
        k = matrix(p) + (0.0 if inside else p[2]) * np.eye(n)
        return y @ np.linalg.solve(k, y) + np.linalg.slogdet(k)[1]

    p = np.array([1.7, 1.3, 0.2])
    found = contad.grad(f)(p)
    if np.min(np.diff(np.linalg.eigh(matrix(p))[0])) > 0.0 or not np.isnan(found).any():  # else the vectors are any
        np.testing.assert_allclose(found, contad.grad(dense)(p), rtol=1e-6)
    if n == 10:
        found, right = contad.hessian(f)(p), contad.hessian(dense)(p)
        assert np.isnan(found).any() or np.max(np.abs(found - right)) <= 1e-6 * np.max(np.abs(right))


# ---- matrices of less rank -------------------------------------------------------------------------------------------
def of_factors(a):
    q, r = np.linalg.qr(a)
    return np.sum(q**3) + np.sum(r**2)


def of_values(a):
    return np.sum(np.linalg.svd(a, False)[1])


def of_values_beside_a_solution(a):
    return np.sum(np.linalg.lstsq(a, a)[3])


@pytest.mark.parametrize("a", [np.arange(1.0, 10.0).reshape(3, 3), S @ [[1.0, 2, 3], [4, 5, 6], [5, 7, 9]]], ids=str)
@pytest.mark.parametrize("f", [of_factors, of_values, of_values_beside_a_solution], ids=lambda f: f.__name__)
def test_matrices_of_less_rank_up_to_rounding_have_no_derivative(f, a):
    calls = [f, njit(f)] + [lambda x: np.linalg.norm(x, "nuc")] * (f is of_values)
    for g in calls:
        assert np.isnan(contad.grad(g)(a)).any() and np.isnan(contad.jvp(g, (a,), (np.cos(a),))[1])


def of_squares(a):
    return np.sum(np.linalg.svd(a, False)[1] ** 2)


def of_differences(a):
    s = np.linalg.svd(a, False)[1]
    return s[1] ** 2 - s[2] ** 2


ZEROS = {
    "ones": np.ones((3, 2)), "square": np.ones((3, 3)), "wide": np.outer([1.0, 0.0], [1.0, 1.0, 1.0]),
    "all": np.zeros((2, 2)), "diagonal": np.diag([1.0, 0.0, 0.0]),
    "columns": np.array([[0.3, 0.0, 0.0], [-0.7, 0.0, 0.0], [0.4, 0.0, 0.0], [1.1, 0.0, 0.0]]), "full": S[:2],
}  # fmt: skip


def second_derivatives(f, a, t):
    """Ways to the derivative of the gradient along t; of functions of matrices, to that number along t."""
    yield np.tensordot(contad.hessian(f)(a), t, 2)
    yield contad.hvp(f)(a, t)
    yield contad.jvp(contad.grad(f), (a,), (t,))[1]
    yield contad.grad(lambda x: np.sum(contad.grad(f)(x) * t))(a)
    yield contad.grad(lambda x: contad.jvp(f, (x,), (t,))[1])(a)
    yield np.sum(contad.jvp(lambda x: contad.jvp(f, (x,), (t,))[1], (a,), (t,))[1])


@pytest.mark.parametrize("a", ZEROS.values(), ids=ZEROS)
def test_second_derivatives_at_singular_values_of_zero_are_right_or_nan(a):
    """The sum of their squares is that of the elements."""
    t = np.resize(T, a.shape)
    ways = list(second_derivatives(of_squares, a, t))
    for found, right in zip(ways, [2.0 * t] * 5 + [2.0 * np.sum(t * t)], strict=True):
        assert np.isnan(found).any() or np.allclose(found, right, rtol=1e-6, atol=1e-6)
    assert not np.isnan(ways[1]).any()


@pytest.mark.parametrize("a", [ZEROS["ones"], ZEROS["all"]], ids=["ones", "all"])
@pytest.mark.filterwarnings("ignore")
def test_compiled_second_derivatives_at_singular_values_of_zero_are_right_or_nan(a):
    t = np.resize(T, a.shape)
    found = contad.hvp(njit(of_squares))(a, t)
    assert np.isnan(found).any() or np.allclose(found, 2.0 * t, rtol=1e-6, atol=1e-6)


def test_functions_that_tell_singular_values_of_zero_apart_have_no_second_derivative():
    """The square of the largest value has one where the matrix of all zeros moves along one of them."""
    for way in second_derivatives(of_differences, ZEROS["diagonal"], T):
        assert np.isnan(way).any()

    def of_largest(x):
        ones, outer = x[0] * np.ones((2, 2)), np.outer([1.0, 0.0], x[1:])
        return np.max(np.linalg.svd(ones, compute_uv=False)) ** 2 + np.linalg.svd(outer, compute_uv=False)[0] ** 2

    def norms(x):
        return np.linalg.norm(x[0] * np.ones((2, 2)), 2) ** 2 + np.linalg.norm(np.outer([1.0, 0.0], x[1:]), 2) ** 2

    for f in (of_largest, norms):
        found = contad.hessian(f)(np.zeros(3))
        assert np.all(np.isnan(found) | (np.abs(found - np.diag([8.0, 2.0, 2.0])) <= 1e-6))


def norm_of_row(ord):
    return lambda x: np.linalg.norm(np.array([[x[0], x[1]], [0, 0]]), ord) ** 2


def norm_of_columns(ord):
    return lambda x: np.linalg.norm(np.outer([1.0, 2.0, 0.3], x), ord) ** 2 / 5.09


def sum_of_values(x):
    return np.sum(np.linalg.svd(np.array([[x[0], x[1]], [0.0, 0.0]]), False)[1]) ** 2


NORMS = [norm(ord) for norm in (norm_of_row, norm_of_columns) for ord in ("nuc", 2)]


@pytest.mark.parametrize("f", [*NORMS, sum_of_values, njit(sum_of_values)])
@pytest.mark.parametrize("x", [[0.0, 0.0], [0.3, 0.0], [0.3, 0.4], [0.0, -1.2]], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_squares_of_norms_of_matrices_of_rank_one_or_zero_are_right_or_nan(f, x):
    x, v = np.array(x), np.array([0.7, -1.3])
    ways = [contad.hessian(f)(x) @ v, contad.hvp(f)(x, v), contad.jvp(contad.grad(f), (x,), (v,))[1]]
    ways.append(contad.grad(lambda y: np.sum(contad.grad(f)(y) * v))(x))
    ways += [contad.grad(lambda y: contad.jvp(f, (y,), (v,))[1])(x), *contad.hessian(f)(x)]
    for found, right in zip(ways, [2.0 * v] * 5 + [*(2.0 * np.eye(2))], strict=True):
        assert np.all(np.isnan(found) | (np.abs(found - right) <= 1e-6))
    found = contad.laplacian(f)(x)
    assert np.isnan(found) or found == pytest.approx(4.0)


def test_outside_of_the_shorter_side_there_is_nothing_that_turns():
    """Rounding there is not divided by a singular value of 0."""
    column, slope = np.array([[-1.42], [0.2]]), np.array([0.81, 0.0, -0.57])
    base = column * np.array([0.0018, -0.0001, 0.0001])
    for a, b in ((base, column * slope), (base.T.copy(), (column * slope).T)):
        u, _, vt = contad.jvp(lambda a: tuple(np.linalg.svd(a, False)), (a,), (b,))[1]
        assert not np.max(np.abs(u if len(a) == 2 else vt)) > 1e-9


# ---- small matrices: parts of second derivatives are larger than these by 1 over the gaps ----------------------------
SMALL = np.array([[1.0, 0.3, 0.2], [0.3, 2.0, 0.1], [0.2, 0.1, 3.0]])


def exponential(a):
    w, v = np.linalg.eigh(a)
    return np.sum(M * ((v * np.exp(w)) @ v.T))


def square(a):
    w, v = np.linalg.eigh(a)
    return np.sum(M * ((v * w**2) @ v.T))


def hyperbolic_sine(a):
    u, s, vt = np.linalg.svd(a)
    return np.sum(M * ((u * np.sinh(s)) @ vt))


def cube_of_values(a):
    u, s, vt = np.linalg.svd(a)
    return np.sum(M * ((u * s**3) @ vt))


def symmetric(a):
    return np.tril(a) + np.tril(a, -1).T


DENSE = {
    exponential: lambda a: np.sum(M * contad.scipy.linalg.expm(symmetric(a))),
    square: lambda a: np.sum(M * (symmetric(a) @ symmetric(a))),
    hyperbolic_sine: lambda a: np.sum(M * (a + a @ a.T @ a / 6.0 + a @ a.T @ a @ a.T @ a / 120.0)),
    cube_of_values: lambda a: np.sum(M * (a @ a.T @ a)),
}


@pytest.mark.parametrize("scale", [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-12, 1e-100])
@pytest.mark.parametrize("f", DENSE, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore")
def test_second_derivatives_of_small_matrices_are_right_or_nan(f, scale):
    """Those of powers lose nothing, so they are numbers."""
    a, t = SMALL * scale, np.tril(T)
    ways, right = list(second_derivatives(f, a, t)), contad.hvp(DENSE[f])(a, t)
    for found, exact in zip(ways, [right] * 5 + [np.sum(right * t)], strict=True):
        least = 1.0 if f in (exponential, hyperbolic_sine) else np.max(np.abs(right))
        assert np.isnan(found).any() or np.max(np.abs(found - exact)) <= 1e-6 * max(np.max(np.abs(exact)), least)
    if f in (square, cube_of_values) or scale > 1e-4:
        assert not np.isnan(ways[:3]).any()


@pytest.mark.parametrize("f", DENSE, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore")
def test_first_derivatives_and_those_of_numba_functions_are_right_too(f):
    """Of second ones that compiled code cannot decide a Python copy decides: those of powers are numbers."""
    t, compiled = np.tril(T), njit(f)
    for scale in (1e-3, 1e-5, 1e-6, 1e-8, 1e-12, 1e-100):
        a = SMALL * scale
        first, second = contad.grad(DENSE[f])(a), contad.hvp(DENSE[f])(a, t)
        found = [(contad.grad(g)(a), first) for g in (f, compiled)]
        found += [(contad.hvp(compiled)(a, t), second), (np.tensordot(contad.hessian(compiled)(a), t, 2), second)]
        for x, exact in found:
            least = 1.0 if f in (exponential, hyperbolic_sine) else 0.0
            right = np.max(np.abs(x - exact)) <= 1e-6 * max(np.max(np.abs(exact)), least)
            assert right or (np.isnan(x).any() and f is not square and f is not cube_of_values)


def test_compiled_second_derivatives_at_equal_values_are_those_of_a_python_copy():
    for f, a in ((logarithms, np.eye(3)), (roots_of_singular_values, 2.0 * LEFT @ RIGHT)):
        with pytest.warns(UserWarning, match=f"hvp: {f.__name__}: digits are lost.*Python copy"):
            found = contad.hvp(njit(f))(a, 1.0, T)
        np.testing.assert_array_equal(found, contad.hvp(f)(a, 1.0, T))
        assert not np.isnan(found).any()


@pytest.mark.parametrize("f", [exponential, hyperbolic_sine, vector_apart, left_vector_apart, polar_factor])
def test_numbers_that_leave_the_range_on_the_way_to_nan_are_not_told(f):
    """No warning of NumPy's comes of contad's own formulas."""
    g = f if f in DENSE else lambda a: f(a, 1.0)
    for way in (contad.grad(g), lambda a: contad.jvp(g, (a,), (T,)), lambda a: contad.hvp(g)(a, T)):
        way(SMALL * 1e-200)
    contad.grad(g)(SMALL * 1e-310)


def test_warnings_of_the_function_itself_are_told():
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        contad.grad(lambda a: square(a) + np.sum(np.log(np.diag(a) - 1.0)))(np.eye(3))


def test_the_size_of_a_cotangent_is_not_that_over_a_tiny_matrix(monkeypatch):
    w, first_size = np.array([1.0, 2.0, 3.0]) * 1e-12, close_values.first_size
    assert not close_values.is_first_right(w, np.eye(3), np.ones(3), np.ones(3), False)
    monkeypatch.setattr(close_values, "first_size", lambda w, d, sizes, least: first_size(w, d, sizes, 0.0))
    assert close_values.is_first_right(w, np.eye(3), np.ones(3), np.ones(3), False)


def test_the_scales_find_what_is_not_guarded(monkeypatch):
    monkeypatch.setattr(close_values, "is_right", lambda error, size: True)
    found, right = (contad.hvp(f)(SMALL * 1e-8, np.tril(T)) for f in (exponential, DENSE[exponential]))
    assert np.max(np.abs(found - right)) > 1e-3


def of_solution(a, b):
    return np.sum(np.linalg.lstsq(a, b, 1e-15)[0] ** 2)


def of_pseudoinverse(a, b):
    return np.sum((np.linalg.pinv(a, 1e-15) @ b) ** 2)


@pytest.mark.parametrize("f", [of_solution, of_pseudoinverse], ids=lambda f: f.__name__)
@pytest.mark.parametrize("compiled", [False, True])
def test_second_derivatives_of_least_squares_keep_digits(f, compiled):
    """As many as the solution has: no square of the condition, 1e8, is lost."""
    g = njit(f) if compiled else f
    b = np.array([0.3, -0.7, 0.4])
    square, tall = LEFT * [1.0, 1e-4, 1e-8] @ RIGHT, LEFT[:, :2] * [1.0, 1e-8] @ np.array([[0.6, -0.8], [0.8, 0.6]])
    for a, s, t in ((square, S, T), (tall, S[:, :2], T[:, :2].copy()), (tall.T.copy(), S[:2], T[:2])):
        b = b[: a.shape[0]]
        with mp.workdps(80):
            h = mp.mpf(10) ** -30

            def at(x, y, a=a, b=b, s=s, t=t, h=h):
                m = mp.matrix(a.tolist()) + x * h * mp.matrix(s.tolist()) + y * h * mp.matrix(t.tolist())
                z = m.T * (m * m.T) ** -1 if m.rows < m.cols else (m.T * m) ** -1 * m.T
                return mp.norm(z * mp.matrix(b.tolist())) ** 2

            right = float((at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / (4 * h * h))
        assert np.sum(contad.hvp(g)(a, b, t) * s) == pytest.approx(right, rel=1e-6)


# ---- loops for compiled code do as the formulas ----------------------------------------------------------------------
@pytest.mark.parametrize("gap", [1e-15, 1e-11, 1e-7, 0.3])
def test_compiled_decisions_are_those_of_plain_python(gap):
    a = LEFT * [1.0, 1.0 + gap, 2.5] @ LEFT.T
    w, v = np.linalg.eigh((a + a.T) / 2.0)
    c, p = v.T @ ALONG @ v, v.T @ S
    for live in ([True, True, True], [False, False, True], [False, False, False]):
        for d in (np.zeros(3), np.array([0.3, 0.3, 0.7]), np.array([0.3, -0.2, 0.7])):
            sizes = close_values.column_sizes(S) * live
            own = np.where(live, p, 0.0)
            g, error = close_values.second_of_pairs(w, c, own, d, sizes)
            found, right = close_spectra.second_of_pairs(w, c, own, d, sizes)
            np.testing.assert_allclose(found, g, rtol=1e-12, atol=1e-12 * np.nanmax(np.abs(g), initial=1.0))
            assert right == close_values.is_right(error, close_values.size_along(w, c, own, d))
            plain = close_values.is_first_right(w, own, d, sizes, False)
            assert close_spectra.is_first_right(w, own, d, sizes, 0) == plain
            assert close_spectra.are_uneven(w, d) == close_values.are_uneven(w, d, np.zeros(3))
    np.testing.assert_array_equal(close_spectra.are_lost(w, c), close_values.are_lost(w, c))
    for x, y in zip(close_spectra.part_equal(w, c, 1.0), close_values.part_equal(w, c, 1.0), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-14)


@pytest.mark.parametrize("gap", [1e-15, 1e-11, 1e-7, 0.3])
@pytest.mark.parametrize("rows", [3, 4])
def test_compiled_decisions_on_singular_values_are_those_of_plain_python(gap, rows):
    a = np.concatenate([LEFT * [2.5, 1.0 + gap, 1.0] @ RIGHT, np.zeros((rows - 3, 3))])
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    u_bar, along = np.resize(S, u.shape), np.resize(T, a.shape)
    none = np.zeros(u.shape), np.zeros(3), np.zeros((3, 3))
    for v_bar in (M, np.zeros((3, 3))):
        first = u_bar * np.any(v_bar), np.array([0.4, 0.3, 0.3]), v_bar
        g, error, size = close_singular_values.second_of_doubles(u, s, vt.T, along, first, none)
        found, right = close_spectra.second_of_doubles(u, s, vt.T, along, *first)
        np.testing.assert_allclose(found, g, rtol=1e-9, atol=1e-9 * np.nanmax(np.abs(g), initial=1.0))
        assert right == close_values.is_right(error, size)
        z, z_bar = (np.concatenate([x, y[None], w]) for x, y, w in ((u, s, vt.T), first))
        plain = not np.isnan(singular_spectra.singular_cotangent(z, z_bar, a.shape)).any()
        found = close_spectra.is_singular_right(s, u.T @ first[0], vt @ v_bar, *first)
        assert found == plain
