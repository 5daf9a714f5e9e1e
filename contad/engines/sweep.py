"""The compiled reverse sweep over records: one function generated from the registry, with the rule bodies inlined.

It covers the rules declared `core`; rules registered later and special functions store their partials instead, so this
function needs no SciPy symbol, does not grow with the library, and is compiled once per installation.
"""

import functools
from collections.abc import Callable
from typing import Any

import contad.body
import contad.ops
from contad.body import inline
from contad.compiled import NJIT_OPTIONS, cached_module
from contad.rule import ScalarRule, rules

INPUT, CALLBACK, LINEAR, JOIN = range(4)
VARIANTS = ("input", "callback", "linear", "join")

# operation code -> (rule, active), where `active` tells per argument variable (v) or constant (c)
OPERATIONS: dict[int, tuple[ScalarRule, str]] = {}
_CODES: dict[tuple[ScalarRule, str], int] = {}


def _number_operations() -> None:
    """Codes for the core rules, in order of their names."""
    code = len(VARIANTS)
    for rule in sorted(rules(), key=lambda rule: rule.name):
        if rule.core:
            for active in ("v",) if rule.arity == 1 else ("vv", "vc", "cv"):
                OPERATIONS[code] = rule, active
                _CODES[rule, active] = code
                code += 1


def operation_code(rule: ScalarRule, active: str) -> int | None:
    """The code of a rule of the sweep with this activity; None for rules that store their partials."""
    return _CODES.get((rule, active))


_HEAD = '''\
"""The reverse sweep over records; generated from the rules, do not edit."""

import math

from numba import njit


@njit("int64(float64[:, ::1], float64[::1], float64[::1], int64)", {options})
def sweep(records, values, adjoints, k):
    """From record k down to 0; stops at a callback and returns its index."""
    while k > 0:
        d = adjoints[k]
        code = int(records[k, 0])
        if code == {callback}:
            return k
        if d != 0.0:
            if code == {linear}:
                adjoints[int(records[k, 1])] += d * records[k, 2]
            elif code == {join}:
                adjoints[int(records[k, 1])] += d * records[k, 2]
                adjoints[k - 1] += d
'''


def sweep_source() -> str:
    """The source of the sweep."""
    options = ", ".join(f"{name}={value!r}" for name, value in NJIT_OPTIONS.items())
    parts = [_HEAD.format(options=options, callback=CALLBACK, linear=LINEAR, join=JOIN)]
    parts += [_branch(code, rule, active) for code, (rule, active) in OPERATIONS.items()]
    return "".join([*parts, "        k -= 1\n", "    return 0\n"])


def _branch(code: int, rule: ScalarRule, active: str) -> str:
    """The branch of one operation: read the operands, evaluate the partials that are needed, accumulate."""
    assert rule.body is not None
    lines = []
    updates = []
    names = dict(zip(rule.body.parameters, ("z", "x", "y"), strict=False))
    for k, kind in enumerate(active):
        operand = "xy"[k]
        if kind == "v":
            lines.append(f"{operand}_cell = int(records[k, {k + 1}])")
            lines.append(f"{operand} = values[{operand}_cell]")
            if rule.body.literal(k) == 0.0:
                continue
            body, expression = inline(rule.body, k, names, f"{operand}_")
            updates += [*body, f"adjoints[{operand}_cell] += d * ({expression})"]
        else:
            lines.append(f"{operand} = records[k, {k + 1}]")
    if not updates:
        return ""
    lines = [f"# {rule.name}: {active}", "z = values[k]", *lines, *updates]
    return "".join([f"            elif code == {code}:\n", *(f"                {line}\n" for line in lines)])


@functools.cache
def compiled_sweep() -> Callable[..., int]:
    """The compiled sweep, from the disk cache where it is there."""
    sources = {rule.function.__code__.co_filename for rule, _ in OPERATIONS.values()}
    # the codes too: a sweep that numbers the operations differently would be silently wrong
    numbering = repr([(code, rule.name, active) for code, (rule, active) in OPERATIONS.items()])
    depends = [__file__, contad.body.__file__, *sorted(sources), numbering]
    found: Callable[..., Any] = cached_module("sweep", sweep_source, depends).sweep
    return found


_number_operations()
