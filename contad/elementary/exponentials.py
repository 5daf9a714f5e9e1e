"""exp, exp2, expm1, and functions made from an exponential: hyperbolic functions and the logistic function.

x = k ln 2 + r with |r| <= ln 2 / 2 and an integer k, so that e^x = 2^k e^r. Near-minimax polynomials approximate the
quotients of e^r - 1 - r by powers of r. Sums that must not lose digits consist of a number and a remainder.
"""

from typing import Any

from contad.elementary.bits import absolute, choose, fma, from_bits, kernel, polynomial, to_bits, with_sign

ONE = 0x3FF0000000000000  # the bits of 1.0
ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it leaves an integer in the last bits
LOG2_E = 1.4426950408889634
LN2, LN2_REST = 0.6931471805599453, 2.3190468138462996e-17
TINY = 1e-17  # below this f(x) = x to the last bit

# (e^r - 1 - r) / r^2
_SECOND = polynomial((
    0.5000000000000012, 0.166666666666667, 0.04166666666652158, 0.008333333333307236, 0.0013888888945669002,
    0.00019841269917744313, 2.4801491139508595e-05, 2.755721571549087e-06, 2.7630906383774307e-07,
    2.5118101212188446e-08,
))  # fmt: skip
# (e^r - 1 - r - r^2 / 2) / r^3
_THIRD = polynomial((
    0.16666666666666669, 0.041666666666666664, 0.008333333333330051, 0.0013888888888886545, 0.00019841269863105968,
    2.4801587317181886e-05, 2.7557268378684192e-06, 2.755728291148268e-07, 2.5100424157005067e-08,
    2.0911264239196083e-09,
))  # fmt: skip
# (sinh x - x) / x^3 by x^2
_SINH = polynomial((
    1 / 6, 1 / 120, 1 / 5040, 1 / 362880, 1 / 39916800, 1 / 6227020800, 1 / 1307674368000, 1 / 355687428096000,
))  # fmt: skip


@kernel
def clamp(x: Any, low: Any, high: Any) -> Any:
    """x clamped to low and high; a nan stays nan."""
    x = choose(x > high, high, x)
    return choose(x < low, low, x)


@kernel
def power_of_2(k: Any) -> Any:
    """2^k for an integer k in [-1022, 1023]."""
    return from_bits((to_bits(k + ROUND) << 52) + ONE)


@kernel
def scale(y: Any, k: Any) -> Any:
    """y 2^k in two steps, as 2^k may be out of range; results overflow, or become subnormal with one rounding."""
    half = fma(k, 0.5, ROUND)
    first = from_bits((to_bits(half) << 52) + ONE)
    second = from_bits((to_bits((k - (half - ROUND)) + ROUND) << 52) + ONE)
    return (y * first) * second


@kernel
def exp_parts(x: Any, rest: Any) -> Any:
    """k, p and the rounding error of p, where e^(x + rest) = 2^k (1 + p)."""
    k = fma(x, LOG2_E, ROUND) - ROUND
    high = fma(-k, LN2, x)
    low = fma(k, LN2_REST, -rest)
    r = high - low
    z = fma(r * r, fma(r, _THIRD(r), 0.5), -low)
    p = high + z
    return k, p, z - (p - high)


@kernel
def exp(x: Any) -> Any:
    """e^x."""
    x = clamp(x, -746.0, 710.0)
    k = fma(x, LOG2_E, ROUND) - ROUND
    high = fma(-k, LN2, x)
    low = k * LN2_REST
    r = high - low
    return scale(1.0 + (high + fma(r * r, _SECOND(r), -low)), k)


@kernel
def exp2(x: Any) -> Any:
    """2^x."""
    x = clamp(x, -1080.0, 1025.0)
    k = (x + ROUND) - ROUND
    f = x - k
    high = f * LN2
    k, p, rest = exp_parts_near(high, fma(f, LN2, -high) + f * LN2_REST, k)
    return scale(1.0 + (p + rest), k)


