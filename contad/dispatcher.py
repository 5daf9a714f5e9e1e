"""The Python function behind a Numba dispatcher, rewritten so that eager engines can run it on variables.

Globals and captured values are read as Numba freezes them. `math` and `np` resolve through contad (math.exp is ops.exp,
np.zeros makes an array that can hold variables), njit callees are rewritten likewise, division follows the dispatcher's
error model, and powers give nan and inf where Python's raise or turn complex. The user's function is not touched.
"""

import ast
import builtins
import inspect
import math
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from contad import ops
from contad.array_base import Array, as_objects, numbers_in
from contad.creation import to_varmat
from contad.definition import definition_of
from contad.errors import UnsupportedError
from contad.number import Number, observed
from contad.rule import rule_of_ufunc

_OPERATIONS = {ast.Div: "true_divide", ast.FloorDiv: "floor_divide", ast.Mod: "remainder", ast.Pow: "power"}


def is_dispatcher(f: Any) -> bool:
    """Whether f was made by numba.njit or numba.jit."""
    return hasattr(f, "py_func") and hasattr(f, "targetoptions") and type(f).__module__.startswith("numba.")


def python_twin(f: Any, made: dict[int, Any] | None = None) -> Callable[..., Any]:
    """A Python function that computes what the dispatcher f computes, on numbers of any kind.

    Raises UnsupportedError where the source of f, or of an njit function it calls, cannot be read.
    """
    made = {} if made is None else made
    if id(f) in made:
        return made[id(f)]
    function = f.py_func
    code = function.__code__
    error_model = f.targetoptions.get("error_model", "python")
    twin_globals: dict[str, Any] = {"__builtins__": builtins, "__name__": function.__module__}
    factory = _compiled_factory(function, code)
    exec(factory, twin_globals)

    # A recursive function meets itself while it is being made.
    made[id(f)] = lambda *args, **kwargs: twin(*args, **kwargs)  # noqa: PLW0108  (twin is bound below)
    closure = inspect.getclosurevars(function)
    captured = {name: _translated(value, made) for name, value in closure.nonlocals.items()}
    names = global_names(code)
    for name in names & function.__globals__.keys():
        twin_globals[name] = _translated(function.__globals__[name], made)
    if "float" in names and "float" not in function.__globals__:
        twin_globals["float"] = _Float
    twin_globals["__contad_key"] = np.s_
    twin_globals["__contad_store"] = _store
    for name in _OPERATIONS.values():
        operate = _power if name == "power" else _division(getattr(np, name), error_model)
        twin_globals[f"__contad_{name}"] = operate
        twin_globals[f"__contad_{name}_in_place"] = _in_place(operate)
        twin_globals[f"__contad_{name}_at"] = _at(operate)
    twin: Callable[..., Any] = twin_globals["__contad_factory"](*(captured.get(name) for name in code.co_freevars))
    twin.__defaults__ = function.__defaults__
    twin.__kwdefaults__ = function.__kwdefaults__
    made[id(f)] = twin
    return twin


