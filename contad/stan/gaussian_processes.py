"""Stan's covariances of Gaussian processes.

Each takes the points of one or two sets; points are numbers (n,) or rows of coordinates (n, d). The covariances of one
set are exactly symmetric; their cotangent may be any matrix, and all of its elements count.
"""

from typing import Any

import numpy as np

from contad.distributions.docstrings import describe
from contad.distributions.faces import check_domain
from contad.distributions.ways_by_axes import Pattern
from contad.ops import covariances
from contad.ops.products import as_array, matmul
from contad.ops.quadratic_forms import tcrossprod
from contad.stan.compiled import with_bodies
from contad.stan.recorded_checks import are_between
from contad.variables.open_types import ArrayValue, Real, Value

__all__ = [
    "gp_dot_prod_cov", "gp_exp_quad_cov", "gp_exponential_cov", "gp_matern32_cov", "gp_matern52_cov", "gp_periodic_cov",
]  # fmt: skip


def _ways(expression: str, count: int, has_lengths: bool = False) -> dict[Pattern, str]:
    """The compiled forms: X and Y in the expression are the points as matrices, and p1, p2, ... the parameters."""
    found = {}
    for first, lengths in (("1", ""), ("2", ""), *([("2", "1")] if has_lengths else [])):
        for sets in (1, 2):
            parameters = [f"x{sets + k + 1}" for k in range(count)]
            points = [f"np.expand_dims(x{k}, 1)" if first == "1" else f"x{k}" for k in (1, sets)]
            if lengths:
                points = [f"({x} / np.expand_dims({parameters[-1]}, 0))" for x in points]
            text = expression.replace("X", points[0]).replace("Y", points[1])
            for k, parameter in enumerate(parameters):
                text = text.replace(f"p{k + 1}", "1.0" if lengths and k + 1 == count else parameter)
            found[" ".join([first] * sets + ["0"] * (count - len(lengths)) + ["1"] * len(lengths))] = text
    return found


def _sets(
    name: str, args: tuple[Value, ...], count: int, kind: str = "real"
) -> tuple[list[ArrayValue], list[Value]]:
    """The one or two sets of points among the arguments, as matrices, and the `count` parameters after them.

    kind    the kind of coordinates, a key of DOMAINS
    """
    if len(args) not in (count + 1, count + 2):
        raise TypeError(f"{name}: expected one or two sets of points and {count} parameters, got {len(args)} arguments")
    found = [as_array(x) for x in args[: len(args) - count]]
    for k, x in enumerate(found):
        if np.ndim(x) not in (1, 2):
            raise ValueError(f"{name}: x{k + 1} must be a vector or a matrix of points, got shape {np.shape(x)}")
        if not are_between(-np.inf, True, x):
            check_domain(name, f"x{k + 1}", x, kind)
    points = [np.expand_dims(x, 1) if np.ndim(x) == 1 else x for x in found]
    if np.shape(points[0])[1] != np.shape(points[-1])[1]:
        shapes = " and ".join(str(np.shape(x)) for x in found)
        raise ValueError(f"{name}: the points of both sets must have as many coordinates, got shapes {shapes}")
    return points, list(args[len(args) - count :])


def _number(name: str, argument: str, x: Real, kind: str = "positive") -> Real:
    check_domain(name, argument, x, kind)
    if np.ndim(x):
        raise ValueError(f"{name}: {argument} must be a number, got shape {np.shape(x)}")
    return x


def _covariance(points: list[ArrayValue], sigma: Real, width: Real, profile: str) -> ArrayValue:
    rule = covariances.covariance if len(points) == 1 else covariances.cross_covariance
    return rule(*points, sigma, width, profile=profile)


def _scale(name: str, args: tuple[Value, ...], profile: str) -> ArrayValue:
    """The covariance with a length scale, or one for each coordinate."""
    points, (sigma, length_scale) = _sets(name, args, 2)
    lengths = length_scale if length_scale.__class__ is float else as_array(length_scale)
    kind = "positive" if profile == "exponentiated quadratic" and not np.ndim(lengths) else "positive finite"
    _number(name, "sigma", sigma, kind)
    check_domain(name, "length_scale", lengths, kind)
    if np.ndim(lengths):
        if np.shape(lengths) != np.shape(points[0])[1:]:
            raise ValueError(
                f"{name}: length_scale must be a number or one for each of {np.shape(points[0])[1]} coordinates, got "
                f"shape {np.shape(lengths)}"
            )
        points, length_scale = [x / lengths for x in points], 1.0
    return _covariance(points, sigma, length_scale, profile)


