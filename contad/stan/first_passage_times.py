"""Stan's distribution of first passage times, `wiener`; drift, start and delay may vary from trial to trial.

The density is a formula. Uniformly varying parameters, and the time in distribution functions, are integrated by
Gauss's rule over positive densities, so logarithms are accurate in both tails.
"""

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contad.distributions.faces import Face, as_operand, function_of_text
from contad.distributions.first_passage import wiener_log_density
from contad.ops.log_sums import logsumexp
from contad.ops.products import as_array
from contad.rules.compilable import Compilable
from contad.stan.checks import check_bounded, check_finite, check_greater, check_nonnegative, check_positive_finite
from contad.stan.recursion_bodies import (
    DELAY_WEIGHTS,
    DELAYS,
    NEGLIGIBLE,
    SHARE_WEIGHTS,
    SHARES,
    TIME_WEIGHTS,
    TIMES,
    log_passage,
)
from contad.variables import arguments
from contad.variables.open_types import ArrayValue, Real, Value

__all__ = ["wiener_lccdf_unnorm", "wiener_lcdf_unnorm", "wiener_lpdf"]

_DOMAINS = {
    "y": "positive finite", "alpha": "positive finite", "tau": "nonnegative", "beta": "inner probability",
    "delta": "finite", "var_delta": "nonnegative",
}  # fmt: skip


def _write_sum(name: str, names: Sequence[str], given: Sequence[int], above: float) -> Any:
    """The body of a sum over data, for arguments with these numbers of axes."""
    if len(given) < 5 or not set(given) <= {0, 1}:
        return None
    arrays = [x for x, axes in zip(names, given, strict=False) if axes]
    at = [f"{x}[k]" if x in arrays else x for x in names[: len(given)]]
    lines = [f"def {name}({', '.join(names[: len(given)])}):"]
    for x in arrays[1:]:
        message = f"{name}: {x} must have in axis 0 the length of {arrays[0]} in axis 0"
        lines += [f"    if len({x}) != len({arrays[0]}):", f"        raise ValueError({message!r})"]
    lines += ["    total = 0.0", f"    for k in range({f'len({arrays[0]})' if arrays else 1}):"]
    values = dict(zip(names, [*at, "0.0", "0.0", "0.0"], strict=False))
    for test, what in (*_DEMANDS, ("above < 1.0 or var_tau <= y - tau", "var_tau must be at most y - tau")):
        text = re.sub(r"\w+", lambda found: values.get(found[0], found[0]), test).replace("above", repr(above))
        lines += [f"        if not ({text}):", f"            raise ValueError({f'{name}: {what}'!r})"]
    lines += [f"        total = total + log_passage({', '.join(values.values())}, {above})", "    return total"]
    return function_of_text("\n".join(lines) + "\n", name, {"np": np, "log_passage": log_passage})


_DEMANDS = [
    ("0.0 < y < np.inf", "y must be positive and finite"),
    ("0.0 < alpha < np.inf", "alpha must be positive and finite"), ("tau >= 0.0", "tau must be nonnegative"),
    ("0.0 <= beta <= 1.0", "beta must be between 0.0 and 1.0"),
    ("-np.inf < delta < np.inf", "delta must be finite"), ("var_delta >= 0.0", "var_delta must be nonnegative"),
    ("var_beta >= 0.0", "var_beta must be nonnegative"), ("var_tau >= 0.0", "var_tau must be nonnegative"),
    ("y > tau", "y must be greater than tau"), ("beta - 0.5 * var_beta > 0.0", "beta - var_beta / 2 must be positive"),
    ("beta + 0.5 * var_beta <= 1.0 - 2.0**-53", "beta + var_beta / 2 must be less than 1"),
]  # fmt: skip


class PassageProbability(Compilable[..., Real]):
    """A log probability, as a Python function; compiled code has a body for numbers and vectors."""

    __name__: str
    has_bodies = True

    def __init__(self, function: Callable[..., Real], above: float) -> None:
        super().__init__(function)
        plain = [x.replace(annotation=x.empty) for x in inspect.signature(function).parameters.values()]
        self.signature, self.above = inspect.Signature(plain), above

    def body(self, given: tuple[Any, ...]) -> Any:
        """The sum over data."""
        return _write_sum(self.__name__, list(self.signature.parameters), given, self.above)

    def refuse(self) -> str:
        """The message for other arguments."""
        return f"{self.__name__}: inside njit it takes numbers and vectors"


