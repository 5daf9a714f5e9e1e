"""Dead store elimination: drops the zeros of an adjoint that a loop overwrites, by turning its `+=` into `=`.

    x_bar = np.zeros(x.shape)              x_bar = np.empty(x.shape)
    for i in range(x_length):       ->     for i in range(x_length):
        x_bar[i] += t_bar                      x_bar[i] = t_bar

The first statement after the zeros that names the array must be a nest of loops over all its indices. In the innermost
body, that `+=` must come first, and all other accesses must be at the same indices. Zeroing a large array takes a pass
over memory. The pass also applies to arrays that each iteration of a loop creates, if the nest follows in that
iteration.

Ref: Muchnick (1997), section 18.10; Hascoet & Pascual (2013), section 4.2, on adjoints that begin with zeros.
"""

import ast
import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from contad.engines.source.ir.syntax import expression, name, splice, statement
from contad.engines.source.ir.tree_queries import (
    called_name,
    dotted_name,
    integer_of,
    is_number,
    names_of,
    note_of,
    walk_statements,
)
from contad.engines.source.passes.dependence import (
    LEAVES,
    added_to,
    bounds_of,
    indices_of,
    touches_only,
)
from contad.engines.source.passes.equal_lengths import EqualLengths
from contad.engines.source.passes.liveness import names_assigned

_NamesOf: TypeAlias = Callable[[ast.stmt], set[str]]
_EMPTY = {"np.zeros": "np.empty", "lent_zeros": "lent_empty"}


class Zeros(NamedTuple):
    """A statement that creates a zero adjoint, and its shape."""

    made: ast.Assign
    array: str
    shape: ast.expr  # a tuple, or the shape of another array

    def length(self, axis: int) -> ast.expr:
        """The length of an axis."""
        return self.shape.elts[axis] if isinstance(self.shape, ast.Tuple) else expression("s[k]", s=self.shape, k=axis)

    def leave_empty(self) -> None:
        """Create the array without zeros."""
        self.made.value.func = name(_EMPTY[called_name(self.made.value)])  # type: ignore[attr-defined]


def remove_dead_zeros(function: ast.FunctionDef) -> None:
    """Turn zeros that are overwritten into empty arrays."""
    bodies = [function.body, *(s.body for s in walk_statements(function.body) if isinstance(s, ast.For))]
    names = functools.cache(names_of)
    found = [nest for body in bodies if any(map(find_zeros, body)) for nest in _list_nests(body, names)]
    if not found:
        return
    lengths = EqualLengths(function)
    instead: dict[ast.stmt, list[ast.stmt]] = {}
    for zeros, nest in found:
        if (add := _find_add(zeros, nest, lengths, names)) is not None:
            zeros.leave_empty()
            instead[add] = [store_instead(add)]
    splice(function.body, instead)


def _list_nests(body: list[ast.stmt], names: _NamesOf) -> Iterator[tuple[Zeros, ast.For]]:
    """The zero adjoints created in a body, each with the loop after it, if that loop is the first to name the array."""
    for k, s in enumerate(body):
        if (zeros := find_zeros(s)) is not None:
            nest = next((x for x in body[k + 1 :] if zeros.array in names(x)), None)
            if isinstance(nest, ast.For):
                yield zeros, nest


def find_zeros(s: ast.stmt) -> Zeros | None:
    """The zeros that a statement creates; None for zeros of the user's, which have a note."""
    if not isinstance(s, ast.Assign) or called_name(s.value) not in _EMPTY or note_of(s):
        return None
    given, target = s.value.args, s.targets[0]  # type: ignore[attr-defined]
    *slot, shape = given[:1] if dotted_name(given[-1]) == "np.float32" else given
    is_shape = isinstance(shape, ast.Tuple) or (isinstance(shape, ast.Attribute) and shape.attr == "shape")
    known = is_shape and all(integer_of(x) is not None for x in slot)
    return Zeros(s, target.id, shape) if known and isinstance(target, ast.Name) else None


def store_instead(add: ast.AugAssign) -> ast.stmt:
    """A statement that stores the number that another one adds."""
    made: ast.stmt = statement("element = value", element=add.target, value=add.value)
    made.note = note_of(add)  # type: ignore[attr-defined]
    return made


def _find_add(zeros: Zeros, nest: ast.For, lengths: EqualLengths, names: _NamesOf) -> ast.AugAssign | None:
    """The `+=` that may be `=`."""
    array = zeros.array
    if len(lengths.assigned[array]) != 1 or any(isinstance(x, LEAVES) for x in walk_statements([nest])):
        return None
    limits: dict[str, ast.expr] = {}  # by loop index
    loop: ast.stmt = nest
    while isinstance(loop, ast.For):
        limit = _find_limit(loop)
        naming = [s for s in loop.body if array in names(s)]
        if limit is None or not naming or not isinstance(loop.target, ast.Name):
            return None
        index = loop.target.id
        if index in names_assigned(loop.body) or index in limits:
            return None
        limits[index] = limit
        loop = naming[0]
        if len(naming) > 1:
            break
    indices = _added_at(loop, array)
    if len(indices) != len(limits) or set(indices) != limits.keys():
        return None
    if any(not touches_only(s, array, indices) for s in naming):
        return None
    if isinstance(zeros.shape, ast.Tuple):
        if len(zeros.shape.elts) != len(indices):
            return None
    elif not lengths.stays(zeros.shape):
        return None
    is_whole = all(lengths.are_equal(limits[x], zeros.length(axis), nest) for axis, x in enumerate(indices))
    return loop if is_whole else None  # type: ignore[return-value]


def _find_limit(loop: ast.For) -> ast.expr | None:
    """The n of a loop over 0, ..., n - 1 in either order; None for other loops."""
    bounds = bounds_of(loop)
    up = bounds.upwards if bounds is not None else None
    return up.stop if up is not None and is_number(up.start, 0) else None


def _added_at(s: ast.stmt, array: str) -> list[str]:
    """The indices of the element to which a statement adds, if all are names."""
    if added_to(s) != array or not isinstance(s.op, ast.Add) or array in names_of(s.value):  # type: ignore[attr-defined]
        return []
    return [x.id if isinstance(x, ast.Name) else "" for x in indices_of(s.target)]  # type: ignore[attr-defined]
