"""A recorded function that draws random numbers says so, whatever draws them; draws that replay by a seed do not."""

import random
import warnings
from types import SimpleNamespace

import numba
import numpy as np
import pytest

import contad
from contad.programs import frozen_draws

GENERATOR = np.random.default_rng(1)


def of_global_generator(mu):
    return np.sum((mu + GENERATOR.standard_normal(3)) ** 2)


def of_numpy(mu):
    return np.sum((mu + np.random.standard_normal(3)) ** 2)  # noqa: NPY002


def of_python(mu):
    return (mu + random.gauss(0.0, 1.0)) ** 2


def of_new_generator(mu):
    return np.sum((mu + np.random.default_rng().standard_normal(3)) ** 2)


class Sampler:
    def __init__(self):
        self.rng = np.random.default_rng(1)


def of_attribute():
    sampler = Sampler()
    return lambda mu: (mu + sampler.rng.standard_normal()) ** 2


@pytest.mark.parametrize(
    "f", [of_global_generator, of_numpy, of_python, of_new_generator, of_attribute()], ids=lambda f: f.__name__
)
def test_draws_are_told(f):
    with pytest.warns(UserWarning, match="contad.record: .*: it draws random numbers, and the program repeats those"):
        program = contad.record(f, 0.5)
    assert program(0.5) == program(0.5)


def test_a_generator_as_an_argument_is_told():
    with pytest.warns(UserWarning, match="it draws random numbers"):
        contad.record(lambda mu, rng: mu * rng.standard_normal(), 0.5, np.random.default_rng(1), argnums=0)


def test_draws_that_replay_are_not():
    def seeded(mu):
        return np.sum((mu + np.random.default_rng(3).standard_normal(3)) ** 2)

    z = np.random.default_rng(3).standard_normal(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        programs = contad.record(seeded, 0.5), contad.record(lambda mu, z: np.sum((mu + z) ** 2), 0.5, z, argnums=0)
        drawn = contad.record(lambda mu, z: np.sum((mu + z) ** 2), 0.5, z)
    assert [p.gradient(0.7) for p in programs] == [pytest.approx(contad.grad(seeded)(0.7))] * 2
    other = np.random.default_rng(4).standard_normal(3)
    assert drawn.gradient(0.7, other)[0] == pytest.approx(2.0 * np.sum(0.7 + other))


# ---- without a program -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("draw", [
    lambda rng, mu: rng.normal(mu, 1.0, 3), lambda rng, mu: rng.poisson(mu, 3), lambda rng, mu: rng.gamma(mu, 1.0, 3),
    lambda rng, mu: rng.choice(2, 3, p=np.stack([mu, 1.0 - mu])),
], ids=["normal", "poisson", "gamma", "choice"])  # fmt: skip
@pytest.mark.parametrize("of", [contad.grad, contad.derivative])
def test_draws_whose_parameters_are_variables_are_refused(draw, of):
    with pytest.raises(contad.errors.ContadError):
        of(lambda mu: np.sum(draw(np.random.default_rng(1), mu)))(0.5)
    assert contad.stack().top <= 1


def test_draws_are_constants_on_every_engine():
    def f(mu, seed):
        z = np.random.default_rng(seed).standard_normal(4)
        return np.sum((mu[0] + np.exp(mu[1]) * z) ** 3)

    mu = np.array([0.4, -0.2])
    z = np.random.default_rng(7).standard_normal(4)
    location, scale = mu[0], np.exp(mu[1])
    expected = [np.sum(3.0 * (location + scale * z) ** 2), np.sum(3.0 * (location + scale * z) ** 2 * scale * z)]
    for engine in contad.engines.engine_names():
        np.testing.assert_allclose(contad.grad(f, engine=engine)(mu, 7), expected, rtol=1e-12)

    @numba.njit
    def compiled(mu, rng):
        total = 0.0
        for _ in range(4):
            total += (mu[0] + np.exp(mu[1]) * rng.standard_normal()) ** 3
        return total

    np.testing.assert_allclose(contad.grad(compiled)(mu, np.random.default_rng(7)), expected, rtol=1e-12)


@numba.njit
def of_generator(mu, rng):
    total = 0.0
    for _ in range(5):
        total += np.sin(mu + 0.3 * rng.standard_normal())
    return total


def test_draws_in_compiled_code_replay_at_every_order_and_the_generator_moves_on_once():
    z = 0.3 * np.random.default_rng(1).standard_normal(5)
    first, second = np.sum(np.cos(0.5 + z)), -np.sum(np.sin(0.5 + z))
    for engine in (None, "tape", "matrix"):
        rng = np.random.default_rng(1)
        assert contad.grad(of_generator, engine=engine)(0.5, rng) == pytest.approx(first, rel=1e-12)
        again = np.random.default_rng(1)
        again.standard_normal(5)
        assert rng.random() == again.random()
    with pytest.warns(UserWarning, match="a Python copy of it answers"):
        found = contad.hessian(of_generator)(0.5, np.random.default_rng(1))
    assert found == pytest.approx(second, rel=1e-12)


def test_a_module_that_is_imported_meanwhile_is_no_draw(monkeypatch):
    imported = SimpleNamespace(modules={"random": random})
    monkeypatch.setattr(frozen_draws, "sys", imported)

    def f(x):
        imported.modules["numpy.random"] = np.random
        return x * 2.0

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert contad.record(f, 1.0)(3.0) == 6.0
