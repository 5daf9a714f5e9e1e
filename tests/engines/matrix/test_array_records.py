"""What a recording keeps is its own: later assignments, by the caller or by an outer level, change no derivative.

References are complex steps and differences of the same functions on NumPy arrays, which share nothing with contad.
"""

import collections
import contextlib
import gc
import re
import threading

import numpy as np
import pytest

import contad
from contad.engines import engine_names
from contad.engines.matrix.array_var import ArrayVar
from contad.engines.matrix.matrix_stack import MatrixStack
from contad.engines.stream import storage
from contad.errors import LostDerivativeError, RuleError, StaleVariableError, UnsupportedError
from contad.rules.array_rule import array_rule, array_rule_of
from contad.variables.stack import THREAD, opened

POINT = np.array([0.3, 0.7, 1.1, 0.4])
CONSTANTS = np.array([1.3, 2.0, 0.6, 1.7])
WEIGHTS = np.array([2.0, -1.0, 0.5, 3.0])
STEP = 1e-40
ENGINES = engine_names()
REVERSE = ("matrix", "records")


@pytest.fixture(autouse=True)
def no_level_is_left_open():
    yield
    assert len(THREAD.open) <= 1
    assert not THREAD.forward


@pytest.fixture
def level():
    with opened(MatrixStack) as s:
        yield s


@pytest.fixture
def no_pools(monkeypatch):
    """This thread's pools of buffers, empty for the test."""
    monkeypatch.setattr(THREAD, "pools", {})
    return THREAD.pools


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


def complex_steps(f, x):
    """The gradient by complex steps: exact to rounding."""
    slope = np.empty(x.shape)
    for k in np.ndindex(x.shape):
        z = x.astype(complex)
        z[k] += STEP * 1j
        slope[k] = np.imag(f(z)) / STEP
    return slope


def differences(f, x, h=1e-5):
    """The gradient by differences, of an error of about h**4."""
    slope = np.empty(x.shape)
    for k in np.ndindex(x.shape):
        e = np.zeros(x.shape)
        e[k] = h
        slope[k] = (8 * (f(x + e) - f(x - e)) - (f(x + 2 * e) - f(x - 2 * e))) / (12 * h)
    return slope


