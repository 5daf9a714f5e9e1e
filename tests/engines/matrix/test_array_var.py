"""Array variables behave as ndarrays do: views alias, assignments overwrite, and derivatives follow, at every order.

Each program runs on NumPy itself with complex steps, which share nothing with contad, and on object arrays of scalar
variables, where NumPy supplies the meaning of views and assignments.
"""

import functools
import re

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays

import contad
from contad.errors import (
    LostDerivativeError,
    NestingError,
    OutputError,
    OverlapError,
    StaleVariableError,
    UnsupportedError,
)
from tests.engines.matrix.array_programs import (
    INNER_AND_OUTER,
    POINT,
    TABLE,
    VIEWS,
    WRITES,
    close,
    complex_steps,
    written_result,
)
from tests.judges.refusals import refused

SECOND_ORDER_ON_OBJECTS = {"views of views", "in place on views"}  # where object arrays refuse `a += v`
SWAP = WRITES["swap"]

grad = functools.partial(contad.grad, engine="matrix")
jacobian = functools.partial(contad.jacobian, engine="matrix")
vjp = functools.partial(contad.vjp, engine="matrix")
on_records = functools.partial(contad.grad, engine="records")


# ---- programs --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", WRITES)
def test_a_program_has_the_gradient_of_numpy(name):
    f = WRITES[name]
    x = POINT.copy()
    value, slope = contad.value_and_grad(f, engine="matrix")(x)
    assert np.array_equal(x, POINT)  # the caller's array is never written
    close(value, f(POINT.copy()))
    close(slope, complex_steps(f, POINT))
    close(slope, grad(f)(x))  # buffers that have been used before
    assert np.max(np.abs(slope)) > 1e-3
    if name not in SECOND_ORDER_ON_OBJECTS:
        close(slope, on_records(f)(x))


@pytest.mark.parametrize("name", WRITES)
def test_a_program_has_the_same_derivative_in_forward_mode(name):
    f = WRITES[name]
    slopes = [contad.jvp(f, (POINT,), (v,))[1] for v in np.eye(4)]
    close(slopes, complex_steps(f, POINT))


@pytest.mark.parametrize("name", VIEWS)
def test_views_and_copies_are_those_of_numpy(name):
    f = VIEWS[name]
    value, slope = contad.value_and_grad(f, engine="matrix")(TABLE)
    close(value, f(TABLE.copy()))
    close(slope, complex_steps(f, TABLE))
    close([contad.jvp(f, (TABLE,), (v.reshape(2, 3),))[1] for v in np.eye(6)], complex_steps(f, TABLE).ravel())


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


@pytest.mark.parametrize("name", WRITES)
def test_a_program_has_one_hessian(name):
    f = WRITES[name]
    here = hessians(f, POINT)
    reference = here["forward over forward"]()
    assert np.allclose(reference, reference.T, rtol=1e-10, atol=1e-12)
    if name not in SECOND_ORDER_ON_OBJECTS:
        close(reference, contad.jacobian(on_records(f), engine="records")(POINT))
    for nesting in ON_ARRAYS if name in SECOND_ORDER_ON_OBJECTS else NESTINGS:
        np.testing.assert_allclose(here[nesting](), reference, rtol=1e-10, atol=1e-12, err_msg=nesting)


# ---- several sweeps --------------------------------------------------------------------------------------------------
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
        close(grad(SWAP)(POINT), complex_steps(SWAP, POINT))
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
    with refused(OutputError, match="got a complex one"):
        grad(lambda x: np.sum(x * np.array([1j, 2, 3, 4])))(POINT)
    with refused(UnsupportedError):
        grad(lambda x: np.sum(x * np.array(["a", "b", "c", "d"])))(POINT)


@pytest.mark.parametrize("value", [1j, "a", None, np.array([1j, 2])])
def test_assigned_values_are_real(value):
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


@pytest.mark.parametrize("name", ["swap", "constant buffer rewritten", "masks and fancy indices", "new axes"])
def test_third_order(name):
    f = WRITES[name]
    np.testing.assert_allclose(third(f, "matrix")(POINT), third(f, "records")(POINT), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("engines", [("matrix", "matrix"), ("matrix", "records")])
@pytest.mark.parametrize("name", INNER_AND_OUTER)
def test_arrays_of_outer_levels_are_constants_of_inner_ones(name, engines):
    f, direction = INNER_AND_OUTER[name], np.array([1.3, -0.7, 0.2, 0.9])

    def both(inner, outer):
        def along(x):
            return np.sum(contad.grad(lambda z: f(z, x), engine=inner)(direction * x) * x)

        return contad.grad(along, engine=outer)(POINT)

    np.testing.assert_allclose(both(*engines), both("records", "records"), rtol=1e-12, atol=1e-14)


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
