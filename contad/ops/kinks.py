"""Rules at their kinks, where a gradient is itself differentiated.

At a kink a first derivative is a subgradient, which contad chooses. A choice has no derivative. So a rule has a twin,
which replaces it if its arguments carry an outer derivative and are at the kink. The partial of the twin is nan, and
only an adjoint or a tangent that is exactly 0 masks it.

On a line through the kink more is known. A norm is homogeneous, f(t v) = t f(v) for t > 0: along v its derivative is
f(v), and its gradient on the line is its gradient at v. Forward mode knows v. So second derivatives of even functions
of a norm, such as its square, are exact where forward mode is the outer level:

    z = f(x),     z_dot = f(x_dot),     x_bar = 0,     x_bar_dot = z_bar_dot grad f(x_dot)     where z_bar = 0

Near a pole, such as that of the root at 0, a partial is unbounded. There a zero tangent of x says nothing about the
tangent of z, and a factor that is 0 with a tangent of 0 does not mask it.

If two numbers tie, their maximum (minimum) on the line along v is the one with the larger (smaller) tangent. The
adjoint goes to that number alone until the gradient is complete; the gradient then has halves again, as in first
derivatives.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.ops.arithmetic import absolute, multiply, power, subtract
from contad.ops.c_functions import fdim
from contad.ops.close_singular_values import free_zeros, move_zeros
from contad.ops.cotangents import spread
from contad.ops.elementary import cbrt, fmax, fmin, hypot, maximum, minimum, sqrt, sqrt_at_rest
from contad.ops.exponential import log
from contad.ops.hyperbolic import arccosh
from contad.ops.logic import select
from contad.ops.norms import directions, euclidean_norm, power_norm, power_shares
from contad.ops.reductions import direction, std
from contad.ops.rounding import copysign, sign
from contad.ops.singular_spectra import singular_spectrum
from contad.ops.trigonometric import arccos, arcsin
from contad.rules.array_rule import ArrayRule
from contad.rules.scalar_rule import ScalarRule
from contad.variables.array import is_plain
from contad.variables.complex_pair import as_pair
from contad.variables.dual import ArrayDual, Dual
from contad.variables.number import Carrier, is_at_pole, observe, peek, primal, route, scale
from contad.variables.open_types import Function, Nested, Options, Value
from contad.variables.trees import leaves_of, map_leaves

Tangents = Sequence[Value | None]


def cross(d: Value, p: Value) -> Value:
    """d p, where p is nan at a kink: nan, except for d = 0, which gives 0 and passes its own derivative on to
    `edge`."""
    return _multiply(d, p, lose)


def cross_pole(d: Value, p: Value) -> Value:
    """The same at a pole, but d = 0 gives nan in reverse mode, which cannot know whether d stays 0."""
    if isinstance(d, Carrier) and not isinstance(d, (Dual, ArrayDual)):
        return times(d, p)
    return _multiply(d, p, at_pole)


def times(d: Value, p: Value) -> Value:
    """d p without a mask and without warnings."""
    with np.errstate(all="ignore"):
        return d * p


def lose(d: Value, p: Value) -> Value:
    """nan, except for an infinite slope, which is unchanged."""
    pole = is_at_pole(d) if isinstance(d, Carrier) else False
    return _where(pole, d, times(d, math.nan)) if np.any(pole) else times(d, math.nan)


def at_pole(d: Value, p: Value) -> Value:
    """d p at a pole; if its tangent is unknown, an unmasked inf without sign, so that infinities do not cancel."""
    tangent = getattr(p, "tangent", None)
    unknown = False if tangent is None else observe(np.isnan, tangent)
    if np.ndim(unknown) > np.ndim(p):  # several directions
        unknown = np.any(unknown, axis=0)
    return _where(unknown, unbounded(d, p), times(d, p)) if np.any(unknown) else times(d, p)


def _multiply(d: Value, p: Value, at_kink: Function) -> Value:
    if d.__class__ is float and p.__class__ is float:
        return scale(d, p)
    kink = ~observe(np.isfinite, p) if np.ndim(p) else not observe(math.isfinite, p)
    if not np.any(kink):
        return scale(d, p)
    dead = observe(np.equal, d, 0.0)
    if np.ndim(kink) == 0 and np.ndim(dead) == 0:
        return edge(d, p) if dead else at_kink(d, p)
    return np.where(kink, np.where(dead, edge(d, p), at_kink(d, p)), scale(d, np.where(kink, 0.0, p)))


# ---- operations on numbers -------------------------------------------------------------------------------------------
class Twin(ScalarRule):
    """Replaces a scalar rule; `tangent(values, tangents)` returns its tangents in forward mode."""

    has_pole = False  # whether the partial is unbounded near the kink
    loses_slope = False  # whether the slope there is nan if the outer level is in reverse mode
    find_share: Function | None = None  # for an extreme: replaces partial k, called as (k, z, *arguments)

    def __init__(self, function: Function, array: Function, body: Function, tangent: Function | None = None) -> None:
        super().__init__(function, None, None, False, (), array)
        self.along = tangent
        self.partials(body)

    def has_twin(self) -> bool:
        """False: this is a twin itself."""
        return False

    def partial(self, k: int) -> Function:
        if self.find_share is not None:
            return functools.partial(self.find_share, k)
        return lose_slope(super().partial(k)) if self.loses_slope else super().partial(k)

    def array_partial(self, k: int, warns: bool = False) -> Function:
        if self.find_share is not None:
            return self.partial(k)
        return lose_slope(super().array_partial(k, warns)) if self.loses_slope else super().array_partial(k, warns)

    def product(self, k: int) -> Callable[[Value, Value], Value]:
        if self.find_share is not None:
            return share
        return scale if self is edge else cross_pole if self.has_pole else cross

    def push_product(self, k: int) -> Callable[[Value, Value], Value]:
        """The product with a tangent: a tangent of 0 does not mask a pole."""
        if self.find_share is not None:
            return share_tangent
        return times if self.has_pole else self.product(k)

    def _implement(self, args: tuple[Value, ...]) -> None:
        """Do nothing: levels make no methods for a twin."""


def lose_slope(partial: Function) -> Function:
    """The partial, but nan if it is plain and infinite, because its factor may tend to 0, as a root does."""

    def partial_or_nan(*args: Value) -> Value:
        p = partial(*args)
        return _number(np.where(np.isinf(p), math.nan, p)) if is_plain(p) else p

    return partial_or_nan


def _edge(d, p):
    return 0.0


def _edge_partials(z, d, p):
    return math.nan, 0.0


def _tangent_of_edge(values: Sequence[Value], tangents: Tangents) -> Value:
    """The tangent of p is the gradient on the line: see `side`. At a pole it is infinite and carries no information."""
    d_dot, p_dot = tangents
    return 0.0 if d_dot is None else scale(d_dot, math.nan if p_dot is None else times(0.0, p_dot) + p_dot)


edge = Twin(
    _edge, lambda d, p, out=None: np.zeros(np.broadcast_shapes(np.shape(d), np.shape(p))), _edge_partials,
    _tangent_of_edge,
)  # fmt: skip


def side(rule: ScalarRule, k: int) -> Twin:
    """nan, with the gradient of the rule on the line as its tangent, for operand k."""

    def tangent(values: Sequence[Value], tangents: Tangents) -> Value:
        dots = [np.zeros(np.shape(v)) if t is None else np.asarray(t) for v, t in zip(values, tangents, strict=True)]
        z = rule.array_value(*dots)
        return _number(np.where(z == 0.0, math.nan, rule.array_partial(k)(z, *dots)))

    def array(*args: Value, out: Any = None) -> Value:
        return np.full(np.broadcast_shapes(*map(np.shape, args)), math.nan)

    number, body = (_nan, _flat) if rule.arity == 1 else (_nan_of_two, _flat_in_two)
    return Twin(number, array, body, tangent)


def _nan(x):
    return math.nan


def _nan_of_two(x, y):
    return math.nan


def _flat(z, x):
    return 0.0


def _flat_in_two(z, x, y):
    return 0.0, 0.0


def _are_zero(args: Sequence[Value]) -> bool:
    """Whether some of the arguments, element by element, are all 0."""
    return bool(np.any(functools.reduce(np.logical_and, (observe(np.equal, x, 0.0) for x in args))))


def _is_result_zero(z: Value, *args: Value) -> Any:
    return z == 0.0


def twin(
    rule: ScalarRule, body: Function, is_homogeneous: bool, meets: Function = _are_zero,
    find: Function = _is_result_zero,
) -> None:
    """Give a twin to a rule that has its kinks where `find(z, *values)` says."""

    def tangent(values: Sequence[Value], tangents: Tangents) -> Value:
        z, total = rule.array_value(*map(np.asarray, values)), np.zeros(())
        kink = find(z, *values)
        dots = [0.0 if t is None else t for t in tangents]
        for k, t in enumerate(tangents):
            if t is not None:
                p = rule.array_partial(k)(z, *values)
                total = total + scale(t, np.where(kink, 0.0, p) if is_homogeneous else p)
        if is_homogeneous:
            return _number(np.where(kink, rule.array_value(*map(np.asarray, dots)), total))
        rests = functools.reduce(np.logical_and, [np.equal(t, 0.0) for t in dots])
        return _number(np.where(np.logical_and(kink, rests), math.nan, total))

    made = rule.twin = Twin(rule.function, rule.array or rule.ufuncs[0], body, tangent)
    rule.is_at_kink = meets
    made.has_pole = made.loses_slope = not is_homogeneous
    made.name = made.__name__ = rule.name
    made.ufuncs = rule.ufuncs


def _number(x: np.ndarray) -> Value:
    """x, with an array without axes turned into a number."""
    return x[()]


side_of_absolute = side(absolute, 0)
side_of_hypot, other_side_of_hypot = side(hypot, 0), side(hypot, 1)


def _pole(x):
    return math.inf


def _pole_partials(z, x):
    return -math.inf


pole = Twin(
    _pole, lambda x, out=None: np.full(np.shape(x), math.inf), _pole_partials,
    lambda values, tangents: _number(
        np.where(tangents[0] == 0.0, math.nan, -np.copysign(math.inf, tangents[0]))
    ),
)  # fmt: skip
pole.has_pole = True


def _infinity(d, p):
    return math.inf


def _fill(number: float, *args: Value) -> Value:
    return np.full(np.broadcast_shapes(*map(np.shape, args)), number)


unbounded = Twin(
    _infinity, lambda d, p, out=None: _fill(math.inf, d, p), _edge_partials,
    lambda values, tangents: _number(_fill(math.nan, *values)),
)  # fmt: skip


def _absolute_partials(z, x):
    return select(x == 0.0, side_of_absolute(x), sign(x))


def _hypot_partials(z, x, y):
    length = select(z == 0.0, 1.0, z)
    return select(z == 0.0, side_of_hypot(x, y), x / length), select(z == 0.0, other_side_of_hypot(x, y), y / length)


def _sqrt_partials(z, x):
    return select(z == 0.0, pole(x), 0.5 / select(z == 0.0, 1.0, z))


def _cbrt_partials(z, x):
    return select(z == 0.0, pole(x), 1.0 / (3.0 * z * z))


twin(absolute, _absolute_partials, True)
twin(hypot, _hypot_partials, True)
twin(sqrt, _sqrt_partials, False)
twin(sqrt_at_rest, _sqrt_partials, False)
twin(cbrt, _cbrt_partials, False)


def _power_partials(z, x, y):
    return select(x == 0.0, pole(x), y * power(x, y - 1.0)), select(x == 0.0, 0.0, z * log(x))


def _is_root_of_zero(args: Sequence[Value]) -> bool:
    x, y = args
    is_root = observe(np.greater, y, 0.0) & observe(np.less, y, 1.0)
    return bool(np.any(np.logical_and(observe(np.equal, x, 0.0), is_root)))


twin(power, _power_partials, False, _is_root_of_zero)


# inverse functions with an infinite slope at an end, at the arguments 1 or -1
def _is_one(z, x):
    return x * x == 1.0


def _meets_one(args: Sequence[Value]) -> bool:
    return bool(np.any(observe(np.equal, args[0], 1.0) | observe(np.equal, args[0], -1.0)))


def _arcsin_partials(z, x):
    at_end = x * x == 1.0
    rest = select(x * x < 0.5, 1.0 - x * x, (1.0 - x) * (1.0 + x))
    return select(at_end, pole(1.0 - x * x), 1.0 / sqrt(select(at_end, 1.0, rest)))


def _arccos_partials(z, x):
    at_end = x * x == 1.0
    rest = select(x * x < 0.5, 1.0 - x * x, (1.0 - x) * (1.0 + x))
    return -select(at_end, pole(1.0 - x * x), 1.0 / sqrt(select(at_end, 1.0, rest)))


def _arccosh_partials(z, x):
    at_end = x == 1.0
    return select(at_end, pole(x - 1.0), 1.0 / (sqrt(select(at_end, 1.0, x - 1.0)) * sqrt(x + 1.0)))


twin(arcsin, _arcsin_partials, False, _meets_one, _is_one)
twin(arccos, _arccos_partials, False, _meets_one, _is_one)
twin(arccosh, _arccosh_partials, False, _meets_one, _is_one)


# ---- ties of extremes ------------------------------------------------------------------------------------------------
class Share(NamedTuple):
    """The share of an operand in a maximum or minimum: `first` in first derivatives, half at a tie."""

    first: Value
    tie: Value
    sides: Sequence[Value] | None  # for each direction, 1 at a tie if the operand leaves it on the side of the extreme
    level: Any  # the forward level that knows the directions


def twin_of_extreme(rule: ScalarRule) -> None:
    """Give a twin to a maximum or minimum, for ties: forward mode knows which operand the extreme follows.

    z_dot = max(x_dot, y_dot), and the adjoints' changes along v belong to the operand with that tangent.
    """

    def tangent(values: Sequence[Value], tangents: Tangents) -> Value:
        z, dots = rule.array_value(*map(np.asarray, values)), [0.0 if t is None else t for t in tangents]
        off = sum(route(t, rule.array_partial(k)(z, *values)) for k, t in enumerate(dots))
        return _number(np.where(np.equal(*values), rule.array_value(*map(np.asarray, dots)), off))

    def find_share(k: int, z: Value, *args: Value) -> Share:
        first, tie = rule.array_partial(k)(*map(peek, (z, *args))), observe(np.equal, *args)
        moving = [x for x in args if isinstance(x, Carrier)]
        level: Any = moving[0]._owner if moving else None
        dots = [d for d in map(tangents_of, args) if d is not None]
        if level is None or any(x._owner is not level for x in moving) or len(dots) < 2:
            return Share(first, tie & bool(moving), None, None)
        sides, count = [], level.several or 1
        for x_dot, y_dot in zip(*(d * count if len(d) < count else d for d in dots), strict=True):
            side = rule.array_partial(k)(rule.array_value(*map(np.asarray, (x_dot, y_dot))), x_dot, y_dot)
            sides.append(np.where(np.equal(x_dot, y_dot), math.nan, side))
        return Share(first, tie, sides, level)

    assert rule.body is not None
    made = rule.twin = Twin(rule.function, rule.ufuncs[0], rule.body.function, tangent)
    made.name, made.ufuncs, made.find_share = rule.name, rule.ufuncs, find_share
    rule.is_at_kink = _are_equal


def tangents_of(x: Value) -> list[Value] | None:
    """The plain tangents of an operand, 0 for a constant; None if a level has no plain tangents."""
    if not isinstance(x, Carrier):
        return [0.0]
    tangent = getattr(x, "tangent", None)
    if tangent is None or not is_plain(tangent):
        return None
    return [tangent] if x._owner.several is None else list(tangent)


def share(d: Value, s: Share | float) -> Value:
    """The operand's share of an adjoint d.

    If no direction is known, or it does not leave the tie, this is nan, except for d = 0.
    """
    if not isinstance(s, Share):
        return route(d, s)
    dots = tangents_of(d)
    if s.sides is None or dots is None or (isinstance(d, Carrier) and d._owner is not s.level):
        at_tie = _where(observe(np.equal, d, 0.0), edge(d, math.nan), lose(d, math.nan))
        return _where(s.tie, at_tie, route(d, _where(s.tie, 0.0, s.first)))
    part: Any = np.where(s.tie & np.not_equal(primal(d), 0.0), one_side(s), s.first)
    value = route(primal(d), _number(part))
    if not isinstance(d, Carrier):
        return value
    sides = (_where(s.tie & ~np.isnan(side), side, s.first) for side in s.sides)
    return s.level.wrap(value, [route(t, side) for t, side in zip(dots, sides, strict=True)])


def one_side(s: Share) -> Any:
    """The side of all directions; nan if they differ, which tells the level to take one at a time."""
    assert s.sides is not None
    s.level.meets_ties = True
    one: Value = s.sides[0]
    return np.where(np.all(np.equal(s.sides, one), axis=0), one, math.nan)


def share_tangent(d: Value, s: Share | float) -> Value:
    """The share of a tangent d, on the side of all directions."""
    if not isinstance(s, Share):
        return route(d, s)
    if s.sides is None:
        return _where(s.tie, cross(d, math.nan), route(d, s.first))
    part: Any = np.where(s.tie, one_side(s), s.first)
    return route(d, part[()])


def _where(condition: Any, x: Value, y: Value) -> Value:
    return np.where(condition, x, y) if np.ndim(condition) else x if condition else y


def _are_equal(args: Sequence[Value]) -> bool:
    return bool(np.any(observe(np.equal, *args)))


for _rule in (maximum, minimum, fmax, fmin):
    twin_of_extreme(_rule)


# ---- functions of those that have twins ------------------------------------------------------------------------------
class WrittenTwin(NamedTuple):
    """Replaces a scalar rule by a formula of rules that handle their own kinks."""

    write: Function

    def general(self, args: tuple[Value, ...]) -> Value:
        """The formula at arguments of any kind."""
        return self.write(*args)


copysign.twin = WrittenTwin(lambda x, y: multiply(absolute(x), copysign(1.0, y)))
copysign.is_at_kink = lambda args: bool(np.any(observe(np.equal, args[0], 0.0)))
fdim.twin, fdim.is_at_kink = WrittenTwin(lambda x, y: subtract(maximum(x, y), y)), _are_equal


# ---- first derivatives -----------------------------------------------------------------------------------------------
def _take_first(g, first):
    return first


def _take_first_partials(z, g, first):
    return 1.0, 0.0


_choose = Twin(_take_first, lambda g, first, out=None: np.asarray(first), _take_first_partials)


def choose_first(gradient: Nested, owner: Any, find: Callable[[], Nested]) -> Nested:
    """A gradient that carries a derivative; at kinks it gets the values of the first derivative, `find`."""
    if getattr(owner, "loses", False):
        count = owner.several or 1
        return map_leaves(lambda g: owner.wrap(g, [np.full(np.shape(g), math.nan)] * count), _in_parts(find()))
    at_tie = getattr(owner, "meets_ties", False)
    if not at_tie and all(np.all(np.isfinite(peek(g))) for g in leaves_of(gradient)):
        return gradient
    with np.errstate(all="ignore"):
        gradient, first = _in_parts(gradient), _in_parts(find())
        return map_leaves(lambda g, first: _choose(g, first) if _carries(g) else g, gradient, first)


def _in_parts(tree: Nested) -> Nested:
    """A tree whose leaves are real: complex numbers and arrays are pairs."""
    return map_leaves(as_pair, tree)


def _carries(x: Value) -> bool:
    return isinstance(x, Carrier) or (isinstance(x, np.ndarray) and x.dtype == object)


# ---- operations on arrays --------------------------------------------------------------------------------------------
def twin_of_norm(rule: ArrayRule, slopes: Function) -> None:
    """Give a twin to a norm along axes; `slopes(z, x, **options)` are its partials, 0 at the kink."""
    def full_of_nan(x, **options):
        return np.full(np.shape(x), math.nan)

    def on_line(z, x_dot, x, **options):
        if not (is_plain(x) and is_plain(x_dot)):
            return z
        length = rule.function(x_dot, **options)
        kink = spread(length, np.shape(x), options.get("axis")) == 0.0
        return np.where(kink, math.nan, slopes(length, x_dot, **options))

    def value(x, **options):
        return rule.function(x, **options)

    def pull(z, z_bar, x, **options):
        axis = options.get("axis")
        kink = observe(np.equal, spread(z, np.shape(x), axis), 0.0)
        return cross(spread(z_bar, np.shape(x), axis), np.where(kink, side(x, **options), slopes(z, x, **options)))

    def push(z, x_dot, x, **options):
        axis, keepdims = options.get("axis"), options.get("keepdims", False)
        p = slopes(z, x, **options)
        if is_plain(x) and is_plain(x_dot):
            off = np.sum(scale(x_dot, p), axis=axis, keepdims=keepdims)
            return _number(np.where(np.equal(z, 0.0), rule.function(x_dot, **options), off))
        kink = observe(np.equal, spread(z, np.shape(x), axis), 0.0)
        return np.sum(cross(x_dot, np.where(kink, math.nan, p)), axis=axis, keepdims=keepdims)

    def is_at_kink(args: Sequence[Value], options: Options) -> bool:
        return bool(np.any(observe(np.equal, rule.function(*map(peek, args), **options), 0.0)))

    side = _declare(rule, full_of_nan, lambda z, z_bar, x, **options: np.zeros(np.shape(x)), on_line)
    rule.twin, rule.is_at_kink = _declare(rule, value, pull, push), is_at_kink


def _declare(rule: ArrayRule, function: Function, pull: Function, push: Function) -> ArrayRule:
    """A one-argument rule under its own name; under the original name, engines would use their kernels for it."""
    made = ArrayRule(function, None, "", (), ())
    made.argument_names, made.option_names = rule.argument_names, rule.option_names
    (name,) = rule.argument_names
    made.name = made.__name__ = f"{rule.name}_at_kink"
    made.vjps[name], made.jvp_body = pull, push
    made._needs[name] = frozenset(("z", name))
    return made


twin_of_norm(euclidean_norm, lambda z, x, axis=None, keepdims=False: directions(z, x, axis))
twin_of_norm(power_norm, lambda z, x, ord, axis=None, keepdims=False: power_shares(z, x, ord, axis))
twin_of_norm(std, lambda z, a, axis=None, ddof=0, keepdims=False: direction(z, a, axis, ddof))


# ---- singular values -------------------------------------------------------------------------------------------------
def twin_of_singular_values() -> None:
    """Give a twin to singular values, whose kink is at 0: on the line along v they are those of v between the
    kernels."""

    def push(z: Value, a_dot: Value, a: Value) -> Value:
        z_dot = singular_spectrum.push(z, [a_dot], [a], {})
        return move_zeros(z_dot, z, a_dot) if is_plain(a) and is_plain(a_dot) else z_dot

    def is_at_kink(args: Sequence[Value], options: Options) -> bool:
        """Whether values are 0; for a matrix that carries derivatives, they may be."""
        if not is_plain(args[0]):
            return True
        m, n = np.shape(args[0])[-2:]
        return bool(np.any(free_zeros(singular_spectrum.function(args[0])[..., m, :], m != n)))

    singular_spectrum.twin = _declare(
        singular_spectrum, singular_spectrum.function, singular_spectrum.vjps["a"], push
    )
    singular_spectrum.is_at_kink = is_at_kink


twin_of_singular_values()
