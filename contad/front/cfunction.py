"""The value and gradient of a Numba function as a function with C's calling convention."""

from typing import Any, NamedTuple

from numba import types

from contad.front.derivative import Derivative
from contad.numba_functions.modules import Served
from contad.numba_functions.writes import may_write_arrays

_SOURCE = """\
from math import nan

from numba import carray, types
from contad.compile.machine_code import cfunc

from contad.compile.words import is_null

pointer = types.CPointer(types.float64)


@cfunc({result}, cache={cache})
def function({parameters}):
    if {wrong}:
        return {failed}
    point = carray(x, ({n},))
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
            z = f({point})
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
    value_and_grad.compile((types.Array(types.float64, 1, "C"),))
    point = "point.copy()" if may_write_arrays(f) else "point"  # x belongs to the caller
    served = Served("cfunc", f, (str(n), signature, str(value_and_grad.form)), value_and_grad.noted)
    if served.text() is None:
        form = SIGNATURES[signature]
        wrong = "is_null(x)" if n else "False"
        if form.parameters.startswith("length"):
            wrong = f"length != {n} or {wrong}"
        if "jacobian" in form.parameters:  # f has the log-Jacobian, and no other log density is known
            wrong = f"not jacobian or {wrong}"
        body = form.body.format(n=n, point=point).rstrip()
        parts = form._asdict() | {"cache": served.stable, "n": n, "wrong": wrong, "body": body}
        served.write(_SOURCE.format(**parts))
    return served.load({"value_and_grad": value_and_grad, "f": f}).function