# ---- constants -------------------------------------------------------------------------------------------------------
FORMS = {
    "elementwise": lambda x, c: np.sum(x * x * c),
    "reflected": lambda x, c: np.sum(c / x),
    "broadcast": lambda x, c: np.sum(x[:, None] * c * x),
    "three axes": lambda x, c: np.sum((x[:, None, None] * c[None, :, None] / (x + c)) ** 2),
    "dot": lambda x, c: (x @ c) * (c @ x),
    "matrices": lambda x, c: np.sum((c.reshape(2, 2) @ x.reshape(2, 2)) ** 2),
    "transposed matrices": lambda x, c: np.sum((x.reshape(2, 2).T @ c.reshape(2, 2).T) ** 2),
    "power": lambda x, c: np.sum(x**c),
    "exponent": lambda x, c: np.sum(c**x),
    "view": lambda x, c: np.sum((x * c[::-1]) ** 2) + np.sum(x * c[0]),
    "outer product": lambda x, c: np.sum(np.outer(x, c) @ x),
    "einsum": lambda x, c: np.einsum("i,i,i->", x, x, c) + np.sum(np.einsum("i,j->ij", x, c) ** 2),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", FORMS)
def test_constants_may_be_written_after_use(name, engine):
    form = FORMS[name]

    def f(x):
        c = CONSTANTS.copy()
        y = form(x, c)
        c[:] = 100.0
        return y

    close(contad.grad(f, engine=engine)(POINT), complex_steps(lambda x: form(x, CONSTANTS), POINT))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", FORMS)
def test_constants_may_be_written_before_the_pullback_is_called(name, engine):
    c = CONSTANTS.copy()
    _, pullback = contad.vjp(lambda x: FORMS[name](x, c), POINT, engine=engine)
    c[:] = 100.0
    wanted = complex_steps(lambda x: FORMS[name](x, CONSTANTS), POINT)
    for _ in range(2):
        close(pullback(1.0)[0], wanted)


def outer_reference(form):
    """d/dw of the weighted gradient of form(x, w)."""
    return differences(lambda w: WEIGHTS @ complex_steps(lambda x: form(x, w), POINT), CONSTANTS)


def in_every_mode(outer, x):
    """The gradient of a function that differentiates inside, by every engine outside and in forward mode."""
    found = {engine: contad.grad(outer, engine=engine)(x) for engine in REVERSE}
    found["jvp"] = [contad.jvp(outer, (x,), (v,))[1] for v in np.eye(x.size)]
    return found


@pytest.mark.parametrize("name", FORMS)
def test_arrays_of_outer_levels_may_be_written_after_use(name):
    form = FORMS[name]

    def outer(w):
        c = w * 1.0

        def inner(x):
            y = form(x, c)
            c[0] = 100.0
            return y

        return np.sum(contad.grad(inner, engine="matrix")(POINT) * WEIGHTS)

    for mode, slope in in_every_mode(outer, CONSTANTS).items():
        np.testing.assert_allclose(slope, outer_reference(form), rtol=1e-8, err_msg=mode)


@pytest.mark.parametrize("name", FORMS)
def test_arrays_of_outer_levels_may_be_written_before_the_pullback_is_called(name):
    def outer(w):
        c = w * 1.0
        _, pullback = contad.vjp(lambda x: FORMS[name](x, c), POINT, engine="matrix")
        c[:] = 100.0
        return np.sum(pullback(1.0)[0] * WEIGHTS)

    for mode, slope in in_every_mode(outer, CONSTANTS).items():
        np.testing.assert_allclose(slope, outer_reference(FORMS[name]), rtol=1e-8, err_msg=mode)


@pytest.mark.parametrize("inner_engine", ENGINES)
def test_object_arrays_of_outer_numbers_may_be_written_after_use(inner_engine):
    forms = {
        "product": lambda x, c: np.sum(x * c),
        "rule": lambda x, c: np.sum(array_rule_of("matmul")(c.reshape(2, 2), x.reshape(2, 2)) * x[0]),
    }
    for form in forms.values():

        def outer(w, form=form):
            c = np.empty(4, object)
            c[:] = [w[k] * 1.0 for k in range(4)]

            def inner(x):
                y = form(x, c)
                c[0] = 100.0
                return y

            return np.sum(contad.grad(inner, engine=inner_engine)(POINT) * WEIGHTS)

        plain = {"product": forms["product"], "rule": lambda x, c: np.sum(c.reshape(2, 2) @ x.reshape(2, 2) * x[0])}
        wanted = outer_reference(plain["product" if form is forms["product"] else "rule"])
        for mode, slope in in_every_mode(outer, CONSTANTS).items():
            np.testing.assert_allclose(slope, wanted, rtol=1e-8, err_msg=mode)


def test_a_work_buffer_of_an_outer_level():
    def slope_of_the_inner(x):
        b = contad.zeros(3)

        def h(y):
            s = 0.0
            for k in range(3):
                b[k] = x[k] * (k + 1)
                s = s + np.sum(y * y * b)
            return s

        return np.sum(contad.grad(h, engine="matrix")(np.array([1.0, 2.0, 3.0])))

    # h is the sum of (3 - k) (k + 1) x_k y_k^2
    for mode, slope in in_every_mode(slope_of_the_inner, np.array([0.5, -1.2, 2.0])).items():
        np.testing.assert_allclose(slope, [6.0, 16.0, 18.0], rtol=1e-12, err_msg=mode)


# ---- options ---------------------------------------------------------------------------------------------------------
@pytest.fixture
def scaled():
    """x * by, with an array as an option."""

    @array_rule(linear=("a",))
    def scaled_by_an_option(a, *, by):
        return a * by

    @scaled_by_an_option.vjp("a")
    def scaled_by_an_option_vjp_a(z, z_bar, a, *, by):
        return z_bar * by

    return scaled_by_an_option


@pytest.mark.parametrize("kind", [np.array, list, lambda v: (np.array(v),), lambda v: [np.array(v)]])
@pytest.mark.parametrize("engine", ENGINES)
def test_options_may_be_written_after_use(engine, kind, scaled):
    by = kind(CONSTANTS)
    inside = by if len(by) == 4 else by[0]

    @array_rule(linear=("a",))
    def scaled_by_a_container(a, *, by):
        return a * np.reshape(by, 4)

    @scaled_by_a_container.vjp("a")
    def scaled_by_a_container_vjp_a(z, z_bar, a, *, by):
        return z_bar * np.reshape(by, 4)

    rule = scaled if kind is np.array else scaled_by_a_container
    _, pullback = contad.vjp(lambda x: np.sum(rule(x, by=by) * x), POINT, engine=engine)
    for k in range(4):
        inside[k] = 100.0
    close(pullback(1.0)[0], 2 * POINT * CONSTANTS)


def interpolated(x, i, b):
    y = np.interp(np.array([0.5, 1.5, 1.7]), b, x)
    b *= 10.0
    return np.sum(y * y)


def interpolated_at(x, i, b):
    y = np.interp(x, b, CONSTANTS)
    b *= 10.0
    return np.sum(y * y)


def counted(x, i, b):
    y = np.bincount(i, x)
    i[:] = 1
    return np.sum(y * y)


def summed_in_logs(x, i, b):
    y = contad.logsumexp(x, b=b + 1.0)
    z = contad.logsumexp(x, b=b)
    b[:] = 1.0
    return y * z


def taken(x, i, b):
    y = np.take(x, i)
    i[:] = 2
    return np.sum(y * y * WEIGHTS)


def averaged(x, i, b):
    y = np.average(x * x, weights=b + 1.0)
    z = np.average(x * x, weights=b)
    b[:] = 7.0
    return y * z


def differenced(x, i, b):
    y = np.gradient(x * x, b)
    b *= 3.0
    return np.sum(y * y)


@pytest.mark.parametrize(
    "f",
    [interpolated, interpolated_at, counted, summed_in_logs, taken, averaged, differenced],
    ids=lambda f: f.__name__,
)
def test_arrays_in_options_of_numpy_may_be_written_after_use(f):
    def of_arrays(x):
        return f(x, np.array([0, 2, 0, 1]), np.array([0.0, 1.0, 2.0, 3.0]))

    def plain(x):
        if f is not summed_in_logs:
            return of_arrays(x)
        b = np.arange(4.0)
        return np.log(np.sum(b * np.exp(x))) * np.log(np.sum((b + 1) * np.exp(x)))

    np.testing.assert_allclose(contad.grad(of_arrays, engine="matrix")(POINT), differences(plain, POINT), rtol=1e-8)


# ---- rules get nothing that they could write to ----------------------------------------------------------------------
def writing(body):
    """A rule that writes to its constant argument, in its value or in its forward body."""

    @array_rule
    def writes_to_its_argument(a, b):
        if body == "value":
            b[0] = -1.0
        return a * b

    if body == "forward":

        @writes_to_its_argument.forward
        def writes_to_its_argument_forward(a, b):
            b[0] = -1.0
            return a * b, None

    @writes_to_its_argument.vjp("a")
    def writes_to_its_argument_vjp_a(z, z_bar, a, b, saved=None):
        return z_bar * b

    @writes_to_its_argument.jvp
    def writes_to_its_argument_jvp(z, a_dot, b_dot, a, b, saved=None):
        return a_dot * b

    return writes_to_its_argument


def writing_to_what_no_vjp_needs(body):
    """The same, of a sum."""

    @array_rule
    def writes_to_its_addend(a, b):
        if body == "value":
            b[0] = -1.0
        return a + b

    if body == "forward":

        @writes_to_its_addend.forward
        def writes_to_its_addend_forward(a, b):
            b[0] = -1.0
            return a + b, None

    @writes_to_its_addend.vjp("a")
    def writes_to_its_addend_vjp_a(z, z_bar, a, b, saved=None):
        return 1.0 * z_bar

    @writes_to_its_addend.jvp
    def writes_to_its_addend_jvp(z, a_dot, b_dot, a, b, saved=None):
        return 1.0 * a_dot

    return writes_to_its_addend


@pytest.mark.parametrize("make", [writing, writing_to_what_no_vjp_needs])
@pytest.mark.parametrize("body", ["value", "forward"])
@pytest.mark.parametrize("engine", [*ENGINES, "jvp"])
def test_a_rule_cannot_write_to_the_callers_constants(engine, body, make):
    rule = make(body)
    c = CONSTANTS.copy()

    def f(x):
        return np.sum(rule(x, c))

    with contextlib.suppress(ValueError):  # read-only; a copy is as good
        if engine == "jvp":
            contad.jvp(f, (POINT,), (POINT,))
        else:
            contad.grad(f, engine=engine)(POINT)
    assert np.array_equal(c, CONSTANTS)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_forward_body_saves_may_be_its_constant_argument(engine):
    @array_rule
    def times(a, b, *, factor=None):
        return a * (b if factor is None else factor)

    @times.vjp("a")
    def times_vjp_a(z, z_bar, a, b, *, factor=None):
        return z_bar * b

    @array_rule
    def times_saved(a, b):
        return a * b

    @times_saved.forward
    def times_saved_forward(a, b):
        return a * b, b

    @times_saved.vjp("a")
    def times_saved_vjp_a(z, z_bar, a, b, saved):
        return times(z_bar, b, factor=saved)

    def f(x):
        c = CONSTANTS.copy()
        y = np.sum(times_saved(x, c) * x)
        c[:] = 100.0
        return y

    close(contad.grad(f, engine=engine)(POINT), 2 * POINT * CONSTANTS)


# ---- views and copies, as NumPy's ------------------------------------------------------------------------------------
PROGRAMS = {}


def program(f):
    """A function of a 2 x 3 array whose views outlive what they were made with."""
    PROGRAMS[f.__name__] = f
    return f


@program
def axes_of_a_transpose(x):
    p = [1, 0]
    y, z = x.transpose(p), np.transpose(x, p)
    p[:] = [0, 1]
    x[0, 1] = x[1, 2] ** 2
    return np.sum(y[1] ** 2) + z[2, 1] * z[1, 0]


@program
def shape_of_a_reshape(x):
    s, t = [3, 2], [6]
    y, z = np.reshape(x, s), x.reshape(t)
    s[:] = [2, 3]
    t.append(1)
    x[0, 1] = x[1, 2] ** 2
    return y[0, 1] * y[2, 1] + np.sum(z[:3] ** 3)


@program
def moved_axes(x):
    s, d = np.array([1, 0]), [0, 1]
    y = np.moveaxis(x, s, d)
    s[:] = [0, 1]
    x[0, 1] = x[1, 2] ** 2
    return np.sum(y[1] ** 2)


@program
def shape_of_a_broadcast(x):
    s = [2, 2, 3]
    y = np.broadcast_to(x, s)
    s[0] = 3
    x[0, 1] = x[1, 2] ** 2
    return np.sum(y**2)


@program
def places_of_a_split(x):
    i, j = np.array([1, 2]), [1]
    a, b, c = np.split(x, i, axis=1)
    d, e = np.split(x, j)
    i += 1
    j[0] = 2
    x[0, 1] = x[1, 2] ** 2
    return np.sum(b**2) + np.sum(a * c) + np.sum(d * e)


@program
def ends_of_a_slice(x):
    i, j = np.array(1), np.array(2)
    y, z = x[:, i:], x.reshape(-1)[i:j]
    i += 1
    j += 3
    x[0, 1] = x[1, 2] ** 2
    return np.sum(y**2) + z[0] * z[-1]


@program
def indices_of_elements(x):
    i = [0, 1]
    k = np.array([2, 1])
    y = x[i, k]
    i[:], k[:] = [1, 1], 0
    x[0, 2] = 5.0
    return np.sum(y**2) + x[0, 2]


@program
def copy_in_fortran_order(x):
    y = x.copy("F")
    y.ravel()[0] = 5.0
    y.ravel("F")[1] = x[0, 2]
    z = x.copy(order="F")
    z.T.ravel()[2] = x[1, 2] ** 2
    return np.sum(y**2 * np.arange(6.0).reshape(2, 3)) + np.sum(z**3)


@program
def copies_that_keep_their_layout(x):
    s = 0.0
    for y in (x.T.copy("K"), np.copy(x.T, order="K"), x.T.astype(x.dtype), x.T.copy("A"), np.copy(x, order="F")):
        y.ravel()[1] = x[1, 2] ** 2
        y.ravel("F")[4] = x[0, 0] * 3.0
        s = s * 0.5 + np.sum(y**2 * (1 + np.arange(6.0).reshape(y.shape)))
    return s


@program
def copies_in_c_order(x):
    s = 0.0
    for y in (x.T.copy(), x.T.copy("C"), x.T.astype(x.dtype, order="C"), x.T.flatten("F")):
        y.ravel()[1] = x[1, 2] ** 2
        s = s * 0.5 + np.sum(y**2 * (1 + np.arange(6.0).reshape(y.shape)))
    return s


@program
def cast_without_a_copy(x):
    y = x.astype(x.dtype, copy=False)
    y[0, 1] = x[1, 2] ** 2
    z = x.T.astype(x.dtype, copy=True)
    z[0, 0] = 7.0
    return np.sum(x**2 * (1 + np.arange(6.0).reshape(2, 3)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_views_and_copies_are_those_of_numpy(name):
    f = PROGRAMS[name]
    x = np.array([[0.3, 0.7, 1.1], [-0.4, 0.9, 0.5]])
    value, slope = contad.value_and_grad(f, engine="matrix")(x)
    close(value, f(x.copy()))
    close(slope, complex_steps(f, x))
    close([contad.jvp(f, (x,), (v.reshape(2, 3),))[1] for v in np.eye(6)], complex_steps(f, x).ravel())


# ---- sums and buffers ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [*range(1, 20), 127, 130, 1000])
def test_sums_are_those_of_numpy_to_the_last_bit(n):
    x = np.resize([1e16, 1.0, -1e16, 0.1, 0.7], n)
    assert contad.value_and_grad(np.sum, engine="matrix")(x)[0] == np.sum(x)
    assert contad.value_and_grad(lambda x: x.sum(), engine="matrix")(x[::-1])[0] == np.sum(x[::-1])
    assert contad.jvp(np.sum, (x,), (x,))[1] == np.sum(x)


LARGE = np.arange(200.0) + 0.5
NUMBER_AND_ARRAY = {
    "product": lambda v: v * LARGE,
    "reflected product": lambda v: LARGE * v,
    "ufunc": lambda v: np.multiply(v, LARGE),
    "reflected quotient": lambda v: LARGE / v,
    "matrix": lambda v: LARGE.reshape(20, 10) - v,
    "after others": lambda v: np.sin(v) * np.cos(v) + np.divide(v, LARGE) * v,
    "power": lambda v: LARGE**v,
}


@pytest.mark.parametrize("n", [1, 16, 150])
@pytest.mark.parametrize("name", NUMBER_AND_ARRAY)
def test_a_number_beside_an_array_larger_than_the_slab(name, n, no_pools, monkeypatch):
    monkeypatch.setattr(storage, "reserve", lambda *size: np.empty(n))

    def f(v):
        z = NUMBER_AND_ARRAY[name](v)
        return np.sum(z * z * 1e-4) + v

    for v in (2.0, 0.5):
        no_pools.clear()
        np.testing.assert_allclose(
            contad.grad(f, engine="matrix")(v), complex_steps(lambda x: f(x[()]), np.array(v)), rtol=1e-11
        )


STALE = {
    "product": lambda x, c: x * c,
    "reflected product": lambda x, c: c * x,
    "sum": lambda x, c: x + c,
    "reflected quotient": lambda x, c: c / x,
    "power": lambda x, c: x**c,
    "ufunc": lambda x, c: np.hypot(x, c),
    "reflected ufunc": lambda x, c: np.hypot(c, x),
    "broadcast": lambda x, c: x * c[:, None],
    "dot": lambda x, c: x @ c,
    "reflected dot": lambda x, c: c @ x,
    "matrix": lambda x, c: np.outer(c, c) @ x,
    "element": lambda x, c: x[0] * c,
    "in place": lambda x, c: x.__imul__(c),
    "assignment": lambda x, c: x.__setitem__(slice(None), c),
    "square": lambda x, c: x**2,
    "rule": lambda x, c: contad.logsumexp(x, b=c),
    "concatenation": lambda x, c: np.concatenate([c, x]),
}


@pytest.mark.parametrize("use", STALE)
@pytest.mark.parametrize("kind", ["argument", "result", "view", "written", "of a dead pullback"])
def test_a_stale_array_beside_a_plain_one_is_a_named_error(kind, use):
    kept = []

    def f(x):
        y = x * 2.0
        z = x * 3.0
        z[0] = y[1]
        kept.append({"argument": x, "result": y, "view": y[::-1], "written": z}.get(kind, y))
        return np.sum(y * y)

    if kind == "of a dead pullback":
        contad.vjp(f, POINT, engine="matrix")
    else:
        contad.grad(f, engine="matrix")(POINT)
    with pytest.raises(StaleVariableError):
        STALE[use](kept[0], CONSTANTS)


@pytest.mark.parametrize("kind", [lambda x: x, lambda x: x * 2.0, lambda x: x[1:], lambda x: x[[0, 0]], lambda x: x[0]])
@pytest.mark.parametrize("engine", [*ENGINES, "jvp"])
def test_a_stale_array_can_be_printed(engine, kind):
    kept = []

    def f(x):
        y = kind(x)
        kept.append(y)
        return np.sum(x * x)

    if engine == "jvp":
        contad.jvp(f, (POINT,), (POINT,))
    else:
        contad.grad(f, engine=engine)(POINT)
    overwritten = np.linspace(5.0, 7.0, 30)
    contad.grad(lambda x: np.sum(np.exp(x) * x), engine="matrix")(overwritten)
    for text in (repr(kept[0]), str(kept[0]), f"{kept}"):
        assert text
        assert "5." not in text


# ---- the buffers of pullbacks ----------------------------------------------------------------------------------------
def sines(x):
    return np.sin(x) * x


@pytest.mark.parametrize("engine", ENGINES)
def test_the_buffers_of_a_dead_pullback_serve_again(engine, no_pools):
    seen = []
    for n in (4, 30, 5):
        x = np.linspace(0.5, 2.0, n)
        _, pullback = contad.vjp(sines, x, engine=engine)
        close(pullback(np.ones(n))[0], np.cos(x) * x + np.sin(x))
        assert no_pools[engine] == []  # it has them
        del pullback
        gc.collect()
        (buffers,) = no_pools[engine]
        seen.append(buffers)
    assert all(buffers is seen[0] for buffers in seen)


def test_a_pullback_gives_its_buffers_back_once(no_pools):
    pullbacks = [contad.vjp(sines, POINT, engine="matrix")[1] for _ in range(3)]
    for pullback in pullbacks:
        pullback(POINT)
    del pullbacks, pullback
    gc.collect()
    pool = no_pools["matrix"]
    assert len(pool) == len({id(buffers) for buffers in pool}) == 3


def test_pullbacks_that_live_on_keep_their_buffers():
    rng = np.random.default_rng(0)
    alive = []
    for k in range(30):
        x, c = rng.normal(size=(2, int(rng.integers(1, 200))))
        alive.append((contad.vjp(lambda x, c=c: sines(x) * c, x, engine="matrix")[1], x, c))
        if k % 3 == 2:
            alive.pop(int(rng.integers(len(alive))))
        contad.grad(lambda x: np.sum(np.exp(x) * x), engine="matrix")(rng.normal(size=x.size))
        for pullback, y, d in alive:
            z_bar = rng.normal(size=y.size)
            close(pullback(z_bar)[0], z_bar * d * (np.sin(y) + y * np.cos(y)))


def test_results_outlive_their_pullback():
    value, pullback = contad.vjp(sines, POINT, engine="matrix")
    (slope,) = pullback(np.ones(4))
    kept = value.copy(), slope.copy()
    del pullback
    for _ in range(2):
        contad.vjp(lambda x: np.exp(x) * x, np.linspace(3.0, 4.0, 50), engine="matrix")[1](np.ones(50))
    assert np.array_equal(value, kept[0])
    assert np.array_equal(slope, kept[1])


def test_a_pullback_dropped_in_its_own_sweep_keeps_its_buffers():
    held = {}

    def f(x):
        y = np.sin(x)

        def continuation(adj):
            held.clear()
            gc.collect()
            contad.grad(lambda v: np.sum(np.sin(v * v) * v), engine="matrix")(np.linspace(0.0, 1.0, 3000))

        contad.reverse_pass_callback(continuation)
        return y * x

    held["pullback"] = contad.vjp(f, POINT, engine="matrix")[1]
    close(held["pullback"](np.ones(4))[0], np.cos(POINT) * POINT + np.sin(POINT))
    assert not held


def test_a_pullback_may_die_on_another_thread(no_pools):
    held = [contad.vjp(sines, POINT, engine="matrix")[1]]
    worker = threading.Thread(target=held.clear)
    worker.start()
    worker.join()
    assert len(no_pools["matrix"]) == 1  # the thread that recorded has its buffers again
    close(contad.vjp(sines, POINT, engine="matrix")[1](np.ones(4))[0], np.cos(POINT) * POINT + np.sin(POINT))


@pytest.mark.parametrize("engine", engine_names())
def test_a_gradient_leaves_nothing_to_the_collector(engine):
    """A cycle would keep the records of each gradient until the collector comes."""
    gradient = contad.value_and_grad(lambda x: np.sum(np.exp(x) * x), engine=engine)
    gradient(np.ones(3))
    gc.collect()
    gc.disable()
    try:
        gradient(np.ones(3))
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_recovered_memory_leaves_no_pooled_buffers(no_pools):
    for engine in ENGINES:
        contad.grad(lambda x: np.sum(x * x), engine=engine)(POINT)
        contad.vjp(sines, POINT, engine=engine)
    assert all(no_pools[engine] for engine in ENGINES)
    x = contad.var(POINT)
    contad.gradient(np.sum(x * x), [x])
    contad.recover_memory()
    assert not any(THREAD.pools.values())
    close(contad.grad(lambda x: np.sum(x * x), engine="matrix")(POINT), 2 * POINT)
    assert THREAD.pools["matrix"]
    with contad.recover_memory():
        contad.grad(lambda x: np.sum(x * x), engine="matrix")(POINT)
    assert not any(THREAD.pools.values())


# ---- arrays with semantics of their own ------------------------------------------------------------------------------
OWN_SEMANTICS = {
    "MaskedArray": np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]]),
    "matrix": np.array([[1.0, 2.0], [3.0, 4.0]]).view(np.matrix),
}
SQUARE = np.array([[0.3, 0.7], [1.1, 0.4]])
WITH_ARRAYS = {
    "product": lambda x, m: x * m,
    "sum": lambda x, m: x + m,
    "power": lambda x, m: x**m,
    "quotient": lambda x, m: x / m,
    "ufunc": lambda x, m: np.multiply(x, m),
    "reflected ufunc": lambda x, m: np.hypot(m, x),
    "rule": lambda x, m: contad.ops.multiply(m, x),
    "matrix product": lambda x, m: x @ m,
    "reflected matrix product": lambda x, m: np.matmul(m, x),
    "dot": lambda x, m: np.dot(x, m),
    "in place": lambda x, m: x.__iadd__(m),
    "outer product": lambda x, m: np.outer(x, m),
    "view": lambda x, m: x.T * m,
    "written": lambda x, m: np.zeros_like(x) * m,
}
by_class = pytest.mark.parametrize("kind", OWN_SEMANTICS)


