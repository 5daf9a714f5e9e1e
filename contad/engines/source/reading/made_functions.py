"""Reads calls of functions made by Numba's `vectorize`, `guvectorize` and `cfunc`.

They are inlined, as njit functions are: a ufunc for every element of its arguments, without errors at divisions by
zero; a callback with its arguments and its result cast to its declared types; a function of `guvectorize` only for
arrays without additional axes.
"""

import functools
from typing import Any

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
from contad.engines.source.ir.ssa import INT, Kind, Value
from contad.engines.source.reading.call_site import CallSite
from contad.engines.source.reading.declared_names import cast
from contad.engines.source.reading.elementwise import overlaps

_NAMES = {"float": ("float64",), "int": ("int64",), "bool": ("bool",)}
_CHARACTERS = {"float": "d", "int": np.dtype(np.int64).char, "bool": "?"}


def is_made(function: Any) -> bool:
    """Whether `vectorize`, `guvectorize` or `cfunc` has made a function."""
    return isinstance(function, (CFunc, DUFunc, GUFunc))


@functools.lru_cache(maxsize=1024)
def _dispatcher(made: Any) -> Any:
    """A dispatcher of the original function; it is not compiled."""
    if isinstance(made, CFunc):
        return njit(made.__wrapped__)
    if isinstance(made, GUFunc):
        kernel = made.gufunc_builder
        return njit(error_model="numpy", fastmath=kernel.targetoptions.get("fastmath", False))(kernel.py_func)
    of = of_ufunc(made)
    return njit(error_model="numpy", fastmath=of.targetoptions.get("fastmath", False))(of.py_func)


def read_made(site: CallSite, function: Any) -> Any:
    """The result of a call of a ufunc or a callback."""
    if site.keywords:
        site.refuse(remedy="give them by position")
    if isinstance(function, CFunc):
        return _read_callback(site, function)
    if isinstance(function, GUFunc):
        return _read_kernel(site, function)
    out = site.arguments[function.nin :]
    found = _read_ufunc(site, function, site.arguments[: function.nin])
    return site.compute_into(out[0], found) if out else found


def _read_callback(site: CallSite, function: CFunc) -> Any:
    """The result of a callback, cast to its declared type."""
    dispatcher, signature = _dispatcher(function), signature_of_callback(function)
    if len(site.arguments) != len(signature.args) or not all(map(is_number, site.arguments)):
        site.refuse(remedy="give the numbers that it declares")
    given = [
        cast(site.builder, dispatcher, f"argument {k}", x, t)
        for k, (x, t) in enumerate(zip(site.arguments, signature.args, strict=True))
    ]
    return cast(site.builder, dispatcher, "the result", site.inline(dispatcher, given), signature.return_type)


def _read_ufunc(site: CallSite, function: DUFunc, operands: list[Any]) -> Any:
    """The result for numbers, or a new array of the results for all elements."""
    if len(operands) != function.nin or function.nout != 1 or not all(is_number(x) or is_array(x) for x in operands):
        site.refuse(remedy="give numbers and arrays")
    builder, dispatcher, taken = site.builder, _dispatcher(function), _loop_types(site, function, operands)

    def compute(numbers: list[Value]) -> Value:
        given = [x if base is None else builder.convert(x, Kind(base)) for x, base in zip(numbers, taken, strict=False)]
        result = site.inline(dispatcher, given)
        if not is_number(result):
            site.refuse("{node}, whose result is no number", "return a number on every path")
        found: Value = result if taken[-1] is None else builder.convert(result, Kind(taken[-1]))
        return found

    if all(map(is_number, operands)):
        return compute(operands)
    shape = site.arrays.shape(Elementwise(known_functions.ADD, operands))

    def element(at: list[Value]) -> Value:
        return compute([site.arrays.element(x, at) for x in operands])

    with site.progress.standing(loop_depth=site.progress.loop_depth + len(shape)):
        with builder.trial():  # to find the kind of the elements
            kind = element([Value(INT) for _ in shape]).kind
        made = builder.create("empty", shape, kind.base)
        made.order = "C"
        site.arrays.over(shape, lambda at: site.arrays.put(made, at, element(at)))
    return made


def _read_kernel(site: CallSite, function: GUFunc) -> Object:
    """Inline a kernel, for arrays with exactly the axes of its signature; it writes to the last ones."""
    kernel, arguments = function.gufunc_builder, site.arguments
    axes = [*kernel.sin, *kernel.sout]
    known = len(arguments) == len(axes) and all(is_number(x) or is_array(x) for x in arguments)
    if not known or any(x.kind.ndim != len(names) for x, names in zip(arguments, axes, strict=False)):
        remedy = "loop over these, and give what its signature names, the results last"
        site.refuse("{node} over further axes", remedy)
    declared = declared_arguments(function) or [None]
    written = arguments[function.nin :]
    if not any(map(_takes, declared, [arguments] * len(declared))) or not all(isinstance(x, Value) for x in written):
        site.refuse("{node}: arguments that it is not made for", "give arrays and numbers of 64 bits")
    given = [*map(site.reader.settle, arguments)]
    if any(x is not out and is_array(x) and overlaps(x, out) for out in written for x in given):
        site.refuse("{node} of overlapping parts", "copy them first")
    lengths: dict[str, Value] = {}
    for x, names in zip(given, axes, strict=True):
        for name, length in zip(names, site.arrays.shape(x) if names else [], strict=True):
            site.arrays.require_equal(lengths.setdefault(name, length), length)
    site.inline(_dispatcher(function), given)
    return Object(None)


def _takes(declared: tuple[Any, ...] | None, given: list[Any]) -> bool:
    """Whether a kernel is declared for these arguments; one without declarations accepts any."""
    if any(x.kind.small or x.kind.narrow for x in given):
        return False
    if declared is None:
        return True
    return all(
        getattr(t, "ndim", 0) == x.kind.ndim and str(getattr(t, "dtype", t)) in _NAMES[x.kind.base]
        for t, x in zip(declared, given, strict=True)
    )


def _loop_types(site: CallSite, function: DUFunc, operands: list[Any]) -> list[str | None]:
    """The bases of arguments and result in a ufunc: those of its first loop that takes the arguments.

    None if there is no loop yet, and Numba will compile one for these arguments.
    """
    if any(x.kind.small for x in operands):
        site.refuse("{node} of small numbers", "convert them to float64 or int64")
    given = [_CHARACTERS[x.kind.base] for x in operands]
    bases = {np.dtype(character): base for base, character in _CHARACTERS.items()}
    for loop in function.types:
        before, _, after = loop.partition("->")
        if all(np.can_cast(x, y, "safe") for x, y in zip(given, before, strict=True)):
            found = [bases.get(np.dtype(x)) for x in before + after]
            if None in found:
                site.refuse("{node}, which rounds", "let it be made for float64")
            return found
    if not takes_new_types(function):
        site.refuse("{node}: arguments that it is not made for", "add their types to those of vectorize")
    return [None] * (len(given) + 1)
