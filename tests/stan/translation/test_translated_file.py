"""Translated Stan programs: their text, their values beside formulas by hand, and what is refused."""

import json
import math
import types

import numpy as np
import pytest
from scipy import stats

import contad
from contad.stan.translation.stanc import TranslationError, find_stanc
from contad.stan.translation.translated_file import write_file
from tests.stan.translation.programs import (
    DROPPED,
    GROWTH,
    PACKED,
    REFUSED,
    SHARED,
    TREES,
    TRUNCATED,
    WORDS,
    blocks_of,
    record,
)  # fmt: skip

Y = np.array([[1.0, 2.0], [1.5, 2.6], [2.5, 3.1]])
DATA = {
    "N": 3, "K": 2, "t0": 0.0, "t": [0.5, 1.0, 1.5], "y": Y.tolist(), "group": [1, 2, 2], "counts": [3, 0],
}  # fmt: skip


def module_of(text):
    module = types.ModuleType("translated")
    exec(compile(write_file("model", blocks_of(text)), "translated.py", "exec"), vars(module))
    return module


def growth_by_hand(rate, start, shares, a, y, counts):
    """The density of the first program, without constants."""
    logs = np.log(shares)
    z = -(math.log(rate) ** 2) / 2.0 - math.log(rate)
    z += np.sum(stats.norm.logpdf(start, 1.0, 2.0)) - 2 * stats.norm.logsf(0.0, 1.0, 2.0)
    z += np.sum(stats.norm.logpdf(a))
    grown = 10.0 / (1.0 + (10.0 / start - 1.0) * np.exp(-rate * np.array([[0.5], [1.0], [1.5]])))  # the exact solution
    z += np.sum(stats.norm.logpdf(y, grown, rate / 2.0 + 0.5)) + logs[0] + 2.0 * logs[1]
    z += np.sum(counts * logs - np.exp(logs))
    v, w = start @ a, a @ start
    b = a.copy()
    b[0, 1] += v @ w
    b[1] = v
    return z - 0.5 * (v @ w + np.sum(b * a)) - logs[1] ** 2 - 1.0


def test_values_are_those_of_the_program():
    module = module_of(GROWTH)
    made = module.transform_data(3, Y)
    assert made["half_way"] == 1 and made["total"] == 5.0
    given = 3, 2, 0.0, np.array(DATA["t"]), Y, np.array([1, 2, 2]), np.array([3, 0]), made["capacity"]
    points = [
        (0.7, np.array([0.9, 1.7]), np.array([0.3, 0.7]), np.array([[0.5, -0.2], [0.1, 0.8]])),
        (1.3, np.array([1.4, 0.8]), np.array([0.6, 0.4]), np.array([[-0.3, 0.9], [0.7, 0.2]])),
    ]
    found = [module.log_density(*p, *given) for p in points]
    expected = [growth_by_hand(*p, Y, np.array([3, 0])) for p in points]
    assert found[0] - found[1] == pytest.approx(expected[0] - expected[1], rel=1e-5)  # of the solver's tolerance
    found = contad.grad(module.log_density, argnums=(0, 2, 3))(*points[0], *given)

    def moved(k, h):
        p = list(points[0])
        p[0], p[2], p[3] = p[0] + h * (k == 0), p[2] + h * (k == 1) * np.eye(2)[1], p[3] + h * (k == 2) * np.eye(2)
        return growth_by_hand(*p, Y, np.array([3, 0]))

    sums = found[0], found[1][1], found[2][0, 0] + found[2][1, 1]
    assert sums == pytest.approx([(moved(k, 1e-5) - moved(k, -1e-5)) / 2e-5 for k in range(3)], rel=1e-5)


def test_names_that_python_or_the_file_needs():
    module = module_of(WORDS)
    np_ = np.array([0.5, -0.3, 0.8, 2.0])
    z = module.log_density(0.4, 0.2, -1.5, 4, np_)
    looped = 0.4 * np.sum(np_[:3])
    expected = looped + -1.5 * (0.5 + 0.8 + 2.0) + np.sum(stats.norm.logpdf(np_, 0.2)) + 3 + 1 + 8 - 1.5**2 / 2.0
    expected -= math.log(stats.norm.cdf(0.0) - stats.norm.cdf(-5.0))
    assert z == pytest.approx(expected, rel=1e-12)
    assert module.log_density(0.4, 0.2, -5.5, 4, np_) == -np.inf  # outside of the truncation


