"""Densities of vectors and matrices from `scipy.stats`, with SciPy's names and arguments, on variables.

Each has `logpdf` and `pdf`, or `logpmf` and `pmf`, differentiable in every argument that is not a count. Covariances
and scale matrices are symmetric: for variables the lower triangle is read, and its derivative is the sum of both. If
nothing is a variable, SciPy's own functions are called; `categorical` and `lkj`, which SciPy lacks, are Stan's.
"""

from typing import Any

import numpy as np

from contad.distributions.positive_line import inv_gamma_log_density
from contad.distributions.real_line import normal_log_density
from contad.distributions.vector_docstrings import describe_vectors
from contad.errors import UnsupportedError
from contad.ops._scipy import stats
from contad.ops.exponential import log1p
from contad.ops.triangular_factors import cholesky_factor
from contad.scipy import vector_densities as densities
from contad.scipy.mirroring import as_one
from contad.variables.array import numbers_in
from contad.variables.number import observe
from contad.variables.open_types import ArrayValue, Function, Option, Value


class MultivariateDistribution:
    """The functions of one distribution; `log` is the logarithm of its density or mass."""

    def __init__(self, name: str, log: Function, kind: str = "pdf", in_scipy: bool = True) -> None:
        self.name, self.__doc__ = name, describe_vectors(name, f"log{kind}")

        def call(method: str, transform: Function) -> Function:
            def evaluate(*args: Value, **options: Option) -> Value:
                if in_scipy and not any(map(numbers_in, args)) and not any(map(numbers_in, options.values())):
                    return getattr(getattr(stats(), name), method)(*args, **options)
                return transform(log(*args, **options))

            evaluate.__name__, evaluate.__doc__ = method, describe_vectors(name, method)
            evaluate.__qualname__, evaluate.__module__ = f"{name}.{method}", __name__
            return evaluate

        setattr(self, f"log{kind}", call(f"log{kind}", lambda z: z))
        setattr(self, kind, call(kind, np.exp))

    def __repr__(self) -> str:
        return f"<contad.scipy.stats.{self.name}>"


def _fail(name: str, what: str) -> ValueError:
    return ValueError(f"contad.scipy.stats.{name}: {what}")


def _matrix(name: str, argument: str, a: ArrayValue, size: int | None) -> ArrayValue:
    """A covariance given as a matrix, its diagonal, or one number."""
    a = as_one(1.0 if a is None else a)
    if np.ndim(a) == 0:
        a = a * np.eye(1 if size is None else size)
    elif np.ndim(a) == 1:
        a = a[:, None] * np.eye(np.shape(a)[0])
    if np.ndim(a) != 2 or np.shape(a)[0] != np.shape(a)[1] or (size is not None and np.shape(a)[0] != size):
        what = "square" if size is None else f"of shape ({size}, {size})"
        raise _fail(name, f"{argument} must be {what}, got shape {np.shape(a)}")
    return a


def _factor(name: str, argument: str, a: ArrayValue) -> ArrayValue:
    try:
        return cholesky_factor(a)
    except np.linalg.LinAlgError:
        raise _fail(name, f"{argument} must be positive definite on variables") from None


def _rows(name: str, x: ArrayValue, size: int) -> tuple[ArrayValue, tuple[int, ...]]:
    """Vectors as rows (n, size), and the shape of the result."""
    x = as_one(x)
    if np.ndim(x) == 0 or (size == 1 and np.ndim(x) == 1):
        x = np.reshape(x, (*np.shape(x), 1))
    if np.shape(x)[-1] != size:
        raise _fail(name, f"x must have {size} elements in its last axis, got shape {np.shape(x)}")
    return np.reshape(x, (-1, size)), np.shape(x)[:-1]


def _in_shape(z: ArrayValue, shape: tuple[int, ...]) -> Value:
    return np.reshape(z, shape) if shape else np.reshape(z, (-1,))[0]


