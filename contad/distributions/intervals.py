"""Distributions on intervals, and those whose support depends on a shape parameter; outside the support the value is
-inf."""

from contad.distributions.formula import LOG_SQRT_TWO_PI, formula, where
from contad.ops.arithmetic import absolute
from contad.ops.beta_functions import betaln
from contad.ops.entropies import xlog1py, xlogy
from contad.ops.error_functions import log_ndtr
from contad.ops.exponential import exp, expm1, log, log1p
from contad.ops.hyperbolic import cosh
from contad.ops.logic import select
from contad.ops.logistic import log_diff_exp
from contad.ops.power_transforms import exprel, log1prel_derivative
from contad.ops.trigonometric import sin

UNIT = "y < 0.0 or y > 1.0"


@formula(
    where(valid="alpha < beta and y == y", outside="y < alpha or y > beta"), points=[(0.7, 0.3, 1.4), (-0.2, -2.4, 0.6)]
)
def uniform_log_density(y, alpha, beta):
    """-log(beta - alpha).

    Ref: Johnson, Kotz & Balakrishnan (1995), chapter 26.
    """
    return -log(beta - alpha)


@formula(where("alpha beta", outside=UNIT), points=[(0.7, 2.3, 1.4), (0.2, 0.4, 0.6)])
def beta_log_density(y, alpha, beta):
    """(alpha - 1) log y + (beta - 1) log(1 - y) - log B(alpha, beta).

    Ref: Johnson, Kotz & Balakrishnan (1995), chapter 25.
    """
    return xlogy(alpha - 1.0, y) + xlog1py(beta - 1.0, -y) - betaln(alpha, beta)


@formula(where("kappa", "0.0 < mu and mu < 1.0", UNIT), points=[(0.7, 0.3, 1.4), (0.2, 0.4, 5.6)])
def beta_proportion_log_density(y, mu, kappa):
    """(mu kappa - 1) log y + ((1 - mu) kappa - 1) log(1 - y) - log B(mu kappa, (1 - mu) kappa).

    Ref: Ferrari & Cribari-Neto (2004).
    """
    return beta_log_density(y, mu * kappa, (1.0 - mu) * kappa)


@formula(where(valid="0.0 <= c and c <= 1.0", outside=UNIT), points=[(0.7, 0.3), (0.2, 0.4)])
def triangular_log_density(y, c):
    """log 2 + log(y / c) below c, and log 2 + log((1 - y) / (1 - c)) above.

    Ref: Johnson, Kotz & Balakrishnan (1995), chapter 26.
    """
    rising = y < c or c == 1.0
    return log(2.0 * select(rising, y / select(rising, c, 1.0), (1.0 - y) / select(rising, 1.0, 1.0 - c)))


@formula(points=[(-0.3, 1.4, 1.7), (0.6, 0.8, 0.2)])
def log_normal_interval(low, high, width):
    """log(Phi(high) - Phi(low)), given width = high - low, which may have digits that low and high have lost.

    For a short interval it is the density in the middle times the width and a mean, by Gauss's rule with five nodes;
    for a long one the difference in the tail where both are smaller.

    Ref: DLMF 3.5.
    """
    short = width * (1.0 + absolute(0.5 * (low + high))) < 0.4
    m = select(short, 0.5 * (low + high), 0.0)
    h = select(short, 0.5 * width, 0.1)
    inner = exp(-0.14497459896284515 * h * h) * cosh(0.5384693101056831 * m * h)
    outer = exp(-0.4105809565927104 * h * h) * cosh(0.906179845938664 * m * h)
    mean = 0.28444444444444433 + 0.4786286704993663 * inner + 0.2369268850561893 * outer
    near = log(2.0 * h) - 0.5 * m * m - LOG_SQRT_TWO_PI + log(mean)
    right = low > 0.0
    least = select(short, -1.0, select(right, -high, low))
    most = select(short, 1.0, select(right, -low, high))
    return select(short, near, log_diff_exp(log_ndtr(most), log_ndtr(least)))


@formula(points=[(0.3,), (2.9,), (1e-5,)])
def less_sine(x):
    """x - sin x, for 0 <= x <= 2 pi: by x - sin x = 3 (x / 3 - sin(x / 3)) + 4 sin(x / 3)^3 thrice, whose terms are
    positive, and a series."""
    t = x / 27.0
    least = t * t * t / 6.0 * (1.0 - t * t / 20.0 * (1.0 - t * t / 42.0 * (1.0 - t * t / 72.0)))
    return 27.0 * least + 36.0 * sin(t) ** 3 + 12.0 * sin(3.0 * t) ** 3 + 4.0 * sin(9.0 * t) ** 3


@formula(where(valid="a < b", outside="y < a or y > b"), points=[(0.7, 0.3, 1.4), (-2.2, -2.4, 0.6)])
def truncated_normal_log_density(y, a, b):
    """-y^2 / 2 - log(2 pi) / 2 - log(Phi(b) - Phi(a)).

    Ref: Johnson, Kotz & Balakrishnan (1994), chapter 13.
    """
    return -0.5 * y * y - LOG_SQRT_TWO_PI - log_normal_interval(a, b, b - a)


@formula(points=[(0.7, 0.3), (1.2, -0.4)])
def log_ratio_of_extremes(y, c):
    """log(1 + c y) / c, and y for c = 0."""
    t = c * y
    far = absolute(t) > 0.5
    near = y * log1prel_derivative(0.0, select(far, 0.0, t))
    return select(far, log1p(select(far, t, 1.0)) / select(far, c, 1.0), near)


@formula(points=[(0.7, 0.3), (-1.2, -0.4), (2.3, 1.2)])
def growth_of_extremes(u, c):
    """(e^(c u) - 1) / c, and u for c = 0: the inverse of log_ratio_of_extremes."""
    t = c * select(absolute(u) > 1e308, select(u > 0.0, 1e300, -1e300), u)  # finite, because it multiplies a 0
    far = absolute(t) > 1.0
    return select(far, expm1(select(far, t, 1.0)) / select(far, c, 1.0), u * exprel(select(far, 0.0, t)))


@formula(where(valid="c == c", outside="y < 0.0 or y == _inf or 1.0 + c * y < 0.0"), points=[(0.7, 0.3), (1.2, -0.4)])
def generalised_pareto_log_density(y, c):
    """-(1 + 1 / c) log(1 + c y), and -y for c = 0.

    Ref: Pickands (1975).
    """
    t = c * y
    far = absolute(t) > 0.5
    near = -log_ratio_of_extremes(select(far, 0.0, y), c) - log1p(select(far, 0.0, t))
    return select(far, xlog1py(-1.0 - 1.0 / select(far, c, 1.0), select(far, t, 1.0)), near)


@formula(
    where(
        valid="c == c",
        outside="1.0 - c * y < 0.0 or y == _inf or y == -_inf or (c < 0.0 and 1.0 - c * y == 0.0)",
    ),
    points=[(0.7, 0.3), (1.2, -0.4), (2.1, 0.4)],
)
def generalised_extreme_log_density(y, c):
    """(1 / c - 1) log(1 - c y) - (1 - c y)^(1 / c), and the Gumbel density for c = 0.

    Ref: Jenkinson (1955).
    """
    t = -c * y
    far = absolute(t) > 0.5
    ratio = log_ratio_of_extremes(y, -c)
    near = -select(far, 0.0, ratio) - log1p(select(far, 0.0, t))
    return select(far, xlog1py(1.0 / select(far, c, 1.0) - 1.0, select(far, t, 1.0)), near) - exp(-ratio)
