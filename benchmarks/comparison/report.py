"""The comparison as Markdown."""

import math
from collections.abc import Iterable
from typing import Any

from benchmarks import calls
from benchmarks.command import QUICK
from benchmarks.comparison.figures import best, busy, first, mean, peers, ratios, rows, seconds, ways, wrong
from benchmarks.comparison.measure import BY_HAND, PRIMAL
from benchmarks.startup import startup_table
from benchmarks.timing import markdown

NONE = "-"
RATIOS = (
    "contad is its fastest way. **Bold** is the fastest tool of a row. Noise: by how much two measurements of the "
    "primal differ, in the same rounds; no difference below it means anything."
)
PLACES = "How many times contad's time a tool takes; below 1 contad loses."
PREPARATION = (
    "Compilation, tracing and recording, at the first size above; in no other figure. contad begins with an empty "
    "cache (except in a quick run); what several programs share is compiled by the first that uses it."
)
STARTUP = "Each figure in new processes. contad over Numba may take 100 ms, and should take 60."
MEMORY = (
    "Resident memory at the peak of one call over that before preparation, each in a fresh process: what a version "
    "keeps, its copy of the inputs and its machine code included. A few MB are the leftovers of compilers."
)


def report(figures: dict[str, Any]) -> str:
    """All tables of a run."""
    parts = ["# Comparison with other tools", _head(figures)]
    if disagreements := wrong(figures):
        parts += ["**Wrong, and not timed:**", _listed(disagreements)]
    if threads := busy(figures):
        parts += ["**More than one thread, in spite of the settings:**", _listed(threads)]
    if figures["programs"]:
        parts += [
            "## Summary", _summary(figures),
            "## Value and gradient, as a multiple of the gradient by hand",
            RATIOS, _ratio_table(figures),
            "## Each tool, as a multiple of contad's fastest way", PLACES, _peer_table(figures),
            "## Every way of contad, as a multiple of the gradient by hand", _way_table(figures),
            "## Where contad is not first", _losses(figures),
            "## Preparation and first call, s",
            PREPARATION, _prepare_table(figures),
            *_memory(figures), *_refused(figures), "## The programs", _about(figures),
        ]  # fmt: skip
    if "startup" in figures:
        parts += ["## Start-up", STARTUP, startup_table(figures["startup"]), calls.report(figures["calls"])]
    return "\n\n".join(parts) + "\n"


def _head(figures: dict[str, Any]) -> str:
    named = ", ".join(f"{k} {v}" for k, v in figures["machine"].items())
    repeats, least, budget = figures["effort"].values()
    lines = [
        f"{figures['date']}, `{figures['command']}`", named,
        (
            f"One thread, float64. The minimum over {repeats} rounds in which all versions take turns, each calling "
            f"for about {1e3 * least:g} ms; what takes more than {budget:g} s in all rounds leaves earlier. Values "
            f"and gradients agree with those by hand to 1e-10 of the largest entry.{QUICK if figures['quick'] else ''}"
        ),
        *figures["skipped"],
    ]  # fmt: skip
    return _listed(lines)


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _number(x: float | None) -> str:
    """Three significant digits, without an exponent above one."""
    if x is None or math.isnan(x):
        return NONE
    return f"{x:.0f}" if x >= 100.0 else f"{x:.3g}"


def _size(measured: dict[str, Any]) -> str:
    return " ".join(f"{name}={value:,}".replace(",", " ") for name, value in measured["arguments"].items())


# ---- tables ----------------------------------------------------------------------------------------------------------
def _summary(figures: dict[str, Any]) -> str:
    tools = peers(figures)
    found = [(first(measured, tools), ratios(measured, tools)) for _, _, measured in rows(figures)]
    table = []
    for tool in ("contad", *tools):
        timed = [r for _, r in found if not math.isnan(r[tool])]
        over = [r[tool] / r["contad"] for r in timed]
        beside = (NONE, NONE) if tool == "contad" else (str(sum(x > 1.0 for x in over)), _number(mean(over)))
        firsts = sum(fastest == tool for fastest, _ in found)
        table.append((tool, f"{len(timed)}", str(firsts), _number(mean(r[tool] for r in timed)), *beside))
    header = (
        f"of {len(found)} rows", "runs in", "fastest in", "time over by hand", "slower than contad in",
        "time over contad",
    )  # fmt: skip
    return f"{markdown(header, table)}\n\nTimes over others are geometric means."


def _ratio_table(figures: dict[str, Any]) -> str:
    tools = peers(figures)
    table = []
    for program, _, measured in rows(figures):
        fastest = first(measured, tools)
        cells = [_marked(measured, tool, r, fastest) for tool, r in ratios(measured, tools).items()]
        primal, by_hand = (_number(1e6 * seconds(measured, name)) for name in (PRIMAL, BY_HAND))
        table.append((program["name"], _size(measured), primal, f"{measured['noise']:.1%}", by_hand, *cells))
    return markdown(("program", "size", "primal us", "noise", "by hand us", "contad", *tools), table, text=(0, 1))


