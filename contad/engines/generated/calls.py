"""Calls: functions of numbers, creation of arrays, reductions, and the user's own functions, written in place."""

import ast
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from numba.np.ufunc.dufunc import DUFunc

from contad.dispatcher import is_dispatcher
from contad.engines.generated import functions
from contad.engines.generated.entries import Elementwise, Local, Method, Object, is_array, is_number, same
from contad.engines.generated.exits import RESULT
from contad.engines.generated.fresh import Environment
from contad.engines.generated.ir import INT, Value
from contad.engines.generated.scope import Scope
from contad.engines.generated.subscripts import Subscripts

_DTYPES = {float: "float", np.float64: "float", int: "int", np.int64: "int", bool: "bool", np.bool_: "bool"}


def _as_tuple(node: ast.expr) -> ast.expr:
    """A list that is written out, and those in it, as a tuple."""
    if not isinstance(node, ast.List):
        return node
    return ast.copy_location(ast.Tuple(list(map(_as_tuple, node.elts)), ast.Load()), node)


class Range:
    """range(...) before it is iterated over."""

    def __init__(self, start: Value, stop: Value, step: Value) -> None:
        self.limits = [start, stop, step]


class Iteration:
    """enumerate(...) or zip(...) before it is iterated over."""

    def __init__(self, kind: str, arguments: list[Any], start: Value) -> None:
        self.kind, self.arguments, self.start = kind, arguments, start


class Calls(Subscripts):
    """Reads calls."""

    scopes: dict[Any, Scope]
    special: dict[Any, Callable[..., Any]]  # functions with a meaning of their own
    reductions: dict[str, Callable[..., Any]]
    inlining: tuple[Any, ...] = ()  # the functions that are being written in place, outermost first

    def statements(self, body: list[ast.stmt], env: Environment) -> None:
        raise NotImplementedError

    def read_Call(self, node: ast.Call, env: Environment) -> Any:
        called = self.expression(node.func, env)
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            self.refuse(node, f"the starred argument in {ast.unparse(node)!r}", "write the arguments out")
        arguments: list[Any] = []
        listed = isinstance(called, Object) and called.value is np.array
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            with self.undisturbed(list(arguments), node):
                arguments.append(self.expression(_as_tuple(argument) if listed else argument, env))
        keywords = {k.arg: arguments[len(node.args) + n] for n, k in enumerate(node.keywords) if k.arg}
        del arguments[len(node.args) :]
        self.line = node.lineno
        if isinstance(called, Method):
            return self.method(called, arguments, keywords, node)
        if isinstance(called, Local):
            return self.inline_local(called, arguments, keywords, node, env)
        if not isinstance(called, Object):
            self.refuse(node, f"the call {ast.unparse(node)!r} of something that is no function")
        function = called.value
        if is_dispatcher(function):
            return self.inline(function.py_func, arguments, keywords, node, env)
        if isinstance(function, FunctionType) and function.__module__.partition(".")[0] not in ("numpy", "numba"):
            self.refuse(node, f"{function.__name__}, a plain Python function", "decorate it with numba.njit")
        special = self.special.get(function)
        if special is not None:
            return special(self, arguments, keywords, node)
        found = functions.function_of(function)
        if found is None:
            name = getattr(function, "__name__", function)
            if isinstance(function, DUFunc):
                self.refuse(node, f"{name}, made by numba.vectorize", "make it by numba.njit, and call it in a loop")
            self.refuse(node, f"the call of {name!r}")
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
        if function not in self.scopes:
            self.scopes[function] = Scope(function)
        return self.written(self.scopes[function], {}, arguments, keywords, node, caller)

    def inline_local(
        self, called: Local, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, caller: Environment
    ) -> Any:
        """The body of a function inside the function, in place of its call."""
        if self.scope is not called.scope.outside:
            self.refuse(
                node, f"the function {called.scope.place.function}, handed to another", "call it where it is made"
            )
        names = {name: caller[name] for name in called.scope.free if name in caller}
        if any(not same(x, called.names.get(name)) for name, x in names.items()):
            self.refuse(node, "a function whose captured names have changed since", "pass them as arguments")
        return self.written(called.scope, names, arguments, keywords, node, caller)

    def written(
        self,
        scope: Scope,
        names: Environment,
        arguments: list[Any],
        keywords: dict[str, Any],
        node: ast.AST,
        caller: Environment,
    ) -> Any:
        """The statements of a function, in an environment of its own."""
        name = scope.place.function
        if scope.function in self.inlining:
            self.refuse(node, f"the recursive function {name}", "write it as a loop")
        given = dict(zip(scope.names, arguments, strict=False)) | keywords
        for parameter, value in scope.defaults().items():
            if parameter not in given:
                given[parameter] = self.imported(value, node, parameter)
        if len(arguments) > len(scope.names) or set(given) != set(scope.names):
            self.refuse(node, f"the arguments of {name}", "give every argument once")
        env = names | {key: self.computed(x) if isinstance(x, Elementwise) else x for key, x in given.items()}
        outer, inlining, line = self.scope, self.inlining, self.line
        self.scope, self.inlining = scope, (*inlining, scope.function)
        self.frames.append(caller)
        self.statements(scope.body, env)
        self.frames.pop()
        result = env.get(RESULT, Object(None))
        self.scope, self.inlining, self.line = outer, inlining, line
        return result

    # ---- methods of arrays -------------------------------------------------------------------------------------------
    def method(self, method: Method, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        array = method.array
        if method.name in self.reductions:
            return self.reductions[method.name](self, [array, *arguments], keywords, node)
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
