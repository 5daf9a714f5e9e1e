"""The kernels of functions of matrices, each against its rule: any size, zeros, equal values, deficient ranks.

They run as Python does, without compiling; small systems and what LAPACK does for the kernels are compiled.
"""

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source.ir.runtime_functions import FUNCTIONS as KNOWN
from contad.engines.source.runtime import matrix_kernels, row_kernels
from contad.engines.source.runtime.workspace import workspace
from contad.kernels.rows.system_rows import slogdet_factor, slogdet_value, transposed_inverse
from contad.kernels.small_systems import (
    FEW_ROWS,
    factor_few,
    find_det,
    invert,
    solve_forward,
)
from contad.memory.arena import memory_in_use

DRAW = np.random.default_rng(71)


def draw(*shape):
    return DRAW.standard_normal(shape)


def draw_system(n, *columns):
    return draw(n, n) + 2.0 * np.eye(n), draw(n, *columns)


def draw_positive(n):
    a = draw(n, n)
    return (a @ a.T + np.eye(n) + np.triu(draw(n, n), 1),)  # of which the lower triangle is read


def reduced(a):
    return np.linalg.svd(a, full_matrices=False)


def fitted(a, b):
    """The results of lstsq that have a derivative; without a rest NumPy gives no squares, and the kernel zeros."""
    x, squares, _, s = np.linalg.lstsq(a, b, rcond=None)
    return x, squares if np.size(squares) else np.zeros(b.shape[1]), s


DOUBLE = np.array([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, -0.7]])  # two eigenvalues are equal
CASES = [
    *((KNOWN["solve"], np.linalg.solve, draw_system(n, k)) for n, k in [(1, 1), (2, 3), (5, 4), (11, 13), (30, 26)]),
    *((KNOWN["inv"], np.linalg.inv, draw_system(n)[:1]) for n in (1, 2, 5, 12)),
    *((KNOWN["det"], np.linalg.det, draw_system(n)[:1]) for n in (0, 1, 2, 3, 4, 9)),
    (KNOWN["det"], np.linalg.det, (np.outer(draw(4), draw(4)) + np.outer(draw(4), draw(4)),)),  # no cofactor but zeros
    (KNOWN["det"], np.linalg.det, (np.diag([1.0, 0.0, 2.0, -3.0]) @ draw_system(4)[0],)),
    *((KNOWN["slogdet"], np.linalg.slogdet, draw_system(n)[:1]) for n in (1, 2, 5, 9)),
    *((KNOWN["cholesky"], np.linalg.cholesky, draw_positive(n)) for n in (0, 1, 2, 5, 48, 129)),
    *((KNOWN["eigh"], np.linalg.eigh, (draw(n, n),)) for n in (1, 2, 6)),
    *((KNOWN["eigvalsh"], np.linalg.eigvalsh, (draw(n, n),)) for n in (1, 2, 6)),
    (KNOWN["eigvalsh"], np.linalg.eigvalsh, (DOUBLE,)),
    *((KNOWN["svd"], reduced, (draw(*shape),)) for shape in [(1, 1), (3, 3), (5, 3), (3, 5), (12, 11)]),
    *((KNOWN["qr"], np.linalg.qr, (draw(*shape),)) for shape in [(1, 1), (3, 3), (5, 3), (3, 5), (12, 11)]),
    *((KNOWN["pinv"], np.linalg.pinv, (draw(*shape),)) for shape in [(1, 1), (3, 3), (5, 3), (3, 5)]),
    (KNOWN["pinv"], np.linalg.pinv, (np.outer(draw(4), draw(3)),)),
    *((KNOWN["lstsq"], fitted, (draw(m, n), draw(m, 2))) for m, n in [(1, 1), (5, 3), (3, 5), (3, 3)]),
    (KNOWN["lstsq"], fitted, (np.outer(draw(4), draw(3)), draw(4, 2))),
    *((KNOWN["norm"], np.linalg.norm, (a,)) for a in (draw(3, 2), draw(1, 1), np.zeros((2, 2)))),
]


def kernel_of(name):
    """A kernel of generated code, made from a row or written by hand."""
    return getattr(row_kernels, name, None) or getattr(matrix_kernels, name)


def compute(function, operands, results):
    """(the results, the workspace and its top) of the kernel, which fills arrays of these results' shapes."""
    flags = {KNOWN["pinv"]: [1e-15], KNOWN["lstsq"]: [-1.0]}.get(function, [])
    filled = [np.empty(np.shape(x)) for x in results if np.ndim(x)]
    work, top = workspace()
    *computed, work, top = kernel_of(f"forward_{function.name}")(*operands, *flags, *filled, work, top)
    found = filled if function is KNOWN["lstsq"] else [*computed, *filled]  # there what is computed is the rank
    for x, y in zip(found, results, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)
    return work, top


