"""The array rules on plain arrays: values as NumPy's, derivatives against differences, zeros, infinities, empties."""

import doctest
import itertools

import numpy as np
import pytest
import scipy.special
from mpmath import mp

import contad.ops
from contad.rules.array_rule import array_rule_of
from tests.judges.array_derivatives import report, split
from tests.judges.doctests import NumberChecker
from tests.judges.own_rules import own_array_rules

OWN = own_array_rules()
POINTS = [(rule, point) for rule in OWN for point in rule.points]
REDUCTIONS = ("sum", "mean", "prod", "var", "std", "logsumexp")
INF = np.inf


def numbers(*shape, seed=0):
    """Numbers of both signs, none near zero."""
    rng = np.random.default_rng([seed, *shape])
    return rng.uniform(0.4, 1.6, shape) * rng.choice([-1.0, 1.0], shape)


def rule(name):
    return array_rule_of(name)


def pull(name, argument, z_bar, *args, **options):
    """The cotangent of one argument; arguments by name come among the options."""
    args += tuple(options.pop(x) for x in rule(name).argument_names[len(args) :])
    args = [np.asarray(a, dtype=np.float64) for a in args]
    with np.errstate(all="ignore"):  # as in a sweep
        z, saved = rule(name).evaluate(args, options)
        return rule(name).pull(argument, z, z_bar, args, options, saved)


def push(name, tangents, *args, **options):
    args = [np.asarray(a, dtype=np.float64) for a in args]
    with np.errstate(all="ignore"):
        z, saved = rule(name).evaluate(args, options)
        return rule(name).push(z, tangents, args, options, saved)


# ---- every rule ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("rule", "point"), POINTS, ids=[f"{r.name}-{r.points.index(p)}" for r, p in POINTS])
def test_derivatives_agree_with_differences(rule, point):
    assert report(rule, *split(point)) == []


@pytest.mark.parametrize("rule", OWN, ids=lambda rule: rule.name)
def test_every_rule_has_points_and_every_derivative(rule):
    assert rule.points and set(rule.vjps) == set(rule.argument_names)
    assert rule.linear or rule.jvp_body


# where NumPy takes the arguments in another order
ORDER = {
    "bincount": lambda function: lambda weights, *, x: function(x, weights),
    "interp": lambda function: lambda x, fp, *, xp, **ends: function(x, xp, fp, **ends),
}


@pytest.mark.parametrize("rule", [r for r in OWN if r.numpy], ids=lambda rule: rule.name)
def test_values_are_those_of_numpy(rule):
    for point in rule.points:
        args, options = split(point)
        for function in rule.numpy:
            expected = ORDER.get(rule.name, lambda f: f)(function)(*args, **options)
            z = rule(*args, **options)
            np.testing.assert_array_equal(z, expected)
            assert type(z) is type(expected)


@pytest.mark.parametrize("rule", OWN, ids=lambda rule: rule.name)
def test_docstring(rule):
    text = rule.__doc__
    assert text.splitlines()[0].endswith(".")
    formula = " ".join(text.split())
    for part in ("z = " if " z = " in formula else "z_", "z_dot", "Shapes: ", "Cost: "):
        assert part in formula, f"{rule.name}: the docstring lacks {part}"
    for name in rule.argument_names:
        assert f"{name}_bar" in formula, f"{rule.name}: add the formula of {name}_bar"
    example = doctest.DocTestParser().get_doctest(text, {"np": np, rule.name: rule}, rule.name, rule.__module__, 0)
    assert example.examples
    shown = []
    with np.printoptions(legacy="1.25"):
        assert doctest.DocTestRunner(NumberChecker()).run(example, out=shown.append).failed == 0, "".join(shown)


# ---- axes ------------------------------------------------------------------------------------------------------------
AXES = {
    (4,): (None, 0, -1, (0,)), (2, 3): (None, 0, 1, -2, (0, 1), (-1, 0), ()), (2, 3, 2): (1, (0, 2), (2, 0), (-1, 1)),
    (1, 3): (0, 1, None),
}  # fmt: skip
REDUCED = [(shape, axis, keep) for shape, axes in AXES.items() for axis in axes for keep in (False, True)]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(("shape", "axis", "keepdims"), REDUCED)
def test_reductions_over_axes(name, shape, axis, keepdims):
    a = numbers(*shape)
    if name == "std" and np.var(a, axis=axis).min() == 0.0:
        pytest.skip("a kink, which has its own test")
    assert report(rule(name), [a], {"axis": axis, "keepdims": keepdims}) == []


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "softmax"])
@pytest.mark.parametrize(("shape", "axis"), [((4,), 0), ((4,), None), ((2, 3), None), ((2, 3), -2), ((2, 3, 2), 1)])
def test_accumulations_over_axes(name, shape, axis):
    assert report(rule(name), [numbers(*shape)], {"axis": axis}) == []


