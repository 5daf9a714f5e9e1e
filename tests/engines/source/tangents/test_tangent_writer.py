"""Tangents of programs: forward mode, and its reverse, as text that runs without Numba."""

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source.analysis import shared_callees
from contad.engines.source.ir import ssa as ir
from contad.engines.source.ir.clones import clone
from contad.engines.source.ir.runtime_functions import FUNCTIONS
from contad.engines.source.ir.walks import walk
from contad.engines.source.reading import frontend
from contad.engines.source.reading.frontend import read
from contad.engines.source.tangents import matrix_formulas, matrix_tangents, tangent_writer
from contad.engines.source.tangents.appending import Appender
from contad.engines.source.tangents.tangent_writer import add_tangents
from contad.engines.source.writing.derivative_text import DerivativeWriter
from contad.errors import UnsupportedError
from contad.functions.python_copy import Flags
from tests.engines.source.programs.harness import functions_of
from tests.engines.source.programs.matrix_functions import MATRIX_FUNCTIONS, A, V, X, function_named
from tests.random_programs import second_order_programs
from tests.random_programs.searching import is_failure

VECTOR, MATRIX = ir.Kind("float", 1), ir.Kind("float", 2)


def product(f, kinds, args, v, argnums=(0,)):
    """Value and product of the Hessian with v, by the generated text."""
    program = read(f, kinds, Flags("numpy"), transform=lambda p: add_tangents(p, argnums, True, True))
    made = DerivativeWriter(program, argnums, mode="hvp")
    names = {}
    with np.errstate(all="ignore"):
        exec(compile(made.source(), "<generated>", "exec"), names)
        names["math"] = np  # whose functions do not raise at poles, as compiled code does not
        return names["run"](tuple(args), tuple(v))


def differences(f, args, v, h=1e-5):
    """The product by differences of gradients of the plain function."""
    above, below = (contad.grad(f)(args[0] + step * v, *args[1:]) for step in (h, -h))
    return (above - below) / (2.0 * h)


# ---- matrices --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MATRIX_FUNCTIONS.takes)
def test_functions_of_matrices(name):
    f = function_named(name).py_func
    value, (found,) = product(f, (VECTOR, MATRIX), (X, A), (V,))
    assert value == pytest.approx(f(X, A), rel=1e-12, abs=1e-15)
    np.testing.assert_allclose(found, contad.hvp(f)(X, A, V), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found, differences(f, (X, A), V), rtol=1e-5, atol=1e-7)


OF_VALUES = functions_of("""\
# eigenvalues: return np.sum((np.linalg.eigvalsh(a) - 2.0) ** 2)
# pairs: return np.sum((np.linalg.eigh(a)[0] - 2.0) ** 2)
# general pairs: return np.sum((np.linalg.eig(a)[0] - 2.0) ** 2)
# general values: return np.sum((np.linalg.eigvals(a) - 2.0) ** 2)
# singular values: return np.sum((np.linalg.svd(a, False)[1] - 2.0) ** 2)
""", "a")  # fmt: skip


@pytest.mark.parametrize("name", OF_VALUES)
def test_second_derivatives_of_equal_values_are_nan(name):
    """Never a number: also where the first derivative is 0."""
    f = OF_VALUES[name]
    v = np.array([[0.3, -0.7, 0.4], [-0.7, 1.1, 0.6], [0.4, 0.6, -0.9]])

    def along(a):
        program = read(f, (MATRIX,), Flags("numpy"), transform=lambda p: add_tangents(p, (0,), is_reversed=True))
        names = {}
        with np.errstate(all="ignore"):
            exec(compile(DerivativeWriter(program, (0,), mode="hvp").source(), "<generated>", "exec"), names)
            names["math"] = np
            return names["run"]((a,), (v,))[1][0]

    for tied in (2.0 * np.eye(3), np.diag([2.0, 2.0, 5.0]), np.diag([2.0, 2.0 + 1e-15, 5.0])):
        assert np.isnan(along(tied)).any()
    apart = np.diag([2.0, 3.0, 5.0]) + 0.1 * v
    np.testing.assert_allclose(along(apart), contad.hvp(f)(apart, v), rtol=1e-9)


@njit
def form(x, a):
    return np.sum(np.linalg.solve(a + np.outer(x, x), x) * x) + np.linalg.slogdet(a)[1]


