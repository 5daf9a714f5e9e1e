"""Functions of Stan and `scipy.stats` by their definitions in mpmath, with points in every regime of each."""

from mpmath import mp

from contad.distributions import forms_on_line
from tests.distributions.mirror_points import AT, BY_NAME, CONTINUOUS, DISCRETE, shapes_of
from tests.distributions.reference_densities import LOG_DENSITIES, POINTS as DENSITY_POINTS
from tests.distributions.reference_forms import TAILS
from tests.distributions.reference_tails import log_bessel, log_rest


# ---- probabilities that are no elementary functions ------------------------------------------------------------------
def log_skew_normal(u, alpha):
    """By Owen's T, of which more digits are needed where it cancels."""
    with mp.workdps(mp.dps + 10):
        of_owen = mp.quad(lambda t: mp.exp(-u * u * (1 + t * t) / 2) / (1 + t * t), [0, alpha]) / (2 * mp.pi)
        return mp.log(mp.erfc(-u / mp.sqrt(2)) / 2 - 2 * of_owen)


def log_part_of_rice(r, b, upper):
    """By the sum of Marcum's Q, with Poisson's masses of mean b^2 / 2 and the sums of those of mean r^2 / 2."""
    with mp.workdps(mp.dps + 40):
        x, rate = r * r / 2, b * b / 2
        outer, inner, total, k = mp.exp(-rate), mp.exp(-x), mp.mpf(0), 0
        mass = inner
        while k < rate or outer > mp.mpf(10) ** -mp.dps:
            total += outer * inner
            k += 1
            outer *= rate / k
            mass *= x / k
            inner += mass
        return mp.log(total if upper else 1 - total)


def log_part_of_angles(ends, kappa):
    return mp.log(mp.quad(lambda r: mp.exp(kappa * mp.cos(r)), ends)) - mp.log(2 * mp.pi) - log_bessel(kappa)


def log_part_of_noncentral_t(x, nu, delta, upper):
    """By the series of incomplete beta functions, which cancels in one tail."""
    if x < 0:
        return log_part_of_noncentral_t(-x, nu, -delta, not upper)
    with mp.workdps(mp.dps + 60):
        half, y, b = delta**2 / 2, x * x / (x * x + nu), nu / 2
        total = mp.ncdf(-delta)
        for first, step in ((mp.mpf(1) / 2, mp.mpf(1)), (mp.mpf(1), mp.mpf(3) / 2)):
            a, j = first, 0
            part = mp.betainc(a, b, 0, y, regularized=True)
            term = y**a * (1 - y) ** b / a / mp.beta(a, b)
            weight = mp.exp(-half) / 2 * (1 if step == 1 else delta * mp.sqrt(2 / mp.pi))
            while abs(weight) > mp.mpf(10) ** -mp.dps:
                total += weight * part
                part -= term
                term *= y * (a + b) / (a + 1)
                a, weight, j = a + 1, weight * half / (j + step), j + 1
        return mp.log(1 - total if upper else total)


def log_part_of_turns(r, kappa, upper):
    """Of angles on the whole line, where each turn adds 1 to the probability of at most r; nan of what is negative."""
    turns = mp.floor(mp.mpf(1) / 2 + r / (2 * mp.pi))
    r -= 2 * mp.pi * turns
    if upper:
        part = log_part_of_angles([r, 1, mp.pi] if r < 1 else [r, mp.pi], kappa)
    else:
        part = log_part_of_angles([-mp.pi, -1, r] if r > -1 else [-mp.pi, r], kappa)
    if turns == 0:
        return part
    whole = mp.exp(part) - turns if upper else mp.exp(part) + turns
    return mp.log(whole) if whole > 0 else mp.nan


INTEGRALS = {
    "nct": (
        lambda x, nu, delta: log_part_of_noncentral_t(x, nu, delta, False),
        lambda x, nu, delta: log_part_of_noncentral_t(x, nu, delta, True),
    ),
    "skewnorm": (log_skew_normal, lambda u, a: log_skew_normal(-u, -a)),
    "rice": (lambda r, b: log_part_of_rice(r, b, False), lambda r, b: log_part_of_rice(r, b, True)),
    "vonmises": (
        lambda r, kappa: log_part_of_turns(r, kappa, False),
        lambda r, kappa: log_part_of_turns(r, kappa, True),
    ),
}


