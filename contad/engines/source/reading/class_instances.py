"""Reads instances of `numba.experimental.jitclass`: new ones, and methods of arguments.

A number field is an array of one element, so that branches and loops may change it. Any other field is fixed by the
block that creates the instance. Methods are inlined.
"""

import ast
from typing import Any

from numba import types

from contad.engines.source.ir.entries import Instance, Method, Object, Opaque, constant
from contad.engines.source.ir.ssa import Value
from contad.engines.source.reading.call_site import CallSite
from contad.engines.source.reading.numba_typing import BASES
from contad.engines.source.reading.progress import Environment
from contad.engines.source.reading.reader import Reader
from contad.engines.source.reading.structured_arrays import put_number


def class_of(x: Any) -> Any:
    """Numba's type of the class of an instance; None for anything else."""
    if isinstance(x, Instance):
        return x.type
    found = x.type if isinstance(x, Opaque) else None
    return found.class_type if isinstance(found, types.ClassInstanceType) else None


def make_instance(site: CallSite, cls: types.ClassType) -> Instance:
    """A new instance of a class: its fields are 0 before `__init__`."""
    made = Instance(cls, {}, site.builder.block)
    for name, t in cls.struct.items():
        if isinstance(t, (types.Number, types.Boolean)):
            if str(t) not in BASES:
                site.refuse(f"the field {name} of {cls.class_name}, of type {t}", "declare float64, int64 or boolean")
            made.fields[name] = site.builder.create("zeros", [constant(1)], BASES[str(t)], name)
    site.inline(cls.jit_methods["__init__"], [made, *site.arguments], site.keywords)
    return made


def read_attribute(reader: Reader, instance: Any, node: ast.Attribute, env: Environment) -> Any:
    """A field, a property or a method."""
    cls, name = class_of(instance), node.attr
    if name in cls.jit_methods:
        return Method(instance, name)
    if name in cls.jit_static_methods:
        return Object(cls.jit_static_methods[name])
    if name in cls.jit_props:
        return reader.inline(cls.jit_props[name]["get"], [instance], {}, node, env)
    field = _field(cls, name)
    if isinstance(instance, Opaque) or field not in instance.fields:
        reader.refuse(node, "the attribute {node}", "give every field a value in __init__")
    cell = instance.fields[field]
    return reader.builder.load(cell, [constant(0)]) if _is_number(cls, field) else cell


def call_method(site: CallSite, method: Method) -> Any:
    """Inline a method; its result."""
    dispatcher = class_of(method.array).jit_methods[method.name]
    return site.inline(dispatcher, [method.array, *site.arguments], site.keywords)


def find_cell(instance: Any, target: ast.Attribute) -> Value | None:
    """The array of one element for a number field; None for other fields."""
    if not isinstance(instance, Instance):
        return None
    field = _field(instance.type, target.attr)
    return instance.fields.get(field) if _is_number(instance.type, field) else None


def assign_field(reader: Reader, instance: Any, target: ast.Attribute, entry: Any, env: Environment) -> None:
    """instance.name = entry."""
    if not isinstance(instance, Instance):
        of = "an instance that is given" if isinstance(instance, Opaque) else "an attribute"
        reader.refuse(target, f"the assignment to {{node}} of {of}", "make the instance in the function")
    cls = instance.type
    if target.attr in cls.jit_props:
        reader.inline(cls.jit_props[target.attr]["set"], [instance, entry], {}, target, env)
        return
    field = _field(cls, target.attr)
    cell = find_cell(instance, target)
    if cell is not None:
        put_number(reader, cell, [constant(0)], entry, target, cls.struct[field])
        return
    if instance.block is not reader.builder.block:
        what = "the assignment to {node}, which is no number, in a branch or a loop"
        reader.refuse(target, what, "give it a value where the instance is made, and change its elements")
    entry = reader.settle(entry)
    t = cls.struct.get(field)
    if isinstance(t, types.Array):
        is_such = isinstance(entry, Value) and entry.kind.ndim == t.ndim and not entry.kind.narrow
        if not is_such or BASES.get(str(t.dtype)) != entry.kind.base:
            reader.refuse(target, f"the assignment to {{node}} of another type than {t}", "give what is declared")
    instance.fields[field] = entry


def _field(cls: types.ClassType, name: str) -> str:
    """The mangled name of a field: names with two underscores get the class name as prefix."""
    is_private = name.startswith("__") and not name.endswith("__")
    return f"_{cls.class_name.lstrip('_')}{name}" if is_private else name


def _is_number(cls: types.ClassType, field: str) -> bool:
    return isinstance(cls.struct.get(field), (types.Number, types.Boolean))
