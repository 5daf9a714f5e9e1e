"""Mirrors of SciPy's modules, because contad cannot intercept SciPy's functions: the same names, also on variables.

On floats each returns what SciPy returns. There are `contad.scipy.interpolate`, `contad.scipy.linalg`,
`contad.scipy.ndimage`, `contad.scipy.signal`, `contad.scipy.sparse`, `contad.scipy.spatial`, `contad.scipy.special` and
`contad.scipy.stats`, and `contad.scipy.integrate` and `contad.scipy.optimize`, which call SciPy and differentiate its
results.
"""

from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Import a module, and SciPy's with it, on first use."""
    if name == "integrate":
        import contad.scipy.integrate

        return contad.scipy.integrate
    if name == "interpolate":
        import contad.scipy.interpolate

        return contad.scipy.interpolate
    if name == "linalg":
        import contad.scipy.linalg

        return contad.scipy.linalg
    if name == "ndimage":
        import contad.scipy.ndimage

        return contad.scipy.ndimage
    if name == "optimize":
        import contad.scipy.optimize

        return contad.scipy.optimize
    if name == "signal":
        import contad.scipy.signal

        return contad.scipy.signal
    if name == "sparse":
        import contad.scipy.sparse

        return contad.scipy.sparse
    if name == "spatial":
        import contad.scipy.spatial

        return contad.scipy.spatial
    if name == "special":
        import contad.scipy.special

        return contad.scipy.special
    if name == "stats":
        import contad.scipy.stats

        return contad.scipy.stats
    raise AttributeError(
        f"module 'contad.scipy' has no attribute {name!r}; there are contad.scipy.{', contad.scipy.'.join(__dir__())}"
    )


def __dir__() -> list[str]:
    return ["integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "special",
            "stats"]  # fmt: skip
