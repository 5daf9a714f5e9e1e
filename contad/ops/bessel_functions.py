"""Bessel functions, with derivatives in the order as well."""

import math

from contad.ops._scipy import special
from contad.ops.arithmetic import absolute
from contad.ops.bessel_integrals import ive_derivative, jv_derivative, kve_derivative, yv_derivative
from contad.ops.exponential import exp
from contad.ops.logic import select
from contad.ops.rounding import sign
from contad.ops.trigonometric import cos
from contad.rules.scalar_rule import scalar_rule


@scalar_rule(ufunc="scipy.special.j0", points=[(0.7,), (-4.3,)])
def j0(x):
    """Bessel function of the first kind of order 0.

        z = J_0(x),     dz/dx = -j1(x)

    Domain:  every x.
    Ref:     DLMF 10.2.2, 10.6.3.

    >>> round(j0(1.5), 12)
    0.511827671736
    """
    return float(special().j0(x))


@j0.partials
def j0_partials(z, x):
    return -j1(x)


@scalar_rule(ufunc="scipy.special.j1", points=[(0.7,), (-4.3,)])
def j1(x):
    """Bessel function of the first kind of order 1.

        z = J_1(x),     dz/dx = (j0(x) - jv(2, x)) / 2

    Domain:  every x.
    Ref:     DLMF 10.2.2, 10.6.1.

    >>> round(j1(1.5), 12)
    0.55793650791
    """
    return float(special().j1(x))


@j1.partials
def j1_partials(z, x):
    return 0.5 * (j0(x) - jv(2.0, x))


@scalar_rule(ufunc="scipy.special.y0", points=[(0.7,), (4.3,)])
def y0(x):
    """Bessel function of the second kind of order 0.

        z = Y_0(x),     dz/dx = -y1(x)

    Domain:  x > 0; z = -inf at 0 and nan below.
    Ref:     DLMF 10.2.3, 10.6.3.

    >>> round(y0(1.5), 12)
    0.382448923798
    """
    return float(special().y0(x))


@y0.partials
def y0_partials(z, x):
    return -y1(x)


@scalar_rule(ufunc="scipy.special.y1", points=[(0.7,), (4.3,)])
def y1(x):
    """Bessel function of the second kind of order 1.

        z = Y_1(x),     dz/dx = (y0(x) - yv(2, x)) / 2

    Domain:  x > 0; z = -inf at 0 and nan below.
    Ref:     DLMF 10.2.3, 10.6.1.

    >>> round(y1(1.5), 12)
    -0.412308626974
    """
    return float(special().y1(x))


@y1.partials
def y1_partials(z, x):
    return 0.5 * (y0(x) - yv(2.0, x))


@scalar_rule(ufunc="scipy.special.i0", points=[(0.7,), (-1.6,)])
def i0(x):
    """Modified Bessel function of the first kind of order 0.

        z = I_0(x),     dz/dx = i1(x)

    Domain:  every x; z = inf at -inf and inf.
    Ref:     DLMF 10.25.2, 10.29.3.

    >>> round(i0(1.5), 12)
    1.646723189773
    """
    return float(special().i0(x))


@i0.partials
def i0_partials(z, x):
    return i1(x)


@scalar_rule(ufunc="scipy.special.i1", points=[(0.7,), (-1.6,)])
def i1(x):
    """Modified Bessel function of the first kind of order 1.

        z = I_1(x),     dz/dx = (i0(x) + iv(2, x)) / 2

    Domain:  every x; z = -inf at -inf and inf at inf.
    Ref:     DLMF 10.25.2, 10.29.1.

    >>> round(i1(1.5), 12)
    0.981666428578
    """
    return float(special().i1(x))


@i1.partials
def i1_partials(z, x):
    return 0.5 * (i0(x) + iv(2.0, x))


@scalar_rule(ufunc="scipy.special.i0e", points=[(0.7,), (-1.6,)])
def i0e(x):
    """Modified Bessel function of the first kind of order 0, scaled by e^-|x|.

        z = e^-|x| I_0(x),     dz/dx = sgn(x) ive_derivative(0, 1, 0, |x|)

    Domain:  every x; 0 at the kink at 0.
    Ref:     DLMF 10.25.2.

    >>> round(i0e(1.5), 12)
    0.367433609054
    """
    return float(special().i0e(x))


@i0e.partials
def i0e_partials(z, x):
    small = absolute(x) < 0.5
    y = select(small, 0.5, absolute(x))
    return select(small, i1e(x) - sign(x) * z, sign(x) * ive_derivative(0.0, 1.0, 0.0, y))


