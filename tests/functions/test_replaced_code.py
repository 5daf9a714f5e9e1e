"""Derivatives of functions whose code, defaults or callees are replaced, as IPython's autoreload replaces them."""

import functools
import importlib
import math
import sys
from types import FunctionType

import numba
import numpy as np
import pytest

import contad
from contad.errors import ContadError
from contad.functions import callees, reached
from contad.transforms import gradients

POINT, DIRECTION = np.array([0.3, 0.5]), np.array([1.0, 2.0])
COSINE = math.cos(0.3)


# ---- every transform -------------------------------------------------------------------------------------------------
def before(x):
    return math.sin(x[0]) * x[1] ** 2


def plain(x):  # of which no copy is made
    return np.sin(x[0]) * x[1] ** 2


def after(x):
    return 2.0 * math.cos(x[0]) * x[1] ** 3


def expected(x):
    return 2.0 * np.cos(x[0]) * x[1] ** 3


TRANSFORMS = {
    "grad": contad.grad, "value_and_grad": lambda f: lambda x: contad.value_and_grad(f)(x)[1],
    "closures": functools.partial(contad.grad, engine="closures"),
    "records": functools.partial(contad.grad, engine="records"), "jacobian": contad.jacobian, "hessian": contad.hessian,
    "sparse_hessian": lambda f: lambda x: contad.sparse_hessian(f)(x).toarray(),
    "laplacian": contad.laplacian, "checkpoint": lambda f: contad.grad(contad.checkpoint(f)),
    "of a partial": lambda f: contad.grad(functools.partial(lambda f, x: f(x), f)),
    "of an argument": lambda f: lambda x: contad.grad(lambda f, x: f(x), 1)(f, x),
    "grad of grad": lambda f: contad.grad(lambda x: contad.grad(f)(x) @ DIRECTION),
    "vjp": lambda f: lambda x: contad.vjp(f, x)[1](1.0)[0],
    "jvp": lambda f: lambda x: contad.jvp(f, (x,), (DIRECTION,))[1],
    "hvp": lambda f: lambda x: contad.hvp(f)(x, DIRECTION),
    "linearize": lambda f: lambda x: contad.linearize(f, x)[1](DIRECTION),
    "derivative": lambda f: lambda x: contad.derivative(lambda t: f(t * x))(1.0),
}  # fmt: skip


def copied(f, closure=None):
    """A function with the code of f, for which nothing has been made yet."""
    return FunctionType(f.__code__, globals(), f.__name__, f.__defaults__, closure)


