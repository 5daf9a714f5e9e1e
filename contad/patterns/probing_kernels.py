"""A matrix held against a product with the derivative that it should be, compiled."""

from contad.native.compiling import NJIT_OPTIONS
from contad.native.machine_code import njit


@njit(**NJIT_OPTIONS)
def find_wrong_row(starts, columns, values, v, exact, noise):  # type: ignore[no-untyped-def]
    """The row in which the product of a matrix with v is farthest from `exact`, or -1 where all agree.

    They agree where they differ by less than `noise` relative to the sizes of the terms, and where an element is not
    finite, which it is in the function then.
    """
    worst, most = -1, 0.0
    for row in range(len(exact)):
        total, size = 0.0, abs(exact[row])
        for k in range(starts[row], starts[row + 1]):
            term = values[k] * v[columns[k]]
            total += term
            size += abs(term)
        difference = abs(total - exact[row])
        if difference > noise * size and difference > most:
            worst, most = row, difference
        elif difference != difference and total - total == 0.0:  # only the product is nan
            return row
    return worst
