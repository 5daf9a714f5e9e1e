"""Fast operators and ufuncs of array variables, for two affine operands of one shape, or one and a number.

They are generated like the methods of scalar variables, because the function calls of a general method would double
their time. Other operands take the general path of `array_records`.
"""

import functools
import linecache
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

from contad.engines.matrix.array_records import fast_elementwise, operate_on_view, sum_along
from contad.engines.matrix.array_var import ArraySlab, ArrayVar, is_direct
from contad.engines.matrix.kernel_records import RecordKernels
from contad.engines.matrix.matrix_products import compile_product, factor_of, fast_product
from contad.engines.stream.storage import (
    CELLS,
    CELLS_WITH_VIEWS,
    LINEAR,
    ROWS,
    SUM,
    X_CELL,
    X_NUMBER,
    Y_CELL,
    Y_NUMBER,
    Buffers,
)
from contad.engines.stream.sweep import operation_code
from contad.protocols.number_protocols import make_methods
from contad.rules.array_rule import ArrayRule, array_rule_of
from contad.rules.numpy_functions import entry_of
from contad.rules.scalar_rule import ScalarRule, rules
from contad.variables.dtypes import FLOAT
from contad.variables.open_types import ArrayValue, Function, Option, Value

# A view is contiguous and affine only while its root is.
_DIRECT = "{i} > 0 and ({a}._base is None or {a}._base._index > 0)"

# The number of elements, and the length of a vector. Attributes of ndarrays take as long as a call.
_COUNT = """\
n = length = {a}._length
if not n:
    shape = {x}.shape
    if not shape: return general({operands})
    n = {x}.size
    if len(shape) == 1: length = n"""

_COUNT_OF_TWO = """\
n = length = a._length
if not n or n != b._length:
    shape = x.shape
    if not shape or shape != y.shape: return general(a, b)
    n = x.size
    length = n if len(shape) == 1 else 0"""

_RECORD = """\
{count}
first = s.top; end = first + n
if end > s.brim: s.make_room(n)
if first < {kept}:
    views = s.views[length or shape]
    v = views[first] if first in views else s.make_view(first, length or shape)
else: v = s.slab[first:end] if length else ndarray(shape, FLOAT, s.words, 8 * first)
{set_number}ufunc({values}, {out}v)
z = ArrayVar(); z._owner = s; z._value = v; z._index = first; z._base = None; z._length = length
push = s.push
s.top = end; push(({head} - (CELLS_OF[n] if n < {few} else {cells:.1f} * n), {fields}, 0.0))
return z"""

_UNARY = """\
def method(a):
    i = a._index
    if {a_direct}:
        s = a._owner
        if not s.lock._is_owned(): s.check_usable(operation)
        x = a._value
{record_v}
    found = operate_on_view(code, ufunc, a)
    if found is not None: return found
    c = settle(a)
    return general(a) if c is a else method(c)
"""

_BINARY = """\
def method(a, b):
    i = a._index
    if {a_direct}:
        s = a._owner
        if not s.lock._is_owned(): s.check_usable(operation)
        kind = type(b)
        if kind is ArrayVar:
            j = b._index
            if b._owner is s and {b_direct}:
                x = a._value; y = b._value
{record_vv}
        elif kind is float or kind is int or kind is float64:
            x = a._value; y = b if kind is float else float(b)
{record_vy}
        elif kind is ndarray and b.dtype is FLOAT and s.ended is None:
            x = a._value; y = b
            if x.shape == y.shape and y.flags.c_contiguous and y.ndim:
                j = {place_of_y}
{record_vc}
        elif kind is s.var_class or kind is s.float_class:
            y = b._value
            if b._owner is s and type(y) is float:
                x = a._value; j = b._index
{record_vs}
    c = settle(a); d = settle(b)
    return general(a, b) if c is a and d is b else method(c, d)

def reflected(b, a):
    j = b._index
    if {b_direct}:
        s = b._owner
        if not s.lock._is_owned(): s.check_usable(operation)
        kind = type(a)
        if kind is float or kind is int or kind is float64:
            x = a if kind is float else float(a); y = b._value
{record_yv}
        elif kind is ndarray and a.dtype is FLOAT and s.ended is None:
            x = a; y = b._value
            if x.shape == y.shape and x.flags.c_contiguous and x.ndim:
                i = {place_of_x}
{record_cv}
        elif kind is s.var_class or kind is s.float_class:
            x = a._value
            if a._owner is s and type(x) is float:
                y = b._value; i = a._index
{record_sv}
    d = settle(b)
    return general(a, b) if d is b else reflected(d, a)
"""

