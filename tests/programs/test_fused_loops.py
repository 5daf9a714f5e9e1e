"""Fused loops of programs: what is grouped, what has no cells, and that blocks change no number."""

import ast
import pickle
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit

import contad
from contad.compile import image_code
from contad.elementary.elementary_table import has_fast_registers
from contad.engines.stream import kernels
from contad.engines.stream.kernels import ADDING, LEAVING, WRITING
from contad.engines.stream.sweep import operation_code
from contad.ops import exp, multiply
from contad.programs import fusion, strip_places
from contad.programs.codes import FUSED, PURPOSES
from contad.programs.fused_loops import IN_CELLS, IN_CONSTANTS, IN_INPUTS, IN_SCRATCH
from contad.programs.fusion import FEWEST
from contad.programs.interpreter import interpreter_source
from contad.programs.program_kernels import VALUES, kernel_source
from contad.programs.slots import ALIGNED
from contad.programs.strip_places import STRIP
from tests.programs.comparison import compare, of_one_number
from tests.random_programs.array_statements import generate

RANDOM = 20
rng = np.random.default_rng(20)
pytestmark = pytest.mark.usefixtures("memory_of_others")


def compiled(f, *example, **how):
    """A program whose runs are compiled code's from the first."""
    program = contad.record(f, *example, **how)
    program.compile_tangents()
    program._compile()
    return program


def layout_of(program):
    return program._layouts[0]


