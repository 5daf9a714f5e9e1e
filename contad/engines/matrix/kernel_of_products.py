"""The adjoints of a matrix times a vector, and of small matrices: the kernel of the compiled sweep, also in Python.

The kernel runs in the memory order of the matrix, by rows or by columns, so that it reads each number once.
"""

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np

# The integers that the kernel reads of a record, for factors m x p and p x n: the first cell of the result, m, n; for
# each factor the place of a constant and the first cell of a variable, one of which is 0; p; for each factor whether
# its memory is that of its transpose in C order; and ten times the axes of the first factor plus those of the second.
KERNEL = '''\
"""The adjoint of a matrix times a vector; generated, do not edit."""

from contad.compile.image_code import c_function, inline
from contad.kernels.product_kernels import add_along_columns, add_by_columns, add_few, add_rows_in_order, are_nonzero
from contad.compile.words import array_at, integers_at

ENDLESS = 1 << 60


@inline
def place(cell, at, values_at, constants_at):
    """Where an operand is: a variable, a constant of the recording (at minus its place) or one kept by its address."""
    return values_at + 8 * cell if cell > 0 else constants_at - 8 * at if at < 0 else at


@c_function("void(int64, int64, int64, int64)")
def kernel(shape_at, values_at, constants_at, adjoints_at):
    s = integers_at(shape_at, 11)
    z, rows, columns, a_at, a_cell, b_at, b_cell, p = s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
    a_flag, b_flag, axes = s[8], s[9], s[10]
    adjoints = array_at(adjoints_at, ENDLESS)
    a_turned, b_turned = a_flag != 0, b_flag != 0
    a_size, b_size = rows * p, p * columns
    z_bar = adjoints[z : z + rows * columns]
    if axes == 21 and not a_turned:
        if a_cell > 0:
            b = array_at(place(b_cell, b_at, values_at, constants_at), p)
            add_few(z_bar, 1, 1, b, p, 1, adjoints[a_cell : a_cell + a_size], p, 1, rows, 1, p)
        if b_cell > 0:
            a = array_at(place(a_cell, a_at, values_at, constants_at), a_size)
            add_rows_in_order(z_bar, a, adjoints[b_cell : b_cell + p])
        return
    if axes == 21 and are_nonzero(z_bar):  # nothing is masked, so that it can be done along the memory
        if a_cell > 0:
            b = array_at(place(b_cell, b_at, values_at, constants_at), p)
            add_by_columns(z_bar, 1, b, 1, adjoints[a_cell : a_cell + a_size], rows, rows, p)
        if b_cell > 0:
            a = array_at(place(a_cell, a_at, values_at, constants_at), a_size)
            add_along_columns(z_bar, a, adjoints[b_cell : b_cell + p])
        return
    a_row, a_step = (1, rows) if a_turned else (p, 1)
    b_row, b_step = (1, p) if b_turned else (columns, 1)
    if a_cell > 0:
        b = array_at(place(b_cell, b_at, values_at, constants_at), b_size)
        a_bar = adjoints[a_cell : a_cell + a_size]
        add_few(z_bar, columns, 1, b, b_step, b_row, a_bar, a_row, a_step, rows, columns, p)
    if b_cell > 0:
        a = array_at(place(a_cell, a_at, values_at, constants_at), a_size)
        b_bar = adjoints[b_cell : b_cell + b_size]
        add_few(z_bar, 1, columns, a, a_row, a_step, b_bar, b_step, b_row, columns, rows, p)
'''


def _numbers(cell: int, at: int, n: int, values: np.ndarray, constants: np.ndarray) -> np.ndarray:
    """An operand of a record."""
    if cell > 0:
        return values[cell : cell + n]
    return constants[-at : n - at] if at < 0 else np.ctypeslib.as_array((ctypes.c_double * n).from_address(at))


def _matrix(x: np.ndarray, m: int, n: int, is_turned: int) -> np.ndarray:
    return x.reshape(n, m).T if is_turned else x.reshape(m, n)


