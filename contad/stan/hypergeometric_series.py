"""Stan's hypergeometric functions: Gauss's by the rule for SciPy's function, others by their series.

Derivatives of the series in its parameters and z are sums of the same kind, so derivatives of every order exist: the
terms are products of (a_i + e)_k and 1 / (b_j + f)_k as polynomials in the changes e and f.
"""

import functools
import itertools
import math
from collections.abc import Sequence

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
    rule = ScalarRule(_home(function_of_text(value, name, {"total": _sum})), None, None, False, ())
    rule.partials(_home(function_of_text(body, "partials", {name: rule, "rint": rint})))
    add_unlisted(rule)
    return rule


def _home(function):  # type: ignore[no-untyped-def]
    function.__module__ = __name__
    return function


_SUMS = 4097


def _extrapolate(sums: Sequence[float], z: float, excess: float, logs: int) -> float:
    """The sum of the series at z = 1 or -1; nan if it diverges.

    At 1 the sum of the first n terms misses n^-excess (c_0 + c_1 / n + ...), where derivatives in a parameter make c_j
    a polynomial in log n; at -1 the terms alternate.
    """
    if z < 0.0:
        found = list(sums[-40:])
        while len(found) > 1:
            found = [0.5 * (x + y) for x, y in itertools.pairwise(found)]
        return found[0]
    if not excess > 0.0:
        return math.nan
    found = [sums[2**k - 1] for k in range(4, 13)]
    for step in range(len(found) - 1):
        ratio = 2.0 ** (excess + step // (logs + 1))
        found = [(ratio * y - x) / (ratio - 1.0) for x, y in itertools.pairwise(found)]
    return found[0]


def _sum(orders: Sequence[float], numbers: Sequence[float], p: int) -> float:
    """The sum; nan if it takes too many terms or they cancel."""
    counts = [round(n) for n in orders]
    z, last = numbers[-1], counts[-1]
    series = [[1.0] + [0.0] * n for n in counts[:-1]]
    scale = math.prod(math.factorial(n) for n in counts[:-1])
    total = largest = 0.0
    power, small = 1.0, 0
    sums: list[float] = []  # sums at points where the terms behave like powers of k
    on_circle = abs(z) == 1.0 and 2 * p == len(numbers)
    for k in range(MOST_TERMS):
        if on_circle and len(sums) == _SUMS:
            excess = sum(numbers[p:-1]) - sum(numbers[:p]) - last
            return scale * _extrapolate(sums, z, excess, sum(counts[:-1]))
        if k >= last:
            term = power * math.prod(s[-1] for s in series)
            total += term
            largest = max(largest, abs(term))
            small = small + 1 if abs(term) <= 1e-17 * abs(total) else 0
            if small > 3 + sum(counts) or any(not any(s) for s in series[:p]):
                return scale * total if largest * 2e-16 <= LOST * abs(total) or total == 0.0 else math.nan
            if not math.isfinite(total):
                return math.nan
            sums.append(total)
        # z^(k - d) / (k - d)! for the derivative of order d in z, with a scale that keeps the polynomials small
        power *= (z if k >= last else 1.0) / (k + 1.0 - last if k >= last else 1.0)
        for i, s in enumerate(series):
            x = numbers[i] + k
            size = max(abs(x), 1.0)
            if i < p:
                power *= size
                for j in range(len(s) - 1, -1, -1):
                    s[j] = (x * s[j] + (s[j - 1] if j else 0.0)) / size
            elif x == 0.0:
                return scale * total if any(not any(v) for v in series[:p]) else math.nan
            else:
                power /= size
                for j in range(len(s)):
                    s[j] = (size * s[j] - (s[j - 1] if j else 0.0)) / x
    return math.nan