@kernel
def exp_parts_near(r: Any, rest: Any, k: Any) -> Any:
    """k, p and the rounding error of p, where 2^k e^(r + rest) = 2^k (1 + p), for |r| <= ln 2 / 2."""
    z = fma(r * r, fma(r, _THIRD(r), 0.5), rest)
    p = r + z
    return k, p, z - (p - r)


@kernel
def expm1(x: Any) -> Any:
    """e^x - 1."""
    k, p, rest = exp_parts(clamp(x, -40.0, 710.0), 0.0)
    s = power_of_2(k - 1.0)
    a = s - 0.5  # e^x - 1 = 2 (a + s p), halved so that 2^1024 has room
    y = fma(s, p, a)
    lost = fma(s, p, a - y)
    y = 2.0 * (y + (lost + fma(s, rest, (s - a) - 0.5)))
    return choose(absolute(x) < TINY, x, y)


@kernel
def add(x: Any, y: Any) -> Any:
    """x + y and its rounding error."""
    z = x + y
    back = z - x
    return z, (x - (z - back)) + (y - back)


@kernel
def divide(num: Any, num_rest: Any, den: Any, den_rest: Any) -> Any:
    """(num + num_rest) / (den + den_rest), with one correction."""
    reciprocal = 1.0 / den
    q = num * reciprocal
    return fma(fma(-q, den, num) + (num_rest - q * den_rest), reciprocal, q)


@kernel
def tanh(x: Any) -> Any:
    """(e^2a - 1) / (e^2a + 1) for a = |x|."""
    a = absolute(x)
    a = choose(a > 22.0, 22.0, a)
    k, p, rest = exp_parts(a + a, 0.0)
    s = power_of_2(k)
    b = s - 1.0
    above = fma(s, p, b)
    above_rest = fma(s, p, b - above) + s * rest
    below, lost = add(above, 2.0)
    y = with_sign(divide(above, above_rest, below, lost + above_rest), x)
    return choose(absolute(x) < TINY, x, y)


@kernel
def half_exponentials(a: Any) -> Any:
    """e^a / 4 and e^-a / 4 with their rounding errors, for 0 <= a <= 710.5."""
    k, p, rest = exp_parts(a, 0.0)
    s = power_of_2(k - 2.0)
    up = fma(s, p, s)
    up_rest = fma(s, p, s - up) + s * rest
    down = 0.0625 / up
    down_rest = (fma(-down, up, 0.0625) - down * up_rest) / up
    return up, up_rest, down, down_rest


@kernel
def sinh(x: Any) -> Any:
    """(e^x - e^-x) / 2, and its series near 0."""
    a = clamp(absolute(x), 0.0, 710.5)
    up, up_rest, down, down_rest = half_exponentials(a)
    y, lost = add(up, -down)
    y = 2.0 * (y + (lost + (up_rest - down_rest)))
    near = absolute(x) < 0.7
    small = choose(near, x, 0.0)
    return choose(near, fma(small * (small * small), _SINH(small * small), x), with_sign(y, x))


@kernel
def cosh(x: Any) -> Any:
    """(e^x + e^-x) / 2."""
    up, up_rest, down, down_rest = half_exponentials(clamp(absolute(x), 0.0, 710.5))
    y = up + down
    return 2.0 * (y + (((up - y) + down) + (up_rest + down_rest)))


@kernel
def expit(x: Any) -> Any:
    """1 / (1 + e^-x), for negative x as e^x / (1 + e^x)."""
    a = -absolute(x)
    k, p, rest = exp_parts(choose(a < -746.0, -746.0, a), 0.0)
    e = 1.0 + p
    e_rest = (p - (e - 1.0)) + rest
    s = power_of_2(choose(k < -200.0, -200.0, k))
    below = fma(s, e, 1.0)
    below_rest = fma(s, e, 1.0 - below) + s * e_rest
    negative = x < 0.0
    y = divide(choose(negative, e, 1.0), choose(negative, e_rest, 0.0), below, below_rest)
    return scale(y, choose(negative, k, 0.0))
