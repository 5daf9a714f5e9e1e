"""The named errors of contad. Each message names the function, the argument, the expected value and the actual
value."""

import dis
import itertools
import linecache
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from types import FrameType, TracebackType
from typing import Any

import numpy as np

# the prefixes of the file names of contad and NumPy
OWN_FILES, NUMPY_FILES = (os.path.join(os.path.dirname(file), "") for file in (__file__, np.__file__))
REJECTIONS = ValueError, ArithmeticError  # how a density rejects a point

_remember: Callable[["VariableError", Any], bool] = lambda error, level: False  # noqa: E731  (stands for a function)


def set_memory(remember: Callable[["VariableError", Any], bool]) -> None:
    """Set the function that notes each new VariableError, with the level of its numbers, if known.

    It returns whether a user's function is running on variables; then the error names a place in that function.
    """
    global _remember
    _remember = remember


_is_compiling: Callable[[], bool] = lambda: False  # noqa: E731


def set_compiling(is_compiling: Callable[[], bool]) -> None:
    """Set the function that says whether Numba compiles: an error is then a reason to try something else."""
    global _is_compiling
    _is_compiling = is_compiling


_PLACE = re.compile(r"\S[^\n]*?:\d+: ")  # the beginning of a message that already names a place


class ContadError(Exception):
    """Base of every error class defined by contad."""


class VariableError(ContadError):
    """Base of the errors that variables raise where plain numbers would not. After one, f computes another function.

    So if the function catches such an error, the call that differentiates the function raises it again at the end.
    Errors of operations do not derive from Python's error classes, so that handlers for numerical failures (`except
    (TypeError, ValueError, RuntimeError)`) let them pass.

    If the error is raised while the user's function runs on variables, its text begins with the place in that function,
    `file:line: expression: `.

    Broken:  def f(x): try: return math.exp(x) except Exception: return -np.inf
    Fixed:   np.exp(x), as the message says; or `except OverflowError`
    """

    place = ""

    def __init__(self, *args: object, level: Any = None, place: str | None = None) -> None:
        super().__init__(*args)
        is_noted = not _is_compiling() and _remember(self, level)  # Numba compiles for types, not for variables
        if is_noted or level is not None or place is not None:
            told = bool(args) and _PLACE.match(str(args[0])) is not None
            self.place = "" if told else _place_in(_frame_of_user()) if place is None else place

    def __str__(self) -> str:
        return self.place + super().__str__()


class StaleVariableError(VariableError, RuntimeError):
    """A variable was used after its gradient call ended, or after its memory was recovered.

    Broken:  kept = []; grad(lambda x: kept.append(x) or x * x)(1.0); kept[0] * 2.0
    Fixed:   return the value from the function (`has_aux=True`) instead of keeping the variable.
    """


class ForeignVariableError(VariableError, RuntimeError):
    """A variable of one stack was given where a variable of another stack is needed.

    Broken:  x = contad.var(1.0);  with contad.nested(): y = contad.var(2.0); contad.gradient(y * y, [x])
    Fixed:   ask for the gradient with respect to variables of the result's own stack.
    """


class OtherThreadError(VariableError, RuntimeError):
    """A variable was used on a thread other than the one that made it.

    Broken:  x = contad.var(1.0);  Thread(target=lambda: x * 2.0).start()
    Fixed:   pass numbers between threads, and make the variables on the thread that uses them.
    """


class NestingError(VariableError, RuntimeError):
    """A caller tried to recover memory, or to close a level, while a gradient call inside of it was still open."""


class LostDerivativeError(VariableError):
    """A conversion to a plain number would have dropped a derivative (`float(v)`, `math.exp(v)`, `ndarray[i] = v`).

    Broken:  math.exp(v)
    Fixed:   np.exp(v), or contad.value_of(v) where a constant is meant.
    """


class UnsupportedError(VariableError):
    """A construct or argument that contad does not differentiate; the message says what to do instead."""


class NonFiniteError(VariableError, FloatingPointError):
    """Under `contad.debug_nans()`: the first operation that made a nan or an infinity, with its source line."""


class OutputError(ContadError, TypeError):
    """The differentiated function returned something other than what the transform needs."""


class StaleSourceError(ContadError, RuntimeError):
    """A file was edited after it was imported, and its source is needed now.

    Broken:  import rules; (edit rules.py); grad(rules.f)(1.0)
    Fixed:   restart Python, or importlib.reload(rules)
    """


class StaleCacheError(ContadError, OSError):
    """Machine code in a Numba cache contains the gradient of a function that has changed since, or is unknown.

    Numba gets this error while it loads a cached caller. It treats the error as a missing file and compiles the caller
    again.
    """


class FrozenValueError(ContadError, RuntimeError):
    """A global or captured value of a Numba function has changed since its derivative was asked for.

    Broken:  RATE = 0.7; g = grad(f); g(1.0); RATE = 0.8; g(np.ones(3))    (compiled code of two values)
    Fixed:   pass the value as an argument, or define the function again
    """


class ValueMismatchError(ContadError, RuntimeError):
    """At the first call of a compiled derivative, the engine computed another value than the function itself.

    Its derivative would be that of another function, so contad does not return it. Choose another engine with engine=.
    """


