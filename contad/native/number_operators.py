"""Operators of scalar variables as machine code, which Python calls in the place of their methods.

A method takes Python three times as long as what it does: a frame, names that are looked up, the call of a class, a
tuple. Here the slot of a class is a C function, which makes the new variable and lays its record into the stream. It
does so where all is as it is most often, and calls the method for everything else: other operands, errors, a stack that
has ended, that is watched, that belongs to another thread.

One function serves all operators. It reads what it has to know from a table of words, of an operator of an engine; the
slot holds a few instructions that call it with the address of the table.
"""

import functools
import math
import threading
from collections.abc import Sequence
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from contad.native.machine_code import cfunc, has_machine_code, njit
from contad.native.python_functions import python_function
from contad.native.python_objects import (
    HOLDER,
    ITEMS,
    KIND,
    LENGTH,
    NUMBER,
    ROOM,
    SELF,
    SLOTS,
    places_of,
    read_word,
    slot_of,
    words_at,
)
from contad.native.words import WORD, array_at, set_word, word

# ---- what a table holds ----------------------------------------------------------------------------------------------
(
    FLOAT_CLASS, NUMPY_CLASS, STACK_CLASS, LOCK_CLASS, BUILTIN_CLASS, FLOAT, INT, FLOAT64,  # addresses of classes
    NONE, NOT_IMPLEMENTED,
    VALUE, OWNER, INDEX, PUSH, STREAM, TOP, LIMIT, LOCK,  # which words of a variable, of a stack the attributes are
    OPERATION, ARITY,
    CODE_VV, CODE_VC, CODE_CV,  # addresses of the heads of records, which are floats
    FORWARD, FORWARD_NUMPY, REFLECTED, REFLECTED_NUMPY,  # addresses of the methods of both classes
    SIZE,
) = range(28)  # fmt: skip
BINARY = ("add", "sub", "mul", "truediv", "pow")
OPERATORS = (*BINARY, "neg", "abs")
_ADD, _SUB, _MUL, _TRUEDIV, _POW, _NEG, _ABS = range(len(OPERATORS))

_OPTIONS: dict[str, Any] = {"error_model": "numpy", "boundscheck": False, "fastmath": False}


_as_double = python_function("PyLong_AsDouble", types.float64, types.int64)
_as_integer = python_function("PyLong_AsLongLong", types.int64, types.int64)
_new_integer = python_function("PyLong_FromLongLong", types.int64, types.int64)
_new_float = python_function("PyFloat_FromDouble", types.int64, types.float64)
_new_object = python_function("PyType_GenericAlloc", types.int64, types.int64, types.int64)
_append = python_function("PyList_Append", types.int32, types.int64, types.int64)
_raised = python_function("PyErr_Occurred", types.int64)
_clear = python_function("PyErr_Clear", types.void)
_increase = python_function("Py_IncRef", types.void, types.int64)
_decrease = python_function("Py_DecRef", types.void, types.int64)
_this_thread = python_function("PyThread_get_thread_ident", types.int64)


python_function("PyObject_Vectorcall", types.int64)


