"""contad's docstrings as Markdown: what mkdocstrings shows of each function in the reference.

A docstring has paragraphs, formulas (indented lines), fields (`Domain:  x > 0`) and examples (`>>> log(1.0)`).
"""

import re
import textwrap
from typing import Any

import griffe

FIELD = re.compile(r"(?=^[A-Z]\w+: +\S)", re.MULTILINE)
CODE = re.compile(r"(`+[^`]+`+)")


def markdown(docstring: str) -> str:
    """The docstring with fences around its examples and formulas, and its fields as a list.

    >>> print(markdown("The root of x.\\n\\n    z = sqrt(x)\\n\\nDomain:  x >= 0."))
    The root of x.
    <BLANKLINE>
    ```text
    z = sqrt(x)
    ```
    <BLANKLINE>
    - **Domain:** x \\>= 0.
    """
    return "\n\n".join(map(_block, re.split(r"\n\s*\n", docstring.strip("\n"))))


def _block(text: str) -> str:
    if text.startswith(">>>"):
        return f"```pycon\n{text}\n```"
    if text.startswith("  "):
        return f"```text\n{textwrap.dedent(text)}\n```"
    if FIELD.match(text):
        return "\n".join(_field(field) for field in FIELD.split(text) if field.strip())
    return escape(text)


def _field(text: str) -> str:
    name, _, rest = text.partition(":")
    return f"- **{name}:** {escape(' '.join(rest.split()))}"


def escape(text: str) -> str:
    """Prose whose signs are no markup, but for code between backticks."""
    parts = CODE.split(text)
    return "".join(part if k % 2 else re.sub(r"([*_<>\[\]])", r"\\\1", part) for k, part in enumerate(parts))


class Docstrings(griffe.Extension):
    """Converts the docstring of every object that Griffe has read."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Griffe has read an object."""
        if obj.docstring:
            obj.docstring.value = markdown(obj.docstring.value)
