"""Array rules against differences: the jvp against central differences, each vjp against the jvp and differences."""

import numpy as np


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
