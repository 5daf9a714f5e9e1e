"""Work items that threads share: each runs once, on whichever thread is free, and has its own place for results.

Threads belong to the operating system. This module starts them if the clock says, after the first items, that the
remaining work is worth it. They end before the function returns, so no pool is left that a fork, a nested call or
another thread of the caller could disturb. They run machine code only: no item may use Python or the thread's arena.
"""

import ctypes
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from contad.compile.compiling import NJIT_OPTIONS
from contad.compile.dispatchers import is_dispatcher
from contad.compile.emitting import cgutils, counter_of_threads, emit_reraise, ir, name_address
from contad.compile.machine_code import njit
from contad.compile.named_code import compile_once
from contad.compile.overloads import add_overload
from contad.compile.words import WORD, add_atomically, external_words, place, word
from contad.forks import call_in_children
from contad.memory.system import address_of_symbol, thread_functions

MOST_ITEMS = 64
APART = 16  # numbers between the results of items: two cache lines, which processors fetch together
WORTH = 200_000  # nanoseconds of remaining work that justify new threads, which take a tenth of this
SURE = 5_000  # nanoseconds after which the clock is reliable
# shared words: the next item, the number of items; for each item its status and its exception
_NEXT, _COUNT, _CODES, _CAUSES, _HEAD = 0, 1, 2, 2 + MOST_ITEMS, 2 + 2 * MOST_ITEMS

# words that machine code reads by name: the number of threads at work besides their callers; WORTH and SURE; whether
# threads are possible; the monotonic clock; the attributes of threads
_numbers = np.array([0, WORTH, SURE, 0, 0, 0])
_BUSY, _WORTH, _SURE, _ENABLED, _CLOCK, _ATTRIBUTES = range(6)


def _register() -> Any:
    """Register the names that machine code reads; return the objects that must live as long as the process."""
    found = thread_functions()
    addresses = [address_of_symbol(ctypes.pythonapi.Py_IsInitialized)] * 4  # never called without threads
    if found is not None:
        try:
            addresses = [found.create, found.join, found.clock, address_of_symbol(counter_of_threads())]
            _numbers[_ENABLED:] = 1, found.which, ctypes.addressof(found.attributes)
        except (ImportError, ValueError):  # Numba has no way to run threads
            pass
    for name, address in zip(("create", "join", "clock", "count"), addresses, strict=True):
        name_address(f"contad_threads_{name}", address)
    name_address("contad_threads", _numbers.ctypes.data)
    return found


_kept = _register()
_create = types.ExternalFunction("contad_threads_create", types.int64(*[types.int64] * 4))
_join = types.ExternalFunction("contad_threads_join", types.int64(types.int64, types.int64))
_clock = types.ExternalFunction("contad_threads_clock", types.int64(types.int64, types.int64))
_count = types.ExternalFunction("contad_threads_count", types.int64())


def _forget_threads() -> None:
    """A child of a fork has one thread, whatever its parent was doing."""
    _numbers[_BUSY] = 0


call_in_children(_forget_threads)


# ---- threads that run items ------------------------------------------------------------------------------------------
@intrinsic
def _numbers_address(typingctx):  # type: ignore[no-untyped-def]
    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.ptrtoint(external_words(builder.module, "contad_threads", len(_numbers)), WORD)

    return types.int64(), codegen


