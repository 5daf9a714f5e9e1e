"""What packages do on grids and with matrices: filters, waves, flows, elements, series of functions, solvers."""

import math

import numpy as np
from numba import njit

from benchmarks.real.program import Real


# ---- filters and images ----------------------------------------------------------------------------------------------
@njit
def biquads(sections, x):
    """A cascade of recursive filters, each in place; the power of what comes out."""
    y = x.copy()
    for s in range(sections.shape[0]):
        b0, b1, b2, a1, a2 = sections[s]
        z1, z2 = 0.0, 0.0
        for n in range(y.size):
            out = b0 * y[n] + z1
            z1 = b1 * y[n] - a1 * out + z2
            z2 = b2 * y[n] - a2 * out
            y[n] = out
    return np.mean(y * y)


@njit
def lifting(signal, predict, update):
    """A wavelet transform by lifting: in place, each level on every second number of the one before."""
    x = signal.copy()
    step = 1
    while 2 * step < x.size:
        for i in range(step, x.size, 2 * step):
            right = x[i + step] if i + step < x.size else x[i - step]
            x[i] -= predict * (x[i - step] + right)
        for i in range(0, x.size, 2 * step):
            left = x[i - step] if i >= step else x[i + step]
            right = x[i + step] if i + step < x.size else left
            x[i] += update * (left + right)
        step *= 2
    total = 0.0
    for i in range(x.size):
        total += math.sqrt(x[i] * x[i] + 1e-2)
    return total


@njit
def bilateral(image, width, contrast):
    """Each pixel by those around it that are like it."""
    n, m = image.shape
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            total, weight = 0.0, 0.0
            for a in range(max(i - 2, 0), min(i + 3, n)):
                for b in range(max(j - 2, 0), min(j + 3, m)):
                    d = image[a, b] - image[i, j]
                    w = math.exp(-((a - i) ** 2 + (b - j) ** 2) / width - d * d / contrast)
                    total += w * image[a, b]
                    weight += w
            out[i, j] = total / weight
    return np.mean(np.tanh(out))


@njit
def edges(image, threshold):
    """Sobel's slopes, kept where they are the largest across their direction."""
    n, m = image.shape
    g = np.zeros((n, m))
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            gx = image[i - 1, j + 1] + 2.0 * image[i, j + 1] + image[i + 1, j + 1]
            gx -= image[i - 1, j - 1] + 2.0 * image[i, j - 1] + image[i + 1, j - 1]
            gy = image[i + 1, j - 1] + 2.0 * image[i + 1, j] + image[i + 1, j + 1]
            gy -= image[i - 1, j - 1] + 2.0 * image[i - 1, j] + image[i - 1, j + 1]
            g[i, j] = math.hypot(gx, gy)
    total = 0.0
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            if g[i, j] < g[i, j - 1] or g[i, j] < g[i, j + 1]:
                continue
            total += 1.0 / (1.0 + math.exp(threshold - g[i, j]))
    return total


