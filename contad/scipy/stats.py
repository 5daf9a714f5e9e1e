"""Distributions of `scipy.stats`, differentiable in every argument, in Python and in Numba functions.

`norm.logpdf(x, loc, scale)` takes SciPy's arguments, with SciPy's names and defaults, and broadcasts. It is -inf
outside the support and nan for invalid parameters. Each distribution has `logpdf` and `pdf`, or `logpmf` and `pmf` of
whole numbers; most have `cdf`, `sf`, `logcdf` and `logsf`, and many `ppf` and `isf`.

Some return nan rather than wrong numbers: betanbinom beyond sums of 2e5 terms, derivatives of nbinom in n if k + n
exceeds 1e12, and derivatives in shape parameters above 1e12 of distributions with incomplete beta functions (beta, f,
binom). nct needs df of at least 0.01 and, except for the density, |nc| of at most 1000. The probabilities of pearson3
need |skew| of at least 0.01. Of ncx2, norminvgauss, genhyperbolic, geninvgauss and skellam there are only densities.

Statistics of samples are here, too: `zscore`, `skew`, `gmean`, `pearsonr`, `entropy` and their kin.

>>> round(norm.logpdf(1.5, 0.5, 2.0), 12)
-1.737085713765
"""

import math
import pkgutil
from types import ModuleType
from typing import Any

from contad.distributions import (
    circular,
    counts,
    forms_on_half_line,
    forms_on_intervals,
    forms_on_line,
    intervals,
    noncentral_t,
    positive_line,
    real_line,
)
from contad.distributions.cumulative import CUMULATIVE
from contad.distributions.faces import Face, compose
from contad.distributions.formula import Formula
from contad.distributions.probability_functions import distribution
from contad.distributions.standard_counts import COUNTS, NAMES_OF_COUNTS
from contad.ops._scipy import stats as _scipy_stats
from contad.ops.exponential import exp, log
from contad.scipy.distribution_docstrings import Described
from contad.scipy.mirroring import refuse_missing
from contad.variables.open_types import Value

_SCALED = ("not scale > 0.0", math.nan)


class Distribution(ModuleType):
    """The functions of one distribution; it is a module, so that Numba functions find them as attributes."""

    def __init__(self, name: str, shapes: str, described: Described) -> None:
        super().__init__(f"{__name__}.{name}")
        self.__dict__.update(distribution=name, shapes=shapes, described=described)
        self.__doc__ = described.whole()

    def __repr__(self) -> str:
        return f"<contad.scipy.stats.{self.distribution}>"

    def __reduce__(self) -> str:
        return str(self.distribution)

    def __call__(self, *args: Value, **options: Value) -> "FrozenDistribution":
        """The frozen distribution with these parameters, as in SciPy; Numba functions pass them to each method
        instead."""
        return FrozenDistribution(self, args, options)

    def add(self, method: str, formula: Formula, names: list[str], defaults: dict[str, float]) -> None:
        """Add a function."""
        face = Face(__name__, method, formula, self.described.method(method), names, defaults=defaults)
        face.__qualname__ = f"{self.distribution}.{method}"
        setattr(self, method, face)


class FrozenDistribution:
    """A distribution with fixed parameters, which may be variables; its methods take the remaining arguments.

    >>> round(norm(0.5, 2.0).logpdf(1.5), 12)
    -1.737085713765
    """

    def __init__(self, dist: Distribution, args: tuple[Value, ...], options: dict[str, Value]) -> None:
        self.dist, self.args, self.kwds = dist, args, options

    def __repr__(self) -> str:
        return f"<contad.scipy.stats.{self.dist.distribution}, frozen>"

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDistribution, (self.dist, self.args, self.kwds)

    def __getattr__(self, name: str) -> Any:
        method = vars(self.dist).get(name)
        if not isinstance(method, Face):
            raise AttributeError(f"contad.scipy.stats.{self.dist.distribution}: a frozen one has no {name!r}")
        return lambda x: method(x, *self.args, **self.kwds)


