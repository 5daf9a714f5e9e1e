"""Maps kinds to Numba types, and the Numba types of user expressions to kinds."""

from dataclasses import replace
from typing import Any

from numba import types

from contad.engines.source.ir.single_assignment import MOST_AXES, SINGLE, Kind

BASES = {"float64": "float", "int64": "int", "bool": "bool"}
NARROW = ("int32", "int16", "int8")
# a call may write to these, or return parts of them
MUTABLE = (
    types.List, types.ListType, types.DictType, types.Set, types.ClassInstanceType, types.StructRef, types.Record,
    types.NumPyRandomGeneratorType,
)  # fmt: skip


def number_type(kind: Kind, readonly: bool) -> Any:
    """The Numba type of a number or array. The layout of an array is unknown, so it is "A"."""
    base = {"float": types.float64, "int": types.int64, "bool": types.boolean}[kind.base]
    if not kind.ndim:
        return base
    base = types.float32 if kind.small == "single" else types.int32 if kind.narrow else base
    return types.Array(base, kind.ndim, "C", readonly=readonly)


def kind_of(t: Any) -> Any:
    """The kind of a result of a Numba type: a kind, a tuple of kinds, or None if there is none."""
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
    """Whether an array of this type is writable, and so shares no memory with read-only arguments."""
    return bool(t.mutable)
