"""Distributions on the whole line, with Stan's parameters.

Each docstring begins with the formula; outside the domain of a parameter the value is nan, and at infinite y it is
-inf.
"""

import math

from contad.distributions.formula import LOG_2, LOG_PI, LOG_SQRT_TWO_PI, formula, unlisted_rule, where
from contad.distributions.incomplete_logarithms import beta_hazard, beta_part_ratio
from contad.distributions.relative_quantiles import log_beta_odds
from contad.distributions.tail_logarithms import FAR, log_far_student, log_far_student_by_freedom
from contad.ops.arithmetic import absolute, power
from contad.ops.beta_functions import betaln
from contad.ops.elementary import sqrt
from contad.ops.error_functions import erfcx, log_ndtr, ndtr, ndtri
from contad.ops.exponential import exp, log, log1p
from contad.ops.hyperbolic import cosh
from contad.ops.incomplete_beta import beta_density, betainc, betainc_derivative, betaincc, betainccinv, betaincinv
from contad.ops.logic import select

SQRT_HALF = 0.7071067811865476
MIDDLE = 1e-50  # t over the square root of its degrees of freedom; below it Student's probability is linear
NORMAL = 1e30  # degrees of freedom beyond which Student's t distribution is the normal one, to rounding
INFINITE = "y == _inf or y == -_inf"


@formula(where("sigma", outside=INFINITE), points=[(0.7, -0.3, 1.4), (-3.1, 0.4, 0.6)])
def normal_log_density(y, mu, sigma):
    """-r^2 / 2 - log sigma - log(2 pi) / 2, with r = (y - mu) / sigma.

    Ref: Johnson, Kotz & Balakrishnan (1994), chapter 13.
    """
    r = (y - mu) / sigma
    return -0.5 * r * r - log(sigma) - LOG_SQRT_TWO_PI


@formula(where(outside=INFINITE), points=[(0.7,), (-3.1,)])
def std_normal_log_density(y):
    """-y^2 / 2 - log(2 pi) / 2.

    Ref: Johnson, Kotz & Balakrishnan (1994), chapter 13.
    """
    return -0.5 * y * y - LOG_SQRT_TWO_PI


@formula(points=[(0.7, 0.98, 0.3), (-31.0, -18.6, -0.5)])
def log_one_plus_square(r, distance, scale):
    """log(1 + r^2), with r = distance / e^scale.

    Beyond r = 1 it is 2 log r plus a small rest; far beyond, log r is log distance minus the scale, because derivatives
    of the quotient underflow there.
    """
    near = absolute(r) < 1.0
    far = absolute(r) > 1e100
    inverse = select(far, 0.0, 1.0 / select(near or far, 1.0, r))
    s = select(near, r, inverse)
    large = log(absolute(select(far, distance, select(near, 1.0, r)))) - select(far, scale, 0.0)
    return log1p(s * s) + 2.0 * large


@formula(where("sigma", outside=INFINITE), points=[(0.7, -0.3, 1.4), (-31.0, 0.4, 0.6)])
def cauchy_log_density(y, mu, sigma):
    """-log(1 + r^2) - log sigma - log pi, with r = (y - mu) / sigma.

    Ref: Johnson, Kotz & Balakrishnan (1994), chapter 16.
    """
    distance = y - mu
    scale = log(sigma)
    return -log_one_plus_square(distance / sigma, distance, scale) - scale - LOG_PI


@formula(where("nu sigma", outside=INFINITE), points=[(0.7, 3.2, -0.3, 1.4), (-31.0, 0.7, 0.4, 0.6)])
def student_t_log_density(y, nu, mu, sigma):
    """-(nu + 1) / 2 log(1 + r^2 / nu) - log B(1/2, nu / 2) - log(nu) / 2 - log sigma, with r = (y - mu) / sigma.

    Ref: Johnson, Kotz & Balakrishnan (1995), chapter 28.
    """
    distance = y - mu
    scale = 0.5 * log(nu) + log(sigma)
    tail = log_one_plus_square(distance / sigma / sqrt(nu), distance, scale)
    return -0.5 * (nu + 1.0) * tail - betaln(0.5, 0.5 * nu) - scale