_METHODS = {
    "cdf": ("cdf", "ccdf"), "sf": ("ccdf", "cdf"), "logcdf": ("lcdf", "lccdf"), "logsf": ("lccdf", "lcdf"),
}  # fmt: skip


def _continuous(
    name: str, shapes: str, density: Formula, at: str, cumulative: str = "", scaled: bool = False, flip: bool = False,
    edge: str = "x == loc",
) -> Any:  # fmt: skip
    """A distribution of numbers. `at` are the arguments of the log density, in terms of x, the shapes, loc and scale.

    `cumulative` is the name of the functions with the same arguments in `contad.distributions.cumulative`. `scaled`
    says that they take (x - loc) / scale, and `flip` that they take a decreasing function of x. `edge` is the condition
    for an end of the support where the density may be 0 although its slope is not.
    """
    names = ["x", *shapes.split(), "loc", "scale"]
    made = Distribution(name, shapes, Described(name, density, at, scaled))
    text = f"f({at})" + (" - log(scale)" if scaled else "")
    log_density = compose(f"scipy_{name}_logpdf", names, text, density, home=__name__, cases=[_SCALED], log=log)
    text = f"height = f({', '.join(names)}); exp(height)"
    pdf = compose(f"scipy_{name}_pdf", names, text, log_density, home=__name__, flat=_flat_under(edge), exp=exp)
    defaults = {"loc": 0.0, "scale": 1.0}
    made.add("logpdf", log_density, names, defaults)
    made.add("pdf", pdf, names, defaults)
    if cumulative:
        _add_cumulative(made, cumulative, names, at, flip)
    if cumulative in _INVERSES:
        _add_inverses(made, cumulative, names, flip)
    return made


def _flat_under(edge: str) -> str:
    """The condition for a density that has underflowed and is constant, which excludes ends where it is exactly 0."""
    return f"height < -1e5 and (height > -_inf or not ({edge}))"


def _add_cumulative(
    made: Any, cumulative: str, names: list[str], at: str, flip: bool, whole: tuple[str, ...] = ()
) -> None:
    name = made.distribution
    if cumulative == "von_mises_of_turns":  # which is centred at 0
        at = at.replace(", 0.0, kappa", ", kappa")
    for method, (kind, opposite) in _METHODS.items():
        known = getattr(CUMULATIVE[cumulative], opposite if flip else kind)
        cases = [_SCALED] if "scale" in names else []
        text = f"f({at})"
        found = compose(f"scipy_{name}_{method}", names, text, known, home=__name__, cases=cases, whole=whole, log=log)
        defaults = {"loc": 0.0} | ({"scale": 1.0} if "scale" in names else {})
        made.add(method, found, names, defaults)


