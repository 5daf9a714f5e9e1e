"""Where a nan or an infinity comes from: levels that look at everything they compute, and remember the source lines.

Nothing of it costs anything outside of `debug_nans`: inside, levels are made of other classes.
"""

import functools
import linecache
import sys
from abc import abstractmethod
from collections.abc import Sequence
from types import FrameType
from typing import Any

import numpy as np

from contad.engines.stream.record_stream import Recording
from contad.engines.stream.sweep import CALLBACK, INPUT, JOIN, LINEAR, OPERATIONS, PULLBACK, VARIANTS, decoded
from contad.errors import NUMPY_FILES, OWN_FILES, NonFiniteError
from contad.protocols.number_protocols import general_methods, install
from contad.rules.scalar_rule import ScalarRule
from contad.variables.dual import ArrayDual, Dual, ForwardLevel
from contad.variables.number import NumpyNumber, map_numbers, pair, peek
from contad.variables.stack import THREAD, ChainStack

Place = tuple[str, str]  # an operation, and where the user's code called it


class debug_nans:
    """Report the first operation that makes a nan or an infinity, forward or reverse, with its source line.

    Inside the context every gradient, vjp and jvp of this thread looks at each value, tangent and adjoint when it is
    made, and raises NonFiniteError at the first that is not finite; `infinities=False` lets infinities pass. A zero
    adjoint masks a partial that is not finite, here as elsewhere, so dead code reports nothing in the sweep. Operations
    on plain numbers alone are NumPy's own: see np.errstate.

    Cost:    sweeps run in Python, and each operation looks up its source line; for debugging only.

    >>> import contad
    >>> with debug_nans():
    ...     contad.grad(lambda x: contad.sqrt(x - 2.0))(2.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    contad.errors.NonFiniteError: the derivative of sqrt made inf, ...
    """

    __slots__ = ("_before", "infinities")

    def __init__(self, infinities: bool = True) -> None:
        self.infinities = infinities

    def __enter__(self) -> None:
        self._before = THREAD.watch
        THREAD.watch = self

    def __exit__(self, *exception: Any) -> None:
        THREAD.watch = self._before

    def stack_class(self, cls: type[ChainStack]) -> type[ChainStack]:
        """An engine's class of stacks that look for what is not finite."""
        found: type[ChainStack] = _watched(cls, self.infinities)  # type: ignore[arg-type]
        return found

    def level_class(self) -> type[ForwardLevel]:
        """The class of forward levels that do."""
        return _Forward if self.infinities else _ForwardOfNans


# ---- what is not finite ----------------------------------------------------------------------------------------------
def fault(x: Any, infinities: bool) -> str:
    """The first number in x, a number, an array or a container, that is nan or infinite: "nan", "inf", "-inf" or ""."""
    plain = map_numbers(peek, x)
    if isinstance(plain, (list, tuple)):
        return next((found for item in plain if (found := fault(item, infinities))), "")
    a = np.asarray(plain, dtype=float)
    wrong = ~np.isfinite(a) if infinities else np.isnan(a)
    return str(float(a[wrong].flat[0])) if wrong.any() else ""


def require_finite(found: str, what: str, where: str) -> None:
    """Raise where a fault was found."""
    if found:
        raise NonFiniteError(f"{what} made {found}, called at {where}")


def caller() -> tuple[str, str]:
    """The rule that contad runs now, if it can be told, and the line of the user's code that called it."""
    frame: FrameType | None = sys._getframe(1)
    name = ""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith("<contad "):
            name = name or file.rpartition(": ")[2].rstrip(">")
        elif not file.startswith((OWN_FILES, NUMPY_FILES)):
            break
        elif not name:
            name = getattr(frame.f_locals.get("rule"), "name", "")
        frame = frame.f_back
    if frame is None:
        return name, "an unknown place"
    line = frame.f_lineno
    text = linecache.getline(frame.f_code.co_filename, line).strip()
    where = f"{frame.f_code.co_filename}:{line}, in {frame.f_code.co_name}"
    return name, f"{where}: {text}" if text else where


# ---- reverse mode ----------------------------------------------------------------------------------------------------
class _Watched:
    """A chain stack that looks at each value when its record is pushed, and at the adjoints that each record gives."""

    infinities = True
    places: list[Place]  # by record
    push: Any

    def __init__(self, level: int | None = None) -> None:
        super().__init__(level)  # type: ignore[call-arg]
        self.places = []
        push = self.push

        def watched_push(record: Any) -> None:
            recorded = self._recorded(record)
            push(recorded)
            self._look(recorded)

        self.push = watched_push

    def _recorded(self, record: Any) -> Any:
        """What is pushed for a record."""
        return record

    @abstractmethod
    def _look(self, record: Any) -> None:
        """Look at the values of what has been pushed."""

    def _pushed(self, operation: str, value: Any) -> None:
        name, where = caller()
        self.places.append((name if operation in ("", VARIANTS[LINEAR], VARIANTS[JOIN]) else operation, where))
        what = "an argument of the gradient" if operation == VARIANTS[INPUT] else self.places[-1][0]
        require_finite(fault(value, self.infinities), what, where)

    def _require_adjoints(self, row: int, values: Any) -> None:
        """After the record of that number has passed adjoints on."""
        operation, where = self.places[row]
        require_finite(fault(values, self.infinities), f"the derivative of {operation}", where)


