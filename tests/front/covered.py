"""Small Numba functions, one for each thing that a user may write in a function to be differentiated.

`COVERED` has, by item, those that the engine `generated` differentiates, with arguments; the first one is
differentiated. `REFUSED` has those that it refuses, with arguments and a part of the message.
"""

import math
from math import exp, sqrt as root

import numba
import numpy as np
from numba import njit, prange
from numba.experimental import jitclass

import contad
from tests.judges.planted import registered
from tests.judges.written import numba_functions

X = np.array([0.7, -1.2, 2.5, 0.4])
M = np.array([[0.5, 1.5, -0.3], [2.0, -0.7, 0.9]])
T = 0.1 + np.arange(12.0).reshape(2, 3, 2) / 10.0
K = np.array([2, 0, 1, 3])
RATE, COUNT, FLAG = 0.7, 3, True
WEIGHTS = np.array([0.5, 2.0, -1.0, 0.25])
PAIR = (0.5, 2)


# ---- scalars ---------------------------------------------------------------------------------------------------------
@njit
def arithmetic(x, n, flag):
    y = -x + 2 * x - x / 4 + x**3 + x**0.5 + x**n + 2.0**x
    y += +x
    y -= x * n
    y *= 1.5
    y /= 2
    return y if flag else -y


@njit
def comparisons(x, y):
    total = 0.0
    if 0.0 < x < 2.0 and not (y > 1.0 or x == y):
        total += x * x
    if x >= y or x <= -y:
        total += y * x
    if x != y:
        total += 3.0 * x
    return total


@njit
def assigned_together(x):
    a = b = x * x
    c: float = a * b
    return c + a


# ---- arrays ----------------------------------------------------------------------------------------------------------
@njit
def one_dimension(x, k):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * x[k[i]] + x[-1] * i
    return total


@njit
def two_dimensions(m):
    total = 0.0
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            total += m[i, j] * m[i, -1] + m[i][j]
    return total


@njit
def three_dimensions(t):
    a, b, c = t.shape
    total = 0.0
    for i in range(a):
        for j in range(b):
            for k in range(c):
                total += t[i, j, k] * t[i, 0, k] * (i + j + k)
    return total


@njit
def stores(x):
    y = np.zeros(len(x))
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = x[i] * y[i - 1]
        y[i] += x[0]
        y[i] -= 0.5 * x[i]
        y[i] *= 1.5
        y[i] /= 2.0
    return y[3] + y[1]


@njit
def argument_written(x):
    for i in range(1, len(x)):
        x[i] = x[i] * x[i - 1]
    x[0] *= x[3]
    return x[0] + x[2]


@njit
def creation(x, n):
    a, b, c, d = np.zeros((2, n)), np.ones(n), np.empty(n), np.full(n, 2.0)
    e, f, g = np.zeros_like(x), np.ones_like(x), np.empty_like(x)
    h, k = x.copy(), np.copy(x)
    counts = np.zeros(n, dtype=np.int64)
    for i in range(n):
        counts[i] = i
        c[i] = x[i] * b[i]
        a[1, i] = c[i] * d[i]
        g[i] = h[i] * k[i]
        e[i] += f[i] * x[i]
    return a[1, 1] + g[2] * e[0] * counts[2] + c[counts[1]]


@njit
def without_axes(x):
    total = np.zeros(())
    for k in range(len(x)):
        total[()] += x[k] * x[k]
    same = np.asarray(total)
    same *= np.array(x[0])
    return np.sin(total) * 2.0 + total.item() * x[1]


@njit
def slices(x):
    y = x.copy()
    head, tail, odd, back = y[:2], y[2:], y[1::2], y[::-1]
    head[0] = tail[1] * 2.0
    odd[0] *= back[0]
    y[1:3] = y[2:4] * x[0]
    tail[:] = 0.5
    back[-1] += 1.0
    return y[0] * y[1] + y[3] * head[1]


@njit
def rows_and_columns(m):
    row, column, block = m[0], m[:, 1], m[:, :2]
    total = 0.0
    for j in range(len(row)):
        total += row[j] * m[1, j]
    return total + column[0] * column[1] + block[1, 0] * m.T[2, 0]


