"""The base of array variables and array duals: NumPy's semantics of views and assignment on a pair of arrays.

An array of a level is its value and a companion that aliases alike: the cells of its elements in the adjoint vector
(reverse mode), or its tangents (forward mode). A view is a parent and a NumPy operation that is applied to both.
"""

import contextlib
import operator
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, SupportsIndex

import numpy as np

from contad.errors import NestingError, OverlapError, UnsupportedError, place_of_user
from contad.variables.complex_pair import NO_ROOM, ComplexArray, ComplexPair
from contad.variables.layout import OVERLAPPING, box_up
from contad.variables.library_refusals import make_lost, make_unsupported_by_pandas
from contad.variables.number import ArrayCarrier, Carrier, Number, map_numbers, observe, peek, primal
from contad.variables.open_types import ArrayValue, Key, Nested, Option, Real, Value

View = Callable[[ArrayValue], ArrayValue]
Write = Callable[[ArrayValue, Value], None]  # assigns its second argument to its first


class Array(ArrayCarrier):
    """An array of numbers that carry derivative information; `ArrayVar` and `ArrayDual` are its two kinds.

    It has the shape, methods and assignment of an ndarray of float64. NumPy's functions and ufuncs find their rules.
    """

    # for views and written arrays; most arrays store none of these
    _base: "Array | None" = None  # of a view: its root
    _parent: "Array | None" = None
    _view: View | None = None  # makes the view's parts from the parent's
    # the parent's value when the view was made; the first assignment replaces it
    _seen: ArrayValue = None
    _root_seen: ArrayValue = None  # the same for the root
    _version: int = 0  # for a root: counts assignments

    # ---- methods of the two kinds; without ABCMeta, which would make isinstance several times as slow ----------------
    @abstractmethod
    def _refresh(self, parent: "Array") -> None:
        """Make this view's parts again from those of its parent."""

    @abstractmethod
    def _make_view(self, view: View, value: ArrayValue) -> "Array":
        """A view of this array: `view` applied to the value gave `value`."""

    @abstractmethod
    def _make_copy(self, move: View, value: ArrayValue) -> ArrayValue:
        """The array of moved elements: `move` applied to the value gave `value`; its companion moves likewise."""

    @abstractmethod
    def _element(self, key: Key, value: Real) -> Real:
        """The number at a key where the value is `value`."""

    @property
    def is_constant(self) -> bool:
        """Whether no element depends on a variable of this level, as in a new array of `contad.zeros`."""
        return False

    def _open_for_writing(self) -> None:
        """Before an assignment to this root: its parts may be written from here on."""

    @abstractmethod
    def _assign(self, write: Write, y: Value) -> None:
        """Write y into the value, and the companion of y into the companion, by the same NumPy operation."""

    def _repr_html_(self) -> str:
        """Values, and cells or tangents: it records nothing and never raises; for a stale array it only says so."""
        from contad.display.markup import code_block, element, fold, page, paragraph

        def text(x: Value) -> str:
            return np.array2string(np.asarray(peek(x)), threshold=200, precision=6)

        x: Any = self
        owner = x._owner
        title = f"{x.kind} of shape {x.shape}"
        if owner.ended is not None:
            return page(title, paragraph(f"Stale: {owner.ended}."))
        parts = [code_block(text(x))]
        if hasattr(x, "cells"):
            cells = x.cells()
            parts.append(fold("cells", code_block(text(cells))))
            if owner.tracer is not None:
                parts.append(paragraph("It is being recorded as a program."))
            elif not owner.sweeping and len(owner.adjoints):
                parts += [element("b", "adjoint"), code_block(text(owner.adjoints_at(cells)))]
        else:
            for tangent in x._tangents:
                parts += [element("b", "tangent"), code_block(text(tangent))]
        return page(title, *parts)

    # ---- aliasing ----------------------------------------------------------------------------------------------------
    def _sync_parts(self) -> "Array":
        """Itself, with present parts; refused if its level has ended, because its memory is reused."""
        owner = self._owner
        if owner.ended is not None or not owner.is_here():
            owner.check_usable("an array")
        return self if self._parent is None else self._sync()

    def _sync(self) -> "Array":
        """Itself, with present parts."""
        base = self._base
        if base is None or base._value is self._root_seen:
            return self
        views = []
        x = self
        while x._parent is not None:  # no recursion: views of views may be thousands deep
            views.append(x)
            x = x._parent
        for view in reversed(views):
            parent: Any = view._parent
            if parent._value is not view._seen:
                view._refresh(parent)
                view._seen = parent._value
            view._root_seen = base._value
        return self

    def _root(self) -> "Array":
        return self if self._base is None else self._base

    def _move(self, move: View) -> ArrayValue:
        """A NumPy function that moves elements: a view if NumPy gives one, else a copy of both parts."""
        a = self._sync_parts()._value
        v = move(a)
        if isinstance(v, (list, tuple)):
            return type(v)(self._move(_piece(move, k)) for k in range(len(v)))
        if not isinstance(v, (np.ndarray, Array)):
            return self._make_copy(lambda x: np.asarray(move(x)), np.asarray(v))[()]
        return self._make_view(move, v) if is_view(v, a) else self._make_copy(move, v)

    def __getitem__(self, key: Key) -> Value:
        a = self._sync_parts()._value
        key = plain_key(key)
        v = a[key]
        if not isinstance(v, (np.ndarray, Array)):
            return self._element(key, v)
        if is_view(v, a):
            return self._make_view(lambda x: x[key], v)
        return self._make_copy(lambda x: x[key], v)

    def __setitem__(self, key: Key, y: Value) -> None:
        key = plain_key(key)

        def write(a: np.ndarray, y: Value) -> None:
            a[key] = y

        self._write(write, y)

    def _write(self, write: Write, y: Value) -> None:
        """Assign y by a NumPy operation, so that overlapping elements are read when NumPy reads them."""
        self._owner.check_usable("an assignment")
        if isinstance(y, ComplexPair):
            raise TypeError(f"an assignment: {NO_ROOM}")
        root = self._root()
        if OVERLAPPING and id(root) in OVERLAPPING:
            raise OverlapError(f"{OVERLAPPING[id(root)][1]}; it writes at {place_of_user()}")
        root._open_for_writing()
        self._sync_parts()
        self._assign(write, y)
        root._version += 1

    def _hold(self, value: ArrayValue) -> None:
        """Make the value of this array able to hold numbers of the levels in `value`."""
        root = self._root()
        top = max(numbers_in(value), key=level_of, default=None)
        objects = isinstance(root._value, np.ndarray) and root._value.dtype == object  # holds any number
        if top is not None and top._owner.level > level_of(root._value) and not (objects and isinstance(top, Number)):
            root._value = top._owner.writable(root._value)
        self._sync_parts()

    # ---- attributes --------------------------------------------------------------------------------------------------
    @property
    def value(self) -> Value:
        """A copy of the value: a float array, or an array of the next outer level if gradients are nested."""
        self._owner.check_usable("value")
        if self._owner.tracer is not None:
            self._owner.tracer.refuse_reading()
        value = self._sync_parts()._value.copy()
        return map_numbers(lambda n: n.value, value) if self._owner.lends_arrays else value

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of every axis."""
        shape: tuple[int, ...] = self._value.shape
        return shape

    @shape.setter
    def shape(self, shape: Option) -> None:
        raise UnsupportedError(f"x.shape = {shape}: not supported on an {self.kind}; write x = x.reshape({shape})")

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._value.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        size: int = self._value.size
        return size

    @property
    def dtype(self) -> np.dtype:
        """float64: arrays hold real numbers of double precision."""
        return np.dtype(np.float64)

    @property
    def T(self) -> ArrayValue:
        """The transpose, a view."""
        return self._move(np.transpose)

    @property
    def real(self) -> "Array":
        """The array itself."""
        return self

    @property
    def imag(self) -> ArrayValue:
        """Zeros: arrays are real. As in NumPy, they have the memory order of the array and are read-only."""
        zeros = np.zeros_like(peek(self), order="A")
        zeros.flags.writeable = False
        return zeros

    # ---- protocols ---------------------------------------------------------------------------------------------------
    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"len: an {self.kind} without axes has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Value]:
        if not self.shape:
            raise TypeError(f"iteration: an {self.kind} without axes cannot be iterated over")
        for k in range(self.shape[0]):
            yield self[k]

    def __array__(self, dtype: Option = None, copy: bool | None = None) -> Any:
        """The numbers of an array of constants, read-only unless the caller asks for a copy: this array would not see
        writes."""
        stand_in = stand_in_of_product(sys._getframe(1))
        if stand_in is not None:
            return stand_in
        if self.is_constant:
            a = np.array(self._sync_parts()._value, dtype)
            a.flags.writeable = copy is True
            return a
        if is_asked_by_pandas():
            raise make_unsupported_by_pandas(self._owner)
        raise make_lost(
            f"np.asarray: an {self.kind} cannot become an array of floats, because its derivative would be lost; use "
            "contad.array([...]) or np.stack for an array of variables, contad.zeros for one to assign to, a @ x for "
            "a.dot(x), contad.logsumexp and softmax for SciPy's, contad.value_of(x) for a constant",
            self.kind,
            self._owner,
        )

    def __float__(self) -> float:
        raise make_lost(
            f"float: an {self.kind} cannot become a plain number, because its derivative would be lost; use x.item() "
            "for the variable of its one element, contad.value_of(x) for a constant",
            self.kind,
            self._owner,
        )

    def __int__(self) -> int:
        return int(observe(int, self))

    def __bool__(self) -> bool:
        return bool(observe(bool, self))

    def __index__(self) -> int:
        raise TypeError(f"index: an {self.kind} holds real numbers, which cannot index; got shape {self.shape}")

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        raise UnsupportedError(
            f"pickle: an {self.kind} belongs to a stack of this process; use contad.value_of(x)", level=self._owner
        )

    def __copy__(self) -> ArrayValue:
        return self.copy("K")

    def __deepcopy__(self, memo: dict[int, object]) -> ArrayValue:
        return self.copy("K")

    def __contains__(self, y: Value) -> bool:
        return bool(np.any(primal(self) == primal(y)))

    __hash__ = None  # type: ignore[assignment]

    # ---- ndarray methods that only arrays of this kind define --------------------------------------------------------
    def copy(self, order: str = "C") -> ArrayValue:
        """A copy that can be assigned to without changing this array."""
        return self._make_copy(lambda x: x.copy(order), self._sync_parts()._value.copy(order))

    def ravel(self, order: str = "C") -> ArrayValue:
        """The elements in one dimension, a view if NumPy gives one."""
        return self._move(lambda x: x.ravel(order))  # which copies noncontiguous arrays, unlike reshape(-1)

    def reshape(self, *shape: Option, order: str = "C") -> ArrayValue:
        """The elements in another shape, a view if NumPy gives one."""
        new: Any = copy_parts(shape[0]) if len(shape) == 1 else shape
        logical: Any = order
        return self._move(lambda x: np.reshape(x, new, order=logical))

    def transpose(self, *axes: Option) -> ArrayValue:
        """The axes permuted, a view."""
        order = copy_parts(axes[0]) if len(axes) == 1 else axes or None
        return self._move(lambda x: np.transpose(x, order))


def _piece(move: View, k: int) -> View:
    return lambda x: move(x)[k]


def stand_in_of_product(frame: FrameType) -> Any:
    """The answer to SciPy's S @ x and S.dot(x), which ask for an array, so that they leave the product to x; else None.

    They use the answer only as a sign: an object array without axes means that x handles the product, and with one with
    axes S.dot(x) continues with S @ x.
    """
    name = frame.f_code.co_name
    if name not in ("_matmul_dispatch", "dot") or not str(frame.f_globals.get("__name__")).startswith("scipy.sparse."):
        return None
    return np.empty((), object) if name == "_matmul_dispatch" else np.empty(1, object)


def is_asked_by_pandas() -> bool:
    """Whether pandas asks for plain numbers, because it meant to compute with a variable."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(12):
        if frame is None:
            return False
        if str(frame.f_globals.get("__name__")).startswith("pandas."):
            return True
        frame = frame.f_back
    return False


