"""Array functions to differentiate, each written once for every library, with its gradient by hand in NumPy.

A program takes the module that holds its functions (`numpy`, `autograd.numpy`, `jax.numpy` or `torch`) and returns the
function to differentiate; so all libraries run the same lines. Chains stand where a step neither shrinks nor grows a
derivative much, so that adjoints stay alive.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

Program = Callable[[Any], Callable[..., Any]]
ByHand = Callable[..., tuple[float, tuple[Any, ...]]]


class ArrayWorkload(NamedTuple):
    """A function of arrays and numbers, where to differentiate it, and the same derivative by hand."""

    name: str
    program: Program
    by_hand: ByHand  # value and gradient, from point and data
    point: tuple[Any, ...]  # what is differentiated
    data: tuple[Any, ...] = ()  # further arguments, constant

    @property
    def argnums(self) -> tuple[int, ...]:
        """The arguments that are differentiated."""
        return tuple(range(len(self.point)))


class Chain(NamedTuple):
    """A program of many equal steps, to see what one NumPy call costs."""

    step: str  # its source
    calls: int  # NumPy calls, scalar operations, element reads and slices in a step
    work: Callable[[int], ArrayWorkload]  # from the number of steps


# ---- chains on small arrays ------------------------------------------------------------------------------------------
def _chain(step: str, calls: int, program: Callable[[int], Program], by_hand: Callable[[int], ByHand], *point: Any):
    return Chain(step, calls, lambda steps: ArrayWorkload(step, program(steps), by_hand(steps), point))


def _multiply() -> Chain:
    def program(steps):
        def written(np):
            def f(x, y):
                for _ in range(steps):
                    x = x * y
                return np.sum(x)

            return f

        return written

    def by_hand(steps):
        def gradient(x, y):
            states = []
            for _ in range(steps):
                states.append(x)
                x = x * y
            x_bar, y_bar = np.ones(3), np.zeros(3)
            for state in reversed(states):
                y_bar = y_bar + x_bar * state
                x_bar = x_bar * y
            return np.sum(x), (x_bar, y_bar)

        return gradient

    x, y = np.array([0.7, -1.2, 0.4]), np.array([1.0005, 0.9993, 1.001])
    return _chain("x = x * y", 1, program, by_hand, x, y)


def _add_constant() -> Chain:
    def program(steps):
        def written(np):
            def f(x):
                for _ in range(steps):
                    x = x + 0.5
                return np.sum(x * x)

            return f

        return written

    def by_hand(steps):
        def gradient(x):
            for _ in range(steps):
                x = x + 0.5
            return np.sum(x * x), (2.0 * x,)

        return gradient

    return _chain("x = x + 0.5", 1, program, by_hand, np.array([0.7, -1.2, 0.4]))


def _scale() -> Chain:
    def program(steps):
        def written(np):
            def f(x, s):
                for _ in range(steps):
                    x = s * x
                return np.sum(x)

            return f

        return written

    def by_hand(steps):
        def gradient(x, s):
            states = []
            for _ in range(steps):
                states.append(x)
                x = s * x
            x_bar, s_bar = np.ones(3), 0.0
            for state in reversed(states):
                s_bar += np.sum(x_bar * state)
                x_bar = s * x_bar
            return np.sum(x), (x_bar, s_bar)

        return gradient

    return _chain("x = s * x, s a number", 1, program, by_hand, np.array([0.7, -1.2, 0.4]), 1.0007)


def _multiply_constant() -> Chain:
    c = np.array([1.0005, 0.9993, 1.001])

    def program(steps):
        def f(x, c):
            for _ in range(steps):
                x = c * x
            return x @ x

        return lambda np: f

    def by_hand(steps):
        def gradient(x, c):
            for _ in range(steps):
                x = c * x
            value = x @ x
            x_bar = 2.0 * x
            for _ in range(steps):
                x_bar = c * x_bar
            return value, (x_bar,)

        return gradient

    name, x = "x = c * x, c constant", np.array([0.7, -1.2, 0.4])
    return Chain(name, 1, lambda steps: ArrayWorkload(name, program(steps), by_hand(steps), (x,), (c,)))


def _exp() -> Chain:
    def program(steps):
        def written(np):
            def f(x):
                for _ in range(steps):
                    x = np.exp(x - 1.0)
                return np.sum(x)

            return f

        return written

    def by_hand(steps):
        def gradient(x):
            states = []
            for _ in range(steps):
                x = np.exp(x - 1.0)
                states.append(x)
            x_bar = np.ones(3)
            for state in reversed(states):
                x_bar = x_bar * state
            return np.sum(x), (x_bar,)

        return gradient

    # 1 is a fixed point of slope 1, approached like 1 - 2 / steps
    return _chain("x = np.exp(x - 1.0)", 2, program, by_hand, np.array([0.8, 0.9, 0.95]))


def _sum() -> Chain:
    def program(steps):
        def written(np):
            def f(x):
                t = np.sum(x)
                for _ in range(steps - 1):
                    t = t + np.sum(x)
                return t * t

            return f

        return written

    def by_hand(steps):
        def gradient(x):
            t = 0.0
            for _ in range(steps):
                t = t + np.sum(x)
            x_bar = np.zeros(3)
            for _ in range(steps):
                x_bar = x_bar + 2.0 * t
            return t * t, (x_bar,)

        return gradient

    return _chain("t = t + np.sum(x)", 2, program, by_hand, np.array([0.7, -1.2, 0.4]))


def _dot() -> Chain:
    def program(steps):
        def written(np):
            def f(x, y):
                t = np.dot(x, y)
                for _ in range(steps - 1):
                    t = t + np.dot(x, y)
                return t * t

            return f

        return written

    def by_hand(steps):
        def gradient(x, y):
            t = 0.0
            for _ in range(steps):
                t = t + np.dot(x, y)
            x_bar, y_bar = np.zeros(3), np.zeros(3)
            for _ in range(steps):
                x_bar = x_bar + 2.0 * t * y
                y_bar = y_bar + 2.0 * t * x
            return t * t, (x_bar, y_bar)

        return gradient

    x, y = np.array([0.7, -1.2, 0.4]), np.array([0.3, 0.5, -0.9])
    return _chain("t = t + np.dot(x, y)", 2, program, by_hand, x, y)


def _slices() -> Chain:
    def program(steps):
        def written(np):
            def f(x):
                t = x[1:] * x[:-1]
                for _ in range(steps - 1):
                    t = t + x[1:] * x[:-1]
                return np.sum(t)

            return f

        return written

    def by_hand(steps):
        def gradient(x):
            t = np.zeros(2)
            for _ in range(steps):
                t = t + x[1:] * x[:-1]
            x_bar, t_bar = np.zeros(3), np.ones(2)
            for _ in range(steps):
                x_bar[1:] += t_bar * x[:-1]
                x_bar[:-1] += t_bar * x[1:]
            return np.sum(t), (x_bar,)

        return gradient

    return _chain("t = t + x[1:] * x[:-1]", 4, program, by_hand, np.array([0.7, -1.2, 0.4]))


def _matmul() -> Chain:
    def program(steps):
        def written(np):
            def f(a, b):
                for _ in range(steps):
                    a = np.matmul(a, b)
                return np.sum(a)

            return f

        return written

    def by_hand(steps):
        def gradient(a, b):
            states = []
            for _ in range(steps):
                states.append(a)
                a = np.matmul(a, b)
            a_bar, b_bar = np.ones((3, 3)), np.zeros((3, 3))
            for state in reversed(states):
                b_bar = b_bar + np.matmul(state.T, a_bar)
                a_bar = np.matmul(a_bar, b.T)
            return np.sum(a), (a_bar, b_bar)

        return gradient

    a = np.array([[0.7, -1.2, 0.4], [0.3, 0.5, -0.9], [1.1, 0.2, -0.6]])
    c, s = 0.8, 0.6  # b is a rotation, which keeps lengths
    b = np.array([[c, s, 0.0], [-s * c, c * c, s], [s * s, -s * c, c]])
    return _chain("a = np.matmul(a, b)", 1, program, by_hand, a, b)


def element_writes(size: int) -> Chain:
    """x[i] = v, over and over, into an array of `size` elements; v is a number that is differentiated too."""

    def program(steps):
        indices = [k % (size - 1) for k in range(steps)]  # all but the last element, so that x keeps a derivative

        def written(np):
            def f(x, v):
                x = x + 0.0  # a fresh array in every library
                for i in indices:
                    x[i] = v
                return np.sum(x * x)

            return f

        return written

    def by_hand(steps):
        indices = [k % (size - 1) for k in range(steps)]

        def gradient(x, v):
            x = x + 0.0
            for i in indices:
                x[i] = v
            x_bar, v_bar = 2.0 * x, 0.0
            for i in reversed(indices):
                v_bar += x_bar[i]
                x_bar[i] = 0.0
            return np.sum(x * x), (x_bar, v_bar)

        return gradient

    name = "x[i] = v" if size == 3 else f"x[i] = v, size {size}"
    return _chain(name, 1, program, by_hand, 0.5 + np.arange(size) / size, 0.8)


def _read() -> Chain:
    def program(steps):
        indices = [k % 3 for k in range(steps)]

        def written(np):
            def f(x):
                for i in indices:
                    t = x[i]
                return t * t

            return f

        return written

    def by_hand(steps):
        indices = [k % 3 for k in range(steps)]

        def gradient(x):
            for i in indices:
                t = x[i]
            x_bar = np.zeros(3)
            x_bar[i] = 2.0 * t
            return t * t, (x_bar,)

        return gradient

    return _chain("t = x[i]", 1, program, by_hand, np.array([0.7, -1.2, 0.4]))


def _read_and_add() -> Chain:
    def program(steps):
        indices = [k % 3 for k in range(steps)]

        def written(np):
            def f(x):
                t = 0.0
                for i in indices:
                    t = t + x[i]
                return t * t

            return f

        return written

    def by_hand(steps):
        indices = [k % 3 for k in range(steps)]

        def gradient(x):
            t = 0.0
            for i in indices:
                t = t + x[i]
            x_bar = np.zeros(3)
            for i in indices:
                x_bar[i] += 2.0 * t
            return t * t, (x_bar,)

        return gradient

    return _chain("t = t + x[i]", 2, program, by_hand, np.array([0.7, -1.3, 0.4]))


def chains() -> Sequence[Chain]:
    """One chain for every kind of call, on arrays of three numbers."""
    return (
        _multiply(), _add_constant(), _scale(), _multiply_constant(), _exp(), _sum(), _dot(), _slices(), _matmul(),
        element_writes(3), _read(), _read_and_add(),
    )  # fmt: skip


# ---- whole gradients -------------------------------------------------------------------------------------------------
def first_element() -> ArrayWorkload:
    """x[0]: what a gradient costs where there is nothing to do."""

    def by_hand(x):
        x_bar = np.zeros_like(x)
        x_bar[0] = 1.0
        return x[0], (x_bar,)

    return ArrayWorkload("x[0]", lambda np: lambda x: x[0], by_hand, (np.array([0.7, -1.2, 0.4]),))


def logistic_regression(rows: int, columns: int, seed: int = 3) -> ArrayWorkload:
    """Log posterior of logistic regression with a standard normal prior."""

    def program(np):
        def f(beta, x, y):
            eta = x @ beta
            return np.sum(y * eta - np.log1p(np.exp(eta))) - 0.5 * np.sum(beta * beta)

        return f

    def by_hand(beta, x, y):
        eta = x @ beta
        e = np.exp(eta)
        value = np.sum(y * eta - np.log1p(e)) - 0.5 * np.sum(beta * beta)
        return value, ((y - e / (1.0 + e)) @ x - beta,)

    draw = np.random.default_rng(seed)
    x = draw.normal(size=(rows, columns))
    true = draw.normal(size=columns) / np.sqrt(columns)
    y = np.where(draw.uniform(size=rows) < 1.0 / (1.0 + np.exp(-x @ true)), 1.0, 0.0)
    beta = true + 0.1 * draw.normal(size=columns)
    return ArrayWorkload(f"logistic regression {rows} x {columns}", program, by_hand, (beta,), (x, y))


def stochastic_volatility(steps: int, seed: int = 5) -> ArrayWorkload:
    """Log posterior of the stochastic volatility model of the Stan User's Guide, centred, by slices.

    h[0] ~ normal(mu, sigma / sqrt(1 - phi^2)), h[t] ~ normal(mu + phi (h[t-1] - mu), sigma), y ~ normal(0, exp(h / 2)).
    """

    def program(np):
        def f(h, mu, phi, sigma, y):
            first = h[0] - mu
            innovation = h[1:] - mu - phi * (h[:-1] - mu)
            q = 1.0 - phi * phi
            prior = 0.5 * np.log(q) - np.log(1.0 + mu * mu / 100.0) - np.log(1.0 + sigma * sigma / 25.0)
            squares = q * first * first + np.sum(innovation * innovation)
            states = -0.5 * squares / (sigma * sigma) - h.shape[0] * np.log(sigma)
            return prior + states - 0.5 * np.sum(h + y * y * np.exp(-h))

        return f

    def by_hand(h, mu, phi, sigma, y):
        centred = h - mu
        first = centred[0]
        innovation = centred[1:] - phi * centred[:-1]
        q, w = 1.0 - phi * phi, 1.0 / (sigma * sigma)
        squares = q * first * first + innovation @ innovation
        scaled = y * y * np.exp(-h)
        prior = 0.5 * np.log(q) - np.log(1.0 + mu * mu / 100.0) - np.log(1.0 + sigma * sigma / 25.0)
        value = prior - 0.5 * w * squares - len(h) * np.log(sigma) - 0.5 * np.sum(h + scaled)
        pull = w * innovation
        h_bar = 0.5 * (scaled - 1.0)
        h_bar[1:] -= pull
        h_bar[:-1] += phi * pull
        h_bar[0] -= w * q * first
        mu_bar = (1.0 - phi) * np.sum(pull) + w * q * first - 2.0 * mu / (100.0 + mu * mu)
        phi_bar = pull @ centred[:-1] + w * phi * first * first - phi / q
        sigma_bar = (w * squares - len(h)) / sigma - 2.0 * sigma / (25.0 + sigma * sigma)
        return value, (h_bar, mu_bar, phi_bar, sigma_bar)

    draw = np.random.default_rng(seed)
    mu, phi, sigma = -1.02, 0.95, 0.25
    h = np.empty(steps)
    h[0] = mu + sigma / np.sqrt(1.0 - phi * phi) * draw.normal()
    for t in range(1, steps):
        h[t] = mu + phi * (h[t - 1] - mu) + sigma * draw.normal()
    y = np.exp(h / 2.0) * draw.normal(size=steps)
    h += 0.1 * draw.normal(size=steps)
    return ArrayWorkload(f"stochastic volatility {steps}", program, by_hand, (h, -0.9, 0.9, 0.3), (y,))


def log_sum_exp(size: int, seed: int = 7) -> ArrayWorkload:
    """log sum exp, shifted by the maximum."""

    def program(np):
        def f(x):
            m = np.max(x)
            return m + np.log(np.sum(np.exp(x - m)))

        return f

    def by_hand(x):
        m = np.max(x)
        e = np.exp(x - m)
        s = np.sum(e)
        return m + np.log(s), (e / s,)

    return ArrayWorkload(
        f"log sum exp {size}", program, by_hand, (3.0 * np.random.default_rng(seed).normal(size=size),)
    )


def normal_density(size: int, seed: int = 11) -> ArrayWorkload:
    """Log density of independent normal observations, by their location and scale."""
    half_log_2pi = 0.5 * np.log(2.0 * np.pi)

    def program(np):
        def f(mu, sigma, y):
            z = (y - mu) / sigma
            return -0.5 * np.sum(z * z) - y.shape[0] * (np.log(sigma) + half_log_2pi)

        return f

    def by_hand(mu, sigma, y):
        z = (y - mu) / sigma
        squares = z @ z
        value = -0.5 * squares - len(y) * (np.log(sigma) + half_log_2pi)
        return value, (np.sum(z) / sigma, (squares - len(y)) / sigma)

    y = np.random.default_rng(seed).normal(1.5, 2.0, size)
    return ArrayWorkload(f"normal density {size}", program, by_hand, (1.3, 1.8), (y,))


def models(quick: bool) -> Sequence[ArrayWorkload]:
    """The functions whose whole gradient `benchmarks.arrays` times: an empty one, and log densities."""
    n = 30 if quick else 1_000
    logistic = logistic_regression(40, 3) if quick else logistic_regression(1_000, 20)
    return first_element(), logistic, stochastic_volatility(n), log_sum_exp(n), normal_density(n)


# ---- memory ----------------------------------------------------------------------------------------------------------
def matrix_products(size: int, products: int, seed: int = 13) -> ArrayWorkload:
    """sum(a b b ... b) with matrices of size x size, so scaled that products keep their length."""

    def program(np):
        def f(a, b):
            for _ in range(products):
                a = a @ b
            return np.sum(a)

        return f

    def by_hand(a, b):
        states = []
        for _ in range(products):
            states.append(a)
            a = a @ b
        value = np.sum(a)
        a_bar, b_bar = np.ones_like(a), np.zeros_like(b)
        for state in reversed(states):
            b_bar += state.T @ a_bar
            a_bar = a_bar @ b.T
        return value, (a_bar, b_bar)

    draw = np.random.default_rng(seed)
    a, b = (draw.normal(size=(size, size)) / np.sqrt(size) for _ in range(2))
    return ArrayWorkload(f"{products} products of {size} x {size}", program, by_hand, (a, b))
