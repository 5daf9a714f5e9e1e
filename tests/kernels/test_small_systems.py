"""Systems and factors of few rows, compiled, are those of LAPACK."""

import numpy as np
import pytest
from numba import njit

from contad.kernels.rows.system_rows import slogdet_factor, slogdet_value, transposed_inverse
from contad.kernels.small_systems import FEW_ROWS, factor_few, find_det, invert, solve_forward
from tests.kernels.drawn_matrices import Draw

draw = Draw(71)


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


def test_singular_and_infinite_systems_are_decided_as_numba_decides():
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
        a = draw.positive(n)
        z = np.tril(draw(n, n))
        assert factor_few(a, z)
        np.testing.assert_allclose(z, np.linalg.cholesky(a), rtol=1e-12, atol=1e-14)
        for last in ((z[-1, :-1] ** 2).sum() * (1.0 + 1e-12), -1.0, np.inf, np.nan):
            a[-1, -1] = last
            assert not factor_few(a, z)
            np.testing.assert_array_equal(np.tril(z), np.tril(a))