# the quantile of a distribution in terms of its formula's quantile, with the parameters
_INVERSES = {
    "normal": "f({p}, loc, scale)",
    "cauchy": "f({p}, loc, scale)",
    "student_t": "f({p}, df, loc, scale)",
    "exp_mod_normal": "f({p}, loc, scale, 1.0 / (K * scale))",
    "skew_normal": "f({p}, loc, scale, a)",
    "inverse_gaussian": "loc + scale * f({p}, mu, 1.0)",
    "von_mises_of_turns": "loc + scale * f({p}, kappa)",
    "rice": "loc + f({p}, b, scale)",
    "truncated_normal": "loc + scale * f({p}, a, b)",
    "logistic": "f({p}, loc, scale)",
    "double_exponential": "f({p}, loc, scale)",
    "gumbel": "f({p}, loc, scale)",
    "exponential": "loc + f({p}, 1.0 / scale)",
    "gamma": "loc + f({p}, a, 1.0 / scale)",
    "inv_gamma": "loc + f({p}, a, scale)",
    "chi_square": "loc + scale * f({p}, df)",
    "chi": "loc + f({p}, df, scale)",
    "lognormal": "loc + f({p}, log(scale), s)",
    "weibull": "loc + f({p}, c, scale)",
    "frechet": "loc + f({p}, c, scale)",
    "rayleigh": "loc + f({p}, scale)",
    "half_normal": "loc + f({p}, scale)",
    "half_cauchy": "loc + f({p}, scale)",
    "maxwell": "loc + f({p}, scale)",
    "pareto": "loc + f({p}, scale, b)",
    "pareto_type_2": "f({p}, loc, scale, c)",
    "loglogistic": "loc + f({p}, scale, c)",
    "beta": "loc + scale * f({p}, a, b)",
    "uniform": "loc + f({p}, 0.0, scale)",
    "levy": "loc + f({p}, scale)",
    "loglaplace": "loc + f({p}, c, scale)",
    "burr": "loc + f({p}, c, d, scale)",
    "beta_prime": "loc + f({p}, a, b, scale)",
    "f": "loc + f({p}, dfn, dfd, scale)",
    "triangular": "loc + scale * f({p}, c)",
    "generalised_pareto": "loc + scale * f({p}, c)",
    "generalised_extreme": "loc + scale * f({p}, c)",
    # of distributions with other parameters than others with the same formula
    "gibrat": "loc + f({p}, log(scale), 1.0)",
    "mielke": "loc + f({p}, s, k / s, scale)",
    "wald": "loc + scale * f({p}, 1.0, 1.0)",
}


def _add_inverses(made: Any, cumulative: str, names: list[str], flip: bool) -> None:
    name, (lower, upper) = made.distribution, CUMULATIVE[cumulative][-2:]
    text = _INVERSES.get(name) or _INVERSES[cumulative]
    if flip:
        inner = text.replace("loc + ", "").replace("loc", "-loc")
        text = f"loc - {inner}" if text.startswith("loc + ") else f"-{inner}"
        lower, upper = upper, lower
    for method, variable, known in (("ppf", "q", lower), ("isf", "q", upper)):
        assert known is not None
        own = [variable, *names[1:]]
        found = compose(
            f"scipy_{name}_{method}", own, text.format(p=variable), known, home=__name__, cases=[_SCALED], log=log
        )
        made.add(method, found, own, {"loc": 0.0, "scale": 1.0})


def _discrete(name: str, shapes: str, mass: Formula, at: str, whole: str = "", cumulative: str = "") -> Any:
    """A distribution of whole numbers."""
    names = ["k", *shapes.split(), "loc"]
    kept = ("k", "loc", *whole.split())
    made = Distribution(name, shapes, Described(name, mass, at))
    log_mass = compose(f"scipy_{name}_logpmf", names, f"f({at})", mass, home=__name__, whole=kept)
    text = f"height = f({', '.join(names)}); exp(height)"
    flat = "height < -1e5"
    pmf = compose(f"scipy_{name}_pmf", names, text, log_mass, home=__name__, whole=kept, flat=flat, exp=exp)
    made.add("logpmf", log_mass, names, {"loc": 0.0})
    made.add("pmf", pmf, names, {"loc": 0.0})
    if cumulative:
        _add_cumulative(made, cumulative, names, at, False, kept)
    return made


