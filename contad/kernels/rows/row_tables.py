"""The tables of operations on matrices and along lines: for each, the arrays that its kernels take, and their module.

Kernels are functions of the module, `<name>_value` and so on, for float64 in C order. Each takes the arrays that its
parameters name: `z_bar` is the adjoint of `z`, and `z_dot` its tangent; and sizes and options.

    factor    writes the saved arrays, from the first operand alone: operations on one matrix share them
    value     writes the results, and the saved arrays if there is no `factor`
    leave     runs after the value and raises if recordings leave the operation to Python
    adjoint   adds to the adjoints of the operands; it skips an adjoint of size 0
    tangent   writes the tangents of the results

The array rule of the same name, of `contad.ops`, has every order of derivatives.

Operations on matrices are written

    name: operands and options -> results | saved arrays

m and n are the rows and columns of the first operand, k the columns of the second one, and p the smaller of m and n. A
vector on the right-hand side is a matrix of one column, and a number is a matrix of one element. An option is a count,
or a flag if it has a question mark. The rule stacks several results; an apostrophe marks a result that it transposes.

An operation along lines takes a flat array `a`, in C order of three axes m, n, k, whose lines run along the middle
axis. m is the product of the axes before those that it reduces, k of the axes after them.
"""

import functools
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

SIZES = ("m", "n", "k")


class RowPart(NamedTuple):
    """An array: each axis is an expression of sizes and options."""

    name: str
    shape: tuple[str, ...]
    is_turned: bool  # whether the rule stacks its transpose

    @property
    def sizes(self) -> str:
        """Its shape for NumPy, as source."""
        return f"({', '.join(self.shape)})" if len(self.shape) == 2 else "".join(self.shape) or "(1, 1)"

    @property
    def matrix(self) -> tuple[str, str]:
        """The rows and columns of this part in the result of the rule."""
        shape = {0: ("1", "1"), 1: ("1", *self.shape), 2: self.shape}[len(self.shape)]
        rows, columns = reversed(shape) if self.is_turned else shape
        return rows, columns


class MatrixRow(NamedTuple):
    """One operation on matrices."""

    name: str
    module: str
    operands: tuple[RowPart, ...]
    flags: tuple[str, ...]
    options: tuple[str, ...]  # flags among them
    results: tuple[RowPart, ...]
    saved: tuple[RowPart, ...]
    spends: bool  # whether the kernel of adjoints overwrites those of the results

    def kernel(self, purpose: str) -> Any:
        """The kernel for a purpose; None if the row has none."""
        return getattr(pkgutil.resolve_name(f"contad.kernels.rows.{self.module}"), f"{self.name}_{purpose}", None)

    def parameters(self, purpose: str) -> tuple[str, ...]:
        """The parameters of a kernel, by name."""
        return tuple(inspect.signature(self.kernel(purpose)).parameters)


def band_height(lower, upper):  # type: ignore[no-untyped-def]
    """The number of rows of n numbers for the factors of a band; three diagonals are stored by diagonals."""
    return 5 if lower == 1 and upper == 1 else 2 * lower + upper + 2


@functools.cache
def measures_of(name: str) -> Callable[..., Any]:
    """The function of sizes and options that gives the shapes of the operands, those of the parts of the result as the
    rule stacks them, and the number of saved numbers.
    """
    row = MATRIX_ROWS[name]
    operands, results = (write_tuple(map(write_tuple, shapes)) for shapes in (
        (x.shape for x in row.operands), (x.matrix for x in row.results),
    ))  # fmt: skip
    saved = " + ".join(write_size(x) for x in row.saved) or "0"
    inner = f"lambda p: ({operands}, {results}, {saved})"
    made: Callable[..., Any] = eval(
        f"lambda {', '.join((*SIZES, *row.options))}: ({inner})(min(m, n))", {"band_height": band_height}
    )
    return made


def write_tuple(parts: Iterable[str]) -> str:
    """A tuple as source."""
    return f"({''.join(f'{x}, ' for x in parts)})"


def write_size(part: RowPart) -> str:
    """How many numbers it has, as source."""
    return " * ".join(f"({x})" for x in part.shape) or "1"


def find_part(parts: Iterable[RowPart], name: str) -> RowPart | None:
    """The part of that name."""
    return next((x for x in parts if x.name == name), None)


def _parts(text: str) -> list[str]:
    return [x.strip() for x in re.split(r",(?![^(]*\))", text) if x.strip()]


def _part(text: str) -> RowPart:
    name, _, shape = text.removesuffix("'").removesuffix(")").partition("(")
    return RowPart(name, tuple(re.split(r", (?![^(]*\))", shape)) if shape else (), text.endswith("'"))


