"""What a Numba function computes, as a digest; and whether it may write into its arguments."""

import cProfile
import enum
import math
import operator
import sys
from collections import namedtuple
from types import ModuleType

import numba
import numba.experimental
import numpy as np
import pytest
from numba.extending import overload

import contad
from contad.numba_functions.fingerprint import fingerprint, text_of_type
from contad.numba_functions.writes import may_write_arrays
from tests.engines.source.programs.harness import Table, function_of, listed, programs
from tests.judges.planted import registered

RATE = 0.7
Point = namedtuple("Point", "x y")
KIND = enum.Enum("KIND", "a b").a
FLOAT = numba.float64
plus, total = operator.add, np.sum
DATA = np.array([0.5, 1.5, -0.3])


@numba.njit
def callee(x):
    return RATE * x


@numba.njit
def caller(x):
    return callee(x) + math.exp(x) * DATA[0]


@numba.njit
def even(x, n):
    return x if n == 0 else odd(x, n - 1)


@numba.njit
def odd(x, n):
    return 2.0 * x if n == 0 else even(x, n - 1)


def make(a):
    @numba.njit
    def inner(x):
        return a * x

    return inner


def test_the_digest_follows_globals_callees_and_contents(monkeypatch):
    before = fingerprint(caller)
    assert before.stable and fingerprint(caller) == before
    monkeypatch.setitem(globals(), "RATE", 0.8)
    ((name, was, now),) = before.find_changes(fingerprint(caller))
    assert (name, was, now) == ("caller.callee.RATE", "float 0.7", "float 0.8")
    monkeypatch.undo()
    DATA[1] += 1.0
    assert [name for name, _, _ in before.find_changes(fingerprint(caller))] == ["caller.DATA"]
    DATA[1] -= 1.0
    assert fingerprint(caller).digest == before.digest
    other = numba.njit(lambda x: x * 3.0)
    monkeypatch.setitem(globals(), "callee", other)
    assert fingerprint(caller).digest != before.digest


def test_closures_differ_by_what_they_capture():
    digests = [fingerprint(make(a)).digest for a in (3.0, 3.0, 4.0, 3)]
    assert digests[0] == digests[1] and len(set(digests)) == 3


def over(module):
    return lambda x: module.cos(x)


def test_a_captured_module_is_read(monkeypatch):
    assert fingerprint(over(np)).stable
    assert fingerprint(over(np)).digest != fingerprint(over(math)).digest
    own = ModuleType("own")
    own.cos = 2.0
    before = fingerprint(over(own))
    own.cos = 3.0
    assert [name.partition("<lambda>")[2] for name, _, _ in before.find_changes(fingerprint(over(own)))] == [
        ".module.cos"
    ]


def test_functions_of_an_interactive_session_are_read(monkeypatch):
    session = ModuleType("session")  # without a file, as __main__
    monkeypatch.setitem(sys.modules, "session", session)
    exec("def helper(x):\n    return 2.0 * x\ndef f(x):\n    return helper(x)\n", vars(session))
    before = fingerprint(session.f)
    exec("def helper(x):\n    return 3.0 * x\n", vars(session))
    assert [name for name, _, _ in before.find_changes(fingerprint(session.f))] == ["f.helper"]


@pytest.mark.parametrize("empty", [np.zeros((0, 3)), np.array(2.0), np.array(["a"]), np.asfortranarray(np.eye(2))])
def test_arrays_of_any_kind_have_a_text(empty):
    assert fingerprint(lambda x: x + empty).stable


def test_options_and_recursion():
    assert fingerprint(even).stable and fingerprint(odd).stable
    fast = numba.njit(fastmath=True)(callee.py_func)
    assert fingerprint(fast).digest != fingerprint(callee).digest


def test_an_object_without_a_text_is_not_stable():
    thing = object()
    assert not fingerprint(lambda x: x if thing else 0.0).stable
    assert fingerprint(lambda x: contad.ops.exp(np.sum(x)) + math.floor(1.5)).stable
    assert (
        fingerprint(
            lambda x: Point(plus(x, 1.0), total(x)),
        ).stable
        and fingerprint(lambda x: x if KIND else FLOAT).stable
    )


