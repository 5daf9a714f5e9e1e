"""Recorded programs inside `@njit`: as globals, captured variables and arguments, one type for programs of one layout.

In compiled code a program is the address of its header. The code calls the interpreter by an address in the header, so
Numba compiles user code without the interpreter and can cache it where the program is an argument. contad keeps a
program alive forever once it is a constant of compiled code.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import TypingError, types
from numba.extending import (
    NativeValue,
    intrinsic,
    lower_builtin,
    models,
    overload,
    overload_method,
    register_jitable,
    register_model,
    unbox,
)

from contad.compile.emitting import cgutils, ir, lower_constant, pack
from contad.compile.typing_rules import take_registrations
from contad.errors import GuardError, UnsupportedError
from contad.programs.header import FAILED, LENGTHS_AT, NEEDS_PYTHON, NO_MEMORY, NO_TRACE, RUN, RUN_AT, SIZE

_kept: list[Any] = []  # programs whose addresses are in compiled code


class ProgramType(types.Type):
    """The type of programs whose arguments have these numbers of axes (-1: a number, None: a structure)."""

    def __init__(self, dimensions: tuple[int | None, ...], single: bool) -> None:
        self.dimensions = dimensions
        self.single = single
        super().__init__(f"contad.Program({dimensions}, single={single})")


@functools.cache
def type_of_programs(dimensions: tuple[int | None, ...], single: bool) -> ProgramType:
    """The type of programs with this layout, whose calls Numba can lower."""
    made = ProgramType(dimensions, single)

    @lower_builtin(made, types.VarArg(types.Any))
    def lower_call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        # Numba finds the method `__call__` when it types a call, but not when it lowers one
        method = context.typing_context.resolve_getattr(made, "__call__")
        return context.get_function(method, signature)(builder, args)

    # Numba meets a program while it compiles, after it has looked for new registrations
    take_registrations()
    return made


@register_model(ProgramType)
class _ProgramModel(models.StructModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        # the owner keeps the program alive while compiled code holds it, for example in a typed list
        super().__init__(dmm, fe_type, [("header", types.int64), ("owner", types.MemInfoPointer(types.voidptr))])


@unbox(ProgramType)
def _unbox_program(typ: Any, obj: Any, c: Any) -> NativeValue:
    header = c.pyapi.object_getattr_string(obj, "_at")
    program = cgutils.create_struct_proxy(typ)(c.context, c.builder)
    program.header = c.pyapi.long_as_longlong(header)
    c.pyapi.decref(header)
    data = c.builder.inttoptr(program.header, cgutils.voidptr_t)
    program.owner = c.pyapi.nrt_meminfo_new_from_pyobject(data, obj)
    return NativeValue(pack(program))


@lower_constant(ProgramType)
def _constant_program(context: Any, builder: Any, typ: Any, program: Any) -> Any:
    _kept.append(program)
    constant = cgutils.create_struct_proxy(typ)(context, builder)
    # marks the code as tied to this process, which Numba then does not cache
    address = context.add_dynamic_addr(builder, program._at, info="a program of contad.record")
    constant.header = builder.ptrtoint(address, ir.IntType(64))
    constant.owner = cgutils.get_null_value(constant.owner.type)
    return pack(constant)


def _field(typingctx: Any, program: Any, field: Any) -> Any:
    """An integer of the header."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        header = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=args[0]).header
        pointer = builder.inttoptr(header, ir.IntType(64).as_pointer())
        return builder.load(builder.gep(pointer, [args[1]]))

    return types.int64(program, types.int64), codegen


