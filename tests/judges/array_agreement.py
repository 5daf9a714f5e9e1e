"""Whether a random array program has one derivative: on array variables, on object arrays of scalars, by complex steps.

The oracle is the engine `records` on object arrays of scalar variables: NumPy itself supplies the meaning of views and
assignments there. Results are compared by `tests.judges.comparison`, noise is that of the oracle. Complex steps share
no rule with contad.
"""

import contextlib
import functools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np

import contad
from contad.engines.matrix.matrix_stack import MatrixStack
from contad.engines.records import RecordStack
from contad.engines.stream import record_stream
from contad.engines.stream.patience import Patience
from contad.variables.number import Number, like_numpy
from contad.variables.var import Var
from tests.judges.agreement import DISTURBED
from tests.judges.comparison import (
    NOISE_RUNS,
    ULP,
    Disagreement,
    Tally,
    compare_components,
    list_counts,
    run_long,
)
from tests.judges.domains import RULES
from tests.judges.planted import engines
from tests.random_programs.array_programs import FloatNumpy, Program, shrunk
from tests.random_programs.array_statements import generate

ORACLE = "records"
COMPLEX_STEP = 2.0**-200
ARRAY_ENGINE = "matrix"
LARGEST_SLOPE = 1e8  # of a gradient's component in a program that is not discarded

Vector = np.ndarray


# ---- what np means ---------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def scalars_in_arrays() -> Iterator[None]:
    """Scalar variables are mere objects to NumPy: `a += v` on an object array is NumPy's loop over its elements.

    As long as their class has `__array_ufunc__`, NumPy leaves every operation with one of them to it, and it cannot
    write into an array.
    """
    methods = {name: getattr(Number, name) for name in ("__array_ufunc__", "__array_function__")}
    for name in methods:
        delattr(Number, name)
    try:
        yield
    finally:
        for name, method in methods.items():
            setattr(Number, name, method)


class ObjectNumpy:
    """NumPy for programs on object arrays of scalars; it would look for a method `sin` of the floats among them."""

    def __init__(self) -> None:
        self.functions = {
            ufunc.__name__: np.frompyfunc(rule, rule.arity, 1)
            for rule in RULES.values() if rule.operator is None
            for ufunc in rule.ufuncs if not isinstance(ufunc, str)
        }  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        return self.__dict__["functions"].get(name) or getattr(np, name)


