"""Casts arguments, results and names to the types that user functions declare."""

from typing import Any

from numba import types

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import is_number
from contad.engines.source.ir.ssa import Kind
from contad.engines.source.ir.walks import like
from contad.engines.source.reading.builder import Builder
from contad.engines.source.reading.numba_typing import is_wide, type_of
from contad.errors import UnsupportedError
from contad.functions.declared_types import (
    chosen_signature,
    is_number as is_number_type,
    place_of,
    refuse_cast,
    signatures,
)

_KINDS = {"float64": Kind("float"), "int64": Kind("int"), "bool": Kind("bool")}


def cast_arguments(builder: Builder, f: Any, names: list[str], given: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Cast the arguments of the dispatcher f to its declared signature; also the declared type of the result.

    Raises UnsupportedError if no signature takes them, or if a derivative would have to pass a cast to float32 or to
    integers other than int32 and int64.
    """
    if f is None or not signatures(f):
        return given, None
    known = [type_of(given[name], is_wide, layout="A") for name in names]
    if None in known:
        k = known.index(None)
        raise UnsupportedError(
            f"{place_of(f)}: {names[k]} is declared as {signatures(f)[0].args[k]}, and of what it is given this engine "
            "does not know the type; leave the declaration away"
        )
    s = chosen_signature(f, known)
    return (
        {name: cast(builder, f, name, given[name], t) for name, t in zip(names, s.args, strict=True)},
        s.return_type,
    )


def cast_declared(builder: Builder, scope: Any, env: dict[str, Any]) -> dict[str, Any]:
    """An environment in which declared names are cast to their types."""
    declared = {name: t for name, t in scope.declared.items() if name in env}
    return env | {name: cast(builder, scope.dispatcher, name, env[name], t) for name, t in declared.items()}


def cast(builder: Builder, f: Any, what: str, entry: Any, want: Any) -> Any:
    """An entry cast to a declared type; `want` is None if nothing is declared."""
    if isinstance(entry, tuple) and isinstance(want, types.BaseTuple) and len(entry) == len(want):
        return like(entry, (cast(builder, f, what, *pair) for pair in zip(entry, want, strict=True)))
    if want is None or not is_number_type(want) or not is_number(entry):
        return entry
    if want == types.int32:
        return builder.apply(known_functions.TO_INT32, builder.convert(entry, _KINDS["int64"]))
    if str(want) not in _KINDS:
        raise refuse_cast(f, what, want)
    return builder.convert(entry, _KINDS[str(want)])
