"""When operators of scalars become machine code: once their methods have taken as long as it takes to get that."""

from typing import Any

from contad.engines.stream.patience import PATIENCE
from contad.engines.stream.sweep import operation_code
from contad.protocols.number_protocols import make_methods
from contad.rules.scalar_rule import rules


class OperatorSlots:
    """The operators of the variables of an engine with records: methods of Python, until there have been many.

    `is_due` is cleared when that is decided, and nobody counts any more.
    """

    SAVED = 2e-7  # seconds per record
    STEP = 0.25  # of what sweeps take to compile, or to load

    def __init__(self, stack_class: type[Any], float_class: Any, numpy_class: Any) -> None:
        self.classes = float_class, numpy_class, stack_class
        self.spent = 0.0
        self.left: float | None = None  # not known before the disk has been looked at
        self.is_due = True
        self.entries: dict[str, int] = {}  # by operator: the address of its machine code

    def count(self, n: int) -> None:
        """Count n records of a recording that is swept."""
        self.spent += n * self.SAVED
        if self.spent < self.STEP * PATIENCE.loading:
            return
        if self.left is None:
            from contad.native.number_operators import has_known_objects, is_on_disk  # they know Numba

            if not has_known_objects():
                self.is_due = False
                return
            self.left = self.STEP * (PATIENCE.loading if is_on_disk() else PATIENCE.compiling)
        if self.spent >= self.left:
            self.is_due = False
            self.install()

    def install(self) -> None:
        """Make the methods of all operators that machine code knows, and let it take their place."""
        from contad.native.number_operators import BINARY, OPERATORS, make_entry, set_slot

        float_class, numpy_class, stack_class = self.classes
        for rule in () if self.entries else rules():
            if rule.operator in OPERATORS:
                for cls in (float_class, numpy_class):
                    make_methods(cls, rule, cls.implement)
                actives = ("vv", "vc", "cv") if rule.operator in BINARY else ("v",)
                codes = [operation_code(rule, active) or 0 for active in actives]
                self.entries[rule.operator] = make_entry(float_class, numpy_class, stack_class, rule.operator, codes)
        for name, entry in self.entries.items():
            for cls in (float_class, numpy_class):
                set_slot(cls, name, entry)
