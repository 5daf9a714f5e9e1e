"""Forward mode: dual numbers and dual arrays, from the same rules as the reverse engines."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contad.errors import VariableError
from contad.variables.arguments import array as float_array, constant, operand
from contad.variables.array import Array, View, Write, is_plain, level_of, numbers_in, require_no_inner, write_half
from contad.variables.layout import read_only, same_layout
from contad.variables.level import HERE, array_of, next_level, raise_caught, refuse_unusable
from contad.variables.number import Number, as_float, like_numpy, stands_for_float
from contad.variables.open_types import ArrayValue, Key, Options, Real, Rule, Sources, Value
from contad.variables.trees import assemble, like_tuple, map_lists, real_leaf


class Dual(Number):
    """A value and its tangent on one forward level; either may be a number of an outer level.

    z = op(x, y) has z_dot = dz/dx x_dot + dz/dy y_dot. On a level of several tangents the tangent is an array of them.
    """

    __slots__ = ("_tangent",)
    kind = "dual"
    _tangent: Value

    @property
    def tangent(self) -> Value:
        """The directional derivative carried along."""
        return self._tangent

    def in_class(self, cls: type[Number]) -> Number:
        """The same number in another class of its kind."""
        y: Any = object.__new__(cls)
        y._value, y._owner, y._tangent = self._value, self._owner, self._tangent
        return y

    def __repr__(self) -> str:
        return f"Dual({self._value!r}, tangent={self._tangent!r})"


@like_numpy(Dual)
class NumpyDual(Dual):
    """A dual in place of an np.float64."""

    __slots__ = ()


class ArrayDual(Array):
    """An array and its tangents on one forward level, arrays of its shape that alias alike."""

    __slots__ = ("_tangents",)
    kind = "array dual"
    _tangents: list[ArrayValue]
    _holds_constants: bool = False  # of a root: made from constants, and only constants were assigned

    @property
    def is_constant(self) -> bool:
        """Whether its root was made from constants, and only constants were assigned."""
        root: Any = self if self._base is None else self._base
        return bool(root._holds_constants)

    @property
    def tangent(self) -> Value:
        """A copy of the directional derivative carried along; on a level of several tangents with a leading axis."""
        return self._owner.join([t.copy() for t in self._sync_parts()._tangents])  # type: ignore[attr-defined]

    def _refresh(self, parent: Any) -> None:
        assert self._view is not None
        self._value = self._view(parent._value)
        self._tangents = [self._view(t) for t in parent._tangents]

    def _make_view(self, view: View, value: ArrayValue) -> "ArrayDual":
        z = object.__new__(ArrayDual)
        z._owner = self._owner
        z._value = value
        z._tangents = [view(t) for t in self._tangents]
        z._base = self if self._base is None else self._base
        z._parent = self
        z._view = view
        z._seen = self._value
        z._root_seen = z._base._value
        return z

    def _make_copy(self, move: View, value: ArrayValue) -> "ArrayDual":
        z = array_dual(self._owner, value, [move(t).copy() for t in self._sync_parts()._tangents])  # type: ignore[attr-defined]
        if self.is_constant:
            z._holds_constants = True
        return z

    def _element(self, key: Key, value: Real) -> Real:
        if self.is_constant:
            return np.float64(value) if isinstance(value, float) else value
        value = float(value) if isinstance(value, np.floating) else value
        return self._owner.dual(value, self._owner.join([plain_float(t[key]) for t in self._tangents]))

    def _assign(self, write: Write, y: Value) -> None:
        require_no_inner(y, self._owner.level)
        value, tangents = self._owner.parts(y)
        root: Any = self._root()
        if root._holds_constants and not self._owner.is_constant(y):
            root._holds_constants = False
        self._hold(value)
        for j, t in enumerate(tangents):
            top = max(numbers_in(t), key=level_of, default=None)
            if top is not None and top._owner.level > level_of(root._tangents[j]):
                root._tangents[j] = top._owner.writable(root._tangents[j])
                root._value = root._value[...]  # another object, so that views pick up the new tangents
                self._sync_parts()
        try:
            write(self._value, value)
        except Exception:
            for own, t in zip(self._tangents, tangents, strict=True):
                write_half(write, value, own, t)
            raise
        for own, t in zip(self._tangents, tangents, strict=True):
            write(own, t)


def array_dual(owner: "ForwardLevel", value: ArrayValue, tangents: list[ArrayValue]) -> ArrayDual:
    """An array of a forward level with these tangents, one for each direction."""
    z = object.__new__(ArrayDual)
    z._owner = owner
    z._value = value
    z._tangents = [same_layout(t, value) for t in tangents]
    return z


def plain_float(x: Value) -> Real:
    """A NumPy number as a float; anything else unchanged."""
    return float(x) if isinstance(x, np.floating) else x


class ForwardLevel:
    """A level of forward mode; it owns the duals of one `jvp` call, each with one tangent or with `several`."""

    __slots__ = ("level", "ended", "caught", "several", "is_here", "lock", "loses", "meets_ties")
    has_arrays = True
    lends_arrays = False
    takes_any = False
    tracer = None

    def __init__(self, several: int | None = None) -> None:
        self.level = next_level()
        self.lock, self.is_here = HERE.held
        self.ended: str | None = None
        self.caught: tuple[VariableError, str, int] | None = None
        self.several = several
        self.meets_ties = False  # whether a second derivative has followed its directions: see `contad.ops.kinks`
        self.loses = False  # whether one has met a tie that no direction decides, which turns all of them into nan

    def require_none_caught(self) -> None:
        """Raise the error that the function on this level has met and caught."""
        raise_caught(self)

    def check_usable(self, function: str) -> None:
        """Refuse duals of this level if it has ended, or on another thread."""
        refuse_unusable(self, function)

    def hold(self, rule: Rule) -> None:
        """Hold nothing that a rule captures: derivatives are evaluated with the operation, not later."""

    # ---- duals -------------------------------------------------------------------------------------------------------
    def dual(self, value: Real, tangent: Value) -> Dual:
        """A number with this tangent."""
        z = object.__new__(NumpyDual)
        z._value = value
        z._tangent = tangent
        z._owner = self
        return z

    def make_active(self, given: Value, tangent: Value, what: str = "jvp") -> Value:
        """A leaf with its tangent (with a leading axis if there are several): a dual, or an array of them."""
        leaf = real_leaf(given, what)
        if isinstance(leaf, np.ndarray) and leaf.dtype == object:
            duals = np.empty(leaf.shape, object)
            for k in np.ndindex(leaf.shape):
                duals[k] = self.dual(leaf[k], tangent[k] if self.several is None else tangent[(slice(None), *k)])
            return duals
        if isinstance(leaf, (np.ndarray, Array)):
            copy = leaf.copy() if isinstance(leaf, Array) else np.array(leaf)
            return array_dual(
                self, copy, [np.array(t) if isinstance(t, float) else t.copy() for t in self.split(tangent)]
            )
        z = self.dual(leaf, tangent)
        return as_float(z) if stands_for_float(given) else z

    def split(self, tangent: Value) -> list[Value]:
        """The tangents one by one."""
        return [tangent] if self.several is None else [tangent[j] for j in range(self.several)]

    def join(self, tangents: Sequence[Value]) -> Value:
        """The inverse of `split`: the one tangent, or all along a leading axis."""
        if self.several is None:
            return tangents[0]
        if all(isinstance(t, float) for t in tangents):
            return np.array(tangents)
        if any(isinstance(t, Array) for t in tangents):
            return np.stack(tangents)
        return np.stack([np.asarray(t, dtype=object if isinstance(t, Number) else None) for t in tangents])

    def tangent_of(self, y: Value) -> Value:
        """The tangent of a leaf of a result: zeros for constants."""
        if isinstance(y, (Dual, ArrayDual)) and y._owner is self:
            return y.tangent
        if isinstance(y, np.ndarray) and y.dtype == object:
            own = [self.tangent_of(n) for n in y.flat]
            if self.several is None:
                return assemble(own, y.shape)
            return np.stack([assemble([t[j] for t in own], y.shape) for j in range(self.several)])
        shape = np.shape(y) if isinstance(y, (np.ndarray, Array)) else ()
        lead = () if self.several is None else (self.several,)
        return np.zeros(lead + shape) if lead + shape else 0.0

    def parts(self, y: Value) -> tuple[Value, list[Value]]:
        """(value, tangents) of a number, an array, or nested lists of numbers."""
        if isinstance(y, ArrayDual) and y._owner is self:
            y._sync_parts()
            return y._value, y._tangents
        if isinstance(y, Dual) and y._owner is self:
            return y._value, self.split(y._tangent)
        count = self.several or 1
        if isinstance(y, (list, tuple)):
            if any(isinstance(n, Array) for n in numbers_in(y)):
                return self.parts(np.stack(y))
            y = np.array(y, dtype=object) if numbers_in(y) else float_array("an assignment", "the value", y)
        if isinstance(y, np.ndarray) and y.dtype == object:
            own = [self.parts(n) for n in y.flat]
            for n in y.flat:
                require_no_inner(n, self.level)
            value = array_of([v for v, _ in own], y.shape)
            return value, [array_of([t[j] for _, t in own], y.shape) for j in range(count)]
        if not isinstance(y, (Number, Array)):
            a = np.asarray(y)
            if a.dtype.kind not in "fiub":
                operand("an assignment", "the value", y)
            y = float(a) if a.ndim == 0 else a.astype(np.float64)
        return y, [0.0 if isinstance(y, (float, Number)) else np.zeros(y.shape)] * count

    def is_constant(self, y: Value) -> bool:
        """Whether nothing in y depends on the differentiated arguments of this level."""
        return not any(n._owner is self and not (isinstance(n, Array) and n.is_constant) for n in numbers_in(y))

    def adopt(self, y: Value) -> ArrayDual:
        """An object array with duals of this level as an array dual."""
        return array_dual(self, *self.parts(y))

    def writable(self, value: Value) -> ArrayDual:
        """An array with these constant values to which duals of this level can be assigned."""
        a = value.copy() if isinstance(value, Array) else np.array(value)
        z = array_dual(self, a, [np.zeros(a.shape) for _ in range(self.several or 1)])
        z._holds_constants = True
        return z

    def constant_result(self, z: Value) -> Value:
        """The result of an operation on arrays of this level that are all constants."""
        if np.ndim(z):
            return self.writable(z)
        z = z[()] if isinstance(z, (np.ndarray, Array)) else z
        return np.float64(z) if z.__class__ is float else z

    # ---- operations --------------------------------------------------------------------------------------------------
    def number_and_array(self, rule: Rule, a: Value, b: Value) -> ArrayValue:
        """NotImplemented: a number and a plain array have no fast path."""
        return NotImplemented

    def apply(self, rule: Rule, args: Sequence[Value]) -> Dual:
        """Perform an operation of which this level owns at least one argument."""
        values = [x._value if isinstance(x, Dual) and x._owner is self else x for x in args]
        z = rule(*values)
        z_dot = None
        own = [x._tangent if isinstance(x, Dual) and x._owner is self else None for x in args]
        if rule.along is not None and all(t is None or is_plain(t) for t in (*values, *own)):
            z_dot = plain_float(rule.along(values, own))
            return self.dual(z, z_dot if self.several is None else np.broadcast_to(z_dot, (self.several,)).copy())
        for k, x in enumerate(args):
            if isinstance(x, Dual) and x._owner is self:
                term = rule.push_product(k)(x._tangent, rule.partial(k)(z, *values))
                z_dot = term if z_dot is None else z_dot + term
        return self.dual(z, z_dot)

    def _take(self, rule: Rule, args: Sequence[Value]) -> tuple[list[Value], list[list[Value] | None]]:
        """The values of arguments, and their tangents (None for constants)."""
        values: list[Value] = []
        tangents: list[list[Value] | None] = []
        for name, x in zip(rule.argument_names, args, strict=True):
            if isinstance(x, ArrayDual) and x._owner is self and x.is_constant:
                value, x_dot = x._sync_parts()._value, None
            else:
                own = [n for n in numbers_in(x) if n._owner is self]
                value, x_dot = self.parts(x) if own else (constant(rule.name, name, x), None)
            values.append(read_only(value))
            tangents.append(x_dot)
        return values, tangents

    def apply_elementwise(self, rule: Rule, args: Sequence[Value]) -> ArrayValue:
        """Perform a scalar rule on arrays."""
        values, tangents = self._take(rule, args)
        z = rule(*values)
        if np.shape(z) == () and not isinstance(z, Array):
            z = plain_float(z[()] if isinstance(z, np.ndarray) else z)
        if all(t is None for t in tangents):
            return self.constant_result(z)
        directions = []
        shape = np.shape(z)
        moved = [t for own in tangents if own is not None for t in own]
        plain = rule.along is not None and all(map(is_plain, (*values, *moved)))
        partials = [None if t is None or plain else rule.array_partial(k)(z, *values) for k, t in enumerate(tangents)]
        for j in range(self.several or 1):
            if plain:
                own = [None if t is None else t[j] for t in tangents]
                directions.append(np.broadcast_to(rule.along(values, own), shape).copy())
                continue
            total: Value = None
            for k, (t, p) in enumerate(zip(tangents, partials, strict=True)):
                if t is not None:
                    term = rule.push_product(k)(t[j], p)
                    total = term if total is None else total + term
            directions.append(total if np.shape(total) == shape else np.broadcast_to(total, shape).copy())
        return self.wrap(z, directions)

    def apply_sum(self, rule: Rule, args: Sequence[Value], conditions: Sequence[str]) -> None:
        """The sum of a formula, element by element."""

    def apply_array(self, rule: Rule, args: Sequence[Value], options: Options) -> Value:
        """Perform an array rule of which this level owns at least one argument, or an element of one."""
        values, tangents = self._take(rule, args)
        z, saved = rule.evaluate(values, options)
        if all(t is None for t in tangents):
            return like_tuple(z, map(self.constant_result, z)) if isinstance(z, tuple) else self.constant_result(z)
        directions = [
            rule.push(z, [None if t is None else t[j] for t in tangents], values, options, saved)
            for j in range(self.several or 1)
        ]
        if isinstance(z, tuple):
            return like_tuple(z, (self.wrap(v, [d[n] for d in directions]) for n, v in enumerate(z)))
        return self.wrap(z, directions)

    def move(self, move: Callable[[Sources], ArrayValue], sources: Sources) -> ArrayValue:
        """Perform a function that moves elements of sources: arrays, numbers, and lists of these."""

        def part(j: int, x: Value) -> Value:
            value, tangents = self.parts(x)
            return (value, *tangents)[j]

        values, *directions = (
            move({key: map_lists(functools.partial(part, j), x) for key, x in sources.items()})
            for j in range(1 + (self.several or 1))
        )
        constant = all(map(self.is_constant, sources.values()))

        def wrap(value: Value, *tangents: Value) -> Value:
            z = self.wrap(value, tangents)
            if constant and isinstance(z, ArrayDual):
                z._holds_constants = True
            return z._value if constant and isinstance(z, Dual) else z

        return map_lists(wrap, values, *directions)

    def wrap(self, value: Value, directions: Sequence[Value]) -> Value:
        if np.ndim(value) == 0 and not isinstance(value, Array):
            value = plain_float(value[()] if isinstance(value, np.ndarray) else value)
            return self.dual(value, self.join([plain_float(d) for d in directions]))
        value, *tangents = (x if isinstance(x, Array) else np.array(x) for x in (value, *directions))
        return array_dual(self, value, tangents)
