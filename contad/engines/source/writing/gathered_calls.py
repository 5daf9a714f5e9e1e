"""Calls of functions in branches of a loop that is split: arguments are gathered from the iterations that have them.

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

So nothing is computed that the program does not ask for: a branch that is not taken has no value, and no partial that
could be infinite. Branches that ask the same twice in an iteration, as those of the way back do, are one in the first
part.
"""

import ast
import copy
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from contad.engines.source.writing.live_names import names_in
from contad.engines.source.writing.loop_statements import SplitBody, Taking, names_written, read_in
from contad.native.elementary.elementary_table import BY_CALL

Path = tuple[tuple[str, bool], ...]  # the tests that lead to a block, and what they are there

_FEWEST = 2  # functions of a branch that some iterations take, to be worth a second look at its test


class Gathered(NamedTuple):
    """A function of an argument that branches have."""

    function: str
    argument: str  # the name of its row
    value: str  # likewise
    counter: str  # how many there are


class GatheredCalls(NamedTuple):
    """What branches of a loop ask for."""

    before: list[ast.stmt]  # branches that gather arguments
    calls: list[Gathered]
    needed: set[str]  # names that the first part makes for them
    after: Mapping[int, ast.stmt]  # statements of the loop with values in place of calls, by their number

    @property
    def rows(self) -> list[str]:
        """The names of rows."""
        return list(dict.fromkeys(row for call in self.calls for row in (call.argument, call.value)))

    @property
    def counters(self) -> list[str]:
        """The names of what counts branches."""
        return list(dict.fromkeys(call.counter for call in self.calls))


def gather_calls(body: SplitBody, fresh: Callable[[str], str], is_split: bool) -> GatheredCalls | None:
    """The functions in branches of a loop; None where there are none, or too few for a loop that is not split yet."""
    return _Gathering(body, fresh).gather(is_split)


class _Atom(NamedTuple):
    """A statement that writes a name: where it stands."""

    order: int
    k: int  # of the statement of the loop that it is part of
    path: Path
    statement: ast.stmt


class _Block(NamedTuple):
    """A branch: the tests that lead to it, and where it ends."""

    branches: list[ast.If]
    end: int


