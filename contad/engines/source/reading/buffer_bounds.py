"""Bounds for arrays that grow in a loop.

The reader computes the trip counts of the loops where the array is created. If a trip count is not known there, Numba
runs the statements beforehand, and counts.

    z = []                                  .room = counted(x)           the same statements, compiled by Numba, on
    while t < 5.0:                ->        z = []  with room for that   copies of arrays that they may write: returns
        z.append(t * x)                     while t < 5.0: ...           the greatest length of z

The count is an integer, so no derivative passes through it. If it turns out too small, the append raises. Statements
that must not run twice (a draw, a print) are refused.
"""

import ast
import copy
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba import types

from contad.compile.compiling import load_cached, write_options
from contad.compile.dispatchers import is_dispatcher
from contad.compile.numba_code import result_type
from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import (
    UNDEFINED,
    Complex,
    Grid,
    Object,
    Opaque,
    Range,
    Unknown,
    constant,
    is_number,
)
from contad.engines.source.ir.printing import options_of
from contad.engines.source.ir.ssa import INT, Value
from contad.engines.source.ir.syntax import clone, expression, statement
from contad.engines.source.ir.tree_queries import is_name
from contad.engines.source.ir.walks import leaves
from contad.engines.source.reading.appended_arrays import is_transient
from contad.engines.source.reading.bounded_buffers import BoundedBuffer
from contad.engines.source.reading.exits import RESULT
from contad.engines.source.reading.numba_typing import type_of
from contad.engines.source.reading.passing import NotPassed, Passed, add_handed
from contad.engines.source.reading.progress import Environment
from contad.engines.source.reading.python_blocks import find_read_first
from contad.engines.source.reading.reader import Reader
from contad.errors import UnsupportedError
from contad.numba_functions.fingerprint import fingerprint
from contad.numba_functions.writes import ONCE, calls_writers, draws, is_repeatable, may_write_arrays

_ROOM = ".room"
_METHODS = frozenset(
    (
        *("append", "pop", "extend", "copy", "sum", "mean", "prod", "max", "min", "std", "var", "any", "all", "argmax"),
        *("argmin", "reshape", "ravel", "flatten", "astype", "dot", "fill", "transpose", "sort", "items", "keys"),
        *("values", "get", "index", "count"),
    )
)


def find_following(body: list[ast.stmt], made: ast.stmt) -> list[ast.stmt]:
    """The statements after one, in its block."""
    inside = (getattr(x, name, None) for part in body for x in ast.walk(part) for name in ("body", "orelse"))
    for block in (body, *inside):
        if isinstance(block, list) and any(x is made for x in block):
            return block[[x is made for x in block].index(True) + 1 :]
    return []


def find_bound(
    reader: Reader, made: ast.Assign, given: int, following: list[ast.stmt], sites: set[Any],
    env: Environment, what: str,
) -> Value:  # fmt: skip
    """The number of elements that a buffer needs: those at its creation, and those that these nodes may add."""
    before = reader.state()
    try:
        most = _Bounds(reader, sites, what).add_up(following, env)
        bound: Value = reader.builder.apply(known_functions.ADD, constant(given), most)
    except UnsupportedError as refusal:
        reader.return_to(before)
        try:
            return _count_list(reader, made, following, sites, env, refusal)
        except UnsupportedError:
            if hasattr(made, "appended"):
                reader.progress.scope.unlist(made.appended)
            raise
    return bound


