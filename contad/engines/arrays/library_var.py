"""Variables of the engine `arrays`: (array of any library, cell), with NumPy's and Python's protocols."""

import inspect
import math
import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.engines.arrays.libraries import READS_VALUES, Library, refuse_rule
from contad.engines.arrays.movements import (
    COPIES,
    FIRST,
    GATHER,
    INDEXING,
    MOVEMENTS,
    Movement,
    find_positions,
    open_copy,
)
from contad.engines.arrays.numpy_names import index_by
from contad.engines.arrays.torch_functions import METHODS, apply_to_variables, find
from contad.errors import ContadError, OverlapError, UnsupportedError, place_of_user
from contad.protocols.array_protocols import array_ufunc, install_arrays
from contad.protocols.number_protocols import CONSTANTS
from contad.rules.array_rule import _by_ufunc as _array_rules
from contad.rules.numpy_functions import entry_of, find_exported_name, written_for
from contad.rules.scalar_rule import ScalarRule, owner_of, rule_of_ufunc, rules
from contad.variables.array import Array, View, Write, _piece, numbers_in, require_no_inner, stand_in_of_product
from contad.variables.complex_pair import NO_ROOM, ComplexPair
from contad.variables.layout import OVERLAPPING, same_layout
from contad.variables.number import Carrier, Number, map_numbers, peek
from contad.variables.open_types import ArrayValue, Function, Key, Nested, Option, Options, Value
from contad.variables.trees import is_of_library


