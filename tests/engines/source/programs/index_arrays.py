"""Elements at positions and under masks: read, written, updated, in loops and branches, of several axes."""

from tests.engines.source.programs.harness import Table, numbered

TAKEN = numbered("""
y = np.zeros(5)
y[np.array([1, 3, 1])] = x[:3] * a
y[np.array([2, 2])] += x[0]
y[-np.array([1, 5])] *= a
return np.sum(y * y)

y = x.copy()
y[1:][np.array([0, 2])] = y[:2] * a
y[np.array([0, 1])] = y[np.array([1, 0])]
y[idx[:2]] -= y[1:3] * y[1]
return np.sum(y * x) + y[0] * y[1]

y = m * a
y[np.array([0, 2])] *= x[:4]
y[:, np.array([1, 3])] = x[:2] * x[2]
y[1, np.array([0, 2])] += x[3]
y[np.array([0, 1]), np.array([1, 2])] = a * a
return np.sum(y * y) + np.sum(y[np.array([2, 0]), 1] * x[:2]) + np.sum(y[np.array([1, 1])][0])

y = x.copy()
for i in range(3):
    y[y > 0.5] *= 0.5 * a
    if y[i] < 0.4:
        y[x < 0.0] = y[i] * x[3]
    kept = y[y < 0.6]
    y[i] += np.sum(kept * kept)
return np.sum(y * y)

y = m[m[:, 0] < 0.0] * a
y[:, m[0] > -0.8] += x[0]
z = np.take(m, idx[1:2]) * x[1] + np.take(m, np.array([1, 0]), axis=1)[2, 0] * a
return np.sum(y * y) + z[0]

order = np.argsort(x)
y = np.zeros(5)
y[order] = np.arange(5.0) * x
t = np.zeros((2, 3, 2))
t[:, np.array([2, 0])] = x[:2] * a
return np.sum(y * x) + np.sum(t * t)

y = np.array([1, 0, 2, 0])
y[y] = y
z = y[np.array([2, 0])]
return x[z[0]] * a * y[1] + x[y[0]] * a
""")
OTHERS = "y[idx[:2], :, None]", "y[y > 0.0][0]", "y[0, :, None, idx][0]"
REFUSED = [("ind", f"y = np.outer(x, x)\nreturn np.sum({text}) * a") for text in OTHERS]
INDEX_ARRAYS = Table("index arrays", TAKEN, REFUSED)
