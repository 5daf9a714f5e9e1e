"""Distributions of `scipy.stats`, whose functions differentiate in every argument, in Python and in Numba functions.

`norm.logpdf(x, loc, scale)` takes SciPy's arguments, by its names and with its defaults, broadcasts, and is -inf
outside of the support and nan where a parameter is not allowed. Each distribution has `logpdf` and `pdf`, or `logpmf`
and `pmf` of whole numbers.

>>> norm.logpdf(1.5, 0.5, 2.0)
-1.7370857137646181
"""

import math
from types import ModuleType
from typing import Any

from contad.distributions import counts, intervals, positive_line, real_line
from contad.distributions.faces import Face, compose
from contad.distributions.formula import Formula
from contad.ops.exponential import exp, log

_SCALED = ("not scale > 0.0", math.nan)


class Distribution(ModuleType):
    """The functions of one distribution; a module, so that Numba functions find them as attributes."""

    def __init__(self, name: str, shapes: str, doc: str) -> None:
        super().__init__(f"{__name__}.{name}", doc)
        self.__dict__.update(distribution=name, shapes=shapes)

    def __repr__(self) -> str:
        return f"<contad.scipy.stats.{self.distribution}>"

    def __reduce__(self) -> str:
        return str(self.distribution)

    def add(self, method: str, formula: Formula, doc: str, names: list[str], defaults: dict[str, float]) -> None:
        """Add a function."""
        face = Face(__name__, method, formula, doc, names, defaults=defaults)
        face.__qualname__ = f"{self.distribution}.{method}"
        setattr(self, method, face)


def _continuous(name: str, shapes: str, density: Formula, at: str, scaled: bool = False) -> Any:
    """A distribution of numbers. `at` are the arguments of the log density, in terms of x, the shapes, loc and scale.

    `scaled` says that the density is that of (x - loc) / scale.
    """
    names = ["x", *shapes.split(), "loc", "scale"]
    made = Distribution(name, shapes, f"The distribution `scipy.stats.{name}`: {density.__doc__}")
    text = f"f({at})" + (" - log(scale)" if scaled else "")
    log_density = compose(f"{name}_logpdf", names, text, density, home=__name__, cases=[_SCALED], log=log)
    pdf = compose(f"{name}_pdf", names, f"exp(f({', '.join(names)}))", log_density, home=__name__, exp=exp)
    defaults = {"loc": 0.0, "scale": 1.0}
    made.add("logpdf", log_density, f"The logarithm of the density of `scipy.stats.{name}`.", names, defaults)
    made.add("pdf", pdf, f"The density of `scipy.stats.{name}`.", names, defaults)
    return made


def _discrete(name: str, shapes: str, mass: Formula, at: str, whole: str = "") -> Any:
    """A distribution of whole numbers."""
    names = ["k", *shapes.split(), "loc"]
    kept = ("k", "loc", *whole.split())
    made = Distribution(name, shapes, f"The distribution `scipy.stats.{name}`: {mass.__doc__}")
    log_mass = compose(f"{name}_logpmf", names, f"f({at})", mass, home=__name__, whole=kept)
    pmf = compose(f"{name}_pmf", names, f"exp(f({', '.join(names)}))", log_mass, home=__name__, whole=kept, exp=exp)
    made.add("logpmf", log_mass, f"The logarithm of the probability of k by `scipy.stats.{name}`.", names, {"loc": 0.0})
    made.add("pmf", pmf, f"The probability of k by `scipy.stats.{name}`.", names, {"loc": 0.0})
    return made


# ---- on the whole line -----------------------------------------------------------------------------------------------
norm = _continuous("norm", "", real_line.normal_log_density, "x, loc, scale")
cauchy = _continuous("cauchy", "", real_line.cauchy_log_density, "x, loc, scale")
t = _continuous("t", "df", real_line.student_t_log_density, "x, df, loc, scale")
logistic = _continuous("logistic", "", real_line.logistic_log_density, "x, loc, scale")
laplace = _continuous("laplace", "", real_line.double_exponential_log_density, "x, loc, scale")
gumbel_r = _continuous("gumbel_r", "", real_line.gumbel_log_density, "x, loc, scale")
gumbel_l = _continuous("gumbel_l", "", real_line.gumbel_log_density, "-x, -loc, scale")
exponnorm = _continuous("exponnorm", "K", real_line.exp_mod_normal_log_density, "x, loc, scale, 1.0 / (K * scale)")
skewnorm = _continuous("skewnorm", "a", real_line.skew_normal_log_density, "x, loc, scale, a")

