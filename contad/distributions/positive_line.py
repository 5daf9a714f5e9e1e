"""Distributions on the positive half line, with Stan's parameters, or SciPy's if Stan does not have the distribution.

Each docstring begins with the formula; outside the domain of a parameter the value is nan, and outside the support
-inf.
"""

from contad.distributions.formula import LOG_2, LOG_PI, LOG_SQRT_TWO_PI, formula, where
from contad.ops.arithmetic import power
from contad.ops.bessel_functions import i0e
from contad.ops.beta_functions import betaln
from contad.ops.elementary import hypot
from contad.ops.entropies import xlogy
from contad.ops.exponential import exp, log, log1p
from contad.ops.gamma_functions import gammaln
from contad.ops.logic import select
from contad.ops.logistic import log1p_exp

OUTSIDE = "y < 0.0 or y == _inf"
BELOW = "y <= 0.0 or y == _inf"  # for densities that also vanish at 0


@formula(where("beta", outside=OUTSIDE), points=[(0.7, 1.4), (9.3, 0.6)])
def exponential_log_density(y, beta):
    """log beta - beta y.

    Ref: Johnson, Kotz & Balakrishnan (1994), chapter 19.
    """
    return log(beta) - beta * y


@formula(where("alpha beta", outside=OUTSIDE), points=[(0.7, 2.3, 1.4), (9.3, 0.6, 0.4)])
def gamma_log_density(y, alpha, beta):
    """alpha log beta - log Gamma(alpha) + (alpha - 1) log y - beta y.

    Ref: Johnson, Kotz & Balakrishnan (1994), chapter 17.
    """
    return xlogy(alpha - 1.0, y) - beta * y + alpha * log(beta) - gammaln(alpha)


@formula(where("alpha beta", outside=BELOW), points=[(0.7, 2.3, 1.4), (9.3, 0.6, 0.4)])
def inv_gamma_log_density(y, alpha, beta):
    """alpha log beta - log Gamma(alpha) - (alpha + 1) log y - beta / y.

    Ref: Gelman et al. (2013), appendix A.
    """
    return -(alpha + 1.0) * log(y) - beta / y + alpha * log(beta) - gammaln(alpha)


@formula(where("nu", outside=OUTSIDE), points=[(0.7, 2.3), (9.3, 5.6)])
def chi_square_log_density(y, nu):
    """(nu / 2 - 1) log y - y / 2 - nu / 2 log 2 - log Gamma(nu / 2).

    Ref: Johnson, Kotz & Balakrishnan (1994), chapter 18.
    """
    return xlogy(0.5 * nu - 1.0, y) - 0.5 * y - 0.5 * LOG_2 * nu - gammaln(0.5 * nu)


@formula(where("nu", outside=BELOW), points=[(0.7, 2.3), (9.3, 5.6)])
def inv_chi_square_log_density(y, nu):
    """-(nu / 2 + 1) log y - 1 / (2 y) - nu / 2 log 2 - log Gamma(nu / 2).

    Ref: Gelman et al. (2013), appendix A.
    """
    return -(0.5 * nu + 1.0) * log(y) - 0.5 / y - 0.5 * LOG_2 * nu - gammaln(0.5 * nu)


@formula(where("nu sigma", outside=BELOW), points=[(0.7, 2.3, 0.6), (9.3, 5.6, 1.7)])
def scaled_inv_chi_square_log_density(y, nu, sigma):
    """nu / 2 log(nu / 2) - log Gamma(nu / 2) + nu log sigma - (nu / 2 + 1) log y - nu sigma^2 / (2 y).

    Ref: Gelman et al. (2013), appendix A.
    """
    return inv_gamma_log_density(y, 0.5 * nu, 0.5 * nu * sigma * sigma)


@formula(where("sigma", outside=BELOW), points=[(0.7, -0.3, 1.4), (9.3, 0.4, 0.6)])
def lognormal_log_density(y, mu, sigma):
    """-log y - log sigma - log(2 pi) / 2 - ((log y - mu) / sigma)^2 / 2.

    Ref: Johnson, Kotz & Balakrishnan (1994), chapter 14.
    """
    logarithm = log(y)
    r = (logarithm - mu) / sigma
    return -0.5 * r * r - logarithm - log(sigma) - LOG_SQRT_TWO_PI


