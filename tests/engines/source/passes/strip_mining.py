"""Loops that are split into strips, so that elementary functions run in vector registers: of one loop, or of a nest."""

import re
import textwrap

import numpy as np

from contad.engines.source.ir.ssa import FLOAT, Kind
from contad.engines.source.passes import collapsing, compaction, dependence, fission, strip_mining
from tests.engines.source.passes.harness import Table, programs
from tests.engines.source.passes.random_nests import ARRAYS, FLOATS

VECTOR = Kind("float", 1)
KNOWN = (
    (FLOAT, (*FLOATS, "before", "largest", "low", "high")), (VECTOR, (*ARRAYS, "u", "z")),
    (VECTOR, ("either",), frozenset("zx")),
)  # fmt: skip
ROWS = programs("""
    # an inner loop before the function
    for i in range(n):
        t = 0.0
        for j in range(m):
            t += w[j] * x[i]
        s += a[i] * t - math.log1p(math.exp(t))
    # a sum of functions
    for k in range(len(x)):
        s += math.exp(x[k] - c)
    # a recurrence, whose states then go through functions
    for i in range(n):
        t = c * t + x[i]
        s += math.exp(-t) * math.sin(t) + math.tanh(0.5 * t)
    # backwards
    for k in range(n - 1, -1, -1):
        s = s * c + math.cos(x[k])
    # divided
    for k in range(n):
        s += math.erf(x[k]) / (1.5 + x[k] * x[k])
    # in a branch
    for k in range(n):
        e = math.exp(c * x[k])
        if x[k] > 0.1:
            s += e * math.log(1.5 + x[k])
        else:
            s -= e
    # a function whose argument is no more known than its own value
    for k in range(n):
        s = math.exp(c * x[k]) - math.log(2.0 + s * s)
    # categories, each with functions of its own
    for i in range(n):
        if p == i:
            s += value_log_expit(c - x[i])
        elif i == 2:
            s += value_log_expit(x[i] - c)
        else:
            low = c - x[i]
            high = low + 0.7
            s += value_log1m_exp(low - high) + value_log_expit(-low) + value_log_expit(high)
    # a branch in a branch, and functions that have no value where their branch is not taken
    for k in range(n):
        if x[k] > 0.0:
            s += math.log(x[k]) / c
            if x[k] > 0.5:
                s += math.log(x[k] - 0.5) * math.exp(-c * x[k])
        else:
            s -= math.log1p(c * c - x[k])
    # an argument that both branches make
    for k in range(n):
        if x[k] > 0.1:
            d = c * x[k]
            s += math.exp(d)
        else:
            d = 0.5 * x[k]
            s += math.sin(d) + math.cos(d)
    # functions of contad
    for k in range(n):
        s += value_log1p_exp(x[k]) * value_expit(-x[k])
    # what a branch computes, as it was when the branch was last taken
    for k in range(n):
        if x[k] < 0.4:
            s += c * t * x[k]
        if x[k] > 0.1:
            t = x[k] * c
            s += math.exp(-t) + math.sin(t)
        else:
            s += math.exp(x[k])
    # a loop in a loop, both of which are split
    for i in range(n):
        h = math.sin(x[i])
        for j in range(m):
            s += math.exp(h * w[j])
    # functions and elements of values of functions that have no names
    for k in range(n):
        s += math.exp(0.3 * math.tanh(0.5 * k)) * c + x[k]
        s += math.sin(x[int(0.9 * math.exp(-0.1 * k))] * c)
    # a sum that is read in between
    for k in range(n):
        s += math.exp(-x[k]) * (1.0 + c * x[k])
        t += c * s * x[k]
    # terms of a sum in their order
    for k in range(n):
        s += math.exp(-x[k]) * (1.0 + c * x[k]) * (1.0 - c * x[k])
        s += c * x[k] * x[k] * x[k]
    # neighbours
    for i in range(1, n):
        s -= math.exp(-x[i])
        d = x[i] - c * x[i - 1]
        s -= d * d
    # the length of the inner loop grows with that of the outer one
    for i in range(n):
        for j in range(i):
            s += x[i] * x[j] * math.exp(-((x[i] - x[j]) ** 2))
    # two tests
    for k in range(n):
        test = x[k] * c > 0.1
        if test:
            s += math.exp(c * x[k])
        else:
            s += math.sin(c * x[k])
        test_2 = x[k] < 0.3
        if test_2:
            s += math.cos(c * x[k])
        else:
            s += math.tanh(c * x[k])
""")
WHOLE = programs("""
    # a recurrence through the function
    for k in range(n):
        s = math.tanh(0.5 * s + x[k])
    # a loop that reads what it writes
    z = np.zeros(n + 1)
    for k in range(n):
        z[k + 1] = 0.3 * math.sin(z[k]) + x[k]
    s = z[-1]
    # a loop that is left
    for k in range(n):
        if x[k] > 0.5:
            break
        s += math.exp(x[k])
    # the test of an index
    for k in range(n + 1):
        if k >= len(x):
            raise IndexError("too far")
        s += math.exp(x[k])
    # a branch that few iterations may take
    for k in range(n):
        if x[k] > 0.6:
            s += math.exp(x[k])
    # a number that another branch made in an earlier iteration
    for k in range(n):
        test = x[k] > c
        if test:
            s = 0.5 * s + x[k]
        else:
            t += math.cos(c * x[k] - s)
    # what may be the array that is written
    z = np.zeros(n + 1)
    either = z if n > 2 else x
    for k in range(n):
        z[k + 1] = 0.3 * math.sin(either[k]) + x[k]
    s = z[-1]
    # a test that has another answer the second time
    for k in range(n):
        test = x[k] * c > 0.1
        if test:
            s += math.exp(c * x[k])
        else:
            s += math.sin(c * x[k])
        test = x[k] < 0.3
        if test:
            s += math.cos(c * x[k])
        else:
            s += math.tanh(c * x[k])
    # no function
    for k in range(n):
        s += x[k] * x[k]
""")


