"""HTML as text."""

import xml.etree.ElementTree as ET

import pytest

from contad.display.markup import (
    Markup,
    code_block,
    element,
    escape,
    fold,
    page,
    paragraph,
    show_bytes,
    show_seconds,
    table,
)

HOSTILE = "<b>&\"'\x00\x1b[31m</b><script>alert(1)</script>"


def test_everything_is_escaped_once():
    parts = [
        paragraph(HOSTILE), code_block(HOSTILE), fold(HOSTILE, HOSTILE),
        table([HOSTILE, "n"], [[HOSTILE, 3], ["", element("i", HOSTILE)]], left=HOSTILE),
    ]  # fmt: skip
    tree = ET.fromstring(page(HOSTILE, *parts))
    allowed = {"div", "b", "p", "pre", "details", "summary", "table", "thead", "tbody", "tr", "th", "td", "i"}
    assert {node.tag for node in tree.iter()} <= allowed
    shown = "".join(tree.itertext())
    readable = HOSTILE.replace("\x00", "").replace("\x1b", "")
    assert shown.count(readable) == 8 and "&amp;lt;" not in page(HOSTILE, *parts)


def test_attributes_are_escaped():
    tree = ET.fromstring(element("p", "x", title=HOSTILE, text_anchor="end"))
    assert tree.attrib == {"title": HOSTILE.replace("\x00", "").replace("\x1b", ""), "text-anchor": "end"}
    assert escape(Markup("<i>")) == "<i>"


def test_pages_suit_dark_and_light_themes():
    made = page("t", table(["a"], [[1]], code="a"), code_block("x"), fold("s", "y"))
    assert "<script" not in made and "color:#" not in made
    assert "background:#" not in made and "background-color" not in made


@pytest.mark.parametrize(
    ("n", "shown"), [(0, "0 B"), (999, "999 B"), (1000, "0.977 KiB"), (1 << 40, "1024 GiB"), (40, "40 B")]
)
def test_bytes(n, shown):
    assert show_bytes(n) == shown


@pytest.mark.parametrize(("t", "shown"), [(0.0, "0"), (1.25, "1.25 s"), (3e-3, "3 ms"), (4.5e-8, "45 ns")])
def test_seconds(t, shown):
    assert show_seconds(t) == shown
