"""A clock that follows the user's lines while a function runs, and assigns time to them by call path.

Python reports every line of the user's functions (`sys.settrace`). The time from one event to the next belongs to the
line that was running, including the work of contad, NumPy and other libraries for it, but without the time spent here.
Each call inside libraries costs an event, whose cost is measured and subtracted.
"""

import sys
from collections.abc import Iterator
from time import perf_counter
from types import CodeType, FrameType
from typing import Any

from contad.errors import NUMPY_FILES, OWN_FILES
from contad.functions.reached import is_installed

_COMPREHENSIONS = frozenset(("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"))  # functions up to Python 3.12


class CallPath:
    """A line of a function with the path that led to it: the line that called the function, and so on."""

    __slots__ = ("bytes", "calls", "children", "code", "forward", "ignored", "line", "records", "reverse", "segments")

    def __init__(self, code: CodeType | None, line: int) -> None:
        self.code, self.line = code, line  # no code: time that belongs to no line
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
        """This line and all lines reached from it; without recursion, because the user's may be deep."""
        waiting = [self]
        while waiting:
            found = waiting.pop()
            yield found
            waiting += reversed(found.children.values())


class LineClock:
    """Follows one call: `current` is the line that runs now, with its call path from `root`.

    It follows the functions that are called inside `with clock:`. Afterwards it restores a tracer that was set before,
    such as that of a debugger or a coverage tool.
    """

    def __init__(self, package: str = "", file: str = "") -> None:
        self.package, self.file = package, file  # the user's, even if installed, or executed text
        self.root = self.current = CallPath(None, 0)
        self.last = 0.0
        # for each running function: the line that called it, its code, and the line to return to
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
        if code.co_name in _COMPREHENSIONS and self._frames:  # its lines belong to the enclosing function
            around = self._frames[-1][:2]
            if f"{around[1].co_qualname}.<locals>.{code.co_name}" == code.co_qualname:
                parent, code = around
        self._frames.append((parent, code, self.current))
        if frame.f_lineno != code.co_firstlineno:  # a generator resumes; otherwise Python reports the first line
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
            return False  # generated code: Python's for named tuples, contad's for rules
        return not is_installed(file) or (bool(self.package) and package == self.package)


def cost_of_ignored_call() -> float:
    """The seconds that an event without tracing adds to a call: the least of a few trials."""
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
    """The call that is timed."""