def _integer(typingctx: Any, address: Any, k: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        return builder.load(builder.gep(pointer, [args[1]]))

    return types.int64(types.int64, types.int64), codegen


def _call(typingctx: Any, program: Any, inputs: Any, direction: Any, gradient: Any, out: Any) -> Any:
    """The interpreter's answer; arrays are passed by their addresses, missing ones as 0."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        header = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=args[0]).header
        fields = builder.inttoptr(header, word.as_pointer())
        address = builder.load(builder.gep(fields, [ir.Constant(word, RUN_AT)]))
        function = ir.FunctionType(word, [word] * 3).as_pointer()
        given = cgutils.alloca_once(builder, word, 12)
        for k, x in enumerate((word(RUN), header, *args[1:])):
            builder.store(x, builder.gep(given, [word(k)]))
        return builder.call(builder.inttoptr(address, function), [word(0), builder.ptrtoint(given, word), word(-1)])

    integers = (types.intp,) * 4
    return types.int64(program, *integers), codegen


_header_field: Any = intrinsic(_field)
_integer_at: Any = intrinsic(_integer)
_called: Any = intrinsic(_call)


@register_jitable
def _execute(program: Any, inputs: Any, direction: Any, gradient: Any) -> Any:
    """(value, slope) at the inputs; the gradient is filled in where it has elements."""
    out = np.empty(4)
    number = _called(
        program, inputs.ctypes.data, direction.ctypes.data if direction.size else 0,
        gradient.ctypes.data if gradient.size else 0, out.ctypes.data
    )  # fmt: skip
    if number == NO_TRACE:
        raise GuardError(
            "contad.record: a recorded program takes another way than the recorded one at these inputs; called from "
            "Python it tells where, and with retrace=True it records again"
        )
    if number == NEEDS_PYTHON:
        raise UnsupportedError(
            "contad.record: a recorded program calls rules that are not compiled (program.python_rules) and cannot run "
            "inside njit; call it from Python"
        )
    if number == FAILED:
        raise np.linalg.LinAlgError(
            "contad.record: a matrix of a recorded program is singular, not positive definite or not finite at these "
            "inputs, or a derivative is not finite there; called from Python the program tells what NumPy tells"
        )
    if number == NO_MEMORY:
        raise MemoryError("contad.record: no memory for a run of a recorded program")
    return out[0], out[1]


# ---- arguments -------------------------------------------------------------------------------------------------------
def _check(program: Any, args: Any) -> None:
    """Refuse arguments of other types than the program's; arrays are compared in shape when it runs."""
    if len(args) != len(program.dimensions):
        raise TypingError(f"contad.record: expected {len(program.dimensions)} argument(s), got {len(args)}")
    for k, (x, axes) in enumerate(zip(args, program.dimensions, strict=True)):
        if axes is None:
            raise TypingError(
                f"contad.record: argument {k} of the program is a structure; inside njit programs take numbers and "
                "float64 arrays; record a function of those"
            )
        number = isinstance(x, (types.Float, types.Integer))
        array = isinstance(x, types.Array) and x.dtype == types.float64 and x.ndim == axes
        if not (number if axes < 0 else array):
            expected = "a number" if axes < 0 else f"a float64 array with {axes} axes"
            raise TypingError(f"contad.record: argument {k} must be {expected}, got {x}")


def _put(program: Any, inputs: Any, at: int, axis: int, x: Any) -> Any:
    """Write an argument to the inputs from `at`; returns the place after it."""


@overload(_put)
def _overload_put(program: Any, inputs: Any, at: int, axis: int, x: Any) -> Any:
    if not isinstance(x, types.Array):

        def put_number(program: Any, inputs: Any, at: int, axis: int, x: Any) -> Any:
            inputs[at] = x
            return at + 1

        return put_number

    def put_array(program: Any, inputs: Any, at: int, axis: int, x: Any) -> Any:
        lengths = _header_field(program, LENGTHS_AT)
        for k in range(x.ndim):
            if x.shape[k] != _integer_at(lengths, axis + k):
                raise ValueError("contad.record: an array must have the shape it was recorded with")
        for element in x.flat:
            inputs[at] = element
            at += 1
        return at

    return put_array


def _take(gradient: Any, at: int, x: Any) -> Any:
    """The gradient by an argument, from `at`."""


@overload(_take)
def _overload_take(gradient: Any, at: int, x: Any) -> Any:
    def array(gradient: Any, at: int, x: Any) -> Any:
        return gradient[at : at + x.size].copy().reshape(x.shape)

    def number(gradient: Any, at: int, x: Any) -> Any:
        return gradient[at]

    return array if isinstance(x, types.Array) else number


def _count(x: Any) -> Any:
    """The number of numbers in an argument."""


@overload(_count)
def _overload_count(x: Any) -> Any:
    def of_array(x: Any) -> Any:
        return x.size

    def of_number(x: Any) -> Any:
        return 1

    return of_array if isinstance(x, types.Array) else of_number


def _fill(program: Any, name: str, arguments: Sequence[str]) -> str:
    """The lines that copy arguments to an array."""
    lines = [f"{name} = np.empty(_header_field(program, SIZE))", "at = 0"]
    axis = 0
    for x, axes in zip(arguments, program.dimensions, strict=True):
        lines.append(f"at = _put(program, {name}, at, {axis}, {x})")
        axis += max(axes, 0)
    return "\n    ".join(lines)


def _make(parameters: str, *lines: str) -> Any:
    """The function with these lines, for Numba to compile."""
    scope = {
        "np": np, "SIZE": SIZE, "_header_field": _header_field, "_put": _put, "_take": _take, "_count": _count,
        "_execute": _execute,
    }  # fmt: skip
    exec(f"def implementation(program, {parameters}):\n    " + "\n    ".join(lines), scope)
    return scope["implementation"]


# Numba does not lower method calls with a variable number of arguments
NAMES = tuple(f"a{k}" for k in range(16))
PARAMETERS = ", ".join(f"{name}=None" for name in NAMES)


def _method(name: str, *lines: str) -> None:
    """Give programs a method of up to 16 arguments; its lines may use `inputs`, and {gradient} by argument."""

    def type_call(program: Any, given: dict[str, Any]) -> Any:
        args = [x for x in map(given.get, NAMES) if not isinstance(x, (types.Omitted, types.NoneType, type(None)))]
        _check(program, args)
        names = NAMES[: len(args)]
        parts = [
            f"_take(gradient, {' + '.join(['0', *(f'_count({x})' for x in names[:k])])}, {names[k]})"
            for k in range(len(args))
        ]
        gradient = parts[0] if program.single else f"({', '.join(parts)},)"
        return _make(PARAMETERS, _fill(program, "inputs", names), *(line.format(gradient=gradient) for line in lines))

    scope = {"type_call": type_call}
    exec(f"def method(program, {PARAMETERS}):\n    return type_call(program, locals())", scope)
    overload_method(ProgramType, name)(scope["method"])


_GRADIENT = ("gradient = np.empty(inputs.size)", "value, _ = _execute(program, inputs, np.empty(0), gradient)")
_method("__call__", "return _execute(program, inputs, np.empty(0), np.empty(0))[0]")
_method("gradient", *_GRADIENT, "return {gradient}")
_method("value_and_grad", *_GRADIENT, "return value, {gradient}")


@overload_method(ProgramType, "jvp")
def _jvp(program, primals, tangents):  # type: ignore[no-untyped-def]  # Numba compares the signatures
    for xs in (primals, tangents):
        if not isinstance(xs, types.BaseTuple):
            raise TypingError(f"contad.record: jvp takes a tuple of primals and one of tangents, got {xs}")
        _check(program, xs)
    n = len(program.dimensions)
    return _make(
        "primals, tangents",
        _fill(program, "inputs", [f"primals[{k}]" for k in range(n)]),
        _fill(program, "direction", [f"tangents[{k}]" for k in range(n)]),
        "return _execute(program, inputs, direction, np.empty(0))",
    )
