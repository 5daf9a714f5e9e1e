"""Builds kernels of functions along lines from `contad.kernels.rows.row_tables`, as `row_kernels` does from other rows.

A function of all elements takes its operand. A function along an axis of a matrix also takes the axis, and keeps the
axis last.
"""

from typing import Any

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.overloads import add_overload, in_machine_code
from contad.compile.words import array_at
from contad.engines.source.ir.runtime_functions import KERNELS
from contad.engines.source.runtime.kernel_calls import forward_kernel, reverse_kernel
from contad.engines.source.runtime.workspace import grow, kept_matrix
from contad.kernels.matrix_loops import is_zero, write_into
from contad.kernels.rows.row_tables import LINE_ROWS, LineRow

_FORWARD = """
def forward_{name}(a{axis}, z, work, top):
    m, n, k = sizes_of(a{axis_at})
    first, top = top, top + {count}
    work = grow(work, top)
    {kept}
    own_a{result} = flat(a){flat}
    value_kernel({names})
    {write}
    return work, top
"""
_REVERSE = """
def reverse_{name}(z_bar, a_bar, work, top):
    m, n, k = sizes_of(a_bar{axis_kept})
    first = top - ({count})
    {kept}
    if not is_zero(z_bar):
        own_z_bar, own_a_bar = flat(z_bar), flat(a_bar)
        adjoint_kernel({names})
    return first
"""


@in_machine_code
def sizes_of(a, axis=-1.0):  # type: ignore[no-untyped-def]
    """m, n and k for a matrix along an axis, or for all elements."""
    rows, columns = a.shape
    return (1, rows, columns) if axis == 0.0 else (rows, columns, 1) if axis == 1.0 else (1, rows * columns, 1)


def flat(a: Any) -> Any:
    """A 1-dimensional view of a matrix in C order; kernels do not own its memory."""
    return a.reshape(a.size)


@add_overload(flat, jit_options=INTERNAL_OPTIONS)
def _flat(a: Any) -> Any:
    """Avoids NumPy's computation of strides, which takes longer than a small kernel."""
    return lambda a: array_at(a.ctypes.data, a.size)


_KNOWN = {x.__name__: x for x in (flat, sizes_of, grow, kept_matrix, is_zero, write_into)}


def write_kernels(name: str, row: LineRow, has_axis: bool) -> str:
    """The source of the forward and the reverse kernel of a function."""
    is_kept = "z" in row.parameters("adjoint")
    kept = [*row.saved, *[("z", row.size)] * is_kept]
    lines = []
    for i, (x, count) in enumerate(kept):
        at = " + ".join(["first", *(c for _, c in kept[:i])])
        lines.append(f"own_{x} = kept_matrix(work, {at}, 1, {count})[0]")
    words = {
        "name": name, "axis": ", axis" * has_axis, "axis_at": ", axis[0, 0]" * has_axis,
        "axis_kept": ", kept_matrix(work, top - 1, 1, 1)[0, 0]" * has_axis,
        "count": " + ".join([*(count for _, count in kept), *["1"] * has_axis]), "kept": "\n    ".join(lines),
    }  # fmt: skip
    ways = []
    for way, purpose in ((_FORWARD, "value"), (_REVERSE, "adjoint")):
        names = ", ".join(x if x in ("m", "n", "k") else f"own_{x}" for x in row.parameters(purpose))
        result, flat = ("", "") if is_kept else (", own_z", ", flat(z)")
        write = ["write_into(z, own_z.reshape(z.shape))"] * is_kept
        write += ["kept_matrix(work, top - 1, 1, 1)[0, 0] = axis[0, 0]"] * has_axis
        ways.append(way.format(names=names, result=result, flat=flat, write="\n    ".join(write), **words))
    return "".join(ways)


def _make(name: str) -> None:
    """Define the kernels of a function in this module."""
    row, has_axis = LINE_ROWS[name.removesuffix("_along")], name.endswith("_along")
    kernels = {f"{x}_kernel": row.kernel(x) for x in ("value", "adjoint")}
    known: dict[str, Any] = {**_KNOWN, **kernels, "__name__": __name__}
    exec(compile(write_kernels(name, row, has_axis), __file__, "exec"), known)
    numbers = () if row.is_running or has_axis else ("float",)
    written = "" if numbers else "z"
    globals()[f"forward_{name}"] = forward_kernel(written, *numbers)(known[f"forward_{name}"])
    globals()[f"reverse_{name}"] = reverse_kernel(known[f"reverse_{name}"])


for _name in KERNELS[__name__.rpartition(".")[2]]:
    if _name.startswith("forward_"):
        _make(_name.removeprefix("forward_"))
