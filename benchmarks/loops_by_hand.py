"""Value and gradient of the programs in `benchmarks.loops`, written by hand as an expert would."""

import math

import numpy as np
from numba import njit


@njit
def rosenbrock(x):
    n = len(x)
    g = np.empty(n)
    s = 0.0
    carry = 0.0
    for i in range(n - 1):
        xi = x[i]
        a = x[i + 1] - xi * xi
        b = 1.0 - xi
        s += 100.0 * a * a + b * b
        g[i] = carry - 400.0 * a * xi - 2.0 * b
        carry = 200.0 * a
    g[n - 1] = carry
    return s, (g,)


@njit
def logistic(b, X, y):
    n, k = X.shape
    g = np.empty(k)
    ll = 0.0
    for j in range(k):
        ll -= 0.5 * b[j] * b[j]
        g[j] = -b[j]
    for i in range(n):
        z = 0.0
        for j in range(k):
            z += X[i, j] * b[j]
        if z > 0.0:
            e = math.exp(-z)
            ll += y[i] * z - z - math.log1p(e)
            r = y[i] - 1.0 / (1.0 + e)
        else:
            e = math.exp(z)
            ll += y[i] * z - math.log1p(e)
            r = y[i] - e / (1.0 + e)
        for j in range(k):
            g[j] += r * X[i, j]
    return ll, (g,)


@njit
def logistic_arrays(b, X, y):
    z = X @ b
    r = np.empty(len(z))
    ll = 0.0
    for i in range(len(z)):
        e = math.exp(-abs(z[i]))
        ll += y[i] * z[i] - math.log1p(e) - max(z[i], 0.0)
        r[i] = y[i] - (1.0 if z[i] > 0.0 else e) / (1.0 + e)
    return ll - 0.5 * np.sum(b * b), (X.T @ r - b,)


@njit
def recurrence(x, a, b, n):
    xs = np.empty(n)
    for k in range(n):
        xs[k] = x
        if x > 0.0:  # noqa: SIM108  (as a user writes it)
            x = math.sin(x) * a + b / (1.0 + x * x)
        else:
            x = math.cos(x) * b - a * x
    value = x
    d, da, db = 1.0, 0.0, 0.0
    for k in range(n - 1, -1, -1):
        x = xs[k]
        if x > 0.0:
            q = 1.0 / (1.0 + x * x)
            da += d * math.sin(x)
            db += d * q
            d = d * (a * math.cos(x) - 2.0 * b * x * q * q)
        else:
            da -= d * x
            db += d * math.cos(x)
            d = -d * (b * math.sin(x) + a)
    return value, (d, da, db)


@njit
def heat(u0, k, steps):
    n = len(u0)
    u = np.empty((steps + 1, n))
    u[0] = u0
    for t in range(steps):
        u[t + 1, 0] = u[t, 0]
        u[t + 1, n - 1] = u[t, n - 1]
        for i in range(1, n - 1):
            u[t + 1, i] = u[t, i] + k * (u[t, i - 1] - 2.0 * u[t, i] + u[t, i + 1])
    s = 0.0
    du = np.empty(n)
    inner = np.zeros(n)
    sums = np.zeros(n)
    for i in range(n):
        s += u[steps, i] * u[steps, i]
        du[i] = 2.0 * u[steps, i]
    for t in range(steps - 1, -1, -1):
        for i in range(1, n - 1):
            inner[i] = k * du[i]  # zero at the ends, which do not move
            sums[i] += du[i] * (u[t, i - 1] - 2.0 * u[t, i] + u[t, i + 1])
        du[0] += inner[1]
        for i in range(1, n - 1):
            du[i] += inner[i - 1] - 2.0 * inner[i] + inner[i + 1]
        du[n - 1] += inner[n - 2]
    return s, (du, np.sum(sums))


@njit
def newtons(a, b):
    n = len(a)
    ga = np.empty(n)
    gb = np.empty(n)
    xs = np.empty(64)
    s = 0.0
    for i in range(n):
        x = a[i]
        it = 0
        done = False
        while it < 50:
            f = x * x * x + math.sin(x) * b[i] - a[i]
            if abs(f) < 1e-13:
                done = True
                break
            xs[it] = x
            df = 3.0 * x * x + math.cos(x) * b[i]
            x = x - f / df
            it += 1
        if done:
            s += x * b[i]
            dx, db = b[i], x
        else:
            s += x
            dx, db = 1.0, 0.0
        da = 0.0
        for t in range(it - 1, -1, -1):
            x = xs[t]
            sine, cosine = math.sin(x), math.cos(x)
            f = x * x * x + sine * b[i] - a[i]
            q = 1.0 / (3.0 * x * x + cosine * b[i])
            fq = f * q * q
            db += dx * (fq * cosine - sine * q)
            da += dx * q
            dx = dx * fq * (6.0 * x - sine * b[i])
        ga[i] = da + dx
        gb[i] = db
    return s, (ga, gb)


