"""Adjoints of arrays that a loop writes before anything reads them: they need no zeros, and its `+=` is `=`.

    x_bar = np.zeros(x.shape)              x_bar = np.empty(x.shape)
    for i in range(x_length):       ->     for i in range(x_length):
        x_bar[i] += t_bar                      x_bar[i] = t_bar

So it is where the first statement behind the zeros that names the array is a nest of loops over every index of it, in
whose innermost body that `+=` comes first and nothing else touches the array but at the same indices. The zeros of a
large array are a pass over memory. So are those of arrays that each iteration of a loop makes, where the nest follows
in the same iteration.
"""

import ast
import functools
import re

from contad.engines.source.writing.array_accesses import indices_of
from contad.engines.source.writing.live_names import names_assigned, names_read

ZEROS = re.compile(r" +(\w+) = (?:np\.|lent_)zeros\((?:\d+, )?((\w+)\.shape|\(.*\))\)$")
MAKERS = ("np.empty", "np.zeros", "lent_empty", "lent_zeros")
# what may be a length, make an array or compare lengths
LENGTHS = (ast.Name, ast.Subscript, ast.Call, ast.Compare, ast.UnaryOp)
LEAVES = (ast.Break, ast.Continue, ast.Return)


def write_once(lines: list[str]) -> list[str]:
    """The lines of a function, its head first, without zeros that are written over."""
    if not any(map(ZEROS.match, lines)):
        return lines
    arrays = FirstWrites.read(lines)
    made = list(lines)
    for k, found in arrays.list_zeros(lines):
        add = arrays.find_add(k + 1, found[1], found[2], found[3])
        if add is not None:
            made[k] = made[k].replace("zeros(", "empty(", 1)
            made[add - 1] = made[add - 1].replace(" += ", " = ", 1)
    return made


class FirstWrites:
    """Finds the statements that write arrays first."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.body = function.body
        bodies = [function.body, *(x.body for x in ast.walk(function) if isinstance(x, ast.For))]
        self.bodies = {s.lineno: body for body in bodies for s in body}  # by the line of a statement, what it stands in
        self.given = {x.arg for x in function.args.args}
        self.assigned: dict[str, list[ast.AST]] = {}
        for s in ast.walk(function):
            if isinstance(s, (ast.Assign, ast.AugAssign, ast.For)):
                for name in names_assigned(s.targets if isinstance(s, ast.Assign) else [s.target]):
                    self.assigned.setdefault(name, []).append(s)

    @classmethod
    def read(cls, lines: list[str]) -> "FirstWrites":
        """Of the lines of a function, its head first."""
        (function,) = ast.parse("\n".join(lines)).body
        assert isinstance(function, ast.FunctionDef)
        return cls(function)

    @staticmethod
    def list_zeros(lines: list[str]) -> list[tuple[int, re.Match[str]]]:
        """The lines that make zeros, by their number from 0."""
        return [(k, found) for k, line in enumerate(lines) if (found := ZEROS.match(line))]

    def find_add(self, line: int, name: str, shape: str, like: str | None) -> int | None:
        """The line of the `+=` that may be `=`, for zeros of an array at a line, of a shape or like another array."""
        first = next((s for s in self.bodies.get(line, ()) if s.lineno > line and names_it(s, name)), None)
        if len(self.assigned[name]) != 1 or not isinstance(first, ast.For):
            return None
        if any(isinstance(x, LEAVES) for x in ast.walk(first)):
            return None
        lengths: dict[str, str] = {}  # by the index of a loop
        loop: ast.stmt = first
        while isinstance(loop, ast.For):
            length = find_length(loop)
            index = ast.unparse(loop.target)
            naming = [s for s in loop.body if names_it(s, name)]
            if length is None or not naming or index in names_assigned(loop.body) or index in lengths:
                return None
            lengths[index] = length
            loop = naming[0]
            if len(naming) > 1:
                break
        indices = _added_at(loop, name)
        if indices is None or len(indices) != len(lengths) or set(indices) != set(lengths):
            return None
        if any(not touches_only(s, name, indices) for s in naming):
            return None
        if like is None:
            parts = ast.parse(shape, mode="eval").body
            assert isinstance(parts, ast.Tuple)
            wanted = [self.same_as(ast.unparse(x), first.lineno) for x in parts.elts]
        elif self.stays(like):
            wanted = [self.same_as(f"{like}.shape[{k}]", first.lineno) for k in range(len(indices))]
        else:
            return None
        if len(wanted) != len(indices):
            return None
        found = [lengths[index] for index in indices]
        if all(_plain(length) in same and self.stays(length) for length, same in zip(found, wanted, strict=True)):
            return loop.lineno
        return None

    def same_as(self, length: str, line: int) -> set[str]:
        """How the text before a line may call a length, by what is assigned once and what is checked."""
        found, more = set[str](), {_plain(length)}
        while more - found:
            found |= more
            more = {y for pair in self.equal if pair[2] < line for x, y in (pair[:2], pair[1::-1]) if x in found}
        return found

    @functools.cached_property
    def equal(self) -> list[tuple[str, str, int]]:
        """Pairs of expressions that are the same from a line on: a name and its value, or lengths that are checked."""
        found: list[tuple[str, str, int]] = []
        values: dict[str, ast.expr] = {}
        for s in self.body:
            if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and isinstance(s.value, LENGTHS):
                name = s.targets[0].id
                values[name] = s.value
                found.append((name, ast.unparse(s.value), s.lineno))
                found += [
                    (f"{name}.shape[{k}]", ast.unparse(x), s.lineno) for k, x in enumerate(_shape_of(s.value))
                ]
            elif isinstance(s, ast.If) and _surely_raises(s.body[0]) and not s.orelse:
                test = values.get(s.test.id) if isinstance(s.test, ast.Name) else s.test
                wanted: type[ast.cmpop] = ast.NotEq
                if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                    test, wanted = test.operand, ast.Eq
                if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], wanted):
                    found.append((ast.unparse(test.left), ast.unparse(test.comparators[0]), s.lineno))
        return [(_plain(x), _plain(y), line) for x, y, line in found if self.stays(x) and self.stays(y)]

    def is_length(self, text: str, line: int) -> bool:
        """Whether an expression is that of a length before a line, so that it is not negative."""
        return any(re.fullmatch(r"\w+\.shape\[\d+\]", x) for x in self.same_as(text, line))

    def stays(self, text: str) -> bool:
        """Whether the names in an expression are given or assigned once; an array that is given may become a copy."""
        for name in names_read(ast.parse(text)):
            made = [s for s in self.assigned.get(name, ()) if not _is_copy(s, name)]
            if len(made) + (name in self.given) > 1 or any(s not in self.body for s in made):
                return False
        return True


def _surely_raises(s: ast.stmt) -> bool:
    """Whether a statement raises whenever it is met, which a test hides from Numba."""
    if isinstance(s, ast.If) and ast.unparse(s.test) == "bool(True)":
        s = s.body[0]
    return isinstance(s, ast.Raise)


def _plain(length: str) -> str:
    """A length, of an array's first axis as of any other."""
    return re.sub(r"\blen\((\w+)\)", r"\1.shape[0]", length)


