"""Calls: functions of numbers, creation of arrays, reductions, and the user's own functions, written in place."""

import ast
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any

import numpy as np
from numba import types

from contad.compile.dispatchers import is_dispatcher
from contad.compiled_rules.callables import is_checkpoint
from contad.engines.source.analysis.shared_callees import Callee, callee_of, key_of, kinds_of
from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import (
    Elementwise,
    Local,
    Method,
    Object,
    Point,
    RecordArray,
    Yielding,
    constant,
    is_array,
    is_number,
    same,
)
from contad.engines.source.ir.single_assignment import (
    INT,
    MOST_AXES,
    Apply,
    Call,
    Length,
    Load,
    SourceProgram,
    Value,
    View,
)
from contad.engines.source.ir.walks import leaves, like
from contad.engines.source.reading import points, record_arrays
from contad.engines.source.reading.bounded_buffers import BoundedBuffer, KeyedBuffer
from contad.engines.source.reading.class_instances import (
    call_method as call_method_of_instance,
    class_of,
    make_instance,
)
from contad.engines.source.reading.declared_names import cast, cast_arguments
from contad.engines.source.reading.derivative_calls import read_asked, read_derivative, read_transform
from contad.engines.source.reading.elementwise import arrays_of, overlaps
from contad.engines.source.reading.exits import RESULT
from contad.engines.source.reading.expressions import ExpressionReader
from contad.engines.source.reading.made_functions import is_made, read_made
from contad.engines.source.reading.progress import Environment
from contad.engines.source.reading.random_draws import DRAWS, read_draw
from contad.engines.source.reading.rule_calls import read_maker, read_rule
from contad.engines.source.reading.scope import Scope
from contad.engines.source.reading.tied_loops import TIED, is_tied_loop
from contad.errors import UnsupportedError
from contad.functions.pickling import Decorated
from contad.functions.python_copy import Flags, flags_of
from contad.functions.user_call import numba_function
from contad.kernels.array_loops import array_function_of, owns
from contad.kernels.loop_bodies import ARRAY_FUNCTIONS, ArrayFunction
from contad.numba_functions.asked_derivatives import AskedDerivative
from contad.rules.compilable import Compilable, MakesDerivatives, MakesRules, WithParts, WrittenOut, is_in_bodies

_DTYPES: dict[Any, str] = {
    float: "float", np.float64: "float", int: "int", np.int64: "int", bool: "bool", np.bool_: "bool",
    "float64": "float", "f8": "float", "<f8": "float", "d": "float", "int64": "int", "i8": "int", "bool": "bool",
    "bool_": "bool",
}  # fmt: skip


# functions whose argument may be written out as a list
_LISTED = (np.array, np.asarray, np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack, sum)


def _as_tuple(node: ast.expr) -> ast.expr:
    """A list that is written out, and those in it, as a tuple."""
    if not isinstance(node, ast.List):
        return node
    return ast.copy_location(ast.Tuple(list(map(_as_tuple, node.elts)), ast.Load()), node)


def _is_text(x: Any) -> bool:
    return isinstance(x, Object) and isinstance(x.value, str)


def _is_none(x: Any) -> bool:
    return isinstance(x, Object) and x.value is None


def _is_draw(function: Any) -> bool:
    return any(function == draw for draw in DRAWS)


def _fill(tree: Any, values: Iterator[Value]) -> Any:
    """Nested tuples with these values as leaves."""
    return like(tree, (_fill(part, values) for part in tree)) if isinstance(tree, tuple) else next(values)


ReadCallee = Callable[
    [Scope, Flags, tuple[Any, ...]], SourceProgram
]  # of a function that keeps a derivative of its own


