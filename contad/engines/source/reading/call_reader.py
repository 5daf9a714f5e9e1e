"""Reads calls: of methods, of user functions, which are inlined, and of functions of NumPy and Python."""

import ast
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from numba import types

from contad.compile.dispatchers import is_dispatcher
from contad.compiled_rules.callables import is_checkpoint
from contad.compiled_rules.rules_of_parts import holomorphic_parts
from contad.engines.source.analysis.shared_callees import Callee, callee_of, key_of, kinds_of
from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import (
    Local,
    Method,
    Object,
    Point,
    StructuredArray,
    Yielding,
    constant,
    is_array,
    is_number,
    same,
)
from contad.engines.source.ir.ssa import BOOL, Call, SourceFunction, Value
from contad.engines.source.ir.tree_queries import key, nodes_in
from contad.engines.source.ir.walks import leaves, map_tree
from contad.engines.source.reading import class_instances, complex_calls, points, structured_arrays
from contad.engines.source.reading.bounded_buffers import BoundedBuffer, KeyedBuffer
from contad.engines.source.reading.call_site import METHODS, READERS, CallSite, is_none
from contad.engines.source.reading.declared_names import cast, cast_arguments, cast_declared
from contad.engines.source.reading.derivative_calls import read_asked, read_derivative, read_transform
from contad.engines.source.reading.exits import RESULT
from contad.engines.source.reading.made_functions import is_made, read_made
from contad.engines.source.reading.progress import Environment
from contad.engines.source.reading.reader import Reader
from contad.engines.source.reading.rule_calls import read_maker, read_rule
from contad.engines.source.reading.scope import Scope
from contad.engines.source.reading.short_lines import largest
from contad.engines.source.reading.tied_loops import TIED, is_tied_loop
from contad.errors import UnsupportedError
from contad.functions.python_copy import Flags, flags_of
from contad.functions.transformed import Decorated
from contad.functions.user_call import numba_function
from contad.kernels.array_loops import array_function_of, owns
from contad.numba_functions.asked_derivatives import AskedDerivative
from contad.rules.compilable import (
    ARRAY_FUNCTIONS,
    ArrayFunction,
    Compilable,
    MakesDerivatives,
    MakesRules,
    WithParts,
    WrittenOut,
    is_in_bodies,
)
from contad.rules.scalar_rule import ScalarRule

# functions whose argument may be a list display
_LISTED = (np.array, np.asarray, np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack, sum)
_AS_LOOP = 'write it as a loop over numbers, or use engine="tape"'
NEAR_THE_TOP = 3  # calls deep: a call that is the only one is inlined
ReadCallee = Callable[[Scope, Flags, tuple[Any, ...]], SourceFunction]  # reads a function that keeps its own derivative


def _as_tuple(node: ast.expr) -> ast.expr:
    """A list display, and nested ones, as tuples."""
    if not isinstance(node, ast.List):
        return node
    return ast.copy_location(ast.Tuple(list(map(_as_tuple, node.elts)), ast.Load()), node)


def _is_text(x: Any) -> bool:
    return isinstance(x, Object) and isinstance(x.value, str)


def _fix_flag(entry: Any) -> Any:
    """An argument; as an object if it is a known truth value, so that the callee has no branch for the other one."""
    is_known = isinstance(entry, Value) and entry.kind == BOOL and entry.constant is not None
    return Object(bool(entry.constant)) if is_known else entry


def _evaluate(function: Any, given: list[Any]) -> Value | None:
    """Constant folding: the value of a function of contad at constants; None unless it is a number."""
    constants = [x.value if isinstance(x, Object) else getattr(x, "constant", None) for x in given]
    if any(x is None or isinstance(x, np.ndarray) for x in constants):
        return None
    try:
        value = function(*constants)
    except ValueError:  # compiled code raises it
        return None
    return constant(float(value)) if isinstance(value, (float, np.floating)) else None


