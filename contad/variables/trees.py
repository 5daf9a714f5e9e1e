"""Arguments and results as pytrees of numbers: flattened, activated, read back.

A leaf is a real number, a number of an outer level, or an array of these.
"""

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from contad.errors import NestingError, OutputError, UnsupportedError, VariableError
from contad.variables.arguments import kind_of, operand
from contad.variables.array import Array, numbers_in
from contad.variables.complex_pair import (
    ComplexArray,
    ComplexNumber,
    ComplexPair,
    as_pair,
    holds_pairs,
    is_complex,
    join,
)
from contad.variables.dtypes import KEPT, PRECISION
from contad.variables.kept_dtypes import STANDING, round_to
from contad.variables.layout import plain_form, subclass_of_arrays
from contad.variables.level import Level
from contad.variables.number import Carrier, Number, is_real, map_numbers
from contad.variables.open_types import ArrayValue, Function, Nested, Owner, Real, Rule, Value

CONTAINERS = (list, tuple, dict)


class Tree(NamedTuple):
    """A flattened pytree; `spec` is None for a lone leaf."""

    leaves: list[Value]
    spec: Any
    dtypes: Sequence[Any] | None = None  # of the leaves, for which other leaves in their places stand, too

    def describe(self) -> str:
        """The structure, for messages."""
        if self.spec is None:
            return "a number or an array"
        if self.leaves and self.spec.is_leaf():  # and not a real number
            return kind_of(self.leaves[0])
        text = _PAIR.sub(lambda found: f"a complex {found[1].lower()}", str(self.spec))
        return text[len("PyTreeSpec(") : -1] if text.startswith("PyTreeSpec(") else text

    @property
    def is_complex(self) -> bool:
        """Whether there are complex numbers or arrays in it."""
        return self.spec is not None and _PAIR.search(str(self.spec)) is not None

    def matches(self, other: "Tree") -> bool:
        """Whether the structures are the same; shapes of leaves may differ, also of complex numbers and arrays."""
        if self.spec == other.spec or self.spec is None or other.spec is None:
            return bool(self.spec == other.spec)
        return _PAIR.sub("z", str(self.spec)) == _PAIR.sub("z", str(other.spec))

    def unflatten(self, leaves: Sequence[Value]) -> Nested:
        """A pytree of this structure with other leaves."""
        if self.dtypes is not None:
            leaves = [x if d is None else round_to(x, d) for x, d in zip(leaves, self.dtypes, strict=True)]
        if self.spec is None:
            return leaves[0]
        return _optree().tree_unflatten(self.spec, leaves)


_PAIR = re.compile(r"CustomTreeNode\(Complex(Number|Array)\[None\], \[\*, \*\]\)")


def flatten(x: Nested) -> Tree:
    """The leaves and the structure of x; None is an empty subtree."""
    kind = x.__class__
    if (kind is list or kind is tuple) and {*map(type, x)} == _FLOATS:
        return Tree([*x], _spec_of_numbers(kind, len(x)))
    leaves: list[Value] = [x]
    spec = None
    if not _is_number_or_array(x):
        leaves, spec = _optree().tree_flatten(as_pair(x))
        if any(is_complex(x) or holds_pairs(x) for x in leaves):  # the parts are leaves
            leaves, spec = _optree().tree_flatten(_optree().tree_map(as_pair, x))
    if PRECISION.keeps or STANDING:
        dtypes = [*map(_find_kept, leaves)]
        return Tree(leaves, spec, dtypes if any(dtypes) else None)
    return Tree(leaves, spec)


def _find_kept(leaf: Value) -> Any:
    """The dtype of a leaf, if it keeps it."""
    found = getattr(leaf, "dtype", None)
    return found if found in KEPT and (PRECISION.keeps or leaf.__class__ in STANDING) else None


_FLOATS = {float}


@functools.cache
def _optree() -> Any:
    """The library of pytrees, to which a complex number is a node with two leaves."""
    import optree

    kinds: Any = ComplexNumber, ComplexArray
    for kind in kinds:
        everywhere = getattr(optree.registry, "__GLOBAL_NAMESPACE")
        optree.register_pytree_node(
            kind, _parts, _of_parts, path_entry_type=optree.GetAttrEntry, namespace=everywhere
        )
    return optree


def _parts(z: Any) -> tuple[tuple[Value, Value], None, tuple[str, str]]:
    return (z._real, z._imag), None, ("real", "imag")


def _of_parts(_: Any, parts: Iterable[Value]) -> Any:
    return join(*parts)


