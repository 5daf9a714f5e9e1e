"""Answers to isinstance, type, hasattr and `except` in functions that run on variables.

contad cannot tell the built-in functions that a variable stands for a float or an array. A function that calls them
runs as a copy of itself whose built-in names are these. So does a function that names functions of NumPy and `math`
which answer without asking the variables (see `contad.functions.stand_in_modules`), and a function with handlers
(`contad.functions.watched_blocks`; a handler that names an exception is noticed even without the source).
"""

import builtins
import cmath
import dis
import gc
import linecache
import math
import operator
import sys
import warnings
from collections.abc import Iterable
from itertools import starmap
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from contad.functions.bound_names import methods_called
from contad.functions.math_functions import as_complex
from contad.functions.methods_of_arrays import METHODS
from contad.functions.stand_in_classes import original, super_of_users
from contad.functions.stand_in_modules import ANSWERED, ANSWERED_OF_LISTS, MADE, OF_NUMBERS, StandIns, answering
from contad.functions.watched_blocks import look_at, watch
from contad.rules.definition import codes_of, global_names
from contad.variables.array import Array
from contad.variables.complex_pair import COMPLEX128, ComplexNumber, ComplexPair, split
from contad.variables.kept_dtypes import dtype_for
from contad.variables.number import Carrier, Number, stands_for_float
from contad.variables.weak_cache import weak_cache

_TYPES = {"float", "ndarray", "float64", "floating", "inexact", "number", "generic", "complex", "complex128",
          "complexfloating"}  # of what variables stand for
_WRITING = {"put", "fill", "copyto", "place", "putmask", "put_along_axis", "fill_diagonal", "sort", "at",
            "__setitem__"}  # fmt: skip
_CAUGHT = {"Exception", "BaseException", "TypeError", "ValueError", "AttributeError"}  # the classes of NumPy's refusals


# ---- questions -------------------------------------------------------------------------------------------------------
class Questions(NamedTuple):
    """The questions that the code of a function, and of functions inside it, may ask."""

    names: frozenset[str]  # names that it may look up
    of_types: bool  # it names types of primals
    catches: bool  # it has handlers that may catch errors that NumPy raises for variables
    iterates: bool  # it names __iter__ in a string
    inside: bool  # a function inside it asks, which takes its built-in names from the globals when it is made
    of_objects: bool  # it names functions that NumPy answers without asking the variables
    stored: frozenset[str]  # globals that it assigns to
    writes: bool  # it may write to elements of arrays
    compares_types: bool  # it may do more with type(x) than call it, as in type(self)(...)
    gives_classes: bool  # it gives super() a class, or names __class__ itself, which super() alone reads unseen
    compares_classes: bool  # it may compare x.__class__ with a class, or look it up
    of_methods: frozenset[str | None]  # the receivers of methods in METHODS: global names, None for all others
    of_copy: frozenset[str | None]  # and a method `copy`
    in_classes: frozenset[str]  # names that class bodies read, which look past the stand-ins


