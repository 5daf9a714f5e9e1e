"""Gradients of GradBench's programs by hand: functions of the same names and arguments, which return (value, grads)."""

import math

import numpy as np
from numba import njit

from benchmarks.real.gradbench import sigmoid


@njit
def hello(x):
    return x * x, (2.0 * x,)


@njit
def det(a):
    n = a.shape[0]
    of_sets, bars, a_bar = np.zeros(1 << n), np.zeros(1 << n), np.zeros((n, n))
    of_sets[0] = 1.0
    for way in range(2):
        for k in range(1, 1 << n):
            columns = (1 << n) - k if way else k
            row, rest = -1, columns
            while rest:
                row += 1
                rest &= rest - 1
            sign = 1.0
            for j in range(n - 1, -1, -1):
                if columns >> j & 1:
                    others = columns ^ (1 << j)
                    if way:
                        a_bar[row, j] += sign * of_sets[others] * bars[columns]
                        bars[others] += sign * a[row, j] * bars[columns]
                    else:
                        of_sets[columns] += sign * a[row, j] * of_sets[others]
                    sign = -sign
        bars[(1 << n) - 1] = 1.0
    return of_sets[(1 << n) - 1], (a_bar,)


@njit
def llsq(x, n):
    total, x_bar = 0.0, np.zeros(x.size)
    for i in range(n):
        t = -1.0 + 2.0 * i / (n - 1.0)
        power, residual = 1.0, math.copysign(1.0, t)
        for j in range(x.size):
            residual -= x[j] * power
            power *= t
        total += residual * residual
        power = 1.0
        for j in range(x.size):
            x_bar[j] -= residual * power
            power *= t
    return 0.5 * total, (x_bar,)


@njit
def lse(x):
    most = x[0]
    for i in range(1, x.size):
        most = max(most, x[i])
    total, x_bar = 0.0, np.empty(x.size)
    for i in range(x.size):
        x_bar[i] = math.exp(x[i] - most)
        total += x_bar[i]
    for i in range(x.size):
        x_bar[i] /= total
    return most + math.log(total), (x_bar,)


@njit
def ode(x, steps):
    """Steps and stages are kept, and gone through backwards."""
    n, h = x.size, 2.0 / steps
    y = np.zeros(n)
    stages = np.empty((steps, 4, n))  # what each slope is taken at
    k = np.empty(n)
    weights, ways = (1.0, 2.0, 2.0, 1.0), (0.5, 0.5, 1.0, 0.0)
    for t in range(steps):
        total = np.zeros(n)
        for i in range(n):
            stages[t, 0, i] = y[i]
        for s in range(4):
            k[0] = x[0]
            for i in range(1, n):
                k[i] = x[i] * stages[t, s, i - 1]
            for i in range(n):
                total[i] += weights[s] * k[i]
                if s < 3:
                    stages[t, s + 1, i] = y[i] + ways[s] * h * k[i]
        for i in range(n):
            y[i] += h / 6.0 * total[i]
    x_bar, y_bar = np.zeros(n), np.zeros(n)
    y_bar[n - 1] = 2.0 * y[n - 1]
    k_bar, at_bar = np.empty(n), np.empty(n)
    for t in range(steps - 1, -1, -1):
        at_bar[:] = 0.0
        new = y_bar.copy()
        for s in range(3, -1, -1):
            for i in range(n):
                k_bar[i] = h / 6.0 * weights[s] * y_bar[i] + ways[s] * h * at_bar[i]
            at_bar[n - 1] = 0.0
            x_bar[0] += k_bar[0]
            for i in range(1, n):
                x_bar[i] += k_bar[i] * stages[t, s, i - 1]
                at_bar[i - 1] = k_bar[i] * x[i]
            for i in range(n):
                new[i] += at_bar[i]
        y_bar = new
    return y[n - 1] * y[n - 1], (x_bar,)


@njit
def clusters(points, centres):
    total, centres_bar = 0.0, np.zeros(centres.shape)
    for i in range(points.shape[0]):
        least, which = np.inf, 0
        for j in range(centres.shape[0]):
            d = 0.0
            for k in range(points.shape[1]):
                d += (points[i, k] - centres[j, k]) ** 2
            if d < least:
                least, which = d, j
        total += least
        for k in range(points.shape[1]):
            centres_bar[which, k] -= 2.0 * (points[i, k] - centres[which, k])
    return total, (centres_bar,)


