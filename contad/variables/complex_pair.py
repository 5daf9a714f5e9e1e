"""Complex variables: pairs of real ones.

Engines know real numbers only. A complex number or array that carries a derivative is the pair of its real and its
imaginary part, each a number or an array as real arithmetic has it: for plain functions on every engine, in every
mode and at every order. A tree of arguments has both parts as leaves. So the gradient of a real L by z = x + iy is
dL/dx + i dL/dy, the direction of steepest ascent, and a cotangent w pairs with a tangent v as Re(conj(w) v).

The operations are in `contad.protocols.complex_forms` and `contad.protocols.complex_functions`.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from contad.errors import LostDerivativeError, UnsupportedError
from contad.variables.open_types import ArrayValue, Key, Nested, Option, Real, Value

NO_ROOM = (
    "a real array cannot hold complex numbers; use z.real, z.imag or np.abs(z), or write to np.zeros(n, complex)"
)
NOT_HOLOMORPHIC = (
    "is not holomorphic at this point: du/dx = dv/dy and du/dy = -dv/dx do not hold; differentiate np.abs(z), z.real "
    "or z.imag, or use contad.vjp with a cotangent"
)
BOTH_COMPLEX = (
    "returned a complex result, and the argument is complex; return np.abs(z), z.real or z.imag, use contad.vjp with a "
    "cotangent, or holomorphic=True for the derivative of a holomorphic function"
)
ROUNDING = 1e-8  # of the largest derivative: how far the equations of Cauchy and Riemann may fail
NO_HESSIAN = (
    "must be real, got complex numbers; pass the parts, as in hessian(lambda x, y: f(x + 1j * y), (0, 1)), or use "
    "contad.hvp for products with a vector"
)
DROPPED = "NumPy drops their imaginary parts"
COMPLEX128 = np.dtype(np.complex128)


class ComplexResult(ArithmeticError):
    """A function of real arrays has a complex value; its caller passes complex arrays instead."""


class ComplexPair:
    """A complex number or array; `ComplexNumber` and `ComplexArray` are its two kinds.

    The protocols give it Python's operators and NumPy's functions.
    """

    __slots__ = ("_imag", "_real")
    __hash__ = None  # type: ignore[assignment]
    dtype = COMPLEX128

    def __init__(self, real: Value, imag: Value) -> None:
        self._real, self._imag = real, imag

    def map_parts(self, f: Callable[[Value], Value]) -> Value:
        """The pair of f of the parts."""
        return join(f(self._real), f(self._imag))

    def conjugate(self) -> Any:
        """x - iy, a copy."""
        return join(+self._real, -self._imag)

    conj = conjugate

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._real!r}, {self._imag!r})"

    def __copy__(self) -> Any:
        return self.map_parts(copy.copy)

    def __deepcopy__(self, memo: dict[int, object]) -> Any:
        return copy.copy(self)

    def __complex__(self) -> NoReturn:
        raise LostDerivativeError(
            "complex: a complex variable cannot become a plain number, because its derivative would be lost; use np.exp"
            " for cmath.exp (and so on), contad.zeros(n) for np.zeros(n, complex) on engines without arrays, "
            "contad.value_of(z) for a constant"
        )

    def __float__(self) -> NoReturn:
        raise TypeError("float: the argument is a complex variable; use z.real, or np.abs(z)")

    __int__ = __index__ = __float__

    def __array__(self, *args: Option, **options: Option) -> NoReturn:
        raise LostDerivativeError(
            "np.array: complex variables cannot become a plain or a real array, because derivatives or parts would be "
            "lost; use them as they are, np.stack or contad.array for a list, z.real, z.imag or np.abs(z), "
            "contad.value_of(z) for a constant"
        )

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise UnsupportedError("pickle: a complex variable belongs to a stack of this process; use contad.value_of(z)")


class ComplexNumber(ComplexPair):
    """A complex number whose parts are numbers."""

    __slots__ = ()
    shape: tuple[int, ...] = ()
    ndim, size = 0, 1

    @property
    def real(self) -> Real:
        """The real part."""
        return self._real

    @property
    def imag(self) -> Real:
        """The imaginary part."""
        return self._imag

    def item(self) -> "ComplexNumber":
        """The number itself."""
        return self


class ComplexArray(ComplexPair):
    """A complex array whose parts are arrays of one shape; views of it are pairs of views."""

    __slots__ = ()

    @property
    def real(self) -> ArrayValue:
        """The real part, a view."""
        return self._real

    @real.setter
    def real(self, value: Value) -> None:
        self._real[...] = value

    @property
    def imag(self) -> ArrayValue:
        """The imaginary part, a view."""
        return self._imag

    @imag.setter
    def imag(self, value: Value) -> None:
        self._imag[...] = value

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of every axis."""
        shape: tuple[int, ...] = self._real.shape
        return shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        n: int = self._real.size
        return n

    @property
    def nbytes(self) -> int:
        """Bytes of the values."""
        return 16 * self.size

    @property
    def T(self) -> "ComplexArray":
        """The axes in reverse order, a view."""
        return self.map_parts(lambda part: part.T)

    @property
    def mT(self) -> "ComplexArray":
        """The last two axes exchanged, a view."""
        return self.map_parts(lambda part: part.mT)

    @property
    def flat(self) -> Any:
        """The elements in C order, as a copy."""
        return iter(self.ravel())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, key: Key) -> Any:
        return self.map_parts(lambda part: part[key])

    def __setitem__(self, key: Key, value: Nested) -> None:
        self._real[key], self._imag[key] = split(value)

    def copy(self, order: str = "C") -> "ComplexArray":
        """A copy."""
        return self.map_parts(lambda part: part.copy(order))

    def reshape(self, *shape: Option, order: str = "C") -> "ComplexArray":
        """As np.reshape; a view where possible."""
        return self.map_parts(lambda part: part.reshape(*shape, order=order))

    def ravel(self, order: str = "C") -> "ComplexArray":
        """The elements in one dimension; a view where possible."""
        return self.map_parts(lambda part: part.ravel(order))

    def flatten(self, order: str = "C") -> "ComplexArray":
        """A copy of the elements in one dimension."""
        return self.map_parts(lambda part: part.flatten(order))

    def transpose(self, *axes: Option) -> "ComplexArray":
        """The axes in another order, a view."""
        return self.map_parts(lambda part: part.transpose(*axes))

    def item(self, *index: Key) -> Any:
        """The one element, or the element at that index."""
        return self.map_parts(lambda part: part.item(*index))

    def tolist(self) -> Nested:
        """The elements in nested lists."""
        return [z.tolist() if isinstance(z, ComplexArray) else z for z in self] if self.shape else self[()]

    def fill(self, value: Value) -> None:
        """Assign a number to every element."""
        self[...] = value

    def astype(self, dtype: Option, copy: bool = True, **options: Option) -> "ComplexArray":
        """A copy as complex128; other types would lose a part."""
        if np.dtype(dtype) != COMPLEX128:
            raise UnsupportedError(
                f"astype: a complex array stays complex128, got {np.dtype(dtype)}; use .real or np.abs"
            )
        return self.copy() if copy else self


