"""Lists and dicts that grow become bounded buffers: an array with room for all elements, and a count of elements.

    y = []                       y, count = np.empty(bound), np.zeros(1)
    for v in x:            ->    for v in x:
        y.append(v * v)              y[count[0]] = v * v
                                     count[0] += 1

So derivatives are those of an array. `buffer_bounds` computes the bound where the buffer is created; an element beyond
the bound raises, because a limit may have changed since. A list display is full, and needs no count. A dict is a buffer
of values, and columns of keys in insertion order. Keys are integers, tuples of integers, or constant strings, which are
numbered.
"""

import ast
from collections.abc import Collection
from typing import Any

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import Iteration, Object, constant, is_number, join_kinds
from contad.engines.source.ir.ssa import INT, Check, Kind, Value, limit
from contad.engines.source.reading.reader import Reader

_FULL = limit("a list grows by more than the loops around append tell where it is made; make it behind their limits")
_FULL_DICT = limit(
    "a dict gets more keys than the loops around its assignments tell where it is made; make it behind their limits"
)
_BEYOND = "IndexError", "the index of a list is out of range"
_EMPTY = "IndexError", "pop from an empty list"
_CHANGED = "RuntimeError", "dictionary changed size during iteration"
_MISSING = ("KeyError",)
_INSIDE = "fill it in the function that makes it, under the name that it was made with"


class BoundedBuffer:
    """Numbers in an array of bounded length. The cell, an array (1,), holds their count; without a cell it is full."""

    def __init__(
        self, reader: Reader, array: Value, cell: Value | None = None, sites: Collection[Any] = (),
        maker: ast.Assign | None = None,
    ) -> None:  # fmt: skip
        """Hold the array; only the nodes in `sites` may add elements."""
        self.reader, self.array, self.cell, self.sites, self.maker = reader, array, cell, sites, maker
        self.is_typed = cell is None  # whether the kind of its elements is fixed
        self.is_read = False  # whether an element has been read

    def count(self) -> Value:
        """The number of elements."""
        assert self.cell is not None
        return self.reader.builder.load(self.cell, [constant(0)])

    def elements(self) -> Value:
        """A view of the current elements."""
        if self.cell is None:
            return self.array
        self.is_read = True
        return self.reader.builder.view(self.array, [(None, self.count(), None)])

    def place(self, index: Any, node: ast.AST) -> tuple[Value, list[Any]]:
        """The array and the index of an element; out of range, it raises whatever the flags of the function."""
        builder, array = self.reader.builder, self.elements()
        if not is_number(index) or index.kind != INT:
            self.reader.refuse(node, "{node} of a list", "give one integer, or make it an array")
        builder.add(Check(builder.apply(known_functions.OUTSIDE, index, builder.length(array, 0)), _BEYOND))
        return array, [index]

    def read(self, index: Any, node: ast.AST) -> Any:
        """The element at an index."""
        return self.reader.builder.load(*self.place(index, node))

    # ---- filling -----------------------------------------------------------------------------------------------------
    def give_kind(self, kind: Kind, node: ast.AST) -> None:
        """Set the kind of the elements; it must not change after an element was read."""
        base = kind.base
        if self.is_typed:
            base = join_kinds(Kind(base), Kind(self.array.kind.base)).base
        if base != self.array.kind.base:
            if self.is_read or self.is_typed:
                what = "a list or dict with numbers of another type than before"
                self.reader.refuse(node, what, "give it floats only")
            self.array.kind = Kind(base, 1)
        self.is_typed = True

    def add(self, count: Value, columns: list[tuple[Value, Value]], full: tuple[Any, ...]) -> Value:
        """Append numbers to their columns at index `count`, or raise `full`; the new count."""
        builder, put = self.reader.builder, self.reader.arrays.put
        bound = builder.length(self.array, 0)
        builder.add(Check(builder.apply(known_functions.COMPARISONS["GtE"], count, bound), full))
        for array, x in columns:
            put(array, [count], x)
        more: Value = builder.apply(known_functions.ADD, count, constant(1))
        assert self.cell is not None
        put(self.cell, [constant(0)], more)
        return more

    def append(self, x: Value, node: ast.AST) -> None:
        """Append a number."""
        self.give_kind(x.kind, node)
        self.add(self.count(), [(self.array, x)], _FULL)

    def call(self, name: str, arguments: list[Any], node: ast.Call) -> Any:
        """append(x) or pop()."""
        builder = self.reader.builder
        if name == "append" and len(arguments) == 1 and is_number(arguments[0]) and node in self.sites:
            self.append(arguments[0], node)
            return Object(None)
        if name == "pop" and not arguments and self.cell is not None:
            array = self.elements()
            last = builder.apply(known_functions.SUBTRACT, self.count(), constant(1))
            builder.add(Check(builder.apply(known_functions.COMPARISONS["Lt"], last, constant(0)), _EMPTY))
            found = builder.load(array, [last])
            self.reader.arrays.put(self.cell, [constant(0)], last)
            return found
        remedy = "append numbers under the name that it was made with, or pop the last"
        return self.reader.refuse(node, "{node} of a list", remedy)


