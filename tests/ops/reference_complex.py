"""Parts of functions of a complex number as functions of two mpmath numbers."""

import random

from mpmath import mp


def _part(function, part):
    return lambda x, y: getattr(function(mp.mpc(x, y)), part)


REFERENCE = {
    "reciprocal_real": lambda x, y: x / (x * x + y * y), "log_abs": lambda x, y: mp.log(x * x + y * y) / 2,
    "sqrt_real": _part(mp.sqrt, "real"), "sqrt_imag": _part(mp.sqrt, "imag"), "tan_real": _part(mp.tan, "real"),
    "tan_imag": _part(mp.tan, "imag"),
    "arcsin_real": _part(mp.asin, "real"), "arcsin_imag": _part(mp.asin, "imag"),
    "arccos_real": _part(mp.acos, "real"), "arctan_real": _part(mp.atan, "real"),
    "arctan_imag": _part(mp.atan, "imag"),
}  # fmt: skip

_is_moderate = lambda x, y: 1e-100 < abs(x) < 1e100 and 1e-100 < abs(y) < 1e100
DOMAIN = dict.fromkeys(REFERENCE, _is_moderate)


def _around_one():
    numbers = random.Random(47)
    for _ in range(60):
        yield numbers.uniform(-3.0, 3.0), numbers.uniform(-3.0, 3.0)


EXTRA = dict.fromkeys(REFERENCE, _around_one)
