"""Densities of vectors inside njit: what they tell of arguments that are not theirs."""

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from contad import stan

SHARES, ALPHA = np.array([0.2, 0.3, 0.5]), np.array([1.3, 0.8, 2.4])


@njit
def dirichlet(theta, alpha):
    return stan.dirichlet_lpdf(theta, alpha)


def test_arguments_outside_of_their_domains_are_told():
    with pytest.raises(ValueError, match="dirichlet_lpdf: alpha must be positive"):
        dirichlet(SHARES, -ALPHA)


def test_other_axes_are_refused_with_those_that_there_are():
    with pytest.raises(TypingError, match="dirichlet_lpdf: inside njit .*theta of 1, alpha of 1"):
        dirichlet(SHARES, 1.0)
