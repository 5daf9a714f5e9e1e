"""The functions of matrices that generated code computes by kernels: what a program has to know of each."""

from typing import NamedTuple


class MatrixFunction(NamedTuple):
    """A function of matrices: `forward_...` and `reverse_...` in `runtime.matrix_kernels` compute it."""

    name: str  # in np.linalg
    operands: int  # that may have a derivative; numbers that have none follow them
    constant: int = 0  # how many of the numbers that it computes first have no derivative
    reads_all: bool = True  # whether each element of its operands matters to a result that has a cotangent
    is_finite: bool = True  # whether finite operands give finite results
    plain: str = "np.linalg.{}({})"  # what computes it where no derivative is wanted; empty: the kernel


SOLVE = MatrixFunction("solve", 2)
INV = MatrixFunction("inv", 1)
DET = MatrixFunction("det", 1)
SLOGDET = MatrixFunction("slogdet", 1, constant=1, is_finite=False)
CHOLESKY = MatrixFunction("cholesky", 1, reads_all=False)
EIGH = MatrixFunction("eigh", 1, reads_all=False)
EIGVALSH = MatrixFunction("eigvalsh", 1, reads_all=False)
SVD = MatrixFunction("svd", 1, reads_all=False, plain="np.linalg.{}({}, False)")
QR = MatrixFunction("qr", 1, reads_all=False)
PINV = MatrixFunction("pinv", 1)
LSTSQ = MatrixFunction("lstsq", 2, reads_all=False, plain="")
NORM = MatrixFunction("norm", 1, reads_all=False)
MATRIX_FUNCTIONS = (SOLVE, INV, DET, SLOGDET, CHOLESKY, EIGH, EIGVALSH, SVD, QR, PINV, LSTSQ, NORM)
KERNELS = tuple(f"{way}_{f.name}" for f in MATRIX_FUNCTIONS for way in ("forward", "reverse"))
