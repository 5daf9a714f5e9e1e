"""A loop between a product and the adjoint of its vector, by a few rows of the matrix at a time.

    put_product(z, x, b)                   z_bar = lent_empty(1, z.shape)
    z_bar = lent_empty(1, z.shape)         for first in range(0, n, rows_together(x, b, b_bar)):
    for i in range(n):                         last = min(first + rows_together(x, b, b_bar), n)
        t = y[i] - z[i]                        put_product_of_rows(z, x, b, first, last)
        total += t * t             ->          for i in range(first, last):
        z_bar[i] = -2.0 * t                        t = y[i] - z[i]
    add_right(z_bar, x, b_bar)                     total += t * t
                                                   z_bar[i] = -2.0 * t
                                               add_right_of_rows(z_bar, x, b_bar, first, last)

A large matrix is read from memory once instead of twice. An iteration i of the loop reads of z, and writes of z_bar,
the element i alone, so that the product of a row may be made right before it, and added to the adjoint right after it.
Products are found before loops are split into blocks (`split_loops`), and written behind that: the blocks of such a
loop are those of a few rows.
"""

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from contad.engines.source.writing.first_writes import MAKERS, FirstWrites, touches_only, write_zeros
from contad.engines.source.writing.live_names import names_in
from contad.engines.source.writing.loop_statements import names_written
from contad.native.elementary.rows import ROWS

_PUT, _ADD = "put_product", "add_right"
_READ = {_PUT: slice(1, 3), _ADD: slice(0, 2), "add_left": slice(0, 2)}  # the operands that calls read
_LEAVES = (ast.Break, ast.Continue, ast.Return, ast.While, ast.Lambda)


class RowProduct(NamedTuple):
    """A product, the loop behind it, and the adjoint of its vector."""

    put: tuple[str, str, str]  # what the calls are given
    add: tuple[str, str, str]
    length: str  # of the loop
    is_apart: bool  # whether the adjoint of the vector is touched in between, so that rows add to one of their own


def find_products(lines: list[str], roots: dict[str, frozenset[str]], axes: dict[str, int]) -> list[RowProduct]:
    """The products of a function, its head first, that may go by rows; at most one of a loop.

    Of arrays it is known what memory they may be, and how many axes they have.
    """
    text = "".join(lines)
    if f"{_PUT}(" not in text or f"{_ADD}(" not in text:
        return []
    (function,) = ast.parse("\n".join(lines)).body
    assert isinstance(function, ast.FunctionDef)
    found: dict[ast.For, RowProduct] = {}
    for loop, product in _ProductSearch(function, roots, axes).products():
        found.setdefault(loop, product)
    return [*found.values()]


def join_products(lines: list[str], products: list[RowProduct], fresh: Callable[[str], str]) -> list[str]:
    """The lines of a function, its head first, with these products in the loops behind them."""
    if not products:
        return lines
    (function,) = ast.parse("\n".join(lines)).body
    assert isinstance(function, ast.FunctionDef)
    found: list[str | None] = [*lines]
    for product in products:
        _write(product, function.body, lines, found, fresh)
    return [part for line in found if line is not None for part in line.split("\n")]


