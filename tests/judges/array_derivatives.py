"""Array rules against differences: the jvp against central differences, each vjp against the jvp and differences."""

import numpy as np
import pytest

import contad


def split(point):
    """(arguments as float arrays, options) of a point of an array rule."""
    options = dict(point[-1]) if isinstance(point[-1], dict) else {}
    arrays = point[:-1] if isinstance(point[-1], dict) else point
    return [np.asarray(x, dtype=np.float64) for x in arrays], options


def directional(f, args, dots):
    """df at args along dots, by central differences of the eighth order."""
    h = 2.0**-9
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    total = 0.0
    for k, w in weights.items():
        ahead = f(*(x + k * h * d for x, d in zip(args, dots, strict=True)))
        behind = f(*(x - k * h * d for x, d in zip(args, dots, strict=True)))
        total = total + w * (np.asarray(ahead) - np.asarray(behind)) / h
    return total


def inner(x, y):
    return float(np.sum(np.asarray(x) * np.asarray(y)))


def report(rule, args, options, seed=0):
    """What is wrong with the rule at these arguments: a list of messages, empty if all is well."""
    rng = np.random.default_rng(seed)
    wrong = []
    z, saved = rule.evaluate(args, options)
    dots = [rng.uniform(0.5, 1.5, x.shape) * rng.choice([-1.0, 1.0], x.shape) for x in args]
    z_bar = rng.uniform(0.5, 1.5, np.shape(z)) * rng.choice([-1.0, 1.0], np.shape(z))
    z_bar = z_bar if np.ndim(z) else float(z_bar)
    for k, name in enumerate(rule.argument_names):
        only = [d if i == k else np.zeros(d.shape) for i, d in enumerate(dots)]
        none = [d if i == k else None for i, d in enumerate(dots)]
        tangent = rule.push(z, none, args, options, saved)
        expected = directional(lambda *xs: rule.function(*xs, **options), args, only)
        if np.shape(tangent) != np.shape(z):
            wrong.append(f"jvp {name}: shape {np.shape(tangent)} of z {np.shape(z)}")
            continue
        size = np.max(np.abs(expected), initial=1.0)
        if not np.allclose(tangent, expected, rtol=1e-9, atol=1e-9 * size):
            wrong.append(f"jvp {name}: {tangent} by differences {expected}")
        a_bar = rule.pull(name, z, z_bar, args, options, saved)
        if np.shape(a_bar) != args[k].shape:
            wrong.append(f"vjp {name}: shape {np.shape(a_bar)} of {args[k].shape}")
            continue
        left, right = inner(z_bar, tangent), inner(a_bar, dots[k])
        scale = inner(np.abs(z_bar), np.abs(tangent)) + inner(np.abs(a_bar), np.abs(dots[k])) + 1e-300
        if not abs(left - right) <= 1e-12 * scale:
            wrong.append(f"vjp {name}: <z_bar, J x_dot> = {left}, <J^T z_bar, x_dot> = {right}")
    if len(args) > 1:
        both = rule.push(z, dots, args, options, saved)
        apart = directional(lambda *xs: rule.function(*xs, **options), args, dots)
        if not np.allclose(both, apart, rtol=1e-9, atol=1e-9 * np.max(np.abs(apart), initial=1.0)):
            wrong.append(f"jvp of all: {both} by differences {apart}")
    return wrong


def in_shape(z):
    """Weights for the elements of a result, none of them equal."""
    return np.cos(1.0 + 1.7 * np.arange(np.size(z))).reshape(np.shape(z))


def of_one(f, args, k):
    """f as a function of argument k."""
    return lambda x: f(*args[:k], x, *args[k + 1 :])


def check_orders(call, args):
    """jvp, gradient and Hessian times vector of sum(weights * sin(call(x))), in each array and in all."""
    weights = in_shape(call(*args))

    def loss(*xs):
        terms = np.sin(call(*xs)) * (weights if weights.ndim else float(weights))
        return np.sum(terms) if weights.ndim else terms

    dots = [in_shape(x) + 0.3 for x in args]
    together = contad.grad(loss, tuple(range(len(args))), engine="matrix")(*args)
    total = sum(np.sum(g * d) for g, d in zip(together, dots, strict=True))
    assert total == pytest.approx(float(directional(loss, args, dots)), rel=1e-8, abs=1e-8)
    for k, (x, dot) in enumerate(zip(args, dots, strict=True)):
        f, g = of_one(call, args, k), of_one(loss, args, k)
        gradient = contad.grad(g, engine="matrix")
        np.testing.assert_allclose(contad.jvp(f, (x,), (dot,))[1], directional(f, [x], [dot]), rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(gradient(x), together[k], rtol=1e-12, atol=1e-13)
        curvature = directional(gradient, [x], [dot])
        assert np.any(curvature)
        reverse = contad.grad(lambda x, f=gradient, d=dot: np.sum(f(x) * d), engine="matrix")(x)
        np.testing.assert_allclose(reverse, curvature, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(contad.jvp(gradient, (x,), (dot,))[1], curvature, rtol=1e-7, atol=1e-7)
        over = contad.grad(lambda x, g=g, d=dot: contad.jvp(g, (x,), (d,))[1], engine="matrix")(x)
        np.testing.assert_allclose(over, curvature, rtol=1e-7, atol=1e-7)
