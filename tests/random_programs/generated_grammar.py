"""What the random programs for the engine `generated` are made of: a tree of statements over its whole grammar.

Arrays: x, m, t and idx are arguments and never written; u, w, q and t3 are written in place and may be viewed by v;
c and d are made anew by expressions, also in loops and branches, and may be two names of one array; o is made anew and
written, and has no second name.
"""

import ast
import random
import re

UNLUCKY = ("x_bar", "t_2", "r_t", "s_bar", "base", "work", "top", "u_bar")  # as names of the generated source
PLANNED = "planned"  # the message of an error that a program raises on purpose
CALLEES = """\
@njit
def g(y, c):
    if y > c:
        return y * 0.5
    z = math.sin(y) * c
    return z

@njit
def h(v, c, k=1):
    for j in range(len(v)):
        if v[j] > 1.2:
            break
        v[j] = math.tanh(v[j] * c + 0.1 * k)
        if j == 2:
            return c, v[j] * 0.3
    return v[0] * c, c

@njit
def first(y, c, scale=0.5):
    for j in range(len(y)):
        for k in range(j):
            if y[j] - y[k] > 0.4:
                return g(y[j], c) * scale
    return c * scale

@njit
def relaxed(y, steps=2, rate=0.3):
    for _ in range(steps):
        y = y + rate * np.sin(y)
        if y[0] > 1.5:
            break
    return y

@njit("float64(int64, float64)")
def cast(y, c):
    return 0.3 * y * c

@njit(locals={"k": int64})
def counted(y, c):
    k = 3.0 * y
    return 0.1 * k * c
@njit(error_model="numpy")
def far(y, c):
    if abs(y / (c - c)) > 2.0:
        return g(y, c) * 0.5
    return c

@njit(fastmath=True)
def quick(y, c):
    return y * c + math.sin(c) * y

@njit
def nested(y, c):
    z = g(y, c)
    if z > 0.5:
        return g(z, y) * far(y, z)
    s = 0.0
    for j in range(3):
        s += math.tanh(g(z * j, c))
        if s > 1.2:
            break
    return s + quick(z, c)

@njit(boundscheck=True)
def weighed(v, c):
    s = c
    k = 0
    while k < len(v):
        s = math.tanh(s * 0.5 + v[k] * nested(s, v[k - 1]))
        k += 1
    z = np.zeros(len(v))
    for j in range(len(v)):
        z[j] = v[j] * 0.3
    z[1] = s
    return s, np.sum(z) + nested(c, s)

@njit(error_model="numpy", boundscheck=True)
def through(y, c, n):
    if n > 2:
        return y
    s, z = weighed(A5[1], y)
    for j in range(n):
        y = far(y + s, c) + quick(c, z) * A5[1, j]
    return y

@njit
def spread(y, c):
    s = c
    for j in range(len(y)):
        if y[j] > 1.4:
            return
        s = math.tanh(0.5 * s + y[j])
        yield j, s
    yield 0, c * 0.3

@njit
def dying(y, c):
    for k, s in spread(y, c):
        if k % 2 == 1:
            continue
        yield s * 0.5
    r = math.tanh(c)
    while r > 0.1:
        yield r
        r *= 0.4
"""
HEAD = """\
@njit
def f(x, m, a, b, t, idx, on):
    n = len(x)
    s = 0
    p = 0
    r = 0.5
"""
OPTIONAL = {  # lines of the head, where the body uses the name
    "u": "u = x.copy()", "w": "w = np.zeros(n)", "q": "q = m.copy()", "v": "v = u[1:4]", "c": "c = x * 0.5",
    "d": "d = np.ones(n)", "o": "o = x * 0.3 + a", "t3": "t3 = np.copy(t)", "pair": "pair = (a, r)",
}  # fmt: skip
IN_LOOP = {"u": "0.1 * u[z]", "w": "w[z] * x[z]", "q": "0.3 * q[z % 3, 1]", "v": "v[0] * z"}  # what the tail adds
IN_RESULT = {
    "c": "0.1 * np.sum(c * x)", "d": "0.1 * np.sum(d * x)", "o": "0.1 * np.sum(o * x)", "t3": "0.2 * np.sum(t3 * t)",
    "pair": "0.1 * pair[1]",
}  # fmt: skip
REDUCTIONS = (
    "np.sum(u * w)", "np.sum(u)", "np.dot(u, x)", "w.sum()", "np.max(u)", "np.min(w)", "np.mean(q)",
    "np.sum(np.sin(u) * a)", "np.sum(v * v)", "u @ w", "np.sum(c * d)", "np.sum(t3)", "np.dot(q, u[:4])[1]",
    "(m @ q.T)[0, 2]", "np.sum(q, axis=0)[1]", "q.sum(axis=1)[2]", "np.sum(t3[1] * t[0])", "np.sum(c[::-1] * x)",
    "np.sum(A5[1] * u)", "np.median(u)", "np.var(w)", "np.prod(np.tanh(u))", "np.cross(u[:3], w[2:])[1]",
    "np.var(idx) * u[1]", "np.var(t[0])", "np.sum(np.sort(t[1, 0])[1:] * 0.5)",
    "np.interp(w[1], np.array([-1.0, 0.0, 1.0]), u[:3])", "np.sum(w[u > 0.1])", "np.sum(m[:, idx[1:3] % 4] * 0.5)",
    "np.sum(np.transpose(t3, (2, 0, 1))[0] * t[1])", "np.ptp(u)", "np.trapezoid(w, x)", "sum((a, u[1], r))",
    "np.sum(np.stack((u, w), axis=1)[2:, 0])",
    "np.sum(np.concatenate((c[2:], d[:2])) * x)", "np.append(c, a)[p % 3]", "np.hstack((o[:2], x))[3]",
    "np.sum(np.vstack((o, d))[0] * 0.9)", "np.column_stack((c, d))[1, 1]", "np.sum(q.flatten()[2:7] * u)",
    "np.sum(q.reshape(4, 3)[1:, 0])", "t3.ravel()[5]",
)  # fmt: skip
# in some programs only, so that the others stay what they are; matrices with a strong diagonal, which no loop spoils
MATRIX_REDUCTIONS = (
    "np.linalg.solve(np.tanh(q[:, :3]) * 0.3 + 2.0 * np.eye(3), u[1:4])[1]",
    "np.linalg.slogdet(np.tanh(q[:, 1:]) * 0.3 - np.eye(3))[1]", "np.linalg.det(np.tanh(m @ q.T) * 0.3 + np.eye(3))",
    "np.sum(np.linalg.inv(np.eye(3) - 0.3 * np.tanh(q[:, ::-1][:, 1:])))", "np.linalg.norm(u)",
    "np.linalg.cholesky(np.outer(u, u) * 0.1 + np.diag(1.0 + w * w))[3, 1]",
    "np.linalg.eigh(np.outer(w, w) * 0.1 + np.diag(x))[0][2]", "np.linalg.qr(np.tanh(q.T) + np.eye(4)[:, :3])[1][0, 1]",
)
MATRIX_ANEW = (
    "c = np.linalg.solve(np.tanh(np.outer(x, d)) * 0.1 + np.eye(n), c)",
    "d = np.linalg.inv(A5 * 0.1 + np.eye(n))[idx[1]] * r",
    "c = np.linalg.solve(A5.T * 0.2 + np.eye(n) * 2.0, d * c)",
    "q = np.linalg.solve(np.eye(3) * 3.0 + np.tanh(m[:, :3]), q)",
    "o = np.linalg.lstsq(np.eye(n)[:, :4] + 0.1, o)[0][0] * o", "d = np.linalg.matrix_power(A5 * x * 0.2, 2) @ d",
)
# what second and third derivatives are asked of besides
DIAGONAL = "np.diag(np.array([1.0, 2.0, 3.5]))"  # whose spectrum small changes keep apart
SPECTRAL_REDUCTIONS = (
    f"np.linalg.svd(np.tanh(q[:, :3]) * 0.1 + {DIAGONAL})[1][1]",
    f"np.sum(np.linalg.svd(np.tanh(q[:, 1:]) * 0.1 - {DIAGONAL})[2][0] ** 2 * u[:3])",
    f"np.linalg.eigh(np.tanh(q @ q.T) * 0.1 + {DIAGONAL})[1][0, 1] ** 2",
    f"np.sum(np.exp(-0.3 * np.linalg.eigvalsh(np.tanh(m @ q.T + q @ m.T) * 0.1 + {DIAGONAL})))",
    "np.sum(np.linalg.pinv(np.tanh(q) * 0.1 + np.eye(4)[:3]) * m.T)", "np.linalg.norm(q)",
    "np.sum(np.linalg.lstsq(np.tanh(q.T) * 0.1 + np.eye(4)[:, :3], w[1:])[0] * u[:3])",
    "contad.logsumexp(u)", "contad.logsumexp(np.tanh(q), axis=1)[1]", "np.sum(contad.softmax(w) * x)",
    "contad.scipy.linalg.expm(np.tanh(q[:, 1:]) * 0.3)[0, 1]", "np.trace(np.tanh(q.T @ m))",
    "np.sum(contad.scipy.linalg.solve_triangular(np.tanh(q[:, :3]) * 0.3 + np.eye(3) * 2.0, u[2:], lower=True))",
    "contad.scipy.linalg.cho_solve(contad.scipy.linalg.cho_factor(np.tanh(q @ q.T) * 0.1 + np.eye(3)), w[:3])[1]",
    "(np.tanh(q) @ np.outer(u[:4], w) @ A5)[1, 2]", "np.sum(np.tanh(q.T @ q) @ m.T)", "(u @ A5 @ w) * 0.2",
    "np.linalg.det(np.tanh(np.outer(u, w)) * 0.2 + np.eye(5))",
    "x @ np.linalg.inv(A5 * 0.1 + np.diag(2.0 + w * w)) @ u",
    "np.prod(np.linalg.qr(np.tanh(q[:, :3]) * 0.3 + np.eye(3) * 2.0)[0][0])",
)  # fmt: skip
SPECTRAL_ANEW = (
    "c = contad.softmax(c * d)", f"c[:3] = np.linalg.eigvalsh(np.tanh(np.outer(c[1:4], c[1:4])) * 0.1 + {DIAGONAL})",
    "d = np.linalg.solve(np.diag(2.0 + d * d) + A5 * 0.3, c)", "c = contad.scipy.linalg.expm(A5 * r * 0.2) @ c",
    "q[:] = np.tanh(q @ np.outer(d[:4], c[1:]))", "q[:] = np.linalg.inv(np.tanh(q[:, :3]) * 0.2 + np.eye(3)) @ q",
    "o[:] = np.linalg.svd(np.tanh(np.outer(u, w)) * 0.1 + np.diag(np.arange(1.0, 6.0)))[1] * o",
    "q[:, :3] = np.linalg.cholesky(np.tanh(q @ q.T) * 0.1 + np.eye(3))",
)
UNARY = (
    "math.sin({})", "math.cos({})", "np.tanh({})", "np.arctan({})", "math.tanh({})", "math.exp(-abs({}))",
    "np.abs({})", "math.log(1.2 + abs({}))", "math.log1p(abs({}))", "np.sqrt(1.1 + abs({}))", "contad.erf({})",
    "contad.expit({})", "contad.gammaln(1.3 + abs({}))", "np.expm1(-abs({}))", "math.sinh(math.tanh({}))",
    "np.square(math.sin({}))", "math.atan({})", "-{}", "+{}",
)  # fmt: skip
WHOLE = (  # assignments of arrays in place
    "u[:] = u * 0.5 + w", "w += 0.1 * u", "w[1:] = u[:-1] * a", "u[1:] = u[:-1] * 0.5", "q *= 0.9",
    "u[:] = np.sin(u) - b", "q[0] = u[:4] * r", "w[:] = np.where(u > w, u, -w)", "u[:] = 0.3",
    "w[:] = np.exp(-u * u) / (1.0 + w * w)", "q[:] = q * u[:4] + 0.1", "u[1:4] *= 0.7", "w[::2] -= 0.1 * a",
    "u[:] = u[::-1] * 0.9 + x", "w /= 1.5", "v -= 0.1 * r", "q[:, 1] = w[:3]", "q[1:, ::2] += 0.1", "t3[0] = r",
    "t3[:, 1] *= 0.7", "t3[...] = t3 * 0.5 + q[:2, :2]", "q[-1] = m[0] * b", "u[:], w[:] = w * 0.5, u * 0.7",
    "w[:] = np.maximum(u, w) * 0.5", "u[::-1] = w + 0.1 * x", "q[:] = q * 0.5 + m[:, 0:1]", "q[:] = m[0:1] * q",
    "q[:] = q + w[:3, None] * x[None, :4]", "u[:] = A5 @ w", "u[:] = A5.T @ u", "w[:] = np.sum(q) * 0.1",
    "q[:] = np.tanh(q.T.T)", "u[ORDER[:2]] = w[:2] * 0.7", "w[idx] = u", "u[idx] += 0.1 * w",
    "w[u > 0.2] *= 0.6", "u[w < x] = 0.3 * r", "q[ORDER[:2]] = q[:2] * 0.8 + r", "q[:, idx[:2]] = w[:2] * 0.5",
    "q.reshape(12)[:5] = u * 0.8", "t3.reshape((4, -1))[1] = u[:2]", "w[:] = np.roll(u, p)",
    "u[:] = np.clip(w, -0.5, a)", "np.flip(u)[1:] = w[1:] * 0.4", "t3.ravel()[3] += 0.2 * a",
    "w[:] = np.linspace(r, b, 5) * 0.3",
    "w[:] = np.cumsum(u) * 0.3", "u[:] = np.sort(w)", "u[1:4] = np.diff(q[0]) * a",
)  # fmt: skip
ANEW = (  # arrays that are made anew, in loops too
    "c = np.tanh(c + r * d)", "d = np.sin(c) * 0.8", "c = c + 0.1 * d", "c, d = d, c", "d = c", "c = d * 0.5",
    "c = u * w", "c = A5 @ c", "d = x", "c = np.where(c > d, c, d)", "o = o * 0.9 + u",
    "o = np.cos(o)", "c = relaxed(c)", "d = relaxed(d, rate=0.1)", "c = relaxed(x, 3)", "d = u.copy()",
    "c = np.zeros_like(u)", "c = np.full(n, 1.0 * r)", "o = np.ones(n) * b", "c = c * a if r > 0.4 else d",
    "c, d = d * 0.5, c + x", "c = np.exp(-c * c) * w", "c = np.cumprod(np.tanh(c))", "d = np.sort(c)",
    "d = d.astype(np.float64)", "c = np.repeat(b, n) * d", "d = c[idx] * x[idx]",
    "o = np.roll(o, 2)", "o = np.clip(o, -1.0, 1.5 + u)",
    "o = np.tanh(o[idx])",
    "d = np.clip(c, d, None)", "c = np.tril(A5, -1) @ c", "d = np.take(c, idx)", "c = np.full_like(d, r)",
   "c[:] = d[np.argsort(x)]", "d = c[idx]",
)  # fmt: skip
OVERLAPS = {  # updates by overlapping parts, as Numba computes them, and what they mean
    "u[1:] -= u[:-1]": "for z in range(1, n):|    u[z] -= u[z - 1]",
    "w *= w[::-1]": "for z in range(n):|    w[z] *= w[n - 1 - z]",
    "u[1:4] *= u[:3]": "for z in range(1, 4):|    u[z] *= u[z - 1]",
    "w[::2] -= w[1:4]": "for z in range(3):|    w[2 * z] -= w[z + 1]",
    "u -= u[0:1]": "for z in range(n):|    u[z] -= u[0]",
    "u[::-1] += u * 0.3": "u[::-1] += 0.3 * u.copy()",
    "q[1] *= q[0, ::-1]": "q[1] *= q[0, ::-1]",
}
# containers, and what works in place; in some programs only
IN_PLACE = {  # what changes an array, and the assignment that it means
    "u.sort()": "u[:] = np.sort(u)", "w[1:4].sort()": "w[1:4] = np.sort(w[1:4])", "o.sort()": "o[:] = np.sort(o)",
    "q[1].sort()": "q[1] = np.sort(q[1])", "q[:, 2].sort()": "q[:, 2] = np.sort(q[:, 2])",
    "np.add(u, w, u)": "u[:] = u + w", "np.sin(u, w)": "w[:] = np.sin(u)", "np.multiply(x, r, w)": "w[:] = x * r",
    "np.maximum(u, w, u)": "u[:] = np.maximum(u, w)", "np.tanh(q, q)": "q[:] = np.tanh(q)",
    "np.subtract(q[0], m[1], q[0])": "q[0] = q[0] - m[1]", "np.negative(t3, t3)": "t3[:] = -t3",
    "np.arctan2(w, 2.0, w)": "w[:] = np.arctan2(w, 2.0)", "np.multiply(o, a, o)": "o[:] = o * a",
}  # fmt: skip
LISTS = (  # lists of three or more numbers; {e} is a bounded expression
    "[{e}, {e}, 1.0]", "[a, b, {e}, 2]", "[e * 0.5 for e in u]", "[math.sin(e) * r for e in x]",
    "[x[k] * a for k in range(n)]", "[u[k] + 0.1 * k for k in range(n - 1, -1, -2)]", "[w[k] for k in range(1, 4)]",
    "[e * y for e, y in zip(u, w)]", "[e * k for k, e in enumerate(x)]", "[e * e for e in (a, {e}, r)]",
    "[q[k, 1] * r for k in range(3)]", "[g(e, b) for e in w]", "[np.sum(e) for e in q]",
    "[{e} for _ in range(3)]", "[e * d for e, d in zip(o, x[::-1])]",
)  # fmt: skip
DICTS = (  # and what is read of them
    ("{{'one': {e}, 'two': u[1:4]}}", ("{d}['one']", "{d}['two'][0]", "np.sum({d}['two'])")),
    ("{{1: {e}, 2: a * r}}", ("{d}[1]", "{d}[2]", "{d}[1 + 1]")),
    ("{{'first': x, 'last': q[1]}}", ("{d}['first'][2]", "{d}['last'][1]", "np.dot({d}['first'][:4], {d}['last'])")),
)
MEMBERS = (
    "p in {0, 2, 3}", "p not in {1, 4}", "a in {b, r}", "idx[1] in {0, n}", "r not in {a, 0.5}", "p in {len(x), n - 1}",
)  # fmt: skip
# instances of a class, blocks in objmode, and sums of float32; in some programs only. Operators alone, so that every
# engine and complex steps take the class as it is
HELD = """\
@jitclass([("level", float64), ("rates", float64[:]), ("count", int64)])
class Held:
    def __init__(self, level, rates):
        self.level = level
        self.rates = rates
        self.count = 0

    def advance(self, y):
        self.count += 1
        if y > self.level:
            self.level = self.level * 0.5 + y / (1.0 + y * y)
        return self.level * self.rates[self.count % 3] / (1.0 + self.level * self.level)

    def spread(self, n, c):
        for k in range(n):
            self.rates[k] = self.rates[k] * 0.7 + 0.1 * c
            if self.rates[k] > 0.5:
                return self.rates[k]
        return c * self.double

    @property
    def double(self):
        return 2.0 * self.level

    @double.setter
    def double(self, value):
        self.level = value / 2.0
"""
BLOCKS = (  # of integers and constants, which are no variables to any engine
    "{z} = shift * len(idx) + p % 3", "{z} = float(np.sum(idx)) * 0.1", "{z} = sum(k * 0.1 for k in idx)",
    "{z} = 0.3 * GAIN if on else -0.2 * n", "{z} = {{0: 0.5, 1: -0.7, 2: 1.1}}[p % 3] * shift",
)  # fmt: skip
SINGLES = (
    "np.sum(F5 * u)", "np.sum(F5[idx] * w)", "np.sum(F5 / np.sum(F5) * c)",
    *(f"np.float64({text})" for text in (
        "np.sum(F5)", "np.sum(F5 * F5)", "np.mean(F5)", "np.dot(F5, F5)", "F5[1] * F5[2] - F5[0] / F5[3]", "np.max(F5)",
        "np.sum(F5[1:] * F5[0])", "F5[p % 5] * F5[2]", "np.std(F5)",
    )),
)  # fmt: skip
# callees that declare types, and what these mean
DECLARED = {
    '@njit("float64(int64, float64)")\ndef cast(y, c):\n': "def cast(y, c):\n    y = int(y)\n",
    '@njit(locals={"k": int64})\n': "",
    "    k = 3.0 * y\n": "    k = int(3.0 * y)\n",
}
INTEGERS = (
    "p += 1", "p += 2", "p = 1", "p -= 1", "p = (p * 3 + 1) % 7", "p = -p // 2", "p = p ^ 1", "p = -7 % (p * p + 2)",
    "p = 2 if on else 1", "p = idx[p % 5]", "p = int(2.5 * r) % 3", "p = q.shape[0] - p % 2", "p = abs(p) % 4",
    "p = u.size", "p //= 2", "p *= -1", "p = max(p, 1)", "p = np.sum(idx) % 3", "p = (1, 3, 2)[p % 3]",
    "p = len(pair)", "p &= 3", "p = np.argmax(x) % 3", "p = np.sort(idx)[1] % 3", "p = len(np.unique(idx)) - p % 2",
)  # fmt: skip
RANGES = (
    *("range(n)", "range(n)", "range(n)", "range(1, n)", "range(3)", "range(0, n, 2)", "range(n - 1, -1, -1)"),
    *("range(n - 1, 0, -2)", "range(2, 2)", "range(p)", "range(0, n, 1 + p % 3)", "range(n - 1, -1, -1 - p % 2)"),
    "prange(n)",
)


