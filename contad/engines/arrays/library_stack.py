"""The engine `arrays`: the closure stack of `closures`, on whole arrays of any library.

An operation is evaluated by the library that owns the value, and pushes one continuation that calls the vjp of its
rule. The adjoints are a list of arrays of that library. Nothing here reads a number: an array may be on a device, or
stand for a computation that has not run yet.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from contad.engines.arrays.libraries import READS_VALUES, Library, library_of, refuse_rule
from contad.engines.arrays.library_var import LibraryVar
from contad.engines.arrays.movements import Movement, choose_back, split_back, unstack
from contad.errors import UnsupportedError
from contad.variables.adjoints import Adjoints
from contad.variables.number import Carrier, peek
from contad.variables.open_types import AdjointVector, ArrayValue, CellIndex, Function, Nested, Options, Rule, Value
from contad.variables.stack import ChainStack, Footprint, Row

Pull = Callable[[Value], Iterable[Value]]  # the cotangent of a result -> those of the operands that are variables
Operand = tuple[int, tuple[int, ...], Any]  # the cell, the shape and the dtype


_FIRST = 2.0**52  # the position of the first element that moves; smaller numbers are constants beside it


class LibraryStack(ChainStack):
    """A list of closures and a list of adjoints, which are arrays."""

    __slots__ = ("chain", "once")
    engine = "arrays"
    has_arrays = True
    takes_any = True  # arrays of any library

    def __init__(self, level: int | None = None) -> None:
        super().__init__(level)
        self.chain: list[Any] = []
        self.push = self.chain.append
        self.once = False  # whether nobody sweeps again, so that a continuation is dropped when it has run

    # ---- variables ---------------------------------------------------------------------------------------------------
    def array_variable(self, value: Value) -> LibraryVar:
        x = self._result(value, library_of(peek(value)))
        self.push(_input_chain)
        return x

    variable = float_variable = array_variable  # type: ignore[assignment]

    def float_variables(self, values: Sequence[float]) -> list[Any]:
        return [self.array_variable(x) for x in values]

    def _result(self, value: Value, library: Library) -> LibraryVar:
        make: Any = LibraryVar  # which overrides what its base leaves to the two kinds
        z: LibraryVar = make()
        z._owner, z._value, z._library = self, value, library
        z._cell = k = self.top
        self.top = k + 1
        return z

    def value_in(self, x: Value) -> Value:
        """The value of an operand: that of a variable of this level; anything else is a constant."""
        if isinstance(x, LibraryVar) and x._owner is self:
            return x._sync_parts()._value
        return x

    def _library_for(self, args: Iterable[Value]) -> Library:
        """The library that evaluates an operation: of the first operand that is an array."""
        found = None
        for x in args:
            if isinstance(x, LibraryVar):
                if x._library.kind is not float:
                    return x._library
                found = x._library
            elif hasattr(x, "shape") and hasattr(x, "dtype"):
                found = library_of(peek(x))
                if not found.is_numpy:
                    return found
        assert found is not None
        return found

    # ---- operations --------------------------------------------------------------------------------------------------
    def record(self, name: str, value: Value, library: Library, xs: Sequence[LibraryVar], pull: Pull) -> LibraryVar:
        """The result of an operation on variables `xs`, whose continuation calls `pull`."""
        return self._push(name, value, library, [x.operand() for x in xs], pull)

    def _push(
        self, name: str, value: Value, library: Library, operands: Sequence[Operand], pull: Pull
    ) -> LibraryVar:
        if value.__class__ is not library.kind and not library.is_numpy and not isinstance(peek(value), library.kind):
            if library.name != "sparse":
                raise refuse_rule(name, library)
            value = library.adopt(value)  # a number, or an array without zeros
        z = self._result(value, library if getattr(value, "dtype", None) == library.dtype else library_of(peek(value)))
        k = z._cell

        def chain(adj: list[Any]) -> None:
            d = adj[k]
            if d is not None:  # otherwise the result does not depend on z
                adj[k] = None
                accumulate(name, library, adj, operands, pull, d)

        chain.__name__ = f"{name}_chain"
        self.push(chain)
        return z

    def apply_elementwise(self, rule: Rule, args: Sequence[Value]) -> Value:
        if self.ended is not None or not self.is_here():
            self.check_usable(rule.name)
        values, mine, operands, plain = [], [], [], True
        library: Any = None
        for k, x in enumerate(args):
            if x.__class__ is LibraryVar and x._owner is self:
                if x._move_of_view is not None:
                    x._sync_parts()
                v = x._value
                mine.append(k)
                operands.append(x.operand())
                if library is None or library.kind is float:
                    library = x._library
                if v.__class__ is LibraryVar:
                    plain = False
            else:
                v = x
                if isinstance(v, Carrier):
                    plain = False
            values.append(v)
        if library.kind is float:
            library = self._library_for(args)
        form = (library.plain if plain else library).form(rule)
        try:
            z = form.value(*values) if plain else rule(*values)  # an operation of an outer level
        except READS_VALUES as error:
            if library.is_numpy:
                raise
            raise refuse_rule(rule.name, library, error) from error
        partials, reads_z, reads = form.work_for(tuple(mine))
        kept = [v if read or not hasattr(v, "shape") else None for v, read in zip(values, reads, strict=True)]
        kept_z = z if reads_z else None

        def pull(d: Value) -> list[Value]:
            own = library.form(rule).work_for(tuple(mine))[0] if d.__class__ is LibraryVar else partials
            return [
                d if literal == 1.0 else d * literal if literal is not None else product(d, partial(kept_z, *kept))
                for product, partial, literal in own
            ]

        return self._push(rule.name, z, library, operands, pull)

    apply = apply_elementwise

    def apply_array(self, rule: Rule, args: Sequence[Value], options: Options) -> Value:
        library = self._library_for(args)
        form = library.array_form(rule)
        values = [as_operand(library, self.value_in(x)) for x in args]
        mine = [k for k, x in enumerate(args) if isinstance(x, LibraryVar) and x._owner is self]
        names = [rule.argument_names[k] for k in mine]
        if form.forward is None:
            nested = any(isinstance(v, Carrier) for v in values)  # then it is an operation of that level
            z = evaluate(rule.name, library, rule if nested else form.value, values, dict(options))
            saved: tuple[Any, ...] = ()
        else:
            z, kept_by_rule = evaluate(rule.name, library, form.forward, values, options)
            saved = (kept_by_rule,)
        vjps = [form.vjps[name] if name in form.vjps else rule._body(name) for name in names]  # which refuses
        needed = frozenset().union(*(rule.needs(name) for name in names))
        kept = [v if name in needed else Shaped.of(v) for name, v in zip(rule.argument_names, values, strict=True)]
        kept_z = z if "z" in needed else None

        def pull(d: Value) -> Iterator[Value]:
            more = saved if form.common is None else (*saved, form.common(kept_z, d, *kept, *saved, **options))
            for vjp in vjps:
                yield vjp(kept_z, d, *kept, *more, **options)

        xs = [args[k] for k in mine]
        return self._record_several(rule.name, z, library, xs, pull) if isinstance(z, tuple) else self.record(
            rule.name, z, library, xs, pull
        )

    def _record_several(
        self, name: str, z: tuple[Value, ...], library: Library, xs: Sequence[LibraryVar], pull: Pull
    ) -> Value:
        """The results of a rule: the continuation of the first runs last, and takes the cotangents of all."""
        first = self.top
        cells = range(first, first + len(z))
        operands = [x.operand() for x in xs]
        kept = z

        def chain(adj: list[Any]) -> None:
            if all(adj[k] is None for k in cells):
                return
            d = [np.zeros_like(v) if library.is_numpy else library.np.zeros_like(v) for v in kept]
            for n, k in enumerate(cells):
                if adj[k] is not None:
                    d[n], adj[k] = adj[k], None
            d_all = type(kept)(*d) if hasattr(kept, "_fields") else tuple(d)
            accumulate(name, library, adj, operands, pull, d_all)

        chain.__name__ = f"{name}_chain"
        found = []
        for n, v in enumerate(z):
            found.append(self._result(v, library_of(peek(v))))
            self.push(_input_chain if n else chain)
        return type(z)(*found) if hasattr(z, "_fields") else tuple(found)

    # ---- movements ---------------------------------------------------------------------------------------------------
    def perform(self, movement: Movement, x: LibraryVar, args: Sequence[Value], options: Options) -> LibraryVar:
        """A movement of the elements of one array."""
        library = x._library
        function, transpose = library.rebind(movement.function), library.rebind(movement.transpose)
        value = x._sync_parts()._value
        shape = tuple(value.shape)
        z = function(value, *args, **options)
        name = movement.function.__name__
        return self.record(name, z, library, [x], lambda d: (transpose(d, shape, *args, **options),))

    def join(self, function: Function, parts: Sequence[Value], axis: int) -> LibraryVar:
        """np.concatenate or np.stack of arrays and variables."""
        library = self._library_for(parts)
        values = [as_operand(library, self.value_in(x)) for x in parts]
        mine = [k for k, x in enumerate(parts) if isinstance(x, LibraryVar) and x._owner is self]
        shapes = [tuple(v.shape) for v in values]
        split = library.rebind(split_back if function is np.concatenate else unstack)
        z = library.rebind(function)(values, axis=axis)

        def pull(d: Value) -> list[Value]:
            found = split(d, shapes, axis)
            return [found[k] for k in mine]

        return self.record(function.__name__, z, library, [parts[k] for k in mine], pull)

    def choose(self, condition: Value, x: Value, y: Value) -> LibraryVar:
        """np.where."""
        library = self._library_for((x, y))
        back = library.rebind(choose_back)
        mine = [k for k, v in enumerate((x, y)) if isinstance(v, LibraryVar) and v._owner is self]
        chosen = peek(condition)
        z = library.rebind(np.where)(chosen, self.value_in(x), self.value_in(y))

        def pull(d: Value) -> list[Value]:
            found = back(d, chosen)
            return [found[k] for k in mine]

        return self.record("where", z, library, [(x, y)[k] for k in mine], pull)

    def move(self, move: Callable[[Nested], ArrayValue], sources: Nested) -> ArrayValue:
        """A function that moves elements of several sources: NumPy moves positions, and the library takes them."""
        parts: list[Value] = []
        start = _FIRST

        def number(x: Nested) -> Nested:
            nonlocal start
            if isinstance(x, (list, tuple)):
                return type(x)(map(number, x))
            shape = np.shape(peek(x)) if not hasattr(x, "shape") else tuple(x.shape)
            positions = (start + np.arange(float(np.prod(shape)))).reshape(shape)
            start += positions.size
            parts.append(x)
            return positions

        moved = move({key: number(x) for key, x in sources.items()})
        library = self._library_for([x for x in parts if isinstance(x, LibraryVar)])
        arrays: list[Any] = [x if isinstance(x, Carrier) else as_operand(library, x) for x in parts]
        flat = [np.reshape(x, (-1,)) for x in arrays]
        positions = np.asarray(moved) - _FIRST
        new = ~((positions >= 0.0) & (positions < np.inf))  # zeros and other constants between the elements
        if np.any(new):
            like = library.np.asarray(np.asarray(moved)[new], dtype=library.dtype)
            flat.insert(0, like)
            positions = positions + len(like)
            positions[new] = np.arange(len(like))
        joined = self.join(np.concatenate, flat, 0)
        found = joined.take(positions.astype(np.intp).reshape(-1))
        return found if positions.ndim == 1 else found.reshape(positions.shape)

    def writable(self, value: Value) -> ArrayValue:
        return self.array_variable(value)

    def adopt(self, y: Value) -> ArrayValue:
        raise UnsupportedError(
            "object arrays: not supported by the engine arrays; join variables with np.stack", level=self
        )

    # ---- the sweep ---------------------------------------------------------------------------------------------------
    def push_callback(self, f: Callable[[Adjoints], None], value: Value) -> Any:
        raise UnsupportedError("a callback: not supported by the engine arrays; write a rule", level=self)

    def sweep(self, top: int, seeds: Sequence[tuple[CellIndex, Value]]) -> AdjointVector:
        adj: list[Any] = [None] * (top + 1)
        for cell, seed in seeds:
            adj[cell] = seed if adj[cell] is None else adj[cell] + seed
        chain = self.chain
        once = self.once
        for k in range(top - 1, -1, -1):  # cell k + 1 was issued with chain[k]
            chain[k](adj)
            if once:
                chain[k] = _input_chain  # nobody else reads what it holds
        return adj

    def pull(self, made: Sequence[Any], seeds: Sequence[tuple[CellIndex, Value]]) -> list[Nested]:
        self.once = self.ended is None  # a gradient; a recording that has ended belongs to a pullback
        return super().pull(made, seeds)

    def cotangent(self, x: Value) -> Value:
        d = self.adjoints[x._cell] if x._cell < len(self.adjoints) else None
        return x.as_gradient(d)

    def adjoint_of(self, index: int) -> Value:
        d = self.adjoints[index] if index < len(self.adjoints) else None
        return 0.0 if d is None else d

    def rows(self) -> Iterator[Row]:
        for k, chain in enumerate(self.chain):
            yield Row(k + 1, chain.__name__.removesuffix("_chain"), (), (), 0.0)

    def footprints(self) -> Iterator[Footprint]:
        for _ in self.chain:
            yield Footprint(1, 0)

    def release(self) -> None:
        self.chain = []


def evaluate(name: str, library: Library, value: Function, args: Sequence[Value], options: Options) -> Any:
    """The value of an operation; a rule that needs NumPy's arrays is refused by name."""
    try:
        return value(*args, **options)
    except READS_VALUES as error:
        if library.is_numpy:
            raise
        raise refuse_rule(name, library, error) from error


