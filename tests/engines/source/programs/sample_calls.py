"""np.cov, np.corrcoef and np.vander by all arguments that Numba takes."""

import numpy as np

from tests.engines.source.programs.harness import Table

CALLS = [
    "np.cov(m)", "np.cov(m, rowvar=False)", "np.cov(m, bias=True)", "np.cov(m, ddof=2)", "np.cov(m, None)",
    "np.cov(m, n)", "np.cov(m.T, n.T, False)", "np.cov(m, n, True, False, 2)", "np.cov(m, v)",
    "np.cov(v, m, bias=True)", "np.cov(v, w)", "np.cov(m, v, ddof=0)", "np.cov(v, m, True, False, 2)",
    "np.corrcoef(m, rowvar=False)", "np.corrcoef(m, n)",
    "np.corrcoef(m, v)", "np.corrcoef(v, m)", "np.vander(v)", "np.vander(v, 3)", "np.vander(v, increasing=True)",
    "np.vander(v, 3, True)", "np.vander(v, 0)",
]  # fmt: skip
# of matrices m, n and vectors v, w
PROGRAM = """
m, n, v, w = x[:12].reshape((3, 4)), x[12:].reshape((2, 4)), x[:4], x[4:8]
z = {}
return np.sum(np.outer(np.arange(z.shape[0]) + 1.0, np.arange(z.shape[1]) - 0.3) * z) + v[0] * w[1]
"""
OF_A_VECTOR = """
y = x[:5]
return np.cov(y) * y[0] + np.corrcoef(y) * y[1] + np.cov(y, bias=True) * y[2] + np.cov(y, ddof=2) * y[3]
"""
SAMPLE_CALLS = Table(
    "samples", {call: PROGRAM.format(call) for call in CALLS} | {"of a vector, which is a number": OF_A_VECTOR},
    head="x", arguments=(np.random.default_rng(3).normal(size=20),), argnums=(0,),
)  # fmt: skip