# A constant that no partial reads, as in a difference, has no place; kernels may read the number at 0 instead.
_KEPT = "s.buffers.push_constant({x})"
_UNREAD = f"0 if {{x}}.size <= {ROWS} and not s.keeps_rules else {_KEPT}"

FEW = 256  # element counts up to which the heads of records are in a table
_CELLS_OF = [float(CELLS * n) for n in range(FEW)]

# activity, form, the operand that has the result's shape, the fields of the record, indentation
_UNARY_RECORDS = {"v": ("v", 0, "x", "i, 0.0", 2)}
_BINARY_RECORDS = {
    "vv": ("vv", 0, "x", "i, j", 4), "vy": ("vc", Y_NUMBER, "x", "i, y", 3), "vs": ("vv", Y_CELL, "x", "i, j", 4),
    "vc": ("vc", 0, "x", "i, j", 4), "yv": ("cv", X_NUMBER, "y", "x, j", 3), "sv": ("vv", X_CELL, "y", "i, j", 4),
    "cv": ("cv", 0, "y", "i, j", 4),
}  # fmt: skip


def settle(x: Value) -> Value:
    """An array that has been written to, or a view of one, in the form that operations need; anything else unchanged.

    Only where the memory layout of the result does not depend on it, and only on the thread of its stack.
    """
    if x.__class__ is not ArrayVar or is_direct(x) or x._owner.ended is not None or not x._owner.is_here():
        return x
    v = x._sync_parts()._value
    if v.__class__ is not np.ndarray or v.dtype is not FLOAT or not v.size or not (v.ndim == 1 or v.flags.c_contiguous):
        return x
    y = x.operand()
    return y if y.__class__ is ArrayVar and is_direct(y) else x


def implement(rule: ScalarRule) -> tuple[Function, Function | None]:
    """Enter into a rule its method of array variables, and the reflection for another first operand."""
    ufunc = rule.ufuncs[0] if rule.ufuncs and rule.core and not isinstance(rule.ufuncs[0], str) else None
    rule.methods[ArrayVar] = rule.generally
    if rule.arity > 2 or ufunc is None:
        return rule.generally, (lambda y, x: rule.general((x, y))) if rule.arity == 2 else None
    scope: dict[str, Any] = {
        "ArrayVar": ArrayVar, "ufunc": ufunc, "ndarray": np.ndarray, "float64": np.float64, "FLOAT": FLOAT,
        "settle": settle, "operate_on_view": operate_on_view, "CELLS_OF": _CELLS_OF,
        "general": fast_elementwise(
            rule, ufunc, rule.operate_slowly if rule.operator and rule.arity == 2 else rule.generally
        ),
        "operation": rule.name, "code": operation_code(rule, "v") if rule.arity == 1 else None,
    }  # fmt: skip
    fields = {"a_direct": _DIRECT.format(i="i", a="a"), "b_direct": _DIRECT.format(i="j", a="b")}
    body = rule.body
    assert body is not None
    for x, k in (("x", 1), ("y", 0)) if rule.arity == 2 else ():
        is_read = body.reads(k) & {body.parameters[0], body.parameters[2 - k]}
        fields[f"place_of_{x}"] = (_KEPT if is_read else _UNREAD).format(x=x)
    # NumPy expects the output of these by name
    out = "out=" if ufunc in (np.maximum, np.minimum) else ""
    for name, (active, form, sized, parents, indent) in (
        _UNARY_RECORDS if rule.arity == 1 else _BINARY_RECORDS
    ).items():
        code = operation_code(rule, active)
        assert code is not None
        scope[f"head_{name}"] = float(-(code + form))
        number = "y" if name in ("vy", "vs") else "x" if name in ("yv", "sv") else ""
        # NumPy is faster with an array without axes than with a number, which it converts to one
        values = ", ".join("s.number" if x == number else x for x in "xy"[: rule.arity])
        operands = ", ".join("ab"[: rule.arity])
        record = _RECORD.format(
            x=sized, out=out, fields=parents, head=f"head_{name}", cells=CELLS,
            count=_COUNT_OF_TWO if name == "vv" else _COUNT.format(
                a="b" if sized == "y" else "a", x=sized, operands=operands
            ),
            few=FEW, kept=CELLS_WITH_VIEWS,
            set_number=f"s.number[()] = {number}; " if number else "", values=values,
        )  # fmt: skip
        fields[f"record_{name}"] = "\n".join("    " * indent + line for line in record.splitlines())
    source = (_UNARY if rule.arity == 1 else _BINARY).format(**fields)
    exec(_compile(source), scope)
    method, reflected = (_name_after(rule, scope.get(name), source) for name in ("method", "reflected"))
    assert method is not None
    rule.methods[ArrayVar] = method
    if reflected is not None:
        rule.reflected[ArrayVar] = reflected
    return method, reflected


