"""Stan's distribution of first passage times, `wiener`; drift, start and delay may vary from trial to trial.

The density is a formula. Uniformly varying parameters, and the time in distribution functions, are integrated by
Gauss's rule over positive densities, so logarithms are accurate in both tails.
"""

import inspect

import numpy as np

from contad.distributions.faces import Face, as_operand
from contad.distributions.first_passage import wiener_log_density
from contad.ops.log_sums import logsumexp
from contad.ops.products import as_array
from contad.stan.checks import check_bounded, check_finite, check_greater, check_nonnegative, check_positive_finite
from contad.variables import arguments
from contad.variables.open_types import ArrayValue, Real, Value

__all__ = ["wiener_lccdf_unnorm", "wiener_lcdf_unnorm", "wiener_lpdf"]

NEGLIGIBLE = 46.0
_DOMAINS = {
    "y": "positive finite", "alpha": "positive finite", "tau": "nonnegative", "beta": "inner probability",
    "delta": "finite", "var_delta": "nonnegative",
}  # fmt: skip


def _rule(panels: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss's rule on panels of (0, 1)."""
    x, weights = np.polynomial.legendre.leggauss(nodes)
    at = (np.arange(panels)[:, None] + 0.5 * (x + 1.0)) / panels
    return at.ravel(), np.tile(0.5 * weights / panels, panels)


def _graded_rule(panels: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Like `_rule`, with panels that halve towards 1, where densities of short times vary most."""
    x, weights = np.polynomial.legendre.leggauss(nodes)
    ends = np.append(1.0 - 2.0 ** -np.arange(panels), 1.0)
    lengths = np.diff(ends)[:, None]
    return (ends[:-1, None] + 0.5 * lengths * (x + 1.0)).ravel(), (0.5 * lengths * weights).ravel()


class WienerDensity(Face):
    """The log density; if start or delay vary, an average of densities, which compiled code does not support."""

    def __init__(self, name: str, doc: str) -> None:
        super().__init__(
            __name__, name, wiener_log_density, doc, reduce="sum", domains=_DOMAINS, defaults={"var_delta": 0.0},
            has_propto=False, orders={"y": "above tau"},
        )  # fmt: skip
        extra = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=0.0) for n in _VARIED]
        self.__signature__ = self.signature.replace(parameters=[*self.signature.parameters.values(), *extra])

    def __call__(self, *args: Value, **kwargs: Value) -> Value:
        if len(args) <= 6 and not set(_VARIED) & kwargs.keys():
            return super().__call__(*args, **kwargs)
        try:
            bound = self.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.__name__}: {error}") from None
        bound.apply_defaults()
        return _average(self.__name__, None, *bound.args)


_VARIED = ("var_beta", "var_tau")
wiener_lpdf = WienerDensity(
    "wiener_lpdf",
    """Log density of first passage times at the upper of the ends 0 and alpha, summed over the data.

        log f = log sum_j j pi sin(j pi w) e^(-j^2 pi^2 t / (2 alpha^2)) - 2 log alpha + alpha w delta - delta^2 t / 2,
        with t = y - tau, w = 1 - beta and j = 1, 2, ..., where nothing varies

    The motion starts at alpha beta after a delay tau, with drift delta. var_delta is the standard deviation of a normal
    drift, var_beta the length of an interval around beta, var_tau that of one which begins at tau.

    Arguments: y (> tau), alpha (> 0), tau (>= 0), beta (in (0, 1)), delta, var_delta, var_beta, var_tau (>= 0, or left
               out); numbers, or arrays that broadcast. With the last two, not inside njit.
    Raises:    ValueError if an argument is outside its domain.
    Ref:       Navarro & Fuss (2009); Gondan, Blurton & Kesselmeier (2014).

    >>> round(wiener_lpdf(0.7, 1.4, 0.1, 0.5, 0.3), 12)
    -0.855885249109
    """,
)


def wiener_lcdf_unnorm(
    y: Value, alpha: Value, tau: Value, beta: Value, delta: Value, var_delta: Value = 0.0, var_beta: Value = 0.0,
    var_tau: Value = 0.0,
) -> Real:  # fmt: skip
    """log of the probability that the upper end is reached by time y (not conditional on reaching it).

        log P = log int_tau^y f(t) dt, f the density of wiener_lpdf

    Arguments and errors like wiener_lpdf; a sum over the data. Not inside njit.

    Domain:  as for wiener_lpdf.
    Ref:     Blurton, Kesselmeier & Gondan (2012); Stan Functions Reference, Wiener first passage time distribution.

    >>> round(float(wiener_lcdf_unnorm(0.7, 1.4, 0.1, 0.5, 0.3)), 6)
    -0.826267
    """
    return _average("wiener_lcdf_unnorm", False, y, alpha, tau, beta, delta, var_delta, var_beta, var_tau)


def wiener_lccdf_unnorm(
    y: Value, alpha: Value, tau: Value, beta: Value, delta: Value, var_delta: Value = 0.0, var_beta: Value = 0.0,
    var_tau: Value = 0.0,
) -> Real:  # fmt: skip
    """log of the probability that the upper end is reached after time y.

        log Q = log int_y^inf f(t) dt, f the density of wiener_lpdf

    Arguments and errors like wiener_lpdf, and y - tau is at least var_tau; a sum over the data. Not inside njit.

    Domain:  as for wiener_lpdf, and y - tau >= var_tau.
    Ref:     Blurton, Kesselmeier & Gondan (2012); Stan Functions Reference, Wiener first passage time distribution.

    >>> round(float(wiener_lccdf_unnorm(0.7, 1.4, 0.1, 0.5, 0.3)), 6)
    -1.796954
    """
    return _average("wiener_lccdf_unnorm", True, y, alpha, tau, beta, delta, var_delta, var_beta, var_tau)


def _average(name: str, above: bool | None, *args: Value) -> Real:
    """The sum over data of log densities (`above` None), or of log probabilities below or above."""
    y, alpha, tau, beta, delta, var_delta, var_beta, var_tau = given = [as_operand(x) for x in args]
    check_positive_finite(name, "y", y)
    check_positive_finite(name, "alpha", alpha)
    check_nonnegative(name, "tau", tau)
    check_bounded(name, "beta", beta, 0.0, 1.0)
    check_finite(name, "delta", delta)
    for argument, x in (("var_delta", var_delta), ("var_beta", var_beta), ("var_tau", var_tau)):
        check_nonnegative(name, argument, x)
    values = [arguments.array(name, "an argument", x) for x in given]
    shape = np.broadcast_shapes(*(x.shape for x in values))
    check_greater(name, "y", values[0], values[2])
    check_greater(name, "beta - var_beta / 2", values[3] - 0.5 * values[6], 0.0)
    check_bounded(name, "beta + var_beta / 2", values[3] + 0.5 * values[6], 0.0, 1.0 - 2.0**-53)
    if above and np.any(values[7] > values[0] - values[2]):
        raise ValueError(f"{name}: var_tau must be at most y - tau")
    y, alpha, tau, beta, delta, var_delta, var_beta, var_tau = [_with_axes(x, shape) for x in given]
    weights: ArrayValue = np.zeros((1, 1, 1))
    if np.any(values[6] > 0.0):
        at, w = _rule(1, 24)
        beta = beta + var_beta * (at - 0.5)[:, None, None]
        weights = weights + np.log(w)[:, None, None]
    if np.any(values[7] > 0.0):
        at, w = _graded_rule(8, 16)
        length = np.minimum(var_tau, y - tau)
        tau = tau + length * at[:, None]
        weights = weights + np.log(w)[:, None] + np.log(length / var_tau)
    if above is not None:
        at, w = _rule(8, 24)
        span = [x[..., None, None, None] for x in np.broadcast_arrays(*values)]
        duration, squared = span[0] - span[2], span[1] ** 2
        if above:
            reach = np.log1p(NEGLIGIBLE * 2.0 * squared / (np.pi**2 * duration))
        else:
            nearest = (1.0 - span[3] - 0.5 * span[6]) ** 2 * squared
            reach = np.log1p(2.0 * NEGLIGIBLE * duration / nearest)
        growth = np.exp((1.0 if above else -1.0) * reach * at)
        t = (y - tau) * growth
        y = tau + t
        weights = weights + np.log(w) + np.log(reach) + np.log(t)
    logs = weights + wiener_log_density(y, alpha, tau, beta, delta, var_delta)
    return np.sum(logsumexp(logs, axis=(-3, -2, -1)))


def _with_axes(x: Value, shape: tuple[int, ...]) -> ArrayValue:
    """An argument broadcast to the common shape, followed by three axes."""
    return (as_array(x) * np.ones(shape))[..., None, None, None]
