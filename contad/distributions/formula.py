"""Scalar rules that are one formula: the partials are derived from its source, by the rules of the functions it calls.

A formula is straight-line, like the body of a derivative: assignments and one return, with operators, rules and
`select`. It is split into single operations and differentiated once in reverse, like a sweep over cells. The result is
an ordinary body, which engines slice, inline and differentiate again. A formula may have cases: where the condition of
a case holds, its constant is the value, and the partials are 0, or nan if an argument is nan.
"""

import ast
import copy
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from contad.distributions.adjoint_formulas import Lines, Operations, pull_back
from contad.ops.logic import select
from contad.ops.rounding import floor
from contad.rules.body import RuleBody
from contad.rules.definition import definition_of, describe_statement, find_named
from contad.rules.float_loops import evaluate_few
from contad.rules.scalar_rule import ScalarRule, add_unlisted
from contad.rules.vectorised import ArrayFunction
from contad.variables.arguments import operand
from contad.variables.open_types import ArrayValue, Function, Real, Value

LOG_2 = 0.6931471805599453
LOG_PI = 1.1447298858494002
LOG_TWO_PI = 1.8378770664093453
LOG_SQRT_TWO_PI = 0.9189385332046727

Cases = Sequence[tuple[str, float]]


class Formula(ScalarRule):
    """A scalar rule made from one formula; see `formula`."""

    body: "FormulaBody"

    def __init__(
        self, function: Function, cases: Cases, whole: Sequence[str], points: Sequence[tuple[float, ...]],
        shortened: bool = False, flat: str = "", name: str = "",
    ) -> None:  # fmt: skip
        super().__init__(function, None, None, False, points)
        self.body = FormulaBody(function, self.arity, cases, whole, shortened, flat)
        if name:
            self.name = self.__name__ = name
        self.formula = function
        self.function = self.on_floats
        self.array = self.on_arrays
        self._short: Formula | None = None
        self._terms: Function | None = None
        self.in_branches, self.in_branches_known = ("", ""), dict[str, Any]()
        self.in_loops: Sequence[str] = ()
        add_unlisted(self)

    def constant_free(self, terms: Function) -> Function:
        """Declare the formula without its constants, if they are not separate terms; decorates that function."""
        self._terms = terms
        return terms

    def branch(self, text: str, short: str, **known: Any) -> None:
        """Give the expressions that compiled code evaluates for numbers inside the domain, the second without
        constants; `known` are their names.

        It computes the same in branches on whole numbers. So a function of parameters alone can leave a loop over data.
        """
        self.in_branches, self.in_branches_known = (text, short), known

    def loop(self, *lines: str) -> None:
        """Give the lines, the last one an expression, that compiled code evaluates for elements inside the domain.

        They call functions of parameters alone, so that these can leave a loop over data.
        """
        self.in_loops = lines

    def functions(self) -> tuple[Any, ...]:
        """The formula."""
        return (self.formula,)

    def has_no_data(self) -> bool:
        """A formula captures no data."""
        return True

    def evaluate(self, *args: Value) -> Real:
        """The value at plain numbers, with NumPy's results where Python would raise; for other arguments, the
        operation."""
        for x in args:
            if x.__class__ is not float:
                return self.general(args)
        value = self.body.partial(self.arity)(0.0, *args)
        return value if value.__class__ is float else operand(self.name, "its value", value)

    def on_floats(self, *args: float) -> float:
        """The value at floats."""
        found: float = self.body.partial(self.arity)(0.0, *args)
        return found

    def on_arrays(self, *args: Value) -> ArrayValue:
        """The value at arrays and floats, elementwise."""
        few = evaluate_few(self, args, ())
        if few is not None:
            return np.array(few)
        z = self.body.array_partial(self.arity)(0.0, *args)
        shape = np.broadcast_shapes(*map(np.shape, args))
        return z if np.shape(z) == shape else np.broadcast_to(z, shape)

    def partials_of_few(self, args: Sequence[Value], active: Sequence[int]) -> Sequence[Sequence[float]] | None:
        """The partials for some arguments, at few elements of arrays and floats."""
        few = evaluate_few(self, args, active)
        return None if few is None else few[1]

    def without_constants(self) -> "Formula":
        """The formula declared by `constant_free`, or the formula without terms that have no differentiated
        argument."""
        if self._short is None:
            given = self._terms or self.formula
            self._short = Formula(
                given, self.body.cases, self.body.whole, self.points, True, self.body.flat, f"{self.name}_propto"
            )
        return self._short


