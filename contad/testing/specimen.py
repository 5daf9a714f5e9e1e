"""A function at one point, in the forms that checks need, and the report on the checks."""

import functools
import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np

from contad.errors import OutputError
from contad.front.user_function import runnable
from contad.functions.user_call import name_of
from contad.transforms.gradients import grad, jvp, value_and_grad
from contad.variables.array import Array
from contad.variables.dtypes import KEPT, PRECISION
from contad.variables.number import Carrier, Number, is_real
from contad.variables.open_types import Function, Nested, Real, Value
from contad.variables.trees import Tree, assemble, elements, flatten, map_leaves, real_leaf

FORWARD = "forward"  # forward mode, among the names of engines
MANY = 40  # beyond so many numbers in arrays, checks take differences along one direction
LONG_ARRAY, LONG_TEXT = 12, 200  # messages cut off further elements or letters of an argument
_SECOND_ORDER = ("hessian", "symmetry", "whole hessian")  # legs that order=1 leaves out
FEW = 8  # beyond so many numbers, forward mode and special values use a sample


class Tolerances(NamedTuple):
    """Every tolerance of `contad.testing`, relative to the size of the compared numbers.

    The size of the terms of f at x is the largest of |f| and |x_j df/dx_j|, over |x_k| for a derivative by x_k (a zero
    x_k counts as 1).
    """

    value: float = 1e-13  # an engine's value against the plain call
    agreement: float = 1e-11  # engines and modes against each other: the same partials, summed in another order
    rounding: float = 1e-14  # relative to the size of terms, which may cancel
    differences: float = 1e-6  # a derivative against differences, in addition to ten times their error estimate
    resolved: float = 1e-4  # differences with a larger error estimate prove nothing; checks refuse them
    negligible: float = 1e-10  # relative to the size of terms: as good as zero


TOLERANCES = Tolerances()


@dataclass(frozen=True)
class AdTolerances:
    """Tolerances of `expect_ad` and `check_grads` for each order of derivative.

    Each is a `Tolerances`, or a number: the allowed relative error, of the value against the plain call, of derivatives
    against differences. `gradient` is for all first derivatives, `hessian` for all second ones, and `third` for the
    third order and above.

    Ref:     `ad_tolerances` of Stan Math, test/unit/math/ad_tolerances.hpp.

    >>> tolerances = AdTolerances(hessian=1e-4)
    >>> tolerances.of_order(1).differences, tolerances.of_order(2).differences
    (1e-06, 0.0001)
    """

    value: Tolerances | float = TOLERANCES
    gradient: Tolerances | float = TOLERANCES
    hessian: Tolerances | float = TOLERANCES
    third: Tolerances | float = TOLERANCES

    def of_order(self, order: int) -> Tolerances:
        """The tolerances for derivatives of an order, which is 0 for the value."""
        chosen = (self.value, self.gradient, self.hessian, self.third)[min(order, 3)]
        if isinstance(chosen, Tolerances):
            return chosen
        if order == 0:
            return TOLERANCES._replace(value=chosen)
        return TOLERANCES._replace(differences=chosen, resolved=max(chosen, TOLERANCES.resolved))


class Report:
    """The legs that ran, with the number of comparisons in each, and those that were skipped, with the reason."""

    def __init__(self, call: str) -> None:
        self.call = call
        self.passed: dict[str, int] = {}
        self.skipped: dict[str, str] = {}

    def __str__(self) -> str:
        passed = [f"{leg} ({count})" for leg, count in self.passed.items()]
        skipped = [f"{leg} ({reason})" for leg, reason in self.skipped.items()]
        return f"{self.call}: passed {', '.join(passed) or 'nothing'}; skipped {', '.join(skipped) or 'nothing'}"

    __repr__ = __str__


def _in_double(leaf: Value) -> Value:
    return np.float64(leaf) if getattr(leaf, "dtype", None) in KEPT else leaf


