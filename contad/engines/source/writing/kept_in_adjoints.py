"""Numbers that a loop keeps for its reverse lie in the adjoint of an array that this writes, not in the workspace.

    work = grow(work, top + max(n, 0) * 1.0)
    trips = max(n, 0)
    base = top
    top += trips
    for i in range(n):                          for i in range(n):
        t = math.exp(x[i])                          t = math.exp(x[i])
        work[base + i] = t              ->          x_bar[i] = t
        total += t                                  total += t
    trips = max(n, 0)
    top -= trips
    base = top
    for i in range(n):                          for i in range(n):
        t = work[base + i]                          t = x_bar[i]
        x_bar[i] = total_bar * t                    x_bar[i] = total_bar * t

So it is where the reverse of the loop is the first to touch that array, of as many numbers, which the function makes:
iteration i takes its number from where it writes the adjoint then. There is less memory to go through.
"""

import ast
from typing import NamedTuple

from contad.engines.source.writing.first_writes import (
    LEAVES,
    MAKERS,
    FirstWrites,
    find_length,
    names_it,
    touches_only,
)
from contad.engines.source.writing.live_names import names_assigned
from contad.engines.source.writing.loop_statements import WORK, is_function


class _KeptPair(NamedTuple):
    """What two loops keep in the workspace: statements to leave out, the two that write and read, and where instead."""

    left_out: list[ast.stmt]
    write: ast.stmt
    read: ast.stmt
    place: str
    instead: str


def keep_in_adjoints(lines: list[str], vectors: frozenset[str]) -> list[str]:
    """The lines of a function, its head first, with what is kept in adjoints, which are vectors, where it may be."""
    if not any(line.startswith(f"    {WORK} = grow({WORK}, ") for line in lines):
        return lines
    (function,) = ast.parse("\n".join(lines)).body
    assert isinstance(function, ast.FunctionDef)
    found: list[str | None] = [*lines]
    for kept in _SearchOfPairs(function, lines, vectors).find():
        for s in kept.left_out:
            found[s.lineno - 1] = None
        for s in (kept.write, kept.read):
            found[s.lineno - 1] = lines[s.lineno - 1].replace(kept.place, kept.instead, 1)
    made = [line for line in found if line is not None]
    return made if any(f"{WORK}[" in line or f"({WORK}, " in line for line in made) else _without_workspace(made)


def _without_workspace(lines: list[str]) -> list[str]:
    return [line for line in lines if line != f"    {WORK}, top = workspace()"]


class _SearchOfPairs:
    """Finds pairs of loops in the body of a function."""

    def __init__(self, function: ast.FunctionDef, lines: list[str], vectors: frozenset[str]) -> None:
        self.body, self.lines, self.vectors = function.body, lines, vectors
        self.writes = FirstWrites(function)
        self.taken: set[str] = set()  # arrays that hold numbers already

    def find(self) -> list[_KeptPair]:
        """All of them."""
        pairs = []
        for base, made in self.writes.assigned.items():
            if len(made) == 2 and all(s in self.body and ast.unparse(s) == f"{base} = top" for s in made):
                first, second = (self.body.index(s) for s in made)  # type: ignore[arg-type]
                kept = self._find_pair(base, first, second)
                pairs += [kept] if kept is not None else []
        return pairs

    def _find_pair(self, base: str, first: int, second: int) -> _KeptPair | None:
        """What is kept from `base` on, which these statements of the body assign; None where it has to stay."""
        begun, ended = self.body[first - 1 : first + 3], self.body[second - 2 : second + 2]
        grow = next((s for s in reversed(self.body[: first - 1]) if names_it(s, WORK)), None)
        loop, back = begun[-1], ended[-1]
        if grow is None or len(begun) < 4 or not (isinstance(loop, ast.For) and isinstance(back, ast.For)):
            return None
        length, index = find_length(loop), ast.unparse(loop.target)
        if length is None or (find_length(back), ast.unparse(back.target)) != (length, index):
            return None
        trips, count = ast.unparse(begun[0]).partition(" = ")[0], f"max({length}, 0)"
        around = [ast.unparse(s) for s in (grow, *begun[:3], *ended[:3])]
        start, made = f"{base} = top", f"{trips} = {count}"
        asked = f"{WORK} = grow({WORK}, top + {count} * 1.0)"
        if around != [asked, made, start, f"top += {trips}", made, f"top -= {trips}", start]:
            return None
        place = f"{WORK}[{base} + {index}]"
        write, read = self._find_use(loop, base, place), self._find_use(back, base, place)
        if write is None or read is None or ast.unparse(write.targets[0]) != place or ast.unparse(read.value) != place:
            return None
        left_out = [grow, *begun[:3], *ended[:3]]
        if any(s not in (*left_out, loop, back) for s in self.body if names_it(s, base) or names_it(s, trips)):
            return None
        name = self._find_adjoint(loop, back, read, length)
        if name is None:
            return None
        self.taken.add(name)
        return _KeptPair(left_out, write, read, place, f"{name}[{index}]")

    def _find_use(self, loop: ast.For, base: str, place: str) -> ast.Assign | None:
        """The one statement of a loop that names `base`, where it is one that every iteration runs."""
        if any(isinstance(x, LEAVES) for x in ast.walk(loop)) or ast.unparse(loop.target) in names_assigned(loop.body):
            return None
        naming = [s for s in loop.body if names_it(s, base)]
        (use,) = naming if len(naming) == 1 else (None,)
        return use if isinstance(use, ast.Assign) and self.lines[use.lineno - 1].count(place) == 1 else None

    def _find_adjoint(self, loop: ast.For, back: ast.For, read: ast.stmt, length: str) -> str | None:
        """An array of this length that the loop back writes, behind `read`, before anything else touches it."""
        index = ast.unparse(back.target)
        if any(map(is_function, ast.walk(back))):  # which may go along rows of what the loop only reads
            return None
        for s in back.body[back.body.index(read) + 1 :]:
            target = s.targets[0] if isinstance(s, ast.Assign) else None
            if isinstance(target, ast.Subscript) and ast.unparse(target.slice) == index:
                name = ast.unparse(target.value)
                first = next(x for x in back.body if names_it(x, name))
                if first is s and touches_only(back, name, [index]) and self._is_free(name, loop, back, length):
                    return name
        return None

    def _is_free(self, name: str, loop: ast.For, back: ast.For, length: str) -> bool:
        """Whether the function makes this vector, of a length, before a loop, and then names it in the one back."""
        made = self.writes.assigned.get(name, [])
        naming = [s for s in self.body if names_it(s, name)]
        if name in self.taken or name not in self.vectors or len(made) != 1 or naming[:2] != [made[0], back]:
            return False
        value = made[0].value if isinstance(made[0], ast.Assign) else None
        if naming[0].lineno > loop.lineno or not isinstance(value, ast.Call) or ast.unparse(value.func) not in MAKERS:
            return False
        shape = ast.unparse(value.args[-1])
        if shape.endswith(".shape"):
            shape = f"({shape}[0],)"
        own = shape.removeprefix("(").removesuffix(",)")
        stays = self.writes.stays(own) and self.writes.stays(length)
        return stays and shape == f"({own},)" and own in self.writes.same_as(length, loop.lineno)
