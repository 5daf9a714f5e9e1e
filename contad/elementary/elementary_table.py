"""The elementary functions with a kernel: how close each is to the exact value, and how source calls it."""

import functools
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from numba import types

from contad.compile.compiling import load_cached, write_options
from contad.compile.overloads import add_overload
from contad.elementary import angles, exponentials, logarithms, single_precision, tails


class Elementary(NamedTuple):
    """A function and its kernel."""

    kernel: Callable[[float], float]  # a Numba function that is inlined into its caller
    ulps: float  # the error bound in units in the last place
    called: str  # how generated source calls it without the kernel
    far: Callable[[float], float] | None = None  # the function beyond the kernel's domain
    single: Callable[[Any], Any] | None = None  # the kernel for float32; otherwise `kernel`, in float64, serves

    @property
    def name(self) -> str:
        """Its name in source."""
        return self.kernel.__name__


_ALL = (
    Elementary(exponentials.exp, 1.0, "math.exp", single=single_precision.exp),
    Elementary(exponentials.exp2, 1.0, "np.exp2"),
    Elementary(exponentials.expm1, 1.0, "math.expm1"),
    Elementary(exponentials.sinh, 1.0, "math.sinh"),
    Elementary(exponentials.cosh, 1.0, "math.cosh"),
    Elementary(exponentials.tanh, 1.0, "math.tanh", single=single_precision.tanh),
    Elementary(exponentials.expit, 1.0, "value_expit"),
    Elementary(logarithms.log, 1.0, "math.log", single=single_precision.log),
    Elementary(logarithms.log2, 1.0, "math.log2"),
    Elementary(logarithms.log10, 1.0, "math.log10"),
    Elementary(logarithms.log1p, 1.0, "math.log1p", single=single_precision.log1p),
    Elementary(logarithms.log1p_exp, 1.0, "value_log1p_exp"),
    Elementary(logarithms.log1m_exp, 1.0, "value_log1m_exp"),
    Elementary(logarithms.log_expit, 1.0, "value_log_expit"),
    Elementary(angles.sin, 1.0, "math.sin", math.sin),
    Elementary(angles.cos, 1.0, "math.cos", math.cos),
    Elementary(angles.tan, 1.0, "math.tan", math.tan),
    Elementary(angles.arctan, 1.0, "math.atan"),
    Elementary(tails.erf, 1.0, "math.erf"),
    Elementary(tails.erfc, 2.0, "math.erfc"),
)
ELEMENTARY = {found.name: found for found in _ALL}
BY_CALL = {found.called: found for found in _ALL}  # by the name that source calls without the kernel


def kernel_of(name: str) -> Callable[[Any], Any]:
    """The kernel; where there is one for float32 as well, a function that chooses by the type of its argument."""
    found = ELEMENTARY[name]
    if found.single is None:
        return found.kernel

    def compute(x: Any) -> Any:
        return found.kernel(x)

    @add_overload(compute, jit_options={"forceinline": True})
    def _compute(x: Any) -> Any:
        kernel: Any = found.single if x == types.float32 else found.kernel
        return lambda x: kernel(x)  # noqa: PLW0108  (Numba takes functions only)

    return compute


@functools.cache
def has_fast_registers() -> bool:
    """Whether this processor adds and multiplies four doubles or more at once, and has `fma`.

    Without them a kernel is correct, but slower than the C library.
    """
    from contad.compile.emitting import processor_features

    found = processor_features()
    return bool(found.get("fma") and found.get("avx2"))


_HEAD = '''\
"""Elementary functions of numbers, and along rows of numbers; generated from their table, do not edit."""

import math

import numpy as np
from contad.elementary.elementary_table import kernel_of
from contad.compile.machine_code import njit
'''
_FUNCTIONS = """

_{name} = kernel_of({name!r})


@njit({options})
def {name}(x):
    {one}return _{name}(x)


@njit({options})
def {name}_rows(x, z, n):
    for k in range(np.uint64((n + 7) // 8 * 8)):
        z[k] = _{name}(x[k])
{far}"""
_ONE_FAR = """if abs(x) > {farthest}:
        return {called}(x)
    """
_FAR = """\
    far = 0
    for k in range(np.uint64(n)):
        far |= abs(x[k]) > {farthest}
    if far:
        for k in range(np.uint64(n)):
            if abs(x[k]) > {farthest}:
                z[k] = {called}(x[k])
"""


def _text() -> str:
    options = write_options()
    parts = [_HEAD]
    for found in _ALL:
        known = {"name": found.name, "options": options, "called": found.called, "farthest": angles.FARTHEST}
        has_end = found.far is not None
        one, far = (_ONE_FAR.format(**known), _FAR.format(**known)) if has_end else ("", "")
        parts.append(_FUNCTIONS.format(one=one, far=far, **known))
    return "".join(parts)


@functools.cache
def _module() -> ModuleType:
    return load_cached("elementary", _text)


def elementary(name: str) -> Any:
    """The function of one number, `exp(x)`: the same number as along rows, to the last bit."""
    return getattr(_module(), name)


def elementary_rows(name: str) -> Any:
    """The function along rows, `exp_rows(x, z, n)`: z[k] = e^x[k] for the first n.

    A loop without a remainder: it continues to the next multiple of 8, and nobody reads the extra results.
    """
    return getattr(_module(), f"{name}_rows")
