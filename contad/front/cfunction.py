"""The value and gradient of a Numba function as a function with C's calling convention."""

from typing import Any

from numba import types

from contad.front.derivative import Derivative
from contad.native.modules import Served

_SOURCE = """\
from numba import carray, cfunc, types

pointer = types.CPointer(types.float64)


@cfunc(types.intc(pointer, pointer, pointer), cache={cache})
def function(x, value, gradient):
    try:
        z, z_x = value_and_grad(carray(x, ({n},)))
    except Exception:
        return 1
    value[0] = z
    for i in range({n}):
        gradient[i] = z_x[i]
    return 0
"""


def c_function(value_and_grad: Derivative, n: int) -> Any:
    """`int (const double *x, double *value, double *gradient)` for arrays of length n, as an object of Numba's."""
    value_and_grad.compile((types.Array(types.float64, 1, "C"),))
    served = Served("cfunc", value_and_grad.f, (str(n), str(value_and_grad.form)), value_and_grad.noted)
    if served.text() is None:
        served.write(_SOURCE.format(cache=served.stable, n=n))
    return served.load({"value_and_grad": value_and_grad}).function