def write_half(write: Write, y: Value, companion: ArrayValue, other: Value) -> None:
    """Update the companion after a write to the value that failed half-way."""
    with contextlib.suppress(Exception):
        write(companion, np.broadcast_to(other, np.shape(y)))


def is_view(v: Any, a: np.ndarray) -> bool:
    """Whether v, made from a by a NumPy operation, shares its elements."""
    if isinstance(v, Array):
        return v is a or v._parent is not None
    b = v.base
    if b is not None and not isinstance(b, np.ndarray):
        b = getattr(b, "base", None)  # of the holder of the memory of sliding windows
    return v is a or (b is not None and (b is a or b is a.base))


def root_of(x: Value) -> Any:
    """The array whose memory x uses: x itself, or the array of which x is a view."""
    if isinstance(x, Array):
        return x._root()
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


def plain_key(key: Key) -> Key:
    """An index with primals in place of variables, and copies of plain arrays, because a view may use it again
    later."""
    if isinstance(key, tuple):
        return tuple(plain_key(k) for k in key)
    if isinstance(key, slice):
        return slice(*(None if k is None else operator.index(k) for k in (key.start, key.stop, key.step)))
    if isinstance(key, (np.ndarray, list)):
        return np.array(key) if isinstance(key, np.ndarray) or key else np.empty(0, np.intp)
    if isinstance(key, Carrier):
        raise TypeError(f"index: {key.kind}s are real numbers, which cannot index; use int(...) or a comparison")
    return key