@scalar_rule(ufunc="scipy.special.i1e", points=[(0.7,), (-1.6,)])
def i1e(x):
    """Modified Bessel function of the first kind of order 1, scaled by e^-|x|.

        z = e^-|x| I_1(x),     dz/dx = ive_derivative(0, 1, 1, |x|)

    Domain:  every x; z = 0 at -inf and inf.
    Ref:     DLMF 10.25.2.

    >>> round(i1e(1.5), 12)
    0.219039387421
    """
    return float(special().i1e(x))


@i1e.partials
def i1e_partials(z, x):
    small = absolute(x) < 0.5
    y = select(small, 0.5, absolute(x))
    return select(small, 0.5 * (i0e(x) + ive(2.0, x)) - sign(x) * z, ive_derivative(0.0, 1.0, 1.0, y))


@scalar_rule(ufunc="scipy.special.k0", points=[(0.7,), (4.3,)])
def k0(x):
    """Modified Bessel function of the second kind of order 0.

        z = K_0(x),     dz/dx = -k1(x)

    Domain:  x > 0; z = inf at 0 and nan below.
    Ref:     DLMF 10.27.4, 10.29.3.

    >>> round(k0(1.5), 12)
    0.213805562648
    """
    return float(special().k0(x))


@k0.partials
def k0_partials(z, x):
    return -k1(x)


@scalar_rule(ufunc="scipy.special.k1", points=[(0.7,), (4.3,)])
def k1(x):
    """Modified Bessel function of the second kind of order 1.

        z = K_1(x),     dz/dx = -k0(x) - k1(x) / x

    Domain:  x > 0; z = inf at 0 and nan below.
    Ref:     DLMF 10.27.4, 10.29.2.

    >>> round(k1(1.5), 12)
    0.277387800457
    """
    return float(special().k1(x))


@k1.partials
def k1_partials(z, x):
    return -k0(x) - z / x


@scalar_rule(ufunc="scipy.special.k0e", points=[(0.7,), (4.3,)])
def k0e(x):
    """Modified Bessel function of the second kind of order 0, scaled by e^x.

        z = e^x K_0(x),     dz/dx = kve_derivative(0, 1, 0, x)

    Domain:  x > 0; z = inf at 0 and nan below.
    Ref:     DLMF 10.32.9.

    >>> round(k0e(1.5), 12)
    0.958210053295
    """
    return float(special().k0e(x))


@k0e.partials
def k0e_partials(z, x):
    return kve_derivative(0.0, 1.0, 0.0, x)


@scalar_rule(ufunc="scipy.special.k1e", points=[(0.7,), (4.3,)])
def k1e(x):
    """Modified Bessel function of the second kind of order 1, scaled by e^x.

        z = e^x K_1(x),     dz/dx = kve_derivative(0, 1, 1, x)

    Domain:  x > 0; z = inf at 0 and nan below.
    Ref:     DLMF 10.32.9.

    >>> round(k1e(1.5), 12)
    1.243165873553
    """
    return float(special().k1e(x))


@k1e.partials
def k1e_partials(z, x):
    return kve_derivative(0.0, 1.0, 1.0, x)


@scalar_rule(ufunc="scipy.special.jv", points=[(0.6, 1.7), (2.3, 0.9), (1.0, 4.3)])
def jv(v, x):
    """Bessel function of the first kind of real order; `bessel_first_kind` in Stan.

        z = J_v(x),     dz/dv = jv_derivative(1, v, x),
        dz/dx = (jv(v - 1, x) - jv(v + 1, x)) / 2

    Domain:  x > 0, and x < 0 for integer v, where dz/dv is nan.
    Ref:     DLMF 10.2.2, 10.6.1.

    >>> round(jv(0.5, 1.5), 12)
    0.649838074754
    """
    return float(special().jv(v, x))


@jv.partials
def jv_partials(z, v, x):
    return jv_derivative(1.0, v, x), 0.5 * (jv(v - 1.0, x) - jv(v + 1.0, x))


@scalar_rule(ufunc="scipy.special.yv", points=[(0.6, 1.7), (2.3, 0.9), (1.0, 4.3)])
def yv(v, x):
    """Bessel function of the second kind of real order; `bessel_second_kind` in Stan.

        z = Y_v(x),     dz/dv = yv_derivative(1, v, x),
        dz/dx = (yv(v - 1, x) - yv(v + 1, x)) / 2

    Domain:  x > 0; nan below.
    Ref:     DLMF 10.2.3, 10.6.1.

    >>> round(yv(0.5, 1.5), 12)
    -0.046083165893
    """
    return float(special().yv(v, x))


