"""Every formula of a distribution and every rule that it calls: the points at which they are reached, and mutants.

A mutant of a formula has one number, operator, choice or argument of a call changed; the points are those at which the
functions of `every_function.CASES` arrive at it.
"""

import ast
import copy
import functools
import inspect
import math
import textwrap
import types

import numpy as np
import pytest

import contad
from contad.distributions.faces import function_of_text
from contad.distributions.formula import Formula
from contad.rules import scalar_rule
from contad.rules.scalar_rule import ScalarRule, list_unlisted
from tests.distributions.every_function import CASES

HOMES = ("contad.distributions.", "contad.scipy.stats", "contad.stan.")
NAMES = {"_nan": math.nan, "_inf": math.inf}
OTHER = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
MUTANT = "mutant"
DEEP = 2  # rules whose partials call each other without end


def all_rules():
    """The formulas, and the rules with partials of their own, by their names."""
    found = [rule for rule in list_unlisted() if rule.__module__.startswith(HOMES)]
    formulas = {rule.name: rule for rule in found if isinstance(rule, Formula) and not rule.body.shortened}
    return formulas, {rule.name: rule for rule in found if not isinstance(rule, Formula)}


FORMULAS, RULES = all_rules()


# ---- points ----------------------------------------------------------------------------------------------------------
class Observed:
    """A rule that notes its arguments, and those of the rules that it calls."""

    def __init__(self, rule, found, depth):
        self.rule, self.found, self.depth = rule, found, depth

    def __call__(self, *args):
        seen = self.found.setdefault(self.rule.name, {})
        if args not in seen:
            if isinstance(self.rule, Formula):
                seen[args] = self.value_of_formula(args)
            else:
                seen[args] = self.rule(*args)
                if self.depth < DEEP:
                    run(self.rule.body.function, (seen[args], *args), self.found, self.depth + 1)
        return seen[args]

    def value_of_formula(self, args):
        """By its source, without the partials, which take longer to derive; outside of its domain by the rule."""
        own = dict(zip(self.rule.argument_names, args, strict=True))
        if not any(eval(test, NAMES | {"floor": math.floor}, own) for test, _ in self.rule.body.cases):
            value = run(self.rule.formula, args, self.found, self.depth)
            if value is not None:
                return float(value)
        return self.rule(*args)


def run(function, args, found, depth):
    """The value of a function of source, in which every rule of a distribution is observed; None where it has none."""
    if function not in READY:
        known = function.__globals__
        READY[function] = known | NAMES, [name for name, x in known.items() if is_own(x)]
    known, own = READY[function]
    observed = {name: Observed(known[name], found, depth) for name in own}
    try:
        return types.FunctionType(function.__code__, known | observed)(*args)
    except (ArithmeticError, ValueError):
        return None


READY = {}


def is_own(x):
    return isinstance(x, ScalarRule) and x.__module__.startswith(HOMES)


@functools.cache
def reached():
    """By the names of rules: the values by the arguments with which the functions of distributions call them."""
    found = {}
    for case in CASES.values():
        for point in case.points:
            Observed(case.face.formula, found, 0)(*map(float, point))
    return {name: {x: z for x, z in values.items() if math.isfinite(z)} for name, values in found.items()}


# ---- mutants ---------------------------------------------------------------------------------------------------------
def statements(tree):
    """Those of a formula, after its docstring."""
    first, *rest = tree.body[0].body
    return rest if isinstance(first, ast.Expr) else [first, *rest]


def is_choice(node):
    return isinstance(node, ast.Call) and getattr(node.func, "id", None) == "select"


def is_constant(node):
    return isinstance(getattr(node, "operand", node), ast.Constant)


def is_flat(rule, k):
    """Whether a rule has no derivative by its argument k, as it is written."""
    return isinstance(rule, ScalarRule) and rule.body.literal(k) == 0.0


