"""A level of arrays whose elements know their positions among the inputs, to test movement without an engine.

The companion of an array holds the position of every element in a table of all input elements, 0 for constants. Inputs
are positive and distinct, constants are not positive: so the companion of any result can be checked against its values.
"""

import numpy as np

from contad.variables.array import Array
from contad.variables.dual import ForwardLevel
from contad.variables.number import Number, primal


class PositionNumber(Number):
    """An element that has been read."""

    __slots__ = ("_position",)
    kind = "variable"


class PositionArray(Array):
    """Values and positions, which alias alike."""

    __slots__ = ("_positions",)
    kind = "array variable"

    def _refresh(self, parent):
        self._value, self._positions = self._view(parent._value), self._view(parent._positions)

    def _make_view(self, view, value):
        return array(self._owner, value, view(self._positions), self, view)

    def _make_copy(self, move, value):
        return array(self._owner, value, move(self._sync_parts()._positions))

    def _element(self, key, value):
        return number(self._owner, value, self._positions[key])

    def _assign(self, write, y):
        write(self._value, value_in(y))
        write(self._positions, position_in(y))


def array(owner, value, positions, parent=None, view=None):
    z = object.__new__(PositionArray)
    z._owner, z._value, z._positions = owner, value, positions
    z._parent, z._view, z._seen, z._version = parent, view, None if parent is None else parent._value, 0
    return z


def number(owner, value, position):
    if position == 0:
        return float(value)
    z = object.__new__(PositionNumber)
    z._owner, z._value, z._position = owner, float(value), int(position)
    return z


def value_in(x):
    """The values in an array, a number, or a list of these."""
    if isinstance(x, (list, tuple)):
        return type(x)(map(value_in, x))
    if isinstance(x, np.ndarray) and x.dtype == object:
        return np.array([value_in(n) for n in x.flat]).reshape(x.shape)
    return primal(x)


def position_in(x):
    """The positions of what `value_in` gives: 0 for constants."""
    if isinstance(x, (list, tuple)):
        return type(x)(map(position_in, x))
    if isinstance(x, PositionArray):
        return x._sync_parts()._positions
    if isinstance(x, PositionNumber):
        return x._position
    if isinstance(x, np.ndarray) and x.dtype == object:
        return np.array([position_in(n) for n in x.flat], int).reshape(x.shape)
    return np.zeros(np.shape(x), int)


class PositionLevel(ForwardLevel):
    """Owns the arrays of one test, and the table of their input values."""

    has_arrays = False

    def __init__(self):
        super().__init__()
        self.table = [np.nan]

    def input(self, values):
        """An array of inputs, in the layout of the given values."""
        values = np.array(values, float)
        positions = np.empty_like(values, dtype=int)
        positions[...] = np.arange(len(self.table), len(self.table) + values.size).reshape(values.shape)
        self.table += values.ravel().tolist()
        return array(self, values, positions)

    def move(self, move, sources):
        return self._wrap(
            move({k: value_in(x) for k, x in sources.items()}), move({k: position_in(x) for k, x in sources.items()})
        )

    def _wrap(self, value, position):
        if isinstance(value, (list, tuple)):
            return type(value)(map(self._wrap, value, position))
        return array(self, value, position) if np.ndim(value) else number(self, value, position)

    def writable(self, value):
        return array(self, np.array(value), np.zeros(np.shape(value), int))

    def check(self, result, expected):
        """Values as expected, and every element's position that of an input with this value."""
        if isinstance(expected, (list, tuple)):
            assert type(result) is type(expected) and len(result) == len(expected)
            for r, e in zip(result, expected, strict=True):
                self.check(r, e)
            return
        value, position = value_in(result), position_in(result)
        assert np.shape(value) == np.shape(expected) == np.shape(position)
        np.testing.assert_array_equal(value, expected)
        known = np.asarray(self.table)[position]
        np.testing.assert_array_equal(np.where(position > 0, known, np.minimum(value, 0.0)), value)