@njit
def swapped_names(x, n):
    u, w = x.copy(), np.zeros_like(x)
    for _ in range(n):
        for i in range(len(u) - 1):
            w[i] = u[i] * u[i + 1]
        u, w = w, u
    return u[0] + w[1]


@njit
def integer_and_boolean_arrays(x, k, mask):
    total = 0.0
    for i in range(len(x)):
        if mask[i]:
            total += x[k[i]] * k[i] * x[i]
    return total


@njit
def global_array(x):
    total = 0.0
    for i in range(len(x)):
        total += WEIGHTS[i] * x[i] * x[i]
    return total


# ---- loops -----------------------------------------------------------------------------------------------------------
@njit
def ranges(x, n):
    y = x
    for i in range(n):
        y = math.sin(y) + 0.1 * i
    for i in range(1, n):
        y *= 1.0 + 0.1 * i
    for i in range(n, 0, -2):
        y = y * y / i
    for i in range(-n, n, 3):
        y += x * i
    for _ in range(0):
        y = 0.0
    return y


@njit
def over_arrays(x, m):
    total = 0.0
    for v in x:
        total += v * v
    for row in m:
        for v in row:
            total += v * x[0]
    for i, v in enumerate(x):
        total += i * v * v
    for v, w in zip(x, m[0]):  # noqa: B905  (Numba has no strict)
        total += v * w * v
    for i, (v, w) in enumerate(zip(x, m[1])):  # noqa: B905
        total += i * v * w
    return total


@njit
def over_tuples(x, y):
    total = 0.0
    for v in (x, y, x * y):
        total += v * v
    return total


@njit
def while_loop(x, limit):
    y, n = x, 0
    while y < limit:
        y = y * 1.5 + 0.1 * x
        n += 1
    while n > 0:
        y *= x
        n -= 1
    return y


@njit
def breaks_and_continues(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] < -1.0:
            continue
        if i > 2:
            break
        total += x[i] * x[i]
        for j in range(10):
            if j == i + 1:
                break
            total *= x[0]
    while True:
        total = total * 0.5 + x[0]
        if total < 3.0:
            break
    return total


@njit
def parallel_loop(x):
    total = 0.0
    for i in prange(len(x)):
        total += x[i] * x[i]
    return total


parallel_option = njit(parallel=False)(parallel_loop.py_func)


@njit
def passes(x):
    for _ in range(3):
        pass
    if x > 0.0:
        pass
    else:
        x = -x
    return x * x


@njit
def loop_variable_afterwards(x, n):
    for i in range(n):  # noqa: B007
        x = x * 1.1
    return x * i


# ---- ways through a function -----------------------------------------------------------------------------------------
@njit
def branches(x, kind):
    if kind == 0:
        y = x * x
    elif kind == 1:
        y = math.exp(x)
    else:
        y = 1.0 / x
    z = x if kind > 0 else (2.0 * x if kind == 0 else 0.0)
    return y * z + y


@njit
def early_returns(x):
    if x < 0.0:
        return -x * x
    for i in range(10):
        x = x * 1.3
        if x > 3.0:
            return x * x + i
    return x


@njit
def checked(x):
    assert x > 0.0, "x must be positive"
    if x > 100.0:
        raise ValueError("x is too large")
    return math.sqrt(x)


@njit
def name_in_one_branch(x):
    y = 0.0
    if x > 0.0:
        z = x * x
        y = z
    if x > 0.5:
        y += z
    return y


# ---- tuples ----------------------------------------------------------------------------------------------------------
@njit
def tuples(x, y):
    p = (x, y * x)
    (a, b), c = p, x
    a, b = b, a
    q = (*p, 1.0)[1:] if False else p + (2.0,)  # noqa: RUF005
    return a * b * c + q[0] * q[2] + p[-1] + len(p)


# ---- what a function finds outside itself ----------------------------------------------------------------------------
def closure(a, n, data):
    @njit
    def captures(x):
        total = a
        for i in range(n):
            total += data[i] * x * x
        return total

    return captures


closed = closure(0.3, 3, np.array([1.0, 2.0, 3.0]))


@njit
def normalised(v):
    total = 0.0
    for i in range(len(v)):
        total += v[i] * v[i]
    for i in range(len(v)):
        v[i] /= math.sqrt(total)


