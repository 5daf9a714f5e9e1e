"""Numbers that straight-line code assigns again get a name for each value."""

from contad.engines.source.ir.single_assignment import FLOAT
from contad.engines.source.passes import renaming
from tests.engines.source.passes.harness import Table, programs

RENAMED = programs("""
    # a chain
    a = x
    a = a * 2.0
    a += x
    b = a
    # read in branches and loops
    a = x
    b = a
    a = a + 1.0
    if b > 0.0:
        b = a
    a -= b
    for i in range(3):
        b += a * i
    # several at once
    a, c = x, 2.0
    b = c
    a, c = c, a
    b = b * a - c
""")
KEPT = programs("""
    # assigned in a branch
    a = x
    a = a + 1.0
    if x > 0.0:
        a = 2.0
    b = a
    # assigned in a loop
    a = x
    a = a + 1.0
    for i in range(3):
        a += i
    b = a
    # begun by what is added
    b = x
    u += x
    u = u + 1.0
    a = u
    # other names
    a = b = 1.0
    v = [x]
    v += [x]
    v += [x]
    # once each
    a = x
    b = a
""")


def _rename_early(self, s):
    self.current |= {x.id: self._next(x.id) for x in getattr(s, "targets", []) if getattr(x, "id", "") in self.names}
    return self.visit(s)


RENAMING = Table(
    "rename scalars", renaming.rename_scalars,
    "def run(x, u, v):", "return a, b, u, v", lambda: [(0.3, 1.0, 0.0), (-0.7, 2.0, 0.5)], RENAMED, KEPT,
    shows={"a chain": (r"a_1 = a_0 \+ x", r"b = a_1")},
    faults={
        "values by their new names": (renaming._Versions, "rename", _rename_early),
    },
    settings=((renaming, "LONG", 0),),
    nests=5, known=((FLOAT, "abcuf"),),
)  # fmt: skip