def expect_derivatives(f, *points, example=None):
    """A program at points other than its example, held against the eager engine."""
    program = compiled(f, *(example or points))
    many = len(points) > 1
    value, gradient = contad.value_and_grad(f, argnums=tuple(range(len(points))))(*points)
    got, found = program.value_and_grad(*points)
    np.testing.assert_allclose(got, value, rtol=1e-12)
    assert program(*points) == got
    directions = tuple(rng.normal(size=np.shape(x)) for x in points)
    slope = sum(np.vdot(g, d) for g, d in zip(gradient, directions, strict=True))
    for g, expected in zip(found if many else (found,), gradient, strict=True):
        np.testing.assert_allclose(g, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(program.jvp(points, directions), (value, slope), rtol=1e-9, atol=1e-9)
    return program


def log_sum_exp(x):
    highest = np.max(x)
    return highest + np.log(np.sum(np.exp(x - highest)))


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def normal(mean, scale, x):
    z = (x - mean) / scale
    return -0.5 * np.sum(z * z) - len(x) * np.log(scale)


def standardised(x):
    z = (x - np.sum(x) / len(x)) * 2.0
    return np.sum(z * z * z) + np.sum(z[3:] * x[:-3])


BLOCKS = STRIP // 2  # units of a fused loop with two operands
LENGTHS = [1, 2, STRIP + 1, 3 * STRIP + 5]
LENGTHS += [n + k for n in (FEWEST, BLOCKS, 2 * BLOCKS) for k in (-1, 0, 1)]


ROWS_OF_UNITS = {
    "sums of rows": lambda x, b, c: np.sum(np.exp(-0.5 * np.sum((x - b) ** 2, axis=2)) * c),
    "a number for each row": lambda x, b, c: np.sum(x / (np.sum(x * x, axis=2)[:, :, None] + 1.0) * b),
    "all numbers": lambda x, b, c: np.sum(np.sum((x - b) ** 2) * np.sum(x * b, axis=2)),
    "a guard": lambda x, b, c: np.sum(np.where(x > -9.0, x * b, x)) + np.sum(np.sum(x * x, axis=2) * c),
}


@pytest.mark.parametrize("name", ROWS_OF_UNITS)
@pytest.mark.parametrize("units", [3, 150, 301])
def test_units_have_several_rows(units, name):
    x, b, c = rng.normal(size=(units, 4, 5)), rng.normal(size=(4, 5)), rng.normal(size=4)
    program = expect_derivatives(ROWS_OF_UNITS[name], x, b, c)
    codes = layout_of(program).code[:, 0].tolist()
    if units > 100 and name == "sums of rows":
        assert codes.count(FUSED) == 1
        (fused,) = layout_of(program).fused_loops
        assert fused.units == units and len(fused.members) > 5  # all that there is
    if units > 100 and name == "a number for each row":
        assert all(fused.units == units for fused in layout_of(program).fused_loops)


@pytest.mark.parametrize("n", LENGTHS)
def test_lengths_around_the_ends_of_blocks(n):
    x = rng.normal(size=n)
    expect_derivatives(log_sum_exp, x * 0.9, example=[x])
    expect_derivatives(lambda x: np.sum(x), x)
    expect_derivatives(lambda x: np.sum(np.exp(-x) * x - x / 3.0), x)
    expect_derivatives(normal, 0.3, 1.5, x)
    if n > 4:
        expect_derivatives(rosenbrock, x)
        expect_derivatives(standardised, x)


MATRICES = {
    "rows and a row": lambda a, b: np.sum((a - b) ** 2 * np.exp(b)),
    "row sums": lambda a, b: np.sum(np.log(np.sum(np.exp(a * b), axis=1))),
    "column sums": lambda a, b: np.sum(np.sum(np.exp(a) * b, axis=0) ** 2),
    "a column": lambda a, b: np.sum((a - np.sum(a, axis=1)[:, None]) * a * b[0]),
    "columns": lambda a, b: np.sum(a[:, 1] * a[:, 0] - np.exp(a[:, 2]) * b[1]),
    "turned": lambda a, b: np.sum(np.exp(a.T) * b[:, None] + a.T),
    "reversed": lambda a, b: np.sum(a[::-1] * a - a[:, ::-1] * b),
    "every other row": lambda a, b: np.sum(a[::2] * a[1::2] + np.exp(a[::2] * b)),
    "twice": lambda a, b: np.sum(a * a * a) + np.sum(a * b) * np.sum(np.exp(b)),
    "assigned": lambda a, b: np.sum(np.where(np.arange(3) > 0, a * b, a - b) * a),
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("rows", [2, 400, 1364, 1366, 3000])
def test_rows_and_broadcast_operands(name, rows):
    expect_derivatives(MATRICES[name], rng.normal(size=(rows, 3)), rng.normal(size=3))


@pytest.mark.parametrize("name", ["rows and a row", "row sums", "column sums", "a column", "twice"])
def test_long_rows(name):
    f = MATRICES[name]
    expect_derivatives(lambda a, b: f(a, b), rng.normal(size=(7, 3 * STRIP)), rng.normal(size=3 * STRIP))


def test_temporaries_have_no_cells():
    n = 100_000
    program = compiled(rosenbrock, rng.normal(size=n))
    layout = layout_of(program)
    assert [len(fused.members) for fused in layout.fused_loops] == [8] and layout.code[:, 0].tolist()[0] == FUSED
    assert layout.copied[:, 1].sum() == 0 and layout.zeroed[:, 1].sum() <= 4  # nearly nothing is cleared
    assert layout.scratch <= 4 * STRIP and len(layout.finished) == 0


def count_adjoints(f, *inputs):
    """(how many operands kernels leave, add to and write, how many are cleared, slots) in a program's fused loops."""
    layout = layout_of(expect_derivatives(f, *inputs))
    members = [m for fused in layout.fused_loops for m in fused.members]
    how = [m.how[k] for m in members for k, _ in m.partials()]
    places = [o for fused in layout.fused_loops for o in fused.operands.values() if o.layout.is_moving]
    slots = {what.adjoint for what in [*members, *places]} - {None}
    assert all(n < PURPOSES for n in [m.purpose for m in members])
    return [how.count(k) for k in (LEAVING, ADDING, WRITING)], sum(len(m.cleared) for m in members), len(slots)


def test_the_last_reader_writes_adjoints():
    n = 3 * STRIP + 5
    x, y = rng.normal(size=(2, n))
    # x[:-1] is read twice; both terms of the sum, and x[1:], have the adjoint of what reads them. Places are three
    # slots of blocks, the sum, and the gradient
    assert count_adjoints(rosenbrock, x) == ([3, 1, 6], 0, 5)
    assert count_adjoints(lambda x: np.sum(np.exp(np.exp(x))), x) == ([0, 0, 3], 0, 4)
    assert count_adjoints(lambda x, y: np.sum((x + y) + (x - y)), x, y) == ([2, 2, 3], 0, 4)
    assert count_adjoints(lambda x: np.sum(x + x), x) == ([0, 1, 2], 0, 3)  # nothing is both source and target
    assert count_adjoints(lambda x: np.sum(x * x * x), x) == ([0, 1, 3], 0, 4)
    # the sums of rows, which a column reads, add up in a slot that is cleared; the row is added to
    assert count_adjoints(MATRICES["a column"], rng.normal(size=(3000, 3)), rng.normal(size=3))[1] == 1


def operands_of(f, *inputs):
    program = expect_derivatives(f, *inputs)
    return [o for fused in layout_of(program).fused_loops for o in fused.operands.values()]


def test_operands_are_read_where_they_lie():
    x, y = rng.normal(size=(2, 3 * STRIP + 5))
    for f in (rosenbrock, log_sum_exp, lambda x: np.sum(np.exp(-x) * x - y * x / 3.0)):
        assert all(o.value.memory in (IN_INPUTS, IN_CELLS, IN_CONSTANTS) for o in operands_of(f, x))
    a, b = rng.normal(size=(3000, 3)), rng.normal(size=3)
    assert all(o.value.memory != IN_SCRATCH for o in operands_of(MATRICES["rows and a row"], a, b))
    found = operands_of(lambda x: np.sum(np.exp(x[::2]) * x[0]), x)
    assert [o.value.memory == IN_SCRATCH for o in found if o.layout.is_moving] == [True]


def test_slots_of_values_serve_again():
    x = rng.normal(size=3 * STRIP + 5)
    (fused,) = layout_of(expect_derivatives(rosenbrock, x)).fused_loops
    assert len(fused.slots.widths) == 6 and len(fused.members) == 8  # three are read by derivatives

    def f(x):
        for _ in range(20):
            x = x * 0.5 + 1.0
        return np.sum(x)

    (fused,) = layout_of(expect_derivatives(f, x)).fused_loops
    assert len(fused.members) == 41 and len(fused.slots.widths) == 3
    assert len(fused.adjoint_slots.widths) <= 2


def test_what_takes_long_is_computed_once():
    x = rng.normal(size=3 * STRIP + 5)
    fused = layout_of(expect_derivatives(log_sum_exp, x)).fused_loops[-1]
    assert [m.rule.name for m in fused.members if m.is_stored] == ["exp"]
    assert not any(m.is_needed for m in fused.members)  # nor what it was computed from
    (fused,) = layout_of(expect_derivatives(lambda x: np.sum(np.exp(x * 2.0) * x * 3.0), x)).fused_loops
    assert not any(m.is_needed for m in fused.members if m.rule is exp)
    (fused,) = layout_of(expect_derivatives(lambda x: np.sum((np.log(x * x + 1.0) + 1.0) ** 2), x)).fused_loops
    assert [m.rule.name for m in fused.members if m.is_stored] == ["log"]  # which the square needs again
    (fused,) = layout_of(expect_derivatives(lambda x: np.sum(np.log(x * x + 1.0)), x)).fused_loops
    assert not any(m.is_stored for m in fused.members)  # whose derivative reads what it is the logarithm of


def test_products_with_oneself_are_squares():
    x = rng.normal(size=3 * STRIP)
    (fused,) = layout_of(expect_derivatives(lambda x: np.sum((x - 1.0) * (x - 1.0) + x * x), x)).fused_loops
    assert [m.rule.name for m in fused.members if m.rule].count("square") == 1  # the differences are two records
    a = rng.normal(size=(2000, 3))
    expect_derivatives(lambda a: np.sum(np.sum(a * a, axis=0) * np.sum(a * a, axis=1)[:3]), a)
    for special in (np.inf, -0.0, np.nan, 1e200, 1e-200):
        y = x.copy()
        y[STRIP + 3] = special
        program = compiled(lambda x: np.sum(x * x), x)
        value, gradient = program.value_and_grad(y)
        np.testing.assert_array_equal(gradient, 2.0 * y)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(value, np.sum(y * y), rtol=1e-12)


def test_adjoints_are_written_where_they_belong():
    x, y = rng.normal(size=(2, 3 * STRIP + 5))

    def direct(f, *inputs):
        return [o.is_direct for o in operands_of(f, *inputs) if o.is_active]

    assert direct(lambda x: np.sum(np.exp(x)), x) == [True]
    assert direct(lambda x, y: np.sum(x * y + x), x, y) == [True, True]
    assert direct(lambda x, y: np.sum(x + y), x, y) == [True, True]  # what both get is copied for one
    assert direct(rosenbrock, x) == [False, True]  # x[1:], which goes ahead of x[:-1]
    assert direct(lambda x: np.sum(x[1:] + x[:-1]), x) == [True, False]
    assert direct(lambda x: np.sum(x[2:] + x[1:-1] + x[:-2]), x) == [True, False, False]
    assert direct(lambda x: np.sum(x[:-2] + x[1:-1] + x[2:]), x) == [False, False, True]
    assert direct(lambda x: np.sum(np.exp(x[5:9000])) + np.sum(x[:10] * 2.0), x)[0]
    # the last fused loop to read it is the first that writes
    found = direct(lambda x: np.sum(np.exp(x / np.sum(x * x))), x)
    assert found.count(True) == 1
    expect_derivatives(lambda x, y: np.sum((x + y) * (x - y)) + np.sum(x + (y + x)), x, y)


def test_blocks_without_adjoints_are_cleared(monkeypatch):
    """The gradient, which is memory that was never written to, gets zeros where nothing is passed on."""
    numpy = SimpleNamespace(**{**vars(np), "empty": lambda n: np.full(n, np.nan)})
    x, y = rng.normal(size=(2, 8 * STRIP))
    places = [3, 4 * STRIP + 1, 6 * STRIP, 8 * STRIP - 2]
    for at in ([places[0]], [places[1]], [places[3]], places, places[1:3]):

        def f(x, y, at=at):
            z = np.exp(x[1:]) * x[:-1] + y[:-1]
            return sum(z[k] * z[k] for k in at)

        program = compiled(f, x, y)
        expected = contad.grad(f, argnums=(0, 1))(x, y)
        with monkeypatch.context() as patched:
            patched.setattr("contad.programs.program.np", numpy)
            found = program.gradient(x, y)
        for g, e in zip(found, expected, strict=True):
            np.testing.assert_allclose(g, e, rtol=1e-12)


def test_constants_need_not_be_aligned():
    x = rng.normal(size=3 * STRIP)
    y = rng.normal(size=3 * STRIP)
    program = contad.record(lambda x: np.sum(x * y), x)
    (trace,) = program.traces
    shifted = np.frombuffer(b"1234" + trace.constants.tobytes(), np.uint8)[4:].view(np.float64)
    assert not shifted.flags.aligned
    trace.__setstate__(trace.__getstate__() | {"constants": shifted})  # as a program that is unpickled
    program._compile()
    np.testing.assert_array_equal(program.gradient(x), y)


def test_members_that_nobody_needs_have_no_adjoints():
    def f(x, y):
        z = np.exp(x * y)  # compared only
        return np.sum(y * y) if np.all(z > -1.0) else 0.0

    program = expect_derivatives(f, *rng.normal(size=(2, 3 * STRIP + 5)))
    fused = layout_of(program).fused_loops[0]
    assert [m.purpose for m in fused.members if m.rule is exp] == [0]


def test_kernels_of_fused_loops_write():
    code = operation_code(multiply, "vv")
    source = kernels.fused_kernel_source(code, (WRITING, ADDING))
    assert "adjoints_x[i] = d * " in source and "adjoints_y[i] += d * " in source and "adjoints_x[i] +=" not in source
    assert "x_inner == 0" not in source.split("def kernel")[1]  # there elements would be written over
    assert "adjoints_x" not in kernels.fused_kernel_source(code, (LEAVING, WRITING))


def test_kernels_of_values_go_to_vector_registers():
    def source(rule, active):
        return kernel_source(VALUES, operation_code(rule, active))

    product = source(multiply, "vv")
    assert "-0.0" in product and "if is_sum:" in product
    assert "total = add_freely(total, values_x[i] * values_y[i])" in product
    if has_fast_registers():
        assert "elementary_exp(x)" in source(exp, "v") and "prefer_wide_registers()" in source(exp, "v")
    assert "prefer_wide_registers()" not in product.split("def kernel")[1]
    assert "total = add_freely(total, d * " in kernels.kernel_source(operation_code(multiply, "vv"))


def test_scratch_memory_begins_at_a_line_of_the_cache():
    for n in range(5000, 5009):
        layout = layout_of(compiled(normal, 0.1, 2.0, rng.normal(size=n)))
        slots = [at for fused in layout.fused_loops for s in (fused.slots, fused.adjoint_slots) for at in s.places]
        assert slots and all(at % ALIGNED == 0 for at in slots) and layout.frontier_at % ALIGNED == 0


def test_numbers_between_are_moved_before_a_fused_loop():
    def f(x, s):
        y = x * s
        t = np.log(s) * s
        return np.sum(np.exp(y) * t) + t

    program = expect_derivatives(f, rng.normal(size=5000), 1.5)
    assert [len(fused.members) for fused in layout_of(program).fused_loops] == [4]


def test_what_two_chains_need_has_cells():
    program = expect_derivatives(standardised, rng.normal(size=10_000))
    first, *others = layout_of(program).fused_loops
    assert others and all(fused.units >= 9_997 for fused in [first, *others])


def test_operands_of_products_and_of_linear_algebra():
    a = rng.normal(size=(500, 4))

    def f(a, x):
        z = np.exp(0.1 * (a @ x)) - 2.0
        return np.sum(z * z) + np.linalg.slogdet(a.T @ a)[1] + np.sum(np.exp(a)[:50, 1] @ z[:50])

    expect_derivatives(f, a, rng.normal(size=4))


def test_special_numbers():
    def f(x):
        return np.sum(np.exp(x) / x - x * 0.0)

    x = rng.normal(size=3 * STRIP)
    program = compiled(f, x)
    x[[5, 1000, 3 * STRIP - 2, 3 * STRIP - 1]] = 0.0, -0.0, 800.0, np.nan
    with np.errstate(all="ignore"):
        value, gradient = contad.value_and_grad(f)(x)
    got, found = program.value_and_grad(x)
    np.testing.assert_equal(np.isnan([got, *found]), np.isnan([value, *gradient]))
    np.testing.assert_allclose(found, gradient, rtol=1e-12)


@pytest.mark.parametrize("block", [1, 24, 100])
def test_random_programs_in_small_blocks(monkeypatch, block):
    monkeypatch.setattr(strip_places, "STRIP", block)
    monkeypatch.setattr(fusion, "FEWEST", 1)
    found, grouped = Counter(), 0
    for seed in range(RANDOM):
        generated, _ = generate(seed)
        inputs = [np.array(x, order="C") if isinstance(x, np.ndarray) else float(x) for x in generated.inputs]
        f = generated.function() if generated.result == "s" else of_one_number(generated.function())
        program = contad.record(f, *inputs)
        found += compare(program, f, inputs, seed, tries=3)
        grouped += sum(len(layout.fused_loops) for layout in program._layouts)
    assert found["agreed"] > 2 * RANDOM and grouped > RANDOM


def test_where_arrays_lie_changes_nothing():
    x = rng.normal(size=3 * STRIP)
    program = compiled(log_sum_exp, x)
    expected = program.value_and_grad(x)
    for shift in range(1, 8):
        moved = np.empty(len(x) + 8)[shift : shift + len(x)]
        moved[:] = x
        value, gradient = program.value_and_grad(moved)
        assert value == expected[0] and np.array_equal(gradient, expected[1])
    spread = np.zeros(2 * len(x))[::2]
    spread[:] = x
    spread.flags.writeable = False
    assert program.value_and_grad(spread)[0] == expected[0]


def test_a_guard_that_fails_in_a_later_block():
    x = rng.normal(size=3 * STRIP)
    x[17] = 9.0
    program = compiled(log_sum_exp, x)
    y = x.copy()
    y[3 * STRIP - 2] = 10.0
    with pytest.raises(contad.errors.GuardError, match=r"comparison of arrays at .*test_fused_loops\.py:\d+ comes out"):
        program.value_and_grad(y)
    again = compiled(log_sum_exp, x, retrace=True)
    again(x)
    np.testing.assert_allclose(again.gradient(y), contad.grad(log_sum_exp)(y), rtol=1e-12)
    np.testing.assert_allclose(again.gradient(x), contad.grad(log_sum_exp)(x), rtol=1e-12)
    assert len(again.traces) == 2


def test_programs_with_chains_inside_njit_and_pickled():
    x = rng.normal(size=3 * STRIP)
    program = compiled(rosenbrock, x)

    @njit
    def call(program, x):
        return program.value_and_grad(x)

    value, gradient = program.value_and_grad(x)
    got = call(program, x)
    assert got[0] == value and np.array_equal(got[1], gradient)
    copied = pickle.loads(pickle.dumps(program))
    copied._compile()
    got = copied.value_and_grad(x)
    assert got[0] == value and np.array_equal(got[1], gradient)


def test_inputs_that_nothing_depends_on():
    def f(x, y):
        return np.sum(x[:2000] * 2.0) + np.sum(np.exp(x[3000:]))

    program = expect_derivatives(f, rng.normal(size=5000), rng.normal(size=3000))
    for _ in range(3):  # in memory that has been used
        gradient = program.gradient(rng.normal(size=5000), rng.normal(size=3000))
        assert not gradient[0][2000:3000].any() and not gradient[1].any()


def test_inputs_are_not_written_to():
    x = rng.normal(size=10_000)
    kept = x.copy()
    program = compiled(normal, 0.1, 2.0, x)
    first = program.value_and_grad(0.1, 2.0, x)
    second = program.value_and_grad(0.2, 2.0, x + 1.0)
    assert np.array_equal(x, kept) and not np.shares_memory(first[1][2], second[1][2])
    alone = compiled(rosenbrock, x)
    gradient = alone.gradient(x)
    assert np.array_equal(x, kept) and not np.shares_memory(gradient, x)


COUNTLESS = "inline", "builtin_function"  # which compile with `image_code.OPTIONS`


def test_loops_count_no_references():
    """The memory of a run is its caller's; to count who reads it would take locked instructions for every block."""
    counting = []
    for function in ast.parse(interpreter_source()).body:
        if isinstance(function, ast.FunctionDef) and any(isinstance(node, ast.Slice) for node in ast.walk(function)):
            if {node.id for node in function.decorator_list if isinstance(node, ast.Name)}.isdisjoint(COUNTLESS):
                counting.append(function.name)
    assert not counting
    assert image_code.OPTIONS["_nrt"] is False


def test_a_chain_that_would_fall_apart_without_its_last_members_keeps_them():
    def f(y):
        a = y * y
        b = a / (2.0 + a * a)
        c = (a + y) * a
        d = c * 2.0
        e = np.tanh(c)
        u = d.copy()
        u[1:3:2] = np.sin(u[0:2:2]) * d[1:3:2]
        m = np.mean(d, axis=0, keepdims=True) * d  # noqa: F841
        w = np.maximum(e, e)
        v = b.copy()
        v[2:0:-1] *= b[1::-1]  # of two rows, after what is of three
        v[1:3:2] += w[1:3:2] + v[1:3:2]  # of one row: the two above alone have no units
        return np.sum(c * v)

    y = rng.normal(size=(3, 1200))
    expect_derivatives(f, y * 1.01, example=[y])
