"""Derivative rules and their registry.

A rule is a value function and a pure, straight-line body that returns its partial derivatives. It is written once;
every engine, the NumPy dispatch, forward mode and the documentation table use it.
"""

import inspect
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from numbers import Rational
from types import ModuleType
from typing import Any, overload

import numpy as np

from contad.errors import RuleError, UnsupportedError
from contad.rules.body import ARITHMETIC_ERRORS, OPERATORS, WITHOUT_POLES, RuleBody
from contad.rules.capturing import Capturing
from contad.rules.vectorised import ArrayFunction, array_form
from contad.variables.arguments import fail, operand, require_plain
from contad.variables.array import Array, as_objects, numbers_in
from contad.variables.complex_pair import DROPPED, holds_complex, is_complex
from contad.variables.dtypes import FLOAT
from contad.variables.kept_dtypes import STANDING, perform, stands_in
from contad.variables.number import (
    Carrier,
    Number,
    as_float,
    is_real,
    map_numbers,
    peek,
    route,
    scale,
    stands_for_float,
)
from contad.variables.open_types import ArrayValue, Function, Owner, Real, Value
from contad.variables.trees import CONTAINERS, list_operands, map_containers

_MISSING: Any = object()  # a missing argument
SEQUENCES = (list, tuple, str, bytes)

_rules: dict[str, "ScalarRule"] = {}
_unlisted: dict[str, "ScalarRule"] = {}  # rules that `rule` finds and `rules` does not list
_by_ufunc: dict[Any, "ScalarRule"] = {}
_by_scipy_name: dict[str, "ScalarRule"] = {}