class Statement:
    """A line, and for compound statements the block under it and the lines that may follow (else and its block)."""

    def __init__(self, text, body=None, orelse=None):
        self.text, self.body, self.orelse = text, body, orelse

    def lines(self, depth):
        out = ["    " * depth + self.text]
        if self.body is not None:
            out += block_lines(self.body, depth + 1)
        if self.orelse is not None:
            out += ["    " * depth + "else:", *block_lines(self.orelse, depth + 1)]
        return out


def block_lines(block, depth):
    return [line for s in block for line in s.lines(depth)] or ["    " * depth + "pass"]


def meaning(text):
    """A program, or the callees, with what only Numba does, and what works in place, written out."""
    for written, meant in DECLARED.items():
        text = text.replace(written, meant)
    lines = []
    for line in text.split("\n"):
        meant = OVERLAPS.get(line.strip()) or IN_PLACE.get(line.strip())
        space = line[: len(line) - len(line.lstrip())]
        lines += [line] if meant is None else [space + part for part in meant.split("|")]
    return "\n".join(lines)


def source(block, aux=False, closure=False):
    """The function without the callees, which may return an auxiliary tuple and capture a value."""
    body = block_lines(block, 1)
    used = {node.id for node in ast.walk(ast.parse("def f():\n" + "\n".join(body))) if isinstance(node, ast.Name)}
    used |= {"u"} if "v" in used else set()
    looped = " + ".join(text for name, text in IN_LOOP.items() if name in used)
    tail = ["    for z in range(n):", f"        s += {looped}"] if looped else []
    result = " + ".join(["s + a * b + r", *(text for name, text in IN_RESULT.items() if name in used)])
    lines = [*HEAD.splitlines(), *(f"    {line}" for name, line in OPTIONAL.items() if name in used), *body, *tail]
    lines.append(f"    return {result}, (r, p)" if aux else f"    return {result}")
    if closure:
        lines = ["def outer(shift):", *("    " + line for line in lines), "    return f", "", "", "f = outer(0.25)"]
    else:
        lines = ["shift = 0.25", "", "", *lines]
    return "\n".join(lines) + "\n"


