"""Matrix operations of recorded programs: adapters for the kernels in `contad.kernels.rows`, made from the rows.

`contad.kernels.recorded_operands` explains how kernels are called. An adapter finds operands and results among the
cells and brings them into C order, calls the kernel, and writes results back that the cells hold as transposes.
"""

from typing import Any

import numpy as np

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.machine_code import njit
from contad.compile.words import array_at
from contad.kernels import recorded_operands, shape_fields
from contad.kernels.matrix_loops import in_order, turn, write_rows
from contad.kernels.recorded_operands import matrix_at
from contad.kernels.rows.row_tables import ROWS, MatrixRow, RowPart, find_part, write_size
from contad.kernels.shape_fields import KEEPER, KEPT, SAVED, STATUS
from contad.kernels.triangular_kernels import height_of_factors

_SIZES = "m, n, k = shape[M], shape[N], shape[K]", "p = min(m, n)"
_OPTION_FIELDS = "FIRST", "SECOND", "THIRD"
_SOURCES = {"value": "values_at, constants_at, target_at", "adjoint": "values_at, constants_at, adjoints_at",
            "tangent": "values_at, constants_at, dots_at"}  # fmt: skip


# ---- functions that adapters call ------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def saved_at(shape, values_at):  # type: ignore[no-untyped-def]
    """The address of the saved numbers: of the record that keeps the factors, else of this record, which may have
    memory."""
    place = shape[KEPT] if shape[KEPT] != 0 else shape[SAVED]
    return values_at + 8 * place if place >= 0 else -8 * place


@njit(**INTERNAL_OPTIONS)
def is_to_factor(shape, values_at):  # type: ignore[no-untyped-def]
    """Whether this record is the one that keeps the factors; raises if another one has found no factors."""
    keeper = shape[KEEPER]
    if keeper == shape[STATUS]:
        return True
    if shape[KEPT] != 0 and matrix_at(values_at, keeper, 1, 1)[0, 0] != 0.0:
        raise np.linalg.LinAlgError("there are no factors")
    return False


