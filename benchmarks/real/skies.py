"""Orbits, light curves, lenses and what moves by forces."""

import math

import numpy as np
from numba import njit

from benchmarks.real.program import Real


@njit
def radial_velocity(theta, times, observed):
    """Kepler's equation by Newton's steps at every time, and the sum of squares."""
    period, eccentricity, omega, phase, amplitude, offset = theta
    total = 0.0
    for k in range(times.size):
        mean = 2.0 * math.pi * (times[k] / period + phase)
        anomaly = mean + eccentricity * math.sin(mean)
        for _ in range(30):
            step = (anomaly - eccentricity * math.sin(anomaly) - mean) / (1.0 - eccentricity * math.cos(anomaly))
            anomaly -= step
            if abs(step) < 1e-13:
                break
        half = math.sqrt((1.0 + eccentricity) / (1.0 - eccentricity)) * math.tan(0.5 * anomaly)
        true = 2.0 * math.atan(half)
        model = offset + amplitude * (math.cos(true + omega) + eccentricity * math.cos(omega))
        total += (model - observed[k]) ** 2
    return total


@njit
def transit(theta, limb, times, observed):
    """A planet before a star with quadratic limb darkening, its disc summed over rings."""
    middle, duration, depth, impact = theta
    total = 0.0
    for k in range(times.size):
        x = 2.0 * (times[k] - middle) / duration
        distance = math.sqrt(x * x + impact * impact)
        lost = 0.0
        for ring in range(12):
            r = depth * (ring + 0.5) / 12
            for side in range(4):
                angle = 0.5 * math.pi * (side + 0.5)
                d2 = distance * distance + r * r + 2.0 * distance * r * math.cos(angle)
                if d2 < 1.0:
                    mu = math.sqrt(1.0 - d2)
                    lost += r * (1.0 - limb[0] * (1.0 - mu) - limb[1] * (1.0 - mu) ** 2)
        flux = 1.0 - lost * depth / 24
        total += (flux - observed[k]) ** 2
    return total


@njit
def lens_equation(lens, sources, images):
    """Deflection by an elliptical mass with shear: the misfit of images traced back to their sources."""
    einstein, e1, e2, core, shear1, shear2 = lens
    total = 0.0
    for k in range(images.shape[0]):
        x, y = images[k, 0], images[k, 1]
        psi = math.sqrt((1.0 - e1) * x * x + (1.0 + e1) * y * y + 2.0 * e2 * x * y + core * core)
        a1 = einstein * ((1.0 - e1) * x + e2 * y) / psi + shear1 * x + shear2 * y
        a2 = einstein * ((1.0 + e1) * y + e2 * x) / psi + shear2 * x - shear1 * y
        total += (x - a1 - sources[k, 0]) ** 2 + (y - a2 - sources[k, 1]) ** 2
    return total


@njit
def leapfrog_orbit(state, mass, dt, steps):
    """A symplectic integrator of a body in a flattened potential: kick, drift, kick."""
    x, y, u, v = state
    closest = 0.0
    for _ in range(steps):
        r2 = x * x + 1.2 * y * y + 0.01
        pull = mass / (r2 * math.sqrt(r2))
        u -= 0.5 * dt * pull * x
        v -= 0.5 * dt * pull * 1.2 * y
        x += dt * u
        y += dt * v
        r2 = x * x + 1.2 * y * y + 0.01
        pull = mass / (r2 * math.sqrt(r2))
        u -= 0.5 * dt * pull * x
        v -= 0.5 * dt * pull * 1.2 * y
        closest += math.exp(-4.0 * r2)
    return x * x + y * y + closest


