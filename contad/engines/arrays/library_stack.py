"""The engine `arrays`: the closure stack of `closures`, on whole arrays of any library.

An operation is evaluated by the library that owns the value, and pushes one continuation that calls the vjp of its
rule. The adjoints are a list of arrays of that library. Nothing here reads a number: an array may be on a device, or
stand for a computation that has not run yet.
"""

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from contad.engines.arrays.libraries import READS_VALUES, Library, library_of, refuse_rule
from contad.engines.arrays.library_var import LibraryVar
from contad.engines.arrays.movements import (
    FIRST,
    Movement,
    assign,
    choose_back,
    clear,
    find_last_writes,
    find_positions,
    put_back,
    split_back,
    unstack,
)
from contad.engines.arrays.numpy_names import gather
from contad.errors import StaleVariableError, UnsupportedError
from contad.rules.scalar_rule import owner_of
from contad.variables.adjoints import Adjoints
from contad.variables.array import numbers_in
from contad.variables.layout import same_layout
from contad.variables.number import Carrier, is_real, peek
from contad.variables.open_types import (
    AdjointVector,
    ArrayValue,
    CellIndex,
    Function,
    Key,
    Nested,
    Options,
    Rule,
    Value,
)
from contad.variables.stack import ChainStack, Footprint, Row
from contad.variables.trees import is_of_library, map_lists

Pull = Callable[[Any], Iterable[Value]]  # the cotangent of a result -> those of the operands that are variables
Places = Sequence[tuple[tuple[int, ...], Any]] | None  # shape and dtype of each operand; None: those of the result
Record = tuple[str, Library, Sequence[int], Places, Pull]  # a continuation: what its name says, and the operands' cells




