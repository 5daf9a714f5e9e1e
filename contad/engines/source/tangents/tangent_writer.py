"""Writes the tangents of a function into it: forward mode as a transformation of operations.

    z = f(x, y)     beside it     z_dot = df/dx x_dot + df/dy y_dot

Every active array gets an array of tangents, which is created, viewed, read and written whenever the array is. Every
active number that a loop carries or a branch merges gets a tangent that is carried or merged with it. Control flow does
not change. The result is an ordinary function: it can be simplified, written as it is (forward mode), and reversed
(second derivatives).
"""

import math
from collections.abc import Sequence
from typing import Any

from contad.engines.source.analysis.activity import Activity, refuse_lost
from contad.engines.source.analysis.finite_partials import (
    has_bounded_slopes,
    has_poles,
    least,
    may_be_infinite,
    wild_values,
)
from contad.engines.source.analysis.partials import partial
from contad.engines.source.ir import ssa
from contad.engines.source.ir.called_derivatives import DerivativeCall
from contad.engines.source.ir.entries import constant
from contad.engines.source.ir.kink_functions import (
    EXTREME_ON_LINE,
    KNOWN_PART,
    PART_OF_TANGENT,
    PARTS,
    POLE,
    Kink,
    find_kink,
)
from contad.engines.source.ir.known_functions import (
    ABSOLUTE,
    AND,
    COMPARISONS,
    MASKED_PRODUCT,
    MAXIMUM,
    MULTIPLY,
    NEGATIVE,
    SELECT,
    SUBTRACT,
    TO_FLOAT,
)
from contad.engines.source.ir.rule_sites import RuleForward, RuleValue
from contad.engines.source.ir.runtime_functions import NORM
from contad.engines.source.ir.walks import leaves, map_tree, values_in, walk
from contad.engines.source.tangents.appending import ZERO, Appender
from contad.engines.source.tangents.called_tangents import CalleeTangents, write_tangents
from contad.engines.source.tangents.matrix_tangents import MatrixTangents
from contad.engines.source.tangents.partial_operations import Partials
from contad.engines.source.tangents.rule_tangents import RuleTangents
from contad.errors import UnsupportedError

DOT = "_dot"  # the suffix of a tangent


