"""Random nests of loops that fill arrays and read them, and the judge of their gradients."""

import linecache
import math
import random

import numpy as np
from numba import njit

import contad
from contad.engines.source import source
from contad.functions.python_copy import python_twin
from tests.engines.source.agreement import as_python, flat, request

X = np.array([0.3, -1.2, 0.7, 1.9, -0.4])
OUTER = "range(n)", "range(1, n)", "range(n - 1, -1, -1)", "range(n - 1, 0, -1)", "range(0, n, 2)"
INNER = "range(n)", "range(i)", "range(i + 1)", "range(i, n)", "range(i, -1, -1)", "range(n - 1, i, -1)", "range(i + 2)"
LAST = "range(j)", "range(j + 1)", "range(j, n)", "range(j + 1, n)", "range(i)", "range(j - 1, -1, -1)", "range(i, j)"
STORED = "i, j", "j, i", "i + 1, j", "i, j + 1", "i, i", "i - 1, j"
READ = "i, k", "j, k", "k, i", "j, j", "i, j", "k, j", "i + 1, k", "i, k + 1", "j - 1, k", "i - 1, j"
TESTS = "i != j", "i == j", "s < 5.0"


@njit
def factor(a, x):
    """Cholesky's factor, a row after the other, and a system with it."""
    n = len(a)
    lower, z, value = np.zeros((n, n)), np.zeros(n), 0.0
    for i in range(n):
        for j in range(i + 1):
            entry = a[i, j] * x[0]
            for k in range(j):
                entry -= lower[i, k] * lower[j, k]
            lower[i, j] = math.sqrt(entry) if i == j else entry / lower[j, j]
        residual = x[1]
        for k in range(i):
            residual -= lower[i, k] * z[k]
        z[i] = residual / lower[i, i]
        value += z[i] * z[i] + math.log(lower[i, i])
    return value


def nest(seed):
    """A function whose loops fill an array and read it."""
    chosen = random.Random(seed)
    one, other, later = (chosen.choice(READ) for _ in range(3))
    test = chosen.choice(TESTS)
    lines = ["def f(x, n):", "    a, s = np.ones((n + 2, n + 2)), 0.2", f"    for i in {chosen.choice(OUTER)}:"]
    lines += [f"        for j in {chosen.choice(INNER)}:", f"            for k in {chosen.choice(LAST)}:"]
    lines += [f"                s += 0.1 * a[{one}] * a[{other}] * x[0]", "            k = 1"]
    parts = [[f"            a[{chosen.choice(STORED)}] = math.sin(s + x[1])"]]
    parts += [[f"            if {test}:", f"                s += 0.1 * a[{later}] * a[{later}] * x[2]"]]
    parts += [[f"            a[{chosen.choice(STORED)}] {chosen.choice(('=', '+='))} x[3] * s"]] * chosen.randrange(2)
    chosen.shuffle(parts)
    lines += [line for part in parts for line in part]
    lines += ["    return s + a[n - 1, 0] + 2.0 * a[0, n - 1] + 3.0 * a[1, 1] + 4.0 * a[n, n - 1]"]
    return "\n".join(lines) + "\n"


def disagreement(seed, most=4, write=nest):
    """(whether elements are read again, what is wrong with the gradient of a nest of loops)."""
    text, file = write(seed), f"<{write.__name__} {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names = {"np": np, "math": math}
    exec(compile(text, file, "exec"), names)
    f = njit(names["f"])
    asked = request(f, X, 4)
    again = " a[" in source(asked).split("_bar = 1.0")[-1]
    for n in (2, most):
        _, gradient = as_python(asked)(X, n)
        _, expected = contad.value_and_grad(python_twin(f), engine="records")(X, n)
        scale = np.abs(expected).max(initial=1e-6)
        if not np.allclose(flat(gradient), expected, rtol=1e-9, atol=1e-11 * scale):
            return again, f"{text}{gradient} for {expected}"
    return again, None
