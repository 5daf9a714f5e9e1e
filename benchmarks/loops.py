"""Programs for compiled engines: loops over scalars and arrays, as a user writes them; and their arguments.

Their gradients by hand are in `benchmarks.loops_by_hand`.
"""

import math

import numpy as np
from numba import njit


@njit
def rosenbrock(x):
    s = 0.0
    for i in range(len(x) - 1):
        a = x[i + 1] - x[i] * x[i]
        b = 1.0 - x[i]
        s += 100.0 * a * a + b * b
    return s


@njit
def logistic(b, X, y):
    n, k = X.shape
    ll = 0.0
    for j in range(k):
        ll -= 0.5 * b[j] * b[j]
    for i in range(n):
        z = 0.0
        for j in range(k):
            z += X[i, j] * b[j]
        if z > 0.0:
            ll += y[i] * z - z - math.log1p(math.exp(-z))
        else:
            ll += y[i] * z - math.log1p(math.exp(z))
    return ll


@njit
def logistic_arrays(b, X, y):
    z = X @ b
    return np.sum(y * z - np.log1p(np.exp(-np.abs(z))) - np.maximum(z, 0.0)) - 0.5 * np.sum(b * b)


@njit
def recurrence(x, a, b, n):
    for _ in range(n):
        if x > 0.0:  # noqa: SIM108  (as a user writes it)
            x = math.sin(x) * a + b / (1.0 + x * x)
        else:
            x = math.cos(x) * b - a * x
    return x


@njit
def heat(u0, k, steps):
    n = len(u0)
    u = u0.copy()
    w = np.empty(n)
    for _ in range(steps):
        for i in range(1, n - 1):
            w[i] = u[i] + k * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        for i in range(1, n - 1):
            u[i] = w[i]
    s = 0.0
    for i in range(n):
        s += u[i] * u[i]
    return s


@njit
def newton(a, b):
    x = a
    it = 0
    while it < 50:
        f = x * x * x + math.sin(x) * b - a
        if abs(f) < 1e-13:
            return x * b
        df = 3.0 * x * x + math.cos(x) * b
        x = x - f / df
        it += 1
    return x


@njit
def newtons(a, b):
    s = 0.0
    for i in range(len(a)):
        s += newton(a[i], b[i])
    return s


@njit
def mixture(alphas, means, icf, x, gamma, m):
    """The log density of a Gaussian mixture with a Wishart prior, as in the benchmark ADBench."""
    n, d = x.shape
    K = len(alphas)
    Qd = np.empty((K, d))
    sums = np.empty(K)
    for k in range(K):
        s = 0.0
        for j in range(d):
            q = icf[k, j]
            s += q
            Qd[k, j] = math.exp(q)
        sums[k] = s
    xc = np.empty(d)
    Qxc = np.empty(d)
    terms = np.empty(K)
    total = 0.0
    for ix in range(n):
        for k in range(K):
            for j in range(d):
                xc[j] = x[ix, j] - means[k, j]
                Qxc[j] = Qd[k, j] * xc[j]
            p = d
            for i in range(d):
                for j in range(i + 1, d):
                    Qxc[j] += icf[k, p] * xc[i]
                    p += 1
            sq = 0.0
            for j in range(d):
                sq += Qxc[j] * Qxc[j]
            terms[k] = alphas[k] + sums[k] - 0.5 * sq
        mx = terms[0]
        for k in range(1, K):
            mx = max(mx, terms[k])
        se = 0.0
        for k in range(K):
            se += math.exp(terms[k] - mx)
        total += mx + math.log(se)
    mx = alphas[0]
    for k in range(1, K):
        mx = max(mx, alphas[k])
    se = 0.0
    for k in range(K):
        se += math.exp(alphas[k] - mx)
    lse = mx + math.log(se)
    p = d + m + 1
    C = p * d * (math.log(gamma) - 0.5 * math.log(2.0))
    w = 0.0
    for k in range(K):
        fro = 0.0
        for j in range(d):
            fro += Qd[k, j] * Qd[k, j]
        for j in range(d, icf.shape[1]):
            fro += icf[k, j] * icf[k, j]
        w += 0.5 * gamma * gamma * fro - m * sums[k]
    return total - n * lse + w - K * C


# ---- eight more ------------------------------------------------------------------------------------------------------
@njit
def lstm(w, b, x, y):
    """A recurrence with gates and state arrays; w (4, h, h), b (4, h), a scalar input and target per step."""
    h = b.shape[1]
    state = np.zeros(h)
    cell = np.zeros(h)
    gates = np.empty((4, h))
    loss = 0.0
    for t in range(len(x)):
        for g in range(4):
            for i in range(h):
                z = b[g, i] + x[t]
                for j in range(h):
                    z += w[g, i, j] * state[j]
                gates[g, i] = z
        out = 0.0
        for i in range(h):
            forget = 1.0 / (1.0 + math.exp(-gates[0, i]))
            enter = 1.0 / (1.0 + math.exp(-gates[1, i]))
            emit = 1.0 / (1.0 + math.exp(-gates[2, i]))
            cell[i] = forget * cell[i] + enter * math.tanh(gates[3, i])
            state[i] = emit * math.tanh(cell[i])
            out += state[i]
        loss += (out - y[t]) ** 2
    return loss


