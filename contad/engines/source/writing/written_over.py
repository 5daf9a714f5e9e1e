"""Adjoints that lie where the values lie whose adjoints they are: each of these is read, for the last time, before.

    z = x @ q                                  z = x @ q
    z_bar = lent_empty(6, z.shape)             z_bar = z
    for i in range(n):                         for i in range(n):
        for j in range(m):               ->        for j in range(m):
            t = z[i, j]                                t = z[i, j]
            z_bar[i, j] = 2.0 * t * t_bar              z_bar[i, j] = 2.0 * t * t_bar

So it is where the function makes the array, which has no other name, and where the first statement that names the
adjoint is a nest of loops, each of whose iterations writes an element of its own, and behind which nothing reads the
array. In the nest itself it is read at the indices of an iteration, before that writes. This is the last thing that is
done to a text, so that nothing else has to know of memory with two names. Half as much memory goes through the cache.
"""

import ast
import re
from collections.abc import Iterable, Mapping

from contad.engines.source.ir.writer import BAR
from contad.engines.source.writing.array_accesses import indices_of
from contad.engines.source.writing.first_writes import MAKERS, FirstWrites, find_part, names_it
from contad.engines.source.writing.live_names import names_assigned

_MADE = re.compile(rf"    (\w+){BAR} = (?:np\.|lent_)empty\((?:\d+, )?\1\.shape\)$")


def write_over(lines: list[str], axes: Mapping[str, int], roots: Mapping[str, frozenset[str]]) -> list[str]:
    """The lines of a function, its head first, with adjoints in the memory of their arrays.

    `axes` are those of arrays of float64 in it, `roots` the memory that arrays may be.
    """
    made = {k: match[1] for k, line in enumerate(lines) if (match := _MADE.match(line))}
    heads = [line.lstrip() for line in lines]
    made = {k: name for k, name in made.items() if any(line.startswith(f"{name} = ") for line in heads[:k])}
    if not made:
        return lines
    (function,) = ast.parse("\n".join(lines)).body
    assert isinstance(function, ast.FunctionDef)
    arrays = FirstWrites(function)
    named = {x.id for x in ast.walk(function) if isinstance(x, ast.Name)}
    found = list(lines)
    for k, name in made.items():
        memory = roots.get(name, frozenset())
        if not memory or name.endswith(BAR) or any(memory & roots.get(x, frozenset()) for x in named - {name}):
            continue
        if _may_be_written(arrays, name, k + 1, axes.get(name, 0)):
            found[k] = f"    {name}{BAR} = {name}"
    return found


def _may_be_written(arrays: FirstWrites, name: str, line: int, axes: int) -> bool:
    """Whether an adjoint that is made at a line may have the memory of its array, which has so many axes."""
    bar = name + BAR
    loop = next((s for s in arrays.bodies[line] if s.lineno > line and names_it(s, bar)), None)
    if len(arrays.assigned[bar]) != 1 or not isinstance(loop, ast.For) or not _is_made(arrays, name, bar):
        return False
    before = [s for s in arrays.body if s.lineno < loop.lineno]
    behind = [s for s in arrays.body if s.lineno > loop.lineno]
    if _list_uses(behind, name) or not all(_is_element(x, axes) for x in _list_uses(before, name)):
        return False
    return _is_read_before(loop, name, bar, axes)


def _is_made(arrays: FirstWrites, name: str, bar: str) -> bool:
    """Whether the function makes an array, once, which it may hand out if it may do so with the adjoint."""
    made = [s for s in arrays.assigned.get(name, ()) if isinstance(s, ast.Assign)]
    if name in arrays.given or len(arrays.assigned.get(name, ())) != 1 or not made or made[0] not in arrays.body:
        return False
    value = made[0].value
    if len(made[0].targets) != 1 or not isinstance(made[0].targets[0], ast.Name):
        return False
    if isinstance(value, ast.BinOp):
        return isinstance(value.op, ast.MatMult)
    if not isinstance(value, ast.Call) or ast.unparse(value.func) not in MAKERS or value.keywords:
        return False
    is_lent = ast.unparse(value.func).startswith("lent_")
    (adjoint,) = arrays.assigned[bar]
    assert isinstance(adjoint, ast.Assign)
    return len(value.args) == 1 + is_lent and (not is_lent or ast.unparse(adjoint.value).startswith("lent_"))


