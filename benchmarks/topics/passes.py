"""What the loop passes of the engine `generated` bring: each is left out in turn.

For the functions of `benchmarks.real`, which nobody chose for a pass, and apart from them for the programs by which
contad compares itself. With `--texts` sources are compared, and nothing is compiled.
"""

import functools
import importlib
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from time import perf_counter
from typing import Any, NamedTuple
from unittest import mock

import numba
import numpy as np

from benchmarks import loops
from benchmarks.comparison.programs import find_programs
from benchmarks.comparison.topic import Choice, Counted, Topic
from benchmarks.passes import PASSES, find_changing, without
from benchmarks.real.catalogue import REAL
from benchmarks.timing import take_turns
from contad.engines.source.ir.printing import options_of
from contad.numba_functions.request import Request

CORPUS, OURS = "real", "comparison"
MOST_NAMED = 20  # programs of a pass
MOST_CALLS = 2e-3  # seconds of calls in a round
BUILD = importlib.import_module("contad.engines.source.build")  # the package has a function of that name
FEWEST, LEAST = 5, 1.05  # functions of the corpus that a pass changes, and the median of off over on there
TABLE, WHICH = "Passes left out, one at a time", "Programs that they change"
ABOUT = (
    "`off / on` is the time of value and gradient without the pass over that with it, in the programs whose source it "
    "changes: the median, the least and the most. Compilation is that of all of these, without the pass over with it. "
    "`lines` are those of its own files, and of its tests."
)


class Subject(NamedTuple):
    """A derivative that is asked for, and arguments for small and for large runs."""

    name: str
    request: Request
    make: Callable[[], tuple[Any, ...]]


# ---- programs --------------------------------------------------------------------------------------------------------
def list_real(choice: Choice) -> list[Subject]:
    """The functions of `benchmarks.real`."""
    return [
        Subject(
            name, _ask(p.function, p.arguments(p.small), p.argnums),
            lambda p=p: p.arguments(p.small if choice.quick else p.large),
        )
        for name, p in REAL.items()
        if choice.chooses(name)
    ]  # fmt: skip


def list_ours(choice: Choice) -> list[Subject]:
    """The functions that the comparison gives to the engine `generated`, and those of `benchmarks.loops`."""
    found = []
    for name, (f, args, argnums) in loops.problems(0.02).items():
        if choice.chooses(f"{name} of loops"):
            make = lambda name=name: loops.problems(0.02 if choice.quick else 1.0)[name][1]  # noqa: E731
            found.append(Subject(f"{name} of loops", _ask(f, args, argnums), make))
    for name, program in find_programs().items():
        sizes = list(program.sizes.values())
        size = sizes[0] if choice.quick else sizes[-2:][0]  # the largest but one
        for version in ("generated", "generated, reassociating"):
            title = f"{name}{version.removeprefix('generated')}"
            if version not in program.contad or not choice.chooses(title):
                continue
            if request := _catch(program.contad[version], program.inputs(**sizes[0])):
                make = lambda p=program, r=request, size=size: p.inputs(**size)[: len(r.types)]  # noqa: E731
                found.append(Subject(title, request, make))
    return found


def _ask(f: Any, args: tuple[Any, ...], argnums: tuple[int, ...]) -> Request:
    types = tuple(map(numba.typeof, args))
    return Request(f.py_func, f, types, argnums, False, "value_and_grad", numerics="auto")


class _Asked(BaseException):
    """What a version has asked the engine for; no handler of errors takes it."""


def _catch(version: Callable[..., Any], args: tuple[Any, ...]) -> Request | None:
    """The first request that a version of a program makes, which is not answered."""

    def answer(request: Request) -> None:
        raise _Asked(request)

    with mock.patch.object(BUILD, "derivative_of", answer):
        try:
            version(*args)()
        except _Asked as asked:
            request: Request = asked.args[0]
            return request._replace(linked=False) if request.mode == "value_and_grad" else None
    return None


# ---- measurements ----------------------------------------------------------------------------------------------------
class Built(NamedTuple):
    """A compiled derivative, and the seconds that its compilation took."""

    run: Callable[..., Any]
    seconds: float


def build(request: Request, skipped: str = "") -> Built:
    """The derivative, without a pass if one is named; compiled twice, as kernels are compiled with the first one."""
    with without({skipped} if skipped else set()):
        run = BUILD.build(request)
    again = numba.njit(**options_of(False))(run.py_func)
    start = perf_counter()
    again.compile(request.types)
    return Built(run, perf_counter() - start)


