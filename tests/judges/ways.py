"""Functions of an array of three numbers, differentiated in every way and compared with differences."""

import numpy as np
import pytest

import contad
from contad.engines import engine_names

POINT = np.array([0.3, 0.7, -1.1])
WAYS = (*engine_names(), "forward")


def differentiate(f, x, way):
    """Value and gradient of f."""
    if way == "forward":
        value, gradient = contad.jvp(f, (x,), (np.eye(3),), several=True)
        return value, gradient
    return contad.value_and_grad(f, engine=way)(x)


def differences(f, x, h=1e-6):
    """The gradient of a function of floats."""
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


def agree(f, way, x=POINT):
    """f has the value that NumPy gives it, and the gradient of differences."""
    value, gradient = differentiate(f, x, way)
    assert value == pytest.approx(f(x), rel=1e-14)
    assert gradient == pytest.approx(differences(f, x), rel=1e-7, abs=1e-8)
