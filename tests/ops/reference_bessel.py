"""Bessel, Airy and elliptic functions and the exponential integrals, as functions of mpmath numbers."""

import functools

from mpmath import mp

from tests.ops.reference_pieces import _cached, _moderate, _require


# ---- Bessel functions ------------------------------------------------------------------------------------------------
def _exact(function):
    """With so many more digits that what mpmath adds up loses nothing."""

    @functools.wraps(function)
    def evaluate(*args):
        with mp.workprec(mp.prec + 60):
            z = function(*args)
        return +z

    return evaluate


def _positive(function):
    """For x > 0, which is the last argument."""

    @functools.wraps(function)
    def evaluate(*args):
        _require(args[-1] > 0)
        return _exact(function)(*args)

    return evaluate


def _besselk(v, x):
    """DLMF 10.27.4, beside a whole order; mpmath's takes a hundred times as long."""
    precision = mp.prec
    with mp.workprec(2 * precision + 3 * int(x) + 90):
        w = v + mp.mpf(2) ** (-precision - 30) if v == mp.nint(v) else v
        z = mp.pi / 2 * (mp.besseli(-w, x) - mp.besseli(w, x)) / mp.sinpi(w)
    return +z


def _of_order(function, scale):
    """The derivatives of a function of order and argument, which is scaled by e^(scale x)."""

    def moment(n, m, v, x):
        _require(x > 0)

        def of_order(w):  # (cosh t - 1)^m is a sum of exponentials, each of which moves the order
            terms = [(-1) ** j * mp.binomial(2 * m, j) * function(w - m + j, x) for j in range(2 * m + 1)]
            return mp.exp(scale * x) * sum(terms) / mp.mpf(-2 * scale) ** m

        with mp.workprec(mp.prec + 80 + 20 * m):
            z = mp.diff(of_order, v, n) if n else of_order(v)
        return +z

    return moment


_ive_moment, _kve_moment = _of_order(mp.besseli, -1), _of_order(_besselk, 1)


@_cached
def _ive_derivative(n, m, v, x):
    return _ive_moment(n, m, v, x)


@_cached
def _kve_derivative(n, m, v, x):
    return _kve_moment(n, m, v, x)


@_cached
def _jv_derivative(n, v, x):
    _require(x > 0)
    with mp.workprec(mp.prec + 60):
        z = mp.diff(lambda w: mp.besselj(w, x), v, n) if n else mp.besselj(v, x)
    return +z


@_cached
def _yv_derivative(n, v, x):
    _require(x > 0)
    with mp.workprec(mp.prec + 60):
        z = mp.diff(lambda w: mp.bessely(w, x), v, n) if n else mp.bessely(v, x)
    return +z


# ---- elliptic integrals ----------------------------------------------------------------------------------------------
@_cached
def _elliptic_moment(n, m, p):
    """The Beta function times 2F1, by DLMF 15.6.1, with the parameter 1 - p."""
    _require(p > 0)
    return mp.beta(n + 0.5, 0.5) / 2 * mp.hyp2f1(m + 0.5, n + 0.5, n + 1, 1 - p)


@_cached
def _elliptic_part(n, m, phi, k2):
    """Quadrature; of the whole periods their value."""
    _require(k2 < 1)
    turns = mp.nint(phi / mp.pi)
    rest = phi - turns * mp.pi
    part = mp.quad(lambda t: mp.sin(t) ** (2 * n) * (1 - k2 * mp.sin(t) ** 2) ** (-m - 0.5), [0, rest / 2, rest])
    return part + (2 * turns * _elliptic_moment(n, m, 1 - k2) if turns else 0)


def _ellipkinc(phi, k2):
    _require(k2 < 1)
    return mp.ellipf(phi, k2)


def _ellipeinc(phi, k2):
    _require(k2 < 1)
    return mp.ellipe(phi, k2)


# ---- integrals of exponentials and Gaussians -------------------------------------------------------------------------
@_cached
def _expn(n, x):
    _require(x > 0)
    return mp.expint(n, x)


def _dawsn(x):
    with mp.workprec(mp.prec + 3 * int(min(x * x, 10**6)) + 60):
        z = mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)
    return +z


@_cached
def _dawsn_derivative(n, x):
    with mp.workprec(mp.prec + 60 + 40 * n):
        before, z = _dawsn(x), 1 - 2 * x * _dawsn(x)
        if n == 0:
            return before
        for k in range(1, n):
            before, z = z, -2 * (x * z + k * before)
    return z


