"""Compaction: gathers the arguments of functions in branches of a split loop from the iterations that take them.

                                               for at in range(count):
    if y[i] > 0.0:                                 if y[i] > 0.0:
        total += math.log(x[i])                        log_of_rows[taken] = x[i]
                                   ->                  taken += 1
                                               log_rows(log_of_rows, log_value_rows, taken)
                                               taken = 0
                                               for at in range(count):
                                                   if y[i] > 0.0:
                                                       total += log_value_rows[taken]
                                                       taken += 1

So only taken branches are computed: others have no value, and no partial that could be infinite. Branches that repeat a
test in an iteration, as those of the reverse sweep do, are one branch in the first part. (If-conversion, Allen &
Kennedy 2001, chapter 7, would compute all branches. Compaction is what a vector processor does when it compresses a
vector by a mask.)
"""

import ast
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from contad.elementary.elementary_table import BY_CALL
from contad.engines.source.ir.syntax import clone, expression, statement, substitute
from contad.engines.source.ir.tree_queries import called_name, key, names_in, names_of, nodes_in, note_of
from contad.engines.source.passes.dependence import LoopStatements, is_function
from contad.engines.source.passes.liveness import exposed_names, names_assigned

Test = tuple[object, int]  # a key of a test: its expression, and its place if its result may change in an iteration
Path = tuple[tuple[Test, bool], ...]  # the tests that lead to a block, and their results there

_FEWEST = 2  # functions in a branch that are worth repeating its test


class Taking(ast.NodeTransformer):
    """Replaces calls of functions in a tree, innermost first, by the results of `take`: None keeps a call.

    Calls that are only computed conditionally stay, too.
    """

    def __init__(self, take: Callable[[ast.Call], ast.expr | None]) -> None:
        self.take, self.taken = take, False

    def visit(self, node: ast.AST) -> Any:
        """The node, or its replacement."""
        if isinstance(node, (ast.IfExp, ast.BoolOp)):
            return node
        self.generic_visit(node)
        found = self.take(node) if isinstance(node, ast.Call) and is_function(node) else None
        self.taken |= found is not None
        return found or node


class Gathered(NamedTuple):
    """A function call with an argument that branches gather."""

    function: str
    argument: str  # the name of the row of arguments
    value: str  # the name of the row of values
    counter: str  # the name of the count of gathered arguments


class GatheredCalls(NamedTuple):
    """The result of gathering the calls in the branches of a loop."""

    before: list[ast.stmt]  # branches that gather arguments
    calls: list[Gathered]
    needed: set[str]  # names that these branches need from the first part
    after: Mapping[int, ast.stmt]  # statements of the loop with values in place of calls, by index


def gather_calls(body: LoopStatements, fresh: Callable[[str], str], is_split: bool) -> GatheredCalls | None:
    """Gather the functions in branches of a loop; None if there are none, or too few for a loop that is not split."""
    return _Gathering(body, fresh).gather(is_split)


class _Atom(NamedTuple):
    """The place of a statement that writes a name."""

    order: int
    k: int  # the index of the top-level statement that contains it
    path: Path
    statement: ast.stmt


class _Block(NamedTuple):
    """A branch: the tests that lead to it, and its end."""

    branches: list[ast.If]
    end: int


