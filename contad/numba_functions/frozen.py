"""The values that a Numba function has frozen, compared at every call with the present values of its names.

Numba makes constants of globals and captured values when it compiles. A derivative is compiled at another time than its
function. If a value changes in between, the two would silently use different values.
"""

import ctypes
import re
from collections.abc import Callable
from types import MethodType
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np

from contad.compile.dispatchers import is_dispatcher, tell_of_compilations
from contad.errors import FrozenValueError
from contad.functions.user_call import memo_of
from contad.numba_functions.fingerprint import Fingerprint, Places, find_changed_since, fingerprint_and_places, is_told

_DIGEST = re.compile("[0-9a-f]{64}")  # of code, which is not informative
_compilations = (ctypes.c_int64 * 1)()  # the number of compilations by Numba


def _count(*_: Any) -> None:
    _compilations[0] += 1


tell_of_compilations(lambda: None, _count)


class Otherwise(NamedTuple):
    """The function to call with the same arguments after a compiled function raised an exception or lost digits."""

    at: type[Exception] | None = None
    call: Any = None
    lost: Any = None


class Frozen:
    """The values that f and its callees name, as they were when this object was made.

    `what` names the derivative in messages. `memo` holds everything made from f: all derivatives of f use the values
    from when the first of them was made. Calls skip `check` while there is nothing to compare. When f is recompiled
    there is, and `forget` sends calls through `check` again.
    """

    def __init__(self, f: Any, what: str, memo: dict[Any, Any], forget: Callable[[], None] | None = None) -> None:
        self.f = f
        self.what = what
        self.memo = memo
        self._head = (ctypes.c_int64 * 1)()  # the address of the table: machine code finds the present one
        self._kept: list[Any] = []
        self._look = self.require_unchanged  # one object, which machine code calls
        now, self.places = fingerprint_and_places(f)
        self.noted: Fingerprint = memo.setdefault("frozen", now)
        self._table: Any = None
        self._forget = forget
        self._recompiled = False
        if self.is_empty and is_dispatcher(f):
            memo_of(f).setdefault("passed by", WeakSet()).add(self)
            vars(f)["recompile"] = MethodType(_recompile, f)

    def note(self) -> None:
        """Take the present values of f."""
        self.noted, self.places = fingerprint_and_places(self.f)
        self.memo["frozen"] = self.noted
        if self._table is not None:  # functions handed out earlier read it
            self._make_table()

    @property
    def is_empty(self) -> bool:
        """Whether nothing could change."""
        return not (self._recompiled or self.places.names or self.places.cells or self.places.arrays)

    def require_looks(self) -> None:
        """Check f at every call from now on."""
        self._recompiled = True
        if self._forget is not None:
            self._forget()

    def is_told(self) -> bool:
        """Whether `require_unchanged` knows all values with which f was compiled, if it was."""
        return is_told(self.noted.dispatchers)

    def require_unchanged(self) -> None:
        """FrozenValueError if any value differs now, or differed when f was compiled. Compares all contents."""
        now, places = fingerprint_and_places(self.f)
        again = "define the function again"
        for since, changed, more in (
            ("its first derivative was made", self.noted.find_changes(now), ""),
            ("the function was compiled", find_changed_since(now.dispatchers), ", or call its recompile()"),
        ):
            for name, before, after in changed:
                if more:  # nothing has been made from f as it is now, so it does not bind other derivatives
                    self.memo.pop("frozen", None)
                told = "" if _DIGEST.fullmatch(after) else f", from {before} to {after}"
                raise FrozenValueError(
                    f"{self.what}: {name} has changed since {since}{told}; Numba freezes such "
                    f"values, so {again if name == self.f.__name__ else f'pass it as an argument, or {again}'}{more}"
                )
        self.places = places  # equal, but perhaps different objects
        if self._table is not None:
            self._make_table()

    def check(self) -> None:
        """As `require_unchanged`, but samples the contents of large arrays; each call does this."""
        if self.is_empty:
            return
        if self._table is None:
            self.require_unchanged()
            self._make_table()
            return
        from contad.numba_functions.guarded import is_as_it_was

        if not is_as_it_was(self._head[0]):
            self.require_unchanged()

    def guard(
        self, entry: Callable[..., Any], otherwise: Otherwise | None = None, kept: list[Any] | None = None
    ) -> Callable[..., Any]:
        """A compiled function as Python calls it, with a check before every call; this object must outlive it.

        If the function raises that exception, or loses digits, the function in `otherwise` is called. Both go into
        `kept`, which must live as long as the result; without `kept` they live as long as this object.
        """
        if self.is_empty and otherwise is None:
            return entry
        from contad.numba_functions.guarded import guard

        if self._table is None:
            self._make_table()
        made = guard(entry, self._head, *(otherwise or ()))
        (self._kept if kept is None else kept).extend((self, made, otherwise))
        return made

    def _make_table(self) -> None:
        self._table = _Table(self.places, self.noted.dispatchers, self._look)
        self._head[0] = self._table.words.ctypes.data


def _recompile(f: Any) -> None:
    """The method `recompile` of a Numba function whose derivatives check nothing at calls."""
    for frozen in memo_of(f).pop("passed by", ()):
        frozen.require_looks()
    type(f).recompile(f)


class _Table:
    """The words that machine code reads, and the objects that they point to."""

    def __init__(self, places: Places, dispatchers: tuple[Any, ...], look: Callable[[], None]) -> None:
        from contad.numba_functions.guarded import ARRAY

        self.kept: list[Any] = [places]
        sizes = [dispatcher.overloads for dispatcher in dispatchers]
        words = [id(look), ctypes.addressof(_compilations), _compilations[0]]
        words += [len(places.names), len(places.cells) + len(sizes), len(places.arrays)]
        for names, key, value in places.names:
            words += [id(names), id(key), id(value)]
        for cell, value in places.cells:
            words += [id(cell), id(value)]
        for overloads in sizes:
            words += [id(overloads), len(overloads)]
        for array in places.arrays:
            entry, kept = describe_place(array, array.tobytes("A"))
            assert len(entry) == ARRAY
            words += entry
            self.kept.append(kept)
        self.words = np.array(words, np.int64)


def describe_place(x: np.ndarray, contents: bytes = b"") -> tuple[list[int], Any]:
    """The entry of an array in a table for `contad.numba_functions.guarded`, and the object that must live as long as
    the entry."""
    extents = np.array([*x.shape, *x.strides, 0], np.int64)
    copy = np.frombuffer(contents + bytes(8), np.uint8)
    entry = [id(x), x.ctypes.data, id(x.dtype), x.ndim, extents.ctypes.data, copy.ctypes.data, len(contents), 0]
    return entry, (x, extents, copy)
