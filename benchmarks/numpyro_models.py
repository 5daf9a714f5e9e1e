"""Models of posteriordb as a Stan user would write them for JAX, with numpyro's distributions.

A function has the name of the Stan program, and its arguments have the names of the program's data. Parameters are
drawn in the order of the program's block, so that all tools take the same vector. numpyro maps it to parameters as Stan
does: exponentials, logistic functions and ordered vectors, with their Jacobians.
"""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax.nn import logsumexp
from numpyro import factor, handlers, sample
from numpyro.distributions import biject_to, constraints
from numpyro.infer import init_to_uniform
from numpyro.infer.util import potential_energy


def improper(support: Any, shape: tuple[int, ...] = ()) -> dist.Distribution:
    """No prior."""
    return dist.ImproperUniform(support, shape, ())


def half(name: str, prior: dist.Distribution, shape: tuple[int, ...] = ()) -> jax.Array:
    """A positive parameter with the upper half of a prior: numpyro truncates Student's t only with another package."""
    x = sample(name, improper(constraints.positive, shape))
    factor(f"prior of {name}", prior.log_prob(x).sum())
    return x


def eight_schools_noncentered(J, y, sigma):
    theta = sample("theta_trans", dist.Normal(0, 1).expand([J]))
    mu = sample("mu", dist.Normal(0, 5))
    tau = sample("tau", dist.HalfCauchy(5))
    sample("y", dist.Normal(theta * tau + mu, sigma), obs=y)


def blr(D, X, y):
    beta = sample("beta", dist.Normal(0, 10).expand([D]))
    sigma = sample("sigma", dist.HalfNormal(10))
    sample("y", dist.Normal(X @ beta, sigma), obs=y)


def diamonds(K, X, Y):
    centred = X[:, 1:] - X[:, 1:].mean(axis=0)
    b = sample("b", dist.Normal(0, 1).expand([K - 1]))
    intercept = sample("Intercept", dist.StudentT(3, 8, 10))
    sigma = half("sigma", dist.StudentT(3, 0, 10))
    sample("Y", dist.Normal(intercept + centred @ b, sigma), obs=Y)


def GLM_Poisson_model(C, year):
    alpha = sample("alpha", dist.Uniform(-20, 20))
    beta = [sample(f"beta{k}", dist.Uniform(-10, 10)) for k in (1, 2, 3)]
    rate = alpha + beta[0] * year + beta[1] * year**2 + beta[2] * year**3
    sample("C", dist.Poisson(jnp.exp(rate)), obs=C)


def nes(partyid7, real_ideo, race_adj, educ1, gender, income, age_discrete):
    beta = sample("beta", improper(constraints.real, (9,)))
    sigma = sample("sigma", improper(constraints.positive))
    ages = [age_discrete == k for k in (2, 3, 4)]
    columns = jnp.stack([jnp.ones(len(income)), real_ideo, race_adj, *ages, educ1, gender, income], axis=1)
    sample("partyid7", dist.Normal(columns @ beta, sigma), obs=partyid7)


def wells_interaction_model(switched, dist_, arsenic):
    far = dist_ / 100
    alpha = sample("alpha", improper(constraints.real))
    beta = sample("beta", improper(constraints.real, (3,)))
    columns = jnp.stack([far, arsenic, far * arsenic], axis=1)
    sample("switched", dist.Bernoulli(logits=alpha + columns @ beta), obs=switched)


def radon_hierarchical_intercept_noncentered(J, county_idx, log_uppm, floor_measure, log_radon):
    raw = sample("alpha_raw", dist.Normal(0, 1).expand([J]))
    beta = sample("beta", dist.Normal(0, 10).expand([2]))
    mu_alpha = sample("mu_alpha", dist.Normal(0, 10))
    sigma_alpha = sample("sigma_alpha", dist.HalfNormal(1))
    sigma_y = sample("sigma_y", dist.HalfNormal(1))
    alpha = mu_alpha + sigma_alpha * raw
    mu = alpha[county_idx - 1] + log_uppm * beta[0] + floor_measure * beta[1]
    sample("log_radon", dist.Normal(mu, sigma_y), obs=log_radon)


def seeds_model(n, N, x1, x2):
    alpha0, alpha1, alpha12, alpha2 = (sample(f"alpha{k}", dist.Normal(0, 1e3)) for k in (0, 1, 12, 2))
    tau = sample("tau", dist.Gamma(1e-3, 1e-3))
    b = sample("b", dist.Normal(0, 1 / jnp.sqrt(tau)).expand([len(n)]))
    logits = alpha0 + alpha1 * x1 + alpha2 * x2 + alpha12 * x1 * x2 + b
    sample("n", dist.Binomial(N, logits=logits), obs=n)


def irt_2pl(y):
    items, persons = y.shape
    sigma_theta = sample("sigma_theta", dist.HalfCauchy(2))
    theta = sample("theta", dist.Normal(0, sigma_theta).expand([persons]))
    sigma_a = sample("sigma_a", dist.HalfCauchy(2))
    a = sample("a", dist.LogNormal(0, sigma_a).expand([items]))
    mu_b = sample("mu_b", dist.Normal(0, 5))
    sigma_b = sample("sigma_b", dist.HalfCauchy(2))
    b = sample("b", dist.Normal(mu_b, sigma_b).expand([items]))
    sample("y", dist.Bernoulli(logits=a[:, None] * (theta - b[:, None])), obs=y)


