"""Optimisers over trees: optax's steps where it is installed, formulas of two steps, minima, derivatives of loops."""

import numpy as np
import pytest

import contad
from contad import optim

RNG = np.random.default_rng(1)
START = {"a": RNG.normal(size=(2, 3)), "b": [np.float64(0.7), RNG.normal(size=3)]}
FACTORIES = {
    "sgd": lambda m: m.sgd(0.1), "sgd, momentum": lambda m: m.sgd(0.1, 0.9),
    "sgd, Nesterov": lambda m: m.sgd(0.1, momentum=0.8, nesterov=True), "adam": lambda m: m.adam(0.05, eps_root=1e-6),
    "adamw": lambda m: m.adamw(0.05, weight_decay=0.1), "rmsprop": lambda m: m.rmsprop(0.05, 0.8),
    "rmsprop, centered": lambda m: m.rmsprop(
        0.05, eps_in_sqrt=False, centered=True, momentum=0.7, nesterov=True, initial_scale=1.0),
    "lion": lambda m: m.lion(0.05, weight_decay=0.1),
    "clipped": lambda m: m.chain(m.clip_by_global_norm(0.5), m.clip(0.2), m.adam(m.exponential_decay(0.1, 3, 0.5))),
}  # fmt: skip
SCHEDULES = {
    "constant": lambda m: m.constant_schedule(0.3), "linear": lambda m: m.linear_schedule(0.1, 1.0, 5, 2),
    "exponential": lambda m: m.exponential_decay(0.5, 4, 0.7, transition_begin=1, end_value=0.3),
    "staircase": lambda m: m.exponential_decay(0.5, 4, 0.7, staircase=True),
    "cosine": lambda m: m.cosine_decay_schedule(0.5, 6, 0.1, 1.5),
    "steps": lambda m: m.piecewise_constant_schedule(0.5, {3: 0.1, 6: 2.0}),
    "joined": lambda m: m.join_schedules([m.constant_schedule(0.3), m.linear_schedule(0.1, 1.0, 5)], [4]),
    "warm up": lambda m: m.warmup_cosine_decay_schedule(0.01, 0.5, 3, 8, 0.05),
}  # fmt: skip


def loss(p):
    return np.sum((p["a"] - 1.0) ** 2) + np.cos(p["b"][0]) + np.sum(p["b"][1] ** 4)


def train(optimiser, params, steps, apply=optim.apply_updates, of=loss, convert=lambda x: x):
    state = optimiser.init(params)
    for _ in range(steps):
        updates, state = optimiser.update(convert(contad.grad(of)(params)), state, params)
        params = apply(params, updates)
    return params


@pytest.mark.parametrize("name", FACTORIES)
def test_steps_are_those_of_optax(name):
    optax = pytest.importorskip("optax")
    jax = pytest.importorskip("jax")

    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        expected = train(
            FACTORIES[name](optax), START, 7, lambda p, u: optim.apply_updates(p, jax.tree.map(np.asarray, u)),
            convert=lambda g: jax.tree.map(jax.numpy.asarray, g),
        )  # fmt: skip
        found = train(FACTORIES[name](optim), START, 7)
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_are_those_of_optax(name):
    optax = pytest.importorskip("optax")
    found, expected = SCHEDULES[name](optim), SCHEDULES[name](optax)
    np.testing.assert_allclose([found(k) for k in range(12)], [expected(k) for k in range(12)], rtol=1e-5)


# ---- formulas --------------------------------------------------------------------------------------------------------
def step_twice(optimiser, p, g, h):
    """The parameters after steps with the gradients g and h."""
    first, state = optimiser.update(g, optimiser.init(p), p)
    p = optim.apply_updates(p, first)
    return optim.apply_updates(p, optimiser.update(h, state, p)[0])