def log_tail(name, upper):
    """The logarithm of a standard distribution's function, or of its complement."""
    return (INTEGRALS.get(name) or TAILS[name][1:])[upper]


def log_sum_of(mass, upper, first=0):
    """The logarithm of the sum of the masses up to n, or of those above."""

    def logarithm(n, *args):
        with mp.workdps(mp.dps + 80):  # of sums that are nearly 1
            below = mp.log(mp.fsum(mp.exp(mass(mp.mpf(k), *args)) for k in range(first, int(n) + 1)))
            return log_rest(below) if upper else below

    return logarithm


# ---- Stan's ----------------------------------------------------------------------------------------------------------
# by the parameters: the standard distribution, and its shapes, place and scale
STANDARD = {
    "normal": ("norm", lambda mu, sigma: ((), mu, sigma)),
    "std_normal": ("norm", lambda: ((), 0, 1)),
    "cauchy": ("cauchy", lambda mu, sigma: ((), mu, sigma)),
    "student_t": ("t", lambda nu, mu, sigma: ((nu,), mu, sigma)),
    "logistic": ("logistic", lambda mu, sigma: ((), mu, sigma)),
    "double_exponential": ("laplace", lambda mu, sigma: ((), mu, sigma)),
    "gumbel": ("gumbel_r", lambda mu, beta: ((), mu, beta)),
    "exp_mod_normal": ("exponnorm", lambda mu, sigma, rate: ((1 / (rate * sigma),), mu, sigma)),
    "skew_normal": ("skewnorm", lambda xi, omega, alpha: ((alpha,), xi, omega)),
    "exponential": ("expon", lambda beta: ((), 0, 1 / beta)),
    "gamma": ("gamma", lambda alpha, beta: ((alpha,), 0, 1 / beta)),
    "inv_gamma": ("invgamma", lambda alpha, beta: ((alpha,), 0, beta)),
    "chi_square": ("chi2", lambda nu: ((nu,), 0, 1)),
    "inv_chi_square": ("invgamma", lambda nu: ((nu / 2,), 0, mp.mpf(1) / 2)),
    "scaled_inv_chi_square": ("invgamma", lambda nu, s: ((nu / 2,), 0, nu * s**2 / 2)),
    "lognormal": ("lognorm", lambda mu, sigma: ((sigma,), 0, mp.exp(mu))),
    "weibull": ("weibull_min", lambda alpha, sigma: ((alpha,), 0, sigma)),
    "frechet": ("invweibull", lambda alpha, sigma: ((alpha,), 0, sigma)),
    "rayleigh": ("rayleigh", lambda sigma: ((), 0, sigma)),
    "pareto": ("pareto", lambda y_min, alpha: ((alpha,), 0, y_min)),
    "pareto_type_2": ("lomax", lambda mu, rate, alpha: ((alpha,), mu, rate)),
    "loglogistic": ("fisk", lambda alpha, beta: ((beta,), 0, alpha)),
    "uniform": ("uniform", lambda alpha, beta: ((), alpha, beta - alpha)),
    "beta": ("beta", lambda alpha, beta: ((alpha, beta), 0, 1)),
    "beta_proportion": ("beta", lambda mu, kappa: ((mu * kappa, (1 - mu) * kappa), 0, 1)),
}
COUNTS = [
    "bernoulli", "binomial", "beta_binomial", "poisson", "neg_binomial", "neg_binomial_2", "beta_neg_binomial",
    "discrete_range", "yule_simon",
]  # fmt: skip


def skew_double_exponential_tail(upper):
    def logarithm(y, mu, sigma, tau):
        r, weight = (y - mu) / sigma, tau if upper else 1 - tau
        if (r > 0) == upper:
            return mp.log(1 - weight) - 2 * weight * abs(r)
        return log_rest(mp.log(weight) - 2 * (1 - weight) * abs(r))

    return logarithm


def placed(name, place, upper):
    def logarithm(y, *args):
        shapes, loc, scale = place(*args)
        return log_tail(name, upper)((y - loc) / scale, *shapes)

    return logarithm


