"""Stan's covariances of Gaussian processes: derivatives against mpmath, both orders, one and two sets of points."""

import numpy as np
import pytest
from mpmath import mp

import contad
from contad import stan
from contad.ops import covariances
from contad.testing import expect_ad
from tests.judges.array_derivatives import check_orders
from tests.judges.matrices import a

X, Y = a(4, 2), a(3, 2, seed=1)
LENGTHS = np.array([0.8, 1.7])


def periodic(r, width, period):
    return mp.exp(-2 * mp.sin(mp.pi * r / period) ** 2 / width**2)


# name -> the covariance at the distance r over the length scale, but for the periodic one, with its parameters
EXACT = {
    "gp_exp_quad_cov": lambda r: mp.exp(-(r**2) / 2),
    "gp_exponential_cov": lambda r: mp.exp(-r),
    "gp_matern32_cov": lambda r: (1 + mp.sqrt(3) * r) * mp.exp(-mp.sqrt(3) * r),
    "gp_matern52_cov": lambda r: (1 + mp.sqrt(5) * r + 5 * r**2 / 3) * mp.exp(-mp.sqrt(5) * r),
}
by_name = pytest.mark.parametrize("name", EXACT)
FUNCTIONS = {name: getattr(stan, name) for name in [*EXACT, "gp_periodic_cov", "gp_dot_prod_cov"]}
PARAMETERS = dict.fromkeys(EXACT, (1.3, 0.9)) | {"gp_periodic_cov": (1.3, 0.9, 2.6), "gp_dot_prod_cov": (1.3,)}


def exact_element(name, x, y, parameters):
    """One covariance, in many digits."""
    sigma, *others = parameters
    if name == "gp_dot_prod_cov":
        return sigma**2 + mp.fsum(p * q for p, q in zip(x, y, strict=True))
    if name == "gp_periodic_cov":
        r = mp.sqrt(mp.fsum((p - q) ** 2 for p, q in zip(x, y, strict=True)))
        return sigma**2 * periodic(r, *others)
    lengths = others if len(others) == len(x) else others * len(x)
    r = mp.sqrt(mp.fsum(((p - q) / s) ** 2 for p, q, s in zip(x, y, lengths, strict=True)))
    return sigma**2 * EXACT[name](r)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_elements_and_their_derivatives_against_many_digits(name):
    function, parameters = FUNCTIONS[name], PARAMETERS[name]
    x, y = X[1], Y[2]
    value, gradient = contad.value_and_grad(
        lambda x, y, p: function(x[None], y[None], *p)[0, 0], (0, 1, 2)
    )(x, y, parameters)  # fmt: skip
    numbers = [*x, *y, *parameters]
    exact = lambda *numbers: exact_element(name, numbers[:2], numbers[2:4], numbers[4:])
    with mp.workdps(40):
        at = list(map(mp.mpf, numbers))
        orders = np.eye(len(at), dtype=int)
        expected = [float(mp.diff(exact, at, tuple(order.tolist()))) for order in orders]
        assert value == pytest.approx(float(exact(*at)), rel=1e-14)
    np.testing.assert_allclose([*gradient[0], *gradient[1], *gradient[2]], expected, rtol=1e-13)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_elements_of_one_and_of_two_sets(name):
    function, parameters = FUNCTIONS[name], PARAMETERS[name]
    for x, y in ((X, Y), (X, X), (X[:, :1], Y[:, :1])):
        expected = [[float(exact_element(name, p, q, parameters)) for q in y.tolist()] for p in x.tolist()]
        np.testing.assert_allclose(function(x, y, *parameters), expected, rtol=1e-13)
        if x is y:
            one = function(x, *parameters)
            np.testing.assert_allclose(one, expected, rtol=1e-13)
            np.testing.assert_array_equal(one, one.T)
        if x.shape[1] == 1:
            np.testing.assert_array_equal(function(x[:, 0], y[:, 0], *parameters), function(x, y, *parameters))


@by_name
def test_a_length_for_each_coordinate(name):
    function = FUNCTIONS[name]
    expected = [[float(exact_element(name, p, q, (1.3, *LENGTHS))) for q in Y.tolist()] for p in X.tolist()]
    np.testing.assert_allclose(function(X, Y, 1.3, LENGTHS), expected, rtol=1e-13)
    check_orders(lambda x, s, t: function(x, s, t), [X, np.array(1.3), LENGTHS])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_both_orders(name):
    function, parameters = FUNCTIONS[name], [np.array(p) for p in PARAMETERS[name]]
    check_orders(lambda x, *p: function(x, *p), [X[:3], *parameters])
    check_orders(lambda x, y, *p: function(x, y, *p), [X[:3], Y[:2], *parameters])


