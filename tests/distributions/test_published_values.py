"""Stan's functions give the values that Stan's own tests publish, to the digits published."""

from decimal import Decimal

import numpy as np
import pytest

import contad
from contad import stan
from contad.stan import densities
from tests.distributions.published_values import PASSAGES, PUBLISHED


def unit(text):
    """Of the last digit of a number."""
    return float(Decimal(1).scaleb(Decimal(text).as_tuple().exponent))


def disagreements(rows):
    """(the name, the value found, that published) where they differ by more than one of the last digit."""
    wrong = []
    for name, args, published in rows:
        exact = float(published)
        found = getattr(stan, name)(*args)
        bound = unit(published) if isinstance(published, str) else 1e-13 * max(1.0, abs(exact))
        if not abs(found - exact) <= bound:
            wrong.append((name, found, published))
    return wrong


def test_values():
    assert {path: wrong for path, rows in PUBLISHED.items() if (wrong := disagreements(rows))} == {}


def test_a_wrong_last_digit_is_found():
    assert disagreements([("normal_cdf", (1.0, 0.0, 1.0), "0.841346")])
    assert disagreements([("normal_cdf", (1.0, 0.0, 1.0), "0.841345")]) == []


def test_every_density_of_numbers_is_there():
    shown = {name for rows in PUBLISHED.values() for name, *_ in rows}
    assert {name for name, face in vars(densities).items() if isinstance(face, densities.Face)} <= shown


def integrates(name, args):
    """Whether the start or the delay varies: in distribution functions half a million densities."""
    return name != "wiener_lpdf" and any(args[6:])


@pytest.mark.parametrize("long", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", PASSAGES)
def test_passages(name, long):
    """Values and gradients of Wiener's distribution, which Stan takes from R, to 1e-6 and 1e-4 as there."""
    f = getattr(stan, name)
    for args, value, gradient in PASSAGES[name]:
        if integrates(name, args) == long:
            active = tuple(k for k, slope in enumerate(gradient) if slope != 0.0)
            assert f(*args) == pytest.approx(value, abs=1e-6, rel=0.0)
            found = contad.grad(f, active)(*args)
            np.testing.assert_allclose(found, [gradient[k] for k in active], rtol=0.0, atol=1e-4)