class _Gathering:
    """Looks through the branches of a loop."""

    def __init__(self, body: SplitBody, fresh: Callable[[str], str]) -> None:
        """Note where the statements of a loop stand, and what they write."""
        self.body, self.fresh = body, fresh
        self.order = 0
        self.atoms: dict[str, list[_Atom]] = {}  # by the names that they write
        self.at: dict[ast.stmt, int] = {}  # the order of statements in branches, and of branches
        self.keys: dict[ast.If, str] = {}  # what tells tests apart
        self.blocks: dict[tuple[int, Path], _Block] = {}
        self.counters: dict[Path, str] = {}
        self.stores: dict[tuple[int, Path], list[ast.stmt]] = {}  # what goes to the ends of blocks in the first part
        self.kept: set[ast.stmt] = set()  # statements of branches that arguments are made of
        self.needed: set[str] = set()
        self.calls: dict[tuple[Path, str], Gathered] = {}  # by their text
        self.arguments: dict[tuple[Path, str], str] = {}
        self.asked: dict[Path, set[int]] = {}  # the statements of the loop in which a branch has calls
        for k, statement in enumerate(body.statements):
            self._note(statement, k, ())

    def _note(self, statement: ast.stmt, k: int, path: Path, branches: Sequence[ast.If] = ()) -> None:
        """Note what statements write, and the blocks of branches."""
        self.order += 1
        self.at[statement] = self.order
        if not isinstance(statement, ast.If):
            for name in names_written(statement):
                self.atoms.setdefault(name, []).append(_Atom(self.order, k, path, statement))
            return
        self.keys[statement] = self._find_key(statement)
        for holds, block in ((True, statement.body), (False, statement.orelse)):
            inner = (*path, (self.keys[statement], holds))
            for s in block:
                self._note(s, k, inner, [*branches, statement])
            self.order += 1
            self.blocks[k, inner] = _Block([*branches, statement], self.order)

    def _find_key(self, statement: ast.If) -> str:
        """The text of a test that is the same whenever an iteration asks; else one that no other has."""
        test = statement.test.operand if isinstance(statement.test, ast.UnaryOp) else statement.test
        if isinstance(test, ast.Name) and len(self.atoms.get(test.id, [])) == self._count_writers(test.id) <= 1:
            return ast.unparse(statement.test)
        return f"{ast.unparse(statement.test)} # {self.order}"

    def _count_writers(self, name: str) -> int:
        """How many statements of the loop write a name, wherever they stand."""
        return sum(
            x.id == name and isinstance(x.ctx, ast.Store) for s in self.body.statements for x in names_in(s)
        )

    # ---- what can be gathered ----------------------------------------------------------------------------------------
    def gather(self, is_split: bool) -> GatheredCalls | None:
        """Find the calls, and write both parts."""
        after = {k: copy.deepcopy(s) for k, s in enumerate(self.body.statements) if isinstance(s, ast.If)}
        for k, statement in after.items():
            original = self.body.statements[k]
            assert isinstance(statement, ast.If) and isinstance(original, ast.If)
            self._take_branches(statement, original, k, ())
        if not self.calls or not (is_split or self._is_worth_it()):
            return None
        for path, numbers in self.asked.items():
            block = _find_block(after[max(numbers)], self.body.statements[max(numbers)], path, self.keys)
            block.append(self._count(path))
            self.stores[max(j for j, known in self.stores if known == path), path].append(self._count(path))
        made = {name: self.fresh(name) for s in self.body.statements for name in self._list_made(s)}
        before = [self._slice(s, k, (), made) for k, s in enumerate(self.body.statements) if isinstance(s, ast.If)]
        changed = {k: after[k] for numbers in self.asked.values() for k in numbers}
        return GatheredCalls([s for s in before if s is not None], [*self.calls.values()], self.needed, changed)

    def _is_worth_it(self) -> bool:
        """Whether every iteration has a call, or a branch has several."""
        for s in self.body.statements:
            if isinstance(s, ast.If) and self._surely_calls([s], ()):
                return True
        paths = [path for path, _ in self.calls]
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

    def _take_branches(self, statement: ast.If, original: ast.If, k: int, path: Path) -> None:
        """Replace the calls in both branches of a copy of a statement."""
        for holds, block, old in ((True, statement.body, original.body), (False, statement.orelse, original.orelse)):
            inner = (*path, (self.keys[original], holds))
            for n, (s, known) in enumerate(zip(block, old, strict=True)):
                if isinstance(s, ast.If) and isinstance(known, ast.If):
                    self._take_branches(s, known, k, inner)
                elif isinstance(s, (ast.Assign, ast.AugAssign)):
                    taking = Taking(functools.partial(self.take, k=k, path=inner, order=self.at[known]))
                    s.value = taking.visit(s.value)
                    if taking.taken:
                        s.lineno = -s.lineno  # of a line that is not as it was
                        block[n] = s

    def take(self, call: ast.Call, k: int, path: Path, order: int) -> ast.expr | None:
        """What stands for a call in a branch; None where its argument cannot be gathered."""
        (argument,) = call.args
        if not self.body.is_movable(argument):
            return None
        found = self._find_place(argument, k, path, order)
        if found is None:
            return None
        j, kept, needed = found
        function, text = BY_CALL[ast.unparse(call.func)].name, ast.unparse(argument)
        counter = self.counters.setdefault(path, "") or self.fresh("taken")
        self.counters[path] = counter
        if (path, text) not in self.arguments:
            row = self.arguments[path, text] = self.fresh(f"{function}_of_rows")
            store = ast.parse(f"{row}[{counter}] = {text}").body[0]
            store.lineno = 0
            self.stores.setdefault((j, path), []).append(store)
            self.kept |= kept
            self.needed |= needed
        key = path, f"{function}({text})"
        if key not in self.calls:
            value = self.fresh(f"{function}_value_rows")
            self.calls[key] = Gathered(function, self.arguments[path, text], value, counter)
        self.asked.setdefault(path, set()).add(k)
        return ast.parse(f"{self.calls[key].value}[{counter}]", mode="eval").body

    def _find_place(
        self, argument: ast.expr, k: int, path: Path, order: int
    ) -> tuple[int, set[ast.stmt], set[str]] | None:
        """The first statement of the loop in which a block with this path has all that an argument is made of.

        With it the statements of branches that make it, and names from elsewhere.
        """
        own = self._close({x.id for x in names_in(argument)}, k, path, order)
        if own is None:
            return None
        for j, known in sorted(self.blocks):
            if known != path or j > k:
                continue
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
        """Add what the tests of a path are made of; whether all of it can be made."""
        for n, branch in enumerate(self.blocks[k, path].branches):
            if not self.body.is_movable(branch.test):
                return False
            found = self._close({x.id for x in names_in(branch.test)}, k, path[:n], self.at[branch])
            if found is None:
                return False
            atoms |= found[0]
            needed |= found[1]
        return True

    def _close(self, names: set[str], k: int, path: Path, order: int) -> tuple[set[_Atom], set[str]] | None:
        """The statements of branches that make names, and names that the loop makes before; None where one cannot."""
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
            atom, *others = [a for a in self.atoms[name] if not _exclude(a.path, path)]
            if others or not atom.path or atom.path != path[: len(atom.path)] or atom.order >= order:
                return None
            if not isinstance(atom.statement, ast.Assign) or not self.body.is_movable(atom.statement):
                return None
            if atom not in atoms:
                atoms.add(atom)
                waiting += [(x, atom.k, atom.path, atom.order) for x in read_in(atom.statement)]
        return atoms, needed

    # ---- what is written ---------------------------------------------------------------------------------------------
    def _count(self, path: Path) -> ast.stmt:
        statement = ast.parse(f"{self.counters[path]} += 1").body[0]
        statement.lineno = 0
        return statement

    def _list_made(self, statement: ast.stmt) -> Iterator[str]:
        """The names that statements of branches make for arguments."""
        for s in ast.walk(statement):
            if s in self.kept:
                yield from names_written(s)

    def _slice(self, statement: ast.If, k: int, path: Path, made: dict[str, str]) -> ast.If | None:
        """A statement with what its branches gather, and what that is made of; None where that is nothing.

        What is `made` has names of its own: those of the program may be read by another iteration.
        """
        blocks = []
        for holds, block in ((True, statement.body), (False, statement.orelse)):
            inner = (*path, (self.keys[statement], holds))
            sliced: list[ast.stmt] = []
            for s in block:
                if isinstance(s, ast.If):
                    part = self._slice(s, k, inner, made)
                    sliced += [] if part is None else [part]
                elif s in self.kept:
                    sliced.append(_rename(s, made))
            blocks.append(sliced + [_rename(s, made) for s in self.stores.get((k, inner), [])])
        if not any(blocks):
            return None
        sliced_if = ast.If(_rename(statement.test, made), blocks[0] or [ast.Pass(lineno=0)], blocks[1])
        sliced_if.lineno = -abs(statement.lineno)
        return sliced_if


def _rename(node: Any, made: dict[str, str]) -> Any:
    """A copy of a statement or expression with other names in it; a statement is no longer the line that it was."""
    node = copy.deepcopy(node)
    for x in names_in(node):
        x.id = made.get(x.id, x.id)
    if isinstance(node, ast.stmt):
        node.lineno = -abs(node.lineno)
    return node


def _exclude(x: Path, y: Path) -> bool:
    """Whether no iteration takes both paths."""
    return any(key == other and holds != does for key, holds in x for other, does in y)


def _find_block(statement: ast.stmt, original: ast.stmt, path: Path, keys: dict[ast.If, str]) -> list[ast.stmt]:
    """The block of a copy that has this path, from the statement that it is a copy of."""
    assert isinstance(statement, ast.If) and isinstance(original, ast.If)
    (key, holds), *rest = path
    assert keys[original] == key
    block, old = (statement.body, original.body) if holds else (statement.orelse, original.orelse)
    if not rest:
        return block
    for s, known in zip(block, old, strict=False):
        if isinstance(known, ast.If) and keys[known] == rest[0][0]:
            return _find_block(s, known, tuple(rest), keys)
    raise AssertionError(path)

