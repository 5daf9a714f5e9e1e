"""Methods of objects that a function makes or is given, functions that are passed to it, and the settings for both."""

import abc
import functools
import gc
import importlib
import math
import sys
import types
import weakref
from dataclasses import dataclass
from typing import Generic, TypeVar

import numba
import numpy as np
import pytest

import contad
from contad.errors import LostDerivativeError
from tests.judges import ways

X = np.array([0.5, 1.3, 0.7])
T = TypeVar("T")


def differences(f):
    return ways.differences(f, X)


def agree(f):
    np.testing.assert_allclose(contad.grad(f)(X), differences(f), rtol=1e-8, atol=1e-8)
    assert contad.jvp(f, (X,), (X,))[1] == pytest.approx(differences(f) @ X, rel=1e-7)


# ---- classes that the function names ---------------------------------------------------------------------------------
class Model:
    scale = 2.0
    made = 0

    def __init__(self, t):
        self.t = t
        self.c = np.zeros(3)
        self.c[0] = t[0]
        self.c[1:] = t[1:] ** 2

    def loss(self):
        return self.scale * self.c.sum() * math.exp(self.t[1])

    @classmethod
    def make(cls, t):
        return cls(t)

    @staticmethod
    def ones_times(t):
        a = np.ones(3)
        a *= t
        return a @ a

    @property
    def shifted(self):
        a = np.ones(3)
        a += self.t
        return (a**2).sum()

    @functools.cached_property
    def kept(self):
        a = np.ones(3)
        a += 2.0 * self.t
        return (a**2).sum()

    def __add__(self, other):
        return self.__class__(self.t + other.t)


class Weighted(Model):
    def __init__(self, t, k):
        super().__init__(t)
        self.k = k

    def loss(self):
        w = np.zeros(2)
        w[0] = super().loss()
        w[1] = self.k * self.t[2]
        return w[0] * w[1] + Model.loss(self)


class Overriding(Weighted):
    def loss(self):
        return 3.0 * self.t[0] * self.t[1]

    shifted = 4.0  # in place of a property of its base


class Left(Model):
    def loss(self):
        return 2.0 * super().loss()


class Right(Model):
    def loss(self):
        a = np.zeros(1)
        a[0] = self.t[2]
        return a[0] * super().loss()


class Diamond(Left, Right):
    pass


class Abstract(abc.ABC):
    @abc.abstractmethod
    def term(self, x):
        """One term."""

    def total(self, x):
        z = np.zeros(2)
        z[0], z[1] = self.term(x), x[2]
        return z[0] * z[1]


class Concrete(Abstract):
    def term(self, x):
        return math.exp(x[1]) * x[0]


@dataclass
class Data:
    t: object
    power: float = 2.0

    def loss(self):
        z = np.empty(3)
        for i, v in enumerate(self.t):
            z[i] = math.sin(v) ** self.power
        return np.dot(z, z[::-1])


MODEL = Model(X)


def compared(x):
    m = Model(x)
    if not (isinstance(m, Model) and isinstance(MODEL, Model) and issubclass(Weighted, Model)):
        return 0.0 * x[0]
    return m.loss()


OF_CLASSES = {
    "a new object": lambda x: Model(x).loss(), "a class method": lambda x: Model.make(x).loss(),
    "a static method": lambda x: Model.ones_times(x), "a property": lambda x: Model(x).shifted,
    "a cached property": lambda x: Model(x).kept, "an operator": lambda x: (Model(x) + Model(2.0 * x)).loss(),
    "super()": lambda x: Weighted(x, 1.5).loss(), "overridden": lambda x: Overriding(x, 1.5).loss(),
    "overridden by data": lambda x: Overriding(x, 1.5).shifted * x[0], "two bases": lambda x: Diamond(x).loss(),
    "a dataclass": lambda x: Data(x).loss(), "by the class": lambda x: Model.loss(Model(x)),
    "a class that is chosen": lambda x: (Model if x[0] > 0.0 else Data)(x).loss(),
    "in a container": lambda x: {"model": Model}["model"](x).loss(), "abstract": lambda x: Concrete().total(x),
    "compared": compared,
}  # fmt: skip


@pytest.mark.parametrize("name", OF_CLASSES)
def test_methods_of_classes_that_are_named(name):
    agree(OF_CLASSES[name])


