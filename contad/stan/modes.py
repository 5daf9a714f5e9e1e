"""Modes of models, and normal approximations of their densities: Laplace's at a mode, Pathfinder's on the way to it."""

import contextlib
import itertools
import math
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from contad.errors import REJECTIONS, SingularPointError
from contad.ops._scipy import lapack, linalg
from contad.variables.arguments import fail, require_positive_size

_PAIRS = 6  # steps that L-BFGS remembers
_ROUNDING = 1e-11  # of the log density: no line search sees a smaller gain
_TRIALS = 60  # of one line search
_MOST_DECREMENT = 1e-3  # gradient^T covariance gradient at what is called a mode
_quietly = np.errstate(all="ignore")  # far away, densities overflow


@dataclass(frozen=True)
class Optimum:
    """Where an optimisation ended: values by name, their unconstrained numbers u, and the log density there."""

    values: dict[str, Any]
    u: np.ndarray
    log_density: float
    converged: bool
    message: str
    steps: int
    jacobian: bool


@dataclass(frozen=True)
class Draws:
    """Draws of an approximation: numbers u (n, dimension), values by name with n before their shapes, log densities.

    log_p is the log density of the model, -inf where the model rejects the draw; log_q that of the approximation.
    """

    u: np.ndarray
    values: dict[str, Any]
    log_p: np.ndarray
    log_q: np.ndarray

    @property
    def weights(self) -> np.ndarray:
        """Importance weights, which sum to 1."""
        ratios = self.log_p - self.log_q
        weights = np.exp(ratios - np.max(ratios))
        return np.asarray(weights / np.sum(weights))


@dataclass(frozen=True)
class NormalApproximation:
    """A normal distribution of unconstrained numbers, around u: u + scales * (z + basis (inner - I) basis^T z)."""

    model: Any
    u: np.ndarray
    scales: np.ndarray
    basis: np.ndarray
    inner: np.ndarray
    jacobian: bool

    @property
    def values(self) -> dict[str, Any]:
        """The values at the centre, by name."""
        return dict(self.model.constrain(self.u))

    @property
    def covariance(self) -> np.ndarray:
        """The covariance of the unconstrained numbers."""
        root = self._move(np.eye(len(self.u)))
        return np.asarray(root.T @ root)

    @_quietly
    def draw(self, n: int, seed: Any = None) -> Draws:
        """n draws; `seed` is a seed or a random generator."""
        require_positive_size("draw", "n", n)
        z = np.random.default_rng(seed).standard_normal((n, len(self.u)))
        u = self.u + self._move(z)
        log_p = np.array([_evaluate(self.model.log_density, x, self.jacobian) for x in u])
        return Draws(u, self.model.constrain(u), np.where(np.isnan(log_p), -math.inf, log_p), self._log_density(z))

    def _move(self, z: np.ndarray) -> np.ndarray:
        """The rows of z, which are standard normal, with the covariance."""
        along = z @ self.basis
        return np.asarray(self.scales * (z + (along @ self.inner.T - along) @ self.basis.T))

    def _log_density(self, z: np.ndarray) -> np.ndarray:
        log_scale = np.sum(np.log(self.scales)) + np.sum(np.log(np.diag(self.inner)))
        return np.asarray(-0.5 * (np.sum(z * z, axis=1) + len(self.u) * math.log(2.0 * math.pi)) - log_scale)


