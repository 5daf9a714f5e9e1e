"""The functions of a distribution, made from expressions that determine them.

A distribution is defined by expressions that determine its four functions without loss of digits: the logarithm of the
complement (for the exponential and similar distributions), the logarithm of the function, both functions, or all four.
"""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypedDict

from contad.distributions.circular import log_scaled_bessel, von_mises_log_density, von_mises_log_mass
from contad.distributions.counts import log_hypergeometric_ccdf, log_hypergeometric_cdf, log_rising_growth
from contad.distributions.faces import function_of_text
from contad.distributions.formula import LOG_2, LOG_PI, LOG_SQRT_TWO_PI, LOG_TWO_PI, Formula
from contad.distributions.incomplete_logarithms import (
    log_beta_part,
    log_beta_part_of_ratio,
    log_gamma_part,
    log_gamma_part_of_log,
    log_gamma_power,
    log_lower_part_of_square,
    log_upper_part_of_square,
    lower_part_of_square,
    upper_part_of_square,
)
from contad.distributions.intervals import growth_of_extremes, less_sine, log_normal_interval, log_ratio_of_extremes
from contad.distributions.inverse_probabilities import (
    standard_exp_mod_normal_quantile,
    standard_inverse_gaussian_quantile,
    standard_rice_quantile,
    standard_skew_normal_quantile,
    standard_von_mises_quantile,
)
from contad.distributions.mixed_counts import (
    beta_binomial_log_ccdf,
    beta_binomial_log_cdf,
    beta_neg_binomial_log_ccdf,
    beta_neg_binomial_log_cdf,
)
from contad.distributions.noncentral_t import noncentral_t_log_cdf
from contad.distributions.normal_mixtures import (
    log_exp_mod_normal,
    log_skew_normal,
    log_upper_exp_mod_normal,
    normal_hazard,
)
from contad.distributions.power_sums import zipf_log_ccdf, zipf_log_cdf
from contad.distributions.real_line import log_one_plus_square, student_cdf, student_quantile
from contad.distributions.relative_quantiles import log_beta_odds, log_gamma_quantile
from contad.distributions.rice_probabilities import log_rice_part
from contad.distributions.tail_logarithms import (
    FAR,
    log1pmx_rate,
    log_complement,
    log_far_student,
    log_log1p_exp,
    log_lower_half_cauchy,
    log_upper_cauchy,
    log_upper_half_cauchy,
)
from contad.ops.arithmetic import absolute, power
from contad.ops.bessel_functions import ive, kve
from contad.ops.beta_functions import betaln
from contad.ops.elementary import hypot, sqrt
from contad.ops.entropies import xlog1py, xlogy
from contad.ops.error_functions import erf, erfinv, log_ndtr, ndtr, ndtri
from contad.ops.error_integrals import ndtri_exp
from contad.ops.exponential import exp, expm1, log, log1p, logaddexp
from contad.ops.gamma_functions import gammaln
from contad.ops.hyperbolic import arcsinh, arctanh, sinh, tanh
from contad.ops.hypergeometric_functions import hyp0f1
from contad.ops.incomplete_beta import betainc, betaincc, betainccinv, betaincinv
from contad.ops.incomplete_gamma import gammainc, gammaincc, gammainccinv, gammaincinv
from contad.ops.logic import select
from contad.ops.logistic import expit, log1m_exp, log1p_exp, log_diff_exp, log_expit, logit
from contad.ops.power_transforms import exprel
from contad.ops.rounding import floor
from contad.ops.trigonometric import arccos, arcsin, arctan2, cos, sin, tan

