"""Stan's log densities and log masses: sums over data, under Stan's names, for Python and for Numba functions.

Data and parameters are numbers, arrays and lists; the result is the sum of the elements. Arrays must have one shape;
numbers are used with each element. `propto=True` drops the terms without differentiable arguments, as Stan does,
including log n! of Poisson counts and log (N over n) of binomial and beta-binomial ones. For negative binomial counts
log n! stays, where it is part of log Gamma(n + phi) - log Gamma(phi) - log n!. Arguments outside their domains raise a
ValueError that names them. The domains are Stan's, function by function, so some functions raise outside the support
and others return -inf there.
"""

from contad.distributions import circular, counts, intervals, positive_line, real_line
from contad.distributions.docstrings import formula_of
from contad.distributions.faces import Face
from contad.distributions.formula import Formula
from contad.stan.face_docstrings import describe_face

__all__ = [
    "bernoulli_logit_lpmf", "bernoulli_lpmf", "beta_binomial_lpmf", "beta_lpdf", "beta_neg_binomial_lpmf",
    "beta_proportion_lpdf", "binomial_logit_lpmf", "binomial_lpmf", "cauchy_lpdf", "chi_square_lpdf",
    "discrete_range_lpmf", "double_exponential_lpdf", "exp_mod_normal_lpdf", "exponential_lpdf", "frechet_lpdf",
    "gamma_lpdf", "gumbel_lpdf", "hypergeometric_lpmf", "inv_chi_square_lpdf", "inv_gamma_lpdf", "logistic_lpdf",
    "loglogistic_lpdf", "lognormal_lpdf", "neg_binomial_2_log_lpmf", "neg_binomial_2_lpmf", "neg_binomial_lpmf",
    "normal_lpdf", "pareto_lpdf", "pareto_type_2_lpdf", "poisson_log_lpmf", "poisson_lpmf", "rayleigh_lpdf",
    "scaled_inv_chi_square_lpdf", "skew_double_exponential_lpdf", "skew_normal_lpdf", "std_normal_lpdf",
    "student_t_lpdf", "uniform_lpdf", "von_mises_lpdf", "weibull_lpdf", "yule_simon_lpmf",
]  # fmt: skip


def _density(formula: Formula, orders: dict[str, str] | None = None, lenient: bool = False, **domains: str) -> Face:
    """A formula under Stan's name."""
    name = formula.__name__.replace("_log_density", "_lpdf").replace("_log_mass", "_lpmf")
    family, _, suffix = name.rpartition("_")
    kind, sign = ("mass", "p") if suffix == "lpmf" else ("density", "f")
    title = f"Log {kind} of the {family.replace('_', ' ')} distribution, summed over the data."
    written = f"log {sign} = {formula_of(formula)}"
    doc = describe_face(name, title, written, formula, formula.argument_names, domains)
    return Face(
        __name__, name, formula, doc, reduce="sum", domains=domains, has_propto=True, orders=orders, lenient=lenient
    )


# ---- on the whole line -----------------------------------------------------------------------------------------------
normal_lpdf = _density(real_line.normal_log_density, y="real", mu="finite", sigma="positive")
std_normal_lpdf = _density(real_line.std_normal_log_density, y="real")
cauchy_lpdf = _density(real_line.cauchy_log_density, lenient=True, y="real", mu="finite", sigma="positive finite")
student_t_lpdf = _density(
    real_line.student_t_log_density, y="real", nu="positive finite", mu="finite", sigma="positive finite"
)
logistic_lpdf = _density(real_line.logistic_log_density, y="finite", mu="finite", sigma="positive finite")
double_exponential_lpdf = _density(
    real_line.double_exponential_log_density, lenient=True, y="finite", mu="finite", sigma="positive finite"
)
gumbel_lpdf = _density(real_line.gumbel_log_density, y="real", mu="finite", beta="positive")
exp_mod_normal_lpdf = _density(
    real_line.exp_mod_normal_log_density, y="real", mu="finite", sigma="positive finite", rate="positive finite"
)
skew_normal_lpdf = _density(real_line.skew_normal_log_density, y="real", xi="finite", omega="positive", alpha="finite")
skew_double_exponential_lpdf = _density(
    real_line.skew_double_exponential_log_density, lenient=True, y="real", mu="finite", sigma="positive finite",
    tau="probability",
)  # fmt: skip

