"""Reads calls of np.linalg, contad.scipy.linalg and contad. The arrays that they fill are created before the call."""

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from contad.engines.source.ir import known_functions, runtime_functions as known
from contad.engines.source.ir.entries import Object, constant, is_array, is_number
from contad.engines.source.ir.known_functions import ABSOLUTE, COMPARISONS, SELECT, SUBTRACT
from contad.engines.source.ir.ssa import FLOAT, INT, Check, MatrixCall, Value, limit
from contad.engines.source.ir.walks import like
from contad.engines.source.reading import short_lines
from contad.engines.source.reading.call_site import CallSite, is_none, reads
from contad.engines.source.reading.rule_calls import read_rule
from contad.kernels.rows.row_calls import MEANINGS, ROW_CALLS, RowCall
from contad.kernels.rows.row_tables import RowPart
from contad.kernels.spectral_kernels import eigh_along, svd_along
from contad.ops.log_sums import logsumexp, softmax
from contad.ops.logic import stop_gradient

_FULL = limit(
    "np.linalg.svd: full_matrices of a matrix that is not square has vectors without a derivative; "
    "pass full_matrices=False"
)


class _MatrixReader:
    """Reads one call."""

    def __init__(self, site: CallSite) -> None:
        self.site, self.arrays, self.builder, self.apply = site, site.arrays, site.builder, site.apply
        self.shape, self.room_for = site.arrays.shape, site.reader.merging.fresh.room_for

    def refuse(self) -> NoReturn:
        self.site.refuse("the call {node}")

    def operand(self, entry: Any, *ndims: int) -> Value:
        """An operand as an array with one of these numbers of axes."""
        if not is_array(entry) or entry.kind.base != "float" or entry.kind.ndim not in ndims:
            self.refuse()
        return self.arrays.as_wide(entry)

    def shorter(self, a: Value) -> Value:
        """The length of the shorter side."""
        m, n = self.shape(a)
        less = self.apply(COMPARISONS["Lt"], m, n)
        found: Value = self.apply(SELECT, less, m, n)
        return found

    def new(self, *shape: Value, hint: str = "") -> Value:
        """A new array for a function to fill."""
        return self.builder.create("empty", list(shape), "float", hint)

    def compute(
        self, function: known.MatrixFunction, read: list[Value], filled: list[Value], numbers: tuple[Any, ...] = ()
    ) -> list[Value]:
        """Add the operation; returns the numbers that it computes."""
        results = [Value(kind) for kind in numbers]
        self.builder.add(MatrixCall(function, read, filled, results))
        return results

    def compute_like(self, x: Value, function: known.MatrixFunction, read: list[Value], hint: str) -> Value:
        """Add an operation whose only result has the shape of x."""
        z = self.room_for(x, hint)
        self.compute(function, read, [z])
        return z

    def compute_row(self, call: RowCall, operands: list[Value], options: dict[str, Value] | None = None) -> Any:
        """Add the operation of a row, and return the results of the function."""
        row, given = call.row, options or {}
        made = {x.name: self._room(call, x, operands, given) for x in row.results if x.shape}
        numbers = [x.name for x in row.results if not x.shape]
        read = [*operands, *given.values()]
        found = self.compute(known.FUNCTIONS[call.name], read, [*made.values()], (FLOAT,) * len(numbers))
        made |= zip(numbers, found, strict=True)
        returned = [given[x] if isinstance(x, str) else made[x.name] for x in call.results()]
        return tuple(returned) if len(returned) > 1 else returned[0]

    def _room(self, call: RowCall, part: RowPart, operands: list[Value], options: dict[str, Value]) -> Value:
        """A new array for a part of the result; if it is the only part, it may have the shape of an operand."""
        row, a, is_only = call.row, operands[0], len(call.row.results) == 1
        hint = call.returned[0] if is_only else part.name
        for x, operand in zip(row.operands, operands, strict=True):
            if is_only and x.shape == part.shape:
                return self.room_for(operand, hint)
        sizes = dict(reversed([*zip(row.operands[0].shape, self.shape(a), strict=True)]))  # n is the rows of a square a
        sizes |= options
        return self.new(*(self.shorter(a) if x == "p" else sizes[x] for x in part.shape), hint=hint)

    def number(self, given: Any, otherwise: float) -> Value:
        """An operand that is a number."""
        if given is None:
            return constant(otherwise)
        return self.builder.as_float(given) if is_number(given) else self.refuse()

    def option(self, name: str, given: Any, is_flag: bool) -> Value:
        """A count or a flag; SciPy's `trans` is a constant."""
        if given is None:
            return constant(name == "check_finite")
        if name == "transposed" and isinstance(given, Object) and given.value in ("N", "T", "C"):
            return constant(given.value != "N")
        if not is_number(given) or (name == "transposed" and given.constant not in (0, 1, 2)):
            self.refuse()
        return given if is_flag or given.kind == INT else self.refuse()


