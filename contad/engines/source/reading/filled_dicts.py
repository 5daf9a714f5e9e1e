"""Dicts that are filled: arrays of keys and of values in the order in which they came, with room for all of them.

As of a list that grows, what the loops around assignments may put in is computed where the dict is made. Keys are
integers, tuples of them, or strings that the source shows, which are numbered. The derivatives are those of an array.
"""

import ast
from typing import TYPE_CHECKING, Any

import numba
from numba import types

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import Filled, Iteration, Listed, Method, Object, constant, is_number, join_kinds
from contad.engines.source.ir.refusal import LIMIT
from contad.engines.source.ir.single_assignment import INT, Check, Kind, Value
from contad.engines.source.reading.growing_lists import KINDS, find_following, find_room
from contad.native.key_slots import find_slot, places_for

if TYPE_CHECKING:
    from contad.engines.source.reading.expressions import ExpressionReader
    from contad.engines.source.reading.progress import Environment

_FULL = (
    LIMIT,
    "a dict gets more keys than the loops around its assignments tell where it is made; make it behind their limits",
)
_CHANGED = "RuntimeError", "dictionary changed size during iteration"
_MISSING = ("KeyError",)
_INSIDE = "fill it in the function that makes it, under the name that it was made with"


# ---- making ----------------------------------------------------------------------------------------------------------
def read_filled(reader: "ExpressionReader", statement: ast.Assign, env: "Environment") -> Filled | None:
    """The dict of `name = Dict.empty(...)`, or of `name = {...}` where later statements assign; None of any other."""
    if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        return None
    declared = _find_declared(reader, statement.value, env)
    if declared is None and not isinstance(statement.value, ast.Dict):
        return None
    following = find_following(reader.progress.scope.body, statement)
    name = statement.targets[0].id
    sites = {x for part in following for x in ast.walk(part) if _is_site(x, name)}
    members = statement.value if isinstance(statement.value, ast.Dict) else ast.Dict([], [])
    if declared is None and None in members.keys:
        return None
    if declared is None and not sites and all(_is_looked_up(part, name) for part in following):
        return None
    given = [
        (reader.expression(k, env), reader.expression(x, env))
        for k, x in zip(members.keys, members.values, strict=True)
        if k is not None
    ]
    if not all(is_number(x) for _, x in given):
        if not sites:
            return None
        what = f"the dict {ast.unparse(members)!r}, which is filled"
        reader.progress.refuse(statement, what, "give it numbers as values")
    builder = reader.builder
    room = constant(len(given))
    counted = sites - _sites_in_own_loops(following, name)
    room = builder.apply(
        known_functions.ADD, room, find_room(reader, following, counted, env, "a dict that is filled")
    )
    cell = builder.create("zeros", [constant(1)], "int")
    size = reader.calls.inline(places_for, [room], {}, statement, env)
    values = builder.create("empty", [room], "float", name)
    width, kind = declared or (None, None)
    count = _columns(sites) if width is None else max(width, 1)
    columns = tuple(builder.create("empty", [room], "int") for _ in range(count))
    made = Filled(builder.create("zeros", [size], "int"), columns, cell, room, values, sites)
    made.width = width
    if kind is not None:
        made.values.kind, made.is_typed = Kind(kind.base, 1), True
    for key, x in given:
        put(reader, made, key, x, statement, env)
    return made


def _find_declared(reader: "ExpressionReader", node: ast.expr, env: "Environment") -> Any:
    """Of what makes an empty dict: the width of its keys and the kind of its values, as far as they are told."""
    if not isinstance(node, ast.Call):
        return None
    empty = isinstance(node.func, ast.Attribute) and node.func.attr == "empty"
    func = node.func.value if isinstance(node.func, ast.Attribute) and empty else node.func
    given = [*node.args, *(k.value for k in node.keywords)]
    if not isinstance(func, (ast.Name, ast.Attribute)) or len(given) != (2 if empty else 0):
        return None
    if any(isinstance(x, ast.Name) and x.id in env for x in ast.walk(func)):
        return None
    found = reader.expression(func, env)
    if not isinstance(found, Object) or not (found.value is numba.typed.Dict or (found.value is dict and not empty)):
        return None
    if not empty:
        return None, None
    names = dict(zip(("key_type", "value_type"), node.args, strict=False)) | {k.arg: k.value for k in node.keywords}
    key, value = (reader.expression(names[x], env) if x in names else None for x in ("key_type", "value_type"))
    kind = KINDS.get(value.value) if isinstance(value, Object) and isinstance(value.value, types.Type) else None
    width = _width(key.value) if isinstance(key, Object) else None
    if kind is None or width is None:
        reader.progress.refuse(
            node, f"the types in {ast.unparse(node)!r}",
            "give int64, a tuple of int64 or unicode_type for keys, and float64 or int64 for values",
        )  # fmt: skip
    return width, kind


def _width(t: Any) -> int | None:
    """How many integers a key of a type is, 0 of a string; None of any other type."""
    if t == types.unicode_type:
        return 0
    if isinstance(t, types.UniTuple):
        return t.count if t.dtype == types.int64 and t.count else None
    return 1 if t == types.int64 else None


