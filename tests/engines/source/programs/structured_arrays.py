"""Arrays of records: made inside, as arguments that are read and written, and second names of what is in them."""

import numpy as np

from contad.engines.source.reading import structured_arrays
from tests.engines.source.programs.harness import Table, X, listed, programs

POINT = np.dtype([("x", "f8"), ("n", "i8"), ("w", "f8", (3,))], align=True)
NUMBER, SMALL = np.dtype([("x", np.float64)]), np.dtype([("x", np.float32), ("y", np.float64)])
NAMED = np.dtype([("name", "U4"), ("k", "i4"), ("x", "f8"), ("v", "f8")])
DATA = np.array([("a", 3, 1.0, 0.5), ("b", 1, 2.0, 0.6), ("a", 2, 3.0, 0.7), ("c", 0, 4.0, 0.8)], NAMED)
TAKEN = programs("""
    # made
    @njit
    def change(rows, y):
        rows[1].x = y * y
        rows[0]["x"] -= y
        return rows[1]["x"] * rows[0].x
    ---
    out = np.empty((3, 2), dtype=POINT)
    for i in range(3):
        for j in range(2):
            r = out[i, j]
            r.x = x[i] * x[j]
            r["n"] = i + j
            r.w[:] = x[1:] * x[i]
            r.w[1] += r.x
    row, kept = out[1], out[1].copy()
    part = out[1:, 1]
    out["x"][0, 0] = x[3]
    part["x"][:] = part["x"] * 2.0
    out[2, 0] = out[1, 0]
    total = change(row, x[0])
    for r in row:
        r.x *= x[2]
        total += r.x * r.n + np.sum(r.w * r.w)
    return total * len(out) + np.sum(out["x"] * out.x) + out[2, 0].w[1] * kept[1].x
    # given
    total = 0.0
    for i in range(len(data)):
        r = data[i]
        r.x = x[r.k] * r.x
        data[i].v += data["x"][i] * x[0]
        if data[i].k > 1:
            total += r.v
    out = np.zeros(len(data), dtype=NUMBER)
    for i in range(len(data)):
        out[i].x = data[3 - i].x
    data["v"][1:3] = x[:2]
    for r, s in zip(data, out):
        total += r.x * r.v * s.x
    return total
    # read
    total = 0.0
    for r in data:
        if r.k > 0:
            total += r.x * x[r.k]
    first = data[0]
    return total * first.v + np.sum(data["x"] * x) * np.sum(data.v[1:] * x[1:])
""")
REFUSED = listed("""
    # f: the name a: it stands for different things
    a, b = np.zeros(2, dtype=NUMBER), np.zeros(2, dtype=NUMBER)
    for _ in range(3):
        a[0].x = x[0]
        a, b = b, a
    return a[0].x
    # fewer than 64 bits
    data[0].k = 2
    return data[0].x * x[0]
    # of type float32; declare float64
    out = np.zeros(2, dtype=SMALL)
    return out[0].y * x[0]
""")


class _Records:
    """NumPy, whose arrays of records have attributes in Python, too."""

    def __getattr__(self, name):
        found = getattr(np, name)
        return (lambda *args, **more: found(*args, **more).view(np.recarray)) if name in ("zeros", "empty") else found


def _find_copy(reader, records, name, target):
    field, spec = _FIND_PLACE(reader, records, name, target)
    return reader.arrays.copy_elements(field), spec


_FIND_PLACE = structured_arrays.find_place
RECORD_ARRAYS = Table(
    "record arrays", TAKEN, REFUSED, twice=("given",),
    faults={"a record is a copy, so that writes into it are lost": (structured_arrays, "find_place", _find_copy)},
    known={"POINT": POINT, "NUMBER": NUMBER, "SMALL": SMALL}, plainly={"np": _Records()},
    head="x, data", arguments=(X, DATA.view(np.recarray)), argnums=(0,),
)  # fmt: skip
