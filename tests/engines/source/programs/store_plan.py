"""Numbers that a loop carries without a derivative, which are computed again: powers, and places in a triangle."""

import numpy as np

from tests.engines.source.programs.harness import ARGUMENTS, Table, programs

CARRIED = programs("""
    # polynomials
    total = 0.0
    for i in range(t.size):
        value, power, place, step = 0.0, 1.0, 0, 1
        for j in range(x.size):
            power, before = 0.5 * power * t[i] + 0.1, power
            for k in range(j):
                value += x[j] * x[k] * t[(place + k) % t.size]
            value += x[j] * (power - before)
            place += j + step
            step = 3 - step
        total += value * value * math.sin(value)
    return total
    # powers
    total = 0.0
    for i in range(t.size):
        value, power = 0.0, 1.0
        for j in range(x.size):
            value += x[j] * power
            power *= t[i]
        total += value * value
    return total
""")
CARRIED_NUMBERS = Table(
    "carried numbers", CARRIED, by_records=True, compiled=("polynomials",), shows={"powers": ("!work",)}, head="x, t",
    arguments=(ARGUMENTS[0], np.array([0.5, 1.5, -0.7])), argnums=(0,),
)  # fmt: skip
