"""Factors, their adjoints and triangular systems by blocks of four rows, around multiples of four; what they leave."""

import numpy as np
import pytest
from scipy.linalg import solve_triangular

from contad.kernels.factor_kernels import add_cholesky, reverse_rows, reverse_triangle, write_cholesky
from contad.kernels.factors_by_fours import FEWEST_ROWS, MOST_ROWS, factor_by_fours, reverse_by_fours
from contad.kernels.triangles_by_fours import solve_by_fours, subtract_by_fours
from contad.kernels.triangular_kernels import add_solve_triangular, write_triangular_solution
from tests.compile.watching import caller_of
from tests.kernels.drawn_matrices import laid_out

SIZES = [FEWEST_ROWS, 10, 11, 12, 13, 20, 39, 64, MOST_ROWS - 1, MOST_ROWS]
DRAW = np.random.default_rng(72)


factor, write_factor, solve = map(caller_of, (factor_by_fours, write_cholesky, solve_by_fours))
subtract = caller_of(subtract_by_fours)
reverse, reverse_any, add_reversed = map(caller_of, (reverse_by_fours, reverse_triangle, add_cholesky))


def draw_positive(n):
    """A matrix whose lower triangle alone may be read."""
    a = DRAW.standard_normal((n, n))
    a = a @ a.T + n * np.eye(n)
    a[np.triu_indices(n, 1)] = np.nan
    return a


def steps(a):
    """The same numbers, apart from one another in memory."""
    return laid_out(a)[3]


def draw_factor(n):
    return np.tril(0.3 * DRAW.standard_normal((n, n)) / np.sqrt(n)) + np.eye(n)