@yv.partials
def yv_partials(z, v, x):
    return yv_derivative(1.0, v, x), 0.5 * (yv(v - 1.0, x) - yv(v + 1.0, x))


@scalar_rule(ufunc="scipy.special.iv", points=[(0.6, 1.7), (2.3, 0.9), (1.0, 4.3)])
def iv(v, x):
    """Modified Bessel function of the first kind of real order; `modified_bessel_first_kind` in Stan.

        z = I_v(x),     dz/dv = e^x ive_derivative(1, 0, v, x),
        dz/dx = (iv(v - 1, x) + iv(v + 1, x)) / 2

    Domain:  x > 0, and x < 0 for integer v, where dz/dv is nan.
    Ref:     DLMF 10.25.2, 10.29.1.

    >>> round(iv(0.5, 1.5), 12)
    1.387161720403
    """
    return float(special().iv(v, x))


@iv.partials
def iv_partials(z, v, x):
    return exp(0.5 * x) * ive_derivative(1.0, 0.0, v, x) * exp(0.5 * x), 0.5 * (iv(v - 1.0, x) + iv(v + 1.0, x))


@scalar_rule(ufunc="scipy.special.ive", points=[(0.6, 1.7), (2.3, 0.9), (1.0, 4.3)])
def ive(v, x):
    """Modified Bessel function of the first kind of real order, scaled by e^-|x|.

        z = e^-|x| I_v(x),     dz/dv = ive_derivative(1, 0, v, x),
        dz/dx = ive_derivative(0, 1, v, x), and for x < 0 minus (-1)^v times it at -x

    Domain:  x > 0, and x < 0 for integer v, where dz/dv is nan.
    Ref:     DLMF 10.25.2, 10.32.12.

    >>> round(ive(0.5, 1.5), 12)
    0.309517616825
    """
    return float(special().ive(v, x))


@ive.partials
def ive_partials(z, v, x):
    small = absolute(x) < 1.0
    y = select(small, 1.0, absolute(x))
    w = select(x == 0.0, 1.0, x)
    below = select(x == 0.0, ive(v - 1.0, x), ive(v + 1.0, x) + 2.0 * v / w * z)
    near = 0.5 * (below + ive(v + 1.0, x)) - sign(x) * z
    return (
        ive_derivative(1.0, 0.0, v, x),
        select(small, near, select(x < 0.0, -cos(math.pi * v), 1.0) * ive_derivative(0.0, 1.0, v, y)),
    )


@scalar_rule(ufunc="scipy.special.kv", points=[(0.6, 1.7), (2.3, 0.9), (1.0, 4.3)])
def kv(v, x):
    """Modified Bessel function of the second kind of real order; `modified_bessel_second_kind` in Stan.

        z = K_v(x),     dz/dv = e^-x kve_derivative(1, 0, v, x),
        dz/dx = e^-x (kve_derivative(0, 1, v, x) - kve_derivative(0, 0, v, x))

    Domain:  x > 0; nan below.
    Ref:     DLMF 10.27.4, 10.29.1.

    >>> round(kv(0.5, 1.5), 12)
    0.228335052228
    """
    return float(special().kv(v, x))


@kv.partials
def kv_partials(z, v, x):
    return (
        exp(-x) * kve_derivative(1.0, 0.0, v, x),
        exp(-x) * (kve_derivative(0.0, 1.0, v, x) - kve_derivative(0.0, 0.0, v, x)),
    )


@scalar_rule(ufunc="scipy.special.kve", points=[(0.6, 1.7), (2.3, 0.9), (1.0, 4.3)])
def kve(v, x):
    """Modified Bessel function of the second kind of real order, scaled by e^x.

        z = e^x K_v(x),     dz/dv = kve_derivative(1, 0, v, x),
        dz/dx = kve_derivative(0, 1, v, x)

    Domain:  x > 0; nan below.
    Ref:     DLMF 10.27.4, 10.32.9.

    >>> round(kve(0.5, 1.5), 12)
    1.023326707946
    """
    return float(special().kve(v, x))


@kve.partials
def kve_partials(z, v, x):
    return kve_derivative(1.0, 0.0, v, x), kve_derivative(0.0, 1.0, v, x)
