"""A number that is driven through a recurrence with a branch: what no tool can vectorise."""

import math

import numpy as np
from numba import njit

from benchmarks.comparison.program import Program, TooSlow
from benchmarks.comparison.shaped import (
    choose_options_of_c,
    make_buffers,
    on_compiled,
    with_autograd,
    with_jax,
    with_torch,
)
from benchmarks.comparison.written import IDIOMS, IN_C, MAPACCUM, with_xad_on_numbers

ARGNUMS = (0, 1, 2)


def inputs(n):
    """The recurrence contracts, so that rounding does not grow; noise takes it through both branches."""
    return 0.7, 0.8, -0.5, 0.3 * np.random.default_rng(8).normal(size=n)


@njit
def primal(x, a, b, noise):
    total = 0.0
    for i in range(len(noise)):
        if x > 0.0:  # noqa: SIM108  (as a user writes it)
            x = math.sin(x) * a + b / (1.0 + x * x)
        else:
            x = math.cos(x) * b - a * x
        x += noise[i]
        total += x
    return total / len(noise)


@njit
def by_hand(x, a, b, noise):
    n = len(noise)
    states = np.empty(n)
    total = 0.0
    for i in range(n):
        states[i] = x
        if x > 0.0:  # noqa: SIM108  (as a user writes it)
            x = math.sin(x) * a + b / (1.0 + x * x)
        else:
            x = math.cos(x) * b - a * x
        x += noise[i]
        total += x
    x_bar, a_bar, b_bar = 0.0, 0.0, 0.0
    for i in range(n - 1, -1, -1):
        x = states[i]
        x_bar += 1.0 / n
        if x > 0.0:
            q = 1.0 / (1.0 + x * x)
            a_bar += x_bar * math.sin(x)
            b_bar += x_bar * q
            x_bar *= a * math.cos(x) - 2.0 * b * x * q * q
        else:
            a_bar -= x_bar * x
            b_bar += x_bar * math.cos(x)
            x_bar *= -b * math.sin(x) - a
    return total / n, (x_bar, a_bar, b_bar)


def written(math):
    """With a module of functions of numbers."""

    def f(x, a, b, noise):
        total = 0.0
        for e in noise:
            if x > 0.0:  # noqa: SIM108  (as a user writes it)
                x = math.sin(x) * a + b / (1.0 + x * x)
            else:
                x = math.cos(x) * b - a * x
            x = x + e
            total = total + x
        return total / len(noise)

    return f


def eagerly(maker):
    """For autograd and torch, which record the loop anew for each gradient."""

    def prepare(*args):
        if len(args[-1]) > 10_000:
            raise TooSlow("a Python loop that is recorded for each gradient: minutes")
        return maker(written, ARGNUMS)(*args)

    return prepare


def scanned(jnp):
    """lax.scan, which compiles one step, and lax.cond, which computes one branch of it."""
    from jax import lax

    def f(x, a, b, noise):
        def step(x, e):
            x = e + lax.cond(x > 0.0, positive, negative, x)
            return x, x

        def positive(x):
            return jnp.sin(x) * a + b / (1.0 + x * x)

        def negative(x):
            return jnp.cos(x) * b - a * x

        _, states = lax.scan(step, x, noise)
        return jnp.mean(states)

    return f


def in_casadi(*args):
    """SX, unrolled, up to 10,000 steps; in C where compiling it takes seconds; beyond it mapaccum, in C."""
    import casadi

    n = len(args[-1])
    unrolled = n <= 10_000
    kind = casadi.SX if unrolled else casadi.MX
    x, a, b = point = [kind.sym(name) for name in "xab"]
    noise = kind.sym("noise", 1, n)

    def step(x, e, a, b):
        return e + casadi.if_else(x > 0.0, casadi.sin(x) * a + b / (1.0 + x * x), casadi.cos(x) * b - a * x)

    if unrolled:
        mean, state = 0.0, x
        for i in range(n):
            state = step(state, noise[i], a, b)
            mean += state / n
    else:
        symbols = [casadi.SX.sym(name) for name in "xeab"]
        walk = casadi.Function("step", symbols, [step(*symbols)]).mapaccum(n)
        mean = casadi.sum2(walk(x, noise, casadi.repmat(a, 1, n), casadi.repmat(b, 1, n))) / n
    gradients = [casadi.gradient(mean, v) for v in point]
    options = {} if 1000 < n <= 10_000 else choose_options_of_c()
    function = casadi.Function("f", [*point, noise], [mean, *gradients], options)
    (value, *bars), trigger = make_buffers(function, *(np.array(v, ndmin=1) for v in args))

    def run():
        trigger()
        return value[0], tuple(bar[0] for bar in bars)

    return run


PROGRAM = Program(
    name="recurrence",
    about="mean of x_(i+1) = (a sin x + b / (1 + x^2) if x > 0 else b cos x - a x) + noise_i",
    sizes={"small": {"n": 100}, "medium": {"n": 10_000}, "large": {"n": 1_000_000}},
    inputs=inputs,
    argnums=ARGNUMS,
    primal=primal,
    by_hand=by_hand,
    contad=on_compiled(primal, ARGNUMS),
    peers={
        "autograd": eagerly(with_autograd),
        "jax": with_jax(scanned, ARGNUMS),
        "torch": eagerly(with_torch),
        "casadi": in_casadi,
        "xad": with_xad_on_numbers(written, ARGNUMS),
    },
    idioms=IDIOMS
    | {
        "autograd": "the loop in Python; its values are NumPy's numbers",
        "jax": "lax.scan, which compiles one step (docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html; unroll=4 and "
        "16 were slower), lax.cond for the branch (docs.jax.dev/en/latest/201/control-flow.html)",
        "torch": "the loop in Python on tensors without axes",
        "casadi": f"SX, which is for numbers, and beyond 10,000 steps mapaccum ({MAPACCUM}); {IN_C}, except for 10,000 "
        "steps, which take the compiler minutes; if_else of SX evaluates both branches "
        "(github.com/casadi/casadi/issues/1968)",
    },
)
