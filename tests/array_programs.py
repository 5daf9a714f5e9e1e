"""Random programs over arrays: views, assignments in place, aliases, and NumPy's functions on them.

A program is a list of statements, each a few lines of plain NumPy code, so that a failing program can be pasted. The
`Builder` runs every statement on floats as it writes it: it knows all shapes, values and writeable arrays, and takes a
statement back that fails, leaves moderate numbers, or compares numbers near a tie. What `np` means is left to whoever
runs the program (`tests.array_agreement`): NumPy itself on array variables, and NumPy on object arrays of scalar
variables, where it supplies the meaning of views and assignments.

    python -m tests.array_programs --count 100000 --seed 1
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

LARGEST = 40.0  # of a number in a program
APART = 1e-6  # the least distance of numbers that are compared
STATEMENTS = (8, 16)  # at least, at most; the result comes on top
Shape = tuple[int, ...]

UNARY = (
    "np.sin({})", "np.cos({})", "np.tanh({})", "np.arctan({})", "np.square({})", "-{}", "{} ** 2", "{} ** 3",
    "np.exp(-0.3 * {0} * {0})", "np.log(1.3 + {0} * {0})", "np.sqrt(0.7 + {0} * {0})", "1.0 / (1.5 + {0} * {0})",
    "np.expm1(0.2 * {})", "np.log1p(0.4 + {0} * {0})", "(1.2 + {0} * {0}) ** 1.7", "np.negative({})",
    "0.4 * {0} * {0}", "np.abs({})", "np.cosh(0.3 * {})", "np.arcsinh({})",
)  # fmt: skip
BINARY = (
    "{} + {}", "{} - {}", "{} * {}", "{} * {}", "{0} / (1.5 + {1} * {1})", "np.multiply({}, {})", "np.add({}, {})",
    "np.subtract({}, {})", "np.divide({0}, 1.1 + {1} * {1})", "np.power(1.2 + {0} * {0}, 0.4 * {1})",
    "np.maximum({}, {})", "np.minimum({}, {})", "np.hypot({0}, 0.3 + {1} * {1})", "np.arctan2({0}, 1.2 + {1} * {1})",
    "np.logaddexp({}, {})", "({0} + 0.5) * {1} * {0}",
)  # fmt: skip
AUGMENTED = ("+=", "*=", "-=", "/=")


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

    def without(self, k: int) -> "Program":
        """The program with one statement less, which may not be one any more."""
        return replace(self, statements=self.statements[:k] + self.statements[k + 1 :])

    def __str__(self) -> str:
        points = [f"{name} = {written(x)}" for name, x in zip(self.names, self.inputs, strict=True)]
        numbers, names = tuple(range(len(self.inputs))), ", ".join(self.names)
        call = f"contad.grad(f, {numbers})({names})" if self.result == "s" else f"contad.vjp(f, {names})"
        return "\n".join(["import contad", "import numpy as np", "", self.source, "", *points, f"print({call})"])


def written(x: Any) -> str:
    """A number or an array as source."""
    if not isinstance(x, np.ndarray):
        return repr(float(x))
    return f"np.array({x.tolist()!r})" if x.size else f"np.zeros({x.shape})"


def shrunk(program: Program, fails: Callable[[Program], bool]) -> Program:
    """A program that fails and of which no statement can be left out: the last ones are tried first."""
    k = len(program.statements)
    while k > 0:
        k -= 1
        shorter = program.without(k)
        if fails(shorter):
            program = shorter
            k = min(k + 1, len(program.statements))
    return program


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


class Builder:
    """Writes a program statement by statement and runs it on floats."""

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

    def program(self) -> Program:
        """A random program."""
        r = self.random
        for k, x in enumerate(self.inputs):  # something that depends on the input stays when it is overwritten
            if isinstance(x, np.ndarray):
                self.define("elementwise", r.choice(UNARY[:4]).format(f"x{k}"), assignable=self.chance(0.5))
        goal = len(self.statements) + r.randint(*STATEMENTS)
        kinds = list(FREQUENCIES)
        weights = list(FREQUENCIES.values())
        while len(self.statements) < goal:
            (kind,) = r.choices(kinds, weights)
            self.attempt(kind)
        return self.finished()

    def attempt(self, kind: str) -> None:
        """Append a statement of this kind, unless none fits or the one that was tried had to be taken back."""
        state = list(self.statements), list(self.arrays), list(self.scalars), list(self.constants)
        try:
            getattr(self, kind)()
        except Inapplicable:
            pass
        except Rejected as reason:
            self.rejected[str(reason)] += 1
        else:
            return
        taken_back = len(state[0]) < len(self.statements)
        self.statements, self.arrays, self.scalars, self.constants = state
        if taken_back:
            self.restart()

    def finished(self) -> Program:
        """The program whose result depends on every live array and scalar, each in its own way."""
        for entry in self.arrays:
            value = self.scope[entry.name]
            if value.size:
                self.emit("result", f"s = s + np.sum({entry.name} * {self.constant(value.shape)})")
        for k, name in enumerate(self.scalars):
            self.emit("result", f"s = s + {0.3 + 0.1 * k:.1f} * {name}")
        result = "s"
        arrays = [e.name for e in self.arrays if e.assignable and self.scope[e.name].size]
        if arrays and self.random.random() < 0.3:
            r = self.random.choice(arrays)
            result = self.random.choice([f"s, {r}", f"s, {r}", f"{r} + s", f"{r} + s", f"{r} * s, {r}", r])
        return Program(self.inputs, tuple(self.statements), result)

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
        """A constant array of that shape that has a name; now and then one that was used before."""
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

    # ---- statements: values ------------------------------------------------------------------------------------------
    def elementwise(self) -> None:
        entry = self.array()
        form = self.random.choice(UNARY)
        if "abs" in form:
            self.separate(entry.name, "0.0")
        self.define("elementwise", form.format(entry.name), entry.assignable)

    def combination(self) -> None:
        """An operation of two operands that are broadcast against each other."""
        r = self.random
        entry = self.array()
        x = entry.name
        shape = self.scope[x].shape
        if self.chance(0.25) and shape:  # broadcast from both sides
            k = r.randrange(len(shape))
            shape = (*shape[:k], 1, *shape[k + 1 :])
        y = x if self.chance(0.12) else self.operand(shape)
        try:
            np.broadcast_shapes(np.shape(self.value(y)), self.scope[x].shape)
        except ValueError:
            raise Inapplicable from None
        x, y = (x, y) if self.chance(0.6) else (y, x)
        form = r.choice(BINARY)
        if "imum" in form:
            self.separate(x, y)
        self.define("combination", form.format(x, y), entry.assignable)

    def view(self) -> None:
        entry = self.array()
        shape = self.scope[entry.name].shape
        self.define("view", f"{entry.name}[{self.index(shape)}]", entry.assignable)

    def movement(self) -> None:
        """A view, or where NumPy must a copy, by a function."""
        r = self.random
        entry = self.array()
        a, name = self.scope[entry.name], entry.name
        forms = [f"{name}.ravel()", f"{name}.reshape(-1)", f"{name}.T", f"np.ravel({name})", f"{name}.copy()"]
        if a.size:
            forms += [f"{name}.reshape{self.factors(a.size)}", f"np.reshape({name}, {self.factors(a.size)})"]
        if a.ndim >= 2:
            axes = r.sample(range(a.ndim), a.ndim)
            two = r.sample(range(a.ndim), 2)
            forms += [f"{name}.transpose({axes})", f"np.transpose({name}, {axes})"]
            forms += [f"np.swapaxes({name}, {two[0]}, {two[1]})", f"{name}.swapaxes({two[0]}, {two[1]})"]
            forms += [f"np.diagonal({name})", f"{name}.diagonal({r.choice([0, 1])})"]
        if a.ndim < 3:
            shape = tuple(r.randint(1, 3) if n == 1 else n for n in (*[1] * r.randint(0, 1), *a.shape))
            forms += [f"np.broadcast_to({name}, {shape})"] * 2
        self.define("movement", r.choice(forms), entry.assignable)

    def factors(self, size: int) -> Shape:
        """A shape of that size."""
        shapes = [s for s in [(size,), (1, size), (size, 1)] + [(n, size // n) for n in (2, 3, 4) if size % n == 0]]
        shapes += [(2, 2, size // 4)] * (size % 4 == 0) + [(2, 1, size // 2)] * (size % 2 == 0)
        return self.random.choice(shapes)

    def read(self) -> None:
        entry = self.array(empty=0.0)
        self.define("read", f"{entry.name}[{self.element(self.scope[entry.name].shape)}]")

    def arithmetic(self) -> None:
        """Arithmetic on scalars; `+=` makes a new one."""
        if self.scalars and self.chance(0.25):
            x, name = self.random.choice(self.scalars), self.fresh("a")
            self.emit("arithmetic", f"{name} = {x}", f"{name} {self.random.choice(['+=', '*='])} {self.scalar()}")
            self.scalars.append(name)
            return
        forms = ["{} * {}", "{} + 0.5 * {}", "{0} / (1.5 + {1} * {1})", "np.sin({}) * {}", "{} - np.tanh({})"]
        self.define("arithmetic", self.random.choice(forms).format(self.scalar(), self.scalar()))

    def gathering(self) -> None:
        """A copy by a fancy index."""
        entry = self.array()
        shape = self.scope[entry.name].shape
        self.define("gathering", f"{entry.name}[{self.fancy(shape)}]", entry.assignable)

    def masking(self) -> None:
        """A copy by a comparison."""
        entry = self.array()
        text = f"{entry.name} {self.random.choice('<>')} {self.threshold(self.scope[entry.name])}"
        self.define("masking", f"{entry.name}[{text}]", entry.assignable)

    def taking(self) -> None:
        entry = self.array(lambda a: a.ndim > 0 and a.size > 0)
        shape = self.scope[entry.name].shape
        axis = self.axis_of(len(shape))
        positions = [self.position(shape[axis]) for _ in range(self.random.randint(1, 4))]
        self.define("taking", f"np.take({entry.name}, {positions}, axis={axis})", entry.assignable)

    def mixture(self) -> None:
        """An array of scalar variables meets an array."""
        n = self.random.randint(1, 3)
        scalars = f"np.array([{', '.join(self.scalar() for _ in range(n))}], dtype=object)"
        entry = self.array(lambda a: a.ndim > 0 and a.shape[-1] in (1, n))
        x = f"{entry.name}, {scalars}".split(", ", 1)
        self.define("mixture", self.random.choice(["{} * {}", "{1} + {0}", "{} - {}"]).format(*x), entry.assignable)

    # ---- statements: assignment --------------------------------------------------------------------------------------
    def target(self) -> tuple[str, Shape]:
        """A part of an array to assign to, and its shape."""
        name = self.array(assigned=True).name
        a = self.scope[name]
        chance = self.random.random()
        if chance < 0.25:
            text = f"{name}[{self.element(a.shape)}]"
        elif chance < 0.65 or not a.ndim:
            text = f"{name}[{self.index(a.shape)}]"
        elif chance < 0.75:
            text = f"{name}[{self.random.choice(['...', ':'])}]"
        elif chance < 0.9:
            text = f"{name}[{self.fancy(a.shape)}]"
        else:
            text = f"{name}[{name} {self.random.choice('<>')} {self.threshold(a)}]"
        return text, np.shape(self.value(text))

    def new_value(self, target: str, shape: Shape) -> str:
        """What to assign: not too often a constant, and often a part of the array that is written."""
        chance = self.random.random()
        if shape == ():
            s = self.scalar()
            return s if chance < 0.4 else self.floating() if chance < 0.5 else f"{s} * {self.scalar()}"
        text = self.operand(shape, of=[target.partition("[")[0]])
        return text if chance < 0.5 else f"{text} * {self.scalar()}" if chance < 0.8 else f"0.5 * {text} + 0.2"

    def assignment(self) -> None:
        target, shape = self.target()
        self.emit(f"assignment to {what(target, shape)}", f"{target} = {self.new_value(target, shape)}")

    def augmented(self) -> None:
        """+= and the like, on an array, a view or a part."""
        r = self.random
        if self.chance(0.45):
            target = self.array(assigned=True).name
            shape = self.scope[target].shape
        else:
            target, shape = self.target()
        value = self.new_value(target, shape)
        operator = r.choice(AUGMENTED)
        if operator == "/=":
            value = f"1.5 + ({value}) ** 2"
        self.emit(f"augmented {operator}", f"{target} {operator} {value}")

    def overlap(self) -> None:
        """A part of an array is assigned to another part that may overlap with it."""
        name = self.array(lambda a: a.ndim > 0 and max(a.shape) > 1, assigned=True).name
        a = self.scope[name]
        for _ in range(20):
            x, y = (f"{name}[{self.index(a.shape, new=0.0)}]" for _ in range(2))
            u, v = self.value(x), self.value(y)
            if x != y and isinstance(u, np.ndarray) and u.shape == np.shape(v) and np.shares_memory(u, v):
                break
        else:
            raise Inapplicable
        form = self.random.choice(["{} = {}", "{} = {} * 1.3", "{} += {}", "{} *= {}", "{0} = {1} * {0}", "{} -= {}"])
        self.emit("overlap", form.format(x, y))

    def swap(self) -> None:
        """Elements, rows or columns change places, in all the ways people write it; with rows, NumPy has its own."""
        r = self.random
        name = self.array(lambda a: a.ndim > 0 and a.size > 1, assigned=True).name
        shape = self.scope[name].shape
        i, j = f"{name}[{self.element(shape)}]", f"{name}[{self.element(shape)}]"
        forms = [(f"t = {i}", f"{i} = {j}", f"{j} = t"), (f"{i}, {j} = {j}, {i}",)]
        if shape[0] > 1:
            m, n = r.sample(range(shape[0]), 2)
            forms += [(f"{name}[[{m}, {n}]] = {name}[[{n}, {m}]]",)]
            forms += [(f"{name}[{m}], {name}[{n}] = {name}[{n}], {name}[{m}]",)] * (len(shape) > 1)
            forms += [(f"t = {name}[{m}].copy()", f"{name}[{m}] = {name}[{n}]", f"{name}[{n}] = t")] * (len(shape) > 1)
        self.emit("swap", *r.choice(forms))

    def overwritten(self) -> None:
        """An old element is used after two others took its place."""
        entry = self.array(assigned=True)
        i = f"{entry.name}[{self.element(self.scope[entry.name].shape)}]"
        t = self.fresh("t")
        second = self.random.choice([f"{i} * 0.5 + {self.scalar()}", self.floating(), f"np.sin({i})"])
        self.emit("overwritten", f"{t} = {i}", f"{i} = {t} * {self.scalar()}", f"{i} = {second}", f"s = s + {t} * {i}")
        self.scalars.append(t)

    def captured(self) -> None:
        """A slice, a copy or a function of an array, taken before an assignment and used after it."""
        r = self.random
        name = self.array(lambda a: a.ndim > 0, assigned=True).name
        shape = self.scope[name].shape
        form = r.choice([f"{name}[{self.index(shape, integers=0.15)}]", f"{name}.copy()", f"{name} * {name}", f"{name}.T"])
        if not np.ndim(self.value(form)):
            raise Inapplicable
        before, after = self.fresh("a"), self.fresh("a")
        target = f"{name}[{self.index(shape)}]"
        value = self.new_value(target, np.shape(self.value(target)))
        if self.chance(0.4):  # used before, too
            lines = (f"{after} = np.sum({before} * {name}.ravel()[0])", f"{target} = {value}", f"{after} += np.sum({before} * 0.7)")
        else:
            lines = (f"{target} = {value}", f"{after} = np.sin({before}) * {name}.ravel()[-1]")
        self.emit("captured", f"{before} = {form}", *lines)
        for x in (before, after):
            (self.arrays.append(Entry(x)) if isinstance(self.scope[x], np.ndarray) else self.scalars.append(x))

    def flattened(self) -> None:
        """Whether a reshaped array is a view depends on its layout in memory: that of a result, or of a copy."""
        r = self.random
        entry = self.array(lambda a: a.ndim > 1 and min(a.shape) > 1, empty=0.0)
        a, x = self.scope[entry.name], entry.name
        columns = [self.position(a.shape[1]) for _ in range(r.randint(2, 3))]
        makers = ["{}[:, {}]", "{0}[:, {1}]", "np.sin({0}.T)", "{0}.T * {0}.T", "0.5 * {0}.T", "np.take({0}, {1}, axis=1)",
                  "{0}.T.copy()", "np.copy({0}.T)", "{0}.swapaxes(0, 1) + {0}.swapaxes(0, 1)", "{0}[::-1] * 1.3",
                  "np.cumsum({0}.T, axis=0)", "{0}[..., ::-1]", "np.flip({0}, axis=0)", "np.zeros_like({0}.T)"]  # fmt: skip
        first, second = self.fresh("a"), self.fresh("a")
        made = r.choice(makers).format(x, columns)
        flat = r.choice(["{}.reshape(-1)", "{}.ravel()", "{}.T.reshape(-1)", "{}.T.ravel()", "np.ravel({}.T)"])
        size = np.size(self.value(made))
        i, written = self.position(size), r.choice([first, second])
        target = f"{second}[{i}]" if written is second else f"{first}[{self.element(np.shape(self.value(made)))}]"
        lines = (f"{first} = {made}", f"{second} = {flat.format(first)}", f"{target} = {self.scalar()} * 0.7")
        self.emit("flattened", *lines)
        self.arrays += [Entry(first), Entry(second)]

    def weights(self) -> None:
        """A buffer of constants is written anew between two uses."""
        r = self.random
        entry = self.array(lambda a: a.ndim in (1, 2), empty=0.0)
        x, n = entry.name, self.scope[entry.name].shape[-1]
        w, i = self.buffer((n,)), self.fresh("i")
        used = r.choice([f"np.dot({x}, {w})", f"{x} @ {w}", f"np.sum({w} * {x}, axis=-1)", f"({x} * {w}).sum(axis=-1)"])
        if self.scope[x].ndim == 2:
            used = f"np.sin({used})[{self.position(self.scope[x].shape[0])}]"
        fill = r.choice([f"{w}[:] = 0.0", f"{w} *= 0.5"])
        self.emit("weights", f"for {i} in range({n}):", f"    {fill}", f"    {w}[{i}] = {i} + 1.0", f"    s = s + 0.3 * {used}")

    def filled(self) -> None:
        """A buffer of variables, filled in a loop."""
        r = self.random
        entry = self.array(lambda a: a.ndim > 0, empty=0.0)
        x, shape = entry.name, self.scope[entry.name].shape
        z, i = self.fresh("a"), self.fresh("i")
        make = r.choice(["np.zeros_like({})", "np.zeros_like({})", "np.ones_like({})", "np.full_like({}, 0.7)", "{}.copy()"])
        bodies = [f"{z}[{i}] = {z}[{i} - 1] * 0.6 + {x}[{i}]", f"{z}[{i}] += {x}[{i}] * {x}[{i} - 1]",
                  f"{z}[-{i}] = {x}[{i}] * {self.scalar()}", f"{z}[{i}] = {i} + 0.5"]  # fmt: skip
        if shape[0] > 1:
            bodies += [f"{z}[:{i}] += {x}[1:{i} + 1]", f"{z}[{i}:] = {z}[{i}:] * {x}[{i}]"]
        body = r.choice(bodies)
        self.emit("filled", f"{z} = {make.format(x)}", f"for {i} in range({shape[0]}):", f"    {body}")
        self.arrays.append(Entry(z))

    def overridden(self) -> None:
        """A constant is written over a variable, read back, and combined with what stands beside it."""
        entry = self.array(assigned=True)
        name, shape = entry.name, self.scope[entry.name].shape
        i, j = f"{name}[{self.element(shape)}]", f"{name}[{self.element(shape)}]"
        use = self.random.choice([f"s = s + {i} * {j}", f"s = s + np.sin({i}) + {j}", f"{j} = {i} * {j}"])
        self.emit("overridden", f"s = s + 0.1 * np.sum({name} * {name})", f"{i} = {self.floating()}", use)

    # ---- statements: functions ---------------------------------------------------------------------------------------
    def reduction(self) -> None:
        r = self.random
        entry = self.array(empty=0.05)
        a, x = self.scope[entry.name], entry.name
        name = r.choice(["sum", "sum", "mean", "prod", "cumsum", "max", "min", "var"])
        if not a.size and name not in ("sum", "prod"):
            raise Inapplicable
        options = []
        axis: Any = None
        if a.ndim and self.chance(0.7):
            axis = self.axis_of(a.ndim)
            if a.ndim > 1 and name != "cumsum" and self.chance(0.2):
                axis = tuple(r.sample(range(a.ndim), 2))
            options.append(f"axis={axis}")
        if name != "cumsum" and self.chance(0.3):
            options.append("keepdims=True")
        if name in ("max", "min"):
            self.separate_along(a, axis)
        method = name != "var" and self.chance(0.5)
        self.define(name, f"{x}.{name}({', '.join(options)})" if method else f"np.{name}({', '.join([x, *options])})")

    def separate_along(self, a: Any, axis: Any) -> None:
        """Reject where two of the numbers that a reduction compares nearly tie."""
        kept = [] if axis is None else [k for k in range(a.ndim) if k not in np.atleast_1d(np.mod(axis, a.ndim))]
        rows = np.transpose(a, [*kept, *(k for k in range(a.ndim) if k not in kept)])
        rows = np.sort(rows.reshape(int(np.prod([a.shape[k] for k in kept])), -1), axis=1)
        if np.any(np.diff(rows, axis=1) <= APART):
            raise Rejected("a tie")

    def rearrangement(self) -> None:
        r = self.random
        entry = self.array(lambda a: a.ndim > 0, empty=0.05)
        a, x = self.scope[entry.name], entry.name
        axis = self.axis_of(a.ndim)
        name = r.choice(["concatenate", "stack", "roll", "flip", "tile", "repeat", "where", "diag", "tril"])
        if name == "concatenate":
            shape = tuple(r.randint(1, 2) if k == axis % a.ndim else n for k, n in enumerate(a.shape))
            y = self.random.choice([x, self.constant(shape), f"{x}[{'::-1' if a.ndim < 2 else ':'}] * 0.5"])
            text = f"np.concatenate([{x}, {y}{r.choice(['', ', ' + x])}], axis={axis})"
        elif name == "stack":
            text = f"np.stack([{x}, {r.choice([self.constant(a.shape), x + ' * 0.3'])}, {x}], axis={axis})"
        elif name == "roll":
            text = f"np.roll({x}, {r.choice([1, -1, 2])}{r.choice(['', f', axis={axis}'])})"
        elif name == "flip":
            text = f"np.flip({x}{r.choice(['', f', axis={axis}'])})"
        elif name == "tile":
            text = f"np.tile({x}, {r.choice(['2', '(2, 1)', '(1, 2)'])})"
        elif name == "repeat":
            counts = [r.randint(0, 2) for _ in range(a.shape[axis])]
            text = f"np.repeat({x}, {r.choice(['2', '3', f'2, axis={axis}', f'{counts}, axis={axis}'])})"
        elif name == "where":
            first, second = (self.operand(a.shape) for _ in range(2))
            first, second = r.choice([(x, second), (first, x)])
            text = f"np.where({x} {r.choice('<>')} {self.threshold(a)}, {first}, {second})"
        else:
            if a.ndim > 2 or (name == "tril" and a.ndim < 2):
                raise Inapplicable
            text = f"np.{name}({x}{r.choice(['', ', 1', ', -1'])})"
        if np.size(self.value(text)) > 48:
            raise Inapplicable
        self.define(name, text)

    def product(self) -> None:
        r = self.random
        entry = self.array(lambda a: a.ndim in (1, 2), empty=0.05)
        a, x = self.scope[entry.name], entry.name
        name = r.choice(["dot", "dot", "matmul", "matmul", "outer", "einsum", "einsum"])
        if name == "outer":
            y = r.choice([x, self.array(lambda b: 0 < b.size < 6).name])
            text = f"np.outer({x}, {y})"
        else:
            wanted = r.choice([(a.shape[-1],), (a.shape[-1], r.randint(1, 3))])
            found = [e.name for e in self.arrays if (b := self.scope[e.name]).ndim in (1, 2) and b.shape[0] == a.shape[-1]]
            y = r.choice(found + [f"{x}.T"] * 2) if self.chance(0.75) else self.constant(wanted)
            if self.chance(0.25) and a.ndim == 2:  # a constant on the left
                k = f"{self.constant((r.randint(1, 3), a.shape[0]))}"
                x, y = k, x
            first, second = self.value(x).ndim, self.value(y).ndim
            if name == "dot":
                # not the method of a plain array, which asks its argument for an array of floats
                text = f"{x}.dot({y})" if x == entry.name and self.chance(0.5) else f"np.dot({x}, {y})"
            elif name == "matmul":
                text = r.choice([f"np.matmul({x}, {y})", f"{x} @ {y}"])
            elif self.chance(0.25) and a.ndim == 2:
                text = f"np.einsum('{r.choice(['ij->j', 'ij->ji', 'ij->'])}', {entry.name})"
            else:
                left, right = "ij"[2 - first :], "jk"[:second]
                result = r.choice([left[:-1] + right[1:], right[1:] + left[:-1], left + right[1:]])
                text = f"np.einsum('{left},{right}->{result}', {x}, {y})"
        if np.size(self.value(text)) > 48:
            raise Inapplicable
        self.define(name, text)


def root(a: Any) -> Any:
    """The array that a view is a view of."""
    while isinstance(a.base, np.ndarray):
        a = a.base
    return a


def what(target: str, shape: Shape) -> str:
    """How an assignment's target is chosen."""
    index = target.partition("[")[2].removesuffix("]")
    if "<" in index or ">" in index or "True" in index:
        return "mask"
    if "[" in index:
        return "fancy index"
    if index in ("...", ":"):
        return "whole"
    return "slice" if shape or ":" in index or "." in index else "element"


FREQUENCIES = {
    "elementwise": 4, "combination": 8, "view": 7, "movement": 6, "read": 2, "arithmetic": 2, "gathering": 3,
    "masking": 2, "taking": 1, "mixture": 1, "assignment": 9, "augmented": 8, "overlap": 3, "swap": 2, "overwritten": 2,
    "captured": 3, "flattened": 2, "weights": 2, "filled": 2, "overridden": 2, "reduction": 6, "rearrangement": 7, "product": 5,
}  # fmt: skip


def generate(seed: int | str, layouts: bool = True) -> tuple[Program, Counter[str]]:
    """The random program of a seed, and the statements that were taken back on the way, by reason.

    Results of NumPy's functions on transposed arrays are in Fortran order, so that another reshape is a view. Without
    `layouts` there are no such results.
    """
    builder = Builder(seed, layouts)
    return builder.program(), builder.rejected


if __name__ == "__main__":
    from tests.array_agreement import main

    main()
