"""Array variables behave as ndarrays do: views alias, assignments overwrite, and derivatives follow, at every order.

Each program runs on NumPy itself with complex steps, which share nothing with contad, and on object arrays of scalar
variables, where NumPy supplies the meaning of views and assignments.
"""

import functools
import itertools
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays

import contad
from contad.engines.matrix.matrix_stack import MatrixStack
from contad.errors import (
    ForeignVariableError,
    LostDerivativeError,
    NestingError,
    OtherThreadError,
    OverlapError,
    StaleVariableError,
    UnsupportedError,
)
from contad.variables.stack import THREAD, attempt, opened
from tests.judges.refusals import refused

POINT = np.array([0.3, 0.7, 1.1, -0.4])
STEP = 1e-40

grad = functools.partial(contad.grad, engine="matrix")
jacobian = functools.partial(contad.jacobian, engine="matrix")
vjp = functools.partial(contad.vjp, engine="matrix")
on_records = functools.partial(contad.grad, engine="records")


@pytest.fixture
def level():
    with opened(MatrixStack) as s:
        yield s


@pytest.fixture(autouse=True)
def no_level_is_left_open():
    yield
    assert len(THREAD.open) <= 1
    assert not THREAD.forward


def complex_steps(f, x):
    """The gradient by complex steps: exact to rounding, and independent of contad."""
    slope = np.empty(x.shape)
    for k in np.ndindex(x.shape):
        z = x.astype(complex)
        z[k] += STEP * 1j
        slope[k] = np.imag(f(z)) / STEP
    return slope


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


# ---- programs --------------------------------------------------------------------------------------------------------
PROGRAMS = {}
SECOND_ORDER_ON_OBJECTS = {"views_of_views", "in_place_on_views"}  # where object arrays refuse `a += v`


def program(f):
    """A function of an array that writes to arrays, among them its argument."""
    PROGRAMS[f.__name__] = f
    return f


@program
def swap(x):
    t = x[0]
    x[0] = x[1]
    x[1] = t
    return x[0] ** 2 * 3 + x[1] ** 3 + np.sum(x * t)


@program
def old_values_after_two_overwrites(x):
    y = x[1]
    x[1] = x[0] * 2
    z = x[1]
    x[1] = x[2] * z
    return y * z * x[1] + np.sum(x * x)


@program
def slice_taken_before_an_assignment(x):
    v = x[1:3]
    w = v.copy()
    x[1] = x[0] * x[3]
    return np.sum(v * w) + v[0] * w[0]


@program
def result_taken_before_an_assignment(x):
    y = np.sum(x * x)
    z = x * 2
    x[:] = 0.0
    return y * np.sum(z) + np.sum(x)


@program
def constant_buffer_rewritten(x):
    w = np.zeros(4)
    s = 0.0
    for i in range(4):
        w[:] = 0
        w[i] = i + 1
        s = s + np.dot(w, x) ** 2 + np.sum(w * x) * np.sum(x / (w + 1)) + np.sum(np.outer(w, x) @ (x * w))
    return s


@program
def constant_buffer_of_equal_contents(x):
    w = np.arange(4.0)
    y = x * w
    w[:] = w.copy()
    z = x * w
    w[1:] *= -1.5
    return np.sum(y * z * w) + np.sum(np.sqrt(x * x + (w + 0.1) ** 2))


@program
def masks_and_fancy_indices(x):
    x[x > 0.5] *= 2
    x[[0, 0, 1]] = np.stack([x[1], x[2], x[3]])
    x[np.array([True, False, False, True])] = x[:2]
    return np.sum(x**3)


@program
def the_last_of_repeated_indices_wins(x):
    y = np.zeros_like(x)
    y[[1, 1, 2]] = x[:3]
    y[[0, 0]] += x[2:]
    return np.sum(y**3)


@program
def overlapping_assignments(x):
    x[1:] = x[:-1]
    x[:-1] += x[1:]
    x[::-1] = x
    x[:2] = x[1:3] * x[0]
    return np.sum(x**3 * np.arange(1.0, 5.0))


@program
def views_of_views(x):
    y = np.zeros_like(x.reshape(2, 2))
    y[0] = x[:2]
    v = y.T[::-1]
    u = v[:, 0:1]
    y[0, 1] = x[3] * 2
    u[0, 0] *= 3.0
    v[1] += x[0]
    w = u[::-1].reshape(-1)
    w[0] = x[2]
    return np.sum(y**3) + np.sum(u**2) + w[1] * w[0]


@program
def in_place_on_views(x):
    v = x[::2]
    v += x[1::2]
    v *= v
    x -= x[0]
    x /= 2.0
    x **= 2
    return np.sum(x * x * np.arange(4.0))


@program
def lists_tuples_and_object_arrays(x):
    y = np.zeros_like(x, shape=(2, 2))
    y[0] = [x[0], 2.0]
    y[1] = (x[1], x[2] * x[3])
    y[:, 0] = np.array([x[3], x[2]], dtype=object)
    y[0, 1] = 1
    y[1:] = [[x[0], 7]]
    return np.sum(y**3)


@program
def into_part_of_itself(x):
    x[:2] = x[2:]
    x[1:3] = x[1:3][::-1]
    x[...] = x[::-1]
    x[0] = np.sum(x)
    return np.sum(x**2)


@program
def negative_steps(x):
    x[::-2] *= 2.0
    return np.sum(x[::-2] ** 2) + np.sum(x[-1:0:-1] * x[1:]) + x[-1] * x[-4]


@program
def rows_and_columns(x):
    X = x.reshape(2, 2)
    X[0] += X[1]
    X[:, 1] *= X[:, 0]
    X.T[0, 1] = x[3]
    return np.sum(X @ X) + np.sum(x**2)


@program
def new_axes(x):
    y = x[:, None] * x
    y[1, None] = x
    z = y[..., 0]
    z[:] = x**2
    return np.sum(y**2)


@program
def rows_exchanged(x):
    X = x.reshape(2, 2)
    X[[0, 1]] = X[[1, 0]]
    a, b = X
    a[:], b[:] = b.copy(), a.copy()
    X[0], X[1] = X[1], X[0]  # both views: the second row is lost, as in NumPy
    return np.sum(X**2 * np.array([[1.0, 2.0], [3.0, 4.0]]))


