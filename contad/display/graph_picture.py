"""A small graph as SVG: boxes with lines of text, arrows with labels."""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from contad.display.layered_graph import arrange
from contad.display.markup import Markup, element

_CHARACTER, _LINE, _MARGIN = 7.0, 15.0, 9.0  # sizes of text of 12 points
_GAP = 70.0  # between layers
_MOST_ACROSS = 900.0  # the width of a page
Point = Callable[[float, float], tuple[float, float]]  # (along, across) of the layers to (x, y)
TINTS = {"input": "#3b82f6", "result": "#f59e0b", "": "currentColor"}  # visible on black and on white


class Box(NamedTuple):
    """A node: lines of text with the first one emphasised, a text under the pointer, and a tint."""

    lines: tuple[str, ...]
    more: str
    tint: str = ""  # a key of TINTS


class Arrow(NamedTuple):
    """An edge between two boxes, by their numbers."""

    source: int
    target: int
    label: str
    more: str


def draw_graph(boxes: Sequence[Box], arrows: Sequence[Arrow], title: str) -> Markup:
    """The picture: from left to right if a page has room for it, else from top to bottom.

    >>> picture = draw_graph([Box(("x",), ""), Box(("y",), "")], [Arrow(0, 1, "2", "dy/dx = 2")], "y of x")
    >>> picture.count("<rect"), "dy/dx = 2" in picture
    (2, True)
    """
    edges = [(a.source, a.target) for a in arrows]
    widths = [2 * _MARGIN + _CHARACTER * max(map(len, box.lines), default=0) for box in boxes]
    heights = [_MARGIN + _LINE * len(box.lines) for box in boxes]
    upright = arrange(heights, edges)  # layers from left to right
    columns = [
        max((w for w, at in zip(widths, upright.layers, strict=True) if at == k), default=0.0)
        for k in range(max(upright.layers, default=-1) + 1)
    ]
    rightwards = sum(columns) + _GAP * len(columns) <= _MOST_ACROSS
    placed = upright if rightwards else arrange(widths, edges)
    depth = columns if rightwards else [max(heights, default=0.0)] * len(columns)
    starts = [sum(depth[:k]) + _GAP * k for k in range(len(depth))]

    def point(along: float, across: float) -> tuple[float, float]:
        return (along, across) if rightwards else (across, along)

    middles = [starts[layer] + depth[layer] / 2 for layer in placed.layers]
    lengths = widths if rightwards else heights
    parts = []
    for k, arrow in enumerate(arrows):
        a, b = edges[k]
        stops = [(middles[a] + lengths[a] / 2, placed.ways[k][0])]
        for layer, across in enumerate(placed.ways[k][1:-1], placed.layers[a] + 1):
            stops += [(starts[layer], across), (starts[layer] + depth[layer], across)]
        stops.append((middles[b] - lengths[b] / 2 - 5.0, placed.ways[k][-1]))
        parts.append(_draw_arrow(arrow, stops, point, (0.5, 0.68)[k % 2]))
    for k, box in enumerate(boxes):
        x, y = point(middles[k], placed.across[k])
        parts.append(_draw_box(box, x - widths[k] / 2, y - heights[k] / 2, widths[k], heights[k]))
    extent = (starts[-1] + depth[-1]) if starts else 0.0
    width, height = point(extent, placed.extent)
    return draw_svg(width, height, title, *parts)


def draw_svg(width: float, height: float, title: str, *parts: Markup) -> Markup:
    """An SVG of that size with a margin of 4, in the colour of the page."""
    return element(
        "svg", element("title", title), *parts, xmlns="http://www.w3.org/2000/svg", role="img",
        viewBox=f"-4 -4 {width + 8:.0f} {height + 8:.0f}", width=f"{width + 8:.0f}",
        style="max-width:100%;height:auto;color:inherit", font_family="monospace", font_size=12, fill="currentColor",
    )  # fmt: skip


def _draw_box(box: Box, x: float, y: float, width: float, height: float) -> Markup:
    colour = TINTS[box.tint]
    frame = element(
        "rect", x=f"{x:.1f}", y=f"{y:.1f}", width=f"{width:.1f}", height=f"{height:.1f}", rx=5, fill=colour,
        fill_opacity="0.14" if box.tint else "0.06", stroke=colour, stroke_opacity="0.7",
    )  # fmt: skip
    lines = [
        element(
            "text", line, x=f"{x + width / 2:.1f}", y=f"{y + _MARGIN / 2 + _LINE * (k + 0.77):.1f}",
            text_anchor="middle", **({} if k else {"font_weight": "bold"}),
        )
        for k, line in enumerate(box.lines)
    ]  # fmt: skip
    return element("g", element("title", box.more), frame, *lines)


def _draw_arrow(arrow: Arrow, stops: "list[tuple[float, float]]", point: Point, at: float) -> Markup:
    """A curve through stops (along, across), with its head at the last stop and its label on the last piece."""
    path = "M{:.1f} {:.1f}".format(*point(*stops[0]))
    for (u, v), (s, t) in itertools.pairwise(stops):
        middle = (u + s) / 2
        places = [*point(middle, v), *point(middle, t), *point(s, t)]
        path += " C" + " ".join(f"{x:.1f}" for x in places)
    along, across = stops[-1]
    tip = [point(along + 5.0, across), point(along - 2.0, across - 3.5), point(along - 2.0, across + 3.5)]
    head = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in tip) + "Z"
    parts = [
        element("title", arrow.more),
        element("path", d=path, fill="none", stroke="currentColor", stroke_opacity="0.55", stroke_width="1.2"),
        element("path", d=head, fill_opacity="0.7"),
    ]
    if arrow.label:
        (u, v), (s, t) = stops[-2:]
        near, far = at**3 + 1.5 * at * (1 - at), at**2 * (3 - 2 * at)  # fractions of the way, along and across
        x, y = point(u + (s - u) * near, v + (t - v) * far)
        label = element(
            "text", arrow.label, x=f"{x:.1f}", y=f"{y - 3:.1f}", font_size=10, text_anchor="middle", fill_opacity="0.9"
        )
        parts.append(label)
    return element("g", *parts)
