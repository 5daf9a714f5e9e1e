"""Unmodified NumPy code: `math`, arrays that are made and assigned to, and functions however they are reached."""

import functools
import gc
import math
import re
import types
from math import exp

import numpy as np
import pytest
import scipy.linalg
import scipy.special
from numpy import zeros

import contad
from contad.errors import LostDerivativeError
from contad.functions.bound_names import bind_names
from contad.functions.math_functions import OF_MATH
from tests.judges.ways import differences

X = np.array([0.5, 1.3, 0.7])


def agree(f, x=X, hessian=True):
    """The gradient, the tangent and the Hessian of f against differences of f itself."""
    expected = differences(f, x)
    value, gradient = contad.value_and_grad(f)(x)
    assert value == pytest.approx(f(x), rel=1e-14)
    np.testing.assert_allclose(gradient, expected, rtol=1e-7, atol=1e-8)
    direction = np.linspace(1.0, 2.0, len(x))
    assert contad.jvp(f, (x,), (direction,))[1] == pytest.approx(expected @ direction, rel=1e-7, abs=1e-8)
    if hessian:
        found = contad.hessian(f)(x)
        rows = [differences(lambda y, k=k: contad.grad(f)(y)[k], x) for k in range(len(x))]
        np.testing.assert_allclose(found, rows, rtol=1e-6, atol=1e-7)


# ---- what people write -----------------------------------------------------------------------------------------------
def rotation(x):
    """A matrix filled element by element."""
    r = np.zeros((2, 2))
    r[0, 0] = np.cos(x[0])
    r[0, 1] = -np.sin(x[0])
    r[1, 0] = np.sin(x[0])
    r[1, 1] = np.cos(x[0])
    return (r @ np.array([x[1], 2.0]))[0]


def accumulated(x):
    a = np.zeros(3)
    a += x
    a *= x
    return a.sum()


def by_index(x):
    out = np.empty_like(np.ones(3))
    for i in range(3):
        out[i] = x[i] * x[2 - i]
    return np.dot(out, out)


def of_math(x):
    return math.exp(x[0]) * math.sin(x[1]) + math.sqrt(x[2])


