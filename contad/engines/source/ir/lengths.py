"""Static facts about arrays: which lengths are equal or at most another one, which may differ; the order in memory."""

from collections.abc import Iterator
from typing import Any

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.ssa import (
    NEW_AXIS,
    Apply,
    Block,
    Choose,
    Create,
    Length,
    Permuted,
    Product,
    Reshaped,
    Value,
    View,
)


def same_length(a: Value, b: Value) -> bool:
    """Whether two lengths are known to be equal."""
    return a is b or _key(a) == _key(b)


def may_differ(length: Value, limit: Value, blocks: list[Block]) -> bool:
    """Whether a length at the end of an iteration may differ from `limit`, the length before a loop with these blocks.

    It may if a slice or arithmetic computes it from the limit, or from values of the iteration.
    """
    if length.constant is not None and limit.constant is not None:
        return bool(length.constant != limit.constant)
    if limit.constant == 0:
        return _is_sliced(length)
    if limit.constant is not None and isinstance(length.operation, Length):
        known = [x.constant for x in _sources(length.operation.inputs[0], length.operation.axis)]
        if any(n not in (None, limit.constant) for n in known):
            return True
    changing = any(
        same_length(x, limit) or (x.constant is None and any(lies_in(x, block) for block in blocks))
        for x in _parts(length, limit)
    )
    return changing and _is_sliced(length)


def is_within(length: Value, limit: Value) -> bool:
    """Whether a length is known to be at most another one."""
    if same_length(length, limit) or length.constant == 0:
        return True
    if length.constant is not None:
        return limit.constant is not None and bool(length.constant <= limit.constant)
    o = length.operation
    if isinstance(o, Length):
        return all(is_within(x, limit) for x in _sources(o.inputs[0], o.axis)) and _is_known(o.inputs[0])
    if not isinstance(o, Apply):
        return False
    if o.function is known_functions.SELECT:
        return all(is_within(x, limit) for x in o.inputs[1:])
    less = o.inputs[-1].constant
    if o.function is known_functions.SUBTRACT:
        return less is not None and less >= 0 and is_within(o.inputs[0], limit)
    if o.function is not known_functions.FLOOR_DIVIDE:
        return False
    return less is not None and less >= 1 and is_within(o.inputs[0], limit)


def whole_axis(view: View, axis: int) -> int | None:
    """The axis of the array that an axis of a view covers in full, forwards or backwards; None if it covers a part."""
    kept = [(k, part) for k, part in enumerate(view.spec or ()) if not isinstance(part, int)]
    k, (start, stop, step) = kept[axis]
    if start is not None or stop is not None or (step is not None and view.inputs[step].constant not in (1, -1)):
        return None
    return k


def lies_in(value: Value, block: Block) -> bool:
    """Whether a value is computed inside a block (the operation that holds the block need not exist yet)."""
    inside: Block | None = value.block
    while inside is not None:
        if inside is block:
            return True
        inside = inside.parent.block if inside.parent is not None else None
    return False


# ---- lengths of arrays -----------------------------------------------------------------------------------------------
def _is_known(array: Value) -> bool:
    """Whether the origin of the length of an array is known."""
    return isinstance(array.operation, (Create, Choose)) or _is_slice(array)


def _is_slice(array: Value) -> bool:
    o = array.operation
    return isinstance(o, View) and NEW_AXIS not in (o.spec or ()) and not isinstance(o, (Permuted, Reshaped))


def base_axis(view: View, axis: int) -> tuple[Value, int]:
    """The array and the axis of which an axis of a view is a part."""
    if view.spec is None:
        return view.inputs[0], view.result.kind.ndim - 1 - axis
    return view.inputs[0], [k for k, part in enumerate(view.spec) if not isinstance(part, int)][axis]


def _sources(array: Value, axis: int) -> list[Value]:
    """The lengths from which the length of an array is derived: for a view, that of its array."""
    o = array.operation
    if isinstance(o, Create):
        return [o.inputs[axis]]
    if isinstance(o, Choose):
        return [x for choice in o.inputs[1:] for x in _sources(choice, axis)]
    if isinstance(o, View) and _is_slice(array):
        return _sources(*base_axis(o, axis))
    return [_Unknown(array, axis)]


