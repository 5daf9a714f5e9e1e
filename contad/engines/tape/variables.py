"""Numba's types of a differentiated number: a variable of the tape, and a dual number.

Both are plain data. A variable is (value, cell, address of the arena); constants have cell 0. A dual is (value,
tangent). Operations on both are written once, with `chain1` and `chain2`, which push a record or combine tangents. A
record holds two partials and the two cells that they belong to.
"""

from typing import Any

from numba import types
from numba.extending import intrinsic, lower_cast, make_attribute_wrapper, models, register_model

from contad.compile.emitting import cgutils, ir, pack
from contad.compile.typing_rules import Conversion
from contad.compile.words import WORD, place
from contad.compiled_rules.elementwise_calls import PLAIN
from contad.memory.arena import CAPACITY, RECORDS, USED, reserve

_RECORD = ir.LiteralStructType([ir.DoubleType(), ir.DoubleType(), ir.IntType(32), ir.IntType(32)])


class Active(types.Type):
    """A number that carries a derivative. Integers and floats convert to it where they meet; never the reverse."""

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        """Constants convert, as float does to complex."""
        return Conversion.safe if isinstance(other, PLAIN) else None

    def unify(self, typingctx: Any, other: Any) -> Any:
        """A name that holds a constant on one path and a variable on another holds a variable."""
        if isinstance(other, types.Complex):
            return COMPLEX_OF[self]
        return self if isinstance(other, PLAIN) else None


class ActivePair(types.Type):
    """A complex number: a pair of real ones that carry derivatives, its parts. Real and plain ones convert to it."""

    def __init__(self, part: Active) -> None:
        super().__init__(f"contad.complex of {part.name}")
        self.part = part

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        """Constants and real numbers convert."""
        return Conversion.safe if other == self.part or isinstance(other, (*PLAIN, types.Complex)) else None

    def unify(self, typingctx: Any, other: Any) -> Any:
        """A name that holds another number on one path holds a complex number."""
        return self if self.can_convert_from(typingctx, other) is not None else None


class Variable(Active):
    """A variable of the tape."""

    def __init__(self) -> None:
        super().__init__("contad.variable")


class DualNumber(Active):
    """A value and a tangent."""

    def __init__(self) -> None:
        super().__init__("contad.variables.dual")


VARIABLE = Variable()
DUAL = DualNumber()
COMPLEX_OF: dict[Any, ActivePair] = {part: ActivePair(part) for part in (VARIABLE, DUAL)}


@register_model(Variable)
class _VariableModel(models.StructModel):
    """The memory layout of a variable."""

    def __init__(self, dmm: Any, fe_type: Any) -> None:
        fields = [("value", types.float64), ("cell", types.int64), ("arena", types.int64)]
        super().__init__(dmm, fe_type, fields)


@register_model(DualNumber)
class _DualModel(models.StructModel):
    """The memory layout of a dual."""

    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, [("value", types.float64), ("tangent", types.float64)])


@register_model(ActivePair)
class _PairModel(models.StructModel):
    """The memory layout of a complex number."""

    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, [("real", fe_type.part), ("imag", fe_type.part)])


make_attribute_wrapper(ActivePair, "real", "real")
make_attribute_wrapper(ActivePair, "imag", "imag")
for _name, _type in (("value", Variable), ("cell", Variable), ("value", DualNumber), ("tangent", DualNumber)):
    make_attribute_wrapper(_type, _name, _name)


