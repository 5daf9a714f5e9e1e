"""Stan's Laplace approximations: marginal likelihoods of models with latent normal vectors, and draws of these given
the data."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.distributions.docstrings import describe, with_rest_of
from contad.distributions.faces import function_of_text
from contad.front.user_function import UserFunction
from contad.stan.densities import bernoulli_logit_lpmf, neg_binomial_2_log_lpmf, poisson_log_lpmf
from contad.stan.functionals.latent_gaussians import LatentModel, Search
from contad.variables import arguments
from contad.variables.arguments import require_callable, require_integer
from contad.variables.number import map_numbers, primal
from contad.variables.open_types import ArrayValue, Function, Nested, Real

__all__ = [
    "laplace_latent_bernoulli_logit_rng", "laplace_latent_neg_binomial_2_log_rng", "laplace_latent_poisson_log_rng",
    "laplace_latent_rng", "laplace_latent_tol_bernoulli_logit_rng", "laplace_latent_tol_neg_binomial_2_log_rng",
    "laplace_latent_tol_poisson_log_rng", "laplace_latent_tol_rng", "laplace_marginal",
    "laplace_marginal_bernoulli_logit_lpmf", "laplace_marginal_neg_binomial_2_log_lpmf",
    "laplace_marginal_poisson_log_lpmf", "laplace_marginal_tol", "laplace_marginal_tol_bernoulli_logit_lpmf",
    "laplace_marginal_tol_neg_binomial_2_log_lpmf", "laplace_marginal_tol_poisson_log_lpmf",
]  # fmt: skip

ROOT_OF_EPSILON = float(np.sqrt(np.finfo(float).eps))
_DEFAULTS: Any = (None, ROOT_OF_EPSILON, 500, 1, 1000, True)


def laplace_marginal(
    log_likelihood: Function, likelihood_args: Sequence[Nested], hessian_block_size: int, covariance: Function,
    covariance_args: Sequence[Nested],
) -> Real:  # fmt: skip
    """The approximate log marginal likelihood of a model with a latent normal vector.

        theta ~ normal(0, K),   K = covariance(*covariance_args),   l(theta) = log_likelihood(theta, *likelihood_args)
        z = l(theta) - theta^T K^-1 theta / 2 - log |I + K W| / 2,     W = -d2 l / d theta^2,

    at the mode theta, which Newton's method finds. It is exact if the likelihood is normal in theta. Derivatives in
    both tuples of arguments (trees), and in captured values, do not differentiate the search: they take one reverse
    pass over second derivatives of l along (K^-1 + W)^-1 at the mode, and one over l. They exist at any order.

    `hessian_block_size` is the size of the diagonal blocks of W, 1 if each observation depends on one element of theta.
    Entries outside the blocks must be zero, which one Hessian-vector product checks. The functions may be Numba
    functions.

    Shapes:  covariance returns (n, n), theta (n,), log_likelihood returns a number -> a number.
    Domain:  symmetric positive semidefinite K; log-concave likelihoods, and others if the mode is a maximum.
    Raises:  ValueError for other shapes, a block size that does not divide n or is too small, and values that are not
             finite; RuntimeError if the mode is not found.
    Cost:    O(n^3), a gradient and `hessian_block_size` second derivatives of l for each of about 5 to 10 steps. A
             gradient takes O(n^3) and `hessian_block_size` gradients of a second derivative of l; saves a matrix.
    Ref:     Margossian, Vehtari, Simpson & Agrawal (2020), NeurIPS 33; Rasmussen & Williams (2006), section 3.4;
             Stan's laplace_marginal.

    >>> import contad
    >>> from contad.stan import normal_lpdf
    >>> y = np.array([0.5, -1.0])
    >>> def log_likelihood(theta, sigma):
    ...     return normal_lpdf(y, theta, sigma)
    >>> def covariance(scale, correlation):
    ...     return scale**2 * np.array([[1.0, correlation], [correlation, 1.0]])
    >>> def f(sigma, scale):
    ...     return laplace_marginal(log_likelihood, (sigma,), 1, covariance, (scale, 0.5))
    >>> round(f(0.5, 1.0), 8)  # as exact as the normal density
    -2.75955821
    >>> [round(x, 8) for x in contad.grad(f, (0, 1))(0.5, 1.0)]
    [0.06802721, -0.46258503]
    """
    settings = hessian_block_size, *_DEFAULTS
    return _model("laplace_marginal", log_likelihood, likelihood_args, covariance, covariance_args, settings).marginal()


@with_rest_of(laplace_marginal)
def laplace_marginal_tol(
    log_likelihood: Function, likelihood_args: Sequence[Nested], hessian_block_size: int, covariance: Function,
    covariance_args: Sequence[Nested], theta_init: Nested | None = None, tol: float = ROOT_OF_EPSILON,
    max_steps: int = 500, solver: int = 1, max_steps_linesearch: int = 1000, allow_fallback: bool = True,
) -> Real:  # fmt: skip
    """Like `laplace_marginal`, with settings for the search for the mode.

        z = l(theta) - theta^T K^-1 theta / 2 - log |I + K W| / 2,     W = -d2 l / d theta^2, at the mode theta

    theta_init            the starting point; zeros if None. It carries no derivative
    tol                   the search stops if the gradient of the log density of theta is smaller by this factor than
                          K^-1 theta, or than 1, and makes one last step
    max_steps             the limit of Newton steps
    solver                1: by the Cholesky factor of W, for log-concave likelihoods; 2: by that of K; 3: by an LU
                          decomposition of I + K W, for all others
    max_steps_linesearch  how often a step that makes theta less probable may be halved; 0 accepts every step
    allow_fallback        whether to try the next solver if one fails

    Raises:  as there; ValueError for settings outside their ranges.
    Cost:    as there; solver 2 takes another Cholesky factor per step, and solver 3 twice the time of one.
    Ref:     Stan's laplace_marginal_tol.

    >>> from contad.stan import poisson_log_lpmf
    >>> model = lambda theta: poisson_log_lpmf([1, 0], theta), (), 1, lambda: np.array([[1.0, 0.3], [0.3, 1.0]]), ()
    >>> [round(laplace_marginal_tol(*model, solver=k), 8) for k in (1, 2, 3)]
    [-2.27982786, -2.27982786, -2.27982786]
    """
    settings = hessian_block_size, theta_init, tol, max_steps, solver, max_steps_linesearch, allow_fallback
    name = "laplace_marginal_tol"
    return _model(name, log_likelihood, likelihood_args, covariance, covariance_args, settings).marginal()


# ---- building blocks -------------------------------------------------------------------------------------------------
def _model(
    name: str, log_likelihood: Function, likelihood_args: Sequence[Nested], covariance: Function,
    covariance_args: Sequence[Nested], settings: Any,
) -> LatentModel:  # fmt: skip
    """The model; settings are the block size and those of `laplace_marginal_tol` from theta_init on."""
    for argument, given in (("log_likelihood", log_likelihood), ("covariance", covariance)):
        require_callable(name, argument, given)
    for argument, args in (("likelihood_args", likelihood_args), ("covariance_args", covariance_args)):
        if not isinstance(args, (tuple, list)):
            arguments.fail(name, argument, "be a tuple of arguments", type(args).__name__, TypeError)
    k = UserFunction(name, covariance).runnable()(*covariance_args)
    return LatentModel(Search(name, *settings), log_likelihood, likelihood_args, k)


def _of_counts(
    name: str, log_likelihood: Function, y: Nested, y_index: Nested, args: tuple[Nested, ...], covariance: Function,
    covariance_args: Sequence[Nested], settings: Any,
) -> LatentModel:  # fmt: skip
    """The model for observations y[i], each of which depends on the element y_index[i] of theta."""
    require_integer(name, "y_index", y_index)
    groups, outcomes = np.ravel(np.asarray(y_index, np.int64)), np.ravel(np.asarray(y, float))
    if groups.shape != outcomes.shape:
        arguments.fail(name, "y_index", f"have {outcomes.size} elements, as y has", groups.size)
    model = _model(
        name, lambda theta, *p: log_likelihood(outcomes, groups, theta, *p), args, covariance, covariance_args,
        (1, *settings),
    )  # fmt: skip
    n = np.shape(model.covariance)[0]
    if groups.size and not (groups.min() >= 0 and groups.max() < n):
        beyond = groups[(groups < 0) | (groups >= n)][0]
        arguments.fail(name, "y_index", f"be from 0 to {n - 1}, as covariance gives {n} rows", beyond)
    offset = np.shape(args[-1])
    if offset not in ((), (n,)):
        arguments.fail(name, "m", f"be a number or have {n} elements", f"shape {offset}")
    return model


def _draw(model: LatentModel, rng: np.random.Generator) -> np.ndarray:
    k = np.asarray(map_numbers(primal, model.covariance), float)
    mode = model.find_mode(map_numbers(primal, model.params), k)
    spread = k - k @ mode.r @ k
    values, vectors = np.linalg.eigh(0.5 * (spread + spread.T))
    root = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T  # independent of the signs of eigenvectors
    drawn: np.ndarray = mode.theta + root @ rng.standard_normal(len(k))
    return drawn


# ---- likelihoods with a name -----------------------------------------------------------------------------------------
def _poisson_log(y: np.ndarray, y_index: np.ndarray, theta: ArrayValue, m: Nested) -> Real:
    return poisson_log_lpmf(y, (theta + m)[y_index])


def _neg_binomial(y: np.ndarray, y_index: np.ndarray, theta: ArrayValue, eta: Real, m: Nested) -> Real:
    return neg_binomial_2_log_lpmf(y, (theta + m)[y_index], eta)


def _bernoulli_logit(y: np.ndarray, y_index: np.ndarray, theta: ArrayValue, m: Nested) -> Real:
    return bernoulli_logit_lpmf(y, (theta + m)[y_index])


class _Likelihood(NamedTuple):
    """A likelihood for observations y[i], each of which depends on the element y_index[i] of theta."""

    log_likelihood: Function
    names: str  # its arguments after theta; the last one is an offset
    data: str  # description of y
    term: str  # term of the log likelihood, where j = y_index_i
    domain: str
    observed: str  # arguments and result of an example
    found: str
    drawn: str  # arguments and result of an example of a draw with a known mode
    draw: str


_LIKELIHOODS = {
    "poisson_log": _Likelihood(
        _poisson_log, "m", "counts y[i] ~ poisson(exp(theta[y_index[i]] + m[y_index[i]]))",
        "poisson_log_lpmf(y_i, theta_j + m_j)", "y = 0, 1, ...", "[1, 0], [0, 1], 0.0", "-2.27982786",
        "[10**4, 10**4], [0, 1], 0.0, lambda: 100.0 * np.eye(2), ()", "array([9.2, 9.2])",
    ),
    "neg_binomial_2_log": _Likelihood(
        _neg_binomial, "eta, m",
        "counts y[i] ~ neg_binomial_2(exp(theta[y_index[i]] + m[y_index[i]]), eta), of variance mu + mu^2 / eta",
        "neg_binomial_2_log_lpmf(y_i, theta_j + m_j, eta)", "y = 0, 1, ..., eta > 0", "[1, 0], [0, 1], 2.0, 0.0",
        "-2.27471342", "[10**4, 10**4], [0, 1], 1e6, 0.0, lambda: 100.0 * np.eye(2), ()", "array([9.2, 9.2])",
    ),
    "bernoulli_logit": _Likelihood(
        _bernoulli_logit, "m", "outcomes y[i] ~ bernoulli(inv_logit(theta[y_index[i]] + m[y_index[i]]))",
        "bernoulli_logit_lpmf(y_i, theta_j + m_j)", "y 0 or 1", "[1, 0], [0, 1], 0.0", "-1.45428915",
        "[1] * 7500 + [0] * 2500, [0] * 10**4, 0.0, lambda: 100.0 * np.eye(1), ()", "array([1.1])",
    ),
}  # fmt: skip
_SETTINGS = {
    "theta_init": "None", "tol": "ROOT_OF_EPSILON", "max_steps": "500", "solver": "1", "max_steps_linesearch": "1000",
    "allow_fallback": "True",
}  # fmt: skip


def _function_of(name: str) -> Any:
    """The function named `laplace_marginal` or `laplace_latent_rng` plus a likelihood; with "_tol" it takes
    settings."""
    is_draw, is_set = name.startswith("laplace_latent"), "_tol_" in name
    row = next((row for family, row in _LIKELIHOODS.items() if family in name), None)
    options = "".join(f", {key}={value}" for key, value in _SETTINGS.items()) if is_set else ""
    settings = f"({', '.join(_SETTINGS)})" if is_set else "_DEFAULTS"
    if row is None:
        names = "log_likelihood, likelihood_args, hessian_block_size"
        model = f"log_likelihood, likelihood_args, covariance, covariance_args, (hessian_block_size, *{settings})"
        doc = _describe_draw(name, is_set)
    else:
        names = f"y, y_index, {row.names}"
        model = f"likelihood, y, y_index, ({row.names},), covariance, covariance_args, {settings}"
        doc = _describe(name, row, is_draw, is_set)
    text = (
        f"def {name}({names}, covariance, covariance_args{', rng' if is_draw else ''}{options}):\n"
        f"    model = {'_of_counts' if row else '_model'}({name!r}, {model})\n"
        f"    return {'_draw(model, rng)' if is_draw else 'model.marginal()'}\n"
    )
    made = function_of_text(text, name, {**globals(), "likelihood": row and row.log_likelihood})
    made.__module__, made.__doc__ = __name__, doc
    return made if row else with_rest_of(laplace_marginal)(made)


_OF_DRAWS = (
    "theta ~ normal(mode, (K^-1 + W)^-1),     W = -d2 l / d theta^2 at the mode of l(theta) - theta^T K^-1 theta / 2"
)


def _describe_draw(name: str, is_set: bool) -> str:
    title = "A draw of the latent vector given the data: normal around its mode, with covariance (K^-1 + W)^-1."
    notes = ["Arguments are those of `laplace_marginal`, of which the values are taken; a draw has no derivative."]
    fields = {
        "Shapes": "covariance gives (n, n), theta (n,), log_likelihood a number -> (n,).",
        "Cost": "some 5 to 10 steps of O(n^3), each a gradient and `hessian_block_size` second derivatives of l.",
    }
    if is_set:
        title, notes = "Like `laplace_latent_rng`, with the settings of `laplace_marginal_tol`.", []
        fields["Raises"] = "as there; ValueError for settings outside their ranges."
    fields["Ref"] = f"Stan's {name}."
    example = (
        ">>> from contad.stan import normal_lpdf\n"
        ">>> model = lambda theta: normal_lpdf([4.0, 4.0], theta, 0.01), (), 1, lambda: np.eye(2), ()\n"
        f">>> {name}(*model, np.random.default_rng(1){', solver=2' if is_set else ''}).round(1)\narray([4., 4.])"
    )
    return describe(title, _OF_DRAWS, fields, example, notes)


def _describe(name: str, row: _Likelihood, is_draw: bool, is_set: bool) -> str:
    kind, size = ("`laplace_latent_rng`", "(n,)") if is_draw else ("`laplace_marginal`", "a number")
    title = f"{kind} of {row.data}."
    formula = f"log int exp(sum_i {row.term}) normal(theta | 0, K) dtheta,\n    with j = y_index_i, by Laplace's method"
    call = f"round({name}({row.observed}, lambda: np.array([[1.0, 0.3], [0.3, 1.0]]), ()), 8)"
    example = f">>> {call}\n{row.found}"
    if is_set:
        title = f"Like `{name.replace('_tol', '')}`, with the settings of `laplace_marginal_tol`."
        example = example.replace("()), 8)", "(), solver=2), 8)")
    if is_draw:
        formula = f"{_OF_DRAWS},\n    l = sum_i {row.term}, j = y_index_i"
        call = f"{name}(*model, np.random.default_rng(1){', solver=2' if is_set else ''}).round(1)"
        example = f">>> model = {row.drawn}\n>>> {call}\n{row.draw}"
    more = "eta a number, " if "eta" in row.names else ""
    wrong = "settings outside their ranges, and for " if is_set else ""
    fields = {
        "Shapes": f"y, y_index (N,) from 0, {more}m (n,) or a number, covariance gives (n, n) -> {size}.",
        "Domain": f"{row.domain}, a positive definite covariance.",
        "Raises": f"as {kind}; ValueError for {wrong}an index beyond theta.",
        "Cost": f"as {kind}.",
        "Ref": f"Stan's {name}.",
    }
    return describe(title, formula, fields, example)


laplace_latent_rng = _function_of("laplace_latent_rng")
laplace_latent_tol_rng = _function_of("laplace_latent_tol_rng")
laplace_marginal_poisson_log_lpmf = _function_of("laplace_marginal_poisson_log_lpmf")
laplace_marginal_tol_poisson_log_lpmf = _function_of("laplace_marginal_tol_poisson_log_lpmf")
laplace_latent_poisson_log_rng = _function_of("laplace_latent_poisson_log_rng")
laplace_latent_tol_poisson_log_rng = _function_of("laplace_latent_tol_poisson_log_rng")
laplace_marginal_neg_binomial_2_log_lpmf = _function_of("laplace_marginal_neg_binomial_2_log_lpmf")
laplace_marginal_tol_neg_binomial_2_log_lpmf = _function_of("laplace_marginal_tol_neg_binomial_2_log_lpmf")
laplace_latent_neg_binomial_2_log_rng = _function_of("laplace_latent_neg_binomial_2_log_rng")
laplace_latent_tol_neg_binomial_2_log_rng = _function_of("laplace_latent_tol_neg_binomial_2_log_rng")
laplace_marginal_bernoulli_logit_lpmf = _function_of("laplace_marginal_bernoulli_logit_lpmf")
laplace_marginal_tol_bernoulli_logit_lpmf = _function_of("laplace_marginal_tol_bernoulli_logit_lpmf")
laplace_latent_bernoulli_logit_rng = _function_of("laplace_latent_bernoulli_logit_rng")
laplace_latent_tol_bernoulli_logit_rng = _function_of("laplace_latent_tol_bernoulli_logit_rng")