@njit
def mixture(alphas, means, icf, x, gamma, m):
    n, d = x.shape
    K = len(alphas)
    nt = icf.shape[1]
    Qd = np.empty((K, d))
    sums = np.empty(K)
    for k in range(K):
        s = 0.0
        for j in range(d):
            s += icf[k, j]
            Qd[k, j] = math.exp(icf[k, j])
        sums[k] = s
    ga = np.zeros(K)
    gm = np.zeros((K, d))
    gi = np.zeros((K, nt))
    gq = np.zeros((K, d))
    xc = np.empty((K, d))
    qx = np.empty((K, d))
    terms = np.empty(K)
    dx = np.empty(d)
    total = 0.0
    for ix in range(n):
        for k in range(K):
            for j in range(d):
                xc[k, j] = x[ix, j] - means[k, j]
                qx[k, j] = Qd[k, j] * xc[k, j]
            p = d
            for i in range(d):
                xi = xc[k, i]
                for j in range(i + 1, d):
                    qx[k, j] += icf[k, p] * xi
                    p += 1
            sq = 0.0
            for j in range(d):
                sq += qx[k, j] * qx[k, j]
            terms[k] = alphas[k] + sums[k] - 0.5 * sq
        mx = terms[0]
        for k in range(1, K):
            mx = max(mx, terms[k])
        se = 0.0
        for k in range(K):
            terms[k] = math.exp(terms[k] - mx)
            se += terms[k]
        total += mx + math.log(se)
        r = 1.0 / se
        for k in range(K):
            w = terms[k] * r
            ga[k] += w
            for j in range(d):
                gq[k, j] -= w * qx[k, j] * xc[k, j]
                dx[j] = -w * qx[k, j] * Qd[k, j]
            p = d
            for i in range(d):
                xi = xc[k, i]
                acc = 0.0
                for j in range(i + 1, d):
                    q = -w * qx[k, j]
                    gi[k, p] += q * xi
                    acc += q * icf[k, p]
                    p += 1
                gm[k, i] -= acc + dx[i]
    mx = np.max(alphas)
    se = 0.0
    for k in range(K):
        se += math.exp(alphas[k] - mx)
    lse = mx + math.log(se)
    pp = d + m + 1
    C = pp * d * (math.log(gamma) - 0.5 * math.log(2.0))
    prior = 0.0
    for k in range(K):
        fro = 0.0
        for j in range(d):
            fro += Qd[k, j] * Qd[k, j]
            gi[k, j] = (gq[k, j] + gamma * gamma * Qd[k, j]) * Qd[k, j] + ga[k] - m
        for j in range(d, nt):
            fro += icf[k, j] * icf[k, j]
            gi[k, j] += gamma * gamma * icf[k, j]
        prior += 0.5 * gamma * gamma * fro - m * sums[k]
        ga[k] -= n * math.exp(alphas[k] - lse)
    return total - n * lse + prior - K * C, (ga, gm, gi)


@njit
def kmeans(centres, points):
    g = np.zeros(centres.shape)
    total = 0.0
    for i in range(points.shape[0]):
        best = np.inf
        nearest = 0
        for k in range(centres.shape[0]):
            distance = 0.0
            for j in range(points.shape[1]):
                distance += (points[i, j] - centres[k, j]) ** 2
            if distance < best:
                best = distance
                nearest = k
        total += best
        for j in range(points.shape[1]):
            g[nearest, j] -= 2.0 * (points[i, j] - centres[nearest, j])
    return total, (g,)


@njit
def black_scholes(s0, mu, sigma, strike, z):
    paths, steps = z.shape
    dt = 1.0 / steps
    total, ds0, dmu, dsigma = 0.0, 0.0, 0.0, 0.0
    for p in range(paths):
        s = s0
        noise = 0.0
        for t in range(steps):
            s *= math.exp((mu - 0.5 * sigma * sigma) * dt + sigma * math.sqrt(dt) * z[p, t])
            noise += z[p, t]
        if s > strike:
            total += s - strike
            ds0 += s / s0
            dmu += s
            dsigma += s * (math.sqrt(dt) * noise - sigma)
    c = math.exp(-mu) / paths
    return c * total, (c * ds0, c * (dmu - total), c * dsigma)


