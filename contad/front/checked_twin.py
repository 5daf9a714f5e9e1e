"""The Python copy of a Numba function; each run is compared with the compiled function."""

import copy
import functools
import linecache
import re
import traceback

import numpy as np
from numba import NumbaError, typeof

from contad.compile.dispatchers import signature_for
from contad.errors import ContadError, LostDerivativeError, UnsupportedError
from contad.front.choice import reason
from contad.front.first_call import is_rounding
from contad.functions.python_copy import assignable, python_twin
from contad.functions.user_call import OnNumbers, memo_of
from contad.numba_functions.array_arguments import require_read
from contad.numba_functions.frozen import Frozen
from contad.variables.array import Array
from contad.variables.number import Number, map_numbers, peek
from contad.variables.open_types import Function, Nested, NumbaFunction, Options
from contad.variables.trees import flatten, map_leaves


def checked_twin(f: NumbaFunction, keeps_arrays: bool = False) -> Function:
    """The Python twin of a dispatcher. Each call compares its result with the compiled one.

    Integers in the twin are Python's. If compiled code wraps them around, or widens them differently, the results
    differ, and a gradient of the twin would be silently wrong. With keeps_arrays the caller sees writes to its arrays,
    so the twin refuses to write a variable into an array of floats.
    """

    twin = python_twin(f)
    frozen = Frozen(f, f.__name__, memo_of(f))

    @functools.wraps(twin)
    def run(*args: Nested, **kwargs: Nested) -> Nested:
        frozen.check()
        given, n = [*args, *kwargs.values()], len(args)
        require_read(f.__name__, zip([f"argument {k}" for k in (*range(n), *kwargs)], given, strict=True))
        for_twin = [assignable(x) for x in given]
        # both may write into their arrays, so they share none
        plain = [x if own is not x else _for_comparison(x) for x, own in zip(given, for_twin, strict=True)]
        try:
            y = twin(*for_twin[:n], **dict(zip(kwargs, for_twin[n:], strict=True)))
        except ContadError as error:
            why = _refusal_of_numba(f, plain[:n], dict(zip(kwargs, plain[n:], strict=True)))
            if why is not None:
                raise UnsupportedError(why) from error
            raise
        except Exception as error:
            if _raises(f, plain[:n], dict(zip(kwargs, plain[n:], strict=True))):
                raise  # the user's own
            raise _not_reproduced(f, error) from error
        for k, x, written in zip([*range(n), *kwargs], given, for_twin, strict=True):
            if keeps_arrays and written is not x and any(isinstance(v, Number) for v in written.flat):
                raise LostDerivativeError(
                    f"{f.__name__}: writes a variable into argument {k}, an array of floats; create it with "
                    "dtype=object"
                )
        # small floats round in compiled code, and are Python's in the twin
        small = any(isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.dtype != float for x in given)
        try:
            expected = f(*plain[:n], **dict(zip(kwargs, plain[n:], strict=True)))
        except NumbaError as error:
            raise UnsupportedError(_tell_refusal(f, error)) from error
        for got, value in zip(flatten(map_numbers(peek, y)).leaves, flatten(expected).leaves, strict=True):
            if isinstance(value, str):  # whose derivative is refused, or which is aux
                continue
            close = functools.partial(np.allclose, got, value, equal_nan=True)
            if close(rtol=1e-12 if small else 1e-6, atol=0.0):
                continue
            if small or not close(rtol=1e-6, atol=1e-9) or not _is_rounding(f, plain, n, [*kwargs], y, expected):
                frozen.require_unchanged()  # its code may have been replaced
                raise UnsupportedError(
                    f"{f.__name__}: its Python copy gives {got} where the compiled function gives {value}; integers "
                    "that wrap around or are widened by Numba, float32 and random numbers are not reproduced: use "
                    "floats of 64 bits, or pass them as arguments; nor is code that replaces what Numba has compiled: "
                    "call recompile()"
                )
        copies = [own for x, own in zip(given, for_twin, strict=True) if own is not x] if keeps_arrays else []
        return map_leaves(functools.partial(_callers_array, copies), y, expected, is_leaf=_is_no_tuple)

    run.is_twin = True  # type: ignore[attr-defined]  # it names the Numba function, and means it
    return run


