"""Laplace approximations in compiled code: Numba functions that contad differentiates like a user's.

The mode is found with plain numbers. Then steps of Newton's method with a fixed matrix are recorded. They do not change
the mode. Each step makes derivatives of one more order right, and there are enough of them for three orders.
"""

import numpy as np

from contad.compile.machine_code import njit
from contad.distributions.faces import function_of_text
from contad.ops.logic import stop_gradient
from contad.ops.logistic import expit
from contad.stan.densities import bernoulli_logit_lpmf, neg_binomial_2_log_lpmf, poisson_log_lpmf
from contad.stan.functionals import laplace_approximations
from contad.stan.functionals.compiled_functionals import OPTIONS
from contad.stan.functionals.laplace_approximations import ROOT_OF_EPSILON
from contad.transforms.gradients import grad
from contad.transforms.hessians import hvp
from contad.variables.open_types import NumbaFunction

_SYMMETRIC = 1e-8  # tolerance of the symmetry of a covariance, and of zeros beyond the blocks
_ROUNDING = 1e-13  # steps that lower the objective by less than this fraction are accepted


# ---- likelihoods: slopes in theta, and W, the negative Hessian, whose blocks on the diagonal have this size ----------
@njit(**OPTIONS)
def _slopes(f, theta, args):  # type: ignore[no-untyped-def]
    return grad(f)(theta, *args)


@njit(**OPTIONS)
def _curvature(f, theta, args, block):  # type: ignore[no-untyped-def]
    n = len(theta)
    found = np.zeros((n, n))
    for j in range(block):
        unit = np.zeros(n)
        unit[j::block] = 1.0
        column = hvp(f)(theta, *args, unit)
        for i in range(n):
            found[i, i - i % block + j] = -column[i]
    return found


@njit(**OPTIONS)
def _is_blocked(f, theta, args, w):  # type: ignore[no-untyped-def]
    """Whether the Hessian is zero beyond its blocks, which one product shows."""
    probe = 1.0 + (0.6180339887498949 * np.arange(1.0, len(theta) + 1.0)) % 1.0  # without symmetry
    whole, own = hvp(f)(theta, *args, probe), w @ probe
    return np.max(np.abs(whole + own)) <= _SYMMETRIC * (np.max(np.abs(whole)) + np.max(np.abs(own)))


@njit(**OPTIONS)
def _is_diagonal(f, theta, args, w):  # type: ignore[no-untyped-def]
    """That of a sum of terms of one element."""
    return True


@njit(**OPTIONS)
def _poisson_log(theta, y, y_index, m):  # type: ignore[no-untyped-def]
    return poisson_log_lpmf(y, (theta + m)[y_index])


@njit(**OPTIONS)
def _poisson_terms(x, y, args):  # type: ignore[no-untyped-def]
    """The first and second derivatives of the terms in x = theta + m, the second with its sign changed."""
    mean = np.exp(x)
    return y - mean, mean


@njit(**OPTIONS)
def _neg_binomial(theta, y, y_index, eta, m):  # type: ignore[no-untyped-def]
    return neg_binomial_2_log_lpmf(y, (theta + m)[y_index], eta)


@njit(**OPTIONS)
def _neg_binomial_terms(x, y, args):  # type: ignore[no-untyped-def]
    share = expit(x - np.log(args[2]))
    return y - (y + args[2]) * share, (y + args[2]) * share * (1.0 - share)


@njit(**OPTIONS)
def _bernoulli_logit(theta, y, y_index, m):  # type: ignore[no-untyped-def]
    return bernoulli_logit_lpmf(y, (theta + m)[y_index])


@njit(**OPTIONS)
def _bernoulli_terms(x, y, args):  # type: ignore[no-untyped-def]
    share = expit(x)
    return y - share, share * (1.0 - share)


