"""The special rules as functions of mpmath numbers; EXTRA says where else to look."""

import functools
import random
from fractions import Fraction

from mpmath import mp


def _exactly(function):
    """The function at so many more digits that sums of its arguments lose nothing, rounded to the digits asked for."""

    @functools.wraps(function)
    def evaluate(*args):
        exponents = [int(mp.mag(x)) for x in (*args, mp.one) if x]
        with mp.workprec(mp.prec + 2 * (max(exponents) - min(exponents)) + 30):
            z = function(*args)
        return +z

    return evaluate


# ---- gamma functions -------------------------------------------------------------------------------------------------
def _order(n):
    """n as the number of a derivative; one that is not tested is refused."""
    if not -0.5 <= n <= 12:
        raise ValueError("an order that is not tested")
    return int(mp.nint(n))


def _psi(n, x):
    """The n-th derivative of digamma; below 0 that of psi(x) = psi(1 - x) - pi cot(pi x)."""
    if x <= 0 and x == mp.floor(x):
        raise ValueError("a pole")
    return _cached_psi(n, x, mp.prec)


@functools.lru_cache(10_000)  # differences along n ask for the same x again
def _cached_psi(n, x, precision):
    if x > 0:
        return mp.psi(n, x)
    cot = mp.cospi(x) / mp.sinpi(x)
    coefficients = [0, 1]  # of the n-th derivative of cot(pi x), as (-pi)^n times a polynomial in cot(pi x)
    for _ in range(n):
        slope = [k * c for k, c in enumerate(coefficients)][1:]
        coefficients = [a + b for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    return (-1) ** n * mp.psi(n, 1 - x) - mp.pi * (-mp.pi) ** n * sum(c * cot**k for k, c in enumerate(coefficients))


_polygamma = lambda n, x: _psi(_order(n), x)


@_exactly
def _polygamma_difference(n, x, y):
    return _psi(_order(n), x + y) - _psi(_order(n), x)


@_exactly
def _beta(a, b):
    return mp.gamma(a) * mp.gamma(b) * mp.rgamma(a + b)


# ---- error functions -------------------------------------------------------------------------------------------------
def _erfcx(x):
    if x > 1e30:
        return _erfcx_tail(x)
    if x < -1e3:
        raise ValueError("an overflow")
    return mp.exp(x * x) * mp.erfc(x)


def _erfcx_tail(x):
    """The asymptotic series, of which a few terms are enough for x > 1e30."""
    total = term = 1 / (x * mp.sqrt(mp.pi))
    for k in range(1, 2 + mp.prec // 190):
        term *= -(2 * k - 1) / (2 * x * x)
        total += term
    return total


@_exactly
def _erfcx_integral(n, x):
    if x > 1e6:
        raise ValueError("an argument that is not tested")
    order = _order(n)
    with mp.workprec(mp.prec + 2 * order * max(0, int(mp.mag(x)))):
        before, z = 2 / mp.sqrt(mp.pi), _erfcx(x)
        for k in range(1, order + 1):
            before, z = z, (before - 2 * x * z) / (2 * k)
    return z


_ndtr = lambda x: mp.erfc(-x / mp.sqrt(2)) / 2


def _log_ndtr(x):
    if x > 0:
        return mp.log1p(-_ndtr(-x))
    return mp.log(_erfcx(-x / mp.sqrt(2)) / 2) - x * x / 2


def _ndtri(p):
    """Newton's method on log ndtr in the lower half, which is concave."""
    if not 0 < p < 1:
        raise ValueError("no probability")
    if p > 0.5:
        return -_ndtri(1 - p)
    if p == 0.5:
        return mp.zero
    with mp.workprec(mp.prec - int(mp.mag(0.5 - p)) + 60):
        target = mp.log(p)
        z = -mp.sqrt(-2 * target) if p < 0.1 else (p - 0.5) * mp.sqrt(2 * mp.pi)
        step = mp.one
        while abs(step) > abs(z) * mp.mpf(2) ** (30 - mp.prec):
            scaled = _erfcx(-z / mp.sqrt(2))
            step = (mp.log(scaled / 2) - z * z / 2 - target) * scaled * mp.sqrt(mp.pi / 2)
            z -= step
    return +z


# ---- logarithms ------------------------------------------------------------------------------------------------------
def _log1m_exp(x):
    if not x < 0:
        raise ValueError("outside the domain")
    return mp.log(-mp.expm1(x)) if x > -1 else mp.log1p(-mp.exp(x))


@_exactly
def _log_diff_exp(x, y):
    return x + _log1m_exp(y - x)


REFERENCE = {
    "fmax": max, "fmin": min, "expit": lambda x: 1 / (1 + mp.exp(-x)),
    "expit_slope": lambda x: mp.exp(-abs(x)) / (1 + mp.exp(-abs(x))) ** 2, "logit": lambda p: mp.log(p) - mp.log1p(-p),
    "log_expit": lambda x: -mp.log1p(mp.exp(-x)), "log1p_exp": lambda x: mp.log1p(mp.exp(x)),
    "log1m": lambda x: mp.log1p(-x), "log1m_exp": _log1m_exp, "log_diff_exp": _log_diff_exp, "erf": mp.erf,
    "erfc": mp.erfc, "erfcx": _erfcx, "erfcx_integral": _erfcx_integral, "ndtr": _ndtr, "ndtri": _ndtri,
    "log_ndtr": _log_ndtr, "gamma": mp.gamma, "gammaln": lambda x: mp.log(abs(mp.gamma(x))),
    "digamma": lambda x: _polygamma(mp.zero, x), "trigamma": lambda x: _polygamma(mp.one, x), "polygamma": _polygamma,
    "polygamma_difference": _polygamma_difference, "beta": _beta, "betaln": lambda a, b: mp.log(abs(_beta(a, b))),
}  # fmt: skip


def _orders_and(arity, count):
    """Points whose first argument is a small order and whose others are of moderate size."""
    numbers = random.Random(45)
    for _ in range(count):
        sizes = (10.0 ** numbers.uniform(-8.0, 3.0) for _ in range(arity - 1))
        yield (float(numbers.randrange(6)), *(numbers.choice((1.0, -1.0)) * x for x in sizes))


def _no_rounded_pole(x, y):
    """Whether x + y is no pole, or exactly one: not a pole only because it is rounded."""
    return not (x + y <= 0.0 and (x + y).is_integer()) or Fraction(x) + Fraction(y) == Fraction(x + y)


DOMAIN = {
    # beyond these sizes the reference takes seconds
    "polygamma_difference": lambda n, x, y: min(abs(x), abs(y)) > 1e-100 and _no_rounded_pole(x, y),
    "beta": _no_rounded_pole,
    "betaln": _no_rounded_pole,
}
EXTRA = {
    "erfcx_integral": lambda: _orders_and(2, 60),
    "polygamma": lambda: _orders_and(2, 60),
    "polygamma_difference": lambda: _orders_and(3, 30),
}
COUNT = {"beta": 25, "betaln": 25, "polygamma": 15, "polygamma_difference": 5}
