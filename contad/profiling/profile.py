"""`contad.profile`: time and memory of a gradient, by line of the user's function."""

import contextlib
import math
from time import perf_counter
from typing import Any, NamedTuple

from contad.engines import DEFAULT
from contad.engines.stream.record_stream import Recording
from contad.errors import UnsupportedError
from contad.functions.user_call import name_of, positional, positions, split_aux
from contad.profiling.line_clock import LineClock, cost_of_ignored_call
from contad.profiling.record_watch import ClosureWatch, RecordWatch, StreamWatch
from contad.profiling.results import LineProfile
from contad.transforms.gradients import value_and_grad
from contad.variables.activation import activate, seeds
from contad.variables.open_types import Function, Nested, Options
from contad.variables.stack import opened
from contad.variables.trees import lower, scalar_output

_SHORT, _MOST_RUNS = 0.1, 5  # seconds for all ordinary runs, and their number


def profile(
    f: Function, argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False, engine: str | None = None,
    warm_up: bool = True,
) -> "Profiler":  # fmt: skip
    """Time and memory of a gradient by line of the user's code: profile(f)(*args) is a `LineProfile`.

    The profile has the value and the gradient of `contad.value_and_grad(f, argnums)(*args)`, to the last bit, and a
    list of lines: how often each ran, the records that it pushed, its seconds in the forward and the reverse sweep, and
    its bytes on the stack. print() shows a table; a notebook also shows bars by call path. The user's functions that f
    calls have lines of their own; work of libraries belongs to the line that called them.

    **Eager engines** (matrix, records, closures). Forward: the time between two lines, as Python reports them
    (`sys.settrace`). Reverse: the compiled sweep runs over the records of one line at a time, in its usual order;
    closures are timed one by one. Bytes: records, values, adjoints, constants that are kept, factors that rules save.
    The clock costs about 0.2 us for each line that runs, 0.1 us for each Python function that is called, 1 us for each
    change of line in the sweep. This cost is measured and subtracted, but if a line takes less than that, as one
    operation on numbers does, its share is rough. So f runs at least three times: once to compile everything, then
    without the clock to time each sweep as a whole (up to five times while that takes less than 0.1 s), and once with
    the clock, whose shares are then scaled to these times. With `warm_up=False` it runs once, with the times of the
    clock.

    **Numba functions** whose derivative is compiled: machine code has no clock, so lines have no times. The result is a
    `CompiledProfile`: the total times of f and of its gradient, and by line the numbers that each iteration of a loop
    stores, from the plan of the generated code.

    Raises:  the errors of `contad.value_and_grad`; UnsupportedError inside of `contad.debug_nans`.
    Cost:    as described; nothing without a call: stacks have no clock.
    Ref:     Stan's profiling and line_profiler, for the contents of the report.

    >>> def f(x):
    ...     y = np.exp(x)
    ...     return np.sum(y * x)
    >>> import numpy as np
    >>> found = profile(f)(np.ones(3))
    >>> [(line.line, line.records) for line in found.lines]
    [(0, 1), (2, 1), (3, 2)]
    """
    return Profiler(f, argnums, has_aux, engine, warm_up)


class Profiler:
    """The function that `contad.profile` returns: it takes the arguments of f."""

    def __init__(
        self, f: Function, argnums: int | tuple[int, ...], has_aux: bool, engine: str | None, warm_up: bool
    ) -> None:
        if not callable(f):
            raise TypeError(f"profile: expected a function, got {f!r}")
        positions("profile", argnums)
        self.gradient: Any = value_and_grad(f, argnums, has_aux=has_aux, engine=engine)
        self.name, self.warm_up = name_of(f), warm_up
        self.package = str(getattr(f, "__module__", "")).partition(".")[0]
        self.file = getattr(getattr(f, "__code__", None), "co_filename", "")

    def __repr__(self) -> str:
        return f"<contad.profile: {self.name}>"

    def __call__(self, *args: Nested, **kwargs: Nested) -> Any:
        gradient = self.gradient
        if hasattr(gradient, "form"):  # for a Numba function
            from contad.front.explanation import engine_for
            from contad.profiling.compiled_profile import profile_compiled

            if engine_for(gradient, args, kwargs) != DEFAULT:
                return profile_compiled(gradient, self.name, args, kwargs)
            gradient = gradient.eager()
        gradient = _rename(gradient, f"profile: {self.name}")
        return _profile_eager(gradient, self, args, kwargs)


