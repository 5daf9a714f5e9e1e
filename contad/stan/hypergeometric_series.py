"""Stan's hypergeometric functions: Gauss's by the rule for SciPy's function, others by their series.

Derivatives of the series in its parameters and z are sums of the same kind, so derivatives of every order exist: the
terms are products of (a_i + e)_k and 1 / (b_j + f)_k as polynomials in the changes e and f.
"""

import functools
import math

import numpy as np

from contad.distributions.faces import check_domain, function_of_text
from contad.ops.hypergeometric_functions import hyp2f1
from contad.ops.products import as_array
from contad.ops.rounding import rint
from contad.rules.scalar_rule import ScalarRule, add_unlisted
from contad.stan.checks import check_2F1_converges, check_3F2_converges
from contad.stan.compiled import with_bodies
from contad.variables.number import primal
from contad.variables.open_types import Nested, Real

__all__ = ["hypergeometric_2F1", "hypergeometric_3F2", "hypergeometric_pFq"]

MOST_TERMS = 20000
LOST = 1e-9  # the largest allowed rounding error of the sum, relative to the largest terms


@with_bodies(
    {"0 0 0 0": "rule(a1, a2, b1, z)"},
    inside=[*((name, "finite") for name in ("a1", "a2", "b1")), ("converges(a1, a2, b1, z)", "2F1 must converge")],
    rule=hyp2f1,
)
def hypergeometric_2F1(a1: Real, a2: Real, b1: Real, z: Real) -> Real:
    """Gauss's hypergeometric function, SciPy's `hyp2f1`.

        2F1(a1, a2; b1; z) = sum_k (a1)_k (a2)_k / (b1)_k z^k / k!

    Domain:  z < 1; z = 1 if b1 > a1 + a2; every z if the series ends; b1 = 0, -1, ... only if it ends before; finite
             parameters.
    Raises:  ValueError outside the domain, like Stan.
    Ref:     DLMF 15.2.1.

    >>> round(hypergeometric_2F1(1.5, 0.7, 2.2, 0.5), 12)
    1.368248958994
    """
    name = "hypergeometric_2F1"
    for argument, x in (("a1", a1), ("a2", a2), ("b1", b1)):
        check_domain(name, argument, x, "finite")
    check_2F1_converges(name, a1, a2, b1, -0.5 if z < -1.0 else z)  # below -1 it is continued analytically
    return hyp2f1(a1, a2, b1, z)


def hypergeometric_3F2(a: Nested, b: Nested, z: Real) -> Real:
    """The hypergeometric function of three and two parameters.

        3F2(a; b; z) = sum_k (a1)_k (a2)_k (a3)_k / ((b1)_k (b2)_k) z^k / k!

    Shapes:  a (3,), b (2,), z ().
    Domain:  |z| < 1; |z| = 1 if b1 + b2 > a1 + a2 + a3; every z if the series ends; b = 0, -1, ... only if it ends
             before.
    Raises:  ValueError if the series does not converge, takes more than 20,000 terms, or loses more than 7 digits.
    Ref:     DLMF 16.2.1.

    >>> float(round(hypergeometric_3F2([1.0, 1.0, 1.0], [2.0, 2.0], 0.5), 12))
    1.16448105293
    """
    above, below = as_array(a), as_array(b)
    if np.shape(above) != (3,) or np.shape(below) != (2,):
        shapes = f"{np.shape(above)} and {np.shape(below)}"
        raise ValueError(f"hypergeometric_3F2: a and b must have 3 and 2 elements, got shapes {shapes}")
    check_3F2_converges("hypergeometric_3F2", above[0], above[1], above[2], below[0], below[1], z)
    return _evaluate("hypergeometric_3F2", above, below, z)


def hypergeometric_pFq(a: Nested, b: Nested, z: Real) -> Real:
    """The hypergeometric function of p parameters a and q parameters b.

        pFq(a; b; z) = sum_k prod_i (a_i)_k / prod_j (b_j)_k z^k / k!

    Shapes:  a (p,), b (q,), z (); p at most q + 1.
    Domain:  every z if p <= q or the series ends; if p = q + 1, |z| < 1, or |z| = 1 and sum b > sum a; b = 0, -1, ...
             only if it ends before.
    Raises:  ValueError if the series does not converge, takes more than 20,000 terms, or loses more than 7 digits.
    Ref:     DLMF 16.2.1.

    >>> float(round(hypergeometric_pFq([1.0, 0.5], [2.0, 1.5], -1.2), 12))
    0.839360381888
    """
    above, below = as_array(a), as_array(b)
    if np.ndim(above) != 1 or np.ndim(below) != 1 or len(above) > len(below) + 1:
        shapes = f"{np.shape(above)} and {np.shape(below)}"
        raise ValueError(f"hypergeometric_pFq: a must be a vector with at most one element more than b, got {shapes}")
    if len(above) == len(below) + 1 and not abs(z) < 1.0 and not _ends(above):
        at = float(primal(z))
        if not (abs(z) == 1.0 and np.sum(below) > np.sum(above)):
            raise ValueError(f"hypergeometric_pFq: |z| must be less than 1 where a has one element more, got {at}")
    return _evaluate("hypergeometric_pFq", above, below, z)


