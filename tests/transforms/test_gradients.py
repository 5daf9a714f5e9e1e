"""The transforms on numbers, arrays and pytrees, their options, and what they refuse."""

import functools
import gc
import math
import pickle
import re
import subprocess
import sys
import weakref

import numpy as np
import pytest

import contad
from contad import derivative, grad, jacobian, jvp, value_and_grad, vjp
from contad.engines import engine_names
from contad.errors import OutputError, UnsupportedError

ENGINES = engine_names()


def product(x, y, *, scale=1.0):
    return scale * x * x * y


class Point:
    """A callable with no place for a memo."""

    __slots__ = ()

    def __call__(self, x):
        return x * x


@pytest.mark.parametrize("engine", ENGINES)
def test_argnums(engine):
    assert grad(product, engine=engine)(2.0, 5.0) == 20.0
    assert grad(product, 1, engine=engine)(2.0, 5.0) == 4.0
    assert grad(product, (1, 0), engine=engine)(2.0, 5.0) == (4.0, 20.0)
    assert value_and_grad(product, (0,), engine=engine)(2.0, 5.0) == (20.0, (20.0,))


def test_keyword_arguments():
    assert grad(product)(2.0, 5.0, scale=3.0) == 60.0
    assert grad(product)(x=2.0, y=5.0) == 20.0
    assert grad(product, (0, 1))(y=5.0, x=2.0, scale=2.0) == (40.0, 8.0)
    assert derivative(product, 1)(y=5.0, x=2.0) == 4.0
    assert jacobian(product, 1)(x=2.0, y=5.0) == 4.0
    assert grad(lambda x, y=3.0: x * y, 1)(2.0) == 2.0


def test_ints_and_numpy_numbers_become_float64():
    for x in (2, np.float32(2), np.int64(2), np.float64(2)):
        value, gradient = value_and_grad(product)(x, 5)
        assert (value, gradient) == (20.0, 20.0) and type(value) is float and type(gradient) is float


@pytest.mark.parametrize("engine", ENGINES)
def test_pytrees(engine):
    def f(p, q):
        return p["a"] * p["b"][0] * q[0] + p["b"][1] ** 2 + q[1].sum()

    p = {"a": 2.0, "b": [3.0, 4.0], "c": None}
    q = (5.0, np.array([1.0, 2.0]))
    gp, gq = grad(f, (0, 1), engine=engine)(p, q)
    assert gp == {"a": 15.0, "b": [10.0, 8.0], "c": None}
    assert gq[0] == 6.0 and gq[1].tolist() == [1.0, 1.0] and gq[1].dtype == float


def test_arrays_come_back_with_their_shape_and_inputs_are_not_written():
    x = np.arange(6.0).reshape(2, 3)
    before = x.copy()

    def f(x):
        x[0, 0] = x[1, 1] * 2.0
        return (x * x).sum()

    gradient = grad(f)(x)
    assert gradient.shape == (2, 3) and gradient.flags.owndata
    assert gradient.tolist() == [[0.0, 2.0, 4.0], [6.0, 8 * 4.0 + 8.0, 10.0]]
    assert (x == before).all()
    assert grad(lambda x: x.sum())(np.zeros((0, 3))).shape == (0, 3)
    assert grad(lambda x: x.sum() * 1.0)(np.array(3)).tolist() == 1.0


def test_has_aux_lowers_one_level():
    def f(x):
        return x * x, {"cube": x**3, "list": [x, 1, "text"], "array": np.array([x, x])}

    gradient, aux = grad(f, has_aux=True)(2.0)
    assert gradient == 4.0 and aux["cube"] == 8.0 and aux["list"] == [2.0, 1, "text"] and aux["array"].dtype == float
    (value, _), gradient = value_and_grad(f, has_aux=True)(2.0)
    assert (value, gradient) == (4.0, 4.0)
    # inside an outer gradient, aux is still a variable of the outer level
    assert grad(lambda x: grad(f, has_aux=True)(x)[1]["cube"])(2.0) == 12.0
    assert vjp(f, 2.0, has_aux=True)[2]["cube"] == 8.0
    assert jvp(f, (2.0,), (1.0,), has_aux=True)[2]["cube"] == 8.0


