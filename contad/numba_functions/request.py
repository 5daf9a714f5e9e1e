"""The requests to a compiled engine, and its answers.

An engine is a module with these functions:

    build(request) -> an njit dispatcher `run`, never called with other types than the request's
    explain(request) -> str, an account of `run` and of the data that it stores
    source(request) -> str, the source of `run` as plain Python, if the engine generates source
    loops(request) -> the data that each loop stores (`ReversedLoop`), if the engine generates source

`run` has this form:

    value_and_grad    run(*args) -> (value, grads)     grads: a tuple, one entry per argnum, each structured like its
                                                       argument; with has_aux ((value, aux), grads)
    vjp               run(args, z_bar) -> grads        args: a tuple; z_bar is structured like the result; with has_aux
                                                       (aux, grads)
    jvp               run(args, tangents) -> (value, tangent)     tangents: a tuple, one entry per argnum; with has_aux
                                                       ((value, aux), tangent)
    hvp               run(args, tangents) -> (value, products)    products of the Hessian with tangents, as grads
    dependencies      run(args, (*nodes, graph)) -> (value, nodes)    nodes: integers in place of the floats of an
                                                       argument, and of the result; graph: the output of `run`
    all_dependencies  likewise, for all branches between which inputs decide; ignore the value

If `lanes` is more than 1, cotangents, tangents, grads and products hold that many lanes in place of each number, as in
`contad.kernels.lanes`; an engine without lanes refuses.

`run` never modifies its arguments, owns its results, raises exactly if the function itself raises, leaves the arena
unchanged after an exception, and runs in threads without the interpreter's lock. Before it is called, integers of
differentiated arguments have become float64, and float32 as well unless `contad.settings(keep_dtype=True)` says
otherwise, overlapping arrays have been dealt with, and keywords and defaults are positional.
"""

from types import FunctionType
from typing import Any, Literal, NamedTuple

# whose elementary functions: the C library's; or, in loops that surely gain or in all loops, those of
# `contad.elementary`
Numerics = Literal["libm", "auto", "simd"]
ASKS = "asks_value"  # the name of the argument of `run` that says whether the caller wants the value
Mode = Literal["value_and_grad", "vjp", "jvp", "hvp", "dependencies", "all_dependencies"]


class Request(NamedTuple):
    """A derivative of one function at arguments of given types.

    `build` raises contad.errors.UnsupportedError, with file, line, construct and remedy, if its engine refuses. Then
    contad asks the next engine.
    """

    function: FunctionType  # the user's Python function (dispatcher.py_func)
    dispatcher: Any  # the user's dispatcher, whose options (error_model, fastmath) are followed
    types: tuple[Any, ...]  # numba types of all positional arguments, defaults filled in, keywords resolved
    argnums: tuple[int, ...]  # the differentiated arguments: floats, arrays of them, (nested) tuples of these
    has_aux: bool
    mode: Mode
    # for "hvp", for each order of differentiation before the reverse sweep: the arguments with tangents; argnums once
    # where there is none. Tangents are in their order, level by level.
    along: tuple[tuple[int, ...], ...] = ()
    lanes: int = 1  # of "vjp", "jvp" and "hvp": how many cotangents or tangents are taken at once
    parts: bool = False  # of "vjp", "jvp" and "hvp": whether a complex number of a direction, and of what comes for
    # it, is a pair of its real and imaginary parts
    memory: bool = False  # with lanes: `run` takes memory and marks of `contad.kernels.recalled_values` behind these
    checkpoint: bool = False  # whether outermost loops count as loops over `contad.checkpointed(range(n))`
    numerics: Numerics = "libm"
    wide_sums: bool = False  # whether sums of float32 numbers are accumulated in float64
    linked: bool = False  # whether only compiled code calls `run`, which is then made for compiled code alone
    outs: tuple[Any, ...] = ()  # of "value_and_grad": the types of arrays, behind the arguments, for the gradients
    # of "value_and_grad": whether `run` takes one more argument, which says whether the caller wants the value, if this
    # saves time
    optional_value: bool = False