class LibraryStack(ChainStack):
    """A list of continuations and a list of adjoints, which are arrays."""

    __slots__ = ("chain", "once", "owned")
    engine = "arrays"
    has_arrays = True
    takes_any = True  # arrays of any library

    def __init__(self, level: int | None = None) -> None:
        super().__init__(level)
        self.chain: list[Record | None] = []  # None: an independent variable has nothing to pass on
        self.push = self.chain.append
        self.once = False  # whether nobody sweeps again, so that a continuation is dropped when it has run
        self.owned: set[int] = set()  # cells whose adjoint is a sum that the sweep has made

    # ---- variables ---------------------------------------------------------------------------------------------------
    def array_variable(self, value: Value) -> LibraryVar:
        if value.__class__ is np.ndarray:
            value = np.array(value, order="C")  # its owner may write to it, and arguments have no layout
        return self.writable(value)

    def writable(self, value: Value) -> LibraryVar:
        x = self._result(value, library_of(peek(value)))
        x._first_cell = x._cell
        if self.watch is not None:
            self.watch.look_at_record("input", value, None)
        self.push(None)
        return x

    variable = float_variable = array_variable  # type: ignore[assignment]

    def float_variables(self, values: Sequence[float]) -> list[Any]:
        return [self.array_variable(x) for x in values]

    def _result(self, value: Value, library: Library) -> LibraryVar:
        make: Any = LibraryVar  # which overrides what its base leaves to the two kinds
        z: LibraryVar = make()
        z._owner, z._value, z._library = self, value, library
        z._shape = () if value.__class__ is float else tuple(getattr(value, "shape", ()))
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
                found = found or x._library
            elif hasattr(x, "shape") and hasattr(x, "dtype"):
                found = library_of(peek(x))
                if not found.is_numpy:
                    return found
        assert found is not None
        return found

    # ---- operations --------------------------------------------------------------------------------------------------
    def record(self, name: str, value: Value, library: Library, xs: Sequence[LibraryVar], pull: Pull) -> LibraryVar:
        """The result of an operation on variables `xs`, whose continuation calls `pull`."""
        if value.__class__ is not library.kind and not library.is_numpy and not isinstance(peek(value), library.kind):
            if library.name != "sparse":
                raise refuse_rule(name, library)
            value = library.adopt(value)  # a number, or an array without zeros
        elif library.is_numpy and value.__class__ is not library.kind and is_of_library(peek(value)):
            other = library_of(peek(value)).name
            raise UnsupportedError(
                f"{name}: a variable of NumPy beside an array of {other}; differentiate by an array of {other}, too"
            )
        if library.kind is float and not isinstance(value, Carrier) and np.shape(value) == ():
            value = float(value)
        dtype = getattr(value, "dtype", None)
        z = self._result(value, library if dtype is library.dtype else library_of(peek(value)))
        shape, own = z._shape, z._library
        cells, places = [], None
        for x in xs:
            cells.append(x._cell)
            if x._shape != shape or x._library is not own:
                places = [x.place() for x in xs]
        if self.watch is not None:
            pull = self.watch.look_at_record(name, z._value, pull)
        self.push((name, library, cells, places, pull))
        return z

    def apply_elementwise(self, rule: Rule, args: Sequence[Value]) -> Value:
        if self.ended is not None or not self.is_here():
            self.check_usable(rule.name)
        values: list[Any] = []
        xs, mine, plain, numbers = [], 0, True, False
        constants: list[int] = []
        library: Any = None
        bit = 1
        for x in args:
            v = x
            if x.__class__ is LibraryVar and x._owner is self:
                if x._move_of_view is not None:
                    x._sync_parts()
                mine |= bit
                xs.append(x)
                if library is None or library.kind is float:
                    library = x._library
                v = x._value
                if v.__class__ is LibraryVar:
                    plain = False
            elif x.__class__ is float or x.__class__ is int:
                numbers = True
            elif isinstance(x, float):  # of NumPy, which some libraries do not take
                numbers, found = True, self._library_for(args)
                v = x if found.is_numpy or found.name == "jax" else float(x)
            elif isinstance(x, Carrier):
                plain = False
            elif x.__class__ is np.ndarray and x.dtype == object:
                return self.apply_elementwise(rule, list(map(self._without_objects, args)))
            else:
                constants.append(len(values))
            values.append(v)
            bit += bit
        if library.kind is float:
            library = self._library_for(args)
        own = library.plain if plain and not (numbers and rule.operator in (None, "pow")) else library
        form = own.forms.get((rule, mine)) or own.form(rule, mine)
        try:
            z = form.value(*values) if plain else rule(*values)  # an operation of an outer level
        except READS_VALUES as error:
            if library.is_numpy:
                raise
            raise refuse_rule(rule.name, library, error) from error
        if not constants:
            return self.record(rule.name, z, library, xs, form.pull_from(z, values))
        watched: list[tuple[Any, int]] = []
        for k in constants:
            if k not in form.unread:
                values[k] = library.keep(values[k], watched)
        pull = form.pull_from(z, values)
        if watched:
            pull = functools.partial(pull_unwritten, rule.name, watched, pull)
        return self.record(rule.name, z, library, xs, pull)

    apply = apply_elementwise

    def _without_objects(self, x: Value) -> Value:
        return self.adopt(x) if x.__class__ is np.ndarray and x.dtype == object else x

    def apply_array(self, rule: Rule, args: Sequence[Value], options: Options) -> Value:
        args = list(map(self._without_objects, args))
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
        watched: list[tuple[Any, int]] = []
        if len(mine) < len(kept):
            kept = [v if k in mine else library.keep(v, watched) for k, v in enumerate(kept)]

        def pull(d: Value) -> Iterator[Value]:
            require_unwritten(rule.name, watched)
            more = saved if form.common is None else (*saved, form.common(kept_z, d, *kept, *saved, **options))
            for vjp in vjps:
                yield vjp(kept_z, d, *kept, *more, **options)

        xs = [args[k] for k in mine]
        if isinstance(z, tuple):
            return self.record_several(rule.name, z, xs, pull)
        return self.record(rule.name, z, library, xs, pull)

    def record_several(self, name: str, z: tuple[Value, ...], xs: Sequence[LibraryVar], pull: Pull) -> Value:
        """The results of an operation: elements of a tuple, which has a cell of its own."""
        library = self._library_for(xs)
        cell = self.top
        self.top += 1
        kept = z

        def pull_all(d: CotangentParts) -> Iterable[Value]:
            zeros = np.zeros_like if library.is_numpy else library.np.zeros_like
            d_all = [d.parts[n] if n in d.parts else zeros(v) for n, v in enumerate(kept)]
            return pull(type(kept)(*d_all) if hasattr(kept, "_fields") else tuple(d_all))

        self.push((name, library, [x._cell for x in xs], [x.place() for x in xs], pull_all))
        found = []
        for n, v in enumerate(z):
            found.append(self._result(v, library_of(peek(v))))
            self.push((name, library, [cell], None, lambda d, n=n: (CotangentParts({n: d}),)))
        return type(z)(*found) if hasattr(z, "_fields") else tuple(found)

    # ---- movements ---------------------------------------------------------------------------------------------------
    def perform(self, movement: Movement, x: LibraryVar, args: Sequence[Value], options: Options) -> LibraryVar:
        """A movement of the elements of one array."""
        library = x._library
        function, transpose = library.rebind(movement.function), library.rebind(movement.transpose)
        value = x._sync_parts()._value
        if value.__class__ is float:
            value = np.float64(value)
            library = library_of(value)
        shape = tuple(getattr(value, "shape", ()))
        z = function(value, *args, **options)
        name = movement.function.__name__
        return self.record(name, z, library, [x], lambda d: (transpose(d, shape, *args, **options),))

    def assign(self, x: Value, key: Key, y: Value) -> LibraryVar:
        """x with y at an index."""
        library = self._library_for((x, y))
        clear_at, last_writes = library.rebind(clear), library.rebind(find_last_writes)
        values = [as_operand(library, self.value_in(x)), self.value_in(y)]
        mine = [k for k, v in enumerate((x, y)) if isinstance(v, LibraryVar) and v._owner is self]
        last = last_writes(values[0].shape, key) if 1 in mine else None
        z = library.rebind(assign)(values[0], key, values[1])
        shape = tuple(getattr(y, "shape", ()))

        def pull(d: Value) -> Iterator[Value]:
            if 0 in mine:
                yield clear_at(d, key)
            if 1 in mine:
                t = d[key] if last is None else library.np.where(last, d[key], 0.0)
                yield library.fold(t, shape) if np.shape(t) != shape else t

        return self.record("assign", z, library, [(x, y)[k] for k in mine], pull)

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
        watched: list[tuple[Any, int]] = []
        kept = library.keep(chosen, watched)
        z = library.rebind(np.where)(chosen, self.value_in(x), self.value_in(y))

        def pull(d: Value) -> list[Value]:
            require_unwritten("where", watched)
            found = back(d, kept)
            return [found[k] for k in mine]

        return self.record("where", z, library, [(x, y)[k] for k in mine], pull)

    def move(self, move: Callable[[Nested], ArrayValue], sources: Nested) -> ArrayValue:
        """A function that moves elements of several sources: NumPy moves positions, and the library takes them."""
        parts: list[Value] = []
        start = FIRST

        def number(x: Nested) -> Nested:
            nonlocal start
            if isinstance(x, (list, tuple)):
                return type(x)(map(number, x))
            shape = np.shape(peek(x)) if not hasattr(x, "shape") else tuple(x.shape)
            positions = (start + np.arange(float(math.prod(shape)))).reshape(shape)
            start += positions.size
            parts.append(x)
            return same_layout(positions, peek(x))

        raw = move({key: number(x) for key, x in sources.items()})
        if isinstance(raw, (list, tuple)):
            return type(raw)(self.move(_part_of(move, k), sources) for k in range(len(raw)))
        library = self._library_for([x for x in parts if isinstance(x, LibraryVar)])
        gather_from, put = library.rebind(gather), library.rebind(put_back)
        raw = np.asarray(raw)
        moved, new = find_positions(raw)
        total = int(start - FIRST)
        z: Any
        if library.is_numpy:
            z = move({key: map_lists(self.value_in, x) for key, x in sources.items()})
        else:
            arrays = [as_operand(library, self.value_in(x)) for x in parts]
            if library.is_sparse:
                arrays = [x if isinstance(x, Carrier) else library.adopt(x) for x in arrays]
            z = gather_from(library.np.concatenate([library.np.reshape(x, (-1,)) for x in arrays]), move, moved)
            if np.any(raw[new]):  # constants between the elements
                z = library.np.where(library.np.asarray(new), library.np.asarray(np.where(new, raw, 0.0)), z)
        mine = [k for k, x in enumerate(parts) if isinstance(x, LibraryVar) and x._owner is self]
        shapes = [tuple(getattr(x, "shape", ())) for x in parts]
        ends = np.cumsum([math.prod(shape) for shape in shapes])

        def pull(d: Value) -> Iterator[Value]:
            flat = put(d, (total,), move, moved)
            for k in mine:
                part = flat[int(ends[k]) - math.prod(shapes[k]) : int(ends[k])]
                yield library.np.reshape(part, shapes[k])

        return self.record("move", z, library, [parts[k] for k in mine], pull)

    def adopt(self, y: Value) -> ArrayValue:
        """An object array of variables and numbers as an array variable."""
        return np.reshape(np.stack([np.asarray(x) if is_real(x) else x for x in y.flat]), y.shape)

    # ---- the sweep ---------------------------------------------------------------------------------------------------
    def push_callback(self, f: Callable[[Adjoints], None], value: Value) -> Any:
        raise UnsupportedError("a callback: not supported by the engine arrays; write a rule", level=self)

    def sweep(self, top: int, seeds: Sequence[tuple[CellIndex, Value]]) -> AdjointVector:
        adj: list[Any] = [None] * (top + 1)
        for cell, seed in seeds:
            adj[cell] = seed if adj[cell] is None else adj[cell] + seed
        chain, once = self.chain, self.once
        self.owned = owned = set()
        record: Any = None
        try:
            for k in range(top, 0, -1):  # cell k was issued with chain[k - 1]
                record, d = chain[k - 1], adj[k]
                if once:
                    chain[k - 1] = None  # nobody else reads what it holds
                if record is None or d is None:  # an argument, or the result does not depend on it
                    continue
                adj[k] = None
                _, library, cells, places, pull = record
                for n, pulled in enumerate(pull(d)):
                    t = pulled if places is None else settle(library, pulled, *places[n])
                    i = cells[n]
                    x_bar = adj[i]
                    if x_bar is None:
                        adj[i] = t
                    elif isinstance(t, Carrier):
                        adj[i] = t + x_bar  # some libraries refuse a variable behind their arrays
                    elif i in owned:
                        x_bar += t  # in place where arrays can be written
                        adj[i] = x_bar
                    else:
                        adj[i] = x_bar + t
                        owned.add(i)
        except READS_VALUES as error:
            if record is None or record[1].is_numpy:
                raise
            raise refuse_rule(record[0], record[1], error) from error
        return adj

    def pull(self, made: Sequence[Any], seeds: Sequence[tuple[CellIndex, Value]]) -> list[Nested]:
        self.once = self.ended is None  # a gradient; a recording that has ended belongs to a pullback
        return super().pull(made, seeds)

    def cotangent(self, x: Value) -> Value:
        cell = x._first_cell or x._cell
        d = self.adjoints[cell] if cell < len(self.adjoints) else None
        return x.as_gradient(d, cell in self.owned)

    def adjoint_of(self, index: int) -> Value:
        d = self.adjoints[index] if index < len(self.adjoints) else None
        return 0.0 if d is None else d

    def rows(self) -> Iterator[Row]:
        for k, record in enumerate(self.chain):
            name, cells = ("input", ()) if record is None else (record[0], tuple(record[2]))
            yield Row(k + 1, name, cells, (), "")

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


