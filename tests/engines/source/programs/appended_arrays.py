"""Arrays that np.append makes longer in loops, as lists; and those that share memory, which are no lists."""

from contad.engines.source.reading import appended_arrays
from tests.engines.source.programs.harness import Table, X, programs

LISTS = programs("""
    # products
    z = np.array([x[0]])
    for i in range(len(x)):
        z = np.append(z, z[-1] * x[i])
    return z[-1] + z.sum() * len(z) + z.size * z.shape[0] * len(z[1:]) * x[1]
    # written in place
    z = np.empty(0)
    for i in range(len(x)):
        if x[i] > 0.5:
            z = np.append(z, x[i] * x[0])
        for j in range(i):
            z = np.append(z, x[i] * x[j])
    z[0] = z[1] * z[2]
    z[1] += x[0]
    return np.dot(z[1:], z[:-1]) + np.max(z) + np.sum((z * x[2] - 0.3) ** 2)
    # made in each turn
    total = 0.0
    for k in range(3):
        z = np.zeros(0)
        for i in range(k + 1):
            z = np.append(z, i)
            z = np.append(z, x[i] * x[k])
        total += np.sum(z) * np.exp(z).sum()
    return total
    # steps of any size
    t, y = np.zeros(1), np.array([x[0]])
    while t[-1] < 3.0:
        h = 0.3 + 0.1 * np.exp(-(y[-1] ** 2))
        y = np.append(y, y[-1] + h * np.sin(x[1] * y[-1]))
        t = np.append(t, t[-1] + h)
        if len(t) > 6:
            break
    return y[-1] + np.sum(y * t) * len(t)
""")
SHARED = programs("""
    # with a second name
    z = np.zeros(0)
    for i in range(len(x)):
        z = np.append(z, x[i])
        w = z
        w[0] = 3.0
    return np.sum(z)
    # with a view
    z = np.zeros(0)
    for i in range(len(x)):
        z = np.append(z, x[i])
        w = z[:1]
        w[0] += 3.0
    return np.sum(z)
    # handed to a function
    @njit
    def changed(z):
        z[0] = 3.0
    ---
    z = np.zeros(0)
    for i in range(len(x)):
        z = np.append(z, x[i])
        changed(z)
    return np.sum(z)
    # another array
    z = np.array([x[0]])
    for i in range(len(x)):
        z = np.append(z, x[i])
        if i == 1:
            z = x * 2.0
    return np.sum(z)
""")
APPENDED_ARRAYS = Table(
    "appended arrays", LISTS | SHARED,
    faults={"a view that is kept is a copy": (appended_arrays, "is_transient", lambda *_, **__: True)},
    head="x", arguments=(X,), argnums=(0,),
)  # fmt: skip
