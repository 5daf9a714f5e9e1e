"""Derivatives that a differentiated function calls: one operation of the generated engine, to any order.

Judged by formulas in many digits, and by the same functions in plain Python, whose derivatives are nested recordings.
"""

import math
import subprocess
import sys

import mpmath
import numba
import numpy as np
import pytest

import contad
from contad.errors import UnsupportedError

X, V = np.array([0.3, -0.4, 0.7, 0.2]), np.array([0.5, 0.1, -0.3, 0.9])


# ---- by formulas in many digits --------------------------------------------------------------------------------------
@numba.njit
def wave(t, a):
    return math.sin(a * t) * t


@numba.njit
def by_slopes(x):
    """A value and a gradient by one of two arguments that have derivatives; directions have tangents, too."""
    value, by_t = contad.value_and_grad(wave)(x[0] * x[1], x[1])
    return value + math.sin(by_t)


@numba.njit
def product_of_products(x, v, w):
    return np.sum(contad.hvp(by_slopes)(x, v) * w)


def by_slopes_in_digits(x, a):
    t = x * a
    by_t = mpmath.sin(a * t) + a * t * mpmath.cos(a * t)
    return mpmath.sin(a * t) * t + mpmath.sin(by_t)


def partial_in_digits(*counts):
    with mpmath.workdps(40):
        return float(mpmath.diff(by_slopes_in_digits, (mpmath.mpf(0.7), mpmath.mpf(1.3)), counts))


def test_up_to_the_third_order():
    x, v, w = np.array([0.7, 1.3]), np.array([0.4, -0.9]), np.array([1.1, 0.6])
    assert by_slopes(x) == pytest.approx(partial_in_digits(0, 0), rel=1e-14)
    gradient, product = contad.grad(by_slopes), contad.hvp(by_slopes)
    np.testing.assert_allclose(gradient(x), [partial_in_digits(1, 0), partial_in_digits(0, 1)], rtol=1e-13)
    mixed = partial_in_digits(1, 1)
    matrix = np.array([[partial_in_digits(2, 0), mixed], [mixed, partial_in_digits(0, 2)]])
    np.testing.assert_allclose(product(x, v), matrix @ v, rtol=1e-12)
    third = contad.grad(product_of_products)
    orders = [(3, 0), (2, 1), (1, 2), (0, 3)]
    thirds = [partial_in_digits(*order) for order in orders]
    weights = v[0] * w[0], v[0] * w[1] + v[1] * w[0], v[1] * w[1]
    expected = [np.dot(weights, thirds[k : k + 3]) for k in (0, 1)]
    np.testing.assert_allclose(third(x, v, w), expected, rtol=1e-11)
    for f, args in ((gradient, (x,)), (product, (x, v)), (third, (x, v, w))):
        assert contad.engine_name(f, args=args) == "generated"


