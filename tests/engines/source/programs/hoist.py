"""What a loop computes anew although it cannot change: densities, reads, lengths of slices."""

import numpy as np

import contad.stan
from contad.engines.source.analysis import hoist
from tests.engines.source.programs.harness import Table, programs

# slices of rows: their lengths are clipped, or constant where the array's is
HOISTED = programs("""
    # the density is one for all elements, the sine is another one for each
    total = 0.0
    for i in range(x.size):
        total += x[i] * contad.stan.normal_lpdf(a, 0.5, 2.0) * math.sin(x[i])
    return total * total
    # slices
    total = 0.0
    made = np.zeros(7)
    made[:5] = x[:5]
    for i in range(3):
        row = np.empty(4)
        row[1:3] = a * x[i]
        part = x[1:4] * a
        total += np.sum(part * part) + row[1] * row[2] + np.sum(made[i:])
    return total + np.sum(made[2:9] * 2.0)
    # slices of known lengths
    made = np.zeros((4, 4))
    made[:3, :3] = np.eye(3) * a
    return np.sum(made[:2] * x[0])
    # an element that changes
    made = x.copy()
    for i in range(1, x.size):
        made[0] = made[0] * x[i] + a
    return made[0]
    # a function that some iterations need
    total = 0.0
    for i in range(x.size):
        if x[i] > 0.5:
            total += x[i] * math.exp(a)
        else:
            total += math.cos(x[i])
    return total
""")
DENSITY, SLICES, KNOWN_LENGTHS, _, IN_BRANCH = HOISTED
HOISTED_READS = Table(
    "hoisted", HOISTED, by_records=True, compiled=(DENSITY, SLICES), known={"contad": contad},
    shows={DENSITY: (r"^    \w+ = value_normal_log_density", r"^        .*math.sin"),
           IN_BRANCH: (r"^    \w+ = math.exp", r"^            .*math.cos"),
           KNOWN_LENGTHS: ("!EngineLimitError", r"range\(3\)")},
    faults={"what is written changes": (hoist, "find_written_roots", lambda _: set())},
)  # fmt: skip
CLIPPED = """
total = 0.0
for i in range(2):
    total += np.sum(x[:4] * y[i]) + np.sum(x[3:9]) ** 2 + x[2:3].size * y[0] + x[7:].size
return total
"""
Y = np.array([0.3, -1.2, 0.7, 1.9, -0.4])
CLIPPED_SLICES = Table(
    "clipped slices", {"of arrays of any length": CLIPPED}, by_records=True, head="x, y",
    arguments=(np.arange(1.0, 6.0), Y), elsewhere=[(np.arange(1.0, n), Y) for n in (2, 3, 4, 5)],
)  # fmt: skip