def _list_uses(nodes: Iterable[ast.AST], name: str) -> list[ast.Subscript | ast.Name]:
    """Where an array is named, but for its lengths and where it is made: a subscript of it, or the name alone."""
    found: list[ast.Subscript | ast.Name] = []
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Attribute) and node.attr == "shape" and isinstance(node.value, ast.Name):
            continue
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            waiting.append(node.value)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
            found.append(node)
            waiting.append(node.slice)
        elif isinstance(node, ast.Name) and node.id == name:
            found.append(node)
        else:
            waiting += ast.iter_child_nodes(node)
    return found


def _is_element(node: ast.expr, axes: int) -> bool:
    """Whether a node is an element of an array with so many axes, and no part of it."""
    if not isinstance(node, ast.Subscript) or len(indices_of(node)) != axes:
        return False
    return not any(isinstance(x, ast.Slice) or ast.unparse(x) in ("None", "...") for x in indices_of(node))


def _is_read_before(loop: ast.For, name: str, bar: str, axes: int) -> bool:
    """Whether a nest reads no element of an array that it has written over, and writes over none that it reads."""
    nest, write = _find_write(loop, bar)
    if write is None or len(indices_of(write)) != axes:
        return False
    indices = [ast.unparse(x) for x in indices_of(write)]
    for depth, (around, s) in enumerate(zip(nest, [*nest[1:], None], strict=True), 1):
        if not _counts(around):
            return False
        known = _find_places(nest[:depth], indices)
        at = next(k for k, x in enumerate(around.body) if names_it(x, bar))
        first: list[ast.AST] = [*around.body[:at], around.body[at] if s is None else s.iter]
        reads, writes = _list_uses(first, name), _list_uses(around.body[at + 1 :], bar)
        if _list_uses(around.body[at + 1 :], name) or any(not isinstance(x.ctx, ast.Load) for x in reads):
            return False
        if not all(_is_at(x, indices, known) for x in [*reads, *writes]):
            return False
    return _find_places(nest, indices) is not None


def _find_write(loop: ast.For, bar: str) -> tuple[list[ast.For], ast.Subscript | None]:
    """The loops around the first statement of a loop that names an adjoint, and the element that it writes."""
    nest = [loop]
    while isinstance(s := next(s for s in nest[-1].body if names_it(s, bar)), ast.For):
        nest.append(s)
        if names_it(s.iter, bar):
            return nest, None
    if not isinstance(s, ast.Assign) or len(s.targets) != 1 or names_it(s.value, bar):
        return nest, None
    (target,) = s.targets
    if not isinstance(target, ast.Subscript) or ast.unparse(target.value) != bar:
        return nest, None
    return nest, target if all(isinstance(x, ast.Name) for x in indices_of(target)) else None


def _counts(loop: ast.For) -> bool:
    """Whether a loop has a number of its own for each iteration."""
    if not isinstance(loop.iter, ast.Call) or ast.unparse(loop.iter.func) != "range":
        return False
    return isinstance(loop.target, ast.Name) and loop.target.id not in names_assigned(loop.body)


def _find_places(nest: list[ast.For], indices: list[str]) -> list[int] | None:
    """Where among the indices the counters of loops are, by which iterations differ; None where they may not."""
    counters = [ast.unparse(loop.target) for loop in nest]
    for k, counter in enumerate(counters):
        if counter not in indices and (k + 1 == len(nest) or find_part(nest[k], nest[k + 1]) is None):
            return None
    return [k for k, index in enumerate(indices) if index in counters]


def _is_at(node: ast.expr, indices: list[str], known: list[int] | None) -> bool:
    """Whether a node is an element, or are elements, at these of the indices."""
    if known is None or not isinstance(node, ast.Subscript):
        return False
    given = [ast.unparse(x) for x in indices_of(node)]
    return len(given) == len(indices) and all(given[k] == indices[k] for k in known)
