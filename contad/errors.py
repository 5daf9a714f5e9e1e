"""The named errors of contad; each message names the function, the argument, what was expected and what came."""

import ast
import dis
import inspect
import itertools
import linecache
import math
import operator
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from types import FrameType, FunctionType, TracebackType
from typing import Any

import numpy as np

# how the names of contad's own files begin, and of NumPy's
OWN_FILES, NUMPY_FILES = (os.path.join(os.path.dirname(file), "") for file in (__file__, np.__file__))

_remember: Callable[["VariableError", Any], bool] = lambda error, level: False  # noqa: E731  (stands for a function)


def set_memory(remember: Callable[["VariableError", Any], bool]) -> None:
    """What notes each VariableError that is made, with the level whose numbers it is about, if that is known.

    It tells whether a function of the user's is running on variables, where the error then has its place.
    """
    global _remember
    _remember = remember


_PLACE = re.compile(r"\S[^\n]*?:\d+: ")  # how a message begins that tells a place itself


class ContadError(Exception):
    """Base of every error class defined by contad."""


class VariableError(ContadError):
    """Base of the errors that variables raise where plain numbers would not: after one, f is another function.

    So the call that differentiates a function raises such an error again when it ends, if the function has caught it.
    Those that operations raise have no class of Python's among their bases, so that handlers for what goes wrong with
    numbers (`except (TypeError, ValueError, RuntimeError)`) let them pass.

    Made while the user's function runs on variables, its text begins with the place there, `file:line: expression: `.

    Broken:  def f(x): try: return math.exp(x) except Exception: return -np.inf
    Fixed:   contad.exp(x), as the message says; or `except OverflowError`
    """

    place = ""

    def __init__(self, *args: object, level: Any = None, place: str | None = None) -> None:
        super().__init__(*args)
        if _remember(self, level) or level is not None or place is not None:
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
    """Memory was to be recovered, or a level closed, while a gradient call inside it was still open."""