@pytest.mark.parametrize("name", [*REDUCTIONS, "cumsum", "cumprod", "softmax"])
def test_numbers_as_arrays_without_axes(name):
    a = np.asarray(1.7)
    if name == "std":
        assert pull(name, "a", 1.0, a) == 0.0
    elif name == "cumsum":
        np.testing.assert_array_equal(pull(name, "a", np.array([2.0]), a), 2.0)
    else:
        assert report(rule(name), [a], {}) == []


@pytest.mark.parametrize("name", ["sum", "prod", "logsumexp", "cumsum", "cumprod", "softmax"])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_empty_arrays(name, shape):
    a = np.empty(shape)
    for axis in (None, 0, -1):
        argument = rule(name).argument_names[0]
        z = rule(name)(a, axis=axis)
        assert pull(name, argument, np.ones(np.shape(z)), a, axis=axis).shape == shape
        assert np.shape(push(name, [a], a, axis=axis)) == np.shape(z)
    assert rule("sum")(a) == 0.0 and rule("prod")(a) == 1.0 and rule("logsumexp")(a) == -INF


# ---- products and their zeros ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("zeros", [(), (0,), (2,), (4,), (0, 3), (1, 2), (0, 1, 2, 3, 4)])
@pytest.mark.parametrize("name", ["prod", "cumprod"])
def test_products_with_zeros(name, zeros):
    a = numbers(5)
    a[list(zeros)] = 0.0
    assert report(rule(name), [a], {"axis": 0}) == []
    assert report(rule(name), [np.stack([a, numbers(5, seed=1)])], {"axis": 1}) == []


def test_the_gradient_of_a_product_with_one_zero_is_the_product_of_the_others():
    np.testing.assert_array_equal(pull("prod", "a", 1.0, [2.0, 0.0, 5.0, -3.0]), [0.0, -30.0, 0.0, 0.0])
    np.testing.assert_array_equal(pull("prod", "a", 1.0, [2.0, 0.0, 0.0]), [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(
        pull("cumprod", "a", np.ones(4), [2.0, 0.0, 5.0, 3.0]), [1.0, 2.0 + 10.0 + 30.0, 0.0, 0.0]
    )


def test_products_that_underflow_or_overflow_keep_the_derivative():
    np.testing.assert_allclose(pull("prod", "a", 1.0, [1e-200, 1e-150, 3.0]), [3e-150, 3e-200, 0.0], rtol=1e-15)
    np.testing.assert_allclose(pull("cumprod", "a", np.ones(2), [1e-200, 1e-150]), [1.0, 1e-200], rtol=1e-15)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(pull("prod", "a", 1.0, [1e200, 1e150]), [1e150, 1e200], rtol=1e-15)


def test_a_recurrence_in_any_number_of_dimensions():
    a, b = numbers(2, 4, 3), numbers(2, 4, 3, seed=1)
    for axis in range(3):
        assert report(rule("linear_recurrence"), [a, b], {"axis": axis}) == []
    rows = [rule("linear_recurrence")(x, y) for x, y in zip(a[0], b[0], strict=True)]
    np.testing.assert_array_equal(rule("linear_recurrence")(a[0], b[0], axis=-1), rows)


# ---- matrix products -------------------------------------------------------------------------------------------------
MATMULS = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3,)), ((3,), (5, 3, 4)),
    ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)), ((1, 2, 3), (5, 3, 4)), ((5, 1, 2, 3), (2, 3, 4)),
    ((2, 5, 2, 3), (3, 4)), ((2, 5, 2, 3), (3,)), ((3,), (2, 5, 3, 4)), ((2, 3), (2, 5, 3, 4)), ((1, 1), (1, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), MATMULS)
def test_matmul_of_every_shape(left, right):
    assert report(rule("matmul"), [numbers(*left), numbers(*right, seed=1)], {}) == []


@pytest.mark.parametrize(
    ("left", "right"), [((0,), (0,)), ((2, 0), (0, 3)), ((0, 2), (2, 3)), ((2, 3), (3, 0)), ((0, 2, 3), (3, 4))]
)
def test_matmul_of_empty_arrays(left, right):
    a, b = np.empty(left), np.empty(right)
    z_bar = np.ones(np.shape(a @ b))
    assert pull("matmul", "a", z_bar if z_bar.ndim else 1.0, a, b).shape == left
    assert pull("matmul", "b", z_bar if z_bar.ndim else 1.0, a, b).shape == right