class CallReader:
    """Reads calls.

    `special` are functions with a meaning of their own, `reductions` methods of arrays, as (calls, arguments, keywords,
    node) -> entry.
    """

    def __init__(
        self,
        expressions: ExpressionReader,
        special: Mapping[Any, Callable[..., Any]],
        reductions: Mapping[str, Callable[..., Any]],
        read_callee: ReadCallee,
    ) -> None:
        self.expressions, self.arrays = expressions, expressions.arrays
        self.builder, self.progress = expressions.builder, expressions.progress
        self.special, self.reductions, self.read_callee = special, reductions, read_callee

    def read(self, node: ast.Call, env: Environment) -> Any:
        """What a call gives: of a method, a local function, a Numba function, or one of NumPy's and Python's."""
        called = self.expressions.expression(node.func, env)
        arguments: list[Any] = []
        listed = isinstance(called, Object) and (is_in_bodies(called.value) or any(called.value is f for f in _LISTED))
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            with self.expressions.forbid_writes(list(arguments), node):
                if isinstance(argument, ast.Starred):
                    arguments += self.parts_of(argument, node, env)
                else:
                    arguments.append(self.expressions.expression(_as_tuple(argument) if listed else argument, env))
        first = len(arguments) - len(node.keywords)
        keywords = {k.arg: arguments[first + n] for n, k in enumerate(node.keywords) if k.arg}
        if len(keywords) < len(node.keywords):
            self.progress.refuse(node, f"the arguments of {ast.unparse(node)!r}", "write the keywords out")
        del arguments[first:]
        self.progress.line = node.lineno
        if isinstance(called, Method) and class_of(called.array) is not None:
            return call_method_of_instance(self, called, arguments, keywords, node, env)
        if isinstance(called, Method) and isinstance(called.array, RecordArray) and not arguments:
            return record_arrays.copy_records(self.expressions, called.array)
        if isinstance(called, Method) and isinstance(called.array, (BoundedBuffer, KeyedBuffer)):
            return called.array.call(called.name, [*arguments, *keywords.values()], node)
        if isinstance(called, Method):
            return self.method(called, arguments, keywords, node)
        if isinstance(called, Local):
            return self.inline_local(called, arguments, keywords, node, env)
        if not isinstance(called, Object):
            self.progress.refuse(
                node,
                f"the call {ast.unparse(node)!r} of something that is no function",
                "call a function that numba.njit made",
            )
        function = called.value
        if isinstance(function, Decorated):
            function = numba_function(function.decorated)
        if isinstance(function, Compilable) and function.stands_for is not None:
            function = function.stands_for
        if isinstance(function, MakesDerivatives):
            return read_transform(self, function, arguments, keywords, node, env)
        if isinstance(function, MakesRules):
            return read_maker(self, function, arguments, keywords, node)
        if isinstance(function, WrittenOut):
            return read_derivative(self, function, arguments, keywords, node, env)
        if isinstance(function, AskedDerivative):
            return read_asked(self, function, arguments, node)
        if is_dispatcher(function):
            return self.inline(function, arguments, keywords, node, env)
        if isinstance(getattr(function, "class_type", None), types.ClassType):
            return make_instance(self, function.class_type, arguments, keywords, node, env)
        if _is_draw(function):
            return read_draw(self, function, arguments, keywords, node, env)
        if is_made(function):
            return read_made(self, function, arguments, keywords, node, env)
        if isinstance(function, type) and issubclass(function, tuple) and hasattr(function, "_fields"):
            return self.make_named(function, arguments, keywords, node)
        if owns(function) or is_tied_loop(function):  # a body that another one calls
            return self.inline(function, arguments, keywords, node, env)
        module = getattr(function, "__module__", "").partition(".")[0] if isinstance(function, FunctionType) else ""
        if module not in ("", "numpy", "numba") and function not in self.special:
            self.progress.refuse(node, f"{function.__name__}, a plain Python function", "decorate it with numba.njit")
        try:
            special, whole = self.special.get(function), array_function_of(function)
        except TypeError:  # functions of ctypes are not hashable
            special = whole = None
        if special is not None:
            return special(self, arguments, keywords, node)
        if is_checkpoint(function) and len(arguments) == 1 and not keywords:
            return arguments[0]  # the function itself: what is stored is decided for the whole program
        if whole is not None:
            return self.in_loops(whole, arguments, keywords, node, env)
        if isinstance(function, WithParts):
            return read_rule(self, function, arguments, keywords, node)
        found = known_functions.function_of(function)
        if found is None:
            name = getattr(function, "__name__", function)
            if getattr(function, "__self__", None) is getattr(np.random.normal, "__self__", None) is not None:
                remedy = "multiply a draw with constant parameters; draws move with locations and scales alone"
                self.progress.refuse(node, f"the draw {ast.unparse(node)!r} with parameters that vary", remedy)
            self.progress.refuse(node, f"the call of {name!r}", 'write it as a loop over numbers, or use engine="tape"')
        arity = found.arity
        if isinstance(function, np.ufunc) and len(arguments) == arity + 1 and not keywords:
            return self.compute_into(arguments.pop(), self.compute_by(found, arguments, node), node)
        if keywords or len(arguments) != arity:
            self.progress.refuse(node, f"the arguments of {ast.unparse(node)!r}", "give the numbers only, by position")
        return self.compute_by(found, arguments, node)

    def make_named(self, cls: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        """A named tuple of a class."""
        given = dict(zip(cls._fields, arguments, strict=False)) | keywords
        for name, value in cls._field_defaults.items():
            if name not in given:
                given[name] = self.expressions.import_constant(value, node, name)
        if len(arguments) > len(cls._fields) or set(given) != set(cls._fields):
            self.progress.refuse(node, f"the arguments of {cls.__name__}", "give every field once")
        parts = (given[name] for name in cls._fields)
        return cls._make(self.arrays.compute(x) if isinstance(x, Elementwise) else x for x in parts)

    def parts_of(self, argument: ast.Starred, node: ast.Call, env: Environment) -> tuple[Any, ...]:
        """The arguments that a starred tuple is."""
        parts = self.expressions.expression(argument.value, env)
        if not isinstance(parts, tuple):
            self.progress.refuse(node, f"the starred argument in {ast.unparse(node)!r}", "write the arguments out")
        return parts

    def in_loops(
        self, function: ArrayFunction, arguments: list[Any], keywords: dict[str, Any], node: ast.Call, env: Environment
    ) -> Any:
        """A function of whole arrays, written in loops in the place of its call."""
        name = function.numpy.__name__
        try:
            bound = function.signature.bind(*arguments, **keywords).arguments
        except TypeError:
            self.progress.refuse(node, f"the arguments of {ast.unparse(node)!r}")
        is_face = is_in_bodies(function)
        while bound and not is_face and _is_none(bound[list(bound)[-1]]):  # as if it were left out
            bound.popitem()
        # up to the last that is given; of one that is left out before it, the default
        parameters = list(function.signature.parameters.items())
        count = max((k for k, (key, _) in enumerate(parameters) if key in bound), default=-1) + 1
        given = [
            bound[key] if key in bound else self.expressions.import_constant(parameter.default, node, key)
            for key, parameter in parameters[:count]
        ]
        if is_face:
            given = [
                self.special[np.array](self, [x], {}, node) if isinstance(x, (tuple, BoundedBuffer)) else x
                for x in given
            ]
        by_number = False
        if any(isinstance(x, Point) for x in given):
            ndims = tuple(x.value if _is_text(x) else getattr(getattr(x, "kind", None), "ndim", 0) for x in given)
            by_number = function.body(ndims) is not None
            given = [points.element(self.arrays, x) if by_number else points.vector(x) for x in given]
        numbers = [x for x in given if not (_is_text(x) or (_is_none(x) and not is_face))]
        known = all((is_number(x) or is_array(x)) and not x.kind.small for x in numbers)
        ndims = tuple(x.value if isinstance(x, Object) else x.kind.ndim for x in given) if known else ()
        body = function.body(ndims) if known else None
        # a result of integers is one; and data are left to the function itself
        if body is None or (not is_face and all(x.kind.base != "float" or self.is_constant(x) for x in numbers)):
            self.progress.refuse(node, f"the call of {name!r}", 'write it as a loop over numbers, or use engine="tape"')
        before = self.expressions.state()
        self.progress.pinned = True
        try:
            found = self.inline(body, given, {}, node, env)
            if by_number and is_number(found) and not is_face:  # an array of no axes to Numba
                return points.hold(self.arrays, found, found.kind.base)
            return found
        except UnsupportedError:
            self.expressions.return_to(before)
            self.progress.refuse(node, f"the call of {name!r}", 'write it as a loop over numbers, or use engine="tape"')
        finally:
            self.progress.pinned = before[-1][-2]

    def is_constant(self, x: Any) -> bool:
        """Whether a number or an array is surely made of what is not differentiated."""
        if isinstance(x, Elementwise):
            return all(map(self.is_constant, x.operands))
        if x.operation is None:
            return x.constant is not None or x in self.progress.constants
        seen = isinstance(x.operation, (Apply, Load, Length, View))
        return seen and all(map(self.is_constant, x.operation.inputs))

    def compute_by(self, function: known_functions.Function, operands: list[Any], node: ast.AST) -> Any:
        """A function of numbers or, element by element, of arrays."""
        if any(isinstance(x, Point) for x in operands):
            return points.compute(self.arrays, operands, lambda *given: self.compute_by(function, list(given), node))
        if not all(is_number(x) or is_array(x) for x in operands):
            self.progress.refuse(
                node, f"{function.name} of something that is no number or array", "give numbers and arrays"
            )
        if function.name == "power":
            x, y = operands
            return self.arrays.power(x, y, function.template.startswith("np."))
        if function.result == "float":
            operands = [self.as_float(x) for x in operands]
        return self.builder.apply(function, *operands)

    def compute_into(self, out: Any, found: Any, node: ast.Call) -> Any:
        """The result of a function of NumPy's, in an array that is given for it."""
        if isinstance(out, Point) and is_number(found):
            self.arrays.put(out.array, [constant(0)], found)
            return out
        if not isinstance(out, Value) or out.kind.base != "float" or not out.is_array or found.kind.base != "float":
            self.progress.refuse(node, f"the last argument of {ast.unparse(node)!r}", "give an array of floats")
        if any(overlaps(out, operand) for operand in arrays_of(found)):
            self.progress.refuse(
                node, f"{ast.unparse(node)!r} of overlapping parts, where Numba and NumPy differ", "copy them first"
            )
        self.arrays.fill(out, found, node)
        return out

    def as_float(self, x: Any) -> Any:
        """An integer as a float."""
        return x if x.kind.base == "float" else self.builder.apply(known_functions.TO_FLOAT, x)

    # ---- the user's functions ----------------------------------------------------------------------------------------
    def inline(
        self, dispatcher: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, caller: Environment
    ) -> Any:
        """The body of a function under its own flags, in place of its call; or of one of contad's, which has none."""
        function = getattr(dispatcher, "py_func", dispatcher)
        if self.progress.at_ties and TIED.get(function, function) not in self.progress.inlining:
            function, dispatcher = TIED.get(function, function), TIED.get(function, dispatcher)
        if dispatcher not in self.progress.scopes:
            own = dispatcher if is_dispatcher(dispatcher) else None
            self.progress.scopes[dispatcher] = Scope(function, own, self.progress.scope.arrays)
        scope = self.progress.scopes[dispatcher]
        if function in self.progress.inlining:
            self.progress.refuse(node, f"the recursive function {function.__name__}", "write it as a loop")
        given = self.bind(scope, arguments, keywords, node)
        outer, flags = self.progress.flags, flags_of(dispatcher, self.progress.flags)
        if scope.yields is not None:
            return Yielding(scope, flags, given, self.progress.loop_depth)
        if not scope.starred and (self.progress.calling or flags.fastmath != outer.fastmath):
            called = self.call_shared(scope, flags, given, node)
            if called is not None:
                return called
        self.progress.flags = flags
        self.progress.fastmath.append(flags.fastmath)
        result = self.write_in_place(scope, given, node, caller)
        self.progress.flags = outer
        return result

    def call_shared(self, scope: Scope, flags: Flags, given: Environment, node: ast.AST) -> Any:
        """What a function returns that keeps a derivative of its own; None where it is written in place."""
        arguments = tuple(given[name] for name in scope.names)
        kinds = kinds_of(arguments)
        callee = None if kinds is None else self.callee(scope, flags, kinds)
        if callee is None or (callee.is_small and flags.fastmath == self.progress.flags.fastmath):
            return None
        inputs = [x for x in leaves(arguments) if isinstance(x, Value)]
        inputs += [self.expressions.capture_array(array, node, name) for name, array in callee.captured.items()]
        results = [Value(output.kind) for output in callee.outputs]
        self.builder.add(Call(callee, inputs, results))
        following = iter(results)
        return _fill(callee.program.returned, following)

    def callee(self, scope: Scope, flags: Flags, kinds: tuple[Any, ...]) -> Callee | None:
        """A function for arguments of these kinds, read once; None for one that has to be written in place."""
        key = scope.dispatcher or scope.function, flags, key_of(kinds)
        if key not in self.progress.callees:
            try:
                found = callee_of(self.read_callee(scope, flags, kinds))
            except UnsupportedError:  # it may be read with the values of its arguments, or tell its reason then
                found = None
            self.progress.callees[key] = found
        return self.progress.callees[key]

    def inline_local(
        self, called: Local, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, caller: Environment
    ) -> Any:
        """The body of a function inside the function, in place of its call."""
        if self.progress.scope is not called.scope.outside:
            self.progress.refuse(
                node, f"the function {called.scope.place.function}, handed to another", "call it where it is made"
            )
        names = {name: caller[name] for name in called.scope.free if name in caller}
        if any(not same(x, called.names.get(name)) for name, x in names.items()):
            self.progress.refuse(node, "a function whose captured names have changed since", "pass them as arguments")
        if called.scope.function in self.progress.inlining:
            self.progress.refuse(node, f"the recursive function {called.scope.place.function}", "write it as a loop")
        if called.defaults and len(arguments) < called.scope.positional:
            if keywords or len(arguments) != called.scope.positional - len(called.defaults):
                what = f"{ast.unparse(node)!r}, which leaves out some defaults, of which Numba takes wrong ones"
                self.progress.refuse(node, what, "give all of them or none, by position")
            keywords = called.defaults
        given = self.bind(called.scope, arguments, keywords, node)
        return self.write_in_place(called.scope, names | given, node, caller)

    def bind(self, scope: Scope, arguments: list[Any], keywords: dict[str, Any], node: ast.AST) -> Environment:
        """What the parameters of a function stand for, in their order."""
        name = scope.place.function
        given = dict(zip(scope.names[: scope.positional], arguments, strict=False)) | keywords
        for parameter, value in scope.defaults().items():
            if parameter not in given:
                given[parameter] = self.expressions.import_constant(value, node, parameter)
        rest = arguments[scope.positional :]
        if (rest and not scope.starred) or set(given) != set(scope.names):
            self.progress.refuse(node, f"the arguments of {name}", "give every argument once")
        if scope.starred:
            given[scope.starred] = tuple(self.expressions.settle(x) for x in rest)
        given = {key: self.arrays.compute(x) if isinstance(x, Elementwise) else x for key, x in given.items()}
        return {**given, **cast_arguments(self.builder, scope.dispatcher, scope.names, given)[0]}

    def write_in_place(self, scope: Scope, env: Environment, node: ast.AST, caller: Environment) -> Any:
        """The statements of a function, in an environment of its own."""
        _, returned = cast_arguments(self.builder, scope.dispatcher, scope.names, env)
        env |= {
            key: cast(self.builder, scope.dispatcher, key, env[key], t)
            for key, t in scope.declared.items()
            if key in env
        }
        outer, inlining, line = self.progress.scope, self.progress.inlining, self.progress.line
        self.progress.scope, self.progress.inlining = scope, (*inlining, scope.function)
        self.progress.frames.append(caller)
        self.expressions.statements.statements(scope.body, env)
        self.progress.frames.pop()
        result = cast(self.builder, scope.dispatcher, "the result", env.get(RESULT, Object(None)), returned)
        self.progress.scope, self.progress.inlining, self.progress.line = outer, inlining, line
        return result

    # ---- methods of arrays -------------------------------------------------------------------------------------------
    def method(self, method: Method, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        """What a call of a method of an array gives."""
        array = method.array
        if method.name == "item" and not arguments and not keywords and (is_number(array) or isinstance(array, Point)):
            return points.element(self.arrays, array)
        if method.name in self.reductions:
            return self.reductions[method.name](self, [array, *arguments], keywords, node)
        if keywords:
            self.progress.refuse(
                node, f"keyword arguments of .{method.name}", "call the function of NumPy, or write a loop"
            )
        if isinstance(array, Point) and method.name == "copy" and not arguments:
            return points.copy(self.arrays, array)
        if isinstance(array, Point) and method.name == "astype" and len(arguments) == 1:
            return points.hold(self.arrays, points.element(self.arrays, array), self.dtype(arguments[0], node))
        if method.name == "copy" and not arguments:
            return self.arrays.copy_elements(array)
        if method.name == "astype" and len(arguments) == 1:
            return self.as_type(array, self.dtype(arguments[0], node))
        if method.name == "sort" and not arguments and isinstance(array, Value):
            self.arrays.fill(array, self.in_loops(ARRAY_FUNCTIONS[np.sort], [array], {}, node, {}), node)
            return Object(None)
        if method.name == "dot" and len(arguments) == 1:
            return self.arrays.product(array, arguments[0], node)
        if method.name == "fill" and len(arguments) == 1 and is_number(arguments[0]):
            self.arrays.fill(self.arrays.compute(array), arguments[0], node)
            return Object(None)
        function = ARRAY_FUNCTIONS.get(getattr(np, method.name, None)) if method.name != "sort" else None
        if function is not None:
            return self.in_loops(function, [array, *arguments], {}, node, {})
        return self.progress.refuse(node, f"the array method .{method.name}", "write it as a loop")

    def as_type(self, array: Any, base: str) -> Any:
        """A new array with the elements of another one as numbers of another kind."""
        to = {"float": known_functions.TO_FLOAT, "int": known_functions.TO_INT, "bool": known_functions.TO_BOOL}[base]
        if base == array.kind.base and not array.kind.narrow:
            return self.arrays.copy_elements(array)
        array = self.arrays.compute(array)
        made = self.builder.create("empty", self.arrays.shape(array), base)
        self.arrays.over(
            self.arrays.shape(array),
            lambda at: self.arrays.put(made, at, self.builder.apply(to, self.builder.load(array, at))),
        )
        return made

    # ---- functions with a meaning of their own -----------------------------------------------------------------------
    def take(self, names: str, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> list[Any]:
        """Arguments by position or keyword, in the order of the names; None for those not given."""
        found: dict[str, Any] = dict.fromkeys(names.split())
        if len(arguments) > len(found) or not set(keywords) <= set(found):
            self.progress.refuse(node, f"the arguments of {ast.unparse(node)!r}", f"give only {names}")
        found.update(zip(found, arguments, strict=False))
        found.update(keywords)
        return list(found.values())

    def dtype(self, given: Any, node: ast.Call, otherwise: str = "float") -> str:
        if given is None:
            return otherwise
        x = given.value if isinstance(given, Object) else None
        x = _DTYPES.get(str(x)) if isinstance(x, (str, np.dtype, types.Type)) else _DTYPES.get(x)
        if x is None:
            self.progress.refuse(node, f"the dtype in {ast.unparse(node)!r}", "use float64, int64 or bool")
        return x

    def lengths(self, given: Any, node: ast.Call) -> list[Value]:
        shape = list(given) if isinstance(given, tuple) else [given]
        if not 1 <= len(shape) <= MOST_AXES or not all(is_number(x) and x.kind == INT for x in shape):
            self.progress.refuse(node, f"the shape in {ast.unparse(node)!r}", "give one to five integers")
        return shape
