"""Stan's hypergeometric functions by their series in compiled code: Numba functions of vectors of any length.

The sum is an operation with a rule for forward mode: each tangent is another sum of the same kind.
"""

import numpy as np

from contad.compile.machine_code import njit
from contad.kernels.array_loops import with_compiled_callees
from contad.stan.bodies import has_sum
from contad.stan.functionals.compiled_functionals import OPTIONS
from contad.stan.hypergeometric_series import sum_series
from contad.transforms.custom import custom_jvp

_compile = njit(**OPTIONS)
_has_sum = _compile(with_compiled_callees(has_sum, _compile))  # type: ignore[arg-type]
_sum = _compile(with_compiled_callees(sum_series, _compile))  # type: ignore[arg-type]


def _series(orders, p, numbers):  # type: ignore[no-untyped-def]
    """The derivative of pFq of given orders in the numbers: p parameters above, those below, and z."""
    return _sum(orders, numbers, p)


series = custom_jvp(_compile(_series), nondiff_argnums=(0, 1))


@series.defjvp
@_compile
def _tangent(orders, p, primals, tangents):  # type: ignore[no-untyped-def]
    numbers, dots = primals[0], tangents[0]
    found = 0.0
    for k in range(len(numbers)):
        more = orders.copy()
        more[k] += 1
        found += series(more, p, numbers) * dots[k]
    return series(orders, p, numbers), found


@njit(**OPTIONS)
def _evaluate(a, b, z):  # type: ignore[no-untyped-def]
    numbers = np.zeros(len(a) + len(b) + 1)
    for k in range(len(a)):
        numbers[k] = a[k]
    for k in range(len(b)):
        numbers[len(a) + k] = b[k]
    numbers[-1] = z
    return series(np.zeros(len(numbers), np.int64), len(a), numbers)


@njit(**OPTIONS)
def hypergeometric_3F2(a, b, z):  # type: ignore[no-untyped-def]
    """The sum, where it converges."""
    z = z * 1.0  # an array without axes is a number
    if len(a) != 3 or len(b) != 2:
        raise ValueError("hypergeometric_3F2: a and b must have 3 and 2 elements")
    if not _has_sum(a, b, z):
        raise ValueError("hypergeometric_3F2: 3F2 must converge")
    found = _evaluate(a, b, z)
    if found != found:
        raise ValueError("hypergeometric_3F2: the series must converge without loss")
    return found


@njit(**OPTIONS)
def hypergeometric_pFq(a, b, z):  # type: ignore[no-untyped-def]
    """The sum, where it converges."""
    z = z * 1.0
    if len(a) > len(b) + 1:
        raise ValueError("hypergeometric_pFq: a must be a vector with at most one element more than b")
    if len(a) == len(b) + 1 and not _has_sum(a, b, z):
        raise ValueError("hypergeometric_pFq: |z| must be less than 1 where a has one element more")
    found = _evaluate(a, b, z)
    if found != found:
        raise ValueError("hypergeometric_pFq: the series must converge without loss")
    return found
