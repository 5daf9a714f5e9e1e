"""Operations with rules of users' in generated derivatives; gradients are in `tests/engines/test_user_rules.py`."""

import numpy as np
import pytest
from numba import njit, objmode

import contad
from contad.engines.source.build import derivative_of
from contad.engines.source.reading.rule_calls import may_take_derivatives
from tests.engines import user_rules
from tests.engines.source.agreement import as_python, request
from tests.engines.user_rules import around, doubled_by_rule, make_vjp

DRAW = np.random.default_rng(83)
V = DRAW.standard_normal(4)


@njit
def with_option(x, n):
    return user_rules.optional(x * x, n) * x


def test_options_may_be_numbers_that_are_known_when_it_runs():
    assert as_python(request(with_option, 1.5, 3))(1.5, 3) == (1.5**3 * 3, (3 * 1.5**2 * 3,))


# ---- parts that overwrite what they are given ------------------------------------------------------------------------
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_rule_overwrites_arrays_of_its_own(compiled):
    v, s = np.array([0.5, 2.0, -3.0]), 1.5
    x = v * s
    z, factor = x * x + 1.0, np.where(x * x + 1.0 > 2.0, 1.0, 2.0)
    bar = z + x * 2.0 * x * factor + z * 2.0 * x + x * x * 2.0 * x * factor
    run = contad.value_and_grad(around, argnums=(0, 1), engine="generated")
    value, (v_bar, s_bar) = (run if compiled else as_python(request(around, v, s, argnums=(0, 1))))(v, s)
    assert value == pytest.approx(np.sum(x * z) + np.sum(z * x * x), rel=1e-14)
    np.testing.assert_allclose(v_bar, bar * s, rtol=1e-13)
    assert s_bar == pytest.approx(np.sum(bar * v), rel=1e-13)
    assert v.tolist() == [0.5, 2.0, -3.0]


# ---- zeros -----------------------------------------------------------------------------------------------------------
steep = make_vjp(lambda a: np.sqrt(a), lambda a: (np.sqrt(a), a), lambda a, z_bar: (z_bar * 0.5 / np.sqrt(a),))
unread = make_vjp(lambda x, a: x * 2.0, lambda x, a: (x * 2.0, None), lambda saved, z_bar: (2.0 * z_bar, None))


@njit
def masked(v, s):
    z = steep(v)
    total = unread(s, v) * s
    for k in range(len(v)):
        total += z[k] if s > 2.0 else v[k]
    return total


def test_a_rule_of_which_nothing_is_asked_is_not_run():
    run = as_python(request(masked, np.zeros(3), 1.5, argnums=(0, 1)))
    value, (v_bar, s_bar) = run(np.zeros(3), 1.5)
    assert (value, v_bar.tolist(), s_bar) == (4.5, [1.0, 1.0, 1.0], 6.0)


def test_weights_that_are_variables_are_refused():
    f = njit(_log_of_weights)
    with pytest.raises(contad.RuleError, match="argument 2 is an option and must be a constant"):
        contad.grad(f, engine="generated")(np.array([0.3, 1.2]))


def _log_of_weights(w):
    return contad.logsumexp(np.array([1.0, 2.0]), b=w)


# ---- other derivatives -----------------------------------------------------------------------------------------------
@njit
def sums(v):
    w = doubled_by_rule(v * v)
    return w[0] * v[1] + w[2] * w[2] + v[3] * v[3]


DIRECTION = np.array([0.4, -1.2, 0.7, 0.9])


def test_forward_mode_is_that_of_the_rule():
    """Of a custom_vjp there is none; second derivatives run through its backward part."""
    with pytest.raises(contad.UnsupportedError, match="it has no forward mode; write it with contad.custom_jvp"):
        derivative_of(request(user_rules.by_custom_vjp, *user_rules.ARGUMENTS)._replace(mode="jvp"))
    for f in (sums, user_rules.by_custom_jvp, user_rules.by_array_rules):
        args = (V,) if f is sums else user_rules.ARGUMENTS
        asked = request(f, *args)._replace(mode="jvp")
        value, slope = as_python(asked)(tuple(args), (DIRECTION,))
        expected = contad.jvp(lambda v, f=f, rest=args[1:]: f.py_func(v, *rest), (args[0],), (DIRECTION,))
        np.testing.assert_allclose((value, slope), expected, rtol=1e-13)