def _make_kernel(name: str, profile: str, kernel: str, correlation: str, lengths: str, result: str) -> Any:
    """The covariance function of a kernel, with parts of its docstring; `profile` is that of
    `contad.ops.covariances`."""

    def covariance(*args: Value) -> ArrayValue:
        return _scale(name, args, profile)

    covariance.__name__ = covariance.__qualname__ = name
    fields = {
        "Calls": "(x, sigma, length_scale), or (x, y, sigma, length_scale) for two sets of points.",
        "Shapes": "x (n,) or (n, d), y (m,) or (m, d), sigma (), length_scale () or (d,) -> (n, n) or (n, m).",
        "Domain": f"sigma and length_scale {lengths} points without nan.",
        "Raises": "ValueError outside the domain, or if shapes do not fit.",
        "Cost": "O(n m d) forward and reverse, one exponential an element; saves the squared distances.",
        "Ref": "Rasmussen & Williams (2006), section 4.2.1.",
    }
    title, example = f"Covariance of a Gaussian process by {kernel}.", f">>> {name}([0.0, 1.0], 2.0, 1.0)\n{result}"
    covariance.__doc__ = describe(title, f"z_ij = sigma^2 {correlation}", fields, example)
    body = profile.replace(" ", "_").replace("_3/2", "32").replace("_5/2", "52")
    ways = _ways(f"variance_of(p1) * {body}(squares_between(X, Y), p2)", 2, has_lengths=True)
    return with_bodies(ways, names="x1, x2, x3, x4=None")(covariance)


FINITE = "positive and finite,"
gp_exp_quad_cov = _make_kernel(
    "gp_exp_quad_cov", "exponentiated quadratic", "the exponentiated quadratic kernel",
    "exp(-|x_i - y_j|^2 / (2 length_scale^2))", "positive, and finite if there is a length for each coordinate;",
    "array([[4.        , 2.42612264],\n       [2.42612264, 4.        ]])",
)  # fmt: skip
gp_exponential_cov = _make_kernel(
    "gp_exponential_cov", "exponential", "the exponential kernel",
    "exp(-|x_i - y_j| / length_scale); where points are equal, the slope at the kink is 0", FINITE,
    "array([[4.        , 1.47151776],\n       [1.47151776, 4.        ]])",
)  # fmt: skip
gp_matern32_cov = _make_kernel(
    "gp_matern32_cov", "matern 3/2", "Matern's kernel of 3/2",
    "(1 + u) exp(-u), u = sqrt(3) |x_i - y_j| / length_scale", FINITE,
    "array([[4.       , 1.9334309],\n       [1.9334309, 4.       ]])",
)  # fmt: skip
gp_matern52_cov = _make_kernel(
    "gp_matern52_cov", "matern 5/2", "Matern's kernel of 5/2",
    "(1 + v + v^2 / 3) exp(-v), v = sqrt(5) |x_i - y_j| / length_scale", FINITE,
    "array([[4.        , 2.09597644],\n       [2.09597644, 4.        ]])",
)  # fmt: skip


@with_bodies(
    _ways("variance_of(p1) * periodic(squares_between(X / p3, Y / p3), p2)", 3), names="x1, x2, x3, x4, x5=None"
)
def gp_periodic_cov(*args: Value) -> ArrayValue:
    """Covariance of a Gaussian process by the periodic kernel.

        z_ij = sigma^2 exp(-2 sin(pi |x_i - y_j| / period)^2 / length_scale^2)

    Calls:   (x, sigma, length_scale, period), or (x, y, sigma, length_scale, period) for two sets of points.
    Shapes:  x (n,) or (n, d), y (m,) or (m, d), sigma (), length_scale (), period () -> (n, n) or (n, m).
    Domain:  sigma, length_scale and period positive, points without nan.
    Raises:  ValueError outside the domain, or if shapes do not fit.
    Cost:    O(n m d) forward and reverse, one exponential an element; saves the squared distances.
    Ref:     Rasmussen & Williams (2006), section 4.2.3.

    >>> gp_periodic_cov([0.0, 1.0], 2.0, 1.0, 3.0)
    array([[4.        , 0.89252064],
           [0.89252064, 4.        ]])
    """
    name = "gp_periodic_cov"
    points, (sigma, length_scale, period) = _sets(name, args, 3)
    for argument, x in (("sigma", sigma), ("length_scale", length_scale), ("period", period)):
        _number(name, argument, x)
    return _covariance([x / period for x in points], sigma, length_scale, "periodic")


@with_bodies(_ways("p1 * p1 + X @ Y.T", 1), names="x1, x2, x3=None")
def gp_dot_prod_cov(*args: Value) -> ArrayValue:
    """Covariance of a Gaussian process of linear functions.

        z_ij = sigma^2 + <x_i, y_j>

    Calls:   (x, sigma), or (x, y, sigma) for two sets of points.
    Shapes:  x (n,) or (n, d), y (m,) or (m, d), sigma () -> (n, n) or (n, m).
    Domain:  sigma >= 0 and finite, finite points.
    Raises:  ValueError outside the domain, or if shapes do not fit.
    Cost:    O(n m d) forward and reverse.
    Ref:     Rasmussen & Williams (2006), section 4.2.2.

    >>> gp_dot_prod_cov([1.0, 3.0], 2.0)
    array([[ 5.,  7.],
           [ 7., 13.]])
    """
    points, (sigma,) = _sets("gp_dot_prod_cov", args, 1, "finite")
    _number("gp_dot_prod_cov", "sigma", sigma, "nonnegative finite")
    products = tcrossprod(points[0]) if len(points) == 1 else matmul(points[0], np.swapaxes(points[1], 0, 1))
    return sigma * sigma + products
