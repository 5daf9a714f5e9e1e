"""Loops over typed lists and dicts that are arguments: they carry no derivative, and are generated as other loops."""

import numpy as np
from numba.typed import Dict, List

from tests.engines.source.programs.harness import Table, programs

OVER_NUMBERS = programs("""
# over a list
total = 0.0
for k in numbers:
    if k == 1:
        continue
    total += x[k] ** 2 * (k + 1)
total *= x[1]
return total
# over pairs
total = 0.0
for i, k in enumerate(numbers):
    total += (i + 1) * x[k] ** 2
for k, a in zip(numbers, x):
    total += k * a * x[1]
for i, (k, a) in enumerate(zip(numbers, x), 2):
    total += i * k * a
return total
""")
OVER_ARRAYS = programs("""
# over arrays
total = 0.0
for a in list:
    for b in list:
        total += np.sum(a * b * x) ** 2
return total
""")
OVER_A_DICT = programs("""
# over a dict
total = 0.0
for k in rates:
    total += rates[k] * x[k % 3] ** 2
for k, rate in rates.items():
    total += k * rate * x[0] * x[1]
for rate in rates.values():
    total *= rate
return total
""")
X = np.array([0.3, 1.2, 0.7])


def make_rates():
    rates = Dict()
    rates[1], rates[5] = 2.0, 3.0
    return rates


# what makes a container compiles
TYPED_CONTAINERS = [
    Table("typed lists", OVER_NUMBERS, head="x, numbers", arguments=lambda: [X, List([2, 0, 1])], argnums=(0,)),
    Table(
        "lists of arrays", OVER_ARRAYS, head="x, list",  # the name of a function that the loop is made with
        arguments=lambda: [X, List([np.array([1.0, 2.0, 3.0]), np.array([0.0, -2.0, 1.0])])], argnums=(0,),
    ),
    Table("typed dicts", OVER_A_DICT, head="x, rates", arguments=lambda: [X, make_rates()], argnums=(0,)),
]  # fmt: skip