class _Unknown(Value):
    """The length of an array, if nothing else is known about it."""

    def __init__(self, array: Value, axis: int) -> None:
        super().__init__(array.kind)
        self.key = ("array", id(array), axis)
        self.block = array.block


def _parts(length: Value, limit: Value) -> Iterator[Value]:
    """The lengths and numbers from which a length is computed, back to the limit."""
    o = length.operation
    if same_length(length, limit) or not isinstance(o, (Length, Apply)):
        yield length
        return
    for x in _sources(o.inputs[0], o.axis) if isinstance(o, Length) else o.inputs:
        yield from _parts(x, limit)


def _is_sliced(length: Value) -> bool:
    """Whether a length is computed, or that of a part of an array."""

    def is_part(array: Value, axis: int) -> bool:
        o = array.operation
        if isinstance(o, Choose):
            return any(is_part(x, axis) for x in o.inputs[1:])
        if isinstance(o, Create):
            return _is_sliced(o.inputs[axis])
        if not isinstance(o, View) or not _is_slice(array):
            return False
        return (o.spec is not None and whole_axis(o, axis) is None) or is_part(*base_axis(o, axis))

    o = length.operation
    return isinstance(o, Apply) or (isinstance(o, Length) and is_part(o.inputs[0], o.axis))


def _key(length: Value) -> Any:
    """A key that is equal for two lengths with the same computation from the same operands."""
    if isinstance(length, _Unknown):
        return length.key
    if length.constant is not None:
        return length.constant
    o = length.operation
    if isinstance(o, Length):
        return _key_of(o.inputs[0], o.axis)
    if isinstance(o, Apply):
        return (o.function.name, *map(_key, o.inputs))
    return ("value", id(length))


def _key_of(array: Value, axis: int) -> Any:
    """A key for the length of an array along an axis; equal lengths share it."""
    o = array.operation
    if isinstance(o, Create):
        return _key(o.inputs[axis])
    if isinstance(o, Choose):
        keys = [_key_of(x, axis) for x in o.inputs[1:]]
        if all(key == keys[0] for key in keys):
            return keys[0]
    if isinstance(o, View) and _is_slice(array):
        inner = _key_of(*base_axis(o, axis))
        if o.spec is None or whole_axis(o, axis) is not None:
            return inner
        part = [part for part in o.spec if not isinstance(part, int)][axis]
        return ("part", inner, *(None if k is None else _key(o.inputs[k]) for k in part))
    return ("array", id(array), axis)


# ---- the order in memory ---------------------------------------------------------------------------------------------
UNSEEN = ""


def order_of(array: Value) -> str:
    """ "C" if Numba's type of an array says that it is C-contiguous; "other" if the type says otherwise."""
    o = array.operation
    if array.order or not array.is_array:
        return array.order
    if isinstance(o, Product):
        return "C"
    if isinstance(o, Reshaped):
        return order_of(o.inputs[0])
    if isinstance(o, Choose):
        orders = {order_of(x) for x in o.inputs[1:]}
        return orders.pop() if len(orders) == 1 else UNSEEN
    if isinstance(o, View):
        return _order_of_part(o)
    return UNSEEN


def _order_of_part(view: View) -> str:
    """The order of a transpose, of rows, and of the front of a vector; other slices are not analysed."""
    outer = order_of(view.inputs[0])
    if view.spec is None:
        return outer if view.result.kind.ndim == 1 else {"C": "other"}.get(outer, UNSEEN)
    places = list(view.spec)
    while places and isinstance(places[0], int):
        del places[0]
    is_row = all(part == (None, None, None) for part in places)
    is_front = len(view.spec) == 1 and isinstance(view.spec[0], tuple) and view.spec[0][2] is None
    return outer if view.spec and outer == "C" and (is_row or is_front) else UNSEEN