@njit
def tridiagonal(lower, diagonal, upper, right):
    n = len(diagonal)
    c = np.empty(n)
    m = np.empty(n)
    x = np.empty(n)
    m[0] = 1.0 / diagonal[0]
    c[0] = upper[0] * m[0]
    x[0] = right[0] * m[0]
    for i in range(1, n):
        m[i] = 1.0 / (diagonal[i] - lower[i] * c[i - 1])
        c[i] = upper[i] * m[i]
        x[i] = (right[i] - lower[i] * x[i - 1]) * m[i]
    for i in range(n - 2, -1, -1):
        x[i] -= c[i] * x[i + 1]
    s = 0.0
    for i in range(n):
        s += x[i] * x[i]
    # the transposed system, with the same factors
    g = np.empty(n)
    g[0] = 2.0 * x[0]
    for i in range(1, n):
        g[i] = 2.0 * x[i] - c[i - 1] * g[i - 1]
    g[n - 1] *= m[n - 1]
    for i in range(n - 2, -1, -1):
        g[i] = (g[i] - lower[i + 1] * g[i + 1]) * m[i]
    gl = np.zeros(n)
    gd = np.empty(n)
    gu = np.zeros(n)
    for i in range(n):
        gd[i] = -g[i] * x[i]
        if i > 0:
            gl[i] = -g[i] * x[i - 1]
        if i < n - 1:
            gu[i] = -g[i] * x[i + 1]
    return s, (gl, gd, gu, g)


@njit
def kalman(a, q, r, y):
    """Tangents of the filter in the three parameters, side by side: for so few, forward mode is the better plan."""
    n = len(y)
    level, slope = y[0], 0.0
    p00, p01, p11 = r, 0.0, 1.0
    dl, ds = np.zeros(3), np.zeros(3)
    d00, d01, d11 = np.zeros(3), np.zeros(3), np.zeros(3)
    d00[2] = 1.0
    g = np.zeros(3)
    ll = 0.0
    for t in range(1, n):
        new00, new01, new11 = p00 + 2.0 * p01 + p11 + q, a * (p01 + p11), a * a * p11 + 0.1 * q
        s = new00 + r
        v = y[t] - (level + slope)
        i = 1.0 / s
        k0, k1 = new00 * i, new01 * i
        ll += 0.5 * (math.log(s) + v * v * i)
        for j in range(3):
            da, dq, dr = 1.0 * (j == 0), 1.0 * (j == 1), 1.0 * (j == 2)
            e00 = d00[j] + 2.0 * d01[j] + d11[j] + dq
            e01 = da * (p01 + p11) + a * (d01[j] + d11[j])
            e11 = 2.0 * a * da * p11 + a * a * d11[j] + 0.1 * dq
            e_level = dl[j] + ds[j]
            e_slope = da * slope + a * ds[j]
            e_s = e00 + dr
            e_v = -e_level
            g[j] += 0.5 * (e_s * i + 2.0 * v * e_v * i - v * v * i * i * e_s)
            e_k0, e_k1 = (e00 - k0 * e_s) * i, (e01 - k1 * e_s) * i
            dl[j] = e_level + e_k0 * v + k0 * e_v
            ds[j] = e_slope + e_k1 * v + k1 * e_v
            d11[j] = e11 - e_k1 * new01 - k1 * e01
            d01[j] = e01 - e_k0 * new01 - k0 * e01
            d00[j] = e00 - e_k0 * new00 - k0 * e00
        level, slope = level + slope + k0 * v, a * slope + k1 * v
        p11 = new11 - k1 * new01
        p01 = new01 - k0 * new01
        p00 = new00 - k0 * new00
    return ll, (g[0], g[1], g[2])