# ---- trip counts -----------------------------------------------------------------------------------------------------
class _Bounds:
    """Bounds the number of elements that nodes in statements may add, by the trip counts of the loops around them."""

    def __init__(self, reader: Reader, sites: set[Any], what: str) -> None:
        self.reader, self.sites, self.what = reader, sites, what

    def add_up(self, statements: list[ast.stmt], env: Environment) -> Value:
        """The sum over statements; later ones can use a length that an earlier one computes."""
        room, ahead = constant(0), dict(env)
        for part in statements:
            room = self._sum([room], [part], dict(ahead))
            names = [x.id for x in ast.walk(part) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load)]
            known = not any(isinstance(ahead.get(name, UNDEFINED), Unknown) for name in names if name != "len")
            if known and isinstance(part, ast.Assign) and all(map(_tells_length, ast.walk(part.value))):
                for target in part.targets:
                    if isinstance(target, (ast.Name, ast.Tuple)):
                        self.reader.assign(target, self.reader.expression(part.value, ahead), ahead)
        return room

    def _sum(self, found: list[Value], statements: Iterable[ast.stmt], env: Environment) -> Value:
        total = constant(0)
        for x in (*found, *(self.most(part, env) for part in statements)):
            total = self.reader.builder.apply(known_functions.ADD, total, x)
        return total

    def most(self, part: ast.stmt, env: Environment) -> Value:
        """The most elements that one statement adds."""
        count = sum(x in self.sites for x in ast.walk(part))
        if not count:
            return constant(0)
        if isinstance(part, ast.If):
            return self._sum([], [*part.body, *part.orelse], env)
        if isinstance(part, ast.For):
            return self._sum([self._in_loop(part, x, env) for x in part.body], part.orelse, env)
        if not isinstance(part, (ast.Expr, ast.Assign)):
            what = f"{self.what} in a loop that does not tell how often it runs"
            self.reader.refuse(part, what, "use for ... in range(...)")
        return constant(count)

    def _in_loop(self, loop: ast.For, part: ast.stmt, env: Environment) -> Value:
        """The elements that a statement of a loop adds: in each iteration the maximum of the first and the last one."""
        if not any(x in self.sites for x in ast.walk(part)):
            return constant(0)
        apply = self.reader.builder.apply
        count, ends = self._runs(loop, env)
        larger, *others = [self.most(part, env | named) for named in ends]
        for x in others:
            larger = apply(known_functions.SELECT, apply(known_functions.COMPARISONS["Gt"], x, larger), x, larger)
        found: Value = apply(known_functions.MULTIPLY, count, larger)
        return found

    def _runs(self, loop: ast.For, env: Environment) -> tuple[Value, list[Environment]]:
        """The trip count of a loop, and environments with the first and the last value of its target, if known."""
        reader, apply = self.reader, self.reader.builder.apply
        iterated = reader.expression(loop.iter, env)
        if isinstance(iterated, tuple) and not isinstance(iterated, Complex):
            return constant(len(iterated)), [{}]
        if isinstance(iterated, Grid):
            count = constant(1)
            for length in iterated.shape:
                count = apply(known_functions.MULTIPLY, count, length)
            return count, [{}]
        limits, _ = reader.items(iterated, loop)
        ends: list[Environment] = [{}]
        if isinstance(iterated, Range) and isinstance(loop.target, ast.Name):
            first, stop, step = limits
            backwards = isinstance(step.constant, int) and step.constant < 0
            last = apply(known_functions.SUBTRACT, stop, constant(-1 if backwards else 1))
            ends = [{loop.target.id: first}, {loop.target.id: last}]
        return count_runs(reader, iterated, limits, loop), ends


def count_runs(reader: Reader, iterated: Any, limits: list[Value], node: ast.AST) -> Value:
    """The trip count of a loop with these limits."""
    start, stop, step = limits
    if not isinstance(iterated, Range):
        return stop
    if not isinstance(step.constant, int) or step.constant == 0:
        reader.refuse(node, "a list made over a range with a variable step", "write it as a loop")
    apply = reader.builder.apply
    first, last, size = (start, stop, step.constant) if step.constant > 0 else (stop, start, -step.constant)
    span = apply(known_functions.SUBTRACT, last, first)
    if size > 1:
        span = apply(known_functions.ADD, span, constant(size - 1))
        span = reader.builder.divide(known_functions.FLOOR_DIVIDE, span, constant(size))
    some = apply(known_functions.COMPARISONS["Gt"], span, constant(0))
    found: Value = apply(known_functions.SELECT, some, span, constant(0))
    return found


