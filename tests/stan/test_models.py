"""Models: values and gradients beside SciPy and differences, in Numba and in Python, and what samplers ask for."""

import ctypes
import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.stats
from numba import njit

import contad
from contad import stan
from contad.stan import Model, model_text
from contad.stan.transforms import bounded, lower_bound, real, simplex

BLOCK = """
parameters {
  real mu;                    // the location
  real<lower=0> tau;
  vector<lower=low, upper=mu + 9>[J] theta;
  array[2] simplex[3] p;      /* shares,
                                 twice */
  matrix[2, J] w;
  real<lower=0, upper=1 - tau / (1 + tau)> rest;
}
"""
DATA = {"J": 3, "low": -4.0, "y": [2.8, 0.8, -0.3], "unused": 4}


@njit
def log_density(y, mu, tau, theta, p, w, rest):
    z = (y - theta) / tau
    squares = mu * mu + tau * tau + np.sum(z * z) + np.sum(w[1] * w[1] * y) + np.sum(w[0] * w[0])
    return -0.5 * squares - np.sum(theta * theta) + np.sum(np.log(p[1])) + 2.0 * np.log(p[0, 2]) + 3.0 * rest


OBJECTS = {
    "mu": real(), "tau": lower_bound(0.0), "theta": bounded(lambda p: p.low, lambda p: p.mu + 9.0, 3),
    "p": simplex(3).array(2), "w": real((2, 3)), "rest": bounded(0.0, lambda p: 1.0 - p.tau / (1.0 + p.tau)),
}  # fmt: skip
MODEL = Model(BLOCK, log_density, **DATA)
PLAIN = Model(BLOCK, log_density.py_func, **DATA)
U = np.random.default_rng(1).normal(size=MODEL.dimension)


def by_differences(f, u):
    steps = 1e-6 * np.eye(len(u))
    return np.array([(f(u + h) - f(u - h)) / 2e-6 for h in steps])


def free_numbers(u):
    """The elements of the values that determine them."""
    values = PLAIN.constrain(u) | {"p": PLAIN.constrain(u)["p"][:, :2]}
    return np.concatenate([np.ravel(x) for x in values.values()])


# ---- values and derivatives ------------------------------------------------------------------------------------------
def test_the_value_is_that_of_the_constrained_values_and_the_determinant():
    found = MODEL.log_density(U)
    without = log_density.py_func(np.array(DATA["y"]), **MODEL.constrain(U))
    assert MODEL.log_density(U, jacobian=False) == pytest.approx(without, rel=1e-13)
    determinant = np.linalg.slogdet(by_differences(free_numbers, U))[1]
    assert found - without == pytest.approx(determinant, abs=1e-6)
    assert PLAIN.log_density(U) == pytest.approx(found, rel=1e-13)


@njit
def twice(x):
    return 2.0 * x


def test_bounds_with_indices_choices_and_functions():
    """Each is an expression of earlier parameters in compiled code, too."""
    block = """
    matrix[3, 2] a; array[3] real<lower=low> b; vector<lower=a[, 2]>[3] c; vector<lower=a[2:, 1], upper=7>[2] d;
    vector<lower=c[places]>[2] e; real<lower=(a[1, 1] > 0 ? twice(a[1, 1]) : low[2])> f;
    """

    def density(a, b, c, d, e, f):
        return -np.sum(a * a) - np.sum(b) - np.sum(c * c) + np.sum(d) - np.sum(e) - f * f

    data = {"low": [0.5, -1.0, 2.0], "places": [3, 1]}
    model, plain = Model(block, njit(density), **data), Model(block, density, **data)
    u = np.random.default_rng(2).normal(size=model.dimension)
    for first in (0.8, -0.8):
        u[0] = first
        values = plain.constrain(u)
        assert np.all(np.array(values["b"]) > data["low"]) and np.all(values["c"] > values["a"][:, 1])
        assert np.all(values["e"] > values["c"][[2, 0]]) and values["f"] > (1.6 if first > 0 else -1.0)
        np.testing.assert_allclose(plain.unconstrain(values), u, rtol=1e-10)
        (value, gradient), (expected, slopes) = (m.log_density_gradient(u) for m in (model, plain))
        assert value == pytest.approx(expected, rel=1e-13)
        np.testing.assert_allclose(gradient, slopes, rtol=1e-12)


