"""The comparison as Markdown."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.comparison.compilation import GENERATED
from benchmarks.comparison.figures import (
    find_best,
    find_first,
    find_mean,
    find_ratios,
    find_seconds,
    find_unbound,
    list_busy,
    list_peers,
    list_rows,
    list_wrong,
    rank_ways,
)
from benchmarks.comparison.measure import BY_HAND, IN_NUMPY, PRIMAL, WITH_KERNELS
from benchmarks.timing import format_table

NONE = "-"
QUICK = " **Quick run: the figures mean nothing.**"
RATIOS = (
    "contad is its fastest way. **Bold** is the fastest tool of a row. Noise: by how much two measurements of the "
    "primal differ, in the same rounds; no difference below it means anything."
)
PLACES = "How many times contad's time a tool takes; below 1 contad loses."
CALLS = (
    "A second reference, for engines that are eager: in NumPy and SciPy, each call of the program and then its own "
    "reverse (`comparison/in_numpy.py`). The gradient by hand above is compiled, or does without some of the calls."
)
KERNELS = (
    "A second reference, for elementary functions: by hand with the kernels that generated code calls, in vector "
    "registers (`comparison/with_kernels.py`). The gradient by hand above calls the C library or NumPy."
)
PREPARATION = (
    "Compilation, tracing and recording, at the first size above; in no other figure. contad begins with an empty "
    "cache (except in a quick run); what several programs share is compiled by the first that uses it. The ratio is "
    "there where the gradient by hand is compiled as well, and wanted below 2.5: processor times in a process of its "
    "own, where nothing but the derivative is left to be compiled (`comparison/compilation.py`)."
)
MEMORY = (
    "Resident memory at the peak of one call over that before preparation, each in a fresh process: what a version "
    "keeps, its copy of the inputs and its machine code included. A few MB are the leftovers of compilers."
)


def report(figures: dict[str, Any]) -> str:
    """All tables of a run."""
    parts = ["# Comparison with other tools", describe_head(figures)]
    if disagreements := list_wrong(figures):
        parts += ["**Wrong, and not timed:**", list_lines(disagreements)]
    if threads := list_busy(figures):
        parts += ["**More than one thread, in spite of the settings:**", list_lines(threads)]
    if figures["programs"]:
        parts += [
            "## Summary", _summarise(figures),
            "## Value and gradient, as a multiple of the gradient by hand",
            RATIOS, _tabulate_ratios(figures),
            "## Each tool, as a multiple of contad's fastest way", PLACES, _tabulate_peers(figures),
            "## Every way of contad, as a multiple of the gradient by hand", _tabulate_ways(figures),
            *_tabulate_second(figures, IN_NUMPY, CALLS, ("matrix", "record", "generated")),
            *_tabulate_second(
                figures, WITH_KERNELS, KERNELS, ("generated", "generated, simd", "generated, reassociating")
            ),
            "## Where contad is not first", _list_losses(figures),
            "## Preparation and first call, s",
            PREPARATION, _tabulate_preparation(figures),
            *_tabulate_memory(figures), *list_refused(figures), "## The programs", _describe_programs(figures),
        ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def describe_head(figures: dict[str, Any]) -> str:
    named = ", ".join(f"{k} {v}" for k, v in figures["machine"].items())
    repeats, least, budget, *_ = figures["effort"].values()
    lines = [
        f"{figures['date']}, `{figures['command']}`", named,
        (
            f"One thread, float64. The minimum over {repeats} rounds in which all versions take turns, each calling "
            f"for about {1e3 * least:g} ms; what takes more than {budget:g} s in all rounds leaves earlier. Values "
            f"and gradients agree with those by hand to {figures.get('tolerance', 1e-10):g} of the largest "
            f"entry.{QUICK if figures['quick'] else ''}"
        ),
        *figures["skipped"],
        *_list_other_runs(figures),
    ]  # fmt: skip
    return list_lines(lines)


def _list_other_runs(figures: dict[str, Any]) -> list[str]:
    """A line for each later run whose rows stand in the place of those of this one."""
    names: dict[str, list[str]] = {}
    for program in figures.get("programs", []):
        if "run" in program:
            about = program["run"]
            changed = [f"{k} {v}" for k, v in about["machine"].items() if figures["machine"].get(k) != v]
            skipped = [line.partition(" is not")[0] for line in about["skipped"]]
            where = ", ".join([*changed, *([f"without {' and '.join(skipped)}"] if skipped else [])])
            names.setdefault(f"{about['date']}, `{about['command']}`: {where}", []).append(program["name"])
    return [f"Rows of {', '.join(found)}: {run}" for run, found in names.items()]


def list_lines(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def format_number(x: float | None) -> str:
    """Three significant digits, or more before the point, without an exponent above one."""
    if x is None or math.isnan(x):
        return NONE
    return f"{x:.0f}" if abs(x) >= 100.0 else f"{x:.3g}"


def format_size(measured: dict[str, Any]) -> str:
    return " ".join(f"{name}={value:,}".replace(",", " ") for name, value in measured["arguments"].items())


# ---- tables ----------------------------------------------------------------------------------------------------------
def _summarise(figures: dict[str, Any]) -> str:
    tools = list_peers(figures)
    found = [(find_first(measured, tools), find_ratios(measured, tools)) for _, _, measured in list_rows(figures)]
    table = []
    for tool in ("contad", *tools):
        timed = [r for _, r in found if not math.isnan(r[tool])]
        over = [r[tool] / r["contad"] for r in timed]
        beside = (NONE, NONE) if tool == "contad" else (str(sum(x > 1.0 for x in over)), format_number(find_mean(over)))
        firsts = sum(fastest == tool for fastest, _ in found)
        table.append((tool, f"{len(timed)}", str(firsts), format_number(find_mean(r[tool] for r in timed)), *beside))
    header = (
        f"of {len(found)} rows", "runs in", "fastest in", "time over by hand", "slower than contad in",
        "time over contad",
    )  # fmt: skip
    unbound = find_mean(find_unbound(m) / find_seconds(m, BY_HAND) for _, _, m in list_rows(figures))
    return (
        f"{format_table(header, table)}\n\nTimes over others are geometric means. contad's over by hand without bound "
        f"arguments: {format_number(unbound)}."
    )


def _tabulate_ratios(figures: dict[str, Any]) -> str:
    tools = list_peers(figures)
    table = []
    for program, _, measured in list_rows(figures):
        fastest = find_first(measured, tools)
        cells = [_mark(measured, tool, r, fastest) for tool, r in find_ratios(measured, tools).items()]
        primal, by_hand = (format_number(1e6 * find_seconds(measured, name)) for name in (PRIMAL, BY_HAND))
        table.append((program["name"], format_size(measured), primal, f"{measured['noise']:.1%}", by_hand, *cells))
    return format_table(("program", "size", "primal us", "noise", "by hand us", "contad", *tools), table, text=(0, 1))


def _mark(measured: dict[str, Any], tool: str, ratio: float, fastest: str) -> str:
    """A ratio, bold if it is the fastest; or why there is none."""
    found = measured["versions"].get(tool, {})
    if "wrong" in found or "raised" in found:
        return "wrong" if "wrong" in found else "refused"
    return f"**{format_number(ratio)}**" if tool == fastest else format_number(ratio)


def _tabulate_peers(figures: dict[str, Any]) -> str:
    tools = list_peers(figures)
    table = []
    for program, _, measured in list_rows(figures):
        fastest = find_first(measured, tools)
        over = [format_number(find_seconds(measured, tool) / find_best(measured)) for tool in tools]
        way = next(iter(rank_ways(measured)), NONE)
        place = "**contad**" if fastest == "contad" else fastest
        table.append(
            (program["name"], format_size(measured), way, place, format_number(1e6 * find_best(measured)), *over)
        )
    header = ("program", "size", "contad's fastest way", "first place", "contad us", *(f"{t} over" for t in tools))
    return format_table(header, table, text=range(4))


def _tabulate_ways(figures: dict[str, Any]) -> str:
    table = []
    for program, _, measured in list_rows(figures):
        by_hand = find_seconds(measured, BY_HAND)
        of_ways = "; ".join(f"{way} {format_number(t / by_hand)}" for way, t in rank_ways(measured).items())
        table.append((program["name"], format_size(measured), of_ways))
    return format_table(("program", "size", "ways, the fastest first"), table, text=range(3))


def _tabulate_second(figures: dict[str, Any], name: str, text: str, ways: Sequence[str]) -> list[str]:
    """Some ways of contad as multiples of a second reference, in the programs that have it."""
    table = []
    for program, _, measured in list_rows(figures):
        reference = find_seconds(measured, name)
        if not math.isnan(reference):
            found = rank_ways(measured)
            ratios = [format_number(found.get(way, math.nan) / reference) for way in ways]
            times = [format_number(1e6 * x) for x in (find_seconds(measured, BY_HAND), reference)]
            table.append((program["name"], format_size(measured), *times, *ratios))
    header = ("program", "size", "by hand us", f"{name.removeprefix('by hand ')} us", *ways)
    return [f"## As a multiple of the gradient {name}", text, format_table(header, table, text=(0, 1))] if table else []


def _list_losses(figures: dict[str, Any]) -> str:
    lines = []
    for program in figures["programs"]:
        lost = []
        for measured in program["sizes"].values():
            fastest = find_first(measured, list_peers(figures))
            if fastest not in ("", "contad"):
                times = find_best(measured) / find_seconds(measured, fastest)
                lost.append(f"{format_size(measured)} {format_number(times)} times {fastest}")
        if lost:
            lines.append(f"**{program['name']}**: {', '.join(lost)}. {program['remarks']}".rstrip())
    return list_lines(lines) or "Nowhere in this run."


def _tabulate_preparation(figures: dict[str, Any]) -> str:
    table = []
    tools = list_peers(figures)
    for program in figures["programs"]:
        measured = next(iter(program["sizes"].values()), None)
        if measured is None:
            continue
        found = measured["versions"]
        own = "; ".join(f"{w} {format_number(found['contad ' + w]['prepare'])}" for w in rank_ways(measured))
        others = [format_number(found.get(name, {}).get("prepare")) for name in (PRIMAL, BY_HAND, *tools)]
        table.append((program["name"], *others, own, _compare_compilation(program)))
    header = ("program", PRIMAL, BY_HAND, *tools, "contad", "generated / by hand")
    return format_table(header, table, text=(0, 3 + len(tools)))


def _compare_compilation(program: dict[str, Any]) -> str:
    """How many times as long as the gradient by hand contad's engine for Numba functions takes to compile."""
    seconds = program.get("compilation")
    return f"{seconds[GENERATED] / seconds[BY_HAND]:.2f}" if seconds else NONE


