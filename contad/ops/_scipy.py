"""Modules of SciPy, imported at the first value that needs one, so that importing contad stays light."""

import functools
import importlib.machinery
import importlib.util
import os
import pkgutil
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np


def is_from(version: str) -> bool:
    """Whether SciPy is of this version or a later one."""
    import scipy

    return np.lib.NumpyVersion(scipy.__version__) >= version


def _import_later(name: str) -> Callable[[], Any]:
    """A function that returns a module of SciPy, imported by its first call."""
    return functools.cache(functools.partial(pkgutil.resolve_name, f"scipy.{name}"))


special, linalg, sparse, signal, fft = map(_import_later, ("special", "linalg", "sparse", "signal", "fft"))
interpolate, ndimage, stats, integrate = map(_import_later, ("interpolate", "ndimage", "stats", "integrate"))
sparse_linalg, spatial_distance = map(_import_later, ("sparse.linalg", "spatial.distance"))
spatial_transform = _import_later("spatial.transform")


def part_of_special(name: str, k: int) -> Callable[..., Any]:
    """A function of arrays: result k of a function of scipy.special."""
    return lambda *args: getattr(special(), name)(*args)[k]


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
