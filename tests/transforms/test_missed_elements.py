"""What a pattern misses is found by a product with a random vector, however small it is beside its row."""

import numpy as np
import pytest

from contad import ValueMismatchError, sparse_jacobian, sparsity


def test_small_elements_beside_large_ones_are_seen():
    """3e7 and 0.04 stand in one row of Robertson's reaction."""

    def rates(y):
        return 3e7 * y[:3] ** 2 + (0.04 * y[3] if y[0] > 0.0 else 0.05 * y[4])

    y = np.array([-1.2, 0.7, 40.0, 0.3, 1.1])
    pattern = sparsity(rates, np.abs(y))
    with pytest.raises(ValueMismatchError, match=r"misses element \(\d, 4\), where the derivative is 0.05"):
        sparse_jacobian(rates, pattern=pattern, check=True)(y)


def test_rows_of_much_rounding_hide_no_missed_element():
    """The first row differs by rounding more than the second, which misses an element."""

    def f(x):
        return np.array([1e12 * x[0] - (1e12 * x[0] - x[1] ** 3) - x[1] ** 2 * x[0], 1e6 * x[0] + 1e-3 * x[1]])

    with pytest.raises(ValueMismatchError, match=r"misses element \(1, 1\), where the derivative is 0.001"):
        sparse_jacobian(f, pattern=[[1, 1], [1, 0]], check=True)(np.array([1.3, 0.4]))


def test_noise_is_no_missed_element():
    """A product that differs by rounding more than is usual names no element, for there is none."""

    def f(x):
        return np.array([1e12 * x[0] - (1e12 * x[0] - x[1]) - x[1], x[1]])

    found = sparse_jacobian(f, check=True)(np.array([1.0, 1e-3])).toarray()
    np.testing.assert_allclose(found, [[0.0, 0.0], [0.0, 1.0]], atol=1e-3)