@pytest.mark.parametrize(("left", "right"), MATMULS)
@pytest.mark.parametrize("bad", [INF, -INF, np.nan])
def test_a_zero_cotangent_masks_infinite_factors(left, right, bad):
    """Whatever meets only zeros of z_bar may as well be 0."""
    factors = {"a": numbers(*left), "b": numbers(*right, seed=1)}
    z_bar = np.zeros(np.shape(factors["a"] @ factors["b"]))
    z_bar[(-1,) * z_bar.ndim] = 2.0
    for one, other in (("a", "b"), ("b", "a")):
        takes_part = pull("matmul", one, z_bar, **factors | {other: np.ones(factors[other].shape)}) != 0.0
        assert takes_part.any()
        zeros, bads = (factors | {one: np.where(takes_part, factors[one], x)} for x in (0.0, bad))
        found = pull("matmul", other, z_bar, **bads)
        np.testing.assert_array_equal(found, pull("matmul", other, z_bar, **zeros))
        assert found.any()


def test_an_infinite_factor_that_takes_part_is_not_masked():
    a, b = np.array([[1.0, INF], [2.0, 3.0]]), np.array([[1.0], [2.0]])
    np.testing.assert_array_equal(pull("matmul", "b", np.array([[0.0], [1.0]]), a, b), [[2.0], [3.0]])
    np.testing.assert_array_equal(pull("matmul", "b", np.array([[1.0], [0.0]]), a, b), [[1.0], [INF]])
    np.testing.assert_array_equal(pull("matmul", "b", np.array([[-1.0], [0.0]]), a, b), [[-1.0], [-INF]])


@pytest.mark.parametrize(("name", "argument", "z_bar", "args", "options", "expected"), [
    ("prod", "a", [0.0, 1.0], ([[INF, 2.0], [3.0, 4.0]],), {"axis": 1}, [[0.0, 0.0], [4.0, 3.0]]),
    ("prod", "a", 0.0, ([INF, INF, 0.0],), {}, [0.0, 0.0, 0.0]),
    ("cumprod", "a", [1.0, 0.0, 0.0], ([2.0, INF, 3.0],), {"axis": 0}, [1.0, 0.0, 0.0]),
    ("logsumexp", "a", [0.0, 1.0], ([[np.nan, 2.0], [3.0, 3.0]],), {"axis": 1}, [[0.0, 0.0], [0.5, 0.5]]),
    ("softmax", "x", [[0.0, 0.0], [1.0, 0.0]], ([[np.nan, 2.0], [3.0, 3.0]],), {"axis": 1},
     [[0.0, 0.0], [0.25, -0.25]]),
    ("var", "a", [0.0, 1.0], ([[INF, 2.0], [3.0, 5.0]],), {"axis": 1}, [[0.0, 0.0], [-1.0, 1.0]]),
    ("std", "a", [0.0, 1.0], ([[INF, 2.0], [3.0, 5.0]],), {"axis": 1}, [[0.0, 0.0], [-0.5, 0.5]]),
    ("cross", "a", [0.0, 0.0, 1.0], ([1.0, 2.0, 3.0], [4.0, 5.0, INF]), {}, [5.0, -4.0, 0.0]),
    ("interp", "x", [0.0, 1.0], ([0.5, 1.5], [INF, 1.0, 3.0]), {"xp": [0.0, 1.0, 2.0]}, [0.0, 2.0]),
    ("convolve", "a", [1.0, 0.0, 0.0, 0.0], ([1.0, 2.0], [3.0, INF, 5.0]), {}, [3.0, 0.0]),
    ("convolve", "v", [0.0, 0.0, 0.0, 1.0], ([INF, 2.0], [3.0, 4.0, 5.0]), {}, [0.0, 0.0, 2.0]),
    ("einsum_pair", "a", [1.0, 0.0], ([1.0, 2.0, 4.0], [[1.0, 2.0, 3.0], [INF, 2.0, 3.0]]),
     {"subscripts": "j,ij->i"}, [1.0, 2.0, 3.0]),
])  # fmt: skip
def test_dead_code_never_makes_a_nan(name, argument, z_bar, args, options, expected):
    z_bar = np.asarray(z_bar)[()]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(pull(name, argument, z_bar, *args, **options), expected)


