"""Logarithms of probabilities in the tails of distributions with (nearly) elementary functions.

A small probability is a power or an exponential there. Its logarithm is written directly, because the number itself, or
a square on the way to it, would underflow.
"""

from contad.distributions.formula import LOG_PI, formula
from contad.ops.arithmetic import absolute
from contad.ops.beta_functions import betaln
from contad.ops.entropies import log1pmx
from contad.ops.exponential import exp, log, log1p
from contad.ops.gamma_functions import polygamma_difference
from contad.ops.logic import select
from contad.ops.logistic import log1m_exp, log1p_exp
from contad.ops.power_transforms import exprel
from contad.ops.trigonometric import arctan

FAR = 1e100  # t over the square root of its degrees of freedom; beyond it, 1 is negligible compared with the square


@formula(points=[(0.3, -1.2), (2.6, 0.9)])
def log_complement(t, logarithm):
    """log(1 - e^-t) from t and its logarithm, which is needed if t underflows."""
    near = t < 0.5
    small = logarithm + log(exprel(-select(near, t, 0.5)))
    return select(near, small, log1m_exp(-select(near, 0.5, t)))


@formula(points=[(0.7,), (55.0,)])
def log_log1p_exp(x):
    """log log(1 + e^-x)."""
    far = x > 40.0
    return select(far, -x, log(log1p_exp(-select(far, 0.0, x))))


@formula(points=[(0.7,), (-3.1,), (31.0,)])
def log_upper_cauchy(r):
    """log(arctan(1 / r) / pi) for r above 1, and its continuation elsewhere: the upper tail of a standard Cauchy
    number."""
    far = absolute(r) > 1.0
    tail = log(arctan(1.0 / select(far, absolute(r), 1.0))) - LOG_PI
    middle = log(0.5 - arctan(select(far, 0.0, r)) / 3.141592653589793)
    return select(far, select(r > 0.0, tail, log1p(-exp(tail))), middle)


@formula(points=[(0.7,), (31.0,)])
def log_lower_half_cauchy(r):
    """log(2 arctan(r) / pi), for r > 0."""
    far = r > 1.0
    above = arctan(1.0 / select(far, r, 1.0)) / 1.5707963267948966
    return select(far, log1p(-above), log(arctan(select(far, 1.0, r)) / 1.5707963267948966))


@formula(points=[(0.7,), (31.0,)])
def log_upper_half_cauchy(r):
    """log(2 arctan(1 / r) / pi), for r > 0."""
    far = r > 1.0
    below = arctan(select(far, 1.0, r)) / 1.5707963267948966
    return select(far, log(arctan(1.0 / select(far, r, 1.0)) / 1.5707963267948966), log1p(-below))


@formula(points=[(3.2, 1e120), (0.7, 1e150)])
def log_far_student(nu, r):
    """The logarithm of the upper tail of Student's t if r^2 is vastly larger than nu."""
    return nu * (0.5 * log(nu) - log(r)) - log(nu) - betaln(0.5 * nu, 0.5)


@formula(points=[(3.2, 1e120), (0.7, 1e150)])
def log_far_student_by_freedom(nu, r):
    """The derivative of log_far_student in nu."""
    return 0.5 * log(nu) - log(r) + 0.5 - 1.0 / nu + 0.5 * polygamma_difference(0.0, 0.5 * nu, 0.5)


@formula(points=[(0.7,), (-0.3,), (0.01,)])
def log1pmx_rate(u):
    """(log(1 + u) - u) / u^2, by its series near 0."""
    near = absolute(u) < 0.05
    t = select(near, u, 0.0)
    last = 1.0 / 9.0 - t * (1.0 / 10.0 - t * (1.0 / 11.0 - t * (1.0 / 12.0 - t / 13.0)))
    middle = 1.0 / 6.0 - t * (1.0 / 7.0 - t * (1.0 / 8.0 - t * last))
    series = 1.0 / 3.0 - t * (1.0 / 4.0 - t * (1.0 / 5.0 - t * middle))
    far = select(near, 1.0, u)
    return select(near, t * series - 0.5, log1pmx(far) / (far * far))
