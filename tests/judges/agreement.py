"""Whether a random program has one gradient: on every engine, by forward mode, and by differences of mpmath numbers.

Results are compared by `tests.judges.comparison`. Programs with an operation or a comparison within 1e-9 of a jump, a
kink or a tie are discarded and counted. The differences of mpmath numbers share no rule body with contad.
"""

import functools
import importlib
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import strategies as st
from mpmath import mp

import contad
from contad.engines import engine_names
from contad.rules.scalar_rule import ARITHMETIC_ERRORS, ScalarRule
from contad.variables.number import Number, primal
from tests.judges.comparison import NOISE_RUNS, ULP, Tally, compare_components, list_counts, run_long
from tests.judges.domains import RULES
from tests.random_programs.number_programs import GENES, LIMITS, Arithmetic, Gene, Operation, Program, generate, steps

RESOLUTION = 1e-22  # of the differences of mpmath numbers
TIE = 1e-9
LARGEST = 1e8  # of a value or a partial in a program that is not discarded
DIGITS = 160  # of mpmath numbers, for up to four differences in each other
STEP = 30  # a difference is taken over 10^-STEP
SMALLEST = 1e-200  # of a component that is not discarded: an adjoint on the way may have lost digits by underflow

Vector = tuple[float, ...]


class Discard(Exception):
    """A program says nothing at its point: it is near a jump, or not finite."""


# ---- ways to compute -------------------------------------------------------------------------------------------------
class Probe(Arithmetic):
    """Counts the operations that a derivative flows through, and refuses wild numbers and neighbourhoods of ties."""

    def __init__(self, engine: str) -> None:
        super().__init__(engine)
        self.operations: Counter[str] = Counter()

    def operation(self, step: Operation, args: list[Any]) -> Any:
        z = super().operation(step, args)
        active = [k for k, x in enumerate(args) if isinstance(x, Number)]
        if active:
            self.operations[step.name] += 1
            refuse_wild(step.name, [float(primal(x)) for x in args], active)
        return z

    def compare(self, symbol: str, x: Any, y: Any) -> Any:
        a, b = primal(x), primal(y)
        if abs(a - b) <= TIE * max(1.0, abs(a), abs(b)):
            raise Discard("a tie")
        return super().compare(symbol, x, y)


def refuse_wild(name: str, args: Sequence[float], active: Sequence[int]) -> None:
    """Discard where a rule's value or partials are not moderate, or change at once when an argument moves a little."""
    rule = RULES[name]

    def at(k: int, h: float) -> Vector:
        moved = [x + h if j == k else x for j, x in enumerate(args)]
        z = rule(*moved)
        return (z, *(rule.partial(j)(z, *moved) for j in active))

    here = at(0, 0.0)
    if not all(abs(p) <= LARGEST for p in here):
        raise Discard("not moderate")
    for k in active:
        h = TIE * max(1.0, abs(args[k]))
        for p, above, below in zip(here, at(k, h), at(k, -h), strict=True):
            if not abs(above - below) <= 1e5 * TIE * max(1.0, abs(p)):
                raise Discard("a tie")


def _disturbed(x, factor, slope):  # type: ignore[no-untyped-def]
    return x * factor


def _disturbed_partials(z, x, factor, slope):  # type: ignore[no-untyped-def]
    return slope, 0.0, 0.0


DISTURBED = ScalarRule(_disturbed, None, None, False, ())  # not registered
DISTURBED.partials(_disturbed_partials)


class Noisy(Arithmetic):
    """One ulp up or down on every operand and every result, and independently on their derivatives.

    The noise on derivatives is what rounding does to the sweep: contributions to an adjoint that cancel feel it.
    """

    def __init__(self, engine: str, seed: int) -> None:
        super().__init__(engine)
        self.random = random.Random(seed)

    def operation(self, step: Operation, args: list[Any]) -> Any:
        return self.disturbed(super().operation(step, [self.disturbed(x) for x in args]))

    def disturbed(self, x: Any) -> Any:
        if not isinstance(x, Number):
            return x
        return DISTURBED(x, *(1.0 + self.random.choice((-ULP, ULP)) for _ in range(2)))