class LostDerivativeError(VariableError):
    """A conversion to a plain number would have dropped a derivative (`float(v)`, `math.exp(v)`, `ndarray[i] = v`).

    Broken:  math.exp(v)
    Fixed:   contad.exp(v), np.exp(v), or contad.value_of(v) where a constant is meant.
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
    """Machine code in a cache of Numba's holds the gradient of a function that has changed since, or is unknown.

    Numba meets it while it loads a cached caller, takes it as a missing file, and compiles the caller again.
    """


class FrozenValueError(ContadError, RuntimeError):
    """A global or captured value of a Numba function has changed since its derivative was asked for.

    Broken:  RATE = 0.7; g = grad(f); g(1.0); RATE = 0.8; g(np.ones(3))    (compiled code of two values)
    Fixed:   pass the value as an argument, or define the function again
    """


class ValueMismatchError(ContadError, RuntimeError):
    """The first call of a compiled derivative: the engine computes another value than the function itself.

    Its derivative would be that of another function, and is not given. Another engine may be asked for by engine=.
    """


class EngineLimitError(ContadError, ValueError):
    """Code of the engine `generated` met what it is not made for: shapes that its source does not show.

    Called from Python, a derivative whose engine is not named goes on to the next one; compiled callers get the error.

    Broken:  for _ in range(2): u = a @ u      (inside compiled code, where a is not square)
    Fixed:   a new name for the array of another length, or contad.grad(f, engine="tape")
    """


class OverlapError(ContadError, ValueError):
    """Array arguments share memory and the function may write into them: which of them is differentiated is unclear.

    Broken:  grad(f)(c, c)  where f assigns to elements of an argument
    Fixed:   grad(f)(c, c.copy())
    """


class ChangedDataError(ContadError, RuntimeError):
    """Data that a function captured have changed since it was called, and its derivative needs what they were.

    Broken:  total += checkpoint(lambda x: np.sum(x * buffer))(x); buffer[:] = next_one
    Fixed:   total += checkpoint(lambda x, buffer: np.sum(x * buffer))(x, buffer)    (arguments are copied)
    """


class SingularPointError(ContadError, ArithmeticError):
    """A root, a fixed point or a minimum is no smooth function of what it depends on: its Jacobian there is singular.

    So is the time of an event that a solution of a differential equation only grazes.

    Broken:  grad(lambda p: root_scalar(lambda x: (x - p) ** 2, x0=0.5).root)(1.0)
    Fixed:   an equation whose derivative at the root is other than zero: root_scalar(lambda x: x - p, ...)
    """


class RuleError(VariableError):
    """A derivative rule is malformed: not straight-line, wrong arity, or a call that no engine can inline."""


class GuardError(ContadError, RuntimeError):
    """A recorded program was run where the recorded function takes another way: a comparison comes out otherwise.

    Broken:  program = contad.record(lambda x: x if x > 0 else -x, 1.0); program(-2.0)
    Fixed:   contad.record(f, 1.0, retrace=True), which records again there; or one program for each case
    """


# ---- what NumPy and SciPy make of errors -----------------------------------------------------------------------------
_REFUSALS = re.compile(
    r"(Cannot cast ufunc '(\w+)' input.* from dtype\('O'\)|ufunc '(\w+)' not supported for the input types"
    r"|Cannot cast (?:array data|scalar) from dtype\('O'\)|object arrays are not supported"
    r"|Iterator operand (?:\d+ dtype could not be cast from dtype\('O'\)|or requested dtype holds references)"
    r"|no supported conversion for types: .*dtype\('O'\)"
    r"|Result from function call is not a proper array of floats|data type <class 'numpy.object_'> not inexact"
    r"|(unorderable types for comparison)$)"
)
_NO_ARRAY = re.compile(r"'float' object has no attribute '(shape|dtype|ndim)'$")  # of NumPy's own code
_NO_NDARRAY = re.compile(r"argument \d+ must be numpy\.ndarray, not Array\w+$")  # of code in C that looks at types
_NO_METHOD = re.compile(r"loop of ufunc does not support argument \d+ of type (\w+) which has no callable (\w+) method")
_METHOD = re.compile(r"__\w+__")
_NO_ROOM = re.compile(r"Cannot cast ufunc '(\w+)' output from dtype\('O'\)")
_IN_ARRAYS = "S @ x takes array variables (of a list contad.array([...]), of an object array contad.to_varmat(v)), and "
_MIRRORED = {  # how names begin: what to say beside the function of contad's that has the name, if there is one
    "scipy.linalg.": "contad.scipy.linalg has SciPy's names for variables; else ",
    "scipy.sparse.": f"{_IN_ARRAYS}contad.scipy.sparse has matrices of variables, spsolve, splu, cg; else ",
    "scipy.spatial.transform.": "contad.scipy.spatial.transform has Rotation and Slerp for variables; else ",
    "scipy.stats.": "write its formula with functions of np and contad (contad.gammaln, contad.erf, contad.xlogy); "
    "else ",
}
_ROOT_SCALAR = "contad.scipy.optimize.root_scalar"
_OTHERWISE = {  # functions of SciPy's: what gives the same under another name
    "scipy.special.log_softmax": "x - contad.logsumexp(x)",
    "scipy.integrate.trapezoid": "np.trapezoid",
    "scipy.optimize.fsolve": "contad.scipy.optimize.root",
}
_OTHERWISE |= {
    f"scipy.optimize.{name}": "contad.scipy.optimize.root of the gradient of what is minimized"
    for name in ("minimize", "minimize_scalar", "curve_fit", "least_squares", "leastsq")
}
_OTHERWISE |= {f"scipy.optimize.{name}": _ROOT_SCALAR for name in (
    "brentq", "brenth", "ridder", "bisect", "toms748", "newton",
)}  # fmt: skip
_BY_A_RULE = (
    "differentiate its result by a rule, contad.custom_vjp or contad.scalar_rule (roots and minima by the implicit "
    "function theorem), or give it contad.value_of(v) where a constant is meant"
)
_CALLED_BACK = (
    "a function of SciPy or another library, written in C, called back a Python function and got a variable, of which "
    f"it can make nothing; {_BY_A_RULE}"
)


def make_lost(message: str, kind: str, level: Any) -> LostDerivativeError:
    """The error of a conversion to plain numbers: this message, unless a function of SciPy or np.linalg converts."""
    frames = _frames_above()
    told = _refusal_of_scipy(frames, kind) or _refusal_of_linalg(frames) or _refusal_by_place(frames) or message
    return LostDerivativeError(told, level=level)


def make_unsupported_by_pandas(level: Any) -> UnsupportedError:
    """The error where pandas converts a variable, which it meant to compute with."""
    return UnsupportedError(
        "pandas: a Series or DataFrame meets a variable, of which it cannot take the derivative; use its numbers, "
        "s.to_numpy()",
        level=level,
    )


# ---- places ----------------------------------------------------------------------------------------------------------
_PYTHON = os.path.join(os.path.dirname(os.__file__), "")
_PACKAGES = f"{os.sep}site-packages{os.sep}"
_LONGEST = 100  # of an expression that is shown


def _frame_of_user() -> FrameType | None:
    """The innermost frame of what calls this that is of no library, or else that is neither contad's nor NumPy's."""
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
    """The user's line that runs, in words."""
    frame = _frame_of_user()
    if frame is None:
        return "an unknown place"
    file = frame.f_code.co_filename
    text = linecache.getline(file, frame.f_lineno).strip()
    return f"{file}:{frame.f_lineno}, in {frame.f_code.co_name}" + (f" ({text})" if text else "")


