"""Errors for NumPy and SciPy functions that received variables: they name the function and its replacement."""

import ast
import dis
import inspect
import itertools
import math
import operator
import os
import re
import sys
import traceback
from types import FrameType, FunctionType
from typing import Any

import numpy as np

from contad.errors import (
    NUMPY_FILES,
    OWN_FILES,
    ContadError,
    LostDerivativeError,
    UnsupportedError,
    VariableError,
    place_in_traceback,
    source_between,
)

_REFUSALS = re.compile(
    r"(Cannot cast ufunc '(\w+)' input.* from dtype\('O'\)|ufunc '(\w+)' not supported for the input types"
    r"|Cannot cast (?:array data|scalar) from dtype\('O'\)|object arrays are not supported"
    r"|Iterator operand (?:\d+ dtype could not be cast from dtype\('O'\)|or requested dtype holds references)"
    r"|no supported conversion for types: .*dtype\('O'\)"
    r"|Result from function call is not a proper array of floats|data type <class 'numpy.object_'> not inexact"
    r"|(unorderable types for comparison)$)"
)
_NO_ARRAY = re.compile(r"'float' object has no attribute '(shape|dtype|ndim)'$")  # NumPy's own code
_NO_NDARRAY = re.compile(r"argument \d+ must be numpy\.ndarray, not Array\w+$")  # of C code that checks types
_NO_BUFFER = re.compile(r"(?:.*bytes-like object is required, not '\w*(?:Var|Dual)'|.*argument must be an ndarray)$")
_NO_METHOD = re.compile(r"loop of ufunc does not support argument \d+ of type (\w+) which has no callable (\w+) method")
_METHOD = re.compile(r"__\w+__")
_NO_KIND = re.compile(r"ufunc '(\w+)' cannot use operands with types dtype\('([^']+)'\) and dtype\('([^']+)'\)")
_NO_ROOM = re.compile(r"Cannot cast ufunc '(\w+)' output from dtype\('O'\)")
_IN_ARRAYS = "S @ x takes array variables (of a list contad.array([...]), of an object array contad.to_varmat(v)), and "
_MIRRORED = {  # prefix of names: remedy besides the contad function of that name, if there is one
    "scipy.linalg.": "contad.scipy.linalg has SciPy's names for variables; else ",
    "scipy.sparse.": f"{_IN_ARRAYS}contad.scipy.sparse has matrices of variables, spsolve, splu, cg; else ",
    "scipy.spatial.transform.": "contad.scipy.spatial.transform has Rotation and Slerp for variables; else ",
    "scipy.stats.": "write its formula with functions of np and contad (contad.gammaln, contad.erf, contad.xlogy); "
    "else ",
}
_ROOT_SCALAR = "contad.scipy.optimize.root_scalar"
_OTHERWISE = {  # SciPy functions: functions that give the same under another name
    "scipy.integrate.trapezoid": "np.trapezoid",
    "scipy.optimize.fsolve": "contad.scipy.optimize.root",
    "scipy.optimize.minimize_scalar": "contad.scipy.optimize.minimize",
    "scipy.optimize.leastsq": "contad.scipy.optimize.least_squares",
    "scipy.optimize.curve_fit": "contad.scipy.optimize.least_squares of the residuals",
}
_OTHERWISE |= {f"scipy.optimize.{name}": _ROOT_SCALAR for name in (
    "brentq", "brenth", "ridder", "bisect", "toms748", "newton",
)}  # fmt: skip
_BY_A_RULE = (
    "differentiate its result by a rule, contad.custom_vjp or contad.scalar_rule (roots and minima by the implicit "
    "function theorem), or give it contad.value_of(v) where a constant is meant"
)
IN_A_RULE = (
    "call code in C inside a rule, contad.custom_vjp, whose functions are given float arrays; if this is inside one, "
    "the rule itself is being differentiated, for a derivative of higher order: its functions must call rules as well"
)
_CALLED_BACK = (
    "a function of SciPy or another library, written in C, called back a Python function and got a variable, of which "
    f"it can make nothing; {_BY_A_RULE}"
)


