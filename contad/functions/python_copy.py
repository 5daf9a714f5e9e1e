"""The Python function behind a Numba dispatcher, rewritten so that eager engines can run it on variables.

The copy reads globals and captured values as Numba freezes them. `math` and `np` resolve through contad (math.exp is
ops.exp, np.zeros makes an array that can hold variables), and njit callees are rewritten likewise. Division follows the
dispatcher's error model, and powers give nan and inf where Python's would raise or turn complex. The user's function is
not touched.
"""

import ast
import builtins
import inspect
import linecache
import math
import operator
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from contad import ops
from contad.compile.dispatchers import declared_names, is_dispatcher
from contad.errors import LostDerivativeError, UnsupportedError
from contad.functions.declared_types import NameCasts, cast_of_values, with_signature
from contad.functions.object_arrays import OF_OBJECTS
from contad.rules.definition import captured_values, definition_of, factory_of, global_names, without_annotations
from contad.rules.scalar_rule import rule_of_ufunc, rules
from contad.variables.array import Array, as_objects, numbers_in, root_of
from contad.variables.creation import to_varmat
from contad.variables.number import Number, observe, peek
from contad.variables.open_types import ArrayValue, Function, Key, Nested, NumbaFunction, Option, Real, Rule, Value
from contad.variables.stack import attempt

NOT_COPIED = "njit of a lambda or an expression is not rewritten"  # the text of a refusal to make a copy

_OPERATIONS = {ast.Div: "true_divide", ast.FloorDiv: "floor_divide", ast.Mod: "remainder", ast.Pow: "power"}
_PLAIN_OPERATIONS = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply"}  # as Python's, but in place
_COMPUTED = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.Compare, ast.BoolOp)  # nodes that make a new array or number


class Flags(NamedTuple):
    """The options of a Numba function that change its results."""

    error_model: str = "python"  # x / 0 raises; "numpy": it is inf or nan
    fastmath: bool | set[str] = False  # True, or a set of the permissions it gives
    boundscheck: bool = False  # an index out of range raises
    parallel: bool = False  # iterations of prange may run at the same time
    parallel_arrays: bool = False  # and so may elements in statements on whole arrays


def flags_of(f: NumbaFunction, caller: Flags = Flags()) -> Flags:  # noqa: B008  (an immutable tuple)
    """The flags of a Numba function. Flags that it does not set are the caller's, as in Numba, except checks and
    threads."""
    options = getattr(f, "targetoptions", {})
    fastmath = options.get("fastmath", caller.fastmath)
    if isinstance(fastmath, (set, frozenset)):
        fastmath = frozenset(fastmath)
    parallel = options.get("parallel")
    chosen = parallel if isinstance(parallel, dict) else dict.fromkeys(("prange", "numpy", "reduction"), bool(parallel))
    loops, *arrays = (bool(chosen.get(name, True)) for name in ("prange", "numpy", "reduction"))
    error_model = options.get("error_model", caller.error_model)
    return Flags(error_model, fastmath or False, bool(options.get("boundscheck")), loops, all(arrays))


