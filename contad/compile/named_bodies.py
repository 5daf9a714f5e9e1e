"""Values and bodies of contad's own array rules inside Numba, compiled once per installation and called by name.

The name encodes the types of the arguments: a digit for a float64 array with that many axes, 0 for a number, and
brackets around the entries of a tuple.
"""

import functools
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from contad.compile.compiling import INTERNAL_OPTIONS, NJIT_OPTIONS
from contad.compile.linked_code import defer_code
from contad.compile.machine_code import njit
from contad.compile.named_code import address_of, emit_address, emit_call, name_of
from contad.compile.overloads import add_overload

_BODY = """
@intrinsic
def call(typingctx, {names}):
    return emit(({names},))

def {function}({names}):
    return call({rows})
"""


def as_rows(x: Any) -> Any:
    """A writable float64 array in C order: the array itself, or a copy; likewise for tuples of arrays."""
    return x


@add_overload(as_rows, jit_options=INTERNAL_OPTIONS)
def _as_rows(x: Any) -> Any:
    if isinstance(x, types.BaseTuple):
        known: dict[str, Any] = {"as_rows": as_rows}
        exec(f"def of_tuple(x):\n    return ({''.join(f'as_rows(x[{k}]), ' for k in range(len(x)))})\n", known)
        return known["of_tuple"]
    if not isinstance(x, types.Array):
        return lambda x: float(x)  # noqa: PLW0108  (Numba compares the names of arguments)
    if x.dtype != types.float64:
        return lambda x: np.ascontiguousarray(x.astype(np.float64))
    if x.layout == "C":
        return (lambda x: x) if x.mutable else lambda x: x.copy()
    return lambda x: np.ascontiguousarray(x)  # noqa: PLW0108  (Numba compares the names of arguments)


@functools.cache
def body_by_name(function: Any) -> Any:
    """A Numba function that calls the same body by name."""

    def emit(kinds: tuple[Any, ...]) -> Any:
        name = f"{name_of(function)}/{''.join(map(_write_type, kinds))}"
        (signature,) = _compile(name).nopython_signatures

        def codegen(context: Any, builder: Any, _: Any, args: Any) -> Any:
            return emit_call(context, builder, emit_address(context, builder, find_body, name), signature, args)

        return signature, codegen

    names = list(inspect.signature(function).parameters)
    known: dict[str, Any] = {"emit": emit, "intrinsic": intrinsic, "as_rows": as_rows}
    rows = ", ".join(f"as_rows({x})" for x in names)
    exec(_BODY.format(names=", ".join(names), rows=rows, function=function.__name__), known)
    return njit(**INTERNAL_OPTIONS)(known[function.__name__])


def find_body(name: str) -> int:
    """The address of a body for arguments of these types, compiled or loaded."""
    return address_of(_compile(name))


@functools.cache
def _compile(name: str) -> Any:
    home, _, kinds = name.partition("/")
    found = pkgutil.resolve_name(home)
    made = njit(**NJIT_OPTIONS)(getattr(found, "function", found))  # of a rule: its value
    with defer_code():
        made.compile(tuple(_read_types(iter(kinds))))
    return made


def _write_type(kind: Any) -> str:
    if isinstance(kind, types.BaseTuple):
        return f"({''.join(map(_write_type, kind))})"
    return str(kind.ndim) if isinstance(kind, types.Array) else "0"


def _read_types(kinds: Iterator[str]) -> Iterator[Any]:
    for x in kinds:
        if x == ")":
            return
        if x == "(":
            yield types.Tuple(tuple(_read_types(kinds)))
        else:
            yield types.float64 if x == "0" else types.Array(types.float64, int(x), "C")
