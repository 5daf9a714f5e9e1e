"""Accuracy of rules: values and partials against differences of an mpmath function at high precision.

A partial must be within 8 ulp + 4 ulp x its condition number sum_i |x_i dp/dx_i / p|, wherever the function is finite
and differentiable. The reference is a function of mpmath numbers alone: its derivatives are central differences, at a
step and a precision that are adapted until the difference is resolved, so that no derivative formula is trusted.
"""

import contextlib
import math
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from mpmath import mp, mpf

LARGEST = sys.float_info.max
SMALLEST_NORMAL = sys.float_info.min
STEP = 1e-30  # relative to an argument below 1 in magnitude, absolute to a larger one
FAILURES = (ValueError, ZeroDivisionError, OverflowError, ArithmeticError, NotImplementedError, TypeError)


class UnresolvedError(Exception):
    """The reference has no real value or no derivative there."""


# ---- derivatives of the reference ------------------------------------------------------------------------------------
@dataclass
class Slope:
    """First and second derivative of a reference along one argument, and how they were resolved."""

    first: Any
    second: Any
    step: Any
    digits: int


def value_at(reference: Callable[..., Any], args: Sequence[Any]) -> Any:
    """The reference at mpmath numbers, refusing what is not a finite real."""
    try:
        z = reference(*args)
    except FAILURES as error:
        raise UnresolvedError(str(error)) from None
    z = mp.convert(z)
    if not isinstance(z, mpf) or not mp.isfinite(z):
        raise UnresolvedError(f"{z} is not a finite real")
    return z


def _moved(reference: Callable[..., Any], args: Sequence[float], *moves: tuple[int, Any]) -> Any:
    moved = [mpf(x) for x in args]
    for k, h in moves:
        moved[k] += h
    return value_at(reference, moved)


def _magnitude(x: Any) -> int:
    """The decimal exponent of x, roughly; of 0, a very small one."""
    return int(mp.mag(x)) * 30103 // 100000 if x else -10_000


def slope(reference: Callable[..., Any], args: Sequence[float], k: int) -> Slope:
    """Derivatives along argument k by central differences; raises UnresolvedError at kinks, jumps and edges."""
    x = mpf(args[k])
    h = mpf(STEP) * min(abs(x) or 1, 1)
    digits = 110
    if k in getattr(reference, "orders", ()):  # which the reference rounds to a whole number
        return Slope(mpf(0), mpf(0), h, digits)
    for _ in range(14):
        digits = max(digits, _magnitude(x) - _magnitude(h) + 60)
        with mp.workdps(digits):
            above, here, below = (_moved(reference, args, (k, s * h)) for s in (1, 0, -1))
            if abs(here) > LARGEST:
                raise UnresolvedError("an overflow")
            odd, even = above - below, above - 2 * here + below
            if not odd and even and not _vanishes(reference, args, k, h, even):
                raise UnresolvedError("a kink")
            needed = _magnitude(here) - _magnitude(odd) + 80
            if digits < needed and here:
                if digits > 700 and _magnitude(here) - digits - _magnitude(h) < -345:
                    return Slope(mpf(0), mpf(0), h, digits)
                digits = min(needed, 2 * digits)
            elif not odd and digits < 700:
                digits *= 2
            elif odd and (abs(even) > 1e-10 * abs(odd) or not _settled(reference, args, k, h, odd)):
                # the step is too long, or there is no derivative
                h *= mpf("1e-60")
                digits += 60
            else:
                return Slope(odd / (2 * h), even / h**2, h, digits)
    raise UnresolvedError("no derivative")


def _vanishes(reference: Callable[..., Any], args: Sequence[float], k: int, h: Any, even: Any) -> bool:
    """Whether the second difference falls faster than the step, as it does where there is a derivative."""
    s = h * mpf("1e-20")
    finer = _moved(reference, args, (k, s)) - 2 * _moved(reference, args) + _moved(reference, args, (k, -s))
    return bool(abs(finer / s) <= 1e-10 * abs(even / h))


