"""What continuations keep of plain data is copied; what functions that run again have captured must be what it was."""

import array
import collections
import copy
import dataclasses
import functools
import types
from itertools import product

import numba
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.linalg.lapack import dpotrf

import contad
from contad.engines import engine_names
from contad.errors import ChangedDataError
from contad.functions import captured
from contad.functions.captured import Captured
from tests.judges.samples import sampled

POINT = np.array([0.3, 0.7])
DIRECTION = np.array([1.0, -0.5])
ROWS = np.array([[1.0, 2.0], [-0.4, 0.9], [2.0, 0.1]])


# ---- functions of x and a plain array that keep the array for later: sum(sin(x * c)) ---------------------------------
def plainly(x, c):
    return np.sum(np.sin(x * c))


@contad.custom_jvp
def by_jvp(x, c):
    return np.sin(x * c)


@by_jvp.defjvp
def _by_jvp(primals, tangents):
    x, c = primals
    return by_jvp(x, c), np.cos(x * c) * c * tangents[0]


@contad.custom_jvp
def by_jvps(x, c):
    return np.sin(x * c)


by_jvps.defjvps(lambda x_dot, z, x, c: np.cos(x * c) * c * x_dot, None)


@functools.partial(contad.custom_jvp, nondiff_argnums=(1,))
def by_jvp_with_an_option(x, c):
    return np.sin(x * c["of"][0])


@by_jvp_with_an_option.defjvp
def _by_jvp_with_an_option(c, primals, tangents):
    (x,) = primals
    return by_jvp_with_an_option(x, c), np.cos(x * c["of"][0]) * c["of"][0] * tangents[0]


@contad.custom_vjp
def by_vjp(x, c):
    return np.sin(x * c)


by_vjp.defvjp(
    lambda x, c: (np.sin(x * c), {"x": x, "c": [c]}),
    lambda saved, z_bar: (z_bar * np.cos(saved["x"] * saved["c"][0]) * saved["c"][0], None),
)


@functools.partial(contad.custom_vjp, nondiff_argnums=(1,))
def by_vjp_with_an_option(x, c):
    return np.sin(x * c)


by_vjp_with_an_option.defvjp(lambda x, c: (np.sin(x * c), x), lambda c, x, z_bar: (z_bar * np.cos(x * c) * c,))


def by_gradients(x, c):
    return contad.function_gradients(
        (x, c),
        lambda x, c: np.sum(np.sin(x * c)),
        rev=[lambda z, z_bar, x, c: z_bar * np.cos(x * c) * c, None],
        fwd=[lambda z, x_dot, x, c: np.sum(x_dot * np.cos(x * c) * c), None],
    )


@numba.njit
def kernel(x, c):
    return np.sum(np.sin(x * c))


@numba.njit
def vector(x, c):
    return np.sin(x * c)


@numba.njit
def of_tuples(x, data):
    return np.sin(x * data[0][0]) * data[1]


checkpointed = contad.checkpoint(lambda x, c: np.sum(np.sin(x * c)))
by_name = contad.checkpoint(lambda x, *, c: np.sum(np.sin(x * c)))
in_a_list = contad.checkpoint(lambda x, c: np.sum(np.sin(x * c["data"][0])))
as_primitive = contad.primitive(of_tuples)

KEEPERS = {
    "checkpoint": checkpointed,
    "checkpoint by name": lambda x, c: by_name(x, c=c),
    "checkpoint of a structure": lambda x, c: in_a_list(x, {"data": [c]}),
    "checkpoint of a checkpoint": contad.checkpoint(lambda x, c: checkpointed(x, c)),
    "custom_jvp": lambda x, c: np.sum(by_jvp(x, c)),
    "custom_jvp by terms": lambda x, c: np.sum(by_jvps(x, c)),
    "custom_jvp with an option": lambda x, c: np.sum(by_jvp_with_an_option(x, {"of": [c]})),
    "custom_vjp": lambda x, c: np.sum(by_vjp(x, c)),
    "custom_vjp with an option": lambda x, c: np.sum(by_vjp_with_an_option(x, c)),
    "function_gradients": by_gradients,
    "a Numba function of a number": lambda x, c: kernel(x, c),
    "a Numba function of an array": lambda x, c: np.sum(vector(x, c)),
    "a Numba function of tuples": lambda x, c: np.sum(of_tuples(x, ((c,), 1.0))),
    "a primitive": lambda x, c: np.sum(as_primitive(x, ((c,), 1.0))),
}
WAYS = {
    **{f"grad by {name}": lambda f, name=name: contad.grad(f, engine=name)(POINT) for name in engine_names()},
    "pullback": lambda f: contad.vjp(f, POINT)[1](1.0)[0],
    "jvp": lambda f: contad.jvp(f, (POINT,), (DIRECTION,))[1],
    "hessian": lambda f: contad.hessian(f)(POINT),
    "hvp": lambda f: contad.hvp(f)(POINT, DIRECTION),
    "hvp by records": lambda f: contad.hvp(f, engine="records")(POINT, DIRECTION),
    "jacobian": lambda f: contad.jacobian(f)(POINT),
    "grad of grad": lambda f: contad.grad(lambda x: np.sum(DIRECTION * contad.grad(f)(x)))(POINT),
}