def _size_of(mean: ArrayValue, cov: ArrayValue, x: ArrayValue) -> int:
    """The number of dimensions, from the first argument that determines it."""
    if mean is not None and np.ndim(mean):
        return int(np.shape(mean)[0])
    if cov is not None and np.ndim(cov):
        return int(np.shape(cov)[0])
    return int(np.shape(x)[-1]) if np.ndim(x) > 1 and mean is None else 1


# ---- vectors ---------------------------------------------------------------------------------------------------------
def _normal(x: ArrayValue, mean: ArrayValue = None, cov: ArrayValue = 1, allow_singular: bool = False) -> Value:
    name = "multivariate_normal"
    if allow_singular:
        raise UnsupportedError(f"contad.scipy.stats.{name}: allow_singular=True is not supported on variables")
    x = as_one(x)
    size = _size_of(mean, cov, x)
    factor = _factor(name, "cov", _matrix(name, "cov", cov, size))
    rows, shape = _rows(name, x, size)
    squares = densities.squared_lengths(rows if mean is None else rows - as_one(mean), factor)
    return _in_shape(densities.normal_of_squares(squares, densities.log_diagonal(factor), size), shape)


def _student(
    x: ArrayValue, loc: ArrayValue = None, shape: ArrayValue = 1, df: Value = 1, allow_singular: bool = False
) -> Value:
    name = "multivariate_t"
    if allow_singular:
        raise UnsupportedError(f"contad.scipy.stats.{name}: allow_singular=True is not supported on variables")
    x = as_one(x)
    size = _size_of(loc, shape, x)
    if not df > 0.0:
        raise _fail(name, f"df must be positive, got {observe(float, df)}")
    factor = _factor(name, "shape", _matrix(name, "shape", shape, size))
    rows, axes = _rows(name, x, size)
    rows = rows if loc is None else rows - as_one(loc)
    squares, logs = densities.squared_lengths(rows, factor), densities.log_diagonal(factor)
    if df == np.inf:
        return _in_shape(densities.normal_of_squares(squares, logs, size), axes)
    return _in_shape(densities.student_of_logs(log1p(squares / df), logs, df, float(size)), axes)


def _dirichlet(x: ArrayValue, alpha: ArrayValue) -> Value:
    name = "dirichlet"
    x, alpha = as_one(x), as_one(alpha)
    k = np.size(alpha)
    if np.ndim(alpha) != 1 or not np.all(alpha > 0.0):
        raise _fail(name, "alpha must be a vector of positive numbers")
    if np.shape(x)[0] == k - 1:
        x = np.concatenate([x, (1.0 - np.sum(x, axis=0))[None]], axis=0)
    if np.shape(x)[0] != k:
        raise _fail(name, f"x must have {k} or {k - 1} rows, got shape {np.shape(x)}")
    if np.any(x < 0.0) or np.any(np.abs(np.sum(x, axis=0) - 1.0) > 1e-9):
        raise _fail(name, "x must be points of a simplex: nonnegative, with sum 1")
    return densities.dirichlet_of_columns(x, alpha)