@by_class
@pytest.mark.parametrize("use", WITH_ARRAYS)
def test_masked_arrays_and_matrices_are_no_constants(use, kind):
    m = OWN_SEMANTICS[kind]
    for run in (
        lambda f: contad.grad(f, engine="matrix")(SQUARE),
        lambda f: contad.jvp(f, (SQUARE,), (SQUARE,)),
        lambda f: contad.grad(lambda x: contad.grad(lambda y: f(x), engine="matrix")(SQUARE)[0, 0])(SQUARE),
    ):
        form = "x.filled(value) or x.compressed()" if kind == "MaskedArray" else "np.asarray(x)"
        with pytest.raises(UnsupportedError, match=rf"must be a plain array, {re.escape(form)}, got {kind}"):
            run(lambda x: np.sum(WITH_ARRAYS[use](x, m)))


@by_class
def test_masked_arrays_and_matrices_are_no_constants_on_the_left(kind):
    """Where their own operators run first, the derivative would be lost."""
    m = OWN_SEMANTICS[kind]
    for use in (lambda x: m * x, lambda x: m - x, lambda x: m @ x):
        with pytest.raises((UnsupportedError, LostDerivativeError)):
            contad.grad(lambda x, use=use: np.sum(use(x)), engine="matrix")(SQUARE)
        with pytest.raises((UnsupportedError, LostDerivativeError)):
            contad.jvp(lambda x, use=use: np.sum(use(x)), (SQUARE,), (SQUARE,))


