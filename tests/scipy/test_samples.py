"""Statistics of samples: SciPy's values, derivatives of both orders, and what is refused."""

import numpy as np
import pytest
import scipy.stats

import contad
import contad.scipy.stats as mirror
from contad.errors import UnsupportedError
from tests.judges.mirrored import check_mirror

RNG = np.random.default_rng(1)
A, B, W = RNG.uniform(0.3, 2.0, (6, 2)), RNG.uniform(0.3, 2.0, (6, 2)), RNG.uniform(0.5, 1.5, (6, 2))
X, Y, U, V = A[:, 0], B[:, 0], W[:, 0], W[:4, 1]
APART = RNG.permutation(12).reshape(6, 2) + RNG.uniform(0.0, 0.5, (6, 2))
ANGLES = RNG.uniform(-1.2, 1.4, (5, 2))


def parts(found, *names):
    """Numbers of a result as one array."""
    return np.stack([getattr(found, name) for name in names])


CASES = {
    "gmean": (lambda m, a, w: m.gmean(a, weights=w), A, W),
    "hmean": (lambda m, a, w: m.hmean(a, axis=1, weights=w, keepdims=True), A, W),
    "pmean": (lambda m, a, p: m.pmean(a, p, axis=None), A, 1.7),
    "trim_mean": (lambda m, a: m.trim_mean(a, 0.2), APART),
    "moment": (lambda m, a: m.moment(a, [2, 3]), A),
    "skew": (lambda m, a: m.skew(a, bias=False), A),
    "skew, all": (lambda m, a: m.skew(a, axis=None), A),
    "kurtosis": (lambda m, a: m.kurtosis(a, bias=False, keepdims=True), A),
    "kurtosis, Pearson's": (lambda m, a: m.kurtosis(a, fisher=False), A),
    "variation": (lambda m, a: m.variation(a, ddof=1), A),
    "sem": (lambda m, a: m.sem(a), A),
    "gstd": (lambda m, a: m.gstd(a), A),
    "iqr": (lambda m, a: m.iqr(a, axis=0, rng=(20, 70), scale="normal"), APART),
    "median_abs_deviation": (lambda m, a: m.median_abs_deviation(a[:5], scale="normal"), APART),
    "zmap": (lambda m, a, b: m.zmap(a, b, ddof=1), A, B),
    "zscore": (lambda m, a: m.zscore(a, axis=1, ddof=1) if a.shape[1] > 2 else m.zscore(a), A),
    "gzscore": (lambda m, a: m.gzscore(a), A),
    "boxcox": (lambda m, x, p: m.boxcox(x, p), X, 0.4),
    "boxcox_llf": (lambda m, p, x: m.boxcox_llf(p, x), 0.4, A),
    "circmean": (lambda m, x: m.circmean(x, axis=0), ANGLES),
    "circmean, a range": (lambda m, x: m.circmean(x, 5.0, -5.0), ANGLES),
    "circvar": (lambda m, x: m.circvar(x, axis=0), ANGLES),
    "circstd": (lambda m, x: m.circstd(x, 5.0, -5.0), ANGLES),
    "entropy": (lambda m, a: m.entropy(a, base=2.0), A),
    "entropy, relative": (lambda m, a, b: m.entropy(a, b), A, B),
    "wasserstein_distance": (lambda m, x, y, u, v: m.wasserstein_distance(x, y, u, v), X, Y[:4], U, V),
    "energy_distance": (lambda m, x, y, u, v: m.energy_distance(x, y, u, v), X, Y[:4], U, V),
    "pearsonr": (lambda m, x, y: np.stack(list(m.pearsonr(x, y))), X, Y),
    "pearsonr, less": (lambda m, x, y: m.pearsonr(x, y, alternative="less").pvalue, X, Y),
    "linregress": (
        lambda m, x, y: parts(m.linregress(x, y), "slope", "intercept", "rvalue", "pvalue", "stderr",
                              "intercept_stderr"), X, Y,
    ),
    "ttest_1samp": (lambda m, a, p: np.stack(list(m.ttest_1samp(a, p))), A, 0.7),
    "ttest_rel": (lambda m, x, y: np.stack(list(m.ttest_rel(x, y, alternative="greater"))), X, Y),
    "ttest_ind": (lambda m, x, y: np.stack(list(m.ttest_ind(x, y))), X, Y[:4]),
    "ttest_ind, Welch's": (lambda m, x, y: np.stack(list(m.ttest_ind(x, y, equal_var=False))), X, Y[:4]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    call, *args = CASES[name]
    check_mirror(call, args, scipy.stats, mirror, rtol=1e-11)


def test_every_name_has_a_case():
    assert {name.partition(",")[0] for name in CASES} == {*mirror.SAMPLES, *mirror.COMPARISONS}


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda a: mirror.skew(a, nan_policy="omit"), UnsupportedError, "nan_policy must be 'propagate', got 'omit'"),
    (lambda a: mirror.boxcox(a[:, 0])[0], UnsupportedError, "lmbda must be given"),
    (lambda a: mirror.trim_mean(a, 0.6), ValueError, "Proportion too big"),
    (lambda a: mirror.pearsonr(a, B, method="exact").statistic, UnsupportedError, "method="),
    (lambda a: mirror.ttest_rel(a, B, alternative="more").pvalue, ValueError, "alternative must be"),
    (lambda a: mirror.spearmanr(a), AttributeError, "has no spearmanr, because it has no derivative here"),
])  # fmt: skip
def test_fails(call, error, message):
    with pytest.raises(error, match=message):
        contad.jvp(call, (A,), (A,))