class CotangentParts:
    """The cotangent of a tuple of results: those of some of them, by position."""

    __slots__ = ("parts",)

    def __init__(self, parts: dict[int, Value]) -> None:
        self.parts = parts

    def __add__(self, other: "CotangentParts") -> "CotangentParts":
        return CotangentParts(self.parts | other.parts)


def require_unwritten(name: str, watched: Sequence[tuple[Any, int]]) -> None:
    """Refuse a derivative that reads constants which have changed since."""
    for v, version in watched:
        if v._version != version:
            raise StaleVariableError(f"{name}: a constant array was written to after this operation; write to a copy")


def pull_unwritten(name: str, watched: Sequence[tuple[Any, int]], pull: Pull, d: Value) -> Iterable[Value]:
    """A pullback that reads constants."""
    require_unwritten(name, watched)
    return pull(d)


def _part_of(move: Function, k: int) -> Function:
    return lambda sources: move(sources)[k]


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


def settle(library: Library, t: Value, shape: tuple[int, ...], dtype: Any) -> Value:
    """A cotangent in the shape and the dtype of its operand."""
    if library.is_sparse and not isinstance(t, Carrier):
        t = library.adopt(t)
    if getattr(t, "shape", ()) != shape:
        t = library.fold(t, shape)
    if dtype is not None and t.dtype != dtype:
        owner = owner_of("a cotangent", numbers_in(t)) if t.dtype == object and library.is_numpy else None
        if owner is not None:  # an array of numbers of an outer level
            t = owner.adopt(t)
        t = library.cast(t, dtype) if not isinstance(t, Carrier) else t.astype(dtype)  # type: ignore[union-attr]
    return t


def as_operand(library: Library, x: Value) -> Value:
    """A constant operand as an array: rules take no lists or numbers."""
    if hasattr(x, "shape") and (library.is_numpy or not isinstance(x, np.ndarray)):
        return x
    return np.asarray(x) if library.is_numpy else library.np.asarray(x)