def stencil(x):
    u = np.zeros(5)
    u[1:-1] = x
    new = np.copy(u)
    for _ in range(3):
        new[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u, new = new, u
    return np.sum(u**2)


def recursion(x):
    s = np.zeros((4, 2))
    s[0] = x[:2]
    for t in range(1, 4):
        s[t, 0] = s[t - 1, 0] + 0.1 * s[t - 1, 1]
        s[t, 1] = s[t - 1, 1] - 0.1 * math.sin(s[t, 0]) * x[2]
    return s[-1, 0] ** 2 + s[:, 1].sum()


@pytest.mark.parametrize("f", [rotation, accumulated, by_index, of_math, stencil, recursion], ids=lambda f: f.__name__)
def test_code_as_it_was_typed(f):
    agree(f)


# ---- np.vectorize ----------------------------------------------------------------------------------------------------
@np.vectorize
def of_elements(v):
    return math.exp(v) if v > 1.0 else v * v


@functools.partial(np.vectorize, otypes=[float], excluded=["shift"])
def of_two(v, w, shift=0.0):
    return math.sin(v) * w + shift


@np.vectorize
def two_results(v):
    return math.sin(v), v**3


VECTORIZED = {
    "inside": lambda x: np.vectorize(lambda v: math.exp(v) * v)(x).sum(),
    "decorated": lambda x: (of_elements(x) * x)[1:].sum(),
    "with a constant": lambda x: of_two(x.reshape(3, 1), np.arange(3.0), shift=0.3)[1:, 2].sum(),
    "by name": lambda x: of_two(x, w=x[::-1] * x).sum(), "of a number": lambda x: of_elements(x[1]) * x[0],
    "of a list": lambda x: of_elements([x[0], 1.0]).sum() * x[2],
    "several": lambda x: (two_results(x)[0] * two_results(x)[1]).sum(),
}  # fmt: skip


@pytest.mark.parametrize("engine", [None, "records", "closures"])
@pytest.mark.parametrize("name", VECTORIZED)
def test_vectorized_functions(name, engine):
    f = VECTORIZED[name]
    np.testing.assert_allclose(contad.grad(f, engine=engine)(X), differences(f, X), rtol=1e-7, atol=1e-8)
    assert of_elements(X)[0] == 0.25


# ---- arrays that are made --------------------------------------------------------------------------------------------
MAKERS = {
    "zeros": lambda x: np.zeros(3), "ones": lambda x: np.ones(3), "empty": lambda x: np.empty(3),
    "full": lambda x: np.full(3, 0.5), "full of a variable": lambda x: np.full(3, x[1]),
    "zeros_like": lambda x: np.zeros_like(np.ones(3)), "full_like": lambda x: np.full_like(np.ones(3), x[0]),
    "array": lambda x: np.array([1.0, 2.0, 3.0]), "array of variables": lambda x: np.array([x[0], 2.0, x[1] * x[2]]),
    "asarray of a list": lambda x: np.asarray([1.0, 2.0, 3.0]),
    "array of rows": lambda x: np.array([x, 2.0 * x])[1], "eye": lambda x: np.eye(3)[1], "arange": lambda x:
    np.arange(3.0), "linspace": lambda x: np.linspace(0.0, 1.0, 3), "copy": lambda x: np.copy(DATA),
    "imported": lambda x: zeros(3), "F order": lambda x: np.zeros((3, 2), order="F")[:, 1],
    "fromiter": lambda x: np.fromiter((v * v for v in x), float), "ascontiguousarray": lambda x:
    np.ascontiguousarray(np.stack([x, x])[:, ::2].T[:, 0].repeat(2)[:3]),
    "array with a type": lambda x: np.array(x * 2.0, float),
    "asarray with a type": lambda x: np.asarray([x[2], 1.0, 0.5], dtype=float),
}  # fmt: skip
DATA = np.array([0.4, -1.0, 2.0])


@pytest.mark.parametrize("name", MAKERS)
def test_variables_are_assigned_to_what_numpy_makes(name):
    def f(x):
        a = MAKERS[name](x)
        b = a * 1.0
        a[1] = x[0] * x[2]
        a[0] = 0.3
        return np.sum(a * np.exp(x)) + (b * x).sum() * 0.5 if name != "empty" else np.sum(a[:2] * x[:2])

    before = DATA.copy()
    agree(f)
    np.testing.assert_array_equal(DATA, before)


def test_arrays_are_plain_until_a_variable_is_assigned():
    seen = []

    def constants(x):
        a = np.zeros(3)
        a[1] = 2.0
        seen.append(type(a))
        return np.sum(a * x)

    assert contad.grad(constants)(X).tolist() == [0.0, 2.0, 0.0] and seen == [np.ndarray]


def test_a_function_runs_again_once_and_from_then_on_with_room():
    runs = []

    def f(x, rows):
        runs.append(len(runs))
        a = np.zeros(2)
        x[0] = 2.0 * x[0]  # what it did to its arguments is undone
        rows.append(x[0])
        a[0] = rows[-1] * len(rows)
        return a[0] * x[1]

    for _ in range(2):
        assert contad.grad(f)(X, []).tolist() == [2.6, 1.0, 0.0]
    assert len(runs) == 3
    assert contad.jvp(lambda x: f(x, []), (X,), (X,))[1] == pytest.approx(2.6)


def test_constants_go_where_plain_arrays_go():
    """Arrays with room that hold no variable yet, as SciPy, float and lists see them."""

    def f(x):
        a = np.eye(3)
        b = np.linspace(0.5, 1.0, 3)
        inverse = scipy.linalg.inv(a + 1.0) @ b
        order = np.argsort(b)[::-1]
        total = float(b[1]) + scipy.special.logsumexp(b) + len(b.tolist()) + np.fft.rfft(b).real[0]
        a[0] = x
        c = np.zeros(3)
        c[order] = x * b
        return np.sum(a @ c) * total + inverse @ x

    agree(f)


def test_the_plain_array_of_constants_is_not_written_to():
    def f(x):
        a = contad.zeros(2)
        with pytest.raises(ValueError, match="read-only"):
            a.__array__()[0] = 1.0
        np.array(a)[0] = 1.0
        return a[0] + x[0]

    assert contad.grad(f)(X).tolist() == contad.jvp(f, (X,), (np.eye(3),), several=True)[1].tolist() == [1.0, 0.0, 0.0]


def test_values_that_depend_on_variables_do_not_become_floats():
    def f(x):
        a = np.zeros(3)
        a[0] = x[0]
        return scipy.linalg.inv(np.diag(np.asarray(a) + 1.0))[0, 0]

    for call in (lambda: contad.grad(f)(X), lambda: contad.jvp(f, (X,), (X,))):
        with pytest.raises(LostDerivativeError, match="contad.scipy.linalg"):
            call()


def test_other_types_keep_no_variables():
    def f(x):
        a = np.zeros(3, dtype=np.float32)
        a[0] = x[0]
        return a[0]

    with pytest.raises(LostDerivativeError):
        contad.grad(f)(X)


# ---- math ------------------------------------------------------------------------------------------------------------
CALLS = {
    "log": lambda x: math.log(x[0]) + math.log(x[1], x[2] + 2.0) + math.log(x[0], 2),
    "hypot": lambda x: math.hypot(x[0], x[1]) + math.hypot(*x) + math.hypot(x[2]),
    "dist": lambda x: math.dist(x, [1.0, 2.0, 3.0]),
    "fsum": lambda x: math.fsum(v * v for v in x), "prod": lambda x: math.prod(x) + math.prod(x, start=x[0]),
    "fmod": lambda x: math.fmod(7.3 * x[1], x[0]) + math.fmod(-5.2, x[0]),
    "remainder": lambda x: math.remainder(9.7 * x[1], x[0]),
    "ldexp": lambda x: math.ldexp(x[0] * x[1], 3),
    "frexp": lambda x: math.frexp(9.0 * x[0])[0] * math.frexp(9.0 * x[1])[1],
    "modf": lambda x: math.modf(9.0 * x[0])[0] * math.modf(9.0 * x[1])[1] * x[2],
    "pow": lambda x: math.pow(x[0], x[1]),
    "atan2": lambda x: math.atan2(x[0], x[1]), "copysign": lambda x: math.copysign(x[0], -x[1]) * x[2],
    "isclose": lambda x: x[0] if math.isclose(x[0], x[0] + 1e-12) and not math.isnan(x[1]) else x[1],
    "floor": lambda x: x[0] * math.floor(3.0 * x[1]) + math.ceil(x[2]) + math.trunc(x[1]),
    "of a float": lambda x: math.exp(0.5) * x[0],
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_functions_of_math(name):
    call = CALLS[name]
    agree(lambda x: call(x) * (1.0 + x[1] * x[1]))


def test_every_rule_that_names_a_function_of_math_answers_for_it():
    for name in ("sin", "acosh", "gamma", "lgamma", "erf", "expm1", "cbrt", "radians", "atanh"):
        function, x = getattr(math, name), 1.3 if name == "acosh" else 0.4
        h = 1e-6
        slope = (function(x + h) - function(x - h)) / (2.0 * h)
        assert contad.derivative(lambda x, name=name: OF_MATH[name](x))(x) == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize(
    ("f", "x"),
    [(lambda x: math.log(x), -1.0), (lambda x: math.exp(x), 1e4), (lambda x: math.pow(x, 0.5), -2.0),
     (lambda x: math.acos(x), 2.0), (lambda x: math.gamma(x), 0.0), (lambda x: math.fmod(x, 0.0), 1.0)],
)  # fmt: skip
def test_errors_are_those_of_math(f, x):
    with pytest.raises((ValueError, OverflowError)) as plain:
        f(x)
    for call in (contad.grad(f), contad.derivative(f)):
        with pytest.raises(type(plain.value)) as raised:
            call(x)
        assert str(raised.value) == str(plain.value)


def test_math_of_several_elements_raises_as_of_arrays():
    with pytest.raises(TypeError, match="only length-1 arrays"):
        contad.grad(lambda x: math.exp(x))(X)


# ---- how a function is reached ---------------------------------------------------------------------------------------
class Model:
    """Methods that call each other, a property, static and class methods."""

    offset = 0.5

    def __init__(self, rate):
        self.rate = rate
        self.calls = 0

    def part(self, x):
        self.calls += 1
        return math.exp(self.rate * x[0]) + self.scaled(x[1])

    @staticmethod
    def scaled(v):
        return math.sin(v)

    @classmethod
    def shifted(cls, v):
        return cls.offset + math.cos(v)

    @property
    def curve(self):
        return lambda v: math.tanh(v) * self.rate

    def loss(self, x):
        a = np.zeros(2)
        a[0] = self.part(x)
        a[1] = self.shifted(x[2])
        return np.sum(a * a) + self.curve(x[1])

    def __call__(self, x):
        return self.loss(x) * 2.0


class Later(Model):
    """A class that calls what it overrides."""

    def part(self, x):
        return 2.0 * math.log(x[0] + self.rate) + self.scaled(x[2])


def decorated(f):
    @functools.wraps(f)
    def run(*args):
        return f(*args) * 2.0

    return run


@decorated
def wrapped(x):
    return math.exp(x[0]) * x[1]


def scaled(k, x):
    return k * math.exp(x[0])


def of_the_caller(f, x):
    return f(x) * math.sin(x[1])


MODEL, LATER, HELPERS = Model(0.7), Later(0.3), types.ModuleType("helpers")
HELPERS.scaled, HELPERS.model = scaled, MODEL
LAYERS = [math.sin, lambda v: math.cos(v) + 2.0]
TABLE = {"exp": exp, "own": lambda v: math.exp(-v)}
REACHED = {
    "a method": MODEL.loss, "an object": MODEL, "a method of a global": lambda x: MODEL.loss(x),
    "an object that is called": lambda x: MODEL(x), "an inherited method": lambda x: LATER.loss(x),
    "a class": lambda x: Model.scaled(x[0]) + x[1],
    "a partial": functools.partial(scaled, 3.0), "a partial inside": lambda x: functools.partial(scaled, x[1])(x),
    "a module": lambda x: HELPERS.scaled(2.0, x), "a list": lambda x: sum(f(x[0]) for f in LAYERS),
    "a dict": lambda x: TABLE["exp"](x[0]) * TABLE["own"](x[1]), "a decorator": wrapped, "in a comprehension":
    lambda x: sum([math.exp(v) for v in x]), "an inner function":
    lambda x: sum(math.exp(v) * exp(x[1]) for v in x),
    "a default": lambda x, f=scaled: f(2.0, x), "an argument": lambda x: of_the_caller(lambda y: math.cosh(y[0]), x),
    "map": lambda x: sum(map(math.exp, x)),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in REACHED if name != "a class"])
def test_functions_are_found_however_they_are_reached(name):
    agree(REACHED[name], hessian=False)


def test_objects_share_their_attributes_with_the_users():
    model = Model(0.7)
    contad.grad(lambda x: model.loss(x))(X)
    assert model.calls == 2  # the first run met an array without room
    contad.grad(model.loss)(X)
    assert model.calls >= 3
    model.rate = 0.2
    agree(model.loss, hessian=False)


RATE = 2.0


def helper(x):
    return math.exp(x * RATE)


def calling(x):
    return helper(x)


def test_names_are_read_live(monkeypatch):
    gradient = contad.grad(calling)
    assert gradient(0.5) == pytest.approx(2.0 * math.e)
    monkeypatch.setitem(globals(), "RATE", 3.0)
    assert gradient(0.5) == pytest.approx(3.0 * math.exp(1.5))
    monkeypatch.setitem(globals(), "helper", lambda x: math.sin(x))
    assert gradient(0.5) == pytest.approx(math.cos(0.5))
    monkeypatch.setitem(globals(), "math", types.SimpleNamespace(exp=lambda x: 7.0 * x))
    monkeypatch.setitem(globals(), "helper", lambda x: math.exp(x))
    assert gradient(0.5) == 7.0


def test_the_function_itself_is_not_touched():
    before = calling.__code__, helper.__code__, calling.__globals__ is globals(), set(globals())
    contad.grad(calling)(0.5)
    assert before == (calling.__code__, helper.__code__, calling.__globals__ is globals(), set(globals()))


def test_a_lost_derivative_names_its_expression():
    def f(x):
        a = np.zeros(3, np.float32)
        a[1] = x[0] * x[2]
        return a.sum()

    for g, line, what, told in [
        (f, 2, "a[1] = x[0] * x[2]", "a is a plain array of float32, .* a = np.array\\(a, dtype=float\\)"),
        (lambda x: 2.0 * float(x[1]), 0, "float(x[1])", "float: a variable cannot become"),
    ]:
        place = f"{__file__}:{g.__code__.co_firstlineno + line}: {what}: "
        with pytest.raises(LostDerivativeError, match=f"^{re.escape(place)}{told}"):
            contad.grad(g)(X)


def test_lines_of_errors_are_the_users():
    def f(x):
        a = np.zeros(2)
        a[0] = math.exp(x[0])
        raise KeyError("here")

    with pytest.raises(KeyError) as raised:
        contad.grad(f)(X)
    frame = raised.traceback[-1]
    assert str(frame.path) == __file__ and frame.lineno + 1 == f.__code__.co_firstlineno + 3


def test_a_function_that_names_none_of_it_runs_as_it_is():
    def f(x):
        return np.sum(np.tanh(x)) * RATE

    assert contad.grad(f).direct is f


def test_without_source():
    names = {"np": np, "math": math}
    exec("def f(x):\n    a = np.zeros(2)\n    a[1] = math.exp(x[0])\n    return a.sum() * x[1]", names)
    agree(names["f"])


def test_no_copy_is_kept_of_functions_that_have_gone():
    def count():
        gc.collect()
        return sum(type(x) is types.FunctionType and x.__name__ == "gone_soon" for x in gc.get_objects())

    def gone_soon(x):
        return math.exp(x)

    contad.grad(gone_soon)(1.0)
    del gone_soon
    assert count() == 0


# ---- code with constants ---------------------------------------------------------------------------------------------
def test_names_are_bound_in_all_code_inside():
    def f(x):
        def inner(y):
            return [scale * y for _ in range(2)]  # noqa: F821

        try:
            return inner(x)[1] + scale  # noqa: F821
        finally:
            x += 1

    bound = types.FunctionType(bind_names(f.__code__, {"scale": 3.0}), {"range": range})
    assert bound(2.0) == 9.0
    with pytest.raises(NameError):
        f(2.0)


def test_more_constants_than_a_byte_counts():
    names = {f"v{k}": float(k) for k in range(700)}
    exec("def f(x):\n" + "".join(f"    x = x + v{k} + {k}.25\n" for k in range(700)) + "    return x", names)
    bound = types.FunctionType(bind_names(names["f"].__code__, {"v3": 10.0, "v650": 0.0}), names)
    assert bound(0.0) == names["f"](0.0) + 7.0 - 650.0
