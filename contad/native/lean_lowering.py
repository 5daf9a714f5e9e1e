"""Numba's way into LLVM's language for generated code, with fewer words: the same instructions after optimisation.

Numba writes for each element of an array its whole description to the stack and reads it back, clears each number that
is not used any more, and asks for each operator four times which implementation it has. Nearly all of generated
code is elements and operators of numbers.
"""

import operator
from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.lowering import Lower
from numba.np.arrayobj import fix_integer_index, load_item, make_array, store_item

_OPERATORS = {  # for which no constant operand makes a difference
    operator.add, operator.sub, operator.mul, operator.truediv, operator.eq, operator.ne, operator.lt, operator.le,
    operator.gt, operator.ge,
}  # fmt: skip
_NUMBERS = {types.int64, types.float64, types.boolean}


class LeanLower(Lower):  # type: ignore[misc]
    """Numba's, but for elements of arrays, operators of numbers, and the ends of their lives."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._operators: dict[Any, Any] = {}  # what emits them, by operator and types
        self._counted: dict[Any, bool] = {}  # whether there are references to values of a type

    def delvar(self, name: str) -> None:
        """End the life of a name: without references it needs nothing."""
        if self._is_counted(self.typeof(name)):
            super().delvar(name)

    def incref(self, typ: Any, val: Any) -> None:
        """Count a reference, where there are any."""
        if self._is_counted(typ):
            super().incref(typ, val)

    def decref(self, typ: Any, val: Any) -> None:
        """Count one less."""
        if self._is_counted(typ):
            super().decref(typ, val)

    def _is_counted(self, kind: Any) -> bool:
        found = self._counted.get(kind)
        if found is None:
            found = self._counted[kind] = self.context.data_model_manager[kind].contains_nrt_meminfo()
        return found

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """An operator; one of numbers is looked up once in a function."""
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
            return super().lower_getitem(resty, expr, value, index, signature)
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

    def _kind_of_element(self, array: Any, index: Any, signature: Any) -> Any:
        """The type of an array of numbers, on the stack, of which an index of int64 tells one; else None."""
        kind, at = self.typeof(array.name), self.typeof(index.name)
        is_array = type(kind) is types.Array and kind.dtype in _NUMBERS and signature.args[0] == kind
        if not is_array or array.name in self._blk_local_varmap or self.context.enable_boundscheck:
            return None
        indices = tuple(at) if isinstance(at, types.UniTuple) else (at,)
        return kind if indices == (types.int64,) * kind.ndim else None

    def _emit_pointer(self, kind: Any, array: Any, index: Any) -> Any:
        """Where an element lies: of the array's description that is read which tells."""
        context, builder, at = self.context, self.builder, self.loadvar(index.name)
        described = make_array(kind)(context, builder, ref=self.getvar(array.name))
        lengths = self._read_words(described, "shape", kind.ndim)
        strides = self._read_words(described, "strides", kind.ndim) if kind.layout == "A" else []
        indices = cgutils.unpack_tuple(builder, at) if isinstance(self.typeof(index.name), types.UniTuple) else [at]
        indices = [fix_integer_index(context, builder, types.int64, *x) for x in zip(indices, lengths, strict=True)]
        return cgutils.get_item_pointer2(context, builder, described.data, lengths, strides, kind.layout, indices)

    def _read_words(self, described: Any, field: str, count: int) -> list[Any]:
        words = described._get_ptr_by_name(field)
        return [self.builder.load(cgutils.gep_inbounds(self.builder, words, 0, k)) for k in range(count)]
