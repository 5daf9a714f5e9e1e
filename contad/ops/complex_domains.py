"""np.emath: functions that are complex outside of a real domain, if one of the elements is there."""

import math

import numpy as np

from contad.ops.products import as_array
from contad.rules.numpy_functions import implements
from contad.variables.complex_pair import is_complex
from contad.variables.number import observe


def in_domain(function, of_real, is_inside):
    """Declare a function of np.emath, `of_real` where all elements are inside; it also takes complex numbers."""

    def implementation(x):
        x = as_array(x)
        return of_real(x if is_complex(x) or np.all(observe(is_inside, x)) else x + 0j)

    implements(function)(implementation)


def _is_not_negative(x):
    return ~(x < 0.0)


def _is_cosine(x):
    return ~(np.abs(x) > 1.0)


in_domain(np.emath.sqrt, np.sqrt, _is_not_negative)
in_domain(np.emath.log, np.log, _is_not_negative)
in_domain(np.emath.log2, lambda x: np.log(x) / math.log(2.0) if is_complex(x) else np.log2(x), _is_not_negative)
in_domain(np.emath.log10, lambda x: np.log(x) / math.log(10.0) if is_complex(x) else np.log10(x), _is_not_negative)
in_domain(np.emath.arccos, np.arccos, _is_cosine)
in_domain(np.emath.arcsin, np.arcsin, _is_cosine)
in_domain(np.emath.arctanh, np.arctanh, _is_cosine)


@implements(np.emath.logn)
def logn(n, x):
    """The logarithm of x to base n."""
    return np.emath.log(x) / np.emath.log(n)


@implements(np.emath.power)
def power(x, p):
    """x to the power p; complex if one of the x is negative."""
    x = as_array(x)
    return np.power(x if is_complex(x) or np.all(observe(_is_not_negative, x)) else x + 0j, p)
