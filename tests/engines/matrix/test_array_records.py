"""What a recording keeps is its own: later assignments, by the caller or by an outer level, change no derivative.

References are complex steps and differences of the same functions on NumPy arrays, which share nothing with contad.
"""

import collections
import contextlib
import functools
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
from contad.errors import LostDerivativeError, RuleError, UnsupportedError
from contad.rules.array_rule import array_rule, array_rule_of
from contad.variables.stack import THREAD, opened
from tests.engines.matrix.array_programs import close, complex_steps
from tests.engines.source.programs.harness import functions_of
from tests.judges.written import define as run

POINT = np.array([0.3, 0.7, 1.1, 0.4])
CONSTANTS = np.array([1.3, 2.0, 0.6, 1.7])
WEIGHTS = np.array([2.0, -1.0, 0.5, 3.0])
ENGINES = engine_names()
REVERSE = ("matrix", "records")


@pytest.fixture
def no_pools(monkeypatch):
    """This thread's pools of buffers, empty for the test."""
    monkeypatch.setattr(THREAD, "pools", {})
    return THREAD.pools


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


def scale(w):
    return w * 1.0


def as_objects(w):
    c = np.empty(4, object)
    c[:] = [w[k] * 1.0 for k in range(4)]
    return c


def by_rule(x, c):
    return np.sum(array_rule_of("matmul")(c.reshape(2, 2), x.reshape(2, 2)) * x[0])


OUTER = [(form, form, scale, "matrix") for form in FORMS.values()]
OUTER += [(lambda x, c: np.sum(x * c),) * 2 + (as_objects, engine) for engine in ENGINES]
OUTER += [(by_rule, lambda x, c: np.sum(c.reshape(2, 2) @ x.reshape(2, 2) * x[0]), as_objects, e) for e in ENGINES]


@pytest.mark.parametrize(("form", "plain", "make", "engine"), OUTER)
def test_arrays_of_outer_levels_may_be_written_after_use(form, plain, make, engine):
    def outer(w):
        c = make(w)

        def inner(x):
            y = form(x, c)
            c[0] = 100.0
            return y

        return np.sum(contad.grad(inner, engine=engine)(POINT) * WEIGHTS)

    for mode, slope in in_every_mode(outer, CONSTANTS).items():
        np.testing.assert_allclose(slope, outer_reference(plain), rtol=1e-8, err_msg=mode)


@pytest.mark.parametrize("name", FORMS)
def test_arrays_of_outer_levels_may_be_written_before_the_pullback_is_called(name):
    def outer(w):
        c = w * 1.0
        _, pullback = contad.vjp(lambda x: FORMS[name](x, c), POINT, engine="matrix")
        c[:] = 100.0
        return np.sum(pullback(1.0)[0] * WEIGHTS)

    for mode, slope in in_every_mode(outer, CONSTANTS).items():
        np.testing.assert_allclose(slope, outer_reference(FORMS[name]), rtol=1e-8, err_msg=mode)


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


IN_OPTIONS = functions_of("""\
# interpolated
y = np.interp(np.array([0.5, 1.5, 1.7]), b, x)
b *= 10.0
return np.sum(y * y)
# interpolated at
y = np.interp(x, b, CONSTANTS)
b *= 10.0
return np.sum(y * y)
# counted
y = np.bincount(i, x)
i[:] = 1
return np.sum(y * y)
# summed in logs
y = contad.logsumexp(x, b=b + 1.0)
z = contad.logsumexp(x, b=b)
b[:] = 1.0
return y * z
# taken
y = np.take(x, i)
i[:] = 2
return np.sum(y * y * WEIGHTS)
# averaged
y = np.average(x * x, weights=b + 1.0)
z = np.average(x * x, weights=b)
b[:] = 7.0
return y * z
# differenced
y = np.gradient(x * x, b)
b *= 3.0
return np.sum(y * y)
""", "x, i, b", CONSTANTS=CONSTANTS, WEIGHTS=WEIGHTS)  # fmt: skip


