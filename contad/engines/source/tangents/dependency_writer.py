"""Dependences, noted by the function itself at run time: it computes a node next to every number.

    z = f(x, y)     beside it     z_node = note(x_node, y_node, bends, graph)

Nodes are rows of a graph that the function fills as it runs (`contad/engines/source/ir/dependency_graph.py`).
They are carried, stored and passed like tangents, so they follow loops, branches and array writes. Branches and
indices are those of the run.
"""

import functools
from collections.abc import Callable, Sequence

from contad.engines.source.analysis.partials import passes
from contad.engines.source.ir import runtime_functions as known, ssa
from contad.engines.source.ir.dependency_graph import BENDS_X, BENDS_XY, BENDS_Y, NOTE
from contad.engines.source.ir.entries import constant
from contad.engines.source.ir.known_functions import COMPARISONS, SELECT, TO_FLOAT
from contad.engines.source.ir.walks import leaves, values_in
from contad.engines.source.tangents.called_tangents import CalleeTangents
from contad.engines.source.tangents.tangent_writer import TangentWriter
from contad.rules.body_derivatives import bent_pairs

# linear in their second operand if the first is constant
_SYSTEMS = [f for f in known.FUNCTIONS.values() if f.lanes == "right" or f.name == "lstsq"]
NONE = constant(0)


