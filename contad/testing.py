"""Checks for your own functions and rules: does every engine give the value and the derivatives that differences give?

`expect_ad(f, *args)` runs every leg, `check_grads(f, args)` the derivatives alone. A failure is an AssertionError that
names function, leg, engine, argument, expected and got.
"""

import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from contad.differences import gradient_by_differences
from contad.engines import engine_names
from contad.functional import grad, jacobian, jvp, vjp
from contad.trees import array_of, elements, flatten, output_leaves

Function = Callable[..., Any]


class Tolerances(NamedTuple):
    """Every tolerance of this module; all are relative.

    The scale of a derivative by x_k is its own size. Below `floor` times the size of all terms of the first-order change,
    max(|f|, |x_j df/dx_j| ...) / |x_k|, numbers count as rounding.
    """

    value: float = 1e-13  # an engine's value against the plain call
    agreement: float = 1e-11  # engines and modes against each other: the same partials, summed in another order
    differences: float = 1e-6  # a derivative against differences, beyond ten times the error estimate of these
    resolved: float = 1e-4  # differences whose error estimate is larger prove nothing, and are refused
    floor: float = 1e-10


TOLERANCES = Tolerances()
SPECIAL_VALUES = (0.0, -0.0, math.inf, -math.inf, math.nan)
FEW = 8  # beyond so many numbers, jvp and special values take a sample
FORWARD = "forward"


class Report:
    """The legs that were run, with the number of comparisons in each, and those that were skipped, with the reason."""

    def __init__(self, call: str) -> None:
        self.call = call
        self.passed: dict[str, int] = {}
        self.skipped: dict[str, str] = {}

    def __str__(self) -> str:
        passed = [f"{leg} ({count})" for leg, count in self.passed.items()]
        skipped = [f"{leg} ({reason})" for leg, reason in self.skipped.items()]
        return f"{self.call}: passed {', '.join(passed)}" + (f"; skipped {', '.join(skipped)}" if skipped else "")


def expect_ad(
    f: Function,
    *args: Any,
    order: int = 2,
    zero_gradient: bool = False,
    nan: bool = False,
    engines: Sequence[str] | None = None,
    tolerances: Tolerances = TOLERANCES,
    verbose: bool = False,
) -> Report:
    """Check everything that contad promises about f at args, on every engine, and return a report of the legs.

    The arguments are numbers or pytrees and arrays of numbers; f returns one number, or a pytree of several.

    - value: every engine gives the value of the plain call
    - errors: where the plain call raises, every engine raises the same, and only there
    - vacuity: the gradient is not zero, which would prove little; `zero_gradient=True` declares that it is
    - gradient, jvp: each against differences
    - jacobian: for several results, their derivatives against differences
    - product: <z_bar, J x_dot> = <J^T z_bar, x_dot>
    - hessian: every mode and engine over every other, against differences of the inner one (and so on up to `order`)
    - agreement: engines and modes give the same to rounding, at every order
    - mixes: every subset of the arguments alone, the others constant, as float, NumPy number and int
    - fan-out: f + f, f f, and one input for several arguments: adjoints add up
    - special: at 0, -0, inf, -inf and nan, value and exceptions of the plain call, and no other crash
    - unmutated: no call changes an argument

    A nan derivative fails; `nan=True` declares that nan is expected at this point, where all engines must agree on it.

    >>> import contad
    >>> report = expect_ad(contad.hypot, 3.1, -1.7)
    >>> expect_ad(lambda x: contad.stop_gradient(x) * x, 3.0)
    Traceback (most recent call last):
    AssertionError: <lambda>(3.0): leg gradient, engine closures, argument x: expected 6.0, got 3.0
    """
    check = _Check(f, args, order, _ways(engines), zero_gradient, nan, tolerances)
    if check.raises() is None:
        for leg in ("value", "derivatives", "jacobian", "product", "mixes", "fan-out", "special"):
            getattr(check, leg.replace("-", "_"))()
    if verbose:
        print(check.report)
    return check.report


