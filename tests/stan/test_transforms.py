"""Stan's constraining transforms: round trips, the log-Jacobian by that of the transform itself, errors, and trees."""

import numpy as np
import pytest

import contad
from contad import stan
from contad.stan import transforms
from contad.stan.transforms import Parameters, real
from contad.testing import expect_ad


def below(y, diagonal):
    """The elements below the diagonal, by rows."""
    return np.concatenate([y[i, : i + diagonal] for i in range(1 - diagonal, y.shape[0])])


# the elements of a value that determine it; every one where none are named
FREE = {
    "simplex": lambda y: y[:-1], "stochastic_column": lambda y: np.reshape(y[:-1], (-1,)),
    "stochastic_row": lambda y: np.reshape(y[:, :-1], (-1,)), "cholesky_factor_corr": lambda y: below(y, 0),
    "corr_matrix": lambda y: below(y, 0), "cholesky_factor_cov": lambda y: below(y, 1),
    "cov_matrix": lambda y: below(y, 1),
}  # fmt: skip
TRANSFORMS = [
    real((2,)), stan.lower_bound(1.5, (3,)), stan.lower_bound(-np.inf, (2,)), stan.upper_bound(-0.5, (2,)),
    stan.lower_upper_bound(-1.0, 2.0, (3,)), stan.lower_upper_bound(-1.0, np.inf, (3,)),
    stan.lower_bound(np.array([1.5, -0.5]), (2,)), stan.upper_bound([[0.5], [2.0]], (2, 3)),
    stan.lower_upper_bound(np.array([0.5, -2.0]), 3.0, (2,)), stan.lower_upper_bound(-3.0, [1.0, 2.0], (2,)),
    stan.offset_multiplier(0.3, np.array([2.0, 0.4]), (3, 2)),
    stan.offset_multiplier(0.3, 2.0, (2, 2)), stan.ordered(4), stan.positive_ordered(3), stan.simplex(4),
    stan.stochastic_column(3, 2), stan.stochastic_row(2, 3), stan.sum_to_zero(4), stan.unit_vector(3),
    stan.cholesky_factor_corr(4), stan.corr_matrix(4), stan.corr_matrix(1), stan.cholesky_factor_cov(3),
    stan.cholesky_factor_cov(4, 2), stan.cov_matrix(3),
]  # fmt: skip
each = pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda t: f"{t.name}{t.shape}")


