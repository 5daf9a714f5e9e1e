"""Compiled functions bound to their arguments: Python calls them without unboxing the arguments again.

A call from Python unboxes its arguments, takes references to arrays and boxes each result. For a gradient of a hundred
numbers this is most of the time. A bound call checks that the arrays are where they were, and calls machine code with
the arguments as unboxed before. These words hold its arguments:

    address of the machine code; address of a counter, and its value then; for each array its entry, which
    `contad.numba_functions.guarded` compares; then the arguments, laid out as Numba lays out a tuple of them
"""

import functools
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from contad.compile.brief_calls import BriefCalls
from contad.compile.named_code import emit_call
from contad.compile.typing_rules import bytes_of
from contad.compile.words import place, word
from contad.errors import UnsupportedError
from contad.numba_functions.array_arguments import Returned
from contad.numba_functions.frozen import describe_place
from contad.numba_functions.guarded import ARRAY, bind_to, call_with, has_its_place
from contad.variables.trees import leaves_of

HEAD = 3
CODE, COUNTER, COUNT = range(HEAD)
MOVED = "contad.bind: an array has got other memory or another shape since; bind again"
RECOMPILED = "contad.bind: the derivative has been recompiled since; bind again"


class Bound(bytes):
    """The property of a bound call: the words that machine code reads, as bytes, and all objects that they point to."""

    shown: str
    arguments: tuple[Any, ...]
    kept: "_Owned"

    def __repr__(self) -> str:
        return f"<arguments of {self.shown}>"

    __str__ = __repr__

    def __reduce__(self) -> Any:
        raise UnsupportedError(f"pickle: {self!r} are arrays of this process; bind again in the other one")


class _Owned(list[Any]):
    """Objects that must live as long as a bound call. Unlike bytes, they can have a weak reference."""


def is_plain(t: Any) -> bool:
    """Whether an argument of this type can be stored in its machine representation."""
    if isinstance(t, types.BaseTuple):
        return all(map(is_plain, t))
    return isinstance(t, (types.Array, types.Number, types.Boolean, types.NoneType))


def bind_entry(
    overload: Any, arguments: tuple[Any, ...], returned: Returned, counter: np.ndarray, shown: str,
    guard: Callable[..., Any],
) -> Any:  # fmt: skip
    """A builtin function that calls a function compiled by Numba, with these arguments.

    `counter` is a word: after it has changed, the call raises. `guard` makes the function that checks before the call,
    and puts objects that must live as long into the list `kept`.
    """
    signature = overload.signature
    entries: list[int] = []
    kept = _Owned()
    for x in leaves_of(arguments):
        if isinstance(x, np.ndarray):
            entry, objects = describe_place(x)
            entries += entry
            kept.append(objects)
    make = _compile_entry(signature.args, signature.return_type, returned, len(entries) // ARRAY)
    start = HEAD + len(entries)
    words = np.zeros(start + make.words, np.int64)
    code = overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name)
    words[:start] = [code, counter.ctypes.data, counter[0], *entries]
    address = words.ctypes.data
    make.store(address + 8 * start, arguments)
    entry = guard(make.entry, kept=kept)
    given = (address,)
    own = Bound(call_with(given, entry))
    own.shown, own.arguments = shown, arguments
    own.kept = kept
    kept += [given, entry, make, overload, counter, words]
    weakref.finalize(own.kept, _release, make.release, words, start).atexit = False
    return bind_to(own)


def _release(release: Any, words: np.ndarray, start: int) -> None:
    release(words.ctypes.data + 8 * start)


# ---- machine code ----------------------------------------------------------------------------------------------------
class _Compiled(NamedTuple):
    """The compiled functions that call with, store and release arguments of given types, and the words that they
    take."""

    entry: Any
    store: Any
    release: Any
    words: int


@functools.cache
def _compile_entry(kinds: tuple[Any, ...], result: Any, returned: Returned, arrays: int) -> _Compiled:
    held = types.Tuple(kinds)
    start = HEAD + ARRAY * arrays
    called = result(*kinds)

    def emit_pointer(context: Any, builder: Any, address: Any) -> Any:
        return builder.inttoptr(address, context.get_data_type(held).as_pointer())

    def emit_arguments(context: Any, builder: Any, address: Any) -> Any:
        stored = builder.load(emit_pointer(context, builder, address))
        return context.data_model_manager[held].from_data(builder, stored)

    @intrinsic
    def store(typingctx, address, arguments):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            context.nrt.incref(builder, held, args[1])
            data = context.data_model_manager[held].as_data(builder, args[1])
            builder.store(data, emit_pointer(context, builder, args[0]))
            return context.get_dummy_value()

        return types.none(types.int64, held), codegen

    @intrinsic
    def release(typingctx, address):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            context.nrt.decref(builder, held, emit_arguments(context, builder, args[0]))
            return context.get_dummy_value()

        return types.none(types.int64), codegen

    @intrinsic
    def call(typingctx, words):  # type: ignore[no-untyped-def]
        given = {"all": result, "first": result[0] if returned == "first" else None, "nothing": types.none}[returned]

        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            arguments = emit_arguments(context, builder, builder.add(args[0], args[0].type(8 * start)))
            parts = [builder.extract_value(arguments, k) for k in range(len(kinds))]
            code = builder.load(place(builder, args[0]))
            found = emit_call(context, builder, code, called, parts)
            if returned == "all":
                return found
            context.nrt.decref(builder, result, found)  # the first one is a number
            return builder.extract_value(found, 0) if returned == "first" else context.get_dummy_value()

        return given(types.int64), codegen

    def call_bound(words):  # type: ignore[no-untyped-def]
        if word(word(words, COUNTER), 0) != word(words, COUNT):
            raise RuntimeError(RECOMPILED)
        for k in range(arrays):
            if not has_its_place(words + 8 * (HEAD + ARRAY * k)):
                raise ValueError(MOVED)
        return call(words)

    def store_arguments(address, arguments):  # type: ignore[no-untyped-def]
        store(address, arguments)

    def release_arguments(address):  # type: ignore[no-untyped-def]
        release(address)

    made = [numba.njit(store_arguments), numba.njit(release_arguments)]
    made.append(numba.njit(nogil=True, error_model="numpy", pipeline_class=BriefCalls)(call_bound))
    for function, signature in zip(made, ((types.int64, held), (types.int64,), (types.int64,)), strict=True):
        function.compile(signature)
    entry = made[2].overloads[(types.int64,)].entry_point
    return _Compiled(entry, made[0], made[1], -(-bytes_of(held) // 8))
