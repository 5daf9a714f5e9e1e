"""What is measured beside the comparison with other tools, topic by topic: `python -m benchmarks TOPIC ...`.

A topic has parts. Those that are times of calls are programs, measured as those of the comparison are; the others are
tables of what else a function finds: counts, bytes, seconds of fresh processes.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, NamedTuple

from benchmarks import topics
from benchmarks.comparison import run
from benchmarks.comparison.figures import CONTAD, find_seconds, list_busy, list_rows, list_wrong
from benchmarks.comparison.measure import AGAIN, BY_HAND, PRIMAL, Effort, measure
from benchmarks.comparison.program import Program
from benchmarks.comparison.report import NONE, describe_head, format_number, format_size, list_lines, list_refused
from benchmarks.comparison.tools import TOOLS
from benchmarks.timing import format_table

QUICK, ONE = "quick", "one"  # sizes: of a quick run; of what is subtracted from the others
FULL, HASTY = Effort(40, 2e-3, 2.0, warm=True), Effort(2, 0.0, 1.0)
UNITS = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0, "": 1.0, "MB": 1e-6}
# what stands in brackets beside a time: a text for the report, and the function of the time of each version and a name
BESIDE: dict[str, tuple[str, Callable[[Callable[[str], float], str], list[float]]]] = {
    "controls": (
        "In brackets the ratio to the primal, and to the gradient by hand.",
        lambda time, name: [time(name) / time(control) for control in (PRIMAL, BY_HAND)],
    ),
    "own gradient": (
        "In brackets the ratio to the gradient by the same library.",
        lambda time, name: [time(name) / time(f"{name.partition(' ')[0]} gradient")],
    ),
    "matrix": (
        "In brackets the ratio to contad's engine `matrix`.", lambda time, name: [time(name) / time(f"{CONTAD}matrix")]
    ),
    "difference": ("In brackets the difference to the control.", lambda time, name: [time(name) - time(PRIMAL)]),
}


class Choice(NamedTuple):
    """What of a topic is run."""

    quick: bool = False  # small sizes, few repeats
    engines: Sequence[str] = ("matrix",)  # contad's, where it is not all of them
    names: Collection[str] | None = None  # programs, if not all
    passes: Collection[str] | None = None  # of the engine `generated`, if not all
    texts: bool = False  # whether sources alone are looked at, in `passes`
    data: Path | None = None  # a clone of posteriordb, in `posteriordb`
    tools: Collection[str] | None = None  # the other tools, if not all

    def chooses(self, name: str) -> bool:
        """Whether a program is one of them."""
        return self.names is None or name in self.names


EVERYTHING = Choice()


class Timed(NamedTuple):
    """Programs whose versions are timed, at the size "quick" or at all others; a time is that of one `count`.

    What a program takes at the size "one" is subtracted, if it has that size.
    """

    about: str
    programs: Callable[[Choice], Sequence[Program]]
    unit: str = "us"
    beside: str = "controls"
    first: bool = False  # whether first calls are reported as well


class Counted(NamedTuple):
    """A table {row: {column: value}} of what is no time of a call; times in it are seconds."""

    about: str
    table: Callable[[Choice], Mapping[str, Mapping[str, Any]]]
    unit: str = ""
    of_programs: bool = False  # whether a row is that of a program, which may be chosen


class Topic(NamedTuple):
    """Parts by their titles, and what is to be said of their figures."""

    title: str
    parts: Mapping[str, Timed | Counted]
    remark: Callable[[dict[str, Any]], list[str]] = lambda parts: []
    fail: str = "wrong"  # a remark with this text is a failure, except in a quick run


def find_topics() -> dict[str, Topic]:
    """{name: topic} of every module of `benchmarks.topics`."""
    names = [module.name for module in iter_modules(topics.__path__)]
    return {name: import_module(f"{topics.__name__}.{name}").TOPIC for name in names}


# ---- figures ---------------------------------------------------------------------------------------------------------
def run_topic(name: str, tools: Sequence[str] = tuple(TOOLS), choice: Choice = EVERYTHING) -> dict[str, Any]:
    """All figures of a topic, as JSON can hold them."""
    topic = find_topics()[name]
    timed = {
        title: [program for program in part.programs(choice) if choice.chooses(program.name)]
        for title, part in topic.parts.items()
        if isinstance(part, Timed)
    }
    programs = [program for part in timed.values() for program in part]
    if timed and not programs:
        raise SystemExit(f"python -m benchmarks: no program of {name} is called {', '.join(choice.names or ())}")
    used = {peer.partition(" ")[0] for program in programs for peer in program.peers}
    tools = [tool for tool in tools if tool in used]
    effort = HASTY if choice.quick else FULL
    figures = run.describe_run(tools) | {
        "topic": name, "quick": choice.quick, "effort": effort._asdict(), "parts": {},
        "tolerance": max((program.tolerance for program in programs), default=1e-10),
    }  # fmt: skip
    bar = run.Progress(len(topic.parts))
    with run.set_libraries_aside():
        for title, part in topic.parts.items():
            bar.step(f"{name}: {title}")
            if isinstance(part, Timed):
                found = [
                    {"name": p.name, "sizes": {size: measure(p, size, tools, effort) for size in sizes}}
                    for p in timed[title]
                    if (sizes := choose_sizes(p, choice.quick))
                ]
                figures["parts"][title] = {**part._asdict(), "programs": found}
            elif choice.names is None or part.of_programs:
                figures["parts"][title] = {**part._asdict(), "table": part.table(choice)}
    bar.close()
    return figures | {"remarks": topic.remark(figures["parts"])}


def choose_sizes(program: Program, quick: bool) -> list[str]:
    """The sizes at which a program is measured."""
    return [size for size in program.sizes if size == ONE or (size == QUICK) == quick]


def divide_seconds(program: dict[str, Any], size: str, name: str) -> float:
    """Seconds of a version for one of what a run has many of: operations, steps, calls."""
    found = program["sizes"]
    time, count = find_seconds(found[size], name), found[size]["count"]
    if ONE in found:
        time, count = time - find_seconds(found[ONE], name), count - found[ONE]["count"]
    return time / count


def find_failures(figures: dict[str, Any]) -> list[str]:
    """A line for everything that makes a run of a topic fail."""
    failed = [line for part in figures["parts"].values() if "programs" in part for line in list_wrong(part)]
    text = find_topics()[figures["topic"]].fail
    return failed + [line for line in figures["remarks"] if text in line and not figures["quick"]]


# ---- report ----------------------------------------------------------------------------------------------------------
def report_topic(figures: dict[str, Any]) -> str:
    """The figures as Markdown."""
    parts = [f"# {find_topics()[figures['topic']].title}", describe_head(figures)]
    if failures := find_failures(figures):
        parts += ["**Wrong, and not timed, or without its reason:**", list_lines(failures)]
    for title, part in figures["parts"].items():
        parts.append(f"## {title}")
        if "table" in part:
            parts += [part["about"], count_table(part)]
            continue
        parts += [f"{part['about']} {BESIDE[part['beside']][0]}".strip(), _time_table(part)]
        if part["first"]:
            parts += ["### The first call, preparation and compilation included, ms", _first_table(part)]
        if threads := not figures["quick"] and list_busy(part):
            parts += ["More than one thread:", list_lines(threads)]
        parts += list_refused(part)
    if figures["remarks"]:
        parts += ["## Remarks", list_lines(figures["remarks"])]
    return "\n\n".join(filter(None, parts)) + "\n"


def count_table(part: dict[str, Any]) -> str:
    """The table of a part that is no time of calls."""
    columns = list(dict.fromkeys(column for row in part["table"].values() for column in row))
    table = [(name, *(_format(row.get(c), part["unit"]) for c in columns)) for name, row in part["table"].items()]
    return format_table(("", *columns), table)


def _format(x: Any, unit: str) -> str:
    return x if isinstance(x, str) else NONE if x is None else format_number(x * UNITS[unit])


def _name_versions(part: dict[str, Any]) -> list[str]:
    """All versions, in the order of the program that has most."""
    found = sorted((list(m["versions"]) for _, _, m in list_rows(part)), key=len, reverse=True)
    return [name for name in dict.fromkeys(name for names in found for name in names) if name != AGAIN]


def _time_table(part: dict[str, Any]) -> str:
    names = _name_versions(part)
    table = []
    for program, size, measured in list_rows(part):
        if size == ONE:
            continue
        cells = [_time_cell(part, program, size, name) for name in names]
        table.append((program["name"], format_size(measured), f"{measured['noise']:.1%}", *cells))
    return format_table(
        ("program", "size", "noise", *(name.removeprefix(CONTAD) for name in names)), table, text=(0, 1)
    )


def _time_cell(part: dict[str, Any], program: dict[str, Any], size: str, name: str) -> str:
    found = program["sizes"][size]["versions"].get(name, {})
    if "seconds" not in found:
        return "wrong" if "wrong" in found else "refused" if "raised" in found else NONE

    def time(name: str) -> float:
        return divide_seconds(program, size, name) * UNITS[part["unit"]]

    if name in (PRIMAL, BY_HAND):
        return format_number(time(name))
    return f"{format_number(time(name))} ({', '.join(map(format_number, BESIDE[part['beside']][1](time, name)))})"


def _first_table(part: dict[str, Any]) -> str:
    names = [name for name in _name_versions(part) if name != PRIMAL]
    table = []
    for program, size, measured in list_rows(part):
        first = [measured["versions"].get(name, {}).get("prepare") for name in names]
        if size != ONE:
            table.append((program["name"], format_size(measured), *(_format(t, "ms") for t in first)))
    return format_table(("program", "size", *(name.removeprefix(CONTAD) for name in names)), table, text=(0, 1))
