"""The storage of a recording: records, values, constants and adjoints in buffers that are reused.

Values and adjoints reserve address space once, where the system gives memory page by page on first use, so that they
never move in ordinary recordings; beyond it they grow by doubling. A cell's value is written once, so a view of the
old buffer stays right.
"""

import ctypes
import math
import mmap
import struct
import sys
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.engines.stream.record_head import CODES, FORMS
from contad.variables.layout import immutable_address, is_immutable
from contad.variables.open_types import Real

_Byte = ctypes.c_char
ROWS = 4096
# of a dot, what is strided or a product, a step
_PACK = {n: struct.Struct(f"{n}q").pack_into for n in (2, 11, 19)}
_ZEROS = np.zeros(2 * ROWS)
FIRST_CONSTANT = 2  # place of those that are copied, after a one and the number of a record
WORTH_SHARING = 64  # numbers: to copy fewer takes less time than to compare them
RESERVED = 1 << 27 if sys.maxsize > 1 << 32 else 1 << 20  # numbers: 1 GiB of addresses
# Without it a system that counts what it has promised refuses to fork the process. Python's module has it since 3.13;
# its number is here where another one tells that Linux numbers its flags in the common way.
NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if getattr(mmap, "MAP_DENYWRITE", 0) == 0x800 else 0)
BRIEF = 1 << 14  # cells of a recording that is swept without giving Python's lock to other threads
CELLS_WITH_VIEWS = ROWS  # the first cells, whose arrays are kept from one recording to the next
MOST_VIEWS = 2 * ROWS
LARGE = 1 << 22  # numbers: up to 32 MiB of each buffer are kept for the next gradient in any case

# Addresses of kernels, by operation code, and at INPUT of the rules of numbers; 0 where they are not compiled yet.
KERNELS = np.zeros(CODES, np.uintp)
# Where compiled code finds the addresses of buffers, and what it leaves beside them.
PLACES = {name: k for k, name in enumerate(
    ("shapes", "values", "constants", "staging", "records", "adjoints", "kernels", "floats", "integers", "stopped_at")
)} | {"addresses": 10}  # fmt: skip
RECORDS, STOPPED_AT = PLACES["records"], PLACES["stopped_at"]
_FIXED = id(float), id(int)


