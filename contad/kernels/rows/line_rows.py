"""The table of operations along lines: the parameters of their kernels, and their modules.

An array is flat, in C order of three axes m, n, k, and its lines run along the middle axis. m is the product of the
axes before those that an operation reduces, k of the axes after them. Kernels are functions of the module, for float64,
that compiled code calls and Python runs. Each takes the arrays that its parameters name: the operand `a`, the result
`z`, their adjoints and tangents, saved arrays, and sizes and options.

    value     writes z and the saved arrays
    adjoint   adds to a_bar
    tangent   writes z_dot

The array rule of the same name, of `contad.ops`, has every order of derivatives.
"""

import inspect
import pkgutil
from typing import Any, NamedTuple

SIZES = ("m", "n", "k")
_ELEMENTS, _LINES = "m * n * k", "m * k"


class LineRow(NamedTuple):
    """One operation along lines."""

    name: str
    module: str
    is_running: bool = False  # whether the result is an array of lines, else one number for each line
    options: tuple[str, ...] = ()
    saved: tuple[tuple[str, str], ...] = ()  # names, and how many numbers

    @property
    def size(self) -> str:
        """The number of elements of the result, as source."""
        return _ELEMENTS if self.is_running else _LINES

    def count_saved(self, elements: int, lines: int) -> int:
        """The number of saved numbers."""
        return sum(elements if count == _ELEMENTS else lines for _, count in self.saved)

    def kernel(self, purpose: str) -> Any:
        """The kernel for a purpose."""
        return getattr(pkgutil.resolve_name(f"contad.kernels.rows.{self.module}"), f"{self.name}_{purpose}")

    def parameters(self, purpose: str) -> tuple[str, ...]:
        """The parameters of a kernel, by name."""
        return tuple(inspect.signature(self.kernel(purpose)).parameters)


LINE_ROWS = {row.name: row for row in (
    LineRow("logsumexp", "log_sum_rows", saved=(("terms", _ELEMENTS), ("totals", _LINES))),
    LineRow("softmax", "log_sum_rows", is_running=True),
    LineRow("prod", "reduction_rows"),
    LineRow("var", "reduction_rows", options=("ddof",)),
    LineRow("std", "reduction_rows", options=("ddof",)),
    LineRow("cumsum", "accumulation_rows", is_running=True),
    LineRow("cumprod", "accumulation_rows", is_running=True),
)}  # fmt: skip
