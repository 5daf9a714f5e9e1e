"""The table of matrix functions that generated code computes by kernels."""

from typing import NamedTuple

from contad.kernels.rows.row_calls import ROW_CALLS


class MatrixFunction(NamedTuple):
    """A function of matrices: `forward_...` and `reverse_...` of a module of `runtime` compute it."""

    name: str  # in np.linalg, scipy.linalg or contad
    operands: int  # how many operands may have a derivative; numbers without one follow them
    constant: int = 0  # how many of the first numbers that it computes have no derivative
    reads_all: bool = True  # whether a result with a cotangent depends on every element of the operands
    is_finite: bool = True  # whether finite operands give finite results
    lanes: str = ""  # which operands may have lanes: "right", the second operand of a solver; "all"; "" for none
    plain: tuple[bool, ...] | None = ()  # NumPy's last arguments, where no derivative is wanted; None: call the kernel
    module: str = "row_kernels"


_OF_ROWS = [
    MatrixFunction(name, sum(map(bool, (x.shape for x in call.row.operands))), *call[-5:])
    for name, call in ROW_CALLS.items()
]
# the tangents read w and v
EIGH_ALONG = MatrixFunction("eigh_along", 2, reads_all=False, lanes="all", plain=None, module="matrix_kernels")
SVD_ALONG = MatrixFunction("svd_along", 2, reads_all=False, lanes="all", plain=None, module="matrix_kernels")
NORM = MatrixFunction("norm", 1, reads_all=False, module="matrix_kernels")
LOGSUMEXP = MatrixFunction("logsumexp", 1, reads_all=False, is_finite=False, plain=None, module="line_kernels")
SOFTMAX = MatrixFunction("softmax", 1, reads_all=False, plain=None, module="line_kernels")
LOGSUMEXP_ALONG = MatrixFunction(
    "logsumexp_along", 1, reads_all=False, is_finite=False, plain=None, module="line_kernels"
)
SOFTMAX_ALONG = MatrixFunction("softmax_along", 1, reads_all=False, plain=None, module="line_kernels")
FUNCTIONS = {f.name: f for f in (
    *_OF_ROWS, EIGH_ALONG, SVD_ALONG, NORM, LOGSUMEXP, SOFTMAX, LOGSUMEXP_ALONG, SOFTMAX_ALONG,
)}  # fmt: skip


def _kernels(f: MatrixFunction) -> list[str]:
    ways = [(f"{way}_", f"{way}_lanes_") for way in ("forward", "reverse")]
    return [f"{x}{f.name}" for way in ways for x in (way if f.lanes else way[:1])]


KERNELS: dict[str, list[str]] = {}  # by module
for _function in FUNCTIONS.values():
    KERNELS.setdefault(_function.module, []).extend(_kernels(_function))
