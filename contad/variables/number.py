"""The base of variables and duals: an immutable number with a value and an owner, compared by its primal.

The owner is the level (a reverse stack or a forward level) that the number belongs to. Where two numbers meet, the
owner with the higher level number performs the operation and the other number is a constant to it.
"""

import functools
import math
import numbers
import operator
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, SupportsIndex, TypeVar

import numpy as np

from contad.errors import UnsupportedError
from contad.variables.complex_pair import ComplexPair
from contad.variables.library_refusals import make_lost
from contad.variables.open_types import Function, Nested, Option, Owner, Real, Value
from contad.variables.unordered import numpy_picks, refuse_of_numpy, refuse_tie_of_numpy

_Class = TypeVar("_Class", bound="type[Number]")


class NoNumbaType:
    """The answer when Numba asks a number for its type: it refuses as soon as Numba looks inside."""

    _code: int  # set when the module of derivatives of Numba functions is loaded; these functions take variables

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.refuse()

    def refuse(self) -> NoReturn:
        """Raise UnsupportedError: Numba functions take no variables."""
        raise UnsupportedError(
            "a variable was passed to a function compiled by Numba, which takes plain numbers; import the function by "
            "its name (from contad.scipy.optimize import brentq) and call that, or call its Python function (f.py_func)"
        )


class Number:
    """A scalar that carries derivative information: a value, and the level that owns it; the base of `Var` and `Dual`.

    It stands for a Python float, and compares as one. Each kind has a second class for numbers that NumPy would make
    np.float64, such as elements of arrays and results of ufuncs: see `like_numpy`.
    """

    __slots__ = ("_value", "_owner")
    kind: ClassVar[str]  # its name in messages
    is_float: ClassVar[bool] = True  # whether it stands for a Python float
    float_class: ClassVar[type["Number"]]  # the class of this kind that does
    numpy_class: ClassVar[type["Number"]]  # and the class that does not
    _value: Value  # plain, or a number of an outer level
    _owner: Owner

    @property
    def value(self) -> Value:
        """The value: a float, or a number of the next outer level when gradients are nested."""
        owner = self._owner
        if owner.tracer is not None:  # a program would freeze it
            owner.tracer.refuse_reading()
        return map_numbers(lambda n: n.value, self._value) if owner.lends_arrays else self._value

    def _sync_parts(self) -> "Number":
        """Itself, with its present value; the method of arrays also updates views on demand."""
        return self

    def __float__(self) -> float:
        raise make_lost(
            f"float: a {self.kind} cannot become a plain number, because its derivative would be lost; use "
            "np.exp for math.exp (and so on), contad.zeros for np.zeros where variables are assigned, "
            "contad.array for np.array, contad.value_of(v) for a constant",
            self.kind,
            self._owner,
        )

    def __complex__(self) -> complex:
        raise make_lost(
            f"complex: a {self.kind} cannot become a plain number, because its derivative would be lost; write "
            "x + 1j * y for complex(x, y), np.exp for cmath.exp (and so on), contad.value_of(v) for a constant",
            self.kind,
            self._owner,
        )

    def __index__(self) -> int:
        raise TypeError(
            f"index: a {self.kind} is a real number, no index or count; leave that argument out of what is "
            "differentiated (argnums, or lambda x: f(x, n)), or use int(v)"
        )

    # Integer-valued functions are constant almost everywhere, so a plain int loses nothing.
    def __int__(self) -> int:
        return int(observe(int, self))

    def __floor__(self) -> int:
        return int(observe(math.floor, self))

    def __ceil__(self) -> int:
        return int(observe(math.ceil, self))

    __trunc__ = __int__

    def __bool__(self) -> bool:
        return bool(observe(operator.ne, self, 0.0))

    def __hash__(self) -> int:
        raise UnsupportedError(
            f"unhashable: a {self.kind} compares by value; use contad.value_of(v) as the key", level=self._owner
        )

    def __format__(self, spec: str) -> str:
        return format(peek(self), spec) if spec else str(self)

    @abstractmethod  # without ABCMeta, which would make isinstance several times as expensive
    def in_class(self, cls: type["Number"]) -> "Number":
        """The same number in another class of its kind."""

    @property
    def real(self) -> "Number":
        """The number itself."""
        return self

    @property
    def imag(self) -> float:
        """0.0: numbers are real."""
        return 0.0

    def __pos__(self) -> "Number":
        return self

    def __divmod__(self, other: Value) -> tuple[Value, Value]:
        return self // other, self % other

    def __rdivmod__(self, other: Value) -> tuple[Value, Value]:
        return other // self, other % self

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        raise UnsupportedError(
            f"pickle: a {self.kind} belongs to a stack of this process; use contad.value_of(v)", level=self._owner
        )

    _numba_type_ = NoNumbaType()

    def __copy__(self) -> "Number":
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> "Number":
        return self


