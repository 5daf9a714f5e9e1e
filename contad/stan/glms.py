"""Stan's generalised linear models: the log density of outcomes by predictors in rows of a matrix.

The matrix is read twice, once for the linear predictors and once for their cotangents. `x` is (n, k) or one row (k,),
`alpha` an intercept or one for each row, and `beta` the coefficients; the other parameters are those of the density.
"""

import numpy as np

from contad.ops.log_sums import logsumexp
from contad.ops.products import as_array, matmul
from contad.stan import densities, ordered_outcomes
from contad.stan.compiled import with_bodies
from contad.variables.open_types import ArrayValue, Nested, Real, Value

FITS = (("x.shape[1] == beta.shape[0]", "x must have a column for each element of beta"),)


def _predictors(name: str, x: Nested, alpha: Value, beta: Nested) -> ArrayValue:
    """x beta + alpha."""
    rows, coefficients = as_array(x), as_array(beta)
    if np.ndim(rows) == 1:
        rows = np.reshape(rows, (1, -1))
    if np.ndim(rows) != 2 or np.shape(rows)[1] != np.shape(coefficients)[0]:
        raise ValueError(
            f"{name}: x must have a column for each element of beta, got shapes {np.shape(x)} and {np.shape(beta)}"
        )
    predicted = matmul(rows, coefficients)
    if np.ndim(as_array(alpha)) == 1 and np.ndim(coefficients) == 1 and len(as_array(alpha)) != len(rows):
        raise ValueError(f"{name}: alpha must be a number or one for each row, got shape {np.shape(alpha)}")
    return predicted + (as_array(alpha) if isinstance(alpha, (list, tuple)) else alpha)


@with_bodies({"01 2 01 1 01": "normal_lpdf(y, x @ beta + alpha, sigmaPROPTO)"}, FITS, normal_lpdf=densities.normal_lpdf)
def normal_id_glm_lpdf(y: Nested, x: Nested, alpha: Value, beta: Nested, sigma: Value, propto: bool = False) -> Real:
    """Log density of y by normal distributions of mean x beta + alpha and standard deviation sigma.

    Shapes:  y (n,) or (), x (n, k), alpha () or (n,), beta (k,), sigma () or (n,).
    Raises:  ValueError where sigma is not positive and finite, or shapes do not fit.
    Cost:    O(n k) forward and reverse.
    """
    predicted = _predictors("normal_id_glm_lpdf", x, alpha, beta)
    return densities.normal_lpdf(y, predicted, sigma, propto=propto)


@with_bodies(
    {"01 2 01 1": "bernoulli_logit_lpmf(y, x @ beta + alphaPROPTO)"},
    FITS, bernoulli_logit_lpmf=densities.bernoulli_logit_lpmf,
)
def bernoulli_logit_glm_lpmf(y: Nested, x: Nested, alpha: Value, beta: Nested, propto: bool = False) -> Real:
    """Log mass of outcomes y, 0 or 1, by Bernoulli distributions of log odds x beta + alpha.

    Shapes:  y (n,) or (), x (n, k), alpha () or (n,), beta (k,).
    Raises:  ValueError where y is neither 0 nor 1, or shapes do not fit.
    Cost:    O(n k) forward and reverse.
    """
    predicted = _predictors("bernoulli_logit_glm_lpmf", x, alpha, beta)
    return densities.bernoulli_logit_lpmf(y, predicted, propto=propto)


@with_bodies(
    {"01 01 2 01 1": "binomial_logit_lpmf(n, N, x @ beta + alphaPROPTO)"},
    FITS, binomial_logit_lpmf=densities.binomial_logit_lpmf,
)
def binomial_logit_glm_lpmf(n: Nested, N: Nested, x: Nested, alpha: Value, beta: Nested, propto: bool = False) -> Real:
    """Log mass of n successes of N by binomial distributions of log odds x beta + alpha.

    Shapes:  n and N (n,) or (), x (n, k), alpha () or (n,), beta (k,).
    Raises:  ValueError where n is no count up to N, or shapes do not fit.
    Cost:    O(n k) forward and reverse.
    """
    predicted = _predictors("binomial_logit_glm_lpmf", x, alpha, beta)
    return densities.binomial_logit_lpmf(n, N, predicted, propto=propto)


