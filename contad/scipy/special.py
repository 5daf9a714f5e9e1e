"""`scipy.special` on variables: SciPy's names and arguments, and SciPy's own functions if nothing is a variable.

SciPy's ufuncs dispatch to contad's rules, also on arrays of variables. Its Python functions cannot, so call these
functions in code to differentiate. They accept object arrays as well. `__all__` lists them; a SciPy name that is not
there has no derivative here, and an AttributeError says so. Numba functions may call all of them except orthogonal
polynomials.

>>> import contad, numpy as np
>>> contad.grad(lambda x: logsumexp(x))(np.array([0.0, np.log(3.0)])).round(12)
array([0.25, 0.75])
>>> contad.grad(lambda nu: kv(nu, 2.0))(0.5)
0.02474863750443425
"""

import inspect
import re
from typing import Any

import numpy as np

import contad.ops
from contad.distributions.ways_by_axes import InExpressions
from contad.errors import UnsupportedError
from contad.ops import (  # noqa: F401  (they stand for ufuncs)
    log_sums,
    orthogonal_polynomials,
    probabilities,
    spherical_bessel as spherical,
    written_functions,
)
from contad.ops._scipy import special
from contad.ops.logarithmic_functions import lambertw as real_lambertw
from contad.ops.logistic import log1p_exp
from contad.rules.compilable import Compilable
from contad.rules.numpy_functions import written_functions as find_written
from contad.rules.scalar_rule import ScalarRule, rules
from contad.scipy.special_in_numba import face_of
from contad.variables.array import numbers_in
from contad.variables.open_types import ArrayValue, Function, Option, Value

_NUMBER = re.compile(r">>> (.*)\n(-?(?:\d|inf|nan).*)")


def _docstring_of(function: Function, name: str) -> str:
    """A function's docstring under SciPy's name, with results as NumPy floats."""
    text, mark, example = inspect.cleandoc(function.__doc__ or "").partition(">>>")
    example = (mark + example).replace(f"{getattr(function, '__name__', name)}(", f"{name}(")
    return text + _NUMBER.sub(r">>> float(\1)\n\2", example).replace("round(z, ", "round(float(z), ")


class SpecialFunction(Compilable[..., Any]):
    """SciPy's function of that name if no argument holds a variable, otherwise contad's."""

    def __init__(self, name: str, function: Function) -> None:
        super().__init__(function)
        self.__name__ = self.__qualname__ = name
        self.__module__ = __name__
        self.__doc__ = _docstring_of(function, name)

    def __call__(self, *args: Value, **options: Option) -> Value:
        if not any(map(numbers_in, args)) and not any(map(numbers_in, options.values())):
            return getattr(special(), self.__name__)(*args, **options)
        if options and isinstance(self.function, ScalarRule):
            raise UnsupportedError(
                f"contad.scipy.special.{self.__name__}: {next(iter(options))}= is not supported on variables"
            )
        return self.function(*args, **options)

    def __repr__(self) -> str:
        return f"<contad.scipy.special.{self.__name__}>"

    @property
    def stands_for(self) -> Any:
        """A rule, or a function of arrays."""
        return self.function if isinstance(self.function, ScalarRule) else _OF_ARRAYS.get(self.__name__)


# ---- functions of Python in SciPy ------------------------------------------------------------------------------------
def logsumexp(
    a: ArrayValue, axis: Option = None, b: ArrayValue = None, keepdims: bool = False, return_sign: bool = False
) -> Value:
    """Logarithm of a sum of exponentials over axes, without overflow.

        z = log sum b e^a,     dz/da = b e^(a - z)

    Domain:  every a; weights b are constants, and return_sign is not supported on variables.
    Ref:     Blanchard, Higham & Higham (2021).

    >>> round(logsumexp([0.0, 1.0]), 6)
    1.313262
    """
    if return_sign:
        raise UnsupportedError("contad.scipy.special.logsumexp: return_sign=True is not supported on variables")
    return log_sums.logsumexp(a, axis=axis, b=b, keepdims=keepdims)


