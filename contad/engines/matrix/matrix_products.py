"""Products of matrices and vectors: values written directly to the slab, and their continuations.

A kernel that the compiled sweep calls computes the adjoints of a matrix times a vector, row by row, so that it reads
each number of a tall data matrix once. It also serves small matrices, for which it takes less time than a call from
Python. Other products are pullbacks, in which NumPy multiplies.
"""

import math
import struct
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from contad.engines.matrix.array_var import ArraySlab, ArrayVar
from contad.engines.matrix.kernel_of_products import KERNEL, bind_products
from contad.engines.stream.kernels import WRITTEN, WRITTEN_PULLS
from contad.engines.stream.pullbacks import Part, accumulate, block_of
from contad.engines.stream.storage import CELLS, CELLS_WITH_VIEWS, DOT, PULLBACK, WORTH_SHARING, Buffers
from contad.engines.stream.sweep import operation_code
from contad.kernels.shape_fields import A_TURNED, ADJOINT, AT_ADDRESS, B_TURNED, FIRST, RESULT, A, B, K, M, N
from contad.ops import multiply
from contad.ops._scipy import blas
from contad.ops.cotangents import all_finite
from contad.rules.array_rule import ArrayRule, array_rule_of
from contad.variables.adjoints import Adjoints
from contad.variables.array import Array
from contad.variables.dtypes import FLOAT
from contad.variables.layout import KNOWN_IMMUTABLE
from contad.variables.open_types import Function, Option, Value

if TYPE_CHECKING:
    from contad.python_objects.laid_arrays import Classes


class ProductFactor(NamedTuple):
    """An operand of a product: a plain array, and its first cell, 0 for a constant.

    If it is turned, the cells are those of its transpose in C order: x.T makes no copy.
    """

    value: np.ndarray
    cell: int
    turned: bool = False


class ProductSizes(NamedTuple):
    """The sizes in the record of a product of a rows x p with a p x columns matrix, or of vectors."""

    rows: int
    p: int
    columns: int
    size: int
    length: int  # of a vector; else 0
    shape: tuple[int, ...]
    axes: int  # ten times the axes of the first factor, plus those of the second
    is_small: bool  # whether the kernel multiplies
    head: int  # of the record


def find_sizes(x: tuple[int, ...], y: tuple[int, ...]) -> ProductSizes | None:
    """The sizes for factors of these shapes; None unless both are vectors or matrices that match and are not empty."""
    if len(x) not in (1, 2) or len(y) not in (1, 2) or x[-1] != y[0] or 0 in x + y:
        return None
    rows, columns = math.prod(x[:-1]), math.prod(y[1:])
    shape = x[:-1] + y[1:]
    n = rows * columns
    length, axes = n if len(shape) == 1 else 0, 10 * len(x) + len(y)
    return ProductSizes(rows, y[0], columns, n, length, shape, axes, n * y[0] <= _SMALL, -PULLBACK - CELLS * n)


_new: Any = tuple.__new__  # creates a factor in a third of the time of a call of its class


