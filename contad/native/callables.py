"""What Numba compiles where an njit function names a function of contad that is no scalar rule."""

from typing import Any

from numba.core.registry import cpu_target

from contad.errors import UnsupportedError
from contad.rules.compilable import Compilable


def numba_type(function: Compilable) -> Any:
    """Numba's type of a function; UnsupportedError where there is nothing to compile."""
    if function.__module__.startswith("contad.scipy."):
        import contad.native.scipy_functions  # noqa: F401  (it declares them)
    context = cpu_target.typing_context
    context.refresh()
    found = context._lookup_global(function)
    if found is None:
        name = f"{function.__module__}.{function.__name__}"
        raise UnsupportedError(f"{name} cannot be called inside njit; call it outside, and pass what it gives")
    return found
