"""Evaluate a function, differentiate it, compare with finite differences, time it."""

import contextlib
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from contad.command.report import CommandReport
from contad.command.source import CommandError, Components, Problem, blame, components, require_no_nan
from contad.errors import ContadError
from contad.testing.differences import derivative_by_differences
from contad.transforms.compiled_code import engine_name
from contad.transforms.gradients import value_and_grad
from contad.variables.number import is_real
from contad.variables.open_types import Nested
from contad.variables.trees import Tree, flatten

TIMING_SECONDS = 0.3  # for each of function and gradient
DIFFERENCES_SECONDS = 10.0  # if they would take longer, evenly chosen components are compared


def examine(
    problem: Problem, engine: str | None, tolerance: float, names: Sequence[str] | None = None
) -> CommandReport:
    """Evaluate, differentiate, time, and compare with differences; `names` replace the names of the components.

    Raises CommandError for whatever cannot be differentiated.
    """
    args, kwargs = problem.arguments()

    def primal() -> Nested:
        return problem.function(*args, **kwargs)

    gradient_of, engine_used = _gradient(problem, engine)
    with _blame(problem):
        value = _check_value(problem, primal())
    with silence(), _blame(problem):
        start = time.perf_counter()
        value_there, gradients = gradient_of()
        first_gradient_time = time.perf_counter() - start
        if primal() != value:
            raise CommandError(
                f"{problem.label}: two calls at one point give different values; a function to differentiate must be "
                "neither random nor change its data"
            )
        primal_time = duration_of_call(primal)
        gradient_time = duration_of_call(gradient_of)

    gradient = dict(zip(problem.active, gradients, strict=True))
    derivatives = [pair for name in problem.active for pair in components(name, gradient[name])]
    if names is not None:
        derivatives = [(name, x) for name, (_, x) in zip(names, derivatives, strict=True)]
    for name, x in derivatives:
        if not math.isfinite(x):
            raise CommandError(f"{problem.label}: the derivative with respect to {name} is {x}")
    with silence():
        disagreements = _disagreements(problem, derivatives, tolerance, primal_time)
    # differences cannot see a function that does something else on variables than on floats
    disagreements["value"] = abs(value_there - value) / abs(value or 1.0)
    return CommandReport(
        problem,
        engine_used(),
        value,
        gradient,
        derivatives,
        disagreements,
        tolerance,
        first_gradient_time,
        primal_time,
        gradient_time,
    )


# ---- the parts -------------------------------------------------------------------------------------------------------
def _gradient(problem: Problem, engine: str | None) -> tuple[Callable[[], Nested], Callable[[], str]]:
    """() -> (value, gradients of the active parameters), and () -> the engine's name."""
    args, kwargs = problem.arguments()
    if problem.keywords.intersection(problem.active):
        # transforms differentiate positional arguments
        def function(*active: Nested) -> Nested:
            inner_args, inner_kwargs = problem.arguments(**dict(zip(problem.active, active, strict=True)))
            return problem.function(*inner_args, **inner_kwargs)

        function.__name__ = getattr(problem.function, "__name__", "f")
        args, kwargs = [problem.values[name] for name in problem.active], {}
        argnums = tuple(range(len(args)))
    else:
        function = problem.function
        positional = [name for name in problem.values if name not in problem.keywords]
        argnums = tuple(map(positional.index, problem.active))
    try:
        transform = value_and_grad(function, argnums, engine=engine)
    except ContadError as error:
        raise CommandError(f"--engine: {str(error).removeprefix('engine: ')}") from error
    return lambda: transform(*args, **kwargs), lambda: engine_name(transform, engine, args)


def _blame(problem: Problem) -> contextlib.AbstractContextManager[None]:
    hint = ""
    if problem.integers:
        hint = f" (integers in the file, floats here: {', '.join(problem.integers)}; --wrt chooses other parameters)"
    return blame(problem.label, problem.path, hint)


