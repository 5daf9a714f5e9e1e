"""Dependence analysis: the ranges of loops, the reads and writes of statements, and which statements may be reordered.

    for i in range(1, n):              bounds_of: 1, n, 1
        row = a[i]                     Accesses: row is a[i] (a view), a[i, j] is read through it,
        b[i - 1] += row[j]             b[i - 1] is added to: iterations have elements of their own in b
        t = math.sin(c[i])             LoopStatements: this may run ahead of the writes to b

A statement may move before others if its calls have no side effects, and if there is no true, anti or output dependence
between them, neither in an iteration nor loop-carried. If indices do not decide, the roots of arrays tell whether two
arrays may alias.

Ref: Allen & Kennedy (2001), chapters 2 and 3.
"""

import ast
import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from contad.compiled_rules.rules import needs_no_python
from contad.elementary.elementary_table import BY_CALL
from contad.engines.source.ir.printing import show
from contad.engines.source.ir.runtime_functions import CALLEES
from contad.engines.source.ir.syntax import Part, clone, difference, number, part
from contad.engines.source.ir.tree_queries import (
    CONVERSIONS,
    called_name,
    dotted_name,
    head_of,
    integer_of,
    is_name,
    is_number,
    names_in,
    names_of,
    nodes_in,
    same,
)
from contad.engines.source.ir.writer import BAR, WORK, NameTable
from contad.engines.source.passes.liveness import Names, exposed_names, names_assigned
from contad.rules.scalar_rule import ScalarRule

LEAVES = (ast.Break, ast.Continue, ast.Return)  # statements that end an iteration early


def is_function(node: ast.AST) -> bool:
    """Whether a node calls a function that has a kernel."""
    return called_name(node) in BY_CALL


# ---- loops -----------------------------------------------------------------------------------------------------------
class Bounds(NamedTuple):
    """The range that a loop runs over."""

    start: ast.expr
    stop: ast.expr
    step: int  # 0 if unknown

    @property
    def down(self) -> bool:
        """Whether the loop counts down."""
        return self.step == -1

    @property
    def span(self) -> ast.expr:
        """The number of iterations if the step is 1 or -1; a negative number means none."""
        return self.count_from(self.start)

    def count_from(self, first: Part) -> ast.expr:
        """The number of iterations from `first` on."""
        near, far = clone(part(first)), clone(self.stop)
        return difference(near, far) if self.down else difference(far, near)

    @property
    def upwards(self) -> "Bounds | None":
        """The same indices as a range that counts up by one; None if unknown."""
        if self.step == 1:
            return self
        last, before = self.start, integer_of(self.stop)
        is_last = isinstance(last, ast.BinOp) and isinstance(last.op, ast.Sub) and is_number(last.right, 1)
        known = self.down and is_last and before is not None
        return Bounds(number(before + 1), last.left, 1) if known else None  # type: ignore[operator, attr-defined]

    @property
    def number(self) -> int | None:
        """`span` as a constant; None if unknown."""
        start, stop = integer_of(self.start), integer_of(self.stop)
        return None if start is None or stop is None else start - stop if self.down else stop - start

    @property
    def counts_from_number(self) -> bool:
        """Whether all indices are known not to be negative."""
        return integer_of(self.start) is not None and (integer_of(self.start) or 0) >= 0


def bounds_of(loop: ast.stmt) -> Bounds | None:
    """The range of a loop, including a prange; None if it is not a loop of one name over a range."""
    over = loop.iter if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) else None
    if called_name(over) == "prange":
        over = over.args[1]  # type: ignore[union-attr]  # behind the number of the loop
    if not isinstance(over, ast.Call) or called_name(over) != "range":
        return None
    if len(over.args) == 1:
        return Bounds(ast.Constant(0), over.args[0], 1)
    return Bounds(over.args[0], over.args[1], integer_of(over.args[2]) or 0 if len(over.args) == 3 else 1)


# ---- elements --------------------------------------------------------------------------------------------------------
def indices_of(node: ast.Subscript) -> tuple[ast.expr, ...]:
    """The indices of a subscript, one for each axis that it names."""
    return tuple(node.slice.elts) if isinstance(node.slice, ast.Tuple) else (node.slice,)