def _counts(name: str, x: ArrayValue, n: ArrayValue) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts and their sums, and a mask of invalid ones."""
    if numbers_in(x) or numbers_in(n):
        raise UnsupportedError(f"contad.scipy.stats.{name}: x and n must be constants; contad.value_of gives values")
    x, n = np.asarray(x, dtype=np.float64), np.asarray(n, dtype=np.float64)
    wrong = np.any((x < 0.0) | (x != np.floor(x)), axis=-1) | (np.sum(x, axis=-1) != n)
    return x, n, wrong


def _multinomial(x: ArrayValue, n: ArrayValue, p: ArrayValue) -> Value:
    x, n, wrong = _counts("multinomial", x, n)
    p = as_one(p)
    bad = np.any(p < 0.0, axis=-1) | (np.abs(np.sum(p, axis=-1) - 1.0) > 1e-9)
    z = densities.multinomial_of_rows(x, n, p)
    return np.where(bad, np.nan, np.where(wrong, -np.inf, z))[()]


def _dirichlet_multinomial(x: ArrayValue, alpha: ArrayValue, n: ArrayValue) -> Value:
    name = "dirichlet_multinomial"
    x, n, wrong = _counts(name, x, n)
    alpha = as_one(alpha)
    if not np.all(alpha > 0.0):
        raise _fail(name, "alpha must be positive")
    z = densities.dirichlet_multinomial_of_rows(x, n, alpha)
    return np.where(wrong, -np.inf, z)[()]


def _categorical(k: ArrayValue, p: ArrayValue) -> Value:
    name = "categorical"
    if numbers_in(k):
        raise UnsupportedError(f"contad.scipy.stats.{name}: k must be constants; contad.value_of gives values")
    k, p = np.asarray(k, dtype=np.float64), as_one(p)
    if np.ndim(p) == 0:
        raise _fail(name, "p must have an axis, of the probabilities of the categories")
    count, shape = np.shape(p)[-1], np.broadcast_shapes(k.shape, np.shape(p)[:-1])
    bad = np.any(p < 0.0, axis=-1) | (np.abs(np.sum(p, axis=-1) - 1.0) > 1e-9)
    wrong = (k < 0.0) | (k >= count) | (k != np.floor(k))
    places = np.broadcast_to(np.where(wrong, 0.0, k).astype(np.int64), shape)
    z = densities.categorical_of_rows(places, np.broadcast_to(p, (*shape, count)))
    return np.where(bad, np.nan, np.where(wrong, -np.inf, z))[()]


# ---- matrices --------------------------------------------------------------------------------------------------------
def _wishart_factors(
    name: str, x: ArrayValue, df: Value, scale: ArrayValue
) -> tuple[ArrayValue, ArrayValue]:
    scale = _matrix(name, "scale", scale, None)
    size = np.shape(scale)[0]
    if not df > size - 1:
        raise _fail(name, f"df must be greater than {size - 1}, the size of the matrix less 1")
    x = as_one(x)
    if np.ndim(x) > 2:
        raise UnsupportedError(
            f"contad.scipy.stats.{name}: on variables x is one matrix, got shape {np.shape(x)}; call it for each"
        )
    return _factor(name, "x", _matrix(name, "x", x, size)), _factor(name, "scale", scale)


def _wishart(x: ArrayValue, df: Value, scale: ArrayValue) -> Value:
    factor, scale_factor = _wishart_factors("wishart", x, df, scale)
    return densities.wishart_of_factors(factor, scale_factor, df)


def _inverse_wishart(x: ArrayValue, df: Value, scale: ArrayValue) -> Value:
    factor, scale_factor = _wishart_factors("invwishart", x, df, scale)
    return densities.inverse_wishart_of_factors(factor, scale_factor, df)


def _lkj(x: ArrayValue, eta: Value) -> Value:
    name = "lkj"
    x, eta = as_one(x), as_one(eta)
    if np.ndim(x) < 2 or np.shape(x)[-2] != np.shape(x)[-1]:
        raise _fail(name, f"x must be square, got shape {np.shape(x)}")
    if np.ndim(eta) != 0 or not np.all(eta > 0.0):
        raise _fail(name, "eta must be one positive number")
    if np.any(np.abs(np.diagonal(x, axis1=-2, axis2=-1) - 1.0) > 1e-8):
        raise _fail(name, "x must be a correlation matrix, with a diagonal of 1")
    stack = np.reshape(x, (-1, *np.shape(x)[-2:]))
    factors = [_factor(name, "x", stack[i]) for i in range(np.shape(stack)[0])]
    found = [densities.lkj_of_determinant(2.0 * densities.log_diagonal(f), eta, np.shape(x)[-1]) for f in factors]
    return _in_shape(np.stack(found), np.shape(x)[:-2])


def _of_matrices(
    name: str, density: Function, X: ArrayValue, mean: ArrayValue, rows: tuple[str, ArrayValue],
    columns: tuple[str, ArrayValue], *more: Value,
) -> Value:  # fmt: skip
    """A density of each matrix of a stack, from two positive definite matrices with the names of their arguments."""
    x = as_one(X)
    if np.ndim(x) < 2:
        raise _fail(name, f"X must be a matrix or a stack of matrices, got shape {np.shape(x)}")
    x = x if mean is None else x - as_one(mean)
    factors = [
        _factor(name, argument, _matrix(name, argument, a, np.shape(x)[axis]))
        for axis, (argument, a) in ((-2, rows), (-1, columns))
    ]
    stack = np.reshape(x, (-1, *np.shape(x)[-2:]))
    found = [density(stack[k], *factors, *more) for k in range(np.shape(stack)[0])]
    return _in_shape(np.stack(found), np.shape(x)[:-2])


def _matrix_normal(X: ArrayValue, mean: ArrayValue = None, rowcov: ArrayValue = 1, colcov: ArrayValue = 1) -> Value:
    of_matrix = densities.matrix_normal_of_matrix
    return _of_matrices("matrix_normal", of_matrix, X, mean, ("rowcov", rowcov), ("colcov", colcov))


def _matrix_t(
    X: ArrayValue, mean: ArrayValue = None, row_spread: ArrayValue = 1, col_spread: ArrayValue = 1, df: Value = 1
) -> Value:
    name = "matrix_t"
    if not df > 0.0:
        raise _fail(name, f"df must be positive, got {observe(float, df)}")
    rows, columns = ("row_spread", row_spread), ("col_spread", col_spread)
    return _of_matrices(name, densities.matrix_t_of_matrix, X, mean, rows, columns, df)


# ---- directions, and a number with its variance ----------------------------------------------------------------------
def _fisher(x: ArrayValue, mu: ArrayValue = None, kappa: Value = 1) -> Value:
    name = "vonmises_fisher"
    x, mu = as_one(x), as_one(mu)
    size = np.size(mu)
    if np.ndim(mu) != 1 or size < 2 or abs(np.sum(mu * mu) - 1.0) > 1e-5:
        raise _fail(name, "mu must be a vector of length 1, of at least two elements")
    if np.ndim(kappa) or not kappa > 0.0:
        raise _fail(name, "kappa must be one positive number")
    if np.shape(x)[-1] != size or np.any(np.abs(np.sum(x * x, axis=-1) - 1.0) > 1e-5):
        raise _fail(name, f"x must be vectors of length 1, of {size} elements")
    return densities.fisher_of_cosines(np.sum(x * mu, axis=-1), kappa, size)


def _normal_inverse_gamma(
    x: ArrayValue, s2: ArrayValue, mu: ArrayValue = 0.0, lmbda: ArrayValue = 1.0, a: ArrayValue = 1.0,
    b: ArrayValue = 1.0,
) -> Value:  # fmt: skip
    x, s2, mu, lmbda = as_one(x), as_one(s2), as_one(mu), as_one(lmbda)
    inside = np.where(s2 > 0.0, s2, 1.0)
    found = normal_log_density(x, mu, np.sqrt(inside / lmbda)) + inv_gamma_log_density(inside, as_one(a), as_one(b))
    return np.where(s2 > 0.0, found, np.where(np.isnan(found), np.nan, -np.inf))[()]


multivariate_normal: Any = MultivariateDistribution("multivariate_normal", _normal)
multivariate_t: Any = MultivariateDistribution("multivariate_t", _student)
dirichlet: Any = MultivariateDistribution("dirichlet", _dirichlet)
categorical: Any = MultivariateDistribution("categorical", _categorical, "pmf", in_scipy=False)
multinomial: Any = MultivariateDistribution("multinomial", _multinomial, "pmf")
dirichlet_multinomial: Any = MultivariateDistribution("dirichlet_multinomial", _dirichlet_multinomial, "pmf")
wishart: Any = MultivariateDistribution("wishart", _wishart)
invwishart: Any = MultivariateDistribution("invwishart", _inverse_wishart)
lkj: Any = MultivariateDistribution("lkj", _lkj, in_scipy=False)
matrix_normal: Any = MultivariateDistribution("matrix_normal", _matrix_normal)
matrix_t: Any = MultivariateDistribution("matrix_t", _matrix_t, in_scipy=False)  # which older ones have not
vonmises_fisher: Any = MultivariateDistribution("vonmises_fisher", _fisher)
normal_inverse_gamma: Any = MultivariateDistribution("normal_inverse_gamma", _normal_inverse_gamma, in_scipy=False)


# ---- kernel densities ------------------------------------------------------------------------------------------------
class gaussian_kde:
    """The mean of normal densities at data; data, weights and points may be variables.

        f(x) = sum_i w_i normal(x | x_i, h^2 C), with C the covariance of the data x_i

    bw_method sets the factor h: "scott", "silverman", a number, or a function of the object.

    Shapes:  data (n,) or (d, n), weights (n,), points (m,) or (d, m).
    Domain:  data that span d dimensions, weights >= 0.
    Cost:    O(d n m), with one array of n m numbers for each dimension.
    Ref:     Silverman (1986), chapter 4; Scott (2015), chapter 6.

    >>> float(round(gaussian_kde([0.0, 1.0, 3.0]).logpdf(0.5)[0], 6))
    -1.545685
    """

    def __init__(self, dataset: ArrayValue, bw_method: Any = None, weights: ArrayValue = None) -> None:
        data = as_one(dataset)
        data = np.reshape(data, (1, -1)) if np.ndim(data) < 2 else data
        self.d, self.n = np.shape(data)
        if np.size(data) < 2:
            raise ValueError("`dataset` input should have multiple elements.")
        w = np.full(self.n, 1.0 / self.n) if weights is None else as_one(weights)
        if np.shape(w) != (self.n,):
            raise ValueError("`weights` input should be of length n")
        self.dataset, self.weights = data, w / np.sum(w)
        self.neff = densities.effective_size(self.weights)
        kind = "scott" if bw_method is None else bw_method
        if isinstance(kind, str):
            if kind not in ("scott", "silverman"):
                raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar or a callable.")
            self.factor = densities.bandwidth(self.neff, self.d, kind)
        else:
            self.factor = kind(self) if callable(kind) else kind
        try:
            self.cho_cov = densities.kernel_factor(self.dataset, self.weights, self.factor)
        except np.linalg.LinAlgError:
            raise np.linalg.LinAlgError(
                "contad.scipy.stats.gaussian_kde: the data appear to lie in a lower-dimensional subspace"
            ) from None

    @property
    def covariance(self) -> ArrayValue:
        """The covariance of each of the normal densities."""
        return np.matmul(self.cho_cov, np.transpose(self.cho_cov))

    def logpdf(self, x: ArrayValue) -> ArrayValue:
        """The logarithm of the density.

            log sum_i w_i normal(x | x_i, h^2 C)

        Shapes:  x (m,) or (d, m) -> (m,).
        Domain:  every x.
        Ref:     Silverman (1986), chapter 4.

        >>> gaussian_kde([0.0, 1.0, 3.0]).logpdf([0.5, 2.0]).round(6)
        array([-1.545685, -1.69165 ])
        """
        points = as_one(x)
        points = np.reshape(points, (1, -1)) if np.ndim(points) < 2 else points
        if np.shape(points)[0] != self.d:
            if np.shape(points) != (1, self.d):
                raise ValueError(f"points have dimension {np.shape(points)[0]}, dataset has dimension {self.d}")
            points = np.reshape(points, (self.d, 1))
        return densities.kernel_log_densities(points, self.dataset, self.weights, self.cho_cov)

    def evaluate(self, points: ArrayValue) -> ArrayValue:
        """The density.

            sum_i w_i normal(x | x_i, h^2 C)

        Shapes:  points (m,) or (d, m) -> (m,).
        Domain:  every x.
        Ref:     Silverman (1986), chapter 4.

        >>> gaussian_kde([0.0, 1.0, 3.0]).pdf([0.5, 2.0]).round(6)
        array([0.213166, 0.184215])
        """
        return np.exp(self.logpdf(points))

    __call__ = pdf = evaluate
