"""Array variables of the engine `matrix`: values, and the cells of their elements in the adjoint vector.

An *affine* array (every argument, and the result of every operation) has contiguous values in the slab and its cells in
the same order from `_start`. The first assignment makes it *scattered*: two ndarrays, values and cells, whose views
alias in the same way; cell 0 is the sink of constants. Elements, views and moved copies share the cells of their
source.
"""

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any, Protocol

import numpy as np

from contad.errors import StaleVariableError
from contad.variables.array import Array, View, Write, require_no_inner, write_half
from contad.variables.dtypes import FLOAT
from contad.variables.layout import same_layout
from contad.variables.number import Number
from contad.variables.open_types import ArrayValue, Key, Real, Value
from contad.variables.var import Var

_WHOLE = slice(None)


class ArraySlab(Protocol):
    """The interface of a stack for array records: see `contad.engines.matrix.matrix_stack.MatrixStack`."""

    level: int
    top: int  # the next free cell
    limit: int
    brim: int  # the cell up to which there is room without a check
    capacity: int  # cells that the slab has room for
    running: int
    ended: str | None
    lock: Any
    tracer: Any
    buffers: Any
    callbacks: Any
    stream: list[Real]
    push: Callable[..., None]
    slab: np.ndarray
    words: Any  # the slab as a buffer of bytes
    views: Any  # views of the slab, by their lengths and first cells
    number: Any
    var_class: type[Var]
    float_class: Any
    keeps_rules: bool
    is_mixed: bool  # whether there are values of outer levels
    outer_values: Any
    factors: dict[tuple[Any, ...], np.ndarray]  # factors that operations share, by operand

    def is_here(self) -> bool:
        """Whether this thread may record on it."""

    def check_usable(self, what: str) -> None:
        """Raise if the stack has ended, or belongs to another thread."""

    def flush(self) -> None:
        """Pack the stream into records."""

    def flush_if_long(self) -> None:
        """Pack the stream into records if it is long."""

    def set_outer_value(self, cell: int, value: Number) -> None:
        """Keep the value of a cell that is a number of an outer level."""

    def room(self, n: int) -> int:
        """The first of n free cells, whose values the slab has room for."""

    def make_room(self, n: int) -> None:
        """Make room for n cells."""

    def make_view(self, first: int, lengths: int | tuple[int, ...]) -> np.ndarray:
        """The array of that length or shape of the cells from `first` on."""

    def push_values(self, code: int, x: int, y: int, value: Value) -> "ArrayVar":
        """A record whose values are in the slab from the next free cell on."""

    def push_number(self, code: int, x: int, y: int, value: float) -> Var:
        """A record of one cell of its own, with the value of a number."""

    def outer_array(self, first: int, value: Value) -> ArrayValue:
        """A copy of an array of an outer level as the value of cells."""

    def constant_result(self, z: Value) -> Value:
        """The result of an operation on arrays of this level that are all constants."""

    def writable(self, value: Value) -> "ArrayVar":
        """An array of constants that may be written to."""

    def element(self, value: Value, cell: int) -> Real:
        """The scalar of a cell."""

    def adopt(self, y: Value) -> ArrayValue:
        """An object array with numbers of this level as an array variable."""


class Joined(Protocol):
    """The blocks of an array that has neither cells nor records yet: see `contad.engines.matrix.joined_arrays`."""

    def __iter__(self) -> Iterator[Any]:
        """The blocks."""

    def cells(self, shape: tuple[int, ...]) -> np.ndarray:
        """The cells of the elements, 0 for constants."""

    def take(self, x: "ArrayVar") -> None:
        """Give the array cells of its own."""