def _make_derivatives(find_terms: NumbaFunction) -> tuple[NumbaFunction, ...]:
    """The slopes and W of a likelihood of counts."""

    @njit(**OPTIONS)
    def slopes(f, theta, args):  # type: ignore[no-untyped-def]
        terms = find_terms((theta + args[-1])[args[1]], args[0], args)[0]
        found = np.zeros(len(theta))
        for i in range(len(terms)):
            found[args[1][i]] += terms[i]
        return found

    @njit(**OPTIONS)
    def curvature(f, theta, args, block):  # type: ignore[no-untyped-def]
        terms = find_terms((theta + args[-1])[args[1]], args[0], args)[1]
        found = np.zeros((len(theta), len(theta)))
        for i in range(len(terms)):
            found[args[1][i], args[1][i]] += terms[i]
        return found

    return slopes, curvature, _is_diagonal


@njit(**OPTIONS)
def _require_places(y, y_index, k):  # type: ignore[no-untyped-def]
    """Refuse observations without the place of an element of theta."""
    if len(y) != len(y_index):
        raise ValueError("laplace: y_index must have as many elements as y")
    for place in y_index:
        if not 0 <= place < len(k):
            raise ValueError("laplace: y_index must be a place of theta")


# ---- the approximation -----------------------------------------------------------------------------------------------
def _make(slopes: NumbaFunction, curvature: NumbaFunction, is_blocked: NumbaFunction) -> dict[str, NumbaFunction]:
    """The marginal likelihood and the draw, by derivatives of the log likelihood."""

    @njit(**OPTIONS)
    def find_mode(f, args, block, k, start, tolerance, max_steps, halvings):  # type: ignore[no-untyped-def]
        """The mode by Newton's method, on plain numbers, with one more step after the gradient is small."""
        n = len(k)
        theta, a, ahead, its = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
        if np.any(start != 0.0):
            a[:] = np.linalg.solve(k + 1e-10 * np.trace(k) * np.eye(n), start)
            theta[:] = k @ a
        objective, is_near, steps = f(theta, *args) - 0.5 * np.sum(a * theta), False, 0
        if not np.isfinite(objective):
            raise ValueError("laplace: log_likelihood must be finite at theta_init")
        while True:
            slope, w = slopes(f, theta, args), curvature(f, theta, args, block)
            if not (np.all(np.isfinite(slope)) and np.all(np.isfinite(w))):
                raise ValueError("laplace: log_likelihood must have finite derivatives")
            if is_near:
                if not is_blocked(f, theta, args, w):
                    raise ValueError("laplace: hessian_block_size must be that of the Hessian of log_likelihood")
                break
            if steps == max_steps:
                raise RuntimeError("laplace: the mode was not found in max_steps steps")
            steps += 1
            residual = slope - a
            a_step = residual - np.linalg.solve(np.eye(n) + w @ k, w @ (k @ residual))
            theta_step = k @ a_step
            small = np.sqrt(np.sum(residual * residual)) <= tolerance * (1.0 + np.sqrt(np.sum(a * a)))
            short = np.sqrt(np.sum(theta_step * theta_step)) <= tolerance * (1.0 + np.sqrt(np.sum(theta * theta)))
            is_near = small or short
            scale, taken, going = 1.0, 0, True
            while going:
                ahead[:], its[:] = theta + scale * theta_step, a + scale * a_step
                value = f(ahead, *args) - 0.5 * np.sum(its * ahead)
                rises = value >= objective - _ROUNDING * (1.0 + abs(objective))
                going = not (rises or (np.isfinite(value) and (is_near or halvings == 0)))
                if going and (taken == halvings or scale < 1e-12):
                    raise RuntimeError("laplace: the mode was not found: no step makes theta more probable")
                if going:
                    scale, taken = 0.5 * scale, taken + 1
            theta[:], a[:], objective = ahead, its, value
        return theta

    @njit(**OPTIONS)
    def prepare(f, args, block, k, start, tolerance, max_steps, solver, halvings):  # type: ignore[no-untyped-def]
        """The mode, after checks of the covariance and of the settings."""
        if k.shape[0] != k.shape[1] or len(k) == 0 or len(start) not in (0, len(k)):
            raise ValueError("laplace: covariance must give a square matrix, and theta_init have its length")
        plain = stop_gradient(k) + 0.0
        if not (np.max(np.abs(plain - plain.T)) <= _SYMMETRIC * np.max(np.abs(plain))):
            raise ValueError("laplace: covariance must be finite and symmetric")
        if block < 1 or len(k) % block != 0:
            raise ValueError("laplace: hessian_block_size must divide the size of theta")
        if not (tolerance > 0.0 and max_steps >= 1 and 1 <= solver <= 3 and halvings >= 0):
            raise ValueError("laplace: settings must be in their ranges")
        return find_mode(f, stop_gradient(args), block, plain, start, tolerance, max_steps, halvings)

    @njit(**OPTIONS)
    def find_marginal(f, args, block, k, start, tolerance, max_steps, solver, halvings):  # type: ignore[no-untyped-def]
        """The approximate log marginal likelihood."""
        theta = prepare(f, args, block, k, start, tolerance, max_steps, solver, halvings)
        n = len(theta)
        plain = stop_gradient(k)
        w = stop_gradient(curvature(f, theta, stop_gradient(args), block))
        fixed = np.linalg.solve(np.eye(n) + plain @ w, np.eye(n))
        z, a = theta + 0.0, np.zeros(n)
        for step in range(4):
            a[:] = slopes(f, z, args)
            if step < 3:
                z[:] = z - fixed @ (z - k @ a)
        log_det = np.linalg.slogdet(np.eye(n) + curvature(f, z, args, block) @ k)[1]
        return f(z, *args) - 0.5 * np.sum(a * z) - 0.5 * log_det

    @njit(**OPTIONS)
    def draw(f, args, block, k, start, tolerance, max_steps, solver, halvings, rng):  # type: ignore[no-untyped-def]
        """A draw of theta: normal around its mode."""
        theta = prepare(f, args, block, k, start, tolerance, max_steps, solver, halvings)
        w = stop_gradient(curvature(f, theta, stop_gradient(args), block))
        plain = stop_gradient(k) + 0.0
        spread = np.linalg.solve(np.eye(len(plain)) + plain @ w, plain)
        values, vectors = np.linalg.eigh(0.5 * (spread + spread.T))
        root = vectors * np.sqrt(np.maximum(values, 0.0)) @ np.ascontiguousarray(vectors.T)
        return theta + root @ rng.standard_normal(len(plain))

    return {"draw": draw, "find_marginal": find_marginal}