def test_second_derivatives_are_compiled():
    by_hand = contad.hvp(lambda v: 2.0 * v[0] ** 2 * v[1] + 4.0 * v[2] ** 4 + v[3] ** 2)(V, DIRECTION)
    np.testing.assert_allclose(contad.hvp(sums, engine="generated")(V, DIRECTION), by_hand, rtol=1e-13)


@pytest.mark.long  # a minute of compilation
@pytest.mark.parametrize("f", user_rules.TWICE)
def test_second_derivatives_of_all_kinds_of_rules(f):
    v, s = user_rules.ARGUMENTS
    found = contad.hvp(f, (0, 1), engine="generated")(v, s, (DIRECTION, 0.7))
    expected = contad.hvp(f.py_func, (0, 1))(v, s, (DIRECTION, 0.7))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-11)
    assert found[1] == pytest.approx(expected[1], rel=1e-11)
    assert contad.hvp(f, 1, engine="generated")(v, s, 1.0) == pytest.approx(contad.hvp(f.py_func, 1)(v, s, 1.0))


@njit
def products(v):
    return doubled_by_rule(v[:2]) * v[2:]


@pytest.mark.long  # cotangent by cotangent
@pytest.mark.filterwarnings("ignore:.*Python copy")
def test_jacobians():
    expected = contad.jacobian(lambda v: 2.0 * v[:2] * v[2:])(V)
    for way in (contad.jacobian, contad.jacrev):
        np.testing.assert_allclose(way(products)(V), expected, rtol=1e-14)


@pytest.mark.long  # ten seconds of compilation
def test_patterns_hold_all_that_a_rule_may_depend_on():
    pattern = contad.sparsity(products, V)
    assert np.asarray(pattern.todense()).astype(int).tolist() == [[1, 1, 1, 0], [1, 1, 0, 1]]


# ---- rules that take derivatives -------------------------------------------------------------------------------------
@njit
def cube(x):
    return x * x * x


@njit
def slope_backward(x, z_bar):
    return (contad.grad(cube)(x) * z_bar,)


slope = make_vjp(cube, njit(lambda x: (x * x * x, x)), slope_backward)


@njit
def by_slope(x):
    return slope(x * x)


@njit
def in_python(x, z_bar):
    with objmode(y="float64"):
        y = 3.0 * x * x * z_bar
    return (y,)


def test_rules_that_take_derivatives_are_found():
    assert may_take_derivatives(slope_backward, ())
    assert may_take_derivatives(in_python, ())
    assert not may_take_derivatives(cube, ())
    with pytest.raises(contad.UnsupportedError, match="whose rule takes derivatives or calls itself"):
        as_python(request(by_slope, 1.1))


@pytest.mark.long  # derivatives inside the tape
def test_rules_that_take_derivatives_are_left_to_the_tape():
    assert contad.grad(by_slope)(1.1) == pytest.approx(6.0 * 1.1**5, rel=1e-14)
    assert "engine tape" in contad.explain(contad.grad(by_slope), 1.1)


def test_rules_of_two_functions_with_one_name_are_told_apart():
    first = make_vjp(lambda x: 1.0 * x, lambda x: (1.0 * x, None), lambda saved, z_bar: (2.0 * z_bar,))
    other = make_vjp(lambda x: 3.0 * x, lambda x: (3.0 * x, None), lambda saved, z_bar: (5.0 * z_bar,))

    def both(x):
        return first(x) * 7.0 + other(x)

    assert as_python(request(njit(both), 2.0))(2.0) == (20.0, (19.0,))
