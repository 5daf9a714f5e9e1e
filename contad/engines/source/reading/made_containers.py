"""Reads the creation of lists, dicts and sets: empty ones that later statements fill, and displays.

The reader looks up constant keys of a read-only dict itself; a set test becomes a comparison with each member. The
reader refuses statements that would change their members.
"""

import ast
import copy
import functools
from collections.abc import Callable
from typing import Any

import numba
from numba import types

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import Complex, Object, Rows, Unknown, constant, is_array, is_number, join_kinds
from contad.engines.source.ir.ssa import INT, Block, For, Kind, Value
from contad.engines.source.ir.tree_queries import is_name
from contad.engines.source.ir.walks import find_written_roots
from contad.engines.source.reading.bounded_buffers import BoundedBuffer, KeyedBuffer
from contad.engines.source.reading.buffer_bounds import count_runs, find_bound, find_following
from contad.engines.source.reading.progress import Environment
from contad.engines.source.reading.reader import Reader

_KINDS = {types.float64: Kind("float"), types.int64: Kind("int")}
_TYPES = {"empty_list": ("item_type",), "empty": ("key_type", "value_type")}  # of typed ones: methods, parameters


# ---- containers to fill ----------------------------------------------------------------------------------------------
def read_filled(reader: Reader, statement: ast.Assign, env: Environment) -> BoundedBuffer | KeyedBuffer | None:
    """The list or dict in `name = ...`, if later statements fill it; else None."""
    if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        return None
    declared = _find_declared(reader, statement.value, env)
    is_list = isinstance(statement.value, ast.List) if declared is None else len(declared) == 1
    if declared is None and not is_list and not isinstance(statement.value, ast.Dict):
        return None
    following = find_following(reader.progress.scope.body, statement)
    read = _read_list if is_list else _read_dict
    return read(reader, statement, declared, following, env)


def _find_declared(reader: Reader, node: ast.expr, env: Environment) -> tuple[Any, ...] | None:
    """The declared kind of elements, or width of keys and kind of values, of an empty container; None if undeclared."""
    if not isinstance(node, ast.Call):
        return None
    takes = _TYPES.get(getattr(node.func, "attr", ""), ())
    func = node.func.value if takes else node.func  # type: ignore[attr-defined]
    given = [*zip(takes, node.args, strict=False), *((k.arg, k.value) for k in node.keywords)]
    if len(node.args) + len(node.keywords) != len(takes) or {name for name, _ in given} != set(takes):
        return None
    if not isinstance(func, (ast.Name, ast.Attribute)) or any(getattr(x, "id", "") in env for x in ast.walk(func)):
        return None
    found = reader.expression(func, env)
    cls = found.value if isinstance(found, Object) else None
    is_list = cls is numba.typed.List and len(takes) < 2
    if not is_list and not (cls is numba.typed.Dict and len(takes) != 1) and not (cls is dict and not takes):
        return None
    if not takes:
        return (None,) if is_list else (None, None)
    told = [reader.expression(dict(given)[name], env) for name in takes]
    named = [x.value if isinstance(x, Object) and isinstance(x.value, types.Type) else None for x in told]
    declared = (*map(_width, named[:-1]), _KINDS.get(named[-1]))
    if None in declared and is_list:
        reader.refuse(node, "the type in {node}", "give float64 or int64")
    if None in declared:
        remedy = "give int64, a tuple of int64 or unicode_type for keys, and float64 or int64 for values"
        reader.refuse(node, "the types in {node}", remedy)
    return declared


def _width(t: Any) -> int | None:
    """The number of integers in a key of a type, 0 for a string; None for other types."""
    if t == types.unicode_type:
        return 0
    if isinstance(t, types.UniTuple):
        return t.count if t.dtype == types.int64 and t.count else None
    return 1 if t == types.int64 else None


