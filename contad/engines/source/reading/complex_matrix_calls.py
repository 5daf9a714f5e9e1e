"""Reads calls of np.linalg, np.kron and np.roots with complex matrices A + i B.

Rows compute determinants and decompositions. Solutions, pseudoinverses and Cholesky factors are parts of those of the
real matrix [[A, -B], [B, A]], of twice as many rows and columns.
"""

from typing import Any

import numpy as np

from contad.engines.source.ir.entries import ArrayOfComplex, Complex, Object, constant, is_number
from contad.engines.source.ir.known_functions import COMPARISONS, FLOOR_DIVIDE, MULTIPLY, OR, SUBTRACT
from contad.engines.source.ir.ssa import INT, NEW_AXIS, Check, Value, limit
from contad.engines.source.reading.builder import WHOLE
from contad.engines.source.reading.call_site import CallSite, is_none
from contad.engines.source.reading.complex_calls import reads_complex, take_complex
from contad.engines.source.reading.complex_numbers import ZERO, has_axes, join
from contad.kernels import complex_matrices as rows

_ENDS = limit("np.roots of coefficients whose first or last one is 0")


def _matrix(site: CallSite, x: Any, *ndims: int) -> Complex:
    """An argument as a complex array with memory, with one of these numbers of axes."""
    numbers, z = site.reader.complex, take_complex(site, x)
    if not has_axes(z):
        site.refuse("{node} of something that is no matrix", "give a matrix")
    z = numbers.copy(z) if any(map(is_number, z)) else numbers.compute(z)
    if z.real.kind.ndim not in (ndims or (2,)):
        site.refuse("{node} of something that is no matrix and no vector", "give arrays")
    return z


# ---- by rows ---------------------------------------------------------------------------------------------------------
@reads_complex("a", np.linalg.det)
def _det(site: CallSite, a: Any) -> Complex:
    return Complex(*site.again(rows.complex_det, *_matrix(site, a)))


@reads_complex("a", np.linalg.slogdet)
def _slogdet(site: CallSite, a: Any) -> Any:
    real, imag, log = site.again(rows.complex_slogdet, *_matrix(site, a))
    return Complex(real, imag), log


@reads_complex("a", np.linalg.eigh, values_alone=False)
@reads_complex("a", np.linalg.eigvalsh, values_alone=True)
def _eigh(site: CallSite, a: Any, values_alone: bool) -> Any:
    w, real, imag = site.again(rows.complex_eigh, *_matrix(site, a))
    return w if values_alone else (w, ArrayOfComplex(real, imag))


@reads_complex("a", np.linalg.eig, values_alone=False)
@reads_complex("a", np.linalg.eigvals, values_alone=True)
def _eig(site: CallSite, a: Any, values_alone: bool) -> Any:
    w_real, w_imag, real, imag = site.again(rows.complex_eig, *_matrix(site, a))
    w = ArrayOfComplex(w_real, w_imag)
    return w if values_alone else (w, ArrayOfComplex(real, imag))


@reads_complex("a full_matrices", np.linalg.svd)
def _svd(site: CallSite, a: Any, full: Any) -> Any:
    z = _matrix(site, a)
    if full is None or not (is_number(full) and full.constant is not None):
        site.refuse("{node}", "pass full_matrices=False")
    if full.constant:
        message = "np.linalg.svd: pass full_matrices=False for a complex matrix that is not square"
        site.builder.add(Check(site.apply(COMPARISONS["NotEq"], *site.arrays.shape(z.real)), limit(message)))
    u_real, u_imag, s, real, imag = site.again(rows.complex_svd, *z)
    return ArrayOfComplex(u_real, u_imag), s, ArrayOfComplex(real, imag)


@reads_complex("a", np.linalg.qr)
def _qr(site: CallSite, a: Any) -> Any:
    q_real, q_imag, real, imag = site.again(rows.complex_qr, *_matrix(site, a))
    return ArrayOfComplex(q_real, q_imag), ArrayOfComplex(real, imag)


