"""Turns arrays that `np.append` extends in a loop into lists: `np.append` would copy the whole array each time.

    z = np.empty(0)                     z = []
    for i in range(n):                  for i in range(n):
        z = np.append(z, x[i])    ->        z.append(float(x[i]))
    return np.sum(z) + z[0]             return np.sum(np.array(z)) + z[0]

The array must not have a second name, or a view that outlives an expression: then writes into it can go to the list.
Only numbers may be appended. If an array turns out to be appended, the function is read again without the list.
"""

import ast
import copy
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from contad.engines.source.ir.tree_queries import is_name

# NumPy functions that neither keep their arguments, nor write into them, nor return views of them
_READING = frozenset(
    (
        *("sum", "mean", "prod", "max", "min", "amax", "amin", "std", "var", "median", "dot", "vdot", "outer", "any"),
        *("all", "exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "abs", "square", "cumsum", "cumprod", "diff"),
        *("argmax", "argmin", "copy", "array", "concatenate", "sort", "interp", "searchsorted", "where", "trapezoid"),
        *("append", "hstack", "vstack", "zeros_like"),
    )
)
_METHODS = frozenset(("sum", "mean", "prod", "max", "min", "std", "var", "any", "all", "argmax", "argmin", "copy"))
_EMPTY = ("empty", "zeros", "ones")
Outer = Callable[[str], Any]  # the value of a name outside the function; KeyError if there is none


class AppendedArray(Exception):
    """An array cannot be a list: arrays are appended to it, or the count of appended numbers has no known bound."""


def without_appended_arrays(body: list[ast.stmt], outer: Outer, arrays: Collection[str] = ()) -> list[ast.stmt]:
    """Statements with lists in place of one-dimensional arrays that grow in loops, except for `arrays`.

    The statements that create and change such a list have the attribute `appended`, the name of the array.
    """
    nodes = [x for statement in body for x in ast.walk(statement)]
    sites = {x: name for x in nodes if (name := _find_appended(x, outer))}
    loops = [x for x in nodes if sites and isinstance(x, (ast.For, ast.While))]
    names = {sites[x] for loop in loops for x in ast.walk(loop) if x in sites} - {*arrays}
    if not names:
        return body
    parents = {inner: x for x in nodes for inner in ast.iter_child_nodes(x)}
    names = {name for name in names if _is_list(name, nodes, parents, outer)}
    return [_Rewriter(names, outer).visit(copy.deepcopy(statement)) for statement in body] if names else body


def _numpy_name(node: ast.expr, outer: Outer) -> str:
    """The name of the NumPy function that an expression denotes; empty for other expressions."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return ""
    try:
        return node.attr if outer(node.value.id) is np else ""
    except KeyError:
        return ""


def _read_call(node: ast.AST, outer: Outer) -> tuple[str, str, list[ast.expr]]:
    """The names and arguments in z = np.f(...); empty for other nodes."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return "", "", []
    target, call = node.targets[0], node.value
    if not isinstance(target, ast.Name) or not isinstance(call, ast.Call) or call.keywords:
        return "", "", []
    return target.id, _numpy_name(call.func, outer), call.args


def _find_appended(node: ast.AST, outer: Outer) -> str:
    """The name of z in z = np.append(z, x); empty for other nodes."""
    name, function, given = _read_call(node, outer)
    return name if function == "append" and len(given) == 2 and is_name(given[0], name) else ""


def _first_elements(node: ast.AST, outer: Outer) -> list[ast.expr] | None:
    """The elements of the array in z = np.empty(0) or z = np.array([...]); None for other nodes."""
    _, function, given = _read_call(node, outer)
    (first,) = given if len(given) == 1 else (None,)
    if function in _EMPTY and isinstance(first, ast.Constant) and first.value == 0:
        return []
    numbers = function == "array" and isinstance(first, ast.List) and first.elts
    if not numbers or any(isinstance(x, (ast.List, ast.Tuple, ast.Starred)) for x in numbers):
        return None
    return numbers


def _is_list(name: str, nodes: list[ast.AST], parents: dict[ast.AST, ast.AST], outer: Outer) -> bool:
    """Whether an array is created once and appended to, and a list supports all its other uses."""
    makers = 0
    for x in nodes:
        if isinstance(x, (ast.FunctionDef, ast.Lambda, ast.ListComp)) and any(is_name(y, name) for y in ast.walk(x)):
            return False
        if not isinstance(x, ast.Name) or x.id != name:
            continue
        parent = parents[x]
        if isinstance(x.ctx, ast.Store):
            if _find_appended(parent, outer) != name:
                makers += 1
                if _first_elements(parent, outer) is None:
                    return False
        elif not isinstance(x.ctx, ast.Load) or not is_transient(
            x, parents, lambda function: _numpy_name(function, outer), ndim=1, writes=True
        ):
            return False
    return makers == 1


def is_transient(
    node: ast.AST, parents: dict[ast.AST, ast.AST], name_of: Callable[[ast.expr], str], ndim: int, writes: bool = False
) -> bool:
    """Whether nothing refers to the array of an expression after its statement, and nothing writes to it.

    `name_of` tells which NumPy function an expression denotes; with `writes`, elements may be written.
    """
    parent = parents[node]
    if isinstance(parent, ast.Subscript) and parent.value is node:
        parts = parent.slice.elts if isinstance(parent.slice, ast.Tuple) else [parent.slice]
        is_element = len(parts) == ndim and not any(isinstance(x, (ast.Slice, ast.Starred, ast.Tuple)) for x in parts)
        if is_element and writes:
            return True
        loads = isinstance(parent.ctx, ast.Load)
        return loads and (is_element or is_transient(parent, parents, name_of, ndim))
    if isinstance(parent, ast.Attribute):
        called = parents[parent]
        is_method = isinstance(called, ast.Call) and called.func is parent and parent.attr in _METHODS
        return is_method or parent.attr in ("size", "shape", "ndim")
    if isinstance(parent, ast.Call) and node in parent.args:
        is_length = isinstance(parent.func, ast.Name) and parent.func.id == "len"
        return is_length or name_of(parent.func) in _READING
    return isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Compare))


