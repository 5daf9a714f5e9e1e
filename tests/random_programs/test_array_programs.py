"""Random array programs have one derivative, and planted bugs in views, assignments and gathers are noticed."""

import time

import numpy as np
import pytest

import contad
from contad.engines.arrays.libraries import Library
from contad.engines.arrays.library_var import LibraryVar
from contad.engines.arrays.movements import find_last_writes
from contad.engines.matrix import matrix_stack
from contad.engines.matrix.array_sweep import sweep_row
from contad.engines.matrix.array_var import ArrayVar, scatter
from contad.engines.matrix.matrix_stack import MatrixStack
from contad.engines.matrix.outer_cells import NumberCells
from contad.engines.stream.storage import CODES, GATHER
from contad.protocols import number_protocols
from contad.rules import numpy_functions
from contad.variables.array import Array
from contad.variables.number import Number
from tests.judges.array_agreement import (
    WAYS,
    ObjectNumpy,
    Oracle,
    Statistics,
    check,
    noticing,
    over_objects,
    scalars_in_arrays,
    search,
    simplest,
    sweep_on_numbers,
    ways_of,
)
from tests.judges.comparison import Disagreement
from tests.judges.domains import RULES
from tests.judges.mutation import mutants
from tests.judges.samples import shortened
from tests.random_programs.array_programs import FloatNumpy, Program, Rejected, Statement
from tests.random_programs.array_statements import FREQUENCIES, Builder, generate


@pytest.mark.parametrize("count", shortened(206, 2060))
def test_random_array_programs_agree(report, count):
    statistics = Statistics()
    start = time.process_time()
    try:
        search(count, statistics)
    finally:
        report(f"random array programs ({time.process_time() - start:.0f} s)", str(statistics))
    assert statistics.programs >= count / 1.03
    assert statistics.mismatches == 0
    assert statistics.discard_rate <= 0.03
    assert statistics.zero_share <= 0.05
    assert statistics.mean_operations >= 100
    assert statistics.rarest[0][1] >= count // 42
    assert statistics.reference_share >= 0.25
    assert statistics.second_order >= count / 25
    assert statistics.array_results >= count / 5.15
    assert {label: n for label, n in statistics.comparisons.items() if n < count / 10.3} == {}
    assert set(statistics.comparisons) == set(WAYS)


# ---- planted bugs ----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def oracles():
    """300 programs with what they give."""
    return [Oracle(generate(f"planted/{k}")[0]) for k in range(300)]


def constants_leave_cells(patch):
    """A constant is written without clearing the cells."""

    def assign(self, write, y):
        value, cells = self._owner.parts(y)
        write(self._value, value)
        if np.any(cells):
            write(self._cells, cells)

    patch.setattr(ArrayVar, "_assign", assign)


def gather_assigns(patch):
    """A gather has = for +=: an element that was used by itself loses that adjoint."""
    patch.setattr(MatrixStack, "sweep", sweep_on_numbers)

    def sweep(stack, row, k, top, adjoints):
        with pytest.MonkeyPatch.context() as inner:
            if -stack.buffers.records[row, 0] % CODES == GATHER:
                inner.setattr(NumberCells, "add", NumberCells.__setitem__)
            return sweep_row(stack, row, k, top, adjoints)

    patch.setattr(matrix_stack, "sweep_row", sweep)


def first_write_in_place(patch):
    """The first assignment writes into the values that records have."""
    right = ArrayVar._open_for_writing

    def open_for_writing(self):
        before = self._value
        right(self)
        self._value = before

    patch.setattr(ArrayVar, "_open_for_writing", open_for_writing)


def gather_kept(patch):
    """What was gathered for one operation serves after an assignment, too."""
    operand = ArrayVar.operand

    def kept(self):
        if self._operand is not None:
            return self._operand[1]
        return operand(self)

    patch.setattr(ArrayVar, "operand", kept)
    setitem = Array.__setitem__

    def unnoticed(self, key, y):
        root = self._root()
        before = root._operand
        setitem(self, key, y)
        root._operand = before

    patch.setattr(Array, "__setitem__", unnoticed)