@formula(where("alpha sigma", outside=OUTSIDE), points=[(0.7, 2.3, 1.4), (9.3, 0.6, 0.4)])
def weibull_log_density(y, alpha, sigma):
    """log(alpha / sigma) + (alpha - 1) log(y / sigma) - (y / sigma)^alpha.

    Ref: Johnson, Kotz & Balakrishnan (1994), chapter 21.
    """
    r = y / sigma
    return xlogy(alpha - 1.0, r) - power(r, alpha) + log(alpha) - log(sigma)


@formula(where("alpha sigma", outside=BELOW), points=[(0.7, 2.3, 1.4), (9.3, 0.6, 0.4)])
def frechet_log_density(y, alpha, sigma):
    """log(alpha / sigma) - (alpha + 1) log(y / sigma) - (y / sigma)^-alpha.

    Ref: Johnson, Kotz & Balakrishnan (1995), chapter 22.
    """
    logarithm = log(y / sigma)
    return -(alpha + 1.0) * logarithm - exp(-alpha * logarithm) + log(alpha) - log(sigma)


@formula(where("sigma", outside=BELOW), points=[(0.7, 1.4), (9.3, 2.6)])
def rayleigh_log_density(y, sigma):
    """log y - 2 log sigma - (y / sigma)^2 / 2.

    Ref: Johnson, Kotz & Balakrishnan (1994), chapter 18.
    """
    r = y / sigma
    return -0.5 * r * r + log(r) - log(sigma)


@formula(where("y_min alpha", outside="y < y_min or y == _inf"), points=[(1.7, 0.4, 1.4), (9.3, 2.6, 0.3)])
def pareto_log_density(y, y_min, alpha):
    """log alpha + alpha log y_min - (alpha + 1) log y.

    Ref: Johnson, Kotz & Balakrishnan (1994), chapter 20.
    """
    return alpha * log(y_min / y) - log(y) + log(alpha)


@formula(where("rate alpha", outside="y < mu or y == _inf"), points=[(1.7, 0.4, 1.4, 2.2), (9.3, -2.6, 0.3, 0.7)])
def pareto_type_2_log_density(y, mu, rate, alpha):
    """log(alpha / rate) - (alpha + 1) log(1 + (y - mu) / rate).

    Ref: Johnson, Kotz & Balakrishnan (1994), chapter 20.
    """
    return -(alpha + 1.0) * log1p((y - mu) / rate) + log(alpha) - log(rate)


@formula(where("alpha beta", outside=OUTSIDE), points=[(1.7, 0.4, 1.4), (9.3, 2.6, 0.3)])
def loglogistic_log_density(y, alpha, beta):
    """log(beta / alpha) + (beta - 1) log(y / alpha) - 2 log(1 + (y / alpha)^beta).

    Ref: Johnson, Kotz & Balakrishnan (1995), chapter 23.
    """
    r = y / alpha
    return xlogy(beta - 1.0, r) - 2.0 * log1p_exp(beta * log(r)) + log(beta) - log(alpha)


@formula(where("mu lambda_", outside=BELOW), points=[(1.7, 0.4, 1.4), (9.3, 2.6, 0.3)])
def inverse_gaussian_log_density(y, mu, lambda_):
    """log(lambda / (2 pi y^3)) / 2 - lambda (y - mu)^2 / (2 mu^2 y).

    Ref: Johnson, Kotz & Balakrishnan (1994), chapter 15.
    """
    r = select(y < 0.5 * mu, y / mu - 1.0, (y - mu) / mu)  # the derivative in mu is of the size of y
    return -0.5 * lambda_ * r * (r / y) - 1.5 * log(y) + 0.5 * log(lambda_) - LOG_SQRT_TWO_PI


@formula(where("nu sigma", outside=OUTSIDE), points=[(1.7, 3.4, 1.4), (9.3, 2.6, 2.3)])
def chi_log_density(y, nu, sigma):
    """(nu - 1) log r - r^2 / 2 - (nu / 2 - 1) log 2 - log Gamma(nu / 2) - log sigma, with r = y / sigma.

    Ref: Johnson, Kotz & Balakrishnan (1994), chapter 18.
    """
    r = y / sigma
    return xlogy(nu - 1.0, r) - 0.5 * r * r - LOG_2 * (0.5 * nu - 1.0) - gammaln(0.5 * nu) - log(sigma)


