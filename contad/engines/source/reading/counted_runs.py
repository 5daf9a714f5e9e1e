"""How much room an array needs that grows in a loop of unknown length: Numba runs statements beforehand, and counts.

    z = []                                  .room = counted(x)           the same statements, as Numba compiles them,
    while t < 5.0:                ->        z = []  with room for that   on copies of what they may write; it returns
        z.append(t * x)                     while t < 5.0: ...           the greatest length of z

The count is an integer, through which no derivative passes; should it be too small after all, what grows raises. What
must not be done twice (a draw, a print) is refused.
"""

import ast
import copy
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba import types

from contad.engines.source.ir.entries import Grown, Listed, Object, Opaque, Unknown, is_number
from contad.engines.source.ir.options import options_of
from contad.engines.source.ir.single_assignment import INT, Value
from contad.engines.source.ir.walks import leaves
from contad.engines.source.reading.exits import RESULT
from contad.engines.source.reading.made_containers import array_of
from contad.engines.source.reading.numba_typing import number_type, result_type
from contad.engines.source.reading.passing import NotPassed, Passed, add_handed
from contad.engines.source.reading.python_blocks import find_read_first
from contad.errors import UnsupportedError
from contad.functions.python_copy import is_dispatcher
from contad.native.compiling import load_cached, write_options
from contad.native.fingerprint import fingerprint
from contad.native.repeatable import ONCE, draws, is_repeatable
from contad.native.writes import calls_writers, may_write_arrays

if TYPE_CHECKING:
    from contad.engines.source.reading.expressions import ExpressionReader
    from contad.engines.source.reading.progress import Environment

_ROOM = ".room"
_METHODS = frozenset(
    (
        *("append", "pop", "extend", "copy", "sum", "mean", "prod", "max", "min", "std", "var", "any", "all", "argmax"),
        *("argmin", "reshape", "ravel", "flatten", "astype", "dot", "fill", "transpose", "sort", "items", "keys"),
        *("values", "get", "index", "count"),
    )
)
_READING = frozenset(
    (
        *("sum", "mean", "prod", "max", "min", "dot", "exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "abs", "any"),
        *("all", "cumsum", "argmax", "argmin", "copy", "concatenate", "append", "hstack", "vstack", "zeros_like"),
    )
)


# ---- what is counted -------------------------------------------------------------------------------------------------
def count_list(
    reader: "ExpressionReader", statement: ast.Assign, following: list[ast.stmt], sites: set[Any],
    env: "Environment", refusal: UnsupportedError,
) -> Value:  # fmt: skip
    """The greatest length of the list that a statement makes, over the statements that append to it."""
    last = max(k for k, part in enumerate(following) if any(x in sites for x in ast.walk(part)))
    target = statement.targets[0]
    assert isinstance(target, ast.Name)
    length: ast.expr = ast.Call(ast.Name("len", ast.Load()), [ast.Name(target.id, ast.Load())], [])
    body = [statement, _note(length, first=True), *following[: last + 1]]
    return _count(reader, body, _Noting(length, sites=sites), env, statement, refusal)


def count_axis(
    reader: "ExpressionReader", loop: ast.For | ast.While, name: str, axis: int, env: "Environment",
    refusal: UnsupportedError,
) -> Value:  # fmt: skip
    """The greatest length along an axis of an array, before a loop and at the ends of its iterations."""
    shape = ast.Attribute(ast.Name(name, ast.Load()), "shape", ast.Load())
    length = ast.Subscript(shape, ast.Constant(axis), ast.Load())
    return _count(reader, [_note(length, first=True), loop], _Noting(length, loop=loop), env, loop, refusal)


def _note(length: ast.expr, first: bool = False) -> ast.stmt:
    """Keep the greatest length."""
    room = ast.Name(_ROOM, ast.Load())
    greatest = length if first else ast.Call(ast.Name("max", ast.Load()), [room, length], [])
    return ast.Assign([ast.Name(_ROOM, ast.Store())], greatest)


class _Noting(ast.NodeTransformer):
    """Statements as Numba takes them, with a note of the length where it may have grown."""

    def __init__(self, length: ast.expr, sites: set[Any] | None = None, loop: ast.stmt | None = None) -> None:
        self.length, self.sites, self.loop = length, sites or set(), loop

    def visit(self, node: ast.AST) -> Any:
        """A copy of a node."""
        if type(node).__module__ != "ast" and not type(node).__module__.startswith("_ast"):
            raise NotPassed  # an exit from a try, or from a generator
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.With, ast.Try, ast.NamedExpr)):
            raise NotPassed
        made = super().visit(copy.copy(node))
        if isinstance(node, ast.Expr) and node.value in self.sites:
            return [made, _note(self.length)]
        if not isinstance(node, ast.Expr) and any(x in self.sites for x in ast.iter_child_nodes(node)):
            raise NotPassed
        if isinstance(node, (ast.For, ast.While)):
            made.body = [*made.body, *([_note(self.length)] if node is self.loop else []), *_breaks(node)]
        return made

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """The same of what is in it, whose lists are not those of the node that was copied."""
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                setattr(node, name, list(value))
        return super().generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        if any(isinstance(x, ast.Name) and x.id == RESULT for x in node.targets):
            return ast.Pass()
        return self.generic_visit(node)