def _compiled_factory(function: Any, code: types.CodeType) -> types.CodeType:
    """A function of the captured values that returns the rewritten function, compiled with the user's lines."""
    try:
        definition, start = definition_of(function)
    except OSError:
        raise UnsupportedError(
            f"{code.co_filename}:{code.co_firstlineno}: the source of the njit function {function.__name__} cannot be "
            "read; define it in a file, or differentiate a plain Python function"
        ) from None
    if not isinstance(definition, ast.FunctionDef):
        raise UnsupportedError(
            f"{code.co_filename}:{start}: njit of a lambda or an expression is not rewritten; write it as a function"
        )
    definition.returns = None  # annotations are not compiled, so their names need not be known
    for argument in ast.walk(definition.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    definition.args.defaults = [ast.Constant(None) for _ in definition.args.defaults]
    definition.args.kw_defaults = [ast.Constant(None) for _ in definition.args.kw_defaults]
    _Operations().visit(definition)
    factory = ast.parse(f"def __contad_factory({', '.join(code.co_freevars)}):\n    return {definition.name}").body[0]
    assert isinstance(factory, ast.FunctionDef)
    factory.body.insert(0, definition)
    module = ast.Module([factory], [])
    ast.fix_missing_locations(module)
    return compile(module, code.co_filename, "exec")


class _Operations(ast.NodeTransformer):
    """Replaces / // % ** by calls, so that they can follow Numba where Python does otherwise."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if type(node.op) not in _OPERATIONS:
            return node
        return self._call(node, "", node.left, node.right)

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
        if type(node.op) not in _OPERATIONS or isinstance(target, ast.Attribute):
            return node
        if isinstance(target, ast.Name):
            call = self._call(node, "_in_place", ast.Name(target.id, ast.Load()), node.value)
            return ast.copy_location(ast.Assign([target], call), node)
        # a[i] /= x evaluates a and i once
        key = ast.Subscript(ast.Name("__contad_key", ast.Load()), target.slice, ast.Load())
        return ast.copy_location(ast.Expr(self._call(node, "_at", target.value, key, node.value)), node)

    def _call(self, node: ast.BinOp | ast.AugAssign, kind: str, *arguments: ast.expr) -> ast.expr:
        function = ast.Name(f"__contad_{_OPERATIONS[type(node.op)]}{kind}", ast.Load())
        return ast.copy_location(ast.Call(function, list(arguments), []), node)


def _store(x: Any, a: Any, key: Any) -> None:
    """a[key] = x; NumPy does not take an array variable apart for an object array."""
    a[key] = as_objects(x) if isinstance(x, Array) and isinstance(a, np.ndarray) else x


def _division(ufunc: Any, error_model: str) -> Callable[[Any, Any], Any]:
    def divide(x: Any, y: Any) -> Any:
        if (
            error_model == "python"
            and not isinstance(y, np.ndarray)
            and not isinstance(x, np.ndarray)
            and observed(operator.eq, y, 0)
        ):
            raise ZeroDivisionError("division by zero")
        if isinstance(x, int) and isinstance(y, int) and ufunc is not np.true_divide and y:
            return x // y if ufunc is np.floor_divide else x % y  # counters stay Python integers
        with np.errstate(all="ignore"):
            z = ufunc(x, y)
        return float(z) if isinstance(z, np.floating) else z

    return divide


def _power(x: Any, y: Any) -> Any:
    if isinstance(x, float) or isinstance(y, float):
        if isinstance(x, (float, int)) and isinstance(y, (float, int)):
            return ops.power.evaluate(float(x), float(y))
    return x**y


def _in_place(operate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """x op= y for a name: an array is written, so that whoever else holds it sees the change."""

    def update(x: Any, y: Any) -> Any:
        if not isinstance(x, (np.ndarray, Array)):
            return operate(x, y)
        x[...] = operate(x, y)
        return x

    return update


def _at(operate: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Any], None]:
    """a[key] op= y."""

    def update(a: Any, key: Any, y: Any) -> None:
        a[key] = operate(a[key], y)

    return update


class _FloatType(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, (float, Number))

    def __call__(cls, x: Any = 0.0) -> Any:
        return x if isinstance(x, Number) else float(x)


class _Float(metaclass=_FloatType):
    """`float` and `np.float64` as a rewritten function sees them: a conversion, a type to test for, and a dtype."""

    dtype = np.dtype(float)


def global_names(code: types.CodeType) -> set[str]:
    """The names a function and the functions inside it may look up."""
    names = set(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            names |= global_names(inner)
    return names


class _Module:
    """`math` or `numpy` as a rewritten function sees it: contad's operations first."""

    def __init__(self, module: types.ModuleType, replaced: dict[str, Any]) -> None:
        self._module = module
        self._replaced = replaced

    def __getattr__(self, name: str) -> Any:
        try:
            return self._replaced[name]
        except KeyError:
            return getattr(self._module, name)


def _creation(name: str) -> Callable[..., Any]:
    """np.zeros and its kin with room for variables: float arrays become object arrays of floats."""
    create = getattr(np, name)

    def made(*args: Any, **kwargs: Any) -> Any:
        return assignable(create(*args, **kwargs))

    return made


def _creation_like(name: str) -> Callable[..., Any]:
    create = getattr(np, name)

    def made(x: Any, *args: Any, **kwargs: Any) -> Any:
        floats = isinstance(x, Number) or x.dtype == object
        return assignable(create(np.empty(np.shape(x)) if floats else x, *args, **kwargs))

    return made


def _full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    if not isinstance(fill_value, Number):
        return assignable(np.full(shape, fill_value, dtype))
    array = np.empty(shape, object)
    array.fill(fill_value)
    return array


def _full_like(x: Any, fill_value: Any, dtype: Any = None) -> Any:
    return _full(np.shape(x), fill_value, dtype or (None if x.dtype == object else x.dtype))


def assignable(x: Any) -> Any:
    """A float array as an object array, which can hold variables; anything else as it is."""
    return x.astype(object) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x


def _ufunc(ufunc: Any, found: Any) -> Callable[..., Any]:
    """A ufunc that takes object arrays in which floats stand among the variables, as its rule does."""

    def apply(*args: Any, **options: Any) -> Any:
        mixed = any(isinstance(x, np.ndarray) and x.dtype == object for x in args)
        return found(*args) if mixed and not options and len(args) == found.arity else ufunc(*args, **options)

    return apply


def _of_whole_arrays(name: str) -> Callable[..., Any]:
    """A function that NumPy does not evaluate on object arrays: it is given array variables, and arrays of floats."""
    function = getattr(np, name)
    return lambda *args, **options: function(*map(_whole, args), **{key: _whole(x) for key, x in options.items()})


def _whole(x: Any) -> Any:
    if not isinstance(x, np.ndarray) or x.dtype != object:
        return x
    return to_varmat(x) if numbers_in(x) else x.astype(float)


def _on_primals(function: Callable[[float], Any]) -> Callable[[Any], Any]:
    """A function whose result carries no derivative."""
    return lambda x: observed(function, x)


MATH = {  # function of `math` -> contad's
    name: getattr(ops, name)
    for name in (
        "exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sqrt", "cbrt", "sin", "cos", "tan", "sinh", "cosh",
        "tanh", "hypot", "erf", "erfc", "gamma", "copysign", "degrees", "radians",
    )
}  # fmt: skip
MATH.update({f"a{name}": getattr(ops, f"arc{name}") for name in ["sin", "cos", "tan", "sinh", "cosh", "tanh"]})
MATH.update({"atan2": ops.arctan2, "pow": ops.power, "fabs": ops.absolute, "lgamma": ops.gammaln})
MATH.update({name: _on_primals(getattr(math, name)) for name in ("floor", "ceil", "trunc")})
MATH.update({name: _on_primals(getattr(math, name)) for name in ("isnan", "isinf", "isfinite")})
_NUMPY: dict[str, Any] = {name: _creation(name) for name in ("zeros", "ones", "empty", "array", "linspace", "copy")}
_NUMPY.update({f"{name}_like": _creation_like(f"{name}_like") for name in ("zeros", "ones", "empty")})
_NUMPY.update({"full": _full, "full_like": _full_like, "float64": _Float})
_NUMPY.update({name: _of_whole_arrays(name) for name in ("interp", "bincount", "percentile", "quantile")})
for _name, _value in vars(np).items():
    if isinstance(_value, np.ufunc) and (_rule := rule_of_ufunc(_value)) is not None and _rule.operator is None:
        _NUMPY[_name] = _ufunc(_value, _rule)
_REPLACED = {id(getattr(math, name)): value for name, value in MATH.items() if hasattr(math, name)}
_REPLACED.update({id(getattr(np, name)): value for name, value in _NUMPY.items()})


def _translated(value: Any, made: dict[int, Any]) -> Any:
    """A global or captured value as the rewritten function sees it."""
    if value is math:
        return _Module(math, MATH)
    if value is np:
        return _Module(np, _NUMPY)
    if is_dispatcher(value):
        return python_twin(value, made)
    return _REPLACED.get(id(value), value)