# ---- on the whole line -----------------------------------------------------------------------------------------------
norm = _continuous("norm", "", real_line.normal_log_density, "x, loc, scale", cumulative="normal")
cauchy = _continuous("cauchy", "", real_line.cauchy_log_density, "x, loc, scale", cumulative="cauchy")
t = _continuous("t", "df", real_line.student_t_log_density, "x, df, loc, scale", cumulative="student_t")
nct = _continuous(
    "nct", "df nc", noncentral_t.noncentral_t_log_density, "x, df, nc, loc, scale", cumulative="noncentral_t"
)
logistic = _continuous("logistic", "", real_line.logistic_log_density, "x, loc, scale", cumulative="logistic")
laplace = _continuous(
    "laplace", "", real_line.double_exponential_log_density, "x, loc, scale", cumulative="double_exponential"
)
gumbel_r = _continuous("gumbel_r", "", real_line.gumbel_log_density, "x, loc, scale", cumulative="gumbel")
gumbel_l = _continuous("gumbel_l", "", real_line.gumbel_log_density, "-x, -loc, scale", cumulative="gumbel", flip=True)
exponnorm = _continuous(
    "exponnorm", "K", real_line.exp_mod_normal_log_density, "x, loc, scale, 1.0 / (K * scale)", "exp_mod_normal"
)
skewnorm = _continuous("skewnorm", "a", real_line.skew_normal_log_density, "x, loc, scale, a", cumulative="skew_normal")

# ---- on the positive half --------------------------------------------------------------------------------------------
expon = _continuous(
    "expon", "", positive_line.exponential_log_density, "x - loc, 1.0 / scale", cumulative="exponential"
)
gamma = _continuous("gamma", "a", positive_line.gamma_log_density, "x - loc, a, 1.0 / scale", cumulative="gamma")
invgamma = _continuous(
    "invgamma", "a", positive_line.inv_gamma_log_density, "x - loc, a, scale", cumulative="inv_gamma"
)
chi2 = _continuous(
    "chi2", "df", positive_line.chi_square_log_density, "(x - loc) / scale, df", cumulative="chi_square", scaled=True
)
chi = _continuous("chi", "df", positive_line.chi_log_density, "x - loc, df, scale", cumulative="chi")
lognorm = _continuous(
    "lognorm", "s", positive_line.lognormal_log_density, "x - loc, log(scale), s", cumulative="lognormal"
)
weibull_min = _continuous(
    "weibull_min", "c", positive_line.weibull_log_density, "x - loc, c, scale", cumulative="weibull"
)
weibull_max = _continuous(
    "weibull_max", "c", positive_line.weibull_log_density, "loc - x, c, scale", cumulative="weibull", flip=True
)
invweibull = _continuous(
    "invweibull", "c", positive_line.frechet_log_density, "x - loc, c, scale", cumulative="frechet"
)
rayleigh = _continuous("rayleigh", "", positive_line.rayleigh_log_density, "x - loc, scale", cumulative="rayleigh")
maxwell = _continuous("maxwell", "", positive_line.maxwell_log_density, "x - loc, scale", cumulative="maxwell")
halfnorm = _continuous(
    "halfnorm", "", positive_line.half_normal_log_density, "x - loc, scale", cumulative="half_normal"
)
halfcauchy = _continuous(
    "halfcauchy", "", positive_line.half_cauchy_log_density, "x - loc, scale", cumulative="half_cauchy"
)
pareto = _continuous("pareto", "b", positive_line.pareto_log_density, "x - loc, scale, b", cumulative="pareto")
lomax = _continuous(
    "lomax", "c", positive_line.pareto_type_2_log_density, "x, loc, scale, c", cumulative="pareto_type_2"
)
betaprime = _continuous(
    "betaprime", "a b", positive_line.beta_prime_log_density, "x - loc, a, b, scale", cumulative="beta_prime"
)
f = _continuous("f", "dfn dfd", positive_line.f_log_density, "x - loc, dfn, dfd, scale", cumulative="f")
fisk = _continuous("fisk", "c", positive_line.loglogistic_log_density, "x - loc, scale, c", cumulative="loglogistic")
burr = _continuous("burr", "c d", positive_line.burr_log_density, "x - loc, c, d, scale", cumulative="burr")
loglaplace = _continuous(
    "loglaplace", "c", positive_line.loglaplace_log_density, "x - loc, c, scale", cumulative="loglaplace"
)
invgauss = _continuous(
    "invgauss", "mu", positive_line.inverse_gaussian_log_density, "(x - loc) / scale, mu, 1.0", "inverse_gaussian", True
)
rice = _continuous("rice", "b", positive_line.rice_log_density, "x - loc, b, scale", cumulative="rice")
levy = _continuous("levy", "", positive_line.levy_log_density, "x - loc, scale", cumulative="levy")

