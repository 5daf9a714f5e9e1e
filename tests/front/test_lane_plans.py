"""Hessians and Jacobians of Numba functions by several directions at once, in lanes."""

import math
import warnings
from types import SimpleNamespace

import numba
import numpy as np
import pytest

import contad
from contad.engines.source.build import kind_of
from contad.engines.source.reading.frontend import read
from contad.engines.source.tangents.tangent_writer import add_tangents
from contad.engines.source.writing.derivative_text import DerivativeWriter
from contad.front import choice
from contad.kernels import lanes, recalled_values
from tests.judges.planted import registered
from tests.judges.written import numba_functions

RNG = np.random.default_rng(11)
X = np.array([0.7, -1.2, 0.4, 1.9, -0.3, 0.8, 1.1, -0.6, 0.5])

with registered():

    @contad.scalar_rule
    def bent(x):
        """A rule of the user."""
        return x / (1.0 + x * x)

    @bent.partials
    def bent_partials(z, x):
        return (1.0 - 2.0 * x * z) / (1.0 + x * x)


@numba.njit
def settle(x, y):
    """A callee with a loop that ends by itself."""
    z = x
    while z * z > 0.3:
        z = 0.5 * math.sin(z) * y
    return z + x * y


@numba.njit
def everything(x, p, data):
    """Arrays that are written into, views, loops, a callee, branches, a product with a matrix, a constant output."""
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = x[i] * p[0] if i % 2 == 0 else settle(x[i], p[1][0])
        if i > 0:
            y[i] += y[i - 1] * 0.5
    z = data @ y
    largest = z[0]
    for v in z:
        largest = v if v > largest else largest
    return z, largest * p[0], (p[1][0] ** 2, 1.5)


@numba.njit
def energy(x, p, data):
    z, largest, (square, _) = everything(x, p, data)
    return np.sum(z * z) + largest * square * x[0]


@contad.custom_vjp
def bounded(x):
    """x, whose cotangent is kept within a bound."""
    return x


bounded.defvjp(lambda x: (1.0 * x, None), lambda _, z_bar: (np.minimum(z_bar, 0.5),))


KNOWN = {"__name__": __name__, "np": np, "math": math, "contad": contad, "bent": bent, "bounded": bounded}
F = numba_functions({
    "solved(x)": "np.linalg.solve(np.eye(len(x)) * x[0] + np.outer(x, x), x)",
    "products(x)": "a = np.outer(x, x); np.sum(a @ a)",
    "by_rule(a, b, c)": "bent(a) * b, bent(c) + a, 2.0",
    "handed_on(x)": "bounded(x) * x",
    "steep(x)": "math.sinh(x[0] * x[1])",
    "with_aux(p, t)": "r = p[0] * math.exp(-p[1] * t); (r, r * r), (r, 3)",
    "mixed(x, a, b)": "x * a * b[0], np.sum(x) * a, (b[1] ** 2, x[:2].copy())",
    "scaled(m)": "m * m[0, 1]",
    "along_rows(m, directions)": "contad.jvp(scaled, (m,), (directions,), several=True)",
    "bent_twice(x)": "bent(bent(x[0])) * x",
}, KNOWN)  # fmt: skip
DATA = RNG.normal(size=(4, 9))
P = 0.9, (1.3,)


def leaves(x):
    return [leaf for part in x for leaf in leaves(part)] if isinstance(x, tuple) else [np.asarray(x)]