class Specimen:
    """f at args: as it is, as one number, as a function of all numbers in args; comparisons that count themselves."""

    def __init__(self, f: Function, args: tuple[Nested, ...], nan: bool, tolerances: Tolerances | AdTolerances) -> None:
        self.nan = nan
        if PRECISION.keeps:  # differences need double precision
            args = tuple(map_leaves(_in_double, x) for x in args)
        by_order = tolerances if isinstance(tolerances, AdTolerances) else AdTolerances(*[tolerances] * 4)
        self.tolerances = by_order.of_order
        self.name = name_of(f)
        self.report = Report(f"{self.name}({describe_arguments(args)})")
        kept = [k for k, x in enumerate(args) if flatten(x).leaves]
        if not kept:
            raise ValueError(f"{self.report.call}: there is no number and no array in the arguments; give np.zeros(0)")
        names = argument_names(f)
        self.names = [names[k] if k < len(names) else str(k) for k in kept]
        if len(kept) < len(args):
            f, args = _with_constants(f, args, kept), tuple(args[k] for k in kept)
        self.f, self.args = f, args
        self.runnable = runnable(f)  # a Numba function is rewritten for variables
        self.trees = [flatten(x) for x in args]
        for n, tree in enumerate(self.trees):
            for leaf in tree.leaves:
                if np.asarray(leaf).dtype.kind != "b":
                    real_leaf(leaf, f"checks of {self.name}, argument {self.name_of_argument(n)}")
        self.has_arrays = any(isinstance(leaf, np.ndarray) for tree in self.trees for leaf in tree.leaves)
        self.is_complex = any(tree.is_complex for tree in self.trees)
        self.numbers = [float(v) for x in args for v in numbers_of(x)]
        self.labels = [label for n in range(len(args)) for label in self._labels(n)]
        self.state = frozen(args)
        copies = self.rebuilt(self.numbers)
        before = frozen(copies)
        self.raised = outcome(self.plainly, f, copies)[1]
        self.writes = frozen(copies) != before

    def _labels(self, n: int) -> Iterator[str]:
        name = self.name_of_argument(n)
        if not self.is_number(n):
            return (f"{name} (number {k})" for k in range(len(numbers_of(self.args[n]))))
        return iter([name])

    def name_of_argument(self, n: int) -> str:
        """The name of argument n in messages."""
        return self.names[n]

    # ---- forms -------------------------------------------------------------------------------------------------------
    def is_number(self, n: int) -> bool:
        """Whether argument n is one number rather than a container or array."""
        return self.trees[n].spec is None and not isinstance(self.args[n], np.ndarray)

    def rebuilt(self, numbers: Iterable[Real]) -> list[Nested]:
        """The arguments with these numbers in place of their own."""
        rest = iter(numbers)
        return [fill(tree, rest) for tree in self.trees]

    def parts(self, args: Sequence[Nested]) -> list[Value]:
        """The arguments as real numbers and arrays: those of complex ones are the real and the imaginary part."""
        return [leaf for x in args for leaf in flatten(x).leaves]

    def by_parts(self, f: Function) -> Function:
        """f as a function of the parts."""

        def of_parts(*parts: Value) -> Nested:
            rest = iter(parts)
            return f(*(tree.unflatten([next(rest) for _ in tree.leaves]) for tree in self.trees))

        return of_parts

    def results(self, z: Nested) -> list[Value]:
        """The numbers of a result; OutputError if it holds anything else, or nothing."""
        numbers = numbers_of(z)
        if not numbers or not all(isinstance(x, Number) or is_real(x) for x in numbers):
            raise OutputError(f"{self.name} must return real numbers, at least one, got {z!r}")
        return numbers

    def scalar(self, *args: Nested) -> Real:
        """The result as one number: that of f, or a fixed combination of several."""
        plain = self.runnable is self.f or not any(map(_is_for_levels, args))
        z = (self.f if plain else self.runnable)(*args)
        if not self.has_arrays:
            return combine(self.results(z))
        n = sum(np.size(leaf) if isinstance(leaf, (np.ndarray, Array)) else 1 for leaf in flatten(z).leaves)
        if n < 2 or any(leaf.__class__ is np.ndarray and leaf.dtype == object for leaf in flatten(z).leaves):
            return combine(self.results(z))
        return inner(z, weights(n))

    def flat(self, *numbers: Real) -> Nested:
        """`scalar` as a function of all numbers in the arguments."""
        return self.scalar(*self.rebuilt(numbers))

    def plainly(self, f: Function, args: Sequence[Nested]) -> Nested:
        """f(*args) on plain numbers; if Python's raise or leave the reals, NumPy's decide, as in the engines."""
        try:
            with np.errstate(all="ignore"):
                z = f(*args)
            if not flatten(z).is_complex:
                return z
        except (ZeroDivisionError, OverflowError):
            pass
        with np.errstate(all="ignore"):
            return f(*(fill(flatten(x), map(np.float64, numbers_of(x))) for x in args))

    def gradient(self, g: Function, way: str) -> Callable[..., list[Nested]]:
        """The gradient of a function of several numbers; for many numbers forward mode uses one direction."""
        if way == FORWARD:
            return lambda *v: [jvp(g, v, direction)[1] for direction in _directions(len(v))]
        of_count = functools.cache(lambda n: grad(g, tuple(range(n)), engine=way))
        return lambda *v: list(of_count(len(v))(*v))

    def value_and_gradient(self, g: Function, way: str) -> Callable[..., tuple[Nested, list[Nested]]]:
        """The value and the result of `gradient`, from one call in reverse mode."""
        if way != FORWARD:
            of_count = functools.cache(lambda n: value_and_grad(g, tuple(range(n)), engine=way))
            return lambda *v: of_count(len(v))(*v)

        def push_forward(*v: Real) -> tuple[Nested, list[Nested]]:
            pairs = [jvp(g, v, direction) for direction in _directions(len(v))]
            return pairs[0][0], [tangent for _, tangent in pairs]

        return push_forward

    # ---- comparisons -------------------------------------------------------------------------------------------------
    def fail(self, leg: str, way: str, argument: str, expected: object, got: object) -> NoReturn:
        """Raise the AssertionError of a failed comparison."""
        where = f"leg {leg}" + (f", engine {way}" if way else "") + (f", argument {argument}" if argument else "")
        higher = leg in _SECOND_ORDER or leg.startswith("order ")
        remedy = "; order=1 checks first derivatives alone, as of a rule that calls code in C" if higher else ""
        raise AssertionError(f"{self.report.call}: {where}: expected {expected}, got {got}{remedy}")

    def count(self, leg: str) -> None:
        """Count one more comparison that has passed."""
        self.report.passed[leg] = self.report.passed.get(leg, 0) + 1

    def equal(
        self, leg: str, way: str, argument: str, got: Nested, expected: Nested, allowed: float = 0.0,
        nan: bool | None = None,
    ) -> None:  # fmt: skip
        """Require |got - expected| <= allowed; nan equals nan only where nan is declared."""
        if isinstance(got, Number):
            self.fail(leg, way, argument, expected, f"{got}, a number of a level that has ended")
        both_nan = math.isnan(got) and math.isnan(expected) and (self.nan if nan is None else nan)
        if not (both_nan or got == expected or abs(got - expected) <= allowed):
            self.fail(leg, way, argument, float(expected), float(got))
        self.count(leg)

    def equal_along(
        self, leg: str, way: str, got: Sequence[Real], expected: np.ndarray, allowed: np.ndarray, of: str = ""
    ) -> None:
        """Require that the result of `gradient`, in all directions or one, is this gradient up to an error in each."""
        n = len(self.numbers)
        for a, direction in zip(got, np.eye(n) if len(got) == n else np.array(_directions(n)), strict=True):
            used = direction != 0.0  # zeros leave out an infinite derivative
            name = self.labels[int(np.argmax(direction))] if np.count_nonzero(used) == 1 else "all"
            b, error = direction[used] @ expected[used], np.abs(direction[used]) @ allowed[used]
            self.equal(leg, way, f"{name} of {of}" if of else name, a, b, error)

    def run(self, leg: str, way: str, call: Function, *args: Nested) -> Nested:
        """The result of a transform, which must not raise, as the plain call did not, nor change an argument."""
        result, raised = outcome(call, *args)
        if raised is not None:
            self.fail(leg, way, "", "no exception, as from the plain call", raised)
        if frozen(self.args) != self.state:
            self.fail("unmutated", way, "", f"arguments unchanged by leg {leg}", f"({describe_arguments(self.args)})")
        self.count("unmutated")
        return result