@program
def results_into_arrays(x):
    y = np.zeros_like(x)
    np.multiply(x, x, out=y)
    np.add(y, 1, out=y)
    np.sin(y, out=y[...])
    np.add.at(y, [0, 0, 1], x[:3])
    return np.sum(y * y)


@program
def recurrence_over_rows(x):
    h = np.zeros_like(x, shape=(5, 4))
    h[0] = x
    for t in range(4):
        h[t + 1] = np.sin(h[t]) + h[t - 1] * 0.5  # h[-1] is still zero at first
    return np.sum(h[-1] * h[2])


@program
def loops_over_rows(x):
    X = np.outer(x, x)
    for row in X:
        row[0] = row[1] * x[0]
    for k, row in enumerate(X):
        X[(k + 1) % 4] = X[(k + 1) % 4] * row
    return np.sum(X)


@program
def elements_read_when_the_loop_gets_there(x):
    s = 0.0
    for i, v in enumerate(x):
        if i + 1 < len(x):
            x[i + 1] = x[i + 1] * v
        s = s + v * v
    return s


@program
def elements_of_flat(x):
    X = x.reshape(2, 2)
    s = 0.0
    for v in X.T.flat:
        s = s * 0.5 + v**2
    for k, v in enumerate(X.flat):
        X[k // 2, k % 2] = 0.0
        s = s * 0.5 + v**3
    return s


@program
def scalars_and_arrays_alternate(x):
    s = x[0] * x[1]
    y = x * s
    y[1] = s
    s = s * s
    y[2] = np.exp(s)
    return np.sum(y * y) + s


@program
def transposes_of_written_arrays(x):
    X = np.outer(x, x**2)
    Y = X.T
    X[0, 1] = 3.0
    return np.sum(Y @ X) + np.sum(Y * X) + np.sum(Y[1:, 0] * X[0, 1:])


@program
def diagonals_and_grids(x):
    X = np.outer(x, x)
    X[np.arange(4), np.arange(4)] = x
    np.fill_diagonal(X, x[0])
    X[np.ix_([0, 1], [2, 3])] = x[:2]
    X[np.triu_indices(4, 1)] *= 2
    return np.sum(X @ X)


@program
def arrays_without_axes(x):
    y = x[0:1].reshape(())
    z = y * 2
    y[...] = x[3]
    return np.sum(x**2) * z + y.item()


@program
def moved_copies(x):
    y = np.concatenate([x[1:], [1.0], x[:1]])
    y[0] = x[0]
    z = np.stack([y, y * 2])
    z[0, 1] = y[2]
    w = np.where(z > 1, z, np.roll(z, 1))
    w[0] = 0.0
    return np.sum(w * z) + np.sum(y**2)


@program
def assignments_through_temporary_views(x):
    x[1:][1:][0] = x[0]
    x[::-1][0] *= 2
    x[None][0, 1] = x[2]
    return np.sum(x**3)


@program
def a_hundred_views_deep(x):
    s = 0.0
    v = x
    for k in range(100):
        v = v[::-1] if k % 2 else v[...]
    v[0] = v[1] * 2.0
    for k in range(3):
        s = s + v[0] * x[-1 - k] ** 2
        v = v[1:]
    return s


@program
def filled(x):
    y = x * 1
    y.fill(x[0])
    y[1:3] = 3
    x.fill(2.0)
    return np.sum(y * y) + np.sum(x)


@program
def wholly_overwritten_by_constants(x):
    y = x * 3.0
    y[:] = 1.5
    z = y * 2.0
    z[0] = x[1] ** 2
    return np.sum(z * z) + np.sum(y * x)


@program
def reshaped_results_in_fortran_order(x):
    y = np.sin(x.reshape(2, 2).T)
    r = y.reshape(-1)
    r[0] = 0.0
    return np.sum(y * y) + np.sum(r**3)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_the_gradient_of_numpy(name):
    f = PROGRAMS[name]
    x = POINT.copy()
    value, slope = contad.value_and_grad(f, engine="matrix")(x)
    assert np.array_equal(x, POINT)  # the caller's array is never written
    close(value, f(POINT.copy()))
    close(slope, complex_steps(f, POINT))
    close(slope, grad(f)(x))  # buffers that have been used before
    assert np.max(np.abs(slope)) > 1e-3
    if name not in SECOND_ORDER_ON_OBJECTS:
        close(slope, on_records(f)(x))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_the_same_derivative_in_forward_mode(name):
    f = PROGRAMS[name]
    slopes = [contad.jvp(f, (POINT,), (v,))[1] for v in np.eye(4)]
    close(slopes, complex_steps(f, POINT))


def hessians(f, x):
    """The Hessian in all four forward/reverse nestings, and with scalar engines inside and outside."""
    basis = np.eye(x.size)

    def slope_along(v, inner):
        return contad.grad(lambda y: contad.jvp(f, (y,), (v,))[1], engine=inner)

    def along_twice(u, v):
        return contad.jvp(lambda y: contad.jvp(f, (y,), (v,))[1], (x,), (u,))[1]

    return {
        "reverse over reverse": lambda: jacobian(grad(f))(x),
        "reverse over records": lambda: jacobian(on_records(f))(x),
        "records over reverse": lambda: contad.jacobian(grad(f), engine="records")(x),
        "closures over reverse": lambda: contad.jacobian(grad(f), engine="closures")(x),
        "forward over reverse": lambda: np.stack([contad.jvp(grad(f), (x,), (v,))[1] for v in basis]),
        "reverse over forward": lambda: np.stack([slope_along(v, "matrix")(x) for v in basis]),
        "records over forward": lambda: np.stack([slope_along(v, "records")(x) for v in basis]),
        "forward over forward": lambda: np.array([[along_twice(u, v) for v in basis] for u in basis]),
    }


NESTINGS = tuple(hessians(None, np.zeros(0)))
ON_ARRAYS = [name for name in NESTINGS if "records" not in name and "closures" not in name]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_one_hessian(name):
    f = PROGRAMS[name]
    here = hessians(f, POINT)
    reference = here["forward over forward"]()
    assert np.allclose(reference, reference.T, rtol=1e-10, atol=1e-12)
    if name not in SECOND_ORDER_ON_OBJECTS:
        close(reference, contad.jacobian(on_records(f), engine="records")(POINT))
    for nesting in ON_ARRAYS if name in SECOND_ORDER_ON_OBJECTS else NESTINGS:
        np.testing.assert_allclose(here[nesting](), reference, rtol=1e-10, atol=1e-12, err_msg=nesting)


# ---- several sweeps --------------------------------------------------------------------------------------------------
def written_result(x):
    y = x * x
    y[0] = x[1] * x[2]
    y[1:3] = y[:2]
    x[3] = y[0]
    y[3] = 2.0
    return y + 0.0 * x


def test_a_pullback_can_be_called_again_after_assignments():
    value, pullback = vjp(written_result, POINT)
    slopes = [complex_steps(lambda x, k=k: written_result(x)[k], POINT) for k in range(4)]
    close(value, written_result(POINT.copy()))
    first = pullback(np.array([1.0, 2.0, 3.0, 4.0]))[0]
    kept = first.copy()
    close(first, np.array([1.0, 2.0, 3.0, 4.0]) @ slopes)
    close(pullback(np.array([0.0, 0.0, 1.0, 0.0]))[0], slopes[2])
    assert np.array_equal(first, kept)
    close(pullback(np.array([1.0, 2.0, 3.0, 4.0]))[0], kept)


def test_a_jacobian_through_assignments():
    slopes = [complex_steps(lambda x, k=k: written_result(x)[k], POINT) for k in range(4)]
    close(jacobian(written_result)(POINT), slopes)


def test_a_result_with_repeated_and_constant_elements():
    def f(x):
        return np.stack([x[::-1], np.full(4, 2.0), x, np.stack([x[0]] * 4)])

    value, pullback = vjp(f, POINT)
    seed = np.arange(16.0).reshape(4, 4)
    wanted = seed[0, ::-1] + seed[2]
    wanted[0] += seed[3].sum()
    close(value[0], POINT[::-1])
    close(pullback(seed)[0], wanted)
    close(vjp(lambda x: x, POINT)[1](seed[1])[0], seed[1])
    close(vjp(lambda x: x.reshape(2, 2).T, POINT)[1](np.array([[1.0, 2], [3, 4]]))[0], [1, 3, 2, 4])


def repeated_cells(x):
    y = np.sin(x)
    y[0] = x[1] * x[2]
    y[2] = y[0]
    y[3] = 2.0
    return y


def test_a_pullback_of_repeated_cells_on_an_outer_level():
    slopes = np.array([complex_steps(lambda x, k=k: repeated_cells(x)[k], POINT) for k in range(4)])
    _, pullback = vjp(repeated_cells, POINT)
    weights = np.array([0.4, -1.0, 0.7, 2.0])

    def weighted(c):
        return np.sum(pullback(c * c)[0] * weights)

    wanted = 2 * POINT * (slopes @ weights)
    close(pullback(POINT * POINT)[0], POINT**2 @ slopes)
    close(grad(weighted)(POINT), wanted)
    close(on_records(weighted)(POINT), wanted)
    close([contad.jvp(weighted, (POINT,), (v,))[1] for v in np.eye(4)], wanted)


def test_a_pullback_made_of_outer_variables():
    def f(x):
        value, pullback = vjp(lambda z: np.where(z > 0.1, z * z * x, z * x), x * x)
        return np.sum(pullback(value)[0] * x)

    close(grad(f)(POINT), on_records(f)(POINT))
    kept = []
    grad(lambda x: kept.append(vjp(lambda z: z * z * x, POINT)[1]) or np.sum(x))(POINT)
    with pytest.raises(StaleVariableError):
        kept[0](POINT)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_an_exception_in_mid_sweep_leaves_nothing_behind(error):
    calls = []

    @contad.array_rule
    def raising(a):
        return a * 2.0

    @raising.vjp("a")
    def raising_vjp_a(z, z_bar, a):
        return failing(z_bar)

    def failing(z_bar):
        calls.append(z_bar)
        raise error

    def by_callback(x):
        contad.reverse_pass_callback(failing)
        y = np.exp(x)
        y[0] = x[1]
        return np.sum(y * y)

    for _ in range(2):
        with pytest.raises(error):
            grad(by_callback)(POINT)
        assert not contad.stack().sweeping
        close(grad(swap)(POINT), complex_steps(swap, POINT))
    assert len(calls) == 2


# ---- arguments -------------------------------------------------------------------------------------------------------
def busy(x):
    y = np.sum(x * x)
    x[0] = x[-1] * 2.0
    x += 1.0
    x.T[0] *= 3.0
    return np.sum(x * x * x) + y


LAYOUTS = {
    "C": np.arange(6.0).reshape(2, 3),
    "Fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "transposed": np.arange(12.0).reshape(3, 4).T,
    "strided": np.arange(24.0).reshape(4, 6)[::2, 1::2],
    "reversed": np.arange(5.0)[::-1],
    "broadcast": np.broadcast_to(np.arange(3.0), (2, 3)),
    "unaligned": np.frombuffer(b"\0" + np.arange(1.0, 5.0).tobytes(), np.float64, offset=1),
    "big-endian": np.arange(1.0, 5.0).astype(">f8"),
    "three axes": np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("writeable", [True, False])
def test_arguments_of_any_layout_are_read_and_never_written(layout, writeable):
    x = LAYOUTS[layout][...]
    if not writeable:
        x.flags.writeable = False
    before = x.copy()
    slope = grad(busy)(x)
    close(slope, complex_steps(busy, np.array(x, dtype=float)))
    assert slope.shape == x.shape
    assert slope.dtype == np.float64
    assert np.array_equal(x, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int8, np.uint8])
def test_other_real_arguments_become_float64(dtype):
    x = np.array([1, 2, 3, 5], dtype)
    slope = grad(busy)(x)
    assert slope.dtype == np.float64
    close(slope, complex_steps(busy, x.astype(float)))
    assert x.dtype == dtype


@pytest.mark.parametrize(
    ("x", "named"),
    [
        (POINT > 0.5, "bool"),
        (POINT * 1j, "complex128"),
        (np.array(["a"]), "<U1"),
        (np.array(["2020"], "M8[D]"), "date"),
    ],
)
def test_other_arguments_are_refused_by_name(x, named):
    with pytest.raises(UnsupportedError, match=named):
        grad(np.sum)(x)


def test_arrays_without_axes_and_without_elements():
    def cube(x):
        y = x * x
        x[()] = x * y
        x += 1
        return x * y

    assert grad(cube)(np.array(3.0)) == 411.0
    assert grad(cube)(np.array(3.0)).shape == ()
    assert grad(lambda x: np.sum(x * x) + 1.0)(np.zeros(0)).shape == (0,)
    assert grad(lambda x: np.sum(x @ x.T) + np.sum(np.sin(x[:, 1:]) / x[:, :2]) + 1.0)(np.zeros((0, 3))).shape == (0, 3)
    x, y = grad(lambda x, y: np.sum(np.concatenate([x, y[:0], y]) ** 2), argnums=(0, 1))(POINT, np.zeros(0))
    close(x, 2 * POINT)
    assert y.shape == (0,)


def test_one_array_in_two_arguments_stands_for_two_variables():
    """Where it is read; a write would change the other one too."""

    def f(x, y):
        return np.sum(x * y * y)

    def written(x, y):
        x[0] = 5.0
        return np.sum(x * y * y)

    dx, dy = grad(f, argnums=(0, 1))(POINT, POINT)
    close(dx, POINT**2)
    close(dy, 2 * POINT * POINT)
    with pytest.raises(OverlapError, match="arguments 0 and 1 overlap in memory and the function writes into one"):
        grad(written, argnums=(0, 1))(POINT, POINT)


def test_one_variable_in_several_places():
    def f(x):
        return np.sum(x * x * x) + np.dot(x, x) * np.sum(np.where(x > 0.5, x, x * x)) + np.sum(np.outer(x, x) @ x)

    close(grad(f)(POINT), complex_steps(f, POINT))
    close(grad(lambda x: np.sum(np.stack([x, x, x])[:, 1:] ** 2))(POINT), np.append(0.0, 6 * POINT[1:]))


@pytest.mark.parametrize("other", [np.float32(1.5), np.int64(2), np.bool_(True), 2, True, np.array(3), np.array(2.5)])
def test_plain_operands_of_any_real_type(other):
    def f(x):
        return np.sum(x * other + other / (x + 3) - other * x * x)

    close(grad(f)(POINT), complex_steps(f, POINT))


@pytest.mark.parametrize("other", [[1, 2, 3, 4], (1.5, 2.0, 2.5, 3.0)])
def test_lists_and_tuples_are_operands_as_of_ndarrays(other):
    close(grad(lambda x: np.sum(x * other + other - x))(POINT), np.array(other) - 1.0)
    close(grad(lambda x: np.sum(other * x + np.multiply(other, x)))(POINT), 2.0 * np.array(other))


def test_constant_operands_that_are_not_real_are_refused():
    with refused(UnsupportedError, match="complex"):
        grad(lambda x: np.sum(x * np.array([1j, 2, 3, 4])))(POINT)
    with refused(UnsupportedError):
        grad(lambda x: np.sum(x * np.array(["a", "b", "c", "d"])))(POINT)


@pytest.mark.parametrize("value", [1j, "a", None, np.array([1j, 2])])
def test_what_is_assigned_is_real(value):
    def f(x):
        x[:2] = value
        return np.sum(x)

    with pytest.raises((UnsupportedError, TypeError)):
        grad(f)(POINT)


def test_an_assignment_of_a_wrong_shape_changes_nothing():
    def f(x):
        y = x * 1.0
        v = y[1:]
        for wrong in (x, x[:2], [1.0, 2.0], np.outer(x, x)):
            with pytest.raises(ValueError, match="broadcast"):
                v[:] = wrong
        with pytest.raises(IndexError):
            v[3] = 1.0
        return np.sum(y * v[0])

    close(grad(f)(POINT), complex_steps(lambda x: np.sum(x * x[1]), POINT))


def test_plain_arrays_cannot_hold_variables():
    w = np.zeros(4)

    def element(x):
        w[0] = x[0]

    def array(x):
        w[:] = x

    def in_place(x):
        nonlocal w
        w += x

    for f in (element, array, in_place, lambda x: np.add(w, x, out=w)):
        with pytest.raises(LostDerivativeError):
            grad(f)(POINT)
    assert not w.any()


# ---- nesting ---------------------------------------------------------------------------------------------------------
A = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0], [2.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
X = np.array([0.5, -1.0, 0.25])
ONES = np.ones(3)
AT_ZERO_ADJOINTS = {
    "squares": (lambda x: np.sum((x - 1) ** 2), ONES, 2 * np.eye(3)),
    "products": (lambda x: np.sum((x - 1) * (x - 1)), ONES, 2 * np.eye(3)),
    "dot": (lambda x: np.dot(x - 1, x - 1) * np.sum(x), ONES, 6 * np.eye(3)),
    "residual": (lambda x: np.sum((A @ x - A @ X) ** 2), X, 2 * A.T @ A),
    "prod": (np.prod, np.array([0.0, 0.0, 2.0]), np.array([[0.0, 2, 0], [2, 0, 0], [0, 0, 0]])),
}
UNSELECTED = {
    "log": lambda x: np.log(x - x),
    "sqrt": lambda x: np.sqrt(x - 1.0),
    "reciprocal": lambda x: 1.0 / (x - 1.0),
    "broadcast quotient": lambda x: x[:1] / (x - 1.0),
    "power": lambda x: (x - 1.0) ** 0.5,
    "arctan2": lambda x: np.arctan2(0.0 * x, x - 1.0),
    "special function": lambda x: contad.gammaln(x - 1.0),
    "matrix": lambda x: np.log(x[:, None] - x).sum(0),
    "three axes": lambda x: np.log(np.stack([x, x], 1)[:, None] - x[:, None]).sum((1, 2)),
}


@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize("name", AT_ZERO_ADJOINTS)
def test_hessians_where_the_gradient_is_zero(name, nesting):
    f, x, wanted = AT_ZERO_ADJOINTS[name]
    with np.errstate(invalid="ignore"):  # object arrays report what happens inside their elements' operations
        np.testing.assert_allclose(hessians(f, x)[nesting](), wanted, atol=1e-13)


@pytest.mark.parametrize("name", UNSELECTED)
def test_dead_branches_make_no_nan_at_first_and_second_order(name):
    def f(x):
        return np.sum(np.where(x > 0.5, x**3, UNSELECTED[name](x)))

    with np.errstate(all="ignore"):
        close(grad(f)(ONES), 3 * ONES)
        close([contad.jvp(f, (ONES,), (v,))[1] for v in np.eye(3)], 3 * ONES)
        for nesting in ON_ARRAYS:
            np.testing.assert_allclose(hessians(f, ONES)[nesting](), 6 * np.eye(3), atol=1e-13, err_msg=nesting)


def test_zeros_of_outer_levels_mask_infinite_partials():
    x, w = np.array([0.0, 4.0]), np.array([0.0, 2.0])
    with np.errstate(divide="ignore"):
        assert contad.jvp(lambda x: np.sum(np.sqrt(x)), (x,), (np.array([0.0, 1.0]),))[1] == 0.25
        inner = {
            engine: contad.grad(lambda z, w: np.sum(w * np.sqrt(z)), engine=engine) for engine in ("matrix", "records")
        }
        for f in inner.values():
            value, slope = contad.value_and_grad(lambda w, f=f: np.sum(f(x, w)), engine="matrix")(w)
            close(value, 0.5)
            close(slope, [0.0, 0.25])
        value, slope = contad.jvp(lambda w: inner["matrix"](x, w), (w,), (np.array([0.0, 1.0]),))
        close(value, [0.0, 0.5])
        close(slope, [0.0, 0.25])


def test_perturbations_of_nested_levels_are_not_confused():
    close(jacobian(lambda x: x * grad(lambda y: np.sum(x * y))(POINT))(POINT), np.diag(2 * POINT))
    s = np.sum(POINT)
    close(grad(lambda x: np.sum(x * grad(lambda y: np.sum(x + y) ** 2)(POINT)))(POINT), np.full(4, 6 * s))
    ones = np.ones(4)
    _, slope = contad.jvp(lambda x: x * contad.jvp(lambda y: x * y, (ones,), (ones,))[1], (POINT,), (ones,))
    close(slope, 2 * POINT)
    close(contad.jvp(grad(lambda x: np.sum(x * x * POINT)), (POINT,), (ones,))[1], 2 * POINT)


def third(f, engine):
    """The gradient of a contraction of the gradient of a contraction of the gradient."""

    def contracted(h, weights):
        return lambda x: np.sum(contad.grad(h, engine=engine)(x) * weights)

    return contad.grad(contracted(contracted(f, POINT), POINT**2), engine=engine)


@pytest.mark.parametrize("name", ["swap", "constant_buffer_rewritten", "masks_and_fancy_indices", "new_axes"])
def test_third_order(name):
    f = PROGRAMS[name]
    np.testing.assert_allclose(third(f, "matrix")(POINT), third(f, "records")(POINT), rtol=1e-10, atol=1e-12)


OUTER_IN_INNER = """
import sys
import numpy as np
import contad

x4, z4 = np.array([0.3, 0.7, 1.1, -0.4]), np.array([1.3, -0.7, 0.2, 0.9])

def array(z, x):
    w = np.zeros_like(z)
    w[:] = x
    return np.sum(w * z * z)

def rows(z, x):
    w = np.zeros_like(z, shape=(3, 4))
    w[0], w[1, 1:] = z, x[1:]
    return np.sum(w[0] * w[1] * z + w[2] * z + np.dot(w[1], w[1]))

def scalars(z, x):
    w = contad.zeros(4)
    w[1], w[2:], w[0] = x[0], x[2:] * x[0], z[0]
    return np.sum(w * w * z)

def into_the_argument(z, x):
    z[0] = x[1]
    z[1:3] = x[2:]
    return np.sum(z * z * np.arange(1.0, 5.0)) * z[3]

def constant_rows(z, x):
    h = contad.zeros((3, 4))
    h[0] = z
    return np.sum(h[0] * h[2] * x + h[0] ** 2 * x)

def both(f, inner, outer):
    return contad.grad(lambda x: np.sum(contad.grad(lambda z: f(z, x), engine=inner)(z4 * x) * x), engine=outer)(x4)

for f in (array, rows, scalars, into_the_argument, constant_rows):
    wanted = both(f, "records", "records")
    for engines in (("matrix", "matrix"), ("matrix", "records")):
        got = both(f, *engines)
        assert np.allclose(got, wanted, rtol=1e-12, atol=1e-14), (f.__name__, engines, got, wanted)
"""


def test_arrays_of_outer_levels_are_constants_of_inner_ones():
    done = subprocess.run(
        [sys.executable, "-c", OUTER_IN_INNER], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


INNER_IN_OUTER = {
    "element": lambda w, z: w.__setitem__(0, z[0]),
    "array": lambda w, z: w.__setitem__(slice(None), z),
    "view": lambda w, z: w[1:].__setitem__(slice(None), z[:3]),
    "list of numbers": lambda w, z: w.__setitem__(slice(0, 2), [z[0], 1.0]),
    "object array": lambda w, z: w.__setitem__(slice(0, 2), np.array([z[0], z[1]], dtype=object)),
    "list of arrays": lambda w, z: w.reshape(2, 2).__setitem__(slice(None), [z[:2], z[2:]]),
    "fill": lambda w, z: w.fill(z[0]),
    "out": lambda w, z: np.add(w, z, out=w),
    "in place": lambda w, z: w.__iadd__(z),
    "copyto": lambda w, z: np.copyto(w, z),
    "put": lambda w, z: np.put(w, [0], z[0]),
}


@pytest.mark.parametrize("way", INNER_IN_OUTER)
@pytest.mark.parametrize("inner", ["reverse", "forward"])
def test_numbers_of_inner_levels_cannot_be_stored_in_outer_arrays(way, inner):
    def f(x):
        w = np.zeros_like(x)

        def h(z):
            with refused(NestingError, match=r"create the array inside, with contad\.zeros"):
                INNER_IN_OUTER[way](w, z)
            return np.sum(z * w)

        if inner == "reverse":
            grad(h)(POINT)
        else:
            contad.jvp(h, (POINT,), (POINT,))
        return np.sum(w + x)

    close(grad(f)(POINT), np.ones(4))


# ---- stale variables, threads, levels left open ----------------------------------------------------------------------
USES = {
    "value": lambda x: x.value,
    "adjoints": lambda x: x.adj,
    "operator": lambda x: x + 1,
    "reflected": lambda x: 2.0 - x,
    "itself": lambda x: x * x,
    "ufunc": lambda x: np.exp(x),
    "function": lambda x: np.sum(x),
    "product": lambda x: x @ x,
    "element": lambda x: x[0],
    "last element": lambda x: x[-1],
    "slice": lambda x: x[1:],
    "mask": lambda x: x[np.array([True, False, True])],
    "transpose": lambda x: x.T,
    "reshape": lambda x: x.reshape(-1, 1),
    "iteration": list,
    "unpacking": lambda x: [*x],
    "tolist": lambda x: x.tolist(),
    "copy": lambda x: x.copy(),
    "concatenate": lambda x: np.concatenate([x, x]),
    "where": lambda x: np.where(np.array([True, False, True]), x, 0.0),
    "zeros_like": lambda x: np.zeros_like(x),
    "assignment": lambda x: x.__setitem__(0, 1.0),
    "in place": lambda x: x.__iadd__(1.0),
    "comparison": lambda x: x > 0.0,
    "equality": lambda x: x == 1.0,
    "contains": lambda x: 1.0 in x,
    "argmax": lambda x: np.argmax(x),
    "any": lambda x: np.any(x),
    "astype": lambda x: x.astype(bool),
    "sort": lambda x: x.sort(),
    "value_of": contad.value_of,
    "value_of_rec": contad.value_of_rec,
    "primal": contad.primal,
    "to_matvar": contad.to_matvar,
    "inside grad": lambda x: grad(lambda t: np.sum(t * x))(POINT[:3]),
    "as an argument": lambda x: grad(lambda t: np.sum(t * t))(x),
    "inside jvp": lambda x: contad.jvp(lambda t: np.sum(t * x), (POINT[:3],), (POINT[:3],)),
}
KINDS = {
    "argument": lambda x: x,
    "result": lambda x: x * 1.0,
    "view": lambda x: x[::-1],
    "written": lambda x: written(x),
}


def written(x):
    y = np.zeros_like(x)
    y[0] = x[1]
    return y


def leaked(kind):
    """An array variable of a call that has ended, in buffers that another call has overwritten."""
    kept = []
    grad(lambda x: kept.append(KINDS[kind](x)) or np.sum(x * x))(POINT[:3])
    grad(lambda x: np.sum(np.exp(x) * x))(np.linspace(5.0, 7.0, 30))
    return kept[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("use", USES)
def test_a_stale_array_is_a_named_error(use, kind):
    x = leaked(kind)
    with pytest.raises(StaleVariableError, match="its gradient call has ended"):
        USES[use](x)


def test_printing_a_stale_array_shows_no_numbers_of_another_call():
    x = leaked("argument")
    try:
        shown = repr(x)
    except StaleVariableError:
        return
    assert "5." not in shown


@pytest.mark.parametrize("use", [use for use in USES if use != "adjoints"])
def test_an_array_of_another_thread_is_a_named_error(use, level):
    x = contad.var(POINT[:3])
    caught = []

    def run():
        try:
            USES[use](x)
        except Exception as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    with attempt():  # the level remembers what its numbers raise on any thread
        thread.start()
        thread.join()
    assert caught
    assert isinstance(caught[0], OtherThreadError), caught
    close(level.gradient(np.sum(x[:1]), []), [])


def test_stale_array_duals_are_named_errors():
    kept = []
    contad.jvp(lambda x: kept.append(x) or np.sum(x * x), (POINT,), (POINT,))
    for use in (lambda x: x + 1, lambda x: np.sum(x), lambda x: x.value, lambda x: x.__setitem__(0, 1.0)):
        with pytest.raises(StaleVariableError, match="its jvp call has ended"):
            use(kept[0])


def test_threads_have_their_own_stacks():
    found = {}

    def run(k):
        f = list(PROGRAMS.values())[k]
        found[k] = all(np.array_equal(grad(f)(POINT), grad(f)(POINT)) for _ in range(20)) and grad(f)(POINT)

    workers = [threading.Thread(target=run, args=(k,)) for k in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for k, f in enumerate(itertools.islice(PROGRAMS.values(), 6)):
        close(found[k], complex_steps(f, POINT))


def test_a_level_left_open_by_a_generator():
    def generated():
        with opened(MatrixStack):
            yield contad.zeros(4)

    left = generated()

    def f(x):
        w = next(left)
        with refused(NestingError):
            x[0] = contad.var(1.0)
        assert np.shape(w + 1.0) == (4,)
        return np.sum(x * x)

    close(grad(f)(POINT), 2 * POINT)
    left.close()
    close(grad(swap)(POINT), complex_steps(swap, POINT))


# ---- the low-level interface -----------------------------------------------------------------------------------------
def test_gradient_takes_arrays_and_reads_their_present_cells(level):
    x = contad.var(POINT)
    x[0] = 5.0
    x[1] = x[2]
    y = np.sum(x * x)
    (slope,) = contad.gradient(y, [x])
    close(slope, [0.0, 4 * POINT[2], 4 * POINT[2], 2 * POINT[3]])  # cell 0 reads 0; both readers of a cell its sum
    s = contad.var(2.0)
    slopes = contad.gradient(np.sum(x * s), [s, x[3:], x])
    close(slopes[0], np.sum(x.value))
    close(slopes[1], [2.0])
    close(slopes[2], [0.0, 4.0, 4.0, 2.0])


def test_adjoints_of_arrays(level):
    x = contad.var(POINT)
    v = x[::-1]
    y = np.sum(x * x * np.arange(4.0))
    level.run_sweep([(y.index, 1.0)])
    close(x.adj, 2 * POINT * np.arange(4.0))
    close(v.adj, x.adj[::-1])
    close((x * 2.0).adj, np.zeros(4))  # newer than the sweep
    contad.set_zero_adjoints()
    close(x.adj, np.zeros(4))
    with refused(ForeignVariableError):
        contad.gradient(y, [1.0])


def test_the_adjoint_of_constants_reads_zero(level):
    x = contad.var(POINT)
    w = np.zeros_like(x)
    w[1] = x[0]
    y = np.sum(w * x + w * w)  # the gathered elements of w pass adjoints on to the sink
    level.run_sweep([(y.index, 1.0)])
    assert w.adj[0] == w.adj[2] == w.adj[3] == 0.0
    assert w.adj[1] == x.adj[0]


def test_callbacks_on_arrays(level):
    x = contad.var(POINT)
    z = contad.var(POINT**2)
    seen = []

    def continuation(adj):
        seen.append(adj[z])
        adj.add(x, adj[z] * 2.0 * x.value)
        adj.add(x[1:], np.ones(3))

    contad.reverse_pass_callback(continuation)
    y = np.sum(z * np.arange(4.0))
    for _ in range(2):
        level.run_sweep([(y.index, 1.0)])
        close(x.adj, 2 * POINT * np.arange(4.0) + np.array([0.0, 1.0, 1.0, 1.0]))
    close(seen[0], np.arange(4.0))


def test_a_callback_adds_to_repeated_cells(level):
    x = contad.var(POINT)
    repeated = x[[0, 0, 2]]
    contad.reverse_pass_callback(lambda adj: adj.add(repeated, np.array([1.0, 10.0, 100.0])))
    level.run_sweep([((contad.var(1.0) * 2.0).index, 1.0)])
    close(x.adj, [11.0, 0.0, 100.0, 0.0])


def test_a_callback_adds_arrays_of_an_outer_level():
    def f(w):
        def h(x):
            y = np.zeros_like(x)
            y[0], y[2] = x[1], x[1]  # one cell twice, and constants
            z = contad.var(contad.value_of(x) ** 2)
            contad.reverse_pass_callback(lambda adj: adj.add(y, adj[z] * w * w))
            return np.sum(z * np.arange(1.0, 5.0) * x)

        return np.sum(grad(h)(POINT) * np.arange(2.0, 6.0))

    # y_bar = w^2 k x, the part of x[1] is y_bar[0] + y_bar[2]
    wanted = 3.0 * 2 * POINT * np.array([1.0, 0.0, 3.0, 0.0]) * POINT
    close(grad(f)(POINT), wanted)


def test_a_callback_adds_arrays_of_the_right_shape_only(level):
    x = contad.var(POINT)
    contad.reverse_pass_callback(lambda adj: adj.add(x, np.ones(3)))
    with refused(ValueError, match=r"adj\.add: v must have the shape of x, \(4,\), got \(3,\)"):
        level.run_sweep([((contad.var(1.0) * 2.0).index, 1.0)])


READS_IN_CALLBACKS = {
    "adjoint": lambda adj, x, v: adj[x],
    "adjoint of a view": lambda adj, x, v: adj[v],
    "add": lambda adj, x, v: adj.add(x, np.ones(4)),
    "value": lambda adj, x, v: x.value,
    "value of a view": lambda adj, x, v: v.value,
}


@pytest.mark.parametrize("read", READS_IN_CALLBACKS)
def test_a_callback_cannot_use_an_array_written_after_it(read, level):
    x = contad.var(POINT)
    v = x[1:]
    contad.reverse_pass_callback(lambda adj: READS_IN_CALLBACKS[read](adj, x, v))
    v[0] = 3.0
    y = contad.var(1.0) * 2.0
    with refused(StaleVariableError, match=r"x was written after this callback was pushed; capture x\.copy\(\)"):
        level.run_sweep([(y.index, 1.0)])


def test_a_callback_may_use_an_array_written_before_it(level):
    x = contad.var(POINT)
    x[0] = x[1] * 2.0
    contad.reverse_pass_callback(lambda adj: adj.add(x, np.ones(4)))
    level.run_sweep([((contad.var(1.0) * 2.0).index, 1.0)])
    close(x.adj, [1.0, 3.0, 1.0, 1.0])  # x[0] is twice x[1]


def test_a_callback_may_use_arrays_of_its_own(level):
    x = contad.var(POINT)
    z = contad.var(POINT**2)

    def continuation(adj):
        y = np.zeros_like(x)
        y[0] = 1.0
        w = x * 2.0
        w[1] = 0.0
        adj.add(x, adj[z] * y.value + w.value)

    contad.reverse_pass_callback(continuation)
    y = np.sum(z * np.arange(1.0, 5.0))
    for _ in range(2):
        level.run_sweep([(y.index, 1.0)])
        close(x.adj, [1.0 + 2 * POINT[0], 0.0, 2 * POINT[2], 2 * POINT[3]])


def test_a_callback_variable_that_is_an_array(level):
    x = contad.var(POINT)
    z = contad.make_callback_var(POINT**2, lambda z, adj: adj.add(x, adj[z] * 2.0 * x.value))
    assert np.array_equal(z.value, POINT**2)
    level.run_sweep([(np.sum(z * z[::-1]).index, 1.0)])
    close(x.adj, 4 * POINT * POINT[::-1] ** 2)


def test_memory_is_recovered():
    with contad.nested():
        pass  # the base stack's engine may have no arrays of its own
    with opened(MatrixStack):
        x = contad.var(POINT)
        with contad.nested():
            y = contad.var(POINT) * x
            assert np.shape(y) == (4,)
        with refused(StaleVariableError, match="nested level has been recovered"):
            y + 1.0
        close(x.value, POINT)
    with refused(StaleVariableError):
        x + 1.0


# ---- what leaves the library -----------------------------------------------------------------------------------------
def test_what_leaves_the_library_is_owned_by_the_caller():
    def f(x):
        y = x * 2.0
        v = y[1:]
        x[0] = 7.0
        return np.sum(y * y), {"x": x, "y": y, "v": v, "element": y[0], "list": [y.T, 3.0]}

    slope, aux = grad(f, has_aux=True)(POINT)
    kept = slope.copy(), {key: np.copy(aux[key]) for key in "xyv"}
    close(aux["x"], np.append(7.0, POINT[1:]))
    assert type(aux["element"]) is float
    for a in (slope, aux["x"], aux["y"], aux["v"], aux["list"][0]):
        assert type(a) is np.ndarray
        assert a.flags.owndata
        assert a.flags.writeable
    grad(lambda x: np.sum(np.exp(x)))(np.linspace(3.0, 4.0, 50))
    aux["y"][0] = 99.0  # aliases nothing
    assert np.array_equal(slope, kept[0])
    assert np.array_equal(aux["x"], kept[1]["x"])
    assert np.array_equal(aux["v"], kept[1]["v"])


def test_gradients_do_not_change_after_the_next_call():
    value, pullback = vjp(lambda x: x * x, POINT)
    found = [grad(swap)(POINT), jacobian(written_result)(POINT), value, pullback(POINT)[0]]
    kept = [a.copy() for a in found]
    for _ in range(3):
        grad(lambda x: np.sum(np.exp(x)))(np.linspace(3.0, 4.0, 50))
        pullback(POINT * 2.0)
    for a, b in zip(found, kept, strict=True):
        assert np.array_equal(a, b)
        assert a.flags.writeable


def test_aux_is_lowered_by_one_level():
    kept = []

    def inner(z, x):
        slope, aux = grad(lambda z: (np.sum(z * z * x), z * x), has_aux=True)(z)
        kept.append(aux)
        return np.sum(slope * aux)

    close(grad(lambda x: inner(POINT, x))(POINT), 4 * POINT**3)
    assert isinstance(kept[0], contad.variables.array.Array)


# ---- random indices --------------------------------------------------------------------------------------------------
SHAPES = arrays.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4)


@st.composite
def indexings(draw):
    """A shape, and two indices into an array of it."""
    shape = draw(SHAPES)
    basic = arrays.basic_indices(shape, allow_ellipsis=True, allow_newaxis=True)
    integers = arrays.integer_array_indices(shape, result_shape=arrays.array_shapes(max_dims=2, max_side=3))
    masks = arrays.arrays(bool, shape)
    return shape, draw(st.one_of(basic, integers, masks)), draw(st.one_of(basic, integers, masks))


@given(indexings(), st.booleans())
def test_random_reads_and_writes_follow_numpy(indexing, through_a_view):
    shape, first, second = indexing
    point = np.linspace(-0.9, 1.3, int(np.prod(shape))).reshape(shape)

    def f(x):
        y = x * x
        v = y[::-1] if through_a_view else y
        read = v[first]
        s = np.sum(read * read) + np.sum(read)
        v[second] = v[second] * 1.5 + x.reshape(-1)[0]
        y[first] = 2.0 * y[first]
        v[second] -= 0.25
        return s + np.sum(y * y * x) + np.sum(v[first] ** 3) + np.sum(read)

    slope = grad(f)(point)
    close(slope, complex_steps(f, point))
    close(contad.jvp(f, (point,), (point,))[1], np.sum(slope * point))
    products = (
        contad.jvp(grad(f), (point,), (point,))[1],
        grad(lambda x: contad.jvp(f, (x,), (point,))[1])(point),
        grad(lambda x: np.sum(grad(f)(x) * point))(point),
    )
    for product in products:
        np.testing.assert_allclose(product, products[0], rtol=1e-10, atol=1e-12)


@given(arrays.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=3))
def test_random_broadcasts_follow_numpy(shapes):
    a, b, c = (np.linspace(0.4 + k, 1.9, int(np.prod(s))).reshape(s) for k, s in enumerate(shapes.input_shapes))

    def f(x):
        y = x * b + np.hypot(c, 0.5) / (x + b)
        z = np.zeros_like(x, shape=shapes.result_shape)
        z[...] = x
        z += y
        return np.sum(z * z * c)

    def continued(x):
        y = x * b + np.sqrt(c * c + 0.25) / (x + b)
        z = np.zeros_like(x, shape=shapes.result_shape)
        z[...] = x
        z += y
        return np.sum(z * z * c)

    close(grad(f)(a), complex_steps(continued, a))


def test_an_array_shortened_many_times():
    def f(x):
        s = 0.0
        while len(x):
            s = s + x[0] * x[-1]
            x = x[1:]
        return s

    x = np.linspace(0.1, 0.9, 3000)
    wanted = x[-1] + np.zeros(3000)
    wanted[-1] += np.sum(x)
    close(grad(f)(x), wanted)


def test_zeros_of_either_sign_are_different_constants():
    c = np.array([0.0, 1.0])

    def f(x):
        y = np.arctan2(x, c)  # at x = 0: the partial is the same, but a quotient sees the sign
        z = x / c
        c[0] = -0.0
        return np.sum((x / c)[:1]) + 0.0 * np.sum(y[1:]) + np.sum(z[1:])

    with np.errstate(all="ignore"):
        assert grad(f)(np.array([1.0, 1.0]))[0] == -np.inf


def test_results_of_constants_written_into_a_variable_have_the_layout_that_numpy_gives_them():
    written = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    def f(a):
        y = np.flip(a * 1.0, axis=0)
        np.flip(y)[:, ...] = written  # now y holds constants only, its rows still backwards in memory
        b = np.cumsum(y.T, axis=0)
        c = b.ravel()  # a copy, as b is in Fortran order
        b[0, 1] = 70.0
        return np.sum(c * np.arange(6.0)) + np.sum(a)

    value, gradient = contad.value_and_grad(f)(written)
    assert value == f(written) == 84.0 + 21.0
    np.testing.assert_array_equal(gradient, np.ones((3, 2)))


def test_a_result_fills_a_larger_out_as_in_numpy():
    def f(p, q):
        z = np.zeros((2, 3))
        np.multiply(p, 2.0, out=z[:, :1])
        np.multiply(q, p, out=z[:, 1:])
        return np.sum(z * np.arange(1.0, 7.0).reshape(2, 3)) * z[1, 2]

    p, q = 1.5, np.array([0.3, 0.7])
    found = contad.grad(f, (0, 1))(p, q)
    assert f(p, q) == contad.value_and_grad(f, (0, 1))(p, q)[0]
    h = 1e-6
    assert found[0] == pytest.approx((f(p + h, q) - f(p - h, q)) / (2 * h), rel=1e-8)
    for k, e in enumerate(np.eye(2) * h):
        assert found[1][k] == pytest.approx((f(p, q + e) - f(p, q - e)) / (2 * h), rel=1e-8)


@pytest.mark.parametrize("shape", [(3,), (2,), ()])
def test_a_result_that_does_not_fit_out_is_refused(shape):
    def f(x):
        z = np.zeros(shape)
        np.multiply(x, 2.0, out=z)
        return np.sum(z)

    x = np.ones((1, 3))
    with pytest.raises(ValueError):
        f(x)
    with pytest.raises(ValueError, match=rf"np.multiply: out must have shape \(1, 3\), got {re.escape(str(shape))}"):
        contad.grad(f)(x)


def test_results_lie_in_memory_as_numpys_at_every_call():
    """Which decides whether a part of a result is a view of it; a rule's second call may take a shorter way."""

    def f(x):
        taken = np.take(x * 1.0, [-1, 0, 0], axis=1)
        z = np.cumsum(taken.T, axis=0)
        flat = z.T.reshape(-1)
        z[-1, 0, 1] = 7.0
        return np.sum(flat * np.arange(12.0))

    x = np.linspace(-1.0, 2.0, 4).reshape(2, 1, 2)
    for _ in range(3):
        assert contad.value_and_grad(f)(x)[0] == pytest.approx(f(x), rel=1e-14)
