"""np.concatenate, np.stack and np.roll of array variables: blocks of elements in another order.

Like other moves of elements, they record nothing when they are called. The array of cells is built only if somebody
asks for single cells; an operation moves the blocks to the slab with one record each. Vectors that become the rows of a
matrix get their cells at once: an operation on the matrix comes next, and writing them to the slab saves a copy.
"""

import functools
import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.engines.matrix.array_var import ArraySlab, ArrayVar, blocks_of, is_direct
from contad.engines.stream.record_stream import LONG
from contad.engines.stream.storage import CELLS, LINEAR, STRIDED
from contad.rules.numpy_functions import entry_of, register
from contad.variables.dtypes import FLOAT
from contad.variables.open_types import ArrayValue, Function, Option, Value

# `outer` contiguous runs of `inner` elements each: (position in the result, stride of the runs there, first cell of the
# source, stride of the runs in it, outer, inner). A plain tuple: an object of a class takes longer to make than its
# record.
JoinedBlock = tuple[int, int, int, int, int, int]

_pack = struct.Struct("11q").pack_into


class JoinedParts(list[JoinedBlock]):
    """The blocks of an array in C order; the other elements are constant."""

    __slots__ = ()

    def cells(self, shape: tuple[int, ...]) -> np.ndarray:
        """The cells of the elements, 0 for constants."""
        found = np.zeros(math.prod(shape), np.int64)
        for at, step, cell, cell_step, outer, inner in self:
            part = found[at : at + (outer - 1) * step + inner]
            runs = np.lib.stride_tricks.as_strided(part, (outer, inner), (8 * step, 8))
            np.add.outer(cell + cell_step * np.arange(outer), np.arange(inner), out=runs)
        return found.reshape(shape)

    def take(self, x: ArrayVar) -> None:
        """Give the array cells of its own, with a record for each block; from then on it is like any result."""
        s: Any = x._owner
        value = x._value
        first = s.top
        end = first + value.size
        if end > s.capacity:
            s.room(value.size)
        slab = s.slab[first:end].reshape(value.shape)
        slab[...] = value
        self.push(s, first, end)
        x._positions = None
        x._value = slab
        x._index = first

    def push(self, s: ArraySlab, first: int, end: int) -> None:
        """Push the records of cells from `first` to `end`, whose values are in the slab: one for each block."""
        buffers = s.buffers
        slot = buffers.shapes_top
        shapes_end = buffers.shapes_top = slot + 11 * len(self)  # `push_shape` inlined: its call takes as long
        if shapes_end > len(buffers.shapes):
            buffers.grow("shapes", shapes_end)
        shapes, push = buffers.shapes, s.push
        head = -(LINEAR + STRIDED + CELLS * (end - first))  # the head of the first record, which owns the cells
        s.top = end
        for at, step, cell, cell_step, outer, inner in self:
            _pack(shapes, 8 * slot, first + at, outer, inner, step, 1, cell, cell_step, 1, 0, 0, 0)  # z = 1 * x
            push((head, slot, 0, 0.0))
            head = -(LINEAR + STRIDED)
            slot += 11
        if len(s.stream) >= LONG:
            s.flush()


def _make(s: ArraySlab, value: np.ndarray, blocks: list[JoinedBlock]) -> ArrayVar:
    return blocks_of(s, value, JoinedParts([b for b in blocks if b[4] and b[5]]))


def _is_ready(x: Any, s: ArraySlab) -> bool:
    """Whether x is an affine array of a stack whose sweep handles these records."""
    return x.__class__ is ArrayVar and x._owner is s and is_direct(x)


def _stack_of(x: Any) -> ArraySlab | None:
    """The stack of an array variable, if it is usable now and does not record rules."""
    s: Any = getattr(x, "_owner", None)
    if x.__class__ is ArrayVar and s.ended is None and s.is_here() and not s.keeps_rules:
        return s
    return None


def _concatenate(general: Function) -> Function:
    @functools.wraps(general)
    def concatenate(arrays: Sequence[Value], axis: Option = 0, **options: Option) -> ArrayValue:
        z = None
        if not options and axis.__class__ is int and (arrays.__class__ is tuple or arrays.__class__ is list):
            z = _append(arrays, False) if axis == 0 else _join(arrays, axis)
        return general(arrays, axis=axis, **options) if z is None else z

    return concatenate