def _is_site(node: ast.AST, name: str) -> bool:
    """Whether a node puts something into the dict of a name, and may put in a key that is new."""
    if isinstance(node, ast.Assign):
        parts = [x for target in node.targets for x in ast.walk(target) if isinstance(x, ast.Subscript)]
        return any(isinstance(x.ctx, ast.Store) and _is_name(x.value, name) for x in parts)
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr == "setdefault" and _is_name(called.value, name)


def _sites_in_own_loops(statements: list[ast.stmt], name: str) -> set[ast.AST]:
    """The nodes of loops over the dict of a name, which put in no key that is new."""
    loops = [x for part in statements for x in ast.walk(part) if isinstance(x, ast.For)]
    own = [x for x in loops if _is_name(getattr(getattr(x.iter, "func", None), "value", x.iter), name)]
    return {x for loop in own for x in ast.walk(loop)}


def _is_looked_up(node: ast.AST, name: str) -> bool:
    """Whether all that is done with a dict is to look up constants in it."""
    if isinstance(node, ast.Subscript) and _is_name(node.value, name) and isinstance(node.ctx, ast.Load):
        return isinstance(node.slice, ast.Constant)
    if isinstance(node, ast.Compare) and isinstance(node.left, ast.Constant) and len(node.ops) == 1:
        if isinstance(node.ops[0], (ast.In, ast.NotIn)) and _is_name(node.comparators[0], name):
            return True
    return not _is_name(node, name) and all(_is_looked_up(x, name) for x in ast.iter_child_nodes(node))


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


# ---- keys ------------------------------------------------------------------------------------------------------------
def _columns(sites: set[Any]) -> int:
    """How many integers the keys are that are put in, where they are written out; of strings one, their number."""
    targets = [target for x in sites if isinstance(x, ast.Assign) for target in x.targets]
    keys = [x.slice for x in targets if isinstance(x, ast.Subscript)]
    return max((len(key.elts) for key in keys if isinstance(key, ast.Tuple)), default=1)


def _key(reader: "ExpressionReader", filled: Filled, key: Any, node: ast.AST) -> tuple[Value, ...]:
    """The integers that a key is."""
    if isinstance(key, Object) and isinstance(key.value, str) and not filled.width and len(filled.columns) == 1:
        filled.width = 0
        return (constant(filled.texts.setdefault(key.value, len(filled.texts))),)
    parts = key if isinstance(key, tuple) else (key,)
    known = all(is_number(x) and x.kind == INT for x in parts)
    if not known or filled.width not in (None, len(parts)) or len(parts) != len(filled.columns):
        what = "a string that the source shows" if filled.width == 0 else "an integer, or a tuple of as many as before"
        reader.progress.refuse(node, f"the key in {ast.unparse(node)!r}", f"give {what}")
    filled.width = len(parts)
    return parts


def find(reader: "ExpressionReader", filled: Filled, key: Any, node: ast.AST, env: "Environment") -> Any:
    """The slot of a key, which is negative where there is none, its place, and the integers that the key is."""
    parts = _key(reader, filled, key, node)
    pinned = reader.progress.pinned
    reader.progress.pinned = True
    slot, at = reader.calls.inline(find_slot, [filled.places, filled.columns, parts], {}, node, env)
    reader.progress.pinned = pinned
    return slot, at, parts


def _is_missing(reader: "ExpressionReader", slot: Value) -> Value:
    found: Value = reader.builder.apply(known_functions.COMPARISONS["Lt"], slot, constant(0))
    return found


# ---- what is done with one -------------------------------------------------------------------------------------------
def put(reader: "ExpressionReader", filled: Filled, key: Any, x: Value, node: ast.AST, env: "Environment") -> None:
    """filled[key] = x."""
    builder, apply = reader.builder, reader.builder.apply
    _give_kind(reader, filled, x, node)
    slot, at, parts = find(reader, filled, key, node, env)
    count = builder.load(filled.cell, [constant(0)])
    missing = _is_missing(reader, slot)

    def add(_: Any) -> None:
        builder.add(Check(apply(known_functions.COMPARISONS["GtE"], count, filled.room), _FULL))
        more = apply(known_functions.ADD, count, constant(1))
        for column, part in zip(filled.columns, parts, strict=True):
            reader.arrays.put(column, [count], part)
        reader.arrays.put(filled.places, [at], more)
        reader.arrays.put(filled.cell, [constant(0)], more)

    reader.merging.branch(missing, {}, add, lambda _: None)
    reader.arrays.put(filled.values, [apply(known_functions.SELECT, missing, count, slot)], x)


def _give_kind(reader: "ExpressionReader", filled: Filled, x: Value, node: ast.AST) -> None:
    """Let the values be of the kind of the first one, which has room for the others."""
    if not filled.is_typed:
        filled.values.kind, filled.is_typed = Kind(x.kind.base, 1), True
    if join_kinds(Kind(x.kind.base), Kind(filled.values.kind.base)) != Kind(filled.values.kind.base):
        reader.progress.refuse(node, "a dict whose values are of another type than before", "give floats only")