def offset_of(node: ast.expr, index: str) -> int | None:
    """The c of an expression `index + c`; None for other expressions."""
    if isinstance(node, ast.Name) and node.id == index:
        return 0
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        sign = 1 if isinstance(node.op, ast.Add) else -1
        if isinstance(node.left, ast.Name) and node.left.id == index and isinstance(node.right, ast.Constant):
            return sign * node.right.value if type(node.right.value) is int else None
    return None


def base_of(node: ast.expr) -> str:
    """The name of the array in an expression: of an element, or a plain name."""
    value = node.value if isinstance(node, ast.Subscript) else node
    while isinstance(value, (ast.Subscript, ast.Attribute)):
        value = value.value
    return value.id if isinstance(value, ast.Name) else ""


def added_to(s: ast.AST) -> str:
    """The array to an element of which a statement adds or subtracts a number; empty for other statements."""
    if not isinstance(s, ast.AugAssign) or not isinstance(s.op, (ast.Add, ast.Sub)):
        return ""
    element = s.target
    return element.value.id if isinstance(element, ast.Subscript) and isinstance(element.value, ast.Name) else ""


def touches_only(s: ast.AST, array: str, indices: list[str]) -> bool:
    """Whether a statement names an array only in its element at these indices."""
    elements = [x for x in nodes_in(s) if isinstance(x, ast.Subscript) and is_name(x.value, array)]
    there = [x for x in elements if [getattr(i, "id", "") for i in indices_of(x)] == indices]
    return len(there) == sum(x.id == array for x in names_in(s))


class UnknownAccess(Exception):
    """Raised if the accesses of statements are unknown; tells why."""


class Access(NamedTuple):
    """An access to an array: a name, indices, and a way ("read", "write" or "add")."""

    name: str
    indices: tuple[ast.expr, ...]
    way: str


class ViewOf(NamedTuple):
    """A view of an array that an iteration gives a name."""

    name: str
    indices: tuple[ast.expr, ...]


class Accesses:
    """The array accesses of statements."""

    def __init__(self, body: Sequence[ast.stmt], arrays: Iterable[str]) -> None:
        """Analyse statements; UnknownAccess if their accesses are unknown."""
        self.arrays = frozenset(arrays)
        self.found: list[Access] = []
        self.views: dict[str, ViewOf] = {}
        self.unknown: set[str] = set()
        makes = [x for s in body for x in nodes_in(s) if isinstance(x, ast.Assign) and called_name(x.value) in MAKERS]
        self.made = {name for x in makes for name in names_assigned(x.targets)}  # arrays that the statements create
        for s in body:
            self._statement(s)

    def _is_array(self, name: str) -> bool:
        return name in self.arrays or name in self.made

    def _statement(self, s: ast.stmt) -> None:
        """Note the array accesses of a statement."""
        if isinstance(s, (ast.For, ast.While, ast.If)):
            self._expression(head_of(s))
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
        """Note the name of an array: a new one, or a view."""
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
        """Note the arrays that an expression reads."""
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
        """Note the accesses of a call: the reverse of a callee adds to adjoints, other calls read their arguments."""
        for given in node.args:
            if isinstance(given, ast.Name) and self._is_array(given.id):
                adds = called_name(node).startswith(CALLEES[1]) and given.id.endswith(BAR)
                self.found.append(Access(given.id, (), "add" if adds else "read"))
            else:
                self._expression(given)
        for keyword in node.keywords:
            self._expression(keyword.value)

    def resolve(self, access: Access) -> Access:
        """An access through a view as an access to its array, as far as the indices are known."""
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
    """The c if each iteration accesses its own elements: all accesses have index + c along the same axis."""
    for indices in zip(*(x.indices for x in accesses), strict=False):
        offsets = {offset_of(x, index) for x in indices}
        if len(offsets) == 1 and (offset := offsets.pop()) is not None:
            return offset
    return None


def is_plain(node: ast.Attribute) -> bool:
    """Whether an attribute belongs to a module, or is the shape of an array."""
    return node.attr in ("shape", "size") or dotted_name(node.value) in ("math", "np")


