"""A likelihood in Numba and its gradient as one operation in compiled graphs of PyTensor, and so of PyMC.

    python examples/adapters/outliers_by_pytensor.py
"""

import numpy as np
from numba import njit
from pytensor import function, grad, tensor as pt

import contad
from contad.interop import as_pytensor

Y = 3.0 + 0.5 * np.random.default_rng(5).standard_cauchy(1000)


@njit
def log_density(p):  # of Cauchy's distribution with its centre and width
    return -np.sum(np.log1p(((Y - p[0]) / p[1]) ** 2)) - len(Y) * np.log(p[1])


if __name__ == "__main__":
    u, at = pt.dvector("u"), np.array([0.8, -0.4])
    total = as_pytensor(log_density)(pt.exp(u)) - pt.sum(u**2)  # with PyTensor's own derivatives around it
    print(found := np.hstack(function([u], [total, grad(total, u)], mode="NUMBA")(at)))
    by_contad = contad.value_and_grad(lambda u: log_density(np.exp(u)) - np.sum(u**2))(at)
    assert np.allclose(found, np.hstack(by_contad), rtol=1e-12)
