"""NumPy functions on array variables: the table that `__array_function__` looks up, and the kinds of entries.

rule       an array rule: one record, with a vjp and a jvp
movement   f on the value and f on the cells (or tangents): no record, no rule; a view where NumPy gives one
constant   integer- or bool-valued: f on the primals, a plain result without derivative
composite  a function that calls other entries

SciPy's ufuncs have replacements that are written with rules.
"""

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.errors import LostDerivativeError, UnsupportedError
from contad.rules.scalar_rule import owner_of
from contad.variables.array import Array, as_objects, copy_parts, lower_constants, numbers_in, root_of
from contad.variables.complex_pair import ComplexArray, ComplexPair, holds_complex, imag_part, join, real_part
from contad.variables.layout import inverse, layout_of
from contad.variables.number import map_numbers, observe, peek, primal
from contad.variables.open_types import ArrayValue, Function, Nested, Option, Options, Sources, Value
from contad.variables.trees import flatten, map_leaves, map_lists


class Entry(NamedTuple):
    """One NumPy function that contad differentiates, or evaluates as a constant."""

    function: Function
    kind: str
    implementation: Function
    name: str
    # engines' fast implementations by the class of the first argument, and of the second (called as f(y, x))
    methods: dict[type, Function]
    reflected: dict[type, Function]


NO_VALUE = inspect.signature(np.diff).parameters["prepend"].default  # NumPy's defaults of omitted options

_entries: dict[Function, Entry] = {}
_COUNTS = frozenset((int, type(None)))


def register(entry: Entry) -> None:
    """Put an entry into the table; a later one replaces it."""
    _entries[entry.function] = entry


def entry_of(function: Function) -> Entry | None:
    """The entry of a NumPy function, if it has one."""
    return _entries.get(function)


def entries() -> tuple[Entry, ...]:
    """Every entry, in order of registration."""
    return tuple(_entries.values())


def find_exported_name(function: Function) -> str:
    """The name that a reader would look for: np.sum, np.linalg.norm."""
    module = getattr(function, "__module__", None) or "numpy"
    return f"{module.replace('numpy', 'np', 1)}.{function.__name__}"


# ---- kinds of entries ------------------------------------------------------------------------------------------------
def moves(function: Function, *data: int | str, parameters: str = "") -> None:
    """Declare that a function only moves elements; `data` are the arguments whose elements it moves.

    Positions, with the name where an argument is passed by name (given by `parameters`, the function's names in
    order). Such an argument may be an array, a number, or a list or tuple of these.
    """
    names = tuple(parameters.split())
    keys = tuple(d if isinstance(d, str) else names[d] if names else d for d in data)

    name = find_exported_name(function)
    is_first = keys == (names[:1] or (0,))  # and everything that moves: an integer among further data is an element

    def implementation(*args: Nested, **kwargs: Option) -> Value:
        if is_first and not kwargs and isinstance(args[0], Array) and _COUNTS.issuperset(map(type, args[1:])):
            first, *rest = args  # the rest is immutable
            first._owner.check_usable(name)
            return first._move((lambda a: function(a, *rest)) if rest else function)
        refuse_out(function, kwargs)
        # a view moves again later, when the caller may have changed lists and arrays among the arguments
        args, kwargs = (
            copy_options(args, keys, names),
            {k: x if k in keys else copy_parts(x) for k, x in kwargs.items()},
        )
        given: Sources = dict(enumerate(args)) if not names else dict(zip(names, args, strict=False))
        given |= kwargs
        sources = {key: given[key] for key in keys if key in given}
        others = {key: map_numbers(primal, x) for key, x in given.items() if key not in sources}

        def move(values: Sources) -> ArrayValue:
            merged = {key: values.get(key, others.get(key)) for key in given}
            by_position = [x for key, x in merged.items() if isinstance(key, int)]
            by_name = {key: x for key, x in merged.items() if isinstance(key, str)}
            if names:  # keep positional arguments positional, because NumPy has some positional-only ones
                by_position = [by_name.pop(name) for name in names[: len(args)]]
            return function(*by_position, **by_name)

        return move_elements(name, move, sources)

    register(Entry(function, "movement", implementation, function.__name__, {}, {}))


