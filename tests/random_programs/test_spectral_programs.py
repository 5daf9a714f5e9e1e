"""Derivatives of spectra are right or nan, in random programs."""

import pytest

from contad.ops import close_singular_values, close_values, kinks, singular_spectra, spectra
from tests.judges.samples import shortened
from tests.random_programs import spectral_programs

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("count", shortened(40, 1000))
def test_derivatives_of_spectra_are_right_or_nan(count):
    assert not [text for seed in range(count) if (text := spectral_programs.mismatch(seed))]


@pytest.mark.parametrize("count", shortened(2, 60))
def test_so_are_those_of_numba_functions(count):
    assert not [text for seed in range(1, 1 + count) if (text := spectral_programs.mismatch(seed, compiled=True))]


def test_some_are_not_nan():
    assert sum(map(spectral_programs.exact, range(30))) >= 5


part_equal = close_values.part_equal
PLANTED = {  # places, name, fault, seeds of programs that notice it
    "tangents without a guard": ((spectra, singular_spectra), "once_or_nan", lambda rates, x, w, z: rates, (22,)),
    "zero singular values move by any basis": ((kinks,), "move_zeros", lambda z_dot, z, a_dot: z_dot, (56, 108)),
    "vectors of equal values are chosen": ((close_values,), "are_uneven", lambda w, d, d_dot: False, (9, 77)),
    "equal singular values part in rising order": (
        (spectra, close_singular_values), "part_equal", lambda w, c, order: part_equal(w, c, 1.0), (24, 148)),
}  # fmt: skip


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_noticed(fault, monkeypatch):
    places, name, planted, seeds = PLANTED[fault]
    for place in places:
        monkeypatch.setattr(place, name, planted)
    assert all(map(spectral_programs.mismatch, seeds))
