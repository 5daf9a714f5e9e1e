"""What moves and reacts: orbits, rays, fronts, chemistry and catchments."""

import math

import numpy as np
from numba import njit

from benchmarks.real.program import Real


# ---- orbits and rays -------------------------------------------------------------------------------------------------
@njit
def stumpff(z):
    if z > 1e-3:
        s = math.sqrt(z)
        return (1.0 - math.cos(s)) / z, (s - math.sin(s)) / s**3
    if z < -1e-3:
        s = math.sqrt(-z)
        return (math.cosh(s) - 1.0) / -z, (math.sinh(s) - s) / s**3
    return 0.5 - z / 24.0 + z * z / 720.0, 1.0 / 6.0 - z / 120.0 + z * z / 5040.0


@njit
def universal_orbit(position, velocity, mu, t):
    """Where a body is after a time, on whatever conic: Newton's steps in the universal anomaly."""
    r0 = math.sqrt(np.sum(position * position))
    vr = np.dot(position, velocity) / r0
    alpha = 2.0 / r0 - np.dot(velocity, velocity) / mu
    chi = math.sqrt(mu) * abs(alpha) * t
    root = math.sqrt(mu)
    for _ in range(50):
        c, s = stumpff(alpha * chi * chi)
        f = r0 * vr / root * chi * chi * c + (1.0 - alpha * r0) * chi**3 * s + r0 * chi - root * t
        slope = r0 * vr / root * chi * (1.0 - alpha * chi * chi * s)
        slope += (1.0 - alpha * r0) * chi * chi * c + r0
        step = f / slope
        chi -= step
        if abs(step) < 1e-13:
            break
    c, s = stumpff(alpha * chi * chi)
    f, g = 1.0 - chi * chi / r0 * c, t - chi**3 / root * s
    total = 0.0
    for k in range(3):
        total += (f * position[k] + g * velocity[k]) ** 2 * (k + 1)
    return total


@njit
def pull(x, y, mu):
    d1, d2 = math.hypot(x + mu, y), math.hypot(x - 1.0 + mu, y)
    gx = -(1.0 - mu) * (x + mu) / d1**3 - mu * (x - 1.0 + mu) / d2**3
    return gx, -(1.0 - mu) * y / d1**3 - mu * y / d2**3


@njit
def three_bodies(x, y, u, v, mu, steps):
    """A small body between two large ones, in their frame: midpoint steps by tuples; it ends where it falls on one."""
    dt = 2.0 / steps
    for _ in range(steps):
        ax, ay = pull(x, y, mu)
        mx, my = x + 0.5 * dt * u, y + 0.5 * dt * v
        mu_x, mv = u + 0.5 * dt * (2.0 * v + x + ax), v + 0.5 * dt * (-2.0 * u + y + ay)
        ax, ay = pull(mx, my, mu)
        x, y = x + dt * mu_x, y + dt * mv
        u, v = u + dt * (2.0 * mv + mx + ax), v + dt * (-2.0 * mu_x + my + ay)
        if math.hypot(x - 1.0 + mu, y) < 0.02:
            return 10.0 * u
    return x * x + y * y + 0.1 * (u * u + v * v)


@njit
def layered_ray(speeds, depths, angle):
    """A ray through layers after Snell: how far and how long, until it turns back."""
    p = math.sin(angle) / speeds[0]
    distance, time = 0.0, 0.0
    for k in range(speeds.size):
        s = p * speeds[k]
        if s >= 1.0:
            return distance - time
        c = math.sqrt(1.0 - s * s)
        distance += 2.0 * depths[k] * s / c
        time += 2.0 * depths[k] / (speeds[k] * c)
    return distance + time


@njit
def arrival_times(slowness, sweeps):
    """When a front arrives: the eikonal equation by sweeps in four directions."""
    n, m = slowness.shape
    t = np.full((n, m), 1e6)
    t[0, 0] = 0.0
    for sweep in range(sweeps):
        for a in range(n):
            i = a if sweep % 2 == 0 else n - 1 - a
            for b in range(m):
                j = b if sweep % 4 < 2 else m - 1 - b
                left = min(t[i - 1, j] if i > 0 else 1e6, t[i + 1, j] if i < n - 1 else 1e6)
                low = min(t[i, j - 1] if j > 0 else 1e6, t[i, j + 1] if j < m - 1 else 1e6)
                s = slowness[i, j]
                if abs(left - low) >= s:
                    new = min(left, low) + s
                else:
                    new = 0.5 * (left + low + math.sqrt(2.0 * s * s - (left - low) ** 2))
                t[i, j] = min(t[i, j], new)
    return np.sum(t) / (n * m)


