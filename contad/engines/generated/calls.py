"""Calls: functions of numbers, creation of arrays, reductions, and the user's own functions, written in place."""

import ast
import builtins
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba
import numpy as np

from contad.dispatcher import is_dispatcher
from contad.engines.generated import functions
from contad.engines.generated.entries import Elementwise, Method, Object, constant, is_array, is_number
from contad.engines.generated.exits import RESULT
from contad.engines.generated.expressions import Expressions
from contad.engines.generated.fresh import Environment
from contad.engines.generated.ir import INT, Kind, Value
from contad.engines.generated.scope import Scope

_DTYPES = {float: "float", np.float64: "float", int: "int", np.int64: "int", bool: "bool", np.bool_: "bool"}


class Range:
    """range(...) before it is iterated over."""

    def __init__(self, start: Value, stop: Value, step: Value) -> None:
        self.limits = [start, stop, step]


class Iteration:
    """enumerate(...) or zip(...) before it is iterated over."""

    def __init__(self, kind: str, arguments: list[Any], start: Value) -> None:
        self.kind, self.arguments, self.start = kind, arguments, start


class Calls(Expressions):
    """Reads calls."""

    inlining: tuple[Any, ...] = ()  # the functions that are being written in place, outermost first

    def statements(self, body: list[ast.stmt], env: Environment) -> None:
        raise NotImplementedError

    def read_Call(self, node: ast.Call, env: Environment) -> Any:
        called = self.expression(node.func, env)
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            self.refuse(node, f"the starred argument in {ast.unparse(node)!r}", "write the arguments out")
        arguments: list[Any] = []
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            with self.undisturbed(list(arguments), node):
                arguments.append(self.expression(argument, env))
        keywords = {k.arg: arguments[len(node.args) + n] for n, k in enumerate(node.keywords) if k.arg}
        del arguments[len(node.args) :]
        self.line = node.lineno
        if isinstance(called, Method):
            return self.method(called, arguments, keywords, node)
        if not isinstance(called, Object):
            self.refuse(node, f"the call {ast.unparse(node)!r} of something that is no function")
        function = called.value
        if is_dispatcher(function):
            return self.inline(function.py_func, arguments, keywords, node, env)
        if isinstance(function, FunctionType) and function.__module__.partition(".")[0] not in ("numpy", "numba"):
            self.refuse(node, f"{function.__name__}, a plain Python function", "decorate it with numba.njit")
        special = _SPECIAL.get(function)
        if special is not None:
            return special(self, arguments, keywords, node)
        found = functions.function_of(function)
        if found is None:
            self.refuse(node, f"the call of {getattr(function, '__name__', function)!r}")
        arity = found.template.count("{") if found is not functions.SQUARE else 1
        if keywords or len(arguments) != arity:
            self.refuse(node, f"the arguments of {ast.unparse(node)!r}", "give the numbers only, by position")
        return self.computed_by(found, arguments, node)

    def computed_by(self, function: functions.Function, operands: list[Any], node: ast.AST) -> Any:
        """A function of numbers or, element by element, of arrays."""
        if not all(is_number(x) or is_array(x) for x in operands):
            self.refuse(node, f"{function.name} of something that is no number or array")
        if function.name == "power":
            return self.power(*operands)
        if function.result == "float":
            operands = [self.as_float(x) for x in operands]
        return self.apply(function, *operands)

    def as_float(self, x: Any) -> Any:
        """An integer as a float."""
        return x if x.kind.base == "float" else self.apply(functions.TO_FLOAT, x)

    # ---- the user's functions ----------------------------------------------------------------------------------------
    def inline(
        self, function: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, caller: Environment
    ) -> Any:
        """The body of a function, in place of its call."""
        if function in self.inlining:
            self.refuse(node, f"the recursive function {function.__name__}", "write it as a loop")
        scope = Scope(function)
        given = dict(zip(scope.names, arguments, strict=False)) | keywords
        for name, value in scope.defaults().items():
            if name not in given:
                given[name] = self.imported(value, node, name)
        if len(arguments) > len(scope.names) or set(given) != set(scope.names):
            self.refuse(node, f"the arguments of {function.__name__}", "give every argument once")
        env = {name: self.computed(x) if isinstance(x, Elementwise) else x for name, x in given.items()}
        outer, inlining, line = self.scope, self.inlining, self.line
        self.scope, self.inlining = scope, (*inlining, function)
        self.frames.append(caller)
        self.statements(scope.body, env)
        self.frames.pop()
        result = env.get(RESULT, Object(None))
        self.scope, self.inlining, self.line = outer, inlining, line
        return result

    # ---- methods of arrays -------------------------------------------------------------------------------------------
    def method(self, method: Method, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        array = method.array
        if method.name in _REDUCTIONS:
            return _REDUCTIONS[method.name](self, [array, *arguments], keywords, node)
        if keywords:
            self.refuse(node, f"keyword arguments of .{method.name}", "call the function of NumPy, or write a loop")
        if method.name == "copy" and not arguments:
            return self.copied(array)
        if method.name == "dot" and len(arguments) == 1:
            return self.product(array, arguments[0], node)
        if method.name == "fill" and len(arguments) == 1 and is_number(arguments[0]):
            self.fill(self.computed(array), arguments[0], node)
            return Object(None)
        return self.refuse(node, f"the array method .{method.name}", "write it as a loop")

    # ---- functions with a meaning of their own -----------------------------------------------------------------------
    def take(self, names: str, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> list[Any]:
        """Arguments by position or keyword, in the order of the names; None for those not given."""
        found: dict[str, Any] = dict.fromkeys(names.split())
        if len(arguments) > len(found) or not set(keywords) <= set(found):
            self.refuse(node, f"the arguments of {ast.unparse(node)!r}", f"give only {names}")
        found.update(zip(found, arguments, strict=False))
        found.update(keywords)
        return list(found.values())

    def dtype(self, given: Any, node: ast.Call, otherwise: str = "float") -> str:
        if given is None:
            return otherwise
        x = given.value if isinstance(given, Object) else None
        x = x.type if isinstance(x, np.dtype) else x
        if x is None or x not in _DTYPES:
            self.refuse(node, f"the dtype in {ast.unparse(node)!r}", "use float64, int64 or bool")
        return _DTYPES[x]

    def lengths(self, given: Any, node: ast.Call) -> list[Value]:
        shape = list(given) if isinstance(given, tuple) else [given]
        if not 1 <= len(shape) <= 3 or not all(is_number(x) and x.kind == INT for x in shape):
            self.refuse(node, f"the shape in {ast.unparse(node)!r}", "give one to three integers")
        return shape


def _creation(fill: str) -> Callable[..., Any]:
    def create(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        shape, dtype = self.take("shape dtype", arguments, keywords, node)
        return self.create(fill, self.lengths(shape, node), self.dtype(dtype, node))

    return create


def _creation_like(fill: str) -> Callable[..., Any]:
    def create(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        array, dtype = self.take("a dtype", arguments, keywords, node)
        if not is_array(array):
            self.refuse(node, f"{ast.unparse(node)!r} of something that is no array")
        if dtype is None and array.kind.narrow:
            self.refuse(node, f"{ast.unparse(node)!r} of an array of small integers", "give a dtype")
        return self.create(fill, self.shape(array), self.dtype(dtype, node, array.kind.base))

    return create


def _full(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    shape, value, dtype = self.take("shape fill_value dtype", arguments, keywords, node)
    if not is_number(value):
        self.refuse(node, f"the value in {ast.unparse(node)!r}")
    array = self.create("empty", self.lengths(shape, node), self.dtype(dtype, node, value.kind.base))
    self.fill(array, value, node)
    return array


def _copy(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    (array,) = self.take("a", arguments, keywords, node)
    if not is_array(array):
        self.refuse(node, f"{ast.unparse(node)!r} of something that is no array")
    return self.copied(array)


def _length(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    (x,) = self.take("x", arguments, keywords, node)
    if isinstance(x, tuple):
        return constant(len(x))
    return self.shape(x)[0] if is_array(x) else self.refuse(node, f"{ast.unparse(node)!r}")


def _range(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    if keywords or not 1 <= len(arguments) <= 3 or not all(is_number(x) and x.kind.base != "float" for x in arguments):
        self.refuse(node, f"{ast.unparse(node)!r}", "give one to three integers")
    start, stop, step = [constant(0), *arguments, constant(1)] if len(arguments) == 1 else [*arguments, constant(1)][:3]
    return Range(start, stop, step)


def _iteration(kind: str) -> Callable[..., Any]:
    def iterate(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        start = constant(0)
        if kind == "enumerate":
            array, given = self.take("iterable start", arguments, keywords, node)
            arguments, keywords, start = [array], {}, start if given is None else given
        if keywords or not arguments or arguments[0] is None or not is_number(start) or start.kind != INT:
            self.refuse(node, f"{ast.unparse(node)!r}", "give the arrays only, and count in the loop")
        return Iteration(kind, arguments, start)

    return iterate


def _conversion(function: functions.Function) -> Callable[..., Any]:
    def convert(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        (x,) = arguments if len(arguments) == 1 and not keywords else (None,)
        if function is functions.TO_FLOAT and isinstance(x, Object) and str(x.value).strip("+-") in ("inf", "nan"):
            return constant(float(x.value))
        if not is_number(x):
            self.refuse(node, f"the conversion {ast.unparse(node)!r}")
        return self.apply(function, arguments[0])

    return convert


def _extreme(symbol: str) -> Callable[..., Any]:
    """The builtins max and min: of ties the first."""

    def choose(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        if keywords or len(arguments) < 2 or not all(map(is_number, arguments)):
            self.refuse(node, f"{ast.unparse(node)!r}", "give two numbers or more, or use np.max")
        kind = "float" if any(x.kind.base == "float" for x in arguments) else "int"
        found, *rest = [self.converted(x, Kind(kind)) for x in arguments]
        for x in rest:
            better = self.apply(functions.COMPARISONS["Gt" if symbol == ">" else "Lt"], x, found)
            found = self.apply(functions.SELECT, better, x, found)
        return found

    return choose


def _reduction(reduce: Callable[[Any, Any], Value]) -> Callable[..., Any]:
    def apply(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        array, axis = self.take("a axis", arguments, keywords, node)
        if not is_array(array):
            self.refuse(node, f"{ast.unparse(node)!r} of something that is no array")
        if axis is not None and array.kind.ndim > 1:
            return self.along(array, axis, reduce, node)
        return reduce(self, array)

    return apply


def _dot(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    a, b = self.take("a b", arguments, keywords, node)
    return self.product(a, b, node)


def _where(self: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    condition, x, y = self.take("condition x y", arguments, keywords, node)
    if not all(is_number(v) or is_array(v) for v in (condition, x, y)):
        self.refuse(node, f"{ast.unparse(node)!r}", "give a condition and two numbers or arrays")
    return self.apply(functions.SELECT, condition, self.as_float(x), self.as_float(y))


_REDUCTIONS = {
    "sum": _reduction(lambda self, a: self.total(a)),
    "mean": _reduction(lambda self, a: self.apply(functions.DIVIDE, self.total(a), self.size(a))),
    "max": _reduction(lambda self, a: self.extreme(a, ">")),
    "min": _reduction(lambda self, a: self.extreme(a, "<")),
}
_SPECIAL: dict[Any, Callable[..., Any]] = {
    np.zeros: _creation("zeros"), np.ones: _creation("ones"), np.empty: _creation("empty"), np.full: _full,
    np.zeros_like: _creation_like("zeros"), np.ones_like: _creation_like("ones"),
    np.empty_like: _creation_like("empty"), np.copy: _copy,
    builtins.len: _length, builtins.range: _range, numba.prange: _range,
    builtins.enumerate: _iteration("enumerate"), builtins.zip: _iteration("zip"),
    builtins.float: _conversion(functions.TO_FLOAT), np.float64: _conversion(functions.TO_FLOAT),
    builtins.int: _conversion(functions.TO_INT), np.int64: _conversion(functions.TO_INT),
    builtins.bool: _conversion(functions.TO_BOOL),
    builtins.max: _extreme(">"), builtins.min: _extreme("<"),
    np.sum: _REDUCTIONS["sum"], np.mean: _REDUCTIONS["mean"],
    np.max: _REDUCTIONS["max"], np.min: _REDUCTIONS["min"],
    np.dot: _dot, np.where: _where,
}  # fmt: skip
