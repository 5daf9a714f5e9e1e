"""Hypergeometric functions and their derivatives, as functions of mpmath numbers."""

from mpmath import mp

from tests.ops.reference_pieces import _moderate, _require


def _derive(f, orders, args):
    """The mixed derivative of f, of these orders in its arguments."""
    orders = tuple(round(float(n)) for n in orders)
    return mp.diff(f, args, orders) if any(orders) else f(*args)


def _wright(a, b, x):
    _require(a >= 0 and b >= 0 and x >= 0)
    total, k = mp.mpf(0), 0
    while True:
        term = x**k / mp.factorial(k) * mp.rgamma(a * k + b)
        total += term
        k += 1
        if k > 10 and abs(term) <= mp.eps / 1000 * abs(total):
            return total


REFERENCE = {
    "hyp0f1": mp.hyp0f1,
    "hyp1f1": mp.hyp1f1,
    "hyp2f1": mp.hyp2f1,
    "hyperu": mp.hyperu,
    "wright_bessel": _wright,
    "hyp0f1_derivative": lambda n, d, v, x: _derive(mp.hyp0f1, (n, d), (v, x)),
    "hyp1f1_derivative": lambda n, m, d, a, b, x: _derive(mp.hyp1f1, (n, m, d), (a, b, x)),
    "hyp2f1_derivative": lambda n, m, k, d, a, b, c, x: _derive(mp.hyp2f1, (n, m, k, d), (a, b, c, x)),
    "hyperu_derivative": lambda n, m, a, b, x: _derive(mp.hyperu, (n, m, 0), (a, b, x)),
    "wright_bessel_derivative": lambda n, m, d, a, b, x: _derive(_wright, (n, m, d), (a, b, x)),
}


def _tricomi(a, b, x):
    return (0.0 < a < 80.0 and abs(b) < 80.0 if a > 0.0 else a > -9.0 and -10.0 < b < 1.0) and 1e-3 < x < 1e4


DOMAIN = {
    "hyp0f1": lambda v, x: -0.9 < v < 90.0 and -1e4 < x < 1e4 and abs(v) > 1e-3,
    "hyp1f1": lambda a, b, x: abs(a) < 90.0 and -0.9 < b < 90.0 and abs(x) < 600.0 and abs(b) > 1e-3,
    "hyp2f1": lambda a, b, c, x: max(abs(a), abs(b)) < 90.0 and -0.9 < c < 90.0 and -1e4 < x < 0.999 and abs(c) > 1e-3,
    "hyperu": _tricomi,
    "wright_bessel": lambda a, b, x: 0.0 < a < 10.0 and 0.0 < b < 50.0 and 0.0 < x < 300.0,
}
DOMAIN |= {
    "hyp0f1_derivative": lambda n, d, v, x: DOMAIN["hyp0f1"](v, x),
    "hyp1f1_derivative": lambda n, m, d, a, b, x: DOMAIN["hyp1f1"](a, b, x),
    "hyp2f1_derivative": lambda n, m, k, d, a, b, c, x: DOMAIN["hyp2f1"](a, b, c, x),
    "hyperu_derivative": lambda n, m, a, b, x: _tricomi(a, b, x),
    "wright_bessel_derivative": lambda n, m, d, a, b, x: DOMAIN["wright_bessel"](a, b, x),
}


def _points(name, count):
    """Parameters that are small and large, and an x from the middle to the ends."""
    boxes = {
        "hyp0f1": [(-0.9, 30.0), (-300.0, 300.0)],
        "hyp1f1": [(-20.0, 20.0), (-0.9, 30.0), (-60.0, 60.0)],
        "hyp2f1": [(-9.0, 9.0), (-9.0, 9.0), (-0.9, 12.0), (-3.0, 0.99)],
        "hyperu": [(0.1, 20.0), (-20.0, 20.0), (0.01, 60.0)],
        "wright_bessel": [(0.01, 3.0), (0.0, 9.0), (0.001, 60.0)],
    }
    return _moderate(boxes[name], count, 71)


ORDERS = {
    "hyp0f1": [(0.0, 1.0), (1.0, 0.0), (1.0, 1.0)],
    "hyp1f1": [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 1.0, 0.0)],
    "hyp2f1": [(1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 1.0), (0.0, 0.0, 1.0, 0.0), (1.0, 1.0, 0.0, 0.0)],
    "hyperu": [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)],
    "wright_bessel": [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 1.0, 1.0)],
}
EXTRA = {name: (lambda name=name: _points(name, 32)) for name in ORDERS}
EXTRA |= {
    f"{name}_derivative": (
        lambda name=name, orders=orders: ((*orders[k % len(orders)], *p) for k, p in enumerate(_points(name, 32)))
    )
    for name, orders in ORDERS.items()
}
COUNT = dict.fromkeys(REFERENCE, 4)
VALUES = {"hyp0f1": 1e5, "hyp1f1": 1e5, "hyp2f1": 1e5, "hyperu": 10000.0, "hyperu_derivative": 10000.0}  # SciPy's
EXCEPTIONS = {name: 40.0 for name in REFERENCE if name.startswith("hyp")} | dict.fromkeys(
    ("hyperu", "hyperu_derivative"), 10000.0
)
