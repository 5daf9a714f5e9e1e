"""The transforms of matrices: stochastic matrices, Cholesky factors, correlations and covariances."""

from contad.stan.transforms.constraints import Constraint


def stochastic_column(m: int, n: int, stan_version: str = "2.37") -> Constraint:
    """m x n matrices whose columns are simplices, of m - 1 x n numbers, column by column.

        y_(., j) = simplex(m).constrain(u_(., j)),     log |J| = sum_j that of column j

    Domain:  every u.
    Ref:     Stan Reference Manual, stochastic matrix.

    >>> stochastic_column(3, 2).constrain([0.5, -1.0, 0.2, 0.7]).round(6)
    array([[0.257544, 0.471258],
           [0.126987, 0.355158],
           [0.615468, 0.173584]])
    """
    return Constraint("stochastic_column", (m, n), (m - 1, n)).of_version(stan_version)


def stochastic_row(m: int, n: int, stan_version: str = "2.37") -> Constraint:
    """m x n matrices whose rows are simplices, of m x n - 1 numbers, column by column.

        y_(i, .) = simplex(n).constrain(u_(i, .)),     log |J| = sum_i that of row i

    Domain:  every u.
    Ref:     Stan Reference Manual, stochastic matrix.

    >>> stochastic_row(2, 3).constrain([0.5, -1.0, 0.2, 0.7]).round(6)
    array([[0.489547, 0.241381, 0.269072],
           [0.167398, 0.688551, 0.14405 ]])
    """
    return Constraint("stochastic_row", (m, n), (m, n - 1)).of_version(stan_version)


# ---- factors, correlations and covariances ---------------------------------------------------------------------------
def cholesky_factor_corr(k: int) -> Constraint:
    """Cholesky factors of k x k correlation matrices, row by row.

        y_ij = z_ij r_ij, y_ii = r_ii,     z = tanh(u) the partial correlations, r_ij^2 = 1 - y_i1^2 - ... - y_i(j-1)^2,
        log |J| = sum_(i > j) log(1 - z_ij^2) + log r_ij

    Domain:  every u.
    Ref:     Stan Reference Manual, Cholesky factors of correlation matrices.

    >>> cholesky_factor_corr(3).constrain([0.5, -0.3, 0.8]).round(6)
    array([[ 1.      ,  0.      ,  0.      ],
           [ 0.462117,  0.886819,  0.      ],
           [-0.291313,  0.635236,  0.715271]])
    """
    return Constraint("cholesky_factor_corr", (k, k), (k * (k - 1) // 2,), (k,))


def corr_matrix(k: int) -> Constraint:
    """k x k correlation matrices, by partial correlations, column by column.

        y = L L^T, with L as of `cholesky_factor_corr`,     log |J| = sum_(i > j) (k - j + 1) / 2 log(1 - z_ij^2)

    Domain:  every u.
    Ref:     Stan Reference Manual, correlation matrices.

    >>> corr_matrix(3).constrain([0.5, -0.3, 0.8]).round(6)
    array([[ 1.      ,  0.462117, -0.291313],
           [ 0.462117,  1.      ,  0.428719],
           [-0.291313,  0.428719,  1.      ]])
    """
    return Constraint("corr_matrix", (k, k), (k * (k - 1) // 2,), (k,))


def cholesky_factor_cov(m: int, n: int | None = None) -> Constraint:
    """m x n lower triangular matrices with a positive diagonal, n <= m.

        y_ii = e^u, y_ij = u below the diagonal,     log |J| = the sum of the u of the diagonal

    Domain:  every u.
    Raises:  ValueError if n > m.
    Ref:     Stan Reference Manual, Cholesky factors of covariance matrices.

    >>> cholesky_factor_cov(2).constrain([0.5, 1.0, -0.5]).round(6)
    array([[1.648721, 0.      ],
           [1.      , 0.606531]])
    """
    columns = m if n is None else n
    if columns > m:
        raise ValueError(f"cholesky_factor_cov: a factor has no more columns than rows, got n={n} and m={m}")
    size = columns * (columns + 1) // 2 + (m - columns) * columns
    return Constraint("cholesky_factor_cov", (m, columns), (size,), (m, columns))


def cov_matrix(k: int) -> Constraint:
    """k x k covariance matrices.

        y = L L^T, with L as of `cholesky_factor_cov`,
        log |J| = k log 2 + sum_i (k - i + 2) u_i, of the u_i on the diagonal, i = 1, ..., k

    Domain:  every u.
    Ref:     Stan Reference Manual, covariance matrices.

    >>> cov_matrix(2).constrain([0.5, 1.0, -0.5]).round(6)
    array([[2.718282, 1.648721],
           [1.648721, 1.367879]])
    """
    return Constraint("cov_matrix", (k, k), (k * (k + 1) // 2,), (k,))
