"""Evaluate a function, differentiate it, compare with finite differences, time it."""

import contextlib
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from contad.command.point import Components, Coordinate, Problem, components, require_no_nan
from contad.command.report import CommandReport
from contad.command.user_file import CommandError, blame
from contad.errors import ContadError
from contad.progress_bars import ProgressBar
from contad.testing.differences import derivative_by_differences
from contad.transforms.compiled_code import engine_name
from contad.transforms.gradients import value_and_grad
from contad.variables.number import is_real
from contad.variables.open_types import Nested

TIMING_SECONDS = 0.1  # for the function and the gradient each
DIFFERENCES_SECONDS = 10.0  # limit for comparisons; beyond it, evenly chosen components are compared


def examine(
    problem: Problem, engine: str | None, tolerance: float, names: Sequence[str] | None = None
) -> CommandReport:
    """Evaluate, differentiate, time, and compare with differences; `names` replace the names of the components.

    Raises CommandError if contad cannot differentiate the function.
    """
    args, kwargs = problem.arguments()

    def primal() -> Nested:
        return problem.function(*args, **kwargs)

    gradient_of, engine_used = _gradient(problem, engine)
    with _blame(problem), ProgressBar(f"running {problem.label}"):
        value = _check_value(problem, primal())
    with silence(), _blame(problem):
        with ProgressBar(f"first gradient of {problem.label}"):
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
    # differences miss a function that behaves differently on variables and on floats
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
    function, args, kwargs, argnums = problem.positional()
    try:
        transform = value_and_grad(function, argnums, engine=engine)
    except ContadError as error:
        raise CommandError(f"--engine: {str(error).removeprefix('value_and_grad: engine: ')}") from error
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
    """Relative disagreements by component; only of evenly chosen components if all would take too long."""
    places = list(zip(problem.coordinates(), derivatives, strict=True))
    start = time.perf_counter()
    affordable = max(1, int(DIFFERENCES_SECONDS / (24 * primal_time)))
    chosen = places[:: -(-len(places) // affordable)]
    found = {}
    with ProgressBar("differences", len(chosen)) as bar:
        for coordinate, (name, derivative) in chosen:
            found[name] = _disagreement(coordinate, derivative, tolerance)
            bar.advance()
            if time.perf_counter() - start > 2 * DIFFERENCES_SECONDS:
                break
    return found


def _disagreement(f: Coordinate, derivative: float, tolerance: float) -> float:
    """|derivative - difference| relative to the larger, or to the least size that the difference can resolve.

    If it exceeds the tolerance, much smaller steps are tried as well; it is inf if no differences are usable.
    """
    x = f.number
    size = max(abs(x), 1.0)
    largest = 0.0

    def at(number: float) -> float:
        nonlocal largest
        value = f(number)
        largest = max(largest, abs(value)) if math.isfinite(value) else largest
        return value

    best = math.inf
    for unit in (1.0, 1e-3 * size, 1e-6 * size):
        if unit == 1.0:
            difference, error = derivative_by_differences(at, x)
        else:
            # f may vary within a step, and look smooth by accident
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
    """The least of repeated measurements; the caller ensures that nothing is left to compile."""
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
    """Discard the output and the warnings of the user's function in repeated calls."""
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        yield