class ProductPullback(NamedTuple):
    """The continuation of a product of plain matrices and vectors; the rule's vjps do unusual cases.

    A factor consists of its values, its first cell, 0 for a constant, and whether the cells are those of its transpose.
    """

    rule: ArrayRule
    x: np.ndarray
    x_cell: int
    x_turned: bool
    y: np.ndarray
    y_cell: int
    y_turned: bool
    first: int
    z: np.ndarray

    @property
    def name(self) -> str:
        """The name of the rule."""
        return self.rule.name

    @property
    def turned(self) -> bool:
        """Whether a factor is the transpose of the matrix in the cells."""
        return self.x_turned or self.y_turned

    @property
    def parents(self) -> tuple[int, ...]:
        """The first cells of the factors that are variables."""
        return tuple(cell for cell in (self.x_cell, self.y_cell) if cell > 0)

    def __call__(self, adj: Adjoints) -> None:
        _, x, x_cell, x_turned, y, y_cell, y_turned, first, z = self
        cells = adj.cells
        if cells.__class__ is not np.ndarray:
            self._by_rule(adj, "a")
            self._by_rule(adj, "b")
            return
        z_bar = cells[first : first + z.size]
        if z.ndim == 2:
            z_bar = z_bar.reshape(z.shape)
        if x_turned != y_turned and x_cell == y_cell and x.shape == y.shape[::-1]:
            both = z_bar + z_bar.T  # x^T x, or x x^T: one product serves both factors
            p, q = (y, both) if x_turned else (both, x)
            block = cells[x_cell : x_cell + x.size]
            if x.size < _IN_PLACE:
                c = p.dot(q).reshape(-1)
                if math.isfinite(c.dot(c)):  # if the values are finite, there is nothing to mask
                    np.add(block, c, block)
                    return
            elif all_finite(x) and all_finite(both):
                add_in_place(block.reshape(len(p), -1), p, q)
                return
        if x_cell > 0:
            if x.ndim == 1:
                self._accumulate(adj, "a", x_cell, z_bar.dot(y.T))
            elif x_turned:
                self._add(adj, "a", x_cell, y, z_bar.T)
            else:
                self._add(adj, "a", x_cell, z_bar, y.T)
        if y_cell > 0:
            if y.ndim == 1:
                self._accumulate(adj, "b", y_cell, z_bar.dot(x))
            elif y_turned:
                self._add(adj, "b", y_cell, z_bar.T, x)
            else:
                self._add(adj, "b", y_cell, x.T, z_bar)

    def _add(self, adj: Adjoints, name: str, cell: int, p: np.ndarray, q: np.ndarray) -> None:
        """Add a product of matrices, or all products of two vectors, to the adjoints of a factor."""
        rows, columns = p.shape[0], q.shape[-1]
        n = rows * columns
        if n < _IN_PLACE or not all_finite(self.y if name == "a" else self.x):
            self._accumulate(adj, name, cell, p[:, None] * q if p.ndim == 1 else p.dot(q))
            return
        add_in_place(adj.cells[cell : cell + n].reshape(rows, columns), p, q)

    def _accumulate(self, adj: Adjoints, name: str, cell: int, c: np.ndarray) -> None:
        flat = c.reshape(-1)
        if math.isfinite(flat.dot(flat)):  # otherwise zeros of z_bar may have to mask values
            block = adj.cells[cell : cell + flat.size]
            np.add(block, flat, block)
        else:
            self._by_rule(adj, name)

    def _by_rule(self, adj: Adjoints, name: str) -> None:
        if name == "a":
            v, cell, turned = self.x, self.x_cell, self.x_turned
        else:
            v, cell, turned = self.y, self.y_cell, self.y_turned
        if cell > 0:
            z_bar = block_of(adj.cells, Part(self.first, self.z.size, self.z.shape, self.z))
            c = self.rule.pull(name, self.z, z_bar, (self.x, self.y), {})
            accumulate(adj, cell, v.shape[::-1] if turned else v.shape, np.transpose(c) if turned else c)