@functools.cache
def _compile(source: str) -> CodeType:
    """The compiled code of methods, which most rules share: global names hold the numbers in which rules differ."""
    return compile(source, "<contad array_operators>", "exec")


def _name_after(rule: ScalarRule, made: Any, source: str) -> Function | None:
    """The method with the name of its rule, readable in tracebacks."""
    if made is not None:
        filename = f"<contad array_operators: {rule.name}>"
        linecache.cache[filename] = len(source), None, source.splitlines(True), filename
        name = f"{rule.name}_arrays" if made.__name__ == "method" else f"r{rule.name}_arrays"
        made.__code__ = made.__code__.replace(co_name=name, co_filename=filename)
        made.__name__ = made.__qualname__ = name
    found: Function | None = made
    return found


# ---- sums and dot products of whole arrays ---------------------------------------------------------------------------
General = Callable[..., Value]
_REDUCED = frozenset(("axis", "keepdims"))


def fast_sum(rule: ArrayRule, general: General) -> Function:
    """The sum of all elements of an array, or along axes."""
    along_axes = fast_reduction(rule, general)
    add_up, head = np.add.reduce, -(LINEAR + SUM + CELLS)

    def method(a: ArrayVar, *args: Option, **options: Option) -> Value:
        if args or options:
            return along_axes(a, *args, **options)
        base, cell, s, x = a._base, a._index, a._owner, a._value
        if cell <= 0 or not (base is None or base._index > 0):
            factor = factor_of(a)
            if factor is None:
                return general(a)
            x, cell, turned = factor
            if turned:  # the sum in memory order
                x = x.T
        if not s.is_here():
            s.check_usable(rule.name)
        n = a._length
        if n or x.ndim == 1:
            value = float(add_up(x))
            n = n or x.size
        else:
            value, n = float(add_up(x, None)), x.size
        k = s.top  # `push_number` inlined: its call takes as long
        if k >= s.capacity:
            s.room(1)
        s.slab[k] = value
        z = s.var_class()
        z._value = value
        z._owner = s
        z._index = k
        s.top = k + 1
        s.push((head, cell, n, 0.0))
        if k >= s.limit:
            s.flush_if_long()
        return z

    return method


def fast_reduction(rule: ArrayRule, general: General) -> Function:
    """The sum or the mean of an array along axes."""

    def method(a: ArrayVar, *args: Option, **options: Option) -> Value:
        is_known = _REDUCED.issuperset(options) and len(args) <= 1 and not (args and "axis" in options)
        z = sum_along(a, rule, *args, **options) if is_known else None
        return general(a, *args, **options) if z is None else z

    return method


def _shape_of(a: ArrayVar) -> tuple[int, ...]:
    shape: tuple[int, ...] = a._value.shape
    return shape


def _axes_of(a: ArrayVar) -> int:
    return len(a._value.shape)