def version_not_counted(patch):
    """Assignments do not count up the version of the root, by which its views know that they changed."""
    setitem = Array.__setitem__

    def uncounted(self, key, y):
        root = self._root()
        version = root._version
        setitem(self, key, y)
        root._version = version

    patch.setattr(Array, "__setitem__", uncounted)


def fortran_for_c_order(patch):
    """The cells of an array in Fortran order are taken in their order in memory for those in C order."""
    operand = ArrayVar.operand

    def careless(self):
        value, cells = self._sync_parts()._value, self.cells()
        if value.flags.f_contiguous and not value.flags.c_contiguous and cells.any():
            return self._owner.gather(value, cells.ravel(order="K").reshape(value.shape))
        return operand(self)

    patch.setattr(ArrayVar, "operand", careless)


def repeated_index_accumulates(patch):
    """Assignment by an index with repeated positions adds up, where NumPy lets the last one win."""
    setitem = Array.__setitem__

    def accumulating(self, key, y):
        parts = key if isinstance(key, tuple) else (key,)
        positions = np.arange(self.size).reshape(self.shape)[key]
        if any(isinstance(k, (list, np.ndarray)) for k in parts) and len(np.unique(positions)) < np.size(positions):
            setitem(self, key, 0.0)
            np.add.at(self, key, y)
        else:
            setitem(self, key, y)

    patch.setattr(Array, "__setitem__", accumulating)


def repeated_index_keeps_the_first_cell(patch):
    """Where an index repeats, the last value is written, but the first cell."""

    setitem = Array.__setitem__

    def first_wins(self, key, y):
        cells = np.copy(self._owner.parts(y)[1])
        setitem(self, key, y)
        target = np.arange(self.size).reshape(self.shape)[key]
        new = np.broadcast_to(cells, np.shape(target)).ravel()[::-1]
        for position, cell in zip(np.ravel(target)[::-1], new, strict=True):
            self._cells[np.unravel_index(position, self.shape)] = cell

    patch.setattr(Array, "__setitem__", first_wins)


def views_not_synchronised(patch):
    """A view keeps the parts it had when its root was scattered."""
    patch.setattr(Array, "_sync_parts", lambda self: self)


def copies_in_two_orders(patch):
    """The values of a copy have the layout that NumPy gave them, its cells C order: their views differ."""

    def make_copy(self, move, value):
        return scatter(self._owner, np.copy(value, order="K"), np.array(move(self.cells()), order="C"))

    patch.setattr(ArrayVar, "_make_copy", make_copy)


def comparisons_of_python(patch):
    """Elements compare as Python floats do: ~ of a truth value is a number, and + of two counts."""
    element = ArrayVar._element

    def read(self, key, v):
        x = element(self, key, v)
        return x.in_class(x.float_class) if isinstance(x, Number) else x

    patch.setattr(ArrayVar, "_element", read)


def lists_stay_lists(patch):
    """A ufunc of an element and a list gives a list, which * repeats."""
    right = Number.__array_ufunc__

    def listing(self, ufunc, method, *inputs, **options):
        z = right(self, ufunc, method, *inputs, **options)
        return list(z) if any(isinstance(x, (list, tuple)) for x in inputs) else z

    patch.setattr(Number, "__array_ufunc__", listing)


def at_reads_what_it_has_written(patch):
    """np.add.at reads its operand while it writes it, where NumPy has copied it before."""
    patch.setattr(number_protocols, "_read_before", number_protocols._as_array)


def results_in_c_order(patch):
    """np.sort, np.select and their like give C order whatever NumPy gives: flat views alias otherwise."""
    patch.setattr(numpy_functions, "_laid_out", lambda z, expected, arguments: z)