def argument_names(f: Function) -> list[str]:
    """The names of a function's arguments, as far as they are known."""
    try:
        return list(getattr(f, "argument_names", None) or inspect.signature(f).parameters)
    except (TypeError, ValueError):
        return []


def _with_constants(f: Function, args: Sequence[Nested], kept: Sequence[int]) -> Function:
    """f as a function of the arguments `kept`; the others are [], () and the like, which transforms do not take."""
    whole = runnable(f)

    def of_kept(*own: Nested) -> Nested:
        given = dict(zip(kept, own, strict=True))
        return whole(*(given[k] if k in given else flatten(x).unflatten([]) for k, x in enumerate(args)))

    return of_kept


def _directions(n: int) -> list[list[float]]:
    """The coordinate axes if they are few, else one direction in general position."""
    return np.eye(n).tolist() if n <= FEW else [weights(n)]


def describe_arguments(args: Sequence[Nested]) -> str:
    """The arguments for a message: long arrays with their first and last elements, other long texts cut off."""
    with np.printoptions(threshold=LONG_ARRAY):
        texts = map(repr, args)
        return ", ".join(x if len(x) <= LONG_TEXT else f"{x[:LONG_TEXT]} ..." for x in texts)


def outcome(call: Function, *args: Nested) -> tuple[Nested, str | None]:
    """The result of a call, or the type and text of its exception."""
    try:
        with np.errstate(all="ignore"):
            return call(*args), None
    except Exception as e:
        return None, f"{type(e).__name__}: {e}"