def test_a_named_tuple_is_known_by_its_fields(monkeypatch):
    def f(x):
        return Point(x, 1.0)

    before = fingerprint(f)
    other = namedtuple("Point", "y x", module=Point.__module__)
    monkeypatch.setitem(globals(), "Point", other)
    monkeypatch.setattr(sys.modules[Point.__module__], "Point", other, raising=False)
    assert fingerprint(f).digest != before.digest


@registered()
def test_a_rule_of_the_users_is_read(monkeypatch):
    @contad.scalar_rule
    def tripled(x):
        return RATE * x

    @tripled.partials
    def tripled_partials(z, x):
        return RATE

    before = fingerprint(lambda x: tripled(x))
    monkeypatch.setitem(globals(), "RATE", 0.8)
    assert len(before.find_changes(fingerprint(lambda x: tripled(x)))) == 2


# ---- what else compiled code holds -----------------------------------------------------------------------------------
def in_session(monkeypatch, source):
    """The function f that a source text defines, in a module that others may import."""
    session = ModuleType("session")
    monkeypatch.setitem(sys.modules, "session", session)
    session.__dict__.update(numba=numba, np=np, enum=enum, namedtuple=namedtuple, overload=overload)
    exec(source, vars(session))
    return session.f


MODEL = """\
@numba.experimental.jitclass([("a", numba.float64)])
class Model:
    def __init__(self, a):
        self.a = a
"""
CHANGES = listed("""\
# a member of an Enum: 1.5 -> 2.5
class Kind(enum.Enum):
    a = 1.5
def f(x):
    return Kind.a.value * x
# a member of an IntEnum: b = 2 -> b = 3
class Kind(enum.IntEnum):
    a = 1
    b = 2
def f(x):
    return Kind.b * x
# a member that is captured: a = 1 -> a = 4
class Kind(enum.IntEnum):
    a = 1
KIND = Kind.a
def f(x):
    return KIND * x
# a method of a jitclass: self.a * x -> self.a + x
MODEL
    def scaled(self, x):
        return self.a * x
def f(x):
    return Model(2.0).scaled(x)
# a property of a jitclass: 2.0 * self.a -> 3.0 * self.a
MODEL
    @property
    def twice(self):
        return 2.0 * self.a
def f(x):
    return Model(2.0).twice * x
# what a method of a jitclass reads: RATE = 0.5 -> RATE = 0.7
RATE = 0.5
MODEL
    @staticmethod
    def scaled(x):
        return RATE * x
def f(x):
    return Model(2.0).scaled(x)
# the type of a field of a jitclass: numba.float64 -> numba.int64
MODEL
def f(x):
    return Model(2.5).a * x
# the order of fields of a record: ("a", "f8"), ("b", "f8") -> ("b", "f8"), ("a", "f8")
DATA = np.array([(1.0, 2.0)], dtype=[("a", "f8"), ("b", "f8")])
def f(x):
    return DATA[0].a * x
# the fields of a named tuple: a b -> b a
POINT = namedtuple("Point", "a b")(1.0, 2.0)
def f(x):
    return POINT.a * x
# an overload of a plain function: 2.0 * x -> 3.0 * x
def twice(x):
    pass
@overload(twice)
def overloaded_twice(x):
    return lambda x: 2.0 * x
def f(x):
    return twice(x)
# a vectorized function: 2.0 * x -> 3.0 * x
@numba.vectorize
def twice(x):
    return 2.0 * x
def f(x):
    return np.sum(twice(x))
# the signature of a callee: (float64) -> (int64)
@numba.njit("float64(float64)")
def half(x):
    return 0.5 * x
def f(x):
    return half(x)
# the type of a local name: numba.float64 -> numba.int64
@numba.njit(locals={"k": numba.float64})
def half(x):
    k = 0.5 * x
    return k
def f(x):
    return half(x)
# how arguments are taken: x, y -> x, *y
def f(x, y):
    return x
""")
CHANGES = {
    name.partition(": ")[0]: (text.replace("MODEL\n", MODEL), name.partition(": ")[2].split(" -> "))
    for name, text in CHANGES
}


