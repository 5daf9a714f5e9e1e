"""The memory of compiled code: each thread's growing buffers of records, adjoints and stored numbers, which calls
reuse.

A gradient finds its thread's arena once, through a thread-specific key; from then on variables carry its address. The
key, the functions of the operating system and contad's own slow paths are external symbols, so that machine code from a
disk cache finds them in every process. Import this module before such code is loaded.

The header of an arena is words:

    USED              number of cells issued; cell 0 is the sink for constants, so it starts at 1
    CAPACITY          number of records that fit
    RECORDS           address of the records, 24 bytes each
    ADJOINTS          address of the adjoints, 8 bytes each; all zero between sweeps
    ADJOINT_CAPACITY  number of adjoints that fit
    ARRAY_RECORD      the last record of the newest array record (one operation on whole arrays); 0 without any
    WORKSPACE         address of the numbers that generated derivatives store; the word before them says how many fit
    LENT              for each of the LOANS arrays of a derivative, the size of its memory in numbers, and the address
    NONE              0, the word before the numbers of an empty workspace
"""

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

import contad.compile.named_code  # noqa: F401  (what machine code names must be there with the arena)
from contad.compile.compiling import INTERNAL_OPTIONS, NJIT_OPTIONS
from contad.compile.emitting import cgutils, ir, name_address, named_address
from contad.compile.machine_code import cfunc, njit
from contad.compile.words import WORD, add_atomically, external_function, external_words, pointer, set_word, word
from contad.memory.system import machine_memory, memory_functions, thread_word
from contad.variables.stack import RECOVERIES

LOANS = 12
USED, CAPACITY, RECORDS, ADJOINTS, ADJOINT_CAPACITY, ARRAY_RECORD, WORKSPACE, LENT = range(8)
_NONE = LENT + 2 * LOANS
HEADER_BYTES = 8 * (_NONE + 1)
RECORD_BYTES = 24
MOST_CELLS = 2**31 - 1  # a record names its operands by 32 bits
FIRST_CAPACITY = 4096
MOST_NUMBERS = 2**58  # in a workspace; this many bytes do not overflow a word
FIRST_NUMBERS = 511
_LINE = 8  # numbers in a line of the cache
TOO_LARGE = "the derivative needs more memory than there is, or than contad.set_memory_limit allows"

# Words that machine code reads by name: bytes in use by all arenas, their limit, the thread-specific key.
_numbers = np.zeros(3, np.int64)
_BYTES, _LIMIT, _KEY = range(3)


def memory_limit() -> int:
    """The limit in bytes for the arenas of all threads together."""
    return int(_numbers[_LIMIT])


def set_memory_limit(limit: int | None) -> None:
    """Limit the arenas of all threads together to this many bytes; None for 0.8 of the machine's memory.

    Compiled gradients that need more raise MemoryError. Memory in use stays in use.

    Raises ValueError for a negative number, TypeError for a non-number.
    """
    try:
        is_negative = limit is not None and limit < 0
    except TypeError:
        kind = type(limit).__name__
        raise TypeError(f"set_memory_limit: limit must be a number of bytes or None, got {kind}") from None
    if is_negative:
        raise ValueError(f"set_memory_limit: limit must be a number of bytes or None, got {limit}")
    _numbers[_LIMIT] = (machine_memory() or 2**62) // 5 * 4 if limit is None else limit


def memory_in_use() -> int:
    """The bytes that the arenas of all threads hold now."""
    return int(_numbers[_BYTES])


@intrinsic
def _numbers_address(typingctx):  # type: ignore[no-untyped-def]
    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.ptrtoint(external_words(builder.module, "contad_numbers", len(_numbers)), WORD)

    return types.int64(), codegen


# ---- slow paths ------------------------------------------------------------------------------------------------------
# Every function here takes and returns words, whatever the C declaration says: the unused upper half is ignored.
_realloc = types.ExternalFunction("contad_realloc", types.int64(types.int64, types.int64))
_free = types.ExternalFunction("contad_free", types.int64(types.int64))
_get_thread_value = types.ExternalFunction("contad_thread_get", types.int64(types.int64))
_set_thread_value = types.ExternalFunction("contad_thread_set", types.int64(types.int64, types.int64))