def _breaks(loop: ast.For | ast.While) -> list[ast.stmt]:
    """What ends a loop whose flags hold."""
    return [ast.If(ast.Name(name, ast.Load()), [ast.Break()], []) for name in getattr(loop, "flags", ())]


# ---- the function that counts ----------------------------------------------------------------------------------------
class _CountedInputs(Passed):
    """What the function is given; arrays that it may write are copied."""

    copying = False

    def entry(self, x: Any) -> ast.expr:
        made = super().entry(x)
        if self.copying and isinstance(x, Value) and x.is_array:
            return ast.Call(ast.Attribute(made, "copy", ast.Load()), [], [])
        return made

    def type_of(self, x: Any) -> Any:
        """The Numba type of an entry."""
        if isinstance(x, tuple):
            parts = [self.type_of(part) for part in x]
            return types.NamedTuple(parts, type(x)) if hasattr(x, "_fields") else types.Tuple(parts)
        if isinstance(x, Opaque):
            return x.type
        if isinstance(x, Value) and not x.kind.small:
            return number_type(x.kind, not self.copying)
        raise NotPassed


def _count(
    reader: "ExpressionReader", body: list[ast.stmt], noting: _Noting, env: "Environment", node: ast.stmt,
    refusal: UnsupportedError,
) -> Value:  # fmt: skip
    """What is noted when Numba runs statements; the refusal where they are not for Numba, or not to be run twice."""
    known = dict(reader.progress.callables)
    try:
        if reader.progress.trying:
            raise NotPassed
        made = [part for x in body for part in _as_list(noting.visit(x))]
        found: Value = _call(reader, made, env, node, refusal)
    except (NotPassed, UnsupportedError):
        reader.progress.callables.clear()
        reader.progress.callables.update(known)
        raise refusal from None
    return found


def _as_list(made: Any) -> list[ast.stmt]:
    return made if isinstance(made, list) else [made]