def without_unused(tree):
    """The statements on which the result depends: others are for the other functions of the distribution."""
    needed, kept = set(), []
    for statement in reversed(statements(tree)):
        if isinstance(statement, ast.Return) or statement.targets[0].id in needed:
            kept.append(statement)
            needed |= {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return kept[::-1]


def nodes(tree):
    """The expressions of a formula whose values count.

    Not the conditions of its choices, nor the numbers that stand where a choice keeps an operation off its pole.
    """
    left_out = [n for c in ast.walk(tree) if isinstance(c, (ast.Compare, ast.BoolOp)) for n in ast.walk(c)]
    choices = [c for c in ast.walk(tree) if is_choice(c)]
    left_out += [n for c in choices for x in c.args if is_constant(x) for n in ast.walk(x)]
    found = (n for statement in without_unused(tree) for n in ast.walk(statement))
    return [n for n in found if not any(n is m for m in left_out)]


def other_constant(node):
    node.value = 1.001 * node.value or 0.001


def other_whole_constant(node):
    node.value = node.value + 1.0 if node.value not in (0.0, 1.0) else 1.0 - node.value


def other_operator(node):
    node.op = OTHER[type(node.op)]()


def other_choice(node):
    node.args[1:] = node.args[:0:-1]


def other_argument(node, k):
    node.args[k] = ast.BinOp(node.args[k], ast.Mult(), ast.Constant(1.001))


def changes(tree, known):
    """(the number of a node, what changes it in place) for each place of a formula."""
    flat = []  # whole numbers, and which of two functions is meant
    for k, node in enumerate(found := nodes(tree)):
        if isinstance(node, ast.Call) and not is_choice(node):
            rule = known.get(getattr(node.func, "id", None))
            flat += [n for j, x in enumerate(node.args) if is_flat(rule, j) for n in ast.walk(x)]
            for j, x in enumerate(node.args):
                if not is_flat(rule, j) and not is_constant(x):
                    yield k, functools.partial(other_argument, k=j)
        elif is_choice(node):
            yield k, other_choice
        elif isinstance(node, ast.BinOp) and type(node.op) in OTHER:
            yield k, other_operator
    for k, node in enumerate(found):
        if isinstance(node, ast.Constant):
            yield k, other_whole_constant if any(node is n for n in flat) else other_constant


def mutants(formula):
    """(the changed line, the source with this change) for each place of a formula."""
    source = textwrap.dedent(inspect.getsource(formula.formula))
    tree = ast.parse(source[source.index("def ") :])
    tree.body[0].name = MUTANT
    for k, change in changes(tree, formula.formula.__globals__):
        mutant = copy.deepcopy(tree)
        node = nodes(mutant)[k]
        line = next(s for s in statements(mutant) if any(n is node for n in ast.walk(s)))
        change(node)
        yield ast.unparse(line), ast.unparse(ast.fix_missing_locations(mutant)) + "\n"


def with_source(formula, source):
    """A formula as it is but for its source, which is in no list."""
    function = function_of_text(source, MUTANT, dict(formula.formula.__globals__))
    function.__module__ = formula.__module__
    body = formula.body
    made = Formula(function, body.cases, body.whole, (), flat=body.flat)
    scalar_rule._unlisted.pop(MUTANT)
    return made


def value_at(function, point):
    try:
        return float(function(*point))
    except (ArithmeticError, ValueError):
        return math.nan


def derivatives_at(rule, point, active):
    """First and second ones, by the arguments that take more than one value."""
    f = lambda p: rule(*(p[active.index(k)] if k in active else x for k, x in enumerate(point)))
    at = np.array([point[k] for k in active])
    with np.errstate(all="ignore"):
        return [*contad.grad(f)(at), *np.ravel(contad.hessian(f)(at))]


def near(x):
    return pytest.approx(x, rel=1e-7, abs=1e-300, nan_ok=True)


def unnoticed(formula, points):
    """The changed lines of mutants that have the values and the derivatives of the formula at all points."""
    names = formula.formula.__globals__ | NAMES
    own = types.FunctionType(formula.formula.__code__, names)
    expected = {point: near(value_at(own, point)) for point in points}
    varied = [k for k, column in enumerate(zip(*points, strict=True)) if len(set(column)) > 1]
    active = [k for k in varied if formula.argument_names[k] not in formula.body.whole]
    left = []
    for line, source in mutants(formula):
        exec(compile(source, "<mutant>", "exec"), names)
        if all(value_at(names[MUTANT], point) == x for point, x in expected.items()):
            mutant = with_source(formula, source)
            if not active or all(
                derivatives_at(mutant, point, active) == near(derivatives_at(formula, point, active))
                for point in points
            ):
                left.append(line)
    return left
