"""A hierarchical regression of a million rows on a Dask cluster: `python examples/distributed/regions_by_dask.py`.

Each of 200 regions has an intercept of its own, drawn from one distribution. The rows go to the workers once; each
gradient after that sends 204 numbers to a job, and as many come back.
"""

import time

import numba
import numpy as np
from dask.distributed import Client, LocalCluster

import contad
from contad.stan import reduce_sum

ROWS, REGIONS, PIECE = 1_000_000, 200, 50_000


@numba.njit(nogil=True)
def log_likelihood(rows, start, end, intercepts, slope, log_sigma):
    """Of the rows (region, x, y) of a piece."""
    total = 0.0
    for k in range(len(rows)):
        z = (rows[k, 2] - intercepts[int(rows[k, 0])] - slope * rows[k, 1]) * np.exp(-log_sigma)
        total -= 0.5 * z * z + log_sigma
    return total


def log_posterior(p, rows, executor=None):
    centre, log_spread, slope, log_sigma = p[0], p[1], p[2], p[3]
    intercepts = centre + np.exp(log_spread) * p[4:]  # p[4:] are standard normal
    likelihood = reduce_sum(log_likelihood, rows, intercepts, slope, log_sigma, grainsize=PIECE, executor=executor)
    return likelihood - 0.5 * np.sum(p[4:] ** 2) - 0.5 * np.sum(p[:4] ** 2)


def draw_rows():
    rng = np.random.default_rng(4)
    region, x = rng.integers(REGIONS, size=ROWS), rng.normal(size=ROWS)
    y = 1.0 + 0.5 * rng.normal(size=REGIONS)[region] + 0.3 * x + rng.normal(0.0, 0.8, ROWS)
    return contad.constant(np.stack([region, x, y], axis=1))


if __name__ == "__main__":
    rows, p = draw_rows(), np.concatenate([[0.9, -0.6, 0.25, -0.2], np.linspace(-1.5, 1.5, REGIONS)])
    gradient = contad.grad(log_posterior)
    serial = gradient(p, rows)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        executor = client.get_executor()
        for call in ("with the rows, and compiling", "rows are there"):
            start = time.perf_counter()
            found = gradient(p, rows, executor)
            print(f"{call:<28} {time.perf_counter() - start:6.2f} s")
    difference = np.max(np.abs(found - serial) / np.maximum(np.abs(serial), 1.0))
    print(f"from the serial gradient     {difference:.0e}")
    assert difference < 1e-12
