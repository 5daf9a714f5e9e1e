"""Whose time it is: a clock that follows the user's lines while a function runs, by call path.

Python tells of every line (`sys.settrace`) of functions that are the user's; the time from one event to the next
belongs to the line that was running, with all that contad, NumPy and other libraries did for it. Time spent here is
left out. Calls inside of libraries cost Python an event each, whose cost is measured and taken off.
"""

import sys
from collections.abc import Iterator
from time import perf_counter
from types import CodeType, FrameType
from typing import Any

from contad.errors import NUMPY_FILES, OWN_FILES
from contad.functions.reached import is_installed

_COMPREHENSIONS = frozenset(("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"))  # functions to Python, till 3.12


class CallPath:
    """A line of a function, as it was reached: by way of the line that called the function, and so on."""

    __slots__ = ("bytes", "calls", "children", "code", "forward", "ignored", "line", "records", "reverse", "segments")

    def __init__(self, code: CodeType | None, line: int) -> None:
        self.code, self.line = code, line  # no code: what belongs to no line
        self.children: dict[tuple[CodeType, int], CallPath] = {}
        self.calls = self.records = self.bytes = 0
        self.forward = self.reverse = 0.0  # seconds, without those of children
        self.ignored = 0  # calls of functions that are not the user's
        self.segments = 0  # pieces of the reverse sweep

    def child(self, code: CodeType, line: int) -> "CallPath":
        """A line of a function that this line calls."""
        found = self.children.get((code, line))
        if found is None:
            found = self.children[code, line] = CallPath(code, line)
        return found

    def walk(self) -> Iterator["CallPath"]:
        """This line and all that were reached from it; no recursion, for the user's may be deep."""
        waiting = [self]
        while waiting:
            found = waiting.pop()
            yield found
            waiting += reversed(found.children.values())


class LineClock:
    """Follows one call: `current` is the line that runs now, by its call path from `root`.

    Inside `with clock:` functions that are called are followed. A tracer that was set before (of a debugger, or of a
    tool for coverage) is set again afterwards.
    """

    def __init__(self, package: str = "", file: str = "") -> None:
        self.package, self.file = package, file  # the user's, though they may be installed, or text that is executed
        self.root = self.current = CallPath(None, 0)
        self.last = 0.0
        # of each function that runs: what its lines are reached from, its code, and the line to return to
        self._frames: list[tuple[CallPath, CodeType, CallPath]] = []
        self._is_users: dict[CodeType, bool] = {}

    def __enter__(self) -> "LineClock":
        self._before = sys.gettrace()
        self.last = perf_counter()
        sys.settrace(self._enter)
        return self

    def __exit__(self, *exception: object) -> None:
        sys.settrace(self._before)
        self.current.forward += perf_counter() - self.last
        self.current = self.root
        self._frames.clear()

    def _enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        """A function begins, or a generator goes on."""
        code = frame.f_code
        own = self._is_users.get(code)
        if own is None:
            own = self._is_users[code] = self._belongs_to_user(frame)
        if not own:
            self.current.ignored += 1
            return None
        self.current.forward += perf_counter() - self.last
        parent = self.current
        if code.co_name in _COMPREHENSIONS and self._frames:  # lines of the function that it stands in
            around = self._frames[-1][:2]
            if f"{around[1].co_qualname}.<locals>.{code.co_name}" == code.co_qualname:
                parent, code = around
        self._frames.append((parent, code, self.current))
        if frame.f_lineno != code.co_firstlineno:  # a generator goes on; else the first line will be told
            self.current = parent.child(code, frame.f_lineno)
        self.last = perf_counter()
        return self._follow

    def _follow(self, frame: FrameType, event: str, arg: Any) -> Any:
        """A line begins, or the function ends, or a generator waits."""
        if event == "line":
            self.current.forward += perf_counter() - self.last
            parent, code, _ = self._frames[-1]
            self.current = parent.child(code, frame.f_lineno)
            self.current.calls += 1
            self.last = perf_counter()
        elif event == "return":
            self.current.forward += perf_counter() - self.last
            self.current = self._frames.pop()[2]
            self.last = perf_counter()
        return self._follow

    def _belongs_to_user(self, frame: FrameType) -> bool:
        file = frame.f_code.co_filename
        if file.startswith((OWN_FILES, NUMPY_FILES, "<contad ", "<frozen ", "<__array_function__")):
            return False
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if file == self.file:
            return True
        if package.startswith("namedtuple_") or (file.startswith("<") and "__name__" not in frame.f_globals):
            return False  # what Python makes of named tuples, and contad of rules
        return not is_installed(file) or (bool(self.package) and package == self.package)


def cost_of_ignored_call() -> float:
    """What an event that is not followed adds to a call, in seconds: the least of a few trials."""
    clock = LineClock()
    clock._is_users[_do_nothing.__code__] = False
    times: list[list[float]] = [[], []]
    before = sys.gettrace()
    try:
        for _ in range(5):
            for trial, tracer in zip(times, (None, clock._enter), strict=True):
                sys.settrace(tracer)
                begin = perf_counter()
                for _ in range(300):
                    _do_nothing()
                trial.append((perf_counter() - begin) / 300)
    finally:
        sys.settrace(before)
    return max(min(times[1]) - min(times[0]), 0.0)


def _do_nothing() -> None:
    """What is timed."""