@functools.lru_cache(256)
def _spec_of_numbers(kind: type, n: int) -> Any:
    """The structure of a list or tuple of n numbers, cached: finding it takes as long as recording their operations."""
    return _optree().tree_structure(kind([0.0] * n))


def leaves_of(x: Nested) -> list[Nested]:
    """The leaves of x, whatever they are; None is one.

    >>> leaves_of((1.0, [2.0, None], "text"))
    [1.0, 2.0, None, 'text']
    """
    if _is_number_or_array(x):
        return [x]
    leaves: list[Nested] = _optree().tree_leaves(x, none_is_leaf=True)
    return leaves


def map_leaves(f: Function, x: Nested, *others: Nested, is_leaf: Callable[[Nested], bool] | None = None) -> Nested:
    """x with f(leaf) for each leaf, or f(leaf, *leaves) with those in the same places of others; None is one.

    Others have the structure of x. A subtree for which `is_leaf` holds counts as a leaf.

    >>> map_leaves(lambda n, k: n * k, (1.0, [2.0]), (3.0, [4.0]))
    (3.0, [8.0])
    """
    if _is_number_or_array(x):
        return f(x, *others)
    return _optree().tree_map(f, x, *others, is_leaf=is_leaf, none_is_leaf=True)


def holds_carriers(x: Nested) -> bool:
    """Whether x is a number or an array of a level, or a container with one; does not look into object arrays."""
    return not is_real(x) and any(isinstance(leaf, Carrier) for leaf in leaves_of(x))


def holds_number(x: Nested) -> bool:
    """As `holds_carriers`, but assumes that every object array holds one."""
    return any(y.dtype == object if isinstance(y, np.ndarray) else isinstance(y, Carrier) for y in leaves_of(x))


def map_lists(f: Function, x: Nested, *others: Nested) -> Nested:
    """As `map_leaves`, only for nested lists and tuples: for moves of elements, which cost less than a call of optree.

    >>> map_lists(lambda n: 2.0 * n, [1.0, (2.0,)])
    [2.0, (4.0,)]
    """
    if not isinstance(x, (list, tuple)):
        return f(x, *others)
    kind = list if isinstance(x, list) else tuple
    if not others:
        return kind([map_lists(f, part) if isinstance(part, (list, tuple)) else f(part) for part in x])
    return kind([map_lists(f, *parts) for parts in zip(x, *others, strict=True)])


def _is_number_or_array(x: Nested) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype.kind != "c" and not holds_pairs(x)
    if x.__class__ in CONTAINERS:
        return False
    return x.__class__ is float or isinstance(x, Carrier) or is_real(x) or is_of_library(x)


def real_leaf(leaf: Value, what: str) -> Value:
    """A leaf as levels take it: a float, a float array, a number or array of an outer level, or an object array.

    Raises UnsupportedError for leaves that are not real numbers or arrays of them.
    """
    if leaf.__class__ is float:
        return leaf
    if isinstance(leaf, Carrier):
        leaf._owner.check_usable(what)
        if leaf._owner.takes_any:
            raise LibraryArrayError(f"{what}: {leaf.kind}s of the engine arrays; name the engine, engine='arrays'")
        return leaf
    if is_real(leaf) and not isinstance(leaf, (bool, np.bool_)):
        return float(leaf)
    if subclass_of_arrays(leaf):
        raise UnsupportedError(
            f"{what}: expected plain arrays, got {subclass_of_arrays(leaf)}, whose semantics would be lost; pass "
            f"{plain_form(leaf)}"
        )
    if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fiu":
        return leaf.astype(np.float64, copy=False)
    if isinstance(leaf, np.ndarray) and leaf.dtype == object:
        checked = np.empty(leaf.shape, object)
        for k in np.ndindex(leaf.shape):
            if isinstance(leaf[k], (np.ndarray, Array)):
                raise UnsupportedError(f"{what}: an element of an array is an array itself; use a list of arrays")
            checked[k] = real_leaf(leaf[k], what)
        return checked
    error: type[VariableError] = LibraryArrayError if is_of_library(leaf) else UnsupportedError
    raise error(
        f"{what}: expected real numbers, or lists, tuples, dicts and arrays of them; got {kind_of(leaf)}"
        f"{_how_to_differentiate(leaf)}"
    )


class LibraryArrayError(VariableError):
    """An argument is an array of a library other than NumPy, which only the engine `arrays` takes."""


_LIBRARY_KINDS: set[type] = set()  # classes of arrays that have been met


