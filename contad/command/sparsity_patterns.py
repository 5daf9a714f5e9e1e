"""Which derivatives are not zero: the pattern of a Jacobian, or of a Hessian where the function returns one number."""

import math
from typing import Any, NamedTuple

import numpy as np

from contad.command.point import Problem, components, leaves
from contad.command.user_file import CommandError, blame
from contad.progress_bars import ProgressBar
from contad.transforms.hessians import hessian
from contad.transforms.jacobians import jacobian, size_of
from contad.variables.number import is_real
from contad.variables.open_types import Nested
from contad.variables.trees import flatten

LARGEST = 2000  # numbers of a side: the matrix is computed whole
NEARBY = 2  # points near the given one, whose patterns are added to its own
TEXT_WIDTH = 64  # characters of a pattern as text; a larger one is drawn by blocks
NAMED = 40  # rows and columns that have their names beside them, at most


class Sparsity(NamedTuple):
    """The matrix of what is not zero, and the names of rows and columns: of numbers, and of where each leaf begins."""

    kind: str  # Hessian, Jacobian
    nonzero: np.ndarray
    rows: list[str]
    columns: list[str]
    row_starts: dict[str, int]
    column_starts: dict[str, int]

    def describe(self) -> str:
        """How full the matrix is."""
        n, m = self.nonzero.shape
        filled = int(self.nonzero.sum())
        return f"{self.kind} {n} x {m}: {filled} of {n * m} entries are not zero ({filled / max(n * m, 1):.1%})"

    @property
    def is_of_number(self) -> bool:
        """Whether the function returns one number."""
        return self.kind == "Hessian"

    def draw(self, figure: Any, title: str) -> None:
        """The pattern in a figure of Matplotlib, with the names of the numbers or of the arrays they are in."""
        n, m = self.nonzero.shape
        side = 6.5
        figure.set_size_inches(max(side * min(m / n, 2.0), 4.5) + 1.2, max(side * min(n / m, 2.0), 3.0) + 1.2)
        axes = figure.add_subplot()
        axes.imshow(
            self.nonzero, cmap="Blues", vmin=0.0, vmax=1.25, interpolation="none" if max(n, m) < 500 else "auto"
        )
        axes.set_title(f"{title}\n{self.describe()}", fontsize="medium")
        for axis, names, starts in (
            (axes.yaxis, self.rows, self.row_starts),
            (axes.xaxis, self.columns, self.column_starts),
        ):
            shown = {name: k for k, name in enumerate(names)} if len(names) <= NAMED else starts
            if len(shown) <= NAMED:
                axis.set_ticks(list(shown.values()), labels=list(shown), rotation=90 if axis is axes.xaxis else 0)
                axis.set_tick_params(labelsize="small")
        for start in self.row_starts.values():
            axes.axhline(start - 0.5, color="black", linewidth=0.5)
        for start in self.column_starts.values():
            axes.axvline(start - 0.5, color="black", linewidth=0.5)

    def write(self) -> str:
        """The pattern as characters: `x` not zero, `.` zero; a large one by blocks, `x` where a block has an entry."""
        n, m = self.nonzero.shape
        block = max(1, math.ceil(max(n, m) / TEXT_WIDTH))
        filled = np.array(
            [[self.nonzero[i : i + block, j : j + block].any() for j in range(0, m, block)] for i in range(0, n, block)]
        )
        names = self.rows[::block]
        if block > 1:  # the name of a leaf where it begins
            begins = {start // block: name for name, start in reversed(self.row_starts.items())}
            names = [begins.get(k, "") for k in range(len(filled))]
        width = max(map(len, names))
        legend = "x not zero, . zero" + (f"; one character is a block of {block} x {block}" if block > 1 else "")
        rows = [
            f"  {name:<{width}}  {''.join('x' if x else '.' for x in row)}"
            for name, row in zip(names, filled, strict=True)
        ]
        return "\n".join([legend, "", *rows])


def find_sparsity(problem: Problem) -> Sparsity:
    """The pattern at the point and at points near it: what is 0 at all of them is drawn as zero.

    An entry that is 0 there but not elsewhere, as beyond a branch, is taken for zero. nan is not zero.
    """
    size = len(problem.coordinates())
    with _blame(problem):
        args, kwargs = problem.arguments()
        value = problem.function(*args, **kwargs)
    is_number = is_real(value) or (isinstance(value, np.ndarray) and value.ndim == 0)
    result = None if is_number else _result_names(problem, value)
    rows = size if result is None else len(result[0])
    if max(rows, size) > LARGEST:
        raise CommandError(
            f"{problem.label}: --plot sparsity: expected at most {LARGEST} rows and columns, got {rows} x {size}; "
            "choose fewer parameters with --wrt"
        )
    found = None
    with ProgressBar("sparsity pattern", total=1 + NEARBY) as bar:
        for k in range(1 + NEARBY):
            try:
                with _blame(problem):
                    matrix = _matrix(_point_near(problem, k), result is None) != 0.0  # nan too
            except CommandError:
                if found is None:
                    raise
                continue  # outside the domain
            found = matrix if found is None else found | matrix
            bar.advance()
    columns, column_starts = _names(problem)
    assert found is not None
    if result is None:
        return Sparsity("Hessian", found, columns, columns, column_starts, column_starts)
    return Sparsity("Jacobian", found, result[0], columns, result[1], column_starts)


def _blame(problem: Problem) -> Any:
    return blame(problem.label, problem.path, "")


def _names(problem: Problem) -> tuple[list[str], dict[str, int]]:
    """The names of the numbers of the point, and where each leaf begins."""
    names: list[str] = []
    starts: dict[str, int] = {}
    for parameter in problem.active:
        for name, leaf in leaves(parameter, problem.values[parameter]):
            starts[name] = len(names)
            names += [n for n, _ in components(name, leaf)]
    return names, starts


def _result_names(problem: Problem, value: Nested) -> tuple[list[str], dict[str, int]]:
    """The names of the numbers that the function returns; CommandError if it returns anything else."""
    names: list[str] = []
    starts: dict[str, int] = {}
    for name, leaf in leaves("result", value) if value is not None else ():
        if not (is_real(leaf) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fiu")):
            raise CommandError(f"{problem.label}: the function returns a {type(value).__name__}; expected real numbers")
        starts[name] = len(names)
        names += [n for n, _ in components(name, leaf)]
    if not names:
        raise CommandError(f"{problem.label}: the function returns no numbers; expected real numbers")
    return names, starts


def _point_near(problem: Problem, k: int) -> Problem:
    """The problem at the k-th point: the given one, or one near it, always the same."""
    if k == 0:
        return problem
    random = np.random.default_rng(k)
    values = dict(problem.values)
    for name in problem.active:
        tree = flatten(values[name])
        moved: list[Any] = []
        for x in tree.leaves:
            steps = 1e-3 * random.standard_normal(np.shape(x))
            near = np.asarray(x) * (1.0 + steps) + np.where(np.asarray(x) == 0.0, steps, 0.0)
            moved.append(near if isinstance(x, np.ndarray) else float(near))
        values[name] = tree.unflatten(moved)
    return problem.at(values)


def _matrix(problem: Problem, is_scalar: bool) -> np.ndarray:
    """The Hessian or the Jacobian as one matrix."""
    function, args, kwargs, argnums = problem.positional()
    made = (hessian if is_scalar else jacobian)(function, argnums)(*args, **kwargs)
    columns = [size_of(leaf) for n in argnums for leaf in flatten(args[n]).leaves]
    blocks = [np.asarray(leaf, float) for leaf in flatten(made).leaves]
    per_row = len(columns)
    rows = []
    for start in range(0, len(blocks), per_row):
        part = blocks[start : start + per_row]
        rows.append(np.concatenate([np.reshape(b, (-1, n)) for b, n in zip(part, columns, strict=True)], axis=1))
    return np.concatenate(rows)
