"""Mirrors of SciPy's modules, for the functions that cannot be intercepted: SciPy's names, on variables too.

On floats each returns what SciPy returns. There are `contad.scipy.linalg` and `contad.scipy.sparse`.
"""

from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """A module is imported, and SciPy's with it, when it is first used."""
    if name == "linalg":
        import contad.scipy.linalg

        return contad.scipy.linalg
    if name == "sparse":
        import contad.scipy.sparse

        return contad.scipy.sparse
    raise AttributeError(
        f"module 'contad.scipy' has no attribute {name!r}; there is contad.scipy.linalg and contad.scipy.sparse"
    )


def __dir__() -> list[str]:
    return ["linalg", "sparse"]
