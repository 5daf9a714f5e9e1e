"""The codes of the records that the interpreter of programs runs. They differ from those of a record stream.

A record is (code, x, y), three unsigned integers. The records of scalars have the operation codes of the sweep; x and y
are cells, or places among the constants. Each owns the next free cell, a guard too, which leaves it empty. A record of
an array has ARRAY added to its code, x is the place of its shape among the integers beside the records, y the number
of its cells.
"""

import operator

import numpy as np

from contad.engines.matrix.kernel_shapes import LINES, NAMES, PAIRED_SUM
from contad.engines.stream.arithmetic_rules import list_operations
from contad.engines.stream.storage import CODES
from contad.rules.body import COMPARISONS as SYMBOLS_OF_COMPARISONS
from contad.rules.scalar_rule import ScalarRule

ARRAY = CODES
# CONSTANT: x is its place. CALL: x is the number of the call to Python, y the number of its cells. GATHER: the shape is
# the cells. PRODUCT: the number of a kernel of its own. COMPARE: a guard of arrays. STOP and
# STOPPED: a number, and a GATHER, that pass no derivative on.
CONSTANT, CALL, STOP, PRODUCT, GATHER, COMPARE, STOPPED = 0, 1, 2, ARRAY + 3, ARRAY + 4, ARRAY + 5, ARRAY + 1
# REPEATED, after the elementwise operations: one on more than two axes, see `contad.programs.more_axes`.
# Only in layouts. FUSED: x is the place of the fused loop. JUMP: the next cell is x further and y back.
FUSED, JUMP = ARRAY, 3

# The purposes of kernels: values, adjoints, tangents; from IN_FUSED + 1 to + 8 adjoints in fused loops, where the
# kernel leaves, adds to or writes those of x and y; and GROUPS of members, by their numbers.
IN_FUSED, GROUPS, PURPOSES = 2, 11, 12

COMPARISONS = {name: (symbol, getattr(operator, name)) for name, symbol in SYMBOLS_OF_COMPARISONS.items()}
ORDER = tuple(COMPARISONS)

# operations on scalars, and elementwise on arrays: those of the sweep, and those that only programs compile
SCALARS = list_operations()
_CODES = {operation: code for code, operation in SCALARS.items()}
assert min(SCALARS) > JUMP

# guards of scalars: (comparison, whether it held when it was recorded, whether y is a cell (v) or a constant (c))
GUARDS = {
    max(SCALARS) + 1 + k: (name, held, active)
    for k, (name, held, active) in enumerate(
        (name, held, active) for name in ORDER for held in (False, True) for active in ("vv", "vc")
    )
}
GUARD_CODES = {guard: code for code, guard in GUARDS.items()}

# operations of linear algebra, whose kernels may leave a record to Python; and operations along axes, which never do
REPEATED = ARRAY + max(GUARDS) + 1
FIRST_KERNEL = REPEATED + 1
KERNEL_RECORDS = {FIRST_KERNEL + k: name for k, name in enumerate(NAMES)}
KERNEL_RECORDS[FIRST_KERNEL + len(NAMES)] = PAIRED_SUM  # only in layouts
KERNEL_CODES = {name: code for code, name in KERNEL_RECORDS.items()}
FIRST_LINE = KERNEL_CODES[LINES[0]]
assert max(KERNEL_RECORDS) < ARRAY + CODES


def first_cells(code: np.ndarray, inputs: int) -> np.ndarray:
    """The first cell of each record of a program."""
    sizes = np.where((code[:, 0] >= ARRAY) | (code[:, 0] == CALL), code[:, 2], 1).astype(np.int64)
    return np.cumsum(sizes) - sizes + inputs + 1


def code_of(rule: ScalarRule, active: str) -> int | None:
    """The code of a rule with this activity; None for rules that Python runs."""
    return _CODES.get((rule, active))


def numbering() -> str:
    """The meaning of every code; a program is valid only where the meanings are the same."""
    scalars = ((code, rule.name, active) for code, (rule, active) in SCALARS.items())
    return repr([*scalars, *GUARDS.items(), *KERNEL_RECORDS.items()])