@njit
def hit(origin, direction, centre, radius):
    """How far a ray goes to a sphere; -1 if it misses."""
    b, c = 0.0, -radius * radius
    for k in range(3):
        o = origin[k] - centre[k]
        b += o * direction[k]
        c += o * o
    under = b * b - c
    if under < 0.0:
        return -1.0
    return -b - math.sqrt(under)


@njit
def rendered(centres, radii, colours, light, pixels):
    """A picture of spheres: the nearest that a ray meets, by how it faces the light."""
    origin, direction, normal = np.zeros(3), np.zeros(3), np.zeros(3)
    total = 0.0
    for i in range(pixels):
        for j in range(pixels):
            direction[0], direction[1], direction[2] = (i + 0.5) / pixels - 0.5, (j + 0.5) / pixels - 0.5, 1.0
            length = math.sqrt(np.sum(direction * direction))
            for k in range(3):
                direction[k] /= length
            nearest, which = 1e30, -1
            for s in range(radii.size):
                d = hit(origin, direction, centres[s], radii[s])
                if 0.0 < d < nearest:
                    nearest, which = d, s
            if which < 0:
                continue
            facing = 0.0
            for k in range(3):
                normal[k] = (nearest * direction[k] - centres[which, k]) / radii[which]
                facing -= normal[k] * light[k]
            total += colours[which] * max(facing, 0.0)
    return total / (pixels * pixels)


# ---- reactions and what lives ----------------------------------------------------------------------------------------
@njit
def robertson(rates, steps):
    """A stiff reaction by implicit steps: Newton's method with a system of three, solved by Cramer's rule."""
    a, b, c = 1.0, 0.0, 0.0
    h = 0.1
    for _ in range(steps):
        x, y, z = a, b, c
        for _ in range(4):
            f1 = x - a + h * (rates[0] * x - rates[1] * y * z)
            f2 = y - b - h * (rates[0] * x - rates[1] * y * z - rates[2] * y * y)
            f3 = x + y + z - 1.0
            j11, j12, j13 = 1.0 + h * rates[0], -h * rates[1] * z, -h * rates[1] * y
            j21, j22, j23 = -h * rates[0], 1.0 + h * (rates[1] * z + 2.0 * rates[2] * y), h * rates[1] * y
            d = j11 * (j22 - j23) - j12 * (j21 - j23) + j13 * (j21 - j22)
            x -= (f1 * (j22 - j23) - j12 * (f2 - j23 * f3) + j13 * (f2 - j22 * f3)) / d
            y -= (j11 * (f2 - j23 * f3) - f1 * (j21 - j23) + j13 * (j21 * f3 - f2)) / d
            z = 1.0 - x - y
        a, b, c = x, y, z
    return a * a + 1e3 * b + c


@njit
def reactions(rates, powers, change, start, steps):
    """Mass action of any network: rates by powers, changes by a table."""
    c = start.copy()
    n, species = powers.shape
    for _ in range(steps):
        d = np.zeros(species)
        for r in range(n):
            speed = rates[r]
            for s in range(species):
                for _ in range(powers[r, s]):
                    speed *= c[s]
            for s in range(species):
                d[s] += change[r, s] * speed
        for s in range(species):
            c[s] = max(c[s] + 0.02 * d[s], 0.0)
    return np.sum(c * c)


@njit
def leaps(rates, start, uniforms):
    """Tau-leaping with draws that are held fixed: births and deaths by normal noise."""
    x = start
    total = 0.0
    for t in range(uniforms.shape[0]):
        birth, death = rates[0] * x, rates[1] * x * x
        x += birth - death + math.sqrt(max(birth, 1e-9)) * uniforms[t, 0] - math.sqrt(max(death, 1e-9)) * uniforms[t, 1]
        x = max(x, 1.0)
        total += math.log(x)
    return total


@njit
def smoother(q, r, y):
    """A Kalman filter and Rauch's smoother behind it: means and variances kept, then backwards."""
    n = y.size
    mean, var = np.empty(n), np.empty(n)
    foretold_var = np.empty(n)
    m, p = 0.0, 10.0
    for t in range(n):
        p += q
        foretold_var[t] = p
        k = p / (p + r)
        m += k * (y[t] - m)
        p *= 1.0 - k
        mean[t], var[t] = m, p
    for t in range(n - 2, -1, -1):
        gain = var[t] / foretold_var[t + 1]
        mean[t] += gain * (mean[t + 1] - mean[t])
        var[t] += gain * gain * (var[t + 1] - foretold_var[t + 1])
    return np.sum(mean * mean) + np.sum(np.log(var))


