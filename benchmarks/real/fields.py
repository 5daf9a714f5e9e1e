"""Fields on grids and meshes: elements, waves, flows, images and interpolation."""

import math

import numpy as np
from numba import njit

import contad
from benchmarks.real.program import Real


@njit
def plane_elements(moved, places, triangles, stiffness):
    """The elastic energy of triangles of a mesh, of a Neo-Hookean material."""
    energy = 0.0
    for e in range(triangles.shape[0]):
        a, b, c = triangles[e, 0], triangles[e, 1], triangles[e, 2]
        d11, d12 = places[b, 0] - places[a, 0], places[c, 0] - places[a, 0]
        d21, d22 = places[b, 1] - places[a, 1], places[c, 1] - places[a, 1]
        area = d11 * d22 - d12 * d21
        u11, u12 = moved[b, 0] - moved[a, 0], moved[c, 0] - moved[a, 0]
        u21, u22 = moved[b, 1] - moved[a, 1], moved[c, 1] - moved[a, 1]
        f11, f12 = (u11 * d22 - u12 * d21) / area, (u12 * d11 - u11 * d12) / area
        f21, f22 = (u21 * d22 - u22 * d21) / area, (u22 * d11 - u21 * d12) / area
        j = f11 * f22 - f12 * f21
        i1 = f11 * f11 + f12 * f12 + f21 * f21 + f22 * f22
        energy += 0.5 * abs(area) * stiffness[e] * (0.5 * (i1 - 2.0 - 2.0 * math.log(j)) + (j - 1.0) ** 2)
    return energy


