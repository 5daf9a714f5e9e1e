"""The front end: reads a user's function, for arguments of given types, into SSA form."""

from collections.abc import Callable
from typing import Any

from contad.engines.source.analysis.hoist import hoist
from contad.engines.source.analysis.scalar_expansion import expand_scalars
from contad.engines.source.analysis.simplify import simplify
from contad.engines.source.ir.entries import Complex, Elementwise, Object, Opaque, OpaqueKind, Point, Unknown, constant
from contad.engines.source.ir.ssa import (
    Accumulate,
    Block,
    For,
    Handed,
    Kind,
    Loop,
    SourceFunction,
    Store,
    Value,
)
from contad.engines.source.ir.walks import around, leaves, like, values_in, walk
from contad.engines.source.planning.parts import divide
from contad.engines.source.reading import (  # noqa: F401  (readers)
    complex_matrix_calls,
    fourier_calls,
    joining_calls,
    matrix_calls,
    numpy_calls,
    shape_calls,
)
from contad.engines.source.reading.appended_arrays import AppendedArray
from contad.engines.source.reading.call_reader import CallReader
from contad.engines.source.reading.declared_names import cast, cast_arguments, cast_declared
from contad.engines.source.reading.exits import RESULT
from contad.engines.source.reading.expressions import ExpressionReader
from contad.engines.source.reading.progress import Progress, TooLong
from contad.engines.source.reading.reader import Reader
from contad.engines.source.reading.scope import Place, Scope, refuse
from contad.engines.source.reading.statements import StatementReader
from contad.engines.source.reading.structured_arrays import WrittenArgument, copy_argument, is_argument
from contad.engines.source.reading.subscripts import SubscriptReader
from contad.functions.python_copy import Flags, flags_of

INLINED = 200  # operations: up to this length, all functions are inlined
MOST = 8_000  # operations: longer functions are left to another engine


def _begin_reading(progress: Progress, most: int) -> Reader:
    """A reader of one function, with the readers of all syntax connected to each other."""
    reader = Reader(progress, most)

    def read_callee(scope: Scope, flags: Flags, kinds: tuple[Any, ...]) -> SourceFunction:
        return _read_function(_begin_reading(Progress(scope, flags, progress), most), kinds)

    subscripts, calls, statements = SubscriptReader(reader), CallReader(reader, read_callee), StatementReader(reader)
    expressions = ExpressionReader(reader, subscripts.read, calls.read)
    reader.expression, reader.condition = expressions.expression, expressions.condition
    reader.binary, reader.define = expressions.binary, expressions.define
    reader.subscript, reader.inline = subscripts.subscript, calls.inline
    reader.library = calls.library_function
    reader.statements, reader.assign = statements.statements, statements.assign
    reader.loop, reader.items = statements.loop, statements.items
    return reader


def read(
    function: Any,
    kinds: tuple[Any, ...],
    flags: Flags | None = None,
    dispatcher: Any = None,
    argnums: tuple[int, ...] | None = None,
    transform: Callable[[SourceFunction], None] | None = None,
    is_part: bool = False,
    callables: dict[str, Any] | None = None,
    at_ties: bool = False,
    wide_sums: bool = False,
) -> SourceFunction:
    """A function in SSA form; `kinds` has a kind, nested tuples of kinds, or an Object for each argument.

    Functions that it calls are inlined, unless the result is too long; then functions that take and return numbers, and
    only read arrays, are called. The dispatcher tells the types that the function declares. Expressions that depend
    only on arguments without a derivative (not in argnums) may be left to Numba. `transform` may change the function
    before it is divided into parts. A function that `is_part` of a rule may return None, which becomes an empty tuple.
    If the function is inlined into another one, its handed-on functions join the `callables` of that one. With
    `at_ties`, second derivatives at ties are right, or nan: see `tied_loops`. With `wide_sums`, sums of float32 numbers
    are accumulated in float64.
    """
    flags = flags or flags_of(function)
    arrays: set[tuple[str, int, str]] = set()
    written: frozenset[str] = frozenset()
    calling = False
    while True:
        scope = Scope(getattr(function, "py_func", function), dispatcher, arrays)
        progress = Progress(scope, flags)
        progress.callables = {} if callables is None else callables
        progress.calling, progress.written = calling, written
        progress.at_ties, progress.wide_sums = at_ties, wide_sums
        try:
            return _read_function(
                _begin_reading(progress, MOST if calling else INLINED), kinds, argnums, transform, is_part
            )
        except TooLong:
            calling = True
        except AppendedArray as found:
            arrays.add(*found.args)
        except WrittenArgument as found:
            if str(found) in written:
                refuse(
                    scope.place, f"a write into the structured array {found}", "pass them as an argument of their own"
                )
            written |= {str(found)}


