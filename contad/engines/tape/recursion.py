"""Calls of recursive functions that Numba compiled for another result than the function has.

Numba types functions that call each other in a circle while they are not fully known: a call then gets the type of
those returns that are, and keeps it where a later return changes it. A call that expects a number of a function that
returns a variable would read other memory; so such functions are refused.
"""

from collections.abc import Iterable
from typing import Any

from contad.compile.numba_code import recursive_calls
from contad.errors import UnsupportedError


def require_settled(dispatchers: Iterable[Any]) -> None:
    """Raises UnsupportedError where a compiled call of a recursive function has another type than the function."""
    for dispatcher in dispatchers:
        for compiled in dispatcher.overloads.values():
            for place, callee, signature in recursive_calls(compiled):
                found = callee.overloads.get(tuple(signature.args))
                if found is None or found.signature.return_type != signature.return_type:
                    name = callee.py_func.__name__
                    raise UnsupportedError(
                        f"{place.filename}:{place.line}: {dispatcher.py_func.__name__}: Numba compiles this call "
                        f"of {name}, which is mutually recursive, before it knows what {name} returns; let every "
                        "return depend on the arguments, as 1.0 + 0.0 * x, or write a loop"
                    )
