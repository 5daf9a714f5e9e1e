"""A function that is written once over a module of functions, and so a version of it for each of the other tools."""

from collections.abc import Callable
from typing import Any

from numba import njit

from benchmarks.comparison.shaped import (
    Argnums,
    Version,
    on_bound,
    on_engine,
    with_autograd,
    with_casadi,
    with_jax,
    with_torch,
    with_xad,
)

Write = Callable[[Any], Callable[..., Any]]  # write(module) is the function

# What an expert adds to a gradient by hand: LLVM may add and multiply in another order, and so in SIMD registers, and
# multiply by an inverse that it has computed once.
# contad does where the function itself is compiled so, and else keeps its value to the last bit.
reassociating = njit(fastmath={"reassoc", "arcp", "contract", "nsz"})

IDIOMS = {
    "autograd": "operations on whole arrays of autograd.numpy, value_and_grad (github.com/HIPS/autograd)",
    "jax": "jit of the outermost function, value_and_grad, whole arrays, float64, block_until_ready "
    "(docs.jax.dev/en/latest/201/profiling.html)",
    "torch": "whole tensors made once, torch.autograd.grad; not torch.compile, which needs a C++ compiler "
    "(docs.pytorch.org/tutorials/intermediate/torch_compile_tutorial.html)",
    "casadi": "MX for operations on whole matrices (github.com/casadi/casadi/wiki/L_py), one Function of value and "
    "gradients, called through buffers (github.com/casadi/casadi/issues/2433), which are reused",
    "xad": "adj_1st on numbers, as its bindings have no arrays; inputs are registered once, newRecording for each "
    "gradient (auto-differentiation.github.io/tutorials/python)",
}

# why contad is not first in several programs
SMALL = (
    "Small: passing arguments and results is nearly all of the time of the gradient by hand; CasADi's buffers and "
    "`contad.bind` keep both."
)

# what several programs say of CasADi
MAPACCUM = "github.com/casadi/casadi/wiki/FAQ:-How-to-use-map()-and-mapaccum()-to-speed-up-calculations%3F"
IN_C = "translated to C and compiled (github.com/casadi/casadi/wiki/L_22w)"


def on_reassociating(f: Any, argnums: Argnums) -> dict[str, Version]:
    """contad on the same Numba function, compiled with the options of the gradient by hand; and that one bound."""
    f = reassociating(f.py_func)
    return {"generated, reassociating": on_engine(f, argnums, "generated"), **on_bound(f, argnums)}


def with_every_tool(
    argnums: Argnums, *, arrays: Write, numbers: Write, casadi: Write, in_c: bool = False
) -> dict[str, Version]:
    """All of the other tools: on arrays, on numbers (xad, over a module like math), and with CasADi's functions."""
    return {
        "autograd": with_autograd(arrays, argnums),
        "jax": with_jax(arrays, argnums),
        "torch": with_torch(arrays, argnums),
        "casadi": with_casadi(lambda module, *args: casadi(module)(*args), argnums, in_c=in_c),
        "xad": with_xad_on_numbers(numbers, argnums),
    }


def with_xad_on_numbers(write: Write, argnums: Argnums) -> Version:
    """XAD on a function over a module like math."""

    def version(*args: Any) -> Any:
        import xad.math

        return with_xad(write(xad.math), argnums)(*args)

    return version
