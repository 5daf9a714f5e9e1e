"""Calls of functions that Numba has made something else of: by `vectorize`, `guvectorize` and `cfunc`.

They are written in place, as what `njit` makes is: a ufunc for every element of its arguments, without errors at
divisions by zero; a callback with its arguments and its result cast to the types that it declares; what `guvectorize`
makes, for arrays without further axes.
"""

import ast
import functools
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from contad.compile.dispatchers import of_ufunc
from contad.compile.numba_objects import (
    CFunc,
    DUFunc,
    GUFunc,
    declared_arguments,
    signature_of_callback,
    takes_new_types,
)
from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import Elementwise, Object, is_array, is_number
from contad.engines.source.ir.single_assignment import INT, Block, Kind, Value
from contad.engines.source.reading.declared_names import cast
from contad.engines.source.reading.elementwise import overlaps

if TYPE_CHECKING:
    from contad.engines.source.reading.call_reader import CallReader
    from contad.engines.source.reading.progress import Environment

_NAMES = {"float": ("float64",), "int": ("int64",), "bool": ("bool",)}
_CHARACTERS = {"float": "d", "int": np.dtype(np.int64).char, "bool": "?"}


def is_made(function: Any) -> bool:
    """Whether a function is one that `vectorize`, `guvectorize` or `cfunc` has made."""
    return isinstance(function, (CFunc, DUFunc, GUFunc))


@functools.lru_cache(maxsize=1024)
def _dispatcher(made: Any) -> Any:
    """The function that it was made of, for njit; it is not compiled."""
    if isinstance(made, CFunc):
        return njit(made.__wrapped__)
    if isinstance(made, GUFunc):
        kernel = made.gufunc_builder
        return njit(error_model="numpy", fastmath=kernel.targetoptions.get("fastmath", False))(kernel.py_func)
    of = of_ufunc(made)
    return njit(error_model="numpy", fastmath=of.targetoptions.get("fastmath", False))(of.py_func)


def read_made(
    calls: "CallReader", function: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.Call,
    env: "Environment",
) -> Any:  # fmt: skip
    """What a call of a ufunc or a callback gives."""
    if keywords:
        calls.progress.refuse(node, f"the arguments of {ast.unparse(node)!r}", "give them by position")
    if isinstance(function, CFunc):
        return _read_callback(calls, function, arguments, node, env)
    if isinstance(function, GUFunc):
        return _read_kernel(calls, function, arguments, node, env)
    out = arguments[function.nin :]
    found = _read_ufunc(calls, function, arguments[: function.nin], node, env)
    return calls.compute_into(out[0], found, node) if out else found


def _read_callback(
    calls: "CallReader", function: CFunc, arguments: list[Any], node: ast.Call, env: "Environment"
) -> Any:
    """The result of a callback, cast as it declares."""
    dispatcher, signature = _dispatcher(function), signature_of_callback(function)
    if len(arguments) != len(signature.args) or not all(map(is_number, arguments)):
        calls.progress.refuse(node, f"the arguments of {ast.unparse(node)!r}", "give the numbers that it declares")
    given = [
        cast(calls.builder, dispatcher, f"argument {k}", x, t)
        for k, (x, t) in enumerate(zip(arguments, signature.args, strict=True))
    ]
    result = calls.inline(dispatcher, given, {}, node, env)
    return cast(calls.builder, dispatcher, "the result", result, signature.return_type)


