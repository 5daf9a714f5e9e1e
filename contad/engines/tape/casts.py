"""Casts to declared types in a rebuilt function: of the arguments and the result of a callee, and of names.

A cast to an integer or a boolean casts the plain number, as Numba does, and its result is a constant.
"""

import ast
import inspect
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from numba import typeof, types

from contad.compile.machine_code import njit
from contad.compile.overloads import overload_by_text
from contad.engines.tape.arrays import carries, is_active_array
from contad.engines.tape.variables import Active, ActivePair
from contad.errors import UnsupportedError
from contad.functions.declared_types import NameCasts, chosen_signature, is_number, place_of, refuse_cast
from contad.rules.definition import definition_of, factory_of, without_annotations

_NUMBERS = {"np": np, **{str(t): t for t in types.number_domain}}  # names that casts use


def plain_type(kind: Any) -> Any:
    """The type in the user's function for the type `kind` of the rebuilt function."""
    if isinstance(kind, (Active, ActivePair)):
        return types.float64 if isinstance(kind, Active) else types.complex128
    if carries(kind):
        return types.Array(plain_type(kind.dtype), kind.ndim, kind.layout, readonly=not kind.mutable)
    if isinstance(kind, types.BaseTuple) and not isinstance(kind, types.BaseNamedTuple):
        return types.Tuple([plain_type(part) for part in kind])
    return types.unliteral(kind)


# ---- signatures ------------------------------------------------------------------------------------------------------
def with_signature(f: Any, inner: Any, options: dict[str, Any]) -> tuple[Any, Any]:
    """The rebuilt function `inner` of the dispatcher f, with the casts of the signature that Numba chooses.

    The second function does the same for calls from `inner` itself. Numba inlines it: in a recursive call Numba knows
    the type that `inner` has returned so far, but not the type of a function around `inner`.
    """
    function = f.py_func
    called = inspect.signature(function)
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in called.parameters.values()):
        raise UnsupportedError(f"{place_of(f)}: a declared signature beside *args; give it a fixed number of arguments")
    names = ", ".join(called.parameters)
    text = (
        f"def declared({names}):\n    given_ = ({names},)\n"
        "    return of_result_(given_, inner_(*of_arguments_(given_)))\n"
    )
    known: dict[str, Any] = {"inner_": inner, **_casts(f)}
    exec(text, known)
    made: FunctionType = known["declared"]
    made.__name__ = made.__qualname__ = function.__name__
    made.__defaults__ = function.__defaults__
    return njit(**options)(made), njit(inline="always", **options)(made)


def _casts(f: Any) -> dict[str, Any]:
    """The casts inside njit: of all arguments, as a tuple, and of the result."""

    def of_arguments_(given: Any) -> Any:
        return _cast_numbers(given, types.Tuple(chosen_signature(f, [typeof(x) for x in given]).args))

    def of_result_(given: Any, z: Any) -> Any:
        return _cast_numbers(z, chosen_signature(f, [typeof(x) for x in given]).return_type)

    def write_arguments(given: Any) -> Any:
        wanted = chosen_signature(f, [plain_type(t) for t in given]).args
        pairs = enumerate(zip(given, wanted, strict=True))
        parts = [_cast(f, "an argument", f"given[{k}]", *pair) for k, pair in pairs]
        return [f"return ({', '.join(parts)},)"], _NUMBERS

    def write_result(given: Any, z: Any) -> Any:
        wanted = chosen_signature(f, [plain_type(t) for t in given]).return_type
        return [f"return {_cast(f, 'the result', 'z', z, wanted)}"], _NUMBERS

    overload_by_text(of_arguments_, "given", write_arguments)
    overload_by_text(of_result_, "given, z", write_result)
    return {"of_arguments_": of_arguments_, "of_result_": of_result_}


def _cast_numbers(x: Any, want: Any) -> Any:
    """A value outside njit with its numbers cast to a declared type."""
    if isinstance(x, tuple) and isinstance(want, types.BaseTuple) and not isinstance(want, types.BaseNamedTuple):
        return tuple(map(_cast_numbers, x, want))
    return want.cast_python_value(x) if is_number(want) else x


def _cast(f: Any, what: str, text: str, have: Any, want: Any) -> str:
    """The expression that casts a value of one type to a declared type."""
    if isinstance(have, types.BaseTuple) and isinstance(want, types.BaseTuple) and len(have) == len(want):
        if isinstance(have, types.BaseNamedTuple) or not len(have):
            return text
        parts = [_cast(f, what, f"{text}[{k}]", *pair) for k, pair in enumerate(zip(have, want, strict=True))]
        return f"({', '.join(parts)},)"
    if not is_number(want):
        if is_active_array(have) and getattr(want, "dtype", types.float64) != types.float64:
            raise refuse_cast(f, what, want, True)
        return text
    if isinstance(have, Active):
        if want == types.float64:
            return text
        if isinstance(want, types.Float):
            raise refuse_cast(f, what, want, True)
        text = f"{text}.value"
    if want == types.boolean:
        return f"({text} != 0)"
    return f"float({text})" if want == types.float64 else f"{want}({text})"


# ---- names -----------------------------------------------------------------------------------------------------------
def with_casts(f: Any, declared: dict[str, Any], names: dict[str, Any]) -> CodeType:
    """The code of the dispatcher f with a cast after each statement that binds a name of declared type.

    The casts are entered into `names`, the globals of the rebuilt function.
    """
    function = f.py_func
    code = function.__code__
    try:
        definition, _ = definition_of(function)
    except OSError:
        definition = ast.Pass()
    if not isinstance(definition, ast.FunctionDef):
        raise UnsupportedError(f"{place_of(f)}: locals= of a function whose source cannot be read; define it in a file")
    called = {name: f"cast_{name}_to_{t}_" for name, t in declared.items()}
    names |= {called[name]: _name_cast(f, name, t) for name, t in declared.items()}
    definition = NameCasts(called).function(without_annotations(definition))
    module = factory_of(definition, "factory", code.co_freevars)
    made = compile(module, code.co_filename, "exec", dont_inherit=True)
    (outer,) = (x for x in made.co_consts if isinstance(x, CodeType))
    found = next(x for x in outer.co_consts if isinstance(x, CodeType) and x.co_name == definition.name)
    if found.co_freevars != code.co_freevars:
        raise UnsupportedError(f"{place_of(f)}: locals= beside captured values; pass them as arguments")
    return found


def _name_cast(f: Any, name: str, want: Any) -> Any:
    def cast(x: Any) -> Any:
        return _cast_numbers(x, want)

    overload_by_text(cast, "x", lambda x: ([f"return {_cast(f, name, 'x', x, want)}"], _NUMBERS))
    return cast
