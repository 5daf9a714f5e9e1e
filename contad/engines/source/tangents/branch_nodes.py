"""Dependences at any inputs: writes the nodes of a function that takes all its branches.

If inputs decide between branches, both run, and the dependences of both are added. If inputs decide when a loop ends,
the loop does not run: each of its results depends on all that it reads. If inputs decide an index, the element may be
any of the array. Other branches, loops and indices stay, so that the patterns of grids and sequences are kept.

Numbers that inputs influence are not those of the original function. So no such number decides anything, and every
index is checked against the length of its axis.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from contad.engines.source.analysis.influence import Influence, defined_inside, find_escaping
from contad.engines.source.ir import ssa
from contad.engines.source.ir.dependency_graph import BENDS_X
from contad.engines.source.ir.entries import constant, default
from contad.engines.source.ir.known_functions import AND, NOT, OR, OUTSIDE, SELECT, TO_BOOL, TO_FLOAT, TO_INT
from contad.engines.source.ir.rule_sites import RuleForward
from contad.engines.source.ir.walks import leaves, walk
from contad.engines.source.tangents.called_tangents import CalleeTangents
from contad.engines.source.tangents.dependency_writer import NONE, DependencyWriter
from contad.errors import UnsupportedError

_MAKERS = {"float": TO_FLOAT, "int": TO_INT, "bool": TO_BOOL}


class _Found(NamedTuple):
    """A result of a branch: a number, and its node."""

    value: ssa.Value
    node: ssa.Value


class BranchNodes(DependencyWriter):
    """Adds nodes to a function, and runs all branches between which inputs decide."""

    def __init__(
        self,
        function: ssa.SourceFunction,
        given: Sequence[ssa.Value],
        outputs: Sequence[ssa.Value],
        graph: ssa.Value,
        callees: CalleeTangents | None = None,
        uncertain: bool = False,
    ) -> None:
        """`uncertain` operations may run where the function would not run them; they raise nothing."""
        super().__init__(function, given, outputs, graph, callees)
        self.influence = Influence(function, list(given))
        self.escaping = find_escaping(function)
        self.uncertain = uncertain

    def _of_callee(self, function: ssa.SourceFunction, given: list[ssa.Value]) -> "BranchNodes":
        graph = ssa.Value(ssa.Kind("int", 2), "graph")
        nodes = BranchNodes(function, given, leaves(function.returned), graph, self.callees, uncertain=True)
        nodes.write()
        return nodes

    def _refuse(self, o: ssa.Operation, what: str) -> None:
        raise UnsupportedError(
            f'{self.function.name}, line {o.line}: {what} is not known for branches="all"; join the patterns of '
            "contad.sparsity at several points"
        )

    # ---- operations --------------------------------------------------------------------------------------------------
    def _operations(self, operations: list[ssa.Operation]) -> None:
        for o in operations:
            self.append.line = o.line
            write = getattr(self, f"_all_of_{type(o).__name__}", None)
            if write is not None:
                write(o)
            else:
                super()._operations([o])

    def _all_of_Check(self, o: ssa.Check) -> None:
        if not self.uncertain and o.inputs[0] not in self.influence:
            self.append.add(o)

    def _all_of_If(self, o: ssa.If) -> None:
        """Run both branches, one after the other, if inputs decide between them."""
        if not self.influence.decides(o):
            self._of_If(o)
            return
        outer, self.uncertain = self.uncertain, True
        then = self._run(o.blocks[0], self._find_needed(o.inputs[0], True), [m.then for m in o.merges])
        otherwise = self._run(o.blocks[1], self._find_needed(o.inputs[0], False), [m.otherwise for m in o.merges])
        self.uncertain = outer
        for m, x, y in zip(o.merges, then, otherwise, strict=True):
            self.append.add(ssa.Apply(SELECT, [o.inputs[0], x.value, y.value], m.result))
            if m.result in self.active:
                self.dots[m.result] = self.note(x.node, y.node)

    def _find_needed(self, condition: ssa.Value, holds: bool) -> list[ssa.Value]:
        """The conditions, not decided by inputs, that are necessary for a condition to have the truth value `holds`."""
        o = condition.operation
        if condition not in self.influence:
            return [condition if holds else self.append.apply(NOT, condition)]
        if isinstance(o, ssa.Apply) and o.function is (AND if holds else OR):
            return [x for part in o.inputs for x in self._find_needed(part, holds)]
        if isinstance(o, ssa.Apply) and o.function is NOT:
            return self._find_needed(o.inputs[0], not holds)
        if isinstance(o, ssa.If):  # `x and y` is a branch, too
            (m,) = (m for m in o.merges if m.result is condition)
            if m.otherwise.constant is (not holds):
                return self._find_needed(o.inputs[0], True)
            if m.then.constant is (not holds):
                return self._find_needed(o.inputs[0], False)
        return []

    def _run(self, block: ssa.Block, needed: list[ssa.Value], values: list[ssa.Value]) -> list[_Found]:
        """Append a branch under the conditions in `needed`; the results of the branch for these values."""
        if not needed:
            self._operations(block.operations)
            return [_Found(x, self.dot(x) if x in self.active else NONE) for x in values]
        holds = functools.reduce(lambda x, y: self.append.apply(AND, x, y), needed)
        then = ssa.Block()
        with self.append.inside(then):
            self._operations(block.operations)
        branch = ssa.If(holds, then, ssa.Block())
        self.append.add(branch)
        found = []
        for x in values:
            node = self.dot(x) if x in self.active else NONE
            value = branch.merge(x, default(x.kind), ssa.Value(x.kind))
            found.append(_Found(value, branch.merge(node, NONE, ssa.Value(ssa.INT)) if node is not NONE else NONE))
        return found

    def _all_of_For(self, o: ssa.Loop) -> None:
        """Carry a node next to each number; do not run a loop whose trip count inputs decide."""
        if self.influence.decides(o):
            self._of_any_number(o)
        else:
            self._of_Loop(o)

    _all_of_While = _all_of_For

    def _of_any_number(self, o: ssa.Loop) -> None:
        """A loop with an unknown trip count: each result depends on all that it reads."""
        if o in self.escaping:
            self._refuse(o, "what is made in a loop whose end inputs decide, and read after it,")
        inside = [x for block in o.blocks for x in walk(block)]
        made = defined_inside(o)
        written = {
            root for x in inside if isinstance(x, ssa.Element) and not isinstance(x, ssa.Load) for root in x.array.roots
        }
        found: dict[tuple[Any, ...], ssa.Value] = {}
        for x in [o, *inside]:
            for value in x.reads():
                key: tuple[Any, ...] = (value,)
                if value in made or key in found:
                    continue
                if not value.is_array:
                    found[key] = self.dot(value)
                elif value in self.active:
                    at = self._place(x, made) if isinstance(x, ssa.Load) and written.isdisjoint(value.roots) else None
                    key = (value, *at) if at is not None else key
                    found[key] = self._of_all(value) if at is None else self._load(self.dot(value), at)
        node = self.note(self._union(list(found.values())), bends=BENDS_X)
        for x in inside:
            if (
                isinstance(x, ssa.Element)
                and not isinstance(x, ssa.Load)
                and x.array not in made
                and x.array in self.active
            ):
                self._add_to(x, node, made)
            elif isinstance(x, ssa.MatrixCall):
                for array in x.filled:
                    if array not in made and array in self.active:
                        self._add_to_all(self.dot(array), node)
        for c in o.carried:
            self._define(c.result)
            if c.result in self.active:
                self.dots[c.result] = node
        self._define(o.count)

    def _define(self, value: ssa.Value) -> None:
        """Define a value that decides nothing as some number."""
        self.append.add(ssa.Apply(_MAKERS[value.kind.base], [constant(0)], value))

    def _of_choice(self, o: ssa.Apply) -> ssa.Value:
        if o.inputs[0] not in self.influence:
            return super()._of_choice(o)
        return self.note(self.dot(o.inputs[1]), self.dot(o.inputs[2]))

    # ---- elements ----------------------------------------------------------------------------------------------------
    def _place(
        self, x: ssa.Element, made: set[ssa.Value] | frozenset[ssa.Value] = frozenset()
    ) -> list[ssa.Value] | None:
        """The indices of an element, if inputs do not decide them and they are defined here."""
        known = not self.influence.any(x.indices) and made.isdisjoint(x.indices)
        return list(x.indices) if known else None

    def _is_inside(self, array: ssa.Value, indices: Sequence[ssa.Value]) -> ssa.Value:
        """A test that indices are within an array."""
        inside = constant(True)
        for axis, index in enumerate(indices):
            length = self.append.add(ssa.Length(array, axis, ssa.Value(ssa.INT))).result
            one = self.append.apply(NOT, self.append.apply(OUTSIDE, index, length))
            inside = self.append.apply(AND, inside, one)
        return inside

    def _load(self, array: ssa.Value, indices: Sequence[ssa.Value]) -> ssa.Value:
        result = ssa.Value(ssa.Kind(array.kind.base))
        self.append.add(ssa.Load(array, [*indices, self._is_inside(array, indices)], result))
        return result

    def _all_of_Load(self, o: ssa.Load) -> None:
        inside = self._is_inside(o.array, o.indices)
        guard = inside if o.guard is None else self.append.apply(AND, o.guard, inside)
        self.append.add(ssa.Load(o.array, [*o.indices, guard], o.result))
        if o.result in self.active and o.array in self.active:
            nodes = self.dot(o.array)
            if self._place(o) is None:
                self.dots[o.result] = self._of_all(o.array)
            else:
                self.append.add(ssa.Load(nodes, [*o.indices, guard], self.new_dot(o.result)))

    def _all_of_Store(self, o: ssa.Store) -> None:
        self._write(o)
        if o.array in self.active:
            if self.uncertain or self._place(o) is None:
                self._add_to(o, self.dot(o.stored))
            else:
                self._write(ssa.Store(self.dot(o.array), list(o.indices), self.dot(o.stored)))

    def _all_of_Accumulate(self, o: ssa.Accumulate) -> None:
        self._write(o)
        if o.array in self.active and self.has_dot(o.added):
            self._add_to(o, self.dot(o.added))

    def _write(self, o: ssa.Store | ssa.Accumulate) -> None:
        """A write, guarded against indices outside of the array."""
        then = ssa.Block()
        branch = ssa.If(self._is_inside(o.array, o.indices), then, ssa.Block())
        o.line = o.line or self.append.line
        then.append(o)
        self.append.add(branch)

    def _add_to(
        self, o: ssa.Element, node: ssa.Value, made: set[ssa.Value] | frozenset[ssa.Value] = frozenset()
    ) -> None:
        """Add a dependence to an element, or to every element if its place is unknown."""
        nodes, at = self.dot(o.array), self._place(o, made)
        if at is None:
            self._add_to_all(nodes, node)
            return
        self._write(ssa.Store(nodes, at, self.note(self._load(nodes, at), node)))

    def _add_to_all(self, nodes: ssa.Value, node: ssa.Value) -> None:
        def add(at: list[ssa.Value]) -> None:
            """Add to one element."""
            self.append.store(nodes, at, self.note(self.append.load(nodes, at), node))

        self.append.over(self.append.shape_of(nodes), add)

    # ---- arrays ------------------------------------------------------------------------------------------------------
    def _all_of_View(self, o: ssa.View) -> None:
        if self.influence.any(o.inputs[1:]):
            self._refuse(o, "a slice whose place inputs decide")
        if self.uncertain and o.spec:
            o = self._within(o)
        super()._operations([o])

    _all_of_Permuted = _all_of_Reshaped = _all_of_View

    def _within(self, o: ssa.View) -> ssa.View:
        """A view with indices that are within the array, even in a branch that the function does not take."""
        inputs, axis = list(o.inputs), 0
        for part in o.spec or ():
            if isinstance(part, int):
                length = self.append.add(ssa.Length(o.inputs[0], axis, ssa.Value(ssa.INT))).result
                outside = self.append.apply(OUTSIDE, inputs[part], length)
                inputs[part] = self.append.apply(SELECT, outside, constant(0), inputs[part])
            axis += part != ssa.NEW_AXIS
        return ssa.View(inputs[0], inputs[1:], o.spec, o.result)

    def _all_of_Choose(self, o: ssa.Choose) -> None:
        if o.inputs[0] in self.influence and o.result in self.active:
            self._refuse(o, "a name that stands for one of several arrays, between which inputs decide,")
        super()._operations([o])

    def _all_of_Create(self, o: ssa.Create) -> None:
        if self.influence.any(o.inputs):
            self._refuse(o, "an array whose size inputs decide")
        super()._operations([o])

    def _unless_zero(self, factor: ssa.Value, array: ssa.Value, node: ssa.Value) -> ssa.Value:
        return node if array in self.influence else super()._unless_zero(factor, array, node)

    # ---- calls -------------------------------------------------------------------------------------------------------
    def _all_of_MatrixCall(self, o: ssa.MatrixCall) -> None:
        if not self.influence.any(o.inputs) and not self.uncertain:
            super()._operations([o])
            return
        for x in o.results:
            self._define(x)
        if self.active.changes(o):
            self._of_matrices(o)

    _all_of_DerivativeCall = _all_of_MatrixCall

    def _all_of_RuleForward(self, o: RuleForward) -> None:
        if self.uncertain or self.influence.any(o.inputs):
            self._refuse(o, f"{o.site.rule.name}, of what inputs decide on,")
        super()._operations([o])

    def _all_of_Handed(self, o: ssa.Handed) -> None:
        if self.uncertain:
            self._refuse(o, "a call that Numba computes as it stands, in a branch that inputs decide on,")
        super()._operations([o])

    def _all_of_Call(self, o: ssa.Call) -> None:
        """All results depend on all arguments, if inputs influence an argument that has no node in the callee."""
        reached = [bool(outputs) for outputs in o.callee.reached]
        hidden = any(
            x in self.influence and not (follows and self.has_dot(x))
            for x, follows in zip(o.inputs, reached, strict=True)
        )
        if not hidden:
            if self.uncertain and not self.active.changes(o):
                if o.callee.may_raise or any(x.is_array for x in o.inputs):
                    self._refuse(o, f"a call of {o.callee.function.name}, in a branch that inputs decide on,")
            super()._operations([o])
            return
        nodes = [self._of_all(x) if x.is_array else self.dot(x) for x in o.inputs if x in self.active]
        node = self.note(self._union(nodes), bends=BENDS_X)
        for x in o.results:
            self._define(x)
            if x in self.active:
                self.dots[x] = node
