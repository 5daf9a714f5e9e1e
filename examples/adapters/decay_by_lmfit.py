"""Two decays in one signal, fitted by lmfit with an exact Jacobian.

    python examples/adapters/decay_by_lmfit.py
"""

import lmfit
import numpy as np

import contad

T = np.linspace(0.0, 10.0, 120)
SIGNAL = 3.0 * np.exp(-T / 0.7) + 1.5 * np.exp(-T / 4.0) + 0.02 * np.random.default_rng(1).standard_normal(120)


def residuals(p):
    return p["fast"] * np.exp(-T / p["short"]) + p["slow"] * np.exp(-T / p["long"]) - SIGNAL


def jacobian(p):
    """A column for each parameter that varies."""
    columns = contad.jacobian(residuals)({name: parameter.value for name, parameter in p.items()})
    return np.stack([columns[name] for name, parameter in p.items() if parameter.vary], axis=1)


if __name__ == "__main__":
    p = lmfit.create_params(fast=1.0, short=1.0, slow=1.0, long=5.0)
    fit = lmfit.Minimizer(lambda p: residuals(p.valuesdict()), p).leastsq(Dfun=jacobian, col_deriv=False)
    print(lmfit.fit_report(fit, show_correl=False))
    assert fit.success and abs(fit.params["long"] - 4.0) < 4.0 * fit.params["long"].stderr