def _fill_slices(taken: tuple[ast.expr, ...], given: tuple[ast.expr, ...]) -> tuple[ast.expr, ...]:
    """The indices of x[taken][given] in x; along each axis, `taken` is one index or the whole axis."""
    if any(_is_new_axis(x) or (isinstance(x, ast.Slice) and not _is_whole(x)) for x in taken):
        return taken
    rest = list(given)
    found = [rest.pop(0) if isinstance(index, ast.Slice) and rest else index for index in taken]
    return (*found, *rest)


def _is_whole(index: ast.Slice) -> bool:
    return index.lower is None and index.upper is None and index.step is None


def _is_new_axis(index: ast.expr) -> bool:
    return isinstance(index, ast.Constant) and index.value is None


# ---- statements of loops ---------------------------------------------------------------------------------------------
class LoopStatements:
    """The reads and writes of the statements of a loop."""

    def __init__(self, loop: ast.For, names: NameTable) -> None:
        """Analyse a loop."""
        assert isinstance(loop.target, ast.Name)
        self.statements, self.index, self.floats = loop.body, loop.target.id, names.floats
        self.roots, self.constant = names.roots, names.constant
        self.movable: dict[ast.AST, bool] = {}
        self.writers: dict[str, list[int]] = {}
        for k, statement in enumerate(loop.body):
            for name in names_assigned([statement]):
                self.writers.setdefault(name, []).append(k)
        self.nodes = nodes = [x for s in loop.body for x in nodes_in(s)]
        self.stores = set(self._list_stored())
        written: list[ast.expr] = [x for x in nodes if isinstance(x, ast.Subscript) and isinstance(x.ctx, ast.Store)]
        written += [x.target for x in nodes if isinstance(x, ast.AugAssign)]
        self.stored = {name for x in written if (name := base_of(x)) in names.roots}  # the names of written arrays
        whole = [loop, *nodes, *(x for s in loop.orelse for x in nodes_in(s))]  # all statements
        self.raises = any(isinstance(x, ast.Raise) for x in whole)
        counted = {x.target.id for x in whole if isinstance(x, ast.For) and isinstance(x.target, ast.Name)}
        assignments = [x for x in whole if isinstance(x, (ast.Assign, ast.AugAssign))]
        others = names_assigned(assignments)
        self.counters = counted - others

    def _list_stored(self) -> Iterator[str]:
        """The memory that the statements write; "" if unknown."""
        for node in self.nodes:
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                yield from self.roots.get(base_of(node), ("",))
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                yield from self.roots.get(node.target.id, ())
            elif called_name(node) in ON_WORK:
                yield WORK

    @functools.cached_property
    def reads(self) -> list[Names]:
        """The names that each statement reads before it assigns them."""
        return [exposed_names([s]) for s in self.statements]

    @functools.cached_property
    def readers(self) -> dict[str, int]:
        """Maps names to the first statement that reads them before it assigns them."""
        found: dict[str, int] = {}
        for k, names in enumerate(self.reads):
            for name in names:
                found.setdefault(name, k)
        return found

    @property
    def runs_to_its_end(self) -> bool:
        """Whether no iteration leaves the loop or calls a function that may raise, other than by a division by zero."""
        for node in self.nodes:
            if isinstance(node, (ast.Return, ast.Break, ast.Continue, ast.Lambda)):
                return False
            if isinstance(node, ast.Raise):
                if called_name(node.exc) != RAISED:
                    return False
            elif isinstance(node, ast.Call) and called_name(node) != RAISED:
                function = called_name(node)
                if not (is_pure(function) or function in MAKERS or function in ON_WORK):
                    return False
        return self.index not in self.writers

    def is_still(self, array: str) -> bool:
        """Whether nothing in the loop writes the memory of an array."""
        roots = self.roots.get(array)
        return roots is not None and (roots <= self.constant or ("" not in self.stores and not roots & self.stores))

    def is_movable(self, node: ast.AST) -> bool:
        """Whether a statement or expression may run ahead: it only writes names, and calls no kernel function."""
        if node not in self.movable:
            self.movable[node] = all(map(self._may_move, nodes_in(node)))
        return self.movable[node]

    def _may_move(self, node: ast.AST) -> bool:
        """Whether the statement that contains a node may run ahead despite it."""
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if not (len(targets) == 1 and isinstance(targets[0], ast.Name)):
                return False
            if isinstance(node, ast.AugAssign) and targets[0].id in self.roots:
                return False
        elif isinstance(node, ast.For):
            if node.orelse or not isinstance(node.target, ast.Name):
                return False
        elif isinstance(node, ast.stmt) and not isinstance(node, (ast.If, ast.Pass)):
            return False
        if isinstance(node, ast.Name):
            return node.id not in self.roots or isinstance(node.ctx, ast.Store) or self.is_still(node.id)
        if isinstance(node, ast.Subscript):
            if self.raises and (names_of(node.slice) & self.writers.keys()) - self.counters:
                return False  # a test may guard the index
            return self.is_still(base_of(node))
        if isinstance(node, ast.Call):
            return is_pure(called_name(node)) and not is_function(node)
        # a test guards integer division by 0
        return not isinstance(getattr(node, "op", None), (ast.FloorDiv, ast.Mod))

    def closure(self, names: Collection[str]) -> set[int] | None:
        """The statements that compute names, and those that these need; None if some may not run ahead."""
        found: set[int] = set()
        waiting = [name for name in names if name in self.writers]
        while waiting:
            for k in self.writers[waiting.pop()]:
                if k not in found:
                    if not self.is_movable(self.statements[k]):
                        return None
                    found.add(k)
                    waiting += self.reads[k] & self.writers.keys()
        return found


