"""What Numba cannot type on variables, as an error of contad's that names the user's line and what to do."""

import linecache
import os
import re
from pathlib import Path
from typing import Any

import contad.errors
from contad.errors import UnsupportedError

_PLACE = re.compile(r'File "([^"]+)", line (\d+)')
_OWN = str(Path(contad.errors.__file__).parent)

_CREATE = "create the array with np.zeros or np.empty inside the function"
# (what Numba says, what to do)
_REMEDIES = (
    ("Cannot unify", f"a name holds different kinds of value on two paths: give each its own name, and {_CREATE}"),
    ("No conversion from contad", f"a variable is written where only plain numbers fit: {_CREATE}"),
    ("Cannot modify readonly array", "an argument is written to: work on a copy, x.copy()"),
    ("setitem", f"a variable is written where only plain numbers fit: {_CREATE}"),
)


def refusal(error: Exception, function: Any) -> UnsupportedError:
    """The error to raise for a TypingError or LoweringError of Numba on the variables of a function."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    found = [(os.path.abspath(path), int(line)) for path, line in _PLACE.findall(text)]
    places = [place for place in found if _is_users(place[0])]
    code = function.__code__
    path, line = places[-1] if places else (code.co_filename, code.co_firstlineno)
    construct = linecache.getline(path, line).strip()
    reason = next((hint for said, hint in _REMEDIES if said in text), None)
    if reason is None:
        reason = "the engine tape has no derivative of it; write it with scalar operations or loops"
    return UnsupportedError(f"{path}:{line}: {function.__name__}: `{construct}`: {reason}; Numba says: {_said(text)}")


def _is_users(path: str) -> bool:
    return not path.startswith(_OWN) and "numba" not in Path(path).parts and not Path(path).name.startswith("<")


def _said(text: str) -> str:
    """The first line of Numba's message that says something of its own."""
    for line in text.splitlines():
        said = line.strip(" >-")
        if said and not said.startswith(
            ("Failed in", "During:", "There are", "- Of which", "Overload", "File", "With")
        ):
            return said[:200]
    return text[:200]
