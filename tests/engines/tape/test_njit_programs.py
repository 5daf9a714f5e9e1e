"""Random Numba programs against `records` and mpmath; the seven written ones against gradients by hand."""

from collections import Counter

import numpy as np
import pytest

from benchmarks.njit_workloads import programs
from contad.body import Body
from tests.engines.tape.requests import value_and_grad
from tests.njit_programs import FEATURES, Group, check, compare

ULP = 2.0**-52


def test_random_programs_agree(report):
    counts, wrong = check(66, 2)
    report("random Numba programs", str(dict(counts)))
    assert wrong == []
    assert counts["programs"] >= 60
    assert counts["references"] >= 0.2 * counts["programs"]
    for feature in FEATURES:
        assert counts[feature] >= 0.3 * counts["programs"], feature


def test_a_wrong_partial_is_noticed(monkeypatch, tmp_path):
    monkeypatch.setenv("CONTAD_CACHE_DIR", str(tmp_path))
    literal = Body.literal

    def wrong(body, k):
        found = literal(body, k)
        return 1.0000001 if found == 1.0 and body.function.__name__ == "add_partials" and k == 1 else found

    monkeypatch.setattr(Body, "literal", wrong)
    wrong_programs = compare(Group(3, [0, 1, 2], tmp_path), Counter())
    assert len(wrong_programs) >= 2
    assert "def f_" in wrong_programs[0]


def test_written_programs_agree_with_gradients_by_hand(report):
    lines = []
    for p in programs(0.01):
        value, gradient = value_and_grad(p.f, *p.point, argnums=p.argnums)
        value_by_hand, by_hand = p.by_hand(*p.point)
        assert value == pytest.approx(value_by_hand, rel=1e-14)
        draw = np.random.default_rng(3)
        for k, got, expected in zip(p.argnums, gradient, by_hand, strict=True):
            scale = np.abs(expected).max()
            difference = np.abs(got - expected).max() / scale
            spread = 0.0
            for _ in range(8):  # a lower bound of what one-ulp noise does: on the inputs only
                nudged = [x * (1.0 + draw.choice([-ULP, ULP], np.shape(x))) if n in p.argnums else x
                          for n, x in enumerate(p.point)]  # fmt: skip
                other = p.by_hand(*nudged)[1][p.argnums.index(k)]
                spread = max(spread, np.abs(other - expected).max() / scale)
            lines.append(f"{p.name}, argument {k}: difference {difference:.1e}, spread {spread:.1e}")
            assert difference <= 1e-12, lines[-1]
            assert spread <= 1e-9, lines[-1]
    report("the seven programs", "\n".join(lines))
