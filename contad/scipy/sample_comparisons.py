"""Comparisons of samples, by the names of `scipy.stats`: entropies, distances, correlations, lines and tests.

Samples and weights may be variables. If nothing is a variable, SciPy's own functions are called.
"""

from typing import Any, NamedTuple

import numpy as np

from contad.errors import UnsupportedError
from contad.ops._scipy import stats as _scipy_stats
from contad.ops.entropies import entr, rel_entr
from contad.scipy import stats as distributions
from contad.scipy.mirroring import as_one, mirror_of
from contad.scipy.sample_statistics import read_sample
from contad.variables.number import observe
from contad.variables.open_types import ArrayValue, Option, Real, Value

__all__ = [
    "energy_distance", "entropy", "linregress", "pearsonr", "ttest_1samp", "ttest_ind", "ttest_rel",
    "wasserstein_distance",
]  # fmt: skip

_mirror = mirror_of(_scipy_stats)
Axis = int | None


class HypothesisResult(NamedTuple):
    """A statistic and its probability under the hypothesis."""

    statistic: Any
    pvalue: Any


class LineResult(NamedTuple):
    """A line through points, with SciPy's names."""

    slope: Any
    intercept: Any
    rvalue: Any
    pvalue: Any
    stderr: Any
    intercept_stderr: Any