def with_a_buffer(function, kept=False):
    """The sum over the rows, each in the same buffer; with `kept` each in an array of its own."""

    def f(x):
        buffer = np.empty(2)
        total = 0.0
        for row in ROWS:
            buffer[:] = row
            total = total + function(x, buffer.copy() if kept else buffer)
        buffer[:] = np.nan
        return total

    return f


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("keeper", KEEPERS)
def test_a_buffer_may_be_used_again(keeper, way):
    if way == "jvp" and "custom_vjp" in keeper:
        pytest.skip("no forward mode")
    expected = WAYS[way](with_a_buffer(plainly, kept=True))
    np.testing.assert_allclose(WAYS[way](with_a_buffer(KEEPERS[keeper])), expected, rtol=1e-12)


def test_the_value_of_a_rule_may_be_in_a_buffer():
    work = np.empty(2)

    @contad.custom_vjp
    def double(x):
        return 2.0 * x

    def forward(x):
        work[:] = 2.0 * x
        return work, work

    double.defvjp(forward, lambda saved, z_bar: (z_bar * (2.0 + 0.0 * saved),))
    for name in ("matrix",):
        found = contad.grad(lambda x: np.sum(double(x) * double(3.0 * x)), engine=name)(POINT)
        np.testing.assert_allclose(found, 24.0 * POINT)


# ---- captured data ---------------------------------------------------------------------------------------------------
def capturing(make):
    """The sum over the rows with a function made once, which captures the buffer."""

    def f(x):
        buffer = np.empty(2)
        function = make(buffer)
        total = 0.0
        for row in ROWS:
            buffer[:] = row
            total = total + function(x)
        return total

    return f


def _jvp_of(buffer):
    @contad.custom_jvp
    def f(x):
        return np.sum(np.sin(x * buffer))

    f.defjvp(lambda primals, tangents: (f(*primals), np.sum(np.cos(primals[0] * buffer) * buffer * tangents[0])))
    return f


def _vjp_of(buffer):
    f = contad.custom_vjp(lambda x: np.sum(np.sin(x * buffer)))
    f.defvjp(lambda x: (np.sum(np.sin(x * buffer)), x), lambda x, z_bar: (z_bar * np.cos(x * buffer) * buffer,))
    return f


CAPTURERS = {
    "checkpoint": lambda buffer: contad.checkpoint(lambda x: np.sum(np.sin(x * buffer))),
    "checkpoint of a function inside": lambda buffer: contad.checkpoint(_calling(lambda x: np.sum(np.sin(x * buffer)))),
    "checkpoint at zero": lambda buffer: lambda x: contad.checkpoint(lambda y: np.sum(buffer * y))(0.0 * x),
    "checkpoint of a partial": lambda buffer: contad.checkpoint(functools.partial(plainly_turned, buffer)),
    "custom_jvp": _jvp_of,
    "custom_vjp": _vjp_of,
    "function_gradients": lambda buffer: (
        lambda x: contad.function_gradients(
            (x,), lambda x: np.sum(np.sin(x * buffer)), [lambda z, z_bar, x: z_bar * np.cos(x * buffer) * buffer]
        )
    ),
}


def plainly_turned(c, x):
    return plainly(x, c)


def _calling(function):
    return lambda x: function(x)


@pytest.mark.parametrize("name", engine_names())
@pytest.mark.parametrize("capturer", CAPTURERS)
def test_captured_data_that_have_changed_are_a_named_error(capturer, name):
    told = r"(buffer|args.*\[0\]), which is captured.*pass it as an argument|evaluated again"
    with pytest.raises(ChangedDataError, match=told):
        contad.grad(capturing(CAPTURERS[capturer]), engine=name)(POINT)


class Holder:
    """An object with a buffer, to which its own methods, and functions that capture it, refer."""

    def __init__(self, buffer):
        self.buffer = buffer
        self.tables = {"all": [buffer]}
        self.calls = 0

    def row(self):
        self.calls += 1
        return self.buffer

    @property
    def current(self):
        return self.tables["all"][0]

    def loss(self, x):
        return np.sum(np.sin(x * self.row()))


