"""The function that JAX is to call, and the C function for XLA, which computes its value and its gradient."""

from typing import Any

from numba import types

from contad.compile.machine_code import cfunc, njit
from contad.compile.words import array_at, set_word, word
from contad.errors import UnsupportedError
from contad.front.user_function import UserFunction
from contad.transforms.gradients import value_and_grad
from contad.variables.arguments import fail, require_positive_size
from contad.variables.open_types import NumbaFunction

# XLA's call frame in words: a list of extensions, of which the first one asks for the version of the interface when
# the function is registered; then the stage of the call, the buffers of the arguments, those of the results.
# A buffer's fourth word is the address of its numbers. (xla/ffi/api/c_api.h, version 0.)
_EXTENSIONS, _ARGUMENTS, _RESULTS = 1, 9, 14
_METADATA = 1
_VERSION = 1 << 32  # 0.1: the minor version is in the upper half


def require_function(f: Any, n: int | None) -> tuple[NumbaFunction, int]:
    """The Numba function, and the length of its argument."""
    if hasattr(f, "compiled_log_density"):
        if n is not None:
            fail("as_jax", "n", "be left out for a Model, which knows its dimension", n)
        return f.compiled_log_density(), f.dimension
    found = UserFunction("as_jax", f)
    if found.dispatcher is None:
        expected = "be a function made by numba.njit, or a contad.stan.Model"
        fail("as_jax", "f", expected, f"{found.name}, of type {type(f).__name__}", UnsupportedError)
    if n is None:
        fail("as_jax", "n", f"be the length of the argument of {found.name}", n)
    require_positive_size("as_jax", "n", n)
    return found.dispatcher, int(n)


def make_handler(f: NumbaFunction, n: int) -> Any:
    """The C function that XLA calls with one array of n numbers of 64 bits, and room for a number and n numbers."""
    both: Any = value_and_grad(f)
    both.compile((types.Array(types.float64, 1, "C"),))

    @njit
    def evaluate(x, value, slope):  # type: ignore[no-untyped-def]
        value[0], slope[:] = both(x)

    @cfunc("int64(int64)")
    def handle(frame):  # type: ignore[no-untyped-def]
        extension = word(frame, _EXTENSIONS)
        if extension != 0 and word(extension, 1) & 0xFFFFFFFF == _METADATA:
            set_word(word(extension, 3), 3, _VERSION)
            return 0
        value = array_at(word(word(word(frame, _RESULTS), 0), 3), 1)
        slope = array_at(word(word(word(frame, _RESULTS), 1), 3), n)
        try:
            evaluate(array_at(word(word(word(frame, _ARGUMENTS), 0), 3), n), value, slope)
        except Exception:
            value[:] = slope[:] = float("nan")
        return 0

    return handle
