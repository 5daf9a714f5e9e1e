"""Entropies, powers, remainders, zeta and quotients of gamma functions, as functions of mpmath numbers."""

import functools
import random

from mpmath import mp

from tests.ops.reference_special import _exactly, _order, _polygamma


def _cached(function):
    """The function of rounded orders, which are told to the judge; it keeps what it gave."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    known = functools.lru_cache(10_000)(lambda precision, *args: function(*args))

    @functools.wraps(function)
    def evaluate(*args):
        return +known(mp.prec, *(_order(x) if k in evaluate.orders else x for k, x in enumerate(args)))

    evaluate.orders = [k for k, name in enumerate(names) if name in ("n", "m", "d")]
    return evaluate


def _require(condition):
    if not condition:
        raise ValueError("outside the domain")


def _entr(x):
    _require(x >= 0)
    return -x * mp.log(x) if x else mp.zero


def _rel_entr(x, y):
    _require(x > 0 and y > 0)
    return x * mp.log(x / y)


@_exactly
def _kl_div(x, y):
    return _rel_entr(x, y) - x + y


def _log1pmx(x):
    _require(x > -1)
    with mp.workprec(mp.prec + 2 * abs(int(mp.mag(x or 1)))):
        z = mp.log1p(x) - x
    return +z


def _boxcox(x, a):
    _require(x > 0)
    return mp.expm1(a * mp.log(x)) / a if a else mp.log(x)


def _boxcox1p(x, a):
    _require(x > -1)
    return mp.expm1(a * mp.log1p(x)) / a if a else mp.log1p(x)


def _inv_boxcox(x, a):
    _require(a * x > -1)
    return mp.exp(mp.log1p(a * x) / a) if a else mp.exp(x)


def _inv_boxcox1p(x, a):
    _require(a * x > -1)
    return mp.expm1(mp.log1p(a * x) / a) if a else mp.expm1(x)


def _quotient_derivative(n, x, derivatives):
    """The n-th derivative of f(x) / x by Leibniz's rule, from those of f."""
    with mp.workprec(mp.prec + 40 + (n + 1) * abs(int(mp.mag(x)))):
        slopes = derivatives(+x)
        terms = [
            mp.binomial(n, k) * slopes(k) * (-1) ** (n - k) * mp.factorial(n - k) / x ** (n - k + 1)
            for k in range(n + 1)
        ]
        z = mp.fsum(terms)
    return +z


@_cached
def _exprel_derivative(n, x):
    return _quotient_derivative(n, x, lambda x: lambda k: mp.exp(x) if k else mp.expm1(x))


@_cached
def _log1prel_derivative(n, x):
    _require(x > -1)
    return _quotient_derivative(
        n, x, lambda x: lambda k: (-1) ** (k - 1) * mp.factorial(k - 1) / (1 + x) ** k if k else mp.log1p(x)
    )


def _truncated(x, y):
    quotient = x / y
    return x - y * (mp.floor(quotient) if quotient > 0 else mp.ceil(quotient))


