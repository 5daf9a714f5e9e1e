"""NumPy's functions of sets: the elements are those that NumPy picks, the first one of equal elements.

Their number depends on the values, so it is a constant, like the positions, inverses and counts that some return.
"""

import numpy as np

from contad.ops.products import as_array
from contad.rules.numpy_functions import implements
from contad.variables.number import observe


@implements(np.unique)
def unique(
    ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True
):
    """The different elements in ascending order, or the different rows along an axis."""
    ar = as_array(ar)
    found = observe(np.unique, ar, True, return_inverse, return_counts, axis, equal_nan=equal_nan)
    values = np.ravel(ar)[found[1]] if axis is None else np.take(ar, found[1], axis)
    rest = found[1:] if return_index else found[2:]
    return (values, *rest) if rest else values


def with_values(function):
    """Declare np.unique_all or a similar function, whose result has the field `values`."""

    def implementation(x, /, **options):
        found = observe(function, x, **options)
        places = observe(np.unique, x, True, equal_nan=False)[1]
        if isinstance(found, tuple):
            return found._replace(values=np.ravel(as_array(x))[places])
        ranks = np.argsort(np.argsort(found, kind="stable"))  # np.unique_values need not sort
        return np.ravel(as_array(x))[places[ranks]]

    implements(function)(implementation)


for _function in (np.unique_all, np.unique_counts, np.unique_inverse, np.unique_values):
    with_values(_function)


@implements(np.union1d)
def union1d(ar1, ar2):
    """The different elements of two arrays."""
    return unique(np.concatenate([np.ravel(as_array(ar1)), np.ravel(as_array(ar2))]))


@implements(np.intersect1d)
def intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    """The elements of the first array that the second one has, too."""
    found, first, second = observe(np.intersect1d, ar1, ar2, assume_unique, True)
    values = np.ravel(as_array(ar1))[first]
    values = values.astype(found.dtype) if isinstance(values, np.ndarray) else values
    return (values, first, second) if return_indices else values


@implements(np.setdiff1d)
def setdiff1d(ar1, ar2, assume_unique=False):
    """The elements of the first array that the second one lacks."""
    values = np.ravel(as_array(ar1)) if assume_unique else unique(ar1)
    return values[observe(np.isin, values, ar2, invert=True)]


@implements(np.setxor1d)
def setxor1d(ar1, ar2, assume_unique=False):
    """The elements that one of two arrays has and the other one lacks."""
    pieces = [np.ravel(as_array(x)) if assume_unique else unique(x) for x in (ar1, ar2)]
    values = np.concatenate(pieces)
    _, places, counts = observe(np.unique, values, True, False, True, equal_nan=False)
    return values[places[counts == 1]]