@njit
def hmm(initial, transition, emission, observed):
    S, T = len(initial), len(observed)
    weights = np.empty((T, S, S))  # weights[t, s, r]: the share of state r in the sum for state s
    alpha = np.empty(S)
    following = np.empty(S)
    for s in range(S):
        alpha[s] = initial[s] + emission[s, observed[0]]
    for t in range(1, T):
        for s in range(S):
            mx = alpha[0] + transition[0, s]
            for r in range(1, S):
                mx = max(mx, alpha[r] + transition[r, s])
            total = 0.0
            for r in range(S):
                e = math.exp(alpha[r] + transition[r, s] - mx)
                weights[t, s, r] = e
                total += e
            for r in range(S):
                weights[t, s, r] /= total
            following[s] = mx + math.log(total) + emission[s, observed[t]]
        alpha, following = following, alpha
    mx = np.max(alpha)
    e = np.exp(alpha - mx)
    total = np.sum(e)
    alpha_ = e / total
    before_ = np.empty(S)
    transition_ = np.zeros((S, S))  # transposed
    emission_ = np.zeros_like(emission)
    for t in range(T - 1, 0, -1):
        o = observed[t]
        before_[:] = 0.0
        for s in range(S):
            a_ = alpha_[s]
            emission_[s, o] += a_
            for r in range(S):
                d = a_ * weights[t, s, r]
                before_[r] += d
                transition_[s, r] += d
        alpha_, before_ = before_, alpha_
    for s in range(S):
        emission_[s, observed[0]] += alpha_[s]
    return mx + math.log(total), (alpha_, transition_.T.copy(), emission_)


@njit
def nbody(x, v, mass, steps, dt):
    n = len(mass)
    xs = np.empty((steps + 1, n, 3))
    pairs = n * (n - 1) // 2
    fs = np.empty((steps, pairs))
    d2s = np.empty((steps, pairs))
    xs[0] = x
    v = v.copy()
    for t in range(steps):
        p = 0
        for i in range(n):
            for j in range(i + 1, n):
                dx = xs[t, i, 0] - xs[t, j, 0]
                dy = xs[t, i, 1] - xs[t, j, 1]
                dz = xs[t, i, 2] - xs[t, j, 2]
                d2 = dx * dx + dy * dy + dz * dz + 0.01
                f = dt / (d2 * math.sqrt(d2))
                fs[t, p] = f
                d2s[t, p] = d2
                p += 1
                v[i, 0] -= dx * mass[j] * f
                v[i, 1] -= dy * mass[j] * f
                v[i, 2] -= dz * mass[j] * f
                v[j, 0] += dx * mass[i] * f
                v[j, 1] += dy * mass[i] * f
                v[j, 2] += dz * mass[i] * f
        for i in range(n):
            for k in range(3):
                xs[t + 1, i, k] = xs[t, i, k] + dt * v[i, k]
    s = 0.0
    x_ = np.empty((n, 3))
    for i in range(n):
        for k in range(3):
            s += xs[steps, i, k] * xs[steps, i, k]
            x_[i, k] = 2.0 * xs[steps, i, k]
    v_ = np.zeros((n, 3))
    mass_ = np.zeros(n)
    for t in range(steps - 1, -1, -1):
        for i in range(n):
            for k in range(3):
                v_[i, k] += dt * x_[i, k]
        p = 0
        for i in range(n):
            for j in range(i + 1, n):
                dx = xs[t, i, 0] - xs[t, j, 0]
                dy = xs[t, i, 1] - xs[t, j, 1]
                dz = xs[t, i, 2] - xs[t, j, 2]
                f, d2 = fs[t, p], d2s[t, p]
                p += 1
                mi, mj = mass[i], mass[j]
                on_i = dx * v_[i, 0] + dy * v_[i, 1] + dz * v_[i, 2]
                on_j = dx * v_[j, 0] + dy * v_[j, 1] + dz * v_[j, 2]
                mass_[i] += f * on_j
                mass_[j] -= f * on_i
                radial = -3.0 * f / d2 * (mi * on_j - mj * on_i)
                ax = f * (mi * v_[j, 0] - mj * v_[i, 0]) + radial * dx
                ay = f * (mi * v_[j, 1] - mj * v_[i, 1]) + radial * dy
                az = f * (mi * v_[j, 2] - mj * v_[i, 2]) + radial * dz
                x_[i, 0] += ax
                x_[i, 1] += ay
                x_[i, 2] += az
                x_[j, 0] -= ax
                x_[j, 1] -= ay
                x_[j, 2] -= az
    return s, (x_, v_, mass_)


