"""Airy functions of real numbers and their derivatives."""

import math

from contad.ops._scipy import part_of_special, special
from contad.ops.bessel_integrals import kve_derivative
from contad.ops.elementary import sqrt
from contad.ops.exponential import exp
from contad.ops.logic import select
from contad.rules.numpy_functions import stands_for
from contad.rules.scalar_rule import scalar_rule

SQRT_3 = math.sqrt(3.0)


@scalar_rule(array=part_of_special("airy", 0), points=[(0.7,), (-1.6,)])
def airy_ai(x):
    """Airy function Ai, the first result of scipy.special.airy.

        z = Ai(x),     dz/dx = Ai'(x)

    Ref:     DLMF 9.2; beyond 1, where SciPy loses digits, dz/dx is K of order 2/3 by DLMF 9.6.3.

    >>> round(airy_ai(1.0), 12)
    0.135292416313
    """
    return float(special().airy(x)[0])


@airy_ai.partials
def airy_ai_partials(z, x):
    is_far = x > 1.0
    y = select(is_far, x, 1.0)
    w = 2.0 / 3.0 * y * sqrt(y)
    far = -y / (math.pi * SQRT_3) * exp(-w) * kve_derivative(0.0, 0.0, 2.0 / 3.0, w)
    return select(is_far, far, airy_aip(x))


@scalar_rule(array=part_of_special("airy", 1), points=[(0.7,), (-1.6,)])
def airy_aip(x):
    """The derivative of the Airy function Ai, the second result of scipy.special.airy.

        z = Ai'(x),     dz/dx = x Ai(x)

    Ref:     DLMF 9.2.1; beyond 1, where SciPy loses digits, Ai is K of order 1/3 by DLMF 9.6.2.

    >>> round(airy_aip(1.0), 12)
    -0.159147441297
    """
    return float(special().airy(x)[1])


@airy_aip.partials
def airy_aip_partials(z, x):
    is_far = x > 1.0
    y = select(is_far, x, 1.0)
    w = 2.0 / 3.0 * y * sqrt(y)
    far = y * sqrt(y) / (math.pi * SQRT_3) * exp(-w) * kve_derivative(0.0, 0.0, 1.0 / 3.0, w)
    return select(is_far, far, x * airy_ai(x))


@scalar_rule(array=part_of_special("airy", 2), points=[(0.7,), (-1.6,)])
def airy_bi(x):
    """Airy function Bi, the third result of scipy.special.airy.

        z = Bi(x),     dz/dx = Bi'(x)

    Ref:     DLMF 9.2.

    >>> round(airy_bi(1.0), 12)
    1.207423594953
    """
    return float(special().airy(x)[2])


@airy_bi.partials
def airy_bi_partials(z, x):
    return airy_bip(x)


@scalar_rule(array=part_of_special("airy", 3), points=[(0.7,), (-1.6,)])
def airy_bip(x):
    """The derivative of the Airy function Bi, the fourth result of scipy.special.airy.

        z = Bi'(x),     dz/dx = x Bi(x)

    Ref:     DLMF 9.2.1.

    >>> round(airy_bip(1.0), 12)
    0.932435933393
    """
    return float(special().airy(x)[3])


@airy_bip.partials
def airy_bip_partials(z, x):
    return x * airy_bi(x)


@stands_for("airy")
def airy(x):
    """Airy functions: Ai, Ai', Bi, Bi'.

        z = Ai(x), Ai'(x), Bi(x), Bi'(x)

    Domain:  every x.
    Ref:     DLMF 9.2.

    >>> [round(z, 6) for z in airy(1.0)]
    [0.135292, -0.159147, 1.207424, 0.932436]
    """
    return airy_ai(x), airy_aip(x), airy_bi(x), airy_bip(x)
