"""Random programs over the whole grammar of the engine `generated`, and faults planted for them to find."""

import ast
import contextlib
from collections import Counter

import pytest

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import Grid, Object, Point, constant
from contad.engines.source.planning import store_plan
from contad.engines.source.reading import (
    call_reader,
    call_site,
    generators,
    handlers,
    made_containers,
    points,
    statements,
)
from contad.engines.source.reading.bounded_buffers import BoundedBuffer
from contad.engines.source.reading.made_containers import Keyed, Members
from contad.engines.source.writing import adjoint_sweep
from tests.judges.samples import sampled
from tests.random_programs import generated_grammar, generated_programs
from tests.random_programs.searching import is_failure


@pytest.mark.parametrize("start", sampled(range(0, 600, 30), 5))
def test_random_programs_agree(start):
    outcomes = [generated_programs.check(seed) for seed in range(start, start + 30)]
    assert [o for o in outcomes if is_failure(o)] == []
    assert sum(not (o or "").startswith("rejected") for o in outcomes) > 25


@pytest.mark.parametrize("start", sampled(range(0, 66, 3), 8))
def test_small_random_programs_agree_compiled(start):
    outcomes = [generated_programs.check_compiled(seed, small=True) for seed in range(start, start + 3)]
    assert [o for o in outcomes if is_failure(o)] == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(300, 400))
def test_random_programs_agree_compiled(seed):
    outcome = generated_programs.check_compiled(seed)
    assert not is_failure(outcome), outcome


def test_the_grammar_is_covered(report):
    """Every construct that the engine supports occurs in the programs that are run here, the long tests among them."""
    sources = (generated_programs.make(seed).source() for seed in range(600))
    found = Counter(what for source in sources for what in generated_grammar.constructs(source))
    wanted = (
        *(
            "While",
            "If",
            "IfExp",
            "BoolOp",
            "chained comparison",
            "Assert",
            "Raise in a loop",
            "Return in a loop",
            "Pass",
        ),
        *("Break in a loop", "Continue in a loop", "Tuple"),
        *("Add=", "Sub=", "Mult=", "Div=", "Pow=", "+= of elements", "store", "store into a slice", "FloorDiv", "Mod"),
        *(
            "for in Call",
            "for in Name",
            "for in Subscript",
            "for in Tuple",
            "range()",
            "enumerate()",
            "zip()",
            "prange()",
        ),
        *("np.zeros()", "np.ones()", "np.empty()", "np.full()", "np.zeros_like()", "np.copy()", "len()", "MatMult"),
        *("np.sum()", "np.dot()", "np.where()", "np.max()", "np.mean()", "contad.erf()", "softened()", "g()", "h()"),
        *("ListComp", "List", "Dict", "Set", "In", "NotIn", "np.ndindex()", "np.ndenumerate()", "u.sort()", "q.flat"),
        *("np.add()", "np.tanh()", "spread()", "dying()", "With", "Held()", "np.float64()", "Try"),
        *("np.array()", "np.asarray()", "z1.item()"),
        *("first()", "relaxed()", "c = ... in a loop", "d = ... in a loop", "o = ... in a loop"),
    )
    assert [what for what in wanted if found[what] < 3] == []
    report("constructs of 600 random programs", ", ".join(f"{what} {n}" for what, n in found.most_common()))


def misread_stores(monkeypatch):
    monkeypatch.setattr(store_plan.StorePlan, "is_unchanged", lambda self, reader, array: True)


def forwards_always(monkeypatch):
    monkeypatch.setattr(store_plan.StorePlan, "in_any_order", lambda _, loop: loop.exit is None)


def adjoints_assigned(monkeypatch):
    original = adjoint_sweep.AdjointWriter.add

    def add(self, value, text):
        begun = set(self.begun)
        self.begun.discard(value)
        original(self, value, text)
        self.begun |= begun

    monkeypatch.setattr(adjoint_sweep.AdjointWriter, "add", add)


def stores_forgotten(monkeypatch):
    monkeypatch.setattr(adjoint_sweep.AdjointWriter, "reverse_Store", lambda self, o: self.add(o.stored, 0.0))


def overlaps_unseen(monkeypatch):
    """Updates by parts that overlap are read before they are written, as NumPy does and Numba does not."""
    monkeypatch.setattr(statements, "overlaps", lambda a, b: False)


def signatures_ignored(monkeypatch):
    """Callees compute with what they are given, though their signature casts it."""
    monkeypatch.setattr(call_reader, "cast_arguments", lambda builder, f, names, given: (given, None))


# ---- containers, and what works in place -----------------------------------------------------------------------------
def positions_counted_from_zero(monkeypatch):
    """A comprehension over a range fills its list as if the range were range(n)."""
    monkeypatch.setattr(made_containers, "_position", lambda reader, index, limits: index)


def lists_copied(monkeypatch):
    """A second name of a list is another list."""
    original = statements.StatementReader.assign

    def assign(self, target, entry, env, statement=None):
        if isinstance(entry, BoundedBuffer) and any(entry is x for x in env.values()):
            entry = BoundedBuffer(entry.reader, self.arrays.copy_elements(entry.array))
        original(self, target, entry, env, statement)

    monkeypatch.setattr(statements.StatementReader, "assign", assign)


