"""The heads of records: one number encodes the kind of a record.

The head of a scalar's record is its operation code, that of an array's record is
-(code + form + CELLS * number of its own cells). Forms: contiguous arrays (0), one operand a constant number in
the record (X_NUMBER, Y_NUMBER), one operand a scalar's cell (X_CELL, Y_CELL), the sum of an array
(x, size), the dot product of two (x, and the place of y and the size in `shapes`), any strides (all in `shapes`).
"""


import numpy as np

# A pullback is the continuation of an array rule: it runs if its result has an adjoint; a callback always runs.
INPUT, CALLBACK, LINEAR, JOIN, GATHER, PULLBACK = range(6)
VARIANTS = ("input", "callback", "linear", "join", "gather", "pullback")

CODES = 512
X_NUMBER, Y_NUMBER, SUM, DOT, X_CELL, Y_CELL, STRIDED, CELLS = (CODES * k for k in range(1, 9))

# The start of `shapes`: for each form but STRIDED, the integers that the sweep completes for kernels:
# z, outer, inner, z_outer, z_inner, x, x_outer, x_inner, y, y_outer, y_inner. A number is read from constants[1].
FORMS = (
    *(0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1),
    *(0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1),
    *(0, 1, 0, 0, 1, 0, 0, 1, 1, 0, 0),
    *(0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0),
    *(0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1),
    *(0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1),
    *(0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0),
)


def head_of(code: int, n: int, form: int = 0) -> int:
    """The head of an array record with n cells of its own."""
    return -(code + form + CELLS * n)


def decode(head: float) -> tuple[int, int, int]:
    """(operation code, form, number of own cells) of a head.

    >>> decode(head_of(CALLBACK, 7, STRIDED)) == (CALLBACK, STRIDED, 7), decode(3.0)
    (True, (3, 0, 1))
    """
    number = int(-head)
    return (number % CODES, number % CELLS // CODES * CODES, number // CELLS) if head < 0 else (-number, 0, 1)


def own_cells(heads: np.ndarray) -> np.ndarray:
    """How many cells each record has, given the heads of all.

    >>> own_cells(np.array([3.0, head_of(CALLBACK, 7)]))
    array([1., 7.])
    """
    return np.where(heads < 0, -heads // CELLS, 1)
