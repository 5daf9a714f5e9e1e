"""Compiled loops for records of arrays: one small C function per operation, generated from its rule on first use.

A kernel runs over two nested axes with a stride per operand: contiguous arrays, broadcast scalars, rows and columns
are all cases of it; so are sums (the result has stride 0) and dot products (a multiplication whose result has).
"""

import re
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.compiled import cached_module
from contad.engines.sweep import CODES, LINEAR, OPERATIONS, dependencies, partial_of
from contad.rule import ScalarRule

KERNELS = np.zeros(CODES, np.uintp)  # by operation code; 0 where it is not compiled yet
_lock = threading.Lock()
_modules: list[Any] = []  # a C function lives as long as its module

_SOURCE = '''\
"""The adjoint of {name} on arrays; generated from its rule, do not edit."""

import math

from numba import carray, cfunc

ENDLESS = 1 << 60


@cfunc("void(CPointer(int64), CPointer(float64), CPointer(float64), CPointer(float64))", cache=True,
       error_model="numpy", boundscheck=False)
def kernel(shape_at, values_at, constants_at, adjoints_at):
    z0, outer, inner, z_outer, z_inner, x0, x_outer, x_inner, y0, y_outer, y_inner = carray(shape_at, (11,))
    values = carray(values_at, (ENDLESS,))
    constants = carray(constants_at, (ENDLESS,))
    adjoints = carray(adjoints_at, (ENDLESS,))
    for o in range(outer):
        z_row = z0 + o * z_outer
        x_row = x0 + o * x_outer
        y_row = y0 + o * y_outer
{cases}
'''

# the strides along the inner axis that have loops of their own, which the compiler can vectorise: all 1, a number, a sum
_CASES = {1: ("11", "01"), 2: ("111", "110", "101", "011")}


def kernel_source(code: int) -> str:
    """The source of the kernel of one operation."""
    rule, active = OPERATIONS.get(code, (None, "vc"))
    lines = []
    for strides in _CASES[len(active)]:
        test = " and ".join(f"{name}_inner == {step}" for name, step in zip("zxy", strides, strict=False))
        lines += [f"{'elif' if lines else 'if'} {test}:", *_indented(_loops(rule, active, strides))]
    lines += ["else:", *_indented(_loops(rule, active, ""))]
    name = f"{rule.name} ({active})" if rule else "a linear operation"
    return _SOURCE.format(name=name, cases="\n".join(_indented(lines, 2)))


def _loops(rule: ScalarRule | None, active: str, strides: str) -> list[str]:
    """A loop for each active operand, so that it accumulates into one array, or one number."""
    fixed = {name for name, step in zip("zxy", strides, strict=False) if step == "0"}

    def index(name: str) -> str:
        return f"{name}_row" if name in fixed else f"{name}_row + i" + ("" if strides else f" * {name}_inner")

    lines: list[str] = []
    for k, kind in enumerate(active):
        found = (([], "y") if rule is None else partial_of(rule, k)) if kind == "v" else None
        if found is None:
            continue
        body, expression = found
        used = _names(" ".join([*body, expression]))
        operands = [name for name in "zxy"[: len(active) + 1] if name in used]
        reads = [f"{name} = {_source(name, active)}[{index(name)}]" for name in operands]
        target = "total" if "xy"[k] in fixed else f"adjoints[{index('xy'[k])}]"
        term = f"d * ({expression})"
        if not used:  # a number: nothing that a zero d would have to mask
            inner = [f"{target} += {term}"]
        elif "(" in " ".join([*body, expression]).replace("d * (", ""):  # costly, or a choice
            inner = ["if d != 0.0:", *_indented([*reads, *body, f"{target} += {term}"])]
        else:
            inner = [*reads, *body, f"{target} += {term} if d != 0.0 else 0.0"]
        d = [f"d = adjoints[{index('z')}]"]
        loop = ["for i in range(inner):", *_indented(inner if "z" in fixed else d + inner)]
        if "z" in fixed:
            loop = d + loop
        if target == "total":
            loop = ["total = 0.0", *loop, f"adjoints[{index('xy'[k])}] += total"]
        lines += loop
    return lines or ["pass"]


def _indented(lines: Sequence[str], levels: int = 1) -> list[str]:
    return ["    " * levels + line for line in lines]


def _names(source: str) -> set[str]:
    return set(re.findall(r"\b[xyz]\b", source))


def _source(name: str, active: str) -> str:
    return "values" if name == "z" or active["xy".index(name)] == "v" else "constants"


def compile_kernel(code: int) -> None:
    """Compile the kernel of an operation, or take it from the disk cache, and enter its address."""
    with _lock:
        if not KERNELS[code]:
            name = "linear" if code == LINEAR else "{0.name}_{1}".format(*OPERATIONS[code])
            module = cached_module(f"kernel_{name}", lambda: kernel_source(code), (__file__, *dependencies()))
            _modules.append(module)
            KERNELS[code] = module.kernel.address


Strides = tuple[int, ...]


def two_axes(shape: Sequence[int], *strides: Sequence[int]) -> tuple[int, ...] | None:
    """The axes of a broadcast operation joined to two: outer, inner, and per operand its two strides.

    None where more than two axes remain. `strides` are in elements, one sequence per operand.
    """
    axes = [(n, s) for n, *s in zip(shape, *strides, strict=True) if n != 1]
    joined: list[tuple[int, list[int]]] = []
    for n, steps in axes:
        if joined and all(a == n * b for a, b in zip(joined[-1][1], steps, strict=True)):
            joined[-1] = (joined[-1][0] * n, steps)
        else:
            joined.append((n, steps))
    if len(joined) > 2:
        return None
    none = [0] * len(strides)
    joined = [(1, none)] * (2 - len(joined)) + joined
    (outer, outer_steps), (inner, inner_steps) = joined
    return (outer, inner, *(s for pair in zip(outer_steps, inner_steps, strict=True) for s in pair))