@njit
def kmeans(centres, points):
    total = 0.0
    for i in range(points.shape[0]):
        best = np.inf
        for k in range(centres.shape[0]):
            distance = 0.0
            for j in range(points.shape[1]):
                distance += (points[i, j] - centres[k, j]) ** 2
            best = min(best, distance)
        total += best
    return total


@njit
def kalman(a, q, r, y):
    """Minus the log likelihood of a local linear trend: two states, one observation per step."""
    level, slope = y[0], 0.0
    p00, p01, p11 = r, 0.0, 1.0
    ll = 0.0
    for t in range(1, len(y)):
        level, slope = level + slope, a * slope
        p00, p01, p11 = p00 + 2.0 * p01 + p11 + q, a * (p01 + p11), a * a * p11 + 0.1 * q
        s = p00 + r
        v = y[t] - level
        ll += 0.5 * (math.log(s) + v * v / s)
        k0, k1 = p00 / s, p01 / s
        level, slope = level + k0 * v, slope + k1 * v
        p11 = p11 - k1 * p01
        p01 = p01 - k0 * p01
        p00 = p00 - k0 * p00
    return ll


@njit
def hmm(initial, transition, emission, observed):
    """The log likelihood of a hidden Markov model by the forward algorithm, in logarithms."""
    S = len(initial)
    alpha = np.empty(S)
    following = np.empty(S)
    for s in range(S):
        alpha[s] = initial[s] + emission[s, observed[0]]
    for t in range(1, len(observed)):
        for s in range(S):
            mx = alpha[0] + transition[0, s]
            for r in range(1, S):
                mx = max(mx, alpha[r] + transition[r, s])
            total = 0.0
            for r in range(S):
                total += math.exp(alpha[r] + transition[r, s] - mx)
            following[s] = mx + math.log(total) + emission[s, observed[t]]
        alpha, following = following, alpha
    mx = np.max(alpha)
    return mx + math.log(np.sum(np.exp(alpha - mx)))


@njit
def nbody(x, v, mass, steps, dt):
    """The final spread of bodies that attract each other; x and v (n, 3)."""
    n = len(mass)
    x = x.copy()
    v = v.copy()
    for _ in range(steps):
        for i in range(n):
            for j in range(i + 1, n):
                dx = x[i, 0] - x[j, 0]
                dy = x[i, 1] - x[j, 1]
                dz = x[i, 2] - x[j, 2]
                d2 = dx * dx + dy * dy + dz * dz + 0.01
                f = dt / (d2 * math.sqrt(d2))
                v[i, 0] -= dx * mass[j] * f
                v[i, 1] -= dy * mass[j] * f
                v[i, 2] -= dz * mass[j] * f
                v[j, 0] += dx * mass[i] * f
                v[j, 1] += dy * mass[i] * f
                v[j, 2] += dz * mass[i] * f
        for i in range(n):
            for k in range(3):
                x[i, k] += dt * v[i, k]
    s = 0.0
    for i in range(n):
        for k in range(3):
            s += x[i, k] * x[i, k]
    return s


@njit
def black_scholes(s0, mu, sigma, strike, z):
    """The mean payoff of a call option over simulated paths; z (paths, steps) standard normal."""
    paths, steps = z.shape
    dt = 1.0 / steps
    total = 0.0
    for p in range(paths):
        s = s0
        for t in range(steps):
            s *= math.exp((mu - 0.5 * sigma * sigma) * dt + sigma * math.sqrt(dt) * z[p, t])
        total += max(s - strike, 0.0)
    return math.exp(-mu) * total / paths


@njit
def runge_kutta(theta, y0, steps, dt):
    """Lotka-Volterra by the classical method, with arrays for the stages."""
    y = y0.copy()
    k = np.empty((4, 2))
    mid = np.empty(2)
    loss = 0.0
    for _ in range(steps):
        for s in range(4):
            if s == 0:
                mid[:] = y
            elif s == 3:
                mid[:] = y + dt * k[2]
            else:
                mid[:] = y + 0.5 * dt * k[s - 1]
            k[s, 0] = theta[0] * mid[0] - theta[1] * mid[0] * mid[1]
            k[s, 1] = theta[2] * mid[0] * mid[1] - theta[3] * mid[1]
        for i in range(2):
            y[i] += dt / 6.0 * (k[0, i] + 2.0 * k[1, i] + 2.0 * k[2, i] + k[3, i])
        loss += y[0] * y[0] + 0.5 * y[1]
    return loss