REFERENCE: dict[str, Callable[..., Any]] = {}
for _path in sorted(Path(__file__).parents[1].glob("ops/reference_*.py")):
    REFERENCE.update(importlib.import_module(f"tests.ops.{_path.stem}").REFERENCE)


class Reference(Arithmetic):
    """mpmath numbers. What `stop_gradient` holds fast keeps the value it had in the first evaluation."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[Any] = []
        self.position = 0
        self.step = mp.mpf(10) ** -STEP

    def operation(self, step: Operation, args: list[Any]) -> Any:
        return REFERENCE[step.name](*map(mp.mpf, args))

    def select(self, condition: Any, x: Any, y: Any) -> Any:
        return x if condition else y

    def constant(self, x: Any) -> Any:
        if self.position == len(self.held):
            self.held.append(x)
        self.position += 1
        return self.held[self.position - 1]

    def differentiate(self, transform: str, f: Callable[[Any], Any], x: Any) -> Any:
        start = self.position
        here = f(x)
        self.position, end = start, self.position
        above = f(x + self.step)
        self.position = end
        return (above - here) / self.step


# ---- gradients -------------------------------------------------------------------------------------------------------
def reverse(program: Program, arithmetic: Arithmetic) -> Vector:
    """The value and the gradient, on the engine of the arithmetic."""
    f = program.function(arithmetic)
    value, gradient = contad.value_and_grad(f, argnums_of(program), engine=arithmetic.engine)(*program.point)
    return (value, *gradient)


def forward(program: Program, arithmetic: Arithmetic) -> Vector:
    """The value and the gradient by forward mode, one run per input."""
    f = program.function(arithmetic)
    runs = [contad.jvp(f, program.point, unit(program, k)) for k in argnums_of(program)]
    return (runs[0][0], *(tangent for _, tangent in runs))


def argnums_of(program: Program) -> tuple[int, ...]:
    """All arguments."""
    return tuple(range(len(program.point)))


def unit(program: Program, k: int) -> Vector:
    """The direction of input k."""
    return tuple(1.0 if j == k else 0.0 for j in argnums_of(program))


def direction(program: Program) -> Vector:
    """A direction for second derivatives, in which nothing is zero or symmetric."""
    return (0.75, -1.25, 0.5, 1.5)[: len(program.point)]


def slope_of(program: Program, arithmetic: Arithmetic) -> Callable[..., Any]:
    """The derivative along the direction, by forward mode."""
    f = program.function(arithmetic)
    return lambda *xs: contad.jvp(f, xs, direction(program))[1]


def forward_over_reverse(program: Program, arithmetic: Arithmetic) -> Vector:
    """The Hessian times the direction, as the derivative of the gradient."""
    gradient = contad.grad(program.function(arithmetic), argnums_of(program), engine=arithmetic.engine)
    return contad.jvp(gradient, program.point, direction(program))[1]


def reverse_over_forward(program: Program, arithmetic: Arithmetic) -> Vector:
    """The same, as the gradient of the slope."""
    slope = slope_of(program, arithmetic)
    return contad.grad(slope, argnums_of(program), engine=arithmetic.engine)(*program.point)


def reverse_over_reverse(program: Program, arithmetic: Arithmetic, outer: str) -> Vector:
    """The same, as the gradient of the gradient along the direction."""
    gradient = contad.grad(program.function(arithmetic), argnums_of(program), engine=arithmetic.engine)

    def slope(*xs: Any) -> Any:
        return sum(g * v for g, v in zip(gradient(*xs), direction(program), strict=True))

    return contad.grad(slope, argnums_of(program), engine=outer)(*program.point)


def forward_over_forward(program: Program, arithmetic: Arithmetic) -> Vector:
    """The same, as derivatives of the slope."""
    slope = slope_of(program, arithmetic)
    return tuple(contad.jvp(slope, program.point, unit(program, k))[1] for k in argnums_of(program))


@dataclass
class Way:
    """A way to differentiate programs, with an engine for what is done in reverse mode."""

    label: str
    engine: str
    function: Callable[[Program, Arithmetic], Vector]
    resolution: float = 0.0  # below which it tells nothing

    def spread(self, program: Program) -> Vector:
        """How far the components of the result lie apart in noisy runs; the reference has no noise."""
        if self is MPMATH:
            return (0.0,) * (1 + len(program.point))
        runs = [self.function(program, Noisy(self.engine, seed)) for seed in range(NOISE_RUNS)]
        return tuple(max(run) - min(run) for run in zip(*runs, strict=True))


def first_order() -> list[Way]:
    """Every way to a value and a gradient."""
    return [*(Way(name, name, reverse) for name in engine_names()), Way("forward mode", engine_names()[0], forward)]


def second_order() -> list[Way]:
    """Every way to a Hessian times a direction."""
    names = engine_names()
    ways = []
    for name, outer in zip(names, (*names[1:], names[0]), strict=True):
        ways.append(Way(f"forward mode over {name}", name, forward_over_reverse))
        ways.append(Way(f"{name} over forward mode", name, reverse_over_forward))
        ways.append(Way(f"{outer} over {name}", name, functools.partial(reverse_over_reverse, outer=outer)))
    return [*ways, Way("forward mode over forward mode", names[0], forward_over_forward)]


def differences(program: Program, second: bool) -> tuple[Vector, Vector]:
    """Value and gradient, and Hessian times the direction, by differences of mpmath numbers."""
    with mp.workdps(DIGITS):
        arithmetic = Reference()
        f = program.function(arithmetic)
        h = arithmetic.step

        def at(*moves: Sequence[float]) -> Any:
            arithmetic.position = 0
            return f(*(mp.mpf(x) + h * sum(v) for x, v in zip(program.point, zip(*moves, strict=True), strict=True)))

        v = direction(program)
        still = [0.0] * len(v)
        units = [unit(program, k) for k in argnums_of(program)]
        here = at(still)
        above = [at(e) for e in units]
        gradient = (float(here), *(float((a - here) / h) for a in above))
        if not second:
            return gradient, ()
        along = at(v)
        return gradient, tuple(float((at(e, v) - a - along + here) / h**2) for e, a in zip(units, above, strict=True))


MPMATH = Way("mpmath", engine_names()[0], lambda program, _: program.point, RESOLUTION)


# ---- agreement -------------------------------------------------------------------------------------------------------
@dataclass
class Statistics(Tally):
    """What was met on the way, over all programs."""

    operations: Counter[str] = field(default_factory=Counter)
    structures: Counter[str] = field(default_factory=Counter)  # programs that have a loop, a branch ...
    without_reference: int = 0
    second_against_reference: int = 0
    comparisons: int = 0

    @property
    def mean_operations(self) -> float:
        return self.operations.total() / max(1, self.programs)

    @property
    def rarest(self) -> list[tuple[str, int]]:
        """The operations and their numbers of occurrences, rarest first."""
        return sorted(((name, self.operations[name]) for name in RULES), key=lambda item: item[1])

    def __str__(self) -> str:
        return (
            f"{self.programs} programs, {self.mismatches} mismatches in {self.comparisons} comparisons; largest "
            f"disagreement {self.worst:.2f} of what is allowed, {self.with_noise} needed the spread of noisy runs\n"
            f"discarded {self.discard_rate:.2%} ({list_counts(self.discarded.most_common())})\n"
            f"zero gradients: {self.zero_share:.2%} of components, {self.zero_gradients} programs\n"
            f"active operations: {self.mean_operations:.1f} per program, {self.operations.total()} in all\n"
            f"programs with a {', a '.join(f'{name} {count}' for name, count in sorted(self.structures.items()))}\n"
            f"against the mpmath reference: {self.against_reference} programs ({self.reference_share:.0%}), "
            f"{self.second_against_reference} of them to second order; {self.without_reference} could not be\n"
            f"second order in all nestings: {self.second_order} programs\n"
            f"occurrences: {list_counts(self.rarest)}"
        )


def agree(program: Program, ways: Sequence[Way], results: Sequence[Vector], statistics: Statistics) -> None:
    """Compare every result with the first, component by component."""
    expected = results[0]
    spreads = [functools.cache(functools.partial(way.spread, program)) for way in ways]
    for way, result, spread in zip(ways[1:], results[1:], spreads[1:], strict=True):

        def message(k: int, a: float, b: float, allowed: float, way: Way = way) -> str:
            return (
                f"component {k}: {ways[0].label} gives {a!r}, {way.label} gives {b!r}; "
                f"allowed is a difference of {allowed:.3g}\n\n{program}"
            )

        def largest(spread: Callable[[], Vector] = spread) -> list[float]:
            return list(map(max, spreads[0](), spread()))

        statistics.comparisons += 1
        compare_components(expected, result, largest, statistics, message, way.resolution)


def check(program: Program, statistics: Statistics, reference: bool = True, second: bool = True) -> None:
    """Raise Disagreement unless every way to differentiate the program gives one result."""
    probe = Probe(engine_names()[0])
    try:
        first = reverse(program, probe)
        if any(0.0 < abs(g) < SMALLEST for g in first):
            raise Discard("vanishing")
    except Discard as reason:
        statistics.discarded[str(reason)] += 1
        return
    except ARITHMETIC_ERRORS as error:
        statistics.discarded[type(error).__name__] += 1
        return
    ways = [first_order()] + [second_order()] * second
    results = [[way.function(program, Arithmetic(way.engine)) for way in group] for group in ways]
    if reference:
        try:
            exact = differences(program, second)
        except (KeyError, *ARITHMETIC_ERRORS):  # a rule without a reference, or a number where that has no value
            statistics.without_reference += 1
            reference = False
        else:
            for k in range(len(ways)):
                ways[k].append(MPMATH)
                results[k].append(exact[k])
    for group, found in zip(ways, results, strict=True):
        agree(program, group, found, statistics)
    statistics.programs += 1
    statistics.operations += probe.operations
    statistics.structures.update({type(step).__name__.lower() for step in steps(program.body)} - {"operation"})
    statistics.components += len(first) - 1
    statistics.zero_components += sum(g == 0.0 for g in first[1:])
    statistics.zero_gradients += not any(first[1:])
    statistics.against_reference += reference
    statistics.second_order += second
    statistics.second_against_reference += reference and second


# ---- search ----------------------------------------------------------------------------------------------------------
@st.composite
def programs(draw: Callable[[Any], Any]) -> Program:
    """Random programs, which shrink to few and simple steps.

    All numbers are drawn at once, as bytes: where it sees the parts, Hypothesis makes most examples by copying one part
    of an example over another, and rules that happen to be missing from one are then missing from many.
    """
    size = 5 + GENES * len(LIMITS)
    numbers = iter(draw(st.binary(min_size=size, max_size=size)))
    count = 2 + next(numbers) * 3 // 256
    point = [round(0.0223 * (next(numbers) - 127) + 0.013 * (k + 1), 4) for k in range(4)][:count]
    genes = [Gene(*(next(numbers) * (limit + 1) // 256 for limit in LIMITS)) for _ in range(GENES)]
    return generate(genes, point)


def search(count: int, statistics: Statistics, *, seed: int | None = None, shrink: bool = True) -> None:
    """Check `count` random programs; the first Disagreement is raised for the simplest program that has one."""
    phases = [hypothesis.Phase.generate] + [hypothesis.Phase.shrink] * shrink

    @hypothesis.settings(
        max_examples=count, derandomize=seed is None, deadline=None, database=None, phases=phases,
        suppress_health_check=list(hypothesis.HealthCheck), report_multiple_bugs=False, print_blob=False,
    )  # fmt: skip
    @hypothesis.given(programs(), st.integers(0, 9))
    def check_one(program: Program, share: int) -> None:
        with contad.settings(rewrite=share == 9):  # a copy of the interpreter, which is one for all programs, is dear
            check(program, statistics, reference=share < 4, second=share % 5 == 0)

    (check_one if seed is None else hypothesis.seed(seed)(check_one))()


def main() -> None:
    """The long run."""
    run_long("tests.random_programs.number_programs", search, Statistics(), 2000)
