"""Dependence analysis: over what a loop runs, where statements touch arrays, and whether iterations meet there.

    for i in range(1, n):              bounds_of: 1, n, 1
        row = a[i]                     accesses: row is a[i] (a view), a[i, j] is read through it,
        b[i - 1] += row[j]             b[i - 1] is added to: iterations have elements of their own in b

Ref: Allen & Kennedy (2001), chapters 2 and 3.
"""

import ast
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from contad.engines.source.ir.printing import show
from contad.engines.source.ir.runtime_names import CALLEES
from contad.engines.source.ir.syntax import called, clone, dotted, is_number, same
from contad.engines.source.ir.writer import BAR
from contad.engines.source.passes.liveness import names_assigned

MAKERS = frozenset(("np.zeros", "np.empty", "np.ones", "small_zeros"))


# ---- loops -----------------------------------------------------------------------------------------------------------
class Bounds(NamedTuple):
    """The range that a loop runs over."""

    start: ast.expr
    stop: ast.expr
    step: int  # 0 where it is not known

    @property
    def span(self) -> ast.expr:
        """How far it is from the start to the stop, upwards or downwards: the number of iterations, or less than 0."""
        near, far = (self.stop, self.start) if self.step == -1 else (self.start, self.stop)
        return clone(far) if is_number(near, 0) else ast.BinOp(clone(far), ast.Sub(), clone(near))


def bounds_of(loop: ast.stmt) -> Bounds | None:
    """What a loop runs over, also where threads may share it; None where that is no range, or no loop over one name."""
    over = loop.iter if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) else None
    if called(over) == "prange":
        over = over.args[1]  # type: ignore[union-attr]  # behind the number of the loop
    if not isinstance(over, ast.Call) or called(over) != "range":
        return None
    if len(over.args) == 1:
        return Bounds(ast.Constant(0), over.args[0], 1)
    return Bounds(over.args[0], over.args[1], integer_of(over.args[2]) or 0 if len(over.args) == 3 else 1)