class WienerDensity(Face):
    """The log density; if start or delay vary, an average of densities."""

    def __init__(self, name: str, doc: str) -> None:
        super().__init__(
            __name__, name, wiener_log_density, doc, reduce="sum", domains=_DOMAINS, defaults={"var_delta": 0.0},
            has_propto=False, orders={"y": "above tau"},
        )  # fmt: skip
        extra = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=0.0) for n in _VARIED]
        self.signature = self.__signature__ = self.signature.replace(
            parameters=[*self.signature.parameters.values(), *extra]
        )

    def __call__(self, *args: Value, **kwargs: Value) -> Value:
        if len(args) <= 6 and not set(_VARIED) & kwargs.keys():
            return super().__call__(*args, **kwargs)
        try:
            bound = self.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.__name__}: {error}") from None
        bound.apply_defaults()
        return _average(self.__name__, None, *bound.args)

    def body(self, given: tuple[Any, ...]) -> Any:
        """The formula; with more arguments, the average."""
        if len(given) <= len(self.names):
            return super().body(given)
        return _write_sum(self.__name__, list(self.__signature__.parameters), given, -1.0)


def _with_body(above: float) -> Callable[[Callable[..., Real]], PassageProbability]:
    return lambda function: PassageProbability(function, above)


_VARIED = ("var_beta", "var_tau")
wiener_lpdf = WienerDensity(
    "wiener_lpdf",
    """Log density of first passage times at the upper of the ends 0 and alpha, summed over the data.

        log f = log sum_j j pi sin(j pi w) e^(-j^2 pi^2 t / (2 alpha^2)) - 2 log alpha + alpha w delta - delta^2 t / 2,
        with t = y - tau, w = 1 - beta and j = 1, 2, ..., where nothing varies

    The motion starts at alpha beta after a delay tau, with drift delta. var_delta is the standard deviation of a normal
    drift, var_beta the length of an interval around beta, var_tau that of one which begins at tau.

    Arguments: y (> tau), alpha (> 0), tau (>= 0), beta (in (0, 1)), delta, var_delta, var_beta, var_tau (>= 0, or left
               out); numbers, or arrays that broadcast; inside njit, numbers and vectors.
    Raises:    ValueError if an argument is outside its domain.
    Ref:       Navarro & Fuss (2009); Gondan, Blurton & Kesselmeier (2014).

    >>> round(wiener_lpdf(0.7, 1.4, 0.1, 0.5, 0.3), 12)
    -0.855885249109
    """,
)


@_with_body(0.0)
def wiener_lcdf_unnorm(
    y: Value, alpha: Value, tau: Value, beta: Value, delta: Value, var_delta: Value = 0.0, var_beta: Value = 0.0,
    var_tau: Value = 0.0,
) -> Real:  # fmt: skip
    """log of the probability that the upper end is reached by time y (not conditional on reaching it).

        log P = log int_tau^y f(t) dt, f the density of wiener_lpdf

    Arguments and errors like wiener_lpdf; a sum over the data.

    Domain:  as for wiener_lpdf.
    Ref:     Blurton, Kesselmeier & Gondan (2012); Stan Functions Reference, Wiener first passage time distribution.

    >>> round(float(wiener_lcdf_unnorm(0.7, 1.4, 0.1, 0.5, 0.3)), 6)
    -0.826267
    """
    return _average("wiener_lcdf_unnorm", False, y, alpha, tau, beta, delta, var_delta, var_beta, var_tau)


@_with_body(1.0)
def wiener_lccdf_unnorm(
    y: Value, alpha: Value, tau: Value, beta: Value, delta: Value, var_delta: Value = 0.0, var_beta: Value = 0.0,
    var_tau: Value = 0.0,
) -> Real:  # fmt: skip
    """log of the probability that the upper end is reached after time y.

        log Q = log int_y^inf f(t) dt, f the density of wiener_lpdf

    Arguments and errors like wiener_lpdf, and y - tau is at least var_tau; a sum over the data.

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
        at, w = SHARES, SHARE_WEIGHTS
        beta = beta + var_beta * (at - 0.5)[:, None, None]
        weights = weights + np.log(w)[:, None, None]
    if np.any(values[7] > 0.0):
        at, w = DELAYS, DELAY_WEIGHTS
        length = np.minimum(var_tau, y - tau)
        tau = tau + length * at[:, None]
        weights = weights + np.log(w)[:, None] + np.log(length / var_tau)
    if above is not None:
        at, w = TIMES, TIME_WEIGHTS
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