def _tells_length(node: ast.AST) -> bool:
    """Whether a node may be part of a length computed from shapes and names, which may be computed twice."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute)
    if isinstance(node, ast.Attribute):
        return node.attr in ("shape", "size")
    plain = (ast.Name, ast.Constant, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.expr_context)
    return isinstance(node, plain)


# ---- counted lengths -------------------------------------------------------------------------------------------------
def _count_list(
    reader: Reader, made: ast.Assign, following: list[ast.stmt], sites: set[Any], env: Environment,
    refusal: UnsupportedError,
) -> Value:  # fmt: skip
    """The greatest length of the list that a statement creates, by running the statements that append to it."""
    last = max(k for k, part in enumerate(following) if any(x in sites for x in ast.walk(part)))
    length = expression("len(x)", x=made.targets[0].id)  # type: ignore[attr-defined]
    body = [made, _note(length), *following[: last + 1]]
    return _count(reader, body, _Noting(length, sites=sites), env, made, refusal)


def count_axis(
    reader: Reader, loop: ast.For | ast.While, name: str, axis: int, env: Environment,
    refusal: UnsupportedError,
) -> Value:  # fmt: skip
    """The greatest length of an array along an axis, before a loop and after each iteration."""
    length = expression("x.shape[axis]", x=ast.Name(name, ast.Load()), axis=axis)
    return _count(reader, [_note(length), loop], _Noting(length, loop=loop), env, loop, refusal)


def _note(length: ast.expr) -> ast.stmt:
    """A statement that updates the greatest length."""
    greatest = expression("max(room, length)", room=ast.Name(_ROOM, ast.Load()), length=length)
    return ast.Assign([ast.Name(_ROOM, ast.Store())], greatest)


class _Noting(ast.NodeTransformer):
    """Copies statements in a form that Numba accepts, and notes the length wherever it may have grown."""

    def __init__(self, length: ast.expr, sites: set[Any] | None = None, loop: ast.stmt | None = None) -> None:
        self.length, self.sites, self.loop = length, sites or set(), loop

    def visit(self, node: ast.AST) -> Any:
        """A copy of a node."""
        if type(node).__module__ != "ast" and not type(node).__module__.startswith("_ast"):
            raise NotPassed  # it leaves a try or a generator
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
        """Visit the fields of a copied node, with new lists."""
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                setattr(node, name, list(value))
        return super().generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        if any(isinstance(x, ast.Name) and x.id == RESULT for x in node.targets):
            return ast.Pass()
        return self.generic_visit(node)


def _breaks(loop: ast.For | ast.While) -> list[ast.stmt]:
    """The statements that end a loop if its flags hold."""
    return [ast.If(ast.Name(name, ast.Load()), [ast.Break()], []) for name in getattr(loop, "flags", ())]


# ---- the function that counts ----------------------------------------------------------------------------------------
class _CountedInputs(Passed):
    """The arguments of the counting function; arrays that it may write are copied."""

    copying = False

    def entry(self, x: Any) -> ast.expr:
        made = super().entry(x)
        if self.copying and isinstance(x, Value) and x.is_array:
            return ast.Call(ast.Attribute(made, "copy", ast.Load()), [], [])
        return made

    def type_of(self, x: Any) -> Any:
        """The Numba type of an entry."""
        found = type_of(x, lambda kind: not kind.small, readonly=not self.copying)
        if found is None or not all(isinstance(part, (Value, Opaque)) for part in leaves(x)):
            raise NotPassed
        return found


def _count(
    reader: Reader, body: list[ast.stmt], noting: _Noting, env: Environment, node: ast.stmt,
    refusal: UnsupportedError,
) -> Value:  # fmt: skip
    """The length noted when Numba runs statements; raises the refusal if Numba cannot, or must not, run them."""
    known = dict(reader.progress.callables)
    try:
        if reader.progress.trying:
            raise NotPassed
        begin = ast.Assign([ast.Name(_ROOM, ast.Store())], ast.Constant(0))
        found: Value = _call(reader, [begin, *noting.visit(ast.Module(body, [])).body], env, node, refusal)
    except (NotPassed, UnsupportedError):
        reader.progress.callables.clear()
        reader.progress.callables.update(known)
        raise refusal from None
    return found


def _call(reader: Reader, body: list[ast.stmt], env: Environment, node: ast.stmt, refusal: UnsupportedError) -> Any:
    """The call of the function that runs these statements."""
    read = [name for name in find_read_first(body) if name in env and not isinstance(env[name], Unknown)]
    empty = [name for name in read if isinstance(env[name], BoundedBuffer) and not env[name].is_typed]
    body = [*(_Noting(ast.Constant(0)).visit(env[name].maker) for name in empty), *body]
    parents = {inner: x for part in body for x in ast.walk(part) for inner in ast.iter_child_nodes(x)}
    outside = _find_outside(reader, body, env)
    _require_repeatable(body, outside, env)
    inputs = _CountedInputs(reader, env)
    names: list[str] = []
    given: list[ast.expr] = []
    types_given: list[Any] = []
    writes = any(_may_write(x, body, outside, env) for part in body for x in ast.walk(part))
    seen: set[Value] = set()  # the memory of the arguments
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
        if isinstance(entry, BoundedBuffer):
            parameter, entry = f"{name}.elements", entry.elements()
            before.append(statement("z = [x for x in elements]", z=_plain(name), elements=_plain(parameter)))
        elif not isinstance(entry, (Value, tuple, Opaque)):
            raise NotPassed
        inputs.copying = writes and not all(_is_read(x, entry, parents) for x in parents if _reads(x, name))
        memory = {root for x in leaves(entry) if isinstance(x, Value) for root in x.roots}
        if memory & (seen if inputs.copying else copied):
            raise NotPassed  # aliases would become separate copies
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


def _reads(node: ast.AST, name: str) -> bool:
    return is_name(node, name) and isinstance(node.ctx, ast.Load)  # type: ignore[attr-defined]


def _is_read(node: Any, entry: Any, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether it is certain that this use of a name does not write its array."""
    holds_arrays = any(isinstance(x, Value) and x.is_array for x in leaves(entry))
    ndim = entry.kind.ndim if isinstance(entry, Value) else -1
    return not holds_arrays or is_transient(node, parents, lambda function: getattr(function, "attr", ""), ndim)


