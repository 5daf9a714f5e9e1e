"""Adjoints of neighbours that go from iteration to iteration in numbers: the same bits, one write for each element."""

import re
import textwrap

import numpy as np

from contad.engines.source.ir.syntax import statement
from contad.engines.source.passes import scalar_replacement
from contad.engines.source.passes.scalar_replacement import VECTOR
from tests.engines.source.passes.harness import Table
from tests.engines.source.passes.random_nests import VECTORS

ZEROS, SHAPE = "a = np.zeros(x.shape)", "a = np.empty((n,))\nfor i in range(n):\n    a[i] = 0.5 * x[i]"
WHOLE = f"{ZEROS}\nn = x.shape[0]\nk = n - 1\n"
FILLED = f"n = x.shape[0]\n{SHAPE}\n"
PAIR = "    a[i] += 0.1 * x[i]\n    a[i + 1] += x[i] * x[i + 1]"
THREE = "    a[i + 1] -= x[i]\n    a[i - 1] += x[i + 1] * 0.3\n    a[i] += x[i - 1]"
CARRIED = {
    "two neighbours": f"{WHOLE}for i in range(k):\n{PAIR}",
    "the farther one first": f"{WHOLE}for i in range(k):\n    a[i + 1] -= x[i] + 0.3\n    a[i] -= x[i]",
    "from the second": f"{WHOLE}for i in range(1, k):\n    a[i + 1] += x[i]\n    a[i] += x[i]",
    "as far as the last but one": f"{WHOLE}for i in range(k - 1):\n{PAIR}",
    "more than once": f"{WHOLE}for i in range(k):\n{PAIR}\n    a[i] += x[i]\n    a[i + 1] -= x[i]",
    "three neighbours": f"{FILLED}k = n - 1\nfor i in range(1, k):\n{THREE}",
    "three of zeros": f"{WHOLE}for i in range(1, k):\n{THREE}",
    "none in the middle": f"{FILLED}k = n - 2\nfor i in range(k):\n    a[i] += x[i + 2]\n    a[i + 2] += x[i] * 0.7",
    "in a loop": f"{FILLED}k = n - 1\nfor j in range(3):\n    for i in range(1, k):\n" + textwrap.indent(THREE, "    "),
    "two arrays": f"{WHOLE}b = np.zeros(x.shape)\nfor i in range(k):\n{PAIR}\n    b[i + 1] += x[i]\n    b[i] += 0.1",
    "with a loop inside": f"{WHOLE}for i in range(k):\n{PAIR}\n    for j in range(2):\n        s = x[i]",
}  # fmt: skip
APART = "if 0 < n:\n    i = 0\n    a[i] += x[i]\n    a[i] -= 0.3\n"
BEHIND = "    a[i - 1] += 0.1 * x[i]\n    a[i] -= x[i] * x[i - 1]"
CARRIED |= {
    "an iteration apart": f"{WHOLE}{APART}for i in range(1, n):\n{BEHIND}",
    "one apart that takes away": f"{WHOLE}{APART.replace('+=', '-=')}for i in range(1, n):\n{BEHIND}",
    "one apart, as far as the last but one": f"{WHOLE}{APART}for i in range(1, k):\n{BEHIND}",
    "one apart by another test": f"{WHOLE}{APART.replace('0 < n', '2 < n')}for i in range(1, n):\n{BEHIND}",
    "one apart, done again": f"{WHOLE}{APART.replace('0 < n', '0 < k')}for i in range(k):\n{PAIR}",
    "one apart, of a shape": f"n = x.shape[0]\na = np.zeros((n,))\n{APART}for i in range(1, n):\n{BEHIND}",
}
WHOLLY_WRITTEN = (
    "two neighbours", "the farther one first", "more than once", "two arrays", "with a loop inside", "three of zeros",
    "an iteration apart", "one apart, of a shape",
)  # fmt: skip
LEFT = {
    "two, of what is no zero": f"{FILLED}k = n - 1\nfor i in range(k):\n{PAIR}",
    "twice": f"{WHOLE}for j in range(2):\n    for i in range(k):\n" + textwrap.indent(PAIR, "    "),
    "indices from the end": f"{FILLED}for i in range(n - 1):\n{THREE}",
    "read in the loop": f"{WHOLE}for i in range(k):\n{PAIR}\n    s = a[i]",
    "by its own value": f"{WHOLE}for i in range(k):\n    a[i] += 1.0\n    a[i + 1] += a[i]",
    "where a test holds": f"{WHOLE}for i in range(k):\n    a[i] += 1.0\n    if x[i] > 0:\n        a[i + 1] += x[i]",
    "until a break": f"{WHOLE}for i in range(k):\n{PAIR}\n    if x[i] > 1:\n        break",
    "by another name": f"{FILLED}k = n - 1\nc = x if n < 0 else a\nfor i in range(1, k):\n{THREE}\n    c[2] *= 0.5",
    "by a view": f"{FILLED}k = n - 1\nv = a[1:]\nfor i in range(1, k):\n{THREE}\n    v[1] *= 0.5",
    "of zeros, by a view": f"{WHOLE}v = a[1:]\nfor i in range(k):\n{PAIR}\n    v[0] += 1.0",
    "elsewhere": f"{WHOLE}for i in range(k):\n{PAIR}\n    a[0] += x[i]",
    "threads may share it": f"{WHOLE}for i in prange(0, range(k)):\n{PAIR}",
    "backwards": f"{WHOLE}for i in range(k - 1, -1, -1):\n{PAIR}",
    "an end that changes": f"{WHOLE}for i in range(k):\n{PAIR}\n    k = 3",
    "made again": f"{WHOLE}for i in range(k):\n{PAIR}\na = np.zeros(x.shape)",
    "one before that has touched others": f"{WHOLE}if 0 < n:\n    i = 0\n    a[i] += x[i]\n    a[-1] += 0.3\n"
                                          "for i in range(1, n):\n    a[i - 1] += x[i]\n    a[i] += 0.1",
    "one before that is farther": f"{WHOLE}if 1 < n:\n    i = 1\n    a[i] += x[i]\n"
                                  "for i in range(1, n):\n    a[i - 1] += x[i]\n    a[i] += 0.1",
    "one before, with an index that changes": f"{WHOLE}if 0 < n:\n    i = 0\n    i = n - 1\n    a[i] += x[i]\n"
                                              "for i in range(1, n):\n    a[i - 1] += x[i]\n    a[i] += 0.1",
    "one before, and another loop": f"{WHOLE}{APART}for i in range(1, n):\n    a[i] += 0.1\n"
                                    "for i in range(1, n):\n    a[i - 1] += x[i]\n    a[i] += 0.1",
    "too far apart": f"{WHOLE}for i in range(k - 4):\n    a[i] += x[i]\n    a[i + 5] += x[i]",
}  # fmt: skip


