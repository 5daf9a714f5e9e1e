"""The value and gradient of a Numba function as a function with C's calling convention."""

from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from numba import NumbaError, types
from numba.extending import intrinsic

from contad.compile.compiling import NJIT_OPTIONS, write_options
from contad.compile.linked_code import defer_code
from contad.compile.named_code import address_of, emit_address, emit_call
from contad.front.derivative import Derivative
from contad.functions.user_call import memo_of
from contad.numba_functions.modules import Served
from contad.numba_functions.writes import may_write_arrays

_POINT = types.Array(types.float64, 1, "C")

_SOURCE = """\
from math import nan

from numba import types
from contad.compile.machine_code import cfunc

from contad.compile.words import array_from, is_null

pointer = types.CPointer(types.float64)


@cfunc({result}, cache={cache})
def function({parameters}):
    if {wrong}:
        return {failed}
    point = array_from(x, {n})
    try:
{body}
    except Exception:
        return {failed}
    return {done}
"""
_VALUE = """\
        z = f({point})
"""
_BOTH = """\
        if is_null(gradient):
            z = value_alone({point})
        else:
            z, z_x = value_and_grad(point)
            for i in range({n}):
                gradient[i] = z_x[i]
"""
_STORED = """\
        if not is_null(value):
            value[0] = z
"""


class _Signature(NamedTuple):
    """A calling convention: the arguments and the result in C."""

    result: str  # the function's type, in Numba's words
    parameters: str
    body: str
    failed: str  # the result if f raises
    done: str


SIGNATURES = {
    "contad": _Signature(
        "types.intc(pointer, pointer, pointer)", "x, value, gradient", _BOTH + _STORED, "1", "0"
    ),
    "nuts": _Signature(
        "types.intc(types.uintp, pointer, pointer, pointer, types.voidptr)", "length, x, gradient, value, data",
        _BOTH + _STORED, "1", "0",
    ),
    "nlopt": _Signature(
        "types.float64(types.uintc, pointer, pointer, types.voidptr)", "length, x, gradient, data", _BOTH, "nan", "z"
    ),
    "scipy": _Signature("types.float64(types.intc, pointer, types.voidptr)", "length, x, data", _VALUE, "nan", "z"),
    "bridgestan": _Signature(
        "types.intc(types.voidptr, types.boolean, types.boolean, pointer, pointer, pointer, types.voidptr)",
        "model, propto, jacobian, x, value, gradient, message", _BOTH + _STORED, "-1", "0",
    ),
}  # fmt: skip


def c_function(value_and_grad: Derivative, n: int, signature: str) -> Any:
    """A function with C's calling convention for arrays of length n, as a Numba object: see `contad.cfunc`."""
    f = value_and_grad.f
    form = SIGNATURES[signature]
    point = "point.copy()" if may_write_arrays(f) else "point"  # x belongs to the caller
    served = Served("cfunc", f, (str(n), signature, str(value_and_grad.form)), value_and_grad.noted)
    if served.text() is None:
        wrong = "is_null(x)" if n else "False"
        if form.parameters.startswith("length"):
            wrong = f"length != {n} or {wrong}"
        if "jacobian" in form.parameters:  # f has the log-Jacobian, and no other log density is known
            wrong = f"not jacobian or {wrong}"
        body = form.body.format(n=n, point=point).rstrip()
        parts = form._asdict() | {"cache": served.stable, "n": n, "wrong": wrong, "body": body}
        served.write(_SOURCE.format(**parts))
    names = {"f": f, "value_and_grad": value_and_grad, "value_alone": _call_value(value_and_grad)}
    try:
        with defer_code():
            return served.load(names).function
    except NumbaError:
        if "gradient" in form.parameters:
            value_and_grad.link((_POINT,))  # whose error says which engine refuses, and why
        raise


# ---- the value alone -------------------------------------------------------------------------------------------------
_ALONE = """\
from numba import types
from contad.compile.machine_code import njit


@njit(types.float64(types.float64[::1]), {options})
def value(x):
    return f(x)
"""
_derivatives: WeakValueDictionary[str, Derivative] = WeakValueDictionary()  # of the functions whose values are called


def _call_value(value_and_grad: Derivative) -> Any:
    """A function for compiled code that calls f, which is compiled at the first such call: samplers make none."""
    name = _module_of_value(value_and_grad).stem
    _derivatives[name] = value_and_grad
    result = types.float64(_POINT)

    @intrinsic
    def call(typingctx, x):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            address = emit_address(context, builder, find_value, name, compile_now=False)
            return emit_call(context, builder, address, result, args)

        return result, codegen

    return call


def find_value(name: str) -> int:
    """The address of the value of a function with a C function, compiled or loaded."""
    value_and_grad = _derivatives[name]
    f, memo = value_and_grad.f, memo_of(value_and_grad.f)
    if name not in memo:
        value_and_grad.frozen.require_unchanged()
        served = _module_of_value(value_and_grad)
        if served.text() is None:
            served.write(_ALONE.format(options=write_options(NJIT_OPTIONS | {"cache": served.stable})))
        with defer_code():
            memo[name] = served.load({"f": f}).value
    return address_of(memo[name])


def _module_of_value(value_and_grad: Derivative) -> Served:
    return Served("value", value_and_grad.f, (), value_and_grad.noted)
