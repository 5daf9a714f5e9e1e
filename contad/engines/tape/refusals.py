"""Errors for code that Numba cannot type on variables, or types too early: they name the user's line and a remedy."""

import linecache
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from numba import NumbaError

from contad.compile.numba_code import places_of_typing, recursive_calls
from contad.errors import OWN_FILES, ContadError, RuleError, UnsupportedError

_PLACE = re.compile(r'File "([^"]+)", line (\d+)')

_CREATE = "create the array with np.zeros or np.empty inside the function"
_FIELD = "a field of a record gets a variable: the engine generated takes it; or use an array for each field"
# (message of Numba, remedy)
_REMEDIES = (
    ("Cannot unify", f"a name holds different kinds of value on two paths: give each its own name, and {_CREATE}"),
    ("No conversion from contad", f"a variable is written where only plain numbers fit: {_CREATE}"),
    ("Cannot modify readonly array", "an argument is written to: work on a copy, x.copy()"),
    (
        "setitem(DictType",
        "a typed dict of plain numbers gets a variable: the engine generated takes it; or make it by {} or dict()",
    ),
    ("setitem(Record", _FIELD),
    ("Cannot cast contad.variable", _FIELD),
    ("setitem", f"a variable is written where only plain numbers fit: {_CREATE}"),
)


def refusal(error: Exception, function: Any) -> UnsupportedError:
    """The error to raise if a function cannot be compiled on variables, from any exception of Numba.

    It names the innermost line of the user's code, and the line of the function itself that calls it.
    """
    own = isinstance(error, ContadError)  # raised while Numba typed a call
    if own and re.match(r"\S.*:\d+: ", str(error)):
        return error if isinstance(error, UnsupportedError) else UnsupportedError(str(error))
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    found = [(_path(path), int(line)) for path, line in _PLACE.findall(text)]
    places = [place for place in found if _is_users(place[0])] or _typed_places(error)
    code = function.__code__
    path, line = places[0] if places else (code.co_filename, code.co_firstlineno)
    name = _function_at(path, line) or function.__name__
    construct = linecache.getline(path, line).strip()
    where = f"{path}:{line}: {name}: `{construct}`" if places and construct else f"{path}:{line}: {name}"
    if places and places[-1] != places[0]:
        where += f", called from line {places[-1][1]} of {function.__name__}"
    if own:
        is_told = "; " in text or isinstance(error, RuleError)
        return UnsupportedError(f"{where}: {text}" if is_told else f"{where}: {text}: {_CREATE}")
    if isinstance(error, RecursionError):
        return UnsupportedError(f"{where}: an expression or a chain of calls too deep for Numba; split it")
    reason = next((hint for said, hint in _REMEDIES if said in text), None)
    if reason is None:
        reason = "the engine tape has no derivative of it; write it with scalar operations or loops"
    said = _find_said(text)
    if not isinstance(error, NumbaError):
        said = f"{type(error).__name__}: {said}"
    return UnsupportedError(f"{where}: {reason}" + (f"; Numba says: {said}" if said else ""))


def _typed_places(error: Exception) -> list[tuple[str, int]]:
    """The user's lines that Numba was typing when an error that is not its own passed through, innermost first."""
    found = [(_path(path), line) for path, line in places_of_typing(error.__traceback__) if _is_users(_path(path))]
    return list(dict.fromkeys(reversed(found)))


def _path(path: str) -> str:
    """A path as Numba prints it, in full; source without a file has a name like <stdin>."""
    name = Path(path).name
    return name if name.startswith("<") else os.path.abspath(path)


def _is_users(path: str) -> bool:
    # a function defined at a prompt or in a notebook has a file <...>, like Numba's own generated code
    name = Path(path).name
    own = path.startswith(OWN_FILES) or "numba" in Path(path).parts
    own = own or name.startswith(("<contad", "<derivative", "<rule"))
    return not own and (not name.startswith("<") or bool(linecache.getline(name, 1)))


def _function_at(path: str, line: int) -> str | None:
    """The name of the function that contains a line: the nearest less indented definition above it."""
    depth = len(linecache.getline(path, line)) - len(linecache.getline(path, line).lstrip())
    for k in range(line, 0, -1):
        text = linecache.getline(path, k)
        found = re.match(r"(\s*)def (\w+)", text)
        if found and (len(found[1]) < depth or k == line):
            return found[2]
    return None


def _find_said(text: str) -> str:
    """The message of Numba itself: the call that it does not know, or the first line that is no heading."""
    unknown = re.search(r"No implementation of function .* found for signature:\s*>>> ([^\n]*)", text)
    if unknown:
        return f"no implementation of {unknown[1].strip()}"[:200]
    for line in text.splitlines():
        said = line.strip().lstrip("> -")
        if said and not said.startswith(
            ("Failed in", "During:", "There are", "- Of which", "Overload", "File", "With")
        ):
            return re.sub(r"<(?:built-in )?function (\S+)(?: at 0x[0-9a-f]+)?>", r"\1", said)[:200]
    return ""


# ---- calls of recursive functions ------------------------------------------------------------------------------------
# Numba types mutually recursive functions before their types are complete: a call then gets the type of the returns
# typed so far, and keeps it even if a later return changes it. A call that expects a number from a function that
# returns a variable would read wrong memory.


def require_settled(dispatchers: Iterable[Any]) -> None:
    """Raise UnsupportedError if a compiled call of a recursive function has another type than the function."""
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
