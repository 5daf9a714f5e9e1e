"""First runs of a program, in plain Python: they give what the function does, and end when compiled code is due."""

import math
import subprocess
import sys

import numpy as np
import pytest

import contad
from contad.programs import codes, plain_runs, program_kernels
from contad.programs.codes import ARRAY
from contad.programs.program_kernels import ADDRESSES, ADJOINTS, VALUES
from contad.programs.trace import Trace

W = np.random.default_rng(3).normal(size=(3, 3))
X = W @ W.T + 3.0 * np.eye(3)


@pytest.fixture
def endless(monkeypatch):
    monkeypatch.setattr(plain_runs.OF_PROGRAMS, "seconds_left", lambda missing, spent: math.inf)


def numbers(x):  # scalars: common rules, others, powers, constants, a guard
    total = 1.0
    for v in x[0]:
        total = total * math.tanh(v) + math.exp(-v * v) / (2.0 + v**2) - math.atan2(v, 0.7)
        if v > 0.0:
            total = total + 0.5 * v
    return total + max(x[1, 0], x[1, 1]) + contad.select(x[0, 0] > 0.0, contad.stop_gradient(x[0, 0]), 1.0) * x[2, 2]


def elements(x):  # strides, broadcasting, sums along axes, dot products, constants in shapes
    y = np.exp(-x) * x[:, :1] / 2.0 + np.sin(x.T) * W - 3.0
    return np.sum(y[::-1] * x[0]) + np.dot(x[0], x[:, 1]) + np.sum(y.sum(axis=0) * x.mean(axis=1)) + y.min()


def choices(x):
    return np.sum(np.where(x > 0.0, x**3, np.hypot(x, 2.0))) + np.sum(np.sort(x[0]) * W[0]) + np.sum(abs(x))


def products(x):
    return np.sum(W * (x @ x.T)) + np.sum((W @ x)[0]) + x[0] @ W @ x[:, 1] + np.sum(x.T @ W.T @ x[2])


def steps(x):
    factor = np.linalg.cholesky(x @ x.T + np.eye(3))
    found = np.linalg.solve(x, W[0]) @ np.linalg.eigvalsh(x + x.T)
    return np.sum(W * factor) + found + np.linalg.slogdet(x)[1] + np.sum(np.linalg.inv(x)[0]) + np.linalg.norm(x)


def others(x):  # rules that Python runs
    return np.sum(np.cumsum(x, axis=1) * W) + math.gamma(x[0, 0]) * x[1, 1]


@pytest.mark.parametrize("f", [numbers, elements, choices, products, steps, others])
def test_values_and_derivatives_are_those_of_the_function(endless, f):
    program, x = contad.record(f, X), X + 0.01 * W
    value, gradient = contad.value_and_grad(f, engine=None if f is steps else "closures")(x)
    assert program(x) == pytest.approx(value, rel=1e-13) == pytest.approx(f(x), rel=1e-13)
    found = program.value_and_grad(x)
    assert found[0] == program(x) and np.allclose(found[1], gradient, rtol=1e-11, atol=1e-12)
    slope = program.jvp((x,), (W,))[1]
    assert slope == pytest.approx(np.sum(gradient * W), rel=1e-10)
    assert program._interpreter is None


def test_zeros_of_adjoints_mask_what_is_not_finite(endless):
    program = contad.record(lambda x, y: np.sum(np.where(x > 0.0, np.log(x), 0.0)) + 0.0 * (y / y), np.ones(2), 1.0)
    value, (x_bar, _) = program.value_and_grad(np.array([2.0, 4.0]), 0.5)
    assert value == pytest.approx(math.log(8.0), rel=1e-15) and x_bar.tolist() == [0.5, 0.25]


def test_guards_hold_and_new_ways_are_recorded(endless):
    def f(x):
        return np.sum(x) if x[0] > 0.0 and np.all(x < 5.0) else x[0] * x[1]

    with pytest.raises(contad.GuardError, match=r"test_plain_runs.py:\d+ was True"):
        contad.record(f, np.ones(2))(np.array([-1.0, 3.0]))
    with pytest.raises(contad.GuardError, match="a comparison of arrays"):
        contad.record(f, np.ones(2))(np.array([1.0, 7.0]))
    program = contad.record(f, np.ones(2), retrace=True)
    assert program(np.array([-1.0, 3.0])) == -3.0 and len(program.traces) == 2
    assert program.gradient(np.array([2.0, 7.0])).tolist() == [7.0, 2.0] and program(np.array([2.0, 3.0])) == 5.0


def test_compiled_code_takes_over_when_patience_ends(monkeypatch):
    program = contad.record(lambda x: x * math.exp(x), 1.0)
    monkeypatch.setattr(plain_runs.OF_PROGRAMS, "seconds_left", lambda missing, spent: 1e-4 - spent)
    values = []
    while program._interpreter is None:
        values.append(program.value_and_grad(0.5))
    values.append(program.value_and_grad(0.5))
    assert len(values) > 2 and set(values) == {(0.5 * math.exp(0.5), 1.5 * math.exp(0.5))}