def test_derivatives():
    value, gradient = MODEL.log_density_gradient(U)
    assert value == MODEL.log_density(U)
    np.testing.assert_allclose(gradient, by_differences(PLAIN.log_density, U), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(PLAIN.log_density_gradient(U)[1], gradient, rtol=1e-12)
    np.testing.assert_allclose(PLAIN.log_density_gradient(list(U), jacobian=False)[1],
                               MODEL.log_density_gradient(list(U), jacobian=False)[1], rtol=1e-12)  # fmt: skip
    v = np.linspace(-1.0, 1.0, len(U))
    _, slopes, hessian = PLAIN.log_density_hessian(U)
    np.testing.assert_allclose(slopes, gradient, rtol=1e-12)
    np.testing.assert_allclose(hessian, by_differences(lambda u: PLAIN.log_density_gradient(u)[1], U), atol=1e-5)
    np.testing.assert_allclose(PLAIN.hvp(U, v), hessian @ v, rtol=1e-10, atol=1e-12)
    assert PLAIN.log_density_hessian_vector_product(U, v)[0] == pytest.approx(value, rel=1e-13)


@pytest.mark.long
def test_second_derivatives_in_compiled_code():
    v = np.linspace(-1.0, 1.0, len(U))
    hessian = PLAIN.log_density_hessian(U)[2]
    np.testing.assert_allclose(MODEL.log_density_hessian(U)[2], hessian, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(MODEL.hvp(U, v), hessian @ v, rtol=1e-9, atol=1e-10)


def test_bounds_may_be_functions_of_parameters():
    plain = Model(OBJECTS, log_density.py_func, **DATA)
    assert plain.log_density(U) == pytest.approx(MODEL.log_density(U), rel=1e-13)
    np.testing.assert_allclose(plain.unconstrain(plain.constrain(U)), U, rtol=1e-9)


@pytest.mark.long
def test_such_bounds_are_compiled():
    np.testing.assert_allclose(
        Model(OBJECTS, log_density, **DATA).log_density_gradient(U)[1], MODEL.log_density_gradient(U)[1], rtol=1e-12
    )


def test_long_sizes_are_values(monkeypatch):
    """So models of several sizes are one compiled function."""
    monkeypatch.setattr(model_text, "LITERAL", 1)
    texts = set()
    for n in (3, 5):
        data = DATA | {"J": n, "y": np.linspace(2.8, -0.3, n)}
        model, plain = Model(BLOCK, log_density, **data), Model(BLOCK, log_density.py_func, **data)
        texts.add(inspect.getsource(model.function.py_func))
        u = np.random.default_rng(n).normal(size=model.dimension)
        value, gradient = model.log_density_gradient(u)
        expected, slope = plain.log_density_gradient(u)
        assert value == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(gradient, slope, rtol=1e-10, atol=1e-12)
    assert len(texts) == 1
    with pytest.raises(ValueError, match="u must have dimension elements"):
        model.function(u[1:], True, *model.given)


def test_a_model_of_two_numbers_is_that_of_scipy():
    def normal(x, sigma, y):
        return stan.normal_lpdf(x, 0.0, 2.0) + stan.exponential_lpdf(sigma, 1.5) + stan.normal_lpdf(y, x, sigma)

    model = Model("real x; real<lower=0> sigma;", normal, y=[1.3, 0.2])
    x, sigma = 0.4, np.exp(-0.7)
    expected = scipy.stats.norm.logpdf(x, 0.0, 2.0) + scipy.stats.expon.logpdf(sigma, scale=1.0 / 1.5)
    expected += np.sum(scipy.stats.norm.logpdf([1.3, 0.2], x, sigma)) - 0.7
    assert model.log_density([0.4, -0.7]) == pytest.approx(expected, rel=1e-13)


def test_a_derivative_of_a_function_that_calls_a_model():
    for model in (MODEL, PLAIN):
        found = contad.grad(lambda u, model=model: model.log_density(2.0 * u))(0.5 * U)
        np.testing.assert_allclose(found, 2.0 * MODEL.log_density_gradient(U)[1], rtol=1e-12)


@njit
def one_of_two_branches(x, y, is_heavy, n):
    scale = 2.0 if n > 3 else 1.0
    if is_heavy == 1:
        return -2.0 * np.sum(np.log(1.0 + (y - x) ** 2)) / scale
    return -0.5 * np.sum((y - x) ** 2) / scale


def test_integers_in_conditions_are_constants():
    """Compiled code has only the branches that run for these data."""
    y, u = np.array([0.3, -1.2]), np.array([0.5])
    for is_heavy in (0, 1):
        model = Model("real x;", one_of_two_branches, y=y, is_heavy=is_heavy, n=2)
        text = contad.source(contad.value_and_grad(model.function), u, True, *model.given)
        assert ("log" in text.partition("def run")[2]) == bool(is_heavy)
        assert len(model.given) == 1
        assert model.log_density(u) == one_of_two_branches.py_func(u[0], y, is_heavy, 2)
        value, slope = model.log_density_gradient(u)
        assert value == pytest.approx(model.log_density(u), rel=1e-14)
        np.testing.assert_allclose(slope, by_differences(model.log_density, u), rtol=1e-7)


def test_names_of_what_a_model_calls():
    model = Model("real len; array[3] simplex[2] zeros;", lambda len_, zeros: len_ + zeros[1, 0])
    assert model.log_density(np.zeros(4), jacobian=False) == 0.5


def test_constants_are_left_out_where_the_density_says_so():
    def density(x, propto):
        return stan.normal_lpdf(x, 0.0, 2.0, propto)

    model = Model("real x;", density)
    whole = scipy.stats.norm.logpdf(0.4, 0.0, 2.0)
    assert model.log_density([0.4], propto=False) == pytest.approx(whole)
    assert model.log_density([0.4]) == pytest.approx(whole + 0.5 * np.log(2.0 * np.pi))


def test_u_is_not_written_to():
    @njit
    def scaled(x, s):
        x *= s
        return -np.sum(x * x)

    for function in (scaled, scaled.py_func):
        u = np.array([0.5, -1.0, 0.3])
        model = Model("vector[2] x; real s;", function)
        assert model.log_density(u) == pytest.approx(-0.1125)
        np.testing.assert_allclose(model.log_density_gradient(u)[1], [-0.09, 0.18, -0.75], rtol=1e-12)
        assert list(u) == [0.5, -1.0, 0.3]


def test_data_stay_as_they_were_given():
    @njit
    def shifted(x, y, n):
        y[0] += 1.0
        n[0] += 1
        return -n[0] - (y[0] + y[1] - x) ** 2

    def generate(x, y):
        y[0] += 1.0
        return {"z": y[0] + x}

    for function in (shifted, shifted.py_func, lambda *, x, y, n: shifted.py_func(x, n=n, y=y)):
        y, n = np.array([0.5, 1.0]), np.array([2])
        model = Model("real x;", function, generated_quantities=generate, y=y, n=n)
        y[1] = n[0] = 7.0
        u = np.array([0.5])
        for _ in range(2):
            assert model.log_density(u) == -7.0
            assert model.log_density_gradient(u)[1] == pytest.approx([4.0])
            assert model.generated_quantities(u) == {"z": 2.0}
        slopes = contad.grad(model.function, 2)(u, True, *model.given)
        np.testing.assert_allclose(slopes, [-4.0, -4.0], rtol=1e-12)
    y = np.ones(3)
    model = Model(BLOCK, log_density, **DATA | {"y": y})
    y[:] = 7.0
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).data["y"], np.ones(3))


