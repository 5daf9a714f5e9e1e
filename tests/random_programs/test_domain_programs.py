"""Densities at the edges of their domains do what Stan does, on every engine, in random programs."""

import pytest

from contad.distributions import faces
from tests.judges.samples import shortened
from tests.random_programs import domain_programs


@pytest.mark.parametrize("count", shortened(40, 2000))
def test_engines_do_what_stan_does(count):
    assert not [text for seed in range(count) if (text := domain_programs.mismatch(seed))]


@pytest.mark.parametrize("count", shortened(2, 60))
def test_numba_functions_do_what_stan_does(count):
    assert not [text for seed in range(1, 1 + count) if (text := domain_programs.mismatch(seed, compiled=True))]


def test_a_domain_that_is_not_looked_at_is_noticed(monkeypatch):
    monkeypatch.setattr(faces, "check_domain", lambda *args: None)
    assert any(domain_programs.mismatch(seed) for seed in range(15))
