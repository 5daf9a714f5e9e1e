"""Mutants of the array rules: their vjp and jvp bodies, the functions that these are written with, and the pullbacks.

Each mutant changes one place of one function. Those that are the same function cannot be killed; `SAME` lists them with
the reason, and `tests/judges/test_mutation.py` demands that each of them does survive.
"""

import __future__

import ast
import builtins
import contextlib
import copy
import inspect
import sys
import textwrap
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from contad.engines.stream import array_callbacks, pullbacks
from contad.rules.array_rule import ArrayRule, array_rules
from contad.rules.definition import definition_of
from contad.testing import expect_ad
from contad.variables.number import primal
from tests.judges.array_derivatives import report, split

# `scale` but for what it masks
COMMUTATIVE = ("scale", "np.minimum", "np.maximum", "min", "max", "scale_cotangent", "width_cotangent")
# what tells shapes, what decides where numbers are masked or how they are shifted, and values of Fourier transforms:
# they have tests of their own
SHAPES = ("np.shape", "np.size", "np.ndim", "len", "count", "freedom")
APART = (
    "plain", "all_finite", "in_range", "scale", "as_array", "largest", "reduced_axes", "kept_shape", "lanes",
    "from_lanes", "fold", "without_zeros", "_real", "centre_of", "known_distances",
    "_apply", "_join", "_parts",
)  # fmt: skip

PIECEWISE, LAST = "the slope is piecewise constant in x", "the last piece ends at n - 1"
SHIFT, ENDLESS = "the shift cancels", "for infinite elements, which tests/ops/test_array_rules.py has"
BEHIND = "what is behind the elements is not read"
LOGARITHM = "log(c a) = log(a) + log(c) 1: the corner is the same"
# mutants that are the same function at every point here: rule, kind, function, a part of the line; the reason
SAME: dict[tuple[str, str, str, str], str] = {
    ("interp", "detached", "interp_vjp_x", "slope(PRIMAL(x), fp, xp)"): PIECEWISE,
    ("interp", "detached", "interp_jvp", "slope(PRIMAL(x), fp, xp)"): PIECEWISE,
    ("interp", "+ and -", "interp_cotangent", "np.minimum(j + 1, n + 1)"): LAST,
    ("interp", "dropped term", "interp_cotangent", "np.minimum(j + 1, n)"): LAST,
    ("convolve", "swapped", "convolve_cotangent", "convolve(np.flip(p, 0), d"): "convolution commutes",
    ("einsum_pair", "swapped", "einsum_cotangent", "pair[k - 1]"): "of two operands, -1 is the place of 1",
    ("logsumexp", "forgotten axis", "shares", "top = largest(v, w, None)"): SHIFT,
    ("logsumexp", "+ and -", "shares", "finite + np.where(np.isinf(top)"): SHIFT,
    ("logsumexp", "dropped term", "shares", "-np.inf, finite))"): SHIFT,
    ("logsumexp", "swapped", "shares", "np.where(np.where(v == top, 0.0, -np.inf), endless, a)"): ENDLESS,
    ("logsumexp", "sign", "shares", "np.where(v == top, 0.0, np.inf)"): ENDLESS,
    ("std", "forgotten axis", "direction", "deviation(deviation(a, "): "the other of the two takes the mean away",
    ("std", "sign", "deviation", "return -(a - np.mean"): "it is called twice",
    ("std", "swapped", "deviation", "keepdims=True) - a"): "it is called twice",
    ("toeplitz_product", "+ and -", "fit", "np.zeros(n + m, "): BEHIND,
    ("toeplitz_product", "dropped term", "fit", "np.zeros(n, "): BEHIND,
    ("toeplitz_solution", "+ and -", "fit", "np.zeros(n + m, "): BEHIND,
    ("toeplitz_solution", "dropped term", "fit", "np.zeros(n, "): BEHIND,
    ("logm", "1.001 times", "with_direction", "return 1.001 * np.concatenate"): LOGARITHM,
    ("logm", "forgotten axis", "with_direction", "a], axis=-1)])"): "it takes one matrix, whose first axis is -2",
}


