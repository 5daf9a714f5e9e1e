"""Failures of ten pumps, whose rates have a common distribution, by nutpie's NUTS, with draws in ArviZ's form.

    python examples/adapters/pumps_by_nutpie.py

Data and model: George, Makov & Smith (1993).
"""

import math

import numpy as np
import nutpie
from nutpie.compiled_pyfunc import from_pyfunc

import contad

HOURS = np.array([94.3, 15.7, 62.9, 126.0, 5.24, 31.4, 1.05, 1.05, 2.1, 10.5])  # in thousands
FAILURES = np.array([5.0, 1.0, 5.0, 14.0, 3.0, 19.0, 1.0, 1.0, 4.0, 22.0])


def log_density(log):
    """Rates are Gamma(alpha, beta), alpha is Exponential(1), beta Gamma(0.1, 1), all of them by their logarithms."""
    alpha, beta, rate = np.exp(log["alpha"]), np.exp(log["beta"]), np.exp(log["rate"])
    prior = log["alpha"] - alpha + 0.1 * log["beta"] - beta + 10.0 * (alpha * log["beta"] - math.lgamma(alpha))
    return prior + np.sum((alpha + FAILURES) * log["rate"] - (beta + HOURS) * rate)


def draw(x):
    return {name: np.asarray(np.exp(log)) for name, log in model.unravel(x).items()}


if __name__ == "__main__":
    model = contad.flat(log_density, {"alpha": 0.0, "beta": 0.0, "rate": np.zeros(10)})
    names, shapes = zip(*model.unravel.shapes.items(), strict=True)
    compiled = from_pyfunc(
        len(model.x0), lambda: model.value_and_grad, lambda *seeds: draw, ["float64"] * 3, shapes, names,
        dims={"rate": ("pump",)}, coords={"pump": np.arange(1, 11)},
    )  # fmt: skip
    trace = nutpie.sample(compiled, draws=1000, chains=2, seed=1, progress_bar=False)
    print(mean := trace.posterior.mean(("chain", "draw")))
    assert abs(mean["alpha"] - 0.697) < 0.1 and abs(mean["rate"][9] - 1.990) < 0.1  # by quadrature