class LibraryVar(Array):
    """An array of any library, without axes too, and its cell in the list of adjoints."""

    __slots__ = ("_cell", "_library", "_shape")
    kind = "array variable"
    _cell: int
    _library: Library
    _written: bool = False  # whether an assignment has made the value
    _shape: tuple[int, ...]
    _first_cell = 0  # of an argument, which f may write to
    _move_of_view: Any = None  # of a view: the movement, its arguments and its options

    # ---- the parts ---------------------------------------------------------------------------------------------------
    def _sync_parts(self) -> "LibraryVar":
        owner = self._owner
        if owner.ended is not None or not owner.is_here():
            owner.check_usable("an array")
        if self._move_of_view is not None:
            parent: Any = self._parent
            parent._sync_parts()
            if parent._version != self._seen:  # somebody has written to the parent
                again = owner.perform(self._move_of_view[0], parent, *self._move_of_view[1:])
                self._value, self._cell, self._seen = again._value, again._cell, parent._version
                self._version += 1
        return self

    def place(self) -> tuple[tuple[int, ...], Any]:
        """The shape and the dtype of its cotangents; no dtype for a number."""
        return self.shape, None if self._library.kind is float else self._library.dtype

    def as_gradient(self, d: Value, is_owned: bool = False) -> Value:
        """A cotangent of this variable in its type, dtype and shape; zeros for None.

        It is a copy, unless it is an array of its own that nobody else can see.
        """
        value, library = self._value, self._library
        if value.__class__ is float:
            return 0.0 if d is None else d if isinstance(d, Carrier) else float(d)
        if isinstance(d, Carrier):
            return d
        if d is None:
            return library.np.zeros_like(peek(value))
        shape = self.shape
        if getattr(d, "shape", None) != shape:
            d = library.np.broadcast_to(d, shape)
        if library.is_numpy:
            return np.array(d, library.dtype)
        if d.__class__ is not library.kind and not library.name.startswith("jax"):
            d = library.adopt(d)
        if library.name == "dask":
            d = d.rechunk(peek(value).chunks)
        if d.dtype != library.dtype:
            return library.cast(d, library.dtype)
        return d if is_owned or not library.is_writable() else library.copy(d)

    def as_seed(self, z_bar: Value) -> Value:
        """A cotangent of this result, from a number or an array."""
        if isinstance(z_bar, Carrier) or is_of_library(z_bar):
            return z_bar
        library = self._library
        if library.is_numpy:
            return np.asarray(z_bar, library.dtype)[()]
        return library.np.full(self.shape, z_bar) if isinstance(z_bar, float) else library.np.asarray(z_bar)

    @property
    def is_constant(self) -> bool:
        return self._cell == 0

    @property
    def value(self) -> Value:
        """The array of the library, or a variable of the next outer level."""
        return self._sync_parts()._value

    @property
    def adj(self) -> Value:
        """The adjoint after the last sweep of this variable's stack."""
        self._owner.check_usable("adj")
        self._owner.check_swept("x.adj")
        return self._owner.cotangent(self)

    @property
    def index(self) -> int:
        """The cell."""
        return self._cell

    @property  # type: ignore[misc]
    def shape(self) -> tuple[int, ...]:
        """The length of every axis."""
        return tuple(self._shape)  # writes keep it

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> Any:
        """The dtype, as the library has it."""
        return getattr(self._value, "dtype", np.dtype(np.float64))

    @property
    def device(self) -> Any:
        """The device, as the library has it."""
        return self._library.device if self._library.device is not None else getattr(peek(self), "device", "cpu")

    # ---- movements ---------------------------------------------------------------------------------------------------
    def _view_by(self, movement: Movement, *args: Value, **options: Option) -> "LibraryVar":
        """A movement: a view, which follows later writes to this array, if the library gives one."""
        z: LibraryVar = self._owner.perform(movement, self, args, options)
        if movement.function not in COPIES and self._library.shares_memory(z._value, self._value):
            z._base, z._parent = self._root(), self
            z._move_of_view, z._seen = (movement, args, options), self._version
        return z

    def _move(self, move: View) -> ArrayValue:
        self._sync_parts()
        positions = (FIRST + np.arange(float(self.size))).reshape(self.shape)
        if self._library.is_numpy:
            positions = same_layout(positions, peek(self))
        moved: Any = move(positions)
        if isinstance(moved, (list, tuple)):
            return type(moved)(self._move(_piece(move, k)) for k in range(len(moved)))
        found, new = find_positions(np.asarray(moved))
        if np.any(np.asarray(moved)[new]):  # constants between the elements
            return self._owner.move(lambda sources: move(sources[0]), {0: self})
        return self._view_by(GATHER, move, found)

    def __getitem__(self, key: Key) -> Value:
        self._sync_parts()
        key = _plain_key(key)
        if self._library.name == "dask" and any("bool" in str(getattr(k, "dtype", "")) for k in _parts_of(key)):
            raise UnsupportedError(
                "index: a mask chooses as many elements as only computing tells; use np.where(mask, x, 0.0)",
                level=self._owner,
            )
        if self._library.name == "torch":
            key, flipped = _forwards(key, self.shape)
            if flipped:
                return np.flip(self[key], flipped)
        return self._view_by(INDEXING, key)

    def take(self, positions: np.ndarray) -> "LibraryVar":
        """The elements of a vector at positions that NumPy has found."""
        library = self._library
        where = positions if library.is_numpy else library.np.asarray(positions)
        return self._owner.perform(INDEXING, self, (where,), {})

    def reshape(self, *shape: Option, order: str = "C", copy: Option = None) -> ArrayValue:
        new = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        logical: Any = order
        if order not in _ORDERS:
            return self._move(lambda a: np.reshape(a, new, order=logical))
        return self._view_by(MOVEMENTS[np.reshape], new, **_order(order))

    def ravel(self, order: str = "C") -> ArrayValue:
        logical: Any = order
        if order not in _ORDERS:
            return self._move(lambda a: np.ravel(a, order=logical))
        return self._view_by(MOVEMENTS[np.ravel], **_order(order))

    def transpose(self, *axes: Option) -> ArrayValue:
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
        return self._view_by(MOVEMENTS[np.transpose], order)

    @property
    def T(self) -> ArrayValue:
        """The transpose."""
        return self._view_by(MOVEMENTS[np.transpose])

    @property
    def mT(self) -> ArrayValue:
        """The transposes of the matrices in the last two axes."""
        return self._view_by(MOVEMENTS[np.swapaxes], -1, -2)

    def copy(self, order: str = "C") -> ArrayValue:
        """An array of its own, for writes."""
        value: Any = self._sync_parts()._value
        if isinstance(value, (np.ndarray, LibraryVar)):
            value = value.copy(order)  # type: ignore[arg-type]
        z = self._owner._result(value, self._library)
        z._cell = self._cell
        self._owner.top -= 1  # the cell of this array is also that of its copy
        return z

    def astype(self, dtype: Option, **options: Option) -> Value:
        """The array in another dtype; a plain array for integers and booleans."""
        library = self._library
        wanted = library.dtype_of(dtype)
        value = self._sync_parts()._value
        z = library.cast(value, wanted)
        if not _is_real_float(peek(z).dtype):
            return peek(z)
        return self._owner.record("astype", z, library, [self], lambda d: (d,))

    # ---- assignment --------------------------------------------------------------------------------------------------
    def __setitem__(self, key: Key, y: Value) -> None:
        owner = self._owner
        owner.check_usable("an assignment")
        library = self._library
        if not library.is_writable() and not _is_asked_by_extra():
            raise UnsupportedError(
                f"an assignment: arrays of {library.name} cannot be written to; "
                "use x = array_api_extra.at(x, k).set(v), which differentiates",
                level=owner,
            )
        require_no_inner(y, owner.level)
        if self._is_number():
            raise TypeError("'numpy.float64' object does not support item assignment")
        self._require_writable()
        key = _plain_key(key)
        whole = y if isinstance(y, LibraryVar) else as_assigned(y, library)
        place = getattr(whole, "ndim", 0) and len(tuple(peek(self)[key].shape))
        self._become(owner.assign(self, key, _drop_axes(whole, place) if getattr(whole, "ndim", 0) > place else whole))

    def _is_number(self) -> bool:
        """Whether it stands for a number, which is immutable, and not for an array without axes."""
        x: Any = self
        while isinstance(x, LibraryVar) and not x._written:
            x = x._value
        return isinstance(x, (np.generic, float, Number))

    def _require_writable(self) -> None:
        """Refuse writes to arguments that overlap, and to views that NumPy makes read-only."""
        root = self._root()
        if OVERLAPPING and id(root) in OVERLAPPING:
            raise OverlapError(f"{OVERLAPPING[id(root)][1]}; it writes at {place_of_user()}")
        self._sync_parts()
        value = peek(self)
        if self._parent is not None and isinstance(value, np.ndarray) and not value.flags.writeable:
            raise ValueError("assignment destination is read-only")

    def _take_result(self, result: Value) -> "LibraryVar":
        """This array after an operation in place, or the result where a library has none in place."""
        library = self._library
        if isinstance(result, ComplexPair):
            raise TypeError(f"an operation in place: {NO_ROOM}")
        if result is NotImplemented or library.name in ("jax", "dask") or self._is_number():
            return result
        require_no_inner(result, self._owner.level)
        self._require_writable()
        if np.shape(result) != self.shape:
            raise ValueError(f"an operation in place: the result must have shape {self.shape}, got {np.shape(result)}")
        self._become(result if result.dtype == self.dtype else result.astype(self.dtype))
        return self

    def _write(self, write: Write, y: Value) -> None:
        """A write by a function of NumPy: it writes positions, and the library takes the elements."""
        owner = self._owner
        owner.check_usable("an assignment")
        require_no_inner(y, owner.level)
        self._require_writable()
        if isinstance(y, LibraryVar) and y._root() is self._root() and self._library.is_numpy:
            self._write_aliased(write, y)
            return

        opened = self._library.rebind(open_copy)

        def write_copy(sources: Any) -> ArrayValue:
            z = opened(*sources.values())
            write(z, sources[1])
            return z

        self._become(owner.move(write_copy, {0: self, 1: as_assigned(y, self._library)}))

    def _write_aliased(self, write: Write, y: "LibraryVar") -> None:
        """The same from the memory that is written: NumPy reads elements that it has written."""
        root: Any = self._root()
        y._sync_parts()

        def write_copy(sources: Any) -> ArrayValue:
            z = sources[0].copy("K")
            write(self._view_of(z), y._view_of(z))
            return z

        root._become(self._owner.move(write_copy, {0: root}))

    def _view_of(self, a: Any) -> Any:
        """The view of an array of NumPy that this array is of its root."""
        if self._parent is None:
            return a
        movement, args, options = self._move_of_view
        parent: Any = self._parent
        whole = parent._view_of(a)
        return args[0](whole) if movement is GATHER else movement.function(whole, *args, **options)

    def _become(self, new: "LibraryVar") -> None:
        """Replace the value and the cell, and write to the parent of a view."""
        self._value, self._cell, self._written = new._value, new._cell, True
        self._version += 1
        if self._move_of_view is not None:
            movement, args, options = self._move_of_view
            parent: Any = self._parent
            if movement is INDEXING:
                parent._become(self._owner.assign(parent, args[0], new))
            elif movement is GATHER:
                flat = np.reshape(parent, (-1,)) if parent.ndim != 1 else parent
                places = self._library.rebind(index_by)(args[1] - 1)
                flat = self._owner.assign(flat, places, np.reshape(new, (-1,)))
                parent._become_whole(flat.reshape(parent.shape))
            else:
                back = self._library.rebind(movement.transpose)
                parent._become_whole(back(new, parent.shape, *args, **options))
            self._seen = -1  # the next use makes it from the parent, in the layout of a view

    def _become_whole(self, new: "LibraryVar") -> None:
        """The same in the layout of this array, on which it depends what its views are."""
        self._become(self._owner.assign(self, ..., new) if self._library.is_numpy else new)

    # ---- protocols ---------------------------------------------------------------------------------------------------
    def __array__(self, dtype: Option = None, copy: bool | None = None) -> Any:
        """An element in an object array, which NumPy makes of a list of elements; anything else is refused."""
        if self.shape == () and (dtype is None or np.dtype(dtype) == np.dtype(object)):
            box = np.empty((), object)
            box[()] = self
            return box
        stand_in = stand_in_of_product(sys._getframe(1))
        return super().__array__(dtype, copy) if stand_in is None else stand_in

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The functions of the array API standard, on variables."""
        from contad.engines.arrays.standard_namespace import StandardNamespace

        return StandardNamespace.of(self._library)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """torch.exp(x), torch.sum(x, dim=0), and a tensor times a variable."""
        return apply_to_variables(function.__name__, args, kwargs or {})

    def __getattr__(self, name: str) -> Any:
        """x.exp(), x.unsqueeze(0): methods of tensors."""
        if name[0] != "_" and self._library.name == "torch":
            if find(name) is not None:
                return lambda *args, **options: apply_to_variables(name, (self, *args), options)
        more = ""
        if name[0] != "_" and not self._library.is_numpy and hasattr(self._library.kind, name):
            more = f"; a method of {self._library.name} loses the derivative: use NumPy's functions"
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{more}", name=name, obj=self)

    @property
    def to_dask_array(self) -> Function:
        """Functions of dask.array ask for it, and are refused."""
        if self._library.name != "dask":
            raise AttributeError("to_dask_array")
        message = "dask.array: its functions take no variables; write NumPy's, as np.sum(x)"
        raise UnsupportedError(message, level=self._owner)

    @property
    def __jax_array__(self) -> Any:
        """Functions of jax.numpy ask for an array, and are refused; operators of JAX's arrays leave it to variables."""
        frame: Any = sys._getframe(1)
        if frame.f_code.co_filename.endswith("array_methods.py"):
            raise AttributeError("__jax_array__")
        name = "a function"
        while frame is not None and f"{os.sep}jax{os.sep}" in frame.f_code.co_filename:
            name = name if frame.f_code.co_name.startswith("reraise") else frame.f_code.co_name
            frame = frame.f_back
        raise UnsupportedError(
            f"jax: {name}: functions of jax.numpy take no variables; write NumPy's, as np.sum(x), or those of "
            "xp = x.__array_namespace__(), which are JAX's on arrays",
            level=self._owner,
        )

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Value, **options: Option) -> Any:
        if method == "__call__" and not options:
            if any(isinstance(x, (list, tuple)) for x in inputs):
                return ufunc(*(as_assigned(x, self._library) for x in inputs))
            if len(inputs) == 1 and (found := rule_of_ufunc(ufunc)) is not None:
                return self._owner.apply_elementwise(found, inputs)
            owner = owner_of(ufunc.__name__, numbers_in([*inputs]))
            if getattr(owner, "takes_any", False):
                scalar, array = rule_of_ufunc(ufunc), _array_rules.get(ufunc)
                if scalar is not None:
                    return owner.apply_elementwise(scalar, inputs)
                if array is not None:
                    return owner.apply_array(array, inputs, {})
                library = self._library
                written = written_for(ufunc)
                if written is not None and not library.is_numpy:
                    return library.rebind_body(inspect.unwrap(written))(*inputs)
                if ufunc in CONSTANTS:
                    return library.rebind(ufunc)(*map(peek, inputs))
                if ufunc is np.positive or ufunc is np.conjugate:
                    return self.copy("K")
        return array_ufunc(self, ufunc, method, *inputs, **options)

    def __array_function__(self, function: Function, types: Sequence[type], args: Nested, options: Options) -> Any:
        owner = owner_of(function.__name__, numbers_in([*args, *options.values()]))
        library = self._library
        if not getattr(owner, "takes_any", False):
            return NotImplemented
        movement = MOVEMENTS.get(function)
        if movement is not None and isinstance(args[0], LibraryVar) and args[0]._owner is owner:
            first, *rest = args
            if function is np.repeat and not isinstance((rest or [options.get("repeats")])[0], int):
                return first._move(lambda a: function(a, *rest, **options))
            return first._view_by(movement, *rest, **{k: v for k, v in options.items() if v is not None})
        if function is np.concatenate or function is np.stack:
            axis = args[1] if len(args) > 1 else options.get("axis", 0)
            parts = [*args[0]]
            if axis is None:
                parts, axis = [np.reshape(x, (-1,)) for x in parts], 0
            return owner.join(function, parts, axis)
        if function is np.where and len(args) == 3:
            return owner.choose(*args)
        entry = entry_of(function)
        if entry is None:
            name = find_exported_name(function)
            raise UnsupportedError(f"{name}: contad has no derivative rule for this function", level=owner)
        if entry.kind == "constant":
            plain = map_numbers(peek, args), map_numbers(peek, options)
            return library.rebind(function)(*plain[0], **plain[1])
        implementation = entry.implementation
        if entry.kind == "composite" and not library.is_numpy:
            implementation = library.rebind_body(inspect.unwrap(implementation))
        try:
            return implementation(*args, **options)
        except READS_VALUES as error:
            if library.is_numpy or isinstance(error, ContadError):
                raise
            raise refuse_rule(find_exported_name(function), library, error) from error


