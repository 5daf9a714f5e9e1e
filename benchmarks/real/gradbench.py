"""The programs of GradBench (github.com/gradbench/gradbench), written for Numba; gradients by hand in another module.

Where a program is a Jacobian there, here it is the gradient of a sum of squares.
"""

import math

import numpy as np
from numba import njit

from benchmarks.real.program import Real


@njit
def hello(x):
    """The square of a number."""
    return x * x


@njit
def det(a):
    """A determinant by its first rows: sums over the columns that they take, each set of columns once."""
    n = a.shape[0]
    of_sets = np.zeros(1 << n)
    of_sets[0] = 1.0
    for columns in range(1, 1 << n):
        row, rest = -1, columns
        while rest:
            row += 1
            rest &= rest - 1
        sign = 1.0
        for j in range(n - 1, -1, -1):
            if columns >> j & 1:
                of_sets[columns] += sign * a[row, j] * of_sets[columns ^ (1 << j)]
                sign = -sign
    return of_sets[(1 << n) - 1]


@njit
def llsq(x, n):
    """A polynomial that is fitted to a step."""
    total = 0.0
    for i in range(n):
        t = -1.0 + 2.0 * i / (n - 1.0)
        power, residual = 1.0, math.copysign(1.0, t)
        for j in range(x.size):
            residual -= x[j] * power
            power *= t
        total += residual * residual
    return 0.5 * total


@njit
def lse(x):
    """The logarithm of a sum of exponentials."""
    most = x[0]
    for i in range(1, x.size):
        most = max(most, x[i])
    total = 0.0
    for i in range(x.size):
        total += math.exp(x[i] - most)
    return most + math.log(total)


@njit
def slopes(x, y):
    found = np.empty(y.size)
    found[0] = x[0]
    for i in range(1, y.size):
        found[i] = x[i] * y[i - 1]
    return found


@njit
def ode(x, steps):
    """A chain of equations by Runge and Kutta's steps: the square of where its last one ends."""
    y = np.zeros(x.size)
    h = 2.0 / steps
    for _ in range(steps):
        k1 = slopes(x, y)
        k2 = slopes(x, y + 0.5 * h * k1)
        k3 = slopes(x, y + 0.5 * h * k2)
        k4 = slopes(x, y + h * k3)
        y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return y[-1] * y[-1]


@njit
def squared_distance(p, q):
    total = 0.0
    for k in range(p.size):
        total += (p[k] - q[k]) ** 2
    return total


@njit
def clusters(points, centres):
    """The sum of squares of distances to the nearest centre."""
    total = 0.0
    for i in range(points.shape[0]):
        least = np.inf
        for j in range(centres.shape[0]):
            least = min(least, squared_distance(points[i], centres[j]))
        total += least
    return total


@njit
def gaussians(alphas, means, logs, lower, x):
    """A mixture of normal distributions with Cholesky factors of their precisions."""
    k, d = means.shape
    total = 0.0
    terms = np.empty(k)
    for i in range(x.shape[0]):
        for c in range(k):
            squares, heights, place = 0.0, 0.0, 0
            for a in range(d):
                z = math.exp(logs[c, a]) * (x[i, a] - means[c, a])
                for b in range(a):
                    z += lower[c, place] * (x[i, b] - means[c, b])
                    place += 1
                squares += z * z
                heights += logs[c, a]
            terms[c] = alphas[c] + heights - 0.5 * squares
        total += lse(terms)
    return total - x.shape[0] * lse(alphas)


@njit
def rotated(r, v):
    """A vector turned about an axis by its length, Rodrigues' way."""
    angle2 = np.dot(r, r)
    if angle2 == 0.0:
        return v + np.cross(r, v)
    angle = math.sqrt(angle2)
    axis = r / angle
    c, s = math.cos(angle), math.sin(angle)
    return c * v + s * np.cross(axis, v) + (1.0 - c) * np.dot(axis, v) * axis