def check_grads(
    f: Function, args: Sequence[Any], order: int = 2, modes: Iterable[str] = ("fwd", "rev"), *, verbose: bool = False
) -> Report:
    """Check the derivatives of f at args up to `order` against differences, in every nesting of the given modes.

    modes:   "rev" (every engine) and "fwd".

    >>> import contad
    >>> report = check_grads(lambda x, y: x * contad.exp(y), (1.3, 0.7), order=3)
    """
    chosen = tuple(modes)
    unknown = set(chosen) - {"fwd", "rev"}
    if unknown or not chosen:
        raise ValueError(f"check_grads: modes must be 'fwd', 'rev' or both, got {modes!r}")
    ways = [way for way in _ways(None) if ("fwd" if way == FORWARD else "rev") in chosen]
    check = _Check(f, tuple(args), order, ways, False, False, TOLERANCES)
    check.derivatives()
    if verbose:
        print(check.report)
    return check.report


def _ways(engines: Sequence[str] | None) -> list[str]:
    return [*(engine_names() if engines is None else engines), FORWARD]


def _weights(n: int) -> list[float]:
    """Fixed numbers without symmetry, to combine several results and to choose directions."""
    return [(-1.0) ** k * (1.0 + 0.4 * math.sin(2.0 + 3.0 * k)) for k in range(n)]