# ---- on the positive half --------------------------------------------------------------------------------------------
expon = _continuous("expon", "", positive_line.exponential_log_density, "x - loc, 1.0 / scale")
gamma = _continuous("gamma", "a", positive_line.gamma_log_density, "x - loc, a, 1.0 / scale")
invgamma = _continuous("invgamma", "a", positive_line.inv_gamma_log_density, "x - loc, a, scale")
chi2 = _continuous("chi2", "df", positive_line.chi_square_log_density, "(x - loc) / scale, df", True)
chi = _continuous("chi", "df", positive_line.chi_log_density, "x - loc, df, scale")
lognorm = _continuous("lognorm", "s", positive_line.lognormal_log_density, "x - loc, log(scale), s")
weibull_min = _continuous("weibull_min", "c", positive_line.weibull_log_density, "x - loc, c, scale")
weibull_max = _continuous("weibull_max", "c", positive_line.weibull_log_density, "loc - x, c, scale")
invweibull = _continuous("invweibull", "c", positive_line.frechet_log_density, "x - loc, c, scale")
rayleigh = _continuous("rayleigh", "", positive_line.rayleigh_log_density, "x - loc, scale")
maxwell = _continuous("maxwell", "", positive_line.chi_log_density, "x - loc, 3.0, scale")
halfnorm = _continuous("halfnorm", "", positive_line.chi_log_density, "x - loc, 1.0, scale")
halfcauchy = _continuous("halfcauchy", "", positive_line.half_cauchy_log_density, "x - loc, scale")
pareto = _continuous("pareto", "b", positive_line.pareto_log_density, "x - loc, scale, b")
lomax = _continuous("lomax", "c", positive_line.pareto_type_2_log_density, "x, loc, scale, c")
betaprime = _continuous("betaprime", "a b", positive_line.beta_prime_log_density, "x - loc, a, b, scale")
f = _continuous("f", "dfn dfd", positive_line.f_log_density, "x - loc, dfn, dfd, scale")
fisk = _continuous("fisk", "c", positive_line.loglogistic_log_density, "x - loc, scale, c")
burr = _continuous("burr", "c d", positive_line.burr_log_density, "x - loc, c, d, scale")
loglaplace = _continuous("loglaplace", "c", positive_line.loglaplace_log_density, "x - loc, c, scale")
invgauss = _continuous("invgauss", "mu", positive_line.inverse_gaussian_log_density, "(x - loc) / scale, mu, 1.0", True)
levy = _continuous("levy", "", positive_line.levy_log_density, "x - loc, scale")

# ---- on intervals ----------------------------------------------------------------------------------------------------
uniform = _continuous("uniform", "", intervals.uniform_log_density, "x - loc, 0.0, scale")
beta = _continuous("beta", "a b", intervals.beta_log_density, "(x - loc) / scale, a, b", True)
triang = _continuous("triang", "c", intervals.triangular_log_density, "(x - loc) / scale, c", True)
truncnorm = _continuous("truncnorm", "a b", intervals.truncated_normal_log_density, "(x - loc) / scale, a, b", True)
genpareto = _continuous("genpareto", "c", intervals.generalised_pareto_log_density, "(x - loc) / scale, c", True)
genextreme = _continuous("genextreme", "c", intervals.generalised_extreme_log_density, "(x - loc) / scale, c", True)

# ---- whole numbers ---------------------------------------------------------------------------------------------------
bernoulli = _discrete("bernoulli", "p", counts.bernoulli_log_mass, "k - loc, p")
binom = _discrete("binom", "n p", counts.binomial_log_mass, "k - loc, n, p", "n")
betabinom = _discrete("betabinom", "n a b", counts.beta_binomial_log_mass, "k - loc, n, a, b", "n")
nbinom = _discrete("nbinom", "n p", counts.negative_binomial_log_mass, "k - loc, n, p")
betanbinom = _discrete("betanbinom", "n a b", counts.beta_neg_binomial_log_mass, "k - loc, n, a, b")
geom = _discrete("geom", "p", counts.geometric_log_mass, "k - loc, p")
poisson = _discrete("poisson", "mu", counts.poisson_log_mass, "k - loc, mu")
zipf = _discrete("zipf", "a", counts.zipf_log_mass, "k - loc, a")
yulesimon = _discrete("yulesimon", "alpha", counts.yule_simon_log_mass, "k - loc, alpha")
hypergeom = _discrete("hypergeom", "M n N", counts.hypergeometric_log_mass, "k - loc, N, n, M - n", "M n N")

__all__ = [name for name, value in list(globals().items()) if isinstance(value, Distribution)]