def _rename(gradient: Any, what: str) -> Any:
    """A copy of the gradient with another name in errors: value_and_grad returns a shared object."""
    copy = object.__new__(type(gradient))
    copy.__dict__.update(gradient.__dict__, what=what)
    return copy


class _Run(NamedTuple):
    """The results of a run, and the seconds of its two sweeps."""

    value: Nested
    gradient: Nested
    forward: float
    reverse: float


def _profile_eager(gradient: Any, profiler: Profiler, args: tuple[Nested, ...], kwargs: Options) -> LineProfile:
    """Time ordinary runs, then a run with the clock; returns its shares of their times."""
    usual = _run_as_ever(gradient, args, kwargs) if profiler.warm_up else None
    clock = LineClock(profiler.package, profiler.file)
    costs: list[float] = []
    found = _run(gradient, args, kwargs, clock, costs)
    of_call, of_segment = cost_of_ignored_call(), costs[0]
    paths = list(clock.root.walk())
    for path in paths:
        path.forward = max(path.forward - of_call * path.ignored, 0.0)
        path.reverse = max(path.reverse - of_segment * path.segments, 0.0)
    overhead = math.nan
    if usual is not None:
        overhead = (found.forward + found.reverse) / sum(usual)
        forward = usual[0] / (sum(path.forward for path in paths) or 1.0)
        reverse = usual[1] / (sum(path.reverse for path in paths) or 1.0)
        for path in paths:
            path.forward *= forward
            path.reverse *= reverse
    engine = str(gradient.stack_class.engine)
    return LineProfile(profiler.name, engine, found.value, found.gradient, clock.root, overhead)


def _run_as_ever(gradient: Any, args: tuple[Nested, ...], kwargs: Options) -> tuple[float, float]:
    """Seconds of both sweeps in ordinary runs, after one that compiles everything; the least of a few short runs."""
    _run(gradient, args, kwargs)
    runs: list[_Run] = []
    while not runs or (len(runs) < _MOST_RUNS and sum(run.forward + run.reverse for run in runs) < _SHORT):
        runs.append(_run(gradient, args, kwargs))
    return min(run.forward for run in runs), min(run.reverse for run in runs)


def _run(
    gradient: Any, args: tuple[Nested, ...], kwargs: Options, clock: LineClock | None = None,
    costs: list[float] | None = None,
) -> _Run:  # fmt: skip
    """Run a gradient with or without a clock."""
    what = gradient.what
    args, kwargs = positional(gradient.run, what, gradient.argnums, args, kwargs)
    with opened(gradient.stack_class) as s:
        watch: RecordWatch | None = None
        if clock is not None:
            if s.watch is not None:
                raise UnsupportedError(f"profile: {what}: inside debug_nans sweeps are others; profile outside of it")
            watch = StreamWatch(s, clock) if isinstance(s, Recording) else ClosureWatch(s, clock)
        begin = perf_counter()
        with contextlib.nullcontext() if clock is None else clock:
            given, active = activate(s, what, gradient.argnums, args)
            y = gradient.run(*given, **kwargs)
        y, aux = split_aux(y, gradient.has_aux, what)
        y = scalar_output(y, what, s)
        forward = perf_counter() - begin
        if watch is not None:
            watch.prepare_sweep()
        begin = perf_counter()
        cotangents = s.pull(active, seeds(s, y, 1.0))
        reverse = perf_counter() - begin
        if watch is not None and costs is not None:
            costs.append(watch.cost_of_segment())
        found = cotangents[0] if gradient.single else tuple(cotangents)
        value = lower(y, s)
        return _Run((value, lower(aux, s)) if gradient.has_aux else value, found, forward, reverse)
