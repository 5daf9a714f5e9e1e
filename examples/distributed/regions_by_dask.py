"""A hierarchical regression of a million rows on a Dask cluster: `python examples/distributed/regions_by_dask.py`.

Two numbers behind the command are the rows and those of a chunk.

Each of 200 regions has an intercept of its own, drawn from one distribution. The log posterior is plain NumPy. Its
arguments are Dask arrays, so its gradient is one, too: a graph of tasks, of which the workers compute 50,000 rows at a
time. In the third gradient a worker dies on the way; Dask computes what it had computed again.
"""

import os
import sys
import tempfile
import time

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

import contad

ROWS, REGIONS, CHUNK = 1_000_000, 200, 50_000


def log_posterior(p, region, x, y):
    centre, log_spread, slope, log_sigma = p[0], p[1], p[2], p[3]
    intercepts = centre + np.exp(log_spread) * p[4:]  # p[4:] are standard normal
    z = (y - intercepts[region] - slope * x) * np.exp(-log_sigma)
    return -0.5 * np.sum(z**2) - y.size * log_sigma - 0.5 * np.sum(p[4:] ** 2) - 0.5 * np.sum(p[:4] ** 2)


def draw_rows(rows, chunk):
    """Columns that the workers draw, chunk by chunk."""
    rng = da.random.default_rng(4)
    region, x = rng.integers(REGIONS, size=rows, chunks=chunk), rng.normal(size=rows, chunks=chunk)
    effects = da.from_array(np.random.default_rng(5).normal(size=REGIONS))
    return region, x, 1.0 + 0.5 * effects[region] + 0.3 * x + rng.normal(0.0, 0.8, rows, chunks=chunk)


def kill_once(y, file):
    """y; the first worker that comes here dies."""
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return y
    os._exit(1)


def measure_peak():
    """The most memory that this process has used, in MB."""
    import resource  # which Windows lacks

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def compare(rows=ROWS, chunk=CHUNK):
    """The largest difference of the gradients from the serial one, over sizes."""
    p = np.concatenate([[0.9, -0.6, 0.25, -0.2], np.linspace(-1.5, 1.5, REGIONS)])
    differences = []
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with LocalCluster(**options) as cluster, Client(cluster) as client, tempfile.TemporaryDirectory() as folder:
        region, x, y = columns = draw_rows(rows, chunk)
        serial = contad.grad(log_posterior)(p, *dask.compute(*columns))
        dying = y.map_blocks(kill_once, os.path.join(folder, "killed"), meta=np.empty(0))
        for label, target in (("first", y), ("again", y), ("and a worker dies", dying)):
            start = time.perf_counter()
            value, gradient = contad.value_and_grad(log_posterior)(da.from_array(p), region, x, target)  # no number yet
            value, found = dask.compute(value, gradient)
            seconds = time.perf_counter() - start
            peaks = ", ".join(f"{peak:.0f}" for peak in client.run(measure_peak).values())
            print(f"{label:<20} {seconds:6.2f} s   peak of a worker {peaks} MB")
            differences.append(np.max(np.abs(found - serial) / np.maximum(np.abs(serial), 1.0)))
    return max(differences)


if __name__ == "__main__":
    difference = compare(*map(int, sys.argv[1:]))
    print(f"from the serial gradient     {difference:.0e}")
    assert difference < 1e-10
