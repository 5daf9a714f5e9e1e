"""What the figures of a run say: times, ratios, who is the fastest, and what went wrong."""

import math
from collections.abc import Iterable
from typing import Any

from benchmarks.comparison.measure import BY_HAND
from benchmarks.comparison.tools import TOOLS

CONTAD = "contad "  # how the names of contad's ways begin


def list_rows(figures: dict[str, Any]) -> Iterable[tuple[dict[str, Any], str, dict[str, Any]]]:
    """(program, size, figures of the size), in order."""
    for program in figures["programs"]:
        for size, measured in program["sizes"].items():
            yield program, size, measured


def find_seconds(measured: dict[str, Any], name: str) -> float:
    """Of one call; nan where a version has not been timed."""
    return float(measured["versions"].get(name, {}).get("seconds", math.nan))


def rank_ways(measured: dict[str, Any]) -> dict[str, float]:
    """{way: seconds} of contad, without those that raise, the fastest first."""
    timed = {n.removeprefix(CONTAD): find_seconds(measured, n) for n in measured["versions"] if n.startswith(CONTAD)}
    return dict(sorted(((n, t) for n, t in timed.items() if not math.isnan(t)), key=lambda pair: pair[1]))


def find_best(measured: dict[str, Any]) -> float:
    """Seconds of contad's fastest way."""
    return next(iter(rank_ways(measured).values()), math.nan)


def find_unbound(measured: dict[str, Any]) -> float:
    """Seconds of contad's fastest way that takes its arguments at every call, as the gradient by hand does."""
    return next((t for way, t in rank_ways(measured).items() if not way.endswith("bound")), math.nan)


def list_peers(figures: dict[str, Any]) -> list[str]:
    """The tools that any program has met, in their usual order, each before its second ways, as "jax stats"."""
    met = sorted({name for _, _, measured in list_rows(figures) for name in measured["versions"]})
    return [name for tool in TOOLS for name in met if name.partition(" ")[0] == tool]


def find_ratios(measured: dict[str, Any], tools: Iterable[str]) -> dict[str, float]:
    """{tool: seconds over those by hand} of contad's fastest way and of tools; nan where there is none."""
    by_hand = find_seconds(measured, BY_HAND)
    return {"contad": find_best(measured) / by_hand} | {t: find_seconds(measured, t) / by_hand for t in tools}


def find_first(measured: dict[str, Any], tools: Iterable[str]) -> str:
    """Who is the fastest, among contad and tools."""
    timed = {t: r for t, r in find_ratios(measured, tools).items() if not math.isnan(r)}
    return min(timed, key=lambda t: timed[t], default="")


def find_mean(values: Iterable[float]) -> float:
    """The geometric mean of those that are numbers; nan if none is."""
    logs = [math.log(v) for v in values if not math.isnan(v)]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def list_wrong(figures: dict[str, Any]) -> list[str]:
    """A line for each version that disagrees with the gradient by hand, and for each program that did not end well."""
    ended = [f"{program['name']}: {program['ended']}" for program in figures["programs"] if "ended" in program]
    return ended + [
        f"{program['name']}, {size}: {name}: {found['wrong']}"
        for program, size, measured in list_rows(figures)
        for name, found in measured["versions"].items()
        if "wrong" in found
    ]


def list_busy(figures: dict[str, Any]) -> list[str]:
    """A line for each version that has used more than one thread."""
    return [
        f"{program['name']}, {size}: {name} used {found['busy']:.2f} processors"
        for program, size, measured in list_rows(figures)
        for name, found in measured["versions"].items()
        if found.get("busy", 0.0) > 1.1
    ]
