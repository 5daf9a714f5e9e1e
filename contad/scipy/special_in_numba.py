"""Formulas of numbers that Numba functions use for those functions of `contad.scipy.special` that are not rules.

Most are the replacements of SciPy's ufuncs, unchanged. Functions that inspect the kinds of their arguments, or that
SciPy writes in Python, are one line each. Arguments that are whole numbers in SciPy carry no derivative.
"""

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

from contad.distributions.faces import Face, compose, function_of_text
from contad.distributions.formula import Formula
from contad.distributions.real_line import student_cdf, student_quantile
from contad.ops import probabilities, written_functions
from contad.ops.airy_functions import airy_ai, airy_aip, airy_bi, airy_bip
from contad.ops.arithmetic import absolute, power
from contad.ops.bessel_functions import iv, jv, kv, yv
from contad.ops.elementary import sqrt
from contad.ops.error_integrals import fresnel_c, fresnel_s
from contad.ops.exponential_integrals import chi, ci, shi, si
from contad.ops.gamma_functions import gamma, polygamma
from contad.ops.gamma_ratios import binom, multigammaln, poch, rgamma
from contad.ops.hypergeometric_functions import hyp0f1
from contad.ops.logarithmic_functions import lambert_w0, lambert_wm1
from contad.ops.logic import select
from contad.ops.logistic import log1p_exp
from contad.ops.rounding import trunc
from contad.ops.spherical_bessel import sinc, spherical_jn
from contad.ops.trigonometric import sin
from contad.ops.zeta_functions import zeta
from contad.variables.open_types import Function, Option, Value

HOME = "contad.scipy.special_in_numba"
KNOWN: dict[str, Any] = {
    f.__name__: f
    for f in (
        airy_ai, airy_aip, airy_bi, airy_bip, absolute, iv, jv, kv, yv, sqrt, fresnel_c, fresnel_s, chi, ci, shi, si,
        gamma, polygamma, binom, multigammaln, poch, lambert_w0, lambert_wm1, select, log1p_exp, trunc, sinc,
        spherical_jn, sin, zeta, student_cdf, student_quantile, rgamma, hyp0f1, power,
    )
}  # fmt: skip

# functions in contad.ops that are already formulas, with their whole-number arguments
AS_THEY_ARE = {
    "bdtr": "k n", "bdtrc": "k n", "bdtri": "k n", "nbdtr": "k n", "nbdtrc": "k n", "nbdtri": "k n", "pdtr": "k",
    "pdtrc": "k", "pdtri": "k", "chdtr": "", "chdtrc": "", "chdtri": "", "gdtr": "", "gdtrc": "", "gdtrix": "",
    "gdtria": "", "fdtr": "", "fdtrc": "", "fdtri": "", "exp10": "", "powm1": "", "pseudo_huber": "", "agm": "",
    "radian": "", "sindg": "", "cosdg": "", "tandg": "", "cotdg": "", "kn": "n", "yn": "n",
}  # fmt: skip

