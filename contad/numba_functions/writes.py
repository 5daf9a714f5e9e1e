"""Whether a Numba function may write into its array arguments, judged by its source and that of its callees; and
whether it may run once more than the user calls it."""

import ast
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from contad.compile.dispatchers import is_dispatcher
from contad.errors import StaleSourceError
from contad.functions.reached import is_installed
from contad.rules.definition import definition_of, global_names, named_values

_METHODS = {"fill", "sort", "itemset", "put", "partition"}
_FUNCTIONS = {"copyto", "fill_diagonal", "put", "place", "putmask", "put_along_axis", "shuffle", "nan_to_num"}
_LIBRARIES = {"numpy", "math", "cmath", "builtins", "operator", "contad"}  # their writers are in both sets above
_NEW = {  # results that share no memory with an argument
    "zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like", "copy", "array", "arange",
    "linspace", "eye", "identity", "sum", "mean", "dot", "outer", "cumsum", "exp", "log", "sqrt", "sin", "cos", "tanh",
    "len", "float", "int", "abs", "range", "min", "max", "round",
}  # fmt: skip


def may_write_arrays(f: Any) -> bool:
    """False only if a function surely does not change its array arguments."""
    return _may_write(f, set())


def _may_write(f: Any, seen: set[int]) -> bool:
    function = f.py_func if is_dispatcher(f) else f
    if not isinstance(function, FunctionType) or id(function) in seen:
        return False
    if (function.__module__ or "").partition(".")[0] in _LIBRARIES:
        return function.__name__ in _FUNCTIONS
    if function is f and is_installed(function.__code__.co_filename):
        return True  # a library's overload, whose code is elsewhere
    seen.add(id(function))
    try:
        definition, _ = definition_of(function)
    except (OSError, TypeError, StaleSourceError):
        return True
    captured = dict.fromkeys(function.__code__.co_freevars)
    return _Writes(definition, function.__globals__ | captured).found or any(
        _may_write(x, seen) for x in _find_named(function)
    )


def _find_named(function: FunctionType) -> list[Any]:
    """The values of the names of a function, and the attributes of users' modules that it may use."""
    names = global_names(function.__code__)
    found = list(named_values(function).values())
    for x in [x for x in found if isinstance(x, ModuleType) and x.__name__.partition(".")[0] not in _LIBRARIES]:
        found += [vars(x)[attribute] for attribute in names & vars(x).keys()]
    return found


class _Writes:
    """Looks for assignments to elements, except those of arrays that the function has made itself."""

    def __init__(self, definition: ast.stmt, names: dict[str, Any]) -> None:
        self.names = names
        # all expressions assigned to a name; None if unknown
        self.given: dict[str, list[ast.expr | None]] = {}
        for node in ast.walk(definition):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._give(target, node.value)
            elif isinstance(node, ast.AnnAssign) and node.value:
                self._give(node.target, node.value)
            elif isinstance(node, ast.For):
                self._give(node.target, node.iter if _find_called(node.iter) == "range" else None)
            elif isinstance(node, (ast.NamedExpr, ast.comprehension, ast.withitem)):
                self._give(getattr(node, "target", None) or ast.Tuple([]), None)
            elif isinstance(node, ast.arg):
                self.given.setdefault(node.arg, []).append(None)
        self.found = any(map(self.is_write, ast.walk(definition)))

    def _give(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self.given.setdefault(target.id, []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            pairs = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
            values = value.elts if pairs else [None] * len(target.elts)  # type: ignore[union-attr]
            for t, v in zip(target.elts, values, strict=True):
                self._give(t, v)

    def own(self, x: ast.expr | None, element: bool = False, asking: frozenset[str] = frozenset()) -> bool:
        """Whether an expression is a number, or an array that the function has made; or an element of such an array."""
        if isinstance(x, (ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp)):
            return not (element and isinstance(x, ast.BinOp))  # a sum of tuples has elements of other tuples
        if isinstance(x, ast.Name):
            given = self.given.get(x.id)
            return x.id in asking or (given is not None and all(self.own(v, element, asking | {x.id}) for v in given))
        if isinstance(x, ast.Subscript):
            return self.own(x.value, True, asking)
        if isinstance(x, ast.IfExp):
            return self.own(x.body, element, asking) and self.own(x.orelse, element, asking)
        return isinstance(x, ast.Call) and _find_called(x) in _NEW and self._of_library(x.func)

    def _of_library(self, function: ast.expr) -> bool:
        """Whether a well-known name has its usual meaning: as a builtin, in a library, or as a method."""
        if isinstance(function, ast.Attribute) and not isinstance(function.value, ast.Name):
            return True
        name = function.value.id if isinstance(function, ast.Attribute) else function.id  # type: ignore[attr-defined]
        if name not in self.names:
            return isinstance(function, ast.Name) or name in self.given
        module = self.names[name]
        module = module.__name__ if isinstance(module, ModuleType) else getattr(module, "__module__", "")
        return module.partition(".")[0] in _LIBRARIES

    def is_write(self, node: ast.AST) -> bool:
        """Whether a node assigns to an element or an attribute, or is `a += x` or a call that may write into arrays."""
        if isinstance(node, ast.Subscript):
            return isinstance(node.ctx, (ast.Store, ast.Del)) and not self.own(node.value)
        if isinstance(node, ast.Attribute):
            return isinstance(node.ctx, ast.Store)
        if isinstance(node, ast.AugAssign):
            return isinstance(node.target, ast.Name) and not self.own(node.target)
        return isinstance(node, ast.Call) and _is_writer(node)


def calls_writers(node: ast.AST) -> bool:
    """Whether an expression or a definition calls a NumPy function or method that writes into an argument."""
    return any(isinstance(x, ast.Call) and _is_writer(x) for x in ast.walk(node))


def _is_writer(node: ast.Call) -> bool:
    name = _find_called(node)
    ufunc = vars(np).get(name)  # np.str would warn
    inputs = ufunc.nin if isinstance(ufunc, np.ufunc) else 2 if name in ("dot", "take", "round") else None
    out = any(keyword.arg in (None, "out") for keyword in node.keywords)
    of_numpy = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in ("np", "numpy")
    writers = _FUNCTIONS if of_numpy else _METHODS | _FUNCTIONS  # np.sort makes an array, but x.sort writes into x
    return out or name in writers or (inputs is not None and len(node.args) > inputs)


def _find_called(node: ast.expr) -> str:
    """The last part of the name of a callee; empty for anything else."""
    if not isinstance(node, ast.Call):
        return ""
    return str(getattr(node.func, "attr", None) or getattr(node.func, "id", ""))


# ---- functions that may run once more --------------------------------------------------------------------------------
ONCE = frozenset(("random", "print", "objmode"))  # names in functions that must not run again


def is_repeatable(f: FunctionType) -> bool:
    """Whether a second run of a function would repeat no side effect; this does not check callees."""
    names = global_names(f.__code__)
    found = list(named_values(f).values())
    found += [vars(x)[name] for x in found if isinstance(x, ModuleType) for name in names & vars(x).keys()]
    return not names & ONCE and not any(map(draws, found))


def draws(x: Any) -> bool:
    """Whether an object is np.random, or a function of it under any name."""
    owner = getattr(x, "__self__", None)
    home = x.__name__ if isinstance(x, ModuleType) else getattr(x, "__module__", None) or ""
    return isinstance(owner, np.random.RandomState) or "random" in str(home).split(".")
