"""Lists that grow: an array with room for what all loops around the calls of `append` may add, and a count.

How often a loop runs is computed where the list is made. Of loops that tell it only later, or never, Numba counts it
there, in a run of its own. A list that grows further after all, as a limit has changed since, raises where it does.
"""

import ast
from typing import TYPE_CHECKING, Any

import numba
from numba import types

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import (
    UNDEFINED,
    Grid,
    Grown,
    Object,
    Range,
    Unknown,
    constant,
    is_number,
    join_kinds,
)
from contad.engines.source.ir.refusal import limit
from contad.engines.source.ir.single_assignment import Check, Kind, Value
from contad.engines.source.reading.counted_runs import count_list
from contad.engines.source.reading.made_containers import array_of, count_of
from contad.errors import UnsupportedError

if TYPE_CHECKING:
    from contad.engines.source.reading.expressions import ExpressionReader
    from contad.engines.source.reading.progress import Environment

KINDS = {types.float64: Kind("float"), types.int64: Kind("int")}
_FULL = limit("a list grows by more than the loops around append tell where it is made; make it behind their limits")
_EMPTY = "IndexError", "pop from an empty list"


def read_growing(reader: "ExpressionReader", statement: ast.Assign, env: "Environment") -> Grown | None:
    """The list of `name = [...]` or `name = List()`, where later statements append to it; None of any other."""
    if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        return None
    typed = _typed_list(reader, statement.value, env)
    if typed is None and not isinstance(statement.value, ast.List):
        return None
    following = find_following(reader.progress.scope.body, statement)
    sites = {x for part in following for x in ast.walk(part) if _is_append(x, statement.targets[0].id)}
    if typed is None and not sites:
        return None
    given = [reader.number(x, env) for x in statement.value.elts] if isinstance(statement.value, ast.List) else []
    builder, before = reader.builder, reader.state()
    try:
        most = find_room(reader, following, sites, env, "a list that grows")
        room = builder.apply(known_functions.ADD, constant(len(given)), most)
    except UnsupportedError as refusal:
        reader.return_to(before)
        try:
            room = count_list(reader, statement, following, sites, env, refusal)
        except UnsupportedError:
            if hasattr(statement, "appended"):
                reader.progress.scope.unlist(statement.appended)
            raise
    cell = builder.create("zeros", [constant(1)], "int")
    made = Grown(builder.create("empty", [room], "float", statement.targets[0].id), cell, room, sites)
    made.maker = statement
    if isinstance(typed, Kind):
        _give_kind(reader, made, typed, statement)
    for x in given:
        _append(reader, made, x, statement)
    return made


def _typed_list(reader: "ExpressionReader", node: ast.expr, env: "Environment") -> Kind | bool | None:
    """Whether an expression makes a typed list without elements: the kind of these where it is told."""
    if not isinstance(node, ast.Call) or node.keywords or len(node.args) > 1:
        return None
    if node.args and getattr(node.func, "attr", "") != "empty_list":
        return None
    empty = isinstance(node.func, ast.Attribute) and node.func.attr == "empty_list" and len(node.args) == 1
    func = node.func.value if isinstance(node.func, ast.Attribute) and empty else node.func
    if not isinstance(func, (ast.Name, ast.Attribute)) or (node.args and not empty):
        return None
    if any(isinstance(x, ast.Name) and x.id in env for x in ast.walk(func)):
        return None
    found = reader.expression(func, env)
    if not isinstance(found, Object) or found.value is not numba.typed.List:
        return None
    if not empty:
        return True
    t = reader.expression(node.args[0], env)
    kind = KINDS.get(t.value) if isinstance(t, Object) and isinstance(t.value, types.Type) else None
    if kind is None:
        reader.progress.refuse(node, f"the type in {ast.unparse(node)!r}", "give float64 or int64")
    return kind


def _is_append(node: ast.AST, name: str) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "append":
        return False
    return isinstance(node.func.value, ast.Name) and node.func.value.id == name


def find_following(body: list[ast.stmt], statement: ast.stmt) -> list[ast.stmt]:
    """The statements behind one, in the block where it stands."""
    for k, x in enumerate(body):
        if x is statement:
            return body[k + 1 :]
        for block in (getattr(x, name, []) for name in ("body", "orelse")):
            found = find_following(block, statement) if any(y is statement for z in block for y in ast.walk(z)) else []
            if found or any(y is statement for y in block):
                return found
    return []


# ---- room ------------------------------------------------------------------------------------------------------------
def find_room(
    reader: "ExpressionReader", statements: list[ast.stmt], sites: set[Any], env: "Environment", what: str
) -> Value:
    """How many elements statements may add by these nodes; lengths among them are known to the next ones."""
    room, ahead = constant(0), dict(env)
    for part in statements:
        room = reader.builder.apply(known_functions.ADD, room, _most(reader, part, sites, dict(ahead), what))
        names = [x.id for x in ast.walk(part) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load)]
        known = not any(isinstance(ahead.get(name, UNDEFINED), Unknown) for name in names if name != "len")
        if known and isinstance(part, ast.Assign) and all(map(_tells_length, ast.walk(part.value))):
            for target in part.targets:
                if isinstance(target, (ast.Name, ast.Tuple)):
                    reader.statements.assign(target, reader.expression(part.value, ahead), ahead)
    return room