@each
def test_round_trips(transform):
    u = np.random.default_rng(1).normal(size=transform.size)
    y = transform.constrain(u)
    assert np.shape(y) == transform.shape and transform.accepts(np.asarray(y))
    back = transform.unconstrain(y)
    if transform.name == "unit_vector":
        np.testing.assert_allclose(back, u / np.linalg.norm(u), rtol=1e-14)
        return
    np.testing.assert_allclose(back, u, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(transform.constrain(list(back)), y, rtol=1e-12, atol=1e-15)


@each
def test_log_jacobians(transform):
    """That of the derivative of the transform."""
    u = np.random.default_rng(2).normal(size=transform.size)
    if transform.size == 0 or transform.name == "unit_vector":
        return
    free = FREE.get(transform.name, lambda y: np.reshape(y, (-1,)))
    jacobian = contad.jacobian(lambda u: free(transform.constrain(u)))(u)
    if transform.name == "sum_to_zero":
        np.testing.assert_allclose(jacobian.T @ jacobian, np.eye(transform.size), atol=1e-14)
        jacobian = np.eye(1)
    assert transform.log_jacobian(u) == pytest.approx(np.linalg.slogdet(jacobian)[1], rel=1e-10, abs=1e-12)


@pytest.mark.parametrize(
    "name",
    ["lower_upper_bound", *(pytest.param(n, marks=pytest.mark.long) for n in ("simplex", "cholesky_factor_corr"))],
)
def test_every_mode_and_engine(name):
    transform = next(t for t in TRANSFORMS if t.name == name)
    u = np.random.default_rng(3).normal(size=transform.size)
    weights = np.random.default_rng(4).normal(size=transform.shape)
    expect_ad(lambda u: np.sum(weights * transform.constrain(u)) + transform.log_jacobian(u), u)


def test_far_from_zero():
    """Nothing overflows, and what is left of a stick keeps its digits."""
    y = stan.simplex(3).constrain([-300.0, 0.0])
    np.testing.assert_allclose(stan.simplex(3).unconstrain(y), [-300.0, 0.0], rtol=1e-13)
    assert np.isfinite(stan.cholesky_factor_corr(3).log_jacobian([400.0, -300.0, 2.0]))
    assert stan.lower_upper_bound(0.0, 1.0).log_jacobian(-800.0) == -800.0


@pytest.mark.parametrize(("transform", "value", "message"), [
    (stan.lower_bound(1.0), 0.5, "lower_bound: y must be at least 1.0"),
    (stan.upper_bound(1.0), 1.5, "upper_bound: y must be at most 1.0"),
    (stan.lower_upper_bound(0.0, 1.0), 1.5, "lower_upper_bound: y must be between 0.0 and 1.0"),
    (stan.ordered(2), [1.0, 0.5], "ordered: y must increase"),
    (stan.positive_ordered(2), [-1.0, 0.5], "positive_ordered: y must be positive, and increase"),
    (stan.simplex(2), [0.5, 0.6], "simplex: y must be nonnegative, and sum to 1"),
    (stan.simplex(2), [0.5, 0.2, 0.3], r"simplex: y must have the shape \(2,\), got \(3,\)"),
    (stan.stochastic_row(1, 2), [[0.5, 0.6]], "stochastic_row: y must have rows that are simplices"),
    (stan.sum_to_zero(2), [0.5, 0.6], "sum_to_zero: y must sum to 0"),
    (stan.unit_vector(2), [0.5, 0.6], "unit_vector: y must have length 1"),
    (stan.corr_matrix(2), [[1.0, 1.5], [1.5, 1.0]], "corr_matrix: y must be symmetric and positive definite, with"),
    (stan.cov_matrix(2), [[1.0, 0.5], [0.4, 1.0]], "cov_matrix: y must be symmetric and positive definite"),
    (stan.cholesky_factor_cov(2), [[1.0, 0.5], [0.4, 1.0]], "cholesky_factor_cov: y must be lower triangular with"),
    (stan.cholesky_factor_corr(2), [[1.0, 0.0], [0.4, 1.0]], "cholesky_factor_corr: y must be lower triangular"),
], ids=lambda x: getattr(x, "name", ""))  # fmt: skip
def test_values_that_are_refused(transform, value, message):
    with pytest.raises(ValueError, match=message):
        transform.unconstrain(np.asarray(value))


@pytest.mark.parametrize(("make", "y"), [
    (lambda p: stan.lower_bound(p, (2,)), [3.1, 4.2]), (lambda p: stan.upper_bound(p, (2,)), [0.1, -0.4]),
    (lambda p: stan.lower_upper_bound(0.0, p, (2,)), [0.5, 1.2]),
    (lambda p: stan.lower_upper_bound(p, 9.0, (2,)), [4.1, 5.2]),
    (lambda p: stan.offset_multiplier(p, p, (2,)), [4.1, 5.2]),
])  # fmt: skip
@pytest.mark.parametrize("p", [2.0, np.array([2.0, 3.0])], ids=["one", "each"])
def test_bounds_may_be_variables(make, y, p):
    u = np.array([0.3, -0.4])
    expect_ad(lambda p, u: np.sum([1.3, 0.7] * make(p).constrain(u)) + make(p).log_jacobian(u), p, u)
    expect_ad(lambda p: np.sum([1.3, 0.7] * make(p).unconstrain(np.array(y))), p)


def test_units_have_the_same_jacobian_everywhere():
    assert stan.offset_multiplier(0.3, 2.0, (2,)).log_jacobian([np.inf, 0.4]) == 2.0 * np.log(2.0)


def test_bounds_that_are_refused():
    for bound, message in (
        ([1.0, 2.0, 3.0], r"lower_bound: lower must be a number or of shape \(2,\), got shape \(3,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            stan.lower_bound(bound, (2,))
    with pytest.raises(ValueError, match="upper must be greater"):
        stan.lower_upper_bound([1.0, 2.0], [2.0, 1.0], (2,))
    with pytest.raises(ValueError, match="a factor has no more columns than rows, got n=3 and m=2"):
        stan.cholesky_factor_cov(2, 3)
    with pytest.raises(ValueError, match="multiplier must be positive"):
        stan.offset_multiplier(0.0, [2.0, -1.0], (2,))


def test_edges_of_what_is_unconstrained():
    """A share of 0 is no error, and says nothing; no elements are a value, too."""
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(stan.simplex(3, "2.36").unconstrain([0.0, 0.5, 0.5]), [-np.inf, 0.0])
        for make in (stan.cholesky_factor_cov, stan.cholesky_factor_corr, stan.cov_matrix, stan.corr_matrix):
            assert make(0).unconstrain(np.zeros((0, 0))).shape == (0,)


def test_the_length_of_one_axis_is_a_shape():
    for make in (
        real, lambda shape: stan.lower_bound(0.3, shape), lambda shape: stan.upper_bound(0.3, shape),
        lambda shape: stan.lower_upper_bound(0.3, 2.0, shape), lambda shape: stan.offset_multiplier(0.3, 2.0, shape),
    ):  # fmt: skip
        assert make(8).shape == make((8,)).shape == make(np.int64(8)).shape == (8,)
        for shape in (2.0, (2.0,), "2"):
            with pytest.raises(TypeError, match="shape must be the length of an axis or a tuple of them, got"):
                make(shape)
        with pytest.raises(ValueError, match="shape must be the length of an axis or a tuple of them, got -1"):
            make(-1)


def test_vectors_that_are_refused():
    with pytest.raises(ValueError, match=r"simplex: u must have 1 elements, got shape \(2,\)"):
        stan.simplex(2).constrain([0.1, 0.2])
    with pytest.raises(ValueError, match="lower_upper_bound: upper must be greater than lower"):
        stan.lower_upper_bound(1.0, 0.0)


def test_trees():
    parameters = Parameters({"mu": real(), "scale": (stan.lower_bound(0.0), stan.simplex(3)), "r": stan.corr_matrix(2)})
    u = np.array([0.3, -0.2, 0.7, 0.1, -0.4])
    assert parameters.size == 5
    values, total = parameters.constrain(u)
    assert values["mu"] == 0.3
    np.testing.assert_allclose(parameters.unconstrain(values), u, rtol=1e-13)
    parts = sum(t.log_jacobian(p) for t, p in zip(parameters.transforms, (u[:1], u[1:2], u[2:3], u[3:]), strict=True))
    assert total == pytest.approx(parts, rel=1e-14)

    def log_density(u):
        values, log_jacobian = parameters.constrain(u)
        spread, _ = values["scale"]
        return stan.normal_lpdf([0.3, 1.2], values["mu"], spread) + stan.lkj_corr_lpdf(values["r"], 2.0) + log_jacobian

    expect_ad(log_density, u)
    with pytest.raises(ValueError, match=r"Parameters: u must have 5 elements, got shape \(3,\)"):
        parameters.constrain(u[:3])
    assert transforms.Parameters({}).constrain(np.zeros(0)) == ({}, 0.0)


def test_arrays_are_made_one_by_one_and_columns_may_come_first():
    u = np.random.default_rng(6).normal(size=12)
    shares = stan.simplex(3).array(2, 3)
    expected = np.stack([stan.simplex(3).constrain(part) for part in u.reshape((6, 2))]).reshape((2, 3, 3))
    np.testing.assert_array_equal(shares.constrain(u), expected)
    assert shares.log_jacobian(u) == pytest.approx(sum(stan.simplex(3).log_jacobian(v) for v in u.reshape((6, 2))))
    np.testing.assert_allclose(shares.unconstrain(shares.constrain(u)), u, rtol=1e-12)
    by_columns = Parameters({"m": real((2, 3)), "s": stan.lower_bound(0.0, (3, 2))}, order="F")
    values, _ = by_columns.constrain(u)
    np.testing.assert_array_equal(values["m"], u[:6].reshape((3, 2)).T)
    np.testing.assert_allclose(values["s"], np.exp(u[6:].reshape((2, 3)).T))
    np.testing.assert_allclose(by_columns.unconstrain(values), u, rtol=1e-12)
    with pytest.raises(TypeError, match=r"tree must hold constraints, such as real\(\) or lower_bound\(0.0\), got 3"):
        Parameters({"a": 3})