# ---- each of the derivatives -----------------------------------------------------------------------------------------
def chain(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += np.exp(0.3 * x[i]) * x[i + 1] ** 2 + np.sin(x[i])
    return total


def scaled(x, a):
    return np.sum(np.exp(a * x) * x)


def turned(x):
    return np.exp(0.5 * x) * x[::-1]


def of_pair(pair):
    return np.sum(pair[0] ** 3) * np.exp(pair[1])


def counted(a, n, t):
    total = 0.0
    for i in range(n):
        total += np.sin(a[0] * t) * (i + 1)
    return total * a[1]


def bump(t):
    return np.exp(t) * np.sin(t)


PLAIN = (chain, scaled, turned, of_pair, counted, bump)


def by_grad(x):
    found = np.sin(contad.grad(chain)(x))
    return np.sum(found)


def by_value(x):
    value, _ = contad.value_and_grad(chain)(x)
    return value * value


def by_value_and_other_argument(x):
    value, slope = contad.value_and_grad(scaled)(x, x[0])
    return value * np.sum(np.sin(slope))


def by_several(x):
    slope, other = contad.grad(scaled, (0, 1))(x, x[0])
    return np.sum(np.sin(slope)) * other


def by_tuple(x):
    slope = contad.grad(of_pair)((x, x[1]))
    return np.sum(np.sin(slope[0])) * slope[1]


def by_count(x):
    slope, other = contad.grad(counted, (0, 2))(x[:2], 3, x[2])
    return np.sin(slope[1]) * other + slope[0]


def by_product(x):
    return np.sum(np.sin(contad.hvp(chain)(x, x * 0.5)))


def by_tangent(x):
    value, slope = contad.jvp(chain, (x,), (x * x,))
    return value * np.sin(slope)


def by_tangent_of_array(x):
    value, slope = contad.jvp(turned, (x,), (x * x,))
    return np.sum(value * np.sin(slope))


def by_tangent_of_gradient(x):
    value, slope = contad.jvp(contad.grad(chain), (x,), (x * x,))
    return np.sum(value * np.sin(slope))


def by_repeated(x):
    return np.sin(contad.grad(contad.grad(contad.grad(bump)))(x[0])) * x[1]


def by_hessian(x):
    blocks = contad.hessian(scaled, (0, 1))(x, x[0])
    return np.sum(np.sin(blocks[0][0])) * np.sum(blocks[0][1] * x) * blocks[1][1]


def by_jacobian(x):
    return np.sum(np.sin(contad.jacobian(turned)(x)))


def by_columns(x):
    return np.sum(np.sin(contad.jacfwd(turned)(x)))


def by_trace(x):
    return contad.laplacian(chain)(x) * x[0]


def downhill(x):
    y = x.copy()
    for _ in range(3):
        y = y - 0.1 * contad.grad(chain)(y)
        if y[0] > 0.1:
            y[0] = y[0] * np.sin(y[1])
    return np.sum(y * y)


def newton(x):
    y = 0.1 * x
    for _ in range(2):
        matrix = contad.hessian(chain)(y) + 5.0 * np.eye(len(x))
        y = y - np.linalg.solve(matrix, contad.grad(chain)(y) + x)
    return np.sum(y * y)


CALLERS = [
    by_grad, by_value, by_value_and_other_argument, by_several, by_tuple, by_count, by_product, by_tangent,
    by_tangent_of_array, by_tangent_of_gradient, by_repeated, by_hessian, by_jacobian, by_columns, by_trace, downhill,
    newton,
]  # fmt: skip


def in_numba(f):
    """The same function, and all that it calls, by Numba."""
    known = {g.__name__: numba.njit(g) for g in PLAIN} | {"np": np, "contad": contad}
    return numba.njit(type(f)(f.__code__, known, f.__name__))


def check_against_plain(f):
    """All derivatives up to the second order, and the third along vectors, by one engine; warnings are errors."""
    compiled = in_numba(f)
    names = []

    def call(derivative, *args):
        names.append(contad.engine_name(derivative, args=args))
        return derivative(*args)

    slope, product = contad.grad(f)(X), contad.hvp(f)(X, V)
    close = {"rtol": 1e-11, "atol": 1e-12 * np.max(np.abs(product))}
    assert contad.jvp(compiled, (X,), (V,))[1] == pytest.approx(np.dot(slope, V), rel=1e-11)
    np.testing.assert_allclose(call(contad.grad(compiled), X), slope, **close)
    np.testing.assert_allclose(call(contad.hvp(compiled), X, V), product, **close)
    np.testing.assert_allclose(call(contad.hessian(compiled), X) @ V, product, **close)

    @numba.njit
    def twice_along(x, v, w):
        return np.sum(contad.hvp(compiled)(x, v) * w)

    expected = contad.grad(lambda x: np.sum(contad.hvp(f)(x, V) * slope))(X)
    found = call(contad.grad(twice_along), X, V, slope)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11 * np.max(np.abs(expected)))
    assert set(names) == {"generated"}


@pytest.mark.long  # some ten seconds of compilation each; formulas above are a sample
@pytest.mark.parametrize("f", CALLERS, ids=lambda f: f.__name__)
def test_each_derivative_to_the_third_order(f):
    check_against_plain(f)


@numba.njit
def mixed(x, v):
    return np.sum(contad.hvp(chain_in_numba)(x, v * x[0]))


chain_in_numba = numba.njit(chain)


def test_products_are_one_operation_each_and_are_shown():
    text = contad.source(mixed, X, V)
    assert text.count("derivative_2_of_chain(") == text.count("derivative_3_of_chain(") == 1
    tangents = contad.source(mixed, X, V, V, of="hvp")
    assert "derivative_4_of_chain" in tangents


def test_the_tape_is_not_loaded_while_numba_types_a_call():
    """It has overloads of NumPy's functions, which would get two types in what is compiled."""
    text = "import sys, contad.front.derivative; print('contad.engines.tape.building' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


# ---- what changes, and what is refused -------------------------------------------------------------------------------
SIZE = 2.0


@numba.njit
def cubed(t):
    return SIZE * t**3


@numba.njit
def of_cubed(t):
    return contad.grad(cubed)(t) * t


def test_a_constant_of_the_inner_function_that_has_changed_is_an_error(monkeypatch):
    derivative = contad.grad(of_cubed, engine="generated")
    assert derivative(2.0) == pytest.approx(72.0)
    monkeypatch.setattr("tests.engines.source.test_called_derivatives.SIZE", 3.0)
    with pytest.raises(contad.FrozenValueError, match="SIZE"):
        derivative(2.0)


@numba.njit
def writes(x, y):
    x[0] = y[0] * y[1]
    return np.sum(x * y)


@numba.njit
def of_written(x):
    return np.sum(contad.grad(writes)(x, x * 2.0))


@numba.njit
def guarded(x):
    try:
        return x[0] * x[0] * np.ones(len(x) - 1)[0]  # whose length is not known
    except Exception:
        return 0.0


@numba.njit
def of_guarded(x):
    return np.sum(contad.grad(guarded)(x))


def test_refusals_name_the_call_and_what_is_refused_in_the_function():
    first = of_written.py_func.__code__.co_firstlineno + 2
    with pytest.raises(UnsupportedError, match=rf"derivatives.py:{first}: of_written.*grad: writes: it may"):
        contad.source(of_written, X)
    line = guarded.py_func.__code__.co_firstlineno + 3
    with pytest.raises(UnsupportedError, match=rf"derivatives.py:{line}: guarded.*try/except"):
        contad.source(of_guarded, X)