def python_twin(
    f: NumbaFunction, made: dict[Any, Any] | None = None, caller: Flags = Flags()  # noqa: B008
) -> Function:  # fmt: skip
    """A Python function that computes the same as the dispatcher f, on numbers of any kind.

    Raises UnsupportedError if the source of f, or of an njit function that it calls, cannot be read.
    """
    made = {} if made is None else made
    flags = flags_of(f, caller)
    key = id(f), flags.error_model
    if key in made:
        return made[key]
    function = f.py_func
    code = function.__code__
    error_model = flags.error_model
    twin_globals: dict[str, Any] = {"__builtins__": builtins, "__name__": function.__module__}
    casts = {name: cast_of_values(f, name, t) for name, t in declared_names(f).items()}
    try:
        factory = _compile_factory(function, code, list(casts))
    except RecursionError:
        place = f"{code.co_filename}:{code.co_firstlineno}"
        raise UnsupportedError(
            f"{place}: {function.__name__} is nested too deeply, as by an elif after many; split it into functions"
        ) from None
    exec(factory, twin_globals)

    # A recursive function needs itself while it is being made.
    made[key] = lambda *args, **kwargs: twin(*args, **kwargs)  # noqa: PLW0108  (twin is bound below)
    captured = {name: _translate(value, made, flags) for name, value in captured_values(function).items()}
    names = global_names(code)
    for name in names & function.__globals__.keys():
        twin_globals[name] = _translate(function.__globals__[name], made, flags)
    own = names - function.__globals__.keys()
    twin_globals |= {name: _BUILTINS[name] for name in _BUILTINS.keys() & own}
    twin_globals |= {f"__contad_cast_{name}": cast for name, cast in casts.items()}
    twin_globals["__contad_key"] = np.s_
    twin_globals["__contad_store"] = _store
    twin_globals["__contad_truth"] = _truth
    twin_globals["__contad_invert"] = _invert
    twin_globals["__contad_as_type"] = _as_type
    for name in _OPERATIONS.values():
        operate: Callable[[Value, Value], Value] = _power
        element: Callable[[Value, Value], Value] = _power
        if name != "power":  # array elements never raise
            operate, element = (_division(getattr(np, name), model) for model in (error_model, "numpy"))
        twin_globals[f"__contad_{name}"] = operate
        twin_globals[f"__contad_{name}_in_place"] = _in_place(operate, element)
        twin_globals[f"__contad_{name}_at"] = _at(operate, element)
    for name in _PLAIN_OPERATIONS.values():
        twin_globals |= _PLAIN_IN_PLACE[name]
    twin: Function = twin_globals["__contad_factory"](*(captured.get(name) for name in code.co_freevars))
    twin.__defaults__ = function.__defaults__
    twin.__kwdefaults__ = function.__kwdefaults__
    twin = with_signature(f, twin)
    made[key] = twin
    return twin


def _compile_factory(function: Function, code: types.CodeType, casts: list[str]) -> types.CodeType:
    """A function of the captured values that returns the rewritten function, compiled with the user's lines.

    `casts` are the names with declared types.
    """
    try:
        definition, start = definition_of(function)
    except OSError:
        raise UnsupportedError(
            f"{code.co_filename}:{code.co_firstlineno}: the source of the njit function {function.__name__} cannot be "
            "read; define it in a file, or differentiate a plain Python function"
        ) from None
    if not isinstance(definition, ast.FunctionDef):
        raise UnsupportedError(f"{code.co_filename}:{start}: {NOT_COPIED}; write it as a function")
    line = linecache.getline(code.co_filename, start)
    _indent(definition, len(line) - len(line.lstrip()))
    casting = NameCasts({name: f"__contad_cast_{name}" for name in casts})
    definition = casting.function(without_annotations(definition))
    _Operations().visit(definition)
    return compile(factory_of(definition, "__contad_factory", code.co_freevars), code.co_filename, "exec")


def _indent(definition: ast.AST, columns: int) -> None:
    """Make compiled code of a definition report positions in the lines of its file."""
    for node in ast.walk(definition):
        if hasattr(node, "col_offset"):
            node.col_offset += columns
            node.end_col_offset += columns  # type: ignore[attr-defined]


