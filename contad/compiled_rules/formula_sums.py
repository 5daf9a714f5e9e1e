"""Sums of a formula over arrays with all partials, in one pass: a Numba function for each kind of arguments.

    total(y, nu, mu, sigma, found, y_slope)        y, an array, and sigma, a number, are differentiated
        lines that depend on nu, mu and sigma only
        for 256 elements at a time
            lines of arithmetic and elementary functions, in vector registers
            lines that call other functions, one by one
            ...
            found[1] += slopes by sigma;  result += values

found[0] counts the elements that violate a condition.
"""

import ast
import functools
from collections.abc import Callable, Sequence

from contad.compile.compiling import NJIT_OPTIONS, load_cached, write_options
from contad.compiled_rules.rule_source import or_call, partial_source
from contad.compiled_rules.rules import Source
from contad.distributions.formula import Formula
from contad.elementary.elementary_table import BY_CALL, has_fast_registers
from contad.elementary.rows import ROWS
from contad.rules.float_loops import LoopKey

_HEAD = '''\
"""A sum of a formula and its partials; generated from the formula, do not edit."""

import math

import numpy as np
from numba import types
from contad.elementary.elementary_table import ELEMENTARY
from contad.elementary.rows import new_row
from contad.compile.machine_code import njit

_READ = types.Array(types.float64, 1, "C", readonly=True)
_WRITTEN = types.Array(types.float64, 1, "C")
'''
_SUM = """

@njit({options})
def sum_of(row, n):
    total = 0.0
    for i in range(n):
        total += row[i]
    return total
"""


@functools.cache
def sum_function(key: LoopKey) -> Callable[..., float]:
    """The function of the arguments, `found`, and an array for the slopes by each active array."""
    found: Callable[..., float] = load_cached(key.stem, lambda: _Text(key).text(), key.texts).total
    return found


