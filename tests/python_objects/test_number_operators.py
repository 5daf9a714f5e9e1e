"""Operators of scalars as machine code: they do what the methods do, to the last bit, record and reference."""

import collections
import fractions
import gc
import math
import operator
import os
import re
import sys
import sysconfig
import threading
import types
import weakref
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import contad
from contad.engines.matrix.array_var import ArrayVar
from contad.engines.matrix.matrix_stack import MatrixStack, MatrixVar, NumpyMatrixVar
from contad.engines.stream import native_parts
from contad.engines.stream.native_parts import NativeParts
from contad.engines.stream.record_stream import CHUNK, LONG
from contad.errors import NonFiniteError, OtherThreadError, StaleVariableError
from contad.python_objects import python_objects
from contad.python_objects.number_operators import BINARY, OPERATORS
from contad.variables.stack import opened
from tests.judges.operator_methods import compile_operators, methods_of_python

FUNCTIONS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv, "pow": operator.pow,
    "neg": operator.neg, "abs": abs,
}  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def machine_code():
    compile_operators()
    for name in OPERATORS:  # the first use of an array's method makes it, and is another one's
        perform(name, ("array's", "array's"), (0.3, 0.3))


class Reflected:
    """Somebody else's operand."""

    def __radd__(self, other):
        return "radd"

    def __mul__(self, other):
        return "mul"


class Float(float):
    pass


class Descendant(MatrixVar):
    __slots__ = ()

    def __radd__(self, other):
        return "radd"


def at_most_nine(x):
    return min(max(int(x), -9), 9) if math.isfinite(x) else 9


# an operand on a stack, from a number
OPERANDS = {
    "for a float": lambda s, x: s.float_variable(x), "for NumPy's": lambda s, x: s.variable(x),
    "of an outer number": lambda s, x: s.variable(contad.stack().variable(x)),
    "descendant": lambda s, x: s.float_variable(x).in_class(Descendant),
    "outer": lambda s, x: contad.stack().variable(x), "array's": lambda s, x: s.array_variable(np.array([x, 2.0])),
    "float": lambda s, x: x, "np.float64": lambda s, x: np.float64(x), "np.float32": lambda s, x: np.float32(x),
    "child of float": lambda s, x: Float(x), "int": lambda s, x: at_most_nine(x), "bool": lambda s, x: x > 0.0,
    "np.int64": lambda s, x: np.int64(at_most_nine(x)), "large int": lambda s, x: 10**400,
    "fraction": lambda s, x: fractions.Fraction(at_most_nine(x), 7), "complex": lambda s, x: complex(x, 1.0),
    "text": lambda s, x: "x", "None": lambda s, x: None, "list": lambda s, x: [x, 2.0],
    "array": lambda s, x: np.array([x, 2.0]), "array without axes": lambda s, x: np.array(x),
    "somebody else's": lambda s, x: Reflected(),
}  # fmt: skip
OWN = list(OPERANDS)[:4]
VALUES = [0.3, -2.5, 0.0, -0.0, 1.0, 2.0, 1e-310, 1e200, -1e308, math.inf, -math.inf, math.nan]


def describe(x):
    if isinstance(x, (MatrixVar, NumpyMatrixVar)):
        return type(x), describe(x._value), x._index
    if isinstance(x, np.ndarray):
        return [describe(v) for v in x.tolist()]
    return type(x), repr(x) if isinstance(x, (float, int, complex, str)) else getattr(x, "shape", None)


def perform(name, kinds, values, faults="ignore"):
    """What an operator gives or raises, and what it pushes."""
    with opened(MatrixStack) as outer, opened(MatrixStack) as s:
        given = [
            outer.variable(x) if kind == "outer" else OPERANDS[kind](s, x)
            for kind, x in zip(kinds, values, strict=True)
        ]
        with np.errstate(all=faults):
            try:
                result = describe(FUNCTIONS[name](*given[: 2 if name in BINARY else 1]))
            except Exception as error:
                result = type(error), str(error)
        s.caught = outer.caught = None
        # what is pushed is packed as floats: a code may be written as either
        return result, [describe(float(x) if type(x) is int else x) for x in s.stream], s.top, outer.top