def _reads(names: str, *functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`reads` for functions of matrices."""

    def declare(read: Callable[..., Any]) -> Callable[..., Any]:
        reads(names, *functions)(lambda site, *given: read(_MatrixReader(site), *given))
        return read

    return declare


def _read_row(reader: _MatrixReader, call: RowCall, arguments: tuple[Any, ...]) -> Any:
    """Read a call of a function that a row computes; operands and options have the names in the row."""
    row = call.row
    given: dict[str, Any] = {}
    for name, x in zip(call.parameters, arguments, strict=True):
        meanings = MEANINGS.get(name, (name,))
        parts = [x] if len(meanings) == 1 else x
        if not (isinstance(parts, (list, tuple)) and len(parts) == len(meanings)):
            reader.refuse()
        given |= zip(meanings, parts, strict=True)
    operands = [
        reader.operand(given[x.name], *call.axes(x)) if x.shape
        else reader.number(given[x.name], call.parameters[x.name])
        for x in row.operands
    ]  # fmt: skip
    asked = [*call.options, *["check_finite"] * bool(call.finite)]
    options = {x: reader.option(x, given[x], x in row.flags or x == "check_finite") for x in asked}
    return reader.compute_row(call, operands, options)


for _row in ROW_CALLS.values():
    _reads(" ".join(_row.parameters), _row.function)(lambda reader, *given, row=_row: _read_row(reader, row, given))


@_reads("a a_dot w v again", eigh_along)
def _eigh_along(call: _MatrixReader, a: Any, a_dot: Any, w: Any, v: Any, again: Any) -> Any:
    read = [call.operand(a, 2), call.operand(a_dot, 2), call.operand(w, 1), call.operand(v, 2), again]
    w_dot, v_dot = call.new(*call.shape(read[2]), hint="w"), call.new(*call.shape(read[3]), hint="v")
    call.compute(known.EIGH_ALONG, read, [w_dot, v_dot])
    return w_dot, v_dot


@_reads("a full_matrices", np.linalg.svd)
def _svd(call: _MatrixReader, a: Any, full: Any) -> Any:
    a = call.operand(a, 2)
    if full is not None and not (is_number(full) and full.constant is not None):
        call.refuse()
    if full is None or full.constant:
        if call.arrays.is_constant(a):  # Numba also computes the additional vectors
            call.refuse()
        call.builder.add(Check(call.apply(COMPARISONS["NotEq"], *call.shape(a)), _FULL))
    return call.compute_row(ROW_CALLS["svd"], [a])


@_reads("a a_dot u s vt again", svd_along)
def _svd_along(call: _MatrixReader, a: Any, a_dot: Any, u: Any, s: Any, vt: Any, again: Any) -> Any:
    read = [call.operand(x, 2) for x in (a, a_dot, u)] + [call.operand(s, 1), call.operand(vt, 2)]
    found = tuple(call.new(*call.shape(x), hint=hint) for x, hint in zip(read[2:], ("u", "s", "vt"), strict=True))
    call.compute(known.SVD_ALONG, [*read, again], list(found))
    return found


@_reads("a b rcond", np.linalg.lstsq)
def _lstsq(call: _MatrixReader, a: Any, b: Any, rcond: Any) -> Any:
    """np.linalg.lstsq; sums of squares exist if the rank is full and there are more equations than unknowns."""
    a, b = call.operand(a, 2), call.operand(b, 1, 2)
    (m, n), k = call.shape(a), [*call.shape(b), constant(1)][1]
    x = call.new(*[n, k][: b.kind.ndim], hint="x")
    squares, s = call.new(k, hint="squares"), call.new(call.shorter(a), hint="s")
    (rank,) = call.compute(known.FUNCTIONS["lstsq"], [a, b, call.number(rcond, -1.0)], [x, squares, s], (INT,))
    apply, compare = call.builder.apply, COMPARISONS
    some = apply(known_functions.AND, apply(compare["Eq"], rank, n), apply(compare["Lt"], n, m))
    count = apply(SELECT, some, k, constant(0))
    return x, call.builder.view(squares, [(None, count, None)]), rank, s


# ---- norms and powers ------------------------------------------------------------------------------------------------
@_reads("x ord", np.linalg.norm)
def _norm(call: _MatrixReader, x: Any, ord: Any) -> Any:
    """The norm of a constant order; by default the root of the sum of squares."""
    x = call.operand(x, 1, 2)
    if is_none(ord):
        return call.compute(known.NORM, [x], [], (FLOAT,))[0]
    order: Any = ord.value if isinstance(ord, Object) else ord.constant if is_number(ord) else None
    if not isinstance(order, (int, float)) or order != order:
        call.refuse()
    return (_norm_of_vector if x.kind.ndim == 1 else _norm_of_matrix)(call, x, order)


def _norm_of_vector(call: _MatrixReader, x: Value, order: float) -> Any:
    """The norm of a vector, in loops over its elements; order 0 counts the nonzero ones."""
    arrays, size = call.arrays, call.apply(ABSOLUTE, x)
    if order == 2:
        return call.compute(known.NORM, [x], [], (FLOAT,))[0]
    if math.isinf(order):
        return arrays.extreme(size, ">" if order > 0 else "<", takes_nan=False)  # as in Numba
    if order in (0, 1):
        apply = call.builder.apply
        some = apply(COMPARISONS["NotEq"], x, constant(0.0))
        some = apply(SELECT, some, constant(1.0), constant(0.0))
        return arrays.total(size if order else some)
    total = arrays.total(call.builder.power(size, constant(order)))
    return call.builder.power(total, constant(1.0 / order))


def _norm_of_matrix(call: _MatrixReader, x: Value, order: float) -> Any:
    """The largest or smallest column or row sum, or singular value; where it is 0, a kink, its derivative is 0."""
    arrays = call.arrays
    if abs(order) == 2:
        return call.apply(ABSOLUTE, _extreme_values(call, x)[order < 0])
    if abs(order) != 1 and not math.isinf(order):
        call.refuse()
    axis = constant(0 if abs(order) == 1 else 1)
    sums = arrays.along(call.apply(ABSOLUTE, x), axis, lambda a, line: a.total(line), call.site.node)
    return arrays.extreme(sums, ">" if order > 0 else "<", takes_nan=False)


def _extreme_values(call: _MatrixReader, x: Value) -> tuple[Value, Value]:
    """The largest and the smallest singular value."""
    _, s, _ = call.compute_row(ROW_CALLS["svd"], [x])
    last = call.apply(SUBTRACT, call.builder.length(s, 0), constant(1))
    return call.builder.load(s, [constant(0)]), call.builder.load(s, [last])


@_reads("x p", np.linalg.cond)
def _cond(call: _MatrixReader, x: Any, p: Any) -> Any:
    """The condition number of a constant order; as in Numba, inf instead of nan."""
    x = call.operand(x, 2)
    order: Any = p.value if isinstance(p, Object) else None if p is None else p.constant if is_number(p) else "?"
    if order is None or order in (2, -2):
        most, least = _extreme_values(call, x)
        quotient = call.apply(known_functions.DIVIDE, *((least, most) if order == -2 else (most, least)))
    elif order in (1, -1) or (isinstance(order, float) and math.isinf(order)):
        norm, of_inverse = (_norm_of_matrix(call, a, order) for a in (x, call.compute_row(ROW_CALLS["inv"], [x])))
        quotient = call.apply(known_functions.MULTIPLY, norm, of_inverse)
    else:
        call.refuse()
    is_nan = call.apply(COMPARISONS["NotEq"], quotient, quotient)
    return call.apply(SELECT, is_nan, constant(math.inf), quotient)


@_reads("a n", np.linalg.matrix_power)
def _matrix_power(call: _MatrixReader, a: Any, n: Any) -> Any:
    """A constant power, by repeated squaring in Numba's order."""
    a = call.operand(a, 2)
    if not is_number(n) or n.kind != INT or n.constant is None:
        call.refuse()
    arrays, rest = call.arrays, abs(n.constant)
    arrays.require_equal(*call.shape(a))
    if rest == 0:
        made = call.builder.create("zeros", call.shape(a), "float")
        arrays.over(call.shape(a)[:1], lambda at: arrays.put(made, [at[0], at[0]], constant(1.0)))
        return made
    factor = call.compute_row(ROW_CALLS["inv"], [a]) if n.constant < 0 else a
    if rest == 1:
        return arrays.copy_elements(factor)
    if rest == 3:
        return arrays.product(arrays.product(factor, factor, call.site.node), factor, call.site.node)
    found = None
    while rest:
        if rest & 1:
            found = factor if found is None else arrays.product(found, factor, call.site.node)
        rest >>= 1
        if rest:
            factor = arrays.product(factor, factor, call.site.node)
    return found


# ---- contad's own ----------------------------------------------------------------------------------------------------
def _axis_of(call: _MatrixReader, x: Value, axis: Any) -> int | None:
    """The axis of a matrix that a call names, counted from the first one; None for all elements."""
    if is_none(axis):
        return None
    ndim = x.kind.ndim
    if not (is_number(axis) and axis.kind == INT and axis.constant is not None and -ndim <= axis.constant < ndim):
        call.refuse()
    return int(axis.constant) % ndim if ndim == 2 else None


def _is_short(call: _MatrixReader, a: Value) -> bool:
    """Whether an array is a vector of a loop or of a function that is called, where vectors are mostly short."""
    progress = call.site.progress
    return a.kind.ndim == 1 and (progress.loop_depth > 0 or progress.is_callee)


@_reads("a axis b", logsumexp)
def _logsumexp(call: _MatrixReader, a: Any, axis: Any, b: Any) -> Any:
    """The logarithm of a sum of exponentials; with weights, the parts of the rule compute it."""
    if not is_none(b):
        return read_rule(call.site.with_arguments(a, Object(None) if axis is None else axis, b), logsumexp)
    a = call.operand(a, 1, 2)
    along = _axis_of(call, a, axis)
    if along is None:
        if _is_short(call, a):
            return call.site.inline(short_lines.log_sum_of_line, [a])
        return call.compute(known.LOGSUMEXP, [a], [], (FLOAT,))[0]
    z = call.new(call.shape(a)[1 - along], hint="sums")
    call.compute(known.LOGSUMEXP_ALONG, [a, constant(along)], [z])
    return z


@_reads("x axis", softmax)
def _softmax(call: _MatrixReader, x: Any, axis: Any) -> Any:
    x = call.operand(x, 1, 2)
    along = _axis_of(call, x, axis)
    if along is None:
        if _is_short(call, x):
            return call.site.inline(short_lines.softmax_of_line, [x])
        return call.compute_like(x, known.SOFTMAX, [x], "softmax")
    return call.compute_like(x, known.SOFTMAX_ALONG, [x, constant(along)], "softmax")


@_reads("x", stop_gradient)
def _stop_gradient(call: _MatrixReader, x: Any) -> Any:
    """The value, or a copy of an array, without a derivative."""
    if isinstance(x, tuple):
        return like(x, (_stop_gradient(call, part) for part in x))
    if not is_number(x) and not is_array(x):
        call.refuse()
    if x.kind.base != "float":
        return x if is_number(x) else call.arrays.copy_elements(x)
    found = call.apply(known_functions.CONSTANT, x)
    return found if is_number(x) else call.arrays.compute(found)