@njit
def gaussians(alphas, means, logs, lower, x):
    k, d = means.shape
    n = x.shape[0]
    scales = np.exp(logs)
    heights = alphas + np.sum(logs, axis=1)
    means_bar, logs_bar, lower_bar = np.zeros(means.shape), np.zeros(logs.shape), np.zeros(lower.shape)
    alphas_bar, terms, z = np.zeros(k), np.empty(k), np.empty((k, d))
    total = 0.0
    for i in range(n):
        most = -np.inf
        for c in range(k):
            squares, place = 0.0, 0
            for a in range(d):
                s = scales[c, a] * (x[i, a] - means[c, a])
                for b in range(a):
                    s += lower[c, place] * (x[i, b] - means[c, b])
                    place += 1
                z[c, a] = s
                squares += s * s
            terms[c] = heights[c] - 0.5 * squares
            most = max(most, terms[c])
        summed = 0.0
        for c in range(k):
            terms[c] = math.exp(terms[c] - most)
            summed += terms[c]
        total += most + math.log(summed)
        for c in range(k):
            w = terms[c] / summed
            alphas_bar[c] += w
            place = 0
            for a in range(d):
                s = -w * z[c, a]
                logs_bar[c, a] += s * scales[c, a] * (x[i, a] - means[c, a])
                means_bar[c, a] -= s * scales[c, a]
                for b in range(a):
                    lower_bar[c, place] += s * (x[i, b] - means[c, b])
                    means_bar[c, b] -= s * lower[c, place]
                    place += 1
    for c in range(k):
        for a in range(d):
            logs_bar[c, a] += alphas_bar[c]
    value, (softmax,) = lse(alphas)
    return total - n * value, (alphas_bar - n * softmax, means_bar, logs_bar, lower_bar)


@njit
def bundle(cameras, points, weights, of_camera, of_point, features):
    """The rotation by p = c v + s w x v + k (w v) w, for the unscaled axis w."""
    cameras_bar, points_bar = np.zeros(cameras.shape), np.zeros(points.shape)
    weights_bar = np.zeros(weights.size)
    total = 0.0
    for o in range(weights.size):
        camera, point = cameras[of_camera[o]], points[of_point[o]]
        bar, point_bar = cameras_bar[of_camera[o]], points_bar[of_point[o]]
        w0, w1, w2 = camera[0], camera[1], camera[2]
        v0, v1, v2 = point[0] - camera[3], point[1] - camera[4], point[2] - camera[5]
        angle2 = w0 * w0 + w1 * w1 + w2 * w2
        c, s, k, ds, dk = 1.0, 1.0, 0.5, -1.0 / 3.0, -1.0 / 12.0
        if angle2 != 0.0:
            angle = math.sqrt(angle2)
            c, s = math.cos(angle), math.sin(angle) / angle
            k = (1.0 - c) / angle2
            ds, dk = (c - s) / angle2, (s - 2.0 * k) / angle2
        x0, x1, x2 = w1 * v2 - w2 * v1, w2 * v0 - w0 * v2, w0 * v1 - w1 * v0
        wv = w0 * v0 + w1 * v1 + w2 * v2
        p0, p1, p2 = c * v0 + s * x0 + k * wv * w0, c * v1 + s * x1 + k * wv * w1, c * v2 + s * x2 + k * wv * w2
        x, y = p0 / p2, p1 / p2
        r2 = x * x + y * y
        bend = 1.0 + camera[9] * r2 + camera[10] * r2 * r2
        u, v = x * bend * camera[6] + camera[7] - features[o, 0], y * bend * camera[6] + camera[8] - features[o, 1]
        weight = weights[o]
        rest = 1.0 - weight * weight
        total += weight * weight * (u * u + v * v) + rest * rest
        weights_bar[o] = 2.0 * weight * (u * u + v * v) - 4.0 * rest * weight
        u_bar, v_bar = 2.0 * weight * weight * u, 2.0 * weight * weight * v
        bar[6] += u_bar * x * bend + v_bar * y * bend
        bar[7] += u_bar
        bar[8] += v_bar
        bend_bar = camera[6] * (u_bar * x + v_bar * y)
        bar[9] += bend_bar * r2
        bar[10] += bend_bar * r2 * r2
        r2_bar = bend_bar * (camera[9] + 2.0 * camera[10] * r2)
        x_bar, y_bar = u_bar * bend * camera[6] + 2.0 * x * r2_bar, v_bar * bend * camera[6] + 2.0 * y * r2_bar
        q0, q1 = x_bar / p2, y_bar / p2
        q2 = -(x * q0 + y * q1)
        qw = q0 * w0 + q1 * w1 + q2 * w2
        # of q (w x v): by v it is q x w, by w it is v x q
        b0 = c * q0 + s * (q1 * w2 - q2 * w1) + k * qw * w0
        b1 = c * q1 + s * (q2 * w0 - q0 * w2) + k * qw * w1
        b2 = c * q2 + s * (q0 * w1 - q1 * w0) + k * qw * w2
        turn = -s * (q0 * v0 + q1 * v1 + q2 * v2) + ds * (q0 * x0 + q1 * x1 + q2 * x2) + dk * wv * qw
        bar[0] += turn * w0 + s * (v1 * q2 - v2 * q1) + k * (qw * v0 + wv * q0)
        bar[1] += turn * w1 + s * (v2 * q0 - v0 * q2) + k * (qw * v1 + wv * q1)
        bar[2] += turn * w2 + s * (v0 * q1 - v1 * q0) + k * (qw * v2 + wv * q2)
        bar[3] -= b0
        bar[4] -= b1
        bar[5] -= b2
        point_bar[0] += b0
        point_bar[1] += b1
        point_bar[2] += b2
    return total, (cameras_bar, points_bar, weights_bar)


