"""Plain Python functions that call Numba functions."""

import math

import numba
import numpy as np
import pytest

import contad
from contad.engines import engine_names
from contad.errors import LostDerivativeError
from contad.front import numba_calls
from contad.functions.reached import Family

Y = np.array([0.4, 1.3, -0.2])


@numba.njit
def logp(theta, y):
    total = 0.0
    for i in range(y.shape[0]):
        total -= 0.5 * ((y[i] - theta[0]) * math.exp(-theta[1])) ** 2 + theta[1]
    return total


@numba.njit
def square(x):
    return x * x


@numba.njit
def accumulate(x, out):
    for i in range(out.shape[0]):
        out[i] += x * i


def helper(x):
    return square(x) + 1.0


def through_helper(x):
    return helper(x) * square(3.0)


def by_hand(theta):
    mu, s = theta
    r = (Y - mu) * np.exp(-s)
    return np.array([-np.sum(r * np.exp(-s)), -np.sum(r * r) + Y.size])


@pytest.mark.parametrize("engine", engine_names())
def test_a_plain_function_calls_a_numba_function(engine):
    theta = np.array([0.3, -0.2])
    gradient = contad.grad(lambda theta: -logp(theta, Y), engine=engine)(theta)
    assert gradient == pytest.approx(by_hand(theta), rel=1e-13)
    assert contad.grad(through_helper, engine=engine)(2.0) == 36.0
    assert contad.jacobian(contad.grad(through_helper, engine=engine))(2.0) == 18.0
    assert contad.derivative(through_helper)(2.0) == 36.0 and contad.vjp(through_helper, 2.0)[1](1.0) == (36.0,)


def test_second_derivatives_of_a_numba_function_that_is_called():
    """Its compiled derivative gives partials, which are not constants."""
    assert contad.hessian(through_helper)(2.0) == 18.0
    assert contad.hvp(lambda x: square(x[0]) * x[1])(np.array([2.0, 3.0]), np.array([1.0, 0.5])).tolist() == [8.0, 4.0]
    value, tangent = contad.linearize(through_helper, 2.0)
    assert (value, tangent(0.5), contad.grad(lambda t: tangent(square(t)))(3.0)) == (45.0, 18.0, 216.0)


def test_captured_functions_and_inner_functions():
    def make(kernel, a):
        def f(x):
            def inner(t):
                return kernel(t) * a

            return inner(x) + square(x)

        return f

    assert contad.grad(make(square, 3.0))(2.0) == 16.0


def test_globals_are_read_live(monkeypatch):
    gradient = contad.grad(through_helper)
    assert gradient(2.0) == 36.0
    monkeypatch.setitem(globals(), "helper", lambda x: 5.0 * x)
    assert gradient(2.0) == 45.0
    with pytest.raises(NameError, match="undefined_name"):
        contad.grad(lambda x: square(x) + undefined_name)(1.0)  # noqa: F821


def twins_asked(monkeypatch):
    """The list of the functions whose Python twins are asked for."""
    asked = []
    make = numba_calls.checked_twin

    def ask(f, **options):
        asked.append(f.__name__)
        return make(f, **options)

    monkeypatch.setattr(numba_calls, "checked_twin", ask)
    return asked


def test_plain_arguments_run_compiled(monkeypatch):
    asked = twins_asked(monkeypatch)
    assert contad.grad(lambda x: x * square(3.0))(2.0) == 9.0
    assert contad.grad(lambda x: x * square(x))(2.0) == 12.0
    assert asked == []


def test_a_function_without_a_source_runs_compiled(monkeypatch):
    """Of numbers alone: nobody can tell whether it writes into arrays."""
    asked, names = twins_asked(monkeypatch), {"njit": numba.njit}
    exec("@njit\ndef product(a, b):\n    return a * a * b\n", names)
    product = names["product"]
    assert contad.grad(lambda x: product(x, 3.0) * x)(2.0) == 36.0
    assert asked == []


# ---- one operation ---------------------------------------------------------------------------------------------------
@numba.njit
def shifted(x, k):
    """An array, a number and a count."""
    z = np.empty_like(x)
    total = 0.0
    for i in range(x.shape[0]):
        z[i] = x[i] * x[i] + k
        total += x[i] * k
    return z, total, x.shape[0]


def shifted_plain(x, k):
    return x * x + k, np.sum(x * k), len(x)


def records_of(f, *args):
    """How many records a function pushes, on variables of a level of its own."""
    with contad.nested() as s:
        x = [contad.var(a) for a in args]
        before = len(list(s.rows()))
        f(*x)
        return len(list(s.rows())) - before


def test_a_numba_function_is_one_record(monkeypatch):
    asked = twins_asked(monkeypatch)
    theta = np.array([0.3, -0.2])
    assert records_of(contad.primitive(logp), theta, Y) == 1 and records_of(contad.primitive(square), 2.0) == 1
    with contad.nested() as s:
        contad.primitive(square)(contad.var(2.0))
        assert not s.callbacks  # nothing of Python's is left for the sweep
    # two variables for the results, and one continuation
    assert records_of(contad.primitive(shifted), theta, 0.5) == 3 and asked == []


