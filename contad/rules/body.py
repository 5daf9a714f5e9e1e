"""The body of a derivative rule as a syntax tree: checked, and sliced per argument.

A body is straight-line: assignments to names and one return, calling only operators, rules and `select`. So it can be
reduced to the lines that one partial needs, run on any kind of number, and pasted into generated code.
"""

import ast
import functools
import inspect
import itertools
import operator
import sys
import textwrap
from types import CellType, FunctionType
from typing import Any

import numpy as np

from contad.errors import RuleError
from contad.rules.definition import definition_of, describe_statement, find_named
from contad.rules.vectorised import REWRITTEN, Vectoriser, by_element
from contad.variables.arguments import require_real
from contad.variables.open_types import Function, Value

ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"}
COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
OPERATORS = (*ARITHMETIC, "neg", "abs")  # those that rules implement


def functions_of(name: str) -> tuple[Function, ...]:
    """The functions of Python that an operator method stands for: of the module `operator`, in place too, and builtins.

    >>> functions_of("add") == (operator.add, operator.iadd)
    True
    """
    if name == "abs":
        return (abs,)
    in_place = (getattr(operator, f"i{name}"),) if name in ARITHMETIC else ()
    return (getattr(operator, name), *in_place, *((pow,) if name == "pow" else ()))


def _class_in_trees(symbol: str) -> type:
    node = ast.parse(f"x {symbol} y", mode="eval").body
    return type(node.ops[0] if isinstance(node, ast.Compare) else node.op)  # type: ignore[attr-defined]


# class in syntax trees -> how it is written
SYMBOLS = {_class_in_trees(symbol): symbol for symbol in (*ARITHMETIC.values(), *COMPARISONS.values())}

_EXPRESSIONS = (
    ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Call, ast.Load, ast.Attribute,
    ast.operator, ast.unaryop, ast.cmpop, ast.boolop,
)  # fmt: skip
ARITHMETIC_ERRORS = (ZeroDivisionError, OverflowError, ValueError)


# names of rules that are finite at finite arguments, except for overflow
WITHOUT_POLES = frozenset(
    (
        *("select", "hold", "isnan", "absolute", "sign", "copysign", "floor", "square", "hypot", "maximum", "minimum"),
        *("fmax", "fmin", "sqrt", "sqrt_at_rest", "cbrt", "exp", "exp2", "expm1", "expit", "logaddexp", "logaddexp2"),
        *("sin", "cos", "tanh", "sinh", "cosh", "arctan", "arcsinh", "erf", "erfc", "ndtr"),
    )
)

PARTIALS = "<contad partial: "  # the prefix of the file names of compiled partials