# ---- variances -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("ddof", [0, 1, 2])
def test_degrees_of_freedom(ddof):
    for name in ("var", "std"):
        assert report(rule(name), [numbers(4)], {"ddof": ddof}) == []


def test_the_kink_of_a_standard_deviation_has_derivative_zero():
    a = np.array([[2.0, 2.0, 2.0], [1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(pull("std", "a", np.ones(2), a, axis=1)[0], 0.0)
    np.testing.assert_allclose(pull("std", "a", np.ones(2), a, axis=1)[1], np.array([-1.0, 0.0, 1.0]) / 6**0.5)
    np.testing.assert_array_equal(push("std", [np.ones((2, 3))], a, axis=1), [0.0, 0.0])


# ---- log-sum-exp and softmax -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])
def test_log_sums_by_their_definition(axis, scale):
    a, b = scale * numbers(3, 4), numbers(3, 4, seed=2)
    np.testing.assert_allclose(rule("logsumexp")(a, axis=axis), log_sums(a, 1.0, axis), rtol=4e-16)
    for weights, tolerance in ((np.abs(b), 1e-15), (b, 1e-14), (-b, 1e-14)):  # of b and -b, one gives a nan
        found = rule("logsumexp")(a, axis=axis, b=weights)
        np.testing.assert_allclose(found, log_sums(a, weights, axis), rtol=tolerance)


def log_sums(a, b, axis=None):
    """log(sum(b exp(a))) in exact numbers; nan for a negative sum."""
    with mp.workdps(50), np.errstate(invalid="ignore"):
        terms = np.frompyfunc(lambda x, w: mp.mpf(w) * mp.exp(mp.mpf(x)), 2, 1)(a, b)
        return np.asarray(np.frompyfunc(log_of, 1, 1)(np.sum(terms, axis=axis)), dtype=np.float64)


def log_of(x):
    return float(mp.log(x)) if not x < 0.0 else np.nan


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])
def test_log_sums_as_in_scipy(axis, scale):
    a, b = scale * numbers(3, 4), numbers(3, 4, seed=2)
    logsumexp, softmax = rule("logsumexp"), rule("softmax")
    np.testing.assert_allclose(logsumexp(a, axis=axis), scipy.special.logsumexp(a, axis=axis), rtol=1e-15)
    np.testing.assert_allclose(softmax(a, axis=axis), scipy.special.softmax(a, axis=axis), rtol=4e-16)
    weighted = scipy.special.logsumexp(a, axis=axis, b=np.abs(b), keepdims=True)
    np.testing.assert_allclose(logsumexp(a, axis=axis, b=np.abs(b), keepdims=True), weighted, rtol=1e-15)
    with np.errstate(all="ignore"):
        expected = scipy.special.logsumexp(a, axis=axis, b=b)
    np.testing.assert_allclose(logsumexp(a, axis=axis, b=b), expected, rtol=1e-14)


@pytest.mark.parametrize(
    "a",
    [*itertools.product([-INF, INF, 1.0, np.nan], repeat=2), (0.0, -50.0), (1e308, 1e308), (-1e-17, -800.0)],
)
def test_log_sums_at_the_edges(a):
    a = np.array(a)
    np.testing.assert_allclose(rule("logsumexp")(a), log_sums(a, 1.0), rtol=1e-15)
    found = pull("logsumexp", "a", 1.0, a)
    if not np.isnan(a).any():
        assert found.sum() == pytest.approx(1.0, rel=1e-15)
        np.testing.assert_allclose(found, [contad.ops.logaddexp.partial(k)(0.0, *a.tolist()) for k in range(2)])
    else:
        assert np.isnan(found).all()


def test_weights_of_zero_leave_their_terms_out():
    a, b = np.array([INF, 1.0, np.log(3.0) + 1.0]), np.array([0.0, 1.0, 2.0])
    np.testing.assert_allclose(rule("logsumexp")(a, b=b), 1.0 + np.log(7.0), rtol=1e-15)
    np.testing.assert_allclose(pull("logsumexp", "a", 1.0, a, b=b), [0.0, 1 / 7, 6 / 7], rtol=1e-15)
    assert rule("logsumexp")(np.array([1.0, 2.0]), b=np.zeros(2)) == -INF


def test_infinite_terms_share_equally_in_their_row_alone():
    a = np.array([[-INF, -INF, -INF], [INF, 1.0, INF], [0.0, -INF, 0.0]])
    expected = [[1 / 3, 1 / 3, 1 / 3], [0.5, 0.0, 0.5], [0.5, 0.0, 0.5]]
    np.testing.assert_allclose(pull("logsumexp", "a", np.ones(3), a, axis=1), expected, rtol=1e-15)


# ---- interpolation and convolution -----------------------------------------------------------------------------------
def test_interpolation_at_and_beyond_the_points():
    xp, fp = np.array([0.0, 1.0, 3.0]), np.array([2.0, 5.0, 4.0])
    x = np.array([-1.0, 0.0, 1.0, 3.0, 4.0])
    np.testing.assert_array_equal(pull("interp", "x", np.ones(5), x, fp, xp=xp), [0.0, 3.0, -0.5, -0.5, 0.0])
    np.testing.assert_array_equal(pull("interp", "fp", np.ones(5), x, fp, xp=xp), [2.0, 1.0, 2.0])
    ends = {"xp": xp, "left": -1.0, "right": -2.0}
    np.testing.assert_array_equal(pull("interp", "fp", np.ones(5), x, fp, **ends), [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(push("interp", [np.ones(5), np.ones(3)], x, fp, **ends), [0.0, 4.0, 0.5, 0.5, 0.0])


def test_interpolation_of_one_point_of_numbers_and_of_nan():
    assert pull("interp", "x", 1.0, 0.5, [2.0], xp=[1.0]) == 0.0
    np.testing.assert_array_equal(pull("interp", "fp", 3.0, 0.5, [2.0], xp=[1.0]), [3.0])
    assert report(rule("interp"), [np.array(0.4), np.array([1.0, 3.0, 2.0])], {"xp": [0.0, 1.0, 2.0]}) == []
    assert report(rule("interp"), [numbers(2, 3), np.array([1.0, 3.0, 2.0])], {"xp": [-2.0, 0.1, 2.0]}) == []
    np.testing.assert_array_equal(
        pull("interp", "fp", np.ones(2), [np.nan, 0.5], [1.0, 2.0], xp=[0.0, 1.0]), [0.5, 0.5]
    )


@pytest.mark.parametrize(("n", "m"), [(5, 3), (3, 5), (4, 4), (5, 2), (2, 5), (6, 4), (4, 6), (1, 3), (1, 1)])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolution_of_every_mode(n, m, mode):
    assert report(rule("convolve"), [numbers(n), numbers(m, seed=1)], {"mode": mode}) == []


def test_convolution_with_a_number():
    assert report(rule("convolve"), [numbers(3), np.array(1.7)], {}) == []


@pytest.mark.parametrize(("left", "right", "options"), [
    ((2, 3), (2, 3), {}), ((4, 2, 3), (3,), {}), ((3,), (4, 2, 3), {}), ((4, 1, 3), (2, 3), {}),
    ((3, 2), (3, 2), {"axis": 0}), ((3, 2), (2, 3), {"axisa": 0}), ((2, 3), (3, 2), {"axisb": 0, "axisc": 0}),
    ((3, 4, 2), (3,), {"axisa": 0, "axisc": 1}),
])  # fmt: skip
def test_cross_products_along_every_axis(left, right, options):
    a, b = numbers(*left), numbers(*right, seed=1)
    assert report(rule("cross"), [a, b], options) == []
    np.testing.assert_array_equal(rule("cross")(a, b, **options), np.cross(a, b, **options))


def test_a_cross_product_of_vectors_with_two_elements_is_refused():
    with pytest.raises(ValueError, match=r"np\.cross: a must have 3 elements along axis -1, got shape \(2,\)"):
        rule("cross")(np.ones(2), np.ones(3))


@pytest.mark.parametrize("engine", ["matrix", "closures"])
def test_a_standard_deviation_does_not_see_the_rounding_of_the_mean(engine):
    equal = np.full(3, 0.7)
    assert 0.0 < np.std(equal) < 1e-15  # all rounding
    assert contad.grad(np.std, engine=engine)(equal).tolist() == [0.0, 0.0, 0.0]
    assert contad.jvp(np.std, (equal,), (np.ones(3),))[1] == 0.0
    far, exact = 1e8 + np.array([1.1, 2.3, 6.7]), mp.clone()
    exact.prec = 200
    mean = exact.fsum(map(exact.mpf, far)) / 3
    centred = np.array([float(v - mean) for v in map(exact.mpf, far)])
    gradient = centred / np.linalg.norm(centred) / np.sqrt(3.0)
    np.testing.assert_allclose(contad.grad(np.std, engine=engine)(far), gradient, rtol=1e-14)
    np.testing.assert_allclose(contad.jvp(np.std, (far,), (gradient,))[1], gradient @ gradient, rtol=1e-14)