def _make(
    reader: Reader, statement: ast.Assign, given: int, following: list[ast.stmt], sites: set[Any],
    new: set[Any], kind: Kind | None, env: Environment, what: str,
) -> BoundedBuffer:  # fmt: skip
    """An empty buffer with room for the given elements and those that the sites may add."""
    bound = find_bound(reader, statement, given, following, new, env, what)
    cell = reader.builder.create("zeros", [constant(1)], "int")
    array = reader.builder.create("empty", [bound], "float", statement.targets[0].id)  # type: ignore[attr-defined]
    made = BoundedBuffer(reader, array, cell, sites, statement)
    if kind is not None:
        made.give_kind(kind, statement)
    return made


def _read_list(
    reader: Reader, statement: ast.Assign, declared: tuple[Any] | None, following: list[ast.stmt],
    env: Environment,
) -> BoundedBuffer | None:  # fmt: skip
    """The list, if it is typed or appended to; else None."""
    name = statement.targets[0].id  # type: ignore[attr-defined]
    sites = {x for part in following for x in ast.walk(part) if _is_call(x, "append", name)}
    if declared is None and not sites:
        return None
    given = [reader.number(x, env) for x in getattr(statement.value, "elts", ())]
    kind = None if declared is None else declared[0]
    made = _make(reader, statement, len(given), following, sites, sites, kind, env, "a list that grows")
    for x in given:
        made.append(x, statement)
    return made


def _read_dict(
    reader: Reader, statement: ast.Assign, declared: tuple[Any, Any] | None, following: list[ast.stmt],
    env: Environment,
) -> KeyedBuffer | None:  # fmt: skip
    """The dict; None if it is untyped, and only constants are looked up in it."""
    name = statement.targets[0].id  # type: ignore[attr-defined]
    sites = {x for part in following for x in ast.walk(part) if _is_put(x, name)}
    members = statement.value if isinstance(statement.value, ast.Dict) else ast.Dict([], [])
    if None in members.keys:
        return None
    if declared is None and not sites and all(_is_looked_up(part, name) for part in following):
        return None
    pairs = zip(members.keys, members.values, strict=True)
    given = [(reader.expression(k, env), reader.expression(x, env)) for k, x in pairs if k is not None]
    if not all(is_number(x) for _, x in given):
        if not sites:
            return None
        what = f"the dict {ast.unparse(members)!r}, which is filled"
        reader.refuse(statement, what, "give it numbers as values")
    # loops over the dict itself add no new key
    loops = [x for part in following for x in ast.walk(part) if isinstance(x, ast.For)]
    own = [x for x in loops if is_name(getattr(getattr(x.iter, "func", None), "value", x.iter), name)]
    new = sites - {x for loop in own for x in ast.walk(loop)}
    width, kind = declared or (None, None)
    buffer = _make(reader, statement, len(given), following, sites, new, kind, env, "a dict that is filled")
    made = KeyedBuffer(buffer, width, _count_columns(sites) if width is None else max(width, 1), statement)
    for key, x in given:
        made.put(key, x, statement)
    return made


def _is_call(node: ast.AST, method: str, name: str) -> bool:
    """Whether a node calls this method of the named object."""
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr == method and is_name(called.value, name)


def _is_put(node: ast.AST, name: str) -> bool:
    """Whether a node assigns to the named dict, and may add a new key."""
    parts = [x for target in node.targets for x in ast.walk(target)] if isinstance(node, ast.Assign) else []
    stores = [x for x in parts if isinstance(x, ast.Subscript) and isinstance(x.ctx, ast.Store)]
    return any(is_name(x.value, name) for x in stores) or _is_call(node, "setdefault", name)


def _is_looked_up(node: ast.AST, name: str) -> bool:
    """Whether a node uses the named dict only to look up constants."""
    if isinstance(node, ast.Subscript) and is_name(node.value, name) and isinstance(node.ctx, ast.Load):
        return isinstance(node.slice, ast.Constant)
    if isinstance(node, ast.Compare) and isinstance(node.left, ast.Constant) and len(node.ops) == 1:
        if isinstance(node.ops[0], (ast.In, ast.NotIn)) and is_name(node.comparators[0], name):
            return True
    return not is_name(node, name) and all(_is_looked_up(x, name) for x in ast.iter_child_nodes(node))


