"""The tape on functions as users write them: arguments and results, options, exceptions, memory, threads."""

import math
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numba import njit, objmode, prange

import contad
from contad.compile.called_by_name import COUNT, called_by_name
from contad.compile.words import word
from contad.engines.tape import build, explain, tape_sweep
from contad.engines.tape.tape_sweep import sweep
from contad.errors import OutputError, UnsupportedError
from contad.memory.arena import RECORD_BYTES, USED, arena, memory_in_use
from contad.rules.scalar_rule import ScalarRule
from tests.compile.watching import watched_memory
from tests.engines.tape.requests import jvp, request, value_and_grad, vjp

X = np.array([0.7, -1.3, 0.4, 2.1])
Pair = namedtuple("Pair", "scale vector")
STRUCTURED = Pair(1.5, X), ((2.0, X), 3.0), True


@njit
def cells():
    return word(arena(), USED)


@njit
def first_two(x):
    return x[0] * x[1]


@called_by_name(COUNT, COUNT, COUNT)
def refused(header, top, first):
    raise ValueError("as planted")


@njit
def sweep_all():
    sweep(arena(), 1, 1)
    return 1.0


# ---- arguments and results -------------------------------------------------------------------------------------------
@njit
def structured(p, t, flag):
    q = Pair(p.scale * 2.0, p.vector)
    (a, b), c = t
    return q.scale * q.vector[0] + a * b[1] * c * (p.vector[1] if flag else 1.0)


def test_tuples_and_named_tuples_keep_their_structure():
    value, (p_bar, t_bar) = value_and_grad(structured, *STRUCTURED, argnums=(0, 1))
    assert value == structured(*STRUCTURED)
    assert isinstance(p_bar, Pair)
    assert p_bar.scale == 2.0 * X[0]
    np.testing.assert_allclose(p_bar.vector, [3.0, 6.0 * X[1], 0.0, 0.0])
    np.testing.assert_allclose(t_bar[0][1], [0.0, 6.0 * X[1], 0.0, 0.0])
    assert (t_bar[0][0], t_bar[1]) == pytest.approx((3.0 * X[1] ** 2, 2.0 * X[1] ** 2))


@njit
def several(s, x):
    return s * x, (s * s, x[0]), 7


def test_a_local_class_of_tuples_is_compiled_for_this_process_only():
    Pair = namedtuple("Pair", "a b")  # another process cannot tell it from one of the same name

    @njit
    def f(x):
        pair = Pair(x * x, x)
        return pair.a * pair.b

    assert contad.value_and_grad(f, engine="tape")(2.0) == (8.0, 12.0)


def test_vjp_and_jvp_of_several_results():
    s_bar, x_bar = vjp(several, (1.5, X), (X, (2.0, 1.0), 0), (0, 1))
    assert s_bar == pytest.approx(X @ X + 6.0)
    np.testing.assert_allclose(x_bar, 1.5 * X + [1.0, 0.0, 0.0, 0.0])
    value, tangent = jvp(several, (1.5, X), (2.0, X + 1.0), (0, 1))
    np.testing.assert_allclose(value[0], 1.5 * X)
    np.testing.assert_allclose(tangent[0], 2.0 * X + 1.5 * (X + 1.0))
    assert tangent[1:] == ((6.0, X[0] + 1.0), 0.0)


def test_arrays_of_other_shapes_are_refused():
    with pytest.raises(ValueError, match="z_bar must have the shape of the result"):
        vjp(several, (1.5, X), (X[:2].copy(), (2.0, 1.0), 0), (0, 1))
    with pytest.raises(ValueError, match="a tangent must have the shape of its argument"):
        jvp(several, (1.5, X), (2.0, X[:2].copy()), (0, 1))


@njit("float64(float64, float64[::1])")
def writes(s, work):
    work[0] = 2.0 * s
    total = 0.0
    for i in range(len(work)):
        if i == 3:
            break
        total += work[i] * s
    return total


def test_an_argument_that_is_written_to_is_copied():
    work = X.copy()
    value, (s_bar,) = value_and_grad(writes, 1.5, work)
    np.testing.assert_array_equal(work, X)
    assert (value, s_bar) == pytest.approx((4.5 + 1.5 * (X[1] + X[2]), 6.0 + X[1] + X[2]))


@njit
def ignores(x, s):
    return 2.0 * s


# ---- what is rebuilt -------------------------------------------------------------------------------------------------
@njit
def falling(s, n):
    if n == 0:
        return s
    return s * falling(s, n - 1)


FACTOR = 3.0


