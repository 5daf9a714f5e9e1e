"""Data dependence: what the statements of a loop read and write, and which of them may run ahead of the others.

A statement may move before others if no true, anti or output dependence leads from them to it, neither in an iteration
nor from one to a later one (Allen & Kennedy 2001, chapter 2). Memory is told apart by the roots of arrays alone.
"""

import ast
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from contad.engines.source.ir.syntax import called
from contad.engines.source.writing.live_names import names_in, nodes_in
from contad.native.elementary.elementary_table import BY_CALL

_PURE = {"abs", "bool", "chain", "chain_slope", "float", "int", "len", "max", "min", "range", "select"}
_PURE_MODULES = ("math", "np")
_MAKES = {"np.empty", "np.zeros", "np.ones", "np.full", "small_zeros"}  # arrays, which are made where they were
WORK = "work"  # the name of the workspace
_ALLOWED = {"grow", "integer", "put_integer"}  # in what is left: they touch nothing but the workspace
RAISED = "ZeroDivisionError"  # where no memory is at stake, so that earlier parts may run for later iterations


class LoopBody:
    """What the statements of a loop read and write."""

    def __init__(self, loop: ast.For, floats: set[str], roots: dict[str, frozenset[str]], constant: set[str]) -> None:
        """Of a loop: its numbers of float64, what memory arrays may be, and what of that is never written."""
        assert isinstance(loop.target, ast.Name)
        self.statements, self.index, self.floats = loop.body, loop.target.id, floats
        self.roots, self.constant = roots, constant
        self.movable: dict[int, bool] = {}  # of statements by their number
        self.writers: dict[str, list[int]] = {}
        for k, statement in enumerate(loop.body):
            for name in names_written(statement):
                self.writers.setdefault(name, []).append(k)
        self.nodes = nodes = [x for s in loop.body for x in nodes_in(s)]
        self.stores = set(self._list_stored())
        written: list[ast.expr] = [x for x in nodes if isinstance(x, ast.Subscript) and isinstance(x.ctx, ast.Store)]
        written += [x.target for x in nodes if isinstance(x, ast.AugAssign)]
        self.stored = {name for x in written if (name := _base(x)) in roots}  # the arrays by which that is done
        whole = [loop, *nodes, *(x for s in loop.orelse for x in nodes_in(s))]  # all statements
        self.raises = any(isinstance(x, ast.Raise) for x in whole)
        counted = {x.target.id for x in whole if isinstance(x, ast.For) and isinstance(x.target, ast.Name)}
        assignments = [x for x in whole if isinstance(x, (ast.Assign, ast.AugAssign))]
        others = {name for x in assignments for name in names_written(x)}
        self.counters = counted - others

    def _list_stored(self) -> Iterator[str]:
        """The memory that the statements write; "" where it is not known."""
        for node in self.nodes:
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                yield from self.roots.get(_base(node), ("",))
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                yield from self.roots.get(node.target.id, ())
            elif called(node) in _ALLOWED:
                yield WORK

    @functools.cached_property
    def reads(self) -> list[set[str]]:
        """The names that each of the statements reads as they were before it."""
        return [*map(read_in, self.statements)]

    @functools.cached_property
    def readers(self) -> dict[str, int]:
        """The first statements that read names as they were before these."""
        found: dict[str, int] = {}
        for k, names in enumerate(self.reads):
            for name in names:
                found.setdefault(name, k)
        return found

    @property
    def runs_to_its_end(self) -> bool:
        """Whether iterations neither leave the loop nor call what may, but for divisions by zero."""
        for node in self.nodes:
            if isinstance(node, (ast.Return, ast.Break, ast.Continue, ast.Lambda)):
                return False
            if isinstance(node, ast.Raise):
                if called(node.exc) != RAISED:
                    return False
            elif isinstance(node, ast.Call) and called(node) != RAISED:
                function = called(node)
                if not (is_pure(function) or function in _MAKES or function in _ALLOWED):
                    return False
        return self.index not in self.writers

    def is_still(self, array: str) -> bool:
        """Whether nothing in the loop writes where an array lies."""
        roots = self.roots.get(array)
        return roots is not None and (roots <= self.constant or ("" not in self.stores and not roots & self.stores))

    def is_movable(self, node: ast.AST) -> bool:
        """Whether a statement or an expression may run ahead: it writes names alone, and has no function in it."""
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
        if not all(map(self.is_movable, ast.iter_child_nodes(node))):
            return False
        if isinstance(node, ast.Name):
            return node.id not in self.roots or isinstance(node.ctx, ast.Store) or self.is_still(node.id)
        if isinstance(node, ast.Subscript):
            if self.raises and (names_of(node.slice) & self.writers.keys()) - self.counters:
                return False  # an index that a test may have to come before
            return self.is_still(_base(node))
        if isinstance(node, ast.Call):
            return is_pure(called(node)) and not is_function(node)
        return not isinstance(node, (ast.FloorDiv, ast.Mod))  # of integers by 0, where a test comes before

    def closure(self, names: set[str]) -> set[int] | None:
        """The statements that make names, and all that these read; None where some may not run ahead."""
        found: set[int] = set()
        waiting = [name for name in names if name in self.writers]
        while waiting:
            for k in self.writers[waiting.pop()]:
                if k not in found:
                    if k not in self.movable:
                        self.movable[k] = self.is_movable(self.statements[k])
                    if not self.movable[k]:
                        return None
                    found.add(k)
                    waiting += self.reads[k] & self.writers.keys()
        return found