def assert_same(found, expected):
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("transform", [contad.jacfwd, pytest.param(contad.jacrev, marks=pytest.mark.long)])
def test_shapes_that_change_between_calls(transform):
    made = transform(everything, (0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (9, 1, 3, 4, 5, 0, 8):
            args = X[:n], P, DATA[:, :n].copy()
            assert_same(made(*args), transform(everything.py_func, (0, 1))(*args))
    assert "at once" in contad.explain(made, X, P, DATA)


@numba.njit
def recurrence(x):
    s, total = x[0], 0.0
    for v in x:
        s = math.sin(s) * v + s * s * 0.1
        while s > 1.0:
            s = s * 0.5 + 0.01 * v * s
        total += s * v
    return total


def test_lanes_that_iterations_store():
    made = contad.hessian(recurrence)
    for n in (9, 3, 1):
        assert_same(made(X[:n]), contad.hessian(recurrence.py_func)(X[:n]))
    told = contad.explain(made, X)
    assert "the loop stores" in told and "8 columns at once" in told


@pytest.mark.long
def test_hessians_of_several_arguments():
    made = contad.hessian(energy, (0, 1))
    for n in (9, 1, 3):
        args = X[:n], P, DATA[:, :n].copy()
        assert_same(made(*args), contad.hessian(energy.py_func, (0, 1))(*args))
    assert "8 columns at once" in contad.explain(made, X, P, DATA)


# ---- the text, run as Python -----------------------------------------------------------------------------------------
def write(f, args, count, argnums=(0,), memory=False):
    """The names of the module with `run`, for products of the Hessian with several vectors at once."""
    kinds = tuple(kind_of(numba.typeof(x), "f") for x in args)
    program = read(f, kinds, transform=lambda p: add_tangents(p, argnums))
    text = DerivativeWriter(program, argnums, mode="hvp", lanes=count, memory=memory).source()
    names = {}
    exec(text, names)
    return names


def test_values_that_do_not_depend_on_the_direction_are_computed_once():
    """A function of the program is called as often for eight directions as for one, or without any."""

    def f(x):
        total = 0.0
        for v in x:
            total += math.exp(v) * math.sin(v)
        return total

    calls, found = [], {}

    def count_calls(function):
        return lambda x: calls.append(function.__name__) or function(x)

    counted = {function.__name__: count_calls(function) for function in (math.exp, math.sin, math.cos)}
    for count in (1, 8):
        names = write(f, (X,), count)
        names["math"] = SimpleNamespace(**counted)
        directions = np.eye(9)[:, :count]
        calls.clear()
        _, (found[count],) = names["run"]((X,), (lanes.as_lanes(directions) if count > 1 else directions[:, 0],))
        assert all(calls.count(name) == len(X) for name in counted)
    np.testing.assert_allclose(lanes.as_floats(found[8])[:, 0], found[1], rtol=1e-14)


@pytest.mark.parametrize("room", [100, 5])
def test_blocks_after_the_first_one_compute_no_function_again(room):
    """Where there is too little room at first, the second block computes them once more."""

    def f(x):
        total = 0.0
        for v in x:
            total += math.exp(v) * math.sin(v) + v * v
        return total

    made = write(f, (X,), 4, memory=True)
    calls, found = [], []
    counted = {
        name: lambda x, name=name: calls.append(name) or getattr(math, name)(x) for name in ("exp", "sin", "cos")
    }
    made["math"] = SimpleNamespace(**counted)
    memory, marks, directions = np.empty(room), np.zeros(3), np.eye(9)
    for start in range(0, 8, 4):
        for block in range(2):
            memory = recalled_values.begin_chunk(memory, marks, start + block == 0)
            along = lanes.as_lanes(directions[:, start : start + 4])
            found.append(made["run"]((X,), (along,), memory, marks)[1][0])
    assert len(calls) == len(X) * 3 * (1 if room > 30 else 2)
    for k in range(0, 4, 2):
        np.testing.assert_array_equal(lanes.as_floats(found[k]), lanes.as_floats(found[k + 1]))
    marks[0] -= 1.0
    with pytest.raises(RuntimeError, match="has asked for other values than the first one"):
        recalled_values.begin_chunk(memory, marks, False)


def test_a_direction_of_zeros_keeps_out_of_infinite_partials():
    """Lane by lane: where one direction is 0, a partial that is infinite has no part in it, and in others it has."""

    @numba.njit
    def f(x):
        return math.sqrt(x[0]) * x[1] + x[1] * x[1]

    np.testing.assert_array_equal(contad.hessian(f)(np.array([0.0, 2.0])), [[-np.inf, np.nan], [np.inf, 2.0]])


def test_lanes_in_python():
    x = lanes.Lanes([1.0, 2.0])
    assert repr(2.0 - x * 3.0 / lanes.Lanes([1.0, 4.0]) + 1.0) == "Lanes([0.0, 1.5])"
    assert lanes.lane(-x, 1) == -2.0 and lanes.lane(1.5, 1) == 1.5
    assert repr(lanes.unit_lanes(-1, 2)) == "Lanes([0.0, 0.0])"


# ---- matrices, and what has one direction at a time ------------------------------------------------------------------
@pytest.mark.long
def test_rules_are_called_once_for_each_direction():
    x, jacobian = np.array([1.0, 2.0]), contad.jacrev(F.handed_on)
    np.testing.assert_allclose(jacobian(x), [[1.5, 0.0], [0.0, 2.5]], rtol=1e-12)
    assert "rows at once" in contad.explain(jacobian, x)


def test_a_function_with_one_direction_at_a_time_says_so(monkeypatch):
    """The tape is not asked: its overloads of NumPy's functions would come while Numba types a caller of these."""
    asked, build = [], choice.compiled_engine
    monkeypatch.setattr(choice, "compiled_engine", lambda name: asked.append(name) or build(name))
    x = np.array([1.0, 2.0])
    told = contad.explain(contad.grad_tr_mat_times_hessian, F.steep, x, np.eye(2))
    assert "one direction at a time: steep: a condition on a tangent" in told
    assert "tape" not in asked


@pytest.mark.long
@pytest.mark.parametrize("f", [F.products, F.solved])
def test_products_and_systems(f):
    x = np.array([1.0, 2.0, -0.7])
    for transform in (contad.hessian, contad.jacfwd, contad.jacrev)[:: 1 if f is F.products else -1][:2]:
        made = transform(f)
        np.testing.assert_allclose(made(x), transform(f.py_func)(x), rtol=1e-12)
        assert "at once" in contad.explain(made, x)


def test_rules_numbers_and_constant_outputs_in_njit():
    by_rule = F.by_rule

    @numba.njit
    def inside(a, b, c):
        return contad.jacobian(by_rule, (0, 1, 2))(a, b, c)

    slope = (1.0 - 0.7**2) / (1.0 + 0.7**2) ** 2
    expected = (slope * 0.4, bent(0.7), 0.0), (1.0, 0.0, (1.0 - 4.0) / 25.0), (0.0, 0.0, 0.0)
    np.testing.assert_allclose(inside(0.7, 0.4, 2.0), expected, rtol=1e-14)


# ---- aux, and the source ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "transform", [contad.jacobian, *(pytest.param(t, marks=pytest.mark.long) for t in (contad.jacfwd, contad.jacrev))]
)
def test_a_jacobian_with_aux(transform):
    p = np.array([1.5, 0.3])
    for f in (F.with_aux, F.with_aux.py_func):
        found, (r, n) = transform(f, (0, 1), has_aux=True)(p, 0.4)
        assert n == 3 and r == pytest.approx(1.5 * math.exp(-0.12))
        assert found[1][1] == pytest.approx(2.0 * r * found[0][1]) and found[0][1] == pytest.approx(-0.3 * r)
    with pytest.raises((contad.errors.OutputError, contad.errors.UnsupportedError), match=r"return \(value, aux\)"):
        transform(lambda x: x, has_aux=True)(p)


def test_the_source_of_a_matrix_of_derivatives():
    text = contad.source(energy, X, P, DATA, of="hessian")
    assert text.startswith('"""The value and Hessian-vector product of energy, for 8 vectors at once')
    for f, of in ((F.solved, "jacobian"), (F.products, "hessian")):
        assert "at once" in contad.source(f, X[:2], of=of)
    assert "for 4 cotangents at once" in contad.source(everything, X, P, DATA, argnums=(0, 1), of="jacobian")


# ---- given directions ------------------------------------------------------------------------------------------------
def lanes_of(made, *given):
    """Whether the directions are taken several at once, in the only code there is."""
    (choice,) = made.choices.values()
    return choice.lanes, choice.one_direction


@pytest.mark.parametrize("count", [6, 1, 4])
def test_jvp_along_several_directions_is_compiled(count):
    primals = X[:5], 0.7, (1.2, 0.3)
    tangents = RNG.normal(size=(count, 5)), RNG.normal(size=count), (RNG.normal(size=count), RNG.normal(size=count))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = contad.jvp(F.mixed, primals, tangents, several=True)
    assert_same(found, contad.jvp(F.mixed.py_func, primals, tangents, several=True))
    for k in range(count):
        one = contad.jvp(F.mixed, primals, (tangents[0][k], tangents[1][k], tuple(t[k] for t in tangents[2])))[1]
        assert_same(tuple(part[k] for part in leaves(found[1])), one)


def test_jvp_along_several_directions_in_njit():
    m, directions = RNG.normal(size=(3, 4)), RNG.normal(size=(5, 3, 4))
    expected = contad.jvp(F.scaled.py_func, (m,), (directions,), several=True)
    assert_same(F.along_rows(m, directions), expected)
    with pytest.raises(ValueError, match="jvp: scaled: a tangent must have its primal's shape"):
        F.along_rows(m, directions[:, :2])


def test_directions_without_the_shape_of_their_primal():
    for tangent in (np.zeros((0, 9)), 1.0):
        with pytest.raises(TypeError, match="with several=True every tangent must be an array with a leading axis"):
            contad.jvp(F.bent_twice, (X,), (tangent,), several=True)
    with pytest.raises(TypeError, match=r"its primal's shape, \(2, 9\), got \(2, 4\)"):
        contad.jvp(F.bent_twice, (X,), (np.zeros((2, 4)),), several=True)


@numba.njit
def blocks(x):
    total = 0.0
    for k in range(0, len(x), 3):
        total += math.sin(x[k]) * x[k + 1] ** 2 * x[k + 2]
    return total


def test_traces_and_blocks_take_several_directions():
    h = contad.hessian(blocks.py_func)(X)
    made = contad.laplacian(blocks), contad.hessian_block_diag(blocks, 3)
    np.testing.assert_allclose(made[0](X), np.trace(h), rtol=1e-12)
    np.testing.assert_allclose(made[1](X), [h[k : k + 3, k : k + 3] for k in (0, 3, 6)], rtol=1e-12)
    assert [lanes_of(x) for x in made] == [(True, "")] * 2


@pytest.mark.parametrize("rows", [9, 2])
def test_traces_take_several_third_derivatives(rows):
    m = RNG.normal(size=(9, 9))
    m[rows:] = 0.0  # blocks of directions that are left out
    found = contad.grad_tr_mat_times_hessian(blocks, X, m)
    np.testing.assert_allclose(found, contad.grad_tr_mat_times_hessian(blocks.py_func, X, m), rtol=1e-12, atol=1e-14)
    assert "4 columns at once" in contad.explain(contad.grad_tr_mat_times_hessian, blocks, X, m)


def test_laplacian_of_numbers_and_arrays():
    @numba.njit
    def f(x, a):
        return a * a * np.sum(x * x) + x[0] * a

    expected = 2.0 * np.sum(X * X) + 2.0 * 9 * 1.3**2
    np.testing.assert_allclose(contad.laplacian(f, (0, 1))(X, 1.3), expected, rtol=1e-13)