def _has_slice(node: ast.Subscript) -> bool:
    return any(isinstance(x, (ast.Slice, ast.Tuple)) for x in ast.walk(node.slice))


class _Rewriter(ast.NodeTransformer):
    """Replaces arrays by lists."""

    def __init__(self, names: set[str], outer: Outer) -> None:
        self.names, self.outer = names, outer
        self.numpy: ast.expr = ast.Name("np", ast.Load())  # NumPy, by the function's own name for it

    def visit_Assign(self, node: ast.Assign) -> Any:
        """Create the list, or append to it."""
        name = node.targets[0].id if isinstance(node.targets[0], ast.Name) else ""
        if name not in self.names:
            return self.generic_visit(node)
        call = node.value
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        self.numpy = call.func.value
        if _find_appended(node, self.outer):
            append = ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load())
            call = ast.Call(append, [_as_float(self.visit(call.args[1]))], [])
            call.args[0].appended = name  # type: ignore[attr-defined]
            return ast.fix_missing_locations(ast.copy_location(ast.Expr(call), node))
        elements = _first_elements(node, self.outer)
        assert elements is not None
        node.value = ast.copy_location(ast.List([_as_float(self.visit(x)) for x in elements], ast.Load()), call)
        node.appended = name  # type: ignore[attr-defined]
        return ast.fix_missing_locations(node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if isinstance(node.value, ast.Name) and node.value.id in self.names and not _has_slice(node):
            node.slice = self.visit(node.slice)
            return node
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        is_length = isinstance(node.func, ast.Name) and node.func.id == "len"
        return node if is_length and isinstance(node.args[0], ast.Name) else self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id not in self.names:
            return node
        array = ast.Attribute(self.numpy, "array", ast.Load())
        return ast.fix_missing_locations(ast.copy_location(ast.Call(array, [node], []), node))


def _as_float(node: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("float", ast.Load()), [node], [])