@intrinsic
def _call_with(typingctx, address, data):  # type: ignore[no-untyped-def]
    """Call the C function of a word at an address."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.call(builder.inttoptr(args[0], ir.FunctionType(WORD, [WORD]).as_pointer()), args[1:])

    return types.int64(types.int64, types.int64), codegen


@njit(**NJIT_OPTIONS)
def _now(times):  # type: ignore[no-untyped-def]
    """Nanoseconds."""
    _clock(word(_numbers_address(), _CLOCK), times.ctypes.data)
    return 1_000_000_000 * times[0] + times[1]


def run_items(run_one, run_all, data):  # type: ignore[no-untyped-def]
    """Run all items; return the first one that has raised, or -1.

    `run_one(data)` runs the next item, and returns 0 if there is none; `run_all(data)` runs all remaining items.
    """
    count = word(data, _COUNT)
    numbers = _numbers_address()
    if count < 2 or word(numbers, _ENABLED) == 0:
        _call_with(run_all, data)
    else:
        times = np.empty(2, np.int64)
        done, start = 0, _now(times)
        while _call_with(run_one, data) != 0:
            done += 1
            spent, left = _now(times) - start, count - done
            if spent > word(numbers, _SURE) and spent * left > word(numbers, _WORTH) * done:
                _share_rest(run_all, data, left - 1)
                break
    for k in range(count):
        if word(data, _CODES + k) != 0:
            return k
    return -1


@njit(**NJIT_OPTIONS)
def _share_rest(run_all, data, wanted):  # type: ignore[no-untyped-def]
    """Run the remaining items on this thread and on the given number of others, within Numba's number of threads."""
    numbers = _numbers_address()
    most = (_count() & 0x7FFFFFFF) - 1
    wanted = max(0, min(wanted, most))
    threads = max(0, min(wanted, most - add_atomically(numbers, wanted)))
    add_atomically(numbers, threads - wanted)
    made = np.empty(threads, np.int64)
    begun = 0
    while begun < threads:
        where = made.ctypes.data + 8 * begun
        if _create(where, word(numbers, _ATTRIBUTES), run_all, data) & 0xFFFFFFFF != 0:
            break  # the system refuses more threads
        begun += 1
    _call_with(run_all, data)
    for k in range(begun):
        _join(made[k], 0)
    add_atomically(numbers, -threads)


_RUNNER = types.int64(types.int64, types.int64, types.int64)


# ---- functions that generated code calls -----------------------------------------------------------------------------
def sharer(part: Any) -> Any:
    """A function share(count, given) that calls part(item, *given) for every item, at most MOST_ITEMS.

    Compiled code calls it on several threads, in any order, if that is worth it. If items raise, the exception of the
    first one propagates. `part` is a Numba function; it may only write to the places of its item, and must not call
    Python.
    """

    def share(count: int, given: tuple[Any, ...]) -> None:
        for item in range(count):
            part(item, *given)

    if is_dispatcher(part):
        share_compiled = _share_compiled(part)

        @add_overload(share)
        def _share(count: Any, given: Any) -> Any:
            return lambda count, given: share_compiled(count, given)  # noqa: PLW0108  (Numba wants a function)

    return share


def _share_compiled(part: Any) -> Any:
    """The function of `sharer` in compiled code. It does not take the part as an argument, which would be an
    address."""

    @intrinsic
    def share_compiled(typingctx, count, given):  # type: ignore[no-untyped-def]
        kind = typingctx.resolve_value_type(part)
        found = kind.get_call_type(typingctx, (types.int64, *map(types.unliteral, given.types)), {})

        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            compiled = part.overloads[tuple(found.args)]
            values = cgutils.unpack_tuple(builder, args[1])
            casts = zip(values, given.types, found.args[1:], strict=True)
            values = [context.cast(builder, value, old, new) for value, old, new in casts]
            _emit_share(context, builder, compiled, found, args[0], values)
            return context.get_dummy_value()

        return types.void(types.int64, given), codegen

    return share_compiled


