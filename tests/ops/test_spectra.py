"""Spectra of symmetric matrices outside their domain."""

import numpy as np
import pytest

from contad.ops.spectra import robust_spectrum


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("upper", [False, True])
def test_a_spectrum_is_nan_where_what_is_read_is_not_finite(bad, upper):
    """LAPACK's algorithm may not return from such matrices; the other triangle is not read."""
    good = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.4], [0.1, -0.4, 3.0]])
    read, other = good.copy(), good.copy()
    read[(1, 2) if upper else (2, 1)] = other[(2, 1) if upper else (1, 2)] = bad
    w, v = np.linalg.eigh(good)
    z = robust_spectrum(np.array([read, other]), upper=upper)
    assert np.isnan(z[0]).all()
    np.testing.assert_allclose(z[1, 0], w, rtol=1e-12)
    np.testing.assert_allclose(np.abs(z[1, 1:]), np.abs(v), rtol=1e-10)
