"""Lists that keep their length, dicts and sets with constant members, and loops over elements and lists of arrays."""

from contad.engines.source.reading import made_containers
from tests.engines.source.programs.harness import Table, X, listed, programs

TAKEN = programs("""
    # repeated
    y = [x[0], x[1]] * 2
    z, none = [0.0] * len(x), [1.0] * (len(x) - 5)
    for k in range(3):
        z[k + 1] += x[k] * y[k]
    y[1] = x[3]
    return y[1] * y[3] * z[2] + z[3] + len(none)
    # with defaults
    w = x[0]

    def weighted(v, by=w, k=2):
        return v * by + k

    w = x[1]
    f = lambda v, by=w: v * v * by
    return weighted(w) * weighted(x[2], x[3], 0) + f(x[2]) * f(x[3], 0.5)
    # written list
    @njit
    def change(values, k):
        values[k] *= 3.0
        return values[k]
    ---
    y = [v * v for v in x]
    z = y  # the same list
    z[1] = x[0] * x[2]
    y[-1] += x[0]
    return y[0] * y[1] + z[3] * change(y, 2) + z[2]
    # lists in a loop
    @njit
    def square(v):
        return v * v
    ---
    total = 0.0
    for k in range(4):
        y = [x[k] * v + j for j, v in enumerate(x)]
        w = [square(y[i]) for i in range(k, 4)]
        total += sum(w) * y[k] + len(w)
    return total
    # over ranges
    y = [x[k] for k in range(3, -1, -2)]
    z = [x[k] * k for k in range(1, 4, 2)]
    w = [x[k] for k in range(2, 2)]
    return y[0] * y[1] ** 2 + z[0] * z[1] + len(w) + len(y) * x[0]
    # of tuples
    y = [v * v for v in (x[0], x[1], 3.0)]
    z = [u * v for u, v in zip(x, x[::-1])]
    for k, v in enumerate(y):
        z[k] += v
    return np.sum(np.array(z) * x) + np.array([1, 2.5, x[0]])[2]
    # in branches
    y = [x[0], 1.0]
    if x[1] < 0.0:
        y[1] = x[1] * x[0]
        z = [v * x[2] for v in y]
        total = z[0] * z[1]
    else:
        total = y[0]
    return total + y[1]
    # walks
    y, total = np.outer(x, x), 0.0
    for i, j in np.ndindex(y.shape):
        if j > i:
            continue
        if i == 3 and j == 2:
            break
        total += y[i, j] * x[i]
    for v in y[1:, ::2].flat:
        if v > 3.0:
            return total * v
        total += v * v
    return total
    # nested walks
    total = 0.0
    for i, j in np.ndindex(2, 2):
        for (k,), v in np.ndenumerate(x[1:]):
            for (n,) in np.ndindex(2):
                total += v * x[i] * (j + k) * x[n]
    return total
    # looked up
    weights = {"first": x[0] * x[1], "rest": x[1:]}
    powers = {1: x[3], 2: x[3] ** 2}
    total = weights["first"] * powers[2] * np.sum(weights["rest"] ** 2)
    if "last" in weights or 2 not in powers:
        total = 0.0
    for k in range(4):
        if k in {0, 2}:
            total += x[k] ** 2
    return total
    # sorted in place
    y = x * x
    y[:3].sort()
    z = np.empty(2)
    np.add(y[:2], x[2:], z)
    np.negative(z, z)
    return np.sum(z * y[1:3]) + y[3]
    # over lists
    s, y = 0.0, x * x
    for w in [x, y[1:], x * 2.0]:
        w[0] += 1.5 * x[2]
        s += np.sum(w * w) * w.size
        if s > 1e6:
            break
    for k, (u, w) in enumerate(zip([x, y], [y, x])):
        s += (k + 1) * u[0] * w[1] ** 2
    for u, c in [(x, 2.0), (y, -1.0)]:
        s += c * u[-1] ** 3
    return s
    # matrices
    n = len(x)
    m, none = n - 1, n - 4
    a = np.array([[x[i] * x[j] + i * j for j in range(m)] for i in range(1, n)])
    c = np.array([[w[k] * k for k in range(n)] for w in (x, x * x)])
    d = np.array([[x[k] for k in range(none)] for _ in range(n)])
    e = np.array([[x[k] for k in range(n)] for _ in range(none)])
    a[0, 0] *= x[3]
    return np.sum(a * a) * a.shape[1] + np.sum(c) ** 2 + d.size + d.shape[0] + e.size + e.shape[1] + a.shape[0]
""")
REFUSED = listed("""
    # ;
    def f(v, by=2.0, k=3):
        return v * by + k

    return f(x[0], x[1])
    # ;
    y = [x[0]]
    z = y
    z.append(x[1])
    y.append(x[2])
    return y[0] * y[1]
    # ;
    y = [x[0]]
    for v in y:
        if v > 0.5:
            y.append(v * 0.5)
    return y[0]
    # ;
    y = [x[0], x[1]]
    y *= 2
    return y[2]
    # ;
    y = [v for v in x if v > 0.0]
    return y[0]
    # ;
    y = x * 1.0
    np.multiply(y[:-1], 2.0, y[1:])
    return np.sum(y)
    # rows of a list of lists have one length: return np.sum(np.array([[x[j] for j in range(i)] for i in range(3)]))
    # of what is no number
    rows = [x * k for k in range(3)]
    return rows[0][1]
""")
RAISED = listed("""
    # IndexError: .*list
    y = [v * v for v in x]
    return y[len(x)]
    # IndexError: .*list
    y = [v * v for v in x]
    return y[-len(x) - 1]
""")
MADE_CONTAINERS = Table(
    "made containers", TAKEN, REFUSED, RAISED,
    faults={"a misplaced row": (made_containers, "_position", lambda _, index, limits: limits[0])},
    as_numba=("matrices",), head="x", arguments=(X,), argnums=(0,),
)  # fmt: skip
