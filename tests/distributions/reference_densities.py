"""Log densities and masses by their definitions, in mpmath, with Stan's parameters; and points in every regime."""

from mpmath import mp


def _student_t(y, nu, mu, sigma):
    core = mp.gamma((nu + 1) / 2) / mp.gamma(nu / 2) / mp.sqrt(nu * mp.pi) / sigma
    return mp.log(core * (1 + ((y - mu) / sigma) ** 2 / nu) ** (-(nu + 1) / 2))


def _logistic(y, mu, sigma):
    r = abs((y - mu) / sigma)  # the density is even
    return mp.log(mp.exp(-r) / (sigma * (1 + mp.exp(-r)) ** 2))


def _exp_mod_normal(y, mu, sigma, rate):
    return mp.log(
        rate / 2 * mp.exp(rate / 2 * (2 * mu + rate * sigma**2 - 2 * y))
        * mp.erfc((mu + rate * sigma**2 - y) / (mp.sqrt(2) * sigma))
    )  # fmt: skip


def _skew_normal(y, xi, omega, alpha):
    r = (y - xi) / omega
    return mp.log(2 / omega * mp.npdf(r) * mp.erfc(-alpha * r / mp.sqrt(2)) / 2)


def _skew_double_exponential(y, mu, sigma, tau):
    weight = tau if y > mu else 1 - tau
    return mp.log(2 * tau * (1 - tau) / sigma * mp.exp(-2 / sigma * weight * abs(y - mu)))


_gamma = lambda y, alpha, beta: mp.log(beta**alpha / mp.gamma(alpha) * y ** (alpha - 1)) - beta * y
_inv_gamma = lambda y, alpha, beta: mp.log(beta**alpha / mp.gamma(alpha) * y ** (-alpha - 1)) - beta / y
_beta = lambda y, alpha, beta: mp.log(y ** (alpha - 1) * (1 - y) ** (beta - 1) / mp.beta(alpha, beta))


def _neg_binomial_2(n, mu, phi):
    choose = mp.gamma(n + phi) / mp.gamma(phi) / mp.factorial(n)
    return mp.log(choose * (mu / (mu + phi)) ** n * (phi / (mu + phi)) ** phi)


def _beta_binomial(n, N, alpha, beta):
    return mp.log(mp.binomial(N, n) * mp.beta(n + alpha, N - n + beta) / mp.beta(alpha, beta))


def _beta_neg_binomial(n, r, alpha, beta):
    return mp.log(mp.gamma(n + r) / mp.factorial(n) / mp.gamma(r) * mp.beta(alpha + r, n + beta) / mp.beta(alpha, beta))