def _call(
    reader: "ExpressionReader", body: list[ast.stmt], env: "Environment", node: ast.stmt, refusal: UnsupportedError
) -> Any:
    """The call of the function of these statements."""
    read = [name for name in find_read_first(body) if name in env and not isinstance(env[name], Unknown)]
    empty = [name for name in read if isinstance(env[name], Grown) and not env[name].is_typed]
    body = [*(_Noting(ast.Constant(0)).visit(env[name].maker) for name in empty), *body]
    parents = {inner: x for part in body for x in ast.walk(part) for inner in ast.iter_child_nodes(x)}
    outside = _find_outside(reader, body, env)
    _require_repeatable(body, outside, env)
    inputs = _CountedInputs(reader, env)
    names: list[str] = []
    given: list[ast.expr] = []
    types_given: list[Any] = []
    writes = any(_may_write(x, body, outside, env) for part in body for x in ast.walk(part))
    seen: set[Value] = set()  # the memory that is given
    copied: set[Value] = set()
    before: list[ast.stmt] = []
    for name in read:
        if name in empty:
            continue
        entry = reader.settle(env[name])
        if isinstance(entry, Object):
            outside[name] = entry.value
            continue
        parameter = name
        if isinstance(entry, Listed):
            parameter, entry = f"{name}.elements", array_of(reader, entry)
            before.append(ast.parse(f"{_plain(name)} = [x for x in {_plain(parameter)}]").body[0])
        elif not isinstance(entry, (Value, tuple, Opaque)):
            raise NotPassed
        inputs.copying = writes and not all(_is_read(x, entry, parents) for x in parents if _is_load(x, name))
        memory = {root for x in leaves(entry) if isinstance(x, Value) for root in x.roots}
        if memory & (seen if inputs.copying else copied):
            raise NotPassed  # copies of what has two names are two arrays
        seen |= memory
        copied |= memory if inputs.copying else set()
        names.append(parameter)
        types_given.append(inputs.type_of(entry))
        given.append(inputs.entry(entry))
    text = _write([*before, *body], names)
    key = (text, *map(str, types_given))
    if key not in reader.progress.blocks:
        flags = reader.progress.flags
        options = {"error_model": flags.error_model, "fastmath": options_of(flags.fastmath)["fastmath"]}
        named = {_plain(name): x for name, x in outside.items()}
        reader.progress.blocks[key] = _compile(text, named, types_given, options)
    function = ast.Name(reader.progress.name_callable(reader.progress.blocks[key]), ast.Load())
    call = ast.copy_location(ast.Call(function, given, []), node)
    return add_handed(reader, call, inputs, call, types.int64, INT, refusal)


def _is_load(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)


def _may_write(node: ast.AST, body: list[ast.stmt], outside: dict[str, Any], env: "Environment") -> bool:
    """Whether a node of statements may write into an array."""
    if isinstance(node, (ast.Subscript, ast.Attribute)):
        return isinstance(node.ctx, ast.Store)
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        name = node.target.id
        given = [x for part in body for x in ast.walk(part) if isinstance(x, ast.Assign) and _is_target(x, name)]
        is_number_here = name in env and is_number(env[name])
        return not is_number_here and not (given and all(isinstance(x.value, ast.Constant) for x in given))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        entry = env.get(node.func.id)
        called = entry.value if isinstance(entry, Object) else outside.get(node.func.id)
        return is_dispatcher(called) and may_write_arrays(called)
    return isinstance(node, ast.Call) and calls_writers(node)


def _is_target(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(x, ast.Name) and x.id == name for target in statement.targets for x in ast.walk(target))