def _settled(reference: Callable[..., Any], args: Sequence[float], k: int, h: Any, odd: Any) -> bool:
    """Whether a shorter step gives the same slope."""
    s = h * mpf("1e-10")
    finer = _moved(reference, args, (k, s)) - _moved(reference, args, (k, -s))
    return bool(abs(finer / s - odd / h) <= 1e-5 * abs(odd / h))


def mixed(reference: Callable[..., Any], args: Sequence[float], k: int, j: int, slopes: dict[int, Slope]) -> Any:
    """Second derivative along arguments k and j."""
    h, s = slopes[k].step, slopes[j].step
    digits = max(slopes[k].digits, slopes[j].digits) + 40
    with mp.workdps(digits):
        corners = [_moved(reference, args, (k, a * h), (j, b * s)) * a * b for a in (1, -1) for b in (1, -1)]
        return sum(corners) / (4 * h * s)


def condition(reference: Callable[..., Any], args: Sequence[float], k: int, slopes: dict[int, Slope]) -> float:
    """sum_j |x_j dp/dx_j / p| of p, the partial along argument k."""
    p = slopes[k].first
    if not p:
        return 0.0
    total = mpf(0)
    for j in slopes:
        if args[j]:
            try:
                second = slopes[k].second if j == k else mixed(reference, args, k, j, slopes)
            except UnresolvedError:
                continue
            total += abs(args[j] * second / p)
    return float(total)


# ---- errors ----------------------------------------------------------------------------------------------------------
def error_in_ulps(got: float, exact: Any, slack: float = 0.0) -> float:
    """|got - exact| in ulps of exact, after an absolute slack; an overflow of exact asks for that infinity."""
    if math.isnan(got):
        return math.inf
    if math.isinf(got):
        return 0.0 if got * exact > 0 and abs(exact) > LARGEST * (1.0 - 1e-13) else math.inf
    size = min(max(abs(exact), SMALLEST_NORMAL), LARGEST)
    return float(max(abs(got - exact) - slack, 0) / math.ulp(float(size)))


@dataclass
class Worst:
    """The largest ratio of error to bound that was met for one quantity (the value, or one partial)."""

    quantity: str
    measured: int = 0
    ratio: float = -1.0
    error: float = 0.0  # ulps
    bound: float = 0.0  # ulps
    point: tuple[float, ...] = ()

    def meet(self, error: float, bound: float, point: tuple[float, ...]) -> None:
        self.measured += 1
        ratio = error / bound
        if ratio > self.ratio:
            self.ratio, self.error, self.bound, self.point = ratio, error, bound, point

    def __str__(self) -> str:
        return (
            f"{self.quantity}: {self.error:.3g} ulp at {self.point} where {self.bound:.3g} are allowed "
            f"(ratio {self.ratio:.2f}; {self.measured} points)"
        )


@dataclass
class Report:
    """What `measure` found for one rule: the value first, then the partials in order of the arguments."""

    name: str
    value: Worst
    partials: list[Worst] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return max(w.ratio for w in (self.value, *self.partials))

    def __str__(self) -> str:
        return "\n".join([self.name, *(f"  {w}" for w in (self.value, *self.partials))])


def measure(
    rule: Any,
    reference: Callable[..., Any],
    points: Iterable[tuple[float, ...]],
    *,
    value_ulps: float = 4.0,
    partial_ulps: float = 8.0,
) -> Report:
    """Compare the value and every partial of a rule with the reference, wherever it is finite and differentiable.

    Allowed are `value_ulps` + the condition number for values, and `partial_ulps` + 4 condition numbers for partials.
    A partial below the smallest normal number may be off by four times that.
    """
    names = rule.argument_names
    report = Report(rule.name, Worst("value"), [Worst(f"d/d{name}") for name in names])
    partials = [rule.partial(k) for k in range(rule.arity)]
    with np.errstate(all="ignore"):
        for point in points:
            z = rule(*point)
            slopes: dict[int, Slope] = {}
            for k in range(rule.arity):
                with contextlib.suppress(UnresolvedError):
                    slopes[k] = slope(reference, point, k)
            try:
                with mp.workdps(max([110, *(s.digits for s in slopes.values())])):
                    exact = _moved(reference, point)
            except UnresolvedError:
                continue
            if abs(exact) > LARGEST:
                continue
            sensitivity = sum(float(abs(point[k] * s.first / exact)) for k, s in slopes.items()) if exact else 0.0
            report.value.meet(error_in_ulps(z, exact), value_ulps + sensitivity, point)
            for k, s in slopes.items():
                error = error_in_ulps(partials[k](z, *point), s.first, 4.0 * SMALLEST_NORMAL)
                bound = partial_ulps
                if error > bound * report.partials[k].ratio:  # the condition number costs more than all else
                    bound += 4.0 * condition(reference, point, k, slopes)
                report.partials[k].meet(error, bound, point)
    return report


