"""The examples run as scripts, and print what is known of their data."""

import functools
import os
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import toeplitz
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import multivariate_normal

import contad

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
ADAPTERS = sorted((ROOT / "examples" / "adapters").glob("*.py"))  # which need libraries of the extra `adapters`
DISTRIBUTED = sorted((ROOT / "examples" / "distributed").glob("*.py"))  # of the extra `distributed`
HEAVY = {  # libraries that the extra leaves out, and why; their examples run where they are installed
    "blackjax": "brings JAX, some 600 MB",
    "nutpie": "brings ArviZ, pandas, PyArrow and zarr, some 400 MB",
    "pytensor": "asks for a Numba no newer than 0.65.1, and so would take away the one that is tested",
}
MOST_LINES = 40
DEAR = {"echoes"}  # what takes long to compile
SAMPLING = {"hmc"}  # what takes longer to run than to compile
NILE = ROOT / "examples" / "nile.py"
HMC = ROOT / "examples" / "hmc.py"


@functools.cache
def script(path, *args):
    """The finished process of a script, run once."""
    warnings = ["-W", "error", "-W", "ignore::FutureWarning:arviz"]  # of a coming version: once a day, at its import
    lightly = [] if path.stem in SAMPLING else ["-m", "tests.judges.light_compiling"]
    command = [sys.executable, *warnings, *lightly, str(path), *args]
    # A worker whose scheduler closes before its heartbeat is answered logs that as an error.
    environment = {**os.environ, "DASK_LOGGING__DISTRIBUTED": "critical"}
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=300, check=False)


def library_of(path):
    return path.stem.rpartition("_by_")[2]


@pytest.mark.parametrize(
    "path", [pytest.param(path, marks=[pytest.mark.long] * (path.stem in DEAR)) for path in EXAMPLES],
    ids=lambda path: path.name,
)  # fmt: skip
def test_example_runs(path):
    done = script(path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.adapters
@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: path.name)
def test_example_of_an_adapter_runs(path):
    if (library := library_of(path)) in HEAVY and find_spec(library) is None:
        pytest.skip(f"{library} is not in the extra: it {HEAVY[library]}")
    done = script(path)
    assert (done.returncode, done.stderr) == (0, "") and len(done.stdout.splitlines()) >= 1


@pytest.mark.adapters
@pytest.mark.parametrize("path", DISTRIBUTED, ids=lambda path: path.name)
def test_a_sum_on_a_cluster_is_the_serial_sum(path):
    done = script(path, "40_000", "10_000")
    assert (done.returncode, done.stderr) == (0, "")


def test_examples_of_adapters_are_short_and_named_by_their_library():
    for path in ADAPTERS:
        source = path.read_text()
        assert len(source.splitlines()) <= MOST_LINES and f"python examples/adapters/{path.name}" in source
    light = {"iminuit", "ipopt", "lmfit", "mici", "nlopt", "sundials", "walnutpie"}
    assert {library_of(path) for path in ADAPTERS} == light | set(HEAVY)


# ---- the Nile --------------------------------------------------------------------------------------------------------
def printed(output):
    """{model: {line: numbers}} of what the Nile's example prints."""
    found = {}
    for model, lines in re.findall(r"^(\w.*)\n((?:  .*\n)+)", output, re.MULTILINE):
        pairs = re.findall(r"^  (\w+(?: \w+)*) {2,}(.*)$", lines, re.MULTILINE)
        found[model] = {name: [float(x) for x in re.findall(r"-?\d[\d.]*(?:e-?\d+)?", text)] for name, text in pairs}
    return found


def reference(model, y):
    """Differences of the flows, which are stationary, and the parts of their covariance, one for each variance."""
    if model == "local level":
        order, rows = 1, [(2.0, -1.0), (1.0,)]
    else:
        order, rows = 2, [(6.0, -4.0, 1.0), (2.0, -1.0), (1.0,)]
    d = np.diff(y, order)
    return d, np.array([toeplitz(np.pad(row, (0, len(d) - len(row)))) for row in rows])


def dense_log_likelihood(model, y, variances):
    """The diffuse log likelihood without a filter: that of the differences."""
    d, parts = reference(model, y)
    return multivariate_normal.logpdf(d, cov=np.tensordot(variances, parts, 1))


def dense_gradient(model, y, variances):
    """The gradient with respect to the log variances, by matrices."""
    d, parts = reference(model, y)
    inverse = np.linalg.inv(np.tensordot(variances, parts, 1))
    u = inverse @ d
    return np.multiply(variances, [u @ part @ u - np.trace(inverse @ part) for part in parts]) / 2