@njit
def calls_that_write(x):
    u = x.copy()
    normalised(u)
    normalised(u[1:])
    return u[0] * u[1] + u[3]


@njit
def bisected(a, b):
    for _ in range(60):
        m = 0.5 * (a + b)
        if m * m * m > 2.0:
            b = m
        else:
            a = m
        if b - a < 1e-12:
            return m
    return 0.5 * (a + b)


# ---- functions of numbers --------------------------------------------------------------------------------------------
@njit
def of_math(x):
    y = math.exp(-x) + math.log(x) + math.sqrt(x) + math.sin(x) * math.cos(x) - math.tan(0.1 * x)
    y += math.sinh(x) - math.cosh(x) + math.tanh(x) + math.asin(x / 3) + math.acos(x / 3) + math.atan(x)
    y += math.asinh(x) + math.acosh(1 + x) + math.atanh(x / 3) + math.atan2(x, 2.0) + math.hypot(x, 1.0)
    y += math.expm1(x) + math.log1p(x) + math.log2(x) + math.log10(x) + math.erf(x) + math.erfc(x)
    y += math.gamma(x) + math.lgamma(x) + math.pow(x, 2.5) + math.fabs(-x) + math.copysign(x, -1.0)
    y += math.degrees(x) * 1e-2 + math.radians(x) + math.floor(x) + math.ceil(x) + math.trunc(x)
    return y if math.isfinite(y) and not math.isnan(y) and not math.isinf(y) else 0.0


@njit
def of_numpy(x):
    y = np.exp(-x) + np.log(x) + np.sqrt(x) + np.sin(x) * np.cos(x) - np.tan(0.1 * x) + np.square(x)
    y += np.sinh(x) - np.cosh(x) + np.tanh(x) + np.arcsin(x / 3) + np.arccos(x / 3) + np.arctan(x)
    y += np.arcsinh(x) + np.arccosh(1 + x) + np.arctanh(x / 3) + np.arctan2(x, 2.0) + np.hypot(x, 1.0)
    y += np.expm1(x) + np.log1p(x) + np.log2(x) + np.log10(x) + np.exp2(x) + np.abs(-x) + np.fabs(x)
    y += np.power(x, 2.5) + np.maximum(x, 0.5) * np.minimum(x, 9.0) + np.logaddexp(x, 1.0) + np.reciprocal(x)
    y += np.deg2rad(x) + np.radians(x) + np.copysign(x, -1.0) + np.sign(x) + np.add(x, 1) * np.multiply(x, 2)
    y += np.subtract(x, 1) * np.divide(x, 2) - np.negative(x) + np.absolute(x) + np.true_divide(x, 3.0)
    return y if np.isfinite(y) and not np.isnan(y) else 0.0


with registered():  # for the tests of this table alone

    @contad.scalar_rule
    def cubed(x, y):
        """x^3 y, by a rule of the user."""
        return x * x * x * y

    @cubed.partials
    def cubed_partials(z, x, y):
        return 3.0 * x * x * y, x * x * x


# ---- whole arrays ----------------------------------------------------------------------------------------------------
@njit
def in_place(x):
    y = x.copy()
    y += x
    y *= 2.0
    y[1:] -= x[:-1]
    y[:] = y * y
    y /= 3.0
    return np.sum(y)


# ---- functions that Numba makes something else of ------------------------------------------------------------------
@numba.vectorize
def damped(x, k):
    if x < 0.0:
        return 0.5 * x
    return math.sin(x) * k + x / k  # at k = 0 infinite, and no error


@numba.vectorize(["float64(float64)"])
def half(x):
    return x / 2.0


@numba.cfunc("float64(float64, int64)")
def callback(x, n):
    total = 0.0
    for k in range(n):
        total += x**k
    return total


# ---- data of fewer bits ----------------------------------------------------------------------------------------------
SINGLE = np.array([0.1, 0.7, -1.3, 2.2], np.float32)
BYTES = np.array([3, 0, 200, 1], np.uint8)
WORDS = np.array([[1, 70000, 2]], np.uint32)


