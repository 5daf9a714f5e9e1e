"""The dtypes of numbers: those that an operation takes, and the one that compiled kernels take."""

from typing import Any, NamedTuple

import numpy as np

from contad.errors import UnsupportedError
from contad.variables.open_types import Option

FLOAT = np.dtype(np.float64)
VARIABLES = "d"  # the dtypes, by NumPy's letters, that variables have: other floats are converted

SINGLE = np.dtype(np.float32)
KEPT = (SINGLE, np.dtype(np.float16))  # the dtypes that eager engines keep


class _Precision:
    """The settings of this process for numbers of less than double precision, which `contad.settings` changes."""

    __slots__ = ("accumulate", "keeps")

    def __init__(self) -> None:
        self.keeps = False  # whether arguments keep their dtype; otherwise they become float64
        self.accumulate: np.dtype = SINGLE  # the least precise dtype in which sums of kept numbers are accumulated


PRECISION = _Precision()


def kept_dtype(x: Any) -> np.dtype:
    """The dtype in which compiled derivatives take an argument, by the settings: float32 or float64.

    Only arrays of float32 and NumPy's numbers of this type have fewer digits; a Python number is one of float64, but
    takes the precision of what it is combined with.

    >>> kept_dtype(np.float32(1.0))
    dtype('float64')
    """
    return SINGLE if PRECISION.keeps and getattr(x, "dtype", None) == SINGLE else FLOAT


class Dtypes(NamedTuple):
    """The declaration of an operation: its derivatives keep each of these dtypes."""

    letters: str  # NumPy's
    reason: str = ""  # the reason why it takes only double precision, if so
    holomorphic: bool = True  # whether bodies hold for complex numbers without conjugates; otherwise they have them

    def find(self, given: np.dtype) -> np.dtype | None:
        """The dtype in which the operation takes numbers of a given dtype; None if it does not take them."""
        if given is FLOAT or (given.isnative and given.char in self.letters and given.char in VARIABLES):
            return given
        return FLOAT if given.kind in "fiub" else None


FLOATS, COMPLEX, HERMITIAN = Dtypes("fd"), Dtypes("fdFD"), Dtypes("fdFD", holomorphic=False)


def float64_only(reason: str) -> Dtypes:
    """The declaration of an operation that is right only in double precision, for this reason."""
    return Dtypes("d", reason)


def require_float64(name: str, dtype: Option) -> None:
    """Refuse, for the function of that name, a dtype that variables do not have."""
    if dtype is not None and np.dtype(dtype) != FLOAT:
        raise UnsupportedError(f"{name}: dtype must be float64 on variables, got {np.dtype(dtype)}")


def is_float64(x: Any) -> bool:
    """Whether compiled kernels may take x: a plain array of float64."""
    return x.__class__ is np.ndarray and x.dtype == FLOAT


def dtype_beside(x: Any, *others: Any) -> np.dtype:
    """The dtype of constants combined with these: that of NumPy's floats, and float64 for anything else.

    >>> dtype_beside(np.zeros(2, np.float32)), dtype_beside(1.0), dtype_beside(np.array([1, 2]))
    (dtype('float32'), dtype('float64'), dtype('float64'))
    """
    found = getattr(x, "dtype", FLOAT)
    for y in others:
        if y.dtype is not found:
            found = np.result_type(found, y.dtype)
    if found is FLOAT:
        return FLOAT
    return found if found.char in COMPLEX.letters else FLOAT
