"""Covariances of Gaussian processes that depend on the distance of two points.

The rules take points, divided by length scales where these differ between axes. They compute the distances once.
Derivatives are products with the value, so no exponential is evaluated again.
"""

import numpy as np

from contad.ops._scipy import spatial_distance
from contad.ops.cotangents import plain, scale
from contad.ops.elementary import sqrt
from contad.ops.linear_systems import transposed_of
from contad.ops.products import masked_product
from contad.ops.trigonometric import sin, sinc
from contad.rules.array_rule import array_rule
from contad.variables.arguments import require_positive
from contad.variables.array import is_plain
from contad.variables.dtypes import dtype_beside

_X, _Y = [[1.3, -0.7], [0.4, 1.9], [-1.1, 0.8]], [[0.6, 1.7], [-0.2, 2.3]]
_CLOSE, _NEAR = [[0.3, 0.1], [0.36, 0.14], [-0.5, 0.9]], [[0.34, 0.05], [1.2, -0.4]]
PROFILES = ("exponentiated quadratic", "exponential", "matern 3/2", "matern 5/2", "periodic")
ROOT3, ROOT5 = 3.0**0.5, 5.0**0.5


# ---- distances -------------------------------------------------------------------------------------------------------
@array_rule(points=[(_X, _Y), ([[0.7]], [[-1.4], [0.5]])])
def squared_distances(x, y):
    """The squared Euclidean distances of the points of two sets.

        z_ij = |x_i - y_j|^2,     z_dot_ij = 2 <x_i - y_j, x_dot_i - y_dot_j>
        x_bar_i = 2 sum_j z_bar_ij (x_i - y_j),     y_bar_j = 2 sum_i z_bar_ij (y_j - x_i)

    Shapes:  x (n, d), y (m, d) -> z (n, m).
    Domain:  every x and y; the zero of equal points is exact.
    Raises:  ValueError if the points have different numbers of coordinates.
    Cost:    O(n m d) forward and reverse; saves nothing.

    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]))
    array([[25.]])
    """
    if np.ndim(x) != 2 or np.ndim(y) != 2 or np.shape(x)[1] != np.shape(y)[1]:
        raise ValueError(
            f"squared_distances: x and y must be matrices with as many columns, got {np.shape(x)} and {np.shape(y)}"
        )
    if not x.size or not y.size:
        return np.zeros((len(x), len(y)), dtype_beside(x, y))
    return spatial_distance().cdist(x, y, "sqeuclidean").astype(dtype_beside(x, y), copy=False)


@squared_distances.vjp("x")
def squared_distances_vjp_x(z, z_bar, x, y):
    return 2.0 * displacements(z_bar, x, y)


@squared_distances.vjp("y")
def squared_distances_vjp_y(z, z_bar, x, y):
    return 2.0 * displacements(transposed_of(z_bar), y, x)


@squared_distances.jvp
def squared_distances_jvp(z, x_dot, y_dot, x, y):
    return distances_along(x, x_dot, y, y_dot)


def displacements(weights, x, y):
    """sum_j weights_ij (x_i - y_j), by one product; distances do not depend on the common origin."""
    centre = centre_of(x)
    return scale(np.sum(weights, axis=1, keepdims=True), x - centre) - masked_product(weights, y - centre)


def centre_of(x):
    """The mean of some points, as a constant."""
    return np.mean(plain(x), axis=0) if np.size(x) else 0.0


def distances_along(x, x_dot, y, y_dot):
    """The tangents of squared distances, by differences, which lose no digits for points far from 0."""
    still = is_plain(x_dot) and is_plain(y_dot) and not (np.any(x_dot) or np.any(y_dot))
    total = np.zeros((np.shape(x)[0], np.shape(y)[0]), dtype_beside(x))
    for k in range(0 if still else np.shape(x)[1]):
        apart = np.expand_dims(x[:, k], 1) - np.expand_dims(y[:, k], 0)
        total = total + apart * (np.expand_dims(x_dot[:, k], 1) - np.expand_dims(y_dot[:, k], 0))
    return 2.0 * total


def known_distances(x, y, saved):
    """The squared distances; the saved ones if the points carry no derivative here."""
    return saved if saved is not None and is_plain(x) and is_plain(y) else squared_distances(x, y)


# ---- profiles --------------------------------------------------------------------------------------------------------
def covariance_at(q, sigma, width, profile):
    """The covariance at plain squared distances q."""
    require_positive("covariance", "sigma", sigma)
    require_positive("covariance", "width", width)
    s = np.sqrt(q) / width
    if profile == "exponentiated quadratic":
        z = np.exp(-0.5 * (q / width**2))
    elif profile == "exponential":
        z = np.exp(-s)
    elif profile == "matern 3/2":
        z = (1.0 + ROOT3 * s) * np.exp(-ROOT3 * s)
    elif profile == "matern 5/2":
        z = (1.0 + ROOT5 * s + 5.0 / 3.0 * (s * s)) * np.exp(-ROOT5 * s)
    elif profile == "periodic":
        z = np.exp(-2.0 * (np.sin(np.pi * np.sqrt(q)) / width) ** 2)
    else:
        raise ValueError(f"covariance: profile must be one of {', '.join(PROFILES)}, got {profile!r}")
    return sigma**2 * z


