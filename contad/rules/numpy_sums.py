"""Sums of formulas over arrays by NumPy: Python functions that evaluate each line of value and partials once.

They are for arrays with too many elements for `contad.rules.float_loops`. Lines that depend only on numbers use float
arithmetic here, too, and None means that something is unusual.
"""

import ast
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contad.rules.body import ARITHMETIC_ERRORS, names_in
from contad.rules.float_loops import KEPT, FormulaWriter, LoopKey
from contad.rules.scalar_rule import ScalarRule
from contad.rules.vectorised import REWRITTEN, Vectoriser
from contad.variables.open_types import ArrayValue, Function

_SELECT = "_select"


@functools.cache
def numpy_sum(key: LoopKey) -> Callable[..., Any]:
    """The function of the arguments: floats, and arrays of one axis and length.

    It returns the sum, followed by a tuple of partials: arrays, or their sums for number arguments.

    >>> from contad.distributions.real_line import normal_log_density
    >>> key = LoopKey(normal_log_density, (True, False, False), (False, True, False), ("p_2 > 0.0",), True)
    >>> loop, y = numpy_sum(key), np.array([1.0, 3.0])
    >>> loop(y, 0.5, 2.0), loop(y, 0.5, -2.0)
    ((-4.036671427529236, (0.75,)), None)
    """
    return _ArrayWriter(key).compile()


def _on_arrays(rule: ScalarRule) -> Function:
    ufunc = rule.ufuncs[0] if rule.ufuncs and rule.array is None else None
    return ufunc if isinstance(ufunc, np.ufunc) else rule.array_value


def _remember_values(rule: ScalarRule) -> Function:
    """A rule applied to data, with cached values, since the numbers are the same in the next call."""
    if isinstance(_on_arrays(rule), np.ufunc):
        return _on_arrays(rule)
    known = functools.lru_cache(KEPT)(rule.function)

    def value(*args: ArrayValue) -> ArrayValue:
        arrays = np.broadcast_arrays(*args)
        if arrays[0].size > KEPT:
            return rule.array_value(*args)
        return np.array([known(*point) for point in zip(*(x.tolist() for x in arrays), strict=True)])

    return value


class _ArrayWriter(FormulaWriter):
    """Writes lines that depend on arrays for NumPy, and all others for floats."""

    def _write(self) -> list[str]:
        self.scope |= {
            **REWRITTEN, _SELECT: np.where, "np": np, "_ERRORS": (*ARITHMETIC_ERRORS, FloatingPointError),
        }  # fmt: skip
        lists = [p for p in self.parameters if p in self.varying]
        value, partials = self._read()
        form = Vectoriser(lambda node: isinstance(node, ast.Name) and node.id == _SELECT)
        once: list[str] = []
        each: list[str] = []
        for test in self._tests():
            if names_in(test) & self.varying:
                each.append(f"if not ({ast.unparse(form.rewritten(test))}).all(): return None")
            else:
                once.append(f"if not ({ast.unparse(test)}): return None")
        self.scope["np_floor"] = np.floor
        for name, expression in self.lines:
            if name in self.varying:
                each.append(form.write_assignment(name, expression))
            else:
                once.append(f"{name} = {ast.unparse(expression)}")
        count = f"len({lists[0]})"
        for result, text in (("_total", value), *((f"_slope_{k}", text) for k, text in partials.items())):
            expression = ast.parse(text, mode="eval").body
            varies = names_in(expression) & self.varying
            written = ast.unparse(form.number(expression)) if varies else text
            if result != "_total" and self.key.arrays[int(result.removeprefix("_slope_"))]:
                each.append(f"{result} = {written if varies else f'np.full({count}, {written})'}")
            else:
                each.append(f"{result} = {f'np.add.reduce({written}).item()' if varies else f'{count} * {written}'}")
        each.append("if _total - _total != 0.0: return None")
        head = "with np.errstate(divide='raise', over='raise', invalid='raise'):"
        slopes = "".join(f"_slope_{k}, " for k in partials)
        return self._guard([*once, head, *(f"    {line}" for line in each), f"return _total, ({slopes})"])

    def value_of(self, rule: ScalarRule) -> Function:
        """The function for the value of a rule."""
        return _on_arrays(rule)

    def select(self, args: Sequence[ast.expr]) -> ast.expr:
        """A selection of elements if the operands are arrays."""
        return ast.Call(ast.Name(_SELECT, ast.Load()), [*args], []) if self._vary(args) else super().select(args)

    def name_function(self, rule: ScalarRule, args: Sequence[ast.expr], is_of_counts: bool) -> tuple[str, Function]:
        """The name and the function that evaluates a rule on arrays, if one of its arguments is an array."""
        if not self._vary(args):
            return super().name_function(rule, args, is_of_counts)
        if is_of_counts:
            return f"_arrays_{rule.name}_of_counts", _remember_values(rule)
        return f"_arrays_{rule.name}", _on_arrays(rule)

    def _vary(self, args: Sequence[ast.expr]) -> bool:
        return any(names_in(x) & self.varying for x in args)