@njit
def bar_of_elements(conductivity, load):
    """Heat in a rod: assembly, Thomas's elimination, and the mean temperature."""
    n = load.size
    lower, diagonal, upper, x = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    for e in range(n + 1):
        k = math.exp(conductivity[e]) * (n + 1)
        if e < n:
            diagonal[e] += k
        if e > 0:
            diagonal[e - 1] += k
        if 0 < e < n:
            lower[e] -= k
            upper[e - 1] -= k
    for i in range(n):
        x[i] = load[i] / n
        if i > 0:
            w = lower[i] / diagonal[i - 1]
            diagonal[i] -= w * upper[i - 1]
            x[i] -= w * x[i - 1]
    x[n - 1] /= diagonal[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = (x[i] - upper[i] * x[i + 1]) / diagonal[i]
    return np.mean(x) + np.sum(x * x)


@njit
def shallow_water(depth, steps):
    """Lax and Friedrichs's steps of depth and momentum in a channel that closes on itself."""
    n = depth.size
    h, q = depth.copy(), np.zeros(n)
    for _ in contad.checkpointed(range(steps)):
        new_h, new_q = np.empty(n), np.empty(n)
        for i in range(n):
            left, right = (i - 1) % n, (i + 1) % n
            f_left = q[left] * q[left] / h[left] + 4.9 * h[left] * h[left]
            f_right = q[right] * q[right] / h[right] + 4.9 * h[right] * h[right]
            new_h[i] = 0.5 * (h[left] + h[right]) - 0.02 * (q[right] - q[left])
            new_q[i] = 0.5 * (q[left] + q[right]) - 0.02 * (f_right - f_left)
        h, q = new_h, new_q
    return np.sum(q * q) + h[n // 3]


@njit
def seismic_traces(velocity, source, observed):
    """Acoustic waves in a plane, by differences of second order: the misfit at a line of receivers."""
    nz, nx = velocity.shape
    old, now, new = np.zeros((nz, nx)), np.zeros((nz, nx)), np.zeros((nz, nx))
    misfit = 0.0
    for t in contad.checkpointed(range(source.size)):
        for i in range(1, nz - 1):
            for j in range(1, nx - 1):
                around = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1] - 4.0 * now[i, j]
                new[i, j] = 2.0 * now[i, j] - old[i, j] + velocity[i, j] ** 2 * around
        new[nz // 2, nx // 2] += source[t]
        for i in range(nz):
            for j in range(nx):
                old[i, j] = now[i, j]
                now[i, j] = new[i, j]
        for j in range(nx):
            misfit += (now[1, j] - observed[t, j]) ** 2
    return misfit


@njit
def reaction_diffusion(rates, start, steps):
    """Two species that react and spread, whole rows at a time."""
    u, v = start.copy(), 1.0 - start
    for _ in range(steps):
        uvv = u * v * v
        spread_u = np.roll(u, 1) + np.roll(u, -1) - 2.0 * u
        spread_v = np.roll(v, 1) + np.roll(v, -1) - 2.0 * v
        u = u + 0.1 * (rates[0] * spread_u - uvv + rates[2] * (1.0 - u))
        v = v + 0.1 * (rates[1] * spread_v + uvv - (rates[2] + rates[3]) * v)
    return np.sum(v * v)


@njit
def upwind(speed, start, steps):
    """Advection by upwind differences with van Leer's limiter."""
    n = start.size
    c, flux = start.copy(), np.zeros(n + 1)
    for _ in range(steps):
        for i in range(1, n - 1):
            behind, ahead = c[i] - c[i - 1], c[i + 1] - c[i]
            slope = 2.0 * behind * ahead / (behind + ahead) if behind * ahead > 0.0 else 0.0
            flux[i + 1] = speed * (c[i] + 0.5 * (1.0 - speed) * slope)
        for i in range(2, n - 1):
            c[i] -= flux[i + 1] - flux[i]
    return np.sum(c * c * np.arange(n))


@njit
def richards(theta, rain, steps):
    """Water that seeps through layers of soil: van Genuchten's curves, explicit steps."""
    alpha, m, conductivity = math.exp(theta[0]), 1.0 / (1.0 + math.exp(-theta[1])), math.exp(theta[2])
    layers = 12
    s = np.full(layers, 0.4)
    runoff = 0.0
    for t in range(steps):
        flow = rain[t % rain.size]
        for k in range(layers):
            e = (1.0 - (1.0 - s[k] ** (1.0 / m)) ** m) ** 2
            down = conductivity * math.sqrt(s[k]) * e + alpha * 0.01 * s[k]
            s[k] += 0.1 * (flow - down)
            if s[k] > 0.98:
                runoff += s[k] - 0.98
                s[k] = 0.98
            flow = down
        runoff += 0.1 * flow
    return runoff


@njit
def bilinear(image, points):
    """Values of an image between its pixels."""
    total = 0.0
    for p in range(points.shape[0]):
        x, y = points[p, 0], points[p, 1]
        i, j = int(np.floor(x)), int(np.floor(y))
        i, j = min(max(i, 0), image.shape[0] - 2), min(max(j, 0), image.shape[1] - 2)
        a, b = x - i, y - j
        v = (1 - a) * ((1 - b) * image[i, j] + b * image[i, j + 1]) + a * (
            (1 - b) * image[i + 1, j] + b * image[i + 1, j + 1]
        )
        total += v * v
    return total


@njit
def registration(shift, fixed, moving):
    """Two images, one turned and moved: the mean square of their difference where they overlap."""
    c, s = math.cos(shift[0]), math.sin(shift[0])
    n, m = fixed.shape
    total, count = 0.0, 0
    for i in range(n):
        for j in range(m):
            x = c * (i - 0.5 * n) - s * (j - 0.5 * m) + 0.5 * n + shift[1]
            y = s * (i - 0.5 * n) + c * (j - 0.5 * m) + 0.5 * m + shift[2]
            if x < 0.0 or y < 0.0 or x >= n - 1 or y >= m - 1:
                continue
            k, g = int(x), int(y)
            a, b = x - k, y - g
            top = moving[k, g] + b * (moving[k, g + 1] - moving[k, g])
            low = moving[k + 1, g] + b * (moving[k + 1, g + 1] - moving[k + 1, g])
            total += (top + a * (low - top) - fixed[i, j]) ** 2
            count += 1
    return total / max(count, 1)


@njit
def natural_spline(knots, heights, points):
    """The second derivatives of a cubic spline by elimination, and its values."""
    n = knots.size
    second, work = np.zeros(n), np.zeros(n)
    for i in range(1, n - 1):
        part = (knots[i] - knots[i - 1]) / (knots[i + 1] - knots[i - 1])
        p = part * second[i - 1] + 2.0
        second[i] = (part - 1.0) / p
        jump = (heights[i + 1] - heights[i]) / (knots[i + 1] - knots[i])
        jump -= (heights[i] - heights[i - 1]) / (knots[i] - knots[i - 1])
        work[i] = (6.0 * jump / (knots[i + 1] - knots[i - 1]) - part * work[i - 1]) / p
    for i in range(n - 2, -1, -1):
        second[i] = second[i] * second[i + 1] + work[i]
    total = 0.0
    for x in points:
        low, high = 0, n - 1
        while high - low > 1:
            middle = (low + high) // 2
            if knots[middle] > x:
                high = middle
            else:
                low = middle
        h = knots[high] - knots[low]
        a, b = (knots[high] - x) / h, (x - knots[low]) / h
        y = a * heights[low] + b * heights[high]
        y += ((a**3 - a) * second[low] + (b**3 - b) * second[high]) * h * h / 6.0
        total += y * y
    return total


@njit
def b_splines(coefficients, knots, points):
    """De Boor's recursion for splines of third degree."""
    d = np.zeros(4)
    total = 0.0
    for x in points:
        k = 3
        while k < coefficients.size - 1 and x >= knots[k + 1]:
            k += 1
        for j in range(4):
            d[j] = coefficients[k - 3 + j]
        for r in range(1, 4):
            for j in range(3, r - 1, -1):
                a = (x - knots[k - 3 + j]) / (knots[j + 1 + k - r] - knots[k - 3 + j])
                d[j] = (1.0 - a) * d[j - 1] + a * d[j]
        total += math.sin(d[3])
    return total


@njit
def total_variation(image, noisy, weight):
    """A denoised image: squares of the difference and smooth absolute values of its slopes."""
    n, m = image.shape
    loss = 0.0
    for i in range(n):
        for j in range(m):
            loss += (image[i, j] - noisy[i, j]) ** 2
            dx = image[i + 1, j] - image[i, j] if i + 1 < n else 0.0
            dy = image[i, j + 1] - image[i, j] if j + 1 < m else 0.0
            loss += weight * math.sqrt(dx * dx + dy * dy + 1e-2)
    return loss


@njit
def convolved(image, kernel):
    """A small network: a convolution, a smooth threshold, and a mean over blocks."""
    n, m = image.shape
    k = kernel.shape[1]
    total = 0.0
    for c in range(kernel.shape[0]):
        for i in range(0, n - k + 1, 2):
            for j in range(0, m - k + 1, 2):
                s = 0.0
                for a in range(k):
                    for b in range(k):
                        s += image[i + a, j + b] * kernel[c, a, b]
                total += math.log1p(math.exp(s))
    return total


def _mesh(n):
    """A square of n by n points in triangles, and their places."""
    places = np.array([[i, j] for i in range(n) for j in range(n)], float)
    corners = [i * n + j for i in range(n - 1) for j in range(n - 1)]
    return places, np.array([t for a in corners for t in ((a, a + n, a + 1), (a + n, a + n + 1, a + 1))])


def _stretched(rng, n):
    places, triangles = _mesh(n)
    return places + 0.1 * rng.normal(size=places.shape), places, triangles, rng.uniform(1.0, 2.0, len(triangles))


PROGRAMS = [
    Real(plane_elements, "finite elements of a hyperelastic solid", _stretched, (0, 3), 3, 50),
    Real(
        bar_of_elements, "finite elements: assembly and a tridiagonal system",
        lambda rng, n: (0.3 * rng.normal(size=n + 1), rng.uniform(size=n)), (0, 1), 6, 5000,
    ),
    Real(
        shallow_water, "shallow-water steps", lambda rng, n: (rng.uniform(1.0, 1.2, n), 2 * n), (0,), 6, 200,
        "a few operations a cell; the marked loop runs twice, and its reverse adds to two neighbours",
    ),
    Real(
        seismic_traces, "seismic steps: full waveform inversion",
        lambda rng, n: (rng.uniform(0.3, 0.5, (n, n)), rng.normal(size=2 * n), rng.normal(size=(2 * n, n))), (0, 1), 5,
        60, "a stencil in vector registers; its reverse adds to five neighbours, and the marked loop runs twice",
    ),
    Real(
        reaction_diffusion, "reaction and diffusion by whole arrays",
        lambda rng, n: (np.array([0.2, 0.1, 0.04, 0.06]), rng.uniform(0.5, 1.0, n), n), (0, 1), 6, 200,
        "whole arrays are made anew at each step; memory, not arithmetic, takes the time",
    ),
    Real(
        upwind, "advection with a limiter", lambda rng, n: (0.4, np.sort(rng.normal(size=n)), n), (0, 1), 8, 300,
        "a nanosecond or two a cell; the sweep keeps their numbers, and adds to three neighbours",
    ),
    Real(
        richards, "water in soil", lambda rng, n: (np.array([0.1, 0.3, -0.5]), rng.uniform(0.0, 0.5, 20), n), (0, 1), 6,
        2000,
    ),
    Real(
        bilinear, "bilinear interpolation",
        lambda rng, n: (rng.normal(size=(20, 20)), rng.uniform(0.0, 19.0, (n, 2))), (0, 1), 5, 10_000,
    ),
    Real(
        registration, "image registration",
        lambda rng, n: (np.array([0.1, 0.3, -0.2]), rng.normal(size=(n, n)), rng.normal(size=(n, n))), (0, 2), 6, 150,
    ),
    Real(
        natural_spline, "spline interpolation",
        lambda rng, n: (np.cumsum(rng.uniform(0.5, 1.0, 12)), rng.normal(size=12), rng.uniform(1.0, 6.0, n)), (0, 1, 2),
        5, 10_000,
    ),
    Real(
        b_splines, "B-splines by de Boor's recursion",
        lambda rng, n: (rng.normal(size=9), np.arange(13.0), rng.uniform(3.0, 9.0, n)), (0, 2), 5, 10_000,
    ),
    Real(
        total_variation, "denoising with total variation",
        lambda rng, n: (rng.normal(size=(n, n)), rng.normal(size=(n, n)), 0.3), (0, 2), 5, 200,
    ),
    Real(
        convolved, "convolutions of images", lambda rng, n: (rng.normal(size=(n, n)), 0.3 * rng.normal(size=(3, 3, 3))),
        (0, 1), 7, 100,
    ),
]  # fmt: skip
