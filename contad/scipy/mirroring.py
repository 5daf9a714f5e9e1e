"""What mirrors of `scipy.linalg` have in common: SciPy's own function for plain numbers, and the look at arguments."""

import functools
from typing import Any

from contad.errors import UnsupportedError
from contad.ops._scipy import linalg
from contad.ops.cotangents import all_finite
from contad.ops.products import as_array
from contad.rules.compilable import Compilable
from contad.variables.array import Array, numbers_in
from contad.variables.creation import array
from contad.variables.open_types import ArrayValue, Function, Nested, Option, Value


def mirror(implementation: Function) -> Any:
    """SciPy's function of that name where no argument holds a variable; Numba functions may call some of them."""
    name = implementation.__name__

    @functools.wraps(implementation)
    def call(*args: Value, **options: Option) -> Value:
        for x in args:
            if isinstance(x, Array):
                break
        else:
            if not any(map(numbers_in, args)) and not any(map(numbers_in, options.values())):
                return getattr(linalg(), name)(*args, **options)
        return implementation(*args, **options)

    return Compilable(call)


def as_one(x: Nested) -> ArrayValue:
    """An argument as one array; a list may hold array variables and numbers."""
    return array(x) if isinstance(x, (list, tuple)) and numbers_in(x) else as_array(x)


def matrices(name: str, check_finite: Option, *arrays: ArrayValue) -> list[ArrayValue]:
    """The arguments as arrays, looked through for what is not finite unless the caller says that there is none."""
    found = [as_one(x) for x in arrays]
    if check_finite and not all(map(all_finite, found)):
        raise ValueError(f"contad.scipy.linalg.{name}: array must not contain infs or NaNs")
    return found


def check_one(name: str, *arrays: ArrayValue) -> None:
    """Refuse stacks of matrices, which SciPy takes since 1.16, for functions that have a derivative of one matrix."""
    for x in arrays:
        if len(getattr(x, "shape", ())) > 2:
            raise UnsupportedError(
                f"contad.scipy.linalg.{name}: on variables it takes one matrix, got shape {x.shape}; use np.stack of "
                "what each of the matrices gives"
            )


def refuse_options(name: str, **options: Option) -> None:
    """Refuse what only SciPy's own function knows, where it is given."""
    for key, value in options.items():
        if value is not None and value is not False:
            raise UnsupportedError(f"contad.scipy.linalg.{name}: {key}= is not supported on variables")