class _Gathering:
    """Analyses the branches of a loop."""

    def __init__(self, body: LoopStatements, fresh: Callable[[str], str]) -> None:
        """Note the places of the statements of a loop, and the names that they write."""
        self.body, self.fresh = body, fresh
        self.order = 0
        self.atoms: dict[str, list[_Atom]] = {}  # statements by the names that they write
        self.at: dict[ast.stmt, int] = {}  # the positions of branches and of statements in them
        self.keys: dict[ast.If, Test] = {}
        self.blocks: dict[tuple[int, Path], _Block] = {}
        self.counters: dict[Path, str] = {}
        self.stores: dict[tuple[int, Path], list[ast.stmt]] = {}  # stores to append to blocks of the first part
        self.kept: set[ast.stmt] = set()  # statements of branches that arguments need
        self.needed: set[str] = set()
        self.calls: dict[tuple[Path, str, object], Gathered] = {}  # by path, function and argument
        self.arguments: dict[tuple[Path, object], str] = {}
        self.asked: dict[Path, set[int]] = {}  # the top-level statements in which a branch has calls
        for k, s in enumerate(body.statements):
            self._note(s, k, ())

    def _note(self, s: ast.stmt, k: int, path: Path, branches: Sequence[ast.If] = ()) -> None:
        """Note the names that statements write, and the blocks of branches."""
        self.order += 1
        self.at[s] = self.order
        if not isinstance(s, ast.If):
            for name in names_assigned([s]):
                self.atoms.setdefault(name, []).append(_Atom(self.order, k, path, s))
            return
        self.keys[s] = self._find_key(s)
        for holds, block in ((True, s.body), (False, s.orelse)):
            inner = (*path, (self.keys[s], holds))
            for x in block:
                self._note(x, k, inner, [*branches, s])
            self.order += 1
            self.blocks[k, inner] = _Block([*branches, s], self.order)

    def _find_key(self, branch: ast.If) -> Test:
        """A key that tests with the same result in an iteration share; a unique key if the result may change."""
        test = branch.test.operand if isinstance(branch.test, ast.UnaryOp) else branch.test
        is_one = isinstance(test, ast.Name) and len(self.atoms.get(test.id, [])) == self._count_writers(test.id) <= 1
        return key(branch.test), 0 if is_one else self.order

    def _count_writers(self, name: str) -> int:
        """How many statements of the loop write a name, at any depth."""
        return sum(
            x.id == name and isinstance(x.ctx, ast.Store) for s in self.body.statements for x in names_in(s)
        )

    # ---- finding calls -----------------------------------------------------------------------------------------------
    def gather(self, is_split: bool) -> GatheredCalls | None:
        """Find the calls, and write both parts."""
        branches = {k: s for k, s in enumerate(self.body.statements) if isinstance(s, ast.If)}
        after = {k: clone(s) for k, s in branches.items()}
        for k, s in branches.items():
            self._take_branches(after[k], s, k, ())
        if not self.calls or not (is_split or self._is_worth_it()):
            return None
        for path, numbers in self.asked.items():
            _find_block(after[max(numbers)], branches[max(numbers)], path, self.keys).append(self._count(path))
            self.stores[max(j for j, known in self.stores if known == path), path].append(self._count(path))
        made = {name: self.fresh(name) for s in self.body.statements for name in self._list_made(s)}
        before = [sliced for k, s in branches.items() for sliced in self._slice(s, k, (), made)]
        changed = {k: after[k] for numbers in self.asked.values() for k in numbers}
        return GatheredCalls(before, [*self.calls.values()], self.needed, changed)

    def _is_worth_it(self) -> bool:
        """Whether every iteration has a call, or a branch has several."""
        for s in self.body.statements:
            if isinstance(s, ast.If) and self._surely_calls([s], ()):
                return True
        paths = [path for path, *_ in self.calls]
        return any(paths.count(path) >= _FEWEST for path in paths)

    def _surely_calls(self, statements: list[ast.stmt], path: Path) -> bool:
        if path in self.asked:
            return True
        return any(
            isinstance(s, ast.If)
            and self._surely_calls(s.body, (*path, (self.keys[s], True)))
            and self._surely_calls(s.orelse, (*path, (self.keys[s], False)))
            for s in statements
        )

    def _take_branches(self, copy: ast.If, original: ast.If, k: int, path: Path) -> None:
        """Replace the calls in both branches of a copy of a statement."""
        for holds, block, old in ((True, copy.body, original.body), (False, copy.orelse, original.orelse)):
            inner = (*path, (self.keys[original], holds))
            for s, known in zip(block, old, strict=True):
                if isinstance(s, ast.If) and isinstance(known, ast.If):
                    self._take_branches(s, known, k, inner)
                elif isinstance(s, (ast.Assign, ast.AugAssign)):
                    taking = Taking(functools.partial(self.take, k=k, path=inner, order=self.at[known]))
                    s.value = taking.visit(s.value)

    def take(self, call: ast.Call, k: int, path: Path, order: int) -> ast.expr | None:
        """The replacement of a call in a branch; None if its argument cannot be gathered."""
        (argument,) = call.args
        if not self.body.is_movable(argument):
            return None
        found = self._find_place(argument, k, path, order)
        if found is None:
            return None
        j, kept, needed = found
        function, asked = BY_CALL[called_name(call)].name, key(argument)
        counter = self.counters.setdefault(path, "") or self.fresh("taken")
        self.counters[path] = counter
        if (path, asked) not in self.arguments:
            row = self.arguments[path, asked] = self.fresh(f"{function}_of_rows")
            store = statement("row[counter] = argument", row=row, counter=counter, argument=argument)
            self.stores.setdefault((j, path), []).append(store)
            self.kept |= kept
            self.needed |= needed
        if (path, function, asked) not in self.calls:
            value = self.fresh(f"{function}_value_rows")
            self.calls[path, function, asked] = Gathered(function, self.arguments[path, asked], value, counter)
        self.asked.setdefault(path, set()).add(k)
        return expression("row[counter]", row=self.calls[path, function, asked].value, counter=counter)

    def _find_place(
        self, argument: ast.expr, k: int, path: Path, order: int
    ) -> tuple[int, set[ast.stmt], set[str]] | None:
        """The first top-level statement in which a block with this path can compute an argument.

        Also the statements of branches that compute the argument, and the names that these read from elsewhere.
        """
        own = self._close(names_of(argument), k, path, order)
        if own is None:
            return None
        for j in sorted(j for j, known in self.blocks if known == path and j <= k):
            atoms, needed = set(own[0]), set(own[1])
            if any(a.k > j or (a.k == j and a.order > self.blocks[j, path].end) for a in atoms):
                continue
            if any(max(self.body.writers[name]) >= j for name in needed if name in self.body.writers):
                continue
            if self._close_tests(j, path, atoms, needed) and all(
                self._close_tests(a.k, a.path, atoms, needed) for a in own[0]
            ):
                return j, {a.statement for a in atoms}, needed
        return None

    def _close_tests(self, k: int, path: Path, atoms: set[_Atom], needed: set[str]) -> bool:
        """Add the statements and names that the tests of a path need; False if one cannot be computed."""
        for n, branch in enumerate(self.blocks[k, path].branches):
            if not self.body.is_movable(branch.test):
                return False
            found = self._close(names_of(branch.test), k, path[:n], self.at[branch])
            if found is None:
                return False
            atoms |= found[0]
            needed |= found[1]
        return True

    def _close(self, names: set[str], k: int, path: Path, order: int) -> tuple[set[_Atom], set[str]] | None:
        """The statements of branches that compute names, and names from the loop before; None if one is missing."""
        atoms: set[_Atom] = set()
        needed: set[str] = set()
        waiting = [(name, k, path, order) for name in names]
        while waiting:
            name, k, path, order = waiting.pop()
            if name not in self.body.writers:
                continue
            if max(self.body.writers[name]) < k and self.body.closure({name}) is not None:
                needed.add(name)
                continue
            made = [a for a in self.atoms[name] if not _exclude(a.path, path)]
            if len(made) != 1:  # no writer: the value is from an earlier iteration
                return None
            (atom,) = made
            if not atom.path or atom.path != path[: len(atom.path)] or atom.order >= order:
                return None
            if not isinstance(atom.statement, ast.Assign) or not self.body.is_movable(atom.statement):
                return None
            if atom not in atoms:
                atoms.add(atom)
                waiting += [(x, atom.k, atom.path, atom.order) for x in exposed_names([atom.statement])]
        return atoms, needed

    # ---- writing -----------------------------------------------------------------------------------------------------
    def _count(self, path: Path) -> ast.stmt:
        return statement("counter += 1", counter=self.counters[path])

    def _list_made(self, statement: ast.stmt) -> Iterator[str]:
        """The names that statements of branches write for arguments."""
        for s in nodes_in(statement):
            if s in self.kept:
                yield from names_assigned([s])

    def _slice(self, branch: ast.If, k: int, path: Path, made: dict[str, str]) -> list[ast.stmt]:
        """A branch with only the gathering and the statements that it needs; an empty list if it gathers nothing.

        `made` maps names to new ones, because another iteration may read the original names.
        """
        blocks = []
        for holds, block in ((True, branch.body), (False, branch.orelse)):
            inner = (*path, (self.keys[branch], holds))
            sliced: list[ast.stmt] = []
            for s in block:
                if isinstance(s, ast.If):
                    sliced += self._slice(s, k, inner, made)
                elif s in self.kept:
                    sliced.append(substitute(s, made))
            blocks.append(sliced + [substitute(s, made) for s in self.stores.get((k, inner), [])])
        if not any(blocks):
            return []
        found = ast.If(substitute(branch.test, made), blocks[0] or [ast.Pass()], blocks[1])
        found.note = note_of(branch)  # type: ignore[attr-defined]
        return [found]


def _exclude(x: Path, y: Path) -> bool:
    """Whether no iteration takes both paths."""
    return any(key == other and holds != does for key, holds in x for other, does in y)


def _find_block(copy: ast.If, original: ast.If, path: Path, keys: dict[ast.If, Test]) -> list[ast.stmt]:
    """The block of a copied statement that has this path in the original."""
    (_, holds), *rest = path
    block, old = (copy.body, original.body) if holds else (copy.orelse, original.orelse)
    if not rest:
        return block
    for s, known in zip(block, old, strict=False):
        if isinstance(s, ast.If) and isinstance(known, ast.If) and keys[known] == rest[0][0]:
            return _find_block(s, known, tuple(rest), keys)
    raise AssertionError(path)
