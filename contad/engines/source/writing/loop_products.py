"""Matrix products in loops: for large matrices, calls of BLAS replace the loops over elements.

    if m * p * n > 300:
        put_product(z, a, b)          backwards     add_left(z_bar, b, a_bar)
    else:                                           add_right(z_bar, a, b_bar)
        for i in range(m):
            ...

The calls find the values that the loops would store and copy for the reverse sweep.
"""

import ast
import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from contad.engines.source.ir.ssa import Apply, Create, For, Load, Store, Value
from contad.engines.source.ir.syntax import name, statement
from contad.engines.source.ir.walks import around
from contad.engines.source.writing.adjoint_sweep import AdjointWriter
from contad.engines.source.writing.copying import Copying
from contad.kernels.product_kernels import FEW_IN_PLACE


class LoopProduct(NamedTuple):
    """z = a b: the loops over rows, columns and terms of the sums, and the arrays that they read and fill."""

    loops: tuple[For, For, For]
    a: Load
    b: Load
    z: Value


def find_product(loop: For) -> LoopProduct | None:
    """The matrix product that a nest of loops computes, if no pass has changed the nest; None for other nests."""
    operations = loop.body.operations
    columns = operations[0] if loop.is_product and len(operations) == 1 else None
    if not isinstance(columns, For) or len(columns.body.operations) != 2:
        return None
    inner, put = columns.body.operations
    if not isinstance(inner, For) or not isinstance(put, Store):
        return None
    terms = inner.body.operations
    if list(map(type, terms)) != [Load, Load, Apply, Apply]:
        return None
    a, b = terms[:2]
    assert isinstance(a, Load) and isinstance(b, Load)
    i, j, k = loop.index, columns.index, inner.index
    places = (a.inputs[1:], b.inputs[1:], put.indices)
    if places != ([i, k], [k, j], [i, j]) or [put.stored] != [c.result for c in inner.carried]:
        return None
    return LoopProduct((loop, columns, inner), a, b, put.array)


class ProductWriter:
    """Writes the calls."""

    def __init__(self, copying: Copying, adjoints: AdjointWriter) -> None:
        self.copying, self.storing, self.adjoints = copying, copying.storing, adjoints
        self.writer, self.plan = copying.writer, copying.plan

    @contextlib.contextmanager
    def unless_large(self, o: For, reverse: bool = False) -> Iterator[None]:
        """Write the calls for a large product; the loops written inside run if it is small, or is no product."""
        product = find_product(o)
        calls = [] if product is None or not self._may_call(product) else self._calls(product, reverse)
        if not calls or product is None:
            yield
            return
        rows, columns, inner = (self.writer.text(loop.stop) for loop in product.loops)
        with self.writer.block(
            "if rows * inner * columns > few: pass", o.line, rows=rows, inner=inner, columns=columns, few=FEW_IN_PLACE
        ):
            self.writer.body += calls
        with self.writer.otherwise():
            yield

    def _may_call(self, product: LoopProduct) -> bool:
        """Whether calls can replace the loops: these store nothing, z is new, and the calls run on one thread."""
        if self.storing.lanes is not None or any(map(self.plan.slots.get, product.loops)):
            return False
        if any(loop in self.plan.fused for loop in product.loops):
            return False
        holders = [*product.loops, *around(product.loops[0].block)]
        if any(isinstance(x, For) and x.is_parallel for x in holders):
            return False
        return isinstance(product.z.operation, Create) and product.z.block is product.loops[0].block

    def _calls(self, product: LoopProduct, reverse: bool) -> list[ast.stmt]:
        """The calls of a product, or of its reverse; none if an operand no longer exists."""
        a, b, z = product.a, product.b, product.z
        if not reverse:
            a_name, b_name = self.writer.text(a.array), self.writer.text(b.array)
            return [statement("put_product(z, a, b)", z=z.name, a=a_name, b=b_name)]
        calls: list[ast.stmt] = []
        for add, x, other in (("add_left", a, b), ("add_right", b, a)):
            if x.array in self.adjoints.active:
                factor = self._again(other)
                if factor is None:
                    return []
                if not isinstance(factor, ast.Name):
                    then = self.writer.fresh(f"{other.array.name}_then")
                    calls.append(statement("then = factor", then=then, factor=factor))
                    factor = name(then)
                bars = {"z_bar": self.adjoints.bar(z), "x_bar": self.adjoints.bar(x.array)}
                calls.append(statement("add(z_bar, factor, x_bar)", add=add, factor=factor, **bars))
        return calls

    def _again(self, o: Load) -> ast.expr | None:
        """An operand in the reverse sweep; None if it no longer exists."""
        if o in self.plan.copies:
            return self.copying.reread_matrix(o)
        return self.writer.text(o.array) if self.plan.is_unchanged(o, o.array) else None
