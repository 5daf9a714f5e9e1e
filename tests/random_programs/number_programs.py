"""Random programs over scalars: expression graphs, loops, branches, nested derivatives, over every registered rule.

A program is a list of steps. One interpreter runs it on floats, variables, duals and mpmath numbers: what an operation
means is the business of an `Arithmetic`. `str(program)` is Python source to paste.

`generate` makes a program of genes, which are tuples of small integers, so that Hypothesis can draw and shrink them.
Every register carries an interval; an operand that may leave the safe box of a rule is first squashed into it by other
operations. Boxes are found around the points that a rule declares (`tests.judges.domains`), so a new rule takes part by
itself.

    python -m tests.random_programs.number_programs --count 100000 --seed 1
"""

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import contad
from contad.variables.number import Number
from tests.judges.domains import RULES, Interval, flat, has_ties, image, safe_boxes

Operand = str | int | float  # the name of a register, or a constant
Registers = dict[str, Any]

COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
OPERATORS: dict[str, tuple[str, Callable[..., Any]]] = {
    "add": ("{} + {}", operator.add), "sub": ("{} - {}", operator.sub), "mul": ("{} * {}", operator.mul),
    "truediv": ("{} / {}", operator.truediv), "floordiv": ("{} // {}", operator.floordiv),
    "mod": ("{} % {}", operator.mod), "pow": ("{} ** {}", operator.pow), "neg": ("-{}", operator.neg),
    "abs": ("abs({})", abs),
}  # fmt: skip


# ---- steps -----------------------------------------------------------------------------------------------------------
class Arithmetic:
    """contad's operations, as the interpreter calls them; reverse mode inside a program is done by `engine`."""

    def __init__(self, engine: str | None = None) -> None:
        self.engine = engine

    def operation(self, step: "Operation", args: list[Any]) -> Any:
        """An operation, called in the form that the step asks for."""
        if step.form == "operator":
            return OPERATORS[RULES[step.name].operator or ""][1](*args)
        if step.form == "contad" or not any(isinstance(x, Number) for x in args):
            return RULES[step.name](*args)
        return ufunc_named(step.form)(*args)

    def compare(self, symbol: str, x: Any, y: Any) -> Any:
        """A comparison."""
        return COMPARISONS[symbol](x, y)

    def select(self, condition: Any, x: Any, y: Any) -> Any:
        """A choice without a branch."""
        return contad.select(condition, x, y)

    def constant(self, x: Any) -> Any:
        """x without its derivatives."""
        return contad.stop_gradient(x)

    def differentiate(self, transform: str, f: Callable[[Any], Any], x: Any) -> Any:
        """f'(x) by `grad` or by `derivative`."""
        return contad.grad(f, engine=self.engine)(x) if transform == "grad" else contad.derivative(f)(x)


@functools.cache
def ufunc_named(name: str) -> Any:
    """The ufunc called "np.exp" or "scipy.special.expit"."""
    if name.startswith("np."):
        return getattr(np, name[3:])
    import scipy.special

    return getattr(scipy.special, name.rpartition(".")[2])


def path(name: str) -> str:
    """A rule as source: a few are not exported."""
    return f"contad.ops.{name}" if name in contad.ops.__all__ else f"{RULES[name].__module__}.{name}"


def read(registers: Registers, x: Operand) -> Any:
    """The number that an operand stands for."""
    return registers[x] if x.__class__ is str else x  # type: ignore[index]


def execute(body: Sequence["Step"], registers: Registers, arithmetic: Arithmetic) -> None:
    """Run the steps of a body in order."""
    for step in body:
        step.execute(registers, arithmetic)


def written(x: Operand) -> str:
    """An operand as source."""
    if isinstance(x, str):
        return x
    text = f"np.float64({float(x)!r})" if isinstance(x, np.float64) else repr(x)
    return f"({text})" if text.startswith("-") else text


