"""Bars by call path, as SVG: the length of a bar is the cost of a line, and the bars of its calls are below it."""

from collections.abc import Sequence
from typing import NamedTuple

from contad.display.graph_picture import draw_svg
from contad.display.markup import Markup, element

WIDTH, _HEIGHT = 880.0, 20.0
_CHARACTER = 6.6  # width of a character at 11 points
_LEAST = 0.0008  # fraction of the whole; shorter bars are not drawn


class Bar(NamedTuple):
    """A bar: its text, the text under the pointer, its own size and the bars below it.

    `second` is the part of its own size that is drawn in the second tint.
    """

    text: str
    more: str
    own: float
    second: float
    below: "Sequence[Bar]" = ()

    @property
    def whole(self) -> float:
        """Its size including all bars below it."""
        return self.own + sum(bar.whole for bar in self.below)

    @property
    def whole_second(self) -> float:
        """The part of the whole in the second tint."""
        return self.second + sum(bar.whole_second for bar in self.below)


def draw_bars(bars: Sequence[Bar], title: str, tints: tuple[str, str] = ("#3b82f6", "#f59e0b")) -> Markup:
    """The picture, as wide as a page; the sizes of `bars` are parts of their sum.

    >>> picture = draw_bars([Bar("f", "", 1.0, 0.5, [Bar("g", "", 2.0, 0.0)])], "time")
    >>> picture.count("<g>")
    2
    """
    total = sum(bar.whole for bar in bars)
    parts: list[Markup] = []
    depth = 0
    waiting = [(bar, x, 0) for bar, x in _side_by_side(bars, 0.0)]
    while waiting and total > 0.0:
        bar, start, level = waiting.pop()
        if bar.whole < _LEAST * total:
            continue
        depth = max(depth, level + 1)
        parts.append(_draw(bar, WIDTH * start / total, level * _HEIGHT, WIDTH / total, tints))
        waiting += [(other, x, level + 1) for other, x in _side_by_side(bar.below, start)]
    return draw_svg(WIDTH, _HEIGHT * depth, title, *parts)


def _side_by_side(bars: Sequence[Bar], start: float) -> list[tuple[Bar, float]]:
    found = []
    for bar in bars:
        found.append((bar, start))
        start += bar.whole
    return found


def _draw(bar: Bar, x: float, y: float, scale: float, tints: tuple[str, str]) -> Markup:
    """A bar; its length is divided between the tints in proportion to all bars in it."""
    width = bar.whole * scale
    other = bar.whole_second * scale
    parts = [element("title", bar.more)]
    for start, length, tint in ((x, width - other, tints[0]), (x + width - other, other, tints[1])):
        if length > 0.0:
            parts.append(
                element("rect", x=f"{start:.2f}", y=f"{y:.1f}", width=f"{length:.2f}", height=f"{_HEIGHT - 2:.1f}",
                        fill=tint, fill_opacity="0.30")
            )  # fmt: skip
    parts.append(
        element("rect", x=f"{x:.2f}", y=f"{y:.1f}", width=f"{width:.2f}", height=f"{_HEIGHT - 2:.1f}", fill="none",
                stroke="currentColor", stroke_opacity="0.35", stroke_width="0.6")
    )  # fmt: skip
    fits = int((width - 8.0) / _CHARACTER)
    if fits >= 3:
        text = bar.text if len(bar.text) <= fits else bar.text[: fits - 1] + "\u2026"
        parts.append(element("text", text, x=f"{x + 4:.2f}", y=f"{y + 13:.1f}", font_size=11))
    return element("g", *parts)