# ---- from parts, and to parts ----------------------------------------------------------------------------------------
def join(x: Value, y: Value) -> Any:
    """x + iy: a plain complex number or array where both parts are plain.

    >>> join(1.5, -0.0)
    (1.5-0j)
    """
    kind = x.__class__
    if kind is y.__class__ and kind is not np.ndarray and hasattr(kind, "_make_view") and x.shape == y.shape:
        return ComplexArray(x, y)  # the usual case: two arrays of variables
    if _is_number(x) and _is_number(y):
        return complex(x, y)
    if not (hasattr(x, "shape") and hasattr(y, "shape")) and not (_has_axes(x) or _has_axes(y)):
        return ComplexNumber(x, y)
    if np.shape(x) != np.shape(y):
        shape = np.broadcast_shapes(np.shape(x), np.shape(y))
        x, y = (part if np.shape(part) == shape else np.copy(np.broadcast_to(part, shape)) for part in (x, y))
    if _is_plain_array(x) and _is_plain_array(y):
        z = np.empty_like(x, np.complex128, subok=False)
        z.real, z.imag = x, y
        return z
    if not (_has_axes(x) or _has_axes(y)):
        return ComplexNumber(x, y)
    return ComplexArray(_with_room(x, y), _with_room(y, x))


def split(z: Nested) -> tuple[Value, Value]:
    """The real and the imaginary part; that of a real number or array is 0.0."""
    if isinstance(z, ComplexPair):
        return z._real, z._imag
    if isinstance(z, (list, tuple)):
        z = np.stack([join(*split(item)) for item in z]) if holds_complex(z) else np.asarray(z)
        return split(z)
    if isinstance(z, (complex, np.complexfloating)):
        return float(z.real), float(z.imag)
    if isinstance(z, np.ndarray) and z.dtype.kind == "c":
        return z.real.astype(np.float64), z.imag.astype(np.float64)
    if holds_pairs(z):
        parts = [split(v) for v in z.flat]
        x, y = (np.array([*(part[k] for part in parts), None], object)[:-1].reshape(z.shape) for k in (0, 1))
        return x, y
    return z, 0.0