@njit(**NJIT_OPTIONS)
def _resize(address, old, new):  # type: ignore[no-untyped-def]
    """Resize an allocation from `old` to `new` bytes, with its contents; 0, without a change, if there is no memory."""
    numbers = _numbers_address()
    if add_atomically(numbers, new - old) + new - old <= word(numbers, _LIMIT) or new < old:
        made = _realloc(address, new)
        if made != 0:
            return made
    add_atomically(numbers, old - new)
    return 0


@njit(**INTERNAL_OPTIONS)
def allocate(size):  # type: ignore[no-untyped-def]
    """The address of an allocation that counts as memory of the arenas; for `release`."""
    address = _resize(0, 0, max(size, 8))
    if address == 0:
        raise MemoryError(TOO_LARGE)
    return address


@njit(**INTERNAL_OPTIONS)
def release(address, size):  # type: ignore[no-untyped-def]
    """Free an allocation of that size."""
    add_atomically(_numbers_address(), -max(size, 8))
    _free(address)


@njit(**NJIT_OPTIONS)
def workspace_bytes(header):  # type: ignore[no-untyped-def]
    """The size of the workspace of an arena, in bytes."""
    capacity = word(word(header, WORKSPACE), -1)
    return 8 * (1 + capacity) if capacity else 0


@njit(**NJIT_OPTIONS)
def _give_back(header, block, capacity, size):  # type: ignore[no-untyped-def]
    """Free an allocation in units of that size, whose address and capacity are words of the header."""
    if word(header, capacity) != 0:
        add_atomically(_numbers_address(), -size * word(header, capacity))
        _free(word(header, block))
        set_word(header, block, 0)
        set_word(header, capacity, 0)


@njit(**NJIT_OPTIONS)
def _give_back_workspace(header):  # type: ignore[no-untyped-def]
    """Free the workspace. No derivative that uses it may be running on the thread."""
    if workspace_bytes(header) != 0:
        add_atomically(_numbers_address(), -workspace_bytes(header))
        _free(word(header, WORKSPACE) - 8)
        set_word(header, WORKSPACE, header + 8 * (_NONE + 1))


@njit(**NJIT_OPTIONS)
def _give_back_numbers(header):  # type: ignore[no-untyped-def]
    """Free the memory of generated derivatives. None of them may be running on the thread."""
    _give_back_workspace(header)
    for k in range(LENT, LENT + 2 * LOANS, 2):
        _give_back(header, k + 1, k, 8)


@njit(**NJIT_OPTIONS)
def _give_back_all(header):  # type: ignore[no-untyped-def]
    """Free all memory of an arena except its header."""
    _give_back(header, RECORDS, CAPACITY, RECORD_BYTES)
    _give_back(header, ADJOINTS, ADJOINT_CAPACITY, 8)
    _give_back_numbers(header)


@njit(**NJIT_OPTIONS)
def _give_back_free_records(header):  # type: ignore[no-untyped-def]
    """Free the memory for records that no cell uses."""
    old, used = word(header, CAPACITY), word(header, USED)
    if used < old:
        address = _resize(word(header, RECORDS), RECORD_BYTES * old, RECORD_BYTES * used)
        if address != 0:
            set_word(header, RECORDS, address)
            set_word(header, CAPACITY, used)


def _recover():  # type: ignore[no-untyped-def]
    """Free all memory of this thread's arena, unless a tape in it is in use."""
    header = _get_thread_value(word(_numbers_address(), _KEY))
    if header != 0 and word(header, USED) == 1:
        _give_back_all(header)
    return 0


def _release(header):  # type: ignore[no-untyped-def]
    """Free a thread's arena: the operating system calls this when the thread ends."""
    _give_back_all(header)
    _free(header)
    return 0