def test_a_class_keeps_what_is_set_on_it_and_what_it_refuses():
    def f(x):
        Model.made += 1
        return Model(x).loss()

    before = Model.made
    contad.grad(f)(X)
    assert Model.made == before + 2 and vars(Model)["made"] == Model.made  # f runs a second time
    with pytest.raises(TypeError, match="abstract"):
        contad.grad(lambda x: Abstract().total(x))(X)


def test_where_classes_are_compared_they_are_the_users():
    def f(x, model):
        return model.loss() if type(model) is Model and type(MODEL) is type(model) else 2.0 * x[0]

    def g(x):
        return f(x, Model(x))

    def h(x):
        return f(x, Model(x)) if type(x) is np.ndarray else 0.0

    agree(g)
    with pytest.raises(LostDerivativeError):  # it might compare Model
        contad.grad(h)(X)


@dataclass
class Pair:
    a: object

    def first(self, x):
        return math.exp(x[0]) * x[1]


PAIRS = [Pair(1.0)]


def test_objects_of_one_class_are_equal_wherever_they_were_made():
    def of_one_class(a, b):
        return a.__class__ is b.__class__ and {Pair: True}.get(a.__class__, False)

    def f(x, pair):
        new = Pair(1.0)
        same = new == pair and pair == new and of_one_class(new, pair) and new == PAIRS[0]
        return new.first(x) if same else 2.0 * x[0]

    agree(lambda x: f(x, Pair(1.0)))
    agree(lambda x: f(x, PAIRS[0]))
    np.testing.assert_allclose(contad.grad(f)(X, Pair(1.0)), differences(lambda x: f(x, Pair(1.0))), rtol=1e-8)


class Counting:
    made = []  # noqa: RUF012  (it is written to)

    def __init_subclass__(cls):
        Counting.made.append(cls)


class Counted2(Counting):
    def of(self, x):
        return math.exp(x[0])


def test_the_users_init_subclass_is_not_called():
    agree(lambda x: Counted2().of(x))
    assert Counting.made == [Counted2]


class Holder(Generic[T]):
    def __init__(self, x):
        self.x = x

    def value(self):
        z = np.zeros(2)
        z[0], z[1] = math.exp(self.x[0]), self.x[1]
        return z.sum()


@functools.singledispatch
def dispatched(x):
    return math.exp(x)


@dispatched.register
def of_arrays(x: np.ndarray):
    z = np.zeros(3)
    z[0] = math.sin(x[0])
    return z.sum() + x[1]


TABLE = {"exp": math.exp, "pair": (math.sin, [np.cos])}
MORE = {
    "a generic class": lambda x: Holder(x).value(), "of a type": lambda x: Holder[float](x).value(),
    "functools.singledispatch": lambda x: dispatched(x) * dispatched(x[2]),
    "functions of math in tables": lambda x: TABLE["exp"](x[0]) * TABLE["pair"][0](x[1]) * TABLE["pair"][1][0](x[2]),
    "a partial of math": lambda x: functools.partial(math.pow, x[0])(x[1]),
}  # fmt: skip


@pytest.mark.parametrize("name", MORE)
def test_other_ways_to_functions(name):
    agree(MORE[name])


# ---- what is passed to the function ----------------------------------------------------------------------------------
class Counted:
    def __init__(self, w):
        self.w = w
        self.calls = 0

    def of(self, x):
        self.calls += 1
        z = np.zeros(3)
        z[1] = math.cosh(x[0])
        return (z * self.w * x).sum() + z[1]


class Asking:
    def of(self, x):
        return x[0] ** 2 if isinstance(x[0], float) and isinstance(x, np.ndarray) else 3.0 * x[1]


def fill(x):
    z = np.zeros(3)
    z[1] = x[0] * x[2]
    return z.sum()


@numba.njit
def compiled(x):
    return math.exp(x[0]) * x[1]


def methods(x, model):
    return model.of(x)


def calls(x, f):
    return f(x)


def each(x, *functions, scale=1.0, **named):
    return scale * sum([f(x) for f in functions]) + sum([f.of(x) for f in named.values()])


def looks_up(x, table):
    return sum([f(x) for f in table["functions"]])


