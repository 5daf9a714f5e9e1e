"""`contad.record`: arguments, results, what is frozen, threads, memory, copies; several ways through a function."""

import copy
import gc
import math
import pickle
import subprocess
import sys
import threading
import tracemalloc

import numba
import numpy as np
import pytest

import contad
from contad.programs import program as program_module
from tests.programs.comparison import compare

GLOBAL = 2.0


def of_numbers(x, y):
    return contad.ops.exp(-x) * y + x * y / contad.ops.sin(x + 2.0) ** 2


def of_arrays(w, a, b):
    r = np.tanh(a @ w) * b - 0.3
    return np.sum(r**2) + w[0] * np.mean(w * w)


def piecewise(x):
    if x > 1.0:
        return x * x
    if x > 0.0:
        return 2.0 * x
    return -x


W, A, B = np.array([0.2, -0.7, 1.1]), np.array([[1.3, -0.7, 2.1], [0.4, 1.9, -1.1]]), np.array([0.9, -0.2])


# ---- arguments and results -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("f", "args"), [(of_numbers, (0.5, 2.0)), (of_arrays, (W, A, B))])
def test_values_gradients_and_slopes(f, args):
    assert compare(contad.record(f, *args), f, args)["agreed"] == 4


@pytest.mark.parametrize("argnums", [0, 1, (0,), (1, 0), None])
def test_gradients_have_the_structure_that_argnums_asks_for(argnums):
    program = contad.record(of_numbers, 0.5, 2.0, argnums=argnums)
    chosen = (0, 1) if argnums is None else argnums if isinstance(argnums, tuple) else (argnums,)
    at = [(0.3, 1.7)[n] for n in chosen]
    others = [at[chosen.index(n)] if n in chosen else (0.5, 2.0)[n] for n in (0, 1)]
    expected = contad.grad(of_numbers, (0, 1) if argnums is None else argnums)(*others)
    assert program.gradient(*at) == pytest.approx(expected, rel=1e-14)
    assert isinstance(program.gradient(*at), tuple) == isinstance(expected, tuple)


def test_one_argument_has_a_gradient_that_is_no_tuple():
    assert contad.record(lambda x: x * x, 1.5).gradient(3.0) == 6.0


def test_structures():
    def f(p, scale):
        return sum(scale * np.sum(v * v) for v in p["x"]) * p["y"]

    def at(k):
        return {"x": [np.array([1.0, k]), np.array([[0.5 * k]])], "y": 2.0 + k}

    program = contad.record(f, at(1.5), 0.7)
    value, (by_p, by_scale) = program.value_and_grad(at(3.0), 1.9)
    expected, (p, scale) = contad.value_and_grad(f, (0, 1))(at(3.0), 1.9)
    assert value == pytest.approx(expected) and by_scale == pytest.approx(scale) and by_p["y"] == pytest.approx(p["y"])
    assert all(np.allclose(x, y, rtol=1e-14) and x.shape == y.shape for x, y in zip(by_p["x"], p["x"], strict=True))
    assert program.jvp((at(3.0), 1.9), (at(0.5), 0.3))[1] == pytest.approx(
        contad.jvp(f, (at(3.0), 1.9), (at(0.5), 0.3))[1]
    )


def test_integers_layouts_and_arrays_without_axes_are_taken():
    program = contad.record(of_arrays, W, A, B, argnums=1)
    assert program(np.asfortranarray(A)) == program(A)
    assert contad.record(lambda x: x * x, 2)(3) == 9.0
    assert contad.record(lambda x: x * x, np.array(2.0)).gradient(3.0) == 6.0
    assert contad.record(lambda x: np.sum(x) + 1.0, np.zeros(0)).gradient(np.zeros(0)).shape == (0,)


def test_arguments_are_not_written_to():
    def f(x):
        x[0] = x[1] * 3.0
        return np.sum(x)

    x = np.array([1.0, 2.0])
    program = contad.record(f, x)
    assert program.value_and_grad(x)[1].tolist() == [0.0, 4.0] and x.tolist() == [1.0, 2.0]


