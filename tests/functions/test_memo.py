"""Nothing stays of functions, objects and classes that have gone, however a loss is written, and of shapes either."""

import abc
import functools
import gc
import math
import os
import sys
import tracemalloc
import types
import weakref
from itertools import count

import numpy as np
import pytest

import contad
from contad.functions import callees, reached
from tests.judges.samples import shortened

POINT = np.array([0.3, 1.2, -0.5])
NUMBERS = count()


class Wave:
    def __init__(self, rate=2.0):
        self.rate = rate

    def __call__(self, x):
        return self.rate * math.sin(x[0])

    def plain(self, x):
        return self.rate * np.sin(x[0])


class Deep:
    def __init__(self):
        self.inner, self.several = Wave(), [Wave(3.0)]

    def __call__(self, x):
        return self.inner(x) + self.several[0].plain(x)


class Base:
    def __call__(self, x):
        return 2.0 * self.method(x)


WAVE, DEEP = Wave(), Deep()


# ---- ways to write a loss --------------------------------------------------------------------------------------------
def an_object_with_slots():
    class Slotted:
        __slots__ = ("__weakref__", "rate")

        def __call__(self, x):
            return self.rate * math.sin(x[0])

    made = Slotted()
    made.rate = 2.0
    return made


def a_closure():
    data = np.ones(3)

    def f(x):
        return data[0] * math.sin(x[0])

    return f


def a_closure_that_calls_itself():
    def f(x, n=2):
        return math.sin(x[0]) + (f(x, n - 1) if n else 0.0)

    return f


def a_closure_of_an_object():
    wave = Wave()
    return lambda x: wave(x)


def a_closure_of_a_class():
    class Local:
        def method(self, x):
            return math.sin(x[0])

    return lambda x: Local().method(x)


def a_closure_of_other_things():
    space = types.SimpleNamespace(f=lambda x: math.sin(x[0]))
    table = {"f": space.f}

    @functools.singledispatch
    def dispatching(x):
        return math.cos(x[0])

    elements = np.vectorize(lambda t: math.sin(t))
    return lambda x: space.f(x) + table["f"](x) + dispatching(x) + np.sum(elements(x))


def a_decorated_function():
    inner = a_closure()

    @functools.wraps(inner)
    def f(*args):
        return inner(*args)

    return f


def a_function_that_fills_arrays():
    def f(x):
        a = np.zeros(3)
        a[0] = x[0] * 2.0
        try:
            return math.exp(a.sum())
        except ValueError:
            return 0.0

    return f


def a_class_in_a_loop():
    class Local:
        names = ("a", "b")

        def __init__(self):
            self.data, self.wave = np.ones(3), Wave()

        @functools.cached_property
        def cached(self):
            return 2.0

        @property
        def scale(self):
            return self.cached * math.pi

        @classmethod
        def of_class(cls, x):
            return cls.static(x)

        @staticmethod
        def static(x):
            return math.sin(x[0])

        def method(self, x):
            return self.scale * self.of_class(x) + self.wave(x)

        def __call__(self, x):
            return self.method(x)

    return Local()


def a_class_with_a_base():
    class Local(Base):
        def method(self, x):
            return math.sin(x[0])

    return Local()


def a_class_with_super():
    class Above(Base):
        def __init_subclass__(cls):
            super().__init_subclass__()

        def method(self, x):
            return np.sum(x * x)

    class Local(Above):
        def method(self, x):
            return math.sin(x[0]) * super().method(x) + super(Local, self).method(x)  # noqa: UP008

    return Local()


def an_abstract_class():
    class Abstract(abc.ABC):
        @abc.abstractmethod
        def method(self, x): ...

        def __call__(self, x):
            return self.method(x)

    class Local(Abstract):
        def method(self, x):
            return math.sin(x[0])

    return Local()


def of_source(text):
    """A way to write a loss: with exec, and with another number each time."""

    def make():
        names = {"math": math, "np": np, "WAVE": WAVE, "DEEP": DEEP}
        exec(text.replace("NUMBER", f"{next(NUMBERS)}.5"), names)
        return names["f"]

    return make