@njit
def bundle(cameras, points, weights, of_camera, of_point, features):
    """Reprojection errors of cameras with distortion, and what keeps weights at one."""
    total = 0.0
    for k in range(weights.size):
        camera = cameras[of_camera[k]]
        p = rotated(camera[:3], points[of_point[k]] - camera[3:6])
        x, y = p[0] / p[2], p[1] / p[2]
        r2 = x * x + y * y
        bend = 1.0 + camera[9] * r2 + camera[10] * r2 * r2
        u, v = x * bend * camera[6] + camera[7], y * bend * camera[6] + camera[8]
        total += (weights[k] * (u - features[k, 0])) ** 2 + (weights[k] * (v - features[k, 1])) ** 2
        total += (1.0 - weights[k] * weights[k]) ** 2
    return total


@njit
def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


@njit
def lstm_layers(weights, biases, ends, state, sequence):
    """A network with memory, of several layers whose gates are diagonal: how well each letter is foretold."""
    layers, _, b = weights.shape
    hidden, cell = state[0].copy(), state[1].copy()
    total = 0.0
    x = np.empty(b)
    for t in range(sequence.shape[0] - 1):
        for j in range(b):
            x[j] = sequence[t, j] * ends[0, j]
        for k in range(layers):
            for j in range(b):
                forget = sigmoid(x[j] * weights[k, 0, j] + biases[k, 0, j])
                ingate = sigmoid(hidden[k, j] * weights[k, 1, j] + biases[k, 1, j])
                outgate = sigmoid(x[j] * weights[k, 2, j] + biases[k, 2, j])
                change = math.tanh(hidden[k, j] * weights[k, 3, j] + biases[k, 3, j])
                cell[k, j] = cell[k, j] * forget + ingate * change
                hidden[k, j] = outgate * math.tanh(cell[k, j])
            for j in range(b):
                x[j] = hidden[k, j]
        scale = 0.0
        for j in range(b):
            x[j] = x[j] * ends[1, j] + ends[2, j]
            scale += math.exp(x[j])
        for j in range(b):
            total += sequence[t + 1, j] * (x[j] - math.log(scale + 2.0))
    return -total / ((sequence.shape[0] - 1) * b)


@njit
def turned(angles):
    """The matrix of three turns."""
    x, y, z = np.eye(3), np.eye(3), np.eye(3)
    x[1, 1] = x[2, 2] = math.cos(angles[0])
    x[2, 1] = math.sin(angles[0])
    x[1, 2] = -x[2, 1]
    y[0, 0] = y[2, 2] = math.cos(angles[1])
    y[0, 2] = math.sin(angles[1])
    y[2, 0] = -y[0, 2]
    z[0, 0] = z[1, 1] = math.cos(angles[2])
    z[1, 0] = math.sin(angles[2])
    z[0, 1] = -z[1, 0]
    return z @ y @ x


@njit
def hand_tracking(theta, base, parents, inverse_base, weights, vertices, which, points):
    """A hand of bones that turn: how far points are from the vertices of its skin."""
    bones = parents.size
    absolute = np.zeros((bones, 4, 4))
    for k in range(bones):
        local = np.eye(4)
        local[:3, :3] = turned(theta[3 * k : 3 * k + 3])
        relative = base[k] @ local
        if parents[k] < 0:
            absolute[k] = relative
        else:
            absolute[k] = absolute[parents[k]] @ relative
    skin = np.zeros((vertices.shape[0], 3))
    for k in range(bones):
        moved = absolute[k] @ inverse_base[k]
        for v in range(vertices.shape[0]):
            for i in range(3):
                s = moved[i, 3]
                for j in range(3):
                    s += moved[i, j] * vertices[v, j]
                skin[v, i] += weights[v, k] * s
    total = 0.0
    for p in range(points.shape[0]):
        for i in range(3):
            total += (points[p, i] - skin[which[p], i] - theta[3 * bones + i]) ** 2
    return total


@njit
def particle(w, dt):
    """A charge that falls between two others: the square of where it meets the ground; Newton's law, Euler's steps."""
    x, y, u, v = 0.0, 8.0, 0.75, 0.0
    while True:
        a1 = x - 10.0, y - (10.0 - w)
        a2 = x - 10.0, y
        r1, r2 = math.hypot(a1[0], a1[1]), math.hypot(a2[0], a2[1])
        ax, ay = a1[0] / r1**3 + a2[0] / r2**3, a1[1] / r1**3 + a2[1] / r2**3
        new_x, new_y = x + dt * u, y + dt * v
        if new_y <= 0.0:
            t = -y / v
            end = x + t * u
            return end * end
        x, y, u, v = new_x, new_y, u + dt * ax, v + dt * ay - dt * 0.1