@pytest.mark.parametrize("name", OPERATORS)
def test_machine_code_does_what_the_methods_do(name):
    pairs = [(own, other) for own in OWN for other in OPERANDS]
    if name in BINARY:
        pairs += [(other, own) for own, other in pairs]
    cases = [(name, pair, (x, y)) for pair in pairs for x in VALUES[:3] for y in VALUES[:3]]
    found = [perform(*case) for case in cases]
    with methods_of_python():
        assert [case for case, made in zip(cases, found, strict=True) if perform(*case) != made] == []


@given(
    st.sampled_from(OPERATORS), st.sampled_from(OWN[:2]), st.sampled_from([*OWN[:2], "float", "np.float64"]),
    st.booleans(), st.sampled_from(VALUES) | st.floats(), st.sampled_from(VALUES) | st.floats(),
    st.sampled_from(["ignore", "raise"]),
)  # fmt: skip
def test_values_agree_to_the_last_bit(name, own, other, is_first, x, y, faults):
    kinds = (own, other) if is_first or name not in BINARY else (other, own)
    found = perform(name, kinds, (x, y), faults)
    with methods_of_python():
        assert found == perform(name, kinds, (x, y), faults)


@pytest.mark.parametrize(("name", "x", "y"), [("truediv", 1.0, 0.0), ("pow", 0.0, -1.0), ("pow", 1e200, 2.0)])
def test_faults_are_those_of_numpy(name, x, y):
    found, *_ = perform(name, ("for a float", "float"), (x, y), "raise")
    assert found[0] is FloatingPointError


def test_operations_are_no_calls_of_python():
    def run(x, y):
        s = x
        for _ in range(50):
            s = (s * 0.5 + y) / (2 - x**2) - abs(-s) * np.float64(0.5)
        return s

    counts = collections.Counter()
    with opened(MatrixStack) as s:
        x, y = s.float_variable(0.3), s.variable(0.4)
        sys.setprofile(lambda frame, event, function: counts.update([(event, frame.f_code.co_name)]))
        try:
            run(x, y)
        finally:
            sys.setprofile(None)
        assert len(s.stream) == 4 * (2 + 50 * 9)
    del counts["c_call", "test_operations_are_no_calls_of_python"]  # it calls setprofile
    of_abs = {("c_call", "run"): 50, ("c_return", "run"): 50}
    assert counts == {("call", "run"): 1, ("return", "run"): 1, **of_abs}


def test_long_chains_are_packed_as_ever():
    def f(x):
        s = x
        for _ in range(5 * CHUNK):
            s = s * 0.999 + x
        return s

    found = contad.value_and_grad(f)(0.3)
    with methods_of_python():
        assert found == contad.value_and_grad(f)(0.3)
    with opened(MatrixStack) as s:
        f(s.float_variable(0.3))
        assert len(s.stream) <= LONG + 4


def test_records_go_where_they_are_pushed():
    with opened(MatrixStack) as s:
        x, elsewhere = s.float_variable(0.3), []
        s.push = elsewhere.extend
        x * 2.0
        assert len(elsewhere) == len(s.stream) == 4


# ---- what is left to the methods -------------------------------------------------------------------------------------
def test_stale_variables_are_refused():
    kept = []
    contad.grad(lambda x: kept.append(x) or x * x)(0.3)
    for run in (lambda v: v + 1.0, lambda v: 2.0 - v, lambda v: v / v, operator.neg):
        with pytest.raises(StaleVariableError, match="its gradient call has ended"):
            run(kept[0])


def test_other_threads_are_refused():
    caught = []

    def meet(x):
        def run():
            try:
                x * 2.0
            except OtherThreadError as error:
                caught.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        return x * x

    with pytest.raises(OtherThreadError):
        contad.grad(meet)(0.3)
    assert len(caught) == 1


