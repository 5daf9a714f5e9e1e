"""Changes of the functions that densities of vectors are made of, one at a time, and whether the points notice them.

A function is changed in place, by its code, so that whatever has its name calls the changed one. It is noticed where a
value, a derivative, the value without constants, or that of a body for compiled code is another one at a point. What
only raises is not changed: the tests of refusals are for that.
"""

import ast
import contextlib
import copy
import functools
import inspect
import sys
import types

import numpy as np

import contad
from contad import stan
from contad.scipy import multivariate_densities, vector_densities
from contad.stan import bodies, glms, linear_filters, multivariate, ordered_outcomes
from contad.stan.compiled import WithBodies
from contad.stan.functionals import forward_backward, hidden_markov
from tests.distributions.vector_points import CASES, active_of, of_free_numbers

HOMES = (
    bodies, vector_densities, multivariate_densities, multivariate, glms, ordered_outcomes, linear_filters,
    hidden_markov, forward_backward,
)  # fmt: skip
OTHER = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.Gt: ast.LtE,
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.MatMult: ast.Mult,
}  # fmt: skip
CHECKS = ("is_", "are_", "has_", "increases", "_check", "_require", "require_", "_fail", "__init__", "refuse")


class Target:
    """A function whose code is changed."""

    def __init__(self, module, node, function, attribute=None):
        self.module, self.function, self.attribute = module, function, attribute
        self.node = copy.deepcopy(node)
        self.node.decorator_list = []
        self.name = f"{module.__name__.rpartition('.')[2]}.{function.__qualname__}"

    @contextlib.contextmanager
    def changed(self, node=None):
        """With the code of another definition; of compiled functions with that of Python."""
        code, compiled = self.function.__code__, self.attribute and getattr(self.module, self.attribute)
        if self.attribute:
            setattr(self.module, self.attribute, self.function)
        if node is not None:
            made = compile(ast.fix_missing_locations(ast.Module([node], [])), self.module.__file__, "exec")
            self.function.__code__ = next(x for x in made.co_consts if isinstance(x, types.CodeType))
        try:
            yield
        finally:
            self.function.__code__ = code
            if self.attribute:
                setattr(self.module, self.attribute, compiled)

    def mutants(self):
        """(the changed line, the changed definition)."""
        for k in range(len(changes(self.node))):
            mutant = copy.deepcopy(self.node)
            line, change = changes(mutant)[k]
            change()
            yield ast.unparse(line).partition("\n")[0], mutant


@functools.cache
def all_targets():
    found = {}
    for module in HOMES:
        for node in ast.parse(inspect.getsource(module)).body:
            members = node.body if isinstance(node, ast.ClassDef) else [node]
            home = getattr(module, node.name) if isinstance(node, ast.ClassDef) else module
            for member in members:
                if isinstance(member, ast.FunctionDef) and not member.name.startswith(CHECKS):
                    x = getattr(home, member.name)
                    x = x.fget if isinstance(x, property) else x
                    attribute = member.name if hasattr(x, "py_func") else None
                    function = getattr(x, "py_func", x.function if isinstance(x, WithBodies) else x)
                    target = Target(module, member, function, attribute)
                    found[target.name] = target
    return found


# ---- changes ---------------------------------------------------------------------------------------------------------
def raises(statement):
    """Whether a statement is only there to raise, or is a call for what it checks."""
    if isinstance(statement, ast.If) and isinstance(statement.body[-1], (ast.Raise, ast.Expr)):
        return not statement.orelse
    return isinstance(statement, (ast.Expr, ast.Raise, ast.Import, ast.ImportFrom))


def statements(node):
    """The innermost statements of a function that compute something, and what of them is evaluated."""
    for statement in node.body:
        if raises(statement):
            continue
        if isinstance(statement, (ast.If, ast.For, ast.Try, ast.While)):
            if isinstance(statement, ast.If):
                yield statement, [statement.test]
            if isinstance(statement, ast.For):
                yield statement, [statement.iter]
            yield from statements(statement)
            if getattr(statement, "orelse", None):
                yield from statements(ast.Module(statement.orelse, []))
        elif isinstance(statement, ast.FunctionDef):
            yield from statements(statement)
        elif getattr(statement, "value", None) is not None:
            yield statement, [statement]


def nodes(root):
    """The expressions in a statement, but for annotations, places of shapes, and options that only check."""
    if isinstance(root, ast.keyword) and root.arg in ("check_finite", "name", "argument"):
        return
    yield root
    if isinstance(root, ast.Subscript) and ast.unparse(root.value).rpartition("(")[0].endswith("np.shape"):
        return
    if isinstance(root, ast.Subscript) and ast.unparse(root.value).endswith(".shape"):
        return
    if isinstance(root, ast.Call) and ast.unparse(root.func).endswith("reshape"):
        root = ast.Tuple([x for x in root.args if "-1" not in ast.unparse(x)], ast.Load())
    for name, field in ast.iter_fields(root):
        if name != "annotation":
            for child in field if isinstance(field, list) else [field]:
                if isinstance(child, ast.AST):
                    yield from nodes(child)