def _read_by_another_function(holder):
    return holder.buffer


def _of_keyword(b):
    return b


class Rows(list):
    pass


class Table(dict):
    pass


class Items(Holder):
    def __getitem__(self, key):
        return self.row()


class Called(Holder):
    def __call__(self):
        return self.buffer


class Cached(Holder):
    @functools.cached_property
    def rows(self):
        return [self.buffer]

    def first(self):
        return self.rows[0]


class Slotted:
    __slots__ = ("buffer",)

    def __init__(self, buffer):
        self.buffer = buffer


@dataclasses.dataclass
class Data:
    b: np.ndarray

    @property
    def table(self):
        return {"a": [self.b]}


def _class_with(**names):
    return type("Config", (), names | {"__module__": "x"})


def _objects(items):
    a = np.empty(len(items), object)
    a[:] = items
    return a


def _sparse(b):
    a = scipy.sparse.csr_array(np.ones((1, 2)))
    a.data = b
    return a


HOLDERS = {  # what holds the buffer, and how it is read
    "a dict": (lambda b: {"a": b}, lambda h: h["a"]),
    "a list in a dict": (lambda b: {"a": [b]}, lambda h: h["a"][0]),
    "an attribute": (Holder, lambda h: h.buffer),
    "an attribute read elsewhere": (Holder, lambda h: _read_by_another_function(h)),
    "a method": (Holder, lambda h: h.row()),
    "a property": (Holder, lambda h: h.current),
    "a bound method": (lambda b: Holder(b).row, lambda h: h()),
    "an object in an object": (lambda b: Holder(Holder(b)), lambda h: h.buffer.buffer),
    "a default": (lambda b: lambda b=b: b, lambda h: h()),
    "a default by name": (lambda b: lambda *, b=b: b, lambda h: h()),
    "a partial": (lambda b: functools.partial(np.multiply, b), lambda h: h(1.0)),
    "a partial by name": (lambda b: functools.partial(_of_keyword, b=b), lambda h: h()),
    "a method of a partial": (lambda b: functools.partial(Holder.row, Holder(b)), lambda h: h()),
    "a deque": (lambda b: collections.deque([b]), lambda h: h[0]),
    "an ordered dict": (lambda b: collections.OrderedDict(a=b), lambda h: h["a"]),
    "a chain of dicts": (lambda b: collections.ChainMap({}, {"a": b}), lambda h: h["a"]),
    "the values of a dict": (lambda b: {"a": b}.values(), lambda h: next(iter(h))),
    "a named tuple": (collections.namedtuple("Data", "b"), lambda h: h.b),
    "a list of a class": (lambda b: Rows([b]), lambda h: h[0]),
    "a dict of a class": (lambda b: Table(a=b), lambda h: h["a"]),
    "a namespace": (lambda b: types.SimpleNamespace(b=b), lambda h: h.b),
    "a dataclass": (lambda b: Data(b), lambda h: h.table["a"][0]),
    "slots": (lambda b: Slotted(b), lambda h: h.buffer),
    "an object array": (lambda b: _objects([b, None]), lambda h: h[0]),
    "an object array in a dict": (lambda b: {"a": [_objects([b, None])]}, lambda h: h["a"][0][0]),
    "an array of other bytes": (lambda b: memoryview(b), lambda h: np.asarray(h)),
    "a method of the array": (lambda b: b.copy, lambda h: h()),
    "a class with items": (lambda b: Items(b), lambda h: h["any"]),
    "a class that is called": (lambda b: Called(b), lambda h: h()),
    "an attribute by getattr": (Holder, lambda h: getattr(h, "".join("buffer"))),
    "a cached property": (lambda b: Cached(b), lambda h: h.first()),
    "a static method": (lambda b: _class_with(get=staticmethod(lambda: b)), lambda h: h.get()),
    "a series": (lambda b: pd.Series(b, copy=False), lambda h: h.to_numpy()),
    "a sparse matrix": (lambda b: _sparse(b), lambda h: h.toarray()[0]),
    "many": (lambda b: {k: [Holder(np.zeros(2))] for k in range(300)} | {"a": b}, lambda h: h["a"]),
    "a class": (lambda b: _class_with(buffer=b), lambda h: h.buffer),
}


WRAPPERS = ["custom_vjp", "function_gradients", "checkpoint"]


