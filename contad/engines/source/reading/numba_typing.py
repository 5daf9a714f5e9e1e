"""The types that Numba gives to an expression of the user's, and what they are in a program."""

from dataclasses import replace
from typing import Any

from numba import types

from contad.engines.source.ir.single_assignment import MOST_AXES, SINGLE, Kind

BASES = {"float64": "float", "int64": "int", "bool": "bool"}
NARROW = ("int32", "int16", "int8")
# what a call may write into, or hand out parts of
MUTABLE = (
    types.List, types.ListType, types.DictType, types.Set, types.ClassInstanceType, types.StructRef, types.Record,
    types.NumPyRandomGeneratorType,
)  # fmt: skip


def number_type(kind: Kind, readonly: bool) -> Any:
    """The Numba type of a number or array of a program. Layouts are not known: an array may be any."""
    base = {"float": types.float64, "int": types.int64, "bool": types.boolean}[kind.base]
    if not kind.ndim:
        return base
    base = types.float32 if kind.small == "single" else types.int32 if kind.narrow else base
    return types.Array(base, kind.ndim, "C", readonly=readonly)


def kind_of(t: Any) -> Any:
    """The kind of a result of a Numba type: a kind, a tuple of kinds, or None where a program has none."""
    if isinstance(t, types.Literal):
        return kind_of(t.literal_type)
    if isinstance(t, types.Array) and 1 <= t.ndim <= MOST_AXES and str(t.dtype) in (*BASES, *NARROW):
        return Kind(BASES.get(str(t.dtype), "int"), t.ndim, str(t.dtype) in NARROW)
    if isinstance(t, types.Array) and 1 <= t.ndim <= MOST_AXES and t.dtype == types.float32:
        return replace(SINGLE, ndim=t.ndim, narrow=True)
    if t == types.float32:
        return SINGLE
    if isinstance(t, types.BaseTuple):
        parts = [kind_of(part) for part in t.types]
        if None in parts:
            return None
        return t.instance_class._make(parts) if isinstance(t, types.BaseNamedTuple) else tuple(parts)
    return Kind(BASES[str(t)]) if str(t) in BASES else None


def is_fresh(t: Any) -> bool:
    """Whether an array of this type shares no memory with read-only arguments: it can be written."""
    return bool(t.mutable)
