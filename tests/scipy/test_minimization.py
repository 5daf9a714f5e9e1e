"""SciPy's optimisers with contad's derivatives, of trees of parameters."""

import warnings

import numba
import numpy as np
import pytest
import scipy.optimize

import contad
from contad.scipy import optimize

DRAW = np.random.default_rng(20)
T = np.linspace(0.0, 3.0, 40)
NOISY = 2.0 * np.exp(-0.7 * T) + 0.3 + 0.05 * DRAW.standard_normal(40)
START = {"height": 1.0, "rate": 1.0, "level": np.array([0.0])}


def loss(p, t, y):
    z = (y - p["height"] * np.exp(-p["rate"] * t) - p["level"]) / 0.05
    return 0.5 * np.sum(z * z)


def by_hand():
    """The least squares, without contad."""
    return scipy.optimize.least_squares(lambda x: x[0] * np.exp(-x[2] * T) + x[1] - NOISY, [1.0, 0.0, 1.0], xtol=1e-15)


METHODS = {
    None: 1e-6, "BFGS": 1e-6, "CG": 1e-5, "L-BFGS-B": 1e-4, "TNC": 1e-3, "SLSQP": 1e-3, "Newton-CG": 1e-3,
    "dogleg": 1e-6, "trust-ncg": 1e-6, "trust-krylov": 1e-6, "trust-exact": 1e-6, "trust-constr": 1e-6,
    "Nelder-Mead": 1e-3, "Powell": 1e-3, "COBYLA": 1e-2,
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_minimum(method):
    near = method in ("dogleg", "SLSQP", "Nelder-Mead")  # which do not get there from START, or stop on the way
    start = {"height": 2.1, "rate": 0.6, "level": np.array([0.2])} if near else START
    fit = optimize.minimize(loss, start, (T, NOISY), method)
    height, level, rate = by_hand().x
    found = [fit.x["height"], fit.x["level"][0], fit.x["rate"]]
    np.testing.assert_allclose(found, [height, level, rate], rtol=METHODS[method], atol=METHODS[method])
    np.testing.assert_array_equal(fit.vector, contad.ravel(fit.x)[0])
    assert fit.names == ["height", "level[0]", "rate"] and fit.fun == pytest.approx(loss(fit.x, T, NOISY))


def test_the_derivatives_are_supplied(monkeypatch):
    seen = {}

    def record(fun, x0, args, method, **given):
        seen[method] = {name for name in ("jac", "hess", "hessp") if given.get(name) is not None}
        return scipy.optimize.OptimizeResult(x=x0)

    monkeypatch.setattr(scipy.optimize, "minimize", record)
    for method in METHODS:
        optimize.minimize(loss, START, (T, NOISY), method)
    assert {method for method, names in seen.items() if not names} == {"Nelder-Mead", "Powell", "COBYLA"}
    assert {method for method, names in seen.items() if "hess" in names} == {"dogleg", "trust-exact"}
    assert {method for method, names in seen.items() if "hessp" in names} == {
        "Newton-CG", "trust-ncg", "trust-krylov", "trust-constr",
    }  # fmt: skip


def test_the_covariance_is_that_of_the_least_squares():
    fit = optimize.minimize(loss, START, (T, NOISY), covariance=True)
    rows = by_hand().jac
    # near the minimum the residuals' own curvature is small, but there: by differences of the gradient
    model = contad.flat(loss, START)
    hess = np.array([
        (model.grad(fit.vector + h, T, NOISY) - model.grad(fit.vector - h, T, NOISY)) / 2e-6 for h in 1e-6 * np.eye(3)
    ])  # fmt: skip
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(hess), rtol=1e-5)
    np.testing.assert_allclose(fit.covariance, 0.05**2 * np.linalg.inv(rows.T @ rows), rtol=0.3, atol=1e-5)
    assert fit.standard_errors["rate"] == pytest.approx(np.sqrt(fit.covariance[2, 2]))
    assert fit.standard_errors["level"].shape == (1,)


def test_no_covariance_where_the_data_leave_a_direction_open():
    with pytest.warns(RuntimeWarning, match=r"not positive definite .* along [+-]0.71 [ab] [+-]0.71 [ab]") as found:
        fit = optimize.minimize(lambda p: (p["a"] + p["b"] - 1.0) ** 2, {"a": 0.1, "b": 0.7}, covariance=True)
    assert np.isnan(fit.covariance).all() and np.isnan(fit.standard_errors["a"]) and found[0].filename == __file__


QUADRATIC = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])


def bowl(p):
    z = np.stack([p["a"] - 1.0, p["b"] + 2.0, p["c"] - 3.0])
    return 0.5 * np.dot(z, QUADRATIC @ z)