class ScalarRule(Capturing):
    """One scalar operation: its value, its partials, and the implementations that engines have made from it.

    Calling it accepts floats, variables, duals, NumPy arrays (elementwise), and nested lists, tuples and dicts of
    these.
    """

    twin: Any = None  # replaces it at a kink if a gradient is differentiated: see `contad.ops.kinks`
    is_at_kink: Any = None  # whether arguments (and options) are there
    pole_twin: Any = None  # replaces it at a pole; made by `contad.ops.poles`
    find_pole_twin: Any = None  # arguments -> twin, or None if they are not at a pole
    at_complex: Function | None = None  # the operation at complex numbers: of `contad.protocols.complex_forms`
    holomorphic = False  # whether it has complex arguments and results, of which the partials are derivatives
    make_complex: Function  # the operation of a holomorphic rule at complex numbers: of `contad.rules.complex_rule`
    along: Function | None = None  # for a twin: its tangent from (values, tangents), without partials

    def __init__(
        self,
        function: Callable[..., float],
        ufunc: np.ufunc | str | tuple[np.ufunc | str, ...] | None,
        operator: str | None,
        core: bool,
        points: Iterable[tuple[float, ...]],
        array: ArrayFunction | None = None,
        math: str = "",
    ) -> None:
        self.function = function
        self.math = math
        self.name = function.__name__
        self.__name__ = self.name
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        self.arity = function.__code__.co_argcount
        self.argument_names = function.__code__.co_varnames[: self.arity]
        self.operator = operator
        self.core = core
        self.points = tuple(points)
        self.ufuncs: tuple[Any, ...] = ufunc if isinstance(ufunc, tuple) else () if ufunc is None else (ufunc,)
        self.array = array
        self._array_form: ArrayFunction | None = None
        self.body: RuleBody | None = None
        # class of the first (second) argument -> implementation, called as (x, y), reflected as (y, x)
        self.methods: dict[type, Function] = {float: self.evaluate}
        self.reflected: dict[type, Function] = {}

    def __repr__(self) -> str:
        return f"<contad rule {self.name}({', '.join(self.argument_names)})>"

    def __reduce__(self) -> tuple[Any, ...]:
        return rule, (self.name,)

    # ---- declaration -------------------------------------------------------------------------------------------------
    def partials(self, body: Function) -> Function:
        """Declare the partial derivatives: `body(z, x, ...)` returns one number per argument (no tuple for one)."""
        self.body = RuleBody(body, self.arity)
        self.methods, self.reflected = {float: self.evaluate}, {}  # earlier fast implementations go
        return body

    def partial(self, k: int) -> Function:
        """The partial with respect to argument k as a function of (z, *arguments); it never raises on floats."""
        if self.body is None:
            raise RuleError(f"{self.name}: no partials declared; write them with @{self.name}.partials")
        return self.body.partial(k)

    def array_partial(self, k: int, warns: bool = False) -> Function:
        """The partial with respect to argument k as a function of (z, *arguments) on arrays and floats.

        The result is a float if the partial is one number. With `warns` it is evaluated under the caller's np.errstate.
        """
        self.partial(k)
        assert self.body is not None
        return self.body.array_partial(k, warns)

    def partials_of_few(self, args: Sequence[Value], active: Sequence[int]) -> Sequence[Sequence[float]] | None:
        """The partials for some arguments, at few array elements and floats, if that is quicker; otherwise None."""
        return None

    def product(self, k: int) -> Callable[[Value, Value], Value]:
        """The function that multiplies an adjoint or a tangent, a number or an array, by the partial of argument k."""
        return route if self.body is not None and self.body.routes(k) else scale

    def push_product(self, k: int) -> Callable[[Value, Value], Value]:
        """The same for a tangent, which may differ."""
        return self.product(k)

    # ---- evaluation --------------------------------------------------------------------------------------------------
    def evaluate(self, *args: Value) -> Real:
        """The value at plain numbers, with NumPy's results where Python would raise; for other arguments, the
        operation."""
        for x in args:
            if x.__class__ is not float:
                return self.general(args)
        try:
            value = self.function(*args)
        except ARITHMETIC_ERRORS:
            if not self.ufuncs or isinstance(self.ufuncs[0], str):
                raise
            with np.errstate(all="ignore"):
                value = self.ufuncs[0](*args)
        if value.__class__ is float or (self.holomorphic and is_complex(value)):
            return value
        return operand(self.name, "its value", value)

    def raise_as_numpy(self, args: Sequence[Value]) -> None:
        """Raise FloatingPointError at plain numbers if np.errstate asks for it, and turn Python's errors into it."""
        ufunc = self.ufuncs[0] if self.ufuncs and not isinstance(self.ufuncs[0], str) else None
        if ufunc is not None and "raise" in np.geterr().values() and all(x.__class__ is float for x in args):
            ufunc(*args)

    def _raise_if_it_failed(self, args: Sequence[Value]) -> None:
        """Like `raise_as_numpy`, but only if Python's function raises, like the fast methods that levels make."""
        try:
            self.function(*args)
        except ARITHMETIC_ERRORS:
            self.raise_as_numpy(args)

    def array_value(self, *args: Value, out: ArrayValue | None = None) -> ArrayValue:
        """The value at float64 arrays and floats, elementwise, as a float64 array (`out`, if given)."""
        with np.errstate(all="ignore"):
            return self.array_values(*args, out=out)

    def array_values(self, *args: Value, out: ArrayValue | None = None) -> ArrayValue:
        """Like `array_value`, under the caller's np.errstate."""
        if self._array_form is None:
            self._array_form = array_form(self.evaluate, self.arity, self.array, self.ufuncs)
        return self._array_form(*args, out=out)

    def __call__(self, x: Value = _MISSING, /, *others: Value) -> Value:
        method = self.methods.get(x.__class__)
        if not others:
            if method is not None and self.arity == 1:
                return method(x)
            return self.general(() if x is _MISSING else (x,))
        if len(others) + 1 == self.arity:
            if method is not None:
                return method(x, *others)
            if self.arity == 2:
                method = self.reflected.get(others[0].__class__)
                if method is not None:
                    return method(others[0], x)
        return self.general((x, *others))

    def general(self, args: tuple[Value, ...]) -> Value:
        """The operation on arguments of any supported kind: the slow path behind every fast one."""
        if len(args) != self.arity:
            raise TypeError(f"{self.name}: expected {self.arity} argument(s), got {len(args)}")
        if STANDING and stands_in(args):
            return perform(self.generally, args, elementwise=True)
        if self.holomorphic and (any(map(holds_complex, args)) or self._has_complex_value(args)):
            return self.make_complex(args)
        for x in args:
            if x.__class__ is not np.ndarray or x.dtype is not FLOAT:
                break
        else:
            return self.array_value(*args)
        owner = library_owner(self.name, args)
        if owner is not None:
            return self.apply_on(owner, owner.apply_elementwise, list_operands(args))
        if any(map(holds_complex, args)):
            return self._at_complex(args)
        twin = self.find_twin(args) if self.has_twin() else None
        if twin is not None:
            return twin.general(args)
        if any(isinstance(x, CONTAINERS) for x in args):
            if any(isinstance(x, Array) for x in args):
                args = list_operands(args)
            else:
                return map_containers(self, args)
        if any(isinstance(x, (np.ndarray, Array)) for x in args):
            return self._elementwise(args)
        if any(isinstance(x, Number) for x in args):
            numbers = [operand(self.name, name, x) for x, name in zip(args, self.argument_names, strict=True)]
            owner = owner_of(self.name, numbers)
            z = self.apply_on(owner, owner.apply, numbers)
            value = z._value if isinstance(z, Number) else z
            if value.__class__ is float and not math.isfinite(value):
                self._raise_if_it_failed([peek(x) for x in numbers])
            if self.has_no_data():
                self._implement(args)
            return as_float(z) if isinstance(z, Number) and all(map(stands_for_float, args)) else z
        if any(isinstance(x, np.floating) for x in args) and all(map(is_real, args)):
            # NumPy numbers stay NumPy numbers, so that rule bodies can be evaluated with NumPy's division.
            return np.float64(self.evaluate(*map(float, args)))
        return self.evaluate(*(operand(self.name, n, x) for x, n in zip(args, self.argument_names, strict=True)))

    def _at_complex(self, args: tuple[Value, ...]) -> Value:
        if self.at_complex is not None:
            for x in args:
                if isinstance(x, Number) and getattr(x._owner, "on_objects", False):
                    raise UnsupportedError(
                        f"{self.name}: a complex number beside a real one of the engine {x._owner.engine}, whose "
                        f"arrays are object arrays: {DROPPED}; use the engine matrix",
                        level=x._owner,
                    )
            return self.at_complex(*args)
        name = next(name for name, x in zip(self.argument_names, args, strict=True) if holds_complex(x))
        is_own = self.__module__.startswith("contad.")
        remedy = "" if is_own else "; @contad.scalar_rule(holomorphic=True) takes complex numbers"
        fail(self.name, name, "be real", f"a complex number{remedy}", UnsupportedError)

    def _has_complex_value(self, args: tuple[Value, ...]) -> bool:
        """Whether the value at real numbers or arrays of them is complex."""
        plain = [np.asarray(map_numbers(peek, x)) for x in args if not isinstance(x, CONTAINERS)]
        if len(plain) < self.arity:
            return False
        values = np.asarray(np.frompyfunc(self.function, self.arity, 1)(*plain))
        return any(map(is_complex, values.flat))

    def has_twin(self) -> bool:
        """Whether a twin replaces it at some arguments if a gradient is differentiated."""
        return self.twin is not None or self.may_have_pole()

    def may_have_pole(self) -> bool:
        """Whether a partial may be infinite at finite arguments, except for overflow."""
        return self.body is not None and self.body.may_have_pole and self.name not in WITHOUT_POLES

    def find_twin(self, args: Sequence[Value]) -> Any:
        """The twin for these arguments, if they carry an outer derivative and are at a kink or a pole."""
        if not any(map(is_nested, args)):
            return None
        if self.twin is not None and self.is_at_kink(args):
            return self.twin
        return self.find_pole_twin(args) if self.may_have_pole() else None

    def functions(self) -> tuple[Any, ...]:
        """The value, on numbers and on arrays, and the body."""
        return self.function, self.array, self.body and self.body.function

    def generally(self, *args: Value) -> Value:
        """`general` as a function of the arguments."""
        return self.general(args)

    def operate(self, x: Value, y: Value) -> Value:
        """The operation for operator methods of numbers; if the other operand is an array, that handles it."""
        if isinstance(y, Array):
            method = self.reflected.get(y.__class__)
            if method is not None:
                return method(y, x)
        elif y.__class__ is np.ndarray and isinstance(x, Number):
            z = x._owner.number_and_array(self, x, y)
            if z is not NotImplemented:
                return z
        return self.operate_slowly(x, y)

    def operate_slowly(self, x: Value, y: Value) -> Value:
        """`general` for operator methods: leaves operands that are not numbers or arrays to the other operand."""
        if isinstance(x, Array) or isinstance(y, Array):
            x, y = list_operands((x, y))
        operands = (Carrier, np.ndarray, complex, np.complexfloating)  # complex numbers are refused by name
        if all(isinstance(a, operands) or is_real(a) for a in (x, y)):
            return self.general((x, y))
        if any(isinstance(a, SEQUENCES) for a in (x, y)):
            return self._operate_on_sequence(x, y)
        if isinstance(x, Rational) or isinstance(y, Rational):  # a fraction becomes a float next to a float
            return self.operate_slowly(*(float(a) if isinstance(a, Rational) else a for a in (x, y)))
        # SciPy's also decline; sparse matrices of variables handle it
        if any(hasattr(a, "tocsr") and getattr(a, "__array_ufunc__", a) is not None for a in (x, y)):
            raise UnsupportedError(
                f"{self.name}: an operation of a sparse matrix and a variable is not supported; write S @ x for a "
                "product, "
                "c * (S @ x) for a multiple of it, and contad.scipy.sparse.csr_array((c * S.data, S.indices, "
                "S.indptr), shape=S.shape) for a matrix of variables"
            )
        return NotImplemented

    def _operate_on_sequence(self, x: Value, y: Value) -> Value:
        """Treat a list or tuple next to a NumPy number as an array; Python would try to repeat it."""
        number, sequence = (y, x) if isinstance(x, SEQUENCES) else (x, y)
        if isinstance(number, Carrier):
            if isinstance(sequence, (list, tuple)) and not number.is_float and self.operator != "mul":
                return self.general(list_operands((x, y)))
            name = self.argument_names[sequence is y]
            fail(self.name, name, "be a number or an array", type(sequence).__name__, UnsupportedError)
        return NotImplemented

    def _implement(self, args: tuple[Value, ...]) -> None:
        """Let the classes of these arguments install their fast implementations, on first use."""
        if self.holomorphic:  # whose value may be complex
            return
        for cls in {x.__class__ for x in args if isinstance(x, Number)}:
            implement = getattr(cls, "implement", None)
            if implement is not None and cls not in self.methods:
                self.methods[cls], reflected = implement(self)
                if reflected is not None:
                    self.reflected[cls] = reflected

    def _elementwise(self, args: tuple[Value, ...]) -> ArrayValue:
        # the level of an array of variables handles object arrays among its operands
        owner = owner_of(self.name, numbers_in(args))
        if owner is not None:
            for name, x in zip(self.argument_names, args, strict=True):
                require_plain(self.name, name, x)
                if not isinstance(x, (np.ndarray, Carrier)):
                    operand(self.name, name, x)
        matvar = any(isinstance(x, np.ndarray) and x.dtype == object for x in args)
        if owner is not None and (any(isinstance(x, Array) for x in args) or not matvar):
            return self.apply_on(owner, owner.apply_elementwise, args)
        arrays = [np.asarray(x) if not isinstance(x, Number) else as_objects(x) for x in args]
        if matvar:
            return np.frompyfunc(self, self.arity, 1)(*arrays)
        if any(a.dtype.kind not in "fiub" for a in arrays):
            raise UnsupportedError(
                f"{self.name}: expected arrays of real numbers, got {[str(a.dtype) for a in arrays]}"
            )
        return self.array_value(*(a.astype(float, copy=False) for a in arrays))


