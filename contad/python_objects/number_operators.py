"""Operators of scalar variables as machine code, which Python calls in place of their methods.

Python's overhead for a method is three times its work: a frame, name lookups, the call of a class, a tuple. Here the
slot of a class is a C function, which makes the new variable and pushes its record into the stream. It handles the
common case and otherwise calls the method: for other operands, errors, and a stack that has ended, is watched, or
belongs to another thread.

One function serves all operators. Each operator of an engine has a table of words, from which this function reads what
is specific to it. The slot holds a few instructions that call the function with the address of the table.
"""

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.compile.machine_code import njit
from contad.compile.words import set_word, word
from contad.python_objects import laid_records as laid
from contad.python_objects.python_functions import as_double, as_integer, clear, from_integer, raised
from contad.python_objects.python_objects import KIND, places_of
from contad.python_objects.slot_entries import keep, write_entry

# ---- contents of a table ---------------------------------------------------------------------------------------------
(
    FLOAT_CLASS, NUMPY_CLASS, STACK_CLASS, ARRAY_CLASS, LOCK_CLASS, BUILTIN_CLASS, FLOAT, INT, FLOAT64,  # of classes
    NONE, NOT_IMPLEMENTED,
    VALUE, OWNER, INDEX, PUSH, STREAM, TOP, LIMIT, LOCK,  # the words of the attributes of a variable, and of a stack
    OPERATION, ARITY,
    CODE_VV, CODE_VC, CODE_CV,  # addresses of the heads of records, which are floats
    FORWARD, FORWARD_NUMPY, REFLECTED, REFLECTED_NUMPY,  # addresses of the methods of both classes
    SIZE,
) = range(29)  # fmt: skip
BINARY = ("add", "sub", "mul", "truediv", "pow")
OPERATORS = (*BINARY, "neg", "abs")
_ADD, _SUB, _MUL, _TRUEDIV, _POW, _NEG, _ABS = range(len(OPERATORS))


# ---- the machine code ------------------------------------------------------------------------------------------------
@njit(**laid.OPTIONS)
def _attempt(table, a, b):  # type: ignore[no-untyped-def]
    """The new variable, or 0 without side effects if Python has to decide."""
    kind_a, kind_b = word(a, KIND), word(b, KIND)
    a_is_own = kind_a == word(table, FLOAT_CLASS) or kind_a == word(table, NUMPY_CLASS)
    b_is_own = kind_b == word(table, FLOAT_CLASS) or kind_b == word(table, NUMPY_CLASS)
    made, floats, code = word(table, FLOAT_CLASS), word(table, FLOAT), CODE_VV
    s = word(a if a_is_own else b, word(table, OWNER))
    if s == 0 or word(s, KIND) != word(table, STACK_CLASS):
        return 0
    # for each operand: its value, and its entry in the record, an index or a number; 0 for one still to be made
    x, y, x_field, y_field = 0.0, 0.0, a, b
    if a_is_own:
        v, x_field = word(a, word(table, VALUE)), word(a, word(table, INDEX))
        if v == 0 or x_field == 0 or word(v, KIND) != floats:
            return 0
        x = laid.number_of(v)
        if kind_a == word(table, NUMPY_CLASS):
            made = kind_a
    elif kind_a == floats:
        x, code = laid.number_of(a), CODE_CV
    elif kind_a == word(table, FLOAT64):
        x, code, x_field, made = laid.number_of(a), CODE_CV, 0, word(table, NUMPY_CLASS)
    elif kind_a == word(table, INT):
        x, code, x_field = as_double(a), CODE_CV, 0
        if x == -1.0 and raised() != 0:
            clear()
            return 0
    else:
        return 0
    if b_is_own:
        v, y_field = word(b, word(table, VALUE)), word(b, word(table, INDEX))
        if v == 0 or y_field == 0 or word(v, KIND) != floats or word(b, word(table, OWNER)) != s:
            return 0
        y = laid.number_of(v)
        if kind_b == word(table, NUMPY_CLASS):
            made = kind_b
    elif kind_b == floats:
        y, code = laid.number_of(b), CODE_VC
    elif kind_b == word(table, FLOAT64):
        y, code, y_field, made = laid.number_of(b), CODE_VC, 0, word(table, NUMPY_CLASS)
    elif kind_b == word(table, INT):
        y, code, y_field = as_double(b), CODE_VC, 0
        if y == -1.0 and raised() != 0:
            clear()
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
        if not (abs(x) < math.inf and abs(y) < math.inf and abs(z) < math.inf):  # `isfinite` would set a flag of faults
            return 0
    c = laid.new_object(made, 0)  # Python's collector may run here, but no Python code after it
    if c == 0:
        clear()
        return 0
    push, lock, stream = word(s, word(table, PUSH)), word(s, word(table, LOCK)), word(s, word(table, STREAM))
    top, limit = word(s, word(table, TOP)), word(s, word(table, LIMIT))
    head, integers = word(table, code), word(table, INT)
    if (
        not laid.is_open(push, word(table, BUILTIN_CLASS), stream, lock, word(table, LOCK_CLASS))
        or top == 0 or word(top, KIND) != integers or limit == 0 or word(limit, KIND) != integers
        or not laid.make_room(stream, head)
    ):  # fmt: skip
        laid.decrease(c)
        return 0
    k = as_integer(top)
    if k >= as_integer(limit):
        laid.decrease(c)
        return 0
    after, value = from_integer(k + 1), laid.new_float(z)
    constant = 0
    if x_field == 0:
        constant = x_field = laid.new_float(x)
    elif y_field == 0:
        constant = y_field = laid.new_float(y)
    if after == 0 or value == 0 or x_field == 0 or y_field == 0:
        clear()
        if after != 0:
            laid.decrease(after)
        if value != 0:
            laid.decrease(value)
        if constant != 0:
            laid.decrease(constant)
        laid.decrease(c)
        return 0
    laid.increase(head)
    if constant == 0 or constant != x_field:
        laid.increase(x_field)
    if constant == 0 or constant != y_field:
        laid.increase(y_field)
    laid.increase(value)
    laid.increase(s)
    laid.lay(stream, head, x_field, y_field, value)
    set_word(c, word(table, VALUE), value)
    set_word(c, word(table, OWNER), s)
    set_word(c, word(table, INDEX), top)  # the reference that the stack held
    set_word(s, word(table, TOP), after)
    return c