def _is_asked_by_extra() -> bool:
    """Whether array_api_extra.at writes, which does so to a copy."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("contad."):
        frame = frame.f_back
    return "array_api_extra" in frame.f_globals.get("__name__", "")


def _plain_key(key: Key) -> Key:
    """An index with copies of NumPy's arrays and lists, because the sweep uses it again."""
    if isinstance(key, tuple):
        return tuple(map(_plain_key, key))
    if isinstance(key, (np.ndarray, list)):
        return np.array(key) if isinstance(key, np.ndarray) or key else np.empty(0, np.intp)
    if isinstance(key, Carrier):
        raise TypeError(f"index: {key.kind}s are real numbers, which cannot index; use int(...) or a comparison")
    return key


def _parts_of(key: Key) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _forwards(key: Key, shape: tuple[int, ...]) -> tuple[Key, tuple[int, ...]]:
    """An index without negative steps, which PyTorch lacks, and the axes of the result to turn round."""
    keys = key if isinstance(key, tuple) else (key,)
    if not any(isinstance(k, slice) and (k.step or 1) < 0 for k in keys):
        return key, ()
    if any(not isinstance(k, (slice, int)) for k in keys):
        raise UnsupportedError("index: a negative step beside other than slices; use np.flip")
    made: list[Any] = []
    flipped, axis = [], 0
    for k, n in zip(keys, shape, strict=False):
        if isinstance(k, slice) and (k.step or 1) < 0:
            chosen = range(*k.indices(n))
            made.append(slice(chosen[-1], chosen[0] + 1, -k.step) if chosen else slice(0, 0))
            flipped.append(axis)
        else:
            made.append(k)
        axis += isinstance(k, slice)
    return tuple(made), tuple(flipped)