def stans_tail(name, upper):
    """log P(Y <= y), or log P(Y > y)."""
    if name == "skew_double_exponential":
        return skew_double_exponential_tail(upper)
    if name == "von_mises":  # of angles between -pi and pi, wherever the middle is
        return lambda y, mu, kappa: log_part_of_angles([y - mu, mp.pi - mu] if upper else [-mp.pi - mu, y - mu], kappa)
    if name in COUNTS:
        first = {"yule_simon": 1, "discrete_range": -4}.get(name, 0)
        mass = LOG_DENSITIES[f"{name}_lpmf"]
        return log_sum_of(mass, upper, first)
    return placed(*STANDARD[name], upper)


_LINE = [(0.7, -0.3, 1.4), (-31.0, 0.4, 0.6), (45.0, 1.3, 0.9)]
_HALF = [(0.7, 2.3, 1.4), (1e-5, 1.7, 3.1), (60.0, 5.5, 0.31)]
STAN_POINTS = {
    "normal": [*_LINE, (1e-8, 0.0, 1e-6)], "std_normal": [(0.7,), (-31.0,), (9.5,), (1e-200,)],
    "cauchy": [*_LINE, (-1e15, 0.3, 1.7)],
    "student_t": [(0.7, 3.2, -0.3, 1.4), (-31.0, 0.7, 0.4, 0.6), (1e9, 2.0, 0.4, 1.3), (2.3, 1e3, 0.4, 1.1)],
    "logistic": [*_LINE, (900.0, 0.5, 0.8)], "double_exponential": _LINE,
    "gumbel": [_LINE[0], (-4.0, 0.4, 0.9), (300.0, 0.4, 0.9)],
    "exp_mod_normal": [(0.7, -0.3, 1.4, 0.8), (-9.1, 0.4, 0.6, 2.3), (25.0, 0.4, 0.6, 2.3), (1.7, 0.4, 3.0, 0.02)],
    "skew_normal": [(0.7, -0.3, 1.4, 2.1), (-2.1, 0.4, 0.6, 1.3), (0.41, 0.4, 0.6, 0.01)],
    "skew_double_exponential": [(0.7, -0.3, 1.4, 0.3), (-9.1, 0.4, 0.6, 0.8), (90.0, 0.4, 0.6, 0.02)],
    "exponential": [(0.7, 1.4), (1e-6, 3.0), (400.0, 20.0)],
    "gamma": [*_HALF, (1e-200, 0.02, 0.7), (300.0, 256.0, 1.0)],
    "inv_gamma": _HALF,
    "chi_square": [(0.7, 2.0), (1e-6, 0.7), (300.0, 250.0), (900.0, 1.0)],
    "inv_chi_square": [(0.7, 2.3), (1e-2, 0.7), (300.0, 25.0)],
    "scaled_inv_chi_square": [(0.7, 2.3, 0.6), (9.3, 5.6, 1.7), (0.02, 31.0, 0.13)],
    "lognormal": [(0.7, -0.3, 1.4), (1e-30, 0.4, 2.6), (1e40, 50.0, 1.6)],
    "weibull": [*_HALF[:2], (0.9, 40.0, 1.1)],
    "frechet": [(0.7, 2.3, 1.4), (9.3, 0.6, 0.4), (1.7, 40.0, 1.1)],
    "rayleigh": [(0.7, 1.4), (1e-7, 0.3), (300.0, 9.0)],
    "pareto": [(1.7, 0.4, 1.4), (1e10, 2.0, 20.0)],
    "pareto_type_2": [(1.7, 0.4, 1.4, 2.2), (1e10, 2.0, 20.0, 0.2)],
    "uniform": [(0.7, 0.3, 1.4), (-0.2, -2.4, 0.6)],
    "beta": [(0.7, 2.3, 1.4), (1e-9, 0.3, 40.0), (0.51, 300.0, 280.0), (0.9999, 2.0, 0.2), (0.5, 0.5, 0.5)],
    "beta_proportion": [(0.7, 0.3, 1.4), (0.03, 0.02, 150.0)], "von_mises": [(0.7, -0.3, 1.4), (-1.1, 0.4, 6.0)],
    "bernoulli": [(0.0, 0.4), (0.0, 1e-20)],
    "binomial": [(3.0, 7.0, 0.3), (0.0, 4.0, 0.4), (30.0, 90.0, 0.05), (2.0, 9.0, 1e-7)],
    "beta_binomial": [(3.0, 7.0, 2.3, 1.7), (0.0, 4.0, 0.4, 0.9), (40.0, 100.0, 12.0, 19.0)],
    "poisson": [(3.0, 2.4), (0.0, 1.3), (60.0, 1.5), (2.0, 70.0)],
    "neg_binomial": [(3.0, 2.4, 0.7), (0.0, 1.3, 2.1), (70.0, 14.0, 0.5)],
    "neg_binomial_2": [(3.0, 2.4, 0.7), (0.0, 1.3, 2.1), (20.0, 180.0, 12.0), (5.0, 4.0, 0.01)],
    "beta_neg_binomial": [(3.0, 2.4, 0.7, 1.3), (0.0, 1.3, 2.1, 0.4), (40.0, 12.0, 3.1, 9.4)],
    "discrete_range": [(-2.0, -4.0, 4.0)], "yule_simon": [(3.0, 2.4), (1.0, 1.3), (40.0, 0.6)],
}  # fmt: skip