@pytest.mark.parametrize("chosen", ["all", "first", "last", "none"])
@pytest.mark.parametrize(("function", "rule", "operands"), CASES)
def test_adjoints_are_those_of_the_rule(function, rule, operands, chosen):
    """Adjoints are added to, in Fortran's order; results whose cotangent is zero do not matter."""
    value, pullback = contad.vjp(rule, *operands, engine="matrix")
    results = list(value) if isinstance(value, tuple) else [value]
    work, top = compute(function, operands, results)
    bars = [draw(*np.shape(x)) if np.ndim(x) else 1.7 for x in results]
    live = {"all": bars, "first": bars[:1], "last": bars[-1:], "none": []}[chosen]
    bars = [bar if any(bar is x for x in live) else 0.0 * bar for bar in bars]
    if function is KNOWN["lstsq"]:
        bars[1] *= results[1] != 0.0  # squares that NumPy does not give have no cotangent
    if function is KNOWN["qr"]:
        bars[1][np.tril_indices(len(bars[1]), -1, operands[0].shape[1])] = np.inf  # below the diagonal r is constant
    made = value._make if hasattr(value, "_make") else tuple
    expected = pullback(made(bars) if isinstance(value, tuple) else bars[0])
    starts = [draw(*np.shape(x)) for x in operands]
    after = [np.array(start, order="F") for start in starts]
    assert kernel_of(f"reverse_{function.name}")(*bars[function.constant :], *after, work, top) == 0
    for x, start, y in zip(after, starts, expected, strict=True):
        scale = max(1.0, np.abs(np.nan_to_num(y)).max(initial=0.0))
        np.testing.assert_allclose(x - start, y, rtol=1e-8, atol=1e-10 * scale)


OF_VECTORS = [(KNOWN["eigh"], np.linalg.eigh, 0), (KNOWN["svd"], reduced, 2)]


@pytest.mark.parametrize(("function", "rule", "column"), OF_VECTORS)
@pytest.mark.parametrize("simple", [True, False])
def test_vectors_of_equal_values_have_no_derivative(function, rule, column, simple):
    """That of the value that occurs once has one, and is the rule's."""
    value, pullback = contad.vjp(rule, DOUBLE, engine="matrix")
    work, top = compute(function, [DOUBLE], list(value))
    bars = [0.0 * x for x in value]
    vectors = bars[-1].T if function is KNOWN["eigh"] else bars[-1]  # in rows
    vectors[column if simple else 1] = [0.3, -0.7, 1.1]
    a_bar = np.zeros((3, 3))
    kernel_of(f"reverse_{function.name}")(*bars, a_bar, work, top)
    np.testing.assert_allclose(a_bar, pullback(value._make(bars))[0], rtol=1e-12)
    assert np.isfinite(a_bar).all() == simple


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
def test_singular_values_that_rcond_drops_belong_to_the_derivative(shape):
    a, b = draw(*shape), draw(shape[0], 2)
    s = np.linalg.svd(a)[1]
    rcond = np.sqrt(s[1] * s[2]) / s[0]
    for rule, kernel, operands in (
        (lambda a: np.linalg.pinv(a, rcond), "pinv", (a,)),
        (lambda a, b: np.linalg.lstsq(a, b, rcond)[0], "lstsq", (a, b)),
    ):
        value, pullback = contad.vjp(rule, *operands, engine="matrix")
        z, bar = np.empty(value.shape), draw(*value.shape)
        more = [np.zeros(2), np.zeros(3)] if kernel == "lstsq" else []
        work, top = workspace()
        *_, work, top = kernel_of(f"forward_{kernel}")(*operands, rcond, z, *more, work, top)
        np.testing.assert_allclose(z, value, rtol=1e-12)
        bars = [np.zeros(x.shape) for x in operands]
        kernel_of(f"reverse_{kernel}")(bar, *(0.0 * x for x in more), *bars, work, top)
        for x, y in zip(bars, pullback(bar), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)


# ---- compiled --------------------------------------------------------------------------------------------------------
@njit
def solve_small(a, b):
    z, factors, exchanges = solve_forward(a, b)
    rows, exchanged, sign, log = np.empty(a.shape), np.empty(len(a)), np.empty((1, 1)), np.empty((1, 1))
    slogdet_factor(a, rows, exchanged)
    slogdet_value(rows, exchanged, sign, log)
    turned = transposed_inverse(rows, exchanged) if sign[0, 0] != 0.0 else np.full(a.shape, np.nan)
    return z, factors, exchanges, invert(a), (sign[0, 0], log[0, 0]), find_det(a), turned