def make_lost(message: str, kind: str, level: Any) -> LostDerivativeError:
    """The error for a conversion to plain numbers: this message, unless a function of SciPy or NumPy converts."""
    frames = _frames_above()
    told = _refusal_of_scipy(frames, kind) or _refusal_of_python_code(frames) or _refusal_by_place(frames) or message
    return LostDerivativeError(told, level=level)


def make_unsupported_by_pandas(level: Any) -> UnsupportedError:
    """The error if pandas converts a variable with which it meant to compute."""
    return UnsupportedError(
        "pandas: a Series or DataFrame meets a variable, of which it cannot take the derivative; use its numbers, "
        "s.to_numpy()",
        level=level,
    )


def error_behind(error: BaseException, caught: VariableError | None = None) -> ContadError | None:
    """The contad error that should replace an error of NumPy or SciPy, if any.

    NumPy's assignment to an element turns an error of a conversion into a ValueError. SciPy's C code (brentq) continues
    after an exception in a callback, until Python finds it elsewhere, unchanged or as a SystemError, or raises its own
    error: `caught` is the first error that the level has remembered. NumPy itself handles object arrays of variables,
    so only the end of the call can tell the meaning of a refusal.
    """
    if isinstance(error, ContadError):
        return None
    refusal = (
        _refusal_of_ufunc(error)
        or _refusal_of_objects(error)
        or _refusal_of_c_code(error)
        or _refusal_of_arguments(error)
    )
    if refusal is not None:
        return refusal
    if isinstance(error, (SystemError, ValueError, AttributeError)):
        behind: BaseException | None = error
        seen: list[BaseException] = []  # a reraised exception may be its own context
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
    """Whether an existing attribute was not found: Python's lookup fails while an exception is pending."""
    if not isinstance(error, AttributeError):
        return False
    if error.name is None:  # the method of an operation, such as v[0]: the interpreter tells only its name
        entry = error.__traceback__
        while entry is not None and entry.tb_next is not None:
            entry = entry.tb_next
        raised = entry is None or dis.opname[entry.tb_frame.f_code.co_code[entry.tb_lasti]] == "RAISE_VARARGS"
        return not raised and _METHOD.fullmatch(str(error)) is not None
    nothing = object()
    return inspect.getattr_static(error.obj, error.name, nothing) is not nothing