def reserve(least: int = ROWS) -> np.ndarray:
    """An array whose memory is taken from the system as it is used; smaller where address space is limited.

    Where the system takes memory at once, as Windows does, the array has room for `least` numbers, and grows.
    """
    if not hasattr(mmap, "MAP_PRIVATE"):
        return np.empty(max(least, ROWS))
    size = max(ROWS, min(RESERVED, _address_space() // 512))
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
    while True:
        try:
            return np.frombuffer(mmap.mmap(-1, 8 * size, flags=flags), np.float64)
        except (OSError, ValueError, MemoryError):
            if size <= ROWS:
                raise
            size //= 4


def _address_space() -> int:
    """How many bytes of addresses the system lets this process have."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, AttributeError, OSError):
        return sys.maxsize
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit


class Buffers:
    """The storage of one recording, reused from one gradient to the next.

    The memory of a recording that is far above those before it goes back to the system when it ends.
    """

    __slots__ = (
        "addresses", "adjoints", "at", "brief", "capacity", "constants", "constants_top", "copies", "factors", "held",
        "length", "number", "plans", "ready", "records", "shape_words", "shapes", "shapes_top", "staging", "steps",
        "stream", "template", "usual", "values", "views", "views_kept", "words",
    )  # fmt: skip

    def __init__(self) -> None:
        self.stream: list[Real] = []  # records not packed yet
        self.staging: Any = np.empty((ROWS, 4))
        self.records = np.zeros((ROWS, 3))
        self.values = reserve()
        self.adjoints = reserve()
        self.brief = 0  # cells for which there is room, and which are few
        self.length = 0  # of the longest of constants, shapes and records
        self.held = 0  # numbers: what a recording has used of a buffer, and still has memory
        self.usual = 0  # the same of recordings of late, falling by an eighth with each smaller one
        self.number = np.empty(())  # an operand of the operation that is being evaluated
        # The arrays of values that recordings have made, by length or shape and by first cell: the next recording makes
        # the same ones most often, and to make one takes as long as four look-ups.
        self.views: defaultdict[int | tuple[int, ...], dict[int, np.ndarray]] = defaultdict(dict)
        self.steps: dict[tuple[float, ...], Any] = {}  # by the numbers of a record: what sweeps it in plain Python
        self.plans: dict[tuple[int, bytes], Any] = {}  # of many records, by the last cell and by their bytes
        self._start_constants()
        self.addresses = np.zeros(PLACES["addresses"], np.int64)  # and its own, at which compiled code finds them
        self.addresses[PLACES["kernels"] : STOPPED_AT] = address_of(KERNELS), *_FIXED
        self.at: int = address_of(self.addresses)
        self.copies: dict[int, tuple[np.ndarray, int]] = {}  # by the id of a constant array: itself, its place
        # by the id of an immutable array, which is kept by this: itself, its address, whether it lies as its transpose
        # does in C order, and whether it has no gaps
        self.factors: dict[int, tuple[np.ndarray, int, bool, bool]] = {}
        self._measure()
        self.clear()

    def _measure(self) -> None:
        """Note lengths, so that nobody asks: of what each recording starts anew, and of what has all cells."""
        self.length = max(len(self.constants), len(self.shapes), len(self.records))
        self.capacity = len(self.values)
        self.brief = min(self.capacity, len(self.adjoints), BRIEF)
        self.ready = min(self.capacity, ROWS)  # cells of a recording whose arrays need not look for room
        # of which NumPy makes a matrix, and `struct` writes, in less time than of arrays
        self.words, self.shape_words = self.values.data, self.shapes.data
        buffers = self.shapes, self.values, self.constants, self.staging, self.records, self.adjoints
        self.addresses[: len(buffers)] = [address_of(x) for x in buffers]
        self.template: Any = None  # a stack that is ready to record here, of which those to come are copies
        self.views.clear()  # of other memory, perhaps
        self.steps.clear()
        self.plans.clear()
        self.views_kept = 0

    def _start_constants(self) -> None:
        self.constants = np.ones(ROWS)  # what kernels read as constant arrays: a one, the number of a record, copies
        self.shapes: Any = np.zeros(ROWS, np.int64)  # what records of arrays need beside their fields
        self.shapes[: len(FORMS)] = FORMS

    def clear(self, top: int = 0) -> None:
        """Make ready for the next recording, after one of `top` cells."""
        if top > LARGE or self.length > LARGE or self.held > LARGE:
            self._give_back(max(top, self.length))
        self.stream.clear()
        if self.copies:
            self.copies.clear()
        if self.factors:
            self.factors.clear()
        self.constants_top = FIRST_CONSTANT
        self.shapes_top = len(FORMS)

    def _give_back(self, used: int) -> None:
        """Give memory back to the system where more than four times what recordings have used of late is held."""
        before = self.usual
        self.usual = max(used, before - (before >> 3))
        self.held = max(self.held, used)
        if self.held <= max(4 * before, LARGE):
            return
        self.held = max(before, LARGE)
        for name in ("values", "adjoints"):
            if self.held < len(getattr(self, name)):
                setattr(self, name, reserve(self.held))  # without what systems' advice about memory means to each
        if max(len(self.constants), len(self.shapes)) > self.held:
            self._start_constants()
        if len(self.records) > self.held:
            self.records = np.zeros((ROWS, 3))
            self.staging = np.empty((ROWS, 4))
        self._measure()

    def grow(self, name: str, n: int) -> None:
        """Make the buffer of that name hold n entries, doubling it."""
        old = getattr(self, name)
        if n > len(old):
            new = np.empty((max(n, 2 * len(old)), *old.shape[1:]), old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)
            self._measure()

    def zero_adjoints(self, n: int) -> np.ndarray:
        """The adjoints of n cells, zero."""
        adjoints = self.room_for_adjoints(n)[:n]
        adjoints[:] = _ZEROS[:n] if n <= len(_ZEROS) else 0.0  # copying takes half as long as filling
        return adjoints

    def room_for_adjoints(self, n: int) -> np.ndarray:
        """The adjoints of n cells or more, as they are."""
        if n > len(self.adjoints):
            self.adjoints = np.empty(len(self.values))
            self._measure()
        return self.adjoints

    def keep_view(self, first: int, lengths: int | tuple[int, ...], view: np.ndarray) -> None:
        """Keep the array of that length or shape of the cells from `first` on, and no more than are of use."""
        if self.views_kept >= MOST_VIEWS:
            self.views.clear()
            self.views_kept = 0
        self.views[lengths][first] = view
        self.views_kept += 1

    # ---- beside the records: shapes and cells ------------------------------------------------------------------------
    def push_shape(self, shape: Sequence[int]) -> int:
        """Keep integers; returns where."""
        at = self.shapes_top
        end = self.shapes_top = at + len(shape)
        if end > len(self.shapes):
            self.grow("shapes", end)
        _PACK[len(shape)](self.shape_words, 8 * at, *shape)
        return at

    def push_cells(self, cells: np.ndarray) -> int:
        """Keep an array of cells; returns where."""
        at = self.shapes_top
        end = self.shapes_top = at + cells.size
        self.grow("shapes", end)
        self.shapes[at:end] = cells.reshape(-1)
        return at

    # ---- beside the records: constants -------------------------------------------------------------------------------
    def keep(self, a: np.ndarray) -> tuple[np.ndarray, int]:
        """A copy of a constant array that nobody writes, as pullbacks keep it, and minus its place.

        An immutable array is kept as it is, with its address.
        """
        address = immutable_address(a)
        if address:
            return a, address
        n = a.size
        if n < WORTH_SHARING:
            at = self.constants_top
            end = self.constants_top = at + n
            if end > len(self.constants):
                self.grow("constants", end)
            kept = self.constants[at:end].reshape(a.shape)
            kept[...] = a
        else:
            at = self.push_constant(a)
            kept = self.constants[at : at + n].reshape(a.shape)
        kept.flags.writeable = False
        return kept, -at

    def push_constant(self, a: np.ndarray) -> int:
        """The place of a copy of a constant among those that kernels read; equal contents share it."""
        n = a.size
        if n >= WORTH_SHARING:
            known = self.copies.get(id(a))
            if known is not None and (is_immutable(a) or _has_same_bits(self.constants[known[1] : known[1] + n], a)):
                return known[1]
        at = self.constants_top
        end = self.constants_top = at + n
        if end > len(self.constants):
            self.grow("constants", end)
        self.constants[at:end] = a if a.ndim == 1 else a.reshape(-1)
        if n >= WORTH_SHARING:
            self.copies[id(a)] = a, at  # with the array, whose id it stays
        return at

    def new_constant(self, shape: tuple[int, ...]) -> tuple[int, np.ndarray]:
        """Room for a constant array: its place and the array."""
        at = self.constants_top
        end = self.constants_top = at + math.prod(shape)
        if end > len(self.constants):
            self.grow("constants", end)
        return at, self.constants[at:end].reshape(shape)


def address_of(a: Any) -> int:
    """The address of the numbers of an array; 0 if it has none."""
    if not a.size:
        return 0
    if a.flags.writeable:  # the quickest way to ask
        return ctypes.addressof(_Byte.from_buffer(a))
    return int(a.__array_interface__["data"][0])


def _has_same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays of one size are the same, nan and the signs of zeros included."""
    if a.size != b.size or b.dtype != np.float64 or not b.flags.c_contiguous:
        return False
    return bool((a.view(np.int64) == b.reshape(-1).view(np.int64)).all())
