"""Containers that are made inside: lists of numbers, dicts and sets with members that the source shows.

A list keeps its length, so that it is an array that checks its indices. A dict is looked up while it is read, a set is
a comparison with each of its members. What would change which members they have is refused.
"""

import ast
import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import (
    Grown,
    Keyed,
    Listed,
    Members,
    Object,
    Range,
    Rows,
    Unknown,
    constant,
    is_array,
    is_number,
    join_kinds,
)
from contad.engines.source.ir.single_assignment import INT, Block, Check, For, Value
from contad.engines.source.ir.walks import find_written_roots

if TYPE_CHECKING:
    from contad.engines.source.reading.expressions import ExpressionReader
    from contad.engines.source.reading.progress import Environment

_BEYOND = "IndexError", "the index of a list is out of range"


# ---- lists -----------------------------------------------------------------------------------------------------------
def read_list(reader: "ExpressionReader", node: ast.List, env: "Environment") -> Listed:
    """[x, y, ...], of numbers."""
    return _list_of(reader, [_number(reader, part, node, env) for part in node.elts], node)


def _number(reader: "ExpressionReader", part: ast.expr, node: ast.expr, env: "Environment") -> Value:
    """An element of a list."""
    entry = reader.expression(part, env)
    if not is_number(entry):
        what = f"the list {ast.unparse(node)!r} of what is no number"
        reader.progress.refuse(node, what, "write into an array in a loop, or loop over a tuple")
    return entry