@lower_cast(types.Float, Active)
@lower_cast(types.Integer, Active)
@lower_cast(types.Boolean, Active)
def _constant(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    made = cgutils.create_struct_proxy(toty)(context, builder)  # the other fields are zero
    made.value = context.cast(builder, value, fromty, types.float64)
    return pack(made)


@lower_cast(types.Any, ActivePair)
def _as_pair(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    parts, kind = [value, context.get_constant(types.float64, 0.0)], [fromty, types.float64]
    if isinstance(fromty, types.Complex):
        number = context.make_complex(builder, fromty, value)
        parts, kind = [number.real, number.imag], [fromty.underlying_float] * 2
    made = cgutils.create_struct_proxy(toty)(context, builder)
    made.real, made.imag = (context.cast(builder, x, t, toty.part) for x, t in zip(parts, kind, strict=True))
    return pack(made)


# ---- making them -----------------------------------------------------------------------------------------------------
@intrinsic
def variable(typingctx, value, cell, arena):  # type: ignore[no-untyped-def]
    """A variable of a cell."""
    return VARIABLE(types.float64, types.int64, types.int64), _assemble


@intrinsic
def dual(typingctx, value, tangent):  # type: ignore[no-untyped-def]
    """A dual number."""
    return DUAL(types.float64, types.float64), _assemble


@intrinsic
def pair(typingctx, x, y):  # type: ignore[no-untyped-def]
    """A complex number of real parts, one of which carries a derivative."""
    part = x if isinstance(x, Active) else y
    if not isinstance(part, Active) or not all(isinstance(t, (Active, *PLAIN)) for t in (x, y)):
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        parts = (context.cast(builder, v, t, part) for v, t in zip(args, signature.args, strict=True))
        return _assemble(context, builder, signature, parts)

    return COMPLEX_OF[part](x, y), codegen


def _assemble(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    made = cgutils.create_struct_proxy(signature.return_type)(context, builder)
    for k, x in enumerate(args):
        made[k] = x
    return pack(made)


# ---- the chain rule --------------------------------------------------------------------------------------------------
def emit_chain(context: Any, builder: Any, kind: Active, z: Any, pairs: list[tuple[Any, Any]], routed: Any = ()) -> Any:
    """Emit the number with value z whose partial in x is p, for every pair (p, x).

    A record holds two partials; further ones go through cells of their own, with partial 1. Partials among `routed`
    belong to a selection: if one is 0, z does not depend on x.
    """
    emit = _push if kind == VARIABLE else _combine
    pairs = [(p, _mask_unselected(context, builder, kind, p, x) if p in routed else x) for p, x in pairs]
    made = emit(context, builder, kind, z, pairs[:2])
    for pair in pairs[2:]:
        made = emit(context, builder, kind, z, [(ir.Constant(ir.DoubleType(), 1.0), made), pair])
    return made


@intrinsic
def chain2(typingctx, z, p, x, q, y):  # type: ignore[no-untyped-def]
    """The number with value z and partials p in x and q in y."""
    if not isinstance(x, Active) or x != y:
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        z, p, x, q, y = args
        return emit_chain(context, builder, signature.return_type, z, [(p, x), (q, y)])

    return x(types.float64, types.float64, x, types.float64, x), codegen


def _mask_unselected(context: Any, builder: Any, kind: Active, p: Any, packed: Any) -> Any:
    """x, or a constant if the partial is 0."""
    x = cgutils.create_struct_proxy(kind)(context, builder, packed)
    field, zero = ("cell", ir.Constant(WORD, 0)) if kind == VARIABLE else ("tangent", ir.Constant(ir.DoubleType(), 0.0))
    none = builder.fcmp_ordered("==", p, ir.Constant(ir.DoubleType(), 0.0))
    setattr(x, field, builder.select(none, zero, getattr(x, field)))
    return pack(x)


def _combine(context: Any, builder: Any, kind: Active, z: Any, pairs: list[tuple[Any, Any]]) -> Any:
    """The dual result of an operation."""
    read = cgutils.create_struct_proxy(kind)
    zero = ir.Constant(ir.DoubleType(), 0.0)
    total = zero
    for p, packed in pairs:
        x = read(context, builder, packed)
        # a zero tangent contributes nothing, even if the partial is infinite or nan
        term = builder.select(builder.fcmp_ordered("==", x.tangent, zero), zero, builder.fmul(p, x.tangent))
        total = term if total is zero else builder.fadd(total, term)
    made = read(context, builder)
    made.value, made.tangent = z, total
    return pack(made)


def _push(context: Any, builder: Any, kind: Active, z: Any, pairs: list[tuple[Any, Any]]) -> Any:
    """The variable that results from an operation; its record is pushed unless all operands are constants."""
    read = cgutils.create_struct_proxy(kind)
    operands = [(p, read(context, builder, packed)) for p, packed in pairs]
    arena = operands[0][1].arena
    active = operands[0][1].cell
    for _, x in operands[1:]:  # constants have cell and arena zero
        arena = builder.or_(arena, x.arena)
        active = builder.or_(active, x.cell)
    cell = cgutils.alloca_once_value(builder, ir.Constant(WORD, 0))
    with builder.if_then(builder.icmp_unsigned("!=", active, ir.Constant(WORD, 0)), likely=True):
        used = builder.load(place(builder, arena, USED))
        after = builder.add(used, ir.Constant(WORD, 1))
        full = builder.icmp_unsigned(">=", used, builder.load(place(builder, arena, CAPACITY)))
        with builder.if_then(full, likely=False):
            reserve(context, builder, arena, "_grow", after)
        records = builder.inttoptr(builder.load(place(builder, arena, RECORDS)), _RECORD.as_pointer())
        record = builder.gep(records, [used])
        nothing = [(ir.Constant(ir.DoubleType(), 0.0), ir.Constant(WORD, 0))] * (2 - len(operands))
        for k, (p, c) in enumerate([*((p, x.cell) for p, x in operands), *nothing]):
            builder.store(p, cgutils.gep_inbounds(builder, record, 0, k))
            builder.store(builder.trunc(c, ir.IntType(32)), cgutils.gep_inbounds(builder, record, 0, 2 + k))
        builder.store(after, place(builder, arena, USED))
        builder.store(used, cell)
    made = read(context, builder)
    made.value, made.cell, made.arena = z, builder.load(cell), arena
    return pack(made)
