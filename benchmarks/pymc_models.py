"""Models of posteriordb as a Stan user would write them with PyMC.

A function has the name of the Stan program, and its arguments have the names of the program's data. Parameters are
drawn in the order of the program's block, so that all tools take the same vector. PyMC maps it to parameters as Stan
does: exponentials, logistic functions and ordered vectors, with their Jacobians.
"""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pymc.pytensorf import join_nonshared_inputs


def eight_schools_noncentered(J, y, sigma):
    theta = pm.Normal("theta_trans", 0, 1, shape=J)
    mu = pm.Normal("mu", 0, 5)
    tau = pm.HalfCauchy("tau", 5)
    pm.Normal("y", theta * tau + mu, sigma, observed=y)


def blr(D, X, y):
    beta = pm.Normal("beta", 0, 10, shape=D)
    sigma = pm.HalfNormal("sigma", 10)
    pm.Normal("y", pt.dot(X, beta), sigma, observed=y)


def diamonds(K, X, Y):
    b = pm.Normal("b", 0, 1, shape=K - 1)
    intercept = pm.StudentT("Intercept", nu=3, mu=8, sigma=10)
    sigma = pm.HalfStudentT("sigma", nu=3, sigma=10)
    pm.Normal("Y", intercept + pt.dot(X[:, 1:] - X[:, 1:].mean(axis=0), b), sigma, observed=Y)


def GLM_Poisson_model(C, year):
    alpha = pm.Uniform("alpha", -20, 20)
    beta = [pm.Uniform(f"beta{k}", -10, 10) for k in (1, 2, 3)]
    rate = alpha + beta[0] * year + beta[1] * year**2 + beta[2] * year**3
    pm.Poisson("C", pt.exp(rate), observed=C)


def wells_interaction_model(switched, dist, arsenic):
    columns = np.stack([dist / 100, arsenic, dist / 100 * arsenic], axis=1)
    alpha = pm.Flat("alpha")
    beta = pm.Flat("beta", shape=3)
    pm.Bernoulli("switched", logit_p=alpha + pt.dot(columns, beta), observed=switched)


def radon_hierarchical_intercept_noncentered(J, county_idx, log_uppm, floor_measure, log_radon):
    raw = pm.Normal("alpha_raw", 0, 1, shape=J)
    beta = pm.Normal("beta", 0, 10, shape=2)
    mu_alpha = pm.Normal("mu_alpha", 0, 10)
    sigma_alpha = pm.HalfNormal("sigma_alpha", 1)
    sigma_y = pm.HalfNormal("sigma_y", 1)
    alpha = mu_alpha + sigma_alpha * raw
    mu = alpha[county_idx - 1] + log_uppm * beta[0] + floor_measure * beta[1]
    pm.Normal("log_radon", mu, sigma_y, observed=log_radon)


def irt_2pl(y):
    items, persons = y.shape
    sigma_theta = pm.HalfCauchy("sigma_theta", 2)
    theta = pm.Normal("theta", 0, sigma_theta, shape=persons)
    sigma_a = pm.HalfCauchy("sigma_a", 2)
    a = pm.LogNormal("a", 0, sigma_a, shape=items)
    mu_b = pm.Normal("mu_b", 0, 5)
    sigma_b = pm.HalfCauchy("sigma_b", 2)
    b = pm.Normal("b", mu_b, sigma_b, shape=items)
    pm.Bernoulli("y", logit_p=a[:, None] * (theta - b[:, None]), observed=y)


def low_dim_gauss_mix(y):
    mu = pm.Normal("mu", 0, 2, shape=2, transform=pm.distributions.transforms.ordered, initval=[-1, 1])
    sigma = pm.HalfNormal("sigma", 2, shape=2)
    theta = pm.Beta("theta", 5, 5)
    pm.NormalMixture("y", pt.stack([theta, 1 - theta]), mu, sigma, observed=y)


def gp_pois_regr(N, x, k):
    rho = pm.Gamma("rho", 25, 4)
    alpha = pm.HalfNormal("alpha", 2)
    f_tilde = pm.Normal("f_tilde", 0, 1, shape=N)
    covariance = alpha**2 * pt.exp(-0.5 * ((x[:, None] - x) / rho) ** 2) + 1e-10 * np.eye(N)
    pm.Poisson("k", pt.exp(pt.dot(pt.linalg.cholesky(covariance), f_tilde)), observed=k)


MODELS: dict[str, Callable[..., None]] = {
    f.__name__: f
    for f in (
        eight_schools_noncentered, blr, diamonds, GLM_Poisson_model, wells_interaction_model,
        radon_hierarchical_intercept_noncentered, irt_2pl, low_dim_gauss_mix, gp_pois_regr,
    )
}  # fmt: skip


def compile_gradient(name: str, data: Mapping[str, Any]) -> Callable[[np.ndarray, np.ndarray, int], int]:
    """A loop of calls of a compiled value and gradient at a point, which writes the gradient.

    It calls the virtual machine of PyTensor's function, as PyMC's samplers do to save the checks of a call.
    """
    write = MODELS[name]
    given = {key: np.asarray(x) if isinstance(x := data[key], list) else x for key in signature(write).parameters}
    with pm.Model() as model:
        write(**given)
    variables = [model.rvs_to_values[x] for x in model.free_RVs]
    density = model.logp()
    outputs, joined = join_nonshared_inputs(
        model.initial_point(), [density, *pytensor.grad(density, variables)], variables
    )
    slopes = [pt.flatten(bar) for bar in outputs[1:]]
    compiled = pytensor.function([joined], [outputs[0], pt.concatenate(slopes)])
    (given_point,), (_, found), call = compiled.input_storage, compiled.output_storage, compiled.vm

    def repeat(u: np.ndarray, slope: np.ndarray, calls: int) -> int:
        given_point.storage[0] = u
        for _ in range(calls):
            call()
        slope[:] = found.storage[0]
        return 0

    return repeat