def test_patience_is_what_compiling_takes(monkeypatch):
    patience, kept = plain_runs.ProgramPatience(), set()
    monkeypatch.setattr(plain_runs.PATIENCE, "loading", 0.2)
    monkeypatch.setattr(plain_runs.PATIENCE, "compiling", 2.0)
    monkeypatch.setattr(plain_runs, "interpreter", plain_runs.functools.cache(lambda: None))
    monkeypatch.setattr(plain_runs, "has_compiled_interpreter", lambda: False)
    monkeypatch.setattr(plain_runs, "is_kernel_kept", lambda *kernel: kernel in kept)
    patience.spent = 1.0
    assert patience.seconds_left([], 1.0) == 4.0
    patience.spent = 9.0
    assert patience.seconds_left([], 1.0) < 0.0
    step, other = (0, codes.FIRST_KERNEL - codes.ARRAY), (0, 20)
    assert patience.seconds_left([step], 0.1) == pytest.approx(0.1)  # nobody has looked at the disk
    assert patience.seconds_left([step], 0.25) == 0.75 and patience.seconds_left([other], 0.0) == pytest.approx(0.1)
    plain_runs.interpreter()
    assert patience.seconds_left([], 0.0) == 0.0 and patience.seconds_left([step], 0.25) == 0.75


def test_code_on_the_disk_is_loaded_at_once_and_asked_for_once(monkeypatch):
    patience, asked = plain_runs.ProgramPatience(), []
    monkeypatch.setattr(plain_runs.PATIENCE, "compiling", 2.0)
    monkeypatch.setattr(plain_runs, "interpreter", plain_runs.functools.cache(lambda: None))
    monkeypatch.setattr(plain_runs, "has_compiled_interpreter", lambda: not asked.append("interpreter"))
    monkeypatch.setattr(plain_runs, "is_kernel_kept", lambda *kernel: not asked.append(kernel))
    for _ in range(3):
        assert patience.seconds_left([(0, 20)], 0.0) == 0.0
    assert asked == ["interpreter", (0, 20)]


_FIRST = """
import sys, warnings, numpy as np, contad
warnings.simplefilter("error")
program = contad.record(lambda x: np.sum(np.linalg.solve(x @ x.T, np.ones(2))) * np.exp(x[0, 1]), np.eye(2))
print(program.value_and_grad(2.0 * np.eye(2))[1].tolist(), "numba" in sys.modules)
"""
_LIGHT = """
import sys, numpy as np, contad
from contad.rules.definition import _compile
program = contad.record(lambda x: np.sum(np.exp(x) * x) + np.dot(x, x), np.array([0.0, 2.0]))
print(program.gradient(np.zeros(2)).tolist(), {"numba", "numpy.ma", "optree"} & sys.modules.keys())
print(_compile.cache_info().misses < 10)  # files that have been read for their rules
"""


def run_fresh(script):
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    return found.stdout.splitlines()


def test_the_first_record_of_a_process_knows_no_compiler():
    assert run_fresh(_FIRST) == ["[[-0.25, 0.25], [-0.25, -0.25]] False"]


def test_the_first_record_of_a_process_imports_little_and_reads_few_files():
    assert run_fresh(_LIGHT) == ["[1.0, 1.0] set()", "True"]


def test_where_python_raises_compiled_code_runs(endless, monkeypatch):
    def fail(*args):
        raise OverflowError

    program = contad.record(lambda x: x * math.exp(x), 1.0)
    monkeypatch.setattr(plain_runs, "_scalar", lambda code: (fail, (True, True), ()))
    assert program(3.0) == 3.0 * math.exp(3.0) and program._interpreter is not None


# ---- what programs with fused loops wait for -------------------------------------------------------------------------
def test_kernels_of_chains_are_counted_and_no_others_for_their_records(monkeypatch):
    program = contad.record(lambda x: np.sum(np.exp(x) * x), np.linspace(0.1, 1.0, 20_000))
    (members,) = ([m for m in fused.members if not m.is_guard] for fused in program._layout(0).fused_loops)
    kernels = set(program._layout(0).kernels(VALUES, ADJOINTS))
    chained = {(m.purpose, m.code - ARRAY) for m in members if m.purpose}
    assert chained and kernels == chained | {(VALUES, m.code - ARRAY) for m in members}
    ready = np.ones_like(ADDRESSES)
    monkeypatch.setattr(program_kernels, "ADDRESSES", ready)
    assert not list(program._missing())
    ready[ADJOINTS] = 0  # of records one by one
    assert not list(program._missing())
    for kernel in chained:
        ready[kernel] = 0
    assert set(program._missing()) == chained


def test_records_of_chains_have_kernels_where_python_runs_them(monkeypatch):
    x = np.linspace(0.1, 1.0, 20_000)
    program = contad.record(lambda x, a: np.sum(np.exp(x)) + np.sum(np.linalg.inv(a)), x, np.eye(3))
    program._compile()
    assert program._layout(0).fused_loops
    asked = []
    monkeypatch.setattr(Trace, "compile", lambda self, *purposes: asked.append(purposes))
    program.value_and_grad(x, 2.0 * np.eye(3))
    assert not asked
    monkeypatch.setattr(Trace, "run", lambda self, *run: (0.0, 0.0, -1))
    program.value_and_grad(x, np.ones((3, 3)))  # which its kernel leaves to Python
    assert asked == [(VALUES, ADJOINTS)]