def _row(module: str, text: str, spends: bool = False) -> MatrixRow:
    name, _, text = text.partition(": ")
    taken, _, text = text.partition(" -> ")
    results, _, saved = text.partition(" | ")
    given = _parts(taken)
    operands, options = [x for x in given if "(" in x], [x for x in given if "(" not in x]
    return MatrixRow(
        name, module, tuple(map(_part, operands)), tuple(x[:-1] for x in options if x.endswith("?")),
        tuple(x.removesuffix("?") for x in options), tuple(map(_part, _parts(results))),
        tuple(map(_part, _parts(saved))), spends,
    )  # fmt: skip


ROWS = {row.name: row for row in (
    _row("triangle_rows", "cholesky_factor: a(n, n) -> z(n, n)", spends=True),
    _row("triangle_rows", "solve_triangular: a(n, n), b(n, k), transposed?, lower?, unit_diagonal? -> z(n, k)"),
    _row("system_rows", "solve: a(n, n), b(n, k), transposed? -> z(n, k) | factors(n, n), exchanges(n)",
         spends=True),
    _row("system_rows", "inv: a(n, n) -> z(n, n)"),
    _row("system_rows", "det: a(n, n) -> z()"),
    _row("system_rows", "log_determinant: a(n, n) -> log() | factors(n, n), exchanges(n)"),
    _row("triangle_rows", "banded_solution: ab(lower + upper + 1, n), b(n, k), lower, upper -> z(n, k) "
         "| factors(band_height(lower, upper), n)", spends=True),
    _row("triangle_rows", "positive_banded_solution: ab(m, n), b(n, k), lower? -> z(n, k) | factors(m, n)",
         spends=True),
    _row("system_rows", "expm: a(n, n) -> z(n, n) | powers(3 * n, n)"),
    _row("triangle_rows", "filled_cholesky_factor: a(n, n), lower? -> z(n, n)"),
    _row("triangle_rows", "cholesky_solution: c(n, n), b(n, k), lower? -> z(n, k)"),
    _row("system_rows", "euclidean_norm: x(m, n) -> z()"),
    _row("spectral_rows", "orthogonal_factor: a(m, n) -> q(m, p), r(p, n) | rest(m, n - p)"),
    _row("spectral_rows", "symmetric_spectrum: a(n, n), upper? -> w(n), v(n, n)"),
    _row("spectral_rows", "real_spectrum: a(n, n) -> w(n), v(n, n)"),
    _row("spectral_rows", "singular_spectrum: a(m, n) -> u(m, p), s(p), vt(p, n)'"),
)}  # fmt: skip
# rows without a rule of this name: the rule is a composition, or has more options; and products, which have their own
# records in recordings
MATRIX_ROWS = ROWS | {row.name: row for row in (
    _row("product_rows", "matmul: a(m, n), b(n, k) -> z(m, k)"),
    _row("system_rows", "slogdet: a(n, n) -> sign(), log() | factors(n, n), exchanges(n)"),
    _row("system_rows", "singular_cofactors: a(n, n) -> z(n, n)"),
    _row("spectral_rows", "eigvalsh: a(n, n) -> w(n)"),
    _row("spectral_rows", "eigvals: a(n, n) -> w(n), v(n, n)"),
    _row("least_squares_rows", "pinv: a(m, n), rcond() -> z(n, m)"),
    _row("least_squares_rows", "lstsq: a(m, n), b(m, k), rcond() -> x(n, k), squares(k), s(p), rank()"),
)}  # fmt: skip

# rows on pairs of a real and an imaginary part; they have adjoints, and no kernels of tangents
PAIR_ROWS = {row.name: row for row in (
    _row("fourier_rows", "fourier: a(m, n), b(m, n), scale(), inverse? -> real(m, n), imag(m, n)"),
    _row("fourier_rows", "half_fourier: a(m, n), scale(), inverse?, count -> real(m, count), imag(m, count)"),
    _row("fourier_rows", "real_fourier: a(m, n), b(m, n), scale(), inverse?, count -> z(m, count)"),
    _row("fourier_rows", "cosines: a(m, n), kind, norm, sine?, orthogonal? -> z(m, n)"),
    _row("complex_rows", "complex_det: a(n, n), b(n, n) -> real(), imag()"),
    _row("complex_rows", "complex_slogdet: a(n, n), b(n, n) -> real(), imag(), log()"),
    _row("complex_rows", "complex_eigh: a(n, n), b(n, n) -> w(n), real(n, n), imag(n, n)"),
    _row("complex_rows", "complex_eig: a(n, n), b(n, n) -> w_real(n), w_imag(n), real(n, n), imag(n, n)"),
    _row("complex_rows", "complex_svd: a(m, n), b(m, n) -> u_real(m, p), u_imag(m, p), s(p), real(p, n), imag(p, n)"),
    _row("complex_rows", "complex_qr: a(m, n), b(m, n) -> q_real(m, p), q_imag(m, p), real(p, n), imag(p, n)"),
)}  # fmt: skip


# ---- operations along lines ------------------------------------------------------------------------------------------
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