def test_functions_of_matrices_in_what_is_called(monkeypatch):
    def f(x, a):
        return form(x, a) * form(x * x, a) + x[0]

    monkeypatch.setattr(frontend, "INLINED", 0)
    monkeypatch.setattr(shared_callees, "SMALL", -1)
    program = read(f, (VECTOR, MATRIX), transform=lambda p: add_tangents(p, (0,)))
    assert sum(isinstance(o, ir.Call) for o in walk(program.block)) == 2
    found = product(f, (VECTOR, MATRIX), (X, A), (V,))[1][0]
    plain = form.py_func
    expected = contad.hvp(lambda x, a: plain(x, a) * plain(x * x, a) + x[0])(X, A, V)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_each_function_of_matrices_has_a_formula():
    without = []
    for f in FUNCTIONS.values():
        try:
            assert matrix_tangents.find_formula(f)
        except UnsupportedError:
            without.append(f.name)
    assert without == ["complex_svd", "complex_qr"]  # which are refused by name


def test_functions_of_matrices_in_loops():
    def f(x, a):
        y = x.copy()
        for k in range(3):
            y = np.linalg.solve(a + np.outer(y, y), x * y[k])
        return np.sum(y * y)

    found = product(f, (VECTOR, MATRIX), (X, A), (V,))[1][0]
    np.testing.assert_allclose(found, contad.hvp(f)(X, A, V), rtol=1e-9)


# ---- zeros -----------------------------------------------------------------------------------------------------------
AT_ZERO = functions_of("""\
# square: return (x[0] - 1.0) ** 2 + x[1] * 0.0
# residual
r = x[0] * 2.0 - x[1] * 3.0 + 1.0
return r * r
# cube: return x[0] ** 3 + abs(x[1]) * x[0]
# branches
y = np.where(x > 0.0, np.sqrt(x) * x, x * x)
return np.sum(y) + np.sum(np.where(x < 5.0, x * x, np.log(x - 5.0)))
# unselected pole: return np.sum(np.where(x != 0.0, x / x * x * x, x * x))
# product with zero: return x[0] * np.sqrt(x[1]) * x[0] if x[1] > 0.0 else x[0] * x[0] + x[1] * x[0]
# largest: return np.maximum(x[0], x[1]) ** 2 + max(x[0], x[1]) * x[0]
""", "x")  # fmt: skip
ZEROS = [
    ("square", (1.0, 0.0), (1.0, 1.0), (2.0, 0.0)),
    ("residual", (1.0, 1.0), (1.0, 0.5), (4.0 * 2.0 - 6.0 * 0.5 * 2.0, -12.0 + 18.0 * 0.5)),
    ("cube", (0.0, 1.0), (1.0, 0.0), (0.0, 1.0)),
    ("cube", (2.0, -1.0), (1.0, 1.0), (12.0 - 1.0, -1.0)),
    ("branches", (0.25, -2.0), (1.0, 0.0), (0.75 / 0.5 + 2.0, 0.0)),
    ("branches", (-1.0, 0.0), (0.0, 1.0), (0.0, 4.0)),
    ("unselected pole", (0.0, 1.0), (1.0, 1.0), (2.0, 2.0)),
    ("product with zero", (0.0, 4.0), (1.0, 0.0), (4.0, 0.0)),
]


@pytest.mark.parametrize(("name", "x", "v", "expected"), ZEROS)
def test_zeros_hide_nothing_and_make_no_nan(name, x, v, expected):
    found = product(AT_ZERO[name], (VECTOR,), (np.array(x),), (np.array(v),))[1][0]
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_ties_have_the_derivative_of_one():
    largest = AT_ZERO["largest"]
    found = product(largest, (VECTOR,), (np.array([1.5, 1.5]),), (np.array([1.0, 0.0]),))[1][0]
    np.testing.assert_allclose(found, contad.hvp(largest)(np.array([1.5, 1.5]), np.array([1.0, 0.0])))


def test_a_tangent_of_zero_masks_the_partial_and_keeps_its_own_derivative():
    def f(x):
        return np.sqrt(x[0]) * x[1] + np.log(x[2]) * 0.0 + x[1] * x[1]

    found = product(f, (VECTOR,), (np.array([0.0, 2.0, 0.0]),), (np.array([0.0, 1.0, 0.0]),))[1][0]
    assert found[1] == 2.0


