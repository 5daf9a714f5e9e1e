"""The transforms of numbers: bounds, and other units of measurement."""

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.ops.cotangents import plain
from contad.ops.exponential import exp, log
from contad.ops.logistic import log_expit, logit
from contad.ops.products import as_array
from contad.stan.recorded_checks import values_of
from contad.stan.transforms.constraints import Constraint
from contad.variables.arguments import fail
from contad.variables.number import Number
from contad.variables.open_types import ArrayValue, Nested, Real, Value

REAL = "1.0 * u", "0.0 * np.sum(u)", "1.0 * y", "True"


def _elementwise(
    name: str, shape: tuple[int, ...], forward: Any, backward: Any, accepts: Any, expected: str, loops: Sequence[str]
) -> Constraint:
    def run(u: ArrayValue) -> tuple[Value, Real]:
        if not shape:
            return forward(u[0])
        value, logs = forward(u)
        return value if value.shape == shape else np.reshape(value, shape), logs

    size = math.prod(shape)
    return Constraint(name, size, shape, expected, loops, run, lambda y: backward(np.reshape(y, (size,))), accepts)


def _total(x: Value) -> Real:
    """The sum of an array, or the number itself."""
    return x if isinstance(x, (float, Number)) else np.sum(x)


def _axes(name: str, shape: int | tuple[int, ...]) -> tuple[int, ...]:
    """A shape as a tuple; an integer is the length of one axis."""
    axes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    whole = all(hasattr(n, "__index__") for n in axes)
    if not whole or any(n < 0 for n in axes):
        error = ValueError if whole else TypeError
        fail(name, "shape", "be the length of an axis or a tuple of them", repr(shape), error)
    return tuple(map(operator.index, axes))


def real(shape: int | tuple[int, ...] = ()) -> Constraint:
    """Numbers without a constraint.

        y = u,     log |J| = 0

    Domain:  every u.
    Ref:     Stan Reference Manual, data types and declarations.

    >>> real((2, 2)).constrain(np.array([0.5, -1.0, 2.0, 0.3]))
    array([[ 0.5, -1. ],
           [ 2. ,  0.3]])
    """
    shape = _axes("real", shape)
    return _elementwise("real", shape, lambda u: (u, 0.0), lambda y: y, lambda y: True, "be real", REAL)


def _of_each(name: str, argument: str, x: Nested, shape: tuple[int, ...]) -> Value:
    """One number for all, or a vector with one for each."""
    if np.ndim(x) == 0:
        return x
    x = as_array(x)
    try:
        x = np.broadcast_to(x, shape)
    except ValueError:
        raise ValueError(f"{name}: {argument} must be a number or of shape {shape}, got shape {np.shape(x)}") from None
    return np.reshape(x, (-1,))


def _is_free(name: str, argument: str, bound: Value, free: float) -> Value:
    """Which elements of an array have an infinite bound, that is, no bound."""
    return np.reshape(values_of(name, argument, bound), (-1,)) == free


def _require_finite(name: str, **given: Value) -> None:
    for argument, x in given.items():
        if not _is_all(np.abs(x) < math.inf):
            raise ValueError(f"{name}: {argument} must be finite")


def _is_plain(*bounds: Value) -> bool:
    return all(isinstance(x, (int, float)) for x in bounds)


def _is_all(x: Value) -> bool:
    return bool(np.all(x))


def _free_in_part(
    name: str, shape: tuple[int, ...], free: Value, sign: float, bounds: Value, expected: str
) -> Constraint:
    """Numbers of which some are bounded: from below if the sign is 1, from above if it is -1."""
    bound = np.where(free, 0.0, bounds)
    return _elementwise(
        name, shape, lambda u: (np.where(free, u, bound + sign * exp(u)), np.sum(np.where(free, 0.0, u))),
        lambda y: np.where(free, y, log(np.where(free, 1.0, sign * (y - bound)))),
        lambda y: _is_all(free | (sign * (np.reshape(y, (-1,)) - bound) >= 0.0)), expected, (),
    )  # fmt: skip


def lower_bound(lower: Nested, shape: int | tuple[int, ...] = ()) -> Constraint:
    """Numbers of at least `lower`.

        y = lower + e^u,     log |J| = sum u

    Shapes:  lower () or an array that broadcasts to `shape`.
    Domain:  every u; unbounded where lower is -inf. lower may be a variable.
    Raises:  ValueError if lower has another shape.
    Ref:     Stan Reference Manual, lower bounded scalar.

    >>> round(float(lower_bound(1.0).constrain(0.5)), 6)
    2.648721
    """
    shape = _axes("lower_bound", shape)
    bound = _of_each("lower_bound", "lower", lower, shape)
    if _is_all(bound == -math.inf):
        return real(shape).rename("lower_bound")
    if np.ndim(bound) and np.any(free := _is_free("lower_bound", "lower", bound, -math.inf)):
        return _free_in_part("lower_bound", shape, free, 1.0, bound, f"be at least {plain(lower)}")
    loops = (f"np.exp(u) + {lower!r}", "np.sum(u)", f"np.log(y - {lower!r})", f"np.all(y >= {lower!r})")
    return _elementwise(
        "lower_bound", shape, lambda u: (exp(u) + bound, _total(u)), lambda y: log(y - bound),
        lambda y: _is_all(np.reshape(y, (-1,)) >= bound), f"be at least {plain(lower)}",
        loops if _is_plain(lower) else (),
    )  # fmt: skip


