"""Checks of vjp and jvp bodies of array rules: they must be straight-line and call only differentiable functions.

Such a body runs on plain arrays and on array variables of outer levels, so higher derivatives need no rule of their
own. A branch, or a function without a rule, would silently freeze its result there.
"""

import ast
import builtins
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from contad.errors import RuleError
from contad.rules.definition import definition_of, describe_statement, find_named
from contad.rules.numpy_functions import entry_of
from contad.rules.scalar_rule import ScalarRule, rule_of_ufunc
from contad.variables.open_types import Function

_EXPRESSIONS = (
    ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.keyword, ast.Attribute, ast.Subscript,
    ast.Slice, ast.Tuple, ast.expr_context, ast.operator, ast.unaryop, ast.cmpop,
)  # fmt: skip
_ATTRIBUTES = ("shape", "ndim", "size", "T", "real", "imag")
_METHODS = ("sum", "reshape", "copy", "conj")
_CONSTANTS = (int, float, str, type(None), type(Ellipsis))
# the arguments in which these functions take positions of elements: by position and by name
_POSITIONS: dict[Any, tuple[int, str]] = {
    np.take: (1, "indices"),
    np.take_along_axis: (1, "indices"),
    np.bincount: (0, "x"),
}
# attributes of `saved` that do not depend on the arguments' values
_GEOMETRY = ("shape", "ndim", "size")


def check_body(function: Function) -> None:
    """Refuse a vjp or jvp body that is not straight-line or calls a function without a rule: RuleError, with file and
    line.

    A function typed at a prompt has no source, and is accepted.
    """
    try:
        definition, _ = definition_of(function)
    except OSError:
        return
    _Lint(function, definition).run()


