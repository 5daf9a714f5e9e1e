"""Stan's generalised linear models: the log density of outcomes by predictors in rows of a matrix.

The matrix is read twice, once for the linear predictors and once for their cotangents. `x` is (n, k) or one row (k,),
`alpha` an intercept or one for each row, and `beta` the coefficients; the other parameters are those of the density,
whose terms `propto=True` drops.
"""

import numpy as np

from contad.distributions.faces import Face, check_domain
from contad.ops.log_sums import logsumexp
from contad.ops.products import matmul
from contad.stan import densities, ordered_outcomes
from contad.stan.compiled import with_bodies
from contad.variables.open_types import ArrayValue, Nested, Real, Value

COLUMNS = ("x.shape[-1] == beta.shape[0]", "x must have a column for each element of beta")


def _for_rows(name: str) -> tuple[str, str]:
    return f"x.ndim == 1 or len({name}) == len(x)", f"{name} must be a number or have an element for each row of x"


FITS = (_for_rows("y"), COLUMNS, _for_rows("alpha"))


def _predict(x: ArrayValue, alpha: Value, beta: ArrayValue) -> Value:
    """x beta + alpha."""
    return matmul(x, beta) + alpha


def _outcomes(variable: str, name: str, density: Face, names: str, **domains: str) -> Face:
    """A density under the name of the model, so that messages are of the model's arguments; `variable` is its own."""
    called = names.split()
    orders = {"n": "up to N"} if "N" in called else None
    doc = f"The outcomes of {name} by their predictors."
    face = Face(__name__, name, density.formula, doc, called, "sum", domains, None, True, orders)
    face.__qualname__ = variable
    return face


_normal = _outcomes(
    "_normal", "normal_id_glm_lpdf", densities.normal_lpdf, "y predictor sigma", sigma="positive finite"
)
_bernoulli = _outcomes(
    "_bernoulli", "bernoulli_logit_glm_lpmf", densities.bernoulli_logit_lpmf, "y predictor", y="binary",
    predictor="real",
)  # fmt: skip
_binomial = _outcomes(
    "_binomial", "binomial_logit_glm_lpmf", densities.binomial_logit_lpmf, "n N predictor", n="count", N="count",
    predictor="finite",
)  # fmt: skip
_poisson = _outcomes(
    "_poisson", "poisson_log_glm_lpmf", densities.poisson_log_lpmf, "y predictor", y="count", predictor="below infinity"
)
_neg_binomial = _outcomes(
    "_neg_binomial", "neg_binomial_2_log_glm_lpmf", densities.neg_binomial_2_log_lpmf, "y predictor phi",
    y="count", predictor="finite", phi="positive finite",
)  # fmt: skip


@with_bodies(
    {"01 2 01 1 01": "outcomes(y, x @ beta + alpha, sigmaPROPTO)"},
    (*FITS, _for_rows("sigma")), after=[(name, "finite") for name in ("y", "beta", "alpha", "x")], outcomes=_normal,
)  # fmt: skip
def normal_id_glm_lpdf(y: Nested, x: Nested, alpha: Value, beta: Nested, sigma: Value, propto: bool = False) -> Real:
    """Log density of y by normal distributions of mean x beta + alpha and standard deviation sigma.

        log f = sum_i normal_lpdf(y_i, alpha_i + x_i beta, sigma_i)

    Shapes:  y (n,) or (), x (n, k), alpha () or (n,), beta (k,), sigma () or (n,).
    Domain:  sigma positive and finite, the rest finite.
    Raises:  ValueError where sigma is not positive and finite, or shapes do not fit.
    Cost:    O(n k) forward and reverse.
    Ref:     McCullagh & Nelder (1989), chapter 3; Stan Functions Reference, normal-id generalized linear model.

    >>> round(float(normal_id_glm_lpdf([0.3, -0.2], [[0.5, 1.0], [1.5, -0.3]], 0.1, [0.4, -0.2], 1.3)), 6)
    -2.647103
    """
    return _normal(y, _predict(x, alpha, beta), sigma, propto=propto)