@pytest.mark.parametrize(("source", "change"), CHANGES.values(), ids=CHANGES)
def test_everything_that_compiled_code_holds_is_in_the_digest(source, change, monkeypatch):
    found = [fingerprint(in_session(monkeypatch, text)) for text in (source, source, source.replace(*change))]
    assert source.count(change[0]) == 1 and found[0].stable
    assert found[0].digest == found[1].digest != found[2].digest


def test_a_profiler_changes_nothing():
    @numba.njit
    def f(x):
        return RATE * x

    before = f(2.0), fingerprint(f)
    profile = cProfile.Profile()
    with profile:  # Numba then changes flags of the code
        f(2.0)
    assert fingerprint(f) == before[1]


def test_the_type_of_an_object_of_a_jitclass_tells_its_methods(monkeypatch):
    source, change = CHANGES["a method of a jitclass"]
    functions = [in_session(monkeypatch, text) for text in (source, source, source.replace(*change))]
    texts = [text_of_type(numba.typeof(f.__globals__["Model"](2.0))) for f in functions]
    assert texts[0] == texts[1] != texts[2] and texts[0][1]


def test_an_array_that_numba_reads_where_it_is_has_no_contents():
    for array, in_place in ((np.zeros(125_001), True), (np.zeros(125_000), False), (np.zeros((4, 4))[:, ::2], True)):
        before = fingerprint(lambda x: x + array)  # noqa: B023
        array[0] = 1.0
        assert (before == fingerprint(lambda x: x + array)) is in_place and before.stable is not in_place  # noqa: B023


# ---- writes ----------------------------------------------------------------------------------------------------------
BEFORE = """
@njit
def stores(x):
    x[0] = 1.0
@njit
def returns_its_argument(x):
    return x
"""
WRITING = Table("writing", before=BEFORE, head="x, y, z, n", takes=programs("""\
# an element: x[0] = 1.0
# through a callee
stores(x)
return x[0]
# in place
x += 1.0
return x[0]
# through a row
for row in x:
    row *= 2.0
return x[0, 0]
# an argument whose name is something else then
x += 1.0
x = 0.0
return x
# out of a ufunc: return np.add(x, 1.0, x)[0]
# out of a product: return np.dot(x, y, z)[0, 0]
# sort
x.sort()
return x[0]
# fill
x.fill(0.0)
return x[0]
# through a result
y = returns_its_argument(x)
y[0] = 1.0
return x[0]
# through a name that is exchanged
a = x[1:]
b = 0.0
a, b = b, a
b += 1.0
return b
"""))  # fmt: skip
READING = WRITING._replace(name="reading", takes=programs("""\
# elements and products
total = 0.0
for i in range(x.shape[0]):
    total += x[i] * y[i]
return total + np.dot(x, y) + np.maximum(x, y).sum()
# into arrays of its own
u, w = np.zeros(n), np.empty_like(x)
row = u[1:] if n > 2 else u
for i in range(n):
    u[i] = x[i] * 2.0
    row[0] += u[i]
    u, w = w, u
    u *= 0.5
u[:] = 1.0
s = x[0] * 2.0
s += 1.0
return u[0] + s
"""))  # fmt: skip


@pytest.mark.parametrize(("table", "name"), [(t, name) for t in (WRITING, READING) for name in t.takes])
def test_functions_that_may_write_are_told_from_those_that_only_read(table, name):
    assert may_write_arrays(function_of(table, table.takes[name], name)) is (table is WRITING)


@pytest.mark.parametrize("f", [caller, even], ids=lambda f: f.__name__)
def test_functions_of_other_functions_only_read(f):
    assert not may_write_arrays(f)


def test_without_source_anything_may_happen():
    assert may_write_arrays(numba.njit(eval("lambda x: x")))


def test_a_name_of_numpy_may_be_the_users():
    @numba.njit
    def copy(x):
        return x

    @numba.njit
    def captures(x):
        y = copy(x)
        y[0] = 1.0
        return x[0]

    assert may_write_arrays(captures)
