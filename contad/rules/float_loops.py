"""Formulas on few elements: Python functions of floats and lists that loop over the elements once.

NumPy takes about a microsecond for each operation of a formula, for one element or a hundred. Python's floats take a
tenth of that for each element. Each function is specialised for the arguments that are arrays and for the partials that
are needed. It also checks conditions on elements with one comparison in the usual case. None means that something is
unusual; the caller then takes the general path, which knows what to raise.
"""

import ast
import copy
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.rules.body import ARITHMETIC_ERRORS, names_in
from contad.rules.scalar_rule import ScalarRule
from contad.variables.dtypes import FLOAT
from contad.variables.open_types import Function, Value

FEW = 128  # elements up to which Python's floats are faster than NumPy's arrays
KEPT = 1024  # cached values of functions of data


class LoopKey(NamedTuple):
    """The specialisation of a function."""

    rule: ScalarRule
    arrays: tuple[bool, ...]  # which arguments are lists of the elements of arrays
    active: tuple[bool, ...]  # which partials are needed
    conditions: tuple[str, ...]  # on the arguments p_0, p_1, ...; all must hold
    sums: bool  # whether the result is the sum of the elements or their list

    @property
    def stem(self) -> str:
        """The name of the module with the compiled sum."""
        known = zip(self.arrays, self.active, strict=True)
        kinds = "".join("anAN"[(not is_array) + 2 * is_active] for is_array, is_active in known)
        return f"sum_{self.rule.name[:40]}_{kinds}"

    @property
    def texts(self) -> list[str]:
        """The texts from which that module is made."""
        return [repr(self.conditions), self.rule.name]


@functools.cache
def float_loop(key: LoopKey) -> Callable[..., Any]:
    """The function of the arguments: floats, and lists of floats of one length.

    It returns the value, followed by a tuple of partials if some are needed: lists, or their sums for number arguments
    of a sum. It returns None if a condition does not hold or Python's arithmetic raises.

    >>> from contad.distributions.real_line import normal_log_density
    >>> arrays, active = (True, False, False), (False, True, False)
    >>> loop = float_loop(LoopKey(normal_log_density, arrays, active, ("p_2 > 0.0",), True))
    >>> loop([1.0, 3.0], 0.5, 2.0), loop([1.0, 3.0], 0.5, -2.0)
    ((-4.036671427529236, (0.75,)), None)
    """
    return FormulaWriter(key).compile()


@functools.cache
def _on_floats(rule: ScalarRule) -> Callable[..., float]:
    """The value of a rule, which may raise; for a formula, its own lines instead of calls that inspect arguments."""
    if not hasattr(rule, "formula"):
        return _QUICKER.get(rule.name, rule.function)
    numbers = (False,) * rule.arity
    return FormulaWriter(LoopKey(rule, numbers, numbers, (), True), can_raise=True).compile()


def _floor(x: float) -> float:
    return x // 1.0 if x - x == 0.0 else x


_QUICKER: dict[str, Callable[..., float]] = {"floor": _floor, "absolute": math.fabs}  # than the rules


def evaluate_few(rule: ScalarRule, args: Sequence[Value], active: Sequence[int]) -> Any:
    """The result of `float_loop` for plain arrays of equal length and floats; None if it does not apply."""
    given = [as_list(x) if x.__class__ is np.ndarray else x for x in args]
    n = 0
    for x in given:
        if x.__class__ is list and len(x) == (n or len(x)):
            n = len(x)
        elif x.__class__ is not float:
            return None
    arrays = tuple([x.__class__ is list for x in given])
    wanted = tuple([k in active for k in range(len(given))])
    return float_loop(LoopKey(rule, arrays, wanted, (), False))(*given) if n else None


def as_list(x: np.ndarray) -> list[float] | None:
    """The elements of a one-dimensional array, if they are few real numbers."""
    if x.ndim != 1 or not 0 < len(x) <= FEW:
        return None
    if x.dtype is not FLOAT:
        if x.dtype.kind not in "iubf":
            return None
        x = x.astype(np.float64)
    found: list[float] = x.tolist()
    return found


