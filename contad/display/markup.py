"""HTML as text: escaping, tables, and formats for bytes and seconds.

The HTML is well-formed XML too, runs no script, and has no background: text and lines have the colour of the page
around them, so that it suits dark and light themes.
"""

import html
from collections.abc import Iterable, Sequence

# the style of table cells, which overrides the theme's
_CELL = "padding:0.1em 0.7em;vertical-align:top;border-bottom:1px solid rgba(128,128,128,0.25)"
_CODE = "font-family:monospace;white-space:pre"
_NO_TEXT = {k: None for k in range(32) if chr(k) not in "\t\n\r"}  # characters that XML cannot write


class Markup(str):
    """Text that is markup already, and is not escaped again."""

    __slots__ = ()


def escape(x: object) -> Markup:
    """Text escaped for markup and attributes; markup unchanged.

    >>> escape("a < b & 'c'")
    'a &lt; b &amp; &#x27;c&#x27;'
    """
    return x if isinstance(x, Markup) else Markup(html.escape(str(x).translate(_NO_TEXT)))


def element(name: str, *content: object, **attributes: object) -> Markup:
    """An element with escaped content and attributes; `_` in the name of an attribute is a hyphen.

    >>> element("p", "1 < 2", style="x:y")
    '<p style="x:y">1 &lt; 2</p>'
    """
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(x)}"' for key, x in attributes.items())
    inside = "".join(map(escape, content))
    return Markup(f"<{name}{written}>{inside}</{name}>" if inside else f"<{name}{written}/>")


def table(head: Sequence[str], rows: Iterable[Sequence[object]], left: str = "", code: str = "") -> Markup:
    """A table of right-aligned columns, except those named in `left`; columns in `code` show source as typed.

    >>> table(["n"], [[3], [4]]).count("</td>"), table(["n"], [[3]]).count("</th>")
    (2, 1)
    """
    typed = code.split(",") if code else []
    styles = []
    for name in head:
        align = "left" if name in left.split(",") or name in typed else "right"
        styles.append(f"text-align:{align};{_CELL};{_CODE if name in typed else 'white-space:nowrap'}")
    header = element(
        "tr", *(element("th", x or " ", style=s.replace(_CODE, "")) for x, s in zip(head, styles, strict=True))
    )
    body = [
        element("tr", *(element("td", x if x != "" else " ", style=s) for x, s in zip(row, styles, strict=True)))
        for row in rows
    ]
    return element(
        "table", element("thead", header), element("tbody", *body), style="border-collapse:collapse;margin:0.4em 0"
    )


def fold(summary: str, *content: object) -> Markup:
    """Content that the reader unfolds."""
    return element("details", element("summary", summary), *content)


def code_block(text: str) -> Markup:
    """Source, as typed."""
    return element("pre", text, style="margin:0.3em 0;background:none;line-height:1.3")


def page(title: str, *content: object) -> Markup:
    """One output of a notebook: a title in bold, and content."""
    return element("div", element("div", element("b", title)), *content, style="color:inherit;overflow-x:auto")


def paragraph(*content: object) -> Markup:
    """A line of text."""
    return element("p", *content, style="margin:0.3em 0")


def show_bytes(n: float) -> str:
    """A number of bytes, to three digits.

    >>> show_bytes(40), show_bytes(5000), show_bytes(3 << 20)
    ('40 B', '4.88 KiB', '3 MiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(n) < 1000 or unit == "GiB":
            break
        n /= 1024
    return f"{n:.3g} {unit}" if n < 1000 else f"{n:.0f} {unit}"


def show_seconds(t: float) -> str:
    """A time, to three digits.

    >>> show_seconds(2.5), show_seconds(0.00012), show_seconds(0.0)
    ('2.5 s', '120 us', '0')
    """
    if t <= 0.0:
        return "0"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if t >= size:
            return f"{t / size:.3g} {unit}"
    return f"{t / 1e-9:.3g} ns"
