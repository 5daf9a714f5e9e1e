"""erf and erfc.

Near 0 a polynomial in x^2; elsewhere (1 + 2 a) e^(a^2) erfc(a) is a polynomial in t = (a - 4) / (a + 4), and e^(-a^2)
accounts for the rounding error of a^2.
"""

from typing import Any

from contad.elementary.bits import absolute, choose, fma, kernel, polynomial, with_sign
from contad.elementary.exponentials import exp_parts, power_of_2, scale

# erf(x) / x - 1 as a polynomial in x^2, and the function of a, in t
_ERF = polynomial((
    0.1283791670955126, -0.3761263890318375, 0.1128379167095479, -0.02686617064505929, 0.00522397762464027,
    -0.0008548326970222865, 0.00012055330711474509, -1.4925585364034764e-05, 1.6460837476786579e-06,
    -1.6348545014449612e-07, 1.4647647236580089e-08, -1.1325148462127806e-09, 5.87525304825349e-11,
))  # fmt: skip
_SCALED = polynomial((
    1.2329951186255526, -0.1396211168405629, 0.015379652102619922, 0.06809705425473524, -0.1010390660363087,
    0.09373283499686463, -0.06633036581241838, 0.037167515561312606, -0.016197734049903875, 0.005031969767355165,
    -0.0007577733959049305, -0.00019925557644039663, 0.0001506224375083246, -2.4402906433446464e-05,
    -1.122520079292869e-05, 5.717252348228949e-06, 3.0183386732211683e-07, -8.342233984175193e-07,
    6.249230403278907e-08, 1.1457613900416467e-07, -7.817467201846437e-09, -1.3399223154854282e-08,
    -1.7163595072231497e-09,
))  # fmt: skip


@kernel
def scaled_tail(a: Any) -> Any:
    """e^(a^2) erfc(a) and its rounding error, for a >= 0."""
    p = _SCALED((a - 4.0) / (a + 4.0))
    d = fma(2.0, a, 1.0)
    reciprocal = 1.0 / d
    q = p * reciprocal
    return q, (fma(-q, d, p) - q * fma(2.0, a, 1.0 - d)) * reciprocal


@kernel
def far_parts(a: Any) -> Any:
    """`scaled_tail` of a, and e^(-a^2) as k, p and the rounding error of 2^k (1 + p)."""
    q, q_rest = scaled_tail(a)
    h = a * a
    k, p, rest = exp_parts(-h, -fma(a, a, -h))
    return q, q_rest, k, p, rest


@kernel
def erf(x: Any) -> Any:
    """The error function."""
    a = absolute(x)
    q, q_rest, k, p, _ = far_parts(choose(a > 6.5, 6.5, a))
    y = with_sign(1.0 - power_of_2(k) * fma(1.0 + p, q, q_rest), x)
    z = choose(a < 1.0, x * x, 0.0)
    return choose(a < 1.0, fma(x, _ERF(z), x), y)


@kernel
def erfc(x: Any) -> Any:
    """1 - erf(x), without losing digits."""
    a = absolute(x)
    q, q_rest, k, p, rest = far_parts(choose(a > 28.0, 28.0, a))
    e = 1.0 + p
    e_rest = (p - (e - 1.0)) + rest
    y = scale(fma(e, q, fma(e, q_rest, e_rest * q)), k)
    y = choose(x < 0.0, 2.0 - y, y)
    z = choose(a < 0.75, x * x, 0.0)
    return choose(a < 0.75, (1.0 - x) - x * _ERF(z), y)