def upper_bound(upper: Nested, shape: int | tuple[int, ...] = ()) -> Constraint:
    """Numbers of at most `upper`.

        y = upper - e^u,     log |J| = sum u

    Shapes:  upper () or an array that broadcasts to `shape`.
    Domain:  every u; unbounded where upper is inf. upper may be a variable.
    Raises:  ValueError if upper has another shape.
    Ref:     Stan Reference Manual, upper bounded scalar.

    >>> round(float(upper_bound(1.0).constrain(0.5)), 6)
    -0.648721
    """
    shape = _axes("upper_bound", shape)
    bound = _of_each("upper_bound", "upper", upper, shape)
    if _is_all(bound == math.inf):
        return real(shape).rename("upper_bound")
    if np.ndim(bound) and np.any(free := _is_free("upper_bound", "upper", bound, math.inf)):
        return _free_in_part("upper_bound", shape, free, -1.0, bound, f"be at most {plain(upper)}")
    loops = (f"{upper!r} - np.exp(u)", "np.sum(u)", f"np.log({upper!r} - y)", f"np.all(y <= {upper!r})")
    return _elementwise(
        "upper_bound", shape, lambda u: (bound - exp(u), _total(u)), lambda y: log(bound - y),
        lambda y: _is_all(np.reshape(y, (-1,)) <= bound), f"be at most {plain(upper)}",
        loops if _is_plain(upper) else (),
    )  # fmt: skip


def lower_upper_bound(lower: Nested, upper: Nested, shape: int | tuple[int, ...] = ()) -> Constraint:
    """Numbers between two bounds.

        y = lower + (upper - lower) expit(u),     log |J| = sum log(upper - lower) + log expit(u) + log expit(-u)

    Shapes:  lower and upper () or arrays that broadcast to `shape`.
    Domain:  every u, lower < upper; only one bound where the other is infinite. Both may be variables.
    Raises:  ValueError if lower is not less than upper, has another shape, or infinite elements.
    Ref:     Stan Reference Manual, lower and upper bounded scalar.

    >>> round(float(lower_upper_bound(1.0, 3.0).constrain(0.5)), 6)
    2.244919
    """
    shape = _axes("lower_upper_bound", shape)
    low = _of_each("lower_upper_bound", "lower", lower, shape)
    high = _of_each("lower_upper_bound", "upper", upper, shape)
    if not _is_all(low < high):
        got = f"{plain(upper)} and {plain(lower)}"
        raise ValueError(f"lower_upper_bound: upper must be greater than lower, got {got}")
    if _is_all(low == -math.inf) or _is_all(high == math.inf):
        one = upper_bound(upper, shape) if _is_all(low == -math.inf) else lower_bound(lower, shape)
        return one.rename("lower_upper_bound")
    _require_finite("lower_upper_bound", lower=low, upper=high)
    width = high - low

    def forward(u: ArrayValue) -> tuple[Value, Real]:
        logs = log_expit(u)
        return low + width * exp(logs), _total(logs + log_expit(-u) + log(width))

    return _elementwise(
        "lower_upper_bound", shape, forward, lambda y: logit((y - low) / width),
        lambda y: _is_all((np.reshape(y, (-1,)) >= low) & (np.reshape(y, (-1,)) <= high)),
        f"be between {plain(lower)} and {plain(upper)}",
        (
            f"bounded_of(u, {lower!r}, {width!r})", f"log_jacobian_of_bounded(u, {width!r})",
            f"np.log((y - {lower!r}) / ({upper!r} - y))", f"np.all(y >= {lower!r}) and np.all(y <= {upper!r})",
        ) if _is_plain(lower, upper) else (),
    )  # fmt: skip


def offset_multiplier(offset: Nested, multiplier: Nested, shape: int | tuple[int, ...] = ()) -> Constraint:
    """Numbers in other units.

        y = offset + multiplier u,     log |J| = n log multiplier

    Shapes:  offset and multiplier () or arrays that broadcast to `shape`.
    Domain:  every u, offset finite, multiplier positive and finite; both may be variables.
    Raises:  ValueError if they are outside this domain, or have another shape.
    Ref:     Stan Reference Manual, affinely transformed scalar.

    >>> round(float(offset_multiplier(1.0, 3.0).constrain(0.5)), 6)
    2.5
    """
    shape = _axes("offset_multiplier", shape)
    start = _of_each("offset_multiplier", "offset", offset, shape)
    unit = _of_each("offset_multiplier", "multiplier", multiplier, shape)
    _require_finite("offset_multiplier", offset=start)
    if not _is_all((unit > 0.0) & (unit < math.inf)):
        raise ValueError("offset_multiplier: multiplier must be positive and finite")
    scaled: Sequence[str] = ()
    if _is_plain(offset, multiplier):
        a, b = float(offset), float(multiplier)
        scaled = f"{a!r} + {b!r} * u", f"len(u) * {math.log(b)!r}", f"(y - {a!r}) / {b!r}", "True"
    logs = np.sum(log(unit)) if np.ndim(unit) else float(math.prod(shape)) * log(unit)
    return _elementwise(
        "offset_multiplier", shape, lambda u: (start + unit * u, logs),
        lambda y: (y - start) / unit, lambda y: True, "be real", scaled,
    )  # fmt: skip
