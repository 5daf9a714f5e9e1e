"""The transforms of numbers: bounds, and other units."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.ops.exponential import exp, log
from contad.ops.logistic import log_expit, logit
from contad.stan.transforms.constraints import Constraint
from contad.variables.open_types import ArrayValue, Real, Value

REAL = "1.0 * u", "0.0 * np.sum(u)", "1.0 * y", "True"


def _elementwise(
    name: str, shape: tuple[int, ...], forward: Any, backward: Any, accepts: Any, expected: str, loops: Sequence[str]
) -> Constraint:
    def run(u: ArrayValue) -> tuple[Value, Real]:
        value, logs = forward(u)
        return np.reshape(value, shape) if shape else value[0], logs

    size = math.prod(shape)
    return Constraint(name, size, shape, run, lambda y: backward(np.reshape(y, (size,))), accepts, expected, loops)


def real(shape: tuple[int, ...] = ()) -> Constraint:
    """Numbers without a constraint.

        y = u,     log |J| = 0

    Domain:  every u.
    Ref:     Stan Reference Manual, data types and declarations.

    >>> real((2, 2)).constrain(np.array([0.5, -1.0, 2.0, 0.3]))
    array([[ 0.5, -1. ],
           [ 2. ,  0.3]])
    """
    return _elementwise("real", shape, lambda u: (u, 0.0), lambda y: y, lambda y: True, "be real", REAL)


def lower_bound(lower: float, shape: tuple[int, ...] = ()) -> Constraint:
    """Numbers of at least `lower`.

        y = lower + e^u,     log |J| = sum u

    Domain:  every u; real numbers where lower is -inf.
    Ref:     Stan Reference Manual, lower bounded scalar.

    >>> round(float(lower_bound(1.0).constrain(0.5)), 6)
    2.648721
    """
    if lower == -math.inf:
        return real(shape).rename("lower_bound")
    return _elementwise(
        "lower_bound", shape, lambda u: (exp(u) + lower, np.sum(u)), lambda y: log(y - lower),
        lambda y: bool(np.all(y >= lower)), f"be at least {lower}",
        (f"np.exp(u) + {lower!r}", "np.sum(u)", f"np.log(y - {lower!r})", f"np.all(y >= {lower!r})"),
    )  # fmt: skip


def upper_bound(upper: float, shape: tuple[int, ...] = ()) -> Constraint:
    """Numbers of at most `upper`.

        y = upper - e^u,     log |J| = sum u

    Domain:  every u; real numbers where upper is inf.
    Ref:     Stan Reference Manual, upper bounded scalar.

    >>> round(float(upper_bound(1.0).constrain(0.5)), 6)
    -0.648721
    """
    if upper == math.inf:
        return real(shape).rename("upper_bound")
    return _elementwise(
        "upper_bound", shape, lambda u: (upper - exp(u), np.sum(u)), lambda y: log(upper - y),
        lambda y: bool(np.all(y <= upper)), f"be at most {upper}",
        (f"{upper!r} - np.exp(u)", "np.sum(u)", f"np.log({upper!r} - y)", f"np.all(y <= {upper!r})"),
    )  # fmt: skip


def lower_upper_bound(lower: float, upper: float, shape: tuple[int, ...] = ()) -> Constraint:
    """Numbers between two bounds.

        y = lower + (upper - lower) expit(u),     log |J| = sum log(upper - lower) + log expit(u) + log expit(-u)

    Domain:  every u, lower < upper; one bound where the other is infinite.
    Raises:  ValueError if lower is not less than upper.
    Ref:     Stan Reference Manual, lower and upper bounded scalar.

    >>> round(float(lower_upper_bound(1.0, 3.0).constrain(0.5)), 6)
    2.244919
    """
    if not lower < upper:
        raise ValueError(f"lower_upper_bound: upper must be greater than lower, got {upper} and {lower}")
    if lower == -math.inf or upper == math.inf:
        one = upper_bound(upper, shape) if lower == -math.inf else lower_bound(lower, shape)
        return one.rename("lower_upper_bound")
    width = upper - lower

    def forward(u: ArrayValue) -> tuple[Value, Real]:
        logs = log_expit(u)
        return lower + width * exp(logs), np.sum(logs + log_expit(-u)) + np.size(u) * math.log(width)

    return _elementwise(
        "lower_upper_bound", shape, forward, lambda y: logit((y - lower) / width),
        lambda y: bool(np.all((y >= lower) & (y <= upper))), f"be between {lower} and {upper}",
        (
            f"bounded_of(u, {lower!r}, {width!r})", f"log_jacobian_of_bounded(u, {width!r})",
            f"np.log((y - {lower!r}) / ({upper!r} - y))", f"np.all(y >= {lower!r}) and np.all(y <= {upper!r})",
        ),
    )  # fmt: skip


def offset_multiplier(offset: Real, multiplier: Real, shape: tuple[int, ...] = ()) -> Constraint:
    """Numbers in other units.

        y = offset + multiplier u,     log |J| = n log multiplier

    Domain:  every u and offset, multiplier > 0; both may be variables.
    Raises:  ValueError if multiplier is not positive.
    Ref:     Stan Reference Manual, affinely transformed scalar.

    >>> round(float(offset_multiplier(1.0, 3.0).constrain(0.5)), 6)
    2.5
    """
    if not multiplier > 0.0:
        raise ValueError("offset_multiplier: multiplier must be positive")
    scaled: Sequence[str] = ()
    if isinstance(offset, (int, float)) and isinstance(multiplier, (int, float)):
        a, b = float(offset), float(multiplier)
        scaled = f"{a!r} + {b!r} * u", f"len(u) * {math.log(b)!r}", f"(y - {a!r}) / {b!r}", "True"
    return _elementwise(
        "offset_multiplier", shape, lambda u: (offset + multiplier * u, float(np.size(u)) * log(multiplier)),
        lambda y: (y - offset) / multiplier, lambda y: True, "be real", scaled,
    )  # fmt: skip
