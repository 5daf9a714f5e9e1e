"""The gallery's models beside the same densities of SciPy, with gradients by differences; the page has the figures."""

from pathlib import Path

import numpy as np
import pytest
from numba.extending import is_jitted
from scipy import stats
from scipy.integrate import solve_ivp
from scipy.special import expit, logsumexp

from contad.stan import Model
from contad.testing.differences import gradient_by_differences
from tests.judges.written import define
from tests.notes import documents

PAGE = Path(__file__).parents[2] / "notes" / "guide" / "stan-gallery.md"
norm, expon, gamma, poisson = stats.norm.logpdf, stats.expon.logpdf, stats.gamma, stats.poisson.logpmf


def read_models():
    """{name of the density: (declarations, density, data, figures that the page shows)}; nothing is compiled."""
    found, names = {}, {"__name__": "gallery"}
    for k, (_, source, _) in enumerate(documents.program(PAGE.read_text())):
        define(source.replace("print(at_a_point(model))", ""), f"<gallery {k}>", names)
        names["Model"] = lambda declarations, density, **data: (declarations, density, data)
        if documents.shown(source):
            declarations, density, data = names["model"]
            found[density.__name__] = declarations, density, data, documents.shown(source)[0]
    return found


MODELS = read_models()
IN_STAN = dict(zip(MODELS, documents.blocks(PAGE.read_text(), "stan"), strict=True))
LOOSE = {"lotka_volterra"}  # solved to a tolerance, and compiled: the solver takes Numba functions alone


def make_model(name):
    """The model of a plain function where that runs."""
    declarations, density, data, _ = MODELS[name]
    return Model(declarations, density.py_func if is_jitted(density) and name not in LOOSE else density, **data)


# ---- the same densities, by SciPy ------------------------------------------------------------------------------------
def linear_regression(v, x, y, K):
    prior = norm(v["alpha"], 0, 5) + sum(norm(v["beta"], 0, 2)) + expon(v["sigma"])
    return prior + sum(norm(y, v["alpha"] + x @ v["beta"], v["sigma"]))


def hierarchical_logistic(v, group, x, y, J):
    prior = norm(v["mu"], 0, 2) + norm(v["tau"]) + sum(norm(v["alpha"], v["mu"], v["tau"])) + norm(v["beta"])
    return prior + sum(stats.bernoulli.logpmf(y, expit(v["alpha"][group] + v["beta"] * x)))


def poisson_regression(v, exposure, x, y):
    prior = norm(v["alpha"], 0, 2) + sum(norm(v["beta"]))
    return prior + sum(poisson(y, exposure * np.exp(v["alpha"] + x @ v["beta"])))


def survival(v, x_dead, t_dead, x_alive, t_alive):
    dead, alive = (
        stats.weibull_min(v["shape"], scale=np.exp(v["alpha"] + v["beta"] * x)) for x in (x_dead, x_alive)
    )  # fmt: skip
    prior = gamma.logpdf(v["shape"], 2) + norm(v["alpha"], 0, 2) + norm(v["beta"])
    return prior + sum(dead.logpdf(t_dead)) + sum(alive.logsf(t_alive))


def eight_schools(v, y, sigma):
    prior = norm(v["mu"], 0, 5) + stats.cauchy.logpdf(v["tau"], 0, 5)
    return prior + sum(norm(v["theta"], v["mu"], v["tau"])) + sum(norm(y, v["theta"], sigma))


def varying_slopes(v, group, x, y, J):
    """The density of the Cholesky factor of two coefficients is that of their correlation r, 3 (1 - r^2) / 4."""
    r = v["L"][1, 0]
    prior = sum(norm(v["gamma"], 0, 2)) + np.log(0.75 * (1 - r * r)) + sum(expon(v["tau"])) + np.sum(norm(v["z"]))
    effects = np.array([[1, 0], [r, np.sqrt(1 - r * r)]]) @ v["z"] * v["tau"][:, np.newaxis]
    line = v["gamma"][0] + effects[0, group] + (v["gamma"][1] + effects[1, group]) * x
    return prior + expon(v["sigma"]) + sum(norm(y, line, v["sigma"]))


def mixture(v, y, K):
    prior = stats.dirichlet.logpdf(v["theta"], np.full(K, 2.0)) + sum(norm(v["mu"], 0, 5))
    prior += sum(stats.lognorm.logpdf(v["sigma"], 1))
    return prior + sum(np.log(stats.norm.pdf(y[:, np.newaxis], v["mu"], v["sigma"]) @ v["theta"]))


def change_point(v, y):
    prior = expon(v["early"], scale=2) + expon(v["late"], scale=2)
    rates = [np.where(np.arange(len(y)) < s, v["early"], v["late"]) for s in range(len(y))]
    return prior + logsumexp([sum(poisson(y, rate)) for rate in rates]) - np.log(len(y))