# ---- information and distances ---------------------------------------------------------------------------------------
@_mirror
def entropy(
    pk: ArrayValue, qk: ArrayValue | None = None, base: Real = None, axis: int = 0, *, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> ArrayValue:  # fmt: skip
    """The entropy of a distribution, or its divergence from another; both are scaled to sums of 1.

        z = -sum_i p_i log p_i, or sum_i p_i log(p_i / q_i);     over log base

    Shapes:  pk, qk (..., n, ...) with n in `axis` -> (...).
    Domain:  pk and qk >= 0 with a positive sum.
    Raises:  UnsupportedError on variables for another nan_policy.
    Cost:    O(n).
    Ref:     Shannon (1948); Kullback & Leibler (1951); scipy.stats.entropy.

    >>> round(float(entropy(np.array([1.0, 1.0, 2.0]))), 6), round(float(entropy(np.array([1.0, 1.0]), [1.0, 3.0])), 6)
    (1.039721, 0.143841)
    """
    p, axis = read_sample("entropy", pk, axis, nan_policy)
    p = p / np.sum(p, axis=axis, keepdims=True)
    if qk is None:
        terms = entr(p)
    else:
        q = as_one(qk)
        terms = rel_entr(p, q / np.sum(q, axis=axis, keepdims=True))
    z = np.sum(terms, axis=axis, keepdims=keepdims)
    return z if base is None else z / np.log(base)


def _distances_of_shares(u: Value, v: Value, wu: Value, wv: Value) -> tuple[ArrayValue, ArrayValue]:
    """The gaps between all sorted values, and the difference of the two distribution functions there."""
    u, v = (np.reshape(as_one(x), (-1,)) for x in (u, v))
    every = np.concatenate([u, v])
    order = observe(np.argsort, every)
    shares = []
    for x, w, sign in ((u, wu, 1.0), (v, wv, -1.0)):
        parts = np.ones(np.shape(x)) if w is None else np.reshape(as_one(w), (-1,))
        shares.append(sign * parts / np.sum(parts))
    return np.diff(every[order]), np.cumsum(np.concatenate(shares)[order])[:-1]


@_mirror
def wasserstein_distance(
    u_values: ArrayValue, v_values: ArrayValue, u_weights: ArrayValue | None = None,
    v_weights: ArrayValue | None = None,
) -> ArrayValue:  # fmt: skip
    """The first Wasserstein distance of two samples on a line.

        z = integral |U(x) - V(x)| dx,     U and V the distribution functions of the samples

    Shapes:  u_values, u_weights (m,), v_values, v_weights (n,) -> ().
    Domain:  every sample, weights >= 0 with a positive sum; a kink where values of different samples are equal.
    Cost:    O((m + n) log(m + n)).
    Ref:     scipy.stats.wasserstein_distance.

    >>> float(wasserstein_distance([0.0, 1.0, 3.0], [5.0, 6.0, 8.0]))
    5.0
    """
    gaps, apart = _distances_of_shares(u_values, v_values, u_weights, v_weights)
    return np.sum(gaps * np.abs(apart))


@_mirror
def energy_distance(
    u_values: ArrayValue, v_values: ArrayValue, u_weights: ArrayValue | None = None,
    v_weights: ArrayValue | None = None,
) -> ArrayValue:  # fmt: skip
    """The energy distance of two samples on a line.

        z = sqrt(2 integral (U(x) - V(x))^2 dx),     U and V the distribution functions of the samples

    Shapes:  u_values, u_weights (m,), v_values, v_weights (n,) -> ().
    Domain:  different samples, weights >= 0 with a positive sum.
    Cost:    O((m + n) log(m + n)).
    Ref:     scipy.stats.energy_distance.

    >>> float(energy_distance([0.0], [2.0]))
    2.0
    """
    gaps, apart = _distances_of_shares(u_values, v_values, u_weights, v_weights)
    return np.sqrt(2.0 * np.sum(gaps * apart**2))


# ---- correlation and tests -------------------------------------------------------------------------------------------
def _tails(below: ArrayValue, above: ArrayValue, alternative: str, name: str) -> ArrayValue:
    """The probability of a statistic, from those of smaller and of larger ones."""
    if alternative == "two-sided":
        return 2.0 * np.minimum(below, above)
    if alternative not in ("less", "greater"):
        raise ValueError(
            f"contad.scipy.stats.{name}: alternative must be 'two-sided', 'less' or 'greater', got {alternative!r}"
        )
    return below if alternative == "less" else above


def _of_student(t: ArrayValue, df: Any, alternative: str, name: str) -> HypothesisResult:
    return HypothesisResult(t, _tails(distributions.t.cdf(t, df), distributions.t.sf(t, df), alternative, name))


@_mirror
def pearsonr(
    x: ArrayValue, y: ArrayValue, *, alternative: str = "two-sided", method: Option = None, axis: Axis = 0
) -> HypothesisResult:
    """The correlation of two samples, and the probability of a larger one if they are independent.

        r = sum_i (x_i - mean x) (y_i - mean y) / sqrt(sum_i (x_i - mean x)^2 sum_i (y_i - mean y)^2)

    Shapes:  x, y (..., n, ...) with n >= 3 in `axis` -> statistic (...), pvalue (...).
    Domain:  samples that are not constant.
    Raises:  UnsupportedError on variables for `method`; ValueError for an unknown alternative.
    Cost:    O(n).
    Ref:     Student (1908); scipy.stats.pearsonr.

    >>> r, p = pearsonr([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 5.0])
    >>> round(float(r), 6), round(float(p), 6)
    (0.83152, 0.16848)
    """
    if method is not None:
        raise UnsupportedError("contad.scipy.stats.pearsonr: method= is not supported on variables")
    x, _ = read_sample("pearsonr", x, axis)
    y, axis = read_sample("pearsonr", y, axis)
    u, v = (a - np.mean(a, axis=axis, keepdims=True) for a in (x, y))
    r = np.sum(u * v, axis=axis) / np.sqrt(np.sum(u * u, axis=axis) * np.sum(v * v, axis=axis))
    half = 0.5 * np.shape(x)[axis] - 1.0
    below, above = (f(0.5 + 0.5 * r, half, half) for f in (distributions.beta.cdf, distributions.beta.sf))
    return HypothesisResult(r, _tails(below, above, alternative, "pearsonr"))


@_mirror
def linregress(x: ArrayValue, y: ArrayValue, alternative: str = "two-sided") -> LineResult:
    """The line of least squares through points.

        slope = sum_i (x_i - mean x) (y_i - mean y) / sum_i (x_i - mean x)^2,     intercept = mean y - slope mean x

    Shapes:  x, y (n,) -> numbers: slope, intercept, rvalue, pvalue, stderr, intercept_stderr.
    Domain:  x that is not constant; for rvalue and pvalue also y.
    Raises:  ValueError for an unknown alternative.
    Cost:    O(n).
    Ref:     scipy.stats.linregress.

    >>> line = linregress([0.0, 1.0, 2.0], [1.0, 3.0, 4.0])
    >>> round(float(line.slope), 6), round(float(line.intercept), 6)
    (1.5, 1.166667)
    """
    x, y = as_one(x), as_one(y)
    u, v = x - np.mean(x), y - np.mean(y)
    xx, xy, yy = np.mean(u * u), np.mean(u * v), np.mean(v * v)
    df = np.size(x) - 2
    r, slope = xy / np.sqrt(xx * yy), xy / xx
    error = np.sqrt((1.0 - r * r) * yy / xx / df)
    at_zero = error * np.sqrt(xx + np.mean(x) ** 2)
    p = _of_student(r * np.sqrt(df / ((1.0 - r) * (1.0 + r))), float(df), alternative, "linregress").pvalue
    return LineResult(slope, np.mean(y) - slope * np.mean(x), r, p, error, at_zero)


@_mirror
def ttest_1samp(
    a: ArrayValue, popmean: Any, axis: Axis = 0, nan_policy: str = "propagate", alternative: str = "two-sided"
) -> HypothesisResult:
    """Student's test of the mean of a sample.

        t = (mean(a) - popmean) / (s / sqrt(n)),     with n - 1 degrees of freedom

    Shapes:  a (..., n, ...) with n in `axis` -> statistic (...), pvalue (...).
    Domain:  a that is not constant.
    Raises:  UnsupportedError on variables for another nan_policy; ValueError for an unknown alternative.
    Cost:    O(n).
    Ref:     Student (1908); scipy.stats.ttest_1samp.

    >>> t, p = ttest_1samp([1.0, 2.0, 4.0], 0.0)
    >>> round(float(t), 6), round(float(p), 6)
    (2.645751, 0.118)
    """
    a, axis = read_sample("ttest_1samp", a, axis, nan_policy)
    n = np.shape(a)[axis]
    t = (np.mean(a, axis=axis) - popmean) / (np.std(a, axis=axis, ddof=1) / np.sqrt(float(n)))
    return _of_student(t, n - 1.0, alternative, "ttest_1samp")


@_mirror
def ttest_rel(
    a: ArrayValue, b: ArrayValue, axis: Axis = 0, nan_policy: str = "propagate", alternative: str = "two-sided"
) -> HypothesisResult:
    """Student's test of the mean of the differences of two samples.

        t = `ttest_1samp` of a - b and 0

    Shapes:  a, b (..., n, ...) with n in `axis` -> statistic (...), pvalue (...).
    Domain:  differences that are not constant.
    Raises:  UnsupportedError on variables for another nan_policy; ValueError for an unknown alternative.
    Cost:    O(n).
    Ref:     Student (1908); scipy.stats.ttest_rel.

    >>> t, p = ttest_rel([1.0, 2.0, 4.0], [0.0, 0.0, 0.0])
    >>> round(float(t), 6), round(float(p), 6)
    (2.645751, 0.118)
    """
    return ttest_1samp.implementation(as_one(a) - as_one(b), 0.0, axis, nan_policy, alternative)


@_mirror
def ttest_ind(
    a: ArrayValue, b: ArrayValue, *, axis: Axis = 0, equal_var: bool = True, nan_policy: str = "propagate",
    alternative: str = "two-sided", trim: float = 0, method: Option = None,
) -> HypothesisResult:  # fmt: skip
    """Student's test of the means of two samples, or Welch's if equal_var is False.

        t = (mean a - mean b) / sqrt(s^2 (1 / m + 1 / n)), or / sqrt(s_a^2 / m + s_b^2 / n)

    Shapes:  a (..., m, ...), b (..., n, ...) with m and n in `axis` -> statistic (...), pvalue (...).
    Domain:  samples that are not constant.
    Raises:  UnsupportedError on variables for `trim`, `method` and another nan_policy; ValueError for an unknown
             alternative.
    Cost:    O(m + n).
    Ref:     Welch (1947), Biometrika 34; scipy.stats.ttest_ind.

    >>> t, p = ttest_ind([1.0, 2.0, 4.0], [0.0, 1.0, 1.0])
    >>> round(float(t), 6), round(float(p), 6)
    (1.767767, 0.151835)
    """
    if trim or method is not None:
        raise UnsupportedError("contad.scipy.stats.ttest_ind: trim= and method= are not supported on variables")
    a, _ = read_sample("ttest_ind", a, axis, nan_policy)
    b, axis = read_sample("ttest_ind", b, axis, nan_policy)
    m, n = np.shape(a)[axis], np.shape(b)[axis]
    u, v = np.var(a, axis=axis, ddof=1), np.var(b, axis=axis, ddof=1)
    df: Any = m + n - 2.0
    if equal_var:
        spread = ((m - 1.0) * u + (n - 1.0) * v) / df * (1.0 / m + 1.0 / n)
    else:
        u, v = u / m, v / n
        spread = u + v
        df = spread**2 / (u**2 / (m - 1.0) + v**2 / (n - 1.0))
    t = (np.mean(a, axis=axis) - np.mean(b, axis=axis)) / np.sqrt(spread)
    return _of_student(t, df, alternative, "ttest_ind")
