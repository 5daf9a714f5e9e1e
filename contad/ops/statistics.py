"""Covariances and correlations of samples."""

import warnings

import numpy as np

from contad.errors import UnsupportedError
from contad.ops.linear_systems import transposed_of
from contad.ops.products import as_array, matmul
from contad.rules.numpy_functions import implements
from contad.variables.complex_pair import as_complex, is_complex
from contad.variables.dtypes import dtype_beside, require_float64
from contad.variables.number import Carrier, map_numbers, primal


def as_rows(name, x, rowvar):
    """The variables of x as rows."""
    x = as_array(x)
    if np.ndim(x) > 2:
        raise ValueError(f"{name} has more than 2 dimensions")
    rows = np.reshape(x, (1, -1)) if np.ndim(x) < 2 else x
    return rows if rowvar or np.shape(rows)[0] == 1 else transposed_of(rows)


def observations(m, y, rowvar):
    """The variables as rows: those of m, and those of y below."""
    x = as_rows("m", m, rowvar)
    if not rowvar and np.ndim(m) == 2 and np.shape(m)[0] == 1:  # NumPy transposes one row of m, but not of y
        x = transposed_of(x)
    return x if y is None else np.concatenate([x, as_rows("y", y, rowvar)], axis=0)


@implements(np.cov, layout="own")
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """Covariances of variables in rows, over the samples in columns; counts of samples, fweights, are constants."""
    if dtype is not None and np.dtype(dtype) == np.complex128:
        m = as_complex(as_array(m))
    else:
        require_float64("np.cov", dtype)
    if isinstance(fweights, Carrier):
        raise UnsupportedError("np.cov: fweights must be constants; contad.value_of gives their values")
    if ddof is None:
        ddof = 0 if bias else 1
    x = observations(m, y, rowvar)
    if not np.shape(x)[0]:
        fweights = aweights = None  # NumPy ignores them too
    elif fweights is not None or aweights is not None:
        shares = map_numbers(primal, aweights)
        np.cov(np.zeros((1, np.shape(x)[1])), ddof=0, fweights=fweights, aweights=shares)  # refuses wrong weights
    w = None
    for given in (fweights, aweights):
        if given is not None:
            shares = given if isinstance(given, Carrier) else np.asarray(given, dtype_beside(x))
            w = shares * (1.0 if w is None else w)
    total = np.shape(x)[1] if w is None else np.sum(w)
    if w is None or ddof == 0 or aweights is None:
        freedom = total - ddof
    else:
        freedom = total - ddof * np.sum(w * aweights) / total
    if freedom <= 0:  # like NumPy
        warnings.warn("np.cov: degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)
        freedom = 0.0
    mean = np.mean(x, axis=1, keepdims=True) if w is None else np.sum(x * w, axis=1, keepdims=True) / total
    centred = x - mean
    other = np.conj(centred) if is_complex(centred) else centred
    c = matmul(centred, transposed_of(other if w is None else other * w)) * np.true_divide(1.0, freedom)
    return np.reshape(c, ()) if np.shape(c) == (1, 1) else c


@implements(np.corrcoef, layout="own")
def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    """Correlations of variables in rows, over the samples in columns."""
    c = cov(x, y, rowvar, dtype=dtype)
    if np.ndim(c) == 0:
        return c / c
    deviations = np.sqrt(np.real(np.diagonal(c)))
    return c / np.reshape(deviations, (-1, 1)) / np.reshape(deviations, (1, -1))