def _read_function(
    reader: Reader,
    kinds: tuple[Any, ...],
    argnums: tuple[int, ...] | None = None,
    transform: Callable[[SourceFunction], None] | None = None,
    is_part: bool = False,
) -> SourceFunction:
    """Read the function at whose start a reader is."""
    progress, builder = reader.progress, reader.builder
    scope, flags, dispatcher = progress.scope, progress.flags, progress.scope.dispatcher
    if scope.starred:
        refuse(scope.place, f"*{scope.starred} of the function that is differentiated", "name its arguments")
    if scope.yields is not None:
        place = scope.place.at(scope.yields)
        refuse(place, "a generator, not looped over", "differentiate a function that loops over it")
    parameters = tuple(_parameter(kind, name) for kind, name in zip(kinds, scope.names, strict=True))
    builder.alike.update((z.imag, z.real) for z in _complex_arrays(parameters))
    if argnums is not None:
        fixed = [tree for k, tree in enumerate(parameters) if k not in argnums]
        progress.constants = {value for tree in fixed for value in leaves(tree) if isinstance(value, Value)}
    entries = dict(zip(scope.names, map(_entry, parameters, kinds), strict=True))
    env, declared = cast_arguments(builder, dispatcher, scope.names, entries)
    env = cast_declared(builder, scope, env)
    for name, entry in list(env.items()):
        if is_argument(entry) and entry.value.hint in progress.written:
            env[name] = copy_argument(reader, entry)
    try:
        reader.statements(scope.body, env)
    except RecursionError:
        place = Place(progress.scope.place.filename, progress.scope.place.function, progress.line)
        refuse(place, "an expression, or calls that are nested too deeply", "split it into statements")
    for length in reversed(builder.start):
        length.block = builder.block
        length.result.block = builder.block
        builder.block.operations.insert(0, length)
    wrong = reader.merging.fresh.wrongly_written(builder.block)
    if wrong is not None:
        operation, buffer = wrong
        place = Place(scope.place.filename, scope.place.function, operation.line)
        construct = f"a write into an array that may be the one named {buffer.name}, which a loop makes anew"
        refuse(place, construct, f"write into a copy, as in {buffer.name} = {buffer.name}.copy()")
    _refuse_writes(builder.block, progress)
    line = reader.merging.fresh.copies.find_written(builder.block)
    if line is not None:
        place = Place(scope.place.filename, scope.place.function, line)
        refuse(place, "an array that may be another one or a copy of it, one of which is written", "call .copy() first")
    returned = cast(builder, dispatcher, "the result", env.get(RESULT, Object(None)), declared)
    function = SourceFunction(scope.function.__name__, list(parameters), builder.block)
    function.returned = _settle(reader, returned, is_part)
    function.returns_small = any(isinstance(x, Value) and x.kind.small for x in leaves(function.returned))
    _settle_kinds(function)
    function.callables, function.wide_sums = progress.callables, progress.wide_sums
    function.captured = {name: array for name, (_, array) in progress.captured.items()}
    for name, (value, _) in progress.captured.items():
        value.hint = name
    # a flag holds only if all inlined functions have it
    function.fastmath = flags.fastmath if all(x == flags.fastmath for x in progress.fastmath) else False
    simplify(function)
    hoist(function)
    if expand_scalars(function):
        simplify(function)
    if flags.parallel_arrays:
        _share_elements(function)
    function.captured_values = [value for value, _ in progress.captured.values()]
    if transform is not None:
        transform(function)
        simplify(function)
        hoist(function)
    divide(function)
    return function