class _Lint:
    def __init__(self, function: Function, definition: ast.stmt) -> None:
        self.function = function
        self.definition = definition
        code = function.__code__
        self.local = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        positional = code.co_varnames[: code.co_argcount]
        self.saved = {"saved"} & self.local  # the names whose values depend on `saved`
        tangents = tuple(name for name in positional if name.endswith("_dot"))
        # the differentiable arguments, and the names that depend on them
        self.arguments = set(positional) - {"z", "z_bar", *tangents, *self.saved}

    # ---- the form ----------------------------------------------------------------------------------------------------
    def run(self) -> None:
        if not isinstance(self.definition, ast.FunctionDef):
            raise self._error(self.definition, "a body is written with def")
        statements = self.definition.body
        if isinstance(statements[0], ast.Expr) and isinstance(statements[0].value, ast.Constant):
            statements = statements[1:]
        if not statements or not isinstance(statements[-1], ast.Return) or statements[-1].value is None:
            raise self._error([self.definition, *statements][-1], "a body ends with the return of its result")
        for statement in statements[:-1]:
            if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
                raise self._error(statement, describe_statement(statement))
            target = statement.targets[0]
            if not isinstance(target, ast.Name):
                raise self._error(statement, describe_statement(statement))
            self._check(statement.value)
            if target.id in self.local:
                raise self._error(statement, f"{target.id} is assigned twice; give each value its own name")
            self.local.add(target.id)
            self._follow(target.id, statement.value)
        self._check(statements[-1].value)
        self._require_free_of_saved(statements[-1].value)

    def _error(self, node: ast.AST, message: str) -> RuleError:
        line = getattr(node, "lineno", self.function.__code__.co_firstlineno)
        return RuleError(f"{self.function.__code__.co_filename}:{line}: {self.function.__name__}: {message}")

    # ---- expressions -------------------------------------------------------------------------------------------------
    def _check(self, node: ast.expr) -> None:
        """Refuse constructs that are not allowed in an expression, unknown names, and names of values that are not
        constants."""
        if not isinstance(node, _EXPRESSIONS):
            raise self._error(
                node,
                f"{type(node).__name__} is not allowed in a rule body; use select, or a function of contad.ops",
            )
        if isinstance(node, ast.Call):
            self._check_call(node)
            children: list[ast.AST] = [*node.args, *(keyword.value for keyword in node.keywords)]
        elif isinstance(node, ast.Attribute):
            children = self._check_attribute(node)
        elif isinstance(node, ast.Name):
            if node.id not in self.local:
                self._require_constant(node, self._resolve(node))
            return
        else:
            children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            raise self._error(node, "a chained comparison asks an array for one truth value; join two with &")
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            raise self._error(node, "`not` asks an array for one truth value; use ~")
        for child in children:
            if isinstance(child, ast.expr):
                self._check(child)

    def _check_attribute(self, node: ast.Attribute) -> list[ast.AST]:
        if self._is_global(node):
            self._require_constant(node, self._resolve(node))
            return []
        if node.attr not in _ATTRIBUTES:
            raise self._error(node, f".{node.attr} is not allowed in a rule body; allowed: .{', .'.join(_ATTRIBUTES)}")
        return [node.value]

    def _check_call(self, node: ast.Call) -> None:
        if any(keyword.arg is None for keyword in node.keywords):
            raise self._error(node, "** is not allowed in a rule body; name the options")
        if isinstance(node.func, ast.Attribute) and not self._is_global(node.func):
            if node.func.attr not in _METHODS:
                raise self._error(
                    node, f".{node.func.attr}() is not allowed in a rule body; allowed: .{'(), .'.join(_METHODS)}()"
                )
            self._check(node.func.value)
            return
        if not _differentiates(self._resolve(node.func)):
            raise self._error(
                node,
                f"contad does not differentiate {ast.unparse(node.func)}; a body calls rules, select, functions of "
                "contad.ops, and NumPy functions that have a rule",
            )

    def _is_global(self, node: ast.expr) -> bool:
        """Whether an expression is a name, or an attribute path that starts with a name, from outside the body."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id not in self.local

    def _require_constant(self, node: ast.expr, value: object) -> None:
        if not isinstance(value, (_CONSTANTS, np.ndarray, np.number)):
            raise self._error(node, f"{ast.unparse(node)} is not a constant, got {type(value).__name__}")

    def _resolve(self, node: ast.expr) -> Any:
        """The object that a global name, a captured name or a module attribute stands for."""
        if isinstance(node, ast.Name) and node.id in self.local:
            raise self._error(node, f"{node.id} is a value, not a rule")
        if isinstance(node, ast.Name) and node.id in ("None", "Ellipsis"):
            return getattr(builtins, node.id, None)
        return find_named(self.function, node, self._error, "; use the function of contad.ops or of NumPy")

    # ---- saved values ------------------------------------------------------------------------------------------------
    def _follow(self, name: str, value: ast.expr) -> None:
        """Note what an assigned name holds: a part of `saved`, or a value that depends on the arguments."""
        part = value
        while isinstance(part, ast.Subscript):
            part = part.value
        if isinstance(part, ast.Name) and part.id in self.saved:
            self.saved.add(name)
            return
        self._require_free_of_saved(value)
        if self._reads(value, self.arguments):
            self.arguments.add(name)

    def _require_free_of_saved(self, node: ast.expr) -> None:
        """Refuse uses of `saved`, which carries no derivative, other than as an index or next to the argument it was
        made of."""
        if isinstance(node, ast.Name) and node.id in self.saved:
            raise self._error(
                node,
                f"{node.id} carries no derivative; use it as an index, or pass it to a rule that also receives the "
                "argument it was made of, as in solve(a.T, z_bar, factors=saved)",
            )
        if isinstance(node, ast.Attribute) and node.attr in _GEOMETRY:
            return
        if isinstance(node, ast.Subscript):
            self._require_free_of_saved(node.value)  # an index has no derivative
            return
        free: Iterator[ast.AST] = ast.iter_child_nodes(node)
        if isinstance(node, ast.Call):
            passed = [*node.args, *(keyword.value for keyword in node.keywords)]
            if self._takes_a_hint(node.func) and any(self._reads(x, self.arguments) for x in passed):
                free = (x for x in passed if not self._is_saved(x))
            else:
                parts = [node.func, *node.args, *node.keywords]  # the function may be a method of a saved value
                free = (x for x in parts if x is not self._positions_in(node))
        for child in free:
            part = child.value if isinstance(child, ast.keyword) else child
            if isinstance(part, ast.expr):
                self._require_free_of_saved(part)

    def _takes_a_hint(self, function: ast.expr) -> bool:
        if not self._is_global(function):
            return False
        target = self._resolve(function)
        return not isinstance(target, (ScalarRule, np.ufunc)) and not getattr(target, "is_select", False)

    def _positions_in(self, node: ast.Call) -> ast.AST | None:
        """The argument that holds positions of elements, which have no derivative."""
        target = self._resolve(node.func) if self._is_global(node.func) else None
        found = _POSITIONS.get(target) if isinstance(target, Hashable) else None
        if found is None:
            return None
        place, name = found
        by_name = [keyword for keyword in node.keywords if keyword.arg == name]
        return by_name[0] if by_name else node.args[place] if len(node.args) > place else None

    def _is_saved(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Subscript):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.saved

    def _reads(self, node: ast.expr, names: set[str]) -> bool:
        """Whether an expression reads the value, and not only the shape, of one of the names."""
        if isinstance(node, ast.Attribute) and node.attr in _GEOMETRY:
            return False
        if isinstance(node, ast.Name):
            return node.id in names
        return any(
            self._reads(child.value if isinstance(child, ast.keyword) else child, names)
            for child in ast.iter_child_nodes(node)
            if isinstance(child, (ast.expr, ast.keyword))
        )


def _differentiates(target: Any) -> bool:
    """Whether a body may call it: a rule, `select`, a function of contad.ops, or a NumPy function with an entry."""
    if isinstance(target, ScalarRule) or hasattr(target, "jvp_body") or getattr(target, "is_select", False):
        return True
    if isinstance(target, np.ufunc) and (target is np.conjugate or rule_of_ufunc(target) is not None):
        return True
    if (getattr(target, "__module__", None) or "").startswith("contad.ops.") and not isinstance(target, type):
        return True
    try:
        found = entry_of(target)
    except TypeError:  # unhashable
        return False
    return found is not None and found.kind != "refused"
