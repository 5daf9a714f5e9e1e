"""What is reversed in one branch has no part in the other one."""

import math

import numpy as np
from numba import njit

from tests.engines.source.agreement import agree, flat


def test_an_infinite_partial_of_the_other_branch_has_no_part():
    @njit
    def root(x, limit):
        total = 0.0
        for i in range(x.size):
            r = math.sqrt(x[i])
            total += r if x[i] > limit else x[i]
        return total

    assert flat(agree(root, np.array([0.0, 1.0, 4.0]), 0.5)).tolist() == [1.0, 0.5, 0.25]
