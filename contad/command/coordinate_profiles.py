"""The profile of a function along each coordinate, with its tangent at the point: `--plot`.

If the tangent touches the curve, anybody can see that the derivative is right.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.command.point import Coordinate
from contad.command.report import CommandReport
from contad.progress_bars import ProgressBar

PANELS = 12  # coordinates that are drawn
TEXT_PANELS = 6
NUMBERS = 81  # along each coordinate
SECONDS = 10.0  # limit for evaluations; a slow function is drawn at fewer numbers
WIDTH, HEIGHT = 61, 11  # of a profile as text


class Curve(NamedTuple):
    """f along one coordinate: the numbers, f there (nan outside its domain), and value and derivative at the point."""

    name: str
    numbers: np.ndarray
    values: np.ndarray
    point: float
    value: float
    slope: float

    def tangent(self) -> np.ndarray:
        """The tangent at the point."""
        return self.value + self.slope * (self.numbers - self.point)

    def limits(self) -> tuple[float, float]:
        """The least and the greatest value to show: those of f, even if the tangent leaves them."""
        finite = self.values[np.isfinite(self.values)]
        low, high = min(self.value, *finite), max(self.value, *finite)
        if high - low <= 1e-12 * max(abs(low), abs(high)):
            low, high = low - 1.0, high + 1.0
        margin = 0.06 * (high - low)
        return low - margin, high + margin


class Profile(NamedTuple):
    """The curves of all coordinates of a function, or of those with the largest derivatives."""

    curves: list[Curve]
    total: int

    def describe(self) -> str:
        """A description of the picture in one line."""
        return f"function and tangent along {_share(self.curves, self.total)}"

    def draw(self, figure: Any, title: str) -> None:
        """One panel for each curve, in a figure of Matplotlib."""
        columns = math.ceil(math.sqrt(len(self.curves)))
        rows = -(-len(self.curves) // columns)
        figure.set_size_inches(max(4.2 * columns, 6.0), 3.2 * rows + 0.6)
        figure.suptitle(f"{title} along {_share(self.curves, self.total)}")
        for k, curve in enumerate(self.curves):
            axes = figure.add_subplot(rows, columns, k + 1)
            axes.plot(curve.numbers, curve.values, color="#1f5fa8", label="function")
            axes.plot(curve.numbers, curve.tangent(), color="#d1660c", linestyle="--", linewidth=1.2, label="tangent")
            axes.plot([curve.point], [curve.value], "o", color="black", markersize=4)
            axes.set_ylim(*curve.limits())
            axes.set_xlim(curve.numbers[0], curve.numbers[-1])
            axes.set_xlabel(f"{curve.name}   (slope {curve.slope:.4g})")
            axes.ticklabel_format(useOffset=False)
            axes.grid(alpha=0.25)
            if k == 0:
                axes.legend(frameon=False, fontsize="small")

    def write(self) -> str:
        """The curves as characters: `*` the function, `.` its tangent, `O` the point."""
        shown = self.curves
        if len(shown) > TEXT_PANELS:
            largest = sorted(shown, key=lambda curve: -abs(curve.slope))[:TEXT_PANELS]
            shown = [curve for curve in shown if any(curve is one for one in largest)]
        legend = "* function, . tangent, O point"
        if len(shown) < len(self.curves):
            legend += f"; {_share(shown, self.total)}"
        return "\n\n".join([legend, *map(write_curve, shown)])


def profile(report: CommandReport) -> Profile:
    """The curves around the point of a report."""
    coordinates, derivatives = report.problem.coordinates(), report.derivatives
    order = sorted(range(len(derivatives)), key=lambda k: -abs(derivatives[k][1]))
    chosen = sorted(order[:PANELS])
    affordable = int(SECONDS / (max(report.primal_time, 1e-9) * len(chosen)))
    count = max(9, min(NUMBERS, affordable)) // 2 * 2 + 1  # odd: the point itself is one of them
    curves = []
    with ProgressBar("profile", total=len(chosen) * count) as bar:
        for k in chosen:
            f, (name, slope) = coordinates[k], derivatives[k]
            numbers = f.number + half_width(f) * np.linspace(-1.0, 1.0, count)
            values = []
            for x in numbers:
                values.append(f(float(x)))
                bar.advance()
            curves.append(Curve(name, numbers, np.array(values), f.number, report.value, slope))
    return Profile(curves, len(derivatives))


def half_width(f: Coordinate) -> float:
    """The half width of a profile: half of the number, or of a typical number of its array; 1 if that is 0.

    A number that is 0 has no scale of its own.
    """
    leaf = f.tree.leaves[f.leaf]
    typical = math.sqrt(float(np.mean(np.square(leaf, dtype=float)))) if np.size(leaf) > 1 else 0.0
    return 0.5 * max(abs(f.number), typical) or 1.0


def write_curve(curve: Curve) -> str:
    """One curve as lines of characters."""
    low, high = curve.limits()
    grid = [[" "] * WIDTH for _ in range(HEIGHT)]
    first, last = curve.numbers[0], curve.numbers[-1]
    at = np.linspace(first, last, WIDTH)
    with np.errstate(all="ignore"):
        along = {
            ".": curve.value + curve.slope * (at - curve.point),
            "*": np.interp(at, curve.numbers, curve.values),
            "O": np.where(np.arange(WIDTH) == WIDTH // 2, curve.value, np.nan),
        }
    for mark, values in along.items():
        for column, y in enumerate(values):
            if math.isfinite(y) and low <= y <= high:
                grid[round((high - y) / (high - low) * (HEIGHT - 1))][column] = mark
    labels = {0: f"{high:.4g}", HEIGHT - 1: f"{low:.4g}"}
    margin = max(map(len, labels.values()))
    lines = [f"  {curve.name}, slope {curve.slope:.6g}"]
    lines += [f"  {labels.get(k, ''):>{margin}} |{''.join(row)}".rstrip() for k, row in enumerate(grid)]
    left, middle, right = f"{first:.4g}", f"{curve.point:.4g}", f"{last:.4g}"
    axis = f"{left}{middle:^{WIDTH - len(left) - len(right)}}{right}"
    return "\n".join([*lines, f"  {'':>{margin}} +{'-' * WIDTH}", f"  {'':>{margin}}  {axis}"])


def _share(curves: Sequence[Curve], total: int) -> str:
    if len(curves) == total:
        return "1 coordinate" if total == 1 else f"{total} coordinates"
    return f"the {len(curves)} of {total} coordinates with the largest derivatives"
