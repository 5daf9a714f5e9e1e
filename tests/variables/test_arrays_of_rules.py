"""Functions of users' rules are given float arrays or array variables, never object arrays, which C code misreads."""

import ctypes
import importlib
import itertools
from typing import NamedTuple

import numpy as np
import pytest
from numpy import frombuffer

import contad
from contad import custom_jvp, custom_vjp, function_gradients, grad, hessian, jacobian, jvp
from contad.engines import engine_names
from contad.errors import LostDerivativeError, RuleError, UnsupportedError, VariableError
from contad.rules.array_rule import array_rule
from contad.testing import check_grads
from contad.variables import arrays_of_rules
from contad.variables.trees import leaves_of

X, Y = np.array([0.7, -1.2, 0.4]), np.array([0.3, 2.0, -0.7])
POINTER = ctypes.POINTER(ctypes.c_double)


@ctypes.CFUNCTYPE(None, ctypes.c_long, POINTER, POINTER)
def square_in_c(n, x, z):
    for k in range(n):
        z[k] = x[k] * x[k]


def call_c(x):
    z = np.empty(x.shape)
    square_in_c(x.size, x.ctypes.data_as(POINTER), z.ctypes.data_as(POINTER))
    return z


@custom_vjp
def square(x):
    return call_c(x)


square.defvjp(lambda x: (call_c(x), x), lambda x, d: (2.0 * x * d,))


# ---- rules that look at what they are given --------------------------------------------------------------------------
def look(*given):
    """Refuse object arrays, whatever holds them."""
    for x in given:
        for leaf in leaves_of(x):
            assert not (isinstance(leaf, np.ndarray) and leaf.dtype == object), f"an object array: {leaf}"
    return given[0]


@custom_vjp
def by_vjp(x, y):
    return np.exp(look(x, y)) * y


by_vjp.defvjp(
    lambda x, y: (np.exp(look(x, y)) * y, {"x": x, "y": [y], "name": "text"}),
    lambda s, d: (look(d, s) * np.exp(s["x"]) * s["y"][0], d * np.exp(s["x"])),
)


@custom_vjp
def by_itself(x, y):
    return np.exp(look(x, y)) * y


by_itself.defvjp(
    lambda x, y: (by_itself(look(x, y), y), (x, y)), lambda s, d: (look(d, s) * by_itself(*s), d * np.exp(s[0]))
)


with_option = custom_vjp(lambda x, p, y: np.exp(look(x, p, y)) * y * p, nondiff_argnums=(1,))
with_option.defvjp(
    lambda x, p, y: (np.exp(look(x, p, y)) * y * p, (x, y)),
    lambda p, s, d: (look(d, p, s) * p * np.exp(s[0]) * s[1], d * p * np.exp(s[0])),
)


@custom_jvp
def by_jvp(x, y):
    return np.exp(look(x, y)) * y


@by_jvp.defjvp
def by_jvp_rule(primals, tangents):
    (x, y), (x_dot, y_dot) = look(primals, tangents), tangents
    z = by_jvp(x, y)
    return z, x_dot * z + np.exp(x) * y_dot


def by_gradients(x, y):
    return function_gradients(
        (x, y), lambda x, y: np.exp(look(x, y)) * y,
        (lambda z, d, x, y: look(d, z, x, y) * z, lambda z, d, x, y: look(d, z, x, y) * np.exp(x)),
    )  # fmt: skip


@array_rule
def looked_at(x, y):
    return np.exp(look(x, y)) * y


@looked_at.forward
def looked_at_forward(x, y):
    return looked_at(look(x, y), y), x


@looked_at.vjp("x")
def looked_at_vjp_x(z, z_bar, x, y, saved):
    return z_bar * looked_at(x, y)


@looked_at.vjp("y")
def looked_at_vjp_y(z, z_bar, x, y, saved):
    return z_bar * np.exp(x)


