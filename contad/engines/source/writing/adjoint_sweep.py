"""Writes the reverse of operations on numbers and arrays: each adds to the adjoints of its inputs."""

import ast
from collections.abc import Callable, Mapping
from typing import Any, cast

from contad.distributions.formula import Formula
from contad.engines.source.analysis.finite_partials import may_be_infinite, pole_values, unselected_values
from contad.engines.source.analysis.lane_values import LaneValues
from contad.engines.source.analysis.partials import find_negated, partial, recall_calls, write_partial
from contad.engines.source.ir import ssa
from contad.engines.source.ir.known_functions import CHECKED_DIVIDE, DIVIDE, MASKED_PRODUCT, SELECT
from contad.engines.source.ir.syntax import Part, call, expression, name, number, part
from contad.engines.source.ir.tree_queries import is_name, key, same
from contad.engines.source.ir.walks import leaves, readers_of, walk
from contad.engines.source.ir.writer import BAR, NameTable, Writer
from contad.engines.source.planning.sinking import find_sunk
from contad.engines.source.planning.store_plan import StorePlan
from contad.engines.source.writing.operation_text import ExpressionWriter, copy_of
from contad.engines.source.writing.tidy_text import fold
from contad.engines.source.writing.written_formulas import WrittenFormulas


class AdjointWriter:
    """Writes the reverse of operations. The first contribution assigns an adjoint, later ones add to it."""

    def __init__(
        self, writer: Writer, plan: StorePlan, sums: dict[ssa.Value, ssa.Value], lanes: LaneValues | None = None
    ) -> None:
        """Give values that share an adjoint the same name, before any statement is written."""
        function = writer.function
        self.writer, self.plan, self.lanes = writer, plan, lanes
        self.expressions = ExpressionWriter(writer, lanes)
        self.outputs: list[ssa.Value] = []  # the differentiated results
        self.sums = sums  # partial sums share the adjoint of the total
        self.active = plan.activity
        self.wild = plan.wild
        self.before_poles, self.behind_poles = pole_values(function) if function.has_unknown_slopes else (set(), set())
        self.readers = readers_of(function)
        kept = {*sums, *sums.values(), *leaves(function.returned)}
        self.sunk = find_sunk(function, plan, self.readers, kept)
        self.unselected = unselected_values(function, self.readers, {o.results[0]: x for o, x in self.sunk.items()})
        self.renamed: set[ssa.Value] = set()
        self.same: dict[ssa.Value, str] = {}  # values that share the adjoint of another one, whose name they map to
        for value, total in sums.items():  # partial sums share one variable
            total.name = min(total.name, value.name, key=lambda name: (len(name), name))
        for value, total in sums.items():
            value.name = total.name
        self._name_alike(function, sums)
        self.names = NameTable(writer.fresh, writer.rules, function.name)
        self.names.add_function(function)
        self.formulas = WrittenFormulas(writer, self.names, plan.fused, enabled=lanes is None)
        self.folded = fold(function, plan, self.readers, kept)
        self.kept: dict[tuple[ssa.Product, ssa.Value], str] = {}  # copies of operands of products
        self.begun: set[ssa.Value] = set()  # values whose adjoint has been assigned
        self.left_out: Callable[[ssa.Value], bool] = lambda _: False  # values whose adjoints scalar functions skip now

    def _name_alike(self, function: ssa.SourceFunction, sums: dict[ssa.Value, ssa.Value]) -> None:
        """Give the values that the branches of an if merge the name of the result."""
        for o in walk(function.block):
            for m in o.merges if isinstance(o, ssa.If) else []:
                for value, block in ((m.then, o.blocks[0]), (m.otherwise, o.blocks[1])):
                    made = value.operation
                    inside = (
                        isinstance(made, (ssa.Apply, ssa.If)) and value.block is block and value not in self.renamed
                    )
                    if inside and not {value, m.result} & {*sums, *sums.values()}:
                        value.name = m.result.name
                        self.renamed.add(value)

    def bar(self, value: ssa.Value) -> str:
        """The name of an adjoint."""
        value = self.sums.get(value, value)
        return self.same.get(value) or value.name + BAR

    def has_bar(self, value: ssa.Value) -> bool:
        """Whether anything has been added to an adjoint yet."""
        return self.sums.get(value, value) in self.begun

    def add(self, value: ssa.Value, given: Part) -> None:
        """Add to an adjoint."""
        if value not in self.active or value in self.sums:  # the total's adjoint is complete before the loop
            return
        bar, term = self.bar(value), self.round(value, part(given))
        if value not in self.begun:
            self.begun.add(value)
            if is_name(term, bar):
                return
            if isinstance(term, ast.Name) and self.is_alone(value):
                self.same[value] = term.id
                return
            self.writer.line("bar = term", bar=bar, term=term)
        elif (positive := find_negated(term)) is not None:
            self.writer.line("bar -= term", bar=bar, term=positive)
        else:
            self.writer.line("bar += term", bar=bar, term=term)

    def round(self, value: ssa.Value, term: ast.expr) -> ast.expr:
        """What is added to an adjoint, as float32 for a float32 number."""
        if not value.kind.single or self.writer.function.wide_sums:
            return term
        self.names.singles.add(self.bar(value))
        return term if self.names.is_single(term) else as_single(term)

    def is_alone(self, value: ssa.Value) -> bool:
        """Whether an adjoint has a single contribution, from the block that defines the value."""
        mine = self.readers.get(value, [])
        if len(mine) != 1 or value in self.outputs or isinstance(value.operation, ssa.Loop):
            return False  # the adjoint of a carried value changes while the loop is reversed
        if isinstance(mine[0], ssa.If):  # a branch merges it
            return any(value.block is block for block in mine[0].blocks)
        return isinstance(mine[0], ssa.Apply) and mine[0].block is value.block

    def begin(self, value: ssa.Value) -> None:
        """Assign an adjoint unless it is assigned already."""
        if not self.has_bar(value):
            self.add(value, 0.0)

    def begin_outside(self, o: ssa.Operation) -> None:
        """Assign the adjoints, of values from outside, to which the reverse of a branch or loop adds."""
        inside = {id(block) for block in o.blocks}
        reads = list(o.reads())
        for block in o.blocks:
            for inner in walk(block):
                inside |= {id(b) for b in inner.blocks}
                reads += inner.reads()
        sunk = [x for x, block in self.sunk.items() if block in o.blocks]
        reads += [value for x in sunk for value in x.reads()]
        mine = {x.results[0] for x in sunk}
        for value in dict.fromkeys(x for x in reads if x not in mine):
            if value.kind == ssa.FLOAT and value in self.active and id(value.block) not in inside:
                self.begin(value)

    # ---- numbers -----------------------------------------------------------------------------------------------------
    def reverse_Apply(self, o: ssa.Apply) -> None:
        """Add to the adjoints of the operands of a scalar function."""
        if not self.has_bar(o.result):
            return
        d = self.bar(o.result)
        if o in self.plan.choosing:
            self.reverse_choice(o)
            return
        inverses = self._inverses(o)
        shared = self.formulas.begin_partials(o)
        for k, x in enumerate(o.inputs):
            if x not in self.active or self.left_out(x):
                continue
            literal = partial(o.function, k).literal
            if o.function is SELECT:
                test = self.writer.text(o.inputs[0])
                zero = self._literal(o, 0.0)
                first, second = (d, zero) if k == 1 else (zero, d)
                self.add(x, expression("select(test, a, b)", test=test, a=first, b=second))
            elif literal is not None:
                if literal == 1.0:
                    self.add(x, d)
                elif literal != 0.0:
                    factor = self._literal(o, literal)
                    term = expression("-d", d=d) if literal == -1.0 else expression("c * d", c=factor, d=d)
                    self.add(x, term)
            else:
                self.add(x, self.product(o, k, d, self._partial(o, k, inverses, shared)))

    def reverse_choice(self, o: ssa.Apply | ssa.If) -> None:
        """The reverse of the iteration that chose last: its value gets the adjoint of the result."""
        choice = self.plan.choosing[o]
        self.add(choice.chosen, self.bar(choice.following))

    def _partial(self, o: ssa.Apply, k: int, inverses: Mapping[Any, str], shared: dict[str, ast.expr]) -> ast.expr:
        """A partial, after the lines that it needs; the names of these lines belong to the partials of this operation.

        `shared` are the lines of other partials that this one may read.
        """
        if o in self.plan.pairs:
            other = self.writer.text(self.plan.pairs[o])
            return expression("-other", other=other) if o.function.name == "cos" else other
        operands = [*map(self.writer.text, o.inputs)]
        if o.function is MASKED_PRODUCT and k == 0 and self.lanes is not None:  # mask each lane separately
            return call("masked_slope", operands)
        rule = o.function.rule
        assert rule is not None
        names = [name(o.result.name), *operands]
        prefix = f"{o.result.name}_"
        while True:
            lines, found = write_partial(rule, k, names, prefix, self.writer.call_rule, inverses)
            if o.result.kind.single:
                lines, found = [(name, _round_literals(value)) for name, value in lines], _round_literals(found)
            if self.writer.recalls:
                lines, found = [(name, recall_calls(value)) for name, value in lines], recall_calls(found)
            if all(name not in self.writer.taken or same(shared.get(name), value) for name, value in lines):
                break
            prefix += "_"
        written = [(name, value) for name, value in lines if name not in shared]
        shared.update(lines)
        if isinstance(o.function.rule, Formula):
            written, found = self.formulas.reuse(written, found)
            self.formulas.note(written)
        for target, value in written:
            self.writer.line("target = value", target=target, value=value)
        self.writer.taken |= dict(lines).keys()
        return found

    def _literal(self, o: ssa.Apply, x: float) -> ast.expr:
        """A number that meets the adjoint of an operation."""
        return as_single(number(x)) if o.result.kind.single else number(x)

    def _inverses(self, o: ssa.Apply) -> Mapping[Any, str]:
        """Invert a divisor of both partials once; maps the key of the divisor to the name of its inverse."""
        both = all(x in self.active and not self.left_out(x) for x in o.inputs)
        if o.function not in (DIVIDE, CHECKED_DIVIDE) or not both:
            return {}
        divisor = self.writer.text(o.inputs[1])
        inverse = self.writer.fresh(f"{o.result.name}_inverse")
        one = self._literal(o, 1.0)
        self.writer.line("inverse = one / divisor", inverse=inverse, one=one, divisor=divisor)
        return {key(divisor): inverse}

    def product(self, o: ssa.Apply, k: int, d: str, slope: ast.expr) -> ast.expr:
        """An adjoint times a partial.

        A zero adjoint gives 0, even if the partial is infinite. The zero partial of a selection gives 0, even if the
        adjoint is infinite. A zero partial also masks the slope at a kink, which is unknown but bounded, but not that
        at a pole, which has no bound.
        """
        rule = o.function.rule
        masked = may_be_infinite(o, k, self.wild, self.unselected)
        routes = rule is not None and rule.body is not None and rule.body.routes(k)
        is_masked = self.writer.function.has_unknown_slopes and o.result not in self.before_poles
        if routes or (is_masked and self.behind_poles.isdisjoint(o.inputs)):
            once = expression("masked_slope(d, slope)", d=d, slope=slope) if masked else slope
            return expression("masked_product(slope, d)", slope=once, d=d)
        if masked:
            return expression("masked_product(d, slope)", d=d, slope=slope)
        return expression("d * slope", d=d, slope=slope)

    def reverse_Call(self, o: ssa.Call) -> None:
        """Call the reverse of a callee, and add the adjoints that it returns."""
        called = self.plan.plan_call(o)
        if not called.pushes and not any(map(self.has_bar, o.results)):
            return
        seeds: list[Part] = [self.bar(o.results[k]) if self.has_bar(o.results[k]) else 0.0 for k in called.seeds]
        read = [self.writer.text(o.inputs[k]) for k in called.reads]
        bars = [self.bar(o.inputs[k]) for k in called.array_bars]
        found = [self.writer.fresh(f"{o.inputs[k].name}_part") for k in called.number_bars]
        called.call_reverse(self.writer, found, [*read, *bars, *seeds])
        for x, k in zip(found, called.number_bars, strict=True):
            self.add(o.inputs[k], x)

    def reverse_MatrixCall(self, o: ssa.MatrixCall) -> None:
        """Pop the kept values, even if the adjoint is zero."""
        given: list[Part] = []
        for x in [*o.varying, *o.operands]:
            if x.is_array:
                given.append(self.bar(x) if x in self.active else None)
            else:
                given.append(self.bar(x) if self.has_bar(x) else 0.0)
        way = "reverse_"
        if self.lanes is not None and self.lanes.enter(o):
            way = "reverse_lanes_"
            given.append(self.lanes.count)
        self.writer.line("top = reverse(given, work, top)", reverse=f"{way}{o.function.name}", given=given)

    # ---- arrays ------------------------------------------------------------------------------------------------------
    def reverse_Load(self, o: ssa.Load) -> None:
        if not self.has_bar(o.result):
            return
        cell, bar = self.writer.subscript(self.bar(o.array), o.indices), self.bar(o.result)
        if o.guard is None:
            self.writer.line("cell += bar", cell=cell, bar=bar)
        else:
            self.writer.line("if guard: cell += bar", guard=self.writer.text(o.guard), cell=cell, bar=bar)

    def reverse_Store(self, o: ssa.Store) -> None:
        cell = self.writer.subscript(self.bar(o.array), o.indices)
        self.add(o.stored, cell)
        self.writer.line("cell = 0.0", cell=cell)

    def reverse_Accumulate(self, o: ssa.Accumulate) -> None:
        cell = self.writer.subscript(self.bar(o.array), o.indices)
        self.add(o.added, cell if o.sign == "+" else expression("-cell", cell=cell))

    def keep_operands(self, o: ssa.Product) -> None:
        """Copy an operand that is overwritten later, because the adjoint of the other operand needs it."""
        for x, other in ((o.inputs[0], o.inputs[1]), (o.inputs[1], o.inputs[0])):
            if o.result in self.active and other in self.active and not self.plan.is_unchanged(o, x):
                self.kept[o, x] = self.writer.fresh(f"{x.name}_kept")
                self.writer.line("kept = x", kept=self.kept[o, x], x=copy_of(x, self.lanes))

    def reverse_Product(self, o: ssa.Product) -> None:
        """Add to the adjoints of the factors of a matrix product."""
        a, b = o.inputs
        d = self.bar(o.result)
        a_name, b_name = (self.kept.get((o, x), x.name) for x in (a, b))
        if not o.result.is_array and not self.has_bar(o.result):
            return
        if self.lanes is None and o.is_gram:
            if b in self.active:
                self.writer.line("add_gram(d, b, b_bar)", d=d, b=b_name, b_bar=self.bar(b))
            return
        of_lanes = "" if self.lanes is None else "lanes_"
        for side, x, other in (("left", a, b_name), ("right", b, a_name)):
            if x in self.active:
                self.writer.line("add(d, y, bar)", add=f"add_{of_lanes}{side}", d=d, y=other, bar=self.bar(x))

    def shadow(self, o: ssa.Operation) -> None:
        """Create the adjoint of an array, unless its reverse is in a loop of its own."""
        if o.result in self.active and self.plan.region(o.block) is None:
            self.make_shadow(o)

    def shadow_results(self, o: ssa.Handed) -> None:
        """Create the adjoints of arrays that a call returns and that are written later."""
        for value in o.results:
            if value.is_array and value in self.active:
                self.writer.line("bar = zeros", bar=self.bar(value), zeros=self.expressions.zeros_like(value))

    def make_shadow(self, o: ssa.Operation) -> None:
        """Create the adjoint of an array that is created, viewed or chosen."""
        if isinstance(o, ssa.View):
            made = self.expressions.write_view(o, name(self.bar(o.inputs[0])))
        elif isinstance(o, ssa.Choose):
            made = self.expressions.write_choice(o, BAR)
        elif isinstance(o, ssa.Create):
            shape = self.expressions.shape(o)
            if self.expressions.is_small(o):
                made = self.expressions.zeros(o.result, shape, small=True)
            else:
                made = self.expressions.make_array(o, "zeros", shape, BAR)
        elif o.result.is_array:
            made = self.expressions.make_array(o, "zeros", name(f"{o.result.name}.shape"), BAR)
        else:
            return
        self.writer.line("bar = made", bar=self.bar(o.result), made=made)


class _Rounding(ast.NodeTransformer):
    """Makes the literals of an expression float32, because Numba computes with float64 where one is."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return as_single(node) if isinstance(node.value, float) else node


def _round_literals(tree: ast.expr) -> ast.expr:
    return cast(ast.expr, _Rounding().visit(tree))


def as_single(x: ast.expr) -> ast.expr:
    """A number rounded to float32."""
    return call("np.float32", [x])