def test_results_that_do_not_depend_on_the_arguments():
    assert grad(lambda x: 7)(2.0) == 0.0
    assert jvp(lambda x: 7, (2.0,), (1.0,)) == (7.0, 0.0)
    assert jacobian(lambda x: [7.0, x])(2.0) == [0.0, 1.0]
    assert grad(lambda x: x[0] * 1.0)([2.0, 3.0]) == [1.0, 0.0]
    assert grad(lambda x: np.float64(3.0))(np.ones(2)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("returns", "message"), [
    (lambda x: None, "returned None; return the value to differentiate"),
    (lambda x: [x], "must return one real number, got list; for several outputs use contad.jacobian or contad.vjp"),
    (lambda x: np.array([x, x]), r"got ArrayVar of shape \(2,\); for several outputs use contad.jacobian"),
    (lambda x: x > 0, "got bool"),
    (lambda x: 1j, "got a complex one"),
    (lambda x: "a", "got str"),
])  # fmt: skip
def test_a_gradient_needs_one_real_number(returns, message):
    for transform in (grad, value_and_grad):
        with pytest.raises(OutputError, match=message):
            transform(returns)(1.0)


def test_malformed_calls_are_named():
    cases = [
        (lambda: grad(3), TypeError, "grad: f must be callable, got int"),
        (lambda: grad(product, -1), TypeError, "argnums must be"),
        (lambda: grad(product, (0, 0)), TypeError, "must not repeat"),
        (lambda: grad(product, 5)(1.0, 2.0), TypeError, r"argnums \(5,\) out of range for 2"),
        (lambda: grad(product, engine="quantum"), UnsupportedError,
         "of closures, records, matrix, arrays, generated, tape; got 'quantum'"),
        (lambda: grad(product)("a", 1.0), UnsupportedError,
         "grad: product, argument 0: expected real numbers.*got str"),
        (lambda: grad(product)(1j, 1.0), OutputError, "got a complex one; return np.abs"),
        (lambda: grad(product)(True, 1.0), UnsupportedError, "got bool"),
        (lambda: grad(sum)(np.array(["a"])), UnsupportedError, "got an array of <U1"),
        (lambda: grad(lambda x: (x, x, x), has_aux=True)(1.0), OutputError, r"must return \(value, aux\)"),
        (lambda: jvp(product, 1.0, 1.0), TypeError, "primals and tangents must be tuples"),
        (lambda: jvp(product, (1.0, 2.0), (1.0,)), TypeError, "of one length"),
        (lambda: jvp(sum, ([1.0],), (1.0,)), TypeError, "structure of primals"),
        (lambda: jvp(np.sum, (np.ones(2),), (np.ones(3),)), TypeError, "its primal's shape"),
        (lambda: vjp(lambda x: [x], 1.0)[1](1.0), TypeError, "structure of the result"),
        (lambda: vjp(lambda x: x * 1.0, np.ones(2))[1](1.0), TypeError, "its result's shape"),
        (lambda: vjp(lambda x: None, 1.0), OutputError, "returned None"),
        (lambda: jacobian(lambda x: [x, "a"])(1.0), OutputError, "got str"),
    ]  # fmt: skip
    for call, error, message in cases:
        with pytest.raises(error, match=message):
            call()


def test_vjp_pulls_back_repeatedly():
    value, pullback = vjp(lambda x, y: {"p": x * y, "s": [x + y]}, 2.0, 3.0)
    assert value == {"p": 6.0, "s": [5.0]}
    for _ in range(2):
        assert pullback({"p": 1.0, "s": [10.0]}) == (13.0, 12.0)
        assert pullback({"p": 0.0, "s": [1]}) == (1.0, 1.0)
    grad(lambda x: x * x)(1.0)  # other gradients in between do not disturb it
    assert pullback({"p": 1.0, "s": [0.0]}) == (3.0, 2.0)


def test_vjp_adds_the_cotangents_of_an_output_returned_twice():
    _, pullback = vjp(lambda x: (x * x, x, x), 3.0)
    assert pullback((1.0, 10.0, 100.0)) == (116.0,)


def test_jvp_and_vjp_are_transposes():
    def f(p):
        return [p["x"] * contad.ops.exp(p["y"]), p["y"] - p["x"] ** 2, 3.0]

    p, p_dot, z_bar = {"x": 0.7, "y": -1.2}, {"x": 0.3, "y": 2.0}, [1.5, -0.4, 9.0]
    _, z_dot = jvp(f, (p,), (p_dot,))
    (p_bar,) = vjp(f, p)[1](z_bar)
    assert sum(a * b for a, b in zip(z_bar, z_dot, strict=True)) == pytest.approx(
        p_bar["x"] * p_dot["x"] + p_bar["y"] * p_dot["y"], rel=1e-14
    )