RULES = {
    "custom_vjp": by_vjp, "custom_vjp of itself": by_itself, "custom_jvp": by_jvp, "array_rule": looked_at,
    "function_gradients": by_gradients, "an option": lambda x, y: with_option(x, contad.full(3, 1.0), y),
}  # fmt: skip
NESTED = [
    *itertools.product(engine_names(), repeat=2),
    ("closures", "closures", "closures"), ("records", "matrix", "closures"), ("matrix", "records", "matrix"),
]  # fmt: skip


def differentiated(f, engines):
    """The gradient of one number made of f, after one number made of each gradient, the innermost engine first."""

    def g(x, y):
        return np.sum(f(x * y, y) * np.sin(x))

    for engine in engines[:-1]:
        g = along(grad(g, (0, 1), engine=engine))
    return np.concatenate(grad(g, (0, 1), engine=engines[-1])(X, Y))


def along(gradient):
    return lambda x, y: np.sum(gradient(x, y)[0] * Y) + np.sum(gradient(x, y)[1] * X)


@pytest.mark.parametrize("engines", NESTED, ids=" over ".join)
@pytest.mark.parametrize("kind", RULES)
def test_every_rule_in_every_nesting(kind, engines):
    expected = differentiated(lambda x, y: np.exp(x) * y, ["matrix"] * len(engines))
    np.testing.assert_allclose(differentiated(RULES[kind], engines), expected, rtol=1e-11)


class Pair(NamedTuple):
    first: object
    second: object


def _value_of(x):
    look(contad.value_of(x), contad.value_of([x, x[1:]]))
    assert isinstance(contad.value_of(x[0]), float)
    return contad.value_of(x) * x


def _solve(x):
    return np.linalg.solve(np.outer(x, x) + np.eye(3), x)


BODIES = {
    "trees": (
        lambda x: (Pair(x * x, [x[0], {"k": np.sin(x)}]), (x, Pair(x, "text"), None)),
        lambda s, d: (2.0 * s[0] * d.first + d.second[1]["k"] * np.cos(s[1].first) + d.second[0] * np.eye(3)[0],),
    ),
    "the argument": (lambda x: (x, x), lambda x, d: (d * x * x,)),
    "value_of": (lambda x: (_value_of(x), x), lambda x, d: (2.0 * d * x,)),
    "stop_gradient": (lambda x: (contad.stop_gradient(x) * x, x), lambda x, d: (2.0 * d * x,)),
    "np.linalg": (lambda x: (_solve(x), x), lambda x, d: contad.vjp(_solve, x)[1](d)),
    "an inner gradient": (
        lambda x: (grad(lambda y: np.sum(y**3 * x))(x), x), lambda x, d: (d * grad(lambda y: np.sum(y**3 * x))(x),)
    ),
}  # fmt: skip


@pytest.mark.parametrize("engines", NESTED[:9], ids=" over ".join)
@pytest.mark.parametrize("body", BODIES)
def test_arrays_in_a_body_act_like_array_variables(body, engines):
    rule = custom_vjp(lambda x: BODIES[body][0](x)[0])
    rule.defvjp(lambda x: BODIES[body][0](x), lambda s, d: BODIES[body][1](s, d))
    f = lambda x: sum(np.sum(z * np.cos(x[0])) for z in leaves_of(rule(x)))
    second = lambda inner, outer: grad(lambda x: np.sum(grad(f, engine=inner)(x) * Y), engine=outer)(X)
    np.testing.assert_allclose(second(*engines), second("matrix", "matrix"), rtol=1e-11)


@pytest.mark.parametrize("engine", engine_names())
@pytest.mark.parametrize("kind", ["custom_jvp", "function_gradients"])
def test_forward_mode_over_and_under_every_engine(kind, engine):
    f = RULES[kind]
    tangent = lambda x: np.sum(jvp(lambda x: f(x, Y), (x,), (Y,))[1])
    expected = np.exp(X) * Y * Y
    np.testing.assert_allclose(grad(tangent, engine=engine)(X), expected, rtol=1e-12)
    of_gradient = grad(lambda x: np.sum(f(x, Y)), engine=engine)
    np.testing.assert_allclose(jvp(of_gradient, (X,), (Y,))[1], expected, rtol=1e-12)