@intrinsic
def _call(typingctx, function, count, first, second):  # type: ignore[no-untyped-def]
    """What a function of Python's gives for one argument or two; 0 where it has raised."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        function, count, *given = args
        held = cgutils.alloca_once(builder, WORD, size=len(given))
        for k, x in enumerate(given):
            builder.store(x, builder.gep(held, [WORD(k)]))
        kind = ir.FunctionType(WORD, [WORD, WORD.as_pointer(), WORD, WORD])
        call = cgutils.get_or_insert_function(builder.module, kind, "contad_PyObject_Vectorcall")
        return builder.call(call, [function, held, count, WORD(0)])

    return types.int64(*[types.int64] * 4), codegen


# ---- the machine code ------------------------------------------------------------------------------------------------
@njit(**_OPTIONS)
def _number(x):  # type: ignore[no-untyped-def]
    """The value of a float."""
    return array_at(x + 8 * NUMBER, 1)[0]


@njit(**_OPTIONS)
def _make_room(numbers, item):  # type: ignore[no-untyped-def]
    """Whether a list has room for four more items: it grows by more than that where it grows."""
    n = word(numbers, LENGTH)
    if word(numbers, ROOM) >= n + 4:
        return True
    if _append(numbers, item) != 0:
        _clear()
        return False
    set_word(numbers, LENGTH, n)
    _decrease(item)
    return word(numbers, ROOM) >= n + 4


@njit(**_OPTIONS)
def _attempt(table, a, b):  # type: ignore[no-untyped-def]
    """The new variable, or 0 where Python has to look, with nothing done."""
    kind_a, kind_b = word(a, KIND), word(b, KIND)
    a_is_own = kind_a == word(table, FLOAT_CLASS) or kind_a == word(table, NUMPY_CLASS)
    b_is_own = kind_b == word(table, FLOAT_CLASS) or kind_b == word(table, NUMPY_CLASS)
    made, floats, code = word(table, FLOAT_CLASS), word(table, FLOAT), CODE_VV
    s = word(a if a_is_own else b, word(table, OWNER))
    if s == 0 or word(s, KIND) != word(table, STACK_CLASS):
        return 0
    # of each operand: its value, and what stands for it in the record, an index or a number; 0 for one to be made
    x, y, x_field, y_field = 0.0, 0.0, a, b
    if a_is_own:
        v, x_field = word(a, word(table, VALUE)), word(a, word(table, INDEX))
        if v == 0 or x_field == 0 or word(v, KIND) != floats:
            return 0
        x = _number(v)
        if kind_a == word(table, NUMPY_CLASS):
            made = kind_a
    elif kind_a == floats:
        x, code = _number(a), CODE_CV
    elif kind_a == word(table, FLOAT64):
        x, code, x_field, made = _number(a), CODE_CV, 0, word(table, NUMPY_CLASS)
    elif kind_a == word(table, INT):
        x, code, x_field = _as_double(a), CODE_CV, 0
        if x == -1.0 and _raised() != 0:
            _clear()
            return 0
    else:
        return 0
    if b_is_own:
        v, y_field = word(b, word(table, VALUE)), word(b, word(table, INDEX))
        if v == 0 or y_field == 0 or word(v, KIND) != floats or word(b, word(table, OWNER)) != s:
            return 0
        y = _number(v)
        if kind_b == word(table, NUMPY_CLASS):
            made = kind_b
    elif kind_b == floats:
        y, code = _number(b), CODE_VC
    elif kind_b == word(table, FLOAT64):
        y, code, y_field, made = _number(b), CODE_VC, 0, word(table, NUMPY_CLASS)
    elif kind_b == word(table, INT):
        y, code, y_field = _as_double(b), CODE_VC, 0
        if y == -1.0 and _raised() != 0:
            _clear()
            return 0
    else:
        return 0
    operation = word(table, OPERATION)
    if operation == _ADD:
        z = x + y
    elif operation == _SUB:
        z = x - y
    elif operation == _MUL:
        z = x * y
    elif operation == _NEG:
        z = -x
    elif operation == _ABS:
        z = abs(x)
    elif operation == _TRUEDIV:
        if y == 0.0:
            return 0
        z = x / y
    else:
        z = math.pow(x, y)
        if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
            return 0
    c = _new_object(made, 0)  # Python's collector may run here, and no code of Python's after it
    if c == 0:
        _clear()
        return 0
    push, lock, stream = word(s, word(table, PUSH)), word(s, word(table, LOCK)), word(s, word(table, STREAM))
    top, limit = word(s, word(table, TOP)), word(s, word(table, LIMIT))
    is_open = (
        push != 0 and word(push, KIND) == word(table, BUILTIN_CLASS) and word(push, SELF) == stream
        and lock != 0 and word(lock, KIND) == word(table, LOCK_CLASS) and word(lock, HOLDER) == _this_thread()
        and top != 0 and word(top, KIND) == word(table, INT) and limit != 0 and word(limit, KIND) == word(table, INT)
    )  # fmt: skip
    head = word(table, code)
    if not is_open or not _make_room(stream, head):
        _decrease(c)
        return 0
    k = _as_integer(top)
    if k >= _as_integer(limit):
        _decrease(c)
        return 0
    after, value = _new_integer(k + 1), _new_float(z)
    constant = 0
    if x_field == 0:
        constant = x_field = _new_float(x)
    elif y_field == 0:
        constant = y_field = _new_float(y)
    if after == 0 or value == 0 or x_field == 0 or y_field == 0:
        _clear()
        if after != 0:
            _decrease(after)
        if value != 0:
            _decrease(value)
        if constant != 0:
            _decrease(constant)
        _decrease(c)
        return 0
    _increase(head)
    if constant == 0 or constant != x_field:
        _increase(x_field)
    if constant == 0 or constant != y_field:
        _increase(y_field)
    _increase(value)
    _increase(s)
    n, items = word(stream, LENGTH), word(stream, ITEMS)
    set_word(items, n, head)
    set_word(items, n + 1, x_field)
    set_word(items, n + 2, y_field)
    set_word(items, n + 3, value)
    set_word(stream, LENGTH, n + 4)
    set_word(c, word(table, VALUE), value)
    set_word(c, word(table, OWNER), s)
    set_word(c, word(table, INDEX), top)  # the reference that the stack has had
    set_word(s, word(table, TOP), after)
    return c


def _operate(table, a, b, modulus):  # type: ignore[no-untyped-def]
    """An operator, at least one of whose operands is of one of the classes; 0 where Python has raised."""
    if modulus != word(table, NONE):  # of pow(a, b, modulus)
        none = word(table, NOT_IMPLEMENTED)
        _increase(none)
        return none
    c = _attempt(table, a, b)
    if c != 0:
        return c
    arity, kind_a, kind_b = word(table, ARITY), word(a, KIND), word(b, KIND)
    if kind_a == word(table, FLOAT_CLASS):
        return _call(word(table, FORWARD), arity, a, b)
    if kind_a == word(table, NUMPY_CLASS):
        return _call(word(table, FORWARD_NUMPY), arity, a, b)
    return _call(word(table, REFLECTED if kind_b == word(table, FLOAT_CLASS) else REFLECTED_NUMPY), arity, b, a)


@functools.cache
def _compile() -> int:
    """The address of `_operate`, compiled or loaded."""
    return int(cfunc("int64(int64, int64, int64, int64)", cache=True, **_OPTIONS)(_operate).address)


def is_on_disk() -> bool:
    """Whether the machine code has been compiled before."""
    return has_machine_code(_operate)


# ---- slots of classes ------------------------------------------------------------------------------------------------
_ENTRY = """\
define i64 @operate({parameters}) {{
  %code = inttoptr i64 {code} to i64 (i64, i64, i64, i64)*
  %result = call i64 %code(i64 {table}, {arguments})
  ret i64 %result
}}
"""
_kept: list[Any] = []  # machine code, tables, and objects whose addresses they hold


def _write_entry(name: str, table: np.ndarray, zero: float) -> int:
    """The address of the C function of a slot: `_operate` with a table, and what the operator has no operand for."""
    given = {"neg": "a", "abs": "a", "pow": "abc"}.get(name, "ab")
    others = {"b": id(zero), "c": id(None)}
    text = _ENTRY.format(
        code=_compile(), table=table.ctypes.data, parameters=", ".join(f"i64 %{x}" for x in given),
        arguments=", ".join(f"i64 %{x}" if x in given else f"i64 {others[x]}" for x in "abc"),
    )  # fmt: skip
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
    engine.finalize_object()
    _kept.extend((engine, machine, zero))
    return int(engine.get_function_address("operate"))


def make_entry(
    float_class: type[Any], numpy_class: type[Any], stack_class: type[Any], name: str, codes: Sequence[int]
) -> int:
    """The address of machine code for an operator of both classes of variables, which calls their methods as they are.

    codes    of records: of a variable alone; or of two variables, a variable and a number, and a number and a variable
    """
    heads = [float(code) for code in (codes if name in BINARY else [codes[0]] * 3)]
    forward = [vars(cls)[f"__{name}__"] for cls in (float_class, numpy_class)]
    reflected = [vars(cls)[f"__r{name}__"] for cls in (float_class, numpy_class)] if name in BINARY else forward
    known: tuple[object, ...] = (type(threading.RLock()), type([].extend), float, int, np.float64, None, NotImplemented)
    table = np.array([
        *map(id, (float_class, numpy_class, stack_class, *known)),
        *places_of(float_class, "_value", "_owner", "_index"),
        *places_of(stack_class, "push", "stream", "top", "limit", "lock"),
        OPERATORS.index(name), 2 if name in BINARY else 1, *map(id, (*heads, *forward, *reflected)),
    ], np.int64)  # fmt: skip
    assert len(table) == SIZE
    _kept.extend((table, heads, forward, reflected))
    return _write_entry(name, table, 0.0)


def set_slot(cls: type[Any], name: str, entry: int) -> None:
    """Let Python call the machine code at an address for an operator of a class, whose methods stay as they are.

    Setting a method anew takes it away again; subclasses have the methods.
    """
    slot = slot_of(name)
    assert slot is not None
    words_at(read_word(id(cls), SLOTS))[slot] = entry
