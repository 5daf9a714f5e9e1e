"""The log likelihood of observations by a Kalman filter, with np.linalg in each of many steps."""

from typing import Any

import numpy as np
from numba import njit

from benchmarks.comparison import in_numpy as by_calls, shaped
from benchmarks.comparison.program import Program, Run
from benchmarks.comparison.written import IDIOMS

ARGNUMS = (0, 1, 2)


def inputs(states: int, steps: int) -> tuple[Any, ...]:
    """The transition, the covariances of its noise and of the observations, the matrix observed with, and the data."""
    rng = np.random.default_rng(83)
    observed = max(1, states // 2)
    transition = 0.9 * np.eye(states) + 0.05 * rng.normal(size=(states, states))
    seen_with = rng.normal(size=(observed, states))
    return transition, 0.1 * np.eye(states), 0.2 * np.eye(observed), seen_with, rng.normal(size=(steps, observed))


def over_arrays(np: Any) -> Any:
    def f(transition: Any, noise: Any, error: Any, seen_with: Any, y: Any) -> Any:
        n = transition.shape[0]
        x, p, value = np.zeros(n), np.eye(n), 0.0
        for t in range(y.shape[0]):
            x = transition @ x
            p = transition @ p @ transition.T + noise
            surprise = y[t] - seen_with @ x
            spread = seen_with @ p @ seen_with.T + error
            inverse = np.linalg.inv(spread)
            gain = p @ seen_with.T @ inverse
            x = x + gain @ surprise
            p = p - gain @ (seen_with @ p)
            value = value - 0.5 * (surprise @ (inverse @ surprise) + np.log(np.linalg.det(spread)))
        return value

    return f


in_numpy = over_arrays(np)


@njit
def compiled(transition, noise, error, seen_with, y):
    n = transition.shape[0]
    x, p, value = np.zeros(n), np.eye(n), 0.0
    for t in range(y.shape[0]):
        x = transition @ x
        p = transition @ p @ transition.T + noise
        surprise = y[t] - seen_with @ x
        spread = seen_with @ p @ seen_with.T + error
        inverse = np.linalg.inv(spread)
        gain = p @ seen_with.T @ inverse
        x = x + gain @ surprise
        p = p - gain @ (seen_with @ p)
        value -= 0.5 * (surprise @ (inverse @ surprise) + np.log(np.linalg.det(spread)))
    return value


# ---- by hand: products of small matrices in loops, which take less time than calls of BLAS --------------------------
@njit
def dot(a, b):
    m, n = a.shape[0], b.shape[1]
    z = np.zeros((m, n))
    for i in range(m):
        for j in range(a.shape[1]):
            for k in range(n):
                z[i, k] += a[i, j] * b[j, k]
    return z


@njit
def act(a, x):
    z = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            z[i] += a[i, j] * x[j]
    return z


@njit
def turn(a):
    z = np.empty((a.shape[1], a.shape[0]))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            z[j, i] = a[i, j]
    return z


@njit
def add_outer(c, x, y, z):
    for i in range(x.size):
        for j in range(y.size):
            z[i, j] += c * x[i] * y[j]


@njit
def add(c, a, z):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            z[i, j] += c * a[i, j]


@njit
def by_hand(transition, noise, error, seen_with, y):
    """The states before each step are kept, and what a step computes of them is computed once more."""
    n, m, steps = transition.shape[0], error.shape[0], y.shape[0]
    xs, ps = np.zeros((steps, n)), np.zeros((steps, n, n))
    inverses, logarithms = np.empty((steps, m, m)), 0.0
    f, h = transition, seen_with
    ft, ht = turn(f), turn(h)
    x, p = np.zeros(n), np.eye(n)
    value = 0.0
    for t in range(steps):
        xs[t] = x
        ps[t] = p
        x = act(f, x)
        p = dot(dot(f, p), ft)
        add(1.0, noise, p)
        surprise = y[t] - act(h, x)
        seen = dot(h, p)
        spread = dot(seen, ht)
        add(1.0, error, spread)
        inverse = np.linalg.inv(spread)
        inverses[t] = inverse
        logarithms += np.log(np.linalg.det(spread))
        solved = act(inverse, surprise)
        x = x + act(p, act(ht, solved))
        p = p - dot(dot(p, ht), dot(inverse, seen))
        value -= 0.5 * (surprise @ solved)
    f_bar, noise_bar, error_bar = np.zeros((n, n)), np.zeros((n, n)), np.zeros((m, m))
    x_bar, p_bar = np.zeros(n), np.zeros((n, n))
    for t in range(steps - 1, -1, -1):
        before, inverse = ps[t], inverses[t]
        moved = act(f, xs[t])
        p = dot(dot(f, before), ft)
        add(1.0, noise, p)
        surprise = y[t] - act(h, moved)
        pt, it = turn(p), turn(inverse)
        solved = act(inverse, surprise)
        bar = p_bar.copy()  # of p before the update
        seen_p, p_seen = dot(h, p), dot(p, ht)
        add(-1.0, dot(p_bar, turn(dot(ht, dot(inverse, seen_p)))), bar)
        add(-1.0, dot(turn(dot(dot(p_seen, inverse), h)), p_bar), bar)
        inverse_bar = dot(dot(turn(p_seen), p_bar), turn(seen_p))
        for i in range(m):
            for j in range(m):
                inverse_bar[i, j] = -inverse_bar[i, j]
        add_outer(1.0, x_bar, act(ht, solved), bar)
        of_seen = act(h, act(pt, x_bar))
        add_outer(1.0, of_seen, surprise, inverse_bar)
        add_outer(-0.5, surprise, surprise, inverse_bar)
        surprise_bar = act(it, of_seen)
        surprise_bar -= 0.5 * (solved + act(it, surprise))
        spread_bar = dot(dot(it, inverse_bar), it)
        for i in range(m):
            for j in range(m):
                spread_bar[i, j] = -spread_bar[i, j] - 0.5 * it[i, j]
        add(1.0, spread_bar, error_bar)
        add(1.0, dot(dot(ht, spread_bar), h), bar)
        moved_bar = x_bar - act(ht, surprise_bar)
        add_outer(1.0, moved_bar, xs[t], f_bar)
        x_bar = act(ft, moved_bar)
        add(1.0, bar, noise_bar)
        add(1.0, dot(dot(bar, f), turn(before)), f_bar)
        add(1.0, dot(dot(turn(bar), f), before), f_bar)
        p_bar = dot(dot(ft, bar), f)
    return value - 0.5 * logarithms, (f_bar, noise_bar, error_bar)


def jax(*args: Any) -> Run:
    from jax.lax import scan

    def write(np: Any) -> Any:
        def f(transition: Any, noise: Any, error: Any, seen_with: Any, y: Any) -> Any:
            def step(state: Any, seen: Any) -> Any:
                x, p = state
                x = transition @ x
                p = transition @ p @ transition.T + noise
                surprise = seen - seen_with @ x
                spread = seen_with @ p @ seen_with.T + error
                inverse = np.linalg.inv(spread)
                gain = p @ seen_with.T @ inverse
                value = -0.5 * (surprise @ (inverse @ surprise) + np.log(np.linalg.det(spread)))
                return (x + gain @ surprise, p - gain @ (seen_with @ p)), value

            n = transition.shape[0]
            return scan(step, (np.zeros(n), np.eye(n)), y)[1].sum()

        return f

    return shaped.with_jax(write, ARGNUMS)(*args)


def torch(*args: Any) -> Run:
    def write(torch: Any) -> Any:
        class Names:  # as NumPy has them, in float64
            linalg, log = torch.linalg, torch.log

            @staticmethod
            def zeros(n: int) -> Any:
                return torch.zeros(n, dtype=torch.float64)

            @staticmethod
            def eye(n: int) -> Any:
                return torch.eye(n, dtype=torch.float64)

        return over_arrays(Names)

    return shaped.with_torch(write, ARGNUMS)(*args)


REMARKS = (
    "In compiled derivatives systems of up to eight rows are loops, and so are the products in a loop, in `record`, "
    "too, which calls a kernel for each; `matrix` pays for some thirty operations in each step: to record a product of "
    "small matrices takes 0.5 us, where NumPy's call takes 1, a sum 0.2, an inverse or a determinant 3 to 5, as the "
    "call of NumPy's does. All of it is swept by compiled code."
)

PROGRAM = Program(
    name="kalman",
    about="log likelihood of y_t = H x_t + e, x_t = F x_t-1 + w, by a Kalman filter with np.linalg.inv and det",
    sizes={
        "small": {"states": 2, "steps": 20}, "medium": {"states": 2, "steps": 1000},
        "large": {"states": 6, "steps": 1000},
    },
    inputs=inputs,
    argnums=ARGNUMS,
    primal=compiled,
    by_hand=by_hand,
    in_numpy=by_calls.kalman,
    contad=shaped.on_compiled(compiled, ARGNUMS) | shaped.on_eager(in_numpy, ARGNUMS),
    peers={"autograd": shaped.with_autograd(over_arrays, ARGNUMS), "jax": jax, "torch": torch},
    idioms={name: IDIOMS[name] for name in ("autograd", "torch")} | {
        "jax": IDIOMS["jax"] + "; lax.scan over the steps (docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html)",
    },
    remarks=REMARKS,
)  # fmt: skip
