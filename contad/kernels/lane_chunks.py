"""Chunks of directions: which unit vectors are in the lanes, and where their results go in a matrix.

The index along an axis of the matrix counts the numbers of all arguments (or results); a part begins at index `first`.
A chunk has the directions from `start` up to, but not including, `stop`.
"""

from contad.compile.overloads import in_machine_code
from contad.kernels.lanes import lane


@in_machine_code
def put_units(rows, first, start, stop, x):  # type: ignore[no-untyped-def]
    """Write x, which is 1 or 0, at the places of the 1s of the directions in a chunk; `rows` has a row of lanes per
    number."""
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


@in_machine_code
def take_lanes(rows, matrix, first, start, stop):  # type: ignore[no-untyped-def]
    """Lane j of `rows` becomes row start + j of a matrix, as far as the part has it; idle lanes become 0."""
    for j in range(stop - start, rows.shape[1]):
        rows[:, j] = 0.0
    for i in range(rows.shape[0]):
        for j in range(start, stop):
            rows[i, j - start] = matrix[j, first + i]


@in_machine_code
def give_lanes(matrix, rows, first, start, stop):  # type: ignore[no-untyped-def]
    """Row start + j of a matrix becomes lane j of `rows`, from column `first` on."""
    for j in range(start, stop):
        for i in range(rows.shape[0]):
            matrix[j, first + i] = rows[i, j - start]


@in_machine_code
def give_numbers(matrix, x, first, start, stop):  # type: ignore[no-untyped-def]
    """Lane j of a number becomes the element of row start + j in column `first`."""
    for j in range(start, stop):
        matrix[j, first] = lane(x, j - start)


@in_machine_code
def sum_diagonal(rows, first, start, stop):  # type: ignore[no-untyped-def]
    """The sum over the directions of a chunk of the number at the place of their 1."""
    total = 0.0
    for j in range(max(start, first), min(stop, first + rows.shape[0])):
        total += rows[j - first, j - start]
    return total


@in_machine_code
def put_combs(rows, size, start, stop):  # type: ignore[no-untyped-def]
    """Lane j is 1 at place start + j of every matrix block of `size` elements, and 0 elsewhere."""
    for i in range(rows.shape[0]):
        for j in range(start, stop):
            rows[i, j - start] = 1.0 if i % size == j else 0.0


@in_machine_code
def put_matrix_blocks(found, rows, start, stop):  # type: ignore[no-untyped-def]
    """Column start + j of all matrix blocks becomes lane j of `rows`."""
    size = found.shape[1]
    for i in range(rows.shape[0]):
        for j in range(start, stop):
            found[i // size, i % size, j] = rows[i, j - start]


@in_machine_code
def add_sums(vector, rows):  # type: ignore[no-untyped-def]
    """Add the sum of its lanes to each element of a vector."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            vector[i] += rows[i, j]