def as_assigned(y: Value, library: Library) -> Value:
    """A list as the array that is assigned."""
    if isinstance(y, (list, tuple)):
        return np.stack([as_assigned(part, library) for part in y]) if numbers_in(y) else np.asarray(y)
    if isinstance(y, np.ndarray) and y.dtype == object:
        return numbers_in(y)[0]._owner.adopt(y) if numbers_in(y) else y.astype(np.float64)
    return y


def _drop_axes(y: Value, n: int) -> Value:
    """An assigned array without the leading axes of length 1 that its place does not have."""
    return y.reshape(tuple(y.shape[len(y.shape) - n :]))


_ORDERS = ("C", "F")


def _order(order: str) -> Options:
    return {} if order == "C" else {"order": order}


def _is_real_float(dtype: Any) -> bool:
    return "float" in str(dtype)


def _implement(rule: ScalarRule) -> tuple[Function, Function | None]:
    """The methods of a rule on these variables."""
    if rule.arity == 1:
        return lambda x: x._owner.apply_elementwise(rule, (x,)), None

    def method(x: LibraryVar, *others: Value) -> Value:
        for y in others:
            kind = y.__class__
            if kind is not float and kind is not int and (kind is not LibraryVar or y._owner is not x._owner):
                return _apply(rule, (x, *others))
        return x._owner.apply_elementwise(rule, (x, *others))

    def reflect(y: LibraryVar, x: Value) -> Value:
        return y._owner.apply_elementwise(rule, (x, y)) if x.__class__ is float else _apply(rule, (x, y))

    return method, reflect if rule.arity == 2 else None