def test_observers_of_records_see_all():
    def f(x):
        y = x * 3.0
        return y / (x - 0.5) + 1.0

    with pytest.raises(NonFiniteError, match="multiply"), contad.debug_nans(infinities=True):
        contad.grad(lambda x: x * 1e300 * 1e300)(0.3)
    assert contad.profile(f)(0.3).records >= 4


def test_subclasses_have_the_methods():
    class Louder(MatrixVar):
        __slots__ = ()

        def __add__(self, other):
            return "own", super().__add__(other)

    with opened(MatrixStack) as s:
        x, louder = s.float_variable(0.3), s.float_variable(0.4).in_class(Louder)
        word, z = louder + 1.0
        assert word == "own" and z._value == 1.4 and type(z) is MatrixVar
        assert (x + louder)._value == 0.7 and (louder * x)._value == 0.12


def test_a_method_that_is_set_takes_its_place_again():
    before = MatrixVar.__mul__
    MatrixVar.__mul__ = lambda a, b: "mine"
    try:
        with opened(MatrixStack) as s:
            assert s.float_variable(0.3) * 2.0 == "mine"
    finally:
        MatrixVar.__mul__ = before
        compile_operators()


def test_a_power_with_a_modulus_is_refused():
    with opened(MatrixStack) as s, pytest.raises(TypeError, match="unsupported operand"):
        pow(s.float_variable(2.0), 3, 5)


# ---- references ------------------------------------------------------------------------------------------------------
def test_references_are_counted():
    """Nothing is kept of what is forgotten, and nothing forgotten of what is kept."""
    constant, large, stacks = 0.123, 10**400, []
    with opened(MatrixStack) as s:
        x = s.float_variable(0.3)
        (x + constant) * x / (constant - x)
        heads = s.stream[4::4]
    watched = [constant, large, None, NotImplemented, MatrixVar, NumpyMatrixVar, float, 0.0]

    def run():
        with opened(MatrixStack) as s:
            stacks.append(weakref.ref(s))
            x, y = s.float_variable(0.3), s.variable(0.4)
            for _ in range(300):
                y = (x + constant) * y / (constant - 2) - x ** np.float64(2.0) + abs(-y)
                with pytest.raises(TypeError):
                    x + None
                with pytest.raises(OverflowError):
                    x * large
            s.caught = None

    def count():
        gc.collect()
        return [*map(sys.getrefcount, heads)], [*map(sys.getrefcount, watched), sys.getallocatedblocks()]

    for _ in range(2):
        run()
    of_heads, before = count()
    run()
    assert {stack() for stack in stacks} == {None}
    of_heads_now, now = count()
    assert of_heads_now == of_heads
    assert [k for k, (a, b) in enumerate(zip(before, now, strict=True)) if abs(b - a) > 100] == []


# ---- when ------------------------------------------------------------------------------------------------------------
@pytest.fixture
def slots(monkeypatch):
    """Of an engine whose machine code takes time, and what it has done."""
    monkeypatch.setattr(native_parts, "PATIENCE", types.SimpleNamespace(loading=0.2, compiling=2.0, is_over=True))
    slots = NativeParts(MatrixStack, MatrixVar, NumpyMatrixVar, ArrayVar, lambda *_: None)
    slots.installed = 0
    monkeypatch.setattr(NativeParts, "install", lambda self: setattr(self, "installed", self.installed + 1))
    return slots


@pytest.mark.parametrize(("on_disk", "seconds"), [(True, 0.05), (False, 2.0)])
def test_machine_code_comes_when_it_pays(monkeypatch, slots, on_disk, seconds):
    monkeypatch.setattr(native_parts, "_is_on_disk", lambda: on_disk)
    while slots.spent < seconds:
        assert slots.is_due and not slots.installed
        slots.spent += 0.01 * seconds
        if slots.spent >= slots.limit:
            slots.look()
    assert not slots.is_due and slots.installed == 1


