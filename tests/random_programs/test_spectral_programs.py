"""Derivatives of spectra are right or nan, in random programs."""

import pytest

from contad.ops import spectra
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
    assert sum(map(spectral_programs.exact, range(20))) >= 5


@pytest.mark.filterwarnings("ignore")
def test_tangents_that_are_not_guarded_are_noticed(monkeypatch):
    monkeypatch.setattr(spectra, "once_or_nan", lambda rates, x, w, z: rates)
    assert spectral_programs.mismatch(13) and spectral_programs.mismatch(46)
