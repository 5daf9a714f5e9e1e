"""The tangents of functions that are called instead of being written in place: a callee with further arguments."""

from collections.abc import Callable
from typing import Any

from contad.engines.source.analysis.hoist import hoist
from contad.engines.source.analysis.shared_callees import Callee
from contad.engines.source.analysis.simplify import simplify
from contad.engines.source.ir.clones import clone
from contad.engines.source.ir.single_assignment import Block, Call, Product, SourceProgram, Value
from contad.engines.source.ir.walks import walk

AddTangents = Callable[[SourceProgram, list[Value]], Any]


class CalleeTangents:
    """Gives calls the tangents of their arguments, and of their results.

    `add(program, given)` writes tangents into a program and gives what knows them: `dots` by value, `new_dot(value)`
    for one that is not computed yet, and what all calls are handed as well, `shared`.
    """

    def __init__(self, add: AddTangents) -> None:
        self.add = add
        self.made: dict[Any, tuple[Callee, list[int]]] = {}

    def with_tangents(self, o: Call, tangents: Any) -> Call:
        """A call in place of another one, which computes its results, and their tangents; these join the caller's."""
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
        """The callee with the tangents of the arguments at these places, and which outputs have tangents."""
        (body,) = callee.program.block.operations
        parameters = [Value(x.kind, x.hint) for x in callee.parameters]
        new = dict(zip(callee.parameters, parameters, strict=True))
        block = Block()
        for operation in clone(body.blocks[0].operations, new):
            block.append(operation)
        outputs = [new.get(x, x) for x in callee.outputs]
        program = SourceProgram(callee.program.name, list(parameters), block)
        program.fastmath, program.callables = callee.program.fastmath, callee.program.callables
        program.returned = tuple(outputs)
        given = [parameters[k] for k in places]
        tangents = self.add(program, given)
        found = [tangents.dot(x) if x.kind.base == "float" else None for x in outputs]
        with_dot = [k for k, dot in enumerate(found) if dot is not None and dot.constant != 0.0]
        program.parameters += [*tangents.shared, *(tangents.dots[x] for x in given)]
        program.returned = (*outputs, *(found[k] for k in with_dot))
        simplify(program)
        hoist(program)
        assert not any(isinstance(o, Product) for o in walk(program.block)), "products are loops in what is called"
        return Callee(program), with_dot
