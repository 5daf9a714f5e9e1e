"""Lists that grow in loops and dicts that are filled, typed ones among them."""

from numba import types

from contad.engines.source.ir.entries import constant
from contad.engines.source.reading import bounded_buffers
from contad.engines.source.reading.bounded_buffers import BoundedBuffer
from tests.engines.source.programs.harness import Table, X, listed, programs

LISTS = programs("""
    # filtered
    y = []
    for v in x:
        if v > 0.0:
            y.append(v * v * x[1])
    total = 0.0
    for k, v in enumerate(y):
        total += v * (k + 1)
    return total + y[-1] * len(y) + sum(y)
    # in triangles
    y = [x[0]]
    for i in range(len(x)):
        for j in range(i):
            y.append(x[i] * x[j])
        for j in range(i, len(x), 2):
            if x[j] < 0.0:
                continue
            y.append(y[-1] * 0.5 + x[j])
    y[1] *= y[2]
    return np.sum(np.array(y) ** 2) + y[len(y) // 2]
    # one in each turn
    total = 0.0
    for i in range(len(x)):
        y = [1.0, x[i]]
        for j in range(3):
            y.append(y[j] * y[j + 1])
            if y[j] > 2.0:
                break
        total += y[len(y) - 1]
    return total
    # stack
    y, total = 0.0, 1.0
    waiting = []
    for v in x:
        waiting.append(v)
        waiting.append(v * v)
        y = waiting.pop() * total
        total += y
    while len(waiting) > 1:
        total = total * 0.5 + waiting.pop() * x[0]
    return total * waiting[0]
    # positions
    found = []
    for i in range(len(x)):
        if x[i] > 0.0:
            found.append(i)
    total = 0.0
    for k in found:
        total += x[k] ** 2 * (k // 2 + 1)
    return total + x[found[0]] * x[found[-1]] + len(found) // 2 * x[1]
    # handed over
    @njit
    def average(values, weight):
        total = 0.0
        for v in values:
            total += v * weight
        return total / len(values)
    ---
    y = []
    for i, j in np.ndindex(2, 2):
        y.append(x[i] * x[2 + j])
    for v in (x[0], 2.0, x[1]):
        y.append(v)
    return average(y, x[3])
    # typed
    y = List()
    z = List.empty_list(numba.float64)
    for v in x:
        y.append(v * v)
    for k in range(len(x)):
        if k != 1:
            z.append(y[k] * x[1])
    y[0] = z[2] * y[1]
    return y[0] * y[3] + z.pop() * len(z)
""")
LISTS_RAISE = listed("""
    # IndexError: pop from an empty list
    y = [x[0]]
    for _ in range(int(x[2])):
        y.pop()
    y.append(x[1])
    return y.pop() + y.pop()
    # EngineLimitError: .*a list grows by more than
    n = 1
    y = []
    for k in range(n):
        n = k + 2
        for j in range(n):
            y.append(x[j % 4])
    return y[-1]
""")
DICTS = programs("""
    # counted
    sums = {}
    counts = {}
    n = len(x)
    for i in range(n):
        k = i % 3 * 8 - 8
        if k in sums:
            sums[k] += x[i] * x[0]
        else:
            sums[k] = x[i]
        counts[k] = counts.get(k, 0) + 1
    for k in sums:
        sums[k] = sums[k] * sums[k] / counts[k]
    total = 0.0
    for k, v in sums.items():
        total += v * v * (k + 1)
    for v in sums.values():
        total += np.sin(v)
    return total + len(sums) * sums.get(0, 0.0) + sums.get(5, x[1])
    # of pairs
    cells = {}
    for i in range(len(x)):
        for j in range(i, len(x)):
            cells[i, j * 1000003] = x[i] * x[j]
            if (j, i * 1000003) in cells and i != j:
                cells[i, j * 1000003] *= 2.0
    total = 0.0
    for (i, j), v in cells.items():
        total += v * v * (j // 1000003 - i)
    for i, j in cells:
        total += cells[i, j] * (i + 1)
    return total
    # elsewhere
    @njit
    def doubled(d, k):
        d[k] *= 2.0
        total = 0.0
        for v in d.values():
            total += v * v
        return total
    @njit
    def filled(x):
        d = {7: x[3]}
        for k, v in enumerate(x):
            if v > 0.5:
                d[k - 2] = v * v
            else:
                d.setdefault(-3, v)
                d[-3] -= v * 0.5
        return d
    ---
    total = 0.0
    for i in range(3):
        d = filled(x * (i + 1))
        e = d
        e[7] *= x[3]
        total += doubled(d, -3) * x[i]
        for k, v in enumerate(d.values()):
            total += v * k
    return total
    # looked up
    d = {0: x[0], 3: x[1]}
    p = {"rate": x[2], "shift": x[3]}
    total = 0.0
    for k in range(4):
        if k in d:
            total += d[k] * d[k] * (k + 1)
    for name in ("rate", "shift", "level"):
        if name in p:
            p[name] *= p["rate"] * x[0]
        else:
            p[name] = d.get(k, 0.0)
    return total + p["rate"] * p["shift"] + p["level"] ** 2
    # typed
    d = Dict.empty(types.int64, types.float64)
    names = Dict.empty(key_type=types.unicode_type, value_type=types.float64)
    cells = Dict.empty(PAIR, types.int64)
    for i in range(4):
        d[i % 2] = x[i] * x[0]
        cells[i, i // 2] = i
        names["last"] = d[i % 2]
    return d[0] * d[1] + names["last"] * cells[3, 1]
""")
DICTS_RAISE = listed("""
    # KeyError
    d = {}
    d[1] = x[0]
    d[2] += x[1]
    return d[1]
    # (RuntimeError|EngineLimitError): .*dict
    d = {0: x[0], 1: x[1]}
    for k in d:
        if k == 0:
            d[k + 5] = x[2]
    d[0] = x[3]
    return d[0]
""")
DICTS_REFUSED = listed("""
    # d.pop(0)' of a dict; assign 0.0
    d = {0: x[0], 1: x[1]}
    d.pop(0)
    return d[1]
    # fill it in
    @njit
    def put(d, y):
        d[3] = y
    ---
    d = Dict.empty(types.int64, types.float64)
    put(d, x[0])
    return d[3]
    # int64
    d = Dict.empty(types.float64, types.float64)
    d[0.5] = x[0]
    return d[0.5]
""")


def _append_uncounted(self, x, node):
    before = self.count()
    _APPEND(self, x, node)
    self.reader.arrays.put(self.cell, [constant(0)], before)


_APPEND = BoundedBuffer.append
GROWING_LISTS = Table(
    "growing lists", LISTS, raises=LISTS_RAISE, twice=("filtered", "in triangles", "stack", "typed"),
    faults={"elements are written, and the count stays": (BoundedBuffer, "append", _append_uncounted)},
    head="x", arguments=(X,), argnums=(0,),
)  # fmt: skip
FILLED_DICTS = Table(
    "filled dicts", DICTS, DICTS_REFUSED, DICTS_RAISE, twice=("counted", "elsewhere"),
    faults={
        "every new key gets the slot of the first one": (
            bounded_buffers, "find_slot", lambda places, columns, key: (places[0] - 1, key[0] * 0)),
    },
    known={"PAIR": types.UniTuple(types.int64, 2)}, head="x", arguments=(X,), argnums=(0,),
)  # fmt: skip