def is_of_library(x: object) -> bool:
    """Whether this is an array of a library other than NumPy."""
    if x.__class__ in _LIBRARY_KINDS:
        return True
    if isinstance(x, (np.ndarray, np.generic, Carrier, ComplexPair, float, int, type)):
        return False
    kind = type(x)
    if hasattr(kind, "tocsr") and not hasattr(kind, "__array_namespace__"):  # SciPy's sparse arrays
        return False
    if any(hasattr(kind, name) for name in ("__array_namespace__", "__array_function__", "__torch_function__")):
        _LIBRARY_KINDS.add(kind)
        return True
    return False


def _how_to_differentiate(x: object) -> str:
    """The remedy for an object of a user's class: a tree of its attributes; it names one of them."""
    held = {} if isinstance(x, (type, ModuleType, FunctionType)) else getattr(x, "__dict__", {})
    names = sorted((name for name in held if name[0] != "_"), key=lambda name: not _is_number_or_array(held[name]))
    if not names:
        return ""
    return (
        f'; pass a tree of the attributes to differentiate, as {{"{names[0]}": x.{names[0]}}} of an object x, and make '
        "the object from the tree inside the function"
    )


def plain_leaf(what: str, name: str, leaf: Value) -> Value:
    """A leaf of cotangents or tangents: a float, a float array, or numbers of outer levels."""
    if isinstance(leaf, Array) or is_of_library(leaf):
        return leaf
    if subclass_of_arrays(leaf):
        expected = f"a plain array, {plain_form(leaf)}"
        raise UnsupportedError(f"{what}: {name} must be {expected}, got {subclass_of_arrays(leaf)}")
    if isinstance(leaf, np.ndarray) and leaf.dtype != object:
        if leaf.dtype.kind not in "fiu":
            operand(what, name, leaf)
        return leaf.astype(np.float64, copy=False)
    if isinstance(leaf, np.ndarray):
        checked = np.empty(leaf.shape, object)
        for k in np.ndindex(leaf.shape):
            checked[k] = operand(what, name, leaf[k])
        return checked
    return operand(what, name, leaf)


def elements(leaf: Value) -> list[Real]:
    """The numbers of a leaf, in C order."""
    if isinstance(leaf, Array):
        return list(leaf.ravel())
    return list(leaf.flat) if isinstance(leaf, np.ndarray) else [leaf]


def assemble(parts: Sequence[Value], shape: tuple[int, ...]) -> ArrayValue:
    """Numbers or arrays of one shape, in C order, as one array: of floats, or of an outer level, or of objects."""
    if any(isinstance(x, Array) for x in parts):
        return np.reshape(np.stack(parts), shape)
    objects = any(isinstance(x, Number) or (isinstance(x, np.ndarray) and x.dtype == object) for x in parts)
    array = np.empty(shape, object if objects else float)
    array.reshape(-1)[:] = [number for x in parts for number in elements(x)] if objects else np.ravel(parts)
    return array


def scalar_output(y: Nested, what: str, level: Level | None = None) -> Real:
    """The result of a function as one real number; otherwise OutputError says what to use.

    A number of an outer level is a constant here. A number of an inner level would look like one, so it is refused.
    """
    if y.__class__ is float:
        return y
    if isinstance(y, Number):
        _require_level(y, what, level)
        return y
    if isinstance(y, (np.ndarray, Array)) and y.shape == ():
        if isinstance(y, Array) and y._owner.takes_any:
            _require_level(y, what, level)
            return y
        return scalar_output(y[()], what, level)
    if y is None:
        raise OutputError(f"{what} returned None; return the value to differentiate")
    if is_complex(y):
        raise OutputError(
            f"{what} must return one real number, got a complex one; return np.abs(z), z.real or z.imag, or use "
            "contad.vjp with a cotangent, or contad.jacobian(f, holomorphic=True)"
        )
    if is_real(y) and not isinstance(y, (bool, np.bool_)):
        return y if PRECISION.keeps and getattr(y, "dtype", None) in KEPT else float(y)
    held = getattr(y, "data", None)  # of xarray, whose arrays hold arrays of any kind
    if getattr(y, "shape", None) == () and isinstance(held, (Carrier, np.ndarray)):
        return scalar_output(held, what, level)
    shape, advice = "", "for several outputs use contad.jacobian or contad.vjp, for extra results has_aux=True"
    if isinstance(y, (np.ndarray, Array)):
        shape = f" of shape {y.shape}"
        advice = "return z.item(), its one element, or z.sum()" if y.size == 1 else advice
    raise OutputError(f"{what} must return one real number, got {type(y).__name__}{shape}; {advice}")