# ---- text of adapters ------------------------------------------------------------------------------------------------
class _Adapter:
    """The lines of one adapter: before the call of the kernel and after it."""

    def __init__(self, row: MatrixRow, purpose: str) -> None:
        self.row, self.purpose = row, purpose
        self.before = ["shape = fields(shape_at)", *_SIZES]
        for field, name in zip(_OPTION_FIELDS, row.options, strict=False):
            self.before.append(f"{name} = shape[{field}]{' != 0' if name in row.flags else ''}")
        self.after: list[str] = []
        self.stacked: set[str] = set()

    def text(self) -> str:
        """The adapter."""
        row, purpose = self.row, self.purpose
        if purpose == "value" and row.kernel("factor") is not None:
            self._factor()
        call = self._call(purpose)
        if purpose == "value" and row.kernel("leave") is not None:
            self.after.insert(0, self._call("leave"))
        head = f"def {row.name}_{purpose}(shape_at, {_SOURCES[purpose]}):"
        return "\n    ".join([head, *self.before, call, *self.after, ""])

    def _call(self, purpose: str) -> str:
        names = self.row.parameters(purpose)
        for name in names:
            self._bind(name)
        return f"{purpose}_kernel({', '.join(names)})"

    def _factor(self) -> None:
        names = self.row.parameters("factor")
        for part in self.row.saved:
            self._bind(part.name)
        (a,) = (x for x in self.row.operands if x.name in names)
        self.before += ["if is_to_factor(shape, values_at):", f"    {self._operand(a)}",
                        f"    factor_kernel({', '.join(names)})"]  # fmt: skip

    def _bind(self, name: str) -> None:
        """Define the argument of a kernel with this name."""
        if any(line.startswith(f"{name} = ") for line in self.before):
            return
        own, _, what = name.rpartition("_")
        row = self.row
        if part := find_part(row.operands, name):
            self.before.append(self._operand(part))
        elif part := find_part(row.saved, name):
            sizes = [write_size(x) for x in row.saved[: row.saved.index(part)]]
            at = f"saved_at(shape, values_at) + 8 * ({' + '.join(sizes) or 0})"
            self.before.append(f"{name} = array_at({at}, {part.sizes})")
        elif part := find_part(row.results, name):
            is_written = self.purpose == "value"
            self._result(part, "", "values_at", is_written)
        elif what == "bar" and (part := find_part(row.results, own)):
            self._result(part, "_bar", "adjoints_at", False)
        elif what == "dot" and (part := find_part(row.results, own)):
            self._result(part, "_dot", "dots_at", True)
        elif part := find_part(row.operands, own):
            field, shape = "AB"[row.operands.index(part)], ", ".join(part.shape)
            if what == "dot":
                self.before.append(f"{name} = tangent(shape, {field}, dots_at, {shape})")
            else:
                self.before.append(f"{name} = adjoint(shape, {field}, adjoints_at, {shape})")
                self.after.append(f"give(shape, {field}, adjoints_at, {name})")

    def _operand(self, part: RowPart) -> str:
        field = "AB"[self.row.operands.index(part)]
        return f"{part.name} = operand(shape, {field}, values_at, constants_at, {', '.join(part.shape)})"

    def _result(self, part: RowPart, kind: str, at: str, is_written: bool) -> None:
        """Define a result, its adjoint or its tangent: all of it, or some rows."""
        parts, name = self.row.results, part.name + kind
        whole = name if len(parts) == 1 else f"stacked{kind}"
        if whole not in self.stacked:
            self.stacked.add(whole)
            size = f"{' + '.join(x.matrix[0] for x in parts)}, {part.matrix[1]}"
            if is_written:
                self.before.append(f"{whole} = room(shape, {at}, {size})")
                self.after.append(f"write_back(shape, {at}, {whole})")
            else:
                found = f"result(shape, {at}, {size})"
                is_spent = self.row.spends and kind == "_bar"
                self.before.append(f"{whole} = {f'in_order({found})' if is_spent else found}")
        if len(parts) == 1:
            return
        first = " + ".join(x.matrix[0] for x in parts[: parts.index(part)]) or "0"
        rows = f"{whole}[{first} : {first} + {part.matrix[0]}]"
        if not part.is_turned:
            self.before.append(f"{name} = {f'{whole}[{first}]' if len(part.shape) == 1 else rows}")
        elif is_written:
            self.before.append(f"{name} = np.empty(({', '.join(part.shape)}))")
            self.after.insert(0, f"write_rows({whole}, {first}, {name}.T)")
        else:
            self.before.append(f"{name} = turn({rows})")


_KNOWN = {
    "np": np, "array_at": array_at, "band_height": height_of_factors, "in_order": in_order, "turn": turn,
    "write_rows": write_rows, "saved_at": saved_at, "is_to_factor": is_to_factor, **vars(shape_fields),
    **{x: vars(recorded_operands)[x] for x in (
        "fields", "operand", "result", "room", "write_back", "adjoint", "give", "tangent",
    )},
}  # fmt: skip


def write_adapter(row: MatrixRow, purpose: str) -> str:
    """The source of the adapter of a row for one purpose."""
    return _Adapter(row, purpose).text()


def _make(row: MatrixRow, purpose: str) -> Any:
    """The adapter, as a function of this module."""
    known = {**_KNOWN, **{f"{x}_kernel": row.kernel(x) for x in ("factor", "leave", purpose)}, "__name__": __name__}
    exec(compile(write_adapter(row, purpose), __file__, "exec"), known)
    made = known[f"{row.name}_{purpose}"]
    globals()[made.__name__] = made
    return made


KERNELS = {name: tuple(_make(row, purpose) for purpose in _SOURCES) for name, row in ROWS.items()}
