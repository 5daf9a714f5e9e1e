"""Modules of SciPy, imported at the first value that needs one, so that importing contad stays light."""

import functools
from types import ModuleType


@functools.cache
def special() -> ModuleType:
    """The module scipy.special."""
    import scipy.special

    return scipy.special


@functools.cache
def linalg() -> ModuleType:
    """The module scipy.linalg, with its `blas` and `lapack`."""
    import scipy.linalg

    return scipy.linalg


@functools.cache
def sparse() -> ModuleType:
    """The module scipy.sparse."""
    import scipy.sparse

    return scipy.sparse


@functools.cache
def spatial_distance() -> ModuleType:
    """The module scipy.spatial.distance."""
    import scipy.spatial.distance

    return scipy.spatial.distance