@njit
def with_single_data(x, data):
    total = np.sum(data * x) + float(data[2]) * x[0] + np.float64(data[3]) ** 2 * x[1]
    for v in data:
        if v > 0.5:
            total += (v - x[0]) * v * x[2] + max(v, x[3])
    w = data.astype(np.float64) * SINGLE * x
    last = data[0] if x[0] > 0.0 else data[1]
    return total + w[0] * w[1] + last * x[1] + np.hypot(last, x[2])


@njit
def with_unsigned_data(x, data):
    total = 0.0
    for i in range(len(x)):
        total += x[BYTES[i] % 4] * data[i] + x[i] ** 2 * (data[i] - 5.0)
    k = data[1]
    for v in data:
        k = v if v > k else k
    positions = WORDS[0, ::2]
    total += np.sum(data) * x[0] + k * x[1] + np.sum(x[positions] * x[1:3]) + np.sum(x[data > 2])
    return total + x[data[3]] * int(data[2]) * x[0] + np.sum(np.sqrt(x * x) * WORDS[0, 1])


E3 = np.array([1.0, 0.6, 2.0])

# ---- handlers --------------------------------------------------------------------------------------------------------
@njit
def with_try(x):
    try:
        return x * x
    except Exception:
        return 0.0


# ---- generators ------------------------------------------------------------------------------------------------------
@njit
def counting(n):
    for i in range(n):
        yield i * 1.0


@njit
def with_generator(x):
    total = x
    for v in counting(3):
        total += v * x
    return total


@njit
def loop_over_singles(x, data):
    total = np.float32(0.0)
    for v in data:
        total += v * v - v / data[0]
    return x[0] * total + x[1] * -total


KNOWN = {
    "__name__": __name__, "np": np, "math": math, "contad": contad, "exp": exp, "root": root, "cubed": cubed,
    "bisected": bisected, "damped": damped, "half": half, "callback": callback, "RATE": RATE, "COUNT": COUNT,
    "FLAG": FLAG, "PAIR": PAIR,
}  # fmt: skip
F = numba_functions({
    "integers(x, n)": (
        "k = (n * 7 + 3) // 2 % 5 - (n << 2) + (n >> 1) + (n & 6) - (n | 1) + (n ^ 5) + n**2 + abs(-n); "
        "x * k + int(3.7) * x + float(n) * x"
    ),
    "floor_and_remainder(x, n)": "x % 2.0 + x // 0.5 + (n * x) % 1.7",
    "extremes(x, y)": "max(x, y) * min(x, 2.0, y) + abs(x - 2.0 * y) + max(x * x, 0)",
    "truth_of_numbers(x, n)": "x * x if n else x",
    "filled(x, y)": "z = np.full(3, x); z[1] = y; w = np.full((2, 2), x * y); z[0] * z[1] + w[1, 1] * z[2]",
    "shapes(m)": "a, b = m.shape; m[0, 0] * (a + b + m.size + len(m) + m.ndim) * m[1, 1] + m.shape[1] * m[0, 1]",
    "pair_argument(p)": "a, (v, b) = p; a * v[0] * b + v[1] * p[0]",
    "two_results(x, y)": "x * y, x + y",
    "unpacked_results(x, y)": "a, b = two_results(x, y); pair = two_results(b, a); a * pair[1] + pair[0]",
    "global_constants(x)": "(RATE * x**COUNT if FLAG else x) * PAIR[0] + PAIR[1] * x * np.pi + math.e * x",
    "with_defaults(x, power=2, scale=0.5)": "scale * x**power",
    "keyword_call(x)": "with_defaults(x, scale=x) + with_defaults(x, 3) + with_defaults(power=2, x=x)",
    "calls_in_expressions(x)": "two_results(x, 2.0)[0] * with_defaults(x) * bisected(0.0, 2.0)",
    "imported_by_name(x)": "exp(x) * root(x)",
    "of_registry(x)": (
        "y = contad.gammaln(x) + contad.ops.digamma(x) + contad.erf(x) + contad.expit(x) + contad.ops.log1p_exp(x); "
        "y + contad.logit(0.1 * x) + contad.ops.ndtr(x) + contad.ops.betaln(x, 2.0) + contad.ops.cbrt(x)"
    ),
    "by_rule(x)": "cubed(x, 2.0) + cubed(2.0, x * x)",
    "elementwise(x, m)": (
        "y = np.exp(x) * x - 2.0 / (1.0 + x**2) + np.maximum(x, 0.0); z = np.where(x > 0.5, x * x, -x); "
        "w = (m + m[0]) * m - m.T.copy().T; np.sum(y * z) + np.sum(w) + y[0]"
    ),
    "reductions(x, m)":
        "np.sum(x) * np.mean(x) + np.max(x) - np.min(m) + x.sum() * m.mean() + x.max() * m.min() + np.dot(x, x)",
    "products(x, m)":
        "v = m @ m.T; u = m @ x[:3]; w = x[:2] @ m; v[0, 1] + u @ u + np.dot(w, x[:3]) + np.dot(m, m.T)[1, 1]",
    "with_list(x)": "values = [x, x * x]; values[0] * values[1]",
    "with_comprehension(x)": "sum([v * v for v in x])",
    "with_look_up(x)": "table = {1: x}; table[1] * x if 2 in {1, 2} else x",
    "with_ufunc(x, m)": (
        "y = damped(m, x[:3]) * damped(x[0], m[1, 2]); z = np.empty(4); damped(x[::-1], 1.3, z); "
        "np.sum(y) * half(3) + z[0] * z[2] + damped(x[2], 2) + half(z)[3]"
    ),
    "with_callback(x, y)": "callback(x, int(y * 3.0)) * callback(x, 2)",
    "with_quantiles(x, m)": (
        "q = np.quantile(x, np.array([0.2, 0.75, 1.0])); "
        "q[0] * q[1] + np.percentile(x, 40.0) * q[2] + np.quantile(m, 0.3) * np.percentile(m, np.abs(x[0]) * 50.0)"
    ),
    "with_convolutions(x)": (
        'y = np.convolve(x, x[:3]) * np.convolve(x[1:], x, "full")[:6]; z = np.convolve(x, x[1:3], mode="same")'
        ' + np.correlate(x, x[:2], "same"); np.sum(y) + z[0] * z[3] + np.correlate(x, x[1:])[0]'
        ' * np.correlate(x[:2], x, "full")[1] * np.convolve(x[:1], x, "valid")[2]'
    ),
    "product_of_singles(x, data)": "x[0] * data[0] * data[1] + data[0] * data[1]",
    "sum_of_singles(x, data)": "x[0] * np.sum(data)",
    "square_of_single(x, data)": "x[0] * data[0] ** 2",
}, KNOWN)  # fmt: skip


