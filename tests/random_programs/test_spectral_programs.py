"""Derivatives of spectra are right or nan, in random programs."""

import pytest

from contad.ops import kinks, spectra
from tests.judges.samples import shortened
from tests.random_programs import spectral_programs


@pytest.mark.parametrize("count", shortened(40, 1000))
@pytest.mark.filterwarnings("ignore")
def test_derivatives_of_spectra_are_right_or_nan(count):
    assert not [text for seed in range(count) if (text := spectral_programs.mismatch(seed))]


@pytest.mark.parametrize("count", shortened(2, 60))
@pytest.mark.filterwarnings("ignore")
def test_so_are_those_of_numba_functions(count):
    assert not [text for seed in range(1, 1 + count) if (text := spectral_programs.mismatch(seed, compiled=True))]


@pytest.mark.filterwarnings("ignore")
def test_some_are_not_nan():
    assert sum(map(spectral_programs.exact, range(30))) >= 5


@pytest.mark.filterwarnings("ignore")
def test_tangents_that_are_not_guarded_are_noticed(monkeypatch):
    monkeypatch.setattr(spectra, "once_or_nan", lambda rates, x, w, z: rates)
    assert spectral_programs.mismatch(22)


@pytest.mark.filterwarnings("ignore")
def test_singular_values_of_zero_that_move_by_any_basis_are_noticed(monkeypatch):
    monkeypatch.setattr(kinks, "move_zeros", lambda z_dot, z, a_dot: z_dot)
    assert spectral_programs.mismatch(25) and spectral_programs.mismatch(221)