def test_models_of_no_numbers():
    for model in (Model("vector[0] z;", lambda z: 1.0), Model({}, lambda: 1.0)):
        assert model.log_density_gradient(np.zeros(0))[0] == 1.0
        assert all(x.shape == (3, 0) for x in model.constrain(np.zeros((3, 0))).values())
        assert model.param_constrain(np.zeros(0)).shape == model.param_unconstrain([]).shape == (0,)


def test_a_name_that_python_reserves():
    model = Model("real<lower=lambda> in;", lambda in_, lambda_: in_ * lambda_, **{"lambda": 2.0})
    assert model.log_density([0.0], jacobian=False) == 6.0
    assert model.constrain([0.0]) == {"in": 3.0}


# ---- values ----------------------------------------------------------------------------------------------------------
def test_values_are_in_stans_order():
    values = MODEL.constrain(U)
    assert list(values) == MODEL.names == ["mu", "tau", "theta", "p", "w", "rest"]
    assert {name: np.shape(x) for name, x in values.items()} == MODEL.shapes
    np.testing.assert_array_equal(values["w"], U[9:15].reshape((3, 2)).T)
    np.testing.assert_allclose(MODEL.unconstrain(values), U, rtol=1e-9)
    assert MODEL.param_names()[:9] == ["mu", "tau", "theta.1", "theta.2", "theta.3", "p.1.1", "p.2.1", "p.1.2", "p.2.2"]
    free = MODEL.param_unc_names()
    assert free[4:10] == ["theta.3", "p.1.1", "p.1.2", "p.2.1", "p.2.2", "w.1.1"]
    assert free[10:] == ["w.2.1", "w.1.2", "w.2.2", "w.1.3", "w.2.3", "rest"]
    assert (MODEL.param_num(), MODEL.param_unc_num(), MODEL.dimension) == (18, 16, 16)
    row = MODEL.param_constrain(U)
    assert row[6] == values["p"][1, 0]
    np.testing.assert_allclose(MODEL.param_unconstrain(row), U, rtol=1e-9)