class _Operations(ast.NodeTransformer):
    """Replaces / // % **, ~ and comparisons by calls, so that they can follow Numba where Python differs."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if type(node.op) not in _OPERATIONS:
            return node
        return self._call(node, "", node.left, node.right)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(ast.Call(ast.Name("__contad_truth", ast.Load()), [node], []), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Invert):
            return node
        return ast.copy_location(ast.Call(ast.Name("__contad_invert", ast.Load()), [node.operand], []), node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        target = node.targets[0]
        if len(node.targets) > 1 or not isinstance(target, ast.Subscript):
            return node
        key = ast.Subscript(ast.Name("__contad_key", ast.Load()), target.slice, ast.Load())
        store = ast.Call(ast.Name("__contad_store", ast.Load()), [node.value, target.value, key], [])
        return ast.copy_location(ast.Expr(store), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        target = node.target
        plain = type(node.op) in _PLAIN_OPERATIONS and isinstance(node.value, _COMPUTED)  # nothing can overlap
        if plain or type(node.op) not in _OPERATIONS | _PLAIN_OPERATIONS or isinstance(target, ast.Attribute):
            return node
        if isinstance(target, ast.Name):
            call = self._call(node, "_in_place", ast.Name(target.id, ast.Load()), node.value)
            return ast.copy_location(ast.Assign([target], call), node)
        # a[i] /= x evaluates a and i once
        key: ast.expr = target.slice
        if any(isinstance(part, ast.Slice) for part in ast.walk(key)):
            key = ast.Subscript(ast.Name("__contad_key", ast.Load()), key, ast.Load())
        return ast.copy_location(ast.Expr(self._call(node, "_at", target.value, key, node.value)), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
            convert = ast.copy_location(ast.Name("__contad_as_type", ast.Load()), node)
            return ast.copy_location(ast.Call(convert, [node.func.value, *node.args], node.keywords), node)
        return node

    def _call(self, node: ast.BinOp | ast.AugAssign, kind: str, *arguments: ast.expr) -> ast.expr:
        name = (_OPERATIONS | _PLAIN_OPERATIONS)[type(node.op)]
        function = ast.Name(f"__contad_{name}{kind}", ast.Load())
        return ast.copy_location(ast.Call(function, list(arguments), []), node)


def _truth(z: Value) -> Value:
    """A comparison of numbers as in Numba, which gives a bool also for array elements."""
    return bool(z) if z.__class__ is np.bool_ else z


def _invert(x: Value) -> Value:
    """~x, which negates a bool in Numba."""
    return not x if x.__class__ is bool else ~x


def _store(x: Value, a: Value, key: Key) -> None:
    """a[key] = x; NumPy does not take an array variable apart when it assigns to an object array."""
    a[key] = as_objects(x) if isinstance(x, Array) and isinstance(a, np.ndarray) else x


def _as_type(x: Value, dtype: Option) -> Value:
    """x.astype(dtype); an object array of variables stays one if dtype is float."""
    if np.dtype(dtype) == object:  # the dtype of an array made here
        dtype = np.float64
    if not _holds_objects(x):
        return x.astype(dtype)
    return x.copy() if np.dtype(dtype).kind == "f" else np.vectorize(peek, [object])(x).astype(float).astype(dtype)


def _division(ufunc: np.ufunc, error_model: str) -> Callable[[Value, Value], Value]:
    def divide(x: Value, y: Value) -> Value:
        if isinstance(x, _ARRAYS) or isinstance(y, _ARRAYS):  # the default error model does not raise for arrays
            return _on_elements(compute, x, y) if _holds_objects(x) or _holds_objects(y) else compute(x, y)
        if error_model == "python" and observe(operator.eq, y, 0):
            raise ZeroDivisionError("division by zero")
        if isinstance(x, int) and isinstance(y, int) and ufunc is not np.true_divide and y:
            return x // y if ufunc is np.floor_divide else x % y  # counters stay Python integers
        return compute(x, y)

    def compute(x: Value, y: Value) -> Value:
        with np.errstate(all="ignore"):
            z = ufunc(x, y)
        return float(z) if isinstance(z, np.floating) else z

    return divide


def _power(x: Value, y: Value) -> Value:
    if _holds_objects(x) or _holds_objects(y):
        return _on_elements(_power, x, y)
    if isinstance(x, float) or isinstance(y, float):
        if isinstance(x, (float, int)) and isinstance(y, (float, int)):
            return ops.power.evaluate(float(x), float(y))
    return x**y


_ARRAYS = (np.ndarray, Array)


def _holds_objects(x: Value) -> bool:
    """Whether x is an object array: its floats are Python's, which raise instead of giving inf or nan."""
    return isinstance(x, np.ndarray) and x.dtype == object