def _apply(rule: ScalarRule, args: tuple[Value, ...]) -> Value:
    carriers = [x for x in args if isinstance(x, Carrier)]
    owner = carriers[0]._owner if len(carriers) == 1 else owner_of(rule.name, carriers)
    if not getattr(owner, "takes_any", False) or any(isinstance(x, (list, tuple, Number)) for x in args):
        return rule.operate_slowly(*args) if rule.arity == 2 else rule.general(args)
    return owner.apply_elementwise(rule, args)


def _in_place(name: str) -> Function:
    return lambda x, y: x._take_result(getattr(x, f"__{name}__")(y))


def _as_tensors_have_it(name: str) -> Function:
    """A method that means on a variable of PyTorch what it means on a tensor."""
    original: Any = getattr(LibraryVar, name, None)

    def method(x: LibraryVar, *args: Value, **options: Option) -> Value:
        if x._library.name == "torch":
            return apply_to_variables(name, (x, *args), options)
        if original is None:
            raise AttributeError(f"{type(x).__name__!r} object has no attribute {name!r}", name=name, obj=x)
        return original(x, *args, **options)

    method.__name__ = name
    return method


for _name in METHODS:
    setattr(LibraryVar, _name, _as_tensors_have_it(_name))
LibraryVar.implement = staticmethod(_implement)  # type: ignore[attr-defined]
install_arrays(LibraryVar, _implement)
for _name in ("matmul", *(rule.operator for rule in rules() if rule.operator is not None and rule.arity == 2)):
    setattr(LibraryVar, f"__i{_name}__", _in_place(_name))