@pytest.mark.parametrize("old", [before, plain], ids=["copied", "as it was"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_transform_takes_the_code_that_a_function_has_now(name, old):
    transform = TRANSFORMS[name]
    right = transform(expected)(POINT)
    f, inner = copied(old), copied(old)

    def outer(x):
        return 1.0 * inner(x)

    kept = [transform(f), transform(outer)]
    assert not np.allclose(kept[0](POINT), right) and not np.allclose(kept[1](POINT), right)
    f.__code__ = inner.__code__ = after.__code__
    for of_now in (*kept, transform(f), transform(outer)):
        np.testing.assert_allclose(of_now(POINT), right, rtol=1e-12)


# ---- every part of a function, and every way to reach it -------------------------------------------------------------
def slope(f):
    """Derivatives of a multiple of the sine, over the cosine: the multiple."""
    gradient = contad.grad(f)
    return lambda: round(gradient(0.3) / COSINE, 12)


def sine(x, k=1.0):
    return k * math.sin(x)


def test_the_code_of_a_function_that_is_called_again_and_again():
    f = copied(sine)
    now = slope(f)
    assert now() == slope(f)() == 1.0
    f.__code__ = (lambda x, k=1.0: 2.0 * k * math.sin(x)).__code__
    assert now() == slope(f)() == 2.0
    f.__code__ = (lambda x, k=1.0: 3.0 * k * np.sin(x)).__code__
    assert now() == slope(f)() == 3.0


def test_defaults():
    f = copied(sine)
    now, behind = slope(f), slope(lambda x: f(x))
    f.__defaults__ = (2.0,)
    assert now() == behind() == slope(f)() == 2.0
    f.__code__, f.__defaults__ = (lambda x, sine=math.sin: 3.0 * sine(x)).__code__, (np.sin,)
    assert now() == behind() == 3.0
    f.__defaults__ = (math.sin,)
    assert now() == behind() == 3.0


def test_defaults_of_arguments_given_by_name():
    def f(x, *, k=1.0, sine=math.sin):
        return k * sine(x)

    now, behind = slope(f), slope(lambda x: f(x))
    assert now() == behind() == 1.0
    f.__kwdefaults__["k"] = 2.0
    assert now() == behind() == slope(f)() == 2.0
    f.__kwdefaults__ = {"k": 3.0, "sine": math.sin}
    assert now() == behind() == slope(f)() == 3.0


def test_captured_functions():
    def make():
        def inner(x):
            return np.sin(x)

        def f(x):
            return inner(x)

        def replace(new):
            nonlocal inner
            inner = new

        return f, replace

    f, replace = make()
    now = slope(f)
    assert now() == 1.0
    for k in (2.0, 3.0):
        replace(functools.partial(sine, k=k))
        assert now() == slope(f)() == k


def test_functions_that_names_stand_for_later():
    names = {"math": math, "np": np, "__name__": __name__}
    exec("def f(x):\n    return later(x)", names)
    now = slope(names["f"])
    exec("def later(x):\n    return np.sin(x)", names)
    assert now() == 1.0
    exec("def later(x):\n    return 2.0 * math.sin(x)", names)
    assert now() == 2.0
    exec("def later(x):\n    return 3.0 * math.sin(x) if isinstance(x, float) else np.sin(x)", names)
    assert now() == slope(names["f"])() == 3.0


def test_methods_and_objects_that_are_called():
    class Model:
        def helper(self, x):
            return np.sin(x)

        def method(self, x):
            return self.helper(x)

        def __call__(self, x):
            return math.sin(x)

    model = Model()
    called, method = slope(model), slope(model.method)
    assert called() == method() == 1.0
    Model.helper.__code__ = Model.__call__.__code__ = (lambda self, x: 2.0 * math.sin(x)).__code__
    assert called() == method() == slope(model)() == slope(model.method)() == 2.0
    Model.helper = Model.__call__ = lambda self, x: 3.0 * math.sin(x)
    assert called() == method() == slope(model)() == slope(model.method)() == 3.0

    class Other(Model):
        def helper(self, x):
            return 4.0 * math.sin(x)

        __call__ = helper

    model.__class__ = Other  # as autoreload does
    assert called() == method() == slope(model)() == slope(model.method)() == 4.0


def test_functions_in_objects_containers_and_decorators():
    class Holder:
        pass

    holder, inner = Holder(), copied(sine)
    holder.inner, several = inner, [inner]

    @functools.wraps(inner)
    def decorated(*args):
        return inner(*args)

    ways = [slope(lambda x: holder.inner(x)), slope(lambda x: several[0](x)), slope(lambda x: decorated(x))]
    assert [now() for now in ways] == [1.0] * 3
    inner.__defaults__ = (2.0,)
    assert [now() for now in ways] == [2.0] * 3
    inner.__code__ = (lambda x, k=1.0: 2.0 * k * math.sin(x)).__code__
    assert [now() for now in ways] == [4.0] * 3


def test_a_module_that_is_loaded_again(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "reloaded.py"
    file.write_text("import numpy as np\ndef helper(x):\n    return np.sin(x)\n")
    module = importlib.import_module("reloaded")
    now = slope(lambda x: module.helper(x))
    assert now() == 1.0
    file.write_text("import math\ndef helper(x):\n    return 2.0 * math.sin(x)\n")
    importlib.reload(module)
    assert now() == 2.0
    module.helper.__code__ = (lambda x: 3.0 * math.sin(x)).__code__
    assert now() == 3.0


def test_a_numba_function_whose_code_is_replaced_is_refused():
    factor = 1.0

    @numba.njit
    def f(x):
        return factor * math.sin(x)

    def other(x):
        return 2.0 * factor * math.sin(x)

    gradient = contad.grad(f)
    assert gradient(0.3) == COSINE
    f.py_func.__code__ = other.__code__
    for transform in (contad.hessian, contad.derivative):
        with pytest.raises(ContadError, match="f has changed since its first derivative was made"):
            transform(f)(0.3)
    f.recompile()
    assert f(0.3) == 2.0 * math.sin(0.3)
    with pytest.raises(ContadError, match="f has changed since its first derivative was made"):
        gradient(0.3)


COMPILED = {
    "grad": contad.grad, "value_and_grad": lambda f: lambda x: contad.value_and_grad(f)(x)[1],
    "tape": lambda f: contad.grad(f, engine="tape"), "eager": lambda f: contad.grad(f, engine="matrix"),
    "called": lambda f: contad.grad(lambda x: f(x)), "hessian": contad.hessian,
    "grad of grad": lambda f: contad.grad(contad.grad(f)), "bound": lambda f: contad.bind(contad.grad(f), 0.3),
}  # fmt: skip


def without_names(x):
    return x * x * x


@pytest.mark.parametrize("name", COMPILED)
def test_a_kept_derivative_of_a_numba_function_without_names_is_of_now_once_that_is_recompiled(name):
    f = numba.njit(copied(without_names))
    derivative = COMPILED[name](f)
    at = () if name == "bound" else (0.3,)
    for _ in range(3):
        before = derivative(*at)
    f.recompile()  # and nothing has changed
    if name != "bound":
        assert derivative(*at) == before
    f.py_func.__code__ = (lambda x: 5.0 * x * x * x).__code__
    f.recompile()
    assert f(1.0) == 5.0
    for _ in range(2):
        with pytest.raises((ContadError, ValueError, RuntimeError), match="changed since its first|bind again"):
            derivative(*at)


def fivefold(x):
    return 5.0 * x * x * x


@pytest.mark.parametrize("run", [lambda f: contad.jvp(f, (0.3,), (1.0,)), lambda f: contad.record(f, 0.3)])
def test_a_python_copy_of_code_that_is_not_compiled_yet_is_told_as_a_change(run):
    f = numba.njit(copied(without_names))

    def loss(x):
        return f(x)

    contad.grad(loss)(0.3)
    f.py_func.__code__ = fivefold.__code__
    with pytest.raises(ContadError, match="without_names has changed since its first derivative was made; Numba"):
        run(loss)


def test_functions_that_are_recompiled_die():
    import gc
    import weakref

    f = numba.njit(copied(without_names))
    contad.grad(f)(0.3)
    f.recompile()
    of = weakref.ref(f)
    del f
    gc.collect()
    assert of() is None


@numba.njit
def apply(f, x):
    return 2.0 * f(x)


@numba.njit
def apply_both(functions, x):
    return functions[0](x) + functions[1][0](x)


FACTOR = 2.0


def with_a_name(x):
    return FACTOR * x * x


WITH_FUNCTIONS = {  # the derivative, which is kept, and a call of it
    "grad": (lambda f: contad.grad(apply, 1), lambda g, f: g(f, 0.3)),
    "tape": (lambda f: contad.grad(apply, 1, engine="tape"), lambda g, f: g(f, 0.3)),
    "derivative": (lambda f: contad.derivative(apply, 1), lambda g, f: g(f, 0.3)),
    "hessian": (lambda f: contad.hessian(apply, 1), lambda g, f: g(f, 0.3)),
    "in tuples": (lambda f: contad.grad(apply_both, 1), lambda g, f: g((f, (f,)), 0.3)),
    "in plain code": (lambda f: contad.grad(lambda x: apply(f, x)), lambda g, f: g(0.3)),
}


@pytest.mark.filterwarnings("ignore:.*First-class function")
@pytest.mark.parametrize("code", [without_names, with_a_name], ids=["without names", "with a name"])
@pytest.mark.parametrize("name", WITH_FUNCTIONS)
def test_a_numba_function_among_the_arguments_is_refused_once_it_is_another(name, code):
    f = numba.njit(copied(code))
    make, call = WITH_FUNCTIONS[name]
    derivative = make(f)
    for _ in range(3):
        before = call(derivative, f)
    f.recompile()  # and nothing has changed
    assert call(derivative, f) == call(derivative, f) == before
    f.py_func.__code__ = (lambda x: 5.0 * x * x * x).__code__
    f.recompile()
    for _ in range(2):
        with pytest.raises(ContadError, match=f"{code.__name__} has changed since its first derivative"):
            call(derivative, f)


# ---- planted faults --------------------------------------------------------------------------------------------------
def test_a_copy_that_watches_nothing_is_found(monkeypatch):
    monkeypatch.setattr(reached.Family, "_watches", lambda self: ())
    with pytest.raises(AssertionError):
        test_the_code_of_a_function_that_is_called_again_and_again()
    with pytest.raises(AssertionError):
        test_defaults()


def test_a_gradient_that_does_not_look_is_found(monkeypatch):
    monkeypatch.setattr(gradients, "direct", lambda run: (callees.direct(run)[0], ()))
    with pytest.raises(ContadError, match=r"math\.cos"):
        test_every_transform_takes_the_code_that_a_function_has_now("grad", plain)
