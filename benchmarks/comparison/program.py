"""One program that is measured: its sizes, its inputs, and every way to its value and gradient."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

# computes (value, gradients), one gradient per differentiated argument, in the tool's own types
Run = Callable[[], Any]
NOTHING: Mapping[str, Any] = MappingProxyType({})


class TooSlow(Exception):
    """A version that would take too long at this size; the text says why."""


class Program(NamedTuple):
    """A function of NumPy arrays and numbers, and how each tool differentiates it.

    A version is prepared outside the clock: `version(*args)` moves the arguments to where the tool wants them, traces
    and compiles, and returns a `Run`. Only the run is timed. Where `primal` returns an array, the gradients are
    Jacobians.
    """

    name: str
    about: str  # one line: the formula
    sizes: Mapping[str, dict[str, Any]]  # "small", "medium", "large", each the arguments of `inputs`
    inputs: Callable[..., tuple[Any, ...]]  # the arguments of the program, NumPy arrays and numbers, seeded
    argnums: tuple[int, ...]  # what is differentiated
    primal: Any  # a function made by numba.njit, or of NumPy arrays where the program calls LAPACK
    by_hand: Callable[..., Any]  # by_hand(*args) -> (value, gradients), as an expert writes it in njit or NumPy
    contad: Mapping[str, Callable[..., Run]]  # the ways of contad: "generated", "tape", "matrix", "record", ...
    peers: Mapping[str, Callable[..., Run]] = NOTHING  # "autograd", "jax", ..., or more ways of one: "jax Hessian"
    written: Mapping[str, Callable[..., Run]] = NOTHING  # ways that are written here, and nobody's library
    idioms: Mapping[str, str] = NOTHING  # per peer: the advice of its documentation that it follows, with the page
    remarks: str = ""  # where contad is not first, and why, found by profiling
    # by hand in NumPy as well, call by call, where `by_hand` is compiled or avoids calls: for eager engines
    in_numpy: Callable[..., Any] | None = None
    # by hand with contad's elementary functions in vector registers, where `by_hand` has those of the C library
    with_kernels: Callable[..., Any] | None = None
    gives: Mapping[str, Callable[..., Any]] = NOTHING  # what a version gives that is no gradient, from the arguments
    count: Callable[..., float] = lambda **size: 1  # operations or calls in a run, from the arguments of `inputs`
    tolerance: float = 1e-10  # relative to the largest entry of the value, and of each gradient
