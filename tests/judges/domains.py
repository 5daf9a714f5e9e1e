"""Where a rule is safe to call: boxes of arguments, found around its points, and what comes out of them."""

import functools
import itertools
import math
from collections.abc import Iterator, Sequence

import contad.ops  # noqa: F401  (registers the rules)
from contad.rules.scalar_rule import ScalarRule, rules

RULES: dict[str, ScalarRule] = {rule.name: rule for rule in rules() if rule.__module__.startswith("contad.ops.")}

Interval = tuple[float, float]
Box = tuple[Interval, ...]

WIDENING = tuple(2.0**k for k in range(-7, 7))
LARGEST_VALUE = 200.0
LARGEST_PARTIAL = 50.0
# arguments of these names are whole numbers and stay as in the points of the rule
WHOLE_ARGUMENTS = {"n", "m", "d", "k"}
# Whole exponents: bases of either sign, to which the points of `power` do not lead.
# Rules that cost a quadrature each: their boxes are small, and are not searched for.
DEAR = {
    name for name in RULES
    if name.startswith(("gammainc", "betainc", "gamma_", "beta_", "zeta", "ellip", "iv", "kv", "jv", "yv", "wright"))
    or (name.startswith("hyp") and name != "hypot") or name in ("i0e", "i1e", "k0e", "k1e", "y0", "y1")
}  # fmt: skip
MORE_BOXES: dict[str, list[Box]] = {
    "power": [((-3.0, 3.0), (2.0, 2.0)), ((-3.0, 3.0), (3.0, 3.0)), ((-3.0, -0.4), (-1.0, -1.0))]
}


def grid(box: Sequence[Interval], count: int) -> Iterator[tuple[float, ...]]:
    """Points of a box, its corners among them."""
    axes = [[a + (b - a) * k / (count - 1) for k in range(count)] if a < b else [a] for a, b in box]
    return itertools.product(*axes)


def finite_and_moderate(rule: ScalarRule, args: Sequence[float], value_bound: float, partial_bound: float) -> bool:
    """Whether the value and the partials of a rule exist at a point and are not large."""
    try:
        z = rule(*args)
        partials = [rule.partial(k)(z, *args) for k in range(rule.arity)]
    except (ValueError, OverflowError, ZeroDivisionError):
        return False
    return abs(z) <= value_bound and all(abs(p) <= partial_bound for p in partials)


def safe_box(rule: ScalarRule, point: tuple[float, ...]) -> Box:
    """A box around a point where a rule is finite: widened argument by argument until an end fails, then as a whole."""
    z = rule(*point)
    value_bound = max(LARGEST_VALUE, 4.0 * abs(z))
    partial_bound = max(LARGEST_PARTIAL, *(4.0 * abs(rule.partial(k)(z, *point)) for k in range(rule.arity)))

    def is_safe(box: Box, count: int) -> bool:
        return all(finite_and_moderate(rule, args, value_bound, partial_bound) for args in grid(box, count))

    def around(radii: Sequence[float]) -> Box:
        return tuple((x - r * abs(x), x + r * abs(x)) for x, r in zip(point, radii, strict=True))

    if rule.name in DEAR:
        return around([0.0 if name in WHOLE_ARGUMENTS else 0.0625 for name in rule.argument_names])
    radii = [0.0] * rule.arity
    for k, name in enumerate(rule.argument_names):
        if name not in WHOLE_ARGUMENTS:
            for radius in WIDENING:
                if not is_safe(around([radius if j == k else 0.0 for j in range(rule.arity)]), 41):
                    break
                radii[k] = radius
    while not is_safe(around(radii), 5):
        radii = [r / 2.0 for r in radii]
    return around(radii)


@functools.cache
def safe_boxes(name: str) -> tuple[Box, ...]:
    """Boxes in which programs may call a rule."""
    rule = RULES[name]
    if not rule.points:
        raise ValueError(f"{name}: declare the rule with points=[...], so that programs can call it")
    return tuple(dict.fromkeys([*(safe_box(rule, point) for point in rule.points), *MORE_BOXES.get(name, [])]))


def image(name: str, box: Sequence[Interval]) -> Interval:
    """The interval of a rule's results over a box: an estimate, as a program that meets a wild number is discarded."""
    if any(math.isinf(end) for interval in box for end in interval):
        return -math.inf, math.inf
    try:
        values = [RULES[name](*args) for args in grid(box, 9 if len(box) == 1 else 4 if len(box) == 2 else 3)]
    except (ValueError, OverflowError, ZeroDivisionError):
        return -math.inf, math.inf
    low, high = min(values), max(values)
    if not math.isfinite(high - low):
        return -math.inf, math.inf
    margin = 0.05 * (high - low)
    return low - margin, high + margin


@functools.cache
def flat(name: str, k: int) -> str:
    """Whether a rule passes on no derivative of argument k: "never" so, "sometimes" or "always" at its points."""
    rule = RULES[name]
    zeros = [rule.partial(k)(rule(*point), *point) == 0.0 for point in rule.points]
    return "always" if all(zeros) else "sometimes" if any(zeros) else "never"


@functools.cache
def has_ties(name: str) -> bool:
    """Whether a rule has jumps or kinks: one that is flat in an argument, or of an absolute value's kind."""
    rule = RULES[name]
    slopes = {tuple(rule.partial(k)(rule(*point), *point) for k in range(rule.arity)) for point in rule.points}
    return any(flat(name, k) != "never" for k in range(rule.arity)) or all(abs(p) == 1.0 for s in slopes for p in s)
