"""A mass peak over a falling background, fitted by Minuit with the exact gradient and Hessian of the likelihood.

    python examples/adapters/mass_peak_by_iminuit.py

An extended unbinned fit: 200 events of a Gaussian peak at 5.28 among 800 of an exponential, in the range 5 to 6.
"""

import iminuit
import numpy as np

import contad

DRAW = np.random.default_rng(5)
EVENTS = np.concatenate([DRAW.normal(5.28, 0.03, 200), 5.0 + DRAW.exponential(0.4, 1200)])
EVENTS = EVENTS[(EVENTS > 5.0) & (EVENTS < 6.0)]


def cost(p):
    """-2 log likelihood, with the logarithms of both counts."""
    signal, background = np.exp(p["log_signal"]), np.exp(p["log_background"])
    z = (EVENTS - p["mass"]) / p["width"]
    peak = np.exp(-0.5 * z * z) / (np.sqrt(2.0 * np.pi) * p["width"])
    slope = np.exp(-(EVENTS - 5.0) / p["decay"]) / (p["decay"] * (1.0 - np.exp(-1.0 / p["decay"])))
    return 2.0 * (signal + background - np.sum(np.log(signal * peak + background * slope)))


if __name__ == "__main__":
    guess = {"log_signal": 5.0, "log_background": 6.5, "mass": 5.27, "width": 0.02, "decay": 0.5}
    model = contad.flat(cost, guess)
    fit = iminuit.Minuit(model, model.x0, grad=model.grad, hessian=model.hess, name=model.names)
    fit.errordef = iminuit.Minuit.LEAST_SQUARES
    fit.migrad().hesse()
    assert fit.valid and abs(fit.values["mass"] - 5.28) < 4.0 * fit.errors["mass"]
    for name, value, error in zip(model.names, fit.values, fit.errors, strict=True):
        print(f"{name:16} {value:8.4f} +- {error:.4f}")
    print(f"{fit.nfcn} values, {fit.ngrad} gradients")
