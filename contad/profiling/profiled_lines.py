"""The lines of a profile, summed over their call paths."""

import linecache
from typing import NamedTuple

from contad.profiling.line_clock import CallPath


class ProfiledLine(NamedTuple):
    """One line of the user's code, without the lines of other user functions that it calls."""

    file: str  # empty for time that belongs to no line: creating variables
    line: int
    function: str
    source: str
    calls: int  # how often the line ran
    records: int  # pushed on the stack
    forward: float  # seconds
    reverse: float
    bytes: int

    @property
    def seconds(self) -> float:
        """The seconds of both sweeps."""
        return self.forward + self.reverse


def lines_of(root: CallPath) -> list[ProfiledLine]:
    """All lines under a root, by any call path; the lines of a function are together, in order."""
    found: dict[tuple[str, int, str], list[float]] = {}
    files: dict[str, int] = {"": 0}
    functions: dict[tuple[str, str], int] = {}  # their order
    for path in root.walk():
        place = place_of(path)
        files.setdefault(place[0], len(files))
        at = path.code.co_firstlineno if path.code is not None else 0
        key = place[0], place[2]
        functions[key] = min(functions.get(key, at), at)
        total = found.setdefault(place, [0, 0, 0.0, 0.0, 0])
        for k, x in enumerate((path.calls, path.records, path.forward, path.reverse, path.bytes)):
            total[k] += x

    def order(place: tuple[str, int, str]) -> tuple[int, int, str, int]:
        file, line, function = place
        return files[file], functions[file, function], function, line

    lines = []
    for place in sorted(found, key=order):
        calls, records, forward, reverse, size = found[place]
        file, line, function = place
        source = linecache.getline(file, line).rstrip() if file else f"({function})"
        if any(found[place]):
            lines.append(
                ProfiledLine(file, line, function, source, int(calls), int(records), forward, reverse, int(size))
            )
    return lines


def place_of(path: CallPath) -> tuple[str, int, str]:
    """File, line and function."""
    if path.code is None:
        return "", 0, "the arguments, as variables"
    return path.code.co_filename, path.line, path.code.co_qualname.rpartition("<locals>.")[2]


def show_share(part: float, whole: float) -> str:
    """A part of a whole in percent; empty if it is zero.

    >>> show_share(1.0, 3.0), show_share(0.0, 3.0)
    ('33.3 %', '')
    """
    return f"{100.0 * part / whole:.1f} %" if part > 0.0 and whole > 0.0 else ""