class Continuations(list[Any]):
    """The continuations of a recording. Those of records with kernels are created on demand.

    If the values and constants of the recording hold all numbers of a product, the product is not in the list: instead
    of a position its record has the place of its shape, negative. A product with another constant has a pair of shape
    and constant in the list, any other kernel record its kernels and their data. Most of these records are swept once
    and forgotten, and a continuation with its arrays would take as long to create and to free as the product.
    """

    __slots__ = ("buffers",)
    buffers: Buffers

    def __getitem__(self, k: Any) -> Any:
        """The continuation."""
        if k < 0:
            return self._product(-k, None)
        kept = list.__getitem__(self, k)
        if kept.__class__ is not tuple:
            return kept
        first, *rest = kept
        return self._product(*kept) if first.__class__ is int else first.continuation(self.buffers.values, *rest)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def _product(self, slot: int, constant: np.ndarray | None) -> "ProductPullback":
        shape = self.buffers.shapes[slot : slot + ADJOINT].tolist()
        first, rows, columns, x_at, x_cell, y_at, y_cell, p, x_turned, y_turned, axes = shape[:_FIELDS]
        if first == 0:  # of another kernel record
            first, axes, rows, columns, p = (shape[k] for k in (RESULT, FIRST, M, N, K))
            x_cell, y_cell = (shape[k] if shape[k + 1] > 0 else 0 for k in (A, B))
            x_turned, y_turned = shape[A_TURNED], shape[B_TURNED]
        x_axes, y_axes = divmod(axes, 10)
        values = self.buffers.values

        def factor(cell: int, at: int, rows: int, columns: int, is_turned: bool, axes: int) -> np.ndarray:
            if cell == 0 and constant is not None:
                return constant
            numbers, at = (values, cell) if cell else (self.buffers.constants, -at)
            x = numbers[at : at + rows * columns]
            if cell == 0:
                x.flags.writeable = False
            return x if axes == 1 else x.reshape(columns, rows).T if is_turned else x.reshape(rows, columns)

        z = values[first : first + rows * columns]
        return ProductPullback(
            array_rule_of("matmul"), factor(x_cell, x_at, rows, p, x_turned, x_axes), x_cell, bool(x_cell and x_turned),
            factor(y_cell, y_at, p, columns, y_turned, y_axes), y_cell, bool(y_cell and y_turned), first,
            z.reshape(rows, columns) if x_axes == y_axes else z,
        )  # fmt: skip


_FIELDS = 11  # in the shape of a record
_pack, _pack_dot = struct.Struct(f"{_FIELDS}q").pack_into, struct.Struct("2q").pack_into
_new_array = np.ndarray
_SMALL = 1 << 12  # multiplications up to which the kernel multiplies matrices
_IN_PLACE = 1 << 12  # numbers from which on a temporary product costs more than the call of BLAS


def add_in_place(z: np.ndarray, p: np.ndarray, q: np.ndarray) -> None:
    """z += p q for matrices, z += the products of all pairs for vectors, by BLAS; z is in C order."""
    turned = z.T  # in the order of BLAS
    if p.ndim == 1:
        found = blas().dger(1.0, q, p, a=turned, overwrite_a=1)
    else:
        (a, a_flag), (b, b_flag) = _for_blas(q.T), _for_blas(p.T)
        found = blas().dgemm(1.0, a, b, 1.0, turned, a_flag, b_flag, 1)
    if not np.may_share_memory(found, z):  # a copy was made
        turned[...] = found


def _for_blas(a: np.ndarray) -> tuple[np.ndarray, int]:
    """A matrix in Fortran order, and whether it is the transpose of a."""
    return (a, 0) if a.flags.f_contiguous else (np.ascontiguousarray(a).T, 1)


General = Callable[..., Value]


class ProductKernels(Protocol):
    """The kernels of products, once they are available: see `contad.engines.matrix.kernel_records.RecordKernels`."""

    adjoint: int
    attempt: Callable[..., float] | None

    def are_there(self) -> bool:
        """Whether the kernels compute from now on."""

    def count(self, since: float) -> None:
        """Count the time that Python has taken for a value."""