def copy_options(args: tuple[Nested, ...], keys: Sequence[int | str], names: Sequence[str]) -> tuple[Nested, ...]:
    """Positional arguments with copies of all but the arrays whose elements are moved."""
    labels: Sequence[int | str] = names or range(len(args))
    return tuple(x if label in keys else copy_parts(x) for label, x in zip(labels, args, strict=False))


def move_elements(name: str, move: Callable[[Sources], ArrayValue], sources: Sources) -> ArrayValue:
    """move(sources), performed by the level that owns the highest of the arrays and numbers in them."""
    if len(sources) == 1:
        ((key, x),) = sources.items()
        if isinstance(x, Array):
            x._owner.check_usable(name)
            return x._move(lambda a: move({key: a}))
    if any(map(holds_complex, sources.values())):
        parts = [
            move_elements(name, move, {key: map_lists(part, x) for key, x in sources.items()})
            for part in (real_part, imag_part)
        ]
        return map_lists(join, *parts)
    owner = owner_of(name, numbers_in(list(sources.values())))
    if owner is None:
        return move(sources)
    return owner.move(move, sources)


def constant(*functions: Function) -> None:
    """Declare functions whose results carry no derivative: they are evaluated on the primals."""
    for function in functions:

        def implementation(*args: Nested, function: Function = function, **kwargs: Option) -> Value:
            return observe(function, *args, **kwargs)

        register(Entry(function, "constant", implementation, function.__name__, {}, {}))


def implements(*functions: Function, layout: str = "asked") -> Callable[[Function], Function]:
    """Declare a function with NumPy's signature, written with other entries, to stand for NumPy functions.

    The memory order of a result decides what later views of it share. `layout` says how the function gets NumPy's order
    if an operand is not in C order. "asked": call NumPy's function on the primals and copy the order of its result.
    "asked on corners": the same with two elements along each axis, if that suffices. "own": the function produces that
    order by itself. A test checks every function.
    """

    def declare(implementation: Function) -> Function:
        for function in functions:
            found = implementation if layout == "own" else _with_layout(function, implementation, layout)
            register(Entry(function, "composite", found, function.__name__, {}, {}))
        return implementation

    return declare


def _with_layout(function: Function, implementation: Function, layout: str) -> Function:
    @functools.wraps(implementation)
    def implement(*args: Nested, **options: Option) -> Value:
        z = implementation(*args, **options)
        if isinstance(z, (list, tuple)) or getattr(z, "ndim", 0) > 1:
            operands = _arrays_in((*args, *options.values()))
            if not all(peek(x).flags.c_contiguous for x in operands):
                with np.errstate(all="ignore"):
                    expected = _evaluate(function, args, options, layout == "asked on corners")
                return _laid_out(z, expected, {id(root_of(x)) for x in operands})
        return z

    return implement


def _arrays_in(args: tuple[Nested, ...]) -> list[ArrayValue]:
    """The arrays of two or more axes among arguments, and in the lists among them; real parts of complex ones."""
    found: list[ArrayValue] = []
    map_lists(lambda x: found.append(real_part(x) if isinstance(x, ComplexPair) else x), args)
    arrays = [x for x in found if isinstance(x, (np.ndarray, Array)) and x.ndim > 1]
    return [x for x in arrays if isinstance(peek(x), np.ndarray)]


def _evaluate(function: Function, args: Sequence[Nested], options: Options, on_corners: bool) -> Value:
    """The result of NumPy's function; None if NumPy refuses arguments that contad accepts."""
    if on_corners:
        with contextlib.suppress(ValueError, IndexError):  # an array that is not an operand, but controls the operation
            return function(*map_leaves(_corner, args), **options)
    with contextlib.suppress(ValueError, IndexError, TypeError):
        return function(*map_numbers(peek, args), **map_numbers(peek, options))
    return None