@with_bodies(
    {"01 2 01 1": "outcomes(y, x @ beta + alphaPROPTO)"},
    FITS, after=[(name, "finite") for name in ("beta", "alpha", "x")], outcomes=_bernoulli,
)  # fmt: skip
def bernoulli_logit_glm_lpmf(y: Nested, x: Nested, alpha: Value, beta: Nested, propto: bool = False) -> Real:
    """Log mass of outcomes y, 0 or 1, by Bernoulli distributions of log odds x beta + alpha.

        log p = sum_i bernoulli_logit_lpmf(y_i, alpha_i + x_i beta)

    Shapes:  y (n,) or (), x (n, k), alpha () or (n,), beta (k,).
    Domain:  y 0 or 1, the rest finite, or infinite where the outcome is then sure.
    Raises:  ValueError where y is neither 0 nor 1, what is infinite gives no finite value, or shapes do not fit.
    Cost:    O(n k) forward and reverse.
    Ref:     McCullagh & Nelder (1989), chapter 4; Stan Functions Reference, Bernoulli-logit generalized linear model.

    >>> round(float(bernoulli_logit_glm_lpmf([1, 0], [[0.5, 1.0], [1.5, -0.3]], 0.1, [0.4, -0.2])), 6)
    -1.78807
    """
    return _bernoulli(y, _predict(x, alpha, beta), propto=propto)


@with_bodies(
    {"01 01 2 01 1": "outcomes(n, N, x @ beta + alphaPROPTO)"},
    (_for_rows("n"), _for_rows("N"), COLUMNS, _for_rows("alpha")), empty="n N x alpha beta", outcomes=_binomial,
)  # fmt: skip
def binomial_logit_glm_lpmf(n: Nested, N: Nested, x: Nested, alpha: Value, beta: Nested, propto: bool = False) -> Real:
    """Log mass of n successes of N by binomial distributions of log odds x beta + alpha.

        log p = sum_i binomial_logit_lpmf(n_i, N_i, alpha_i + x_i beta)

    Shapes:  n and N (n,) or (), x (n, k), alpha () or (n,), beta (k,).
    Domain:  n = 0, ..., N, the rest finite.
    Raises:  ValueError where n is no count up to N, or shapes do not fit.
    Cost:    O(n k) forward and reverse.
    Ref:     McCullagh & Nelder (1989), chapter 4; Stan Functions Reference, binomial-logit generalized linear model.

    >>> round(float(binomial_logit_glm_lpmf([1, 3], [4, 5], [[0.5, 1.0], [1.5, -0.3]], 0.1, [0.4, -0.2])), 6)
    -2.627076
    """
    return _binomial(n, N, _predict(x, alpha, beta), propto=propto)


@with_bodies(
    {"01 2 01 1": "outcomes(y, x @ beta + alphaPROPTO)"}, FITS, outcomes=_poisson
)
def poisson_log_glm_lpmf(y: Nested, x: Nested, alpha: Value, beta: Nested, propto: bool = False) -> Real:
    """Log mass of counts y by Poisson distributions of log rate x beta + alpha.

        log p = sum_i poisson_log_lpmf(y_i, alpha_i + x_i beta)

    Shapes:  y (n,) or (), x (n, k), alpha () or (n,), beta (k,).
    Domain:  y = 0, 1, ..., the rest no nan.
    Raises:  ValueError where y is no count, or shapes do not fit.
    Cost:    O(n k) forward and reverse.
    Ref:     McCullagh & Nelder (1989), chapter 6; Stan Functions Reference, Poisson-log generalized linear model.

    >>> round(float(poisson_log_glm_lpmf([1, 3], [[0.5, 1.0], [1.5, -0.3]], 0.1, [0.4, -0.2])), 6)
    -2.655207
    """
    return _poisson(y, _predict(x, alpha, beta), propto=propto)