@weak_cache
def questions_of(code: CodeType) -> Questions:
    """The questions that a function may ask, by its code."""
    names = frozenset(global_names(code))
    codes = codes_of(code)
    instructions = [i for c in codes for i in dis.get_instructions(c)]
    operations = {"BINARY_SUBSCR" if i.argrepr == "[]" else i.opname for i in instructions}  # an operator since 3.14
    return Questions(
        names,
        not names.isdisjoint(_TYPES),
        not names.isdisjoint(_CAUGHT) and "CHECK_EXC_MATCH" in operations,
        any(x == "__iter__" for c in codes for x in c.co_consts if isinstance(x, str)),
        not {name for c in codes[1:] for name in c.co_names}.isdisjoint(_CAUGHT | ANSWERS.keys()),
        not names.isdisjoint(ANSWERED)
        or (not operations.isdisjoint(("BUILD_LIST", "LIST_APPEND")) and not names.isdisjoint(ANSWERED_OF_LISTS)),
        frozenset(i.argval for i in instructions if i.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")),
        any(map(_is_write, instructions)) or not names.isdisjoint(_WRITING) or any(map(_names_out, codes)),
        any(map(_compares_types, codes)),
        any(map(_gives_classes, codes)),
        code.co_filename != "<string>"  # the == of data classes, for which stand-ins have their own
        and "__class__" in names and not operations.isdisjoint(("IS_OP", "COMPARE_OP", "CONTAINS_OP", "BINARY_SUBSCR")),
        _receivers(codes, names & METHODS.keys()),
        _receivers(codes, names & {"copy"}),
        frozenset(i.argval for i in instructions if i.opname in ("LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")),
    )


def _receivers(codes: Iterable[CodeType], methods: frozenset[str]) -> frozenset[str | None]:
    """The receivers of calls of these methods: global names, None for all others."""
    return frozenset(name for c in codes for method in methods for name in methods_called(c, method))


def _compares_types(code: CodeType) -> bool:
    instructions = [*dis.get_instructions(code)]
    for k, i in enumerate(instructions):
        if i.opname in ("LOAD_GLOBAL", "LOAD_NAME") and i.argval == "type":
            last = len(instructions) - 1
            called = next((n for n in range(k + 1, last + 1) if instructions[n].opname.startswith("CALL")), last)
            after = instructions[called + 1].opname if called < last else ""
            is_made = k > 0 and instructions[k - 1].opname == "PUSH_NULL"
            if not is_made and after not in ("PUSH_NULL", "LOAD_ATTR", "LOAD_METHOD"):
                return True
    return False


def _gives_classes(code: CodeType) -> bool:
    instructions = [i for i in dis.get_instructions(code) if i.opname not in ("PRECALL", "PUSH_NULL")]
    for k, i in enumerate(instructions):
        before, after = instructions[k - 1 : k], instructions[k + 1 : k + 4]
        if i.opname == "LOAD_GLOBAL" and i.argval == "super":
            called, looked = after[0], after[-1]  # super(), and super().name since 3.12
            is_alone = called.opname == "CALL" and called.arg == 0
            if not is_alone and (looked.opname != "LOAD_SUPER_ATTR" or (looked.arg or 0) & 2):
                return True
        elif i.argval == "__class__" and "DEREF" in i.opname and not (before and before[0].argval == "super"):
            return True
    return False


def _is_write(i: dis.Instruction) -> bool:
    return i.opname in ("STORE_SUBSCR", "STORE_SLICE") or (i.opname == "BINARY_OP" and i.argrepr.endswith("="))


def _names_out(code: CodeType) -> bool:
    return any(isinstance(x, tuple) and "out" in x for x in code.co_consts)


def asks(f: FunctionType, named: list[Any]) -> bool:
    """Whether a function may ask a question that a variable cannot answer itself; contad's own functions know
    variables.

    `named` are the values of its global and captured names.
    """
    if is_contads(f):
        return False
    asked = questions_of(f.__code__)
    if asked.of_types:
        _warn_of_unseen(f.__code__)
    if any(isinstance(x, np.vectorize) for x in named):
        return True
    if not asked.of_methods.issubset(modules_of(f)):
        return True
    if asked.catches or watch(f.__code__) is not None or names_of_objects(f, named):
        return True
    names = {name for name in ANSWERS if name in asked.names and name not in f.__globals__}
    if not names:
        return False
    return (
        not names.isdisjoint(("type", "complex"))
        or ("isinstance" in names and (asked.of_types or any(isinstance(x, (type, tuple)) for x in named)))
        or ("hasattr" in names and asked.iterates)
    )


def modules_of(f: FunctionType) -> set[str | None]:
    """The global names whose methods a function calls and that are modules."""
    asked = questions_of(f.__code__)
    return {x for x in asked.of_methods | asked.of_copy if x and isinstance(f.__globals__.get(x), ModuleType)}


def is_contads(f: FunctionType) -> bool:
    """Whether a function is of contad, which knows variables."""
    return (f.__globals__.get("__name__") or "").partition(".")[0] == "contad"


_BY_NAME = {id(module) for module in (np, np.linalg, np.fft, math, cmath)}  # of which only some functions have answers


def names_of_objects(f: FunctionType, named: list[Any]) -> bool:
    """Whether a function reaches, in any way, functions that NumPy or `math` answer without asking the variables."""
    asked = questions_of(f.__code__)
    if asked.of_objects:
        return True
    if not asked.names.isdisjoint(OF_NUMBERS) and (
        not asked.names.isdisjoint(("math", "cmath")) or any(x is math or x is cmath for x in named)
    ):
        return True
    return any(answering(x) is not x for x in named if x.__class__ is not ModuleType or id(x) not in _BY_NAME)


def makes_arrays(f: FunctionType, named: list[Any], stand_ins: StandIns) -> bool:
    """Whether a function names a NumPy function that makes arrays, or a method of that name, such as `copy`."""
    if not questions_of(f.__code__).names.isdisjoint(MADE):
        return True
    return any(id(x) in stand_ins.of for x in named if x.__class__ is not ModuleType)


def passes_by_globals(f: FunctionType) -> bool:
    """Whether the function assigns to globals, or reads them in a class body; the globals of a copy would not
    notice."""
    asked = questions_of(f.__code__)
    return bool(asked.stored) or any(name in f.__globals__ and name != "__name__" for name in asked.in_classes)


@weak_cache
def _warn_of_unseen(code: CodeType) -> None:
    """Warn once if a function asks in a way that no copy can answer for variables."""
    for inner in codes_of(code):
        line = inner.co_firstlineno
        instructions = list(dis.get_instructions(inner))
        for k, i in enumerate(instructions):
            line = (i.positions and i.positions.lineno) or line
            after = {j.opname for j in instructions[k + 1 : k + 5]}
            asked = "match" if i.opname == "MATCH_CLASS" else ""
            if i.opname == "LOAD_ATTR" and i.argval == "__class__" and after & {"IS_OP", "COMPARE_OP", "CONTAINS_OP"}:
                asked = "x.__class__"
            if not asked:
                continue
            text = linecache.getline(code.co_filename, line).strip()
            warnings.warn_explicit(
                f"{asked} sees the class of a variable, not what it stands for, and may take another branch than with "
                f"plain numbers ({text}); ask by isinstance(x, float) or isinstance(x, np.ndarray)",
                RuntimeWarning, code.co_filename, line,
            )  # fmt: skip
            return


@weak_cache
def attributes_of(code: CodeType) -> frozenset[str]:
    """The names that the code of a function, and of functions inside it, looks up anywhere, also by getattr."""
    texts = {x for c in codes_of(code) for x in c.co_consts if isinstance(x, str) and x.isidentifier()}
    return frozenset(global_names(code)) | texts


@weak_cache
def warn_if_it_asks(code: CodeType) -> None:
    """Warn once if a method without a copy asks for the types of primals."""
    asked = questions_of(code)
    names = asked.names & {"isinstance", "type"}
    if asked.of_types and names:
        warnings.warn_explicit(
            f"{code.co_qualname}: {min(names)} sees variables there, not the floats and arrays that they stand for, "
            "and may take another branch than with plain numbers: its class is named in a function that also names "
            "type or __class__. Compare classes in a function of its own",
            RuntimeWarning, code.co_filename, code.co_firstlineno,
        )  # fmt: skip


# ---- the answers -----------------------------------------------------------------------------------------------------
def class_of_primal(x: object) -> type:
    """type(x); for a variable the type of its primal: float, np.float64, complex, np.complex128 or np.ndarray."""
    if isinstance(x, ComplexPair):
        whole = isinstance(x, ComplexNumber) and all(map(stands_for_float, split(x)))
        return complex if whole else np.complex128 if isinstance(x, ComplexNumber) else np.ndarray
    if not isinstance(x, Carrier):
        return original(type(x))
    if isinstance(x, Array):
        return np.ndarray
    return float if x.is_float else dtype_for(x).type


def isinstance_of_primal(x: object, classes: type | tuple[Any, ...]) -> bool:
    """isinstance(x, classes); a variable also counts as the type of its primal (`class_of_primal`).

    >>> isinstance_of_primal(1.0, float)
    True
    """
    return isinstance(x, classes) or (
        isinstance(x, (Carrier, ComplexPair)) and issubclass(class_of_primal(x), classes)
    )


def hasattr_of_primal(x: object, name: str) -> bool:
    """hasattr(x, name); a number does not show `__iter__`, which exists only to refuse iteration."""
    return hasattr(x, name) and not (name == "__iter__" and isinstance(x, Number))


class _Meta(type):
    """A metaclass that makes a class behave as `type` does."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        if cls is not type_of_primal:  # a user's metaclass
            return super().__call__(*args, **options)
        if len(args) != 1:
            return type(*args, **options)
        found = class_of_primal(args[0])
        return cls if found is type else complex_of_primals if found is complex else found

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, type) if cls is type_of_primal else super().__instancecheck__(x)

    def __subclasscheck__(cls, c: type) -> bool:
        return issubclass(c, type) if cls is type_of_primal else super().__subclasscheck__(c)


class type_of_primal(type, metaclass=_Meta):
    """`type`, for which a variable has the type of its primal."""


def type_of_stand_in(*args: Any, **options: Any) -> Any:
    """`type`, if it is called for the class of an object in order to make another one."""
    if len(args) == 1 and not isinstance(args[0], (Carrier, ComplexPair)):
        return type(args[0])
    return type_of_primal(*args, **options)


class _ComplexMeta(type):
    """A metaclass that makes a class behave as `complex` does."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        if cls is not complex_of_primals:
            return super().__call__(*args, **options)
        given = [*args, *options.values()]
        if not any(isinstance(x, (Carrier, ComplexPair)) for x in given):
            return complex(*args, **options)
        return as_complex(*args, **{{"real": "x", "imag": "y"}.get(name, name): x for name, x in options.items()})

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance_of_primal(x, complex) if cls is complex_of_primals else super().__instancecheck__(x)

    def __subclasscheck__(cls, c: type) -> bool:
        return issubclass(c, complex) if cls is complex_of_primals else super().__subclasscheck__(c)

    def __eq__(cls, other: object) -> bool:
        return other is cls or (other is complex and cls is complex_of_primals)

    def __hash__(cls) -> int:
        return hash(complex) if cls is complex_of_primals else super().__hash__()


class complex_of_primals(complex, metaclass=_ComplexMeta):
    """`complex`, which takes variables; as a dtype it is complex128."""

    dtype = COMPLEX128


ANSWERS = {"isinstance": isinstance_of_primal, "type": type_of_primal, "hasattr": hasattr_of_primal,
           "complex": complex_of_primals}  # fmt: skip
_BUILTINS = vars(builtins) | ANSWERS


class _HandlingBuiltins(dict[str, Any]):
    """Built-in names. Handlers look up the names of exceptions while they handle one."""

    def __missing__(self, name: str) -> Any:
        value = vars(builtins)[name]
        look_at(sys.exc_info()[1])
        return value


_HANDLING = _HandlingBuiltins({name: x for name, x in _BUILTINS.items() if name not in _CAUGHT})


def built_in_answer(name: str, asked: Questions) -> Any:
    """The replacement of a built-in name in the copy of a function with these questions; None if there is none."""
    if name == "type" and not asked.compares_types:
        return type_of_stand_in
    return super_of_users if name == "super" and asked.gives_classes else ANSWERS.get(name)


def builtins_of(f: FunctionType, stand_ins: StandIns) -> dict[str, Any]:
    """The built-in names for a copy of a function."""
    asked = questions_of(f.__code__)
    names = _HANDLING if handles_unseen(f.__code__) else _BUILTINS
    if asked.gives_classes:
        names = type(names)(names | {"super": super_of_users})
    if not asked.names.isdisjoint(_IMPORTED):  # the function may import them itself

        def import_answering(*args: Any) -> Any:
            found = vars(builtins)["__import__"](*args)
            return stand_ins.of.get(id(found), found)

        return type(names)(names | {"__import__": import_answering})
    return names


_IMPORTED = {"numpy", "math", "cmath", "numpy.linalg", "numpy.fft", "numpy.polynomial"}


def handles_unseen(code: CodeType) -> bool:
    """Whether a function has handlers, but no source for a watching copy."""
    return questions_of(code).catches and watch(code) is None


def code_of(f: FunctionType) -> CodeType:
    """The code of a copy of a function."""
    return watch(f.__code__) or f.__code__


def answer(f: FunctionType, cells: tuple[CellType, ...], names_of: dict[str, Any]) -> FunctionType:
    """A copy of a function, with its own globals, and with these built-in names.

    Python takes them from the globals when it makes a function, and at no other time. One Python instruction exchanges
    them and puts them back, so no other thread runs in between. Neither does the garbage collector, which might run a
    user's __del__.
    """
    names = f.__globals__
    before = names.get("__builtins__")
    put: tuple[Any, ...] = (dict.__setitem__, names, "__builtins__", before)
    collector: tuple[Any, Any] = (gc.disable, gc.enable) if gc.isenabled() else (bool, bool)
    _, _, copy, _, _ = starmap(
        operator.call,
        [
            (collector[0],),
            (dict.__setitem__, names, "__builtins__", names_of),
            (FunctionType, code_of(f), names, f.__name__, None, cells),
            put if before is not None else (dict.pop, names, "__builtins__"),
            (collector[1],),
        ],
    )
    return copy