def scaled(constant):
    @njit
    def inner(s):
        return constant * s * FACTOR

    @njit(fastmath=True)
    def outer(s):
        def nested(t):
            return t * inner(s)

        return nested(s) + inner(s)

    return outer


@njit
def inverse(s):
    if s < 0.0:
        raise ValueError("s must not be negative")
    work = np.zeros(100)
    work[3] = s
    return 1.0 / work[3]


def test_division_follows_the_error_model():
    with pytest.raises(ZeroDivisionError):
        value_and_grad(inverse, 0.0)
    assert value_and_grad(njit(error_model="numpy")(inverse.py_func), 0.0) == (math.inf, (-math.inf,))


def _tripled(x):
    return 3.0 * x


def _tripled_partials(z, x):
    return 3.0


tripled = ScalarRule(_tripled, None, None, False, ())  # not registered, where other tests would meet it
tripled.partials(_tripled_partials)


@njit(parallel=True)
def in_parallel(x):
    """Iterations run in order."""
    total = 0.0
    for i in prange(len(x)):
        total += x[i] * x[i]
    return total


@njit
def with_aux(s, x):
    return s * s * x[0], (s, x * s, 3)


@njit
def prints(s):
    print("at", s)
    return s * s


BELL = 2.0 / math.sqrt(math.pi) * math.exp(-0.49)
VALUES = {  # a function, its arguments, its value, and the gradient by its first argument
    "an array of no axes": (njit(lambda x: x[()] * x[()]), (np.array(1.5),), 2.25, np.array(3.0)),
    "a constant result": (ignores, (X, 3.0), 6.0, np.zeros(4)),
    "recursion": (falling, (1.5, 4), 1.5**5, 5 * 1.5**4),
    "closures and nested functions": (scaled(2.0), (1.5,), 6.0 * 1.5**2 + 9.0, 12.0 * 1.5 + 6.0),
    "a rule of the user": (
        njit(lambda s: tripled(s) * contad.erf(s)), (0.7,), 2.1 * math.erf(0.7), 3.0 * math.erf(0.7) + 2.1 * BELL
    ),
    "prange": (in_parallel, (X,), sum(x * x for x in X), 2.0 * X),
    "print": (prints, (1.5,), 2.25, 3.0),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_value_and_gradient(name, capfd):
    f, args, value, gradient = VALUES[name]
    found, (bar,) = value_and_grad(f, *args)
    rounding = 1e-14 if name == "a rule of the user" else 0.0
    np.testing.assert_allclose(found, value, rtol=rounding)
    np.testing.assert_allclose(bar, gradient, rtol=rounding, strict=np.ndim(gradient) > 0)
    assert capfd.readouterr().out == ("at 1.5\n" if name == "print" else "")


def test_an_array_without_elements():
    _, (x_bar,) = value_and_grad(sums, np.zeros(0), False)
    assert x_bar.shape == (0,)


def test_aux_is_plain():
    (value, aux), (s_bar, _) = value_and_grad(with_aux, 1.5, X, argnums=(0, 1), has_aux=True)
    assert (value, s_bar) == pytest.approx((1.5**2 * X[0], 3.0 * X[0]))
    assert aux[0] == 1.5 and aux[2] == 3
    np.testing.assert_array_equal(aux[1], X * 1.5)


# ---- the arena -------------------------------------------------------------------------------------------------------
def test_an_exception_leaves_the_arena_clean():
    run = build(request(inverse, 2.0))

    @njit
    def caught(s):
        try:
            return run(s)[1][0]
        except Exception:
            return -1.0

    caught(2.0)
    before = cells()
    with pytest.raises(ValueError, match="s must not be negative"):
        run(-1.0)
    assert caught(-1.0) == -1.0
    assert cells() == before
    assert run(2.0) == (0.5, (-0.25,))


@njit
def sums(x, raises):
    if raises:
        raise ValueError("as asked")
    y = x * x
    return y.sum()


def test_nothing_grows():
    """Not the tapes, nor Numba's arrays, with and without exceptions."""
    run = build(request(sums, X, False))
    run(X, False)
    before = memory_in_use()
    with watched_memory() as memory:
        for k in range(10_000):
            if k % 100:
                run(X, False)
            else:
                with pytest.raises(ValueError, match="as asked"):
                    run(X, True)
    assert memory_in_use() == before
    assert memory.asked == memory.returned > 10_000


@njit
def long(s, n):
    for _ in range(n):
        s = math.sin(s)
    return s


def test_a_limit_of_memory_raises_and_leaves_all_usable():
    run = build(request(long, 1.5, 3))
    _, (bar,) = run(1.5, 100)
    try:
        contad.set_memory_limit(memory_in_use() + 10_000)
        with pytest.raises(MemoryError, match="set_memory_limit"):
            run(1.5, 1_000_000)
    finally:
        contad.set_memory_limit(None)
    assert run(1.5, 100)[1] == (bar,)
    with pytest.raises(ValueError, match="set_memory_limit: limit must be"):
        contad.set_memory_limit(-1)


def test_threads_equal_serial():
    run = build(request(long, 1.5, 3))
    points = np.linspace(0.3, 1.5, 8)
    serial = [run(s, 50_000) for s in points]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda s: run(s, 50_000), points)) == serial


