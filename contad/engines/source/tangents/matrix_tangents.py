"""The tangents of functions of matrices, written into a program: the formulas, read as a user's function is."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

from contad.engines.source.ir import known_matrix_functions as known
from contad.engines.source.ir.single_assignment import Kind, MatrixCall, SourceProgram, Value, View
from contad.engines.source.ir.walks import leaves
from contad.engines.source.reading.frontend import read
from contad.engines.source.tangents import matrix_formulas as formulas
from contad.engines.source.tangents.appending import Appender
from contad.functions.python_copy import Flags

_FORMULAS: dict[known.MatrixFunction, Callable[..., Any]] = {
    known.SOLVE: formulas.solve, known.INV: formulas.inv, known.SLOGDET: formulas.slogdet,
    known.DET: formulas.det, known.COFACTORS: formulas.cofactors, known.CHOLESKY: formulas.cholesky,
    known.EIGH: formulas.eigh, known.EIGVALSH: formulas.eigvalsh, known.EIG: formulas.eig,
    known.EIGH_ALONG: formulas.eigh_along_again, known.SVD_ALONG: formulas.svd_along_again,
    known.EIGVALS: formulas.eig, known.SVD: formulas.svd,
    known.QR: formulas.qr, known.PINV: formulas.pinv, known.NORM: formulas.norm, known.EXPM: formulas.expm_of_block,
    known.CHO_FACTOR: formulas.cho_factor, known.CHO_SOLVE: formulas.cho_solve_of_factor,
    known.LOGSUMEXP: formulas.logsumexp_of_all, known.SOFTMAX: formulas.softmax_of_all,
}  # fmt: skip
# by the constant that is read at this place
_BY_OPTION: dict[known.MatrixFunction, tuple[int, tuple[Callable[..., Any], ...]]] = {
    known.SOLVE_TRIANGULAR: (2, (formulas.solve_triangular_as_it_is, formulas.solve_triangular_transposed)),
    known.LOGSUMEXP_ALONG: (1, (formulas.logsumexp_down, formulas.logsumexp_across)),
    known.SOFTMAX_ALONG: (1, (formulas.softmax_down, formulas.softmax_across)),
}
# by whether the second operand is a matrix
_BY_COLUMNS: dict[known.MatrixFunction, tuple[Callable[..., Any], ...]] = {
    known.LSTSQ: (formulas.lstsq_of_vector, formulas.lstsq_of_columns),
    known.SOLVE_BANDED: (formulas.solve_banded_of_vector, formulas.solve_banded_of_columns),
}
# where the tangents are differentiated again
_AGAIN: dict[known.MatrixFunction, Callable[..., Any]] = {
    known.EIGH: formulas.eigh_again, known.EIGVALSH: formulas.eigvalsh_again, known.EIG: formulas.eig_again,
    known.EIGVALS: formulas.eig_again, known.SVD: formulas.svd_again, known.NORM: formulas.norm_on_line,
}  # fmt: skip
_WITH_RCOND = (known.PINV, known.LSTSQ)
_ROUNDING = 1e-14  # singular values that are left out below this next to the largest one change no tangent
TABLES = (_FORMULAS, _BY_OPTION, _BY_COLUMNS)


class MatrixTangents:
    """Writes the formulas into a program."""

    def __init__(self, append: Appender, is_reversed: bool, in_lanes: bool) -> None:
        self.append = append
        self.in_lanes = in_lanes  # whether no tangent decides anything
        self.is_reversed = is_reversed  # whether the tangents are differentiated again
        self.is_called = False  # whether the program is that of a callee, in which products are loops

    def tangents(self, o: MatrixCall, dots: Mapping[Value, Value]) -> list[Value]:
        """The tangents of what a call computes that may have one, from those of its operands."""
        given = [*map(self._copy_view, o.read), *o.filled, *o.results]
        found = [dots[x] if x in dots else self.append.zeros(self.append.shape_of(x)) for x in o.operands]
        given += map(self._copy_view, found)
        if o.function in _WITH_RCOND:  # which follows the operands
            rcond, a_dot = o.read[o.function.operands], given[len(o.inputs) + len(o.results)]
            if rcond.constant is not None and rcond.constant <= _ROUNDING:
                given.append(a_dot)
            else:
                given += self._write(formulas.along_kept, [given[0], rcond, a_dot])
        again = _AGAIN.get(o.function) if self.is_reversed else None
        if again is formulas.norm_on_line and self.in_lanes:
            again = formulas.norm_in_lanes
        return self._write(again or _formula(o), given)

    def _copy_view(self, x: Value) -> Value:
        """An array in memory of its own, of which Numba computes fast products; of a slice a copy."""
        if not (x.is_array and isinstance(x.operation, View)):
            return x
        made = self.append.zeros(self.append.shape_of(x))
        self.append.copy_into(made, x)
        return made

    def _write(self, formula: Callable[..., Any], given: list[Value]) -> list[Value]:
        """What a formula computes, in the program."""
        program = _program(formula, tuple(x.kind for x in given))
        new = dict(zip(leaves(tuple(program.parameters)), given, strict=True))
        self.append.append_copies(program.block.operations, new, self.is_called)
        return [new.get(x, x) for x in leaves(program.returned)]


def _formula(o: MatrixCall) -> Callable[..., Any]:
    if o.function in _BY_OPTION:
        place, choices = _BY_OPTION[o.function]
        option = o.read[place].constant
        if option is not None:
            return choices[bool(option)]
    if o.function in _BY_COLUMNS:
        return _BY_COLUMNS[o.function][o.read[1].kind.ndim - 1]
    return _FORMULAS[o.function]


@functools.cache
def _program(formula: Callable[..., Any], kinds: tuple[Kind, ...]) -> SourceProgram:
    """A formula as a program, to be copied."""
    return read(formula, kinds, Flags(error_model="numpy"))