@formula(where("sigma", outside=INFINITE), points=[(0.7, -0.3, 1.4), (-31.0, 0.4, 0.6)])
def logistic_log_density(y, mu, sigma):
    """-2 log(2 cosh(r / 2)) - log sigma, with r = (y - mu) / sigma.

    Ref: Johnson, Kotz & Balakrishnan (1995), chapter 23.
    """
    r = (y - mu) / sigma
    far = absolute(r) > 80.0
    near = -2.0 * log(cosh(0.5 * select(far, 0.0, r))) - 2.0 * LOG_2
    return select(far, -absolute(r), near) - log(sigma)


@formula(where("sigma", outside=INFINITE), points=[(0.7, -0.3, 1.4), (-31.0, 0.4, 0.6)])
def double_exponential_log_density(y, mu, sigma):
    """-|y - mu| / sigma - log(2 sigma).

    Ref: Johnson, Kotz & Balakrishnan (1995), chapter 24.
    """
    return -absolute((y - mu) / sigma) - log(sigma) - LOG_2


@formula(where("beta", outside=INFINITE), points=[(0.7, -0.3, 1.4), (-3.1, 0.4, 0.6)])
def gumbel_log_density(y, mu, beta):
    """-r - e^-r - log beta, with r = (y - mu) / beta.

    Ref: Johnson, Kotz & Balakrishnan (1995), chapter 22.
    """
    r = (y - mu) / beta
    return -r - exp(-r) - log(beta)


@formula(where("sigma rate", outside=INFINITE), points=[(0.7, -0.3, 1.4, 0.8), (-9.1, 0.4, 0.6, 2.3)])
def exp_mod_normal_log_density(y, mu, sigma, rate):
    """log rate + (rate sigma)^2 / 2 - rate (y - mu) + log Phi(r - rate sigma), with r = (y - mu) / sigma.

    Below the point r = rate sigma, Phi is written with erfcx, and its exponential cancels.

    Ref: Grushka (1972).
    """
    r = (y - mu) / sigma
    t = rate * sigma
    u = r - t
    below = u < 0.0
    lower = -0.5 * r * r + log(0.5 * erfcx(-SQRT_HALF * select(below, u, 0.0)))
    return log(rate) + select(below, lower, t * (0.5 * t - r) + log_ndtr(select(below, 0.0, u)))


@formula(where("omega", outside=INFINITE), points=[(0.7, -0.3, 1.4, 2.1), (-9.1, 0.4, 0.6, 1.3)])
def skew_normal_log_density(y, xi, omega, alpha):
    """log 2 - r^2 / 2 - log omega - log(2 pi) / 2 + log Phi(alpha r), with r = (y - xi) / omega.

    Ref: Azzalini (1985).
    """
    r = (y - xi) / omega
    return -0.5 * r * r + log_ndtr(alpha * r) - log(omega) + LOG_2 - LOG_SQRT_TWO_PI


@formula(where("sigma", "0.0 <= tau and tau <= 1.0", INFINITE), points=[(0.7, -0.3, 1.4, 0.3), (-9.1, 0.4, 0.6, 0.8)])
def skew_double_exponential_log_density(y, mu, sigma, tau):
    """log(2 tau (1 - tau) / sigma) - 2 w |y - mu| / sigma, where w = tau above mu and 1 - tau below.

    Ref: Yu & Zhang (2005).
    """
    r = (y - mu) / sigma
    return LOG_2 + log(tau) + log1p(-tau) - log(sigma) - 2.0 * select(r < 0.0, (tau - 1.0) * r, tau * r)


@unlisted_rule(points=[(3.2, 0.7), (1.4, -2.6), (40.0, 0.01)])
def student_cdf(nu, r):
    """The distribution function of Student's t, by the incomplete beta function at the smaller of two arguments.

    Its derivative in r is the density; in nu, above and below the middle, it is that of the incomplete beta function.
    """
    if not nu > 0.0 or r != r:
        return math.nan
    if nu > NORMAL:
        return ndtr.function(r)
    s = r / math.sqrt(nu)
    if abs(s) > FAR:
        far = math.exp(log_far_student.function(nu, abs(r))) if nu < math.inf and abs(r) < math.inf else 0.0
        return far if r < 0.0 else 1.0 - far
    w = 1.0 / (1.0 + s * s)
    twice = betainc.function(0.5 * nu, 0.5, w) if w < 0.5 else betaincc.function(0.5, 0.5 * nu, s * s * w)
    tail = 0.5 * twice
    return tail if r < 0.0 else 1.0 - tail