NAMES = {
    f.__name__: f
    for f in (
        power, sqrt, exprel, erf, erfinv, log_ndtr, ndtr, ndtri, exp, expm1, log, log1p, betainc, betaincc,
        betainccinv, betaincinv, gammainc, gammaincc, gammainccinv, gammaincinv, select, expit, log1m_exp, log1p_exp,
        log_diff_exp,
        log_expit, logit, floor, arctan2, tan, log_ratio_of_extremes, growth_of_extremes, student_cdf, betaln,
        normal_hazard,
        log_scaled_bessel,
        beta_binomial_log_ccdf, beta_binomial_log_cdf, beta_neg_binomial_log_ccdf, beta_neg_binomial_log_cdf,
        von_mises_log_mass, log_exp_mod_normal, log_skew_normal, log_upper_exp_mod_normal, log_beta_part,
        log_gamma_part, log_rice_part, log_hypergeometric_cdf, log_hypergeometric_ccdf, logaddexp, ndtri_exp,
        standard_exp_mod_normal_quantile, standard_inverse_gaussian_quantile, standard_rice_quantile,
        standard_skew_normal_quantile, standard_von_mises_quantile, student_quantile, absolute, log_complement,
        log_far_student, log_log1p_exp, log_lower_half_cauchy, log_upper_cauchy, log_upper_half_cauchy,
        log_lower_part_of_square, log_upper_part_of_square, lower_part_of_square, upper_part_of_square,
        zipf_log_cdf, zipf_log_ccdf, log_beta_odds, log_gamma_quantile, log_beta_part_of_ratio,
        log_rising_growth, noncentral_t_log_cdf, gammaln, log_normal_interval,
        log_gamma_part_of_log, von_mises_log_density, log_one_plus_square, log_gamma_power, less_sine, log1pmx_rate,
        ive, kve, hyp0f1,
        hypot, arccos, arcsin, cos, sin, arcsinh, arctanh, sinh, tanh, xlogy, xlog1py,
    )
} | {"FAR": FAR, "LOG_2": LOG_2, "LOG_PI": LOG_PI, "LOG_TWO_PI": LOG_TWO_PI, "LOG_SQRT_TWO_PI": LOG_SQRT_TWO_PI,
     "PI": math.pi}  # fmt: skip


class Cumulative(NamedTuple):
    """The functions of one distribution; quantile functions are None if there is no inverse."""

    cdf: Formula
    ccdf: Formula
    lcdf: Formula
    lccdf: Formula
    quantile: Formula | None
    upper_quantile: Formula | None


# from the logarithms f and g of a function and its complement, by the smaller
_MOST_OF_BOTH = (
    "select(most, -expm1(select(most, g, -1.0)), exp(f))", "select(most, exp(g), -expm1(select(most, -1.0, f)))",
)
_MOST_OF_LOGS = (
    "select(most, log1m_exp(select(most, g, -1.0)), f)", "select(most, g, log1m_exp(select(most, -1.0, f)))",
)


def _logarithm(this: str, other: str) -> str:
    """The logarithm of a probability, given it and its complement."""
    small = f"{this} < 0.5"
    near = f"log1p(-select({small}, 0.5, {other}))"
    return f"select({small}, log(select({this} > 0.0, {this}, _nan)), {near})"


def distribution(
    name: str, parameters: str, lines: str = "", *, positive: str = "", valid: str = "", low: str = "y == -_inf",
    high: str = "y == _inf", both: tuple[str, str] = ("", ""), logs: tuple[str, str] = ("", ""), upper: str = "",
    lower: str = "", survival: tuple[str, str] = ("", ""), attained: tuple[str, str] = ("", ""),
    tails: tuple[str, str] = ("", ""), split: tuple[str, str] = ("", ""), inverse: tuple[str, str] | None = None,
    whole: Sequence[str] = (), known: Mapping[str, Formula] = MappingProxyType({}),
) -> Cumulative:  # fmt: skip
    """The functions of y (n for whole numbers) and the parameters.

    lines     assignments before the expressions, separated by ;
    upper     the logarithm of the complement, which determines all
    lower     the logarithm of the function
    survival  t and log t, if the complement is exp(-t)
    attained  t and log t, if the function is exp(-t)
    both      the function and its complement; with `logs`, the logarithms of both
    tails     the logarithms of both, of which the smaller is accurate
    split     a condition, and the logarithm of the function where it holds, of the complement elsewhere
    known     names that the expressions call besides NAMES
    inverse   y as an expression of the probability p, and one of the complement's probability q, after assignments
    """
    variate = "n" if "n" in whole else "y"
    invalid = [f"not {x} > 0.0" for x in positive.split()] + ([f"not ({valid})"] if valid else [])
    if variate == "n":
        invalid.append("n != n")
    flat, exact, of_logs = "", "", ("", "")
    if tails[0]:
        lines += f"; f = {tails[0]}; g = {tails[1]}; most = g < f"
        flat, of_logs = "f < -1e5 or g < -1e5", ("g < -1e5", "f < -1e5")
        both = _MOST_OF_BOTH
        logs = _MOST_OF_LOGS
    elif split[0]:
        lines += f"; left = {split[0]}; f = {split[1]}"
        flat, of_logs = "f < -1e5", ("f < -1e5 and not left", "f < -1e5 and left")
        both = ("select(left, exp(f), -expm1(f))", "select(left, -expm1(f), exp(f))")
        logs = ("select(left, f, log1m_exp(f))", "select(left, log1m_exp(f), f)")
    t, logarithm = survival if survival[0] else attained
    if upper or survival[0]:
        upper = upper or f"-{t}"
        both, logs = (f"-expm1({upper})", f"exp({upper})"), (f"log1m_exp({upper})", upper)
    elif lower or attained[0]:
        lower = lower or f"-{t}"
        both, logs = (f"exp({lower})", f"-expm1({lower})"), (lower, f"log1m_exp({lower})")
    if t:
        small = f"log_complement({t}, {logarithm})"
        logs = (small, logs[1]) if survival[0] else (logs[0], small)
    if upper or lower:
        exact, flat = upper or lower, f"{upper or lower} < -1e5"
    elif not logs[0]:
        lines = ("; " if lines else "").join([lines, f"below = {both[0]}; above = {both[1]}"])
        both, logs = ("below", "above"), (_logarithm("below", "above"), _logarithm("above", "below"))
    names = [variate, *parameters.split()]
    made = []
    ends = ((0.0, 1.0), (1.0, 0.0), (-math.inf, 0.0), (0.0, -math.inf))
    for suffix, text, (first, last) in zip(("cdf", "ccdf", "lcdf", "lccdf"), (*both, *logs), ends, strict=True):
        # if the complement's logarithm is given, its slope is valid up to the end; only log 0 has no slope there
        start = low if suffix == "lcdf" or not upper or survival[0] else low.replace("<=", "<")
        cases = [*((test, math.nan) for test in invalid), (start, first), (high, last)]
        own = "" if text == exact else flat
        if suffix.startswith("l") and of_logs[0]:
            own = of_logs[suffix == "lccdf"]
        if text in ("exp(below)", "exp(above)"):
            own = f"{text[4:-1]} < -1e5"
        made.append(make_formula(f"{name}_{suffix}", names, lines, text, cases, whole, own, known))
    found: list[Formula | None] = [None, None]
    if inverse is not None:
        for k, (variable, text) in enumerate(zip("pq", inverse, strict=True)):
            cases = [*((test, math.nan) for test in invalid)]
            cases.append((f"not ({variable} >= 0.0 and {variable} <= 1.0)", math.nan))
            suffix = ("quantile", "upper_quantile")[k]
            before, _, result = text.rpartition(";")
            found[k] = make_formula(f"{name}_{suffix}", [variable, *parameters.split()], before, result, cases, ())
    return Cumulative(*made, *found)


