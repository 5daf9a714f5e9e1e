"""Operations with rules of users', for calls in Numba functions on both compiled engines."""

import functools

import numpy as np
from numba import njit

import contad

DRAW = np.random.default_rng(59)


@contad.custom_vjp
def clipped(x, bound=0.5):
    """x, whose cotangent is kept within a bound; of plain Python functions."""
    return x


clipped.defvjp(
    lambda x, bound: (1.0 * x, bound), lambda bound, z_bar: (np.maximum(np.minimum(z_bar, bound), -bound), None)
)


def _scaled(a, s, power):
    return a * s**power


@njit
def scaled_forward(a, s, power):
    return _SCALED(a, s, power), (a, (s, len(a), power > 1), None)


@njit
def scaled_backward(power, saved, z_bar):
    a, (s, n, high), _ = saved
    total = 0.0
    for i in range(n):
        for j in range(a.shape[1]):
            total += z_bar[i, j] * a[i, j]
    slope = power * s ** (power - 1) if high else 1.0
    return z_bar * s**power * 1.5, total * slope  # not the derivative: what the rule says counts


_SCALED = njit(_scaled)
scaled = contad.custom_vjp(_SCALED, nondiff_argnums=(2,))
scaled.defvjp(scaled_forward, scaled_backward)


@contad.array_rule
def spread(a, values):
    """Each of the values times the sum of squares of a."""
    return np.sum(a * a) * values


@spread.forward
def spread_forward(a, values):
    return np.sum(a * a) * values, len(values)


@spread.common
def spread_common(z, z_bar, a, values, saved):
    return np.sum(z_bar * values)


@spread.vjp("a")
def spread_vjp_a(z, z_bar, a, values, saved, common):
    return 2.0 * a * common


@spread.vjp("values")
def spread_vjp_values(z, z_bar, a, values, saved, common):
    return np.sum(a * a) * z_bar


@contad.array_rule
def doubled_by_rule(a):
    return 2.0 * a


@doubled_by_rule.vjp("a")
def doubled_vjp_a(z, z_bar, a):
    return 2.0 * z_bar


@doubled_by_rule.jvp
def doubled_jvp(z, a_dot, a):
    return 2.0 * a_dot


@njit
def squares(x):
    return x * x + 0.3


remembered = contad.checkpoint(squares)


@njit
def program(a, v, s):
    x = scaled(a, s, 3)
    x[0, 1] = x[0, 1] * s  # the result is an array of its own
    y = scaled(a.T[:2], v[0] * s, 1)
    w = spread(doubled_by_rule(v), v * s)
    only_b = spread(np.array([1.0, 2.0]), clipped(w[1:], bound=2.0))
    fixed = contad.stop_gradient(v)
    one, (two, row) = contad.stop_gradient((s, (2.0, v)))
    total = np.sum(x * x) * 0.01 + np.sum(y) * v[1] + np.sum(w * v) * 0.1 + only_b[0]
    total += clipped(s * s) + fixed[0] * fixed[1] + one * two * row[2] * v[1]
    total += contad.checkpoint(squares)(s) * remembered(v[1])
    return total + contad.logsumexp(a) * contad.softmax(v)[1] + contad.softmax(a, axis=None)[1, 0] ** 2 * s


@njit
def stepped(v, s):
    """Numbers, arrays and a branch in a loop; an array that the user writes to; a number that is used twice."""
    total = 0.0
    for i in range(len(v)):
        w = doubled_by_rule(v[i:] * s)
        w[0] = w[0] * s
        x = clipped(s * v[i], 3.0)
        if i > 1:
            x = x * clipped(x * x, 40.0) + np.sum(doubled_by_rule(w) * w)
        total += np.sum(w * v[i]) + x + clipped(v[0] * 0.1, v[1] * 10.0 + 20.0)
    return total


# ---- parts that overwrite what they are given ------------------------------------------------------------------------
@contad.custom_vjp
def rooted(a):
    """A square and one; the forward part writes it into the argument."""
    return a * a + 1.0


@njit
def rooted_forward(a):
    kept = 2.0 * a
    for k in range(len(a)):
        a[k] = a[k] * a[k] + 1.0
    return a, (kept, a, np.arange(len(a)), a > 2.0)


@njit
def rooted_backward(saved, z_bar):
    kept, value, numbers, high = saved
    for k in range(len(kept)):
        kept[k] = kept[k] * z_bar[numbers[k]] * (1.0 if high[k] else 2.0)
        z_bar[k] = value[k] = 1e300
    return (kept,)


rooted.defvjp(rooted_forward, rooted_backward)


@njit
def around(v, s):
    before = v * s
    z = rooted(before)
    again = rooted(before)
    return np.sum(before * z) + np.sum(again * before * before)


# ---- with second derivatives -----------------------------------------------------------------------------------------
@contad.custom_vjp
def halved(a, s, n):
    """a / s, with a reverse rule that is not linear in the cotangent."""
    return a / s


def halved_forward(a, s, n):
    z = a / s
    return z, (z, (s, n > 1), None)


