"""Simulations that write to an array in place, step by step."""

import numpy as np

from contad.programs import fused_loops, trace_layout
from tests.programs.comparison import layout_of
from tests.random_programs.in_place_programs import generate


def simulation(step, steps):
    """The sum of squares after so many steps."""
    def f(u, k):
        u = u.copy()
        for _ in range(steps):
            step(u, k)
        return np.sum(u * u)

    return f


def heat(u, k):
    """A step of the heat equation."""
    u[1:-1] += k * (u[:-2] - 2.0 * u[1:-1] + u[2:])


def run_random(seed, monkeypatch):
    """A random simulation, in fused loops of few elements and blocks of several sizes, agrees with the function."""
    monkeypatch.setattr(trace_layout, "FEWEST", 64)
    monkeypatch.setattr(fused_loops, "BLOCK", [64, 300, 3072][seed % 3])
    made = generate(seed, [130, 257, 400][seed % 4 % 3])
    layout_of(made.function, *made.inputs, may_be_guarded=True)
