"""Builds the forward and the reverse kernel of each matrix function from its row in `contad.kernels.rows`.

    work, top = forward_solve(a, b, z, work, top)
    top = reverse_solve(z_bar, a_bar, b_bar, work, top)

The first fills the new array z, and keeps values that the second pops. The second adds to the adjoints of the operands,
and takes None for an adjoint that is not needed. Matrices with as many columns as the right-hand side are kept last.
"""

import numpy as np

from contad.compile.overloads import in_machine_code
from contad.engines.source.runtime.kernel_calls import forward_kernel, reverse_kernel
from contad.engines.source.runtime.kernels_by_lanes import (
    forward_by_lanes,
    forward_solver,
    reverse_by_lanes,
    reverse_solver,
)
from contad.engines.source.runtime.workspace import grow, kept_matrix
from contad.kernels import matrix_checks
from contad.kernels.matrix_loops import (
    clear,
    is_zero,
    write_column,
    write_into,
)
from contad.kernels.rows.row_calls import ROW_CALLS, RowCall
from contad.kernels.rows.row_tables import SIZES, RowPart, write_size
from contad.kernels.triangular_kernels import height_of_factors

_COMPUTED = {"rank": "int"}  # kinds of computed numbers; others are floats


# ---- called by kernels -----------------------------------------------------------------------------------------------
@in_machine_code
def bar_of(z_bar, rows, columns):  # type: ignore[no-untyped-def]
    """The adjoint of a result; zeros if it is None."""
    return z_bar if z_bar.size != 0 else np.zeros((rows, columns))


# ---- their text ------------------------------------------------------------------------------------------------------
class _KernelTexts:
    """Writes the text of both kernels of a function."""

    def __init__(self, call: RowCall) -> None:
        """List the values kept for the reverse kernel, in order."""
        self.name, self.call, self.row = call.name, call, call.row
        row = self.row
        read = row.parameters("adjoint")
        self.bars, self.asked = ([x for x in parts if f"{x.name}_bar" in read] for parts in (row.results, row.operands))
        self.computed = [x for x in row.results if not x.shape]
        given = call.options
        # matrices that have further columns if the right-hand side has lanes
        kept = [x for x in (*row.operands, *row.results) if x.name in read or not x.shape]
        self.wide = [x for x in kept if call.lanes == "right" and "k" in x.shape]
        # sizes come from the only result or the only operand, which is never None, or are kept
        self.measured = []
        if len(self.bars) == 1 and len(self.bars[0].shape) == 2:
            self.measured = self.bars
        elif len(self.asked) == 1:
            self.measured = self.asked
        known = {x for part in self.measured for x in part.shape}
        used = {x for part in row.operands for x in part.shape}
        self.sizes = [x for x in SIZES if x in used - known]
        self.words = [*self.sizes, *(x for x in given if x in read)]
        words = [RowPart("words", (str(len(self.words)),), False)] if self.words else []
        self.kept = [*row.saved, *(x for x in kept if x not in self.wide), *words, *self.wide]
        self.constants = [f"{x} = {c}" for x, c in zip(row.options, call.constants, strict=False)]
        self.flags = [f"of_{x}" for x in given]
        self.options = [f"{x} = {f'of_{x}[0, 0] != 0.0' if x in row.flags else f'int(of_{x}[0, 0])'}" for x in given]

    def forward(self) -> str:
        """The text of the forward kernel."""
        row, call = self.row, self.call
        filled, names = [x for x in row.results if x.shape], [x.name for x in row.operands]
        taken = [*names, *self.flags, *["check_finite"] * bool(call.finite)]
        taken += [x.name for x in (*filled, *self.computed)]
        right = next((x.name for x in row.operands if "k" in x.shape), names[0])
        lines = [f"(m, n), k, p = {names[0]}.shape, {right}.shape[1], min({names[0]}.shape)"]
        lines += [*self.options, *self.constants]
        if call.finite:
            lines += ["if check_finite[0, 0] != 0.0:", *(f"    require_finite({x})" for x in call.finite)]
        lines += [call.checks] * bool(call.checks)
        lines += [f"first, top = top, top + {self._place()}", "work = grow(work, top)"]
        for x in self.kept:
            lines.append(self._find_kept(x, x.name if x.name == "words" else f"own_{x.name}"))
            lines += [f"write_into(own_{x.name}, {x.name})"] * (x in row.operands)
        for x in (*row.operands, *filled):
            if x not in self.kept:
                lines.append(f"own_{x.name} = {x.name}{f'.reshape({x.shape[0]})' if len(x.shape) == 1 else ''}")
        lines += [self._call(purpose) for purpose in ("factor", "value") if row.kernel(purpose) is not None]
        lines += [f"words[{i}] = {word}" for i, word in enumerate(self.words)]
        for x in row.results:
            way = "write_column" if len(x.shape) == 1 else "write_into"
            lines += [f"{way}({x.name}, own_{x.name})"] * (x in self.kept)
        return self._function("forward", [*taken, "work", "top"], [*lines, "return work, top"])

    def reverse(self) -> str:
        """The text of the reverse kernel."""
        bars, asked = ([f"{x.name}_bar" for x in parts] for parts in (self.bars, self.asked))
        lines = [*self._sizes(), "p = min(m, n)", *self.constants, f"first = top - ({self._place()})"]
        lines += [self._find_kept(x, f"own_{x.name}") for x in self.kept if x.name != "words"]
        inner = []
        for x in self.bars:
            found = f"bar_of({x.name}_bar, {', '.join((*x.shape, '1', '1')[:2])})"
            if len(bars) == 1:  # it is never None
                found = f"{x.name}_bar"
            inner.append(f"own_{x.name}_bar = {found}{f'.reshape({x.shape[0]})' if len(x.shape) == 1 else ''}")
        inner += [*(f"own_{x} = {x}" for x in asked), self._call("adjoint")]
        if self.row.spends:
            inner += [f"clear({x})" for x in bars]  # the kernel has overwritten the adjoint, and nothing reads it later
        lines += [f"if not ({' and '.join(f'is_zero({x})' for x in bars)}):", *(f"    {x}" for x in inner)]
        return self._function("reverse", [*bars, *asked, "work", "top"], [*lines, "return first"])

    def _sizes(self) -> list[str]:
        """Statements for sizes and options, from the shape of an adjoint or from kept values."""
        found = {x: f"{part.name}_bar.shape[{i}]" for part in self.measured for i, x in enumerate(part.shape)}
        lines = [f"{x} = {found[x]}" for x in SIZES if x in found]
        if self.words:
            before = " - ".join(["top", *(f"({write_size(x)})" for x in self.wide), str(len(self.words))])
            lines.append(f"words = kept_matrix(work, {before}, 1, {len(self.words)})[0]")
            lines += [f"{x} = {f'words[{i}] != 0.0' if x in self.row.flags else f'int(words[{i}])'}"
                      for i, x in enumerate(self.words)]  # fmt: skip
        return [*lines, *(f"{x} = n" for x in SIZES if x not in found and x not in self.sizes)]

    def _find_kept(self, part: RowPart, name: str) -> str:
        rows, columns = ("1", *part.shape) if len(part.shape) == 1 else part.shape or ("1", "1")
        row = "[0]" if len(part.shape) == 1 else ""
        return f"{name} = kept_matrix(work, first + {self._place(part)}, {rows}, {columns}){row}"

    def _place(self, part: RowPart | None = None) -> str:
        """The source of the offset of a part, or of the count of all kept numbers."""
        before = self.kept if part is None else self.kept[: self.kept.index(part)]
        return " + ".join(map(write_size, before)) or "0"

    def _call(self, purpose: str) -> str:
        names = self.row.parameters(purpose)
        return f"{purpose}_kernel({', '.join(x if x in self.row.options else f'own_{x}' for x in names)})"

    def _function(self, way: str, names: list[str], lines: list[str]) -> str:
        return "\n    ".join([f"def {way}_{self.name}({', '.join(names)}):", *lines]) + "\n"


