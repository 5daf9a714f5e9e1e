"""The functions of matrices that generated code computes by kernels: what a program has to know of each."""

from typing import NamedTuple


class MatrixFunction(NamedTuple):
    """A function of matrices: `forward_...` and `reverse_...` of a module of `runtime` compute it."""

    name: str  # of the function in np.linalg, scipy.linalg or contad
    operands: int  # that may have a derivative; numbers that have none follow them
    constant: int = 0  # how many of the numbers that it computes first have no derivative
    reads_all: bool = True  # whether each element of its operands matters to a result that has a cotangent
    is_finite: bool = True  # whether finite operands give finite results
    lanes: str = ""  # what takes lanes: "right", the second operand of a solver; "all" operands; else none
    plain: str = "np.linalg.{}({})"  # what computes it where no derivative is wanted; empty: the kernel
    module: str = "row_kernels"


SOLVE = MatrixFunction("solve", 2, lanes="right")
INV = MatrixFunction("inv", 1)
DET = MatrixFunction("det", 1)
COFACTORS = MatrixFunction("cofactors", 1, plain="")  # by singular values, for the tangent of a determinant
SLOGDET = MatrixFunction("slogdet", 1, constant=1, is_finite=False)
CHOLESKY = MatrixFunction("cholesky", 1, reads_all=False)
EIGH = MatrixFunction("eigh", 1, reads_all=False)
EIGVALSH = MatrixFunction("eigvalsh", 1, reads_all=False)
# tangents, which read w and v
EIGH_ALONG = MatrixFunction("eigh_along", 2, reads_all=False, lanes="all", plain="", module="matrix_kernels")
EIG = MatrixFunction("eig", 1, plain="")
EIGVALS = MatrixFunction("eigvals", 1, plain="")
SVD = MatrixFunction("svd", 1, reads_all=False, plain="np.linalg.{}({}, False)")
SVD_ALONG = MatrixFunction("svd_along", 2, reads_all=False, lanes="all", plain="", module="matrix_kernels")
QR = MatrixFunction("qr", 1, reads_all=False)
PINV = MatrixFunction("pinv", 1)
LSTSQ = MatrixFunction("lstsq", 2, reads_all=False, plain="")
NORM = MatrixFunction("norm", 1, reads_all=False, module="matrix_kernels")
NUMPY_FUNCTIONS = (
    SOLVE, INV, DET, COFACTORS, SLOGDET, CHOLESKY, EIGH, EIGH_ALONG, EIGVALSH, EIG, EIGVALS, SVD, SVD_ALONG, QR, PINV,
    LSTSQ, NORM,
)  # fmt: skip

SOLVE_TRIANGULAR = MatrixFunction("solve_triangular", 2, reads_all=False, lanes="right", plain="")
CHO_FACTOR = MatrixFunction("cho_factor", 1, reads_all=False, plain="")
CHO_SOLVE = MatrixFunction("cho_solve", 2, reads_all=False, lanes="right", plain="")
SOLVE_BANDED = MatrixFunction("solve_banded", 2, reads_all=False, lanes="right", plain="")
EXPM = MatrixFunction("expm", 1, lanes="all", plain="")
LOGSUMEXP = MatrixFunction("logsumexp", 1, reads_all=False, is_finite=False, plain="", module="line_kernels")
SOFTMAX = MatrixFunction("softmax", 1, reads_all=False, plain="", module="line_kernels")
LOGSUMEXP_ALONG = MatrixFunction(
    "logsumexp_along", 1, reads_all=False, is_finite=False, plain="", module="line_kernels"
)
SOFTMAX_ALONG = MatrixFunction("softmax_along", 1, reads_all=False, plain="", module="line_kernels")
SCIPY_FUNCTIONS = (
    SOLVE_TRIANGULAR, CHO_FACTOR, CHO_SOLVE, SOLVE_BANDED, EXPM, LOGSUMEXP, SOFTMAX, LOGSUMEXP_ALONG, SOFTMAX_ALONG,
)  # fmt: skip


def _kernels(f: MatrixFunction) -> list[str]:
    ways = [(f"{way}_", f"{way}_lanes_") for way in ("forward", "reverse")]
    return [f"{x}{f.name}" for way in ways for x in (way if f.lanes else way[:1])]


KERNELS: dict[str, list[str]] = {}  # by module
for _function in (*NUMPY_FUNCTIONS, *SCIPY_FUNCTIONS):
    KERNELS.setdefault(_function.module, []).extend(_kernels(_function))
