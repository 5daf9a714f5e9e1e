"""Calls of np.linalg, contad.scipy.linalg and contad. What these functions fill is made before them."""

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from contad.engines.source.ir import known_functions, known_matrix_functions as known
from contad.engines.source.ir.entries import Object, constant, is_array, is_number
from contad.engines.source.ir.refusal import limit
from contad.engines.source.ir.single_assignment import FLOAT, INT, Check, MatrixCall, Value
from contad.engines.source.ir.walks import like
from contad.engines.source.reading.call_reader import CallReader
from contad.engines.source.reading.rule_calls import read_rule
from contad.native.spectral_kernels import eigh_along, svd_along
from contad.ops.determinants import singular_cofactors
from contad.ops.log_sums import logsumexp, softmax
from contad.ops.logic import stop_gradient
from contad.scipy import linalg

_FULL = limit(
    "np.linalg.svd: full_matrices of a matrix that is not square has vectors without a derivative; "
    "pass full_matrices=False"
)


class _MatrixReader:
    """One call on its way into the program."""

    def __init__(self, calls: CallReader, node: ast.Call) -> None:
        self.calls, self.node, self.builder = calls, node, calls.builder
        self.shape, self.room_for = calls.arrays.shape, calls.expressions.merging.fresh.room_for

    def refuse(self) -> Any:
        self.calls.progress.refuse(self.node, f"the call {ast.unparse(self.node)!r}")

    def operand(self, entry: Any, *ndims: int) -> Value:
        """An operand as an array, of so many axes."""
        if not is_array(entry) or entry.kind.base != "float" or entry.kind.small or entry.kind.ndim not in ndims:
            self.refuse()
        return self.calls.arrays.compute(entry)

    def shorter(self, a: Value) -> Value:
        """The length of the shorter side."""
        m, n = self.shape(a)
        less = self.builder.apply(known_functions.COMPARISONS["Lt"], m, n)
        found: Value = self.builder.apply(known_functions.SELECT, less, m, n)
        return found

    def new(self, *shape: Value, hint: str = "") -> Value:
        """An array to be filled."""
        return self.builder.create("empty", list(shape), "float", hint)

    def compute(
        self, function: known.MatrixFunction, read: list[Value], filled: list[Value], numbers: tuple[Any, ...] = ()
    ) -> list[Value]:
        """Add the operation; the numbers that it computes."""
        results = [Value(kind) for kind in numbers]
        self.builder.add(MatrixCall(function, read, filled, results))
        return results

    def compute_like(self, x: Value, function: known.MatrixFunction, read: list[Value], hint: str) -> Value:
        """Add the operation whose only result has the shape of x."""
        z = self.room_for(x, hint)
        self.compute(function, read, [z])
        return z


