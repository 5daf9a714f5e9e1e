"""Random Numba programs against `records` and mpmath; the seven written ones against gradients by hand."""

from collections import Counter

import numpy as np
import pytest

import contad
from benchmarks.comparison.measure import arguments
from benchmarks.topics.tape import list_programs
from contad.functions.python_copy import python_twin
from contad.rules.body import RuleBody
from tests.engines.tape.requests import value_and_grad
from tests.judges.agreement import NOISE_RUNS
from tests.judges.array_agreement import NoisyStack
from tests.judges.planted import engines
from tests.random_programs.njit_programs import FEATURES, RARER, Group, check, compare


@pytest.mark.parametrize("count", [24, pytest.param(66, marks=pytest.mark.long)])
def test_random_programs_agree(count, report):
    counts, wrong = check(count, 2)
    report("random Numba programs", str(dict(counts)))
    assert wrong == []
    assert counts["programs"] >= 0.9 * count
    assert counts["references"] >= 0.2 * counts["programs"]
    for feature in FEATURES:
        assert counts[feature] >= 0.3 * counts["programs"], feature
    for feature in RARER:
        assert counts[feature] >= 0.1 * counts["programs"], feature


def test_a_wrong_partial_is_noticed(monkeypatch, tmp_path):
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))
    literal = RuleBody.literal

    def wrong(body, k):
        found = literal(body, k)
        return 1.0000001 if found == 1.0 and body.function.__name__ == "add_partials" and k == 1 else found

    monkeypatch.setattr(RuleBody, "literal", wrong)
    wrong_programs = compare(Group(3, [0, 1, 2], tmp_path), Counter())
    assert len(wrong_programs) >= 2
    assert "def f_" in wrong_programs[0]


def noisy_gradients(p, point):
    """Gradients by the Python copy, with one ulp of noise on every operation."""
    for seed in range(NOISE_RUNS):
        NoisyStack.random.seed(seed)
        yield contad.grad(python_twin(p.primal), p.argnums, engine="noisy")(*point)


def test_written_programs_agree_with_gradients_by_hand(report):
    lines = []
    for p in list_programs():
        point = arguments(p, "quick")
        value, gradient = value_and_grad(p.primal, *point, argnums=p.argnums)
        value_by_hand, by_hand = p.by_hand(*point)
        assert value == pytest.approx(value_by_hand, rel=1e-14)
        with engines(noisy=NoisyStack):
            noisy = list(noisy_gradients(p, point))
        for k, (got, expected, *others) in enumerate(zip(gradient, by_hand, *noisy, strict=True)):
            scale = np.abs(expected).max()
            difference = np.abs(got - expected).max() / scale
            spread = max(np.abs(other - expected).max() for other in others) / scale
            lines.append(f"{p.name}, argument {p.argnums[k]}: difference {difference:.1e}, spread {spread:.1e}")
            assert difference <= 1e-12, lines[-1]
            assert 0.0 < spread <= 1e-9, lines[-1]
    report("the seven programs", "\n".join(lines))
