"""Covariances, correlations and powers of samples, as bodies for compiled engines, like those of `array_loops`.

Values and errors are those of Numba's own functions, which differ from NumPy's: Numba refuses the covariance of a
matrix with one row, and has no weights.
"""

import numpy as np

from contad.rules.compilable import loop_body

zeros = np.zeros  # engines that differentiate elements substitute their own
_COV = "m, y=None, rowvar=True, bias=False, ddof=None"
_CORRCOEF = "x, y=None, rowvar=True"


# ---- samples ---------------------------------------------------------------------------------------------------------
def _require_rows(m):  # type: ignore[no-untyped-def]
    if m.shape[0] == 1:
        raise RuntimeError(
            "2D array containing a single row is unsupported due to ambiguity in type inference. To use numpy.cov in "
            "this case simply pass the row as a 1D array, i.e. m[0]."
        )


def _as_rows(m, in_rows):  # type: ignore[no-untyped-def]
    """The variables as rows."""
    count, size = m.shape
    made = zeros((count if in_rows else size, size if in_rows else count))
    for i in range(count):
        for k in range(size):
            if in_rows:
                made[i, k] = m[i, k]
            else:
                made[k, i] = m[i, k]
    return made


def _join_rows(m, y, rowvar):  # type: ignore[no-untyped-def]
    """The variables of both as rows, those of y below; a single row stays a row whatever `rowvar` says."""
    first, second = _as_rows(m, rowvar or m.shape[0] == 1), _as_rows(y, rowvar or y.shape[0] == 1)
    if first.shape[1] != second.shape[1]:
        raise ValueError("m and y have incompatible dimensions")
    count = first.shape[0]
    made = zeros((count + second.shape[0], first.shape[1]))
    for k in range(first.shape[1]):
        for i in range(count):
            made[i, k] = first[i, k]
        for i in range(second.shape[0]):
            made[count + i, k] = second[i, k]
    return made


def _row(a):  # type: ignore[no-untyped-def]
    """A vector as a matrix of one row."""
    return a.copy().reshape((1, a.size))


def _require_whole(ddof):  # type: ignore[no-untyped-def]
    if ddof - ddof != 0:
        raise ValueError("Cannot convert non-finite ddof to integer")
    if ddof - int(ddof) != 0:
        raise ValueError("ddof must be integral value")


# ---- covariances -----------------------------------------------------------------------------------------------------
def _covariances(x, ddof):  # type: ignore[no-untyped-def]
    """Covariances of the rows of x, over its columns."""
    count, size = x.shape
    if count == 0 or size == 0:
        made = zeros((count, count))
        for i in range(count):
            for j in range(count):
                made[i, j] = np.nan
        return made
    centred = zeros((count, size))
    for i in range(count):
        total = 0.0
        for k in range(size):
            total = total + x[i, k]
        mean = total / size
        for k in range(size):
            centred[i, k] = x[i, k] - mean
    factor = np.divide(1.0, max(float(size - ddof), 0.0))
    return np.dot(centred, centred.T) * factor


@loop_body(np.cov, _COV, 2)
@loop_body(np.cov, _COV, 2, None, 0)
@loop_body(np.cov, _COV, 2, None, 0, 0)
def _cov(m, y=None, rowvar=True, bias=False):  # type: ignore[no-untyped-def]
    _require_rows(m)
    return _covariances(_as_rows(m, rowvar), 0 if bias else 1)


@loop_body(np.cov, _COV, 2, None, 0, 0, 0)
def _cov_with_freedom(m, y, rowvar, bias, ddof):  # type: ignore[no-untyped-def]
    _require_rows(m)
    _require_whole(ddof)
    return _covariances(_as_rows(m, rowvar), ddof)


@loop_body(np.cov, _COV, 2, 2)
@loop_body(np.cov, _COV, 2, 2, 0)
@loop_body(np.cov, _COV, 2, 2, 0, 0)
def _cov_of_two(m, y, rowvar=True, bias=False):  # type: ignore[no-untyped-def]
    _require_rows(m)
    return _covariances(_join_rows(m, y, rowvar), 0 if bias else 1)


@loop_body(np.cov, _COV, 2, 1)
@loop_body(np.cov, _COV, 2, 1, 0)
@loop_body(np.cov, _COV, 2, 1, 0, 0)
def _cov_with_vector(m, y, rowvar=True, bias=False):  # type: ignore[no-untyped-def]
    return _cov_of_two(m, _row(y), rowvar, bias)


@loop_body(np.cov, _COV, 1, 2)
@loop_body(np.cov, _COV, 1, 2, 0)
@loop_body(np.cov, _COV, 1, 2, 0, 0)
def _cov_of_vector_with(m, y, rowvar=True, bias=False):  # type: ignore[no-untyped-def]
    return _covariances(_join_rows(_row(m), y, rowvar), 0 if bias else 1)


@loop_body(np.cov, _COV, 1, 1)
@loop_body(np.cov, _COV, 1, 1, 0)
@loop_body(np.cov, _COV, 1, 1, 0, 0)
def _cov_of_vectors(m, y, rowvar=True, bias=False):  # type: ignore[no-untyped-def]
    return _covariances(_join_rows(_row(m), _row(y), True), 0 if bias else 1)


@loop_body(np.cov, _COV, 2, 2, 0, 0, 0)
def _cov_of_two_with_freedom(m, y, rowvar, bias, ddof):  # type: ignore[no-untyped-def]
    _require_rows(m)
    _require_whole(ddof)
    return _covariances(_join_rows(m, y, rowvar), ddof)