@pytest.mark.parametrize("make", [lambda: contad.full(3, 2.0), lambda: np.array([2.0, 2, 2], object)])
@pytest.mark.parametrize("engine", engine_names())
@pytest.mark.parametrize("kind", RULES)
def test_arrays_of_constants_are_float_arrays(kind, engine, make):
    f = RULES[kind]
    np.testing.assert_allclose(grad(lambda x: np.sum(f(make(), x)), engine=engine)(X), np.exp([2.0] * 3))
    np.testing.assert_allclose(grad(lambda x: np.sum(f(make(), make()) * x), engine=engine)(X), 2.0 * np.exp([2.0] * 3))
    got = grad(lambda x: np.sum(square(make()) * x), engine=engine)(X)
    np.testing.assert_array_equal(got, [4.0, 4.0, 4.0])


def test_the_looking_rules_find_object_arrays(monkeypatch):
    for module in (arrays_of_rules, importlib.import_module("contad.rules.array_rule")):
        monkeypatch.setattr(module, "holds_objects", lambda parts: False)
    for kind, f in RULES.items():
        if kind != "custom_jvp":  # whose gradient is that of another level
            with pytest.raises(AssertionError, match="an object array"):
                differentiated(f, ("closures", "closures"))


# ---- code in C -------------------------------------------------------------------------------------------------------
def total(x):
    return np.sum(square(x))


HIGHER = {
    "jacobian of grad": lambda engine: jacobian(grad(total, engine=engine), engine=engine)(X),
    "grad of grad": lambda engine: grad(lambda x: np.sum(grad(total, engine=engine)(x)), engine=engine)(X),
    "hessian": lambda engine: hessian(total, engine=engine)(X),
    "jvp of grad": lambda engine: jvp(grad(total, engine=engine), (X,), (X,)),
}


@pytest.mark.parametrize("engine", engine_names())
def test_a_rule_around_c_code_has_first_derivatives_on_every_engine(engine):
    np.testing.assert_allclose(grad(lambda x: np.sum(square(x) * Y), engine=engine)(X), 2.0 * X * Y)


@pytest.mark.parametrize("engine", engine_names())
@pytest.mark.parametrize("what", HIGHER)
def test_its_second_derivatives_are_refused(what, engine):
    with pytest.raises(AttributeError, match=r"no attribute 'ctypes'; call code in C inside a rule, contad.custom_vjp"):
        HIGHER[what](engine)


@pytest.mark.parametrize("engine", engine_names())
def test_rules_within_a_rule_have_every_order(engine):
    twice = custom_vjp(lambda x: call_c(x))
    twice.defvjp(lambda x: (call_c(x), x), lambda x, d: (doubled(x) * d,))
    doubled = custom_vjp(lambda x: 2.0 * x)
    doubled.defvjp(lambda x: (2.0 * x, None), lambda _, d: (2.0 * d,))
    twice.defvjp(lambda x: (twice(x), x), lambda x, d: (doubled(x) * d,))  # its forward is itself, a rule
    found = jacobian(grad(lambda x: np.sum(twice(x)), engine=engine), engine=engine)(X)
    np.testing.assert_array_equal(found, 2.0 * np.eye(3))


def test_check_grads_of_such_a_rule_names_order_1():
    assert check_grads(square, (X,), order=1).passed["gradient"] > 0
    with pytest.raises(AssertionError, match=r"leg hessian.*contad\.custom_vjp.*; order=1 checks first deriv"):
        check_grads(square, (X,))


@pytest.mark.parametrize(("read", "error"), [
    (lambda x: x.ctypes, AttributeError), (lambda x: x.data, AttributeError), (memoryview, LostDerivativeError),
    (np.frombuffer, LostDerivativeError),
    (np.ctypeslib.ndpointer(np.float64).from_param, LostDerivativeError),
])  # fmt: skip
@pytest.mark.parametrize("transform", [grad, lambda f: lambda x: jvp(f, (x,), (x,))])
def test_reads_of_a_variables_memory_are_answered_with_advice_on_rules(read, error, transform):
    with pytest.raises(error, match=r"contad\.custom_vjp") as caught:
        transform(lambda x: np.sum(read(x)))(X)
    assert "value_of" not in str(caught.value)