# ---- SciPy's ---------------------------------------------------------------------------------------------------------
def fisher_weight(k, m, n, drawn, odds):
    return mp.binomial(n, k) * mp.binomial(m - n, drawn - k) * odds**k


MASSES = {
    "bernoulli": LOG_DENSITIES["bernoulli_lpmf"],
    "binom": LOG_DENSITIES["binomial_lpmf"],
    "betabinom": LOG_DENSITIES["beta_binomial_lpmf"],
    "nbinom": lambda k, n, p: LOG_DENSITIES["neg_binomial_2_lpmf"](k, n * (1 - p) / p, n),
    "betanbinom": LOG_DENSITIES["beta_neg_binomial_lpmf"],
    "geom": lambda k, p: mp.log(p) + (k - 1) * mp.log1p(-p),
    "poisson": LOG_DENSITIES["poisson_lpmf"],
    "zipf": lambda k, a: -a * mp.log(k) - mp.log(mp.zeta(a)),
    "yulesimon": LOG_DENSITIES["yule_simon_lpmf"],
    "hypergeom": lambda k, total, n, drawn: LOG_DENSITIES["hypergeometric_lpmf"](k, drawn, n, total - n),
    "randint": lambda k, low, high: -mp.log(high - low) if low <= k < high else -mp.inf,
    "dlaplace": lambda k, a: mp.log(mp.tanh(a / 2)) - a * abs(k),
    "planck": lambda k, rate: log_rest(-rate) - rate * k,
    "boltzmann": lambda k, rate, n: log_rest(-rate) - rate * k - log_rest(-rate * n),
    "logser": lambda k, p: k * mp.log(p) - mp.log(k) - mp.log(-mp.log1p(-p)),
    "zipfian": lambda k, a, n: -a * mp.log(k) - mp.log(mp.fsum(mp.mpf(j) ** -a for j in range(1, int(n) + 1))),
    "skellam": lambda k, m, n: -m - n + k / 2 * mp.log(m / n) + mp.log(mp.besseli(abs(k), 2 * mp.sqrt(m * n))),
    "nhypergeom": lambda k, m, n, r: mp.log(
        mp.binomial(k + r - 1, k) * mp.binomial(m - r - k, n - k) / mp.binomial(m, n)
    ),
    "nchypergeom_fisher": lambda k, m, n, drawn, odds: mp.log(
        fisher_weight(k, m, n, drawn, odds)
        / mp.fsum(fisher_weight(j, m, n, drawn, odds) for j in range(int(drawn) + 1))
    ),
}
FIRST = {"geom": 1, "zipf": 1, "yulesimon": 1, "logser": 1, "zipfian": 1, "dlaplace": -400, "randint": -2}
METHODS = ("logpdf", "logcdf", "logsf")
MASS_METHODS = ("logpmf", "logcdf", "logsf")
WHOLE_LINE = [
    "norm", "cauchy", "t", "logistic", "laplace", "gumbel_r", "gumbel_l", "exponnorm", "skewnorm", "genextreme", "nct",
    *forms_on_line.FORMS,
]  # fmt: skip
ENDS = {"pareto": (1.0, mp.inf), "weibull_max": (-mp.inf, 0.0), "vonmises": (-3.1, 3.1), "truncnorm": (-0.5, 2.0)}
ENDS |= dict.fromkeys(WHOLE_LINE, (-mp.inf, mp.inf)) | dict.fromkeys(("beta", "uniform", "triang"), (0.0, 1.0))
ENDS |= {"genextreme": (-mp.inf, 1 / 0.6), "genpareto": (0.0, mp.inf), "pearson3": (-2.4, mp.inf)}
ENDS |= dict.fromkeys(("powerlaw", "johnsonsb", "bradford", "arcsine", "trapezoid"), (0.0, 1.0))
ENDS |= dict.fromkeys(("semicircular", "rdist"), (-1.0, 1.0)) | dict.fromkeys(("cosine", "vonmises_line"), (-3.1, 3.1))
ENDS |= {"anglit": (-0.78, 0.78), "loguniform": (0.1, 2.9), "reciprocal": (0.1, 2.9), "truncexpon": (0.0, 1.9),
         "truncpareto": (1.0, 4.5), "truncweibull_min": (0.1, 1.9), "wrapcauchy": (0.0, 6.2),
         "genhalflogistic": (0.0, 1.6), "levy_l": (-mp.inf, 0.0)}  # fmt: skip
