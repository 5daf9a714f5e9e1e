"""Variables of the engine `matrix` and their level: stale ones, other threads, adjoints, callbacks, what leaves it."""

import functools
import threading

import numpy as np
import pytest

import contad
from contad.engines import engine_names
from contad.engines.matrix.matrix_stack import MatrixStack
from contad.errors import ForeignVariableError, NestingError, OtherThreadError, StaleVariableError
from contad.variables.stack import attempt, opened
from tests.engines.matrix.array_programs import POINT, WRITES, close, complex_steps, written_result
from tests.judges.refusals import refused

X, PLAIN = POINT[:3], np.array([1.3, 2.0, 0.6])
NUMBERS = np.arange(4.0)
grad = functools.partial(contad.grad, engine="matrix")
vjp = functools.partial(contad.vjp, engine="matrix")


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
    "inside grad": lambda x: grad(lambda t: np.sum(t * x))(X),
    "as an argument": lambda x: grad(lambda t: np.sum(t * t))(x),
    "inside jvp": lambda x: contad.jvp(lambda t: np.sum(t * x), (X,), (X,)),
    # beside a plain array
    "product with it": lambda x: x * PLAIN,
    "reflected product": lambda x: PLAIN * x,
    "sum with it": lambda x: x + PLAIN,
    "reflected quotient": lambda x: PLAIN / x,
    "power": lambda x: x**PLAIN,
    "ufunc of both": lambda x: np.hypot(x, PLAIN),
    "reflected ufunc": lambda x: np.hypot(PLAIN, x),
    "broadcast": lambda x: x * PLAIN[:, None],
    "dot": lambda x: x @ PLAIN,
    "reflected dot": lambda x: PLAIN @ x,
    "matrix": lambda x: np.outer(PLAIN, PLAIN) @ x,
    "element beside it": lambda x: x[0] * PLAIN,
    "in place by it": lambda x: x.__imul__(PLAIN),
    "assignment of it": lambda x: x.__setitem__(slice(None), PLAIN),
    "square": lambda x: x**2,
    "rule": lambda x: contad.logsumexp(x, b=PLAIN),
    "concatenation": lambda x: np.concatenate([PLAIN, x]),
}
KINDS = {
    "argument": lambda x: x, "result": lambda x: x * 1.0, "view": lambda x: x[::-1], "written": lambda x: written(x),
    "of a dead pullback": lambda x: x * 1.0,
}  # fmt: skip


def written(x):
    y = np.zeros_like(x)
    y[0] = x[1]
    return y


def leaked(kind):
    """An array variable of a call that has ended, in buffers that another call has overwritten."""
    kept = []

    def f(x):
        kept.append(KINDS[kind](x))
        return np.sum(x * x)

    if kind == "of a dead pullback":
        vjp(f, X)
    else:
        grad(f)(X)
    grad(lambda x: np.sum(np.exp(x) * x))(np.linspace(5.0, 7.0, 30))
    return kept[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("use", USES)
def test_a_stale_array_is_a_named_error(use, kind):
    x = leaked(kind)
    with pytest.raises(StaleVariableError, match=None if "pullback" in kind else "its gradient call has ended"):
        USES[use](x)


@pytest.mark.parametrize("kind", [lambda x: x, lambda x: x * 2.0, lambda x: x[1:], lambda x: x[[0, 0]], lambda x: x[0]])
@pytest.mark.parametrize("engine", [*engine_names(), "jvp"])
def test_a_stale_array_can_be_printed_and_shows_no_numbers_of_another_call(engine, kind):
    kept = []

    def f(x):
        kept.append(kind(x))
        return np.sum(x * x)

    if engine == "jvp":
        contad.jvp(f, (POINT,), (POINT,))
    else:
        contad.grad(f, engine=engine)(POINT)
    grad(lambda x: np.sum(np.exp(x) * x))(np.linspace(5.0, 7.0, 30))
    for text in (repr(kept[0]), str(kept[0]), f"{kept}"):
        assert text
        assert "5." not in text


@pytest.mark.parametrize("use", [use for use in USES if use != "adjoints"])
def test_an_array_of_another_thread_is_a_named_error(use, level):
    x = contad.var(X)
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
        f = list(WRITES.values())[k]
        found[k] = all(np.array_equal(grad(f)(POINT), grad(f)(POINT)) for _ in range(20)) and grad(f)(POINT)

    workers = [threading.Thread(target=run, args=(k,)) for k in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for k, f in enumerate(list(WRITES.values())[:6]):
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
    close(grad(WRITES["swap"])(POINT), complex_steps(WRITES["swap"], POINT))


# ---- the low-level interface -----------------------------------------------------------------------------------------
def sweep(level, y):
    level.run_sweep([(y.index, 1.0)])


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
    y = np.sum(x * x * NUMBERS)
    sweep(level, y)
    close(x.adj, 2 * POINT * NUMBERS)
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
    sweep(level, y)
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
    y = np.sum(z * NUMBERS)
    for _ in range(2):
        sweep(level, y)
        close(x.adj, 2 * POINT * NUMBERS + np.array([0.0, 1.0, 1.0, 1.0]))
    close(seen[0], NUMBERS)


def double_first(x):
    x[0] = x[1] * 2.0
    return x


@pytest.mark.parametrize(
    ("choose", "added", "expected"),
    [
        (lambda x: x[[0, 0, 2]], [1.0, 10.0, 100.0], [11.0, 0.0, 100.0, 0.0]),
        (double_first, [1.0, 1.0, 1.0, 1.0], [1.0, 3.0, 1.0, 1.0]),  # an array that is written before the callback
    ],
    ids=["repeated cells", "written before"],
)
def test_a_callback_adds_to_cells(choose, added, expected, level):
    x = contad.var(POINT)
    chosen = choose(x)
    contad.reverse_pass_callback(lambda adj: adj.add(chosen, np.array(added)))
    sweep(level, contad.var(1.0) * 2.0)
    close(x.adj, expected)


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
        sweep(level, contad.var(1.0) * 2.0)


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
        sweep(level, y)


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
        sweep(level, y)
        close(x.adj, [1.0 + 2 * POINT[0], 0.0, 2 * POINT[2], 2 * POINT[3]])


def test_a_callback_variable_that_is_an_array(level):
    x = contad.var(POINT)
    z = contad.make_callback_var(POINT**2, lambda z, adj: adj.add(x, adj[z] * 2.0 * x.value))
    assert np.array_equal(z.value, POINT**2)
    sweep(level, np.sum(z * z[::-1]))
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
def test_results_are_owned_by_the_caller():
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


def test_results_outlive_later_calls_and_their_pullback():
    value, pullback = vjp(lambda x: x * x, POINT)
    slopes = grad(WRITES["swap"])(POINT), contad.jacobian(written_result, engine="matrix")(POINT)
    found = [*slopes, value, pullback(POINT)[0]]
    kept = [a.copy() for a in found]
    for _ in range(3):
        grad(lambda x: np.sum(np.exp(x)))(np.linspace(3.0, 4.0, 50))
        pullback(POINT * 2.0)
    del pullback
    vjp(lambda x: np.exp(x) * x, np.linspace(3.0, 4.0, 50))[1](np.ones(50))
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