@njit
def tridiagonal(lower, diagonal, upper, right):
    """The sum of squares of the solution of a tridiagonal system."""
    n = len(diagonal)
    c = np.empty(n)
    d = np.empty(n)
    x = np.empty(n)
    c[0] = upper[0] / diagonal[0]
    d[0] = right[0] / diagonal[0]
    for i in range(1, n):
        m = 1.0 / (diagonal[i] - lower[i] * c[i - 1])
        c[i] = upper[i] * m
        d[i] = (right[i] - lower[i] * d[i - 1]) * m
    x[n - 1] = d[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = d[i] - c[i] * x[i + 1]
    s = 0.0
    for i in range(n):
        s += x[i] * x[i]
    return s


@njit
def lennard_jones(x):
    """The energy of atoms, with the powers as they are usually written; x (n, 3)."""
    energy = 0.0
    for i in range(len(x)):
        for j in range(i):
            r2 = 0.0
            for k in range(3):
                r2 += (x[i, k] - x[j, k]) ** 2
            s6 = (1.0 / r2**0.5) ** 6
            energy += 4.0 * (s6 * s6 - s6)
    return energy


def problems(scale=1.0):
    """name -> (function, arguments, argnums); `scale` makes the longest dimension shorter."""
    rng = np.random.default_rng(7)

    def size(n):
        return max(3, int(n * scale))

    X = rng.standard_normal((size(1000), 20))
    b = 0.3 * rng.standard_normal(20)
    y = 1.0 * (rng.random(len(X)) < 1.0 / (1.0 + np.exp(-X @ b)))
    d = K = 10
    h = 16
    S = 8
    n = size(1000)
    draw = rng.standard_normal
    atoms = 1.2 * np.indices((6, 6, 6)).reshape(3, -1).T[: size(200)] + 0.1
    atoms[:, 0] += 0.1 * np.sin(np.arange(size(200)))
    return {
        "rosenbrock": (rosenbrock, (draw(size(1000)),), (0,)),
        "logistic": (logistic, (b, X, y), (0,)),
        "logistic_arrays": (logistic_arrays, (b, X, y), (0,)),
        "recurrence": (recurrence, (0.7, 1.9, -1.1, size(100_000)), (0, 1, 2)),
        "heat": (heat, (draw(size(1000)), 0.2, size(200)), (0, 1)),
        "newtons": (newtons, (3.0 * rng.random(size(1000)) + 0.5, rng.random(size(1000))), (0, 1)),
        "mixture": (
            mixture,
            (draw(K), rng.random((K, d)), 0.5 * draw((K, d * (d + 1) // 2)), draw((size(1000), d)), 1.0, 0),
            (0, 1, 2),
        ),
        "lstm": (lstm, (0.3 * draw((4, h, h)), 0.1 * draw((4, h)), draw(size(200)), draw(size(200))), (0, 1)),
        "kmeans": (kmeans, (draw((10, 5)), draw((size(1000), 5))), (0,)),
        "kalman": (kalman, (0.9, 0.3, 0.5, np.cumsum(draw(size(1000)))), (0, 1, 2)),
        "hmm": (hmm, (draw(S), draw((S, S)), draw((S, 5)), rng.integers(0, 5, size(500))), (0, 1, 2)),
        "nbody": (nbody, (draw((8, 3)), 0.1 * draw((8, 3)), rng.random(8), size(200), 0.01), (0, 1, 2)),
        "black_scholes": (black_scholes, (1.0, 0.05, 0.2, 1.0, draw((size(500), 50))), (0, 1, 2)),
        "runge_kutta": (
            runge_kutta, (np.array([1.1, 0.4, 0.1, 0.4]), np.array([2.0, 1.0]), size(2000), 0.01), (0, 1)
        ),
        "tridiagonal": (tridiagonal, (draw(n), 4.0 + rng.random(n), draw(n), draw(n)), (0, 1, 2, 3)),
        "lennard_jones": (lennard_jones, (atoms,), (0,)),
    }  # fmt: skip


# Why a generated gradient takes more than 1.2 of the one by hand.
WHY_SLOWER = {
    "mixture": (
        "what is read of the arrays xc and Qxc is stored beside them, and their adjoints are arrays, added to and "
        "cleared; by hand both have a row for each component, and their adjoints are variables"
    ),
    "nbody": (
        "each product is reversed by itself, six of them for a pair, and so are the three coordinates of the distance; "
        "by hand the derivatives of a pair are made of two dot products"
    ),
    "black_scholes": (
        "the price before each step is stored, and the adjoint goes back from step to step; by hand nothing is stored: "
        "the derivatives of a path are known at its end, because its steps multiply"
    ),
    "tridiagonal": (
        "the adjoints of c and d go through arrays, so that an iteration waits for what the one before has stored; by "
        "hand the transposed system is solved with the same factors"
    ),
}
# Why a gradient by hand takes more than 3 times as long as the function.
WHY_DEAR = {
    "heat": (
        "the function works in two rows; the gradient keeps all 200 states, and reads them from the last to the first, "
        "where LLVM takes its instructions without vectors: its check for overlap gives up in a loop that runs down "
        "(with `t = max(t, 0)`, which hides the direction, 85 us in place of 194)"
    ),
}
