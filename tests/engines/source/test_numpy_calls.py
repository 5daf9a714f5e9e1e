"""Functions of NumPy and `math` that Numba has beside the common ones: values and gradients, as Python runs them."""

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source.build import derivative_of
from contad.errors import UnsupportedError
from tests.engines.source.bodies import ARGUMENTS, agree, bodies_in, differences, function_of, generated, request

BODIES = bodies_in("""\
r = np.arange(a, 3.0 * a, 0.3)
p = np.arange(5.5 * a, a, -0.9)
return np.sum(r * r) + np.sum(np.arange(0.1, 2.0, x[0]) * a) + p[2] * p[1] + len(np.arange(3.0, a)) * a

s = 0.0
for i in np.arange(1, 2 * k, 2):
    s += x[i] * a * np.arange(k + 2, dtype=np.float64)[i]
for i in np.arange(k, 0, -1):
    s += x[i] * x[i] * i
return s

mantissa, exponent = math.frexp(a * 5.0)
return math.ldexp(x[0], exponent) * mantissa + math.ldexp(a, -3) + math.ldexp(math.ldexp(x[2], 900) * 1e-290, -901)

return np.sinc(a) * np.sum(np.sinc(x)) + np.sinc(x[0] * a)

y = np.empty(3)
np.dot(m, x[:4], y)
z = np.empty((5, 5))
np.dot(np.outer(x, x) * a, np.outer(x, x), out=z)
return np.sum(y * y) + z[0, 1] * z[2, 2]

y = np.bincount(idx % 5, weights=x * a)
z = np.bincount(idx % 5, x, 7)
return np.sum(y * y) + y[3] * z[1] + len(z) * a

return np.sum(np.diff(x, 2) ** 2) * a + np.diff(x, n=k + 1)[1] + len(np.diff(x, 7)) + np.sum(np.ediff1d(x) ** 3)

return np.average(x) * a + np.average(x, weights=x * x + a) * np.average(m)

y = x * a
y[2] = np.nan
return np.nanstd(y) * np.nanvar(y) + np.nanmax(y) * np.nanmin(y) + np.nanprod(y) * np.nanmax(np.append(y[2:], x))

y = x * a
y[2] = np.nan
return np.nancumsum(y)[4] * x[0] + np.nancumprod(y)[4] + np.nanmedian(y) * np.nanpercentile(y, 30.0)

y = x * a
y[2] = np.nan
return np.nanquantile(y, 0.6) * np.sum(np.nan_to_num(y) * x) + np.nan_to_num(x[0]) * a

np.random.seed(3)
s = 0.0
for i in range(4):
    z = np.random.normal(x[i], a)
    s += z * z if z > 0.0 else np.random.exponential(a)
return s + np.random.normal(a) + np.random.normal() * x[0]

np.random.seed(3)
s = np.random.laplace(x[0], a) * x[1] + np.random.logistic(0.0, a) + np.random.gumbel(a, x[0])
s *= np.random.uniform(x[1], a)
return s + np.sum(np.random.normal(a, x[0], size=(2, 2)) ** 2) + np.random.uniform(0.0, a, 3)[1]
""")


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.splitlines()[-1][:40])
def test_it_is_as_python_runs_it(body):
    agree(body)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("np.arange(x[0], a, a - a)[0]", "Maximum allowed size exceeded"),
        ("np.bincount(idx, x)[0]", "must be non-negative"),
        ("np.bincount(idx[:2], x)[0]", "the same length"),
        ("np.diff(x, -k)[0]", "order must be non-negative"),
    ],
)
def test_it_raises_where_numba_does(text, error):
    f = function_of(f"return {text}")
    with pytest.raises(ValueError, match=error):
        generated(f)


@pytest.mark.parametrize(
    "body",
    [
        "return np.float32(a) * 2.0 * x[0]",
        "y = np.float32(a) * np.float32(x[1])\nreturn (y + np.float32(a)) * x[0]",
        "return np.sum(x.astype(np.float32) * x) * a",
        "return np.array([1.0, a], dtype=np.float32)[1] * x[0]",
        "return np.full(3, a, np.float32)[1] * x[0]",
        "return np.sum(np.linspace(0.0, a, 5).astype(np.float32).astype(np.float64)) * x[0]",
    ],
)
@pytest.mark.parametrize("mode", ["value_and_grad", "jvp"])
def test_what_is_rounded_to_float32_is_refused_where_it_is_differentiated(body, mode):
    with pytest.raises(UnsupportedError, match=r"float32.*; (compute with float64|use float64)"):
        derivative_of(request(function_of(body))._replace(mode=mode))


def test_constants_are_rounded_to_float32():
    agree("y = np.float32(int(a * 5.0)) * np.float32(0.1)\nreturn y * x[0] * a if np.float32(a) > 0.5 else y")


def test_a_draw_that_has_no_location_and_scale_is_refused():
    with pytest.raises(UnsupportedError, match=r"the draw 'np.random.gamma\(a, 1.0\)' with parameters that vary"):
        generated(function_of("return np.random.gamma(a, 1.0) * x[0]"))


@pytest.mark.long
@pytest.mark.parametrize("body", BODIES[-2:])
def test_draws_are_those_of_numba(body):
    f = function_of(body)
    value, gradient = contad.value_and_grad(f, (0, 1), engine="generated")(*ARGUMENTS)
    assert value == pytest.approx(f(*ARGUMENTS), rel=1e-12)
    x, a, *rest = ARGUMENTS
    moved = [f(x, a + h, *rest) for h in (1e-6, -1e-6)]
    assert gradient[1] == pytest.approx((moved[0] - moved[1]) / 2e-6, rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("body", [BODIES[5], BODIES[7]])
def test_the_tape_takes_what_is_written_in_loops(body):
    f = function_of(body)
    _, gradient = contad.value_and_grad(f, (0, 1), engine="tape")(*ARGUMENTS)
    np.testing.assert_allclose([*gradient[0], gradient[1]], differences(f), rtol=1e-6, atol=1e-7)


def test_truth_values_become_floats():
    """Compiled, because Numba has no float of a truth value."""

    @njit
    def f(x, a):
        return np.sum((x > a).astype(np.float64) * x) + np.sum(np.append(x > a, x)) * a

    value, (by_x, by_a) = contad.value_and_grad(f, (0, 1), engine="generated")(np.array([0.5, 1.2, 0.3]), 0.4)
    assert value == pytest.approx(3.3)
    np.testing.assert_allclose([*by_x, by_a], [1.4, 1.4, 0.4, 4.0])