def _count_columns(sites: set[Any]) -> int:
    """The number of integers in added keys, if they are tuple displays; a string is one integer, its number."""
    targets = [target for x in sites if isinstance(x, ast.Assign) for target in x.targets]
    keys = [x.slice for x in targets if isinstance(x, ast.Subscript)]
    return max((len(key.elts) for key in keys if isinstance(key, ast.Tuple)), default=1)


# ---- list displays ---------------------------------------------------------------------------------------------------
def read_list(reader: Reader, node: ast.List, env: Environment) -> BoundedBuffer:
    """A list display of numbers, [x, y, ...]."""
    return _list_of(reader, [_number(reader, part, node, env) for part in node.elts], node)


def _number(reader: Reader, part: ast.expr, node: ast.expr, env: Environment) -> Value:
    """An element of a list."""
    entry = reader.expression(part, env)
    if not is_number(entry):
        what = f"the list {ast.unparse(node)!r} of what is no number"
        reader.refuse(node, what, "write into an array in a loop, or loop over a tuple")
    return entry


def list_arrays_as_tuple(reader: Reader, node: ast.expr, env: Environment) -> ast.expr:
    """An iterable in which tuples replace list displays of arrays or tuples."""
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


def _list_of(reader: Reader, numbers: list[Value], node: ast.AST) -> BoundedBuffer:
    """An array of these numbers, of their common kind."""
    if not numbers:
        reader.refuse(node, "an empty list without a name", "give it a name, and append to that")
    kind = functools.reduce(join_kinds, (x.kind for x in numbers))
    made = reader.builder.create("empty", [constant(len(numbers))], kind.base)
    made.order = "C"
    for k, x in enumerate(numbers):
        reader.arrays.put(made, [constant(k)], x)
    return BoundedBuffer(reader, made)


def repeat(reader: Reader, listed: BoundedBuffer, times: Value) -> BoundedBuffer:
    """list * n; empty if n is negative."""
    builder, array = reader.builder, listed.elements()
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
    return BoundedBuffer(reader, made)


def read_comprehension(reader: Reader, node: ast.ListComp, env: Environment) -> BoundedBuffer | Rows:
    """[x for i in ...] or [[x for j in ...] for i in ...], of numbers, as loops that fill an array."""
    row, nested = node.elt, isinstance(node.elt, (ast.ListComp, ast.List))
    inner = row.generators if isinstance(row, ast.ListComp) else []
    if any(len(x) != 1 or x[0].ifs for x in (node.generators, inner) if x):
        reader.refuse(node, "the list {node}", "write it as a loop over one array")
    builder, target = reader.builder, node.generators[0].target
    elements = row.elts if isinstance(row, ast.List) else [row.elt if isinstance(row, ast.ListComp) else row]
    outer = _Walk(reader, reader.expression(node.generators[0].iter, env), node)
    shape, own = [outer.count], dict(env)
    if inner:
        unknown = Unknown("rows of a list of lists have one length")
        own.update((x.id, unknown) for x in ast.walk(target) if isinstance(x, ast.Name))
        columns = _Walk(reader, reader.expression(inner[0].iter, own), node)
        shape.append(columns.count)
    elif nested:
        shape.append(constant(len(elements)))

    def visit(put: Callable[[list[Value], Value], object]) -> None:
        """Visit all elements."""

        def visit_one(i: Value, env: Environment) -> None:
            if inner:
                columns.each(inner[0].target, dict(env), lambda j, env: put([i, j], number(elements[0], env)))
            for k, x in enumerate([] if inner else elements):
                put([i, constant(k)] if nested else [i], number(x, env))

        outer.each(target, dict(env), visit_one)

    def number(x: ast.expr, env: Environment) -> Value:
        return _number(reader, x, node, env)

    kinds: list[Kind] = []
    with builder.trial():  # to find the kind of the elements
        visit(lambda _, x: kinds.append(x.kind))
    if not kinds:
        return _list_of(reader, [], node)
    made = builder.create("empty", shape, functools.reduce(join_kinds, kinds).base)
    made.order = "C"
    first = len(builder.block.operations)
    visit(lambda at, x: reader.arrays.put(made, at, x))
    if nested and any(find_written_roots(o) - {made} for o in builder.block.operations[first:]):
        reader.refuse(node, "a call that writes into an array in a list of lists", "write it as loops")
    return Rows(made) if nested else BoundedBuffer(reader, made)


