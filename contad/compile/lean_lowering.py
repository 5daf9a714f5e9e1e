"""Numba's lowering to LLVM IR for generated code, with less IR and the same instructions after optimisation.

For each access to an element, Numba writes the whole array structure to the stack and reads it back, and it extracts
all fields of an array to count a reference. It clears each number that is dead, divides by the steps of ranges, and
looks up the implementation of each operator four times. Generated code is nearly all loops over ranges, accesses to
elements, and operators of numbers.

LLVM also learns the range of the integers in a constant array. From it LLVM derives that indices are not negative and
that small arrays fit on the stack, and it removes the code for other cases.
"""

import operator
from typing import Any

import numpy as np
from llvmlite.ir import Constant
from llvmlite.ir.instructions import LoadInstr
from numba import types
from numba.core import cgutils, ir
from numba.core.ir_utils import find_const, get_definition, guard
from numba.core.lowering import Lower
from numba.np.arrayobj import fix_integer_index, load_item, make_array, store_item

from contad.compile.words import WORD

_OPERATORS = {  # whose lowering ignores constant operands
    operator.add, operator.sub, operator.mul, operator.truediv, operator.eq, operator.ne, operator.lt, operator.le,
    operator.gt, operator.ge,
}  # fmt: skip
_NUMBERS = {types.int64, types.float64, types.boolean}
_RANGE, _COUNTER = types.range_state64_type, types.range_iter64_type
_START, _STOP = range(2)  # fields of a range
_LARGE = 10**6  # bytes; Numba may read larger constant arrays in place, where they can change
# The least bound that is stated. LLVM vectorises loops of fewer than 16 iterations with masked stores, and a processor
# waits for these before it loads one of the numbers.
_LEAST_BOUND = 64


