"""Array libraries, and the functions of rules as a library runs them.

A function is code and the names that it sees. The functions of a rule see NumPy as `np`. For another library, contad
makes a copy of the same code that sees that library's functions under NumPy's names, once for each function. So a rule
is written once, for NumPy, and a copy of it runs on PyTorch, JAX or any array of the array API standard.
"""

import contextlib
import dis
import functools
import inspect
import math
import operator
import sys
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from contad.engines.arrays import numpy_names
from contad.errors import UnsupportedError
from contad.ops import (
    _scipy,
    accumulations,
    close_values,
    cotangents,
    factors,
    linear_systems,
    reductions,
    tied_elements,
    triangular_factors,
)
from contad.rules import vectorised
from contad.rules.array_rule import ArrayRule
from contad.rules.definition import bind_captured, captured_values, copy_under, looked_up
from contad.rules.scalar_rule import ScalarRule
from contad.variables import complex_pair, dtypes, number
from contad.variables.array import is_view
from contad.variables.layout import is_immutable
from contad.variables.number import Carrier
from contad.variables.open_types import ArrayValue, Function, Rule, Value
from contad.variables.trees import is_of_library

_ERRSTATE = np.errstate()(lambda: None).__code__.co_filename
_ENGINE = "contad.engines.arrays."
_COPIED = ("contad.ops.", "contad.rules.vectorised", _ENGINE)  # and functions of users
_NAMES = {"jaxlib": "jax"}
_HOST = ("einsum_path", "broadcast_shapes", "ndindex", "isscalar")  # of shapes
_OTHERWISE = ("sort", "argsort", "eigh", "cholesky")  # of which JAX's have other options, or read other elements
_SHAPES = ("shape", "ndim", "size")
_MATH = {"fabs": "abs", "acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2", "acosh": "arccosh",
         "asinh": "arcsinh", "atanh": "arctanh", "pow": "power"}  # fmt: skip
_SPECIAL = ("torch", "jax", "cupy")
_SPECIAL_NAMES = {("torch", "loggamma"): "gammaln", ("torch", "psi"): "digamma"}


class LibraryForm:
    """A scalar rule as a library runs it: the value, and (product, partial, literal) for some arguments."""

    __slots__ = ("kind", "of_variables", "partials", "reads_z", "unread", "value")

    def __init__(self, library: "Library", rule: ScalarRule, mine: int) -> None:
        body: Any = rule.body
        chosen = [k for k in range(rule.arity) if mine >> k & 1]
        self.value, self.kind = library.value_of(rule), library.kind
        if library.is_sparse:
            self.value = quiet(self.value)
        self.of_variables = functools.partial((library.checked or library).form, rule, mine)
        self.partials = [
            (
                library.rebind(rule.product(k)),
                as_number(partial)
                if library.kind is float
                else quiet(library.rebind_body(partial))
                if library.is_sparse
                else library.rebind_body(partial),
                body.literal(k),
            )
            for k in chosen
            for partial in [rule.array_partial(k, not library.is_numpy)]
        ]
        try:
            read = frozenset().union(*(body.reads(k) for k in chosen))
        except OSError:  # a body without source
            read = frozenset(body.parameters)
        self.reads_z = body.parameters[0] in read
        self.unread = [k for k, name in enumerate(body.parameters[1:]) if name not in read]

    def pull_from(self, z: Value, values: list[Value]) -> Function:
        """The pullback at a point, which keeps those arrays that the partials read."""
        for k in self.unread:
            if hasattr(values[k], "shape"):
                values[k] = None
        return functools.partial(self.pull, z if self.reads_z else None, values)

    def pull(self, z: Value, values: list[Value], d: Value) -> list[Value]:
        """The cotangents of the arguments."""
        partials = self.partials
        if d.__class__ is not self.kind and isinstance(d, Carrier):
            partials = self.of_variables().partials
        found = []
        for product, partial, literal in partials:
            if literal is None:
                found.append(product(d, partial(z, *values)))
            else:
                found.append(d if literal == 1.0 else d * literal)
        return found