class ArrayMutant(NamedTuple):
    """One wrong version of an array rule, or of how its cotangents are accumulated."""

    rule: ArrayRule
    kind: str
    place: str
    planted: Callable[[], Any]  # a context in which the library is wrong

    @property
    def name(self) -> str:
        return f"{self.rule.name}: {self.kind} {self.place}"

    @property
    def same(self) -> str | None:
        """Why it is the same function, if it is."""
        for entry, reason in SAME.items():
            if self.matches(entry):
                return reason
        return None

    def matches(self, entry: tuple[str, str, str, str]) -> bool:
        """Whether an entry of `SAME` is about this mutant."""
        rule, kind, function, part = entry
        return (rule, kind) == (self.rule.name, self.kind) and (
            self.place.startswith(f"{function}: ") and part in self.place
        )


def own_rules() -> list[ArrayRule]:
    """The array rules of contad."""
    return [rule for rule in array_rules() if rule.__module__.startswith("contad.ops.")]


def array_mutants(rule: ArrayRule, order: int = 2) -> list[ArrayMutant]:
    """Every mutant of a rule; detached ones only where second derivatives are checked."""
    made: list[ArrayMutant] = []
    for function, lines in reached(rule).items():
        definition, _ = definition_of(function)
        arguments = rule.argument_names if function in _bodies(rule) else ()
        for kind, changed in _changes(definition, lines, arguments, order):
            place = f"{function.__name__}: {_difference(definition, changed)}"
            made.append(ArrayMutant(rule, kind, place, _planted(rule, function, changed)))
    return made + [ArrayMutant(rule, "= for +=", place, planted) for place, planted in _assignments(rule)]


def _bodies(rule: ArrayRule) -> list[Any]:
    return [*rule.vjps.values(), *(body for body in (rule.common_body, rule.jvp_body) if body)]


def _is_changed(x: Any) -> bool:
    """Whether x is a function of the operations, and none that is known to have tests of its own."""
    return isinstance(x, types.FunctionType) and x.__module__.startswith("contad.ops.") and x.__name__ not in APART


def reached(rule: ArrayRule) -> dict[Any, set[int]]:
    """The bodies of a rule, and the functions of its file that they call, with the lines that run at its points.

    The other lines are for infinite numbers and for empty arrays, which have tests of their own.
    """
    bodies = _bodies(rule)
    names = vars(sys.modules[rule.__module__])
    functions = {f.__code__: f for f in names.values() if _is_changed(f)}
    functions |= {body.__code__: body for body in bodies}
    lines: dict[Any, set[int]] = {body: set() for body in bodies}
    inside = [0]

    def trace(frame: types.FrameType, event: str, argument: Any) -> Any:
        function = functions.get(frame.f_code)
        if function is None or (not inside[0] and function not in bodies):
            return None
        inside[0] += 1

        def local(frame: types.FrameType, event: str, argument: Any) -> Any:
            lines.setdefault(function, set()).add(frame.f_lineno)
            if event == "return":
                inside[0] -= 1
            return local

        return local

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for point in rule.points:
            report(rule, *split(point))
    finally:
        sys.settrace(before)
    lines.pop(rule.function, None)
    return lines


# ---- changes of a function -------------------------------------------------------------------------------------------
def _changes(
    definition: Any, lines: set[int], arguments: tuple[str, ...], order: int
) -> Iterator[tuple[str, Any]]:  # fmt: skip
    """Copies of a definition with one change each, in statements that run."""
    nodes = list(ast.walk(definition))
    changeable = [
        id(node)
        for statement in nodes
        if isinstance(statement, (ast.Assign, ast.AugAssign, ast.Return, ast.Expr))
        and lines.intersection(range(statement.lineno, statement.end_lineno + 1))
        for node in _numeric(statement)
    ]
    for k, node in enumerate(nodes):
        for kind, new in _replacements(node, arguments, order) if id(node) in changeable else ():
            changed = copy.deepcopy(definition)
            yield kind, _Replaced(list(ast.walk(changed))[k], new).visit(changed)


