"""Constructs that Numba compiles, one small program for each, in groups: what an engine takes is a number.

Their last argument `other` is what OTHERS has for the name, or 1.
"""

from collections import namedtuple

import numba
import numpy as np

from tests.engines.source.programs.harness import ARGUMENTS, Table, programs

Pair = namedtuple("Pair", "first second")
RECORDS = np.zeros(3, np.dtype([("mass", np.float64), ("count", np.int64)]))
RECORDS["mass"], RECORDS["count"] = [0.5, 1.5, -2.0], [3, 1, 2]

GROUPS = {
    "linear algebra": """
# dot_at: return np.dot(x, x) * a + (m @ x[:4])[1] + (m.T @ m)[0, 1]
# norm: return np.linalg.norm(x) * a
# norm_fro: return np.linalg.norm(m * a)
# trace
return np.trace(m[:, :3] * a * x[0]) + np.trace(m * x[1], 1) * a - np.trace(m * x[2], offset=-1) + np.trace(m, -7)
# outer: return np.sum(np.outer(x, x[:3]) * m[0, :3]) * a
# kron: return np.sum(np.kron(np.outer(x[:2], x[1:3]), m[:2, :2])) * a
# vdot: return np.vdot(x, x[::-1]) * a
# cross: return np.cross(x[:3], x[2:])[1] * a
# solve: return np.sum(np.linalg.solve(np.outer(x, x) + 3.0 * np.eye(5), x)) * a
# inv: return np.sum(np.linalg.inv(np.outer(x, x) + 3.0 * np.eye(5))) * a
# det: return np.linalg.det(np.outer(x, x) + 3.0 * np.eye(5)) * a
# slogdet: return np.linalg.slogdet(np.outer(x, x) + 3.0 * np.eye(5))[1] * a
# cholesky: return np.sum(np.linalg.cholesky(np.outer(x, x) + 3.0 * np.eye(5))) * a
# eigh: return np.linalg.eigh(np.outer(x, x) + np.diag(x))[0][1] * a
# eigvalsh: return np.linalg.eigvalsh(np.outer(x, x) + np.diag(x))[1] * a
# eig: return np.linalg.eig(np.outer(x, x) + np.diag(x))[0][1] * a
# svd: return np.linalg.svd(np.outer(x, x) + np.diag(x))[1][0] * a
# qr: return np.linalg.qr(np.outer(x, x) + np.diag(x))[1][0, 2] * a
# lstsq: return np.linalg.lstsq(np.outer(x, x)[:, :2] + m[0, 1] * np.eye(5)[:, :2], x)[0][1] * a
# pinv: return np.linalg.pinv(np.outer(x, x)[:, :2] + np.eye(5)[:, :2])[1, 1] * a
# norm_1: return np.linalg.norm(np.outer(x, x), 1) * a
# matrix_power
return np.linalg.matrix_power(np.outer(x, x) * 0.3 + np.eye(5), 3)[0, 1] * a""",
    "reductions": """
# sum_axis: return np.sum(m * a, axis=0)[1] * np.sum(m * x[0], axis=1)[2] + x.sum()
# max_method: return x.max() * a + x.min() * x[0]
# sum_axis_tuple_keep: return np.sum(np.sum(m * a, axis=1) * x[:3])
# prod: return np.prod(x) * a
# std_var: return np.std(x) * a + np.var(x) + x.std() * x.var()
# cumsum: return np.cumsum(x)[3] * a + x.cumsum()[1] * x[0]
# cumprod: return np.cumprod(x)[3] * a + x.cumprod()[1]
# argmax: return x[np.argmax(x)] * a + x[x.argmin()] * x[0]
# argsort
o = np.argsort(x)
return x[o[0]] * a + x[o[3]] * x[0]
# sort
y = np.sort(x)
y.sort()
return y[0] * a + y[2] * y[3]
# median: return np.median(x) * a
# quantile: return np.quantile(x, 0.3) * a + np.percentile(x, 80.0) * x[0]
# any_all
s = a if np.any(x > 1.5) else x[0]
if np.all(x < 5.0) and (x > -5.0).all() and not (m > 9.0).any():
    s *= x[1]
return s
# nansum
y = x.copy()
y[1] = np.nan
return np.nansum(y) * a + np.nanmean(y) * x[0]
# diff: return np.sum(np.diff(x) ** 2) * a
# ptp: return np.ptp(x) * a + np.ptp(x[:3]) * x[0]
# count_nonzero: return np.count_nonzero(x > 0.0) * a + np.count_nonzero(x) * x[0]
# builtin_sum
return sum((x[0] * a, x[1], a)) + sum([x[0], a])""",
    "shape and movement": """
# reshape
y = m.reshape((4, 3)) * a
z = np.reshape(x[:4], (2, 2))
return np.sum(y.reshape(12)[:5] * x) + z[1, 0] * z[0, 1] + m.reshape(2, -1)[1, 2] * a
# ravel: return np.sum(m.ravel()[:5] * x) * a + np.outer(x, x).ravel()[7]
# flatten: return np.sum((m * a).flatten()[2:7] * x)
# flat
s = 0.0
y = np.outer(x, x)
for v in y.flat:
    s += v * v
return s * a
# T_transpose
y = np.outer(x, x[:2])
return y.T[1, 3] * a + np.transpose(y)[0, 2] * y.transpose()[1, 1] + np.transpose(m * a)[1, 2]
# newaxis: return np.sum(x[:, None] * x[None, :3] * m[0, :3]) * a + x[:, np.newaxis][1, 0]
# concatenate
y = np.concatenate((x, x[:2] * a))
z = np.concatenate((m, m * a), axis=1)
return np.sum(y * y) + z[1, 6] * x[0]
# stack
y = np.stack((x, x * a))
z = np.stack((x, x * a), axis=1)
return np.sum(y[0] * y[1]) + z[2, 1] * x[0]
# hstack: return np.sum(np.hstack((x, x[:2] * a)) ** 2) + np.hstack((m, m * a))[1, 5] * x[0]
# vstack: return np.sum(np.vstack((x, x * a)) ** 2) + np.vstack((m, m * a))[4, 2] * x[0]
# column_stack
y = np.column_stack((x, x * a))
return np.sum(y[:, 0] * y[:, 1]) + y[1, 1]
# append
y = np.append(x, a)
return np.sum(y * y) * np.append(x, x[:2])[6]
# repeat: return np.sum(np.repeat(x, 2) * np.arange(10.0)) * a
# diag: return np.sum(np.diag(x) @ x) * a + np.diag(np.outer(x, x))[1]
# roll
y = np.roll(x, k)
return np.sum(y * np.roll(x, -1) * np.arange(5)) * a
# flip: return np.sum(np.flip(x) * x * np.arange(5)) * a + np.fliplr(m * a)[0, 1] * np.flipud(m * a)[0, 1]
# expand
y = np.expand_dims(x, 0)
return y[0, 1] * a + np.expand_dims(x, 1)[2, 0] * x[0]
# broadcast_to
y = np.broadcast_to(x[:4], (3, 4))
return np.sum(y * m) * a
# ascontiguous
y = np.ascontiguousarray(np.outer(x, x)[::2].T)
return y[1, 2] * a + np.sum(np.ascontiguousarray(x[::2]))
# tril
y = np.outer(x, x)
return np.sum(np.tril(y)[3]) * a + np.sum(np.triu(y)[1]) + np.tril(y, 1)[0, 1] * np.triu(y, k=-1)[2, 1]
# 4d
y = np.zeros((2, 2, 2, 3))
for i in range(3):
    y[1, 0, 1, i] = x[i] * a
    y[0, 1, i % 2, 0] += x[i]
return np.sum(y * y) + y[1, 0, 1, 2]""",
    "indexing": """
# slices_2d
y = np.outer(x, x)
return np.sum(y[1:3, ::2]) * a + np.sum(y[-1, :-1])
# rows
y = np.outer(x, x)
s = 0.0
for row in y:
    s += row[1] * row[2]
return s * a
# fancy
y = x[idx]
z = np.outer(x, x)[np.array([0, 2])]
return np.sum(y * x) * a + z[1, 3] + m[:, np.array([1, 3])][2, 1] * a + x[idx[1:3]][0]
# fancy_assign
y = np.zeros(5)
y[np.array([1, 3])] = x[:2] * a
y[idx] += x[0]
y[np.array([0, 4])] = a
return np.sum(y * x)
# bool_mask
y = x[x > 0.0]
z = m[m[:, 1] > 0.0] * a
return np.sum(y * y) * a + y[0] + np.sum(z) * x[0] + x[np.array([True, False, True, False, True])][1]
# mask_assign
y = x.copy()
y[y < 0.0] = a
y[x > 1.0] *= 2.0
z = m[1] * a
z[z > 0.5] = 0.5
z[m[1] < 0.0] = x[:1]
return np.sum(y * x) + np.sum(z) * x[0]
# take: return np.sum(np.take(x, idx) * x) * a + x.take(np.array([1, 2]))[0] + np.take(x, 3)
# where1
at = np.where(x > 0.0)[0]
s = 0.0
for i in at:
    s += x[i] * x[i]
return s * a + np.sum(x[at])
# nonzero
(at,) = np.nonzero(x > 0.0)
rows, columns = (m > 0.0).nonzero()
return np.sum(x[at]) * a + m[rows[0], columns[1]] * x[0]
# searchsorted
grid = np.array([-1.0, 0.0, 1.0, 3.0])
return x[np.searchsorted(grid, x[0])] * a + np.sum(np.searchsorted(grid, x)) * x[0] + np.digitize(x[1], grid) * x[1]
# ndindex
s = 0.0
for i, j in np.ndindex(3, 4):
    s += m[i, j] * x[i] * a
for at in np.ndindex(m.shape):
    s += m[at] * x[0]
return s
# ndenumerate
s = 0.0
for at, v in np.ndenumerate(np.outer(x, x)):
    s += v * at[0] - v * at[1] * a
for (i, j), v in np.ndenumerate(m):
    s += v * x[i] * j
return s
# scatter_add
y = np.zeros(5)
for i in range(5):
    y[idx[i]] += x[i] * a
return np.sum(y * y)""",
    "elementwise": """
# where: return np.sum(np.where(x > 0.0, x * a, -x * x))
# clip: return np.sum(np.clip(x, -0.5, 1.0) * x) * a + np.clip(x, m[0, 1], None)[1] * x[0]
# maximum: return np.sum(np.maximum(x, 0.5) * np.minimum(x, a))
# isnan: return np.sum(np.where(np.isnan(x), 0.0, x)) * a + (1.0 if np.isfinite(a) else a)
# sign_floor: return np.sum(np.sign(x) * x + np.floor(x) * x + np.ceil(x) * x + np.trunc(x) * x) * a
# round: return np.sum(np.round(x) * x) * a + round(x[0]) * a + np.round(x, 1)[2] * x[1]
# heaviside_like: return np.sum((x > 0.25) * x) * a
# interp: return np.sum(np.interp(x, np.array([-2.0, 0.0, 2.0]), np.array([1.0, 0.0, 4.0]))) * a
# interp_fp: return np.interp(0.4, np.array([-2.0, 0.0, 2.0]), x[:3]) * a
# linspace
y = np.linspace(x[0], a, 4)
return np.sum(y * y) * x[1] + np.linspace(0.0, 1.0, 5)[2] * a
# arange_float
y = np.arange(0.0, 1.0, 0.3)
return np.sum(y) * a + np.sum(np.arange(0, 10, 3) * x[:4]) + np.sum(np.arange(5.0) * x)
# trapz: return np.trapezoid(x * x, np.arange(5.0)) * a + np.trapezoid(x)
# convolve: return np.sum(np.convolve(x, x[:2]) ** 2) * a + np.correlate(x, m[0, :2])[1]
# hist
h, e = np.histogram(x, 4, (-2.0, 2.0))
return h[1] * x[0] * a
# fmod: return np.fmod(x[3], 0.6) * a + np.sum(np.fmod(x, 0.65)) * x[0] + np.sum(np.fmin(x, 1.1 * a) * np.fmax(x, 0.1))
# out
y = np.empty(5)
np.exp(x, y)
np.multiply(y, x, y)
return np.sum(y * x) * a
# astype: return np.sum(x.astype(np.float64) * x) * a + np.sum(idx.astype(np.float64) * x)
# dtype32
y = np.zeros(5, dtype="float64")
y[:] = x
z = np.zeros(3, dtype=np.int32)
return np.sum(y * y) * a + np.ones(2, np.dtype("float64"))[0] * x[0] + z[1] * x[1] + np.zeros(2, dtype=y.dtype)[0]
# asarray
y = np.asarray(x)
z = np.atleast_1d(x * a)
return np.sum(y * y) * z[0] + np.atleast_2d(x)[0, 1] * np.asarray((x[0], a))[1]
# full_like: return np.sum(np.full_like(x, a) * x)
# complex
z = complex(a, x[0])
return (z * z).real + abs(z)
# array_of_args
y = np.array([[x[0], a], [x[1], 2.0]])
return y[0, 1] * y[1, 0]
# chain_cmp
s = 0.0
for v in x:
    if -0.5 < v <= 1.0:
        s += v * v
return s * a
# logaddexp
return np.sum(np.logaddexp(x, x[::-1] * 2.0)) * a""",
    "language": """
# while_break
s, i = a, 0
while True:
    s += x[i] * s
    i += 1
    if i >= 4 or s > 10.0:
        break
return s
# for_else
s = a
for v in x:
    if v > 10.0:
        break
else:
    s *= x[0]
return s
# continue_early_return
s = 0.0
for v in x:
    if v < 0.0:
        continue
    s += v * a
    if s > 10.0:
        return s * 2.0
return s
# recursion
@njit
def power(y, n):
    if n == 0:
        return 1.0
    return y * power(y, n - 1)
---
return power(a, 3) * x[0]
# closure
def g(y):
    return y * a
return g(x[0]) * g(x[1])
# try
s = a
try:
    s = s * x[0]
except Exception:
    s = 0.0
return s
# fstring_raise
if a > 100.0:
    raise ValueError(f"too large: {a}")
return a * x[0]
# listcomp
y = [v * a for v in x]
return y[0] * y[1] + sum([v * v for v in x])
# list_append
y = []
for v in x:
    y.append(v * a)
s = 0.0
for v in y:
    s += v * v
return s + y[2] * len(y)
# array_of_listcomp
y = np.array([v * a for v in x])
return np.sum(y * y)
# dict
d = {0: a, 1: x[0]}
return d[0] * d[1] + d[1]
# dict_str
d = {"first": a, "second": x[0]}
return d["first"] * d["second"] * d["second"]
# set
d = {1, 2, 3}
return a * x[0] if 2 in d else x[1]
# typed_list
y = List()
for v in x:
    y.append(v * a)
return y[0] * y[1] + len(y) * a
# generator
@njit
def squares(y):
    for v in y:
        yield v * v
---
s = 0.0
for v in squares(x):
    s += v * a
return s
# namedtuple_made
p = Pair(a, x[0])
return p.first * p.second + p[1]
# namedtuple_arg: return other.first * a + other.second[1] * x[0]
# namedtuple_const: return CONSTANT.first * a + CONSTANT.second * x[0]
# optional_arg
@njit
def g(y, scale=None):
    if scale is None:
        return y * y
    return y * scale
---
return g(a) * g(x[0], 2.0)
# default_kw
@njit
def g(y, scale=2.0, shift=0.5):
    return y * scale + shift
---
return g(a, shift=x[0]) * g(x[1])
# tuple_loop
s = 0.0
for v in (a, x[0], x[1]):
    s += v * v
return s
# swap
u, w = x[0], a
for _ in range(3):
    u, w = w, u * w
return u * w
# range_neg
s = a
for i in range(4, -1, -2):
    s = s * x[i] + 1.0
return s
# zip_enum
s = 0.0
for i, (u, w) in enumerate(zip(x, m[0])):
    s += u * w * i * a
return s
# print
if a > 100.0:
    print("large", a)
return a * x[0]
# global_const_dict_free: return a * x[0] * SCALE
# string_arg
s = a
if other == "square":
    s = a * a
elif other == "cube":
    s = a * a * a
return s * x[0]
# star_args
@njit
def g(*args):
    return args[0] * args[1] + args[0]
---
pair = (a, x[0])
return g(*pair) + g(x[1], a)""",
    "parallel, random, interop": """
# prange
s = 0.0
for i in numba.prange(5):
    s += x[i] * x[i]
return s * a
# fastmath
@njit(fastmath=True)
def g(y):
    return y * y + math.sin(y)
---
return g(a) * x[0]
# signature
@njit("float64(float64, float64)")
def g(y, z):
    return y * z
---
return g(a, x[0])
# options
@njit(error_model="numpy", boundscheck=True)
def g(y, z):
    return y[1] / z
---
return g(x, a)
# random: return np.random.uniform(0.5, 0.5) * a * x[0] + np.random.normal(2.0, 0.0) * x[1]
# random_seed_normal
np.random.seed(3)
return np.random.normal(1.0, 0.0) * a * x[0]
# generator_arg: return other.normal(1.0, 0.0) * a * x[0]
# function_arg
@njit
def g(y):
    return y * y
@njit
def twice(h, y):
    return h(h(y))
---
return twice(g, a) * x[0]
# float32_arg
s = 0.0
for i in range(3):
    s += other[i] * x[i]
return s * a
# fortran: return np.sum(other * a) + other[1, 2] * x[0]
# tuple_arg: return other[0] * a + other[1][2] * x[0]
# cfunc_call
@numba.cfunc("float64(float64)")
def g(y):
    return y * y
---
return g(a) * x[0]
# objmode
s = a * x[0]
with numba.objmode(n="int64"):
    n = 2
return s * n
# list_arg: return other[0] * a + other[1] * x[0]
# vectorize
@numba.vectorize
def g(y, z):
    return y * z
---
return np.sum(g(x, a))
# jitclass_arg: return other.scale * a + other.weights[1] * x[0]
# jitclass_inside
@numba.experimental.jitclass([("scale", numba.float64), ("weights", numba.float64[:])])
class Scaled:
    def __init__(self, scale, weights):
        self.scale = scale
        self.weights = weights
---
c = Scaled(2.0, np.ones(3))
return c.scale * a * x[0]
# structured
s = 0.0
for i in range(3):
    s += other[i].mass * x[i] * other["count"][i]
return s * a + other.mass[1] * x[0]
# uint8_arg
s = 0.0
for i in range(3):
    s += other[i] * x[i]
return s * a + np.sum(other) * x[0] + np.sum(other * x[:3])
# 4d_arg
s = 0.0
for i in range(2):
    s += other[i, 0, 1, 1] * x[i] + np.sum(other[i, 1]) * a
return s
# bisect_intmath
low, high = 0, 4
while high - low > 1:
    middle = (low + high) // 2
    if x[middle] > 1.1 * a:
        high = middle
    else:
        low = middle
return x[low] * a + (high % 3) * (low << 1) * a + abs(-high) * x[0]
# math_erf_gamma
return math.erf(a) * math.gamma(1.5 + a) + math.lgamma(2.0 + a) * x[0] + math.erfc(x[1])""",
}
BODIES = {name: body for text in GROUPS.values() for name, body in programs(text).items()}


