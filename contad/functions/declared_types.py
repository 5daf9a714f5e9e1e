"""Types that a Numba function declares, in signatures or for its names. Numba casts values to them, so they matter.

`@njit("float64(int64)")` drops the fraction of its argument, and `@njit(locals={"k": int64})` that of each value
assigned to k. A cast to an integer or a boolean gives a constant. A cast to float32 rounds, and so does every operation
after it. No engine follows this rounding, so contad refuses derivatives through such a cast.
"""

import ast
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contad.compile.dispatchers import compiles_on_demand
from contad.errors import UnsupportedError
from contad.variables.number import Number, map_numbers, observe, peek
from contad.variables.open_types import Function, Nested, NumbaFunction, NumbaType, Value

_NUMBERS = ("Integer", "IntegerLiteral", "Float", "Boolean", "BooleanLiteral")


def signatures(f: NumbaFunction) -> tuple[Any, ...]:
    """The declared signatures of the dispatcher f; none if it compiles for any types."""
    return () if compiles_on_demand(f) else tuple(f.nopython_signatures)


def place_of(f: NumbaFunction) -> str:
    """File, line and name of a dispatcher's function, for messages."""
    code = f.py_func.__code__
    return f"{code.co_filename}:{code.co_firstlineno}: {f.__name__}"


def chosen_signature(f: NumbaFunction, given: Sequence[NumbaType]) -> Any:
    """The signature that Numba chooses for arguments of these types, ignoring the layout of arrays.

    Raises UnsupportedError if none takes them, or several fit equally well.
    """
    declared = signatures(f)
    fitting = [s for s in declared if len(s.args) == len(given) and all(map(_fits, given, s.args))]
    if len(fitting) > 1:
        actual = [want if _is_array(want) else have for have, want in zip(given, fitting[0].args, strict=True)]
        try:
            fitting = [f.typingctx.resolve_overload(f.py_func, fitting, tuple(actual), {}, unsafe_casting=True)]
        except TypeError:  # ambiguous, as it is in Numba
            fitting = []
    if not fitting or fitting[0] is None:
        types = ", ".join(map(str, given))
        raise UnsupportedError(
            f"{place_of(f)}: its declared signatures, {', '.join(map(str, declared))}, do not take ({types}); declare "
            "that one, or leave the signature away"
        )
    return fitting[0]


def _is_array(t: NumbaType) -> bool:
    return type(t).__name__ == "Array"


def is_number(t: NumbaType) -> bool:
    """Whether a Numba type is that of a real number."""
    return type(t).__name__ in _NUMBERS


def _fits(have: NumbaType, want: NumbaType) -> bool:
    if is_number(have) and is_number(want):
        return True
    if _is_array(have) and _is_array(want):
        return bool(have.dtype == want.dtype and have.ndim == want.ndim)
    if hasattr(have, "types") and hasattr(want, "types"):
        parts = list(zip(have.types, want.types, strict=False))
        return len(have.types) == len(want.types) and all(a == b or (_is_array(a) and _fits(a, b)) for a, b in parts)
    return bool(have == want or getattr(have, "literal_type", None) == want)


def refuse_cast(f: NumbaFunction, what: str, t: NumbaType, is_active: bool = False) -> UnsupportedError:
    """The error for a declared type whose cast contad does not follow.

    `is_active` says that the value surely carries a derivative.
    """
    remedy = "declare float64" if "float" in str(t) else "declare int64 or float64"
    why = "to which a differentiated number is cast" if is_active else "in which this engine does not compute"
    return UnsupportedError(
        f"{place_of(f)}: {what} is declared as {t}, {why}; {remedy}, or leave the declaration away"
    )


