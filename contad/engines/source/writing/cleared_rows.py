"""Adjoints of matrices whose rows a loop takes one after the other: it clears each of them when it comes to it.

    x_bar = np.zeros(x.shape)              x_bar = np.empty(x.shape)
    for i in range(x_length):       ->     for i in range(x_length):
        x_bar[i, j] += t_bar                   for column in range(x_bar.shape[1]):
                                                   x_bar[i, column] = 0.0
                                               x_bar[i, j] += t_bar

So it is where the first statement behind the zeros that names the matrix is a loop over all of its rows, which touches
none but its own. The row is in the cache then, while zeros of a large matrix are a pass over memory. Where that begins
with the columns from 0 on, each of them once, their `+=` is `=`, and columns behind them are cleared alone.
"""

import ast
from collections.abc import Callable

from contad.engines.source.writing.array_accesses import indices_of
from contad.engines.source.writing.first_writes import (
    LEAVES,
    ZEROS,
    FirstWrites,
    find_length,
    find_part,
    names_it,
    write_once,
)
from contad.engines.source.writing.live_names import names_assigned


def save_zeros(lines: list[str], fresh: Callable[[str], str]) -> list[str]:
    """The lines of a function, its head first, without zeros that are written over, or that a loop can clear."""
    if not any(map(ZEROS.match, lines)):
        return lines
    arrays = FirstWrites.read(lines)
    return clear_rows(write_once(lines, arrays), arrays, fresh)


def clear_rows(lines: list[str], arrays: FirstWrites, fresh: Callable[[str], str]) -> list[str]:
    """The lines of a function, its head first, without zeros of matrices whose rows a loop can clear."""
    made = list(lines)
    added: dict[int, list[str]] = {}
    for k, found in arrays.list_zeros(lines):
        name = found[1]
        loop = _find_loop(arrays, k + 1, name, found[2], found[3])
        if loop is None:
            continue
        made[k] = made[k].replace("zeros(", "empty(", 1)
        at, start, indent = loop.body[0].lineno - 1, "", " " * loop.body[0].col_offset
        first = next(s for s in loop.body if names_it(s, name))
        if (begun := _find_columns(arrays, loop, first, name)) is not None:
            line, start = begun
            made[line - 1] = made[line - 1].replace(" += ", " = ", 1)
            assert first.end_lineno is not None
            at = first.end_lineno
        column = fresh("column")
        added.setdefault(at, []).extend((
            f"{indent}for {column} in range({start and start + ', '}{name}.shape[1]):",
            f"{indent}    {name}[{ast.unparse(loop.target)}, {column}] = 0.0",
        ))  # fmt: skip
    return [new for k, line in enumerate(made) for new in (*added.get(k, ()), line)]


def _find_columns(arrays: FirstWrites, loop: ast.For, first: ast.stmt, name: str) -> tuple[int, str] | None:
    """Where the first statement that names a row adds to columns from 0 on, each once: the line, and how many."""
    nest = [loop]
    while isinstance(first, ast.For):
        nest.append(first)
        naming = [s for s in first.body if names_it(s, name)]
        if len(naming) != 1 or names_it(first.iter, name) or ast.unparse(first.target) in names_assigned(first.body):
            return None
        (first,) = naming
    if len(nest) not in (2, 3) or not isinstance(first, ast.AugAssign) or not isinstance(first.op, ast.Add):
        return None
    indices = [ast.unparse(nest[0].target), ast.unparse(nest[-1].target)]
    if ast.unparse(first.target) != f"{name}[{', '.join(indices)}]" or names_it(first.value, name):
        return None
    if any(not ast.unparse(x.iter).startswith("range(") for x in nest):
        return None
    lengths = [find_length(nest[1])]
    if len(nest) == 3:
        lengths.append(find_part(nest[1], nest[2]))
    known = [length for length in lengths if length is not None and arrays.stays(length)]
    if len(known) < len(lengths) or not arrays.is_length(known[0], loop.lineno):
        return None
    return first.lineno, " * ".join(x if x.isidentifier() else f"({x})" for x in known)


def _find_loop(arrays: FirstWrites, line: int, name: str, shape: str, like: str | None) -> ast.For | None:
    """The loop that may clear rows of the matrix, of a shape or like another array, whose zeros are made at a line."""
    loop = next((s for s in arrays.bodies.get(line, ()) if s.lineno > line and names_it(s, name)), None)
    if len(arrays.assigned[name]) != 1 or not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
        return None
    index, length = loop.target.id, find_length(loop)
    if length is None or index in names_assigned(loop.body) or any(isinstance(x, LEAVES) for x in ast.walk(loop)):
        return None
    if "prange" in ast.unparse(loop.iter) or not _takes_rows(loop, name, index):
        return None
    rows = _rows(arrays, shape, like)
    if rows is None or not arrays.stays(length) or length not in arrays.same_as(rows, loop.lineno):
        return None
    return loop


def _takes_rows(loop: ast.For, name: str, index: str) -> bool:
    """Whether a loop names the matrix nowhere but in elements of the row of its index, in loops inside it."""
    inside = []
    for x in ast.walk(loop):
        if isinstance(x, ast.Subscript) and isinstance(x.value, ast.Name) and x.value.id == name:
            indices = indices_of(x)
            if len(indices) != 2 or ast.unparse(indices[0]) != index or isinstance(indices[1], ast.Slice):
                return False
            inside.append(x.value)
    mentions = [x for x in ast.walk(loop) if isinstance(x, ast.Name) and x.id == name]
    return all(x in inside for x in mentions) and any(
        names_it(x, name) for s in loop.body for x in ast.walk(s) if isinstance(x, ast.For)
    )


def _rows(arrays: FirstWrites, shape: str, like: str | None) -> str | None:
    """How the text calls the number of rows of the matrix; None where nothing says that it stays the same."""
    if like is None:
        parts = ast.parse(shape, mode="eval").body
        assert isinstance(parts, ast.Tuple)
        return ast.unparse(parts.elts[0]) if len(parts.elts) == 2 else None
    if not arrays.stays(like):
        return None
    made = [s.value for s in arrays.assigned.get(like, ()) if isinstance(s, ast.Assign)]
    if len(made) == 1 and isinstance(made[0], ast.BinOp) and isinstance(made[0].op, ast.MatMult):
        left = ast.unparse(made[0].left)  # a matrix, as the product is one
        return f"{left}.shape[0]" if left.isidentifier() and arrays.stays(left) else None
    return f"{like}.shape[0]"
