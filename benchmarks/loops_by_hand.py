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
    new = np.empty(n)
    for i in range(n):
        s += u[steps, i] * u[steps, i]
        du[i] = 2.0 * u[steps, i]
    dk = 0.0
    for t in range(steps - 1, -1, -1):
        for i in range(1, n - 1):
            dk += du[i] * (u[t, i - 1] - 2.0 * u[t, i] + u[t, i + 1])
        new[0] = du[0] + k * du[1]  # the ends stay as they are
        new[1] = (1.0 - 2.0 * k) * du[1] + k * du[2]
        for i in range(2, n - 2):
            new[i] = (1.0 - 2.0 * k) * du[i] + k * (du[i - 1] + du[i + 1])
        new[n - 2] = (1.0 - 2.0 * k) * du[n - 2] + k * du[n - 3]
        new[n - 1] = du[n - 1] + k * du[n - 2]
        du, new = new, du
    return s, (du, dk)


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
    S = len(initial)
    n = len(observed)
    alpha = np.empty((n, S))
    for s in range(S):
        alpha[0, s] = initial[s] + emission[s, observed[0]]
    for t in range(1, n):
        for s in range(S):
            mx = alpha[t - 1, 0] + transition[0, s]
            for r in range(1, S):
                mx = max(mx, alpha[t - 1, r] + transition[r, s])
            total = 0.0
            for r in range(S):
                total += math.exp(alpha[t - 1, r] + transition[r, s] - mx)
            alpha[t, s] = mx + math.log(total) + emission[s, observed[t]]
    mx = np.max(alpha[n - 1])
    value = mx + math.log(np.sum(np.exp(alpha[n - 1] - mx)))
    gt = np.zeros((S, S))
    ge = np.zeros(emission.shape)
    d = np.exp(alpha[n - 1] - value)
    new = np.empty(S)
    for t in range(n - 1, 0, -1):
        new[:] = 0.0
        for s in range(S):
            ge[s, observed[t]] += d[s]
            # the weights of the sum: exp(term - logarithm of the sum)
            log_sum = alpha[t, s] - emission[s, observed[t]]
            for r in range(S):
                w = d[s] * math.exp(alpha[t - 1, r] + transition[r, s] - log_sum)
                gt[r, s] += w
                new[r] += w
        d, new = new, d
    for s in range(S):
        ge[s, observed[0]] += d[s]
    return value, (d, gt, ge)


@njit
def nbody(x, v, mass, steps, dt):
    n = len(mass)
    xs = np.empty((steps + 1, n, 3))
    xs[0] = x
    v = v.copy()
    for t in range(steps):
        p = xs[t]
        for i in range(n):
            for j in range(i + 1, n):
                dx = p[i, 0] - p[j, 0]
                dy = p[i, 1] - p[j, 1]
                dz = p[i, 2] - p[j, 2]
                d2 = dx * dx + dy * dy + dz * dz + 0.01
                f = dt / (d2 * math.sqrt(d2))
                fi, fj = mass[j] * f, mass[i] * f
                v[i, 0] -= dx * fi
                v[i, 1] -= dy * fi
                v[i, 2] -= dz * fi
                v[j, 0] += dx * fj
                v[j, 1] += dy * fj
                v[j, 2] += dz * fj
        for i in range(n):
            for k in range(3):
                xs[t + 1, i, k] = p[i, k] + dt * v[i, k]
    s = 0.0
    gx = np.empty((n, 3))
    gv = np.zeros((n, 3))
    gm = np.zeros(n)
    for i in range(n):
        for k in range(3):
            s += xs[steps, i, k] * xs[steps, i, k]
            gx[i, k] = 2.0 * xs[steps, i, k]
    for t in range(steps - 1, -1, -1):
        p = xs[t]
        for i in range(n):
            for k in range(3):
                gv[i, k] += dt * gx[i, k]
        for i in range(n):
            for j in range(i + 1, n):
                dx = p[i, 0] - p[j, 0]
                dy = p[i, 1] - p[j, 1]
                dz = p[i, 2] - p[j, 2]
                d2 = dx * dx + dy * dy + dz * dz + 0.01
                f = dt / (d2 * math.sqrt(d2))
                along_i = gv[i, 0] * dx + gv[i, 1] * dy + gv[i, 2] * dz
                along_j = gv[j, 0] * dx + gv[j, 1] * dy + gv[j, 2] * dz
                gm[j] -= f * along_i
                gm[i] += f * along_j
                df = mass[i] * along_j - mass[j] * along_i
                c = -3.0 * f * df / d2
                gx0 = f * (mass[i] * gv[j, 0] - mass[j] * gv[i, 0]) + c * dx
                gx1 = f * (mass[i] * gv[j, 1] - mass[j] * gv[i, 1]) + c * dy
                gx2 = f * (mass[i] * gv[j, 2] - mass[j] * gv[i, 2]) + c * dz
                gx[i, 0] += gx0
                gx[i, 1] += gx1
                gx[i, 2] += gx2
                gx[j, 0] -= gx0
                gx[j, 1] -= gx1
                gx[j, 2] -= gx2
    return s, (gx, gv, gm)


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
    n = len(x)
    h = b.shape[1]
    states = np.zeros((n + 1, h))
    cells = np.zeros((n + 1, h))
    gates = np.empty((n, 4, h))
    squashed = np.empty((n, h))
    misses = np.empty(n)
    loss = 0.0
    for t in range(n):
        out = 0.0
        for i in range(h):
            for g in range(4):
                z = b[g, i] + x[t]
                for j in range(h):
                    z += w[g, i, j] * states[t, j]
                gates[t, g, i] = math.tanh(z) if g == 3 else 1.0 / (1.0 + math.exp(-z))
            cells[t + 1, i] = gates[t, 0, i] * cells[t, i] + gates[t, 1, i] * gates[t, 3, i]
            squashed[t, i] = math.tanh(cells[t + 1, i])
            states[t + 1, i] = gates[t, 2, i] * squashed[t, i]
            out += states[t + 1, i]
        misses[t] = out - y[t]
        loss += misses[t] * misses[t]
    gw = np.zeros((4, h, h))
    gb = np.zeros((4, h))
    gs = np.zeros(h)
    gc = np.zeros(h)
    new = np.empty(h)
    dz = np.empty(4)
    for t in range(n - 1, -1, -1):
        new[:] = 0.0
        for i in range(h):
            forget, enter, emit, offer = gates[t, 0, i], gates[t, 1, i], gates[t, 2, i], gates[t, 3, i]
            ds = gs[i] + 2.0 * misses[t]
            dc = gc[i] + ds * emit * (1.0 - squashed[t, i] * squashed[t, i])
            dz[0] = dc * cells[t, i] * forget * (1.0 - forget)
            dz[1] = dc * offer * enter * (1.0 - enter)
            dz[2] = ds * squashed[t, i] * emit * (1.0 - emit)
            dz[3] = dc * enter * (1.0 - offer * offer)
            gc[i] = dc * forget
            for g in range(4):
                gb[g, i] += dz[g]
                for j in range(h):
                    gw[g, i, j] += dz[g] * states[t, j]
                    new[j] += dz[g] * w[g, i, j]
        gs, new = new, gs
    return loss, (gw, gb)
