"""Banded systems: a matrix is factorised once for the value and the sweep, and for further orders."""

import numpy as np
import pytest
import scipy.linalg

import contad
from contad.ops import factors
from contad.scipy import linalg
from tests.judges.steps_in_python import leave_steps_to_python

TWO = np.array([[3.0, 4.0, 5.0, 6.0], [0.4, -0.5, 0.7, 9.0]])  # the halves of bands, with what is not read
THREE = np.array([[9.0, 9.0, 0.3, 0.2], [9.0, 0.4, -0.5, 0.7], [3.0, 4.0, 5.0, 6.0]])
BAND = np.array([[0.0, 0.6, -0.8, 0.3], [2.3, 3.1, 2.7, 1.9], [0.4, -0.5, 0.7, 0.0]])
RIGHT = np.array([0.6, 1.7, -0.2, 0.9])


@pytest.fixture
def factorised(monkeypatch):
    leave_steps_to_python(monkeypatch)  # what is counted are factors in Python
    made = []

    def count(name):
        initialise = getattr(factors, name).__init__

        def counting(self, *args):
            made.append(name)
            initialise(self, *args)

        monkeypatch.setattr(getattr(factors, name), "__init__", counting)

    count("PositiveBandFactor")
    count("BandedFactor")
    for name in ("solve_banded", "solveh_banded"):
        monkeypatch.setattr(scipy.linalg, name, lambda *args, name=name, **options: made.append(name))
    return made


@pytest.mark.parametrize(("factor", "solve", "band", "in_second_order"), [
    ("PositiveBandFactor", lambda ab, b: linalg.solveh_banded(ab, b, lower=True), TWO, 1),
    ("PositiveBandFactor", lambda ab, b: linalg.solveh_banded(ab, b), THREE, 1),
    ("BandedFactor", lambda ab, b: linalg.solve_banded((1, 1), ab, b), BAND, 2),  # the transposed matrix, too
])  # fmt: skip
@pytest.mark.parametrize("right", [RIGHT, np.stack([RIGHT, RIGHT**2], axis=1)])
def test_a_band_is_factorised_once(factorised, factor, solve, band, in_second_order, right):
    f = lambda ab, b: np.sum(solve(ab, b) ** 2)
    contad.grad(f, (0, 1))(band, right)
    assert factorised == [factor]
    contad.hessian(f)(band, right)
    assert factorised == [factor] * (1 + in_second_order)


@pytest.mark.parametrize("band", [TWO, THREE])
def test_the_factor_gives_what_scipy_gives(band):
    lower = band is TWO
    for b in (RIGHT, np.stack([RIGHT, RIGHT**2], axis=1)):
        expected = scipy.linalg.solveh_banded(band, b, lower=lower)
        found = contad.value_and_grad(lambda ab, b=b: np.sum(linalg.solveh_banded(ab, b, lower=lower)))(band)[0]
        assert found == np.sum(expected)
    with pytest.raises(np.linalg.LinAlgError, match="3th leading minor not positive definite"):
        contad.grad(lambda ab: np.sum(linalg.solveh_banded(ab, RIGHT, lower=lower)))(band * [1.0, 1.0, -1.0, 1.0])