# ---- points ----------------------------------------------------------------------------------------------------------
EPSILON = 2.0**-52
LANDMARKS = (
    0.0, 5e-324, 3e-310, SMALLEST_NORMAL, 1e-300, 1e-162, 1e-154, 1e-17, EPSILON, 1e-8, 0.1, 0.25, 0.5,
    1 - EPSILON / 2, 1 - 1e-10, 1.0, 1 + EPSILON, 1 + 1e-10, 1.5, math.pi / 2, 2.0, 2.5, math.e, 3.0, math.pi,
    3 * math.pi / 2, 2 * math.pi, 10.0, 18.0, 22.0, 37.0, 355.0, 372.0, 700.0, 709.7, 710.4, 745.1, 1e5, 1e9, 2.0**53,
    1e16, 1e100, 1e154, 1e155, 1e200, 1e300, LARGEST / 2, LARGEST,
)  # fmt: skip


def _signed(random: random.Random, low: float, high: float) -> float:
    """A number whose magnitude is uniform in the logarithm between two powers of ten."""
    return random.choice((1.0, -1.0)) * 10.0 ** random.uniform(low, high)


def _wide(random: random.Random) -> float:
    return _signed(random, -323.0, 308.0)


def _middling(random: random.Random) -> float:
    return _signed(random, -3.0, 3.0)


def _near_one(random: random.Random) -> float:
    return random.choice((1.0, -1.0)) * (1.0 + _signed(random, -15.9, -0.3))


def points(arity: int, count: int = 120, seed: int = 20190613) -> Iterator[tuple[float, ...]]:
    """Test points over the whole double range: 2 x count tuples of floats, and for one argument the landmarks."""
    numbers = random.Random(f"{arity} {seed}")
    if arity == 1:
        for x in LANDMARKS:
            yield from ((x,), (-x,))
    kinds = (_wide, _middling, _near_one)
    for _ in range(count):
        kind = numbers.choice(kinds)
        yield tuple(kind(numbers) for _ in range(arity))
    for i in range(count):
        if arity == 1:
            yield (_middling(numbers),)
        elif i % 3 == 0:
            yield tuple(numbers.choice((1.0, -1.0)) * numbers.choice(LANDMARKS) for _ in range(arity))
        elif i % 3 == 1:  # one magnitude, from equal to a few orders apart
            x = numbers.choice(kinds)(numbers)
            yield (x, *(x * (1.0 + _signed(numbers, -16.0, 2.0)) for _ in range(arity - 1)))
        else:
            yield tuple(numbers.choice(kinds)(numbers) for _ in range(arity))


SLOW = {"polygamma", "erfcx_integral", "multigammaln", "zeta", "kv", "kve", "yv", "owens_t"}  # in mpmath


def second(reference, args, i, j):
    """The second derivative along arguments i and j, by differences with twice the digits that the first takes."""
    slopes = [slope(reference, args, k) for k in (i, j)]
    with mp.workdps(2 * max(s.digits for s in slopes) + 160):
        h, g = (s.step * mpf("1e-10") for s in slopes)

        def moved(a, b):
            return value_at(reference, [mpf(x) + a * (n == i) + b * (n == j) for n, x in enumerate(args)])

        if i == j:
            return (moved(h, 0) - 2 * moved(0, 0) + moved(-h, 0)) / h**2
        return (moved(h, g) - moved(h, -g) - moved(-h, g) + moved(-h, -g)) / (4 * h * g)