def test_jacobian_structures():
    j = jacobian(lambda p: {"u": p["x"] * p["y"], "v": (p["y"],)})({"x": 2.0, "y": 3.0})
    assert j == {"u": {"x": 3.0, "y": 2.0}, "v": ({"x": 0.0, "y": 1.0},)}
    a = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert (jacobian(lambda x: a @ x)(np.array([1.0, 1.0])) == a).all()
    assert jacobian(lambda x: x * 2.0)(np.ones((2, 2))).shape == (2, 2, 2, 2)
    assert jacobian(lambda x: (x * x).sum())(np.array([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert jacobian(lambda s: s * np.array([1.0, 2.0]))(3.0).tolist() == [1.0, 2.0]
    assert jacobian(product, (0, 1))(2.0, 5.0) == (20.0, 4.0)
    assert jacobian(lambda x, y: [x * y, x], (0, 1))(2.0, 5.0) == [(5.0, 2.0), (1.0, 0.0)]


def test_derivative_of_a_pytree_valued_function():
    assert derivative(lambda t: {"a": t * t, "b": [3.0, contad.ops.exp(t)]})(0.0) == {"a": 0.0, "b": [0.0, 1.0]}


def test_grad_is_one_object_per_function_and_options():
    assert grad(product) is grad(product) and grad(product) is not grad(product, 1)
    assert grad(product) is not value_and_grad(product)
    assert grad(Point())(3.0) == 6.0

    def make(a):
        return lambda x: a * x

    assert grad(make(2.0))(1.0) == 2.0 and grad(make(3.0))(1.0) == 3.0

    @functools.wraps(product)
    def wrapper(x, y):
        return -product(x, y)

    grad(product)(1.0, 1.0)
    wrapper.__dict__.update(product.__dict__)  # what functools.wraps does when the memo is older than the wrapper
    assert grad(wrapper)(2.0, 5.0) == -20.0


def test_argnums_may_be_a_list_and_methods_are_not_confused():
    assert grad(product, [0, 1])(2.0, 5.0) == (20.0, 4.0)

    class Model:
        def __init__(self, a):
            self.a = a

        def loss(self, x):
            return self.a * x

    one, two = Model(1.0), Model(2.0)
    assert [grad(m.loss)(3.0) for m in (one, two, one)] == [1.0, 2.0, 1.0]
    assert [grad(eval(f"lambda x: {k} * x"))(1.0) for k in (2, 3)] == [2.0, 3.0]


def test_the_memo_dies_with_its_function():
    f = eval("lambda x: x * x")
    grad(f)(1.0)
    reference = weakref.ref(f)
    del f
    gc.collect()
    assert reference() is None


def test_gradient_objects_pickle_by_reference_and_say_what_they_are():
    g = pickle.loads(pickle.dumps(grad(product, (0, 1), engine="closures")))
    assert g is grad(product, (0, 1), engine="closures")
    assert repr(grad(product)) == "<contad.grad: product>" and grad(product).__name__ == "product"


def test_the_default_engine_is_named():
    assert contad.engine_name(product) == "matrix" and contad.engine_name(product, "closures") == "closures"


def test_wrappers_and_copies_have_a_memo_of_their_own():
    def f(x):
        return x * x

    g = grad(f)
    wrapper = functools.wraps(f)(lambda x: -f(x))
    assert grad(wrapper)(3.0) == -6.0 and grad(wrapper) is grad(wrapper) and grad(f) is g


def test_the_gradient_of_a_method_does_not_keep_the_instance_alive():
    class Model:
        def loss(self, x):
            return x * x

    model = Model()
    assert grad(model.loss)(3.0) == 6.0
    reference = weakref.ref(model)
    del model
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize("argnums", [1.5, None, "x", np.float64(0), True])
def test_argnums_that_are_no_position_are_named(argnums):
    for transform in (grad, value_and_grad, jacobian):
        with pytest.raises(TypeError, match="argnums must be an argument's position"):
            transform(product, argnums)
    with pytest.raises(TypeError, match="derivative: argnum"):
        derivative(product, argnums)


def test_derivative_takes_one_position_from_the_start():
    for argnum in (-1, (0, 1)):
        with pytest.raises(TypeError, match="derivative: argnum"):
            derivative(lambda *xs: xs[0] * xs[1], argnum)(2.0, 3.0)


def test_an_array_of_arrays_is_refused():
    ragged = np.array([np.ones(2), np.ones(3)], dtype=object)
    with pytest.raises(UnsupportedError, match="use a list of arrays"):
        grad(lambda x: x[0].sum())(ragged)


def test_names_of_other_libraries_are_answered():
    import contad.testing

    assert contad.testing.expect_ad is not None
    with pytest.raises(AttributeError, match=r"no attribute 'remat'; use contad.checkpoint"):
        _ = contad.remat
    with pytest.raises(AttributeError, match=r"no attribute 'vmap'; use contad.jvp\(\.\.\., several=True\)"):
        _ = contad.vmap
    for name, use in {
        "jit": "numba.njit", "relu": "np.maximum", "tree_map": "lists, tuples and dicts", "lax": "Python's if",
        "ravel_pytree": "contad.ravel",
        "log_sum_exp": "contad.stan.log_sum_exp",
        "normal_lpdf": "contad.stan.normal_lpdf", "tensordot": "np.tensordot", "linalg": "np.linalg",
    }.items():  # fmt: skip
        with pytest.raises(AttributeError, match=f"^module 'contad' has no attribute '{name}'; use {re.escape(use)}"):
            getattr(contad, name)
    for name in ("foo", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'$"):
            getattr(contad, name)
    assert set(contad.__all__) < set(dir(contad)) and "rule" not in dir(contad)
    for name in contad._ELSEWHERE:
        assert name not in contad.__all__


@pytest.mark.parametrize(("name", "remedy"), [
    ("at", "assign to x[i], or write x[i] += y"),
    ("backward", "write a function of x and call contad.grad(f)(x)"),
    ("detach", "use contad.stop_gradient(x)"),
    ("grad", "write a function of x and call contad.grad(f)(x)"),
    ("numpy", "NumPy's functions take it as it is, and contad.value_of(x) is its value, a constant"),
    ("requires_grad", "write a function of x and call contad.grad(f)(x)"),
])  # fmt: skip
def test_attributes_of_other_libraries_are_answered(name, remedy):
    def read(x):
        assert not hasattr(x, name)
        return getattr(x, name)

    for kind, differentiate in {
        "an array variable": lambda: grad(read)(np.ones(2)),
        "a variable": lambda: grad(read)(1.0),
        "an array dual": lambda: jvp(read, (np.ones(2),), (np.ones(2),)),
        "a dual": lambda: jvp(lambda x: read(x[0]), (np.ones(2),), (np.ones(2),)),  # one of NumPy's
    }.items():
        with pytest.raises(AttributeError, match=f"^{kind} has no attribute '{name}'; {re.escape(remedy)}"):
            differentiate()


def test_transforms_are_imported_on_first_use():
    """Which keeps the import short; then they are found without a look-up."""
    code = """
import sys, contad
late = ["on_demand", "hessians", "custom", "debugging"]
late = [f"contad.transforms.{name}" for name in late] + ["contad.display", "contad.profiling"]
late += ["contad.engines.second_order.passes"]
assert [name for name in late if name in sys.modules] == []
assert contad.hessian(lambda x: x ** 3)(2.0) == 12.0
assert "hessian" in vars(contad) and "contad.transforms.on_demand" in sys.modules
assert set(contad._TRANSFORMS) == set(contad.transforms.on_demand.__all__)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_hessian_is_the_jacobian_of_the_gradient():
    x = np.array([1.5, -0.7])
    hessian = contad.jacobian(contad.grad(lambda x: x[0] ** 2 * x[1] + np.exp(x[1])))(x)
    assert hessian == pytest.approx(np.array([[2 * -0.7, 3.0], [3.0, np.exp(-0.7)]]))


def test_messages_name_the_transform_that_was_called():
    with pytest.raises(UnsupportedError, match=r"derivative: product, argument 0: .* got an array of shape \(2,\)"):
        derivative(product)(np.ones(2), 1.0)
    with pytest.raises(TypeError, match=r"grad: product: missing a required argument: 'x'"):
        grad(product)()


def test_functions_that_are_passed_take_variables():
    """Whether by position, by name or as a default, and also once the gradient has been called with numbers alone."""

    def f(x, g=None):
        return 2.0 * x if g is None else g(x)

    gradient = contad.grad(f)
    for _ in range(2):
        assert gradient(0.3) == 2.0
        assert gradient(0.3, math.sin) == gradient(0.3, g=math.sin) == contad.grad(contad.ops.sin)(0.3)