def _may_write(node: ast.AST, body: list[ast.stmt], outside: dict[str, Any], env: Environment) -> bool:
    """Whether a node of statements may write into an array."""
    if isinstance(node, (ast.Subscript, ast.Attribute)):
        return isinstance(node.ctx, ast.Store)
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        name = node.target.id
        given = [x for part in body for x in ast.walk(part) if isinstance(x, ast.Assign)]
        given = [x for x in given if any(is_name(y, name) for target in x.targets for y in ast.walk(target))]
        is_number_here = name in env and is_number(env[name])
        return not is_number_here and not (given and all(isinstance(x.value, ast.Constant) for x in given))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        entry = env.get(node.func.id)
        called = entry.value if isinstance(entry, Object) else outside.get(node.func.id)
        return is_dispatcher(called) and may_write_arrays(called)
    return isinstance(node, ast.Call) and calls_writers(node)


def _find_outside(reader: Reader, body: list[ast.stmt], env: Environment) -> dict[str, Any]:
    """The entries of names that the function reads but does not assign."""
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


def _require_repeatable(body: list[ast.stmt], outside: dict[str, Any], env: Environment) -> None:
    """Raise NotPassed if a call may have a side effect that must not happen twice."""
    nodes = [x for part in body for x in ast.walk(part)]
    if any(isinstance(x, ast.Attribute) and x.attr in ONCE for x in nodes):
        raise NotPassed
    for x in nodes:
        if isinstance(x, ast.Call) and not _is_repeatable(x.func, outside, env):
            raise NotPassed


def _is_repeatable(called: ast.expr, outside: dict[str, Any], env: Environment) -> bool:
    """Whether the function or method that a call names may be called once more."""
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
    """Whether a function, and those that it reaches, may be called once more than the user calls it."""
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
    """A valid Python name; names of flags begin with a dot."""
    return name.replace(".", "contad_")


def _write(body: list[ast.stmt], names: list[str]) -> str:
    """The source of the function that runs statements."""
    returned = ast.Return(ast.Name(_ROOM, ast.Load()))
    arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    tree = clone(ast.FunctionDef("count", arguments, [*body, returned], []))
    for x in ast.walk(tree):
        if isinstance(x, ast.Name):
            x.id = _plain(x.id)
        elif isinstance(x, ast.arg):
            x.arg = _plain(x.arg)
    return ast.unparse(ast.fix_missing_locations(tree))


def _compile(text: str, outside: dict[str, Any], given: list[Any], options: dict[str, Any]) -> Any:
    """Compile a text with Numba; NotPassed unless the function returns an integer."""
    names: dict[str, Any] = {"__name__": "contad._uncached", **outside}
    exec(text, names)
    if result_type(names["count"], tuple(given)) != types.int64:
        raise NotPassed
    return _load(names["count"], text, outside, options)


def _load(function: Any, text: str, outside: dict[str, Any], options: dict[str, Any]) -> Any:
    """A text as a Numba function, cached on disk if all its names mean the same in every process."""
    known = [fingerprint(x) for x in outside.values()]
    if not all(x.stable for x in known):
        return numba.njit(function, **options)
    decorator = f"@njit({write_options(options | {'cache': True})})"
    source = f"from contad.compile.machine_code import njit\n\n\n{decorator}\n{text}\n"
    depends = [source, *(f"{name} {x.digest}" for name, x in zip(outside, known, strict=True))]
    module = load_cached("counted", lambda: source, depends)
    vars(module).update(outside)
    return module.count