@with_bodies(
    {"01 2 01 1": "poisson_log_lpmf(y, x @ beta + alphaPROPTO)"}, FITS, poisson_log_lpmf=densities.poisson_log_lpmf,
)
def poisson_log_glm_lpmf(y: Nested, x: Nested, alpha: Value, beta: Nested, propto: bool = False) -> Real:
    """Log mass of counts y by Poisson distributions of log rate x beta + alpha.

    Shapes:  y (n,) or (), x (n, k), alpha () or (n,), beta (k,).
    Raises:  ValueError where y is no count, or shapes do not fit.
    Cost:    O(n k) forward and reverse.
    """
    predicted = _predictors("poisson_log_glm_lpmf", x, alpha, beta)
    return densities.poisson_log_lpmf(y, predicted, propto=propto)


@with_bodies(
    {"01 2 01 1 01": "neg_binomial_2_log_lpmf(y, x @ beta + alpha, phiPROPTO)"},
    FITS, neg_binomial_2_log_lpmf=densities.neg_binomial_2_log_lpmf,
)
def neg_binomial_2_log_glm_lpmf(
    y: Nested, x: Nested, alpha: Value, beta: Nested, phi: Value, propto: bool = False
) -> Real:
    """Log mass of counts y by negative binomial distributions of log mean x beta + alpha and precision phi.

    Shapes:  y (n,) or (), x (n, k), alpha () or (n,), beta (k,), phi () or (n,).
    Raises:  ValueError where y is no count, phi is not positive and finite, or shapes do not fit.
    Cost:    O(n k) forward and reverse.
    """
    predicted = _predictors("neg_binomial_2_log_glm_lpmf", x, alpha, beta)
    return densities.neg_binomial_2_log_lpmf(y, predicted, phi, propto=propto)


@with_bodies(
    {"1 2 1 2": "categorical_of_predictors(y, x @ beta + alpha)"},
    (*FITS, (ordered_outcomes.CATEGORY.format("len(alpha)"), ordered_outcomes.CATEGORIES)),
)
def categorical_logit_glm_lpmf(y: Nested, x: Nested, alpha: Nested, beta: Nested, propto: bool = False) -> Real:
    """Log mass of categories y = 1, ..., c by log odds x beta + alpha.

    Shapes:  y (n,) or (), x (n, k), alpha (c,), beta (k, c).
    Raises:  ValueError where y is no category, or shapes do not fit.
    Cost:    O(n k c) forward and reverse.
    """
    name = "categorical_logit_glm_lpmf"
    predicted = _predictors(name, x, alpha, beta)
    places = ordered_outcomes.places(name, "y", y, np.shape(predicted)[1])
    chosen = predicted[np.arange(np.shape(predicted)[0]), np.broadcast_to(places, np.shape(predicted)[:1])]
    return np.sum(chosen) - np.sum(logsumexp(predicted, axis=1))


@with_bodies({"1 2 1 1": "ordered_logistic_of_vectors(y, x @ beta, cuts)"}, (*FITS, *ordered_outcomes.ORDERED))
def ordered_logistic_glm_lpmf(y: Nested, x: Nested, beta: Nested, cuts: Nested, propto: bool = False) -> Real:
    """Log mass of ordered categories y = 1, ..., c by the location x beta and c - 1 cut points.

    Shapes:  y (n,) or (), x (n, k), beta (k,), cuts (c - 1,).
    Raises:  ValueError where y is no category, the cut points do not increase, or shapes do not fit.
    Cost:    O(n k) forward and reverse.
    """
    predicted = _predictors("ordered_logistic_glm_lpmf", x, 0.0, beta)
    return ordered_outcomes.ordered_lpmf(
        "ordered_logistic_glm_lpmf", ordered_outcomes.LOGISTIC, y, predicted, cuts
    )