class Maker:
    """Makes a random program; some of them with functions of matrices, and with `spectral` with more of these.

    Where `objects` is asked for some have instances of classes, blocks in objmode and data of float32.
    """

    def __init__(self, seed, small=False, spectral=False, objects=False):
        self.r = random.Random(seed)
        self.budget = 3 if small else self.r.choice([3, 6, 10, 18])
        self.aux = seed % 5 == 1
        self.closure = seed % 3 == 1
        self.names = 0
        self.depth = 0
        self.scalars = ["a", "b", "r", "s"]
        self.matrices = matrices = seed % 7 == 3
        self.containers = seed % 11 in (2, 5, 8)
        self.generators = seed % 13 in (5, 10)
        self.handlers = seed % 17 in (8, 12)
        self.points = seed % 23 in (3, 16)
        self.reductions = REDUCTIONS + 2 * MATRIX_REDUCTIONS if matrices else REDUCTIONS
        self.anew = ANEW + 3 * MATRIX_ANEW if matrices else ANEW
        self.objects = objects and seed % 13 in (4, 9)
        if self.objects:
            self.reductions += 2 * SINGLES
        if spectral and seed % 5 in (0, 2):
            self.reductions += 2 * SPECTRAL_REDUCTIONS
            self.anew += 3 * SPECTRAL_ANEW

    def source(self, block=None):
        return source(self.program() if block is None else block, self.aux, self.closure)

    def program(self):
        return self.block(self.scalars, [], False, 8)

    # ---- expressions -------------------------------------------------------------------------------------------------
    def index(self, ivs):
        r = self.r
        if not ivs or r.random() < 0.15:
            return str(r.choice([0, 1, 2, 3, -1, -2]))
        i = r.choice(ivs)
        return r.choice([
            i, i, i, f"({i} + {r.randrange(1, 3)}) % n", f"n - 1 - {i}", f"({i} + p) % n", f"idx[{i}]", f"-1 - {i}",
            f"ORDER[{i}]",
        ])  # fmt: skip

    def element(self, ivs):
        r, c = self.r, self.r.random()
        if c < 0.15:
            return f"q[{self.index(ivs)} % 3, {self.index(ivs)} % 4]"
        if c < 0.2:
            return f"t3[{self.index(ivs)} % 2, 1, {self.index(ivs)} % 2]"
        name = r.choice(["x", "u", "w", "u", "w", "v", "c", "d", "o"])
        return f"v[{self.index(ivs)} % 3]" if name == "v" else f"{name}[{self.index(ivs)}]"

    def target(self, ivs):
        found = self.element(ivs)
        return "u" + found[1:] if found[0] in "xcd" else found

    def expr(self, sc, ivs, d=0):
        r, e = self.r, self.expr
        if d > 2 or r.random() < 0.3:
            return self.leaf(sc, ivs)
        c = r.random()
        if c < 0.33:
            return f"({e(sc, ivs, d + 1)} {r.choice('+-*')} {e(sc, ivs, d + 1)})"
        if c < 0.40:
            return f"{e(sc, ivs, d + 1)} / (1.5 + abs({e(sc, ivs, d + 1)}))"
        if c < 0.60:
            return r.choice(UNARY).format(e(sc, ivs, d + 1))
        if c < 0.63:
            return f"np.arctan2({e(sc, ivs, d + 1)}, 1.3 + {r.choice(sc)} ** 2)"
        if c < 0.66:
            return f"(1.3 + abs({r.choice(sc)})) ** {r.choice(['3', '0.5', '-1', '1.7', '2', 'p', '2.0'])}"
        if c < 0.69:
            return f"softened({e(sc, ivs, d + 1)}, {r.choice(sc)})"
        if c < 0.74:
            return r.choice([
                f"g({e(sc, ivs, d + 1)}, {r.choice(sc)})", f"g(c={r.choice(sc)}, y={e(sc, ivs, d + 1)})",
                f"cast(math.tanh({e(sc, ivs, d + 1)}) * 5.0, {r.choice(sc)})",
                f"counted(math.sin({e(sc, ivs, d + 1)}), {r.choice(sc)})", f"first(u, {r.choice(sc)})",
                f"first({r.choice('xwcv')}, {r.choice(sc)}, scale={r.choice(sc)})",
                f"far({r.choice(sc)}, {e(sc, ivs, d + 1)})", f"quick({e(sc, ivs, d + 1)}, {r.choice(sc)})",
                f"nested({r.choice(sc)}, {e(sc, ivs, d + 1)})",
                f"weighed({r.choice('xwcv')}, {r.choice(sc)})[{r.choice('01')}]",
                f"weighed(m[{r.choice('01')}], {r.choice(sc)})[1]",
                f"through({r.choice(sc)}, {r.choice(sc)}, {r.choice('123')})",
            ])  # fmt: skip
        if c < 0.80:
            return f"({e(sc, ivs, d + 1)} if {self.cond(sc, ivs)} else {e(sc, ivs, d + 1)})"
        if c < 0.85:
            return f"{r.choice(['max', 'min'])}({e(sc, ivs, d + 1)}, {e(sc, ivs, d + 1)})"
        if c < 0.91:
            return f"math.tanh({r.choice(self.reductions)})"
        if c < 0.94:
            return f"np.{r.choice(['maximum', 'minimum', 'hypot'])}({e(sc, ivs, d + 1)}, 0.3 + {e(sc, ivs, d + 1)})"
        if c < 0.97:
            return f"{r.choice(sc)} * on"
        return f"math.fabs({e(sc, ivs, d + 1)})"

    def leaf(self, sc, ivs):
        r, c = self.r, self.r.random()
        if c < 0.42:
            return r.choice(sc)
        if c < 0.80:
            return self.element(ivs)
        if c < 0.85 and ivs:
            return f"0.1 * {r.choice(ivs)}"
        return r.choice(
            [f"{r.uniform(0.2, 1.5):.2f}"] * 3 + ["shift", "GAIN", "0.1 * p", "pair[0]", "pair[1]", "0.1 * q.shape[1]"]
        )

    def cond(self, sc, ivs):
        r, e = self.r, self.expr
        c = f"{e(sc, ivs, 2)} {r.choice(['<', '>', '<=', '>='])} {e(sc, ivs, 2)}"
        k = r.random()
        if self.containers and r.random() < 0.25:
            return r.choice([*MEMBERS, *(f"{i} in {{1, 3}}" for i in ivs), *(f"{i} not in {{0, p}}" for i in ivs)])
        if k < 0.1:
            return f"{e(sc, ivs, 2)} < {e(sc, ivs, 2)} < {r.uniform(0.5, 2.0):.2f}"
        if k < 0.2:
            return r.choice(
                [f"on and {c}", f"not on or {c}", "on", f"on == ({c})", f"not ({c} and on)", f"p != 1 and {c}"]
            )
        if ivs and k < 0.45:
            i = r.choice(ivs)
            return r.choice([f"{i} % {r.randrange(2, 4)} == {r.randrange(2)}", f"{i} < {r.randrange(3)} or {c}",
                             f"not p > 2 and {c}", f"0 < {i} <= 3", f"{i} != 1 and idx[{i}] > 0"])  # fmt: skip
        return c

    # ---- statements --------------------------------------------------------------------------------------------------
    def block(self, sc, ivs, loop, n):
        sc, out = list(sc), []
        self.depth += 1
        for _ in range(n):
            if self.budget <= 0:
                break
            self.budget -= 1
            out += self.statement(sc, ivs, loop)
        self.depth -= 1
        return out

    def bounded(self, sc, ivs, loop):
        return f"math.tanh({self.expr(sc, ivs)})" if loop else self.expr(sc, ivs)

    def statement(self, sc, ivs, loop):
        if self.containers and self.r.random() < 0.3:
            return self.container(sc, ivs, loop)
        if self.objects and self.r.random() < 0.4:
            return self.object(sc, ivs, loop)
        if self.handlers and self.r.random() < 0.3:
            return self.caught(sc, ivs, loop)
        if self.points and self.r.random() < 0.5:
            return self.point(sc, ivs)
        c = self.r.random()
        if c < 0.32:
            return self.scalar(sc, ivs, loop)
        if c < 0.50:
            return self.store(sc, ivs, loop)
        if c < 0.55:
            return [Statement(self.r.choice(INTEGERS) if len(ivs) < 2 else "p = 2")]
        if c < 0.72:
            return self.arrays(sc, ivs, loop)
        if c < 0.74:
            return self.error(sc, ivs)
        if c < 0.85:
            body = self.block(sc, ivs, loop, self.r.randrange(1, 4)) + self.exit(loop, ivs)
            more = self.r.random() < 0.5
            orelse = self.block(sc, ivs, loop, self.r.randrange(1, 4)) + self.exit(loop, ivs) if more else None
            return [Statement(f"if {self.cond(sc, ivs)}:", body, orelse)]
        return self.ended(self.loop(sc, ivs), sc, ivs) if len(ivs) < 3 else []

    def ended(self, statements, sc, ivs):
        """Loops, some of which do something more where they are not broken off."""
        for statement in statements:
            if statement.text.startswith(("for ", "while ")) and self.r.random() < 0.15:
                statement.orelse = self.scalar(sc[:4], ivs, True)
        return statements

    def scalar(self, sc, ivs, loop):
        r, S = self.r, Statement
        c = r.random()
        if c < 0.55:
            v = r.choice(["a", "b", "r", "s"])
            if r.random() < 0.3:
                self.names += 1
                v = r.choice([f"new{self.names}", *UNLUCKY])
            text = f"{v} = {self.bounded(sc, ivs, loop)}"
            if v not in sc:
                sc.append(v)
            return [S(text)]
        v = r.choice(["a", "b", "r", "s"])
        if c < 0.75:
            return [S(f"{v} {r.choice('+-')}= 0.3 * {self.expr(sc, ivs, 1)}")]
        if c < 0.80:
            return [S(r.choice([
                f"{v} *= 0.9", f"{v} /= 1.5 + abs({self.expr(sc, ivs, 2)})", f"{v} **= 2" if not loop else "r *= b",
            ]))]  # fmt: skip
        if c < 0.88:
            i, j = r.sample(["a", "b", "r"], 2)
            return [S(r.choice([
                f"{i}, {j} = {j}, {self.bounded(sc, ivs, True)}", f"{i}, (b, r) = r, (a, {j})",
                f"{i} = {j} = {self.bounded(sc, ivs, True)}",
            ]))]  # fmt: skip
        if c < 0.95:
            return [S(r.choice([f"pair = (pair[1], {self.bounded(sc, ivs, True)})", "a, r = pair", "pair = (b, a)"]))]
        return [S(r.choice([f"on = {self.cond(sc, ivs)}", "on = not on", "on = on and p < 2"]))]

    def store(self, sc, ivs, loop):
        r, S = self.r, Statement
        c = r.random()
        if c < 0.45:
            return [S(f"{self.target(ivs)} = {self.bounded(sc, ivs, loop)}")]
        if c < 0.80:
            return [S(f"{self.target(ivs)} {r.choice('+-')}= 0.2 * {self.expr(sc, ivs, 1)}")]
        if c < 0.92:
            return [S(f"{self.target(ivs)} *= {self.bounded(sc, ivs, True)}")]
        return [S(f"{self.target(ivs)} /= 1.2 + abs({self.expr(sc, ivs, 2)})")]

    def arrays(self, sc, ivs, loop):
        r, S = self.r, Statement
        c = r.random()
        if c < 0.10:
            return [S("u, w = w, u")]
        if c < 0.20:
            if loop:
                return [S("v[:] = u[:3]")]
            anywhere = [
                "v = x[::2].copy()", "v = (x * r)[-3:]", "v = x[1:4] * 0.5", "v = x[::-2].copy()",
                "v = np.full(3, 1.0 * r)",
            ]  # fmt: skip
            more = [
                "v = u[1:4]", "v = w[0:3]", "v = u[-3:]", "v = w[::-2]", "v = u[3:0:-1]", "v = q[1, :3]", "v = q[:, 2]",
            ]  # fmt: skip
            return [S(r.choice(anywhere if self.depth > 1 else more))]
        if c < 0.46:
            return [S(r.choice(WHOLE))]
        if c < 0.52:
            return [S(r.choice(list(OVERLAPS)))]
        if c < 0.78:
            return [S(r.choice(self.anew))]
        if c < 0.80:
            self.names += 1
            y = f"y{self.names}"
            shorter = r.choice([f"{y}[1:] * {y}[:-1]", f"{y}[1:] * 0.6 + r", f"{y}[:-1] if r > 0.2 else {y}[1:] * b"])
            condition = r.choice([f"while {y}.size > 2:", "for _ in range(3):"])
            return [S(f"{y} = c + 0.1"), S(condition, [S(f"{y} = {shorter}")]), S(f"r += 0.1 * {y}[0]")]
        if c < 0.84:
            anew = ["w = u * 0.7", "u = np.tanh(u + w)", "u = u.copy()", "w = np.zeros_like(u)", "u[:] = w = u * 0.6"]
            return [S("u[:] = np.tanh(u + w)" if loop else r.choice(anew))]
        if c < 0.92:
            self.names += 1
            y = f"y{self.names}"
            return [S(x.format(y=y, e=self.bounded(sc, ivs, True))) for x in r.choice([
                ("{y} = q[1]", "{y}[2] = {e}", "r += 0.1 * {y}[0]"), ("{y} = t3[1, :, ::-1]", "{y}[0, 1] += {e}"),
                ("{y} = np.full((3, 4), 1.0 * r)", "{y}[1] = 0.2", "r -= 0.1 * np.sum({y} * m)"),
                ("{y} = np.empty(3, dtype=np.int64)", "{y}[:] = 2", "{y}[1] += p", "r += 0.1 * {y}[1]"),
                ("{y} = np.ones((2, 3))", "{y}[:, 1] = {e}", "a += 0.1 * np.sum({y}, axis=0)[1]"),
                ("{y} = np.empty(n)", "{y}[:] = {e}", "{y}[2] = 0.3", "c = {y}"), ("{y} = q.T", "b += 0.1 * {y}[1, 2]"),
                ("{y} = u > 0.2", "p = np.sum({y}) % 3", "r += 0.1 * {y}[1]"),
                ("{y} = idx * 2 - 1", "r += 0.1 * {y}[1]"), ("{y}, b, {y}a = w[1:4]", "r += 0.1 * {y} * {y}a"),
                ("{y}, a = divmod({e}, 0.7)", "r += 0.1 * {y}"),
            ])]  # fmt: skip
        return [S(f"a, r = h({r.choice(['u', 'w', 'v', 'o'])}, {r.choice(sc)}{r.choice(['', ', 2', ', k=3'])})")]

    def container(self, sc, ivs, loop):
        """A list, a dict, what is done with one that there is, or what works in place."""
        r, S = self.r, Statement
        c = r.random()
        lists = [text.partition("[")[0] for text in sc if re.match(r"l\d+c?\[", text)]
        if c < 0.30 or (c < 0.6 and not lists):
            self.names += 1
            name = f"l{self.names}"
            text = r.choice(LISTS).replace("{e}", self.bounded([v for v in sc if v not in lists], ivs, True))
            places = ["0", "1", "2", "-1", "-3", "p % 3", *(f"{i} % 3" for i in ivs)]
            sc += [f"{name}[{k}]" for k in r.sample(places, 2)]
            if r.random() < 0.4:
                return [S(f"{name} = {text}")]
            sc.append(f"{name}c[1]")  # a second name
            return [S(f"{name} = {text}"), S(f"{name}c = {name}")]
        if c < 0.6:
            name = r.choice(lists)
            at = r.choice(["0", "1", "-1", "2", "p % 3", *(f"{i} % 3" for i in ivs)])
            e, bounded = f"e{name}", self.bounded(sc, ivs, True)
            scalar = r.choice(sc[:4])
            return r.choice([
                [S(f"{name}[{at}] = {bounded}")], [S(f"{name}[{at}] {r.choice('+-')}= 0.2 * {bounded}")],
                [S(f"{name}[{at}] *= {bounded}")], [S(f"r += 0.1 * math.tanh(sum({name}))")],
                [S(f"for {e} in {name}:", [S(f"r += 0.1 * {e} * {scalar}"), *self.exit(True, ivs, 0.2)])],
                [S(f"for k{name}, {e} in enumerate({name}):", [S(f"{name}[k{name}] = {e} * 0.7 + 0.1 * {scalar}")])],
                [S(f"p = len({name}) % 3")], [S(f"{e} = np.array({name})"), S(f"r += 0.1 * np.sum({e}[1:3])")],
                [S(f"{e} = [y * {scalar} for y in {name}]"), S(f"{name}[0] = {e}[1] * 0.5")],
            ])  # fmt: skip
        if c < 0.66:
            return self.keyed(sc, ivs, loop)
        if c < 0.72:
            self.names += 1
            made, read = r.choice(DICTS)
            name = f"d{self.names}"
            sc += [text.format(d=name) for text in r.sample(read, 2)]
            return [S(f"{name} = {made.format(e=self.bounded(sc[:-2], ivs, True))}")]
        if c < 0.78:
            return self.growing(sc, ivs)
        if c < 0.88 and len(ivs) < 2:
            return self.ended([self.grid(sc, ivs)], sc, ivs)
        return [S(r.choice(list(IN_PLACE)))]

    def point(self, sc, ivs):
        """An array of no axes, now and then with a second name, or what is done with one that there is."""
        r, S = self.r, Statement
        bounded = self.bounded(sc, ivs, True)
        known = [text.removesuffix("[()]") for text in sc if re.fullmatch(r"z\d+c?\[\(\)\]", text)]
        if not known or r.random() < 0.2:
            self.names += 1
            name = f"z{self.names}"
            made = r.choice(["np.array({})", "np.asarray({})", "np.full((), {})", "np.ones(())"]).format(bounded)
            second = r.choice(["", name, name, f"{name}.reshape(())", f"{name}.copy()"])
            sc += [f"{name}[()]", f"{name}.item()", *([f"{name}c[()]"] if second else [])]
            return [S(f"{name} = {made}"), *([S(f"{name}c = {second}")] if second else [])]
        name, other, scalar = r.choice(known), r.choice(known), r.choice(sc[:4])
        return [S(r.choice([
            f"{name}[()] = {bounded}", f"{name}[...] = {other}[()] * 0.7",
            f"{name}[()] {r.choice('+-')}= 0.2 * {bounded}",
            f"{name}[()] *= {bounded}", f"{name} {r.choice('+-')}= 0.3 * {other}", f"{name} *= {bounded}",
            f"{name}.reshape(1)[0] = {bounded}", f"r += 0.1 * {name} * {other}", f"u[p % 5] = {name} * 0.5 + {scalar}",
            f"w[1:] -= 0.1 * {name}", f"a = math.tanh({name}.sum() + {scalar})", f"on = {name} > {other} * 0.5",
        ]))]  # fmt: skip

    def keyed(self, sc, ivs, loop):
        """A dict that is filled in a loop, by integers or pairs of them, and read by its keys and values."""
        r, S = self.r, Statement
        self.names += 1
        name, k, e = f"m{self.names}", f"k{self.names}", f"e{self.names}"
        first, bounded = (self.bounded(sc, ivs, True) for _ in range(2))
        pair = r.random() < 0.3
        pairs, numbers = [f"({k} % 2, p)", f"({k}, {k} * 77)"], [f"{k} % 3", f"{k} * 64 - 64", f"{k} * {k} + p"]
        key = r.choice(pairs if pair else numbers)
        start = "(0, 0)" if pair else "0"
        put, less = S(f"{name}[{key}] = {bounded}"), S(f"{name}[{start}] *= 0.9")
        value = r.choice([bounded, f"u[{k}]", f"{name}[{start}] * 0.5 + x[{k}]", f"{name}.get({key}, r) * 0.7"])
        body = r.choice([
            [S(f"{name}[{key}] = {value}")],
            [S(f"if {key} in {name}:", [S(f"{name}[{key}] += 0.3 * {bounded}")], [S(f"{name}[{key}] = {value}")])],
            [S(f"if w[{k}] > 0.1:", [put]), less, *self.exit(True, ivs, 0.3)],
        ])  # fmt: skip
        head = f"for {k} in range({r.choice(['2', '3', 'n'])}):"
        made = r.choice([[S(f"{name} = {{{start}: {first}}}")], [S(f"{name} = {{}}"), S(f"{name}[{start}] = {first}")]])
        sc += [f"{name}[{start}]", f"{name}.get({start}, 0.5)"]
        parts = f"({k}a, {k}b)" if pair else f"{k}a"
        reads = [
            [S(f"for {e} in {name}.values():", [S(f"r += 0.1 * {e} * {r.choice(sc)}")])],
            [S(f"for {parts}, {e} in {name}.items():", [S(f"r += 0.1 * {e} * ({k}a % 5)")])],
            [S(f"for {k}c in {name}:", [S(f"{name}[{k}c] = math.tanh({name}[{k}c] + 0.1 * {r.choice(sc)})")])],
            [S(f"p = len({name}) % 3")],
        ]
        return [*made, S(head, body), *r.choice(reads)]

    def object(self, sc, ivs, loop):
        """An instance, what is done with one that there is, or a block in objmode."""
        r, S = self.r, Statement
        held = [text.partition(".")[0] for text in sc if re.match(r"h\d+c?\.level", text)]
        bounded = self.bounded(sc, ivs, True)
        c = r.random()
        if c < 0.25:
            self.names += 1
            z, v = f"z{self.names}", f"v{self.names}"
            text = r.choice(BLOCKS).format(z=z)
            sc.append(z)
            if r.random() < 0.5:
                return [S(f"with objmode({z}='float64'):", [S(text)])]
            sc.append(f"{v}[{r.choice(['1', 'p % 3', *(f'{i} % 3' for i in ivs)])}]")
            made = S(f"{v} = np.array([0.1 * {z}, shift, {r.choice(['p', 'n', *ivs])}], dtype=np.float64)")
            return [S(f"with objmode({z}='float64', {v}='float64[:]'):", [S(text), made])]
        if c < 0.5 or not held:
            self.names += 1
            name = f"h{self.names}"
            rates = r.choice(["u", "w", "x * 0.5", "q[1]", "np.ones(3)", "d[1:] * r", "u[::-1]"])
            sc += [f"{name}.level", f"{name}.rates[{r.choice(['0', '2', 'p % 3', *(f'{i} % 3' for i in ivs)])}]"]
            if r.random() < 0.6:
                return [S(f"{name} = Held({bounded}, {rates})")]
            sc.append(f"{name}c.level")  # a second name
            return [S(f"{name} = Held({bounded}, {rates})"), S(f"{name}c = {name}")]
        name = r.choice(held)
        return [S(r.choice([
            f"{name}.level = {bounded}", f"{name}.level {r.choice('+-')}= 0.2 * {bounded}",
            f"{name}.level *= {bounded}",
            f"r = {name}.advance({bounded})", f"a += 0.1 * {name}.advance({r.choice(sc[:4])})",
            f"r -= 0.1 * {name}.spread(3, {bounded})", f"{name}.spread(2, {r.choice(sc[:4])})",
            f"{name}.rates[1] = {bounded}", f"{name}.rates[p % 3] += 0.1 * {bounded}", f"p = {name}.count % 3",
            f"{name}.count += p", f"{name}.double = {bounded}", f"b = 0.3 * {name}.double",
        ]))]  # fmt: skip

    def growing(self, sc, ivs):
        """A list that grows in a loop, now and then loses what it got last, and has one element at least."""
        r, S = self.r, Statement
        self.names += 1
        name, e, k = f"l{self.names}", f"e{self.names}", f"k{self.names}"
        first, bounded = (self.bounded(sc, ivs, True) for _ in range(2))
        append = S(f"{name}.append({r.choice([bounded, e, f'{e} * {r.choice(sc)}', f'{name}[-1] * 0.5 + {e}'])})")
        body = r.choice([
            [append], [S(f"if {e} > 0.1:", [append])], [S(f"for {k} in range(2):", [append])],
            [append, S(f"if len({name}) > 3:", [S(f"r += 0.1 * {name}.pop()")])], [append, *self.exit(True, ivs, 0.5)],
        ])  # fmt: skip
        head = r.choice([f"for {e} in u:", f"for {e} in (a, r):", f"for {e} in q.flat:"])
        sc += [f"{name}[0]", f"{name}[-1]", f"{name}[len({name}) // 2]"]
        start = r.choice([[S(f"{name} = [{first}]")], [S(f"{name} = []"), S(f"{name}.append({first})")]])
        return [*start, S(head, body)]

    def grid(self, sc, ivs):
        """A loop over the indices of a shape, or over the elements of an array, row by row."""
        r = self.r
        self.names += 1
        e, i, k = f"e{self.names}", f"i{self.names}", f"k{self.names}"
        head, new, names = r.choice([
            (f"for {i}, {k} in np.ndindex(3, 2):", [i, k], []), (f"for {i}, {k} in np.ndindex(q.shape):", [i, k], []),
            (f"for {i}, {k} in np.ndindex((2, n)):", [i, k], []), (f"for {e} in q.flat:", [], [e]),
            (f"for {e} in t3[1].flat:", [], [e]), (f"for {e} in w[::-1].flat:", [], [e]),
            (f"for ({i}, {k}), {e} in np.ndenumerate(m):", [i, k], [e]), (f"for {e} in q.T[1:].flat:", [], [e]),
            (f"for ({i}, {k}), {e} in np.ndenumerate(q[1:, ::2]):", [i, k], [e]),
        ])  # fmt: skip
        body = self.block([*sc, *names], [*ivs, *new], True, r.randrange(1, 4)) + self.exit(True, ivs, 0.2)
        return Statement(head, body)

    def over_generator(self, sc, ivs, i, e):
        """A loop over a generator, whose arguments the loop may change."""
        r = self.r
        array, number = r.choice(["x", "u", "w", "c", "o", "q[1]"]), r.choice(["a", "b", "r", "0.4"])
        head, new = r.choice([
            (f"for {i}, {e} in spread({array}, {number}):", [i]), (f"for {e} in dying({array}, {number}):", []),
            (f"for {i}, {e} in enumerate(dying({array}, c={number})):", [i]),
            (f"for {e} in dying({array}[1:4], r):", []),
        ])  # fmt: skip
        body = self.block([*sc, e], [*ivs, *new], True, r.randrange(1, 4)) + self.exit(True, ivs, 0.2)
        return Statement(head, body)

    def caught(self, sc, ivs, loop):
        """A try with a handler; what it divides by are integers of Python, and no index in it is out of range."""
        r, S = self.r, Statement
        names = [*sc[:4], "u[1]", "x[2]"]
        lines = [
            S(f"p = n // int(p - {r.randrange(3)})"), S(f"p += 3 % int({r.choice(['p', '2 - p', 'n - 5'])})"),
            S(f"if {r.choice(names)} > {r.uniform(-0.5, 1.0):.2f}:", [S("raise ValueError")]),
            S(f"assert {r.choice(names)} < {r.uniform(0.3, 1.5):.2f}"), S(f"a = math.sin(a) * {r.choice(names)}"),
            S(f"r = math.tanh(r * 0.5 + {r.choice(names)})"), S("u[p % 5] += 0.1 * b"),
            S("for z in range(3):", [S("b = math.tanh(b + u[z])"), S("if b > 0.6:", [S("raise IndexError")])]),
        ]  # fmt: skip
        if loop:
            lines.append(S(f"if {r.choice(names)} > 0.4:", [S(r.choice(["break", "continue"]))]))
        body = r.sample(lines, r.randrange(2, 7))
        done = [S(f"r = 0.5 * r + math.tanh({r.choice(names)})"), S("w[2] *= 0.7"), S("b = math.sin(b) * a")]
        orelse = r.sample(done, 1) if r.random() < 0.4 else None
        return [S("try:", body), S("except Exception:", r.sample(done, r.randrange(1, 3)), orelse)]

    def error(self, sc, ivs):
        r, S = self.r, Statement
        c = self.r.random()
        if c < 0.3:
            return [S("assert s < 1e30"), S("if s > 1e30:", [S("raise ValueError('large')")])]
        if c < 0.5:
            return [S("pass")]
        if c < 0.6:
            return [S(f"assert {self.cond(sc, ivs)}, '{PLANNED}'")]
        return [
            S(
                f"if {r.choice(sc)} > {r.uniform(1.0, 3.0):.2f}:",
                [S(f"raise {r.choice(['ValueError', 'IndexError'])}('{PLANNED}')")],
            )
        ]

    def loop(self, sc, ivs):
        r, S = self.r, Statement
        c = r.random()
        i = f"i{len(ivs)}"
        self.names += 1
        e, k = f"e{self.names}", f"k{self.names}"
        if self.generators and r.random() < 0.5:
            return [self.over_generator(sc, ivs, i, e)]
        if c < 0.70:
            more = [f"range({ivs[-1]})", f"range({ivs[-1]} + 1, n)", f"range({ivs[-1]}, -1, -1)"] if ivs else []
            if r.random() < 0.03:
                more.append("range(-2, 2)")
            head = r.choice([*RANGES, *more])
            body = self.block(sc, [*ivs, i], True, r.randrange(1, 6)) + self.exit(True, ivs, 0.1)
            return [S(f"for {i} in {head}:", body)]
        if c < 0.87:
            head, new, names = r.choice([
                (f"for {e} in u:", [], [e]), (f"for {e} in x[1:]:", [], [e]), (f"for {e} in w[::-1]:", [], [e]),
                (f"for {i}, {e} in enumerate(w):", [i], [e]), (f"for {e}, y{e} in zip(u, x):", [], [e, f"y{e}"]),
                (f"for {e} in idx:", [e], []), (f"for {i}, ({e}, y{e}) in enumerate(zip(x, c)):", [i], [e, f"y{e}"]),
                (f"for {e} in (a, 0.3, r):", [], [e]), (f"for {i}, {k} in ((0, 1), (2, 3)):", [i, k], []),
                (f"for {i}, {e} in enumerate(x[:3], 1):", [i], [e]), (f"for {e} in c:", [], [e]),
            ])  # fmt: skip
            body = self.block([*sc, *names], [*ivs, *new], True, r.randrange(1, 4)) + self.exit(True, ivs, 0.1)
            return [S(head, body)]
        if c < 0.90:
            return [
                S(
                    f"for {e} in q:",
                    [S(f"for {k} in {e}:", [S(f"r += 0.1 * {k} * {r.choice(sc)}")]), S(f"{e}[1] *= 0.9")],
                )
            ]
        body = [S(f"{k} += 1"), *self.block(sc, ivs, True, r.randrange(1, 5))]
        after = r.choice([  # what a loop has counted is an index
            [], [S(f"u[{k} % n] += 0.3 * {r.choice(sc)}")], [S(f"w[{k} - 1] = u[{k} % n] * {r.choice(sc)}")],
        ])  # fmt: skip
        if c < 0.92:
            return [
                S(f"{k} = 0"),
                S("while True:", [*body, S(f"if {k} > {r.randrange(3)} or {self.cond(sc, ivs)}:", [S("break")])]),
                *after,
            ]
        if c < 0.96:
            return [S(f"{k} = 0"), S(f"while {k} < {r.randrange(2, 5)} and ({self.cond(sc, ivs)}):", body), *after]
        array = r.choice("uw")
        shift = [S(f"{array}[{k} + 1] = {array}[{k}]"), S(f"{k} -= 1")]
        insert = [  # of an insertion sort
            S(f"{k} = {i} - 1"), S(f"{e} = {array}[{i}]"), S(f"while {k} >= 0 and {array}[{k}] > {e}:", shift),
            S(f"{array}[{k} + 1] = {e} * {r.choice(['1.0', 'a', 'x[1]'])}"),
        ]  # fmt: skip
        return [S(f"for {i} in range(1, n):", insert)]

    def exit(self, loop, ivs, probability=0.25):
        if self.r.random() > probability:
            return []
        c = self.r.random()
        if loop and c < 0.4:
            return [Statement("break")]
        if loop and c < 0.7:
            return [Statement("continue")]
        if c < 0.8:
            return []
        result = f"{self.r.choice(['a', 'b', 'r', 's'])} * 0.5"
        return [Statement(f"return {result}, (a, p)" if self.aux else f"return {result}")]


