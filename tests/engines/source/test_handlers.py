"""try/except as branches: what is raised in a try is an exit to its handler."""

import math

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source.ir.entries import constant
from contad.engines.source.reading import expressions
from contad.errors import UnsupportedError
from tests.engines.source.agreement import agree

X = np.array([0.7, 1.3, -0.4, 2.1])


@njit
def around_nothing(x):
    s = x[1]
    try:
        s = s * x[0]
    except Exception:
        s = 0.0
    return s


@njit
def returned(x):
    try:
        if x[0] > 5.0:
            raise ValueError("beyond")
        return x[0] * math.exp(-x[1])
    except Exception:
        return -x[1] * x[2]


@njit
def kept_so_far(x):
    """What was done before the exception stays."""
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


@njit
def divided(x):
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


@njit
def nested(x):
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
                    raise IndexError("outer")  # noqa: B904 (Numba knows no cause)
                s = x[3] * 0.5
            s += 0.25 * x[1]
    except Exception:
        s *= 2.0
    return s * x[3]


@njit
def at_last(x):
    try:
        s = x[0] % x[1]
        if s > 0.6:
            raise ValueError
        s *= x[2]
    except Exception as error:  # noqa: F841
        s = x[1] * x[1]
    finally:
        s = s * x[3]
    try:
        s = np.sin(s)
    finally:
        s += x[0]
    return s


@njit(error_model="numpy")
def without_errors(x):
    s = x[0]
    try:
        s = 1.0 / (1.0 + 1.0 / (x[1] - x[1]))
    except Exception:
        s = x[2]
    return s * x[0]


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


@njit
def of_a_generator(x):
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


TAKEN = [around_nothing, returned, kept_so_far, divided, nested, at_last, of_a_generator]


@pytest.mark.parametrize("scale", [1.0, 0.3, 9.0])
@pytest.mark.parametrize("f", TAKEN, ids=lambda f: f.__name__)
def test_a_handler(f, scale):
    agree(f, X * scale)


# ---- refusals --------------------------------------------------------------------------------------------------------
@njit
def logarithm(y):
    if y < 0.0:
        raise ValueError
    return math.log(y)


@njit
def of_a_call(x):
    try:
        return logarithm(x[2]) * x[0]
    except Exception:
        return x[1]


@njit
def of_a_matrix(x):
    try:
        return np.sum(np.linalg.inv(np.outer(x, x)))
    except Exception:
        return x[0]


@njit
def of_lengths(x):
    try:
        return np.sum(x[1:] * x[:2])
    except Exception:
        return x[0]


@njit
def of_a_choice(x):
    try:
        return 1.0 / x[2] if x[2] != 0.0 else x[0]
    except Exception:
        return x[1]


@njit
def left_at_last(x):
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


REFUSED = {
    of_a_call: "logarithm: try/except around what may raise by itself: ValueError; test before, and raise there",
    of_a_matrix: "of_a_matrix: try/except around what may raise by itself",
    of_lengths: "of_lengths: try/except around what may raise by itself: arrays, whose lengths may",
    of_a_choice: "of_a_choice: try/except around what may raise by itself: ZeroDivisionError",
    left_at_last: "left_at_last: finally behind statements that leave it; write what is done at last twice",
}


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_what_is_refused(f):
    with pytest.raises(UnsupportedError, match=rf"test_handlers.py:\d+: {REFUSED[f]}"):
        contad.source(f, X)


def test_a_division_that_is_not_tested_is_noticed(monkeypatch):
    """Planted: a division by zero is not seen before it is done."""
    monkeypatch.setattr(expressions.ExpressionReader, "read_DividesByZero", lambda *_: constant(False))
    with pytest.raises(UnsupportedError, match="what may raise by itself: ZeroDivisionError"):
        agree(divided, X)