# ---- the ascent ------------------------------------------------------------------------------------------------------
class InverseHessian:
    """L-BFGS's estimate of the inverse of minus the Hessian: diag(scales) + factors middle factors^T.

    Ref:  Byrd, Nocedal & Schnabel (1994), theorem 2.2; Gilbert & Lemaréchal (1989), for the diagonal.
    """

    def __init__(self, n: int) -> None:
        self.pairs: list[tuple[np.ndarray, np.ndarray]] = []
        self.scales, self.factors, self.middle = np.ones(n), np.zeros((n, 0)), np.zeros((0, 0))

    def times(self, v: np.ndarray) -> np.ndarray:
        """The estimate times a vector."""
        return np.asarray(self.scales * v + self.factors @ (self.middle @ (self.factors.T @ v)))

    def update(self, s: np.ndarray, y: np.ndarray) -> "InverseHessian":
        """The estimate after a step s that decreased the gradient by y; as before, if rounding spoils it."""
        new, d = InverseHessian(0), self.scales
        new.pairs = [*self.pairs, (s, y)][-_PAIRS:]
        steps, falls = (np.stack(x, axis=1) for x in zip(*new.pairs, strict=True))
        a, b, c = y @ (d * y), s @ y, s @ (s / d)
        new.scales = b / (a / d * np.maximum(1.0 - s * s / (c * d), 0.0) + y * y)
        scaled, products = new.scales[:, None] * falls, steps.T @ falls
        inverse, _ = lapack().dtrtri(np.triu(products))
        corner = inverse.T @ (np.diag(np.diag(products)) + falls.T @ scaled) @ inverse
        new.factors = np.hstack([scaled, steps])
        new.middle = np.block([[np.zeros_like(corner), -inverse], [-inverse.T, corner]])
        is_usable = b > 0.0 and np.all(np.isfinite(new.scales)) and np.all(np.isfinite(new.middle))
        return new if is_usable else self

    def approximate(self, model: Any, u: np.ndarray, jacobian: bool) -> NormalApproximation:
        """The normal distribution around u with the estimate as its covariance."""
        root = np.sqrt(self.scales)
        basis, triangle = np.linalg.qr(self.factors / root[:, None])
        inner = np.linalg.cholesky(np.eye(len(triangle)) + triangle @ self.middle @ triangle.T)
        return NormalApproximation(model, u, root, basis, inner, jacobian)


class AscentPoint(NamedTuple):
    """A point of an ascent; `gain` is what the log density would still gain if it were quadratic."""

    u: np.ndarray
    value: float
    gradient: np.ndarray
    inverse: InverseHessian
    gain: float


def climb(model: Any, u: np.ndarray, jacobian: bool, tolerance: float) -> Iterator[AscentPoint]:
    """The points of L-BFGS, until the gain is at most tolerance, or the line search finds no better point."""
    u, inverse = np.array(u), InverseHessian(len(u))
    value, gradient = _evaluate_both(model, u, jacobian)
    if value == -math.inf:
        fail("Model", "start", "have a finite log density and gradient", u)
    while True:
        direction = inverse.times(gradient)
        size = float(np.linalg.norm(gradient))
        gain = 0.5 * float(gradient @ direction) if inverse.pairs else size  # at first nobody knows the scale
        yield AscentPoint(u, value, gradient, inverse, gain)
        if gain <= tolerance:
            return
        ahead = _search(model, u, value, gradient, direction, 1.0 if inverse.pairs else 1.0 / max(size, 1.0), jacobian)
        if ahead is None:
            return
        inverse = inverse.update(ahead[0] - u, gradient - ahead[2])
        u, value, gradient = ahead