@njit
def lstm_layers(weights, biases, ends, state, sequence):
    """Gates and states of every step are kept."""
    layers, _, b = weights.shape
    steps = sequence.shape[0] - 1
    gates = np.empty((steps, layers, 4, b))
    cells, hiddens = np.empty((steps + 1, layers, b)), np.empty((steps + 1, layers, b))
    tanhs, out, scales = np.empty((steps, layers, b)), np.empty((steps, b)), np.empty(steps)
    hiddens[0], cells[0] = state[0], state[1]
    total = 0.0
    for t in range(steps):
        for k in range(layers):
            for j in range(b):
                x = sequence[t, j] * ends[0, j] if k == 0 else hiddens[t + 1, k - 1, j]
                h = hiddens[t, k, j]
                forget = sigmoid(x * weights[k, 0, j] + biases[k, 0, j])
                ingate = sigmoid(h * weights[k, 1, j] + biases[k, 1, j])
                outgate = sigmoid(x * weights[k, 2, j] + biases[k, 2, j])
                change = math.tanh(h * weights[k, 3, j] + biases[k, 3, j])
                cells[t + 1, k, j] = cells[t, k, j] * forget + ingate * change
                tanhs[t, k, j] = math.tanh(cells[t + 1, k, j])
                hiddens[t + 1, k, j] = outgate * tanhs[t, k, j]
                gates[t, k, 0, j], gates[t, k, 1, j] = forget, ingate
                gates[t, k, 2, j], gates[t, k, 3, j] = outgate, change
        scale = 2.0
        for j in range(b):
            x = hiddens[t + 1, layers - 1, j] * ends[1, j] + ends[2, j]
            out[t, j] = math.exp(x)
            scale += out[t, j]
            total += sequence[t + 1, j] * x
        scales[t] = scale
        total -= np.sum(sequence[t + 1]) * math.log(scale)
    seed = -1.0 / (steps * b)
    weights_bar, biases_bar, ends_bar = np.zeros(weights.shape), np.zeros(biases.shape), np.zeros(ends.shape)
    h_bar, c_bar, above = np.zeros((layers, b)), np.zeros((layers, b)), np.empty(b)
    for t in range(steps - 1, -1, -1):
        all_of = np.sum(sequence[t + 1])
        for j in range(b):
            x_bar = seed * (sequence[t + 1, j] - all_of * out[t, j] / scales[t])
            ends_bar[1, j] += x_bar * hiddens[t + 1, layers - 1, j]
            ends_bar[2, j] += x_bar
            above[j] = x_bar * ends[1, j]
        for k in range(layers - 1, -1, -1):
            for j in range(b):
                forget, ingate = gates[t, k, 0, j], gates[t, k, 1, j]
                outgate, change = gates[t, k, 2, j], gates[t, k, 3, j]
                of_h, tanh = h_bar[k, j] + above[j], tanhs[t, k, j]
                of_c = c_bar[k, j] + of_h * outgate * (1.0 - tanh * tanh)
                of_out = of_h * tanh * outgate * (1.0 - outgate)
                of_forget = of_c * cells[t, k, j] * forget * (1.0 - forget)
                of_in = of_c * change * ingate * (1.0 - ingate)
                of_change = of_c * ingate * (1.0 - change * change)
                c_bar[k, j] = of_c * forget
                x = sequence[t, j] * ends[0, j] if k == 0 else hiddens[t + 1, k - 1, j]
                h = hiddens[t, k, j]
                weights_bar[k, 0, j] += of_forget * x
                weights_bar[k, 1, j] += of_in * h
                weights_bar[k, 2, j] += of_out * x
                weights_bar[k, 3, j] += of_change * h
                biases_bar[k, 0, j] += of_forget
                biases_bar[k, 1, j] += of_in
                biases_bar[k, 2, j] += of_out
                biases_bar[k, 3, j] += of_change
                above[j] = of_forget * weights[k, 0, j] + of_out * weights[k, 2, j]
                h_bar[k, j] = of_in * weights[k, 1, j] + of_change * weights[k, 3, j]
        for j in range(b):
            ends_bar[0, j] += above[j] * sequence[t, j]
    return seed * total, (weights_bar, biases_bar, ends_bar)