PLANTED = (
    constants_leave_cells, gather_assigns, first_write_in_place, gather_kept, version_not_counted, fortran_for_c_order,
    repeated_index_accumulates, repeated_index_keeps_the_first_cell, views_not_synchronised, copies_in_two_orders,
    comparisons_of_python, lists_stay_lists, at_reads_what_it_has_written, results_in_c_order,
)  # fmt: skip


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_noticed(plant, oracles, monkeypatch, report):
    with monkeypatch.context() as patch:
        plant(patch)
        found = noticing(oracles, "matrix", enough=5)
    assert found
    report(f"planted: {plant.__name__}", f"{len(found)} of the first {found[-1] + 1} programs notice")


def constants_are_not_kept(patch):
    """On the engine arrays, a derivative reads a constant array after somebody has written to it."""
    patch.setattr(Library, "keep", lambda self, v, watched: v)


def views_are_copies(patch):
    """No view follows its parent."""
    patch.setattr(Library, "shares_memory", lambda self, v, a: False)


def copies_are_views(patch):
    """Elements, and copies that NumPy makes because of the layout, follow what was copied."""
    patch.setattr(Library, "shares_memory", lambda self, v, a: True)


def cells_of_arguments_move(patch):
    """The gradient is that of the argument after writes to it."""
    patch.setattr(LibraryVar, "_first_cell", property(lambda x: 0, lambda x, k: None))


def every_write_counts(patch):
    """Where an index repeats, all values that were written get a cotangent."""
    rebind = Library.rebind
    patch.setattr(
        Library, "rebind", lambda self, x: (lambda *args: None) if x is find_last_writes else rebind(self, x)
    )


@pytest.mark.parametrize(
    "plant",
    [constants_are_not_kept, views_are_copies, copies_are_views, cells_of_arguments_move, every_write_counts],
    ids=lambda plant: plant.__name__,
)
def test_a_bug_planted_in_the_engine_arrays_is_noticed(plant, oracles, monkeypatch):
    assert noticing(oracles[:20], "arrays") == []
    with monkeypatch.context() as patch:
        plant(patch)
        assert noticing(oracles, "arrays", enough=2)


def test_without_planted_bugs_nothing_is_noticed(oracles):
    assert noticing(oracles, "matrix") == []


def test_a_wrong_partial_is_noticed_though_engines_share_it(oracles):
    """Complex steps share no rule with the engines."""
    (mutant,) = [m for m in mutants(RULES["tanh"]) if m.name == "tanh: 1.001 times x"]
    programs = [oracle.program for oracle in oracles if "tanh" in oracle.program.source][:20]
    with mutant.planted():
        assert len(noticing([Oracle(program) for program in programs], "complex step")) >= 10


# ---- programs --------------------------------------------------------------------------------------------------------
SWAP = Program(
    (np.array([0.3, -0.7, 1.1]), 0.5),
    (
        Statement("view", ("a1 = x0[::-1]",)),
        Statement("swap", ("t = x0[0]", "x0[0] = x0[2]", "x0[2] = t")),
        Statement("augmented", ("x0[1:] *= x0[:-1]",)),
        Statement("filled", ("a2 = np.zeros_like(x0)", "for i in range(3):", "    a2[i] = a1[i] * x1")),
        Statement("result", ("s = s + np.sum(np.sin(a2) * np.array([1.0, 2.0, 3.0]))",)),
    ),
    "s",
)

SOURCE = """\
import contad
import numpy as np

def f(x0, x1):
    s = 0.0
    a1 = x0[::-1]
    t = x0[0]
    x0[0] = x0[2]
    x0[2] = t
    x0[1:] *= x0[:-1]
    a2 = np.zeros_like(x0)
    for i in range(3):
        a2[i] = a1[i] * x1
    s = s + np.sum(np.sin(a2) * np.array([1.0, 2.0, 3.0]))
    return s

x0 = np.array([0.3, -0.7, 1.1])
x1 = 0.5
print(contad.grad(f, (0, 1))(x0, x1))"""


def test_a_program_prints_as_source():
    assert str(SWAP) == SOURCE