def install_products() -> None:
    """Let the rules of sums and products of whole arrays, and the NumPy functions for them, use these methods."""
    total, average, product = array_rule_of("sum"), array_rule_of("mean"), array_rule_of("matmul")
    total.methods[ArrayVar] = fast_sum(total, total.generally)
    steps = RecordKernels(product.name)
    product.methods[ArrayVar], product.reflected[ArrayVar], operate = fast_product(product, product.generally, steps)
    ArrayVar.__matmul__ = operate  # type: ignore[operator]
    average.methods[ArrayVar] = fast_reduction(average, average.generally)
    sums, means, dots = entry_of(np.sum), entry_of(np.mean), entry_of(np.dot)
    assert sums is not None and means is not None and dots is not None
    for function, measure in ((np.shape, _shape_of), (np.ndim, _axes_of)):  # for the attributes that rules ask for
        entry: Any = entry_of(function)
        entry.methods[ArrayVar] = measure
    means.methods[ArrayVar] = fast_reduction(average, means.implementation)
    sums.methods[ArrayVar] = fast_sum(total, sums.implementation)
    dots.methods[ArrayVar], dots.reflected[ArrayVar], _ = fast_product(product, dots.implementation, steps)


# ---- machine code ----------------------------------------------------------------------------------------------------
@functools.cache
def _compile_operators(stack_class: Any, number_class: Any) -> dict[str, int]:
    """Addresses of machine code by operator of small arrays; empty if the layout of NumPy's arrays is unknown."""
    from contad.python_objects.elementwise_operators import FORMS, OPERATORS, make_elementwise_entry
    from contad.python_objects.laid_arrays import Classes, has_known_arrays

    if not has_known_arrays():
        return {}
    classes = Classes(ArrayVar, number_class.float_class, number_class, stack_class, Buffers)
    entries = {"matmul": compile_product(classes)}
    for rule in rules():
        if rule.operator in OPERATORS:
            make_methods(ArrayVar, rule, implement)
            records = [_BINARY_RECORDS[form] if rule.arity == 2 else _UNARY_RECORDS["v"] for form in FORMS]
            heads = [-((operation_code(rule, active) or 0) + form) for active, form, *_ in records]
            entries[rule.operator] = make_elementwise_entry(classes, rule.operator, heads, CELLS)
    return entries


def compile_operators(stack_class: Any, number_class: Any) -> None:
    """Let machine code perform operators of small arrays, as their methods do."""
    from contad.python_objects.slot_entries import set_slot

    for name, entry in _compile_operators(stack_class, number_class).items():
        set_slot(ArrayVar, name, entry)


# ---- a number and a constant array -----------------------------------------------------------------------------------
def number_and_array(s: ArraySlab, rule: ScalarRule, a: Value, b: Value) -> ArrayValue:
    """A core operation of a scalar variable of s and a plain array; NotImplemented where the general path is needed."""
    array, number = (a, b) if a.__class__ is np.ndarray else (b, a)
    own = number.__class__.numpy_class is s.var_class and number._owner is s and number._value.__class__ is float
    fits = array.dtype is FLOAT and array.flags.c_contiguous and array.size and array.ndim
    known = _beside_array(rule) if own and fits else None
    if known is None:
        return NotImplemented
    operate, number_behind, number_before = known
    s.check_usable(rule.name)
    first = s.room(array.size)
    z = s.slab[first : first + array.size].reshape(array.shape)
    at = s.buffers.push_constant(array)
    s.number[()] = number._value
    if array is a:
        operate(array, s.number, out=z)
        return s.push_values(number_behind, at, number._index, z)
    operate(s.number, array, out=z)
    return s.push_values(number_before, number._index, at, z)


@functools.cache
def _beside_array(rule: ScalarRule) -> tuple[Function, int, int] | None:
    """A rule's ufunc without warnings, and its codes for array and number, number and array; None for other rules."""
    if rule.arity != 2 or not rule.core or not rule.ufuncs or isinstance(rule.ufuncs[0], str):
        return None
    behind, before = operation_code(rule, "cv"), operation_code(rule, "vc")
    assert behind is not None and before is not None
    return np.errstate(all="ignore")(rule.ufuncs[0]), behind + Y_CELL, before + X_CELL