class _Walk:
    """The iterable of a comprehension: its length, and a visit of each position."""

    def __init__(self, reader: Reader, iterated: Any, node: ast.expr) -> None:
        is_tuple = isinstance(iterated, tuple) and not isinstance(iterated, Complex)
        self.reader, self.parts = reader, iterated if is_tuple else None
        if self.parts is not None:
            self.count = constant(len(self.parts))
        else:
            self.limits, self.item = reader.items(iterated, node)
            self.count = count_runs(reader, iterated, self.limits, node)

    def each(self, target: ast.expr, env: Environment, visit: Callable[[Value, Environment], object]) -> None:
        """Visit each position, with the target bound to the element there."""
        if self.parts is not None:
            for k, part in enumerate(self.parts):
                self.reader.assign(target, part, env)
                visit(constant(k), env)
            return

        def write(env: Environment, start: Any) -> For:
            index = Value(INT, "k")
            with self.reader.builder.inside(Block()) as body:
                start(env)
                self.reader.assign(target, self.item(index), env)
                visit(_position(self.reader, index, self.limits), env)
            return For(self.limits, index, body, None)

        names = [x.id for x in ast.walk(target) if isinstance(x, ast.Name)]
        for name in names:
            env.pop(name, None)
        self.reader.loop(env, names, write)


def _position(reader: Reader, index: Value, limits: list[Value]) -> Value:
    """The number, from 0, of the iteration with this index."""
    start, _, step = limits
    if start.constant == 0 and step.constant == 1:
        return index
    offset = reader.builder.apply(known_functions.SUBTRACT, index, start)
    return offset if step.constant == 1 else reader.builder.divide(known_functions.FLOOR_DIVIDE, offset, step)


# ---- read-only dicts and sets ----------------------------------------------------------------------------------------
class Keyed:
    """A read-only dict with constant keys; its values have one kind, unless the keys are strings."""

    def __init__(self, reader: Reader, node: ast.Dict, env: Environment) -> None:
        """{key: value, ...}."""
        self.reader = reader
        if not node.keys:
            reader.refuse(node, "an empty dict without a name", "give it a name, in a statement of its own")
        self.members: dict[Any, Any] = {}
        for key, part in zip(node.keys, node.values, strict=True):
            entry = None if key is None else reader.expression(key, env)
            self.members[self._constant(entry, node)] = reader.settle(reader.expression(part, env))
        kinds = {x.kind if isinstance(x, Value) else None for x in self.members.values()}
        if len(kinds) > 1 and not all(isinstance(key, str) for key in self.members):
            remedy = "give it values of one type, or use a tuple"
            reader.refuse(node, "the dict {node}", remedy)

    def _constant(self, entry: Any, node: ast.AST) -> Any:
        """A constant key."""
        found = entry.value if isinstance(entry, Object) else entry.constant if is_number(entry) else None
        if type(found) not in (int, str):
            self.reader.refuse(node, "the key in {node}", "give a constant integer or string")
        return found

    def read(self, key: Any, node: ast.AST) -> Any:
        """The value of a key."""
        found = self._constant(key, node)
        if found not in self.members:
            self.reader.refuse(node, "{node}: no such key", "give one that the dict has")
        return self.members[found]

    def contains(self, key: Any, node: ast.AST) -> Value:
        """key in self."""
        return constant(self._constant(key, node) in self.members)


class Members:
    """A set of numbers that is used only for membership tests."""

    def __init__(self, reader: Reader, numbers: list[Value]) -> None:
        self.reader, self.numbers = reader, numbers

    def contains(self, x: Any, node: ast.AST) -> Value:
        """x in self."""
        if not is_number(x):
            what = f"the comparison {ast.unparse(node)!r}"
            self.reader.refuse(node, what, "compare numbers with numbers")
        apply, found = self.reader.builder.apply, constant(False)
        for member in self.numbers:
            equal = apply(known_functions.COMPARISONS["Eq"], x, member)
            found = equal if found.constant is False else apply(known_functions.OR, found, equal)
        return found
