"""Calls of what `guvectorize` makes, in functions that are differentiated."""

import pytest

from contad.errors import UnsupportedError
from tests.engines.source.bodies import agree, function_of, generated

KERNEL = """\
import numba
@numba.guvectorize("(n),()->(n)")
def kernel(v, c, out):
    for i in range(v.shape[0]):
        out[i] = v[i] / (c + 2.5 - v[i]) if i != 3 else c * out[0]
---
"""


def test_a_kernel_is_written_in_place():
    agree(KERNEL + "y = np.empty(5)\nkernel(x, a, y)\nz = np.ones(5)\nkernel(y * x, y[1], z)\nreturn np.sum(y * z)")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("kernel(m, a, np.empty((3, 4)))", "over further axes; loop over these"),
        ("kernel(x[:3], a, x[1:4])", "overlapping parts; copy them first"),
        ("kernel(small, a, np.empty(3))", "is not made for; give arrays and numbers of 64 bits"),
    ],
)
def test_what_a_kernel_is_refused_for(text, reason):
    with pytest.raises(UnsupportedError, match=reason):
        generated(function_of(f"{KERNEL}{text}\nreturn np.sum(x) * a"))
