"""Random programs over the whole grammar of the engine `generated`, and faults planted for them to find."""

import contextlib
from collections import Counter

import pytest

from contad.engines.source.planning import store_plan
from contad.engines.source.reading import call_reader, statements
from contad.engines.source.writing import adjoint_sweep, reverse_sweep
from tests.judges.samples import sampled
from tests.random_programs import generated_grammar, generated_programs


@pytest.mark.parametrize("start", sampled(range(0, 600, 30), 5))
def test_random_programs_agree(start):
    outcomes = [generated_programs.check(seed) for seed in range(start, start + 30)]
    assert [o for o in outcomes if generated_programs.is_failure(o)] == []
    assert sum(not (o or "").startswith("rejected") for o in outcomes) > 25


@pytest.mark.parametrize("start", sampled(range(0, 66, 3), 8))
def test_small_random_programs_agree_compiled(start):
    outcomes = [generated_programs.check_compiled(seed, small=True) for seed in range(start, start + 3)]
    assert [o for o in outcomes if generated_programs.is_failure(o)] == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(300, 400))
def test_random_programs_agree_compiled(seed):
    outcome = generated_programs.check_compiled(seed)
    assert not generated_programs.is_failure(outcome), outcome


def test_the_grammar_is_covered(report):
    """Every construct that the engine supports occurs in the programs that are run here, the long tests among them."""
    sources = (generated_grammar.Maker(seed).source() for seed in range(600))
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
        *("first()", "relaxed()", "c = ... in a loop", "d = ... in a loop", "o = ... in a loop"),
    )
    assert [what for what in wanted if found[what] < 3] == []
    report("constructs of 600 random programs", ", ".join(f"{what} {n}" for what, n in found.most_common()))


def misread_stores(monkeypatch):
    monkeypatch.setattr(store_plan.StorePlan, "is_unchanged", lambda self, reader, array: True)


def forwards_always(monkeypatch):
    monkeypatch.setattr(reverse_sweep, "any_order", lambda loop, *_: loop.exit is None)


def adjoints_assigned(monkeypatch):
    original = adjoint_sweep.AdjointWriter.add

    def add(self, value, text):
        begun = set(self.begun)
        self.begun.discard(value)
        original(self, value, text)
        self.begun |= begun

    monkeypatch.setattr(adjoint_sweep.AdjointWriter, "add", add)


def stores_forgotten(monkeypatch):
    monkeypatch.setattr(adjoint_sweep.AdjointWriter, "reverse_Store", lambda self, o: self.add(o.stored, "0.0"))


def overlaps_unseen(monkeypatch):
    """Updates by parts that overlap are read before they are written, as NumPy does and Numba does not."""
    monkeypatch.setattr(statements, "overlaps", lambda a, b: False)


def signatures_ignored(monkeypatch):
    """Callees compute with what they are given, though their signature casts it."""
    monkeypatch.setattr(call_reader, "cast_arguments", lambda builder, f, names, given: (given, None))


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

    smaller = generated_programs.shrink(block, failing)
    assert len(maker.source(smaller)) < len(maker.source(block))
    assert failing(smaller)
