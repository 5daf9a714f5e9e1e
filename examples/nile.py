"""The Nile at Aswan: maximum likelihood by the Kalman filter, written as one writes it for plain NumPy arrays.

    python examples/nile.py

The filter fills its arrays in place, year by year, and is differentiated as it stands. The arrays come from
`contad.zeros`: in a plain call they are NumPy's, and while a gradient is taken they hold variables. Symbols and diffuse
starts (nothing is known before the first flow) are those of J. Durbin and S. J. Koopman (2012), Time Series Analysis by
State Space Methods, 2nd edition, Oxford University Press: the local level in chapter 2, the local linear trend in 3.

Data: annual flow of the Nile, 1871-1970, in 10^8 m^3; G. W. Cobb (1978), The problem of the Nile: conditional solution
to a change-point problem, Biometrika 65, 243-251; the series `Nile` of R.
"""

import numpy as np
from scipy.optimize import minimize

import contad

flow = np.array([
    [1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140],  # 1871-1880
    [995, 935, 1110, 994, 1020, 960, 1180, 799, 958, 1140],
    [1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840],
    [874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969],
    [831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821],
    [768, 845, 864, 862, 698, 845, 744, 796, 1040, 759],
    [781, 865, 845, 944, 984, 897, 822, 1010, 771, 676],
    [649, 846, 812, 742, 801, 1040, 860, 874, 848, 890],
    [744, 749, 838, 1050, 918, 986, 797, 923, 975, 815],
    [1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740],
], dtype=float).ravel()  # fmt: skip


def local_level(y, eps, eta):
    """The prediction errors v and their variances F, from the second year on, of a level that walks at random.

    y_t = mu_t + N(0, eps),     mu_{t+1} = mu_t + N(0, eta)
    """
    n = len(y)
    a, P = contad.zeros(n + 1), contad.zeros(n + 1)  # mean and variance of the level, predicted from the years before
    v, F = contad.zeros(n), contad.zeros(n)
    a[1], P[1] = y[0], eps + eta  # from the first year
    for t in range(1, n):
        v[t] = y[t] - a[t]
        F[t] = P[t] + eps
        a[t + 1] = a[t] + P[t] / F[t] * v[t]
        P[t + 1] = P[t] * eps / F[t] + eta
    return v[1:], F[1:]


def local_linear_trend(y, eps, xi, zeta):
    """v and F, from the third year on, of a level with a slope; both walk at random.

    y_t = mu_t + N(0, eps),     mu_{t+1} = mu_t + nu_t + N(0, xi),     nu_{t+1} = nu_t + N(0, zeta)
    """
    n = len(y)
    T = np.array([[1.0, 1.0], [0.0, 1.0]])
    Q = contad.zeros((2, 2))
    Q[0, 0], Q[1, 1] = xi, zeta
    a, P = contad.zeros((n + 1, 2)), contad.zeros((n + 1, 2, 2))
    v, F = contad.zeros(n), contad.zeros(n)
    a[2] = 2 * y[1] - y[0], y[1] - y[0]  # level and slope from the first two years
    P[2, 0] = 5 * eps + 2 * xi + zeta, 3 * eps + xi + zeta
    P[2, 1] = 3 * eps + xi + zeta, 2 * eps + xi + 2 * zeta
    for t in range(2, n):
        v[t] = y[t] - a[t, 0]
        F[t] = P[t][0, 0] + eps
        K = T @ P[t][:, 0] / F[t]
        L = T - K[:, None] * np.array([1.0, 0.0])
        a[t + 1] = T @ a[t] + K * v[t]
        P[t + 1] = T @ P[t] @ L.T + Q
    return v[2:], F[2:]


def loss(log_variances, y, model):
    """Minus the log likelihood of a model's variances."""
    v, F = model(y, *np.exp(log_variances))
    return 0.5 * np.sum(np.log(2 * np.pi * F) + v**2 / F)


def largest_disagreement(p, model, step=1e-4):
    """Between the gradient of the loss at p and central differences, relative to the latter."""
    ahead, behind = ([loss(p + h, flow, model) for h in sign * step * np.eye(len(p))] for sign in (1, -1))
    differences = np.subtract(ahead, behind) / (2 * step)
    return np.max(np.abs(contad.grad(loss)(p, flow, model) / differences - 1))


def fitted(model, start):
    """The variances of greatest likelihood and that log likelihood, found and reported."""
    start = np.log(start)
    found = minimize(loss, start, args=(flow, model), jac=contad.grad(loss))
    variances = np.exp(found.x)
    print(model.__name__.replace("_", " "))
    print("  variances       ", *[f"{x:.2f}" for x in variances])
    print(f"  log likelihood   {-found.fun:.4f}")
    print(f"  gradients        {found.njev}")
    print(f"  differences      {largest_disagreement(start, model):.1e}: largest relative disagreement, at the start")
    assert found.success, found.message
    return variances, -found.fun


def main():
    """Fit both models and hold the results to what is known."""
    (eps, eta), log_likelihood = fitted(local_level, [1e4, 1e4])
    (*_, zeta), _ = fitted(local_linear_trend, [1e4, 1e3, 1e2])
    assert np.allclose([eps, eta], [15099, 1469.1], rtol=1e-4), "not the book's estimates"
    assert abs(log_likelihood + 632.5456) < 1e-4, "not the log likelihood of KFAS, a package for R"
    assert zeta < 0.01, "the slope varies; from 1871 to 1970 it does not"


if __name__ == "__main__":
    main()