class _ProductSearch:
    """Finds products in the body of a function."""

    def __init__(self, function: ast.FunctionDef, roots: dict[str, frozenset[str]], axes: dict[str, int]) -> None:
        self.body, self.roots, self.axes = function.body, roots, axes
        self.lengths = FirstWrites(function)

    def products(self) -> Iterator[tuple[ast.For, RowProduct]]:
        """All of them, and their loops."""
        for k, put in enumerate(self.body):
            z, x, b = _arguments(put, _PUT)
            if (self.axes.get(x), self.axes.get(b)) != (2, 1) or not self._is_new(z):
                continue
            for add in self.body[k + 1 :]:
                z_bar, again, b_bar = _arguments(add, _ADD)
                loop = self._find_loop(put, add, z) if again == x and self._is_new(z_bar) else None
                if loop is not None and self._may_join(put, loop, add):
                    is_apart = self._is_touched(b_bar, [loop, *self._between(loop, add)])
                    yield loop, RowProduct((z, x, b), (z_bar, x, b_bar), _length(loop) or "", is_apart)
                    break

    def _find_loop(self, put: ast.stmt, add: ast.stmt, z: str) -> ast.For | None:
        """The first statement that reads a product, if it is a loop from 0 on before the adjoint."""
        s = _find_reader(self._between(put, add), z)
        return s if isinstance(s, ast.For) and _length(s) else None

    def _may_join(self, put: ast.stmt, loop: ast.For, add: ast.stmt) -> bool:
        """Whether rows of the product may wait for their iterations of the loop, and those of the adjoint follow them.

        Nothing in between writes the factors; the loop touches elements of its own iteration, and what comes after it
        writes no adjoint of the product.
        """
        z, x, b = _arguments(put, _PUT)
        z_bar, *_ = _arguments(add, _ADD)
        index, length = ast.unparse(loop.target), _length(loop) or ""
        return (
            f"{x}.shape[0]" in self.lengths.same_as(length, loop.lineno)
            and self.lengths.stays(length)
            and not any(isinstance(s, _LEAVES) for s in ast.walk(loop))
            and not any(index in names_written(s) for s in loop.body)
            and all(touches_only(loop, name, [index]) for name in (z, z_bar))
            and all(self._only_reads(s, name) for s in self._between(put, add) for name in (x, b))
            and all(self._only_reads(s, z_bar) for s in self._between(loop, add))
        )

    def _between(self, first: ast.stmt, last: ast.stmt) -> list[ast.stmt]:
        return self.body[self.body.index(first) + 1 : self.body.index(last)]

    def _is_touched(self, array: str, statements: list[ast.stmt]) -> bool:
        """Whether statements name memory of an array."""
        return any(self._shares(name, array) for s in statements for name in names_in(s))

    def _is_new(self, name: str) -> bool:
        """Whether an array is made by the function, once, and nothing else may be its memory."""
        made = self.lengths.assigned.get(name, [])
        others = [x for x in self.roots if x != name and self._roots(x) & self._roots(name)]
        if len(made) != 1 or made[0] not in self.body or others:
            return False
        value = made[0].value if isinstance(made[0], ast.Assign) else None
        return isinstance(value, ast.Call) and ast.unparse(value.func) in MAKERS

    def _roots(self, name: str) -> frozenset[str]:
        return self.roots.get(name, frozenset((name,)))

    def _shares(self, name: ast.Name, array: str) -> bool:
        return bool(self._roots(name.id) & self._roots(array))

    def _only_reads(self, s: ast.stmt, array: str) -> bool:
        """Whether a statement takes no more of an array, and of what may be its memory, than elements and lengths."""
        read: list[ast.expr] = []
        for x in ast.walk(s):
            if isinstance(x, (ast.Subscript, ast.Attribute)) and isinstance(x.ctx, ast.Load):
                is_named = isinstance(s, ast.Assign) and s.value is x  # a view, whose memory is known
                is_part = any(isinstance(y, ast.Slice) for y in ast.walk(x))
                if is_named or (not is_part if isinstance(x, ast.Subscript) else x.attr == "shape"):
                    read.append(x.value)
            elif isinstance(x, ast.Call) and ast.unparse(x.func) in _READ:
                read += x.args[_READ[ast.unparse(x.func)]]
        return all(x in read or isinstance(x.ctx, ast.Store) for x in names_in(s) if self._shares(x, array))


def _arguments(s: ast.stmt, called: str) -> tuple[str, str, str]:
    """The names that a statement calls a function with; "" for others."""
    call = s.value if isinstance(s, ast.Expr) else None
    if isinstance(call, ast.Call) and ast.unparse(call.func) == called:
        names = [x.id for x in call.args if isinstance(x, ast.Name)]
        if len(names) == len(call.args) == 3:
            return names[0], names[1], names[2]
    return "", "", ""