def slopes(z, q, width, profile):
    """The derivatives of the covariances z with respect to the squared distances q; 0 at a kink."""
    if profile == "exponentiated quadratic":
        return z * (-0.5 / width**2)
    r = root_of_squares(q)
    if profile == "exponential":
        zero = plain(q) == 0.0
        return np.where(zero, 0.0, z * (-0.5 / (width * np.where(zero, 1.0, r))))
    if profile == "matern 3/2":
        return z / (1.0 + ROOT3 / width * r) * (-1.5 / width**2)
    if profile == "matern 5/2":
        t = ROOT5 / width * r
        return z * (1.0 + t) / (1.0 + t + t * t / 3.0) * (-5.0 / 6.0 / width**2)
    bend = sinc(2.0 * r)
    bend = bend.astype(r.dtype, copy=False) if is_plain(r) else bend
    return z * bend * (-2.0 * np.pi**2 / width**2)


def root_of_squares(q):
    """The square root, with the derivative 0 where q is 0."""
    zero = plain(q) == 0.0
    positive = np.where(zero, 1.0, q)
    return np.where(zero, 0.0, np.sqrt(positive) if is_plain(positive) else sqrt(positive))


def width_slopes(z, q, width, profile, by_distance):
    """The derivatives of the covariances z with respect to the width, from those with respect to the squared distances
    q."""
    if profile == "periodic":
        angle = np.pi * root_of_squares(q)
        return z * (np.sin(angle) if is_plain(angle) else sin(angle)) ** 2 * (4.0 / width**3)
    return by_distance * q * (-2.0 / width)  # z is a function of q / width^2


# ---- covariances -----------------------------------------------------------------------------------------------------
@array_rule(
    points=[
        *((_X, 1.3, 0.9, {"profile": profile}) for profile in PROFILES),
        (_CLOSE, 1.3, 0.9, {"profile": "periodic"}),
    ]
)
def covariance(x, sigma, width, *, profile):
    """The covariances of the values of a Gaussian process at some points; Stan's gp_..._cov call it.

        z_ij = sigma^2 f(q_ij, width),     q_ij = |x_i - x_j|^2,     w = z_bar sigma^2 df/dq
        z_dot = sigma^2 (df/dq q_dot + df/dwidth width_dot) + 2 z sigma_dot / sigma
        x_bar_i = 2 sum_j (w_ij + w_ji) (x_i - x_j)
        sigma_bar = 2 <z_bar, z> / sigma,     width_bar = sigma^2 <z_bar, df/dwidth>

    f is exp(-q / (2 width^2)) (exponentiated quadratic), exp(-s) (exponential), (1 + u) exp(-u) with u = sqrt(3) s
    (matern 3/2), (1 + v + v^2 / 3) exp(-v) with v = sqrt(5) s (matern 5/2), where s = sqrt(q) / width; and
    exp(-2 sin(pi sqrt(q))^2 / width^2) (periodic).

    Shapes:  x (n, d), sigma (), width () -> z (n, n), exactly symmetric.
    Domain:  positive sigma and width; at the kink of the exponential one, where points are equal, its slope is 0.
    Raises:  ValueError if sigma or width is not positive.
    Cost:    O(n^2 d) forward and reverse, one exponential an element; saves the squared distances.
    Ref:     Rasmussen & Williams (2006), section 4.2.1.

    >>> covariance(np.array([[0.0], [2.0]]), np.array(1.0), np.array(1.0), profile="exponential")
    array([[1.        , 0.13533528],
           [0.13533528, 1.        ]])
    """
    return covariance_at(squared_distances(x, x), sigma, width, profile)


@covariance.forward
def covariance_forward(x, sigma, width, *, profile):
    if not all(map(is_plain, (x, sigma, width))):
        return covariance(x, sigma, width, profile=profile), None
    q = squared_distances(x, x)
    return covariance_at(q, sigma, width, profile), q


@covariance.common
def covariance_common(z, z_bar, x, sigma, width, saved, *, profile):
    return scale(z_bar, slopes(z, known_distances(x, x, saved), width, profile))


@covariance.vjp("x")
def covariance_vjp_x(z, z_bar, x, sigma, width, saved, common, *, profile):
    return 2.0 * displacements(common + transposed_of(common), x, x)


