"""Structured arrays: an array for each field, both for new ones and for arguments.

`data[i]` refers to all fields at an index, so writes into an element change the array. Arguments are read in place; if
the function writes an argument, its fields are copied first.
"""

import ast
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numba import types

from contad.compile.typing_rules import from_dtype
from contad.engines.source.ir.entries import Method, Object, Opaque, StructuredArray, constant, is_array, is_number
from contad.engines.source.ir.ssa import MOST_AXES, Block, Value
from contad.engines.source.reading.builder import WHOLE
from contad.engines.source.reading.call_site import CallSite
from contad.engines.source.reading.numba_typing import BASES, NARROW
from contad.engines.source.reading.passing import pass_on
from contad.engines.source.reading.progress import Environment
from contad.engines.source.reading.reader import Reader
from contad.errors import UnsupportedError


class WrittenArgument(Exception):
    """The function writes the structured array argument of this name; it has to be read again, knowing that."""


# ---- making ----------------------------------------------------------------------------------------------------------
def record_type_of(dtype: Any) -> Any:
    """Numba's record type for a dtype; None for other dtypes."""
    found = dtype.value if isinstance(dtype, Object) else None
    if isinstance(found, np.dtype) and found.names:
        found = from_dtype(found)
    return found if isinstance(found, types.Record) else None


def make_structured(site: CallSite, fill: str, shape: list[Value], t: Any) -> StructuredArray:
    """A new structured array of a record type."""
    made: dict[str, Value] = {}
    for name, field in t.fields.items():
        inner = field.type
        base, more = (inner.dtype, inner.shape) if isinstance(inner, types.NestedArray) else (inner, ())
        if str(base) not in BASES or len(shape) + len(more) > MOST_AXES:
            what = f"the field {name} of {{node}}, of type {inner}"
            site.refuse(what, "declare float64, int64 or bool, or arrays of these")
        made[name] = site.builder.create(fill, [*shape, *map(constant, more)], BASES[str(base)], name)
    return StructuredArray(made, len(shape), str(t))


def is_argument(x: Any) -> bool:
    """Whether an entry is a structured array argument."""
    return isinstance(x, Opaque) and isinstance(x.type, types.Array) and isinstance(x.type.dtype, types.Record)


class _ArgumentFields(Mapping[str, Value]):
    """The numeric fields of an argument, which operations at the start of the function extract."""

    def __init__(self, reader: Reader, given: Opaque) -> None:
        self.reader, self.given = reader, given
        fields = given.type.dtype.fields
        self.names = [name for name, field in fields.items() if _is_computed(field.type)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, name: str) -> Value:
        """The array of a field, extracted once."""
        if name not in self.names:
            raise KeyError(name)
        known, builder = self.reader.progress.fields, self.reader.builder
        if (self.given.value, name) not in known:
            text = ast.Subscript(ast.Name("given", ast.Load()), ast.Constant(name), ast.Load())
            place = ast.Pass(lineno=self.reader.progress.line, col_offset=0)
            for node in ast.walk(text):
                ast.copy_location(node, place)
            refusal = UnsupportedError(f"the field {name}; pass it as an array of its own")
            with builder.inside(Block()) as block:
                found = pass_on(self.reader, text, {"given": self.given}, refusal)
            assert found is not None
            builder.start += block.operations
            known[self.given.value, name] = found
        return known[self.given.value, name]


def _is_computed(t: Any) -> bool:
    t = t.dtype if isinstance(t, types.NestedArray) else t
    return str(t) in BASES or str(t) in NARROW


def read_argument(reader: Reader, given: Opaque) -> StructuredArray:
    """An argument, in place."""
    t = given.type
    return StructuredArray(_ArgumentFields(reader, given), t.ndim, str(t.dtype), argument=given.value.hint)


def copy_argument(reader: Reader, given: Opaque) -> StructuredArray:
    """A copy, field by field, of an argument that the function writes."""
    found = read_argument(reader, given)
    fields = {name: x if x.kind.narrow else reader.arrays.copy_elements(x) for name, x in found.fields.items()}
    return StructuredArray(fields, found.ndim, found.type)


# ---- reading ---------------------------------------------------------------------------------------------------------
def read_part(reader: Reader, structured: StructuredArray, node: ast.Subscript, env: Environment) -> Any:
    """structured[...]: a field, an element, or a slice."""
    index = reader.expression(node.slice, env) if not isinstance(node.slice, (ast.Slice, ast.Tuple)) else None
    if isinstance(index, Object) and isinstance(index.value, str):
        return read_field(reader, structured, index.value, node)
    if not structured.ndim or not structured.fields:
        reader.refuse(node, "the subscript {node} of an element of a structured array", "give the name of a field")
    first = next(iter(structured.fields.values()))
    more = first.kind.ndim - len(structured.index) - structured.ndim
    lead = reader.builder.view(first, [*structured.index, *[WHOLE] * structured.ndim, *[constant(0)] * more])
    spec = reader.subscript(lead, node.slice, env)
    if all(isinstance(part, Value) and not part.is_array for part in spec):
        return StructuredArray(structured.fields, 0, structured.type, [*structured.index, *spec], structured.argument)
    if not all(isinstance(part, tuple) or (isinstance(part, Value) and not part.is_array) for part in spec):
        reader.refuse(node, "the subscript {node} of a structured array", "take integers and slices")
    fields = {name: reader.builder.view(x, _all_of(spec, x)) for name, x in structured.fields.items()}
    return StructuredArray(
        fields, sum(isinstance(part, tuple) for part in spec), structured.type, [], structured.argument
    )


