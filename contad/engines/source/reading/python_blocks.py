"""Reads objmode blocks: the derivative holds their outputs fixed.

Python runs a block once, in the forward sweep, and its outputs are stored for the reverse sweep. If a derivative would
have to pass from its inputs to a float output, the block is refused, because Python code has no derivative here.
"""

import ast
from collections.abc import Iterable
from typing import Any

import numba
from numba import types

from contad.engines.source.ir.entries import Opaque, Unknown
from contad.engines.source.ir.ssa import Handed, Value
from contad.engines.source.reading.numba_typing import MUTABLE, kind_of
from contad.engines.source.reading.passing import NotPassed, Passed, add_handed
from contad.engines.source.reading.progress import Environment
from contad.engines.source.reading.reader import Reader
from contad.errors import UnsupportedError
from contad.numba_functions.object_mode import PythonBlock, compile_block
from contad.rules.definition import factory_of

_FIXED = "read contad.stop_gradient(...) of it in the block, where it is to be held fixed"


class _Inputs(Passed):
    """The inputs of a block: numbers, tuples, and arrays of any elements, because output types are declared."""

    def entry(self, x: Any) -> ast.expr:
        if isinstance(x, Opaque) and isinstance(x.type, MUTABLE):
            raise NotPassed
        if isinstance(x, Value) and x.is_array and x.kind.small:
            return ast.Name(self.name(x, None), ast.Load())
        return super().entry(x)


def is_objmode(reader: Reader, node: ast.With) -> bool:
    """Whether a statement is `with objmode(...)`."""
    call = node.items[0].context_expr
    return len(node.items) == 1 and isinstance(call, ast.Call) and _evaluate(reader, call.func) is numba.objmode


def read_objmode(reader: Reader, node: ast.With, env: Environment) -> dict[str, Any]:
    """The entries of the output names of a block."""
    progress = reader.progress
    call = node.items[0].context_expr
    assert isinstance(call, ast.Call)
    declared = {k.arg: _type_of(reader, k.value) for k in call.keywords if k.arg is not None}
    kinds = {name: kind_of(t) for name, t in declared.items()}
    for name, kind in kinds.items():
        if kind is None or isinstance(kind, tuple) or kind.narrow:
            what = f"the output {name} of an objmode block, of type {declared[name]}"
            progress.refuse(node, what, "declare float64, int64, boolean or an array of these")
    names = [x for x in find_read_first(node.body) if x in env]
    _refuse_writes(reader, node, names)
    inputs = _Inputs(reader, env)
    given = []
    for name in names:
        entry = env[name]
        if isinstance(entry, Unknown):
            progress.refuse(node, f"the name {name}: {entry.reason}")
        try:
            given.append(inputs.entry(reader.settle(entry)))
        except (NotPassed, UnsupportedError):
            progress.refuse(
                node, f"{name}, which an objmode block reads", "let it read numbers, and arrays and tuples of them"
            )
    key = (node, *names)
    if key not in progress.blocks:
        progress.blocks[key] = _compile(reader, node, names, declared)
    function = ast.Call(ast.Name(progress.name_callable(progress.blocks[key]), ast.Load()), given, [])
    what = f"an objmode block that reads what is differentiated, among {', '.join(names)}"
    refusal = progress.refusal(node, what, _FIXED)
    if not declared:
        reader.builder.add(Handed(function, inputs.inputs, [], None, set(), refusal))
        return {}
    if len(declared) == 1:
        ((name, t),) = declared.items()
        return {name: add_handed(reader, function, inputs, function, t, kinds[name], refusal)}
    together = types.Tuple(list(declared.values()))
    found = add_handed(reader, function, inputs, function, together, tuple(kinds.values()), refusal)
    return dict(zip(declared, found, strict=True))


def _refuse_writes(reader: Reader, node: ast.With, names: Iterable[str]) -> None:
    """Refuse assignments to elements of inputs of a block; other writes are found at run time."""
    for x in ast.walk(node):
        if isinstance(x, ast.Subscript) and isinstance(x.ctx, (ast.Store, ast.Del)):
            if isinstance(x.value, ast.Name) and x.value.id in names:
                reader.refuse(
                    x, f"a write into {x.value.id} in an objmode block", "make a new array, and declare it as an output"
                )


def _compile(reader: Reader, node: ast.With, names: list[str], declared: dict[str, Any]) -> Any:
    """The block as a Numba function of these names."""
    scope = reader.progress.scope
    outputs = ast.Tuple([ast.Name(name, ast.Load()) for name in declared], ast.Load())
    body = [*node.body, ast.Return(outputs)]
    arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    captured = sorted(scope.captured)
    block = ast.copy_location(ast.FunctionDef("block", arguments, body, []), node)
    module = factory_of(block, "factory", captured)
    made: dict[str, Any] = {}
    exec(compile(module, scope.place.filename, "exec"), scope.globals, made)
    function = made["factory"](*(scope.captured[name] for name in captured))
    place = f"{scope.place.filename}:{node.lineno}: {scope.place.function}"
    return compile_block(PythonBlock(function, place, list(declared)), names, list(declared.values()))


def find_read_first(body: list[ast.stmt]) -> list[str]:
    """The names that statements read before a statement has certainly assigned them."""
    found: dict[str, None] = {}
    assigned: set[str] = set()
    for statement in body:
        own = {x.id for part in ast.walk(statement) if isinstance(part, ast.comprehension)
               for x in ast.walk(part.target) if isinstance(x, ast.Name)}  # fmt: skip
        own |= {x.arg for x in ast.walk(statement) if isinstance(x, ast.arg)}
        for x in ast.walk(statement):
            changed = isinstance(x, ast.AugAssign) and isinstance(x.target, ast.Name)
            name = x.target.id if changed else x.id if isinstance(x, ast.Name) else ""  # type: ignore[attr-defined]
            if name and (changed or isinstance(x.ctx, ast.Load)) and name not in assigned | own:  # type: ignore[attr-defined]
                found[name] = None
        if isinstance(statement, ast.Assign):
            assigned |= {x.id for target in statement.targets for x in ast.walk(target)
                         if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}  # fmt: skip
    return list(found)


def _type_of(reader: Reader, node: ast.expr) -> Any:
    """The declared Numba type of an output, as a string or an object."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return eval(node.value, {}, dict(vars(types)))
    return _evaluate(reader, node)


def _evaluate(reader: Reader, node: ast.expr) -> Any:
    """The object that an expression in names from outside the function denotes; None if there is none."""
    scope = reader.progress.scope
    try:
        return eval(compile(ast.Expression(node), scope.place.filename, "eval"), scope.globals, dict(scope.captured))
    except Exception:
        return None
