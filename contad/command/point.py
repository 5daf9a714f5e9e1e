"""A point of a user's function: a value for each parameter, and the numbers among them by name."""

import ast
import difflib
import inspect
import math
import re
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from contad.command.data_files import DataFile
from contad.command.user_file import CommandError, blame, function_of
from contad.variables.number import is_real
from contad.variables.open_types import Function, Nested, Options, Real, Value
from contad.variables.trees import Tree, assemble, elements, flatten

Components = list[tuple[str, Real]]


@dataclass(frozen=True)
class Problem:
    """A function, the values of its parameters, and those to differentiate."""

    label: str
    path: str
    function: Function
    values: Options  # all parameters, in order
    active: tuple[str, ...]  # their values consist of floats
    keywords: frozenset[str] = frozenset()  # parameters that can only be passed by name
    integers: tuple[str, ...] = ()  # active parameters that the file gives as integers
    data: DataFile | None = None
    from_data: tuple[str, ...] = ()  # names in the data file that become parameters

    def arguments(self, **changed: Nested) -> tuple[list[Nested], Options]:
        """Positional and keyword arguments of a call."""
        values = self.values | changed
        return (
            [v for n, v in values.items() if n not in self.keywords],
            {n: v for n, v in values.items() if n in self.keywords},
        )

    def positional(self) -> tuple[Function, list[Nested], Options, tuple[int, ...]]:
        """A function that takes the active parameters by position, its arguments, and their positions."""
        args, kwargs = self.arguments()
        if not self.keywords.intersection(self.active):
            names = [name for name in self.values if name not in self.keywords]
            return self.function, args, kwargs, tuple(map(names.index, self.active))

        # transforms differentiate positional arguments
        def function(*active: Nested) -> Nested:
            inner_args, inner_kwargs = self.arguments(**dict(zip(self.active, active, strict=True)))
            return self.function(*inner_args, **inner_kwargs)

        function.__name__ = getattr(self.function, "__name__", "f")
        return function, [self.values[name] for name in self.active], {}, tuple(range(len(self.active)))

    def coordinates(self) -> list["Coordinate"]:
        """The numbers of the active parameters."""
        trees = [(name, flatten(self.values[name])) for name in self.active]
        return [
            Coordinate(self, name, tree, n, k)
            for name, tree in trees
            for n, leaf in enumerate(tree.leaves)
            for k in range(np.size(leaf))
        ]


class Coordinate(NamedTuple):
    """One number of a point; a call gives the function with another number there, nan if it raises."""

    problem: Problem
    parameter: str
    tree: Tree
    leaf: int
    element: int

    @property
    def number(self) -> float:
        """The number at the point."""
        leaf = self.tree.leaves[self.leaf]
        return float(leaf.flat[self.element] if isinstance(leaf, np.ndarray) else leaf)

    def __call__(self, number: float) -> float:
        leaf = self.tree.leaves[self.leaf]
        moved: Any = number
        if isinstance(leaf, np.ndarray):
            moved = leaf.copy()
            moved.flat[self.element] = number
        leaves = [*self.tree.leaves[: self.leaf], moved, *self.tree.leaves[self.leaf + 1 :]]
        args, kwargs = self.problem.arguments(**{self.parameter: self.tree.unflatten(leaves)})
        try:
            return float(self.problem.function(*args, **kwargs))
        except Exception:  # a user's function may raise anything outside its domain
            return math.nan


# ---- the parameters --------------------------------------------------------------------------------------------------
def assignment(text: str) -> tuple[str, Nested]:
    """NAME=VALUE, where VALUE is a number, or a list, tuple or dict of numbers; or NAME[INDEX]=NUMBER.

    >>> assignment("w=[1, 2.5]"), assignment("p['b'][0,1]=2")
    (('w', [1, 2.5]), ("p['b'][0, 1]", 2))
    """
    ends = (k for k, character in enumerate(text) if character == "=")
    end, name = next(((k, name) for k in ends if (name := _read_place(text[:k]))), (-1, ""))
    if not name:
        raise CommandError(f"--at {text}: expected NAME=VALUE, or for one number of it 'NAME[0]=VALUE'")
    literal = text[end + 1 :]
    try:
        special = literal.strip().lower().lstrip("+-") in ("nan", "inf")
        value: Nested = float(literal) if special else ast.literal_eval(literal.strip())
        numeric = all(is_real(x) for x in flatten(value).leaves)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        numeric = False
    if not numeric or value is None:
        raise CommandError(f"--at {text}: expected a number, or a list, tuple or dict of numbers, got {literal!r}")
    if not name.isidentifier() and not _is_number(value):
        raise CommandError(f"--at {text}: expected one number for {name}, got {literal!r}")
    return name, value


