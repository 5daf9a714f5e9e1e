"""Arrays whose addresses routines take are in memory until these are done: what the C library frees it spoils here."""

import sys

import pytest

from tests.compile.processes import run_python

CODE = """
import tests.judges.light_compiling  # before contad
import numpy as np
import contad
from numba import njit
from contad.kernels.gram_matrices import gram
from contad.kernels.rows.product_rows import put_product

draw = np.random.default_rng(3)
x, weights = draw.normal(size=(50, 40)), draw.normal(size=(50, 50))
for f, expected in (
    (lambda x: np.sum(weights[:40, :40] * (x.T @ x)), x @ (weights[:40, :40] + weights[:40, :40].T)),
    (lambda x: np.sum(weights * (x @ x.T)), (weights + weights.T) @ x),
):
    program = contad.record(f, x)
    program._compile()
    np.testing.assert_allclose(program.gradient(x), expected, rtol=1e-10)
    np.testing.assert_allclose(contad.grad(f)(x), expected, rtol=1e-10)


@njit
def multiply(a, b):
    z = np.empty(a.shape[0])
    put_product(z, a, b)
    return z, gram(a[:, ::2])


b = draw.normal(size=400)
a = draw.normal(size=(300, 400))
z, squared = multiply(a, b[::-1])
np.testing.assert_allclose(z, a @ b[::-1], rtol=1e-10)
np.testing.assert_allclose(squared, a[:, ::2].T @ a[:, ::2], rtol=1e-10, atol=1e-10)
"""


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc overwrites what is freed where it is asked to")
def test_no_array_is_freed_while_a_routine_reads_it():
    run_python("-c", CODE, MALLOC_PERTURB_=165)