@pytest.mark.parametrize(("holder", "by"), sampled(product(HOLDERS, WRAPPERS), 3, family=lambda case: case[0]))
def test_captured_data_behind_something_else(holder, by):
    """At 0 the values of the function are equal, so that nothing but the comparison tells."""

    def make(buffer):
        hold, get = HOLDERS[holder]
        held = hold(buffer)

        def read():
            return get(held)

        if by == "checkpoint":
            return contad.checkpoint(lambda x: np.sum(np.sin(x * read())))
        rule = [lambda z, z_bar, x: z_bar * np.cos(x * read()) * read()]
        if by == "function_gradients":
            return lambda x: contad.function_gradients((x,), lambda x: np.sum(np.sin(x * read())), rule)
        f = contad.custom_vjp(lambda x: np.sum(np.sin(x * read())))
        f.defvjp(lambda x: (f(x), x), lambda x, z_bar: (rule[0](None, z_bar, x),))
        return f

    with pytest.raises(ChangedDataError, match="which is captured, has changed"):
        contad.grad(capturing(make))(0.0 * POINT)


CHANGES = {  # what is captured, how it is read, how it changes
    "a longer list": ([np.ones(2)], lambda h: h[-1], lambda h: h.append(np.zeros(2))),
    "one number of many": ([1.0] * 20000, lambda h: h[7], lambda h: h.__setitem__(7, 2.0)),
    "a text": ({"kind": ["sin"]}, lambda h: len(h["kind"][0]), lambda h: h["kind"].__setitem__(0, "cosine")),
    "a function": ([lambda: 1.0], lambda h: h[0](), lambda h: h.__setitem__(0, lambda: 2.0)),
    "a constant array": ([contad.constant([1.0, 2.0])], lambda h: h[0], lambda h: h.insert(0, contad.constant([3.0]))),
    "a set": ([{1, 2}], lambda h: len(h[0]), lambda h: h[0].add(3)),
    "bytes": (array.array("d", [1.0, 2.0]), lambda h: np.array(h), lambda h: h.__setitem__(0, 3.0)),
    "a Numba function": ([numba.njit(lambda: 1.0)], lambda h: h[0](), lambda h: h.reverse() or h.insert(0, _two)),
    "the class of an object": ([Called(1.0)], lambda h: h[0](), lambda h: h.__setitem__(0, Other())),
}


@numba.njit
def _two():
    return 2.0


class Other:
    def __call__(self):
        return 2.0


@pytest.mark.parametrize("change", CHANGES)
def test_captured_data_of_other_kinds(change):
    held, get, become_another = CHANGES[change]
    held = copy.deepcopy(held)

    def f(x):
        z = contad.function_gradients((x,), lambda x: np.sum(x), [lambda z, z_bar, x: z_bar * get(held) + 0.0 * x])
        become_another(held)
        return z

    with pytest.raises(ChangedDataError, match="held.*which is captured, has changed"):
        contad.grad(f)(POINT)


def _function():
    return 2.0


def _other_function():
    return 3.0


def _another_code(f):
    f.__code__ = _other_function.__code__


def _another_class(x):
    x.__class__ = Called


@pytest.mark.parametrize(
    ("held", "become_another"), [(_function, _another_code), (Other(), _another_class)], ids=["code", "class"]
)
def test_the_same_object_may_have_become_another(held, become_another):
    if held is _function:
        held = types.FunctionType(held.__code__, globals())
    f = Captured("f", [lambda: held], np.copy)
    f.require_unchanged()
    become_another(held)
    with pytest.raises(ChangedDataError, match="held"):
        f.require_unchanged()


def test_the_same_object_is_not_looked_into(monkeypatch):
    looked = []
    a, rate, function, of_c, kind = np.ones(2), 2.0, _function, dpotrf, Other

    def f():
        return a, rate, function, of_c, kind, ROWS

    data = Captured("f", [f], np.copy)
    flatten = captured._flatten
    monkeypatch.setattr(captured, "_flatten", lambda x: (looked.append(x), flatten(x))[1])
    data.require_unchanged()
    assert [id(x) for x in looked] == [id(a), id(ROWS)]  # arrays only, whose numbers are compared


def test_the_same_value_again_is_no_change():
    held = {"a": [1.0, np.nan], "b": np.ones(2), "f": lambda: 2.0}

    def f(x):
        z = contad.checkpoint(lambda x: np.sum(x * held["a"][0] * held["b"]) * held["f"]())(x)
        held.update(a=[1.0, np.nan * held["a"][0]], b=np.ones(2), c="not there before")
        del held["c"]
        return z

    np.testing.assert_array_equal(contad.grad(f)(POINT), [2.0, 2.0])


