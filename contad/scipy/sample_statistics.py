"""Statistics of one sample, by the names of `scipy.stats`: means, moments and scores.

Samples and weights may be variables. If nothing is a variable, SciPy's own functions are called. Statistics of ranks
(`spearmanr`, `kendalltau`) have no derivative.
"""

from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.ops._scipy import stats as _scipy_stats
from contad.ops.power_transforms import boxcox as _boxcox
from contad.scipy.mirroring import as_one, mirror_of
from contad.variables.number import observe
from contad.variables.open_types import ArrayValue, Option, Real

__all__ = [
    "boxcox", "boxcox_llf", "circmean", "circstd", "circvar", "gmean", "gstd", "gzscore", "hmean", "iqr", "kurtosis",
    "median_abs_deviation", "moment", "pmean", "sem", "skew", "trim_mean", "variation", "zmap", "zscore",
]  # fmt: skip

_mirror = mirror_of(_scipy_stats)
Axis = int | None


def read_sample(name: str, a: ArrayValue, axis: Axis, nan_policy: str = "propagate") -> tuple[ArrayValue, int]:
    """The sample as an array, and its axis."""
    if nan_policy != "propagate":
        raise UnsupportedError(
            f"contad.scipy.stats.{name}: on variables nan_policy must be 'propagate', got {nan_policy!r}; select with "
            "a[~np.isnan(a)]"
        )
    a = as_one(a)
    return (np.reshape(a, (-1,)), 0) if axis is None else (a, axis)


def _average(a: ArrayValue, axis: int, weights: ArrayValue | None, keepdims: bool) -> ArrayValue:
    if weights is None:
        return np.mean(a, axis=axis, keepdims=keepdims)
    w = as_one(weights)
    if np.ndim(w) < np.ndim(a):
        w = np.reshape(w, [-1 if k == axis % np.ndim(a) else 1 for k in range(np.ndim(a))])
    w = np.broadcast_to(w, np.shape(a))
    return np.sum(w * a, axis=axis, keepdims=keepdims) / np.sum(w, axis=axis, keepdims=keepdims)