def test_records_and_stacks_are_counted(monkeypatch, slots):
    monkeypatch.setattr(MatrixStack, "native", slots)
    slots.is_due = False
    gradient = contad.grad(lambda x: x * x + x)
    gradient(0.3)
    assert slots.spent == 0.0
    slots.is_due = True
    gradient(0.3)
    assert slots.spent == pytest.approx(NativeParts.STACK + 3 * NativeParts.RECORD)
    slots.spent = slots.limit = 0.05
    monkeypatch.setattr(native_parts, "_is_on_disk", lambda: True)
    gradient(0.3)
    assert slots.installed == 1 and not slots.is_due


def test_machine_code_waits_for_the_sweep_and_for_room(monkeypatch, slots):
    """Its import must not be what meets an interrupt or the end of Python's stack first."""
    slots.spent = 1e3
    native_parts.PATIENCE.is_over = False
    slots.look()
    assert slots.is_due
    native_parts.PATIENCE.is_over = True
    monkeypatch.setattr(native_parts, "_count_frames", lambda: 100)
    slots.look()
    assert slots.is_due


def test_methods_serve_where_nothing_can_be_compiled(monkeypatch, slots):
    def fail(self):
        raise OSError

    monkeypatch.setattr(NativeParts, "install", fail)
    monkeypatch.setattr(native_parts, "_is_on_disk", lambda: True)
    slots.spent = 1e3
    slots.look()
    assert not slots.is_due and contad.grad(lambda x: x * x)(0.3) == 0.6


def test_frames_are_counted():
    def call_again(n):
        return call_again(n - 1) if n else native_parts._count_frames()

    assert call_again(50) == native_parts._count_frames() - 51


@pytest.mark.parametrize("x", [np.inf, -np.inf, 2.0])
@pytest.mark.parametrize("power", [lambda a: a**2.0, lambda a: a**a, lambda a: 2.0**a])
def test_no_flag_of_a_fault_is_set(x, power):
    """NumPy looks at them after a loop over objects."""
    with opened(MatrixStack) as s, np.errstate(all="raise"):
        power(np.array([s.variable(x)], object))


def test_an_unknown_python_has_no_machine_code(monkeypatch, slots):
    monkeypatch.setattr(python_objects, "has_known_objects", lambda: False)
    slots.spent = 1e3
    slots.look()
    assert not slots.is_due and not slots.installed


def test_objects_of_this_python_are_known():
    assert python_objects.has_known_objects()


WORKFLOW = Path(__file__).parents[2] / ".github" / "workflows" / "tests.yml"


def test_pythons_are_known_that_the_suite_runs_on():
    (line,) = re.findall(r"python: \[.*\]", WORKFLOW.read_text(encoding="utf-8"))
    found = {tuple(map(int, release.split("."))) for release in re.findall(r'"([\d.]+)"', line)}
    assert found == native_parts.KNOWN_PYTHONS


@pytest.mark.parametrize(
    ("where", "name", "value", "why"),
    [
        (sys, "version_info", (3, 99, 0), "machine code for them is not tested on cpython 3.99"),
        (sys, "implementation", types.SimpleNamespace(name="pypy"), "is not tested on pypy "),
        (sysconfig, "get_config_var", lambda name: name == "Py_GIL_DISABLED", "this Python is a free-threaded build"),
        (os, "environ", {"CONTAD_MACHINE_OPERATORS": "0"}, "CONTAD_MACHINE_OPERATORS is 0"),
    ],
)
def test_explain_tells_why_there_is_none(monkeypatch, slots, where, name, value, why):
    assert contad.explain(abs, 0.5).splitlines()[1:] == ["  operators: methods of Python, then machine code"]
    monkeypatch.setattr(native_parts, where.__name__, types.SimpleNamespace(**vars(where) | {name: value}))
    told = contad.explain(abs, 0.5).splitlines()[1]
    assert told.startswith("  operators: methods of Python: ") and why in told
    slots.spent = 1e3
    slots.look()
    assert not slots.is_due and not slots.installed
