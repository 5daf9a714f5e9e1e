"""`contad.logsumexp` and `contad.softmax` over all axes in compiled code, as the parts of operations: see `user_rules`.

The rules are those of `contad.ops.log_sums`.
"""

import math
from typing import Any

import numpy as np
from numba import types

from contad.errors import UnsupportedError
from contad.native.compiling import NJIT_OPTIONS
from contad.native.machine_code import njit
from contad.native.overloads import add_overload
from contad.ops.log_sums import logsumexp, softmax
from contad.rules.array_rule import ArrayRule
from contad.rules.compilable import Parts

_ALL = "contad.logsumexp and contad.softmax inside njit go over all axes; call them for one row after the other"


def require_all_axes(axis: Any) -> None:
    """UnsupportedError for axis=; inside njit when the call is typed."""
    if axis is not None:
        raise UnsupportedError(_ALL)


@add_overload(require_all_axes)
def _require_all_axes(axis: Any) -> Any:
    if axis is None or isinstance(axis, types.NoneType) or getattr(axis, "value", axis) is None:
        return lambda axis: None
    raise UnsupportedError(_ALL)


@njit(**NJIT_OPTIONS)
def _top_of(a):  # type: ignore[no-untyped-def]
    """(the largest element, how many equal it); nan and 0 where there is a nan."""
    top, count = -np.inf, 0
    for x in a.flat:
        if x != x:
            return np.nan, 0
        if x > top:
            top, count = x, 0
        if x == top:
            count += 1
    return top, count


# ---- logsumexp -------------------------------------------------------------------------------------------------------
@njit(**NJIT_OPTIONS)
def compute_logsumexp(a, axis=None):  # type: ignore[no-untyped-def]
    """log(sum(exp(a))), the largest terms apart: the others may be less than their rounding."""
    require_all_axes(axis)
    top, count = _top_of(a)
    if count == 0:
        return top  # nan, or -inf of nothing
    rest = 0.0
    for x in a.flat:
        if x != top:
            rest += math.exp(x - top)
    return math.log1p(rest / count) + math.log(count) + top


@njit(**NJIT_OPTIONS)
def _push_logsumexp(a, axis=None):  # type: ignore[no-untyped-def]
    return compute_logsumexp(a, axis), a


@njit(**NJIT_OPTIONS)
def pull_logsumexp(axis, a, z_bar):  # type: ignore[no-untyped-def]
    """Each term's share of z_bar; infinite terms that tie share equally."""
    top, _ = _top_of(a)
    made = np.empty(a.shape)
    flat = made.reshape(made.size)
    total = 0.0
    for k, x in enumerate(a.flat):
        flat[k] = (1.0 if x == top else 0.0) if np.isinf(top) else math.exp(x - top)
        total += flat[k]
    for k in range(flat.size):
        flat[k] = flat[k] / total * z_bar
    return (made,)


# ---- softmax ---------------------------------------------------------------------------------------------------------
@njit(**NJIT_OPTIONS)
def compute_softmax(x, axis=None):  # type: ignore[no-untyped-def]
    """e^x over its sum."""
    require_all_axes(axis)
    top, _ = _top_of(x)
    made = np.empty(x.shape)
    flat = made.reshape(made.size)
    total = 0.0
    for k, element in enumerate(x.flat):
        flat[k] = math.exp(element - top)
        total += flat[k]
    for k in range(flat.size):
        flat[k] /= total
    return made


@njit(**NJIT_OPTIONS)
def _push_softmax(x, axis=None):  # type: ignore[no-untyped-def]
    z = compute_softmax(x, axis)
    return z, z


@njit(**NJIT_OPTIONS)
def pull_softmax(axis, z, z_bar):  # type: ignore[no-untyped-def]
    """z (z_bar - sum(z z_bar)), in which zeros of z_bar mask what is not finite in z."""
    made = np.empty(z.shape)
    flat, of_z, of_bar = made.reshape(made.size), z.reshape(z.size), z_bar.reshape(z_bar.size)
    total = 0.0
    for k in range(flat.size):
        flat[k] = of_z[k] * of_bar[k] if of_bar[k] != 0.0 else 0.0
        total += flat[k]
    for k in range(flat.size):
        if total != 0.0:
            flat[k] -= total * of_z[k]
    return (made,)


PARTS: dict[ArrayRule, Parts] = {
    logsumexp: Parts(compute_logsumexp, _push_logsumexp, pull_logsumexp, (1,)),
    softmax: Parts(compute_softmax, _push_softmax, pull_softmax, (1,)),
}
