"""Second derivatives of every scalar rule against mpmath, near 0 and near the ends of its domain.

A second derivative q must be within 32 ulp + 8 ulp x its condition number sum_j |x_j dq/dx_j / q|. Rules that miss it
stand in COARSE with their bound and what it is relative to.
"""

import cmath
import itertools
import math

import pytest
from mpmath import mp, mpf

import contad
from contad.rules.scalar_rule import ScalarRule, rule, rules
from tests.judges.accuracy import SLOW, UnresolvedError, second
from tests.judges.planted import body_of
from tests.judges.samples import sampled
from tests.ops.references import DOMAIN, REFERENCE

ULP = 2.0**-52
ONE = [s * d + c for d in (1e-20, 1e-9, 1e-3, 0.3) for s in (1.0, -1.0) for c in (0.0, 1.0, -1.0)] + [30.0, -30.0, 1e10]
TWO = [1e-9, -1e-3, 0.4, 1.0, 2.5, 30.0]
LINEAR = {"absolute", "add", "deg2rad", "negative", "rad2deg", "subtract"}
# q is within so many ulp of what the second function gives
COARSE = {
    "hypot": (8.0, lambda x, y: 1.0 / math.hypot(x, y)),
    "poch": (64.0, lambda x, m: abs(contad.ops.poch(x, m)) / min(abs(x), abs(x + m), 1.0) ** 2),
    "binom": (64.0, lambda n, k: max(1.0, n) / min(abs(n - k + 1.0), abs(k + 1.0), abs(n + 1.0), 1.0) ** 2),
    "gammaincinv": (4000.0, lambda a, p: contad.ops.gammaincinv(a, p) * (1.0 / a + 1.0 / p) ** 2),
    "gammainccinv": (4000.0, lambda a, q: contad.ops.gammainccinv(a, q) * (1.0 / a + 1.0 / q) ** 2),
    "jv": (64.0, lambda v, x: 1.0 / math.sqrt(x)),  # in the order, where it oscillates
    "beta": (64.0, lambda a, b: abs(contad.ops.beta(a, b)) * (1.0 + 1.0 / abs(a * b))),  # terms that cancel near 0
    # parts of a complex f: of |f''|, beside 1 where f'' is 0 at 0
    "reciprocal_real": (8.0, lambda x, y: 2.0 / math.hypot(x, y) ** 3),
    **dict.fromkeys(
        ("tan_real", "tan_imag"), (16.0, lambda x, y: abs(2.0 * cmath.tan(x + 1j * y) / cmath.cos(x + 1j * y) ** 2))
    ),
    **dict.fromkeys(
        ("arcsin_real", "arcsin_imag", "arccos_real"),
        (16.0, lambda x, y: 1.0 + abs((x + 1j * y) / (1.0 - (x + 1j * y) ** 2) ** 1.5)),
    ),
    "arctan_imag": (16.0, lambda x, y: 1.0 + abs(2.0 * (x + 1j * y) / (1.0 + (x + 1j * y) ** 2) ** 2)),
}
OWN = sorted(r.name for r in rules() if r.__module__.startswith("contad.ops.") and r.arity <= 2)


def differentiated(f, args, i, j):
    """The same by contad, forward over forward."""

    def first(x):
        return contad.derivative(lambda y: f(*[y if n == j else x if n == i else a for n, a in enumerate(args)]))(
            x if i == j else args[j]
        )

    return contad.derivative(first)(args[i])


def condition(reference, args, i, j, q):
    """The relative change of q over that of its arguments, by a small step."""
    d = mpf("1e-12")
    total = 0.0
    for k in range(len(args)):
        moved = [mpf(x) * (1 + d) if n == k else mpf(x) for n, x in enumerate(args)]
        total += float(abs((second(reference, moved, i, j) - q) / (d * q)))
    return total


def worst(measured, reference, points):
    """How many points were compared, and the largest error over its bound, with its point."""
    count, largest = 0, (0.0, None)
    free = [k for k in range(measured.arity) if k not in getattr(reference, "orders", ())]
    for args in points:
        for i, j in itertools.combinations_with_replacement(free, 2):
            try:
                q = second(reference, args, i, j)
                if not 1e-250 < abs(q) < 1e250:
                    continue
                bound = 32.0 * float(abs(q))
                got = differentiated(measured, args, i, j)
                if abs(got - q) > bound * ULP and measured.name in COARSE:
                    ulps, scale = COARSE[measured.name]
                    bound = ulps * scale(*args)
                elif abs(got - q) > bound * ULP:
                    bound += 8.0 * condition(reference, args, i, j, q) * float(abs(q))
            except UnresolvedError:
                continue
            count += 1
            ratio = float(abs(got - q)) / (bound * ULP) if math.isfinite(got) else math.inf
            largest = max(largest, (ratio, (args, i, j)), key=lambda pair: pair[0])
    return count, largest


def points_of(measured):
    numbers = ONE if measured.arity == 1 else [0.4, 2.5] if measured.name in SLOW else TWO
    orders = getattr(REFERENCE[measured.name], "orders", ())
    generic = itertools.product(*([0.0, 1.0, 2.0] if k in orders else numbers for k in range(measured.arity)))
    return filter(lambda point: DOMAIN.get(measured.name, lambda *args: True)(*point), generic)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sampled([name for name in OWN if name not in LINEAR], 3))
def test_second_derivatives(name):
    count, (ratio, where) = worst(rule(name), REFERENCE[name], points_of(rule(name)))
    assert ratio <= 1.0, where
    assert count or name in CONSTANT


CONSTANT = {
    "ceil", "copysign", "floor", "floor_divide", "fmax", "fmin", "maximum", "minimum", "rint", "sign", "trunc",
    "fdim", "fmod", "gammasgn", "ldexp", "remainder",
}  # fmt: skip


@pytest.mark.parametrize(("body", "small"), [
    ("z, x: 1.0 / (ops.cosh(x) * ops.cosh(x)) + 0.0 * z", True),
    ("z, x: 4.0 * ops.exp(-2.0 * x) / ((1.0 + ops.exp(-2.0 * x)) * (1.0 + ops.exp(-2.0 * x)))", False),
])  # fmt: skip
def test_a_body_that_loses_digits_near_0_is_noticed(body, small):
    wrong = ScalarRule(lambda x: math.tanh(x), None, None, False, ((0.7,),))
    wrong.partials(body_of(body))
    assert (worst(wrong, mp.tanh, [(1e-9,), (1e-3,)])[1][0] <= 1.0) is small