def _is_rounding(f: NumbaFunction, given: list[Nested], n: int, names: list[str], y: Nested, expected: Nested) -> bool:
    """Whether the values of a copy and of f are both near 0 by cancellation."""
    if any(isinstance(x, np.random.Generator) for x in given):
        return True  # a second call draws other numbers

    def value(args: tuple[Nested, ...]) -> Nested:
        args = map_leaves(_own, args)
        return f(*args[:n], **dict(zip(names, args[n:], strict=True)))

    return is_rounding(value, tuple(given), map_numbers(peek, y), expected, bool(f.targetoptions.get("fastmath")))


def _own(x: Nested) -> Nested:
    return x.copy("K") if isinstance(x, np.ndarray) else x


def _for_comparison(x: Nested) -> Nested:
    """An argument for the compiled function; a random generator becomes one that draws the same numbers."""
    return copy.deepcopy(x) if isinstance(x, np.random.Generator) else map_leaves(_for_compiled, x)


def _refusal_of_numba(f: NumbaFunction, args: list[Nested], kwargs: Options) -> str | None:
    """The refusal if Numba cannot compile the function itself; None if it can."""
    try:
        signature_for(f, tuple(map(typeof, args)), {name: typeof(x) for name, x in kwargs.items()})
    except NumbaError as error:
        return _tell_refusal(f, error)
    except Exception:  # of typeof, for values without a type
        return None
    return None


def _tell_refusal(f: NumbaFunction, error: NumbaError) -> str:
    told = reason(error)
    plain = re.search(r"name '(\w+)'.*<class 'function'>", told)
    more = "call it with plain numbers to see all that Numba says"
    if plain is not None:
        more = f"decorate {plain[1]}, a plain Python function, with numba.njit"
    if "Cannot capture the non-constant value" in told:
        more = "make the inner function outside of this one, and pass it as arguments what it captures"
    return f"{f.__name__}: Numba cannot compile this function itself ({told}); {more}"


def _raises(f: NumbaFunction, args: list[Nested], kwargs: Options) -> bool:
    try:
        f(*args, **kwargs)
    except Exception:
        return True
    return False


def _not_reproduced(f: NumbaFunction, error: Exception) -> UnsupportedError:
    """The error if the Python copy fails and the compiled function does not; it names the user's line."""
    place, called = f.__name__, ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        code = frame.f_code
        if "__contad_store" in frame.f_globals:  # made by a copy
            text = linecache.getline(code.co_filename, line).strip()
            place, called = f"{code.co_filename}:{line}: {code.co_name}", f"`{text}` "
    kind = type(error).__name__
    told = "" if any(name in str(error) for name in _INTERNAL) else f" ({kind}: {error})"
    return UnsupportedError(
        f"{place}: {called}does not run in Python on the numbers that carry derivatives{told}; write it with operators "
        f"and functions of NumPy, or with loops over numbers"
    )


# in messages of Python and NumPy that say nothing to a user: contad's classes, and arrays of them
_INTERNAL = ("Var", "Dual", "dtype('O')", "_Float")


def _callers_array(copies: list[Nested], y: Nested, expected: Nested) -> Nested:
    """A result of the twin; if it is one of the copies on which the twin ran, or a view of one, the caller's array."""
    return expected if isinstance(y, np.ndarray) and any(np.may_share_memory(y, own) for own in copies) else y


def _is_no_tuple(x: Nested) -> bool:
    """Whether to compare results as a whole: an object that is not a plain tuple may have another class in Numba."""
    return type(x) is not tuple


def _for_compiled(x: Nested) -> Nested:
    """An argument as compiled code takes it: plain numbers, own arrays, dispatchers unchanged."""
    if isinstance(x, OnNumbers):
        return x.dispatcher
    plain = map_numbers(peek, x)
    return plain.copy() if isinstance(x, Array) or (plain is x and isinstance(x, np.ndarray)) else plain
