"""Colours of a terminal, and coloured syntax if Pygments is installed."""

import os
import sys
from typing import TextIO

BOLD, RED, DIM = "1", "1;31", "2"


def has_colours(stream: TextIO | None = None) -> bool:
    """Whether a stream (stdout) is a terminal and the user has not set NO_COLOR."""
    stream = sys.stdout if stream is None else stream
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, style: str, colours: bool) -> str:
    """The text in a style of the terminal.

    >>> paint("no", RED, False), paint("no", RED, True)
    ('no', '\\x1b[1;31mno\\x1b[0m')
    """
    return f"\x1b[{style}m{text}\x1b[0m" if colours else text


def highlight_python(text: str) -> str:
    """Python source in the terminal's own colours; unchanged if Pygments is missing."""
    try:
        from pygments import highlight
        from pygments.formatters import TerminalFormatter
        from pygments.lexers import PythonLexer
    except ImportError:
        return text
    return str(highlight(text, PythonLexer(stripnl=False, ensurenl=False), TerminalFormatter()))
