"""The transforms of matrices: stochastic matrices, Cholesky factors, correlations and covariances."""

from collections.abc import Callable

import numpy as np

from contad.ops.exponential import exp
from contad.ops.hyperbolic import tanh
from contad.ops.products import matmul
from contad.stan.constraint_bodies import log_squared_sech, place_of, weight_of
from contad.stan.transforms.constraints import Constraint
from contad.stan.transforms.vectors import break_sticks
from contad.variables.creation import zeros
from contad.variables.open_types import ArrayValue, Real, Value


def _stochastic(name: str, shape: tuple[int, int], axis: int) -> Constraint:
    count, k = shape[1 - axis], shape[axis]

    def forward(u: ArrayValue) -> tuple[Value, Real]:
        rows, log_jacobian = break_sticks(np.reshape(u, (count, k - 1)))
        return rows if axis else np.transpose(rows), log_jacobian

    turned = ".T" if axis else ""
    return Constraint(
        name, count * (k - 1), shape, f"have {'columns' if axis == 0 else 'rows'} that are simplices",
        (
            f"columns_of(u, {k}, {count}){turned}", f"log_jacobian_of_simplices(u, {k})",
            f"sticks_of_columns(y{turned})",
            f"np.all(y >= 0.0) and np.all(np.abs(np.sum(y, axis={axis}) - 1.0) <= 1e-8)",
        ),
        forward,
    )  # fmt: skip


def stochastic_column(m: int, n: int) -> Constraint:
    """m x n matrices whose columns are simplices; column by column, like `simplex`.

        y_(., j) = simplex(m).constrain(u_j),     log |J| = sum_j that of column j

    Domain:  every u.
    Ref:     Stan Reference Manual, stochastic matrix.

    >>> stochastic_column(3, 2).constrain(np.array([0.5, -1.0, 0.2, 0.7])).round(6)
    array([[0.451863, 0.379152],
           [0.147417, 0.414843],
           [0.40072 , 0.206005]])
    """
    return _stochastic("stochastic_column", (m, n), 0)


def stochastic_row(m: int, n: int) -> Constraint:
    """m x n matrices whose rows are simplices; row by row, like `simplex`.

        y_(i, .) = simplex(n).constrain(u_i),     log |J| = sum_i that of row i

    Domain:  every u.
    Ref:     Stan Reference Manual, stochastic matrix.

    >>> stochastic_row(2, 3).constrain(np.array([0.5, -1.0, 0.2, 0.7])).round(6)
    array([[0.451863, 0.147417, 0.40072 ],
           [0.379152, 0.414843, 0.206005]])
    """
    return _stochastic("stochastic_row", (m, n), 1)


# ---- factors, correlations and covariances ---------------------------------------------------------------------------
def _correlation_factor(k: int, by_columns: bool) -> Callable[[ArrayValue], tuple[ArrayValue, Real]]:
    """The Python function: the factor with the partial correlations tanh(u), and the log-Jacobian."""
    pairs = [(i, j) for i in range(k) for j in range(i)]
    pairs.sort(key=lambda pair: place_of(pair[0], pair[1], k, by_columns))
    weights = np.array([weight_of(*pair, k, by_columns) for pair in pairs])
    rows = [[place_of(i, j, k, by_columns) for j in range(i)] for i in range(1, k)]

    def forward(u: ArrayValue) -> tuple[ArrayValue, Real]:
        shares, logs = tanh(u), log_squared_sech(u)
        made = zeros((k, k))
        if k:
            made[0, 0] = 1.0
        for i, row in enumerate(rows, start=1):
            sums = np.concatenate([np.zeros(1), np.cumsum(logs[row])])
            made[i, :i] = shares[row] * exp(0.5 * sums[:-1])
            made[i, i] = exp(0.5 * sums[-1])
        return made, np.sum(weights * logs)

    return forward


