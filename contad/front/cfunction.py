"""The value and gradient of a Numba function as a function with C's calling convention."""

from typing import Any

from numba import types

from contad.front.derivative import Derivative
from contad.native.modules import Served
from contad.native.writes import may_write_arrays

_SOURCE = """\
from numba import carray, types
from contad.native.machine_code import cfunc

from contad.native.words import is_null

pointer = types.CPointer(types.float64)


@cfunc(types.intc(pointer, pointer, pointer), cache={cache})
def function(x, value, gradient):
    if is_null(x) and {n} > 0:
        return 1
    point = carray(x, ({n},))
    if is_null(gradient):
        try:
            z = f({point})
        except Exception:
            return 1
    else:
        try:
            z, z_x = value_and_grad(point)
        except Exception:
            return 1
        for i in range({n}):
            gradient[i] = z_x[i]
    if not is_null(value):
        value[0] = z
    return 0
"""


def c_function(value_and_grad: Derivative, n: int) -> Any:
    """`int (const double *x, double *value, double *gradient)` for arrays of length n, as an object of Numba's.

    Optimisers written in C pass NULL for the gradient where they want the value alone.
    """
    f = value_and_grad.f
    value_and_grad.compile((types.Array(types.float64, 1, "C"),))
    point = "point.copy()" if may_write_arrays(f) else "point"  # x belongs to the caller
    served = Served("cfunc", f, (str(n), str(value_and_grad.form)), value_and_grad.noted)
    if served.text() is None:
        served.write(_SOURCE.format(cache=served.stable, n=n, point=point))
    return served.load({"value_and_grad": value_and_grad, "f": f}).function
