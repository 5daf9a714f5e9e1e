"""Where the text of a loop touches arrays: by which name, at which indices, and whether it reads, writes or adds."""

import ast
from collections.abc import Iterable
from typing import NamedTuple

from contad.engines.source.ir.writer import BAR, CALLED
from contad.engines.source.writing.live_names import names_assigned

MAKERS = frozenset(("np.zeros", "np.empty", "np.ones", "small_zeros"))


class SerialReason(Exception):
    """Why a loop stays serial."""


class Access(NamedTuple):
    """Where an array is touched: by a name, at indices, in which way ("read", "write", "add" or "view")."""

    name: str
    indices: tuple[ast.expr, ...]
    way: str


class ViewOf(NamedTuple):
    """A name that an iteration gives to a part of an array."""

    target: str
    name: str
    indices: tuple[ast.expr, ...]

    def is_same(self, other: "ViewOf") -> bool:
        """Whether two names stand for the same part, by what is written."""
        return self.name == other.name and list(map(ast.dump, self.indices)) == list(map(ast.dump, other.indices))


class Accesses:
    """Finds where statements touch arrays."""

    def __init__(self, arrays: Iterable[str]) -> None:
        self.arrays = frozenset(arrays)
        self.found: list[Access] = []
        self.views: list[ViewOf] = []
        self.made: set[str] = set()  # arrays that iterations make
        self.unknown: set[str] = set()

    def of(self, body: list[ast.stmt]) -> "Accesses":
        """Look through statements."""
        for s in body:
            for node in ast.walk(s):
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                    if ast.unparse(node.value.func) in MAKERS:
                        self.made |= names_assigned(node.targets)
        for s in body:
            self._statement(s)
        return self

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
        elif isinstance(s, ast.Expr):
            self._expression(s.value)
        elif isinstance(s, ast.Raise):
            assert s.exc is not None
            self._expression(s.exc)
        elif not isinstance(s, (ast.Pass, ast.Break, ast.Continue)):
            raise SerialReason(f"{show(s)} may not run on several threads")

    def _name(self, target: str, value: ast.expr) -> None:
        """An array gets a name: a new one, or a part of another one."""
        if target in self.made:
            self._expression(value)
            return
        if isinstance(value, ast.Name):
            self.views.append(ViewOf(target, value.id, ()))
        elif isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
            indices = indices_of(value)
            self.views.append(ViewOf(target, value.value.id, indices))
            for index in indices:
                self._expression(index)
        else:
            raise SerialReason(f"it is not known what {target} is")

    def _target(self, target: ast.expr, way: str) -> None:
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            self._touch(target.value.id, indices_of(target), way)
        elif isinstance(target, ast.Name):
            if self._is_array(target.id):
                raise SerialReason(f"{show(target)} is a whole array")
        else:
            raise SerialReason(f"{show(target)} may not run on several threads")

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
                return
            if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
                return
            raise SerialReason(f"{show(node)} may not run on several threads")
        if isinstance(node, ast.Attribute):
            if node.attr not in ("shape", "size") and ast.unparse(node.value) not in ("math", "np"):
                raise SerialReason(f"{show(node)} may not run on several threads")
            return
        if isinstance(node, ast.Call):
            self._call(node)
            return
        if isinstance(node, ast.Name) and self._is_array(node.id):
            self.found.append(Access(node.id, (), "read"))
        for inner in ast.iter_child_nodes(node):
            self._expression(inner)

    def _call(self, node: ast.Call) -> None:
        """The adjoints of arrays are added to by a function of a callee's reverse; else arguments are read."""
        name = ast.unparse(node.func)
        for given in node.args:
            if isinstance(given, ast.Name) and self._is_array(given.id):
                adds = name.startswith(CALLED[1]) and given.id.endswith(BAR)
                self.found.append(Access(given.id, (), "add" if adds else "read"))
            else:
                self._expression(given)
        for keyword in node.keywords:
            self._expression(keyword.value)


def resolve(access: Access, views: dict[str, ViewOf]) -> Access:
    """An access by the name of a view as one to the array behind it, as far as its indices can be told."""
    while access.name in views:
        view = views[access.name]
        if any(isinstance(x, ast.Slice) and _is_whole(x) for x in view.indices):
            indices = _fill_slices(view.indices, access.indices)
        else:
            whole = all(not isinstance(x, ast.Slice) and not _is_new_axis(x) for x in view.indices)
            indices = (*view.indices, *access.indices) if whole else view.indices
        access = Access(view.name, indices, access.way)
    return access


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


def show(node: ast.AST) -> str:
    """A node as a message shows it."""
    return ast.unparse(node).splitlines()[0] if isinstance(node, (ast.expr, ast.stmt)) else type(node).__name__