def _place_in(frame: FrameType | None, step: TracebackType | None = None) -> str:
    """Where a frame is, or where it was in a traceback, `file:line: expression: `, as far as there is a source."""
    if frame is None:
        return ""
    last_instruction, line = (frame.f_lasti, frame.f_lineno) if step is None else (step.tb_lasti, step.tb_lineno)
    file = frame.f_code.co_filename
    positions = next(itertools.islice(frame.f_code.co_positions(), last_instruction // 2, None), (None,) * 4)
    first, last, start, end = positions
    stores = dis.opname[frame.f_code.co_code[last_instruction]].startswith("STORE_")
    if first is None or last is None or start is None or stores:
        shown = linecache.getline(file, line)
    else:
        shown = _source_between(file, first, last, start, end)
    shown = " ".join(shown.split())
    if len(shown) > _LONGEST:
        shown = shown[: _LONGEST - 4] + " ..."
    return f"{file}:{line}: {shown}: " if shown else f"{file}:{line}: "


def _source_between(file: str, first: int, last: int, start: int, end: int | None) -> str:
    """The text of a file between two places; columns count bytes."""
    lines = [linecache.getline(file, k).encode() for k in range(first, last + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    return b" ".join(lines).decode(errors="replace")


def _place_in_trace(error: BaseException) -> str:
    """The place of the innermost line of the user's in a traceback."""
    steps = {id(step.tb_frame): step for step in _steps(error.__traceback__)}  # the last in each frame
    frame = _innermost_of_user(step.tb_frame for step in reversed(steps.values()))
    return _place_in(frame, steps[id(frame)]) if frame is not None else ""


def _steps(step: TracebackType | None) -> Iterator[TracebackType]:
    while step is not None:
        yield step
        step = step.tb_next


def error_behind(error: BaseException, caught: VariableError | None = None) -> ContadError | None:
    """The error of contad's that belongs in the place of one of NumPy's or SciPy's, if any.

    NumPy's assignment to an element turns what a conversion raises into a ValueError. Callbacks of SciPy's C code
    (brentq) go on after an exception, until Python meets it somewhere else, as a SystemError or as it was, or they
    raise an error of their own: `caught` is the first that the level has remembered. NumPy itself handles object arrays
    of variables, so that only the end of the call can say what a refusal of them means.
    """
    if isinstance(error, ContadError):
        return None
    refusal = _refusal_of_ufunc(error) or _refusal_of_objects(error) or _refusal_of_c_code(error)
    if refusal is not None:
        return refusal
    if isinstance(error, (SystemError, ValueError, AttributeError)):
        behind: BaseException | None = error
        seen: list[BaseException] = []  # an exception that was raised again may be its own context
        while behind is not None and not any(behind is one for one in seen):
            seen.append(behind)
            if isinstance(behind, LostDerivativeError):
                told = isinstance(error, ValueError) or "SciPy computes with plain numbers" in str(behind)
                return behind if told else LostDerivativeError(_CALLED_BACK, place=behind.place)
            behind = behind.__cause__ or behind.__context__
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    of_library = isinstance(error, SystemError) or _finds_nothing(error) or (frames and _is_of_library(frames[-1]))
    return caught if caught is not None and of_library else None


def _finds_nothing(error: BaseException) -> bool:
    """Whether an attribute was not found that is there: Python's search fails while an exception is pending."""
    if not isinstance(error, AttributeError):
        return False
    if error.name is None:  # the method of an operation, such as v[0]: the interpreter tells its name alone
        step = error.__traceback__
        while step is not None and step.tb_next is not None:
            step = step.tb_next
        raised = step is None or dis.opname[step.tb_frame.f_code.co_code[step.tb_lasti]] == "RAISE_VARARGS"
        return not raised and _METHOD.fullmatch(str(error)) is not None
    nothing = object()
    return inspect.getattr_static(error.obj, error.name, nothing) is not nothing


def _refusal_of_ufunc(error: BaseException) -> ContadError | None:
    """The error for a ufunc that met variables among objects, and has no room, or no method, for them."""
    found: Any = _NO_ROOM.match(str(error))
    if found is not None:
        return LostDerivativeError(
            f"np.{found[1]}: an array of floats cannot hold a variable (out=, or an operation in place); write "
            "a = a + x, or create a with contad.zeros",
            place=_place_in_trace(error),
        )
    found = _NO_METHOD.search(str(error))
    if isinstance(error, AttributeError) and hasattr(getattr(sys.modules["numpy"], error.name or "", None), "nin"):
        found = type(error.obj).__name__, error.name  # a ufunc of two arguments
    if found is None:
        return None
    kind, name = found if isinstance(found, tuple) else found.groups()
    kind = "variable" if kind.endswith(("Var", "Dual")) else kind
    return UnsupportedError(
        f"np.{name}: NumPy cannot compute it of a list or an object array with a {kind} among the variables; "
        f"write np.{name}(contad.array([...])) for a list, np.{name}(contad.to_varmat(v)) for an object array",
        place=_place_in_trace(error),
    )


def _refusal_of_objects(error: BaseException) -> ContadError | None:
    """UnsupportedError, with the function, the file and the line, for NumPy's refusal of an object array."""
    found: Any = _REFUSALS.match(str(error))
    frames = list(traceback.walk_tb(error.__traceback__))
    if found is None and frames and frames[-1][0].f_code.co_filename.startswith(NUMPY_FILES):
        found = _NO_ARRAY.match(str(error))
    if found is None:
        return None
    refusal = _refusal_of_scipy([frame for frame, _ in reversed(frames)], "variable")
    place = _place_in_trace(error)
    if refusal is not None:
        return UnsupportedError(refusal, place=place)
    inside = [frame.f_code.co_filename.startswith((NUMPY_FILES, OWN_FILES)) for frame, _ in frames]
    last = max((k for k, within in enumerate(inside) if not within), default=-1)
    ufunc = found[2] or found[3] or (found[4] and "sign") if found.re is _REFUSALS else None
    function = ufunc or "a conversion to floats"
    if last + 1 < len(frames):  # NumPy's function that the user called
        function = frames[last + 1][0].f_code.co_name
    for name in ("numpy", "numpy.linalg", "numpy.fft", "scipy.special"):
        if callable(getattr(sys.modules.get(name), function, None)):
            function = f"{name.replace('numpy', 'np')}.{function}"
            break
    return UnsupportedError(
        f"{function}: NumPy does not take object arrays of variables here ({error}); {_instead_of(function)}",
        place=place,
    )


def _refusal_of_c_code(error: BaseException) -> ContadError | None:
    """The error for code in C, such as the factors of scipy.sparse.linalg.splu, that takes ndarrays by their type."""
    if not isinstance(error, TypeError) or _NO_NDARRAY.match(str(error)) is None:
        return None
    return LostDerivativeError(
        f"code in C computes with plain arrays, and got an array variable ({error}); use the factors of "
        f"contad.scipy.sparse.linalg.splu for those of SciPy's; else {_BY_A_RULE}",
        place=_place_in_trace(error),
    )


def _instead_of(function: str) -> str:
    """What to write where NumPy's function does not take an object array of variables."""
    name = function.rpartition(".")[2]
    own = f"call contad.{name}, or " if hasattr(sys.modules["contad"], name) else ""
    return (
        f"{own}give it contad.array([...]) for a list, contad.to_varmat(v) for an object array; where engine= is "
        "given, leave it out, so that these are array variables"
    )


def _refusal_of_linalg(frames: list[FrameType]) -> str | None:
    """What to say where a function of np.linalg, called by one of these frames, innermost first, converts."""
    name = ""
    for frame in frames:
        module = str(frame.f_globals.get("__name__"))
        if module.startswith("numpy.linalg"):
            name = f"np.linalg.{frame.f_code.co_name}"
        elif name or not module.startswith("contad."):
            break
    return f"{name}: NumPy does not take object arrays of variables here; {_instead_of(name)}" if name else None


def _refusal_of_scipy(frames: list[FrameType], kind: str) -> str | None:
    """What to say where the first of these frames, innermost first, that are a library's are those of SciPy's."""
    name = ""
    for frame in frames:
        module = str(frame.f_globals.get("__name__"))
        if module.startswith("scipy."):
            called, own = frame.f_code.co_name, frame.f_locals.get("self")
            inner = "<locals>" in frame.f_code.co_qualname
            wrapped = _function_of_scipy(frame) if inner else None
            if wrapped is not None:
                module, called, own, inner = wrapped.__module__, wrapped.__name__, None, False
            if not name or not inner:  # the outermost of them is what the user called
                public = ".".join(part for part in module.split(".") if not part.startswith("_"))
                name = _name_in_scipy(public, called, own)
        elif not module.startswith(("numpy.", "contad.")):
            break
    if not name:
        return None
    article = "an" if kind[0] == "a" else "a"
    return (
        f"{name}: SciPy computes with plain numbers, and got {article} {kind} as an argument or from a function that "
        f"it calls; {_instead_of_scipy(name)}{_BY_A_RULE}"
    )


def _instead_of_scipy(name: str) -> str:
    """What of contad's or NumPy's does what a function of SciPy's does, in words; "" where nothing is known."""
    own = name.removeprefix("scipy.special.")
    try:  # mirrors are loaded as they are asked for
        found = callable(operator.attrgetter(own)(sys.modules["contad"]))
    except (AttributeError, ImportError):
        found = False
    if found or name in _OTHERWISE:
        return f"use {_OTHERWISE.get(name, f'contad.{own}')}; else "
    return next((advice for start, advice in _MIRRORED.items() if name.startswith(start)), "")


def _refusal_by_place(frames: list[FrameType]) -> str | None:
    """What to say where the user's own code assigns to an element of a plain array, or calls a function of `math`.

    `frames` are those of libraries that have been called, innermost first; only contad's may be among them.
    """
    frame = frames[-1].f_back if frames else None
    if frame is None or not all(f.f_code.co_filename.startswith(OWN_FILES) for f in frames):
        return None
    expression = _expression_in(frame)
    names = {**frame.f_builtins, **frame.f_globals, **frame.f_locals}
    operation = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    if operation in ("STORE_SUBSCR", "STORE_SLICE"):
        array: Any = expression.value if isinstance(expression, ast.Subscript) else ast.Name("it")
        while isinstance(array, ast.Subscript) and isinstance(names.get(ast.unparse(array.value)), np.ndarray):
            array = array.value  # of a[0][1] = x, a itself
        z = ast.unparse(array).removesuffix(".flat")
        name = z if isinstance(array, ast.Name | ast.Attribute | ast.Subscript) else "z"  # a call has none
        dtype = getattr(names.get(z), "dtype", None)
        other = dtype is not None and dtype != np.float64
        return (
            f"{z} is a plain array{f' of {dtype}' if other else ''}, whose elements cannot hold variables; make it in "
            f"the function that is differentiated: {name} = np.array({z}{', dtype=float' if other else ''}) before the "
            "first assignment, or by np.zeros, np.full, y.copy(); elsewhere by contad.array, contad.zeros"
        )
    called = expression.func if isinstance(expression, ast.Call) else None
    if called is not None:
        function = names.get(called.id) if isinstance(called, ast.Name) else None
        if isinstance(called, ast.Attribute) and names.get(ast.unparse(called.value)) is math:
            function = getattr(math, called.attr)
        name = getattr(function, "__name__", "")
        if inspect.isbuiltin(function) and function.__module__ == "math":
            return _instead_of_math(name)
    return None


def _instead_of_math(name: str) -> str:
    """What to say where a function of `math` is called as it is."""
    numpy, own = sys.modules["numpy"], sys.modules["contad"]
    own_name = next((known for known in (name, name.replace("a", "arc", 1)) if hasattr(own, known)), None)
    choices = [f"contad.{own_name}"] if own_name else []
    choices += [f"np.{own_name or name}"] if hasattr(numpy, own_name or name) else []
    instead = f"use {' or '.join(choices)}" if choices else "write it with functions of np"
    return (
        f"math.{name}: it computes with plain numbers, so the derivative would be lost; {instead}, or give it "
        "contad.value_of(v) where a constant is meant"
    )


def _expression_in(frame: FrameType) -> ast.expr | None:
    """What a frame is computing, or the target to which it assigns, as far as there is a source."""
    first, last, start, end = next(
        itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4
    )
    if first is None or last is None or start is None:
        return None
    try:
        return ast.parse(_source_between(frame.f_code.co_filename, first, last, start, end), mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _name_in_scipy(public: str, called: str, own: Any) -> str:
    """What the user calls a function of SciPy's, which is a method where `own` is an object."""
    own = getattr(own, "dist", own)  # of a distribution with its parameters
    tail = "" if called in ("__init__", "__call__") else f".{called}"
    above = public.rpartition(".")[0]  # a function may stand in a module that is not what one imports
    for module in (public, above) if own is not None else ():
        for name, x in vars(sys.modules.get(module, sys)).items():
            if x is own or (name == getattr(own, "name", None) and type(x) is type(own)):
                return f"{module}.{name}{tail}"
    return f"{public}{tail}" if tail else f"{public}.{type(own).__name__}"


def _function_of_scipy(frame: FrameType) -> FunctionType | None:
    """What the user called, where the frame is that of a decorator which SciPy has put around it."""
    for held in frame.f_locals.values():
        if (
            isinstance(held, FunctionType)
            and held.__module__.startswith("scipy.")
            and "<locals>" not in held.__qualname__
        ):
            return held
    return None


def _frames_above() -> list[FrameType]:
    """The frames of the caller of what calls this, innermost first, up to the first that is of no library."""
    frame: FrameType | None = sys._getframe(2)
    found: list[FrameType] = []
    while frame is not None and (_is_of_library(frame) or not found):
        found.append(frame)
        frame = frame.f_back
    return found


def _is_of_library(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__"))
    return module.startswith(("contad.", "numpy.")) or f"{os.sep}site-packages{os.sep}" in frame.f_code.co_filename
