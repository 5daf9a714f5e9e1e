"""Mirrors of SciPy's modules, for the functions that cannot be intercepted: SciPy's names, on variables too.

On floats each returns what SciPy returns. There is `contad.scipy.linalg`.
"""

from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """A module is imported, and SciPy's with it, when it is first used."""
    if name == "linalg":
        import contad.scipy.linalg

        return contad.scipy.linalg
    raise AttributeError(f"module 'contad.scipy' has no attribute {name!r}; there is contad.scipy.linalg")


def __dir__() -> list[str]:
    return ["linalg"]
