"""Operators of small arrays as machine code: they do what the methods do, to the last bit, record and reference."""

import gc
import itertools
import operator
import sys
import weakref

import numpy as np
import pytest
from hypothesis import given, strategies as st

import contad
from contad.engines.matrix.matrix_stack import MatrixStack
from contad.engines.stream.record_stream import CHUNK, LONG
from contad.errors import StaleVariableError
from contad.python_objects import elementwise_operators, laid_arrays
from contad.variables.stack import opened
from tests.judges.calls_of_python import calls_in
from tests.judges.operator_methods import compile_operators, methods_of_python

FUNCTIONS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "neg": lambda a, b: -a, "abs": lambda a, b: abs(a), "matmul": operator.matmul,
}  # fmt: skip
VECTOR, OTHER = np.array([0.3, -2.0, 1.5]), np.array([1.0, 0.0, -0.7])
MATRIX = np.array([[0.3, -2.0, 1.5], [1.0, 2.0, 3.0]])
IMMUTABLE = contad.constant(np.array([[1.3, 2.0], [0.7, -1.0], [0.2, 3.0]]))

# operands that are runs of cells, and numbers
ARRAYS = {
    "vector": lambda s: s.array_variable(VECTOR), "other": lambda s: s.array_variable(OTHER),
    "matrix": lambda s: s.array_variable(MATRIX), "part": lambda s: s.array_variable(np.arange(6.0))[1:4],
    "turned": lambda s: s.array_variable(MATRIX).T, "square": lambda s: s.array_variable(IMMUTABLE[:2] * 1.0),
    "stack": lambda s: s.array_variable(np.stack([MATRIX, -MATRIX])), "empty": lambda s: s.array_variable(np.zeros(0)),
    "strided": lambda s: s.array_variable(np.arange(6.0))[::2], "row": lambda s: s.array_variable(MATRIX[:1] * 2.0),
    "written": lambda s: write(s.array_variable(VECTOR)), "of an outer level": lambda s: of_an_outer_level(),
    "without axes": lambda s: s.array_variable(np.array(0.7)), "long": lambda s: s.array_variable(np.arange(5e3) + 0.5),
    "wide": lambda s: s.array_variable(np.sin(np.arange(6e3)).reshape(3, 2000)),
    "turned, then written": lambda s: write_below(s.array_variable(MATRIX)),
    "of outer values": lambda s: s.array_variable(of_an_outer_level()),
}  # fmt: skip
NUMBERS = {
    "float": lambda s: 0.7, "int": lambda s: 3, "np.float64": lambda s: np.float64(1.7), "zero": lambda s: 0.0,
    "inf": lambda s: np.inf, "tiny": lambda s: 1e-308, "large": lambda s: 1e308, "bool": lambda s: True,
    "very large": lambda s: 10**400, "np.int64": lambda s: np.int64(4), "np.float32": lambda s: np.float32(4.1),
    "variable": lambda s: s.variable(0.4), "a float's": lambda s: s.float_variable(0.4),
}  # fmt: skip
OTHERS = {
    "None": lambda s: None, "text": lambda s: "x", "list": lambda s: [1.0, 2.0, 3.0], "array": lambda s: OTHER.copy(),
    "integers": lambda s: np.array([1, 2, 3]), "turned array": lambda s: IMMUTABLE.T, "immutable": lambda s: IMMUTABLE,
    "constant square": lambda s: np.ones((3, 3)),
}  # fmt: skip
OPERANDS = ARRAYS | NUMBERS | OTHERS


def write(a):
    a[1] = 2.5
    return a


def write_below(a):
    turned = a.T
    a[1, 0] = 2.5
    return turned


def of_an_outer_level():
    """An array of the level below the innermost one."""
    return contad.variables.stack.THREAD.open[-2].array_variable(VECTOR)


def describe(x):
    if hasattr(x, "_index"):
        v = x._value
        plain = (v.tobytes(), v.shape, v.flags.carray) if isinstance(v, np.ndarray) else repr(v)
        return type(x), plain, x._index, getattr(x, "_length", None), getattr(x, "_base", None) is None
    return type(x), repr(x)


def perform(name, kinds, faults="ignore"):
    """What an operator gives or raises, and what it pushes."""
    with opened(MatrixStack) as outer, opened(MatrixStack) as s:
        a, b = (OPERANDS[kind](s) for kind in kinds)
        with np.errstate(all=faults):
            for _ in range(2):  # of a constant that has been met the place is known
                try:
                    result = describe(FUNCTIONS[name](a, b))
                except Exception as error:
                    result = type(error), str(error)
        s.caught = outer.caught = None
        b = s.buffers
        return (
            result, [(type(x), repr(x)) for x in s.stream], s.top, outer.top, b.shapes[: b.shapes_top].tolist(),
            len(s.callbacks),
        )  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def machine_code():
    compile_operators()
    for name, kinds in itertools.product(FUNCTIONS, itertools.product(ARRAYS, ARRAYS)):
        perform(name, kinds)  # the first use of a method makes it, and is another one's


