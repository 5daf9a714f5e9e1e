"""Objects that are reached through attributes of objects, in containers of any kind, with slots, and named tuples."""

import abc
import argparse
import contextlib
import copy
import functools
import math
import threading
from collections import defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import NamedTuple

import numba
import numpy as np
import pytest

import contad
from contad.functions import callees, live_reads, stand_in_objects
from tests.judges import ways

X = np.array([0.5, 1.3, 0.7])


def agree(f, *args):
    for _ in range(2):
        found = contad.grad(f)(X, *args)
        np.testing.assert_allclose(found, ways.differences(lambda x: f(x, *args), X), rtol=1e-7, atol=1e-8)


class Dense:
    def __init__(self, scale, activation=math.tanh):
        self.scale = scale
        self.activation = activation
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        z = np.zeros(3)
        for i in range(3):
            z[i] = self.activation(self.scale * x[i])
        return z


class Asking:
    def forward(self, x):
        return 2.0 * x if isinstance(x, np.ndarray) else 3.0 * x


@numba.njit
def compiled(x):
    return math.exp(-x) + x


class Net:
    def __init__(self, *layers, head=None):
        self.layers = list(layers)
        self.head = head
        self.name = "net"
        for layer in layers:
            layer.parent = self

    def __call__(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return x.sum() if self.head is None else self.head(x)

    def own(self, x):
        return (self.layers[0].parent is self and self(x)) or 0.0 * x[0]


class Holder:
    def __init__(self, inner):
        self.inner = inner

    def value(self, x):
        return self.inner(x)


class Point(NamedTuple):
    a: float
    f: object = math.exp

    def at(self, x):
        return self.f(self.a * x[0]) * x[1]

    def doubled(self):
        return self._replace(a=2.0 * self.a)


class Below(namedtuple("Below", "a b")):
    __slots__ = ()

    def at(self, x):
        return math.sin(self.a * x[0]) + self.b * x[1]


class Slots:
    __slots__ = ("a", "inner")

    def __init__(self, a, inner=None):
        self.a, self.inner = a, inner

    def at(self, x):
        self.a = self.a + 0.0
        return math.exp(self.a * x[0]) + (0.0 if self.inner is None else self.inner.forward(x).sum())


class MoreSlots(Slots):
    __slots__ = ("b",)

    def at(self, x):
        self.b = 3.0
        return super().at(x) * self.b


class SlotsAndMore(Slots):
    pass


@dataclass(slots=True)
class DataSlots:
    a: float
    layers: list = field(default_factory=list)

    def at(self, x):
        return math.cosh(self.a * x[0]) + sum([layer.forward(x)[1] for layer in self.layers])


@dataclass(frozen=True)
class Frozen:
    layer: Dense

    def at(self, x):
        return self.layer.forward(x).sum()


class Term(abc.ABC):
    @abc.abstractmethod
    def at(self, x):
        """Its value."""


class Const(Term):
    def __init__(self, v):
        self.v = v

    def at(self, x):
        return self.v


class Input(Term):
    def __init__(self, k):
        self.k = k

    def at(self, x):
        return x[self.k]


class Apply(Term):
    def __init__(self, f, *terms):
        self.f, self.terms = f, terms

    def at(self, x):
        return self.f(*[t.at(x) for t in self.terms])


def product(*xs):
    a = np.ones(1)
    for x in xs:
        a[0] *= x
    return a[0]


TREE = Apply(product, Apply(math.exp, Apply(product, Const(0.5), Input(0))), Apply(math.hypot, Input(1), Const(2.0)))


class Linked:
    def __init__(self, v, after=None):
        self.v, self.after = v, after

    def total(self, x):
        own = math.sin(self.v * x[0])
        return own if self.after is None else own * x[1] + self.after.total(x)


class Guarded:
    def __init__(self, layer):
        self._layer = layer

    @property
    def layer(self):
        return self._layer

    @functools.cached_property
    def kept(self):
        return self._layer

    def __getattr__(self, name):
        if name == "elsewhere":
            return self._layer
        raise AttributeError(name)

    def at(self, x):
        same = self.layer is self.kept is self.elsewhere
        return self.layer.forward(x).sum() if same else 0.0 * x[0]


class Registered(type):
    made = []  # noqa: RUF012  (it is written to)

    def __init__(cls, name, bases, names):
        super().__init__(name, bases, names)
        Registered.made.append(cls)


class Plugin(metaclass=Registered):
    def at(self, x):
        return math.exp(x[0]) * len(Registered.made)


class OnTheClass:
    layers = [Dense(0.5), Asking()]  # noqa: RUF012
    head = math.fabs

    def at(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return OnTheClass.layers[0].forward(x).sum() + self.head(x[0])


class Scaled:
    def __init__(self, a):
        self.a = a

    def doubled(self):
        return type(self)(2.0 * self.a)

    def at(self, x):
        return math.exp(self.a * x[0]) if self.a == 1.0 else 0.0 * x[0]


@dataclass
class Powers:
    a: float

    def __post_init__(self):
        self.b = math.exp(self.a)

    def at(self, x):
        return math.pow(self.b, 2.0) * x[1]


class Exponential:
    def __set_name__(self, owner, name):
        self.name = f"_{name}"

    def __get__(self, x, cls=None):
        return math.exp(getattr(x, self.name))

    def __set__(self, x, v):
        setattr(x, self.name, v)


class Described:
    v = Exponential()

    def __init__(self, v):
        self.v = v


@contextlib.contextmanager
def filled(x):
    z = np.zeros(3)
    z[:] = x
    yield z


def in_a_context(x):
    with filled(x) as z:
        return math.exp(z[0]) * z[1]


def deep():
    return Net(Dense(0.5), Asking(), Dense(2.0, lambda v: math.exp(v)), head=functools.partial(np.dot, X))


NET = deep()
LAYERS = {"first": [Dense(0.3)], "others": defaultdict(list, more=[Dense(0.2), Asking()])}
OF = {
    "named": (lambda x: NET(x), ()), "an argument": (lambda x, net: net(x), (deep(),)),
    "a method": (lambda x, value: value(x), (Holder(Holder(deep()).value).value,)),
    "three deep": (lambda x, h: h.value(x), (Holder(Holder(deep()).value),)),
    "its parent": (lambda x, net: net.own(x), (deep(),)),
    "a dict of lists": (lambda x: LAYERS["first"][0].forward(LAYERS["others"]["more"][1].forward(x)).sum(), ()),
    "compiled": (lambda x, d: d.forward(x).sum(), (Dense(0.4, compiled),)),
    "a set": (lambda x, s: sum([d.forward(x).sum() for d in s]), ({Dense(0.4), Dense(0.3)},)),
    "a deque": (lambda x, h: h.inner[0].forward(x).sum(), (Holder(deque([Dense(0.4)])),)),
    "a long list": (lambda x, h: sum([d.forward(x)[0] for d in h.inner]), (Holder([Dense(0.1)] * 90 + [Asking()]),)),
    "a named tuple": (lambda x, p: p.at(x) * p.doubled().at(x), (Point(0.5),)),
    "one of collections": (lambda x, p: p.at(x) * p[0] + len(p), (Below(0.5, 2.0),)),
    "one that is made": (lambda x: Point(x[0]).at(x) + Below(x[1], b=x[2]).at(x), ()),
    "slots": (lambda x, s: s.at(x), (Slots(0.5, Dense(0.2)),)), "more slots": (lambda x, s: s.at(x), (MoreSlots(0.5),)),
    "slots and a dictionary": (lambda x, s: s.at(x), (SlotsAndMore(0.5, Asking()),)),
    "slots that are made": (lambda x: MoreSlots(x[0], Dense(x[1])).at(x), ()),
    "slots of a dataclass": (lambda x, s: s.at(x), (DataSlots(0.5, [Dense(0.2), Asking()]),)),
    "frozen": (lambda x, s: s.at(x), (Frozen(Dense(0.7)),)), "an expression": (lambda x: TREE.at(x), ()),
    "a linked list": (lambda x, n: n.total(x), (functools.reduce(lambda n, k: Linked(0.1 * k, n), range(20), None),)),
    "properties": (lambda x, g: g.at(x), (Guarded(Dense(0.5)),)), "a metaclass": (lambda x: Plugin().at(x), ()),
    "on the class": (lambda x, o: o.at(x), (OnTheClass(),)),
    "a namespace": (lambda x, n: n.f(x[0]) * n.layer.forward(x)[0], (argparse.Namespace(f=math.exp, layer=Asking()),)),
    "a copy": (lambda x, net: copy.copy(net)(x) + copy.deepcopy(net)(x), (Net(Dense(0.5), Asking()),)),
    "a simple namespace": (lambda x, n: n.f(x[0]) * n.g.forward(x)[0], (SimpleNamespace(f=math.exp, g=Asking()),)),
    "type(self)": (lambda x, p: p.doubled().at(x), (Scaled(0.5),)),
    "dataclasses.replace": (lambda x, d: replace(d, a=x[0]).at(x) * (1.0 if d == d else 0.0), (Powers(0.5),)),
    "a descriptor": (lambda x: Described(x[0]).v, ()), "contextlib": (in_a_context, ()),
    "of math": (lambda x, f: f(x[0]), (math.exp,)),
}  # fmt: skip


@pytest.mark.parametrize("name", OF)
def test_objects_in_objects(name):
    f, args = OF[name]
    agree(f, *args)


def test_an_attribute_set_in_a_namespace_is_set_on_the_users():
    names = SimpleNamespace(f=math.exp, count=0)

    def f(x):
        names.count += 1
        vars(names)["other"] = names.f(x[1])
        return names.f(x[0]) * (2.0 if hasattr(names, "count") and "f" in vars(names) else 0.0)

    agree(f)
    assert names.count > 0


def test_nothing_is_left_in_the_users_objects():
    net = deep()
    layers, classes = [*net.layers], [*map(type, net.layers)]
    contad.grad(lambda x: net(x) + Holder(net).value(x))(X)
    assert [*map(type, net.layers)] == classes and all(a is b for a, b in zip(net.layers, layers, strict=True))
    assert Plugin in Registered.made and len(Registered.made) == 1
    assert net.layers[0].calls == 3  # f runs a second time, as an array takes variables


def test_one_object_is_one():
    def same(x, a, b, net):
        together = a is b and a in net.layers and net.layers.index(a) == 0 and {a: True}.get(net.layers[0], False)
        return a.forward(x).sum() if together and a == b and net.layers[0] is a else 0.0 * x[0]

    net = deep()
    agree(same, net.layers[0], net.layers[0], net)
    table = {net.layers[0]: 2.0}
    agree(lambda x: table[net.layers[0]] * math.exp(x[0]))
    agree(lambda x, layer: table[layer] * layer.forward(x).sum(), net.layers[0])


def test_an_attribute_that_f_sets_is_set_on_the_users():
    class State:
        def __init__(self, v):
            self.v = v

        def of(self, x):
            return math.exp(self.v * x[0])

    class Machine:
        def __init__(self):
            self.state = State(0.5)
            self.other = State(0.25)
            self.seen = []

        def run(self, x):
            self.seen.append(self.state)
            self.state, self.other = self.other, self.state
            self.last = self.other
            return self.last.of(x) + 2.0 * self.state.of(x)

    machine = Machine()
    first, second = machine.state, machine.other
    contad.grad(lambda x, m: m.run(x))(X, machine)
    assert machine.state is second and machine.other is first and machine.last is first and machine.seen == [first]
    assert type(machine.seen[0]) is State
    agree(lambda x, m: m.run(x) * 0.0 + m.state.of(x) + m.other.of(x), machine)

    def deletes(x, m):
        del m.last
        return m.state.of(x)

    contad.grad(deletes)(X, machine)
    assert not hasattr(machine, "last")


def test_changes_between_calls_are_seen():
    net = deep()
    holder = Holder(net)
    gradients = {"argument": lambda: contad.grad(lambda x, h: h.value(x))(X, holder)}
    named = contad.grad(lambda x: holder.value(x))
    method = contad.grad(holder.value)
    passed = contad.grad(lambda x, h: h.value(x))
    gradients |= {"named": lambda: named(X), "a method": lambda: method(X), "kept": lambda: passed(X, holder)}

    class Cubic:
        def forward(self, x):
            return np.array([math.pow(v, 3.0) for v in x])

    class Squared:
        def forward(self, x):
            return np.array([math.pow(v, 2.0) for v in x])

    def require_all():
        right = ways.differences(holder.value, X)
        for name, found in gradients.items():
            np.testing.assert_allclose(found(), right, rtol=1e-7, err_msg=name)

    require_all()
    net.layers.append(Cubic())
    require_all()
    net.layers[0].activation = math.sin
    require_all()
    net.layers[0] = Dense(0.2, math.cos)
    require_all()
    Cubic.forward = Squared.forward
    require_all()
    net.head = None
    require_all()
    holder.inner = lambda x: math.exp(x[0]) * net.layers[0].forward(x)[1]
    require_all()
    holder.inner = Dense(0.2).forward
    holder.inner = TREE.at
    require_all()


def test_functions_where_data_were():
    class Options:
        def __init__(self):
            self.rate = math.cos

        def of(self, x):
            return (self.rate(x[0]) if callable(self.rate) else self.rate) * x[1]

    options = Options()
    gradient = contad.grad(lambda x: options.of(x))
    named = contad.grad(lambda x: options.of(x)
        * (options.more(x[0]) if hasattr(options, "more") else 1.0)
        * (options.still(x[0]) if hasattr(options, "still") else 1.0))
    for rate in (math.cos, 2.0, math.exp, 3.0, lambda v: math.sin(v)):
        options.rate = rate
        np.testing.assert_allclose(gradient(X), ways.differences(options.of, X), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(named(X), ways.differences(options.of, X), rtol=1e-7, atol=1e-9)
    options.more, options.rate = math.exp, 2.0
    right = ways.differences(lambda x: options.of(x) * math.exp(x[0]), X)
    np.testing.assert_allclose(named(X), right, rtol=1e-7, atol=1e-9)
    options.still = math.cosh
    right = ways.differences(lambda x: options.of(x) * math.exp(x[0]) * math.cosh(x[0]), X)
    np.testing.assert_allclose(named(X), right, rtol=1e-7, atol=1e-9)


def test_a_container_that_others_change_as_f_runs():
    def f(x, net):
        before = net(x)
        vars(net)["layers"].append(Dense(0.2))
        after = net(x)
        vars(net)["layers"].pop()
        return before + 2.0 * after

    agree(f, Net(Asking(), Dense(0.5)))


def test_many_threads():
    net, results = deep(), []
    right = ways.differences(net, X)

    def work():
        results.extend(contad.grad(lambda x: net(x))(X) for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 20
    np.testing.assert_allclose(results, [right] * 20, rtol=1e-7)


def test_higher_orders_and_other_modes():
    net = deep()

    def f(x):
        return net(x)

    rows = contad.hessian(f)(X)
    right = [ways.differences(lambda x, k=k: contad.grad(f)(x)[k], X) for k in range(3)]
    np.testing.assert_allclose(rows, right, rtol=1e-6, atol=1e-8)
    assert contad.jvp(f, (X,), (X,))[1] == pytest.approx(contad.grad(f)(X) @ X)


# ---- planted faults --------------------------------------------------------------------------------------------------
def always_anew(self, x):
    kind = type(x)
    return x if kind in callees.ORDINARY else self._of_argument(x, kind)


def as_it_is(self, x, value):
    x.__dict__[self.name] = value


@pytest.mark.parametrize("fault", [
    (callees._StandIns, "of_argument", always_anew), (stand_in_objects, "_same", lambda x, y: NotImplemented),
    (live_reads.Standing, "look", lambda *_: True), (callees._StandIns, "is_current", lambda self: True),
    (callees, "bring_up_to_date", lambda new, of: None), (stand_in_objects._Reached, "__set__", as_it_is),
])  # fmt: skip
def test_planted_faults_are_found(fault, monkeypatch):
    monkeypatch.setattr(*fault)
    with pytest.raises((AssertionError, KeyError, contad.LostDerivativeError)):  # noqa: PT012  (any of them)
        test_one_object_is_one()
        test_an_attribute_that_f_sets_is_set_on_the_users()
        test_changes_between_calls_are_seen()
        test_functions_where_data_were()
        test_a_container_that_others_change_as_f_runs()


Place = namedtuple("Place", "x y")
TREE_OF_DATA = {"rate": 0.5, "at": Place(2.0, 3.5), "layers": [np.ones(2)]}


def test_a_captured_tree_of_data_with_a_named_tuple_is_the_users_own():
    found = contad.grad(lambda v: np.sum(contad.ravel(TREE_OF_DATA)[1](v)["at"].y * v))(np.arange(5.0))
    assert found.shape == (5,)
    assert contad.grad(lambda x: x * (type(TREE_OF_DATA) is dict) * (type(TREE_OF_DATA["at"]) is Place))(2.0) == 1.0