@pytest.mark.parametrize("name", IN_OPTIONS)
def test_arrays_in_options_of_numpy_may_be_written_after_use(name):
    def of_arrays(x):
        return IN_OPTIONS[name](x, np.array([0, 2, 0, 1]), np.array([0.0, 1.0, 2.0, 3.0]))

    def plain(x):
        if name != "summed in logs":
            return of_arrays(x)
        b = np.arange(4.0)
        return np.log(np.sum(b * np.exp(x))) * np.log(np.sum((b + 1) * np.exp(x)))

    np.testing.assert_allclose(contad.grad(of_arrays, engine="matrix")(POINT), differences(plain, POINT), rtol=1e-8)


# ---- rules get nothing that they could write to ----------------------------------------------------------------------
WRITING = """
@array_rule
def writes_to_its_argument(a, b):
    {}
    return a {} b

@writes_to_its_argument.forward
def writes_to_its_argument_forward(a, b):
    b[0] = -1.0
    return a {} b, None

@writes_to_its_argument.vjp("a")
def writes_to_its_argument_vjp_a(z, z_bar, a, b, saved=None):
    return {} * z_bar

@writes_to_its_argument.jvp
def writes_to_its_argument_jvp(z, a_dot, b_dot, a, b, saved=None):
    return {} * a_dot
"""


def write_rule(body, operation):
    """A rule that writes to its constant argument, which the derivative of a sum does not need."""
    factor = {"*": "b", "+": "1.0"}[operation]
    text = WRITING.format("b[0] = -1.0" if body == "value" else "", operation, operation, factor, factor)
    if body == "value":
        head, _, tail = text.partition("@writes_to_its_argument.forward")
        text = f"{head}@{tail.partition('@')[2]}"
    return run(text, f"<{body} {operation}>", {"array_rule": array_rule, "__name__": "rules"})["writes_to_its_argument"]


@pytest.mark.parametrize("operation", ["*", "+"])
@pytest.mark.parametrize("body", ["value", "forward"])
@pytest.mark.parametrize("engine", [*ENGINES, "jvp"])
def test_a_rule_cannot_write_to_the_callers_constants(engine, body, operation):
    rule = write_rule(body, operation)
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
def test_a_forward_body_may_save_its_constant_argument(engine):
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
    "product": lambda x, m: x * m, "sum": lambda x, m: x + m, "power": lambda x, m: x**m,
    "quotient": lambda x, m: x / m, "ufunc": lambda x, m: np.multiply(x, m),
    "reflected ufunc": lambda x, m: np.hypot(m, x), "rule": lambda x, m: contad.ops.multiply(m, x),
    "matrix product": lambda x, m: x @ m, "reflected matrix product": lambda x, m: np.matmul(m, x),
    "dot": lambda x, m: np.dot(x, m), "in place": lambda x, m: x.__iadd__(m),
    "outer product": lambda x, m: np.outer(x, m), "view": lambda x, m: x.T * m,
    "written": lambda x, m: np.zeros_like(x) * m,
}  # fmt: skip
by_class = pytest.mark.parametrize("kind", OWN_SEMANTICS)
LOST, MUST = "expected plain arrays, got {}, whose semantics would be lost", "must be a plain array.*{}"
PLACES = {  # where they are refused by all engines, and in which words
    "an argument": (LOST, lambda m, of: of(contad.grad)(np.sum)(m)),
    "in a tree": (LOST, lambda m, of: of(contad.grad)(lambda x: np.sum(x["a"][0]))({"a": [m]})),
    "a point of a Jacobian": (LOST, lambda m, of: of(contad.jacobian)(lambda x: x * x)(m)),
    "a point of a pullback": (LOST, lambda m, of: of(contad.vjp)(lambda x: x * x, m)),
    "a cotangent": ("{}", lambda m, of: of(contad.vjp)(lambda x: x * x, SQUARE)[1](m)),
    "an option": ("{}", lambda m, of: of(contad.grad)(lambda x: contad.logsumexp(x, b=m))(SQUARE)),
    "times a number": (MUST, lambda m, of: of(contad.grad)(lambda v: np.sum(v * m))(0.7)),
    "less than a number": (MUST, lambda m, of: of(contad.grad)(lambda v: np.sum(v - m))(0.7)),
    "a ufunc of a number": (MUST, lambda m, of: of(contad.grad)(lambda v: np.sum(np.add(v, m)))(0.7)),
    "a rule of a number": (MUST, lambda m, of: of(contad.grad)(lambda v: np.sum(contad.ops.hypot(m, v)))(0.7)),
}
OTHER_PLACES = {  # of every engine
    "a point of jvp": (LOST, lambda m: contad.jvp(np.sum, (m,), (SQUARE,))),
    "a tangent": ("{}", lambda m: contad.jvp(lambda x: x * x, (SQUARE,), (m,))),
    "a variable": (LOST, lambda m: contad.var(m)),
    "a callback's variable": (LOST, lambda m: contad.make_callback_var(m, lambda z, adj: None)),
}


