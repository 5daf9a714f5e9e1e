"""Hands expressions without a derivative on to Numba unchanged.

The front end hands on every expression that it does not know: Numba infers its type, and the generated source computes
it as the user's function does. The expression becomes a `Handed` operation, through which no derivative passes. If one
would have to pass, the front end's refusal of the expression is raised.
"""

import ast
import builtins
import math
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba import types

from contad.compile.dispatchers import is_dispatcher
from contad.compile.numba_code import result_type
from contad.engines.source.ir.entries import Complex, Object, Opaque, Point, is_array
from contad.engines.source.ir.ssa import Handed, Value, input_name
from contad.engines.source.ir.syntax import clone, expression, name, number
from contad.engines.source.ir.walks import class_of_names, like
from contad.engines.source.reading.numba_typing import MUTABLE, is_fresh, kind_of, number_type
from contad.engines.source.reading.progress import Environment
from contad.engines.source.reading.reader import Reader
from contad.errors import StaleSourceError, UnsupportedError
from contad.kernels.complex_arrays import join_parts
from contad.numba_functions.writes import calls_writers
from contad.rules.definition import definition_of, global_names, named_values
from contad.rules.scalar_rule import ScalarRule

_READS = {"get", "index", "count", "keys", "values", "items", "copy"}  # methods that do not change a container
# functions that are locally constant
_FLAT = ("round", "np.round", "np.around", "np.round_", "np.rint", "np.trunc", "np.fix")


_SIGNS = (ast.operator, ast.unaryop)


class NotPassed(Exception):
    """An expression cannot be handed on."""