WEIGHTS = np.array([1.0, -2.0, 3.0])
GIVEN = {
    "an object": (methods, Counted(WEIGHTS)), "one that asks": (methods, Asking()), "a function": (calls, fill),
    "of math": (calls, lambda x: math.exp(x[0]) * x[1]), "a Numba function": (calls, compiled),
    "a method": (calls, Counted(WEIGHTS).of), "a partial": (calls, functools.partial(methods, model=Counted(WEIGHTS))),
    "a list": (lambda x, fs: sum([f(x) for f in fs]), [fill, compiled, Counted(WEIGHTS).of]),
    "a list of objects": (lambda x, ms: ms[0].of(x) * ms[1].of(x), [Asking(), Counted(WEIGHTS)]),
    "a dict": (looks_up, {"functions": [fill, fill], "other": "text"}),
    "several": (each, fill, Counted(WEIGHTS).of),
}  # fmt: skip


@pytest.mark.parametrize("name", GIVEN)
def test_functions_and_objects_that_are_passed(name):
    f, *others = GIVEN[name]
    agree(lambda x: f(x, *others))
    np.testing.assert_allclose(contad.grad(f)(X, *others), differences(lambda x: f(x, *others)), rtol=1e-8, atol=1e-8)
    rows = contad.hessian(f)(X, *others)
    np.testing.assert_allclose(rows, contad.jacobian(contad.grad(lambda x: f(x, *others)))(X), rtol=1e-12, atol=1e-12)


def test_by_name_and_after_another_class():
    expected = differences(lambda x: each(x, fill, scale=2.0, a=Asking(), b=Counted(WEIGHTS)))
    found = contad.grad(each)(X, fill, scale=2.0, a=Asking(), b=Counted(WEIGHTS))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
    for _ in range(2):
        for model in (Asking(), Counted(WEIGHTS)):
            np.testing.assert_allclose(contad.grad(methods)(X, model), differences(model.of), rtol=1e-8, atol=1e-8)
    model = Counted(WEIGHTS)
    contad.grad(methods)(X, model)
    assert model.calls == 1  # its attributes are shared


class Plain:
    def first(self, x):
        return x[0] * x[1]


def test_arguments_that_need_nothing_are_passed_as_they_are():
    seen = []

    def f(x, *others):
        seen.extend(others)
        return x[0] * x[1]

    others = [3, "text", None, [1.0, X + 1.0], {"a": Plain.first}, Model, object(), len, Plain.first, Plain()]
    contad.grad(f)(X, *others)
    assert [a is b for a, b in zip(seen, others, strict=True)] == [True] * len(others)


def test_functions_that_are_passed_are_not_kept():
    def f(x, g):
        return g(x)

    def g(x):
        return math.exp(x[0])

    contad.grad(f)(X, g)
    gone = weakref.ref(g)
    del g
    gc.collect()
    assert gone() is None


def test_copies_for_classes_that_are_made_anew_are_not_kept():
    def f(x, model):
        return model.of(x)

    gradient = contad.grad(f)
    kept = []
    for _ in range(40):

        class Fresh:
            def of(self, x):
                return math.exp(x[0])

        kept.append(weakref.ref(Fresh))
        assert gradient(X, Fresh())[0] == math.exp(0.5)
    assert len(f.__contad__[1]["for variables"]) <= 17


# ---- what changes between calls --------------------------------------------------------------------------------------
def test_methods_modules_and_containers_are_read_live():
    class Changing:
        rate = 2.0

        def of(self, x):
            return math.exp(x[0]) * self.rate

    class Below(Changing):
        pass

    module = types.ModuleType("changing")
    exec("import math\ndef of(x):\n    return math.exp(x[0])", vars(module))
    table, functions, settings = {"f": fill, "rate": 1.0}, [fill], {"fill": (fill,), "rate": 2.0}
    uses = {
        "a class": lambda x: Changing().of(x), "a base": lambda x: Below().of(x), "a module": lambda x: module.of(x),
        "a table": lambda x: table["f"](x) * table["rate"], "a list": lambda x: functions[0](x),
        "nested": lambda x: settings["fill"][0](x) * settings["rate"],
    }  # fmt: skip
    gradients = {name: contad.grad(f) for name, f in uses.items()}

    def require_all():
        for name, f in uses.items():
            for _ in range(2):
                np.testing.assert_allclose(gradients[name](X), differences(f), rtol=1e-8, atol=1e-8, err_msg=name)

    require_all()
    Changing.rate = 3.0
    Changing.of = lambda self, x: math.sin(x[1]) * self.rate
    exec("def of(x):\n    return math.sin(x[1])", vars(module))
    table["rate"], table["f"], functions[0], settings["rate"] = 4.0, methods_of_sine, methods_of_sine, 5.0
    require_all()
    Below.of = lambda self, x: math.cos(x[2])
    settings["fill"] = (methods_of_sine,)
    functions.insert(0, fill)
    require_all()


