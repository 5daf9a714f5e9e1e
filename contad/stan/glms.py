"""Stan's generalised linear models: log densities of outcomes, given predictors in the rows of a matrix.

The matrix is read twice, once for the linear predictors and once for their cotangents. `x` is (n, k) or one row (k,),
`alpha` one intercept or one for each row, and `beta` the coefficients. The other parameters are those of the density,
and `propto=True` works as in the density.
"""

import numpy as np

from contad.distributions.faces import Face, check_domain
from contad.ops.log_sums import logsumexp
from contad.ops.products import matmul
from contad.stan import densities, ordered_outcomes
from contad.stan.compiled import density_of_vectors, with_bodies
from contad.variables.open_types import ArrayValue, Nested, Real, Value

__all__ = [
    "bernoulli_logit_glm_lpmf", "binomial_logit_glm_lpmf", "categorical_logit_glm_lpmf", "neg_binomial_2_log_glm_lpmf",
    "normal_id_glm_lpdf", "ordered_logistic_glm_lpmf", "poisson_log_glm_lpmf",
]  # fmt: skip

COLUMNS = ("x.shape[-1] == beta.shape[0]", "x must have a column for each element of beta")


def _for_rows(name: str) -> tuple[str, str]:
    return f"x.ndim == 1 or len({name}) == len(x)", f"{name} must be a number or have an element for each row of x"


FITS = (_for_rows("y"), COLUMNS, _for_rows("alpha"))


def _predict(x: ArrayValue, alpha: Value, beta: ArrayValue) -> Value:
    """x beta + alpha."""
    return matmul(x, beta) + alpha


def _outcomes(variable: str, name: str, density: Face, names: str, **domains: str) -> Face:
    """A density under the name of the model, so that messages name the model's arguments; `variable` is the density's
    own."""
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


normal_id_glm_lpdf = density_of_vectors(
    __name__, "normal_id_glm_lpdf", "y x alpha beta sigma",
    {"01 12 01 1 01": "outcomes(y, x @ beta + alpha, sigmaPROPTO)"},
    (*FITS, _for_rows("sigma")), after=[(name, "finite") for name in ("y", "beta", "alpha", "x")], outcomes=_normal,
)  # fmt: skip
bernoulli_logit_glm_lpmf = density_of_vectors(
    __name__, "bernoulli_logit_glm_lpmf", "y x alpha beta", {"01 12 01 1": "outcomes(y, x @ beta + alphaPROPTO)"},
    FITS, after=[(name, "finite") for name in ("beta", "alpha", "x")], outcomes=_bernoulli,
)  # fmt: skip
binomial_logit_glm_lpmf = density_of_vectors(
    __name__, "binomial_logit_glm_lpmf", "n N x alpha beta",
    {"01 01 12 01 1": "outcomes(n, N, x @ beta + alphaPROPTO)"},
    (_for_rows("n"), _for_rows("N"), COLUMNS, _for_rows("alpha")), empty="n N x alpha beta", outcomes=_binomial,
)  # fmt: skip
poisson_log_glm_lpmf = density_of_vectors(
    __name__, "poisson_log_glm_lpmf", "y x alpha beta", {"01 12 01 1": "outcomes(y, x @ beta + alphaPROPTO)"},
    FITS, outcomes=_poisson,
)  # fmt: skip
neg_binomial_2_log_glm_lpmf = density_of_vectors(
    __name__, "neg_binomial_2_log_glm_lpmf", "y x alpha beta phi",
    {"01 12 01 1 01": "outcomes(y, x @ beta + alpha, phiPROPTO)"},
    (*FITS, _for_rows("phi"), ("beta", "finite"), ("alpha", "finite")), outcomes=_neg_binomial,
)  # fmt: skip


@with_bodies(
    {
        "1 2 1 2": "categorical_of_predictors(y, x @ beta + alpha)",
        "0 2 1 2": "categorical_of_predictors(np.full(len(x), y), x @ beta + alpha)",
        "1 1 1 2": "categorical_of_predictors(y, x.reshape((1, len(x))) @ beta + alpha)",
        "0 1 1 2": "categorical_of_predictors(np.full(1, y), x.reshape((1, len(x))) @ beta + alpha)",
    },
    (
        ("len(y) == (1 if x.ndim == 1 else len(x))", _for_rows("y")[1]), COLUMNS,
        ("alpha.shape[0] == beta.shape[1]", "alpha must have an element for each column of beta"),
        (ordered_outcomes.CATEGORY.format("len(alpha)"), ordered_outcomes.CATEGORIES),
    ),
    after=[(name, "finite") for name in ("beta", "alpha", "x")],
)  # fmt: skip
def categorical_logit_glm_lpmf(y: Nested, x: Nested, alpha: Nested, beta: Nested, propto: bool = False) -> Real:
    """Log mass of categories y = 1, ..., c with the log odds x beta + alpha.

        log p = sum_i (r_(i, y_i) - log sum_k e^(r_ik)), with r_ik = alpha_k + x_i beta_k

    Shapes:  y (n,) or (), x (n, k), alpha (c,), beta (k, c).
    Domain:  y = 1, ..., c, the rest finite.
    Raises:  ValueError if y is not a category, or shapes do not fit.
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
    {
        "1 2 1 1": "ordered_logistic_of_predictors(y, x @ beta, cuts)",
        "0 2 1 1": "ordered_logistic_of_predictors(np.full(len(x), y), x @ beta, cuts)",
        "1 1 1 1": "ordered_logistic_of_predictors(y, np.ones(len(y)) * (x @ beta), cuts)",
        "0 1 1 1": "ordered_logistic_of_predictors(np.full(1, y), np.ones(1) * (x @ beta), cuts)",
    },
    (FITS[0], COLUMNS, *ordered_outcomes.ORDERED),
)
def ordered_logistic_glm_lpmf(y: Nested, x: Nested, beta: Nested, cuts: Nested, propto: bool = False) -> Real:
    """Log mass of ordered categories y = 1, ..., c with the location x beta and c - 1 cut points.

        log p = sum_i log(expit(x_i beta - c_(y_i - 1)) - expit(x_i beta - c_(y_i))), c_0 = -inf, c_K = inf

    Shapes:  y (n,) or (), x (n, k), beta (k,), cuts (c - 1,).
    Domain:  y = 1, ..., c, cuts that increase, the rest finite.
    Raises:  ValueError if y is not a category, the cut points do not increase, or shapes do not fit.
    Cost:    O(n k) forward and reverse.
    Ref:     McCullagh & Nelder (1989), chapter 5; Stan Functions Reference, ordered-logistic generalized linear model.

    >>> round(float(ordered_logistic_glm_lpmf([1, 3], [[0.5, 1.0], [1.5, -0.3]], [0.4, -0.2], [-0.5, 0.7])), 6)
    -1.687424
    """
    name = "ordered_logistic_glm_lpmf"
    predicted = matmul(x, beta)
    check_domain(name, "predictor", predicted, "finite")
    return ordered_outcomes.ordered_lpmf(name, ordered_outcomes.LOGISTIC, y, predicted, cuts)