def list_arrays_as_tuple(reader: "ExpressionReader", node: ast.expr, env: "Environment") -> ast.expr:
    """What a loop runs over, with tuples in the place of lists of arrays, or of tuples, that are written out there."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("enumerate", "zip"):
        made = copy.copy(node)
        made.args = [list_arrays_as_tuple(reader, x, env) for x in node.args]
        return made
    if not isinstance(node, ast.List) or not node.elts:
        return node
    before = reader.state()
    entries = [reader.expression(x, env) for x in node.elts]
    reader.return_to(before)
    if all(map(is_number, entries)) or not all(is_array(x) or isinstance(x, tuple) for x in entries):
        return node
    return ast.copy_location(ast.Tuple(node.elts, ast.Load()), node)


def _list_of(reader: "ExpressionReader", numbers: list[Value], node: ast.AST) -> Listed:
    """These numbers in an array, of the kind that all of them can have."""
    if not numbers:
        reader.progress.refuse(node, "an empty list without a name", "give it a name, and append to that")
    kind = numbers[0].kind
    for x in numbers[1:]:
        kind = join_kinds(kind, x.kind)
    made = reader.builder.create("empty", [constant(len(numbers))], kind.base)
    made.order = "C"
    for k, x in enumerate(numbers):
        reader.arrays.put(made, [constant(k)], x)
    return Listed(made)


def repeat(reader: "ExpressionReader", listed: Listed, times: Value) -> Listed:
    """list * n: the elements n times over; none where n is negative."""
    builder, array = reader.builder, array_of(reader, listed)
    length, some = builder.length(array, 0), builder.apply(known_functions.COMPARISONS["Gt"], times, constant(0))
    count = builder.apply(known_functions.SELECT, some, times, constant(0))
    made = builder.create("empty", [builder.apply(known_functions.MULTIPLY, count, length)], array.kind.base)

    def copy_element(at: list[Value]) -> None:
        before = builder.apply(known_functions.MULTIPLY, at[0], length)
        place = builder.apply(known_functions.ADD, before, at[1])
        reader.arrays.put(made, [place], builder.load(array, [at[1]]))

    if length.constant == 1:
        x = builder.load(array, [constant(0)])
        reader.arrays.over([count], lambda at: reader.arrays.put(made, at, x))
    else:
        reader.arrays.over([count, length], copy_element)
    return Listed(made)


def read_comprehension(reader: "ExpressionReader", node: ast.ListComp, env: "Environment") -> Listed | Rows:
    """[expression for target in iterated], of numbers: a loop that fills an array as long as what it runs over."""
    if isinstance(node.elt, (ast.ListComp, ast.List)):
        return _read_rows(reader, node, env)
    if len(node.generators) != 1 or node.generators[0].ifs:
        reader.progress.refuse(node, f"the list {ast.unparse(node)!r}", "write it as a loop over one array")
    (generator,) = node.generators
    statements, builder = reader.statements, reader.builder
    iterated, inner = reader.expression(generator.iter, env), dict(env)
    if isinstance(iterated, tuple):
        numbers = []
        for part in iterated:
            statements.assign(generator.target, part, inner)
            numbers.append(_number(reader, node.elt, node, inner))
        return _list_of(reader, numbers, node)
    limits, item = statements.items(iterated, node)

    def element(index: Value, env: "Environment") -> Value:
        statements.assign(generator.target, item(index), env)
        return _number(reader, node.elt, node, env)

    before = builder.added
    reader.progress.loop_depth += 1
    with builder.inside(Block()):  # once, to see of which kind the elements are
        kind = element(Value(INT), dict(env)).kind
    reader.progress.loop_depth -= 1
    builder.added = before
    made = builder.create("empty", [count_of(reader, iterated, limits, node)], kind.base)
    made.order = "C"

    def write(env: "Environment", start: Any) -> For:
        index = Value(INT, "k")
        with builder.inside(Block()) as body:
            start(env)
            reader.arrays.put(made, [_position(reader, index, limits)], element(index, env))
        return For(limits, index, body, None)

    names = [x.id for x in ast.walk(generator.target) if isinstance(x, ast.Name)]
    for name in names:
        inner.pop(name, None)
    statements.loop(inner, names, write)
    return Listed(made)


def _read_rows(reader: "ExpressionReader", node: ast.ListComp, env: "Environment") -> Rows:
    """[[x for j in ...] for i in ...], of numbers: two loops that fill a matrix."""
    row, builder = node.elt, reader.builder
    known = isinstance(row, ast.List) or (len(row.generators) == 1 and not row.generators[0].ifs)  # type: ignore[attr-defined]
    if len(node.generators) != 1 or node.generators[0].ifs or not known:
        reader.progress.refuse(node, f"the list {ast.unparse(node)!r}", "write it as loops over one array")
    outer, own = node.generators[0], dict(env)
    names = [x.id for x in ast.walk(outer.target) if isinstance(x, ast.Name)]
    for name in names:
        own[name] = Unknown("rows of a list of lists have one length")
    over_rows = _Walk(reader, reader.expression(outer.iter, env), node)
    columns = row.elts if isinstance(row, ast.List) else []
    over_columns = None if columns else _Walk(reader, reader.expression(row.generators[0].iter, own), node)  # type: ignore[attr-defined]
    width = constant(len(columns)) if over_columns is None else over_columns.count

    def visit(put: Any) -> Any:
        """Visit all elements."""

        def visit_row(i: Value, env: "Environment") -> None:
            if over_columns is None:
                for k, x in enumerate(columns):
                    put([i, constant(k)], _number(reader, x, node, env))
                return
            over_columns.each(row.generators[0].target, dict(env), lambda j, env: put(  # type: ignore[attr-defined]
                [i, j], _number(reader, row.elt, node, env)  # type: ignore[attr-defined]
            ))  # fmt: skip

        over_rows.each(outer.target, dict(env), visit_row)

    kinds: list[Any] = []
    before = builder.added
    with builder.inside(Block()):  # once, to see of which kind the elements are
        visit(lambda _, x: kinds.append(x.kind))
    builder.added = before
    kind = kinds[0]
    for x in kinds[1:]:
        kind = join_kinds(kind, x)
    made = builder.create("empty", [over_rows.count, width], kind.base)
    made.order = "C"
    first = len(builder.block.operations)
    visit(lambda at, x: reader.arrays.put(made, at, x))
    if any(find_written_roots(o) - {made} for o in builder.block.operations[first:]):
        reader.progress.refuse(node, "a call that writes into an array in a list of lists", "write it as loops")
    return Rows(made)


class _Walk:
    """What a list is made over: its number of elements, and a visit of each."""

    def __init__(self, reader: "ExpressionReader", iterated: Any, node: ast.expr) -> None:
        self.reader, self.parts = reader, iterated if isinstance(iterated, tuple) else None
        if self.parts is not None:
            self.count = constant(len(self.parts))
        else:
            self.limits, self.item = reader.statements.items(iterated, node)
            self.count = count_of(reader, iterated, self.limits, node)

    def each(self, target: ast.expr, env: "Environment", visit: Callable[[Value, "Environment"], None]) -> None:
        """Visit each position, the target standing for what is there."""
        statements = self.reader.statements
        if self.parts is not None:
            for k, part in enumerate(self.parts):
                statements.assign(target, part, env)
                visit(constant(k), env)
            return

        def write(env: "Environment", start: Any) -> For:
            index = Value(INT, "k")
            with self.reader.builder.inside(Block()) as body:
                start(env)
                statements.assign(target, self.item(index), env)
                visit(_position(self.reader, index, self.limits), env)
            return For(self.limits, index, body, None)

        names = [x.id for x in ast.walk(target) if isinstance(x, ast.Name)]
        for name in names:
            env.pop(name, None)
        statements.loop(env, names, write)


def count_of(reader: "ExpressionReader", iterated: Any, limits: list[Value], node: ast.AST) -> Value:
    """How often a loop with these limits runs."""
    start, stop, step = limits
    if not isinstance(iterated, Range):
        return stop
    if not isinstance(step.constant, int) or step.constant == 0:
        reader.progress.refuse(node, "a list made over a range with a variable step", "write it as a loop")
    apply = reader.builder.apply
    first, last, size = (start, stop, step.constant) if step.constant > 0 else (stop, start, -step.constant)
    span = apply(known_functions.SUBTRACT, last, first)
    if size > 1:
        span = apply(known_functions.ADD, span, constant(size - 1))
        span = reader.builder.divide(known_functions.FLOOR_DIVIDE, span, constant(size))
    some = apply(known_functions.COMPARISONS["Gt"], span, constant(0))
    found: Value = apply(known_functions.SELECT, some, span, constant(0))
    return found


def array_of(reader: "ExpressionReader", listed: Listed) -> Value:
    """The array of the elements that a list has now."""
    if not isinstance(listed, Grown):
        return listed.array
    listed.is_read = True
    count = reader.builder.load(listed.cell, [constant(0)])
    return reader.builder.view(listed.array, [(None, count, None)])


def _position(reader: "ExpressionReader", index: Value, limits: list[Value]) -> Value:
    """The how-manieth iteration one with this index is, from 0."""
    start, _, step = limits
    if start.constant == 0 and step.constant == 1:
        return index
    offset = reader.builder.apply(known_functions.SUBTRACT, index, start)
    return offset if step.constant == 1 else reader.builder.divide(known_functions.FLOOR_DIVIDE, offset, step)


def check_index(reader: "ExpressionReader", array: Value, index: Any, node: ast.AST) -> None:
    """An index of a list is one integer; beyond the ends it raises, whatever the flags of the function."""
    if not is_number(index) or index.kind != INT:
        reader.progress.refuse(node, f"{ast.unparse(node)!r} of a list", "give one integer, or make it an array")
    outside = reader.builder.apply(known_functions.OUTSIDE, index, reader.builder.length(array, 0))
    reader.builder.add(Check(outside, _BEYOND))


# ---- dicts and sets --------------------------------------------------------------------------------------------------
def read_dict(reader: "ExpressionReader", node: ast.Dict, env: "Environment") -> Keyed:
    """{key: value, ...} with constant keys; the values are of one kind, unless the keys are strings."""
    if not node.keys:
        reader.progress.refuse(node, "an empty dict without a name", "give it a name, in a statement of its own")
    members: dict[Any, Any] = {}
    for key, part in zip(node.keys, node.values, strict=True):
        entry = None if key is None else reader.expression(key, env)
        members[_key(reader, entry, node)] = reader.settle(reader.expression(part, env))
    kinds = {x.kind if isinstance(x, Value) else None for x in members.values()}
    if (len(kinds) > 1 and not all(isinstance(key, str) for key in members)):
        reader.progress.refuse(node, f"the dict {ast.unparse(node)!r}", "give it values of one type, or use a tuple")
    return Keyed(members)


def _key(reader: "ExpressionReader", entry: Any, node: ast.AST) -> Any:
    """A key that the source shows."""
    found = entry.value if isinstance(entry, Object) else entry.constant if is_number(entry) else None
    if type(found) not in (int, str):
        reader.progress.refuse(node, f"the key in {ast.unparse(node)!r}", "give a constant integer or string")
    return found


def look_up(reader: "ExpressionReader", keyed: Keyed, node: ast.Subscript, env: "Environment") -> Any:
    """The value of a key."""
    key = _key(reader, reader.expression(node.slice, env), node)
    if key not in keyed.members:
        reader.progress.refuse(node, f"{ast.unparse(node)!r}: no such key", "give one that the dict has")
    return keyed.members[key]


def read_set(reader: "ExpressionReader", node: ast.Set, env: "Environment") -> Members:
    """{x, y, ...}, of numbers."""
    return Members([reader.number(part, env) for part in node.elts])


def contains(reader: "ExpressionReader", x: Any, container: Keyed | Members, node: ast.AST) -> Value:
    """x in container."""
    if isinstance(container, Keyed):
        return constant(_key(reader, x, node) in container.members)
    if not is_number(x):
        reader.progress.refuse(node, f"the comparison {ast.unparse(node)!r}", "compare numbers with numbers")
    found = constant(False)
    for member in container.numbers:
        equal = reader.builder.apply(known_functions.COMPARISONS["Eq"], x, member)
        found = equal if found.constant is False else reader.builder.apply(known_functions.OR, found, equal)
    return found