@pytest.mark.parametrize("n", SIZES)
def test_the_factor_is_that_of_lapack(n):
    """Of any layout; what stands above the diagonal of the matrix does not matter, and zeros are written there."""
    a = draw_positive(n)
    expected = np.linalg.cholesky(a)  # which reads the lower triangle
    for given in (a, np.asfortranarray(a), steps(a)):
        for z in (np.full((n, n), 3.0), steps(np.full((n, n), 3.0))):
            assert factor(given, z)
            np.testing.assert_allclose(z, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("place", [0, 5, 11, 19])
@pytest.mark.parametrize("given", [-1.0, 0.0, np.inf, np.nan])
def test_doubtful_factors_are_left_to_lapack(place, given):
    """A pivot that is not positive, and numbers that are not finite, in every block and every row of a block."""
    for n in (20, 21):
        a, z = draw_positive(n), np.empty((n, n))
        a[place, place] = given
        assert not factor(a, z)
        try:
            expected = np.linalg.cholesky(a)
        except np.linalg.LinAlgError:
            with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
                write_factor(a, z)
        else:
            write_factor(a, z)
            np.testing.assert_allclose(np.tril(z), np.tril(expected), rtol=1e-12, atol=1e-14)


def test_a_matrix_that_is_nearly_singular_is_left_to_lapack():
    """In which the pivots are what rounding makes of zero; LAPACK may find a factor or none."""
    x = np.linspace(0.0, 1.0, 16)
    a = np.exp(-0.5 * (x[:, None] - x) ** 2)
    assert not factor(a, np.empty((16, 16)))
    for k in range(12, 16):  # with a pivot in each row of a block that has lost its digits
        z = draw_factor(20)
        z[k, k] = 1e-5
        assert not factor(z @ z.T, np.empty((20, 20)))


@pytest.mark.parametrize("n", [0, 1, FEWEST_ROWS - 1, MOST_ROWS + 1])
def test_other_sizes_are_left(n):
    a = np.eye(n)
    assert not factor(a, a.copy())
    assert not reverse(a, a.copy())
    assert not solve(a, np.ones(n), False, True, False)
    assert not subtract(np.ones(n), np.ones(n), True, False, a.copy())


def test_in_plain_python_loops_do_it():
    """Where nothing is compiled, nobody has vector registers."""
    assert not factor_by_fours(np.eye(20), np.eye(20))
    assert not reverse_by_fours(np.eye(20), np.eye(20))


@pytest.mark.parametrize("n", SIZES)
def test_the_adjoint_is_that_of_the_loops(n):
    """Of any layout; the upper triangle of the adjoint is left as it is, and that of the factor does not matter."""
    z, bar = draw_factor(n), DRAW.standard_normal((n, n))
    expected = bar.copy()
    reverse_rows(z, expected)
    z[np.triu_indices(n, 1)] = 5.0
    for given in (z, steps(z)):
        for found in (bar.copy(), np.asfortranarray(bar), steps(bar)):
            assert reverse(given, found)
            np.testing.assert_allclose(np.tril(found), np.tril(expected), rtol=1e-10, atol=1e-11)
            np.testing.assert_array_equal(np.triu(found, 1), np.triu(bar, 1))


@pytest.mark.parametrize("n", [11, 20, MOST_ROWS, MOST_ROWS + 9])
def test_the_adjoint_is_added_to_the_lower_triangle(n):
    """In blocks, too, of which each is reversed so."""
    z, bar, a_bar = draw_factor(n), np.tril(DRAW.standard_normal((n, n))), DRAW.standard_normal((n, n))
    expected = bar.copy()
    reverse_rows(z, expected)
    for found in (a_bar.copy(), steps(a_bar)):
        add_reversed(bar.copy(), z, found)
        np.testing.assert_allclose(found, a_bar + np.tril(expected), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("given", [np.inf, np.nan, 1e308])
@pytest.mark.parametrize("place", [(0, 0), (9, 2), (19, 19), (13, 12)])
def test_infinite_adjoints_go_where_the_loops_take_them(place, given):
    """No further, though the registers multiply it by zeros above the diagonal."""
    for n in (20, 21):
        z, bar = draw_factor(n), np.tril(DRAW.standard_normal((n, n)))
        bar[place] = given
        expected, found = bar.copy(), bar.copy()
        with np.errstate(all="ignore"):
            reverse_rows(z, expected)
        assert np.isfinite(given) or not reverse(z, bar.copy())
        reverse_any(z, found)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


FORMS = [(t, lower, unit) for t in (False, True) for lower in (False, True) for unit in (False, True)]


@pytest.mark.parametrize(("transposed", "lower", "unit"), FORMS)
@pytest.mark.parametrize("n", SIZES)
def test_the_solution_is_that_of_scipy(n, transposed, lower, unit):
    """Without a look at the other triangle, nor at the diagonal where it is 1."""
    a = draw_factor(n) if lower else draw_factor(n).T.copy()
    b = DRAW.standard_normal(n)
    expected = solve_triangular(a, b, trans=int(transposed), lower=lower, unit_diagonal=unit)
    a[np.triu_indices(n, 1) if lower else np.tril_indices(n, -1)] = np.nan
    if unit:
        np.fill_diagonal(a, np.nan)
    assert solve(a, b, transposed, lower, unit)
    np.testing.assert_allclose(b, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_the_outer_product_is_subtracted_in_the_triangle(n, unit, lower):
    x, y, a_bar = DRAW.standard_normal(n), DRAW.standard_normal(n), DRAW.standard_normal((n, n))
    k = 1 if unit else 0
    expected = a_bar - (np.tril(np.outer(x, y), -k) if lower else np.triu(np.outer(x, y), k))
    assert subtract(x, y, lower, unit, a_bar)
    np.testing.assert_allclose(a_bar, expected, rtol=1e-13, atol=1e-13)


def solve_triangle(a, b, *form):
    z = np.empty(b.shape)
    write_triangular_solution(a, b, *form, z)
    return z


@pytest.mark.parametrize(("transposed", "lower", "unit"), FORMS)
@pytest.mark.parametrize("given", [np.inf, np.nan])
def test_infinite_elements_stay_in_their_rows(given, transposed, lower, unit):
    """Of a right-hand side, of which a part of the solution does not depend on it; and of the matrix."""
    for n in (20, 22):
        a = draw_factor(n) if lower else draw_factor(n).T.copy()
        b = DRAW.standard_normal((n, 1))
        b[9] = given
        found = solve_triangle(a, b, transposed, lower, unit)
        expected = solve_triangular(
            a, b, trans=int(transposed), lower=lower, unit_diagonal=unit, check_finite=False
        )
        np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
        sound = np.isfinite(expected)
        assert sound.any()
        np.testing.assert_allclose(found[sound], expected[sound], rtol=1e-11, atol=1e-12)
        z_bar, of_a, of_b = DRAW.standard_normal((n, 1)), np.zeros((n, n)), np.zeros((n, 1))
        add_solve_triangular(z_bar, found, a, transposed, lower, unit, of_a, of_b)
        assert np.isfinite(of_b).all()
        assert np.isfinite(of_a).any()


def test_a_reciprocal_that_overflows_is_no_end():
    """The quotient by a number whose reciprocal is infinite may be finite."""
    a = np.eye(12)
    a[5, 5] = 1e-310
    b = np.zeros((12, 1))
    b[5] = 1e-300
    np.testing.assert_allclose(solve_triangle(a, b, False, True, False)[5], 1e10, rtol=1e-9)
