"""Random Numba programs against `records` and mpmath; the seven written ones against gradients by hand."""

from collections import Counter

import numpy as np
import pytest

from benchmarks.comparison.measure import arguments
from benchmarks.topics.tape import list_programs
from contad.rules.body import RuleBody
from tests.engines.tape.requests import value_and_grad
from tests.judges.noise import noisy_gradients
from tests.judges.samples import sampled, shortened
from tests.random_programs.njit_programs import FEATURES, GROUP, RARER, Generator, Group, check, compare


@pytest.mark.parametrize("count", shortened(GROUP // 4, 66))
def test_random_programs_agree(count, report):
    counts, wrong = check(count, 2)
    report("random Numba programs", str(dict(counts)))
    assert wrong == []
    assert counts["programs"] >= 0.9 * count
    assert counts["references"] >= 0.2 * counts["programs"]


def test_every_feature_takes_part():
    counts: Counter[str] = Counter()
    for k in range(66):
        generator = Generator(2, k)
        generator.source()
        counts.update(generator.features)
    assert [feature for feature in FEATURES if counts[feature] < 0.3 * 66] == []
    assert [feature for feature in RARER if counts[feature] < 0.1 * 66] == []


@pytest.mark.long
def test_a_wrong_partial_is_noticed(monkeypatch, tmp_path):
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))
    literal = RuleBody.literal

    def wrong(body, k):
        found = literal(body, k)
        return 1.0000001 if found == 1.0 and body.function.__name__ == "add_partials" and k == 1 else found

    monkeypatch.setattr(RuleBody, "literal", wrong)
    wrong_programs = compare(Group(3, [0, 1], tmp_path), Counter())
    assert wrong_programs
    assert "def f_" in wrong_programs[0]


@pytest.mark.parametrize("number", sampled(range(7), 3))
def test_written_programs_agree_with_gradients_by_hand(number, report):
    lines, programs = [], list_programs()
    assert len(programs) == 7
    for p in [programs[number]]:
        point = arguments(p, "quick")
        value, gradient = value_and_grad(p.primal, *point, argnums=p.argnums)
        value_by_hand, by_hand = p.by_hand(*point)
        assert value == pytest.approx(value_by_hand, rel=1e-14)
        noisy = noisy_gradients(p.primal, point, p.argnums)
        for k, (got, expected, *others) in enumerate(zip(gradient, by_hand, *noisy, strict=True)):
            scale = np.abs(expected).max()
            difference = np.abs(got - expected).max() / scale
            spread = max(np.abs(other - expected).max() for other in others) / scale
            lines.append(f"{p.name}, argument {p.argnums[k]}: difference {difference:.1e}, spread {spread:.1e}")
            assert difference <= 1e-12, lines[-1]
            assert 0.0 < spread <= 1e-9, lines[-1]
    report(f"program {number} of seven", "\n".join(lines))
