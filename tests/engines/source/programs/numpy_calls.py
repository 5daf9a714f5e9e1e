"""Functions of NumPy and `math` that Numba has beside the common ones, and kernels that `guvectorize` makes."""

from tests.engines.source.programs.harness import Table, listed, numbered

TAKEN = numbered("""
return np.sinc(a) * np.sum(np.sinc(x)) + np.sinc(x[0] * a)
return np.sum(np.diff(x, 2) ** 2) * a + np.diff(x, n=k + 1)[1] + len(np.diff(x, 7)) + np.sum(np.ediff1d(x) ** 3)
return np.average(x) * a + np.average(x, weights=x * x + a) * np.average(m)

r = np.arange(a, 3.0 * a, 0.3)
p = np.arange(5.5 * a, a, -0.9)
return np.sum(r * r) + np.sum(np.arange(0.1, 2.0, x[0]) * a) + p[2] * p[1] + len(np.arange(3.0, a)) * a

s = 0.0
for i in np.arange(1, 2 * k, 2):
    s += x[i] * a * np.arange(k + 2, dtype=np.float64)[i]
for i in np.arange(k, 0, -1):
    s += x[i] * x[i] * i
return s

mantissa, exponent = math.frexp(a * 5.0)
return math.ldexp(x[0], exponent) * mantissa + math.ldexp(a, -3) + math.ldexp(math.ldexp(x[2], 900) * 1e-290, -901)

y = np.empty(3)
np.dot(m, x[:4], y)
z = np.empty((5, 5))
np.dot(np.outer(x, x) * a, np.outer(x, x), out=z)
return np.sum(y * y) + z[0, 1] * z[2, 2]

y = np.bincount(idx % 5, weights=x * a)
z = np.bincount(idx % 5, x, 7)
return np.sum(y * y) + y[3] * z[1] + len(z) * a

y = x * a
y[2] = np.nan
return np.nanstd(y) * np.nanvar(y) + np.nanmax(y) * np.nanmin(y) + np.nanprod(y) * np.nanmax(np.append(y[2:], x))

y = x * a
y[2] = np.nan
return np.nancumsum(y)[4] * x[0] + np.nancumprod(y)[4] + np.nanmedian(y) * np.nanpercentile(y, 30.0)

y = x * a
y[2] = np.nan
return np.nanquantile(y, 0.6) * np.sum(np.nan_to_num(y) * x) + np.nan_to_num(x[0]) * a

np.random.seed(3)
s = 0.0
for i in range(4):
    z = np.random.normal(x[i], a)
    s += z * z if z > 0.0 else np.random.exponential(a)
return s + np.random.normal(a) + np.random.normal() * x[0]

np.random.seed(3)
s = np.random.laplace(x[0], a) * x[1] + np.random.logistic(0.0, a) + np.random.gumbel(a, x[0])
s *= np.random.uniform(x[1], a)
return s + np.sum(np.random.normal(a, x[0], size=(2, 2)) ** 2) + np.random.uniform(0.0, a, 3)[1]

y = np.float32(int(a * 5.0)) * np.float32(0.1)
return y * x[0] * a if np.float32(a) > 0.5 else y
""")
RAISED = listed("""
# ValueError: Maximum allowed size exceeded
return np.arange(x[0], a, a - a)[0]
# ValueError: .*must be non-negative
return np.bincount(idx, x)[0]
# ValueError: .*the same length
return np.bincount(idx[:2], x)[0]
# ValueError: .*order must be non-negative
return np.diff(x, -k)[0]
""")
REFUSED = listed("""
# the draw 'np.random.gamma(a, 1.0)' with parameters that vary: return np.random.gamma(a, 1.0) * x[0]
""")
NUMPY_CALLS = Table("NumPy calls", TAKEN, REFUSED, RAISED)

KERNELS = Table(
    "kernels", {
        "written in place":
            "y = np.empty(5)\nkernel(x, a, y)\nz = np.ones(5)\nkernel(y * x, y[1], z)\nreturn np.sum(y * z)",
    },
    listed("""
        # over further axes; loop over these
        kernel(m, a, np.empty((3, 4)))
        return np.sum(x) * a
        # overlapping parts; copy them first
        kernel(x[:3], a, x[1:4])
        return np.sum(x) * a
        # is not made for; give arrays and numbers of 64 bits
        kernel(small, a, np.empty(3))
        return np.sum(x) * a
    """),
    before="""
@numba.guvectorize("(n),()->(n)")
def kernel(v, c, out):
    for i in range(v.shape[0]):
        out[i] = v[i] / (c + 2.5 - v[i]) if i != 3 else c * out[0]
""",
)  # fmt: skip
