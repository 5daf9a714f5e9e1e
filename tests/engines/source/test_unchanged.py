"""Random nests of loops that fill arrays, of which the reverse sweep reads again what no later iteration writes."""

import numpy as np
import pytest

from contad.engines.source.analysis import unchanged
from tests.engines.source.agreement import numbers_stored, request
from tests.engines.source.nests_of_loops import disagreement
from tests.engines.source.programs.harness import function_of
from tests.engines.source.programs.unchanged import FILLED_TRIANGLES


@pytest.mark.parametrize("name", FILLED_TRIANGLES.takes)
def test_no_number_is_stored_for_each_multiplication(name):
    f = function_of(FILLED_TRIANGLES, FILLED_TRIANGLES.takes[name])
    a = np.eye(12) + 0.1

    def count(n):
        args = a[:n, :n].copy(), np.array([1.2, 0.4])
        return numbers_stored(request(f, *args, argnums=(0, 1)), args)

    assert count(12) <= 4.2 * count(6) <= 4.2 * 3.5 * 6 * 7 / 2


def test_random_nests():
    found = [disagreement(seed) for seed in range(24)]
    assert [wrong for _, wrong in found if wrong] == []
    assert 4 < sum(again for again, _ in found) < 22


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 5000, 200))
def test_more_random_nests(start):
    assert [wrong for _, wrong in map(disagreement, range(start, start + 200)) if wrong] == []


@pytest.mark.parametrize("fault", ["passed", "differ", "order"])
def test_a_mistake_is_found(fault, monkeypatch):
    if fault == "passed":
        right = unchanged._find_reach
        monkeypatch.setattr(unchanged, "_find_reach", lambda *args: None if right(*args) is None else right(*args) - 1)
    elif fault == "differ":
        monkeypatch.setattr(unchanged, "_differ", lambda *args: True)
    else:
        monkeypatch.setattr(unchanged, "precedes", lambda *args: True)
    assert any(disagreement(seed)[1] for seed in range(120))