def softmax(x: ArrayValue, axis: Option = None) -> ArrayValue:
    """Exponentials over their sum, along axes.

        z_i = e^(x_i) / sum_j e^(x_j),     dz_i/dx_j = z_i (delta_ij - z_j)

    Domain:  every finite x.
    Ref:     Blanchard, Higham & Higham (2021).

    >>> softmax([0.0, 1.0]).round(6)
    array([0.268941, 0.731059])
    """
    return log_sums.softmax(x, axis=axis)


def log_softmax(x: ArrayValue, axis: Option = None) -> ArrayValue:
    """Logarithm of softmax.

        z_i = x_i - log sum_j e^(x_j),     dz_i/dx_j = delta_ij - e^(z_j)

    Domain:  every finite x.
    Ref:     Blanchard, Higham & Higham (2021).

    >>> log_softmax([0.0, 1.0]).round(6)
    array([-1.313262, -0.313262])
    """
    return x - log_sums.logsumexp(x, axis=axis, keepdims=True)


def softplus(x: Value) -> Value:
    """Logarithm of 1 plus an exponential.

        z = log(1 + e^x),     dz/dx = expit(x)

    Domain:  every x.
    Ref:     Dugas et al. (2001).

    >>> round(contad.grad(softplus)(0.5), 6)
    0.622459
    """
    return log1p_exp(x)


def multigammaln(a: Value, d: Option) -> Value:
    """Logarithm of the multivariate gamma function.

        z = d (d - 1) / 4 log pi + sum_(j < d) log Gamma(a - j / 2),     dz/da = sum_(j < d) psi(a - j / 2)

    Domain:  a > (d - 1) / 2, d a whole number.
    Ref:     DLMF 35.3.4.

    >>> round(multigammaln(3.5, 2), 6)
    2.466486
    """
    return contad.ops.multigammaln(a, float(d))


def polygamma(n: Option, x: Value) -> Value:
    """The n-th derivative of digamma.

        z = psi^(n)(x),     dz/dx = psi^(n + 1)(x)

    Domain:  x other than 0, -1, ..., n = 0, 1, ...
    Ref:     DLMF 5.15.

    >>> polygamma(1, 2.5).round(6)
    0.490358
    """
    return contad.ops.polygamma(_as_order(n), x)


def sinc(x: Value) -> Value:
    """Sine of pi x divided by pi x, and 1 at 0.

        z = sin(pi x) / (pi x),     dz/dx = -pi j_1(pi x)

    Domain:  every finite x.
    Ref:     Whittaker (1915).

    >>> round(sinc(0.5), 6)
    0.63662
    """
    return contad.ops.sinc(x)


def zeta(x: Value, q: Value = None, out: None = None) -> Value:
    """Riemann's zeta function, or Hurwitz's if q is given.

        z = sum_(k >= 0) (k + q)^-x, q = 1 by default,     dz/dq = -x zeta(x + 1, q)

    Domain:  x > 1 on variables, q other than 0, -1, ...
    Ref:     DLMF 25.2.1, 25.11.1.

    >>> round(zeta(2.0, 1.5), 6)
    0.934802
    """
    return written_functions.riemann_zeta(x) if q is None else written_functions.hurwitz_zeta(x, q)


def lambertw(z: Value, k: Option = 0, tol: float = 1e-8) -> Value:
    """The real branches 0 and -1 of Lambert's W; real on variables, and complex like SciPy's if nothing is a variable.

        z = w where w e^w = z_0, z_0 the argument,     dz/dz_0 = w / (z_0 (1 + w))

    Domain:  z >= -1/e for k = 0, -1/e <= z < 0 for k = -1.
    Ref:     DLMF 4.13.

    >>> round(lambertw(0.5).real, 6)
    0.351734
    """
    return real_lambertw(z, k, tol)


def comb(N: Value, k: Value, *, exact: bool = False, repetition: bool = False) -> Value:
    """Number of choices of k from N.

        z = Gamma(N + 1) / (Gamma(k + 1) Gamma(N - k + 1))

    Domain:  0 <= k <= N; 0 elsewhere. exact=True is not supported on variables.
    Ref:     DLMF 1.2.1.

    >>> comb(5, 2)
    10.0
    """
    _refuse_exact("comb", exact)
    return written_functions.comb(N, k, repetition)


