"""The table of names in a derivative: their kinds, and the memory that arrays may refer to.

x          an array of one axis, in its own memory; nothing writes it
row        an array of one axis, in the memory of x
s, s_bar   numbers; terms may be added to s_bar in any order
x_bar      an array of one axis, in its own memory
"""

from collections.abc import Callable, Iterable, Mapping

from contad.engines.source.ir.single_assignment import FLOAT, Kind, Loop, SourceFunction, Value
from contad.engines.source.ir.walks import find_written, values_in, walk
from contad.engines.source.ir.writer import BAR
from contad.rules.scalar_rule import ScalarRule

WORK = "work"  # the name of the workspace


class NameTable:
    """The names of a derivative. A writer of statements with new names notes their kinds here."""

    def __init__(self, fresh: Callable[[str], str], rules: Mapping[str, ScalarRule], program: str) -> None:
        """Start with the workspace only; `fresh` creates new names, and the source calls the values of `rules`."""
        self.fresh, self.rules, self.program = fresh, rules, program
        self.kinds: dict[str, Kind] = {}
        self.floats: set[str] = set()  # numbers of float64
        self.roots = {WORK: frozenset((WORK,))}  # the memory that an array may refer to
        self.constant: set[str] = set()  # arrays that nothing writes
        self.adjoints: set[str] = set()  # of numbers
        self.lines: set[str] = set()  # lines of formulas: each is assigned once, by an expression without side effects

    def add(self, kind: Kind, names: Iterable[str], roots: frozenset[str] | None = None) -> None:
        """Note names of a kind, and the memory that they may refer to; by default each has its own."""
        for name in names:
            self.kinds[name] = kind
            if kind.ndim:
                self.roots[name] = frozenset((name,)) if roots is None else roots
            elif kind == FLOAT:
                self.floats.add(name)

    def add_program(self, program: SourceFunction) -> None:
        """Note the values of a function, which already have names, and their adjoints."""
        given, written = [*values_in(program.parameters), *program.captured_values], set[Value]()
        for value in given:
            self._add_value(value)
        for o in walk(program.block):
            for value in (*o.results, *([c.inner for c in o.carried] if isinstance(o, Loop) else ())):
                self._add_value(value)
            written.update(root for array in find_written(o) for root in array.roots)
        self.constant = {x.name for x in given if x.is_array and x not in written}

    def _add_value(self, value: Value) -> None:
        roots = frozenset([root.name for root in value.roots])
        self.add(value.kind, [value.name], roots)
        self.add(Kind("float", value.kind.ndim), [value.name + BAR], frozenset([root + BAR for root in roots]))
        if not value.is_array:
            self.adjoints.add(value.name + BAR)
