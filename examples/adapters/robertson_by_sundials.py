"""Robertson's stiff kinetics by SUNDIALS (scikit-sundae), whose Newton iteration gets the exact Jacobian.

    python examples/adapters/robertson_by_sundials.py
"""

import numpy as np
from sksundae.cvode import CVODE

import contad


def rates(t, y):
    """Robertson (1966): three species whose rates differ by nine orders of magnitude."""
    fast, slow = 1e4 * y[1] * y[2], 0.04 * y[0]
    dimer = 3e7 * y[1] ** 2
    return np.array([fast - slow, slow - fast - dimer, dimer])


def rates_in_place(t, y, yp):
    yp[:] = rates(t, y)


def jacobian_in_place(t, y, yp, jac):
    jac[:] = contad.jacobian(rates, 1)(t, y)


if __name__ == "__main__":
    solver = CVODE(rates_in_place, method="BDF", rtol=1e-8, atol=[1e-10, 1e-14, 1e-10], jacfn=jacobian_in_place,
                   max_num_steps=10_000)  # fmt: skip
    found = solver.solve(np.array([0.0, 4e2, 4e6]), np.array([1.0, 0.0, 0.0]))
    print(found.y[-1], f"{found.nfev} rates, {found.njev} Jacobians")
    assert np.allclose(found.y[1], [0.4505, 3.223e-6, 0.5495], rtol=1e-3) and abs(found.y[-1].sum() - 1.0) < 1e-6