def inside_a_loop(text):
    return {name: "for i in range(n):\n" + textwrap.indent(body, "    ") for name, body in programs(text).items()}


NO_NESTS = inside_a_loop("""
    # an array of inner indices that the rest writes
    for k in range(m):
        s += math.exp(a[k] * x[i])
    a[0] = 0.1 * s
    # an array that another inner loop writes
    for k in range(m):
        s += math.exp(a[k] * x[i])
    for k_2 in range(m):
        a[k_2] = 0.5 * a[k_2] + 0.1
    # what the first part leaves behind
    for k in range(m):
        d = x[i] / w[k]
        s += math.exp(d)
    s += d
    # a number between functions that the outer loop makes
    c = x[i] * s
    for k in range(m):
        t = math.exp(x[i] * w[k])
        s += math.exp(-t * c)
    # the outer index between functions
    for k in range(m):
        t = math.exp(x[i] * w[k])
        s += math.exp(-t * i)
    # a number of the iteration before
    for k in range(m):
        s += math.exp(c * w[k])
    c = x[i]
    # a number that is written over again
    e = 0.5
    if x[i] > 0.0:
        c = 0.1
        e = x[i]
    else:
        c = 0.3
        e = 0.2
    for k in range(m):
        s += math.exp(c * w[k])
    s += e
    # a number that is sometimes made
    e = 0.5
    if x[i] > 0.0:
        c = 0.1
        e = x[i]
    for k in range(m):
        s += math.exp(c * w[k])
    s += e
    # a number that is read before it is made
    s += c
    c = x[i]
    for k in range(m):
        s += math.exp(c * w[k])
    # a length that changes
    for k in range(p):
        s += math.exp(x[i] * w[k])
    p = 1 - p
    # an index between others
    for k in range(i):
        s += math.exp(x[i] * a[k])
    # a number of the inner iteration before, which the first part writes over
    for k in range(m):
        s += c * w[k]
        c = x[i] * w[k]
        s += math.exp(c)
    # an iteration that leaves the loop
    if x[i] > 0.7:
        break
    for k in range(m):
        s += math.exp(x[i] * w[k])
    # an iteration that ends early
    if x[i] > 0.2:
        continue
    for k in range(m):
        s += math.exp(x[i] * w[k])
    # a whole number that no float holds
    p = p * 1000003 + 1
    for k in range(m):
        s += math.exp(0.1 * (p & 7) - w[k])
    s += (p >> 2) & 7
""")
NO_NESTS |= programs("""
    # two loops with functions
    for i in range(n):
        t = 0.0
        for k in range(m):
            t += math.exp(w[k] * x[i])
        for k in range(m):
            s += math.sin(w[k] * t)
""")
NESTS = inside_a_loop("""
    # a number that goes on
    c = 0.5 * c + x[i]
    for k in range(m):
        s += math.exp(c * w[k])
    s += c
    # a number that some iterations make
    if x[i] > 0.0:
        c = x[i]
    for k in range(m):
        s += math.exp(c * w[k])
    s += c
    # a number that is made behind the functions
    d = 2.0 * c
    for k in range(m):
        s += math.exp(d * w[k])
    c = 0.5 * c + x[i]
    s += c * d
    # a whole number that goes on
    if x[i] > 0.0:
        p = i
    for k in range(m):
        s += math.exp(x[p] * w[k])
    s += a[p]
""") | programs("""
    # few terms, with the greatest one, which an iteration counts
    for i in range(n):
        largest = -math.inf
        for k in range(m):
            largest = max(largest, w[k] - x[i] * a[k])
        t = 0.0
        for k in range(m):
            t += math.exp(w[k] - x[i] * a[k] - largest)
        s += largest + math.log(t)
    # adds to what was never read
    z = np.zeros(n)
    u = 0.5 * w
    for i in range(1, n):
        for k in range(m):
            z[i - 1] += math.exp(u[k] * x[i])
    for i in range(n):
        s += z[i] * z[i]
    # arrays that may be one are asked for
    z = x.copy()
    for q in range(3):
        either = z if q % 2 == 0 else x
        for i in range(1, n):
            t = 0.0
            for k in range(m):
                t += math.exp(w[k] * 0.1 + 0.1 * either[i - 1])
            z[i] = 0.3 * t
    for i in range(n):
        s += z[i]
""")
BY_DEFAULT = programs("""
    # a loop in no other
    for i in range(n):
        s += math.exp(x[i])
    # a length that grows with that of the outer loop
    for i in range(n):
        for j in range(i):
            s += x[i] * x[j] * math.exp(-((x[i] - x[j]) ** 2))
    # a length that is tested
    for i in range(n):
        before = 0.01 * s
        for j in range(m):
            s += math.exp(x[i] * w[j] - before)
    # a function of two loops, of which one may be short
    for i in range(n):
        before = 0.01 * s
        for j in range(m):
            s += math.exp(x[i] * w[j] - before)
    for i in range(n):
        s += math.exp(-x[i]) * math.sin(x[i])
    # a length between two arguments
    for i in range(n):
        for j in range(p, m):
            s += math.exp(x[i] * 0.1 * j)
    # functions beside loops as long as theirs
    for q in range(2):
        for i in range(n):
            t = math.exp(0.1 * (x[i] + math.exp(a[i])))
            for j in range(i, n):
                s += t * x[j]
    for i in range(n):
        before = 0.01 * c
        for k in range(m):
            c += math.exp(x[i] * w[k] - before)
""")
RAGGED = programs("""
    # a length that no test before the outer loop can tell
    for i in range(n):
        p = int(9.0 * a[i])
        for j in range(p):
            s += math.exp(a[j] * x[i])
""")
FULL = r"^ {8,}.*\b(math\.)?(exp|log|log1p|sin|cos|tanh|erf|value_\w+)\("
MAY_STAY = ("more known than", "grows with", "both of which", "have no names")


