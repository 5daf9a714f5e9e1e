"""Derivatives after the class of an object, its dictionary, its class's bases or a function of `math` is replaced."""

import functools
import itertools
import math

import numpy as np
import pytest

import contad
from contad.errors import LostDerivativeError
from contad.functions import live_reads, reached

X = 1.3


def of(source):
    """A function of its own each time, so that nothing is known of it yet."""
    names = {"math": math, "np": np}
    exec(f"def f(self, x):\n    return {source}", names)
    return names["f"]


SOURCES = {"math": ("math.sin(x)", "math.log(x)"), "NumPy": ("np.sin(x)", "np.log(x)"),
           "math before": ("math.sin(x)", "np.log(x)"), "math after": ("np.sin(x)", "math.log(x)")}  # fmt: skip


def of_another_class(before, after):
    x, other = type("Before", (), {"act": of(before)})(), type("After", (), {"act": of(after)})
    return x, lambda: setattr(x, "__class__", other)


def of_other_bases(before, after):
    bases = [type("Base", (), {"act": of(source)}) for source in (before, after)]
    cls = type("Below", (bases[0],), {})
    return type("Lowest", (cls,), {})(), lambda: setattr(cls, "__bases__", (bases[1],))


def of_other_bases_by_super(before, after):
    class Calling:
        def act(self, x):
            return super().act(x)

    bases = [type("Base", (), {"act": of(source)}) for source in (before, after)]
    cls = type("Below", (Calling, bases[0]), {})
    return cls(), lambda: setattr(cls, "__bases__", (Calling, bases[1]))


def with_another_dictionary(before, after):
    f, g = of(before), of(after)
    x = type("Holder", (), {"act": lambda self, x: self.f(self, x)})()
    x.f = f
    return x, lambda: setattr(x, "__dict__", {"f": g})


CHANGES = [of_another_class, of_other_bases, of_other_bases_by_super, with_another_dictionary]
def reach(way, x):
    """A function that comes to an object in this way, and calls its method."""
    if way == "closure":
        return lambda t: x.act(t)
    if way == "default":
        return lambda t, x=x: x.act(t)
    held = {"list": [x], "tuple": (x,), "table": {0: x}, "attribute": type("Outer", (), {"x": x})(),
            "partial": functools.partial(lambda x, t: x.act(t), x)}[way]  # fmt: skip
    if way == "partial":
        return lambda t: held(t)
    return (lambda t: held.x.act(t)) if way == "attribute" else (lambda t: held[0].act(t))


WAYS = ["closure", "default", "list", "tuple", "table", "attribute", "partial"]
SLOPES = {
    "kept": lambda f: contad.grad(f),
    "new": lambda f: lambda x: contad.grad(f)(x),
    "jvp": lambda f: lambda x: contad.jvp(f, (x,), (1.0,))[1],
}


def stale(change, before, after):
    """The ways to reach an object by which a derivative is still that of before."""
    found = []
    for way, (kind, slope) in itertools.product(WAYS, SLOPES.items()):
        x, replace = change(before, after)
        now = slope(reach(way, x))
        assert now(X) == pytest.approx(math.cos(X), rel=1e-12)
        replace()
        if [now(X), now(X)] != pytest.approx([1.0 / X] * 2, rel=1e-12):
            found.append((way, kind))
    return found


@pytest.mark.parametrize("names", SOURCES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_derivative_is_of_the_object_as_it_is_now(change, names):
    assert stale(change, *SOURCES[names]) == []


def test_a_name_of_an_object_of_another_class():
    x, replace = of_another_class("np.sin(x)", "math.log(x)")
    now = contad.grad(lambda t: x.act(t))
    assert now(X) == pytest.approx(math.cos(X))
    replace()
    x = type(x)()
    assert now(X) == pytest.approx(1.0 / X)


@pytest.mark.parametrize("names", SOURCES)
def test_a_partial_that_is_given_another_function(names):
    before, after = (functools.partial(of(source), None) for source in SOURCES[names])
    held = functools.partial(before)
    several = [functools.partial(before)]
    ways = [contad.grad(lambda t: held(t)), contad.grad(lambda t: several[0](t))]
    assert [now(X) for now in ways] == pytest.approx([math.cos(X)] * 2)
    for f in (held, several[0]):
        f.__setstate__((after.func, (None,), {}, {}))
    if names != "math after":  # a list of functions that need no copies is not looked into again
        assert [now(X) for now in ways] == pytest.approx([1.0 / X] * 2)
    assert ways[0](X) == pytest.approx(1.0 / X)


@pytest.mark.parametrize("other", [lambda x: x**2, np.square, math.exp, np.log])
def test_another_function_under_a_name_of_math(other, monkeypatch):
    def f(x):
        return math.sin(x)

    ways = [slope(f) for slope in SLOPES.values()]
    assert [now(X) for now in ways] == pytest.approx([math.cos(X)] * 3)
    right = contad.grad(lambda x: contad.ops.exp(x) if other is math.exp else other(x))(X)
    with monkeypatch.context() as patch:
        patch.setattr(math, "sin", other)
        assert [now(X) for now in ways] == pytest.approx([right] * 3)
    assert [now(X) for now in ways] == pytest.approx([math.cos(X)] * 3)


FAULTS = {
    "the class": ("math", of_another_class, live_reads.Standing, "look", lambda self, _=None: True),
    "the dictionary": ("math", with_another_dictionary, live_reads.Standing, "look", lambda self, _=None: True),
    "the bases": ("math after", of_other_bases, reached.Family, "_watches", lambda self: ()),
    "objects that need nothing": ("math after", of_another_class, reached.Reached, "watches", lambda self, _: ()),
}


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_found(name, monkeypatch):
    names, change, *fault = FAULTS[name]
    monkeypatch.setattr(*fault)
    try:
        found = stale(change, *SOURCES[names])
    except LostDerivativeError:  # what is run is of before, and refused
        found = True
    assert found