@njit
def accelerations(positions, masses, softening):
    n = masses.size
    a = np.zeros((n, 3))
    for i in range(n):
        for j in range(i):
            d0 = positions[j, 0] - positions[i, 0]
            d1 = positions[j, 1] - positions[i, 1]
            d2 = positions[j, 2] - positions[i, 2]
            r2 = d0 * d0 + d1 * d1 + d2 * d2 + softening
            w = 1.0 / (r2 * math.sqrt(r2))
            for k, d in enumerate((d0, d1, d2)):
                a[i, k] += masses[j] * w * d
                a[j, k] -= masses[i] * w * d
    return a


@njit
def planets(positions, velocities, masses, steps):
    """Bodies that attract each other, by Verlet's steps."""
    x, v = positions.copy(), velocities.copy()
    a = accelerations(x, masses, 0.01)
    for _ in range(steps):
        v += 0.005 * a
        x += 0.01 * v
        a = accelerations(x, masses, 0.01)
        v += 0.005 * a
    return np.sum(x[0] ** 2) + 0.5 * np.sum(v * v)


@njit
def lyapunov(p, steps):
    """The Lorenz flow by fourth-order steps, with what a small separation grows to."""
    sigma, rho, beta = p
    y = np.array([1.0, 1.0, 20.0])
    k = np.zeros((4, 3))
    z = np.zeros(3)
    h, mean = 0.01, 0.0
    for _ in range(steps):
        for stage in range(4):
            c = 0.0 if stage == 0 else 1.0 if stage == 3 else 0.5
            for i in range(3):
                z[i] = y[i] + (h * c * k[stage - 1, i] if stage > 0 else 0.0)
            k[stage, 0] = sigma * (z[1] - z[0])
            k[stage, 1] = z[0] * (rho - z[2]) - z[1]
            k[stage, 2] = z[0] * z[1] - beta * z[2]
        for i in range(3):
            y[i] += h / 6.0 * (k[0, i] + 2.0 * k[1, i] + 2.0 * k[2, i] + k[3, i])
        mean += y[2] / steps
    return mean


@njit
def drag_reentry(p, steps):
    """A capsule in an exponential atmosphere, until it is at the ground: the range and the heat."""
    speed, angle, height, area = p
    distance, heat = 0.0, 0.0
    for _ in range(steps):
        density = math.exp(-height / 7.2)
        speed -= 0.05 * (area * density * speed * speed + 0.0098 * math.sin(angle))
        angle -= 0.05 * (0.0098 / speed - speed / 6371.0) * math.cos(angle)
        height += 0.05 * speed * math.sin(angle)
        distance += 0.05 * speed * math.cos(angle)
        heat += 0.05 * math.sqrt(density) * speed**3
        if height < 0.0:
            break
    return distance + 0.01 * heat


@njit
def force_field(positions, bonds, lengths, charges):
    """Springs along bonds, Lennard-Jones and charges between all other pairs, in a box that repeats itself."""
    n = positions.shape[0]
    box, energy = 6.0, 0.0
    for b in range(bonds.shape[0]):
        i, j = bonds[b, 0], bonds[b, 1]
        r2 = 0.0
        for k in range(3):
            d = positions[i, k] - positions[j, k]
            r2 += d * d
        energy += 50.0 * (math.sqrt(r2) - lengths[b]) ** 2
    for i in range(n):
        for j in range(i + 2, n):
            r2 = 0.1
            for k in range(3):
                d = positions[i, k] - positions[j, k]
                d -= box * round(d / box)
                r2 += d * d
            if r2 < 9.0:
                s6 = 1.0 / (r2 * r2 * r2)
                energy += 4.0 * (s6 * s6 - s6) + charges[i] * charges[j] * math.exp(-0.3 * r2) / math.sqrt(r2)
    return energy


@njit
def torsions(positions, k):
    """Angles between four atoms of a chain: cross products, atan2, and a Fourier series of the energy."""
    energy = 0.0
    for i in range(positions.shape[0] - 3):
        a = positions[i + 1] - positions[i]
        b = positions[i + 2] - positions[i + 1]
        c = positions[i + 3] - positions[i + 2]
        n1 = np.cross(a, b)
        n2 = np.cross(b, c)
        m = np.cross(n1, b / math.sqrt(np.dot(b, b)))
        phi = math.atan2(np.dot(m, n2), np.dot(n1, n2))
        for order in range(3):
            energy += k[order] * (1.0 + math.cos((order + 1) * phi))
    return energy