def test_draws_have_leading_axes():
    draws = np.random.default_rng(2).normal(size=(2, 5, MODEL.dimension))
    values = MODEL.constrain(draws)
    assert values["p"].shape == (2, 5, 2, 3)
    assert values["mu"].shape == (2, 5)
    np.testing.assert_array_equal(values["w"][1, 3], MODEL.constrain(draws[1, 3])["w"])


def test_generated_quantities():
    def predict(theta, tau, J, rng):
        return {"ratio": tau / J, "y_new": rng.normal(theta, tau)}

    model = Model(BLOCK, log_density.py_func, generated_quantities=predict, **DATA)
    found = model.generated_quantities(U, seed=3)
    values = model.constrain(U)
    assert found["ratio"] == values["tau"] / 3
    np.testing.assert_array_equal(found["y_new"], np.random.default_rng(3).normal(values["theta"], values["tau"]))
    assert model.generated_quantities(np.stack([U, U]))["y_new"].shape == (2, 3)
    with pytest.raises(ValueError, match="generated_quantities must be a function that returns a dict, got None"):
        MODEL.generated_quantities(U)


def test_initial_values_have_a_finite_gradient():
    u = PLAIN.draw_initial_values(1)
    assert np.all(np.abs(u) < 2.0)
    np.testing.assert_array_equal(PLAIN.draw_initial_values(1), u)
    with pytest.raises(ValueError, match=r"100 draws between -2.0 and 2.0 have no finite log density"):
        Model("real x;", lambda x: x * np.nan).draw_initial_values(1)


def test_simplices_of_versions_of_stan():
    new, old = (Model("simplex[3] p;", lambda p: p[0], stan_version=version) for version in ("2.37", "2.36"))
    u = [0.5, -1.0]
    np.testing.assert_array_equal(new.constrain(u)["p"], simplex(3).constrain(u))
    np.testing.assert_array_equal(old.constrain(u)["p"], simplex(3, "2.36").constrain(u))
    assert new.constrain(u)["p"][0] != old.constrain(u)["p"][0]


# ---- what samplers ask for -------------------------------------------------------------------------------------------
def test_c_functions():
    model = Model("real x; real<lower=0> s;", njit(lambda x, s, y: -s * (x - y) ** 2), y=1.5)
    u, value, gradient = np.array([0.4, -0.3]), np.zeros(1), np.zeros(2)
    pointer = ctypes.POINTER(ctypes.c_double)
    x, v, g = (a.ctypes.data_as(pointer) for a in (u, value, gradient))
    expected = model.log_density_gradient(u)
    assert model.cfunc("nuts").ctypes(2, x, g, v, None) == 0
    assert value[0] == pytest.approx(expected[0], rel=1e-13)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-12)
    gradient[:] = value[:] = 0.0
    bridge = model.cfunc("bridgestan")
    assert bridge is model.cfunc("bridgestan")
    assert bridge.ctypes(None, True, True, x, v, g, None) == 0
    assert value[0] == pytest.approx(expected[0], rel=1e-13)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-12)
    assert bridge.ctypes(None, True, False, x, v, g, None) == -1
    with pytest.raises(ValueError, match="jacobian must be true for this signature"):
        model.cfunc("bridgestan", jacobian=False)
    with pytest.raises(contad.UnsupportedError, match="compiled code can only call a log density made by numba.njit"):
        PLAIN.cfunc()


def test_pickles_and_threads():
    again = pickle.loads(pickle.dumps(MODEL))
    assert repr(again) == repr(MODEL)
    assert again.log_density(U) == MODEL.log_density(U)
    points = [U + 0.1 * k for k in range(8)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(MODEL.log_density_gradient, points))
    for (value, gradient), u in zip(found, points, strict=True):
        assert value == MODEL.log_density(u)
        np.testing.assert_array_equal(gradient, MODEL.log_density_gradient(u)[1])


