"""try/except as branches: what is raised in a try is an exit to its handler."""

import numpy as np

from contad.engines.source.ir.entries import constant
from contad.engines.source.reading.expressions import ExpressionReader
from tests.engines.source.programs.harness import Table, listed, programs

TAKEN = programs("""
    # around nothing
    s = x[1]
    try:
        s = s * x[0]
    except Exception:
        s = 0.0
    return s
    # returned
    try:
        if x[0] > 5.0:
            raise ValueError("beyond")
        return x[0] * math.exp(-x[1])
    except Exception:
        return -x[1] * x[2]
    # what was done before the exception stays
    y, s = x.copy(), 1.0
    try:
        for k in range(len(y)):
            y[k] *= 2.0
            s += y[k] * s
            assert y[k] > -0.5, "small"
            s *= 1.5
        s = 100.0 * x[0]
    except Exception:
        s += x[3] * s
    else:
        s += 1.0
    return s + np.sum(y * y)
    # divided
    s = 0.5
    for k in range(len(x)):
        try:
            s += x[k] / (k - 1) + 1.0 / (3.0 + x[k] // (k - 2))
            if k == 3:
                break
            s /= k
        except Exception:
            s = s * 0.5 + x[k] ** 2
            continue
        s *= 1.1
    else:
        s = -s
    return s
    # nested
    s, n = x[0], 0
    try:
        while True:
            n += 1
            try:
                s *= x[n]
                if s < 0.0:
                    raise ValueError
            except Exception:
                if n > 1:
                    raise IndexError("outer")
                s = x[3] * 0.5
            s += 0.25 * x[1]
    except Exception:
        s *= 2.0
    return s * x[3]
    # at last
    try:
        s = x[0] % x[1]
        if s > 0.6:
            raise ValueError
        s *= x[2]
    except Exception:
        s = x[1] * x[1]
    finally:
        s = s * x[3]
    try:
        s = np.sin(s)
    finally:
        s += x[0]
    return s
    # of a generator
    @njit
    def means(y):
        s = 0.0
        for v in y:
            try:
                s += v
                if s > 1.5:
                    raise ValueError
            except Exception:
                s *= 0.5
                continue
            yield s * v
        try:
            s = s / (len(y) - 4)
        except Exception:
            s = s * 2.0
        yield s
    ---
    s = 0.0
    try:
        for k, v in enumerate(means(x)):
            s += v
            if k == 2:
                raise ValueError
            s *= 1.5
        return 10.0 * s
    except Exception:
        return s * x[1]
""")
REFUSED = listed("""
    # logarithm: try/except around what may raise by itself: ValueError; test before, and raise there
    @njit
    def logarithm(y):
        if y < 0.0:
            raise ValueError
        return math.log(y)
    ---
    try:
        return logarithm(x[2]) * x[0]
    except Exception:
        return x[1]
    # f: try/except around what may raise by itself
    try:
        return np.sum(np.linalg.inv(np.outer(x, x)))
    except Exception:
        return x[0]
    # f: try/except around what may raise by itself: arrays, whose lengths may
    try:
        return np.sum(x[1:] * x[:2])
    except Exception:
        return x[0]
    # f: try/except around what may raise by itself: ZeroDivisionError
    try:
        return 1.0 / x[2] if x[2] != 0.0 else x[0]
    except Exception:
        return x[1]
    # f: finally behind statements that leave it; write what is done at last twice
    s = 0.0
    for v in x:
        try:
            s += v
            if s > 1.0:
                break
        except Exception:
            s = 0.0
        finally:
            s *= 2.0
    return s
""")
POINT = np.array([0.7, 1.3, -0.4, 2.1])
HANDLERS = Table(
    "handlers", TAKEN, REFUSED,
    faults={
        "a division by zero that is not seen before it is done": (
            ExpressionReader, "read_DividesByZero", lambda *_: constant(False)),
    },
    head="x", arguments=(POINT,), argnums=(0,),
    elsewhere=[(0.3 * POINT,), (9.0 * POINT,)],  # where other branches are taken, and other statements raise
)  # fmt: skip