class CallReader:
    """Reads calls."""

    def __init__(self, reader: Reader, read_callee: ReadCallee) -> None:
        self.reader, self.read_callee = reader, read_callee
        self.builder, self.arrays, self.progress = reader.builder, reader.arrays, reader.progress

    def read(self, node: ast.Call, env: Environment) -> Any:
        """The result of a call."""
        called = self.reader.expression(node.func, env)
        site = self._read_arguments(called, node, env)
        self.progress.line = node.lineno
        if isinstance(called, Method):
            if complex_calls.concerns(called, site) and class_instances.class_of(called.array) is None:
                return complex_calls.read_method(site, called, self.library_function)
            return self.method(called, site)
        if isinstance(called, Local):
            return self.inline_local(called, site)
        if not isinstance(called, Object):
            site.refuse("the call {node} of something that is no function", "call a function that numba.njit made")
        function = called.value
        if isinstance(function, Decorated):
            function = numba_function(function.decorated)
        if isinstance(function, Compilable) and function.stands_for is not None:
            function = function.stands_for
        return self._user_function(function, site)

    def _read_arguments(self, called: Any, node: ast.Call, env: Environment) -> CallSite:
        """The call, with the entries of its arguments; starred tuples are unpacked."""
        arguments: list[Any] = []
        listed = isinstance(called, Object) and (is_in_bodies(called.value) or any(called.value is f for f in _LISTED))
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            with self.reader.forbid_writes(list(arguments), node):
                if isinstance(argument, ast.Starred):
                    parts = self.reader.expression(argument.value, env)
                    if not isinstance(parts, tuple):
                        self.reader.refuse(node, "the starred argument in {node}", "write the arguments out")
                    arguments += parts
                else:
                    arguments.append(self.reader.expression(_as_tuple(argument) if listed else argument, env))
        first = len(arguments) - len(node.keywords)
        keywords = {k.arg: arguments[first + n] for n, k in enumerate(node.keywords) if k.arg}
        if len(keywords) < len(node.keywords):
            self.reader.refuse(node, "the arguments of {node}", "write the keywords out")
        return CallSite(self.reader, node, arguments[:first], keywords, env)

    def _user_function(self, function: Any, site: CallSite) -> Any:
        """The result of a user function, or of one that contad has made for the user; else of a library function."""
        own = (
            is_dispatcher(function)
            or is_made(function)
            or (isinstance(function, type) and hasattr(function, "_fields"))
        )
        if isinstance(function, ScalarRule) and complex_calls.concerns(function, site):
            of_numpy = next((u for u in function.ufuncs if not isinstance(u, str)), function)
            function = holomorphic_parts(function) if function.holomorphic else of_numpy
        if not own and not isinstance(function, WithParts) and complex_calls.concerns(function, site):
            return complex_calls.read_call(site, function, self.library_function)
        if isinstance(function, MakesDerivatives):
            return read_transform(site, function)
        if isinstance(function, MakesRules):
            return read_maker(site, function)
        if isinstance(function, WrittenOut):
            return read_derivative(site, function)
        if isinstance(function, AskedDerivative):
            return read_asked(site, function)
        if is_dispatcher(function):
            return site.inline(function, site.arguments, site.keywords)
        if isinstance(getattr(function, "class_type", None), types.ClassType):
            return class_instances.make_instance(site, function.class_type)
        if is_made(function):
            return read_made(site, function)
        if isinstance(function, type) and issubclass(function, tuple) and hasattr(function, "_fields"):
            return self._make_named(function, site)
        if owns(function) or is_tied_loop(function) or function is largest:  # contad's bodies that call each other
            return site.inline(function, site.arguments, site.keywords)
        return self.library_function(function, site)

    def library_function(self, function: Any, site: CallSite) -> Any:
        """The result of a function of NumPy, Python or contad."""
        module = getattr(function, "__module__", "").partition(".")[0] if isinstance(function, FunctionType) else ""
        if module not in ("", "numpy", "numba") and function not in READERS:
            site.refuse(f"{function.__name__}, a plain Python function", "decorate it with numba.njit")
        try:
            special, whole = READERS.get(function), array_function_of(function)
        except TypeError:  # functions of ctypes are unhashable
            special = whole = None
        if special is not None:
            return special(site)
        if is_checkpoint(function) and site.only() is not None:
            return site.only()  # the function itself: the engine decides for the whole function what is stored
        if whole is not None:
            return self.in_loops(whole, site)
        if isinstance(function, WithParts):
            return read_rule(site, function)
        found = known_functions.function_of(function)
        if found is None:
            name = getattr(function, "__name__", function)
            if getattr(function, "__self__", None) is getattr(np.random.normal, "__self__", None) is not None:
                remedy = "multiply a draw with constant parameters; draws move with locations and scales alone"
                site.refuse("the draw {node} with parameters that vary", remedy)
            site.refuse(f"the call of {name!r}", _AS_LOOP)
        given = site.arguments
        if isinstance(function, np.ufunc) and len(given) == found.arity + 1 and not site.keywords:
            return site.compute_into(given[-1], site.compute_by(found, given[:-1]))
        if site.keywords or len(given) != found.arity:
            site.refuse(remedy="give the numbers only, by position")
        return site.compute_by(found, given)

    def _make_named(self, cls: Any, site: CallSite) -> Any:
        """An instance of a named-tuple class."""
        given = dict(zip(cls._fields, site.arguments, strict=False)) | site.keywords
        for name, value in cls._field_defaults.items():
            if name not in given:
                given[name] = self.reader.import_constant(value, site.node, name)
        if len(site.arguments) > len(cls._fields) or set(given) != set(cls._fields):
            site.refuse(f"the arguments of {cls.__name__}", "give every field once")
        return cls._make(self.reader.settle(given[name]) for name in cls._fields)

    # ---- functions of whole arrays -----------------------------------------------------------------------------------
    def in_loops(self, function: ArrayFunction, site: CallSite) -> Any:
        """A function of whole arrays, inlined as loops."""
        name, is_face = function.numpy.__name__, is_in_bodies(function)
        given = self._bind_whole(function, site, is_face)
        if is_face and (known_value := _evaluate(function, given)) is not None:
            return known_value
        by_number = False
        if any(isinstance(x, Point) for x in given):
            ndims = tuple(x.value if _is_text(x) else getattr(getattr(x, "kind", None), "ndim", 0) for x in given)
            by_number = function.body(ndims) is not None
            given = [points.element(self.arrays, x) if by_number else points.vector(x) for x in given]
        numbers = [x for x in given if not (_is_text(x) or (is_none(x) and not is_face))]
        known = all((is_number(x) or is_array(x)) and not x.kind.small for x in numbers)
        ndims = tuple(x.value if isinstance(x, Object) else x.kind.ndim for x in given) if known else ()
        body = function.body(ndims) if known else None
        # an integer result stays an integer; for constant data, the function itself runs
        if body is None or (not is_face and all(x.kind.base != "float" or self.arrays.is_constant(x) for x in numbers)):
            site.refuse(f"the call of {name!r}", _AS_LOOP)
        before = self.reader.state()
        try:
            with self.progress.standing(pinned=True):
                found = site.inline(body, given)
        except UnsupportedError:
            self.reader.return_to(before)
            site.refuse(f"the call of {name!r}", _AS_LOOP)
        if by_number and is_number(found) and not is_face:  # a 0-dimensional array in Numba
            return points.hold(self.arrays, found, found.kind.base)
        return found

    def _bind_whole(self, function: ArrayFunction, site: CallSite, is_face: bool) -> list[Any]:
        """The arguments up to the last given one, with defaults for those that are left out."""
        try:
            bound = function.signature.bind(*site.arguments, **site.keywords).arguments
        except TypeError:
            site.refuse()
        while bound and not is_face and is_none(bound[list(bound)[-1]]):  # None means left out
            bound.popitem()
        parameters = list(function.signature.parameters.items())
        count = max((k for k, (key, _) in enumerate(parameters) if key in bound), default=-1) + 1
        given = [
            bound[key] if key in bound else self.reader.import_constant(parameter.default, site.node, key)
            for key, parameter in parameters[:count]
        ]
        lists = (tuple, BoundedBuffer) if is_face else ()
        return [site.again(np.array, x) if isinstance(x, lists) else x for x in given]

    # ---- the user's functions ----------------------------------------------------------------------------------------
    def inline(
        self, dispatcher: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, caller: Environment
    ) -> Any:
        """Inline the body of a function under its own flags; functions of contad have no flags."""
        function = getattr(dispatcher, "py_func", dispatcher)
        if self.progress.at_ties and TIED.get(function, function) not in self.progress.inlining:
            function, dispatcher = TIED.get(function, function), TIED.get(function, dispatcher)
        if dispatcher not in self.progress.scopes:
            own = dispatcher if is_dispatcher(dispatcher) else None
            self.progress.scopes[dispatcher] = Scope(function, own, self.progress.scope.arrays)
        scope = self.progress.scopes[dispatcher]
        if function in self.progress.inlining:
            self.reader.refuse(node, f"the recursive function {function.__name__}", "write it as a loop")
        given = self.bind(scope, arguments, keywords, node)
        flags = flags_of(dispatcher, self.progress.flags)
        if scope.yields is not None:
            return Yielding(scope, flags, given, self.progress.loop_depth)
        same_flags = flags.fastmath == self.progress.flags.fastmath
        calls = self.progress.calling and not self._is_only_call(node)
        if not scope.starred and (calls or not same_flags):
            called = self.call_shared(scope, flags, given, node)
            if called is not None:
                return called
        self.progress.fastmath.append(flags.fastmath)
        with self.progress.standing(flags=flags):
            return self.write_in_place(scope, given, caller)

    def _is_only_call(self, node: ast.AST) -> bool:
        """Whether a function near the top calls another one nowhere else, so that its copy is the only one."""
        if self.progress.is_callee or not isinstance(node, ast.Call) or len(self.progress.inlining) > NEAR_THE_TOP:
            return False
        called = key(node.func)
        calls = [x for s in self.progress.scope.body for x in nodes_in(s) if isinstance(x, ast.Call)]
        return sum(key(x.func) == called for x in calls) <= 1

    def call_shared(self, scope: Scope, flags: Flags, given: Environment, node: ast.AST) -> Any:
        """The result of a function that keeps its own derivative; None if it has to be inlined."""
        arguments = tuple(_fix_flag(given[name]) for name in scope.names)
        kinds = kinds_of(arguments)
        callee = None if kinds is None else self.callee(scope, flags, kinds)
        if callee is None or (callee.is_inlined and flags.fastmath == self.progress.flags.fastmath):
            return None
        inputs = [x for x in leaves(arguments) if isinstance(x, Value)]
        inputs += [self.reader.capture_array(array, node, name) for name, array in callee.captured.items()]
        results = [Value(output.kind) for output in callee.outputs]
        self.builder.add(Call(callee, inputs, results))
        following = iter(results)
        return map_tree(callee.function.returned, lambda _: next(following))

    def callee(self, scope: Scope, flags: Flags, kinds: tuple[Any, ...]) -> Callee | None:
        """A callee for arguments of these kinds, read once; None if the function has to be inlined."""
        key = scope.dispatcher or scope.function, flags, key_of(kinds)
        if key not in self.progress.callees:
            try:
                found = callee_of(self.read_callee(scope, flags, kinds))
            except UnsupportedError:  # inlining may succeed with known arguments, or give the reason
                found = None
            self.progress.callees[key] = found
        return self.progress.callees[key]

    def inline_local(self, called: Local, site: CallSite) -> Any:
        """Inline the body of a nested function."""
        scope, arguments, keywords = called.scope, site.arguments, site.keywords
        if self.progress.scope is not scope.outside:
            site.refuse(f"the function {scope.place.function}, handed to another", "call it where it is made")
        names = {name: site.env[name] for name in scope.free if name in site.env}
        if any(not same(x, called.names.get(name)) for name, x in names.items()):
            site.refuse("a function whose captured names have changed since", "pass them as arguments")
        if scope.function in self.progress.inlining:
            site.refuse(f"the recursive function {scope.place.function}", "write it as a loop")
        if called.defaults and len(arguments) < scope.positional:
            if keywords or len(arguments) != scope.positional - len(called.defaults):
                what = "{node}, which leaves out some defaults, of which Numba takes wrong ones"
                site.refuse(what, "give all of them or none, by position")
            keywords = called.defaults
        given = self.bind(scope, arguments, keywords, site.node)
        return self.write_in_place(scope, names | given, site.env)

    def bind(self, scope: Scope, arguments: list[Any], keywords: dict[str, Any], node: ast.AST) -> Environment:
        """The entries of the parameters of a function, in order."""
        name = scope.place.function
        given = dict(zip(scope.names[: scope.positional], arguments, strict=False)) | keywords
        for parameter, value in scope.defaults().items():
            if parameter not in given:
                given[parameter] = self.reader.import_constant(value, node, parameter)
        rest = arguments[scope.positional :]
        if (rest and not scope.starred) or set(given) != set(scope.names):
            self.reader.refuse(node, f"the arguments of {name}", "give every argument once")
        if scope.starred:
            given[scope.starred] = tuple(self.reader.settle(x) for x in rest)
        given = {key: self.reader.settle(x) for key, x in given.items()}
        return {**given, **cast_arguments(self.builder, scope.dispatcher, scope.names, given)[0]}

    def write_in_place(self, scope: Scope, env: Environment, caller: Environment) -> Any:
        """Inline the statements of a function, in a new environment."""
        _, returned = cast_arguments(self.builder, scope.dispatcher, scope.names, env)
        env = cast_declared(self.builder, scope, env)
        line, inlining = self.progress.line, (*self.progress.inlining, scope.function)
        with self.progress.standing(scope=scope, inlining=inlining):
            self.progress.frames.append(caller)
            self.reader.statements(scope.body, env)
            self.progress.frames.pop()
            result = cast(self.builder, scope.dispatcher, "the result", env.get(RESULT, Object(None)), returned)
        self.progress.line = line
        return result

    # ---- methods -----------------------------------------------------------------------------------------------------
    def method(self, method: Method, site: CallSite) -> Any:
        """The result of a method call."""
        called, name, arguments, arrays = method.array, method.name, site.arguments, self.arrays
        if class_instances.class_of(called) is not None:
            return class_instances.call_method(site, method)
        if isinstance(called, StructuredArray) and not arguments:
            return structured_arrays.copy_structured(self.reader, called)
        if isinstance(called, (BoundedBuffer, KeyedBuffer)):
            return called.call(name, [*arguments, *site.keywords.values()], site.node)
        if name == "item" and not arguments and not site.keywords and (is_number(called) or isinstance(called, Point)):
            return points.element(arrays, called)
        as_function = site.with_arguments(called, *arguments, **site.keywords)
        if name in METHODS:
            return METHODS[name](as_function)
        if site.keywords:
            site.refuse(f"keyword arguments of .{name}", "call the function of NumPy, or write a loop")
        if name == "sort" and not arguments and isinstance(called, Value):
            arrays.fill(called, self.in_loops(ARRAY_FUNCTIONS[np.sort], as_function), site.node)
            return Object(None)
        function = ARRAY_FUNCTIONS.get(getattr(np, name, None)) if name != "sort" else None
        if function is not None:
            return self.in_loops(function, as_function)
        return site.refuse(f"the array method .{name}", "write it as a loop")