def add_products(shape: np.ndarray, values: np.ndarray, constants: np.ndarray, adjoints: np.ndarray) -> None:
    """The work of the kernel, with sums in the same order."""
    z, rows, columns, a_at, a_cell, b_at, b_cell, p, a_turned, b_turned = shape[:10].tolist()

    z_bar = adjoints[z : z + rows * columns].reshape(rows, columns)
    with np.errstate(all="ignore"):
        if a_cell > 0:
            b = _matrix(_numbers(b_cell, b_at, p * columns, values, constants), p, columns, b_turned)
            a_bar = _matrix(adjoints[a_cell : a_cell + rows * p], rows, p, a_turned)
            for j in range(columns):
                d = z_bar[:, j, None]
                a_bar += np.where(d != 0.0, d * b[:, j], 0.0)
        if b_cell > 0:
            a = _matrix(_numbers(a_cell, a_at, rows * p, values, constants), rows, p, a_turned)
            b_bar = _matrix(adjoints[b_cell : b_cell + p * columns], p, columns, b_turned)
            together = max(1, _TERMS // max(1, b_bar.size))
            for i in range(0, rows, together):
                d = z_bar[i : i + together, None]
                terms = np.where(d != 0.0, a[i : i + together, :, None] * d, 0.0)
                # in order: NumPy would add single numbers in pairs, and also arrays that are not in C order
                each = np.concatenate([b_bar[None], terms], out=np.empty((1 + len(terms), *b_bar.shape)))
                b_bar[...] = np.add.reduce(each) if b_bar.size > 1 else np.add.accumulate(each)[-1]


_MOST = 1 << 16  # products of numbers up to which one array holds all terms
_TERMS = 1 << 12  # terms at once, so that they stay in a cache


def bind_products(
    shape: list[int], values: np.ndarray, constants: np.ndarray, adjoints: np.ndarray
) -> Callable[[], None]:
    """`add_products` for a record of this shape, with bound views of its operands and adjoints.

    The function falls back to `add_products` if a product is not finite, or for sums of adjacent numbers, which NumPy
    would add in pairs.
    """
    numbers = np.array(shape)
    z, rows, columns, a_at, a_cell, b_at, b_cell, p, a_turned, b_turned, _ = shape
    a_size, b_size = rows * p, p * columns

    def in_general() -> None:
        add_products(numbers, values, constants, adjoints)

    if (a_cell > 0 and a_size == 1) or (b_cell > 0 and b_size == 1) or rows * columns * p > _MOST:
        return in_general
    z_bar = adjoints[z : z + rows * columns].reshape(rows, columns)
    a = _matrix(_numbers(a_cell, a_at, a_size, values, constants), rows, p, a_turned)
    b = _matrix(_numbers(b_cell, b_at, b_size, values, constants), p, columns, b_turned)
    a_bar = _matrix(adjoints[a_cell : a_cell + a_size], rows, p, a_turned) if a_cell > 0 else z_bar
    b_bar = _matrix(adjoints[b_cell : b_cell + b_size], p, columns, b_turned) if b_cell > 0 else z_bar
    sums = [_bind_sum(z_bar.T[:, :, None], b.T[:, None, :], a_bar)] if a_cell > 0 else []
    sums += [_bind_sum(a[:, :, None], z_bar[:, None, :], b_bar)] if b_cell > 0 else []
    multiply_first, add_first = sums[0]
    multiply_last, add_last = sums[-1]
    is_one = len(sums) == 1
    is_finite = math.isfinite

    def run() -> None:
        first, size = multiply_first()
        if is_one:
            if is_finite(size):
                add_first(first)
            else:
                in_general()
            return
        last, size_of_last = multiply_last()
        if is_finite(size + size_of_last):
            add_first(first)
            add_last(last)
        else:
            in_general()

    return run


_KEPT = 1 << 10  # products of numbers up to which their memory is kept
Room = tuple[np.ndarray, ...]


def _bind_sum(
    p: np.ndarray, q: np.ndarray, total: np.ndarray
) -> tuple[Callable[[], tuple[Room, float]], Callable[[Room], None]]:
    """Two functions: the first multiplies p by q, which gives terms, the second adds the terms to the total in order.

    The first also returns the sum of squares of the terms, which is finite only if all terms are.
    """
    n = len(p)
    multiply, add = np.multiply, np.add
    add_up: Any = np.add.reduce

    def make_room() -> Room:
        """Memory for the summands, and views of it: the total, the terms, and the terms as a vector."""
        each = np.empty((1 + n, *total.shape))
        return each, each[0], each[1:], each[1:].reshape(-1)

    kept = make_room() if n * total.size <= _KEPT else None

    def multiply_all() -> tuple[Room, float]:
        room = kept or make_room()
        _, _, terms, flat = room
        multiply(p, q, terms)
        return room, flat.dot(flat)

    def add_all(room: Room) -> None:
        each, start, terms, _ = room
        if n == 1:
            add(total, terms[0], total)
            return
        start[...] = total
        add_up(each, 0, None, total)

    return multiply_all, add_all