def arguments():
    return [(np.random.default_rng(n).normal(size=n),) for n in range(9)]


def expect(name, before, after):
    whole = name in WHOLLY_WRITTEN
    adds = sum(bool(re.search(r"[ab]\[.*\] [+-]=", line)) for line in after.split("\n"))
    assert adds == ("apart" in name) * (2 - whole)
    is_empty = " a = np.empty(" in after and "    a = np.zeros(" not in after
    assert is_empty == (whole or "a = np.empty" in CARRIED[name])


SCALAR_REPLACEMENT = Table(
    "scalar replacement", scalar_replacement.replace_by_scalars, "def run(x):", "return a", arguments, CARRIED, LEFT,
    expect,
    faults={
        "another name of the array": (scalar_replacement, "_others_of", lambda *_: set()),
        "what is not all written": (scalar_replacement, "_is_whole", lambda *_: True),
        "what stands before": (scalar_replacement, "_zeros_before", lambda made, *_: scalar_replacement._HeldBefore(
            scalar_replacement.find_zeros(made), None, None)),
        "an iteration apart elsewhere": (scalar_replacement, "touches_only", lambda *_: True),
        "loops that are left": (scalar_replacement, "LEAVES", ()),
        "signs": (scalar_replacement, "statement", lambda template, **parts: statement(
            template.replace("-value", "value"), **parts)),
    },
    nests=3, known=((VECTOR, ("a", "b", *VECTORS)), (VECTOR, "c", frozenset("a"))),
)  # fmt: skip
