"""Operations on matrices of variables and of duals: kernels generated from rows, which compute in an array record.

Each row of `contad.kernels.rows` has three kernels: for the values, for the adjoints, and for values and tangents. An
array record holds the elements of all operands, one operand after the other, then those of the results. Sizes are
packed together with the options.
"""

from typing import Any

import numpy as np

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.machine_code import njit
from contad.compile.words import array_at, hold
from contad.engines.tape import tape_array_records
from contad.engines.tape.tape_array_records import address_of_kernel
from contad.engines.tape.variables import DUAL, VARIABLE
from contad.kernels.matrix_loops import clear
from contad.kernels.rows.row_tables import MATRIX_ROWS, PAIR_ROWS, SIZES, MatrixRow, RowPart, find_part, write_size
from contad.kernels.triangular_kernels import height_of_factors

_BITS = 32  # bits of a size; the other bits are an option's
_KNOWN = {
    "np": np, "band_height": height_of_factors, "array_at": array_at, "hold": hold, "clear": clear,
    **{x: vars(tape_array_records)[x] for x in (
        "read_array_record", "sizes_of", "read_elements", "take_adjoints", "write_elements", "place_of_saved",
        "add_to_operand", "push_array_record", "push_duals", "VALUE", "TANGENT",
    )},
}  # fmt: skip
_OPERATION = """
def of_variables(a, b, {given}):
    p = min(m, n)
    return push_array_record(values(), adjoints(), ({sizes}), a, b, {results}, {saved})

def of_duals(a, b, {given}):
    p = min(m, n)
    return push_duals(tangents(), 0, ({sizes}), a, b, {results}, {saved})
"""


# ---- the text of a kernel --------------------------------------------------------------------------------------------
class _RecordKernel:
    """The lines of a row's kernel for one purpose. Saved numbers are in the array record; other arrays share memory."""

    def __init__(self, row: MatrixRow, purpose: str) -> None:
        self.row, self.purpose = row, purpose
        self.lines: list[str] = []
        self.rooms: list[str] = []  # how many numbers each array takes
        self.known: set[str] = set()

    def text(self) -> str:
        """The kernel."""
        if self.purpose == "adjoint":
            self._adjoint()
        else:
            self._value()
        row = self.row
        head = ["_, first, of_z, _ = read_array_record(header, record)",
                "size_m, size_n, size_k, active = sizes_of(header, record)",
                *(f"{x} = size_{x} & {2**_BITS - 1}" for x in SIZES), "p = min(m, n)"]  # fmt: skip
        for x, name in zip(SIZES, row.options, strict=False):
            head.append(f"{name} = size_{x} >> {_BITS}{' != 0' if name in row.flags else ''}")
        head += [f"memory = np.empty({' + '.join(self.rooms)})", "at = memory.ctypes.data"]
        return "\n    ".join([f"def {row.name}_{self.purpose}(header, record):", *head, *self.lines, "hold(memory)\n"])

    def _value(self) -> None:
        """The lines for the values, and for their tangents if these are the purpose."""
        row = self.row
        for part in row.results:
            self._array(part.name, part)
        for purpose in ("factor", "value"):
            self._call(purpose)
        for part in row.results:
            self.lines.append(f"write_elements(header, {_place('of_z', row.results, part)}, {part.name}, VALUE)")
        if self.purpose == "value":
            return
        for part in row.results:  # constants have tangent 0
            if f"{part.name}_dot" in row.parameters("tangent"):
                self._array(f"{part.name}_dot", part)
            else:
                self.lines.append(f"{part.name}_dot = np.zeros({part.sizes})")
        self._call("tangent")
        for part in row.results:
            self.lines.append(f"write_elements(header, {_place('of_z', row.results, part)}, {part.name}_dot, TANGENT)")

    def _adjoint(self) -> None:
        """The lines for the adjoints of operands that have variables; they leave the adjoints of results zero."""
        row = self.row
        for part in row.results:
            self._array(f"{part.name}_bar", part)
            self.lines.append(f"take_adjoints(header, {_place('of_z', row.results, part)}, {part.name}_bar)")
        asked = [x for x in row.operands if f"{x.name}_bar" in row.parameters("adjoint")]
        for k, part in enumerate(asked):
            self._array(f"{part.name}_bar", part, f"{part.sizes} if active & {2**k} else (0, 0)")
            self.lines.append(f"clear({part.name}_bar)")
        self._call("adjoint")
        for k, part in enumerate(asked):
            place = _place("first", row.operands, part)
            self.lines += [f"if active & {2**k}:", f"    add_to_operand(header, {place}, {part.name}_bar)"]

    def _array(self, name: str, part: RowPart, sizes: str = "") -> None:
        """Define an array in the memory."""
        self.known.add(name)
        self.rooms.append(write_size(part))
        self.lines += [f"{name} = array_at(at, {sizes or part.sizes})", f"at += 8 * ({write_size(part)})"]

    def _call(self, purpose: str) -> None:
        """Call a kernel of the row, if there is one; its arguments are read on demand."""
        row = self.row
        if row.kernel(purpose) is None:
            return
        names = row.parameters(purpose)
        for name in names:
            own, _, kind = name.rpartition("_")
            if name in self.known or name in row.options:
                continue
            if part := find_part(row.saved, name):
                at = f"{_place('of_z', row.results)}, {_place('0', row.saved, part)}"
                self.lines.append(f"{name} = array_at(place_of_saved(header, {at}), {part.sizes})")
                self.known.add(name)
                continue
            what = "TANGENT" if kind == "dot" else "VALUE"
            for parts, first in ((row.operands, "first"), (row.results, "of_z")):
                if part := find_part(parts, own if kind == "dot" else name):
                    self._array(name, part)
                    self.lines.append(f"read_elements(header, {_place(first, parts, part)}, {name}, {what})")
        self.lines.append(f"{purpose}_kernel({', '.join(names)})")