def formula(
    cases: Cases = (), whole: Sequence[str] = (), points: Sequence[tuple[float, ...]] = ()
) -> Callable[[Function], Formula]:
    """Make a rule from a formula; its derivatives follow from it.

    cases    (condition, constant): the value where a condition on the arguments holds; the first one counts
    whole    arguments that are whole numbers, without derivatives
    points   as in `scalar_rule`

    >>> @formula(cases=[("not sigma > 0.0", math.nan)])
    ... def kernel(x, sigma):
    ...     z = x / sigma
    ...     return -0.5 * z * z
    >>> kernel(3.0, 2.0), kernel.partial(0)(0.0, 3.0, 2.0), kernel(3.0, -2.0)
    (-1.125, -0.75, nan)
    """
    return lambda function: Formula(function, cases, whole, points)


class FormulaBody(RuleBody):
    """The partials of a formula, and its value, as one more partial after those of the arguments.

    flat      a condition on the arguments and the formula's own names under which the partials are 0: an intermediate
    value has underflowed, and a partial would be 0 times an infinite number
    """

    def __init__(
        self, function: Function, arity: int, cases: Cases, whole: Sequence[str], shortened: bool, flat: str = ""
    ) -> None:
        self.function = function
        self.arity = arity
        self.cases, self.whole, self.shortened, self.flat = tuple(cases), tuple(whole), shortened, flat
        self.parameters = ("_value", *function.__code__.co_varnames[:arity])
        self.extra: dict[str, Any] = {"_nan": math.nan, "_inf": math.inf, "_select": select, "floor": floor}
        self._parsed = None
        self._partials = [None] * (arity + 1)
        self._routes = [False] * arity
        self._on_arrays = {}

    def resolve(self, node: ast.expr) -> Any:
        """The names of other bodies, and those in derived partials."""
        if isinstance(node, ast.Name) and node.id in self.extra:
            return self.extra[node.id]
        return find_named(self.function, node, self._error, "; use the rules of contad.ops, absolute for abs")

    def name_of(self, called: Any) -> str:
        """A name for a rule that a derived partial calls."""
        name = "_select" if called is select else f"_rule_{called.name}"
        self.extra[name] = called
        return name

    def _compile(self, name: str, source: str, own: dict[str, Any], defaults: tuple[float, ...] = ()) -> Any:
        return super()._compile(name, source, own | self.extra, defaults)

    def _read(self) -> tuple[Lines, list[ast.expr]]:
        definition, _ = definition_of(self.function)
        if not isinstance(definition, ast.FunctionDef):
            raise self._error(definition, "a formula is written with def")
        statements = copy.deepcopy(definition.body)
        if isinstance(statements[0], ast.Expr) and isinstance(statements[0].value, ast.Constant):
            statements = statements[1:]
        local = {*self.parameters}
        operations = Operations(self, local)
        reader = self._hold_whole(operations)
        statements = [reader.visit(x) for x in statements]
        local.update(name for name, _ in operations.lines)
        for statement in statements[:-1]:
            if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
                raise self._error(statement, describe_statement(statement))
            name = statement.targets[0].id
            if name in local:
                raise self._error(statement, f"{name} is assigned twice; give each value its own name")
            self._check(statement.value, local)
            local.add(name)
            operations.assign(name, statement.value)
        last = statements[-1]
        if not isinstance(last, ast.Return) or last.value is None:
            raise self._error(last, "a formula ends with the return of its value")
        self._check(last.value, local)
        value = operations.without_constants(last.value, self.whole) if self.shortened else last.value
        result = operations.atom(value)
        lines, partials = pull_back(operations, result)
        found = [self._guard_partial(name, partials) for name in self.parameters[1:]]
        return [*operations.lines, *lines], [*found, self._guard(result, dict(self.cases))]

    def _hold_whole(self, operations: Operations) -> ast.NodeTransformer:
        """Lines that read whole-number arguments as constants, so that partials have no derivative in them."""
        held = {name: f"_whole_{name}" for name in self.whole}
        for name, constant in held.items():
            called = ast.Name(self.name_of(as_constant), ast.Load())
            operations.assign(constant, ast.Call(called, [ast.Name(name, ast.Load())], []))

        class Reader(ast.NodeTransformer):
            def visit_Name(self, node: ast.Name) -> ast.Name:
                return ast.copy_location(ast.Name(held.get(node.id, node.id), node.ctx), node)

        return Reader()

    def _guard_partial(self, name: str, partials: Mapping[str, ast.expr]) -> ast.expr:
        partial = partials.get(name)
        if name in self.whole or partial is None:
            return ast.Constant(0.0)
        constants = {test: x if math.isnan(x) else 0.0 for test, x in self.cases}
        return self._guard(partial, constants | ({self.flat: 0.0} if self.flat else {}))

    def _guard(self, expression: ast.expr, cases: Mapping[str, float]) -> ast.expr:
        """An expression if no case holds, otherwise the constant of the first case that does."""
        for condition, x in reversed(list(cases.items())):
            text = "_nan" if math.isnan(x) else repr(x) if math.isfinite(x) else "_inf" if x > 0 else "-_inf"
            test, constant = (ast.parse(t, mode="eval").body for t in (condition, text))
            expression = ast.Call(ast.Name("_select", ast.Load()), [test, constant, expression], [])
        return ast.fix_missing_locations(expression)


