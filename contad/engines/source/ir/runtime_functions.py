"""The functions of contad that derivatives call: the kernels of matrices, and all names by module."""

from typing import NamedTuple

from contad.kernels.rows.row_calls import ROW_CALLS


# ---- kernels of matrices ---------------------------------------------------------------------------------------------
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


# ---- names -----------------------------------------------------------------------------------------------------------
CALLEES = ("forward_of_", "reverse_of_", "value_of_", "share_")  # prefixes of functions that a derivative defines
RUNTIME: dict[str, tuple[str, ...]] = {
    "engines.source.writing.branchless": ("masked_product", "masked_slope", "larger", "select"),
    "engines.source.ir.dependency_graph": ("note",),
    "engines.source.runtime.kept_parts": ("keep_part", "put_part_back", "root_of"),
    "engines.source.runtime.kept_values": tuple(
        f"{way}_{x}" for way in ("keep", "take") for x in ("number", "integer", "array", "integers")
    ),
    "engines.source.runtime.lent_arrays": ("brief_empty", "brief_zeros", "lent_empty", "lent_zeros", "small_zeros"),
    "engines.source.runtime.loop_strips": ("add_parts", "count_strips", "make_parts", "part_of"),
    **{f"engines.source.runtime.{module}": tuple(names) for module, names in KERNELS.items()},
    "engines.source.runtime.workspace": ("grow", "integer", "kept_matrix", "put_integer", "workspace"),
    "errors": ("EngineLimitError", "RuleError", "SingularPointError"),
    "elementary.elementary_table": ("elementary", "elementary_rows"),
    "elementary.rows": ("are_apart", "new_row", "new_single_row", "place"),
    "kernels.complex_arrays": ("join_parts", "parts_of"),
    "kernels.gram_matrices": ("add_gram", "gram"),
    "kernels.lane_products": ("add_lanes_left", "add_lanes_right", "lanes_product"),
    "kernels.lanes": (
        "add_lanes", "copy_lanes", "lane_view", "lanes_at", "lanes_zeros", "put_lanes", "small_lanes_zeros",
    ),
    "compile.emitted_arrays": ("reshape",),
    "compile.emitting": ("add_freely",),
    "compile.linked_code": ("link",),
    "compile.machine_code": ("njit",),
    "kernels.rows.product_rows": ("add_left", "add_right", "put_product"),
    "kernels.recalled_values": ("recall",),
    "compiled_rules.rules": ("value_function",),
    "kernels.single_lanes": ("add_to_lane", "at_lane", "put_in_lane"),
    "memory.threads": ("sharer",),
    "numba_functions.array_arguments": ("fill_with_zeros",),
    "rules.scalar_rule": ("rule",),
}  # fmt: skip
BUILTIN = ("abs", "bool", "complex", "float", "int", "len", "max", "min", "range")
# no user name may become one of these in a derivative
RESERVED = frozenset(("np", "math", "run", "work", "top", "prange", "memory", "marks", "args", "cotangent", *BUILTIN))
RESERVED |= {name for names in RUNTIME.values() for name in names}