def make_scaled():
    """An object of a class that Numba compiles, when it is first asked for."""

    @numba.experimental.jitclass([("scale", numba.float64), ("weights", numba.float64[:])])
    class Scaled:
        def __init__(self, scale, weights):
            self.scale = scale
            self.weights = weights

    return Scaled(1.5, np.array([0.5, 2.0]))


OTHERS = {
    "namedtuple_arg": lambda: Pair(1.5, np.array([0.5, 2.0])), "string_arg": lambda: "square",
    "generator_arg": lambda: np.random.default_rng(1), "float32_arg": lambda: np.array([0.5, 1.5, -2.0], np.float32),
    "fortran": lambda: np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "tuple_arg": lambda: (1.5, np.array([0.5, 2.0, -1.0])), "list_arg": lambda: [1.5, 2.5], "jitclass_arg": make_scaled,
    "structured": lambda: RECORDS.view(np.recarray), "uint8_arg": lambda: np.array([3, 200, 7], np.uint8),
    "4d_arg": lambda: np.arange(24.0).reshape(2, 2, 2, 3) * 0.1,
}  # fmt: skip
# what `generated` refuses, and who takes it then
TAKEN_BY = {"recursion": "tape", "generator_arg": "tape"}


def table_of(name, more=None):
    """The table of a construct, with others that have the same arguments."""
    return Table(
        "constructs", more or {name: BODIES[name]}, known={"Pair": Pair, "CONSTANT": Pair(2.0, 0.5), "SCALE": 1.5},
        as_numba=("signature",), head="x, a, k, idx, m, on, other",
        arguments=lambda: [*ARGUMENTS[:6], OTHERS.get(name, lambda: 1)()],
    )  # fmt: skip


COMMON = {name: body for name, body in BODIES.items() if name not in OTHERS and name not in TAKEN_BY}
CONSTRUCTS = [table_of("", COMMON), *(table_of(name) for name in OTHERS if name not in TAKEN_BY)]