numbers.Real.register(Number)  # type: ignore[type-abstract]  # for isinstance and np.isscalar


class ArrayCarrier:
    """The part of arrays with derivatives that this module needs; the rest is `contad.variables.array.Array`."""

    __slots__ = ("_value", "_owner")
    kind: ClassVar[str]
    is_float: ClassVar[bool] = False
    _value: Value  # an ndarray, or an array of an outer level
    _owner: Owner

    @abstractmethod
    def _sync_parts(self) -> "ArrayCarrier":
        """Itself, with its present value: views are brought up to date on demand."""


Carrier = Number | ArrayCarrier  # objects that carry derivative information


# ---- numbers of NumPy ------------------------------------------------------------------------------------------------
_numpy_attributes: dict[str, Any] = {
    "is_float": False, "imag": property(lambda x: np.float64(0.0), doc="0.0: numbers are real."),
}  # fmt: skip
_numpy_classes: list[type[Number]] = []


def like_numpy(float_class: type[Number]) -> Callable[[_Class], _Class]:
    """Declare the class of a kind of number that stands for np.float64; another class stands for a Python float.

    An np.float64 is a Python float with more attributes (`contad.protocols.number_methods`). The two differ in
    comparisons. Those of floats give bools, which count as 0 and 1 in sums. Those of NumPy's numbers give np.bool_,
    whose sums are truth values again, and for which `~` is the negation.
    """

    def declare(numpy_class: _Class) -> _Class:
        for cls in (float_class, numpy_class):
            cls.float_class, cls.numpy_class = float_class, numpy_class
        _numpy_classes.append(numpy_class)
        for name, x in _numpy_attributes.items():
            setattr(numpy_class, name, x)
        return numpy_class

    return declare


def give_to_numpy_classes(attributes: dict[str, Any]) -> None:
    """Give attributes to the classes that stand for np.float64: to those declared so far, and to the later ones."""
    _numpy_attributes.update(attributes)
    for cls in _numpy_classes:
        for name, x in attributes.items():
            setattr(cls, name, x)


def as_float(x: Value) -> Real:
    """A new number, to which nobody else refers, as one that stands for a Python float."""
    x.__class__ = x.float_class
    return x


def stands_for_float(x: Value) -> bool:
    """Whether x is a Python number, or stands for one."""
    return x.is_float if isinstance(x, Number) else isinstance(x, (float, int)) and not isinstance(x, np.float64)


def standing_for(x: Value, like: Value) -> Value:
    """x, if it is a float or a number, as the type that `like` stands for: a Python float, or an np.float64."""
    if like.__class__ is not float and not isinstance(like, (Number, np.float64)):
        return x
    if isinstance(x, Number):
        as_float = stands_for_float(like)
        return x if x.is_float == as_float else x.in_class(x.float_class if as_float else x.numpy_class)
    if x.__class__ is float:
        return x if stands_for_float(like) else np.float64(x)
    return float(x) if x.__class__ is np.float64 and stands_for_float(like) else x