def _owens_t(h, a):
    """Owen's series of a in (0, 1), to which symmetries lead."""
    h, a, sign = abs(h), abs(a), mp.sign(a)
    if not a:
        return mp.zero
    if a > 1:
        with mp.workprec(mp.prec + 60 + 3 * int(h * h)):
            p, q = mp.ncdf(h), mp.ncdf(a * h)
            z = (p + q) / 2 - p * q - _owens_t(a * h, 1 / a)
        return sign * z
    enough = mp.mpf(2) ** (-mp.prec - 20)
    with mp.workprec(mp.prec + 60 + 3 * int(h * h)):
        half = h * h / 2
        part = term = mp.exp(-half)
        total, power, k = mp.zero, a, 0
        while abs(power * (1 - part)) > enough * abs(a):
            total += power / (2 * k + 1) * (1 - part)
            k += 1
            power *= -a * a
            term *= half / k
            part += term
        z = (mp.atan(a) - total) / (2 * mp.pi)
    return sign * z


def _ndtri_exp(y):
    """Newton's method on the logarithm of ndtr."""
    _require(y < 0)
    z = -mp.sqrt(-2 * y) if y < -1 else mp.mpf(0)
    for _ in range(200):
        tail = mp.erfc(-z / mp.sqrt(2)) / 2
        step = (mp.log(tail) - y) * tail * mp.sqrt(2 * mp.pi) * mp.exp(z * z / 2)
        z -= step
        if abs(step) < abs(z) * mp.mpf(2) ** (20 - mp.prec):
            break
    return z


def _spence(x):
    _require(x > 0)
    return mp.re(mp.polylog(2, 1 - x))


def _lambert(branch):
    def evaluate(x):
        _require(x > -mp.exp(-1) and (x < 0 or branch == 0))
        return mp.re(mp.lambertw(x, branch))

    return evaluate


def _wrightomega(x):
    """Newton's method on w + log w = x."""
    w = mp.exp(x) if x < -2 else x if x > 2 else mp.one
    for _ in range(200):
        step = (w + mp.log(w) - x) / (1 + 1 / w)
        w = w - step if step < w else w / 2
        if abs(step) < abs(w) * mp.mpf(2) ** (20 - mp.prec):
            break
    return w


REFERENCE = {
    "j0": lambda x: mp.besselj(0, x), "j1": lambda x: mp.besselj(1, x), "y0": _positive(lambda x: mp.bessely(0, x)),
    "y1": _positive(lambda x: mp.bessely(1, x)), "i0": lambda x: mp.besseli(0, x), "i1": lambda x: mp.besseli(1, x),
    "i0e": lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), "i1e": lambda x: mp.exp(-abs(x)) * mp.besseli(1, x),
    "k0": _positive(lambda x: _besselk(mp.zero, x)), "k1": _positive(lambda x: _besselk(mp.one, x)),
    "k0e": _positive(lambda x: mp.exp(x) * _besselk(mp.zero, x)),
    "k1e": _positive(lambda x: mp.exp(x) * _besselk(mp.one, x)), "jv": _positive(mp.besselj),
    "yv": _positive(mp.bessely), "iv": _positive(mp.besseli),
    "ive": _positive(lambda v, x: mp.exp(-x) * mp.besseli(v, x)), "kv": _positive(_besselk),
    "kve": _positive(lambda v, x: mp.exp(x) * _besselk(v, x)), "ive_derivative": _ive_derivative,
    "kve_derivative": _kve_derivative, "jv_derivative": _jv_derivative, "yv_derivative": _yv_derivative,
    "airy_ai": mp.airyai, "airy_aip": lambda x: mp.airyai(x, derivative=1), "airy_bi": mp.airybi,
    "airy_bip": lambda x: mp.airybi(x, derivative=1), "ellipk": mp.ellipk, "ellipkm1": lambda p: mp.ellipk(1 - p),
    "ellipe": mp.ellipe, "elliptic_moment": _elliptic_moment, "ellipkinc": _ellipkinc, "ellipeinc": _ellipeinc,
    "elliptic_part": _elliptic_part, "exp1": _positive(mp.e1), "expi": mp.ei, "expn": _expn, "si": mp.si,
    "ci": _positive(mp.ci), "shi": mp.shi, "chi": _positive(mp.chi), "erfi": mp.erfi, "dawsn": _dawsn,
    "dawsn_derivative": _dawsn_derivative, "fresnel_s": mp.fresnels, "fresnel_c": mp.fresnelc, "owens_t": _owens_t,
    "ndtri_exp": _ndtri_exp, "spence": _spence, "lambert_w0": _lambert(0), "lambert_wm1": _lambert(-1),
    "wrightomega": _wrightomega,
}  # fmt: skip


