"""The public functions that rows compute: how each is called, and what it returns.

    function(parameters) -> results

Results have the names of the row's results; a single result may have any name. A call may also return an option of the
row. A parameter has the name of an operand or option of the row, unless `MEANINGS` translates it; all other parameters
are ignored. This table makes the calls that generated code reads, the functions on the tape, and SciPy's functions
inside njit. NumPy's functions of plain arrays inside njit are Numba's own.
"""

import ast
import pkgutil
from collections.abc import Sequence
from typing import Any, NamedTuple

from contad.kernels.rows.row_tables import MATRIX_ROWS, PAIR_ROWS, MatrixRow, RowPart, find_part

# the names in rows for parameters that have other names, or that are pairs
MEANINGS = {"A": ("a",), "trans": ("transposed",), "c_and_lower": ("c", "lower"), "l_and_u": ("lower", "upper")}


class RowCall(NamedTuple):
    """One function that a row computes."""

    path: str
    parameters: dict[str, Any]  # with their defaults; `...` if a parameter has none
    returned: tuple[str, ...]
    row: MatrixRow
    checks: str = ""  # a call that raises the errors of NumPy or SciPy
    constants: tuple[str, ...] = ()  # in the place of options
    finite: tuple[str, ...] = ()  # operands that must be finite if the argument `check_finite` is true
    # the rest are fields of `MatrixFunction`, in its order
    constant: int = 0
    reads_all: bool = True
    is_finite: bool = True
    lanes: str = ""
    plain: tuple[bool, ...] | None = None

    @property
    def name(self) -> str:
        """The name of the function in its module."""
        return self.path.rpartition(".")[2]

    @property
    def function(self) -> Any:
        """The function itself."""
        return pkgutil.resolve_name(self.path)

    @property
    def options(self) -> tuple[str, ...]:
        """The options of the row that the call does not fix as constants."""
        return () if self.constants else self.row.options

    def axes(self, part: RowPart) -> tuple[int, ...]:
        """The numbers of axes that an operand may have: a vector may stand for a matrix of columns."""
        return (1, 2) if "k" in part.shape else (len(part.shape),)

    def results(self) -> Sequence[RowPart | str]:
        """The values that the function returns: parts of the result, and names of options."""
        parts = self.row.results
        return [find_part(parts, x) or (x if x in self.row.options else parts[0]) for x in self.returned]


def _call(text: str, row: str, checks: str = "", **facts: Any) -> RowCall:
    head, _, results = text.partition(" -> ")
    path, _, parameters = head.removesuffix(")").partition("(")
    given = ast.parse(f"def f({parameters}): pass").body[0].args  # type: ignore[attr-defined]
    names, defaults = [x.arg for x in given.args], [ast.literal_eval(x) for x in given.defaults]
    known = dict(zip(names, [...] * (len(names) - len(defaults)) + defaults, strict=True))
    return RowCall(path, known, tuple(results.split(", ")), (MATRIX_ROWS | PAIR_ROWS)[row], checks, **facts)


def _numpy(
    text: str, row: str, checks: str = "require_square(a)", plain: tuple[bool, ...] | None = (), **facts: Any
) -> RowCall:
    return _call(f"numpy.linalg.{text}", row, checks, plain=plain, **facts)


def _scipy(text: str, row: str, checks: str, **facts: Any) -> RowCall:
    return _call(f"contad.scipy.linalg.{text}", row, checks, **facts)


ROW_CALLS = {call.name: call for call in (
    _numpy("solve(a, b) -> solution", "solve", "check_system(a, b)", constants=("False",), lanes="right"),
    _numpy("inv(a) -> inverse", "inv"),
    _numpy("det(a) -> determinant", "det"),
    _numpy("slogdet(a) -> sign, log", "slogdet", constant=1, is_finite=False),
    _numpy("cholesky(a) -> factor", "cholesky_factor", reads_all=False),
    _numpy("eigh(a) -> w, v", "symmetric_spectrum", constants=("False",), reads_all=False),
    _numpy("eigvalsh(a) -> w", "eigvalsh", reads_all=False),
    _numpy("eig(a) -> w, v", "real_spectrum", plain=None),
    _numpy("eigvals(a) -> w", "eigvals", plain=None),
    _numpy("svd(a, full_matrices=1) -> u, s, vt", "singular_spectrum", "", (False,), reads_all=False),
    _numpy("qr(a) -> q, r", "orthogonal_factor", "", reads_all=False),
    _numpy("pinv(a, rcond=1e-15) -> inverse", "pinv", ""),
    _numpy(
        "lstsq(a, b, rcond=-1.0) -> x, squares, rank, s", "lstsq", "check_least_squares(a, b)", None, reads_all=False
    ),
    _call("contad.ops.determinants.singular_cofactors(a) -> cofactors", "singular_cofactors", "require_square(a)"),
    _scipy("solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True) "
           "-> solution", "solve_triangular", "check_solve_triangular(a.shape, b.shape)", finite=("a", "b"),
           reads_all=False, lanes="right"),
    _scipy("cho_factor(a, lower=False, overwrite_a=False, check_finite=True) -> factor, lower",
           "filled_cholesky_factor", "check_cho_factor(a.shape)", finite=("a",), reads_all=False),
    _scipy("cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True) -> solution", "cholesky_solution",
           "check_cho_solve(c.shape, b.shape)", finite=("b", "c"), reads_all=False, lanes="right"),
    _scipy("solve_banded(l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True) -> solution",
           "banded_solution", "check_solve_banded(lower, upper, ab.shape, b.shape)", finite=("ab", "b"),
           reads_all=False, lanes="right"),
    _scipy("solveh_banded(ab, b, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True) -> solution",
           "positive_banded_solution", "check_half_band(ab.shape, b.shape)", finite=("ab", "b"), reads_all=False,
           lanes="right"),
    _scipy("expm(A) -> exponential", "expm", "check_square(a)", lanes="all"),
    *(_call(f"contad.kernels.fourier_lines.{text}", text.partition("(")[0], lanes="all") for text in (
        "fourier(a, b, scale, inverse) -> real, imag", "half_fourier(a, scale, inverse, count) -> real, imag",
        "real_fourier(a, b, scale, inverse, count) -> z", "cosines(a, kind, norm, sine, orthogonal) -> z",
    )),
    *(_call(f"contad.kernels.complex_matrices.{text}", text.partition("(")[0], **facts) for text, facts in (
        ("complex_det(a, b) -> real, imag", {"checks": "require_square(a)"}),
        ("complex_slogdet(a, b) -> real, imag, log", {"checks": "require_square(a)", "is_finite": False}),
        ("complex_eigh(a, b) -> w, real, imag", {"checks": "require_square(a)", "reads_all": False}),
        ("complex_eig(a, b) -> w_real, w_imag, real, imag", {"checks": "require_square(a)"}),
        ("complex_svd(a, b) -> u_real, u_imag, s, real, imag", {"reads_all": False}),
        ("complex_qr(a, b) -> q_real, q_imag, real, imag", {"reads_all": False}),
    )),
)}  # fmt: skip