# ---- names -----------------------------------------------------------------------------------------------------------
class NameCasts(ast.NodeTransformer):
    """Puts `name = cast(name)` after everything that binds a name whose type is declared.

    `casts` has, for each name, the cast that the rewritten function calls.
    """

    def __init__(self, casts: dict[str, str]) -> None:
        self.casts = casts

    def function(self, definition: ast.FunctionDef) -> ast.FunctionDef:
        """A definition with its casts."""
        arguments = definition.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        body = [new for statement in definition.body for new in self._visit(statement)]
        definition.body = [*self._after(names, definition), *body]
        return definition

    def _visit(self, statement: ast.stmt) -> list[ast.stmt]:
        found = self.visit(statement)
        return found if isinstance(found, list) else [found]

    def _after(self, names: Sequence[str], at: ast.AST) -> list[ast.stmt]:
        made = []
        for name in dict.fromkeys(names):
            if name in self.casts:
                call = self._call(name, ast.Name(name, ast.Load()))
                made.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], call), at))
        return [ast.fix_missing_locations(x) for x in made]

    def _call(self, name: str, value: ast.expr) -> ast.expr:
        return ast.copy_location(ast.Call(ast.Name(self.casts[name], ast.Load()), [value], []), value)

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt] | ast.Assign:
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            if node.targets[0].id in self.casts:
                node.value = self._call(node.targets[0].id, node.value)
            return node
        return [node, *self._after(_find_bound(node.targets), node)]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt] | ast.AnnAssign:
        return [node, *self._after(_find_bound([node.target]), node)] if node.value is not None else node

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        return [node, *self._after(_find_bound([node.target]), node)]

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.body = [*self._after(_find_bound([node.target]), node), *node.body]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node  # inner functions have their own names

    visit_Lambda = visit_FunctionDef  # type: ignore[assignment]


def _find_bound(targets: Sequence[ast.expr]) -> list[str]:
    names = [n for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
    return [n.id for n in names if isinstance(n.ctx, ast.Store)]


# ---- values of Python ------------------------------------------------------------------------------------------------
def cast_of_values(f: NumbaFunction, what: str, t: NumbaType) -> Callable[[Value], Value]:
    """The function that casts a value in a Python copy of f as Numba casts it to a declared type.

    Raises UnsupportedError for types that the copy lacks: float32, and integers other than int64 and int32. Numba
    computes with int32 in 64 bits, as Python does.
    """
    parts = getattr(t, "types", None)
    if parts is not None:
        casts = [cast_of_values(f, what, part) for part in parts]
        return lambda x: tuple(cast(v) for cast, v in zip(casts, x, strict=True)) if type(x) is tuple else x
    kind = str(t.dtype if _is_array(t) else t)
    if (is_number(t) or _is_array(t)) and kind not in ("float64", "int64", "int32", "bool"):
        raise refuse_cast(f, what, t)
    if not is_number(t):
        return lambda x: x
    if kind == "float64":
        return lambda x: float(x) if isinstance(x, (int, np.integer, np.bool_)) else x
    convert = _wrap if kind == "int32" else int if kind == "int64" else bool
    return lambda x: observe(convert, x) if isinstance(x, (Number, int, float, np.number, np.bool_)) else x


def _wrap(x: Value) -> int:
    """A number wrapped to int32."""
    return int(np.int64(int(x)).astype(np.int32))


def with_signature(f: NumbaFunction, twin: Function) -> Function:
    """The Python copy of the dispatcher f, with the casts of the signature that Numba chooses; itself if f has none.

    Raises UnsupportedError if Python copies do not follow a declared type.
    """
    declared = signatures(f)
    if not declared:
        return twin
    called = inspect.signature(f.py_func)
    casts = {
        s: ([cast_of_values(f, "an argument", t) for t in s.args], cast_of_values(f, "the result", s.return_type))
        for s in declared
    }

    @functools.wraps(twin)
    def run(*args: Nested, **kwargs: Nested) -> Nested:
        bound = called.bind(*args, **kwargs)
        bound.apply_defaults()
        s = declared[0] if len(declared) == 1 else chosen_signature(f, tuple(map(_type_of, bound.args)))
        of_arguments, of_result = casts[s]
        return of_result(twin(*(cast(x) for cast, x in zip(of_arguments, bound.args, strict=True))))

    return run


def _type_of(x: Value) -> NumbaType:
    """Numba's type of a value of a Python copy, whose numbers may carry derivatives."""
    from numba import typeof

    x = map_numbers(peek, x)
    if isinstance(x, tuple):
        x = tuple(v.astype(float) if isinstance(v, np.ndarray) and v.dtype == object else v for v in x)
    return typeof(x.astype(float) if isinstance(x, np.ndarray) and x.dtype == object else x)