def test_a_model_shows_its_parameters():
    assert repr(MODEL) == (
        "<contad.stan.Model of log_density: 16 numbers (mu, tau, theta[3], p[2,3], w[2,3], rest)>"
    )  # fmt: skip


# ---- errors ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: MODEL.log_density(U[:3]), ValueError, "Model: u must have 16 elements"),
        (lambda: MODEL.log_density_gradient(U[:3]), ValueError, "Model: u must have 16 elements"),
        (lambda: MODEL.constrain(U[:3]), ValueError, "Model: u must have 16 elements"),
        (lambda: MODEL.constrain(np.zeros((2, 3))), ValueError, r"u must have a last axis of length 16, got shape"),
        (lambda: MODEL.unconstrain({"mu": 1.0}), ValueError, r"values must have all parameters .*got no tau"),
        (lambda: MODEL.unconstrain(MODEL.constrain(U) | {"tau": -1.0}), ValueError, "tau must be at least 0"),
        (lambda: MODEL.unconstrain(MODEL.constrain(U) | {"rest": 2.0}), ValueError, r"between 0 and 1 - tau / \(1"),
        (lambda: MODEL.unconstrain({"mu": [1.0]}), ValueError, r"mu must have shape \(\), got shape \(1,\)"),
        (lambda: Model("real x;", lambda z: z, y=1.0), TypeError, r"parameters or data \(x, y\), got z"),
        (lambda: Model({"x": 3}, lambda x: x), TypeError, "x must be a constraint, such as real"),
        (lambda: Model("real x;", lambda x: x, y="a"), TypeError, "y must be a number, or an array of numbers"),
        (lambda: MODEL.log_density(np.ones((2, 3))), ValueError, r"u must be a vector of 16 numbers, got shape \(2"),
        (lambda: PLAIN.log_density_gradient(np.ones((16, 2))), ValueError, r"u must be a vector of 16 numbers"),
        (lambda: PLAIN.log_density_hessian(U[None]), ValueError, r"vector of 16 numbers, got shape \(1, 16\)"),
        (lambda: PLAIN.hvp(U[None], U), ValueError, r"u must be a vector of 16 numbers, got shape \(1, 16\)"),
        (lambda: PLAIN.hvp(U, U + 0j), ValueError, r"v must be a vector of 16 numbers, got complex numbers"),
        (lambda: MODEL.log_density(1.0), ValueError, r"u must be a vector of 16 numbers, got shape \(\)"),
        (lambda: MODEL.log_density_gradient(U + 0j), ValueError, r"got complex numbers of shape \(16,\)"),
        (lambda: MODEL.param_constrain(U[None]), ValueError, r"u must be a vector of 16 numbers, got shape"),
        (lambda: MODEL.param_unconstrain(np.ones(19)), ValueError, r"vector of 18 numbers, got shape \(19,\)"),
        (lambda: MODEL.param_unconstrain(np.ones(17)), ValueError, r"vector of 18 numbers, got shape \(17,\)"),
        (lambda: Model("real x;", lambda x: x, propto=1), ValueError, "propto must have another name: .*, got propto"),
        (lambda: Model("real rng;", lambda rng: rng), ValueError, "rng must have another name"),
        (lambda: Model({"_x": real()}, lambda _x: _x), ValueError, "_x must have another name"),
        (lambda: Model("real x;", lambda x: x, _logs=1), ValueError, "names that begin with _ are reserved, got _logs"),
        (lambda: Model("real x;", lambda x: x, stan_version="v2.36"), ValueError, "be a version of Stan.*got 'v2.36'"),
        (lambda: Model("real x;", lambda x: x, stan_version="abc"), ValueError, "stan_version must be a version of"),
        (lambda: Model("real x;", lambda x: x, generated_quantities=dict).generated_quantities(np.ones((0, 1))),
         ValueError, r"u must have a draw or more, got shape \(0, 1\)"),
        (lambda: Model("real x;", lambda x: x, generated_quantities=dict).generated_quantities(np.ones((2, 3))),
         ValueError, r"u must have a last axis of length 1, got shape \(2, 3\)"),
        (lambda: Model("real x;", lambda x: x * np.ones(2)).log_density(np.ones(1)),
         contad.OutputError, r"must return one real number, got ndarray of shape \(2,\)"),
        (lambda: Model("real x;", 3), TypeError, "Model: log_density must be callable, got int"),
        (lambda: bounded(0.0, lambda p: p.x).constrain([0.5]), contad.UnsupportedError, "depends on other parameters"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
