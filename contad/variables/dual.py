"""Forward mode: dual numbers and dual arrays, from the same rules as the reverse engines."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contad.variables.arguments import array as float_array, constant, operand
from contad.variables.array import Array, View, Write, level_of, numbers_in, require_no_inner, write_half
from contad.variables.containers import like_tuple
from contad.variables.layout import read_only, same_layout
from contad.variables.level import Level, array_of
from contad.variables.number import Number, NumpyNumber, as_float, pair, stands_for_float
from contad.variables.trees import assembled, real_leaf


class Dual(Number):
    """A value and its tangent on one forward level; either may be a number of an outer level.

    z = op(x, y) has z_dot = dz/dx x_dot + dz/dy y_dot. On a level of several tangents the tangent is an array of them.
    """

    __slots__ = ("_tangent",)
    kind = "dual"
    _tangent: Any

    @property
    def tangent(self) -> Any:
        """The directional derivative carried along."""
        return self._tangent

    def in_class(self, cls: type[Number]) -> Number:
        """The same number in another class of its kind."""
        y: Any = object.__new__(cls)
        y._value, y._owner, y._tangent = self._value, self._owner, self._tangent
        return y

    def __repr__(self) -> str:
        return f"Dual({self._value!r}, tangent={self._tangent!r})"


class NumpyDual(NumpyNumber, Dual):
    """A dual in place of an np.float64."""

    __slots__ = ()


pair(Dual, NumpyDual)


class ArrayDual(Array):
    """An array and its tangents on one forward level, arrays of its shape that alias alike."""

    __slots__ = ("_tangents",)
    kind = "array dual"
    _tangents: list[Any]

    @property
    def tangent(self) -> Any:
        """A copy of the directional derivative carried along; on a level of several tangents with a leading axis."""
        return self._owner.joined([t.copy() for t in self._synced()._tangents])  # type: ignore[attr-defined]

    def _refresh(self, parent: Any) -> None:
        assert self._view is not None
        self._value = self._view(parent._value)
        self._tangents = [self._view(t) for t in parent._tangents]

    def _make_view(self, view: View, value: Any) -> "ArrayDual":
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

    def _make_copy(self, move: View, value: Any) -> "ArrayDual":
        return array_dual(self._owner, value, [move(t).copy() for t in self._synced()._tangents])  # type: ignore[attr-defined]

    def _element(self, key: Any, value: Any) -> Any:
        value = float(value) if isinstance(value, np.floating) else value
        return self._owner.dual(value, self._owner.joined([plain_float(t[key]) for t in self._tangents]))

    def _assign(self, write: Write, y: Any) -> None:
        require_no_inner(y, self._owner.level)
        value, tangents = self._owner.parts(y)
        root: Any = self._root()
        self._hold(value)
        for j, t in enumerate(tangents):
            top = max(numbers_in(t), key=level_of, default=None)
            if top is not None and top._owner.level > level_of(root._tangents[j]):
                root._tangents[j] = top._owner.writable(root._tangents[j])
                root._value = root._value[...]  # another object, so that views take up the new tangents
                self._synced()
        try:
            write(self._value, value)
        except Exception:
            for own, t in zip(self._tangents, tangents, strict=True):
                write_half(write, value, own, t)
            raise
        for own, t in zip(self._tangents, tangents, strict=True):
            write(own, t)


def array_dual(owner: Any, value: Any, tangents: list[Any]) -> ArrayDual:
    """An array of a forward level with these tangents, one for each direction."""
    z = object.__new__(ArrayDual)
    z._owner = owner
    z._value = value
    z._tangents = [same_layout(t, value) for t in tangents]
    return z


def plain_float(x: Any) -> Any:
    """A NumPy number as a float; anything else as it is."""
    return float(x) if isinstance(x, np.floating) else x


class ForwardLevel(Level):
    """A level of forward mode; it owns the duals of one `jvp` call, with one tangent each or with `several`."""

    __slots__ = ("several",)
    has_arrays = True

    def __init__(self, several: int | None = None) -> None:
        super().__init__()
        self.several = several

    # ---- duals -------------------------------------------------------------------------------------------------------
    def dual(self, value: Any, tangent: Any) -> Dual:
        """A number with this tangent."""
        z = object.__new__(NumpyDual)
        z._value = value
        z._tangent = tangent
        z._owner = self
        return z

    def activated(self, given: Any, tangent: Any, what: str = "jvp") -> Any:
        """A leaf with its tangent (with a leading axis where there are several): a dual, or an array of them."""
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

    def split(self, tangent: Any) -> list[Any]:
        """The tangents one by one."""
        return [tangent] if self.several is None else [tangent[j] for j in range(self.several)]

    def joined(self, tangents: Sequence[Any]) -> Any:
        """Tangents as `split` takes them: the one, or all along a leading axis."""
        if self.several is None:
            return tangents[0]
        if all(isinstance(t, float) for t in tangents):
            return np.array(tangents)
        if any(isinstance(t, Array) for t in tangents):
            return np.stack(tangents)
        return np.stack([np.asarray(t, dtype=object if isinstance(t, Number) else None) for t in tangents])

    def tangent_of(self, y: Any) -> Any:
        """The tangent of a leaf of a result: zeros for constants."""
        if isinstance(y, (Dual, ArrayDual)) and y._owner is self:
            return y.tangent
        if isinstance(y, np.ndarray) and y.dtype == object:
            own = [self.tangent_of(n) for n in y.flat]
            if self.several is None:
                return assembled(own, y.shape)
            return np.stack([assembled([t[j] for t in own], y.shape) for j in range(self.several)])
        shape = np.shape(y) if isinstance(y, (np.ndarray, Array)) else ()
        lead = () if self.several is None else (self.several,)
        return np.zeros(lead + shape) if lead + shape else 0.0

    def parts(self, y: Any) -> tuple[Any, list[Any]]:
        """(value, tangents) of a number, an array, or nested lists of numbers."""
        if isinstance(y, ArrayDual) and y._owner is self:
            y._synced()
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

    def adopted(self, y: Any) -> ArrayDual:
        """An object array with duals of this level as an array dual."""
        return array_dual(self, *self.parts(y))

    def writable(self, value: Any) -> ArrayDual:
        a = value.copy() if isinstance(value, Array) else np.array(value)
        return array_dual(self, a, [np.zeros(a.shape) for _ in range(self.several or 1)])

    # ---- operations --------------------------------------------------------------------------------------------------
    def apply(self, rule: Any, args: Sequence[Any]) -> Dual:
        values = [x._value if isinstance(x, Dual) and x._owner is self else x for x in args]
        z = rule(*values)
        z_dot = None
        for k, x in enumerate(args):
            if isinstance(x, Dual) and x._owner is self:
                term = rule.product(k)(x._tangent, rule.partial(k)(z, *values))
                z_dot = term if z_dot is None else z_dot + term
        return self.dual(z, z_dot)

    def _taken(self, rule: Any, args: Sequence[Any]) -> tuple[list[Any], list[list[Any] | None]]:
        """The values of arguments, and their tangents (None for constants)."""
        values: list[Any] = []
        tangents: list[list[Any] | None] = []
        for name, x in zip(rule.argument_names, args, strict=True):
            own = [n for n in numbers_in(x) if n._owner is self]
            value, x_dot = self.parts(x) if own else (constant(rule.name, name, x), None)
            values.append(read_only(value))
            tangents.append(x_dot)
        return values, tangents

    def apply_elementwise(self, rule: Any, args: Sequence[Any]) -> Any:
        values, tangents = self._taken(rule, args)
        z = rule(*values)
        if np.shape(z) == () and not isinstance(z, Array):
            z = plain_float(z[()] if isinstance(z, np.ndarray) else z)
        partials = [None if t is None else rule.array_partial(k)(z, *values) for k, t in enumerate(tangents)]
        directions = []
        shape = np.shape(z)
        for j in range(self.several or 1):
            total: Any = None
            for k, (t, p) in enumerate(zip(tangents, partials, strict=True)):
                if t is not None:
                    term = rule.product(k)(t[j], p)
                    total = term if total is None else total + term
            directions.append(total if np.shape(total) == shape else np.broadcast_to(total, shape).copy())
        return self._wrapped(z, directions)

    def apply_array(self, rule: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
        values, tangents = self._taken(rule, args)
        z, saved = rule.evaluate(values, options)
        directions = [
            rule.push(z, [None if t is None else t[j] for t in tangents], values, options, saved)
            for j in range(self.several or 1)
        ]
        if isinstance(z, tuple):
            return like_tuple(z, (self._wrapped(v, [d[n] for d in directions]) for n, v in enumerate(z)))
        return self._wrapped(z, directions)

    def move(self, move: Callable[[Any], Any], sources: dict[Any, Any]) -> Any:
        def part(x: Any, j: int | None) -> Any:
            if isinstance(x, (list, tuple)):
                return type(x)(part(item, j) for item in x)
            value, tangents = self.parts(x)
            return value if j is None else tangents[j]

        values = move({key: part(x, None) for key, x in sources.items()})
        directions = [move({key: part(x, j) for key, x in sources.items()}) for j in range(self.several or 1)]
        return self._wrapped(values, directions)

    def _wrapped(self, value: Any, directions: Sequence[Any]) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(self._wrapped(v, [d[n] for d in directions]) for n, v in enumerate(value))
        if np.ndim(value) == 0 and not isinstance(value, Array):
            value = plain_float(value[()] if isinstance(value, np.ndarray) else value)
            return self.dual(value, self.joined([plain_float(d) for d in directions]))
        value, *tangents = (x if isinstance(x, Array) else np.array(x) for x in (value, *directions))
        return array_dual(self, value, tangents)