def _read_ufunc(calls: "CallReader", function: DUFunc, operands: list[Any], node: ast.Call, env: "Environment") -> Any:
    """The result for numbers, or a new array of the results for all elements."""
    if len(operands) != function.nin or function.nout != 1 or not all(is_number(x) or is_array(x) for x in operands):
        calls.progress.refuse(node, f"the arguments of {ast.unparse(node)!r}", "give numbers and arrays")
    builder, progress, dispatcher = calls.builder, calls.progress, _dispatcher(function)
    taken = _loop_types(calls, function, operands, node)

    def compute(numbers: list[Value]) -> Value:
        given = [x if base is None else builder.convert(x, Kind(base)) for x, base in zip(numbers, taken, strict=False)]
        result = calls.inline(dispatcher, given, {}, node, env)
        if not is_number(result):
            progress.refuse(node, f"{ast.unparse(node)!r}, whose result is no number", "return a number on every path")
        found: Value = result if taken[-1] is None else builder.convert(result, Kind(taken[-1]))
        return found

    if all(map(is_number, operands)):
        return compute(operands)
    shape = calls.arrays.shape(Elementwise(known_functions.ADD, operands))

    def element(at: list[Value]) -> Value:
        return compute([calls.arrays.element(x, at) for x in operands])

    progress.loop_depth += len(shape)
    before = builder.added
    with builder.inside(Block()):  # once, to see of which kind the elements are
        kind = element([Value(INT) for _ in shape]).kind
    builder.added = before
    made = builder.create("empty", shape, kind.base)
    made.order = "C"
    calls.arrays.over(shape, lambda at: calls.arrays.put(made, at, element(at)))
    progress.loop_depth -= len(shape)
    return made


def _read_kernel(
    calls: "CallReader", function: GUFunc, arguments: list[Any], node: ast.Call, env: "Environment"
) -> Object:
    """The statements of a kernel, for arrays that have the axes of its signature alone; the last ones are written."""
    kernel, count = function.gufunc_builder, function.nin
    axes = [*kernel.sin, *kernel.sout]
    known = len(arguments) == len(axes) and all(is_number(x) or is_array(x) for x in arguments)
    if not known or any(x.kind.ndim != len(names) for x, names in zip(arguments, axes, strict=False)):
        calls.progress.refuse(
            node, f"{ast.unparse(node)!r} over further axes",
            "loop over these, and give what its signature names, the results last",
        )  # fmt: skip
    declared = declared_arguments(function) or [None]
    written = arguments[count:]
    if not any(map(_takes, declared, [arguments] * len(declared))) or not all(isinstance(x, Value) for x in written):
        calls.progress.refuse(
            node, f"{ast.unparse(node)!r}: arguments that it is not made for", "give arrays and numbers of 64 bits"
        )
    given = [calls.arrays.compute(x) if isinstance(x, Elementwise) else x for x in arguments]
    if any(x is not out and is_array(x) and overlaps(x, out) for out in written for x in given):
        calls.progress.refuse(node, f"{ast.unparse(node)!r} of overlapping parts", "copy them first")
    lengths: dict[str, Value] = {}
    for x, names in zip(given, axes, strict=True):
        for name, length in zip(names, calls.arrays.shape(x) if names else [], strict=True):
            calls.arrays.require_equal(lengths.setdefault(name, length), length)
    calls.inline(_dispatcher(function), given, {}, node, env)
    return Object(None)


def _takes(declared: tuple[Any, ...] | None, given: list[Any]) -> bool:
    """Whether a kernel is declared for arguments; one that declares nothing is made for what is given."""
    if any(x.kind.small or x.kind.narrow for x in given):
        return False
    if declared is None:
        return True
    return all(
        getattr(t, "ndim", 0) == x.kind.ndim and str(getattr(t, "dtype", t)) in _NAMES[x.kind.base]
        for t, x in zip(declared, given, strict=True)
    )


def _loop_types(calls: "CallReader", function: DUFunc, operands: list[Any], node: ast.Call) -> list[str | None]:
    """The bases that a ufunc has its arguments and its result in: those of the first of its loops that takes them.

    None where there is no loop yet, and one is made for what is given.
    """
    if any(x.kind.small for x in operands):
        calls.progress.refuse(node, f"{ast.unparse(node)!r} of small numbers", "convert them to float64 or int64")
    given = [_CHARACTERS[x.kind.base] for x in operands]
    bases = {np.dtype(character): base for base, character in _CHARACTERS.items()}
    for loop in function.types:
        before, _, after = loop.partition("->")
        if all(np.can_cast(x, y, "safe") for x, y in zip(given, before, strict=True)):
            found = [bases.get(np.dtype(x)) for x in before + after]
            if None in found:
                calls.progress.refuse(node, f"{ast.unparse(node)!r}, which rounds", "let it be made for float64")
            return found
    if not takes_new_types(function):
        calls.progress.refuse(
            node, f"{ast.unparse(node)!r}: arguments that it is not made for", "add their types to those of vectorize"
        )
    return [None] * (len(given) + 1)