class _Check:
    """One function at one point, and the report being written."""

    def __init__(
        self, f: Function, args: tuple[Any, ...], order: int, ways: list[str], zero: bool, nan: bool, t: Tolerances
    ) -> None:
        self.f, self.args, self.order, self.ways, self.t = f, args, order, ways, t
        self.zero_gradient, self.nan = zero, nan
        self.name = getattr(f, "__name__", type(f).__name__)
        self.report = Report(f"{self.name}({', '.join(map(repr, args))})")
        self.trees = [flatten(x) for x in args]
        self.numbers = [float(v) for tree in self.trees for leaf in tree.leaves for v in elements(leaf)]
        self.labels = [label for n, tree in enumerate(self.trees) for label in self._labels(n, tree)]
        self.all = tuple(range(len(args)))
        self.before = _frozen(args)

    def _labels(self, n: int, tree: Any) -> list[str]:
        try:
            names = getattr(self.f, "argument_names", None) or list(inspect.signature(self.f).parameters)
        except (TypeError, ValueError):
            names = []
        name = names[n] if n < len(names) else str(n)
        count = sum(len(elements(leaf)) for leaf in tree.leaves)
        return [name] if tree.spec is None and not np.ndim(tree.leaves[0]) else [f"{name}, number {k}" for k in range(count)]

    # ---- reporting -----------------------------------------------------------------------------------------------------
    def fail(self, leg: str, engine: str, argument: str, expected: Any, got: Any, why: str = "") -> NoReturn:
        what = f"leg {leg}" + (f", engine {engine}" if engine else "") + (f", argument {argument}" if argument else "")
        raise AssertionError(f"{self.report.call}: {what}: expected {expected}, got {got}{why and f' ({why})'}")

    def count(self, leg: str) -> None:
        self.report.passed[leg] = self.report.passed.get(leg, 0) + 1

    def equal(
        self, leg: str, engine: str, argument: str, got: Any, expected: Any, allowed: float, nan: bool | None = None
    ) -> None:
        """Demand |got - expected| <= allowed; nan equals nan only where nan is declared."""
        got, expected = float(got), float(expected)
        if math.isnan(got) and math.isnan(expected) and (self.nan if nan is None else nan):
            return self.count(leg)
        if not (got == expected or abs(got - expected) <= allowed):
            self.fail(leg, engine, argument, expected, got)
        self.count(leg)

    def run(self, leg: str, engine: str, call: Callable[[], Any]) -> Any:
        """The result of a transform; it must not raise, as the plain call did not, and not change an argument."""
        try:
            result = call()
        except Exception as e:
            self.fail(leg, engine, "", "no exception, as from the plain call", f"{type(e).__name__}: {e}")
        if _frozen(self.args) != self.before:
            self.fail("unmutated", engine, "", "the arguments as they were", self.args, f"after leg {leg}")
        self.count("unmutated")
        return result

    # ---- the function in other forms -----------------------------------------------------------------------------------
    def rebuilt(self, numbers: Sequence[Any]) -> list[Any]:
        """The arguments with other numbers in them."""
        rest = iter(numbers)
        made = []
        for tree in self.trees:
            leaves = []
            for leaf in tree.leaves:
                own = list(itertools.islice(rest, len(elements(leaf))))
                leaves.append(array_of(own, leaf.shape) if isinstance(leaf, np.ndarray) else own[0])
            made.append(tree.unflatten(leaves))
        return made

    def outputs(self, result: Any) -> list[Any]:
        return [z for leaf in output_leaves(flatten(result), self.name) for z in elements(leaf)]

    def scalar(self, *args: Any) -> Any:
        """The result as one number: f itself, or a fixed combination of its results."""
        zs = self.outputs(self.f(*args))
        return zs[0] if len(zs) == 1 else _combined(zs, _weights(len(zs)))

    def flat(self, *numbers: Any) -> Any:
        """`scalar` as a function of all numbers in the arguments."""
        return self.scalar(*self.rebuilt(numbers))

    def plain(self, numbers: Sequence[float], f: Function | None = None) -> Any:
        """The plain call; where Python's floats raise or leave the reals, NumPy's numbers decide, as they do in the engines."""
        f = f or self.f
        try:
            result = f(*self.rebuilt(numbers))
            if not any(isinstance(leaf, complex) for leaf in flatten(result).leaves):
                return result
        except (ZeroDivisionError, OverflowError):
            pass
        with np.errstate(all="ignore"):
            return f(*self.rebuilt([np.float64(x) for x in numbers]))

    def gradient(self, g: Function, way: str) -> Callable[..., list[Any]]:
        """The derivatives of g, a function of all numbers, along `directions(way)`."""
        n = len(self.numbers)
        if way == FORWARD:
            return lambda *v: [jvp(g, v, direction)[1] for direction in self.directions(way)]
        return lambda *v: list(grad(g, tuple(range(n)), engine=way)(*v))

    def directions(self, way: str) -> np.ndarray:
        n = len(self.numbers)
        return np.eye(n) if way != FORWARD or n <= FEW else np.array([_weights(n)])

    # ---- legs ----------------------------------------------------------------------------------------------------------
    def raises(self) -> Exception | None:
        """What the plain call raises, if anything; then every engine must raise the same."""
        try:
            self.plain(self.numbers)
        except Exception as e:
            self.same_exception("errors", e, self.numbers)
            return e
        return None

    def same_exception(self, leg: str, plain: Exception, numbers: Sequence[float]) -> None:
        for way in self.ways:
            try:
                self.gradient(self.flat, way)(*numbers)
                got = "none"
            except Exception as e:
                got = f"{type(e).__name__}: {e}"
            if got != f"{type(plain).__name__}: {plain}":
                self.fail(leg, way, f"at {list(numbers)}", f"{type(plain).__name__}: {plain}", got)
            self.count(leg)

    def value(self) -> None:
        expected = self.outputs(self.plain(self.numbers))
        for way in self.ways:
            got = self.outputs(self.run("value", way, lambda way=way: self.valued(way, self.args)))
            if len(got) != len(expected):
                self.fail("value", way, "", f"{len(expected)} numbers", len(got))
            for a, b in zip(got, expected, strict=True):
                self.equal("value", way, "", a, b, self.t.value * abs(b))

    def valued(self, way: str, args: Sequence[Any]) -> Any:
        if way != FORWARD:
            return vjp(self.f, *args, engine=way)[0]
        return jvp(self.f, args, [_mapped(x, lambda _: 0.0) for x in args])[0]

    def derivatives(self) -> None:
        self.nested(lambda *v: self.scalar(*self.rebuilt(v)), (), 1)
