"""Modules of SciPy, imported at the first value that needs one, so that importing contad stays light."""

import functools
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

import numpy as np


def is_from(version: str) -> bool:
    """Whether SciPy is of this version or a later one."""
    import scipy

    return np.lib.NumpyVersion(scipy.__version__) >= version


@functools.cache
def special() -> ModuleType:
    """The module scipy.special."""
    import scipy.special

    return scipy.special


@functools.cache
def linalg() -> ModuleType:
    """The module scipy.linalg."""
    import scipy.linalg

    return scipy.linalg


@functools.cache
def blas() -> ModuleType:
    """The functions of scipy.linalg.blas."""
    return _import_part("blas")


@functools.cache
def lapack() -> ModuleType:
    """The functions of scipy.linalg.lapack."""
    return _import_part("lapack")


@functools.cache
def blas_function(name: str, *dtypes: np.dtype) -> Any:
    """The BLAS function of that name without its first letter, for arrays of these dtypes."""
    return getattr(blas(), _letter_of(dtypes) + name)


@functools.cache
def lapack_function(name: str, *dtypes: np.dtype) -> Any:
    """The LAPACK function of that name without its first letter, for arrays of these dtypes."""
    return getattr(lapack(), _letter_of(dtypes) + name)


def _letter_of(dtypes: tuple[np.dtype, ...]) -> str:
    return {"f": "s", "F": "c", "D": "z"}.get(np.result_type(*dtypes).char, "d")


def _import_part(name: str) -> ModuleType:
    """A part of scipy.linalg: the module, or the extension module that provides its functions.

    The extension module imports in a few milliseconds. The package takes a hundred, which would delay a first gradient.
    """
    if "scipy.linalg" not in sys.modules:
        import scipy

        own = f"scipy.linalg._f{name}"
        spec = importlib.machinery.PathFinder.find_spec(own, [os.path.join(path, "linalg") for path in scipy.__path__])
        if spec is not None and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            sys.modules.pop(own, None)  # so that the package imports it as its own
            return module
    found: ModuleType = getattr(linalg(), name)
    return found


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


@functools.cache
def signal() -> ModuleType:
    """The module scipy.signal."""
    import scipy.signal

    return scipy.signal


@functools.cache
def interpolate() -> ModuleType:
    """The module scipy.interpolate."""
    import scipy.interpolate

    return scipy.interpolate


@functools.cache
def ndimage() -> ModuleType:
    """The module scipy.ndimage."""
    import scipy.ndimage

    return scipy.ndimage


@functools.cache
def spatial_transform() -> ModuleType:
    """The module scipy.spatial.transform."""
    import scipy.spatial.transform

    return scipy.spatial.transform


@functools.cache
def stats() -> ModuleType:
    """The module scipy.stats."""
    import scipy.stats

    return scipy.stats


@functools.cache
def integrate() -> ModuleType:
    """The module scipy.integrate."""
    import scipy.integrate

    return scipy.integrate
