"""Rules that users write for one function, checkpoints, stop_gradient: right at every order, and named where wrong."""

import functools
import re

import numpy as np
import pytest

import contad
from contad import checkpoint, custom_jvp, custom_vjp, derivative, function_gradients, grad, hessian, hvp, jacobian, jvp
from contad.engines import engine_names
from contad.errors import ContadError, OverlapError, RuleError, UnsupportedError
from contad.testing import check_grads, expect_ad
from contad.transforms import operation
from contad.variables.stack import stack
from tests.judges import ways
from tests.judges.samples import sampled

X = np.array([0.7, -1.2, 0.4])


def by_function_gradients(x, y):
    return function_gradients(
        (x, y), lambda x, y: np.exp(x) * y, (lambda z, d, x, y: d * z, lambda z, d, x, y: d * np.exp(x))
    )


@custom_jvp
def by_custom_jvp(x, y):
    return np.exp(x) * y


@by_custom_jvp.defjvp
def by_custom_jvp_rule(primals, tangents):
    (x, y), (x_dot, y_dot) = primals, tangents
    z = by_custom_jvp(x, y)
    return z, x_dot * z + np.exp(x) * y_dot


@custom_jvp
def by_terms(x, y):
    return np.exp(x) * y


by_terms.defjvps(lambda t, z, x, y: t * z, lambda t, z, x, y: t * np.exp(x))


@custom_vjp
def by_custom_vjp(x, y):
    return np.exp(x) * y


by_custom_vjp.defvjp(
    lambda x, y: (np.exp(x) * y, (x, y)),
    lambda saved, d: (d * np.exp(saved[0]) * saved[1], d * np.exp(saved[0])),
)


@checkpoint
def by_checkpoint(x, y):
    return np.exp(x) * y


FUNCTIONS = {f.__name__: f for f in (by_function_gradients, by_custom_jvp, by_terms, by_custom_vjp, by_checkpoint)}


# ---- right at every order --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", sampled(FUNCTIONS, 3))
def test_numbers_to_third_order(name):
    f = FUNCTIONS[name]
    modes = ("rev",) if name == "by_custom_vjp" else ("rev", "fwd")
    report = check_grads(
        lambda x, y: f(x, y) * contad.ops.sin(x) + f(y, x), (0.4, 1.3), order=3, modes=modes, engines=engine_names()
    )
    assert report.skipped == {} or "fwd" not in modes


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "by_custom_vjp"])
def test_arrays_in_every_way(name):
    f = FUNCTIONS[name]
    expect_ad(lambda x, y: np.sum(f(x, y * np.ones(3)) * x) * y, X, 1.3)