def accumulate(
    name: str, library: Library, adj: list[Any], operands: Sequence[Operand], pull: Pull, d: Value
) -> None:
    """Add the cotangents of the operands to their adjoints."""
    try:
        for (i, shape, dtype), t in zip(operands, pull(d), strict=True):
            x_bar = settle(library, t, shape, dtype)
            adj[i] = x_bar if adj[i] is None else adj[i] + x_bar
    except READS_VALUES as error:
        if library.is_numpy:
            raise
        raise refuse_rule(name, library, error) from error


class Shaped:
    """The shape and dtype of an operand whose values no derivative reads, so that its memory is free."""

    __slots__ = ("dtype", "ndim", "shape", "size")

    @staticmethod
    def of(v: Value) -> Value:
        """Those of an array; a number is itself."""
        if not hasattr(v, "shape"):
            return v
        x: Any = Shaped()
        x.shape, x.dtype = tuple(v.shape), v.dtype
        x.ndim, x.size = len(x.shape), int(np.prod(x.shape))
        return x


def _input_chain(adj: list[Any]) -> None:
    """An independent variable has nothing to pass on."""


def settle(library: Library, t: Value, shape: tuple[int, ...], dtype: Any) -> Value:
    """A cotangent in the shape and the dtype of its operand."""
    if library.is_sparse and not isinstance(t, Carrier):
        t = library.adopt(t)
    if t.shape != shape:
        t = library.fold(t, shape)
    if dtype is not None and t.dtype != dtype:
        t = library.cast(t, dtype)
    return t


def as_operand(library: Library, x: Value) -> Value:
    """A constant operand as an array: rules take no lists or numbers."""
    if hasattr(x, "shape") and (library.is_numpy or not isinstance(x, np.ndarray)):
        return x
    return np.asarray(x) if library.is_numpy else library.np.asarray(x)
