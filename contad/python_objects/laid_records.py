"""Records that machine code pushes into the stream of a stack, as Python methods do: its handling of objects."""

from typing import Any

from numba import types
from numba.extending import intrinsic

from contad.compile.emitting import cgutils, ir
from contad.compile.machine_code import njit
from contad.compile.words import WORD, array_at, set_word, word
from contad.python_objects.python_functions import clear, python_function
from contad.python_objects.python_objects import HOLDER, ITEMS, KIND, LENGTH, NUMBER, ROOM, SELF

OPTIONS: dict[str, Any] = {"error_model": "numpy", "boundscheck": False, "fastmath": False}

new_float = python_function("PyFloat_FromDouble", types.int64, types.float64)
new_object = python_function("PyType_GenericAlloc", types.int64, types.int64, types.int64)
append = python_function("PyList_Append", types.int32, types.int64, types.int64)
increase = python_function("Py_IncRef", types.void, types.int64)
decrease = python_function("Py_DecRef", types.void, types.int64)
this_thread = python_function("PyThread_get_thread_ident", types.int64)
python_function("PyObject_Vectorcall", types.int64)


@intrinsic
def call_python(typingctx, function, count, first, second):  # type: ignore[no-untyped-def]
    """Call a Python function with up to two arguments; 0 if it has raised."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        function, count, *given = args
        held = cgutils.alloca_once(builder, WORD, size=len(given))
        for k, x in enumerate(given):
            builder.store(x, builder.gep(held, [WORD(k)]))
        kind = ir.FunctionType(WORD, [WORD, WORD.as_pointer(), WORD, WORD])
        call = cgutils.get_or_insert_function(builder.module, kind, "contad_PyObject_Vectorcall")
        return builder.call(call, [function, held, count, WORD(0)])

    return types.int64(*[types.int64] * 4), codegen


@njit(**OPTIONS)
def number_of(x):  # type: ignore[no-untyped-def]
    """The value of a float."""
    return array_at(x + 8 * NUMBER, 1)[0]


@njit(**OPTIONS)
def is_open(push, builtin, stream, lock, lock_class):  # type: ignore[no-untyped-def]
    """Whether records go directly into the stream of a stack, on the thread of the stack.

    Then `push` is the stream's own method, of this class. A stack that has ended, or is watched, has another one.
    """
    return (
        push != 0 and word(push, KIND) == builtin and word(push, SELF) == stream
        and lock != 0 and word(lock, KIND) == lock_class and word(lock, HOLDER) == this_thread()
    )  # fmt: skip


@njit(**OPTIONS)
def make_room(numbers, item):  # type: ignore[no-untyped-def]
    """Whether a list has room for four more items; if not, it grows by more than that."""
    n = word(numbers, LENGTH)
    if word(numbers, ROOM) >= n + 4:
        return True
    if append(numbers, item) != 0:
        clear()
        return False
    set_word(numbers, LENGTH, n)
    decrease(item)
    return word(numbers, ROOM) >= n + 4


@njit(**OPTIONS)
def lay(numbers, head, x, y, value):  # type: ignore[no-untyped-def]
    """Append a record to a list that has room for it. The list takes over the references."""
    n, items = word(numbers, LENGTH), word(numbers, ITEMS)
    set_word(items, n, head)
    set_word(items, n + 1, x)
    set_word(items, n + 2, y)
    set_word(items, n + 3, value)
    set_word(numbers, LENGTH, n + 4)