@formula(where("sigma", outside=OUTSIDE), points=[(1.7, 1.4), (9.3, 2.3)])
def half_normal_log_density(y, sigma):
    """log 2 - (y / sigma)^2 / 2 - log sigma - log(2 pi) / 2.

    Ref: Johnson, Kotz & Balakrishnan (1994), chapter 13.
    """
    r = y / sigma
    return -0.5 * r * r - log(sigma) - LOG_SQRT_TWO_PI + LOG_2


@formula(where("sigma", outside=OUTSIDE), points=[(1.7, 1.4), (9.3, 2.3)])
def maxwell_log_density(y, sigma):
    """log(2 / pi) / 2 + 2 log r - r^2 / 2 - log sigma, with r = y / sigma.

    Ref: Johnson, Kotz & Balakrishnan (1994), chapter 18.
    """
    return chi_log_density(y, 3.0, sigma)


@formula(where("sigma", outside=OUTSIDE), points=[(1.7, 1.4), (9.3, 2.3)])
def half_cauchy_log_density(y, sigma):
    """log(2 / pi) - log sigma - log(1 + (y / sigma)^2).

    Ref: Gelman (2006).
    """
    return -2.0 * log(hypot(1.0, y / sigma)) - log(sigma) + LOG_2 - LOG_PI


@formula(where("alpha beta sigma", outside=OUTSIDE), points=[(1.7, 3.4, 1.4, 0.8), (9.3, 2.6, 2.3, 1.9)])
def beta_prime_log_density(y, alpha, beta, sigma):
    """(alpha - 1) log r - (alpha + beta) log(1 + r) - log B(alpha, beta) - log sigma, with r = y / sigma.

    Ref: Johnson, Kotz & Balakrishnan (1995), chapter 25.
    """
    r = y / sigma
    return xlogy(alpha - 1.0, r) - (alpha + beta) * log1p(r) - betaln(alpha, beta) - log(sigma)


@formula(where("m n sigma", outside=OUTSIDE), points=[(1.7, 3.4, 5.4, 0.8), (9.3, 2.6, 7.3, 1.9)])
def f_log_density(y, m, n, sigma):
    """m / 2 log r - (m + n) / 2 log(1 + r) - log y - log B(m / 2, n / 2), with r = m y / (n sigma).

    Ref: Johnson, Kotz & Balakrishnan (1995), chapter 27.
    """
    return beta_prime_log_density(y, 0.5 * m, 0.5 * n, sigma * n / m)


@formula(where("c d sigma", outside=OUTSIDE), points=[(1.7, 3.4, 1.4, 0.8), (9.3, 2.6, 0.3, 1.9)])
def burr_log_density(y, c, d, sigma):
    """log(c d / sigma) + (c d - 1) log r - (d + 1) log(1 + r^c), with r = y / sigma.

    Ref: Burr (1942).
    """
    r = y / sigma
    return xlogy(c * d - 1.0, r) - (d + 1.0) * log1p_exp(c * log(r)) + log(c) + log(d) - log(sigma)


@formula(where("c sigma", outside=OUTSIDE), points=[(1.7, 3.4, 0.8), (0.3, 0.6, 1.9)])
def loglaplace_log_density(y, c, sigma):
    """log(c / (2 sigma)) + (c - 1) log r below r = 1, -(c + 1) log r above, with r = y / sigma.

    Ref: Kozubowski & Podgorski (2003).
    """
    r = y / sigma
    return xlogy(select(r < 1.0, c - 1.0, -c - 1.0), r) + log(c) - log(sigma) - LOG_2


@formula(where("sigma", outside=BELOW), points=[(1.7, 3.4), (9.3, 0.6)])
def levy_log_density(y, sigma):
    """log(sigma / (2 pi)) / 2 - 3/2 log y - sigma / (2 y).

    Ref: Feller (1971), chapter VI.
    """
    return 0.5 * log(sigma) - 1.5 * log(y) - 0.5 * sigma / y - LOG_SQRT_TWO_PI


@formula(where("sigma", "b >= 0.0", BELOW), points=[(0.7, 1.3, 1.4), (9.3, 2.6, 2.1)])
def rice_log_density(y, b, sigma):
    """log r - (r - b)^2 / 2 + log(e^(-b r) I_0(b r)) - log sigma, with r = y / sigma.

    Ref: Rice (1945).
    """
    r = y / sigma
    d = r - b
    even = b == 0.0  # i0e depends on |x| and has no derivative there
    near = (0.25 * r * r - 0.5) * b * b - 0.5 * r * r
    return log(r) + select(even, near, log(i0e(select(even, 1.0, b * r))) - 0.5 * d * d) - log(sigma)