# ---- comparisons -----------------------------------------------------------------------------------------------------
_COMPARISON = """\
def __{name}__(x, y):
    a = x._value; c = y.__class__
    if (c is float or c is int) and a.__class__ is float: return {outcome}
    return compare_primals(compare, x, y)
"""
_ORDERED = "({0}) if a {1} y or (a == a and y == y) else compare_primals(compare, x, y)"
_TIED = "({0}) if a > y or a < y else compare_primals(compare, x, y)"
SYMBOLS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def compare_primals(compare: Callable[[Value, Value], Any], x: Number, y: Value) -> Any:
    """The comparison of a number with anything, with the result type of its primal."""
    if isinstance(y, (Number, int, float, np.number, np.bool_)) and not isinstance(y, np.complexfloating):
        if isinstance(y, np.floating) and not x.is_float:  # or NumPy would round x to the precision of y
            y = float(y)
        outcome = bool(observe(compare, x, y))
        if not outcome and compare in _ORDERS and (_is_nan(x) or _is_nan(y)):
            refuse_of_numpy(_ORDERS[compare], x._owner)
        if x is not y and (outcome or isinstance(x._value, Carrier)) and compare in _ORDERINGS and peek(x) == peek(y):
            if outcome:
                refuse_tie_of_numpy(x._owner)
            if isinstance(x._value, Carrier) and (called := numpy_picks()):
                outcome = compare(_order_along(called, x, y), 0)
        return outcome if x.is_float and stands_for_float(y) else np.bool_(outcome)
    if isinstance(y, (list, tuple)) and not x.is_float:  # an array to NumPy
        return _ufuncs[compare](x, y)
    return NotImplemented


_ORDERS = {operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">="}
_ORDERINGS = tuple(_ORDERS)


def _order_along(called: str, x: Number, y: Value) -> int:
    """1, -1 or 0 if the first of two equal numbers is larger, smaller or neither along the outer directions.

    By this, NumPy picks an element of an object array when a gradient is differentiated: see `contad.ops.kinks`.
    """
    level: Any = x._value._owner
    moved = (x._value, y._value if isinstance(y, Number) else y)
    dots = [getattr(a, "tangent", None) if isinstance(a, Carrier) and a._owner is level else a for a in moved]
    plain = not any(isinstance(d, Carrier) or np.asarray(d).dtype.hasobject for d in dots)
    if dots[0] is None or dots[1] is None or not plain:
        raise UnsupportedError(
            f"{called}NumPy takes one of two equal numbers of a list or an object array, and which one second "
            "derivatives take is known by hessian, hvp, or jvp of grad alone; give it contad.to_varmat(v), for nan",
            level=x._owner,
        )
    x_dot, y_dot = dots[0], dots[1] if isinstance(moved[1], Carrier) else 0.0
    above, below = bool(np.any(x_dot > y_dot)), bool(np.any(x_dot < y_dot))
    level.meets_ties |= above or below
    # directions disagree, or the curvature of the numbers decides
    level.loses |= (above and below) or bool(np.any((x_dot == y_dot) & (x_dot != 0.0)))
    return above - below


def _is_nan(x: Value) -> bool:
    value = peek(x)  # the comparison decides about an error, not about a branch of a program
    return bool(value != value)


_ufuncs: dict[Any, Any] = {
    operator.lt: np.less, operator.le: np.less_equal, operator.gt: np.greater, operator.ge: np.greater_equal,
    operator.eq: np.equal, operator.ne: np.not_equal,
}  # fmt: skip


def _comparisons(outcome: str) -> dict[str, Function]:
    methods = {}
    for name, symbol in SYMBOLS.items():
        scope: dict[str, Any] = {
            "compare": getattr(operator, name), "compare_primals": compare_primals,
            "true": np.True_, "false": np.False_, "__name__": __name__,
        }  # fmt: skip
        # a failed comparison, or one of equal numbers, needs a closer look: for nan, and for the caller
        form = "{0}" if symbol in ("==", "!=") else _TIED if symbol in (">=", "<=") else _ORDERED
        fast = form.format(outcome.format(symbol), symbol)
        exec(_COMPARISON.format(name=name, outcome=fast), scope)
        methods[f"__{name}__"] = scope[f"__{name}__"]
    return methods


for _name, _method in _comparisons("a {} y").items():
    setattr(Number, _name, _method)
give_to_numpy_classes(_comparisons("true if a {} y else false"))


def primal(x: Value) -> Value:
    """The plain number, or a plain array, a copy of the values, under every level of differentiation.

    >>> primal(2.5)
    2.5
    """
    require_values("primal", x)
    found = read_primal(x)
    return found.copy("K") if found.__class__ is np.ndarray and found is not x else found