def is_plain(x: object) -> bool:
    """Whether x is a float or a float array, without numbers of any level in it."""
    return x.__class__ is float or (isinstance(x, np.ndarray) and x.dtype != object) or isinstance(x, (float, int))


def level_of(x: Value) -> int:
    """The number of the level that owns x; -1 if no level owns it."""
    return x._owner.level if isinstance(x, Carrier) else -1


def require_no_inner(x: Nested, level: int) -> None:
    """Refuse to store a number of a level opened inside the one that owns the array."""
    if level_of(x) > level:
        raise NestingError(
            f"an assignment: the {x.kind} of an inner level cannot be stored in an array of an outer one; create the "
            "array inside, with contad.zeros"
        )


def elements_of(x: Array | ComplexArray) -> np.ndarray:
    """The elements as an object array of scalar numbers (a matvar); nothing is recorded."""
    out = np.empty(x.shape, object)
    for k in np.ndindex(x.shape):
        out[k] = x[k]
    return out


def as_objects(x: Value) -> np.ndarray:
    """x as an object array of scalars: the elements of an array of any kind, or one number."""
    if isinstance(x, (Array, ComplexArray)):
        return elements_of(x)
    if isinstance(x, (Number, ComplexPair)):  # NumPy would look for elements in x
        box = np.empty((), object)
        box[()] = x
        return box_up(box)
    return box_up(np.asarray(x).astype(object))