def _refusal_of_ufunc(error: BaseException) -> ContadError | None:
    """The error for a ufunc that got variables in an object array, and has no room, or no method, for them."""
    found: Any = _NO_ROOM.match(str(error))
    if found is not None:
        return LostDerivativeError(
            f"np.{found[1]}: an array of floats cannot hold a variable (out=, or an operation in place); write "
            "a = a + x, or create a with contad.zeros",
            place=place_in_traceback(error),
        )
    found = _NO_KIND.match(str(error))
    if found is not None and "O" in found.groups():  # from an engine whose arrays hold variables
        kind = np.dtype(found[3] if found[2] == "O" else found[2])
        return UnsupportedError(
            f"np.{found[1]}: expected real numbers beside variables, got an array of {kind}",
            place=place_in_traceback(error),
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
        place=place_in_traceback(error),
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
    place = place_in_traceback(error)
    if refusal is not None:
        return UnsupportedError(refusal, place=place)
    inside = [frame.f_code.co_filename.startswith((NUMPY_FILES, OWN_FILES)) for frame, _ in frames]
    last = max((k for k, within in enumerate(inside) if not within), default=-1)
    ufunc = found[2] or found[3] or (found[4] and "sign") if found.re is _REFUSALS else None
    function = ufunc or "a conversion to floats"
    if last + 1 < len(frames):  # the NumPy function that the user called
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
    """The error for C code that checks for ndarrays by type, such as the factors of scipy.sparse.linalg.splu."""
    of_memory = _NO_BUFFER.match(str(error)) is not None
    if not of_memory and (not isinstance(error, TypeError) or _NO_NDARRAY.match(str(error)) is None):
        return None
    of_factors = f"use the factors of contad.scipy.sparse.linalg.splu for those of SciPy's; else {_BY_A_RULE}"
    remedy = IN_A_RULE if of_memory else of_factors
    return LostDerivativeError(
        f"code in C computes with plain arrays, and got an array variable ({error}); {remedy}",
        place=place_in_traceback(error),
    )


def _refusal_of_arguments(error: BaseException) -> ContadError | None:
    """The error for a SciPy function that does not take variables, and says so in its own words."""
    if not isinstance(error, (TypeError, AttributeError)):
        return None
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    called = list(itertools.takewhile(_is_of_library, reversed(frames)))  # innermost first
    scipys = [frame for frame in called if str(frame.f_globals.get("__name__")).startswith("scipy.")]
    kind = _kind_of(_arguments_of(scipys[-1])) if scipys else None
    refusal = _refusal_of_scipy(called, kind) if kind else None
    return UnsupportedError(refusal, place=place_in_traceback(error)) if refusal else None


def _arguments_of(frame: FrameType) -> list[Any]:
    names, more, named, local = inspect.getargvalues(frame)
    found = [local[name] for name in names if name in local]
    return [*found, *local.get(more or "", ()), *local.get(named or "", {}).values()]


def _kind_of(x: Any) -> str | None:
    """The name in messages of a value that carries a derivative, or of the first such value in a sequence; else
    None."""
    if isinstance(x, (list, tuple)):
        return next(filter(None, map(_kind_of, x)), None)
    return x.kind if hasattr(type(x), "_owner") else None


def place_of(name: str) -> str:
    """Where users find a function of contad.ops; "" if there is none of that name."""
    contad = sys.modules["contad"]
    if name not in contad.ops.__all__:
        return ""
    if name in contad.__all__:
        return f"contad.{name}"
    is_ufunc = isinstance(getattr(np, name, None), np.ufunc)
    homes = () if is_ufunc else (operator.attrgetter(home)(contad) for home in ("scipy.special", "stan"))
    return f"{next((home.__name__ for home in homes if name in home.__all__), 'contad.ops')}.{name}"


def _instead_of(function: str) -> str:
    """The remedy if a NumPy function does not take an object array of variables."""
    name = function.rpartition(".")[2]
    own = f"call {place}, or " if (place := place_of(name)) else ""
    return (
        f"{own}give it contad.array([...]) for a list, contad.to_varmat(v) for an object array; where engine= is "
        "given, leave it out, so that these are array variables"
    )


_ADVICE = {  # on functions that NumPy writes in Python, where it is not that on object arrays
    "np.ma": "masked arrays hold plain numbers; leave elements out by x[~mask], np.where, or np.nansum and its kin",
}


def _refusal_of_python_code(frames: list[FrameType]) -> str | None:
    """The message if one of these frames, innermost first, belongs to np.linalg, np.ma or np.roots, which convert."""
    name = ""
    for frame in frames:
        module, called = str(frame.f_globals.get("__name__")), frame.f_code.co_name
        if module.startswith(("numpy.linalg", "numpy.ma")) or (called == "roots" and module.startswith("numpy.")):
            name = "np.ma" if module.startswith("numpy.ma") else f"np.{'' if called == 'roots' else 'linalg.'}{called}"
        elif name or not module.startswith(("contad.", "numpy.")):
            break
    told = _ADVICE.get(name) or f"NumPy does not take object arrays of variables here; {_instead_of(name)}"
    return f"{name}: {told}" if name else None


def _refusal_of_scipy(frames: list[FrameType], kind: str) -> str | None:
    """The message if the first library frames among these, innermost first, belong to SciPy."""
    name = ""
    for frame in frames:
        module = str(frame.f_globals.get("__name__"))
        if module.startswith("scipy."):
            called, own = frame.f_code.co_name, frame.f_locals.get("self")
            inner = "<locals>" in frame.f_code.co_qualname
            wrapped = _function_of_scipy(frame) if inner else None
            if wrapped is not None:
                module, called, own, inner = wrapped.__module__, wrapped.__name__, None, False
            inner = inner or called == "__ua_function__"  # by which SciPy chooses among libraries that transform
            if not name or not inner:  # the user called the outermost of them
                name = _name_in_scipy(module, called, own)
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
    """The replacement of a SciPy function in contad or NumPy, in words; "" if none is known."""
    try:  # mirrors are loaded on demand
        found = callable(operator.attrgetter(name)(sys.modules["contad"]))
    except (AttributeError, ImportError):
        found = False
    if found or name in _OTHERWISE:
        return f"use {_OTHERWISE.get(name, f'contad.{name}')}; else "
    return next((advice for start, advice in _MIRRORED.items() if name.startswith(start)), "")


def _refusal_by_place(frames: list[FrameType]) -> str | None:
    """The message if the user's own code assigns to an element of a plain array, or calls a function of `math`.

    `frames` are the frames of called libraries, innermost first; all must be contad's.
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
            array = array.value  # in a[0][1] = x, a itself
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
    function = names.get(called.id) if isinstance(called, ast.Name) else None
    if isinstance(called, ast.Attribute) and names.get(ast.unparse(called.value)) is math:
        function = getattr(math, called.attr)
    if inspect.isbuiltin(function) and function.__module__ == "math":
        return _instead_of_math(function.__name__)
    if called is not None and _draws(function, getattr(called, "attr", "")):
        return (
            f"{ast.unparse(called)}: NumPy draws with plain numbers, so derivatives by the parameters would be lost; "
            "draw without parameters, m + s * rng.standard_normal(n) or a quantile of rng.random(n), or give it "
            "contad.value_of(v) where a constant is meant"
        )
    return None


def _draws(function: Any, attribute: str) -> bool:
    """Whether the called C code draws random numbers: a function, or an attribute of that name."""
    random: Any = sys.modules.get("numpy.random")
    kinds = (random.Generator, random.RandomState) if random else ()
    return isinstance(getattr(function, "__self__", None), kinds) or any(hasattr(kind, attribute) for kind in kinds)


def _instead_of_math(name: str) -> str:
    """The message if a function of `math` is called directly."""
    numpy = sys.modules["numpy"]
    known = next((known for known in (name, name.replace("a", "arc", 1)) if place_of(known)), name)
    place = f"np.{known}" if hasattr(numpy, known) else place_of(known)
    instead = f"use {place}" if place else "write it with functions of np"
    return (
        f"math.{name}: it computes with plain numbers, so the derivative would be lost; {instead}, or give it "
        "contad.value_of(v) where a constant is meant"
    )


def _expression_in(frame: FrameType) -> ast.expr | None:
    """The expression that a frame computes, or the target to which it assigns, if there is source."""
    first, last, start, end = next(
        itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4
    )
    if first is None or last is None or start is None:
        return None
    try:
        return ast.parse(source_between(frame.f_code.co_filename, first, last, start, end), mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _name_in_scipy(module: str, called: str, own: Any) -> str:
    """The public name of a function in a SciPy module, a method if `own` is an object."""
    own = getattr(own, "dist", own)  # of a distribution with its parameters
    parts = [part for part in module.split(".") if not part.startswith("_")]
    places = [".".join(parts[:k]) for k in range(min(2, len(parts)), len(parts) + 1)]  # one has it
    tail = "" if called in ("__init__", "__call__") else f".{called}"
    for public in places if own is not None else ():
        for name, x in vars(sys.modules.get(public, sys)).items():
            if x is own or (name == getattr(own, "name", None) and type(x) is type(own)):
                return f"{public}.{name}{tail}"
    name, tail = (called, "") if own is None else (type(own).__name__, tail)
    return f"{next((p for p in places if hasattr(sys.modules.get(p), name)), places[-1])}.{name}{tail}"


def _function_of_scipy(frame: FrameType) -> FunctionType | None:
    """The function that the user called, if the frame belongs to a SciPy decorator around it."""
    for held in frame.f_locals.values():
        if (
            isinstance(held, FunctionType)
            and held.__module__.startswith("scipy.")
            and "<locals>" not in held.__qualname__
        ):
            return held
    return None


def _frames_above() -> list[FrameType]:
    """The frames above the caller's caller, innermost first, up to the first outside of libraries."""
    frame: FrameType | None = sys._getframe(2)
    found: list[FrameType] = []
    while frame is not None and (_is_of_library(frame) or not found):
        found.append(frame)
        frame = frame.f_back
    return found


def _is_of_library(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__"))
    return module.startswith(("contad.", "numpy.")) or f"{os.sep}site-packages{os.sep}" in frame.f_code.co_filename