def indented(lines: Sequence[str]) -> list[str]:
    """The lines of a nested block."""
    return [f"    {line}" for line in lines] or ["    pass"]


def source(body: Sequence["Step"]) -> list[str]:
    """The lines of a body."""
    return [line for step in body for line in step.lines()]


@dataclass(frozen=True)
class Operation:
    """target = name(*args), in the form "contad", "operator", or a ufunc's dotted name."""

    target: str
    name: str
    form: str
    args: tuple[Operand, ...]

    def execute(self, registers: Registers, arithmetic: Arithmetic) -> None:
        registers[self.target] = arithmetic.operation(self, [read(registers, x) for x in self.args])

    def lines(self) -> list[str]:
        args = [written(x) for x in self.args]
        if self.form == "operator":
            return [f"{self.target} = {OPERATORS[RULES[self.name].operator or ''][0].format(*args)}"]
        function = path(self.name) if self.form == "contad" else self.form
        return [f"{self.target} = {function}({', '.join(args)})"]


@dataclass(frozen=True)
class Constant:
    """target = stop_gradient(arg)."""

    target: str
    arg: Operand

    def execute(self, registers: Registers, arithmetic: Arithmetic) -> None:
        registers[self.target] = arithmetic.constant(read(registers, self.arg))

    def lines(self) -> list[str]:
        return [f"{self.target} = contad.stop_gradient({written(self.arg)})"]


@dataclass(frozen=True)
class Comparison:
    """A comparison of two operands."""

    symbol: str
    x: Operand
    y: Operand

    def holds(self, registers: Registers, arithmetic: Arithmetic) -> Any:
        return arithmetic.compare(self.symbol, read(registers, self.x), read(registers, self.y))

    def __str__(self) -> str:
        return f"{written(self.x)} {self.symbol} {written(self.y)}"


@dataclass(frozen=True)
class Select:
    """target = select(test, x, y): both operands are computed."""

    target: str
    test: Comparison
    x: Operand
    y: Operand

    def execute(self, registers: Registers, arithmetic: Arithmetic) -> None:
        condition = self.test.holds(registers, arithmetic)
        registers[self.target] = arithmetic.select(condition, read(registers, self.x), read(registers, self.y))

    def lines(self) -> list[str]:
        return [f"{self.target} = contad.select({self.test}, {written(self.x)}, {written(self.y)})"]


@dataclass(frozen=True)
class Branch:
    """if test: ... target = x; else: ... target = y."""

    target: str
    test: Comparison
    body: tuple["Step", ...]
    x: Operand
    orelse: tuple["Step", ...]
    y: Operand

    def execute(self, registers: Registers, arithmetic: Arithmetic) -> None:
        taken, result = (self.body, self.x) if self.test.holds(registers, arithmetic) else (self.orelse, self.y)
        execute(taken, registers, arithmetic)
        registers[self.target] = read(registers, result)

    def lines(self) -> list[str]:
        then = indented([*source(self.body), f"{self.target} = {written(self.x)}"])
        orelse = indented([*source(self.orelse), f"{self.target} = {written(self.y)}"])
        return [f"if {self.test}:", *then, "else:", *orelse]


@dataclass(frozen=True)
class Loop:
    """carried = start; for index in range(count): ... carried = following."""

    index: str
    count: int
    carried: tuple[str, ...]
    start: tuple[Operand, ...]
    body: tuple["Step", ...]
    following: tuple[Operand, ...]

    def execute(self, registers: Registers, arithmetic: Arithmetic) -> None:
        self._carry(registers, self.start)
        for k in range(self.count):
            registers[self.index] = k
            execute(self.body, registers, arithmetic)
            self._carry(registers, self.following)

    def _carry(self, registers: Registers, operands: tuple[Operand, ...]) -> None:
        registers.update(zip(self.carried, [read(registers, x) for x in operands], strict=True))

    def lines(self) -> list[str]:
        names = ", ".join(self.carried)
        start, following = (", ".join(map(written, operands)) for operands in (self.start, self.following))
        body = indented([*source(self.body), f"{names} = {following}"])
        return [f"{names} = {start}", f"for {self.index} in range({self.count}):", *body]


