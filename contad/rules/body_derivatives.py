"""The derivatives of a partial derivative: a body differentiated as source, once, at the speed of NumPy.

A body is straight-line and calls only operators, rules and `select`, so its derivative with respect to a parameter is
another straight-line program, which uses the partials of the called rules. It does not mask zeros: where a zero meets a
value that is not finite the result is nan, and the caller falls back to duals.
"""

import ast
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contad.rules.body import SYMBOLS, RuleBody
from contad.rules.scalar_rule import ScalarRule
from contad.rules.vectorised import REWRITTEN, Vectoriser
from contad.variables.open_types import ArrayValue, Function, Rule

Derivatives = Callable[..., tuple[ArrayValue, ...]]
Dots = dict[str, str]  # parameter -> source of an expression's derivative; absent if it is zero
_made: dict[tuple[Function, str], Derivatives] = {}  # keyed by the partial on arrays, and the activity


def derivatives_of_partial(rule: Rule, k: int, active: str) -> Derivatives:
    """A function of (z, *arguments), arrays or floats, that returns partial k of a rule and its derivatives.

    The derivatives are with respect to z and to each active argument (a "v" in `active`), and None if zero. Raises
    LookupError if the body has no such form.
    """
    partial = rule.array_partial(k)
    found = _made.get((partial, active))
    if found is None:
        found = _made[partial, active] = _Differentiated(rule.body, active).function(k)
    return found


class _Differentiated:
    """Lines that compute values and derivatives of the expressions of a body."""

    def __init__(self, body: RuleBody, active: str) -> None:
        self.body = body
        z, *arguments = body.parameters
        self.parameters = [z, *(x for x, kind in zip(arguments, active, strict=True) if kind == "v")]
        self.dots: dict[str, Dots] = {x: {x: "1.0"} for x in self.parameters}  # by name
        self.form = Vectoriser(lambda node: getattr(body.resolve(node), "is_select", False))
        self.lines: list[str] = []
        self.names: dict[str, Any] = REWRITTEN | {"_numpy": np}

    def function(self, k: int) -> Derivatives:
        try:
            assignments, result = self.body.slice(k)
        except OSError:
            raise LookupError("a body typed at a prompt has no source") from None
        for name, value in assignments:
            if self.form.is_condition(value):
                self.lines.append(self.form.write_assignment(name, value))
                continue
            source, self.dots[name] = self.parts(value)
            self.lines.append(f"{name} = {source}")
        value_of_result, dots = self.parts(result)
        name = f"{self.body.function.__name__}_{k}_derivatives"
        returned = ", ".join([value_of_result, *(dots.get(x, "None") for x in self.parameters)])
        lines = "\n    ".join([*self.lines, f"return {returned}"])
        source = f"def {name}({', '.join(self.body.parameters)}):\n    {lines}"
        function: Derivatives = self.body._compile(name, source, self.names)
        return function

    def _name(self, source: str) -> str:
        """Assign a value to a new name."""
        name = f"_v{len(self.lines)}"
        self.lines.append(f"{name} = {source}")
        return name

    def parts(self, node: ast.expr) -> tuple[str, Dots]:
        """The source of the value, and those of the derivatives; each is a name or short."""
        if self.form.is_condition(node):
            return ast.unparse(self.form.number(node)), {}
        if isinstance(node, ast.Name):
            return node.id, self.dots.get(node.id, {})
        if isinstance(node, (ast.Constant, ast.Attribute)):
            return ast.unparse(node), {}
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value, dots = self.parts(node.operand)
            return self._name(f"-{value}"), {x: self._name(f"-{dot}") for x, dot in dots.items()}
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        if isinstance(node, ast.Call):
            return self._select(node) if getattr(self.body.resolve(node.func), "is_select", False) else self._rule(node)
        raise LookupError(f"no derivative of {ast.unparse(node)}")

    def _operation(self, node: ast.BinOp) -> tuple[str, Dots]:
        (x, x_dots), (y, y_dots) = self.parts(node.left), self.parts(node.right)
        operator = SYMBOLS.get(type(node.op))
        if operator in (None, "%"):
            raise LookupError(f"no derivative of {ast.unparse(node)}")
        z = self._name(f"{x} {operator} {y}")
        if operator == "//":
            return z, {}
        by_x, by_y = {
            "+": ("1.0", "1.0"), "-": ("1.0", "-1.0"), "*": (y, x), "/": (f"(1.0 / {y})", f"(-{z} / {y})"),
            "**": (f"({y} * {x} ** ({y} - 1))", ""),
        }[operator]  # fmt: skip
        return z, self._add_up([(x_dots, by_x), (y_dots, by_y)])

    def _add_up(self, terms: Sequence[tuple[Dots, str]]) -> Dots:
        """The sums of derivatives of operands times partials."""
        found = {}
        for x in self.parameters:
            factors = [(dots[x], partial) for dots, partial in terms if x in dots]
            products = [a if b == "1.0" else b if a == "1.0" else f"{a} * {b}" for a, b in factors]
            if products:
                found[x] = products[0] if len(products) == 1 and products[0] == "1.0" else self._name(
                    " + ".join(products)
                )  # fmt: skip
        return found

    def _select(self, node: ast.Call) -> tuple[str, Dots]:
        condition, *branches = node.args
        test = self._name(ast.unparse(self.form.rewritten(condition)))
        (x, x_dots), (y, y_dots) = map(self.parts, branches)
        dots = {
            p: self._name(f"_numpy.where({test}, {x_dots.get(p, 0.0)}, {y_dots.get(p, 0.0)})")
            for p in self.parameters
            if p in x_dots or p in y_dots
        }
        return self._name(f"_numpy.where({test}, {x}, {y})"), dots

    def _rule(self, node: ast.Call) -> tuple[str, Dots]:
        rule = self.body.resolve(node.func)
        values, dots = zip(*map(self.parts, node.args), strict=True)
        z = self._name(f"{ast.unparse(node.func)}({', '.join(values)})")
        terms = []
        for k, own in enumerate(dots):
            if own and rule.body.literal(k) != 0.0:
                name = f"_p{len(self.names)}"
                self.names[name] = rule.array_partial(k)
                terms.append((own, self._name(f"{name}({', '.join((z, *values))})")))
        return z, self._add_up(terms)


# ---- existing second derivatives -------------------------------------------------------------------------------------
@functools.cache
def bent_pairs(rule: ScalarRule, active: str, live: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Pairs of positions in `live` by which the rule may have a second derivative other than 0; each pair once."""
    everything = tuple(itertools.combinations_with_replacement(range(len(live)), 2))
    variables = [a for a, kind in enumerate(active) if kind == "v"]
    found = set()
    try:
        for a, k in enumerate(live):
            with np.errstate(all="ignore"):  # what is asked is which derivatives there are, not what they are here
                _, by_z, *by_arguments = derivatives_of_partial(rule, k, active)(*[np.float64(0.5)] * (rule.arity + 1))
            found |= {
                (min(a, b), max(a, b)) for b, j in enumerate(live)
                if by_z is not None or by_arguments[variables.index(j)] is not None
            }  # fmt: skip
    except (LookupError, AttributeError, ArithmeticError, TypeError, ValueError):
        return everything
    return tuple(pair for pair in everything if pair in found)