def test_nile_prints_the_known_estimates():
    found = printed(script(NILE).stdout)
    assert found["local level"]["variances"] == pytest.approx([15099, 1469.1], rel=1e-4)
    assert found["local level"]["log likelihood"] == [pytest.approx(-632.5456, abs=1e-4)]
    for lines in found.values():
        assert 0.0 < lines["differences"][0] < 1e-6
        assert 5 <= lines["gradients"][0] <= 100


@pytest.mark.parametrize("model", ["local level", "local linear trend"])
def test_nile_prints_a_maximum(model):
    y = runpy.run_path(str(NILE))["flow"]
    found = printed(script(NILE).stdout)[model]
    variances = np.array(found["variances"])
    greatest = dense_log_likelihood(model, y, variances)
    assert found["log likelihood"][0] == pytest.approx(greatest, abs=1e-3)
    for step in np.diag(0.02 * variances + 0.5):  # the slope's variance is at its least value
        assert dense_log_likelihood(model, y, variances + step) < greatest - 1e-5
    for step in np.diag(0.02 * variances)[:2]:
        assert dense_log_likelihood(model, y, variances - step) < greatest - 1e-5


@pytest.mark.parametrize(
    ("model", "variances"), [("local level", [9e3, 4e3]), ("local linear trend", [9e3, 2e3, 150.0])]
)
def test_nile_gradient_is_that_of_the_dense_likelihood(model, variances):
    example = runpy.run_path(str(NILE))
    p, y, filtered = np.log(variances), example["flow"], example[model.replace(" ", "_")]
    expected = dense_gradient(model, y, variances)
    assert np.min(np.abs(expected)) > 0.1
    assert -example["loss"](p, y, filtered) == pytest.approx(dense_log_likelihood(model, y, variances), rel=1e-10)
    assert -np.array(contad.grad(example["loss"])(p, y, filtered), dtype=float) == pytest.approx(expected, rel=1e-8)


def test_nile_with_another_flow_has_other_estimates(tmp_path):
    source = NILE.read_text()
    assert source.count("[831, 726, 456,") == 1  # 1913
    path = tmp_path / "nile.py"
    path.write_text(source.replace("[831, 726, 456,", "[831, 726, 756,"))
    done = script(path)
    assert done.returncode == 1
    assert "AssertionError: not the book's estimates" in done.stderr
    y = runpy.run_path(str(path))["flow"]
    assert y[1913 - 1871] == 756.0
    found = printed(done.stdout)["local level"]
    start = np.log([1e4, 1e3])
    best = minimize(lambda p: -dense_log_likelihood("local level", y, np.exp(p)), start, method="Nelder-Mead")
    assert found["variances"] == pytest.approx(np.exp(best.x), rel=1e-3)
    assert found["log likelihood"] == [pytest.approx(-best.fun, abs=1e-3)]
    assert abs(found["variances"][0] / 15099 - 1.0) > 0.05


# ---- Hamiltonian Monte Carlo -----------------------------------------------------------------------------------------
def hand_written(w, X, y):
    """The log posterior of the logistic regression, its gradient and its Hessian, in NumPy."""
    logit = X @ w
    p = expit(logit)
    value = np.sum(y * logit - np.logaddexp(0.0, logit)) - 0.5 * np.sum((w / 2.5) ** 2)
    return value, X.T @ (y - p) - w / 2.5**2, -(X.T * (p * (1 - p))) @ X - np.eye(len(w)) / 2.5**2


def test_hmc_draws_from_the_posterior():
    output = script(HMC).stdout  # first: what it keeps on disk is of a module that other processes can import
    example = runpy.run_path(str(HMC))
    X, y, names = example["X"], example["y"], example["names"]
    w = np.linspace(-0.5, 0.7, len(names))
    value, gradient = contad.value_and_grad(example["log_posterior"])(w, X, y)
    expected = hand_written(w, X, y)
    assert value == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-10)
    found = {
        name: (float(mean), float(sd))
        for name, mean, sd in re.findall(r"^(\w+) +(-?\d.*) \+- (.*)$", output, re.MULTILINE)
    }
    assert list(found) == names
    mode = minimize(
        lambda w: -hand_written(w, X, y)[0], np.zeros(len(w)), jac=lambda w: -hand_written(w, X, y)[1], method="BFGS"
    ).x
    sd = np.sqrt(np.diag(np.linalg.inv(-hand_written(mode, X, y)[2])))
    mean, spread = np.array([found[name] for name in names]).T
    assert np.max(np.abs(mean - mode) / sd) < 0.5  # the posterior is nearly normal, and a little skewed
    assert np.max(np.abs(spread / sd - 1.0)) < 0.2