def _join(arrays: Sequence[Value], axis: int) -> ArrayVar | None:
    s = next((found for x in arrays if (found := _stack_of(x)) is not None), None)
    if s is None:
        return None
    values = []
    for x in arrays:
        if _is_ready(x, s):
            values.append(x._value)
        elif x.__class__ is np.ndarray and x.dtype is FLOAT:
            values.append(x)
        else:
            return None
    value = np.concatenate(values, axis)
    if not value.size or not value.flags.c_contiguous:
        return None
    axis %= value.ndim
    rest = math.prod(value.shape[axis + 1 :])
    outer, step = math.prod(value.shape[:axis]), value.shape[axis] * rest
    blocks: list[JoinedBlock] = []
    at = 0
    for x, v in zip(arrays, values, strict=True):
        inner = v.shape[axis] * rest
        if x.__class__ is ArrayVar:
            blocks.append((at, step, x._index, inner, outer, inner))
        at += inner
    return _make(s, value, blocks)


def _append(arrays: Sequence[Value], are_rows: bool) -> ArrayVar | None:
    """The blocks of arrays joined along their first axis, or as rows; arrays that consist of blocks pass theirs on."""
    s: Any = None
    values: list[np.ndarray] = []
    blocks = JoinedParts()
    at = 0
    shape = None
    for x in arrays:
        if x.__class__ is ArrayVar:
            if x._owner is not s:
                if s is not None:
                    return None
                s = x._owner
                if s.ended is not None or s.keeps_rules or not s.lock._is_owned():
                    return None
            base, index, v = x._base, x._index, x._value
            n = x._length or v.size
            if index > 0 and (base is None or base._index > 0):
                if n:
                    blocks.append((at, n, index, n, 1, n))
            elif index < 0 and base is None and x._blocks is not None and x._cells is None:
                for place, step, cell, cell_step, outer, inner in x._blocks:
                    blocks.append((at + place, step, cell, cell_step, outer, inner))
            else:
                return None
        elif x.__class__ is np.ndarray and x.dtype is FLOAT:
            v, n = x, x.size
        else:
            return None
        if are_rows:
            if shape is None:
                shape = v.shape
            elif v.shape != shape:
                return None
        values.append(v)
        at += n
    if not blocks:
        return None
    if shape is None:
        value = np.concatenate(values)
        return blocks_of(s, value, blocks) if value.ndim == 1 or value.flags.c_contiguous else None
    if len(shape) == 1:
        first = s.top
        end = first + at
        if end > s.capacity:
            s.room(at)
        slab = s.slab[first:end]
        np.concatenate(values, 0, slab)
        blocks.push(s, first, end)
        z = ArrayVar()  # `affine` inlined: its call takes as long
        z._owner = s
        z._value = slab.reshape(len(values), -1)
        z._index = first
        z._base = None
        z._length = 0
        return z
    if not shape:
        return None
    value = np.concatenate(values)
    if not value.flags.c_contiguous:
        return None
    return blocks_of(s, value.reshape(len(values), *shape), blocks)


def _stack(general: Function) -> Function:
    @functools.wraps(general)
    def stack(arrays: Sequence[Value], axis: Option = 0, **options: Option) -> ArrayValue:
        is_plain = not options and axis.__class__ is int and axis == 0 and arrays.__class__ in (list, tuple)
        z = _append(arrays, True) if is_plain else None
        return general(arrays, axis=axis, **options) if z is None else z

    return stack


def _roll(general: Function) -> Function:
    @functools.wraps(general)
    def roll(a: Value, shift: Option, axis: Option = None) -> ArrayValue:
        s = _stack_of(a)
        if s is None or shift.__class__ is not int or not (axis is None or axis.__class__ is int):
            return general(a, shift, axis)
        if not _is_ready(a, s) or not a._value.size or not a._value.flags.c_contiguous:
            return general(a, shift, axis)
        value = np.roll(a._value, shift, axis)
        if not value.flags.c_contiguous:
            return general(a, shift, axis)
        n, rest, outer = value.size, 1, 1
        if axis is not None:
            axis %= value.ndim
            n, rest = value.shape[axis], math.prod(value.shape[axis + 1 :])
            outer = math.prod(value.shape[:axis])
        k, step = shift % n * rest, n * rest
        blocks = [
            (k, step, a._index, step, outer, step - k),
            (0, step, a._index + step - k, step, outer, k),
        ]
        return _make(s, value, blocks)

    return roll


def install_joined() -> None:
    """Let np.concatenate, np.stack and np.roll make blocks where possible."""
    for function, made in ((np.concatenate, _concatenate), (np.stack, _stack), (np.roll, _roll)):
        entry: Any = entry_of(function)
        implementation = made(entry.implementation)
        methods = {} if function is np.roll else {tuple: implementation, list: implementation}
        register(entry._replace(implementation=implementation, methods=entry.methods | methods))