@dataclass(frozen=True)
class Derivative:
    """target = f'(x) where f(argument) is a body that also sees the registers around it."""

    target: str
    transform: str  # "grad" or "derivative"
    function: str
    argument: str
    body: tuple["Step", ...]
    result: Operand
    x: Operand

    def execute(self, registers: Registers, arithmetic: Arithmetic) -> None:
        def f(u: Any) -> Any:
            local = {**registers, self.argument: u}
            execute(self.body, local, arithmetic)
            return read(local, self.result)

        registers[self.target] = arithmetic.differentiate(self.transform, f, read(registers, self.x))

    def lines(self) -> list[str]:
        body = indented([*source(self.body), f"return {written(self.result)}"])
        call = f"contad.{self.transform}({self.function})({written(self.x)})"
        return [f"def {self.function}({self.argument}):", *body, f"{self.target} = {call}"]


Step = Operation | Constant | Select | Branch | Loop | Derivative


@dataclass(frozen=True)
class Program:
    """Steps over the inputs x0, x1, ..., and the point at which the gradient is asked for."""

    point: tuple[float, ...]
    body: tuple[Step, ...]
    result: str

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(f"x{k}" for k in range(len(self.point)))

    def function(self, arithmetic: Arithmetic) -> Callable[..., Any]:
        """The program as a function of its inputs."""

        def f(*xs: Any) -> Any:
            registers: Registers = dict(zip(self.inputs, xs, strict=True))
            execute(self.body, registers, arithmetic)
            return registers[self.result]

        return f

    def __str__(self) -> str:
        lines = indented([*source(self.body), f"return {self.result}"])
        text = "\n".join([f"def f({', '.join(self.inputs)}):", *lines])
        modules = {"np.": "numpy as np", "scipy.special.": "scipy.special"}
        modules |= {f"{rule.__module__}.": rule.__module__ for rule in RULES.values()}
        imports = ["import contad", *(f"import {module}" for prefix, module in modules.items() if prefix in text)]
        argnums = tuple(range(len(self.point)))
        return "\n".join([*imports, "", text, "", f"print(contad.value_and_grad(f, {argnums})(*{self.point}))"])

    def __repr__(self) -> str:
        return f"<program of {len(source(self.body))} lines at {self.point}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))  # Hypothesis would print the fields


def steps(body: Sequence[Step]) -> Iterator[Step]:
    """The steps of a body and of the bodies in it."""
    for step in body:
        yield step
        for inner in ("body", "orelse"):
            yield from steps(getattr(step, inner, ()))


# ---- generation ------------------------------------------------------------------------------------------------------
@functools.cache
def forms(name: str) -> tuple[str, ...]:
    """The ways in which a rule can be called."""
    rule = RULES[name]
    ufuncs = [f"np.{u.__name__}" if not isinstance(u, str) else u for u in rule.ufuncs]
    return tuple((["operator"] * 2 if rule.operator else []) + ["contad"] + ufuncs)


class Gene(NamedTuple):
    """One instruction to the generator; all fields are small integers, and 0 is the simplest of each."""

    kind: int = 0
    rule: int = 0
    x: int = 0
    y: int = 0
    constant: int = 0
    style: int = 0


FREQUENCIES = {"nothing": 1, "operation": 20, "branch": 2, "loop": 2, "select": 2, "derivative": 2, "constant": 1}
KINDS = [kind for kind, frequency in FREQUENCIES.items() for _ in range(frequency)]
LIMITS = Gene(len(KINDS) - 1, len(RULES) - 1, 63, 63, 127, 59)  # of the fields, inclusive
GENES = 12  # of a program
MAX_DEPTH = 2  # of loops and branches in each other
CARRIED: Interval = (-2.0, 2.0)