def _shape_of(made: ast.expr) -> list[ast.expr]:
    """The lengths of an array that is made by a call."""
    if isinstance(made, ast.Call) and ast.unparse(made.func) in MAKERS and isinstance(made.args[-1], ast.Tuple):
        return made.args[-1].elts
    return []


def _is_copy(s: ast.AST, name: str) -> bool:
    return isinstance(s, ast.Assign) and ast.unparse(s) == f"{name} = {name}.copy()"


def names_it(s: ast.AST, name: str) -> bool:
    """Whether a statement names something."""
    return name in _all_names(s)


def _all_names(s: ast.AST) -> frozenset[str]:
    """What a statement names, which is asked for each array that is made before it."""
    found: frozenset[str] | None = vars(s).get("names")
    if found is None:
        found = vars(s)["names"] = frozenset(x.id for x in ast.walk(s) if isinstance(x, ast.Name))
    return found


def find_length(loop: ast.For) -> str | None:
    """The number n of a loop over 0, ..., n - 1 in either order; None of another one."""
    over = loop.iter
    if isinstance(over, ast.Call) and ast.unparse(over.func) == "prange":  # with the number of the loop
        over = over.args[1]
    if not isinstance(over, ast.Call) or ast.unparse(over.func) != "range" or not isinstance(loop.target, ast.Name):
        return None
    limits = [ast.unparse(x) for x in over.args]
    if len(limits) == 1:
        return limits[0]
    if len(limits) == 3 and limits[1:] == ["-1", "-1"] and limits[0].endswith(" - 1"):
        return limits[0].removesuffix(" - 1")
    return None


def find_part(outer: ast.For, inner: ast.For) -> str | None:
    """The number m of a loop over c m, ..., (c + 1) m - 1 in one over c; None of other loops."""
    over = inner.iter
    if not isinstance(over, ast.Call) or ast.unparse(over.func) != "range" or len(over.args) != 2:
        return None
    assigned = names_assigned(outer.body)
    once = [s for s in outer.body if isinstance(s, ast.Assign) and s.lineno < inner.lineno]
    values = {ast.unparse(s.targets[0]): s.value for s in once if _is_alone(s, outer)}
    start, stop = (values.get(ast.unparse(x), x) for x in over.args)
    if not isinstance(start, ast.BinOp) or not isinstance(start.op, ast.Mult) or not isinstance(start.right, ast.Name):
        return None
    index, length = ast.unparse(outer.target), start.right.id
    if index in assigned or length in assigned or length == index:
        return None
    is_part = [*map(ast.unparse, (start, stop))] == [f"{index} * {length}", f"({index} + 1) * {length}"]
    return length if is_part else None


def _is_alone(s: ast.Assign, loop: ast.For) -> bool:
    """Whether a statement of a loop is the only one in it that assigns its name."""
    names = [x.id for x in ast.walk(loop) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)]
    return isinstance(s.targets[0], ast.Name) and names.count(s.targets[0].id) == 1


def _added_at(s: ast.stmt, name: str) -> list[str] | None:
    """The indices, if all are names, of the element that a statement adds to."""
    if not isinstance(s, ast.AugAssign) or not isinstance(s.op, ast.Add) or names_it(s.value, name):
        return None
    if not isinstance(s.target, ast.Subscript) or ast.unparse(s.target.value) != name:
        return None
    indices = indices_of(s.target)
    return [ast.unparse(x) for x in indices] if all(isinstance(x, ast.Name) for x in indices) else None


def touches_only(s: ast.AST, name: str, indices: list[str]) -> bool:
    """Whether a statement names an array nowhere but in its element at these indices."""
    text = f"{name}[{', '.join(indices)}]"
    inside = [x.value for x in ast.walk(s) if isinstance(x, ast.Subscript) and ast.unparse(x) == text]
    return all(x in inside for x in ast.walk(s) if isinstance(x, ast.Name) and x.id == name)