@with_bodies(
    {"01 2 01 1 01": "outcomes(y, x @ beta + alpha, phiPROPTO)"},
    (*FITS, _for_rows("phi"), ("beta", "finite"), ("alpha", "finite")), outcomes=_neg_binomial,
)  # fmt: skip
def neg_binomial_2_log_glm_lpmf(
    y: Nested, x: Nested, alpha: Value, beta: Nested, phi: Value, propto: bool = False
) -> Real:
    """Log mass of counts y by negative binomial distributions of log mean x beta + alpha and precision phi.

        log p = sum_i neg_binomial_2_log_lpmf(y_i, alpha_i + x_i beta, phi_i)

    Shapes:  y (n,) or (), x (n, k), alpha () or (n,), beta (k,), phi () or (n,).
    Domain:  y = 0, 1, ..., phi positive and finite, the rest finite.
    Raises:  ValueError where y is no count, phi is not positive and finite, or shapes do not fit.
    Cost:    O(n k) forward and reverse.
    Ref:     Cameron & Trivedi (2013), section 3.3;
             Stan Functions Reference, negative-binomial-2-log generalized linear model.

    >>> round(float(neg_binomial_2_log_glm_lpmf([1, 3], [[0.5, 1.0], [1.5, -0.3]], 0.1, [0.4, -0.2], 1.5)), 6)
    -3.420921
    """
    return _neg_binomial(y, _predict(x, alpha, beta), phi, propto=propto)


@with_bodies(
    {"1 2 1 2": "categorical_of_predictors(y, x @ beta + alpha)"},
    (
        ("len(y) == (1 if x.ndim == 1 else len(x))", _for_rows("y")[1]), COLUMNS,
        ("alpha.shape[0] == beta.shape[1]", "alpha must have an element for each column of beta"),
        (ordered_outcomes.CATEGORY.format("len(alpha)"), ordered_outcomes.CATEGORIES),
    ),
    after=[(name, "finite") for name in ("beta", "alpha", "x")],
)  # fmt: skip
def categorical_logit_glm_lpmf(y: Nested, x: Nested, alpha: Nested, beta: Nested, propto: bool = False) -> Real:
    """Log mass of categories y = 1, ..., c by log odds x beta + alpha.

        log p = sum_i (r_(i, y_i) - log sum_k e^(r_ik)), with r_ik = alpha_k + x_i beta_k

    Shapes:  y (n,) or (), x (n, k), alpha (c,), beta (k, c).
    Domain:  y = 1, ..., c, the rest finite.
    Raises:  ValueError where y is no category, or shapes do not fit.
    Cost:    O(n k c) forward and reverse.
    Ref:     McCullagh & Nelder (1989), chapter 5; Stan Functions Reference, categorical-logit generalized linear model.

    >>> round(float(categorical_logit_glm_lpmf([2], [[0.5, 1.0]], [0.1, -0.2], [[0.4, 0.3], [0.1, 0.5]])), 6)
    -0.66846
    """
    name = "categorical_logit_glm_lpmf"
    predicted = _predict(np.reshape(x, (1, -1)) if np.ndim(x) == 1 else x, alpha, beta)
    places = ordered_outcomes.places(name, "y", y, np.shape(predicted)[1])
    chosen = predicted[np.arange(np.shape(predicted)[0]), np.broadcast_to(places, np.shape(predicted)[:1])]
    return np.sum(chosen) - np.sum(logsumexp(predicted, axis=1))


@with_bodies(
    {"1 2 1 1": "ordered_logistic_of_predictors(y, x @ beta, cuts)"}, (FITS[0], COLUMNS, *ordered_outcomes.ORDERED)
)
def ordered_logistic_glm_lpmf(y: Nested, x: Nested, beta: Nested, cuts: Nested, propto: bool = False) -> Real:
    """Log mass of ordered categories y = 1, ..., c by the location x beta and c - 1 cut points.

        log p = sum_i log(expit(x_i beta - c_(y_i - 1)) - expit(x_i beta - c_(y_i))), c_0 = -inf, c_K = inf

    Shapes:  y (n,) or (), x (n, k), beta (k,), cuts (c - 1,).
    Domain:  y = 1, ..., c, cuts that increase, the rest finite.
    Raises:  ValueError where y is no category, the cut points do not increase, or shapes do not fit.
    Cost:    O(n k) forward and reverse.
    Ref:     McCullagh & Nelder (1989), chapter 5; Stan Functions Reference, ordered-logistic generalized linear model.

    >>> round(float(ordered_logistic_glm_lpmf([1, 3], [[0.5, 1.0], [1.5, -0.3]], [0.4, -0.2], [-0.5, 0.7])), 6)
    -1.687424
    """
    name = "ordered_logistic_glm_lpmf"
    predicted = matmul(x, beta)
    check_domain(name, "predictor", predicted, "finite")
    return ordered_outcomes.ordered_lpmf(name, ordered_outcomes.LOGISTIC, y, predicted, cuts)