class ComplexNumpy(FloatNumpy):
    """NumPy for programs on complex numbers next to real ones: what it has is continued from there, where it is not."""

    def abs(self, x: Any) -> Any:
        return np.where(np.real(x) < 0.0, -x, x)

    def hypot(self, x: Any, y: Any) -> Any:
        return np.sqrt(x * x + y * y)

    def logaddexp(self, x: Any, y: Any) -> Any:
        return np.log(np.exp(x) + np.exp(y))

    def arctan2(self, y: Any, x: Any) -> Any:  # of the programs: x > 0
        return np.arctan(y / x)

    def var(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return np.mean((x - np.mean(x, axis=axis, keepdims=True)) ** 2, axis=axis, keepdims=keepdims)


class NoisyVar(Var):
    """A variable without an implementation of its own: every operation is applied by its stack."""

    __slots__ = ()


@like_numpy(NoisyVar)
class NumpyNoisyVar(Var):
    """The same in place of an np.float64."""

    __slots__ = ()


class NoisyStack(RecordStack):
    """One ulp up or down on every operand and every result, and independently on their derivatives."""

    __slots__ = ()
    engine = "noisy"
    var_class = NumpyNoisyVar
    random = random.Random(0)

    def apply(self, rule: Any, args: Sequence[Any]) -> Any:
        return self.disturbed(super().apply(rule, [self.disturbed(x) for x in args]))

    def disturbed(self, x: Any) -> Any:
        if not isinstance(x, Var) or x._owner is not self:
            return x
        return super().apply(DISTURBED, [x, *(1.0 + self.random.choice((-ULP, ULP)) for _ in range(2))])


# ---- ways to compute -------------------------------------------------------------------------------------------------
def flat(tree: Any) -> Vector:
    """The numbers of a result or of gradients, in order."""
    if isinstance(tree, (tuple, list)):
        return np.concatenate([flat(x) for x in tree]) if tree else np.zeros(0)
    return np.ravel(np.asarray(tree, dtype=float))


def elements(tree: Any) -> list[Any]:
    """The numbers of inputs as elements of arrays are: np.float64."""
    return list(flat(tree))


def weights_like(tree: Any, start: int = 0) -> Any:
    """A cotangent of a result, in which nothing is zero or symmetric."""
    if isinstance(tree, (tuple, list)):
        return type(tree)(weights_like(x, start + 3 * k) for k, x in enumerate(tree))
    numbers = 0.6 + 0.23 * ((np.arange(np.size(tree)) * 2 + start) % 7)
    return numbers.reshape(np.shape(tree)) if isinstance(tree, np.ndarray) else float(numbers[0])


def direction(x: Any, k: int) -> Any:
    """A direction for the input k."""
    numbers = np.cos(1.3 * np.arange(np.size(x)) + 0.7 * k) + 0.1
    return numbers.reshape(np.shape(x)) if isinstance(x, np.ndarray) else float(numbers[0])


def directions(program: Program) -> tuple[Any, ...]:
    """A direction for all inputs."""
    return tuple(direction(x, k) for k, x in enumerate(program.inputs))


def copies(program: Program) -> list[Any]:
    """The inputs, to be kept from being written to."""
    inputs = [x.copy() if isinstance(x, np.ndarray) else x for x in program.inputs]
    for x in inputs:
        if isinstance(x, np.ndarray):
            x.flags.writeable = False
    return inputs


def pulled(program: Program, f: Callable[..., Any], args: Sequence[Any], engine: str) -> tuple[Vector, Vector]:
    """Value and gradient of f; of a result with several numbers, their weighted sum's."""
    if program.result == "s" and engine != "noisy":  # whose stack is not to be kept by f
        value, gradient = contad.value_and_grad(f, tuple(range(len(args))), engine=engine)(*args)
    else:
        value, pullback = contad.vjp(f, *args, engine=engine)
        gradient = pullback(weights_like(value) if program.result != "s" else 1.0)
    return flat(value), flat(gradient)


def on_numbers(program: Program) -> Callable[..., Any]:
    """The program as a function of all numbers of its inputs, which become object arrays."""
    f = program.function_on_objects(ObjectNumpy())

    def of_numbers(*numbers: Any) -> Any:
        position = 0
        args = []
        for x in program.inputs:
            if isinstance(x, np.ndarray):
                a = np.empty(x.shape, object)
                a.reshape(-1)[:] = numbers[position : position + x.size]
                args.append(a)
                position += x.size
            else:
                args.append(numbers[position])
                position += 1
        return f(*args)

    return of_numbers


def over_objects(program: Program, engine: str) -> tuple[Vector, Vector]:
    """Value and gradient on object arrays of scalar variables."""
    with scalars_in_arrays():
        return pulled(program, on_numbers(program), elements(program.inputs), engine)


def over_arrays(program: Program, engine: str) -> tuple[Vector, Vector]:
    """Value and gradient on array variables."""
    return pulled(program, program.function(), copies(program), engine)


def swept_on_numbers(program: Program) -> tuple[Vector, Vector]:
    """Value and gradient on array variables by the sweep that nested derivatives use, on rule bodies."""
    with mock.patch.object(MatrixStack, "sweep", sweep_on_numbers):
        return over_arrays(program, ARRAY_ENGINE)


def sweep_on_numbers(s: MatrixStack, top: int, seeds: Any) -> Any:
    """The sweep of recordings with numbers of outer levels."""
    s.flush()
    return s._sweep_numbers(top, seeds)


class Endless(Patience):
    """One that never asks for compiled code."""

    def __init__(self) -> None:
        super().__init__()
        self.limit = math.inf


def swept_plainly(program: Program) -> tuple[Vector, Vector]:
    """Value and gradient on array variables, swept in plain Python for the second time, by steps that are kept."""
    with mock.patch.object(record_stream, "PATIENCE", Endless()):
        over_arrays(program, ARRAY_ENGINE)
        return over_arrays(program, ARRAY_ENGINE)


def jacobian(program: Program) -> tuple[Vector, Vector]:
    """Value by NumPy itself, and gradient as the weighted sum of the rows of the Jacobian."""
    value = program.function(FloatNumpy())(*(np.copy(x) if isinstance(x, np.ndarray) else x for x in program.inputs))
    blocks = contad.jacobian(program.function(), tuple(range(len(program.inputs))), engine=ARRAY_ENGINE)(
        *copies(program)
    )
    results = [(value, blocks)] if not isinstance(value, tuple) else list(zip(value, blocks, strict=True))
    weights = weights_like(value) if program.result != "s" else 1.0
    rows = [
        flat([np.tensordot(w, block, np.ndim(w)) for block in of_result])
        for w, (_, of_result) in zip(weights if isinstance(value, tuple) else [weights], results, strict=True)
    ]
    return flat(value), np.sum(rows, axis=0)


def weighted(tree: Any) -> float:
    """A result's sum with the weights of its cotangent."""
    return float(np.dot(flat(tree), flat(weights_like(tree))))


def slope(program: Program, tangent: Any) -> float:
    """What the gradient's slope along the direction is in terms of the tangent of the result."""
    return float(tangent) if program.result == "s" else weighted(tangent)


def forward(program: Program) -> tuple[Vector, Vector]:
    """Value and slope along the direction by forward mode on arrays."""
    value, tangent = contad.jvp(program.function(), tuple(copies(program)), directions(program))
    return flat(value), np.array([slope(program, tangent)])


def forward_by_pullbacks(program: Program) -> tuple[Vector, Vector]:
    """The same by the engine `arrays`: the pullback of the pullback."""
    with mock.patch("contad.transforms.gradients.on_library", return_value=True):
        return forward(program)


def forward_over_objects(program: Program) -> tuple[Vector, Vector]:
    """The same on object arrays of duals."""
    numbers, dots = (tuple(elements(x)) for x in (program.inputs, directions(program)))
    with scalars_in_arrays():
        value, tangent = contad.jvp(on_numbers(program), numbers, dots)
    return flat(value), np.array([slope(program, tangent)])


def complex_step(program: Program) -> tuple[Vector, Vector]:
    """Value and slope by one run on complex arrays: the imaginary part over the step."""
    args = [x + 1j * COMPLEX_STEP * v for x, v in zip(program.inputs, directions(program), strict=True)]
    args = [np.asarray(a) if isinstance(x, np.ndarray) else a for a, x in zip(args, program.inputs, strict=True)]
    value = program.function(ComplexNumpy())(*args)
    parts = [np.ravel(np.asarray(x)) for x in (value if isinstance(value, tuple) else (value,))]
    z = np.concatenate(parts)
    w = flat(weights_like(value)) if program.result != "s" else np.ones(1)
    return z.real.copy(), np.array([np.dot(z.imag / COMPLEX_STEP, w)])


def second(program: Program, engine: str, objects: bool) -> tuple[Vector, Vector]:
    """Gradient, and Hessian times the direction, by forward over reverse mode."""
    argnums = tuple(range(len(program.inputs)))
    if not objects:
        gradient = contad.grad(program.function(), argnums, engine=engine)
        return tuple(flat(x) for x in contad.jvp(gradient, tuple(copies(program)), directions(program)))
    numbers, dots = (tuple(elements(x)) for x in (program.inputs, directions(program)))
    gradient = contad.grad(on_numbers(program), tuple(range(len(numbers))), engine=engine)
    with scalars_in_arrays():
        return tuple(flat(x) for x in contad.jvp(gradient, numbers, dots))


def noisy_runs(program: Program) -> list[tuple[Vector, Vector]]:
    """Values and gradients of the oracle with noise on every operation."""
    runs = []
    with engines(noisy=NoisyStack):
        for seed in range(NOISE_RUNS):
            NoisyStack.random.seed(seed)
            runs.append(over_objects(program, "noisy"))
    return runs


# ---- agreement -------------------------------------------------------------------------------------------------------
@dataclass
class Statistics(Tally):
    """What was met on the way, over all programs."""

    taken_back: Counter[str] = field(default_factory=Counter)  # statements, while programs were written
    comparisons: Counter[str] = field(default_factory=Counter)  # by the way that was compared with the oracle
    operations: int = 0
    kinds: Counter[str] = field(default_factory=Counter)  # programs that have such a statement
    array_results: int = 0

    @property
    def mean_operations(self) -> float:
        return self.operations / max(1, self.programs)

    @property
    def rarest(self) -> list[tuple[str, int]]:
        """The kinds of statements and the number of programs that have them, rarest first."""
        return sorted(self.kinds.items(), key=lambda item: item[1])

    def __str__(self) -> str:
        return (
            f"{self.programs} programs ({self.array_results} with arrays for results), {self.mismatches} mismatches in "
            f"{self.comparisons.total()} comparisons ({list_counts(self.comparisons.most_common())}); largest "
            f"disagreement {self.worst:.2f} of what is allowed, {self.with_noise} needed the spread of noisy runs\n"
            f"discarded {self.discard_rate:.2%} ({list_counts(self.discarded.most_common())}); statements taken back "
            f"while writing: {list_counts(self.taken_back.most_common())}\n"
            f"zero gradients: {self.zero_share:.2%} of components, {self.zero_gradients} programs\n"
            f"active operations: {self.mean_operations:.1f} on scalars per program, {self.operations} in all\n"
            f"against complex steps: {self.against_reference} programs ({self.reference_share:.0%}); "
            f"to second order: {self.second_order}\n"
            f"programs with: {list_counts(self.rarest)}"
        )


class Oracle:
    """The result that others are compared with, and how far noisy runs of it lie apart."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.operations = 0  # on scalars, that a derivative flows through
        numbers = elements(program.inputs)
        f = on_numbers(program)

        def counted(*variables: Any) -> Any:
            z = f(*variables)
            self.operations = contad.stack().top - 1 - len(variables)  # type: ignore[attr-defined]
            return z

        with scalars_in_arrays():
            self.value, self.gradient = pulled(program, counted, numbers, ORACLE)

    @functools.cached_property
    def runs(self) -> list[tuple[Vector, Vector]]:
        return noisy_runs(self.program)

    def along(self, gradient: Vector) -> Vector:
        """The slope along the direction."""
        return np.array([np.dot(gradient, flat(directions(self.program)))])

    def compare(self, label: str, statistics: Statistics) -> None:
        """Raise Disagreement unless another way gives the same values and gradients, or slopes."""
        statistics.comparisons[label] += 1
        try:
            got = WAYS[label](self.program)
        except Exception as error:
            statistics.mismatches += 1
            raise Disagreement(f"{label} raises {type(error).__name__}: {error}\n\n{self.program}") from error
        slopes = "forward mode" in label or label == "complex step"
        derivative = self.along if slopes else lambda g: g
        pairs: list[tuple[str, Vector, Vector, Callable[[], Vector]]] = [
            ("value", self.value, got[0], lambda: np.ptp([value for value, _ in self.runs], axis=0)),
            ("slope" if slopes else "gradient", derivative(self.gradient), got[1],
             lambda: np.ptp([derivative(gradient) for _, gradient in self.runs], axis=0)),
        ]  # fmt: skip
        for what, expected, found, spread in pairs:
            agree(self.program, what, expected, found, label, spread, statistics)


def agree(
    program: Program, what: str, expected: Vector, got: Vector, label: str, spread: Callable[[], Vector],
    statistics: Statistics,
) -> None:  # fmt: skip
    """Compare two vectors component by component."""
    if expected.shape != got.shape:
        statistics.mismatches += 1
        raise Disagreement(f"{label} gives a {what} of {got.size} numbers, expected {expected.size}\n\n{program}")

    def message(k: int, a: float, b: float, allowed: float) -> str:
        return (
            f"{what}, component {k}: {ORACLE} on objects gives {a!r}, {label} gives {b!r}; allowed is "
            f"a difference of {allowed:.3g}\n\n{program}"
        )

    compare_components(expected, got, spread, statistics, message)


WAYS: dict[str, Callable[[Program], tuple[Vector, Vector]]] = {
    "matrix": lambda program: over_arrays(program, ARRAY_ENGINE),
    "matrix, swept on numbers": swept_on_numbers,
    "matrix, swept in plain Python": swept_plainly,
    "jacobian": jacobian,
    "forward mode": forward,
    "arrays": lambda program: over_arrays(program, "arrays"),
    "arrays, forward mode": forward_by_pullbacks,
    "closures on objects": lambda program: over_objects(program, "closures"),
    "matrix on objects": lambda program: over_objects(program, ARRAY_ENGINE),
    "forward mode on objects": forward_over_objects,
    "complex step": complex_step,
}


def check(program: Program, statistics: Statistics, ways: Sequence[str] = tuple(WAYS), to_second: bool = False) -> None:
    """Raise Disagreement unless every way to differentiate the program gives what the oracle does."""
    try:
        oracle = Oracle(program)
    except (OverflowError, ZeroDivisionError) as error:  # Python's arithmetic on scalars, where NumPy's gives inf
        statistics.discarded[type(error).__name__] += 1
        return
    if not np.all(np.abs(oracle.gradient) <= LARGEST_SLOPE):
        statistics.discarded["not moderate"] += 1
        return
    for label in ways:
        oracle.compare(label, statistics)
    if to_second and program.result == "s":
        check_second_order(program, statistics)
    statistics.programs += 1
    statistics.operations += oracle.operations
    statistics.kinds.update({statement.kind for statement in program.statements})
    statistics.components += oracle.gradient.size
    statistics.zero_components += int(np.sum(oracle.gradient == 0.0))
    statistics.zero_gradients += not np.any(oracle.gradient)
    statistics.against_reference += "complex step" in ways
    statistics.array_results += program.result != "s"


def check_second_order(program: Program, statistics: Statistics) -> None:
    """The same for the Hessian times the direction."""
    statistics.second_order += 1
    expected = second(program, ORACLE, objects=True)
    got = second(program, ARRAY_ENGINE, objects=False)

    def spread() -> Vector:
        with engines(noisy=NoisyStack):
            runs = []
            for seed in range(NOISE_RUNS):
                NoisyStack.random.seed(seed)
                runs.append(second(program, "noisy", objects=True)[1])
        return np.ptp(runs, axis=0)

    agree(program, "Hessian times direction", expected[1], got[1], f"forward over {ARRAY_ENGINE}", spread, statistics)
    product = contad.hvp(program.function(), tuple(range(len(program.inputs))), engine="arrays")
    along = flat(product(*copies(program), directions(program)))
    agree(program, "Hessian times direction", expected[1], along, "hvp by arrays", spread, statistics)


# ---- search ----------------------------------------------------------------------------------------------------------
def ways_of(k: int) -> tuple[str, ...]:
    """The ways that program number k is differentiated in: the engine under test always, others in turn."""
    ways = ["matrix", "forward mode"]
    if k % 3 == 0:
        ways.append("complex step")
    if k % 8 == 6:
        ways.append("jacobian")
    if k % 8 == 1:
        ways.append("closures on objects")
    if k % 8 == 3:
        ways.append("matrix on objects")
    if k % 8 == 7:
        ways.append("matrix, swept on numbers")
    if k % 4 == 2:
        ways.append("matrix, swept in plain Python")
    if k % 4 == 1:
        ways.append("arrays")
    if k % 8 == 4:
        ways.append("arrays, forward mode")
    if k % 8 == 5:
        ways.append("forward mode on objects")
    return tuple(ways)


def search(count: int, statistics: Statistics, *, seed: int = 1, shrink: bool = True, layouts: bool = True) -> None:
    """Check `count` random programs; Disagreement is raised for the first that has one, with few statements."""
    for k in range(count):
        program, taken_back = generate(f"{seed}/{k}", layouts)
        statistics.taken_back += taken_back
        ways, to_second = ways_of(k), k % 10 == 0
        try:
            check(program, statistics, ways, to_second)
        except Disagreement as found:
            if not shrink:
                raise
            raise Disagreement(f"program {seed}/{k}: {simplest(program, found, ways, to_second)}") from found.__cause__


def simplest(program: Program, found: Disagreement, ways: Sequence[str], to_second: bool) -> str:
    """The message of the disagreement of the program with as few statements as possible."""
    message = str(found)
    kind = kind_of(message)

    def fails(shorter: Program) -> bool:
        nonlocal message
        try:
            shorter.function(FloatNumpy())(*[np.copy(x) if isinstance(x, np.ndarray) else x for x in shorter.inputs])
            check(shorter, Statistics(), ways, to_second)
        except Disagreement as simpler:
            if kind_of(str(simpler)) != kind:
                return False
            message = str(simpler)
            return True
        except Exception:  # no program any more
            return False
        return False

    shrunk(program, fails)
    return message


def kind_of(message: str) -> str:
    """What went wrong, without numbers: the exception, or what is compared."""
    return message.partition("\n")[0].partition(": " if " raises " in message else ",")[0]


def noticing(oracles: Sequence[Oracle], label: str, enough: float = math.inf) -> list[int]:
    """Which of these programs disagree with their oracle, or raise: all, or the first that are enough."""
    numbers: list[int] = []
    for k, oracle in enumerate(oracles):
        if len(numbers) >= enough:
            break
        try:
            oracle.compare(label, Statistics())
        except Disagreement:
            numbers.append(k)
    return numbers


def main() -> None:
    """The long run."""
    run_long("tests.random_programs.array_programs", search, Statistics(), 1000)
