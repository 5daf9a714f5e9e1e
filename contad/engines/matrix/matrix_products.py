"""Products of matrices and vectors: values straight into the slab, and their continuation.

The adjoints of a matrix times a vector are a kernel that the compiled sweep calls, by rows: a data matrix of many rows
meets each number once, in the cache where its row is. The other products are pullbacks, which NumPy multiplies.
"""

import ctypes
import math
from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING

import numpy as np

from contad.engines.matrix.array_var import FLOAT, ArrayVar, is_direct
from contad.engines.stream.kernels import WRITTEN, WRITTEN_PLAINLY
from contad.engines.stream.pullbacks import Named, accumulate, block_of
from contad.engines.stream.record_head import DOT, PULLBACK
from contad.engines.stream.sweep import operation_code
from contad.ops import multiply
from contad.rules.array_rule import ArrayRule
from contad.variables.adjoints import Adjoints
from contad.variables.open_types import Function, Option, Value

if TYPE_CHECKING:
    from contad.engines.matrix.matrix_stack import MatrixStack


# What the kernel reads of a record: z, rows, columns, then for the matrix and for the vector where a constant is kept
# and the first cell of a variable; one of the two is 0.
_KERNEL = '''\
"""The adjoint of a matrix times a vector; generated, do not edit."""

import numpy as np
from numba import carray
from contad.native.machine_code import cfunc, njit
from contad.native.product_kernels import add_outer, add_rows
from contad.native.words import pointer

ENDLESS = 1 << 60


@njit(inline="always")
def numbers(cell, at, n, values, constants):
    """An operand: a variable, a constant of the recording (at minus its place) or one that is kept by its address."""
    if cell > 0:
        return values[cell : cell + n]
    if at < 0:
        return constants[-at : n - at]
    return carray(pointer(at), (n,), np.float64)


@cfunc("void(CPointer(int64), CPointer(float64), CPointer(float64), CPointer(float64))", cache=True,
       error_model="numpy", boundscheck=False)
def kernel(shape_at, values_at, constants_at, adjoints_at):
    z, rows, columns, a_at, a_cell, b_at, b_cell = carray(shape_at, (7,))
    values = carray(values_at, (ENDLESS,))
    constants = carray(constants_at, (ENDLESS,))
    adjoints = carray(adjoints_at, (ENDLESS,))
    z_bar = adjoints[z : z + rows]
    n = rows * columns
    if b_cell > 0:
        add_rows(z_bar, numbers(a_cell, a_at, n, values, constants), adjoints[b_cell : b_cell + columns])
    if a_cell > 0:
        add_outer(z_bar, numbers(b_cell, b_at, columns, values, constants), adjoints[a_cell : a_cell + n])
'''


def _add_products(shape: np.ndarray, values: np.ndarray, constants: np.ndarray, adjoints: np.ndarray) -> None:
    """What the kernel does, its sums in the same order."""
    z, rows, columns, a_at, a_cell, b_at, b_cell = shape[:7].tolist()

    def numbers(cell: int, at: int, n: int) -> np.ndarray:
        if cell > 0:
            return values[cell : cell + n]
        return constants[-at : n - at] if at < 0 else np.ctypeslib.as_array((ctypes.c_double * n).from_address(at))

    z_bar = adjoints[z : z + rows]
    with np.errstate(all="ignore"):
        if b_cell > 0:
            a = numbers(a_cell, a_at, rows * columns).reshape(rows, columns)
            _add_rows(z_bar, a, adjoints[b_cell : b_cell + columns])
        if a_cell > 0:
            found = np.multiply.outer(z_bar, numbers(b_cell, b_at, columns))
            adjoints[a_cell : a_cell + rows * columns] += np.where(z_bar[:, None] != 0.0, found, 0.0).reshape(-1)


def _add_rows(z_bar: np.ndarray, a: np.ndarray, b_bar: np.ndarray) -> None:
    """`contad.native.product_kernels.add_rows`."""
    fours = len(z_bar) // 4 * 4
    d, rows = z_bar[:fours].reshape(-1, 4), a[:fours].reshape(-1, 4, a.shape[1])
    start = 0
    if (np.multiply.reduce(d, axis=1) != 0.0).all():  # as it adds four rows at once
        c = d[:, :, None] * rows
        each = (c[:, 0] + c[:, 1]) + (c[:, 2] + c[:, 3])
        b_bar[...] = np.add.accumulate(np.vstack([b_bar, each]), axis=0)[-1]
        start = fours
    i = start
    while i < len(z_bar):
        if i + 4 <= len(z_bar) and z_bar[i] * z_bar[i + 1] * z_bar[i + 2] * z_bar[i + 3] != 0.0:
            b_bar += (z_bar[i] * a[i] + z_bar[i + 1] * a[i + 1]) + (z_bar[i + 2] * a[i + 2] + z_bar[i + 3] * a[i + 3])
            i += 4
            continue
        if z_bar[i] != 0.0:
            b_bar += z_bar[i] * a[i]
        i += 1