@student_cdf.partials
def student_cdf_partials(z, nu, r):
    nearly = select(nu > NORMAL, NORMAL, nu)
    return student_cdf_by_freedom(nu, r), exp(student_t_log_density(r, nearly, 0.0, 1.0))


@formula(points=[(3.2, 0.7), (1.4, -2.6)])
def student_cdf_by_freedom(nu, r):
    """The derivative of student_cdf in nu; for huge nu that of the first term of the difference from the normal
    distribution."""
    huge = nu > 1e12
    normal = huge and absolute(r) < 40.0
    x = select(normal, r, 0.0)
    from_normal = exp(-0.5 * x * x - LOG_SQRT_TWO_PI) * x * (x * x + 1.0) / (4.0 * nu * nu)
    return select(huge, from_normal, moderate_student_cdf_by_freedom(select(huge, 1.0, nu), r))


@formula(points=[(3.2, 0.7), (1.4, -2.6)])
def moderate_student_cdf_by_freedom(nu, r):
    """The derivative of student_cdf in nu, up to 1e12."""
    root = sqrt(nu)
    beyond = absolute(r) > FAR * root
    middle = absolute(r) < MIDDLE * root
    near = select(beyond, 1.0, select(middle, MIDDLE * root, r))
    distant = select(beyond, absolute(r), FAR)
    s = near * near / nu
    w = 1.0 / (1.0 + s)
    far = w < 0.5
    x = select(far, 0.5, s * w)
    u = select(far, w, 0.25)
    slope = s * w * w / nu  # dw/dnu
    outer = 0.5 * betainc_derivative(1.0, 0.0, 0.5 * nu, 0.5, u) + beta_density(0.0, 0.0, 0.5 * nu, 0.5, u) * slope
    inner = 0.5 * betainc_derivative(0.0, 1.0, 0.5, 0.5 * nu, x) - beta_density(0.0, 0.0, 0.5, 0.5 * nu, x) * slope
    below = 0.5 * select(far, outer, -inner)  # derivative of the tail
    vanishing = exp(log_far_student(nu, distant)) * log_far_student_by_freedom(nu, distant)
    tail = select(beyond, vanishing, below)
    return select(middle, -r / near * tail, select(r < 0.0, tail, -tail))


@unlisted_rule(points=[(3.2, 0.7), (1.4, 0.02)])
def student_quantile(nu, p):
    """The quantile of Student's t at the probability p, by the smaller of two tails."""
    if not (nu > 0.0 and 0.0 <= p <= 1.0):
        return math.nan
    if p * (1.0 - p) == 0.0:
        return math.inf if p > 0.5 else -math.inf
    if nu > NORMAL:
        return ndtri.function(p)
    tail, inner = 2.0 * min(p, 1.0 - p), abs(1.0 - 2.0 * p)
    if tail < inner:
        logarithm = 0.5 * (math.log(nu) - log_beta_odds.function(0.5 * nu, 0.5, tail))
        t = math.exp(logarithm) if logarithm < 709.7 else math.inf
    else:
        v, w = betaincinv.function(0.5, 0.5 * nu, inner), betainccinv.function(0.5 * nu, 0.5, inner)
        t = math.sqrt(nu * (v / w))
    return t if p >= 0.5 else -t


@student_quantile.partials
def student_quantile_partials(z, nu, p):
    nearly = select(nu > NORMAL, NORMAL, nu)
    logarithm = student_t_log_density(z, nearly, 0.0, 1.0)
    r = absolute(z)
    root = sqrt(nearly)
    far = r > root
    beyond = r > FAR * root
    odds = power(root / select(far and not beyond, r, root), 2.0)
    freedom = select(far, nearly, 1.0)
    hazard = beta_hazard(0.5 * freedom, 0.5, odds)
    relative = 0.25 * beta_part_ratio(1.0, 0.0, 0.5 * freedom, 0.5, odds) / hazard + 0.5 / freedom
    last = log_far_student_by_freedom(freedom, select(beyond, r, FAR * root)) / freedom
    near = -student_cdf_by_freedom(nu, select(far, 0.0, z)) * exp(-select(far, 0.0, logarithm))
    return select(far, z * select(beyond, last, relative), near), exp(-logarithm)
