"""A stiff reaction by SciPy's implicit methods, with the exact Jacobian of its rates.

    python examples/stiff_ode.py

Robertson (1966): three species whose rates differ by nine orders of magnitude. The rates are plain NumPy, filled in
place; each Jacobian is one pass of three directions.
"""

import numpy as np
from scipy.integrate import solve_ivp

import contad


def rates(t, y):
    change = np.zeros(3)
    forward, back, dimer = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    change[0] = back - forward
    change[2] = dimer
    change[1] = -change[0] - change[2]
    return change


if __name__ == "__main__":
    start = np.array([1.0, 0.0, 0.0])
    for method in ("Radau", "BDF"):
        found = solve_ivp(rates, (0.0, 4e6), start, method, jac=contad.jacobian(rates, 1), rtol=1e-7, atol=1e-12)
        print(f"{method:5}  {found.y[:, -1]}  {found.nfev} rates, {found.njev} Jacobians")
        assert found.success and abs(found.y[:, -1].sum() - 1.0) < 1e-9