# of a standard number, with the size of the shapes over those of `mirror_points`
REGIMES = [(0.4375, 1.0), (1e-8, 0.1), (2.5, 2.0), (17.0, 5.0), (-0.75, 1.0), (-3.5, 0.3)]
# (x, the shapes, loc, scale) where a formula takes a way of its own, which no regime leads to
FURTHER = {
    "t": [(-1e102, 0.7, 0.0, 1.0), (1e102, 0.7, 0.0, 1.0)],
    "chi": [(1e-120, 0.01, 0.0, 1.0), (1e105, 3.3, 0.0, 1.0)],
    "genextreme": [(3.25, 0.6, 0.25, 2.0)],
    "triang": [(1.85, 0.6, 0.25, 2.0)],
    "uniform": [(2.15, 0.25, 2.0)],
    "pareto": [(1.0 + 2.0**-20, 3.0, 0.0, 1.0)],
    "truncnorm": [
        (2.25, -0.5, 2.0, 0.25, 2.0), (2.75, 0.5, 2.0, 0.25, 2.0), (-2.25, -2.0, -0.5, 0.25, 2.0),
        (30.5, 30.0, 31.0, 0.0, 1.0), (-30.5, -31.0, -30.0, 0.0, 1.0), (8.0, -1.0, 9.0, 0.0, 1.0),
        (0.59375, 0.5, 0.6875, 0.0, 1.0), (-3.03125, -3.0625, -3.0, 0.0, 1.0),
    ],
    "rice": [(1.5, 0.0, 0.25, 2.0)],
    "pearson3": [(0.75, 0.3, 0.25, 2.0), (-1.25, -0.4, 0.25, 2.0), (0.75, 0.1, 0.0, 1.0), (0.75, -0.8, 0.25, 2.0)],
    "ncx2": [(300.0, 1.3, 280.0, 0.0, 1.0), (90.0, 7.5, 120.0, 0.0, 1.5)],
    "trapezoid": [
        (1e-20, 0.3, 0.7, 0.0, 1.0), (0.85, 0.3, 0.7, 0.0, 1.0), (0.15, 0.3, 0.7, 0.0, 1.0),
    ],
    "gennorm": [(0.0, 3.0, 0.0, 1.0)],
    "hypsecant": [(720.0, 0.0, 1.0), (-720.0, 0.0, 1.0)],
    "moyal": [(95.0, 0.0, 1.0), (60.0, 0.0, 1.0), (-6.0, 0.0, 1.0)],
    "crystalball": [(-0.25, 1.9, 3.0, 0.0, 1.0), (-1e20, 1.9, 3.0, 0.0, 1.0)],
    "halflogistic": [(1e-20, 0.0, 1.0), (60.0, 0.0, 1.0)],
    "foldcauchy": [(1e-20, 0.6, 0.0, 1.0), (1e20, 0.6, 0.0, 1.0), (2.0, 0.6, 0.0, 1.0)],
    "foldnorm": [(1e-20, 0.6, 0.0, 1.0), (12.0, 0.6, 0.0, 1.0)],
    "alpha": [(0.1, 2.2, 0.0, 1.0), (1e20, 2.2, 0.0, 1.0)],
    "truncexpon": [(1e-20, 1.9, 0.0, 1.0), (1.0, 1.9, 0.0, 1.0)],
    "truncweibull_min": [(0.125, 1.6, 0.1, 1.9, 0.0, 1.0), (1.75, 1.6, 0.1, 1.9, 0.0, 1.0)],
    "genhalflogistic": [(1e-20, 0.6, 0.0, 1.0), (1.5, 0.1, 0.0, 1.0)],
    "anglit": [(0.75, 0.0, 1.0), (-0.75, 0.0, 1.0)],
    "bradford": [(0.875, 0.6, 0.0, 1.0), (1e-20, 0.6, 0.0, 1.0)],
    "arcsine": [(0.875, 0.0, 1.0), (1e-20, 0.0, 1.0)],
    "loguniform": [(2.5, 0.1, 2.9, 0.0, 1.0)],
    "cosine": [(3.125, 0.0, 1.0), (-3.125, 0.0, 1.0)],
    "wrapcauchy": [(5.5, 0.6, 0.0, 1.0), (1e-20, 0.6, 0.0, 1.0), (6.28, 0.6, 0.0, 1.0)],
    "nakagami": [(1e-160, 1.7, 0.0, 1.0)],
    "loggamma": [(-700.0, 2.2, 0.0, 1.0), (640.0, 2.2, 0.0, 1.0), (-650.0, 0.05, 0.0, 1.0)],
    "gengamma": [(1.75, 1.3, -0.8, 0.25, 2.0)],
    "truncpareto": [
        (4.25, -0.7, 4.5, 0.25, 2.0),
    ],
    "vonmises": [(6.75, 1.4, 0.25, 2.0), (-4.875, 0.7, 0.0, 1.5)],
}  # fmt: skip
# whose support or domain is that of their shapes; and of the light tail of skewnorm see `test_extremes`
FIXED = (
    "skewnorm", "triang", "truncnorm", "genextreme", "genpareto", "genhalflogistic", "pearson3", "skewcauchy",
    "wrapcauchy", "crystalball", "truncexpon", "truncweibull_min", "truncpareto", "loguniform", "reciprocal",
    "trapezoid",
)  # fmt: skip
MASS_POINTS = {
    "bernoulli": [(0.0, 0.3), (0.0, 1e-30)],
    "binom": [(3.0, 7.0, 0.3), (40.0, 50.0, 0.125), (0.0, 9.0, 1e-30)],
    "betabinom": [(3.0, 7.0, 2.2, 1.9), (0.0, 4.0, 0.02, 30.0), (40.0, 50.0, 0.5, 2.0)],
    "nbinom": [(3.0, 7.0, 0.3), (60.0, 0.5, 0.9), (0.0, 30.0, 0.2)],
    "betanbinom": [(3.0, 7.0, 2.2, 1.9), (20.0, 0.5, 3.0, 0.1)],
    "geom": [(3.0, 0.3), (40.0, 0.9), (1.0, 1e-9)],
    "poisson": [(3.0, 0.75), (0.0, 30.0), (50.0, 2.0), (4.0, 1e-9)],
    "zipf": [(3.0, 2.4), (1.0, 40.0), (30.0, 1.5), (2.0, 1.25)],
    "yulesimon": [(3.0, 1.7), (1.0, 30.0), (30.0, 0.5)],
    "hypergeom": [(2.0, 11.0, 4.0, 5.0), (3.0, 90.0, 40.0, 50.0)],
    "randint": [(1.0, -2.0, 6.0)],
    "dlaplace": [(3.0, 0.8), (-2.0, 1.7), (0.0, 0.6), (40.0, 5.0)],
    "planck": [(3.0, 0.8), (0.0, 30.0), (60.0, 0.02)],
    "boltzmann": [(3.0, 0.6, 7.0), (0.0, 5.0, 3.0), (60.0, 0.02, 90.0)],
    "logser": [(3.0, 0.6), (1.0, 1e-9), (40.0, 0.999), (90.0, 0.3), (1.0, 0.9)],
    "zipfian": [(3.0, 1.3, 9.0), (1.0, 0.2, 40.0), (30.0, 3.0, 90.0), (20.0, 1.0, 300.0), (200.0, 0.5, 300.0)],
    "skellam": [(3.0, 2.3, 1.4), (-20.0, 0.02, 30.0), (2.0, 300.0, 280.0), (0.0, 1e-9, 2.0)],
    "nhypergeom": [(2.0, 11.0, 4.0, 5.0), (0.0, 11.0, 4.0, 0.0), (3.0, 90.0, 40.0, 30.0)],
    "nchypergeom_fisher": [(2.0, 11.0, 4.0, 5.0, 1.3), (3.0, 90.0, 40.0, 30.0, 0.05), (1.0, 9.0, 3.0, 4.0, 90.0)],
}  # fmt: skip