@by_class
@pytest.mark.parametrize("engine", ENGINES)
def test_masked_arrays_and_matrices_are_no_constants_beside_numbers(engine, kind):
    m = OWN_SEMANTICS[kind]
    for use in (lambda v: v * m, lambda v: np.add(v, m), lambda v: contad.ops.hypot(m, v), lambda v: v - m):
        with pytest.raises(UnsupportedError, match=f"must be a plain array.*{kind}"):
            contad.grad(lambda v, use=use: np.sum(use(v)), engine=engine)(0.7)


@by_class
@pytest.mark.parametrize("engine", ["records", "closures"])
def test_masked_arrays_and_matrices_are_no_constants_of_rules_beside_object_arrays(engine, kind):
    m = OWN_SEMANTICS[kind]
    for rule in (contad.ops.multiply, contad.ops.hypot, array_rule_of("matmul")):
        with pytest.raises(UnsupportedError, match=f"must be a plain array.*{kind}"):
            contad.grad(lambda x, rule=rule: np.sum(rule(x, m)), engine=engine)(SQUARE)


@by_class
@pytest.mark.parametrize("engine", ENGINES)
def test_masked_arrays_and_matrices_are_no_options(engine, kind):
    m = OWN_SEMANTICS[kind]
    with pytest.raises(UnsupportedError, match=kind):
        contad.grad(lambda x: contad.logsumexp(x, b=m), engine=engine)(SQUARE)