def _inverse(function, slope, y, start):
    """Newton's method at twice the digits."""
    with mp.workprec(mp.prec + 60):
        z = start
        for _ in range(12):
            step = (function(z) - y) / slope(z)
            z -= step
            if abs(step) < abs(z) * mp.mpf(2) ** (-mp.prec // 2):
                break
        for _ in range(2):
            z -= (function(z) - y) / slope(z)
    return +z


def _ndtri_of(p):
    from tests.ops.reference_special import _ndtri

    return _ndtri(p)


def _erfcinv(y):
    _require(0 < y < 2)
    with mp.workprec(mp.prec + 20):
        return -_ndtri_of(y / 2) / mp.sqrt(2)


def _erfinv(y):
    _require(-1 < y < 1)
    with mp.workprec(mp.prec + 20 + 2 * abs(int(mp.mag(y or 1)))):
        z = _ndtri_of((1 + y) / 2) / mp.sqrt(2)
    return +z


def _log_mix(theta, x, y):
    _require(0 <= theta <= 1)
    top = max(x, y)
    a, b = x - top, y - top
    with mp.workprec(mp.prec + 200):
        z = top + mp.log1p(theta * mp.expm1(a) + (1 - theta) * mp.expm1(b))
    return +z


@_cached
def _multigammaln(a, d):
    _require(d >= 1 and a > (d - 1) / mp.mpf(2))
    logs = [mp.loggamma(a - k / mp.mpf(2)) for k in range(d)]
    return d * (d - 1) * mp.log(mp.pi) / 4 + mp.fsum(logs)


@_cached
def _multipolygamma(n, a, d):
    _require(d >= 1 and a > (d - 1) / mp.mpf(2))
    return mp.fsum(_polygamma(mp.mpf(n), a - k / mp.mpf(2)) for k in range(d))


@_cached
def _zeta_derivative(n, s, q):
    _require(s > 1 and q > 0)
    return mp.zeta(s, q, n)


@_exactly
def _poch(x, m):
    return mp.gammaprod([x + m], [x])


@_exactly
def _binom(n, k):
    return mp.gammaprod([n + 1], [k + 1, n - k + 1])


@_cached
def _spherical_jn(n, x):
    if not x:
        return mp.one if n == 0 else mp.zero
    with mp.workprec(mp.prec + 20 + 2 * abs(int(mp.mag(x)))):
        return mp.sqrt(mp.pi / (2 * abs(x))) * mp.besselj(n + mp.mpf(1) / 2, abs(x)) * (-1 if x < 0 and n % 2 else 1)


def _gammasgn(x):
    _require(x > 0 or x != mp.floor(x))
    return mp.one if x > 0 else mp.mpf(-1) ** int(mp.ceil(-x))


REFERENCE = {
    "xlogy": lambda x, y: x * mp.log(y) if x else mp.zero, "xlog1py": lambda x, y: x * mp.log1p(y) if x else mp.zero,
    "entr": _entr, "rel_entr": _rel_entr, "kl_div": _kl_div, "log1pmx": _log1pmx,
    "cosm1": lambda x: -2 * mp.sin(x / 2) ** 2, "exprel": lambda x: mp.expm1(x) / x if x else mp.one,
    "exprel_derivative": _exprel_derivative, "log1prel_derivative": _log1prel_derivative, "boxcox": _boxcox,
    "boxcox1p": _boxcox1p, "inv_boxcox": _inv_boxcox, "inv_boxcox1p": _inv_boxcox1p, "fmod": _truncated,
    "sqrt_at_rest": mp.sqrt, "fdim": lambda x, y: max(x - y, mp.zero),
    "ldexp": lambda x, n: x * mp.mpf(2) ** int(mp.nint(n)), "fma": _exactly(lambda x, y, a: x * y + a),
    "erfinv": _erfinv, "erfcinv": _erfcinv,
    "Phi_approx": lambda x: 1 / (1 + mp.exp(-x * (mp.mpf(0.07056) * x * x + mp.mpf(1.5976)))), "log_mix": _log_mix,
    "logaddexp2": lambda x, y: max(x, y) + mp.log1p(mp.mpf(2) ** (-abs(x - y))) / mp.log(2), "rgamma": mp.rgamma,
    "gammasgn": _gammasgn, "poch": _poch, "binom": _binom, "multigammaln": _multigammaln,
    "multipolygamma": _multipolygamma, "zeta": lambda s, q: _zeta_derivative(mp.zero, s, q),
    "zeta_derivative": _zeta_derivative, "spherical_jn": _spherical_jn, "sinc": lambda x: mp.sincpi(x),
}  # fmt: skip


def _moderate(draws, count=80, seed=46):
    """Points drawn from ranges: ("order", largest), or the ends of a range, of logarithms where both are strings."""
    numbers = random.Random(seed)

    def draw(low, high):
        if low == "order":
            return float(numbers.randrange(high))
        return 10.0 ** numbers.uniform(float(low), float(high)) if isinstance(low, str) else numbers.uniform(low, high)

    for _ in range(count):
        yield tuple(draw(*ends) for ends in draws)


DOMAIN = {
    "exprel_derivative": lambda n, x: n == round(n) and 1e-50 < abs(x) < 1e4,
    "log1prel_derivative": lambda n, x: 1e-50 < abs(x) < 1e4,
    "fmod": lambda x, y: y != 0.0 and 1e-60 < abs(x / y) < 1e15,
    "boxcox": lambda x, a: x > 0.0 and 1e-100 < abs(a) < 1e100,
    "boxcox1p": lambda x, a: 1e-100 < abs(a) < 1e100 and abs(x) > 1e-100,
    "inv_boxcox": lambda x, a: 1e-100 < abs(a) < 1e100 and 1e-100 < abs(x) < 1e100,
    "inv_boxcox1p": lambda x, a: 1e-100 < abs(a) < 1e100 and 1e-100 < abs(x) < 1e100,
    "ldexp": lambda x, n: abs(n) < 1e4,
    "rgamma": lambda x: abs(x) < 1e4,
    "gammasgn": lambda x: abs(x) < 1e4,
    "poch": lambda x, m: 1e-50 < x < 1e6 and 1e-50 < abs(m) < 1e3 and x + m > 0.0,
    "binom": lambda n, k: -1.0 < n < 1e6 and -1.0 < k < n + 1.0 and min(abs(n), abs(k)) > 1e-50,
    "multigammaln": lambda a, d: a < 1e6 and d == round(d),
    "multipolygamma": lambda n, a, d: a < 1e6,
    "zeta": lambda s, q: 1.0 < s < 60.0 and 1e-3 < q < 1e4,
    "zeta_derivative": lambda n, s, q: 1.0 < s < 60.0 and 1e-3 < q < 1e4,
    "spherical_jn": lambda n, x: 1e-50 < abs(x) < 1e5,
    "kl_div": lambda x, y: x > 1e-200 and 1e-200 < y < 1e200,
    "Phi_approx": lambda x: abs(x) < 1e5,
}
EXTRA = {
    "exprel_derivative": lambda: _moderate([("order", 4), (-40.0, 40.0)]),
    "log1prel_derivative": lambda: _moderate([("order", 4), ("-5", "2")], 50),
    "boxcox": lambda: _moderate([("-3", "3"), (-3.0, 3.0)]),
    "boxcox1p": lambda: _moderate([(-0.95, 3.0), (-3.0, 3.0)]),
    "inv_boxcox": lambda: _moderate([(-1.0, 3.0), ("-6", "0")]),
    "inv_boxcox1p": lambda: _moderate([(-1.0, 3.0), ("-6", "0")]),
    "kl_div": lambda: _moderate([(0.9, 1.1), (0.9, 1.1)]),
    "rel_entr": lambda: _moderate([(0.1, 3.0), (0.1, 3.0)]),
    "log_mix": lambda: _moderate([(0.0, 1.0), (-30.0, 30.0), (-30.0, 30.0)]),
    "ldexp": lambda: _moderate([(-3.0, 3.0), ("order", 60)]),
    "poch": lambda: _moderate([("-3", "4"), ("-3", "2")]),
    "binom": lambda: ((k + rest, k) for rest, k in _moderate([("-3", "3"), ("-3", "3")])),
    "multigammaln": lambda: ((3.0 + a, d + 1.0) for a, d in _moderate([("-3", "4"), ("order", 3)], 30)),
    "multipolygamma": lambda: (
        (n, 3.0 + a, d + 1.0) for n, a, d in _moderate([("order", 3), ("-3", "3"), ("order", 3)], 30)
    ),
    "zeta": lambda: (*_moderate([(1.05, 20.0), ("-2", "2")], 30), (2.3, 1.0), (30.0, 1.0)),
    "zeta_derivative": lambda: (*_moderate([("order", 3), (1.05, 20.0), ("-2", "2")], 30), (1.0, 2.3, 1.0)),
    "spherical_jn": lambda: _moderate([("order", 6), ("-4", "2")], 60),
    "Phi_approx": lambda: _moderate([(-9.0, 9.0)]),
    "erfinv": lambda: _moderate([(-1.0, 1.0)]),
}
COUNT = {
    "zeta": 10, "zeta_derivative": 5, "multigammaln": 10, "multipolygamma": 10, "exprel_derivative": 15,
    "log1prel_derivative": 15, "spherical_jn": 15, "poch": 20, "binom": 20,
}  # fmt: skip
