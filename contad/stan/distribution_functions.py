"""Stan's distribution functions: `_cdf` multiplies over the data, `_lcdf` and `_lccdf` sum the logarithms.

The arguments and their domains are those of the log density of the same name.
"""

from contad.distributions.cumulative import CUMULATIVE
from contad.distributions.faces import Face
from contad.stan import densities
from contad.stan.face_docstrings import describe_face

__all__ = [
    "bernoulli_cdf", "bernoulli_lccdf", "bernoulli_lcdf", "beta_binomial_cdf", "beta_binomial_lccdf",
    "beta_binomial_lcdf", "beta_cdf", "beta_lccdf", "beta_lcdf", "beta_neg_binomial_cdf", "beta_neg_binomial_lccdf",
    "beta_neg_binomial_lcdf", "beta_proportion_lccdf", "beta_proportion_lcdf", "binomial_cdf", "binomial_lccdf",
    "binomial_lcdf", "cauchy_cdf", "cauchy_lccdf", "cauchy_lcdf", "chi_square_cdf", "chi_square_lccdf",
    "chi_square_lcdf", "discrete_range_cdf", "discrete_range_lccdf", "discrete_range_lcdf", "double_exponential_cdf",
    "double_exponential_lccdf", "double_exponential_lcdf", "exp_mod_normal_cdf", "exp_mod_normal_lccdf",
    "exp_mod_normal_lcdf", "exponential_cdf", "exponential_lccdf", "exponential_lcdf", "frechet_cdf", "frechet_lccdf",
    "frechet_lcdf", "gamma_cdf", "gamma_lccdf", "gamma_lcdf", "gumbel_cdf", "gumbel_lccdf", "gumbel_lcdf",
    "inv_chi_square_cdf", "inv_chi_square_lccdf", "inv_chi_square_lcdf", "inv_gamma_cdf", "inv_gamma_lccdf",
    "inv_gamma_lcdf", "logistic_cdf", "logistic_lccdf", "logistic_lcdf", "loglogistic_cdf", "lognormal_cdf",
    "lognormal_lccdf", "lognormal_lcdf", "neg_binomial_2_cdf", "neg_binomial_2_lccdf", "neg_binomial_2_lcdf",
    "neg_binomial_cdf", "neg_binomial_lccdf", "neg_binomial_lcdf", "normal_cdf", "normal_lccdf", "normal_lcdf",
    "pareto_cdf", "pareto_lccdf", "pareto_lcdf", "pareto_type_2_cdf", "pareto_type_2_lccdf", "pareto_type_2_lcdf",
    "poisson_cdf", "poisson_lccdf", "poisson_lcdf", "rayleigh_cdf", "rayleigh_lccdf", "rayleigh_lcdf",
    "scaled_inv_chi_square_cdf", "scaled_inv_chi_square_lccdf", "scaled_inv_chi_square_lcdf",
    "skew_double_exponential_cdf", "skew_double_exponential_lccdf", "skew_double_exponential_lcdf", "skew_normal_cdf",
    "skew_normal_lccdf", "skew_normal_lcdf", "std_normal_cdf", "std_normal_lccdf", "std_normal_lcdf", "student_t_cdf",
    "student_t_lccdf", "student_t_lcdf", "uniform_cdf", "uniform_lccdf", "uniform_lcdf", "von_mises_cdf",
    "von_mises_lccdf", "von_mises_lcdf", "weibull_cdf", "weibull_lccdf", "weibull_lcdf", "yule_simon_cdf",
    "yule_simon_lccdf", "yule_simon_lcdf",
]  # fmt: skip

_KINDS = {
    "cdf": ("The probability of at most {y}", "product", "F({y}) = {whole}"),
    "lcdf": ("The logarithm of the probability of at most {y}", "sum", "log F({y}), where F({y}) = {whole}"),
    "lccdf": ("The logarithm of the probability of more than {y}", "sum", "log(1 - F({y})), where F({y}) = {whole}"),
}


# their distribution functions check parameters even without data, although the density does not
CHECKED_FIRST = "cauchy", "double_exponential", "skew_double_exponential"


def _functions(
    name: str, variate: str = "real", orders: dict[str, str] | None = None, **own: str
) -> tuple[Face, Face, Face]:
    """The distribution function, its logarithm, and the logarithm of its complement.

    variate   the kind of the first argument, a key of DOMAINS
    orders    how arguments are ordered
    own       the kinds of other arguments, if they differ from those of the density
    """
    density: Face = getattr(densities, f"{name}_lpdf", None) or getattr(densities, f"{name}_lpmf")
    y = density.names[0]
    continuous = density.__name__.endswith("lpdf")
    whole = f"int^{y} f(t) dt, f the density" if continuous else f"sum_(t <= {y}) p(t), p the mass"
    whole += f" of {density.__name__}"
    made = []
    for kind, (what, reduce, written) in _KINDS.items():
        formula = getattr(CUMULATIVE[name], kind)
        domains = density.domains | {y: variate} | own
        title = f"{what.format(y=y)}, by the {name.replace('_', ' ')} distribution; over the data its {reduce}."
        integral = written.format(y=y, whole=whole)
        doc = describe_face(f"{name}_{kind}", title, integral, density.formula, density.names, domains)
        made.append(
            Face(
                __name__, f"{name}_{kind}", formula, doc, density.names, reduce, domains, orders=orders,
                lenient=density.lenient and name not in CHECKED_FIRST,
            )
        )
    return made[0], made[1], made[2]


