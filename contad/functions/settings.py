"""The settings of this process: whether plain functions run as copies that take variables, and those of which
libraries."""

from collections.abc import Collection
from types import TracebackType


class _Settings:
    rewrite = True
    libraries: frozenset[str] = frozenset()  # installed packages whose functions also run as copies


SETTINGS = _Settings()


class _Before:
    """The settings as they were, which the end of a `with` block puts back."""

    def __init__(self) -> None:
        self.rewrite, self.libraries = SETTINGS.rewrite, SETTINGS.libraries

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, where: TracebackType | None) -> None:
        SETTINGS.rewrite, SETTINGS.libraries = self.rewrite, self.libraries

    def __repr__(self) -> str:
        names = sorted(SETTINGS.libraries)
        return f"contad.settings(rewrite={names if names and SETTINGS.rewrite else SETTINGS.rewrite})"


def settings(*, rewrite: bool | str | Collection[str] | None = None) -> _Before:
    """Change the settings of this process: from now on, or until the end of a `with` block.

    rewrite says which functions run as copies of themselves, in which `math`, `np.zeros`, `isinstance` and Numba
    functions take variables: with True, the default, plain functions that do not belong to an installed package; with
    the name of a package, or several, those of these packages as well; with False none. A function that is
    differentiated itself may belong to any package.

    Raises:  TypeError if rewrite is something else.

    >>> with settings(rewrite=False):
    ...     settings()
    contad.settings(rewrite=False)
    >>> settings()
    contad.settings(rewrite=True)
    """
    before = _Before()
    if isinstance(rewrite, bool):
        SETTINGS.rewrite, SETTINGS.libraries = rewrite, frozenset()
    elif rewrite is not None:
        names = (rewrite,) if isinstance(rewrite, str) else rewrite
        if not isinstance(names, Collection) or not all(isinstance(name, str) for name in names):
            raise TypeError(
                f"settings: rewrite must be True, False, or names of packages to rewrite as well, got {rewrite!r}"
            )
        SETTINGS.rewrite, SETTINGS.libraries = True, frozenset(name.partition(".")[0] for name in names)
    return before
