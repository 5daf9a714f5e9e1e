"""How derivatives are compiled: neither divisions nor indices raise, as the source checks them."""

from typing import Any

# of what generated code calls with what Python cannot hold
INSIDE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def options_of(fastmath: Any) -> dict[str, Any]:
    """Numba's options; fastmath is a truth value, or the set of what it permits."""
    if isinstance(fastmath, frozenset):
        fastmath = _Sorted(fastmath)
    return {"error_model": "numpy", "nogil": True, "fastmath": fastmath}


class _Sorted(frozenset[str]):
    """A set that is written in the same way by every process."""

    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, sorted(self)))}}}"