COVERED = {
    "scalars": [
        (arithmetic, 1.3, 3, True), (arithmetic, 1.3, 2, False), (F.integers, 0.7, 5), (F.floor_and_remainder, 1.3, 2),
        (comparisons, 0.7, 0.2), (comparisons, 0.7, 1.2), (F.extremes, 0.7, 0.9), (F.truth_of_numbers, 0.7, 2),
        (F.truth_of_numbers, 0.7, 0), (assigned_together, 0.7),
    ],
    "arrays": [
        (one_dimension, X, K), (two_dimensions, M), (three_dimensions, T), (stores, X), (argument_written, X),
        (creation, X, 4), (F.filled, 0.7, 1.3), (F.shapes, M), (slices, X), (rows_and_columns, M),
        (swapped_names, X, 3), (integer_and_boolean_arrays, X, K, X > 0.0), (global_array, X), (without_axes, X),
    ],
    "loops": [
        (ranges, 0.7, 4), (ranges, 0.7, 0), (over_arrays, X, M), (over_tuples, 0.7, 1.2), (while_loop, 0.7, 5.0),
        (while_loop, 0.7, 0.1), (breaks_and_continues, X), (parallel_loop, X), (parallel_option, X), (passes, -0.7),
        (loop_variable_afterwards, 0.7, 3),
    ],
    "ways": [
        (branches, 0.7, 0), (branches, 0.7, 1), (branches, 0.7, 2), (early_returns, -0.7), (early_returns, 0.7),
        (early_returns, 0.01), (checked, 0.7), (name_in_one_branch, 0.7),
    ],
    "tuples": [(tuples, 0.7, 1.2), (F.pair_argument, (0.7, (X, 1.2))), (F.unpacked_results, 0.7, 1.2)],
    "names": [
        (F.global_constants, 0.7), (closed, 0.7), (F.with_defaults, 0.7, 2, 0.5), (F.keyword_call, 0.7),
        (calls_that_write, X), (F.calls_in_expressions, 0.7),
    ],
    "functions": [(of_math, 0.7), (of_numpy, 0.7), (F.imported_by_name, 0.7), (F.of_registry, 0.7), (F.by_rule, 0.7)],
    "generators": [(with_generator, 0.7)],
    "handlers": [(with_try, 0.7), (with_try, 2.5)],
    "containers": [(F.with_list, 0.7), (F.with_comprehension, X), (F.with_look_up, 0.7)],
    "made by Numba": [(F.with_ufunc, X, M), (F.with_callback, 0.7, 1.1)],
    "fewer bits": [
        (with_single_data, X, SINGLE), (with_unsigned_data, X, BYTES), (F.product_of_singles, X, SINGLE),
        (F.sum_of_singles, X, SINGLE), (F.square_of_single, X, SINGLE), (loop_over_singles, X, SINGLE),
    ],
    "of order": [(F.with_quantiles, X, M)],
    "convolutions": [(F.with_convolutions, X)],
    "whole arrays": [(F.elementwise, E3, M), (in_place, X), (F.reductions, X, M), (F.products, X, M)],
}  # fmt: skip