def _require_level(y: Carrier, what: str, level: Level | None) -> None:
    """Refuse a result of a level that was opened inside the one whose result it is."""
    if level is not None and y._owner is not level:
        y._owner.check_usable(what)
        if y._owner.level > level.level:
            raise NestingError(f"{what} returned a {y.kind} of a level opened inside it; return contad.value_of it")


def output_leaves(tree: Tree, what: str, level: Level | None = None) -> list[Value]:
    """The leaves of a result, each a number or an array of numbers."""
    if not tree.leaves:
        nothing = "None" if tree.describe().startswith("None") else f"{tree.describe()}, without a number in it"
        raise OutputError(f"{what} returned {nothing}; return the value to differentiate")
    checked: list[Value] = []
    for leaf in tree.leaves:
        if is_of_library(leaf):  # a constant
            checked.append(leaf)
        elif isinstance(leaf, Array) and leaf.shape:
            _require_level(leaf, what, level)
            checked.append(leaf)
        elif isinstance(leaf, np.ndarray) and leaf.ndim:
            for x in leaf.flat if leaf.dtype == object else ():
                scalar_output(x, f"{what}: every element of the result", level)
            if leaf.dtype.kind not in "fiuO":
                raise OutputError(f"{what} returned an array of {leaf.dtype}; expected real numbers")
            checked.append(leaf)
        else:
            checked.append(scalar_output(leaf, what, level))
    return checked


def with_cotangents(what: str, result: Tree, leaves: Sequence[Value], cotangent: Nested) -> list[tuple[Value, Value]]:
    """The leaves of a result with those of a cotangent, which must have its structure and shapes."""
    tree = flatten(cotangent)
    if not tree.matches(result):
        raise TypeError(
            f"{what}: the cotangent must have the structure of the result, {result.describe()}, got {tree.describe()}"
        )
    for leaf, z_bar in zip(leaves, tree.leaves, strict=True):
        if getattr(leaf, "shape", ()) != getattr(z_bar, "shape", ()):
            raise TypeError(
                f"{what}: a cotangent must have its result's shape, {getattr(leaf, 'shape', ())}, "
                f"got {getattr(z_bar, 'shape', ())}"
            )
    return [(leaf, plain_leaf(what, "a cotangent", x)) for leaf, x in zip(leaves, tree.leaves, strict=True)]


def lower(x: Nested, owner: Owner) -> Nested:
    """x with the numbers of this owner replaced by their values: lowered by exactly one level."""
    if isinstance(x, Number):  # the result of most functions
        return x.value if x._owner is owner else x

    def lower(n: Any) -> Value:
        return n.value if n._owner is owner else n

    return map_numbers(lower, x)


# ---- operations over containers --------------------------------------------------------------------------------------


def map_containers(rule: Rule, args: tuple[Nested, ...]) -> Nested:
    """Apply a rule over nested lists, tuples and dicts; a number meets every element of a container."""
    shapes = [x for x in args if isinstance(x, CONTAINERS)]
    first = shapes[0]
    keys: Any = first.keys() if isinstance(first, dict) else range(len(first))
    for x in shapes[1:]:
        other = x.keys() if isinstance(x, dict) else range(len(x))
        if type(x) is not type(first) or set(other) != set(keys):
            raise TypeError(
                f"{rule.name}: containers must have one structure, got {_structure(first)} and {_structure(x)}"
            )
    items = {k: rule(*(x[k] if isinstance(x, CONTAINERS) else x for x in args)) for k in keys}
    if isinstance(first, dict):
        return items
    if hasattr(first, "_fields"):
        return type(first)(*items.values())
    return type(first)(items.values())


def _structure(x: Any) -> str:
    return f"dict with keys {sorted(map(str, x))}" if isinstance(x, dict) else f"{type(x).__name__} of {len(x)}"


def list_operands(args: tuple[Nested, ...]) -> tuple[Value, ...]:
    """Operands combined with an array; lists and tuples become arrays, as with ndarrays."""
    return tuple(
        np.array(x, dtype=object if numbers_in(x) else None) if isinstance(x, (list, tuple)) else x for x in args
    )


def like_tuple(z: tuple[Value, ...], items: Iterable[Value]) -> tuple[Value, ...]:
    """Items in a tuple of the class of z, possibly a named tuple: for a rule with several results."""
    return type(z)(*items) if hasattr(z, "_fields") else tuple(items)