_expit = lambda x: 1 / (1 + mp.exp(-x))
LOG_DENSITIES = {
    "normal_lpdf": lambda y, mu, sigma: mp.log(mp.npdf(y, mu, sigma)),
    "std_normal_lpdf": lambda y: mp.log(mp.npdf(y)),
    "cauchy_lpdf": lambda y, mu, sigma: -mp.log(mp.pi * sigma * (1 + ((y - mu) / sigma) ** 2)),
    "student_t_lpdf": _student_t, "logistic_lpdf": _logistic,
    "double_exponential_lpdf": lambda y, mu, sigma: mp.log(mp.exp(-abs(y - mu) / sigma) / (2 * sigma)),
    "gumbel_lpdf": lambda y, mu, beta: -mp.log(beta) - (y - mu) / beta - mp.exp(-(y - mu) / beta),
    "exp_mod_normal_lpdf": _exp_mod_normal, "skew_normal_lpdf": _skew_normal,
    "skew_double_exponential_lpdf": _skew_double_exponential,
    "exponential_lpdf": lambda y, beta: mp.log(beta * mp.exp(-beta * y)), "gamma_lpdf": _gamma,
    "inv_gamma_lpdf": _inv_gamma, "chi_square_lpdf": lambda y, nu: _gamma(y, nu / 2, mp.mpf(1) / 2),
    "inv_chi_square_lpdf": lambda y, nu: _inv_gamma(y, nu / 2, mp.mpf(1) / 2),
    "scaled_inv_chi_square_lpdf": lambda y, nu, s: _inv_gamma(y, nu / 2, nu * s**2 / 2),
    "lognormal_lpdf": lambda y, mu, sigma: mp.log(mp.npdf(mp.log(y), mu, sigma) / y),
    "weibull_lpdf": lambda y, a, s: mp.log(a / s * (y / s) ** (a - 1)) - (y / s) ** a,
    "frechet_lpdf": lambda y, a, s: mp.log(a / s * (y / s) ** (-a - 1)) - (y / s) ** -a,
    "rayleigh_lpdf": lambda y, s: mp.log(y / s**2) - y**2 / (2 * s**2),
    "pareto_lpdf": lambda y, y_min, a: mp.log(a * y_min**a / y ** (a + 1)),
    "pareto_type_2_lpdf": lambda y, mu, rate, a: mp.log(a / rate * (1 + (y - mu) / rate) ** (-a - 1)),
    "loglogistic_lpdf": lambda y, a, b: mp.log(b / a * (y / a) ** (b - 1) / (1 + (y / a) ** b) ** 2),
    "uniform_lpdf": lambda y, a, b: -mp.log(b - a), "beta_lpdf": _beta,
    "beta_proportion_lpdf": lambda y, mu, kappa: _beta(y, mu * kappa, (1 - mu) * kappa),
    "von_mises_lpdf": lambda y, mu, k: mp.log(mp.exp(k * mp.cos(y - mu)) / (2 * mp.pi * mp.besseli(0, k))),
    "bernoulli_lpmf": lambda n, p: mp.log(p if n == 1 else 1 - p),
    "bernoulli_logit_lpmf": lambda n, a: mp.log(_expit(a if n == 1 else -a)),
    "binomial_lpmf": lambda n, N, theta: mp.log(mp.binomial(N, n) * theta**n * (1 - theta) ** (N - n)),
    "binomial_logit_lpmf": lambda n, N, a: mp.log(mp.binomial(N, n) * _expit(a) ** n * _expit(-a) ** (N - n)),
    "beta_binomial_lpmf": _beta_binomial,
    "poisson_lpmf": lambda n, rate: mp.log(rate**n / mp.factorial(n)) - rate,
    "poisson_log_lpmf": lambda n, a: n * a - mp.exp(a) - mp.log(mp.factorial(n)),
    "neg_binomial_lpmf": lambda n, a, b: _neg_binomial_2(n, a / b, a),
    "neg_binomial_2_lpmf": _neg_binomial_2,
    "neg_binomial_2_log_lpmf": lambda n, eta, phi: _neg_binomial_2(n, mp.exp(eta), phi),
    "beta_neg_binomial_lpmf": _beta_neg_binomial,
    "discrete_range_lpmf": lambda n, low, high: -mp.log(high - low + 1) if low <= n <= high else -mp.inf,
    "yule_simon_lpmf": lambda n, a: mp.log(a * mp.beta(n, a + 1)),
    "hypergeometric_lpmf": lambda n, N, a, b: mp.log(mp.binomial(a, n) * mp.binomial(b, N - n) / mp.binomial(a + b, N)),
}  # fmt: skip