@numba.njit
def offset(x, k=3.0):
    return x * k


def test_defaults_and_names_of_arguments(monkeypatch):
    asked = twins_asked(monkeypatch)
    assert contad.grad(lambda x: offset(x) + offset(x, k=2.0) + offset(k=x, x=2.0))(2.0) == 3.0 + 2.0 + 2.0
    assert asked == []


@pytest.mark.parametrize("k", [0.5, -2.0])
def test_several_results_have_one_continuation(monkeypatch, k):
    asked = twins_asked(monkeypatch)

    def through(f):
        def model(x, k):
            z, total, n = f(x * 2.0, k)
            return np.sum(z * x) * total / n + k

        return model

    x = np.array([0.7, -1.2, 2.5])
    got = contad.value_and_grad(through(shifted), (0, 1))(x, k)
    expected = contad.value_and_grad(through(shifted_plain), (0, 1))(x, k)
    assert got[0] == pytest.approx(expected[0], rel=1e-13)
    for a, b in zip(got[1], expected[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert asked == []


@pytest.mark.parametrize("what", [(0, None), (0, slice(1, None)), (1, None), (None, None)])
def test_results_that_are_returned_as_they_are(what):
    """Nothing is recorded after the call, and the sweep starts at one of its results."""

    def part(x, f):
        which, key = what
        z, total, _ = f(x, 0.5)
        found = (z, total) if which is None else (z, total)[which]
        return found if key is None else found[key]

    x = np.array([0.7, -1.2, 2.5])
    rows = [np.diag(2 * x), np.full(3, 0.5)]
    which, key = what
    expected = rows if which is None else [rows[which] if key is None else rows[which][key]]
    got = contad.jacrev(lambda x: part(x, shifted))(x)
    for a, b in zip(got if which is None else [got], expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_a_result_may_be_written_to():
    def overwritten(x):
        z, total, _ = shifted(x, 0.5)
        z[0] = total
        z[1] *= 3.0
        return z

    x = np.array([0.7, -1.2, 2.5])
    expected = [[0.5, 0.5, 0.5], [0.0, -7.2, 0.0], [0.0, 0.0, 5.0]]
    np.testing.assert_allclose(contad.jacrev(overwritten)(x), expected, rtol=1e-14)


def test_outer_levels_and_forward_mode_run_the_twin(monkeypatch):
    asked = twins_asked(monkeypatch)
    x = np.array([0.7, -1.2])

    def through(f):
        return lambda x: np.sum(f(x, 2.0)[0] ** 2) * x[0]

    for transform in (
        lambda f: contad.jacobian(contad.grad(f))(x),
        lambda f: contad.jvp(f, (x,), (x,))[1],
        lambda f: contad.jvp(contad.grad(f), (x,), (x,))[1],
    ):
        np.testing.assert_allclose(transform(through(shifted)), transform(through(shifted_plain)), rtol=1e-12)
    assert set(asked) == {"shifted"}
    # an outer variable beside those of the inner level, and an outer cotangent
    outer = contad.grad(lambda a: contad.grad(lambda x: square(x) * a * square(a))(3.0))
    assert outer(2.0) == pytest.approx(6.0 * 3 * 4.0)


def test_an_array_may_be_written_to_after_the_call():
    def f(x):
        z = x * 1.0
        total = logp(z, Y)
        z[0] = 5.0
        return total * z[0] + z[1]

    theta = np.array([0.3, -0.2])
    assert contad.grad(f)(theta) == pytest.approx(5.0 * by_hand(theta) * -1.0 + [0.0, 1.0], rel=1e-12)


def test_a_dead_result_makes_no_nan():
    @numba.njit
    def root(x):
        return math.sqrt(x)

    assert contad.grad(lambda x: root(x) * 0.0 + x)(0.0) == 1.0


def test_results_without_a_derivative():
    @numba.njit
    def is_large(x):
        return x > 1.0

    @numba.njit
    def rounded(x):
        return int(x * 2.0)

    @numba.njit
    def nothing(x):
        x + 1.0

    @numba.njit("float64(float64)")
    def typed(x):
        return x * x

    def f(x):
        assert nothing(x) is None
        return typed(x) * rounded(x) if is_large(x) else x

    assert [contad.grad(f)(x) for x in (2.1, 0.5)] == [pytest.approx(2 * 2.1 * 4), 1.0]


def test_an_error_inside_leaves_the_stack_as_it_was():
    @numba.njit
    def positive(x):
        if x < 0.0:
            raise ValueError("x must be positive")
        return x * x

    f = contad.grad(lambda x: positive(x) * x)
    for x, slope in ((2.0, 12.0), (-1.0, None), (3.0, 27.0)):
        if slope is None:
            with pytest.raises(ValueError, match="x must be positive"):
                f(x)
        else:
            assert f(x) == pytest.approx(slope)


class Model:
    """A class that holds a Numba function."""

    kernel = staticmethod(contad.primitive(square))
    plain = staticmethod(square)


def test_a_primitive_is_reached_in_any_way():
    model = Model()
    assert contad.grad(lambda x: model.kernel(x) * x)(2.0) == 12.0
    assert contad.jacobian(contad.grad(lambda x: model.kernel(x) * x))(2.0) == 12.0
    assert model.kernel(3.0) == 9.0 and contad.grad(contad.primitive(square))(2.0) == 4.0
    assert contad.grad(lambda x: model.plain(x) * x)(2.0) == 12.0
    with pytest.raises(
        contad.UnsupportedError, match="primitive: through_helper must be a function made by numba.njit"
    ):
        contad.primitive(through_helper)


def test_writes_into_arrays_are_seen_or_refused():
    def into_objects(x):
        out = np.zeros(3, dtype=object)
        accumulate(x * x, out)
        return out.sum()

    def into_floats(x):
        out = np.zeros(3)
        accumulate(x * x, out)
        return out.sum()

    def constants(x):
        out = np.zeros(3)
        accumulate(2.0, out)
        return out.sum() * x

    assert contad.grad(into_objects)(2.0) == 3.0 * 4.0 and contad.grad(constants)(2.0) == 6.0
    with pytest.raises(LostDerivativeError, match="accumulate: writes a variable into argument 1.*dtype=object"):
        contad.grad(into_floats)(2.0)


def test_libraries_are_not_searched():
    import scipy.optimize

    f = eval("lambda x: minimize and x * x", {"minimize": scipy.optimize.minimize})
    family = Family(f)
    assert [r.f for r in family.reached.values()] == [f] and not family.needing


def test_functions_without_numba_run_as_they_are():
    def f(x):
        return x * math.pi

    assert contad.grad(f).direct is f
    assert contad.grad(through_helper).direct is not through_helper


COUNT = 0


def counts(x):
    global COUNT
    COUNT += 1
    return square(contad.value_of(x)) * x


def test_a_function_that_assigns_to_globals():
    before = COUNT
    assert contad.grad(counts)(2.0) == 4.0 and before + 1 == COUNT


@numba.njit
def count(x, counts, sums):
    counts[0] += 1
    sums[0] += 1.0
    return x * counts[0] + sums[0]


def test_a_callee_writes_once_into_arrays_of_constants():
    def f(x):
        counts, sums = np.zeros(1, dtype=int), np.zeros(1)
        return (count(x, counts, sums) + count(x, counts, sums=sums)) * sums[0] * counts[0]

    assert contad.value_and_grad(f)(2.0) == (f(2.0), 12.0)


def powers():
    def square_times(x, n):
        return square(x) if n == 0 else x * other(x, n - 1)

    def other(x, n):
        return square(x) if n == 0 else x * square_times(x, n - 1)

    return square_times


def test_functions_that_capture_each_other():
    assert contad.grad(powers())(2.0, 3) == 5 * 2.0**4


@numba.njit
def twice(f, x):
    return f(f(x))


def of_a_default(x, *, g=square):
    return g(x)


def with_attribute(x):
    return with_attribute.factor * square(x)


with_attribute.factor = 3.0


@numba.njit
def squares_in_array(x):
    made = np.empty(2)
    for k in range(2):
        made[k] = x * x
    return made[0] + made[1]


@pytest.mark.parametrize(("f", "slope"), [
    (lambda x: square.py_func(x) + square(x), 8.0), (lambda x: squares_in_array.py_func(x), 8.0),
    (lambda x: twice(square, x), 32.0), (lambda x: twice(square, 3.0) * x, 81.0),
    (lambda x: contad.grad(square)(x=x) * x, 8.0), (lambda x: of_a_default(x), 4.0),
    (lambda x: with_attribute(x), 12.0),
    (lambda x: globals().get("Y")[0] * square(x) if "Y" in globals() else x, 1.6),
])  # fmt: skip
def test_numba_functions_are_used_as_values_and_names(f, slope):
    assert contad.grad(f)(2.0) == contad.derivative(f)(2.0) == pytest.approx(slope)


def test_a_class_inside_a_function():
    def f(x):
        class Local:
            def square(self, x):
                return square(x)

        assert Local.__module__ == __name__
        return Local().square(x)

    assert contad.grad(f)(3.0) == 6.0


def test_an_inner_function_that_assigns_to_globals():
    def f(x):
        def note():
            global noted
            noted = square(3.0)

        note()
        return x * noted

    assert contad.grad(f)(2.0) == 9.0 and globals().pop("noted") == 9.0


@numba.njit
def raise_first(a, x):
    a[0] += 1.0
    return a[:1], x * a[0]


def test_a_returned_view_is_of_the_callers_array():
    def f(x):
        a = np.zeros(2)
        first, y = raise_first(a, x)
        first[0] += 3.0
        return a[0] * y

    assert contad.value_and_grad(f)(2.0) == (8.0, 4.0)