def test_a_list_that_a_function_appends_to_is_its_own():
    log, rates = [], [2.0]

    @contad.checkpoint
    def f(x):
        log.append(len(log))
        return np.sum(x) * rates[0] * len(log[:1])

    np.testing.assert_array_equal(contad.grad(lambda x: f(x) + f(x))(POINT), [4.0, 4.0])


def test_a_method_that_counts_its_calls_is_left_alone():
    holder = Holder(np.array([1.0, 2.0]))
    found = contad.grad(lambda x: contad.checkpoint(holder.loss)(x) + contad.checkpoint(holder.loss)(2.0 * x))(POINT)
    b = holder.buffer
    np.testing.assert_allclose(found, b * np.cos(POINT * b) + 2.0 * b * np.cos(2.0 * POINT * b))


@pytest.mark.parametrize("capturer", ["checkpoint", "custom_jvp", "custom_vjp", "function_gradients"])
def test_recorded_programs_hold_data_against_what_they_were(capturer):
    buffer = np.ones(2)
    function = CAPTURERS[capturer](buffer)

    def f(x):
        buffer[:] = 1.0
        z = function(x)
        buffer[:] = 2.0
        return z + function(x)

    program = contad.record(f, POINT)
    for use in (program, program.gradient):
        with pytest.raises(ChangedDataError, match="buffer"):
            use(POINT)
    program = contad.record(function, POINT)
    assert program(POINT) == function(POINT)
    buffer[:] = 3.0
    with pytest.raises(ChangedDataError, match="buffer"):
        program(POINT)


def test_a_loop_variable_that_is_captured():
    def late(x):
        total = 0.0
        for k in range(3):
            total = total + contad.checkpoint(lambda y: np.sum(y**2) * k)(x)  # noqa: B023
        return total

    with pytest.raises(ChangedDataError, match="k, which is captured"):
        contad.grad(late)(POINT)
    early = contad.grad(lambda x: sum(contad.checkpoint(lambda y, k=k: np.sum(y**2) * k)(x) for k in range(3)))
    np.testing.assert_allclose(early(POINT), 6.0 * POINT)


SCALE = 2.0
TABLE = np.array([1.0, 2.0])


def test_globals_that_have_changed(monkeypatch):
    def f(x):
        z = contad.checkpoint(lambda y: np.sum(TABLE * y) * SCALE)(x)
        monkeypatch.setitem(globals(), "SCALE", SCALE + 1.0)
        return z

    with pytest.raises(ChangedDataError, match="SCALE"):
        contad.grad(f)(0.0 * POINT)


def test_values_show_changes_that_names_do_not():
    rates = iter([1.0, 2.0])

    def f(x):
        return contad.checkpoint(lambda y: np.sum(y**2) * next(rates))(x)

    with pytest.raises(ChangedDataError, match="evaluated again for its derivative, the function gave"):
        contad.grad(f)(POINT)
    rng = np.random.default_rng(1)
    with pytest.raises(ChangedDataError, match="random numbers"):
        contad.grad(contad.checkpoint(lambda x: np.sum(x * rng.random(2))))(POINT)


def test_a_function_may_write_to_its_own_captured_values():
    count, work, calls = [0], np.zeros(2), 0

    def step(x, c):
        nonlocal calls
        calls += 1
        count[0] += 1
        work[:] = c * count[0]
        return np.sum(np.sin(x * c))

    step = contad.checkpoint(step)
    expected = contad.grad(with_a_buffer(plainly, kept=True))(POINT)
    np.testing.assert_allclose(contad.grad(with_a_buffer(step))(POINT), expected)
    assert calls == 6


# ---- costs -----------------------------------------------------------------------------------------------------------
def test_an_array_that_is_kept_many_times_is_copied_once():
    data = np.random.default_rng(0).normal(size=(100, 2))
    constant = contad.constant(data)

    def f(x, data):
        total = 0.0
        for _ in range(5):
            total = total + contad.checkpoint(lambda x, data: np.sum((data @ x) ** 2))(x, data)
        kept.append({id(copy) for _, copy in contad.stack().copies.values()})
        return total

    kept = []
    contad.grad(f)(POINT, data)
    contad.grad(f)(POINT, constant)
    assert [len(copies) for copies in kept] == [1, 0]


def test_saved_arguments_are_not_copied():
    square = contad.custom_vjp(lambda x: x**2)
    square.defvjp(lambda x: (x**2, x), lambda x, z_bar: (2.0 * x * z_bar,))
    kept = []

    def f(x):
        z = np.sum(square(x))
        kept.append(len(contad.stack().copies))
        return z

    contad.grad(f)(POINT)
    assert kept == [0]