# ---- side effects of calls -------------------------------------------------------------------------------------------
# math.log(x)          pure: may be moved, repeated, and dropped if nothing reads it
# value_of_user(x)     the value of a user's rule: pure, but it must run where the user wrote it
# np.zeros((n,))       creates an array, which must not move because other statements may write it
# grow(work, n)        only accesses the workspace
# forward_of_g(x)      may do anything
MAKERS = frozenset((
    "np.zeros", "np.empty", "np.ones", "np.full", "small_zeros", "brief_empty", "brief_zeros", "lent_empty",
    "lent_zeros",
))  # fmt: skip
ON_WORK = frozenset(("grow", "integer", "put_integer"))
RAISED = "ZeroDivisionError"  # cannot corrupt memory, so earlier parts may run for later iterations
_PURE = frozenset(
    ("abs", "bool", "float", "int", "len", "masked_product", "masked_slope", "max", "min", "range", "select")
)
_QUIET = _PURE | {
    *("integer", "put_integer", "small_zeros", "np.zeros", "np.empty", "np.ones", "np.int64", *CONVERSIONS),
    *("np.isfinite", "np.power", "np.sign", "np.minimum", "np.maximum", "np.arctan", "np.arctan2"),  # on numbers
}  # fmt: skip
_VALUE = "value_"  # the prefix of value functions of rules
_Rules = Mapping[str, ScalarRule]


def is_pure(function: str) -> bool:
    """Whether a call of this name has no side effects."""
    module, _, name = function.rpartition(".")
    if function in MAKERS or name == "copy":
        return False
    is_rule = not module and function.startswith(_VALUE) and not function.startswith("value_of_")
    return function in _PURE or module in ("math", "np") or is_rule


def may_be_left_out(function: str, rules: _Rules) -> bool:
    """Whether a call may be dropped unnoticed: a value function of the user's may print or raise."""
    if function.startswith(_VALUE):
        rule = rules.get(function.removeprefix(_VALUE))
        return rule is not None and rule.__module__.startswith("contad.ops.")
    return is_pure(function)


def is_quiet(function: str, rules: _Rules) -> bool:
    """Whether a call runs without Python, and writes only objects that it creates."""
    rule = rules.get(function.removeprefix(_VALUE)) if function.startswith(_VALUE) else None
    if rule is not None:
        return needs_no_python(rule)
    return function.startswith("math.") or function in _QUIET or function.endswith("Error")
