"""The storage of a recording: records, values, constants and adjoints in reusable buffers.

Where the system allocates pages on first use, values and adjoints reserve address space once, so that they never move
in ordinary recordings; beyond it they grow by doubling. A cell's value is written only once, so a view of the old
buffer stays valid.
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

from contad.variables.layout import immutable_address, is_immutable
from contad.variables.open_types import Real

# ---- heads -----------------------------------------------------------------------------------------------------------
# One number encodes the kind of a record, its head. The head of a scalar's record is its operation code, that of an
# array's record is -(code + form + CELLS * number of its own cells). Forms: contiguous arrays (0), one operand a
# constant number in the record (X_NUMBER, Y_NUMBER), one operand a scalar's cell (X_CELL, Y_CELL), the sum of an array
# (x, size), the dot product of two (x, and the place of y and the size in `shapes`), any strides (all in `shapes`).
#
# A pullback is the continuation of an array rule: it runs if its result has an adjoint; a callback always runs.
INPUT, CALLBACK, LINEAR, JOIN, GATHER, PULLBACK = range(6)
VARIANTS = ("input", "callback", "linear", "join", "gather", "pullback")

CODES = 512
X_NUMBER, Y_NUMBER, SUM, DOT, X_CELL, Y_CELL, STRIDED, CELLS = (CODES * k for k in range(1, 9))

# The start of `shapes`: for each form but STRIDED, the integers that the sweep completes for kernels:
# z, outer, inner, z_outer, z_inner, x, x_outer, x_inner, y, y_outer, y_inner. A number is read from constants[1].
FORMS = (
    *(0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1),
    *(0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1),
    *(0, 1, 0, 0, 1, 0, 0, 1, 1, 0, 0),
    *(0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0),
    *(0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1),
    *(0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1),
    *(0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0),
)


def head_of(code: int, n: int, form: int = 0) -> int:
    """The head of an array record with n cells of its own."""
    return -(code + form + CELLS * n)


def decode(head: float) -> tuple[int, int, int]:
    """(operation code, form, number of own cells) of a head.

    >>> decode(head_of(CALLBACK, 7, STRIDED)) == (CALLBACK, STRIDED, 7), decode(3.0)
    (True, (3, 0, 1))
    """
    number = int(-head)
    return (number % CODES, number % CELLS // CODES * CODES, number // CELLS) if head < 0 else (-number, 0, 1)


def own_cells(heads: np.ndarray) -> np.ndarray:
    """How many cells each record has, given the heads of all.

    >>> own_cells(np.array([3.0, head_of(CALLBACK, 7)]))
    array([1., 7.])
    """
    return np.where(heads < 0, -heads // CELLS, 1)


# ---- buffers ---------------------------------------------------------------------------------------------------------
_Byte = ctypes.c_char
ROWS = 4096
# for a dot product, a strided record or a product, and other kernel records
_PACK = {n: struct.Struct(f"{n}q").pack_into for n in (2, 11, 19)}
_ZEROS = np.zeros(2 * ROWS)
FIRST_CONSTANT = 2  # place of those that are copied, after a one and the number of a record
WORTH_SHARING = 64  # numbers; a copy of fewer is faster than a comparison
RESERVED = 1 << 27 if sys.maxsize > 1 << 32 else 1 << 20  # numbers: 1 GiB of addresses
# Without this flag, a system that limits its commitments refuses to fork the process. Python's module has the flag
# since 3.13; before that its value is given here if another flag shows that Linux has the usual numbering.
NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if getattr(mmap, "MAP_DENYWRITE", 0) == 0x800 else 0)
BRIEF = 1 << 14  # cells up to which a sweep keeps Python's lock
CELLS_WITH_VIEWS = ROWS  # arrays of the first cells are kept from one recording to the next
MOST_VIEWS = 2 * ROWS
LARGE = 1 << 22  # numbers: each buffer keeps up to 32 MiB for the next gradient in any case

# Addresses of kernels, by operation code, and at INPUT that of the rules of numbers; 0 if not compiled yet.
KERNELS = np.zeros(CODES, np.uintp)
# Positions in the array where compiled code finds the addresses of buffers, and leaves results.
PLACES = {name: k for k, name in enumerate(
    ("shapes", "values", "constants", "staging", "records", "adjoints", "kernels", "floats", "integers", "stopped_at")
)} | {"addresses": 10}  # fmt: skip
RECORDS, STOPPED_AT = PLACES["records"], PLACES["stopped_at"]
_FIXED = id(float), id(int)


def reserve(least: int = ROWS) -> np.ndarray:
    """An array whose memory the system allocates page by page on first use; smaller where address space is limited.

    Where the system allocates memory at once, as Windows does, the array has room for `least` numbers, and grows.
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
    """The bytes of address space that the system allows this process."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, AttributeError, OSError):
        return sys.maxsize
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit


class Buffers:
    """The storage of one recording, reused from one gradient to the next.

    When a recording far larger than those before it ends, its memory goes back to the system.
    """

    __slots__ = (
        "addresses", "adjoints", "at", "brief", "capacity", "constants", "constants_top", "copies", "factors", "held",
        "length", "number", "pulls", "ready", "records", "sequences", "shape_words", "shapes", "shapes_top", "staging",
        "stream", "template", "usual", "values", "views", "views_kept", "words",
    )  # fmt: skip

    def __init__(self) -> None:
        self.stream: list[Real] = []  # records not packed yet
        self.staging: Any = np.empty((ROWS, 4))
        self.records = np.zeros((ROWS, 3))
        self.values = reserve()
        self.adjoints = reserve()
        self.brief = 0  # cells for which there is room, and at most the few that keep the lock
        self.length = 0  # length of the longest of constants, shapes and records
        self.held = 0  # numbers of a buffer that recordings have used and that still have memory
        self.usual = 0  # numbers that recent recordings have used; each smaller recording lowers it by an eighth
        self.number = np.empty(())  # an operand of the operation that is being evaluated
        # The arrays of values that recordings have made, by length or shape and by first cell: the next recording makes
        # mostly the same ones, and creating one takes as long as four look-ups.
        self.views: defaultdict[int | tuple[int, ...], dict[int, np.ndarray]] = defaultdict(dict)
        self.pulls: dict[tuple[float, ...], Any] = {}  # by a record's numbers: the function that sweeps it in Python
        self.sequences: dict[tuple[int, bytes], Any] = {}  # the same of many records, by their last cell and bytes
        self._start_constants()
        self.addresses = np.zeros(PLACES["addresses"], np.int64)  # with its own address, for compiled code
        self.addresses[PLACES["kernels"] : STOPPED_AT] = address_of(KERNELS), *_FIXED
        self.at: int = address_of(self.addresses)
        self.copies: dict[int, tuple[np.ndarray, int]] = {}  # by the id of a constant array: itself, its place
        # by the id of an immutable array, which this keeps alive: itself, its address, whether it lies as its transpose
        # does in C order, and whether it has no gaps
        self.factors: dict[int, tuple[np.ndarray, int, bool, bool]] = {}
        self._measure()
        self.clear()

    def _measure(self) -> None:
        """Store lengths for quick checks: of the buffers that a recording starts anew, and of those indexed by cell."""
        self.length = max(len(self.constants), len(self.shapes), len(self.records))
        self.capacity = len(self.values)
        self.brief = min(self.capacity, len(self.adjoints), BRIEF)
        self.ready = min(self.capacity, ROWS)  # cells up to which arrays need no check for room
        # memoryviews: NumPy makes matrices of them, and `struct` writes to them, faster than with arrays
        self.words, self.shape_words = self.values.data, self.shapes.data
        buffers = self.shapes, self.values, self.constants, self.staging, self.records, self.adjoints
        self.addresses[: len(buffers)] = [address_of(x) for x in buffers]
        self.template: Any = None  # a stack that is ready to record here; later stacks are copies of it
        self.views.clear()  # they may belong to other memory
        self.pulls.clear()
        self.sequences.clear()
        self.views_kept = 0

    def _start_constants(self) -> None:
        self.constants = np.ones(ROWS)  # constant arrays for kernels: a one, the number of a record, copies
        self.shapes: Any = np.zeros(ROWS, np.int64)  # data of array records beside their fields
        self.shapes[: len(FORMS)] = FORMS

    def clear(self, top: int = 0) -> None:
        """Prepare for the next recording, after one of `top` cells."""
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
        """Give memory back to the system if the buffers hold more than four times what recent recordings used."""
        before = self.usual
        self.usual = max(used, before - (before >> 3))
        self.held = max(self.held, used)
        if self.held <= max(4 * before, LARGE):
            return
        self.held = max(before, LARGE)
        for name in ("values", "adjoints"):
            if self.held < len(getattr(self, name)):
                setattr(self, name, reserve(self.held))  # avoids the differences between systems in advice about memory
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
        """The adjoints of n cells or more, not zeroed."""
        if n > len(self.adjoints):
            self.adjoints = np.empty(len(self.values))
            self._measure()
        return self.adjoints

    def keep_view(self, first: int, lengths: int | tuple[int, ...], view: np.ndarray) -> None:
        """Keep the array of that length or shape for the cells from `first` on, and limit how many are kept."""
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
        """A copy of a constant array that nobody writes to, for pullbacks, and minus its place.

        An immutable array is kept without a copy, with its address.
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
        """The place of a copy of a constant among those that kernels read; equal constants share it."""
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
            self.copies[id(a)] = a, at  # keeps the array alive, so that its id stays valid
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