def test_two_steps_by_their_formulas():
    p, g, h = 1.3, 0.4, -0.9
    assert step_twice(optim.sgd(0.1), p, g, h) == pytest.approx(p - 0.1 * g - 0.1 * h, rel=1e-14)
    assert step_twice(optim.momentum(0.1, 0.8), p, g, h) == pytest.approx(p - 0.1 * (1.8 * g + h), rel=1e-14)
    nesterov = p - 0.1 * (g + 0.8 * g) - 0.1 * (h + 0.8 * (h + 0.8 * g))
    assert step_twice(optim.sgd(0.1, 0.8, True), p, g, h) == pytest.approx(nesterov, rel=1e-14)
    m, v = 0.09 * g + 0.1 * h, 0.999 * 0.001 * g**2 + 0.001 * h**2
    move = m / (1.0 - 0.9**2) / (np.sqrt(v / (1.0 - 0.999**2)) + 1e-8)
    after = p - 0.1 * g / (abs(g) + 1e-8)
    assert step_twice(optim.adam(0.1), p, g, h) == pytest.approx(after - 0.1 * move, rel=1e-12)
    after = p - 0.1 * (g / (abs(g) + 1e-8) + 0.2 * p)
    assert step_twice(optim.adamw(0.1, weight_decay=0.2), p, g, h) == pytest.approx(
        after - 0.1 * (move + 0.2 * after), rel=1e-12
    )
    after = p - 0.1 * (np.sign(g) + 0.2 * p)
    mixed = 0.9 * 0.01 * g + 0.1 * h
    assert step_twice(optim.lion(0.1, weight_decay=0.2), p, g, h) == pytest.approx(
        after - 0.1 * (np.sign(mixed) + 0.2 * after), rel=1e-12
    )
    v = 0.1 * g**2
    after = p - 0.1 * g / np.sqrt(v + 1e-8)
    assert step_twice(optim.rmsprop(0.1), p, g, h) == pytest.approx(
        after - 0.1 * h / np.sqrt(0.9 * v + 0.1 * h**2 + 1e-8), rel=1e-12
    )


def test_clipping():
    g = {"a": np.array([3.0, -4.0]), "b": 12.0}
    assert optim.global_norm(g) == 13.0
    one = optim.clip_by_global_norm(1.3)
    found = one.update(g, one.init(g))[0]
    np.testing.assert_allclose(found["a"], [0.3, -0.4])
    assert found["b"] == pytest.approx(1.2)
    two = optim.clip(3.5)
    np.testing.assert_array_equal(two.update(g, two.init(g))[0]["a"], [3.0, -3.5])


# ---- minima ----------------------------------------------------------------------------------------------------------
def rosenbrock(p):
    return np.sum(100.0 * (p["y"] - p["x"] ** 2) ** 2 + (1.0 - p["x"]) ** 2)


def test_lbfgs_finds_a_minimum():
    params, optimiser = {"x": np.full(3, -1.2), "y": np.full(3, 1.0)}, optim.lbfgs()
    state = optimiser.init(params)
    for _ in range(60):
        grads = contad.grad(rosenbrock)(params)
        updates, state = optimiser.update(grads, state, params, value_fn=rosenbrock)
        params = optim.apply_updates(params, updates)
    np.testing.assert_allclose(params["x"], 1.0, rtol=1e-8)
    np.testing.assert_allclose(params["y"], 1.0, rtol=1e-8)
    assert len(state[2]) == 10


def test_lbfgs_with_a_rate_minimises_a_quadratic():
    a = np.diag([1.0, 3.0, 10.0])
    found = train(optim.lbfgs(0.5), np.ones(3), 60, of=lambda p: 0.5 * p @ a @ p)
    np.testing.assert_allclose(found, 0.0, atol=1e-7)


# ---- derivatives of a loop -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [
    lambda r: optim.sgd(r, 0.9), lambda r: optim.adam(r), lambda r: optim.adamw(optim.cosine_decay_schedule(r, 5)),
    lambda r: optim.lbfgs(r), lambda r: optim.chain(optim.clip_by_global_norm(0.3 * r), optim.rmsprop(r)),
])  # fmt: skip
def test_a_loop_is_differentiable_in_its_rate_and_its_start(make):
    def after(rate, x):
        return np.sum(train(make(rate), x, 3, of=lambda p: np.sum(p**4 + p)) ** 2)

    x, h = np.array([0.8, -1.1]), 1e-6
    slope, slopes = contad.grad(after, (0, 1))(0.05, x)
    assert slope == pytest.approx((after(0.05 + h, x) - after(0.05 - h, x)) / (2.0 * h), rel=1e-6)
    differences = [(after(0.05, x + h * e) - after(0.05, x - h * e)) / (2.0 * h) for e in np.eye(2)]
    np.testing.assert_allclose(slopes, differences, rtol=1e-6)


def test_another_structure_is_refused():
    optimiser = optim.adam(0.1)
    with pytest.raises(ValueError, match="gradients, state and parameters must have one structure"):
        optimiser.update([1.0, 2.0], optimiser.init({"a": 1.0, "b": 2.0}))


def test_it_is_an_attribute_of_contad():
    assert contad.optim is optim
    assert "optim" in dir(contad)