@covariance.vjp("sigma")
def covariance_vjp_sigma(z, z_bar, x, sigma, width, saved, common, *, profile):
    return scale_cotangent(z, z_bar, sigma)


@covariance.vjp("width")
def covariance_vjp_width(z, z_bar, x, sigma, width, saved, common, *, profile):
    return width_cotangent(z, z_bar, known_distances(x, x, saved), width, profile, common)


@covariance.jvp
def covariance_jvp(z, x_dot, sigma_dot, width_dot, x, sigma, width, saved, *, profile):
    along = distances_along(x, x_dot, x, x_dot)
    return covariance_along(z, along, sigma_dot, width_dot, known_distances(x, x, saved), sigma, width, profile)


def scale_cotangent(z, z_bar, sigma):
    """The cotangent of sigma."""
    return np.sum(scale(z_bar, z)) * (2.0 / sigma)


def width_cotangent(z, z_bar, q, width, profile, common):
    """The cotangent of the width, from the cotangents of the squared distances."""
    if profile == "periodic":
        return np.sum(scale(z_bar, width_slopes(z, q, width, profile, 0.0)))
    return np.sum(width_slopes(z, q, width, profile, common))


def covariance_along(z, q_dot, sigma_dot, width_dot, q, sigma, width, profile):
    """The tangent of covariances."""
    by_distance = slopes(z, q, width, profile)
    by_width = width_slopes(z, q, width, profile, by_distance)
    return scale(q_dot, by_distance) + by_width * width_dot + z * (2.0 * sigma_dot / sigma)


@array_rule(
    points=[
        *((_X, _Y, 1.3, 0.9, {"profile": profile}) for profile in PROFILES),
        (_CLOSE, _NEAR, 1.3, 0.9, {"profile": "periodic"}),
    ]
)
def cross_covariance(x, y, sigma, width, *, profile):
    """The covariances of the values of a Gaussian process at the points of two sets; Stan's gp_..._cov call it.

        z_ij = sigma^2 f(q_ij, width),     q_ij = |x_i - y_j|^2,     w = z_bar sigma^2 df/dq
        z_dot = sigma^2 (df/dq q_dot + df/dwidth width_dot) + 2 z sigma_dot / sigma
        x_bar_i = 2 sum_j w_ij (x_i - y_j),     y_bar_j = 2 sum_i w_ij (y_j - x_i)
        sigma_bar = 2 <z_bar, z> / sigma,     width_bar = sigma^2 <z_bar, df/dwidth>

    The functions f are those of `covariance`.

    Shapes:  x (n, d), y (m, d), sigma (), width () -> z (n, m).
    Domain:  positive sigma and width; at the kink of the exponential one, where points are equal, its slope is 0.
    Raises:  ValueError if sigma or width is not positive.
    Cost:    O(n m d) forward and reverse, one exponential an element; saves the squared distances.
    Ref:     Rasmussen & Williams (2006), section 4.2.1.

    >>> cross_covariance(np.array([[0.0]]), np.array([[2.0]]), np.array(1.0), np.array(1.0), profile="exponential")
    array([[0.13533528]])
    """
    return covariance_at(squared_distances(x, y), sigma, width, profile)


@cross_covariance.forward
def cross_covariance_forward(x, y, sigma, width, *, profile):
    if not all(map(is_plain, (x, y, sigma, width))):
        return cross_covariance(x, y, sigma, width, profile=profile), None
    q = squared_distances(x, y)
    return covariance_at(q, sigma, width, profile), q


@cross_covariance.common
def cross_covariance_common(z, z_bar, x, y, sigma, width, saved, *, profile):
    return scale(z_bar, slopes(z, known_distances(x, y, saved), width, profile))


@cross_covariance.vjp("x")
def cross_covariance_vjp_x(z, z_bar, x, y, sigma, width, saved, common, *, profile):
    return 2.0 * displacements(common, x, y)


@cross_covariance.vjp("y")
def cross_covariance_vjp_y(z, z_bar, x, y, sigma, width, saved, common, *, profile):
    return 2.0 * displacements(transposed_of(common), y, x)


@cross_covariance.vjp("sigma")
def cross_covariance_vjp_sigma(z, z_bar, x, y, sigma, width, saved, common, *, profile):
    return scale_cotangent(z, z_bar, sigma)


@cross_covariance.vjp("width")
def cross_covariance_vjp_width(z, z_bar, x, y, sigma, width, saved, common, *, profile):
    return width_cotangent(z, z_bar, known_distances(x, y, saved), width, profile, common)


@cross_covariance.jvp
def cross_covariance_jvp(z, x_dot, y_dot, sigma_dot, width_dot, x, y, sigma, width, saved, *, profile):
    along = distances_along(x, x_dot, y, y_dot)
    return covariance_along(z, along, sigma_dot, width_dot, known_distances(x, y, saved), sigma, width, profile)