def require_lapack(a, b):
    """All of a system is what LAPACK has for it."""
    z, factors, exchanges, inverse, (sign, log), det, turned = solve_small(a, b)
    np.testing.assert_allclose(turned, inverse.T, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(z, np.linalg.solve(a, b), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(inverse, np.linalg.inv(a), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose((sign, log, det), (*np.linalg.slogdet(a), np.linalg.det(a)), rtol=1e-10, atol=1e-12)
    rows, lower = np.arange(len(a)), np.tril(factors, -1) + np.eye(len(a))
    for i, k in enumerate(exchanges - 1):
        rows[[i, k]] = rows[[k, i]]
    np.testing.assert_allclose(lower @ np.triu(factors), a[rows], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 5, FEW_ROWS, FEW_ROWS + 1])
def test_small_systems_are_those_of_lapack(n):
    """Of any sign and order of rows, with pivots that are small, and elements that are large or tiny."""
    for scale in (1.0, 1e200 ** (1.0 / n), 1e-200 ** (1.0 / n)):
        require_lapack(scale * draw(n, n), draw(n, 2))
    if n > 1:
        require_lapack(np.eye(n)[::-1].copy() + 1e-12 * draw(n, n), draw(n, 1))
        require_lapack(np.diag(1e-8 ** np.arange(n)) if n < 4 else np.diag(1.0 + np.arange(n)), draw(n, 1))


def test_what_is_singular_or_not_finite_is_decided_as_numba_decides():
    """A matrix without an inverse, those that rounding makes so or not, and one whose solution rounding moves."""

    @njit
    def by_numba(a, b):
        return np.linalg.solve(a, b), np.linalg.inv(a)

    nearly = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    b = draw(3, 1)
    hilbert = 1.0 / (1.0 + np.add.outer(np.arange(3.0), np.arange(3.0)))
    ones, zeros = np.ones((3, 3)), np.zeros((3, 3))
    for a in (nearly, nearly / 3.0, nearly.T.copy(), ones, zeros, nearly * np.nan, hilbert @ hilbert):
        try:
            expected = by_numba(a, b)
        except np.linalg.LinAlgError as error:
            with pytest.raises(np.linalg.LinAlgError, match=str(error)):
                solve_small(a, b)
        else:
            found = solve_small(a, b)
            np.testing.assert_array_equal(found[0], expected[0])
            np.testing.assert_array_equal(found[3], expected[1])
    with pytest.raises(np.linalg.LinAlgError, match="infs or NaNs"):
        solve_small(np.eye(3), np.full((3, 1), np.inf))
    with pytest.raises(np.linalg.LinAlgError, match="must be square"):
        njit(lambda a: find_det(a))(draw(3, 2))


def test_factors_of_few_rows_are_those_of_lapack():
    """And what has no factor, or may have none, is left as it was for LAPACK."""
    for n in range(1, FEW_ROWS + 1):
        (a,) = draw_positive(n)
        z = np.tril(draw(n, n))
        assert factor_few(a, z)
        np.testing.assert_allclose(z, np.linalg.cholesky(a), rtol=1e-12, atol=1e-14)
        for last in ((z[-1, :-1] ** 2).sum() * (1.0 + 1e-12), -1.0, np.inf, np.nan):
            a[-1, -1] = last
            assert not factor_few(a, z)
            np.testing.assert_array_equal(np.tril(z), np.tril(a))


@njit
def run_blocks(a, b, bars):
    """The adjoints of a, from those of its factor and of a solution of many columns."""
    work, top = workspace()
    n, k = b.shape
    factor, z, of_factor, of_solution = np.empty((n, n)), np.empty((n, k)), np.zeros((n, n)), np.zeros((n, n))
    work, top = row_kernels.forward_cholesky(a, factor, work, top)
    top = row_kernels.reverse_cholesky(bars[:, :n], of_factor, work, top)
    work, top = row_kernels.forward_solve(a, b, z, work, top)
    b_bar = np.zeros((n, k))
    top = row_kernels.reverse_solve(bars[:, n:], of_solution, b_bar, work, top)
    return of_factor, of_solution, b_bar, top


@njit
def solve_and_reverse(a, b, z, bars, a_bar, b_bar):
    work, top = workspace()
    work, top = row_kernels.forward_solve(a, b, z, work, top)
    return row_kernels.reverse_solve(bars, a_bar, b_bar, work, top)


@pytest.mark.parametrize("n", [3, 12])
def test_matrices_in_another_order_are_copied_for_kernels(n):
    """On the stack, or in memory that is given back, if the kernel raises as well; adjoints are added to."""
    given = [draw(n, n), draw(n, n), np.empty((n, n)), draw(n, n), draw(n, n), draw(n, n)]
    turned = [np.asfortranarray(x) for x in given]
    twice = [np.repeat(x, 2, axis=1)[:, ::2] for x in given]
    solve_and_reverse(*given)
    before = memory_in_use()
    for others in (turned, twice):
        assert solve_and_reverse(*others) == 0
        for x, y in zip(given, others, strict=True):
            np.testing.assert_array_equal(x, y)
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            solve_and_reverse(np.zeros_like(others[0]), *others[1:])
    assert memory_in_use() == before


@pytest.mark.parametrize(("n", "k"), [(9, 1), (23, 30), (24, 23), (24, 24), (60, 31)])
def test_blocks_by_lapack_are_the_loops(n, k):
    """Around the size from which on LAPACK solves."""
    (a,), b, bars = draw_positive(n), draw(n, k), draw(n, n + k)
    operands = [x.copy() for x in (a, b, bars)]
    *found, top = run_blocks(*operands)
    expected = run_blocks.py_func(a, b, bars.copy())
    bars[:] = 0.0  # adjoints of results are spent; LAPACK writes to copies of the others
    for x, y in zip(operands, (a, b, bars), strict=True):
        np.testing.assert_array_equal(x, y)
    assert top == 0
    for x, y in zip(found, expected, strict=False):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-10)
