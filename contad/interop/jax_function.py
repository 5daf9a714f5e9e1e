"""A Numba function as a function of JAX, called through XLA's foreign function interface without Python."""

import ctypes
import itertools
from typing import Any

from numba import types

from contad.compile.machine_code import cfunc, njit
from contad.compile.words import array_at, set_word, word
from contad.transforms.gradients import value_and_grad
from contad.variables.arguments import fail
from contad.variables.open_types import NumbaFunction

# XLA's call frame in words: a list of extensions, of which the first one asks for the version of the interface when
# the function is registered; then the stage of the call, the buffers of the arguments, those of the results.
# A buffer's fourth word is the address of its numbers. (xla/ffi/api/c_api.h, version 0.)
_EXTENSIONS, _ARGUMENTS, _RESULTS = 1, 9, 14
_METADATA = 1
_VERSION = 1 << 32  # 0.1: the minor version is in the upper half
_numbers = itertools.count()


def as_jax(f: Any, n: int | None = None) -> Any:
    """A Numba function of one array of length n, or a `contad.stan.Model`, as a function of JAX.

    The result of f is a number. You can use the function in `jax.jit`, `grad`, `jvp`, `vmap` and `lax.scan`, on the
    CPU. One call computes the value and the gradient in compiled code, so a sampler written in JAX runs at the speed of
    contad's gradient. If f raises, the value and the gradient are nan. It has first derivatives only.

    Raises:  ValueError if JAX computes with 32 bits: call `jax.config.update("jax_enable_x64", True)` first.

    >>> import jax, numba, numpy as np                                                          # doctest: +SKIP
    >>> density = as_jax(numba.njit(lambda x: -0.5 * np.sum(x * x)), 3)                         # doctest: +SKIP
    >>> jax.jit(jax.grad(density))(jax.numpy.ones(3))                                           # doctest: +SKIP
    Array([-1., -1., -1.], dtype=float64)
    """
    import jax

    if not jax.config.jax_enable_x64:
        fail("as_jax", "jax", 'compute with 64 bits: jax.config.update("jax_enable_x64", True)', "32 bits")
    if n is None:
        f, n = f.compiled_log_density(), f.dimension
    handler = _make_handler(f, n)
    name = f"contad_{next(_numbers)}"
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(ctypes.cast(handler.address, ctypes.c_void_p)), platform="cpu")
    shapes = jax.ShapeDtypeStruct((), float), jax.ShapeDtypeStruct((n,), float)

    def both(x: Any) -> Any:
        return jax.ffi.ffi_call(name, shapes, vmap_method="sequential")(x)

    @jax.custom_jvp
    def call(x: Any) -> Any:
        return both(jax.numpy.asarray(x, float))[0]

    def jvp_of_call(primals: Any, tangents: Any) -> Any:
        value, slope = both(primals[0])
        return value, jax.numpy.dot(slope, tangents[0])

    call.defjvp(jvp_of_call)
    call.handler = handler  # which has to live as long as the function
    return call


def _make_handler(f: NumbaFunction, n: int) -> Any:
    """The C function that XLA calls."""
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