def _corner(x: Value) -> Nested:
    v = peek(x)
    return v[(slice(2),) * v.ndim] if isinstance(v, np.ndarray) else v


def _laid_out(z: Value, expected: Value, arguments: set[int]) -> Value:
    """z, or the arrays in it, in the memory order of NumPy's result; views of arguments are left unchanged."""
    tree, wanted = flatten(z), flatten(expected).leaves
    if len(wanted) != len(tree.leaves):  # NumPy refuses arguments that contad accepts
        return z
    return tree.unflatten([_in_order(x, y, arguments) for x, y in zip(tree.leaves, wanted, strict=True)])


def _in_order(z: Value, expected: Value, arguments: set[int]) -> Value:
    """The same for one leaf."""
    if not isinstance(z, (np.ndarray, Array)) or z.ndim < 2 or id(root_of(z)) in arguments:
        return z
    if not isinstance(expected, np.ndarray) or expected.ndim != z.ndim:
        return z
    axes = layout_of([expected])
    if axes == layout_of([peek(z)]):
        return z
    return z.copy() if axes is None else z.transpose(axes).copy().transpose(inverse(axes))


def refuse_out(function: Function, options: Options) -> None:
    """Refuse out=, and drop it if it is None."""
    if options.pop("out", None) is not None:
        raise UnsupportedError(
            f"{find_exported_name(function)}: out= is not supported on variables; assign the result: x[...] = ..."
        )


# ---- results in arrays that the caller gives -------------------------------------------------------------------------
def write_result(name: str, out: Any, result: Value, broadcasts: bool = False) -> Value:
    """The result written into out=, which may be a tuple for several results; ufuncs broadcast to it."""
    if isinstance(result, tuple):
        return tuple(z if a is None else write_result(name, a, z, broadcasts) for a, z in zip(out, result, strict=True))
    (target,) = out if isinstance(out, tuple) else (out,)
    shape = np.shape(result)
    if shape != np.shape(target) and not (broadcasts and _fills(shape, np.shape(target))):
        raise ValueError(f"{name}: out must have shape {shape}, got {np.shape(target)}")
    if isinstance(target, np.ndarray) and target.dtype == object:
        target[...] = as_objects(result)
    elif isinstance(target, (Array, ComplexArray)):
        target[...] = result
    else:
        raise LostDerivativeError(
            f"{name}: an array of floats cannot hold a variable (out=, or an operation in place); write a = a + x, or "
            "create a with contad.zeros"
        )
    return target