def _create():  # type: ignore[no-untyped-def]
    """A new empty arena as this thread's; its address, or 0."""
    header = _realloc(0, HEADER_BYTES)
    if header == 0:
        return 0
    for k in range(HEADER_BYTES // 8):
        set_word(header, k, 0)
    set_word(header, USED, 1)
    set_word(header, WORKSPACE, header + 8 * (_NONE + 1))
    _set_thread_value(word(_numbers_address(), _KEY), header)
    return header


def _grow(header, needed):  # type: ignore[no-untyped-def]
    """Make room for `needed` cells: 0 if there is none, else 1."""
    old = word(header, CAPACITY)
    if needed <= old:
        return 1
    if needed > MOST_CELLS:
        return 0
    new = min(max(2 * old, needed, FIRST_CAPACITY), MOST_CELLS)
    address = _resize(word(header, RECORDS), RECORD_BYTES * old, RECORD_BYTES * new)
    if address == 0:  # then free the memory that only other derivatives need, and allocate only the requested size
        _give_back(header, ADJOINTS, ADJOINT_CAPACITY, 8)
        _give_back_workspace(header)
        new = needed
        address = _resize(word(header, RECORDS), RECORD_BYTES * old, RECORD_BYTES * new)
    if address == 0:
        return 0
    set_word(header, RECORDS, address)
    set_word(header, CAPACITY, new)
    return 1


def _grow_adjoints(header, needed):  # type: ignore[no-untyped-def]
    """Make room for `needed` adjoints, which are zero: 0 if there is none, else 1."""
    old = word(header, ADJOINT_CAPACITY)
    if needed <= old:
        return 1
    new = max(needed, word(header, CAPACITY))
    address = _resize(word(header, ADJOINTS), 8 * old, 8 * new)
    if address == 0:
        _give_back_free_records(header)
        _give_back_workspace(header)
        new = needed
        address = _resize(word(header, ADJOINTS), 8 * old, 8 * new)
    if address == 0:
        return 0
    carray(pointer(address), new, np.float64)[old:] = 0.0
    set_word(header, ADJOINTS, address)
    set_word(header, ADJOINT_CAPACITY, new)
    return 1


def _grow_workspace(header, needed):  # type: ignore[no-untyped-def]
    """Make room for `needed` numbers in the workspace: 0 if there is none, else 1."""
    if needed > MOST_NUMBERS:
        return 0
    held = workspace_bytes(header)
    start = word(header, WORKSPACE) - 8 if held else 0
    new = max(held // 4, needed, FIRST_NUMBERS)
    address = _resize(start, held, 8 * (1 + new))
    if address == 0:
        if word(header, USED) == 1:
            _give_back(header, RECORDS, CAPACITY, RECORD_BYTES)
            _give_back(header, ADJOINTS, ADJOINT_CAPACITY, 8)
        new = needed
        address = _resize(start, held, 8 * (1 + new))
    if address == 0:
        return 0
    set_word(address, 0, new)
    set_word(header, WORKSPACE, address + 8)
    return 1


def _lend(header, place, needed):  # type: ignore[no-untyped-def]
    """Make room for this many numbers of the array whose words are at that place of the header; their address, or 0.

    The address is aligned to a cache line: rows of matrices that cross lines take a quarter longer.
    """
    if needed + _LINE > word(header, place):
        _give_back(header, place + 1, place, 8)
        address = _resize(0, 0, 8 * (needed + _LINE)) if needed <= MOST_NUMBERS else 0
        if address == 0:
            return 0
        set_word(header, place, needed + _LINE)
        set_word(header, place + 1, address)
    return (word(header, place + 1) + 8 * _LINE - 1) // (8 * _LINE) * (8 * _LINE)


# ---- symbols ---------------------------------------------------------------------------------------------------------
def _register() -> list[Any]:
    """Register the addresses that machine code names; return the objects that must live as long as these are used."""
    addresses = {"numbers": _numbers.ctypes.data, **memory_functions()}
    for name, address in addresses.items():
        name_address(f"contad_{name}", address)
    options = {name: value for name, value in NJIT_OPTIONS.items() if name != "nogil"}  # callbacks never hold a lock
    release = cfunc("int64(int64)", **options)(_release)
    _numbers[_KEY], get, put = thread_word(release.address)
    name_address("contad_thread_get", get)
    name_address("contad_thread_set", put)
    created, recovered = (cfunc("int64()", **options)(f) for f in (_create, _recover))
    RECOVERIES.append(recovered.ctypes)
    grown = [cfunc("int64(int64, int64)", **options)(f) for f in (_grow, _grow_adjoints, _grow_workspace)]
    lent = cfunc("int64(int64, int64, int64)", **options)(_lend)
    for function in (created, *grown, lent):
        name_address(f"contad{function.__name__}", function.address)
    return [release, created, recovered, *grown, lent]


set_memory_limit(None)
_ALIVE = _register()
_HEADER_OF_THREAD = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_size_t)(named_address("contad_thread_get"))


# ---- functions that Python calls -------------------------------------------------------------------------------------
@contextlib.contextmanager
def memory_set_aside() -> Iterator[None]:
    """Inside, no other derivative can take memory of the generated derivative that runs on this thread."""
    header = _HEADER_OF_THREAD(int(_numbers[_KEY]))
    if not header:  # then the derivative has none
        yield
        return
    words = (ctypes.c_int64 * (_NONE - WORKSPACE)).from_address(header + 8 * WORKSPACE)
    held = list(words)
    words[:] = [header + 8 * (_NONE + 1), *([0] * (2 * LOANS))]
    try:
        yield
    finally:
        _give_back_numbers(header)
        words[:] = held


# ---- functions that engines use --------------------------------------------------------------------------------------
def _raise_unless(context: Any, builder: Any, made: Any) -> None:
    with builder.if_then(builder.icmp_unsigned("==", made, ir.Constant(WORD, 0)), likely=False):
        context.call_conv.return_user_exc(builder, MemoryError, (TOO_LARGE,))


def arena_of_thread(context: Any, builder: Any) -> Any:
    """Emit the address of this thread's arena, which is made if there is none."""
    numbers = external_words(builder.module, "contad_numbers", len(_numbers))
    key = builder.load(builder.gep(numbers, [ir.Constant(WORD, 0), ir.Constant(WORD, _KEY)]))
    found = builder.call(external_function(builder.module, "contad_thread_get", 1), [key])
    address = cgutils.alloca_once_value(builder, found)
    with builder.if_then(builder.icmp_unsigned("==", found, ir.Constant(WORD, 0)), likely=False):
        made = builder.call(external_function(builder.module, "contad_create", 0), [])
        _raise_unless(context, builder, made)
        builder.store(made, address)
    return builder.load(address)


@intrinsic
def arena(typingctx):  # type: ignore[no-untyped-def]
    """The address of this thread's arena; MemoryError if it cannot be made."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return arena_of_thread(context, builder)

    return types.int64(), codegen


def reserve(context: Any, builder: Any, header: Any, name: str, needed: Any) -> None:
    """Emit a call of a slow path, `_grow` or one named after it, that raises MemoryError if there is no memory."""
    made = builder.call(external_function(builder.module, f"contad{name}", 2), [header, needed])
    _raise_unless(context, builder, made)


@intrinsic
def reserve_cells(typingctx, header, needed):  # type: ignore[no-untyped-def]
    """Make room for this total number of cells, or raise MemoryError."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        reserve(context, builder, args[0], "_grow", args[1])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def reserve_adjoints(typingctx, header, needed):  # type: ignore[no-untyped-def]
    """Make room for this total number of adjoints, or raise MemoryError."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        reserve(context, builder, args[0], "_grow_adjoints", args[1])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def lend(typingctx, k, needed):  # type: ignore[no-untyped-def]
    """The address of numbers that the thread keeps for array k of a derivative until the next request; or 0.

    Large allocations, once freed, go back to the system, which provides them again page by page.
    """

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        header = arena_of_thread(context, builder)
        where = builder.add(builder.mul(args[0], ir.Constant(WORD, 2)), ir.Constant(WORD, LENT))
        return builder.call(external_function(builder.module, "contad_lend", 3), [header, where, args[1]])

    return types.int64(types.int64, types.int64), codegen