def operate_on_numbers(table, a, b, modulus):  # type: ignore[no-untyped-def]
    """An operator with at least one operand of these classes; 0 if Python has raised."""
    if modulus != word(table, NONE) or word(b, KIND) == word(table, ARRAY_CLASS):  # of pow(a, b, modulus); an array's
        none = word(table, NOT_IMPLEMENTED)
        laid.increase(none)
        return none
    c = _attempt(table, a, b)
    if c != 0:
        return c
    arity, kind_a, kind_b = word(table, ARITY), word(a, KIND), word(b, KIND)
    if kind_a == word(table, FLOAT_CLASS):
        return laid.call_python(word(table, FORWARD), arity, a, b)
    if kind_a == word(table, NUMPY_CLASS):
        return laid.call_python(word(table, FORWARD_NUMPY), arity, a, b)
    method = REFLECTED if kind_b == word(table, FLOAT_CLASS) else REFLECTED_NUMPY
    return laid.call_python(word(table, method), arity, b, a)


def make_entry(
    float_class: type[Any], numpy_class: type[Any], stack_class: type[Any], array_class: type[Any], name: str,
    codes: Sequence[int],
) -> int:  # fmt: skip
    """The address of machine code for an operator of both classes of variables. It calls the present methods of the
    classes.

    Arrays have their own slots, which Python calls if this one returns NotImplemented for an operand.

    codes    of records: for one variable; or for two variables, a variable and a number, and a number and a variable
    """
    heads = [float(code) for code in (codes if name in BINARY else [codes[0]] * 3)]
    forward = [vars(cls)[f"__{name}__"] for cls in (float_class, numpy_class)]
    reflected = [vars(cls)[f"__r{name}__"] for cls in (float_class, numpy_class)] if name in BINARY else forward
    known: tuple[object, ...] = (type(threading.RLock()), type([].extend), float, int, np.float64, None, NotImplemented)
    table = np.array([
        *map(id, (float_class, numpy_class, stack_class, array_class, *known)),
        *places_of(float_class, "_value", "_owner", "_index"),
        *places_of(stack_class, "push", "stream", "top", "limit", "lock"),
        OPERATORS.index(name), 2 if name in BINARY else 1, *map(id, (*heads, *forward, *reflected)),
    ], np.int64)  # fmt: skip
    assert len(table) == SIZE
    keep(table, heads, forward, reflected)
    given = {"neg": "a", "abs": "a", "pow": "abc"}.get(name, "ab")
    return write_entry(operate_on_numbers, table, [x in given for x in "abc"], [None, 0.0, None])