class FormulaWriter(ast.NodeTransformer):
    """Writes the source of a function; `scope` holds its global names."""

    def __init__(self, key: LoopKey, can_raise: bool = False) -> None:
        assert key.rule.body is not None
        self.key, self.can_raise = key, can_raise
        self.body: Any = key.rule.body  # the body being read
        self.parameters = self.body.parameters[1:]
        self.names = {name: name for name in self.body.parameters}  # names in the body -> written names
        self.counts = {*getattr(self.body, "whole", ())}  # names that depend only on integers
        self.scope: dict[str, Any] = {"_ERRORS": ARITHMETIC_ERRORS}
        self.lines: list[tuple[str, ast.expr]] = []
        self.inlined = 0  # formulas
        self.varying = {p for p, is_array in zip(self.parameters, key.arrays, strict=True) if is_array}

    def compile(self) -> Callable[..., Any]:
        """The function."""
        name = f"{self.key.rule.name}_on_floats"
        source = "\n".join([f"def {name}({', '.join(self.parameters)}):", *self._write()])
        exec(compile(source, f"<contad {name}>", "exec"), self.scope)
        found: Callable[..., Any] = self.scope[name]
        return found

    def _write(self) -> list[str]:
        key = self.key
        lists = [p for p in self.parameters if p in self.varying]
        value, partials = self._read()
        once: list[str] = []
        each: list[str] = []
        for test in self._tests():
            (each if names_in(test) & self.varying else once).append(f"if not ({ast.unparse(test)}): return None")
        for name, expression in self.lines:
            (each if name in self.varying else once).append(f"{name} = {ast.unparse(expression)}")
        slopes = {f"_slope_{k}": (k, text) for k, text in partials.items()}
        result = f"_total, ({''.join(f'{x}, ' for x in slopes)})" if slopes else "_total"
        if not lists:
            once += [f"_total = {value}", *(f"{x} = {text}" for x, (_, text) in slopes.items())]
            return self._guard([*once, f"return {result}"])
        listed = {x for x, (k, _) in slopes.items() if key.arrays[k]} if key.sums else {"_total", *slopes}
        for x, text in (("_total", value), *((x, text) for x, (_, text) in slopes.items())):
            once.append(f"{x} = []" if x in listed else f"{x} = 0.0")
            each.append(f"{x}.append({text})" if x in listed else f"{x} += {text}")
        names = ", ".join(lists)
        head = f"for {names} in {names if len(lists) == 1 else f'zip({names})'}:"
        return self._guard([*once, head, *(f"    {line}" for line in each), f"return {result}"])

    def _guard(self, lines: Sequence[str]) -> list[str]:
        if self.can_raise:
            return [f"    {line}" for line in lines]
        return ["    try:", *(f"        {line}" for line in lines), "    except _ERRORS:", "        return None"]

    def _tests(self) -> list[ast.expr]:
        """The tests: the conditions hold, and no special case of a sum does."""
        found = {ast.unparse(test): test for test in map(self._condition, self.key.conditions)}
        for text in self._cases():
            case = self._rewrite(ast.parse(text, mode="eval").body)
            is_denied = isinstance(case, ast.UnaryOp) and isinstance(case.op, ast.Not)
            test = case.operand if is_denied else ast.UnaryOp(ast.Not(), case)  # type: ignore[attr-defined]
            found.setdefault(ast.unparse(test), test)
        return [*found.values()]

    def _cases(self) -> list[str]:
        """The conditions of special cases of a sum, which the general path handles; a list of values includes its
        cases."""
        cases = getattr(self.key.rule.body, "cases", ()) if self.key.sums and not self.can_raise else ()
        return [*dict(cases)]

    def _condition(self, text: str) -> ast.expr:
        self.scope |= {"np_floor": _floor, "np_inf": math.inf, "np_pi": math.pi}
        tree = ast.parse(text.replace("np.", "np_"), mode="eval").body
        return _Renamed({f"p_{k}": name for k, name in enumerate(self.parameters)}).visit(tree)

    # ---- bodies on floats --------------------------------------------------------------------------------------------
    def _read(self) -> tuple[str, dict[int, str]]:
        """Read the lines that are needed; returns the texts of the value and of the needed partials."""
        rule, value = self.key.rule, len(self.parameters)
        wanted = [k for k, is_active in enumerate(self.key.active) if is_active]
        if hasattr(rule, "formula"):
            found = self._expand([*wanted, value], "", len(self._cases()))
            return found.pop(value), found
        z = self.body.parameters[0]
        self.scope["_value_of"] = self.value_of(rule)  # its partials may read the value
        self.add_line(z, ast.parse(f"_value_of({', '.join(self.parameters)})", mode="eval").body)
        return z, self._expand(wanted, "")

    def value_of(self, rule: ScalarRule) -> Callable[..., Any]:
        """The function for the value of a rule."""
        return _on_floats(rule)

    def add_line(self, name: str, expression: ast.expr) -> None:
        """Append a line."""
        if names_in(expression) & self.varying:
            self.varying.add(name)
        self.lines.append((name, expression))

    def _expand(self, results: Sequence[int], prefix: str, cases: int = 0) -> dict[int, str]:
        """Write the lines that results of the body need; returns their texts, without `cases` special cases."""
        slices = {}
        for k in results:
            assignments, result = self.body.slice(k)
            for _ in range(cases if isinstance(result, ast.Call) else 0):
                result = result.args[2]
            slices[k] = assignments, result
        needed = {name for assignments, _ in slices.values() for name, _ in assignments}
        for name, expression in self.body.assignments:
            if name in needed:
                written, own = self._rewrite(expression), prefix + name
                if self._reads(written) <= self.counts:
                    self.counts.add(own)
                self.names[name] = own
                self.add_line(own, written)
        return {k: ast.unparse(self._rewrite(expression)) for k, (_, expression) in slices.items()}

    def _rewrite(self, expression: ast.expr) -> ast.expr:
        return ast.fix_missing_locations(self.visit(copy.deepcopy(expression)))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Turn a selection into a conditional expression, inline a formula, and call rules without inspecting
        arguments."""
        called = self.body.resolve(node.func)
        args = [self.visit(x) for x in node.args]
        if getattr(called, "is_select", False):
            return self.select(args)
        is_of_counts = all(self._reads(x) <= self.counts for x in args)
        if hasattr(called, "formula") and not is_of_counts:
            return self._inline(called, args)
        name, function = self.name_function(called, args, is_of_counts)
        self.scope[name] = function
        return ast.Call(ast.Name(name, ast.Load()), args, [])

    def select(self, args: Sequence[ast.expr]) -> ast.expr:
        """A selection."""
        return ast.IfExp(*args)

    def name_function(self, rule: ScalarRule, args: Sequence[ast.expr], is_of_counts: bool) -> tuple[str, Function]:
        """The name of the function that evaluates a rule, and the function; values of data are cached for the next
        call."""
        function = _on_floats(rule)
        if is_of_counts:
            return f"_call_{rule.name}_of_counts", functools.lru_cache(KEPT)(function)
        return f"_call_{rule.name}", function

    def _reads(self, expression: ast.expr) -> set[str]:
        """The arguments and lines that it reads."""
        return names_in(expression) - self.scope.keys()

    def _inline(self, called: Any, args: Sequence[ast.expr]) -> ast.expr:
        self.inlined += 1
        prefix, names = f"_f{self.inlined}", {}
        for parameter, x in zip(called.body.parameters[1:], args, strict=True):
            names[parameter] = x.id if isinstance(x, ast.Name) else f"{prefix}_{parameter}"
            if not isinstance(x, ast.Name):
                self.add_line(names[parameter], x)
        outer = self.body, self.names
        self.body, self.names = called.body, names
        text = self._expand([called.arity], f"{prefix}_")[called.arity]
        self.body, self.names = outer
        return ast.parse(text, mode="eval").body

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Use the written name; constants are looked up once."""
        if node.id in self.names:
            return ast.Name(self.names[node.id], ast.Load())
        return self._constant(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """A constant of a module."""
        return self._constant(node)

    def _constant(self, node: ast.expr) -> ast.expr:
        x = float(self.body.resolve(node))
        if math.isfinite(x):
            return ast.Constant(x)
        name = "_nan" if x != x else "_inf" if x > 0.0 else "_minus_inf"
        self.scope[name] = x
        return ast.Name(name, ast.Load())


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Use the name in the body."""
        return ast.Name(self.names.get(node.id, node.id), ast.Load())
