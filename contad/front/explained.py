"""The result of `contad.explain`: text, with a form for notebooks."""

import functools
import linecache
import os
from collections.abc import Callable, Sequence
from typing import Any


class Explanation(str):
    """Which engine answers, why others refuse, and what the engine does, as text; in a notebook also a table of loops.

    `engine` is its name, and `refusals` are pairs (engine, reason). For a generated derivative, `loops` has an entry
    for each loop of the function: line, numbers stored in each iteration, numbers recomputed.
    """

    engine: str
    refusals: tuple[tuple[str, str], ...]
    _find_loops: Callable[[], Sequence[Any]] | None

    @classmethod
    def of(
        cls, text: str, engine: str, refusals: Sequence[tuple[str, str]] = (),
        find_loops: Callable[[], Sequence[Any]] | None = None,
    ) -> "Explanation":  # fmt: skip
        """An explanation with these parts."""
        told = cls(text)
        told.engine, told.refusals, told._find_loops = engine, tuple(refusals), find_loops
        return told

    @functools.cached_property
    def loops(self) -> Sequence[Any]:
        """The loops that the reverse pass runs through."""
        return self._find_loops() if self._find_loops is not None else ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from contad.display.markup import code_block, element, fold, page, paragraph, table

        head, _, rest = self.partition("\n")
        parts = []
        for engine, why in self.refusals:
            parts.append(paragraph(element("b", engine or "no engine"), f" refuses: {why}"))
        if self.loops:
            files = {loop.file for loop in self.loops}
            rows = []
            for loop in self.loops:
                stored = ", ".join(x.shown for x in loop.stored) or "nothing"
                how = "iteration by iteration, as it runs" if loop.is_fused else "after it has run"
                place = f"{loop.line}" if len(files) == 1 else f"{os.path.basename(loop.file)}:{loop.line}"
                source = linecache.getline(loop.file, loop.line).rstrip()
                rows.append([place, source, how, stored, loop.bytes, ", ".join(loop.again)])
            columns = ["line", "loop", "is reversed", "stores in each iteration", "bytes", "computes again"]
            parts.append(table(columns, rows, left="is reversed,stores in each iteration,computes again", code="loop"))
        if rest:
            parts.append(fold("in words", code_block(rest)))
        return page(head, *parts)
