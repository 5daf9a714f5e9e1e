"""Which adjoints need no zeros: those that a loop over all of their elements writes first."""

import numpy as np

from contad.engines.source.passes import dead_stores
from contad.engines.source.passes.equal_lengths import EqualLengths
from tests.engines.source.passes.harness import Table, programs

WRITTEN = programs("""
    # forwards
    x_bar = np.zeros(x.shape)
    length = x.shape[0]
    for i in range(length):
        x_bar[i] += t
    # backwards, in a copy
    x = x.copy()
    x_bar = np.zeros(x.shape)
    for i in range(len(x) - 1, -1, -1):
        x_bar[i] += t
    # two axes, the second one first
    x_bar = lent_zeros(3, (n, m))
    for j in range(m):
        for i in range(n):
            x_bar[i, j] += t
    # again at the same place
    x_bar = np.zeros(x.shape)
    length = x.shape[0]
    for i in range(length):
        x_bar[i] += t
        if t > 0:
            x_bar[i] += x_bar[i]
    x_bar[0] += t
    # a length that is checked
    length = y.shape[0]
    rows = x.shape[0]
    z = lent_empty(0, (x.shape[0],))
    x_bar = lent_zeros(1, z.shape)
    differs = length != rows
    if differs:
        raise ValueError
    for i in range(length):
        x_bar[i] += t
    # a length that the function checks itself
    length = y.shape[0]
    rows = x.shape[0]
    x_bar = lent_zeros(1, (x.shape[0],))
    wrong = not (length == rows)
    if wrong:
        if bool(1):
            raise ValueError
    for i in range(length):
        x_bar[i] += t
    # threads may share it
    x_bar = np.zeros(x.shape)
    for i in prange(0, range(x.shape[0])):
        x_bar[i] += t
""")
NEEDED = programs("""
    # lengths that may not be the same
    length = y.shape[0]
    rows = x.shape[0]
    x_bar = lent_zeros(1, (x.shape[0],))
    wrong = not (length != rows)
    if wrong:
        raise ValueError
    for i in range(length):
        x_bar[i] += t
    # lengths of which some may differ
    length = y.shape[0]
    rows = x.shape[0]
    x_bar = lent_zeros(1, (x.shape[0],))
    if length != rows:
        if t > 0:
            raise ValueError
    for i in range(length):
        x_bar[i] += t
    # not the first element
    x_bar = np.zeros(x.shape)
    length = x.shape[0]
    for i in range(1, length):
        x_bar[i] += t
    # not the last element
    x_bar = np.zeros(x.shape)
    length = x.shape[0]
    for i in range(length - 1):
        x_bar[i] += t
    # a length that is checked too late
    n = y.shape[0]
    x_bar = lent_zeros(1, (x.shape[0],))
    for i in range(n):
        x_bar[i] += t
    if n != x.shape[0]:
        raise ValueError
    # a length that is the same in another case
    n = y.shape[0]
    x_bar = lent_zeros(1, (x.shape[0],))
    if n == x.shape[0]:
        raise ValueError
    for i in range(n):
        x_bar[i] += t
    # the length of another array
    x_bar = np.zeros(x.shape)
    length = y.shape[0]
    for i in range(length):
        x_bar[i] += t
    # the other axis
    x_bar = np.zeros(x.shape)
    length = x.shape[1]
    for i in range(length):
        x_bar[i] += t
    # axes exchanged
    x_bar = np.zeros((n, m))
    for j in range(m):
        for i in range(n):
            x_bar[j, i] += t
    # more than once
    x_bar = np.zeros(x.shape)
    for k in range(3):
        for i in range(x.shape[0]):
            x_bar[i] += t
    # on a diagonal
    x_bar = np.zeros((n, n))
    for i in range(n):
        x_bar[i, i] += t
    # where a test holds
    x_bar = np.zeros(x.shape)
    for i in range(x.shape[0]):
        if t > 0:
            x_bar[i] += t
    # until a break
    x_bar = np.zeros(x.shape)
    for i in range(x.shape[0]):
        if t > 0:
            break
        x_bar[i] += t
    # read before
    x_bar = np.zeros(x.shape)
    for i in range(x.shape[0]):
        s = x_bar[i]
        x_bar[i] += t
    # by its own value
    x_bar = np.zeros(x.shape)
    for i in range(x.shape[0]):
        x_bar[i] += 1 - x_bar[i]
    # another element before
    x_bar = np.zeros(x.shape)
    for i in range(x.shape[0]):
        x_bar[i] += t
        x_bar[i - 1] += t
    # named before
    x_bar = np.zeros(x.shape)
    view = x_bar[1:]
    for i in range(x.shape[0]):
        x_bar[i] += t
    # the index changes
    x_bar = np.zeros(x.shape)
    for i in range(x.shape[0]):
        i = k
        x_bar[i] += t
    # another array in between
    x_bar = np.zeros(x.shape)
    x = x[1:]
    for i in range(x.shape[0]):
        x_bar[i] += t
    # only in a branch
    x_bar = np.zeros(x.shape)
    if t > 0:
        for i in range(x.shape[0]):
            x_bar[i] += t
""")


def arguments():
    x = np.arange(4.0)
    return [
        (x, x + 1.0, 0.3, 4, 3, 1), (x[:0], x[:0], 0.3, 0, 2, 1), (x, x[:2], 0.3, 4, 4, 2),
        (np.outer(x[:3], x), x, 0.3, 4, 4, 2),
    ]  # fmt: skip


def expect(name, before, after):
    assert sum(x != y for x, y in zip(before.split("\n"), after.split("\n"), strict=True)) == 2
    assert "zeros" not in after and after.count("empty(") == before.count("empty(") + 1


DEAD_STORES = Table(
    "dead stores", lambda function, _: dead_stores.remove_dead_zeros(function),
    "def run(x, y, t, n, m, k):", "return x_bar", arguments, WRITTEN, NEEDED, expect,
    faults={
        "loops over a part": (EqualLengths, "are_equal", lambda self, *lengths: True),
        "elements that are read elsewhere": (dead_stores, "touches_only", lambda *_: True),
        "a range that is no whole one": (dead_stores, "_find_limit", lambda loop: loop.iter.args[-1]),
        "what is made again": (EqualLengths, "stays", lambda self, node: True),
        "loops that are left": (dead_stores, "LEAVES", ()),
    },
    nests=5,
)  # fmt: skip