# ---- what is refused -------------------------------------------------------------------------------------------------
@njit
def with_dict(x):
    table = {1: x}
    table[2] = x * x
    del table[1]
    return table[2]


@njit
def factorial(x, n):
    return x if n == 0 else x * factorial(x, n - 1)


@numba.vectorize(["int32(int32)"])
def narrow(k):
    return k * k


@njit
def walk_to_byte(x, data):
    total = 0.0
    for k in range(data[0]):
        total += x[k - 1]
    return total


without_source = njit(eval("lambda x: x * x"))


@jitclass([("v", numba.float64)])
class Holder:
    def __init__(self, v):
        self.v = v

    def moved(self):
        self.v += 1.0
        return self.v


@njit
def with_object(x, holder):
    return x * holder.moved()


def plain(x):
    return x * x


@njit
def with_array_in_try(x):
    try:
        return x * np.ones(int(x) + 1)[0]
    except Exception:
        return 0.0


R = numba_functions({
    "with_set(x)": "seen = {x, 2.0}; x * len(seen)",
    "chosen_function(x, n)": "f = math.sin if n > 0 else math.cos; f(x)",
    "with_narrow_ufunc(x)": "x[0] * narrow(3.0)",
    "with_convolved_modes(x, n)": 'np.convolve(x, x, "full" if n > 0 else "same")[0]',
    "partitioned(x)": "np.partition(x, 1)[0]",
    "differences_of_bytes(x, data)": "x[0] * (data[0] - data[1])",
    "with_plain_function(x)": "plain(x)",
}, KNOWN | {"narrow": narrow, "plain": plain})  # fmt: skip


REFUSED = [
    (with_dict, (0.7,), "the statement del"),
    (R.with_set, (0.7,), "'len(seen)'"),
    (with_array_in_try, (0.7,), "try/except around what may raise by itself: the making of an array"),
    (with_object, (0.7, Holder(2.0)), "the assignment to 'self.v' of an instance that is given; make"),
    (R.chosen_function, (0.7, 1), "stands for different things after the two branches"),
    (factorial, (1.1, 3), "the recursive function factorial"),
    (R.with_narrow_ufunc, (X,), "'narrow(3.0)': arguments that it is not made for; add their types"),
    (R.differences_of_bytes, (X, BYTES), "subtract of unsigned integers alone; convert one by np.int64(...)"),
    (walk_to_byte, (X, BYTES), "'range(data[0])'; give one to three integers"),
    (R.with_convolved_modes, (X, 1), "the"),
    (R.with_plain_function, (0.7,), "plain, a plain Python function; decorate it with numba.njit"),
    (R.partitioned, (X,), "the call of 'partition'"),
    (without_source, (0.7,), "its source cannot be read; define it in a file"),
]
