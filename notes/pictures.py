"""The pictures of the notebooks: one style, legible at 800 pixels and in grey; and one picture in words."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

INK, GREY, LIGHT = "#1b3a57", "#8a8a8a", "#dde6ee"
STYLES = [(INK, "o", "-"), ("#c05a1c", "s", "--"), ("#5a8f3c", "^", "-."), (GREY, "D", ":"), ("#000000", "v", "-")]

plt.rcParams.update(
    {
        "figure.figsize": (8, 3.6),
        "figure.dpi": 100,
        "font.size": 11,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "legend.frameon": False,
        "svg.hashsalt": "contad",
    }
)


def show(caption: str) -> None:
    """Lay the present figure out, with a caption under it that says what to see, and show it."""
    figure = plt.gcf()
    figure.text(0.01, -0.02, textwrap.fill(caption, 112), ha="left", va="top", fontsize=10)
    figure.tight_layout()
    plt.show()


def draw_graph(
    places: Mapping[str, tuple[float, float]], arrows: Iterable[tuple[str, str, str]], notes: Mapping[str, str]
) -> None:
    """An expression graph: nodes at places, arrows (from, to, text), a note under each node."""
    _, axes = plt.subplots(figsize=(8, 3.4))
    for start, end, text in arrows:
        (x, y), (u, v) = places[start], places[end]
        axes.annotate(
            "", (u, v), (x, y), arrowprops={"arrowstyle": "-|>", "color": GREY, "shrinkA": 19, "shrinkB": 19, "lw": 1.4}
        )
        axes.text((x + u) / 2, (y + v) / 2 + 0.09, text, ha="center", va="bottom", color="#c05a1c", fontsize=10)
    for name, (x, y) in places.items():
        axes.plot(x, y, "o", ms=34, mfc=LIGHT, mec=INK, mew=1.4)
        axes.text(x, y, name, ha="center", va="center", fontsize=11, color="black")
        axes.text(x, y - 0.42, notes.get(name, ""), ha="center", va="top", fontsize=10, color=INK)
    xs, ys = zip(*places.values(), strict=True)
    axes.set_xlim(min(xs) - 0.6, max(xs) + 0.6)
    axes.set_ylim(min(ys) - 0.9, max(ys) + 0.6)
    axes.axis("off")


def draw_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    marked: Iterable[tuple[int, int]] = (),
    title: str = "",
    axes: Any = None,
    widths: Sequence[float] | None = None,
) -> None:
    """Rows of text in a grid; the marked cells (row, column) are filled."""
    if axes is None:
        _, axes = plt.subplots(figsize=(8, 0.27 * (len(rows) + 1) + 0.15))
    axes.axis("off")
    axes.set_title(title)
    table = axes.table(
        [[str(x) for x in row] for row in rows], colLabels=list(columns), loc="upper left", cellLoc="center",
        colWidths=list(widths or [1 / len(columns)] * len(columns)),
    )  # fmt: skip
    table.auto_set_font_size(False)
    table.set_fontsize(10)
    table.scale(1, 1.35)
    marked = set(marked)
    for (row, column), cell in table.get_celld().items():
        cell.set_edgecolor("#bbbbbb")
        if row == 0:
            cell.set_facecolor("#eeeeee")
        elif (row - 1, column) in marked:
            cell.set_facecolor("#f2c9a8")
            cell.set_text_props(weight="bold")


def draw_bars(values: Mapping[str, float], unit: str, log: bool = False) -> None:
    """Horizontal bars with their figures beside them."""
    _, axes = plt.subplots(figsize=(8, 0.42 * len(values) + 0.9))
    names = list(values)[::-1]
    hatches = ["", "//", "..", "xx", "\\\\", "--", "oo"]
    for k, name in enumerate(names):
        axes.barh(k, values[name], color=LIGHT, edgecolor=INK, hatch=hatches[k % len(hatches)])
        figure = f"{values[name]:.3g}" if values[name] < 1000 else f"{values[name]:.0f}"
        axes.text(values[name], k, f" {figure} {unit}", va="center", fontsize=10)
    axes.set_yticks(range(len(names)), names)
    if log:
        axes.set_xscale("log")
    axes.set_xlabel(unit)
    axes.margins(x=0.18)


def draw_lines(x: Sequence[float], lines: Mapping[str, Sequence[float]], xlabel: str, ylabel: str) -> None:
    """Curves over log axes, each with a marker of its own."""
    _, axes = plt.subplots()
    for (name, y), (color, marker, style) in zip(lines.items(), STYLES, strict=False):
        axes.plot(x, np.asarray(y, float), color=color, marker=marker, ls=style, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(x, [f"{tick:g}" for tick in x])
    axes.minorticks_off()
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))  # beside the curves, so that it covers none


def print_statements(statements: Iterable[Any], indent: int = 0) -> None:
    """The statements of notebook 7, in words."""
    margin = " " * indent
    for kind, *parts in statements:
        if kind == "let":
            print(f"{margin}{parts[0]} = {parts[1]}({', '.join(parts[2])})")
        elif kind == "loop":
            carried = ", ".join(f"{inside} begins as {start}, becomes {end}" for inside, start, end in parts[2])
            print(f"{margin}loop {parts[0]} < {parts[1]}: {carried}")
            print_statements(parts[3], indent + 4)
        else:
            print(f"{margin}branch {parts[0]}: {', '.join(f'{z} is {x} or {y}' for z, x, y in parts[3])}")
            print_statements(parts[1], indent + 4)
            print(f"{margin}or")
            print_statements(parts[2], indent + 4)