def test_a_result_that_depends_on_nothing_is_a_constant():
    program = contad.record(lambda x: 4.5, 1.0)
    assert program.value_and_grad(2.0) == (4.5, 0.0) and program.jvp((2.0,), (1.0,)) == (4.5, 0.0)
    assert contad.record(lambda x, y: y, 1.0, 2.0).value_and_grad(5.0, 7.0) == (7.0, (0.0, 1.0))


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: contad.record(of_numbers), TypeError, "give example arguments"),
    (lambda: contad.record(3.0, 1.0), TypeError, "contad.record: f must"),
    (lambda: contad.record(lambda x: (x, x), 1.0), contad.OutputError, "must return one real number"),
    (lambda: contad.record(lambda x: None, 1.0), contad.OutputError, "returned None"),
    (lambda: contad.record(lambda x: x, "a"), contad.UnsupportedError, "argument 0"),
    (lambda: contad.record(of_numbers, 0.5, 2.0)(1.0), TypeError, "expected 2 argument.*argnums 0, 1.*got 1"),
    (lambda: contad.record(of_numbers, 0.5, 2.0, argnums=0)(1.0, 2.0), TypeError, "other arguments are frozen"),
    (lambda: contad.record(of_arrays, W, A, B)(W, A.T, B), ValueError, r"argument 1: .*\(2, 3\).*\(3, 2\)"),
    (lambda: contad.record(of_numbers, 0.5, 2.0)(W, 1.0), ValueError, "expected a number, as recorded"),
    (lambda: contad.record(lambda p: p[0] * p[1], [1.0, 2.0])({"a": 1.0}), TypeError, "the structure of the exam"),
    (lambda: contad.record(of_numbers, 0.5, 2.0).jvp(1.0, 2.0), TypeError, "primals must be a tuple"),
])  # fmt: skip
def test_refusals_say_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---- frozen ----------------------------------------------------------------------------------------------------------
def test_captured_values_are_frozen(monkeypatch):
    captured = np.array([1.0, 2.0])
    program = contad.record(lambda x, data: GLOBAL * x + np.sum(captured * x) + data[0], 1.0, captured, argnums=0)
    before = program(3.0)
    monkeypatch.setitem(globals(), "GLOBAL", 5.0)
    captured[:] = 7.0
    assert program(3.0) == before == 2.0 * 3.0 + 9.0 + 1.0


def test_random_numbers_are_frozen():
    rng = np.random.default_rng(3)
    with pytest.warns(UserWarning, match="it draws random numbers"):
        program = contad.record(lambda x: x * rng.normal(), 1.0)
    assert program(2.0) == program(2.0) == 2.0 * np.random.default_rng(3).normal()


# ---- several ways ----------------------------------------------------------------------------------------------------
def test_another_way_is_an_error_that_tells_where():
    program = contad.record(piecewise, 2.0)
    line = piecewise.__code__.co_firstlineno + 1
    with pytest.raises(contad.GuardError, match=rf"test_program.py:{line} was True when it was recorded and is False"):
        program(0.5)
    assert program(3.0) == 9.0


def test_retrace_keeps_every_way():
    program = contad.record(piecewise, 2.0, retrace=True)
    for _ in range(2):
        for x, value, slope in ((3.0, 9.0, 6.0), (0.5, 1.0, 2.0), (-2.0, 2.0, -1.0)):
            assert program.value_and_grad(x) == (value, slope) and program.jvp((x,), (1.0,)) == (value, slope)
    assert len(program.traces) == 3


def test_the_number_of_ways_is_bounded(monkeypatch):
    monkeypatch.setattr(program_module, "MAX_TRACES", 3)
    program = contad.record(lambda x: x * int(x), 0.5, retrace=True)
    assert [program(k + 0.5) for k in range(3)] == [0.0, 1.5, 5.0]
    with pytest.raises(contad.GuardError, match="more than 3 ways"):
        program(3.5)
    assert program(1.5) == 1.5


def test_retrace_holds_the_frozen_arguments():
    program = contad.record(lambda x, y: x * y if x > 0 else y, 1.0, 5.0, argnums=0, retrace=True)
    assert program(-1.0) == 5.0 and program(2.0) == 10.0


def test_an_error_in_the_function_leaves_nothing_behind():
    def f(x):
        if x > 1.0:
            raise ValueError("too far")
        return x * x

    program = contad.record(f, 0.5, retrace=True)
    for _ in range(2):
        with pytest.raises(ValueError, match="too far"):
            program(2.0)
        assert program.value_and_grad(0.25) == (0.0625, 0.5) and len(program.traces) == 1


def test_a_function_of_numba_is_recorded():
    @numba.njit
    def f(x, y):
        return math.exp(x) * y / (x + 2.0)

    program = contad.record(f, 0.5, 2.0)
    assert program(0.3, 1.5) == pytest.approx(f(0.3, 1.5), rel=1e-14)


# ---- inside other derivatives ----------------------------------------------------------------------------------------
def test_a_program_called_on_variables_is_the_function():
    program = contad.record(of_numbers, 0.5, 2.0)
    assert contad.grad(lambda x: program(x, 2.0) * x)(0.3) == contad.grad(lambda x: of_numbers(x, 2.0) * x)(0.3)
    with pytest.raises(contad.UnsupportedError, match="got variables"):
        contad.grad(lambda x: program.gradient(x, 2.0)[0])(0.3)


def test_derivatives_inside_the_recorded_function():
    def f(x, y):
        slope = contad.grad(lambda u: contad.ops.exp(u * y) * u)(x)
        return slope * contad.derivative(lambda u: u**3 * slope)(y)

    def of_an_array(a):
        return np.sum(contad.grad(lambda u: np.sum(np.exp(u) * u[::-1] * a))(a * a))

    assert compare(contad.record(f, 0.5, 0.7), f, (0.5, 0.7))["agreed"] == 4
    assert compare(contad.record(of_an_array, B), of_an_array, (B,))["agreed"] == 4