READERS = {  # what of ndarrays code in C is called with, and how the numbers are read there
    "ctypes.data_as": lambda x: call_c(x)[0],
    "ctypes.data": lambda x: ctypes.c_double.from_address(x.ctypes.data).value,
    "as an argument": lambda x: (np.ctypeslib.ndpointer(ndim=1).from_param(x), 0.0)[1],
    "np.frombuffer": lambda x: np.frombuffer(x).sum(),
    "frombuffer": lambda x: frombuffer(x).sum(),
    "tobytes": lambda x: np.frombuffer(x.tobytes()).sum(),
    "from_buffer": lambda x: (ctypes.c_double * x.size).from_buffer(x)[0],
    "from_buffer_copy": lambda x: (ctypes.c_double * x.size).from_buffer_copy(x)[0],
    "in a function": lambda x: sum_in_c(x),
}
MADE = {  # arrays in a plain function
    "argument": lambda x: x, "view": lambda x: x[1:], "computed": lambda x: np.exp(x) * 2.0,
    "of a list": lambda x: np.array([x[0], 2.0], dtype=object), "of one variable": lambda x: np.append(Y, x[0]),
}  # fmt: skip
BY = {
    "grad": lambda f, engine: grad(f, engine=engine)(X),
    "jacobian": lambda f, engine: jacobian(f, engine=engine)(X),
    "hessian": lambda f, engine: hessian(f, engine=engine)(X),
    "jvp inside": lambda f, engine: grad(lambda x: jvp(f, (x,), (X,))[0], engine=engine)(X),
    "jvp": lambda f, _: jvp(f, (X,), (X,)),
}


def sum_in_c(x):
    return float(sum(x.ctypes.data_as(POINTER)[k] for k in range(x.size)))


@pytest.mark.parametrize("engine", ["closures", "records"])
@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("read", READERS)
def test_the_memory_of_object_arrays_is_not_given_to_code_in_c(read, by, engine):
    assert np.isfinite(READERS[read](X))
    for made in MADE.values():
        with pytest.raises((AttributeError, VariableError), match=r"contad\.custom_vjp|tobytes: not supported"):
            BY[by](lambda x, made=made: READERS[read](made(x)) + x[0], engine)


def test_addresses_that_nobody_looks_at_are_found(monkeypatch):
    pointers = type(X.ctypes)
    monkeypatch.setattr(pointers, "__init__", pointers.__init__.__wrapped__)
    with pytest.raises(pytest.fail.Exception):
        test_the_memory_of_object_arrays_is_not_given_to_code_in_c("ctypes.data", "grad", "closures")


def test_other_object_arrays_have_their_addresses():
    words = np.array(["a", None, 2.0], dtype=object)
    assert words.ctypes.data == words.__array_interface__["data"][0]
    assert ctypes.cast(words.ctypes.data, ctypes.POINTER(ctypes.py_object))[0] == "a"
    assert len(words.tobytes()) == np.frombuffer(words.tobytes(), np.uint8).size == words.nbytes


# ---- continuations ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("engine", ["closures", "records"])
def test_an_array_with_a_continuation_needs_array_variables(engine):
    with pytest.raises(UnsupportedError, match="make_callback_var: the engine .* has no array variables; leave eng"):
        grad(lambda x: np.sum(contad.make_callback_var(X, lambda z, adj: None)), engine=engine)(X)


@pytest.mark.parametrize("engine", engine_names())
def test_a_continuation_inside_a_rule_is_refused(engine):
    rule = custom_vjp(lambda x: x * x)

    def forward(x):
        z = contad.make_callback_var(contad.value_of_rec(x) ** 2, lambda z, adj: adj.add(x, adj[z]))
        return z, x

    rule.defvjp(forward, lambda x, d: (2.0 * d * x,))
    with pytest.raises((RuleError, UnsupportedError)):
        jacobian(grad(lambda x: np.sum(rule(x)), engine=engine), engine=engine)(X)