_LINE = [(0.7, -0.3, 1.4), (-3.1, 0.4, 0.6), (0.3, 0.299, 2.7), (45.0, 1.3, 0.9), (-1e3, 3.0, 40.0), (1e-8, 0.0, 1e-6)]
_SHAPES = [(0.7, 2.3, 1.4), (9.3, 0.6, 0.4), (1e-5, 1.7, 3.1), (0.2, 40.0, 120.0), (60.0, 5.5, 0.31), (3e-3, 0.02, 0.8)]
POINTS = {
    "normal_lpdf": _LINE,
    "std_normal_lpdf": [(0.7,), (-3.1,), (38.0,), (1e-8,)],
    "cauchy_lpdf": [*_LINE, (1e15, 0.3, 1.7), (1e120, 0.3, 1.7)],
    "student_t_lpdf": [
        (0.7, 3.2, -0.3, 1.4), (-31.0, 0.7, 0.4, 0.6), (1e-7, 12.0, 0.0, 2.0), (2.3, 1e3, 0.4, 1.1),
        (1e9, 2.1, 0.4, 1.3), (1e120, 2.1, 0.4, 1.3),
    ],
    "logistic_lpdf": [*_LINE, (900.0, 0.5, 0.8)],
    "double_exponential_lpdf": _LINE,
    "gumbel_lpdf": [*_LINE[:4], (300.0, 0.4, 0.9), (-4.0, 0.4, 0.9)],
    "exp_mod_normal_lpdf": [
        (0.7, -0.3, 1.4, 0.8), (-9.1, 0.4, 0.6, 2.3), (25.0, 0.4, 0.6, 2.3), (0.7, 0.4, 3.0, 60.0),
        (1.7, 0.4, 3.0, 0.02),
    ],
    "skew_normal_lpdf": [(0.7, -0.3, 1.4, 2.1), (-9.1, 0.4, 0.6, 1.3), (9.1, 0.4, 0.6, -30.0), (0.41, 0.4, 0.6, 0.01)],
    "skew_double_exponential_lpdf": [(0.7, -0.3, 1.4, 0.3), (-9.1, 0.4, 0.6, 0.8), (90.0, 0.4, 0.6, 0.02)],
    "exponential_lpdf": [(0.7, 1.4), (9.3, 0.6), (1e-6, 3.0), (400.0, 20.0)],
    "gamma_lpdf": _SHAPES,
    "inv_gamma_lpdf": _SHAPES,
    "chi_square_lpdf": [(0.7, 2.3), (9.3, 5.6), (1e-6, 0.7), (300.0, 250.0)],
    "inv_chi_square_lpdf": [(0.7, 2.3), (9.3, 5.6), (1e-2, 0.7), (300.0, 25.0)],
    "scaled_inv_chi_square_lpdf": [(0.7, 2.3, 0.6), (9.3, 5.6, 1.7), (0.02, 31.0, 0.13)],
    "lognormal_lpdf": [(0.7, -0.3, 1.4), (9.3, 0.4, 0.6), (1e-30, 0.4, 2.6), (1e40, 50.0, 1.6)],
    "weibull_lpdf": [*_SHAPES[:3], (0.9, 40.0, 1.1)],
    "frechet_lpdf": [(0.7, 2.3, 1.4), (9.3, 0.6, 0.4), (1.7, 40.0, 1.1)],
    "rayleigh_lpdf": [(0.7, 1.4), (9.3, 2.6), (1e-7, 0.3), (300.0, 9.0)],
    "pareto_lpdf": [(1.7, 0.4, 1.4), (9.3, 2.6, 0.3), (1e10, 2.0, 20.0)],
    "pareto_type_2_lpdf": [(1.7, 0.4, 1.4, 2.2), (9.3, -2.6, 0.3, 0.7), (1e10, 2.0, 20.0, 0.2)],
    "loglogistic_lpdf": [(1.7, 0.4, 1.4), (9.3, 2.6, 0.3), (1e-5, 2.0, 3.7), (1e9, 0.4, 5.5)],
    "uniform_lpdf": [(0.7, 0.3, 1.4), (-0.2, -2.4, 0.6)],
    "beta_lpdf": [(0.7, 2.3, 1.4), (0.2, 0.4, 0.6), (1e-9, 0.3, 40.0), (0.51, 300.0, 280.0), (0.9999, 2.0, 0.2)],
    "beta_proportion_lpdf": [(0.7, 0.3, 1.4), (0.2, 0.4, 5.6), (0.03, 0.02, 150.0)],
    "von_mises_lpdf": [(0.7, -0.3, 1.4), (-3.1, 0.4, 0.6), (0.3, 2.9, 20.0), (2.2, -9.0, 3e-3), (0.51, 0.5, 900.0)],
    "bernoulli_lpmf": [(1.0, 0.3), (0.0, 0.4), (0.0, 1e-20), (1.0, 1e-20)],
    "bernoulli_logit_lpmf": [(1.0, 0.3), (0.0, 0.4), (1.0, -40.0), (0.0, -800.0), (1.0, 30.0)],
    "binomial_lpmf": [(3.0, 7.0, 0.3), (0.0, 4.0, 0.4), (5.0, 5.0, 0.7), (31000.0, 1e5, 0.3), (2.0, 900.0, 1e-7)],
    "binomial_logit_lpmf": [(3.0, 7.0, 0.3), (0.0, 4.0, -0.4), (5.0, 5.0, 2.7), (2.0, 90.0, -30.0)],
    "beta_binomial_lpmf": [(3.0, 7.0, 2.3, 1.7), (0.0, 4.0, 0.4, 0.9), (40.0, 100.0, 12.0, 19.0)],
    "poisson_lpmf": [(3.0, 2.4), (0.0, 1.3), (1e6, 1.001e6), (12.0, 1e-8), (0.0, 1e-30)],
    "poisson_log_lpmf": [(3.0, 0.4), (0.0, -1.3), (1000.0, 6.9), (3.0, -50.0)],
    "neg_binomial_lpmf": [(3.0, 2.4, 0.7), (0.0, 1.3, 2.1), (200.0, 14.0, 0.07)],
    "neg_binomial_2_lpmf": [(3.0, 2.4, 0.7), (0.0, 1.3, 2.1), (200.0, 180.0, 12.0), (5.0, 4.0, 0.01)],
    "neg_binomial_2_log_lpmf": [(3.0, 0.4, 0.7), (0.0, -1.3, 2.1), (200.0, 5.2, 12.0), (5.0, -20.0, 0.4)],
    "beta_neg_binomial_lpmf": [(3.0, 2.4, 0.7, 1.3), (0.0, 1.3, 2.1, 0.4), (40.0, 12.0, 3.1, 9.4)],
    "discrete_range_lpmf": [(3.0, 1.0, 7.0), (-2.0, -4.0, 4.0), (0.0, 0.0, 1e9)],
    "yule_simon_lpmf": [(3.0, 2.4), (1.0, 1.3), (400.0, 0.6)],
    "hypergeometric_lpmf": [(2.0, 4.0, 5.0, 6.0), (30.0, 90.0, 60.0, 140.0)],
}  # fmt: skip