def _settle_kinds(function: SourceFunction) -> None:
    """Give numbers with fewer bits kinds that equal those of 64 bits; float32 numbers stay marked."""
    found = values_in(function.parameters)
    for o in walk(function.block):
        found += [*o.results, *([c.inner for c in o.carried] if isinstance(o, Loop) else [])]
    for value in found:
        if value.kind.small and not value.is_array:
            value.kind = Kind(value.kind.base, single=value.kind.small == "single")


def _refuse_writes(block: Block, progress: Progress) -> None:
    """Refuse calls whose results may share memory with written arrays: the reader does not track their contents."""
    operations = list(walk(block))
    written = {root for o in operations if isinstance(o, (Store, Accumulate)) for root in o.array.roots}
    for (given, _), field in progress.fields.items():
        if field in written and given.hint not in progress.written:
            raise WrittenArgument(given.hint)
    for o in operations:
        if isinstance(o, Handed) and any(root in written for value in o.aliases for root in value.roots):
            raise o.refusal


def _settle(reader: Reader, entry: Any, is_part: bool = False) -> Any:
    """The result, with array expressions computed; refused unless it is a number, an array or a tuple of these."""
    if isinstance(entry, Complex):
        return reader.complex.compute(entry, "result")
    if isinstance(entry, tuple):
        return like(entry, (_settle(reader, part, is_part) for part in entry))
    if is_part and isinstance(entry, Object) and entry.value is None:
        return ()
    if isinstance(entry, Elementwise):
        return reader.arrays.compute(entry, "result")
    if isinstance(entry, Unknown):
        refuse(
            reader.progress.scope.place,
            f"what it returns: {entry.reason}",
            "return numbers, arrays made once, or tuples",
        )
    if not isinstance(entry, Value):
        what = "nothing" if isinstance(entry, Object) and entry.value is None else "something that is no number"
        refuse(reader.progress.scope.place, f"it returns {what} on some path", "return the value to differentiate")
    return entry


def _entry(parameter: Any, kind: Any) -> Any:
    """The entry of a parameter."""
    if isinstance(kind, tuple):
        return like(kind, map(_entry, parameter, kind))
    if isinstance(kind, Object) and isinstance(kind.value, bool):
        return constant(kind.value)  # a number, so that the function may assign to it
    return Opaque(parameter, kind.type) if isinstance(kind, OpaqueKind) else parameter


def _parameter(kind: Any, name: str) -> Any:
    """The parameter of a kind in SSA form."""
    if isinstance(kind, Point):
        return Point(_parameter(kind.array, name))
    if isinstance(kind, tuple):
        return like(kind, (_parameter(part, f"{name}_{k}") for k, part in enumerate(kind)))
    if isinstance(kind, OpaqueKind):
        return Value(Kind("object"), name)
    if not isinstance(kind, Kind):
        return kind
    value = Value(kind, name)
    value.order = kind.order
    return value


def _complex_arrays(tree: Any) -> list[Complex]:
    """The complex arrays in nested tuples of parameters."""
    if isinstance(tree, Complex):
        return [tree] if tree.real.is_array else []
    return [z for part in tree for z in _complex_arrays(part)] if isinstance(tree, tuple) else []


def _share_elements(function: SourceFunction) -> None:
    """Mark the loops of statements on whole arrays, except inside other loops, where arrays are mostly small."""
    for o in walk(function.block):
        if isinstance(o, For) and o.is_of_arrays and not any(isinstance(x, Loop) for x in around(o.block)):
            o.is_parallel = True
