"""A mirror of a module of SciPy's, judged: values on numbers and on variables, and derivatives of both orders."""

import numpy as np

import contad
from tests.judges.array_derivatives import check_orders


def check_mirror(call, args, module, mirror, exact=True, rtol=1e-12, atol=1e-12):
    """call(module, *args) with the mirror in the place of SciPy's module, for every choice of what is a variable."""
    expected = call(module, *args)
    given = call(mirror, *args)
    if exact:
        np.testing.assert_array_equal(given, expected)
    else:
        np.testing.assert_allclose(given, expected, rtol=rtol, atol=atol)
    for k, x in enumerate(args):
        value, _ = contad.jvp(lambda x, k=k: call(mirror, *args[:k], x, *args[k + 1 :]), (x,), (x,))
        assert np.shape(value) == np.shape(expected)
        np.testing.assert_allclose(value, expected, rtol=rtol, atol=atol)
    check_orders(lambda *xs: call(mirror, *xs), args)