def points_copied(monkeypatch):
    """A second name of an array of no axes is another array."""
    original = statements.StatementReader.assign

    def assign(self, target, entry, env, statement=None):
        if isinstance(entry, Point) and any(entry is x for x in env.values()):
            entry = points.copy(self.arrays, entry)
        original(self, target, entry, env, statement)

    monkeypatch.setattr(statements.StatementReader, "assign", assign)


def keys_confused(monkeypatch):
    """Of a dict the first value is read, whatever the key."""
    monkeypatch.setattr(Keyed, "read", lambda self, *_: next(iter(self.members.values())))


def members_forgotten(monkeypatch):
    """A set has its first member alone."""
    original = Members.contains
    monkeypatch.setattr(
        Members, "contains", lambda self, *rest: original(Members(self.reader, self.numbers[:1]), *rest)
    )


def walked(change):
    """A fault in loops over grids: what is walked through instead."""

    def plant(monkeypatch):
        original = statements.StatementReader._walk

        def walk(self, statement, grid, env):
            original(self, statement, change(self, grid), env)

        monkeypatch.setattr(statements.StatementReader, "_walk", walk)

    return plant


@walked
def columns_first(self, grid):
    """The elements of an array one column after the other."""
    if grid.array is None or len(grid.shape) != 2 or grid.kind != "flat":
        return grid
    return Grid(grid.kind, grid.shape[::-1], self.builder.view(grid.array, None))


@walked
def indices_short(self, grid):
    """Without the last index of the last axis."""
    if grid.kind != "ndindex":
        return grid
    last = self.builder.apply(known_functions.SUBTRACT, grid.shape[-1], constant(1))
    return Grid(grid.kind, [*grid.shape[:-1], last])


@walked
def elements_of_rows(self, grid):
    """Of np.ndenumerate as many rows as columns."""
    return Grid(grid.kind, [grid.shape[-1]] * 2, grid.array) if grid.kind == "ndenumerate" else grid


def sorted_copies(monkeypatch):
    """The method sort leaves the array as it is."""
    original = call_reader.CallReader.method

    def method(self, method, *rest):
        return Object(None) if method.name == "sort" else original(self, method, *rest)

    monkeypatch.setattr(call_reader.CallReader, "method", method)


def outputs_untouched(monkeypatch):
    """A function of NumPy's does not write into the array that is given for its result."""
    monkeypatch.setattr(call_site.CallSite, "compute_into", lambda self, out, found: out)


def lists_never_grow(monkeypatch):
    """The method append of a list leaves it as it is."""
    original = BoundedBuffer.append

    def append(self, x, node):
        before, apply = self.count(), self.reader.builder.apply
        original(self, x, node)
        more = apply(known_functions.COMPARISONS["Gt"], before, constant(0))
        after = apply(known_functions.SELECT, more, before, constant(1))
        self.reader.arrays.put(self.cell, [constant(0)], after)

    monkeypatch.setattr(BoundedBuffer, "append", append)


def generators_go_on(monkeypatch):
    """A generator does not notice that the loop over it has ended."""
    original = generators.GeneratorLoop.write_body

    def write_body(self, place, env):
        original(self, place, env)
        env[generators._STOPPED] = constant(False)

    monkeypatch.setattr(generators.GeneratorLoop, "write_body", write_body)


def raises_forgotten(monkeypatch):
    """What is raised in a try is passed over."""
    monkeypatch.setattr(handlers, "Thrown", lambda flag: ast.Pass())


@pytest.mark.parametrize(
    ("plant", "seed"),
    [
        (positions_counted_from_zero, 68), (lists_copied, 445), (keys_confused, 354), (members_forgotten, 228),
        (columns_first, 299), (indices_short, 145), (elements_of_rows, 1160), (sorted_copies, 173),
        (outputs_untouched, 27), (lists_never_grow, 52), (generators_go_on, 218),
        (raises_forgotten, 93), (points_copied, 614),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)  # fmt: skip
def test_planted_misreadings_of_containers_are_found(plant, seed, monkeypatch):
    assert not is_failure(generated_programs.check(seed))
    plant(monkeypatch)
    assert is_failure(generated_programs.check(seed))


@pytest.mark.parametrize(
    "plant",
    [misread_stores, forwards_always, adjoints_assigned, stores_forgotten, overlaps_unseen, signatures_ignored],
)
def test_planted_faults_are_found(plant, monkeypatch):
    plant(monkeypatch)
    assert any((generated_programs.check(seed) or "").startswith("wrong") for seed in range(120))


def test_failing_programs_are_shrunk(monkeypatch):
    stores_forgotten(monkeypatch)
    seed = next(s for s in range(60) if (generated_programs.check(s) or "").startswith("wrong"))
    maker = generated_programs.Maker(seed)
    block = maker.program()

    def failing(b):
        with contextlib.suppress(generated_programs.Rejected):
            return generated_programs.kind(generated_programs.attempt(maker, b, seed)) == "wrong gr"
        return False

    smaller = generated_programs.shrink(block, generated_programs.variants, failing)
    assert len(maker.source(smaller)) < len(maker.source(block))
    assert failing(smaller)