def _read_place(text: str) -> str:
    """A name, or the name of a number in a container in the form of reports; "" for anything else.

    >>> _read_place(" w"), _read_place("w[ 1,2 ]"), _read_place("w[1"), _read_place("f()")
    ('w', 'w[1, 2]', '', '')
    """
    if text.strip().isidentifier():
        return text.strip()
    try:
        whole = node = ast.parse(text.strip(), mode="eval").body
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return ast.unparse(whole) if isinstance(node, ast.Name) else ""


def bind(
    module: ModuleType,
    path: str,
    name: str,
    at: Options | None = None,
    wrt: list[str] | None = None,
    data: DataFile | None = None,
) -> Problem:
    """The function with a value for every parameter: from `at`, the data file, its default, or a variable of the file.

    A name of one number in `at`, such as `w[0]`, changes only that number of the value. The active parameters are those
    in `wrt`; without it, those with a numeric default or a value in `at`; if there are none, those with a float, or
    else with a list, dict or array of floats.
    """
    function = function_of(module, path, name)
    label = f"{path}:{name}"
    moved = {n: x for n, x in (at or {}).items() if not n.isidentifier()}
    at = {n: x for n, x in (at or {}).items() if n.isidentifier()}
    owners = {place: re.split(r"[.\[]", place)[0] for place in moved}
    with blame(label, path):
        parameters = {
            p.name: p
            for p in inspect.signature(function).parameters.values()
            if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        }
    if not parameters:
        raise CommandError(f"{label}: the function has no parameters, so there is nothing to differentiate")
    for option, names in (("--at", [*at, *owners.values()]), ("--wrt", wrt or [])):
        for unknown in (n for n in names if n not in parameters):
            raise CommandError(f"{label}: {option}: no parameter {unknown!r}; there are {', '.join(parameters)}")

    read, taken = _take(label, list(parameters), at, data)
    values: Options = {}
    for parameter in parameters.values():
        n = parameter.name
        if n in read:
            values[n] = read[n]
        elif parameter.default is not parameter.empty:
            values[n] = parameter.default
        elif n in module.__dict__:
            values[n] = module.__dict__[n]
        elif n not in at:
            raise CommandError(_missing(label, n, data))
        if n in at:
            values[n] = np.array(at[n], float) if isinstance(values.get(n), np.ndarray) else at[n]
        for place in (p for p, owner in owners.items() if owner == n):
            values[n] = _move(label, n, values[n], place, moved[place])
        require_no_nan(label, n, values[n])

    def is_given(n: str) -> bool:
        default = parameters[n].default
        has_point = default is not inspect.Parameter.empty and _is_point(default)
        return n in at or n in owners.values() or (has_point and (n in read or _is_point(values[n])))

    given = [n for n in parameters if is_given(n)]
    floats = [n for n, v in values.items() if isinstance(v, (float, np.floating))]
    active = list(dict.fromkeys(wrt)) if wrt else given or floats or [n for n, v in values.items() if _is_point(v)]
    if not active:
        raise CommandError(f"{label}: no parameter has a numeric default; choose what to differentiate with --wrt")
    integers = tuple(n for n in active if isinstance(values[n], int))
    for n in active:
        values[n] = _floats(label, n, values[n])
    keywords = frozenset(n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY)
    return Problem(label, path, function, values, tuple(active), keywords, integers, data, taken)


def _take(label: str, parameters: list[str], at: Options, data: DataFile | None) -> tuple[Options, tuple[str, ...]]:
    """The values of parameters in the data file, and their names there; a parameter `data` takes all values."""
    if data is None:
        return {}, ()
    read = {n: data.value(n) for n in parameters if n in data.names and n not in at}
    if "data" in parameters and "data" not in data.names and "data" not in at:
        return read | {"data": data.everything()}, tuple(data.names)
    if not any(n in data.names for n in parameters):
        raise CommandError(
            f"{label}: --data {data.path}: no {data.kind} has the name of a parameter ({', '.join(parameters)}); there "
            f"are {', '.join(data.names) or 'none'}"
        )
    return read, tuple(n for n in data.names if n in parameters)


def _move(label: str, n: str, value: Nested, place: str, number: Any) -> Nested:
    """The value of a parameter with another number at a place in it; CommandError if the place does not exist."""
    tree = flatten(value)
    names = [name for name, _ in components(n, value)]
    if place not in names:
        listed = f"{names[0]}, ..., {names[-1]}" if len(names) > 2 else ", ".join(names)
        raise CommandError(f"{label}: --at: no number {place}" + (f"; there are {listed}" if names else ""))
    at, leaves = names.index(place), list(tree.leaves)
    ends = np.cumsum([np.size(x) for x in leaves])
    leaf = int(np.searchsorted(ends, at, side="right"))
    old = leaves[leaf]
    k = at - (int(ends[leaf]) - np.size(old))
    if not _is_number(old):
        raise CommandError(f"{label}: --at: {place} is no number to change but {components('', old)[k][1]!r}")
    if isinstance(old, np.ndarray):
        if np.asarray(number).dtype.kind not in "fi":
            raise CommandError(f"{label}: --at: expected a number of 64 bits for {place}, got {number}")
        leaves[leaf] = old.astype(np.result_type(old, np.asarray(number)))  # so that 0.5 fits into an array of integers
        leaves[leaf].flat[k] = number
    else:
        leaves[leaf] = number
    return tree.unflatten(leaves)