halved.defvjp(
    halved_forward,
    lambda saved, z_bar: (np.minimum(z_bar, 4.0) / saved[1][0], -np.sum(z_bar * saved[0]) / saved[1][0], None),
)


@contad.array_rule
def powered(a, b, *, power=2, shift=1.0, kind="plain"):
    return a**power * b + shift * b


@powered.forward
def powered_forward(a, b, *, power=2, shift=1.0, kind="plain"):
    return a**power * b + shift * b, len(a)


@powered.common
def powered_common(z, z_bar, a, b, saved, *, power=2, shift=1.0, kind="plain"):
    return z_bar * a ** (power - 1)


@powered.vjp("a")
def powered_vjp_a(z, z_bar, a, b, saved, common, *, power=2, shift=1.0, kind="plain"):
    return power * common * b


@powered.vjp("b")
def powered_vjp_b(z, z_bar, a, b, saved, common, *, power=2, shift=1.0, kind="plain"):
    return common * a + shift * z_bar


@powered.jvp
def powered_jvp(z, a_dot, b_dot, a, b, saved, *, power=2, shift=1.0, kind="plain"):
    return power * a ** (power - 1) * b * a_dot + (a**power + shift) * b_dot


@contad.array_rule(linear=("a",))
def turned(a):
    return 2.0 * a[::-1]


@turned.vjp("a")
def turned_vjp_a(z, z_bar, a):
    return 2.0 * z_bar[::-1]


@contad.custom_jvp
def softplus(x):
    return np.log(1.0 + np.exp(x))


@softplus.defjvp
def softplus_jvp(primals, tangents):
    (x,), (x_dot,) = primals, tangents
    z = softplus(x)
    return z, x_dot * (1.0 - np.exp(-z))


@contad.custom_jvp
def products(a, s):
    return a[::-1] * a * s


@products.defjvp
def products_jvp(primals, tangents):
    (a, s), (a_dot, s_dot) = primals, tangents
    return products(a, s), (a_dot[::-1] * a + a[::-1] * a_dot) * s + a[::-1] * a * s_dot


@contad.custom_jvp
def waves(x, y):
    return np.sin(x) * y


waves.defjvps(lambda t, z, x, y: t * np.cos(x) * y, lambda t, z, x, y: t * np.sin(x))
cubed = functools.partial(contad.custom_jvp, nondiff_argnums=(1,))(lambda x, n: x**n)
cubed.defjvp(lambda n, primals, tangents: (primals[0] ** n, n * primals[0] ** (n - 1) * tangents[0]))


@njit
def by_custom_vjp(v, s):
    total = 0.0
    for i in range(2):
        z = halved(v[i:] * s, v[1], i)
        total += np.sum(z * z) + 3.0 * clipped(v[i] * s, 2.0) ** 2
    return total


@njit
def by_array_rules(v, s):
    x = powered(v, v * s, power=3)
    y = powered(x, turned(v), shift=0.5, power=int(s))
    return np.sum(x * y) * 0.1 + np.sum(powered(np.ones(3), x[:3])) + np.sum(turned(np.ones(2)))


@njit
def by_custom_jvp(v, s):
    x = products(v * v, v[0] * s)
    y = products(x, 2.0)
    total = softplus(v[0] * s) * v[2] + softplus(v[3]) ** 2
    for i in range(2):
        total += cubed(v[i], 3) * waves(v[i], v[3] * total) * s
    return total + np.sum(x * y)


TWICE = (by_custom_vjp, by_array_rules, by_custom_jvp)
ARGUMENTS = [np.array([0.7, -0.4, 1.2, 0.9]), 2.3]

DATA = (DRAW.standard_normal((3, 2)), DRAW.standard_normal(3), 1.3)


# ---- rules with something wrong ----------------------------------------------------------
def make_vjp(value, forward, backward, options=()):
    made = contad.custom_vjp(value, nondiff_argnums=options)
    made.defvjp(forward, backward)
    return made


wrong_shape = make_vjp(lambda a: a * 1.0, lambda a: (a * 1.0, None), lambda saved, z_bar: (np.zeros(len(z_bar) + 1),))
too_many = make_vjp(lambda x: 1.0 * x, lambda x: (1.0 * x, x), lambda x, z_bar: (z_bar, x))
no_pair = make_vjp(lambda x: 1.0 * x, lambda x: 1.0 * x, lambda saved, z_bar: (z_bar,))
of_text = make_vjp(lambda x: 1.0 * x, lambda x: (1.0 * x, "text"), lambda saved, z_bar: (z_bar,))
not_compiled = make_vjp(lambda x: 1.0 * x, lambda x: (1.0 * x, x), lambda x, z_bar: (np.clip(x, "a", z_bar),))
optional = make_vjp(lambda x, n: x * n, lambda x, n: (x * n, None), lambda n, saved, z_bar: (z_bar * n,), (1,))


@contad.array_rule
def half_a_rule(a, b):
    return a + b


@half_a_rule.vjp("b")
def half_a_rule_vjp_b(z, z_bar, a, b):
    return z_bar


@contad.array_rule
def with_options(a, *, times=2.0, power):
    return a**power * times


@contad.custom_jvp
def without_rule(x):
    return 2.0 * x