def real_part(z: Value) -> Value:
    """The real part."""
    return split(z)[0]


def imag_part(z: Value) -> Value:
    """The imaginary part; zeros of the shape of z where z is real."""
    return split_evenly(z)[1]


def split_evenly(z: Value) -> tuple[Value, Value]:
    """Both parts, of one shape: the imaginary part of a real array is an array of zeros."""
    x, y = split(z)
    return x, y if is_complex(z) or not np.ndim(z) else np.zeros(np.shape(z))


def is_complex(z: Any) -> bool:
    """Whether z is a complex number or array, plain or of variables."""
    if isinstance(z, np.ndarray):
        return z.dtype.kind == "c"
    return isinstance(z, (ComplexPair, complex, np.complexfloating))


def holds_complex(x: Nested) -> bool:
    """The same for the numbers in nested lists and tuples."""
    return any(map(holds_complex, x)) if isinstance(x, (list, tuple)) else is_complex(x)


def holds_pairs(z: Any) -> bool:
    """Whether z is an object array with complex numbers."""
    return isinstance(z, np.ndarray) and z.dtype == object and any(map(is_complex, z.flat))


def as_pair(z: Any) -> Any:
    """A complex number or array, plain or with complex numbers as objects, as a pair; anything else unchanged."""
    if isinstance(z, ComplexPair) or not (is_complex(z) or holds_pairs(z)):
        return z
    return (ComplexArray if isinstance(z, np.ndarray) else ComplexNumber)(*split(z))


def as_complex(x: Value) -> Any:
    """x + 0i."""
    return x if is_complex(x) else join(x, np.zeros(np.shape(x)))


def _is_number(x: Any) -> bool:
    return isinstance(x, (float, int, np.floating, np.integer))


def _has_axes(x: Any) -> bool:
    """Whether x is an array: engines' numbers pass for arrays without axes, but have no strides to view."""
    return isinstance(x, np.ndarray) or hasattr(x, "_make_view")


def _is_plain_array(x: Any) -> bool:
    return (isinstance(x, (np.ndarray, np.generic)) and x.dtype != object) or _is_number(x)


def _with_room(x: Value, other: Value) -> ArrayValue:
    """A part to which variables can be assigned like to the other part."""
    if not isinstance(x, np.ndarray) or x.dtype == object:
        return x
    return other._owner.writable(x) if hasattr(other, "_owner") else x.astype(object)
