"""User functions that are called, not inlined: each is read once, and has its own derivative.

Such a function takes numbers, arrays that it only reads, and Python objects, and returns numbers. All others are
inlined.
"""

from dataclasses import replace
from typing import Any

from contad.engines.source.analysis.activity import Activity
from contad.engines.source.analysis.finite_partials import wild_values
from contad.engines.source.ir import ssa
from contad.engines.source.ir.called_derivatives import DerivativeCall
from contad.engines.source.ir.entries import Object
from contad.engines.source.ir.lengths import order_of
from contad.engines.source.ir.walks import class_of_names, leaves, like, walk

SMALL = 12  # operations without loops and branches: inlining them costs no more than a call
SHORT_SUM = 60  # operations of a sum over arrays, with its checks


class Callee:
    """A function for arguments of given kinds."""

    def __init__(self, function: ssa.SourceFunction) -> None:
        """Note the facts that callers ask for, and turn the block into a body that is not reversed where it runs."""
        operations = list(walk(function.block))
        is_small = len(operations) <= SMALL and not any(o.blocks for o in operations)
        # passes see the loop of a sum over arrays only if it is inlined
        is_sum = any(isinstance(o, ssa.Loop) and o.adds_in_any_order for o in operations)
        self.is_inlined = is_small or (is_sum and len(operations) <= SHORT_SUM)
        self.may_raise = any(map(raises, operations))
        self.captured = function.captured  # global arrays, passed as additional arguments
        self.parameters = [x for x in leaves(tuple(function.parameters)) if isinstance(x, ssa.Value)]
        self.parameters += function.captured_values
        self.outputs = leaves(function.returned)
        self.function = function
        # outputs that may be infinite or nan at finite arguments
        wild = wild_values(function)
        self.wild = frozenset(k for k, x in enumerate(self.outputs) if x in wild)
        self.reached = [self._reach(x) for x in self.parameters]  # for each parameter, the outputs with a derivative
        function.parameters = list(self.parameters)
        function.captured, function.captured_values = {}, []
        body, function.block = function.block, ssa.Block()
        function.block.append(ssa.Body(body))

    def _reach(self, parameter: ssa.Value) -> frozenset[int]:
        if parameter.kind.base != "float":
            return frozenset()
        varied = Activity(self.function, [parameter], self.outputs).varied
        return frozenset(k for k, x in enumerate(self.outputs) if x in varied)


def callee_of(function: ssa.SourceFunction) -> Callee | None:
    """A function as a callee; None if it has to be inlined."""
    parameters = {x for x in leaves(tuple(function.parameters)) if isinstance(x, ssa.Value)}
    parameters.update(function.captured_values)
    for o in walk(function.block):
        if isinstance(o, (ssa.Product, DerivativeCall)):
            return None
        if isinstance(o, (ssa.Store, ssa.Accumulate)) and parameters & set(o.array.roots):
            return None
    returned = leaves(function.returned)
    return None if function.returns_small or any(x.is_array for x in returned) else Callee(function)


def raises(o: ssa.Operation) -> bool:
    """Whether an operation itself may raise an exception of the user's."""
    return isinstance(o, (ssa.Check, ssa.Handed, ssa.MatrixCall)) or (isinstance(o, ssa.Call) and o.callee.may_raise)


def kinds_of(entry: Any) -> Any:
    """The kinds of arguments that `read` takes; None unless all are numbers, arrays, objects or tuples."""
    if isinstance(entry, tuple):
        parts = like(entry, map(kinds_of, entry))
        return None if None in parts else parts
    if isinstance(entry, ssa.Value):
        return None if entry.kind.small and not entry.is_array else replace(entry.kind, order=order_of(entry))
    return entry if isinstance(entry, Object) else None


def key_of(kinds: Any) -> Any:
    """A key that tells kinds apart; for a Python object, its identity."""
    if isinstance(kinds, tuple):
        return (class_of_names(kinds), *map(key_of, kinds))
    return (kinds, kinds.order) if isinstance(kinds, ssa.Kind) else id(kinds.value)
