"""Compiled loops for records of arrays: one small C function per operation, generated from its rule on first use.

A kernel runs over two nested axes with a stride per operand: contiguous arrays, broadcast scalars, rows and columns
are all cases of it; so are sums (the result has stride 0) and dot products (a multiplication whose result has).
"""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.compiled import cached_module
from contad.engines.sweep import CODES, LINEAR, OPERATIONS, dependencies, updates_of
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
        if z_inner == 1 and x_inner == 1 and {y_is_contiguous}:
{contiguous}
        else:
{strided}
'''


def kernel_source(code: int) -> str:
    """The source of the kernel of one operation."""
    rule, active = OPERATIONS.get(code, (None, "vc"))
    binary = len(active) == 2
    return _SOURCE.format(
        name=f"{rule.name} ({active})" if rule else "a linear operation",
        y_is_contiguous="y_inner == 1" if binary else "True",
        contiguous=_loops(rule, active, {"z": "z_row + i", "x": "x_row + i", "y": "y_row + i"}),
        strided=_loops(
            rule,
            active,
            {"z": "z_row + i * z_inner", "x": "x_row + i * x_inner", "y": "y_row + i * y_inner"},
        ),
    )


def _loops(rule: ScalarRule | None, active: str, indices: dict[str, str]) -> str:
    """One loop per active operand, so that each accumulates into one array and can be vectorised."""
    lines = []
    for k, kind in enumerate(active):
        if kind == "v":
            alone = "".join(v if n == k else "c" for n, v in enumerate(active))
            updates = updates_of(rule, alone, indices) if rule else [f"adjoints[{indices['x']}] += d * y"]
            body = [f"{name} = {_source(name, active)}[{indices[name]}]" for name in "zxy"[: len(active) + 1]]
            lines += ["for i in range(inner):", f"    d = adjoints[{indices['z']}]"]
            lines += ["    if d != 0.0:", *(f"        {line}" for line in (*body, *updates))] if updates else ["    pass"]
    return "\n".join(f"            {line}" for line in lines)


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