def _on_elements(operate: Callable[[Value, Value], Value], x: Value, y: Value) -> ArrayValue:
    """operate(x, y), element by element; an array variable is taken apart, and no variable sees the ufunc."""
    given = [as_objects(a) if isinstance(a, (Array, Number)) else a for a in (x, y)]
    with np.errstate(all="ignore"):
        return np.frompyfunc(operate, 2, 1)(*given)


def _in_place(
    operate: Callable[[Value, Value], Value],
    element: Callable[[Value, Value], Value],
    update: Callable[[Value, Value], Value] | None = None,
) -> Function:
    """x op= y for a name: it writes to an array, so that other holders of the array see the change.

    `element` is the operation on two array elements, `update` Python's own in-place operation.
    """

    def in_place(x: Value, y: Value) -> Value:
        if not isinstance(x, (np.ndarray, Array)):
            return operate(x, y)
        if isinstance(y, (np.ndarray, Array)) and y.ndim and _overlaps(x, y):
            return _one_by_one(element, x, y)
        if update is not None:
            return update(x, y)
        x[...] = operate(x, y)
        return x

    return in_place


def _one_by_one(operate: Callable[[Value, Value], Value], x: Value, y: Value) -> ArrayValue:
    """x op= y as in Numba: it writes each element before it reads the next, whereas NumPy first copies y."""
    if np.broadcast_shapes(x.shape, y.shape) != x.shape:
        raise ValueError(f"operands could not be broadcast together with shapes {x.shape} {y.shape}")
    missing = (0,) * (x.ndim - y.ndim)
    for k in np.ndindex(x.shape):
        at = (*missing, *k)[2 * len(missing) :]
        x[k] = operate(x[k], y[tuple(0 if n == 1 else i for n, i in zip(y.shape, at, strict=True))])
    return x


def _overlaps(x: Value, y: Value) -> bool:
    """Whether two arrays may be different parts of one array."""
    if x is y:
        return False
    if isinstance(x, Array) or isinstance(y, Array):
        # compares roots of array variables; a variable and an ndarray share nothing
        return isinstance(x, Array) and isinstance(y, Array) and root_of(x) is root_of(y)
    if not np.may_share_memory(x, y):
        return False
    a, b = x.__array_interface__, y.__array_interface__
    return (a["data"], x.strides, x.shape) != (b["data"], y.strides, y.shape)


def _at(*operations: Callable[[Value, Value], Value]) -> Callable[[ArrayValue, Key, Value], None]:
    """a[key] op= y."""
    in_place = _in_place(*operations)

    def at(a: Value, key: Key, y: Value) -> None:
        a[key] = in_place(a[key], y)

    return at


_PLAIN_IN_PLACE = {  # name -> callee of the rewritten function
    name: {f"__contad_{name}_in_place": _in_place(*both), f"__contad_{name}_at": _at(*both)}
    for name, both in {
        "add": (operator.iadd, operator.add, operator.iadd),
        "subtract": (operator.isub, operator.sub, operator.isub),
        "multiply": (operator.imul, operator.mul, operator.imul),
    }.items()
}


class _FloatType(type):
    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, (float, Number))

    def __call__(cls, x: Value = 0.0) -> Real:
        return x if isinstance(x, (Number, Array)) else float(x)


class _Float(metaclass=_FloatType):
    """`float` and `np.float64` as a rewritten function sees them: a conversion, a type to test for, and a dtype."""

    dtype = np.dtype(float)


def _type_of(x: object) -> type:
    """`type(x)`: for floats and variables, the `float` of the rewritten function."""
    return _Float if isinstance(x, (Number, float)) else type(x)


_BUILTINS: dict[str, Any] = {"float": _Float, "type": _type_of}


