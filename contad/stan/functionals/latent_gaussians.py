"""The Laplace approximation of models with a latent normal vector, as an operation: mode, value and derivatives."""

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import scipy.linalg

from contad.scipy.integrate.integral_operation import OfLeaves, freeze, place_cotangents, replace, require_found
from contad.transforms.gradients import grad, jvp, vjp
from contad.transforms.hessians import hessian_block_diag
from contad.transforms.operation import CustomOperation
from contad.variables import arguments
from contad.variables.arguments import require_positive_size
from contad.variables.array import numbers_in
from contad.variables.creation import array
from contad.variables.number import map_numbers, primal
from contad.variables.open_types import ArrayValue, Function, Nested, Real, Value
from contad.variables.trees import flatten

_SYMMETRIC = 1e-8  # tolerance of the symmetry of a covariance, relative to its largest element
_ROUNDING = 1e-13  # steps that lower the objective by less than this fraction are accepted


class Search(NamedTuple):
    """Settings of the search for the mode."""

    name: str  # name of the function that the user called
    block: int
    start: Nested | None
    tolerance: float
    max_steps: int
    solver: int
    halvings: int
    fallback: bool


class Mode(NamedTuple):
    """The mode theta, a = K^-1 theta, log |I + K W| at the mode, and r = (K + W^-1)^-1, all plain."""

    theta: np.ndarray
    a: np.ndarray
    value: float
    log_det: float
    r: np.ndarray


