"""A matrix held against a product with the derivative that it should be, compiled where it is large."""

import numpy as np

from contad.patterns.plain_first import plain_first


@plain_first(None, lambda starts, columns, *_: len(starts) + len(columns))
def find_wrong_rows(starts, columns, values, v, exact, noise, count):  # type: ignore[no-untyped-def]
    """Up to `count` rows in which the product of a matrix with v is farthest from `exact`, the farthest first.

    They agree where they differ by less than `noise` relative to the sizes of the terms, which measures how far they
    are, and where an element is not finite, which it is in the function then.
    """
    rows, ratios, found = np.empty(count, np.int64), np.empty(count), 0
    for row in range(len(exact)):
        total, size = 0.0, abs(exact[row])
        for k in range(starts[row], starts[row + 1]):
            term = values[k] * v[columns[k]]
            total += term
            size += abs(term)
        difference = abs(total - exact[row])
        ratio = 0.0
        if difference > noise * size:
            ratio = difference / size
        elif difference != difference and total - total == 0.0:  # only the product is nan
            ratio = np.inf
        if ratio > 0.0 and (found < count or ratio > ratios[count - 1]):
            place = min(found, count - 1)
            while place > 0 and ratios[place - 1] < ratio:
                rows[place], ratios[place] = rows[place - 1], ratios[place - 1]
                place -= 1
            rows[place], ratios[place] = row, ratio
            found = min(found + 1, count)
    return rows[:found]