_COUNTED = "k >= 0.0 and k <= {n} and {n} >= 0.0"
_LAMBERT = (
    "select(k == 0.0, lambert_w0(select(k == 0.0, z, 0.1)), "
    "select(k == -1.0, lambert_wm1(select(k == -1.0, z, -0.1)), nan))"
)
_HALF_ORDER = "1.2533141373155003 / sqrt(z) * {f}(n + 0.5, z)"
_BY_SERIES = (  # for orders up to 100, like `contad.ops.spherical_bessel.spherical_in`
    "high = n > 100.0; order = select(high, 1.0, n); x = select(high, z, 1.0); y = select(high, 1.0, z); "
    "series = 0.886226925452758 * rgamma(order + 1.5) * power(0.5 * y, order) * hyp0f1(order + 1.5, 0.25 * y * y); "
    "select(high, 1.2533141373155003 / sqrt(x) * iv(n + 0.5, x), series)"
)
# (arguments, formula, whole-number arguments, defaults)
WRITTEN: dict[str, tuple[str, str, str, dict[str, float]]] = {
    "comb": ("N k", f"select({_COUNTED.format(n='N')}, binom(N, k), 0.0)", "", {}),
    "perm": ("N k", f"select({_COUNTED.format(n='N')}, poch(N - k + 1.0, k), 0.0)", "", {}),
    "factorial": ("n", "select(n < 0.0, 0.0, gamma(n + 1.0))", "", {}),
    "huber": (
        "delta r",
        "select(delta < 0.0, inf, select(absolute(r) <= delta, 0.5 * r * r, delta * (absolute(r) - 0.5 * delta)))",
        "", {},
    ),
    "multigammaln": ("a d", "multigammaln(a, d)", "d", {}),
    "polygamma": ("n x", "polygamma(n, x)", "n", {}),
    "sinc": ("x", "sinc(x)", "", {}),
    "zeta": ("x q", "zeta(x, q)", "", {"q": 1.0}),
    "softplus": ("x", "log1p_exp(x)", "", {}),
    "lambertw": (
        "z k",
        _LAMBERT,
        "k", {"k": 0.0},
    ),
    "spherical_jn": ("n z", "spherical_jn(n, z)", "n", {}),
    "spherical_yn": ("n z", _HALF_ORDER.format(f="yv"), "n", {}),
    "spherical_in": ("n z", _BY_SERIES, "n", {}),
    "spherical_kn": ("n z", _HALF_ORDER.format(f="kv"), "n", {}),
    "jvp": ("v z", "0.5 * (jv(v - 1.0, z) - jv(v + 1.0, z))", "", {}),
    "yvp": ("v z", "0.5 * (yv(v - 1.0, z) - yv(v + 1.0, z))", "", {}),
    "ivp": ("v z", "0.5 * (iv(v - 1.0, z) + iv(v + 1.0, z))", "", {}),
    "kvp": ("v z", "-0.5 * (kv(v - 1.0, z) + kv(v + 1.0, z))", "", {}),
    "stdtr": ("df t", "student_cdf(df, t)", "", {}),
    "stdtrit": ("df p", "student_quantile(df, p)", "", {}),
}  # fmt: skip
TUPLES = {
    "airy": "airy_ai(x), airy_aip(x), airy_bi(x), airy_bip(x)",
    "sici": "si(x), ci(x)",
    "shichi": "shi(x), chi(x)",
    "fresnel": "fresnel_s(x), fresnel_c(x)",
}


class SpecialFace(Face):
    """A function that Numba functions call as a formula, and Python calls directly."""

    def __init__(
        self, module: str, name: str, outside: Callable[..., Any], formula: Formula, defaults: dict[str, float],
        results: str = "",
    ) -> None:  # fmt: skip
        super().__init__(module, name, formula, outside.__doc__ or "", defaults=defaults)
        self.outside, self.results = outside, results
        self.function = outside.function if hasattr(outside, "function") else outside

    def __call__(self, *args: Value, **options: Option) -> Value:
        return self.outside(*args, **options)

    def body(self, ndims: tuple[int | None, ...]) -> Any:
        """Like that of other faces; with several results, only for a number."""
        if not self.results:
            return super().body(ndims)
        if ndims != (0,):
            return None
        if ndims not in self._bodies:
            text = f"def {self.__name__}(x):\n    return {self.results}\n"
            self._bodies[ndims] = function_of_text(text, self.__name__, KNOWN)
        return self._bodies[ndims]


def face_of(module: str, name: str, outside: Function) -> SpecialFace | None:
    """The face for one of SciPy's names; None if Numba functions cannot call it."""
    if name in AS_THEY_ARE:
        function = getattr(probabilities, name, None) or getattr(written_functions, name)
        copy = FunctionType(function.__code__, function.__globals__, f"special_{name}")
        copy.__module__ = HOME
        return SpecialFace(module, name, outside, Formula(copy, (), AS_THEY_ARE[name].split(), ()), {})
    if name in WRITTEN:
        names, text, whole, defaults = WRITTEN[name]
        known = KNOWN | {"inf": math.inf, "nan": math.nan}
        formula = compose(f"special_{name}", names.split(), text, home=HOME, whole=whole.split(), **known)
        return SpecialFace(module, name, outside, formula, defaults)
    if name in TUPLES:
        formula = compose(f"special_{name}", ["x"], TUPLES[name].partition(",")[0], home=HOME, **KNOWN)
        return SpecialFace(module, name, outside, formula, {}, TUPLES[name])
    return None