def _emit_share(context: Any, builder: Any, compiled: Any, found: Any, count: Any, values: list[Any]) -> None:
    """Emit the shared words, the functions that run items, and the call."""
    context.add_linking_libs([compiled.library])
    layout = ir.LiteralStructType([ir.ArrayType(WORD, _HEAD), *(value.type for value in values)])
    shared = cgutils.alloca_once(builder, layout)
    data = builder.ptrtoint(shared, WORD)
    builder.store(ir.Constant(WORD, 0), place(builder, data, _NEXT))
    builder.store(count, place(builder, data, _COUNT))
    with cgutils.for_range(builder, count, intp=WORD) as loop:
        code = builder.add(loop.index, ir.Constant(WORD, _CODES))
        builder.store(ir.Constant(WORD, 0), place(builder, data, code))
    for k, value in enumerate(values):
        builder.store(value, cgutils.gep_inbounds(builder, shared, 0, 1 + k))
    one = _emit_one(context, builder.module, compiled, found, layout)
    every = _emit_all(builder.module, one)
    # linked in, and not looked up by name at the first call: the lookup needs Python, whose lock another thread may
    # hold
    (runner,) = compile_once(f"{__name__}:run_items", _RUNNER).overloads.values()
    context.add_linking_libs([runner.library])
    called = context.declare_function(builder.module, runner.fndesc)
    runners = [builder.ptrtoint(one, WORD), builder.ptrtoint(every, WORD), data]
    status, failed = context.call_conv.call_function(builder, called, types.int64, _RUNNER.args, runners)
    with cgutils.if_unlikely(builder, status.is_error):
        context.call_conv.return_status_propagate(builder, status)
    with cgutils.if_unlikely(builder, builder.icmp_signed(">=", failed, ir.Constant(WORD, 0))):
        _emit_raise(context, builder, data, failed)


def _function(module: Any, name: str) -> tuple[Any, Any]:
    """A new C function of a word, and the builder of its body."""
    made = ir.Function(module, ir.FunctionType(WORD, [WORD]), module.get_unique_name(name))
    made.linkage = "internal"
    return made, ir.IRBuilder(made.append_basic_block("entry"))


def _emit_one(context: Any, module: Any, compiled: Any, found: Any, layout: Any) -> Any:
    """The function that runs the next item."""
    one, builder = _function(module, "contad_run_one")
    (data,) = one.args
    shared = builder.inttoptr(data, layout.as_pointer())
    item = builder.atomic_rmw("add", place(builder, data, _NEXT), ir.Constant(WORD, 1), "monotonic")
    count = builder.load(place(builder, data, _COUNT))
    with builder.if_then(builder.icmp_signed(">=", item, count)):
        builder.ret(ir.Constant(WORD, 0))
    values = [builder.load(cgutils.gep_inbounds(builder, shared, 0, 1 + k)) for k in range(len(layout.elements) - 1)]
    called = context.declare_function(module, compiled.fndesc)
    status, _ = context.call_conv.call_function(builder, called, found.return_type, found.args, [item, *values])
    with cgutils.if_unlikely(builder, status.is_error):
        code = builder.add(item, ir.Constant(WORD, _CODES))
        builder.store(builder.sext(status.code, WORD), place(builder, data, code))
        cause = builder.add(item, ir.Constant(WORD, _CAUSES))
        builder.store(builder.ptrtoint(status.excinfoptr, WORD), place(builder, data, cause))
        # items begin in order: all earlier ones run to their end, and no later one needs to begin
        builder.atomic_rmw("xchg", place(builder, data, _NEXT), count, "monotonic")
    builder.ret(ir.Constant(WORD, 1))
    return one


def _emit_all(module: Any, one: Any) -> Any:
    """The function that runs items as long as there are any."""
    every, builder = _function(module, "contad_run_all")
    again, end = builder.append_basic_block("again"), builder.append_basic_block("end")
    builder.branch(again)
    builder.position_at_end(again)
    builder.cbranch(builder.icmp_signed("!=", builder.call(one, every.args), ir.Constant(WORD, 0)), again, end)
    builder.position_at_end(end)
    builder.ret(ir.Constant(WORD, 0))
    return every


def _emit_raise(context: Any, builder: Any, data: Any, failed: Any) -> None:
    """Raise the exception of an item."""
    code = builder.load(place(builder, data, builder.add(failed, ir.Constant(WORD, _CODES))))
    cause = builder.load(place(builder, data, builder.add(failed, ir.Constant(WORD, _CAUSES))))
    emit_reraise(context, builder, code, cause)