class LatentModel:
    """The model to approximate, theta ~ normal(0, K), y ~ exp(log_likelihood(theta, params)), at a covariance K."""

    def __init__(self, search: Search, likelihood: Function, args: Sequence[Nested], covariance: Nested) -> None:
        self.search = search
        frozen = freeze(likelihood, search.name)
        self.call, self.later = frozen.call, frozen.later
        self.params = (tuple(args), frozen.captured)
        self.covariance = array(covariance)
        _require_covariance(search.name, self.covariance)
        n = np.shape(self.covariance)[0]
        require_positive_size(search.name, "hessian_block_size", search.block)
        if n % search.block:
            arguments.fail(search.name, "hessian_block_size", f"divide the size of theta, {n}", search.block)
        if search.solver not in (1, 2, 3):
            arguments.fail(search.name, "solver", "be 1, 2 or 3", search.solver)
        if not search.tolerance > 0.0:
            arguments.fail(search.name, "tol", "be positive", search.tolerance)
        require_positive_size(search.name, "max_steps", search.max_steps)
        if search.halvings < 0:
            arguments.fail(search.name, "max_steps_linesearch", "not be negative", search.halvings)

    # ---- the likelihood ----------------------------------------------------------------------------------------------
    def log_likelihood(self, theta: ArrayValue, params: Nested) -> Real:
        """The user's function, with a check of its result."""
        value = self.call((theta,), params)
        if np.shape(value) != ():
            arguments.fail(self.search.name, "log_likelihood", "give a number", f"shape {np.shape(value)}")
        return value

    def gradient(self, theta: ArrayValue, params: Nested) -> ArrayValue:
        """Its derivatives in theta."""
        return grad(lambda t: self.log_likelihood(t, params))(theta)

    def curvature(self, theta: ArrayValue, params: Nested) -> ArrayValue:
        """W, the negative Hessian in theta: its diagonal if blocks are numbers, otherwise the matrix."""
        blocks = -hessian_block_diag(lambda t: self.log_likelihood(t, params), self.search.block)(theta)
        if self.search.block == 1:
            return np.reshape(blocks, (-1,))
        return _assemble(blocks)

    def along(self, theta: ArrayValue, params: Nested, *directions: ArrayValue) -> Real:
        """The derivative of the log likelihood along directions, one after the other."""
        f: Function = lambda t: self.log_likelihood(t, params)  # noqa: E731
        for v in directions:
            f = _along(f, v)
        return f(theta)

    # ---- the operations ----------------------------------------------------------------------------------------------
    def marginal(self) -> Real:
        """The approximate log marginal likelihood.

            z = l(theta) - theta^T K^-1 theta / 2 - log |I + K W| / 2     at the mode theta
        """

        def value(params: Nested, k: ArrayValue) -> tuple[Real, Any]:
            if numbers_in(flatten((params, k)).leaves):
                return self._at(params, k).marginal(), None
            mode = self.find_mode(params, np.asarray(k, float))
            return mode.value - 0.5 * mode.log_det, (mode.theta, mode.a, mode.r)

        def cotangents(params: Nested, k: ArrayValue, saved: Any) -> tuple[Nested, ArrayValue]:
            leaves = [place for n, place in operation.places if n == 0]
            tree = flatten(params)
            if saved is None:
                theta = self._at(params, k).mode()
                a, r = self.gradient(theta, params), self._response(theta, params, k)
            else:
                theta, a, r = saved
            spread = k - k @ r @ k  # (K^-1 + W)^-1
            weights, units = _blocks_of(spread, self.search.block)
            given = [tree.leaves[place] for place in leaves]

            def half_trace(theta: ArrayValue, *inner: Value) -> Real:
                at = replace(tree, leaves, inner)
                return 0.5 * sum(self.along(theta, at, u, w) for u, w in zip(units, weights, strict=True))

            s, *bars = vjp(half_trace, theta, *given)[1](1.0)
            u = s - r @ (k @ s)
            v = k @ u
            outer = np.outer(u, a)
            k_bar = 0.5 * (np.outer(a, a) - r + outer + np.transpose(outer))

            def explicit(*inner: Value) -> Real:
                at = replace(tree, leaves, inner)
                return self.log_likelihood(theta, at) + self.along(theta, at, v)

            more = vjp(explicit, *given)[1](1.0) if leaves else ()
            return place_cotangents(tree, leaves, [x + y for x, y in zip(bars, more, strict=True)]), k_bar

        def pull(args: Sequence[Any], saved: Any, z: Real, z_bar: Real) -> Sequence[Nested]:
            params_bar, k_bar = cotangents(args[0], args[1], saved)
            tree = flatten(params_bar)
            return tree.unflatten([z_bar * x for x in tree.leaves]), z_bar * k_bar

        def push(args: Sequence[Any], saved: Any, z: Real, tangents: Sequence[Any]) -> Real:
            params_bar, k_bar = cotangents(args[0], args[1], saved)
            total = np.sum(k_bar * tangents[1])
            pairs = zip(flatten(params_bar).leaves, flatten(tangents[0]).leaves, strict=True)
            active = {place for n, place in operation.places if n == 0}
            return total + sum(np.sum(x * dot) for place, (x, dot) in enumerate(pairs) if place in active)

        operation = CustomOperation(
            self.search.name, (self.params, self.covariance), value, pull, push, [], self.later
        )
        return operation.perform()

    def mode(self) -> ArrayValue:
        """theta, where K grad l = theta: (I + K W) theta_dot = K_dot a + K (grad l)_p p_dot."""

        def value(params: Nested, k: ArrayValue) -> tuple[ArrayValue, Any]:
            if numbers_in(flatten((params, k)).leaves):
                return self._at(params, k).mode(), None
            mode = self.find_mode(params, np.asarray(k, float))
            return mode.theta, mode.r

        def pull(args: Sequence[Any], saved: Any, theta: ArrayValue, z_bar: ArrayValue) -> Sequence[Nested]:
            params, k = args
            r = self._response(theta, params, k) if saved is None else saved
            u = z_bar - r @ (k @ z_bar)
            outer = np.outer(u, self.gradient(theta, params))
            leaves = [place for n, place in operation.places if n == 0]
            tree = flatten(params)

            def slope(*inner: Value) -> Real:
                return self.along(theta, replace(tree, leaves, inner), k @ u)

            bars = vjp(slope, *(tree.leaves[place] for place in leaves))[1](1.0) if leaves else ()
            return place_cotangents(tree, leaves, bars), 0.5 * (outer + np.transpose(outer))

        def push(args: Sequence[Any], saved: Any, theta: ArrayValue, tangents: Sequence[Any]) -> ArrayValue:
            params, k = args
            r = self._response(theta, params, k) if saved is None else saved
            moved = tangents[1] @ self.gradient(theta, params)
            leaves = [place for n, place in operation.places if n == 0]
            if leaves:
                tree, dots = flatten(params), flatten(tangents[0]).leaves
                of_leaves = OfLeaves(lambda point, p: self.gradient(point[0], p), (theta,), tree, leaves)
                given = [tree.leaves[place] for place in leaves]
                moved = moved + k @ jvp(of_leaves, given, [dots[place] for place in leaves])[1]
            return moved - k @ (r @ moved)

        operation = CustomOperation(
            self.search.name, (self.params, self.covariance), value, pull, push, [], self.later
        )
        return operation.perform()

    def _at(self, params: Nested, k: ArrayValue) -> "LatentModel":
        """The same model at other values of its parameters."""
        other = object.__new__(LatentModel)
        other.search, other.call, other.later = self.search, self.call, self.later
        other.params, other.covariance = params, k
        return other

    def _response(self, theta: ArrayValue, params: Nested, k: ArrayValue) -> ArrayValue:
        """(K + W^-1)^-1 on values of any level: (I + W K)^-1 W."""
        w = self.curvature(theta, params)
        w = np.diag(w) if np.ndim(w) == 1 else w
        return np.linalg.solve(np.eye(np.shape(k)[0]) + w @ k, w)

    # ---- Newton's method ---------------------------------------------------------------------------------------------
    def find_mode(self, params: Nested, k: np.ndarray) -> Mode:
        """The mode by Newton's method, on plain values, with one more step after the gradient is small."""
        search = self.search
        theta, a = self._start(k)
        objective = self._objective(theta, a, params)
        if not np.isfinite(objective):
            arguments.fail(search.name, "log_likelihood", "be finite at theta_init", objective)
        is_near = False
        for _ in range(search.max_steps):
            slope, w = self._expand(theta, params)
            log_det, r = self._factor(k, w)
            if is_near:
                self._require_blocks(theta, params, w)
                return Mode(theta, slope, objective, log_det, r)
            residual = slope - a
            a_step = residual - r @ (k @ residual)
            theta_step = k @ a_step
            is_near = bool(
                np.linalg.norm(residual) <= search.tolerance * (1.0 + np.linalg.norm(a))
                or np.linalg.norm(theta_step) <= search.tolerance * (1.0 + np.linalg.norm(theta))
            )
            scale, taken = 1.0, 0
            while True:
                ahead = theta + scale * theta_step, a + scale * a_step
                value = self._objective(*ahead, params)
                if value >= objective - _ROUNDING * (1.0 + abs(objective)) or (is_near and np.isfinite(value)):
                    break
                if taken == search.halvings:
                    if search.halvings == 0 and np.isfinite(value):
                        break
                    self._fail(f"no step from theta = {theta} makes it more probable")
                scale, taken = 0.5 * scale, taken + 1
                if scale < 1e-12:
                    self._fail(f"no step from theta = {theta} makes it more probable")
            (theta, a), objective = ahead, value
        self._fail(f"not in {search.max_steps} steps; the gradient is {np.linalg.norm(residual):.2g}")

    def _start(self, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n, start = len(k), self.search.start
        if start is None:
            return np.zeros(n), np.zeros(n)
        theta = np.array(map_numbers(primal, array(start)), float)
        if theta.shape != (n,):
            arguments.fail(self.search.name, "theta_init", f"have {n} numbers", f"shape {theta.shape}")
        if not theta.any():
            return theta, np.zeros(n)
        a = np.linalg.lstsq(k, theta)[0]
        return k @ a, a

    def _objective(self, theta: np.ndarray, a: np.ndarray, params: Nested) -> float:
        value = self.log_likelihood(theta, params)
        require_found(self.search.name, "log_likelihood", value)
        return float(value) - 0.5 * float(a @ theta)

    def _expand(self, theta: np.ndarray, params: Nested) -> tuple[np.ndarray, np.ndarray]:
        slope, w = (np.asarray(x(theta, params), float) for x in (self.gradient, self.curvature))
        if not (np.isfinite(slope).all() and np.isfinite(w).all()):
            arguments.fail(self.search.name, "log_likelihood", "have finite derivatives", f"others at theta = {theta}")
        return slope, w

    def _require_blocks(self, theta: np.ndarray, params: Nested, w: np.ndarray) -> None:
        """Raise if the Hessian has entries outside the declared blocks, which one product shows."""
        n = len(theta)
        if self.search.block == n:
            return
        probe = 1.0 + np.modf(np.arange(1.0, n + 1.0) * 0.6180339887498949)[0]  # without symmetry
        whole = np.asarray(_along(lambda t: self.gradient(t, params), probe)(theta), float)
        blocks = w * probe if w.ndim == 1 else w @ probe
        scale = np.max(np.abs(whole)) + np.max(np.abs(blocks))
        if np.max(np.abs(whole + blocks)) > _SYMMETRIC * scale:
            arguments.fail(
                self.search.name, "hessian_block_size", "be that of the blocks on the diagonal of the Hessian of "
                "log_likelihood, beyond which it is zero", f"{self.search.block}, and elements beyond",
            )  # fmt: skip

    def _factor(self, k: np.ndarray, w: np.ndarray) -> tuple[float, np.ndarray]:
        """log |I + K W| and (K + W^-1)^-1 by the solver, or by a more general one if it fails."""
        solvers = (_by_curvature, _by_covariance, _by_lu)[self.search.solver - 1 :]
        for solve in solvers if self.search.fallback else solvers[:1]:
            try:
                log_det, r = solve(k, w, self.search.block)
            except np.linalg.LinAlgError:
                continue
            return log_det, 0.5 * (r + r.T)
        reasons = {1: "the negative Hessian of log_likelihood", 2: "the covariance", 3: "I + K W"}
        self._fail(
            f"{reasons[3 if self.search.fallback else self.search.solver]} has no decomposition: not positive definite"
        )

    def _fail(self, reason: str) -> NoReturn:
        raise RuntimeError(f"{self.search.name}: the mode was not found: {reason}")


# ---- decompositions --------------------------------------------------------------------------------------------------
def _by_curvature(k: np.ndarray, w: np.ndarray, block: int) -> tuple[float, np.ndarray]:
    """By W = C C^T and the Cholesky factor of I + C^T K C."""
    if w.ndim == 1:
        if not (w >= 0.0).all():
            raise np.linalg.LinAlgError
        c = np.sqrt(w)
        inner, right = c[:, None] * k * c, np.diag(c)
    else:
        n = len(k)
        blocks = np.stack([w[i : i + block, i : i + block] for i in range(0, n, block)])
        root = _assemble(np.linalg.cholesky(blocks))
        inner, right = root.T @ k @ root, root.T
    factor = np.linalg.cholesky(np.eye(len(k)) + inner)
    half = scipy.linalg.solve_triangular(factor, right, lower=True)
    return 2.0 * float(np.sum(np.log(np.diagonal(factor)))), half.T @ half


def _by_covariance(k: np.ndarray, w: np.ndarray, block: int) -> tuple[float, np.ndarray]:
    """By K = L L^T and the Cholesky factor of I + L^T W L."""
    w = np.diag(w) if w.ndim == 1 else w
    lower = np.linalg.cholesky(k)
    factor = np.linalg.cholesky(np.eye(len(k)) + lower.T @ w @ lower)
    half = scipy.linalg.solve_triangular(factor, lower.T @ w, lower=True)
    return 2.0 * float(np.sum(np.log(np.diagonal(factor)))), w - half.T @ half


def _by_lu(k: np.ndarray, w: np.ndarray, block: int) -> tuple[float, np.ndarray]:
    """By the LU decomposition of I + W K."""
    w = np.diag(w) if w.ndim == 1 else w
    sign, log_det = np.linalg.slogdet(matrix := np.eye(len(k)) + w @ k)
    if sign <= 0.0:
        raise np.linalg.LinAlgError
    return float(log_det), np.linalg.solve(matrix, w)


# ---- blocks ----------------------------------------------------------------------------------------------------------
def _assemble(blocks: ArrayValue) -> ArrayValue:
    """The block-diagonal matrix of these blocks."""
    count, size = np.shape(blocks)[:2]
    n = count * size
    if count == 1:
        return blocks[0]
    spread = np.reshape(np.eye(count), (count, 1, count, 1)) * np.reshape(blocks, (count, size, 1, size))
    return np.reshape(spread, (n, n))


def _blocks_of(matrix: ArrayValue, size: int) -> tuple[list[ArrayValue], list[np.ndarray]]:
    """Pairs of vectors v, u with tr(matrix H) = sum of v^T H u for every H with such blocks."""
    n = np.shape(matrix)[0]
    if size == 1:
        return [np.diagonal(matrix)], [np.ones(n)]
    own = np.kron(np.eye(n // size), np.ones((size, size)))
    units = [np.tile(np.eye(size)[k], n // size) for k in range(size)]
    return [(matrix * own) @ u for u in units], units


def _along(f: Function, v: ArrayValue) -> Function:
    return lambda t: jvp(f, (t,), (v,))[1]


def _require_covariance(name: str, k: ArrayValue) -> None:
    if np.ndim(k) != 2 or np.shape(k)[0] != np.shape(k)[1] or not np.size(k):
        arguments.fail(name, "covariance", "give a square matrix", f"shape {np.shape(k)}")
    plain = np.asarray(map_numbers(primal, k), float)
    if not np.isfinite(plain).all():
        arguments.fail(name, "covariance", "be finite", plain[~np.isfinite(plain)][0])
    if np.max(np.abs(plain - plain.T)) > _SYMMETRIC * np.max(np.abs(plain)):
        arguments.fail(name, "covariance", "be symmetric", f"a difference of {np.max(np.abs(plain - plain.T)):.2g}")