def _fills(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether NumPy broadcasts a result of this shape to such an out=."""
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


@functools.cache
def _place_of_out(function: Function) -> int:
    """The position of the parameter out among those of a NumPy function; beyond all arguments if there is none."""
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # compiled functions of NumPy 2.0
        return 2 if function is np.dot or function is np.concatenate else sys.maxsize
    given = [name for name, x in parameters.items() if x.kind not in (x.KEYWORD_ONLY, x.VAR_KEYWORD)]
    return given.index("out") if "out" in given else sys.maxsize


def with_out(
    function: Function, found: Entry | None, args: tuple[Nested, ...], kwargs: Options
) -> tuple[bool, Value]:
    """Whether a call names an array for its result, and that array with the result."""
    place = _place_of_out(function)
    out = args[place] if len(args) > place else kwargs.get("out")
    if out is None or found is None or found.kind == "constant":
        return False, None
    rest = {name: x for name, x in kwargs.items() if name != "out"}
    z = function(*(None if k == place else x for k, x in enumerate(args)), **rest)
    return True, write_result(find_exported_name(function), out, z, function in (np.clip, np.round, np.around))


# ---- NumPy's protocol ------------------------------------------------------------------------------------------------
def array_function(
    x: Value, function: Function, types: Sequence[type], args: tuple[Nested, ...], kwargs: Options
) -> Value:
    """Dispatch a NumPy function that was called with an array variable to its entry."""
    found = _entries.get(function)
    if len(args) > 2 or "out" in kwargs:
        is_given, z = with_out(function, found, args, kwargs)
        if is_given:
            return z
    if found is not None and found.methods and args:
        kind, methods = args[0].__class__, found.methods
        if kind in methods:
            return methods[kind](*args, **kwargs)
        if len(args) == 2 and not kwargs:
            fast = found.reflected.get(args[1].__class__)
            if fast is not None:
                return fast(args[1], args[0])
    if len(types) > 1 and any(issubclass(t, ComplexPair) for t in types):
        return NotImplemented  # complex arrays handle it
    inner: Any = None  # the innermost level of arguments that hold only constants
    for v in (*args, *kwargs.values()):
        if isinstance(v, Array) and v.is_constant and (inner is None or v._owner.level > inner.level):
            inner = v._owner
    if inner is not None:
        if found is None:  # read-only copies, so that no write goes unseen
            given = [map_lists(_as_plain, v) for v in args], {key: map_lists(_as_plain, v) for key, v in kwargs.items()}
            if not numbers_in([*given[0], *given[1].values()]):
                return function(*given[0], **given[1])
        else:  # the first argument is written to, or viewed; the result of constants is a constant
            rest = [*map(lower_constants, args[1:])]
            named = {key: v if key in ("out", "a") else lower_constants(v) for key, v in kwargs.items()}
            if numbers_in([*args[:1], *rest, *named.values()]):
                args, kwargs = (*args[:1], *rest), named
                if all(n._owner.level < inner.level for n in numbers_in([*args, *kwargs.values()])):
                    # an array of constants of that level, to which its variables may be assigned
                    z = found.implementation(*args, **kwargs)
                    return map_leaves(lambda part: inner.constant_result(part) if isinstance(part, Array) else part, z)
    if found is None:
        name = find_exported_name(function)
        raise UnsupportedError(
            f"{name}: contad has no derivative rule for this function; write one with "
            f"@contad.array_rule(numpy={name}), or use contad.value_of(x) where a constant is meant"
        )
    return found.implementation(*args, **kwargs)


def _as_plain(x: Value) -> Value:
    return np.asarray(x) if isinstance(x, Array) and x.is_constant else x


Array.__array_function__ = array_function  # type: ignore[attr-defined]


# ---- SciPy's ufuncs --------------------------------------------------------------------------------------------------
_by_name: dict[str, Function] = {}
_by_ufunc: dict[np.ufunc, Function | None] = {}


def stands_for(*ufuncs: str | np.ufunc) -> Callable[[Function], Function]:
    """Declare that a function of numbers and arrays, with a ufunc's arguments, replaces ufuncs on variables.

    Ufuncs of scipy.special are given by name; a name with a leading underscore is a ufunc that a SciPy function calls.
    """

    def declare(function: Function) -> Function:
        for ufunc in ufuncs:
            if isinstance(ufunc, str):
                _by_name[ufunc] = function
            else:
                _by_ufunc[ufunc] = function
        return function

    return declare


def written_functions() -> dict[str, Function]:
    """Every such function by SciPy's name."""
    return dict(_by_name)


def written_for(ufunc: np.ufunc) -> Function | None:
    """The replacement of a SciPy ufunc, if any; SciPy is not imported for the look-up."""
    if ufunc not in _by_ufunc:
        modules = [sys.modules.get("scipy.special"), sys.modules.get("scipy.special._ufuncs")]
        names = (n for n in _by_name if any(getattr(module, n, None) is ufunc for module in modules))
        _by_ufunc[ufunc] = next((_by_name[name] for name in names), None)
    return _by_ufunc[ufunc]
