"""Iterations at an end of a loop that a test tells from all others: written apart, in the same order."""

import re
import textwrap

import numpy as np

from contad.engines.source.passes import peel
from contad.engines.source.passes.dependence import offset_of
from tests.engines.source.passes.harness import Table

HEAD = "n = x.shape[0]\ns = 0.0\n"
BODY = "    s = 0.9 * s + x[i]\n    if {test}:\n        s = s * x[i {far}]\n        s += 0.1\n    s += 0.2 * x[i]"
UP, DOWN = "for i in range(n):\n", "for i in range(n - 1, -1, -1):\n"
LEAST = ("i > 0", "i != 0", "i >= 1", "0 < i", "1 <= i")
OTHERS = ("i == 0", "i < 1", "i <= 0", "0 == i")
GREATEST = ("i < n - 1", "i != n - 1", "i + 1 < n", "n > i + 1", "n - 1 > i")
WRITTEN = {
    **{f"{head.strip()} {test}": f"{HEAD}{head}{BODY.format(test=test, far='- 1')}"
       for head in (UP, DOWN) for test in LEAST},
    **{f"{head.strip()} {test}": f"{HEAD}{head}{BODY.format(test=test, far='+ 0')}"
       for head in (UP, DOWN) for test in (*OTHERS, "i == n - 1", "i >= n - 1", "i + 1 == n")},
    **{f"{head.strip()} {test}": f"{HEAD}{head}{BODY.format(test=test, far='+ 1')}"
       for head in (UP, DOWN) for test in GREATEST},
    "by name, twice": f"{HEAD}{UP}    t = i > 0\n    if t:\n        s += x[i - 1]\n    s *= 0.5\n    if t:\n"
                      "        s += 0.1\n    else:\n        s -= x[i]",
    "a name that is read elsewhere": f"{HEAD}t = True\nfor k in range(2):\n    s += 1.0\n{UP}    u = i > 0\n    if u:\n"
                                     "        s += x[i - 1]\n    s += 0.1 * u",
    "from the third": f"{HEAD}for i in range(2, n):\n    if i > 2:\n        s += x[i - 3]\n    s = 0.3 * s + x[i]",
    "down to the second": f"{HEAD}for i in range(n - 1, 0, -1):\n    if i == 1:\n        s *= 2.0\n    s += x[i]",
    "both ends": f"{HEAD}{UP}    if i > 0:\n        s += x[i - 1]\n    if i < n - 1:\n        s = 0.3 * s + x[i + 1]",
    "in a loop": f"{HEAD}for k in range(3):\n" + textwrap.indent(f"{UP}{BODY.format(test='i > 0', far='- 1')}", "    "),
}  # fmt: skip
LEFT = {
    "others do nothing": f"{HEAD}{UP}    t = i == 0\n    if t:\n        s += x[i] * x[i]",
    "another number": f"{HEAD}{UP}{BODY.format(test='i > 2', far='- 1')}",
    "the second one": f"{HEAD}{UP}{BODY.format(test='i == 1', far='- 1')}",
    "up to the second one": f"{HEAD}{UP}{BODY.format(test='i <= 1', far='- 1')}",
    "not of all others": f"{HEAD}{UP}{BODY.format(test='i == 3', far='- 1')}",
    "before the last but one": f"{HEAD}{UP}{BODY.format(test='i < n - 2', far='+ 1')}",
    "of numbers": f"{HEAD}{UP}    if i > 0:\n        s += x[i - 1]\n    if x[i] > 0.0:\n        s += 1.0",
    "a branch in the branch": f"{HEAD}{UP}    if i > 0:\n        if x[i] > 0.0:\n            s += x[i - 1]",
    "a loop inside": f"{HEAD}{UP}    if i > 0:\n        s += x[i - 1]\n    for k in range(2):\n        s *= 0.5",
    "left by a break": f"{HEAD}{UP}    if i > 0:\n        s += x[i - 1]\n        break",
    "an end that changes": f"{HEAD}{UP}    if i < n - 1:\n        s += x[i + 1]\n    n = 3",
    "a test that changes": f"{HEAD}{UP}    t = i > 0\n    t = x[i] > 0\n    if t:\n        s += 1.0",
    "steps of two": f"{HEAD}for i in range(0, n, 2):\n{BODY.format(test='i > 0', far='- 1')}",
    "from an unknown one": f"{HEAD}k = n // 2\nfor i in range(k, n):\n{BODY.format(test='i > 0', far='- 1')}",
    "always so": f"{HEAD}for i in range(1, n):\n{BODY.format(test='i > 0', far='- 1')}",
    "threads may share it": f"{HEAD}for i in prange(0, range(n)):\n{BODY.format(test='i > 0', far='- 1')}",
    "an index that changes": f"{HEAD}{UP}    i = i + 0\n    if i > 0:\n        s += 1.0",
    "a function in a loop": f"{HEAD}for k in range(2):\n    for i in range(n):\n        if i > 0:\n"
                            "            s += math.exp(x[i])",
}  # fmt: skip
LEFT |= {
    "an end by another name": f"{HEAD}k = n // 2\n{UP}{BODY.format(test='i < k - 1', far='+ 0')}",
    "left at once": f"{HEAD}{UP}    if i == 0:\n        break\n    s += x[i]",
}
LEFT["written twice, too long"] = f"{HEAD}{UP}    if i > 0:\n" + "        s += x[i - 1]\n" * 60


def arguments():
    return [(np.random.default_rng(n).normal(size=n),) for n in range(9)]


def expect(name, before, after):
    """No branch is left in the loop."""
    loops = after.split("    for i in ")[1:]
    assert len(loops) == 1
    assert not re.search(r"^ {8,}if ", loops[0].partition("\n    if ")[0], re.MULTILINE)


PEEL = Table(
    "peel", lambda function, _: peel.peel(function), "def run(x):", "return s", arguments, WRITTEN, LEFT, expect,
    faults={
        "a test of another iteration": (peel, "integer_of", lambda node: 0),
        "an end by another name": (peel, "is_name", lambda *_: True),
        "a number that is no end": (peel, "offset_of", lambda node, index: next(
            (max(c, -1) for c in [offset_of(node, index)] if c is not None), None)),
        "a test that changes": (peel, "_value_of", lambda name, loop, function: next(
            (s.value for s in loop.body if getattr(s, "targets", None) and s.targets[0].id == name), None)),
        "loops that are left": (peel, "LEAVES", ()),
        "comparisons the other way round": (peel, "_HOLDS", {
            op: lambda x, y, holds=holds: not holds(x, y) for op, holds in peel._HOLDS.items()}),
    },
    nests=5,
)  # fmt: skip
