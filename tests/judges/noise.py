"""How far gradients are from each other when each operation errs by one ulp."""

import contad
from contad.functions.python_copy import python_twin
from tests.judges.array_agreement import NoisyStack
from tests.judges.comparison import NOISE_RUNS
from tests.judges.planted import engines


def noisy_gradients(function, args, argnums):
    """Gradients by the Python copy, with one ulp of noise on every operation."""
    with engines(noisy=NoisyStack):
        gradient = contad.grad(python_twin(function), argnums, engine="noisy")
        for seed in range(NOISE_RUNS):
            NoisyStack.random.seed(seed)
            yield gradient(*args)