# ---- on the positive half --------------------------------------------------------------------------------------------
exponential_lpdf = _density(positive_line.exponential_log_density, y="nonnegative", beta="positive finite")
gamma_lpdf = _density(
    positive_line.gamma_log_density, y="positive finite", alpha="positive finite", beta="positive finite"
)
inv_gamma_lpdf = _density(
    positive_line.inv_gamma_log_density, y="real", alpha="positive finite", beta="positive finite"
)
chi_square_lpdf = _density(positive_line.chi_square_log_density, y="nonnegative", nu="positive finite")
inv_chi_square_lpdf = _density(positive_line.inv_chi_square_log_density, y="real", nu="positive finite")
scaled_inv_chi_square_lpdf = _density(
    positive_line.scaled_inv_chi_square_log_density, y="real", nu="positive finite", sigma="positive finite"
)
lognormal_lpdf = _density(positive_line.lognormal_log_density, y="nonnegative", mu="finite", sigma="positive finite")
weibull_lpdf = _density(positive_line.weibull_log_density, y="finite", alpha="positive finite", sigma="positive finite")
frechet_lpdf = _density(
    positive_line.frechet_log_density, y="positive", alpha="positive finite", sigma="positive finite"
)
rayleigh_lpdf = _density(positive_line.rayleigh_log_density, y="positive", sigma="positive")
pareto_lpdf = _density(
    positive_line.pareto_log_density, lenient=True, y="real", y_min="positive finite", alpha="positive finite"
)
pareto_type_2_lpdf = _density(
    positive_line.pareto_type_2_log_density, {"y": "at least mu"}, lenient=True, y="real", mu="real",
    rate="positive finite", alpha="positive finite",
)  # fmt: skip
loglogistic_lpdf = _density(
    positive_line.loglogistic_log_density, y="positive finite", alpha="positive finite", beta="positive finite"
)

# ---- on intervals ----------------------------------------------------------------------------------------------------
uniform_lpdf = _density(intervals.uniform_log_density, {"beta": "above alpha"}, y="real", alpha="finite", beta="finite")
beta_lpdf = _density(
    intervals.beta_log_density, lenient=True, y="probability", alpha="positive finite", beta="positive finite"
)
beta_proportion_lpdf = _density(
    intervals.beta_proportion_log_density, lenient=True, y="probability", mu="inner probability",
    kappa="positive finite",
)  # fmt: skip

von_mises_lpdf = _density(circular.von_mises_log_density, y="finite", mu="finite", kappa="nonnegative finite")

# ---- whole numbers ---------------------------------------------------------------------------------------------------
bernoulli_lpmf = _density(counts.bernoulli_log_mass, n="binary", theta="probability")
bernoulli_logit_lpmf = _density(counts.bernoulli_logit_log_mass, lenient=True, n="binary", alpha="real")
binomial_lpmf = _density(counts.binomial_log_mass, {"n": "up to N"}, n="count", N="count", theta="probability")
binomial_logit_lpmf = _density(counts.binomial_logit_log_mass, {"n": "up to N"}, n="count", N="count", alpha="finite")
beta_binomial_lpmf = _density(
    counts.beta_binomial_log_mass, lenient=True, n="whole", N="count", alpha="positive finite", beta="positive finite"
)
poisson_lpmf = _density(counts.poisson_log_mass, n="count", rate="nonnegative")
poisson_log_lpmf = _density(counts.poisson_log_log_mass, n="count", alpha="real")
neg_binomial_lpmf = _density(counts.neg_binomial_log_mass, n="count", alpha="positive finite", beta="positive finite")
neg_binomial_2_lpmf = _density(counts.neg_binomial_2_log_mass, n="count", mu="positive finite", phi="positive finite")
neg_binomial_2_log_lpmf = _density(counts.neg_binomial_2_log_log_mass, n="count", eta="finite", phi="positive finite")
beta_neg_binomial_lpmf = _density(
    counts.beta_neg_binomial_log_mass, n="count", r="positive finite", alpha="positive finite", beta="positive finite"
)
discrete_range_lpmf = _density(
    counts.discrete_range_log_mass, {"upper": "at least lower"}, n="whole", lower="whole", upper="whole"
)
yule_simon_lpmf = _density(counts.yule_simon_log_mass, n="positive count", alpha="positive finite")
hypergeometric_lpmf = _density(
    counts.hypergeometric_log_mass, {"n": "up to a", "N": "at least n", "b": "at least N - n"}, n="count", N="count",
    a="count", b="count",
)  # fmt: skip
