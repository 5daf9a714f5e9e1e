"""How the results of an engine's `run` become the result of a derivative, as text."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from numba import types

from contad.errors import NotHolomorphicError, OutputError, UnsupportedError
from contad.front.seeds import (
    Combs,
    DirectionLeaf,
    DirectionPair,
    DirectionTree,
    GivenRows,
    UnitDirections,
    UnitsAndRows,
    indent,
)
from contad.front.taken_arguments import OUT, Argument, TypedCall, overlap_checks, refuse
from contad.numba_functions.array_arguments import describe_needed, describe_tuple
from contad.variables.complex_pair import BOTH_COMPLEX, NO_HESSIAN, NOT_HOLOMORPHIC


def written_gradients(call: TypedCall) -> tuple[list[Argument], list[str], list[str]]:
    """The arrays into which gradients are written, and statements before and after `run`, which writes into arrays.

    Raises TypeError unless there is an array for each gradient, of its number of axes.
    """
    form, what, out = call.form, call.what, call.own
    assert out is not None
    outs, checks, filled = [out], [], []
    if not form.single:
        if not isinstance(out.type, types.BaseTuple) or len(out.type) != len(form.argnums):
            raise TypeError(f"{what}: {describe_tuple(len(form.argnums))}")
        outs = [Argument(t, f"{OUT}[{k}]") for k, t in enumerate(out.type)]
    for k, (n, out) in enumerate(zip(form.argnums, outs, strict=True)):
        x, t = call.given[n], out.type
        if isinstance(getattr(x.type, "dtype", x.type), types.Complex):
            raise UnsupportedError(f"{what}: out takes no gradients by complex arguments, and {x.shown} is {x.type}")
        is_number = isinstance(x.type, types.Number)
        if not (is_number or isinstance(x.type, types.Array)):
            raise TypeError(f"{what}: out takes the gradients of arrays and numbers, and {x.shown} is {x.type}")
        axes = 0 if is_number else x.type.ndim
        fits = isinstance(t, types.Array) and t.dtype == types.float64 and t.ndim == axes
        if not (fits and t.layout == "C" and t.mutable and t.aligned):
            raise TypeError(f"{what}: {out.shown} {describe_needed(axes)}, got {t}")
        if is_number:
            filled.append(f"{out.expression}[()] = grads[{k}]")
        else:
            message = f"{what}: {out.shown} must have the shape of {x.shown}"
            checks += refuse(f"{out.expression}.shape != {x.expression}.shape", message)
    return outs, checks + overlap_checks(call.given, what, outs), filled


# ---- results of loops ------------------------------------------------------------------------------------------------
class LoopResult(ABC):
    """The result of a loop over directions."""

    def __init__(self, result: str, start: Sequence[str]) -> None:
        self.result = result  # its expression
        self.start = list(start)  # statements before the loop
        self.end: list[str] = []  # and after it

    @abstractmethod
    def take(self, along: Sequence[DirectionLeaf]) -> list[str]:
        """The statements that use the results of `run` for directions of some leaves."""


class Matrices(LoopResult):
    """A matrix for each leaf of a tree with rows and each leaf of a tree with columns; for two numbers a number.

    For pairs among these it is complex.
    """

    def __init__(
        self, call: TypedCall, seeds: UnitDirections, came: DirectionTree, held: DirectionTree, by_columns: bool,
        single: tuple[bool, bool],
    ) -> None:  # fmt: skip
        """The results `came` have the structure of `held`; each is a column, or a row.

        `single` says of the tree with rows and of that with columns whether the first part is all.

        Raises OutputError for complex results by complex arguments, unless the call asks for holomorphic derivatives,
        UnsupportedError for second derivatives by complex arguments.
        """
        self.seeds, self.came, self.held, self.by_columns = seeds, came, held, by_columns
        self.call = call
        rows, columns = (held, seeds.tree) if by_columns else (seeds.tree, held)
        if call.form.mode == "hvp" and rows.has_pairs:
            raise UnsupportedError(f"{call.what}: a differentiated argument {NO_HESSIAN}")
        start = [_make_matrix(x, y) for x in rows.leaves for y in columns.leaves]
        super().__init__("", start)
        self.result = rows.text_of(lambda x: columns.text_of(lambda y: self._text(x, y), single[1]), single[0])

    def _text(self, x: Any, y: Any) -> str:
        """The matrix with rows for x and columns for y."""
        u, v = x if isinstance(x, DirectionPair) else (x, None)
        if not isinstance(y, DirectionPair):
            return _reshape(u, y) if v is None else _join(_reshape(u, y), _reshape(v, y), u, y)
        if self.call.form.holomorphic:
            named = [_matrix(u, b) if a is None else _matrix(a, b) for a in (u, v) for b in y]
            if not (u.is_array or y.real.is_array):
                named = [f"np.full((1, 1), {name})" for name in named]
            if v is None:  # a real result may only be a constant
                named[2:] = [f"0.0 * {name}" for name in named[:2]]
            message = f"{self.call.what} {NOT_HOLOMORPHIC}"
            self.end += refuse(f"not is_holomorphic({', '.join(named)})", message, NotHolomorphicError.__name__)
        elif v is not None:
            raise OutputError(f"{self.call.what} {BOTH_COMPLEX}")
        imag = _reshape(u, y.imag) if v is None else _reshape(v, y.real)
        return _join(_reshape(u, y.real), imag, u, y.real)

    def take(self, along: Sequence[DirectionLeaf]) -> list[str]:
        lines = self.seeds.name_rows(self.came)
        for x in along:
            for y, p in zip(self.held.leaves, self.came.leaves, strict=True):
                lines += self.seeds.put(_matrix(y, x) if self.by_columns else _matrix(x, y), x, p, self.by_columns)
        return lines


def _matrix(x: DirectionLeaf, y: DirectionLeaf) -> str:
    """The name of the matrix with rows for x and columns for y."""
    return f"of_{x.name}_{y.name}"


def _join(real: str, imag: str, x: DirectionLeaf, y: DirectionLeaf) -> str:
    """A complex matrix of x and y, or number."""
    return f"{'join_parts' if x.is_array or y.is_array else 'complex'}({real}, {imag})"


def _make_matrix(x: DirectionLeaf, y: DirectionLeaf) -> str:
    return f"{_matrix(x, y)} = {f'np.empty(({x.size}, {y.size}))' if x.is_array or y.is_array else '0.0'}"


def _reshape(x: DirectionLeaf, y: DirectionLeaf) -> str:
    """Their matrix with the axes of x and those of y."""
    axes = [leaf.type.ndim if leaf.is_array else 0 for leaf in (x, y)]
    if axes == [1, 1] or not (x.is_array or y.is_array):
        return _matrix(x, y)
    if axes == [0, 1]:
        return f"{_matrix(x, y)}[0]"
    return f"{_matrix(x, y)}.reshape({' + '.join(leaf.shape for leaf in (x, y) if leaf.is_array)})"


class DiagonalSum(LoopResult):
    """The sum of the diagonal of a matrix."""

    def __init__(self, seeds: UnitDirections, came: DirectionTree) -> None:
        super().__init__("total", ["total = 0.0"])
        self.seeds, self.came = seeds, came
        self.of = dict(zip(seeds.tree.leaves, came.leaves, strict=True))

    def take(self, along: Sequence[DirectionLeaf]) -> list[str]:
        lines = self.seeds.name_rows(self.came)
        return lines + [line for x in along for line in self.seeds.add_diagonal("total", x, self.of[x])]


class FoundRows(LoopResult):
    """Results for rows of matrices, as rows: of one matrix, or `stacked`, of a matrix for each leaf.

    Their number of columns is known after the first call of `run`.
    """

    def __init__(self, seeds: GivenRows, came: DirectionTree, stacked: bool, with_value: bool) -> None:
        self.seeds, self.came = seeds, came
        if stacked:
            self.places = {p: (f"found_{p.name}", "0") for p in came.leaves}
            sizes = {f"found_{p.name}": p.size for p in came.leaves}
            shaped: dict[Any, str] = {p: f"found_{p.name}.reshape((count, ) + {p.shape})" for p in came.leaves}
            shaped |= {p: f"join_parts({shaped[p.real]}, {shaped[p.imag]})" for p in came.pairs()}
            text = came.text_of(shaped.__getitem__, True)
        else:
            self.places = {p: ("found", first) for p, first in came.places.items()}
            sizes, text = {"found": came.size}, "found"
        super().__init__(f"z, {text}" if with_value else text, [f"{found} = np.empty((0, 0))" for found in sizes])
        self.made = [f"{found} = np.empty(({seeds.count}, {size}))" for found, size in sizes.items()]

    def take(self, along: Sequence[DirectionLeaf]) -> list[str]:
        lines = ["if start == 0:", *indent(self.made)] if self.made else []
        for p, (found, first) in self.places.items():
            if p.is_array:
                lines.append(f"give_lanes({found}, {self.seeds.rows(p.expression)}, {first}, start, stop)")
            elif self.seeds.lanes > 1:
                lines.append(f"give_numbers({found}, {p.expression}, {first}, start, stop)")
            else:
                lines.append(f"{found}[start, {first}] = {p.expression}")
        return lines


class CombColumns(LoopResult):
    """The diagonal matrix blocks of a block-diagonal Hessian: the product with a comb has one column of each."""

    def __init__(self, seeds: Combs) -> None:
        self.seeds, size = seeds, seeds.size
        super().__init__("found", [f"found = np.empty((n // {size}, {size}, {size}))"])

    def take(self, along: Sequence[DirectionLeaf]) -> list[str]:
        size = self.seeds.size
        if self.seeds.lanes > 1:
            return ["put_matrix_blocks(found, as_rows(grads[0]), start, stop)"]
        return ["for i in range(n):", f"    found[i // {size}, i % {size}, k] = grads[0][i]"]


class Sum(LoopResult):
    """The sum of all results for one vector."""

    def __init__(self, seeds: UnitsAndRows) -> None:
        super().__init__("total", ["total = np.zeros(n)"])
        self.lanes = seeds.lanes

    def take(self, along: Sequence[DirectionLeaf]) -> list[str]:
        return ["add_sums(total, as_rows(grads[0]))" if self.lanes > 1 else "total += grads[0]"]
