"""Samplers and optimisers on eight schools and Neal's funnel, by the lines of the guide: their moments are right.

The guide's page shows a block for each tool, which is run here if the tool is installed.
"""

import functools
import importlib
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from contad.errors import UnsupportedError
from contad.interop import as_inference_data, as_nutpie, as_pytensor
from contad.stan import Model, cauchy_lpdf, normal_lpdf

pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("ignore")]  # of what tools import

PAGE = Path(__file__).parents[2] / "notes" / "guide" / "coming-from-stan.md"
FENCED = re.findall(r"^```py\nimport (\w+)(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
BLOCKS = {tool: f"import {tool}{rest}" for tool, rest in FENCED}
EFFECT = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


@njit
def log_schools(mu, tau, theta, y, sigma):
    prior = normal_lpdf(mu, 0.0, 5.0) + cauchy_lpdf(tau, 0.0, 5.0) + normal_lpdf(theta, mu, tau)
    return prior + normal_lpdf(y, theta, sigma)


@njit
def log_funnel(y, x):
    return normal_lpdf(y, 0.0, 3.0) + normal_lpdf(x, 0.0, np.exp(y / 2.0))


SCHOOLS = "real mu; real<lower=0> tau; vector<offset=mu, multiplier=tau>[8] theta;"
MODELS = {
    "schools": Model(SCHOOLS, log_schools, y=EFFECT, sigma=ERROR),
    "funnel": Model("real y; vector<offset=0, multiplier=exp(y / 2)>[9] x;", log_funnel),
}


def log_marginal(mu, tau):
    prior = normal_lpdf(mu, 0.0, 5.0) + cauchy_lpdf(tau, 0.0, 5.0)
    return prior + normal_lpdf(EFFECT, mu, np.sqrt(ERROR**2 + tau**2))


WITHOUT_EFFECTS = {"schools": Model("real mu; real<lower=0> tau;", log_marginal)}


@functools.cache
def moments(name):
    """(mean, standard deviation) of some parameters: of eight schools by quadrature without the effects."""
    if name == "funnel":
        return {"y": (0.0, 3.0)}
    mu, u = np.meshgrid(np.linspace(-25.0, 25.0, 401), np.linspace(-9.0, 6.0, 801), indexing="ij")
    tau, log_p = np.exp(u), u - 0.5 * (mu / 5.0) ** 2 - np.log1p(np.exp(2.0 * u) / 25.0)
    for effect, error in zip(EFFECT, ERROR, strict=True):
        variance = error**2 + tau**2
        log_p -= 0.5 * (effect - mu) ** 2 / variance + 0.5 * np.log(variance)
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    return {k: (np.sum(p * x), np.sqrt(np.sum(p * x**2) - np.sum(p * x) ** 2)) for k, x in (("mu", mu), ("tau", tau))}


def check_moments(name, values, weights=None):
    for parameter, (mean, deviation) in moments(name).items():
        x = np.ravel(values[parameter])
        found = np.average(x, weights=weights)
        assert found == pytest.approx(mean, abs=0.2 * deviation), parameter
        spread = np.sqrt(np.average((x - found) ** 2, weights=weights))
        assert spread == pytest.approx(deviation, rel=0.15), parameter


def run_block(tool, name):
    """What the guide's block of a tool leaves behind, with the model of this name as its `schools`."""
    pytest.importorskip(tool, reason=f"{tool} is not installed")
    known = {"np": np, "schools": MODELS[name]}
    exec(BLOCKS[tool], known)
    return known


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


def test_each_tool_of_the_table_has_a_block():
    assert set(BLOCKS) == {"arviz", "blackjax", "iminuit", "numpyro", "nutpie", "pymc", "scipy", "walnutpie"}


@pytest.mark.parametrize("tool", ["walnutpie", "nutpie", "blackjax", "numpyro", "pymc"])
def test_a_sampler_has_the_moments(tool, name):
    check_moments(name, run_block(tool, name)["posterior"])


@pytest.mark.parametrize("tool", ["scipy", "iminuit"])
def test_a_minimum_is_the_mode(tool, name):
    known = run_block(tool, name)
    approximation = MODELS[name].laplace(seed=1)
    deviations = np.sqrt(np.diag(approximation.covariance))
    np.testing.assert_allclose(known["u"], approximation.u, atol=0.01)
    if tool == "iminuit":
        np.testing.assert_allclose(known["fit"].errors, deviations, rtol=0.02)
    if name == "funnel":  # whose unconstrained numbers are normal
        np.testing.assert_allclose(deviations, [3.0, *np.ones(9)], rtol=1e-6)


def test_laplace_has_the_moments_with_its_weights(name):
    draws = WITHOUT_EFFECTS.get(name, MODELS[name]).laplace(seed=1).draw(4000, seed=2)
    check_moments(name, draws.values, draws.weights)


# ---- ArviZ -----------------------------------------------------------------------------------------------------------
def test_arviz_summarises_the_draws(name):
    arviz = pytest.importorskip("arviz", reason="arviz is not installed")
    model, known = MODELS[name], run_block("walnutpie", name)
    exec(BLOCKS["arviz"], known)
    summary = arviz.summary(known["data"], round_to="none")
    assert list(summary.index) == [
        x if not shape else f"{x}[{k}]" for x, shape in model.shapes.items() for k in range(*shape or [1])
    ]
    check_moments(name, {k: known["data"].posterior[k].values for k in model.names})
    for parameter, (mean, deviation) in moments(name).items():
        assert float(summary.loc[parameter, "mean"]) == pytest.approx(mean, abs=0.2 * deviation)
        assert float(summary.loc[parameter, "r_hat"]) < 1.03


def test_arviz_has_names_shapes_and_generated_quantities():
    pytest.importorskip("arviz", reason="arviz is not installed")

    def predict(mu, w, rng):
        return {"count": rng.poisson(3.0), "y_new": mu + rng.normal(size=2)}

    def log_density(mu, w):
        return -0.5 * (mu**2 + np.sum(w * w))

    model = Model("real mu; matrix[2, 3] w;", log_density, generated_quantities=predict)
    draws = np.random.default_rng(1).normal(size=(2, 5, 7))
    data = as_inference_data(
        model, draws, seed=3, dims={"w": ["row", "column"]}, coords={"row": ["a", "b"]}, observed_data={"z": np.ones(3)}
    )
    posterior, expected = data["posterior"], model.generated_quantities(draws, seed=3)
    assert posterior["w"].dims == ("chain", "draw", "row", "column") and list(posterior["row"].values) == ["a", "b"]
    np.testing.assert_array_equal(posterior["w"].values, model.constrain(draws)["w"])
    np.testing.assert_array_equal(posterior["y_new"].values, expected["y_new"])
    assert posterior["count"].shape == (2, 5) and posterior["count"].dtype.kind == "i"
    assert data["sample_stats"]["lp"].values[1, 2] == model.log_density(draws[1, 2])
    assert data["observed_data"]["z"].shape == (3,)
    for wrong in (draws[0], draws[:, :, :6], 1.0):
        with pytest.raises(ValueError, match=r"as_inference_data: draws must have shape \(chain, draw, 7\), got shape"):
            as_inference_data(model, wrong)


# ---- nutpie ----------------------------------------------------------------------------------------------------------
def test_nutpie_has_generated_quantities_and_rejections():
    nutpie = pytest.importorskip("nutpie", reason="nutpie is not installed")

    def log_half(x):
        if x[0] > 1.0:
            raise ValueError("too large")
        return -0.5 * np.sum(x * x)

    model = Model("vector[2] x;", log_half, generated_quantities=lambda x, rng: {"z": x + rng.normal(size=2)})
    compiled = as_nutpie(model, dims={"x": ("place",)}, coords={"place": ["a", "b"]})
    found = nutpie.sample(compiled, seed=1, draws=200, tune=200, chains=2, progress_bar=False).posterior
    assert found["x"].shape == found["z"].shape == (2, 200, 2) and found["x"].dims[-1] == "place"
    assert float(found["x"][..., 0].max()) <= 1.0 < float(found["x"][..., 1].max())
    assert np.std(found["z"].values - found["x"].values) == pytest.approx(1.0, abs=0.15)


# ---- PyTensor --------------------------------------------------------------------------------------------------------
@pytest.fixture
def pytensor():
    return pytest.importorskip("pytensor", reason="pytensor is not installed")


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "NUMBA"])
def test_pytensor_takes_values_and_slopes(pytensor, mode):
    model, u = MODELS["schools"], pytensor.tensor.dvector()
    operation = as_pytensor(model)
    scaled = operation(2.0 * u) ** 2
    run = pytensor.function([u], [scaled, pytensor.grad(scaled, u)], mode=mode)
    at = np.linspace(-0.4, 0.5, 10)
    value, slope = model.log_density_gradient(2.0 * at)
    found = run(at)
    assert float(found[0]) == pytest.approx(value**2, rel=1e-13)
    np.testing.assert_allclose(found[1], 4.0 * value * slope, rtol=1e-12)
    assert sum(type(node.op) is type(operation) for node in run.maker.fgraph.toposort()) == 1
    with pytest.raises(ValueError, match="Model: u must have 10 elements"):
        run(np.zeros(3))


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "NUMBA"])
@pytest.mark.parametrize("compile", [lambda f: f, njit], ids=["plain", "numba"])
def test_pytensor_takes_functions_and_rejections(pytensor, mode, compile):
    def positive(x):
        if x[0] < 0.0:
            raise ValueError("negative")
        return np.sum(x**3)

    u = pytensor.tensor.dvector()
    bare = as_pytensor(compile(positive))(u)
    run = pytensor.function([u], [bare, pytensor.grad(bare, u)], mode=mode)
    np.testing.assert_allclose(run([1.0, 2.0])[1], [3.0, 12.0])
    with pytest.raises(ValueError, match="negative"):
        run([-1.0, 2.0])
    of_model = as_pytensor(Model("vector[2] x;", compile(positive)))(u)
    run = pytensor.function([u], [of_model, pytensor.grad(of_model, u)], mode=mode)
    assert np.isnan(run([-1.0, 2.0])[0]) and np.isnan(run([-1.0, 2.0])[1]).all()
    assert run([1.0, 2.0])[0] == 9.0