@by_class
@pytest.mark.parametrize("use", WITH_ARRAYS)
def test_masked_arrays_and_matrices_are_no_constants(use, kind):
    m = OWN_SEMANTICS[kind]
    for run_with in (
        lambda f: contad.grad(f, engine="matrix")(SQUARE),
        lambda f: contad.jvp(f, (SQUARE,), (SQUARE,)),
        lambda f: contad.grad(lambda x: contad.grad(lambda y: f(x), engine="matrix")(SQUARE)[0, 0])(SQUARE),
    ):
        form = "x.filled(value) or x.compressed()" if kind == "MaskedArray" else "np.asarray(x)"
        with pytest.raises(UnsupportedError, match=rf"must be a plain array, {re.escape(form)}, got {kind}"):
            run_with(lambda x: np.sum(WITH_ARRAYS[use](x, m)))


@by_class
def test_masked_arrays_and_matrices_are_no_constants_on_the_left(kind):
    """Where their own operators run first, the derivative would be lost."""
    m = OWN_SEMANTICS[kind]
    for use in (lambda x: np.sum(m * x), lambda x: np.sum(m - x), lambda x: np.sum(m @ x)):
        with pytest.raises((UnsupportedError, LostDerivativeError)):
            contad.grad(use, engine="matrix")(SQUARE)
        with pytest.raises((UnsupportedError, LostDerivativeError)):
            contad.jvp(use, (SQUARE,), (SQUARE,))


@by_class
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("place", PLACES)
def test_masked_arrays_and_matrices_are_refused_in_every_place(place, engine, kind):
    message, call = PLACES[place]
    with pytest.raises(UnsupportedError, match=message.format(kind)):
        call(OWN_SEMANTICS[kind], lambda transform: functools.partial(transform, engine=engine))


@by_class
@pytest.mark.parametrize("place", OTHER_PLACES)
def test_masked_arrays_and_matrices_are_refused_in_other_places(place, kind):
    message, call = OTHER_PLACES[place]
    with pytest.raises(UnsupportedError, match=message.format(kind)):
        call(OWN_SEMANTICS[kind])


@by_class
@pytest.mark.parametrize("rule", [contad.ops.multiply, contad.ops.hypot, array_rule_of("matmul")])
@pytest.mark.parametrize("engine", ["records", "closures"])
def test_masked_arrays_and_matrices_are_no_constants_of_rules_beside_object_arrays(engine, rule, kind):
    with pytest.raises(UnsupportedError, match=f"must be a plain array.*{kind}"):
        contad.grad(lambda x: np.sum(rule(x, OWN_SEMANTICS[kind])), engine=engine)(SQUARE)


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