class RuleBody:
    """The body of `partials`: `body(z, x, ...)` returning one partial per argument."""

    def __init__(self, function: Function, arity: int) -> None:
        code = function.__code__
        if code.co_argcount != arity + 1 or code.co_kwonlyargcount or code.co_flags & inspect.CO_VARARGS:
            raise RuleError(
                f"{code.co_filename}:{code.co_firstlineno}: {function.__name__} must take (z, and {arity} "
                f"argument(s) of the operation), got {code.co_varnames[: code.co_argcount]}"
            )
        self.function = function
        self.arity = arity
        self.parameters = code.co_varnames[: arity + 1]
        self._parsed: tuple[list[tuple[str, ast.expr]], list[ast.expr]] | None = None
        self._partials: list[Function | None] = [None] * arity
        self._routes: list[bool | None] = [None] * arity
        # keyed by the partial, and whether it warns
        self._on_arrays: dict[tuple[Function, bool], Function] = {}

    @property
    def assignments(self) -> list[tuple[str, ast.expr]]:
        return self._parse()[0]

    @property
    def returned(self) -> list[ast.expr]:
        return self._parse()[1]

    _may_have_pole: bool | None = None

    @property
    def may_have_pole(self) -> bool:
        """Whether a partial may be infinite at finite arguments, or where the value is infinite, except for
        overflow."""
        if self._may_have_pole is None:
            try:
                expressions = [*(value for _, value in self.assignments), *self.returned]
                self._may_have_pole = any(map(self._is_wild, itertools.chain(*map(ast.walk, expressions))))
            except (OSError, RuleError):
                self._may_have_pole = True  # a body without source
        return self._may_have_pole

    def _is_wild(self, node: ast.AST) -> bool:
        """Whether an operation in the body has poles; the value may be at one."""
        if isinstance(node, ast.Name):
            return node.id == self.parameters[0]
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Mod)):
            return not isinstance(node.right, ast.Constant)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            return isinstance(node.right, ast.UnaryOp)
        return isinstance(node, ast.Call) and getattr(self.resolve(node.func), "name", "") not in WITHOUT_POLES

    # ---- reading and checking ----------------------------------------------------------------------------------------
    def _parse(self) -> tuple[list[tuple[str, ast.expr]], list[ast.expr]]:
        if self._parsed is None:
            self._parsed = self._read()
        return self._parsed

    def _read(self) -> tuple[list[tuple[str, ast.expr]], list[ast.expr]]:
        definition, _ = definition_of(self.function)
        if not isinstance(definition, ast.FunctionDef):
            raise self._error(definition, "a body is written with def")
        statements = definition.body
        if isinstance(statements[0], ast.Expr) and isinstance(statements[0].value, ast.Constant):
            statements = statements[1:]
        assignments: list[tuple[str, ast.expr]] = []
        for statement in statements[:-1]:
            simple = isinstance(statement, ast.Assign) and len(statement.targets) == 1
            if not simple or not isinstance(statement.targets[0], ast.Name):  # type: ignore[attr-defined]
                raise self._error(statement, describe_statement(statement))
            assignments.append((statement.targets[0].id, statement.value))  # type: ignore[attr-defined]
        last = statements[-1]
        if not isinstance(last, ast.Return) or last.value is None:
            raise self._error(last, "a body ends with the return of its partials")
        returned = list(last.value.elts) if isinstance(last.value, ast.Tuple) else [last.value]
        if len(returned) != self.arity:
            advice = ""
            if isinstance(last.value, ast.List) and len(last.value.elts) == self.arity:
                advice = " list; write a tuple, return " + ", ".join(map(ast.unparse, last.value.elts))
            elif isinstance(last.value, ast.Name):
                advice = " name; write the partials themselves in the return, one for each argument"
            raise self._error(last, f"expected {self.arity} partial(s), got {len(returned)}{advice}")
        local = {*self.parameters}
        for name, value in assignments:
            self._check(value, local)
            if name in local:
                raise self._error(value, f"{name} is assigned twice; give each value its own name")
            local.add(name)
        for value in returned:
            self._check(value, local)
        return assignments, returned

    def _error(self, node: ast.AST, message: str) -> RuleError:
        line = getattr(node, "lineno", self.function.__code__.co_firstlineno)
        return RuleError(f"{self.function.__code__.co_filename}:{line}: {self.function.__name__}: {message}")

    def _check(self, expression: ast.expr, local: set[str]) -> None:
        called: set[ast.AST] = set()  # the walk reaches a call before the name that it calls
        for node in ast.walk(expression):
            if not isinstance(node, _EXPRESSIONS):
                raise self._error(
                    node, f"{type(node).__name__} is not allowed in a rule body; use operators and contad.ops"
                )
            if isinstance(node, ast.Constant) and isinstance(node.value, complex):
                raise self._error(node, f"{ast.unparse(node)} is not a real number")
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
                if not (isinstance(node.right, ast.Constant) and isinstance(node.right.value, int)):
                    raise self._error(node, "a power in a body needs an integer literal; use power(x, y)")
            if isinstance(node, ast.Name) and node.id not in local and isinstance(self.resolve(node), complex):
                raise self._error(node, f"{node.id} is not a real number")
            if isinstance(node, ast.Attribute) and node not in called and not isinstance(self.resolve(node), float):
                raise self._error(node, f"{ast.unparse(node)} is not a number")
            if isinstance(node, ast.Call):
                target = self.resolve(node.func)
                if node.keywords or not (hasattr(target, "partial") or getattr(target, "is_select", False)):
                    raise self._error(node, self._describe_call(node, target))
                called.update(ast.walk(node.func))

    def _describe_call(self, node: ast.Call, target: Any) -> str:
        called = ast.unparse(node.func)
        if node.keywords and hasattr(target, "partial"):
            return f"{called} takes no arguments by name in a body"
        # contad.ops is above this module, and completely imported before any body is read
        name = getattr(target, "__name__", "")
        if hasattr(getattr(sys.modules["contad.ops"], name, None), "partial"):
            return f"{called} is not a rule; write contad.ops.{name}"
        return f"{called} is not a rule; a body calls functions of contad.ops, such as contad.ops.exp and select"

    def resolve(self, node: ast.expr) -> Any:
        """The object that a global name, a captured name or a module attribute in the body stands for."""
        return find_named(self.function, node, self._error, "; use the rules of contad.ops, absolute for abs")

    # ---- slicing -----------------------------------------------------------------------------------------------------
    def slice(self, k: int) -> tuple[list[tuple[str, ast.expr]], ast.expr]:
        """The assignments that partial k needs, in order, and its expression."""
        result = self.returned[k]
        needed = names_in(result)
        kept = []
        for name, value in reversed(self.assignments):
            if name in needed:
                kept.append((name, value))
                needed |= names_in(value)
        return kept[::-1], result

    def reads(self, k: int) -> set[str]:
        """The parameters that partial k reads."""
        assignments, result = self.slice(k)
        return names_in(result).union(*(names_in(value) for _, value in assignments)) & {*self.parameters}

    def partial(self, k: int) -> Function:
        """Partial k as a function of (z, *arguments); it returns NumPy's results where Python's floats would raise."""
        made = self._partials[k]
        if made is None:
            made = self._partials[k] = self._slice(k)
        return made

    def _slice(self, k: int) -> Function:
        own: dict[str, Any] = {"_ERRORS": ARITHMETIC_ERRORS, "_numpy": np, "_float": _float}
        try:
            assignments, result = self.slice(k)
            lines = [f"{name} = {ast.unparse(value)}" for name, value in assignments]
            value = ast.unparse(result)
        except OSError:  # typed at a prompt: no source to cut, so every partial is evaluated
            lines, own["_whole"] = [], self.function
            value = f"_whole({', '.join(self.parameters)})" + ("" if self.arity == 1 else f"[{k}]")
        name = f"{self.function.__name__}_{k}"
        source = _PARTIAL.format(
            name=name, parameters=", ".join(self.parameters), body="\n        ".join([*lines, f"_p = {value}"])
        )
        return self._compile(name, source, own, (False,))

    def _compile(self, name: str, source: str, own: dict[str, Any], defaults: tuple[float, ...] = ()) -> Any:
        """The function of that name in a source that uses the body's names and the names in `own`."""
        # it looks up names where the body does, so both see a constant or a rule that is redefined
        cells = dict(zip(self.function.__code__.co_freevars, self.function.__closure__ or (), strict=True))
        cells |= {key: CellType(value) for key, value in own.items()} | {name: CellType()}
        factory = f"def factory({', '.join(cells)}):\n{textwrap.indent(source, '    ')}\n    return {name}"
        made: dict[str, Any] = {}
        exec(compile(factory, f"{PARTIALS}{name}>", "exec"), made)
        code = made["factory"](*cells).__code__
        found = FunctionType(code, self.function.__globals__, name, defaults, tuple(cells[v] for v in code.co_freevars))
        cells[name].cell_contents = found
        return found

    def array_partial(self, k: int, warns: bool = False) -> Function:
        """Partial k as a function of (z, *arguments) that are arrays or floats; it never raises.

        With `warns` it follows the caller's np.errstate, which costs less; otherwise it never warns.
        """
        key = (self.partial(k), warns)
        made = self._on_arrays.get(key)
        if made is None:
            made = self._on_arrays[key] = self._vectorise(k, warns)
        return made

    def _vectorise(self, k: int, warns: bool) -> Function:
        try:
            assignments, result = self.slice(k)
        except OSError:  # typed at a prompt: there is no source to rewrite
            return by_element(self.partial(k), self.arity + 1)
        form = Vectoriser(lambda node: getattr(self.resolve(node), "is_select", False))
        lines = [form.write_assignment(name, value) for name, value in assignments]
        lines.append(f"return {ast.unparse(form.number(result))}")
        used = set().union(*map(names_in, (result, *(value for _, value in assignments))))
        # converted to NumPy's number, a float divides by zero without raising
        lines[:0] = [_AS_NUMPY.format(x=x) for x in self.parameters if x in used]
        if not warns:
            lines = ["with _numpy.errstate(all='ignore'):", *(f"    {line}" for line in lines)]
        name = f"{self.function.__name__}_{k}_on_arrays"
        source = _ON_ARRAYS.format(name=name, parameters=", ".join(self.parameters), body="\n    ".join(lines))
        return self._compile(name, source, REWRITTEN | {"_numpy": np})

    def literal(self, k: int) -> float | None:
        """The value of partial k if the body has a literal for it (zero or one, say), otherwise None."""
        return _literal(self.returned[k])

    def routes(self, k: int) -> bool:
        """Whether partial k is piecewise constant, like that of a selection.

        Where such a partial is 0, the operation does not depend on the argument at all, so even an infinite adjoint
        passes nothing on.
        """
        if self._routes[k] is None:
            self._routes[k] = self._read_routes(k)
        return bool(self._routes[k])

    def _read_routes(self, k: int) -> bool:
        try:
            assignments, result = self.slice(k)
        except OSError:  # typed at a prompt: there is no source to read
            return False
        constants: set[str] = set()
        for name, value in assignments:
            if self._is_piecewise_constant(value, constants):
                constants.add(name)
        expressions = [result, *(value for _, value in assignments)]
        jumps = any(isinstance(n, (ast.Call, ast.FloorDiv)) for x in expressions for n in ast.walk(x))
        return jumps and self._is_piecewise_constant(result, constants)

    def _is_piecewise_constant(self, node: ast.expr, constants: set[str]) -> bool:
        """Whether an expression is piecewise constant; `constants` are names of such expressions."""
        if isinstance(node, (ast.Constant, ast.Attribute)):
            return True
        if isinstance(node, ast.Name):
            return node.id in constants or not (node.id in self.parameters or node.id in dict(self.assignments))
        if isinstance(node, ast.UnaryOp):
            return self._is_piecewise_constant(node.operand, constants)
        if isinstance(node, ast.BinOp):
            sides = node.left, node.right
            return isinstance(node.op, ast.FloorDiv) or all(self._is_piecewise_constant(x, constants) for x in sides)
        if not isinstance(node, ast.Call):
            return False
        called = self.resolve(node.func)
        if getattr(called, "is_select", False):
            return all(self._is_piecewise_constant(x, constants) for x in node.args[1:])
        flat = [called.body is not None and called.body.literal(j) == 0.0 for j in range(len(node.args))]
        return all(f or self._is_piecewise_constant(x, constants) for f, x in zip(flat, node.args, strict=True))


@functools.cache
def _literal(expression: ast.expr) -> float | None:
    try:
        return float(ast.literal_eval(expression))
    except ValueError:
        return None


def names_in(expression: ast.AST) -> set[str]:
    """The names that an expression reads."""
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


# One function, because calling an inner one would cost as much as most partials.
_PARTIAL = """\
def {name}({parameters}, _again=False):
    try:
        {body}
    except _ERRORS:
        if _again: raise
        with _numpy.errstate(all="ignore"):
            return {name}(*(_numpy.float64(x) if isinstance(x, (float, int)) else x for x in ({parameters})), True)
    return _p if type(_p) is float else _float(_p)
"""

_ON_ARRAYS = """\
def {name}({parameters}):
    {body}
"""
_AS_NUMPY = "{x} = _numpy.float64({x}) if isinstance({x}, (float, int)) else {x}"


def _float(p: Value) -> Value:
    require_real("scalar_rule", "a partial", p)
    return float(p) if isinstance(p, (np.floating, int)) else p