def test_arrays_are_not_shared_and_integers_are_those_of_stan():
    module = module_of(SHARED)
    x, k, m = np.array([0.3, -0.8, 2.0]), np.array([4, 5, 6]), np.arange(6.0).reshape(2, 3) + 0.25
    made = module.transform_data(k, x)
    assert x.tolist() == [0.3, -0.8, 2.0] and made["centred"] == pytest.approx(x - 0.5)
    assert made["half"].tolist() == [0.5, 5.0, 6.0]
    given = {"n": 3, "x": x, "m": m, "rows_of": np.array([2, 1]), "none": 0, "propto": True, **made}
    theta, c = np.array([0.4, -1.3, 0.9]), 2.5
    names = module.log_density.py_func.__code__.co_varnames[2 : module.log_density.py_func.__code__.co_argcount]
    found = [module.log_density(theta, c, *(given[name] for name in names)) for _ in range(2)]
    z, w = np.array([0.4, 7.0, 0.9]), np.array([3.0, -0.8, 2.0])
    expected = 2.0 * (np.sum(theta) + 3.0) + z @ theta + w @ theta + theta[0] * 1.5
    expected += theta[0] * 5 + theta[1] * 8 + theta[2] / 3.0 + c * (1 - 1)
    expected += 0.0 + 6 * theta[0] + m[0, 0] * theta[1] + 0.5 * theta[2]
    expected += 3 * math.log(c) - c - stats.poisson.logsf(1, c) + (x - 0.5) @ theta
    assert found[0] == found[1] == pytest.approx(expected, rel=1e-12)
    assert theta.tolist() == [0.4, -1.3, 0.9]


def test_constants_are_dropped_only_with_propto():
    y, z, mu, s = np.array([0.1, 0.4, -1.2]), np.array([1, 2, 3]), 0.3, math.exp(0.2)
    model = module_of(DROPPED).model(3, y, z)
    mass, normal = np.sum(stats.poisson.logpmf(z, math.exp(mu))), stats.norm.logpdf
    whole = normal(mu, 0.0, 3.0) + np.sum(normal(y, mu, 2.0)) + normal(s) + normal(s, 1.0) + 2.0 * mass + 0.2
    dropped = -math.log(2.0 * math.pi) - math.log(12.0)
    value, gradient = model.log_density_gradient(np.array([mu, 0.2]), propto=False)
    assert value == model.log_density([mu, 0.2], propto=False) == pytest.approx(whole, rel=1e-12)
    assert model.log_density([mu, 0.2]) == pytest.approx(whole - dropped, rel=1e-12)
    np.testing.assert_allclose(model.log_density_gradient(np.array([mu, 0.2]))[1], gradient, rtol=1e-12)


def test_truncation_by_functions_of_the_program():
    a, rate, p, n = 2.5, 0.7, 0.6, 3
    tail = stats.expon(scale=1.0 / rate)
    expected = 3.0 * tail.logpdf(a) - tail.logsf(1.0) - tail.logcdf(9.0) - math.log(tail.cdf(9.0) - tail.cdf(1.0))
    failures = stats.geom(1.0 - p, loc=-1)
    expected += failures.logpmf(n) - math.log(failures.cdf(6) - failures.cdf(1))
    module = module_of(TRUNCATED)
    assert module.log_density(a, rate, p, n) == pytest.approx(expected, rel=1e-12)
    assert module.log_density(a, rate, p, 7) == module.log_density(a, rate, p, 1) == -np.inf


def test_data_have_the_declared_shape():
    with pytest.raises(ValueError, match=r"y must have shape \(3, 2\), got shape \(2, 3\)"):
        module_of(GROWTH).model(**DATA | {"y": Y.T})
    with pytest.raises(ValueError, match="counts must be whole"):
        module_of(GROWTH).model(**DATA | {"counts": [3, 0.5]})


def test_comments_stay_where_they_were():
    lines = write_file("model", blocks_of(GROWTH)).splitlines()
    head, priors, likelihood = (lines.index(line) for line in (
        "# the rate at which y grows", "    # priors", "    # the likelihood,"
    ))  # fmt: skip
    assert lines[head + 1 : head + 3] == ["@njit", "def growth(t, y, rate, capacity):"]
    assert "lognormal_lpdf" in lines[priors + 1]
    assert lines[likelihood + 1 : likelihood + 3] == ["    # group by group", "    for n in range(N):"]
    assert "        logs[k] = np.log(lambda_[k])  # one by one" in lines
    assert "  vector<lower=0>[2] start; // both of them" in lines
    assert all(len(line) <= 100 for line in lines)


def test_tuples_and_functions_that_add_to_target():
    model = module_of(PACKED).model()
    v, x = np.array([0.3, -0.7, 1.2]), 0.4
    value, gradient = model.log_density_gradient(np.array([*v, x]))
    expected = -(x**2) - x**2 / 18 - math.log(3.0) + v[2] * x + (2 * v[2] + v[1]) * v[1] + 2 * v[0]
    assert value == pytest.approx(expected, rel=1e-14)
    expected = [2.0, 2 * v[2] + 2 * v[1], x + 2 * v[1], -2 * x - x / 9 + v[2]]
    np.testing.assert_allclose(gradient, expected, rtol=1e-14)


@pytest.mark.parametrize("text", REFUSED)
def test_refusals_name_the_line(text):
    with pytest.raises(TranslationError) as found:
        write_file("model", blocks_of(text))
    assert str(found.value).startswith(REFUSED[text])


def test_a_text_of_another_program_is_found():
    trees = json.loads(TREES.read_text())
    from contad.stan.translation.stanc import read_blocks

    with pytest.raises(TranslationError, match="the statements of block 'model' do not match its text"):
        read_blocks(trees[WORDS], WORDS.replace("i += 1;", "i += 1; i += 1;"))


def test_trees_are_those_of_stanc():
    try:
        find_stanc()
    except TranslationError as error:
        pytest.skip(str(error))
    for text, tree in json.loads(TREES.read_text()).items():
        assert record(text) == tree