def _missing(label: str, n: str, data: DataFile | None) -> str:
    if data is None:
        return f"{label}: parameter {n!r} has no value; give it a default, define {n} in the file, or use --at {n}=..."
    close = difflib.get_close_matches(n, data.names, 1)
    meant = f", but {close[0]!r}" if close else f"; there are {', '.join(data.names)}"
    return f"{label}: parameter {n!r} has no value; {data.path} has no {data.kind} {n!r}{meant}"


def leaves(name: str, value: Nested) -> list[tuple[str, Value]]:
    """The numbers and arrays of a parameter by name.

    >>> leaves("w", [1.0, {"b": 2.0}])
    [('w[0]', 1.0), ("w[1]['b']", 2.0)]
    """
    tree = flatten(value)
    if tree.spec is None:
        return [(name, tree.leaves[0])]
    import optree

    names = [accessor.codify(name) for accessor in optree.tree_accessors(value)]
    return list(zip(names, tree.leaves, strict=True))


def components(name: str, value: Nested) -> Components:
    """The numbers of a parameter by name: `w[0]`, `p['rate']`, `a[1, 2]`.

    >>> components("a", np.array([[1.0, 2.0]]))
    [('a[0, 0]', np.float64(1.0)), ('a[0, 1]', np.float64(2.0))]
    """
    found: Components = []
    for leaf_name, leaf in leaves(name, value):
        if isinstance(leaf, np.ndarray):
            for index, x in np.ndenumerate(leaf):
                found.append((f"{leaf_name}[{', '.join(map(str, index))}]" if index else leaf_name, x))
        else:
            found.append((leaf_name, leaf))
    return found


def require_no_nan(label: str, name: str, value: Nested) -> None:
    """CommandError that names the first number in value that is nan."""
    if any(_has_nan(leaf) for leaf in flatten(value).leaves):
        (place, *_) = (n for n, x in components(name, value) if _has_nan(x))
        raise CommandError(f"{label}: {place} is nan")


def _has_nan(leaf: Value) -> bool:
    if isinstance(leaf, np.ndarray):
        return leaf.dtype.kind in "fc" and bool(np.isnan(leaf).any())
    return isinstance(leaf, (float, np.floating)) and math.isnan(leaf)


def _is_number(leaf: Value) -> bool:
    """Whether a leaf is differentiable: real numbers, not truth values."""
    if isinstance(leaf, np.ndarray):
        return leaf.dtype.kind in "fiu"
    return is_real(leaf) and not isinstance(leaf, (bool, np.bool_))


def _is_point(value: Nested) -> bool:
    """Whether a value is a number, or a container of numbers, not all integers as in a shape or a list of counts."""
    tree = flatten(value)
    real = bool(tree.leaves) and all(map(_is_number, tree.leaves))
    return real and (is_real(value) or any(map(_is_float, tree.leaves)))


def _is_float(leaf: Value) -> bool:
    return leaf.dtype.kind == "f" if isinstance(leaf, np.ndarray) else isinstance(leaf, (float, np.floating))


def _floats(label: str, name: str, value: Nested) -> Nested:
    """The value with floats in place of integers; CommandError if it holds anything but finite real numbers."""
    tree = flatten(value)
    for leaf in tree.leaves:
        if not _is_number(leaf):
            kind = f"an array of {leaf.dtype}" if isinstance(leaf, np.ndarray) else type(leaf).__name__
            raise CommandError(
                f"{label}: {name!r} cannot be differentiated: expected real numbers, or lists, tuples, dicts and "
                f"arrays of them, got {kind}"
            )
    if not any(map(elements, tree.leaves)):
        raise CommandError(f"{label}: {name!r} cannot be differentiated: there are no numbers in it")
    for place, x in components(name, value):
        if not _finite(x):
            raise CommandError(f"{label}: {place} must be finite, got {x}")
    leaves = []
    for leaf in tree.leaves:
        numbers = [float(x) for x in elements(leaf)]
        leaves.append(assemble(numbers, leaf.shape) if isinstance(leaf, np.ndarray) else numbers[0])
    return tree.unflatten(leaves)


def _finite(x: float) -> bool:
    try:
        return math.isfinite(x)
    except OverflowError:  # an integer too large for a float
        return False