# ---- structure -------------------------------------------------------------------------------------------------------
def test_constants_have_no_tangent():
    def f(x, a):
        total = 0.0
        for k in range(3):
            total += a[k, k] * a[k, 0]
        return total * x[0] * x[0]

    program = read(f, (VECTOR, MATRIX), transform=lambda p: add_tangents(p, (0,)))
    loops = [o for o in walk(program.block) if isinstance(o, ir.For)]
    assert [len(loop.carried) for loop in loops] == [1]


def test_a_buffer_that_is_no_argument_to_differentiate_is_written_into():
    def f(x, buffer):
        for k in range(3):
            buffer[k] = x[k] * x[k]
        return np.sum(buffer * x)

    buffer = np.array([5.0, 6.0, 7.0])
    found = product(f, (VECTOR, VECTOR), (X, buffer), (V,))[1][0]
    np.testing.assert_allclose(found, 6.0 * X * V, rtol=1e-14)
    np.testing.assert_array_equal(buffer, [5.0, 6.0, 7.0])


def test_an_element_that_a_loop_reads_in_vain_is_read_after_it():
    """Its read before the loop is 0 where the loop does not run: it is not the one that comes after."""

    def f(x):
        total = 0.0
        for i in range(3):
            for j in range(i + 1, 3):
                total += x[i] * x[j]
            total += x[i] ** 3
        return total

    value, (found,) = product(f, (VECTOR,), (X,), (V,))
    assert value == f(X)
    np.testing.assert_allclose(found, 6.0 * X * V + np.sum(V) - V, rtol=1e-14)


def test_lengths_of_arrays_without_an_adjoint_are_there_in_reverse():
    def f(x):
        r = 1.0
        for _ in range(2):
            y = x + 0.1
            for _ in range(2):
                y = y[1:] * 0.6 + r
            r += 0.1 * y[0] * x[0]
        return r

    found = product(f, (VECTOR,), (X,), (V,))[1][0]
    np.testing.assert_allclose(found, contad.hvp(f)(X, V), rtol=1e-12)


def test_a_copy_of_a_program_shares_nothing_that_changes():
    def f(x):
        total = 0.0
        for k in range(3):
            while total < x[k]:
                total += x[k] * x[0] if x[1] > 0.0 else 0.5
        return total

    program = read(f, (VECTOR,))
    before = DerivativeWriter(read(f, (VECTOR,)), (0,)).source()
    copied = clone(program.block.operations, {program.parameters[0]: ir.Value(VECTOR, "y")})
    own = {v for o in walk(program.block) for v in o.results}
    assert own.isdisjoint(v for o in copied for v in o.results)
    assert DerivativeWriter(program, (0,)).source() == before


# ---- random programs, and planted bugs -------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", [1, 94, 99, 104, 4134, 197])
def test_random_programs(seed):
    """Callees, parts, products in loops, lengths of arrays without adjoints; `second_order_programs` has thousands."""
    assert second_order_programs.check(seed) is None


def drop_carried(tangents, o, of_loop=tangent_writer.TangentWriter._of_Loop):
    of_loop(tangents, o)
    o.carry([c for c in o.carried if not c.inner.hint.endswith("_dot")])


def first_term(append, terms, hint="", total=Appender.sum):
    return total(append, terms[:1], hint)


def add_wrongly(program, argnums):
    """A term of the third order is forgotten."""
    with pytest.MonkeyPatch.context() as patch:
        if program.tangents:
            patch.setattr(Appender, "sum", first_term)
        add_tangents(program, argnums)


def of_the_trace(a, w, a_dot):
    return w * np.trace(a_dot)


Writer = tangent_writer.TangentWriter
FAULTS = {  # with seeds of programs of which one finds it
    "carried tangents are dropped": (range(20, 27), Writer, "_of_For", drop_carried),
    "tangents of stores stay": (range(20, 27), Writer, "_of_Store", lambda tangents, o: tangents.append.add(o)),
    "a term is forgotten": (range(20, 27), Appender, "sum", first_term),
    "a term of the third order is forgotten": ((22, 27), second_order_programs, "add_tangents", add_wrongly),
    "a spectrum is misread": ((135,), matrix_formulas, "eigvalsh", of_the_trace),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault, monkeypatch):
    seeds, *planted = FAULTS[fault]
    monkeypatch.setattr(*planted)
    assert any(is_failure(second_order_programs.check(seed, small=True)) for seed in seeds)
