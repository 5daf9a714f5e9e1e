"""Derivatives of programs with complex numbers are right, in random programs; and faults planted for them to find."""

import pytest

from contad.engines.source.ir.entries import Complex
from contad.engines.source.reading.complex_numbers import ZERO, ComplexNumbers
from tests.judges.samples import shortened
from tests.random_programs import complex_loops

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("start", range(0, 120, 30))
def test_derivatives_of_complex_programs_are_right(start):
    assert not [text for seed in range(start, start + 30) if (text := complex_loops.mismatch(seed))]


@pytest.mark.long
@pytest.mark.parametrize("start", range(120, 1200, 40))
def test_so_are_those_of_many(start):
    assert not [text for seed in range(start, start + 40) if (text := complex_loops.mismatch(seed))]


@pytest.mark.parametrize("count", shortened(3, 40))
def test_so_are_compiled_ones(count):
    assert not [text for seed in range(count) if (text := complex_loops.mismatch(seed, "generated"))]


EAGER = ["matrix", "records", "closures", "forward", "recorded"]


@pytest.mark.parametrize("way", EAGER)
def test_eager_engines_are_right(way):
    assert not [text for seed in range(300, 310) if (text := complex_loops.mismatch(seed, way))]


@pytest.mark.long
@pytest.mark.parametrize("start", range(320, 1120, 50))
@pytest.mark.parametrize("way", EAGER)
def test_so_are_they_in_many_programs(way, start):
    assert not [text for seed in range(start, start + 50) if (text := complex_loops.mismatch(seed, way))]


@pytest.mark.parametrize("count", shortened(2, 40))
def test_the_tape_is_right(count):
    assert not [text for seed in range(count) if (text := complex_loops.mismatch(seed, "tape"))]


def _without_cross(self, x, y):
    return Complex(self.minus(self.times(x.real, y.real), self.times(x.imag, y.imag)), self.times(x.real, y.imag))


def _one_part(self, array, at, number):
    self.arrays.put(array.real, at, number.real)


def _later(self, array, entry, node):
    """Each part as soon as it is computed, though the other one reads it."""
    x = entry if isinstance(entry, Complex) else Complex(self.builder.as_float(entry), ZERO)
    for part, of in zip(array, x, strict=True):
        self.arrays.fill(part, of, node)


PLANTED = {  # a method of ComplexNumbers, and a fault in it
    "a product lacks a term": ("multiply", _without_cross),
    "a write forgets the imaginary part": ("put", _one_part),
    "a write of whole arrays reads what it has written": ("fill", _later),
    "a conjugate is none": ("conjugate", lambda self, x: x),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_faults_are_found(fault, monkeypatch):
    name, wrong = PLANTED[fault]
    monkeypatch.setattr(ComplexNumbers, name, wrong)
    assert any(complex_loops.mismatch(seed) for seed in range(60))
