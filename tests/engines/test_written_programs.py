"""The written Numba programs by the engine `generated`, against gradients by hand; the spread of noise is printed."""

import numpy as np
import pytest

import contad
from benchmarks import loops, loops_by_hand
from tests.judges.comparison import RELATIVE
from tests.judges.noise import noisy_gradients
from tests.judges.samples import sampled

PROBLEMS = loops.problems(0.01)


def flat(gradient):
    return np.concatenate([np.ravel(g) for g in gradient])


@pytest.mark.parametrize("name", sampled(PROBLEMS, 5))
def test_gradients_agree_with_those_by_hand(name, report):
    function, args, argnums = PROBLEMS[name]
    value, gradient = contad.value_and_grad(function, argnums, engine="generated")(*args)
    value_by_hand, by_hand = getattr(loops_by_hand, name)(*args)
    assert value == pytest.approx(value_by_hand, rel=1e-13)
    size = np.max(np.abs(flat(by_hand)))
    difference = np.max(np.abs(flat(gradient) - flat(by_hand))) / size
    noisy = noisy_gradients(function, args, argnums)
    spread = max(np.max(np.abs(flat(other) - flat(by_hand))) for other in noisy) / size
    report(f"{name} by hand", f"difference {difference:.1e}, spread {spread:.1e}, relative to the largest entry")
    assert size > 0.0 and 0.0 < spread <= 1e-9
    assert difference <= max(RELATIVE, 10 * spread)