class _UsersModule:
    """A user's module as a rewritten function sees it, with its njit functions rewritten, too."""

    def __init__(self, module: types.ModuleType, made: dict[Any, Any], caller: Flags) -> None:
        self._module, self._made, self._caller = module, made, caller

    def __getattr__(self, name: str) -> Any:
        return _translate(getattr(self._module, name), self._made, self._caller)


class _Module:
    """`math` or `numpy` as a rewritten function sees it: contad's operations first."""

    def __init__(self, module: types.ModuleType, replaced: dict[str, Any]) -> None:
        self._module = module
        self._replaced = replaced

    def __getattr__(self, name: str) -> Any:
        try:
            return self._replaced[name]
        except KeyError:
            return _of_numpy(getattr(self._module, name))


def _creation(name: str) -> Function:
    """np.zeros and its kin with room for variables: float arrays become object arrays of floats."""
    create = getattr(np, name)

    def make(*args: Nested, **kwargs: Nested) -> ArrayValue:
        return assignable(_of_doubles(create(*args, **kwargs)))

    return make


def _of_doubles(x: Value) -> Value:
    """An array that a rewritten function has made; refused if it rounds the values written into it."""
    if x.dtype.kind == "f" and x.dtype != float:
        frame = sys._getframe(2)
        raise UnsupportedError(
            f"{frame.f_code.co_filename}:{frame.f_lineno}: an array of {x.dtype} rounds what is written into it, which "
            "a Python copy does not follow; make it an array of float64"
        )
    return x


def _creation_like(name: str) -> Function:
    create = getattr(np, name)

    def make(x: Value, *args: Nested, **kwargs: Nested) -> ArrayValue:
        floats = isinstance(x, Number) or x.dtype == object
        return assignable(_of_doubles(create(np.empty(np.shape(x)) if floats else x, *args, **kwargs)))

    return make


def _as_array(x: object, dtype: Option = None) -> ArrayValue:
    """np.asarray, which returns an array itself."""
    if not isinstance(x, (Array, np.ndarray)):
        return _NUMPY["array"](x, dtype)
    own = np.dtype(float) if _holds_objects(x) or isinstance(x, Array) else x.dtype
    return x if dtype is None or np.dtype(dtype) == own else assignable(_as_type(x, dtype))


def _in_memory_order(order: str) -> Callable[[Value], Value]:
    """np.ascontiguousarray and np.asfortranarray: a copy if the array has another order."""
    function: Callable[[Value], Value] = np.ascontiguousarray if order == "C" else np.asfortranarray

    def reorder(x: Value) -> ArrayValue:
        if not isinstance(x, Array):
            return function(x)
        return x if peek(x).flags[f"{order}_CONTIGUOUS"] else x.copy(order)

    return reorder


def _full(shape: int | tuple[int, ...], fill_value: Real, dtype: Option = None) -> ArrayValue:
    if not isinstance(fill_value, Number):
        return assignable(_of_doubles(np.full(shape, fill_value, dtype)))
    array = np.empty(shape, object)
    array.fill(fill_value)
    return array


def _full_like(x: Value, fill_value: Real, dtype: Option = None) -> ArrayValue:
    return _full(np.shape(x), fill_value, dtype or (None if x.dtype == object else x.dtype))


def assignable(x: Value) -> ArrayValue:
    """A float array as an object array, which can hold variables; anything else unchanged."""
    return x.astype(object) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x


def _ufunc(ufunc: np.ufunc, found: Rule) -> Function:
    """A ufunc that takes object arrays with floats and variables, as its rule does."""

    def apply(*args: Nested, **options: Nested) -> Value:
        mixed = any(isinstance(x, np.ndarray) and x.dtype == object for x in args)
        return found(*args) if mixed and not options and len(args) == found.arity else ufunc(*args, **options)

    return apply


def _of_numpy(value: Any) -> Any:
    """NumPy's value of a name without a rule; its functions take the arrays of a rewritten function."""
    if value is np.linalg:
        return _Module(np.linalg, {})
    numpys = str(getattr(value, "__module__", None)).startswith("numpy")
    return _of_any_array(value) if isinstance(value, np.ufunc) or (inspect.isroutine(value) and numpys) else value