@pytest.mark.parametrize("method", ["L-BFGS-B", "SLSQP", "TNC", "trust-constr", "Nelder-Mead"])
def test_numbers_at_a_bound_have_no_error_and_others_that_of_their_own_hessian(method):
    bounds = {"a": (-50.0, None), "b": (0.5, 9.0), "c": (None, 3.0 + 1e-1)}
    options = {"xatol": 1e-9, "fatol": 1e-12} if method == "Nelder-Mead" else None
    start = {"a": 0.0, "b": 1.0, "c": 0.0}
    with pytest.warns(UserWarning, match=r"^minimize: at their bound: b; they have no") as found:
        fit = optimize.minimize(bowl, start, method=method, bounds=bounds, covariance=True, options=options)
    assert fit.x["b"] == pytest.approx(0.5, abs=1e-6)
    assert [w.filename for w in found if w.category is UserWarning] == [__file__]
    errors = fit.standard_errors
    assert np.isnan(errors["b"]) and np.isnan(fit.covariance[1]).all() and np.isnan(fit.covariance[:, 1]).all()
    expected = np.linalg.inv(QUADRATIC[np.ix_([0, 2], [0, 2])])
    np.testing.assert_allclose(fit.covariance[np.ix_([0, 2], [0, 2])], expected, rtol=1e-10)
    assert errors["c"] == pytest.approx(np.sqrt(expected[1, 1]))


def test_bounds_that_hold_nothing_change_no_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # the last bound is met where the slope is zero: it keeps from nothing
        for bounds in ({"a": (-5.0, 5.0), "b": (None, 4.0)}, {"c": (0.0, 3.0)}):
            start = {"a": 1.0, "b": -2.0, "c": 3.0}
            fit = optimize.minimize(bowl, start, bounds=bounds, covariance=True)
            np.testing.assert_allclose(fit.covariance, np.linalg.inv(QUADRATIC), rtol=1e-10)
        # fixed on purpose
        fit = optimize.minimize(bowl, start, bounds={"b": (1.0, 1.0)}, covariance=True)
        assert np.isnan(fit.standard_errors["b"])
        assert fit.standard_errors["a"] == pytest.approx(np.sqrt(np.linalg.inv(QUADRATIC[::2, ::2])[0, 0]))


@pytest.mark.parametrize("curvature", [1.0, -1.0, 0.0])
def test_bounds_of_a_vector_as_scipy_takes_them(curvature):
    f = lambda v: (v[0] - 2.0) ** 2 - v[1] + 0.5 * curvature * v[1] ** 2
    for bounds in ([(None, 5.0), (0.0, 0.5)], scipy.optimize.Bounds([-np.inf, 0.0], 0.5 + np.array([5.0, 0.0]))):
        with pytest.warns(UserWarning, match=r"at their bound: .*1"):
            fit = optimize.minimize(f, np.array([0.0, 0.2]), bounds=bounds, covariance=True)
        np.testing.assert_allclose(fit.standard_errors, [np.sqrt(0.5), np.nan], rtol=1e-10)
    with pytest.warns(UserWarning, match="at their bound"):
        fit = optimize.minimize(lambda v: np.sum(v), np.ones(2), bounds=[(0.5, None)] * 2, covariance=True)
    assert np.isnan(fit.covariance).all()


def test_vectors_numbers_and_numba_functions():
    @numba.njit
    def rosenbrock(x):
        total = 0.0
        for k in range(len(x) - 1):
            total += 100.0 * (x[k + 1] - x[k] ** 2) ** 2 + (1.0 - x[k]) ** 2
        return total

    fit = optimize.minimize(rosenbrock, np.array([-1.2, 1.0, 0.5]), method="trust-exact")
    np.testing.assert_allclose(fit.x, np.ones(3), rtol=1e-6)
    assert optimize.minimize(lambda v: (v - 2.5) ** 2, 0.0).x == pytest.approx(2.5)
    assert optimize.minimize(lambda v: (v[0] - 2.5) ** 2 + v[1] ** 2, [0.0, 1.0]).x == pytest.approx(
        [2.5, 0.0], abs=1e-6
    )


# ---- bounds and constraints ------------------------------------------------------------------------------------------
BOUNDS = scipy.optimize.Bounds([-np.inf, -np.inf, 0.9], [np.inf, 0.4, np.inf])


