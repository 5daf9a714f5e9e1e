"""Numba's options for derivatives: divisions and indices do not raise, because the source checks them."""

from typing import Any

# for functions that only generated code calls, with types that Python has no objects for
INSIDE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def options_of(fastmath: Any) -> dict[str, Any]:
    """Numba's options; fastmath is a bool or a set of flags."""
    if isinstance(fastmath, frozenset):
        fastmath = _Sorted(fastmath)
    return {"error_model": "numpy", "nogil": True, "fastmath": fastmath}


class _Sorted(frozenset[str]):
    """A set whose repr is the same in every process."""

    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, sorted(self)))}}}"
