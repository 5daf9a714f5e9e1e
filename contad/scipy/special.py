"""`scipy.special` on variables: SciPy's names and arguments, and SciPy's own functions where nothing is a variable.

SciPy's ufuncs find the rules of contad by themselves, on arrays of variables too; its functions of Python cannot:
so a function that is differentiated calls these. They take object arrays as well. Which there are is `__all__`; a name
of SciPy's that is not there has no derivative here, and AttributeError says so. Numba functions may call those that
are rules or formulas of numbers (`contad.scipy.special.gammaln`, `chdtr`, `zeta`, `airy`).

>>> import contad, numpy as np
>>> contad.grad(lambda x: logsumexp(x))(np.array([0.0, np.log(3.0)])).round(12)
array([0.25, 0.75])
>>> contad.grad(lambda nu: kv(nu, 2.0))(0.5)
0.02474863750443425
"""

from typing import Any

import numpy as np

import contad.ops
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
from contad.rules.scalar_rule import ScalarRule, rules
from contad.rules.written_ufuncs import written_functions as find_written
from contad.scipy.special_in_numba import face_of
from contad.variables.array import numbers_in
from contad.variables.open_types import ArrayValue, Function, NumbaType, Option, Value


class SpecialFunction(Compilable[..., Any]):
    """SciPy's function of that name where no argument holds a variable, and else one of contad's."""

    def __init__(self, name: str, function: Function) -> None:
        super().__init__(function)
        self.__name__ = self.__qualname__ = name
        self.__module__ = __name__
        self.__doc__ = (function.__doc__ or "").partition(">>>")[0].rstrip()  # the example is of the function itself

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
    def _numba_type_(self) -> NumbaType:
        """A rule's, so that Numba functions may call it."""
        if isinstance(self.function, ScalarRule):
            return self.function._numba_type_  # type: ignore[attr-defined]
        raise UnsupportedError(
            f"contad.scipy.special.{self.__name__} cannot be called inside njit, for it is no function of numbers; "
            "call it outside"
        )


# ---- functions of Python in SciPy ------------------------------------------------------------------------------------
def logsumexp(
    a: ArrayValue, axis: Option = None, b: ArrayValue = None, keepdims: bool = False, return_sign: bool = False
) -> Value:
    """log(sum(b exp(a))) over axes; weights b are constants. return_sign is not supported on variables."""
    if return_sign:
        raise UnsupportedError("contad.scipy.special.logsumexp: return_sign=True is not supported on variables")
    return log_sums.logsumexp(a, axis=axis, b=b, keepdims=keepdims)


def softmax(x: ArrayValue, axis: Option = None) -> ArrayValue:
    """exp(x) over its sum."""
    return log_sums.softmax(x, axis=axis)


def log_softmax(x: ArrayValue, axis: Option = None) -> ArrayValue:
    """x - logsumexp(x)."""
    return x - log_sums.logsumexp(x, axis=axis, keepdims=True)


def softplus(x: Value) -> Value:
    """log(1 + exp(x))."""
    return log1p_exp(x)


def multigammaln(a: Value, d: Option) -> Value:
    """Logarithm of the multivariate gamma function."""
    return contad.ops.multigammaln(a, float(d))


def polygamma(n: Option, x: Value) -> Value:
    """The n-th derivative of digamma."""
    return contad.ops.polygamma(_as_order(n), x)


def sinc(x: Value) -> Value:
    """sin(pi x) / (pi x)."""
    return contad.ops.sinc(x)


def zeta(x: Value, q: Value = None, out: None = None) -> Value:
    """Riemann's or Hurwitz's zeta function, on variables for x > 1."""
    return written_functions.riemann_zeta(x) if q is None else written_functions.hurwitz_zeta(x, q)


def lambertw(z: Value, k: Option = 0, tol: float = 1e-8) -> Value:
    """The real branches 0 and -1 of Lambert's W; real on variables."""
    return real_lambertw(z, k, tol)


def comb(N: Value, k: Value, *, exact: bool = False, repetition: bool = False) -> Value:
    """Number of choices of k from N."""
    _refuse_exact("comb", exact)
    return written_functions.comb(N, k, repetition)


def perm(N: Value, k: Value, exact: bool = False) -> Value:
    """Number of ordered choices of k from N."""
    _refuse_exact("perm", exact)
    return written_functions.perm(N, k)


def factorial(n: Value, exact: bool = False, extend: str = "zero") -> Value:
    """Gamma(n + 1)."""
    _refuse_exact("factorial", exact)
    return written_functions.factorial(n)


def _refuse_exact(name: str, exact: bool) -> None:
    if exact:
        raise UnsupportedError(f"contad.scipy.special.{name}: exact=True is of whole numbers, not of variables")


def _as_order(n: Option) -> Value:
    return float(n) if np.ndim(n) == 0 else np.asarray(n, float)


# ---- derivatives of Bessel functions ---------------------------------------------------------------------------------
def spherical_jn(n: Option, z: Value, derivative: bool = False) -> Value:
    """Spherical Bessel function of the first kind, or its derivative."""
    n = _as_order(n)
    f = contad.ops.spherical_jn
    return (n * f(np.maximum(n - 1.0, 0.0), z) - (n + 1.0) * f(n + 1.0, z)) / (2.0 * n + 1.0) if derivative else f(n, z)


def spherical_yn(n: Option, z: Value, derivative: bool = False) -> Value:
    """Spherical Bessel function of the second kind, or its derivative."""
    return _spherical(spherical.spherical_yn, n, z, derivative, 1.0, -1.0)


def spherical_in(n: Option, z: Value, derivative: bool = False) -> Value:
    """Modified spherical Bessel function of the first kind, or its derivative."""
    return _spherical(spherical.spherical_in, n, z, derivative, 1.0, 1.0)


def spherical_kn(n: Option, z: Value, derivative: bool = False) -> Value:
    """Modified spherical Bessel function of the second kind, or its derivative."""
    return _spherical(spherical.spherical_kn, n, z, derivative, -1.0, -1.0)


def _spherical(f: Function, n: Option, z: Value, derivative: bool, below: float, above: float) -> Value:
    """f_n, or (below n f_(n - 1) + above (n + 1) f_(n + 1)) / (2 n + 1)."""
    if not derivative:
        return f(n, z)
    lower = below * n * f(n - 1, z) if n else 0.0
    return (lower + above * (n + 1) * f(n + 1, z)) / (2 * n + 1)


def jvp(v: Value, z: Value, n: int = 1) -> Value:
    """The n-th derivative of jv in z."""
    return _derive(contad.ops.jv, v, z, n, 1.0, -1.0)


def yvp(v: Value, z: Value, n: int = 1) -> Value:
    """The n-th derivative of yv in z."""
    return _derive(contad.ops.yv, v, z, n, 1.0, -1.0)


def ivp(v: Value, z: Value, n: int = 1) -> Value:
    """The n-th derivative of iv in z."""
    return _derive(contad.ops.iv, v, z, n, 1.0, 1.0)


def kvp(v: Value, z: Value, n: int = 1) -> Value:
    """The n-th derivative of kv in z."""
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
    """The function of each of SciPy's names."""
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


def __getattr__(name: str) -> Any:
    """What there is not."""
    if name.startswith("__"):
        raise AttributeError(f"module 'contad.scipy.special' has no attribute {name!r}")
    what = "has no derivative in contad" if hasattr(special(), name) else "is no function of scipy.special"
    raise AttributeError(f"contad.scipy.special.{name}: {name} {what}; there are {', '.join(__all__)}")