# ---- by real matrices ------------------------------------------------------------------------------------------------
def _twice(site: CallSite, matrix: Complex) -> Value:
    """The real matrix [[A, -B], [B, A]]."""
    builder = site.builder
    m, n = site.arrays.shape(matrix.real)
    whole = builder.create("empty", [site.apply(MULTIPLY, x, constant(2)) for x in (m, n)], "float")
    minus = site.reader.complex.minus(ZERO, matrix.imag)
    (top, bottom), (left, right) = (((None, x, None), (x, None, None)) for x in (m, n))
    blocks: list[tuple[list[Any], Any]]
    blocks = [([top, left], matrix.real), ([top, right], minus), ([bottom, left], matrix.imag),
              ([bottom, right], matrix.real)]  # fmt: skip
    for spec, part in blocks:
        site.arrays.fill(builder.view(whole, spec), part, site.node)
    return whole


def _stack(site: CallSite, right: Complex) -> Value:
    """The real part of a vector or matrix above its imaginary part."""
    builder, shape = site.builder, site.arrays.shape(right.real)
    made = builder.create("empty", [site.apply(MULTIPLY, shape[0], constant(2)), *shape[1:]], "float")
    for half, part in zip(_halves(shape[0]), right, strict=True):
        site.arrays.fill(builder.view(made, [half, *[WHOLE] * (len(shape) - 1)]), part, site.node)
    return made


def _halves(n: Value) -> tuple[Any, Any]:
    return (None, n, None), (n, None, None)


def _take_halves(site: CallSite, found: Value, n: Value) -> Complex:
    rest = [WHOLE] * (found.kind.ndim - 1)
    return join(site.builder.view(found, [half, *rest]) for half in _halves(n))


def _list_given(x: Any) -> list[Any]:
    return [] if is_none(x) else [x]


@reads_complex("a b", np.linalg.solve)
def _solve(site: CallSite, a: Any, b: Any) -> Complex:
    """The solution of a system of twice as many real equations, [[A, -B], [B, A]] (x, y) = (c, d)."""
    matrix, right = _matrix(site, a), _matrix(site, b, 1, 2)
    found = site.again(np.linalg.solve, _twice(site, matrix), _stack(site, right))
    return _take_halves(site, found, site.builder.length(matrix.real, 0))


@reads_complex("a", np.linalg.inv)
def _invert(site: CallSite, a: Any) -> Complex:
    x, numbers = _matrix(site, a), site.reader.complex
    one = numbers.create("zeros", [site.builder.length(x.real, 0)] * 2)
    at = site.arrays.shape(one.real)[:1]
    site.arrays.over(at, lambda k: numbers.put(one, [k[0], k[0]], Complex(constant(1.0), ZERO)))
    return _solve(site, x, one)


@reads_complex("a rcond", np.linalg.pinv)
def _pinv(site: CallSite, a: Any, rcond: Any) -> Complex:
    """The left half of the pseudoinverse of the real matrix."""
    x = _matrix(site, a)
    m, n = site.arrays.shape(x.real)
    found = site.again(np.linalg.pinv, _twice(site, x), *_list_given(rcond))
    return _take_halves(site, site.builder.view(found, [WHOLE, (None, m, None)]), n)


@reads_complex("a b rcond", np.linalg.lstsq)
def _lstsq(site: CallSite, a: Any, b: Any, rcond: Any) -> Any:
    """By the real matrix, which has each singular value twice."""
    x, right = _matrix(site, a), _matrix(site, b, 1, 2)
    found, squares, rank, s = site.again(np.linalg.lstsq, _twice(site, x), _stack(site, right), *_list_given(rcond))
    every_other = site.builder.view(s, [(None, None, constant(2))])
    half = site.apply(FLOOR_DIVIDE, rank, constant(2))
    return _take_halves(site, found, site.builder.length(x.real, 1)), squares, half, every_other


@reads_complex("a", np.linalg.cholesky)
def _cholesky(site: CallSite, a: Any) -> Complex:
    """By a real matrix in which each element is a block of two rows and columns. Its factor has such blocks, too."""
    x, builder = _matrix(site, a), site.builder
    n = builder.length(x.real, 0)
    site.arrays.require_equal(*site.arrays.shape(x.real))
    whole = builder.create("zeros", [site.apply(MULTIPLY, n, constant(2))] * 2, "float")
    even, odd = ((constant(k), None, constant(2)) for k in range(2))
    for spec, part in (([even, even], x.real), ([odd, odd], x.real), ([odd, even], x.imag),
                       ([even, odd], site.reader.complex.minus(ZERO, x.imag))):  # fmt: skip
        site.arrays.fill(builder.view(whole, spec), part, site.node)
    # LAPACK takes the diagonal to be real
    site.arrays.over([n], lambda k: _clear_pair(site, whole, k[0]))
    found = site.again(np.linalg.cholesky, whole)
    return join(builder.view(found, spec) for spec in ([even, even], [odd, even]))