def _all_of(spec: list[Any], array: Value) -> list[Any]:
    return spec + [WHOLE] * (array.kind.ndim - len(spec))


def read_item(structured: StructuredArray, index: Value) -> StructuredArray:
    """The element at an index, for a loop over an array of one axis."""
    return StructuredArray(structured.fields, 0, structured.type, [index], structured.argument)


def read_field(reader: Reader, structured: StructuredArray, name: str, node: ast.expr) -> Any:
    """A field of an element, or of the whole array."""
    field = structured.fields.get(name)
    if field is None:
        what = "the field in {node}, which there is none of, or of another type"
        reader.refuse(node, what, "use fields of float64, int64 or bool")
    if field.kind.ndim == len(structured.index):
        return reader.builder.load(field, structured.index)
    return reader.builder.view(field, _all_of(structured.index, field)) if structured.index else field


def read_attribute(reader: Reader, structured: StructuredArray, node: ast.Attribute) -> Any:
    """A field by attribute, or an attribute of the array."""
    if node.attr in structured.fields or not structured.ndim:
        return read_field(reader, structured, node.attr, node)
    if node.attr in ("shape", "size", "ndim"):
        lengths = shape_of(reader, structured)
        if node.attr == "shape":
            return tuple(lengths)
        return constant(len(lengths)) if node.attr == "ndim" else lengths[0] if len(lengths) == 1 else None
    if node.attr == "copy":
        return Method(structured, "copy")
    return read_field(reader, structured, node.attr, node)


def shape_of(reader: Reader, structured: StructuredArray) -> list[Value]:
    """The lengths of a structured array."""
    first = next(iter(structured.fields.values()))
    return [reader.builder.length(first, axis) for axis in range(structured.ndim)]


def copy_structured(reader: Reader, structured: StructuredArray) -> StructuredArray:
    """structured.copy()."""
    fields = {name: reader.arrays.copy_elements(x) for name, x in structured.fields.items()}
    return StructuredArray(fields, structured.ndim, structured.type)


# ---- writing ---------------------------------------------------------------------------------------------------------
def find_place(reader: Reader, structured: StructuredArray, name: Any, target: ast.expr) -> tuple[Value, list[Any]]:
    """The array and the indices of a field of an element."""
    if structured.argument:
        raise WrittenArgument(structured.argument)
    field = structured.fields.get(name) if isinstance(name, str) else None
    if field is None or len(structured.index) == 0:
        what = "the assignment to {node}, which is no field of a structured array"
        reader.refuse(target, what, "assign to fields of float64, int64 or bool, as in data[i].x = ...")
    return field, _all_of(structured.index, field)


def assign_field(reader: Reader, structured: StructuredArray, name: Any, target: ast.expr, entry: Any) -> None:
    """element.name = entry."""
    field, spec = find_place(reader, structured, name, target)
    if any(isinstance(part, tuple) for part in spec):
        reader.arrays.fill(reader.builder.view(field, spec), entry, target)
        return
    put_number(reader, field, spec, entry, target, "it has")


def put_number(reader: Reader, field: Value, place: list[Any], entry: Any, target: ast.expr, declared: Any) -> None:
    """Store a number in a field, cast to its declared type."""
    if not is_number(entry) or (entry.kind.base == "float" and field.kind.base != "float"):
        reader.refuse(target, f"the assignment to {{node}} of another type than {declared}", "give what is declared")
    reader.arrays.put(field, place, entry)


def assign_element(reader: Reader, element: StructuredArray, entry: Any, target: ast.Subscript) -> None:
    """array[i] = another element."""
    if element.argument:
        raise WrittenArgument(element.argument)
    known = isinstance(entry, StructuredArray) and not element.ndim and not entry.ndim and entry.type == element.type
    if not known or set(entry.fields) != set(element.fields):
        what = "the assignment to {node} of something that is no element of this type"
        reader.refuse(target, what, "assign to its fields, one by one")
    read = {name: read_field(reader, entry, name, target) for name in element.fields}
    read = {name: reader.arrays.copy_elements(x) if is_array(x) else x for name, x in read.items()}
    for name, x in read.items():
        assign_field(reader, element, name, target, x)
