"""Replacements for object arrays in calls of a user's rule: float arrays, or array variables.

Engines without array variables hold arrays as object arrays of numbers, whose memory C code would take for floats. When
the functions of a rule run on numbers of an outer level, contad lends them such an array as an array variable of a
level that nobody sweeps. Its values are the numbers of the outer level, and these record the computation.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from contad.errors import RuleError
from contad.variables.array import Array, lower_constants, numbers_in, root_of
from contad.variables.dtypes import FLOAT
from contad.variables.layout import NumberBox
from contad.variables.number import Carrier, is_real, map_numbers
from contad.variables.open_types import Function, Nested, Options, Rule, Value
from contad.variables.overlaps import forbid_writing
from contad.variables.stack import ENGINES, ChainStack, opened
from contad.variables.trees import leaves_of, like_tuple, map_leaves


def as_floats(x: Value) -> Value:
    """The contents of an array of constants, as a float array; anything else unchanged."""
    x = lower_constants(x)
    if isinstance(x, np.ndarray) and x.dtype == object and all(map(is_real, x.flat)):
        return x.astype(np.float64)
    return x


def call_with_arrays(f: Function, *args: Nested, **options: Any) -> Nested:
    """f(*args, **options) for a user's function, which never gets an object array of numbers."""
    if not holds_objects(args):
        return f(*args, **options)
    args = tuple(map_leaves(as_floats, x) for x in args)
    if not holds_objects(args):
        return f(*args, **options)
    make_stack: Any = ENGINES[0]("matrix")
    with opened(lambda: make_stack(lends_arrays=True)) as s:

        lent: list[tuple[Value, np.ndarray]] = []

        def lend(x: Value) -> Value:
            if not _is_of_numbers(x):
                return x
            lent.append((s.adopt(s.array_variable(x)), x))
            return lent[-1][0]

        def take_back(x: Value) -> Value:
            z = _take_back(s, x)
            for y, own in lent:
                if isinstance(x, Array) and root_of(x) is y:  # which the marks tell the caller
                    for one in (z, own):
                        forbid_writing(one, "a rule returns memory of its argument")
            return z

        found = f(*(map_leaves(lend, x) for x in args), **options)
        return map_leaves(take_back, found)


def _take_back(s: ChainStack, x: Nested) -> Nested:
    """x with the numbers of the level below in place of those of the lending level."""

    def take(n: Any) -> Value:
        if n._owner is not s:
            return n
        below = n._sync_parts()._value
        return below.copy() if isinstance(below, (np.ndarray, Array)) else below

    return map_numbers(take, x)


def holds_objects(parts: Iterable[Nested]) -> bool:
    """Whether these contain an object array; for the usual containers this is faster than a call of optree."""
    for x in parts:
        kind = x.__class__
        if kind is np.ndarray or kind is NumberBox:
            if x.dtype is not FLOAT and x.dtype == object:
                return True
        elif kind is tuple or kind is list:
            if holds_objects(x):
                return True
        elif kind is dict:
            if x and holds_objects(x.values()):
                return True
        elif x is None or isinstance(x, _OTHERS):
            continue
        elif holds_objects(_parts_of(x)):
            return True
    return False


_OTHERS = float, str, int, Carrier, np.ndarray  # including subclasses of arrays, which nobody inspects


def _parts_of(x: Nested) -> list[Nested]:
    leaves = leaves_of(x)
    return [] if len(leaves) == 1 and leaves[0] is x else leaves


def _is_of_numbers(x: Value) -> bool:
    return isinstance(x, np.ndarray) and x.dtype == object and bool(numbers_in(x))


def apply_below(s: ChainStack, rule: Rule, args: Sequence[Value], options: Options) -> Value:
    """An array rule on lent arrays, performed by the level below, whose numbers are the values."""

    def lend(z: Value) -> Value:
        return s.adopt(s.array_variable(z)) if np.ndim(z) else z

    z = rule.general([_take_back(s, x) for x in args], dict(options))
    return like_tuple(z, map(lend, z)) if isinstance(z, tuple) else lend(z)


def refuse_continuation() -> NoReturn:
    """Raise RuleError: nobody sweeps a level that lends arrays."""
    raise RuleError(
        "reverse_pass_callback and make_callback_var: a rule is differentiated as it stands, without continuations of "
        "its own; write them as a rule, contad.custom_vjp"
    )