class _Text:
    """Writes the module."""

    def __init__(self, key: LoopKey) -> None:
        self.key, self.source = key, Source([])
        assert key.rule.body is not None
        self.body = key.rule.body
        self.parameters = [f"p_{k}" for k in range(key.rule.arity)]
        known = zip(self.parameters, key.arrays, strict=True)
        self.names = ["p_value", *(f"{name}_at" if is_array else name for name, is_array in known)]
        self.used: set[str] = set()  # elementary functions

    def text(self) -> str:
        """The whole text."""
        lines, results = self._read()
        options = self.source.options
        body = self._write(lines, results)
        kernels = [f"_{name} = ELEMENTARY[{name!r}].kernel" for name in sorted(self.used)]
        arrays, active = self.key.arrays, self.key.active
        kinds = ["_READ" if is_array else "types.float64" for is_array in arrays]
        slopes = [f"{p}_slope" for k, p in enumerate(self.parameters) if arrays[k] and active[k]]
        kinds += ["_WRITTEN"] * (1 + len(slopes))
        head = [
            f"@njit(types.float64({', '.join(kinds)}), {options})",
            f"def total({', '.join([*self.parameters, 'found', *slopes])}):",
        ]
        imports = [*sorted(self.source.imports), *kernels]
        sums = _SUM.format(options=write_options(NJIT_OPTIONS | {"fastmath": {"reassoc"}}))
        return "\n".join([_HEAD.rstrip(), *imports, sums, "", *head, *body]) + "\n"

    def _read(self) -> tuple[dict[str, str], dict[int, str]]:
        """The lines that are needed, in order, and the texts of the value (under the arity) and of partials."""
        arity = len(self.parameters)
        found: dict[str, str] = {}
        results: dict[int, str] = {}
        functions = {}
        if has_fast_registers():
            functions = {called: f"_{e.name}" for called, e in BY_CALL.items() if e.far is None}
        if not isinstance(self.key.rule, Formula):
            found["p_value"] = f"{self.source.name_of_value(self.key.rule)}({', '.join(self.names[1:])})"
            results[arity] = "p_value"
        for k in (*(k for k, active in enumerate(self.key.active) if active), arity):
            if k in results:
                continue
            lines, results[k] = partial_source(
                self.key.rule, k, self.names, "l_", or_call(self.source.name_of_value), functions
            )
            found |= dict(line.split(" = ", 1) for line in lines)
        text = " ".join((*found.values(), *results.values()))
        self.used = {e.name for e in BY_CALL.values() if f"_{e.name}(" in text}
        order = ["p_value", *(f"l_{name}" for name, _ in self.body.assignments)]
        return {name: found[name] for name in order if name in found}, results

    def _write(self, lines: dict[str, str], results: dict[int, str]) -> list[str]:
        arity = len(self.parameters)
        arrays = [p for p, is_array in zip(self.parameters, self.key.arrays, strict=True) if is_array]
        varying = {f"{p}_at" for p in arrays}
        once: list[str] = []
        phases: dict[str, int] = {}
        for name, text in lines.items():
            read = _names(text)
            if not read & varying:
                once.append(f"    {name} = {text}")
                continue
            varying.add(name)
            phases[name] = _next_phase(max((phases.get(x, 0) for x in read), default=0), text)
        finals = {("value" if k == arity else f"slope_{k}"): text for k, text in results.items()}
        for name, text in finals.items():
            phases[name] = _next_phase(max((phases.get(x, 0) for x in _names(text)), default=0), text)
        texts = {name: lines.get(name, finals.get(name, "")) for name in phases}
        last = max(phases.values())
        crossing = {
            x for name, text in texts.items() for x in _names(text) if phases.get(x, phases[name]) < phases[name]
        }
        rows = sorted(crossing | finals.keys() - {f"slope_{k}" for k in range(arity) if self.key.arrays[k]})
        body = [f"    {row}_row = new_row()" for row in rows]
        body += [f"    size = len({arrays[0]})", *self._checks(arrays), *once, "    result = 0.0"]
        body += [f"    sum_{k} = 0.0" for k in results if k < arity and not self.key.arrays[k]]
        body += [f"    for first in range(0, size, {ROWS}):", f"        count = min({ROWS}, size - first)"]
        for phase in range(last + 1):
            body += self._phase([n for n in phases if phases[n] == phase], texts, phases, phase, rows, arrays)
        body.append("        result += sum_of(value_row, count)")
        summed = [k for k in results if k < arity and not self.key.arrays[k]]
        body += [f"        sum_{k} += sum_of(slope_{k}_row, count)" for k in summed]
        body += [f"    found[{n}] = sum_{k}" for n, k in enumerate(summed, 1)]
        return [*body, "    return result"]

    def _phase(
        self, names: list[str], texts: dict[str, str], phases: dict[str, int], phase: int, rows: Sequence[str],
        arrays: Sequence[str],
    ) -> list[str]:  # fmt: skip
        if not names:
            return []
        read = set().union(*(_names(texts[name]) for name in names))
        inside = [f"{p}_at = {p}[first + i]" for p in arrays if f"{p}_at" in read]
        inside += [f"{x} = {x}_row[i]" for x in rows if x in read and phases[x] < phase]
        for name in names:
            if name.startswith("slope_") and name not in rows:
                inside.append(f"{self.parameters[int(name[6:])]}_slope[first + i] = {texts[name]}")
            elif name == "value" or name.startswith("slope_"):
                inside.append(f"{name}_row[i] = {texts[name]}")
            else:
                inside.append(f"{name} = {texts[name]}")
                inside += [f"{name}_row[i] = {name}"] if name in rows else []
        return ["        for i in range(count):", *(f"            {line}" for line in inside)]

    def _checks(self, arrays: Sequence[str]) -> list[str]:
        """Count the elements that violate conditions, those on numbers first."""
        if not self.key.conditions:
            return []
        of_arrays = [c for c in self.key.conditions if _names(c) & {*arrays}]
        lines = ["    wrong = 0"]
        lines += [f"    wrong += not ({c})" for c in self.key.conditions if c not in of_arrays]
        if of_arrays:
            lines.append("    for i in range(size):")
            for c in of_arrays:
                text = ast.unparse(_Elements({*arrays}).visit(ast.parse(c, mode="eval")))
                lines.append(f"        wrong += not ({text})")
        return [*lines, "    found[0] = wrong", "    if wrong > 0:", "        return 0.0"]


class _Elements(ast.NodeTransformer):
    """Rewrites arrays as their element i, and conditions without branches."""

    def __init__(self, arrays: set[str]) -> None:
        self.arrays = arrays

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """An element, if the name is an array."""
        return ast.parse(f"{node.id}[i]", mode="eval").body if node.id in self.arrays else node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Both sides are computed."""
        self.generic_visit(node)
        operator = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
        return functools.reduce(lambda x, y: ast.BinOp(x, operator, y), node.values)


def _next_phase(phase: int, text: str) -> int:
    """The phase of a line after this one: even for arithmetic, odd if it calls functions beyond arithmetic."""
    calls_others = "value_" in text or "math.lgamma" in text
    return phase + (phase % 2 != calls_others)


@functools.lru_cache(4096)
def _names(text: str) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name))