# ---- angles ----------------------------------------------------------------------------------------------------------
vonmises = _continuous(
    "vonmises",
    "kappa",
    circular.von_mises_log_density,
    "(x - loc) / scale, 0.0, kappa",
    "von_mises_of_turns",
    True,
)

# ---- on intervals ----------------------------------------------------------------------------------------------------
uniform = _continuous("uniform", "", intervals.uniform_log_density, "x - loc, 0.0, scale", cumulative="uniform")
beta = _continuous("beta", "a b", intervals.beta_log_density, "(x - loc) / scale, a, b", cumulative="beta", scaled=True,
                   edge="x == loc or (x - loc) / scale == 1.0")  # fmt: skip
triang = _continuous(
    "triang", "c", intervals.triangular_log_density, "(x - loc) / scale, c", cumulative="triangular", scaled=True,
    edge="x == loc or (x - loc) / scale == 1.0",
)
truncnorm = _continuous(
    "truncnorm",
    "a b",
    intervals.truncated_normal_log_density,
    "(x - loc) / scale, a, b",
    cumulative="truncated_normal",
    scaled=True,
)
genpareto = _continuous(
    "genpareto",
    "c",
    intervals.generalised_pareto_log_density,
    "(x - loc) / scale, c",
    cumulative="generalised_pareto",
    scaled=True,
    edge="1.0 + c * ((x - loc) / scale) == 0.0",
)
genextreme = _continuous(
    "genextreme",
    "c",
    intervals.generalised_extreme_log_density,
    "(x - loc) / scale, c",
    cumulative="generalised_extreme",
    scaled=True,
    edge="1.0 - c * ((x - loc) / scale) == 0.0",
)

# ---- whole numbers ---------------------------------------------------------------------------------------------------
bernoulli = _discrete("bernoulli", "p", counts.bernoulli_log_mass, "k - loc, p", cumulative="bernoulli")
binom = _discrete("binom", "n p", counts.binomial_log_mass, "k - loc, n, p", "n", cumulative="binomial")
betabinom = _discrete("betabinom", "n a b", counts.beta_binomial_log_mass, "k - loc, n, a, b", "n", "beta_binomial")
nbinom = _discrete("nbinom", "n p", counts.negative_binomial_log_mass, "k - loc, n, p", cumulative="negative_binomial")
betanbinom = _discrete(
    "betanbinom", "n a b", counts.beta_neg_binomial_log_mass, "k - loc, n, a, b", cumulative="beta_neg_binomial"
)
geom = _discrete("geom", "p", counts.geometric_log_mass, "k - loc, p", cumulative="geometric")
poisson = _discrete("poisson", "mu", counts.poisson_log_mass, "k - loc, mu", cumulative="poisson")
zipf = _discrete("zipf", "a", counts.zipf_log_mass, "k - loc, a", cumulative="zipf")
yulesimon = _discrete("yulesimon", "alpha", counts.yule_simon_log_mass, "k - loc, alpha", cumulative="yule_simon")
hypergeom = _discrete(
    "hypergeom", "M n N", counts.hypergeometric_log_mass, "k - loc, N, n, M - n", "M n N", "hypergeometric"
)