# ---- means -----------------------------------------------------------------------------------------------------------
@_mirror
def gmean(
    a: ArrayValue, axis: Axis = 0, dtype: Option = None, weights: ArrayValue | None = None, *,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> ArrayValue:  # fmt: skip
    """The geometric mean.

        z = exp(sum_i w_i log a_i / sum_i w_i),     a_bar_i = z_bar z w_i / (a_i sum_j w_j)

    Shapes:  a (..., n, ...) with n in `axis`, weights like a -> (...).
    Domain:  a > 0.
    Raises:  UnsupportedError on variables for another nan_policy.
    Cost:    O(n).
    Ref:     scipy.stats.gmean.

    >>> round(float(gmean([1.0, 4.0, 16.0])), 6)
    4.0
    """
    a, axis = read_sample("gmean", a, axis, nan_policy)
    return np.exp(_average(np.log(a), axis, weights, keepdims))


@_mirror
def hmean(
    a: ArrayValue, axis: Axis = 0, dtype: Option = None, *, weights: ArrayValue | None = None,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> ArrayValue:  # fmt: skip
    """The harmonic mean.

        z = sum_i w_i / sum_i (w_i / a_i),     a_bar_i = z_bar z^2 w_i / (a_i^2 sum_j w_j)

    Shapes:  a (..., n, ...) with n in `axis`, weights like a -> (...).
    Domain:  a > 0.
    Raises:  UnsupportedError on variables for another nan_policy.
    Cost:    O(n).
    Ref:     scipy.stats.hmean.

    >>> round(float(hmean([1.0, 2.0, 4.0])), 6)
    1.714286
    """
    a, axis = read_sample("hmean", a, axis, nan_policy)
    return 1.0 / _average(1.0 / a, axis, weights, keepdims)


@_mirror
def pmean(
    a: ArrayValue, p: Real, *, axis: Axis = 0, dtype: Option = None, weights: ArrayValue | None = None,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> ArrayValue:  # fmt: skip
    """The power mean; p may be a variable other than 0.

        z = (sum_i w_i a_i^p / sum_i w_i)^(1/p)

    Shapes:  a (..., n, ...) with n in `axis`, weights like a -> (...).
    Domain:  a > 0; p = 0 is the geometric mean.
    Raises:  UnsupportedError on variables for another nan_policy.
    Cost:    O(n).
    Ref:     scipy.stats.pmean.

    >>> round(float(pmean([1.0, 2.0, 4.0], 2.0)), 6)
    2.645751
    """
    if observe(np.equal, p, 0.0):
        return gmean.implementation(a, axis, weights=weights, nan_policy=nan_policy, keepdims=keepdims)
    a, axis = read_sample("pmean", a, axis, nan_policy)
    return _average(a**p, axis, weights, keepdims) ** (1.0 / p)


@_mirror
def trim_mean(a: ArrayValue, proportiontocut: float, axis: Axis = 0) -> ArrayValue:
    """The mean without a proportion of the smallest and of the largest elements.

        z = sum_(k <= i < n - k) a_(i) / (n - 2 k),     k = floor(proportion n), a_(i) sorted

    Shapes:  a (..., n, ...) with n in `axis` -> (...).
    Domain:  every a, a proportion below 1/2; a kink where elements at the cut are equal.
    Raises:  ValueError for a larger proportion.
    Cost:    O(n log n).
    Ref:     scipy.stats.trim_mean.

    >>> float(trim_mean([1.0, 2.0, 4.0, 100.0], 0.25))
    3.0
    """
    a, axis = read_sample("trim_mean", a, axis)
    n = np.shape(a)[axis]
    cut = int(proportiontocut * n)
    if 2 * cut >= n:
        raise ValueError("Proportion too big.")
    return np.mean(np.moveaxis(np.sort(a, axis=axis), axis, 0)[cut : n - cut], axis=0)


# ---- moments ---------------------------------------------------------------------------------------------------------
def _central(a: ArrayValue, order: int, axis: int) -> ArrayValue:
    d = a - np.mean(a, axis=axis, keepdims=True)
    return np.mean(d**order, axis=axis, keepdims=True)


def _drop(z: ArrayValue, axis: int, keepdims: bool) -> ArrayValue:
    return z if keepdims else np.squeeze(z, axis=axis)


@_mirror
def moment(
    a: ArrayValue, order: Any = 1, axis: Axis = 0, nan_policy: str = "propagate", *, center: Any = None,
    keepdims: bool = False,
) -> ArrayValue:  # fmt: skip
    """The moment of an order about the mean, or about `center`, which may be a variable.

        z = sum_i (a_i - c)^order / n,     c the mean if `center` is None

    Shapes:  a (..., n, ...) with n in `axis` -> (...); for a list of orders, a leading axis.
    Domain:  every a, order = 0, 1, ...
    Raises:  UnsupportedError on variables for another nan_policy.
    Cost:    O(n).
    Ref:     scipy.stats.moment.

    >>> float(moment([1.0, 2.0, 6.0], 2))
    4.666666666666667
    """
    if np.ndim(order):
        each = [moment.implementation(a, k, axis, nan_policy, center=center, keepdims=keepdims) for k in order]
        return np.stack(each)
    a, axis = read_sample("moment", a, axis, nan_policy)
    if center is None:
        return _drop(_central(a, int(order), axis), axis, keepdims)
    return np.mean((a - center) ** int(order), axis=axis, keepdims=keepdims)


@_mirror
def skew(
    a: ArrayValue, axis: Axis = 0, bias: bool = True, nan_policy: str = "propagate", *, keepdims: bool = False
) -> ArrayValue:
    """The skewness of a sample.

        z = m_3 / m_2^(3/2), m_k = sum_i (a_i - mean)^k / n;     times sqrt(n (n - 1)) / (n - 2) if bias is False

    Shapes:  a (..., n, ...) with n in `axis` -> (...).
    Domain:  a that is not constant, which gives nan.
    Raises:  UnsupportedError on variables for another nan_policy.
    Cost:    O(n).
    Ref:     scipy.stats.skew.

    >>> round(float(skew([1.0, 2.0, 6.0])), 6)
    0.59517
    """
    a, axis = read_sample("skew", a, axis, nan_policy)
    n = np.shape(a)[axis]
    z = _central(a, 3, axis) / _central(a, 2, axis) ** 1.5
    if not bias and n > 2:
        z = z * (np.sqrt(n * (n - 1.0)) / (n - 2.0))
    return _drop(z, axis, keepdims)


@_mirror
def kurtosis(
    a: ArrayValue, axis: Axis = 0, fisher: bool = True, bias: bool = True, nan_policy: str = "propagate", *,
    keepdims: bool = False,
) -> ArrayValue:  # fmt: skip
    """The kurtosis of a sample, minus 3 if `fisher`.

        z = m_4 / m_2^2 - 3, m_k = sum_i (a_i - mean)^k / n;
        (n - 1) / ((n - 2) (n - 3)) ((n + 1) m_4 / m_2^2 - 3 (n - 1)) if bias is False

    Shapes:  a (..., n, ...) with n in `axis` -> (...).
    Domain:  a that is not constant, which gives nan.
    Raises:  UnsupportedError on variables for another nan_policy.
    Cost:    O(n).
    Ref:     scipy.stats.kurtosis.

    >>> round(float(kurtosis([1.0, 2.0, 6.0, 3.0])), 6)
    -1.0
    """
    a, axis = read_sample("kurtosis", a, axis, nan_policy)
    n = np.shape(a)[axis]
    z = _central(a, 4, axis) / _central(a, 2, axis) ** 2
    if not bias and n > 3:
        z = (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * z - 3.0 * (n - 1.0)) + 3.0
    return _drop(z - 3.0 if fisher else z, axis, keepdims)


@_mirror
def variation(
    a: ArrayValue, axis: Axis = 0, nan_policy: str = "propagate", ddof: int = 0, *, keepdims: bool = False
) -> ArrayValue:
    """The coefficient of variation.

        z = s / mean,     s the standard deviation with n - ddof degrees of freedom

    Shapes:  a (..., n, ...) with n in `axis` -> (...).
    Domain:  a that is not constant, with a mean other than 0.
    Raises:  UnsupportedError on variables for another nan_policy.
    Cost:    O(n).
    Ref:     scipy.stats.variation.

    >>> round(float(variation([1.0, 2.0, 6.0])), 6)
    0.720082
    """
    a, axis = read_sample("variation", a, axis, nan_policy)
    return np.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / np.mean(a, axis=axis, keepdims=keepdims)


@_mirror
def sem(
    a: ArrayValue, axis: Axis = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False
) -> ArrayValue:
    """The standard error of the mean.

        z = s / sqrt(n),     s the standard deviation with n - ddof degrees of freedom

    Shapes:  a (..., n, ...) with n in `axis` -> (...).
    Domain:  a that is not constant.
    Raises:  UnsupportedError on variables for another nan_policy.
    Cost:    O(n).
    Ref:     scipy.stats.sem.

    >>> round(float(sem([1.0, 2.0, 6.0])), 6)
    1.527525
    """
    a, axis = read_sample("sem", a, axis, nan_policy)
    return np.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / np.sqrt(float(np.shape(a)[axis]))


@_mirror
def gstd(
    a: ArrayValue, axis: Axis = 0, ddof: int = 1, *, keepdims: bool = False, nan_policy: str = "propagate"
) -> ArrayValue:
    """The geometric standard deviation.

        z = exp(s),     s the standard deviation of log a with n - ddof degrees of freedom

    Shapes:  a (..., n, ...) with n in `axis` -> (...).
    Domain:  a > 0 that is not constant.
    Raises:  UnsupportedError on variables for another nan_policy.
    Cost:    O(n).
    Ref:     scipy.stats.gstd.

    >>> round(float(gstd([1.0, 2.0, 6.0])), 6)
    2.468211
    """
    a, axis = read_sample("gstd", a, axis, nan_policy)
    return np.exp(np.std(np.log(a), axis=axis, ddof=ddof, keepdims=keepdims))


@_mirror
def iqr(
    x: ArrayValue, axis: Any = None, rng: tuple[float, float] = (25, 75), scale: Any = 1.0,
    nan_policy: str = "propagate", interpolation: str = "linear", keepdims: bool = False,
) -> ArrayValue:  # fmt: skip
    """The range between two percentiles.

        z = (q_75 - q_25) / scale

    Shapes:  x (..., n, ...) with n in `axis` -> (...).
    Domain:  every x; a kink where neighbours in order are equal.
    Raises:  UnsupportedError on variables for another nan_policy.
    Cost:    O(n log n).
    Ref:     scipy.stats.iqr.

    >>> float(iqr([1.0, 2.0, 4.0, 8.0, 16.0]))
    6.0
    """
    read_sample("iqr", x, axis, nan_policy)
    x = as_one(x)
    options: Any = {"axis": axis, "method": interpolation, "keepdims": keepdims}
    low, high = (np.percentile(x, p, **options) for p in sorted(rng))
    return (high - low) / (1.3489795003921634 if isinstance(scale, str) and scale.lower() == "normal" else scale)


@_mirror
def median_abs_deviation(
    x: ArrayValue, axis: Axis = 0, center: Any = np.median, scale: Any = 1.0, nan_policy: str = "propagate", *,
    keepdims: bool = False,
) -> ArrayValue:  # fmt: skip
    """The median of absolute deviations from the median.

        z = median |x_i - median x| / scale

    Shapes:  x (..., n, ...) with n in `axis` -> (...).
    Domain:  every x; a kink where neighbours in order are equal.
    Raises:  UnsupportedError on variables for another nan_policy and another center.
    Cost:    O(n log n).
    Ref:     scipy.stats.median_abs_deviation.

    >>> float(median_abs_deviation([1.0, 2.0, 4.0, 8.0, 16.0]))
    3.0
    """
    if center is not np.median and center is not np.mean:
        raise UnsupportedError("contad.scipy.stats.median_abs_deviation: center must be np.median or np.mean")
    x, axis = read_sample("median_abs_deviation", x, axis, nan_policy)
    middle = center(x, axis=axis, keepdims=True)
    z = np.median(np.abs(x - middle), axis=axis, keepdims=keepdims)
    return z / (0.6744897501960817 if isinstance(scale, str) and scale.lower() == "normal" else scale)


# ---- scores ----------------------------------------------------------------------------------------------------------
@_mirror
def zmap(
    scores: ArrayValue, compare: ArrayValue, axis: Axis = 0, ddof: int = 0, nan_policy: str = "propagate"
) -> ArrayValue:
    """Scores in units of the standard deviation of another sample.

        z_i = (x_i - mean(y)) / s(y),     s the standard deviation with n - ddof degrees of freedom

    Shapes:  scores, compare (..., n, ...) with n in `axis` -> like scores.
    Domain:  compare that is not constant.
    Raises:  UnsupportedError on variables for another nan_policy.
    Cost:    O(n).
    Ref:     scipy.stats.zmap.

    >>> zmap(np.array([1.0, 2.0]), np.array([0.0, 2.0]))
    array([0., 1.])
    """
    y, axis = read_sample("zmap", compare, axis, nan_policy)
    return (as_one(scores) - np.mean(y, axis=axis, keepdims=True)) / np.std(y, axis=axis, ddof=ddof, keepdims=True)


@_mirror
def zscore(a: ArrayValue, axis: Axis = 0, ddof: int = 0, nan_policy: str = "propagate") -> ArrayValue:
    """A sample in units of its standard deviation.

        z_i = (a_i - mean(a)) / s,     a_bar_i = (z_bar_i - mean(z_bar) - z_i sum_j z_bar_j z_j / (n - ddof)) / s

    Shapes:  a (..., n, ...) with n in `axis` -> like a.
    Domain:  a that is not constant.
    Raises:  UnsupportedError on variables for another nan_policy.
    Cost:    O(n).
    Ref:     scipy.stats.zscore.

    >>> zscore(np.array([1.0, 2.0, 6.0])).round(6)
    array([-0.92582, -0.46291,  1.38873])
    """
    return zmap.implementation(a, a, axis, ddof, nan_policy)


@_mirror
def gzscore(a: ArrayValue, *, axis: Axis = 0, ddof: int = 0, nan_policy: str = "propagate") -> ArrayValue:
    """The `zscore` of the logarithms of a sample.

        z = zscore(log a)

    Shapes:  a (..., n, ...) with n in `axis` -> like a.
    Domain:  a > 0 that is not constant.
    Raises:  UnsupportedError on variables for another nan_policy.
    Cost:    O(n).
    Ref:     scipy.stats.gzscore.

    >>> gzscore(np.array([1.0, 4.0]))
    array([-1.,  1.])
    """
    log = np.log(as_one(a))
    return zmap.implementation(log, log, axis, ddof, nan_policy)


@_mirror
def boxcox(x: ArrayValue, lmbda: Real = None, alpha: Option = None, optimizer: Option = None) -> ArrayValue:
    """The transform of Box and Cox with a given power.

        z = (x^lambda - 1) / lambda, and log x where lambda = 0

    Shapes:  x (n,) -> (n,).
    Domain:  x > 0.
    Raises:  UnsupportedError on variables if lmbda is None.
    Cost:    O(n).
    Ref:     scipy.stats.boxcox.

    >>> boxcox(np.array([1.0, 4.0]), 0.5)
    array([0., 2.])
    """
    if lmbda is None:
        raise UnsupportedError(
            "contad.scipy.stats.boxcox: on variables lmbda must be given; contad.scipy.optimize.minimize maximises "
            "boxcox_llf"
        )
    return _boxcox(as_one(x), lmbda)


@_mirror
def boxcox_llf(
    lmb: Real, data: ArrayValue, *, axis: Axis = 0, keepdims: bool = False, nan_policy: str = "propagate"
) -> ArrayValue:
    """The log likelihood of the power in the transform of Box and Cox.

        z = (lambda - 1) sum_i log x_i - n/2 log var(boxcox(x, lambda))

    Shapes:  data (..., n, ...) with n in `axis` -> (...).
    Domain:  data > 0 that is not constant.
    Raises:  UnsupportedError on variables for another nan_policy.
    Cost:    O(n).
    Ref:     scipy.stats.boxcox_llf.

    >>> round(float(boxcox_llf(0.5, np.array([1.0, 4.0, 6.0]))), 6)
    -2.164906
    """
    x, axis = read_sample("boxcox_llf", data, axis, nan_policy)
    spread = np.var(_boxcox(x, lmb), axis=axis, keepdims=keepdims)
    return (lmb - 1.0) * np.sum(np.log(x), axis=axis, keepdims=keepdims) - 0.5 * np.shape(x)[axis] * np.log(spread)


# ---- angles ----------------------------------------------------------------------------------------------------------
def _resultant(
    name: str, samples: ArrayValue, high: float, low: float, axis: Axis, nan_policy: str
) -> tuple[ArrayValue, ArrayValue, float]:
    x, axis = read_sample(name, samples, axis, nan_policy)
    turns = (x - low) * (2.0 * np.pi / (high - low))
    return np.mean(np.cos(turns), axis=axis), np.mean(np.sin(turns), axis=axis), (high - low) / (2.0 * np.pi)


@_mirror
def circmean(
    samples: ArrayValue, high: float = 2.0 * np.pi, low: float = 0.0, axis: Axis = None, nan_policy: str = "propagate"
) -> ArrayValue:
    """The mean of angles, in the range from low to high.

        z = angle of sum_i e^(i x_i)

    Shapes:  samples (..., n, ...) with n in `axis` -> (...).
    Domain:  angles whose sum is not 0; a jump by one period at the ends of the range.
    Raises:  UnsupportedError on variables for another nan_policy.
    Cost:    O(n).
    Ref:     scipy.stats.circmean.

    >>> round(float(circmean([0.1, 0.3, 6.0])), 6)
    0.039813
    """
    c, s, unit = _resultant("circmean", samples, high, low, axis, nan_policy)
    angle = np.arctan2(s, c)
    return (angle + 2.0 * np.pi * observe(np.less, angle, 0.0)) * unit + low


@_mirror
def circvar(
    samples: ArrayValue, high: float = 2.0 * np.pi, low: float = 0.0, axis: Axis = None, nan_policy: str = "propagate"
) -> ArrayValue:
    """The variance of angles.

        z = 1 - r,     r = |sum_i e^(i x_i)| / n

    Shapes:  samples (..., n, ...) with n in `axis` -> (...).
    Domain:  angles whose sum is not 0.
    Raises:  UnsupportedError on variables for another nan_policy.
    Cost:    O(n).
    Ref:     scipy.stats.circvar.

    >>> round(float(circvar([0.1, 0.3, 6.0])), 6)
    0.02906
    """
    c, s, _ = _resultant("circvar", samples, high, low, axis, nan_policy)
    return 1.0 - np.hypot(c, s)


@_mirror
def circstd(
    samples: ArrayValue, high: float = 2.0 * np.pi, low: float = 0.0, axis: Axis = None,
    nan_policy: str = "propagate", *, normalize: bool = False,
) -> ArrayValue:  # fmt: skip
    """The standard deviation of angles.

        z = sqrt(-2 log r),     r = |sum_i e^(i x_i)| / n;     times (high - low) / (2 pi) unless `normalize`

    Shapes:  samples (..., n, ...) with n in `axis` -> (...).
    Domain:  angles that are not all equal, and whose sum is not 0.
    Raises:  UnsupportedError on variables for another nan_policy.
    Cost:    O(n).
    Ref:     scipy.stats.circstd.

    >>> round(float(circstd([0.1, 0.3, 6.0])), 6)
    0.242862
    """
    c, s, unit = _resultant("circstd", samples, high, low, axis, nan_policy)
    z = np.sqrt(-2.0 * np.log(np.hypot(c, s)))
    return z if normalize else z * unit
