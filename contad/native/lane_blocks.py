"""Blocks of directions: which unit vectors are in the lanes, and where what comes of them goes in a matrix.

Numbers of a matrix's axis are counted through all arguments (or results); a part begins at number `first` there. A
block has the directions from `start` to before `stop`.
"""

from contad.native.lanes import lane
from contad.native.overloads import in_machine_code


@in_machine_code
def put_units(rows, first, start, stop, x):  # type: ignore[no-untyped-def]
    """Put x, which is 1 or 0, where the directions of a block have their 1; `rows` has a row of lanes per number."""
    for j in range(max(start, first), min(stop, first + rows.shape[0])):
        rows[j - first, j - start] = x


@in_machine_code
def put_columns(matrix, rows, first, start, stop):  # type: ignore[no-untyped-def]
    """Lane j of `rows` is column start + j of a matrix, as far as the part has it."""
    low, high = max(start, first), min(stop, first + matrix.shape[1])
    if high - low == 8:
        for i in range(rows.shape[0]):
            for j in range(8):  # which is one instruction or two
                matrix[i, low - first + j] = rows[i, j]
    else:
        for i in range(rows.shape[0]):
            for j in range(low, high):
                matrix[i, j - first] = rows[i, j - start]


@in_machine_code
def put_rows(matrix, rows, first, start, stop):  # type: ignore[no-untyped-def]
    """Lane j of `rows` is row start + j of a matrix, as far as the part has it."""
    for j in range(max(start, first), min(stop, first + matrix.shape[0])):
        for i in range(rows.shape[0]):
            matrix[j - first, i] = rows[i, j - start]


@in_machine_code
def put_numbers(vector, x, first, start, stop):  # type: ignore[no-untyped-def]
    """Lane j of a number is element start + j of a row or column, as far as the part has it."""
    for j in range(max(start, first), min(stop, first + vector.shape[0])):
        vector[j - first] = lane(x, j - start)