@loop_body(np.cov, _COV, 2, 1, 0, 0, 0)
def _cov_with_vector_and_freedom(m, y, rowvar, bias, ddof):  # type: ignore[no-untyped-def]
    return _cov_of_two_with_freedom(m, _row(y), rowvar, bias, ddof)


@loop_body(np.cov, _COV, 1, 2, 0, 0, 0)
def _cov_of_vector_with_and_freedom(m, y, rowvar, bias, ddof):  # type: ignore[no-untyped-def]
    _require_whole(ddof)
    return _covariances(_join_rows(_row(m), y, rowvar), ddof)


@loop_body(np.cov, _COV, 1, 1, 0, 0, 0)
def _cov_of_vectors_with_freedom(m, y, rowvar, bias, ddof):  # type: ignore[no-untyped-def]
    _require_whole(ddof)
    return _covariances(_join_rows(_row(m), _row(y), True), ddof)


def _variance(m, ddof):  # type: ignore[no-untyped-def]
    """The variance of a vector."""
    size = m.size
    total = 0.0
    for k in range(size):
        total = total + m[k]
    mean = np.divide(total, float(size))
    squares = 0.0
    for k in range(size):
        squares = squares + (m[k] - mean) * (m[k] - mean)
    return squares * np.divide(1.0, max(float(size - ddof), 0.0))


@loop_body(np.cov, _COV, 1)
@loop_body(np.cov, _COV, 1, None, 0)
@loop_body(np.cov, _COV, 1, None, 0, 0)
def _cov_of_vector(m, y=None, rowvar=True, bias=False):  # type: ignore[no-untyped-def]
    return _cov_of_vector_with_freedom(m, None, rowvar, bias, 0 if bias else 1)


@loop_body(np.cov, _COV, 1, None, 0, 0, 0)
def _cov_of_vector_with_freedom(m, y, rowvar, bias, ddof):  # type: ignore[no-untyped-def]
    """Numba returns an array without axes; without `rowvar` each number is a separate variable, and Numba returns one
    of them."""
    return np.array(_variance(m if rowvar else m[:1], ddof))


# ---- correlations ----------------------------------------------------------------------------------------------------
def _correlations(c):  # type: ignore[no-untyped-def]
    """Covariances over both deviations, clipped to the interval from -1 to 1."""
    n = c.shape[0]
    deviations = zeros(n)
    for i in range(n):
        deviations[i] = np.sqrt(c[i, i])
    made = zeros((n, n))
    for i in range(n):
        for j in range(n):
            z = np.divide(np.divide(c[i, j], deviations[max(i, j)]), deviations[min(i, j)])
            made[i, j] = np.sign(z) if abs(z) > 1.0 else z
    return made


@loop_body(np.corrcoef, _CORRCOEF, 1)
def _corrcoef_of_vector(x):  # type: ignore[no-untyped-def]
    variance = _variance(x, 1)
    return np.divide(variance, variance)


@loop_body(np.corrcoef, _CORRCOEF, 2)
@loop_body(np.corrcoef, _CORRCOEF, 2, None, 0)
def _corrcoef(x, y=None, rowvar=True):  # type: ignore[no-untyped-def]
    return _correlations(_cov(x, None, rowvar, False))


@loop_body(np.corrcoef, _CORRCOEF, 2, 2)
@loop_body(np.corrcoef, _CORRCOEF, 2, 2, 0)
def _corrcoef_of_two(x, y, rowvar=True):  # type: ignore[no-untyped-def]
    return _correlations(_cov_of_two(x, y, rowvar, False))


@loop_body(np.corrcoef, _CORRCOEF, 2, 1)
@loop_body(np.corrcoef, _CORRCOEF, 2, 1, 0)
def _corrcoef_with_vector(x, y, rowvar=True):  # type: ignore[no-untyped-def]
    return _correlations(_cov_with_vector(x, y, rowvar, False))


@loop_body(np.corrcoef, _CORRCOEF, 1, 2)
@loop_body(np.corrcoef, _CORRCOEF, 1, 2, 0)
def _corrcoef_of_vector_with(x, y, rowvar=True):  # type: ignore[no-untyped-def]
    return _correlations(_cov_of_vector_with(x, y, rowvar, False))


@loop_body(np.corrcoef, _CORRCOEF, 1, 1)
@loop_body(np.corrcoef, _CORRCOEF, 1, 1, 0)
def _corrcoef_of_vectors(x, y, rowvar=True):  # type: ignore[no-untyped-def]
    return _correlations(_cov_of_vectors(x, y, rowvar, False))


# ---- powers ----------------------------------------------------------------------------------------------------------
@loop_body(np.vander, "x, N=None, increasing=False", 1)
def _vander(x):  # type: ignore[no-untyped-def]
    return _vander_of(x, len(x), False)


@loop_body(np.vander, "x, N=None, increasing=False", 1, None, 0)
def _square_vander(x, N, increasing):  # type: ignore[no-untyped-def]
    return _vander_of(x, len(x), increasing)


@loop_body(np.vander, "x, N=None, increasing=False", 1, 0)
@loop_body(np.vander, "x, N=None, increasing=False", 1, 0, 0)
def _vander_of(x, N, increasing=False):  # type: ignore[no-untyped-def]
    if N < 0:
        raise ValueError("Negative dimensions are not allowed")
    made = zeros((len(x), N))
    for i in range(len(x)):
        power = 1.0
        for j in range(N):
            made[i, j if increasing else N - 1 - j] = power
            power = power * x[i]
    return made
