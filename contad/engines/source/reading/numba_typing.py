"""The Numba types of kinds and entries, and the kinds of Numba types."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numba
from numba import types

from contad.engines.source.ir.entries import Complex, Object, Opaque, Point, is_array, is_number
from contad.engines.source.ir.ssa import MOST_AXES, SINGLE, Kind
from contad.engines.source.ir.walks import class_of_names

BASES = {"float64": "float", "int64": "int", "bool": "bool"}
NARROW = ("int32", "int16", "int8")
# a call may write to these, or return parts of them
MUTABLE = (
    types.List, types.ListType, types.DictType, types.Set, types.ClassInstanceType, types.StructRef, types.Record,
    types.NumPyRandomGeneratorType,
)  # fmt: skip


def is_wide(kind: Kind) -> bool:
    """Whether numbers, or the elements of an array, have 64 bits."""
    return not (kind.small or kind.narrow)


def type_of(
    entry: Any, takes: Callable[[Kind], bool] = lambda kind: True, readonly: bool = False, layout: str = "C"
) -> Any:
    """The Numba type of an entry; None if it has none, or contains a number or array of a kind that is not taken.

    Arrays are taken to be read-only or not, and to have this layout.
    """
    if isinstance(entry, Complex):
        part = type_of(entry.real if is_array(entry.real) else entry.imag, takes, readonly, layout)
        return part.copy(dtype=types.complex128) if isinstance(part, types.Array) else types.complex128
    if isinstance(entry, tuple):
        parts, cls = [type_of(part, takes, readonly, layout) for part in entry], class_of_names(entry)
        return None if None in parts else types.Tuple(parts) if cls is None else types.NamedTuple(parts, cls)
    if isinstance(entry, Point):
        held = type_of(entry.array, takes)
        return None if held is None else types.Array(held.dtype, 0, "C")
    if isinstance(entry, Opaque):
        return entry.type
    if is_number(entry) or is_array(entry):
        return number_type(entry.kind, readonly, layout) if takes(entry.kind) else None
    try:
        return numba.typeof(entry.value) if isinstance(entry, Object) else None
    except ValueError:  # Numba knows no type for it
        return None


def number_type(kind: Kind, readonly: bool = False, layout: str = "C") -> Any:
    """The Numba type of a number or array."""
    base = {"float": types.float64, "single": types.float32, "int": types.int64, "bool": types.boolean}[kind.elements]
    if not kind.ndim:
        return base
    base = types.int32 if kind.narrow else base
    return types.Array(base, kind.ndim, layout, readonly=readonly)


def kind_of(t: Any) -> Any:
    """The kind of a result of a Numba type: a kind, a tuple of kinds, or None if there is none."""
    if isinstance(t, types.Literal):
        return kind_of(t.literal_type)
    if isinstance(t, types.Array) and 1 <= t.ndim <= MOST_AXES and str(t.dtype) in (*BASES, *NARROW):
        return Kind(BASES.get(str(t.dtype), "int"), t.ndim, str(t.dtype) in NARROW)
    if isinstance(t, types.Array) and 1 <= t.ndim <= MOST_AXES and t.dtype == types.float32:
        return replace(SINGLE, ndim=t.ndim)
    if t == types.float32:
        return SINGLE
    if isinstance(t, types.BaseTuple):
        parts = [kind_of(part) for part in t.types]
        if None in parts:
            return None
        return t.instance_class._make(parts) if isinstance(t, types.BaseNamedTuple) else tuple(parts)
    return Kind(BASES[str(t)]) if str(t) in BASES else None


def is_fresh(t: Any) -> bool:
    """Whether an array of this type is writable, and so shares no memory with read-only arguments."""
    return bool(t.mutable)