def cholesky_factor_corr(k: int) -> Constraint:
    """Cholesky factors of k x k correlation matrices, row by row.

        y_ij = z_ij r_ij, y_ii = r_ii,     z = tanh(u) the partial correlations, r_ij^2 = 1 - y_i1^2 - ... - y_i(j-1)^2,
        log |J| = sum_(i > j) log(1 - z_ij^2) + log r_ij

    Domain:  every u.
    Ref:     Stan Reference Manual, Cholesky factors of correlation matrices.

    >>> cholesky_factor_corr(3).constrain(np.array([0.5, -0.3, 0.8])).round(6)
    array([[ 1.      ,  0.      ,  0.      ],
           [ 0.462117,  0.886819,  0.      ],
           [-0.291313,  0.635236,  0.715271]])
    """
    return Constraint(
        "cholesky_factor_corr", k * (k - 1) // 2, (k, k),
        "be lower triangular with a positive diagonal and rows of length 1",
        (
            f"correlation_factor_of(u, {k}, False)", f"log_jacobian_of_correlations(u, {k}, False)",
            "partial_correlations_of(y, False)", "y.size == 0 or (is_cholesky_factor(y) and has_unit_rows(y))",
        ),
        _correlation_factor(k, by_columns=False),
    )  # fmt: skip


def corr_matrix(k: int) -> Constraint:
    """k x k correlation matrices, by partial correlations, column by column.

        y = L L^T, with L as of `cholesky_factor_corr`,     log |J| = sum_(i > j) (k - j + 1) / 2 log(1 - z_ij^2)

    Domain:  every u.
    Ref:     Stan Reference Manual, correlation matrices.

    >>> corr_matrix(3).constrain(np.array([0.5, -0.3, 0.8])).round(6)
    array([[ 1.      ,  0.462117, -0.291313],
           [ 0.462117,  1.      ,  0.428719],
           [-0.291313,  0.428719,  1.      ]])
    """
    factor_of = _correlation_factor(k, by_columns=True)

    def forward(u: ArrayValue) -> tuple[Value, Real]:
        factor, log_jacobian = factor_of(u)
        return matmul(factor, factor.T), log_jacobian

    return Constraint(
        "corr_matrix", k * (k - 1) // 2, (k, k), "be symmetric and positive definite, with ones on the diagonal",
        (
            f"correlations_of(u, {k})", f"log_jacobian_of_correlations(u, {k}, True)",
            "partial_correlations_of(cholesky(y), True)", "has_unit_diagonal(y) and is_symmetric(y)",
        ),
        forward,
    )  # fmt: skip


def cholesky_factor_cov(m: int, n: int | None = None) -> Constraint:
    """m x n lower triangular matrices with a positive diagonal, n <= m.

        y_ii = e^u, y_ij = u below the diagonal,     log |J| = the sum of the u of the diagonal

    Domain:  every u.
    Raises:  ValueError if n > m.
    Ref:     Stan Reference Manual, Cholesky factors of covariance matrices.

    >>> cholesky_factor_cov(2).constrain(np.array([0.5, 1.0, -0.5])).round(6)
    array([[1.648721, 0.      ],
           [1.      , 0.606531]])
    """
    columns = m if n is None else n
    if columns > m:
        raise ValueError(f"cholesky_factor_cov: a factor has no more columns than rows, got n={n} and m={m}")
    size = columns * (columns + 1) // 2 + (m - columns) * columns

    loops = (
        f"factor_of(u, {m}, {columns})", f"log_jacobian_of_factor(u, {m}, {columns})", "free_of_factor(y)",
        "y.size == 0 or is_cholesky_factor(y)",
    )  # fmt: skip
    expected = "be lower triangular with a positive diagonal"
    return Constraint("cholesky_factor_cov", size, (m, columns), expected, loops)


def cov_matrix(k: int) -> Constraint:
    """k x k covariance matrices.

        y = L L^T, with L as of `cholesky_factor_cov`,
        log |J| = k log 2 + sum_i (k - i + 2) u_i, of the u_i on the diagonal, i = 1, ..., k

    Domain:  every u.
    Ref:     Stan Reference Manual, covariance matrices.

    >>> cov_matrix(2).constrain(np.array([0.5, 1.0, -0.5])).round(6)
    array([[2.718282, 1.648721],
           [1.648721, 1.367879]])
    """
    loops = (
        f"covariance_of(u, {k})", f"log_jacobian_of_covariance(u, {k})", "free_of_factor(cholesky(y))",
        "is_symmetric(y)",
    )  # fmt: skip
    return Constraint("cov_matrix", k * (k + 1) // 2, (k, k), "be symmetric and positive definite", loops)
