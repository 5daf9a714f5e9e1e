"""What lies under the ground, from echoes: the speed of waves in a column of rock by full waveform inversion.

    python examples/echoes.py

A pulse at the surface runs down through layers and comes back from where the speed changes. The traces of two
receivers are known, the speeds are sought: the gradient of the misfit by all of them is one run of the waves backwards.
The loop over time is marked, so that the sweep keeps a few states in place of all of them, and computes the rest again.
"""

import numpy as np
from numba import njit
from scipy.optimize import minimize

import contad

CELLS, STEPS = 120, 3000
RECEIVERS = (2, 40)


@njit
def waves(square, pulse):
    """The traces of the receivers; `square` is the square of the speed, in cells per step."""
    n = square.size
    old, now, new = np.zeros(n), np.zeros(n), np.zeros(n)
    traces = np.zeros((pulse.size, 2))
    for t in contad.checkpointed(range(pulse.size)):
        for i in range(1, n - 1):
            bend = now[i + 1] - 2.0 * now[i] + now[i - 1]
            new[i] = 1.998 * now[i] - 0.998 * old[i] + square[i] * bend
        new[1] += pulse[t]
        for i in range(n):
            old[i] = now[i]
            now[i] = new[i]
        for k in range(2):
            traces[t, k] = now[RECEIVERS[k]]
    return traces


@njit
def misfit(square, pulse, recorded):
    """Half the sum of squares of what the traces are off."""
    off = waves(square, pulse) - recorded
    return 0.5 * np.sum(off * off)


def main():
    depth = np.arange(CELLS)
    truth = 0.12 + 0.08 * (depth > 30) + 0.06 * (depth > 60) - 0.05 * (depth > 85)
    pulse = np.exp(-(((np.arange(STEPS) - 40.0) / 14.0) ** 2))
    recorded = waves(truth, pulse)
    start = np.interp(depth, [0, CELLS], [0.12, 0.24])
    gradient = contad.value_and_grad(misfit, engine="generated")
    contad.set_memory_limit(400_000)
    before = gradient(start, pulse, recorded)[0]
    print(f"{STEPS} steps of {CELLS} cells in 0.4 MB; the states of all steps are {8e-6 * STEPS * CELLS:.1f} MB")
    fit = minimize(
        gradient, start, (pulse, recorded), jac=True, method="L-BFGS-B", bounds=[(0.05, 0.4)] * CELLS,
        options={"maxiter": 150},
    )  # fmt: skip
    print(f"misfit {before:.3g} at the start, {fit.fun:.2g} after {fit.nfev} gradients")
    seen = slice(5, 80)  # what lies deeper has sent few echoes
    now, then = (np.abs(x - truth)[seen].mean() for x in (fit.x, start))
    print(f"squares of speeds are off by {now:.4f}, by {then:.4f} before")


if __name__ == "__main__":
    main()