class _WatchedRecording(_Watched):
    def _look(self, record: Sequence[Any]) -> None:
        s: Any = self
        for k in range(0, len(record), 4):
            head, x, _, value = record[k : k + 4]
            code, _, n = decoded(head) if head < 0 else (int(head), 0, 1)
            if head < 0:
                value = s.buffers.values[s.top - n : s.top]
            name = OPERATIONS[code][0].name if code in OPERATIONS else VARIANTS[code]
            if code in (PULLBACK, CALLBACK):
                name = getattr(s.callbacks[int(x)], "name", "a callback")
            elif head < 0 and code == LINEAR:
                name = ""
            self._pushed(name, value)

    def sweep(self, top: int, seeds: Any) -> Any:
        s: Any = self
        s.flush()
        return s._sweep_numbers(top, seeds)

    def _sweep_row_on_numbers(self, row: int, k: int, top: int, adjoints: Any) -> int:
        n: int = super()._sweep_row_on_numbers(row, k, top, adjoints)  # type: ignore[misc]
        s: Any = self
        code, x, y = s.buffers.records[row].tolist()
        if code in (LINEAR, JOIN):
            self._require_adjoints(row - 1, [adjoints[int(x)], adjoints[k - 1]])
        elif int(code) in OPERATIONS:
            active = OPERATIONS[int(code)][1]
            self._require_adjoints(
                row - 1, [adjoints[int(c)] for c, a in zip((x, y), active, strict=False) if a == "v"]
            )
        elif code != INPUT:
            self._require_adjoints(row - 1, adjoints[:] if isinstance(adjoints, list) else adjoints[0 : len(adjoints)])
        return n


class _WatchedClosures(_Watched):
    def _recorded(self, chain: Any) -> Any:
        s: Any = self
        value, values, partials = s.captured(chain)
        cells = [cell for cell, _ in partials.values()]
        number = len(self.places)

        def watched_chain(adj: list[Any]) -> Any:
            chain(adj)
            self._require_adjoints(number, [adj[c] for c in cells] if values else adj)
            return value  # for `show_stack`

        watched_chain.__name__ = chain.__name__
        return watched_chain

    def _look(self, chain: Any) -> None:
        s: Any = self
        self._pushed(chain.__name__.removesuffix("_chain"), s.captured(chain).value)


@functools.cache
def _watched(cls: type[ChainStack], infinities: bool) -> type[ChainStack]:
    if issubclass(cls, _Watched):
        return cls
    mixin = _WatchedRecording if issubclass(cls, Recording) else _WatchedClosures
    return type(f"Watched{cls.__name__}", (mixin, cls), {"infinities": infinities})


# ---- forward mode ----------------------------------------------------------------------------------------------------
class _WatchedDual(Dual):
    """A dual whose operations go through its level, which looks at them."""

    __slots__ = ()
    implement = None


class _WatchedNumpyDual(NumpyNumber, _WatchedDual):
    """The same in place of an np.float64."""

    __slots__ = ()


pair(_WatchedDual, _WatchedNumpyDual)
for _class in (_WatchedDual, _WatchedNumpyDual):
    install(_class, general_methods)


class _Forward(ForwardLevel):
    __slots__ = ()
    infinities = True

    def dual(self, value: Any, tangent: Any) -> Dual:
        z = object.__new__(_WatchedNumpyDual)
        z._value, z._tangent, z._owner = value, tangent, self
        return z

    def apply(self, rule: ScalarRule, args: Sequence[Any]) -> Dual:
        return self._looked_at(rule, super().apply(rule, args))

    def apply_elementwise(self, rule: ScalarRule, args: Sequence[Any]) -> Any:
        return self._looked_at(rule, super().apply_elementwise(rule, args))

    def apply_array(self, rule: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
        return self._looked_at(rule, super().apply_array(rule, args, options))

    def _looked_at(self, rule: Any, z: Any) -> Any:
        for part in z if isinstance(z, tuple) else (z,):
            _, where = caller()
            require_finite(fault(part._value, self.infinities), rule.name, where)
            tangents = part._tangents if isinstance(part, ArrayDual) else [part._tangent]
            require_finite(fault(tangents, self.infinities), f"the derivative of {rule.name}", where)
        return z


class _ForwardOfNans(_Forward):
    __slots__ = ()
    infinities = False