@dataclass
class Slot:
    """A register during generation."""

    name: str
    low: float
    high: float
    used: bool = False  # whether a derivative surely flows on from it
    discrete: bool = False  # whether it can only take a few values
    origins: frozenset[str] = frozenset()  # registers that it may be equal to

    def __post_init__(self) -> None:
        self.origins |= {self.name}

    @property
    def interval(self) -> Interval:
        return self.low, self.high


class Generator:
    """Turns genes into a program."""

    def __init__(self, genes: Sequence[Gene], point: tuple[float, ...]) -> None:
        self.genes = iter(genes)
        self.point = point
        self.scopes = [[Slot(f"x{k}", x, x) for k, x in enumerate(point)]]
        self.bodies: list[list[Step]] = [[]]
        self.names = itertools.count()
        self.made: dict[tuple[str, Interval, int], Slot] = {}  # by `fitted`
        self.depth = 0
        self.derivatives = 0
        self.doubtful = 0  # > 0 inside bodies that may not be run, or not be passed through by a derivative

    def program(self) -> Program:
        """The program of all genes; it returns a combination of every register that nothing else uses."""
        for gene in self.genes:
            self.step(gene)
        result = self.folded(self.scopes[0])
        return Program(self.point, tuple(self.bodies[0]), result.name)

    # ---- registers ---------------------------------------------------------------------------------------------------
    def fresh(self, prefix: str = "t") -> str:
        return f"{prefix}{next(self.names)}"

    def pick(self, choice: int, unlike: Slot | None = None, continuous: bool = False) -> Slot:
        """A visible register, the newest for 0; if possible, one that does not tie with another, or with a constant."""
        visible = [slot for scope in self.scopes for slot in scope]
        if choice % 4 == 3:  # rather one that nothing uses yet, so that expressions grow deep
            visible = [slot for slot in visible if not slot.used] or visible
        first = len(visible) - 1 - choice // 2 % len(visible)
        for k in range(first, first - len(visible), -1):
            slot = visible[k]
            if not (continuous and slot.discrete) and (unlike is None or not slot.origins & unlike.origins):
                return slot
        return visible[first]

    def emit(self, name: str, form: str, args: Sequence[Slot | float]) -> Slot:
        """Append an operation; its result's register."""
        for k, x in enumerate(args):
            if isinstance(x, Slot) and flat(name, k) == "never":
                self.use(x)
        low, high = image(name, [x.interval if isinstance(x, Slot) else (float(x), float(x)) for x in args])
        slots = [x for x in args if isinstance(x, Slot)]
        discrete = all(x.discrete for x in slots) or all(flat(name, k) == "always" for k in range(len(args)))
        origins = [x.origins for x in slots] if has_ties(name) else []
        slot = Slot(self.fresh(), low, high, discrete=discrete, origins=frozenset().union(*origins))
        operands = tuple(x.name if isinstance(x, Slot) else x for x in args)
        self.bodies[-1].append(Operation(slot.name, name, form, operands))
        self.scopes[-1].append(slot)
        return slot

    def use(self, slot: Slot) -> None:
        if not self.doubtful or any(slot is s for s in self.scopes[-1]):
            slot.used = True

    def fitted(self, slot: Slot, interval: Interval, style: int) -> Slot:
        """The register, or one made of it that stays inside the interval."""
        low, high = interval
        if low <= slot.low and slot.high <= high:
            return slot
        known = self.made.get((slot.name, interval, style % 4))
        if known is not None and any(known is s for scope in self.scopes for s in scope):
            return known
        middle, half = (low + high) / 2.0, (high - low) / 2.0
        size = max(abs(slot.low), abs(slot.high))
        if style % 4 == 0 and 0.05 * half < size < 20.0 * half:
            squashed, half = slot, half / size
        elif style % 4 == 1 and size < 40.0:
            squashed = self.emit("sin", "contad", [slot])
        elif style % 4 == 2 or size > 8.0:
            squashed = self.emit("divide", "operator", [slot, self.emit("hypot", "contad", [1, slot])])
        else:
            squashed = self.emit("tanh", "contad", [slot])
        scaled = self.emit("multiply", "operator", [squashed, short(0.97 * half)])
        if abs(middle) > 0.01 * half:
            scaled = self.emit("add", "operator", [short(middle), scaled] if style % 2 else [scaled, short(middle)])
        scaled.low, scaled.high = max(scaled.low, low), min(scaled.high, high)
        self.made[slot.name, interval, style % 4] = scaled
        return scaled

    def folded(self, slots: Sequence[Slot]) -> Slot:
        """One register that depends on all those that nothing uses yet, or the newest if there are none."""
        result, *others = [slot for slot in slots if not slot.used] or [self.pick(0)]
        for k, other in enumerate(others):
            small = max(abs(end) for slot in (result, other) for end in slot.interval) < 4.0
            result = self.emit(("add", "multiply" if small else "subtract", "add")[k % 3], "operator", [result, other])
        return result

    # ---- steps -------------------------------------------------------------------------------------------------------
    def step(self, gene: Gene) -> None:
        kind = KINDS[gene.kind]
        if kind in ("branch", "loop", "derivative"):
            if self.depth == MAX_DEPTH or (kind == "derivative" and self.derivatives == 2):
                kind = "operation"
            else:
                self.depth += 1
        if kind != "nothing":
            getattr(self, kind)(gene)

    def block(self, count: int, slots: Sequence[Slot] = ()) -> tuple[list[Slot], list[Step]]:
        """A nested body made of the next genes; it is left open, so that its result can be computed in it."""
        self.scopes.append(list(slots))
        self.bodies.append([])
        for gene in itertools.islice(self.genes, count):
            self.step(gene)
        return self.scopes[-1], self.bodies[-1]

    def close(self) -> None:
        self.scopes.pop()
        self.bodies.pop()

    def operation(self, gene: Gene) -> None:
        name = list(RULES)[gene.rule]
        boxes = safe_boxes(name)
        box = boxes[gene.style % len(boxes)]
        side = gene.constant % 4 - 2  # the argument that is a constant, if there is one
        ties = has_ties(name)
        args: list[Slot | float] = []
        for k, interval in enumerate(box):
            if interval[0] == interval[1]:
                args.append(int(interval[0]) if gene.style % 2 and interval[0].is_integer() else interval[0])
            elif len(box) > 1 and k == side:
                args.append(constant_in(interval, gene.constant // 4 / 31.0, gene.style))
            else:
                unlike = args[0] if k and ties and isinstance(args[0], Slot) else None
                slot = self.pick((gene.x, gene.y)[k % 2] + k // 2, unlike, continuous=ties)
                args.append(self.fitted(slot, interval, gene.style // 4))
        self.emit(name, forms(name)[gene.style % len(forms(name))], args)

    def constant(self, gene: Gene) -> None:
        arg = self.pick(gene.x)
        slot = Slot(self.fresh(), arg.low, arg.high, used=True, discrete=arg.discrete, origins=arg.origins)
        self.bodies[-1].append(Constant(slot.name, arg.name))
        self.scopes[-1].append(slot)
        self.emit("multiply", "operator", [slot, self.pick(gene.y)])

    def comparison(self, gene: Gene) -> Comparison:
        x = self.pick(gene.x, continuous=True)
        y: Slot | float = self.pick(gene.y, unlike=x, continuous=True)
        if y.origins & x.origins or gene.constant % 2:
            around = (x.low - 1.0, x.high + 1.0) if math.isfinite(x.high - x.low) else CARRIED
            y = constant_in(around, gene.constant / 127.0, gene.style)
        return Comparison(list(COMPARISONS)[gene.style % 4], x.name, y.name if isinstance(y, Slot) else y)

    def select(self, gene: Gene) -> None:
        test = self.comparison(gene)
        x, y = self.pick(gene.y), self.pick(gene.x + gene.y)
        slot = Slot(self.fresh(), min(x.low, y.low), max(x.high, y.high), origins=x.origins | y.origins)
        self.bodies[-1].append(Select(slot.name, test, x.name, y.name))
        self.scopes[-1].append(slot)

    def branch(self, gene: Gene) -> None:
        test = self.comparison(gene)
        self.doubtful += 1
        sides = []
        for count in (1 + gene.x % 2, 1 + gene.y % 2):
            slots, body = self.block(count)
            result = self.folded(slots)
            self.close()
            sides.append((tuple(body), result))
        self.doubtful -= 1
        self.depth -= 1
        (body, x), (orelse, y) = sides
        slot = Slot(self.fresh(), min(x.low, y.low), max(x.high, y.high), origins=x.origins | y.origins)
        self.bodies[-1].append(Branch(slot.name, test, body, x.name, orelse, y.name))
        self.scopes[-1].append(slot)

    def loop(self, gene: Gene) -> None:
        choices = (gene.x, gene.y)[: 1 + gene.style % 2]
        start = [self.fitted(self.pick(choice), CARRIED, gene.style) for choice in choices]
        for slot in start:
            self.use(slot)
        origins = frozenset().union(*(slot.origins for slot in start))
        carried = [Slot(self.fresh("c"), *CARRIED, origins=origins) for _ in start]
        count = 2 + gene.constant % 3
        index = Slot(self.fresh("k"), 0.0, count - 1.0, used=True, discrete=True)
        slots, body = self.block(1 + gene.rule % 3, [index, *carried])
        following = [self.fitted(self.folded(slots), CARRIED, gene.style // 2), *carried[:-1]]
        self.close()
        self.depth -= 1
        names, starts, ends = (tuple(slot.name for slot in slots) for slots in (carried, start, following))
        self.bodies[-1].append(Loop(index.name, count, names, starts, tuple(body), ends))
        self.scopes[-1] += [Slot(name, *CARRIED) for name in names]

    def derivative(self, gene: Gene) -> None:
        x = self.fitted(self.pick(gene.x), CARRIED, gene.style)
        argument = Slot(self.fresh("u"), *CARRIED)
        self.doubtful += 1
        self.derivatives += 1
        slots, body = self.block(1 + gene.y % 3, [argument])
        result = self.folded(slots)
        self.close()
        self.doubtful -= 1
        self.derivatives -= 1
        self.depth -= 1
        slot = Slot(self.fresh(), -math.inf, math.inf)
        transform = ("grad", "derivative")[gene.style % 2]
        self.bodies[-1].append(
            Derivative(slot.name, transform, self.fresh("g"), argument.name, tuple(body), result.name, x.name)
        )
        self.scopes[-1].append(slot)


def short(x: float) -> float:
    """x in a few digits."""
    return float(f"{x:.3g}")


def constant_in(interval: Interval, fraction: float, style: int) -> int | float:
    """A constant in an interval: a float, a NumPy float or, where there is one, an int."""
    low, high = max(interval[0], -8.0), min(interval[1], 8.0)
    x = short(low + (0.03 + 0.94 * fraction) * (high - low))
    if style % 3 == 1 and low <= round(x) <= high and round(x):
        return round(x)
    return np.float64(x) if style % 6 == 2 else x


def generate(genes: Sequence[Gene], point: Sequence[float]) -> Program:
    """The program that genes stand for, at a point.

    >>> print(generate([Gene(kind=1, rule=list(RULES).index("sin"))], [0.3]))
    import contad
    <BLANKLINE>
    def f(x0):
        t0 = contad.ops.sin(x0)
        return t0
    <BLANKLINE>
    print(contad.value_and_grad(f, (0,))(*(0.3,)))
    """
    return Generator(genes, tuple(point)).program()


if __name__ == "__main__":
    from tests.judges.agreement import main

    main()
