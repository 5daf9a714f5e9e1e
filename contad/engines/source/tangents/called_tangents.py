"""The tangents of calls: of callees, and of derivatives.

The tangent of a callee is a callee with more arguments; that of a derivative consists of operations of the same kind.
"""

from collections.abc import Callable
from typing import Any, Protocol

from contad.engines.source.analysis.activity import Activity
from contad.engines.source.analysis.hoist import hoist
from contad.engines.source.analysis.shared_callees import Callee
from contad.engines.source.analysis.simplify import simplify
from contad.engines.source.ir.called_derivatives import DerivativeCall, number_of
from contad.engines.source.ir.clones import clone
from contad.engines.source.ir.known_functions import MULTIPLY
from contad.engines.source.ir.ssa import Block, Call, Create, Product, SourceFunction, Value
from contad.engines.source.ir.walks import walk
from contad.engines.source.tangents.appending import ZERO, Appender

AddTangents = Callable[[SourceFunction, list[Value]], Any]


class CalleeTangents:
    """Adds the tangents of arguments and results to calls.

    `add(function, given)` writes tangents into a callee and returns the writer: its `dots` maps values to tangents,
    `new_dot(value)` makes one that is not computed yet, and `shared` are additional arguments of all calls.
    """

    def __init__(self, add: AddTangents) -> None:
        self.add = add
        self.made: dict[Any, tuple[Callee, list[int]]] = {}

    def with_tangents(self, o: Call, tangents: Any) -> Call:
        """A call that replaces another one, and also computes the tangents of its results; they join the caller's."""
        dots: dict[Value, Value] = tangents.dots
        reached = zip(o.inputs, o.callee.reached, strict=True)
        places = [k for k, (x, outputs) in enumerate(reached) if outputs and x in dots and dots[x].constant != 0.0]
        key = o.callee, tuple(places)
        if key not in self.made:
            self.made[key] = self._make(o.callee, places)
        callee, with_dot = self.made[key]
        for k in with_dot:
            tangents.new_dot(o.results[k])
        call = Call(
            callee,
            [*o.inputs, *tangents.shared, *(dots[o.inputs[k]] for k in places)],
            [*o.results, *(dots[o.results[k]] for k in with_dot)],
        )
        call.line = o.line
        return call

    def _make(self, callee: Callee, places: list[int]) -> tuple[Callee, list[int]]:
        """The callee with the tangents of the arguments at these places, and the outputs that have tangents."""
        (body,) = callee.function.block.operations
        parameters = [Value(x.kind, x.hint) for x in callee.parameters]
        new = dict(zip(callee.parameters, parameters, strict=True))
        block = Block()
        for operation in clone(body.blocks[0].operations, new):
            block.append(operation)
        outputs = [new.get(x, x) for x in callee.outputs]
        function = SourceFunction(callee.function.name, list(parameters), block)
        function.fastmath, function.callables = callee.function.fastmath, callee.function.callables
        function.returned = tuple(outputs)
        given = [parameters[k] for k in places]
        tangents = self.add(function, given)
        found = [tangents.dot(x) if x.kind.base == "float" else None for x in outputs]
        with_dot = [k for k, dot in enumerate(found) if dot is not None and dot.constant != 0.0]
        function.parameters += [*tangents.shared, *(tangents.dots[x] for x in given)]
        function.returned = (*outputs, *(found[k] for k in with_dot))
        simplify(function)
        hoist(function)
        assert not any(isinstance(o, Product) for o in walk(function.block)), "products are loops in what is called"
        return Callee(function), with_dot

# ---- derivatives -----------------------------------------------------------------------------------------------------
class Tangents(Protocol):
    """The part of a writer of tangents that this module uses."""

    append: Appender
    active: Activity
    dots: dict[Value, Value]

    def dot(self, value: Value) -> Value: ...
    def has_dot(self, value: Value) -> bool: ...