# ---- made at their first use -----------------------------------------------------------------------------------------
_FORMS = forms_on_line.FORMS | forms_on_half_line.FORMS | forms_on_intervals.FORMS
_FORMS["reciprocal"] = _FORMS["loguniform"]
_LIKE_OTHERS: dict[str, tuple[Any, ...]] = {  # the arguments of `_continuous` after the name
    "erlang": ("a", positive_line.gamma_log_density, "x - loc, a, 1.0 / scale", "gamma"),
    "gibrat": ("", positive_line.lognormal_log_density, "x - loc, log(scale), 1.0", "lognormal"),
    "levy_l": ("", positive_line.levy_log_density, "loc - x, scale", "levy", False, True),
    "mielke": ("k s", positive_line.burr_log_density, "x - loc, s, k / s, scale", "burr"),
    "wald": ("", positive_line.inverse_gaussian_log_density, "(x - loc) / scale, 1.0, 1.0", "inverse_gaussian", True),
}


def _make_count(name: str) -> Any:
    """A distribution of whole numbers from its row."""
    shapes, mass, at, whole, options = COUNTS[name]
    if not options:
        return _discrete(name, shapes, mass, at, whole)
    parameters = mass.argument_names[1:]
    options = {"low": "n < 0.0", "high": "n == _inf", "whole": mass.body.whole, "known": NAMES_OF_COUNTS} | options
    CUMULATIVE[name] = distribution(name, " ".join(parameters), **options)
    return _discrete(name, shapes, mass, at, whole, name)


def _make_standard(name: str) -> Any:
    """A distribution from its row in standard form."""
    form = _FORMS[name]
    density = form.make_density(name)
    made = form.make_probabilities(name, density)
    if made is not None:
        CUMULATIVE[name] = made
        if made.quantile is not None:
            _INVERSES[name] = f"loc + scale * f({', '.join(['{p}', *form.shapes.split()])})"
    at = ", ".join(["(x - loc) / scale", *form.shapes.split()])
    ends = [end for end in form.ends if not end.endswith("_inf")]
    edge = " or ".join(f"(x - loc) / scale == {end}" for end in ends) or "x == loc"
    return _continuous(name, form.shapes, density, at, name if made else "", scaled=True, edge=edge)


randint = _discrete(
    "randint", "low high", counts.discrete_range_log_mass, "k - loc, low, high - 1.0", "low high", "discrete_range"
)

__all__ = [name for name, value in list(globals().items()) if isinstance(value, Distribution)]
__all__ += list(_FORMS)
__all__ += list(_LIKE_OTHERS)
__all__ += list(COUNTS)

MULTIVARIATE = ("categorical", "dirichlet", "dirichlet_multinomial", "gaussian_kde", "invwishart", "lkj",
                "matrix_normal", "matrix_t", "multinomial", "multivariate_normal", "multivariate_t",
                "normal_inverse_gamma", "vonmises_fisher", "wishart")  # fmt: skip
SAMPLES = ("boxcox", "boxcox_llf", "circmean", "circstd", "circvar", "gmean", "gstd", "gzscore", "hmean", "iqr",
           "kurtosis", "median_abs_deviation", "moment", "pmean", "sem", "skew", "trim_mean", "variation", "zmap",
           "zscore")  # fmt: skip
COMPARISONS = ("energy_distance", "entropy", "linregress", "pearsonr", "ttest_1samp", "ttest_ind", "ttest_rel",
               "wasserstein_distance")  # fmt: skip
_ROOMS = dict.fromkeys(MULTIVARIATE, "multivariate_densities") | dict.fromkeys(SAMPLES, "sample_statistics")
_ROOMS |= dict.fromkeys(COMPARISONS, "sample_comparisons")


def __getattr__(name: str) -> Any:
    """Import densities of vectors and matrices and statistics of samples, and make other distributions, on first
    use."""
    if name in __all__:
        made = _make_standard(name) if name in _FORMS else _make_count(name) if name in COUNTS else None
        return globals().setdefault(name, made or _continuous(name, *_LIKE_OTHERS[name]))
    if name in _ROOMS:
        return pkgutil.resolve_name(f"contad.scipy.{_ROOMS[name]}:{name}")
    refuse_missing(__name__, _scipy_stats, name)