def test_every_engine():
    expect_ad(lambda x, s, t: stan.gp_matern32_cov(x, s, t), X[:2, 0], 1.3, 0.9)
    expect_ad(lambda x, y, s, t, p: stan.gp_periodic_cov(x, y, s, t, p), X[:2, 0], Y[:1, 1], 1.3, 0.9, 2.6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_equal_points(name):
    """What has a derivative there is differentiated; the kink of the exponential one has the slope 0."""
    function, parameters = FUNCTIONS[name], PARAMETERS[name]
    x = np.array([0.7, 0.7, -0.4])
    weights = a(3, 3)
    loss = lambda x: np.sum(weights * function(x, *parameters))
    found = contad.grad(loss)(x)
    assert np.all(np.isfinite(found))
    hessian = contad.hessian(loss)(x)
    assert np.all(np.isfinite(hessian))
    np.testing.assert_allclose(contad.jacfwd(contad.grad(loss))(x), hessian, rtol=1e-12, atol=1e-12)
    if name == "gp_exponential_cov":
        return
    h = 2.0**-12
    ahead, behind = (contad.grad(loss)(x + s * h * np.array([1.0, -2.0, 0.5])) for s in (1.0, -1.0))
    np.testing.assert_allclose(hessian @ np.array([1.0, -2.0, 0.5]), (ahead - behind) / (2.0 * h), rtol=0.02, atol=1e-3)


def test_points_far_from_zero_lose_no_digits():
    far = 2.0**20
    near = np.rint(X * 64.0) / 64.0
    assert np.all((near + far) - far == near)
    loss = lambda x: np.sum(a(4, 4) * stan.gp_matern52_cov(x, 1.3, 0.9))
    np.testing.assert_allclose(contad.grad(loss)(near + far), contad.grad(loss)(near), rtol=1e-13)
    for x in (near, near + far):
        tangent = contad.jvp(loss, (x,), (Y[[0, 1, 2, 0]],))[1]
        assert tangent == pytest.approx(np.sum(contad.grad(loss)(near) * Y[[0, 1, 2, 0]]), rel=1e-13)


def test_distances_and_exponentials_are_computed_once(monkeypatch):
    counted = []
    distances, values = covariances.spatial_distance().cdist, covariances.covariance_at
    monkeypatch.setattr(
        covariances.spatial_distance(), "cdist", lambda *args: counted.append("distances") or distances(*args)
    )
    monkeypatch.setattr(covariances, "covariance_at", lambda *args: counted.append("values") or values(*args))
    contad.grad(lambda x, s, t: np.sum(np.sin(stan.gp_matern52_cov(x, s, t))), (0, 1, 2))(X, 1.3, 0.9)
    assert counted == ["distances", "values"]


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda x: stan.gp_exp_quad_cov(x, -1.0, 1.0), ValueError, "gp_exp_quad_cov: sigma must be positive, got -1.0"),
    (lambda x: stan.gp_exp_quad_cov(x, 1.0, [1.0, 0.0]), ValueError,
     "length_scale must be positive and finite, got 0.0 at"),
    (lambda x: stan.gp_matern32_cov(x, 1.0, np.ones(3)), ValueError, "length_scale must be a number or one for"),
    (lambda x: stan.gp_matern52_cov(x, x[0], 1.0), ValueError, r"sigma must be .*positive|sigma must be a number"),
    (lambda x: stan.gp_periodic_cov(x, 1.0, 1.0, 0.0), ValueError, "gp_periodic_cov: period must be positive"),
    (lambda x: stan.gp_dot_prod_cov(x, -1.0), ValueError, "sigma must be nonnegative and finite, got -1.0"),
    (lambda x: stan.gp_dot_prod_cov(x), TypeError, "expected one or two sets of points and 1 parameters, got 1"),
    (lambda x: stan.gp_exponential_cov(x, x[:, :1], 1.0, 1.0), ValueError, "must have as many coordinates, got"),
    (lambda x: stan.gp_exponential_cov(x[None], 1.0, 1.0), ValueError, "x1 must be a vector or a matrix of points"),
])  # fmt: skip
def test_bad_points_and_scales_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        contad.grad(lambda x: np.sum(call(x)))(np.abs(X))
    with pytest.raises(error, match=message):
        call(np.abs(X))