def write_tangents(tangents: Tangents, o: DerivativeCall) -> None:
    """Append a call, and the operations that compute the tangents of its results.

    The tangent of the gradient is a sum: the gradient of the next order along the tangents of the arguments, and, for
    each order, the gradient along the tangents of its directions. The tangent of the value is the inner product of the
    gradient with the tangents of the arguments.
    """
    append, arguments = tangents.append, o.arguments
    moved = tuple(k for k in o.site.floats() if tangents.has_dot(arguments[k]))
    if o.value is not None and o.value in tangents.active:
        o = _with_parts(append, o, moved)
    append.add(o)
    if o.value is not None and o.value in tangents.active:
        parts = dict(zip(o.by, o.parts, strict=True))
        terms = [_inner_product(append, parts[k], tangents.dot(arguments[k])) for k in moved]
        tangents.dots[o.value] = append.sum(terms)
    wanted = [(k, part) for k, part in zip(o.by, o.parts, strict=True) if part in tangents.active]
    terms_of: dict[Value, list[Value]] = {part: [] for _, part in wanted}
    for along, directions in _list_directions(tangents, o, moved) if wanted else ():
        filled = [_new_like(append, part) for _, part in wanted if part.is_array]
        numbers = [number_of("") for _, part in wanted if not part.is_array]
        results = numbers if along else [number_of(""), *numbers]
        made = DerivativeCall(o.site, arguments, along, directions, tuple(k for k, _ in wanted), filled, results)
        append.add(made)
        for (_, part), term in zip(wanted, made.parts, strict=True):
            terms_of[part].append(term)
    for part, terms in terms_of.items():
        if part.is_array:
            _store_sum(append, tangents.dots[part], terms)
        else:
            tangents.dots[part] = append.sum(terms)


def _with_parts(append: Appender, o: DerivativeCall, moved: tuple[int, ...]) -> DerivativeCall:
    """The call with the gradients with respect to these arguments added."""
    more = [k for k in moved if k not in o.by]
    if not more:
        return o
    arguments = o.arguments
    filled = [*o.filled, *(_new_like(append, arguments[k]) for k in more if arguments[k].is_array)]
    results = [*o.results, *(number_of("") for k in more if not arguments[k].is_array)]
    made = DerivativeCall(o.site, arguments, (), [], (*o.by, *more), filled, results)
    made.line, made.file = o.line, o.file
    return made


def _new_like(append: Appender, array: Value) -> Value:
    made = Value(array.kind, "")
    append.add(Create("empty", append.shape_of(array), made))
    return made


def _list_directions(
    tangents: Tangents, o: DerivativeCall, moved: tuple[int, ...]
) -> list[tuple[tuple[tuple[int, ...], ...], list[Value]]]:
    """The orders and the directions of the terms of the tangent."""
    found = []
    if moved:
        dots = [tangents.dot(o.arguments[k]) for k in moved]
        found.append(((*o.along, moved), [*o.directions, *dots]))
    start = 0
    for n, order in enumerate(o.along):
        mine = o.directions[start : start + len(order)]
        kept = [(k, tangents.dot(d)) for k, d in zip(order, mine, strict=True) if tangents.has_dot(d)]
        if kept:
            along = (*o.along[:n], tuple(k for k, _ in kept), *o.along[n + 1 :])
            directions = [*o.directions[:start], *(dot for _, dot in kept), *o.directions[start + len(order) :]]
            found.append((along, directions))
        start += len(order)
    return found


def _inner_product(append: Appender, x: Value, y: Value) -> Value:
    """The sum of the products of the elements of two arrays, or of two numbers."""
    if not x.is_array:
        return append.apply(MULTIPLY, x, y)
    shape = append.shape_of(x)

    def total(at: list[Value]) -> Value:
        if len(at) == len(shape):
            return append.apply(MULTIPLY, append.load(x, at), append.load(y, at))
        return append.total(shape[len(at)], lambda k: total([*at, k]))

    return total([])


def _store_sum(append: Appender, target: Value, terms: list[Value]) -> None:
    """target[...] = the sum of some arrays."""

    def element(at: list[Value]) -> None:
        append.store(target, at, append.sum([append.load(x, at) for x in terms]) if terms else ZERO)

    append.over(append.shape_of(target), element)