@pytest.mark.parametrize("engine", engine_names())
def test_forward_over_the_reverse_of_a_custom_vjp(engine):
    def f(x):
        return np.sum(by_custom_vjp(x, 1.3) * x**2)

    def plain(x):
        return np.sum(np.exp(x) * 1.3 * x**2)

    np.testing.assert_allclose(grad(f, engine=engine)(X), grad(plain)(X), rtol=1e-14)
    np.testing.assert_allclose(hessian(f, engine=engine)(X), hessian(plain)(X), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(hvp(f, engine=engine)(X, X), hessian(plain)(X) @ X, rtol=1e-13)
    second = grad(lambda x: np.sum(grad(f, engine=engine)(x) * X), engine=engine)(X)
    np.testing.assert_allclose(second, hessian(plain)(X) @ X, rtol=1e-13)


def test_the_rule_is_used_and_not_the_function():
    @custom_vjp
    def f(x):
        return x * x

    f.defvjp(lambda x: (x * x, x), lambda x, d: (d * 100.0 * x,))
    assert f(3.0) == 9.0
    assert grad(f)(3.0) == 300.0
    assert grad(grad(f))(3.0) == 100.0  # backward is differentiated

    @custom_jvp
    def g(x):
        return x * x

    g.defjvp(lambda primals, tangents: (g(*primals), tangents[0] * 100.0 * primals[0]))
    assert grad(g)(3.0) == derivative(g)(3.0) == 300.0
    assert grad(derivative(g))(3.0) == derivative(grad(g))(3.0) == 100.0

    def h(x):
        return function_gradients((x,), lambda x: x * x, (lambda z, d, x: d * 100.0 * h(x),))

    assert grad(h)(3.0) == 900.0
    assert grad(grad(h))(3.0) == derivative(grad(h))(3.0) == 100.0 * 900.0


def test_pytrees_options_and_constants():
    @custom_vjp
    def f(p, power, other):
        return {"z": [p["a"] ** power + np.sum(p["b"]) * other]}

    f.defvjp(
        lambda p, power, other: (f(p, power, other), (p, other)),
        lambda saved, d: ({"a": d["z"][0] * 2.0 * saved[0]["a"], "b": d["z"][0] * saved[1] * np.ones(3)}, None, None),
    )
    found = grad(lambda p: f(p, 2, 3.0)["z"][0] * 2.0)({"a": 1.5, "b": X})
    assert found["a"] == 6.0
    np.testing.assert_array_equal(found["b"], np.full(3, 6.0))

    def by_option(kind, x):
        return np.sum(x**2) if kind == "square" else np.sum(x)

    g = custom_vjp(by_option, nondiff_argnums=(0,))
    g.defvjp(lambda kind, x: (g.f(kind, x), x), lambda kind, x, d: (d * (2.0 * x if kind == "square" else 1.0),))
    np.testing.assert_array_equal(grad(lambda x: g("square", x))(X), 2.0 * X)
    np.testing.assert_array_equal(grad(lambda x: g(x=x, kind="square"))(X), 2.0 * X)


def test_an_option_that_is_a_variable_is_named():
    f = custom_vjp(lambda n, x: x * n, nondiff_argnums=(0,))
    f.defvjp(lambda n, x: (x * n, None), lambda n, saved, d: (d * n,))
    assert grad(lambda x: f(3.0, x))(2.0) == 3.0
    with pytest.raises(RuleError, match=r"nondiff_argnums=\(0,\) must be constants, got a variable"):
        grad(lambda x: f(x, 2.0))(3.0)


def test_several_results():
    @custom_jvp
    def f(x, y):
        return x * y, np.sum(x) + y

    f.defjvp(lambda p, t: (f(*p), (t[0] * p[1] + p[0] * t[1], np.sum(t[0]) + t[1])))
    expect_ad(f, X, 1.3)
    _, pullback = contad.vjp(f, X, 1.3)
    np.testing.assert_allclose(pullback((X, 2.0))[0], 1.3 * X + 2.0)
    assert pullback((X, 2.0))[1] == pytest.approx(X @ X + 2.0)


def test_reverse_and_forward_rules_apart():
    a = np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 0.7]])

    def product(x):
        return function_gradients(
            (x,), lambda x: a @ x, rev=(lambda z, z_bar, x: a.T @ z_bar,), fwd=(lambda z, x_dot, x: a @ x_dot,)
        )

    expect_ad(lambda x: product(x) ** 2, X)


def test_a_result_may_be_written_to():
    """The cotangent is that of what the rule gave."""

    def f(x):
        z = by_checkpoint(x, 2.0)
        total = np.sum(z)
        z[0] = 5.0
        return total + np.sum(z * z)

    expected = 2.0 * np.exp(X) + np.array([0.0, 1.0, 1.0]) * 8.0 * np.exp(2.0 * X)
    np.testing.assert_allclose(grad(f)(X), expected)


def test_stop_gradient():
    for d in (derivative, *(lambda f, e=e: grad(f, engine=e) for e in engine_names())):
        assert d(lambda x: contad.stop_gradient(x * x) * x)(3.0) == 9.0
        assert d(d(lambda x: contad.stop_gradient(x * x) * x * x))(3.0) == 18.0


# ---- checkpoints -----------------------------------------------------------------------------------------------------
def chain(x, steps):
    for _ in range(steps):
        x = np.sin(x) + 0.1 * x
    return x


def test_a_checkpoint_keeps_its_results_only():
    tops = []

    def recorded(step):
        def f(x):
            for _ in range(20):
                x = step(x)
            tops.append(stack().top)
            return np.sum(x)

        return grad(f)(np.full(1000, 0.7))

    plain = recorded(lambda x: chain(x, 20))
    checkpointed = recorded(lambda x: checkpoint(chain)(x, 20))
    np.testing.assert_allclose(checkpointed, plain, rtol=1e-13)
    assert tops[1] < 22_100  # of 1000 numbers each: the argument and 20 results
    assert tops[0] > 1_000_000