@by_class
@pytest.mark.parametrize("engine", ENGINES)
def test_masked_arrays_and_matrices_are_no_arguments(engine, kind):
    m = OWN_SEMANTICS[kind]
    message = f"expected plain arrays, got {kind}, whose semantics would be lost"
    for run in (
        lambda: contad.grad(np.sum, engine=engine)(m),
        lambda: contad.grad(lambda x: np.sum(x["a"][0]), engine=engine)({"a": [m]}),
        lambda: contad.jacobian(lambda x: x * x, engine=engine)(m),
        lambda: contad.vjp(lambda x: x * x, m, engine=engine),
        lambda: contad.jvp(np.sum, (m,), (SQUARE,)),
        lambda: contad.var(m),
        lambda: contad.make_callback_var(m, lambda z, adj: None),
    ):
        with pytest.raises(UnsupportedError, match=message):
            run()


@by_class
@pytest.mark.parametrize("engine", ENGINES)
def test_masked_arrays_and_matrices_are_no_cotangents(engine, kind):
    _, pullback = contad.vjp(lambda x: x * x, SQUARE, engine=engine)
    with pytest.raises(UnsupportedError, match=kind):
        pullback(OWN_SEMANTICS[kind])


@by_class
def test_masked_arrays_and_matrices_are_no_tangents(kind):
    with pytest.raises(UnsupportedError, match=kind):
        contad.jvp(lambda x: x * x, (SQUARE,), (OWN_SEMANTICS[kind],))