def weights(n: int) -> list[float]:
    """Fixed numbers in general position."""
    return [(-1.0) ** k * (1.0 + 0.4 * math.sin(2.0 + 3.0 * k)) for k in range(n)]


def direction_of(n: int) -> list[float]:
    """Other numbers in general position, for tangents of results that `weights` combines."""
    return weights(n + 3)[3:]


def size_of(numbers: Iterable[Real]) -> float:
    """The largest absolute value among those that are finite."""
    return max((abs(x) for x in numbers if math.isfinite(x)), default=0.0)


def combine(numbers: Sequence[Real]) -> Real:
    """The number if there is only one, else a fixed combination."""
    if len(numbers) == 1:
        return numbers[0]
    terms = [x * w for x, w in zip(numbers, weights(len(numbers)), strict=True)]
    return sum(terms[1:], terms[0])


def inner(x: Nested, numbers: Iterable[float]) -> Real:
    """The sum of the numbers in a pytree, each times the next of these numbers; it multiplies arrays as a whole."""
    rest, total = iter(numbers), 0.0
    for leaf in flatten(x).leaves:
        if isinstance(leaf, (np.ndarray, Array)):
            total = total + np.sum(leaf * np.reshape([next(rest) for _ in range(leaf.size)], leaf.shape))
        else:
            total = total + leaf * next(rest)
    return total


def _is_for_levels(x: Nested) -> bool:
    """Whether a pytree holds numbers or arrays of levels, or object arrays, which may be empty."""
    leaves = flatten(x).leaves
    return any(isinstance(x, Carrier) or (isinstance(x, np.ndarray) and x.dtype.hasobject) for x in leaves)


def numbers_of(x: Nested) -> list[Real]:
    """The numbers in a pytree, in order."""
    return [v for leaf in flatten(x).leaves for v in elements(leaf)]


def fill(tree: Tree, numbers: Iterable[Real]) -> Nested:
    """A tree's structure filled with the next numbers, in new arrays."""
    rest = iter(numbers)
    leaves = []
    for leaf in tree.leaves:
        own = list(itertools.islice(rest, len(elements(leaf))))
        leaves.append(assemble(own, leaf.shape) if isinstance(leaf, np.ndarray) else own[0])
    return tree.unflatten(leaves)


def frozen(args: Sequence[Nested]) -> list[Nested]:
    """A snapshot of args for later comparison: structures, types and bits."""
    trees = [flatten(x) for x in args]
    bits = [
        (leaf.shape, leaf.dtype, leaf.tobytes()) if isinstance(leaf, np.ndarray) else (type(leaf), repr(leaf))
        for tree in trees
        for leaf in tree.leaves
    ]
    return [[tree.spec for tree in trees], bits]