class Taking(ast.NodeTransformer):
    """Replaces calls of functions in a tree, innermost first, by what `take` gives for them: None where a call stays.

    What may not be computed stays, too, unless calls are replaced `everywhere`.
    """

    def __init__(self, take: Callable[[ast.Call], ast.expr | None], everywhere: bool = False) -> None:
        self.take, self.everywhere, self.taken = take, everywhere, False

    def visit(self, node: ast.AST) -> Any:
        """A node, or what stands for it."""
        if isinstance(node, (ast.IfExp, ast.BoolOp)) and not self.everywhere:
            return node
        self.generic_visit(node)
        found = self.take(node) if isinstance(node, ast.Call) and is_function(node) else None
        self.taken |= found is not None
        return found or node


def names_of(node: ast.AST) -> set[str]:
    """The names in a statement or an expression."""
    return {x.id for x in names_in(node)}


def names_written(statement: ast.AST) -> set[str]:
    """The names that a statement assigns."""
    return {x.id for x in names_in(statement) if isinstance(x.ctx, ast.Store)}


def read_in(statement: ast.AST) -> set[str]:
    """The names that a statement reads as they were before it."""
    found: set[str] = set()
    _read(statement, set(), found)
    return found


def read_first(statements: Iterable[ast.stmt]) -> set[str]:
    """The names that statements read as they were before all of them."""
    made: set[str] = set()
    found: set[str] = set()
    for statement in statements:
        _read(statement, made, found)
    return found


def _read(node: ast.AST, made: set[str], found: set[str]) -> None:
    """Add to `found` what a node reads beside what was `made` in it before; add to that what it surely makes."""
    if isinstance(node, ast.For):
        _read(node.iter, made, found)
        inside = made | names_written(node.target)
        for statement in node.body:
            _read(statement, inside, found)
    elif isinstance(node, (ast.If, ast.While)):
        _read(node.test, made, found)
        ways = [set(made), set(made)]
        for way, block in zip(ways, (node.body, node.orelse), strict=True):
            for statement in block:
                _read(statement, way, found)
        if isinstance(node, ast.If):
            made |= ways[0] & ways[1]
    else:
        names = names_in(node)
        found |= {x.id for x in names if isinstance(x.ctx, ast.Load)} - made
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found |= {node.target.id} - made
        made |= {x.id for x in names if isinstance(x.ctx, ast.Store)}


def _base(node: ast.expr) -> str:
    """The name of the array that an element is of, or that stands alone."""
    value = node.value if isinstance(node, ast.Subscript) else node
    while isinstance(value, (ast.Subscript, ast.Attribute)):
        value = value.value
    return value.id if isinstance(value, ast.Name) else ""


def is_pure(function: str) -> bool:
    """Whether a call of this name computes something and does nothing else."""
    module, _, name = function.rpartition(".")
    if function in _MAKES or name == "copy":
        return False
    is_rule = not module and function.startswith("value_") and not function.startswith("value_of_")
    return function in _PURE or module in _PURE_MODULES or is_rule


def is_function(node: ast.AST) -> bool:
    """Whether a node calls a function that has a kernel."""
    return called(node) in BY_CALL
