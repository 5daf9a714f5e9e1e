"""Steps of the heat equation on a line, written into arrays in place; the square of the final state is summed."""

from typing import Any

import numpy as np
from numba import njit

from benchmarks.comparison import shaped
from benchmarks.comparison.program import Program, Run, TooSlow
from benchmarks.comparison.written import IDIOMS, IN_C, MAPACCUM
from benchmarks.loops import heat as primal

ARGNUMS = (0, 1)


def inputs(points: int, steps: int) -> tuple[Any, ...]:
    """The state at the start, the rate and the number of steps."""
    return np.random.default_rng(59).normal(size=points), 0.2, steps


@njit
def by_hand(u0, k, steps):
    """A step is linear in the state, so its adjoint needs no state; the tangent along k goes forward beside it."""
    n = len(u0)
    u, v = u0.copy(), np.zeros(n)
    u_next, v_next = u.copy(), v.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            bend = u[i - 1] - 2.0 * u[i] + u[i + 1]
            u_next[i] = u[i] + k * bend
            v_next[i] = v[i] + k * (v[i - 1] - 2.0 * v[i] + v[i + 1]) + bend
        u, u_next = u_next, u
        v, v_next = v_next, v
    value, by_k = 0.0, 0.0
    for i in range(n):
        value += u[i] * u[i]
        by_k += 2.0 * u[i] * v[i]
    bar, before = 2.0 * u, u
    for _ in range(steps):
        before[0] = bar[0] + k * bar[1]  # the ends stay as they are
        before[1] = (1.0 - 2.0 * k) * bar[1] + k * bar[2]
        for i in range(2, n - 2):
            before[i] = bar[i] + k * (bar[i - 1] - 2.0 * bar[i] + bar[i + 1])
        before[n - 2] = (1.0 - 2.0 * k) * bar[n - 2] + k * bar[n - 3]
        before[n - 1] = bar[n - 1] + k * bar[n - 2]
        bar, before = before, bar
    return value, (bar, by_k)


def in_place(u0: Any, k: Any, steps: int) -> Any:
    u = u0.copy()
    for _ in range(steps):
        u[1:-1] += k * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return np.sum(u * u)


# ---- peers -----------------------------------------------------------------------------------------------------------
def joined(concatenate: Any) -> Any:
    """Without assignment: a new array in each step."""

    def f(u: Any, k: Any, steps: int) -> Any:
        for _ in range(steps):
            u = concatenate((u[:1], u[1:-1] + k * (u[:-2] - 2.0 * u[1:-1] + u[2:]), u[-1:]))
        return (u * u).sum()

    return f


def jax(*args: Any) -> Run:
    from jax.lax import fori_loop

    def f(u: Any, k: Any, steps: int) -> Any:
        def step(_: Any, u: Any) -> Any:
            return u.at[1:-1].add(k * (u[:-2] - 2.0 * u[1:-1] + u[2:]))

        return (fori_loop(0, steps, step, u) ** 2).sum()

    return shaped.with_jax(lambda _: f, ARGNUMS, static=(2,))(*args)


def casadi(*args: Any) -> Run:
    """A step on a whole vector, accumulated over all."""

    def write(casadi: Any, u: Any, k: Any, steps: int) -> Any:
        state, rate = casadi.MX.sym("u", u.shape[0]), casadi.MX.sym("k")
        inner = state[1:-1] + rate * (state[:-2] - 2.0 * state[1:-1] + state[2:])
        step = casadi.Function("step", [state, rate], [casadi.vertcat(state[0], inner, state[-1])])
        return casadi.sumsqr(step.mapaccum(steps)(u, casadi.repmat(k, 1, steps))[:, -1])

    return shaped.with_casadi(write, ARGNUMS, in_c=True)(*args)


def xad(*args: Any) -> Run:
    if len(args[0]) * args[2] > 100_000:
        raise TooSlow("one gradient records millions of scalar operations, each called from Python")

    def f(u: Any, k: Any, steps: int) -> Any:
        n = len(u)
        for _ in range(steps):
            u = [u[0], *(u[i] + k * (u[i - 1] - 2.0 * u[i] + u[i + 1]) for i in range(1, n - 1)), u[n - 1]]
        return sum(x * x for x in u)

    return shaped.with_xad(f, ARGNUMS)(*args)


REMARKS = (
    "By hand no state is kept: the adjoint of a step does not depend on it, and the derivative by k is one number, "
    "whose tangent goes forward beside. Every tool for reverse mode keeps the states for it, or computes them again: "
    "with checkpoints contad keeps few of them, in the caches. `matrix` copies a slice of an array that was written to "
    "whenever an operation reads it, unless one operation has made it; `record` reads it where it lies, but keeps "
    "every state."
)

PROGRAM = Program(
    name="heat",
    about="u_i <- u_i + k (u_i-1 - 2 u_i + u_i+1), many steps in place; the value is sum_i u_i^2",
    sizes={
        "small": {"points": 50, "steps": 20}, "medium": {"points": 1000, "steps": 200},
        "large": {"points": 2000, "steps": 2000},
    },
    inputs=inputs,
    argnums=ARGNUMS,
    primal=primal,
    by_hand=by_hand,
    contad=shaped.on_compiled(primal, ARGNUMS) | shaped.with_checkpoints(primal, ARGNUMS)
    | shaped.on_eager(in_place, ARGNUMS),
    peers={
        "autograd": shaped.with_autograd(lambda anp: joined(anp.concatenate), ARGNUMS), "jax": jax,
        "torch": shaped.with_torch(lambda torch: joined(torch.cat), ARGNUMS), "casadi": casadi, "xad": xad,
    },
    idioms=IDIOMS | {
        "autograd": "a new array in each step, as arrays cannot be assigned to (docs/tutorial.md)",
        "jax": IDIOMS["jax"] + "; lax.fori_loop with a fixed number of steps, .at[].add "
        "(docs.jax.dev/en/latest/_autosummary/jax.lax.fori_loop.html)",
        "torch": "a new tensor in each step, as its documentation discourages operations in place; torch.autograd.grad "
        "(docs.pytorch.org/docs/stable/autograd.html)",
        "casadi": f"MX for a step, mapaccum over the steps ({MAPACCUM}); {IN_C}",
    },
    remarks=REMARKS,
)  # fmt: skip
