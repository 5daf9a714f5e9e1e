"""What only inner loops change is computed before the outer loop; what need not run, or may change, stays."""

import numpy as np

from tests.engines.source.programs.harness import Table, programs

EXPANDED = programs("""
    # a function of what two inner loops read
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(a.shape[0]):
            for k in range(a.shape[1]):
                total += (math.exp(a[j, k]) * x[i, k] - j) ** 2
    return total
    # of two inner loops one makes a difference; one function is a part of another
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(1, 3):
            for k in range(1, a.shape[1] - 1):
                part = math.sin(a[0, k])
                total += part * x[i, j] + math.log(2.0 + part) * x[i, k]
    return total
    # nothing is read but the index
    total = 0.0
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            total += math.cos(0.3 * k) * x[i, k] * a[0, k]
    return total
    # what the outermost loop changes is computed inside of it
    total = 0.0
    for j in range(a.shape[0]):
        for i in range(x.shape[0]):
            for k in range(a.shape[1]):
                total += math.exp(a[j, k]) * x[i, k]
    return total
    # an inner loop that makes no difference, and may not run
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(a.shape[1]):
                total += math.exp(a[0, k]) * x[i, j]
    return total
    # an infinite partial that nothing reads
    total = 0.0
    for i in range(x.shape[0]):
        for k in range(a.shape[1]):
            y = math.sqrt(math.exp(a[0, k] * 0.0) - 1.0)
            total += (0.0 if x[i, k] > -99.0 else y) + x[i, k] * a[0, k]
    return total
""")
STAYING = programs("""
    # that changes
    total = 0.0
    y = a[0].copy()
    for i in range(x.shape[0]):
        for k in range(y.size):
            total += math.exp(y[k]) * x[i, k]
            y[k] *= 0.5
    return total
    # that stops
    total = 0.0
    for i in range(x.shape[0]):
        for k in range(a.shape[1]):
            if x[i, k] > 1.0:
                break
            total += math.exp(a[0, k]) * x[i, k]
    return total
    # of condition
    total = 0.0
    for i in range(x.shape[0]):
        for k in range(a.shape[1]):
            if x[i, k] > 0.0:
                total += math.exp(a[0, k]) * x[i, k]
    return total
    # the error says that an element is not there
    total = 0.0
    for i in range(x.shape[0]):
        if a.shape[1] < x.shape[1]:
            raise ValueError("a is too short")
        for k in range(x.shape[1]):
            total += math.exp(a[0, k]) * x[i, k]
    return total
    # the number of iterations is that of another loop
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            for k in range(j):
                total += math.exp(a[0, k]) * x[i, j]
    return total
    # a sum, which is cheap
    total = 0.0
    for i in range(x.shape[0]):
        for k in range(a.shape[1]):
            total += (a[0, k] + 3.0) * x[i, k]
    return total
""")
BEFORE = r"\A(?:(?!for i in )[\s\S])*math\.(exp|log|cos)\("  # a call before the loop
RNG = np.random.default_rng(5)
SCALAR_EXPANSION = Table(
    "scalar expansion", EXPANDED,
    shows=dict.fromkeys(EXPANDED, (BEFORE,)),
    head="a, x", arguments=(RNG.normal(size=(2, 4)), RNG.normal(size=(3, 4))),
    # where the outer loop does not run, no element is read: there may be none
    elsewhere=[(np.ones(shape), np.ones((0, 4))) for shape in ((0, 4), (2, 0), (0, 0))],
)  # fmt: skip
NO_SCALAR_EXPANSION = SCALAR_EXPANSION._replace(
    name="no scalar expansion", takes=STAYING, elsewhere=(),
    shows=dict.fromkeys(STAYING, (f"!{BEFORE}",)) | {"a sum, which is cheap": (r"!\A(?:(?!for i in )[\s\S])*\+ 3\.0",)},
)  # fmt: skip