def is_nested(x: Value) -> bool:
    """Whether x is a number or an array of a level whose value carries a derivative of an outer one."""
    if not isinstance(x, Carrier):
        return False
    value = x._sync_parts()._value
    return isinstance(value, Carrier) or (isinstance(value, np.ndarray) and value.dtype == object)


def library_owner(function: str, args: Iterable[Value]) -> Owner | None:
    """The owner with the highest level if an argument is an array variable of the engine `arrays`; else None."""
    for x in args:
        if isinstance(x, Array) and x._owner.takes_any:
            return owner_of(function, numbers_in(args))
    return None


def owner_of(function: str, args: Iterable[Value]) -> Owner:
    """The owner with the highest level among the numbers in args, after checking that each may be used here."""
    top = None
    for x in args:
        if isinstance(x, Carrier):
            owner = x._owner
            if owner is not top:
                owner.check_usable(function)
                if top is None or owner.level > top.level:
                    top = owner
    return top


@overload
def scalar_rule(function: Function, /) -> ScalarRule: ...
@overload
def scalar_rule(
    *,
    ufunc: np.ufunc | str | tuple[np.ufunc | str, ...] | None = None,
    math: str = "",
    operator: str | None = None,
    core: bool = False,
    points: Iterable[tuple[float, ...]] = (),
    array: ArrayFunction | None = None,
    holomorphic: bool = False,
) -> Callable[[Function], ScalarRule]: ...
def scalar_rule(
    function: Function | None = None,
    /,
    *,
    ufunc: np.ufunc | str | tuple[np.ufunc | str, ...] | None = None,
    math: str = "",
    operator: str | None = None,
    core: bool = False,
    points: Iterable[tuple[float, ...]] = (),
    array: ArrayFunction | None = None,
    holomorphic: bool = False,
) -> Any:
    """Register a scalar operation; declare its derivative with `.partials`.

    ufunc     the NumPy ufunc (or a tuple of them, or a name such as "scipy.special.expit") that dispatches here
    math      the function of the module math that means the same in Numba functions
    operator  the operator method it implements: "add" for `__add__` and `__radd__`
    core      for contad.ops: its body uses only operators and core rules, so it is compiled into the reverse sweep
    points    interior points, neither zero nor symmetric, at which generic tests exercise the rule
    array     the value on float64 arrays and floats, if it is not that of the first ufunc; without either, arrays are
              evaluated element by element
    holomorphic  whether the function takes and returns complex numbers, too, and the partials are its complex
              derivatives f'(z); `python -X dev` compares them with differences along the real and the imaginary axis

    Raises RuleError if the name or the ufunc is taken by another rule.

    >>> @scalar_rule
    ... def cube(x):
    ...     return x * x * x
    >>> @cube.partials
    ... def cube_partials(z, x):
    ...     return 3.0 * x * x
    >>> cube(2.0)
    8.0
    """

    def declare(function: Function) -> ScalarRule:
        if not hasattr(function, "__code__"):
            raise RuleError(f"scalar_rule: expected a Python function, got {type(function).__name__}")
        # the sweep is compiled from contad's own rules; the value of another rule may be any Python object
        own = function.__module__.startswith("contad.ops.")
        rule = ScalarRule(function, ufunc, operator, core and own, points, array, math)
        rule.holomorphic = holomorphic
        if rule.arity == 0 or function.__code__.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            raise RuleError(f"scalar_rule: {rule.name} must take a fixed number of arguments, one or more")
        if function.__defaults__ or function.__code__.co_kwonlyargcount:
            raise RuleError(f"scalar_rule: {rule.name} must have no defaults; every argument is one of the operation")
        if operator is not None and any(r.operator == operator and r.name != rule.name for r in _rules.values()):
            raise RuleError(f"scalar_rule: {rule.name}: the operator {operator!r} is taken")
        if operator is not None and operator not in OPERATORS:
            raise RuleError(
                f"scalar_rule: {rule.name}: operator must be one of {', '.join(OPERATORS)}, got {operator!r}"
            )
        old = _rules.get(rule.name)
        if old is not None and old.__module__ != rule.__module__:
            raise RuleError(f"scalar_rule: the name {rule.name!r} is taken by {old.__module__}.{old.name}")
        places: list[tuple[dict[Any, ScalarRule], Any]] = []
        for u in rule.ufuncs:
            table, key = (_by_scipy_name, u.rpartition(".")[2]) if isinstance(u, str) else (_by_ufunc, u)
            taken = table.get(key)
            if taken is not None and taken is not old:
                raise RuleError(f"scalar_rule: {rule.name}: the ufunc {u} already dispatches to {taken.name}")
            places.append((table, key))
        for table in (_by_ufunc, _by_scipy_name):  # a notebook cell that runs again may name other ufuncs than before
            for key in [key for key, found in table.items() if found is old]:
                del table[key]
        for table, key in places:
            table[key] = rule
        _rules[rule.name] = rule
        if not hasattr(Number, rule.name):
            setattr(Number, rule.name, _method(rule.name))
        return rule

    return declare if function is None else declare(function)


