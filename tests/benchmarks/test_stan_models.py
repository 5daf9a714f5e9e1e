"""posteriordb beside other tools: wrong gradients are noticed, and models written anew have Stan's gradients."""

import json
import os
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmarks import stan_models
from benchmarks.stan_models import CLOSE, CONTAD, MODULES, Posterior
from benchmarks.topics.posteriordb import WRONG, make_row, summarise

SCHOOLS = """
data { int<lower=0> J; array[J] real y; array[J] real<lower=0> sigma; }
parameters { vector[J] theta_trans; real mu; real<lower=0> tau; }
model {
  theta_trans ~ normal(0, 1);
  y ~ normal(theta_trans * tau + mu, sigma);
  mu ~ normal(0, 5);
  tau ~ cauchy(0, 5);
}
"""
NAME = "schools-eight_schools_noncentered"
DATA = {"J": 3, "y": [2.0, -1.0, 5.0], "sigma": [1.0, 2.0, 3.0]}


@pytest.fixture
def clone(tmp_path):
    """A clone of posteriordb with one posterior."""
    folders = [tmp_path / part for part in ("posteriors", "models/stan", "data/data")]
    for folder in folders:
        folder.mkdir(parents=True)
    about = {"model_name": "eight_schools_noncentered", "data_name": "schools"}
    (folders[0] / f"{NAME}.json").write_text(json.dumps(about))
    (folders[1] / "eight_schools_noncentered.stan").write_text(SCHOOLS)
    with zipfile.ZipFile(folders[2] / "schools.json.zip", "w") as archive:
        archive.writestr("schools.json", json.dumps(DATA))
    return tmp_path


def prepare(factor):
    """A tool whose gradient of a sum of cubes is off by a factor."""

    def repeat(u, slope, calls):
        slope[:] = 3.0 * factor * u**2
        return 0

    return lambda posterior, folder: repeat


@pytest.mark.parametrize(("tool", "is_timed"), [("numpyro", False), ("stanli", True)])
def test_a_wrong_gradient_is_noticed(clone, monkeypatch, tool, is_timed):
    """A model that was written anew is not timed then."""
    tools = {CONTAD: prepare(1.0), tool: prepare(1.0 + 1e-8)}
    monkeypatch.setattr(stan_models, "TOOLS", tools)
    monkeypatch.setattr(stan_models, "has_model", lambda tool, posterior: True)
    monkeypatch.setattr(stan_models, "count_numbers", lambda posterior: 5)
    monkeypatch.setattr(stan_models, "measure_apart", lambda *args: 10**6)
    found = stan_models.measure(clone, NAME, list(tools))["tools"]
    assert found[tool if tool in MODULES else CONTAD]["error"] == pytest.approx(1e-8, rel=1e-6)
    assert ("seconds" in found[tool]) is is_timed and found[CONTAD]["seconds"] > 0.0
    assert (f"of {tool}" in make_row(found)) is is_timed
    row = make_row(found)
    assert WRONG in row["error"] and row["MB"] == 1.0
    assert any(NAME in line and WRONG in line for line in summarise({"": {"table": {NAME: row}}}))


def test_solvers_get_tight_tolerances(clone, tmp_path):
    posterior = Posterior(clone, NAME)
    assert posterior.tighten(tmp_path / "tight") is posterior
    head = "x = integrate_ode_rk45(f, y[1, 2], 0, ts, rep_array(0.0, 2), r, {1, g(2, 3)}"
    for end in ("); y = 0;", ", 1e-5, max({a, b}), 5e2); y = 0;"):
        posterior.program.write_text(head + end)
        tight = posterior.tighten(tmp_path / f"tight {len(end)}")
        assert tight.program.read_text() == f"{head}, {', '.join(stan_models.TIGHT)}); y = 0;"
        assert tight.program.stem == posterior.program.stem and tight.data is posterior.data


@pytest.mark.skipif(not find_spec("stanli"), reason="stanli is not installed")
def test_a_posterior_is_measured(clone):
    tools = [CONTAD, "stanli", *filter(find_spec, MODULES)]
    found = stan_models.measure(clone, NAME, tools)["tools"]
    assert list(found) == tools
    for figures in found.values():
        assert figures["error"] <= CLOSE
        assert figures["seconds"] > 0.0 and figures["first"] > 0.0 and figures["memory"] > 1e5


def list_models():
    """The models of the other tools that are installed, with the posteriors in a clone."""
    folder = Path(os.environ.get("POSTERIORDB", "."))
    posteriors = [(p, Posterior(folder, p)) for p in stan_models.list_posteriors(folder)] if folder.name else []
    return [
        (tool, name) for tool in MODULES if find_spec(tool) for name, x in posteriors if stan_models.has_model(tool, x)
    ]


@pytest.mark.skipif(not find_spec("stanli"), reason="stanli is not installed")
@pytest.mark.parametrize(("tool", "name"), list_models() if find_spec("stanli") else [])
def test_models_written_anew_have_the_gradient_of_stan(tool, name, tmp_path):
    posterior = Posterior(Path(os.environ["POSTERIORDB"]), name)
    u = np.random.default_rng(1).normal(size=stan_models.count_numbers(posterior)) * 0.3
    found = [np.zeros_like(u), np.zeros_like(u)]
    for which, slope in zip((tool, "stanli"), found, strict=True):
        assert stan_models.TOOLS[which](posterior, str(tmp_path))(u, slope, 1) == 0
    assert stan_models.compare(*found) <= CLOSE