def test_bounds_by_name():
    bounds = {"rate": (0.9, None), "level": (None, np.array([0.4]))}
    fit = optimize.minimize(loss, START, (T, NOISY), bounds=bounds)
    assert fit.x["rate"] == 0.9 and fit.x["level"][0] <= 0.4 and 1.5 < fit.x["height"] < 3.0
    same = optimize.minimize(loss, START, (T, NOISY), bounds=BOUNDS)
    np.testing.assert_allclose(fit.vector, same.vector)
    pairs = optimize.minimize(lambda v: (v[0] - 2.0) ** 2 + v[1] ** 2, [0.0, 1.0], bounds=[(None, 1.5), (0.5, None)])
    assert pairs.x == [1.5, 0.5]
    vector = optimize.minimize(lambda v: np.sum((v - 2.0) ** 2), np.zeros(2), bounds=[(None, 1.5), (2.5, None)])
    assert vector.x.tolist() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("bounds", "message"),
    [({"speed": (0, 1)}, "have names of x0, 'height', 'rate', 'level', got 'speed'"), ({"rate": 0.5}, "be a pair"),
     ([(0, 1)], "be a dict, as x0 is there"),
     ({"level": (np.zeros(3), None)}, r"have ends of shape \(1,\), got shape \(3,\)")],
)  # fmt: skip
def test_bounds_that_do_not_fit(bounds, message):
    with pytest.raises(ValueError, match=f"minimize: .*{message}"):
        optimize.minimize(loss, START, (T, NOISY), bounds=bounds)


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
@pytest.mark.parametrize("as_dict", [False, True])
def test_constraints_of_trees(method, as_dict):
    area = lambda p: p["a"] * p["b"][0] ** 2
    if as_dict:
        constraint = {"type": "eq", "fun": lambda p: area(p) - 2.0}
    else:
        constraint = scipy.optimize.NonlinearConstraint(area, 2.0, 2.0)
    fit = optimize.minimize(
        lambda p: p["a"] ** 2 + p["b"] @ p["b"], {"a": 1.2, "b": np.array([0.9])}, method=method, constraints=constraint
    )
    # a^2 + 2/a: a = 1
    np.testing.assert_allclose(fit.vector, [1.0, np.sqrt(2.0)], rtol=1e-4)


# ---- what is shown ---------------------------------------------------------------------------------------------------
def test_callbacks_get_trees():
    seen = []
    optimize.minimize(loss, START, (T, NOISY), callback=lambda p: seen.append(p["rate"]))
    assert len(seen) > 3 and all(type(x) is float for x in seen)

    def stop(intermediate_result):
        seen.append(intermediate_result.x["rate"])
        raise StopIteration

    before = len(seen)
    optimize.minimize(loss, START, (T, NOISY), callback=stop)
    assert len(seen) == before + 1


def test_progress_is_shown_if_asked(capfd):
    optimize.minimize(loss, START, (T, NOISY))
    assert capfd.readouterr().err == ""
    optimize.minimize(loss, START, (T, NOISY), progress=True)
    shown = capfd.readouterr().err
    assert "minimize" in shown and "evaluations" in shown and "gradient=" in shown


# ---- curves ----------------------------------------------------------------------------------------------------------
def curve(t, height, rate, level):
    return height * np.exp(-rate * t) + level


def test_curves_are_fitted_with_exact_derivatives():
    found, covariance = optimize.curve_fit(curve, T, NOISY, (1.0, 1.0, 0.0))
    right, expected = scipy.optimize.curve_fit(curve, T, NOISY, (1.0, 1.0, 0.0))
    np.testing.assert_allclose(found, right, rtol=1e-6)
    np.testing.assert_allclose(covariance, expected, rtol=1e-4)
    jac = optimize.parameter_jacobian(curve)
    rows = np.stack([np.exp(-0.7 * T), -2.0 * T * np.exp(-0.7 * T), np.ones(40)], axis=1)
    np.testing.assert_allclose(jac(T, 2.0, 0.7, 0.3), rows, rtol=1e-14)
    by_scipy, _ = scipy.optimize.curve_fit(curve, T, NOISY, (1.0, 1.0, 0.0), jac=jac)
    np.testing.assert_allclose(by_scipy, found, rtol=1e-12)
    with pytest.raises(TypeError, match="curve_fit: contad supplies jac"):
        optimize.curve_fit(curve, T, NOISY, jac=jac)


def test_curves_of_numba_functions_and_without_a_start():
    found, _ = optimize.curve_fit(numba.njit(curve), T, NOISY)
    np.testing.assert_allclose(found, scipy.optimize.curve_fit(curve, T, NOISY)[0], rtol=1e-6)


def test_sparse_hessians_of_a_tree():
    energy = lambda p: np.sum(100.0 * (p["x"][1:] - p["x"][:-1] ** 2) ** 2 + (1.0 - p["x"][:-1]) ** 2) + p["shift"] ** 2
    start = {"x": np.full(20, 0.8), "shift": 1.0}
    fit = optimize.minimize(energy, start, method="trust-constr", options={"gtol": 1e-9}, sparse=True)
    np.testing.assert_allclose(fit.x["x"], 1.0, rtol=1e-5)
    model = contad.flat(energy, start)
    np.testing.assert_allclose(model.sparse_hess(model.x0).toarray(), model.hess(model.x0))
    assert model.sparse_hess.passes <= 3
    with pytest.raises(ValueError, match="minimize: method must be \"trust-constr\""):
        optimize.minimize(energy, start, method="BFGS", sparse=True)
