"""Elementary functions of float32 numbers, of which a vector register holds twice as many: exp, log, log1p, tanh.

They are made as those of float64: reduced arguments, and polynomials whose coefficients are near-minimax for 24 bits.
All constants are float32, because Numba computes with float64 where one is. Integers are 32 bits of LLVM, because
Numba widens its own.

Ref: the coefficients of log are those of FreeBSD's logf; those of exp and tanh are Moshier's, of the library Cephes.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from contad.compile.emitting import ir
from contad.elementary.bits import absolute, choose, fma, kernel, polynomial, with_sign

F, _BITS = np.float32, ir.IntType(32)
ROUND = F(12582912.0)  # 1.5 * 2^23: adding it leaves an integer in the last bits
LOG2_E, LN2, LN2_REST = F(1.4426950408889634), F(0.693359375), F(-2.12194440e-4)
SMALLEST, SCALE_UP = F(1.1754943508222875e-38), F(33554432.0)  # the smallest normal number, and 2^25
ZERO, HALF, ONE, TWO, INF, NAN = F(0.0), F(0.5), F(1.0), F(2.0), F(np.inf), F(np.nan)
LEAST, MOST = F(-104.0), F(89.0)  # e^x is 0 below, and infinite above
SCALED = F(25.0)  # the exponent of SCALE_UP
LARGE, DOWN, DOWN_BY = F(1e9), F(2.0**-40), F(40.0)  # beyond LARGE, log1p x = log x, of x scaled by 2^-40
NEAR, FAR = F(0.625), F(9.02)  # tanh is a polynomial below the first, and 1 above the second
_ONE, _SQRT_HALF, _FRACTION = 0x3F800000, 0x3F3504F3, 0x007FFFFF  # bits: of 1 and sqrt(1/2); beside sign and exponent

# (e^r - 1 - r) / r^2
_SECOND = polynomial((
    5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2, 8.3334519073e-3, 1.3981999507e-3, 1.9875691500e-4,
))  # fmt: skip
# (2 artanh s - 2 s) / s^3 by s^2
_ARTANH = polynomial((0.66666662693, 0.40000972152, 0.28498786688, 0.24279078841))
# (tanh x - x) / x^3 by x^2
_TANH = polynomial((-3.33332819422e-1, 1.33314422036e-1, -5.37397155531e-2, 2.06390887954e-2, -5.70498872745e-3))


def _bits(n: int) -> Any:
    return ir.Constant(_BITS, n)


@intrinsic
def power_of_2(typing, k):  # type: ignore[no-untyped-def]
    """2^k for k + ROUND, with an integer k in [-126, 127]."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        exponent = builder.shl(builder.bitcast(args[0], _BITS), _bits(23))
        return builder.bitcast(builder.add(exponent, _bits(_ONE)), args[0].type)

    return types.float32(types.float32), emit


@intrinsic
def exponent(typing, x):  # type: ignore[no-untyped-def]
    """k of a positive normal number x = 2^k m with m in [sqrt(1/2), sqrt 2)."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        shifted = builder.add(builder.bitcast(args[0], _BITS), _bits(_ONE - _SQRT_HALF))
        return builder.sitofp(builder.sub(builder.lshr(shifted, _bits(23)), _bits(127)), args[0].type)

    return types.float32(types.float32), emit


@intrinsic
def mantissa(typing, x):  # type: ignore[no-untyped-def]
    """m of a positive normal number, likewise."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        shifted = builder.add(builder.bitcast(args[0], _BITS), _bits(_ONE - _SQRT_HALF))
        return builder.bitcast(builder.add(builder.and_(shifted, _bits(_FRACTION)), _bits(_SQRT_HALF)), args[0].type)

    return types.float32(types.float32), emit


@kernel
def exp(x: Any) -> Any:
    """e^x."""
    x = choose(x > MOST, MOST, x)
    x = choose(x < LEAST, LEAST, x)
    k = fma(x, LOG2_E, ROUND) - ROUND
    r = fma(-k, LN2_REST, fma(-k, LN2, x))
    y = ONE + fma(r * r, _SECOND(r), r)
    half = fma(k, HALF, ROUND)  # in two steps, as 2^k may be out of range
    return (y * power_of_2(half)) * power_of_2((k - (half - ROUND)) + ROUND)


@kernel
def log_of(f: Any, k: Any, rest: Any) -> Any:
    """log(2^k (1 + f)) + rest."""
    s = f / (TWO + f)
    z = s * s
    h = HALF * f * f
    return fma(k, LN2, f - (h - fma(s, fma(z, _ARTANH(z), h), fma(k, LN2_REST, rest))))


@kernel
def log(x: Any) -> Any:
    """The natural logarithm."""
    small = x < SMALLEST
    t = choose(small, x * SCALE_UP, x)
    y = log_of(mantissa(t) - ONE, exponent(t) - choose(small, SCALED, ZERO), ZERO)
    y = choose(x > ZERO, y, choose(x == ZERO, -INF, NAN))
    return choose(x == INF, x, y)


@kernel
def log1p(x: Any) -> Any:
    """log(1 + x)."""
    big = x > LARGE
    t = choose(big, x * DOWN, x)
    one = choose(big, ZERO, ONE)
    k = exponent(one + t)
    s = power_of_2(ROUND - k)
    a = fma(s, one, -ONE)
    f = fma(s, t, a)
    lost = fma(s, t, a - f)
    y = log_of(f, k + choose(big, DOWN_BY, ZERO), fma(-f, lost, lost))
    y = choose(x > -ONE, y, choose(x == -ONE, -INF, NAN))
    y = choose(x == INF, x, y)
    return choose(absolute(x) < SMALLEST, x, y)


@kernel
def tanh(x: Any) -> Any:
    """1 - 2 / (e^2a + 1) for a = |x|, and its series near 0."""
    a = absolute(x)
    far = ONE - TWO / (exp(TWO * choose(a > FAR, FAR, a)) + ONE)
    z = x * x
    near = fma(x * z, _TANH(z), x)
    return choose(a < NEAR, near, choose(x == x, with_sign(far, x), x))