SOURCES = {
    "source": "def f(x): return NUMBER * np.sum(x * x)",
    "source of math": "def f(x): return NUMBER * math.sin(x[0])",
    "source of an object": "def f(x): return NUMBER * WAVE(x)",
    "source of objects behind objects": "def f(x): return NUMBER * DEEP(x)",
    "source of a helper": "def h(x): return math.sin(x[0])\ndef f(x): return NUMBER * h(x)",
    "source of a function that calls itself": (
        "def f(x, n=2): return NUMBER * math.sin(x[0]) + (f(x, n - 1) if n else 0.0)"
    ),
    "source of a function inside": "def h(t): return math.sin(t)\ndef f(x): return NUMBER * sum([h(t) for t in x])",
    "source of a table": "def h(x): return math.sin(x[0])\nTABLE = [h]\ndef f(x): return NUMBER * TABLE[0](x)",
    "source of a class": (
        "class C:\n    def again(self): return C()\n    def m(self, x): return NUMBER * math.sin(x[0])\n"
        "    def __call__(self, x): return self.again().m(x)\nf = C()"
    ),
    "source of a method": (
        "class C:\n    def m(self, x): return math.sin(x[0])\nc = C()\ndef f(x): return NUMBER * c.m(x)"
    ),
    "source of a data class": (
        "import dataclasses\n@dataclasses.dataclass\nclass C:\n    a: float\n"
        "    def __call__(self, x): return self.a * math.sin(x[0])\nf = C(NUMBER)"
    ),
    "source with handlers": (
        "def f(x):\n    try: return NUMBER * math.sin(x[0])\n    except ValueError: return 0.0"
    ),
}  # fmt: skip
SHORT = {
    "a lambda": lambda: lambda x: np.sum(x * x),
    "a lambda of math": lambda: lambda x: math.sin(x[0]),
    "a lambda of an object": lambda: lambda x: WAVE(x),
    "a lambda of objects behind objects": lambda: lambda x: DEEP(x),
    "a partial": lambda: functools.partial(lambda a, x: a[0] * math.sin(x[0]), np.ones(3)),
    "a partial of an object": lambda: functools.partial(lambda wave, x: wave(x), Wave()),
    "a method": lambda: Wave().__call__,
    "a method that runs as it is": lambda: Wave().plain,
    "an object": lambda: Wave(),
    "an object with objects": lambda: Deep(),
    "a method of a class in a loop": lambda: a_class_in_a_loop().method,
}
WAYS = SHORT | {name.replace("_", " "): f for name, f in [*vars().items()] if name.startswith(("a_", "an_"))} | {
    name: of_source(text) for name, text in SOURCES.items()
}
TRANSFORMS = {
    "jacobian": lambda f: contad.jacobian(f)(POINT),
    "hessian": lambda f: contad.hessian(f)(POINT),
    "hvp": lambda f: contad.hvp(f)(POINT, POINT),
    "jvp": lambda f: contad.jvp(f, (POINT,), (POINT,)),
    "vjp": lambda f: contad.vjp(f, POINT)[1](1.0),
    "linearize": lambda f: contad.linearize(f, POINT)[1](POINT),
    "checkpoint": lambda f: contad.grad(contad.checkpoint(f))(POINT),
    "closures": lambda f: contad.grad(f, engine="closures")(POINT),
    "record": lambda f: contad.record(f, POINT)(POINT),
    "grad in grad": lambda f: contad.grad(lambda x: f(x) * contad.grad(f)(x)[0])(POINT),
}


def gone():
    """Collect what nothing holds: objects that constants of code held are garbage when the code has gone."""
    for _ in range(3):
        gc.collect()


def require_nothing_stays(make, differentiate, n):
    """Differentiate n functions and see that none is alive, nor what it is made of, and that memory does not grow."""
    made = []
    growth = []
    limit = 64e3 + 50.0 * n  # Python keeps lists of free objects
    tracemalloc.start()  # once: what takes the place of an old entry of a full cache is no growth
    try:
        for size in (20, *[n] * 5):  # a table that is made once, or grows, does so in some of them
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(size):
                f = make()
                own = getattr(f, "func", getattr(f, "__self__", f))
                made += [weakref.ref(own)] + [weakref.ref(type(own))] * (type(own).__qualname__.count("<locals>"))
                differentiate(f)
            del f, own
            gone()
            assert sum(x() is not None for x in made) == 0
            made.clear()
            growth.append(tracemalloc.get_traced_memory()[0] - before)
            if size == n and growth[-1] < limit:
                break
    finally:
        tracemalloc.stop()
    assert growth[-1] < limit, f"bytes stay of {n}: {growth[1:]}"


