"""The transforms of numbers: bounds, and other units of measurement."""

import math
from typing import Any

import numpy as np

from contad.ops.cotangents import plain
from contad.ops.products import as_array
from contad.stan.transforms.constraints import Constraint, axes_of
from contad.variables.open_types import Nested, Value

Bound = Any  # a number, an array, variables, or a function of the parameters declared before


def real(shape: int | tuple[int, ...] = ()) -> Constraint:
    """Numbers without a constraint.

        y = u,     log |J| = 0

    Domain:  every u.
    Ref:     Stan Reference Manual, data types and declarations.

    >>> real((2, 2)).constrain(np.array([0.5, -1.0, 2.0, 0.3]))
    array([[ 0.5, -1. ],
           [ 2. ,  0.3]])
    """
    return Constraint("real", axes_of("real", shape))


def _of_each(name: str, argument: str, x: Nested, shape: tuple[int, ...]) -> Value:
    """One number for all, or an array with one for each."""
    if np.ndim(x) == 0:
        return x
    x = as_array(x)
    try:
        return np.broadcast_to(x, shape)
    except ValueError:
        raise ValueError(f"{name}: {argument} must be a number or of shape {shape}, got shape {np.shape(x)}") from None


def _is_all(x: Value) -> bool:
    return x if isinstance(x, bool) else bool(np.all(x))


def _one_bound(name: str, argument: str, bound: Bound, free: float, shape: int | tuple[int, ...]) -> Constraint:
    """Numbers with a bound, of which those with an infinite one are free."""
    axes = axes_of(name, shape)
    transform = name
    if not callable(bound):
        bound = _of_each(name, argument, bound, axes)
        unbounded = bound == free
        transform = "real" if _is_all(unbounded) else name if not _is_all(bound != free) else f"finite_{name}"
    return Constraint(name, axes, None, () if transform == "real" else (bound,), transform)


def lower_bound(lower: Bound, shape: int | tuple[int, ...] = ()) -> Constraint:
    """Numbers of at least `lower`.

        y = lower + e^u,     log |J| = sum u

    Shapes:  lower () or an array that broadcasts to `shape`.
    Domain:  every u; unbounded where lower is -inf. lower may be a variable.
    Raises:  ValueError if lower has another shape.
    Ref:     Stan Reference Manual, lower bounded scalar.

    >>> round(float(lower_bound(1.0).constrain(0.5)), 6)
    2.648721
    """
    return _one_bound("lower_bound", "lower", lower, -math.inf, shape)


def upper_bound(upper: Bound, shape: int | tuple[int, ...] = ()) -> Constraint:
    """Numbers of at most `upper`.

        y = upper - e^u,     log |J| = sum u

    Shapes:  upper () or an array that broadcasts to `shape`.
    Domain:  every u; unbounded where upper is inf. upper may be a variable.
    Raises:  ValueError if upper has another shape.
    Ref:     Stan Reference Manual, upper bounded scalar.

    >>> round(float(upper_bound(1.0).constrain(0.5)), 6)
    -0.648721
    """
    return _one_bound("upper_bound", "upper", upper, math.inf, shape)


def lower_upper_bound(lower: Bound, upper: Bound, shape: int | tuple[int, ...] = ()) -> Constraint:
    """Numbers between two bounds.

        y = lower + (upper - lower) expit(u),     log |J| = sum log(upper - lower) + log expit(u) + log expit(-u)

    Shapes:  lower and upper () or arrays that broadcast to `shape`.
    Domain:  every u, lower < upper; only one bound where the other is infinite. Both may be variables.
    Raises:  ValueError if lower is not less than upper, has another shape, or infinite elements.
    Ref:     Stan Reference Manual, lower and upper bounded scalar.

    >>> round(float(lower_upper_bound(1.0, 3.0).constrain(0.5)), 6)
    2.244919
    """
    name, axes = "lower_upper_bound", axes_of("lower_upper_bound", shape)
    if callable(lower) or callable(upper):
        return Constraint(name, axes, None, (lower, upper))
    low, high = _of_each(name, "lower", lower, axes), _of_each(name, "upper", upper, axes)
    if not _is_all(low < high):
        got = f"{plain(upper)} and {plain(lower)}"
        raise ValueError(f"{name}: upper must be greater than lower, got {got}")
    if _is_all(low == -math.inf):
        return upper_bound(upper, axes).rename(name)
    if _is_all(high == math.inf):
        return lower_bound(lower, axes).rename(name)
    for argument, x in (("lower", low), ("upper", high)):
        _require_finite(name, argument, x)
    return Constraint(name, axes, None, (low, high), "finite_lower_upper_bound")


bounded = lower_upper_bound


def _require_finite(name: str, argument: str, x: Value) -> None:
    if not _is_all(np.abs(x) < math.inf):
        raise ValueError(f"{name}: {argument} must be finite")


def offset_multiplier(offset: Bound, multiplier: Bound, shape: int | tuple[int, ...] = ()) -> Constraint:
    """Numbers in other units.

        y = offset + multiplier u,     log |J| = n log multiplier

    Shapes:  offset and multiplier () or arrays that broadcast to `shape`.
    Domain:  every u, offset finite, multiplier positive and finite; both may be variables.
    Raises:  ValueError if they are outside this domain, or have another shape.
    Ref:     Stan Reference Manual, affinely transformed scalar.

    >>> round(float(offset_multiplier(1.0, 3.0).constrain(0.5)), 6)
    2.5
    """
    name, axes = "offset_multiplier", axes_of("offset_multiplier", shape)
    if not callable(offset):
        offset = _of_each(name, "offset", offset, axes)
        _require_finite(name, "offset", offset)
    if not callable(multiplier):
        multiplier = _of_each(name, "multiplier", multiplier, axes)
        if not _is_all((multiplier > 0.0) & (multiplier < math.inf)):
            raise ValueError("offset_multiplier: multiplier must be positive and finite")
    return Constraint(name, axes, None, (offset, multiplier))