def read_primal(x: Value) -> Value:
    """As `primal`, for callers that neither write to an array nor keep it: it shares the memory of the recording."""
    while isinstance(x, Carrier):
        if x._owner.tracer is not None:
            x._owner.tracer.refuse_reading()
        x = x._sync_parts()._value
    return map_numbers(read_primal, x) if isinstance(x, np.ndarray) and x.dtype == object else x


def peek(x: Value) -> Value:
    """As `primal`, if the values decide nothing: for shapes, types, memory layouts, and printing."""
    if x.__class__ is float:  # most of what comes here
        return x
    while isinstance(x, Carrier):
        x = x._sync_parts()._value
    return map_numbers(peek, x) if isinstance(x, np.ndarray) and x.dtype == object else x


def observe(function: Function, *args: Value, **options: Option) -> Any:
    """function(*args) at the primals: a discrete result, on which later computations may depend.

    If a program is recorded, the result becomes a guard of the program.
    """
    args = tuple(map(lower_to_recorded, args))
    for x in args:
        if isinstance(x, Carrier):
            return x._owner.tracer.decide(function, args, options)
    return function(*map_numbers(read_primal, args), **(map_numbers(read_primal, options) if options else options))


def lower_to_recorded(x: Value) -> Value:
    """x lowered to the level on which a program is recorded, if there is one, else to the primal."""
    if x.__class__ is float:
        return x
    while isinstance(x, Carrier) and x._owner.tracer is None:
        x = x._sync_parts()._value
    return x


def is_real(x: object) -> bool:
    """Whether x is a plain real number: Python or NumPy, int, float or bool."""
    return isinstance(x, (float, int, np.floating, np.integer, np.bool_))


def require_values(function: str, x: object) -> None:
    """Refuse anything but numbers and arrays, and lists, tuples and dicts with any contents."""
    if not isinstance(x, _VALUES):
        expected = "be a number or an array, or a list, tuple or dict of them"
        raise TypeError(f"{function}: x must {expected}, got {type(x).__name__}")


_VALUES = (float, Carrier, np.ndarray, ComplexPair, int, complex, np.number, np.bool_, list, tuple, dict)


def scale(d: Value, p: Value) -> Value:
    """d * p, in which a zero d masks a non-finite partial p, so that dead code never makes a nan.

    Only the partial is masked: on outer levels the derivative of d is kept. Either may be an array, element by element.
    A p that is 0 and stays 0 masks a nan in d, such as the unknown subgradient at a kink. It does not mask the slope at
    a pole, an infinite d with tangent nan, which is unbounded nearby; only a constant p of 0 does.
    """
    if d.__class__ is float and p.__class__ is float:
        return d * 0.0 if d == 0.0 and not math.isfinite(p) else d * p
    a, b = lower_to_recorded(d), lower_to_recorded(p)
    if isinstance(d, Carrier) and not np.all(observe(np.isfinite, a)):
        pole, zero = is_at_pole(d), observe(operator.eq, p, 0.0)
        none = zero & pole if not isinstance(p, Carrier) else np.False_
        none = none | (observe(np.isnan, a) & _stays_zero(p))
        kept: Any = pole & zero & ~none
        if np.any(none | kept):
            own: Value = d
            with np.errstate(all="ignore"):
                return np.where(none, 0.0, np.where(kept, own, d * p)) if np.ndim(none | kept) else d if kept else 0.0
    if getattr(a, "ndim", 0) or getattr(b, "ndim", 0):
        with np.errstate(all="ignore"):
            masked = ~observe(np.isfinite, b)
            if masked.any():
                p = np.where(masked & observe(operator.eq, a, 0.0), 0.0, p)
            return d * p
    if isinstance(a, Carrier) or isinstance(b, Carrier):
        return d * p if observe(math.isfinite, b) or observe(operator.ne, a, 0.0) else d * 0.0
    return d * 0.0 if a == 0.0 and not math.isfinite(b) else d * p