def test_a_function_is_evaluated_again_by_each_sweep():
    calls = []

    @checkpoint
    def f(x):
        calls.append(type(x))
        return x**3

    assert grad(lambda x: f(x) * f(x))(1.1) == pytest.approx(6.0 * 1.1**5)
    assert len(calls) == 4
    assert calls[0] is float
    calls.clear()
    assert jvp(f, (1.1,), (1.0,))[1] == pytest.approx(3.0 * 1.1**2)


def test_nested_checkpoints():
    f = checkpoint(lambda x: checkpoint(chain)(checkpoint(chain)(x, 3), 2))
    for d in (derivative, *(lambda f, e=e: grad(f, engine=e) for e in engine_names())):
        assert d(f)(0.7) == pytest.approx(derivative(lambda x: chain(x, 5))(0.7), rel=1e-13)
        assert d(grad(f))(0.7) == pytest.approx(derivative(derivative(lambda x: chain(x, 5)))(0.7), rel=1e-12)


# ---- what is refused, by name ----------------------------------------------------------------------------------------
def with_vjp(forward, backward):
    f = custom_vjp(lambda x: x * 2.0)
    f.__name__ = "f"
    f.defvjp(forward, backward)
    return f


def with_jvp(rule):
    f = custom_jvp(lambda x: x * 2.0)
    f.defjvp(rule)
    return f


def gradients(*grads, **modes):
    return lambda x: function_gradients((x,), np.sum, *grads, **modes)