def methods_of_sine(x):
    return math.sin(x[1]) * x[2]


def test_changes_of_containers_are_made_to_the_users():
    functions, table, order = [fill], {"f": fill}, []

    def f(x):
        functions.append(methods_of_sine)
        functions.extend([len])
        functions.pop()
        table["g"] = methods_of_sine
        table.setdefault("h", 3.0)
        order.append(len(functions))
        total = sum([g(x) for g in functions[:2]]) + table["g"](x)
        del functions[1:]
        return total * table.pop("h")

    gradient = contad.grad(f)(X)
    assert functions == [fill] and table == {"f": fill, "g": methods_of_sine} and len(order) == 2
    np.testing.assert_allclose(gradient, differences(f), rtol=1e-8)


def test_the_calls_that_it_costs():
    def count(g, *args):
        calls = 0

        def note(frame, event, arg):
            nonlocal calls
            calls += event in ("call", "c_call")

        g(*args)
        sys.setprofile(note)
        try:
            g(*args)
        finally:
            sys.setprofile(None)
        return calls

    def plain(x, w):
        return np.sum(np.tanh(x * w) ** 2)

    def copied(x, w):
        z = np.zeros(3)
        z[:] = np.tanh(x * w) ** 2
        return np.sum(z)

    with contad.settings(rewrite=False):
        without = count(contad.grad(plain), X, WEIGHTS)
    assert count(contad.grad(plain), X, WEIGHTS) <= 1.03 * without
    made = count(contad.grad(copied), X, WEIGHTS)

    def by_hand(x, w):
        z = contad.zeros(3)
        z[:] = np.tanh(x * w) ** 2
        return np.sum(z)

    with contad.settings(rewrite=False):
        assert made <= 1.03 * count(contad.grad(by_hand), X, WEIGHTS)


# ---- settings --------------------------------------------------------------------------------------------------------
def test_nothing_is_rewritten_where_the_settings_say_so():
    def f(x):
        return math.exp(x[0])

    gradient = contad.grad(f)
    assert gradient(X)[0] == math.exp(0.5)
    with contad.settings(rewrite=False):
        assert repr(contad.settings()) == "contad.settings(rewrite=False)"
        with pytest.raises(LostDerivativeError):
            gradient(X)
        with pytest.raises(LostDerivativeError):
            contad.grad(lambda x: math.exp(x[0]))(X)
    assert gradient(X)[0] == math.exp(0.5) and repr(contad.settings()) == "contad.settings(rewrite=True)"


def test_packages_are_rewritten_where_they_are_named(tmp_path, monkeypatch):
    package = tmp_path / "site-packages" / "an_installed_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "import math\n\ndef area(x):\n    return math.exp(x[0]) * inner(x)\n\n"
        "def inner(x):\n    return math.sin(x[1])\n\nclass Curve:\n    def at(self, x):\n        return inner(x)\n"
    )
    monkeypatch.syspath_prepend(package.parent)
    an_installed_package = importlib.import_module("an_installed_package")

    def f(x):
        return an_installed_package.area(x) + an_installed_package.Curve().at(x)

    def of_object(x, curve):
        return curve.at(x)

    curve = an_installed_package.Curve()
    for _ in range(2):
        with pytest.raises(LostDerivativeError):
            contad.grad(lambda x: f(x))(X)
        with pytest.raises(LostDerivativeError):
            contad.grad(lambda x: of_object(x, curve))(X)
        with contad.settings(rewrite="an_installed_package"):
            assert repr(contad.settings()) == "contad.settings(rewrite=['an_installed_package'])"
            agree(lambda x: f(x))
            agree(lambda x: of_object(x, curve))


@pytest.mark.parametrize("wrong", [1.5, ["numpy", 3]])
def test_settings_that_are_wrong(wrong):
    with pytest.raises(TypeError, match="settings: rewrite must be True, False, or names of packages"):
        contad.settings(rewrite=wrong)