def _check_value(problem: Problem, value: Nested) -> float:
    """The value as a float; CommandError if it is no finite real number."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if value is None:
        raise CommandError(f"{problem.label}: the function returns None; return the value to differentiate")
    if not is_real(value) or isinstance(value, (bool, np.bool_)):
        kind = f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
        raise CommandError(f"{problem.label}: the function returns {kind}; expected one real number")
    if not math.isfinite(value):
        used = getattr(getattr(problem.function, "__code__", None), "co_names", ())
        data = getattr(problem.function, "__globals__", {})
        for name in used:
            if isinstance(data.get(name), (float, list, tuple, dict, np.ndarray)):
                require_no_nan(problem.label, name, data[name])
        pairs = [pair for name in problem.active for pair in components(name, problem.values[name])]
        point = ", ".join([f"{n}={x:g}" for n, x in pairs[:4]] + ["..."] * (len(pairs) > 4))
        raise CommandError(f"{problem.label}: the value at the point ({point}) is {value}")
    return float(value)


def _disagreements(problem: Problem, derivatives: Components, tolerance: float, primal_time: float) -> dict[str, float]:
    """Relative disagreements by component; of evenly chosen ones if all would take too long."""
    trees = {name: flatten(problem.values[name]) for name in problem.active}
    places = [
        (name, n, k) for name, tree in trees.items() for n, x in enumerate(tree.leaves) for k in range(np.size(x))
    ]
    start = time.perf_counter()
    affordable = max(1, int(DIFFERENCES_SECONDS / (24 * primal_time)))
    stride = -(-len(places) // affordable)
    found = {}
    for (parameter, n, k), (name, derivative) in list(zip(places, derivatives, strict=True))[::stride]:
        found[name] = _disagreement(problem, parameter, trees[parameter], n, k, derivative, tolerance)
        if time.perf_counter() - start > 2 * DIFFERENCES_SECONDS:
            break
    return found


def _disagreement(
    problem: Problem, parameter: str, tree: Tree, n: int, k: int, derivative: float, tolerance: float
) -> float:
    """|derivative - difference| relative to the larger, or to what the difference can resolve to the tolerance.

    Where it exceeds the tolerance, much smaller steps get a say; it is inf if differences say nothing at any.
    """
    leaf = tree.leaves[n]
    x = float(leaf.flat[k] if isinstance(leaf, np.ndarray) else leaf)
    size = max(abs(x), 1.0)
    largest = 0.0

    def at(number: float) -> float:
        nonlocal largest
        moved: Any = number
        if isinstance(leaf, np.ndarray):
            moved = leaf.copy()
            moved.flat[k] = number
        args, kwargs = problem.arguments(
            **{parameter: tree.unflatten([*tree.leaves[:n], moved, *tree.leaves[n + 1 :]])}
        )
        try:
            value = float(problem.function(*args, **kwargs))
        except Exception:  # whatever a user's function raises outside its domain
            return math.nan
        largest = max(largest, abs(value)) if math.isfinite(value) else largest
        return value

    best = math.inf
    for unit in (1.0, 1e-3 * size, 1e-6 * size):
        if unit == 1.0:
            difference, error = derivative_by_differences(at, x)
        else:
            # f may vary faster than those steps are long, and look smooth by accident
            found = derivative_by_differences(lambda t, unit=unit: at(x + unit * t), 0.0)  # type: ignore[misc]
            difference, error = found.value / unit, found.error / unit
        negligible = 1e-9 * largest / size if unit == 1.0 else 0.0
        if error <= tolerance * abs(difference) + negligible:
            scale = max(abs(derivative), abs(difference), 10.0 * error / tolerance)
            best = min(best, abs(derivative - difference) / scale if derivative != difference else 0.0)
        if best <= tolerance:
            break
    return best


def duration_of_call(call: Callable[[], object]) -> float:
    """The smallest of repeated measurements; the caller makes sure that nothing is compiled any more."""
    start = time.perf_counter()
    call()
    once = time.perf_counter() - start
    calls = max(1, int(2e-3 / max(once, 1e-9)))
    best = once
    end = start + TIMING_SECONDS
    while True:
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        now = time.perf_counter()
        best = min(best, (now - begin) / calls)
        if now > end:
            return best


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Discard what the user's function prints and warns about when it is called again and again."""
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        yield