def _tabulate_memory(figures: dict[str, Any]) -> list[str]:
    table = []
    tools = list_peers(figures)
    for program in figures["programs"]:
        measured = next(reversed(program["sizes"].values()), None)
        if measured is None or "memory" not in measured["versions"][PRIMAL]:
            continue
        found = measured["versions"]
        own = "; ".join(f"{w} {_format_megabytes(found['contad ' + w])}" for w in rank_ways(measured))
        others = [_format_megabytes(found.get(name, {})) for name in (PRIMAL, BY_HAND, *tools)]
        table.append((program["name"], format_size(measured), *others, own))
    header = ("program", "size", PRIMAL, BY_HAND, *tools, "contad")
    return ["## Memory, MB", MEMORY, format_table(header, table, text=(0, 1, 4 + len(tools)))] if table else []


def _format_megabytes(found: dict[str, Any]) -> str:
    bytes_ = found.get("memory")
    return NONE if bytes_ is None else f"{bytes_ / 1e6:.1f}"


# ---- lists -----------------------------------------------------------------------------------------------------------
def list_refused(figures: dict[str, Any]) -> list[str]:
    lines: dict[str, list[str]] = {}
    for program, size, measured in list_rows(figures):
        for name, found in measured["versions"].items():
            if "raised" in found:
                lines.setdefault(f"{program['name']}, {name}: {found['raised']}", []).append(size)
    return ["## Refused", list_lines(f"{line} ({', '.join(sizes)})" for line, sizes in lines.items())] if lines else []


def _describe_programs(figures: dict[str, Any]) -> str:
    parts = [list_lines(f"**{p['name']}**: {p['about']}" for p in figures["programs"])]
    advice: dict[tuple[str, str], list[str]] = {}
    for program in figures["programs"]:
        for tool, idiom in program["idioms"].items():
            advice.setdefault((tool, idiom), []).append(program["name"])
    if advice:
        parts.append("Each tool is used as its documentation advises:")
        parts.append(
            list_lines(f"{tool} ({', '.join(names)}): {idiom}" for (tool, idiom), names in sorted(advice.items()))
        )
    parts.append(list_lines(f"{tool}, always: {settings}" for tool, settings in figures["settings"].items()))
    return "\n\n".join(parts)