def _of_any_array(function: Function) -> Function:
    """A function that is called again with whole arrays if NumPy does not compute it for objects.

    Its results can hold variables.
    """

    def make(*args: Nested, **options: Nested) -> ArrayValue:
        if not any(_holds_objects(x) for x in (*args, *options.values())):
            return function(*args, **options)
        try:
            with attempt():
                return function(*args, **options)
        except (TypeError, AttributeError, LostDerivativeError, UnsupportedError):  # NumPy's for floats, and contad's
            return function(*map(_whole, args), **{key: _whole(x) for key, x in options.items()})

    def apply(*args: Nested, **options: Nested) -> Value:
        z = make(*args, **options)
        if isinstance(z, tuple):
            return type(z)(*map(_with_room, z)) if hasattr(z, "_fields") else tuple(map(_with_room, z))
        return _with_room(z)

    return apply


def _with_room(x: Value) -> Value:
    return assignable(x) if isinstance(x, np.ndarray) and x.dtype == float else x


def _whole(x: Value) -> Value:
    if not isinstance(x, np.ndarray) or x.dtype != object:
        return x
    return to_varmat(x) if numbers_in(x) else x.astype(float)


def _on_primals(function: Callable[[float], int]) -> Callable[[Real], Any]:
    """A function whose result carries no derivative."""
    return lambda x: observe(function, x)


def _test(name: str) -> Function:
    """A test of floats, which NumPy lacks for object arrays; for a number it gives a bool, as in Numba."""
    function = getattr(np, name)
    of_element = np.frompyfunc(_on_primals(function), 1, 1)
    return lambda x: of_element(x).astype(bool) if _holds_objects(x) else _truth(function(x))


MATH: dict[str, Function] = {r.math: r for r in rules() if r.math}  # function of `math` -> contad's
MATH.update({name: _on_primals(getattr(math, name)) for name in ("floor", "ceil", "trunc")})
MATH.update({name: _on_primals(getattr(math, name)) for name in ("isnan", "isinf", "isfinite")})
_NUMPY: dict[str, Any] = {
    name: _creation(name) for name in ("zeros", "ones", "empty", "array", "linspace", "copy", "eye", "identity")
}
_NUMPY.update({f"{name}_like": _creation_like(f"{name}_like") for name in ("zeros", "ones", "empty")})
_NUMPY.update({"full": _full, "full_like": _full_like, "float64": _Float})
_NUMPY.update(dict.fromkeys(("asarray", "asarray_chkfinite"), _as_array))
_NUMPY.update({"ascontiguousarray": _in_memory_order("C"), "asfortranarray": _in_memory_order("F")})
_NUMPY.update({name: _test(name) for name in ("isnan", "isinf", "isfinite", "signbit")})
for _name, _value in vars(np).items():
    if isinstance(_value, np.ufunc) and (_rule := rule_of_ufunc(_value)) is not None and _rule.operator is None:
        _NUMPY[_name] = _ufunc(_value, _rule)
_NUMPY.update(OF_OBJECTS)
_REPLACED = {id(getattr(math, name)): value for name, value in MATH.items() if hasattr(math, name)}
_REPLACED.update({id(getattr(np, name)): value for name, value in _NUMPY.items()})


_LIBRARIES = frozenset(("numpy", "math", "cmath", "scipy", "numba", "contad", *sys.stdlib_module_names))


def _translate(value: Any, made: dict[Any, Any], caller: Flags) -> Any:
    """A global or captured value as the rewritten function sees it."""
    if value is math:
        return _Module(math, MATH)
    if value is np:
        return _Module(np, _NUMPY)
    if is_dispatcher(value):
        return python_twin(value, made, caller)
    if isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] not in _LIBRARIES:
        return _UsersModule(value, made, caller)
    return _REPLACED[id(value)] if id(value) in _REPLACED else _of_numpy(value)