@pytest.mark.parametrize("faults", ["ignore", "raise"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_machine_code_does_what_the_methods_do(name, faults):
    pairs = [pair for pair in itertools.product(OPERANDS, OPERANDS) if {*pair} & {*ARRAYS}]
    found = [perform(name, pair, faults) for pair in pairs]
    with methods_of_python():
        assert [p for p, made in zip(pairs, found, strict=True) if perform(name, p, faults) != made] == []


@given(
    st.sampled_from(elementwise_operators.OPERATORS), st.lists(st.tuples(st.floats(), st.floats()), min_size=1),
    st.sampled_from([0, 1, 2]), st.sampled_from(["ignore", "raise"]),
)  # fmt: skip
def test_values_agree_to_the_last_bit(name, pairs, number, faults):
    x, y = np.array(pairs).T

    def run():
        with opened(MatrixStack) as s, np.errstate(all=faults):
            a = s.array_variable(x) if number != 1 else float(x[0])
            b = s.array_variable(y) if number != 2 else float(y[0])
            try:
                found = describe(FUNCTIONS[name](a, b))
            except FloatingPointError as error:
                found = str(error)
            return found, [repr(x) for x in s.stream]

    found = run()
    with methods_of_python():
        assert found == run()


def test_gradients_are_those_of_the_methods():
    rng = np.random.default_rng(3)
    a, b, x, y = rng.normal(size=(3, 4)), rng.normal(size=(4, 2)), rng.normal(size=4), rng.normal(size=3)

    def f(a, b, x, y):
        total = y @ a @ x + np.sum(a @ b) + (a.T @ y) @ x + np.sum(b @ IMMUTABLE.T) + np.sum(y @ IMMUTABLE)
        for _ in range(3 * CHUNK // 8):
            x = x * 0.999 - a.T @ (y / 7.0) * 1e-3
            total = total + x @ x
        return total * 2 - np.sum(abs(x) / (2.0 + x * x)) + np.sum((x - 1) @ b)

    found = contad.grad(f, (0, 1, 2, 3))(a, b, x, y)
    with methods_of_python():
        for mine, theirs in zip(found, contad.grad(f, (0, 1, 2, 3))(a, b, x, y), strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_long_chains_are_packed():
    with opened(MatrixStack) as s:
        x, a = s.array_variable(VECTOR), s.array_variable(np.eye(3))
        for run in (lambda: x @ x, lambda: x + x, lambda: a @ x):
            for _ in range(2 * CHUNK):
                run()
            assert len(s.stream) <= LONG + 4


def test_operations_are_no_calls_of_python():
    def run(a, x, v):
        for _ in range(50):
            x = -(a @ x + v * x) / 2 - abs(x * x) * np.float64(0.1) + (x @ x) * 1e-3
        return x

    with opened(MatrixStack) as s:
        a, x, v = s.array_variable(np.eye(3)), s.array_variable(VECTOR), s.float_variable(0.4)
        assert calls_in(run, a, x, v) == [run.__code__]


def test_stale_arrays_are_refused():
    kept = []
    contad.grad(lambda x: kept.append(x) or np.sum(x * x))(VECTOR)
    for run in (lambda v: v + 1.0, lambda v: 2.0 - v, lambda v: v / v, operator.neg, lambda v: v @ v):
        with contad.variables.stack.attempt(), pytest.raises(StaleVariableError):
            run(kept[0])


def test_references_are_counted():
    watched = [VECTOR, MATRIX, IMMUTABLE, None, True, MatrixStack, type(np.dtype(float)), np.dtype(float), np.ndarray]

    stacks = []

    def run():
        with opened(MatrixStack) as s:
            stacks.append(weakref.ref(s))
            x, a, v = s.array_variable(VECTOR), s.array_variable(MATRIX), s.variable(0.4)
            for _ in range(300):
                y = (x * 2 - x) / 3.0 + v * x
                (a @ y) @ (a @ y)
                a.T @ (a @ y), a @ IMMUTABLE, abs(-y)

    def count():
        gc.collect()
        return [*map(sys.getrefcount, watched), sys.getallocatedblocks()]

    for _ in range(3):
        run()
    before = count()
    run()
    assert {stack() for stack in stacks} == {None}
    assert [k for k, (a, b) in enumerate(zip(before, count(), strict=True)) if abs(b - a) > 100] == []


class Finalized:
    """In a circle, so that Python's collector ends it, while something else is made."""

    def __init__(self, act):
        self.own, self.act = self, act

    def __del__(self):
        self.act()


EYE = contad.constant(np.eye(3))


@pytest.mark.parametrize(
    "apply", [operator.neg, abs, lambda x: x * 2.0, lambda x: 2.0 - x, lambda x: x + x, lambda x: EYE * 1.0 @ x,
              lambda x: x @ EYE, lambda x: np.float64(2.0) * x]
)  # fmt: skip
def test_writes_of_a_finalizer_come_before_or_after(apply):
    """It runs where the result is made, and frees the values and the cells that an operand has had.

    From Python 3.12 on the collector waits for the next bytecode, which may come after the function's end.
    """
    x = np.array([1.0, 2.0, 3.0])

    def f(x, written):
        x = x * 1.0
        if written == "before":
            x[0] = 5.0

        def act():
            gc.set_threshold(0)
            x[0] = 5.0
            finalized.append(True)

        if written == "meanwhile":
            gc.collect()
            Finalized(act)
            kept = [[], [], []]
            gc.set_threshold(1)
        y = apply(x)
        gc.set_threshold(*threshold)
        if written == "meanwhile":
            kept.clear()
            gc.collect()
            assert finalized
        return np.sum(y * y)

    threshold, finalized = gc.get_threshold(), []
    try:
        found = contad.value_and_grad(f)(x, "meanwhile")
    finally:
        gc.set_threshold(*threshold)
    either = [contad.value_and_grad(f)(x, written) for written in ("before", "after")]
    assert any(found[0] == value and (found[1] == gradient).all() for value, gradient in either)


def test_arrays_of_this_numpy_are_known():
    assert laid_arrays.has_known_arrays()