def make_formula(
    name: str, names: Sequence[str], lines: str, text: str, cases: Sequence[tuple[str, float]], whole: Sequence[str],
    flat: str = "", known: Mapping[str, Formula] = MappingProxyType({}),
) -> Formula:  # fmt: skip
    """A formula from the text of assignments and of an expression, which call NAMES and `known`."""
    body = [*(line.strip() for line in lines.split(";") if line.strip()), f"return {text.strip()}"]
    source = f"def {name}({', '.join(names)}):\n" + "".join(f"    {line}\n" for line in body)
    function = function_of_text(source, name, NAMES | dict(known))
    function.__module__ = __name__
    return Formula(function, cases, whole, (), flat=flat)


class Four(TypedDict):
    """The expressions of a function and its complement, and of the logarithms of both."""

    both: tuple[str, str]
    logs: tuple[str, str]


def lower_gamma(a: str, t: str) -> Four:
    """The functions that are P(a, t) and its complement."""
    return {
        "both": (f"gammainc({a}, {t})", f"gammaincc({a}, {t})"),
        "logs": (f"log_gamma_part(0.0, {a}, {t})", f"log_gamma_part(1.0, {a}, {t})"),
    }


def upper_gamma(a: str, t: str) -> Four:
    """The functions that are Q(a, t) and its complement."""
    lower = lower_gamma(a, t)
    return {"both": (lower["both"][1], lower["both"][0]), "logs": (lower["logs"][1], lower["logs"][0])}


def lower_beta(a: str, b: str, x: str, y: str, part: str = "", rest: str = "") -> Four:
    """The functions that are I_q(a, b) at q = x / (x + y) and its complement: `part`, `rest`, and the logarithms.

    Without `part` and `rest` they are computed from q or 1 - q, whichever is smaller.
    """
    if not part:
        near = f"{x} < {y}"
        q = f"select({near}, {x} / ({x} + {y}), 0.5)"
        p = f"select({near}, 0.5, {y} / ({x} + {y}))"
        part = f"select({near}, betainc({a}, {b}, {q}), betaincc({b}, {a}, {p}))"
        rest = f"select({near}, betaincc({a}, {b}, {q}), betainc({b}, {a}, {p}))"
    return {
        "both": (part, rest),
        "logs": (f"log_beta_part_of_ratio({a}, {b}, {x}, {y})", f"log_beta_part_of_ratio({b}, {a}, {y}, {x})"),
    }