def fast_product(rule: ArrayRule, general: General, steps: "ProductKernels") -> tuple[Function, Function, Function]:
    """The product of matrices and vectors: the method of array variables, the reflected one, and that of `@`."""
    both, left = operation_code(multiply, "vv"), operation_code(multiply, "vc")
    assert both is not None and left is not None
    of_two, of_constant = -(both + DOT + CELLS), -(left + DOT + CELLS)
    known_sizes: dict[tuple[int, ...], dict[tuple[int, ...], ProductSizes | None]] = {}

    def product(
        s: ArraySlab, x: np.ndarray, x_cell: int, x_turned: bool, y: np.ndarray, y_cell: int, y_turned: bool
    ) -> Value:
        """x @ y, where at least one is a variable of s; None unless both are vectors or matrices that match."""
        try:
            sizes = known_sizes[x.shape][y.shape]
        except KeyError:
            sizes = remember_sizes(x.shape, y.shape)
        if sizes is None:
            return None
        rows, p, columns, n, length, shape, axes, is_small, head = sizes
        if not s.lock._is_owned():
            s.check_usable(rule.name)
        first = s.top
        end = first + n
        if end > s.brim:
            s.make_room(n)
        if axes == 11:
            return dot(s, x, x_cell, y, y_cell, p)
        buffers = s.buffers
        if first < CELLS_WITH_VIEWS:
            views = s.views[length or shape]
            z = views[first] if first in views else s.make_view(first, length or shape)
        else:
            z = s.slab[first:end] if length else _new_array(shape, FLOAT, s.words, 8 * first)
        if is_small:
            x.dot(y, z)  # the BLAS call of np.matmul without the ufunc, which takes longer than the rest
            x_at = y_at = 0
            constant: Any = None
            in_order = True
            if x_cell == 0:  # the cotangent of one factor needs the other
                known = buffers.factors.get(id(x))
                constant, x_at, x_turned, in_order = known or keep_small(buffers, x)
            elif y_cell == 0:
                known = buffers.factors.get(id(y))
                constant, y_at, y_turned, in_order = known or keep_small(buffers, y)
            if in_order:
                slot = buffers.shapes_top
                shapes_end = buffers.shapes_top = slot + _FIELDS  # `push_shape` inlined: its call takes as long
                if shapes_end > len(buffers.shapes):
                    buffers.grow("shapes", shapes_end)
                _pack(
                    buffers.shape_words, 8 * slot, first, rows, columns, x_at, x_cell, y_at, y_cell, p, x_turned,
                    y_turned, axes,
                )  # fmt: skip
                kept: Any = None if constant is None else (slot, constant)
            else:
                x, y = (constant, y) if x_cell == 0 else (x, constant)
                x_turned, y_turned = bool(x_cell and x_turned), bool(y_cell and y_turned)
                slot, kept = 0, _new(ProductPullback, (rule, x, x_cell, x_turned, y, y_cell, y_turned, first, z))
        else:
            slot, kept = multiply_large(buffers, x, x_cell, x_turned, y, y_cell, y_turned, z, first, sizes)
        if kept is None:
            k = -slot
        else:
            callbacks = s.callbacks
            k = len(callbacks)
            callbacks.append(kept)
        found = ArrayVar()  # `push_values` inlined: its calls take as long
        found._owner = s
        found._value = z
        found._index = first
        found._base = None
        found._length = length
        s.top = end
        s.push((head, k, slot, 0.0))
        return found

    def remember_sizes(x: tuple[int, ...], y: tuple[int, ...]) -> ProductSizes | None:
        """`find_sizes`, kept for the next product of factors of these shapes."""
        if len(known_sizes) > 100:
            known_sizes.clear()
        known = known_sizes.setdefault(x, {})
        if len(known) > 100:
            known.clear()
        found = known[y] = find_sizes(x, y)
        return found

    def multiply_large(
        buffers: Buffers, x: np.ndarray, x_cell: int, x_turned: bool, y: np.ndarray, y_cell: int, y_turned: bool,
        z: np.ndarray, first: int, sizes: ProductSizes,
    ) -> tuple[int, Any]:  # fmt: skip
        """Compute the product of large factors; returns the place of its shape, or 0, and its continuation's entry."""
        start = perf_counter() if steps.attempt is None else 0.0
        x.dot(y, z)
        x_at = y_at = 0
        x_by_columns, y_by_columns, in_order = x_turned, y_turned, True
        constant = None
        if x_cell == 0:
            x, x_at, x_by_columns, in_order = keep(buffers, x)
            constant = x
        elif y_cell == 0:
            y, y_at, y_by_columns, in_order = keep(buffers, y)
            constant = y
        rows, p, columns, _, _, _, axes, _, _ = sizes
        slot = 0
        if in_order and axes == 21 and not x_by_columns:
            slot = buffers.push_shape((
                first, rows, columns, x_at, x_cell, y_at, y_cell, p, x_by_columns, y_by_columns, axes
            ))  # fmt: skip
        elif in_order and (steps.attempt is not None or steps.are_there()):
            x_place, x_kind = (x_cell, 1) if x_cell else _place(x_at)
            y_place, y_kind = (y_cell, 1) if y_cell else _place(y_at)
            slot = buffers.push_shape((
                0, 0, first, x_place, x_kind, y_place, y_kind, 0, x_by_columns, y_by_columns, rows, columns, p, axes,
                0, 0, 0, 0, steps.adjoint,
            ))  # fmt: skip
        elif in_order and start:
            steps.count(start)
        if not slot:
            return 0, _new(ProductPullback, (rule, x, x_cell, x_turned, y, y_cell, y_turned, first, z))
        return slot, None if constant is None else (slot, constant)

    def dot(s: ArraySlab, x: np.ndarray, x_cell: int, y: np.ndarray, y_cell: int, p: int) -> Value:
        """The product of two vectors, a number; the caller has made room for it."""
        value = float(x.dot(y))
        buffers = s.buffers
        if x_cell == 0 or y_cell == 0:  # commutative: the variable comes first
            code, place = of_constant, buffers.push_constant(y if x_cell else x)
        else:
            code, place = of_two, y_cell
        slot = buffers.shapes_top
        shapes_end = buffers.shapes_top = slot + 2  # `push_shape` inlined: its call takes as long
        if shapes_end > len(buffers.shapes):
            buffers.grow("shapes", shapes_end)
        _pack_dot(buffers.shape_words, 8 * slot, place, p)
        k = s.top  # `push_number` inlined
        s.slab[k] = value
        number = s.var_class()
        number._value = value
        number._owner = s
        number._index = k
        s.top = k + 1
        s.push((code, x_cell or y_cell, slot, 0.0))
        if k >= s.limit:
            s.flush_if_long()
        return number

    def keep(buffers: Buffers, x: np.ndarray) -> tuple[np.ndarray, int, bool, bool]:
        """A constant factor to keep, its place or address, whether it is turned, and whether it has no gaps."""
        base: Any = x.base
        factor = buffers.factors.get(id(base))
        if factor is not None and not factor[2] and base.size == x.size and x.flags.f_contiguous:
            return x, factor[1], True, True  # the transpose of a kept array, mostly a view that lives for one operation
        known = KNOWN_IMMUTABLE.get(id(x))  # as in `Buffers.keep`; its call takes as long as the rest
        if known is not None and known[0]() is x:
            flags = x.flags
            in_rows = flags.c_contiguous
            found = buffers.factors[id(x)] = x, known[1], not in_rows, in_rows or flags.f_contiguous
            return found
        known = KNOWN_IMMUTABLE.get(id(base))
        if known is not None and base.size == x.size and known[0]() is base and x.flags.f_contiguous:
            return x, known[1], True, True
        x, at = buffers.keep(x)
        if at > 0 and not x.flags.c_contiguous:
            return x, at, True, x.flags.f_contiguous
        return x, at, False, True

    def keep_small(buffers: Buffers, x: np.ndarray) -> tuple[np.ndarray | None, int, bool, bool]:
        """`keep`, but a small factor is copied to the constants only: a new array takes longer than the product."""
        base: Any = x.base
        factor = buffers.factors.get(id(base))  # as in `keep`; its call takes as long
        if factor is not None and not factor[2] and base.size == x.size and x.flags.f_contiguous:
            return x, factor[1], True, True
        if x.size >= WORTH_SHARING or not x.flags.writeable:
            return keep(buffers, x)
        return None, -buffers.push_constant(x), False, True

    otherwise: Function = vars(Array)["__matmul__"]

    def operate(a: ArrayVar, b: Value, otherwise: Function = otherwise) -> Value:
        """a @ b; it calls `otherwise` where the general path is needed."""
        s, base, x_cell = a._owner, a._base, a._index
        z = None
        if x_cell > 0 and (base is None or base._index > 0):
            x, x_turned = a._value, False
        elif x_cell < -1 and base._index > 0:
            x, x_cell, x_turned = a._value, -1 - x_cell, True
        else:
            found = factor_of(a)
            if found is None:
                return otherwise(a, b)
            x, x_cell, x_turned = found
        if b.__class__ is ArrayVar and b._owner is s:
            base, y_cell = b._base, b._index
            if y_cell > 0 and (base is None or base._index > 0):
                z = product(s, x, x_cell, x_turned, b._value, y_cell, False)
            elif y_cell < -1 and base._index > 0:
                z = product(s, x, x_cell, x_turned, b._value, -1 - y_cell, True)
            else:
                found = factor_of(b)
                z = None if found is None else product(s, x, x_cell, x_turned, *found)
        elif b.__class__ is np.ndarray and b.dtype is FLOAT:
            z = product(s, x, x_cell, x_turned, b, 0, False)
        return otherwise(a, b) if z is None else z

    def method(a: ArrayVar, *args: Value, **options: Option) -> Value:
        return operate(a, *args, general) if len(args) == 1 and not options else general(a, *args, **options)

    def reflect(b: ArrayVar, a: Value, **options: Option) -> Value:
        if a.__class__ is np.ndarray and a.dtype is FLOAT and not options:
            base, cell = b._base, b._index
            if cell > 0 and (base is None or base._index > 0):
                z = product(b._owner, a, 0, False, b._value, cell, False)
            else:
                y = factor_of(b)
                z = None if y is None else product(b._owner, a, 0, False, *y)
            if z is not None:
                return z
        return general(a, b, **options)

    return method, reflect, operate


