"""The adjoint of a triangle: with many columns it is a product in blocks; only the triangle that is read is touched."""

import numpy as np
import pytest

from contad.kernels.triangular_kernels import subtract_triangle
from tests.compile.watching import caller_of

DRAW = np.random.default_rng(41)
SIZES = [(3, 2), (70, 3), (40, 40), (41, 65), (150, 50)]
run = caller_of(subtract_triangle)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("masked", [False, True])
def test_it_is_the_triangle_of_the_product(size, masked):
    """Also where a zero of c masks what is not finite in z."""
    n, k = size
    c, z = DRAW.standard_normal((n, k)), DRAW.standard_normal((n, k))
    finite = z.copy()
    if masked:
        z[1, 0], z[n - 1, 1] = np.inf, np.nan
        c[:, :2] = finite[:, :2] = 0.0
    before = c.copy(), z.copy()
    for is_turned in (False, True):
        whole = finite @ c.T if is_turned else c @ finite.T
        for lower in (False, True):
            for unit_diagonal in (False, True):
                part = np.tril(whole, -int(unit_diagonal)) if lower else np.triu(whole, int(unit_diagonal))
                start = DRAW.standard_normal((n, n))
                a_bar = start.copy()
                run(c, z, is_turned, lower, unit_diagonal, a_bar)
                np.testing.assert_allclose(a_bar, start - part, rtol=1e-11, atol=1e-11)
    for x, y in zip((c, z), before, strict=True):
        np.testing.assert_array_equal(x, y)
