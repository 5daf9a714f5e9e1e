"""Derivatives called by a function that is itself differentiated, written out as Numba functions.

Such a function is the code between a call and an engine's `run` (`contad.front.plan`). In place of `run` it calls an
operation that the engine knows as it knows functions of matrices.
"""

from typing import Any

import numba
import numpy as np

from contad.errors import OverlapError, UnsupportedError
from contad.front.form import Derived
from contad.front.plan import plan
from contad.numba_functions.asked_derivatives import AskedDerivative
from contad.rules.compilable import functions_of_text
from contad.variables.open_types import NumbaType


def write_out(derivative: Derived, given: tuple[NumbaType, ...]) -> Any:
    """The Numba function for arguments of these types; UnsupportedError if there is none."""
    form = derivative.form
    if form.kind == "jacobian":  # by columns or by rows, decided at run time
        form = form._replace(kind="jacrev")
    planned = plan(derivative.f, form, given, derivative.what)
    if any(".ctypes" in line for line in planned.body):
        raise UnsupportedError(
            f"{derivative.what}: it may write into its arguments, and several are arrays; let it copy what it writes"
        )
    known = {
        "np": np, "f": derivative.f, "run": AskedDerivative(planned.request, derivative.what),
        OverlapError.__name__: OverlapError,
    }  # fmt: skip
    lines = [f"def derivative({', '.join(planned.parameters)}):", *(f"    {line}" for line in planned.body)]
    return numba.njit(error_model="numpy")(functions_of_text("\n".join(lines) + "\n", known)["derivative"])