def as_array(x: Value) -> Value:
    """A number as an array without axes, of its level; an object array if the level has no arrays of its own."""
    if not isinstance(x, Number):
        return x
    x._owner.check_usable("an operation on arrays")
    box = as_objects(x)
    return x._owner.adopt(box) if x._owner.has_arrays else box


def lower_constants(x: Value) -> Value:
    """A copy of the contents of an array of constants; anything else unchanged."""
    while isinstance(x, Array) and x.is_constant:
        x = x._sync()._value.copy()
    return x


def copy_parts(x: Nested) -> Nested:
    """x with copies of its arrays and lists, because their owner may write to them."""
    if isinstance(x, (np.ndarray, Array)):
        return x.copy("K")  # in the same layout, because layouts of results depend on it
    return type(x)(map(copy_parts, x)) if x.__class__ in (list, tuple) else x


def numbers_in(x: Nested) -> list[Carrier]:
    """The numbers and arrays of levels in x: x itself, or the elements of object arrays, lists and tuples."""
    if isinstance(x, Carrier):
        return [x]
    if isinstance(x, (list, tuple)):
        return [n for item in x for n in numbers_in(item)]
    if isinstance(x, np.ndarray) and x.dtype == object:
        found: Any = [n for n in x.flat if isinstance(n, (Number, ArrayCarrier, ComplexPair))]
        return numbers_in(found) if any(isinstance(n, ComplexPair) for n in found) else found
    if isinstance(x, ComplexPair):
        return [*numbers_in(x._real), *numbers_in(x._imag)]
    return []
