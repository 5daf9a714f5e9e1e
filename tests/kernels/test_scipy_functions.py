"""Functions of contad.scipy.linalg in Numba functions without derivatives: from the disk, refusals, kernels by hand."""

import numpy as np
import pytest
import scipy.linalg
from numba import njit
from numba.core.errors import TypingError

import contad
from contad.kernels.exponential_kernels import add_by_powers, expm_with_powers
from contad.kernels.triangular_kernels import add_solve_triangular
from contad.scipy import linalg
from tests.compile.processes import run_python

MODEL = """
from contad.scipy.linalg import solve_triangular
from numba import njit

@njit(cache=True)
def f(a, b):
    return solve_triangular(a, b)[0]
"""
RUN = """
import numpy as np
from model import f
print(float(f(np.array([[2.0, 3.0], [0.5, 4.0]]), np.array([1.0, 2.0]))), len(f.stats.cache_hits))
"""


@pytest.mark.long  # as tests/compile/test_named_code.py does for kernels
def test_a_second_process_finds_the_routines_of_lapack(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "run.py").write_text(RUN)
    found = [run_python("run.py", folder=tmp_path, NUMBA_CACHE_DIR=tmp_path / "numba") for _ in range(2)]
    assert found == ["-0.25 0\n", "-0.25 1\n"]


def test_functions_that_are_not_compiled_are_refused_by_name():
    @njit
    def single(a):
        return linalg.expm(a)

    @njit
    def logarithm(a):
        return linalg.logm(a)

    with pytest.raises(TypingError, match="contad.scipy.linalg.expm: inside njit it takes float64 arrays of 2 axes"):
        single(np.eye(2, dtype=np.float32))
    with pytest.raises(contad.UnsupportedError, match="contad.scipy.linalg.logm cannot be called inside njit"):
        logarithm(np.eye(2))


def test_zeros_of_a_cotangent_mask_a_column_that_is_infinite():
    a, z = np.array([[1.5, 0.5], [0.3, 2.0]]), np.array([[0.7, np.inf], [-0.2, -np.inf]])
    a_bar, b_bar = np.zeros((2, 2)), np.zeros((2, 2))

    @njit
    def pull(z_bar, z, a, a_bar, b_bar):
        add_solve_triangular(z_bar, z, a, False, False, False, a_bar, b_bar)

    z_bar = np.array([[1.0, 0.0], [0.4, 0.0]])
    pull(z_bar, z, a, a_bar, b_bar)
    c = scipy.linalg.solve_triangular(a, z_bar[:, 0], trans=1)
    np.testing.assert_allclose(b_bar, np.column_stack([c, np.zeros(2)]))
    np.testing.assert_allclose(a_bar, -np.triu(np.outer(c, z[:, 0])))


def test_exponentials_of_matrices_that_powers_tell_more_of_than_norms():
    nilpotent = np.array([[0.0, 1e200, 3.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    expected = np.array([[1.0, 1e200, 1e200], [0.0, 1.0, 2.0], [0.0, 0.0, 1.0]])
    skewed = np.array([[1.0, 1e6, 3e3], [0.0, -1.0, 2e5], [0.0, 0.0, 0.3]])

    @njit
    def value_and_cotangent(a, z_bar):
        a_bar, powers = np.zeros(a.shape), np.empty((3 * len(a), len(a)))
        z = expm_with_powers(a, powers)
        add_by_powers(z_bar, a, powers, a_bar)
        return z, a_bar

    np.testing.assert_allclose(value_and_cotangent(nilpotent, np.eye(3))[0], expected, rtol=1e-14)
    z, a_bar = value_and_cotangent(skewed, np.ones((3, 3)))
    np.testing.assert_allclose(z, scipy.linalg.expm(skewed), rtol=1e-13)
    right = scipy.linalg.expm_frechet(skewed.T, np.ones((3, 3)), compute_expm=False)
    np.testing.assert_allclose(a_bar, right, rtol=2e-5)  # either is 4e-6 from the exact one
    assert np.isnan(value_and_cotangent(skewed * np.nan, z)[0]).all()
    assert value_and_cotangent(np.zeros((0, 0)), np.zeros((0, 0)))[0].shape == (0, 0)


@njit
def solve_by_factor(c, b):
    return linalg.cho_solve((c, True), b)


@pytest.mark.parametrize("b", [np.ones(3), np.ones((3, 2))], ids=["vector", "columns"])
def test_a_singular_factor_is_no_solution(b):
    """LAPACK leaves b as it was there."""
    c = np.tril(np.ones((3, 3)))
    c[1, 1] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix: element 1 of the diagonal is 0"):
        solve_by_factor(c, b)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix: element 1 of the diagonal is 0"):
        contad.grad(lambda b: np.sum(linalg.cho_solve((c, True), b)))(b)
