"""Find the origin of a nan or an infinity: levels that check every value that they compute, and record source lines.

Outside `debug_nans` this costs nothing. Inside, each stack gets a watch, and compiled derivatives are called through a
method that checks their results.
"""

import linecache
import math
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from contad.engines.arrays.libraries import library_of
from contad.engines.stream.record_stream import Recording
from contad.engines.stream.storage import CALLBACK, INPUT, JOIN, LINEAR, PULLBACK, VARIANTS, decode
from contad.engines.stream.sweep import OPERATIONS
from contad.errors import NUMPY_FILES, OWN_FILES, NonFiniteError
from contad.forks import make_lock
from contad.protocols.number_protocols import general_methods, install
from contad.rules.body import PARTIALS
from contad.rules.scalar_rule import ScalarRule
from contad.variables.dual import ArrayDual, Dual, ForwardLevel
from contad.variables.number import like_numpy, map_numbers, peek
from contad.variables.open_types import ArrayValue, Nested, Options, Real, Rule, Value
from contad.variables.stack import THREAD
from contad.variables.trees import is_of_library, leaves_of

Place = tuple[str, str]  # an operation, and where the user's code called it


class _Context(type):
    """The class of `debug_nans`, so that `with debug_nans:` without a call raises an error."""

    def __enter__(cls) -> None:
        raise TypeError(f"{cls.__name__}: expected a call, got the class: with contad.{cls.__name__}(): ...")

    def __exit__(cls, *exception: object) -> None:
        """Never called."""


class debug_nans(metaclass=_Context):
    """Report the first operation that makes a nan or an infinity, forward or reverse, with its source line.

    Inside the context, every gradient, vjp and jvp of this thread checks each value, tangent and adjoint when it is
    computed, and raises NonFiniteError at the first that is not finite; `infinities=False` allows infinities. A zero
    adjoint masks a partial that is not finite, here as elsewhere, so dead code reports nothing in the sweep. Operations
    on plain numbers alone are not checked: see np.errstate. For compiled derivatives of Numba functions only the
    results are checked; the NonFiniteError then says that engine="matrix" finds the operation.

    Raises:  NonFiniteError; TypeError for `with debug_nans:` without a call. A UserWarning if no `with` enters it.
    Cost:    sweeps run in Python, and each operation looks up its source line; for debugging only.

    >>> import contad
    >>> with debug_nans():
    ...     contad.grad(lambda x: np.sqrt(x - 2.0))(2.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    contad.errors.NonFiniteError: the derivative of sqrt made inf, ...
    """

    __slots__ = ("_before", "_entered", "infinities")

    def __init__(self, infinities: bool = True) -> None:
        self._entered = False
        self.infinities = infinities

    def __enter__(self) -> None:
        self._entered = True
        _watch_compiled(1)
        self._before = THREAD.watch
        THREAD.watch = self

    def __exit__(self, *exception: object) -> None:
        THREAD.watch = self._before
        _watch_compiled(-1)

    def __del__(self) -> None:
        if not getattr(self, "_entered", True):
            told = "debug_nans: nothing is looked at without a block: with contad.debug_nans(): ..."
            warnings.warn(told, UserWarning, stacklevel=2)

    def look_at(self, s: Any) -> None:
        """Check every value that a new stack records and every adjoint that it sweeps."""
        of_closures = _LibraryWatch if s.takes_any else _ClosureWatch
        s.watch = (_RecordingWatch if isinstance(s, Recording) else of_closures)(s, self.infinities)

    def forward_level(self, several: int | None) -> ForwardLevel:
        """A forward level that checks every value and tangent."""
        return _WatchedLevel(several, self.infinities)


# ---- nan and infinities ----------------------------------------------------------------------------------------------
def fault(x: Value, infinities: bool) -> str:
    """The first number in x, a number, an array or a container, that is nan or infinite: "nan", "inf", "-inf" or ""."""
    for leaf in leaves_of(map_numbers(peek, x)):
        if is_of_library(leaf):
            found = _fault_of_library(leaf, infinities)
            if found:
                return found
            continue
        a = np.asarray(leaf, dtype=float)
        wrong = ~np.isfinite(a) if infinities else np.isnan(a)
        if wrong.any():
            return str(float(a[wrong].flat[0]))
    return ""


def _fault_of_library(x: Value, infinities: bool) -> str:
    """The same of an array of another library, by that library's functions."""
    own = library_of(x).np
    for name, wrong in (("nan", own.isnan(x)), ("inf", x == math.inf), ("-inf", x == -math.inf)):
        if (infinities or name == "nan") and bool(own.any(wrong)):
            return name
    return ""