def _stays_zero(p: Value) -> Any:
    """Where p is 0, and so are its tangents."""
    still = observe(operator.eq, p, 0.0)
    if not isinstance(p, Carrier) or not np.any(still):
        return still
    tangent: Any = getattr(p, "tangent", None)
    if tangent is None:
        return False
    rests = observe(operator.eq, tangent, 0.0)
    return still & (rests if np.ndim(rests) == np.ndim(still) else np.all(rests, axis=0))  # of several directions


def is_at_pole(d: Value) -> Any:
    """Where d is infinite, and a tangent of it nan."""
    wild = observe(np.isinf, d)
    tangent: Any = getattr(d, "tangent", None)
    if tangent is None:
        return wild & False
    unknown = observe(np.isnan, tangent)
    return wild & (unknown if np.ndim(unknown) == np.ndim(wild) else np.any(unknown, axis=0))  # of several directions


def route(d: Value, p: Value) -> Value:
    """d * p, in which a zero partial p passes nothing on, even from an infinite d: the product of a selection.

    A d that is 0 and stays 0 masks a partial of nan. Either may be an array, element by element.
    """
    if d.__class__ is float and p.__class__ is float:
        return d * p if p != 0.0 != d else 0.0
    a, b = lower_to_recorded(d), lower_to_recorded(p)
    if getattr(a, "ndim", 0) or getattr(b, "ndim", 0):
        none = observe(operator.eq, b, 0.0)
        is_nan = observe(np.isnan, b)
        if np.any(is_nan):
            p = np.where(is_nan & _stays_zero(d), 0.0, p)
        if not np.any(none):
            return d * p
        with np.errstate(all="ignore"):
            return np.where(none, 0.0, d * p)
    if observe(math.isnan, b) and _stays_zero(d):
        return d * 0.0
    return d * p if observe(operator.ne, b, 0.0) else d * 0.0 if observe(math.isfinite, a) else 0.0


def map_numbers(f: Callable[[Any], Value], x: Nested) -> Nested:
    """Replace every number and array of a level in x, which may nest lists, tuples, dicts, object arrays, by f of it.

    An object array becomes a float array if every element becomes a real number.
    """
    if x.__class__ is float or (x.__class__ is np.ndarray and x.dtype != object):  # most of what comes here
        return x
    if isinstance(x, Carrier):
        return f(x)
    if isinstance(x, dict):
        return {k: map_numbers(f, v) for k, v in x.items()}
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*(map_numbers(f, v) for v in x))
    if isinstance(x, (list, tuple)):
        return type(x)(map_numbers(f, v) for v in x)
    if isinstance(x, np.ndarray) and x.dtype == object:
        mapped = np.empty(x.shape, object)
        for k in np.ndindex(x.shape):
            mapped[k] = map_numbers(f, x[k])
        return mapped.astype(float) if all(is_real(v) for v in mapped.flat) else mapped
    if isinstance(x, ComplexPair):
        return x.map_parts(functools.partial(map_numbers, f))
    return x


# ---- missing attributes ----------------------------------------------------------------------------------------------
_IN_A_FUNCTION = "write a function of x and call contad.grad(f)(x)"
_ELSEWHERE = {  # of arrays of JAX and PyTorch
    "at": "assign to x[i], or write x[i] += y",
    **dict.fromkeys(("backward", "grad", "requires_grad"), _IN_A_FUNCTION),
    "detach": "use contad.stop_gradient(x)",
    "numpy": "NumPy's functions take it as it is, and contad.value_of(x) is its value, a constant",
}


def make_missing(x: Carrier, name: str, remedy: str) -> AttributeError:
    """The error when such an attribute is read."""
    return AttributeError(f"{'an' if x.kind[0] == 'a' else 'a'} {x.kind} has no attribute {name!r}; {remedy}")


def _refuse_attribute(name: str, remedy: str) -> property:
    def refuse(x: Carrier) -> NoReturn:
        raise make_missing(x, name, remedy)

    return property(refuse, doc=f"Refused: {remedy}.")


for _name, _remedy in _ELSEWHERE.items():
    for _class in (Number, ArrayCarrier):
        setattr(_class, _name, _refuse_attribute(_name, _remedy))
