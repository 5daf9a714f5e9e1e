"""Functions that Numba has made, as contad sees them from outside. Numba is not imported here."""

from typing import Any


def is_dispatcher(f: object) -> bool:
    """Whether f was made by numba.njit or numba.jit."""
    return hasattr(f, "py_func") and hasattr(f, "targetoptions") and type(f).__module__.startswith("numba.")


def of_ufunc(f: object) -> Any:
    """The dispatcher inside what numba.vectorize has made; None for anything else."""
    found = getattr(f, "_dispatcher", None)
    return found if is_dispatcher(found) else None


def compiles_on_demand(f: Any) -> bool:
    """Whether a dispatcher compiles for whatever types it meets; not so where it was given signatures."""
    return bool(getattr(f, "_can_compile", True))


def declared_names(f: Any) -> dict[str, Any]:
    """The names whose types the dispatcher f declares, with these types."""
    found = getattr(getattr(f, "_compiler", None), "locals", None) or {}
    return {name: t for name, t in found.items() if "." not in name}  # Numba adds k.1, k.2 ... when it compiles


def signature_for(f: Any, given: tuple[Any, ...], named: dict[str, Any] | None = None) -> Any:
    """The signature of a dispatcher's code for arguments of these types, for which it is compiled; None if none fits.

    Raises what Numba raises where it cannot compile that.
    """
    return f._numba_type_.get_call_type(f.typingctx, given, named or {})


def watch_first_calls(f: Any, see: Any) -> None:
    """Have `see` called with the arguments of each call of a dispatcher for whose types nothing is compiled yet."""
    compiled = f._compile_for_args

    def compile_for(*args: Any, **named: Any) -> Any:
        see(*args, **named)
        return compiled(*args, **named)

    f._compile_for_args = compile_for