class KeyedBuffer:
    """A dict: a buffer of values, columns of keys of the same length, and a hash table from keys to slots.

    A key is `width` integers; `width` is 0 for a string, which has a number.
    """

    def __init__(self, values: BoundedBuffer, width: int | None, columns: int, node: ast.AST) -> None:
        """Reserve space for as many keys as values; `width` may be set later."""
        self.reader, self.values, self.width = values.reader, values, width
        builder = self.reader.builder
        bound = builder.length(values.array, 0)
        self.columns = tuple(builder.create("empty", [bound], "int") for _ in range(columns))
        self.places = builder.create("zeros", [self.reader.inline(places_for, [bound], {}, node, {})], "int")
        self.texts: dict[str, int] = {}

    def count(self) -> Value:
        """The number of keys."""
        return self.values.count()

    # ---- keys --------------------------------------------------------------------------------------------------------
    def _integers(self, key: Any, node: ast.AST) -> tuple[Value, ...]:
        """The integers that represent a key."""
        if isinstance(key, Object) and isinstance(key.value, str) and not self.width and len(self.columns) == 1:
            self.width = 0
            return (constant(self.texts.setdefault(key.value, len(self.texts))),)
        parts = key if isinstance(key, tuple) else (key,)
        known = all(is_number(x) and x.kind == INT for x in parts)
        if not known or self.width not in (None, len(parts)) or len(parts) != len(self.columns):
            integers = "give an integer, or a tuple of as many as before"
            remedy = "give a string that the source shows" if self.width == 0 else integers
            self.reader.refuse(node, "the key in {node}", remedy)
        self.width = len(parts)
        return parts

    def find(self, key: Any, node: ast.AST) -> tuple[Value, Value, Value, tuple[Value, ...]]:
        """Whether a key is missing, its slot, its place in the table, and its integers."""
        parts = self._integers(key, node)
        with self.reader.progress.standing(pinned=True):
            slot, at = self.reader.inline(find_slot, [self.places, self.columns, parts], {}, node, {})
        return self.reader.builder.apply(known_functions.COMPARISONS["Lt"], slot, constant(0)), slot, at, parts

    def contains(self, key: Any, node: ast.AST) -> Value:
        """key in self."""
        found: Value = self.reader.builder.apply(known_functions.NOT, self.find(key, node)[0])
        return found

    def place(self, key: Any, node: ast.AST) -> tuple[Value, list[Any]]:
        """The array of values, and the slot of a key; raises if the key is missing."""
        missing, slot, *_ = self.find(key, node)
        self.reader.builder.add(Check(missing, _MISSING))
        return self.values.array, [slot]

    def read(self, key: Any, node: ast.AST) -> Any:
        """self[key]."""
        return self.reader.builder.load(*self.place(key, node))

    # ---- filling -----------------------------------------------------------------------------------------------------
    def put(self, key: Any, x: Value, node: ast.AST) -> None:
        """self[key] = x."""
        put = self.reader.arrays.put
        self.values.give_kind(x.kind, node)
        missing, slot, at, parts = self.find(key, node)
        count = self.count()

        def add(_: Any) -> None:
            columns = list(zip(self.columns, parts, strict=True))
            put(self.places, [at], self.values.add(count, columns, _FULL_DICT))

        self.reader.merging.branch(missing, {}, add, lambda _: None)
        put(self.values.array, [self.reader.builder.apply(known_functions.SELECT, missing, count, slot)], x)

    def assign(self, key: Any, entry: Any, target: ast.AST, statement: ast.AST | None) -> None:
        """self[key] = entry; it may add a key only if its site was counted."""
        if statement not in self.values.sites:
            made = f"the assignment to {ast.unparse(target)!r}, a dict made elsewhere"
            self.reader.refuse(target, made, _INSIDE)
        if not is_number(entry):
            what = f"the assignment of something that is no number to {ast.unparse(target)!r}"
            self.reader.refuse(target, what, "give a number")
        self.put(key, entry, target)

    # ---- reading all of it -------------------------------------------------------------------------------------------
    def list_keys(self, node: ast.AST) -> Any:
        """The keys in insertion order, for a loop."""
        if self.width == 0:
            remedy = "loop over a tuple of them, or .values()"
            self.reader.refuse(node, "a loop over the strings of a dict", remedy)
        return _zip(self._list(*self.columns))

    def _list(self, *arrays: Value) -> list[Any]:
        """Views of the current elements of arrays, as full buffers."""
        count = self.count()
        views = (self.reader.builder.view(array, [(None, count, None)]) for array in arrays)
        return [BoundedBuffer(self.reader, view) for view in views]

    def call(self, name: str, arguments: list[Any], node: ast.Call) -> Any:
        """A method of a dict."""
        builder, merging = self.reader.builder, self.reader.merging
        if not arguments and name in ("keys", "values", "items"):
            keys = [] if name == "values" else [self.list_keys(node)]
            return _zip(keys + ([] if name == "keys" else self._list(self.values.array)))
        numbers = len(arguments) == 2 and is_number(arguments[1])
        if name == "get" and numbers:
            self.values.give_kind(arguments[1].kind, node)
            missing, slot, *_ = self.find(arguments[0], node)
            otherwise = builder.convert(arguments[1], Kind(self.values.array.kind.base))
            return merging.choice(missing, lambda: otherwise, lambda: builder.load(self.values.array, [slot]))
        if name == "setdefault" and numbers and node in self.values.sites:
            missing, *_ = self.find(arguments[0], node)
            merging.branch(missing, {}, lambda _: self.put(arguments[0], arguments[1], node), lambda _: None)
            return self.read(arguments[0], node)
        remedies = {
            "get": "give a number for keys that are not there", "setdefault": _INSIDE,
            "pop": "assign 0.0, or fill another dict with what stays",
        }  # fmt: skip
        remedy = remedies.get(name, "write it as a loop over its keys")
        return self.reader.refuse(node, "{node} of a dict", remedy)

    def check_count(self, before: Value, ends: Value | None) -> None:
        """Raise if an iteration of a loop over a dict has added a key, unless it is the last one."""
        apply = self.reader.builder.apply
        changed = apply(known_functions.COMPARISONS["NotEq"], self.count(), before)
        goes_on = changed if ends is None else apply(known_functions.AND, changed, apply(known_functions.NOT, ends))
        self.reader.builder.add(Check(goes_on, _CHANGED))


def _zip(parts: list[Any]) -> Any:
    """One part, or all of them in a zip."""
    return parts[0] if len(parts) == 1 else Iteration("zip", parts, constant(0))


# ---- the keys of a dict, in functions that the generator inlines -----------------------------------------------------
# A hash table has the slot of each key plus one, or 0 if an entry is empty. No key is deleted, so slots do not change.
def places_for(room):  # type: ignore[no-untyped-def]
    """The size of the table for this number of keys: a power of two, at least twice the number."""
    size = 2
    while size < 2 * room:
        size *= 2
    return size


def find_slot(places, columns, key):  # type: ignore[no-untyped-def]
    """The slot of a key, or -1 for a new key, and the place in the table where the key is or would go."""
    last = len(places) - 1
    mixed = 0
    for part in key:
        mixed = mixed * 31 + part
    mixed = mixed ^ (mixed >> 15)
    at = mixed & last
    slot = places[at] - 1
    while slot >= 0:
        same = True
        for column, part in zip(columns, key):  # noqa: B905
            same = same and column[slot] == part
        if same:
            break
        at = (at + ((mixed >> 7) | 1)) & last  # an odd number, so that every place is reached
        slot = places[at] - 1
    return slot, at