def test_pytensor_refuses_second_derivatives_and_other_shapes(pytensor):
    u, operation = pytensor.tensor.dvector(), as_pytensor(MODELS["funnel"])
    with pytest.raises(UnsupportedError, match="as_pytensor: the function has first derivatives only"):
        pytensor.grad(pytensor.grad(operation(u), u).sum(), u)
    for wrong in (1.0, np.zeros((2, 10)), np.zeros(3)):
        with pytest.raises(ValueError, match="as_pytensor: x must be a vector of 10 numbers, got shape"):
            operation(wrong)


def test_an_operation_is_pickled_and_called_by_threads(pytensor):
    u, model = pytensor.tensor.dvector(), MODELS["funnel"]
    copied = pickle.loads(pickle.dumps(as_pytensor(model)))
    run = pytensor.function([u], copied(u), mode="FAST_COMPILE")
    assert float(run(np.ones(10))) == model.log_density(np.ones(10))
    op, node = copied, copied(u).owner
    points = np.random.default_rng(1).normal(size=(40, 10))

    def evaluate(point):
        outputs = [[None], [None]]
        op.perform(node, [point], outputs)
        return outputs[1][0]

    with ThreadPoolExecutor(4) as pool:
        for point, slope in zip(points, pool.map(evaluate, points), strict=True):
            np.testing.assert_array_equal(slope, model.log_density_gradient(point)[1])


def test_models_take_arrays_of_jax():
    numpy_of_jax = pytest.importorskip("jax.numpy", reason="jax is not installed")
    importlib.import_module("jax").config.update("jax_enable_x64", True)
    model, u = MODELS["schools"], np.linspace(-1.0, 1.0, 10)
    of_jax = numpy_of_jax.asarray(u)
    assert model.log_density(of_jax) == model.log_density(u)
    assert model.constrain(numpy_of_jax.stack([of_jax] * 2))["tau"].tolist() == [model.constrain(u)["tau"]] * 2