class LeanLower(Lower):
    """Numba's lowering, except for ranges, elements of arrays, operators of numbers, and dead numbers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._operators: dict[Any, Any] = {}  # their lowerings, by operator and types
        self._counted: dict[Any, bool] = {}  # whether values of a type are reference-counted

    def delvar(self, name: str) -> None:
        """End the life of a name: without reference counts there is nothing to do.

        Of an array in memory, only the pointer to its count is read and cleared.
        """
        kind = self.typeof(name)
        if type(kind) is types.Array and name not in self._blk_local_varmap:
            self._singly_assigned_vars.discard(name)
            self._alloca_var(name, kind)
            described = make_array(kind)(self.context, self.builder, ref=self.getvar(name))
            held = described._get_ptr_by_name("meminfo")
            super().decref(types.MemInfoPointer(kind.dtype), self.builder.load(held))
            self.builder.store(Constant(held.type.pointee, None), held)
        elif self._is_counted(kind):
            super().delvar(name)

    def incref(self, typ: Any, val: Any) -> None:
        """Increment a reference count, if the type has one."""
        if self._is_counted(typ):
            super().incref(*self._find_count(typ, val))

    def decref(self, typ: Any, val: Any) -> None:
        """Decrement it."""
        if self._is_counted(typ):
            super().decref(*self._find_count(typ, val))

    def _find_count(self, kind: Any, value: Any) -> tuple[Any, Any]:
        """Of an array, the pointer to its count. Numba extracts all fields, to look for counts in them."""
        if type(kind) is not types.Array:
            return kind, value
        return types.MemInfoPointer(kind.dtype), self.builder.extract_value(value, 0)

    def _is_counted(self, kind: Any) -> bool:
        found = self._counted.get(kind)
        if found is None:
            found = self._counted[kind] = self.context.data_model_manager[kind].contains_nrt_meminfo()
        return found

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """An expression."""
        builder = self.builder
        if expr.op == "getiter" and self.typeof(expr.value.name) == _RANGE:
            step = self._step_of(expr.value)
            return super().lower_expr(resty, expr) if step is None else self._emit_counter(expr.value, step)
        if expr.op == "iternext" and self.typeof(expr.value.name) == _COUNTER:
            return self._emit_next(resty, expr.value)
        if expr.op in ("pair_first", "pair_second") and self.typeof(expr.value.name).first_type == types.int64:
            return builder.extract_value(self.loadvar(expr.value.name), int(expr.op == "pair_second"))
        return super().lower_expr(resty, expr)

    def _step_of(self, name: Any) -> int | None:
        """The step of a range if it is 1 or -1; else None."""
        call = guard(get_definition, self.func_ir, name)
        if not (isinstance(call, ir.Expr) and call.op == "call") or call.kws or call.vararg:
            return None
        if getattr(self.typeof(call.func.name), "typing_key", None) is not range:
            return None
        step = 1 if len(call.args) < 3 else guard(find_const, self.func_ir, call.args[2])
        return step if step in (1, -1) else None

    def _emit_counter(self, name: Any, step: int) -> Any:
        """Emit the iterator of a range: it counts the numbers between the ends."""
        builder, given = self.builder, self.loadvar(name.name)
        start, stop = (builder.extract_value(given, k) for k in (_START, _STOP))
        apart = builder.sub(stop, start) if step == 1 else builder.sub(start, stop)
        is_any = builder.icmp_signed(">", apart, WORD(0))
        made = cgutils.create_struct_proxy(_COUNTER)(self.context, builder)
        made.iter = cgutils.alloca_once_value(builder, start)
        made.stop, made.step = stop, WORD(step)
        made.count = cgutils.alloca_once_value(builder, builder.select(is_any, apart, WORD(0)))
        return made._getvalue()

    def _emit_next(self, kind: Any, name: Any) -> Any:
        """Emit the next number, and whether there is one."""
        builder, counter = self.builder, self.loadvar(name.name)
        at, _, step, left = (builder.extract_value(counter, k) for k in range(4))
        count, found = builder.load(left), cgutils.alloca_once(builder, WORD)
        is_valid = builder.icmp_signed(">", count, WORD(0))
        with builder.if_then(is_valid):
            value = builder.load(at)
            builder.store(value, found)
            builder.store(builder.sub(count, WORD(1), flags=["nsw"]), left)
            builder.store(builder.add(value, step), at)
        pair = Constant(self.context.get_value_type(kind), None)
        return builder.insert_value(builder.insert_value(pair, builder.load(found), 0), is_valid, 1)

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """An operator. The lowering of an operator on numbers is looked up once for each function."""
        signature = self.fndesc.calltypes[expr]
        if op not in _OPERATORS or not _NUMBERS.issuperset(signature.args):
            return super().lower_binop(resty, expr, op)
        emit = self._operators.get((op, signature.args))
        if emit is None:
            kind = self.context.typing_context.resolve_value_type(op)
            chosen = kind.get_call_type(self.context.typing_context, signature.args, {})
            emit = self._operators[op, signature.args] = self.context.get_function(kind, chosen)
        given = [self._cast_var(x, t) for x, t in zip((expr.lhs, expr.rhs), signature.args, strict=True)]
        return self.context.cast(self.builder, emit(self.builder, given), signature.return_type, resty)

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """a[i], a[i, j]"""
        kind = self._kind_of_element(value, index, signature)
        if kind is None:
            found = super().lower_getitem(resty, expr, value, index, signature)
            if isinstance(found, LoadInstr) and found.type == WORD:
                self._state_range(found, value)
            return found
        found = load_item(self.context, self.builder, kind, self._emit_pointer(kind, value, index))
        return self.context.cast(self.builder, found, signature.return_type, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """a[i] = x, a[i, j] = x"""
        kind = self._kind_of_element(target_var, index_var, signature)
        if kind is None or self.typeof(value_var.name) not in _NUMBERS:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        pointer = self._emit_pointer(kind, target_var, index_var)
        store_item(self.context, self.builder, kind, self._cast_var(value_var, kind.dtype), pointer)
        return None

    def _state_range(self, loaded: Any, array: Any) -> None:
        """Tell LLVM the range of an integer that is loaded from a constant array."""
        made = guard(get_definition, self.func_ir, array)
        held = made.value if isinstance(made, (ir.Global, ir.FreeVar)) else None
        if isinstance(held, np.ndarray) and held.dtype == np.int64 and 0 < held.nbytes <= _LARGE:
            end = max(int(held.max()) + 1, _LEAST_BOUND)
            if end <= np.iinfo(np.int64).max:
                loaded.set_metadata("range", self.module.add_metadata([WORD(int(held.min())), WORD(end)]))

    def _kind_of_element(self, array: Any, index: Any, signature: Any) -> Any:
        """The type of an array of numbers in a stack slot, if int64 indices select one number; else None."""
        kind, at = self.typeof(array.name), self.typeof(index.name)
        is_array = type(kind) is types.Array and kind.dtype in _NUMBERS and signature.args[0] == kind
        if not is_array or array.name in self._blk_local_varmap or self.context.enable_boundscheck:
            return None
        indices = tuple(map(types.unliteral, at if isinstance(at, types.BaseTuple) else (at,)))
        return kind if indices == (types.int64,) * kind.ndim else None

    def _emit_pointer(self, kind: Any, array: Any, index: Any) -> Any:
        """The address of an element. It reads only the needed fields of the array structure."""
        context, builder = self.context, self.builder
        described = make_array(kind)(context, builder, ref=self.getvar(array.name))
        lengths = self._read_words(described, "shape", kind.ndim)
        strides = self._read_words(described, "strides", kind.ndim) if kind.layout == "A" else []
        if isinstance(self.typeof(index.name), types.BaseTuple):
            indices = cgutils.unpack_tuple(builder, self.loadvar(index.name))
        else:
            indices = [self._cast_var(index, types.int64)]
        indices = [fix_integer_index(context, builder, types.int64, *x) for x in zip(indices, lengths, strict=True)]
        return cgutils.get_item_pointer2(context, builder, described.data, lengths, strides, kind.layout, indices)

    def _read_words(self, described: Any, field: str, count: int) -> list[Any]:
        words = described._get_ptr_by_name(field)
        return [self.builder.load(cgutils.gep_inbounds(self.builder, words, 0, k)) for k in range(count)]