def _find_reader(statements: list[ast.stmt], name: str) -> ast.stmt | None:
    """The first statement that reads more of an array than its shape."""
    reading = (s for s in statements if any(x.id == name for x in names_in(s)) and not _reads_shape_only(s, name))
    return next(reading, None)


def _reads_shape_only(s: ast.stmt, name: str) -> bool:
    shapes = [x.value for x in ast.walk(s) if isinstance(x, ast.Attribute) and x.attr == "shape"]
    return all(x in shapes for x in names_in(s) if x.id == name)


def _length(loop: ast.For) -> str | None:
    """The number n of a loop over 0, ..., n - 1; None of another one."""
    call = loop.iter
    if loop.orelse or not isinstance(loop.target, ast.Name) or not isinstance(call, ast.Call) or len(call.args) != 1:
        return None
    return ast.unparse(call.args[0]) if ast.unparse(call.func) == "range" else None


# ---- as text ---------------------------------------------------------------------------------------------------------
def _write(
    product: RowProduct, body: list[ast.stmt], lines: list[str], found: list[str | None], fresh: Callable[[str], str]
) -> None:
    """Put the loop of a product, with both calls in it, in its place."""
    put = next(s for s in body if _arguments(s, _PUT) == product.put)
    add = next(s for s in body if _arguments(s, _ADD) == product.add)
    (z, x, b), (z_bar, _, b_bar), length = product.put, product.add, product.length
    loop = _find_reader(body[body.index(put) + 1 : body.index(add)], z)
    rows, block, first, last = map(fresh, ("rows", "block", "first", "last"))
    of_rows = _of_rows(loop, lines, length, first, last)
    if of_rows is None:
        return
    made: list[str] = []
    later = None
    if product.is_apart:
        own, each = fresh(f"{b_bar}_of_rows"), fresh("k")
        made.append(f"    {own} = {write_zeros(f'{b}.shape', [line for line in found if line is not None])}")
        later = f"    for {each} in range({b}.shape[0]):\n        {b_bar}[{each}] += {own}[{each}]"
        b_bar = own
    made += [
        f"    {rows} = rows_together({x}, {b}, {b_bar})",
        f"    for {block} in range(0, {length}, {rows}):",
        f"        {first} = place({block})",
        f"        {last} = min({first} + {rows}, {length})",
        f"        put_product_of_rows({z}, {x}, {b}, {first}, {last})",
        *("    " + line for line in of_rows),
        f"        add_right_of_rows({z_bar}, {x}, {b_bar}, {first}, {last})",
    ]
    assert loop is not None
    found[put.lineno - 1], found[add.lineno - 1] = None, later
    for k in range(loop.lineno - 1, loop.end_lineno or loop.lineno):
        found[k] = None
    found[loop.lineno - 1] = "\n".join(made)


def _of_rows(loop: ast.stmt | None, lines: list[str], length: str, first: str, last: str) -> list[str] | None:
    """A loop over these rows alone; None where a test or something else is in its place."""
    if not isinstance(loop, ast.For):
        return None
    head, *body = lines[loop.lineno - 1 : loop.end_lineno]
    index, (_, separator, note) = ast.unparse(loop.target), head.partition("  # ")
    if _length(loop) == length:
        return [f"    for {index} in range({first}, {last}):{separator}{note}", *body]
    over, start, count = ast.unparse(loop.iter), *map(ast.unparse, loop.body[:2])
    own, name = start.partition(" = ")[0], count.partition(" = ")[0]
    split = f"range(0, {length}, {ROWS})", f"{own} = place({index})", f"{name} = min({ROWS}, {length} - {own})"
    if (over, start, count) != split:
        return None
    head = f"    for {index} in range({first}, {last}, {ROWS}):{separator}{note}"
    return [head, body[0], f"        {name} = min({ROWS}, {last} - {own})", *body[2:]]
