"""SVG of graphs and of bars."""

import xml.etree.ElementTree as ET

import pytest

from contad.display.flame_picture import WIDTH, Bar, draw_bars
from contad.display.graph_picture import Arrow, Box, draw_graph

SVG = "{http://www.w3.org/2000/svg}"


def parts(picture, name):
    return list(ET.fromstring(picture).iter(SVG + name))


@pytest.mark.parametrize("n", [2, 30])
def test_a_box_for_each_node_and_an_arrow_for_each_edge(n):
    boxes = [Box((f"{k} <b>", "1.5"), f"more & {k}") for k in range(n)]
    arrows = [Arrow(k, k + 1, str(k), f"from {k}") for k in range(n - 1)] + [Arrow(0, n - 1, "", "far")]
    picture = draw_graph(boxes, arrows, "a < b")
    assert len(parts(picture, "rect")) == n and len(parts(picture, "path")) == 2 * len(arrows)
    titles = [node.text for node in parts(picture, "title")]
    assert titles[0] == "a < b" and {"more & 1", "from 0", "far"} <= set(titles)
    assert [node.text for node in parts(picture, "text")].count("1 <b>") == 1
    left, top, width, height = map(float, ET.fromstring(picture).get("viewBox").split())
    for node in parts(picture, "rect"):
        x, y, w, h = (float(node.get(name)) for name in ("x", "y", "width", "height"))
        assert left <= x and x + w <= left + width and top <= y and y + h <= top + height
    assert (width < height) == (n == 30)  # long chains run downwards


def test_pictures_have_the_colours_of_the_page():
    picture = draw_graph([Box(("x",), ""), Box(("y",), "", "input")], [Arrow(0, 1, "2", "")], "t")
    assert ET.fromstring(picture).get("fill") == "currentColor"
    assert {node.get("fill") for node in parts(picture, "rect")} == {"currentColor", "#3b82f6"}
    assert all(float(node.get("fill-opacity")) < 0.2 for node in parts(picture, "rect"))


def test_bars_are_as_long_as_what_they_stand_for():
    bars = [Bar("f", "f", 0.0, 0.0, [Bar("1", "one", 3.0, 1.0), Bar("2", "two", 0.0, 0.0, [Bar("g", "g", 1.0, 0.0)])])]
    found = {}
    for group in parts(draw_bars(bars, "time"), "g"):
        title = group.find(SVG + "title").text
        frame = group.findall(SVG + "rect")[-1]
        found[title] = tuple(round(float(frame.get(name)) / WIDTH, 3) for name in ("x", "width"))
    assert found == {"f": (0.0, 1.0), "one": (0.0, 0.75), "two": (0.75, 0.25), "g": (0.75, 0.25)}
    tints = [rect.get("fill") for rect in parts(draw_bars(bars, "time"), "rect")]
    assert tints.count("#f59e0b") == 2  # of the line, and of the function that it is in


def test_nothing_to_draw():
    assert parts(draw_bars([], "t"), "rect") == [] and parts(draw_graph([], [], "t"), "rect") == []
