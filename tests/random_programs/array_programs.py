"""Random programs over arrays: views, assignments in place, aliases, and NumPy's functions on them.

A program is a list of statements, each a few lines of plain NumPy code, so that a failing program can be pasted. The
builder (`tests.random_programs.array_statements`) runs every statement on floats as it writes it: it knows all shapes,
values and writeable arrays, and takes a statement back that fails, leaves moderate numbers, or compares numbers near a
tie. What `np` means is left to whoever runs the program (`tests.judges.array_agreement`): NumPy on array variables, and
NumPy on object arrays of scalar variables, where it supplies the meaning of views and assignments.

    python -m tests.random_programs.array_programs --count 100000 --seed 1
"""

import ast
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

LARGEST = 40.0  # of a number in a program
APART = 1e-6  # the least distance of numbers that are compared
Shape = tuple[int, ...]


class Inapplicable(Exception):
    """No statement of the kind that was asked for fits the arrays that there are."""


class Rejected(Exception):
    """A statement was taken back; the message says why."""


# ---- programs --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Statement:
    """A few lines of source that belong together."""

    kind: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Program:
    """Statements over the inputs x0, x1, ..., and the values of these; the function returns `result`."""

    inputs: tuple[Any, ...]
    statements: tuple[Statement, ...]
    result: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"x{k}" for k in range(len(self.inputs)))

    @property
    def source(self) -> str:
        """The function f, as source."""
        lines = ["s = 0.0", *(line for statement in self.statements for line in statement.lines)]
        return "\n".join([f"def f({', '.join(self.names)}):", *(f"    {x}" for x in [*lines, f"return {self.result}"])])

    def function(self, numpy: Any = np) -> Callable[..., Any]:
        """The function f, where `np` is NumPy or what stands in for it."""
        scope = {"np": numpy}
        exec(compile(self.source, "<array program>", "exec"), scope)
        return scope["f"]

    def function_on_objects(self, numpy: Any) -> Callable[..., Any]:
        """The same for object arrays, where constants among the elements are Python's: they compare as NumPy's."""
        scope = {"np": numpy, "truth": lambda z: np.bool_(z) if z.__class__ is bool else z}
        tree = ast.fix_missing_locations(_Truths().visit(ast.parse(self.source)))
        exec(compile(tree, "<array program>", "exec"), scope)
        return scope["f"]

    def without(self, k: int) -> "Program":
        """The program with one statement less, which may not be one any more."""
        return replace(self, statements=self.statements[:k] + self.statements[k + 1 :])

    def __str__(self) -> str:
        points = [f"{name} = {written(x)}" for name, x in zip(self.names, self.inputs, strict=True)]
        numbers, names = tuple(range(len(self.inputs))), ", ".join(self.names)
        call = f"contad.grad(f, {numbers})({names})" if self.result == "s" else f"contad.vjp(f, {names})"
        return "\n".join(["import contad", "import numpy as np", "", self.source, "", *points, f"print({call})"])


class _Truths(ast.NodeTransformer):
    """Replaces comparisons x < y by truth(x < y)."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        return ast.Call(ast.Name("truth", ast.Load()), [self.generic_visit(node)], [])  # type: ignore[list-item]


def written(x: Any) -> str:
    """A number or an array as source."""
    if not isinstance(x, np.ndarray):
        return repr(float(x))
    return f"np.array({x.tolist()!r})" if x.size else f"np.zeros({x.shape})"


def shrunk(program: Program, fails: Callable[[Program], bool]) -> Program:
    """A program that fails and of which no statement can be left out: the last ones are tried first."""
    while True:
        shorter = program
        for k in reversed(range(len(program.statements))):
            if fails(shorter.without(k)):
                shorter = shorter.without(k)
        if shorter is program:
            return program
        program = shorter


class FloatNumpy:
    """NumPy for programs on floats: an array of scalars is an array of floats."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def array(self, x: Any, dtype: Any = None) -> Any:
        return np.array(x)