def unlisted_rule(
    points: Sequence[tuple[float, ...]] = (), array: ArrayFunction | None = None
) -> Callable[[Function], ScalarRule]:
    """A scalar rule with its own partials, for formulas to call: found by name, but not listed among the rules."""

    def declare(function: Function) -> ScalarRule:
        rule = ScalarRule(function, None, None, False, points, array)
        add_unlisted(rule)
        return rule

    return declare


@unlisted_rule(points=[(3.0,)], array=np.positive)
def as_constant(n):
    """n as a constant."""
    return n


@as_constant.partials
def as_constant_partials(z, n):
    return 0.0


def where(positive: str = "", valid: str = "", outside: str = "") -> Cases:
    """The cases of a log density: positive or valid parameters, and where the density is 0.

    >>> where("sigma", outside="y < 0.0")
    [('not sigma > 0.0', nan), ('y < 0.0', -inf)]
    """
    invalid = [f"not {name} > 0.0" for name in positive.split()] + ([f"not ({valid})"] if valid else [])
    if outside.startswith("n "):  # its test for a whole number is true for nan
        invalid.append("n != n")
    return [*((test, math.nan) for test in invalid), *([(outside, -math.inf)] if outside else [])]


# ---- comparisons and selections as numbers ---------------------------------------------------------------------------
# In recorded programs a comparison of computed values is 1 or 0, and a selection the sum of the parts that each side
# keeps, so that the choice is made again at other inputs.
POINTS = [(0.3, 0.7), (0.7, 0.3), (0.5, 0.5)]


@unlisted_rule(points=POINTS)
def is_less(x, y):
    """1 where x < y, otherwise 0."""
    return 1.0 if x < y else 0.0


@is_less.partials
def is_less_partials(z, x, y):
    return 0.0, 0.0


@unlisted_rule(points=POINTS)
def is_at_most(x, y):
    """1 where x <= y, otherwise 0."""
    return 1.0 if x <= y else 0.0


@is_at_most.partials
def is_at_most_partials(z, x, y):
    return 0.0, 0.0


@unlisted_rule(points=POINTS)
def is_equal(x, y):
    """1 where x = y, otherwise 0."""
    return 1.0 if x == y else 0.0


@is_equal.partials
def is_equal_partials(z, x, y):
    return 0.0, 0.0


@unlisted_rule(points=[(0.0, 0.7), (1.0, 0.3)])
def keep(condition, x):
    """x where a condition is not 0, otherwise 0, whatever x is."""
    return x if condition != 0.0 else 0.0


@keep.partials
def keep_partials(z, condition, x):
    return 0.0, select(condition != 0.0, 1.0, 0.0)


CHOICES = is_less, is_at_most, is_equal, keep