def points_of(name):
    """(x, shapes, loc, scale), where x - loc is exact."""
    if name in MASS_POINTS:
        return [(k + 2.0 * (j == 0), *shapes, 2.0 * (j == 0)) for j, (k, *shapes) in enumerate(MASS_POINTS[name])]
    low, high = ENDS.get(name, (0.0, mp.inf))
    found = []
    for u, size in REGIMES:
        if name == "skewnorm" and abs(u) > 10.0:
            continue
        if name in ("gennorm", "recipinvgauss") and abs(u) < 1e-3:  # where second derivatives have few digits
            continue
        loc, scale = (0.0, 1.5) if abs(u) < 1e-3 else (0.25, 2.0)
        shapes = AT.get(name) or tuple(size * shape for shape in shapes_of(name))
        if name in FIXED:
            shapes = shapes_of(name)
        if low < u / (1.5 if loc == 0.0 else 1.0) < high:
            found.append((u if loc == 0.0 else loc + scale * u, *shapes, loc, scale))
    return found + FURTHER.get("loguniform" if name == "reciprocal" else name, [])


def scipys_function(name, method):
    """logpdf, logpmf, logcdf or logsf, by its definition."""
    kind = METHODS.index(method) if name in CONTINUOUS else MASS_METHODS.index(method)
    if name in DISCRETE:
        known = log_sum_of(MASSES[name], kind == 2, FIRST.get(name, 0)) if kind else MASSES[name]
        return lambda k, *args: known(k - args[-1], *args[:-1])
    if kind:
        return lambda x, *args: log_tail(name, kind == 2)((x - args[-2]) / args[-1], *args[:-2])
    return lambda x, *args: TAILS[name][0]((x - args[-2]) / args[-1], *args[:-2]) - mp.log(args[-1])


# ---- the table -------------------------------------------------------------------------------------------------------
def table():
    """(a name, the reference, the points) of every function."""
    for name, points in DENSITY_POINTS.items():
        yield f"stan.{name}", LOG_DENSITIES[name], points
    for name, points in STAN_POINTS.items():
        for upper, kind in enumerate(("lcdf", "lccdf")):
            yield f"stan.{name}_{kind}", stans_tail(name, bool(upper)), points
    log_logistic = placed(*STANDARD["loglogistic"], False)  # of which Stan has no logarithm
    yield "stan.loglogistic_cdf", lambda *args: mp.exp(log_logistic(*args)), [(1.7, 0.4, 1.4)]
    for name in BY_NAME:
        for method in METHODS if name in CONTINUOUS else MASS_METHODS:
            if not hasattr(BY_NAME[name], method):
                continue
            yield f"stats.{name}.{method}", scipys_function(name, method), points_of(name)


TABLE = {name: (reference, points) for name, reference, points in table()}