@njit
def runge_kutta(theta, y0, steps, dt):
    a, b, c, d = theta[0], theta[1], theta[2], theta[3]
    mids = np.empty((steps, 4, 2))
    ys = np.empty((steps + 1, 2))
    ys[0] = y0
    k = np.empty((4, 2))
    loss = 0.0
    for t in range(steps):
        for s in range(4):
            h = 0.0 if s == 0 else dt if s == 3 else 0.5 * dt
            p = ys[t, 0] + (h * k[s - 1, 0] if s > 0 else 0.0)
            q = ys[t, 1] + (h * k[s - 1, 1] if s > 0 else 0.0)
            mids[t, s, 0] = p
            mids[t, s, 1] = q
            k[s, 0] = a * p - b * p * q
            k[s, 1] = c * p * q - d * q
        for i in range(2):
            ys[t + 1, i] = ys[t, i] + dt / 6.0 * (k[0, i] + 2.0 * k[1, i] + 2.0 * k[2, i] + k[3, i])
        loss += ys[t + 1, 0] * ys[t + 1, 0] + 0.5 * ys[t + 1, 1]
    ga = gb = gc = gd = 0.0
    gy0 = gy1 = 0.0
    for t in range(steps - 1, -1, -1):
        gy0 += 2.0 * ys[t + 1, 0]
        gy1 += 0.5
        out0, out1 = gy0, gy1
        from0 = from1 = 0.0  # what the next stage hands to this stage's slope
        for s in range(3, -1, -1):
            w = dt / 6.0 * (1.0 if s in (0, 3) else 2.0)
            k0 = w * out0 + from0
            k1 = w * out1 + from1
            p, q = mids[t, s, 0], mids[t, s, 1]
            ga += k0 * p
            gb -= k0 * p * q
            gc += k1 * p * q
            gd -= k1 * q
            gp = k0 * (a - b * q) + k1 * c * q
            gq = -k0 * b * p + k1 * (c * p - d)
            gy0 += gp
            gy1 += gq
            h = 0.0 if s == 0 else dt if s == 3 else 0.5 * dt
            from0, from1 = h * gp, h * gq
    return loss, (np.array([ga, gb, gc, gd]), np.array([gy0, gy1]))


@njit
def lstm(w, b, x, y):
    T, h = len(x), b.shape[1]
    states = np.zeros((T + 1, h))
    cells = np.zeros((T + 1, h))
    gates = np.empty((T, 4, h))
    squashed = np.empty((T, h))
    errors = np.empty(T)
    loss = 0.0
    for t in range(T):
        gate = gates[t]
        for g in range(4):
            for i in range(h):
                z = b[g, i] + x[t]
                for j in range(h):
                    z += w[g, i, j] * states[t, j]
                gate[g, i] = z
        out = 0.0
        for i in range(h):
            forget = 1.0 / (1.0 + math.exp(-gate[0, i]))
            enter = 1.0 / (1.0 + math.exp(-gate[1, i]))
            emit = 1.0 / (1.0 + math.exp(-gate[2, i]))
            new = math.tanh(gate[3, i])
            cell = forget * cells[t, i] + enter * new
            squash = math.tanh(cell)
            gate[0, i], gate[1, i], gate[2, i], gate[3, i] = forget, enter, emit, new
            cells[t + 1, i] = cell
            squashed[t, i] = squash
            states[t + 1, i] = emit * squash
            out += emit * squash
        errors[t] = out - y[t]
        loss += errors[t] ** 2
    w_, b_ = np.zeros_like(w), np.zeros_like(b)
    state_, cell_, gate_ = np.zeros(h), np.zeros(h), np.empty((4, h))
    for t in range(T - 1, -1, -1):
        out_ = 2.0 * errors[t]
        for i in range(h):
            forget, enter, emit, new = gates[t, 0, i], gates[t, 1, i], gates[t, 2, i], gates[t, 3, i]
            squash = squashed[t, i]
            s_ = state_[i] + out_
            c_ = cell_[i] + s_ * emit * (1.0 - squash * squash)
            gate_[0, i] = c_ * cells[t, i] * forget * (1.0 - forget)
            gate_[1, i] = c_ * new * enter * (1.0 - enter)
            gate_[2, i] = s_ * squash * emit * (1.0 - emit)
            gate_[3, i] = c_ * enter * (1.0 - new * new)
            cell_[i] = c_ * forget
            state_[i] = 0.0
        for g in range(4):
            for i in range(h):
                d = gate_[g, i]
                b_[g, i] += d
                for j in range(h):
                    w_[g, i, j] += d * states[t, j]
                    state_[j] += d * w[g, i, j]
    return loss, (w_, b_)


@njit
def lennard_jones(x):
    energy = 0.0
    x_bar = np.zeros(x.shape)
    for i in range(len(x)):
        for j in range(i):
            a, b, c = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
            inverse = 1.0 / (a * a + b * b + c * c)
            s6 = inverse * inverse * inverse
            energy += 4.0 * (s6 * s6 - s6)
            force = -24.0 * (2.0 * s6 * s6 - s6) * inverse
            for k in range(3):
                x_bar[i, k] += force * (x[i, k] - x[j, k])
                x_bar[j, k] -= force * (x[i, k] - x[j, k])
    return energy, (x_bar,)
