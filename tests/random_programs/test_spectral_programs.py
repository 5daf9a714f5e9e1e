"""Derivatives of spectra are right or nan, in random programs."""

import pytest

from contad.ops import close_singular_values, close_values, kinks, spectra
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
    assert spectral_programs.mismatch(56) and spectral_programs.mismatch(108)


@pytest.mark.filterwarnings("ignore")
def test_vectors_of_equal_values_that_are_chosen_are_noticed(monkeypatch):
    monkeypatch.setattr(close_values, "are_uneven", lambda w, d, d_dot: False)
    assert spectral_programs.mismatch(9) and spectral_programs.mismatch(77)


@pytest.mark.filterwarnings("ignore")
def test_equal_singular_values_that_part_in_rising_order_are_noticed(monkeypatch):
    part_equal = close_values.part_equal
    for place in (spectra, close_singular_values):
        monkeypatch.setattr(place, "part_equal", lambda w, c, order: part_equal(w, c, 1.0))
    assert spectral_programs.mismatch(24) and spectral_programs.mismatch(148)