@njit
def pooled_layers(image, kernels, weights):
    """Two layers of a network: convolution and the largest of blocks; then a product."""
    channels, k, _ = kernels.shape
    n = image.shape[0] - k + 1
    features = np.zeros((channels, n // 2, n // 2))
    for c in range(channels):
        for i in range(n // 2):
            for j in range(n // 2):
                best = 0.0
                for di in range(2):
                    for dj in range(2):
                        s = 0.0
                        for a in range(k):
                            for b in range(k):
                                s += kernels[c, a, b] * image[2 * i + di + a, 2 * j + dj + b]
                        best = max(best, s)
                features[c, i, j] = best
    score = 0.0
    for c in range(channels):
        for i in range(n // 2):
            for j in range(n // 2):
                score += weights[c] * features[c, i, j]
    return math.tanh(score)


# ---- waves and flows -------------------------------------------------------------------------------------------------
@njit
def maxwell(permittivity, source, steps):
    """Yee's scheme in a plane: a field out of it and two in it, half a step and half a cell apart."""
    n, m = permittivity.shape
    ez, hx, hy = np.zeros((n, m)), np.zeros((n, m)), np.zeros((n, m))
    energy = 0.0
    for t in range(steps):
        for i in range(n - 1):
            for j in range(m - 1):
                hx[i, j] -= 0.5 * (ez[i, j + 1] - ez[i, j])
                hy[i, j] += 0.5 * (ez[i + 1, j] - ez[i, j])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                ez[i, j] += 0.5 / permittivity[i, j] * (hy[i, j] - hy[i - 1, j] - hx[i, j] + hx[i, j - 1])
        ez[n // 3, m // 3] += source[t]
        energy += ez[2 * n // 3, 2 * m // 3] ** 2
    return energy


@njit
def lattice_boltzmann(density, omega, steps):
    """Streams and collisions of nine directions on a grid that closes on itself."""
    nx, ny = density.shape
    cx, cy = (0, 1, 0, -1, 0, 1, -1, -1, 1), (0, 0, 1, 0, -1, 1, 1, -1, -1)
    w = (4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36)
    f, moved = np.empty((9, nx, ny)), np.empty((9, nx, ny))
    for k in range(9):
        for i in range(nx):
            for j in range(ny):
                f[k, i, j] = w[k] * density[i, j]
    for _ in range(steps):
        for k in range(9):
            for i in range(nx):
                for j in range(ny):
                    moved[k, (i + cx[k]) % nx, (j + cy[k]) % ny] = f[k, i, j]
        for i in range(nx):
            for j in range(ny):
                rho, u, v = 0.0, 0.0, 0.0
                for k in range(9):
                    rho += moved[k, i, j]
                    u += cx[k] * moved[k, i, j]
                    v += cy[k] * moved[k, i, j]
                u, v = u / rho, v / rho
                for k in range(9):
                    along = cx[k] * u + cy[k] * v
                    equilibrium = w[k] * rho * (1.0 + 3.0 * along + 4.5 * along * along - 1.5 * (u * u + v * v))
                    f[k, i, j] = moved[k, i, j] + omega * (equilibrium - moved[k, i, j])
    return np.sum(f[1] ** 2) + np.sum(f[5] * f[2])


@njit
def flux_of(rho, momentum, energy):
    u = momentum / rho
    p = 0.4 * (energy - 0.5 * momentum * u)
    return momentum, momentum * u + p, u * (energy + p), abs(u) + math.sqrt(1.4 * p / rho)


@njit
def shock_tube(left, right, cells, steps):
    """Gas in a tube after Rusanov: tuples of fluxes, the fastest wave of both sides."""
    q = np.empty((cells, 3))
    for i in range(cells):
        q[i] = left if i < cells // 2 else right
    fluxes = np.zeros((cells + 1, 3))
    for _ in range(steps):
        for i in range(1, cells):
            m1, e1, h1, s1 = flux_of(q[i - 1, 0], q[i - 1, 1], q[i - 1, 2])
            m2, e2, h2, s2 = flux_of(q[i, 0], q[i, 1], q[i, 2])
            s = max(s1, s2)
            fluxes[i, 0] = 0.5 * (m1 + m2) - 0.5 * s * (q[i, 0] - q[i - 1, 0])
            fluxes[i, 1] = 0.5 * (e1 + e2) - 0.5 * s * (q[i, 1] - q[i - 1, 1])
            fluxes[i, 2] = 0.5 * (h1 + h2) - 0.5 * s * (q[i, 2] - q[i - 1, 2])
        for i in range(1, cells - 1):
            for k in range(3):
                q[i, k] -= 0.2 * (fluxes[i + 1, k] - fluxes[i, k])
    return np.sum(q[:, 1]) + q[cells // 2, 0] ** 2


@njit
def gray_scott(feed, kill, u0, v0, steps):
    """Two species in a plane; old and new change places after each step."""
    n, m = u0.shape
    u, v = u0.copy(), v0.copy()
    new_u, new_v = u0.copy(), v0.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                around_u = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
                around_v = v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1] - 4.0 * v[i, j]
                uvv = u[i, j] * v[i, j] * v[i, j]
                new_u[i, j] = u[i, j] + 0.16 * around_u - uvv + feed * (1.0 - u[i, j])
                new_v[i, j] = v[i, j] + 0.08 * around_v + uvv - (feed + kill) * v[i, j]
        u, new_u = new_u, u
        v, new_v = new_v, v
    return np.sum(v * v)


@njit
def columns_of_air(temperature, absorption, layers):
    """Radiation through layers: down to the ground, and up again; what each of them gains."""
    n = layers
    down, up = np.zeros(n + 1), np.zeros(n + 1)
    for k in range(n):
        t = math.exp(-absorption[k])
        down[k + 1] = down[k] * t + (1.0 - t) * temperature[k] ** 4
    up[n] = 0.3 * down[n] + 0.7 * temperature[n] ** 4
    for k in range(n - 1, -1, -1):
        t = math.exp(-absorption[k])
        up[k] = up[k + 1] * t + (1.0 - t) * temperature[k] ** 4
    heating = 0.0
    for k in range(n):
        net = down[k] - down[k + 1] + up[k + 1] - up[k]
        heating += net * net
    return heating


# ---- elements and series of functions --------------------------------------------------------------------------------
@njit
def beam(stiffness, load):
    """A beam that is clamped at one end: banded assembly, a banded Cholesky factor in place, two solves."""
    n = 2 * stiffness.size
    band = np.zeros((n, 4))
    x = load.copy()
    h = 1.0 / stiffness.size
    for e in range(stiffness.size):
        k = stiffness[e] / h**3
        local = (
            (12.0, 6.0 * h, -12.0, 6.0 * h), (6.0 * h, 4.0 * h * h, -6.0 * h, 2.0 * h * h),
            (-12.0, -6.0 * h, 12.0, -6.0 * h), (6.0 * h, 2.0 * h * h, -6.0 * h, 4.0 * h * h),
        )  # fmt: skip
        for a in range(4):
            for b in range(a + 1):
                row, column = 2 * e - 2 + a, 2 * e - 2 + b
                if column >= 0:
                    band[row, row - column] += k * local[a][b]
    for j in range(n):
        for i in range(j, min(j + 4, n)):
            s = band[i, i - j]
            for k in range(max(0, i - 3), j):
                s -= band[i, i - k] * band[j, j - k]
            band[i, i - j] = math.sqrt(s) if i == j else s / band[j, 0]
    for i in range(n):
        for k in range(max(0, i - 3), i):
            x[i] -= band[i, i - k] * x[k]
        x[i] /= band[i, 0]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, min(i + 4, n)):
            x[i] -= band[k, k - i] * x[k]
        x[i] /= band[i, 0]
    return np.sum(x * load)


@njit
def truss(places, bars, areas, forces):
    """Bars between joints, the first two of which are fixed: assembly, a solve, and what the forces do."""
    n = 2 * places.shape[0]
    k = np.zeros((n, n))
    for e in range(bars.shape[0]):
        i, j = bars[e]
        dx, dy = places[j, 0] - places[i, 0], places[j, 1] - places[i, 1]
        length = math.sqrt(dx * dx + dy * dy)
        c, s = dx / length, dy / length
        direction = np.array([-c, -s, c, s])
        where = np.array([2 * i, 2 * i + 1, 2 * j, 2 * j + 1])
        for a in range(4):
            for b in range(4):
                k[where[a], where[b]] += areas[e] / length * direction[a] * direction[b]
    u = np.linalg.solve(k[4:, 4:], forces[4:])
    return np.dot(u, forces[4:])


@njit
def chebyshev(coefficients, x):
    """Clenshaw's recursion in two variables: a table of coefficients, at many places."""
    total = 0.0
    n, m = coefficients.shape
    row = np.zeros(n)
    for p in range(x.shape[0]):
        for i in range(n):
            b1, b2 = 0.0, 0.0
            for j in range(m - 1, 0, -1):
                b1, b2 = 2.0 * x[p, 1] * b1 - b2 + coefficients[i, j], b1
            row[i] = x[p, 1] * b1 - b2 + coefficients[i, 0]
        b1, b2 = 0.0, 0.0
        for i in range(n - 1, 0, -1):
            b1, b2 = 2.0 * x[p, 0] * b1 - b2 + row[i], b1
        value = x[p, 0] * b1 - b2 + row[0]
        total += value * value
    return total


@njit
def burgers(modes, viscosity, steps):
    """Galerkin's method with sines: products of modes by sums over pairs."""
    a = modes.copy()
    n = a.size
    rate = np.zeros(n)
    for _ in range(steps):
        for k in range(n):
            s = -viscosity * (k + 1) ** 2 * a[k]
            for i in range(k):
                s -= 0.25 * (k + 1) * a[i] * a[k - 1 - i]
            for i in range(n - k - 1):
                s += 0.5 * (k + 1) * a[i] * a[i + k + 1]
            rate[k] = s
        for k in range(n):
            a[k] += 0.01 * rate[k]
    return np.sum(a * a)


@njit
def legendre_transform(values, theta):
    """Coefficients of Legendre's polynomials by their recursion, and the power above the third degree."""
    n = values.size
    power = 0.0
    for degree in range(n):
        c = 0.0
        for i in range(n):
            x = math.cos(theta[i])
            before, now = 1.0, x
            if degree == 0:
                now = 1.0
            for k in range(2, degree + 1):
                before, now = now, ((2 * k - 1) * x * now - (k - 1) * before) / k
            c += values[i] * now * math.sin(theta[i])
        if degree > 3:
            power += c * c
    return power


# ---- solvers ---------------------------------------------------------------------------------------------------------
@njit
def conjugate_gradients(diagonal, coupling, b):
    """A system of neighbours, solved until the residual is small."""
    n = b.size
    x, r, p, q = np.zeros(n), b.copy(), b.copy(), np.zeros(n)
    rr = np.dot(r, r)
    steps = 0
    while rr > 1e-20 and steps < 2 * n:
        for i in range(n):
            q[i] = diagonal[i] * p[i]
            if i > 0:
                q[i] -= coupling * p[i - 1]
            if i < n - 1:
                q[i] -= coupling * p[i + 1]
        alpha = rr / np.dot(p, q)
        for i in range(n):
            x[i] += alpha * p[i]
            r[i] -= alpha * q[i]
        new = np.dot(r, r)
        for i in range(n):
            p[i] = r[i] + new / rr * p[i]
        rr = new
        steps += 1
    return np.sum(x * x)


@njit
def gauss_seidel(conductivity, sources, sweeps):
    """Heat in a plane by sweeps that use what they have just written."""
    n, m = sources.shape
    u = np.zeros((n + 2, m + 2))
    for _ in range(sweeps):
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                k = conductivity[i - 1, j - 1]
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] + sources[i - 1, j - 1] / k)
    return np.max(u) + np.mean(u * u)


@njit
def solve_with_pivots(a, x):
    """Elimination that exchanges rows, in place; False where the matrix is singular."""
    n = x.size
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[best, k]):
                best = i
        if abs(a[best, k]) < 1e-12:
            return False
        if best != k:
            for j in range(n):
                a[k, j], a[best, j] = a[best, j], a[k, j]
            x[k], x[best] = x[best], x[k]
        for i in range(k + 1, n):
            w = a[i, k] / a[k, k]
            for j in range(k, n):
                a[i, j] -= w * a[k, j]
            x[i] -= w * x[k]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= a[i, j] * x[j]
        x[i] /= a[i, i]
    return True


@njit
def circuit(resistances, diode, sources, n):
    """A ladder of resistors that ends in a diode: Newton's steps on its currents."""
    v = np.zeros(n)
    for _ in range(8):
        f, j = np.zeros(n), np.zeros((n, n))
        for i in range(n):
            before = sources[0] if i == 0 else v[i - 1]
            g = 1.0 / resistances[i]
            f[i] += (v[i] - before) * g
            j[i, i] += g
            if i > 0:
                j[i, i - 1] -= g
                j[i - 1, i] -= g
                j[i - 1, i - 1] += g
                f[i - 1] += (before - v[i]) * g
        f[n - 1] += diode * (math.exp(v[n - 1]) - 1.0)
        j[n - 1, n - 1] += diode * math.exp(v[n - 1])
        if not solve_with_pivots(j, f):
            return -1.0
        v -= f
    return np.sum(v * v)


@njit
def orthogonalised(a):
    """Gram and Schmidt's method in place, and the product of the lengths."""
    q = a.copy()
    n, m = q.shape
    logs = 0.0
    for j in range(m):
        for k in range(j):
            r = 0.0
            for i in range(n):
                r += q[i, k] * q[i, j]
            for i in range(n):
                q[i, j] -= r * q[i, k]
        length = math.sqrt(np.sum(q[:, j] ** 2))
        for i in range(n):
            q[i, j] /= length
        logs += (j + 1) * math.log(length)
    return logs + q[0, m - 1]


# ---- arguments -------------------------------------------------------------------------------------------------------
def _make_truss(rng, n):
    top = np.stack([np.arange(n), np.ones(n)], axis=1)
    low = np.stack([np.arange(n), np.zeros(n)], axis=1)
    places = np.stack([low, top], axis=1).reshape(2 * n, 2) + 0.05 * rng.normal(size=(2 * n, 2))
    bars = [(i, j) for i in range(2 * n) for j in range(i + 1, min(i + 4, 2 * n))]
    return places, np.array(bars), rng.uniform(0.5, 1.5, len(bars)), rng.normal(size=4 * n)


def _make_gas(rng, n):
    return np.array([1.0, 0.0, 2.5]), np.array([0.3, 0.05, 0.6]), n, n // 2


PROGRAMS = [
    Real(
        biquads, "recursive filters of sound",
        lambda rng, n: (np.array([[0.3, 0.2, 0.1, -0.5, 0.2], [0.8, -0.3, 0.2, 0.3, 0.1]]), rng.normal(size=n)),
        (0, 1), 9, 5000,
    ),
    Real(lifting, "wavelets by lifting", lambda rng, n: (rng.normal(size=n), 0.5, 0.25), (0, 1, 2), 9, 4096),
    Real(bilateral, "bilateral filters", lambda rng, n: (rng.normal(size=(n, n)), 2.0, 0.7), (0, 1, 2), 5, 60),
    Real(edges, "edges of images", lambda rng, n: (rng.normal(size=(n, n)), 3.0), (0, 1), 6, 150),
    Real(
        pooled_layers, "convolutions with the largest of blocks",
        lambda rng, n: (rng.normal(size=(n, n)), rng.normal(size=(3, 3, 3)), 0.1 * rng.normal(size=3)), (0, 1, 2),
        6, 60,
    ),
    Real(
        maxwell, "electric and magnetic fields by Yee's scheme",
        lambda rng, n: (rng.uniform(1.0, 2.0, (n, n)), rng.normal(size=2 * n), 2 * n), (0, 1), 6, 40,
    ),
    Real(
        lattice_boltzmann, "flows by Boltzmann's equation on a lattice",
        lambda rng, n: (rng.uniform(0.8, 1.2, (n, n)), 0.7, n // 2), (0, 1), 5, 20,
    ),
    Real(
        shock_tube, "gas in a tube with shocks", _make_gas, (0, 1), 8, 200,
        "eleven numbers a face are kept, and adjoints of two cells added to",
    ),
    Real(
        gray_scott, "reaction and diffusion in a plane",
        lambda rng, n: (0.04, 0.06, rng.uniform(0.5, 1.0, (n, n)), rng.uniform(0.0, 0.5, (n, n)), n), (0, 1, 2, 3),
        5, 50, "a stencil in vector registers; its reverse adds to five neighbours of each species",
    ),
    Real(
        columns_of_air, "radiation through layers of air",
        lambda rng, n: (rng.uniform(0.8, 1.2, n + 1), rng.uniform(0.1, 0.5, n), n), (0, 1), 6, 2000,
    ),
    Real(
        beam, "elements of a beam with a banded factor",
        lambda rng, n: (rng.uniform(0.5, 1.5, n), rng.normal(size=2 * n)), (0, 1), 4, 50,
    ),
    Real(truss, "trusses: assembly and a dense system", _make_truss, (0, 2, 3), 3, 20),
    Real(
        chebyshev, "series of Chebyshev's polynomials in two variables",
        lambda rng, n: (rng.normal(size=(6, 5)), rng.uniform(-1.0, 1.0, (n, 2))), (0, 1), 4, 1000,
    ),
    Real(
        burgers, "spectral steps by sums over pairs", lambda rng, n: (rng.normal(size=n), 0.1, n), (0, 1), 6, 60,
        "both factors of each product are kept, where a copy of the modes would do",
    ),
    Real(
        legendre_transform, "Legendre's polynomials by recursion",
        lambda rng, n: (rng.normal(size=n), rng.uniform(0.5, 2.5, n)), (0, 1), 6, 50,
    ),
    Real(
        conjugate_gradients, "conjugate gradients until the residual is small",
        lambda rng, n: (rng.uniform(2.5, 3.5, n), 0.9, rng.normal(size=n)), (0, 1, 2), 6, 500,
        "products in vector registers; a direction is kept three times, once for each neighbour that reads it",
    ),
    Real(
        gauss_seidel, "sweeps of Gauss and Seidel over a plane",
        lambda rng, n: (rng.uniform(0.5, 1.5, (n, n)), rng.normal(size=(n, n)), n), (0, 1), 5, 50,
    ),
    Real(
        circuit, "circuits: Newton's steps with elimination by pivots",
        lambda rng, n: (rng.uniform(0.5, 1.5, n), 0.1, np.array([1.3]), n), (0, 1, 2), 4, 12,
    ),
    Real(orthogonalised, "orthogonal columns, in place", lambda rng, n: (rng.normal(size=(2 * n, n)),), (0,), 4, 30),
]  # fmt: skip