def differentiate(f):
    np.testing.assert_allclose(contad.grad(f)(POINT), contad.grad(f)(POINT))


@pytest.mark.parametrize("n", shortened(100, 5000))
@pytest.mark.parametrize("way", WAYS)
def test_nothing_stays_of_any_way_to_write_a_loss(way, n):
    require_nothing_stays(WAYS[way], differentiate, n)


@pytest.mark.parametrize("n", shortened(20, 1000))
@pytest.mark.parametrize("name", TRANSFORMS)
def test_nothing_stays_of_any_transform(name, n):
    for way in ("a closure of an object", "an object with objects", "source of a helper"):
        require_nothing_stays(WAYS[way], TRANSFORMS[name], n)


def test_a_method_keeps_no_object_and_asks_about_no_other_one():
    kept = Wave()
    gradient = contad.grad(kept)
    for _ in range(50):
        contad.grad(Wave())(POINT)
    assert len(gradient.run.current[0].watched) < 30 and not gradient.run.current[0].permanent


FAULTS = {
    "code leads back": (callees, "weakly", lambda method: method, "a lambda of an object"),
    "globals that are freed": (callees, "is_of_module", lambda names: True, "source of a helper"),
    "a table of classes": (reached, "is_users_class", functools.cache(reached.is_users_class), "a class in a loop"),
    "of a base": (reached, "is_method", lambda f, cls: False, "a class with a base"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_found(name, monkeypatch):
    module, attribute, fault, way = FAULTS[name]
    monkeypatch.setattr(module, attribute, fault)
    with pytest.raises(AssertionError):
        require_nothing_stays(WAYS[way], differentiate, 30)


# ---- shapes ----------------------------------------------------------------------------------------------------------
def of_shapes(x):
    a = np.outer(x, x + 1.0)
    z = np.sum(a * x[:, None], axis=0) @ np.tanh(x) + np.sum(np.exp(-x[1:]) * x[:-1])
    return z + np.sum(np.linalg.norm(a, axis=1)) + np.sum(np.concatenate([x, x[::2]]) ** 2) + math.sin(x[0])


def differentiate_shapes(shapes):
    gradient = contad.grad(of_shapes)
    for n in shapes:
        gradient(np.full(n, 0.5))


def count_entries():
    """How many entries each container of contad's modules has, and each cache without a bound."""
    found = {}
    for module in [m for name, m in sys.modules.items() if name.partition(".")[0] == "contad"]:
        for name, x in [*vars(module).items()]:
            if isinstance(x, (dict, list, set, weakref.WeakSet, weakref.WeakValueDictionary)) and name[:2] != "__":
                found[f"{module.__name__}.{name}"] = len(x)
            elif hasattr(x, "cache_info") and x.cache_info().maxsize is None:
                found[f"{module.__name__}.{name}"] = x.cache_info().currsize
            elif isinstance(known := getattr(x, "known", None), dict):
                found[f"{module.__name__}.{name}"] = len(known)
    return found


def test_no_cache_has_an_entry_for_each_shape():
    differentiate_shapes(range(2, 40))
    before = count_entries()
    differentiate_shapes(range(40, 140))
    grown = {name: (n, before[name]) for name, n in count_entries().items() if n > before.get(name, n) + 20}
    assert grown == {}


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.long
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the memory of the process is read from /proc")
def test_memory_is_flat_over_a_million_calls_of_changing_shapes():
    shapes = [2 + (7 * k) % 61 for k in range(100000)]
    differentiate_shapes(shapes)
    before = resident()
    for _ in range(10):
        differentiate_shapes(shapes)
    assert resident() - before < 20e6
