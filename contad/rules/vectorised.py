"""Rules on arrays: bodies rewritten for arrays, and values element by element.

A body is written for one number at a time. To run it on arrays, contad rewrites its syntax tree where Python needs a
single truth value (`and`, `or`, `not`, chained comparisons), and where conditions are used as numbers.
"""

import ast
from collections.abc import Callable

import numpy as np

from contad.variables.open_types import ArrayValue, Function, Value

ArrayFunction = Callable[..., ArrayValue]


# ---- bodies ----------------------------------------------------------------------------------------------------------
def number(condition: Value) -> Value:
    """Conditions as the numbers 1.0 and 0.0, because NumPy does not treat sums and differences of booleans as
    numbers."""
    return np.where(condition, 1.0, 0.0)


def both(x: Value, y: Value) -> Value:
    """`x and y` of numbers: y where x is not zero, else x."""
    return np.where(x, y, x)


def either(x: Value, y: Value) -> Value:
    """`x or y` of numbers: x where it is not zero, else y."""
    return np.where(x, x, y)


# the global names of the rewritten source
REWRITTEN = {
    "_number": number,
    "_both": both,
    "_either": either,
    "_and": np.logical_and,
    "_or": np.logical_or,
    "_not": np.logical_not,
}


class Vectoriser:
    """Rewrites the expressions of a body for arrays, in order, remembering which names stand for conditions."""

    def __init__(self, is_select: Callable[[ast.expr], bool]) -> None:
        self.is_select = is_select
        self.conditions: set[str] = set()

    def write_assignment(self, name: str, value: ast.expr) -> str:
        """The source of an assignment."""
        if self.is_condition(value):
            self.conditions.add(name)
        return f"{name} = {ast.unparse(self.rewritten(value))}"

    def number(self, expression: ast.expr) -> ast.expr:
        """The expression for arrays, used as a number."""
        rewritten = self.rewritten(expression)
        return _call("_number", rewritten) if self.is_condition(expression) else rewritten

    def is_condition(self, node: ast.expr) -> bool:
        """Whether an expression is a truth value."""
        if isinstance(node, ast.Compare):
            return True
        if isinstance(node, ast.BoolOp):
            return all(map(self.is_condition, node.values))
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.Not)
        if isinstance(node, ast.Call):
            return self.is_select(node.func) and all(map(self.is_condition, node.args[1:]))
        if isinstance(node, ast.Name):
            return node.id in self.conditions
        return isinstance(node, ast.Constant) and isinstance(node.value, bool)

    def rewritten(self, node: ast.expr) -> ast.expr:
        """The expression for arrays; conditions stay conditions."""
        if isinstance(node, ast.BoolOp):
            conditions = self.is_condition(node)
            words = ("_and", "_both") if isinstance(node.op, ast.And) else ("_or", "_either")
            # from the right, as Python's shortcut does: `x and y and z` is `x and (y and z)`
            *values, last = map(self.rewritten if conditions else self.number, node.values)
            for value in reversed(values):
                last = _call(words[0] if conditions else words[1], value, last)
            return last
        if isinstance(node, ast.Compare):
            sides = [self.number(side) for side in (node.left, *node.comparators)]
            links = [ast.Compare(x, [op], [y]) for x, op, y in zip(sides[:-1], node.ops, sides[1:], strict=True)]
            found: ast.expr = links[-1]
            for link in reversed(links[:-1]):
                found = _call("_and", link, found)
            return found
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.Not):
                return _call("_not", self.rewritten(node.operand))
            return ast.UnaryOp(node.op, self.number(node.operand))
        if isinstance(node, ast.BinOp):
            return ast.BinOp(self.number(node.left), node.op, self.number(node.right))
        if isinstance(node, ast.Call):
            if self.is_select(node.func) and len(node.args) == 3:
                condition, *branches = node.args
                form = self.rewritten if self.is_condition(node) else self.number
                return ast.Call(node.func, [self.rewritten(condition), *map(form, branches)], [])
            return ast.Call(node.func, [self.number(argument) for argument in node.args], [])
        return node


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


# ---- values ----------------------------------------------------------------------------------------------------------
def by_element(function: Function, arity: int) -> ArrayFunction:
    """Turn a function of floats into one of arrays, with float64 results."""
    each = np.frompyfunc(function, arity, 1)

    def form(*args: Value) -> ArrayValue:
        with np.errstate(all="ignore"):
            return np.asarray(each(*args), dtype=np.float64)

    return form


def mend(z: Value, wrong: np.ndarray, function: Callable[..., float], *args: Value) -> ArrayValue:
    """z with the elements where `wrong` holds replaced by a function of floats of the same elements of args."""
    z = np.asarray(z)
    if wrong.any():
        z = z.copy()
        where, *arrays = np.broadcast_arrays(wrong, *args)
        z[where] = [function(*point) for point in zip(*(a[where].tolist() for a in arrays), strict=True)]
    return z


def array_form(
    evaluate: Function, arity: int, array: ArrayFunction | None, ufuncs: tuple[np.ufunc | str, ...]
) -> ArrayFunction:
    """The value of a rule on float64 arrays, called as f(*args, out=None).

    The rule's own array function comes first, then its first ufunc if that computes in float64, then the scalar
    function element by element.
    """
    ufunc = ufuncs[0] if ufuncs else None
    if array is None and isinstance(ufunc, str):
        import scipy.special

        ufunc = getattr(scipy.special, ufunc.rpartition(".")[2])
    if array is None and isinstance(ufunc, np.ufunc) and f"{'d' * arity}->d" in ufunc.types:
        computed: np.ufunc = ufunc
        return lambda *args, out=None: np.asarray(computed(*args, out=out))
    value = array or by_element(evaluate, arity)

    def form(*args: Value, out: ArrayValue | None = None) -> ArrayValue:
        z = np.asarray(value(*args), dtype=np.float64)
        if out is None:
            return z
        np.copyto(out, z)
        return out

    return form