def test_arrays_in_files_are_plain(tmp_path):
    m = np.memmap(tmp_path / "constants", np.float64, "w+", shape=(4,))
    m[:] = CONSTANTS
    close(contad.grad(lambda x: np.sum(x * x * m), engine="matrix")(POINT), 2 * POINT * CONSTANTS)
    close(contad.grad(lambda x: np.sum(x * x), engine="matrix")(m), 2 * CONSTANTS)


# ---- powers ----------------------------------------------------------------------------------------------------------
POWERS = [(2, "square"), (2.0, "square"), (-1, "reciprocal"), (-1.0, "reciprocal"), (0.5, "sqrt")]
GRID = np.array([0.1, 0.3, 0.7, 1.1, 3.3, 1e-9, 1e9, np.pi])


@pytest.mark.parametrize("p", [2, 2.0, -1.0, 0.5], ids=repr)
def test_powers_are_those_of_numpy_to_the_last_bit(p):
    for x in (GRID, GRID.reshape(2, 4).T, GRID[::-1]):
        value, slope = contad.value_and_grad(lambda x: np.sum((x**p) * np.ones(x.shape)), engine="matrix")(x)
        assert value == np.sum((x**p) * np.ones(x.shape))
        np.testing.assert_allclose(slope, p * x ** (p - 1), rtol=1e-14)
        with opened(MatrixStack):
            assert np.array_equal((contad.var(x) ** p).value, x**p)
        value, slope = contad.jvp(lambda x: x**p, (x,), (np.ones(x.shape),))
        assert np.array_equal(value, x**p)
        np.testing.assert_allclose(slope, p * x ** (p - 1), rtol=1e-14)


