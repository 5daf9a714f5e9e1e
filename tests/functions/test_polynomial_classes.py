"""numpy.polynomial on variables: its functions and its classes, under NumPy's own names."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Polynomial, chebyshev, hermite_e, legendre

import contad
from contad.testing import expect_ad
from tests.judges.array_derivatives import check_orders

C = np.array([0.3, -0.4, 0.7, 1.2])
X = np.array([0.25, -0.6])
QUADRATIC = Polynomial([1.0, -2.0, 3.0])
FITTED = Chebyshev([0.5, 1.5, -0.3], domain=[0.0, 3.0])

CASES = {
    "polyval": lambda c, x: np.polynomial.polynomial.polyval(x, c),
    "chebval": lambda c, x: chebyshev.chebval(x, c),
    "legval, a number": lambda c, x: legendre.legval(x[0], c),
    "hermeval, a list": lambda c, x: hermite_e.hermeval(x, [c[0], 1.0, c[2]]),
    "lagval, columns": lambda c, x: np.polynomial.laguerre.lagval(x, np.outer(c, c)),
    "hermval, not a tensor": lambda c, x: np.polynomial.hermite.hermval(x, np.outer(c, x), tensor=False),
    "polyval2d": lambda c, x: np.polynomial.polynomial.polyval2d(x, x**2, np.outer(c, x)),
    "leggrid2d": lambda c, x: legendre.leggrid2d(x, x**2, np.outer(c, x)),
    "chebvander": lambda c, x: chebyshev.chebvander(x, 3) @ c,
    "legder": lambda c, x: legendre.legval(x, legendre.legder(c)),
    "chebint": lambda c, x: chebyshev.chebval(x, chebyshev.chebint(c, k=[x[0]])),
    "hermemul": lambda c, x: hermite_e.hermemul(c, x),
    "chebdiv": lambda c, x: np.concatenate(chebyshev.chebdiv(c, x)),
    "polyfromroots": lambda c, x: np.polynomial.polynomial.polyfromroots(c) * x[0],
    "legfit": lambda c, x: legendre.legfit([0.1, 0.4, 0.8, 1.1], c, 2) * x[0],
    "cheb2poly": lambda c, x: chebyshev.cheb2poly(c) * x[0],
    "Polynomial": lambda c, x: Polynomial(c)(x),
    "a domain": lambda c, x: np.polynomial.Legendre(c, domain=[0.0, 2.0])(x),
    "one that is there": lambda c, x: QUADRATIC(c) * FITTED(x[0]),
    "with one that is there": lambda c, x: (QUADRATIC * Polynomial(c) - 1.0)(x),
    "calculus": lambda c, x: Chebyshev(c).deriv()(x) + Chebyshev(c).integ()(x),
    "a power": lambda c, x: (Polynomial(c[:2]) ** 3)(x),
    "composition": lambda c, x: Polynomial(c)(Polynomial(x))(c[0]),
    "conversion": lambda c, x: Polynomial.cast(Chebyshev(c))(x),
    "a quotient": lambda c, x: (Polynomial(c) // Polynomial(x))(0.7),
    "a fit": lambda c, x: Polynomial.fit([0.1, 0.4, 0.8, 1.1], c, 2)(x),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name):
    check_orders(CASES[name], (C, X))


@pytest.mark.parametrize("name", ["chebval", "Polynomial"])
def test_expect_ad(name):
    expect_ad(CASES[name], C, X)


def test_values_are_those_of_numpy():
    for f in CASES.values():
        value, _ = contad.vjp(lambda c, x, f=f: f(c, x), C, X)[:2]
        np.testing.assert_allclose(value, f(C, X), rtol=1e-14)


def test_coefficients_and_classes_are_seen():
    def f(c):
        p = Polynomial(c)
        assert isinstance(p, np.polynomial.Polynomial) and p.degree() == 3
        return np.sum(p.coef * np.array([1.0, 2.0, 3.0, 4.0]))

    np.testing.assert_array_equal(contad.grad(f)(C), [1.0, 2.0, 3.0, 4.0])


def test_arguments_and_what_a_function_imports():
    def f(x, p):
        from numpy.polynomial import Polynomial as Imported

        return p(x[0]) + Imported(x)(2.0)

    np.testing.assert_allclose(contad.grad(f)(X, QUADRATIC), [1.0 - 2.0 + 6.0 * X[0], 2.0])
    roots = contad.grad(lambda c: np.sum(chebyshev.chebroots(c) ** 2))
    expect_ad(lambda c: np.sum(chebyshev.chebroots(c) ** 2).real, np.array([-0.8, 0.3, 1.1]))
    assert roots(np.array([-0.8, 0.3, 1.1])).shape == (3,)


def test_nothing_is_loaded_before_it_is_named():
    program = "import contad, contad.functions.polynomial_classes as p; contad.grad(lambda x: abs(x) * x)(2.0); "
    program += "print(bool(p._made))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"
