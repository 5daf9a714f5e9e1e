"""The log likelihood of a hidden Markov model by the forward algorithm, all of it in logarithms."""

import math
from typing import Any

import numpy as np
from numba import njit

import contad
from benchmarks.comparison import shaped, with_kernels
from benchmarks.comparison.program import Program, Run, TooSlow
from benchmarks.comparison.written import IDIOMS, IN_C, MAPACCUM
from benchmarks.loops import hmm as primal

ARGNUMS = (0, 1, 2)


def inputs(states: int, steps: int) -> tuple[Any, ...]:
    """Logarithms of the initial, transition (from, to) and emission (state, symbol) weights, and observed symbols."""
    rng = np.random.default_rng(47)
    draw = rng.normal
    return draw(size=states), draw(size=(states, states)), draw(size=(states, 5)), rng.integers(0, 5, steps)


@njit
def by_hand(initial, transition, emission, observed):
    """The weights of every sum are kept, which saves the exponentials of the way back."""
    k = len(initial)
    n = len(observed)
    into = transition.T.copy()
    alpha = initial + emission[:, observed[0]]
    following = np.empty(k)
    weights = np.empty((n, k, k))  # step, to, from
    for t in range(1, n):
        for s in range(k):
            largest = -np.inf
            for r in range(k):
                largest = max(largest, alpha[r] + into[s, r])
            total = 0.0
            for r in range(k):
                w = math.exp(alpha[r] + into[s, r] - largest)
                weights[t, s, r] = w
                total += w
            for r in range(k):
                weights[t, s, r] /= total
            following[s] = largest + math.log(total) + emission[s, observed[t]]
        alpha, following = following, alpha
    return with_kernels.go_back(alpha, weights, emission, observed)


def over_arrays(log_sum_exp: Any) -> Any:
    """A loop over steps with array operations, for tools that run Python's loops."""

    def f(initial: Any, transition: Any, emission: Any, observed: Any) -> Any:
        alpha = initial + emission[:, observed[0]]
        for symbol in observed[1:]:
            alpha = log_sum_exp(alpha[:, None] + transition, 0) + emission[:, symbol]
        return log_sum_exp(alpha, 0)

    return f


# ---- peers -----------------------------------------------------------------------------------------------------------
def autograd(*args: Any) -> Run:
    from autograd.scipy.special import logsumexp

    return shaped.with_autograd(lambda _: over_arrays(logsumexp), ARGNUMS)(*args)


def jax(*args: Any) -> Run:
    from jax.lax import scan
    from jax.scipy.special import logsumexp

    def f(initial: Any, transition: Any, emission: Any, observed: Any) -> Any:
        def step(alpha: Any, of_symbol: Any) -> Any:
            return logsumexp(alpha[:, None] + transition, 0) + of_symbol, None

        of_symbols = emission.T[observed]
        return logsumexp(scan(step, initial + of_symbols[0], of_symbols[1:])[0])

    return shaped.with_jax(lambda _: f, ARGNUMS)(*args)


def torch(*args: Any) -> Run:
    return shaped.with_torch(lambda torch: over_arrays(torch.logsumexp), ARGNUMS)(*args)


def casadi(*args: Any) -> Run:
    """A scalar graph of one step, accumulated over all. In C the largest is no faster, and compiles for a minute."""

    def write(casadi: Any, initial: Any, transition: Any, emission: Any, observed: Any) -> Any:
        k, n = transition.shape[0], len(observed)
        alpha, weights, of_symbol = casadi.SX.sym("a", k), casadi.SX.sym("t", k, k), casadi.SX.sym("e", k)
        following = [casadi.logsumexp(alpha + weights[:, s]) + of_symbol[s] for s in range(k)]
        step = casadi.Function("step", [alpha, of_symbol, weights], [casadi.vertcat(*following)])
        of_symbols = emission[:, observed.tolist()]
        last = step.mapaccum(n - 1)(initial + of_symbols[:, 0], of_symbols[:, 1:], casadi.repmat(transition, 1, n - 1))
        return casadi.logsumexp(last[:, -1])

    return shaped.with_casadi(write, ARGNUMS, in_c=len(args[0]) < 20)(*args)


def xad(*args: Any) -> Run:
    if args[1].size * len(args[3]) > 500_000:
        raise TooSlow("one gradient records millions of scalar operations, each called from Python")
    from xad.math import exp, log

    def log_sum_exp(terms: Any) -> Any:
        largest = max(terms)
        return largest + log(sum(exp(t - largest) for t in terms))

    def f(initial: Any, transition: Any, emission: Any, observed: Any) -> Any:
        alpha = [a + e[observed[0]] for a, e in zip(initial, emission, strict=True)]
        columns = list(zip(*transition, strict=True))
        for symbol in observed[1:]:
            alpha = [
                log_sum_exp([a + t for a, t in zip(alpha, column, strict=True)]) + e[symbol]
                for column, e in zip(columns, emission, strict=True)
            ]
        return log_sum_exp(alpha)

    return shaped.with_xad(f, ARGNUMS)(*args)


REMARKS = (
    "At 32 states the exponentials are most of the time. From 4 states on the generated code computes those of a step "
    "side by side, as XLA does; with fewer they are the C library's, as by hand, which is sooner. `record` calls a "
    "kernel for the logsumexp of a step, which keeps its terms; `matrix` calls it from Python."
)

PROGRAM = Program(
    name="hmm",
    about="a_t,s = log sum_r exp(a_t-1,r + T_rs) + E_s,y_t; the value is log sum_s exp(a_n,s)",
    sizes={
        "small": {"states": 4, "steps": 50}, "medium": {"states": 8, "steps": 500},
        "large": {"states": 32, "steps": 1000},
    },
    inputs=inputs,
    argnums=ARGNUMS,
    primal=primal,
    by_hand=by_hand,
    with_kernels=with_kernels.hmm,
    contad=shaped.on_compiled(primal, ARGNUMS) | shaped.in_registers(primal, ARGNUMS)
    | shaped.on_eager(over_arrays(lambda a, axis: contad.logsumexp(a, axis=axis)), ARGNUMS),
    peers={"autograd": autograd, "jax": jax, "torch": torch, "casadi": casadi, "xad": xad},
    idioms=IDIOMS | {
        "jax": IDIOMS["jax"] + "; lax.scan over the steps (docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html)",
        "casadi": f"SX for a step, mapaccum over the steps ({MAPACCUM}); {IN_C}, but for the largest",
    },
    remarks=REMARKS,
)  # fmt: skip