class Passed:
    """One expression to hand on: its text, the values that it reads, and the functions that it names."""

    def __init__(self, reader: Reader, env: Environment) -> None:
        self.reader, self.env = reader, env
        self.inputs: list[Value] = []
        self.given: list[Any] = []  # the Numba types of these values
        self.opaque: dict[str, Any] = {}  # names of arguments that may only be read

    def read(self, node: ast.expr) -> tuple[ast.expr, Any]:
        """The expression with `input_name(k)` for input k, and its Numba type; NotPassed if it has none."""
        own = {x.id for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
        if calls_writers(node) or isinstance(node, (ast.Slice, ast.Starred)):  # these are not expressions by themselves
            raise NotPassed
        own |= {x.arg for x in ast.walk(node) if isinstance(x, ast.arg)}
        tree = _Outward(self, own).visit(clone(node))
        _require_reads(tree, self.opaque)
        text = ast.unparse(tree)
        key = (text, *self.given)
        known = self.reader.progress.typed
        if key not in known:
            known[key] = self._infer_type(text)
        if known[key] is None:
            raise NotPassed
        return tree, known[key]

    def _infer_type(self, text: str) -> Any:
        names = ", ".join(map(input_name, range(len(self.inputs))))
        module: dict[str, Any] = {"np": np, "math": math, "join_parts": join_parts, **self.reader.progress.callables}
        exec(f"def passed({names}):\n    return {text}\n", module)
        return result_type(module["passed"], tuple(self.given))

    def name(self, value: Value, t: Any) -> str:
        """The name of a value that the expression reads."""
        for k, known in enumerate(self.inputs):
            if known is value:
                return input_name(k)
        self.inputs.append(value)
        self.given.append(t)
        return input_name(len(self.inputs) - 1)

    def entry(self, x: Any) -> ast.expr:
        """An entry as an expression."""
        if isinstance(x, Point):
            return expression("array.reshape(())", array=self.entry(x.array))
        if isinstance(x, Complex):
            if all(isinstance(part, Value) and part.is_array for part in x):
                return expression("join_parts(real, imag)", real=self.entry(x.real), imag=self.entry(x.imag))
            if any(map(is_array, x)):
                raise NotPassed
            return expression("complex(real, imag)", real=self.entry(x.real), imag=self.entry(x.imag))
        if isinstance(x, tuple):
            return self._tuple([self.entry(part) for part in x], class_of_names(x))
        if isinstance(x, Opaque):
            readonly = x.type.copy(readonly=True) if isinstance(x.type, types.Array) else x.type
            name = self.name(x.value, readonly)
            if isinstance(x.type, MUTABLE):
                self.opaque[name] = x.type
            return ast.Name(name, ast.Load())
        if isinstance(x, Value):
            if x.constant is not None:
                return number(x.constant)
            if x.kind.small == "unsigned":
                raise NotPassed
            return ast.Name(self.name(x, number_type(x.kind, True)), ast.Load())
        if isinstance(x, Object):
            return self.object(x.value)
        raise NotPassed

    def object(self, x: Any) -> ast.expr:
        """A Python object from outside the function, as an expression."""
        if isinstance(x, (np.integer, np.bool_)):
            x = x.item()
        if x is None or isinstance(x, (bool, int, float, str)):
            return number(x)
        if isinstance(x, tuple):
            return self._tuple([self.object(part) for part in x], class_of_names(x))
        if isinstance(x, np.ndarray):
            return self.entry(self.reader.capture_array(x, ast.Pass(lineno=self.reader.progress.line), "data"))
        if isinstance(x, ModuleType) and x.__name__ in ("numpy", "math"):
            return ast.Name("np" if x is np else "math", ast.Load())
        if isinstance(x, type) and issubclass(x, tuple) and hasattr(x, "_fields"):
            return ast.Name(self.reader.progress.name_callable(x), ast.Load())
        if getattr(x, "__module__", None) == "builtins" and hasattr(builtins, x.__name__):
            return ast.Name(x.__name__, ast.Load())
        text = _in_numpy(x)
        if text:
            return name(text)
        if not is_dispatcher(x) or not may_be_called(x):
            raise NotPassed
        return ast.Name(self.reader.progress.name_callable(x), ast.Load())

    def _tuple(self, parts: list[ast.expr], cls: Any) -> ast.expr:
        """A tuple, or a named tuple of class `cls`."""
        if cls is None:
            return ast.Tuple(parts, ast.Load())
        return ast.Call(ast.Name(self.reader.progress.name_callable(cls), ast.Load()), parts, [])


class _Outward(ast.NodeTransformer):
    """Replaces names by their entries, except names that the expression itself binds."""

    def __init__(self, passed: Passed, own: set[str]) -> None:
        self.passed, self.own = passed, own

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.own:
            return node
        if node.id in self.passed.env:
            return self.passed.entry(self.passed.env[node.id])
        try:
            return self.passed.object(self.passed.reader.progress.scope.outer(node.id))
        except KeyError:
            raise NotPassed from None

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        module = self._module(node.value)
        if module is None:
            return self.generic_visit(node)  # type: ignore[return-value]
        if not hasattr(module, node.attr):
            raise NotPassed
        return self.passed.object(getattr(module, node.attr))

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Fold constants as Python's compiler does before Numba sees them; names of constants are not folded."""
        named = any(isinstance(x, ast.Name) for x in ast.walk(node))
        self.generic_visit(node)
        if named and all(isinstance(x, (ast.BinOp, ast.UnaryOp, ast.Constant, *_SIGNS)) for x in ast.walk(node)):
            raise NotPassed
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        raise NotPassed

    def _module(self, node: ast.expr) -> Any:
        """The module that an expression denotes; None for other expressions."""
        if isinstance(node, ast.Attribute):
            module = self._module(node.value)
            found = getattr(module, node.attr, None) if module is not None else None
        elif isinstance(node, ast.Name) and node.id not in self.own and node.id not in self.passed.env:
            try:
                found = self.passed.reader.progress.scope.outer(node.id)
            except KeyError:
                return None
        elif isinstance(node, ast.Name) and isinstance(self.passed.env.get(node.id), Object):
            found = self.passed.env[node.id].value
        else:
            return None
        return found if isinstance(found, ModuleType) else None


def pass_on(reader: Reader, node: ast.expr, env: Environment, refusal: UnsupportedError) -> Any:
    """Hand an expression on to Numba; its entry, or None if that is impossible, for instance if it may raise."""
    if reader.progress.trying:
        return None
    known = dict(reader.progress.callables)
    passed = Passed(reader, env)
    try:
        expression, t = passed.read(node)
    except (NotPassed, UnsupportedError):
        reader.progress.callables.clear()
        reader.progress.callables.update(known)
        return None
    if isinstance(t, types.NoneType):
        reader.builder.add(Handed(expression, passed.inputs, [], None, set(), refusal))
        return Object(None)
    kind = kind_of(t)
    if kind is None:
        return None
    return add_handed(reader, node, passed, expression, t, kind, refusal)


def add_handed(
    reader: Reader,
    node: ast.expr,
    passed: Passed,
    expression: ast.expr,
    t: Any,
    kind: Any,
    refusal: UnsupportedError,
) -> Any:
    """Add the operation of a handed-on expression; its entry."""
    results: list[Value] = []
    aliases: set[int] = set()

    def make(kind: Any, t: Any) -> Any:
        if isinstance(kind, tuple):
            return like(kind, map(make, kind, t.types))
        results.append(Value(kind))
        if kind.ndim and (passed.opaque or not is_fresh(t)):
            aliases.add(len(results) - 1)
        return len(results) - 1

    shape = make(kind, t)
    inside = bool(reader.progress.loop_depth or reader.progress.branch_depth)
    if inside and any(x.kind.narrow and k not in aliases for k, x in enumerate(results)):
        return None
    call = Handed(expression, passed.inputs, results, shape, aliases, refusal)
    call.is_flat = _is_flat(node, expression)
    reader.builder.add(call)
    entries = list(results)
    for k, x in enumerate(results):
        # arrays of a branch move before it, which a call cannot; in a loop, each iteration has its own adjoint
        if inside and x.is_array and k not in aliases:
            entries[k] = reader.arrays.copy_elements(x)

    def entry(shape: Any) -> Any:
        return like(shape, map(entry, shape)) if isinstance(shape, tuple) else entries[shape]

    return entry(shape)


def _is_flat(node: ast.expr, expression: ast.expr) -> bool:
    """Whether the called function has derivative zero."""
    if not isinstance(node, ast.Call):
        return False
    method = isinstance(node.func, ast.Attribute) and node.func.attr == "round"
    return method or (isinstance(expression, ast.Call) and ast.unparse(expression.func) in _FLAT)


def _require_reads(tree: ast.expr, opaque: dict[str, Any]) -> None:
    """Raise NotPassed if an expression may do more than read a mutable argument."""
    if not opaque:
        return
    read = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            inner = [node.value]
        elif isinstance(node, ast.Compare):
            inner = [x for op, x in zip(node.ops, node.comparators, strict=True) if isinstance(op, (ast.In, ast.NotIn))]
        elif isinstance(node, ast.comprehension):
            inner = [node.iter]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            inner = node.args if node.func.id in ("len", "min", "max", "sum", "sorted", "list", "enumerate") else []
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _READS:
            inner = [node.func.value]
        elif isinstance(node, ast.Attribute):
            inner = [node.value] if not any(_calls(call, node) for call in ast.walk(tree)) else []
        else:
            continue
        read += sum(isinstance(x, ast.Name) and x.id in opaque for x in inner)
    if read < sum(isinstance(x, ast.Name) and x.id in opaque for x in ast.walk(tree)):
        raise NotPassed


def _calls(call: ast.AST, attribute: ast.Attribute) -> bool:
    return isinstance(call, ast.Call) and call.func is attribute


def _in_numpy(x: Any) -> str:
    """The name of an object in NumPy or math; empty if it is in neither."""
    name = getattr(x, "__name__", "")
    for module, prefix in ((np, "np"), (np.linalg, "np.linalg"), (np.random, "np.random"), (math, "math")):
        if name and getattr(module, name, None) is x:
            return f"{prefix}.{name}"
    return ""


def may_be_called(f: Any, around: tuple[Any, ...] = ()) -> bool:
    """Whether generated code may call a Numba function unchanged.

    A recursive function does not survive in the cache for another process, and a derivative would use the same
    workspace. Numba finds writes of elements, because the arrays are read-only to it, but not writes by NumPy
    functions. Python in objmode might do any of these.
    """
    if any(f is g for g in around):
        return False
    try:
        if calls_writers(definition_of(f.py_func)[0]):
            return False
    except (OSError, StaleSourceError):
        return False
    names = global_names(f.py_func.__code__)
    named = list(named_values(f.py_func).values())
    modules = [x for x in named if isinstance(x, ModuleType)]
    named += [getattr(x, name) for x in modules for name in names & {*dir(x)}]
    if any(x is numba.objmode or _of_contad(x) for x in named):
        return False
    return all(may_be_called(x, (*around, f)) for x in named if is_dispatcher(x))


def _of_contad(x: Any) -> bool:
    """Whether x is an object of contad that generated code must not use: any but rules and modules."""
    if isinstance(x, (ModuleType, ScalarRule)):
        return False
    return any(str(home).partition(".")[0] == "contad" for home in (type(x).__module__, getattr(x, "__module__", None)))