def changes(function):
    """(the statement, what changes it in place) of each place of a definition."""
    return [
        (statement, change) for statement, parts in statements(function)
        for part in parts for node in nodes(part) for change in changes_of(node)
    ]  # fmt: skip


def changes_of(node):
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in OTHER:
        yield lambda: setattr(node, "op", OTHER[type(node.op)]())
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in OTHER:
        yield lambda: node.ops.__setitem__(0, OTHER[type(node.ops[0])]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield lambda: setattr(node, "op", ast.UAdd())
    elif isinstance(node, ast.Constant):
        old = node.value
        if isinstance(old, bool):
            yield lambda: setattr(node, "value", not old)
        elif isinstance(old, int):
            yield lambda: setattr(node, "value", old + 1)
        elif isinstance(old, float):
            yield lambda: setattr(node, "value", 1.001 * old or 0.001)


# ---- what is noticed -------------------------------------------------------------------------------------------------
def body_of(case, point, *more):
    if isinstance(case.function, WithBodies):
        return case.function.body((*map(np.ndim, point), *(0 for _ in more)))
    return None


def outcomes(case):
    """Numbers, of each point in turn."""
    for point in case.points:
        value, bars = contad.value_and_grad(case.function, active_of(case, point))(*point)
        yield float(value)
        yield from (np.asarray(bar, dtype=float) for bar in bars)
        if has_propto(case):
            yield float(case.function(*point, propto=True))
        for extra in ((), (True,)):
            if body := body_of(case, point, *extra):
                yield float(body(*point, *extra))
    if case.function is stan.hmm_marginal:  # which has partials of its own
        function, at = of_free_numbers(case, case.points[1])
        yield contad.hessian(function)(at)
        along = (np.cos(np.arange(len(at))),)
        slope = lambda v: contad.jvp(function, (v,), along)[1]
        yield float(slope(at))
        yield float(contad.jvp(slope, (at,), along)[1])


def has_propto(case):
    function = getattr(case.function, "function", case.function)
    return "propto" in inspect.signature(function).parameters


def run(case):
    """The function and its bodies, without derivatives where variables take the same way."""
    for point in case.points:
        if case.function.__module__.startswith("contad.stan"):
            case.function(*point)
            if body := body_of(case, point):
                body(*point)
        else:
            contad.value_and_grad(case.function, active_of(case, point))(*point)


@functools.cache
def expected(name):
    """The numbers of a case, with compiled functions as Python runs them."""
    with contextlib.ExitStack() as stack:
        for target in all_targets().values():
            if target.attribute:
                stack.enter_context(target.changed())
        return list(outcomes(CASES[name]))


@functools.cache
def codes_of(name):
    """What a case runs."""
    seen = set()
    with contextlib.ExitStack() as stack:
        for target in all_targets().values():
            if target.attribute:
                stack.enter_context(target.changed())
        sys.setprofile(lambda frame, event, arg: seen.add(frame.f_code))
        try:
            run(CASES[name])
        finally:
            sys.setprofile(None)
    return seen


def cases_of(target):
    """The names of the cases that run a function; first those of few points, and logarithms."""
    home = target.module.__name__
    prefix = ("stan.",) if home.startswith("contad.stan") else ("stats.",) if "scipy" in home else ("stan.", "stats.")
    names = sorted(CASES, key=lambda name: (name.endswith((".pdf", ".pmf")), len(CASES[name].points)))
    return [name for name in names if name.startswith(prefix) and target.function.__code__ in codes_of(name)]


def is_noticed(names):
    """Whether the numbers of a case are others."""
    with np.errstate(all="ignore"):
        for name in names:
            try:
                for got, known in zip(outcomes(CASES[name]), expected(name), strict=True):
                    if not np.allclose(got, known, rtol=1e-8, atol=1e-300, equal_nan=True):
                        return True
            except Exception:
                return True
    return False


def unnoticed(target):
    """(the changed lines that no number tells, how many changes there are)."""
    names, left, count = cases_of(target), [], 0
    for name in names:
        expected(name)
    for line, mutant in target.mutants():
        count += 1
        with target.changed(mutant):
            if not is_noticed(names):
                left.append(line)
    return left, count


# ---- expressions of bodies -------------------------------------------------------------------------------------------
def unnoticed_expressions(name):
    """Likewise, of the expressions that compiled code has for the axes of the arguments."""
    case, left, count = CASES[name], [], 0
    own = case.function
    for pattern, text in own.ways.items():
        tree = ast.parse(text.replace("PROPTO", ""), mode="eval")
        places = [(k, j) for k, node in enumerate(nodes(tree)) for j, _ in enumerate(changes_of(node))]
        for k, j in places:
            count += 1
            mutant = copy.deepcopy(tree)
            list(changes_of(list(nodes(mutant))[k]))[j]()
            changed = ast.unparse(mutant)
            made = WithBodies(own.function, {pattern: changed}, own.demands, (), "", False, (), "", own.known)
            if not is_other_body(made, case):
                left.append(ast.unparse(mutant))
    return left, count


def is_other_body(made, case):
    for point in case.points:
        axes = tuple(map(np.ndim, point))
        if body := made.body(axes):
            try:
                if abs(body(*point) - case.function.body(axes)(*point)) > 1e-9:
                    return True
            except Exception:
                return True
    return False