def _place(first: str, parts: tuple[RowPart, ...], part: RowPart | None = None) -> str:
    """The source for the start of a part, or for the end of all parts."""
    before = parts if part is None else parts[: parts.index(part)]
    return " + ".join([first, *map(write_size, before)])


# ---- kernels and operations ------------------------------------------------------------------------------------------
def _kernel(row: MatrixRow, purpose: str) -> Any:
    """The kernel, as a function of this module."""
    kernels = {f"{x}_kernel": row.kernel(x) for x in ("factor", "value", "adjoint", "tangent")}
    known = {**_KNOWN, **kernels, "__name__": __name__}
    exec(compile(_RecordKernel(row, purpose).text(), __file__, "exec"), known)
    made = known[f"{row.name}_{purpose}"]
    globals()[made.__name__] = made
    return made


def _operation(row: MatrixRow) -> dict[Any, Any]:
    """By active type, the njit function (a, b, m, n, k, *options) that returns the results as one vector.

    b holds the elements of all operands after the first one. A row without tangents has no function of duals.
    """
    options = [*row.options, *["0"] * len(SIZES)]
    known = dict(_KNOWN)
    for name, purpose in (("values", "value"), ("adjoints", "adjoint"), ("tangents", "tangent")):
        if row.kernel(purpose) is not None:
            known[name] = address_of_kernel(_kernel(row, purpose))
    text = _OPERATION.format(
        given=", ".join((*SIZES, *row.options)), results=_place("0", row.results), saved=_place("0", row.saved),
        sizes=", ".join(f"{x} + (int({option}) << {_BITS})" for x, option in zip(SIZES, options, strict=False)),
    )  # fmt: skip
    exec(text, known)
    made = {VARIABLE: njit(**INTERNAL_OPTIONS)(known["of_variables"])}
    if "tangents" in known:
        made[DUAL] = njit(**INTERNAL_OPTIONS)(known["of_duals"])
    return made


OPERATIONS = {
    name: _operation(row) for name, row in (MATRIX_ROWS | PAIR_ROWS).items()
    if row.kernel("tangent") is not None or row.module == "complex_rows"
}  # fmt: skip