@njit
def saddle(start, steps):
    """What the better of two players loses: the other one's best answer by steps upwards, for a start of its own."""
    x1, y1 = start
    x2, y2 = 1.0, 1.0
    for _ in range(steps):
        gx = -2.0 * x2 + 0.3 * x1 * math.cos(x1 * x2)
        gy = -2.0 * y2 + 0.3 * y1 * math.cos(y1 * y2)
        if gx * gx + gy * gy < 1e-24:
            break
        x2 += 0.2 * gx
        y2 += 0.2 * gy
    return x1 * x1 + y1 * y1 - (x2 * x2 + y2 * y2) + 0.3 * (math.sin(x1 * x2) + math.sin(y1 * y2))


# ---- arguments -------------------------------------------------------------------------------------------------------
def _make_gaussians(rng, n):
    means, logs, lower = (rng.normal(size=(5, 3)) for _ in range(3))
    return rng.normal(size=5), means, 0.3 * logs, lower, rng.normal(size=(n, 3))


def _make_cameras(rng, n):
    cameras = rng.normal(size=(3, 11)) * np.repeat([0.3, 1.0, 0.1], [3, 6, 2])
    cameras[:, 5] -= 10.0
    cameras[:, 6] += 500.0
    places = rng.integers(0, 3, n), rng.integers(0, 7, n)
    return cameras, rng.normal(size=(7, 3)), rng.uniform(0.5, 1.5, n), *places, 10.0 * rng.normal(size=(n, 2))


def _make_letters(rng, n):
    params = rng.normal(size=(2, 4, 6)), rng.normal(size=(2, 4, 6)), rng.normal(size=(3, 6)), rng.normal(size=(2, 2, 6))
    return *(0.5 * x for x in params), rng.integers(0, 2, (n, 6)).astype(float)


def _make_hand(rng, n):
    bones = 5
    base = np.tile(np.eye(4), (bones, 1, 1))
    base[:, :3, 3] = rng.normal(size=(bones, 3))
    vertices = rng.normal(size=(n, 3))
    return (
        0.3 * rng.normal(size=3 * bones + 3), base, np.array([-1, 0, 1, 0, 3]), np.linalg.inv(base),
        rng.dirichlet(np.ones(bones), n), vertices, rng.integers(0, n, n), vertices + 0.1 * rng.normal(size=(n, 3)),
    )  # fmt: skip


PROGRAMS = [
    Real(hello, "GradBench: hello", lambda rng, n: (1.7,), (0,), 1, 1),
    Real(det, "GradBench: det", lambda rng, n: (rng.normal(size=(n, n)),), (0,), 4, 10),
    Real(llsq, "GradBench: llsq", lambda rng, n: (rng.normal(size=5), n), (0,), 8, 1000),
    Real(lse, "GradBench: lse", lambda rng, n: (rng.normal(size=n),), (0,), 8, 10_000),
    Real(ode, "GradBench: ode", lambda rng, n: (rng.uniform(0.5, 1.5, 6), n), (0,), 4, 100),
    Real(
        clusters, "GradBench: kmeans", lambda rng, n: (rng.normal(size=(n, 3)), rng.normal(size=(4, 3))), (1,), 9, 1000,
    ),
    Real(gaussians, "GradBench: gmm", _make_gaussians, (0, 1, 2, 3), 6, 500),
    Real(bundle, "GradBench: ba", _make_cameras, (0, 1, 2), 6, 300),
    Real(lstm_layers, "GradBench: lstm", _make_letters, (0, 1, 2), 4, 100),
    Real(hand_tracking, "GradBench: ht", _make_hand, (0,), 6, 100),
    Real(particle, "GradBench: particle", lambda rng, n: (1.5, 8.0 / n), (0,), 20, 200),
    Real(saddle, "GradBench: saddle", lambda rng, n: (np.array([0.7, 0.4]), n), (0,), 6, 60),
]  # fmt: skip