class EngineLimitError(ContadError, ValueError):
    """Code of the engine `generated` met shapes that do not follow from its source, and cannot handle them.

    In a call from Python without engine=, the derivative goes on to the next engine; compiled callers get the error.

    Broken:  for _ in range(2): u = a @ u      (inside compiled code, where a is not square)
    Fixed:   a new name for the array of another length, or contad.grad(f, engine="tape")
    """


class OverlapError(ContadError, ValueError):
    """Array arguments share memory and the function may write into them: which of them is differentiated is unclear.

    Plain functions raise it when they write; they may read one array twice. For a Numba function the source decides.

    Broken:  grad(f)(c, c)  where f assigns to elements of an argument
    Fixed:   grad(f)(c, c.copy())
    """


class ChangedDataError(ContadError, RuntimeError):
    """Data that a function captured have changed since the call, and its derivative needs the earlier values.

    Broken:  total += checkpoint(lambda x: np.sum(x * buffer))(x); buffer[:] = next_one
    Fixed:   total += checkpoint(lambda x, buffer: np.sum(x * buffer))(x, buffer)    (arguments are copied)
    """


class SingularPointError(ContadError, ArithmeticError):
    """A root, a fixed point or a minimum is not a smooth function of its parameters: the Jacobian there is singular.

    The same holds for the time of an event that the solution of a differential equation only grazes.

    Broken:  grad(lambda p: root_scalar(lambda x: (x - p) ** 2, x0=0.5).root)(1.0)
    Fixed:   an equation whose derivative at the root is other than zero: root_scalar(lambda x: x - p, ...)
    """


class NotHolomorphicError(ContadError, ArithmeticError):
    """A function with holomorphic=True, or in `derivative`, does not satisfy the equations of Cauchy and Riemann.

    Broken:  contad.derivative(lambda z: z * np.conj(z))(1.0 + 2.0j)
    Fixed:   contad.grad(lambda z: np.abs(z) ** 2)(1.0 + 2.0j)
    """


class RuleError(VariableError):
    """A derivative rule is malformed: not straight-line, wrong arity, or a call that no engine can inline."""


class GuardError(ContadError, RuntimeError):
    """A recorded program was run at inputs where the function takes another branch: a comparison has another result.

    Broken:  program = contad.record(lambda x: x if x > 0 else -x, 1.0); program(-2.0)
    Fixed:   contad.record(f, 1.0, retrace=True), which records again there; or one program for each case
    """


# ---- places ----------------------------------------------------------------------------------------------------------
_PYTHON = os.path.join(os.path.dirname(os.__file__), "")
_PACKAGES = f"{os.sep}site-packages{os.sep}"
_LONGEST = 100  # of a shown expression


def _frame_of_user() -> FrameType | None:
    """The innermost frame above this one outside of libraries, or else outside of contad and NumPy."""
    return _innermost_of_user(_callers(sys._getframe(1)))


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _innermost_of_user(frames: Iterable[FrameType]) -> FrameType | None:
    found = None
    for frame in frames:
        file = frame.f_code.co_filename
        if not file.startswith((OWN_FILES, NUMPY_FILES, "<contad ", "<frozen ", "<__array_function__")):
            if not (file.startswith(_PYTHON) or _PACKAGES in file):
                return frame
            found = found or frame
    return found


def place_of_user() -> str:
    """The user's running line, in words."""
    frame = _frame_of_user()
    if frame is None:
        return "an unknown place"
    file = frame.f_code.co_filename
    text = linecache.getline(file, frame.f_lineno).strip()
    return f"{file}:{frame.f_lineno}, in {frame.f_code.co_name}" + (f" ({text})" if text else "")


def _place_in(frame: FrameType | None, entry: TracebackType | None = None) -> str:
    """The place of a frame, now or in a traceback, `file:line: expression: `, as far as there is source."""
    if frame is None:
        return ""
    last_instruction, line = (frame.f_lasti, frame.f_lineno) if entry is None else (entry.tb_lasti, entry.tb_lineno)
    file = frame.f_code.co_filename
    positions = next(itertools.islice(frame.f_code.co_positions(), last_instruction // 2, None), (None,) * 4)
    first, last, start, end = positions
    stores = dis.opname[frame.f_code.co_code[last_instruction]].startswith("STORE_")
    if first is None or last is None or start is None or stores:
        shown = linecache.getline(file, line)
    else:
        shown = source_between(file, first, last, start, end)
    shown = " ".join(shown.split())
    if len(shown) > _LONGEST:
        shown = shown[: _LONGEST - 4] + " ..."
    return f"{file}:{line}: {shown}: " if shown else f"{file}:{line}: "


def source_between(file: str, first: int, last: int, start: int, end: int | None) -> str:
    """The text of a file between two places; columns count bytes."""
    lines = [linecache.getline(file, k).encode() for k in range(first, last + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    return b" ".join(lines).decode(errors="replace")


def place_in_traceback(error: BaseException) -> str:
    """The place of the user's innermost line in a traceback."""
    entries = {id(entry.tb_frame): entry for entry in _entries_of(error.__traceback__)}  # the last place in each frame
    frame = _innermost_of_user(entry.tb_frame for entry in reversed(entries.values()))
    return _place_in(frame, entries[id(frame)]) if frame is not None else ""


def _entries_of(entry: TracebackType | None) -> Iterator[TracebackType]:
    while entry is not None:
        yield entry
        entry = entry.tb_next