def _numeric(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of an expression but for those that only ask for shapes."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in SHAPES:
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _numeric(child)


class _Replaced(ast.NodeTransformer):
    def __init__(self, target: ast.AST, new: ast.AST) -> None:
        self.target = target
        self.new = new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.target else self.generic_visit(node)


def _replacements(node: ast.AST, arguments: tuple[str, ...], order: int) -> Iterator[tuple[str, ast.AST]]:
    """What may stand wrongly in the place of a node."""
    if isinstance(node, ast.Return) and not isinstance(node.value, ast.Tuple):
        yield "sign", ast.Return(ast.UnaryOp(ast.USub(), node.value))
        yield "1.001 times", ast.Return(ast.BinOp(ast.Constant(1.001), ast.Mult(), node.value))
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        yield "+ and -", ast.BinOp(node.left, other, node.right)
        yield "dropped term", node.left
        if isinstance(node.op, ast.Add):
            yield "dropped term", node.right
        else:
            yield "swapped", ast.BinOp(node.right, node.op, node.left)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        other = ast.Div() if isinstance(node.op, ast.Mult) else ast.Mult()
        yield "* and /", ast.BinOp(node.left, other, node.right)
        yield "dropped factor", node.left
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield "sign", node.operand
    if isinstance(node, ast.Call):
        for k, keyword in enumerate(node.keywords):
            if keyword.arg in ("axis", "keepdims"):
                fewer = [*node.keywords[:k], *node.keywords[k + 1 :]]
                yield f"forgotten {keyword.arg}", ast.Call(node.func, node.args, fewer)
        for k, x in enumerate(node.args):
            if isinstance(x, ast.Name) and x.id == "axis":
                args = [*node.args[:k], ast.Constant(None), *node.args[k + 1 :]]
                yield "forgotten axis", ast.Call(node.func, args, node.keywords)
        constant = any(isinstance(x, (ast.Starred, ast.Constant)) for x in node.args[:2])
        same = len({ast.unparse(x) for x in node.args[:2]}) == 1
        if len(node.args) >= 2 and not constant and not same and ast.unparse(node.func) not in COMMUTATIVE:
            yield "swapped", ast.Call(node.func, [node.args[1], node.args[0], *node.args[2:]], node.keywords)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in arguments:
        yield "z for an argument", ast.Name("z", ast.Load())
        if order > 1:
            yield "detached", ast.Call(ast.Name("PRIMAL", ast.Load()), [node], [])


def _difference(old: ast.AST, new: ast.AST) -> str:
    """The first line that differs, as it reads in the mutant."""
    before, after = ast.unparse(old).splitlines(), ast.unparse(new).splitlines()
    return next(line.strip() for line, was in zip(after, before, strict=False) if line != was)


@contextlib.contextmanager
def _replaced_everywhere(function: Any, mutated: Any) -> Iterator[None]:
    """A function of contad replaced wherever a module names it."""
    places = [
        (module.__dict__, name)
        for key, module in list(sys.modules.items())
        if key.startswith("contad.") and module is not None
        for name, x in list(module.__dict__.items())
        if x is function
    ]
    for names, name in places:
        names[name] = mutated
    try:
        yield
    finally:
        for names, name in places:
            names[name] = function


def _planted(rule: ArrayRule, function: Any, changed: Any) -> Callable[[], Any]:
    """The rule with a changed body, or with a changed function that its bodies call."""

    @contextlib.contextmanager
    def planted() -> Iterator[None]:
        bare = copy.deepcopy(changed)
        bare.decorator_list = []
        scope: dict[str, Any] = {}
        tree = ast.fix_missing_locations(ast.Module([bare], []))
        # annotations are not evaluated: their names are not in this scope
        exec(compile(tree, "<mutant>", "exec", flags=__future__.annotations.compiler_flag), scope)
        code = scope[bare.name].__code__
        mutated = types.FunctionType(code, function.__globals__, bare.name, function.__defaults__)
        mutated.__kwdefaults__ = function.__kwdefaults__
        vjps = {name: mutated if body is function else body for name, body in rule.vjps.items()}
        jvp_body, common_body = (mutated if x is function else x for x in (rule.jvp_body, rule.common_body))
        checked = {*rule._checked, mutated}
        with (
            attributes(rule, vjps=vjps, jvp_body=jvp_body, common_body=common_body, _needs={}, _checked=checked),
            _replaced_everywhere(function, mutated),
            attributes(builtins, PRIMAL=primal),
        ):
            yield

    return planted


# ---- changes of the accumulation -------------------------------------------------------------------------------------
def _assignments(rule: ArrayRule) -> list[tuple[str, Callable[[], Any]]]:
    """`=` for `+=` into the operands of this rule: in pullbacks, on numbers of outer levels, and on object arrays."""
    return [
        ("in pullbacks", lambda: _pullback(rule, lambda cells: isinstance(cells, np.ndarray))),
        ("in pullbacks on numbers", lambda: _pullback(rule, lambda cells: not isinstance(cells, np.ndarray))),
        ("on object arrays", lambda: _callback(rule)),
    ]


@contextlib.contextmanager
def _pullback(rule: ArrayRule, is_wrong: Callable[[Any], bool]) -> Iterator[None]:
    """The pullbacks of a rule assign to adjoints of a kind."""
    accumulate = pullbacks.Pullback._accumulate  # every way by which a cotangent is added goes through it

    def assign(self: Any, adj: Any, name: str, operand: tuple[int, int, tuple[int, ...]], c: Any) -> None:
        _, cell, shape = operand
        if self.rule is rule and is_wrong(adj.cells):
            n = int(np.prod(shape))
            adj.cells[slice(cell, cell + n) if shape else cell] = 0.0 if not shape else np.zeros(n)
        accumulate(self, adj, name, operand, c)

    with attributes(pullbacks.Pullback, _accumulate=assign):
        yield


@contextlib.contextmanager
def _callback(rule: ArrayRule) -> Iterator[None]:
    """The continuations of a rule on object arrays assign to adjoints."""
    old, new = "adj.add(v, d)", "adj.add(v, d - adj[v] if rule is MUTATED else d)"
    source = textwrap.dedent(inspect.getsource(array_callbacks.apply_as_callback))
    if source.count(old) != 1:
        raise LookupError(f"nothing to mutate: {old!r} occurs {source.count(old)} times in apply_as_callback")
    scope = {**vars(array_callbacks), "MUTATED": rule}
    exec(source.replace(old, new), scope)
    with _replaced_everywhere(array_callbacks.apply_as_callback, scope["apply_as_callback"]):
        yield


# ---- running ---------------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def attributes(owner: Any, **values: Any) -> Iterator[None]:
    """Attributes of an object with other values."""
    before = {name: getattr(owner, name) for name in values if hasattr(owner, name)}
    for name, value in values.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name in values:
            setattr(owner, name, before[name]) if name in before else delattr(owner, name)


def leg_that_kills(rule: ArrayRule, order: int = 2) -> str | None:
    """The first check that fails at the rule's points, of its bodies on plain arrays, then by expect_ad."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for point in rule.points:
            try:
                wrong = report(rule, *split(point))
            except Exception:  # the bodies do not even run
                return "bodies"
            if wrong:
                return "bodies"
        for point in rule.points:
            args, options = split(point)

            def f(*arrays: Any, options: dict[str, Any] = options) -> Any:
                return rule(*arrays, **options)

            try:
                expect_ad(f, *args, order=order)
            except AssertionError as failure:
                return str(failure).partition("): leg ")[2].partition(",")[0].partition(":")[0]
    return None


def killed(mutant: ArrayMutant, order: int = 2) -> str | None:
    """The leg that kills a mutant; None if it survives."""
    with mutant.planted():
        return leg_that_kills(mutant.rule, order)


def all_array_mutants(order: int = 2) -> list[ArrayMutant]:
    """The mutants of every array rule of contad."""
    return [mutant for rule in own_rules() for mutant in array_mutants(rule, order)]