def test_variables_of_levels_around_are_refused():
    with pytest.raises(contad.NestingError, match="variable of a gradient or jvp call that is open around it"):
        contad.grad(lambda z: contad.record(lambda x: x * z, 1.0)(2.0))(3.0)
    with pytest.raises(contad.UnsupportedError, match="outside of gradient calls, and ask for its derivatives there"):
        contad.grad(lambda z: contad.record(lambda x: x * x, z)(2.0))(3.0)
    with pytest.raises(contad.NestingError, match="opens a level of its own"):
        contad.record(lambda x: contad.record(lambda y: y, 1.0)(2.0) * x, 1.0)


# ---- memory, threads, copies -----------------------------------------------------------------------------------------
def resident():
    """The bytes of memory of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.parametrize("python", [False, True])
def test_thousands_of_runs_keep_nothing(python):
    function = contad.gammaln if python else contad.ops.tanh
    x = np.linspace(0.1, 1.0, 1000)
    program = contad.record(lambda x: np.sum(function(x[0]) * x) + x[1], x)

    def runs(n):
        for _ in range(n):
            program.value_and_grad(x)
            program.jvp((x,), (x,))
        gc.collect()

    runs(100)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0], resident()
        runs(2000 if not python else 400)  # two runs each
        assert tracemalloc.get_traced_memory()[0] - before[0] < 100_000  # some for Python's own use
        assert resident() - before[1] < 10e6
    finally:
        tracemalloc.stop()


def test_recordings_that_are_dropped_leave_nothing():
    def some(n):
        for k in range(n):
            contad.record(lambda x, k=k: np.sum(x * k) * x[0], np.ones(10_000))
        gc.collect()

    some(20)
    before = resident()
    some(300)  # 300 times 8 * 20,000 bytes and more are 48 MB
    assert resident() - before < 10e6


@pytest.mark.parametrize("compiled", [False, True])
def test_a_trace_that_another_thread_was_adding_when_the_process_forked_is_dropped(compiled):
    def bent(x):
        return np.sum(x * x) if x[0] > 0.0 else np.sum(x * x * x)

    x = np.array([1.0, 2.0])
    program = contad.record(bent, x, retrace=True)
    if compiled:
        program._compile()
    program.traces.append(program._record((-x,)))
    assert program(-x) == -9.0
    np.testing.assert_array_equal(program.gradient(-x), 3.0 * x * x)
    np.testing.assert_array_equal(program.gradient(x), 2.0 * x)
    assert len(program.traces) == 2


def test_threads_run_one_program_at_once():
    program = contad.record(piecewise, 2.0, retrace=True)
    model = contad.record(of_arrays, W, A, B)
    wrong = []

    def work(k):
        rng = np.random.default_rng(k)
        for _ in range(300):
            x = rng.normal() * 2.0
            if program(x) != piecewise(x):
                wrong.append(x)
            w = rng.normal(size=3)
            if model(w, A, B) != pytest.approx(of_arrays(w, A, B), rel=1e-12):
                wrong.append(w)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and len(program.traces) == 3


def test_a_program_can_be_pickled():
    program = contad.record(piecewise, 2.0, retrace=True)
    program(0.5)
    model = contad.record(of_arrays, W, A, B)
    data = pickle.dumps((program, model))
    again, model_again = pickle.loads(data)
    assert len(again.traces) == 2 and again(-3.0) == 3.0 and len(program.traces) == 2
    assert model_again.value_and_grad(W * 2.0, A, B)[0] == model(W * 2.0, A, B)
    code = "import pickle, sys; p, _ = pickle.loads(sys.stdin.buffer.read()); print(p.value_and_grad(3.0))"
    found = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True)
    assert found.stdout.split() == [b"(9.0,", b"6.0)"]


def test_programs_that_cannot_be_pickled_are_refused(monkeypatch):
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(contad.record(lambda x: x, 1.0))
    data = pickle.dumps(contad.record(piecewise, 2.0))
    monkeypatch.setattr(program_module, "numbering", lambda: "another")
    with pytest.raises(contad.UnsupportedError, match="pickled by another version"):
        pickle.loads(data)


def test_copies_are_the_program():
    program = contad.record(piecewise, 2.0)
    assert copy.copy(program) is program is copy.deepcopy(program)
    assert repr(program) == "<program of piecewise: 2 records>"


@numba.njit
def helper(p, k):
    return k * p[0] * p[1] if p[0] > 0.0 else p[1]


def test_a_numba_function_that_is_called_is_recorded_by_its_python_copy():
    def f(p):
        return np.sin(helper(p, 3)) + p[1]

    program = contad.record(f, np.array([0.7, -1.2]))
    point = np.array([0.4, 0.9])
    slope = np.cos(3.0 * 0.4 * 0.9)
    np.testing.assert_allclose(program.gradient(point), [2.7 * slope, 1.2 * slope + 1.0], rtol=1e-14)
    with pytest.raises(contad.errors.GuardError, match="helper|test_program"):
        program(np.array([-0.4, 0.9]))
