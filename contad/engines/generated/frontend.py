"""The front end: a user's function and the types of its arguments, read into a program."""

from typing import Any

from contad.engines.generated.entries import Elementwise, Object, Unknown
from contad.engines.generated.exits import RESULT
from contad.engines.generated.hoist import hoist
from contad.engines.generated.ir import Kind, Program, Value
from contad.engines.generated.refusal import Place, refuse
from contad.engines.generated.scope import Scope
from contad.engines.generated.simplify import simplify
from contad.engines.generated.statements import Statements


class _Reader(Statements):
    def __init__(self, scope: Scope, checked_division: bool) -> None:
        super().__init__(checked_division)
        self.scope = scope
        self.inlining = (scope.function,)
        self.captured: dict[str, Any] = {}
        self.scopes = {scope.function: scope}


def read(function: Any, kinds: tuple[Any, ...], checked_division: bool = True) -> Program:
    """The program of a function; `kinds` has, per argument, a kind, nested tuples of kinds, or an Object."""
    scope = Scope(getattr(function, "py_func", function))
    reader = _Reader(scope, checked_division)
    parameters = tuple(_parameter(kind, name) for kind, name in zip(kinds, scope.names, strict=True))
    env = dict(zip(scope.names, parameters, strict=True))
    reader.statements(scope.body, env)
    for length in reversed(reader.start):
        length.block = reader.block
        length.result.block = reader.block
        reader.block.operations.insert(0, length)
    wrong = reader.wrongly_written(reader.block)
    if wrong is not None:
        operation, buffer = wrong
        place = Place(scope.place.filename, scope.place.function, operation.line)
        construct = f"a write into an array that may be the one named {buffer.name}, which a loop makes anew"
        refuse(place, construct, f"write into a copy, as in {buffer.name} = {buffer.name}.copy()")
    returned = env.get(RESULT, Object(None))
    program = Program(function.__name__, list(parameters), reader.block)
    program.returned = _settled(reader, returned)
    program.captured = {name: array for name, (_, array) in reader.captured.items()}
    for name, (value, _) in reader.captured.items():
        value.hint = name
    simplify(program)
    hoist(program)
    program.captured_values = [value for value, _ in reader.captured.values()]
    return program


def _settled(reader: _Reader, entry: Any) -> Any:
    if isinstance(entry, tuple):
        return tuple(_settled(reader, part) for part in entry)
    if isinstance(entry, Elementwise):
        return reader.computed(entry, "result")
    if isinstance(entry, Unknown):
        refuse(reader.scope.place, f"what it returns: {entry.reason}", "return numbers, arrays made once, or tuples")
    if not isinstance(entry, Value):
        what = "nothing" if isinstance(entry, Object) and entry.value is None else "something that is no number"
        refuse(reader.scope.place, f"it returns {what} on some path", "return the value to differentiate")
    return entry


def _parameter(kind: Any, name: str) -> Any:
    if isinstance(kind, tuple):
        return tuple(_parameter(part, f"{name}_{k}") for k, part in enumerate(kind))
    return Value(kind, name) if isinstance(kind, Kind) else kind