bernoulli_cdf, bernoulli_lcdf, bernoulli_lccdf = _functions("bernoulli")
beta_binomial_cdf, beta_binomial_lcdf, beta_binomial_lccdf = _functions("beta_binomial")
beta_cdf, beta_lcdf, beta_lccdf = _functions("beta", "probability")
beta_neg_binomial_cdf, beta_neg_binomial_lcdf, beta_neg_binomial_lccdf = _functions("beta_neg_binomial")
_, beta_proportion_lcdf, beta_proportion_lccdf = _functions("beta_proportion", "probability")
binomial_cdf, binomial_lcdf, binomial_lccdf = _functions("binomial")
cauchy_cdf, cauchy_lcdf, cauchy_lccdf = _functions("cauchy")
chi_square_cdf, chi_square_lcdf, chi_square_lccdf = _functions("chi_square", "nonnegative")
discrete_range_cdf, discrete_range_lcdf, discrete_range_lccdf = _functions(
    "discrete_range", orders={"upper": "at least lower"}
)
double_exponential_cdf, double_exponential_lcdf, double_exponential_lccdf = _functions("double_exponential")
exp_mod_normal_cdf, exp_mod_normal_lcdf, exp_mod_normal_lccdf = _functions("exp_mod_normal")
exponential_cdf, exponential_lcdf, exponential_lccdf = _functions("exponential", "nonnegative")
frechet_cdf, frechet_lcdf, frechet_lccdf = _functions("frechet", "positive")
gamma_cdf, gamma_lcdf, gamma_lccdf = _functions("gamma", "nonnegative")
gumbel_cdf, gumbel_lcdf, gumbel_lccdf = _functions("gumbel")
inv_chi_square_cdf, inv_chi_square_lcdf, inv_chi_square_lccdf = _functions("inv_chi_square", "nonnegative")
inv_gamma_cdf, inv_gamma_lcdf, inv_gamma_lccdf = _functions("inv_gamma", "nonnegative")
logistic_cdf, logistic_lcdf, logistic_lccdf = _functions("logistic")
loglogistic_cdf, _, _ = _functions("loglogistic", "nonnegative")
lognormal_cdf, lognormal_lcdf, lognormal_lccdf = _functions("lognormal", "nonnegative")
neg_binomial_cdf, neg_binomial_lcdf, neg_binomial_lccdf = _functions("neg_binomial")
neg_binomial_2_cdf, neg_binomial_2_lcdf, neg_binomial_2_lccdf = _functions("neg_binomial_2")
normal_cdf, normal_lcdf, normal_lccdf = _functions("normal")
pareto_cdf, pareto_lcdf, pareto_lccdf = _functions("pareto", "nonnegative")
pareto_type_2_cdf, pareto_type_2_lcdf, pareto_type_2_lccdf = _functions(
    "pareto_type_2", "nonnegative", {"y": "at least mu"}
)
poisson_cdf, poisson_lcdf, poisson_lccdf = _functions("poisson")
rayleigh_cdf, rayleigh_lcdf, rayleigh_lccdf = _functions("rayleigh", "nonnegative")
scaled_inv_chi_square_cdf, scaled_inv_chi_square_lcdf, scaled_inv_chi_square_lccdf = _functions(
    "scaled_inv_chi_square", "nonnegative"
)
skew_double_exponential_cdf, skew_double_exponential_lcdf, skew_double_exponential_lccdf = _functions(
    "skew_double_exponential"
)
skew_normal_cdf, skew_normal_lcdf, skew_normal_lccdf = _functions("skew_normal")
std_normal_cdf, std_normal_lcdf, std_normal_lccdf = _functions("std_normal")
student_t_cdf, student_t_lcdf, student_t_lccdf = _functions("student_t")
uniform_cdf, uniform_lcdf, uniform_lccdf = _functions("uniform", orders={"beta": "above alpha"})
von_mises_cdf, von_mises_lcdf, von_mises_lccdf = _functions("von_mises", "angle", kappa="positive finite")
weibull_cdf, weibull_lcdf, weibull_lccdf = _functions("weibull", "nonnegative")
yule_simon_cdf, yule_simon_lcdf, yule_simon_lccdf = _functions("yule_simon")