def _reader(names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Read the arguments `names` of a call, and hand them on with the call."""

    def declare(read: Callable[..., Any]) -> Callable[..., Any]:
        def take(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
            given = calls.take(names, arguments, keywords, node)
            return read(_MatrixReader(calls, node), *given)

        return take

    return declare


@_reader("a b")
def _solve(call: _MatrixReader, a: Any, b: Any) -> Any:
    a, b = call.operand(a, 2), call.operand(b, 1, 2)
    return call.compute_like(b, known.SOLVE, [a, b], "solution")


@_reader("a")
def _inv(call: _MatrixReader, a: Any) -> Any:
    return _add_inverse(call, call.operand(a, 2))


def _add_inverse(call: _MatrixReader, a: Value) -> Value:
    return call.compute_like(a, known.INV, [a], "inverse")


@_reader("a")
def _cholesky(call: _MatrixReader, a: Any) -> Any:
    a = call.operand(a, 2)
    return call.compute_like(a, known.CHOLESKY, [a], "factor")


@_reader("a")
def _det(call: _MatrixReader, a: Any) -> Any:
    return call.compute(known.DET, [call.operand(a, 2)], [], (FLOAT,))[0]


@_reader("a")
def _cofactors(call: _MatrixReader, a: Any) -> Any:
    a = call.operand(a, 2)
    return call.compute_like(a, known.COFACTORS, [a], "cofactors")


@_reader("a")
def _slogdet(call: _MatrixReader, a: Any) -> Any:
    return tuple(call.compute(known.SLOGDET, [call.operand(a, 2)], [], (FLOAT, FLOAT)))


@_reader("a")
def _eigh(call: _MatrixReader, a: Any) -> Any:
    a = call.operand(a, 2)
    n = call.shape(a)[0]
    w, v = call.new(n, hint="w"), call.new(n, n, hint="v")
    call.compute(known.EIGH, [a], [w, v])
    return w, v


@_reader("a a_dot w v again")
def _eigh_along(call: _MatrixReader, a: Any, a_dot: Any, w: Any, v: Any, again: Any) -> Any:
    read = [call.operand(a, 2), call.operand(a_dot, 2), call.operand(w, 1), call.operand(v, 2), again]
    w_dot, v_dot = call.new(*call.shape(read[2]), hint="w"), call.new(*call.shape(read[3]), hint="v")
    call.compute(known.EIGH_ALONG, read, [w_dot, v_dot])
    return w_dot, v_dot


@_reader("a")
def _eigvalsh(call: _MatrixReader, a: Any) -> Any:
    a = call.operand(a, 2)
    w = call.new(call.shape(a)[0], hint="w")
    call.compute(known.EIGVALSH, [a], [w])
    return w


@_reader("a")
def _eig(call: _MatrixReader, a: Any) -> Any:
    a = call.operand(a, 2)
    n = call.shape(a)[0]
    w, v = call.new(n, hint="w"), call.new(n, n, hint="v")
    call.compute(known.EIG, [a], [w, v])
    return w, v


@_reader("a")
def _eigvals(call: _MatrixReader, a: Any) -> Any:
    """With the vectors, which the derivative takes."""
    a = call.operand(a, 2)
    n = call.shape(a)[0]
    w = call.new(n, hint="w")
    call.compute(known.EIGVALS, [a], [w, call.new(n, n, hint="v")])
    return w


@_reader("a full_matrices")
def _svd(call: _MatrixReader, a: Any, full: Any) -> Any:
    a = call.operand(a, 2)
    if full is not None and not (is_number(full) and full.constant is not None):
        call.refuse()
    if full is None or full.constant:
        if call.calls.is_constant(a):  # whose additional vectors Numba has
            call.refuse()
        call.builder.add(Check(call.builder.apply(known_functions.COMPARISONS["NotEq"], *call.shape(a)), _FULL))
    return _add_svd(call, a)


def _add_svd(call: _MatrixReader, a: Value) -> tuple[Value, Value, Value]:
    """The singular vectors of the shorter side around the singular values."""
    (m, n), k = call.shape(a), call.shorter(a)
    u, s, vt = call.new(m, k, hint="u"), call.new(k, hint="s"), call.new(k, n, hint="vt")
    call.compute(known.SVD, [a], [u, s, vt])
    return u, s, vt


@_reader("a a_dot u s vt again")
def _svd_along(call: _MatrixReader, a: Any, a_dot: Any, u: Any, s: Any, vt: Any, again: Any) -> Any:
    read = [call.operand(x, 2) for x in (a, a_dot, u)] + [call.operand(s, 1), call.operand(vt, 2)]
    found = tuple(call.new(*call.shape(x), hint=hint) for x, hint in zip(read[2:], ("u", "s", "vt"), strict=True))
    call.compute(known.SVD_ALONG, [*read, again], list(found))
    return found


@_reader("a")
def _qr(call: _MatrixReader, a: Any) -> Any:
    a = call.operand(a, 2)
    (m, n), k = call.shape(a), call.shorter(a)
    q, r = call.new(m, k, hint="q"), call.new(k, n, hint="r")
    call.compute(known.QR, [a], [q, r])
    return q, r


def _limit(call: _MatrixReader, rcond: Any, otherwise: float) -> Value:
    """The smallest singular value that counts, next to the largest one."""
    if rcond is None:
        return constant(otherwise)
    return call.calls.as_float(rcond) if is_number(rcond) else call.refuse()


@_reader("a rcond")
def _pinv(call: _MatrixReader, a: Any, rcond: Any) -> Any:
    a = call.operand(a, 2)
    m, n = call.shape(a)
    z = call.new(n, m, hint="inverse")
    call.compute(known.PINV, [a, _limit(call, rcond, 1e-15)], [z])
    return z


@_reader("a b rcond")
def _lstsq(call: _MatrixReader, a: Any, b: Any, rcond: Any) -> Any:
    """The sums of squares are there where the rank is full and there are more equations than unknowns."""
    a, b = call.operand(a, 2), call.operand(b, 1, 2)
    (m, n), k = call.shape(a), [*call.shape(b), constant(1)][1]
    x = call.new(*[n, k][: b.kind.ndim], hint="x")
    squares, s = call.new(k, hint="squares"), call.new(call.shorter(a), hint="s")
    (rank,) = call.compute(known.LSTSQ, [a, b, _limit(call, rcond, -1.0)], [x, squares, s], (INT,))
    apply, compare = call.builder.apply, known_functions.COMPARISONS
    some = apply(known_functions.AND, apply(compare["Eq"], rank, n), apply(compare["Lt"], n, m))
    count = apply(known_functions.SELECT, some, k, constant(0))
    return x, call.builder.view(squares, [(None, count, None)]), rank, s


# ---- norms and powers ------------------------------------------------------------------------------------------------
@_reader("x ord")
def _norm(call: _MatrixReader, x: Any, ord: Any) -> Any:
    """The norm of a constant order, which is the root of the sum of squares where none is given."""
    x = call.operand(x, 1, 2)
    if ord is None or (isinstance(ord, Object) and ord.value is None):
        return call.compute(known.NORM, [x], [], (FLOAT,))[0]
    order: Any = ord.value if isinstance(ord, Object) else ord.constant if is_number(ord) else None
    if not isinstance(order, (int, float)) or order != order:
        call.refuse()
    return (_norm_of_vector if x.kind.ndim == 1 else _norm_of_matrix)(call, x, order)


def _norm_of_vector(call: _MatrixReader, x: Value, order: float) -> Any:
    """The norm of a vector in loops over its elements; of order 0 how many are not zero."""
    arrays, size = call.calls.arrays, call.builder.apply(known_functions.ABSOLUTE, x)
    if order == 2:
        return call.compute(known.NORM, [x], [], (FLOAT,))[0]
    if math.isinf(order):
        return arrays.extreme(size, ">" if order > 0 else "<", takes_nan=False)  # as Numba
    if order in (0, 1):
        apply = call.builder.apply
        some = apply(known_functions.COMPARISONS["NotEq"], x, constant(0.0))
        some = apply(known_functions.SELECT, some, constant(1.0), constant(0.0))
        return arrays.total(size if order else some)
    total = arrays.total(arrays.power(size, constant(order)))
    return arrays.power(total, constant(1.0 / order))


def _norm_of_matrix(call: _MatrixReader, x: Value, order: float) -> Any:
    """The largest or smallest sum of a column or row, or singular value, which is flat where it is 0, a kink."""
    arrays, builder = call.calls.arrays, call.builder
    if abs(order) == 2:
        _, s, _ = _add_svd(call, x)
        last = builder.apply(known_functions.SUBTRACT, builder.length(s, 0), constant(1))
        return builder.apply(known_functions.ABSOLUTE, builder.load(s, [constant(0) if order > 0 else last]))
    if abs(order) != 1 and not math.isinf(order):
        call.refuse()
    axis = constant(0 if abs(order) == 1 else 1)
    sums = arrays.along(builder.apply(known_functions.ABSOLUTE, x), axis, lambda a, line: a.total(line), call.node)
    return arrays.extreme(sums, ">" if order > 0 else "<", takes_nan=False)


@_reader("x p")
def _cond(call: _MatrixReader, x: Any, p: Any) -> Any:
    """The condition number of a constant order, as Numba has it: inf in the place of nan."""
    x, builder = call.operand(x, 2), call.builder
    order: Any = p.value if isinstance(p, Object) else None if p is None else p.constant if is_number(p) else "?"
    if order is None or order in (2, -2):
        _, s, _ = _add_svd(call, x)
        last = builder.apply(known_functions.SUBTRACT, builder.length(s, 0), constant(1))
        most, least = builder.load(s, [constant(0)]), builder.load(s, [last])
        quotient = builder.apply(known_functions.DIVIDE, *((least, most) if order == -2 else (most, least)))
    elif order in (1, -1) or (isinstance(order, float) and math.isinf(order)):
        norm, of_inverse = (_norm_of_matrix(call, a, order) for a in (x, _add_inverse(call, x)))
        quotient = builder.apply(known_functions.MULTIPLY, norm, of_inverse)
    else:
        call.refuse()
    is_nan = builder.apply(known_functions.COMPARISONS["NotEq"], quotient, quotient)
    return builder.apply(known_functions.SELECT, is_nan, constant(math.inf), quotient)


@_reader("a n")
def _matrix_power(call: _MatrixReader, a: Any, n: Any) -> Any:
    """A power by a constant, by repeated squaring in Numba's order."""
    a = call.operand(a, 2)
    if not is_number(n) or n.kind != INT or n.constant is None:
        call.refuse()
    arrays, rest = call.calls.arrays, abs(n.constant)
    arrays.require_equal(*call.shape(a))
    if rest == 0:
        made = call.builder.create("zeros", call.shape(a), "float")
        arrays.over(call.shape(a)[:1], lambda at: arrays.put(made, [at[0], at[0]], constant(1.0)))
        return made
    factor = _add_inverse(call, a) if n.constant < 0 else a
    if rest == 1:
        return arrays.copy_elements(factor)
    if rest == 3:
        return arrays.product(arrays.product(factor, factor, call.node), factor, call.node)
    found = None
    while rest:
        if rest & 1:
            found = factor if found is None else arrays.product(found, factor, call.node)
        rest >>= 1
        if rest:
            factor = arrays.product(factor, factor, call.node)
    return found


# ---- contad.scipy.linalg ---------------------------------------------------------------------------------------------
def _flag(call: _MatrixReader, given: Any, otherwise: bool) -> Value:
    """An option that is True or False."""
    if given is None:
        return constant(otherwise)
    return given if is_number(given) else call.refuse()


@_reader("a b trans lower unit_diagonal overwrite_b check_finite")
def _solve_triangular(
    call: _MatrixReader, a: Any, b: Any, trans: Any, lower: Any, unit: Any, _: Any, finite: Any
) -> Any:
    """The solution; `trans` is a constant."""
    a, b = call.operand(a, 2), call.operand(b, 1, 2)
    if isinstance(trans, Object) and trans.value in ("N", "T", "C"):
        trans = constant(trans.value != "N")
    elif trans is not None and not (is_number(trans) and trans.constant in (0, 1, 2)):
        call.refuse()
    flags = [_flag(call, x, default) for x, default in ((trans, False), (lower, False), (unit, False), (finite, True))]
    return call.compute_like(b, known.SOLVE_TRIANGULAR, [a, b, *flags], "solution")


@_reader("a lower overwrite_a check_finite")
def _cho_factor(call: _MatrixReader, a: Any, lower: Any, _: Any, finite: Any) -> Any:
    a, lower = call.operand(a, 2), _flag(call, lower, False)
    return call.compute_like(a, known.CHO_FACTOR, [a, lower, _flag(call, finite, True)], "factor"), lower


@_reader("c_and_lower b overwrite_b check_finite")
def _cho_solve(call: _MatrixReader, factor: Any, b: Any, _: Any, finite: Any) -> Any:
    if not (isinstance(factor, tuple) and len(factor) == 2):
        call.refuse()
    c, b = call.operand(factor[0], 2), call.operand(b, 1, 2)
    read = [c, b, _flag(call, factor[1], False), _flag(call, finite, True)]
    return call.compute_like(b, known.CHO_SOLVE, read, "solution")


@_reader("l_and_u ab b overwrite_ab overwrite_b check_finite")
def _solve_banded(call: _MatrixReader, bands: Any, ab: Any, b: Any, _: Any, __: Any, finite: Any) -> Any:
    if not (isinstance(bands, tuple) and len(bands) == 2 and all(is_number(x) and x.kind == INT for x in bands)):
        call.refuse()
    ab, b = call.operand(ab, 2), call.operand(b, 1, 2)
    return call.compute_like(b, known.SOLVE_BANDED, [ab, b, *bands, _flag(call, finite, True)], "solution")


@_reader("A")
def _expm(call: _MatrixReader, a: Any) -> Any:
    a = call.operand(a, 2)
    return call.compute_like(a, known.EXPM, [a], "exponential")


# ---- contad's own ----------------------------------------------------------------------------------------------------
def _axis_of(call: _MatrixReader, x: Value, axis: Any) -> int | None:
    """The axis of a matrix that a call names as a number, counted from the first; None for all elements."""
    if axis is None or (isinstance(axis, Object) and axis.value is None):
        return None
    ndim = x.kind.ndim
    if not (is_number(axis) and axis.kind == INT and axis.constant is not None and -ndim <= axis.constant < ndim):
        call.refuse()
    return int(axis.constant) % ndim if ndim == 2 else None


@_reader("a axis b")
def _logsumexp(call: _MatrixReader, a: Any, axis: Any, b: Any) -> Any:
    if b is not None and not (isinstance(b, Object) and b.value is None):
        return read_rule(call.calls, logsumexp, [a, Object(None) if axis is None else axis, b], {}, call.node)
    a = call.operand(a, 1, 2)
    along = _axis_of(call, a, axis)
    if along is None:
        return call.compute(known.LOGSUMEXP, [a], [], (FLOAT,))[0]
    z = call.new(call.shape(a)[1 - along], hint="sums")
    call.compute(known.LOGSUMEXP_ALONG, [a, constant(along)], [z])
    return z


@_reader("x axis")
def _softmax(call: _MatrixReader, x: Any, axis: Any) -> Any:
    x = call.operand(x, 1, 2)
    along = _axis_of(call, x, axis)
    if along is None:
        return call.compute_like(x, known.SOFTMAX, [x], "softmax")
    return call.compute_like(x, known.SOFTMAX_ALONG, [x, constant(along)], "softmax")


@_reader("x")
def _stop_gradient(call: _MatrixReader, x: Any) -> Any:
    """The value, of an array a copy, to which no derivative passes."""
    return _stop(call, x)


def _stop(call: _MatrixReader, x: Any) -> Any:
    if isinstance(x, tuple):
        return like(x, (_stop(call, part) for part in x))
    if not is_number(x) and not is_array(x):
        call.refuse()
    if x.kind.base != "float":
        return x if is_number(x) else call.calls.arrays.copy_elements(x)
    found = call.builder.apply(known_functions.CONSTANT, x)
    return found if is_number(x) else call.calls.arrays.compute(found)


MATRIX_CALLS: dict[Any, Callable[..., Any]] = {
    np.linalg.solve: _solve, np.linalg.inv: _inv, np.linalg.det: _det,
    np.linalg.slogdet: _slogdet, np.linalg.cholesky: _cholesky, np.linalg.eigh: _eigh,
    np.linalg.eigvalsh: _eigvalsh, np.linalg.eig: _eig, np.linalg.eigvals: _eigvals,
    np.linalg.svd: _svd, np.linalg.qr: _qr, np.linalg.pinv: _pinv,
    np.linalg.lstsq: _lstsq, np.linalg.norm: _norm, np.linalg.cond: _cond, np.linalg.matrix_power: _matrix_power,
    singular_cofactors: _cofactors, eigh_along: _eigh_along, svd_along: _svd_along,
    linalg.solve_triangular: _solve_triangular, linalg.cho_factor: _cho_factor, linalg.cho_solve: _cho_solve,
    linalg.solve_banded: _solve_banded, linalg.expm: _expm,
    logsumexp: _logsumexp, softmax: _softmax, stop_gradient: _stop_gradient,
}  # fmt: skip