def arguments():
    rng = np.random.default_rng(0)
    sizes = (9, 2), (4, 3), (0, 2)
    return [(rng.uniform(-0.9, 0.9, n), rng.uniform(0.2, 0.9, m), rng.uniform(0.2, 0.9, 9)) for n, m in sizes]


def expect(name, before, after):
    """Rows; in the loops, of a nest or of another one, no function is left."""
    assert name in NO_NESTS or "_rows" in after
    assert (" // max(" in after) == (name in NESTS), after
    assert name not in ROWS or any(x in name for x in MAY_STAY) or not re.search(FULL, after, re.MULTILINE), after


def _find_early(self, argument, k, path, order):
    j, kept, needed = _FIND(self, argument, k, path, order)
    return j, set(list(kept)[1:]), needed


def _find_untested(self, loop, down):
    nest = _FIND_NEST(self, loop, down)
    return nest and nest._replace(apart=[])


_FIND, _FIND_NEST = compaction._Gathering._find_place, strip_mining._Miner._find_nest
HEAD = """def run(x, w, a):
    n = x.shape[0]
    m = w.shape[0]
    p = 1
    s = 0.3
    c = 0.2
    e = 0.4
    t = 0.1"""
STRIP_MINING = Table(
    "strip mining", strip_mining.strip_mine,
    HEAD, "return s, c, p", arguments, ROWS | NO_NESTS | NESTS, WHOLE, expect,
    faults={
        "stores": (dependence.LoopStatements, "is_still", lambda self, array: True),
        "stores of nests": (collapsing.OuterBody, "is_still", lambda self, array: True),
        "branches that are not told apart": (compaction, "_exclude", lambda x, y: False),
        "an argument of another iteration": (compaction._Gathering, "_find_place", _find_early),
        "a number of the iteration before": (
            fission._Search, "_is_own", lambda self, name, k: self.body.writers.get(name) == [k]),
        "arrays that may be one": (strip_mining._Miner, "_find_nest", _find_untested),
        "numbers of the rest": (collapsing, "_are_own", lambda *_: True),
        "whole numbers": (strip_mining, "find_integers", lambda function: {"p"}),
        "loops that are left": (dependence.LoopStatements, "runs_to_its_end", True),
    },
    shows={
        "a function whose argument is no more known than its own value": (r"!math\.exp\(", r"math\.log\("),
        "a loop in a loop, both of which are split": (r"if m < 3:",),
        "a sum that is read in between": ("!s_terms",),
        "terms of a sum in their order": (r"s \+= s_terms\w*\[at.*\n +s \+= s_terms\w*\[at",),
    },
    settings=((strip_mining, "ROWS", 8), (strip_mining, "FEWEST", 3)), nests=10, known=KNOWN,
)  # fmt: skip
ELSE = r"^ +else:\n(?: {12,}.*\n)*? {12,}.*"  # where the loop is short, the C library's functions, and no others
TESTED = (
    r"^    long\w* = m >= 3$", r"^ +if long\w*:\n(?: {12,}.*\n)*? {12,}exp_rows", f"{ELSE}math\\.exp",
    f"!{ELSE}\\bexp_",
)  # fmt: skip
STRIP_MINING_BY_DEFAULT = Table(
    "strip mining by default", lambda function, names: strip_mining.strip_mine(function, names, nests=False),
    HEAD, "return s, c, p", arguments, BY_DEFAULT, RAGGED,
    shows={
        "a loop in no other": ("!long", r"^exp_rows_\d+ ="),
        "a length that grows with that of the outer loop": ("!long",),
        "a length that is tested": TESTED, "a function of two loops, of which one may be short": TESTED,
        "a length between two arguments": (r"long\w* = m - p >= 3$",),
    },
    settings=((strip_mining, "ROWS", 8), (strip_mining, "LONG", 3)), nests=5, known=KNOWN,
)  # fmt: skip
