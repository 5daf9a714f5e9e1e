"""Rules of users' along several directions, and for several cotangents, at once: against one at a time."""

import numba
import numpy as np
import pytest

import contad
from tests.engines import user_rules
from tests.engines.source.plain_text import draw_direction, require_lanes

COUNT = 4
RNG = np.random.default_rng(11)
V = RNG.standard_normal(4)
PROGRAMS = {
    "custom_vjp": (user_rules.by_custom_vjp, user_rules.ARGUMENTS),
    "array rules": (user_rules.by_array_rules, user_rules.ARGUMENTS),
    "custom_jvp": (user_rules.by_custom_jvp, user_rules.ARGUMENTS),
    "loops and branches": (user_rules.stepped, [V, 1.3]),
    "parts that overwrite": (user_rules.around, [np.array([0.5, 2.0, -3.0]), 1.5]),
}


@numba.njit
def several(v, s):
    """An array of values, for cotangents."""
    x = user_rules.powered(v, v * s, power=3)
    return user_rules.products(x, s) * user_rules.softplus(v[0]) + user_rules.clipped(v[1] * s, 0.4)


LONG = [pytest.param(name, marks=[] if name == "custom_vjp" else [pytest.mark.long]) for name in PROGRAMS]


@pytest.mark.parametrize("name", LONG)
def test_products_with_several_directions(name):
    f, args = PROGRAMS[name]
    require_lanes(f, args, (0, 1), "hvp", [tuple(draw_direction(RNG, x) for x in args) for _ in range(COUNT)])


@pytest.mark.long
@pytest.mark.parametrize("name", ["array rules", "custom_jvp"])
def test_tangents_along_several_directions(name):
    f, args = PROGRAMS[name]
    require_lanes(f, args, (0, 1), "jvp", [tuple(draw_direction(RNG, x) for x in args) for _ in range(COUNT)])


def test_several_cotangents():
    require_lanes(several, user_rules.ARGUMENTS, (0, 1), "vjp", [RNG.standard_normal(4) for _ in range(COUNT)])


@pytest.mark.long  # a minute of compilation, as each of the next
@pytest.mark.parametrize("f", user_rules.TWICE)
def test_hessians_in_machine_code(f):
    """Several directions at once, which `explain` tells."""
    run = contad.hessian(f, (0, 1), engine="generated")
    for found, right in zip(run(V, 2.3), contad.hessian(f.py_func, (0, 1))(V, 2.3), strict=True):
        for x, y in zip(found, right, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10)
    assert "at once" in contad.explain(run, V, 2.3)


@numba.njit
def by_jvp_rules(v, s):
    """With an option that is a text, what a rule saves, and a number in a loop."""
    total = np.sum(user_rules.powered(v, v * s, power=3, kind="plain") * user_rules.turned(v))
    for i in range(2):
        total += user_rules.softplus(v[i] * s) ** 2
    return total + user_rules.waves(s, v[0])


@numba.njit
def by_one(v):
    return by_jvp_rules(v, 1.3)


@pytest.mark.long
def test_third_derivatives_in_machine_code():
    """Of a trace, and by gradients of gradients of gradients; without a Python copy, which would warn."""
    m = RNG.standard_normal((4, 4))
    found = contad.grad_tr_mat_times_hessian(by_one, V, m)
    right = contad.grad_tr_mat_times_hessian(lambda v: by_jvp_rules.py_func(v, 1.3), V, m)
    np.testing.assert_allclose(found, right, rtol=1e-10)
    slope = contad.grad(contad.grad(contad.grad(of_number)))
    expected = contad.grad(contad.grad(contad.grad(of_number.py_func)))
    assert slope(0.7) == pytest.approx(expected(0.7), rel=1e-11)


@numba.njit
def of_number(x):
    return user_rules.softplus(x * x) * user_rules.waves(x, x)