class ArrayVar(Array):
    """An array variable of a matrix stack."""

    __slots__ = ("_base", "_index", "_length")
    kind = "array variable"
    # for a contiguous affine array with plain values its first cell, while its root is affine; for a transpose `x.T` of
    # such a matrix -1 - the first cell of that; else -1
    _index: int
    _base: Any
    _length: int  # the number of elements of a vector on which operations may rely; else 0
    _cells: np.ndarray | None = None  # an int64 array once scattered
    _start: int = -1  # for any other root: the first cell, or the one that it had when affine
    _operand: "tuple[int, ArrayVar] | None" = None  # (version of the root, operand) of the last use in an operation
    _positions: np.ndarray | None = None  # the cells of an affine array, made on demand
    # for a root that consists of blocks of other arrays, and has neither cells nor records yet
    _blocks: "Joined | None" = None
    _stamp: int = 0  # for a root: the next free cell at the last assignment
    _born: int = 0  # for a root that was never affine: the next free cell at its creation

    # ---- cells -------------------------------------------------------------------------------------------------------
    @property
    def first(self) -> int:
        """The first cell of an affine array, or of a root before a write to it; -1 if there is none."""
        return self._index if self._index > 0 else self._start

    def cells(self) -> np.ndarray:
        """The cells of the elements, as an array of this shape and memory layout; 0 for constants."""
        if self._parent is not None:
            self._sync()
        if self._cells is not None:
            found: np.ndarray = self._cells
            return found
        views = []
        x: Any = self
        while x._positions is None and x._parent is not None:
            views.append(x)
            x = x._parent
        if x._positions is None:
            shape = x._value.shape
            if x._index < 0 and x._blocks is not None:
                x._positions = x._blocks.cells(shape)
            else:
                x._positions = np.arange(x.first, x.first + x._value.size).reshape(shape)
        positions: np.ndarray = x._positions
        for view in reversed(views):
            positions = view._positions = view._view(positions)
        return positions

    @property
    def is_constant(self) -> bool:
        """Whether all its cells are the sink; an array without writes has cells of its own."""
        root: Any = self._root()
        return root._cells is not None and self._value.size > 0 and not self.cells().any()

    def cells_before(self, own: int, what: str) -> np.ndarray:
        """The cells for a continuation whose first cell is `own`; it is an error if they were written later."""
        self._require_older(own, what)
        return self.cells()

    def _require_older(self, own: int, what: str) -> None:
        root: Any = self._root()
        if root._stamp > own and max(root._born, root._start) <= own:
            raise StaleVariableError(
                f"{what}: x was written after this callback was pushed; capture x.copy()", level=self._owner
            )

    @property
    def value(self) -> ArrayValue:
        """A copy of the value: a float array, or an array of the next outer level when gradients are nested."""
        if self._owner.sweeping:
            self._require_older(self._owner.running, "x.value")
            return self._sync()._value.copy()
        return Array.value.fget(self)  # type: ignore[attr-defined]

    @property
    def index(self) -> int:
        """The first cell of this array."""
        cells = self.cells()
        return int(cells.flat[0]) if cells.size else 0

    @property
    def adj(self) -> ArrayValue:
        """The adjoints of the elements after the last sweep of this variable's stack."""
        self._owner.check_usable("adj")
        self._owner.check_swept("x.adj")
        return self._owner.adjoints_at(self.cells())

    # ---- aliasing: the same operation on values and on cells ---------------------------------------------------------
    def _refresh(self, parent: Any) -> None:
        assert self._view is not None
        self._value = self._view(parent._value)
        self._cells = None if parent._cells is None else self._view(parent._cells)
        self._operand = None

    def _make_view(self, view: View, value: ArrayValue) -> "ArrayVar":
        return self._view_at(view, value, -1)

    def _view_at(self, view: View, value: ArrayValue, index: int) -> "ArrayVar":
        """A view; `index` is its first cell if it is contiguous, else -1."""
        z = ArrayVar()
        z._owner = self._owner
        z._value = value
        z._index = index
        z._base = self if self._base is None else self._base
        z._length = 0
        z._parent = self
        z._view = view
        z._seen = self._value
        z._root_seen = z._base._value
        if self._cells is not None:
            z._cells = view(self._cells)
        return z

    def _make_copy(self, move: View, value: ArrayValue) -> "ArrayVar":
        return scatter(self._owner, value, same_layout(np.array(move(self.cells())), value))

    def _element(self, key: Key, value: Real) -> Real:
        cell = int(self.cells()[key])
        return self._owner.element(value, cell)

    def __getitem__(self, key: Key) -> Value:
        # fast path without an array of cells: elements, rows and slices of contiguous affine arrays
        index, base, s = self._index, self._base, self._owner
        if index > 0 and (base is None or base._index > 0) and s.ended is None and s.is_here():
            a = self._value
            kind = key.__class__
            n = self._length
            if kind is slice and (n or a.shape):
                start, stop, step = key.indices(n or a.shape[0])
                if step == 1 and start < stop:
                    part = slice(start, stop)
                    value = a[part]
                    z = ArrayVar()  # `_view_at` inlined: its call takes as long
                    if n or a.ndim == 1:
                        z._index = index + start
                        z._length = stop - start
                    else:
                        z._index = index + start * (value.size // (stop - start))
                        z._length = 0
                    z._owner, z._value = s, value
                    z._base = base = self if base is None else base
                    z._parent, z._view, z._seen, z._root_seen = self, itemgetter(part), a, base._value
                    return z
                return Array.__getitem__(self, key)
            shape = a.shape
            if kind is int and shape:
                value = a[key]
                if key < 0:
                    key += shape[0]
                if len(shape) == 1:
                    number = s.var_class()
                    number._value = float(value)
                    number._owner = s
                    number._index = index + key
                    return number
                if value.size:
                    return self._view_at(itemgetter(key), value, index + key * value.size)
            elif kind is tuple and len(key) == len(shape):
                offset = 0
                for k, n in zip(key, shape, strict=True):
                    if k.__class__ is not int:
                        break
                    offset = offset * n + (k if k >= 0 else k + n)
                else:
                    return s.element(a[key], index + offset)
            elif kind is tuple:  # with new axes of length 1
                for part in key:
                    if part is not None and (part.__class__ is not slice or part != _WHOLE):
                        break
                else:
                    return self._view_at(itemgetter(key), a[key], index)
        return Array.__getitem__(self, key)

    def __iter__(self) -> Iterator[Value]:
        self._owner.check_usable("iteration")
        if self._index > 0 and self._base is None and self._value.ndim == 1:
            return self._elements()
        return Array.__iter__(self)

    def _elements(self) -> Iterator[Var]:
        s = self._owner
        index = self._index
        for k, value in enumerate(self._value.tolist()):
            if self._index < 0:  # written to meanwhile: NumPy gives the present elements
                yield self[k]
                continue
            z = s.var_class()
            z._value = value
            z._owner = s
            z._index = index + k
            yield z

    # ---- assignment --------------------------------------------------------------------------------------------------
    def _open_for_writing(self) -> None:
        if self._cells is None:
            self._cells = self.cells().copy()
            self._value = self._value.copy()  # records keep the old value; both are in C order, as roots are
            self._start = self.first
            self._index = -1
        self._operand = None
        self._stamp = self._owner.top

    def __setitem__(self, key: Key, y: Value) -> None:
        # an element of an array that has been written to before
        s = self._owner
        if self._cells is not None and self._base is None and s.ended is None and s.is_here():
            kind = key.__class__
            if kind is int or (kind is tuple and len(key) == 2 and key[0].__class__ is int and key[1].__class__ is int):
                c = y.__class__
                if (c is s.var_class or c is s.float_class) and y._owner is s:
                    value, cell = y._value, y._index
                else:
                    value, cell = y, 0
                if value.__class__ is float and self._value.__class__ is np.ndarray:
                    try:
                        self._value[key] = value
                    except ValueError:  # nobody may write to it
                        return Array.__setitem__(self, key, y)
                    self._cells[key] = cell
                    self._version += 1
                    self._stamp = s.top
                    return
        Array.__setitem__(self, key, y)

    def _assign(self, write: Write, y: Value) -> None:
        require_no_inner(y, self._owner.level)
        value, cells = self._owner.parts(y)
        if value.__class__ is not float:
            self._hold(value)
        try:
            write(self._value, value)
        except Exception:
            write_half(write, value, self._cells, cells)
            raise
        write(self._cells, cells)

    @property
    def T(self) -> ArrayValue:
        """The transpose, a view."""
        base, s, index = self._base, self._owner, self._index
        if index > 0 and (base is None or base._index > 0) and s.ended is None and s.is_here():
            z = ArrayVar()  # `_view_at` inlined: its call takes as long
            value = self._value
            z._owner, z._value, z._length = s, value.T, 0
            z._index = -1 - index if value.ndim == 2 and not s.keeps_rules else -1
            z._base = base = self if base is None else base
            z._parent, z._view, z._seen, z._root_seen = self, np.transpose, value, base._value
            return z
        a = self._sync_parts()._value
        return self._view_at(np.transpose, a.T, -1) if a.__class__ is np.ndarray else self._move(np.transpose)

    # ---- use in operations -------------------------------------------------------------------------------------------
    def operand(self) -> "ArrayVar":
        """This array in the form that operations need: affine, with its present values; plain if it is all constants.

        A contiguous view of an affine array is affine. One record moves any other array into fresh cells, and serves
        until the next assignment. For a view the record has strides, otherwise a list of cells.
        """
        base = self._base
        if self._index > 0 and (base is None or base._index > 0):
            return self
        root: Any = self if base is None else base
        if root._blocks is not None:
            if root._cells is None and root._index < 0:
                root._blocks.take(root)
            if base is None and self._index > 0:
                return self
        if base is None and self._cells is None:  # values of an outer level
            return self
        self._sync_parts()
        version = root._version
        if self._operand is not None and self._operand[0] == version:
            return self._operand[1]
        value = self._value
        if root._cells is None and value.__class__ is np.ndarray and value.size:
            offset = value.__array_interface__["data"][0] - root._value.__array_interface__["data"][0]
            first = root.first + offset // 8
            if value.flags.c_contiguous:
                self._index = first
                return self
            moved = self._owner.move_view(value, first)
            if moved is not None:
                self._operand = version, moved
                return moved
        cells = np.ascontiguousarray(self.cells())
        found = self._owner.at_run(value, cells)
        if found is not None:
            self._operand = version, found
            return found
        found = self._owner.gather(value, cells) if cells.any() else value.copy("K")
        self._operand = version, found
        return found


def is_direct(a: ArrayVar) -> bool:
    """Whether operations take the array without a move."""
    return a._index > 0 and (a._base is None or a._base._index > 0)


def affine(owner: ArraySlab, value: ArrayValue, index: int) -> ArrayVar:
    """An array with consecutive cells from `index` on."""
    z = ArrayVar()
    z._owner = owner
    z._value = value
    z._base = None
    z._length = 0
    if value.__class__ is np.ndarray and value.dtype is FLOAT:
        z._index = index
        if value.ndim == 1:
            z._length = len(value)
    else:
        z._index = -1
        z._start = index
    return z


def blocks_of(owner: ArraySlab, value: np.ndarray, blocks: "Joined") -> ArrayVar:
    """An array that consists of blocks of affine ones."""
    z = ArrayVar()
    z._owner = owner
    z._value = value
    z._index = -1
    z._base = None
    z._length = 0
    z._blocks = blocks
    z._born = owner.top
    return z


def scatter(owner: ArraySlab, value: ArrayValue, cells: np.ndarray) -> ArrayVar:
    """An array with these values and cells."""
    z = ArrayVar()
    z._owner = owner
    z._value = value
    z._index = -1
    z._base = None
    z._length = 0
    z._cells = cells
    z._born = owner.top
    return z


def is_own(x: object, owner: ArraySlab) -> bool:
    """Whether x is a variable, scalar or array, of this stack."""
    return isinstance(x, (Var, Array)) and x._owner is owner


def scalar_parts(x: Real, owner: ArraySlab) -> tuple[Real, int]:
    """(value, cell) of an element: a number of some level, or a plain one."""
    if isinstance(x, Number) and x._owner is owner:
        return x._value, x._index  # type: ignore[attr-defined]
    return x, 0
