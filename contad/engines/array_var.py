"""Array variables of the engine `matrix`: values, and the cells of their elements in the adjoint vector.

An *affine* array (every argument, and the result of every operation) has its values contiguous in the slab and its
cells in the same order from `_start`. The first assignment makes it *scattered*: two ndarrays, values and cells, that
alias alike; cell 0 is the sink of constants. Elements, views and moved copies have the cells of what they read.
"""

from typing import Any

import numpy as np

from contad.array_base import Array, View, require_no_inner
from contad.errors import StaleVariableError
from contad.number import Number
from contad.var import Var

new = object.__new__


class ArrayVar(Array):
    """An array variable of a matrix stack."""

    __slots__ = ("_cells", "_index", "_operand", "_positions", "_stamp", "_start")
    kind = "array variable"
    _cells: Any  # an int64 array once scattered, None while affine
    _index: int  # the first cell of an affine root, which operations take as it is; else -1
    _start: int  # of a root: the first cell when it was made
    _operand: Any  # (version of the root, operand) of the last use in an operation
    _positions: Any  # the cells of an affine array, made on demand
    _stamp: int  # of a root: the next free cell at the last assignment

    # ---- cells -------------------------------------------------------------------------------------------------------
    def cells(self) -> np.ndarray:
        """The cells of the elements, as an array of this shape; 0 for constants."""
        self._synced()
        if self._cells is not None:
            found: np.ndarray = self._cells
            return found
        if self._positions is None:
            if self._parent is None:
                shape = self._value.shape
                self._positions = np.arange(self._start, self._start + self._value.size).reshape(shape)
            else:
                assert self._view is not None
                self._positions = self._view(self._parent.cells())  # type: ignore[attr-defined]
        positions: np.ndarray = self._positions
        return positions

    def cells_before(self, own: int, what: str) -> np.ndarray:
        """The cells as a continuation with that first cell may use them; refused if they were written later."""
        root: Any = self._root()
        if root._stamp > own:
            raise StaleVariableError(f"{what}: x was written after this callback was pushed; capture x.copy()")
        return self.cells()

    @property
    def index(self) -> int:
        """The first cell of this array."""
        cells = self.cells()
        return int(cells.flat[0]) if cells.size else 0

    @property
    def adj(self) -> Any:
        """The adjoints of the elements after the last sweep of this variable's stack."""
        self._owner.check_usable("adj")
        return self._owner.adjoints_at(self.cells())

    # ---- aliasing: the same operation on values and on cells ---------------------------------------------------------
    def _refresh(self, parent: Any) -> None:
        assert self._view is not None
        self._value = self._view(parent._value)
        self._cells = None if parent._cells is None else self._view(parent._cells)
        self._operand = None

    def _make_view(self, view: View, value: Any) -> "ArrayVar":
        z = new(ArrayVar)
        z._owner = self._owner
        z._value = value
        z._parent = self
        z._view = view
        z._seen = self._value
        z._cells = None if self._cells is None else view(self._cells)
        z._index = -1
        z._operand = z._positions = None
        z._version = z._stamp = 0
        return z

    def _make_copy(self, move: View, value: Any) -> "ArrayVar":
        return scattered(self._owner, value, np.array(move(self.cells()), order="C"))

    def _element(self, key: Any, value: Any) -> Any:
        cell = int(self.cells()[key])
        return self._owner.element(value, cell)

    def __getitem__(self, key: Any) -> Any:
        # elements of arrays in their first state, without making the array of cells
        if self._index > 0:
            shape = self._value.shape
            if key.__class__ is int and len(shape) == 1:
                value = self._value[key]
                s = self._owner
                if value.__class__ is np.float64:
                    z = new(s.var_class)
                    z._value = float(value)
                    z._owner = s
                    z._index = self._index + (key if key >= 0 else key + shape[0])
                    return z
            elif key.__class__ is tuple and len(key) == len(shape):
                offset = 0
                for k, n in zip(key, shape, strict=True):
                    if k.__class__ is not int:
                        break
                    offset = offset * n + (k if k >= 0 else k + n)
                else:
                    return self._owner.element(self._value[key], self._index + offset)
        return Array.__getitem__(self, key)

    def __iter__(self) -> Any:
        if self._index > 0 and self._value.__class__ is np.ndarray and self._value.ndim == 1:
            return self._owner.elements(self._value, self._index)
        return Array.__iter__(self)

    # ---- assignment --------------------------------------------------------------------------------------------------
    def _open_for_writing(self) -> None:
        if self._cells is None:
            self._cells = self.cells().copy()
            self._value = self._value.copy()  # records keep the old one
            self._index = -1
        self._operand = None
        self._stamp = self._owner.top

    def _assign(self, key: Any, y: Any) -> None:
        require_no_inner(y, self._owner.level)
        value, cells = self._owner.parts(y)
        if value.__class__ is not float:
            self._hold(value)
        self._value[key] = value
        self._cells[key] = cells

    # ---- use in operations -------------------------------------------------------------------------------------------
    def operand(self) -> Any:
        """This array as operations take it: affine, with its present values; a plain array if it is all constants.

        A contiguous view of an affine array is one; anything else is gathered into fresh cells, by one record that
        serves until the next assignment.
        """
        if self._index > 0:
            return self
        self._synced()
        root: Any = self._root()
        version = root._version
        if self._operand is not None and self._operand[0] == version:
            return self._operand[1]
        value = self._value
        if root._cells is None and value.__class__ is np.ndarray and value.flags.c_contiguous and value.size:
            offset = value.__array_interface__["data"][0] - root._value.__array_interface__["data"][0]
            found = affine(self._owner, value, root._start + offset // 8)
        else:
            cells = np.ascontiguousarray(self.cells())
            found = self._owner.gather(value, cells) if cells.any() else constant_copy(value)
        self._operand = version, found
        return found


def affine(owner: Any, value: Any, index: int) -> ArrayVar:
    """An array whose cells follow one another from `index`."""
    z = new(ArrayVar)
    z._owner = owner
    z._value = value
    z._index = z._start = index
    z._parent = z._view = z._seen = z._cells = z._operand = z._positions = None
    z._version = z._stamp = 0
    return z


def scattered(owner: Any, value: Any, cells: np.ndarray) -> ArrayVar:
    """An array with these values and cells."""
    z = affine(owner, value, -1)
    z._cells = cells
    return z


def constant_copy(value: Any) -> Any:
    """The values of an array without cells, which may be written later."""
    return value.copy()


def is_own(x: Any, owner: Any) -> bool:
    """Whether x is a variable, scalar or array, of this stack."""
    return isinstance(x, (Var, Array)) and x._owner is owner


def scalar_parts(x: Any, owner: Any) -> tuple[Any, int]:
    """(value, cell) of an element: a number of some level, or a plain one."""
    if isinstance(x, Number) and x._owner is owner:
        return x._value, x._index  # type: ignore[attr-defined]
    return x, 0