@pytest.mark.parametrize(("p", "operation"), POWERS, ids=repr)
def test_powers_are_recorded_as_what_they_are(p, operation, level):
    x = contad.var(GRID)
    x**p
    y = x * 1.0
    y **= p
    shown = [row.operation for row in level.rows()]
    assert shown == ["input", operation, "multiply", operation]
    text = contad.show_stack().splitlines()
    assert text[2].split()[:2] == [str(1 + GRID.size), operation]
    assert "power" not in contad.show_stack()


def test_other_powers_stay_powers(level):
    x = contad.var(GRID)
    for p in (3, 1.5, -2.0, True, np.full(GRID.size, 2.0)):
        x**p
    assert [row.operation for row in level.rows()] == ["input"] + ["power"] * 5


def test_the_square_of_negative_numbers_and_zero():
    x = np.array([-1.5, 0.0, -0.0, 2.0])
    value, slope = contad.value_and_grad(lambda x: np.sum(x**2), engine="matrix")(x)
    assert value == np.sum(x**2)
    close(slope, 2 * x)


# ---- rules with several results, and rules that are refused ----------------------------------------------------------
Decomposed = collections.namedtuple("Decomposed", ["sign", "log", "parts"])


@pytest.fixture
def decomposed():
    """Signs, logarithms and all elements of an array, in a named tuple."""

    @array_rule
    def sign_and_log(a):
        return Decomposed(np.sign(np.prod(a)), np.sum(np.log(np.abs(a))), a * a)

    @sign_and_log.vjp("a")
    def sign_and_log_vjp_a(z, z_bar, a):
        return z_bar[1] / a + 2.0 * z_bar[2] * a

    @sign_and_log.jvp
    def sign_and_log_jvp(z, a_dot, a):
        return 0.0 * np.sum(a_dot), np.sum(a_dot / a), 2.0 * a * a_dot

    return sign_and_log