def _method(name: str) -> Function:
    """NumPy evaluates np.exp over an object array as `element.exp()`; a `__getattr__` would slow down everything."""

    def method(x: Number, *args: Value) -> Value:
        return _rules[name](x, *args)

    method.__name__ = name
    return method


def rules() -> Iterator[ScalarRule]:
    """Every registered scalar rule, in order of registration."""
    return iter(tuple(_rules.values()))


def rule(name: str) -> ScalarRule:
    """The registered rule of that name; KeyError if there is none."""
    return _rules[name] if name in _rules else _unlisted[name]


def list_unlisted() -> Iterator[ScalarRule]:
    """The rules that are found only by name."""
    return iter(tuple(_unlisted.values()))


def add_unlisted(rule: ScalarRule) -> None:
    """Let a rule be found only by name; RuleError if a rule of another module has that name."""
    old = _unlisted.get(rule.name, _rules.get(rule.name))
    if old is not None and old.__module__ != rule.__module__:
        raise RuleError(f"scalar_rule: the name {rule.name!r} is taken by {old.__module__}.{old.name}")
    _unlisted[rule.name] = rule


def rule_of_ufunc(ufunc: np.ufunc) -> ScalarRule | None:
    """The rule that a NumPy or SciPy ufunc dispatches to, if any; SciPy is not imported for the look-up."""
    found = _by_ufunc.get(ufunc)
    if found is None:
        special: ModuleType | None = sys.modules.get("scipy.special")
        # by exported name, because a SciPy ufunc may carry another name
        for name, candidate in _by_scipy_name.items():
            if getattr(special, name, None) is ufunc:
                found = _by_ufunc[ufunc] = candidate
                break
    return found
