"""An array of variables or duals in a notebook: its values, and its cells or tangents."""

from typing import Any

import numpy as np

from contad.display.markup import Markup, code_block, element, fold, page, paragraph
from contad.variables.number import peek
from contad.variables.open_types import Value

_MOST = 200  # elements that are written out


def write_array(x: Any) -> str:
    """The HTML of an array; it records nothing and never raises; for a stale array it only says so."""
    owner = x._owner
    title = f"{x.kind} of shape {x.shape}"
    if owner.ended is not None:
        return page(title, paragraph(f"Stale: {owner.ended}."))
    parts: list[Markup] = [code_block(_text(x))]
    if hasattr(x, "cells"):
        cells = x.cells()
        parts.append(fold("cells", code_block(_text(cells))))
        if owner.tracer is not None:
            parts.append(paragraph("It is being recorded as a program."))
        elif not owner.sweeping and len(owner.adjoints):
            parts += [element("b", "adjoint"), code_block(_text(owner.adjoints_at(cells)))]
    else:
        for tangent in x._tangents:
            parts += [element("b", "tangent"), code_block(_text(tangent))]
    return page(title, *parts)


def _text(x: Value) -> str:
    return np.array2string(np.asarray(peek(x)), threshold=_MOST, precision=6)