class TangentWriter:
    """Writes the tangents with respect to given values into a function."""

    suffix = DOT
    zero = ZERO  # the tangent of an inactive number
    shared: tuple[ssa.Value, ...] = ()  # additional arguments of callees, besides tangents

    def __init__(
        self,
        function: ssa.SourceFunction,
        given: Sequence[ssa.Value],
        outputs: Sequence[ssa.Value],
        callees: CalleeTangents | None = None,
        is_reversed: bool = False,
        rules_written: bool = False,
        in_lanes: bool = False,
    ) -> None:
        """Find the values that depend on the given ones and affect the outputs; only these have tangents.

        With `rules_written` the forward mode of user-written rules is inlined, as further derivatives or several
        directions require; else it is called.
        """
        self.active = Activity(function, list(given), list(outputs))
        refuse_lost(function, self.active)
        self.wild = wild_values(function)
        self.function = function
        self.has_kinks = False  # whether it has kinks that matter to second derivatives
        self.is_reversed = is_reversed  # whether the reverse sweep differentiates the result again
        self.rules_written = rules_written
        self.in_lanes = in_lanes  # whether tangents have lanes: then they may not decide a branch
        self.append = Appender(function.block)
        self.matrices = MatrixTangents(self.append, is_reversed, in_lanes)
        self.rules = RuleTangents(self.append, function)
        self.callees = callees or CalleeTangents(self._of_callee)
        self.dots: dict[ssa.Value, ssa.Value] = {}
        self.given = frozenset(given)
        others = [o for o in walk(function.block) if not isinstance(o, (ssa.Load, ssa.Length))] if is_reversed else []
        self.touched = {root for o in others for x in o.inputs for root in x.roots}  # arrays that may be written
        for value in given:
            self.new_dot(value)

    def write(self) -> None:
        """Write the tangents; values that do not depend on the given ones have none."""
        operations, self.function.block.operations = self.function.block.operations, []
        made = {x for o in walk_all(operations) for x in o.results}
        for root in dict.fromkeys(r for o in walk_all(operations) for x in (*o.inputs, *o.results) for r in x.roots):
            if root not in made and root not in self.dots and root in self.active:  # a written argument
                self._new_zeros(root)
        had = walk_all(operations)
        self._operations(operations)
        self.function.has_unknown_slopes |= self.has_kinks and has_bounded_slopes(had)

    def dot(self, value: ssa.Value) -> ssa.Value:
        """The tangent of a value; 0 for a number without one."""
        found = self.dots.get(value)
        if found is not None:
            return found
        assert not value.is_array or value not in self.active
        return self.zero

    def has_dot(self, value: ssa.Value) -> bool:
        """Whether a value has a tangent that is not known to be 0."""
        return value in self.dots and self.dots[value].constant != 0.0

    def new_dot(self, value: ssa.Value) -> ssa.Value:
        """A tangent that is not computed yet."""
        self.dots[value] = ssa.Value(self.kind_of_dot(value), value.hint + self.suffix if value.hint else "")
        return self.dots[value]

    def kind_of_dot(self, value: ssa.Value) -> ssa.Kind:
        """The kind of the tangent of a value; integers have a float tangent, too."""
        return value.kind if value.kind.base == "float" else ssa.Kind("float", value.kind.ndim)

    def of_result(self, value: ssa.Value) -> ssa.Value:
        """The tangent of a result; zeros for an array without one."""
        if value.is_array and value not in self.dots:
            self._new_zeros(value)
        return self.dot(value)

    def return_with(self, wanted: Sequence[Any], returned: Any) -> None:
        """Let the function take the tangents of the `wanted` arguments, and return the tangents of its results, too."""
        added = [map_tree(tree, lambda v: self.dots[v]) for tree in wanted]
        added += self.shared
        self.function.parameters += added
        self.function.tangents += added
        self.append.line = 0
        self.function.returned = map_tree(returned, self.of_result), self.function.returned

    def _new_zeros(self, array: ssa.Value) -> None:
        """Give a tangent of zeros to an array that is created as a constant and written later."""
        self.append.add(ssa.Create("zeros", self.append.shape_of(array), self.new_dot(array)))

    # ---- blocks ------------------------------------------------------------------------------------------------------
    def _block(self, block: ssa.Block) -> None:
        operations, block.operations = block.operations, []
        with self.append.inside(block):
            self._operations(operations)

    def _operations(self, operations: list[ssa.Operation]) -> None:
        """Append operations and their tangents."""
        for o in operations:
            self.append.line = o.line
            write = getattr(self, f"_of_{type(o).__name__}", None)
            if write is None and self.active.changes(o):
                raise UnsupportedError(
                    f"the tangent of an operation of the kind {type(o).__name__} is not generated; use engine='tape'"
                )
            if write is None or not self.active.changes(o):
                self.append.add(o)
                for x in o.results:
                    if x.is_array and x in self.active:
                        self._new_zeros(x)
            else:
                write(o)

    def _of_If(self, o: ssa.If) -> None:
        for block in o.blocks:
            self._block(block)
        self.append.add(o)
        for m in list(o.merges):
            if m.result in self.active:
                o.merge(self.dot(m.then), self.dot(m.otherwise), self.new_dot(m.result))

    def _of_Loop(self, o: ssa.Loop) -> None:
        """Carry a tangent with each carried number that has one."""
        carried = [c for c in o.carried if c.inner in self.active]
        initial = [self.dot(c.initial) for c in carried]
        inner = [self.new_dot(c.inner) for c in carried]
        for block in o.blocks:
            self._block(block)
        added = [
            ssa.Carried(first, i, self.dot(c.following), self.new_dot(c.result))
            for c, first, i in zip(carried, initial, inner, strict=True)
        ]
        self.append.add(o)
        o.carry([*o.carried, *added])

    _of_For = _of_While = _of_Loop

    # ---- numbers -----------------------------------------------------------------------------------------------------
    def _of_Apply(self, o: ssa.Apply) -> None:
        """The sum of the partials times the tangents of the operands."""
        if self.is_reversed and o.function.name in PARTS:
            self._of_extreme(o)
            return
        if self.is_reversed and o.function.name in ("copysign", "fdim"):
            self._of_parts(o)
            return
        kink = self._find_kink(o) if self.is_reversed else None
        z = o.result
        if kink is not None:
            o.results[0] = self._rename(z, o)
        self.append.add(o)
        if o.function is SELECT:
            then, otherwise = map(self.dot, o.inputs[1:])
            self.dots[o.result] = self._give_name(self.append.apply(SELECT, o.inputs[0], then, otherwise), o.result)
            return
        if o.function is TO_FLOAT:
            self.dots[o.result] = self.dot(o.inputs[0])
            return
        terms = []
        partials = Partials(self.append, o) if o.function.rule is not None else None
        self.append.of_kink = kink is not None
        for k, x in enumerate(o.inputs):
            if self.has_dot(x) and x.kind == ssa.FLOAT:
                terms.append(self._term(o, k, partials))
        z_dot = self.append.sum(terms)
        if kink is not None:
            z_dot = self._cross(o, z, z_dot, kink)
        self.append.of_kink = False
        self.dots[z] = self._give_name(z_dot, z)

    def _of_parts(self, o: ssa.Apply) -> None:
        """Replace fdim by the maximum, and a product with a sign by |x|, whose kinks are known."""
        (x, y), part = o.inputs, ssa.Value(ssa.FLOAT)
        if o.function.name == "fdim":
            written = [ssa.Apply(MAXIMUM, [x, y], part), ssa.Apply(SUBTRACT, [part, y], o.result)]
        else:
            side = self.append.apply(o.function, constant(1.0), y)
            written = [ssa.Apply(ABSOLUTE, [x], part), ssa.Apply(MULTIPLY, [part, side], o.result)]
        for operation in written:
            self._of_Apply(operation)

    def _find_kink(self, o: ssa.Apply) -> Kink | None:
        """What replaces o at its kink; None if o cannot be at a kink."""
        if o.function.name == "power":
            exponent = o.inputs[1].constant
            kink = POLE if exponent is None or 0.0 < exponent < 1.0 else None
        else:
            kink = find_kink(o.function)
        return None if kink is None or (least(o.inputs[0]) > 0.0 and not kink.at_end) else kink

    def _of_extreme(self, o: ssa.Apply) -> None:
        """The larger or smaller of two numbers; at a tie, the one that is larger or smaller along v."""
        z, (x, y), dots = o.result, o.inputs, [self.dot(x) for x in o.inputs]
        o.results[0] = self._rename(z, o)
        self.append.add(o)
        self.has_kinks |= all(map(self.has_dot, o.inputs))
        apply, partials = self.append.apply, Partials(self.append, o)
        is_tie, of_x = apply(COMPARISONS["Eq"], x, y), apply(PARTS[o.function.name], *dots)
        parts, terms = [], []
        for k, at_tie in enumerate((of_x, apply(SUBTRACT, constant(1.0), of_x))):
            first = partials(k)
            parts.append(apply(SELECT, is_tie, at_tie, first))
            if self.has_dot(o.inputs[k]):
                known = apply(SELECT, is_tie, apply(KNOWN_PART, at_tie), first)
                terms.append(apply(PART_OF_TANGENT, dots[k], parts[k], known))
        self.append.add(ssa.Apply(EXTREME_ON_LINE, [o.result, x, y, *parts], z))
        self.dots[z] = self._give_name(self.append.sum(terms), z)

    def _is_given(self, x: ssa.Value) -> bool:
        """Whether a number is an argument or an element of one: its tangent does not depend on the arguments."""
        if isinstance(x.operation, ssa.Load):
            return x.operation.array in self.given and x.operation.array not in self.touched
        return x in self.given

    def _rename(self, z: ssa.Value, o: ssa.Operation) -> ssa.Value:
        """Give o a new result, so that another value can replace z for all readers."""
        made = ssa.Value(z.kind, z.hint)
        made.operation = o
        return made

    def _cross(self, o: ssa.Apply, z: ssa.Value, z_dot: ssa.Value, kink: Kink) -> ssa.Value:
        """Let z be another function at a kink of o; the tangent of z."""
        operands = o.inputs[:1] if kink.is_pole else o.inputs
        apply, dots = self.append.apply, [self.dot(x) for x in operands]
        self.has_kinks = True
        if kink.at_end:
            at_kink = apply(COMPARISONS["Eq"], apply(ABSOLUTE, o.inputs[0]), constant(1.0))
        else:
            at_kink = apply(COMPARISONS["Eq"], o.result, constant(0.0))
        if o.function.name == "power" and o.inputs[1].constant is None:
            above, below = (apply(COMPARISONS[k], o.inputs[1], constant(n)) for k, n in (("Gt", 0.0), ("Lt", 1.0)))
            at_kink = apply(AND, at_kink, apply(AND, above, below))  # only a root has one
        rests = at_kink
        if kink.is_pole and self._is_given(o.inputs[0]):
            on_line, tangent = apply(POLE.value, o.inputs[0]), z_dot
        elif self.in_lanes:
            on_line = self.append.sum([apply(POLE.value, x) for x in operands])
            if kink.is_pole:
                tangent = self.append.sum([z_dot, self._times(self.append.sum(dots), constant(math.nan))])
            else:
                nan = constant(math.nan)
                pairs = [(apply(MASKED_PRODUCT, dot, nan), apply(POLE.value, dot)) for dot in dots]
                tangent = self.append.sum([x for pair in pairs for x in pair])
        elif kink.is_pole:  # a number with a nonzero tangent moves away from 0, where the root has its usual tangent
            rests = apply(AND, at_kink, apply(COMPARISONS["Eq"], dots[0], constant(0.0)))
            on_line, tangent = apply(POLE.value, o.inputs[0]), apply(POLE.tangent, dots[0])
        else:
            on_line, tangent = apply(kink.value, *o.inputs, *dots), apply(kink.tangent, *dots)
        if kink.at_end:
            on_line = self.append.sum([o.result, on_line])
        self.append.add(ssa.Apply(SELECT, [at_kink, on_line, o.result], z))
        return z_dot if tangent is z_dot else apply(SELECT, rests, tangent, z_dot)

    def _term(self, o: ssa.Apply, k: int, partials: Partials | None) -> ssa.Value:
        """The tangent of operand k times its partial."""
        x_dot, literal = self.dot(o.inputs[k]), partial(o.function, k).literal
        if literal is not None:
            if literal == 0.0:
                return ZERO
            return self.append.apply(NEGATIVE, x_dot) if literal == -1.0 else self._times(x_dot, constant(literal))
        assert partials is not None and o.function.rule is not None and o.function.rule.body is not None
        may_rest = self.is_reversed and has_poles(o) and not self._is_given(o.inputs[k])  # at a pole
        masked = may_be_infinite(o, k, self.wild, set()) and not may_rest
        p = partials(k)
        if o.function.rule.body.routes(k):
            return self.append.apply(MASKED_PRODUCT, p, x_dot)
        return self.append.apply(MASKED_PRODUCT, x_dot, p) if masked and p.constant is None else self._times(x_dot, p)

    def _times(self, x: ssa.Value, y: ssa.Value) -> ssa.Value:
        return self.append.apply(MULTIPLY, x, y)

    def _give_name(self, dot: ssa.Value, value: ssa.Value) -> ssa.Value:
        if value.hint and not dot.hint and dot.constant is None:
            dot.hint = value.hint + DOT
        return dot

    def _of_Call(self, o: ssa.Call) -> None:
        self.append.add(self.callees.with_tangents(o, self))

    def _of_callee(self, function: ssa.SourceFunction, given: list[ssa.Value]) -> "TangentWriter":
        ways = self.is_reversed, self.rules_written, self.in_lanes
        tangents = TangentWriter(function, given, leaves(function.returned), self.callees, *ways)
        tangents.matrices.is_called = tangents.rules.is_called = True
        tangents.write()
        return tangents

    # ---- arrays ------------------------------------------------------------------------------------------------------
    def _of_Load(self, o: ssa.Load) -> None:
        self.append.add(o)
        guard = [] if o.guard is None else [o.guard]
        self.append.add(ssa.Load(self.dot(o.array), [*o.indices, *guard], self.new_dot(o.result)))

    def _of_Store(self, o: ssa.Store) -> None:
        self.append.add(ssa.Store(self.dot(o.array), list(o.indices), self.dot(o.stored)))
        self.append.add(o)

    def _of_Accumulate(self, o: ssa.Accumulate) -> None:
        if self.has_dot(o.added):
            self.append.add(ssa.Accumulate(self.dot(o.array), list(o.indices), self.dot(o.added), o.sign))
        self.append.add(o)

    def _of_Create(self, o: ssa.Create) -> None:
        self.append.add(o)
        self.append.add(ssa.Create("zeros" if o.fill == "ones" else o.fill, list(o.inputs), self.new_dot(o.result)))

    def _of_View(self, o: ssa.View) -> None:
        self.append.add(o)
        self.append.add(o.again(self.dot(o.inputs[0]), self.new_dot(o.result)))

    _of_Permuted = _of_Reshaped = _of_View

    def _of_Choose(self, o: ssa.Choose) -> None:
        self.append.add(o)
        arrays = dict(zip(o.numbers, map(self.dot, o.inputs[1:]), strict=True))
        self.append.add(ssa.Choose(o.inputs[0], arrays, self.new_dot(o.result)))

    # ---- matrices ----------------------------------------------------------------------------------------------------
    def _of_Product(self, o: ssa.Product) -> None:
        """z_dot = a_dot b + a b_dot"""
        self.append.add(o)
        a, b = o.inputs
        terms = []
        for x in dict.fromkeys(x for x in o.inputs if x in self.active):
            for left, right in [(self.dots[x], b)] * (x is a) + [(a, self.dots[x])] * (x is b):
                term = ssa.Value(o.result.kind, o.result.hint + DOT)
                self.append.add(ssa.Product(left, right, term))
                terms.append(term)
        if not o.result.is_array:
            self.dots[o.result] = self.append.sum(terms)
            return
        for term in terms[1:]:
            self.append.add_array(terms[0], term)
        self.dots[o.result] = terms[0]

    def _of_MatrixCall(self, o: ssa.MatrixCall) -> None:
        """Inline the formula; at its kink, another function replaces a norm that is differentiated again."""
        z = o.results[0] if o.function is NORM and self.is_reversed else None
        if z is not None:
            self.has_kinks = True
            o.results[0] = self._rename(z, o)
        self.append.add(o)
        found = self.matrices.tangents(o, {x: self.dots[x] for x in o.operands if x in self.active})
        if z is not None:
            on_line, self.dots[z] = found
            self.append.add(ssa.Apply(TO_FLOAT, [on_line], z))
            return
        for x, dot in zip(o.varying, found, strict=True):
            if not x.is_array:
                self.dots[x] = dot
            elif x in self.active:
                self.append.copy_into(self.dots[x], dot)

    def _of_DerivativeCall(self, o: DerivativeCall) -> None:
        write_tangents(self, o)

    def _of_RuleValue(self, o: RuleValue) -> None:
        """Inline the forward mode of the rule; if there is none, the call also computes the tangent of its value."""
        site, forward = o.site, o.found.operation
        assert isinstance(forward, RuleForward)
        has_forward = site.parts.tangent is not None
        if site.moved or not (self.is_reversed or has_forward):
            why = ", which third derivatives take" if site.moved else ""
            raise UnsupportedError(
                f"{site.rule.name}: it has no forward mode{why}; write it with contad.custom_jvp, or a rule with a jvp"
            )
        moved = tuple(k for k, at in enumerate(site.given) if at is not None and self.has_dot(forward.inputs[at]))
        if not moved:
            self._without_tangents(o)
            return
        if self.rules_written and has_forward:
            self.append.add(o)
            found = self.rules.tangent(o, self.dots)
            for x in o.filled:
                self.append.copy_into(self.dots[x], found)
            for x in o.results:
                self.dots[x] = found
            return
        read = [*forward.inputs, *(self.dots[forward.inputs[site.given[k]]] for k in moved)]  # type: ignore[index]
        with_tangents = RuleForward(site.with_tangents(moved), read, 0, forward.lengths)
        with_tangents.line = forward.line
        self.append.replace(forward, with_tangents)
        value = RuleValue(with_tangents, [*o.filled, *(self.dots[x] for x in o.filled)])
        if not o.filled:
            (z,) = o.results
            value.results[0] = z
            z.operation = value
            self.dots[z] = value.results[1]
        self.append.add(value)

    def _without_tangents(self, o: RuleValue) -> None:
        """A call whose arguments have zero tangents."""
        self.append.add(o)
        for x in o.filled:
            self.append.fill(self.dots[x], ZERO)
        for x in o.results:
            self.dots[x] = ZERO

    def _of_Handed(self, o: ssa.Handed) -> None:
        """Its derivative is zero, or it would have been refused; its arrays may be written later."""
        self.append.add(o)
        for x in o.results:
            if x.is_array and x in self.active:
                self._new_zeros(x)


def walk_all(operations: list[ssa.Operation]) -> list[ssa.Operation]:
    """Operations and those inside them."""
    return [x for o in operations for x in (o, *(inner for block in o.blocks for inner in walk(block)))]


def add_tangents(
    function: ssa.SourceFunction, argnums: Sequence[int], is_reversed: bool = False, rules_written: bool = False,
    in_lanes: bool = False,
) -> None:  # fmt: skip
    """Add a tangent parameter to a function for each of these arguments; it then returns (tangent, old result)."""
    wanted, returned = [function.parameters[k] for k in argnums], leaves(function.returned)
    tangents = TangentWriter(function, values_in(wanted), returned, None, is_reversed, rules_written, in_lanes)
    tangents.write()
    tangents.return_with(wanted, function.returned)


def add_tangents_of_floats(function: ssa.SourceFunction, given: list[ssa.Value]) -> None:
    """As `add_tangents`, for some floats and arrays of floats, each with its own parameter.

    The function returns the tangents of all floats in order.
    """
    floats = tuple(x for x in leaves(function.returned) if x.kind.base == "float")
    tangents = TangentWriter(function, given, floats, None, is_reversed=True, rules_written=True)
    tangents.write()
    tangents.return_with(given, floats)