def _is_read(node: ast.AST, entry: Any, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether what a name stands for is surely not written where it is read."""
    if all(not isinstance(x, Value) or not x.is_array for x in leaves(entry)):
        return True
    parent = parents[node]
    if isinstance(parent, ast.Subscript) and parent.value is node and isinstance(entry, Value):
        parts = parent.slice.elts if isinstance(parent.slice, ast.Tuple) else [parent.slice]
        whole = len(parts) == entry.kind.ndim and not any(isinstance(x, (ast.Slice, ast.Starred)) for x in parts)
        return isinstance(parent.ctx, ast.Load) and (whole or _is_read(parent, entry, parents))
    if isinstance(parent, ast.Attribute):
        return parent.attr in ("size", "shape", "ndim", "sum", "mean", "max", "min", "prod", "copy")
    if isinstance(parent, ast.Call) and node in parent.args:
        name = getattr(parent.func, "attr", getattr(parent.func, "id", ""))
        return name == "len" or (isinstance(parent.func, ast.Attribute) and name in _READING)
    return isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Compare))


def _find_outside(reader: "ExpressionReader", body: list[ast.stmt], env: "Environment") -> dict[str, Any]:
    """What names stand for that the function does not assign."""
    nodes = [x for part in body for x in ast.walk(part) if isinstance(x, ast.Name)]
    own = {x.id for x in nodes if isinstance(x.ctx, ast.Store)}
    found: dict[str, Any] = {}
    for x in nodes:
        if x.id not in own and x.id not in env and not x.id.startswith("."):
            try:
                found[x.id] = reader.progress.scope.outer(x.id)
            except KeyError:
                raise NotPassed from None
    return found


def _require_repeatable(body: list[ast.stmt], outside: dict[str, Any], env: "Environment") -> None:
    """NotPassed where a call may do something that must not be done twice."""
    nodes = [x for part in body for x in ast.walk(part)]
    if any(isinstance(x, ast.Attribute) and x.attr in ONCE for x in nodes):
        raise NotPassed
    for x in nodes:
        if isinstance(x, ast.Call) and not _is_repeatable(x.func, outside, env):
            raise NotPassed


def _is_repeatable(called: ast.expr, outside: dict[str, Any], env: "Environment") -> bool:
    """Whether what a call names, a function or a method, may be called once more."""
    if isinstance(called, ast.Attribute):
        base = called.value
        found = outside.get(base.id) if isinstance(base, ast.Name) else None
        if isinstance(found, ModuleType):
            return _may_repeat(getattr(found, called.attr, None))
        return (found is numba.typed.List and called.attr == "empty_list") or called.attr in _METHODS
    if not isinstance(called, ast.Name):
        return False
    entry = env.get(called.id)
    return _may_repeat(entry.value if isinstance(entry, Object) else outside.get(called.id))


def _may_repeat(function: Any) -> bool:
    """Whether a function may be called once more than the user calls it, and those that it reaches."""
    if is_dispatcher(function):
        return all(is_repeatable(x.py_func) for x in (function, *fingerprint(function).dispatchers))
    if function is None or draws(function):
        return False
    if isinstance(function, (np.ufunc, type)):
        return True
    home = getattr(function, "__module__", None) or "numpy"
    return function is not print and home.partition(".")[0] in ("builtins", "math", "numpy", "numba")


# ---- its text --------------------------------------------------------------------------------------------------------
def _plain(name: str) -> str:
    """A name as Python has it; those of flags begin with a dot."""
    return name.replace(".", "contad_")


def _write(body: list[ast.stmt], names: list[str]) -> str:
    """The function of statements as source."""
    returned = ast.Return(ast.Name(_ROOM, ast.Load()))
    arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    tree = copy.deepcopy(ast.FunctionDef("count", arguments, [*body, returned], []))
    for x in ast.walk(tree):
        if isinstance(x, ast.Name):
            x.id = _plain(x.id)
        elif isinstance(x, ast.arg):
            x.arg = _plain(x.arg)
    return ast.unparse(ast.fix_missing_locations(tree))


def _compile(text: str, outside: dict[str, Any], given: list[Any], options: dict[str, Any]) -> Any:
    """The Numba function of a text; NotPassed where Numba does not give it the type of an integer."""
    names: dict[str, Any] = {"__name__": "contad._uncached", **outside}
    exec(text, names)
    if result_type(names["count"], tuple(given)) != types.int64:
        raise NotPassed
    return _load(names["count"], text, outside, options)


def _load(function: Any, text: str, outside: dict[str, Any], options: dict[str, Any]) -> Any:
    """The function of a text as a Numba function, kept on disk where what it names is the same in every process."""
    known = [fingerprint(x) for x in outside.values()]
    if not all(x.stable for x in known):
        return numba.njit(function, **options)
    decorator = f"@njit({write_options(options | {'cache': True})})"
    source = f"from contad.native.machine_code import njit\n\n\n{decorator}\n{text}\n"
    depends = [source, *(f"{name} {x.digest}" for name, x in zip(outside, known, strict=True))]
    module = load_cached("counted", lambda: source, depends)
    vars(module).update(outside)
    return module.count