def test_the_oracle_has_numpys_semantics():
    """By hand: x0 becomes (c, bc, ab) and a1 is its reverse, so s = sin(ab d) + 2 sin(bc d) + 3 sin(c d)."""
    (a, b, c), d = SWAP.inputs
    p, q, r = np.cos(a * b * d), 2.0 * np.cos(b * c * d), 3.0 * np.cos(c * d)
    expected = [p * b * d, (p * a + q * c) * d, (q * b + r) * d, p * a * b + q * b * c + r * c]
    value, gradient = over_objects(SWAP, "records")
    assert value == pytest.approx(np.sin(a * b * d) + 2.0 * np.sin(b * c * d) + 3.0 * np.sin(c * d), rel=1e-15)
    assert gradient == pytest.approx(expected, rel=1e-15)
    check(SWAP, Statistics(), to_second=True)


def test_the_source_computes_what_the_builder_saw():
    for k in range(50):
        builder = Builder(f"seen/{k}")
        program = builder.program()
        scope = {"np": FloatNumpy()}
        exec(program.source, scope)
        inputs = [x.copy() if isinstance(x, np.ndarray) else x for x in program.inputs]
        result = scope["f"](*inputs)
        value = result if program.result == "s" else builder.scope["s"]
        assert value == builder.scope["s"]
        for name, x in zip(program.names, inputs, strict=True):
            assert np.array_equal(x, builder.scope[name])


def test_numbers_that_are_compared_are_not_near_a_tie():
    builder = Builder(0)
    builder.scope["a"] = np.array([0.3, 0.3 + 1e-9, 0.5])
    for tied in (lambda: builder.separate("a", "0.3"), lambda: builder.separate_along(builder.scope["a"], None)):
        with pytest.raises(Rejected, match="a tie"):
            tied()
    builder.separate("a", "0.4")
    builder.separate_along(builder.scope["a"][1:], 0)


def test_programs_without_layouts_have_results_in_c_order():
    for k in range(50):
        program, _ = generate(f"layout/{k}", layouts=False)
        builder = Builder(f"layout/{k}", layouts=False)
        builder.program()
        owners = [x for x in builder.scope.values() if isinstance(x, np.ndarray) and x.base is None]
        assert all(x.flags.c_contiguous for x in owners), program


def test_every_kind_of_statement_takes_part():
    kinds = {statement.kind for k in range(300) for statement in generate(f"1/{k}")[0].statements}
    assert {name for name in FREQUENCIES if hasattr(Builder, name)} == set(FREQUENCIES)
    assert len(kinds) >= 45
    assert set().union(*(ways_of(k) for k in range(24))) == set(WAYS)


def test_a_failing_program_is_printed_with_few_statements(monkeypatch):
    with monkeypatch.context() as patch:
        constants_leave_cells(patch)
        for k in range(300):
            program, _ = generate(f"planted/{k}")
            try:
                check(program, Statistics(), ("matrix",))
            except Disagreement as found:
                message = simplest(program, found, ("matrix",), False)
                break
    source = message.partition("def f")[2].partition("return")[0]
    assert len(source.splitlines()) <= 20
    assert "gradient, component" in message


# ---- what np means ---------------------------------------------------------------------------------------------------
def test_scalars_in_arrays_restores_the_class():
    before = Number.__array_ufunc__

    def f(x, v):
        a = np.array([x, x * v], dtype=object)
        b = a
        with scalars_in_arrays():
            a += v
        return b[0] * b[1]

    assert contad.grad(f, (0, 1), engine="records")(2.0, 3.0) == (24.0, 24.0)
    assert Number.__array_ufunc__ is before


def test_functions_on_objects_take_floats_and_variables():
    def f(x):
        a = np.array([x, 0.5], dtype=object)
        return np.sum(ObjectNumpy().sin(a) * ObjectNumpy().hypot(a, 2.0))

    x = 0.7
    expected = np.cos(x) * np.hypot(x, 2.0) + np.sin(x) * x / np.hypot(x, 2.0)
    assert contad.grad(f, engine="records")(x) == pytest.approx(expected, rel=1e-15)