class DependencyWriter(TangentWriter):
    """Adds nodes to a function in the way that tangents are added."""

    suffix = "_node"
    zero = NONE

    def __init__(
        self,
        function: ssa.SourceFunction,
        given: Sequence[ssa.Value],
        outputs: Sequence[ssa.Value],
        graph: ssa.Value,
        callees: CalleeTangents | None = None,
    ) -> None:
        """Find the values that depend on the given ones and affect the outputs; only these have nodes."""
        super().__init__(function, given, outputs, callees)
        self.graph = graph
        self.shared = (graph,)

    def kind_of_dot(self, value: ssa.Value) -> ssa.Kind:
        """Nodes are integers."""
        return ssa.Kind("int", value.kind.ndim)

    def note(self, x: ssa.Value, y: ssa.Value = NONE, bends: int = 0) -> ssa.Value:
        """The node of a number computed from x and y."""
        if x.constant == y.constant == 0:
            return NONE
        if bends == 0 and (x.constant == 0 or y.constant == 0 or x is y):
            return y if x.constant == 0 else x
        return self.append.apply(NOTE, x, y, constant(bends), self.graph)

    def _of_callee(self, function: ssa.SourceFunction, given: list[ssa.Value]) -> "DependencyWriter":
        graph = ssa.Value(ssa.Kind("int", 2), "graph")
        nodes = DependencyWriter(function, given, leaves(function.returned), graph, self.callees)
        nodes.write()
        return nodes

    # ---- numbers -----------------------------------------------------------------------------------------------------
    def _of_Apply(self, o: ssa.Apply) -> None:
        self.append.add(o)
        if o.function is SELECT:
            self.dots[o.result] = self._of_choice(o)
        elif o.function is TO_FLOAT:
            self.dots[o.result] = self.dot(o.inputs[0])
        else:
            self.dots[o.result] = self._of_rule(o)

    def _of_choice(self, o: ssa.Apply) -> ssa.Value:
        then, otherwise = map(self.dot, o.inputs[1:])
        return self.append.apply(SELECT, o.inputs[0], then, otherwise)

    def _of_rule(self, o: ssa.Apply) -> ssa.Value:
        """A node for the operands of a rule; the rule says in which pairs of operands it is not linear."""
        passing = [x for x in passes(o) if self.has_dot(x)]
        places = tuple(k for k, x in enumerate(o.inputs) if x.kind == ssa.FLOAT and any(x is y for y in passing))
        assert o.function.rule is not None
        active = "".join("v" if k in places else "c" for k in range(len(o.inputs)))
        bent = set(bent_pairs(o.function.rule, active, places))
        nodes = [self.dot(o.inputs[k]) for k in places]
        if len(nodes) == 1:
            return self.note(nodes[0], bends=BENDS_X * ((0, 0) in bent))
        alone = [BENDS_X * ((k, k) in bent) for k in range(len(nodes))]
        if len(nodes) == 2:
            bends = alone[0] + BENDS_XY * ((0, 1) in bent) + BENDS_Y * bool(alone[1])
            return self.note(nodes[0], nodes[1], bends)
        found = self._union([self.note(x, bends=bends) for x, bends in zip(nodes, alone, strict=True)])
        return self._union([found, *(self.note(nodes[a], nodes[b], BENDS_XY) for a, b in bent if a != b)])

    def _union(self, nodes: Sequence[ssa.Value]) -> ssa.Value:
        return functools.reduce(self.note, nodes, NONE)

    # ---- arrays ------------------------------------------------------------------------------------------------------
    def _of_Accumulate(self, o: ssa.Accumulate) -> None:
        if self.has_dot(o.added):
            nodes, indices = self.dot(o.array), list(o.indices)
            now = self.note(self.append.load(nodes, indices), self.dot(o.added))
            self.append.add(ssa.Store(nodes, indices, now))
        self.append.add(o)

    def _of_Create(self, o: ssa.Create) -> None:
        self.append.add(o)
        self.append.add(ssa.Create("zeros", list(o.inputs), self.new_dot(o.result)))

    def _of_Product(self, o: ssa.Product) -> None:
        """Each element is a sum of products of two numbers; a constant factor of 0 gives no dependence."""
        self.append.add(o)
        (a, b), result = o.inputs, o.result
        rows, columns = self.append.shape_of(a)[:-1], self.append.shape_of(b)[1:]
        count = self.append.shape_of(b)[0]

        def element(at: list[ssa.Value]) -> ssa.Value:
            """The node of an element of the product."""
            row, column = at[: len(rows)], at[len(rows) :]

            def term(k: ssa.Value, node: ssa.Value) -> ssa.Value:
                x, y = (self._of_factor(z, place) for z, place in ((a, [*row, k]), (b, [k, *column])))
                if a in self.active and b in self.active:
                    return self.note(node, self.note(x, y, BENDS_XY))
                nodes, factor = (x, self.append.load(b, [k, *column])) if a in self.active else (
                    y, self.append.load(a, [*row, k])
                )  # fmt: skip
                return self.note(node, self._unless_zero(factor, b if a in self.active else a, nodes))

            return self._fold(count, term)

        if not result.is_array:
            self.dots[result] = element([])
            return
        self._new_zeros(result)
        nodes = self.dots[result]
        self.append.over([*rows, *columns], lambda at: self.append.store(nodes, at, element(at)))

    def _of_factor(self, array: ssa.Value, at: list[ssa.Value]) -> ssa.Value:
        return self.append.load(self.dot(array), at) if array in self.active else NONE

    def _unless_zero(self, factor: ssa.Value, _: ssa.Value, node: ssa.Value) -> ssa.Value:
        """The node of a product with an element of an array: none if that element is 0."""
        is_zero = self.append.apply(COMPARISONS["Eq"], factor, constant(0.0))
        return self.append.apply(SELECT, is_zero, NONE, node)

    def _of_MatrixCall(self, o: ssa.MatrixCall) -> None:
        self.append.add(o)
        self._of_matrices(o)

    def _of_matrices(self, o: ssa.MatrixCall) -> None:
        """Every result depends on all inputs."""
        nodes = [self._of_all(x) if x in self.active else NONE for x in o.operands]
        is_linear = o.function in _SYSTEMS and nodes[0] is NONE
        node = self._union(nodes)
        if not is_linear:
            node = self.note(node, bends=BENDS_X)
        for x in o.varying:
            if not x.is_array:
                self.dots[x] = node
            elif x in self.active:
                self.append.fill(self.dots[x], node)

    _of_RuleValue = _of_DerivativeCall = _of_MatrixCall

    def _of_all(self, array: ssa.Value) -> ssa.Value:
        """A node that depends on a number, or on all elements of an array."""
        if not array.is_array:
            return self.dot(array)
        nodes, shape = self.dot(array), self.append.shape_of(array)

        def union(at: list[ssa.Value], node: ssa.Value) -> ssa.Value:
            if len(at) == len(shape):
                return self.note(node, self.append.load(nodes, at))
            return self._fold(shape[len(at)], lambda k, inner: union([*at, k], inner), node)

        return union([], NONE)

    def _fold(
        self, count: ssa.Value, follow: Callable[[ssa.Value, ssa.Value], ssa.Value], initial: ssa.Value = NONE
    ) -> ssa.Value:
        """The last node of node = follow(k, node) for k in range(count)."""
        inner, index, body = ssa.Value(ssa.INT, "node"), ssa.Value(ssa.INT, "k"), ssa.Block()
        with self.append.inside(body):
            following = follow(index, inner)
        loop = ssa.For([constant(0), count, constant(1)], index, body)
        loop.carry([ssa.Carried(initial, inner, following, ssa.Value(ssa.INT, "node"))])
        self.append.add(loop)
        return loop.carried[0].result


def add_nodes(
    function: ssa.SourceFunction, argnums: Sequence[int], write: type[DependencyWriter] = DependencyWriter
) -> None:
    """Add parameters to a function: the nodes of these arguments, and the graph; it returns (nodes, value)."""
    wanted = [function.parameters[k] for k in argnums]
    made = write(function, values_in(wanted), leaves(function.returned), ssa.Value(ssa.Kind("int", 2), "graph"))
    made.write()
    made.return_with(wanted, function.returned)