# ---- what occurs -----------------------------------------------------------------------------------------------------
def constructs(text):
    """The constructs of the function f of a program, by name."""
    tree = next(n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef) and n.name == "f")
    found = set()
    for node in ast.walk(tree):
        found.add(type(node).__name__)
        if isinstance(node, ast.Call):
            found.add(f"{ast.unparse(node.func)}()")
        if isinstance(node, ast.Attribute) and node.attr == "flat":
            found.add(ast.unparse(node))
        if isinstance(node, ast.AugAssign):
            found.add(f"{type(node.op).__name__}=")
            if isinstance(node.target, ast.Subscript):
                found.add("+= of elements")
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            found.add("chained comparison")
        if isinstance(node, ast.For):
            found.add(f"for in {type(node.iter).__name__}")
            inner = [n for s in node.body for n in ast.walk(s)]
            found |= {
                f"{type(n).__name__} in a loop"
                for n in inner
                if isinstance(n, (ast.Return, ast.Break, ast.Continue, ast.Raise))
            }
            found |= {f"{n.targets[0].id} = ... in a loop" for n in inner if isinstance(n, ast.Assign)
                      and isinstance(n.targets[0], ast.Name) and n.targets[0].id in ("c", "d", "o")}  # fmt: skip
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            found.add("store into a slice" if any(isinstance(n, ast.Slice) for n in ast.walk(node.slice)) else "store")
    return found - {"Load", "Store", "Name", "arguments", "arg", "FunctionDef", "Expr", "Constant", "Module"}
