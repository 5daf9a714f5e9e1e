"""Mirrors of SciPy's modules, for the functions that cannot be intercepted: SciPy's names, on variables too.

On floats each returns what SciPy returns. There are `contad.scipy.linalg`, `contad.scipy.sparse`,
`contad.scipy.special` and `contad.scipy.stats`, and `contad.scipy.integrate` and `contad.scipy.optimize`, which call
SciPy and differentiate what it finds.
"""

from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """A module is imported, and SciPy's with it, when it is first used."""
    if name == "integrate":
        import contad.scipy.integrate

        return contad.scipy.integrate
    if name == "linalg":
        import contad.scipy.linalg

        return contad.scipy.linalg
    if name == "optimize":
        import contad.scipy.optimize

        return contad.scipy.optimize
    if name == "sparse":
        import contad.scipy.sparse

        return contad.scipy.sparse
    if name == "special":
        import contad.scipy.special

        return contad.scipy.special
    if name == "stats":
        import contad.scipy.stats

        return contad.scipy.stats
    raise AttributeError(
        f"module 'contad.scipy' has no attribute {name!r}; there are contad.scipy.integrate, contad.scipy.linalg, "
        "contad.scipy.optimize, contad.scipy.sparse, contad.scipy.special and contad.scipy.stats"
    )


def __dir__() -> list[str]:
    return ["integrate", "linalg", "optimize", "sparse", "special", "stats"]