class ArrayForm(NamedTuple):
    """An array rule as a library runs it."""

    value: Function
    forward: Function | None
    common: Function | None
    vjps: dict[str, Function]


class Library:
    """A library at one dtype and on one device: its functions under NumPy's names, and the rules that see them."""

    add_to_zeros: Function
    adopt: Function
    is_writable: Function
    cast: Function
    copy: Function

    def __init__(self, x: ArrayValue, checked: "Library | None" = None) -> None:
        self.checked = checked  # None: its functions also take variables, which they leave to NumPy's protocols
        self.kind: Any = x.__class__
        self.name = _NAMES.get(name := self.kind.__module__.partition(".")[0], name)
        self.dtype = getattr(x, "dtype", dtypes.FLOAT)
        self.is_sparse = self.name == "sparse"
        self.is_numpy = isinstance(x, (np.ndarray, np.generic, float, int))
        self.dispatches = hasattr(self.kind, "__array_function__") and not self.is_numpy and self.name != "sparse"
        self.xp = np if self.is_numpy or self.dispatches else namespace_of(x)
        self.namespace = np if self.is_numpy else Guarded(self, self.xp)
        self.device = None if self.is_numpy or self.dispatches or self.name == "jax" else getattr(x, "device", None)
        if self.name == "jax":  # an array, or a value that is being traced
            self.kind = sys.modules["jax"].Array
        self.like = np.zeros((), self.dtype, like=x) if self.dispatches else None
        self.module: Any = sys.modules["dask.array"] if self.name == "dask" else self.xp  # the functions that exist
        self.np: Any = np if self.is_numpy else Names(self, np, self.module)
        self._copies: dict[Any, Any] = {}
        self.forms: dict[Any, Any] = {}
        self.specials = SpecialNames(self)
        self.fold = self.rebind(cotangents.fold)
        self.arrays = ArraysOf("ndarray", (), {"kind": self.xp.SparseArray if self.is_sparse else self.kind})
        self.plain: Library = Library(x, self) if checked is None and not self.is_numpy else self
        if self.name == "torch":  # where p is zero if |d| <= 0: a kernel that elementary operations need two for
            self._copies[numpy_names.mask_dead] = sys.modules["torch"].ops.aten.hardshrink_backward._op
            self._copies[numpy_names.multiply_into] = operator.imul
        for name in ("add_to_zeros", "adopt", "is_writable", "cast", "copy"):
            setattr(self, name, self.rebind(getattr(numpy_names, name)))

    def __repr__(self) -> str:
        return f"<{self.name} arrays of {self.dtype}>"

    def dtype_of(self, dtype: Any) -> Any:
        """A dtype of NumPy, or a name of one, as this library has it."""
        if self.is_numpy or self.dispatches or not isinstance(dtype, (type, str, np.dtype)):
            return dtype
        return getattr(self.xp, np.dtype(dtype).name)

    def add_at(self, a: ArrayValue, key: Any, x: ArrayValue) -> None:
        """a[key] += x, in which repeated indices accumulate."""
        np.add.at(a, key, x)

    def shares_memory(self, v: Any, a: Any) -> bool:
        """Whether v, made from a by a function that moves elements, is a view of it in this library."""
        if self.name in ("dask", "jax", "sparse"):
            return False
        if isinstance(v, Carrier):
            return isinstance(a, Carrier) and is_view(v, a)  # type: ignore[arg-type]
        if self.name == "torch":
            return bool(v.untyped_storage().data_ptr() == a.untyped_storage().data_ptr())
        v, a = getattr(v, "_array", v), getattr(a, "_array", a)  # of array_api_strict
        return is_view(v, a) if hasattr(v, "base") else not self.is_numpy

    def keep(self, v: Value, watched: list[tuple[Any, int]]) -> Value:
        """A constant as a derivative reads it later: a copy if its owner may write to it, or its version is noted."""
        if isinstance(v, (Carrier, float, int)) or not hasattr(v, "shape"):
            return v
        if isinstance(v, (np.ndarray, np.generic)):
            return v.copy() if isinstance(v, np.ndarray) and not is_immutable(v) else v
        if self.name == "torch":
            if not v.is_inference():
                watched.append((v, v._version))
            return v
        return v if self.name in ("jax", "sparse") or not isinstance(v, self.kind) else self.rebind(numpy_names.copy)(v)

    # ---- sparse arrays: their elements and positions in C order ------------------------------------------------------
    def nonzero_elements(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        """The elements that an array stores, and their positions."""
        if not isinstance(x, self.kind) or x.fill_value != 0.0:
            dense = np.asarray(x.todense() if hasattr(x, "todense") else x).reshape(-1)
            where = np.flatnonzero(dense)
            return dense[where], where
        flat = x.asformat("coo").reshape((-1,))
        return flat.data, flat.coords[0]

    def from_elements(self, data: np.ndarray, where: np.ndarray, shape: tuple[int, ...]) -> ArrayValue:
        """The array of a shape with these elements."""
        coords = np.stack(np.unravel_index(where, shape)) if shape else np.zeros((0, len(where)), int)
        made = self.xp.COO(coords, np.asarray(data, self.dtype), shape=shape)
        return made.asformat(self.kind.__name__.lower())

    def assign_elements(self, x: Any, key: Any, y: Any) -> ArrayValue:
        """A copy of an array with y at an index."""
        shape = tuple(x.shape)
        written = self.positions_at(shape, key)
        place = np.empty(shape)[key].shape
        new = np.broadcast_to(y.todense() if hasattr(y, "todense") else np.asarray(y), place).reshape(-1)
        data, where = self.nonzero_elements(x)
        kept = ~np.isin(where, written)
        last = {int(k): n for n, k in enumerate(written)}  # where an index repeats
        chosen = [n for n in last.values() if new[n] != 0.0]
        return self.from_elements(
            np.concatenate([data[kept], new[chosen]]), np.concatenate([where[kept], written[chosen]]), shape
        )

    def positions_at(self, shape: tuple[int, ...], key: Any) -> np.ndarray:
        """The positions of the elements at an index."""
        return np.arange(math.prod(shape)).reshape(shape)[key].reshape(-1)

    def on_host(self, x: Any) -> np.ndarray:
        """A list or an array of NumPy as one."""
        host = np.asarray(x)
        return host if host.flags.writeable or self.name != "torch" else host.copy()  # of which PyTorch warns

    # ---- functions that see this library -----------------------------------------------------------------------------
    def rebind(self, x: Any) -> Any:
        """A value of a global or captured name, as functions see it whose NumPy is this library."""
        if self.is_numpy and not (isinstance(x, FunctionType) and x.__module__.startswith(_ENGINE)):
            return x
        try:
            known = self._copies.get(x)
        except TypeError:  # unhashable, so neither a module nor a function
            return x
        if known is not None:
            return known
        instead = INSTEAD.get(x)
        if instead is not None:
            return self._copy(instead)
        if x is np:
            return self.np
        if x is _scipy.special:
            return lambda: self.specials
        if isinstance(x, np.errstate):
            return contextlib.nullcontext()
        if x is math:
            return Math(self.np)
        if isinstance(x, (ScalarRule, ArrayRule)):
            return self._caller(x)
        if isinstance(x, np.ufunc) or (callable(x) and str(getattr(x, "__module__", "")).startswith("numpy")):
            return self._numpy_function(x)
        if hasattr(x, "cache_info"):  # results that are kept for NumPy
            x = x.__wrapped__
        if isinstance(x, FunctionType) and (x.__module__ or "").startswith(_COPIED):
            return self._copy(x)
        return x

    def _copy(self, f: Any) -> Any:
        if not isinstance(f, FunctionType):  # an operator
            return f
        known = self._copies.get(f)
        if known is None:
            if f.__code__.co_filename == _ERRSTATE:  # decorated by np.errstate, whose warnings are NumPy's
                f = inspect.unwrap(f)
            own = f.__globals__
            names = {"__builtins__": own.get("__builtins__"), "__name__": f.__module__}
            copy = self._copies[f] = copy_under(f, names)
            copy.__wrapped__ = copy  # type: ignore[attr-defined]
            special = {"xp": self.namespace, "library": self} if f.__module__ == numpy_names.__name__ else {}
            for name in looked_up(f.__code__) & (own.keys() | special.keys()):
                names[name] = special[name] if name in special else self.rebind(own[name])
            bind_captured(copy, captured_values(f), self.rebind)
            known = copy
        return known

    def _numpy_function(self, f: Any) -> Any:
        where = self.np
        for part in str(getattr(f, "__module__", None) or "numpy").split(".")[1:]:
            where = getattr(where, part, where)
        found = getattr(where, f.__name__, None)
        return f if found is None else found

    def _caller(self, rule: Rule) -> Function:
        """A rule inside the body of another one: on variables an operation, on arrays its value."""
        value: Any = None
        if self.checked is not None and isinstance(rule, ScalarRule):
            self._copies[rule] = found = self.value_of(rule)
            return found

        def call(*args: Value, **options: Any) -> Value:
            nonlocal value
            for x in args:
                if isinstance(x, Carrier):
                    return rule(*args, **options)
            if value is None:
                is_array = isinstance(rule, ArrayRule)
                value = self.rebind_body(rule.function) if is_array else self.value_of(rule)
            return value(*args, **options)

        self._copies[rule] = call
        return call

    # ---- rules -------------------------------------------------------------------------------------------------------
    def form(self, rule: ScalarRule, mine: int) -> LibraryForm:
        """A scalar rule for this library, with the partials for some arguments: the bits of `mine`."""
        known: LibraryForm | None = self.forms.get((rule, mine))
        if known is None:
            known = self.forms[rule, mine] = LibraryForm(self, rule, mine)
        return known

    def rebind_body(self, f: Any) -> Any:
        """The body of a rule, a user's rule too, for this library."""
        return f if f is None or self.is_numpy else self._copy(f)

    def value_of(self, rule: ScalarRule) -> Function:
        """The value of a scalar rule."""
        ufunc = rule.ufuncs[0] if rule.ufuncs else None
        if self.is_numpy:
            if rule.array is None and isinstance(ufunc, np.ufunc):
                return quiet(ufunc)
            return keep_dtype(rule.array_value)
        if rule.array is not None and not (self.name == "dask" and isinstance(ufunc, str)):  # which writes by masks
            return self.value_of_formula(rule) if hasattr(rule.array, "__self__") else self.rebind(rule.array)
        if isinstance(ufunc, np.ufunc):
            return getattr(self.np, ufunc.__name__)
        if isinstance(ufunc, str):
            return self.special(ufunc.rpartition(".")[2])
        if any(i.opname.startswith(("POP_JUMP", "JUMP", "FOR")) for i in dis.get_instructions(rule.function)):
            raise UnsupportedError(
                f"{rule.name}: its value is computed number by number, which arrays of {self.name} do not allow"
            )
        return self._copy(rule.function)

    def value_of_formula(self, rule: Any) -> Function:
        """The value of a rule that is a formula, as a density is."""
        value = self.rebind_body(rule.body.array_partial(rule.arity, True))
        return lambda *args: value(0.0, *args)

    def special(self, name: str) -> Function:
        """A function of scipy.special as this library has it."""
        import scipy.special

        if self.dispatches and self.name not in _SPECIAL:
            return getattr(scipy.special, name)
        found = getattr(_special_functions(self.name), _SPECIAL_NAMES.get((self.name, name), name), None)
        if found is None:
            raise UnsupportedError(f"scipy.special.{name}: {self.name} has no such function")
        return found

    def array_form(self, rule: ArrayRule) -> ArrayForm:
        """An array rule for this library."""
        known: ArrayForm | None = self.forms.get(rule)
        if known is None:
            bodies = {name: self.rebind_body(rule._body(name)) for name in rule.vjps}
            value, forward, common = map(self.rebind_body, (rule.function, rule.forward_body, rule.common_body))
            known = self.forms[rule] = ArrayForm(value, forward, common, bodies)
        return known


def _special_functions(name: str) -> Any:
    """The module of a library that has the functions of scipy.special."""
    if name == "torch":
        import torch

        return torch.special
    if name == "jax":
        import jax.scipy.special

        return jax.scipy.special
    if name == "cupy":
        import cupyx.scipy.special  # type: ignore[import-not-found]

        return cupyx.scipy.special
    return None


def refuse_rule(name: str, library: Library, error: object = None) -> UnsupportedError:
    """The error for a rule that needs NumPy's arrays."""
    if "ndarray" in str(error):
        return UnsupportedError(
            f"{name}: an array of NumPy beside one of {library.name}: contad moves nothing between libraries; write "
            "xp.asarray(a) with xp = x.__array_namespace__()"
        )
    more = f" ({type(error).__name__}: {error})" if error is not None else ""
    return UnsupportedError(f"{name}: not available for arrays of {library.name}: its rule needs NumPy's{more}")


READS_VALUES = (AttributeError, IndexError, NotImplementedError, TypeError)  # of a rule that needs NumPy's arrays


def as_number(partial: Function) -> Function:
    """A partial of numbers as a float, which any array takes beside itself; NumPy's numbers it may not."""
    def number(*args: Value) -> Value:
        p = partial(*args)
        return float(p) if p.__class__ is np.float64 else p

    return number


def quiet(ufunc: Function) -> Function:
    """A function without warnings, as on other engines."""
    def value(*args: Value) -> Value:
        with np.errstate(all="ignore"):
            return ufunc(*args)

    return value


def keep_dtype(function: Function) -> Function:
    """A function of float64 arrays, with results in the dtype of its arguments."""
    def value(*args: Value) -> Value:
        return function(*args).astype(np.result_type(*args), copy=False)[()]

    return value


class Names:
    """NumPy, or one of its modules, as a library has it: `np` in the copies of functions."""

    def __init__(self, library: Library, module: ModuleType, native: Any) -> None:
        self._library, self._module, self._native = library, module, native

    def __getattr__(self, name: str) -> Any:
        found = self._find(name)
        setattr(self, name, found)
        return found

    def _find(self, name: str) -> Any:
        library = self._library
        original = getattr(self._module, name)
        if isinstance(original, ModuleType):
            inner = name in ("linalg", "fft")
            return Names(library, original, getattr(self._native, name, None)) if inner else original
        if original is np.ndarray:
            return library.arrays
        if original is np.errstate:
            return lambda **options: contextlib.nullcontext()
        if original is np.float64:
            return float
        if not callable(original) or isinstance(original, type) or name in _HOST:
            return original
        prefix = "" if self._module is np else f"{self._module.__name__.rpartition('.')[2]}_"
        written = getattr(numpy_names, f"_{prefix}{name}", None)
        if library.dispatches:
            own: Any = original if hasattr(self._native, name) or library.name != "dask" else None
            if own is None and written is not None:
                own = library._copy(written)
            if (name in numpy_names.CREATION or name in _SHAPES) and not prefix:
                own = library.rebind(written)
        elif written is not None and (library.name != "jax" or name in numpy_names.CREATION or name in _OTHERWISE):
            own = library._copy(written)
        else:
            own = getattr(self._native, name, None)
            own = getattr(self._native, numpy_names.STANDARD.get(name, name), None) if own is None else own
        if own is None:
            own = refusal(f"{self._module.__name__.replace('numpy', 'np', 1)}.{name}", library)
        takes_variables = library.checked is None or name in ("logical_and", "logical_or")
        return unless_variable(original, own) if takes_variables else own


def unless_variable(original: Function, own: Function) -> Function:
    """A function of a library that leaves variables, among its arguments or in lists of them, to NumPy's protocol."""
    creates = original.__name__ in numpy_names.CREATION

    def call(*args: Value, **options: Any) -> Value:
        numbers, on_host = not creates, False
        for x in args:
            kind = x.__class__
            if issubclass(kind, Carrier):
                return original(*args, **options)
            if kind is not float and kind is not int and kind is not bool:
                numbers = False
            if kind is list or kind is tuple:
                is_shape = x is args[0] and not creates and all(isinstance(y, int) for y in x)
                if is_shape or any(isinstance(y, Carrier) for y in x):
                    return original(*args, **options)
                on_host = on_host or any(y.__class__ is np.ndarray for y in x)
            on_host = on_host or kind is np.ndarray
        if on_host and not creates and not any(map(is_of_library, args)):
            return original(*args, **options)  # positions of elements, and data of the user on the host
        if numbers and args:
            found = original(*args, **options)
            return found.item() if isinstance(found, np.generic) else found
        return own(*args, **options)

    call.__name__ = original.__name__
    return call


class ArraysOf(type):
    """np.ndarray, to which arrays of a library belong. None is of this very class, so short cuts for NumPy are left."""

    kind: type

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, cls.kind)