def logistic_regression_rhs(d, y, x, scale_icept, scale_global, nu_global, nu_local, slab_scale, slab_df):
    beta0 = sample("beta0", dist.Normal(0, scale_icept))
    z = sample("z", dist.Normal(0, 1).expand([d]))
    tau = half("tau", dist.StudentT(nu_global, 0, scale_global * 2))
    squares = half("lambda", dist.StudentT(nu_local, 0, 1), (d,)) ** 2
    c2 = slab_scale**2 * sample("caux", dist.InverseGamma(0.5 * slab_df, 0.5 * slab_df))
    beta = z * jnp.sqrt(c2 * squares / (c2 + tau**2 * squares)) * tau
    sample("y", dist.Bernoulli(logits=beta0 + x @ beta), obs=y)


def garch11(y, sigma1):
    mu = sample("mu", improper(constraints.real))
    alpha0 = sample("alpha0", improper(constraints.positive))
    alpha1 = sample("alpha1", improper(constraints.unit_interval))
    beta1 = sample("beta1", improper(constraints.interval(0, 1 - alpha1)))

    def step(sigma, before):
        sigma = jnp.sqrt(alpha0 + alpha1 * (before - mu) ** 2 + beta1 * sigma**2)
        return sigma, sigma

    _, sigma = jax.lax.scan(step, jnp.asarray(sigma1, float), y[:-1])
    sample("y", dist.Normal(mu, jnp.append(sigma1, sigma)), obs=y)


def arma11(y):
    mu = sample("mu", dist.Normal(0, 10))
    phi, theta = (sample(name, dist.Normal(0, 2)) for name in ("phi", "theta"))
    sigma = sample("sigma", dist.HalfCauchy(2.5))

    def step(error, pair):
        error = pair[1] - (mu + phi * pair[0] + theta * error)
        return error, error

    first = y[0] - (mu + phi * mu)
    _, errors = jax.lax.scan(step, first, (y[:-1], y[1:]))
    factor("errors", dist.Normal(0, sigma).log_prob(jnp.append(first, errors)).sum())


def low_dim_gauss_mix(y):
    mu = sample("mu", dist.ImproperUniform(constraints.ordered_vector, (), (2,)))
    factor("prior of mu", dist.Normal(0, 2).log_prob(mu).sum())
    sigma = sample("sigma", dist.HalfNormal(2).expand([2]))
    theta = sample("theta", dist.Beta(5, 5))
    parts = jnp.log(jnp.stack([theta, 1 - theta])) + dist.Normal(mu, sigma).log_prob(y[:, None])
    factor("y", logsumexp(parts, axis=1).sum())


def gp_pois_regr(N, x, k):
    rho = sample("rho", dist.Gamma(25, 4))
    alpha = sample("alpha", dist.HalfNormal(2))
    f_tilde = sample("f_tilde", dist.Normal(0, 1).expand([N]))
    covariance = alpha**2 * jnp.exp(-0.5 * ((x[:, None] - x) / rho) ** 2) + 1e-10 * jnp.eye(N)
    sample("k", dist.Poisson(jnp.exp(jnp.linalg.cholesky(covariance) @ f_tilde)), obs=k)


MODELS: dict[str, Callable[..., None]] = {
    f.__name__: f
    for f in (
        eight_schools_noncentered, blr, diamonds, GLM_Poisson_model, nes, wells_interaction_model,
        radon_hierarchical_intercept_noncentered, seeds_model, irt_2pl, logistic_regression_rhs, garch11, arma11,
        low_dim_gauss_mix, gp_pois_regr,
    )
}  # fmt: skip


def compile_gradient(name: str, data: Mapping[str, Any]) -> Callable[[np.ndarray, np.ndarray, int], int]:
    """A loop of calls of a compiled value and gradient at a point, which writes the gradient."""
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)  # no hand-over to another thread
    model = MODELS[name]
    given = {key: data[key.rstrip("_")] for key in signature(model).parameters}
    given = {key: jnp.asarray(x) if isinstance(x, list) else x for key, x in given.items()}
    seeded = handlers.substitute(handlers.seed(model, 0), substitute_fn=init_to_uniform)
    sites = handlers.trace(seeded).get_trace(**given)
    shapes = {
        key: jnp.shape(biject_to(site["fn"].support).inv(site["value"]))
        for key, site in sites.items()
        if site["type"] == "sample" and not site["is_observed"]
    }

    def log_density(u: jax.Array) -> jax.Array:
        parts, start = {}, 0
        for site, shape in shapes.items():
            size = int(np.prod(shape))
            parts[site], start = u[start : start + size].reshape(shape), start + size
        return -potential_energy(model, (), given, parts)

    gradient = jax.jit(jax.value_and_grad(log_density))

    def repeat(u: np.ndarray, slope: np.ndarray, calls: int) -> int:
        point = jnp.asarray(u)
        for _ in range(calls):
            _, bar = gradient(point)
        slope[:] = bar
        return 0

    return repeat
