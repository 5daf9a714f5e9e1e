"""Whether a Numba function may write into the arrays that it is given, by its byte code and that of its callees."""

import dis
import itertools
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from contad.callees import is_installed
from contad.dispatcher import global_names, is_dispatcher

_STORES = ("STORE_SUBSCR", "STORE_SLICE", "DELETE_SUBSCR", "STORE_ATTR")
_WRITERS = {"fill", "sort", "itemset", "put", "partition", "copyto", "fill_diagonal", "shuffle", "nan_to_num", "out"}
_KNOWN = {"numpy", "math", "cmath", "builtins", "operator", "contad"}  # their writers are in the set above
_THIRD_IS_OUT = {"dot", "take", "round", "around", "round_"}


def may_write_arrays(f: Any) -> bool:
    """False only where a function surely leaves its array arguments as they are."""
    return _may_write(f, set())


def _may_write(f: Any, seen: set[int]) -> bool:
    function = f.py_func if is_dispatcher(f) else f
    if not isinstance(function, FunctionType) or id(function) in seen:
        return False
    if function.__module__.partition(".")[0] in _KNOWN:
        return function.__name__ in _WRITERS
    if function is f and is_installed(function.__code__.co_filename):
        return True  # a library's overload, whose code is somewhere else
    seen.add(id(function))
    code = function.__code__
    return _code_may_write(code) or any(_may_write(x, seen) for x in _named(function, code))


def _named(function: FunctionType, code: CodeType) -> list[Any]:
    """What the names of a function stand for, and the attributes of users' modules that it may mean."""
    found = [cell.cell_contents for cell in function.__closure__ or ()]
    for name in global_names(code) & function.__globals__.keys():
        x = function.__globals__[name]
        found.append(x)
        if isinstance(x, ModuleType) and x.__name__.partition(".")[0] not in _KNOWN:
            found += [vars(x)[attribute] for attribute in global_names(code) & vars(x).keys()]
    return found


def _code_may_write(code: CodeType) -> bool:
    """Whether there is an assignment to elements, an in-place operator on what may be an array, or an `out`."""
    instructions = list(dis.get_instructions(code))
    numbers = _names_of_numbers(instructions) - {*code.co_varnames[: code.co_argcount]}
    calls = max((i.arg or 0 for i in instructions if i.opname.startswith(("CALL", "PRECALL"))), default=0)
    for k, i in enumerate(instructions):
        if i.opname in _STORES or (isinstance(i.argval, str) and i.argval in _WRITERS):
            return True
        if i.opname == "BINARY_OP" and i.argrepr.endswith("=") and instructions[k + 1].argval not in numbers:
            return True
        if isinstance(i.argval, tuple) and not _WRITERS.isdisjoint(x for x in i.argval if isinstance(x, str)):
            return True
    for name in global_names(code):
        ufunc = getattr(np, name, None)
        if (calls >= 3 and name in _THIRD_IS_OUT) or (isinstance(ufunc, np.ufunc) and calls > ufunc.nin):
            return True
    return any(_code_may_write(x) for x in code.co_consts if isinstance(x, CodeType))


def _names_of_numbers(instructions: list[dis.Instruction]) -> set[str]:
    """The local names that are only ever given constant numbers, or updated in place: never arrays, for Numba."""
    number: dict[str, bool] = {}
    for before, i in itertools.pairwise(instructions):
        if i.opname == "STORE_FAST" and not (before.opname == "BINARY_OP" and before.argrepr.endswith("=")):
            constant = before.opname.startswith("LOAD_") and isinstance(before.argval, (int, float))
            number[i.argval] = number.get(i.argval, True) and constant
    return {name for name, constant in number.items() if constant}
