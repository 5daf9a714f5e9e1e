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
        "While", "If", "IfExp", "BoolOp", "chained comparison", "Assert", "Raise in a loop", "Return in a loop", "Pass",
        "Break in a loop", "Continue in a loop", "Tuple", "Add=", "Sub=", "Mult=", "Div=", "Pow=", "+= of elements",
        "store", "store into a slice", "FloorDiv", "Mod", "for in Call", "for in Name", "for in Subscript",
        "for in Tuple", "range()", "enumerate()", "zip()", "prange()", "np.zeros()", "np.ones()", "np.empty()",
        "np.full()", "np.zeros_like()", "np.copy()", "len()", "MatMult", "np.sum()", "np.dot()", "np.where()",
        "np.max()", "np.mean()", "contad.erf()", "softened()", "g()", "h()", "ListComp", "List", "Dict", "Set", "In",
        "NotIn", "np.ndindex()", "np.ndenumerate()", "u.sort()", "q.flat", "np.add()", "np.tanh()", "spread()",
        "dying()", "With", "Held()", "np.float64()", "Try", "np.array()", "np.asarray()", "z1.item()", "first()",
        "relaxed()", "c = ... in a loop", "d = ... in a loop", "o = ... in a loop",
    )  # fmt: skip
    assert [what for what in wanted if found[what] < 3] == []
    report("constructs of 600 random programs", ", ".join(f"{what} {n}" for what, n in found.most_common()))


# ---- planted faults: the owner of an attribute, its name, and what it is instead, from what it was -------------------
def assign_adjoints(add):
    def planted(self, value, text):
        begun = set(self.begun)
        self.begun.discard(value)
        add(self, value, text)
        self.begun |= begun

    return planted


def copy_on(kind, copy):
    """A second name of something is another one."""

    def plant(assign):
        def planted(self, target, entry, env, statement=None):
            if isinstance(entry, kind) and any(entry is x for x in env.values()):
                entry = copy(self, entry)
            assign(self, target, entry, env, statement)

        return planted

    return plant


def walk_through(change):
    """A fault in loops over grids: what is walked through instead."""
    return lambda walk: lambda self, statement, grid, env: walk(self, statement, change(self, grid), env)


def turn_columns(self, grid):
    if grid.array is None or len(grid.shape) != 2 or grid.kind != "flat":
        return grid
    return Grid(grid.kind, grid.shape[::-1], self.builder.view(grid.array, None))


def shorten_indices(self, grid):
    if grid.kind != "ndindex":
        return grid
    last = self.builder.apply(known_functions.SUBTRACT, grid.shape[-1], constant(1))
    return Grid(grid.kind, [*grid.shape[:-1], last])


def keep_count(append):
    def planted(self, x, node):
        before, apply = self.count(), self.reader.builder.apply
        append(self, x, node)
        more = apply(known_functions.COMPARISONS["Gt"], before, constant(0))
        after = apply(known_functions.SELECT, more, before, constant(1))
        self.reader.arrays.put(self.cell, [constant(0)], after)

    return planted


def go_on(write_body):
    def planted(self, place, env):
        write_body(self, place, env)
        env[generators._STOPPED] = constant(False)

    return planted


def forget_sorting(method):
    return lambda self, called, *rest: Object(None) if called.name == "sort" else method(self, called, *rest)


Reader, Writer = statements.StatementReader, adjoint_sweep.AdjointWriter
MISREADINGS = {  # with the seed of a program that has it
    "a comprehension over a range is one over range(n)": (
        68, made_containers, "_position", lambda _: lambda reader, index, limits: index),
    "a second name of a list is a copy": (445, Reader, "assign", copy_on(
        BoundedBuffer, lambda self, x: BoundedBuffer(x.reader, self.arrays.copy_elements(x.array)))),
    "a second name of an array of no axes is a copy": (
        614, Reader, "assign", copy_on(Point, lambda self, x: points.copy(self.arrays, x))),
    "of a dict the first value is read": (
        354, Keyed, "read", lambda _: lambda self, *_: next(iter(self.members.values()))),
    "a set has its first member alone": (228, Members, "contains", lambda contains: lambda self, *rest: contains(
        Members(self.reader, self.numbers[:1]), *rest)),
    "elements go column by column": (299, Reader, "_walk", walk_through(turn_columns)),
    "the last index of the last axis is left out": (145, Reader, "_walk", walk_through(shorten_indices)),
    "np.ndenumerate has as many rows as columns": (1160, Reader, "_walk", walk_through(
        lambda self, x: Grid(x.kind, [x.shape[-1]] * 2, x.array) if x.kind == "ndenumerate" else x)),
    "the method sort leaves the array": (173, call_reader.CallReader, "method", forget_sorting),
    "out= is not written to": (27, call_site.CallSite, "compute_into", lambda _: lambda self, out, found: out),
    "append leaves a list as it is": (52, BoundedBuffer, "append", keep_count),
    "a generator does not notice the end of its loop": (218, generators.GeneratorLoop, "write_body", go_on),
    "what is raised in a try is passed over": (93, handlers, "Thrown", lambda _: lambda flag: ast.Pass()),
}  # fmt: skip
FORGOTTEN = Writer, "reverse_Store", lambda _: lambda self, o: self.add(o.stored, 0.0)
FAULTS = {
    "stores are misread": (store_plan.StorePlan, "is_unchanged", lambda _: lambda self, reader, array: True),
    "loops run forwards": (store_plan.StorePlan, "in_any_order", lambda _: lambda _, loop: loop.exit is None),
    "adjoints are assigned": (Writer, "add", assign_adjoints),
    "stores are forgotten": FORGOTTEN,
    "parts that overlap are read before they are written": (statements, "overlaps", lambda _: lambda a, b: False),
    "signatures cast nothing": (
        call_reader, "cast_arguments", lambda _: lambda builder, f, names, given: (given, None)),
}  # fmt: skip


def plant(monkeypatch, owner, name, change):
    monkeypatch.setattr(owner, name, change(getattr(owner, name)))


@pytest.mark.parametrize("fault", MISREADINGS)
def test_planted_misreadings_of_containers_are_found(fault, monkeypatch):
    seed, *planted = MISREADINGS[fault]
    assert not is_failure(generated_programs.check(seed))
    plant(monkeypatch, *planted)
    assert is_failure(generated_programs.check(seed))


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault, monkeypatch):
    plant(monkeypatch, *FAULTS[fault])
    assert any((generated_programs.check(seed) or "").startswith("wrong") for seed in range(120))


def test_failing_programs_are_shrunk(monkeypatch):
    plant(monkeypatch, *FORGOTTEN)
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