def compile_product(classes: "Classes") -> int:
    """The address of machine code for `@` of array variables, which does the work of the method for small factors."""
    from contad.python_objects.product_operator import make_product_entry

    both = operation_code(multiply, "vv") or 0
    return make_product_entry(classes, (-PULLBACK, CELLS, -(both + DOT + CELLS)), _SMALL)


def _place(at: int) -> tuple[int, int]:
    """The place of a constant and its kind, in the form of a kernel record."""
    return (at // 8, AT_ADDRESS) if at > 0 else (-at, 0)


def factor_of(a: ArrayVar) -> ProductFactor | None:
    """An array variable as a factor of a product, if it is contiguous, or the transpose of a contiguous one."""
    base = a._base
    if a._index > 0 and (base is None or base._index > 0):
        return _new(ProductFactor, (a._value, a._index, False))
    if base is None or base._index <= 0 or (a._owner.keeps_rules and a._owner.tracer is None):
        return None
    if a._root_seen is not base._value:  # the base has been given new memory since the view was made
        a._sync()
    v = a._value
    if v.__class__ is not np.ndarray or v.ndim != 2:
        return None
    parent: Any = a._parent
    if a._view is np.transpose and parent._index > 0:  # a row or a column is in both orders
        return _new(ProductFactor, (v, parent._index, not v.flags.c_contiguous))
    if not v.size or not v.flags.forc:
        return None
    turned = not v.flags.c_contiguous
    offset = v.__array_interface__["data"][0] - base._value.__array_interface__["data"][0]
    return ProductFactor(v, base._index + offset // 8, turned)


WRITTEN[PULLBACK], WRITTEN_PULLS[PULLBACK] = KERNEL, bind_products