def compare(on: Built, off: Built, args: tuple[Any, ...], quick: bool) -> float:
    """The time of the second over that of the first; they must agree."""
    for x, y in zip(_numbers(on.run(*args)), _numbers(off.run(*args)), strict=True):
        np.testing.assert_allclose(y, x, rtol=1e-8, atol=1e-8 * max(np.max(np.abs(x), initial=0.0), 1e-300))
    runs = {"on": lambda: on.run(*args), "off": lambda: off.run(*args)}
    found = take_turns(runs, *((1, 0.0) if quick else (15, MOST_CALLS)))
    return found["off"].seconds / found["on"].seconds


def _numbers(found: Any) -> Iterable[np.ndarray]:
    if isinstance(found, tuple):
        return [x for part in found for x in _numbers(part)]
    return [np.asarray(found)]


def _find_all(choice: Choice) -> tuple[dict[str, list[Subject]], dict[str, dict[str, list[Subject]]]]:
    """All programs by group; and by pass and group, those whose source is another one without it."""
    groups = {CORPUS: list_real(choice), OURS: list_ours(choice)}
    chosen = {name: p for name, p in PASSES.items() if choice.passes is None or name in choice.passes}
    changed: dict[str, dict[str, list[Subject]]] = {name: {group: [] for group in groups} for name in chosen}
    for group, subjects in groups.items():
        for subject in subjects:
            for name in find_changing(subject.request, chosen):
                changed[name][group].append(subject)
    return groups, changed


def measure(choice: Choice) -> dict[str, dict[str, Any]]:
    """A row for each pass, those first that change the fewest functions of `benchmarks.real`."""
    return _measure_all(choice._replace(engines=(), names=_key(choice.names), passes=_key(choice.passes)))[0]


def list_programs(choice: Choice) -> dict[str, dict[str, Any]]:
    """The programs that each pass changes, with their ratios."""
    return _measure_all(choice._replace(engines=(), names=_key(choice.names), passes=_key(choice.passes)))[1]


def _key(names: Collection[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


@functools.cache
def _measure_all(choice: Choice) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    groups, changed = _find_all(choice)
    built: dict[Request, Built] = {}
    table, which = {}, {}
    for name in sorted(changed, key=lambda name: len(changed[name][CORPUS])):
        table[name] = {"lines": PASSES[name].lines, "lines of tests": PASSES[name].test_lines}
        which[name] = {}
        for group, subjects in groups.items():
            mine = sorted(changed[name][group])
            table[name][f"{group}: of {len(subjects)}"] = len(mine)
            which[name][group] = list_some([subject.name for subject in mine])
            if not choice.texts and mine:
                found, ratios = _measure_pass(name, mine, built, choice.quick)
                table[name] |= {f"{group}: {column}": x for column, x in found.items()}
                which[name][group] = list_some([f"{subject} {ratio:.2f}" for subject, ratio in ratios.items()])
    return table, which


def list_some(names: Sequence[str]) -> str:
    """The first of them, and how many others there are."""
    more = f", and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _measure_pass(
    name: str, subjects: list[Subject], built: dict[Request, Built], quick: bool
) -> tuple[dict[str, float], dict[str, float]]:
    """What all programs say, and the ratio of each."""
    ratios: dict[str, float] = {}
    seconds = {"on": 0.0, "off": 0.0}
    for subject in subjects:
        if subject.request not in built:
            built[subject.request] = build(subject.request)
        on, off = built[subject.request], build(subject.request, name)
        ratios[subject.name] = compare(on, off, subject.make(), quick)
        seconds["on"] += on.seconds
        seconds["off"] += off.seconds
        print(f"{name}, {subject.name}: {ratios[subject.name]:.3f}", file=sys.stderr, flush=True)
    values = sorted(ratios.values())
    found = {"off / on": float(np.median(values)), "least": values[0], "most": values[-1]}
    return found | {"compilation": seconds["off"] / seconds["on"]}, ratios


def remark(parts: dict[str, Any]) -> list[str]:
    """The passes that change fewer functions of `benchmarks.real` than they should, or bring less there."""
    lines = []
    for name, row in parts[TABLE]["table"].items():
        (count,) = (value for key, value in row.items() if key.startswith(f"{CORPUS}: of "))
        ratio = row.get(f"{CORPUS}: off / on")
        if count < FEWEST or (ratio is not None and ratio < LEAST):
            brings = "" if ratio is None else f", {ratio:.2f} in the median"
            lines.append(f"{name}: {count} of {CORPUS}{brings}; {row['lines']} lines")
    return lines


TOPIC = Topic(
    "Passes of the engine `generated`",
    {
        TABLE: Counted(ABOUT, measure, of_programs=True),
        WHICH: Counted("With what `off / on` is there.", list_programs, of_programs=True),
    },
    remark,
)  # fmt: skip
