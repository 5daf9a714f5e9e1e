"""Functions that are optimised with their callers, once."""

import numba
import numpy as np
import pytest
from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target
from numba.extending import overload

import contad
from contad.compile import linked_code
from contad.compile.linked_code import defer_code, link
from contad.front.form import Form
from contad.front.plan import plan
from tests.compile.watching import note_calls


@pytest.fixture
def finished(monkeypatch):
    """The names of the libraries that have been optimised."""
    return note_calls(monkeypatch, JITCodeLibrary, "_optimize_final_module", lambda library: library.name)


def test_the_caller_alone_is_optimised_and_gives_the_numbers(finished):
    @link(error_model="numpy")
    def inner(x):
        if x < 0.0:
            raise ValueError("below zero")
        return np.sqrt(x)

    @numba.njit(error_model="numpy")
    def outer(x):
        return 2.0 * inner(x)

    assert outer(4.0) == 4.0
    with pytest.raises(ValueError, match="below zero"):
        outer(-1.0)
    assert [name for name in finished if name.endswith("inner")] == []
    assert [name for name in finished if name.endswith("outer")] != []


def test_a_linked_function_calls_another_and_two_callers_share_it():
    @link()
    def innermost(x):
        return x + 1.0

    @link()
    def inner(x):
        return innermost(x) * 2.0

    @numba.njit
    def first(x):
        return inner(x)

    @numba.njit
    def second(x):
        return inner(x) + innermost(x)

    assert (first(1.0), second(1.0)) == (4.0, 6.0)


def test_a_derivative_with_its_value_is_optimised_once(finished, tmp_path, monkeypatch):
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))
    @numba.njit
    def cubes(x):
        total = 0.0
        for i in range(len(x)):
            total += x[i] ** 3
        return total

    x = np.array([1.0, 2.0])
    value, (gradient,) = contad.value_and_grad(cubes, (0,), engine="generated")(x)
    assert value == 9.0
    assert list(gradient) == [3.0, 12.0]
    assert sum(name == "run" for name in finished) == 0
    assert sum(name == "derivative" for name in finished) == 1


def doubled(x):
    return 2.0 * x


@overload(doubled)
def _doubled(x):
    def written_for_numba(x):
        return 2.0 * x

    return written_for_numba


def test_overloads_are_linked_where_a_derivative_calls_them(finished):
    with defer_code():

        @numba.njit
        def inside(x):
            return doubled(x) + 1.0

        assert inside(3.0) == 7.0

    @numba.njit
    def outside(x):
        return doubled(x) - 1.0

    assert outside(3.0) == 5.0
    names = " ".join(finished)
    assert "written_for_numba" not in names
    assert "inside" in names
    assert "outside" in names


def test_a_function_that_calls_itself_is_machine_code_at_once():
    with defer_code():

        @numba.njit
        def factorial(n):
            return 1 if n <= 1 else n * factorial(n - 1)

        assert factorial(5) == 120


@pytest.mark.parametrize(("count", "asks"), [(3, False), (20, True)])
def test_numbers_are_taken_from_a_single_block_without_asking_which(count, asks):
    @numba.njit
    def f(p):
        return p[0] * p[1]

    body = plan(f, Form("hessian", (0,)), [types.UniTuple(types.float64, count)], "hessian", lanes=True).body
    assert any("= lane(" in line for line in body)
    assert any("start <=" in line for line in body) is asks


def test_an_overload_that_is_added_between_two_compilations_is_found():
    def stub(x):
        raise NotImplementedError

    calls_stub = numba.njit(lambda x: stub(x) + 1.0)
    with defer_code():
        numba.njit(lambda x: x + 1.0).compile((types.float64,))
        overload(stub)(lambda x: lambda x: 2.0 * x)
        calls_stub.compile((types.float64,))
    assert calls_stub(3.0) == 7.0
    assert "refresh" not in vars(cpu_target.target_context)


def test_numba_times_calls_of_llvm_only_outside(monkeypatch):
    calls = []
    timers = [(lambda: calls.append("begun"), lambda: calls.append("ended"))]
    monkeypatch.setattr(linked_code.llvm.ffi.lib._lock, "_cblist", timers)
    with defer_code(), defer_code():
        calls.clear()
        linked_code.llvm.get_default_triple()
        assert calls == []
    calls.clear()
    linked_code.llvm.get_default_triple()
    assert calls[:2] == ["begun", "ended"]


def write_constant():
    ir, data = linked_code.ir, bytearray(range(256)) * 5
    module, constant = ir.Module(), ir.Constant(ir.ArrayType(ir.IntType(8), len(data)), data)
    ir.GlobalVariable(module, constant.type, "data").initializer = constant
    return str(module)


def test_constant_bytes_are_the_same_by_table():
    with defer_code():
        quick = write_constant()
    assert len(quick) > len(write_constant())
    found, expected = map(linked_code.llvm.parse_assembly, (quick, write_constant()))
    assert str(found) == str(expected)