def _tells_length(node: ast.AST) -> bool:
    """Whether a node may stand in a length that is computed from shapes and names, so that it may be computed twice."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute)
    if isinstance(node, ast.Attribute):
        return node.attr in ("shape", "size")
    plain = (ast.Name, ast.Constant, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.expr_context)
    return isinstance(node, plain)


def _most(
    reader: "ExpressionReader", statement: ast.stmt, sites: set[Any], env: "Environment", what: str
) -> Value:
    """How many elements one statement may add."""
    here = [x for x in ast.walk(statement) if x in sites]
    if not here:
        return constant(0)
    apply, total = reader.builder.apply, constant(0)
    if isinstance(statement, (ast.If, ast.For)):
        for part in statement.body:
            total = apply(known_functions.ADD, total, _in_body(reader, statement, part, sites, env, what))
        for part in statement.orelse:
            total = apply(known_functions.ADD, total, _most(reader, part, sites, env, what))
        return total
    if not isinstance(statement, (ast.Expr, ast.Assign)):
        reader.progress.refuse(
            statement, f"{what} in a loop that does not tell how often it runs", "use for ... in range(...)"
        )
    return constant(len(here))


def _in_body(
    reader: "ExpressionReader", statement: ast.If | ast.For, part: ast.stmt, sites: set[Any], env: "Environment",
    what: str,
) -> Value:  # fmt: skip
    """How many elements a statement inside another may append, in all runs."""
    if isinstance(statement, ast.If):
        return _most(reader, part, sites, env, what)
    apply = reader.builder.apply
    if not any(x in sites for x in ast.walk(part)):
        return constant(0)
    count, ends = _runs(reader, statement, env)
    most = [_most(reader, part, sites, env | named, what) for named in ends]
    larger = most[0]
    for x in most[1:]:
        more = apply(known_functions.COMPARISONS["Gt"], x, larger)
        larger = apply(known_functions.SELECT, more, x, larger)
    return apply(known_functions.MULTIPLY, count, larger)


def _runs(reader: "ExpressionReader", statement: ast.For, env: "Environment") -> tuple[Value, list["Environment"]]:
    """How often a loop runs, and what its target is at first and at last, where that is known."""
    iterated = reader.expression(statement.iter, env)
    if isinstance(iterated, tuple):
        return constant(len(iterated)), [{}]
    if isinstance(iterated, Grid):
        count = constant(1)
        for length in iterated.shape:
            count = reader.builder.apply(known_functions.MULTIPLY, count, length)
        return count, [{}]
    limits, _ = reader.statements.items(iterated, statement)
    ends: list[Environment] = [{}]
    if isinstance(iterated, Range) and isinstance(statement.target, ast.Name):
        name, subtract = statement.target.id, known_functions.SUBTRACT
        first, stop, step = limits
        backwards = isinstance(step.constant, int) and step.constant < 0
        last = reader.builder.apply(subtract, stop, constant(-1 if backwards else 1))
        ends = [{name: first}, {name: last}]
    return count_of(reader, iterated, limits, statement), ends


# ---- what is done with one -------------------------------------------------------------------------------------------
def call_method(reader: "ExpressionReader", listed: Grown, name: str, arguments: list[Any], node: ast.Call) -> Any:
    """list.append(x) or list.pop()."""
    builder = reader.builder
    if name == "append" and len(arguments) == 1 and is_number(arguments[0]) and node in listed.sites:
        _append(reader, listed, arguments[0], node)
        return Object(None)
    if name == "pop" and not arguments:
        array = array_of(reader, listed)
        last = builder.apply(known_functions.SUBTRACT, builder.load(listed.cell, [constant(0)]), constant(1))
        builder.add(Check(builder.apply(known_functions.COMPARISONS["Lt"], last, constant(0)), _EMPTY))
        found = builder.load(array, [last])
        reader.arrays.put(listed.cell, [constant(0)], last)
        return found
    return reader.progress.refuse(
        node, f"{ast.unparse(node)!r} of a list", "append numbers under the name that it was made with, or pop the last"
    )


def _append(reader: "ExpressionReader", listed: Grown, x: Value, node: ast.AST) -> None:
    """A number more at the end."""
    builder = reader.builder
    kind = Kind(x.kind.base)
    _give_kind(reader, listed, join_kinds(kind, Kind(listed.array.kind.base)) if listed.is_typed else kind, node)
    count = builder.load(listed.cell, [constant(0)])
    builder.add(Check(builder.apply(known_functions.COMPARISONS["GtE"], count, listed.room), _FULL))
    reader.arrays.put(listed.array, [count], x)
    reader.arrays.put(listed.cell, [constant(0)], builder.apply(known_functions.ADD, count, constant(1)))


def _give_kind(reader: "ExpressionReader", listed: Grown, kind: Kind, node: ast.AST) -> None:
    """Let the elements be of a kind, which they may not change once one was read."""
    if kind.base != listed.array.kind.base:
        if listed.is_read or listed.is_typed:
            reader.progress.refuse(node, "a list whose elements are of another type than before", "append floats only")
        listed.array.kind = Kind(kind.base, 1)
    listed.is_typed = True