@njit
def pair_correlation(positions, weights, edges):
    """A histogram of distances with smooth edges, as a fit of structure factors takes it."""
    counts = np.zeros(edges.size)
    for i in range(positions.shape[0]):
        for j in range(i):
            r = 0.0
            for k in range(3):
                r += (positions[i, k] - positions[j, k]) ** 2
            r = math.sqrt(r)
            for b in range(edges.size):
                counts[b] += weights[i] * weights[j] * math.exp(-4.0 * (r - edges[b]) ** 2)
    return np.sum(np.log1p(counts) ** 2)


def _times(rng, n):
    return np.sort(rng.uniform(0.0, 10.0, n))


PROGRAMS = [
    Real(
        radial_velocity, "orbital mechanics: planets from radial velocities",
        lambda rng, n: (np.array([3.1, 0.3, 0.7, 0.2, 2.0, 0.1]), _times(rng, n), rng.normal(size=n)), (0,), 7, 2000,
    ),
    Real(
        transit, "transit light curves with limb darkening",
        lambda rng, n: (
            np.array([5.03, 1.7, 0.12, 0.31]), np.array([0.4, 0.2]), np.linspace(4.0, 6.0, n), rng.normal(size=n),
        ), (0, 1), 9, 500,
    ),
    Real(
        lens_equation, "lens models: elliptical mass with shear",
        lambda rng, n: (
            np.array([1.2, 0.1, -0.05, 0.2, 0.03, 0.02]), rng.normal(size=(n, 2)), rng.normal(size=(n, 2)),
        ), (0, 1), 6, 5000,
        "a root and two divisions a point, which overlap; the sweep adds to six adjoints in order",
    ),
    Real(
        leapfrog_orbit, "phase-space integrators: kick, drift, kick",
        lambda rng, n: (np.array([1.0, 0.1, 0.2, 0.9]), 1.1, 0.01, n), (0, 1, 2), 40, 20_000,
    ),
    Real(
        planets, "gravitating bodies by Verlet's steps",
        lambda rng, n: (rng.normal(size=(5, 3)), 0.3 * rng.normal(size=(5, 3)), rng.uniform(0.5, 1.0, 5), n), (0, 1, 2),
        6, 1000,
    ),
    Real(
        lyapunov, "a chaotic flow by Runge and Kutta's steps", lambda rng, n: (np.array([10.0, 28.0, 8.0 / 3.0]), n),
        (0,), 10, 2000,
    ),
    Real(
        drag_reentry, "ballistics with drag until the ground is met",
        lambda rng, n: (np.array([7.0, -0.1, 80.0, 0.004]), n), (0,), 30, 5000,
    ),
    Real(
        force_field, "force fields of molecular dynamics: bonds, Lennard-Jones, charges",
        lambda rng, n: (
            rng.uniform(0.0, 6.0, (n, 3)), np.stack([np.arange(n - 1), np.arange(1, n)], 1), np.full(n - 1, 1.4),
            rng.normal(size=n),
        ), (0, 2, 3), 6, 200,
    ),
    Real(
        torsions, "dihedral angles of a chain",
        lambda rng, n: (np.cumsum(rng.normal(size=(n, 3)), 0), np.array([1.0, 0.5, 0.2])), (0, 1), 6, 1000,
    ),
    Real(
        pair_correlation, "pair correlation functions",
        lambda rng, n: (rng.normal(size=(n, 3)), rng.uniform(0.5, 1.5, n), np.linspace(0.2, 3.0, 8)), (0, 1), 5, 100,
    ),
]  # fmt: skip
