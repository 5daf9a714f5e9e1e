"""Formulas of rules as functions of Python's numbers and of rows of arrays, with the results of compiled code."""

import ast
import functools
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from contad.engines.stream import kernels


class Powers(ast.NodeTransformer):
    """Rewrites powers as the multiplications that Numba compiles them to."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return _call("power", node.left, node.right) if isinstance(node.op, ast.Pow) else node


class OnRows(Powers):
    """Rewrites choices and conditions on numbers so that they work on arrays, too."""

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        return _call("where", node.test, node.body, node.orelse)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        name = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        return functools.reduce(lambda a, b: _call(name, a, b), node.values)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return _call("logical_not", node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        sides = [node.left, *node.comparators]
        found: ast.expr | None = None
        for x, op, y in zip(sides, node.ops, sides[1:], strict=False):
            link = ast.Compare(x, [op], [y])
            found = link if found is None else _call("logical_and", found, link)
        assert found is not None
        return found

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return ast.Name(node.attr, ast.Load())


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def write_on_rows(lines: Sequence[str], expression: str, known: dict[str, Any]) -> tuple[list[str], str]:
    """The lines and the expression of a formula, rewritten for rows; its numbers get names in `known`."""
    tree = OnRows().visit(ast.parse("\n".join([*lines, expression])))
    *found, last = map(ast.unparse, ast.fix_missing_locations(_NamedNumbers(known).visit(tree)).body)
    return found, last


class _NamedNumbers(ast.NodeTransformer):
    """Replaces numbers by arrays without axes, which ufuncs handle faster."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.known = known

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            return self._name(-node.operand.value)  # type: ignore[operator]
        self.generic_visit(node)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return self._name(node.value) if isinstance(node.value, float) else node

    def _name(self, number: Any) -> ast.expr:
        name = f"number_{len(self.known)}"
        self.known[name] = np.array(float(number))
        return ast.Name(name, ast.Load())


def make_function(
    text: str, parameters: Sequence[str], form: ast.NodeTransformer, known: Mapping[str, Any]
) -> Callable[..., Any]:
    """The function with this body."""
    body = textwrap.indent(text, "    ")
    tree = form.visit(ast.parse(f"def partial({', '.join(parameters)}):\n{body}"))
    names = {**known, "power": _power}
    exec(compile(ast.fix_missing_locations(tree), "<plain sweep>", "exec"), names)
    found: Callable[..., Any] = names["partial"]
    return found


def _power(x: Any, n: int) -> Any:
    """x^n by the multiplications that Numba compiles it to."""
    z: Any = 1.0
    while n:
        z = z * x if n & 1 else z
        n >>= 1
        x = x * x
    return z


def _by_element(name: str) -> Callable[..., Any]:
    """A function of `math` on rows, element by element, with C's results where Python raises."""
    function, of_numpy = getattr(math, name), getattr(np, "power" if name == "pow" else name)

    def element(*args: float) -> float:
        try:
            return float(function(*args))
        except (ValueError, OverflowError):
            return float(of_numpy(*args))

    return lambda *args: np.asarray(np.frompyfunc(element, len(args), 1)(*args), np.float64)


ON_ROWS: dict[str, Any] = {
    "power": _power,
    "where": np.where, "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_not": np.logical_not,
    "abs": np.abs, "sqrt": np.sqrt, "isfinite": np.isfinite, "copysign": np.copysign,
    "inf": math.inf, "nan": math.nan, "pi": math.pi,
    **{name: _by_element(name) for name in ("cos", "cosh", "hypot", "log", "pow", "sin", "sinh")},
}  # fmt: skip
# Python equivalents of two bit operations: an integer in the last bits of a number, and a power of two from its bits
_of_one = make_function(
    textwrap.dedent(kernels.exponential_source().partition("def exponential(x):\n")[2]), ["x"], Powers(),
    {"math": math, "bits_of": int, "of_bits": lambda n: math.ldexp(1.0, (n >> 52) - 1023)},
)  # fmt: skip
_NUMBERS = {name: np.array(float(text)) for name, text in kernels.PARTS.items() if name != "taylor"}
_MAGIC = _NUMBERS["magic"]
_TAYLOR = [np.array(1.0 / math.factorial(n)) for n in range(13, -1, -1)]
_LEAST, _MOST, _LARGEST, _ORDINARY = map(np.array, (-750.0, 710.0, 709.79, 700.0))
FEW = 16  # elements up to which a loop is faster


def exponential(x: Any) -> Any:
    """The function `exponential` of kernels."""
    if x.size <= FEW:
        try:
            found = np.array([_of_one(element) for element in x.ravel().tolist()])
        except ValueError:  # nan
            pass
        else:
            return found if x.ndim == 1 else found.reshape(x.shape)
    # ufunc calls take a fifth less time than operators
    add, subtract, multiply = np.add, np.subtract, np.multiply
    y = np.minimum(np.maximum(x, _LEAST), _MOST)
    t = multiply(y, _NUMBERS["log2_e"])
    add(t, _MAGIC, t)
    k = subtract(t, _MAGIC)
    p = multiply(k, _NUMBERS["ln2_high"])
    subtract(y, p, y)
    multiply(k, _NUMBERS["ln2_low"], p)
    subtract(y, p, y)
    multiply(y, _TAYLOR[0], p)
    for c in _TAYLOR[1:-1]:
        add(p, c, p)
        multiply(p, y, p)
    add(p, _TAYLOR[-1], p)
    power = k.astype(np.intc)
    if not np.count_nonzero(np.absolute(x) > _ORDINARY):
        return np.ldexp(p, power)
    half = power >> 1  # a product rounds subnormal results: not every C library rounds them well
    return np.where(x > _LARGEST, np.inf, np.ldexp(p, half) * np.ldexp(1.0, power - half))


ON_ROWS["exponential"] = exponential
