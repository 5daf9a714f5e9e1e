"""Spence's function, and the real branches of Lambert's W."""

import math

import numpy as np

from contad.errors import UnsupportedError
from contad.ops._scipy import special
from contad.ops.exponential import exp, log
from contad.ops.logic import select
from contad.ops.power_transforms import log1prel_derivative
from contad.rules.numpy_functions import stands_for
from contad.rules.scalar_rule import scalar_rule

# -1/e is the sum of these two numbers
BRANCH, BRANCH_REST = -0.36787944117144233, 1.2428753672788363e-17


@scalar_rule(ufunc="scipy.special.spence", points=[(0.7,), (4.3,)])
def spence(x):
    """Spence's function, the dilogarithm of 1 - x.

        z = int_1^x log(t) / (1 - t) dt,     dz/dx = log(x) / (1 - x), -1 at 1

    Domain:  x >= 0; nan below.
    Ref:     DLMF 25.12.2.

    >>> round(spence(0.5), 12)
    0.582240526465
    """
    return float(special().spence(x))


@spence.partials
def spence_partials(z, x):
    small = x < 0.5
    near = select(small, 1.0, x) - 1.0
    return select(small, log(x) / (1.0 - x), -log1prel_derivative(0.0, near))


@scalar_rule(points=[(0.7,), (-0.2,), (12.3,)])
def lambert_w0(x):
    """The upper real branch of Lambert's W; the real part of scipy.special.lambertw(x).

        z = w >= -1 where w e^w = x,     dz/dx = e^-z / (1 + z), and z / (x (1 + z)) beyond 1

    Domain:  x >= -1/e, where dz/dx = inf; nan below.
    Ref:     DLMF 4.13.1, 4.13.6; Halley's method.

    >>> round(lambert_w0(1.0), 12)
    0.56714329041
    """
    if math.isnan(x) or x < BRANCH:
        return math.nan
    if x in (0.0, math.inf):
        return x
    p = math.sqrt(2.0 * math.e * max((x - BRANCH) + -BRANCH_REST, 0.0))
    if p < 1e-3:
        return _near_branch(p)
    if x < 3.0:
        w = p / (1.0 + p / 3.0) - 1.0 + 0.15 * p * p / (1.0 + p) if x < 0.5 else 0.6 * math.log1p(x) + 0.1
    else:
        w = math.log(x) - math.log(math.log(x))
    return _by_halley(w, x)


@lambert_w0.partials
def lambert_w0_partials(z, x):
    is_large = x > 1.0
    return select(is_large, z / select(is_large, x, 1.0), exp(-z)) / (1.0 + z)


@scalar_rule(points=[(-0.2,), (-0.013,), (-0.35,)])
def lambert_wm1(x):
    """The lower real branch of Lambert's W; the real part of scipy.special.lambertw(x, -1).

        z = w <= -1 where w e^w = x,     dz/dx = z / (x (1 + z))

    Domain:  -1/e <= x < 0, where dz/dx = -inf at -1/e; z = -inf at 0, nan elsewhere.
    Ref:     DLMF 4.13.1, 4.13.11; Halley's method.

    >>> round(lambert_wm1(-0.1), 12)
    -3.577152063957
    """
    if not BRANCH <= x <= 0.0:
        return math.nan
    if x == 0.0:
        return -math.inf
    p = math.sqrt(2.0 * math.e * max((x - BRANCH) + -BRANCH_REST, 0.0))
    if p < 1e-3:
        return _near_branch(-p)
    if x < -0.1:
        return _by_halley(-1.0 - p - p * p / 3.0 - 0.2 * p * p * p, x)
    logarithm = math.log(-x)
    w = logarithm - math.log(-logarithm)
    for _ in range(100):  # Newton's method on w + log(-w) = log(-x), where e^w may underflow
        step = (w + math.log(-w) - logarithm) / (1.0 + 1.0 / w)
        w -= step
        if abs(step) < 1e-16 * abs(w):
            break
    return w


@lambert_wm1.partials
def lambert_wm1_partials(z, x):
    return z / x / (1.0 + z)


@scalar_rule(ufunc="scipy.special.wrightomega", points=[(0.7,), (-1.6,), (12.3,)])
def wrightomega(x):
    """Wright's omega function, Lambert's W of e^x.

        z = w where w + log w = x,     dz/dx = z / (1 + z)

    Domain:  every real x; z = 0 at -inf and inf at inf.
    Ref:     Corless and Jeffrey (2002).

    >>> round(wrightomega(1.0), 12)
    1.0
    """
    return float(special().wrightomega(x))


@wrightomega.partials
def wrightomega_partials(z, x):
    return z / (1.0 + z)


@stands_for("_lambertw")
def lambertw(x, k=0, tol=1e-8):
    """A real branch of Lambert's W, 0 or -1; on variables it is a real number, where SciPy's is complex.

    >>> round(lambertw(-0.1, -1), 12)
    -3.577152063957
    """
    if np.ndim(k) or k not in (0, -1):
        raise UnsupportedError(f"lambertw: on variables k must be 0 or -1, the branches with real values; got {k!r}")
    return lambert_w0(x) if k == 0 else lambert_wm1(x)


def _near_branch(p):
    return -1.0 + p * (1.0 - p * (1.0 / 3.0 - p * (11.0 / 72.0 - p * (43.0 / 540.0 - p * (769.0 / 17280.0)))))


def _by_halley(w, x):
    for _ in range(50):
        e = math.exp(w)
        f = w * e - x
        step = f / (e * (w + 1.0) - 0.5 * (w + 2.0) * f / (w + 1.0))
        w -= step
        if abs(step) <= 1e-16 * abs(w):
            break
    return w
