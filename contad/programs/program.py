"""`contad.record`: a function recorded once, as a program that runs without Python at other inputs."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.errors import GuardError, NestingError, UnsupportedError
from contad.forks import make_lock
from contad.front.user_function import runnable
from contad.functions.user_call import name_of, positional, positions
from contad.ops.close_values import LOST, fill_lost, was_lost
from contad.programs import header, plain_runs
from contad.programs.codes import numbering
from contad.programs.frozen_draws import DrawWatch
from contad.programs.inputs import Inputs, give_back, give_back_inputs, take
from contad.programs.interpreter import Interpreter, interpreter
from contad.programs.program_kernels import ADDRESSES, ADJOINTS, TANGENTS, VALUES, Kernel, compile_missing, find_missing
from contad.programs.slots import ALIGNED
from contad.programs.trace import Trace, trace_of
from contad.programs.trace_layout import TraceLayout
from contad.programs.tracer import Tracer
from contad.rules.array_rule import ArrayRule
from contad.rules.scalar_rule import ScalarRule
from contad.variables.activation import activate
from contad.variables.arguments import require_callable
from contad.variables.array import Array
from contad.variables.dtypes import FLOAT
from contad.variables.kept_dtypes import dtype_for
from contad.variables.number import Number
from contad.variables.open_types import Function, Nested, NumbaType, Real
from contad.variables.overlaps import require_apart
from contad.variables.stack import opened
from contad.variables.trees import leaves_of, scalar_output
from contad.variables.var import Var

MAX_TRACES = 64
NONE = np.empty(0)
Run = tuple[np.ndarray, ...]  # inputs, direction and gradient, of which the last two may be empty


RULES = (ScalarRule, ArrayRule)


class Outcome(NamedTuple):
    """The outcome of a run; `row` is the row of the guard in `trace` that did not hold, or -1."""

    value: float
    slope: float
    row: int
    trace: int


class Program:
    """A recorded function, as `contad.record` returns it, which runs at new inputs.

    Call it like the function, with the recorded arguments only. One program may run on several threads at once: every
    run has memory of its own. It can be pickled where the function can. Inside `@njit` it takes numbers and float64
    arrays (see `contad.record`).
    """

    def __init__(
        self, f: Function, args: tuple[Nested, ...], argnums: tuple[int, ...], single: bool, retrace: bool
    ) -> None:
        self.f = f
        self.__name__ = name_of(f)
        self.what = f"contad.record: {self.__name__}"
        self.argnums = argnums
        self.single = single
        self.retrace = retrace
        self._args = args  # of the example, with the frozen ones
        self._run = runnable(f)
        self.inputs = Inputs(self.what, argnums, [args[n] for n in argnums])
        self._start()
        self.dtype: np.dtype | None = None  # of the value, where the example has kept the dtypes of its arguments
        watch = DrawWatch(self.what, f, self._run, args)
        self._add(self._record(args))
        watch.tell()

    def _start(self) -> None:
        self.traces: list[Trace] = []
        self._layouts: list[TraceLayout] = []  # of the traces, for compiled code
        self._numbers = 0  # numbers of memory that the largest trace needs
        self._lock = make_lock()
        self._tangents = False
        self._interpreter: Interpreter | None = None  # None until runs in plain Python have taken long enough
        self._spent = 0.0  # seconds that they have taken
        self._header = np.zeros(header.FIRST_TRACE + header.TRACE * MAX_TRACES, np.int64)
        self._lengths = np.array(self.inputs.lengths, np.int64)
        self._header[header.KERNELS_AT] = ADDRESSES.ctypes.data
        self._header[header.SIZE], self._header[header.LENGTHS_AT] = self.inputs.size, self._lengths.ctypes.data
        self._at = self._header.ctypes.data

    def _compile(self) -> None:
        """Compile the interpreter and the kernels: compiled code does every run from now on."""
        with self._lock:
            if self._interpreter is None:
                made = interpreter()
                for k in range(len(self.traces)):
                    self._enter(k)
                self._header[header.RUN_AT] = made.address
                self._interpreter = made  # last: other threads use it then

    def _purposes(self) -> tuple[int, ...]:
        return (VALUES, ADJOINTS, TANGENTS) if self._tangents else (VALUES, ADJOINTS)

    # ---- recording ---------------------------------------------------------------------------------------------------
    def _record(self, args: tuple[Nested, ...]) -> Trace:
        args, _ = positional(self._run, self.what, self.argnums, args, {})
        tracer = Tracer(self.__name__)
        with opened(tracer.make_stack, "its recording has ended"):
            s = tracer.stack
            active, _ = activate(s, self.what, self.argnums, args)
            s.flush()
            tracer.check_plain()
            first_row, inputs = s.rows_packed, s.top - 1
            y = scalar_output(self._run(*active), self.what, s)
            if dtype_for(y) != FLOAT:
                self.dtype = dtype_for(y)
            arrays = [x for argument in active for x in leaves_of(argument) if isinstance(x, Array)]
            self.inputs.are_written |= any(x._root()._version for x in arrays)
            s.flush()
            tracer.check_plain()
            if isinstance(y, Number) and y._owner is not s:
                raise NestingError(f"{self.what} returned a {y.kind} of a gradient or jvp call around it")
            return trace_of(tracer, first_row, inputs, y._index if isinstance(y, Var) else float(y))

    def _add(self, trace: Trace) -> None:
        whole = int(self._header[header.COUNT])  # a fork may have left less of another thread's trace
        del self.traces[whole:], self._layouts[whole:]
        self.traces.append(trace)
        if self._interpreter is not None:
            try:
                self._enter(len(self.traces) - 1)
            except BaseException:  # also at Ctrl-C, while kernels are compiled
                del self.traces[-1], self._layouts[len(self.traces) :]
                raise
        self._header[header.COUNT] = len(self.traces)  # last: other threads see whole traces only

    def _layout(self, k: int) -> TraceLayout:
        """The layout that compiled code runs in place of the records of a trace, which runs in Python still use."""
        with self._lock:
            while len(self._layouts) <= k:
                self._layouts.append(TraceLayout(self.traces[len(self._layouts)]))
        return self._layouts[k]

    def _enter(self, k: int) -> None:
        """Enter a trace in the header, where compiled code finds it."""
        trace, layout = self.traces[k], self._layout(k)
        compile_missing(layout.kernels(*self._purposes()))
        self._numbers = max(self._numbers, 2 * (layout.cells + trace.saved + layout.scratch) + ALIGNED)
        at = header.FIRST_TRACE + header.TRACE * k
        for field, value in layout.header_fields(trace).items():
            self._header[at + field] = value

    # ---- running -----------------------------------------------------------------------------------------------------
    def _try(self, run: Run) -> Outcome:
        """The outcome of the first trace whose guards hold, or of the last one that was tried."""
        if self._interpreter is None:
            plain = self._try_plainly(run)
            if plain is not None:
                return plain
            self._compile()
        compiled: Any = self._interpreter
        if self.traces[int(self._header[header.PREFERRED])].calls:  # compiled code would give it back
            return self._try_in_python(compiled, run)
        out = np.zeros(4)  # if the program needs Python, nothing is written to it
        memory = take(self._numbers)
        number = compiled.run(self._at, *run, out, memory)
        give_back(memory)
        if number >= 0:
            value, slope, _, _ = out.tolist()
            return Outcome(value, slope, -1, number)
        if number == header.NO_MEMORY:
            raise MemoryError(f"{self.what}: no memory for a run")
        if number in (header.NEEDS_PYTHON, header.FAILED):
            return self._try_in_python(compiled, run)
        return Outcome(0.0, 0.0, self._layouts[int(out[3])].row_of(int(out[2])), int(out[3]))

    def _try_in_python(self, loops: Any, run: Run) -> Outcome:
        """The outcome where Python runs some records between the `loops`, or where the `loops` are plain Python."""
        for k, trace in enumerate(list(self.traces)):
            if loops is not plain_runs and (self._layouts[k].fused_loops or self._layouts[k].has_pairs):
                trace.compile(*self._purposes())
            found = Outcome(*trace.run(loops, *run), k)
            if found.row < 0:
                break
        return found

    def _missing(self) -> Iterator[Kernel]:
        """The kernels that compiled code needs and that are not ready."""
        layouts = [self._layout(k) for k in range(len(self.traces))]
        yield from find_missing(kernel for layout in layouts for kernel in layout.kernels(*self._purposes()))

    def _try_plainly(self, run: Run) -> Outcome | None:
        """The outcome of a run in plain Python; None where compiled code is due."""
        patience = plain_runs.OF_PROGRAMS
        needed = patience.RECORD * sum(len(trace.code) for trace in self.traces)
        if patience.seconds_left(self._missing(), self._spent) <= needed:
            return None
        try:
            found, seconds = patience.run(lambda: self._try_in_python(plain_runs, run))
        except plain_runs.CannotRunError:
            return None
        self._spent += seconds
        return found

    def _outcome(self, args: Sequence[Nested], *run: np.ndarray) -> Outcome:
        if self.inputs.are_written:
            require_apart(self.what, args)
        found = self._try(run)
        if found.row < 0:
            return found
        if not self.retrace:
            raise GuardError(
                f"{self.what} takes another way than the recorded one at these inputs: {self._guard(found)}; record it "
                "with retrace=True, or record another program at these inputs"
            )
        with self._lock:
            found = self._try(run)  # another thread may have been here
            if found.row < 0:
                return found
            if len(self.traces) == MAX_TRACES:
                raise GuardError(
                    f"{self.what} takes more than {MAX_TRACES} ways: {self._guard(found)}; use contad.grad, or write "
                    "the branches with np.where or contad.select"
                )
            self._add(self._record(self._whole(args)))
            found = self._try(run)
        if found.row >= 0:
            raise GuardError(f"{self.what} does not decide the same twice: {self._guard(found)}")
        return found

    def _guard(self, found: Outcome) -> str:
        return self.traces[found.trace].describe_guard(found.row)

    def _whole(self, args: Sequence[Nested]) -> tuple[Nested, ...]:
        """All arguments of the function: `args`, and the frozen ones."""
        whole = list(self._args)
        for n, x in zip(self.argnums, args, strict=True):
            whole[n] = x
        return tuple(whole)

    def __call__(self, *args: Nested) -> Real:
        """The value of the function at new inputs."""
        if self.inputs.are_carriers(args):  # inside an outer gradient or jvp: the function itself has the derivatives
            return self._run(*positional(self._run, self.what, self.argnums, self._whole(args), {})[0])
        inputs = self.inputs.flat(args)
        value = self._outcome(args, inputs, NONE, NONE).value
        give_back_inputs(inputs)
        return value if self.dtype is None else self.dtype.type(value)

    def gradient(self, *args: Nested) -> Nested:
        """The gradient at new inputs, as `contad.grad` gives it."""
        return self.value_and_grad(*args)[1]

    def value_and_grad(self, *args: Nested) -> tuple[float, Nested]:
        """The value and the gradient at new inputs, in one run."""
        inputs = self.inputs.flat(args)
        gradient = np.empty(len(inputs))
        value = self._outcome(args, inputs, NONE, gradient).value
        give_back_inputs(inputs)
        if LOST and was_lost():
            gradient = fill_lost(gradient, lambda: self._by_tangents(args))
        found = self.inputs.unflat(gradient)
        value = value if self.dtype is None else self.dtype.type(value)
        return value, found[0] if self.single else tuple(found)

    def jvp(self, primals: Sequence[Nested], tangents: Sequence[Nested]) -> tuple[float, float]:
        """The value at primals and the derivative along tangents, tuples with an entry for each argument."""
        if not self._tangents:
            self.compile_tangents()
        for name, xs in (("primals", primals), ("tangents", tangents)):
            if not isinstance(xs, (tuple, list)):
                raise TypeError(f"{self.what}: {name} must be a tuple, an entry per argument, got {type(xs).__name__}")
        found = self._outcome(primals, self.inputs.flat(primals), self.inputs.flat(tangents, True), NONE)
        if self.dtype is not None:
            return self.dtype.type(found.value), self.dtype.type(found.slope)
        return found.value, found.slope

    def _by_tangents(self, args: Sequence[Nested]) -> np.ndarray:
        """The gradient by forward mode."""
        self.compile_tangents()
        inputs = self.inputs.flat(args)
        return np.array([self._outcome(args, inputs, row, NONE).slope for row in np.eye(len(inputs))])

    def compile_tangents(self) -> None:
        """Compile the kernels that `jvp` needs, now and for every trace that is added later."""
        with self._lock:
            if self._interpreter is not None:
                for layout in self._layouts:
                    compile_missing(layout.kernels(TANGENTS))
            self._tangents = True  # last: other threads then call the compiled kernels

    # ---- inspection, copies ------------------------------------------------------------------------------------------
    @property
    def python_rules(self) -> tuple[str, ...]:
        """The names of the rules that Python runs; a program that has any cannot be called inside `@njit`."""
        return tuple(sorted({call.rule.name for trace in self.traces for call in trace.calls}))

    def __repr__(self) -> str:
        records = ", ".join(str(len(trace.code)) for trace in self.traces)
        return f"<program of {self.__name__}: {records} records>"

    def _repr_html_(self) -> str:
        from contad.programs.program_display import write_program

        return write_program(self)

    def __getstate__(self) -> dict[str, Any]:
        own = {call.rule.name for trace in self.traces for call in trace.calls if not isinstance(call.rule, RULES)}
        if own:
            raise UnsupportedError(
                f"pickle: {self.what}: the program holds calls of {', '.join(sorted(own))}, which belong to this "
                "process; send the function and its example arguments, and record it there"
            )
        holding = {data.name for trace in self.traces for data in trace.held}
        if holding:
            raise UnsupportedError(
                f"pickle: {self.what}: {', '.join(sorted(holding))} captures data, which another process may not have; "
                "send the function and its example arguments, and record it there"
            )
        names = ("f", "__name__", "what", "argnums", "single", "retrace", "_args", "inputs", "traces", "dtype")
        return {name: getattr(self, name) for name in names} | {"numbering": numbering()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if state.pop("numbering") != numbering():
            raise UnsupportedError(
                f"{state['what']}: pickled by another version of contad, whose operations are numbered otherwise; "
                "record it again"
            )
        traces = state.pop("traces")
        self.__dict__.update(state)
        self._run = runnable(self.f)
        self._start()
        for trace in traces:
            self._add(trace)

    def __copy__(self) -> "Program":
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> "Program":
        return self

    @property
    def _numba_type_(self) -> NumbaType:
        from contad.programs.programs_in_njit import type_of_programs

        if not self._tangents:
            self.compile_tangents()  # compiled code cannot
        if self._interpreter is None:
            self._compile()
        return type_of_programs(self.inputs.dimensions, self.single)


def record(
    f: Function, *example: Nested, argnums: int | tuple[int, ...] | None = None, retrace: bool = False
) -> Program:
    """Run f once at example arguments, and keep its computation as a program that runs at other inputs.

    The program is called with the arguments that `argnums` chooses (an int or a tuple; all by default): numbers, float
    arrays of the example's shapes, nested lists, tuples and dicts of these. `program(x)` is the value,
    `program.gradient(x)` and `program.value_and_grad(x)` are as in `contad.grad`, and `program.jvp((x,), (x_dot,))` is
    (value, slope). Inside `@njit` the same calls take numbers and float64 arrays, of a program that is a global, a
    captured variable or an argument. One interpreter runs all programs. It is compiled once per machine, by
    `contad.warm_up` or when runs in plain Python have taken some seconds, so that the first runs do not wait; later
    processes load it at once. A program needs code of its own only for loops that repeat the same arithmetic on large
    arrays, as in the steps of a simulation.

    **Frozen** at the values they have now: arguments that are not chosen, globals, captured variables, files, random
    numbers (with a UserWarning), and everything that depends on shapes. If you change them, record again: a trace that
    `retrace` adds later freezes the values of that moment.

    **Guarded**: comparisons of variables, `int`, `round`, `floor`, `bool`, np.argmax, argsort, searchsorted, max, sort,
    isnan, and functions written with them. If a run would decide otherwise, it raises GuardError or, with `retrace`,
    records the function at these inputs too; a program keeps up to 64 traces.

    **Refused** by name: reading the value of a variable (`value_of`, `x.value`), callbacks, results that are no number
    (there is no has_aux: auxiliary results of f would be frozen). Python runs rules without compiled code, which are
    most special functions and your own rules; such a program cannot be called inside `@njit`.

    Raises:  UnsupportedError and OutputError as described; GuardError; ValueError for inputs of other shapes.
    Cost:    recording takes about as long as a gradient; then 3 ns per operation on numbers, 5 to 6 with the gradient
             (`python -m benchmarks replay`). Elementwise operations on many numbers run in strips that fit the cache,
             0.1 to 0.5 ns per element and operation, exp and log 1 ns, and store no intermediate results except
             exponentials and the like; other operations take 16 bytes per number computed. A thread keeps up to 256 MiB
             of it for the next run.

    >>> program = record(lambda x, y: np.exp(-x) * y + x * y, 0.5, 2.0)
    >>> program(0.0, 3.0), program.gradient(0.0, 3.0)
    (3.0, (0.0, 1.0))
    >>> program.jvp((0.0, 3.0), (1.0, 10.0))
    (3.0, 10.0)
    """
    require_callable("contad.record", "f", f)
    if not example:
        raise TypeError(f"contad.record: {name_of(f)}: give example arguments, at which the function is run once")
    numbers = tuple(range(len(example))) if argnums is None else positions("contad.record", argnums, "")
    single = len(numbers) == 1 if argnums is None else isinstance(argnums, int)
    args, _ = positional(f, f"contad.record: {name_of(f)}", numbers, example, {})
    return Program(f, tuple(args), numbers, single, retrace)