def _clear_pair(site: CallSite, whole: Value, k: Value) -> None:
    at = site.apply(MULTIPLY, constant(2), k)
    below = site.apply(SUBTRACT, site.apply(MULTIPLY, constant(2), k), constant(-1))
    site.arrays.put(whole, [below, at], ZERO)


# ---- others ----------------------------------------------------------------------------------------------------------
@reads_complex("x ord", np.linalg.norm)
def _norm(site: CallSite, x: Any, ord: Any) -> Any:
    """The norm of a constant order: by moduli, or of order 2 by singular values."""
    numbers, z = site.reader.complex, take_complex(site, x)
    if is_none(ord):
        (total,) = numbers.fold([numbers.squared_modulus(z)], numbers.squared_modulus(z))
        return numbers.by("sqrt", total)
    order = ord.value if isinstance(ord, Object) else ord.constant if is_number(ord) else None
    z = _matrix(site, x, 1, 2)
    if z.real.kind.ndim == 2 and order in (2, -2):
        _, _, s, _, _ = site.again(rows.complex_svd, *z)
        at = constant(0) if order == 2 else site.apply(SUBTRACT, site.builder.length(s, 0), constant(1))
        return site.builder.load(s, [at])
    return site.again(np.linalg.norm, numbers.modulus(z), ord)


@reads_complex("a n", np.linalg.matrix_power)
def _matrix_power(site: CallSite, a: Any, n: Any) -> Complex:
    """A constant power, by repeated squaring."""
    factor: Complex = _matrix(site, a)
    if not is_number(n) or n.kind != INT or not n.constant:
        site.refuse("the power in {node}", "give a constant integer that is not 0")
    rest = abs(n.constant)
    factor = _invert(site, factor) if n.constant < 0 else site.reader.complex.copy(factor)
    found: Complex | None = None
    while rest:
        if rest & 1:
            found = factor if found is None else site.reader.complex.product(found, factor, site.node)
        rest >>= 1
        factor = site.reader.complex.product(factor, factor, site.node) if rest else factor
    assert found is not None
    return found


@reads_complex("a b", np.kron)
def _kron(site: CallSite, a: Any, b: Any) -> Complex:
    """Products of all pairs of elements, of arrays with as many axes."""
    x, y, numbers = _matrix(site, a, 1, 2), _matrix(site, b, 1, 2), site.reader.complex
    ndim = x.real.kind.ndim
    if y.real.kind.ndim != ndim:
        site.refuse("{node} of a vector and a matrix", "give both the same number of axes")
    left, right = (numbers.view(v, [*part] * ndim) for v, part in ((x, (WHOLE, NEW_AXIS)), (y, (NEW_AXIS, WHOLE))))
    made = numbers.copy(numbers.multiply(left, right))
    lengths = [
        site.apply(MULTIPLY, n, m)
        for n, m in zip(site.arrays.shape(x.real), site.arrays.shape(y.real), strict=True)
    ]
    return join(site.builder.reshape(part, lengths) for part in made)


@reads_complex("p", np.roots)
def _roots(site: CallSite, p: Any) -> Any:
    """The eigenvalues of the companion matrix, as in Numba."""
    z, numbers, builder = _matrix(site, p, 1), site.reader.complex, site.builder
    n = site.apply(SUBTRACT, builder.length(z.real, 0), constant(1))
    first, last = numbers.view(z, [constant(0)]), numbers.view(z, [n])
    ends = (numbers.compare("Eq", x, Complex(ZERO, ZERO), site.node) for x in (first, last))
    builder.add(Check(site.apply(OR, *ends), _ENDS))
    companion = numbers.create("zeros", [n, n])
    after = constant(1)

    def put_one(at: list[Value]) -> None:
        below = site.apply(SUBTRACT, at[0], constant(-1))
        numbers.put(companion, [below, at[0]], Complex(constant(1.0), ZERO))

    site.arrays.over([site.apply(SUBTRACT, n, after)], put_one)
    head = numbers.negative(numbers.divide(numbers.view(z, [(after, None, None)]), first))
    numbers.fill(numbers.view(companion, [constant(0), WHOLE]), head, site.node)
    return _eig(site, companion, values_alone=True)