def hidden_markov(v, y):
    prior = sum(norm(v["mu"], 0, 3)) + expon(v["sigma"])
    prior += sum(stats.dirichlet.logpdf(row, np.full(3, 2.0)) for row in v["gamma"])
    forward = np.full(3, 1 / 3)
    for t, density in enumerate(stats.norm.pdf(y[:, np.newaxis], v["mu"], v["sigma"])):
        forward = (forward @ v["gamma"] if t else forward) * density
    return prior + np.log(sum(forward))


def gaussian_process(v, x, y):
    prior = stats.invgamma.logpdf(v["rho"], 5, scale=5) + norm(v["alpha"]) + norm(v["sigma"])
    covariance = v["alpha"] ** 2 * np.exp(-0.5 * (x[:, np.newaxis] - x) ** 2 / v["rho"] ** 2)
    covariance += v["sigma"] ** 2 * np.eye(len(x))
    return prior + stats.multivariate_normal.logpdf(y, np.zeros(len(x)), covariance)


def garch(v, sigma1, y):
    variances = [sigma1**2]
    for previous in y[:-1]:
        variances.append(v["alpha0"] + v["alpha1"] * (previous - v["mu"]) ** 2 + v["beta1"] * variances[-1])
    return sum(norm(y, v["mu"], np.sqrt(variances)))


def lotka_volterra(v, times, y):
    def growth(t, z):
        a, b, c, d = v["theta"]
        return [(a - b * z[1]) * z[0], (d * z[0] - c) * z[1]]

    z = solve_ivp(growth, times[[0, -1]], v["z_init"], "DOP853", times[1:], rtol=1e-9, atol=1e-9).y.T
    prior = sum(stats.lognorm.logpdf(v["theta"], 0.5, scale=np.exp(-1)))
    prior += sum(stats.lognorm.logpdf(v["z_init"], 1, scale=np.exp(0.5)))
    prior += sum(stats.lognorm.logpdf(v["sigma"], 1, scale=np.exp(-1)))
    return prior + np.sum(stats.lognorm.logpdf(y, v["sigma"], scale=z))


# ---- the comparison --------------------------------------------------------------------------------------------------
def test_there_are_twelve():
    assert len(MODELS) == 12
    text = PAGE.read_text()
    assert all(text.count(f"def {name}(") == 1 for name in MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_that_of_scipy(name):
    """The plain function has the derivatives of SciPy's density, and the page the figures of the compiled one."""
    declarations, _, data, shown = MODELS[name]
    model, jacobian = make_model(name), Model(declarations, lambda: 0.0, **data)
    given = {key: np.asarray(x) if isinstance(x, list) else x for key, x in data.items()}
    point = np.linspace(-0.4, 0.5, model.dimension)

    def by_scipy(u):
        u = np.array(u)
        return globals()[name](model.constrain(u), **given) + jacobian.log_density(u)

    expected, error = gradient_by_differences(by_scipy, point)
    value, gradient = model.log_density_gradient(point)
    assert value == pytest.approx(by_scipy(point), rel=1e-7 if name in LOOSE else 1e-11)
    allowed = 1e-6 if name in LOOSE else 1e-8
    np.testing.assert_array_less(np.abs(gradient - expected), allowed * np.max(np.abs(expected)) + 10.0 * error)
    assert np.max(error) < allowed * np.max(np.abs(expected))
    assert shown == f"{value:.4f} {np.linalg.norm(gradient):.4f}"


def declare(name, x):
    """The declaration of data in Stan."""
    sizes = ", ".join(map(str, x.shape))
    if x.dtype.kind == "i":
        return f"array[{sizes}] int {name};" if sizes else f"int {name};"
    return f"{'vector' if x.ndim == 1 else 'matrix'}[{sizes}] {name};" if sizes else f"real {name};"


@pytest.mark.parametrize("name", [name for name in MODELS if name != "hidden_markov"])  # stanli lacks its function
def test_a_model_is_that_of_stan(name):
    """The page's Stan program has the same gradient; the values differ, because `~` drops constants."""
    stanli = pytest.importorskip("stanli", reason="stanli, which runs programs of Stan, is not installed")
    declarations, _, data, _ = MODELS[name]
    data = {key: np.asarray(x) + (key == "group") for key, x in data.items()}
    if name == "eight_schools":
        data = {key: x.astype(float) for key, x in data.items()}
    functions, _, rest = IN_STAN[name].rpartition("model {")
    declared = "\n".join(declare(key, x) for key, x in data.items())
    program = f"{functions}data {{ {declared} }}\nparameters {{ {declarations} }}\nmodel {{{rest}"
    other = stanli.Model(stan_code=program, data={key: x.tolist() for key, x in data.items()})
    point = np.linspace(-0.4, 0.5, other.n_unconstrained)
    expected, found = other.log_prob_grad(point)[1], make_model(name).log_density_gradient(point)[1]
    scale = np.max(np.abs(expected))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=scale * (1e-6 if name in LOOSE else 1e-12))
