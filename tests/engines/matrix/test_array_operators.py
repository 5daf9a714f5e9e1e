"""Operations by elements on arrays whose shapes or memory orders differ: values, what views share, derivatives."""

import numpy as np
import pytest

import contad
from contad.ops.triangular_factors import lower_part, strict_triangle, upper_part

A = np.array([[0.3, -1.2, 2.5], [1.7, 0.4, -0.6]])
B = np.array([[1.1, 0.7, -0.9], [0.2, 2.4, 1.3]])
STEP = 1e-30

WAYS = {
    "a row beside a matrix": lambda a, w: a * w,
    "a constant beside a row": lambda a, w: B - w,
    "a column beside a matrix": lambda a, w: w[:2].reshape(2, 1) / (2.0 + a * a),
    "a column beside a row": lambda a, w: w[:2].reshape(2, 1) * w,
    "both transposed": lambda a, w: a.T * (a + 1.0).T,
    "transposed beside a number": lambda a, w: 2.0 - a.T,
    "transposed, one argument": lambda a, w: np.exp(a.T),
    "transposed beside what is not": lambda a, w: a.T * B.T.copy(),
    "transposed beside a row": lambda a, w: a.T * w[:2],
    "both transposed, the same": lambda a, w: a.T * a.T,
    "one beside itself": lambda a, w: w * w[None].T,
    "a diagonal": lambda a, w: np.exp(np.diagonal(a)),
    "a diagonal that is written to": lambda a, w: np.log(np.diagonal(overwrite(a * a, w).T)),
    "a reversed row": lambda a, w: np.sin(a[1, ::-1]),
    "columns apart": lambda a, w: np.cos(w[::2]) + np.sqrt(w[::2] + 2.0),
    "a repeated number": lambda a, w: np.exp(np.broadcast_to(w[1:2], (3,))),
    "a number of the recording": lambda a, w: w[0] * B,
    "divided by a number of the recording": lambda a, w: B / w[1],
    "written afterwards": lambda a, w: overwrite(a.T * 3.0, w),
}


def overwrite(z, w):
    flat = z.T.reshape(-1)  # shares memory with z, as z lies in memory like its operand
    flat[1:3] = w[:2]
    return z


def weighed(f):
    weights = np.arange(1.0, 10.0)

    def total(a, w):
        z = f(a, w)
        return np.sum(z * weights[: z.size].reshape(z.shape))

    return total


@pytest.mark.parametrize("name", WAYS)
def test_value_layout_and_gradient_are_those_of_numpy(name):
    f, w = WAYS[name], np.array([1.4, -0.8, 0.5])
    total = weighed(f)
    value, gradient = contad.value_and_grad(total, (0, 1))(A, w)
    assert value == total(A, w)
    orders = []

    def look(a, w):
        z = f(a, w)
        orders.append((z._value.flags.c_contiguous, z._value.flags.f_contiguous))
        return np.sum(z)

    contad.grad(look, (0, 1))(A, w)
    plain = f(A.copy(), w)
    assert orders == [(plain.flags.c_contiguous, plain.flags.f_contiguous)]
    for n, found in enumerate(gradient):
        for k in np.ndindex(found.shape):
            args = [x.astype(complex) for x in (A, w)]
            args[n][k] += STEP * 1j
            assert found[k] == pytest.approx(total(*args).imag / STEP, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("n", [1, 3, 130])
def test_triangles_are_those_of_numpy(n):
    a = np.random.default_rng(3).normal(size=(n, n))
    a[0, -1] = a[-1, 0] = np.inf
    for k in (-1, 0, 1):
        assert np.array_equal(lower_part(a, k), np.tril(a, k))
        assert np.array_equal(upper_part(a, k), np.triu(a, k))
    assert np.array_equal(strict_triangle(n, True), np.tril(np.ones((n, n)), -1))
    assert np.array_equal(strict_triangle(n, False), np.triu(np.ones((n, n)), 1))
