"""The derivatives that may be nonzero: the pattern of the Jacobian, or of the Hessian if f returns a number."""

import math
from typing import Any, NamedTuple

import numpy as np

from contad.command.point import Problem, components, leaves
from contad.command.user_file import CommandError, blame
from contad.progress_bars import ProgressBar
from contad.transforms.pattern_search import HESSIAN, JACOBIAN, sparsity
from contad.variables.number import is_real
from contad.variables.open_types import Nested

TEXT_WIDTH = 64  # characters of a pattern as text; a character of a larger one covers several elements
PIXELS = 1500  # likewise for a picture
NAMED = 40  # rows and columns up to which their names are shown


class Axis(NamedTuple):
    """The numbers along one side: their names, and the start of each leaf by its name."""

    names: list[str]
    starts: dict[str, int]


class Sparsity(NamedTuple):
    """A pattern: the places of its elements, and its axes."""

    kind: str
    at_rows: np.ndarray
    at_columns: np.ndarray
    rows: Axis
    columns: Axis

    @property
    def is_of_number(self) -> bool:
        """Whether the function returns one number."""
        return self.kind == HESSIAN

    def describe(self) -> str:
        """A description of how full the matrix is."""
        n, m, filled = len(self.rows.names), len(self.columns.names), len(self.at_rows)
        of = f"{filled} of {n * m} entries may be other than zero"
        return f"{self.kind.capitalize()} {n} x {m}: {of} ({filled / (n * m):.1%})"

    def coarsen(self, most: int) -> tuple[np.ndarray, int]:
        """The matrix of truth values with at most `most` rows and columns, and how many numbers each of them covers."""
        n, m = len(self.rows.names), len(self.columns.names)
        size = math.ceil(max(n, m) / most)
        filled = np.zeros((-(-n // size), -(-m // size)), bool)
        filled[self.at_rows // size, self.at_columns // size] = True
        return filled, size

    def draw(self, figure: Any, title: str) -> None:
        """Draw the pattern in a figure of Matplotlib, with the names of the numbers or of their arrays."""
        n, m = len(self.rows.names), len(self.columns.names)
        figure.set_size_inches(max(6.5 * min(m / n, 2.0), 4.5) + 1.2, max(6.5 * min(n / m, 2.0), 3.0) + 1.2)
        axes = figure.add_subplot()
        filled, _ = self.coarsen(PIXELS)
        extent = (-0.5, m - 0.5, n - 0.5, -0.5)
        axes.imshow(filled, cmap="Blues", vmin=0.0, vmax=1.25, interpolation="none", extent=extent)
        axes.set_title(f"{title}\n{self.describe()}", fontsize="medium")
        for axis, (names, starts), rotation in ((axes.yaxis, self.rows, 0), (axes.xaxis, self.columns, 90)):
            shown = {name: k for k, name in enumerate(names)} if len(names) <= NAMED else starts
            if len(shown) <= NAMED:
                axis.set_ticks(list(shown.values()), labels=list(shown), rotation=rotation)
                axis.set_tick_params(labelsize="small")
        for start in self.rows.starts.values():
            axes.axhline(start - 0.5, color="black", linewidth=0.5)
        for start in self.columns.starts.values():
            axes.axvline(start - 0.5, color="black", linewidth=0.5)

    def write(self) -> str:
        """The pattern as characters `x` and `.`; in a large one, `x` means that a matrix block has an element."""
        filled, size = self.coarsen(TEXT_WIDTH)
        names, legend = self.rows.names, "x may be other than zero, . zero"
        if size > 1:  # the name of a leaf at its first number
            begins = {start // size: name for name, start in reversed(self.rows.starts.items())}
            names = [begins.get(k, "") for k in range(len(filled))]
            legend += f"; one character is a block of {size} x {size}"
        width = max(map(len, names))
        rows = ["".join("x" if x else "." for x in row) for row in filled]
        return "\n".join([legend, "", *(f"  {n:<{width}}  {row}" for n, row in zip(names, rows, strict=True))])


def find_sparsity(problem: Problem) -> Sparsity:
    """The pattern of the function at the point; CommandError if it returns no numbers."""
    with blame(problem.label, problem.path), ProgressBar("sparsity pattern"):
        args, kwargs = problem.arguments()
        value = problem.function(*args, **kwargs)
        is_number = is_real(value) or (isinstance(value, np.ndarray) and value.ndim == 0)
        results = None if is_number else _results(problem, value)
        function, args, kwargs, argnums = problem.positional()
        found = sparsity(function, *args, of=HESSIAN if is_number else JACOBIAN, argnums=argnums, **kwargs).tocoo()
    columns = _axis({name: problem.values[name] for name in problem.active})
    return Sparsity(HESSIAN if is_number else JACOBIAN, found.row, found.col, results or columns, columns)


def _results(problem: Problem, value: Nested) -> Axis:
    """The numbers that the function returns; CommandError if it returns anything else."""
    for _, leaf in leaves("result", value) if value is not None else ():
        if not (is_real(leaf) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fiu")):
            raise CommandError(f"{problem.label}: the function returns a {type(value).__name__}; expected real numbers")
    axis = _axis({"result": value})
    if not axis.names:
        raise CommandError(f"{problem.label}: the function returns no numbers; expected real numbers")
    return axis


def _axis(trees: dict[str, Nested]) -> Axis:
    names: list[str] = []
    starts: dict[str, int] = {}
    for tree_name, tree in trees.items():
        for name, leaf in leaves(tree_name, tree) if tree is not None else ():
            starts[name] = len(names)
            names += [n for n, _ in components(name, leaf)]
    return Axis(names, starts)