def _ends(above: Nested) -> bool:
    return any(x <= 0.0 and x == np.floor(x) for x in map(primal, above))


def _evaluate(name: str, above: Nested, below: Nested, z: Real) -> Real:
    p, q = len(above), len(below)
    value = _series(p, q)(*[0.0] * (p + q + 1), *above, *below, z)
    if value != value:
        numbers = [[float(primal(x)) for x in xs] for xs in (above, below)]
        given = f"{numbers[0]}, {numbers[1]} and z = {float(primal(z))}"
        raise ValueError(f"{name}: the series must converge without loss, got {given}")
    return value


@functools.cache
def _series(p: int, q: int) -> ScalarRule:
    """The rule for derivatives of pFq of given orders in all parameters and z; the orders come first."""
    count = p + q + 1
    orders, names = [f"n{k}" for k in range(count)], [f"x{k}" for k in range(count)]
    name, args = f"hypergeometric_series_{p}_{q}", ", ".join([*orders, *names])
    value = f"def {name}({args}):\n    return total(({', '.join(orders)},), ({', '.join(names)},), {p})\n"
    parts = ["0.0"] * count
    for k in range(count):
        above = ", ".join(f"rint({n}) + 1.0" if i == k else n for i, n in enumerate(orders))
        parts.append(f"{name}({above}, {', '.join(names)})")
    body = f"def partials(z, {args}):\n    return {', '.join(parts)}\n"
    rule = ScalarRule(_home(function_of_text(value, name, {"total": sum_series})), None, None, False, ())
    rule.partials(_home(function_of_text(body, "partials", {name: rule, "rint": rint})))
    add_unlisted(rule)
    return rule


def _home(function):  # type: ignore[no-untyped-def]
    function.__module__ = __name__
    return function


_SUMS = 4097


def extrapolate_sums(sums, z, excess, logs):  # type: ignore[no-untyped-def]
    """The sum of the series at z = 1 or -1; nan if it diverges.

    At 1 the sum of the first n terms misses n^-excess (c_0 + c_1 / n + ...), where derivatives in a parameter make c_j
    a polynomial in log n; at -1 the terms alternate.
    """
    if z < 0.0:
        found = sums[-40:]
    elif not excess > 0.0:
        return math.nan
    else:
        found = [sums[2**k - 1] for k in range(4, 13)]
    count = len(found)
    for step in range(count - 1):
        ratio = -1.0 if z < 0.0 else 2.0 ** (excess + step // (logs + 1))
        for j in range(count - 1 - step):
            found[j] = (ratio * found[j + 1] - found[j]) / (ratio - 1.0)
    return found[0]


def sum_series(orders, numbers, p):  # type: ignore[no-untyped-def]
    """The sum; nan if it takes too many terms or they cancel. Python runs it, and Numba compiles it.

    The term k is the product of z^k / k! and, for each parameter, of a polynomial's last coefficient.
    """
    count = len(numbers) - 1
    z, last = numbers[count], int(orders[count] + 0.5)
    scale, logs, excess = 1.0, 0, -1.0 * last
    ends, c = [0], [1.0]  # c[ends[i]:ends[i + 1]] is the polynomial of parameter i
    c.pop()
    for i in range(count):
        n = int(orders[i] + 0.5)
        logs += n
        excess += numbers[i] if i >= p else -numbers[i]
        c.append(1.0)
        for j in range(1, n + 1):
            scale *= j
            c.append(0.0)
        ends.append(len(c))
    total = largest = 0.0
    power, small, is_over = 1.0, 0, False
    on_circle = abs(z) == 1.0 and 2 * p == count + 1
    sums = [0.0]  # sums at points where the terms behave like powers of k
    sums.pop()
    for k in range(MOST_TERMS):
        if on_circle and len(sums) == _SUMS:
            return scale * extrapolate_sums(sums, z, excess, logs)
        if k >= last:
            term = power
            for i in range(count):
                term *= c[ends[i + 1] - 1]
            total += term
            largest = max(largest, abs(term))
            small = small + 1 if abs(term) <= 1e-17 * abs(total) else 0
            if small > 3 + logs + last or is_over:
                return scale * total if largest * 2e-16 <= LOST * abs(total) or total == 0.0 else math.nan
            if not math.isfinite(total):
                return math.nan
            if on_circle:
                sums.append(total)
        # z^(k - d) / (k - d)! for the derivative of order d in z, with a scale that keeps the polynomials small
        power *= (z if k >= last else 1.0) / (k + 1.0 - last if k >= last else 1.0)
        for i in range(count):
            x = numbers[i] + k
            size = max(abs(x), 1.0)
            if i < p:
                power *= size
                is_zero = True
                for j in range(ends[i + 1] - 1, ends[i], -1):
                    c[j] = (x * c[j] + c[j - 1]) / size
                    is_zero = is_zero and c[j] == 0.0
                c[ends[i]] = x * c[ends[i]] / size
                is_over = is_over or (is_zero and c[ends[i]] == 0.0)
            elif x == 0.0:
                return scale * total if is_over else math.nan
            else:
                power /= size
                c[ends[i]] = size * c[ends[i]] / x
                for j in range(ends[i] + 1, ends[i + 1]):
                    c[j] = (size * c[j] - c[j - 1]) / x
    return math.nan