# ---- kernels ---------------------------------------------------------------------------------------------------------
_KNOWN = {
    **vars(matrix_checks), "np": np, "band_height": height_of_factors, "grow": grow, "kept_matrix": kept_matrix,
    "clear": clear, "is_zero": is_zero, "write_column": write_column, "write_into": write_into, "bar_of": bar_of,
}  # fmt: skip


def _make(call: RowCall) -> None:
    """Define the kernels of a function in this module."""
    name, row, text, made = call.name, call.row, _KernelTexts(call), globals()
    known = {**_KNOWN, "__name__": __name__, **{f"{x}_kernel": row.kernel(x) for x in ("factor", "value", "adjoint")}}
    for source in (text.forward(), text.reverse()):
        exec(compile(source, __file__, "exec"), known)
    kinds = [_COMPUTED.get(x.name, "float") for x in text.computed]
    filled, spent = " ".join(x.name for x in row.results), " ".join(f"{x.name}_bar" for x in text.bars if row.spends)
    forward = made[f"forward_{name}"] = forward_kernel(filled, *kinds)(known[f"forward_{name}"])
    reverse = made[f"reverse_{name}"] = reverse_kernel(known[f"reverse_{name}"], spent)
    if call.lanes == "right":
        made[f"forward_lanes_{name}"] = forward_solver(forward)
        made[f"reverse_lanes_{name}"] = reverse_solver(reverse, len(text.wide))
    elif call.lanes:
        made[f"forward_lanes_{name}"] = forward_by_lanes(forward)
        made[f"reverse_lanes_{name}"] = reverse_by_lanes(reverse)


for _call in ROW_CALLS.values():
    _make(_call)