# by a part of the name: the log likelihood, unless it is an argument; the first arguments; the functions
_LIKELIHOODS = {
    "poisson_log": (_poisson_log, "y, y_index, m", _make(*_make_derivatives(_poisson_terms))),
    "neg_binomial_2_log": (_neg_binomial, "y, y_index, eta, m", _make(*_make_derivatives(_neg_binomial_terms))),
    "bernoulli_logit": (_bernoulli_logit, "y, y_index, m", _make(*_make_derivatives(_bernoulli_terms))),
    "": (None, "log_likelihood, likelihood_args, hessian_block_size", _make(_slopes, _curvature, _is_blocked)),
}
_SETTINGS = (
    f"theta_init, tol={ROOT_OF_EPSILON!r}, max_steps=500, solver=1, max_steps_linesearch=1000, allow_fallback=True"
)


def _write(name: str) -> NumbaFunction:
    """The function of this name."""
    f, names, made_of = next(row for family, row in _LIKELIHOODS.items() if family in name)
    is_draw, settings = "latent" in name, f", {_SETTINGS}" if "_tol" in name else ""
    taken = "theta_init, tol, max_steps, solver, max_steps_linesearch"
    taken = taken if settings else "np.zeros(0), _TOL, 500, 1, 1000"
    given = f"f, ({names}), 1" if f else names
    text = (
        f"def {name}({names}, covariance, covariance_args{', rng' if is_draw else ''}{settings}):\n"
        f"    k = covariance(*covariance_args)\n"
        f"{'    require_places(y, y_index, k)' if f else ''}\n"
        f"    return run({given}, k, {taken}{', rng' if is_draw else ''})\n"
    )
    run = made_of["draw" if is_draw else "find_marginal"]
    known = {"np": np, "f": f, "require_places": _require_places, "run": run, "_TOL": ROOT_OF_EPSILON}
    made = function_of_text(text, name, known)
    made.__module__ = __name__
    return njit(**OPTIONS)(made)


globals().update({name: _write(name) for name in laplace_approximations.__all__})
