"""Second derivatives at kinks are right or nan, in random programs."""

import pytest

from contad.ops import hypot
from contad.ops.norms import euclidean_norm
from contad.rules.scalar_rule import ScalarRule
from tests.judges.samples import shortened
from tests.random_programs import kink_programs


@pytest.mark.parametrize("count", shortened(25, 1000))
def test_second_derivatives_are_right_or_nan(count):
    assert not [text for seed in range(count) if (text := kink_programs.mismatch(seed))]


@pytest.mark.parametrize("count", shortened(2, 60))
def test_so_are_those_of_numba_functions(count):
    assert not [text for seed in range(1, 1 + count) if (text := kink_programs.mismatch(seed, compiled=True))]


def test_some_are_not_nan():
    assert sum(map(kink_programs.exact, range(10, 20))) >= 3


def test_a_rule_without_a_twin_is_noticed(monkeypatch):
    monkeypatch.setattr(euclidean_norm, "twin", None)
    monkeypatch.setattr(hypot, "is_at_kink", lambda args: False)
    assert kink_programs.mismatch(1) and kink_programs.mismatch(21)


def test_a_pole_is_noticed(monkeypatch):
    monkeypatch.setattr(ScalarRule, "find_pole_twin", lambda rule, args: None)
    assert kink_programs.mismatch(2) and kink_programs.mismatch(8)