def _search(
    model: Any, u: np.ndarray, value: float, gradient: np.ndarray, direction: np.ndarray, t: float, jacobian: bool
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """A point along the direction that satisfies Wolfe's conditions, by bisection (Lewis & Overton 2013)."""
    low, high, slope = 0.0, math.inf, float(gradient @ direction)
    for _ in range(_TRIALS):
        point = u + t * direction
        found, gradient = _evaluate_both(model, point, jacobian)
        if not found >= value + 1e-4 * t * slope:
            high = t
        elif gradient @ direction > 0.9 * slope:
            low = t
        else:
            return point, found, gradient
        t = 0.5 * (low + high) if high < math.inf else 2.0 * low
    return None


def _evaluate(f: Any, u: np.ndarray, jacobian: bool) -> Any:
    """The result of f, or -inf if the density rejects u."""
    try:
        return f(u, jacobian=jacobian)
    except REJECTIONS:
        return -math.inf


def _evaluate_both(model: Any, u: np.ndarray, jacobian: bool) -> tuple[float, np.ndarray]:
    """The log density and its gradient; -inf if one of them is not finite."""
    found = _evaluate(model.log_density_gradient, u, jacobian)
    if found == -math.inf or not (math.isfinite(found[0]) and np.all(np.isfinite(found[1]))):
        return -math.inf, u
    return float(found[0]), found[1]


# ---- what Model's methods call ---------------------------------------------------------------------------------------
@_quietly
def find_mode(
    model: Any, start: Any, seed: Any, jacobian: bool, tolerance: float, max_steps: int, require_converged: bool
) -> Optimum:
    """The result of `Model.optimize`."""
    points = climb(model, _start(model, start, seed), jacobian, tolerance)
    [(steps, point)] = deque(enumerate(itertools.islice(points, max_steps + 1)), maxlen=1)
    allowed = max(tolerance, _ROUNDING * abs(point.value))
    converged = point.gain <= allowed
    reason = f"{steps} steps were not enough" if steps == max_steps else "a line search found no maximum"
    message = f"converged after {steps} steps" if converged else (
        f"not converged: {reason}, and the log density, {point.value:.6g}, would still gain some {point.gain:.2g}"
    )  # fmt: skip
    if require_converged and not converged:
        raise RuntimeError(f"Model.optimize: {message}")
    return Optimum(model.constrain(point.u), point.u, point.value, converged, message, steps, jacobian)


def approximate_at_mode(model: Any, mode: Any, seed: Any, jacobian: bool) -> NormalApproximation:
    """The result of `Model.laplace`."""
    if mode is None:
        mode = model.optimize(seed=seed, jacobian=jacobian)
    if isinstance(mode, Optimum) and mode.jacobian != jacobian:
        fail("Model.laplace", "mode", f"be found with jacobian={jacobian}", f"jacobian={mode.jacobian}")
    u = _start(model, mode.u if isinstance(mode, Optimum) else mode, seed)
    _, gradient, hessian = model.log_density_hessian(u, jacobian=jacobian)
    precision = -0.5 * (hessian + hessian.T)
    curvatures, axes = np.linalg.eigh(precision) if np.all(np.isfinite(precision)) else (np.full(len(u), np.nan), None)
    if len(u) and not curvatures[0] > len(u) * np.finfo(float).eps * curvatures[-1]:
        along = "" if axes is None else f", along {_describe(axes[:, 0], model.param_unc_names())}"
        raise SingularPointError(
            "Model.laplace: the Hessian at the mode is not negative definite (its greatest eigenvalue is "
            f"{-curvatures[0]:.2g}{along}): no maximum, or a direction that the data leave open"
        )
    lower = np.linalg.cholesky(precision)
    inner = linalg().solve_triangular(lower, np.eye(len(u)), lower=True).T
    decrement = float(np.sum((gradient @ inner) ** 2))
    if not decrement <= _MOST_DECREMENT:
        expected = "be a mode of this density: of the same model, data and `jacobian`"
        fail("Model.laplace", "mode", expected, f"one where gradient^T covariance gradient is {decrement:.2g}")
    return NormalApproximation(model, u, np.ones(len(u)), np.eye(len(u)), inner, jacobian)


@_quietly
def follow_path(model: Any, start: Any, seed: Any, elbo_draws: int, max_steps: int) -> NormalApproximation:
    """The result of `Model.pathfinder`."""
    rng = np.random.default_rng(seed)
    best, greatest = None, -math.inf
    for point in itertools.islice(climb(model, _start(model, start, rng), True, 1e-10), max_steps + 1):
        with contextlib.suppress(np.linalg.LinAlgError):  # rounding: the estimate is positive definite
            found = point.inverse.approximate(model, point.u + point.inverse.times(point.gradient), True)
            draws = found.draw(elbo_draws, rng)
            elbo = np.mean(draws.log_p - draws.log_q)
            if elbo > greatest:
                best, greatest = found, elbo
    if best is None:
        raise RuntimeError("Model.pathfinder: no approximation on the path has draws that the model accepts")
    return best


def _start(model: Any, start: Any, seed: Any) -> Any:
    """The unconstrained numbers of values by name, or of a vector; drawn, if there are none."""
    if start is None:
        return model.draw_initial_values(seed)
    u = np.array(model.unconstrain(start) if isinstance(start, Mapping) else start, dtype=np.float64)
    if u.shape != (model.dimension,):
        fail("Model", "start", f"be a vector of {model.dimension} numbers, or values by name", f"shape {u.shape}")
    return u


def _describe(direction: np.ndarray, names: list[str]) -> str:
    """The three greatest parts of a direction."""
    return " ".join(f"{direction[k]:+.2g} {names[k]}" for k in np.argsort(-np.abs(direction))[:3])
