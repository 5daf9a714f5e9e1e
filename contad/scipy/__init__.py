"""Mirrors of SciPy's modules, because contad cannot intercept SciPy's functions: the same names, also on variables.

On floats each returns what SciPy returns. There are `contad.scipy.fft`, `contad.scipy.interpolate`,
`contad.scipy.linalg`, `contad.scipy.ndimage`, `contad.scipy.signal`, `contad.scipy.sparse`, `contad.scipy.spatial`,
`contad.scipy.special` and `contad.scipy.stats`, and `contad.scipy.integrate` and `contad.scipy.optimize`, which call
SciPy and differentiate its results.
"""

import pkgutil
from types import ModuleType

_MODULES = (
    "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "special",
    "stats",
)  # fmt: skip


def __getattr__(name: str) -> ModuleType:
    """Import a module, and SciPy's with it, on first use."""
    if name in _MODULES:
        found: ModuleType = pkgutil.resolve_name(f"contad.scipy.{name}")
        return found
    raise AttributeError(
        f"module 'contad.scipy' has no attribute {name!r}; there are contad.scipy.{', contad.scipy.'.join(_MODULES)}"
    )


def __dir__() -> list[str]:
    return list(_MODULES)