# ---- generation ------------------------------------------------------------------------------------------------------
@dataclass
class Entry:
    """A live array during generation."""

    name: str
    assignable: bool = True  # whether it can surely hold variables


class Workspace:
    """A program under construction, run on floats as it grows, and what its next statement can be about."""

    def __init__(self, seed: int | str, layouts: bool = True) -> None:
        self.random = random.Random(seed)
        self.layouts = layouts  # whether arrays other than views may be in another order in memory than C order
        self.statements: list[Statement] = []
        self.arrays: list[Entry] = []
        self.scalars: list[str] = []
        self.constants: list[str] = []
        self.rejected: Counter[str] = Counter()
        self.count = 0
        self.inputs = self.points()
        self.restart()

    # ---- running -----------------------------------------------------------------------------------------------------
    def points(self) -> tuple[Any, ...]:
        """Two to four inputs: arrays without symmetry, now and then a number, an array without dimensions, or empty."""
        r = self.random
        inputs = []
        for _ in range(r.choice([2, 2, 3, 4])):
            chance = r.random()
            ndim = r.choice([1, 1, 2, 2, 2, 3])
            shape = tuple(r.choice([1, 2, 2, 3, 3, 4]) for _ in range(ndim if inputs or chance < 0.9 else 1))
            if inputs and r.random() < 0.5:
                shape = np.shape(inputs[0])
            if inputs and chance < 0.12:
                inputs.append(self.number())
            else:
                if inputs and chance < 0.25:
                    shape = (0,) if chance < 0.15 else ()
                numbers = [self.number() for _ in range(int(np.prod(shape)))]
                inputs.append(np.array(numbers, dtype=float).reshape(shape))
        return tuple(inputs)

    def number(self) -> float:
        return round(self.random.choice((-1, 1)) * self.random.uniform(0.2, 1.6), 4)

    def restart(self) -> None:
        """Run all statements again, on copies of the inputs."""
        fresh = [x.copy() if isinstance(x, np.ndarray) else x for x in self.inputs]
        self.scope: dict[str, Any] = {"np": FloatNumpy(), "s": 0.0} | {f"x{k}": x for k, x in enumerate(fresh)}
        if not self.statements:
            self.arrays = [Entry(f"x{k}") for k, x in enumerate(fresh) if isinstance(x, np.ndarray)]
            self.scalars = [f"x{k}" for k, x in enumerate(fresh) if not isinstance(x, np.ndarray)]
        for statement in self.statements:
            exec("\n".join(statement.lines), self.scope)

    def emit(self, kind: str, *lines: str) -> None:
        """Append a statement and run it; Rejected where it leaves moderate numbers."""
        self.statements.append(Statement(kind, lines))
        try:
            with np.errstate(all="ignore"):
                exec("\n".join(lines), self.scope)
        except ValueError as error:  # a generator that is not sure of a shape tries
            raise Rejected("shape" if "shape" in str(error) or "broadcast" in str(error) else str(error)) from None
        if kind != "result":
            for value in self.scope.values():
                if isinstance(value, (np.ndarray, float)) and not np.all(np.abs(value) <= LARGEST):
                    raise Rejected("size")
                if not self.layouts and isinstance(value, np.ndarray) and not root(value).flags.c_contiguous:
                    raise Rejected("layout")

    def value(self, text: str) -> Any:
        """What an expression gives here."""
        try:
            return eval(text, self.scope)
        except ValueError:
            raise Inapplicable from None

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def define(self, kind: str, text: str, assignable: bool = True, before: Sequence[str] = ()) -> str:
        """name = text, a new live array or scalar."""
        name = self.fresh("a")
        self.emit(kind, *before, f"{name} = {text}")
        if isinstance(self.scope[name], np.ndarray):
            self.arrays.append(Entry(name, assignable))
        else:
            self.scalars.append(name)
        return name

    # ---- operands ----------------------------------------------------------------------------------------------------
    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def array(self, suits: Callable[[Any], bool] = lambda a: True, assigned: bool = False, empty: float = 0.1) -> Entry:
        """A live array that suits, rather a new one; to be assigned to, it has elements and is writeable."""
        may_be_empty = self.chance(empty) and not assigned
        found = [
            e for e in self.arrays
            if (a := self.scope[e.name]) is not None and (a.size or may_be_empty) and suits(a)
            and not (assigned and not (e.assignable and a.flags.writeable and a.size))
        ]  # fmt: skip
        if not found:
            raise Inapplicable
        return found[max(self.random.randrange(len(found)), self.random.randrange(len(found)))]

    def scalar(self) -> str:
        """A scalar variable: one that there is, or an element."""
        if self.scalars and self.chance(0.5):
            return self.random.choice(self.scalars)
        entry = self.array(empty=0.0)
        return f"{entry.name}[{self.element(self.scope[entry.name].shape)}]"

    def floating(self) -> str:
        """A constant, in parentheses if it is negative."""
        x = round(self.random.choice((-1, 1, 1)) * self.random.uniform(0.2, 1.6), 2)
        return f"({x})" if x < 0 else f"{x}"

    def constant(self, shape: Shape) -> str:
        """A constant array."""
        size = int(np.prod(shape))
        if shape == ():
            return self.floating()
        if size == 0:
            return f"np.zeros({shape})"
        if size <= 4:
            numbers = np.round([self.number() for _ in range(size)], 2).reshape(shape)
            return f"np.array({numbers.tolist()})"
        ends = f"{self.random.uniform(-1.5, -0.4):.2f}, {self.random.uniform(0.3, 1.7):.2f}"
        return f"np.linspace({ends}, {size})" + (f".reshape{shape}" if len(shape) > 1 else "")

    def buffer(self, shape: Shape) -> str:
        """A constant array of that shape that has a name, often one that was used before."""
        if not shape:
            return self.floating()
        known = [name for name in self.constants if self.scope[name].shape == shape]
        if known and self.chance(0.7):
            return self.random.choice(known)
        name = self.fresh("k")
        self.emit("constant array", f"{name} = {self.constant(shape)}")
        self.constants.append(name)
        return name

    def axis_of(self, ndim: int) -> int:
        axis = self.random.randrange(ndim)
        return axis - ndim if self.chance(0.3) else axis

    def position(self, n: int) -> int:
        i = self.random.randrange(n)
        return i - n if self.chance(0.3) else i

    def element(self, shape: Shape) -> str:
        """The index of one element."""
        if not all(shape):
            raise Inapplicable
        return ", ".join(str(self.position(n)) for n in shape) or "()"

    def slice_of(self, n: int, empty: float = 0.02) -> str:
        """A slice, which is rarely empty."""
        r = self.random
        while True:
            start, stop = (r.choice(["", "", *range(-n, n + 1)]) for _ in range(2))
            step = r.choice(["", "", "", ":2", ":-1", ":-1", ":-2"])
            text = f"{start}:{stop}{step}"
            parts = [int(x) if x else None for x in text.split(":")]
            if len(range(n)[slice(*parts)]) or r.random() < empty:
                return text

    def index(self, shape: Shape, integers: float = 0.3, new: float = 0.12) -> str:
        """A basic index: what it gives is a view unless all are integers."""
        r = self.random
        parts = []
        for n in shape:
            chance = r.random()
            if n and chance < integers:
                parts.append(str(self.position(n)))
            else:
                parts.append(":" if n == 0 or chance > 0.75 else self.slice_of(n))
        while len(parts) > 1 and parts[-1] == ":" and r.random() < 0.7:
            parts.pop()
        if r.random() < 0.1 or not parts:
            k = r.randrange(len(parts) + 1)
            parts = ["...", *parts[k:]] if len(parts) == len(shape) else [*parts, "..."]
        if r.random() < new:
            parts.insert(r.randrange(len(parts) + 1), r.choice(["None", "np.newaxis"]))
        return ", ".join(parts)

    def fancy(self, shape: Shape) -> str:
        """An index by integer arrays, in which positions are often repeated, or by an array of booleans."""
        r = self.random
        if not shape or not all(shape):
            raise Inapplicable
        if r.random() < 0.15:
            flags = [r.random() < 0.6 for _ in range(shape[0])]
            flags[r.randrange(shape[0])] = True
            return f"np.array({flags})"
        count = r.randint(1, 4)
        first = [self.position(shape[0]) for _ in range(count)]
        text = r.choice([f"{first}", f"np.array({first})"])
        if len(shape) == 1:
            return text if r.random() < 0.8 else f"[{first}, {first[::-1]}]"
        return r.choice([
            text, f"{text}, {[self.position(shape[1]) for _ in range(count)]}", f"{text}, {self.position(shape[1])}",
            f"{text}, {self.slice_of(shape[1], 0.0)}", f":, {[self.position(shape[1]) for _ in range(count)]}",
            f"[[{first[0]}], [{first[-1]}]], {[self.position(shape[1]) for _ in range(count)]}",
        ])  # fmt: skip

    def threshold(self, a: Any) -> str:
        """A number that is not near any element, and that lies between some."""
        numbers = np.sort(np.ravel(a))
        gaps = [k for k in range(len(numbers) - 1) if numbers[k + 1] - numbers[k] > 0.1]
        if not gaps:
            raise Inapplicable
        k = self.random.choice(gaps)
        return f"{round(0.4 * numbers[k] + 0.6 * numbers[k + 1], 3)}"

    def fitting(self, shape: Shape, of: Iterable[str] = ()) -> str:
        """An array expression that broadcasts to a shape: a live array, or a view of one, rather of those in `of`."""
        r = self.random
        preferred = [e for e in self.arrays if e.name in of]
        for _ in range(12):
            entry = r.choice(preferred) if preferred and r.random() < 0.5 else self.array(empty=0.05)
            a = self.scope[entry.name]
            text = r.choice([entry.name, entry.name, f"{entry.name}.T", "", "", ""])
            text = text or f"{entry.name}[{self.index(a.shape)}]"
            try:
                if np.broadcast_shapes(np.shape(eval(text, self.scope)), shape) == shape:
                    return text
            except ValueError:
                pass
        raise Inapplicable

    def operand(self, shape: Shape, of: Iterable[str] = ()) -> str:
        """What can be combined with, or assigned to, an array of this shape."""
        chance = self.random.random()
        if chance < 0.5:
            try:
                return self.fitting(shape, of)
            except Inapplicable:
                pass
        if chance < 0.7:
            return self.scalar()
        if chance < 0.8:
            return self.floating()
        return self.buffer(shape) if chance < 0.9 else self.constant(shape)

    def separate(self, *texts: str) -> None:
        """Reject where two arrays have elements that nearly tie."""
        a, b = (self.value(text) for text in texts)
        if np.any(np.abs(a - b) <= APART):
            raise Rejected("a tie")

    def separate_along(self, a: Any, axis: Any) -> None:
        """Reject where two of the numbers that a reduction compares nearly tie."""
        kept = [] if axis is None else [k for k in range(a.ndim) if k not in np.atleast_1d(np.mod(axis, a.ndim))]
        rows = np.transpose(a, [*kept, *(k for k in range(a.ndim) if k not in kept)])
        rows = np.sort(rows.reshape(int(np.prod([a.shape[k] for k in kept])), -1), axis=1)
        if np.any(np.diff(rows, axis=1) <= APART):
            raise Rejected("a tie")


def root(a: Any) -> Any:
    """The array that a view is a view of."""
    while isinstance(a.base, np.ndarray):
        a = a.base
    return a


if __name__ == "__main__":
    from tests.judges.array_agreement import main

    main()
