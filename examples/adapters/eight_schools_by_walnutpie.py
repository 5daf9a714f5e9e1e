"""Eight schools by NUTS: the sampler, in C++, calls the log density and its gradient with no Python between them.

    python examples/adapters/eight_schools_by_walnutpie.py

Data: Rubin (1981), Estimation in parallel randomized experiments; the model is that of Gelman et al., without centres.
"""

import math
from collections import namedtuple

import numpy as np
import walnutpie
from numba import njit

import contad

Schools = namedtuple("Schools", "mu log_tau theta")
EFFECT = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


@njit
def log_density(x):
    """Of mu, log tau, and eight effects in units of tau: N(0, 5), half-Cauchy(5) and N(0, 1)."""
    mu, tau = x[0], math.exp(x[1])
    total = -0.5 * (mu / 5.0) ** 2 - math.log1p((tau / 5.0) ** 2) + x[1]
    for k in range(8):
        total -= 0.5 * x[2 + k] ** 2 + 0.5 * ((EFFECT[k] - mu - tau * x[2 + k]) / ERROR[k]) ** 2
    return total


if __name__ == "__main__":
    start, unravel = contad.ravel(Schools(0.0, 0.0, np.zeros(8)))
    density = contad.cfunc(log_density, len(start), "nuts")
    fixed = {"min_warmup_iter": 500, "max_warmup_iter": 500, "min_sampling_iter": 2000, "max_sampling_iter": 2000}
    runs = walnutpie.walnuts_pyfunc(density, num_params=len(start), num_chains=4, seed=1, **fixed)
    posterior = unravel(np.stack(runs))._asdict()  # {name: (chain, draw, *shape)}, as arviz.from_dict takes it
    for name, x in posterior.items():
        print(f"{name:8} {np.array2string(x.mean(axis=(0, 1)), precision=2)} +- {np.std(x, axis=(0, 1)).round(2)}")
