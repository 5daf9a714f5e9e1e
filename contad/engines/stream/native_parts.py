"""Machine code for operators of scalars and new stacks, once Python has taken as long as compiling or loading would."""

import contextlib
import os
import sys
import sysconfig
from collections.abc import Callable
from typing import Any

from contad.engines.stream.patience import PATIENCE
from contad.engines.stream.sweep import operation_code
from contad.protocols.number_protocols import make_methods
from contad.rules.scalar_rule import rules

KNOWN_PYTHONS = frozenset({(3, 11), (3, 12), (3, 13), (3, 14)})  # the tests let machine code write into their objects
SETTING = "CONTAD_MACHINE_OPERATORS"  # an environment variable


def why_in_python() -> str | None:
    """The reason why operators never become machine code in this process; None if they may."""
    if os.environ.get(SETTING) == "0":
        return f"{SETTING} is 0"
    if sys.implementation.name != "cpython" or sys.version_info[:2] not in KNOWN_PYTHONS:
        release = ".".join(map(str, sys.version_info[:2]))
        return f"machine code for them is not tested on {sys.implementation.name} {release}"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this Python is a free-threaded build"
    return None


def describe_operators() -> str:
    """A description of how operators of variables run."""
    why = why_in_python()
    return "methods of Python, then machine code" if why is None else f"methods of Python: {why}"


def _count_frames() -> int:
    """How many more nested calls are possible before Python raises RecursionError."""
    frame, depth = sys._getframe(), 0
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    return sys.getrecursionlimit() - depth


def _is_on_disk() -> bool:
    """Whether the disk cache has the machine code."""
    from contad.compile.machine_code import has_machine_code
    from contad.python_objects.elementwise_operators import operate_on_arrays
    from contad.python_objects.number_operators import operate_on_numbers
    from contad.python_objects.product_operator import multiply_matrices

    return all(has_machine_code(f) for f in (operate_on_numbers, operate_on_arrays, multiply_matrices))


class NativeParts:
    """The parts of an engine with records that machine code takes over from Python after a while.

    Each recording adds to `spent`, and calls `look` when `spent` reaches `limit`. `is_due` is cleared when everything
    is decided; then recordings stop counting.
    """

    RECORD, STACK = 2e-7, 2e-6  # seconds saved for each
    LOADED, COMPILED = 0.25, 1.0  # relative to the time that sweeps take to load and to compile
    FRAMES = 400  # nested calls that the compiler needs

    def __init__(
        self, stack_class: Any, float_class: Any, numpy_class: Any, array_class: Any,
        further: Callable[[Any, Any], object],
    ) -> None:  # fmt: skip
        self.classes = float_class, numpy_class, stack_class, array_class
        self.further = further  # converts further parts of stack and number classes to machine code
        self.spent = 0.0
        self.limit = 0.0
        self.has_looked = False
        self.is_due = True
        self.entries: dict[str, int] = {}  # by operator: the address of its machine code
        self.copy: Callable[[Any], Any] | None = None  # makes a stack like another one

    def look(self) -> None:
        """Decide, after the user's function has returned: nothing must interrupt the import of Numba."""
        if not self.has_looked:
            self.limit = self.LOADED * PATIENCE.loading
        if self.spent < self.limit or not PATIENCE.is_over or _count_frames() < self.FRAMES:
            return
        if not self.has_looked:
            from contad.python_objects.python_objects import has_known_objects  # this imports Numba

            if why_in_python() is not None or not has_known_objects():
                self.is_due = False
                return
            self.has_looked = True
            if not _is_on_disk():
                self.limit = self.COMPILED * PATIENCE.compiling
        if self.spent >= self.limit:
            self.is_due = False
            with contextlib.suppress(Exception):  # if the compilation fails, the methods do the work in twice the time
                self.install()

    def install(self) -> None:
        """Let machine code make stacks, and replace the methods of all operators that it knows."""
        from contad.python_objects.number_operators import BINARY, OPERATORS, make_entry
        from contad.python_objects.slot_entries import make_copier, set_slot

        float_class, numpy_class, stack_class, _ = self.classes
        for rule in () if self.entries else rules():
            if rule.operator in OPERATORS:
                for cls in (float_class, numpy_class):
                    make_methods(cls, rule, cls.implement)
                actives = ("vv", "vc", "cv") if rule.operator in BINARY else ("v",)
                codes = [operation_code(rule, active) or 0 for active in actives]
                self.entries[rule.operator] = make_entry(*self.classes, rule.operator, codes)
        for name, entry in self.entries.items():
            for cls in (float_class, numpy_class):
                set_slot(cls, name, entry)
        self.copy = make_copier(stack_class)
        self.further(stack_class, numpy_class)
