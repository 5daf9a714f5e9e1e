"""Loops over generators: the generator's statements replace the loop, and the body of the loop replaces `yield`.

    for v in squares(x):            for y in x:
        s += v             ->           v = y * y
                                        s += v

Both keep their names: while the generator's statements are read, the caller's names have the prefix OUTER. An exit from
the loop (break, return) becomes a return of the generator after the yield.
"""

import ast
import copy
import functools
from typing import Any

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import Yielding, constant, is_number, join_kinds, same
from contad.engines.source.ir.ssa import Value
from contad.engines.source.ir.walks import like
from contad.engines.source.reading.declared_names import cast, cast_arguments, cast_declared
from contad.engines.source.reading.exits import locate, without_exits, without_ladders
from contad.engines.source.reading.progress import Environment
from contad.engines.source.reading.reader import Reader

OUTER = ".outer."  # the prefix of the caller's names
_STOPPED, _COUNT = ".stopped", ".count"


class Yielded(ast.stmt):
    """`yield e`, which the body of a loop replaces."""

    _fields = ("value",)

    def __init__(self, value: ast.expr, loop: "GeneratorLoop") -> None:
        super().__init__()
        self.value, self.loop = value, loop

    def assignments(self) -> list[ast.stmt]:
        """The assignments of the caller at this yield, as statements."""
        loop = self.loop.statement
        return [ast.Assign([loop.target], self.value), *loop.body]


class GeneratorLoop:
    """A loop over a generator; `start` is the first number if `enumerate` counts it."""

    def __init__(self, reader: Reader, statement: ast.For, yielding: Yielding, start: Value | None) -> None:
        self.reader, self.progress = reader, reader.progress
        self.statement, self.yielding, self.start = statement, yielding, start
        self.flags: list[str] = statement.flags  # type: ignore[attr-defined]
        self.kinds: dict[ast.stmt, Any] = {}  # of the yielded values, by yield
        self.joined: Any = None

    def read(self, env: Environment) -> None:
        """Read the loop in the caller's environment; read it again if Numba unifies the types of yielded values."""
        progress, yielding = self.progress, self.yielding
        if yielding.used or yielding.depth != progress.loop_depth:
            progress.refuse(self.statement, "a generator that is looped over twice, or in another loop than it is made")
        yielding.used = True
        before, known, added = self.reader.state(), dict(env), self.reader.builder.added
        self._write(env)
        kinds = list(self.kinds.values())
        joined = functools.reduce(self._join, kinds) if kinds else None
        if any(kind != joined for kind in kinds):
            self.reader.return_to(before)
            self.reader.builder.added = added
            env.clear()
            env.update(known)
            self.joined = joined
            self._write(env)

    def _write(self, env: Environment) -> None:
        """Write the statements of the generator, with those of the loop inside."""
        progress, scope, dispatcher = self.progress, copy.copy(self.yielding.scope), self.yielding.scope.dispatcher
        scope.body = self._body(scope)
        inner = {OUTER + name: entry for name, entry in env.items()} | self.yielding.given
        _, declared = cast_arguments(self.reader.builder, dispatcher, scope.names, inner)
        self.declared = getattr(declared, "yield_type", None)
        inner = cast_declared(self.reader.builder, scope, inner)
        inner[_STOPPED] = constant(False)
        if self.start is not None:
            inner[_COUNT] = self.start
        self.caller = progress.scope, progress.flags, progress.inlining
        self.callee = scope, self.yielding.flags, (*progress.inlining, scope.function)
        progress.fastmath.append(self.yielding.flags.fastmath)
        self._stand_in(self.callee, self.statement)
        self.reader.statements(scope.body, inner)
        self._stand_in(self.caller, self.statement)
        env.update(self._of_caller(inner))

    def _body(self, scope: Any) -> list[ast.stmt]:
        """The statements of the generator, which returns after a yield if the loop exits there."""
        yields = _Yields(self)
        body = [yields.visit(copy.deepcopy(x)) for x in scope.written]
        if yields.left is not None:
            self.progress.scope = scope
            self.progress.refuse(yields.left, "a yield that is no statement of its own", "write `yield x` for itself")
        return without_exits(without_ladders(_flatten(body)))

    def write_body(self, place: Yielded, env: Environment) -> None:
        """Write the body of the loop in the generator's environment."""
        builder, progress = self.reader.builder, self.progress
        entry = self.reader.settle(self.reader.expression(place.value, env))
        entry = cast(builder, self.yielding.scope.dispatcher, "what it yields", entry, self.declared)
        self.kinds[place] = _kind_of(entry)
        if self.joined is not None:
            entry = self._convert(entry, self.joined)
        if self.start is not None:
            entry = env[_COUNT], entry
            env[_COUNT] = builder.apply(known_functions.ADD, env[_COUNT], constant(1))
        outer = self._of_caller(env)
        progress.frames.append({name: x for name, x in env.items() if not name.startswith(OUTER)})
        self._stand_in(self.caller, self.statement)
        self.reader.assign(self.statement.target, entry, outer)
        self.reader.statements(self.statement.body, outer)
        ends = self.reader.ends(self.statement, outer)
        self._stand_in(self.callee, place)
        progress.frames.pop()
        env.update({OUTER + name: x for name, x in outer.items()})
        env[_STOPPED] = constant(False) if ends is None else ends

    def _of_caller(self, env: Environment) -> Environment:
        return {name.removeprefix(OUTER): x for name, x in env.items() if name.startswith(OUTER)}

    def _stand_in(self, function: Any, place: ast.stmt) -> None:
        self.progress.scope, self.progress.flags, self.progress.inlining = function
        self.progress.line = place.lineno

    def find_assigned(self) -> list[str]:
        """The names that a yield assigns in the generator's environment."""
        return [_STOPPED, _COUNT] if self.start is not None else [_STOPPED]

    # ---- types of yielded values -------------------------------------------------------------------------------------
    def _join(self, a: Any, b: Any) -> Any:
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
            return like(a, map(self._join, a, b))
        if a == b or same(a, b):
            return a
        if getattr(a, "ndim", 1) or getattr(b, "ndim", 1):
            self.progress.refuse(self.statement, "a generator that yields things of several types", "yield numbers")
        return join_kinds(a, b)

    def _convert(self, entry: Any, kind: Any) -> Any:
        if isinstance(entry, tuple):
            return like(entry, map(self._convert, entry, kind))
        return self.reader.builder.convert(entry, kind) if is_number(entry) else entry