def _slot(reader: "ExpressionReader", filled: Filled, key: Any, node: ast.AST, env: "Environment") -> Value:
    """The slot of a key that is there."""
    slot: Value = find(reader, filled, key, node, env)[0]
    reader.builder.add(Check(_is_missing(reader, slot), _MISSING))
    return slot


def look_up(reader: "ExpressionReader", filled: Filled, node: ast.Subscript, env: "Environment") -> Value:
    """filled[key]."""
    return reader.builder.load(filled.values, [_slot(reader, filled, reader.expression(node.slice, env), node, env)])


def assign(
    reader: "ExpressionReader", filled: Filled, target: ast.Subscript, entry: Any, statement: ast.AST | None,
    env: "Environment",
) -> None:  # fmt: skip
    """filled[key] = entry, where that puts in a key at most that was counted."""
    if statement not in filled.sites:
        reader.progress.refuse(target, f"the assignment to {ast.unparse(target)!r}, a dict made elsewhere", _INSIDE)
    if not is_number(entry):
        what = f"the assignment of something that is no number to {ast.unparse(target)!r}"
        reader.progress.refuse(target, what, "give a number")
    put(reader, filled, reader.expression(target.slice, env), entry, target, env)


def find_place(
    reader: "ExpressionReader", filled: Filled, target: ast.Subscript, env: "Environment"
) -> tuple[Value, list[Any]]:
    """Where filled[key] op= x goes: the array of the values, and the slot in it."""
    return filled.values, [_slot(reader, filled, reader.expression(target.slice, env), target, env)]


def contains(reader: "ExpressionReader", key: Any, filled: Filled, node: ast.AST) -> Value:
    """key in filled."""
    missing = _is_missing(reader, find(reader, filled, key, node, {})[0])
    found: Value = reader.builder.apply(known_functions.NOT, missing)
    return found


def count_of_keys(reader: "ExpressionReader", filled: Filled) -> Value:
    """len(filled)."""
    return reader.builder.load(filled.cell, [constant(0)])


def keys_of(reader: "ExpressionReader", filled: Filled, node: ast.AST) -> Any:
    """What a loop over a dict runs over: its keys."""
    if filled.width == 0:
        reader.progress.refuse(node, "a loop over the strings of a dict", "loop over a tuple of them, or .values()")
    count = count_of_keys(reader, filled)
    columns = [Listed(reader.builder.view(x, [(None, count, None)])) for x in filled.columns]
    return columns[0] if len(columns) == 1 else Iteration("zip", columns, constant(0))


def values_of(reader: "ExpressionReader", filled: Filled) -> Listed:
    """The values in the order in which their keys came."""
    return Listed(reader.builder.view(filled.values, [(None, count_of_keys(reader, filled), None)]))


def call_method(
    reader: "ExpressionReader", method: Method, arguments: list[Any], node: ast.Call, env: "Environment"
) -> Any:
    """A method of a dict."""
    filled, name = method.array, method.name
    if not arguments and name in ("keys", "values", "items"):
        parts = [] if name == "values" else [keys_of(reader, filled, node)]
        parts += [] if name == "keys" else [values_of(reader, filled)]
        return parts[0] if len(parts) == 1 else Iteration("zip", parts, constant(0))
    if name == "get" and len(arguments) == 2 and is_number(arguments[1]):
        _give_kind(reader, filled, arguments[1], node)
        slot = find(reader, filled, arguments[0], node, env)[0]
        otherwise = reader.builder.convert(arguments[1], Kind(filled.values.kind.base))
        found = _is_missing(reader, slot)
        return reader.merging.choice(found, lambda: otherwise, lambda: reader.builder.load(filled.values, [slot]))
    if name == "setdefault" and len(arguments) == 2 and is_number(arguments[1]) and node in filled.sites:
        missing = _is_missing(reader, find(reader, filled, arguments[0], node, env)[0])
        reader.merging.branch(
            missing, {}, lambda _: put(reader, filled, arguments[0], arguments[1], node, env), lambda _: None
        )
        return reader.builder.load(filled.values, [_slot(reader, filled, arguments[0], node, env)])
    remedies = {
        "get": "give a number for keys that are not there", "setdefault": _INSIDE,
        "pop": "assign 0.0, or fill another dict with what stays",
    }  # fmt: skip
    return reader.progress.refuse(
        node, f"{ast.unparse(node)!r} of a dict", remedies.get(name, "write it as a loop over its keys")
    )


def check_size(reader: "ExpressionReader", filled: Filled, before: Value, ends: Value | None) -> None:
    """Raise where an iteration of a loop over a dict, after which it goes on, has put in a key."""
    apply = reader.builder.apply
    changed = apply(known_functions.COMPARISONS["NotEq"], count_of_keys(reader, filled), before)
    goes_on = changed if ends is None else apply(known_functions.AND, changed, apply(known_functions.NOT, ends))
    reader.builder.add(Check(goes_on, _CHANGED))