def require_finite(found: str, what: str, where: str) -> None:
    """Raise if a fault was found."""
    if found:
        raise NonFiniteError(f"{what} made {found}, called at {where}", place="")


class Caller(NamedTuple):
    """The origin of an operation."""

    rule: str  # the rule that contad runs now, if known
    where: str  # the line of the user's code
    in_partial: bool  # in a partial, whose `select` also computes branches that it does not take


def caller() -> Caller:
    """The origin of the operation that is checked."""
    frame: FrameType | None = sys._getframe(1)
    name, in_partial = "", False
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(PARTIALS):
            in_partial = True
        elif file.startswith("<contad "):
            name = name or file.rpartition(": ")[2].rstrip(">")
        elif not file.startswith((OWN_FILES, NUMPY_FILES)):
            break
        elif not name:
            name = getattr(frame.f_locals.get("rule"), "name", "")
        frame = frame.f_back
    if frame is None:
        return Caller(name, "an unknown place", in_partial)
    line = frame.f_lineno
    text = linecache.getline(frame.f_code.co_filename, line).strip()
    where = f"{frame.f_code.co_filename}:{line}, in {frame.f_code.co_name}"
    return Caller(name, f"{where}: {text}" if text else where, in_partial)


# ---- compiled derivatives --------------------------------------------------------------------------------------------
_entering = make_lock()
_entered = 0  # contexts, of all threads


def _watch_compiled(change: int) -> None:
    """Count a context that begins (1) or ends (-1); while any is open, results of compiled derivatives are checked.

    Otherwise their class has no `__call__` of its own, because Numba's goes from C directly to machine code.
    """
    global _entered
    from contad.front.derivative import Derivative

    with _entering:
        _entered += change
        if change == 1:
            Derivative.__call__ = _call_watched
        elif _entered == 0:
            del Derivative.__call__


def _call_watched(derivative: Any, *args: Nested, **kwargs: Nested) -> Nested:
    """Call a compiled derivative, and check its result on threads inside `debug_nans`."""
    from contad.compile.numba_objects import Dispatcher

    result = Dispatcher.__call__(derivative, *args, **kwargs)
    watch = THREAD.watch
    if watch is None:
        return result
    parts = leaves_of(result)  # variables, if the derivative is itself differentiated, are checked by their stack
    numbers = [x for x in parts if isinstance(x, float) or getattr(getattr(x, "dtype", None), "kind", "") == "f"]
    found = fault(numbers, watch.infinities)
    if found:
        raise NonFiniteError(
            f"{derivative.what} made {found}, called at {caller().where}; compiled code does not tell the operation: "
            f'ask for the derivative of {derivative.__name__} by engine="matrix" here, which searches a Python copy',
            place="",
        )
    return result


# ---- reverse mode ----------------------------------------------------------------------------------------------------
class _StackWatch(ABC):
    """Checks each value when its record is pushed on a stack, and the adjoints that each record passes on."""

    def __init__(self, s: Any, infinities: bool) -> None:
        self.stack, self.infinities = s, infinities
        self.places: list[Place] = []  # by record
        self._push = s.push
        s.push = self._push_watched

    @abstractmethod
    def _push_watched(self, record: Any) -> None:
        """Push a record, and check its values."""

    def _examine(self, operation: str, value: Value) -> None:
        name, where, in_partial = caller()
        self.places.append((name if operation in ("", VARIANTS[LINEAR], VARIANTS[JOIN]) else operation, where))
        what = "an argument of the gradient" if operation == VARIANTS[INPUT] else self.places[-1][0]
        if not in_partial:
            require_finite(fault(value, self.infinities), what, where)

    def _require_adjoints(self, row: int, values: Value) -> None:
        """Check the adjoints after record `row` has passed them on."""
        operation, where = self.places[row]
        require_finite(fault(values, self.infinities), f"the derivative of {operation}", where)


