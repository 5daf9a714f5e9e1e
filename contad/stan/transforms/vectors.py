"""The transforms of vectors: ordered vectors, simplices, vectors with sum 0 and unit vectors."""

import math

import numpy as np

from contad.ops.exponential import exp
from contad.ops.logistic import log_expit
from contad.ops.products import matmul
from contad.stan.transforms.constraints import Constraint
from contad.variables.open_types import ArrayValue, Real, Value


def ordered(k: int) -> Constraint:
    """k numbers that increase.

        y_1 = u_1, y_i = y_(i-1) + e^u_i,     log |J| = u_2 + ... + u_k

    Domain:  every u.
    Ref:     Stan Reference Manual, ordered vector.

    >>> ordered(3).constrain(np.array([-1.0, 0.0, 0.5])).round(6)
    array([-1.      ,  0.      ,  1.648721])
    """

    def forward(u: ArrayValue) -> tuple[Value, Real]:
        return np.cumsum(np.concatenate([u[:1], exp(u[1:])])), np.sum(u[1:])

    loops = ("ordered_of(u)", "np.sum(u[1:])", "unordered_of(y)", "np.all(y[1:] > y[:-1])")
    return Constraint("ordered", k, (k,), "increase", loops, forward)


def positive_ordered(k: int) -> Constraint:
    """k positive numbers that increase.

        y_1 = e^u_1, y_i = y_(i-1) + e^u_i,     log |J| = sum u

    Domain:  every u.
    Ref:     Stan Reference Manual, positive ordered vector.

    >>> positive_ordered(3).constrain(np.array([-1.0, 0.0, 0.5])).round(6)
    array([0.367879, 1.367879, 3.016601])
    """
    test = "np.all(y[1:] > y[:-1]) and np.all(y > 0.0)"
    loops = ("positive_ordered_of(u)", "np.sum(u)", "positive_unordered_of(y)", test)
    return Constraint(
        "positive_ordered", k, (k,), "be positive, and increase", loops, lambda u: (np.cumsum(exp(u)), np.sum(u))
    )


def break_sticks(u: ArrayValue) -> tuple[ArrayValue, Real]:
    """A simplex for each row, by the shares z_i = expit(u_i - log(k - i)) of the remaining part of 1; and the
    log-Jacobian.

    The rest after a share is a factor of all later shares, so its logarithm counts for each of them, too.
    """
    *rows, count = np.shape(u)
    counts, end = np.arange(count, 0, -1.0), np.zeros((*rows, 1))
    shifted = u - np.log(counts)
    taken, left = log_expit(shifted), log_expit(-shifted)
    before = np.concatenate([end, np.cumsum(left, axis=-1)], axis=-1)
    logs = before + np.concatenate([taken, end], axis=-1)
    return exp(logs), np.sum(taken + counts * left)


def simplex(k: int) -> Constraint:
    """k nonnegative numbers that sum to 1, by stick breaking; u = 0 gives equal numbers.

        y_i = z_i r_i,     z_i = expit(u_i - log(k - i)), r_i = 1 - y_1 - ... - y_(i-1),
        log |J| = sum_i log z_i + log(1 - z_i) + log r_i

    Domain:  every u.
    Ref:     Stan Reference Manual, unit simplex.

    >>> simplex(3).constrain(np.array([0.5, -1.0])).round(6)
    array([0.451863, 0.147417, 0.40072 ])
    """
    test = "np.all(y >= 0.0) and abs(np.sum(y) - 1.0) <= 1e-8"
    loops = ("simplex_of(u)", f"log_jacobian_of_simplices(u, {k})", "sticks_of(y)", test)
    return Constraint("simplex", k - 1, (k,), "be nonnegative, and sum to 1", loops, break_sticks)


def _zero_sum_basis(k: int) -> np.ndarray:
    """An orthonormal basis of the vectors of k numbers that sum to 0, in columns."""
    basis = np.zeros((k, k - 1))
    for j in range(1, k):
        basis[:j, j - 1], basis[j, j - 1] = 1.0, -float(j)
        basis[:, j - 1] /= math.sqrt(j * (j + 1.0))
    return basis


def sum_to_zero(m: int, n: int | None = None) -> Constraint:
    """m numbers that sum to 0; or m x n matrices whose rows and columns sum to 0, column by column.

        y = B_m u,     y = B_m u B_n^T,     B_k an orthonormal basis of k numbers that sum to 0,     log |J| = 0

    Domain:  every u.
    Ref:     Stan Reference Manual, zero sum vector and zero sum matrix.

    >>> sum_to_zero(3).constrain(np.array([0.5, -1.0])).round(6)
    array([-0.054695, -0.761802,  0.816497])
    >>> sum_to_zero(2, 3).constrain(np.array([0.5, -1.0])).round(6)
    array([[-0.038675, -0.538675,  0.57735 ],
           [ 0.038675,  0.538675, -0.57735 ]])
    """
    basis = _zero_sum_basis(m)
    if n is None:
        loops = ("zero_sum_of(u)", "0.0 * np.sum(u)", "free_of_zero_sum(y)", "abs(np.sum(y)) <= 1e-8")
        return Constraint("sum_to_zero", m - 1, (m,), "sum to 0", loops, lambda u: (matmul(basis, u), 0.0))
    other = _zero_sum_basis(n)
    test = "np.all(np.abs(np.sum(y, axis=0)) <= 1e-8) and np.all(np.abs(np.sum(y, axis=1)) <= 1e-8)"
    return Constraint(
        "sum_to_zero", (m - 1) * (n - 1), (m, n), "have rows and columns that sum to 0",
        (f"zero_sums_of(u, {m}, {n})", "0.0 * np.sum(u)", "free_of_zero_sums(y)", test),
        lambda u: (matmul(matmul(basis, np.transpose(np.reshape(u, (n - 1, m - 1)))), other.T), 0.0),
    )  # fmt: skip


def unit_vector(k: int) -> Constraint:
    """Vectors of length 1.

        y = u / |u|,     -|u|^2 / 2 in the place of log |J|, which makes the length of u proper

    `unconstrain` returns y itself.

    Domain:  u other than 0.
    Raises:  ValueError if u is 0.
    Ref:     Stan Reference Manual, unit vector.

    >>> unit_vector(2).constrain(np.array([3.0, 4.0])).round(6)
    array([0.6, 0.8])
    """

    def forward(u: ArrayValue) -> tuple[Value, Real]:
        squares = np.sum(u * u)
        if not (squares > 0.0 and squares < math.inf):
            raise ValueError("unit_vector: u must be finite and other than 0")
        return u / np.sqrt(squares), -0.5 * squares

    loops = ("u / np.sqrt(np.sum(u * u))", "-0.5 * np.sum(u * u)", "1.0 * y", "abs(np.sum(y * y) - 1.0) <= 1e-8")
    return Constraint("unit_vector", k, (k,), "have length 1", loops, forward)
