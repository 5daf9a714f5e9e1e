"""The comparison as pictures: the ratio to the gradient by hand, and cost against size. Needs matplotlib."""

import math
from pathlib import Path
from typing import Any

from benchmarks.comparison.figures import find_best, find_ratios, find_seconds, list_peers, list_rows
from benchmarks.comparison.measure import BY_HAND, PRIMAL

# Okabe and Ito's colours, which differ for colour-blind readers too; the markers differ as well
COLOURS = {
    "contad": "#D55E00", "jax": "#0072B2", "torch": "#CC79A7", "casadi": "#009E73", "autograd": "#E69F00",
    "xad": "#56B4E9", "jax stats": "#0072B2", "torch distributions": "#CC79A7",
}  # fmt: skip
MARKERS = {
    "contad": "o", "jax": "s", "torch": "D", "casadi": "^", "autograd": "v", "xad": "P", "jax stats": "<",
    "torch distributions": ">",
}  # fmt: skip
OURS = "contad, its fastest way"
GREY = "#777777"


def plot(figures: dict[str, Any], folder: Path) -> list[Path]:
    """Write `ratio.png` and `cost.png`; returns their paths."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY,
        "xtick.color": "#444444", "ytick.color": "#444444", "legend.frameon": False,
    }  # fmt: skip
    written = []
    with pyplot.rc_context(settings):
        for name, draw in (("ratio.png", _ratios), ("cost.png", _costs)):
            figure = draw(pyplot, figures)
            figure.savefig(folder / name, dpi=130, bbox_inches="tight")
            pyplot.close(figure)
            written.append(folder / name)
    return written


# ---- ratios ----------------------------------------------------------------------------------------------------------
def _ratios(pyplot: Any, figures: dict[str, Any]) -> Any:
    """A row for each program, a panel for each size, a mark for each tool."""
    tools = list_peers(figures)
    sizes = list(dict.fromkeys(size for _, size, _ in list_rows(figures)))
    names = [program["name"] for program in figures["programs"]]
    figure, panels = pyplot.subplots(
        1, len(sizes), sharex=True, sharey=True, squeeze=False, figsize=(2.2 + 3.4 * len(sizes), 1.4 + 0.3 * len(names))
    )
    for panel, size in zip(panels[0], sizes, strict=True):
        panel.axvline(1.0, color="black", linewidth=1.0, zorder=1)
        for tool in reversed(("contad", *tools)):
            found = [
                (r, len(names) - 1 - names.index(program["name"]))
                for program, of, measured in list_rows(figures)
                if of == size and not math.isnan(r := find_ratios(measured, tools)[tool])
            ]
            ours = tool == "contad"
            panel.scatter(
                [r for r, _ in found], [y for _, y in found], label=OURS if ours else tool,
                color=COLOURS[tool], marker=MARKERS[tool], s=110 if ours else 24,
                edgecolors="black" if ours else "none", linewidths=0.8, zorder=2 if ours else 3,
            )  # fmt: skip
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        panel.xaxis.set_minor_formatter("")
        panel.set_yticks(range(len(names)), reversed(names))
        panel.set_ylim(-0.6, len(names) - 0.4)
        panel.grid(axis="y", color="#dddddd", linewidth=0.8)
        panel.grid(axis="x", color="#eeeeee", linewidth=0.8)
        panel.set_axisbelow(True)
        panel.tick_params(axis="y", length=0)
        panel.set_title(size, fontsize=10)
    figure.supxlabel("time of value and gradient over the gradient by hand (left is faster)", fontsize=9)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(labels))
    figure.tight_layout()
    return figure


# ---- cost against size -----------------------------------------------------------------------------------------------
def _costs(pyplot: Any, figures: dict[str, Any]) -> Any:
    """A panel for each program; time against the product of what its sizes change."""
    tools = list_peers(figures)
    programs = [program for program in figures["programs"] if program["sizes"]]
    columns = min(4, len(programs))
    lines = math.ceil(len(programs) / columns)
    figure, panels = pyplot.subplots(lines, columns, squeeze=False, figsize=(2.7 * columns, 0.6 + 2.1 * lines))
    for panel, program in zip(panels.flat, programs, strict=False):
        sizes = list(program["sizes"].values())
        what, x = _extent([measured["arguments"] for measured in sizes])

        def line(label: str, times: list[float], panel: Any = panel, x: list[int] = x, **style: Any) -> None:
            if not all(map(math.isnan, times)):
                panel.plot(x, times, label=label, **style)

        for tool in reversed(("contad", *tools)):
            ours = tool == "contad"
            line(
                OURS if ours else tool,
                [find_best(m) if ours else find_seconds(m, tool) for m in sizes],
                color=COLOURS[tool], marker=MARKERS[tool], markersize=5.5 if ours else 3.5,
                linewidth=2.4 if ours else 1.1, zorder=4 if ours else 2,
            )  # fmt: skip
        line("by hand", [find_seconds(m, BY_HAND) for m in sizes], color="black", linewidth=1.2, zorder=5)
        line("primal", [find_seconds(m, PRIMAL) for m in sizes], color=GREY, linewidth=1.2, linestyle=":", zorder=3)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter(lambda t, _: _duration(t))
        panel.minorticks_off()
        panel.set_xticks(x, [_short(size) for size in x])
        panel.grid(color="#eeeeee", linewidth=0.8)
        panel.set_title(program["name"], fontsize=9)
        panel.set_xlabel(what, fontsize=8, labelpad=1)
        panel.tick_params(labelsize=8)
    for panel in panels.flat[len(programs) :]:
        panel.set_visible(False)
    found = {}
    for panel in panels.flat:
        found |= dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True))
    order = [n for n in ("primal", "by hand", OURS, *tools) if n in found]
    figure.legend([found[n] for n in order], order, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(order))
    figure.tight_layout()
    return figure


def _extent(arguments: list[dict[str, int]]) -> tuple[str, list[int]]:
    """The name and values of what the sizes change: of two arguments the product, of more the one that changes most."""
    changing = [name for name in arguments[0] if len({a[name] for a in arguments}) > 1] or list(arguments[0])
    if len(changing) > 2:
        changing = [max(changing, key=lambda name: arguments[-1][name] / arguments[0][name])]
    return " · ".join(changing), [math.prod(a[name] for name in changing) for a in arguments]


def _short(n: int) -> str:
    """A size in two or three characters: 250, 32k, 1M."""
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if n >= unit:
            return f"{n / unit:.2g}{name}" if n < 100 * unit else f"{n // unit}{name}"
    return str(n)


def _duration(t: float) -> str:
    """1 us, 10 us, ..., 1 s."""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")):
        if t >= 0.999 * unit:
            return f"{t / unit:.3g} {name}"
    return f"{t:.1g} s"
