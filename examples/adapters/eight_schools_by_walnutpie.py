"""Eight schools by NUTS: the sampler, in C++, calls the log density and its gradient with no Python between them.

    python examples/adapters/eight_schools_by_walnutpie.py

Data: Rubin (1981), Estimation in parallel randomized experiments; the model is that of Gelman et al., without centres.
"""

import numpy as np
import walnutpie
from numba import njit

from contad.stan import Model, cauchy_lpdf, normal_lpdf

EFFECT = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]
ERROR = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]


@njit
def log_density(mu, tau, theta, y, sigma):
    """The effects of the schools are normal around mu."""
    prior = normal_lpdf(mu, 0.0, 5.0) + cauchy_lpdf(tau, 0.0, 5.0) + normal_lpdf(theta, mu, tau)
    return prior + normal_lpdf(y, theta, sigma)


PARAMETERS = "real mu; real<lower=0> tau; vector<offset=mu, multiplier=tau>[J] theta;"
schools = Model(PARAMETERS, log_density, J=8, y=EFFECT, sigma=ERROR)


if __name__ == "__main__":
    fixed = {"min_warmup_iter": 500, "max_warmup_iter": 500, "min_sampling_iter": 2000, "max_sampling_iter": 2000}
    density, n = schools.cfunc("nuts"), schools.dimension
    runs = walnutpie.walnuts_pyfunc(density, num_params=n, num_chains=4, seed=1, **fixed)
    posterior = schools.constrain(np.stack(runs))  # {name: (chain, draw, *shape)}, as arviz.from_dict takes it
    for name, x in posterior.items():
        print(f"{name:8} {np.array2string(x.mean(axis=(0, 1)), precision=2)} +- {np.std(x, axis=(0, 1)).round(2)}")
