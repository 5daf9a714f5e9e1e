"""Writes into complex arrays: elements, slices, and elements at index arrays, of both parts."""

import ast
from typing import Any

from contad.engines.source.ir.entries import ArrayOfComplex, Complex, is_number
from contad.engines.source.ir.ssa import Accumulate
from contad.engines.source.ir.walks import find_written_roots
from contad.engines.source.reading.builder import WHOLE
from contad.engines.source.reading.complex_numbers import has_axes, promote
from contad.engines.source.reading.elementwise import arrays_of
from contad.engines.source.reading.index_arrays import IndexArrays, has_arrays
from contad.engines.source.reading.progress import Environment
from contad.engines.source.reading.reader import Reader


def assign(reader: Reader, array: Complex, spec: list[Any], entry: Any, target: ast.AST) -> None:
    """array[spec] = entry."""
    numbers = reader.complex
    if has_arrays(spec):
        x = numbers.compute(promote(reader.builder, entry))
        if set(arrays_of(x)) & set(arrays_of(array)):
            x = numbers.copy(x)
        for part, given in zip(array, x, strict=True):
            IndexArrays(reader).write(part, spec, given, target)
    elif all(is_number(part) for part in spec):
        x = promote(reader.builder, entry)
        if not isinstance(x, Complex) or has_axes(x):
            reader.refuse(target, "the assignment of something that is no number to {node}", "give a number")
        numbers.put(array, spec, x)
    else:
        everything = all(part == WHOLE for part in spec)
        numbers.fill(array if everything else numbers.view(array, spec), entry, target)


def update(
    reader: Reader, array: Complex, spec: list[Any], operator: str, statement: ast.AugAssign, env: Environment
) -> None:
    """array[spec] op= value, for an element, a part, or elements at an index array."""
    numbers = reader.complex
    if has_arrays(spec):
        old: Complex = ArrayOfComplex(*(IndexArrays(reader).read(part, spec, statement.target) for part in array))
    else:
        old = numbers.view(array, spec)
    before = len(reader.builder.block.operations)
    entry = reader.expression(statement.value, env)
    written = {root for o in reader.builder.block.operations[before:] for root in find_written_roots(o)}
    x, at_element = promote(reader.builder, entry), all(map(is_number, spec))
    adds = (
        operator in ("Add", "Sub") and isinstance(x, Complex) and not written & {*array.real.roots, *array.imag.roots}
    )
    if at_element and adds:
        for part, added in zip(array, x, strict=True):
            if added.constant != 0.0:
                reader.builder.add(Accumulate(part, spec, added, "+" if operator == "Add" else "-"))
        return
    new = reader.binary(operator, old, entry, statement)
    if at_element or has_arrays(spec):
        assign(reader, array, spec, new, statement.target)
    else:
        numbers.fill(old, new, statement)
