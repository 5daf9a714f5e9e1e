import math

import numpy as np

from contad.ops.exponential import exp
from contad.ops.gamma_functions import polygamma_difference
from tests.judges.remembered_values import remember, remembered_values


def test_values_are_computed_once():
    """What is equal to another argument and not the same is another one."""
    seen = []

    def function(*args):
        seen.append(args)
        return math.copysign(1.0, args[0])

    remembered = remember(function)
    for x, z in [(0.0, 1.0), (-0.0, -1.0), (2, 1.0), (2.0, 1.0), (np.float64(2.0), 1.0)]:
        assert [remembered(x), remembered(x)] == [z, z]
    assert len(seen) == 5
    assert remembered(2.0, 1.0) == 1.0


def test_rules_are_as_they_were():
    before = polygamma_difference.function, exp.function, polygamma_difference(1.0, 2.0, 3.0)
    with remembered_values():
        assert polygamma_difference.function is not before[0]
        assert polygamma_difference.function.__wrapped__ is before[0]
        assert polygamma_difference(1.0, 2.0, 3.0) == before[2]
    assert (polygamma_difference.function, exp.function) == before[:2]