@njit
def particle(w, dt):
    """Tangents of the state: there is one number to differentiate by."""
    x, y, u, v = 0.0, 8.0, 0.75, 0.0
    dx, dy, du, dv = 0.0, 0.0, 0.0, 0.0
    while True:
        p, q = x - 10.0, y - (10.0 - w)
        r, s = math.hypot(p, q), math.hypot(p, y)
        i3, j3 = 1.0 / r**3, 1.0 / s**3
        di3 = -3.0 * i3 * (p * dx + q * (dy + 1.0)) / (r * r)
        dj3 = -3.0 * j3 * (p * dx + y * dy) / (s * s)
        ax, ay = p * (i3 + j3), q * i3 + y * j3
        dax = dx * (i3 + j3) + p * (di3 + dj3)
        day = (dy + 1.0) * i3 + q * di3 + dy * j3 + y * dj3
        if y + dt * v <= 0.0:
            t = -y / v
            end = x + t * u
            dt_end = -(dy + t * dv) / v
            return end * end, (2.0 * end * (dx + t * du + dt_end * u),)
        x, y, u, v = x + dt * u, y + dt * v, u + dt * ax, v + dt * ay - dt * 0.1
        dx, dy, du, dv = dx + dt * du, dy + dt * dv, du + dt * dax, dv + dt * day


@njit
def saddle(start, steps):
    """Both coordinates go their own ways, so that a tangent of each is enough."""
    x1, y1 = start
    x2, y2, dx, dy = 1.0, 1.0, 0.0, 0.0
    for _ in range(steps):
        cx, sx, cy, sy = math.cos(x1 * x2), math.sin(x1 * x2), math.cos(y1 * y2), math.sin(y1 * y2)
        gx, gy = -2.0 * x2 + 0.3 * x1 * cx, -2.0 * y2 + 0.3 * y1 * cy
        if gx * gx + gy * gy < 1e-24:
            break
        dx += 0.2 * (-2.0 * dx + 0.3 * (cx - x1 * sx * (x2 + x1 * dx)))
        dy += 0.2 * (-2.0 * dy + 0.3 * (cy - y1 * sy * (y2 + y1 * dy)))
        x2 += 0.2 * gx
        y2 += 0.2 * gy
    cx, cy = 0.3 * math.cos(x1 * x2), 0.3 * math.cos(y1 * y2)
    value = x1 * x1 + y1 * y1 - (x2 * x2 + y2 * y2) + 0.3 * (math.sin(x1 * x2) + math.sin(y1 * y2))
    of_x, of_y = 2.0 * x1 - 2.0 * x2 * dx + cx * (x2 + x1 * dx), 2.0 * y1 - 2.0 * y2 * dy + cy * (y2 + y1 * dy)
    return value, (np.array([of_x, of_y]),)