@njit
def snow_and_rivers(theta, rain, heat):
    """A catchment: snow that melts by degrees, a soil that overflows, two reservoirs, and a unit hydrograph."""
    melt, capacity, fast, slow = theta[0], theta[1], theta[2], theta[3]
    snow, soil, upper, lower = 0.0, 0.5 * capacity, 0.0, 1.0
    n = rain.size
    flow = np.zeros(n + 5)
    for t in range(n):
        if heat[t] < 0.0:
            snow += rain[t]
            water = 0.0
        else:
            melted = min(snow, melt * heat[t])
            snow -= melted
            water = rain[t] + melted
        wet = water * (soil / capacity) ** 2
        soil = min(max(soil + water - wet - 0.05 * soil / capacity, 1e-3), capacity)
        upper += wet
        down = min(upper, 0.1)
        upper -= down
        lower += down
        q = fast * upper + slow * lower
        upper *= 1.0 - fast
        lower *= 1.0 - slow
        for k in range(5):
            flow[t + k] += q * (5 - k) / 15.0
    total = 0.0
    for t in range(n):
        total += (flow[t] - 0.3) ** 2
    return total


@njit
def smoothed_particles(x, mass, h):
    """Densities of particles by a kernel that ends, and the pressure between neighbours."""
    n = x.shape[0]
    density = np.zeros(n)
    for i in range(n):
        for j in range(n):
            r2 = (x[i, 0] - x[j, 0]) ** 2 + (x[i, 1] - x[j, 1]) ** 2
            if r2 < h * h:
                density[i] += mass[j] * (h * h - r2) ** 3
    energy = 0.0
    for i in range(n):
        p = density[i] ** 1.4
        for j in range(i):
            r = math.sqrt((x[i, 0] - x[j, 0]) ** 2 + (x[i, 1] - x[j, 1]) ** 2)
            if r >= h:
                continue
            energy += mass[i] * mass[j] * (p / density[i] ** 2 + density[j] ** -0.6) * (h - r) ** 2
    return energy


# ---- arguments -------------------------------------------------------------------------------------------------------
def _make_spheres(rng, n):
    centres = rng.normal(size=(4, 3)) + np.array([0.0, 0.0, 6.0])
    return centres, rng.uniform(0.7, 1.2, 4), rng.uniform(0.5, 1.0, 4), np.array([0.2, 0.3, 0.9]), n


PROGRAMS = [
    Real(
        universal_orbit, "orbits on whatever conic",
        lambda rng, n: (np.array([1.0, 0.3, 0.2]), np.array([0.1, 0.9, 0.3]), 1.1, 1.0 + 0.01 * n), (0, 1, 2, 3), 1, 10,
    ),
    Real(
        three_bodies, "a body between two others", lambda rng, n: (0.5, 0.1, 0.2, 0.6, 0.3, n), (0, 1, 2, 3, 4),
        20, 2000,
    ),
    Real(
        layered_ray, "rays through layers",
        lambda rng, n: (np.sort(rng.uniform(1.0, 2.0, n)), rng.uniform(0.5, 1.5, n), 0.5), (0, 1, 2), 6, 2000,
    ),
    Real(arrival_times, "fronts by fast sweeps", lambda rng, n: (rng.uniform(0.5, 1.5, (n, n)), 8), (0,), 5, 60),
    Real(rendered, "pictures of spheres", _make_spheres, (0, 1, 2, 3), 6, 50),
    Real(
        robertson, "a stiff reaction by implicit steps", lambda rng, n: (np.array([0.04, 10.0, 30.0]), n), (0,), 4, 500,
    ),
    Real(
        reactions, "networks of reactions",
        lambda rng, n: (
            rng.uniform(0.5, 1.5, 4), rng.integers(0, 3, (4, 3)), rng.integers(-1, 2, (4, 3)),
            rng.uniform(0.5, 1.0, 3), n,
        ), (0, 3), 6, 500,
    ),
    Real(
        leaps, "births and deaths by leaps",
        lambda rng, n: (np.array([0.2, 0.004]), 20.0, rng.normal(size=(n, 2))), (0, 1), 8, 3000,
    ),
    Real(
        smoother, "a filter, and a smoother behind it", lambda rng, n: (0.3, 0.8, rng.normal(size=n)), (0, 1, 2),
        7, 2000,
    ),
    Real(
        snow_and_rivers, "catchments: snow, soil and rivers",
        lambda rng, n: (np.array([0.3, 2.0, 0.3, 0.05]), rng.uniform(0.0, 0.5, n), 3.0 * rng.normal(size=n)), (0, 1),
        9, 2000,
    ),
    Real(
        smoothed_particles, "densities of particles by kernels that end",
        lambda rng, n: (rng.uniform(0.0, 2.0, (n, 2)), rng.uniform(0.5, 1.5, n), 1.1), (0, 1, 2), 7, 100,
    ),
]  # fmt: skip