def perm(N: Value, k: Value, exact: bool = False) -> Value:
    """Number of ordered choices of k from N.

        z = Gamma(N + 1) / Gamma(N - k + 1)

    Domain:  0 <= k <= N; 0 elsewhere. exact=True is not supported on variables.
    Ref:     DLMF 5.2.5, of N - k + 1 and k.

    >>> perm(5, 2)
    20.0
    """
    _refuse_exact("perm", exact)
    return written_functions.perm(N, k)


def factorial(n: Value, exact: bool = False, extend: str = "zero") -> Value:
    """Factorial of a number.

        z = Gamma(n + 1),     dz/dn = z psi(n + 1)

    Domain:  n >= 0; 0 below. exact=True is not supported on variables.
    Ref:     DLMF 5.4.1.

    >>> factorial(4)
    24.0
    """
    _refuse_exact("factorial", exact)
    return written_functions.factorial(n)


def _refuse_exact(name: str, exact: bool) -> None:
    if exact:
        raise UnsupportedError(f"contad.scipy.special.{name}: exact=True is of whole numbers, not of variables")


def _as_order(n: Option) -> Value:
    return float(n) if np.ndim(n) == 0 else np.asarray(n, float)


_OF_ARRAYS = {
    "logsumexp": log_sums.logsumexp,
    "softmax": log_sums.softmax,
    "log_softmax": InExpressions(log_softmax, {"12": "x - rule(x)"}, {"rule": log_sums.logsumexp}),
}  # functions for compiled code


# ---- derivatives of Bessel functions ---------------------------------------------------------------------------------
def spherical_jn(n: Option, z: Value, derivative: bool = False) -> Value:
    """Spherical Bessel function of the first kind, or its derivative.

        z = sqrt(pi / (2 z)) J_(n + 1/2)(z)

    Domain:  every z, n = 0, 1, ...
    Ref:     DLMF 10.47.3, 10.51.

    >>> round(spherical_jn(2, 1.5), 6)
    0.127349
    """
    n = _as_order(n)
    f = contad.ops.spherical_jn
    return (n * f(np.maximum(n - 1.0, 0.0), z) - (n + 1.0) * f(n + 1.0, z)) / (2.0 * n + 1.0) if derivative else f(n, z)


def spherical_yn(n: Option, z: Value, derivative: bool = False) -> Value:
    """Spherical Bessel function of the second kind, or its derivative.

        z = sqrt(pi / (2 z)) Y_(n + 1/2)(z)

    Domain:  z > 0, n = 0, 1, ...
    Ref:     DLMF 10.47.4, 10.51.

    >>> round(spherical_yn(2, 1.5), 6)
    -1.345713
    """
    return _spherical(spherical.spherical_yn, n, z, derivative, 1.0, -1.0)


def spherical_in(n: Option, z: Value, derivative: bool = False) -> Value:
    """Modified spherical Bessel function of the first kind, or its derivative.

        z = sqrt(pi / (2 z)) I_(n + 1/2)(z)

    Domain:  z > 0, n = 0, 1, ...
    Ref:     DLMF 10.47.7, 10.51.

    >>> round(spherical_in(2, 1.5), 6)
    0.175666
    """
    return _spherical(spherical.spherical_in, n, z, derivative, 1.0, 1.0)


def spherical_kn(n: Option, z: Value, derivative: bool = False) -> Value:
    """Modified spherical Bessel function of the second kind, or its derivative.

        z = sqrt(pi / (2 z)) K_(n + 1/2)(z)

    Domain:  z > 0, n = 0, 1, ...
    Ref:     DLMF 10.47.9, 10.51.

    >>> round(spherical_kn(2, 1.5), 6)
    1.012533
    """
    return _spherical(spherical.spherical_kn, n, z, derivative, -1.0, -1.0)