def test_a_derivative_inside_a_function_that_is_differentiated():
    run = build(request(long, 1.5, 3))
    slope = run(0.4, 3)[1][0]

    @njit
    def outer(s):
        return s * run(0.4, 3)[1][0] * s

    assert value_and_grad(outer, 1.5)[1] == (pytest.approx(3.0 * slope),)


# ---- counts ----------------------------------------------------------------------------------------------------------
class Counted:
    """A number that counts the operations in which it takes part."""

    count = 0

    def __init__(self, value):
        self.value = value

    def __float__(self):
        return self.value

    def __gt__(self, other):
        return self.value > float(other)


def _counting(function):
    def operate(*args):
        Counted.count += 1
        return Counted(function(*map(float, args)))

    return operate


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv"):
    setattr(Counted, f"__{_name}__", _counting(getattr(float, f"__{_name}__")))


@njit
def counted(x, a, n):
    total = 0.0
    for k in range(n):
        c = 2.0 * k
        x = math.sin(x) * a + c / (1.0 + x * x) if x > 0.3 else math.cos(x) - a * x
        total = total + x
    return total, cells()


def test_one_record_of_24_bytes_for_each_active_operation():
    class Math:
        sin, cos = staticmethod(_counting(math.sin)), staticmethod(_counting(math.cos))

    names = {"math": Math, "cells": lambda: 0}
    plain = type(counted.py_func)(counted.py_func.__code__, names | {"range": range})
    start = cells()
    Counted.count = 0
    value = plain(Counted(0.7), Counted(0.9), 50)[0]
    (got, used), _ = value_and_grad(counted, 0.7, 0.9, 50, argnums=(0, 1), has_aux=True)
    assert got == value.value
    assert used - start - 2 == Counted.count
    assert RECORD_BYTES + 8 == 32


# ---- refusals --------------------------------------------------------------------------------------------------------
@njit
def has_angles(a):
    b = a * 2.0
    return np.unwrap(b[0])[0]


@njit
def leaves_numba(s):
    with objmode(y="float64"):
        y = s * 2.0
    return y


@njit
def returns_nothing(s):
    s * 2.0


def test_refusals_name_file_line_and_construct():
    line = has_angles.py_func.__code__.co_firstlineno + 3
    with pytest.raises(UnsupportedError, match=rf"test_tape.py:{line}: has_angles: `return np.unwrap") as refused:
        build(request(has_angles, np.eye(2)))
    assert "loops" in str(refused.value)
    with pytest.raises(UnsupportedError, match=r"test_tape.py:\d+: leaves_numba: Python code in objmode"):
        build(request(leaves_numba, 1.0))
    with pytest.raises(OutputError, match="returned None; return the value"):
        build(request(returns_nothing, 1.0))
    with pytest.raises(OutputError, match="must return one real number"):
        build(request(several, 1.5, X))
    with pytest.raises(UnsupportedError, match="argument 0: expected float64"):
        build(request(ignores, 3, 1.0))


def test_explain_tells_what_is_stored():
    text = explain(request(ignores, X, 1.0))
    assert "argument 0: array of variables" in text and "24 bytes" in text
    assert "nothing is recorded" in explain(request(ignores, X, 1.0, mode="jvp"))


# ---- machine code and the sweep --------------------------------------------------------------------------------------
def test_the_sweep_is_no_part_of_the_machine_code_of_a_derivative(tmp_path, monkeypatch):
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))  # what comes from the disk has no functions to look at
    run = build(request(first_two, X))
    (compiled,) = run.overloads.values()
    functions = [f.name for f in compiled.library.get_defined_functions()]
    assert any("body" in name for name in functions)
    assert not [name for name in functions if "swept" in name or "propagate" in name]


def test_errors_of_the_sweep_are_raised_by_its_caller(monkeypatch):
    monkeypatch.setattr(tape_sweep, "sweep", refused)
    with pytest.raises(ValueError, match="as planted"):
        sweep_all()
