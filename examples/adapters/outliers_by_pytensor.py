"""A likelihood in Numba and its gradient as operations in compiled graphs of PyTensor, and so of PyMC.

    python examples/adapters/outliers_by_pytensor.py
"""

import numpy as np
from numba import njit
from pytensor import function, grad, graph, tensor as pt
from pytensor.link.numba.dispatch import numba_funcify

import contad

Y = 3.0 + 0.5 * np.random.default_rng(5).standard_cauchy(1000)


@njit
def log_density(p):  # of Cauchy's distribution with its centre and width
    return -np.sum(np.log1p(((Y - p[0]) / p[1]) ** 2)) - len(Y) * np.log(p[1])


class Operation(graph.Op):
    def __init__(self, function, kind, slope=None):
        self.function, self.itypes, self.otypes, self.slope = function, (pt.dvector,), (kind,), slope

    def perform(self, node, inputs, outputs):  # where PyTensor does not compile
        outputs[0][0] = self.function(*inputs)

    def pullback(self, inputs, outputs, cotangents):
        return [cotangents[0] * self.slope(*inputs)]


if __name__ == "__main__":
    numba_funcify.register(Operation)(lambda op, **_: op.function)
    slope = Operation(contad.grad(log_density), pt.dvector)
    value = Operation(njit(lambda p: np.asarray(log_density(p))), pt.dscalar, slope)
    u, at = pt.dvector("u"), np.array([0.8, -0.4])
    total = value(pt.exp(u)) - pt.sum(u**2)  # with PyTensor's own derivatives around it
    print(found := np.hstack(function([u], [total, grad(total, u)])(at)))
    by_contad = contad.value_and_grad(lambda u: log_density(np.exp(u)) - np.sum(u**2))(at)
    assert np.allclose(found, np.hstack(by_contad), rtol=1e-12)