def _spherical(f: Function, n: Option, z: Value, derivative: bool, below: float, above: float) -> Value:
    """f_n, or (below n f_(n - 1) + above (n + 1) f_(n + 1)) / (2 n + 1)."""
    if not derivative:
        return f(n, z)
    lower = below * n * f(n - 1, z) if n else 0.0
    return (lower + above * (n + 1) * f(n + 1, z)) / (2 * n + 1)


def jvp(v: Value, z: Value, n: int = 1) -> Value:
    """The n-th derivative of jv in z.

        z_n = d^n J_v(z) / dz^n

    Domain:  z > 0 on variables, every v, n = 0, 1, ...
    Ref:     DLMF 10.6.7.

    >>> round(jvp(1.5, 2.0), 6)
    0.144546
    """
    return _derive(contad.ops.jv, v, z, n, 1.0, -1.0)


def yvp(v: Value, z: Value, n: int = 1) -> Value:
    """The n-th derivative of yv in z.

        z_n = d^n Y_v(z) / dz^n

    Domain:  z > 0, every v, n = 0, 1, ...
    Ref:     DLMF 10.6.7.

    >>> round(yvp(1.5, 2.0), 6)
    0.531503
    """
    return _derive(contad.ops.yv, v, z, n, 1.0, -1.0)


def ivp(v: Value, z: Value, n: int = 1) -> Value:
    """The n-th derivative of iv in z.

        z_n = d^n I_v(z) / dz^n

    Domain:  z > 0 on variables, every v, n = 0, 1, ...
    Ref:     DLMF 10.29.5.

    >>> round(ivp(1.5, 2.0), 6)
    1.221632
    """
    return _derive(contad.ops.iv, v, z, n, 1.0, 1.0)


def kvp(v: Value, z: Value, n: int = 1) -> Value:
    """The n-th derivative of kv in z.

        z_n = d^n K_v(z) / dz^n

    Domain:  z > 0, every v, n = 0, 1, ...
    Ref:     DLMF 10.29.5.

    >>> round(kvp(1.5, 2.0), 6)
    -0.254868
    """
    return _derive(contad.ops.kv, v, z, n, -1.0, -1.0)


def _derive(f: Function, v: Value, z: Value, n: int, below: float, above: float) -> Value:
    """The n-th derivative of a Bessel function f_v, where f_v' = (below f_(v - 1) + above f_(v + 1)) / 2."""
    if n == 0:
        return f(v, z)
    lower, upper = _derive(f, v - 1.0, z, n - 1, below, above), _derive(f, v + 1.0, z, n - 1, below, above)
    return 0.5 * (below * lower + above * upper)


# ---- the names -------------------------------------------------------------------------------------------------------
_PYTHON = (
    comb, factorial, ivp, jvp, kvp, lambertw, log_softmax, logsumexp, multigammaln, perm, polygamma, sinc, softmax,
    softplus, spherical_in, spherical_jn, spherical_kn, spherical_yn, yvp, zeta,
)  # fmt: skip


def _find_functions() -> dict[str, Function]:
    """The functions by SciPy's names."""
    of_rules = {
        str(ufunc).rpartition(".")[2]: rule
        for rule in rules()
        for ufunc in rule.ufuncs
        if isinstance(ufunc, str) and rule.__module__.startswith("contad.ops.")
    }
    written = {name: f for name, f in find_written().items() if not name.startswith("_")}
    return of_rules | written | {f.__name__: f for f in _PYTHON}


_functions = _find_functions()
__all__ = sorted(_functions)  # noqa: PLE0605

for _name, _function in _functions.items():
    _outside = SpecialFunction(_name, _function)
    globals()[_name] = face_of(__name__, _name, _outside) or _outside
del _name, _function, _outside


def __getattr__(name: str) -> Any:
    """Refuse missing names."""
    if name.startswith("__"):
        raise AttributeError(f"module 'contad.scipy.special' has no attribute {name!r}")
    what = "has no derivative in contad" if hasattr(special(), name) else "is not a function of scipy.special"
    raise AttributeError(f"contad.scipy.special.{name}: {name} {what}; there are {', '.join(__all__)}")