def integer_of(node: ast.expr) -> int | None:
    """The integer that an expression of constants is; None of another one."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = integer_of(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        x, y = integer_of(node.left), integer_of(node.right)
        if x is None or y is None:
            return None
        return x + y if isinstance(node.op, ast.Add) else x - y
    return None


# ---- elements --------------------------------------------------------------------------------------------------------
def indices_of(node: ast.Subscript) -> tuple[ast.expr, ...]:
    """The indices of a subscript, one for each axis that it names."""
    return tuple(node.slice.elts) if isinstance(node.slice, ast.Tuple) else (node.slice,)


def offset_of(node: ast.expr, index: str) -> int | None:
    """The number c of an index `index + c`; None of another one."""
    if isinstance(node, ast.Name) and node.id == index:
        return 0
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        sign = 1 if isinstance(node.op, ast.Add) else -1
        if isinstance(node.left, ast.Name) and node.left.id == index and isinstance(node.right, ast.Constant):
            return sign * node.right.value if type(node.right.value) is int else None
    return None


class UnknownAccess(Exception):
    """Why it cannot be told what statements touch."""


class Access(NamedTuple):
    """Where an array is touched: by a name, at indices, in which way ("read", "write" or "add")."""

    name: str
    indices: tuple[ast.expr, ...]
    way: str


class ViewOf(NamedTuple):
    """The part of an array that an iteration gives another name."""

    name: str
    indices: tuple[ast.expr, ...]


class Accesses:
    """Where statements touch arrays."""

    def __init__(self, body: Sequence[ast.stmt], arrays: Iterable[str]) -> None:
        """Look through statements; UnknownAccess where it cannot be told."""
        self.arrays = frozenset(arrays)
        self.found: list[Access] = []
        self.views: dict[str, ViewOf] = {}
        self.unknown: set[str] = set()
        makes = [x for s in body for x in ast.walk(s) if isinstance(x, ast.Assign) and called(x.value) in MAKERS]
        self.made = {name for x in makes for name in names_assigned(x.targets)}  # arrays that the statements make
        for s in body:
            self._statement(s)

    def _is_array(self, name: str) -> bool:
        return name in self.arrays or name in self.made

    def _statement(self, s: ast.stmt) -> None:
        """Where a statement touches arrays."""
        if isinstance(s, (ast.For, ast.While, ast.If)):
            self._expression(s.iter if isinstance(s, ast.For) else s.test)
            for inner in [*s.body, *s.orelse]:
                self._statement(inner)
        elif isinstance(s, ast.AugAssign):
            self._target(s.target, "add" if isinstance(s.op, (ast.Add, ast.Sub)) else "write")
            self._expression(s.value)
        elif isinstance(s, ast.Assign):
            (target,) = s.targets
            if isinstance(target, ast.Name) and self._is_array(target.id):
                self._name(target.id, s.value)
                return
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                self._target(part, "write")
            self._expression(s.value)
        elif isinstance(s, (ast.Expr, ast.Raise)):
            self._expression(s.value if isinstance(s, ast.Expr) else s.exc)  # type: ignore[arg-type]
        elif not isinstance(s, (ast.Pass, ast.Break, ast.Continue)):
            raise UnknownAccess(f"{show(s)} may not run on several threads")

    def _name(self, target: str, value: ast.expr) -> None:
        """An array gets a name: a new one, or a part of another one."""
        if target in self.made:
            self._expression(value)
            return
        array, indices = (value.value, indices_of(value)) if isinstance(value, ast.Subscript) else (value, ())
        if not isinstance(array, ast.Name):
            raise UnknownAccess(f"it is not known what {target} is")
        for index in indices:
            self._expression(index)
        view = self.views.setdefault(target, ViewOf(array.id, indices))
        if view.name != array.id or not same([*view.indices], [*indices]):
            raise UnknownAccess(f"{target} is several parts of arrays")

    def _target(self, target: ast.expr, way: str) -> None:
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            self._touch(target.value.id, indices_of(target), way)
        elif not isinstance(target, ast.Name):
            raise UnknownAccess(f"{show(target)} may not run on several threads")
        elif self._is_array(target.id):
            raise UnknownAccess(f"{target.id} is a whole array")

    def _touch(self, name: str, indices: tuple[ast.expr, ...], way: str) -> None:
        if not self._is_array(name):
            self.unknown.add(name)
        self.found.append(Access(name, indices, way))
        for index in indices:
            self._expression(index)

    def _expression(self, node: ast.AST) -> None:
        """Where an expression reads arrays."""
        if isinstance(node, ast.Subscript):
            if isinstance(node.value, ast.Name):
                self._touch(node.value.id, indices_of(node), "read")
            elif not (isinstance(node.value, ast.Attribute) and node.value.attr == "shape"):
                raise UnknownAccess(f"{show(node)} may not run on several threads")
        elif isinstance(node, ast.Attribute):
            if not is_plain(node):
                raise UnknownAccess(f"{show(node)} may not run on several threads")
        elif isinstance(node, ast.Call):
            self._call(node)
        else:
            if isinstance(node, ast.Name) and self._is_array(node.id):
                self.found.append(Access(node.id, (), "read"))
            for inner in ast.iter_child_nodes(node):
                self._expression(inner)

    def _call(self, node: ast.Call) -> None:
        """The adjoints of arrays are added to by a function of a callee's reverse; else arguments are read."""
        for given in node.args:
            if isinstance(given, ast.Name) and self._is_array(given.id):
                adds = called(node).startswith(CALLEES[1]) and given.id.endswith(BAR)
                self.found.append(Access(given.id, (), "add" if adds else "read"))
            else:
                self._expression(given)
        for keyword in node.keywords:
            self._expression(keyword.value)

    def resolve(self, access: Access) -> Access:
        """An access by the name of a view as one to the array behind it, as far as its indices can be told."""
        while access.name in self.views:
            view = self.views[access.name]
            if any(isinstance(x, ast.Slice) and _is_whole(x) for x in view.indices):
                indices = _fill_slices(view.indices, access.indices)
            else:
                whole = all(not isinstance(x, ast.Slice) and not _is_new_axis(x) for x in view.indices)
                indices = (*view.indices, *access.indices) if whole else view.indices
            access = Access(view.name, indices, access.way)
        return access


def find_own(accesses: Sequence[Access], index: str) -> int | None:
    """The number c where each iteration has elements of its own: in one place all accesses have the index, plus c."""
    for indices in zip(*(x.indices for x in accesses), strict=False):
        offsets = {offset_of(x, index) for x in indices}
        if len(offsets) == 1 and (offset := offsets.pop()) is not None:
            return offset
    return None


def is_plain(node: ast.Attribute) -> bool:
    """Whether an attribute is that of a module, or tells how long an array is."""
    return node.attr in ("shape", "size") or dotted(node.value) in ("math", "np")


def _fill_slices(taken: tuple[ast.expr, ...], given: tuple[ast.expr, ...]) -> tuple[ast.expr, ...]:
    """The indices of x[taken][given] in x, where whole axes are taken or one element of them."""
    if any(_is_new_axis(x) or (isinstance(x, ast.Slice) and not _is_whole(x)) for x in taken):
        return taken
    rest = list(given)
    found = [rest.pop(0) if isinstance(index, ast.Slice) and rest else index for index in taken]
    return (*found, *rest)


def _is_whole(index: ast.Slice) -> bool:
    return index.lower is None and index.upper is None and index.step is None


def _is_new_axis(index: ast.expr) -> bool:
    return isinstance(index, ast.Constant) and index.value is None
