"""Draws from a twisted density by mici's dynamic Hamiltonian sampler, with contad's gradient.

    python examples/adapters/banana_by_mici.py
"""

import mici
import numpy as np

import contad


def minus_log_density(x):
    """A normal in x[0], and in x[1] around a parabola of it: the means are 0 and 1, the variances 1 and 3."""
    return 0.5 * x[0] ** 2 + 0.5 * (x[1] - x[0] ** 2) ** 2


def slope_and_value(x):
    """mici wants the gradient first."""
    value, gradient = contad.value_and_grad(minus_log_density)(x)
    return gradient, value


if __name__ == "__main__":
    system = mici.systems.EuclideanMetricSystem(minus_log_density, grad_neg_log_dens=slope_and_value)
    sampler = mici.samplers.DynamicMultinomialHMC(
        system, mici.integrators.LeapfrogIntegrator(system), np.random.default_rng(3)
    )
    run = sampler.sample_chains(500, 2000, [np.array([0.5, 0.3]), np.array([-0.5, 1.0])], display_progress=False,
                                adapters=[mici.adapters.DualAveragingStepSizeAdapter(0.9)])  # fmt: skip
    draws = np.stack(run.traces["pos"])
    print(f"mean {draws.mean(axis=(0, 1)).round(2)}, variance {draws.var(axis=(0, 1)).round(2)}")
    assert np.allclose(draws.mean(axis=(0, 1)), [0.0, 1.0], atol=0.15)