def _marked(measured: dict[str, Any], tool: str, ratio: float, fastest: str) -> str:
    """A ratio, bold if it is the fastest; or why there is none."""
    found = measured["versions"].get(tool, {})
    if "wrong" in found or "raised" in found:
        return "wrong" if "wrong" in found else "refused"
    return f"**{_number(ratio)}**" if tool == fastest else _number(ratio)


def _peer_table(figures: dict[str, Any]) -> str:
    tools = peers(figures)
    table = []
    for program, _, measured in rows(figures):
        fastest = first(measured, tools)
        over = [_number(seconds(measured, tool) / best(measured)) for tool in tools]
        way = next(iter(ways(measured)), NONE)
        place = "**contad**" if fastest == "contad" else fastest
        table.append((program["name"], _size(measured), way, place, _number(1e6 * best(measured)), *over))
    header = ("program", "size", "contad's fastest way", "first place", "contad us", *(f"{t} over" for t in tools))
    return markdown(header, table, text=range(4))


def _way_table(figures: dict[str, Any]) -> str:
    table = []
    for program, _, measured in rows(figures):
        by_hand = seconds(measured, BY_HAND)
        of_ways = "; ".join(f"{way} {_number(t / by_hand)}" for way, t in ways(measured).items())
        table.append((program["name"], _size(measured), of_ways))
    return markdown(("program", "size", "ways, the fastest first"), table, text=range(3))


def _losses(figures: dict[str, Any]) -> str:
    lines = []
    for program in figures["programs"]:
        lost = []
        for measured in program["sizes"].values():
            fastest = first(measured, peers(figures))
            if fastest not in ("", "contad"):
                times = best(measured) / seconds(measured, fastest)
                lost.append(f"{_size(measured)} {_number(times)} times {fastest}")
        if lost:
            lines.append(f"**{program['name']}**: {', '.join(lost)}. {program['remarks']}".rstrip())
    return _listed(lines) or "Nowhere in this run."


def _prepare_table(figures: dict[str, Any]) -> str:
    table = []
    tools = peers(figures)
    for program in figures["programs"]:
        measured = next(iter(program["sizes"].values()), None)
        if measured is None:
            continue
        found = measured["versions"]
        own = "; ".join(f"{w} {_number(found['contad ' + w]['prepare'])}" for w in ways(measured))
        others = [_number(found.get(name, {}).get("prepare")) for name in (PRIMAL, BY_HAND, *tools)]
        table.append((program["name"], *others, own))
    return markdown(("program", PRIMAL, BY_HAND, *tools, "contad"), table, text=(0, 3 + len(tools)))


def _memory(figures: dict[str, Any]) -> list[str]:
    table = []
    tools = peers(figures)
    for program in figures["programs"]:
        measured = next(reversed(program["sizes"].values()), None)
        if measured is None or "memory" not in measured["versions"][PRIMAL]:
            continue
        found = measured["versions"]
        own = "; ".join(f"{w} {_megabytes(found['contad ' + w])}" for w in ways(measured))
        others = [_megabytes(found.get(name, {})) for name in (PRIMAL, BY_HAND, *tools)]
        table.append((program["name"], _size(measured), *others, own))
    header = ("program", "size", PRIMAL, BY_HAND, *tools, "contad")
    return ["## Memory, MB", MEMORY, markdown(header, table, text=(0, 1, 4 + len(tools)))] if table else []


def _megabytes(found: dict[str, Any]) -> str:
    bytes_ = found.get("memory")
    return NONE if bytes_ is None else f"{bytes_ / 1e6:.1f}"


# ---- lists -----------------------------------------------------------------------------------------------------------
def _refused(figures: dict[str, Any]) -> list[str]:
    lines: dict[str, list[str]] = {}
    for program, size, measured in rows(figures):
        for name, found in measured["versions"].items():
            if "raised" in found:
                lines.setdefault(f"{program['name']}, {name}: {found['raised']}", []).append(size)
    return ["## Refused", _listed(f"{line} ({', '.join(sizes)})" for line, sizes in lines.items())] if lines else []


def _about(figures: dict[str, Any]) -> str:
    parts = [_listed(f"**{p['name']}**: {p['about']}" for p in figures["programs"])]
    advice: dict[tuple[str, str], list[str]] = {}
    for program in figures["programs"]:
        for tool, idiom in program["idioms"].items():
            advice.setdefault((tool, idiom), []).append(program["name"])
    if advice:
        parts.append("Each tool is used as its documentation advises:")
        parts.append(
            _listed(f"{tool} ({', '.join(names)}): {idiom}" for (tool, idiom), names in sorted(advice.items()))
        )
    parts.append(_listed(f"{tool}, always: {settings}" for tool, settings in figures["settings"].items()))
    return "\n\n".join(parts)
