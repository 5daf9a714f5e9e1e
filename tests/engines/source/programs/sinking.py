"""What hands on to one branch alone, which is reversed in that branch, and choices of which one is used."""

from contad.engines.source.ir.ssa import If
from contad.engines.source.ir.syntax import expression
from contad.engines.source.planning import sinking
from contad.engines.source.writing import reverse_sweep
from tests.engines.source.programs.harness import Table, programs

SUNK = programs("""
    # a force that the last iteration computes in vain
    y, v = x[0], x[1]
    while True:
        force = math.exp(-y) / (1.0 + v * v)
        if y < -1.0:
            return y * v
        y, v = y + a * v, v - a * (2.0 - force)
    # one branch reads what comes before it; the other one and what follows read other numbers
    total = 0.0
    for i in range(x.size):
        s = math.sin(x[i] * a)
        grown = math.exp(s)
        u = s * x[i]
        if x[i] > 0.0:
            for j in range(2):
                total += grown * grown * (j + x[i])
        else:
            total += u
        total *= 1.0 + 0.1 * x[i]
    return total
    # what both branches read, or something behind them, stays
    total = 0.0
    for i in range(x.size):
        grown = math.exp(x[i] * a)
        turned = math.cos(x[i])
        total += grown if x[i] > 0.0 else 2.0 * grown
        total += turned * turned if x[i] > 0.5 else x[i]
        total += turned
    return total
    # the cheapest way through a table
    n = x.size
    cost = np.zeros((n, n))
    cost[0] = x
    for i in range(1, n):
        for j in range(n):
            least = cost[i - 1, j]
            if j > 0 and cost[i - 1, j - 1] + a < least:
                least = cost[i - 1, j - 1] + a * x[j]
            cost[i, j] = x[(i * j) % n] + least * 1.5
    return np.min(cost[n - 1])
""")
FORCE, ONE_BRANCH, _, CHEAPEST = SUNK


def first_branch(x, value, block, find=sinking._find_branch):
    """A branch for everything: the first one where there are several that read it."""
    return find(x, value, block) or next((b for o in block.operations if isinstance(o, If) for b in o.blocks), None)


SUNK_ADJOINTS = Table(
    "sinking", SUNK, by_records=True, compiled=SUNK,
    shows={FORCE: ("!force_bar = 0.0", "^            +force_bar = "), CHEAPEST: ("if least_2_bar != 0.0:",),
           ONE_BRANCH: ("!grown_bar = 0.0", "^            +grown_bar = ")},
    faults={"what both branches read sinks": (sinking, "_find_branch", first_branch),
            "no choice is asked for": (reverse_sweep, "either", lambda tests: expression("False"))},
)  # fmt: skip