def _kind_of(entry: Any) -> Any:
    """A key of the type of a yielded value."""
    if isinstance(entry, tuple):
        return like(entry, map(_kind_of, entry))
    return entry.kind if isinstance(entry, Value) else entry


class _Yields(ast.NodeTransformer):
    """Replaces statements that yield by Yielded; `left` is a yield inside another expression."""

    def __init__(self, loop: GeneratorLoop) -> None:
        self.loop = loop
        self.left: ast.expr | None = None

    def visit_Expr(self, node: ast.Expr) -> Any:
        if not isinstance(node.value, ast.Yield):
            return self.generic_visit(node)
        value = node.value.value or ast.copy_location(ast.Constant(None), node)
        found: list[ast.stmt] = [locate(Yielded(value, self.loop), node)]
        if self.loop.flags:
            found.append(locate(ast.If(ast.Name(_STOPPED, ast.Load()), [locate(ast.Return(None), node)], []), node))
        return found

    def leave(self, node: ast.AST) -> ast.AST:
        """Keep a node unchanged, and note the first yield in it."""
        for x in ast.walk(node):
            if self.left is None and isinstance(x, (ast.Yield, ast.YieldFrom)):
                self.left = x
        return node

    visit_Yield = visit_YieldFrom = visit_With = leave


def _flatten(body: list[Any]) -> list[ast.stmt]:
    return [x for part in body for x in (part if isinstance(part, list) else [part])]


def is_counted(iterated: Any) -> bool:
    """Whether the iterable is enumerate(...) of a generator."""
    return getattr(iterated, "kind", "") == "enumerate" and isinstance(iterated.arguments[0], Yielding)