class _RecordingWatch(_StackWatch):
    """The watch of a stack of records; sweeps then run record by record in Python."""

    on_numbers = True

    def _push_watched(self, record: Sequence[Any]) -> None:
        self._push(record)
        s = self.stack
        for k in range(0, len(record), 4):
            head, x, _, value = record[k : k + 4]
            code, _, n = decode(head)
            if head < 0:
                value = self._values_of_cells(s.top - n, s.top)
            name = OPERATIONS[code][0].name if code in OPERATIONS else VARIANTS[code]
            if code in (PULLBACK, CALLBACK):
                name = getattr(s.callbacks[int(x)], "name", "a callback")
            elif head < 0 and code == LINEAR:
                name = ""
            self._examine(name, value)

    def _values_of_cells(self, first: int, end: int) -> Value:
        """The values of the newest cells; numbers of an outer level are stored outside the slab."""
        outer = self.stack.outer_arrays
        return outer[-1][1] if outer and outer[-1][0] == first else self.stack.buffers.values[first:end]

    def look_at_row(self, row: int, k: int, adjoints: Sequence[Real]) -> None:
        """Check the adjoints that a record has passed on; k is its last cell."""
        code, x, y = self.stack.buffers.records[row].tolist()
        if code in (LINEAR, JOIN):
            self._require_adjoints(row - 1, [adjoints[int(x)], adjoints[k - 1]])
        elif int(code) in OPERATIONS:
            active = OPERATIONS[int(code)][1]
            self._require_adjoints(
                row - 1, [adjoints[int(c)] for c, a in zip((x, y), active, strict=False) if a == "v"]
            )
        elif code != INPUT:
            self._require_adjoints(row - 1, adjoints[:] if isinstance(adjoints, list) else adjoints[0 : len(adjoints)])


class _ClosureWatch(_StackWatch):
    """The watch of a stack of closures: it wraps each closure in one that checks the result."""

    def _push_watched(self, chain: Callable[[list[Real]], Real]) -> None:
        value, values, partials = self.stack.find_captured(chain)
        cells = [cell for cell, _ in partials.values()]
        number = len(self.places)

        def watched_chain(adj: list[Real]) -> Real:
            chain(adj)
            self._require_adjoints(number, [adj[c] for c in cells] if values else adj)
            return value  # for `show_stack`

        watched_chain.__name__ = chain.__name__
        self._push(watched_chain)
        self._examine(chain.__name__.removesuffix("_chain"), value)


class _LibraryWatch(_StackWatch):
    """The watch of a stack on arrays of other libraries: it wraps each pullback in one that checks the results."""

    def _push_watched(self, record: Any) -> None:
        self._push(record)

    def look_at_record(self, name: str, value: Value, pull: Any) -> Callable[[Value], list[Value]]:
        """Check the value of an operation; its pullback that checks the cotangents."""
        self._examine(name, value)
        number = len(self.places) - 1

        def watched_pull(d: Value) -> list[Value]:
            found = [*pull(d)]
            self._require_adjoints(number, found)
            return found

        return watched_pull


# ---- forward mode ----------------------------------------------------------------------------------------------------
class _WatchedDual(Dual):
    """A dual whose operations go through its level, which checks them."""

    __slots__ = ()
    implement = None


@like_numpy(_WatchedDual)
class _WatchedNumpyDual(Dual):
    """The same for an np.float64."""

    __slots__ = ()
    implement = None


for _class in (_WatchedDual, _WatchedNumpyDual):
    install(_class, general_methods)


class _WatchedLevel(ForwardLevel):
    """A forward level that checks the value and tangent of every operation."""

    __slots__ = ("infinities",)

    def __init__(self, several: int | None, infinities: bool) -> None:
        super().__init__(several)
        self.infinities = infinities

    def dual(self, value: Value, tangent: Value) -> Dual:
        z = object.__new__(_WatchedNumpyDual)
        z._value, z._tangent, z._owner = value, tangent, self
        return z

    def apply(self, rule: ScalarRule, args: Sequence[Value]) -> Dual:
        return self._look_at(rule, super().apply(rule, args))

    def apply_elementwise(self, rule: ScalarRule, args: Sequence[Value]) -> ArrayValue:
        return self._look_at(rule, super().apply_elementwise(rule, args))

    def apply_array(self, rule: Rule, args: Sequence[Value], options: Options) -> Value:
        return self._look_at(rule, super().apply_array(rule, args, options))

    def _look_at(self, rule: Rule, z: Any) -> Any:
        _, where, in_partial = caller()
        if in_partial:
            return z
        for part in z if isinstance(z, tuple) else (z,):
            require_finite(fault(part._value, self.infinities), rule.name, where)
            tangents = part._tangents if isinstance(part, ArrayDual) else [part._tangent]
            require_finite(fault(tangents, self.infinities), f"the derivative of {rule.name}", where)
        return z