@pytest.mark.parametrize("engine", [*ENGINES, "jvp"])
def test_a_rule_may_return_a_named_tuple(engine, decomposed):
    x = np.array([0.3, -0.7, 1.1])
    seen = []

    def f(x):
        z = decomposed(x)
        seen.append(z)
        sign, log, parts = z
        return z.log * z.log + np.sum(z.parts * x) + log * sign + parts[0]

    log = np.sum(np.log(np.abs(x)))
    wanted = (2 * log - 1.0) / x + 3 * x**2 + np.array([2 * x[0], 0.0, 0.0])
    if engine == "jvp":
        close([contad.jvp(f, (x,), (v,))[1] for v in np.eye(3)], wanted)
    else:
        close(contad.grad(f, engine=engine)(x), wanted)
    assert {type(z) for z in seen} == {Decomposed}
    assert type(decomposed(x)) is Decomposed


@pytest.mark.parametrize("engine", ["matrix", "jvp"])
def test_a_named_tuple_of_constants_stays_one(engine, decomposed):
    def f(x):
        w = np.zeros_like(x)
        w[:] = 2.0
        z = decomposed(w)
        assert type(z) is Decomposed
        return z.log * np.sum(x)

    if engine == "jvp":
        close(contad.jvp(f, (POINT,), (POINT,))[1], 4 * np.log(2.0) * np.sum(POINT))
    else:
        close(contad.grad(f, engine=engine)(POINT), np.full(4, 4 * np.log(2.0)))


def test_a_differentiable_argument_has_no_default():
    with pytest.raises(RuleError, match=r"with_a_default: options are keyword-only; write a \* before those with a d"):

        @array_rule
        def with_a_default(a, b=2.0):
            return a * b

    @array_rule(linear=("a",))
    def with_a_default_option(a, *, b=2.0):
        return a * b

    @with_a_default_option.vjp("a")
    def with_a_default_option_vjp_a(z, z_bar, a, *, b=2.0):
        return z_bar * b

    close(contad.grad(lambda x: np.sum(with_a_default_option(x)), engine="matrix")(POINT), np.full(4, 2.0))


# ---- views of views --------------------------------------------------------------------------------------------------
@pytest.fixture
def steps(monkeypatch):
    """How often a view has looked at its parent, and how often one has been made anew."""
    counts = collections.Counter()
    refresh = ArrayVar._refresh

    def read(self):
        counts["parents"] += 1
        return self.__dict__.get("_parent")

    def write(self, parent):
        self.__dict__["_parent"] = parent

    def refreshed(self, parent):
        counts["refreshed"] += 1
        refresh(self, parent)

    monkeypatch.setattr(ArrayVar, "_parent", property(read, write), raising=False)
    monkeypatch.setattr(ArrayVar, "_refresh", refreshed)
    return counts


def transposed(x, n):
    """x transposed n times, with an assignment in between, and one afterwards."""
    y = x
    for k in range(n):
        y = y.T
        if k == n // 2:
            x[0, 1] = x[1, 0] * 2.0
    x[1, 1] = x[0, 0] * x[0, 1]
    return np.sum(y * y * np.array([[1.0, 2.0], [3.0, 4.0]])) + y[0, 1] * y[1, 1]


@pytest.mark.parametrize("n", [7, 4000, 4001])
def test_a_long_chain_of_views_is_walked_once(n, steps):
    slope = contad.grad(lambda x: transposed(x, n), engine="matrix")(SQUARE)
    close(slope, complex_steps(lambda x: transposed(x, n), SQUARE))
    assert 0 < steps["refreshed"] <= n + 10
    assert n < steps["parents"] <= 12 * n + 50  # with a walk at every view it would be n^2 / 2