FORWARD = lambda x: (x * 2.0, None)  # noqa: E731
NUMBER = 0.7
WRONG = {
    "arity of forward": (lambda: with_vjp(lambda x, y: 0, lambda s, d: 0), r"forward must take \(x\), got \(x, y\)"),
    "arity of backward": (lambda: with_vjp(FORWARD, lambda d: 0), r"backward must take \(saved, z_bar\), got \(d\)"),
    "arity of a jvp": (lambda: with_jvp(lambda p: 0), r"the rule must take \(primals, tangents\), got \(p\)"),
    "number of defjvps": (
        lambda: custom_jvp(lambda x: x).defjvps(None, None),
        "one rule for each of 1 arguments, got 2",
    ),
    "number of gradients": (lambda: gradients(())(X), "grads must have one function for each of 1 arguments, got 0"),
    "arity of a gradient": (
        lambda: grad(gradients((lambda z, d: d,)))(X),
        r"sum: grads\[0\] must take \(z, seed, argument 0\), got \(z, d\)",
    ),
    "both": (lambda: gradients((None,), rev=(None,))(X), "grads serves both modes"),
    "no reverse": (lambda: grad(gradients(fwd=(None,)))(X), "no reverse mode; give rev="),
    "no forward": (lambda: jvp(gradients(rev=(None,)), (X,), (X,)), "no forward mode; give fwd="),
    "no rule": (lambda: grad(custom_vjp(lambda x: x))(1.0), r"no rule; declare one with <lambda>.defvjp"),
    "no jvp rule": (lambda: grad(custom_jvp(lambda x: x))(1.0), r"no rule; declare one with <lambda>.defjvp"),
    "forward of a vjp": (lambda: jvp(with_vjp(FORWARD, lambda s, d: (d,)), (1.0,), (1.0,)), "has no forward mode"),
    "no pair": (lambda: grad(with_vjp(lambda x: x, lambda s, d: (d,)))(1.0), r"forward must return \(value, saved\)"),
    "no jvp pair": (lambda: derivative(with_jvp(lambda p, t: t[0]))(1.0), r"must return \(value, tangent\), got float"),
    "number of cotangents": (
        lambda: grad(with_vjp(FORWARD, lambda s, d: (d, d)))(1.0),
        "must have one cotangent for each of 1 arguments, got 2",
    ),
    "no tuple": (lambda: grad(with_vjp(FORWARD, lambda s, d: d))(1.0), "for each of 1 arguments, got float"),
    "shape of a cotangent": (
        lambda: grad(lambda x: np.sum(with_vjp(FORWARD, lambda s, d: (d[:2],))(x)))(X),
        r"the cotangent of argument 0 must have shape \(3,\), got shape \(2,\)",
    ),
    "structure of a cotangent": (
        lambda: grad(with_vjp(FORWARD, lambda s, d: ([d],)))(1.0),
        "the cotangent of argument 0 must have the structure of",
    ),
    "shape of a gradient": (
        lambda: grad(gradients((lambda z, d, x: d,)))(X),
        r"the cotangent of argument 0 must have shape \(3,\), got shape \(\)",
    ),
    "shape of a tangent": (
        lambda: jvp(gradients((lambda z, d, x: d * x,)), (X,), (X,)),
        r"its tangent must have shape \(\), got shape \(3,\)",
    ),
    "a complex cotangent": (
        lambda: grad(with_vjp(FORWARD, lambda s, d: (d * 1j,)))(1.0),
        "the cotangent of argument 0 must have the structure of its argument, a number or an array, got a complex",
    ),
    "a complex tangent": (
        lambda: derivative(with_jvp(lambda p, t: (p[0] * 2.0, t[0] * 1j)))(1.0),
        "its tangent must have the structure of its value, a number or an array, got a complex number",
    ),
    "kind of a cotangent": (
        lambda: grad(lambda x: np.sum(with_vjp(FORWARD, lambda s, d: (d * 1j,))(x)))(X),
        "the cotangent of argument 0 must have the structure of its argument, .* got a complex array",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_rule_is_named(what):
    call, message = WRONG[what]
    with pytest.raises((RuleError, UnsupportedError), match=message):
        call()


@pytest.mark.parametrize("engine", engine_names())
@pytest.mark.parametrize("place", ["value", "saved", "cotangent", "gradient", "jvp", "checkpoint"])
def test_a_rule_that_uses_a_variable_that_is_no_argument_is_named(place, engine):
    def f(x, y):
        if place == "checkpoint":
            return checkpoint(lambda y: y * x)(y)
        if place == "gradient":
            return function_gradients((y,), lambda y: y * 2.0, (lambda z, d, y: d * x,))
        if place == "jvp":
            return with_jvp(lambda p, t: (p[0] * 2.0, t[0] * x))(y)
        saved = {"value": None, "saved": [x], "cotangent": None}[place]
        value = x if place == "value" else 1.0
        return with_vjp(lambda y: (y * value, saved), lambda s, d: (d * x if place == "cotangent" else d,))(y)

    with pytest.raises(RuleError, match="is not one of its arguments, so its derivative would be lost; pass it"):
        grad(f, (0, 1), engine=engine)(2.0, 3.0)


def test_a_rule_may_use_variables_of_outer_levels():
    def f(x):
        scaled = with_vjp(lambda y: (y * x, None), lambda s, d: (d * x,))
        return grad(lambda y: scaled(y) ** 2)(1.5)  # 3 x^2

    assert grad(f)(2.0) == derivative(f)(2.0) == 12.0


def test_a_rule_that_writes_to_its_argument_is_stopped():
    def forward(x):
        x[0] = 1.0
        return np.sum(x), None

    with pytest.raises(UnsupportedError, match="read-only"):
        grad(with_vjp(forward, lambda s, d: (d * np.ones(3),)))(X)


# ---- rules that write into what they are given -----------------------------------------------------------------------
def _scales(x, by=3.0):
    x *= by
    return x


def _pair(first, rest):
    return first, rest


def _of_gradients(pull):
    return lambda x: function_gradients((x,), lambda x: x * x, (pull,))


def _of_tangents(tangent):
    f = custom_jvp(lambda x: x * x)
    f.defjvp(lambda p, t: (p[0] * p[0], tangent(p[0], t[0])))
    return f


WRITES = {
    "forward, its argument": with_vjp(lambda x: (x * x, _pair(2.0 * x, _scales(x))), lambda s, d: (s[0] * d,)),
    "backward, what was saved": with_vjp(lambda x: (x * x, 2.0 * x), lambda s, d: (_scales(s, d),)),
    "backward, an argument that was saved": with_vjp(lambda x: (x * x, x), lambda s, d: (2.0 * _scales(s, d),)),
    "backward, its cotangent": with_vjp(lambda x: (x * x, 2.0 * x), lambda s, d: (_scales(d, s),)),
    "gradient, its argument": _of_gradients(lambda z, d, x: _pair(2.0 * x * d, _scales(x))[0]),
    "gradient, the value": _of_gradients(lambda z, d, x: _pair(2.0 * x * d, _scales(z))[0]),
    "the rule, a tangent": _of_tangents(lambda x, x_dot: _scales(x_dot, 2.0) * x),
    "the rule, an argument": _of_tangents(lambda x, x_dot: _pair(2.0 * x * x_dot, _scales(x))[0]),
}
WAYS = {
    "grad": lambda f: grad(lambda x: np.sum(f(x) * x))(X),
    "jvp": lambda f: jvp(f, (X,), (X,))[1],
    "hessian": lambda f: hessian(lambda x: np.sum(f(x) * x + x**3))(X),
    "jvp of a jacobian": lambda f: jvp(jacobian(f), (X,), (X,))[1],
    "jacobian of a jacobian": lambda f: jacobian(jacobian(f))(X),
    "jvp of grad": lambda f: jvp(grad(lambda x: np.sum(f(x) * x + x**3)), (X,), (X,))[1],
    "grad of grad": lambda f: grad(lambda x: np.sum(np.sin(grad(lambda x: np.sum(f(x) * x + x**3))(x))))(X),
    "grad of jvp": lambda f: grad(lambda x: np.sum(jvp(lambda x: f(x) * x, (x,), (X,))[1]))(X),
}


def _is_right(f, way):
    return np.allclose(WAYS[way](f), WAYS[way](lambda x: x * x), rtol=1e-13)


@pytest.mark.parametrize("what", WRITES)
@pytest.mark.parametrize("way", WAYS)
def test_a_rule_that_writes_into_what_it_is_given_is_told_so_or_writes_into_a_copy(what, way):
    """Plain arrays are given as views that cannot be written through, array variables of outer levels as copies."""
    try:
        assert _is_right(WRITES[what], way)
    except ContadError as error:
        assert re.search(r"x = x.copy\(\) first|no forward mode|a = a \+ x", str(error)), error  # noqa: PT017


@pytest.mark.parametrize("what", [what for what in WRITES if "rule" not in what])
def test_a_backward_rule_is_told_so_by_its_name(what):
    with pytest.raises(UnsupportedError, match=r": its rule assigns|: it assigns.*write x = x.copy\(\) first"):
        grad(lambda x: np.sum(WRITES[what](x)))(X)


def test_a_rule_that_is_given_no_copies_is_noticed(monkeypatch):
    monkeypatch.setattr(operation, "guard", list)
    assert not _is_right(WRITES["forward, its argument"], "jvp of grad")
    assert not _is_right(WRITES["backward, what was saved"], "jvp of a jacobian")


# ---- derivatives of pullbacks, and arguments that are written to -----------------------------------------------------
@custom_vjp
def squared(x):
    return x * x


squared.defvjp(lambda x: (x * x, x), lambda x, z_bar: (2.0 * x * z_bar,))


@pytest.mark.parametrize("piece", [contad.checkpoint(lambda v: v * v), squared], ids=["checkpoint", "custom_vjp"])
def test_a_pullback_through_an_operation_is_differentiated(piece):
    """Its cotangent is then of a later level than the operation, and no variable that it may not use."""
    x, direction = np.array([0.3, 0.7, 1.1]), np.array([1.0, -2.0, 0.5])

    def f(x):
        return np.sum(np.exp(x) * piece(x))

    def by_hand(x):
        return np.sum(np.exp(x) * x * x)

    for g, h in ((f, by_hand), (contad.grad(f), contad.grad(by_hand))):
        value, slope = contad.jvp(h, (x,), (direction,))
        found, tangent_map = contad.linearize(g, x)
        np.testing.assert_allclose(found, value, rtol=1e-13)
        np.testing.assert_allclose(tangent_map(direction), slope, rtol=1e-13)
    slope = contad.jvp(lambda c: contad.vjp(f, x)[1](c), (1.0,), (2.0,))[1][0]
    np.testing.assert_allclose(slope, 2.0 * contad.grad(by_hand)(x), rtol=1e-13)


@pytest.mark.parametrize("write", ["v[0] = 1.0", "v *= 2.0", "np.put(v, [0], 1.0)", "np.add(v, v, out=v)", "v.sort()"])
@pytest.mark.parametrize("transform", [contad.grad, contad.hessian, lambda f: lambda x: contad.jvp(f, (x,), (x,))])
def test_an_operation_that_writes_into_its_argument_is_told_so(write, transform):
    scope = {"np": np}
    exec(f"def writes(v):\n    {write}\n    return np.sum(v * v)", scope)
    with pytest.raises(UnsupportedError, match=r"checkpoint: writes: it assigns .* write x = x.copy\(\) first"):
        transform(contad.checkpoint(scope["writes"]))(np.array([0.7, 0.3]))


# ---- functions that return their argument, or a view of it -----------------------------------------------------------
def by_vjp(f):
    g = contad.custom_vjp(f)
    g.defvjp(lambda a: (f(a), None), lambda saved, z_bar: (f(z_bar),))
    return g


def by_jvp(f):
    g = contad.custom_jvp(f)
    g.defjvp(lambda primals, tangents: (f(primals[0]), f(tangents[0])))
    return g


def by_gradients(f):
    return lambda a: contad.function_gradients((a,), f, (lambda z, d, a: f(d),))


OF_ALIASES = {"checkpoint": contad.checkpoint, "vjp": by_vjp, "jvp": by_jvp, "gradients": by_gradients}
ALIASES = {"itself": lambda a: a, "reversed": lambda a: a[::-1], "all": lambda a: a[...]}


def changed(which, in_place):
    """A function that writes to what a rule returns, or to what it was given, and reads both."""

    def of_rule(rule):
        def f(x):
            z = x * 1.0
            z[2] = x[2] * x[0]
            y = rule(z)
            a = y if which == "result" else z
            if in_place:
                a *= x[1]
            elif which is not None:
                a[0] = 5.0 * x[1]
            return np.sum(z * z) + np.sum(y * x)

        return f

    return of_rule


@pytest.mark.parametrize("way", ways.WAYS)
@pytest.mark.parametrize("name", OF_ALIASES)
def test_a_rule_may_return_its_argument(name, way):
    if (name, way) == ("vjp", "forward"):
        return  # refused
    for alias in ALIASES.values():
        ways.agree(changed(None, False)(OF_ALIASES[name](alias)), way)
    for which in ("result", "argument"):  # copies do not matter to anybody
        ways.agree(changed(which, False)(OF_ALIASES[name](lambda a: a.copy())), way)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("which", ["result", "argument"])
@pytest.mark.parametrize("name", OF_ALIASES)
def test_an_argument_that_a_rule_returns_is_not_written_to(name, which, in_place):
    orders = [contad.hessian, functools.partial(contad.hessian, engine="records")]
    orders.append(lambda f: functools.partial(contad.record, f))
    ends = [functools.partial(ways.differentiate, way=way) for way in ways.WAYS if (name, way) != ("vjp", "forward")]
    for alias in ALIASES.values():
        f = changed(which, in_place)(OF_ALIASES[name](alias))
        for differentiate in (*ends, *(lambda f, x, make=make: make(f)(x) for make in orders)):
            with pytest.raises(OverlapError, match=r"share memory, and one of them is written to; return x\.copy\(\)"):
                differentiate(f, ways.POINT)


@contad.array_rule
def returned_whole(a):
    return a


@returned_whole.vjp("a")
def itself_vjp(z, z_bar, a):
    return z_bar


@returned_whole.jvp
def itself_jvp(z, a_dot, a):
    return a_dot


@contad.array_rule
def returned_backwards(a):
    return a[::-1]


@returned_backwards.vjp("a")
def returned_backwards_vjp(z, z_bar, a):
    return z_bar[::-1]


@returned_backwards.jvp
def returned_backwards_jvp(z, a_dot, a):
    return a_dot[::-1]


@pytest.mark.parametrize("way", ways.WAYS)
@pytest.mark.parametrize("rule", [returned_whole, returned_backwards])
def test_nor_is_one_that_an_array_rule_returns(rule, way):
    ways.agree(changed(None, False)(rule), way)
    for which in ("result", "argument"):
        for differentiate in (contad.hessian, lambda f: functools.partial(ways.differentiate, f, way=way)):
            with pytest.raises(OverlapError, match=r"its result and a share memory, and one of them is written to"):
                differentiate(changed(which, way == "matrix")(rule))(ways.POINT)


def test_results_that_are_one_array_are_not_written_to():
    @contad.checkpoint
    def twice(a):
        b = 2.0 * a
        return b, b

    def f(x):
        y, z = twice(x)
        y[0] = 1.0
        return np.sum(y * z)

    with pytest.raises(OverlapError, match="its result and another array share memory"):
        contad.grad(f)(ways.POINT)