def _orders(names, ranges, count, below=3, seed=61):
    """Points whose first arguments are orders below a number, and others from `_moderate`'s ranges."""
    for k, point in enumerate(_moderate(ranges, count, seed)):
        yield (*(float((k // below**j) % below) for j in range(names)), *point)


_within = lambda low, high: lambda *args: all(low < abs(x) < high for x in args)
_of_sizes = lambda v, x: 1e-3 < abs(v) < 60.0 and 1e-3 < x < 300.0
ORDER_AND_ARGUMENT = [("-1", "1.3"), ("-1.5", "2")]
DOMAIN = {
    **dict.fromkeys(("j0", "j1", "i0", "i1", "i0e", "i1e"), _within(1e-20, 600.0)),
    **dict.fromkeys(("k0", "k1", "k0e", "k1e", "y0", "y1"), _within(1e-10, 100.0)),  # beyond, mpmath takes its time
    **dict.fromkeys(("jv", "yv", "iv", "kv", "kve"), _of_sizes),
    "ive": lambda v, x: v > 0.0 and _of_sizes(v, x),  # the derivative in x at negative orders loses digits
    "ive_derivative": lambda n, m, v, x: v > 0.0 and n < 1.5 and m < 1.5 and _of_sizes(v, x),
    "kve_derivative": lambda n, m, v, x: n < 1.5 and m < 1.5 and _of_sizes(v, x),
    "jv_derivative": lambda n, v, x: n < 1.5 and _of_sizes(v, x),
    "yv_derivative": lambda n, v, x: v > 1.0 and n < 1.5 and _of_sizes(v, x),
    **dict.fromkeys(("airy_ai", "airy_aip", "airy_bi", "airy_bip"), _within(1e-20, 60.0)),
    **dict.fromkeys(("ellipk", "ellipkm1", "ellipe"), _within(1e-20, 1e15)),
    "elliptic_moment": lambda n, m, p: n < 4.0 and m < 4.0 and 1e-12 < p < 1e12,
    "elliptic_part": lambda n, m, phi, k2: n < 3.0 and m < 3.0 and 1e-3 < abs(phi) < 9.0 and 1e-4 < abs(k2) < 1e2,
    **dict.fromkeys(("ellipkinc", "ellipeinc"), lambda phi, k2: 1e-3 < abs(phi) < 9.0 and 1e-4 < abs(k2) < 1e3),
    **dict.fromkeys(("exp1", "expi", "si", "ci", "shi", "chi"), _within(1e-20, 600.0)),
    "expn": lambda n, x: n < 9.0 and n == round(n) and 1e-6 < x < 600.0,
    "erfi": _within(1e-20, 26.0),
    "dawsn": _within(1e-20, 60.0),
    "dawsn_derivative": lambda n, x: n < 0.5 and 1e-20 < abs(x) < 60.0,
    **dict.fromkeys(("fresnel_s", "fresnel_c"), _within(1e-20, 30.0)),
    "owens_t": lambda h, a: abs(h) < 8.0 and 1e-3 < abs(a) < 20.0,
    "ndtri_exp": lambda y: 1e-10 < -y < 1e4,
    "spence": _within(1e-20, 1e10),
    **dict.fromkeys(("lambert_w0", "lambert_wm1"), _within(1e-20, 1e20)),
    "wrightomega": _within(1e-20, 600.0),
}
EXTRA = {
    **dict.fromkeys(("jv", "yv", "iv", "ive", "kv", "kve"), lambda: _moderate(ORDER_AND_ARGUMENT, 36, 62)),
    "ive_derivative": lambda: _orders(2, ORDER_AND_ARGUMENT, 32, 2),
    "kve_derivative": lambda: _orders(2, ORDER_AND_ARGUMENT, 32, 2),
    "jv_derivative": lambda: _orders(1, ORDER_AND_ARGUMENT, 36, 2),
    "yv_derivative": lambda: _orders(1, [("0", "1.3"), ("-1.5", "2")], 36, 2),
    "elliptic_moment": lambda: _orders(2, [("-4", "4")], 36),
    "elliptic_part": lambda: _orders(2, [("-1", "0.6"), (-3.0, 0.97)], 32),
    "ellipkinc": lambda: _moderate([("-1", "0.6"), (-3.0, 0.97)], 36, 63),
    "ellipeinc": lambda: _moderate([("-1", "0.6"), (-3.0, 0.97)], 36, 64),
    "expn": lambda: _orders(1, [("-3", "2")], 36),
    "dawsn_derivative": lambda: _orders(1, [("-2", "1.6")], 36, 1),
    "owens_t": lambda: _moderate([(-5.0, 5.0), ("-2", "1")], 36, 65),
    "ndtri_exp": lambda: _moderate([(-30.0, -0.01)], 36, 66),
    "lambert_w0": lambda: _moderate([(-0.3678, 3.0)], 36, 67),
    "lambert_wm1": lambda: _moderate([(-0.3678, -1e-6)], 40, 68),
}
COUNT = dict.fromkeys(REFERENCE, 12) | dict.fromkeys(("ive_derivative", "elliptic_part", "elliptic_moment"), 4)
COUNT["kve_derivative"] = 2
VALUES = {"ive": 400.0, "kv": 800.0, "kve": 800.0, "yv": 8000.0}  # SciPy's
EXCEPTIONS = {"jv": 100.0}
