"""A Numba function as a function of JAX, called through XLA's foreign function interface without Python."""

import ctypes
import itertools
from typing import Any

from contad.errors import UnsupportedError
from contad.interop.xla_handlers import make_handler, require_function
from contad.variables.arguments import fail

_WIDE = 'compute with 64 bits: jax.config.update("jax_enable_x64", True)'
_numbers = itertools.count()


def as_jax(f: Any, n: int | None = None) -> Any:
    """A Numba function of one array of length n, or a `contad.stan.Model`, as a function of JAX.

    The result of f is a number. You can use the function in `jax.jit`, `grad`, `jvp`, `vmap` and `lax.scan`, on the
    CPU. One call computes the value and the gradient in compiled code, so a sampler written in JAX runs at the speed of
    contad's gradient. f computes with 64 bits; the gradient has the type of the argument. If f raises, the value and
    the gradient are nan. It has first derivatives only.

    Raises:  ValueError if JAX computes with 32 bits: call `jax.config.update("jax_enable_x64", True)` first; if n is
             missing for a Numba function or given for a Model; if x has another length.
             UnsupportedError if f is neither a Numba function nor a Model; for second derivatives.

    >>> import jax, numba, numpy as np                                                          # doctest: +SKIP
    >>> density = as_jax(numba.njit(lambda x: -0.5 * np.sum(x * x)), 3)                         # doctest: +SKIP
    >>> jax.jit(jax.grad(density))(jax.numpy.ones(3))                                           # doctest: +SKIP
    Array([-1., -1., -1.], dtype=float64)
    """
    import jax

    if not jax.config.jax_enable_x64:
        fail("as_jax", "jax", _WIDE, "32 bits")
    f, n = require_function(f, n)
    handler = make_handler(f, n)
    name = f"contad_{next(_numbers)}"
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(ctypes.cast(handler.address, ctypes.c_void_p)), platform="cpu")
    shapes = jax.ShapeDtypeStruct((), float), jax.ShapeDtypeStruct((n,), float)

    @jax.custom_jvp
    def both(x: Any) -> Any:
        x = jax.numpy.asarray(x, float)
        if x.shape != (n,):
            fail("as_jax", "x", f"have shape ({n},)", f"shape {x.shape}")
        if x.dtype != float:  # the handler reads and writes numbers of 64 bits
            fail("as_jax", "jax", _WIDE, "32 bits")
        return jax.ffi.ffi_call(name, shapes, vmap_method="sequential")(x)

    def refuse(primals: Any, tangents: Any) -> Any:
        raise UnsupportedError("as_jax: the function has first derivatives only")

    both.defjvp(refuse)

    @jax.custom_jvp
    def call(x: Any) -> Any:
        return both(x)[0]

    def jvp_of_call(primals: Any, tangents: Any) -> Any:
        value, slope = both(primals[0])
        return value, jax.numpy.dot(slope, jax.numpy.asarray(tangents[0], float))

    call.defjvp(jvp_of_call)
    call.handler = handler  # which has to live as long as the function
    return call