class Guarded:
    """The namespace of a library, which refuses by name what it lacks."""

    def __init__(self, library: Library, native: Any) -> None:
        self._library, self._native = library, native

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._native, name, None)
        if name in ("linalg", "fft"):
            found = Guarded(self._library, found)
        if found is None and name != "newaxis":
            raise UnsupportedError(f"{name}: not available for arrays of {self._library.name}")
        setattr(self, name, found)
        return found


def refusal(name: str, library: Library) -> Function:
    """The stand-in for a function that a library lacks."""
    def refuse(*args: Value, **options: Any) -> Value:
        raise UnsupportedError(f"{name}: not available for arrays of {library.name}")

    return refuse


class SpecialNames:
    """scipy.special as a library has it."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Function:
        return self._library.special(name)


class Math:
    """The module math as a library has it, for values of rules without branches."""

    def __init__(self, names: Any) -> None:
        self._names = names

    def __getattr__(self, name: str) -> Any:
        original = getattr(math, name)
        ufunc = _MATH.get(name, name)
        if not isinstance(getattr(np, ufunc, None), np.ufunc):
            return original
        own = getattr(self._names, ufunc)

        def call(*args: Value) -> Value:
            return original(*args) if all(isinstance(x, (int, float)) for x in args) else own(*args)

        return call


# ---- which library ---------------------------------------------------------------------------------------------------
_libraries: dict[Any, Library] = {}


def library_of(x: ArrayValue) -> Library:
    """The library of an array, at its dtype and on its device."""
    kind = x.__class__
    key = kind, getattr(x, "dtype", None), None if kind.__module__.startswith("jax") else getattr(x, "device", None)
    found = _libraries.get(key)
    if found is None:
        found = _libraries[key] = Library(x)
    return found


def namespace_of(x: ArrayValue) -> Any:
    """The namespace of the array API standard for an array."""
    if x.__class__.__module__.partition(".")[0] != "torch" and hasattr(x, "__array_namespace__"):
        return x.__array_namespace__()
    try:
        from array_api_compat import array_namespace
    except ImportError:
        raise UnsupportedError(
            f"an array of {type(x).__module__.partition('.')[0]}: this needs array-api-compat; install contad[arrays]"
        ) from None
    return array_namespace(x)


INSTEAD: dict[Any, Any] = {  # functions that look at values, and those that do not
    number.scale: numpy_names.multiply_masking, cotangents.scale: numpy_names.multiply_masking,
    number.route: numpy_names.multiply_routing,
    cotangents.all_finite: numpy_names.all_finite, reductions.freedom: numpy_names.freedom,
    complex_pair.is_complex: numpy_names.no, close_values.has_close: numpy_names.no, vectorised.mend: numpy_names.leave,
    factors.factorise: numpy_names.no_factor, linear_systems.in_c_order: numpy_names.leave,
    factors.known_factor: numpy_names.no_factor, cotangents.in_range: numpy_names.out_of_range,
    triangular_factors.solve_regular: numpy_names.solve_triangle,
    triangular_factors._solve_one: numpy_names.solve_one_triangle,
    triangular_factors.strict_triangle: numpy_names.ones_in_triangle, dtypes.dtype_beside: numpy_names.dtype_beside,
    accumulations.linear_recurrence: numpy_names.recurrence, tied_elements.may_tie: numpy_names.no,
}  # fmt: skip
