"""Sums of formulas over arrays as one record of the engine `matrix`, beside what their formulas say."""

import builtins
import math
import os

import numpy as np
import pytest

import contad
from contad import stan
from contad.engines.matrix import summed_formulas

Y, MU = np.linspace(-3.0, 2.0, 300), np.linspace(1.0, -0.5, 300)
COUNTS = np.arange(300.0) % 23.0


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    """The functions are compiled at the first call."""
    monkeypatch.setattr(summed_formulas, "LOADING", 0)
    monkeypatch.setattr(summed_formulas, "COMPILING", 0)


def log_density(y, mu, sigma):
    return stan.normal_lpdf(y, mu, sigma)


def test_a_density_and_its_slopes_are_those_of_its_formula():
    value, (of_y, of_mu, of_sigma) = contad.value_and_grad(log_density, (0, 1, 2))(Y, MU, 1.4)
    r = (Y - MU) / 1.4
    assert math.isclose(value, np.sum(-0.5 * r * r) - 300 * (math.log(1.4) + 0.5 * math.log(2.0 * math.pi)))
    np.testing.assert_allclose(of_y, -r / 1.4, rtol=1e-14)
    np.testing.assert_allclose(of_mu, r / 1.4, rtol=1e-14)
    assert math.isclose(of_sigma, np.sum(r * r - 1.0) / 1.4, rel_tol=1e-13)


def test_shapes_and_uses():
    def f(y, mu, sigma):
        rows = stan.normal_lpdf(y[::3].reshape(10, 10), mu[:100].reshape(10, 10), sigma)
        return rows * stan.normal_lpdf(y, mu, sigma) + np.sum(y * mu)

    part = slice(0, 300, 3)
    r, s = (Y - MU) / 1.4, (Y[part] - MU[:100]) / 1.4
    constant = math.log(1.4) + 0.5 * math.log(2.0 * math.pi)
    a, b = -0.5 * np.sum(s * s) - 100 * constant, -0.5 * np.sum(r * r) - 300 * constant
    of_y, of_mu = MU - a * r / 1.4, Y + a * r / 1.4
    of_y[part] -= b * s / 1.4
    of_mu[:100] += b * s / 1.4
    value, (y_bar, mu_bar, sigma_bar) = contad.value_and_grad(f, (0, 1, 2))(Y, MU, 1.4)
    assert math.isclose(value, a * b + np.sum(Y * MU))
    np.testing.assert_allclose(y_bar, of_y, rtol=1e-12)
    np.testing.assert_allclose(mu_bar, of_mu, rtol=1e-12)
    assert math.isclose(sigma_bar, (a * np.sum(r * r - 1.0) + b * np.sum(s * s - 1.0)) / 1.4, rel_tol=1e-12)


def test_functions_of_other_kinds_stand_between_rows_of_arithmetic():
    def f(eta):
        return stan.poisson_log_lpmf(COUNTS, eta)

    factorials = np.array([math.lgamma(n + 1.0) for n in COUNTS])
    value, slope = contad.value_and_grad(f)(Y)
    assert math.isclose(value, np.sum(COUNTS * Y - np.exp(Y) - factorials), rel_tol=1e-13)
    np.testing.assert_allclose(slope, COUNTS - np.exp(Y), rtol=1e-12)


def test_arguments_outside_the_domain_are_named():
    wrong = np.where(Y > 1.0, np.inf, MU)
    with pytest.raises(ValueError, match="normal_lpdf: mu must be finite, got inf at index"):
        contad.grad(log_density, (0, 1, 2))(Y, wrong, 1.4)
    with pytest.raises(ValueError, match=r"normal_lpdf: sigma must be positive, got -1.4"):
        contad.grad(log_density, (0, 1, 2))(Y, MU, -1.4)


def test_second_derivatives_are_those_of_elements():
    second = contad.hessian(lambda sigma: stan.normal_lpdf(Y, 0.3, sigma))(1.4)
    r = (Y - 0.3) / 1.4
    assert math.isclose(second, np.sum(1.0 - 3.0 * r * r) / 1.4**2)


def test_the_cache_is_asked_once_for_a_function(monkeypatch):
    """To ask takes a list of the files in it."""
    asked = []
    monkeypatch.setattr(summed_formulas, "COMPILING", math.inf)
    summed_formulas.recipe_of.cache_clear()
    monkeypatch.setattr(summed_formulas, "is_cached", lambda name, depends: asked.append(name))
    for _ in range(5):
        contad.grad(log_density, (1, 2))(np.array([0.3, 1.2, -0.4]), 0.5, 1.3)
        contad.grad(log_density)(np.array([0.3, 1.2, -0.4]), 0.5, 1.3)
    assert len(asked) == len(set(asked)) == 2


def test_nothing_asks_the_file_system_again(monkeypatch):
    """Neither eager gradients, while compiled sums are waited for, nor recorded ones; a first look may be."""
    monkeypatch.setattr(summed_formulas, "LOADING", 1e-3)
    monkeypatch.setattr(summed_formulas, "COMPILING", math.inf)
    monkeypatch.setattr(summed_formulas, "is_cached", lambda name, depends: os.scandir(".").close())
    summed_formulas.recipe_of.cache_clear()

    def f(u):
        rows = stan.normal_lpdf(Y, u[0], 1.4) + stan.lognormal_lpdf(np.exp(u), u, 1.3)
        return rows + stan.cauchy_lpdf(u[1], 0.0, 2.5) + np.sum(np.exp(u))

    point = np.array([0.3, 1.2, -0.4])
    ways = {"eager": contad.value_and_grad(f), "record": contad.record(f, point).value_and_grad}
    for way in ways.values():
        for _ in range(500):  # by then all is loaded that pays within so many calls
            way(point)
    asked = []
    for module, names in ((os, ("stat", "scandir", "listdir", "open", "lstat")), (builtins, ("open",))):
        for name in names:
            known = getattr(module, name)
            monkeypatch.setattr(
                module, name, lambda *args, known=known, **options: asked.append(args) or known(*args, **options)
            )
    for way in ways.values():
        for _ in range(20):
            way(point)
    monkeypatch.undo()
    assert not asked