class ProductPullback(Named):
    """The continuation of a product of plain matrices and vectors; the rule's vjps do what is out of the ordinary."""

    __slots__ = ("first", "x", "x_cell", "y", "y_cell", "z")

    def __init__(
        self, rule: ArrayRule, x_cell: int, x: np.ndarray, y_cell: int, y: np.ndarray, first: int, z: np.ndarray
    ) -> None:
        self.rule = rule
        self.x_cell, self.x = x_cell, x  # cell 0: a constant
        self.y_cell, self.y = y_cell, y
        self.first = first
        self.z = z

    @property
    def parents(self) -> tuple[int, ...]:
        """The first cells of the factors that are variables."""
        return tuple(cell for cell in (self.x_cell, self.y_cell) if cell > 0)

    def __call__(self, adj: Adjoints) -> None:
        x, y, z = self.x, self.y, self.z
        cells = adj.cells
        if cells.__class__ is not np.ndarray:
            self._by_rule(adj, "a")
            self._by_rule(adj, "b")
            return
        z_bar = cells[self.first : self.first + z.size]
        if z.ndim == 2:
            z_bar = z_bar.reshape(z.shape)
        if self.x_cell > 0:
            c = np.multiply.outer(z_bar, y) if y.ndim == 1 else np.matmul(z_bar, y.T)
            self._accumulate(adj, "a", self.x_cell, c)
        if self.y_cell > 0:
            c = np.multiply.outer(x, z_bar) if x.ndim == 1 else np.matmul(z_bar, x) if z.ndim == 1 else x.T @ z_bar
            self._accumulate(adj, "b", self.y_cell, c)

    def _accumulate(self, adj: Adjoints, name: str, cell: int, c: np.ndarray) -> None:
        flat = c.reshape(-1)
        if math.isfinite(np.dot(flat, flat)):  # else zeros of z_bar may have to mask what is not
            adj.cells[cell : cell + flat.size] += flat
        else:
            self._by_rule(adj, name)

    def _by_rule(self, adj: Adjoints, name: str) -> None:
        cell, v = (self.x_cell, self.x) if name == "a" else (self.y_cell, self.y)
        if cell > 0:
            z_bar = block_of(adj.cells, self.first, self.z.size, self.z.shape)
            accumulate(adj, cell, v.shape, self.rule.pull(name, self.z, z_bar, (self.x, self.y), {}))


General = Callable[..., Value]


def fast_product(rule: ArrayRule, general: General) -> tuple[Function, Function]:
    """The product of matrices and vectors, for the method of array variables and for the reflected one."""
    both, left = operation_code(multiply, "vv"), operation_code(multiply, "vc")
    assert both is not None and left is not None

    def product(s: "MatrixStack", a: Value, b: Value, x: np.ndarray, y: np.ndarray) -> Value:
        """a @ b, of which at least one is a variable of s; x and y are their values."""
        if s.thread != get_ident() or s.ended is not None:
            s.check_usable(rule.name)
        buffers = s.buffers
        if x.ndim == 1 and y.ndim == 1:
            if a is x or b is y:  # commutative: the variable stands first
                slot = buffers.push_shape((buffers.push_constant(x if a is x else y), x.size))
                return s.push_number(left + DOT, (b if a is x else a)._index, slot, float(np.dot(x, y)))
            slot = buffers.push_shape((b._index, x.size))
            return s.push_number(both + DOT, a._index, slot, float(np.dot(x, y)))
        shape = (*x.shape[:-1], *y.shape[1:])
        n = math.prod(shape)
        first = s.top
        if first + n > s.capacity:
            s.room(n)
        z = s.slab[first : first + n]
        if len(shape) == 2:
            z = z.reshape(shape)
        np.matmul(x, y, z)
        # the cotangent of one factor needs the other
        x_at = y_at = x_cell = y_cell = 0
        if a is x:
            x, x_at = buffers.keep(x)
        else:
            x_cell = a._index
        if b is y:
            y, y_at = buffers.keep(y)
        else:
            y_cell = b._index
        slot = 0
        if y.ndim == 1 and (x_at <= 0 or x.flags.c_contiguous) and (y_at <= 0 or y.flags.c_contiguous):
            slot = buffers.push_shape((first, n, y.size, x_at, x_cell, y_at, y_cell))
        s.callbacks.append(ProductPullback(rule, x_cell, x, y_cell, y, first, z))
        return s.push_values(PULLBACK, len(s.callbacks) - 1, slot, z)

    def method(a: ArrayVar, *args: Value, **options: Option) -> Value:
        if len(args) == 1 and not options and is_direct(a):
            (b,) = args
            x, y = a._value, b._value if b.__class__ is ArrayVar else b
            if (
                y.__class__ is np.ndarray and y.dtype is FLOAT and 0 < x.ndim <= 2 and 0 < y.ndim <= 2
                and x.shape[-1] == y.shape[0] and y.size
                and (y is b or (b._owner is a._owner and is_direct(b)))
            ):  # fmt: skip
                return product(a._owner, a, b, x, y)
        return general(a, *args, **options)

    def reflect(b: ArrayVar, a: Value, **options: Option) -> Value:
        if not options and is_direct(b) and a.__class__ is np.ndarray and a.dtype is FLOAT:
            y = b._value
            if 0 < a.ndim <= 2 and 0 < y.ndim <= 2 and a.shape[-1] == y.shape[0] and a.size:
                return product(b._owner, a, b, a, y)
        return general(a, b, **options)

    return method, reflect


WRITTEN[PULLBACK], WRITTEN_PLAINLY[PULLBACK] = _KERNEL, _add_products
