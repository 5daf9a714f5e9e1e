"""The points at which formulas are judged notice a change anywhere in them."""

import ast
import copy
import inspect
import math
import textwrap
import types

import pytest
from mpmath import mp

from contad.distributions.faces import Face
from contad.stan import densities, distribution_functions
from tests.distributions.reference_densities import LOG_DENSITIES, POINTS


def faces(module):
    return {name: face for name, face in vars(module).items() if isinstance(face, Face)}


DENSITIES, OTHERS = faces(densities), faces(distribution_functions)
OTHERS = {name: face for name, face in OTHERS.items() if name.endswith(("lcdf", "lccdf"))}
OTHER = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}


SAME = {
    # the 1 is added to a square of 1e14 and more
    "student_t_lpdf": ["logarithm = select(near, 0.5 * log1p(s * s), log(hypot(1.001, select(near, 1.0, q))))"],
}
# where a formula takes a way of its own
FURTHER = {"student_t": [(-1e130, 3.2, 0.3, 1.4), (1e130, 3.2, 0.3, 1.4)], "uniform": [(1.2, 0.3, 1.4)]}


def places(tree):
    """The numbers, operators, calls and choices of a formula.

    Not the conditions of its choices, nor the numbers that stand where a choice keeps an operation off its pole.
    """
    left_out = [n for c in ast.walk(tree) if isinstance(c, ast.Compare) for n in ast.walk(c)]
    left_out += [n for c in ast.walk(tree) if is_choice(c) for n in c.args if isinstance(n, ast.Constant)]
    left_out += [c.args[0] for c in ast.walk(tree) if is_part(c)]  # which of two functions, 0 or 1
    left_out += [n for s in tree.body[0].body[1:] if is_unused(s, tree) for n in ast.walk(s)]
    body = (n for statement in tree.body[0].body[1:] for n in ast.walk(statement))
    return [
        n for n in body
        if isinstance(n, (ast.BinOp, ast.Call, ast.Constant)) and not any(n is m for m in left_out)
    ]  # fmt: skip


def is_unused(statement, tree):
    """Whether no expression names what it assigns: a name that the other functions of a distribution use."""
    names = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    return isinstance(statement, ast.Assign) and statement.targets[0].id not in names


def is_choice(node):
    return isinstance(node, ast.Call) and getattr(node.func, "id", None) == "select"


def is_part(node):
    return isinstance(node, ast.Call) and getattr(node.func, "id", None) == "log_gamma_part"


def changed(node):
    """Make the node another one, in place; None where it has no other."""
    if isinstance(node, ast.Constant):
        node.value = 1.001 * node.value or 0.001
    elif isinstance(node, ast.BinOp) and type(node.op) in OTHER:
        node.op = OTHER[type(node.op)]()
    elif is_choice(node):
        node.args[1:] = node.args[:0:-1]
    elif isinstance(node, ast.Call) and len(node.args) == 1 and node.args[0].__class__ is not ast.Constant:
        node.args[0] = ast.BinOp(node.args[0], ast.Mult(), ast.Constant(1.001))
    else:
        return False
    return True


def mutants(function):
    """(the changed line, the function with this change) for each place of its source."""
    source = textwrap.dedent(inspect.getsource(function))
    tree = ast.parse(source[source.index("def ") :])
    for k in range(len(places(tree))):
        mutant = copy.deepcopy(tree)
        node = places(mutant)[k]
        if not changed(node):
            continue
        names = function.__globals__ | {"_nan": math.nan, "_inf": math.inf}
        exec(compile(ast.fix_missing_locations(mutant), "<mutant>", "exec"), names)
        line = next(s for s in mutant.body[0].body[1:] if any(n is node for n in ast.walk(s)))
        yield ast.unparse(line), types.FunctionType(names[function.__name__].__code__, names)


def values(function, points):
    for point in points:
        try:
            yield float(function(*point))
        except (ArithmeticError, ValueError):
            yield math.nan


def unnoticed(formula, points, expected):
    near = [pytest.approx(x, rel=1e-7, abs=1e-7, nan_ok=True) for x in expected]
    assert list(values(formula, points)) == near
    return [line for line, mutant in mutants(formula) if list(values(mutant, points)) == near]


@pytest.mark.parametrize("name", DENSITIES)
def test_densities(name):
    with mp.workdps(30):
        exact = [float(LOG_DENSITIES[name](*map(mp.mpf, point))) for point in POINTS[name]]
    assert unnoticed(DENSITIES[name].formula.formula, POINTS[name], exact) == SAME.get(name, [])


@pytest.mark.parametrize("name", OTHERS)
def test_distribution_functions(name):
    """Whose values and derivatives are judged in `test_cumulative.py`; here at points on both sides of the middle."""
    formula, base = OTHERS[name].formula.formula, name.rsplit("_", 1)[0]
    points = POINTS.get(f"{base}_lpdf") or POINTS[f"{base}_lpmf"]
    whole = f"{base}_lpmf" in POINTS
    points = [(round(s * y) if whole else s * y, *args) for y, *args in points for s in (0.03, 0.3, 1.0, 2.5, 8.0)]
    points += FURTHER.get(base, [])
    formula = types.FunctionType(formula.__code__, formula.__globals__ | {"_nan": math.nan, "_inf": math.inf})
    assert unnoticed(formula, points, list(values(formula, points))) == SAME.get(name, [])
